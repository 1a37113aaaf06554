//! Writes the series of a snapshot, a row for each sample.

use super::saved::{KIND_COLUMN, VALUE, column_of_label, kind_name, needs_guard};
use crate::columns::{FIELD, MEASUREMENT, TIME, label_names, labels_at};
use crate::error::Error;
use crate::export::{Exported, Wanted, export};
use crate::line::is_exact;
use foliot_engine::Identity;
use foliot_model::Value;
use jiff::Timestamp;
use std::io::Write;

/// Writes the wanted series with all their samples. Each name of a label is a column.
///
/// # Errors
/// When a part cannot be read, `out` fails, or the series have more than `labels_max` label names.
pub fn export_to(
    out: &mut dyn Write,
    wanted: &Wanted<'_>,
    labels_max: usize,
) -> Result<Exported, Error> {
    let failed = || Error::io("write the dump");
    let names = label_names(wanted, labels_max)?;
    out.write_all(&header(&names)).map_err(failed())?;
    let mut exported = Exported::default();
    let (mut last, mut text) = (None, Vec::new());
    export(wanted, &mut |identity, samples| {
        let name = Some((identity.source, identity.measurement.clone(), identity.field.clone()));
        exported.series += u64::from(last != name);
        last = name;
        let head = head(identity, &names);
        text.clear();
        for (time_ns, value) in samples.iter() {
            match push_row(time_ns, &head, value, &mut text) {
                true => exported.samples += 1,
                false => exported.unspelled.samples += 1,
            }
        }
        out.write_all(&text).map_err(failed())
    })?;
    out.flush().map_err(failed())?;
    Ok(exported)
}

/// The first line.
fn header(labels: &[String]) -> Vec<u8> {
    let mut text = Vec::new();
    let own = |name: &str| name.to_owned();
    let first = [TIME, MEASUREMENT, FIELD].map(own);
    let labels = labels.iter().map(|name| column_of_label(name));
    for name in first.into_iter().chain(labels).chain([KIND_COLUMN, VALUE].map(own)) {
        push_cell(&name, &mut text);
        text.push(b',');
    }
    end_row(&mut text);
    text
}

/// The cells that all samples of a series have between their time and their kind.
fn head(identity: &Identity, names: &[String]) -> Vec<u8> {
    let labels = labels_at(identity, names);
    let mut text = Vec::new();
    for cell in [&*identity.measurement, &*identity.field] {
        push_cell(cell, &mut text);
        text.push(b',');
    }
    for at in 0..names.len() {
        if let Some((_, value)) = labels.iter().find(|(label, _)| *label == at) {
            push_cell(value, &mut text);
        }
        text.push(b',');
    }
    text
}

/// Appends a row; false where nothing is appended, as there is no way to write the value so that it
/// comes in again as it is: histograms, and numbers that are none with bits of their own, by which
/// Prometheus marks the ends of series.
fn push_row(time_ns: i64, head: &[u8], value: Value<'_>, out: &mut Vec<u8>) -> bool {
    let Ok(time) = Timestamp::from_nanosecond(i128::from(time_ns)) else { return false };
    if !is_exact(value) {
        return false;
    }
    // Writing to memory cannot fail.
    let _ = write!(out, "{time:.9},");
    out.extend_from_slice(head);
    let _ = write!(out, "{},", kind_name(value.kind()));
    match value {
        Value::Float(f64::INFINITY) => out.extend_from_slice(b"Infinity,"),
        Value::Float(f64::NEG_INFINITY) => out.extend_from_slice(b"-Infinity,"),
        // The fewest digits that identify a number, with an exponent where they are many.
        Value::Float(number) if number == 0.0 || (1e-5..1e21).contains(&number.abs()) => {
            let _ = write!(out, "{number},");
        }
        Value::Float(number) if number.is_finite() => drop(write!(out, "{number:e},")),
        Value::Float(_) => out.extend_from_slice(b"NaN,"),
        Value::Integer(number) => drop(write!(out, "{number},")),
        Value::Unsigned(number) => drop(write!(out, "{number},")),
        Value::Boolean(value) => drop(write!(out, "{value},")),
        Value::String(text) => {
            push_cell(text, out);
            out.push(b',');
        }
        Value::Histogram(_) => {}
    }
    end_row(out);
    true
}

/// Ends a row whose last cell has a comma behind it.
fn end_row(out: &mut Vec<u8>) {
    out.pop();
    out.push(b'\n');
}

/// Appends a cell, in quotes where it would not be one without.
fn push_cell(text: &str, out: &mut Vec<u8>) {
    let is_guarded = needs_guard(text);
    let is_quoted = text.contains([',', '"', '\r', '\n']);
    if is_quoted {
        out.push(b'"');
    }
    if is_guarded {
        out.push(b'\'');
    }
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    if is_quoted {
        out.push(b'"');
    }
}
