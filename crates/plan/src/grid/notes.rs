//! What a grid met on its way that nobody can see in its values.

use super::{Operator, Place};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What whoever asked may want to know, each with the place of what met it last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// What was met.
    pub met: BTreeMap<Note, Place>,
    /// Histograms of buckets that were mended, by their measurement.
    pub mended: BTreeMap<Arc<str>, Mended>,
}

/// Something that was met. Measurements are empty where a series has lost its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Note {
    /// A share that is not from 0 to 1 and of which a quantile was asked, by its bits.
    Share(u64),
    /// A ratio beyond -1 or 1, by its bits.
    Ratio(u64),
    /// A bound of a bucket that is no number; empty where a series has none.
    Bound {
        /// What stands for the bound.
        text: Arc<str>,
        /// Whose.
        measurement: Arc<str>,
    },
    /// Numbers and histograms in a range of one series.
    Mixed(Arc<str>),
    /// Numbers and histograms in one group.
    MixedGroup,
    /// A histogram that is also there as series of buckets.
    Twofold(Arc<str>),
    /// Histograms of a gauge that were taken for those of a counter.
    NoCounter(Arc<str>),
    /// Histograms of a counter that were taken for those of a gauge.
    NoGauge(Arc<str>),
    /// Histograms of exponential and of custom buckets.
    Schemas(Arc<str>),
    /// The same on the two sides of an operator.
    Layouts(Operator),
    /// Histograms of which one says that counting began anew, and another that it went on.
    Torn(Union),
    /// What was to be sorted and has no order, since it is of several instants.
    Unsorted,
    /// A measurement that was taken for a counter.
    Counter(Arc<str>),
    /// An operator that does not know its operands.
    Types {
        /// Whether the left one is a histogram.
        left: bool,
        /// Which operator.
        operator: Operator,
        /// Whether the right one is a histogram.
        right: bool,
    },
    /// Histograms that an aggregation does not know, by its name.
    Ignored(&'static str),
    /// Histograms among numbers of a range, of which only these count.
    IgnoredInRange(Arc<str>),
    /// A quantile of observations that is none, since it would be one of those that are no numbers.
    QuantileIsNan(Arc<str>),
    /// One that is too high, since some observations are no numbers.
    QuantileIsSkewed(Arc<str>),
    /// A fraction of observations, of which some are no numbers.
    FractionLeavesOut(Arc<str>),
    /// Custom bounds that differ, so that only those that all have were used.
    Reconciled(Union),
}

/// What histograms were put together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Union {
    /// One is added to another.
    Addition,
    /// One is taken away from another.
    Subtraction,
    /// Many.
    Aggregation,
}

/// Buckets whose counts fell where their bounds rise, and were held level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mended {
    /// Where it happened first.
    pub place: Place,
    /// How many histograms were mended, each instant for itself.
    pub count: u64,
    /// The first of the instants.
    pub first_ns: i64,
    /// The last of them.
    pub last_ns: i64,
    /// The lowest bound of a bucket that was mended.
    pub bound_min: f64,
    /// The highest.
    pub bound_max: f64,
    /// How far a count fell at most.
    pub fall_max: f64,
}

impl Mended {
    /// What two come to together.
    pub fn with(self, other: Self) -> Self {
        Self {
            place: self.place,
            count: self.count + other.count,
            first_ns: self.first_ns.min(other.first_ns),
            last_ns: self.last_ns.max(other.last_ns),
            bound_min: self.bound_min.min(other.bound_min),
            bound_max: self.bound_max.max(other.bound_max),
            fall_max: self.fall_max.max(other.fall_max),
        }
    }
}
