//! Numbers at instants, one place for each, of which some are gaps.
//!
//! Numbers lie side by side, and bits say where there are any: most series have one at each of 64
//! instants, and whoever calculates asks once for all of them. What lies in a gap is calculated
//! with, and means nothing.

use std::ops::Range;

/// Instants that share a word of bits.
pub(super) const WORD: usize = u64::BITS as usize;

/// Numbers at instants, with gaps.
#[derive(Clone, Debug, Default)]
pub struct Gapped {
    numbers: Vec<f64>,
    /// A bit for each instant, the first one lowest.
    there: Vec<u64>,
}

/// No numbers at no instants.
pub(super) static NOWHERE: Gapped = Gapped { numbers: Vec::new(), there: Vec::new() };

/// The bits of so many instants, at most [`WORD`].
pub(super) fn all_of(instants: usize) -> u64 {
    u64::MAX.checked_shr((WORD - instants.min(WORD)) as u32).unwrap_or_default()
}

/// The positions of bits.
pub(super) fn each_of(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let at = bits.trailing_zeros() as usize;
        bits &= bits.wrapping_sub(1);
        (at < WORD).then_some(at)
    })
}

impl Gapped {
    /// Nothing yet, with room for so many instants.
    pub(super) fn with_capacity(instants: usize) -> Self {
        let (numbers, there) =
            (Vec::with_capacity(instants), Vec::with_capacity(instants.div_ceil(WORD)));
        Self { numbers, there }
    }

    /// Numbers, and at which instants they are there.
    pub(super) fn of(numbers: Vec<f64>, are_there: impl Iterator<Item = bool>) -> Self {
        let mut there = vec![0; numbers.len().div_ceil(WORD)];
        for (at, is_there) in are_there.enumerate() {
            if let Some(bits) = there.get_mut(at / WORD) {
                *bits |= u64::from(is_there) << (at % WORD);
            }
        }
        Self { numbers, there }
    }

    /// What so many places take.
    pub(super) const fn bytes(instants: usize) -> usize {
        instants.saturating_mul(size_of::<f64>()).saturating_add(instants / 8)
    }

    /// Number of instants.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are no instants.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The number at an instant.
    pub fn get(&self, index: usize) -> Option<f64> {
        let is_there = self.there.get(index / WORD)? >> (index % WORD) & 1 == 1;
        self.numbers.get(index).copied().filter(|_| is_there)
    }

