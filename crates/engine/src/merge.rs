//! Merge: parts of one namespace, retention class, epoch and window into one.
//!
//! Series by series, block by block, with one cursor on each part. A block that nothing overlaps
//! and that is full enough is copied as it is. All others are decoded; samples earlier than
//! whatever is still unread are final, in order and each once, and are encoded into full blocks. Of
//! samples at one time that of the part of the highest rank stays, and deleted ones go.
//!
//! Memory: for each part a cursor (an index page, an entry, four pages of the file) and at most a
//! decoded block, about 200 KiB; nothing grows with series or samples but the directory.

use crate::block::{Block, Builder};
use crate::columns::Columns;
use crate::error::Error;
use crate::limits::{BLOCK_SAMPLES_MAX, MERGE_COPY_SAMPLES_MIN, MERGE_REST_SAMPLES_MIN};
use crate::part::{BlockPlace, BlockRef, Cursor, Part, PartWriter};
use crate::tombstones::{Mask, Tombstones};
use foliot_codec::{Cells, decode_cells, decode_times};
use foliot_model::TimeRange;
use std::sync::Arc;

/// Merges parts into a writer.
pub(crate) struct Merger {
    /// By rank, lowest first.
    cursors: Vec<Cursor>,
    tombstones: Arc<Tombstones>,
    /// What was deleted from the series being merged.
    masks: Vec<Mask>,
    /// A decoded block.
    piece: Columns,
    /// Decoded samples that something unread may come between; times ascend, each once.
    open: Columns,
    /// The number of the cursor that each of them came from.
    open_ranks: Vec<u16>,
    /// Samples ready to be encoded.
    builder: Builder,
    bytes: Vec<u8>,
    times_ns: Vec<i64>,
    cells: Cells,
}

impl Merger {
    /// A merge of `parts`, which ascend by rank, without what `tombstones` hide.
    pub(crate) fn new(parts: &[Arc<Part>], tombstones: Arc<Tombstones>) -> Result<Self, Error> {
        Ok(Self {
            cursors: parts.iter().cloned().map(Cursor::new).collect::<Result<_, _>>()?,
            tombstones,
            masks: Vec::new(),
            piece: Columns::default(),
            open: Columns::default(),
            open_ranks: Vec::new(),
            builder: Builder::default(),
            bytes: Vec::new(),
            times_ns: Vec::new(),
            cells: Cells::default(),
        })
    }

    /// Merges the next series; its id, or nothing at the end.
    ///
    /// `hide` adds what else of the series is to be left out; it is told when its first block
    /// begins.
    pub(crate) fn next(
        &mut self,
        writer: &mut PartWriter,
        hide: &mut dyn FnMut(u32, i64, &mut Vec<Mask>),
    ) -> Result<Option<u32>, Error> {
        let Some(sid) = self.cursors.iter().filter_map(Cursor::sid).min() else {
            return Ok(None);
        };
        self.builder.clear();
        self.tombstones.masks(sid, TimeRange::ALL, &mut self.masks);
        let first = self.earliest(sid).and_then(|rank| self.cursors.get(rank)?.range());
        if let Some(range) = first {
            hide(sid, range.start_ns, &mut self.masks);
        }
        while let Some(rank) = self.earliest(sid) {
            self.take(sid, rank, writer)?;
        }
        self.settle(i64::MAX);
        self.encode(sid, 1, writer)?;
        Ok(Some(sid))
    }

    /// The cursor whose next block of `sid` begins first.
    fn earliest(&self, sid: u32) -> Option<usize> {
        let start = |(rank, cursor): (usize, &Cursor)| {
            (cursor.sid() == Some(sid))
                .then(|| cursor.range().map(|range| (range.start_ns, rank)))?
        };
        self.cursors.iter().enumerate().filter_map(start).min().map(|(_, rank)| rank)
    }

