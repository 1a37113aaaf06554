//! Times: windows and parts, in UTC or by the clock of a zone, and how they are written.

use crate::Error;
use foliot_model::{Item, NANOS_PER_SECOND};
use foliot_plan::relation::{Bucket, Part, Width};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

/// What clocks show: UTC, or the time of a zone.
pub(super) struct Clock(Option<TimeZone>);

impl Clock {
    /// The clock of a zone, which the door has looked up before.
    pub(super) fn of(zone: Option<&str>) -> Result<Self, Error> {
        let zone = zone.map(|name| {
            TimeZone::get(name).map_err(|error| Error::Plan(format!("time zone '{name}': {error}")))
        });
        Ok(Self(zone.transpose()?))
    }

    /// What it shows at a time, in nanoseconds as if that were UTC.
    pub(super) fn local_ns(&self, time_ns: i64) -> Result<i64, Error> {
        let Some(zone) = &self.0 else { return Ok(time_ns) };
        let ahead_ns = ahead_ns(zone.to_offset(timestamp(time_ns)));
        let text = "the clock of the zone shows a time beyond what nanoseconds can say";
        time_ns.checked_add(ahead_ns).ok_or_else(|| Error::Plan(text.to_owned()))
    }

    /// When it showed this, at `time_ns` or before. Where clocks are set back they show it twice,
    /// and the later one is meant that is not behind the time. Where they are set forward they do
    /// not show it at all: it is when they would have, by the offset before or after.
    fn instant_ns(&self, local_ns: i64, time_ns: i64) -> Option<i64> {
        let Some(zone) = &self.0 else { return Some(local_ns) };
        let of = |offset| local_ns.checked_sub(ahead_ns(offset));
        match zone.to_ambiguous_timestamp(local(local_ns)).offset() {
            AmbiguousOffset::Unambiguous { offset } => of(offset),
            AmbiguousOffset::Gap { before, after } | AmbiguousOffset::Fold { before, after } => {
                let (one, other) = (of(before)?, of(after)?);
                let (earlier_ns, later_ns) = (one.min(other), one.max(other));
                Some(if later_ns <= time_ns { later_ns } else { earlier_ns })
            }
        }
    }
}

fn ahead_ns(offset: Offset) -> i64 {
    i64::from(offset.seconds()) * NANOS_PER_SECOND
}

/// The start of the window that a time lies in.
pub(super) fn window_start(time_ns: i64, bucket: &Bucket, clock: &Clock) -> Result<i64, Error> {
    let start_ns = local_start(clock.local_ns(time_ns)?, bucket)?;
    let start_ns = clock.instant_ns(start_ns, time_ns);
    start_ns.ok_or_else(|| Error::Plan("a window begins beyond all times".to_owned()))
}

/// The start of the window by the clock that shows it.
fn local_start(time_ns: i64, bucket: &Bucket) -> Result<i64, Error> {
    let start_ns = match bucket.width {
        Width::Nanos(width_ns) if width_ns > 0 => {
            let since = i128::from(time_ns) - i128::from(bucket.origin_ns);
            Some(i128::from(time_ns) - since.rem_euclid(i128::from(width_ns)))
        }
        Width::Months(months) if months > 0 => months_start(time_ns, months, bucket.origin_ns),
        _ => None,
    };
    start_ns
        .and_then(|start_ns| i64::try_from(start_ns).ok())
        .ok_or_else(|| Error::Plan("a window begins beyond all times".to_owned()))
}

fn months_start(time_ns: i64, width: i32, origin_ns: i64) -> Option<i128> {
    let (time, origin) = (local(time_ns), local(origin_ns));
    let months = |at: &DateTime| i32::from(at.year()) * 12 + i32::from(at.month());
    let apart = (months(&time) - months(&origin)).div_euclid(width) * width;
    let start = months_later(origin, apart)?;
    // Within the month of the origin a time may lie before its day.
    let start = if start > time { months_later(origin, apart - width)? } else { start };
    Some(start.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond())
}

