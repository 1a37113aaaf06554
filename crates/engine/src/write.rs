//! The write path, on one screen.
//!
//! 1. *resolve*: find the series of each row by the hash of its raw key; what is unknown is parsed
//!    and registered, and the registration goes into the wal before anyone can see its ids.
//! 2. *append*: encode all rows as one frame of the wal, and give it its place there. The pages of
//!    the head that the rows are of are locked from before that on, so that whoever writes the same
//!    instant of a series comes before or after in wal and head alike.
//! 3. *apply*: put the samples into the head.
//! 4. *publish*: nothing to do. The head is read live, so the rows are visible; the commit that is
//!    returned says what to wait for before acknowledging them.

use crate::block::Builder;
use crate::config::Commit;
use crate::error::Error;
use crate::head::stream::{Decoded, KindScale};
use crate::head::{Appender, page_of};
use crate::ingest::Ingest;
use crate::limits::FEW_SERIES_MAX;
use crate::retention::Retention;
use crate::wal::frame::FrameKind;
use crate::wal::rows;
use foliot_index::{Limited, Registered, Registry, Resolver, Run, Sids, Terms, read_row};
use foliot_lock::{Mutex, Rank};
use foliot_model::{Batch, KeyParts, NamespaceId, Reject, Row};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a reject names when its row is too old to be kept.
pub const FIELD_RETENTION: &str = "retention";

/// Workspaces that are kept for later writes: as many as write at once on a small machine. Whoever
/// finds none makes one.
const WORKSPACES_KEPT_MAX: usize = 8;

/// Memory of such a workspace, at most: enough for ten thousand rows of ten fields.
const WORKSPACE_BYTES_KEPT: usize = 1 << 20;

/// Rows whose places in the lookup are fetched together: as many loads as a core has on its way at
/// once. Of a hundred thousand series or more each place is far away.
const FETCHED_ROWS: usize = 16;

/// Workspaces that nobody uses at present. Threads come and go by hundreds, and what each of them
/// kept would be bounded by nothing.
pub(crate) struct Workspaces(Mutex<Vec<Workspace>>);

impl Workspaces {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Rank::Spares, Vec::new()))
    }

    fn take(&self) -> Workspace {
        self.0.lock().pop().unwrap_or_default()
    }

    fn give(&self, workspace: Workspace) {
        let mut kept = self.0.lock();
        if kept.len() < WORKSPACES_KEPT_MAX && workspace.memory_bytes() <= WORKSPACE_BYTES_KEPT {
            kept.push(workspace);
        }
    }
}

/// Memory of the write path.
#[derive(Default)]
pub(crate) struct Workspace {
    /// The series of each row of the batch.
    places: Vec<Place>,
    missing: Vec<u32>,
    /// Rows that are too old, whatever series they are of.
    old: Vec<u32>,
    /// Ids of rows that the lookup does not remember.
    ids: Vec<u32>,
    /// The rows that are stored, in the order in which they are: first series in the upper half,
    /// number in the batch in the lower.
    order: Vec<u64>,
    frame: Vec<u8>,
    /// The pages of the head that the rows are of.
    pages: Vec<u32>,
    builder: Builder,
    /// Series that were registered for the batch.
    registered: Registered,
    origin: Origin,
}

/// Where samples come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    #[default]
    Sent,
    /// From series of other names, which go: there are no more series in the end.
    Renamed,
}

/// Where the series ids of a row are.
#[derive(Clone, Copy)]
enum Place {
    /// Nowhere: the row was rejected.
    Nowhere,
    /// In the lookup.
    Run(Run),
    /// In the workspace.
    Ids(u32),
}

impl Ingest {
    /// Writes a batch. See `Engine::write_telling`.
    pub(crate) fn write(
        &self,
        batch: &Batch<'_>,
        rejects: &mut Vec<Reject>,
        new_sids: &mut Vec<Range<u32>>,
    ) -> Result<Commit, Error> {
        self.write_as(Origin::Sent, batch, rejects, new_sids)
    }

