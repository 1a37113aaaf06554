//! Remote read: requests into questions, and series into the answer, which is one message.

use crate::promql::VectorSelector;
use crate::series::{push_histogram_sample, push_number_sample};
use crate::wire::{Field, Fields, Value, push_bytes};
use crate::write::Malformed;
use foliot_model::{Frame, Histogram, NANOS_PER_MILLI, TimeRange, Value as Sample};
use foliot_plan::grid::{MEASUREMENT, name};
use std::collections::BTreeMap;

/// Questions of a request. Prometheus sends one.
const QUERIES_MAX: usize = 100;

/// What one question wants: series, and the time that their samples are of, in milliseconds.
#[derive(Clone, Debug)]
pub struct ReadQuery {
    /// Which series.
    pub selector: VectorSelector,
    /// Both ends included.
    pub range: TimeRange,
}

/// The questions of a request.
///
/// # Errors
/// When it is no message of remote read, or a condition is no regular expression.
pub fn read_queries(bytes: &[u8]) -> Result<Vec<ReadQuery>, Malformed> {
    let mut queries = Vec::new();
    let mut fields = Fields::new(bytes, 0, bytes.len());
    while let Some(field) = fields.next()? {
        if field.number == 1 {
            if queries.len() == QUERIES_MAX {
                return Err(Malformed(format!("more than {QUERIES_MAX} queries")));
            }
            queries.push(read_query(bytes, &field)?);
        }
    }
    Ok(queries)
}

fn read_query(bytes: &[u8], query: &Field) -> Result<ReadQuery, Malformed> {
    let (start, end) = query.range()?;
    let (mut start_ms, mut end_ms, mut selector) = (0i64, 0i64, VectorSelector::any());
    let mut fields = Fields::new(bytes, start, end);
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (1, Value::Varint(ms)) => start_ms = ms as i64,
            (2, Value::Varint(ms)) => end_ms = ms as i64,
            (3, Value::Bytes(..)) => read_matcher(bytes, &field, &mut selector)?,
            (1..=3, _) => return Err(field.mistyped()),
            _ => {}
        }
    }
    let end_ns = end_ms.saturating_mul(NANOS_PER_MILLI).saturating_add(NANOS_PER_MILLI - 1);
    let range = TimeRange::new(start_ms.saturating_mul(NANOS_PER_MILLI), end_ns);
    Ok(ReadQuery { selector, range })
}

fn read_matcher(
    bytes: &[u8],
    matcher: &Field,
    selector: &mut VectorSelector,
) -> Result<(), Malformed> {
    let (start, end) = matcher.range()?;
    let (mut sign, mut name, mut value) = ("=", "", "");
    let text = |field: &Field| {
        let (start, end) = field.range()?;
        let text = bytes.get(start..end).and_then(|text| std::str::from_utf8(text).ok());
        text.ok_or_else(|| Malformed("a matcher is no UTF-8".to_owned()))
    };
    let mut fields = Fields::new(bytes, start, end);
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (1, Value::Varint(kind)) => {
                let signs = ["=", "!=", "=~", "!~"];
                let found = usize::try_from(kind).ok().and_then(|kind| signs.get(kind));
                sign = found.ok_or_else(|| Malformed(format!("kind {kind} of a matcher")))?;
            }
            (2, _) => name = text(&field)?,
            (3, _) => value = text(&field)?,
            (1, _) => return Err(field.mistyped()),
            _ => {}
        }
    }
    selector.require(name, sign, value).map_err(Malformed)
}

/// The series of one question.
#[derive(Debug, Default)]
pub struct ReadResult {
    /// Samples of each series, as fields of its message, by name and labels.
    series: BTreeMap<Vec<(String, String)>, Vec<u8>>,
}

impl ReadResult {
    /// Adds a piece of a series; says how many bytes that takes.
    pub fn add(&mut self, frame: &Frame) -> usize {
        let name = name(&frame.head.measurement, &frame.head.field);
        let own = (MEASUREMENT.to_owned(), name.to_string());
        let labels = frame.head.labels.iter();
        let labels = labels.map(|label| (label.name.to_string(), label.value.to_string()));
        let mut labels: Vec<(String, String)> = labels.chain([own]).collect();
        labels.sort_unstable();
        let names: usize = labels.iter().map(|(name, value)| name.len() + value.len()).sum();
        let samples = self.series.entry(labels).or_default();
        let before = samples.len();
        for (at_ns, value) in frame.samples.iter() {
            let time_ms = at_ns.div_euclid(NANOS_PER_MILLI);
            if let Sample::Histogram(bytes) = value {
                let Some(histogram) = Histogram::read(bytes) else { continue };
                push_histogram_sample(&histogram, time_ms, samples);
                continue;
            }
            let Some(value) = value.as_f64() else { continue };
            push_number_sample(value, time_ms, samples);
        }
        // Each byte is held three times at most until it is packed.
        (names + samples.len() - before) * 3
    }

    /// Appends the series to an answer.
    pub fn finish(self, out: &mut Vec<u8>) {
        let (mut result, mut one, mut label) = (Vec::new(), Vec::new(), Vec::new());
        for (labels, samples) in self.series.iter().filter(|(_, samples)| !samples.is_empty()) {
            one.clear();
            for (name, value) in labels {
                label.clear();
                push_bytes(1, name.as_bytes(), &mut label);
                push_bytes(2, value.as_bytes(), &mut label);
                push_bytes(1, &label, &mut one);
            }
            one.extend_from_slice(samples);
            push_bytes(1, &one, &mut result);
        }
        push_bytes(1, &result, out);
    }
}
