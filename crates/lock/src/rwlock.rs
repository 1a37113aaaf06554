//! The lock of many readers or one writer.

use crate::Rank;
use crate::order::{Held, Place};
use std::fmt;
use std::ops::{Deref, DerefMut};

/// A lock that many threads hold shared, or one alone. Writers that wait come before later readers.
pub struct RwLock<T: ?Sized> {
    place: Place,
    inner: parking_lot::RwLock<T>,
}

/// What a shared holder of a [`RwLock`] has.
#[derive(Debug)]
#[must_use]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    inner: parking_lot::RwLockReadGuard<'a, T>,
    _held: Held,
}

/// What the only holder of a [`RwLock`] has.
#[derive(Debug)]
#[must_use]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    inner: parking_lot::RwLockWriteGuard<'a, T>,
    _held: Held,
}

impl<T> RwLock<T> {
    /// A lock that stands at `rank`.
    pub const fn new(rank: Rank, value: T) -> Self {
        Self::numbered(rank, 0, value)
    }

    /// A lock that stands at `rank`, among others that are held together with it: lower numbers are
    /// taken first.
    pub const fn numbered(rank: Rank, number: u32, value: T) -> Self {
        Self { place: Place::new(rank, number), inner: parking_lot::RwLock::new(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits for a share of the lock. A thread takes one share at a time.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let held = self.place.take();
        RwLockReadGuard { inner: self.inner.read(), _held: held }
    }

    /// Waits for the lock alone.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let held = self.place.take();
        RwLockWriteGuard { inner: self.inner.write(), _held: held }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
