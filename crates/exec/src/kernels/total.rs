//! Sums of numbers of any kind: those of integers are exact, and wrap around at the end where that
//! is asked for; those of floats are exact until the end.

use super::number::to_f64;
use super::sum::Sum;
use super::wholes::{Wholes, WholesSum, exact};
use foliot_engine::{DecimalSum, Summary};
use foliot_model::{Item, Kind};

/// A sum of numbers of one kind, or, where kinds meet, of floats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Total {
    /// The sum of the integers. Their number times 2^64 is below 2^127 whatever is stored.
    whole: i128,
    /// Which kind of integers they are; nothing while there is none.
    kind: Option<Kind>,
    /// The sum of all else, once there is any.
    floats: Option<Sum>,
}

impl Total {
    /// Adds a number, and returns how much more memory that takes.
    pub(crate) fn add(&mut self, value: &Item) -> usize {
        match value {
            Item::Integer(number) => self.add_whole(Kind::Integer, i128::from(*number)),
            Item::Unsigned(number) => self.add_whole(Kind::Unsigned, i128::from(*number)),
            other => to_f64(other).map_or(0, |value| self.add_float(value)),
        }
    }

    /// Adds what integers of a kind come to, and returns how much more memory that takes.
    fn add_whole(&mut self, kind: Kind, sum: i128) -> usize {
        if self.kind.is_some_and(|known| known != kind) {
            return self.add_float(sum as f64);
        }
        self.kind = Some(kind);
        self.whole += sum;
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

    /// Adds a run of integers.
    pub(crate) fn add_integers(&mut self, run: &[i64]) {
        self.add_whole(Kind::Integer, exact(run));
    }

    /// Adds values that are stored as whole numbers.
    pub(crate) fn add_wholes(&mut self, wholes: &[i64], stand_for: Wholes) {
        match stand_for.sum(wholes) {
            WholesSum::Integer(sum) => drop(self.add_whole(Kind::Integer, sum)),
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
        let parts = match self.wrapped() {
            Item::Integer(sum) => [sum, 0, 0],
            Item::Unsigned(sum) => [sum / 2, sum / 2, sum % 2].map(|part| part as i64),
            _ => return,
        };
        (self.whole, self.kind) = (0, None);
        let floats = self.floats.get_or_insert_default();
        for sum in parts {
            floats.add_decimals(&DecimalSum { sum, scale: 0, most: 0 });
        }
    }

    /// Whether there were no numbers.
    pub(crate) fn is_null(&self) -> bool {
        self.kind.is_none() && self.floats.is_none()
    }

    /// Whether there is more than the integers of one series.
    pub(crate) fn has_floats(&self) -> bool {
        self.floats.is_some()
    }

    pub(crate) fn absorb(&mut self, other: &Self) {
        if let Some(kind) = other.kind {
            self.add_whole(kind, other.whole);
        }
        if let Some(floats) = &other.floats {
            self.floats.get_or_insert_default().absorb(floats);
        }
    }

    /// What the integers come to in 64 bits.
    fn wrapped(&self) -> Item {
        match self.kind {
            None => Item::Null,
            Some(Kind::Unsigned) => Item::Unsigned(self.whole as u64),
            Some(_) => Item::Integer(self.whole as i64),
        }
    }

    /// The sum, in which integers wrap around; null of nothing.
    pub(crate) fn finish(&self) -> Item {
        match &self.floats {
            None => self.wrapped(),
            Some(floats) => Item::Float(floats.total() + to_f64(&self.wrapped()).unwrap_or(0.0)),
        }
    }

    /// The sum, which is a float where integers of its kind are too small for it; null of nothing.
    pub(crate) fn finish_wide(&self) -> Item {
        let Some(kind) = self.kind.filter(|_| self.floats.is_none()) else {
            return self.wide().map_or(Item::Null, Item::Float);
        };
        let fits = match kind {
            Kind::Unsigned => u64::try_from(self.whole).ok().map(Item::Unsigned),
            _ => i64::try_from(self.whole).ok().map(Item::Integer),
        };
        fits.unwrap_or(Item::Float(self.whole as f64))
    }

    /// The sum as a float, in which nothing wraps around; nothing where there were no numbers.
    pub(crate) fn wide(&self) -> Option<f64> {
        let floats = self.floats.as_ref().map_or(0.0, Sum::total);
        match self.kind {
            None => self.floats.as_ref().map(|_| floats),
            // Rounded once where there are no others.
            Some(_) if self.floats.is_none() => Some(self.whole as f64),
            Some(_) => Some(floats + self.whole as f64),
        }
    }

    /// Memory outside the struct.
    pub(crate) fn bytes_outside(&self) -> usize {
        self.floats.as_ref().map_or(0, Sum::bytes_outside)
    }
}
