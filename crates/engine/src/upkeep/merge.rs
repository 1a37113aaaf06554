//! Which parts are merged, and how the merge is published.
//!
//! Parts of one namespace, retention class, epoch and window are a *run*, in the order of their
//! ranks. Flushed parts are at level 0. As soon as [`Config::merge_parts`] neighbours of a level
//! are there they become one part of the next level, up to [`LEVEL_FINAL`]; so a sample is written
//! once by its flush and at most twice by merges. The newest part of a run waits for the next one:
//! queries of recent times read it, and would read many times as much in what it is merged into. A
//! run that was quiet for [`Config::merge_quiet`] is merged whole.
//!
//! Work never holds the lock on files but to look and to publish. What it reads may be replaced
//! meanwhile: then its output is thrown away. A stop in the middle leaves a file that no manifest
//! names, which opening removes.
//!
//! Parts that hold much that nobody sees are written again without it first, see `shed.rs`.
//!
//! Final parts that are small, as late samples in old windows leave them, are merged with their
//! like once there are many.
//!
//! [`Config::merge_parts`]: crate::Config::merge_parts
//! [`Config::merge_quiet`]: crate::Config::merge_quiet

use super::Upkeep;
use super::shed::{Expired, mask_outside};
use crate::config::Commit;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::files::Made;
use crate::floors::Floors;
use crate::limits::{
    BAY_BYTES_MAX, LEVEL_FINAL, MERGE_CURSOR_BYTES, MERGE_PARTS_MAX, MERGE_PARTS_MIN,
    MERGE_SMALL_BYTES_MAX,
};
use crate::manifest::PartEntry;
use crate::merge::Merger;
use crate::part::format::Header;
use crate::part::{Part, PartWriter};
use crate::retention::Retention;
use crate::tombstones::{Mask, Tombstones};
use crate::view::View;
use foliot_model::TimeRange;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The longest pause of a merge.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Series merged between two looks at the clock.
const SERIES_PER_LOOK: u32 = 64;

/// Numbers of parts that could not be read: left alone until the store is opened again.
pub(super) type Unreadable = HashSet<u64>;

/// Parts that are due to be merged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Debt {
    pub(crate) parts: u64,
    pub(crate) bytes: u64,
}

/// Neighbours: parts of one namespace, retention class, epoch and window, by rank, with none of
/// their kind in between.
type Run = Vec<Arc<Part>>;

/// Whether more can be merged of a run.
fn is_open(run: &Run) -> bool {
    run.len() > 1 || run.iter().any(|part| !is_final(part))
}

/// A merge to be done: neighbours of a run, the level of what comes out, and the slices of time
/// that are written apart.
pub(crate) struct Merge {
    pub(super) inputs: Vec<Arc<Part>>,
    pub(super) level: u8,
    pub(super) slices: Vec<TimeRange>,
}

impl Merge {
    /// A merge of as many of `parts` as `bytes_max` have room for, the oldest first.
    pub(super) fn new(parts: &[Arc<Part>], level: u8, bytes_max: u64) -> Self {
        let mut bytes = 0;
        let is_within = |(before, part): &(usize, &Arc<Part>)| {
            bytes += memory_of(part);
            *before < MERGE_PARTS_MIN || bytes <= bytes_max
        };
        let parts = parts.iter().take(MERGE_PARTS_MAX).enumerate().take_while(is_within);
        let inputs = parts.map(|(_, part)| part.clone()).collect();
        Self { inputs, level, slices: vec![TimeRange::ALL] }
    }
}

/// What a merge takes for one of its parts.
fn memory_of(part: &Arc<Part>) -> u64 {
    let bay = if is_final(part) { part.entry.bytes.min(BAY_BYTES_MAX as u64) } else { 0 };
    MERGE_CURSOR_BYTES + bay
}

impl Upkeep {
    /// The next of all merges that can be done, due or not.
    pub(super) fn unfinished(&self, unreadable: &Unreadable) -> Option<Merge> {
        let runs = runs(&self.files.view(), &self.ingest.retention(), unreadable);
        runs.into_iter().find(is_open).map(|run| self.merge_of(&run, LEVEL_FINAL))
    }

