//! The lock of one holder.

use crate::Rank;
use crate::order::{Held, Place};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// A lock that one thread holds at a time.
pub struct Mutex<T: ?Sized> {
    place: Place,
    inner: parking_lot::Mutex<T>,
}

/// What the holder of a [`Mutex`] has.
#[derive(Debug)]
#[must_use]
pub struct MutexGuard<'a, T: ?Sized> {
    // Dropped in this order: what is not held any more may be taken.
    pub(crate) inner: parking_lot::MutexGuard<'a, T>,
    held: Held,
}

/// A part of what a [`Mutex`] guards, held as the whole is.
#[derive(Debug)]
#[must_use]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    inner: parking_lot::MappedMutexGuard<'a, T>,
    _held: Held,
}

impl<T> Mutex<T> {
    /// A lock that stands at `rank`.
    pub const fn new(rank: Rank, value: T) -> Self {
        Self::numbered(rank, 0, value)
    }

    /// A lock that stands at `rank`, among others that are held together with it: lower numbers are
    /// taken first.
    pub const fn numbered(rank: Rank, number: u32, value: T) -> Self {
        Self { place: Place::new(rank, number), inner: parking_lot::Mutex::new(value) }
    }

    /// The value, when nobody can hold the lock any more.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits for the lock.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let held = self.place.take();
        MutexGuard { inner: self.inner.lock(), held }
    }

    /// The lock, if nobody holds it. This may be asked under any other lock.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let inner = self.inner.try_lock()?;
        Some(MutexGuard { inner, held: self.place.note() })
    }
}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Narrows a guard to a part of its value.
    #[inline]
    pub fn map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&mut T) -> &mut U,
    ) -> MappedMutexGuard<'a, U> {
        let Self { inner, held } = guard;
        MappedMutexGuard { inner: parking_lot::MutexGuard::map(inner, part), _held: held }
    }

    /// Narrows a guard to a part of its value, if the value has it.
    ///
    /// # Errors
    /// The guard as it was.
    #[inline]
    pub fn try_map<U: ?Sized>(
        guard: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedMutexGuard<'a, U>, Self> {
        let Self { inner, held } = guard;
        match parking_lot::MutexGuard::try_map(inner, part) {
            Ok(inner) => Ok(MappedMutexGuard { inner, _held: held }),
            Err(inner) => Err(Self { inner, held }),
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized> Deref for MappedMutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MappedMutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
