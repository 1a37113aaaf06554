//! What the store counts.

use crate::store::Store;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters that only grow.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) samples_written: AtomicU64,
    pub(crate) rows_rejected: AtomicU64,
    pub(crate) series_created: AtomicU64,
    pub(crate) catalog_changes: AtomicU64,
    pub(crate) deletes: AtomicU64,
    pub(crate) samples_deleted: AtomicU64,
    pub(crate) samples_expired: AtomicU64,
    /// Rows refused for being too old to be kept.
    pub(crate) rows_expired: AtomicU64,
    pub(crate) flushes: AtomicU64,
    pub(crate) flushes_failed: AtomicU64,
    pub(crate) bytes_flushed: AtomicU64,
    pub(crate) merges: AtomicU64,
    pub(crate) merges_failed: AtomicU64,
    pub(crate) bytes_merged: AtomicU64,
    /// Bytes of samples on their way from the head into parts. Those of a flush that failed stay.
    pub(crate) frozen_bytes: AtomicU64,
    /// Samples since the last flush, to keep the wal short.
    pub(crate) samples_since_flush: AtomicU64,
    /// Bytes of facts since the last flush that ended well, to keep the wal short.
    pub(crate) fact_bytes_since_flush: AtomicU64,
    /// Rows in the wal whose series nobody registered: damage took the registration.
    pub(crate) samples_orphaned: AtomicU64,
    /// Bytes of the wal that recovery skipped as damaged.
    pub(crate) wal_damaged_bytes: AtomicU64,
    /// Bytes behind a torn end of the wal that recovery did not read.
    pub(crate) wal_torn_bytes: AtomicU64,
    /// Segments that were begun and not there at the start: one or none.
    pub(crate) wal_segments_missing: AtomicU64,
    /// The lsn up to which parts hold everything.
    pub(crate) flushed_lsn: AtomicU64,
}

impl Counters {
    /// A fact was changed, which takes so many bytes of the wal.
    pub(crate) fn count_fact(&self, change: &[u8]) {
        self.catalog_changes.fetch_add(1, Ordering::Relaxed);
        self.fact_bytes_since_flush.fetch_add(change.len() as u64, Ordering::Relaxed);
    }
}

/// Counts and sizes of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Series registered in the open epoch and not dropped.
    pub series: u64,
    /// Sources registered.
    pub sources: u64,
    /// Series created since the start.
    pub series_created: u64,
    /// Series of closed epochs, most of them read from disk.
    pub series_closed: u64,
    /// Epochs, the open one included.
    pub epochs: u64,
    /// Memory of registries, in bytes, estimated.
    pub registry_bytes: u64,
    /// Memory of the catalog's facts, in bytes, estimated.
    pub catalog_bytes: u64,
    /// Memory of samples in the head and on their way into parts, in bytes.
    pub head_bytes: u64,
    /// Memory of the head that stays when it is flushed, in bytes.
    pub head_fixed_bytes: u64,
    /// Bytes of names, of facts and of where series stand, a flush's copy included: what new series
    /// are refused by.
    pub lasting_bytes: u64,
    /// Bytes of the wal that a restart would replay.
    pub wal_bytes: u64,
    /// Bytes that must stay free on the disk for the next flush: with fewer nothing is accepted.
    pub wal_reserve_bytes: u64,
    /// Bytes free on the disk when the wal last looked; nothing before it has.
    pub disk_free_bytes: Option<u64>,
    /// Whether writes are refused because the disk is full or all but full.
    pub lacks_space: bool,
    /// Bytes of the wal not yet on stable storage.
    pub wal_unsynced_bytes: u64,
    /// Bytes of the wal that recovery skipped as damaged.
    pub wal_damaged_bytes: u64,
    /// Bytes behind a torn end of the wal that recovery did not read, as after a power cut.
    pub wal_torn_bytes: u64,
    /// Number of parts.
    pub parts: u64,
    /// Parts that were missing or damaged at the start, and of which nothing is seen.
    pub parts_absent: u64,
    /// Bytes of all parts.
    pub part_bytes: u64,
    /// Samples in all parts.
    pub part_samples: u64,
    /// Samples accepted since the start.
    pub samples_written: u64,
    /// Rows refused by the store since the start.
    pub rows_rejected: u64,
    /// Samples that recovery found without a registration.
    pub samples_orphaned: u64,
    /// Deletes since the start.
    pub deletes: u64,
    /// Samples deleted since the start.
    pub samples_deleted: u64,
    /// Samples in parts that were removed for their age since the start.
    pub samples_expired: u64,
    /// Rows refused for being too old to be kept since the start.
    pub rows_expired: u64,
    /// Deletes that parts are still masked for.
    pub tombstones: u64,
    /// Flushes since the start.
    pub flushes: u64,
    /// Flushes that failed since the start.
    pub flushes_failed: u64,
    /// Bytes of parts written by flushes since the start.
    pub bytes_flushed: u64,
    /// Merges of parts since the start.
    pub merges: u64,
    /// Merges that failed since the start.
    pub merges_failed: u64,
    /// Bytes of parts written by merges since the start: with the bytes flushed, divided by them,
    /// they are the write amplification after the wal.
    pub bytes_merged: u64,
    /// Parts that are due to be merged.
    pub merge_debt_parts: u64,
    /// Bytes of parts that are due to be merged.
    pub merge_debt_bytes: u64,
    /// Syncs of the wal since the start.
    pub wal_syncs: u64,
    /// Time that they took together, in nanoseconds.
    pub wal_sync_ns: u64,
    /// Time that the longest of them took, in nanoseconds.
    pub wal_sync_max_ns: u64,
    /// Bytes of pages in the cache.
    pub cache_bytes: u64,
    /// Pages found in the cache since the start.
    pub cache_hits: u64,
    /// Pages read from files since the start.
    pub cache_misses: u64,
    /// Damaged places of files found and mended since the start.
    pub damages_mended: u64,
    /// Whether the wal failed and nothing is acknowledged any more.
    pub is_poisoned: bool,
}

