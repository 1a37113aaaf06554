//! Windows: stretches of time over which one series is folded.

use crate::{Fold, Series};
use foliot_model::TimeRange;
use std::sync::Arc;

/// A calendar unit, in local time of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calendar {
    /// Milliseconds within the second.
    Millisecond,
    /// Seconds within the minute.
    Second,
    /// Minutes within the hour.
    Minute,
    /// Hours within the day.
    Hour,
    /// Days; more than one at a time counts from 1 January.
    Day,
    /// Weeks that begin on Sunday.
    Week,
    /// Months, counted from January.
    Month,
    /// Years.
    Year,
}

/// Where windows lie.
#[derive(Clone, Debug, PartialEq)]
pub enum Windows {
    /// `[origin + k*width, origin + (k+1)*width)` for every whole `k`.
    Buckets {
        /// Width in nanoseconds, above 0.
        width_ns: i64,
        /// Where a bucket begins.
        origin_ns: i64,
    },
    /// Runs of `count` calendar units in the local time of `zone` (an IANA name), aware of daylight
    /// saving. Milliseconds, seconds, minutes and hours are counted from the start of the next
    /// larger unit if `count` divides its length (1000, 60, 60, 24), else from that of the minute,
    /// hour, day or month; days and months from 1 January. A run ends at the latest where the next
    /// count begins. Weeks of more than one are counted from the Sunday before 1970, years of more
    /// than one from the year of a series' first sample in range.
    Calendar {
        /// Units per window, above 0.
        count: u32,
        /// The unit.
        unit: Calendar,
        /// IANA time zone name, checked by the door.
        zone: Arc<str>,
    },
    /// One window: the whole given range.
    Whole(TimeRange),
}

/// What a window without samples yields, for series that have a sample somewhere in range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fill {
    /// Nothing.
    None,
    /// NaN.
    Nan,
    /// "No value" ([`foliot_model::NULL_FLOAT_BITS`]), which encoders print as null; arithmetic
    /// treats it as NaN.
    Null,
    /// This number.
    Value(f64),
}

/// Folds each series over windows, each stamped at its start. The result is always binary64, also
/// for counts. Text, and histograms, are left out.
#[derive(Clone, Debug)]
pub struct Window {
    /// What is folded.
    pub input: Series,
    /// Where the windows lie.
    pub windows: Windows,
    /// How a window becomes one value.
    pub fold: Fold,
    /// What an empty window yields.
    pub fill: Fill,
    /// Windows are made, and filled, for stamps in this range only. What the input holds of a
    /// window is folded, whether or not all of the window lies in the input's own range.
    pub range: TimeRange,
}
