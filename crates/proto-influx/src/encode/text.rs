//! Numbers, times and strings as InfluxDB (that is, Go's library) spells them.

use foliot_model::push_whole;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::ops::Range;

/// Text as a JSON string. Go's encoder escapes what HTML could misread.
pub(crate) struct JsonText<'a>(pub(crate) &'a str);

impl fmt::Display for JsonText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\0'..='\x1f' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    write!(f, "\\u{:04x}", u32::from(c))?;
                }
                _ => f.write_char(c)?,
            }
        }
        f.write_str("\"")
    }
}

/// Which bytes stand in a JSON string as they are.
#[allow(clippy::indexing_slicing, reason = "a byte is below 256")]
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0x20;
    while byte < 0x80 {
        plain[byte] = !matches!(byte as u8, b'"' | b'\\' | b'<' | b'>' | b'&');
        byte += 1;
    }
    plain
};

/// Appends `text` as a JSON string.
pub(super) fn push_json(text: &str, out: &mut Vec<u8>) {
    let is_plain = |byte: u8| PLAIN.get(usize::from(byte)).copied().unwrap_or(false);
    match text.bytes().all(is_plain) {
        true => {
            out.reserve(text.len() + 2);
            out.push(b'"');
            out.extend_from_slice(text.as_bytes());
            out.push(b'"');
        }
        // Writing to memory cannot fail; the same holds below.
        false => drop(write!(out, "{}", JsonText(text))),
    }
}

/// Appends a whole number with at least so many digits, at most twenty.
fn push_padded(mut value: u64, digits_min: usize, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 20];
    let mut len = 0;
    for digit in digits.iter_mut().rev() {
        if value == 0 && len >= digits_min {
            break;
        }
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
        len += 1;
    }
    out.extend_from_slice(digits.get(digits.len() - len..).unwrap_or_default());
}

/// Appends a float as Go's JSON encoder does: shortest digits, with an exponent below 1e-6 and from
/// 1e21. JSON has no NaN and no infinity; they become null.
pub(super) fn push_json_float(value: f64, out: &mut Vec<u8>) {
    /// Up to here whole numbers are told apart, and spelt as integers are.
    const WHOLE_MAX: f64 = (1_u64 << 53) as f64;
    /// Numbers of such sizes have no exponent anywhere, and the same digits everywhere.
    const PLAIN_SIZES: Range<f64> = 1e-3..1e15;
    let size = value.abs();
    if !value.is_finite() {
        out.extend_from_slice(b"null");
    } else if size < WHOLE_MAX && size.trunc() == size {
        if value.is_sign_negative() {
            out.push(b'-');
        }
        push_whole(size as u64, out);
    } else if PLAIN_SIZES.contains(&size) {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    } else if size != 0.0 && size < 1e-6 {
        drop(write!(out, "{value:e}"));
    } else if size >= 1e21 {
        out.extend_from_slice(format!("{value:e}").replace('e', "e+").as_bytes());
    } else {
        drop(write!(out, "{value}"));
    }
}

/// Writes times as RFC 3339 has them, of which successive ones mostly lie in one minute.
#[derive(Debug, Default)]
pub(super) struct Times {
    /// The minute of the last one, from the calendar's first day on.
    minute: u64,
    /// What a time of it is without a fraction, in UTC.
    text: [u8; 20],
}

impl Times {
    /// Appends a time with as many digits of the second as are needed.
    pub(super) fn push(&mut self, time_ns: i64, zone: Option<&TimeZone>, out: &mut Vec<u8>) {
        const SECOND: i64 = 1_000_000_000;
        let offset_s = zone.map_or(0, |zone| {
            let instant = Timestamp::from_nanosecond(i128::from(time_ns)).unwrap_or_default();
            i64::from(zone.to_offset(instant).seconds())
        });
        let seconds = time_ns.div_euclid(SECOND) + offset_s;
        let nanos = time_ns.rem_euclid(SECOND);
        // From the calendar's first day on nothing is negative.
        let seconds = (seconds + CALENDAR_S).unsigned_abs();
        let (minute, second) = (seconds / 60, (seconds % 60) as u32);
        if minute != self.minute {
            (self.minute, self.text) = (minute, in_minute(minute));
        }
        let [.., tens, ones, _] = &mut self.text;
        [*tens, *ones] = two(second);
        // Without a fraction and in UTC it ends with the Z that stands there.
        out.extend_from_slice(&self.text);
        if nanos == 0 && offset_s == 0 {
            return;
        }
        out.pop();
        if nanos != 0 {
            out.push(b'.');
            push_padded(nanos.unsigned_abs(), 9, out);
            let zeros = out.iter().rev().take_while(|digit| **digit == b'0').count();
            out.truncate(out.len() - zeros);
        }
        match offset_s {
            0 => out.push(b'Z'),
            _ => {
                let sign = if offset_s < 0 { b'-' } else { b'+' };
                let minutes = (offset_s.unsigned_abs() / 60) as u32;
                out.push(sign);
                out.extend_from_slice(&two(minutes / 60));
                out.push(b':');
                out.extend_from_slice(&two(minutes % 60));
            }
        }
    }
}

