//! Times and lengths of time as texts write them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use std::sync::Arc;

/// The name of a time zone as IANA spells it; nothing where it has none such.
pub(crate) fn zone(name: &str) -> Option<Arc<str>> {
    let zone = TimeZone::get(name.trim()).ok().filter(|zone| !zone.is_unknown())?;
    Some(zone.iana_name().unwrap_or(name).into())
}

const SECOND_NS: i128 = 1_000_000_000;
const DAY_NS: i128 = 86_400 * SECOND_NS;

/// The instant of a text, in nanoseconds since 1970: RFC 3339, a date, or a date and a time of the
/// day, which is in UTC unless it says otherwise.
pub(crate) fn instant(text: &str) -> Option<i64> {
    let text = text.trim();
    let instant = match text.parse::<Timestamp>() {
        Ok(instant) => instant,
        Err(_) => match text.parse::<Zoned>() {
            Ok(zoned) => zoned.timestamp(),
            Err(_) => text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp(),
        },
    };
    i64::try_from(instant.as_nanosecond()).ok()
}

/// So many months later, at the last day of a month that is shorter.
pub(crate) fn months_later(time_ns: i64, months: i32) -> Option<i64> {
    let at = TimeZone::UTC.to_datetime(Timestamp::from_nanosecond(time_ns.into()).ok()?);
    let month = i32::from(at.year()) * 12 + i32::from(at.month()) - 1 + months;
    let year = i16::try_from(month.div_euclid(12)).ok()?;
    let first = Date::new(year, (month.rem_euclid(12) + 1) as i8, 1).ok()?;
    let day = at.day().min(first.days_in_month());
    let date = Date::new(year, first.month(), day).ok()?;
    let later = DateTime::from_parts(date, at.time()).to_zoned(TimeZone::UTC).ok()?;
    i64::try_from(later.timestamp().as_nanosecond()).ok()
}

/// A length of time: months, whose days are not all as many, and nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Length {
    pub(crate) months: i32,
    pub(crate) nanos: i64,
}

/// The length that a text says, such as `1 day 02:30:00`, `5m` or `90`, which are seconds unless
/// `unit` says what they are.
pub(crate) fn length(text: &str, unit: Option<&str>) -> Option<Length> {
    let (mut months, mut nanos) = (0i128, 0i128);
    let mut words = words(text).into_iter().peekable();
    words.peek()?;
    while let Some(word) = words.next() {
        if word.contains(':') {
            nanos = nanos.checked_add(clock(&word)?)?;
            continue;
        }
        let (number, decimals) = number(&word)?;
        let named = match words.peek() {
            Some(next) if next.starts_with(|c: char| c.is_alphabetic() || c == 'µ') => {
                words.next()
            }
            _ => None,
        };
        let named = named.as_deref().or(unit).unwrap_or("second");
        match unit_of(named)? {
            Unit::Months(of) => {
                let months_of = number.checked_mul(of.into())?;
                if months_of % decimals != 0 {
                    return None;
                }
                months = months.checked_add(months_of / decimals)?;
            }
            Unit::Nanos(of) => nanos = nanos.checked_add(number.checked_mul(of)? / decimals)?,
        }
    }
    Some(Length { months: months.try_into().ok()?, nanos: nanos.try_into().ok()? })
}

/// Numbers and words of a text, which need not stand apart.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    for c in text.chars() {
        let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ':' | '-' | '+');
        let goes_on = !before.is_whitespace() && is_number(c) == is_number(before);
        match words.last_mut() {
            Some(word) if goes_on && !c.is_whitespace() => word.push(c),
            _ if !c.is_whitespace() => words.push(c.to_string()),
            _ => {}
        }
        before = c;
    }
    words
}

