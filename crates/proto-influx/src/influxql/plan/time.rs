//! Times as they are written in conditions.

use super::PlanError;
use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// Whether a text looks like a time, so that it is taken for one beside other times.
pub(super) fn looks_like_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 10
        && bytes.iter().take(10).enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// `2006-01-02`, `2006-01-02 15:04:05.999999` or RFC 3339, in local time of `zone` unless it says
/// otherwise. As Go reads them: there are no leap seconds, an hour may have one digit, and a comma
/// may stand before a fraction.
pub(super) fn parse_time(text: &str, zone: &TimeZone) -> Result<i128, PlanError> {
    let invalid = || PlanError::new("invalid timestamp string");
    let local = |time: DateTime| match zone.to_ambiguous_zoned(time).compatible() {
        Ok(zoned) => Ok(zoned.timestamp().as_nanosecond()),
        // The last day that can be written is not one of all zones.
        Err(_) => Ok(since_epoch_ns(time)),
    };
    let date = text.get(..10).and_then(date).ok_or_else(invalid)?;
    if text.len() == 10 {
        return local(DateTime::from_parts(date, Time::midnight()));
    }
    let (separator, rest) = (text.as_bytes().get(10), text.get(11..).ok_or_else(invalid)?);
    let begins_offset = |byte: u8| matches!(byte, b'Z' | b'+' | b'-');
    let (clock_text, offset) = match rest.bytes().position(begins_offset) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let clock_text = match separator {
        Some(b' ') if offset.is_empty() => clock_text.trim_start_matches(' '),
        Some(b'T') if !offset.is_empty() => clock_text,
        _ => return Err(invalid()),
    };
    let time = DateTime::from_parts(date, clock(clock_text).ok_or_else(invalid)?);
    if offset.is_empty() {
        return local(time);
    }
    let seconds = if offset == "Z" { 0 } else { offset_seconds(offset).ok_or_else(invalid)? };
    Ok(since_epoch_ns(time) - i128::from(seconds) * 1_000_000_000)
}

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The instant of a time in UTC.
fn since_epoch_ns(time: DateTime) -> i128 {
    time.duration_since(EPOCH).as_nanos()
}

/// `2006-01-02`
fn date(text: &str) -> Option<Date> {
    let [year @ .., b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else { return None };
    let (year, month, day) = (number(year)?, number(&[*m1, *m2])?, number(&[*d1, *d2])?);
    Date::new(year as i16, month as i8, day as i8).ok().filter(|_| text.len() == 10)
}

/// `15:04:05`, maybe with up to nine digits of a fraction.
fn clock(text: &str) -> Option<Time> {
    let (hour, rest) = text.as_bytes().split_at_checked(text.find(':')?)?;
    let (clock, fraction) = rest.split_at_checked(6)?;
    let [b':', m1, m2, b':', s1, s2] = clock else { return None };
    let nanos = match fraction {
        [] => 0,
        [b'.' | b',', fraction @ ..] => {
            let missing = 9_u32.checked_sub(fraction.len() as u32)?;
            number(fraction)? * 10_i32.pow(missing)
        }
        _ => return None,
    };
    let hour = number(hour).filter(|_| hour.len() <= 2)?;
    let (minute, second) = (number(&[*m1, *m2])?, number(&[*s1, *s2])?);
    Time::new(hour as i8, minute as i8, second as i8, nanos).ok()
}

/// The number that up to nine digits are.
fn number(text: &[u8]) -> Option<i32> {
    let add = |number: i32, digit: &u8| {
        digit.is_ascii_digit().then(|| number * 10 + i32::from(*digit - b'0'))
    };
    match text.len() {
        1..=9 => text.iter().try_fold(0, add),
        _ => None,
    }
}

/// `+07:00`
fn offset_seconds(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |text: &str| text.parse::<i64>().ok().filter(|_| text.len() == 2);
    Some(sign * (number(hours)? * 3600 + number(minutes)? * 60))
}

/// A time as RFC 3339 has it, for messages.
pub(super) fn format_time(time_ns: i128) -> String {
    let seconds = i64::try_from(time_ns.div_euclid(1_000_000_000)).unwrap_or_default();
    match EPOCH.checked_add(SignedDuration::from_secs(seconds)) {
        Ok(time) => format!("{time}Z"),
        Err(_) => time_ns.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_three_forms() {
        let utc = TimeZone::UTC;
        for (text, time_ns) in [
            ("2000-01-01", 946_684_800_000_000_000),
            ("2000-01-01 00:00:01", 946_684_801_000_000_000),
            ("2000-01-01 00:00:01.5", 946_684_801_500_000_000),
            ("2000-01-01T00:00:01Z", 946_684_801_000_000_000),
            ("2000-01-01T00:00:01.000000001Z", 946_684_801_000_000_001),
            ("2000-01-01T01:00:01+01:00", 946_684_801_000_000_000),
            ("2000-01-01T0:00:01Z", 946_684_801_000_000_000),
            ("2000-01-01  0:00:01,5", 946_684_801_500_000_000),
            ("9999-12-31", 253_402_214_400_000_000_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799_000_000_000),
        ] {
            assert!(looks_like_time(text));
            assert_eq!(parse_time(text, &utc).unwrap(), time_ns, "{text}");
        }
        for text in ["2000-13-01", "2000-01-01T", "2000-01-01T00:00:00", "2000-01-01 00:00"] {
            assert_eq!(parse_time(text, &utc).unwrap_err().to_string(), "invalid timestamp string");
        }
        for text in ["2000-01-01T00:00:00.1234567891Z", "2000-02-30", "2000-01-01T24:00:00Z"] {
            assert!(parse_time(text, &utc).is_err(), "{text}");
        }
        assert!(!looks_like_time("now") && !looks_like_time("2000/01/01"));
        let zone = TimeZone::get("America/New_York").unwrap();
        assert_eq!(parse_time("2000-01-01", &zone).unwrap(), 946_702_800_000_000_000);
    }

    /// The library, which reads more forms than these, is slower by the time of a small answer.
    #[test]
    fn times_are_those_that_the_library_reads() {
        let years = ["0000", "0001", "1677", "1969", "1970", "2000", "2023", "2100", "9999"];
        let days =
            ["01-01", "02-28", "02-29", "02-30", "04-31", "12-31", "13-01", "00-10", "01-00"];
        let clocks = [
            "00:00:00",
            "23:59:59",
            "23:59:60",
            "23:59:61",
            "24:00:00",
            "12:60:00",
            "12:30:15.5",
            "12:30:15.000000001",
            "12:30:15.123456789",
            "12:30:60.25",
        ];
        for year in years {
            for (day, clock) in days.iter().flat_map(|day| clocks.map(|clock| (day, clock))) {
                let text = format!("{year}-{day}T{clock}Z");
                // The library knows leap seconds, InfluxDB does not.
                let expected = text.trim_end_matches('Z').parse::<DateTime>().ok();
                let expected = expected.filter(|_| clock.get(6..8) != Some("60"));
                let expected = expected.map(|time| time.duration_since(EPOCH).as_nanos());
                assert_eq!(parse_time(&text, &TimeZone::UTC).ok(), expected, "{text}");
            }
        }
    }
}
