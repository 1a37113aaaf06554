//! Forgotten series: those that were dropped with all their samples.
//!
//! Numbers are never given out twice, so a dropped series keeps its own; it is only not found any
//! more, and the next row of its name gets a new one. Listings need to know which columns and pairs
//! have no living series left; that is counted here, for those that lost one.
//!
//! 1. *hide*: the series are found no more. This is quick, however many they are.
//! 2. *count*: what columns and sources lost is counted, some series at a time. Meanwhile listings
//!    may name what has no living series any more.
//! 3. *settle*: sources that have lost their last series are dead. This is the last step, since it
//!    may ask which series of a source are alive, and those that are hidden count as none.
//!
//! A series may be forgotten before it is registered: the engine tells the registry what was
//! dropped before it reads the registrations.

use crate::lookup::SHARDS;
use crate::names::Names;
use crate::registry::Registry;
use crate::sid_set::SidSet;
use std::collections::{HashMap, HashSet};

/// Counts of series of a source go up to here.
const COUNTED_MAX: u32 = 255;

/// Forgotten series that are counted, or whose sources are looked up, under one hold of the names,
/// and shards of the lookup that are swept under one hold: some tens of microseconds.
const GONE_AT_ONCE: usize = 1024;
const SWEPT_AT_ONCE: usize = 4;

/// Series that [`Registry::hide`] has hidden, and that are to be counted.
#[derive(Debug)]
#[must_use = "listings name them until they are counted"]
pub struct Hidden(SidSet);

/// Series of a source: how many are forgotten, and how many there are.
#[derive(Clone, Copy, Debug)]
struct OfSource {
    forgotten: u32,
    /// Of very many this is less than there are, until they must be counted: when it is settled
    /// and as many are forgotten.
    all: u32,
    is_counted: bool,
    /// Whether it was settled without a living series, and is counted so by its pairs.
    is_dead: bool,
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
    /// Hides series; those that are not registered yet will be forgotten from the start. Returns
    /// those that are to be counted: registered ones that were not hidden before.
    pub(crate) fn hide(&mut self, sids: &SidSet) -> SidSet {
        let new = sids.without(&self.forgotten.sids, self.series_end());
        self.forgotten.sids.add(sids);
        new
    }

    /// Counts hidden series, and adds their sources to those that are to be settled.
    pub(crate) fn count_hidden(&mut self, sids: &[u32], sources: &mut Vec<u32>) {
        for &sid in sids {
            let Some((source, column)) = self.series(sid) else { continue };
            self.note_forgotten(source, column, self.series_count(source));
            sources.push(source);
        }
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
        let none = OfSource { forgotten: 0, all, is_counted, is_dead: false };
        let of_source = of_source.or_insert(none);
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
        }
        if of_source.forgotten == of_source.all && !of_source.is_dead {
            of_source.is_dead = true;
            for pair in self.pairs_of(source) {
                *self.forgotten.sources_of_pair.entry(pair).or_default() += 1;
            }
        }
        self.forgotten.of_source.insert(source, of_source);
    }

    /// Counts a new series of a source. Without forgotten ones there is nothing to count.
    pub(crate) fn note_series(&mut self, source: u32) {
        let Some(of_source) = self.forgotten.of_source.get_mut(&source) else { return };
        let was_dead = std::mem::take(&mut of_source.is_dead);
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
        of_source.is_none_or(|of_source| !of_source.is_dead)
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

impl Registry {
    /// What [`Registry::forget`] was told: series that were dropped, registered or not.
    pub fn forgotten(&self) -> SidSet {
        self.names().read().forgotten.sids().clone()
    }

    /// Forgets series: they are not selected and listed any more, and the next row of their name
    /// makes a new series. Their numbers are not given out again. Series that are not registered
    /// yet are forgotten from the start, so this may be told before registrations are read.
    ///
    /// Nothing is published: who drops series makes that durable. The caller sees to it that nobody
    /// resolves rows meanwhile, and calls [`Registry::sweep`] when others go on.
    pub fn forget(&self, sids: &SidSet) {
        self.count_hidden(&self.hide(sids));
    }

    /// The first half of [`Registry::forget`], for which nobody may resolve rows: it takes little
    /// time, however many series there are. Listings may name them until the other half is done.
    pub fn hide(&self, sids: &SidSet) -> Hidden {
        let _one_at_a_time = self.registrar().lock();
        let hidden = self.names().write().hide(sids);
        self.lookup().write().forget(sids);
        Hidden(hidden)
    }

    /// The second half of [`Registry::forget`]: some series at a time, so that rows are found and
    /// registered meanwhile. Nobody hides others before it is done.
    pub fn count_hidden(&self, Hidden(hidden): &Hidden) {
        let sids: Vec<u32> = hidden.iter().collect();
        let mut sources = Vec::with_capacity(sids.len());
        for sids in sids.chunks(GONE_AT_ONCE) {
            self.names().write().count_hidden(sids, &mut sources);
        }
        sources.sort_unstable();
        sources.dedup();
        for sources in sources.chunks(GONE_AT_ONCE) {
            let mut names = self.names().write();
            sources.iter().for_each(|source| names.settle(*source));
        }
    }

    /// Gives the memory back in which rows of forgotten series were found, once that is much. All
    /// of the lookup is looked through, piece by piece: rows are found and registered meanwhile.
    pub fn sweep(&self) {
        let Some(gone) = self.lookup().read().gone_if_many().cloned() else { return };
        let sids: Vec<u32> = gone.iter().collect();
        let mut sources = HashSet::new();
        for sids in sids.chunks(GONE_AT_ONCE) {
            let names = self.names().read();
            sources.extend(sids.iter().filter_map(|sid| Some(names.series(*sid)?.0)));
        }
        for first in (0..SHARDS).step_by(SWEPT_AT_ONCE) {
            let (names, mut lookup) = (self.names().read(), self.lookup().write());
            // A row of which one series was forgotten is found by none of the others.
            lookup.sweep(first..first + SWEPT_AT_ONCE, |first| {
                names.series(first).map(|(source, _)| source).filter(|of| sources.contains(of))
            });
        }
        self.lookup().write().note_swept(&gone);
    }
}
