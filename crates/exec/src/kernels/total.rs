//! Sums of numbers of any kind: of integers they wrap around, within a series where that is asked
//! for; of floats they are exact until the end.

use super::number::to_f64;
use super::sum::Sum;
use super::wholes::{Wholes, WholesSum};
use foliot_engine::{DecimalSum, Summary};
use foliot_model::{Item, Kind};

/// A sum of numbers of one kind, or, where kinds meet, of floats.
#[derive(Debug, Default)]
pub(crate) struct Total {
    /// The sum of the integers; null while there is none.
    whole: Item,
    /// The sum of all else, once there is any.
    floats: Option<Sum>,
}

impl Total {
    /// Adds a number, and returns how much more memory that takes.
    pub(crate) fn add(&mut self, value: &Item) -> usize {
        self.whole = match (&self.whole, value) {
            (Item::Null, Item::Integer(_) | Item::Unsigned(_)) => value.clone(),
            (Item::Integer(a), Item::Integer(b)) => Item::Integer(a.wrapping_add(*b)),
            (Item::Unsigned(a), Item::Unsigned(b)) => Item::Unsigned(a.wrapping_add(*b)),
            _ => return to_f64(value).map_or(0, |value| self.add_float(value)),
        };
        0
    }

    fn add_float(&mut self, value: f64) -> usize {
        let floats = self.floats.get_or_insert_default();
        let before = floats.bytes_outside();
        floats.add(value);
        floats.bytes_outside() - before
    }

    /// Adds a run of floats.
    pub(crate) fn add_floats(&mut self, run: &[f64]) {
        self.floats.get_or_insert_default().push(run);
    }

    /// Adds values that are stored as whole numbers.
    pub(crate) fn add_wholes(&mut self, wholes: &[i64], stand_for: Wholes) {
        match stand_for.sum(wholes) {
            WholesSum::Integer(sum) => drop(self.add(&Item::Integer(sum))),
            WholesSum::Decimals(sum) => self.floats.get_or_insert_default().add_decimals(&sum),
        }
    }

    /// Adds the values of a block by their summary.
    pub(crate) fn add_block(&mut self, summary: &Summary, kind: Kind) {
        match (kind, summary.decimal_sum()) {
            (Kind::Float, Some(decimals)) => {
                self.floats.get_or_insert_default().add_decimals(&decimals);
            }
            _ => {
                self.add(&Item::Integer(summary.sum() as i64));
            }
        }
    }

    /// What comes from here on is of another series: the integers so far have wrapped around among
    /// themselves, and add up with those to come without.
    pub(crate) fn part(&mut self) {
        let parts = match std::mem::take(&mut self.whole) {
            Item::Integer(sum) => [sum, 0, 0],
            Item::Unsigned(sum) => [sum / 2, sum / 2, sum % 2].map(|part| part as i64),
            _ => return,
        };
        let floats = self.floats.get_or_insert_default();
        for sum in parts {
            floats.add_decimals(&DecimalSum { sum, scale: 0, most: 0 });
        }
    }

    /// Whether there were no numbers.
    pub(crate) fn is_null(&self) -> bool {
        self.whole.is_null() && self.floats.is_none()
    }

    /// Whether there is more than the integers of one series.
    pub(crate) fn has_floats(&self) -> bool {
        self.floats.is_some()
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        if !other.whole.is_null() {
            self.add(&other.whole);
        }
        if let Some(floats) = &other.floats {
            self.floats.get_or_insert_default().absorb(floats);
        }
    }

    /// The sum; null of nothing.
    pub(crate) fn finish(&self) -> Item {
        match &self.floats {
            None => self.whole.clone(),
            Some(floats) => Item::Float(floats.total() + to_f64(&self.whole).unwrap_or(0.0)),
        }
    }

    /// Memory outside the struct.
    pub(crate) fn bytes_outside(&self) -> usize {
        self.floats.as_ref().map_or(0, Sum::bytes_outside)
    }
}
