//! Times and durations as queries write them.

use crate::http::HttpError;
use jiff::civil;
use jiff::tz::TimeZone;

/// A number of units of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duration {
    /// How many, above 0.
    pub(crate) count: u32,
    pub(crate) unit: Unit,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Millisecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    /// 30 days, unless it is a calendar's.
    Month,
    /// 365 days, unless it is a calendar's.
    Year,
}

impl Unit {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "ms" => Self::Millisecond,
            "s" => Self::Second,
            "m" => Self::Minute,
            "h" => Self::Hour,
            "d" => Self::Day,
            "w" => Self::Week,
            "n" => Self::Month,
            "y" => Self::Year,
            _ => return None,
        })
    }

    /// Its fixed length in milliseconds.
    pub(crate) const fn ms(self) -> i64 {
        const DAY: i64 = 86_400_000;
        match self {
            Self::Millisecond => 1,
            Self::Second => 1_000,
            Self::Minute => 60_000,
            Self::Hour => 3_600_000,
            Self::Day => DAY,
            Self::Week => 7 * DAY,
            Self::Month => 30 * DAY,
            Self::Year => 365 * DAY,
        }
    }
}

impl Duration {
    /// Reads `<n><unit>`.
    pub(crate) fn parse(text: &str) -> Result<Self, HttpError> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = text.split_at_checked(digits).unwrap_or((text, ""));
        if unit.is_empty() {
            let message = format!("Invalid duration, must have an integer and unit: {text}");
            return Err(HttpError::bad_request(message));
        }
        let count: u32 = number
            .parse()
            .map_err(|_| HttpError::bad_request(format!("Invalid duration (number): {text}")))?;
        if count == 0 {
            let message = format!("Zero or negative duration: {text}");
            return Err(HttpError::bad_request(message));
        }
        let unit = Unit::named(&unit.to_ascii_lowercase()).ok_or_else(|| {
            HttpError::bad_request(format!("Invalid duration (suffix): {text}"))
                .with_details("Units are ms, s, m, h, d, w, n (months) and y")
        })?;
        Ok(Self { count, unit })
    }

    /// Its fixed length in milliseconds.
    pub(crate) fn ms(self) -> i64 {
        i64::from(self.count) * self.unit.ms()
    }
}

/// The forms of times.
const TIMES: &str = "Times are now, 1h-ago, 2026/01/31, 2026/01/31-12:00:00, and seconds or \
                     milliseconds since 1970";

/// Reads a time of a query into milliseconds since 1970. `zone` is where dates are.
///
/// Numbers of up to ten characters are seconds, longer ones milliseconds; `ssssssssss.mmm` is read
/// by removing the point, so that one digit behind it makes an early time, as in OpenTSDB.
pub(crate) fn parse_time(text: &str, zone: &TimeZone, now_ms: i64) -> Result<i64, HttpError> {
    read_time(text, zone, now_ms).map_err(|error| match error.details.is_empty() {
        true => error.with_details(TIMES),
        false => error,
    })
}

/// Refuses what is no time of a query.
///
/// # Errors
/// When it is none.
pub fn check_time(text: &str) -> Result<(), HttpError> {
    parse_time(text, &TimeZone::UTC, 0).map(drop)
}

