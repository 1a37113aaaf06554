//! Maintenance: the work on parts that nobody waits for, piece by piece.
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
//! Before anything is merged, parts that expired go, see `expire.rs`, and parts that hold much that
//! nobody sees are written again without it, see `shed.rs`.
//!
//! Final parts that are small, as late samples in old windows leave them, are merged with their
//! like once there are many.
//!
//! [`Config::merge_parts`]: crate::Config::merge_parts
//! [`Config::merge_quiet`]: crate::Config::merge_quiet

use crate::config::{Ack, Commit};
use crate::error::Error;
use crate::filenames;
use crate::limits::{LEVEL_FINAL, MERGE_DEBT_PARTS_MAX, MERGE_PARTS_MAX, MERGE_SMALL_BYTES_MAX};
use crate::manifest::PartEntry;
use crate::merge::Merger;
use crate::part::format::Header;
use crate::part::{Part, PartWriter};
use crate::shed::{Expired, mask_outside};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::tombstones::{Mask, Tombstones};
use crate::view::View;
use foliot_model::TimeRange;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often the maintainer looks for runs that became quiet.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// How long a maintainer that failed waits before it tries again.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// How often a flush that waits for merges looks again.
const DEBT_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause of a merge.
const PAUSE_MAX: Duration = Duration::from_secs(1);
/// Series merged between two looks at the clock.
const SERIES_PER_LOOK: u32 = 64;

/// What the maintainer remembers.
#[derive(Default)]
pub(crate) struct Maintenance {
    /// Parts that could not be read: left alone until the store is opened again, which sets damaged
    /// files aside.
    unreadable: HashSet<u64>,
}

/// Parts that are due to be merged.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Debt {
    pub(crate) parts: u64,
    pub(crate) bytes: u64,
}

/// Neighbours: parts of one namespace, retention class, epoch and window, by rank, with none of
/// their kind in between.
type Run = Vec<Arc<Part>>;

/// A merge to be done: neighbours of a run, the level of what comes out, and the slices of time
/// that are written apart.
pub(crate) struct Job {
    pub(crate) inputs: Vec<Arc<Part>>,
    pub(crate) level: u8,
    pub(crate) slices: Vec<TimeRange>,
}

impl Job {
    /// A merge of as many of `parts` as one merge takes, the oldest first.
    pub(crate) fn new(parts: &[Arc<Part>], level: u8) -> Self {
        let inputs = parts.iter().take(MERGE_PARTS_MAX).cloned().collect();
        Self { inputs, level, slices: vec![TimeRange::ALL] }
    }
}

/// The maintainer thread.
pub(crate) fn run(store: &Store) {
    loop {
        {
            let mut order = store.maintainer.lock();
            if !order.is_asked && !order.is_closing {
                store.maintainer_wake.wait_for(&mut order, LOOK_INTERVAL);
            }
            if order.is_closing {
                return;
            }
            order.is_asked = false;
        }
        loop {
            match store.maintain() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => {
                    let mut order = store.maintainer.lock();
                    if !order.is_closing {
                        store.maintainer_wake.wait_for(&mut order, RETRY_PAUSE);
                    }
                    break;
                }
            }
            if store.maintainer.lock().is_closing {
                return;
            }
        }
    }
}

impl Store {
    /// Wakes the maintainer.
    pub(crate) fn ask_for_maintenance(&self) {
        self.maintainer.lock().is_asked = true;
        self.maintainer_wake.notify_all();
    }

    /// Does one piece of work, if one is due. See `Engine::maintain`.
    pub(crate) fn maintain(&self) -> Result<bool, Error> {
        let mut maintenance = self.maintenance.lock();
        if self.expire()? || self.maintain_epochs()? {
            return Ok(true);
        }
        let view = self.view.read().clone();
        let job = match self.due_to_shed(&view, &maintenance.unreadable)? {
            Some(job) => Some(job),
            None => self.due(&view, &maintenance.unreadable),
        };
        match job {
            Some(job) => self.merge(job, &mut maintenance).map(|()| true),
            None => Ok(false),
        }
    }

    /// See `Engine::merge_all`.
    pub(crate) fn merge_all(&self) -> Result<(), Error> {
        let mut maintenance = self.maintenance.lock();
        loop {
            let view = self.view.read().clone();
            let is_open = |run: &Run| run.len() > 1 || run.iter().any(|part| !is_final(part));
            let runs = runs(&view, &maintenance.unreadable);
            let Some(run) = runs.into_iter().find(is_open) else { return Ok(()) };
            self.merge(Job::new(&run, LEVEL_FINAL), &mut maintenance)?;
        }
    }

