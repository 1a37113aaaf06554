//! A row as a line.

use super::shape::{Origin, Shape};
use super::{FIELD, MEASUREMENT};
use crate::line::{fault_of, push_exact};
use foliot_model::{DEFAULT_FIELD, Value};
use foliot_proto_influx::LineWriter;
use std::borrow::Cow;

/// What a row says.
struct Point<'r> {
    measurement: &'r str,
    labels: Vec<(&'r str, Cow<'r, str>)>,
    fields: Vec<(&'r str, Value<'r>)>,
    time_ns: i64,
}

/// Appends a row as a line with its time in nanoseconds, without its end; `value` tells what the
/// row has in a column. Where rows say the kinds of their values the line is an exact one, which
/// holds all that a store does, and else one of Influx.
///
/// # Errors
/// Why the row cannot be a line, with the name of the column.
pub(crate) fn push_line<'r>(
    shape: &'r Shape,
    value: impl Fn(usize) -> Result<Option<Value<'r>>, String>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let point = Point::of(shape, value)?;
    let Point { measurement, labels, fields, time_ns } = &point;
    let labels = labels.iter().map(|(name, value)| (*name, &**value));
    if shape.is_exact {
        return push_exact(measurement, labels, fields, *time_ns, out);
    }
    let mut writer = LineWriter::begin(measurement, labels, out);
    for (name, value) in fields {
        if !writer.field(name, *value) {
            return Err(format!("{name}: {} cannot be stored by lines", spelled(*value)));
        }
    }
    writer.end(*time_ns);
    // Its end is put by who takes it.
    out.pop();
    Ok(())
}

impl<'r> Point<'r> {
    fn of(
        shape: &'r Shape,
        value: impl Fn(usize) -> Result<Option<Value<'r>>, String>,
    ) -> Result<Self, String> {
        let value = |at: usize, what: &str| value(at).map_err(|why| format!("{what}: {why}"));
        // Exact lines hold any name.
        let fault = |text: &str| fault_of(text.as_bytes()).filter(|_| !shape.is_exact);
        let whole = |text: &str, what: &str| match fault(text) {
            Some(why) => Err(format!("{what}: {why}")),
            None => Ok(()),
        };
        let text = |at: usize, what: &str| match value(at, what)? {
            Some(Value::String(text)) if !text.is_empty() => whole(text, what).map(|()| Some(text)),
            _ => Ok(None),
        };
        let measurement = match &shape.measurement {
            Origin::Told(name) => name.as_str(),
            Origin::Column(at) => text(*at, MEASUREMENT)?.ok_or("measurement: there is none")?,
        };
        let mut labels = Vec::new();
        for (name, at) in &shape.labels {
            let label = value(*at, name)?.map(spelled).filter(|label| !label.is_empty());
            if let Some(label) = label {
                whole(&label, name)?;
                labels.push((&**name, label));
            }
        }
        let field = match shape.field {
            Some(at) => text(at, FIELD)?.unwrap_or(DEFAULT_FIELD),
            None => DEFAULT_FIELD,
        };
        let mut fields = Vec::new();
        for at in &shape.values {
            fields.extend(value(*at, field)?.map(|value| (field, value)));
        }
        for (name, at) in &shape.fields {
            match value(*at, name)? {
                // Where rows have many fields, tools write NaN for what a row lacks.
                None => {}
                Some(Value::Float(number)) if number.is_nan() => {}
                Some(value) => fields.push((&**name, value)),
            }
        }
        let what = &shape.time_name;
        let time_ns = match value(shape.time, what)? {
            Some(Value::Integer(time)) => time.checked_mul(shape.time_unit.ns()),
            _ => return Err(format!("{what}: there is none")),
        };
        let time_ns = time_ns.ok_or_else(|| format!("{what}: is too far away for nanoseconds"))?;
        match fields.is_empty() {
            true => Err("no field has a value".to_owned()),
            false => Ok(Self { measurement, labels, fields, time_ns }),
        }
    }
}

/// A value as a label has it, or a sentence.
fn spelled(value: Value<'_>) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Float(value) => Cow::Owned(value.to_string()),
        Value::Integer(value) => Cow::Owned(value.to_string()),
        Value::Unsigned(value) => Cow::Owned(value.to_string()),
        Value::Boolean(value) => Cow::Owned(value.to_string()),
        Value::Histogram(_) => Cow::Borrowed("a histogram"),
    }
}
