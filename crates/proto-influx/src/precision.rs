//! Precision: what unit a request's timestamps are in.

use foliot_model::{NANOS_PER_MILLI, NANOS_PER_SECOND};

/// The earliest time that can be written, in nanoseconds. InfluxDB keeps the two instants before it
/// for itself, so that a range around every sample exists.
pub const TIME_NS_MIN: i64 = i64::MIN + 2;
/// The latest time that can be written, in nanoseconds.
pub const TIME_NS_MAX: i64 = i64::MAX - 1;

/// The unit of the timestamps of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Nanoseconds.
    #[default]
    Nanosecond,
    /// Microseconds.
    Microsecond,
    /// Milliseconds.
    Millisecond,
    /// Seconds.
    Second,
    /// Minutes.
    Minute,
    /// Hours.
    Hour,
    /// Guessed from the size of each timestamp, as InfluxDB 3 does: below 5e9 seconds, below 5e12
    /// milliseconds, below 5e15 microseconds, else nanoseconds.
    Auto,
}

impl Precision {
    /// Nanoseconds in one unit, for a timestamp of this size.
    pub(crate) const fn unit_ns(self, timestamp: i64) -> i64 {
        match self {
            Self::Nanosecond => 1,
            Self::Microsecond => 1_000,
            Self::Millisecond => NANOS_PER_MILLI,
            Self::Second => NANOS_PER_SECOND,
            Self::Minute => 60 * NANOS_PER_SECOND,
            Self::Hour => 3_600 * NANOS_PER_SECOND,
            Self::Auto => match timestamp.unsigned_abs() {
                0..5_000_000_000 => NANOS_PER_SECOND,
                5_000_000_000..5_000_000_000_000 => NANOS_PER_MILLI,
                5_000_000_000_000..5_000_000_000_000_000 => 1_000,
                _ => 1,
            },
        }
    }

    /// The time of a timestamp in this unit, or nothing when it cannot be written.
    #[inline]
    pub(crate) fn time_ns(self, timestamp: i64) -> Option<i64> {
        let time_ns = match self {
            Self::Nanosecond => timestamp,
            _ => timestamp.checked_mul(self.unit_ns(timestamp))?,
        };
        (TIME_NS_MIN..=TIME_NS_MAX).contains(&time_ns).then_some(time_ns)
    }

    /// `now_ns` as a line without timestamp gets it: cut to this unit. Guessed units are not cut.
    pub(crate) fn cut(self, now_ns: i64) -> i64 {
        match self {
            Self::Auto => now_ns,
            _ => now_ns - now_ns.rem_euclid(self.unit_ns(now_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_scaled_and_range_checked() {
        assert_eq!(Precision::Second.time_ns(3), Some(3_000_000_000));
        assert_eq!(Precision::Hour.time_ns(-1), Some(-3_600_000_000_000));
        assert_eq!(Precision::Nanosecond.time_ns(i64::MAX), None);
        assert_eq!(Precision::Nanosecond.time_ns(i64::MAX - 1), Some(i64::MAX - 1));
        assert_eq!(Precision::Nanosecond.time_ns(i64::MIN + 1), None);
        assert_eq!(Precision::Minute.time_ns(i64::MAX / 2), None);
    }

    #[test]
    fn auto_guesses_by_size() {
        let auto = |timestamp| Precision::Auto.time_ns(timestamp);
        let expected = Some(1_700_000_000_000_000_000);
        assert_eq!(auto(1_700_000_000), expected);
        assert_eq!(auto(1_700_000_000_000), expected);
        assert_eq!(auto(1_700_000_000_000_000), expected);
        assert_eq!(auto(1_700_000_000_000_000_000), expected);
        assert_eq!(auto(-1), Some(-1_000_000_000));
    }

    #[test]
    fn now_is_cut_towards_the_past() {
        assert_eq!(Precision::Second.cut(1_999_999_999), 1_000_000_000);
        assert_eq!(Precision::Second.cut(-1), -1_000_000_000);
        assert_eq!(Precision::Nanosecond.cut(7), 7);
        assert_eq!(Precision::Auto.cut(7), 7);
    }
}