    /// The same for samples from elsewhere.
    pub(crate) fn write_as(
        &self,
        origin: Origin,
        batch: &Batch<'_>,
        rejects: &mut Vec<Reject>,
        new_sids: &mut Vec<Range<u32>>,
    ) -> Result<Commit, Error> {
        self.wal().check()?;
        if self.is_overloaded() {
            return Err(Error::Overloaded);
        }
        let commit = {
            let _gate = self.join();
            self.write_held(origin, batch, rejects, new_sids)
        };
        // Also when it was refused: something may have been registered.
        self.wal().push();
        self.keep_reserve();
        commit
    }

    /// See `Engine::would_take`.
    pub(crate) fn would_take(&self, batch: &Batch<'_>, row: &Row, new_series: usize) -> bool {
        let too_old = TooOld::new(self, batch.namespace());
        let mut parts = KeyParts::default();
        if row.time_ns < too_old.surely_before_ns
            || read_row(batch, row, self.config().labels_max, &mut parts).is_err()
            || too_old.is_before_by_key(self, batch, row)
        {
            return false;
        }
        let registry = self.registry();
        let limits = self.series_limits();
        let is_beyond = limits.of(batch.namespace()).is_some_and(|limited| {
            let labels_max = self.config().labels_max;
            registry.is_beyond(batch, row, labels_max, &|of, field| limited.series_max(of, field))
        });
        !is_beyond && self.room(&registry).0 >= new_series as u64
    }

    /// How many series may be made now, and which setting admits no more.
    fn room(&self, registry: &Registry) -> (u64, &'static str) {
        let counts = registry.counts();
        let series = counts.series - counts.forgotten;
        self.admission().room(self.disk(), series, self.lasting_bytes(registry))
    }

    /// Writes a batch for a caller that holds the gate, and pushes the wal.
    pub(crate) fn write_held(
        &self,
        origin: Origin,
        batch: &Batch<'_>,
        rejects: &mut Vec<Reject>,
        new_sids: &mut Vec<Range<u32>>,
    ) -> Result<Commit, Error> {
        let rejects_before = rejects.len();
        let mut workspace = self.workspaces().take();
        let registry = self.registry();
        workspace.origin = origin;
        let resolved = workspace.resolve(self, &registry, batch, rejects);
        let result = resolved.and_then(|()| workspace.append_and_apply(self, &registry, batch));
        let registered = std::mem::take(&mut workspace.registered);
        self.workspaces().give(workspace);
        new_sids.extend(registered.new_sids);
        let commit = result?;
        let rejected = (rejects.len() - rejects_before) as u64;
        self.counters().rows_rejected.fetch_add(rejected, Ordering::Relaxed);
        Ok(Commit { new_series: registered.new_series, ..commit })
    }
}

impl Workspace {
    /// What grows with a batch. The builder holds one block.
    fn memory_bytes(&self) -> usize {
        let Self { places, missing, old, ids, order, frame, pages, .. } = self;
        let numbers = missing.capacity() + old.capacity() + ids.capacity() + pages.capacity();
        places.capacity() * size_of::<Place>()
            + numbers * size_of::<u32>()
            + order.capacity() * size_of::<u64>()
            + frame.capacity()
    }

