//! What the connections of a load share while they run: the gate that all wait at, and counts.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

/// What threads share while they run.
pub(super) struct Shared {
    /// When the load began: the gate that all connections wait at. Whoever waits goes on without
    /// taking turns, so that a thousand threads are not let through one by one.
    start: OnceLock<Instant>,
    /// Connections that do not wait at the gate yet.
    getting_ready: AtomicU64,
    /// Opens the gate.
    opener: thread::Thread,
    pub(super) points: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) running: AtomicU64,
    /// Whether the load has lasted long enough, whatever its limit says.
    pub(super) enough: AtomicBool,
}

impl Shared {
    /// A closed gate for so many connections; the calling thread opens it.
    pub(super) fn new(connections: u64) -> Shared {
        Shared {
            start: OnceLock::new(),
            getting_ready: AtomicU64::new(connections),
            opener: thread::current(),
            points: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            running: AtomicU64::new(connections),
            enough: AtomicBool::new(false),
        }
    }

    /// Opens the gate once all connections wait at it.
    pub(super) fn open(&self) -> Instant {
        while self.getting_ready.load(Ordering::Acquire) > 0 {
            thread::park();
        }
        *self.start.get_or_init(Instant::now)
    }

    /// Waits at the gate.
    pub(super) fn wait_for_start(&self) -> Instant {
        if self.getting_ready.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.opener.unpark();
        }
        *self.start.wait()
    }
}
