//! Frames into answers: the JSON of `/api/query` and the lines of `/q?ascii`.
//!
//! Answers are written as frames arrive; nothing of them is kept but the head of the open series.

mod double;
mod lines;

pub use lines::LineEncoder;

use crate::annotation::Note;
use crate::budget::Budget;
use crate::histogram::suffix;
use crate::http::HttpError;
use crate::lang::{Question, Request, Source, Tsuid};
pub use double::write_double;
use foliot_model::{
    DEFAULT_FIELD, Frame, Labels, NANOS_PER_MILLI, NANOS_PER_SECOND, SeriesHead, Value, Values,
    push_integer, push_whole,
};
use foliot_plan::Fill;
use std::borrow::Cow;
use std::io::Write as _;
use std::sync::Arc;

/// Finds the TSUID of a stored series by its id.
pub type TsuidOf<'a> = dyn Fn(u32) -> Option<Tsuid> + 'a;

/// Writes the answer to a [`Request`].
///
/// Differs from OpenTSDB on purpose: `stats` holds what is known while streaming.
pub struct Encoder<'a> {
    request: &'a Request,
    tsuid_of: Box<TsuidOf<'a>>,
    is_begun: bool,
    open: Option<Open>,
    /// What gathering may take.
    budget: &'a Budget<'a>,
}

/// The series being written.
struct Open {
    head: Arc<SeriesHead>,
    samples: u64,
    nan_is_null: bool,
}

impl std::fmt::Debug for Encoder<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("is_begun", &self.is_begun).finish_non_exhaustive()
    }
}

impl<'a> Encoder<'a> {
    /// An encoder of the answer to `request`. `tsuid_of` is asked only when the request wants
    /// TSUIDs. What must be there whole before it is written is taken from `budget`.
    pub fn new(request: &'a Request, tsuid_of: Box<TsuidOf<'a>>, budget: &'a Budget<'a>) -> Self {
        Self { request, tsuid_of, is_begun: false, open: None, budget }
    }

    /// Appends a frame to the answer.
    ///
    /// # Errors
    /// When a value is infinite, which OpenTSDB refuses to print, and what the budget refuses. What
    /// was written before is then part of an answer that must not be completed.
    pub fn frame(&mut self, frame: &Frame, out: &mut Vec<u8>) -> Result<(), HttpError> {
        let continues = self.open.as_ref().is_some_and(|open| Arc::ptr_eq(&open.head, &frame.head));
        if !continues {
            self.close_series(out);
            self.budget.steps(frame.head.members.len())?;
            let name = self.request.name_of(&frame.head);
            self.open_series(&frame.head, &name, out);
        }
        let as_arrays = self.request.output.as_arrays;
        let unit_ns = if self.request.output.in_ms { NANOS_PER_MILLI } else { NANOS_PER_SECOND };
        if let Some(open) = &mut self.open {
            write_samples(frame, open, as_arrays, unit_ns, out)?;
        }
        if frame.is_last {
            self.close_series(out);
        }
        Ok(())
    }

    /// Ends the answer. `summary` are figures about the query, shown when it asks for them.
    ///
    /// # Errors
    /// As [`Encoder::frame`].
    pub fn finish(mut self, summary: &[(&str, f64)], out: &mut Vec<u8>) -> Result<(), HttpError> {
        self.close_series(out);
        if self.request.output.shows_summary {
            self.begin_element(out);
            out.extend_from_slice(b"{\"statsSummary\":{");
            for (index, (name, figure)) in summary.iter().enumerate() {
                out.extend_from_slice(if index > 0 { b"," } else { b"" });
                write_text(name, out);
                out.push(b':');
                write_double(*figure, out);
            }
            out.extend_from_slice(b"}}");
        }
        if !self.is_begun {
            self.begin(out);
        }
        out.push(b']');
        if self.request.output.jsonp.is_some() {
            out.push(b')');
        }
        Ok(())
    }

    fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some(function) = &self.request.output.jsonp {
            out.extend_from_slice(function.as_bytes());
            out.push(b'(');
        }
        out.push(b'[');
        self.is_begun = true;
    }

    fn begin_element(&mut self, out: &mut Vec<u8>) {
        match self.is_begun {
            true => out.push(b','),
            false => self.begin(out),
        }
    }

    fn open_series(&mut self, head: &Arc<SeriesHead>, name: &str, out: &mut Vec<u8>) {
        self.begin_element(out);
        let question = self.request.question(head.question);
        out.extend_from_slice(b"{\"metric\":");
        write_text(name, out);
        out.extend_from_slice(b",\"tags\":{");
        write_labels(&head.labels, out);
        out.extend_from_slice(b"},\"aggregateTags\":[");
        write_list(head.varying.iter().map(|name| &**name), out);
        out.push(b']');
        let output = &self.request.output;
        if let Some(question) = question.filter(|_| output.shows_query) {
            out.extend_from_slice(b",\"query\":");
            out.extend_from_slice(question.show(head.question).as_bytes());
        }
        let mut words: Vec<String> = Vec::new();
        if output.shows_tsuids || !self.request.notes.by_tsuid.is_empty() {
            let tsuids = head.members.iter().filter_map(|&sid| (self.tsuid_of)(sid));
            words.extend(tsuids.map(|tsuid| tsuid.to_string()));
            words.sort_unstable();
        }
        if output.shows_tsuids {
            out.extend_from_slice(b",\"tsuids\":[");
            write_list(words.iter().map(String::as_str), out);
            out.push(b']');
        }
        self.write_notes(&words, question, out);
        out.extend_from_slice(b",\"dps\":");
        out.push(if output.as_arrays { b'[' } else { b'{' });
        let downsample = question.and_then(|question| question.downsample.as_ref());
        let nan_is_null = downsample.is_some_and(|downsample| downsample.fill == Fill::Null);
        self.open = Some(Open { head: Arc::clone(head), samples: 0, nan_is_null });
    }

    /// Writes the annotations of a series, those of its members and those about everything; a list
    /// is empty when all are outside of the query.
    fn write_notes(&self, tsuids: &[String], question: Option<&Question>, out: &mut Vec<u8>) {
        let request = self.request;
        let read = question.map(|question| question.range(request.start_ms, request.end_ms));
        let is_read = |note: &&Note| {
            let time_ns = note.start_ms().saturating_mul(NANOS_PER_MILLI);
            read.is_none_or(|range| range.contains(time_ns))
        };
        let known = tsuids.iter().filter_map(|tsuid| request.notes.by_tsuid.get(tsuid));
        let notes: Vec<&Note> = known.flatten().filter(is_read).collect();
        let globals: Vec<&Note> = request.notes.globals.iter().collect();
        for (name, mut notes) in [("annotations", notes), ("globalAnnotations", globals)] {
            if notes.is_empty() {
                continue;
            }
            notes.retain(|note| (request.start_ms..=request.end_ms).contains(&note.start_ms()));
            notes.sort_by_key(|note| note.start_ms());
            let list: Vec<String> = notes.iter().map(|note| note.to_json().to_string()).collect();
            out.extend_from_slice(format!(",\"{name}\":[{}]", list.join(",")).as_bytes());
        }
    }

    fn close_series(&mut self, out: &mut Vec<u8>) {
        let Some(open) = self.open.take() else { return };
        out.push(if self.request.output.as_arrays { b']' } else { b'}' });
        if self.request.output.shows_stats {
            // Writing to a vector cannot fail.
            let _ = write!(out, ",\"stats\":{{\"emittedDPs\":{}}}", open.samples);
        }
        out.push(b'}');
    }
}

impl Request {
    /// What a series of the answer is called: the metric that was asked for, or the one it is
    /// stored under.
    pub fn name_of<'n>(&'n self, head: &'n SeriesHead) -> Cow<'n, str> {
        metric_name(head, self.question(head.question))
    }
}

/// What a series is called: as asked, or by what is stored when it was asked for by id.
fn metric_name<'n>(head: &'n SeriesHead, question: Option<&'n Question>) -> Cow<'n, str> {
    let name: Cow<'n, str> = match question.map(|question| &question.source) {
        Some(Source::Metric(metric)) => Cow::Borrowed(metric.as_str()),
        _ if head.field.is_empty() || *head.field == *DEFAULT_FIELD => {
            Cow::Borrowed(&head.measurement)
        }
        _ => Cow::Owned(format!("{}.{}", head.measurement, head.field)),
    };
    match head.figure {
        Some(figure) => Cow::Owned(format!("{name}{}", suffix(figure))),
        None => name,
    }
}