    /// Bytes of what is not merged as far as it goes.
    pub(crate) fn unfinished_bytes(&self) -> u64 {
        let runs = runs(&self.files.view(), &self.ingest.retention(), &Unreadable::new());
        runs.iter().filter(|run| is_open(run)).map(|run| bytes(run)).sum()
    }

    /// What is due to be merged because of its number.
    pub(crate) fn merge_debt(&self, view: &View) -> Debt {
        let mut debt = Debt::default();
        for run in runs(view, &self.ingest.retention(), &Unreadable::new()) {
            for parts in self.many(&run) {
                debt.parts += parts.len() as u64;
                debt.bytes += bytes(parts);
            }
        }
        debt
    }

    /// Neighbours of one level that are enough to be merged.
    fn many<'r>(&self, run: &'r [Arc<Part>]) -> impl Iterator<Item = &'r [Arc<Part>]> {
        let enough = self.config.merge_parts.max(2);
        let before_newest = run.split_last().map_or(run, |(_, before)| before);
        let rows = levels(before_newest);
        rows.filter(move |parts| parts.len() >= enough && !parts.iter().any(is_final))
    }

    /// The merge that is due most: the longest row of one level, else what was quiet, else what is
    /// small.
    pub(super) fn due(&self, view: &View, unreadable: &Unreadable) -> Option<Merge> {
        let retention = self.ingest.retention();
        let runs = runs(view, &retention, unreadable);
        let many = runs.iter().flat_map(|run| self.many(run));
        if let Some(parts) = many.max_by_key(|parts| parts.len()) {
            let level = parts.first().map_or(0, |part| part.entry.level);
            return Some(self.merge_of(parts, level + 1));
        }
        let now_ns = self.ingest.clock().gone_ns();
        let quiet_ns = self.config.merge_quiet.as_nanos();
        let is_quiet =
            |part: &Arc<Part>| u128::from(now_ns.abs_diff(part.entry.written_ns)) >= quiet_ns;
        let quiet = || runs.iter().filter(|run| run.iter().all(is_quiet));
        let rows = || quiet().flat_map(|run| run.chunk_by(|a, b| is_final(a) == is_final(b)));
        // Its parts go soon, and may be slices.
        let is_expiring = |parts: &&[Arc<Part>]| {
            parts.first().is_some_and(|part| {
                let window = crate::block::window(part.entry.range.start_ns);
                let floor_ns = retention.floor(now_ns, part.entry.namespace, part.entry.class);
                window <= crate::block::window(floor_ns)
            })
        };
        let unfinished = rows().filter(|parts| !parts.iter().any(is_final));
        let parts = unfinished.max_by_key(|parts| parts.len()).or_else(|| {
            let are_many = |parts: &&[Arc<Part>]| parts.len() >= self.config.merge_parts.max(2);
            rows().filter(|parts| !is_expiring(parts)).map(small_ones).find(are_many)
        })?;
        Some(self.merge_of(parts, LEVEL_FINAL))
    }

    /// A merge of the oldest of `parts`, as many as there is memory for.
    pub(super) fn merge_of(&self, parts: &[Arc<Part>], level: u8) -> Merge {
        Merge::new(parts, level, self.config.merge_bytes_max / 2)
    }

    /// Writes the parts of a merge as one, and publishes it in their place.
    pub(super) fn merge(&self, merge: &Merge, unreadable: &mut Unreadable) -> Result<(), Error> {
        let mut made = self.files.begin();
        let mut floors = Floors::at(self.ingest.clock().gone_ns());
        let result = self.write_slices(merge, &mut floors, &mut made).and_then(|merged| {
            // What has expired must not come back when more is kept from now on.
            match self.ingest.keep_floors(&floors)? {
                true => self.replace(merge, merged, made),
                // What is kept changed meanwhile: the next merge does right by it.
                false => Ok(()),
            }
        });
        match &result {
            Ok(()) => self.counters.merges.fetch_add(1, Ordering::Relaxed),
            Err(Error::Closed) => 0,
            Err(_) => self.counters.merges_failed.fetch_add(1, Ordering::Relaxed),
        };
        if let Err(Error::Corrupt { path, .. }) = &result {
            let dir = self.files.dir();
            let numbers = merge.inputs.iter().map(|part| part.entry.number);
            unreadable.extend(numbers.filter(|n| filenames::part(dir, *n) == *path));
        }
        result
    }

    /// Writes the merged parts, one for each slice that holds something.
    fn write_slices(
        &self,
        merge: &Merge,
        floors: &mut Floors,
        made: &mut Made<'_>,
    ) -> Result<Vec<Arc<Part>>, Error> {
        let slices = merge.slices.iter();
        let write = |slice: &TimeRange| self.write_merged(merge, *slice, floors, made).transpose();
        slices.filter_map(write).collect()
    }

    /// Writes what lies in `slice` as one part; nothing if there was nothing to write.
    fn write_merged(
        &self,
        merge: &Merge,
        slice: TimeRange,
        floors: &mut Floors,
        made: &mut Made<'_>,
    ) -> Result<Option<Arc<Part>>, Error> {
        let Some(newest) = merge.inputs.last().map(|part| part.entry) else { return Ok(None) };
        let PartEntry { rank, namespace, class, epoch, .. } = newest;
        let files = &*self.files;
        // Deletes compare numbers: one that is asked for later must find this number given out, one
        // that was asked for before must be in this view.
        let held = files.hold();
        let tombstones = files.view().tombstones.clone();
        let (store_id, level) = (files.store_id(), merge.level);
        let (number, written) = made.make(Named::Part, |path, number| {
            drop(held);
            let header = Header { store_id, number, rank, namespace, class, epoch, level };
            let writer = PartWriter::create(files.disk(), path, &header)?;
            let mut writer = writer.within(self.config.merge_bytes_max / 2);
            if header.is_final() {
                let (database, policy) =
                    self.ingest.namespaces().name(namespace).unwrap_or_default();
                writer.place(&database, &policy)?;
            }
            self.merge_into(merge, slice, tombstones, floors, &mut writer)?;
            writer.finish()
        })?;
        if written.samples == 0 {
            made.discard(Named::Part(number));
            return Ok(None);
        }
        self.counters.bytes_merged.fetch_add(written.bytes, Ordering::Relaxed);
        let entry = PartEntry {
            number,
            level,
            range: written.range,
            samples: written.samples,
            bytes: written.bytes,
            written_ns: merge.inputs.iter().map(|part| part.entry.written_ns).max().unwrap_or(0),
            ..newest
        };
        let part = files.open_part(entry)?;
        let now_ns = self.ingest.clock().gone_ns();
        part.note_shed(self.ingest.retention().floor(now_ns, namespace, class));
        Ok(Some(Arc::new(part)))
    }

    fn merge_into(
        &self,
        merge: &Merge,
        slice: TimeRange,
        tombstones: Arc<Tombstones>,
        floors: &mut Floors,
        writer: &mut PartWriter,
    ) -> Result<(), Error> {
        // What goes from the disk must not come back when a power cut takes the delete.
        self.ingest.wal().settle(Commit::at(tombstones.lsn()))?;
        let key = merge.inputs.first().map(|part| (part.entry.namespace, part.entry.class));
        let mut expired = Expired::new(&self.ingest, key.unwrap_or_default(), floors);
        let is_final = merge.level >= LEVEL_FINAL;
        // No snapshot: that would keep in memory whatever is flushed while this merge goes on.
        let names = self.ingest.epochs();
        let mut merger = Merger::new(&merge.inputs, tombstones, is_final)?;
        let mut pace = Pace::new(self);
        let mut series = 0u32;
        let mut hide = |sid, start_ns, masks: &mut Vec<Mask>| {
            expired.mask(sid, start_ns, masks);
            mask_outside(slice, masks);
        };
        while let Some(sid) = merger.sid() {
            if is_final {
                writer.name(names.identity(sid)?);
            }
            merger.merge(sid, writer, &mut hide)?;
            series += 1;
            if series.is_multiple_of(SERIES_PER_LOOK) {
                pace.keep(self)?;
            }
        }
        Ok(())
    }

    /// Publishes merged parts in place of what was merged.
    fn replace(&self, merge: &Merge, merged: Vec<Arc<Part>>, made: Made<'_>) -> Result<(), Error> {
        let mut held = self.files.hold();
        let gone: HashSet<u64> = merge.inputs.iter().map(|part| part.entry.number).collect();
        let is_gone = |entry: &PartEntry| gone.contains(&entry.number);
        let mut manifest = held.manifest().clone();
        let before = manifest.parts.len();
        manifest.parts.retain(|entry| !is_gone(entry));
        if before - manifest.parts.len() != gone.len() {
            // Somebody replaced them meanwhile.
            return Ok(());
        }
        manifest.parts.extend(merged.iter().map(|part| part.entry));
        manifest.parts.sort_by_key(|entry| entry.rank);
        held.publish(manifest, made, |view| {
            view.parts.retain(|part| !is_gone(&part.entry));
            view.parts.extend(merged);
            view.tombstones = view.tombstones.still_masking(&view.parts, &view.absent);
        })
    }
}

