//! Calendar windows: runs of units in the local time of a zone, aware of daylight saving.
//!
//! 1. The count begins at an anchor: the start of the minute, hour, day or month for the small
//!    units, 1 January for days and months, see [`foliot_plan::Windows::Calendar`].
//! 2. Small units have a fixed length, so their windows are steps of absolute time from the anchor:
//!    a day of 23 hours has a shorter last window.
//! 3. Days, weeks, months and years are civil dates; their windows lie between local midnights. A
//!    midnight that a zone skips becomes the first instant after it.
//! 4. A window ends at the latest where the next anchor is.

use crate::Error;
use foliot_model::{NANOS_PER_MILLI, NANOS_PER_SECOND, TimeRange};
use foliot_plan::Calendar;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// Windows of `count` calendar units.
#[derive(Clone, Debug)]
pub(crate) struct Calendars {
    count: i64,
    unit: Calendar,
    zone: TimeZone,
    first_year: i16,
}

impl Calendars {
    pub(super) fn new(count: u32, unit: Calendar, zone: &str) -> Result<Self, Error> {
        if count == 0 {
            return Err(Error::Plan("a calendar window of no units has no length".into()));
        }
        let zone = TimeZone::get(zone)
            .map_err(|error| Error::Plan(format!("time zone '{zone}': {error}")))?;
        Ok(Self { count: i64::from(count), unit, zone, first_year: 1970 })
    }

    pub(super) fn counts_from_first_sample(&self) -> bool {
        self.unit == Calendar::Year && self.count > 1
    }

    pub(super) fn begin(&mut self, first_ns: i64) {
        self.first_year = self.local(first_ns).year();
    }

    /// No window but a cut one is shorter than this.
    pub(super) fn shortest_ns(&self) -> i64 {
        let unit = match self.unit {
            Calendar::Millisecond => NANOS_PER_MILLI,
            Calendar::Second => NANOS_PER_SECOND,
            Calendar::Minute => 60 * NANOS_PER_SECOND,
            Calendar::Hour => 3600 * NANOS_PER_SECOND,
            Calendar::Day => 22 * 3600 * NANOS_PER_SECOND,
            Calendar::Week => 6 * 86_400 * NANOS_PER_SECOND,
            Calendar::Month => 27 * 86_400 * NANOS_PER_SECOND,
            Calendar::Year => 364 * 86_400 * NANOS_PER_SECOND,
        };
        // A window cut at an anchor comes at most once per anchor's period, so on average windows
        // are at least half as long as they should be.
        unit.saturating_mul(self.count) / 2
    }

    pub(super) fn containing(&self, time_ns: i64) -> TimeRange {
        match self.unit {
            Calendar::Day | Calendar::Week | Calendar::Month | Calendar::Year => {
                self.dates(time_ns)
            }
            _ => self.steps(time_ns),
        }
    }

    /// Windows of fixed length, counted from the anchor before them.
    fn steps(&self, time_ns: i64) -> TimeRange {
        const MINUTE_NS: i64 = 60 * NANOS_PER_SECOND;
        const HOUR_NS: i64 = 60 * MINUTE_NS;
        let divides = |length: i64| length % self.count == 0;
        let (unit_ns, anchored) = match self.unit {
            Calendar::Millisecond if divides(1000) => {
                (NANOS_PER_MILLI, self.within(time_ns, NANOS_PER_SECOND))
            }
            Calendar::Millisecond => (NANOS_PER_MILLI, self.within(time_ns, MINUTE_NS)),
            Calendar::Second if divides(60) => (NANOS_PER_SECOND, self.within(time_ns, MINUTE_NS)),
            Calendar::Second => (NANOS_PER_SECOND, self.within(time_ns, HOUR_NS)),
            Calendar::Minute if divides(60) => (MINUTE_NS, self.within(time_ns, HOUR_NS)),
            Calendar::Minute => (MINUTE_NS, self.day(time_ns)),
            _ if divides(24) => (HOUR_NS, self.day(time_ns)),
            _ => (HOUR_NS, self.month(time_ns)),
        };
        let width_ns = unit_ns.saturating_mul(self.count);
        let inside_ns = time_ns.saturating_sub(anchored.start_ns).rem_euclid(width_ns);
        let start_ns = time_ns.saturating_sub(inside_ns);
        let end_ns = start_ns.saturating_add(width_ns - 1);
        // A zone that once set its clocks back over midnight lived some minutes of a date twice.
        TimeRange::new(start_ns, end_ns.min(anchored.end_ns.max(time_ns)))
    }

