//! Times as they are written in conditions.

use super::PlanError;
use jiff::civil::{Date, DateTime};
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
/// otherwise.
pub(super) fn parse_time(text: &str, zone: &TimeZone) -> Result<i128, PlanError> {
    let invalid = || PlanError::new("invalid timestamp string");
    let local = |time: DateTime| {
        let zoned = zone.to_ambiguous_zoned(time).compatible().map_err(|_| invalid())?;
        Ok(zoned.timestamp().as_nanosecond())
    };
    if text.len() == 10 {
        let date: Date = text.parse().map_err(|_| invalid())?;
        return local(date.to_datetime(jiff::civil::Time::midnight()));
    }
    let separator = text.as_bytes().get(10);
    let (date, rest) = (text.get(..10), text.get(11..));
    let (Some(date), Some(rest)) = (date, rest) else { return Err(invalid()) };
    let (clock, offset) = match rest.find(['Z', '+', '-']) {
        Some(at) => (rest.get(..at).unwrap_or_default(), rest.get(at..)),
        None => (rest, None),
    };
    let is_known = matches!((separator, offset), (Some(b' '), None) | (Some(b'T'), Some(_)));
    if !is_known || !is_clock(clock) {
        return Err(invalid());
    }
    let time: DateTime = format!("{date}T{clock}").parse().map_err(|_| invalid())?;
    match offset {
        None => local(time),
        Some("Z") => {
            Ok(time.to_zoned(TimeZone::UTC).map_err(|_| invalid())?.timestamp().as_nanosecond())
        }
        Some(offset) => {
            let seconds = offset_seconds(offset).ok_or_else(invalid)?;
            let zoned = time.to_zoned(TimeZone::UTC).map_err(|_| invalid())?;
            Ok(zoned.timestamp().as_nanosecond() - i128::from(seconds) * 1_000_000_000)
        }
    }
}

/// `15:04:05` and maybe a fraction.
fn is_clock(text: &str) -> bool {
    let (clock, fraction) = text.split_once('.').map_or((text, "0"), |parts| parts);
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = clock.split(':').collect();
    parts.len() == 3
        && parts.iter().all(|part| part.len() == 2 && is_number(part))
        && is_number(fraction)
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
    match jiff::Timestamp::from_second(seconds) {
        Ok(time) => time.to_string(),
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
        ] {
            assert!(looks_like_time(text));
            assert_eq!(parse_time(text, &utc).unwrap(), time_ns, "{text}");
        }
        for text in ["2000-13-01", "2000-01-01T", "2000-01-01T00:00:00", "2000-01-01 00:00"] {
            assert_eq!(parse_time(text, &utc).unwrap_err().to_string(), "invalid timestamp string");
        }
        assert!(!looks_like_time("now") && !looks_like_time("2000/01/01"));
        let zone = TimeZone::get("America/New_York").unwrap();
        assert_eq!(parse_time("2000-01-01", &zone).unwrap(), 946_702_800_000_000_000);
    }
}
