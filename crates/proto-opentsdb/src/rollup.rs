//! Rollups: points that somebody else aggregated, and where they are kept.
//!
//! OpenTSDB stores what a job outside has summed up, in tables of their own, and answers a
//! downsampled question from them alone when one fits. Here a table is a retention policy of the
//! database, so that rollups may be kept for another time than what they were made of, and the
//! aggregator is the field of the measurement.

use crate::http::HttpError;
use crate::lang::aggregator::Aggregator;
use crate::lang::time::{Duration, Unit};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::Value;

/// The tag that tells by what points of several series were aggregated.
pub(crate) const AGGREGATE_TAG: &str = "_aggregate";

/// The rollups that there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rollups {
    intervals: Vec<Interval>,
    /// Aggregators whose values are kept, in lower case.
    aggregators: Vec<String>,
}

/// A length of time that points are rolled up over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    /// As it is written: `1h`.
    pub(crate) name: String,
    pub(crate) seconds: i64,
    /// Where points of single series are.
    pub(crate) table: String,
    /// Where points of series that were aggregated are.
    pub(crate) group_table: String,
    /// Whether it stands for the points that nobody rolled up.
    pub(crate) is_default: bool,
    row: Row,
}

/// What OpenTSDB keeps in one row. Points are rounded down to an interval counted from a row's
/// start, and questions look at whole rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Hours(i64),
    Day,
    Month,
    Year,
}

/// Intervals that a row may have at most, and must have at least, in OpenTSDB.
const ROW_INTERVALS: std::ops::RangeInclusive<i64> = 12..=7_774;

impl Rollups {
    /// Reads OpenTSDB's `tsd.rollups.config`.
    ///
    /// # Errors
    /// One sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let intervals = config.get("intervals").and_then(Value::as_array);
        let intervals = intervals.filter(|list| !list.is_empty()).ok_or("it has no intervals")?;
        let intervals: Vec<Interval> =
            intervals.iter().map(Interval::parse).collect::<Result<_, _>>()?;
        let same = |a: &Interval, b: &Interval| a.name == b.name;
        for (index, interval) in intervals.iter().enumerate() {
            if intervals.iter().take(index).any(|earlier| same(earlier, interval)) {
                return Err(format!("the interval {} is given twice", interval.name));
            }
        }
        if intervals.iter().filter(|interval| interval.is_default).count() != 1 {
            return Err("exactly one interval must have defaultInterval: true".to_owned());
        }
        let ids = config.get("aggregationIds").and_then(Value::as_object);
        let ids = ids.filter(|ids| !ids.is_empty()).ok_or("it has no aggregationIds")?;
        let aggregators: Vec<String> = ids.keys().map(|name| name.to_lowercase()).collect();
        match aggregators.iter().find(|name| Aggregator::named(name).is_none()) {
            Some(name) => Err(format!("there is no aggregator {name}")),
            None => Ok(Self { intervals, aggregators }),
        }
    }

    /// The interval that is written so.
    pub(crate) fn interval(&self, name: &str) -> Option<&Interval> {
        self.intervals.iter().find(|interval| interval.name == name)
    }

    /// The interval that stands for raw points.
    pub(crate) fn default_interval(&self) -> Option<&Interval> {
        self.intervals.iter().find(|interval| interval.is_default)
    }

    /// The intervals whose points make up buckets of `seconds`, the longest first.
    pub(crate) fn fitting(&self, seconds: i64) -> Vec<&Interval> {
        let mut fitting: Vec<&Interval> =
            self.intervals.iter().filter(|one| seconds > 0 && seconds % one.seconds == 0).collect();
        fitting.sort_by_key(|interval| std::cmp::Reverse(interval.seconds));
        fitting
    }

    /// All tables that rollups are kept in.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        let own = self.intervals.iter().filter(|one| !one.is_default).map(|one| &*one.table);
        own.chain(self.intervals.iter().map(|one| &*one.group_table))
    }

    /// Checks that values of an aggregator are kept.
    pub(crate) fn check_aggregator(&self, name: &str) -> Result<(), HttpError> {
        match self.aggregators.iter().any(|known| known == name) {
            true => Ok(()),
            false => {
                let message = format!("No ID found mapping to aggregator: {name}");
                Err(HttpError::bad_request(message))
            }
        }
    }
}

impl Interval {
    fn parse(config: &Value) -> Result<Self, String> {
        let text = |name: &str| config.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = text("interval").to_owned();
        let wrong = |what: &str| Err(format!("the interval '{name}' {what}"));
        let duration = Duration::parse(&name).map_err(|error| error.message)?;
        let seconds = duration.ms() / 1000;
        let span = Duration::parse(text("rowSpan")).map_err(|error| error.message)?;
        let row = match (span.count, span.unit) {
            (hours, Unit::Hour) if hours == 1 || hours % 2 == 0 => Row::Hours(i64::from(hours)),
            (1, Unit::Day) => Row::Day,
            (1, Unit::Month) => Row::Month,
            (1, Unit::Year) => Row::Year,
            _ => return wrong("must have a rowSpan of 1h, an even number of hours, 1d, 1n or 1y"),
        };
        if duration.unit == Unit::Millisecond || seconds == 0 {
            return wrong("must be in whole seconds");
        }
        if !ROW_INTERVALS.contains(&(row.seconds() / seconds)) {
            return wrong("must fit into its rowSpan between 12 and 7774 times");
        }
        let (table, group_table) =
            (text("table").to_owned(), text("preAggregationTable").to_owned());
        if table.is_empty() || group_table.is_empty() {
            return wrong("needs a table and a preAggregationTable");
        }
        let is_default = config.get("defaultInterval").and_then(Value::as_bool).unwrap_or(false);
        Ok(Self { name, seconds, table, group_table, is_default, row })
    }

