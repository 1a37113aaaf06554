//! VictoriaMetrics' lines of JSON: a series with its samples each, in and out.
//!
//! `{"metric":{"__name__":"up","job":"a"},"values":[1,null],"timestamps":[1700000000000,…]}`. JSON
//! has no word for some floats: `null` is NaN, and infinities are texts.

use crate::answer::number;
use crate::key::push_label;
use crate::write::{PIECE_ROWS_MAX, cell, time_ns};
use foliot_model::{Batch, DEFAULT_FIELD, Frame, NANOS_PER_MILLI, Reject, Span};
use foliot_plan::grid::{MEASUREMENT, name};
use serde_json::{Deserializer, json};
use std::collections::BTreeMap;

/// Longest line, as in VictoriaMetrics: what is read of a line takes eight times as much memory.
const LINE_BYTES_MAX: usize = 10 << 20;

/// Lines that are decoded piece by piece.
#[derive(Debug)]
pub struct JsonLines<'a> {
    rest: &'a [u8],
    line: u32,
    /// A line of which a part was decoded.
    open: Option<Open>,
}

/// A line that was read.
#[derive(Debug, Default)]
struct Open {
    key: Vec<u8>,
    values: Vec<f64>,
    times_ms: Vec<i64>,
    /// Samples that were decoded.
    at: usize,
}

/// What is at fault, and why.
type Fault = (&'static str, String);

impl<'a> JsonLines<'a> {
    /// The lines of a text.
    pub fn new(text: &'a [u8]) -> Self {
        Self { rest: text, line: 0, open: None }
    }

    /// Puts the next piece into an empty batch. What cannot be stored becomes a reject with the
    /// number of its line. Returns whether there may be more.
    pub fn decode(&mut self, batch: &mut Batch<'_>, rejects: &mut Vec<Reject>) -> bool {
        batch.number_lines(1);
        let field = batch.push_scratch(|out| out.extend_from_slice(DEFAULT_FIELD.as_bytes()));
        let shape = batch.push_shape(&[field]);
        let mut room = PIECE_ROWS_MAX;
        while room > 0 {
            let Some(mut open) = self.open.take() else {
                let Some(line) = self.next_line() else { return false };
                match read_line(line) {
                    Ok(open) => self.open = open,
                    Err((field, reason)) => {
                        room -= 1;
                        rejects.push(Reject { line: self.line, field: field.into(), reason });
                    }
                }
                continue;
            };
            let key = batch.push_scratch(|out| out.extend_from_slice(&open.key));
            let samples = open.values.iter().zip(&open.times_ms).skip(open.at);
            for (value, time_ms) in samples.take(room) {
                (room, open.at) = (room - 1, open.at + 1);
                match time_ns(*time_ms) {
                    Some(time_ns) => {
                        batch.push_cell(cell(*value));
                        batch.push_row([Span::default(), key], time_ns, shape, self.line);
                    }
                    None => {
                        let reason = format!("timestamp {time_ms} cannot be stored");
                        let field = "timestamp".into();
                        rejects.push(Reject { line: self.line, field, reason });
                    }
                }
            }
            self.open = (open.at < open.values.len()).then_some(open);
        }
        true
    }

    fn next_line(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let end = self.rest.iter().position(|byte| *byte == b'\n').unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest.get(1..).unwrap_or_default();
        self.line = self.line.saturating_add(1);
        Some(line)
    }
}

/// Reads a line; nothing when it is blank.
fn read_line(line: &[u8]) -> Result<Option<Open>, Fault> {
    let line = line.trim_ascii();
    if line.len() > LINE_BYTES_MAX {
        return Err(("limit", format!("the line is longer than {LINE_BYTES_MAX} bytes")));
    }
    let text = std::str::from_utf8(line).map_err(|_| bad("the line is no UTF-8"))?;
    if text.is_empty() {
        return Ok(None);
    }
    let mut open = Open::default();
    let mut rest = text.strip_prefix('{').ok_or_else(|| bad("the line must be an object"))?;
    loop {
        let (name, behind) = read_text(rest.trim_start())?;
        let behind = behind.trim_start().strip_prefix(':');
        let behind = behind.ok_or_else(|| bad("a colon must follow a name"))?.trim_start();
        rest = match &*name {
            "metric" => read_metric(behind, &mut open.key)?,
            "values" => read_list(behind, &mut |word| {
                open.values.push(value(word)?);
                Some(())
            })?,
            "timestamps" => read_list(behind, &mut |word| {
                open.times_ms.push(word.parse().ok()?);
                Some(())
            })?,
            other => {
                let reason = format!("{other:?} is none of metric, values and timestamps");
                return Err(("line", reason));
            }
        };
        rest = rest.trim_start();
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None if rest == "}" => break,
            None => return Err(bad("a comma or the end of the object must follow a field")),
        }
    }
    if open.values.len() != open.times_ms.len() {
        let (values, times) = (open.values.len(), open.times_ms.len());
        return Err(("line", format!("{values} values have {times} timestamps")));
    }
    Ok((!open.values.is_empty()).then_some(open))
}