    /// What there is at each instant.
    pub fn iter(&self) -> impl Iterator<Item = Option<f64>> + Clone + '_ {
        self.words().flat_map(|(there, numbers)| {
            let one = move |(at, number): (usize, &f64)| (there >> at & 1 == 1).then_some(*number);
            numbers.iter().enumerate().map(one)
        })
    }

    /// All numbers that there are.
    pub fn numbers(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        self.iter().flatten()
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.there.iter().map(|bits| bits.count_ones() as usize).sum()
    }

    /// Whether there is a number anywhere.
    pub fn has_any(&self) -> bool {
        self.there.iter().any(|bits| *bits != 0)
    }

    /// The first instant that has a number.
    pub(super) fn first(&self) -> Option<usize> {
        let word = self.there.iter().position(|bits| *bits != 0)?;
        Some(word * WORD + self.there.get(word)?.trailing_zeros() as usize)
    }

    /// Numbers of up to [`WORD`] instants at a time, and the bits of those that are there.
    pub(super) fn words(&self) -> impl Iterator<Item = (u64, &[f64])> + Clone {
        self.there.iter().copied().zip(self.numbers.chunks(WORD))
    }

    /// All instants in turn: as many as follow one another that have numbers, or a word of them of
    /// which some are gaps, with its bits.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Range<usize>, Option<u64>)> + '_ {
        let mut word = 0;
        let is_full = |word: usize| {
            let instants = self.len().saturating_sub(word * WORD);
            self.there.get(word).is_some_and(|bits| *bits == all_of(instants))
        };
        std::iter::from_fn(move || {
            let (first, bits) = (word, *self.there.get(word)?);
            word += 1;
            if !is_full(first) {
                return Some((first * WORD..self.len().min(word * WORD), Some(bits)));
            }
            while is_full(word) {
                word += 1;
            }
            Some((first * WORD..self.len().min(word * WORD), None))
        })
    }

    /// What lies at some instants, also in gaps.
    pub(super) fn places(&self, instants: &Range<usize>) -> &[f64] {
        self.numbers.get(instants.clone()).unwrap_or_default()
    }

    /// Adds what there is at the next instant.
    pub(super) fn push(&mut self, number: Option<f64>) {
        let at = self.len() % WORD;
        if at == 0 {
            self.there.push(0);
        }
        if let Some(bits) = self.there.last_mut() {
            *bits |= u64::from(number.is_some()) << at;
        }
        self.numbers.push(number.unwrap_or_default());
    }

    /// Adds numbers at the next instants, and lends them.
    pub(super) fn extend(&mut self, numbers: impl Iterator<Item = f64>) -> &mut [f64] {
        let before = self.len();
        self.numbers.extend(numbers);
        self.there.resize(self.len().div_ceil(WORD), 0);
        self.mark(before..self.len());
        self.numbers.get_mut(before..).unwrap_or_default()
    }

    /// Adds gaps up to so many instants altogether.
    pub(super) fn lengthen(&mut self, instants: usize) {
        if instants > self.len() {
            self.numbers.resize(instants, 0.0);
            self.there.resize(instants.div_ceil(WORD), 0);
        }
    }

    /// Says of these instants that they have numbers.
    fn mark(&mut self, instants: Range<usize>) {
        let first = instants.start / WORD;
        for (word, bits) in self.there.iter_mut().enumerate().skip(first) {
            let within = |at: usize| at.saturating_sub(word * WORD);
            *bits |= all_of(within(instants.end)) & !all_of(within(instants.start));
        }
    }

    /// Puts a number, or a gap, at an instant there is.
    pub(super) fn put(&mut self, index: usize, number: Option<f64>) {
        if let (Some(place), Some(bits)) =
            (self.numbers.get_mut(index), self.there.get_mut(index / WORD))
        {
            let bit = 1 << (index % WORD);
            *bits = if number.is_some() { *bits | bit } else { *bits & !bit };
            *place = number.unwrap_or_default();
        }
    }

    /// Leaves gaps where a number is not wanted.
    pub(super) fn keep(&mut self, is_wanted: impl Fn(f64) -> bool) {
        for (bits, numbers) in self.there.iter_mut().zip(self.numbers.chunks(WORD)) {
            if numbers.iter().fold(true, |all, one| all & is_wanted(*one)) {
                continue;
            }
            let wanted = numbers.iter().enumerate();
            let wanted = wanted.fold(0, |all, (at, one)| all | u64::from(is_wanted(*one)) << at);
            *bits &= wanted;
        }
    }

    /// Leaves gaps at instants that are not wanted.
    pub(super) fn only(&self, is_wanted: impl Fn(usize) -> bool) -> Self {
        let mut made = self.clone();
        for (word, bits) in made.there.iter_mut().enumerate() {
            *bits = each_of(*bits)
                .filter(|at| is_wanted(word * WORD + at))
                .fold(0, |kept, at| kept | 1 << at);
        }
        made
    }

    /// Each number as `of` makes it.
    pub(super) fn map(mut self, of: impl Fn(f64) -> f64) -> Self {
        self.numbers.iter_mut().for_each(|number| *number = of(*number));
        self
    }

    /// What `of` makes of the numbers of two, where both have one.
    pub(crate) fn both(&self, other: &Self, of: impl Fn(f64, f64) -> f64) -> Self {
        let numbers = self.numbers.iter().zip(&other.numbers).map(|(a, b)| of(*a, *b)).collect();
        Self { numbers, there: self.there.iter().zip(&other.there).map(|(a, b)| a & b).collect() }
    }

    /// The numbers that are there where another has one with which `holds` holds.
    pub(crate) fn where_both(&self, other: &Self, holds: impl Fn(f64, f64) -> bool) -> Self {
        let values = self.numbers.chunks(WORD).zip(other.numbers.chunks(WORD));
        let there = self.there.iter().zip(&other.there).zip(values);
        let there = there.map(|((here, there), (a, b))| {
            let held = a.iter().zip(b).enumerate();
            here & there & held.fold(0, |all, (at, (a, b))| all | u64::from(holds(*a, *b)) << at)
        });
        let there = there.collect();
        let numbers = self.numbers.get(..other.len()).unwrap_or(&self.numbers).to_vec();
        Self { numbers, there }
    }
}

