//! What a grid met on its way that nobody can see in its values.

use super::Place;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What whoever asked may want to know, each with the place of what met it last.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Notes {
    /// Shares that are not from 0 to 1 and of which a quantile was asked, by their bits.
    pub shares: BTreeMap<u64, Place>,
    /// Bounds of buckets that are no numbers; empty where a series has none.
    pub bounds: BTreeMap<Arc<str>, Place>,
    /// Measurements that were taken for counters.
    pub counters: BTreeMap<Arc<str>, Place>,
    /// Histograms that were mended.
    pub mended: Option<Mended>,
    /// What was to be sorted and has no order, since it is of several instants.
    pub unsorted: Option<Place>,
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