fn write_samples(
    frame: &Frame,
    open: &mut Open,
    as_arrays: bool,
    unit_ns: i64,
    out: &mut Vec<u8>,
) -> Result<(), HttpError> {
    let mut write_time = |time_ns: i64, out: &mut Vec<u8>| {
        if open.samples > 0 {
            out.push(b',');
        }
        open.samples += 1;
        out.push(if as_arrays { b'[' } else { b'"' });
        push_integer(time_ns.div_euclid(unit_ns), out);
        match as_arrays {
            true => out.push(b','),
            false => out.extend_from_slice(b"\":"),
        }
    };
    let write_end = |out: &mut Vec<u8>| {
        if as_arrays {
            out.push(b']');
        }
    };
    let times_ns = &frame.samples.times_ns;
    match &frame.samples.values {
        Values::Float(values) => {
            for (&time_ns, &value) in times_ns.iter().zip(values) {
                write_time(time_ns, out);
                write_float(value, open.nan_is_null, out)?;
                write_end(out);
            }
            return Ok(());
        }
        Values::Integer(values) => {
            for (&time_ns, &value) in times_ns.iter().zip(values) {
                write_time(time_ns, out);
                push_integer(value, out);
                write_end(out);
            }
            return Ok(());
        }
        _ => {}
    }
    for (time_ns, value) in frame.samples.iter() {
        if matches!(value, Value::Histogram(_)) {
            continue;
        }
        write_time(time_ns, out);
        write_value(value, open.nan_is_null, out)?;
        write_end(out);
    }
    Ok(())
}

/// The text of a value as this door prints it; nothing for histograms.
pub fn value_text(value: Value<'_>) -> String {
    let mut out = Vec::new();
    match value {
        Value::String(text) => return text.to_owned(),
        Value::Float(value) if !value.is_finite() => return value.to_string(),
        // Finite floats cannot fail.
        value => drop(write_value(value, false, &mut out)),
    }
    String::from_utf8(out).unwrap_or_default()
}

/// Writes a value: integers as such, booleans as 0 and 1, floats in Java's notation.
fn write_value(value: Value<'_>, nan_is_null: bool, out: &mut Vec<u8>) -> Result<(), HttpError> {
    match value {
        Value::Float(value) => return write_float(value, nan_is_null, out),
        Value::Integer(value) => push_integer(value, out),
        Value::Unsigned(value) => push_whole(value, out),
        Value::Boolean(value) => out.push(if value { b'1' } else { b'0' }),
        Value::String(text) => write_text(text, out),
        Value::Histogram(_) => out.extend_from_slice(b"null"),
    }
    Ok(())
}

#[inline]
fn write_float(value: f64, nan_is_null: bool, out: &mut Vec<u8>) -> Result<(), HttpError> {
    if value.is_finite() {
        write_double(value, out);
        return Ok(());
    }
    if !value.is_nan() {
        return Err(infinite());
    }
    out.extend_from_slice(if nan_is_null { b"null" } else { b"\"NaN\"" });
    Ok(())
}

/// The refusal of an infinite value.
pub(crate) fn infinite() -> HttpError {
    HttpError::bad_request("Got Infinity: an infinite value cannot be written as JSON")
}

fn write_list<'t>(texts: impl Iterator<Item = &'t str>, out: &mut Vec<u8>) {
    for (index, text) in texts.enumerate() {
        out.extend_from_slice(if index > 0 { b"," } else { b"" });
        write_text(text, out);
    }
}

/// Writes labels as the members of a JSON object.
pub(crate) fn write_labels(labels: &Labels, out: &mut Vec<u8>) {
    for (index, label) in labels.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_text(&label.name, out);
        out.push(b':');
        write_text(&label.value, out);
    }
}

/// Writes a JSON string.
pub(crate) fn write_text(text: &str, out: &mut Vec<u8>) {
    if is_plain(text.as_bytes()) {
        out.reserve(text.len() + 2);
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes());
    }
}

/// Whether a text stands in a JSON string as it is: without quotes, backslashes and control
/// characters. Eight bytes are looked at together, because answers have dozens of names.
fn is_plain(text: &[u8]) -> bool {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = ONES << 7;
    let is_below = |eight: u64, bound: u8| eight.wrapping_sub(ONES * u64::from(bound)) & !eight;
    let is = |eight: u64, byte: u8| is_below(eight ^ (ONES * u64::from(byte)), 1);
    let (eights, rest) = text.as_chunks::<8>();
    let are_plain = eights.iter().all(|eight| {
        let eight = u64::from_le_bytes(*eight);
        (is_below(eight, 0x20) | is(eight, b'"') | is(eight, b'\\')) & HIGHEST == 0
    });
    are_plain && rest.iter().all(|byte| *byte >= 0x20 && *byte != b'"' && *byte != b'\\')
}

#[cfg(test)]
mod tests;