    fn resolve(
        &mut self,
        ingest: &Ingest,
        registry: &Registry,
        batch: &Batch<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), Error> {
        self.places.clear();
        self.missing.clear();
        self.old.clear();
        self.ids.clear();
        self.registered = Registered::default();
        let too_old = TooOld::new(ingest, batch.namespace());
        let resolver = registry.resolver();
        // Most batches have one shape.
        let only = match batch.shapes() {
            [only] => Some((only.hash, only.fields_count)),
            _ => None,
        };
        let shape_of = |row: &Row| {
            let found = only
                .or_else(|| batch.shape(row.shape).map(|shape| (shape.hash, shape.fields_count)));
            found.unwrap_or_default()
        };
        for (index, row) in batch.rows().iter().enumerate() {
            if index % FETCHED_ROWS == 0 {
                let next = batch.rows().get(index..).unwrap_or_default().iter().take(FETCHED_ROWS);
                resolver.fetch(next.map(|row| (row.key_hash, shape_of(row).0)));
            }
            if row.time_ns < too_old.surely_before_ns {
                self.old.push(index as u32);
                self.places.push(Place::Nowhere);
                continue;
            }
            let (shape_hash, count) = shape_of(row);
            let run = resolver.find(row.key_hash, shape_hash, count);
            if run.is_none() {
                // A row that is refused makes no series.
                match too_old.is_before_by_key(ingest, batch, row) {
                    true => self.old.push(index as u32),
                    false => self.missing.push(index as u32),
                }
            }
            self.places.push(run.map_or(Place::Nowhere, Place::Run));
        }
        drop(resolver);
        let row = |index: &u32| batch.rows().get(*index as usize);
        let mut unknown = self.missing.iter().chain(&self.old).filter_map(row);
        if batch.has_unread_keys() && !unknown.all(|row| batch.has_key(row)) {
            return Err(Error::NoKey);
        }
        self.old.iter().filter_map(row).for_each(|row| too_old.reject(ingest, row, rejects));
        if !self.missing.is_empty() {
            self.register(ingest, registry, batch, rejects)?;
        }
        if too_old.possibly_before_ns > too_old.surely_before_ns {
            self.reject_by_class(ingest, registry, batch, &too_old, rejects);
        }
        Ok(())
    }

    /// Rejects rows that are too old for the class of their series.
    fn reject_by_class(
        &mut self,
        ingest: &Ingest,
        registry: &Registry,
        batch: &Batch<'_>,
        too_old: &TooOld,
        rejects: &mut Vec<Reject>,
    ) {
        let mut doubtful = Vec::new();
        {
            let resolver = registry.resolver();
            for (index, (row, place)) in batch.rows().iter().zip(&self.places).enumerate() {
                if row.time_ns < too_old.possibly_before_ns
                    && let Some(sids) = sids(&resolver, &self.ids, *place, fields(batch, row))
                {
                    doubtful.push((index, row, sids.first()));
                }
            }
        }
        for (index, row, sid) in doubtful {
            // Rules look at measurement and labels, so all series of a row are of one class.
            let class = registry.describe(sid).map_or(0, |series| series.class);
            let floor_ns = too_old.retention.floor(too_old.now_ns, batch.namespace(), class);
            if let Some(place) = self.places.get_mut(index).filter(|_| row.time_ns < floor_ns) {
                too_old.reject(ingest, row, rejects);
                *place = Place::Nowhere;
            }
        }
    }

    #[cold]
    fn register(
        &mut self,
        ingest: &Ingest,
        registry: &Registry,
        batch: &Batch<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), Error> {
        let Self { places, missing, ids, origin, .. } = self;
        let mut publish =
            |records: &[u8]| ingest.wal().enqueue(FrameKind::Register, records).map(|_| ());
        let mut found = |index: u32, sids: Sids<'_>| {
            if let Some(place) = places.get_mut(index as usize) {
                *place = Place::Ids(ids.len() as u32);
                ids.extend(sids.iter());
            }
        };
        let retention = ingest.retention();
        let (admit, limit) = ingest.room(registry);
        let limits = ingest.series_limits();
        let limits = limits.of(batch.namespace()).filter(|_| *origin == Origin::Sent);
        let limited = limits.map(|limits| |of: &[u8], field: &[u8]| limits.series_max(of, field));
        let terms = Terms {
            admit,
            limit,
            limited: limited.as_ref().map(|limited| limited as &Limited<'_>),
            labels_max: ingest.config().labels_max,
            class: &|key| retention.class_of_key(key),
        };
        let mut registered = Ok(Registered::default());
        let mut work = || {
            let (publish, found) = (&mut publish, &mut found);
            registered = registry.register(batch, missing, &terms, publish, found, rejects);
        };
        let row = |index: &u32| batch.rows().get(*index as usize);
        let mut wanted = missing.iter().filter_map(row).map(|row| fields(batch, row) as usize);
        let is_few = wanted
            .try_fold(0, |sum, count| Some(sum + count).filter(|sum| *sum <= FEW_SERIES_MAX))
            .is_some();
        match is_few {
            true => work(),
            false => (ingest.config().aside)(&mut work),
        }
        let registered = registered?;
        ingest.admission().take(registered.new_series);
        ingest.counters().series_created.fetch_add(registered.new_series, Ordering::Relaxed);
        self.registered = registered;
        Ok(())
    }

