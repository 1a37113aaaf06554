//! What this door's own work on an answer may take: what must be whole before it is written.

use crate::http::HttpError;
use std::cell::Cell;

/// Steps between two questions whether to go on: some ten microseconds of work.
const STEPS_PER_ASK: usize = 1024;

/// Memory and time that work on an answer may take, of what its request may. Every loop over
/// points or series takes from it.
pub struct Budget<'a> {
    held_bytes: Cell<u64>,
    steps: Cell<usize>,
    may_hold: &'a dyn Fn(u64) -> Result<(), HttpError>,
}

impl std::fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budget").field("held_bytes", &self.held_bytes).finish_non_exhaustive()
    }
}

impl<'a> Budget<'a> {
    /// `may_hold` is asked with the bytes that the work holds or is about to hold, again and again,
    /// and says why it may not go on.
    pub fn new(may_hold: &'a dyn Fn(u64) -> Result<(), HttpError>) -> Self {
        Self { held_bytes: Cell::new(0), steps: Cell::new(0), may_hold }
    }

    /// Takes memory, before it is allocated.
    ///
    /// # Errors
    /// Why the work may not hold so much, or is not to go on.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), HttpError> {
        let held = self.held_bytes.get().saturating_add(bytes);
        (self.may_hold)(held)?;
        self.held_bytes.set(held);
        Ok(())
    }

    /// Takes memory for `count` values of `T`.
    ///
    /// # Errors
    /// As [`Budget::take`].
    pub(crate) fn take_for<T>(&self, count: usize) -> Result<(), HttpError> {
        self.take((count as u64).saturating_mul(size_of::<T>() as u64))
    }

    /// Gives memory back.
    pub(crate) fn give(&self, bytes: u64) {
        self.held_bytes.set(self.held_bytes.get().saturating_sub(bytes));
    }

    /// Counts a step.
    ///
    /// # Errors
    /// Why the work is not to go on.
    pub(crate) fn step(&self) -> Result<(), HttpError> {
        self.steps(1)
    }

    /// Counts so many steps.
    ///
    /// # Errors
    /// Why the work is not to go on.
    pub(crate) fn steps(&self, count: usize) -> Result<(), HttpError> {
        let steps = self.steps.get().saturating_add(count);
        self.steps.set(steps % STEPS_PER_ASK);
        match steps < STEPS_PER_ASK {
            true => Ok(()),
            false => (self.may_hold)(self.held_bytes.get()),
        }
    }
}