    /// The run of `length_ns`, whole by the local clock, that `time_ns` lies in. Runs are cut where
    /// the clock was changed, which mostly is where one begins anyway.
    fn within(&self, time_ns: i64, length_ns: i64) -> TimeRange {
        let timestamp = timestamp(time_ns);
        let offset = i64::from(self.zone.to_offset(timestamp).seconds()) * NANOS_PER_SECOND;
        let inside_ns = (i128::from(time_ns) + i128::from(offset)).rem_euclid(length_ns.into());
        let start_ns = time_ns.saturating_sub(inside_ns as i64);
        let end_ns = start_ns.saturating_add(length_ns - 1);
        let change_ns = |at: Timestamp| saturated(at.as_nanosecond());
        let mut before = self.zone.preceding(timestamp_after(time_ns));
        let mut after = self.zone.following(timestamp);
        TimeRange::new(
            before.next().map_or(start_ns, |t| start_ns.max(change_ns(t.timestamp()))),
            after.next().map_or(end_ns, |t| end_ns.min(change_ns(t.timestamp()) - 1)),
        )
    }

    fn day(&self, time_ns: i64) -> TimeRange {
        let date = self.local(time_ns).date();
        self.between(date, plus_days(date, 1))
    }

    fn month(&self, time_ns: i64) -> TimeRange {
        let first = self.local(time_ns).date().first_of_month();
        self.between(first, plus_months(first, 1))
    }

    /// Windows between local midnights.
    fn dates(&self, time_ns: i64) -> TimeRange {
        let date = self.local(time_ns).date();
        let new_year = Date::new(date.year(), 1, 1).unwrap_or(date);
        let next_year = plus_months(new_year, 12);
        let n = self.count;
        let (start, end) = match self.unit {
            Calendar::Day => {
                let day = i64::from(date.day_of_year()) - 1;
                let start = plus_days(new_year, day - day % n);
                (start, plus_days(start, n).min(next_year))
            }
            Calendar::Week => {
                // Sunday, 28 December 1969, is where weeks are counted from.
                let sunday = Date::new(1969, 12, 28).unwrap_or(date);
                let days = days_between(sunday, date);
                let start = plus_days(date, -days.rem_euclid(7 * n));
                (start, plus_days(start, 7 * n))
            }
            Calendar::Month => {
                let month = i64::from(date.month()) - 1;
                let start = plus_months(new_year, month - month % n);
                (start, plus_months(start, n).min(next_year))
            }
            _ => {
                let year = i64::from(date.year() - self.first_year);
                let start = plus_months(new_year, -12 * year.rem_euclid(n));
                (start, plus_months(start, 12 * n))
            }
        };
        self.between(start, end)
    }

    /// From the first instant of one date to the last before another.
    fn between(&self, start: Date, end: Date) -> TimeRange {
        TimeRange::new(self.midnight(start), self.midnight(end).saturating_sub(1))
    }

    fn local(&self, time_ns: i64) -> DateTime {
        self.zone.to_datetime(timestamp(time_ns))
    }

    /// The first instant of a date.
    fn midnight(&self, date: Date) -> i64 {
        let instant = self.zone.to_zoned(date.to_datetime(jiff::civil::Time::midnight()));
        instant.map_or(i64::MAX, |zoned| saturated(zoned.timestamp().as_nanosecond()))
    }
}

/// Every i64 of nanoseconds lies inside what a timestamp can be.
fn timestamp(time_ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(time_ns)).unwrap_or_default()
}

/// The instant after, because what precedes an instant does not include it.
fn timestamp_after(time_ns: i64) -> Timestamp {
    timestamp(time_ns.saturating_add(1))
}

