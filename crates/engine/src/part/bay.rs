//! Sections of a final part on their way into it, some megabytes at a time.
//!
//! Blocks come series by series. What is asked of old data is mostly one field of many sources, and
//! pages of a final part are unpacked whole; so a bay puts the values of one field side by side
//! before they are written. Its index pages follow, with nothing between them.
//!
//! Memory: [`BAY_BYTES_MAX`] of sections, [`BAY_BLOCKS_MAX`] records of blocks, and what their
//! series are called; a share of both where there is less memory.

use super::writer::BlockRef;
use crate::limits::{BAY_BLOCKS_MAX, BAY_BYTES_MAX, BAY_MEMORY_BYTES, BAY_SHARE_MIN};
use foliot_codec::Summary;
use foliot_index::Identity;
use foliot_model::TimeRange;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A series of a bay.
pub(super) struct Series {
    pub(super) sid: u32,
    pub(super) identity: Option<Identity>,
    /// Its place in the order of sections.
    field: u32,
}

/// A block of a bay.
pub(super) struct Stored {
    pub(super) range: TimeRange,
    pub(super) count: u16,
    pub(super) summary: Summary,
    /// The number of its series.
    pub(super) series: u32,
    /// The number of its times.
    pub(super) times: u32,
    values: Range<u32>,
}

/// The sections of a bay, and the blocks that they belong to.
#[derive(Default)]
pub(super) struct Bay {
    /// Bytes of sections, and blocks, with which it is full.
    bytes_max: usize,
    blocks_max: usize,
    /// Times and values end to end, as they came.
    bytes: Vec<u8>,
    times: Vec<Range<u32>>,
    /// Series of one source share their times.
    known_times: HashMap<Box<[u8]>, u32>,
    fields: HashMap<(Arc<str>, Arc<str>), u32>,
    identity: Option<Identity>,
    pub(super) series: Vec<Series>,
    pub(super) blocks: Vec<Stored>,
}

impl Bay {
    /// An empty bay that takes about `memory_bytes` at most.
    pub(super) fn within(memory_bytes: u64) -> Self {
        let memory_bytes = memory_bytes.clamp(BAY_MEMORY_BYTES / BAY_SHARE_MIN, BAY_MEMORY_BYTES);
        let share = |most: usize| (most as u64 * memory_bytes / BAY_MEMORY_BYTES) as usize;
        Self {
            bytes_max: share(BAY_BYTES_MAX),
            blocks_max: share(BAY_BLOCKS_MAX),
            ..Self::default()
        }
    }

    /// What the series to be added next is called.
    pub(super) fn name(&mut self, identity: Option<Identity>) {
        self.identity = identity;
    }

    /// Whether the bay is to be written before more is added.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.len() >= self.bytes_max || self.blocks.len() >= self.blocks_max
    }

    pub(super) fn push(&mut self, sid: u32, block: BlockRef<'_>) {
        if self.series.last().is_none_or(|series| series.sid != sid) {
            let identity = self.identity.clone();
            let field = self.field(identity.as_ref());
            self.series.push(Series { sid, identity, field });
        }
        let times = match self.known_times.get(block.times) {
            Some(number) => *number,
            None => {
                let number = self.times.len() as u32;
                let place = self.put(block.times);
                self.times.push(place);
                self.known_times.insert(block.times.into(), number);
                number
            }
        };
        let values = self.put(block.values);
        let BlockRef { range, count, summary, .. } = block;
        let series = self.series.len().saturating_sub(1) as u32;
        self.blocks.push(Stored { range, count, summary: *summary, series, times, values });
    }

    fn field(&mut self, identity: Option<&Identity>) -> u32 {
        let Some(Identity { measurement, field, .. }) = identity else { return 0 };
        let next = self.fields.len() as u32 + 1;
        *self.fields.entry((measurement.clone(), field.clone())).or_insert(next)
    }

    fn put(&mut self, section: &[u8]) -> Range<u32> {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(section);
        start..self.bytes.len() as u32
    }

    /// The times of all blocks, each once.
    pub(super) fn times(&self) -> impl Iterator<Item = &[u8]> {
        self.times.iter().map(|place| self.section(place))
    }

    /// The values of all blocks with their numbers, one field after another.
    pub(super) fn values(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let field =
            |block: &Stored| self.series.get(block.series as usize).map(|series| series.field);
        let mut order: Vec<usize> = (0..self.blocks.len()).collect();
        order.sort_by_key(|number| self.blocks.get(*number).and_then(field));
        order.into_iter().filter_map(|number| {
            let values = self.section(&self.blocks.get(number)?.values);
            Some((number, values))
        })
    }

    fn section(&self, place: &Range<u32>) -> &[u8] {
        self.bytes.get(place.start as usize..place.end as usize).unwrap_or_default()
    }

    /// An empty bay with this one's memory, for what follows.
    pub(super) fn emptied(mut self) -> Self {
        self.bytes.clear();
        self.times.clear();
        self.known_times.clear();
        self.fields.clear();
        self.series.clear();
        self.blocks.clear();
        self
    }
}
