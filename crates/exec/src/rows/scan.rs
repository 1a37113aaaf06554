//! Stored series as rows: group of sources by group.

use super::Context;
use super::merge::{Merge, Ranked};
use super::row::{Head, is_same};
use super::sieve::Sieve;
use super::slice::{Newest, Reader};
use super::sources::{self, Group, Member};
use super::strip::{Gathered, Stream, Strip};
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
    only: Option<Strip>,
    /// The head of the last row, and how many rows it has had.
    counted: Option<(Arc<Head>, u64)>,
    charge: Option<Charge<'q>>,
}

/// One of several sources of which one row each is wanted, and known.
struct Only<'q> {
    row: Option<Strip>,
    _charge: Charge<'q>,
}

impl Stream for Only<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        Ok(self.row.take())
    }
}

impl<'q> Scanned<'q> {
    pub(super) fn new(scan: &'q Scan, context: Context<'q>) -> Self {
        let newest = Newest::new(scan, context.source);
        let (groups, open, only, counted, charge) = (None, None, None, None, None);
        Self { scan, context, groups, open, newest, only, counted, charge }
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
            self.only = Some(row);
            return Ok(true);
        }
        let pieces = self.pieces_of(group.members.len());
        let ranks = match self.scan.layout.ordered && group.members.len() > 1 {
            true => ranks(self.scan, &group.members),
            false => None,
        };
        let constants = match ranks.is_some() {
            true => constants(self.scan, &group.members),
            false => Vec::new(),
        };
        if let Some(charge) = &mut self.charge {
            let lists = constants.iter().flatten().map(|items| size_of_val(&**items));
            charge.add(lists.sum())?;
        }
        let has_conditions = group.members.iter().any(|member| member.condition.is_some());
        let runs =
            has_conditions.then(|| source.runs(self.scan.layout.range, meter)).transpose()?;
        let sieve = runs.map(|runs| Rc::new(RefCell::new(Sieve::new(runs))));
        let mut readers: Vec<Box<dyn Stream + 'q>> = Vec::with_capacity(group.members.len());
        let are_several = group.members.len() > 1;
        for member in group.members {
            if let Some(newest) = self.newest.as_mut().filter(|_| are_several)
                && let Some(row) = newest.row(&member, meter)?
            {
                let mut charge = meter.open();
                charge.resize(row.bytes())?;
                readers.push(Box::new(Only { row: Some(row), _charge: charge }));
                continue;
            }
            let reader = Reader::new(self.scan, member, source, meter, pieces);
            readers.push(Box::new(match &sieve {
                Some(sieve) => reader.sifting(sieve),
                None => reader,
            }));
        }
        self.open = Some(match (readers.len(), readers.pop(), ranks) {
            (1, Some(only), _) => only,
            (_, last, Some(ranks)) => {
                readers.extend(last);
                Box::new(Ranked::new(
                    readers,
                    ranks,
                    constants,
                    (self.scan.layout.descending, meter),
                ))
            }
            (_, last, None) => {
                readers.extend(last);
                Box::new(Gathered::new(Merge::new(readers, &self.scan.layout, meter)?))
            }
        });
        Ok(true)
    }

    /// Pieces of a group of so many sources, of which one at a time takes a quarter of the memory.
    fn pieces_of(&self, sources: usize) -> i64 {
        let row_bytes = size_of::<i64>() + (self.scan.carried.len() + 1) * size_of::<Item>();
        let chunks_bytes = sources * CHUNK_SAMPLES * row_bytes;
        let share_bytes = (self.context.meter.limits().memory_bytes / 4).max(1);
        (chunks_bytes as u64 / share_bytes).clamp(1, PIECES_MAX) as i64
    }

    /// The rows that are among the first ones of their head; the group is left when it has no
    /// more of them.
    fn wanted_of(&mut self, strip: Strip) -> Strip {
        let Some(rows_max) = self.scan.rows_max else { return strip };
        let before = match &self.counted {
            Some((head, count)) if is_same(head, &strip.head) => *count,
            _ => 0,
        };
        let left = usize::try_from(rows_max - before.min(rows_max)).unwrap_or(usize::MAX);
        self.counted = Some((strip.head.clone(), before.saturating_add(strip.len() as u64)));
        let layout = &self.scan.layout;
        if strip.len() >= left && layout.order_by.len() == layout.group_by.len() {
            self.open = None;
        }
        strip.truncated(left)
    }
}

/// What each source carries in all its rows, carried place by carried place; nothing for fields.
fn constants(scan: &Scan, members: &[Member]) -> Vec<Option<Arc<[Item]>>> {
    let of = |carried: &Carried| match carried {
        Carried::Field(..) => None,
        _ => {
            let item =
                |member: &Member| member.constant(carried, &scan.measurement).unwrap_or_default();
            Some(members.iter().map(item).collect())
        }
    };
    scan.carried.iter().map(of).collect()
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
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        loop {
            let strip = match (self.only.take(), &mut self.open) {
                (Some(only), _) => Some(only),
                (None, Some(open)) => open.next()?,
                (None, None) => None,
            };
            match strip.map(|strip| self.wanted_of(strip)) {
                Some(strip) if !strip.is_empty() => return Ok(Some(strip)),
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