fn saturated(ns: i128) -> i64 {
    ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

fn plus_days(date: Date, days: i64) -> Date {
    let span = Span::new().try_days(days);
    span.and_then(|span| date.checked_add(span)).unwrap_or(Date::MAX)
}

fn plus_months(date: Date, months: i64) -> Date {
    let span = Span::new().try_months(months);
    span.and_then(|span| date.checked_add(span)).unwrap_or(Date::MAX)
}

fn days_between(from: Date, to: Date) -> i64 {
    from.until(to).map_or(0, |span| i64::from(span.get_days()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(count: u32, unit: Calendar, zone: &str, at: &str) -> (String, i64) {
        let time_ns = at.parse::<Timestamp>().unwrap().as_nanosecond() as i64;
        let mut calendars = Calendars::new(count, unit, zone).unwrap();
        calendars.begin(time_ns);
        let window = calendars.containing(time_ns);
        let start = Timestamp::from_nanosecond(i128::from(window.start_ns)).unwrap();
        (start.to_string(), (window.end_ns - window.start_ns + 1) / NANOS_PER_SECOND)
    }

    const HOUR: i64 = 3600;
    const DAY: i64 = 24 * HOUR;

    #[test]
    fn row_44_days_and_months_of_a_zone() {
        let h = "2023-11-14T23:00:00Z";
        let case = |count, unit, zone, start: &str, seconds| {
            assert_eq!(window(count, unit, zone, h), (start.to_owned(), seconds));
        };
        case(1, Calendar::Day, "Asia/Kolkata", "2023-11-14T18:30:00Z", DAY);
        case(1, Calendar::Month, "UTC", "2023-11-01T00:00:00Z", 30 * DAY);
        case(1, Calendar::Day, "UTC", "2023-11-14T00:00:00Z", DAY);
        case(1, Calendar::Week, "UTC", "2023-11-12T00:00:00Z", 7 * DAY);
        case(1, Calendar::Year, "UTC", "2023-01-01T00:00:00Z", 365 * DAY);
        case(3, Calendar::Month, "UTC", "2023-10-01T00:00:00Z", 92 * DAY);
        case(2, Calendar::Year, "UTC", "2023-01-01T00:00:00Z", (365 + 366) * DAY);
    }

    #[test]
    fn days_with_changing_clocks_are_23_or_25_hours_long() {
        let new_york = "America/New_York";
        let spring = window(1, Calendar::Day, new_york, "2024-03-10T12:00:00Z");
        assert_eq!(spring, ("2024-03-10T05:00:00Z".into(), 23 * HOUR));
        let autumn = window(1, Calendar::Day, new_york, "2024-11-03T12:00:00Z");
        assert_eq!(autumn, ("2024-11-03T04:00:00Z".into(), 25 * HOUR));
        // Six-hour windows are steps of absolute time from local midnight, cut by the next one.
        let evening = window(6, Calendar::Hour, new_york, "2024-03-11T03:30:00Z");
        assert_eq!(evening, ("2024-03-10T23:00:00Z".into(), 5 * HOUR));
    }

    #[test]
    fn counts_begin_at_their_anchor() {
        let at = "2024-05-17T13:47:38.250Z";
        let case = |count, unit, start: &str, seconds| {
            assert_eq!(window(count, unit, "UTC", at), (start.to_owned(), seconds));
        };
        case(15, Calendar::Minute, "2024-05-17T13:45:00Z", 900);
        case(7, Calendar::Minute, "2024-05-17T13:46:00Z", 420);
        case(20, Calendar::Second, "2024-05-17T13:47:20Z", 20);
        case(7, Calendar::Second, "2024-05-17T13:47:36Z", 7);
        case(6, Calendar::Hour, "2024-05-17T12:00:00Z", 6 * HOUR);
        case(5, Calendar::Hour, "2024-05-17T11:00:00Z", 5 * HOUR);
        case(7, Calendar::Day, "2024-05-13T00:00:00Z", 7 * DAY);
        case(5000, Calendar::Millisecond, "2024-05-17T13:47:35Z", 5);
        // The 365 days of 2023 end in one window of a single day.
        let end = window(7, Calendar::Day, "UTC", "2023-12-31T10:00:00Z");
        assert_eq!(end, ("2023-12-31T00:00:00Z".into(), DAY));
    }

    #[test]
    fn bad_calendars_are_errors() {
        assert!(Calendars::new(0, Calendar::Day, "UTC").is_err());
        let error = Calendars::new(1, Calendar::Day, "Mars/Olympus").unwrap_err();
        assert!(error.to_string().contains("Mars/Olympus"), "{error}");
    }
}
