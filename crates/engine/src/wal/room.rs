//! What room the disk has for the log, by what the last look found.

use crate::limits::{SPACE_LOOK_BYTES, SPACE_LOOK_INTERVAL};
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) struct Room {
    /// Bytes free on the disk when last looked; `u64::MAX` before the first look.
    free_bytes: AtomicU64,
    /// When that was; 0 before the first look.
    looked_ns: AtomicU64,
    /// Bytes written since.
    unlooked_bytes: AtomicU64,
    /// With fewer free bytes than this nothing is accepted.
    reserve_bytes: AtomicU64,
}

impl Room {
    pub(super) fn new(reserve_bytes: u64) -> Self {
        Self {
            free_bytes: AtomicU64::new(u64::MAX),
            looked_ns: AtomicU64::new(0),
            unlooked_bytes: AtomicU64::new(0),
            reserve_bytes: AtomicU64::new(reserve_bytes),
        }
    }

    /// Bytes free on the disk when last looked; none before the first look.
    pub(super) fn free_bytes(&self) -> Option<u64> {
        Some(self.free_bytes.load(Ordering::Relaxed)).filter(|free| *free != u64::MAX)
    }

    pub(super) fn reserve_bytes(&self) -> u64 {
        self.reserve_bytes.load(Ordering::Relaxed)
    }

    pub(super) fn reserve(&self, bytes: u64) {
        self.reserve_bytes.store(bytes, Ordering::Relaxed);
    }

    /// So many bytes were written.
    pub(super) fn wrote(&self, bytes: usize) {
        self.unlooked_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Whether the last look says little of what is free now, or of what is once so many bytes more
    /// are written.
    pub(super) fn is_unsure(&self, more_bytes: usize) -> bool {
        self.is_near(more_bytes) || self.unlooked_bytes.load(Ordering::Relaxed) >= SPACE_LOOK_BYTES
    }

    /// Whether less than the reserve is left once so many bytes more are written.
    pub(super) fn is_near(&self, more_bytes: usize) -> bool {
        let taken = self.unlooked_bytes.load(Ordering::Relaxed) + more_bytes as u64;
        let left = self.free_bytes.load(Ordering::Relaxed).saturating_sub(taken);
        left < self.reserve_bytes()
    }

    /// Whether others may have filled the disk since the last look, or made room.
    pub(super) fn is_old(&self, now_ns: u64) -> bool {
        let looked_ns = self.looked_ns.load(Ordering::Relaxed);
        now_ns.saturating_sub(looked_ns) >= SPACE_LOOK_INTERVAL.as_nanos() as u64
    }

    /// A look at `now_ns` found so many bytes free; whether that is less than the reserve.
    pub(super) fn looked(&self, free_bytes: u64, now_ns: u64) -> bool {
        self.free_bytes.store(free_bytes, Ordering::Relaxed);
        self.looked_ns.store(now_ns, Ordering::Relaxed);
        self.unlooked_bytes.store(0, Ordering::Relaxed);
        free_bytes < self.reserve_bytes()
    }
}
