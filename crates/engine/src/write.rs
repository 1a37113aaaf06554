//! The write path, on one screen.
//!
//! 1. *resolve*: find the series of each row by the hash of its raw key; what is unknown is parsed
//!    and registered, and the registration goes into the wal before anyone can see its ids.
//! 2. *append*: encode all rows as one frame of the wal.
//! 3. *apply*: put the samples into the head.
//! 4. *publish*: nothing to do. The head is read live, so the rows are visible; the commit that is
//!    returned says what to wait for before acknowledging them.

use crate::block::Builder;
use crate::config::Commit;
use crate::error::Error;
use crate::head::stream::{Decoded, KindScale};
use crate::retention::Retention;
use crate::store::Store;
use crate::wal::frame::FrameKind;
use crate::wal::rows;
use foliot_index::{Registry, Resolver, Run, Sids};
use foliot_model::{Batch, NamespaceId, Reject, Row};
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a reject names when its row is too old to be kept.
pub const FIELD_RETENTION: &str = "retention";

/// A frame buffer larger than this is given back after the request that needed it.
const FRAME_BYTES_KEPT: usize = 4 << 20;

thread_local! {
    static WORKSPACE: RefCell<Workspace> = RefCell::default();
}

/// Memory of the write path, one for each thread that writes.
#[derive(Default)]
struct Workspace {
    /// The series of each row of the batch.
    places: Vec<Place>,
    missing: Vec<u32>,
    /// Ids of rows that the lookup does not remember.
    ids: Vec<u32>,
    /// The rows that are stored, in the order in which they are: first series in the upper half,
    /// number in the batch in the lower.
    order: Vec<u64>,
    frame: Vec<u8>,
    builder: Builder,
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

impl Store {
    /// Writes a batch. See `Engine::write`.
    pub(crate) fn write(
        &self,
        batch: &Batch<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<Commit, Error> {
        self.wal.check()?;
        if self.head.bytes() > self.config.head_bytes_max.saturating_mul(4) {
            return Err(Error::Overloaded);
        }
        let commit = {
            let _gate = self.gate.read();
            self.write_held(batch, rejects)?
        };
        self.ask_for_flush();
        Ok(commit)
    }

    /// Writes a batch for a caller that holds the gate.
    pub(crate) fn write_held(
        &self,
        batch: &Batch<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<Commit, Error> {
        let rejects_before = rejects.len();
        let commit = WORKSPACE.with_borrow_mut(|workspace| {
            let registry = self.registry();
            workspace.resolve(self, &registry, batch, rejects)?;
            workspace.append_and_apply(self, &registry, batch)
        })?;
        let rejected = (rejects.len() - rejects_before) as u64;
        self.counters.rows_rejected.fetch_add(rejected, Ordering::Relaxed);
        Ok(commit)
    }
}

impl Workspace {
    fn resolve(
        &mut self,
        store: &Store,
        registry: &Registry,
        batch: &Batch<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), Error> {
        self.places.clear();
        self.missing.clear();
        self.ids.clear();
        let too_old = TooOld::new(store, batch.namespace());
        let resolver = registry.resolver();
        for (index, row) in batch.rows().iter().enumerate() {
            if row.time_ns < too_old.surely_before_ns {
                too_old.reject(store, row, rejects);
                self.places.push(Place::Nowhere);
                continue;
            }
            let shape_hash = batch.shape(row.shape).map_or(0, |shape| shape.hash);
            let run = resolver.find(row.key_hash, shape_hash);
            if run.is_none() {
                self.missing.push(index as u32);
            }
            self.places.push(run.map_or(Place::Nowhere, Place::Run));
        }
        drop(resolver);
        if !self.missing.is_empty() {
            self.register(store, registry, batch, rejects)?;
        }
        if too_old.possibly_before_ns > too_old.surely_before_ns {
            self.reject_by_class(store, registry, batch, &too_old, rejects);
        }
        Ok(())
    }

    /// Rejects rows that are too old for the class of their series.
    fn reject_by_class(
        &mut self,
        store: &Store,
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
                too_old.reject(store, row, rejects);
                *place = Place::Nowhere;
            }
        }
    }