    /// Puts the rows in the order of their series, so that those of neighbours meet in memory. Rows
    /// of one series keep theirs; where rows have different fields, which may be the same series
    /// behind different first ones, all keep theirs.
    fn arrange(&mut self, resolver: &Resolver<'_>, batch: &Batch<'_>) {
        let Self { places, ids, order, .. } = self;
        order.clear();
        for (place, index) in places.iter().zip(0u64..) {
            let first = match *place {
                Place::Nowhere => continue,
                Place::Run(Run::Consecutive(first)) => first,
                // Each row has a field.
                Place::Run(run) => resolver.sids(run, 1).first(),
                Place::Ids(start) => match ids.get(start as usize) {
                    Some(first) => *first,
                    None => continue,
                },
            };
            order.push((u64::from(first) << 32) | index);
        }
        let rows = batch.rows();
        let is_one_shape =
            batch.shapes().len() == 1 || rows.is_sorted_by(|a, b| a.shape == b.shape);
        if is_one_shape && !order.is_sorted() {
            order.sort_unstable();
        }
    }

    fn append_and_apply(
        &mut self,
        ingest: &Ingest,
        registry: &Registry,
        batch: &Batch<'_>,
    ) -> Result<Commit, Error> {
        let resolver = registry.resolver();
        self.arrange(&resolver, batch);
        let Self { places, ids, order, frame, pages, builder, .. } = self;
        if order.is_empty() {
            return Ok(Commit::at(0));
        }
        let stored = || {
            order.iter().filter_map(|key| {
                let index = *key as u32 as usize;
                let row = batch.rows().get(index)?;
                let count = fields(batch, row);
                let sids = match count {
                    // The order says it all.
                    1 => Sids::one((*key >> 32) as u32),
                    _ => sids(&resolver, ids, *places.get(index)?, count)?,
                };
                Some((row, sids, count))
            })
        };
        frame.clear();
        pages.clear();
        let mut writer = rows::Writer::new(frame, registry.epoch(), order.len());
        for (row, sids, count) in stored() {
            writer.push(batch, &sids, row.time_ns, batch.cells(row, count));
            note_pages(&sids, count, pages);
        }
        if !pages.is_sorted_by(|a, b| a < b) {
            pages.sort_unstable();
            pages.dedup();
        }
        ingest.wal().look_ahead(frame.len());
        let mut appender = ingest.head().appender(pages, builder);
        let commit = ingest.wal().enqueue_looked(FrameKind::Rows, frame)?;
        let mut samples = 0;
        for (row, sids, count) in stored() {
            apply(&mut appender, batch, row, &sids, batch.cells(row, count));
            samples += u64::from(count);
        }
        drop(appender);
        ingest.counters().samples_written.fetch_add(samples, Ordering::Relaxed);
        ingest.counters().samples_since_flush.fetch_add(samples, Ordering::Relaxed);
        Ok(commit)
    }
}

