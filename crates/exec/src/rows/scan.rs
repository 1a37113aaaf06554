//! Stored series as rows: group of sources by group.

use super::Context;
use super::merge::Merge;
use super::row::{Head, Row, Stream, is_same};
use super::slice::Reader;
use super::sources::{self, Group};
use crate::Error;
use crate::limits::{CHUNK_SAMPLES, Charge};
use foliot_model::Item;
use foliot_plan::rows::Scan;
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
    /// The head of the last row, and how many rows it has had.
    counted: Option<(Arc<Head>, u64)>,
    charge: Option<Charge<'q>>,
}

impl<'q> Scanned<'q> {
    pub(super) fn new(scan: &'q Scan, context: Context<'q>) -> Self {
        Self { scan, context, groups: None, open: None, counted: None, charge: None }
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
        let row_bytes = size_of::<Row>() + (self.scan.carried.len() + 1) * size_of::<Item>();
        let chunks_bytes = group.members.len() * CHUNK_SAMPLES * row_bytes;
        let share_bytes = (meter.limits().memory_bytes / 4).max(1);
        let pieces = (chunks_bytes as u64 / share_bytes).clamp(1, PIECES_MAX) as i64;
        let readers = group.members.into_iter().map(|member| {
            Box::new(Reader::new(self.scan, member, source, meter, pieces)) as Box<dyn Stream + 'q>
        });
        let mut readers: Vec<_> = readers.collect();
        self.open = Some(match (readers.len(), readers.pop()) {
            (1, Some(only)) => only,
            (_, last) => {
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

impl Stream for Scanned<'_> {
    fn next(&mut self) -> Result<Option<Row>, Error> {
        loop {
            let row = match &mut self.open {
                Some(open) => open.next()?,
                None => None,
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
