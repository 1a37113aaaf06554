//! What is the same for all series whose samples have the same times, as those of one target have:
//! where the ranges and instants of a question lie among them.

use super::Walk;
use super::times::Times;
use crate::Error;
use crate::limits::Charge;

/// What was made of the times of a series; the next one that has the same times uses it again.
pub(super) struct Alike<'q, T> {
    times: Times,
    made: Option<T>,
    charge: Charge<'q>,
}

impl<'q, T> Alike<'q, T> {
    pub(super) fn new(walk: &Walk<'q>) -> Self {
        Self { times: Times::default(), made: None, charge: walk.meter.open() }
    }

    /// What `make` makes of these times, which weighs `bytes`.
    pub(super) fn of(
        &mut self,
        times: &Times,
        bytes: usize,
        make: impl FnOnce(&[i64]) -> T,
    ) -> Result<&T, Error> {
        if self.times != *times {
            self.charge.resize(times.memory_bytes().saturating_add(bytes))?;
            self.times.clone_from(times);
            self.made = None;
        }
        Ok(self.made.get_or_insert_with(|| make(&times.to_vec())))
    }
}