    /// Takes the next block of a cursor, which begins before all other blocks of the series.
    fn take(&mut self, sid: u32, rank: usize, writer: &mut PartWriter) -> Result<(), Error> {
        let Some(cursor) = self.cursors.get_mut(rank) else { return Ok(()) };
        let number = cursor.number();
        let Some(place) = cursor.take(&mut self.bytes)? else { return Ok(()) };
        let is_hiding = |(before, range): &&Mask| number < *before && range.overlaps(&place.range);
        let is_masked = self.masks.iter().any(|mask| is_hiding(&mask));
        self.settle(place.range.start_ns);
        self.encode(sid, BLOCK_SAMPLES_MAX, writer)?;
        let next = self.earliest(sid).and_then(|rank| self.cursors.get(rank)?.range());
        let is_alone =
            self.open.is_empty() && next.is_none_or(|next| next.start_ns > place.range.end_ns);
        let rest = self.builder.columns.len();
        let is_rest_worth_a_block = rest == 0 || rest >= MERGE_REST_SAMPLES_MIN;
        let is_full = place.count as usize >= MERGE_COPY_SAMPLES_MIN;
        if is_alone && is_full && is_rest_worth_a_block && !is_masked {
            self.encode(sid, 1, writer)?;
            return writer.push(sid, lend(&place, &self.bytes));
        }
        self.decode(rank, &place)?;
        if is_masked {
            let hiding: Vec<Mask> = self.masks.iter().filter(is_hiding).copied().collect();
            let is_hidden = |time_ns| hiding.iter().any(|(_, range)| range.contains(time_ns));
            self.piece.retain(|time_ns| !is_hidden(time_ns));
        }
        if is_alone {
            self.builder.columns.append(&self.piece, 0..self.piece.len());
            return self.encode(sid, BLOCK_SAMPLES_MAX, writer);
        }
        self.lay_open(rank);
        Ok(())
    }

    /// Puts the block at `place` into the piece.
    fn decode(&mut self, rank: usize, place: &BlockPlace) -> Result<(), Error> {
        let count = place.count as usize;
        let (times, values) = self.bytes.split_at(place.times.1 as usize);
        self.times_ns.clear();
        self.cells.clear();
        self.piece.clear();
        decode_times(times, count, &mut self.times_ns)
            .and_then(|()| decode_cells(values, count, &mut self.cells))
            .map_err(|error| match self.cursors.get(rank) {
                Some(cursor) => cursor.corrupt(place, error.to_string()),
                None => Error::Invalid(error.to_string()),
            })?;
        self.piece.append_cells(&self.times_ns, &self.cells);
        Ok(())
    }

    /// Adds the piece to the open samples.
    fn lay_open(&mut self, rank: usize) {
        self.open.append(&self.piece, 0..self.piece.len());
        self.open_ranks.resize(self.open.len(), rank as u16);
        let times = &self.open.times_ns;
        let key = |index: &u32| {
            let index = *index as usize;
            let rank = self.open_ranks.get(index).copied().unwrap_or_default();
            (times.get(index).copied().unwrap_or_default(), rank)
        };
        let mut order: Vec<u32> = (0..self.open.len() as u32).collect();
        // Two runs that ascend, which this sort finds and merges.
        order.sort_by_key(key);
        order.dedup_by(|later, earlier| {
            let is_same = key(later).0 == key(earlier).0;
            if is_same {
                *earlier = *later;
            }
            is_same
        });
        let mut sorted = Columns::default();
        let mut ranks = Vec::with_capacity(order.len());
        for index in order {
            if let Some(sample) = self.open.get(index as usize) {
                sorted.push(sample, &self.open.bytes);
                ranks.push(self.open_ranks.get(index as usize).copied().unwrap_or_default());
            }
        }
        (self.open, self.open_ranks) = (sorted, ranks);
    }

    /// Moves open samples earlier than `until_ns`, before which nothing is unread, to the builder.
    fn settle(&mut self, until_ns: i64) {
        let count = match until_ns {
            i64::MAX => self.open.len(),
            _ => self.open.times_ns.partition_point(|&time| time < until_ns),
        };
        if count > 0 {
            self.builder.columns.append(&self.open, 0..count);
            self.open.cut_front(count);
            self.open_ranks.drain(..count);
        }
    }

    /// Encodes what is ready as long as there are at least `min` samples.
    fn encode(&mut self, sid: u32, min: usize, writer: &mut PartWriter) -> Result<(), Error> {
        let ready = self.builder.columns.len();
        let mut start = 0;
        while ready - start >= min.max(1) {
            let end = (start + BLOCK_SAMPLES_MAX).min(ready);
            let block: Block = self.builder.encode(start..end);
            writer.push(sid, block.lend())?;
            start = end;
        }
        self.builder.columns.cut_front(start);
        Ok(())
    }
}

/// A block as it lies in a part.
fn lend<'b>(place: &'b BlockPlace, bytes: &'b [u8]) -> BlockRef<'b> {
    let (times, values) = bytes.split_at(place.times.1 as usize);
    let BlockPlace { range, count, summary, .. } = place;
    BlockRef { range: *range, count: *count, times, values, summary }
}