impl Stats {
    /// Bytes written to parts for each byte flushed, since the start: 1 without merges.
    pub fn write_amplification(&self) -> f64 {
        match self.bytes_flushed {
            0 => 1.0,
            flushed => (flushed + self.bytes_merged) as f64 / flushed as f64,
        }
    }

    pub(crate) fn of(store: &Store) -> Self {
        let Store { files, ingest, upkeep, .. } = store;
        let epochs = ingest.epochs();
        let counts = epochs.current().counts();
        let view = files.view();
        let progress = ingest.wal().progress();
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counters = ingest.counters();
        let debt = upkeep.merge_debt(&view);
        let (cache_hits, cache_misses) = files.cache().counts();
        let [wal_syncs, wal_sync_ns, wal_sync_max_ns] = ingest.wal().syncs();
        Self {
            series: counts.series - counts.forgotten,
            sources: counts.sources,
            series_created: load(&counters.series_created),
            series_closed: epochs.series_closed(),
            epochs: epochs.closed().len() as u64 + 1,
            registry_bytes: epochs.in_memory().map(|r| r.counts().memory_bytes).sum(),
            catalog_bytes: store.ingest.catalog().memory_bytes(),
            head_bytes: ingest.head().bytes() + view.frozen.bytes(),
            head_fixed_bytes: ingest.head().fixed_bytes(),
            lasting_bytes: ingest.lasting_bytes(&ingest.registry()),
            wal_bytes: progress.written_lsn.saturating_sub(load(&counters.flushed_lsn)),
            wal_unsynced_bytes: progress.written_lsn.saturating_sub(progress.durable_lsn),
            wal_reserve_bytes: ingest.reserve_bytes(),
            disk_free_bytes: ingest.wal().free_bytes(),
            lacks_space: ingest.wal().lacks_space(),
            wal_damaged_bytes: load(&counters.wal_damaged_bytes),
            wal_torn_bytes: load(&counters.wal_torn_bytes),
            parts: view.parts.len() as u64,
            parts_absent: view.absent.len() as u64,
            part_bytes: view.parts.iter().map(|part| part.len()).sum(),
            part_samples: view.parts.iter().map(|part| part.footer.samples).sum(),
            samples_written: load(&counters.samples_written),
            rows_rejected: load(&counters.rows_rejected),
            samples_orphaned: load(&counters.samples_orphaned),
            deletes: load(&counters.deletes),
            samples_deleted: load(&counters.samples_deleted),
            samples_expired: load(&counters.samples_expired),
            rows_expired: load(&counters.rows_expired),
            tombstones: view.tombstones.list().len() as u64,
            flushes: load(&counters.flushes),
            flushes_failed: load(&counters.flushes_failed),
            bytes_flushed: load(&counters.bytes_flushed),
            merges: load(&counters.merges),
            merges_failed: load(&counters.merges_failed),
            bytes_merged: load(&counters.bytes_merged),
            merge_debt_parts: debt.parts,
            merge_debt_bytes: debt.bytes,
            wal_syncs,
            wal_sync_ns,
            wal_sync_max_ns,
            cache_bytes: files.cache().bytes(),
            cache_hits,
            cache_misses,
            damages_mended: store.files.cache().damages.count(),
            is_poisoned: progress.poisoned,
        }
    }
}