    /// The start of the interval that holds a time, in seconds.
    pub(crate) fn start_s(&self, time_s: i64) -> i64 {
        let row_s = self.row_start_s(time_s);
        time_s - (time_s - row_s) % self.seconds
    }

    /// The start of the row that holds a time, in seconds.
    pub(crate) fn row_start_s(&self, time_s: i64) -> i64 {
        match self.row {
            Row::Hours(hours) => time_s - time_s.rem_euclid(hours * HOUR_S),
            Row::Day => time_s - time_s.rem_euclid(24 * HOUR_S),
            Row::Month => date_start_s(time_s, Date::first_of_month),
            Row::Year => date_start_s(time_s, Date::first_of_year),
        }
    }

    /// How long a row counts as, in seconds.
    pub(crate) fn row_s(&self) -> i64 {
        self.row.seconds() / self.seconds * self.seconds
    }
}

const HOUR_S: i64 = 3600;

impl Row {
    /// The longest that a row can be, in seconds.
    fn seconds(self) -> i64 {
        match self {
            Self::Hours(hours) => hours * HOUR_S,
            Self::Day => 24 * HOUR_S,
            Self::Month => 32 * 24 * HOUR_S,
            Self::Year => 366 * 24 * HOUR_S,
        }
    }
}

/// The first second, in UTC, of a date found from that of a time. Times that no calendar has stay
/// as they are.
fn date_start_s(time_s: i64, first: fn(Date) -> Date) -> i64 {
    let Ok(time) = Timestamp::from_second(time_s) else { return time_s };
    let start = first(time.to_zoned(TimeZone::UTC).date()).to_zoned(TimeZone::UTC);
    start.map_or(time_s, |start| start.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = r#"{"aggregationIds": {"sum": 0, "COUNT": 1}, "intervals": [
        {"table": "tsdb", "preAggregationTable": "tsdb-pre", "interval": "1m", "rowSpan": "1h",
         "defaultInterval": true},
        {"table": "tsdb-1h", "preAggregationTable": "tsdb-pre-1h", "interval": "1h",
         "rowSpan": "1d", "delaySla": "2h"},
        {"table": "tsdb-1d", "preAggregationTable": "tsdb-pre-1d", "interval": "1d",
         "rowSpan": "1n"}]}"#;

    #[test]
    fn intervals_that_fit_come_longest_first() {
        let rollups = Rollups::parse(CONFIG).unwrap();
        let fitting = |seconds| -> Vec<&str> {
            rollups.fitting(seconds).iter().map(|interval| &*interval.name).collect()
        };
        assert_eq!(fitting(2 * 86_400), ["1d", "1h", "1m"]);
        assert_eq!(fitting(7200), ["1h", "1m"]);
        assert_eq!(fitting(90), [""; 0]);
        assert!(rollups.check_aggregator("count").is_ok());
        let error = rollups.check_aggregator("max").unwrap_err().message;
        assert_eq!(error, "No ID found mapping to aggregator: max");
        let tables: Vec<&str> = rollups.tables().collect();
        assert_eq!(tables, ["tsdb-1h", "tsdb-1d", "tsdb-pre", "tsdb-pre-1h", "tsdb-pre-1d"]);
    }

    #[test]
    fn rows_begin_with_their_unit() {
        let row_start = |span: &str, interval: &str, time_s| {
            let config = CONFIG.replace(r#""1d", "delaySla": "2h""#, &format!("\"{span}\""));
            let config =
                config.replace(r#""interval": "1h""#, &format!("\"interval\":\"{interval}\""));
            Rollups::parse(&config).unwrap().interval(interval).unwrap().row_start_s(time_s)
        };
        // 2023-11-14 23:40:00 UTC, and the starts of its hours, day, month and year.
        let time_s = 1_700_005_200;
        assert_eq!(row_start("1h", "5m", time_s), 1_700_002_800);
        assert_eq!(row_start("4h", "10m", time_s), 1_699_992_000);
        assert_eq!(row_start("1d", "1h", time_s), 1_699_920_000);
        assert_eq!(row_start("1n", "1h", time_s), 1_698_796_800);
        assert_eq!(row_start("1y", "2h", time_s), 1_672_531_200);
    }

    #[test]
    fn what_cannot_be_kept_is_refused() {
        let refusal = |from: &str, to: &str| {
            assert!(CONFIG.contains(from), "{from}");
            Rollups::parse(&CONFIG.replacen(from, to, 1)).unwrap_err()
        };
        assert!(Rollups::parse("{").unwrap_err().starts_with("it is not JSON"));
        assert_eq!(Rollups::parse("{}").unwrap_err(), "it has no intervals");
        assert_eq!(refusal("\"sum\"", "\"summe\""), "there is no aggregator summe");
        assert!(refusal("true", "false").starts_with("exactly one interval"));
        assert!(refusal("\"1h\"", "\"3h\"").contains("must have a rowSpan"));
        assert!(refusal("\"1m\"", "\"10m\"").contains("between 12 and 7774 times"));
        assert!(refusal("\"1m\"", "\"500ms\"").contains("whole seconds"));
        assert!(refusal("tsdb-pre-1h", "").contains("needs a table"));
        assert!(refusal("\"interval\": \"1d\"", "\"interval\": \"1h\"").contains("given twice"));
    }
}
