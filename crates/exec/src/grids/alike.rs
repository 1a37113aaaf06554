//! What is the same for all series whose samples have the same times, as those of one target have:
//! where the ranges and instants of a question lie among them.

use super::Walk;
use crate::Error;
use crate::limits::Charge;

/// What was made of the times of a series; the next one that has the same times uses it again.
pub(super) struct Alike<'q, T> {
    times_ns: Vec<i64>,
    made: Option<T>,
    charge: Charge<'q>,
}

impl<'q, T> Alike<'q, T> {
    pub(super) fn new(walk: &Walk<'q>) -> Self {
        Self { times_ns: Vec::new(), made: None, charge: walk.meter.open() }
    }

    /// What `make` makes of these times, which weighs `bytes`.
    pub(super) fn of(
        &mut self,
        times_ns: &[i64],
        bytes: usize,
        make: impl FnOnce() -> T,
    ) -> Result<&T, Error> {
        if self.times_ns != times_ns {
            self.charge.resize(size_of_val(times_ns).saturating_add(bytes))?;
            self.times_ns.clear();
            self.times_ns.extend_from_slice(times_ns);
            self.made = None;
        }
        Ok(self.made.get_or_insert_with(make))
    }
}
