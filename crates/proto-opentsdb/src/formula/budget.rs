//! What working out a formula may take.

use crate::http::HttpError;
use std::cell::Cell;

/// Steps between two questions whether to go on: some ten microseconds of work.
const STEPS_PER_ASK: usize = 1024;

/// Memory and time that a formula may take. Every loop over points takes from it.
pub struct Budget<'a> {
    left_bytes: Cell<u64>,
    steps: Cell<usize>,
    goes_on: &'a dyn Fn() -> Result<(), HttpError>,
}

impl<'a> Budget<'a> {
    /// Room for `bytes_max` bytes. `goes_on` is asked again and again whether the work is wanted
    /// still, and says why not.
    pub fn new(bytes_max: u64, goes_on: &'a dyn Fn() -> Result<(), HttpError>) -> Self {
        Self { left_bytes: Cell::new(bytes_max), steps: Cell::new(0), goes_on }
    }

    /// Takes memory, before it is allocated.
    ///
    /// # Errors
    /// 413 when so much is not left.
    pub(crate) fn take(&self, bytes: u64) -> Result<(), HttpError> {
        let left = self.left_bytes.get().checked_sub(bytes).ok_or_else(too_much)?;
        self.left_bytes.set(left);
        Ok(())
    }

    /// Takes memory for `count` values of `T`.
    ///
    /// # Errors
    /// As [`Budget::take`].
    pub(crate) fn take_for<T>(&self, count: usize) -> Result<(), HttpError> {
        self.take((count as u64).saturating_mul(size_of::<T>() as u64))
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
            false => (self.goes_on)(),
        }
    }
}

pub(super) fn too_much() -> HttpError {
    let message = "A formula needs more memory than a query may take \
                   (limits.query_memory_bytes): ask for less, or downsample";
    HttpError::new(413, message)
}
