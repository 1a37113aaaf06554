//! A condition to wait for, with the manners of `foliot_lock::Condvar`.

use crate::mutex::MutexGuard;
use crate::stage::{self, On, Wait};
use std::panic::Location;
use std::time::Duration;

/// What threads wait for while they let go of a mutex.
#[derive(Debug, Default)]
pub struct Condvar {
    /// So that each has an address of its own.
    place: u8,
}

impl Condvar {
    /// A condition that nobody waits for.
    pub const fn new() -> Self {
        Self { place: 0 }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(&self.place).addr()
    }

    /// Lets go of the mutex, waits to be notified, and takes the mutex again.
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        let place = Location::caller();
        self.wait_until(guard, None, place);
    }

    /// As [`Condvar::wait`], for `pause` at most.
    #[track_caller]
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, pause: Duration) {
        let place = Location::caller();
        self.wait_until(guard, stage::deadline(pause), place);
    }

    fn wait_until<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        until_ns: Option<u64>,
        place: &'static Location<'static>,
    ) {
        MutexGuard::unlocked(guard, |mutex, address| {
            stage::wake_all(address);
            stage::wait(Wait { on: On::Address(self.address()), until_ns, place });
            // Whoever goes on from here finds the mutex free and takes it at once.
            while mutex.is_locked() {
                stage::wait(Wait { on: On::Address(address), until_ns: None, place });
            }
        });
    }

    /// Wakes one of those who wait.
    pub fn notify_one(&self) {
        stage::wake_one(self.address());
        stage::pass();
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        stage::wake_all(self.address());
        stage::pass();
    }
}
