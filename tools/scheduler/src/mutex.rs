//! A mutex with the manners of `foliot_lock::Mutex`.

use crate::stage::{self, On, Wait};
use foliot_lock::Rank;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

/// Lets one thread at a time at a value.
#[derive(Debug)]
pub struct Mutex<T: ?Sized> {
    value: parking_lot::Mutex<T>,
}

/// Holds a [`Mutex`] while it lives.
#[derive(Debug)]
#[must_use]
pub struct MutexGuard<'a, T: ?Sized> {
    // Given back before the others are woken: fields are dropped in this order.
    value: parking_lot::MutexGuard<'a, T>,
    release: Release,
}

/// Holds a [`Mutex`], and shows a part of its value.
#[derive(Debug)]
#[must_use]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    value: parking_lot::MappedMutexGuard<'a, T>,
    _release: Release,
}

/// Wakes those who wait for a lock, when it is given back.
#[derive(Debug)]
pub(crate) struct Release {
    pub(crate) address: usize,
}

impl Drop for Release {
    fn drop(&mut self) {
        stage::wake_all(self.address);
        stage::pass();
    }
}

impl<T> Mutex<T> {
    /// A mutex that nobody holds.
    pub const fn new(rank: Rank, value: T) -> Self {
        Self::numbered(rank, 0, value)
    }

    /// One that nobody holds, among others of its rank.
    pub const fn numbered(_: Rank, _: u32, value: T) -> Self {
        Self { value: parking_lot::Mutex::new(value) }
    }
}

impl<T> Mutex<T> {
    /// The value, when nobody can hold it any more.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    fn address(&self) -> usize {
        std::ptr::from_ref(&self.value).addr()
    }

    /// Waits until nobody else holds it.
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let place = Location::caller();
        if !stage::is_here() {
            return self.guard(self.value.lock());
        }
        stage::pass();
        loop {
            if let Some(guard) = self.value.try_lock() {
                return self.guard(guard);
            }
            stage::wait(Wait { on: On::Address(self.address()), until_ns: None, place });
        }
    }

    /// Takes it if nobody holds it.
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        stage::pass();
        self.value.try_lock().map(|guard| self.guard(guard))
    }

    fn guard<'a>(&'a self, value: parking_lot::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        MutexGuard { value, release: Release { address: self.address() } }
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Shows a part of the value from now on.
    pub fn map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedMutexGuard<'a, U> {
        let value = parking_lot::MutexGuard::map(guard.value, part);
        MappedMutexGuard { value, _release: guard.release }
    }

    /// Shows a part of the value from now on, if it has that part.
    ///
    /// # Errors
    /// The guard as it was.
    pub fn try_map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U>, Self> {
        let release = guard.release;
        match parking_lot::MutexGuard::try_map(guard.value, part) {
            Ok(value) => Ok(MappedMutexGuard { value, _release: release }),
            Err(value) => Err(Self { value, release }),
        }
    }

    /// Gives the mutex back while `act` runs, which must leave it free.
    pub(crate) fn unlocked(guard: &mut Self, act: impl FnOnce(&parking_lot::Mutex<T>, usize)) {
        let mutex = parking_lot::MutexGuard::mutex(&guard.value);
        let address = guard.release.address;
        parking_lot::MutexGuard::unlocked(&mut guard.value, || act(mutex, address));
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: ?Sized> Deref for MappedMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> DerefMut for MappedMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}