fn read_time(text: &str, zone: &TimeZone, now_ms: i64) -> Result<i64, HttpError> {
    let lower = text.to_ascii_lowercase();
    if lower == "now" {
        return Ok(now_ms);
    }
    if let Some(duration) = lower.strip_suffix("-ago") {
        return Ok(now_ms.saturating_sub(Duration::parse(duration)?.ms()));
    }
    if text.contains(['/', ':']) {
        return parse_date(text, zone);
    }
    let invalid = |why: &str| HttpError::bad_request(format!("Invalid time: {text}. {why}"));
    let too_long = || invalid(&format!("Value too long: {text}"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(number) = lower.strip_suffix("ms").filter(|number| is_number(number)) {
        return number.parse().map_err(|_| too_long());
    }
    let plain = match text.split_once('.') {
        None => text.to_owned(),
        Some((seconds, fraction))
            if seconds.len() == 10
                && is_number(seconds)
                && is_number(fraction)
                && fraction.len() <= 3 =>
        {
            format!("{seconds}{fraction}")
        }
        Some(_) => {
            return Err(invalid(
                "Millisecond timestamps must be in the format <seconds>.<ms> where the \
                 milliseconds are limited to 3 digits",
            ));
        }
    };
    if let Some(strange) = plain.trim_start_matches('-').chars().find(|c| !c.is_ascii_digit()) {
        let error = invalid(&format!("Invalid character '{strange}' in {text}"));
        // Others say so how long ago it was.
        let ago = lower.strip_prefix('-').filter(|ago| Duration::parse(ago).is_ok());
        return Err(match ago {
            Some(ago) => error.with_details(format!("So long ago is {ago}-ago")),
            None => error,
        });
    }
    if !is_number(&plain) {
        return Err(match plain.is_empty() {
            true => HttpError::bad_request("Invalid time: there is none"),
            false => invalid("Negative timestamps are not supported."),
        });
    }
    let number: i64 = plain.parse().map_err(|_| too_long())?;
    Ok(if plain.len() <= 10 { number * 1000 } else { number })
}

/// Reads `yyyy/MM/dd`, alone or followed by a dash or blank and `HH:mm` or `HH:mm:ss`. Fields run
/// over into the next larger one, as in OpenTSDB: the 40th of a month is a day of the next.
fn parse_date(text: &str, zone: &TimeZone) -> Result<i64, HttpError> {
    let invalid = || {
        HttpError::bad_request(format!("Invalid date: {text}"))
            .with_details("Dates are yyyy/MM/dd, yyyy/MM/dd-HH:mm or yyyy/MM/dd-HH:mm:ss")
    };
    let field = |range: std::ops::Range<usize>| {
        let digits = text.get(range).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        digits.and_then(|digits| digits.parse::<i64>().ok()).ok_or_else(invalid)
    };
    let is = |at: usize, marks: &[u8]| text.as_bytes().get(at).is_some_and(|b| marks.contains(b));
    let has_time = matches!(text.len(), 16 | 19);
    let has_seconds = text.len() == 19;
    let marks_fit = is(4, b"/")
        && is(7, b"/")
        && (!has_time || is(10, b"- ") && is(13, b":"))
        && (!has_seconds || is(16, b":"));
    if !(has_time || text.len() == 10) {
        return Err(HttpError::bad_request(format!("Invalid absolute date: {text}")));
    }
    if !marks_fit {
        return Err(invalid());
    }
    let (year, month, day) = (field(0..4)?, field(5..7)?, field(8..10)?);
    let (hour, minute) = if has_time { (field(11..13)?, field(14..16)?) } else { (0, 0) };
    let second = if has_seconds { field(17..19)? } else { 0 };
    let months = year * 12 + month - 1;
    let seconds = ((day - 1) * 24 + hour) * 3600 + minute * 60 + second;
    let first_of_month = i16::try_from(months.div_euclid(12))
        .ok()
        .and_then(|year| civil::Date::new(year, months.rem_euclid(12) as i8 + 1, 1).ok());
    let local = first_of_month.and_then(|date| {
        date.at(0, 0, 0, 0).checked_add(jiff::SignedDuration::from_secs(seconds)).ok()
    });
    let instant = local.and_then(|local| zone.to_timestamp(local).ok());
    instant.map(|instant| instant.as_millisecond()).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_700_002_800_123;
    const H_MS: i64 = 1_700_002_800_000;

    fn time(text: &str) -> Option<i64> {
        parse_time(text, &TimeZone::UTC, NOW_MS).ok()
    }

    #[test]
    fn numbers_are_seconds_up_to_ten_characters() {
        assert_eq!(time("1700002800"), Some(H_MS));
        assert_eq!(time("1700002800000"), Some(H_MS));
        assert_eq!(time("17000028000"), Some(17_000_028_000));
        assert_eq!(time("1700002800.250"), Some(H_MS + 250));
        assert_eq!(time("1700002800.5"), Some(17_000_028_005));
        assert_eq!(time("1500ms"), Some(1500));
        for text in ["1700002800.1234", "170000280.123", "1s", "-5", "", "1.", "x", "1e9"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn relative_times_count_back_from_now() {
        const DAY_MS: i64 = 86_400_000;
        assert_eq!(time("now"), Some(NOW_MS));
        assert_eq!(time("1500ms-ago"), Some(NOW_MS - 1500));
        assert_eq!(time("90m-ago"), Some(NOW_MS - 5_400_000));
        assert_eq!(time("2n-ago"), Some(NOW_MS - 60 * DAY_MS));
        assert_eq!(time("1y-ago"), Some(NOW_MS - 365 * DAY_MS));
        let utc = TimeZone::UTC;
        let details = |text| parse_time(text, &utc, NOW_MS).unwrap_err().details;
        assert_eq!(details("-1h"), "So long ago is 1h-ago");
        assert_eq!((&*details("-1x"), &*details("2026-01-31")), (TIMES, TIMES));
        for text in ["0m-ago", "1x-ago", "m-ago", "-1m-ago", "99999999999d-ago"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn dates_are_local_and_lenient() {
        assert_eq!(time("2023/11/14-23:00:00"), Some(H_MS));
        assert_eq!(time("2023/11/14 23:00"), Some(H_MS));
        assert_eq!(time("2023/11/14"), Some(H_MS - 23 * 3_600_000));
        assert_eq!(time("2023/10/45-23:00"), Some(H_MS));
        assert_eq!(time("2022/23/14-23:00"), Some(H_MS));
        assert!(time("2023/13/40-99:99:99").is_some());
        let kolkata = zone_time("2023/11/15-04:30:00", "Asia/Kolkata");
        assert_eq!(kolkata, Some(H_MS));
        for text in ["2023/11/", "2023/11/14-", "2023-11/14", "2023/1x/14", "23:00"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    fn zone_time(text: &str, zone: &str) -> Option<i64> {
        parse_time(text, &TimeZone::get(zone).unwrap(), NOW_MS).ok()
    }
}
