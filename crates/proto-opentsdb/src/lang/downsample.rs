//! Downsampling: `<n><unit>[c]-<aggregator>[-<fill>]`.

use super::aggregator::Aggregator;
use super::time::{Duration, Unit};
use crate::http::HttpError;
use foliot_plan::{Calendar, Fill};

/// A downsampling as asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Downsample {
    /// As written.
    pub(crate) text: String,
    pub(crate) interval: Interval,
    pub(crate) aggregator: &'static Aggregator,
    pub(crate) fill: Fill,
}

/// How long buckets are and where they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interval {
    /// One bucket for the whole query.
    All,
    /// Buckets counted from 1970.
    Fixed(Duration),
    /// Buckets of a calendar.
    Calendar(Duration),
}

impl Downsample {
    /// Reads a specification; `use_calendar` makes plain intervals a calendar's.
    pub(crate) fn parse(text: &str, use_calendar: bool) -> Result<Self, HttpError> {
        let error = |what: &str| {
            let message = format!("Invalid downsampling specifier '{text}': {what}");
            Err(HttpError::bad_request(message))
        };
        // OpenTSDB overlooks dashes at the end.
        let parts: Vec<&str> = text.trim_end_matches('-').split('-').collect();
        let (interval, function, fill) = match parts[..] {
            [interval, function] => (interval, function, "none"),
            [interval, function, fill] => (interval, function, fill),
            [] | [_] => return error("must provide at least interval and function"),
            _ => return error("must consist of interval, function, and optional fill policy"),
        };
        let interval = Interval::parse(interval, use_calendar)?;
        let Some(aggregator) = Aggregator::named(function) else {
            let message = format!("No such downsampling function: {function}");
            return Err(HttpError::bad_request(message));
        };
        if aggregator.fold.is_none() {
            let message = "cannot use the NONE aggregator for downsampling";
            return Err(HttpError::bad_request(message));
        }
        let fill = match fill.to_ascii_lowercase().as_str() {
            // OpenTSDB takes `scalar` and fails at the first empty bucket; here such buckets are
            // left out, so that queries which never meet one are answered alike.
            "none" | "scalar" => Fill::None,
            "nan" => Fill::Nan,
            "null" => Fill::Null,
            "zero" => Fill::Value(0.0),
            other => {
                let message = format!("Unrecognized fill policy: {other}");
                let details = "must be one of: none, nan, null, zero, scalar";
                return Err(HttpError::bad_request(message).with_details(details));
            }
        };
        Ok(Self { text: text.to_owned(), interval, aggregator, fill })
    }

    /// The length of buckets in fixed units, 0 when there is one bucket only.
    pub(crate) fn interval_ms(&self) -> i64 {
        match self.interval {
            Interval::All => 0,
            Interval::Fixed(duration) | Interval::Calendar(duration) => duration.ms(),
        }
    }
}

impl Interval {
    fn parse(text: &str, use_calendar: bool) -> Result<Self, HttpError> {
        if text.to_ascii_lowercase().contains("all") {
            return Ok(Self::All);
        }
        match text.strip_suffix('c') {
            Some(duration) => Ok(Self::Calendar(Duration::parse(duration)?)),
            None if use_calendar => Ok(Self::Calendar(Duration::parse(text)?)),
            None => Ok(Self::Fixed(Duration::parse(text)?)),
        }
    }
}

/// The calendar's unit of a duration's.
pub(crate) const fn calendar_unit(unit: Unit) -> Calendar {
    match unit {
        Unit::Millisecond => Calendar::Millisecond,
        Unit::Second => Calendar::Second,
        Unit::Minute => Calendar::Minute,
        Unit::Hour => Calendar::Hour,
        Unit::Day => Calendar::Day,
        Unit::Week => Calendar::Week,
        Unit::Month => Calendar::Month,
        Unit::Year => Calendar::Year,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications() {
        let parse = |text| Downsample::parse(text, false);
        let minute = Duration { count: 1, unit: Unit::Minute };
        let plain = parse("1m-avg").unwrap();
        assert_eq!((plain.interval, plain.fill), (Interval::Fixed(minute), Fill::None));
        assert_eq!(parse("1m-sum-nan").unwrap().fill, Fill::Nan);
        assert_eq!(parse("1m-sum-NULL").unwrap().fill, Fill::Null);
        assert_eq!(parse("1m-sum-zero").unwrap().fill, Fill::Value(0.0));
        assert_eq!(parse("0all-sum").unwrap().interval, Interval::All);
        assert_eq!(parse("1mc-sum").unwrap().interval, Interval::Calendar(minute));
        let calendar = Downsample::parse("1m-sum", true).unwrap().interval;
        assert_eq!(calendar, Interval::Calendar(minute));
        assert_eq!(parse("500ms-sum").unwrap().interval_ms(), 500);
    }

    #[test]
    fn refusals() {
        for (text, part) in [
            ("1m", "must provide at least interval and function"),
            ("1m-none", "cannot use the NONE aggregator"),
            ("0m-sum", "Zero or negative duration: 0m"),
            ("1m-sum-foo", "Unrecognized fill policy: foo"),
            ("1m-sum-nan-x", "optional fill policy"),
            ("1m-raw", "No such downsampling function: raw"),
            ("1q-sum", "Invalid duration (suffix): 1q"),
        ] {
            let error = Downsample::parse(text, false).unwrap_err();
            assert!(error.message.contains(part), "{text}: {}", error.message);
        }
    }
}