fn is_final(part: &Arc<Part>) -> bool {
    part.entry.level >= LEVEL_FINAL
}

fn bytes(parts: &[Arc<Part>]) -> u64 {
    parts.iter().map(|part| part.entry.bytes).sum()
}

/// Rows of neighbours of one level.
fn levels(run: &[Arc<Part>]) -> impl Iterator<Item = &[Arc<Part>]> {
    run.chunk_by(|a, b| a.entry.level == b.entry.level)
}

/// The youngest of `parts` that are small together and of which none is larger than the others.
fn small_ones(mut parts: &[Arc<Part>]) -> &[Arc<Part>] {
    while let [first, rest @ ..] = parts
        && (bytes(parts) > MERGE_SMALL_BYTES_MAX || first.entry.bytes > bytes(rest))
    {
        parts = rest;
    }
    parts
}

/// All parts, neighbour by neighbour. What divides a run: parts that cannot be read, and a change
/// of classes. Merged parts have the rank of their newest: what a series has in the class that it
/// left would stand above what it was given later in another.
fn runs(view: &View, retention: &Retention, unreadable: &Unreadable) -> Vec<Run> {
    let readable = |part: &&Arc<Part>| !unreadable.contains(&part.entry.number);
    let absent = view.absent.iter().map(|entry| (entry, None));
    let parts = view.parts.iter().map(|part| (&part.entry, Some(part).filter(readable)));
    let mut all: Vec<_> = parts.chain(absent).collect();
    all.sort_by_key(|(entry, _)| entry.rank);
    let mut runs = BTreeMap::<_, Vec<Run>>::new();
    for (entry, part) in all {
        let PartEntry { rank, namespace, class, epoch, range, .. } = *entry;
        let window = crate::block::window(range.start_ns);
        let runs = runs.entry((namespace, class, epoch, window)).or_default();
        let divides = |run: &Run| {
            let older = run.last().map_or(rank, |part| part.entry.rank);
            retention.was_reclassified(older, rank)
        };
        match (part, runs.last_mut()) {
            (None, _) => runs.push(Run::new()),
            (Some(part), Some(run)) if !divides(run) => run.push(part.clone()),
            (Some(part), _) => runs.push(vec![part.clone()]),
        }
    }
    let all = runs.into_values().flatten();
    all.filter(|run| !run.is_empty()).collect()
}

/// Keeps a merge to its share of a core while samples arrive.
struct Pace {
    since_ns: u64,
    samples: u64,
}

impl Pace {
    fn new(upkeep: &Upkeep) -> Self {
        let samples = upkeep.counters.samples_written.load(Ordering::Relaxed);
        Self { since_ns: upkeep.files.disk().monotonic_ns(), samples }
    }

    /// Waits as long as the work since the last call asks for. Fails when the store is closed.
    fn keep(&mut self, upkeep: &Upkeep) -> Result<(), Error> {
        let now = Self::new(upkeep);
        let config = &upkeep.config;
        let share = u64::from(config.merge_share_percent.clamp(1, 100));
        let mut pause = Duration::ZERO;
        if config.background && now.samples > self.samples && share < 100 {
            let worked_ns = now.since_ns.saturating_sub(self.since_ns);
            pause = Duration::from_nanos(worked_ns.saturating_mul(100 - share) / share);
        }
        if !upkeep.queue.pause(upkeep.files.disk(), pause.min(PAUSE_MAX)) {
            return Err(Error::Closed);
        }
        *self = Self::new(upkeep);
        Ok(())
    }
}
