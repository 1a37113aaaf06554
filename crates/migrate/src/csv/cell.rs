//! What single cells are: numbers, and times.

use super::Precision;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// Letters of a cell that are shown of it.
const SHOWN_CHARS: usize = 40;

/// The beginning of a cell, for messages.
pub(super) fn shown(text: &str) -> &str {
    text.char_indices().nth(SHOWN_CHARS).and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

/// Whether a text is a number as programs write it.
pub(super) fn is_number(text: &str) -> bool {
    // What Rust reads besides, as "nan" and "infinity", begins with a letter.
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    bare.starts_with(|sign: char| sign.is_ascii_digit() || sign == '.')
        && text.parse::<f64>().is_ok()
}

/// Whether a text is a whole number.
pub(super) fn is_whole(text: &str) -> bool {
    let bare = text.strip_prefix('-').unwrap_or(text);
    !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is true or false.
pub(super) fn truth(text: &str) -> Option<bool> {
    text.to_ascii_lowercase().parse().ok()
}

/// Whether a text is a number that has commas, between its thousands or before its decimals.
pub(super) fn has_commas(text: &str) -> bool {
    let bare = text.strip_prefix(['-', '+']).unwrap_or(text);
    bare.starts_with(|sign: char| sign.is_ascii_digit())
        && bare.contains(',')
        && bare.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'.'))
}

/// The time of a cell in nanoseconds: a date, or a number that counts so.
///
/// # Errors
/// When it is none.
pub(super) fn time_ns(text: &str, precision: Precision) -> Result<i64, String> {
    let shown = shown(text);
    let ns = match number_ns(text, precision) {
        Some(ns) => ns,
        None => date_ns(text).ok_or_else(|| {
            format!(
                "{shown:?} is no time: write it as 2026-01-31T10:00:00Z, as 2026-01-31 10:00:00 in \
                 UTC, or as a number since 1970"
            )
        })?,
    };
    i64::try_from(ns).map_err(|_| format!("{shown:?} is too far away for nanoseconds"))
}

/// The time that a decimal number is, whose digits below nanoseconds are cut.
fn number_ns(text: &str, precision: Precision) -> Option<i128> {
    let (is_negative, bare) = match text.strip_prefix('-') {
        Some(bare) => (true, bare),
        None => (false, text),
    };
    let (whole, part) = bare.split_once('.').unwrap_or((bare, ""));
    // More digits than that are no time, in any precision.
    let is_plain = is_whole(whole) && !whole.starts_with('-') && whole.len() <= 20;
    if !is_plain || !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = precision.digits();
    let part = part.get(..digits.min(part.len()))?;
    let number: i128 = format!("{whole}{part:0<digits$}").parse().ok()?;
    Some(if is_negative { -number } else { number })
}

/// The time of a date: of RFC 3339, or with a blank before its hours. One that names no zone is in
/// UTC.
pub(super) fn date_ns(text: &str) -> Option<i128> {
    const DATE: usize = "2026-01-31".len();
    const NANOS: i128 = 1_000_000_000;
    let (clock, offset_seconds) = match text.strip_suffix(['Z', 'z']).or(text.strip_suffix("UTC")) {
        Some(clock) => (clock, 0),
        None => match text.get(DATE..)?.rfind(['+', '-']).map(|at| text.split_at(DATE + at)) {
            Some((clock, offset)) => (clock, offset_seconds(offset)?),
            None => (text, 0),
        },
    };
    let clock = clock.trim_end();
    // No other way to write a date, as with the name of a zone, which would not be heeded.
    let is_plain = clock.bytes().enumerate().all(|(at, byte)| match byte {
        b'-' => at < DATE,
        b'T' | b't' | b' ' => at == DATE,
        b':' | b'.' => at > DATE,
        byte => byte.is_ascii_digit(),
    });
    if !is_plain || clock.len() < DATE {
        return None;
    }
    let at: DateTime = clock.parse().ok()?;
    let at = at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond();
    Some(at - i128::from(offset_seconds) * NANOS)
}

/// How far a clock is before UTC: `+02:00`, `+0200` or `+02`.
fn offset_seconds(text: &str) -> Option<i32> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("-", rest) => (-1, rest),
        (_, rest) => (1, rest),
    };
    let digits = rest.replacen(':', "", 1);
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "0"),
        4 => digits.split_at_checked(2)?,
        _ => return None,
    };
    let (hours, minutes): (u8, u8) = (hours.parse().ok()?, minutes.parse().ok()?);
    let is_clock = hours < 24 && minutes < 60 && is_whole(&digits);
    is_clock.then(|| sign * (i32::from(hours) * 60 + i32::from(minutes)) * 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_to_the_nanosecond() {
        const SECOND: i128 = 1_000_000_000;
        let noon = 1_769_853_600 * SECOND;
        for (text, expected) in [
            ("2026-01-31T10:00:00Z", Some(noon)),
            ("2026-01-31t10:00:00z", Some(noon)),
            ("2026-01-31 10:00:00", Some(noon)),
            ("2026-01-31 10:00", Some(noon)),
            ("2026-01-31 10:00:00 UTC", Some(noon)),
            ("2026-01-31 12:00:00+02:00", Some(noon)),
            ("2026-01-31 12:00:00 +0200", Some(noon)),
            ("2026-01-31T04:30:00-05:30", Some(noon)),
            ("2026-01-31 10:00:00.123456789", Some(noon + 123_456_789)),
            ("2026-01-31T10:00:00.5Z", Some(noon + SECOND / 2)),
            ("1969-12-31T23:59:59.999999999Z", Some(-1)),
            ("2026-01-31", Some(noon - 36_000 * SECOND)),
            ("2026-02-30", None),
            ("2026-01-31T10:00:00[Europe/Berlin]", None),
            ("2026-01-31T10:00:00+99:00", None),
            ("2026-01-31T10:00:00+", None),
            ("20260131T100000Z", None),
            ("31.01.2026", None),
            ("2026-01", None),
            ("10:00:00", None),
            ("é026-01-31T10:00:00Z", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(date_ns(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_times_in_their_precision() {
        for (text, precision, expected) in [
            ("1", Precision::Seconds, Some(1_000_000_000)),
            ("-1.5", Precision::Seconds, Some(-1_500_000_000)),
            ("1.0000000019", Precision::Seconds, Some(1_000_000_001)),
            ("1.5", Precision::Milliseconds, Some(1_500_000)),
            ("7", Precision::Microseconds, Some(7_000)),
            ("7.9", Precision::Nanoseconds, Some(7)),
            ("9223372036854775807", Precision::Nanoseconds, Some(i64::MAX)),
            ("9223372036854775808", Precision::Nanoseconds, None),
            ("99999999999999999999", Precision::Seconds, None),
            ("999999999999999999999", Precision::Seconds, None),
            ("1e9", Precision::Seconds, None),
            ("--1", Precision::Seconds, None),
            ("1.x", Precision::Seconds, None),
        ] {
            assert_eq!(time_ns(text, precision).ok(), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_those_that_programs_write() {
        for text in ["1", "-1.5", "+.5", "1e5", "1E-5", "1.", "00"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "-", "nan", "-inf", "Infinity", "1,5", "0x10", "1_000", " 1", "1 m"] {
            assert!(!is_number(text), "{text}");
        }
        assert!(is_whole("-07") && !is_whole("1.0") && !is_whole("+1") && !is_whole("-"));
        for text in ["1,5", "-1.234,5", "1,234.5"] {
            assert!(has_commas(text), "{text}");
        }
        for text in ["15", ",5", "a,5", "1,a"] {
            assert!(!has_commas(text), "{text}");
        }
    }
}