fn bad(reason: &str) -> Fault {
    ("line", reason.to_owned())
}

/// Reads a text in quotes; returns it and what stands behind it.
fn read_text(text: &str) -> Result<(String, &str), Fault> {
    let mut texts = Deserializer::from_str(text).into_iter::<String>();
    match texts.next() {
        Some(Ok(name)) => Ok((name, text.get(texts.byte_offset()..).unwrap_or_default())),
        _ => Err(bad("a name in quotes is missing")),
    }
}

/// Reads labels as the key of a series; returns what stands behind them.
fn read_metric<'t>(text: &'t str, key: &mut Vec<u8>) -> Result<&'t str, Fault> {
    let mut objects = Deserializer::from_str(text).into_iter::<BTreeMap<String, String>>();
    let Some(Ok(labels)) = objects.next() else {
        return Err(("tag", "metric must be an object of texts".to_owned()));
    };
    for (name, value) in labels {
        push_label(name.as_bytes(), value.as_bytes(), key);
    }
    Ok(text.get(objects.byte_offset()..).unwrap_or_default())
}

/// Reads a list of words, each of which `take` takes or refuses; returns what stands behind it.
fn read_list<'t>(
    text: &'t str,
    take: &mut dyn FnMut(&str) -> Option<()>,
) -> Result<&'t str, Fault> {
    let list = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let (list, rest) = list.ok_or_else(|| bad("values and timestamps must be lists"))?;
    if list.trim().is_empty() {
        return Ok(rest);
    }
    for word in list.split(',').map(str::trim) {
        take(word).ok_or_else(|| ("value", format!("{:?} is no number", shown(word))))?;
    }
    Ok(rest)
}

/// As much of a word as a person wants to see.
fn shown(word: &str) -> String {
    word.chars().take(40).collect()
}

fn value(word: &str) -> Option<f64> {
    let bare = word.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match bare.unwrap_or(word) {
        "null" => Some(f64::NAN),
        "Infinity" | "+Inf" | "Inf" => Some(f64::INFINITY),
        "-Infinity" | "-Inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        // What begins as a number, and no word that is one elsewhere.
        word if word.starts_with(|c: char| c.is_ascii_digit() || c == '-') => word.parse().ok(),
        _ => None,
    }
}

/// Appends a piece of a series as lines of so many samples at most.
pub fn json_lines(frame: &Frame, rows_max: usize, out: &mut Vec<u8>) {
    let labels = frame.head.labels.iter().map(|label| (&*label.name, &*label.value));
    let name = name(&frame.head.measurement, &frame.head.field);
    let metric: BTreeMap<&str, &str> = labels.chain([(MEASUREMENT, &*name)]).collect();
    let metric = json!(metric);
    let samples = frame.samples.iter();
    let samples = samples.filter_map(|(at_ns, value)| Some((at_ns, value.as_f64()?)));
    let samples: Vec<(i64, f64)> = samples.collect();
    for samples in samples.chunks(rows_max.max(1)) {
        out.extend_from_slice(format!(r#"{{"metric":{metric},"values":["#).as_bytes());
        for (at, (_, value)) in samples.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b"," } else { b"" });
            let text = match value {
                value if value.is_nan() => "null".to_owned(),
                &f64::INFINITY => r#""Infinity""#.to_owned(),
                &f64::NEG_INFINITY => r#""-Infinity""#.to_owned(),
                value => number(*value),
            };
            out.extend_from_slice(text.as_bytes());
        }
        out.extend_from_slice(br#"],"timestamps":["#);
        for (at, (at_ns, _)) in samples.iter().enumerate() {
            out.extend_from_slice(if at > 0 { b"," } else { b"" });
            out.extend_from_slice(at_ns.div_euclid(NANOS_PER_MILLI).to_string().as_bytes());
        }
        out.extend_from_slice(b"]}\n");
    }
}