/// Puts the samples of a row into the head.
fn apply(
    appender: &mut Appender<'_>,
    batch: &Batch<'_>,
    row: &Row,
    sids: &Sids<'_>,
    cells: &[foliot_model::Cell],
) {
    let (first, is_run) = (sids.first(), sids.list().is_none());
    let mut index = 0;
    while let Some(rest) = cells.get(index..).filter(|rest| !rest.is_empty()) {
        // Series of a row stand beside each other, and mostly all of them go on as before. Of one
        // alone that is asked when it is appended.
        if is_run && cells.len() > 1 {
            index += appender.append_regular(first + index as u32, row.time_ns, rest);
        }
        let (Some(cell), Some(sid)) = (cells.get(index), sids.get(index)) else { return };
        let kind_scale = KindScale::new(cell.kind, cell.scale);
        let (bits, bytes) = match cell.kind.is_bytes() {
            false => (cell.bits, &[][..]),
            true => (u64::from(cell.span().length), batch.slice(cell.span())),
        };
        let sample = Decoded { time_ns: row.time_ns, kind_scale, bits };
        appender.append(sid, first, sample, bytes);
        index += 1;
    }
}

/// What is too old to be kept.
struct TooOld {
    retention: Arc<Retention>,
    now_ns: i64,
    surely_before_ns: i64,
    /// Later than the other only when some series are kept for other times.
    possibly_before_ns: i64,
}

impl TooOld {
    fn new(ingest: &Ingest, namespace: NamespaceId) -> Self {
        let retention = ingest.retention();
        let now_ns = ingest.clock().shown_ns();
        let (surely_before_ns, possibly_before_ns) = match retention.is_forever() {
            true => (i64::MIN, i64::MIN),
            false => retention.floors(now_ns, namespace),
        };
        Self { retention, now_ns, surely_before_ns, possibly_before_ns }
    }

    /// Whether a row is too old for the class that its key would be put in. One whose key cannot be
    /// read is refused in other words.
    fn is_before_by_key(&self, ingest: &Ingest, batch: &Batch<'_>, row: &Row) -> bool {
        let mut parts = KeyParts::default();
        row.time_ns < self.possibly_before_ns
            && read_row(batch, row, ingest.config().labels_max, &mut parts).is_ok()
            && row.time_ns
                < self.retention.floor(
                    self.now_ns,
                    batch.namespace(),
                    self.retention.class_of_key(&parts),
                )
    }

    #[cold]
    fn reject(&self, ingest: &Ingest, row: &Row, rejects: &mut Vec<Reject>) {
        ingest.counters().rows_expired.fetch_add(1, Ordering::Relaxed);
        rejects.push(Reject {
            line: row.line,
            field: Cow::Borrowed(FIELD_RETENTION),
            reason: format!("time {} is older than what is kept (retention)", row.time_ns),
        });
    }
}

/// Adds the pages of a row's series, unless they are the last ones there.
#[inline]
fn note_pages(sids: &Sids<'_>, count: u32, pages: &mut Vec<u32>) {
    let mut note = |page| {
        if pages.last() != Some(&page) {
            pages.push(page);
        }
    };
    match sids.list() {
        Some(list) => list.iter().for_each(|&sid| note(page_of(sid))),
        None => {
            let last = sids.first().saturating_add(count.saturating_sub(1));
            let first = page_of(sids.first());
            note(first);
            (first + 1..=page_of(last)).for_each(note);
        }
    }
}

fn fields(batch: &Batch<'_>, row: &Row) -> u32 {
    batch.shape(row.shape).map_or(0, |shape| shape.fields_count)
}

fn sids<'a>(
    resolver: &'a Resolver<'_>,
    ids: &'a [u32],
    place: Place,
    count: u32,
) -> Option<Sids<'a>> {
    match place {
        Place::Nowhere => None,
        Place::Run(run) => Some(resolver.sids(run, count)),
        Place::Ids(start) => {
            let range: Range<usize> = start as usize..start as usize + count as usize;
            ids.get(range).map(Sids::of)
        }
    }
}
