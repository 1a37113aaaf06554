//! Exemplars: single observations beside samples, which lead to a trace or a log.

use crate::answer::{sampled, seconds};
use crate::key::read_label;
use crate::wire::Fields;
use foliot_model::Span;
use serde_json::{Map, Value as Json, json};

/// Characters of the names and values of an exemplar's labels together (OpenMetrics 1.0, and so in
/// Prometheus).
pub const EXEMPLAR_CHARS_MAX: usize = 128;

/// An observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exemplar {
    /// Its labels, as [`crate::pack_labels`] spells them.
    pub labels: Vec<u8>,
    /// What was observed.
    pub value: f64,
    /// When, in milliseconds, if that is said.
    pub time_ms: Option<i64>,
}

/// Exemplars with the series they are of.
#[derive(Debug, Default)]
pub struct Exemplars {
    bytes: Vec<u8>,
    list: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    series: Span,
    labels: Span,
    value: f64,
    time_ms: i64,
    has_time: bool,
}

/// One of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ListedExemplar<'a> {
    /// The packed labels of its series.
    pub series: &'a [u8],
    /// Its own.
    pub labels: &'a [u8],
    /// What was observed.
    pub value: f64,
    /// When, in milliseconds.
    pub time_ms: i64,
    /// Whether it says that itself.
    pub has_time: bool,
}

impl Exemplars {
    /// Adds one of the series whose packed labels come in these pieces; one that says no time is of
    /// `at_ms`.
    pub fn push(&mut self, series: &[&[u8]], exemplar: &Exemplar, at_ms: i64) {
        let start = self.bytes.len();
        series.iter().for_each(|piece| self.bytes.extend_from_slice(piece));
        let middle = self.bytes.len();
        self.bytes.extend_from_slice(&exemplar.labels);
        self.list.push(Place {
            series: Span::new(start, middle),
            labels: Span::new(middle, self.bytes.len()),
            value: exemplar.value,
            time_ms: exemplar.time_ms.unwrap_or(at_ms),
            has_time: exemplar.time_ms.is_some(),
        });
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.list.clear();
    }

    /// How many are listed.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether none is listed.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Those that are listed.
    pub fn iter(&self) -> impl Iterator<Item = ListedExemplar<'_>> {
        let of = |span: Span| {
            let (start, length) = (span.offset as usize, span.length as usize);
            self.bytes.get(start..start + length).unwrap_or_default()
        };
        self.list.iter().map(move |place| ListedExemplar {
            series: of(place.series),
            labels: of(place.labels),
            value: place.value,
            time_ms: place.time_ms,
            has_time: place.has_time,
        })
    }
}

/// Labels of an exemplar, by name.
pub type ExemplarLabels = Vec<(Box<str>, Box<str>)>;

/// Reads the packed labels of an exemplar, in the order of their names.
///
/// # Errors
/// Why they are none: in a sentence.
pub fn exemplar_labels(packed: &[u8]) -> Result<ExemplarLabels, String> {
    let text = |span: Span| {
        let bytes = packed.get(span.offset as usize..(span.offset + span.length) as usize);
        let text = std::str::from_utf8(bytes.unwrap_or_default());
        text.map_err(|_| "a label of the exemplar is no UTF-8".to_owned())
    };
    let (mut labels, mut chars) = (Vec::new(), 0);
    let mut fields = Fields::new(packed, 0, packed.len());
    while let Some(field) = fields.next().map_err(|bad| bad.to_string())? {
        let (start, end) = field.range().map_err(|bad| bad.to_string())?;
        let (name, value) = read_label(packed, start, end).map_err(|bad| bad.to_string())?;
        let (name, value) = (text(name)?, text(value)?);
        chars += name.chars().count() + value.chars().count();
        if chars > EXEMPLAR_CHARS_MAX {
            let most = EXEMPLAR_CHARS_MAX;
            return Err(format!("the labels of the exemplar have more than {most} characters"));
        }
        labels.push((Box::from(name), Box::from(value)));
    }
    labels.sort();
    Ok(labels)
}

/// Appends a series to the answer of `query_exemplars`: its labels, and labels, value and time in
/// milliseconds of each of its exemplars.
pub fn push_exemplars<'a, L: Iterator<Item = (&'a str, &'a str)>>(
    series: impl Iterator<Item = (&'a str, &'a str)>,
    exemplars: impl Iterator<Item = (L, f64, i64)>,
    out: &mut Vec<u8>,
) {
    let series = object(series);
    out.extend_from_slice(format!(r#"{{"seriesLabels":{series},"exemplars":["#).as_bytes());
    for (index, (labels, value, time_ms)) in exemplars.enumerate() {
        out.extend_from_slice(if index > 0 { b"," } else { b"" });
        let (labels, value, time) = (object(labels), sampled(value), seconds(time_ms));
        let text = format!(r#"{{"labels":{labels},"value":"{value}","timestamp":{time}}}"#);
        out.extend_from_slice(text.as_bytes());
    }
    out.extend_from_slice(b"]}");
}

fn object<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>) -> Json {
    let pairs = labels.map(|(name, value)| (name.to_owned(), json!(value)));
    Json::Object(pairs.collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack_labels;

    #[test]
    fn labels_are_read_within_a_bound() {
        let read = |labels: &[(&str, &str)]| {
            exemplar_labels(&pack_labels(labels.iter().copied())).map(|labels| labels.len())
        };
        assert_eq!(read(&[]), Ok(0));
        // 126 characters, though more bytes.
        let long = "é".repeat(126);
        assert_eq!(read(&[("id", &long)]), Ok(1));
        assert!(read(&[("id", &long), ("a", "")]).unwrap_err().contains("128 characters"));
        assert!(exemplar_labels(b"\x0a\x03\x0a\x01\xff").unwrap_err().contains("UTF-8"));
        assert!(exemplar_labels(b"\x0a\x09").unwrap_err().contains("longer than its message"));
    }

    #[test]
    fn an_answer_is_spelled_as_prometheus_spells_it() {
        let mut out = Vec::new();
        let one = ([("trace_id", "a\"b")].into_iter(), 0.5, 1_600_096_945_479);
        let other = ([("trace_id", "c")].into_iter(), f64::INFINITY, 1_600_096_955_000);
        let series = [("__name__", "m"), ("job", "a")].into_iter();
        push_exemplars(series, [one, other].into_iter(), &mut out);
        let wanted = r#"{"seriesLabels":{"__name__":"m","job":"a"},"exemplars":[{"labels":{"trace_id":"a\"b"},"value":"0.5","timestamp":1600096945.479},{"labels":{"trace_id":"c"},"value":"+Inf","timestamp":1600096955}]}"#;
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}
