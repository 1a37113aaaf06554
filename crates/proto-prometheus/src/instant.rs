//! Questions of one instant, and their answers.

use crate::selector::{NAME, ParseError, VectorSelector};
use foliot_model::{Frame, NANOS_PER_MILLI, NamespaceId, TimeRange};
use foliot_plan::{Pick, Series};
use serde_json::{Map, Value as Json, json};

/// How long a sample counts when no later one follows it: Prometheus' default.
const LOOKBACK_MS: i64 = 5 * 60 * 1000;

/// Bits of the NaN that marks a series as over.
const STALE: u64 = 0x7ff0_0000_0000_0002;

/// Which values series have at one instant.
#[derive(Clone, Debug)]
pub struct InstantQuery {
    selector: VectorSelector,
    at_ms: i64,
}

impl InstantQuery {
    /// Reads an expression.
    ///
    /// # Errors
    /// When it is no vector selector.
    pub fn parse(text: &str, at_ms: i64) -> Result<Self, ParseError> {
        Ok(Self { selector: VectorSelector::parse(text)?, at_ms })
    }

    /// What is asked of the store: the last sample of each series, not older than five minutes.
    pub fn plan(&self, namespace: NamespaceId) -> Series {
        let ns = |ms: i64| ms.saturating_mul(NANOS_PER_MILLI);
        // The left end is open, as of Prometheus 3.
        let start_ns = ns(self.at_ms.saturating_sub(LOOKBACK_MS)).saturating_add(1);
        let range = TimeRange::new(start_ns, ns(self.at_ms));
        let input = Box::new(Series::Select { selector: self.selector.selector(namespace), range });
        Series::Pick { input, pick: Pick::Last }
    }

    /// An answer to which nothing was added yet.
    pub fn answer(&self) -> VectorAnswer<'_> {
        VectorAnswer { query: self, is_begun: false }
    }
}

/// A vector as JSON: all frames, then the end.
#[derive(Debug)]
pub struct VectorAnswer<'a> {
    query: &'a InstantQuery,
    is_begun: bool,
}

impl VectorAnswer<'_> {
    /// Adds the series of a frame, if it has a number then and is not over.
    pub fn frame(&mut self, frame: &Frame, out: &mut Vec<u8>) {
        let last = frame.samples.iter().last().and_then(|(_, value)| value.as_f64());
        let Some(value) = last.filter(|value| value.to_bits() != STALE) else { return };
        if !self.query.selector.has_name(&frame.head.measurement) {
            return;
        }
        self.begin(out);
        let mut metric = Map::new();
        metric.insert(NAME.to_owned(), json!(&*frame.head.measurement));
        for label in &frame.head.labels {
            metric.insert(label.name.to_string(), json!(&*label.value));
        }
        let (metric, value) = (Json::Object(metric), number(value));
        let time = seconds(self.query.at_ms);
        let text = format!("{{\"metric\":{metric},\"value\":[{time},\"{value}\"]}}");
        out.extend_from_slice(text.as_bytes());
    }

    /// Ends the answer.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        if !self.is_begun {
            self.begin(out);
        }
        out.extend_from_slice(b"]}}");
    }

    /// What stands before a series.
    fn begin(&mut self, out: &mut Vec<u8>) {
        const HEAD: &[u8] = br#"{"status":"success","data":{"resultType":"vector","result":["#;
        out.extend_from_slice(if self.is_begun { b"," } else { HEAD });
        self.is_begun = true;
    }
}

/// An answer that there is none: Prometheus' kind of error, and why.
pub fn error_json(kind: &str, reason: &str) -> String {
    json!({"status": "error", "errorType": kind, "error": reason}).to_string()
}

/// Reads a time: seconds as a decimal number, or a date of RFC 3339.
pub fn time_ms(text: &str) -> Option<i64> {
    if let Ok(seconds) = text.parse::<f64>() {
        let ms = seconds.trunc() * 1000.0 + (seconds.fract() * 1000.0).round();
        // Beyond this nanoseconds do not reach.
        let is_known = ms.abs() <= (i64::MAX / NANOS_PER_MILLI) as f64;
        return is_known.then_some(ms as i64);
    }
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_millisecond)
}

/// The shortest decimal number without an exponent, as Go prints it.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    }
}

/// Milliseconds as seconds: three digits behind the point, or none.
fn seconds(ms: i64) -> String {
    let sign = if ms < 0 { "-" } else { "" };
    let (whole, part) = (ms.unsigned_abs() / 1000, ms.unsigned_abs() % 1000);
    match part {
        0 => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{part:03}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_as_go_writes_them() {
        let cases = [
            (1.0, "1"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e21, "1000000000000000000000"),
            (1.5e-7, "0.00000015"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ];
        for (value, wanted) in cases {
            assert_eq!(number(value), wanted);
        }
        let times =
            [(0, "0"), (1_500, "1.500"), (-1, "-0.001"), (1_700_000_000_007, "1700000000.007")];
        for (ms, wanted) in times {
            assert_eq!(seconds(ms), wanted);
        }
    }

    #[test]
    fn times_are_seconds_or_dates() {
        for (text, wanted) in [
            ("1700000000", Some(1_700_000_000_000)),
            ("1700000000.0016", Some(1_700_000_000_002)),
            ("-1.5", Some(-1_500)),
            ("2023-11-14T22:13:20Z", Some(1_700_000_000_000)),
            ("2023-11-14T23:13:20.5+01:00", Some(1_700_000_000_500)),
            ("now", None),
            ("NaN", None),
            ("1e300", None),
        ] {
            assert_eq!(time_ms(text), wanted, "{text}");
        }
    }
}
