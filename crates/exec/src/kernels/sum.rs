//! Exact sums: the result depends on the values alone, not on their order, on how they were cut
//! into blocks, or on which of them were known only by the summary of their block.
//!
//! 1. A float that is the nearest one to a decimal of at most nine digits behind the point counts
//!    as that decimal, and decimals add up as whole billionths. So does a block's summary of
//!    decimals.
//! 2. Any other float counts as itself. Such floats add up in two floats, whose sum is exact as
//!    long as nothing is lost of it (T. J. Dekker, "A Floating-Point Technique for Extending the
//!    Available Precision", 1971); what two floats cannot hold goes into a number as wide as all
//!    floats, [`Wide`].
//! 3. Each of both sums is rounded once, at the end.
//!
//! A NaN makes the sum NaN; who leaves NaN out does so before.
//!
//! Whether a float is a decimal follows from its bits: below [`WHOLE_MAX`] units a decimal is never
//! further from its float than half a unit, and floats lie closer than units, so there is at most
//! one.

mod wide;

use foliot_engine::DecimalSum;
use wide::Wide;

/// Digits behind the point of the decimals that are told from other floats.
const SCALE_MAX: u8 = 9;

/// Units of the last digit that a decimal may have: with so many, a float times a power of ten is
/// less than half a unit off.
const WHOLE_MAX: f64 = (1u64 << 50) as f64;

/// The powers of ten that decimals are looked for with, the finest first: how many units one is,
/// and how many billionths a unit is.
const UNITS: [(f64, i128); SCALE_MAX as usize + 1] = [
    (1e9, 1),
    (1e8, 10),
    (1e7, 100),
    (1e6, 1_000),
    (1e5, 10_000),
    (1e4, 100_000),
    (1e3, 1_000_000),
    (1e2, 10_000_000),
    (1e1, 100_000_000),
    (1e0, 1_000_000_000),
];

/// Added to a number below 2^51 and taken off again, it leaves the nearest whole number, which is
/// in the low bits meanwhile.
const ROUNDS: f64 = (3u64 << 51) as f64;

/// Values that are looked at together; as many as [`WHOLE_MAX`] fit into 64 bits.
const PART: usize = 256;

/// A sum under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sum {
    /// What the decimals come to, in billionths.
    billionths: i128,
    /// What the other floats come to, as the sum of two.
    others: (f64, f64),
    /// The same, once two floats do not hold it; they are zero then.
    wide: Option<Box<Wide>>,
}

impl Sum {
    /// Adds a run of values.
    pub(crate) fn push(&mut self, run: &[f64]) {
        for part in run.chunks(PART) {
            match decimals(part) {
                Some(billionths) => self.billionths += billionths,
                None => part.iter().for_each(|&value| self.add(value)),
            }
        }
    }

    /// Adds a value.
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        match decimals(&[value]) {
            Some(billionths) => self.billionths += billionths,
            None => self.add_other(value),
        }
    }

    /// Whether the values of a block can be added by what they come to as decimals, with the same
    /// result.
    pub(crate) fn takes(decimals: &DecimalSum) -> bool {
        decimals.scale <= SCALE_MAX && (decimals.most as f64) < WHOLE_MAX
    }

    /// Adds the values of a block that [`Sum::takes`].
    pub(crate) fn add_decimals(&mut self, decimals: &DecimalSum) {
        debug_assert!(Self::takes(decimals), "other blocks are read");
        let at = usize::from(SCALE_MAX.saturating_sub(decimals.scale));
        let billionths = UNITS.get(at).map_or(0, |(_, billionths)| *billionths);
        self.billionths += i128::from(decimals.sum) * billionths;
    }

    /// Adds another sum.
    pub(crate) fn absorb(&mut self, other: &Self) {
        self.billionths += other.billionths;
        self.add_other(other.others.0);
        self.add_other(other.others.1);
        if let Some(other) = &other.wide {
            self.widen().absorb(other);
        }
    }

    fn add_other(&mut self, value: f64) {
        if let Some(wide) = &mut self.wide {
            return wide.add(value);
        }
        let (high, rest) = exact(self.others.0, value);
        let (low, lost) = exact(self.others.1, rest);
        // Also not so where a sum left the range of floats.
        if lost == 0.0 {
            self.others = (high, low);
        } else {
            self.widen().add(value);
        }
    }

    fn widen(&mut self) -> &mut Wide {
        let (high, low) = std::mem::take(&mut self.others);
        let wide = self.wide.get_or_insert_default();
        wide.add(high);
        wide.add(low);
        wide
    }

    /// The sum so far; 0 of nothing.
    pub(crate) fn total(&self) -> f64 {
        let others = self.wide.as_ref().map_or(self.others.0 + self.others.1, |wide| wide.total());
        from_billionths(self.billionths) + others
    }

    /// Memory outside the struct.
    pub(crate) fn bytes_outside(&self) -> usize {
        self.wide.as_ref().map_or(0, |_| size_of::<Wide>())
    }
}

/// What a run of decimals comes to in billionths; nothing if one of them is none, or a NaN.
#[inline]
fn decimals(run: &[f64]) -> Option<i128> {
    let most = run.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let (units, billionths) = *UNITS.iter().find(|(units, _)| most * units <= WHOLE_MAX)?;
    let (mut sum, mut are_decimals) = (0i64, true);
    for &value in run {
        let rounded = value * units + ROUNDS;
        are_decimals &= (rounded - ROUNDS) / units == value;
        sum = sum.wrapping_add(rounded.to_bits() as i64).wrapping_sub(ROUNDS.to_bits() as i64);
    }
    are_decimals.then(|| i128::from(sum) * billionths)
}

/// Two floats whose sum is that of `a` and `b`, exactly: the nearest float to it, and what is left
/// (D. E. Knuth's TwoSum).
fn exact(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// The nearest float to a number of billionths.
fn from_billionths(billionths: i128) -> f64 {
    const ONE: u128 = 1_000_000_000;
    let size = billionths.unsigned_abs();
    if size < 1 << 53 {
        // Two whole numbers that floats hold: the division rounds once.
        return billionths as i64 as f64 / ONE as f64;
    }
    // Far more digits than a float has, and a last one that stands for all behind it.
    let shift = size.leading_zeros();
    let shifted = size << shift;
    let quotient = (shifted / ONE) | u128::from(!shifted.is_multiple_of(ONE));
    let size = quotient as f64 * 2f64.powi(-(shift as i32));
    if billionths < 0 { -size } else { size }
}

#[cfg(test)]
mod tests;
