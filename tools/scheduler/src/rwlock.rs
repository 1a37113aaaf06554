//! A lock for many readers or one writer, with the manners of `foliot_lock::RwLock`: who wants to
//! read waits behind who wants to write, so that reading twice at once can block for good.

use crate::mutex::Release;
use crate::stage::{self, On, Wait};
use foliot_lock::Rank;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Lets many threads read a value, or one change it.
#[derive(Debug)]
pub struct RwLock<T: ?Sized> {
    /// Writers that wait.
    waiting: AtomicUsize,
    value: parking_lot::RwLock<T>,
}

/// Holds a [`RwLock`] shared while it lives.
#[derive(Debug)]
#[must_use]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    value: parking_lot::RwLockReadGuard<'a, T>,
    _release: Release,
}

/// Holds a [`RwLock`] alone while it lives.
#[derive(Debug)]
#[must_use]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    value: parking_lot::RwLockWriteGuard<'a, T>,
    _release: Release,
}

impl<T> RwLock<T> {
    /// A lock that nobody holds.
    pub const fn new(rank: Rank, value: T) -> Self {
        Self::numbered(rank, 0, value)
    }

    /// One that nobody holds, among others of its rank.
    pub const fn numbered(_: Rank, _: u32, value: T) -> Self {
        Self { waiting: AtomicUsize::new(0), value: parking_lot::RwLock::new(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    fn address(&self) -> usize {
        std::ptr::from_ref(&self.waiting).addr()
    }

    fn release(&self) -> Release {
        Release { address: self.address() }
    }

    /// Waits until nobody changes the value or waits to do so.
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let place = Location::caller();
        if !stage::is_here() {
            return RwLockReadGuard { value: self.value.read(), _release: self.release() };
        }
        stage::pass();
        loop {
            if self.waiting.load(Ordering::Relaxed) == 0
                && let Some(value) = self.value.try_read()
            {
                return RwLockReadGuard { value, _release: self.release() };
            }
            stage::wait(Wait { on: On::Address(self.address()), until_ns: None, place });
        }
    }

    /// Waits until nobody else holds it.
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let place = Location::caller();
        if !stage::is_here() {
            return RwLockWriteGuard { value: self.value.write(), _release: self.release() };
        }
        stage::pass();
        let mut is_waiting = false;
        loop {
            if let Some(value) = self.value.try_write() {
                self.waiting.fetch_sub(usize::from(is_waiting), Ordering::Relaxed);
                return RwLockWriteGuard { value, _release: self.release() };
            }
            self.waiting.fetch_add(usize::from(!is_waiting), Ordering::Relaxed);
            is_waiting = true;
            stage::wait(Wait { on: On::Address(self.address()), until_ns: None, place });
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}