/// A decimal number as a whole one over a power of ten.
fn number(word: &str) -> Option<(i128, i128)> {
    let (whole, fraction) = word.split_once('.').unwrap_or((word, ""));
    if whole.len() + fraction.len() > 25 || fraction.starts_with(['-', '+']) {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    Some((digits, 10i128.checked_pow(fraction.len().try_into().ok()?)?))
}

/// `hours:minutes[:seconds]`
fn clock(word: &str) -> Option<i128> {
    let (sign, word) = match word.strip_prefix('-') {
        Some(word) => (-1, word),
        None => (1, word),
    };
    let mut nanos = 0i128;
    for (part, unit) in word.split(':').zip([3600 * SECOND_NS, 60 * SECOND_NS, SECOND_NS]) {
        let (number, decimals) = number(part)?;
        nanos = nanos.checked_add(number.checked_mul(unit)? / decimals)?;
    }
    (word.matches(':').count() < 3).then_some(sign * nanos)
}

enum Unit {
    Months(i32),
    Nanos(i128),
}

fn unit_of(word: &str) -> Option<Unit> {
    Some(match &*word.to_lowercase() {
        "ns" | "nanosecond" | "nanoseconds" => Unit::Nanos(1),
        "us" | "µs" | "usec" | "microsecond" | "microseconds" => Unit::Nanos(1_000),
        "ms" | "msec" | "millisecond" | "milliseconds" => Unit::Nanos(1_000_000),
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Nanos(SECOND_NS),
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Nanos(60 * SECOND_NS),
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Nanos(3600 * SECOND_NS),
        "d" | "day" | "days" => Unit::Nanos(DAY_NS),
        "w" | "week" | "weeks" => Unit::Nanos(7 * DAY_NS),
        "mon" | "mons" | "month" | "months" => Unit::Months(1),
        "quarter" | "quarters" => Unit::Months(3),
        "y" | "year" | "years" => Unit::Months(12),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_written_in_many_ways() {
        let nanos = |nanos: i128| Some(Length { months: 0, nanos: nanos as i64 });
        for (text, expected) in [
            ("1 minute", nanos(60 * SECOND_NS)),
            ("5m", nanos(300 * SECOND_NS)),
            ("90", nanos(90 * SECOND_NS)),
            ("1.5 hours", nanos(5400 * SECOND_NS)),
            ("1 day 02:30:00", nanos(DAY_NS + 9000 * SECOND_NS)),
            ("-1 week", nanos(-7 * DAY_NS)),
            ("00:00:00.25", nanos(250_000_000)),
            ("1h30m", nanos(5400 * SECOND_NS)),
            ("250ms", nanos(250_000_000)),
            ("1 year 2 months", Some(Length { months: 14, nanos: 0 })),
            ("0.5 years", Some(Length { months: 6, nanos: 0 })),
            ("0.3 months", None),
            ("1 fortnight", None),
            ("", None),
            ("minute", None),
            ("300000 years", None),
            ("9999999999999999999999999999 s", None),
        ] {
            let found = length(text, None);
            assert_eq!(found.filter(|l| l.months < 1_000_000), expected, "{text}");
        }
        assert_eq!(length("5", Some("MINUTE")), nanos(300 * SECOND_NS));
    }

    #[test]
    fn zones_have_names() {
        for (name, expected) in [
            ("Europe/Berlin", Some("Europe/Berlin")),
            ("europe/BERLIN", Some("Europe/Berlin")),
            ("Etc/GMT-3", Some("Etc/GMT-3")),
            ("UTC", Some("UTC")),
            ("UTC+3", None),
            ("+03:00", None),
            ("Etc/Unknown", None),
            ("", None),
        ] {
            assert_eq!(zone(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn instants_are_in_utc_unless_they_say_otherwise() {
        for (text, expected) in [
            ("1970-01-01T00:00:01Z", Some(1_000_000_000)),
            ("1970-01-01 00:00:01.5", Some(1_500_000_000)),
            ("1970-01-02", Some(86_400_000_000_000)),
            ("1970-01-01T01:00:00+01:00", Some(0)),
            ("yesterday", None),
            ("9999-01-01", None),
        ] {
            assert_eq!(instant(text), expected, "{text}");
        }
        let end_of_january = instant("2026-01-31 12:00:00").unwrap();
        assert_eq!(months_later(end_of_january, 1), instant("2026-02-28 12:00:00"));
        assert_eq!(months_later(end_of_january, -2), instant("2025-11-30 12:00:00"));
    }
}