    /// What is due to be merged because of its number.
    pub(crate) fn merge_debt(&self, view: &View) -> Debt {
        let mut debt = Debt::default();
        for run in runs(view, &HashSet::new()) {
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

    /// Holds a flush back while far too many parts wait to be merged.
    pub(crate) fn wait_for_merges(&self) {
        let is_too_much = || {
            let view = self.view.read().clone();
            view.parts.len() as u64 > MERGE_DEBT_PARTS_MAX
                && self.merge_debt(&view).parts > MERGE_DEBT_PARTS_MAX
        };
        while !self.flusher.lock().is_closing && is_too_much() {
            self.ask_for_maintenance();
            std::thread::sleep(DEBT_PAUSE);
        }
    }

    /// The merge that is due most: the longest row of one level, else what was quiet, else what is
    /// small.
    fn due(&self, view: &View, unreadable: &HashSet<u64>) -> Option<Job> {
        let runs = runs(view, unreadable);
        let many = runs.iter().flat_map(|run| self.many(run));
        if let Some(parts) = many.max_by_key(|parts| parts.len()) {
            let level = parts.first().map_or(0, |part| part.entry.level);
            return Some(Job::new(parts, level + 1));
        }
        let now_ns = self.disk.now_ns();
        let quiet_ns = self.config.merge_quiet.as_nanos();
        let is_quiet =
            |part: &Arc<Part>| u128::from(now_ns.abs_diff(part.entry.written_ns)) >= quiet_ns;
        let quiet = || runs.iter().filter(|run| run.iter().all(is_quiet));
        let rows = || quiet().flat_map(|run| run.chunk_by(|a, b| is_final(a) == is_final(b)));
        let retention = self.retention.read().clone();
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
        Some(Job::new(parts, LEVEL_FINAL))
    }

    /// Writes the parts of a job as one, and publishes it in their place.
    fn merge(&self, job: Job, maintenance: &mut Maintenance) -> Result<(), Error> {
        let result = self.write_slices(&job);
        let result = result.and_then(|merged| self.replace(&job, merged));
        match &result {
            Ok(()) => self.counters.merges.fetch_add(1, Ordering::Relaxed),
            Err(Error::Closed) => 0,
            Err(_) => self.counters.merges_failed.fetch_add(1, Ordering::Relaxed),
        };
        if let Err(Error::Corrupt { path, .. }) = &result {
            let dir = &self.dir;
            let numbers = job.inputs.iter().map(|part| part.entry.number);
            maintenance.unreadable.extend(numbers.filter(|n| filenames::part(dir, *n) == *path));
        }
        result
    }

    /// Writes the merged parts, one for each slice that holds something.
    fn write_slices(&self, job: &Job) -> Result<Vec<Arc<Part>>, Error> {
        let mut merged: Vec<Arc<Part>> = Vec::new();
        for slice in &job.slices {
            match self.write_merged(job, *slice) {
                Ok(part) => merged.extend(part),
                Err(error) => {
                    merged.iter().for_each(|part| part.doom());
                    return Err(error);
                }
            }
        }
        Ok(merged)
    }

    /// Writes what lies in `slice` as one part; nothing if there was nothing to write.
    fn write_merged(&self, job: &Job, slice: TimeRange) -> Result<Option<Arc<Part>>, Error> {
        let Some(newest) = job.inputs.last().map(|part| part.entry) else { return Ok(None) };
        let PartEntry { rank, namespace, class, epoch, .. } = newest;
        // Deletes compare numbers: one that is asked for later must find this number given out, one
        // that was asked for before must be in this view.
        let (number, tombstones) = {
            let _files = self.files.lock();
            (self.take_number(), self.view.read().tombstones.clone())
        };
        let (store_id, level) = (self.store_id, job.level);
        let header = Header { store_id, number, rank, namespace, class, epoch, level };
        let is_final = header.is_final();
        let path = filenames::part(&self.dir, number);
        let written = PartWriter::create(&*self.disk, &path, &header).and_then(|mut writer| {
            if is_final {
                let names = self.namespaces().into_iter().find(|(id, ..)| *id == namespace);
                let (_, database, policy) = names.unwrap_or_default();
                writer.place(&database, &policy)?;
            }
            self.merge_into(job, slice, tombstones, &mut writer)?;
            writer.finish()
        });
        let written = match written {
            Ok(written) if written.samples > 0 => written,
            other => {
                // A leftover otherwise, removed at the next start.
                let _ = self.disk.remove(&path);
                return other.map(|_| None);
            }
        };
        self.counters.bytes_merged.fetch_add(written.bytes, Ordering::Relaxed);
        let entry = PartEntry {
            number,
            level,
            range: written.range,
            samples: written.samples,
            bytes: written.bytes,
            written_ns: job.inputs.iter().map(|part| part.entry.written_ns).max().unwrap_or(0),
            ..newest
        };
        let part = self.open_part(entry)?;
        part.note_shed(self.retention.read().floor(self.disk.now_ns(), namespace, class));
        Ok(Some(Arc::new(part)))
    }

    fn merge_into(
        &self,
        job: &Job,
        slice: TimeRange,
        tombstones: Arc<Tombstones>,
        writer: &mut PartWriter,
    ) -> Result<(), Error> {
        // What goes from the disk must not come back when a power cut takes the delete.
        self.wal.wait(Commit { lsn: tombstones.lsn() }, Ack::Durable)?;
        let (namespace, class) =
            job.inputs.first().map_or((0, 0), |part| (part.entry.namespace, part.entry.class));
        let mut expired = Expired::new(self, namespace, class);
        let is_final = job.level >= LEVEL_FINAL;
        let names = Snapshot::new(self);
        let mut merger = Merger::new(&job.inputs, tombstones, is_final)?;
        let mut pace = Pace::new(self);
        let mut series = 0u32;
        let mut hide = |sid, start_ns, masks: &mut Vec<Mask>| {
            expired.mask(self, sid, start_ns, masks);
            mask_outside(slice, masks);
        };
        while let Some(sid) = merger.sid() {
            if is_final {
                writer.name(names.identity(sid)?.as_ref())?;
            }
            merger.merge(sid, writer, &mut hide)?;
            series += 1;
            if series.is_multiple_of(SERIES_PER_LOOK) {
                pace.keep(self)?;
            }
        }
        // What has expired must not come back either when more is kept from now on.
        self.keep_floors(&expired.floors)
    }

    /// Publishes merged parts in place of what was merged.
    fn replace(&self, job: &Job, merged: Vec<Arc<Part>>) -> Result<(), Error> {
        let mut files = self.files.lock();
        let gone: HashSet<u64> = job.inputs.iter().map(|part| part.entry.number).collect();
        let is_gone = |entry: &PartEntry| gone.contains(&entry.number);
        if files.manifest.parts.iter().filter(|entry| is_gone(entry)).count() != gone.len() {
            // Somebody replaced them meanwhile.
            merged.iter().for_each(|part| part.doom());
            return Ok(());
        }
        let mut manifest = files.manifest.clone();
        manifest.parts.retain(|entry| !is_gone(entry));
        manifest.parts.extend(merged.iter().map(|part| part.entry));
        manifest.parts.sort_by_key(|entry| entry.rank);
        manifest.next_file = self.next_file.load(Ordering::Relaxed);
        self.disk.sync_dir(&self.dir).map_err(Error::io("sync", &self.dir))?;
        manifest.write(&*self.disk, &self.dir)?;
        files.manifest = manifest;
        {
            let mut view = self.view.write();
            let mut new = View::clone(&view);
            new.parts.retain(|part| !is_gone(&part.entry));
            new.parts.extend(merged);
            new.parts.sort_by_key(|part| part.entry.rank);
            new.tombstones = new.tombstones.still_masking(&new.parts);
            *view = Arc::new(new);
        }
        job.inputs.iter().for_each(|part| part.doom());
        Ok(())
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

/// All parts, neighbour by neighbour. Parts that cannot be read come between others.
fn runs(view: &View, unreadable: &HashSet<u64>) -> Vec<Run> {
    let mut runs = BTreeMap::<_, Vec<Run>>::new();
    for part in &view.parts {
        let PartEntry { number, namespace, class, epoch, range, .. } = part.entry;
        let key = (namespace, class, epoch, crate::block::window(range.start_ns));
        let runs = runs.entry(key).or_default();
        match (unreadable.contains(&number), runs.last_mut()) {
            (true, _) => runs.push(Run::new()),
            (false, Some(run)) => run.push(part.clone()),
            (false, None) => runs.push(vec![part.clone()]),
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
    fn new(store: &Store) -> Self {
        let samples = store.counters.samples_written.load(Ordering::Relaxed);
        Self { since_ns: store.disk.monotonic_ns(), samples }
    }

    /// Waits as long as the work since the last call asks for. Fails when the store is closed.
    fn keep(&mut self, store: &Store) -> Result<(), Error> {
        let mut order = store.maintainer.lock();
        if order.is_closing {
            return Err(Error::Closed);
        }
        let now = Self::new(store);
        let share = u64::from(store.config.merge_share_percent.clamp(1, 100));
        if store.config.background && now.samples > self.samples && share < 100 {
            let worked_ns = now.since_ns.saturating_sub(self.since_ns);
            let pause = Duration::from_nanos(worked_ns.saturating_mul(100 - share) / share);
            store.maintainer_wake.wait_for(&mut order, pause.min(PAUSE_MAX));
        }
        *self = Self::new(store);
        Ok(())
    }
}