impl FromIterator<Option<f64>> for Gapped {
    fn from_iter<I: IntoIterator<Item = Option<f64>>>(places: I) -> Self {
        let places = places.into_iter();
        let mut made = Self::with_capacity(places.size_hint().0);
        places.for_each(|number| made.push(number));
        made
    }
}

impl From<Vec<Option<f64>>> for Gapped {
    fn from(places: Vec<Option<f64>>) -> Self {
        places.into_iter().collect()
    }
}

impl PartialEq for Gapped {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn places() -> impl Strategy<Value = Vec<Option<f64>>> {
        let place = prop_oneof![6 => (-9..9).prop_map(|n| Some(f64::from(n))), 1 => Just(None)];
        let some = prop::collection::vec(place, 0..200);
        let all = (0..200_usize).prop_map(|count| vec![Some(1.0); count]);
        prop_oneof![some, all]
    }

    fn told(of: &Gapped) -> Vec<Option<f64>> {
        assert_eq!(of.there.len(), of.len().div_ceil(WORD));
        let all: Vec<_> = of.iter().collect();
        assert!(
            (0..of.len() + 70).map(|at| of.get(at)).eq((0..of.len() + 70).map(|at| *all.get(at)?))
        );
        all
    }

    proptest! {
        #[test]
        fn places_are_what_options_are(a in places(), b in places(), at in 0..200_usize) {
            let (one, other) = (Gapped::from(a.clone()), Gapped::from(b.clone()));
            prop_assert_eq!(told(&one), a.clone());
            prop_assert_eq!(one.has_any(), a.iter().any(Option::is_some));
            prop_assert_eq!(one.count(), a.iter().flatten().count());
            let mut runs = Vec::new();
            for (instants, bits) in one.runs() {
                let there = |at: usize| bits.is_none_or(|bits| bits >> at & 1 == 1);
                let places = one.places(&instants).iter().enumerate();
                runs.extend(places.map(|(at, number)| there(at).then_some(*number)));
            }
            prop_assert_eq!(&runs, &a);
            prop_assert_eq!(one.first(), a.iter().position(Option::is_some));
            prop_assert!(one.numbers().eq(a.iter().copied().flatten()));
            let pairs = || a.iter().zip(&b);
            let sums: Vec<_> = pairs().map(|(a, b)| Some((*a)? + (*b)?)).collect();
            prop_assert_eq!(told(&one.both(&other, |a, b| a + b)), sums);
            let higher = one.where_both(&other, |a, b| a > b);
            let expected = pairs().map(|(a, b)| a.filter(|a| b.is_some_and(|b| *a > b)));
            prop_assert_eq!(told(&higher), expected.collect::<Vec<_>>());
            let mut kept = one.clone();
            kept.keep(|number| number > 0.0);
            let expected: Vec<_> = a.iter().map(|one| one.filter(|one| *one > 0.0)).collect();
            prop_assert_eq!(told(&kept), expected);
            let even = a.iter().enumerate().map(|(at, one)| one.filter(|_| at % 2 == 0));
            prop_assert_eq!(told(&one.only(|at| at % 2 == 0)), even.collect::<Vec<_>>());
            let twice: Vec<_> = a.iter().map(|one| one.map(|one| one * 2.0)).collect();
            prop_assert_eq!(told(&one.clone().map(|one| one * 2.0)), twice);
            let (mut put, mut expected) = (one, a);
            for number in [None, Some(5.0)] {
                put.put(at, number);
                expected.get_mut(at).into_iter().for_each(|place| *place = number);
                prop_assert_eq!(told(&put), expected.clone());
            }
        }

        #[test]
        fn stretches_follow_gaps(
            lengths in prop::collection::vec((0..150_usize, 0..150_usize), 0..8),
        ) {
            let (mut made, mut expected) = (Gapped::default(), Vec::new());
            for (gap, stretch) in lengths {
                expected.resize(expected.len() + gap, None);
                made.lengthen(expected.len());
                expected.resize(expected.len() + stretch, Some(7.0));
                prop_assert_eq!(made.extend(std::iter::repeat_n(7.0, stretch)).len(), stretch);
            }
            prop_assert_eq!(told(&made), expected);
        }
    }
}
