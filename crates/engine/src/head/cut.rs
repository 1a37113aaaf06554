//! Cutting: taking deleted samples out of a page.
//!
//! What a series loses is only unlinked; the page gives the memory back when it is flushed. Where a
//! block or the open stream loses some of its samples, the others become a new sealed block. The
//! time of the last sample stays what later ones are measured against: whatever comes before it is
//! late, as if nothing had been deleted, so that order and ranks stay true.

use super::page::{PageData, SeriesCopy};
use super::stream::Reader;
use crate::block::{Block, Builder, Decoder};
use crate::columns::Columns;
use crate::error::Error;
use foliot_model::{Samples, TimeRange};
use std::sync::Arc;

/// Cuts pages. Its memory is reused from series to series.
#[derive(Default)]
pub(crate) struct Cutter {
    builder: Builder,
    decoder: Decoder,
    samples: Samples,
}

impl Cutter {
    /// Takes away the samples of a series in `range`.
    pub(crate) fn cut(
        &mut self,
        page: &mut PageData,
        local: usize,
        range: TimeRange,
    ) -> Result<(), Error> {
        page.doubt_last(local, range);
        if !page.has(local) {
            return Ok(());
        }
        let held = page.held(local);
        page.cut_sealed(local, range, &mut |block| self.cut_block(block, range))?;
        page.cut_late(local, range);
        if range == TimeRange::ALL {
            page.clear_stream(local);
        } else {
            self.cut_stream(page, local, range);
        }
        page.arrivals.leave(local, held.saturating_sub(page.held(local)));
        Ok(())
    }

    fn cut_stream(&mut self, page: &mut PageData, local: usize, range: TimeRange) {
        self.builder.clear();
        self.builder.stream.clear();
        page.copy_stream(local, &mut self.builder.stream);
        self.builder.decode_stream();
        self.builder.columns.sort_newest_wins();
        if self.builder.columns.times_ns.iter().any(|&time_ns| range.contains(time_ns)) {
            self.builder.columns.retain(|time_ns| !range.contains(time_ns));
            page.replace_stream(local, self.builder.blocks());
        }
    }

    /// What is left of a block.
    fn cut_block(&mut self, block: &Arc<Block>, range: TimeRange) -> Result<Vec<Block>, Error> {
        // Whoever deletes holds all writes off: what goes whole is not read.
        if range.contains(block.range.start_ns) && range.contains(block.range.end_ns) {
            return Ok(Vec::new());
        }
        self.samples.clear();
        let count = block.count as usize;
        self.decoder
            .decode(block.times(), block.values(), count, TimeRange::ALL, &mut self.samples)
            .map_err(|reason| Error::Invalid(format!("sealed block: {reason}")))?;
        self.builder.clear();
        self.builder.columns.extend(&self.samples);
        self.builder.columns.retain(|time_ns| !range.contains(time_ns));
        Ok(self.builder.blocks())
    }
}

impl SeriesCopy {
    /// Adds all samples, older ones first, to `columns`; `samples` is memory to do so.
    pub(crate) fn lay_out(
        &self,
        decoder: &mut Decoder,
        samples: &mut Samples,
        columns: &mut Columns,
    ) -> Result<(), Error> {
        samples.clear();
        for block in &self.sealed {
            let count = block.count as usize;
            decoder
                .decode(block.times(), block.values(), count, TimeRange::ALL, samples)
                .map_err(|reason| Error::Invalid(format!("sealed block: {reason}")))?;
        }
        columns.extend(samples);
        let mut reader = Reader::new(&self.stream);
        while let Some(sample) = reader.next() {
            columns.push(sample, &self.stream);
        }
        for index in 0..self.late.len() {
            if let Some(sample) = self.late.get(index) {
                columns.push(sample, &self.late.bytes);
            }
        }
        Ok(())
    }

    /// Takes the samples in any of the `hidden` ranges away.
    pub(crate) fn cut(&mut self, hidden: &[TimeRange]) -> Result<(), Error> {
        let mut all = Columns::default();
        self.lay_out(&mut Decoder::default(), &mut Samples::default(), &mut all)?;
        all.sort_newest_wins();
        all.retain(|time_ns| !hidden.iter().any(|range| range.contains(time_ns)));
        *self = Self { late: all, ..Self::default() };
        Ok(())
    }
}