/// So many months later, at the last day of the month where it has no such day.
fn months_later(from: DateTime, months: i32) -> Option<DateTime> {
    let at = i32::from(from.year()) * 12 + i32::from(from.month()) - 1 + months;
    let year = i16::try_from(at.div_euclid(12)).ok()?;
    let first = Date::new(year, (at.rem_euclid(12) + 1) as i8, 1).ok()?;
    let day = from.day().min(first.days_in_month());
    Some(DateTime::from_parts(Date::new(year, first.month(), day).ok()?, from.time()))
}

fn timestamp(time_ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(time_ns)).unwrap_or_default()
}

fn local(time_ns: i64) -> DateTime {
    TimeZone::UTC.to_datetime(timestamp(time_ns))
}

/// A part of a time.
pub(super) fn part(time_ns: i64, part: Part) -> Item {
    let time = local(time_ns);
    let seconds = f64::from(time.second()) + f64::from(time.subsec_nanosecond()) / 1e9;
    let whole = |number: i64| Item::Integer(number);
    match part {
        Part::Epoch => {
            let whole = time_ns.div_euclid(NANOS_PER_SECOND) as f64;
            Item::Float(whole + time_ns.rem_euclid(NANOS_PER_SECOND) as f64 / 1e9)
        }
        Part::Year => whole(time.year().into()),
        Part::IsoYear => whole(time.date().iso_week_date().year().into()),
        Part::Quarter => whole((i64::from(time.month()) + 2) / 3),
        Part::Month => whole(time.month().into()),
        Part::Week => whole(time.date().iso_week_date().week().into()),
        Part::Day => whole(time.day().into()),
        Part::DayOfYear => whole(time.day_of_year().into()),
        Part::DayOfWeek => whole(time.weekday().to_sunday_zero_offset().into()),
        Part::IsoDayOfWeek => whole(time.weekday().to_monday_one_offset().into()),
        Part::Hour => whole(time.hour().into()),
        Part::Minute => whole(time.minute().into()),
        Part::Second => Item::Float(seconds),
        Part::Milliseconds => Item::Float(seconds * 1e3),
        Part::Microseconds => Item::Float(seconds * 1e6),
    }
}

