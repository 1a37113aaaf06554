//! Where windows lie: buckets of fixed width, calendar units, or one window.

use crate::Error;
use crate::window::calendar::Calendars;
use foliot_model::TimeRange;
use foliot_plan::Windows;

/// The windows of one series, which never overlap.
#[derive(Clone, Debug)]
pub(crate) enum Grid {
    Buckets { width_ns: i64, origin_ns: i64 },
    Calendar(Calendars),
    Whole(TimeRange),
}

impl Grid {
    /// The grid of `windows`.
    pub(crate) fn new(windows: &Windows) -> Result<Self, Error> {
        Ok(match windows {
            Windows::Buckets { width_ns, .. } if *width_ns < 1 => {
                return Err(Error::Plan(format!("a window of {width_ns} ns has no length")));
            }
            &Windows::Buckets { width_ns, origin_ns } => Self::Buckets { width_ns, origin_ns },
            Windows::Calendar { count, unit, zone } => {
                Self::Calendar(Calendars::new(*count, *unit, zone)?)
            }
            Windows::Whole(range) => Self::Whole(*range),
        })
    }

    /// Tells the time of a series' first sample, which some calendars count from.
    pub(crate) fn begin(&mut self, first_ns: i64) {
        if let Self::Calendar(calendars) = self {
            calendars.begin(first_ns);
        }
    }

    /// Whether all series have the same windows.
    pub(crate) fn is_shared(&self) -> bool {
        !matches!(self, Self::Calendar(calendars) if calendars.counts_from_first_sample())
    }

    /// The window that `time_ns` lies in; nothing outside the one window.
    pub(crate) fn containing(&self, time_ns: i64) -> Option<TimeRange> {
        match self {
            &Self::Buckets { width_ns, origin_ns } => Some(bucket(time_ns, width_ns, origin_ns)),
            Self::Calendar(calendars) => Some(calendars.containing(time_ns)),
            Self::Whole(range) => range.contains(time_ns).then_some(*range),
        }
    }

    /// The same, for a time after that window: mostly it is the next one.
    #[inline]
    pub(crate) fn following(&self, previous: &TimeRange, time_ns: i64) -> Option<TimeRange> {
        let end_ns = previous.end_ns;
        match self {
            &Self::Buckets { width_ns, .. }
                if time_ns.checked_sub(end_ns).is_some_and(|distance| distance <= width_ns) =>
            {
                debug_assert!(time_ns > end_ns, "time goes forward");
                Some(TimeRange::new(end_ns.saturating_add(1), end_ns.saturating_add(width_ns)))
            }
            _ => self.containing(time_ns),
        }
    }

    /// The window after `window`; nothing at the end of time.
    pub(crate) fn after(&self, window: &TimeRange) -> Option<TimeRange> {
        self.containing(window.end_ns.checked_add(1)?)
    }

    /// The first window that starts in `range`.
    pub(crate) fn first_in(&self, range: &TimeRange) -> Option<TimeRange> {
        let window = match self {
            Self::Whole(whole) => *whole,
            _ => self.containing(range.start_ns)?,
        };
        let window = if window.start_ns < range.start_ns { self.after(&window)? } else { window };
        range.contains(window.start_ns).then_some(window)
    }

    /// About how many windows start in `range`, at most; for deciding how to go about it.
    pub(crate) fn count_in(&self, range: &TimeRange) -> u64 {
        let span = i128::from(range.end_ns) - i128::from(range.start_ns);
        let width = match self {
            Self::Buckets { width_ns, .. } => *width_ns,
            Self::Calendar(calendars) => calendars.shortest_ns(),
            Self::Whole(_) => return 1,
        };
        u64::try_from(span / i128::from(width) + 1).unwrap_or(if span < 0 { 0 } else { u64::MAX })
    }
}

/// Windows at the ends of time are cut there.
fn bucket(time_ns: i64, width_ns: i64, origin_ns: i64) -> TimeRange {
    let offset = match time_ns.checked_sub(origin_ns) {
        Some(distance) => distance.rem_euclid(width_ns),
        None => {
            let distance = i128::from(time_ns) - i128::from(origin_ns);
            distance.rem_euclid(i128::from(width_ns)) as i64
        }
    };
    let start = time_ns.checked_sub(offset);
    let end = start.map_or_else(
        || time_ns.saturating_add(width_ns - 1 - offset),
        |start| start.saturating_add(width_ns - 1),
    );
    TimeRange::new(start.unwrap_or(i64::MIN), end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_plan::Calendar;
    use proptest::prelude::*;

    fn buckets(width_ns: i64, origin_ns: i64) -> Grid {
        Grid::new(&Windows::Buckets { width_ns, origin_ns }).unwrap()
    }

    #[test]
    fn buckets_at_the_ends_of_time_are_cut() {
        let grid = buckets(10, 3);
        assert_eq!(grid.containing(3), Some(TimeRange::new(3, 12)));
        assert_eq!(grid.containing(2), Some(TimeRange::new(-7, 2)));
        let last = grid.containing(i64::MAX).unwrap();
        assert!(last.contains(i64::MAX) && grid.after(&last).is_none());
        let first = grid.containing(i64::MIN).unwrap();
        assert_eq!(first.start_ns, i64::MIN);
        assert_eq!((i128::from(first.end_ns) - 3).rem_euclid(10), 9);
        assert!(Grid::new(&Windows::Buckets { width_ns: 0, origin_ns: 0 }).is_err());
    }

    #[test]
    fn first_window_starts_inside() {
        let grid = buckets(10, 0);
        assert_eq!(grid.first_in(&TimeRange::new(20, 99)), Some(TimeRange::new(20, 29)));
        assert_eq!(grid.first_in(&TimeRange::new(21, 99)), Some(TimeRange::new(30, 39)));
        assert_eq!(grid.first_in(&TimeRange::new(21, 29)), None);
        assert_eq!(grid.count_in(&TimeRange::new(0, 99)), 10);
        let whole = Grid::Whole(TimeRange::new(5, 9));
        assert_eq!(whole.first_in(&TimeRange::new(0, 99)), Some(TimeRange::new(5, 9)));
        assert_eq!(whole.containing(4), None);
        assert_eq!(whole.after(&TimeRange::new(5, 9)), None);
    }

    proptest! {
        /// Every instant lies in one window, and the next window begins where it ends.
        #[test]
        fn windows_leave_no_gap(
            time in -4_000_000_000_000_000_000i64..4_000_000_000_000_000_000,
            count in 1u32..40,
            unit in 0usize..8,
            zone in 0usize..4,
        ) {
            use Calendar::*;
            let unit = [Millisecond, Second, Minute, Hour, Day, Week, Month, Year][unit];
            let zone = ["UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"][zone];
            let windows = Windows::Calendar { count, unit, zone: zone.into() };
            let mut grid = Grid::new(&windows).unwrap();
            grid.begin(time);
            let window = grid.containing(time).unwrap();
            prop_assert!(window.contains(time));
            prop_assert_eq!(grid.containing(window.start_ns), Some(window));
            prop_assert_eq!(grid.containing(window.end_ns), Some(window));
            let after = grid.after(&window).unwrap();
            prop_assert_eq!(after.start_ns, window.end_ns + 1);
        }
    }
}
