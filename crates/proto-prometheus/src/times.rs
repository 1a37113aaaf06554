//! Times and lengths of time of a question, as Go reads them.

use crate::promql::duration_seconds;
use foliot_model::NANOS_PER_MILLI;

/// Reads a time: seconds as a decimal number, or a date of RFC 3339.
pub fn time_ms(text: &str) -> Option<i64> {
    if let Some(seconds) = number(text) {
        let ms = seconds.trunc() * 1000.0 + (seconds.fract() * 1000.0).round();
        // Beyond this nanoseconds do not reach.
        let is_known = ms.abs() <= (i64::MAX / NANOS_PER_MILLI) as f64;
        return is_known.then_some(ms as i64);
    }
    let time = text.parse::<jiff::Timestamp>().ok().filter(|_| is_date(text))?;
    i64::try_from(time.as_nanosecond()).ok().map(|ns| ns.div_euclid(NANOS_PER_MILLI))
}

/// What Prometheus calls the first and the last time that it knows.
const TIME_MIN: &str = "-292273086-05-16T16:47:06Z";
const TIME_MAX: &str = "292277025-08-18T07:12:54.999999999Z";

/// Where a range that ends beyond all known times ends: at the first or the last of them.
pub fn beyond_ms(text: &str) -> Option<i64> {
    match number(text) {
        Some(seconds) if seconds > 0.0 => Some(i64::MAX),
        Some(seconds) if seconds < 0.0 => Some(i64::MIN),
        _ if text == TIME_MAX => Some(i64::MAX),
        _ if text == TIME_MIN => Some(i64::MIN),
        _ => text
            .parse::<jiff::Timestamp>()
            .ok()
            .filter(|_| is_date(text))
            .map(|time| if time < jiff::Timestamp::UNIX_EPOCH { i64::MIN } else { i64::MAX }),
    }
}

/// Reads a time as VictoriaMetrics takes it: also `now`, and how long before that, such as `-1h`,
/// `1h30m` or `now-1d`.
pub fn time_or_ago_ms(text: &str, now_ms: i64) -> Option<i64> {
    if let Some(known) = time_ms(text) {
        return Some(known);
    }
    let ago = match text.strip_prefix("now") {
        Some("") => return Some(now_ms),
        Some(ago) => ago.strip_prefix('-')?,
        None => text.strip_prefix('-').unwrap_or(text),
    };
    let ago_ms = (duration_seconds(ago)? * 1000.0).round();
    let is_known = ago_ms <= (i64::MAX / NANOS_PER_MILLI) as f64;
    is_known.then(|| now_ms.saturating_sub(ago_ms as i64))
}

/// Reads a length of time: seconds as a decimal number, or a duration such as `1h30m`; in
/// nanoseconds, and what is less than one is left away.
///
/// # Errors
/// Why it is none, in the words of Prometheus.
pub fn length_ns(text: &str) -> Result<i64, String> {
    // Of numbers of their kind the first that is more than the largest.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    let bad = |more| format!("cannot parse \"{text}\" to a valid duration{more}");
    if let Some(seconds) = number(text) {
        let ns = seconds * 1e9;
        return match () {
            () if ns.abs() > BEYOND => Err(bad(". It overflows int64")),
            // What is no number, and the first one that is none, is the smallest to Go.
            () if ns.is_nan() || ns == BEYOND => Ok(i64::MIN),
            () => Ok(ns as i64),
        };
    }
    let ms = duration_seconds(text).map(|seconds| (seconds * 1000.0).round() as i64);
    ms.and_then(|ms| ms.checked_mul(NANOS_PER_MILLI)).ok_or_else(|| bad(""))
}

/// A number as Go reads it, but for hexadecimal ones: underscores may stand between digits, what is
/// too large is none, and what is not a number has no sign.
fn number(text: &str) -> Option<f64> {
    let is_digit = |at: Option<&u8>| at.is_some_and(u8::is_ascii_digit);
    let bytes = text.as_bytes();
    let number: f64 = match bytes.contains(&b'_') {
        false => text.parse().ok()?,
        true => {
            let is_between =
                |at: usize| at > 0 && is_digit(bytes.get(at - 1)) && is_digit(bytes.get(at + 1));
            let mut places = (0..bytes.len()).filter(|at| bytes.get(*at) == Some(&b'_'));
            places.all(is_between).then(|| text.replace('_', ""))?.parse().ok()?
        }
    };
    let is_spelled = || bytes.iter().all(|byte| !byte.is_ascii_digit());
    let is_known = match () {
        () if number.is_nan() => !text.starts_with(['+', '-']),
        () => number.is_finite() || is_spelled(),
    };
    is_known.then_some(number)
}

