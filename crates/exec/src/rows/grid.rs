//! Windows of fixed width in local time.

use crate::Error;
use foliot_model::TimeRange;
use foliot_plan::rows::Layout;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Times before and after all others, which windows are cut at.
pub(super) const TIME_MIN_NS: i64 = i64::MIN + 2;
pub(super) const TIME_MAX_NS: i64 = i64::MAX - 1;

/// The windows of a layout.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    range: TimeRange,
    /// Width and offset; nothing: one window.
    buckets: Option<(i64, i64)>,
    zone: Option<TimeZone>,
}

impl Grid {
    pub(super) fn new(layout: &Layout) -> Result<Self, Error> {
        let buckets = layout.windows.as_ref();
        if let Some(buckets) = buckets.filter(|buckets| buckets.width_ns < 1) {
            let text = format!("a window of {} ns has no length", buckets.width_ns);
            return Err(Error::Plan(text));
        }
        let zone = buckets.and_then(|buckets| buckets.zone.as_ref());
        let zone = zone.map(|name| {
            TimeZone::get(name).map_err(|error| Error::Plan(format!("time zone '{name}': {error}")))
        });
        Ok(Self {
            range: layout.range,
            buckets: buckets.map(|buckets| (buckets.width_ns, buckets.offset_ns)),
            zone: zone.transpose()?,
        })
    }

    /// The width; nothing: there is one window.
    pub(super) fn width_ns(&self) -> Option<i64> {
        self.buckets.map(|(width_ns, _)| width_ns)
    }

    /// How far local time is ahead of UTC.
    pub(super) fn ahead_ns(&self, time_ns: i64) -> i64 {
        let Some(zone) = &self.zone else { return 0 };
        let Ok(time) = Timestamp::from_nanosecond(i128::from(time_ns)) else { return 0 };
        i64::from(zone.to_offset(time).seconds()) * 1_000_000_000
    }

    pub(super) fn has_zone(&self) -> bool {
        self.zone.is_some()
    }

    /// The window of `time_ns`: its start and the start of the next one. A window that the clock is
    /// shifted in is longer or shorter by the shift if that is less than the width.
    pub(super) fn window(&self, time_ns: i64) -> (i64, i64) {
        let Some((width_ns, offset_ns)) = self.buckets else {
            return (self.range.start_ns, self.range.end_ns.saturating_add(1));
        };
        let time_ns = time_ns.saturating_sub(offset_ns);
        let ahead_ns = self.ahead_ns(time_ns);
        let since_ns = time_ns.saturating_add(ahead_ns).rem_euclid(width_ns);
        let mut start_ns = match TIME_MIN_NS.saturating_add(since_ns) >= time_ns {
            true => TIME_MIN_NS,
            false => time_ns - since_ns,
        };
        start_ns = start_ns.saturating_add(offset_ns);
        let until_ns = width_ns - since_ns;
        let mut end_ns = match TIME_MAX_NS - until_ns <= time_ns {
            true => TIME_MAX_NS,
            false => time_ns + until_ns,
        };
        if self.zone.is_some() {
            let shift_ns = ahead_ns - self.ahead_ns(start_ns);
            if shift_ns.abs() < width_ns {
                start_ns += shift_ns;
            }
            let end_ahead_ns = self.ahead_ns(end_ns);
            let shift_ns = ahead_ns - end_ahead_ns;
            // Time that is gained belongs to the window before the shift; time that is lost to the
            // window it falls in.
            let is_in = shift_ns > 0 || self.ahead_ns(end_ns + shift_ns) == end_ahead_ns;
            if shift_ns != 0 && shift_ns.abs() < width_ns && is_in {
                end_ns += shift_ns;
            }
        }
        (start_ns, end_ns.saturating_add(offset_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_plan::rows::Buckets;

    const HOUR_NS: i64 = 3_600_000_000_000;

    fn grid(width_ns: i64, offset_ns: i64, zone: Option<&str>) -> Grid {
        let windows = Some(Buckets { width_ns, offset_ns, zone: zone.map(Into::into) });
        let layout = Layout {
            range: TimeRange::ALL,
            windows,
            order_by: [].into(),
            group_by: [].into(),
            descending: false,
            ordered: true,
        };
        Grid::new(&layout).unwrap()
    }

    #[test]
    fn windows_are_multiples_of_their_width_and_shifted() {
        assert_eq!(grid(10, 0, None).window(25), (20, 30));
        assert_eq!(grid(10, 0, None).window(-1), (-10, 0));
        assert_eq!(grid(10, 3, None).window(2), (-7, 3));
        assert_eq!(grid(10, 0, None).window(TIME_MIN_NS).0, TIME_MIN_NS);
        assert_eq!(grid(10, 0, None).window(TIME_MAX_NS).1, TIME_MAX_NS);
        assert!(
            Grid::new(&Layout {
                range: TimeRange::ALL,
                windows: Some(Buckets { width_ns: 0, offset_ns: 0, zone: None }),
                order_by: [].into(),
                group_by: [].into(),
                descending: false,
                ordered: true,
            })
            .is_err()
        );
    }

    #[test]
    fn days_in_a_zone_have_twenty_three_to_twenty_five_hours() {
        let grid = grid(24 * HOUR_NS, 0, Some("America/New_York"));
        // 2000-04-02T12:00Z: the day on which clocks went forward at 07:00Z.
        let (start_ns, end_ns) = grid.window(954_676_800_000_000_000);
        assert_eq!(start_ns, 954_651_600_000_000_000);
        assert_eq!(end_ns - start_ns, 23 * HOUR_NS);
        // 2000-10-29T12:00Z: the day on which clocks went back.
        let (start_ns, end_ns) = grid.window(972_820_800_000_000_000);
        assert_eq!(end_ns - start_ns, 25 * HOUR_NS);
    }
}
