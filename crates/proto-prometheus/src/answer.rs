//! Answers in JSON, and the times and numbers in them.

use crate::annotations::annotations;
use crate::promql::{STALE, SamplesAsked, duration_seconds};
use foliot_model::{Frame, Labels, NANOS_PER_MILLI};
use foliot_plan::grid::{MEASUREMENT, Notes, Steps, name};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

const VECTOR: &str = "vector";
const MATRIX: &str = "matrix";

fn begin(kind: &str, out: &mut Vec<u8>) {
    let text = format!(r#"{{"status":"success","data":{{"resultType":"{kind}","result":["#);
    out.extend_from_slice(text.as_bytes());
}

/// An answer whose only value is a text or a number.
/// It ends as [`SeriesAnswer::finish`] says.
pub fn single(kind: &str, at_ms: i64, text: &str, (notes, question): (&Notes, &str)) -> Vec<u8> {
    let mut out = Vec::new();
    begin(kind, &mut out);
    let said = annotations(notes, question, false);
    out.extend_from_slice(format!("{},{}]}}{said}}}", seconds(at_ms), json!(text)).as_bytes());
    out
}

/// Series with a value, or values, each: all of them, then the end.
#[derive(Debug)]
pub struct SeriesAnswer {
    steps: Steps,
    /// One value of a series instead of a list of them.
    is_vector: bool,
    is_begun: bool,
    /// How many series may follow.
    left: usize,
    is_cut: bool,
    /// Whether more values of the last series may come.
    is_open: bool,
}

/// What Prometheus says of an answer of which a limit has kept something away.
pub(crate) const CUT: &str = "results truncated due to limit";

impl SeriesAnswer {
    /// Values of one instant, of so many series at most.
    pub fn vector(steps: Steps, limit: usize) -> Self {
        Self { steps, is_vector: true, is_begun: false, left: limit, is_cut: false, is_open: false }
    }

    /// Values of several, of so many series at most.
    pub fn matrix(steps: Steps, limit: usize) -> Self {
        Self { is_vector: false, ..Self::vector(steps, limit) }
    }

    /// Adds a series with its values at the instants.
    pub fn row(&mut self, labels: &Labels, values: &[Option<f64>], out: &mut Vec<u8>) {
        let steps = self.steps;
        let there = values.iter().enumerate();
        let there = there.filter_map(|(index, value)| Some((steps.at(index), (*value)?)));
        let metric = labels.iter().map(|label| (&*label.name, &*label.value));
        self.series(metric, there, true, out);
    }

    /// Adds a piece of a series as it is stored, without marks that it is over.
    pub fn frame(&mut self, asked: &SamplesAsked, frame: &Frame, out: &mut Vec<u8>) {
        let name = name(&frame.head.measurement, &frame.head.field);
        if !asked.has_name(&name) {
            return;
        }
        let there = frame.samples.iter();
        let there = there.filter_map(|(at_ns, value)| Some((at_ns, value.as_f64()?)));
        let there = there.filter(|(_, value)| value.to_bits() != STALE);
        let labels = frame.head.labels.iter().map(|label| (&*label.name, &*label.value));
        let name = (MEASUREMENT, &*name);
        self.series(labels.chain([name]), there, frame.is_last, out);
    }

    fn series<'l>(
        &mut self,
        metric: impl Iterator<Item = (&'l str, &'l str)>,
        mut values: impl Iterator<Item = (i64, f64)>,
        is_last: bool,
        out: &mut Vec<u8>,
    ) {
        let put = |(at_ns, value): (i64, f64), out: &mut Vec<u8>| {
            let time = seconds(at_ns.div_euclid(NANOS_PER_MILLI));
            out.extend_from_slice(format!(r#"[{time},"{}"]"#, number(value)).as_bytes());
        };
        if !self.is_open {
            let Some(first) = values.next() else { return };
            let Some(left) = self.left.checked_sub(1) else {
                self.is_cut = true;
                return;
            };
            self.left = left;
            self.begin(out);
            let metric: Map<String, Json> =
                metric.map(|(name, value)| (name.to_owned(), json!(value))).collect();
            let open = if self.is_vector { "\"value\":" } else { "\"values\":[" };
            let metric = Json::Object(metric);
            out.extend_from_slice(format!(r#"{{"metric":{metric},{open}"#).as_bytes());
            put(first, out);
        }
        for value in values {
            out.push(b',');
            put(value, out);
        }
        self.is_open = !is_last;
        if is_last {
            out.extend_from_slice(if self.is_vector { b"}" } else { b"]}" });
        }
    }

    /// Ends the answer with what is said beside it: what was noted of a question.
    pub fn finish(mut self, notes: &Notes, question: &str, out: &mut Vec<u8>) {
        if !self.is_begun {
            self.begin(out);
        }
        let said = annotations(notes, question, self.is_cut);
        out.extend_from_slice(format!("]}}{said}}}").as_bytes());
    }

    /// What stands before a series.
    fn begin(&mut self, out: &mut Vec<u8>) {
        match self.is_begun {
            true => out.push(b','),
            false => begin(if self.is_vector { VECTOR } else { MATRIX }, out),
        }
        self.is_begun = true;
    }
}

/// What series are called, as an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Each with all its labels.
    Series,
    /// The names of labels.
    Labels,
    /// The values of a label.
    Values(String),
}

impl Listing {
    /// At most so many of them, without what comes twice.
    pub fn answer(&self, series: &[Labels], limit: usize) -> Vec<u8> {
        let pairs = || series.iter().flat_map(Labels::iter);
        let mut data: Vec<Json> = match self {
            Self::Series => series.iter().take(limit.saturating_add(1)).map(metric).collect(),
            Self::Labels => texts(pairs().map(|label| &*label.name).collect()),
            Self::Values(name) => {
                let own = pairs().filter(|label| *label.name == **name);
                texts(own.map(|label| &*label.value).collect())
            }
        };
        let is_cut = data.len() > limit;
        data.truncate(limit);
        match is_cut {
            false => success(&data.into()),
            true => {
                let answer = json!({"status": "success", "data": data, "warnings": [CUT]});
                answer.to_string().into_bytes()
            }
        }
    }
}

fn texts(texts: BTreeSet<&str>) -> Vec<Json> {
    texts.into_iter().map(Json::from).collect()
}

fn metric(labels: &Labels) -> Json {
    let pairs = labels.iter().map(|label| (label.name.to_string(), json!(&*label.value)));
    Json::Object(pairs.collect())
}

/// An answer that is not of series.
pub fn success(data: &Json) -> Vec<u8> {
    json!({"status": "success", "data": data}).to_string().into_bytes()
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

/// Reads a length of time: seconds as a decimal number, or a duration such as `1h30m`; in
/// milliseconds.
pub fn length_ms(text: &str) -> Option<i64> {
    let seconds = text.parse::<f64>().ok().or_else(|| duration_seconds(text))?;
    let ms = (seconds * 1000.0).round();
    (ms.abs() <= (i64::MAX / NANOS_PER_MILLI) as f64).then_some(ms as i64)
}

/// The shortest decimal number without an exponent, as Go prints it.
pub fn number(value: f64) -> String {
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
