//! Answers in JSON, and the times and numbers in them.

use crate::annotations::annotations;
use crate::promql::{STALE, SamplesAsked};
use foliot_model::{
    Frame, Histogram, Labels, NANOS_PER_MILLI, Value as Sample, excerpt, push_begin, push_integer,
    push_whole,
};
use foliot_plan::grid::{MEASUREMENT, Notes, Steps, name};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

const VECTOR: &str = "vector";
const MATRIX: &str = "matrix";

fn begin(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"status":"success","data":{"resultType":""#);
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(br#"","result":["#);
}

/// Writes a JSON string.
fn write_text(text: &str, out: &mut Vec<u8>) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    match text.bytes().all(is_plain) {
        true => {
            out.push(b'"');
            out.extend_from_slice(text.as_bytes());
            out.push(b'"');
        }
        false => out.extend_from_slice(Json::from(text).to_string().as_bytes()),
    }
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
    /// All rows of an answer share them.
    times: Times,
    /// One value of a series instead of a list of them.
    is_vector: bool,
    is_begun: bool,
    /// How many series may follow.
    left: usize,
    is_cut: bool,
    /// Whether more values of the last series may come.
    is_open: bool,
    /// Numbers of the last series that are not written yet, and whether some are.
    numbers: Vec<u8>,
    has_numbers: bool,
    /// Histograms of the last series, which stand behind all its numbers.
    histograms: Vec<u8>,
}

/// What Prometheus says of an answer of which a limit has kept something away.
pub(crate) const CUT: &str = "results truncated due to limit";

impl SeriesAnswer {
    /// Values of one instant, of so many series at most.
    pub fn vector(steps: Steps, limit: usize) -> Self {
        Self {
            steps,
            times: Times::default(),
            is_vector: true,
            is_begun: false,
            left: limit,
            is_cut: false,
            is_open: false,
            numbers: Vec::new(),
            has_numbers: false,
            histograms: Vec::new(),
        }
    }

    /// Values of several, of so many series at most.
    pub fn matrix(steps: Steps, limit: usize) -> Self {
        Self { is_vector: false, ..Self::vector(steps, limit) }
    }

    /// Adds a series with its values at the instants: numbers and histograms, of which there may
    /// be no places.
    pub fn row(
        &mut self,
        labels: &Labels,
        (values, histograms): (impl Iterator<Item = Option<f64>>, &[Option<Arc<Histogram>>]),
        out: &mut Vec<u8>,
    ) {
        let metric = labels.iter().map(|label| (&*label.name, &*label.value));
        if self.times.len() < self.steps.count {
            let steps = self.steps;
            self.times.extend((self.times.len()..steps.count).map(|index| steps.at(index)));
        }
        if !histograms.is_empty() {
            let all = values.zip(histograms).enumerate();
            for (index, (value, histogram)) in all {
                match (value, histogram) {
                    (Some(value), _) => self.number((self.steps.at(index), value)),
                    (None, Some(histogram)) => self.histogram((self.steps.at(index), histogram)),
                    (None, None) => {}
                }
            }
            return self.piece(metric, true, out);
        }
        let (mut metric, mut is_open) = (Some(metric), false);
        values.enumerate().for_each(|(index, value)| {
            let Some(value) = value else { return };
            if let Some(metric) = metric.take() {
                is_open = self.open(metric, out);
                if is_open {
                    self.begin_values("value", out);
                }
            }
            if is_open {
                self.times.write(index, out);
                write_sampled(value, out);
                out.extend_from_slice(b"\"],");
            }
        });
        if is_open {
            // The comma behind the last one.
            out.pop();
            self.end_values(out);
            self.close(out);
        }
    }

    /// Adds a piece of a series as it is stored, without marks that it is over. Says how many bytes
    /// are held until the rest comes.
    pub fn frame(&mut self, asked: &SamplesAsked, frame: &Frame, out: &mut Vec<u8>) -> usize {
        let name = name(&frame.head.measurement, &frame.head.field);
        if !asked.has_name(&name) {
            return 0;
        }
        for (at_ns, value) in frame.samples.iter() {
            if let Sample::Histogram(bytes) = value {
                if let Some(of) = Histogram::read(bytes).filter(|of| of.sum.to_bits() != STALE) {
                    self.histogram((at_ns, &of));
                }
            } else if let Some(value) = value.as_f64().filter(|value| value.to_bits() != STALE) {
                self.number((at_ns, value));
            }
        }
        let labels = frame.head.labels.iter().map(|label| (&*label.name, &*label.value));
        // The name stands among the labels, and instead of one that is called as it is.
        let metric: BTreeMap<&str, &str> = labels.chain([(MEASUREMENT, &*name)]).collect();
        self.piece(metric.into_iter(), frame.is_last, out);
        self.histograms.len()
    }

    fn number(&mut self, (at_ns, value): (i64, f64)) {
        separate(&mut self.numbers);
        write_before(at_ns, &mut self.numbers);
        write_sampled(value, &mut self.numbers);
        self.numbers.extend_from_slice(b"\"]");
    }

    fn histogram(&mut self, (at_ns, of): (i64, &Histogram)) {
        let time = seconds(at_ns.div_euclid(NANOS_PER_MILLI));
        separate(&mut self.histograms);
        self.histograms.extend_from_slice(format!("[{time},").as_bytes());
        histogram_json(of, &mut self.histograms);
        self.histograms.push(b']');
    }

    /// Writes the numbers that were gathered, and behind the last of them the histograms.
    fn piece<'l>(
        &mut self,
        metric: impl Iterator<Item = (&'l str, &'l str)>,
        is_last: bool,
        out: &mut Vec<u8>,
    ) {
        let has_values = !self.numbers.is_empty() || (is_last && !self.histograms.is_empty());
        if !self.is_open && !has_values {
            return;
        }
        if !self.is_open && !self.open(metric, out) {
            self.numbers.clear();
            self.histograms.clear();
            return;
        }
        if !self.numbers.is_empty() {
            match std::mem::replace(&mut self.has_numbers, true) {
                true => out.push(b','),
                false => self.begin_values("value", out),
            }
            out.append(&mut self.numbers);
        }
        if !is_last {
            return;
        }
        if std::mem::take(&mut self.has_numbers) {
            self.end_values(out);
        }
        if !self.histograms.is_empty() {
            self.begin_values("histogram", out);
            out.append(&mut self.histograms);
            self.end_values(out);
        }
        self.close(out);
    }

    /// Begins a series, whose labels come by their names; says no, and that the answer is cut, when
    /// there may be no more of them.
    fn open<'l>(
        &mut self,
        metric: impl Iterator<Item = (&'l str, &'l str)>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Some(left) = self.left.checked_sub(1) else {
            self.is_cut = true;
            return false;
        };
        self.left = left;
        self.begin(out);
        out.extend_from_slice(br#"{"metric":{"#);
        let mut is_first = true;
        for (name, value) in metric {
            if !std::mem::take(&mut is_first) {
                out.push(b',');
            }
            write_text(name, out);
            out.push(b':');
            write_text(value, out);
        }
        out.push(b'}');
        self.is_open = true;
        true
    }

    /// What stands before the values of a series: one, or a list of them.
    fn begin_values(&self, name: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(if self.is_vector { b"\":" } else { b"s\":[" });
    }

    fn end_values(&self, out: &mut Vec<u8>) {
        if !self.is_vector {
            out.push(b']');
        }
    }

    /// Ends a series.
    fn close(&mut self, out: &mut Vec<u8>) {
        out.push(b'}');
        self.is_open = false;
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

/// What stands before the number of each instant.
#[derive(Debug, Default)]
struct Times {
    texts: Vec<Text>,
    /// What whole seconds begin with that have these digits before their last four ones.
    beginning: Text,
    digits: i64,
}

/// A bracket, 17 digits at most with a sign and a point, and the beginning of a text; and how long
/// they are.
type Text = ([u8; 24], usize);

impl Times {
    /// Adds instants, of which most have all but the last digits of the one before.
    fn extend(&mut self, instants_ns: impl ExactSizeIterator<Item = i64>) {
        self.texts.reserve(instants_ns.len());
        for at_ns in instants_ns {
            let ms = at_ns.div_euclid(NANOS_PER_MILLI);
            let (seconds, digits) = (ms / 1000, ms / 10_000_000);
            let text = match digits > 0 && ms % 1000 == 0 {
                true => {
                    if digits != self.digits {
                        self.beginning = spelled(|out| write_whole(digits, out));
                        self.digits = digits;
                    }
                    let (mut text, len) = self.beginning;
                    let end = text.get_mut(len..).and_then(<[u8]>::first_chunk_mut::<6>);
                    end.into_iter().for_each(|end| *end = last_digits(seconds % 10_000));
                    (text, len + 6)
                }
                false => spelled(|out| write_before(at_ns, out)),
            };
            self.texts.push(text);
        }
    }

    fn len(&self) -> usize {
        self.texts.len()
    }

    #[inline]
    fn write(&self, index: usize, out: &mut Vec<u8>) {
        if let Some((text, len)) = self.texts.get(index) {
            push_begin(text, *len, out);
        }
    }
}

/// What is written, as far as there is room.
fn spelled(write: impl FnOnce(&mut Vec<u8>)) -> Text {
    let mut written = Vec::with_capacity(48);
    write(&mut written);
    let len = written.len();
    written.extend_from_slice(&[0; 24]);
    (written.first_chunk().copied().unwrap_or_default(), len.min(24))
}

/// What a whole number of seconds begins with.
fn write_whole(digits: i64, out: &mut Vec<u8>) {
    out.push(b'[');
    push_integer(digits, out);
}

/// The last four digits of a whole number of seconds, and what stands between it and a number.
fn last_digits(number: i64) -> [u8; 6] {
    let digit = |unit: i64| b'0' + (number / unit % 10) as u8;
    [digit(1000), digit(100), digit(10), digit(1), b',', b'"']
}

/// Writes what stands before a number.
fn write_before(at_ns: i64, out: &mut Vec<u8>) {
    out.push(b'[');
    write_seconds(at_ns.div_euclid(NANOS_PER_MILLI), out);
    out.extend_from_slice(b",\"");
}

fn separate(list: &mut Vec<u8>) {
    if !list.is_empty() {
        list.push(b',');
    }
}

/// A histogram, with those of its buckets that are not empty. Before its bounds each has a number
/// that says which of them belong to it: 0 the upper one, 1 the lower one, 2 none, 3 both.
fn histogram_json(of: &Histogram, out: &mut Vec<u8>) {
    let (count, sum) = (sampled(of.count), sampled(of.sum));
    out.extend_from_slice(format!(r#"{{"count":"{count}","sum":"{sum}""#).as_bytes());
    let mut has_some = false;
    for bucket in of.intervals().filter(|bucket| bucket.count != 0.0) {
        out.extend_from_slice(if has_some { b"," } else { b",\"buckets\":[" });
        has_some = true;
        let ends = match (bucket.has_lower, bucket.has_upper) {
            (false, true) => 0,
            (true, false) => 1,
            (false, false) => 2,
            (true, true) => 3,
        };
        let [lower, upper, count] = [bucket.lower, bucket.upper, bucket.count].map(sampled);
        let text = format!(r#"[{ends},"{lower}","{upper}","{count}"]"#);
        out.extend_from_slice(text.as_bytes());
    }
    out.extend_from_slice(if has_some { b"]}" } else { b"}" });
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
    json!({"status": "error", "errorType": kind, "error": excerpt(reason)}).to_string()
}

/// The shortest decimal number without an exponent, as Go prints it.
pub fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ if value.fract() != 0.0 && SHORTEST.contains(&value.abs()) => {
            zmij::Buffer::new().format_finite(value).to_owned()
        }
        _ => value.to_string(),
    }
}

/// Sizes of numbers that are written without an exponent. Of two texts as short and as near the
/// even one is written, as in Go and not as in the standard library.
const SHORTEST: Range<f64> = 1e-4..1e15;

/// The same of samples, where very small and very large ones have an exponent.
pub(crate) fn sampled(value: f64) -> String {
    let is_short = value == 0.0 || !value.is_finite() || (1e-6..1e21).contains(&value.abs());
    if is_short {
        return number(value);
    }
    let spelled = format!("{value:e}");
    let (mantissa, exponent) = spelled.split_once('e').unwrap_or((&spelled, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// Writes what [`sampled`] says.
fn write_sampled(value: f64, out: &mut Vec<u8>) {
    let size = value.abs();
    let whole = value as i64;
    if size < 1e15 && whole as f64 == value && (whole != 0 || value.is_sign_positive()) {
        push_integer(whole, out);
    } else if SHORTEST.contains(&size) {
        out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
    } else {
        out.extend_from_slice(sampled(value).as_bytes());
    }
}

/// Milliseconds as seconds: three digits behind the point, or none.
pub(crate) fn seconds(ms: i64) -> String {
    let mut out = Vec::new();
    write_seconds(ms, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn write_seconds(ms: i64, out: &mut Vec<u8>) {
    if ms < 0 {
        out.push(b'-');
    }
    let (whole, part) = (ms.unsigned_abs() / 1000, ms.unsigned_abs() % 1000);
    push_whole(whole, out);
    if part > 0 {
        // The digit before them keeps zeros, and is the point's place.
        let start = out.len();
        push_whole(1000 + part, out);
        out.get_mut(start).into_iter().for_each(|point| *point = b'.');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(value: f64) -> String {
        let mut out = Vec::new();
        write_sampled(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    proptest! {
        /// The oracle is the standard library, but where two texts are as short and as near: there
        /// Go writes the even one (825345756604763.2 of 825345756604763.25).
        #[test]
        fn numbers_are_the_shortest_that_read_back(
            of in prop_oneof![
                any::<f64>(),
                (any::<i64>(), 0..20).prop_map(|(digits, point)| digits as f64 / 10f64.powi(point)),
                (-2_000_000_000..2_000_000_000i64).prop_map(|whole| whole as f64),
            ],
        ) {
            let text = written(of);
            if of.is_finite() && (1e-6..1e21).contains(&of.abs()) {
                let other = of.to_string();
                let is_even = text.ends_with(['0', '2', '4', '6', '8']);
                let are_near = text.get(..text.len() - 1) == other.get(..other.len() - 1);
                prop_assert!(text == other || (are_near && is_even), "{} and {}", text, other);
            }
            if !of.is_nan() {
                prop_assert_eq!(text.parse::<f64>().unwrap().to_bits(), of.to_bits());
            }
        }
    }

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
        // As near to both is the even one.
        for (fourfold, wanted) in [
            (3_301_383_026_419_053.0, "825345756604763.2"),
            (3_301_383_026_419_055.0, "825345756604763.8"),
        ] {
            assert_eq!((&*written(fourfold / 4.0), &*number(fourfold / 4.0)), (wanted, wanted));
        }
        for (value, wanted) in [
            (0.0, "0"),
            (1e-6, "0.000001"),
            (1.5e-7, "1.5e-07"),
            (-2f64.powi(-128), "-2.938735877055719e-39"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(sampled(value), wanted);
            assert_eq!(written(value), wanted);
        }
        let times =
            [(0, "0"), (1_500, "1.500"), (-1, "-0.001"), (1_700_000_000_007, "1700000000.007")];
        for (ms, wanted) in times {
            assert_eq!(seconds(ms), wanted);
        }
    }

    #[test]
    fn instants_are_those_that_stand_alone() {
        let mut times = Times::default();
        let seconds = [-7, 0, 9_999, 10_000, 19_999, 20_000, 1_767_225_990, 1_767_230_000];
        let instants =
            seconds.iter().flat_map(|second| [0, 7, 250, 10_000].map(|ms| second * 1000 + ms));
        let instants: Vec<i64> = instants.map(|ms| ms * NANOS_PER_MILLI).collect();
        times.extend(instants.iter().copied());
        for (index, at_ns) in instants.into_iter().enumerate() {
            let (mut written, mut alone) = (Vec::new(), Vec::new());
            times.write(index, &mut written);
            write_before(at_ns, &mut alone);
            assert_eq!(String::from_utf8(written), String::from_utf8(alone));
        }
    }
}
