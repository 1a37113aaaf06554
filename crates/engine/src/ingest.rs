//! Ingest: what a change goes through and where it lives until files have it. The wal, the head,
//! the registries, the catalog, and what new rows are measured against.
//!
//! Lock contract: the gate is held shared by a change from before its first frame until it is in
//! memory. Who holds it alone, for an instant, knows an lsn before which everything is in memory.

use crate::admission::Admission;
use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::config::{Commit, Config};
use crate::epochs::Epochs;
use crate::error::Error;
use crate::head::Head;
use crate::limits::{
    FACT_BYTES_MAX, FACTS_AT_ONCE, REPLAY_SAMPLES_PER_SECOND, SMALL_FACT_BYTES_MAX,
};
use crate::namespaces::Namespaces;
use crate::retention::{Retention, RetentionRule};
use crate::series_limits::SeriesLimits;
use crate::stats::Counters;
use crate::wal::Wal;
use crate::wal::frame::FrameKind;
use crate::write::Workspaces;
use foliot_disk::Disk;
use foliot_index::{Registry, Segment, SymbolKind};
use foliot_lock::{Mutex, MutexGuard, Rank, RwLock, RwLockReadGuard, RwLockWriteGuard};
use foliot_model::KeySecret;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The way in.
pub(crate) struct Ingest {
    disk: Arc<dyn Disk>,
    config: Arc<Config>,
    counters: Arc<Counters>,
    key_secret: KeySecret,
    wal: Wal,
    head: Arc<Head>,
    epochs: RwLock<Arc<Epochs>>,
    catalog: Catalog,
    namespaces: Namespaces,
    retention: RwLock<Arc<Retention>>,
    series_limits: RwLock<Arc<SeriesLimits>>,
    settings: Mutex<()>,
    clock: Clock,
    gate: RwLock<()>,
    admission: Admission,
    workspaces: Workspaces,
}

/// What recovery found, for [`Ingest::new`].
pub(crate) struct Replayed {
    pub(crate) key_secret: KeySecret,
    pub(crate) wal: Wal,
    pub(crate) head: Head,
    pub(crate) epochs: Epochs,
    pub(crate) catalog: Catalog,
    pub(crate) clock: Clock,
}

