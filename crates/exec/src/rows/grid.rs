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
    /// Whether windows that begin before all times are errors.
    whole: bool,
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
            whole: buckets.is_some_and(|buckets| buckets.whole),
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

    /// What the rows of a window are stamped with.
    pub(super) fn stamp(&self, start_ns: i64) -> Result<i64, Error> {
        match (self.whole, start_ns) {
            (true, i64::MIN) => Err(Error::Plan("a window begins beyond all times".to_owned())),
            // What has no start is stamped with the epoch.
            (false, TIME_MIN_NS) => Ok(0),
            _ => Ok(start_ns),
        }
    }

    pub(super) fn has_zone(&self) -> bool {
        self.zone.is_some()
    }

    /// The window of `time_ns`: its start and the start of the next one. A window that the clock is
    /// shifted in is longer or shorter by the shift if that is less than the width.
    ///
    /// As in `InfluxDB` all times are looked up without the offset: windows with one are cut as
    /// those without one, and moved. At the ends of all times a window may so come to lie beside
    /// the time. Whoever reads window by window would never end there: that time has a window as
    /// long as all others.
    pub(super) fn window(&self, time_ns: i64) -> (i64, i64) {
        let Some((width_ns, offset_ns)) = self.buckets else {
            return (self.range.start_ns, self.range.end_ns.saturating_add(1));
        };
        if self.whole {
            return whole(time_ns, width_ns, offset_ns);
        }
        let (start_ns, end_ns) = self.shifted(time_ns, width_ns, offset_ns);
        if start_ns <= time_ns && (time_ns < end_ns || end_ns >= TIME_MAX_NS) {
            return (start_ns, end_ns);
        }
        let local_ns = i128::from(time_ns) + i128::from(self.ahead_ns(time_ns));
        let since_ns = (local_ns - i128::from(offset_ns)).rem_euclid(i128::from(width_ns)) as i64;
        let end_ns = time_ns.saturating_add(width_ns - since_ns);
        (time_ns.saturating_sub(since_ns), end_ns.min(TIME_MAX_NS))
    }

    /// The window by the clock where it begins, and where it ends.
    fn shifted(&self, time_ns: i64, width_ns: i64, offset_ns: i64) -> (i64, i64) {
        let time_ns = time_ns.saturating_sub(offset_ns);
        let ahead_ns = self.ahead_ns(time_ns);
        let since_ns = time_ns.saturating_add(ahead_ns).rem_euclid(width_ns);
        let mut start_ns = match TIME_MIN_NS.saturating_add(since_ns) >= time_ns {
            true => TIME_MIN_NS,
            false => time_ns - since_ns,
        };
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
        (start_ns.saturating_add(offset_ns), end_ns.saturating_add(offset_ns))
    }
}

/// The window of a time: its start, which is the least number where it lies before all times, and
/// the start of the next one.
fn whole(time_ns: i64, width_ns: i64, offset_ns: i64) -> (i64, i64) {
    let since_ns = i128::from(time_ns) - i128::from(offset_ns);
    let since_ns = since_ns.rem_euclid(i128::from(width_ns)) as i64;
    (time_ns.saturating_sub(since_ns), time_ns.saturating_add(width_ns - since_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_plan::rows::Buckets;

    const HOUR_NS: i64 = 3_600_000_000_000;

    fn grid(width_ns: i64, offset_ns: i64, zone: Option<&str>) -> Grid {
        let windows =
            Some(Buckets { width_ns, offset_ns, zone: zone.map(Into::into), whole: false });
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
                windows: Some(Buckets { width_ns: 0, offset_ns: 0, zone: None, whole: false }),
                order_by: [].into(),
                group_by: [].into(),
                descending: false,
                ordered: true,
            })
            .is_err()
        );
    }

    #[test]
    fn a_window_holds_its_time_whenever_clocks_are_shifted() {
        let minutes_ns = HOUR_NS / 60;
        for (zone, shift_ns) in [
            (Some("Europe/Berlin"), 1_761_440_400_000_000_000),
            (Some("Europe/Berlin"), 1_743_296_400_000_000_000),
            (Some("America/New_York"), 1_762_063_200_000_000_000),
            (Some("Australia/Lord_Howe"), 1_743_865_200_000_000_000),
            (None, TIME_MIN_NS + 60 * HOUR_NS),
            (None, TIME_MAX_NS - 60 * HOUR_NS),
        ] {
            for width in [30, 60, 120, 360, 720, 1_440, 10_080] {
                for offset in [-360, 0, 30, 60, 180, 360, 600, 5_760] {
                    let grid = grid(width * minutes_ns, offset * minutes_ns, zone);
                    for step in -360..360 {
                        let time_ns = shift_ns + step * 10 * minutes_ns;
                        let (start_ns, end_ns) = grid.window(time_ns);
                        let said = format!("{zone:?} {width} {offset} {time_ns}");
                        assert!(start_ns <= time_ns && time_ns < end_ns, "{said}");
                        assert!(
                            end_ns.saturating_sub(start_ns) < 2 * width * minutes_ns + 1,
                            "{said}"
                        );
                    }
                }
            }
        }
        for time_ns in [i64::MIN, i64::MIN + 3, TIME_MIN_NS, TIME_MAX_NS - 1] {
            let (start_ns, end_ns) = grid(24 * HOUR_NS, 6 * HOUR_NS, None).window(time_ns);
            assert!(start_ns <= time_ns && time_ns < end_ns, "{time_ns}");
        }
    }

    /// Counted by `InfluxDB` 1.6.7 over a sample each quarter of an hour: where its windows begin.
    #[test]
    fn windows_with_an_offset_are_cut_as_those_without_one() {
        let minute_ns = HOUR_NS / 60;
        let begin = |zone: &str, width: i64, offset: i64, times: [&str; 2]| {
            let grid = grid(width * minute_ns, offset * minute_ns, Some(zone));
            times.map(|time| {
                let time: Timestamp = time.parse().unwrap();
                let (start_ns, _) = grid.window(time.as_nanosecond() as i64);
                Timestamp::from_nanosecond(i128::from(start_ns)).unwrap().to_string()
            })
        };
        let day = 1_440;
        assert_eq!(
            begin("Africa/Casablanca", day, 720, ["2025-02-22T18:30:00Z", "2025-02-23T11:15:00Z"],),
            ["2025-02-22T11:00:00Z", "2025-02-23T11:00:00Z"]
        );
        assert_eq!(
            begin("America/New_York", 300, 120, ["2025-03-09T08:00:00Z", "2025-03-09T12:15:00Z"]),
            ["2025-03-09T08:00:00Z", "2025-03-09T12:00:00Z"]
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
