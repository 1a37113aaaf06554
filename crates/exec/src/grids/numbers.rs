//! Numbers of a series by time, column by column: times are looked at once for all series that have
//! the same, and values are what is left to do.

use super::gapped::Gapped;
use super::times::Times;
use foliot_engine::{Run, RunTimes, RunValues};
use foliot_model::Values;

/// How many values are looked at between two branches.
const LANES: usize = 256;

#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    pub(super) times: Times,
    pub(super) values: Vec<f64>,
    /// Whether all of them were decimals or integers: then no value is no number.
    are_wholes: bool,
}

impl Numbers {
    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.times.clear();
        self.values.clear();
        self.are_wholes = true;
    }

    pub(super) fn push(&mut self, time_ns: i64, value: f64) {
        self.times.push(time_ns);
        self.values.push(value);
        self.are_wholes = false;
    }

    /// Adds samples if all of them are numbers, and says whether they are.
    pub(super) fn take(&mut self, run: &Run) -> bool {
        match run.values() {
            _ if run.is_empty() => return false,
            RunValues::Wholes { .. } => run.append_floats(&mut self.values),
            RunValues::Samples(samples) => match &samples.values {
                Values::Float(values) => {
                    self.values.extend_from_slice(values);
                    self.are_wholes = false;
                }
                Values::Integer(values) => self.values.extend(values.iter().map(|one| *one as f64)),
                Values::Unsigned(values) => {
                    self.values.extend(values.iter().map(|one| *one as f64));
                }
                _ => return false,
            },
        }
        match run.times() {
            RunTimes::Steady { first_ns, step_ns } => {
                self.times.push_steady(first_ns, step_ns, run.len());
            }
            RunTimes::Each(times_ns) => times_ns.iter().for_each(|ns| self.times.push(*ns)),
        }
        true
    }

    /// Time and value of each sample.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        self.times.to_vec().into_iter().zip(self.values.iter().copied())
    }

    /// Whether there is a value of these bits, which are those of what is no number.
    fn has(&self, nan_bits: u64) -> bool {
        let is_nan = |met: bool, one: &f64| met | one.is_nan();
        let has_nan = |some: &[f64]| some.iter().fold(false, is_nan);
        let has = |some: &[f64]| some.iter().any(|one| one.to_bits() == nan_bits);
        !self.are_wholes && self.values.chunks(LANES).any(|some| has_nan(some) && has(some))
    }

    /// Leaves gaps for values of these bits, which are those of what is no number, among values of
    /// these samples.
    pub(super) fn drop_marks(&self, nan_bits: u64, among: &mut Gapped) {
        if !self.are_wholes {
            among.keep(|one| one.to_bits() != nan_bits);
        }
    }

    /// The same without values of these bits, which are those of what is no number; None if there
    /// is none.
    pub(super) fn without(&self, nan_bits: u64) -> Option<Self> {
        let others = || self.pairs().filter(|(_, one)| one.to_bits() != nan_bits);
        self.has(nan_bits).then(|| others().collect())
    }

    /// Whether a value is lower than the one before it.
    pub(super) fn falls(&self) -> bool {
        let after = self.values.get(1..).unwrap_or_default();
        let mut pairs = self.values.chunks(LANES).zip(after.chunks(LANES));
        let is_lower = |met: bool, (before, after): (&f64, &f64)| met | (after < before);
        pairs.any(|(before, after)| before.iter().zip(after).fold(false, is_lower))
    }
}

impl FromIterator<(i64, f64)> for Numbers {
    fn from_iter<I: IntoIterator<Item = (i64, f64)>>(pairs: I) -> Self {
        let mut made = Self::default();
        pairs.into_iter().for_each(|(time_ns, value)| made.push(time_ns, value));
        made
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falls_and_marks_are_seen_at_every_position() {
        for len in [0, 1, 2, LANES - 1, LANES, LANES + 1, 2 * LANES + 3] {
            let rising: Numbers = (0..len).map(|at| (at as i64, at as f64)).collect();
            assert!(!rising.falls() && !rising.has(f64::NAN.to_bits()), "{len}");
            for at in 0..len {
                let mut changed = rising.clone();
                changed.values[at] = f64::NAN;
                assert!(changed.has(f64::NAN.to_bits()) && !changed.falls(), "{at} of {len}");
                let without = changed.without(f64::NAN.to_bits()).expect("has one");
                let others: Vec<_> = rising.pairs().filter(|(ns, _)| *ns != at as i64).collect();
                assert_eq!(without.pairs().collect::<Vec<_>>(), others, "{at} of {len}");
                changed.values[at] = -1.0;
                assert_eq!(changed.falls(), at > 0, "{at} of {len}");
            }
        }
    }
}