/// A time as RFC 3339 writes it.
pub(super) fn shown(time_ns: i64) -> String {
    timestamp(time_ns).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The instant of a date, maybe with a time of the day.
    fn parsed(text: &str) -> Option<i64> {
        let at: DateTime = text.trim_end_matches('Z').parse().ok()?;
        Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond() as i64)
    }

    fn start(text: &str, width: Width, origin: &str) -> String {
        let bucket = Bucket { width, origin_ns: parsed(origin).unwrap(), zone: None };
        let clock = Clock::of(None).unwrap();
        shown(window_start(parsed(text).unwrap(), &bucket, &clock).unwrap())
    }

    /// Clocks of Berlin were set forward at 01:00 UTC on 29 March 2026, from two to three, and are
    /// set back at 01:00 UTC on 25 October, from three to two. Those of Havana go from midnight to
    /// one on 8 March at 05:00 UTC, and those of Lord Howe half an hour back on 5 April at 15:00
    /// UTC of the day before, from two to half past one.
    #[test]
    fn windows_lie_by_the_clock_of_their_zone() {
        let hours = |hours: i64| Width::Nanos(hours * 3600 * NANOS_PER_SECOND);
        for (zone, width, time, expected) in [
            ("Europe/Berlin", hours(24), "2026-01-15T22:59:00", "2026-01-14T23:00:00Z"),
            ("Europe/Berlin", hours(24), "2026-01-15T23:00:00", "2026-01-15T23:00:00Z"),
            // Days of 23 and of 25 hours.
            ("Europe/Berlin", hours(24), "2026-03-29T21:59:59", "2026-03-28T23:00:00Z"),
            ("Europe/Berlin", hours(24), "2026-03-29T22:00:00", "2026-03-29T22:00:00Z"),
            ("Europe/Berlin", hours(24), "2026-10-25T22:30:00", "2026-10-24T22:00:00Z"),
            ("Europe/Berlin", Width::Months(1), "2026-07-31T22:30:00", "2026-07-31T22:00:00Z"),
            ("Europe/Berlin", Width::Months(12), "2026-07-31T22:30:00", "2025-12-31T23:00:00Z"),
            // From two to three o'clock twice.
            ("Europe/Berlin", hours(1), "2026-10-25T00:30:00", "2026-10-25T00:00:00Z"),
            ("Europe/Berlin", hours(1), "2026-10-25T01:30:00", "2026-10-25T01:00:00Z"),
            ("Europe/Berlin", hours(6), "2026-10-25T04:30:00", "2026-10-24T22:00:00Z"),
            ("Europe/Berlin", hours(6), "2026-10-25T05:30:00", "2026-10-25T05:00:00Z"),
            // Two o'clock is left out: three is in the window of two.
            ("Europe/Berlin", hours(2), "2026-03-29T01:30:00", "2026-03-29T01:00:00Z"),
            ("America/Havana", hours(24), "2026-03-08T05:30:00", "2026-03-08T05:00:00Z"),
            ("Australia/Lord_Howe", hours(1), "2026-04-04T15:15:00", "2026-04-04T14:00:00Z"),
            ("Asia/Kathmandu", hours(1), "2026-01-01T00:20:00", "2026-01-01T00:15:00Z"),
            ("Etc/GMT-3", hours(24), "2026-01-01T21:00:00", "2026-01-01T21:00:00Z"),
            ("UTC", hours(24), "2026-01-01T21:00:00", "2026-01-01T00:00:00Z"),
        ] {
            let bucket = Bucket { width, origin_ns: 0, zone: Some(zone.into()) };
            let clock = Clock::of(Some(zone)).unwrap();
            let start = window_start(parsed(time).unwrap(), &bucket, &clock).unwrap();
            assert_eq!(shown(start), expected, "{zone} {width:?} {time}");
        }
        let clock = Clock::of(Some("Etc/GMT-3")).unwrap();
        let bucket = Bucket { width: hours(1), origin_ns: 0, zone: None };
        for time_ns in [i64::MIN, i64::MAX] {
            // It begins before all times, or the clock shows one behind them.
            assert!(window_start(time_ns, &bucket, &clock).is_err());
        }
    }

    #[test]
    fn windows_lie_where_their_origin_says() {
        let hour = Width::Nanos(3600 * NANOS_PER_SECOND);
        assert_eq!(start("2026-03-01T10:59:59Z", hour, "1970-01-01"), "2026-03-01T10:00:00Z");
        assert_eq!(start("1969-12-31T23:10:00Z", hour, "1970-01-01"), "1969-12-31T23:00:00Z");
        assert_eq!(
            start("2026-03-01T10:10:00Z", hour, "2026-01-01T00:15:00Z"),
            "2026-03-01T09:15:00Z"
        );
        let quarter = Width::Months(3);
        assert_eq!(start("2026-03-31T23:00:00Z", quarter, "2000-01-01"), "2026-01-01T00:00:00Z");
        assert_eq!(start("1999-12-31T23:00:00Z", quarter, "2000-01-01"), "1999-10-01T00:00:00Z");
        let month = Width::Months(1);
        assert_eq!(start("2026-03-14T00:00:00Z", month, "2000-01-15"), "2026-02-15T00:00:00Z");
        assert_eq!(start("2026-02-28T01:00:00Z", month, "2000-01-31"), "2026-02-28T00:00:00Z");
    }

    #[test]
    fn parts_are_those_of_the_calendar() {
        let of = |wanted| part(parsed("2026-11-28T22:02:09.25Z").unwrap(), wanted);
        let whole = [
            (Part::Year, 2026),
            (Part::IsoYear, 2026),
            (Part::Quarter, 4),
            (Part::Month, 11),
            (Part::Week, 48),
            (Part::Day, 28),
            (Part::DayOfYear, 332),
            (Part::DayOfWeek, 6),
            (Part::IsoDayOfWeek, 6),
            (Part::Hour, 22),
            (Part::Minute, 2),
        ];
        for (wanted, number) in whole {
            assert_eq!(of(wanted), Item::Integer(number), "{wanted:?}");
        }
        assert_eq!(of(Part::Second), Item::Float(9.25));
        assert_eq!(of(Part::Epoch), Item::Float(1_795_903_329.25));
    }
}
