//! Forgotten series: those that were dropped with all their samples.
//!
//! Numbers are never given out twice, so a dropped series keeps its own; it is only not found any
//! more, and the next row of its name gets a new one. Listings need to know which columns and pairs
//! have no living series left; that is counted here, for those that lost one.
//!
//! A series may be forgotten before it is registered: the engine tells the registry what was
//! dropped before it reads the registrations.

use crate::names::Names;
use crate::sid_set::SidSet;
use std::collections::HashMap;

/// Counts of series of a source go up to here.
const COUNTED_MAX: u32 = 255;

/// Series of a source: how many are forgotten, and how many there are.
#[derive(Clone, Copy, Debug)]
struct OfSource {
    forgotten: u32,
    /// Of very many this is less than there are, and more than are forgotten, until they must be
    /// counted.
    all: u32,
    is_counted: bool,
}

/// What was dropped.
#[derive(Debug, Default)]
pub(crate) struct Forgotten {
    sids: SidSet,
    of_column: HashMap<u32, u32>,
    of_source: HashMap<u32, OfSource>,
    /// For each pair its sources without a living series.
    sources_of_pair: HashMap<u32, u32>,
}

impl Forgotten {
    pub(crate) fn sids(&self) -> &SidSet {
        &self.sids
    }
}

/// Dropping, and what it does to listings.
impl Names {
    /// Forgets series; those that are not registered yet will be forgotten from the start.
    pub(crate) fn forget(&mut self, sids: &SidSet) {
        let known = self.series_end();
        let new: Vec<u32> =
            sids.iter().filter(|&sid| sid < known && !self.is_forgotten(sid)).collect();
        self.forgotten.sids.add(sids);
        let mut sources = Vec::with_capacity(new.len());
        for sid in new {
            let Some((source, column)) = self.series(sid) else { continue };
            self.note_forgotten(source, column, self.series_count(source));
            sources.push(source);
        }
        sources.sort_unstable();
        sources.dedup();
        sources.into_iter().for_each(|source| self.settle(source));
    }

    pub(crate) fn is_forgotten(&self, sid: u32) -> bool {
        self.forgotten.sids.contains(sid)
    }

    /// Counts a series as forgotten; `all` is how many the source has, up to 255, for the first of
    /// them. Then the source is to be settled.
    pub(crate) fn note_forgotten(&mut self, source: u32, column: u32, all: u32) {
        *self.forgotten.of_column.entry(column).or_default() += 1;
        let of_source = self.forgotten.of_source.entry(source);
        let is_counted = all < COUNTED_MAX;
        let of_source = of_source.or_insert(OfSource { forgotten: 0, all, is_counted });
        of_source.forgotten += 1;
    }

    /// Counts a source as dead if it has lost its last series.
    pub(crate) fn settle(&mut self, source: u32) {
        let Some(mut of_source) = self.forgotten.of_source.get(&source).copied() else { return };
        if of_source.forgotten >= of_source.all && !of_source.is_counted {
            // The columns know. They are asked late, for they may be many.
            let columns = 0..self.columns().len();
            let living = columns.filter(|column| self.find_series(source, *column).is_some());
            of_source.all = of_source.forgotten + living.count() as u32;
            of_source.is_counted = true;
            self.forgotten.of_source.insert(source, of_source);
        }
        if of_source.forgotten == of_source.all {
            for pair in self.pairs_of(source) {
                *self.forgotten.sources_of_pair.entry(pair).or_default() += 1;
            }
        }
    }

    /// Counts a new series of a source. Without forgotten ones there is nothing to count.
    pub(crate) fn note_series(&mut self, source: u32) {
        let Some(of_source) = self.forgotten.of_source.get_mut(&source) else { return };
        let was_dead = of_source.forgotten == of_source.all;
        of_source.all += 1;
        if was_dead {
            for pair in self.pairs_of(source) {
                if let Some(dead) = self.forgotten.sources_of_pair.get_mut(&pair) {
                    *dead = dead.saturating_sub(1);
                }
            }
        }
    }

    /// Whether a column has a series that is not forgotten.
    pub(crate) fn is_column_alive(&self, column: u32) -> bool {
        self.series_in(column) > 0
    }

    /// How many series a column has that are not forgotten.
    pub(crate) fn series_in(&self, column: u32) -> u32 {
        let forgotten = self.forgotten.of_column.get(&column).copied().unwrap_or(0);
        self.series_of_column.count(column).saturating_sub(forgotten)
    }

    /// Whether a source has a series that is not forgotten.
    pub(crate) fn is_source_alive(&self, source: u32) -> bool {
        let of_source = self.forgotten.of_source.get(&source);
        of_source.is_none_or(|of_source| of_source.forgotten < of_source.all)
    }

    /// Whether a pair has a source with a series that is not forgotten.
    pub(crate) fn is_pair_alive(&self, pair: u32) -> bool {
        let dead = self.forgotten.sources_of_pair.get(&pair).copied().unwrap_or(0);
        dead == 0 || self.sources().of_pair().count(pair) > dead
    }

    fn pairs_of(&self, source: u32) -> Vec<u32> {
        self.source(source).map(|(_, pairs)| pairs.collect()).unwrap_or_default()
    }
}
