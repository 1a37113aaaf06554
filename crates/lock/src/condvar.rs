//! Waiting for another thread's sign.

use crate::MutexGuard;
use std::time::Duration;

/// Lets holders of a [`crate::Mutex`] wait, without it, for a sign.
#[derive(Debug, Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// Nobody waits yet.
    pub const fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    /// Gives the lock up until there is a sign. There may be none: look again.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        self.0.wait(&mut guard.inner);
    }

    /// The same, for so long at most.
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, longest: Duration) {
        self.0.wait_for(&mut guard.inner, longest);
    }

    /// A sign for one who waits.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// A sign for all who wait.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
