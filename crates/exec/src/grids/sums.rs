//! Sums of many series at many instants, and what rounding lost of each, column by column: where
//! all instants have a number, one loop adds them.

use super::fold::{Carried, Mean};
use super::gapped::{Gapped, WORD};
use std::ops::Range;

/// Sums below this are far from too large for a float.
const TAME: f64 = 1e300;

/// A sum for each instant, or what a mean is made of.
#[derive(Debug)]
pub(super) struct Sums {
    sums: Vec<f64>,
    lost: Vec<f64>,
    /// Whether means are wanted.
    are_means: bool,
    /// Whether a sum was large, or no number.
    is_wild: bool,
    /// The instants whose sum was too large for a float, 64 to a word: these hold the mean itself.
    overflowed: Vec<u64>,
}

impl Sums {
    pub(super) fn new(instants: usize, are_means: bool) -> Self {
        let (sums, lost) = (vec![0.0; instants], vec![0.0; instants]);
        let overflowed = vec![0; instants.div_ceil(WORD)];
        Self { sums, lost, are_means, is_wild: false, overflowed }
    }

    /// Adds the numbers of a series. `counts` says how many there were at each instant, this one
    /// among them.
    pub(super) fn add(&mut self, values: &Gapped, counts: &[u32]) {
        for (instants, bits) in values.runs() {
            let numbers = values.places(&instants);
            if bits.is_some() || !self.add_all(&instants, numbers) {
                let numbers = numbers.iter().enumerate();
                let numbers = numbers.filter(|(at, _)| bits.is_none_or(|bits| bits >> at & 1 == 1));
                for (at, number) in numbers {
                    let index = instants.start + at;
                    let count = counts.get(index).copied().unwrap_or_default();
                    self.add_one(index, *number, f64::from(count));
                }
            }
        }
    }

    /// Adds a number at each of some instants, unless more is to be thought of: a sum is very
    /// large, or no number.
    fn add_all(&mut self, instants: &Range<usize>, numbers: &[f64]) -> bool {
        let sums = self.sums.get_mut(instants.clone()).unwrap_or_default();
        let lost = self.lost.get_mut(instants.clone()).unwrap_or_default();
        let after = sums.iter().zip(numbers).map(|(sum, number)| sum + number);
        self.is_wild |= !after.fold(true, |all, sum| all & (sum.abs() < TAME));
        if self.is_wild {
            return false;
        }
        for ((sum, lost), number) in sums.iter_mut().zip(lost).zip(numbers) {
            // What rounding loses, exactly, whichever of the two is larger (D. E. Knuth, "The Art
            // of Computer Programming", volume 2, 4.2.2).
            let after = *sum + number;
            let added = after - *sum;
            *lost += (*sum - (after - added)) + (number - added);
            *sum = after;
        }
        true
    }

    fn add_one(&mut self, index: usize, number: f64, count: f64) {
        let places = (self.sums.get_mut(index), self.lost.get_mut(index));
        let ((Some(sum), Some(lost)), Some(overflowed)) =
            (places, self.overflowed.get_mut(index / WORD))
        else {
            return;
        };
        let carried = Carried { sum: *sum, lost: *lost };
        let after = match self.are_means {
            false => carried.add(number),
            true => {
                let is_mean = *overflowed >> (index % WORD) & 1 == 1;
                let after = Mean { carried, is_mean }.add(number, count);
                *overflowed |= u64::from(after.is_mean) << (index % WORD);
                after.carried
            }
        };
        self.is_wild |= after.sum.abs() >= TAME || after.sum.is_nan();
        (*sum, *lost) = (after.sum, after.lost);
    }

    /// What the numbers of each instant come to, of which there are so many. They take the memory
    /// of the sums.
    pub(super) fn into_totals(mut self, counts: &[u32]) -> Gapped {
        let mut totals = std::mem::take(&mut self.sums);
        let all = totals.iter_mut().zip(&self.lost).zip(counts).enumerate();
        for (index, ((place, lost), count)) in all {
            let carried = Carried { sum: *place, lost: *lost };
            *place = self.total_of(index, carried, f64::from(*count));
        }
        Gapped::of(totals, counts.iter().map(|count| *count > 0))
    }

    fn total_of(&self, index: usize, carried: Carried, count: f64) -> f64 {
        match self.are_means {
            true => {
                let overflowed = self.overflowed.get(index / WORD).copied().unwrap_or_default();
                Mean { carried, is_mean: overflowed >> (index % WORD) & 1 == 1 }.total(count)
            }
            false => carried.total(),
        }
    }

    /// What the numbers of an instant come to, of which there are so many.
    pub(super) fn total(&self, index: usize, count: f64) -> Option<f64> {
        let carried = Carried { sum: *self.sums.get(index)?, lost: *self.lost.get(index)? };
        Some(self.total_of(index, carried, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grids::fold::{average, sum};
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = f64> {
        let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, -f64::MAX];
        prop_oneof![
            8 => -1e3..1e3,
            2 => prop::sample::select(vec![1e300, -1e300, 1e-300, 1e17, 1.0]),
            1 => prop::sample::select(odd.to_vec()),
        ]
    }

    fn series() -> impl Strategy<Value = Vec<Option<f64>>> {
        let gapped = prop::option::weighted(0.9, number());
        let full = prop::collection::vec(number().prop_map(Some), 150);
        prop_oneof![prop::collection::vec(gapped, 150), full]
    }

    proptest! {
        #[test]
        fn columns_come_to_what_instants_come_to(
            all in prop::collection::vec(series(), 0..12), are_means: bool,
        ) {
            let (mut sums, mut counts) = (Sums::new(150, are_means), vec![0_u32; 150]);
            for series in &all {
                let there = counts.iter_mut().zip(series).filter(|(_, one)| one.is_some());
                there.for_each(|(count, _)| *count += 1);
                sums.add(&series.clone().into(), &counts);
            }
            let told = |one: f64| if one.is_nan() { u64::MAX } else { one.to_bits() };
            for (index, count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
                let values = || all.iter().filter_map(|series| series[index]);
                let expected = if are_means { average(values()) } else { sum(values()) };
                let found = sums.total(index, f64::from(*count)).expect("is there");
                let all: Vec<_> = values().collect();
                prop_assert_eq!(told(found), told(expected), "{} of {:?}", found, all);
            }
            let all: Vec<_> = (0..150).map(|at| sums.total(at, f64::from(counts[at]))).collect();
            let totals = sums.into_totals(&counts);
            for (index, count) in counts.iter().enumerate() {
                let expected = all[index].filter(|_| *count > 0);
                prop_assert_eq!(totals.get(index).map(told), expected.map(told));
            }
        }
    }
}