/// The first second of a minute of [`civil`]'s calendar.
fn in_minute(minute: u64) -> [u8; 20] {
    let (days, minute) = ((minute / 1440) as u32, (minute % 1440) as u32);
    let (year, month, day) = civil(days);
    // The formatting machinery would take more steps than all else that an answer needs, and so
    // would a push for each letter.
    let ([a, b], [c, d], [e, f], [g, h]) = (two(year / 100), two(year % 100), two(month), two(day));
    let ([i, j], [k, l]) = (two(minute / 60), two(minute % 60));
    let second = b'0';
    [a, b, c, d, b'-', e, f, b'-', g, h, b'T', i, j, b':', k, l, b':', second, second, b'Z']
}

/// A number of two digits: all parts of a time have no more, for its years lie between 1677
/// and 2262.
fn two(number: u32) -> [u8; 2] {
    [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8]
}

/// The seconds from the 1st of March of the year 0, where [`civil`]'s calendar begins, to 1970.
const CALENDAR_S: i64 = 719_468 * 86_400;

/// The date of a day of that calendar (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// civil_from_days).
fn civil(days: u32) -> (u32, u32, u32) {
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u32::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_spelt_as_go_spells_them() {
        let text = |value| {
            let mut out = Vec::new();
            push_json_float(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        for (value, expected) in [
            (1.0, "1"),
            (-0.0, "-0"),
            (2.5e-9, "2.5e-9"),
            (1e-6, "0.000001"),
            (1e22, "1e+22"),
            (1.5e300, "1.5e+300"),
            (1e20, "100000000000000000000"),
            (0.0, "0"),
            (-3.0, "-3"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (-100.25, "-100.25"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(text(value), expected);
        }
    }

    #[test]
    fn plain_floats_are_spelt_as_shortly_as_the_library_spells_them() {
        let mut differ = 0;
        let mut random = 88_172_645_463_325_252_u64;
        for _ in 0..20_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Sizes from 1e-7 to 1e17, with few digits and with many.
            let size = 10f64.powi((random % 25) as i32 - 7);
            let digits = [1.0, 1e2, 1e5, 1e16][(random >> 8) as usize % 4];
            let value = ((random >> 11) as f64 / (1u64 << 53) as f64 * digits).round() / digits;
            let value = value * size;
            let mut out = Vec::new();
            push_json_float(value, &mut out);
            let expected = match value {
                value if value != 0.0 && value < 1e-6 => format!("{value:e}"),
                value => format!("{value}"),
            };
            let found = String::from_utf8(out).unwrap();
            // Of two texts that are equally near Go takes the even one, the library the larger one.
            assert_eq!(found.len(), expected.len(), "{found} {expected}");
            assert_eq!(found.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{found}");
            differ += usize::from(found != expected);
        }
        assert!(differ < 20, "{differ}");
        let mut out = Vec::new();
        push_json_float(978_860_562_303_030.0 + 0.25, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "978860562303030.2");
    }

    #[test]
    fn times_are_rfc_3339() {
        let text = |time_ns, zone: Option<&str>| {
            let zone = zone.map(|name| TimeZone::get(name).unwrap());
            let mut out = Vec::new();
            Times::default().push(time_ns, zone.as_ref(), &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(0, None), "1970-01-01T00:00:00Z");
        assert_eq!(text(1_500_000_000, None), "1970-01-01T00:00:01.5Z");
        assert_eq!(text(-1, None), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(text(951_782_400_000_000_000, None), "2000-02-29T00:00:00Z");
        assert_eq!(text(i64::MAX - 1, None), "2262-04-11T23:47:16.854775806Z");
        assert_eq!(text(i64::MIN + 2, None), "1677-09-21T00:12:43.145224194Z");
        let berlin = Some("Europe/Berlin");
        assert_eq!(text(1_700_000_000_000_000_000, berlin), "2023-11-14T23:13:20+01:00");
        assert_eq!(text(0, Some("America/New_York")), "1969-12-31T19:00:00-05:00");
    }

    #[test]
    fn times_follow_each_other_as_they_stand_alone() {
        const SECOND: i64 = 1_000_000_000;
        let zones = [None, Some(TimeZone::get("Asia/Kolkata").unwrap())];
        let (mut times, mut time_ns) = (Times::default(), -3 * SECOND);
        for step in 0..2_000 {
            time_ns += [SECOND, 0, 7, 59 * SECOND, 86_400 * SECOND, -61 * SECOND][step % 6];
            for zone in zones.iter().map(Option::as_ref) {
                let (mut out, mut alone) = (Vec::new(), Vec::new());
                times.push(time_ns, zone, &mut out);
                Times::default().push(time_ns, zone, &mut alone);
                assert_eq!(String::from_utf8(out), String::from_utf8(alone));
            }
        }
    }

    #[test]
    fn strings_are_escaped_for_html_too() {
        let mut out = Vec::new();
        push_json("a<b>&\"\\\n\u{1}ü", &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\"a\\u003cb\\u003e\\u0026\\\"\\\\\\n\\u0001ü\""
        );
    }
}
