//! Whole numbers as blocks store values: integers, or decimals of one scale. They are ordered, and
//! add up, as the values that they stand for.

use super::sum::Sum;
use foliot_engine::DecimalSum;
use foliot_model::{Cell, Item, Kind};

/// What whole numbers stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wholes {
    kind: Kind,
    /// Floats are the numbers divided by ten to this power.
    scale: u8,
}

impl Wholes {
    pub(crate) fn new(kind: Kind, scale: u8) -> Self {
        Self { kind, scale }
    }

    /// What they stand for, if that is of the kind that they are read as, and if they come to the
    /// same as the values themselves do.
    pub(crate) fn of(wholes: &[i64], stored: Kind, scale: u8, kind: Kind) -> Option<Self> {
        let most = || wholes.iter().fold(0, |most, whole| whole.unsigned_abs().max(most));
        let are_same = match kind {
            _ if stored != kind => false,
            Kind::Integer => true,
            Kind::Float => Sum::takes(&DecimalSum { sum: 0, scale, most: most() }),
            _ => false,
        };
        are_same.then_some(Self { kind, scale })
    }

    /// The value of one.
    pub(crate) fn item(self, whole: i64) -> Item {
        match self.kind {
            Kind::Float => Item::Float(self.float(whole)),
            _ => Item::Integer(whole),
        }
    }

    /// The value of one as a float.
    pub(crate) fn float(self, whole: i64) -> f64 {
        Cell { bits: whole as u64, kind: Kind::Float, scale: self.scale }.to_f64()
    }

    /// What they come to.
    pub(super) fn sum(self, wholes: &[i64]) -> WholesSum {
        match self.kind {
            Kind::Float => {
                let sum = wholes.iter().fold(0i64, |sum, whole| sum.wrapping_add(*whole));
                WholesSum::Decimals(DecimalSum { sum, scale: self.scale, most: 0 })
            }
            _ => WholesSum::Integer(exact(wholes)),
        }
    }
}

/// The sum of whole numbers.
pub(super) enum WholesSum {
    Integer(i128),
    Decimals(DecimalSum),
}

/// What integers come to. Their upper and their lower halves are added apart: sums of halves have
/// room for 2^31 numbers in 64 bits, and are made several at a time.
pub(super) fn exact(wholes: &[i64]) -> i128 {
    const HALF: u64 = u32::MAX as u64;
    let (mut upper, mut lower) = (0i64, 0u64);
    for &whole in wholes {
        upper = upper.wrapping_add(whole >> 32);
        lower = lower.wrapping_add(whole as u64 & HALF);
    }
    (i128::from(upper) << 32) + i128::from(lower)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Held against the additions of the compiler, one by one.
        #[test]
        fn integers_add_up_exactly(
            wholes in prop::collection::vec(
                prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), -3i64..3],
                0..200,
            ),
        ) {
            let expected = wholes.iter().fold(0i128, |sum, whole| sum + i128::from(*whole));
            prop_assert_eq!(exact(&wholes), expected);
        }
    }
}