    #[cold]
    fn register(
        &mut self,
        store: &Store,
        registry: &Registry,
        batch: &Batch<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), Error> {
        let Self { places, missing, ids, .. } = self;
        let mut publish =
            |records: &[u8]| store.wal.append(FrameKind::Register, records).map(|_| ());
        let mut found = |index: u32, sids: Sids<'_>| {
            if let Some(place) = places.get_mut(index as usize) {
                *place = Place::Ids(ids.len() as u32);
                ids.extend(sids.iter());
            }
        };
        let counts = registry.counts();
        let admit = store.admission.room(&*store.disk, counts.series - counts.forgotten);
        let first_new = registry.series_end();
        let registered =
            registry.register(batch, missing, admit, &mut publish, &mut found, rejects)?;
        if registered.new_series > 0 {
            store.classify(first_new, registry.series_end())?;
        }
        store.admission.take(registered.new_series);
        store.counters.series_created.fetch_add(registered.new_series, Ordering::Relaxed);
        Ok(())
    }

    /// Puts the rows in the order of their series, so that those of neighbours meet in memory. Rows
    /// of one series keep theirs; where rows have different fields, which may be the same series
    /// behind different first ones, all keep theirs.
    fn arrange(&mut self, resolver: &Resolver<'_>, batch: &Batch<'_>) {
        let Self { places, ids, order, .. } = self;
        order.clear();
        for ((row, place), index) in batch.rows().iter().zip(places.iter()).zip(0u64..) {
            if let Some(sids) = sids(resolver, ids, *place, fields(batch, row)) {
                order.push((u64::from(sids.first()) << 32) | index);
            }
        }
        let is_one_shape = batch.rows().is_sorted_by(|a, b| a.shape == b.shape);
        if is_one_shape && !order.is_sorted() {
            order.sort_unstable();
        }
    }

    fn append_and_apply(
        &mut self,
        store: &Store,
        registry: &Registry,
        batch: &Batch<'_>,
    ) -> Result<Commit, Error> {
        let resolver = registry.resolver();
        self.arrange(&resolver, batch);
        let Self { places, ids, order, frame, builder, .. } = self;
        if order.is_empty() {
            return Ok(Commit { lsn: 0 });
        }
        let stored = || {
            order.iter().filter_map(|key| {
                let index = *key as u32 as usize;
                let row = batch.rows().get(index)?;
                let count = fields(batch, row);
                Some((row, sids(&resolver, ids, *places.get(index)?, count)?, count))
            })
        };
        frame.clear();
        let mut writer = rows::Writer::new(frame, registry.epoch(), order.len());
        for (row, sids, count) in stored() {
            writer.push(batch, &sids, row.time_ns, batch.cells(row, count));
        }
        let commit = store.wal.append(FrameKind::Rows, frame)?;
        if frame.capacity() > FRAME_BYTES_KEPT {
            *frame = Vec::new();
        }
        let mut samples = 0;
        let mut appender = store.head.appender(builder);
        for (row, sids, count) in stored() {
            let first = sids.first();
            for (index, cell) in batch.cells(row, count).iter().enumerate() {
                let Some(sid) = sids.get(index) else { continue };
                let kind_scale = KindScale::new(cell.kind, cell.scale);
                let (bits, bytes) = match cell.kind.is_bytes() {
                    false => (cell.bits, &[][..]),
                    true => (u64::from(cell.span().length), batch.slice(cell.span())),
                };
                let sample = Decoded { time_ns: row.time_ns, kind_scale, bits };
                appender.append(sid, first, sample, bytes);
            }
            samples += u64::from(count);
        }
        drop(appender);
        store.counters.samples_written.fetch_add(samples, Ordering::Relaxed);
        store.counters.samples_since_flush.fetch_add(samples, Ordering::Relaxed);
        Ok(commit)
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
    fn new(store: &Store, namespace: NamespaceId) -> Self {
        let retention = store.retention.read().clone();
        let now_ns = store.disk.now_ns();
        let (surely_before_ns, possibly_before_ns) = match retention.is_forever() {
            true => (i64::MIN, i64::MIN),
            false => retention.floors(now_ns, namespace),
        };
        Self { retention, now_ns, surely_before_ns, possibly_before_ns }
    }

    #[cold]
    fn reject(&self, store: &Store, row: &Row, rejects: &mut Vec<Reject>) {
        store.counters.rows_expired.fetch_add(1, Ordering::Relaxed);
        rejects.push(Reject {
            line: row.line,
            field: Cow::Borrowed(FIELD_RETENTION),
            reason: format!("time {} is older than what is kept (retention)", row.time_ns),
        });
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