impl Ingest {
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        config: Arc<Config>,
        counters: Arc<Counters>,
        replayed: Replayed,
    ) -> Self {
        let Replayed { key_secret, wal, head, epochs, catalog, clock } = replayed;
        let retention = Retention::load(&config, Vec::new(), &catalog);
        let series_limits = SeriesLimits::load(&catalog);
        Self {
            admission: Admission::new(&config, &*disk),
            disk,
            config,
            counters,
            key_secret,
            wal,
            head: Arc::new(head),
            epochs: RwLock::new(Rank::Epochs, Arc::new(epochs)),
            namespaces: Namespaces::load(&catalog),
            catalog,
            retention: RwLock::new(Rank::Retention, Arc::new(retention)),
            series_limits: RwLock::new(Rank::SeriesLimits, Arc::new(series_limits)),
            settings: Mutex::new(Rank::Settings, ()),
            clock,
            gate: RwLock::new(Rank::Gate, ()),
            workspaces: Workspaces::new(),
        }
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Keys the hashes of raw keys.
    pub(crate) fn key_secret(&self) -> KeySecret {
        self.key_secret
    }

    pub(crate) fn wal(&self) -> &Wal {
        &self.wal
    }

    pub(crate) fn head(&self) -> &Arc<Head> {
        &self.head
    }

    pub(crate) fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Memory of writes past.
    pub(crate) fn workspaces(&self) -> &Workspaces {
        &self.workspaces
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    pub(crate) fn namespaces(&self) -> &Namespaces {
        &self.namespaces
    }

    pub(crate) fn epochs(&self) -> Arc<Epochs> {
        self.epochs.read().clone()
    }

    /// The registry that rows are registered in. Who holds the gate sees no other.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.epochs.read().current().clone()
    }

    pub(crate) fn retention(&self) -> Arc<Retention> {
        self.retention.read().clone()
    }

    pub(crate) fn series_limits(&self) -> Arc<SeriesLimits> {
        self.series_limits.read().clone()
    }

    /// Keeps namespaces from coming and going, and what they keep from changing.
    pub(crate) fn settings(&self) -> MutexGuard<'_, ()> {
        self.settings.lock()
    }

    /// Takes part in the changes of this moment.
    pub(crate) fn join(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read()
    }

    /// Holds every change off.
    pub(crate) fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write()
    }

    /// Opens an empty registry. The gate is held alone.
    pub(crate) fn begin_epoch(&self) {
        let epochs = self.epochs();
        let next = epochs.switched(epochs.next_origin());
        self.change_epochs(|_| next);
    }

    /// Reads a closed epoch from a segment from now on, instead of a registry in memory.
    pub(crate) fn close_epoch(&self, segment: Segment) {
        self.change_epochs(|epochs| epochs.archived(segment));
        self.registry().set_closing(None);
    }

    /// Reads a closed epoch from another segment from now on.
    pub(crate) fn replace_segment(&self, segment: Segment) {
        self.change_epochs(|epochs| epochs.archived(segment));
    }

    /// Forgets closed epochs, by number.
    pub(crate) fn forget_epochs(&self, gone: &[u32]) {
        self.change_epochs(|epochs| epochs.without(gone));
    }

    fn change_epochs(&self, change: impl FnOnce(&Epochs) -> Epochs) {
        let before = {
            let mut epochs = self.epochs.write();
            let next = change(&epochs);
            std::mem::replace(&mut *epochs, Arc::new(next))
        };
        // A registry of millions takes its time to go: readers do not wait for that.
        drop(before);
    }

    /// Sets or removes a fact of the catalog. A large one is refused where what is free on the disk
    /// is kept for a flush.
    pub(crate) fn change_catalog(
        &self,
        kind: &str,
        key: &str,
        bytes: Option<&[u8]>,
    ) -> Result<Commit, Error> {
        if bytes.is_some_and(|bytes| bytes.len() > SMALL_FACT_BYTES_MAX) {
            self.wal.check()?;
        }
        let commit = {
            let _gate = self.join();
            let log = |change: &[u8]| {
                self.counters.count_fact(change);
                self.wal.append(FrameKind::Catalog, change)
            };
            self.catalog.change(kind, key, bytes, log)?
        };
        self.keep_reserve();
        Ok(commit)
    }

    /// See `Engine::catalog_put_all`. The wal is woken once, and others read the catalog between
    /// some facts and the next.
    pub(crate) fn put_facts(&self, kind: &str, facts: &[(String, Vec<u8>)]) -> Result<(), Error> {
        let put = |some: &[(String, Vec<u8>)]| {
            let _gate = self.join();
            let log = |change: &[u8]| {
                self.counters.count_fact(change);
                self.wal.enqueue(FrameKind::Catalog, change).map(drop)
            };
            self.catalog.put_all(kind, some, log)
        };
        let done = facts.chunks(FACTS_AT_ONCE).try_for_each(put);
        self.wal.push();
        self.keep_reserve();
        done
    }

    /// Memory that no flush gives back: names of series, facts, and where each series stands in the
    /// head, twice, since a flush makes a copy of that.
    pub(crate) fn lasting_bytes(&self, registry: &Registry) -> u64 {
        let names_bytes = registry.counts().memory_bytes + self.catalog.memory_bytes();
        names_bytes + 2 * self.head.fixed_bytes()
    }

    /// See `Engine::has_room_for_names`.
    pub(crate) fn has_room_for_names(&self, count: usize) -> bool {
        self.admission.has_room(self.lasting_bytes(&self.registry()), count as u64)
    }

    /// The number of a name, which gets one if it has none. See `Engine::assign_symbol`.
    pub(crate) fn assign_symbol(
        &self,
        kind: SymbolKind,
        name: &str,
    ) -> Result<(Option<u32>, Option<Commit>), Error> {
        let _gate = self.join();
        if !self.has_room_for_names(1) {
            return Ok((self.registry().symbol_id(kind, name), None));
        }
        let mut commit = None;
        let id = self.registry().symbol_assign(kind, name, &mut |records| {
            commit = Some(self.wal.append(FrameKind::Register, records)?);
            Ok::<_, Error>(())
        })?;
        Ok((id, commit))
    }

    /// Takes up what the catalog says of retention.
    pub(crate) fn reload_retention(&self) {
        let mut retention = self.retention.write();
        let rules = retention.rules().to_vec();
        *retention = Arc::new(retention.reloaded(&self.config, rules, &self.catalog));
    }

    /// Takes up what the catalog says of series limits.
    pub(crate) fn reload_series_limits(&self) {
        let mut series_limits = self.series_limits.write();
        *series_limits = Arc::new(SeriesLimits::load(&self.catalog));
    }

    /// Replaces the rules by which series are kept for other times.
    pub(crate) fn set_rules(&self, rules: Vec<RetentionRule>) {
        let mut retention = self.retention.write();
        *retention = Arc::new(retention.reloaded(&self.config, rules, &self.catalog));
    }

    /// Bytes of samples in memory: in the head, and on their way into parts.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.head.bytes() + self.counters.frozen_bytes.load(Ordering::Relaxed)
    }

    /// Whether half as much waits for flushes.
    pub(crate) fn is_filling(&self) -> bool {
        self.memory_bytes() > self.config.head_bytes_max.saturating_mul(2)
    }

    /// Whether so much waits for flushes that no more is taken.
    pub(crate) fn is_overloaded(&self) -> bool {
        self.memory_bytes() > self.config.head_bytes_max.saturating_mul(4)
    }

    /// Bytes that a flush would write at most, by an estimate: samples take fewer bytes in parts
    /// than in memory unless a series has only a few, registrations as many as in the wal, and all
    /// facts are written once one has changed.
    fn flush_bytes(&self) -> u64 {
        let flushed_lsn = self.counters.flushed_lsn.load(Ordering::Relaxed);
        let wal_bytes = self.wal.progress().written_lsn.saturating_sub(flushed_lsn);
        let fact_bytes = match self.counters.fact_bytes_since_flush.load(Ordering::Relaxed) {
            0 => 0,
            _ => self.catalog.memory_bytes(),
        };
        let memory_bytes = self.memory_bytes().saturating_mul(2);
        memory_bytes.saturating_add(wal_bytes).saturating_add(fact_bytes)
    }

    /// Bytes that must stay free on the disk, so that a flush can make the wal superfluous.
    pub(crate) fn reserve_bytes(&self) -> u64 {
        self.config.wal_reserve_bytes.saturating_add(self.flush_bytes())
    }

    /// Tells the wal how much it has to leave free from now on.
    pub(crate) fn keep_reserve(&self) {
        self.wal.reserve(self.reserve_bytes());
    }

    /// Whether the head is full, the wal long, something left over that a flush could not write, or
    /// what is free on the disk only just enough to write the head away.
    pub(crate) fn is_flush_due(&self) -> bool {
        let samples = self.counters.samples_since_flush.load(Ordering::Relaxed);
        let seconds = self.config.wal_replay_target.as_secs().max(1);
        let fact_bytes = self.counters.fact_bytes_since_flush.load(Ordering::Relaxed);
        self.memory_bytes() > self.config.head_bytes_max
            || fact_bytes > FACT_BYTES_MAX
            || samples > seconds.saturating_mul(REPLAY_SAMPLES_PER_SECOND)
            || self.counters.frozen_bytes.load(Ordering::Relaxed) > 0
            || self.is_flush_due_for_space()
    }

    fn is_flush_due_for_space(&self) -> bool {
        let flush_bytes = self.flush_bytes();
        let wanted = flush_bytes.saturating_mul(2).saturating_add(self.config.wal_reserve_bytes);
        let is_near = || self.wal.free_bytes().is_some_and(|free| free < wanted);
        flush_bytes > 0 && (self.wal.lacks_space() || is_near())
    }
}
