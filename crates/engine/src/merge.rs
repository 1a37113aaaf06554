//! Merge: parts of one namespace, retention class, epoch and window into one.
//!
//! Series by series, block by block, with one cursor on each part. A block that nothing overlaps
//! and that is full enough is copied as it is, in final parts if it comes from one. All others are
//! decoded; samples earlier than whatever is still unread are final, in order and each once, and
//! are encoded into full blocks. Of samples at one time that of the part of the highest rank stays,
//! and deleted ones go.
//!
//! Memory: for each part a cursor (an index page, an entry, four pages of the file) and at most a
//! decoded block, about 200 KiB, and 2 MiB more for each final part, which
//! `Config::merge_bytes_max` bounds; nothing grows with series or samples but the directory.

use crate::block::{Block, Builder};
use crate::columns::Columns;
use crate::error::Error;
use crate::limits::{
    BLOCK_SAMPLES_MAX, BUCKET_SAMPLES_MIN, BUCKETS_NS, MERGE_COPY_SAMPLES_MIN,
    MERGE_REST_SAMPLES_MIN,
};
use crate::part::{BlockPlace, BlockRef, Cursor, Part, PartWriter};
use crate::tombstones::{Mask, Tombstones};
use foliot_codec::{Cells, decode_cells, decode_times};
use foliot_model::TimeRange;
use std::sync::Arc;

/// Merges parts into a writer.
pub(crate) struct Merger {
    is_final: bool,
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
    ///
    /// Blocks of a final part end at the edges of buckets, see [`Merger::block_end`].
    pub(crate) fn new(
        parts: &[Arc<Part>],
        tombstones: Arc<Tombstones>,
        is_final: bool,
    ) -> Result<Self, Error> {
        Ok(Self {
            is_final,
            cursors: parts.iter().cloned().map(Cursor::new).collect::<Result<_, _>>()?,
            tombstones,
            masks: Vec::new(),
            piece: Columns::default(),
            open: Columns::default(),
            open_ranks: Vec::new(),
            builder: match is_final {
                true => Builder::for_packing(),
                false => Builder::default(),
            },
            bytes: Vec::new(),
            times_ns: Vec::new(),
            cells: Cells::default(),
        })
    }

    /// The series to be merged next; nothing at the end.
    pub(crate) fn sid(&self) -> Option<u32> {
        self.cursors.iter().filter_map(Cursor::sid).min()
    }

    /// Merges the series that [`Merger::sid`] named.
    ///
    /// `hide` adds what else of the series is to be left out; it is told when its first block
    /// begins.
    pub(crate) fn merge(
        &mut self,
        sid: u32,
        writer: &mut PartWriter,
        hide: &mut dyn FnMut(u32, i64, &mut Vec<Mask>),
    ) -> Result<(), Error> {
        self.builder.clear();
        self.tombstones.masks(sid, TimeRange::ALL, &mut self.masks);
        let first = self.earliest(sid).and_then(|rank| self.cursors.get(rank)?.range());
        if let Some(range) = first {
            hide(sid, range.start_ns, &mut self.masks);
        }
        while let Some(rank) = self.earliest(sid) {
            self.take(sid, rank, writer)?;
        }
        self.settle(None);
        self.encode(sid, 1, writer)
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
        let is_laid_out = !self.is_final || cursor.is_final();
        let range = cursor.range();
        let is_gone = |(before, hidden): &Mask| {
            number < *before && range.is_some_and(|range| hidden.covers(&range))
        };
        if self.masks.iter().any(is_gone) {
            return cursor.skip();
        }
        let Some(place) = cursor.take(&mut self.bytes)? else { return Ok(()) };
        let is_hiding = |(before, range): &&Mask| number < *before && range.overlaps(&place.range);
        let is_masked = self.masks.iter().any(|mask| is_hiding(&mask));
        self.settle(Some(place.range.start_ns));
        self.encode(sid, BLOCK_SAMPLES_MAX, writer)?;
        let next = self.earliest(sid).and_then(|rank| self.cursors.get(rank)?.range());
        let is_alone =
            self.open.is_empty() && next.is_none_or(|next| next.start_ns > place.range.end_ns);
        let rest = self.builder.columns.len();
        let is_rest_worth_a_block = rest == 0 || rest >= MERGE_REST_SAMPLES_MIN;
        let is_full = match self.is_final {
            // Blocks of final parts may be short because a bucket ended there.
            true => place.count as usize >= BUCKET_SAMPLES_MIN,
            false => place.count as usize >= MERGE_COPY_SAMPLES_MIN,
        };
        if is_alone && is_full && is_laid_out && is_rest_worth_a_block && !is_masked {
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

    /// Moves open samples earlier than `until_ns`, before which nothing is unread, to the builder;
    /// all of them when nothing is unread.
    fn settle(&mut self, until_ns: Option<i64>) {
        let count = match until_ns {
            None => self.open.len(),
            Some(until_ns) => self.open.times_ns.partition_point(|&time| time < until_ns),
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
            let end = self.block_end(start);
            let block: Block = self.builder.encode(start..end);
            writer.push(sid, block.lend())?;
            start = end;
        }
        self.builder.columns.cut_front(start);
        Ok(())
    }

    /// Where the block that begins with sample `start` ends.
    ///
    /// In a final part no block crosses the end of a five minutes or of an hour that holds many
    /// samples: so blocks' summaries are the rollups of a series at the finest of these
    /// resolutions where they are worth their bytes, and windows of such lengths are answered from
    /// them alone.
    fn block_end(&self, start: usize) -> usize {
        let times = self.builder.columns.times_ns.get(start..).unwrap_or_default();
        let longest = times.len().min(BLOCK_SAMPLES_MAX);
        let (Some(&first), true) = (times.first(), self.is_final) else { return start + longest };
        // The time after so many samples, or how long all of them last, shows how dense they are.
        let probe = times.get(BUCKET_SAMPLES_MIN).copied();
        let is_dense = |bucket_ns: i64| {
            probe.is_some_and(|time_ns| time_ns.saturating_sub(first) <= bucket_ns)
        };
        let Some(bucket_ns) = BUCKETS_NS.into_iter().find(|bucket_ns| is_dense(*bucket_ns)) else {
            return start + longest;
        };
        let next = first.div_euclid(bucket_ns).saturating_add(1).saturating_mul(bucket_ns);
        start + longest.min(times.partition_point(|&time_ns| time_ns < next)).max(1)
    }
}

/// A block as it lies in a part.
fn lend<'b>(place: &'b BlockPlace, bytes: &'b [u8]) -> BlockRef<'b> {
    let (times, values) = bytes.split_at(place.times.1 as usize);
    let BlockPlace { range, count, summary, .. } = place;
    BlockRef { range: *range, count: *count, times, values, summary }
}
