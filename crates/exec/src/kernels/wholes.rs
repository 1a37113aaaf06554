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

    /// What they come to; of integers the sum wraps around.
    pub(super) fn sum(self, wholes: &[i64]) -> WholesSum {
        let sum = wholes.iter().fold(0i64, |sum, whole| sum.wrapping_add(*whole));
        match self.kind {
            Kind::Float => WholesSum::Decimals(DecimalSum { sum, scale: self.scale, most: 0 }),
            _ => WholesSum::Integer(sum),
        }
    }
}

/// The sum of whole numbers.
pub(super) enum WholesSum {
    Integer(i64),
    Decimals(DecimalSum),
}
