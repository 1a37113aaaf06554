//! Numbers of a series by time, column by column: times are looked at once for all series that have
//! the same, and values are what is left to do.

use foliot_model::{Samples, Values};

/// How many values are looked at between two branches.
const LANES: usize = 64;

#[derive(Clone, Debug, Default)]
pub(super) struct Numbers {
    pub(super) times_ns: Vec<i64>,
    pub(super) values: Vec<f64>,
}

impl Numbers {
    pub(super) fn len(&self) -> usize {
        self.times_ns.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.times_ns.clear();
        self.values.clear();
    }

    pub(super) fn push(&mut self, time_ns: i64, value: f64) {
        self.times_ns.push(time_ns);
        self.values.push(value);
    }

    /// Adds samples if all of them are numbers, and says whether they are.
    pub(super) fn take(&mut self, samples: &Samples) -> bool {
        match &samples.values {
            _ if samples.is_empty() => return false,
            Values::Float(values) => self.values.extend_from_slice(values),
            Values::Integer(values) => self.values.extend(values.iter().map(|one| *one as f64)),
            Values::Unsigned(values) => self.values.extend(values.iter().map(|one| *one as f64)),
            _ => return false,
        }
        self.times_ns.extend_from_slice(&samples.times_ns);
        true
    }

    /// The sample at a position.
    pub(super) fn get(&self, at: usize) -> Option<(i64, f64)> {
        Some((*self.times_ns.get(at)?, *self.values.get(at)?))
    }

    /// Time and value of each sample.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        self.times_ns.iter().copied().zip(self.values.iter().copied())
    }

    /// Whether there is a value of these bits.
    pub(super) fn has(&self, bits: u64) -> bool {
        let is_there = |met: bool, one: &f64| met | (one.to_bits() == bits);
        self.values.chunks(LANES).any(|some| some.iter().fold(false, is_there))
    }

    /// The same without values of these bits; None if there is none.
    pub(super) fn without(&self, bits: u64) -> Option<Self> {
        let others = || self.pairs().filter(|(_, one)| one.to_bits() != bits);
        self.has(bits).then(|| others().collect())
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
        let (times_ns, values) = pairs.into_iter().unzip();
        Self { times_ns, values }
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
