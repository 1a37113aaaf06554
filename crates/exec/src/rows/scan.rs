//! Stored series as rows: group of sources by group.

use super::Context;
use super::merge::{Merge, Ranked};
use super::row::{Head, Row, Stream, is_same};
use super::sieve::Sieve;
use super::slice::{Newest, Reader};
use super::sources::{self, Group, Member};
use crate::Error;
use crate::limits::{CHUNK_SAMPLES, Charge};
use foliot_model::{Item, Kind};
use foliot_plan::rows::{Carried, Scan};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Blocks are read in at most so many pieces, each of which decodes the block anew.
const PIECES_MAX: u64 = 32;

/// The rows of a scan.
pub(super) struct Scanned<'q> {
    scan: &'q Scan,
    context: Context<'q>,
    /// Groups left to read; nothing before the first row is asked for.
    groups: Option<std::vec::IntoIter<Group>>,
    open: Option<Box<dyn Stream + 'q>>,
    /// Reads the newest rows of sources, if these are all that is wanted.
    newest: Option<Newest<'q>>,
    /// The one row of a group that has no more.
    row: Option<Row>,
    /// The head of the last row, and how many rows it has had.
    counted: Option<(Arc<Head>, u64)>,
    charge: Option<Charge<'q>>,
}

impl<'q> Scanned<'q> {
    pub(super) fn new(scan: &'q Scan, context: Context<'q>) -> Self {
        let newest = Newest::new(scan, context.source);
        let (groups, open, row, counted, charge) = (None, None, None, None, None);
        Self { scan, context, groups, open, newest, row, counted, charge }
    }

    fn next_group(&mut self) -> Result<bool, Error> {
        if self.groups.is_none() {
            let (groups, charge) =
                sources::find(self.scan, self.context.source, self.context.meter)?;
            self.context.count(groups.iter().map(|group| group.members.len()).sum());
            self.groups = Some(groups.into_iter());
            self.charge = Some(charge);
        }
        let Some(group) = self.groups.as_mut().and_then(Iterator::next) else { return Ok(false) };
        let Context { source, meter, .. } = self.context;
        if let ([member], Some(newest)) = (&*group.members, &mut self.newest)
            && let Some(row) = newest.row(member, meter)?
        {
            self.row = Some(row);
            return Ok(true);
        }
        let row_bytes = size_of::<Row>() + (self.scan.carried.len() + 1) * size_of::<Item>();
        let chunks_bytes = group.members.len() * CHUNK_SAMPLES * row_bytes;
        let share_bytes = (meter.limits().memory_bytes / 4).max(1);
        let pieces = (chunks_bytes as u64 / share_bytes).clamp(1, PIECES_MAX) as i64;
        let ranks = match self.scan.layout.ordered {
            true => ranks(self.scan, &group.members),
            false => None,
        };
        let sieve = Sieve::new(source.runs(self.scan.layout.range, meter)?);
        let sieve = Rc::new(RefCell::new(sieve));
        let readers = group.members.into_iter().map(|member| {
            let reader = Reader::new(self.scan, member, source, meter, pieces);
            Box::new(reader.sifting(&sieve)) as Box<dyn Stream + 'q>
        });
        let mut readers: Vec<_> = readers.collect();
        self.open = Some(match (readers.len(), readers.pop(), ranks) {
            (1, Some(only), _) => only,
            (_, last, Some(ranks)) => {
                readers.extend(last);
                Box::new(Ranked::new(readers, ranks, self.scan.layout.descending))
            }
            (_, last, None) => {
                readers.extend(last);
                Box::new(Merge::new(readers, &self.scan.layout)?)
            }
        });
        Ok(true)
    }

    /// Whether the row is among the first ones of its head; if not, and no other head can follow in
    /// this group, the group is left.
    fn is_wanted(&mut self, row: &Row) -> bool {
        let Some(rows_max) = self.scan.rows_max else { return true };
        match &mut self.counted {
            Some((head, count)) if is_same(head, &row.head) => *count += 1,
            counted => *counted = Some((row.head.clone(), 1)),
        }
        let is_wanted = self.counted.as_ref().is_some_and(|(_, count)| *count <= rows_max);
        let layout = &self.scan.layout;
        if !is_wanted && layout.order_by.len() == layout.group_by.len() {
            self.open = None;
        }
        is_wanted
    }
}

/// The order that rows of one time have by the sources that they come from, if it is that of
/// labels alone; of sources with equal ones it is left open.
fn ranks(scan: &Scan, members: &[Member]) -> Option<Vec<u32>> {
    let mut names = Vec::new();
    for carried in &scan.carried {
        match carried {
            Carried::Label(name) => names.push(name),
            // The same of all.
            Carried::Measurement => {}
            Carried::Field(_, Kind::String) => return None,
            // Behind what is no text nothing counts.
            Carried::Field(..) | Carried::Nothing => break,
        }
    }
    let texts = |member: &Member| -> Option<Vec<Arc<str>>> {
        names.iter().map(|name| member.labels.get(name).cloned()).collect()
    };
    let texts: Vec<Vec<Arc<str>>> = members.iter().map(texts).collect::<Option<_>>()?;
    let mut sorted: Vec<&Vec<Arc<str>>> = texts.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let rank = |own: &Vec<Arc<str>>| sorted.binary_search(&own).map_or(0, |rank| rank as u32);
    Some(texts.iter().map(rank).collect())
}

impl Stream for Scanned<'_> {
    fn next(&mut self) -> Result<Option<Row>, Error> {
        loop {
            let row = match (self.row.take(), &mut self.open) {
                (Some(row), _) => Some(row),
                (None, Some(open)) => open.next()?,
                (None, None) => None,
            };
            match row {
                Some(row) if self.is_wanted(&row) => return Ok(Some(row)),
                Some(_) => {}
                None => {
                    self.open = None;
                    if !self.next_group()? {
                        return Ok(None);
                    }
                }
            }
        }
    }
}