/// Whether a text has the form of RFC 3339, of which Go knows no others: `2006-01-02T15:04:05Z`,
/// with a fraction, or with `+07:00`. There are no leap seconds.
fn is_date(text: &str) -> bool {
    let is_like = |text: &[u8], form: &[u8]| {
        let is_in_place = |(byte, form): (&u8, &u8)| match form {
            b'0' => byte.is_ascii_digit(),
            sign => byte == sign,
        };
        text.len() == form.len() && text.iter().zip(form).all(is_in_place)
    };
    let Some((clock, rest)) = text.as_bytes().split_at_checked(19) else { return false };
    let zone = match rest {
        [b'.' | b',', fraction @ ..] => {
            let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
            fraction.get(digits..).filter(|_| digits > 0).unwrap_or_default()
        }
        rest => rest,
    };
    is_like(clock, b"0000-00-00T00:00:00")
        && !clock.ends_with(b"60")
        && (zone == b"Z" || is_like(zone, b"+00:00") || is_like(zone, b"-00:00"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_seconds_or_dates() {
        for (text, wanted) in [
            ("1700000000", Some(1_700_000_000_000)),
            ("1_700_000_000", Some(1_700_000_000_000)),
            ("1700000000.0016", Some(1_700_000_000_002)),
            ("-1.5", Some(-1_500)),
            ("2023-11-14T22:13:20Z", Some(1_700_000_000_000)),
            ("2023-11-14T23:13:20.5+01:00", Some(1_700_000_000_500)),
            ("2023-11-14T23:13:20,5+01:00", Some(1_700_000_000_500)),
            ("1969-12-31T23:59:59.9999Z", Some(-1)),
            ("now", None),
            ("NaN", None),
            ("1e300", None),
            ("1e309", None),
            ("_1", None),
            ("1_", None),
            ("1__0", None),
            ("2023-11-14 22:13:20Z", None),
            ("2023-11-14t22:13:20z", None),
            ("2023-11-14T22:13:60Z", None),
            ("2023-11-14T22:13Z", None),
            ("2023-11-14T22:13:20.Z", None),
            ("2023-11-14T22:13:20+01", None),
            ("2023-11-14T22:13:20+01:00:00", None),
            ("2023-11-14T22:13:20Z[UTC]", None),
            ("20231114T221320Z", None),
        ] {
            assert_eq!(time_ms(text), wanted, "{text}");
        }
    }

    /// What Debian's Prometheus makes of them.
    #[test]
    fn lengths_are_seconds_or_durations() {
        for (text, wanted) in [
            ("60", 60_000_000_000),
            ("60.0005", 60_000_500_000),
            ("0.9999", 999_900_000),
            ("1e-400", 0),
            ("6_0", 60_000_000_000),
            ("1e-3", 1_000_000),
            ("-0.0000000001", 0),
            ("1m30s", 90_000_000_000),
            ("292y", 9_208_512_000_000_000_000),
            ("9223372036.854775", 9_223_372_036_854_774_784),
            ("9223372036.8547758", i64::MIN),
            ("NaN", i64::MIN),
        ] {
            assert_eq!(length_ns(text), Ok(wanted), "{text}");
        }
        let bad = |text: &str| format!("cannot parse \"{text}\" to a valid duration");
        for text in ["9223372037", "1e308", "Inf", "-infinity"] {
            assert_eq!(length_ns(text), Err(bad(text) + ". It overflows int64"));
        }
        for text in ["1e309", "-1e309", "+nan", "293y", "1s1m", "1.5m", "_1", ""] {
            assert_eq!(length_ns(text), Err(bad(text)));
        }
    }

    #[test]
    fn times_may_be_told_by_how_long_ago_they_were() {
        let now_ms = 10_000_000;
        for (text, wanted) in [
            ("now", Some(now_ms)),
            ("-1h", Some(6_400_000)),
            ("1h", Some(6_400_000)),
            ("now-1h", Some(6_400_000)),
            ("-1m30s", Some(9_910_000)),
            ("60", Some(60_000)),
            ("-60", Some(-60_000)),
            ("1970-01-01T00:01:00Z", Some(60_000)),
            ("", None),
            ("-", None),
            ("now+1h", None),
            ("now1h", None),
            ("--1h", None),
            ("1x", None),
            ("-9999999999y", None),
        ] {
            assert_eq!(time_or_ago_ms(text, now_ms), wanted, "{text}");
        }
    }
}
