//! Lines written: samples as line protocol.

use foliot_model::Value;
use std::borrow::Cow;
use std::io::Write as _;

/// Writes one line after another; each is begun with its key, gets fields, and is ended with its
/// time. A line without fields leaves nothing behind.
///
/// ```
/// # use foliot_model::Value;
/// # use foliot_proto_influx::LineWriter;
/// let mut out = Vec::new();
/// let mut line = LineWriter::begin("my cpu", [("host", "a b")].into_iter(), &mut out);
/// line.field("usage", Value::Float(0.5));
/// line.field("note", Value::String("say \"hi\""));
/// line.end(1_000);
/// assert_eq!(out, b"my\\ cpu,host=a\\ b usage=0.5,note=\"say \\\"hi\\\"\" 1000\n");
/// ```
#[derive(Debug)]
pub struct LineWriter<'a> {
    out: &'a mut Vec<u8>,
    start: usize,
    fields: usize,
}

impl<'a> LineWriter<'a> {
    /// Begins a line. Tags with an empty value are left out; they count as absent.
    pub fn begin<'t>(
        measurement: &str,
        tags: impl Iterator<Item = (&'t str, &'t str)>,
        out: &'a mut Vec<u8>,
    ) -> Self {
        let start = out.len();
        push_measurement(expressible(measurement).as_bytes(), out);
        for (name, value) in tags.filter(|(_, value)| !value.is_empty()) {
            push_tag(expressible(name).as_bytes(), expressible(value).as_bytes(), out);
        }
        Self { out, start, fields: 0 }
    }

    /// Adds a field. Values that line protocol cannot express (NaN, infinity, histograms) are left
    /// out; the answer says whether it was added.
    pub fn field(&mut self, name: &str, value: Value<'_>) -> bool {
        let before = self.out.len();
        self.out.push(if self.fields == 0 { b' ' } else { b',' });
        push_field_name(expressible(name).as_bytes(), self.out);
        self.out.push(b'=');
        if !push_value(value, self.out) {
            self.out.truncate(before);
            return false;
        }
        self.fields += 1;
        true
    }

    /// Ends the line; returns how many fields it has.
    pub fn end(self, time_ns: i64) -> usize {
        match self.fields {
            0 => self.out.truncate(self.start),
            _ => drop(writeln!(self.out, " {time_ns}")),
        }
        self.fields
    }
}

/// The part of a name that a line can hold: a backslash at the end would swallow what follows, and
/// a line's end would end it.
fn expressible(name: &str) -> Cow<'_, str> {
    let name = name.trim_end_matches('\\');
    match name.contains('\n') {
        true => Cow::Owned(name.replace('\n', "\\n")),
        false => Cow::Borrowed(name),
    }
}

/// Appends a measurement. No name may end in a backslash or hold a line's end.
pub fn push_measurement(name: &[u8], out: &mut Vec<u8>) {
    push_escaped(name, b", ", out);
}

/// Appends `,name=value`.
pub fn push_tag(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    out.push(b',');
    push_escaped(name, b", =", out);
    out.push(b'=');
    push_escaped(value, b", =", out);
}

/// Appends a field's name.
pub fn push_field_name(name: &[u8], out: &mut Vec<u8>) {
    push_escaped(name, b", =", out);
}

fn push_escaped(name: &[u8], special: &[u8], out: &mut Vec<u8>) {
    for &byte in name {
        if special.contains(&byte) {
            out.push(b'\\');
        }
        out.push(byte);
    }
}

/// Appends a field's value; false, and nothing appended, when line protocol has no way to write it:
/// histograms and numbers that are not finite.
pub fn push_value(value: Value<'_>, out: &mut Vec<u8>) -> bool {
    // Writing to memory cannot fail.
    match value {
        // Rust prints the fewest digits that identify a double, without an exponent.
        Value::Float(value) if value.is_finite() => drop(write!(out, "{value}")),
        Value::Float(_) | Value::Histogram(_) => return false,
        Value::Integer(value) => drop(write!(out, "{value}i")),
        Value::Unsigned(value) => drop(write!(out, "{value}u")),
        Value::Boolean(value) => drop(write!(out, "{value}")),
        Value::String(text) => {
            out.push(b'"');
            push_escaped(text.as_bytes(), b"\"\\", out);
            out.push(b'"');
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Decoder, LINE_SYNTAX, Settings};
    use foliot_model::{Batch, KeySecret, Kind};

    #[test]
    fn what_is_written_is_read_back() {
        let mut out = Vec::new();
        let tags = [("t,1", "a=b c"), ("empty", "")];
        let mut line = LineWriter::begin("m, 1", tags.into_iter(), &mut out);
        assert!(!line.field("nan", Value::Float(f64::NAN)));
        assert!(line.field("f", Value::Float(1e300)) && line.field("i", Value::Integer(-7)));
        assert!(
            line.field("u", Value::Unsigned(u64::MAX)) && line.field("b", Value::Boolean(true))
        );
        assert!(line.field("s", Value::String("a\"b\\")));
        assert_eq!(line.end(-5), 5);
        assert_eq!(LineWriter::begin("x", std::iter::empty(), &mut out).end(1), 0);
        let mut batch = Batch::new(&out, 0, &LINE_SYNTAX, KeySecret(1), Default::default());
        let mut rejects = Vec::new();
        Decoder::default().decode(&mut batch, Settings::default(), &mut rejects);
        assert_eq!(rejects, []);
        assert_eq!(batch.rows().len(), 1);
        let row = batch.rows()[0];
        assert_eq!(batch.slice(row.key_tail), b"m\\,\\ 1,t\\,1=a\\=b\\ c");
        let kinds: Vec<Kind> = batch.cells(&row, 5).iter().map(|cell| cell.kind).collect();
        use Kind::{Boolean, Float, Integer, String, Unsigned};
        assert_eq!(kinds, [Float, Integer, Unsigned, Boolean, String]);
        let text = batch.cells(&row, 5)[4];
        assert_eq!(batch.slice(text.span()), b"a\"b\\");
        assert_eq!(batch.cells(&row, 5)[0].to_f64(), 1e300);
    }
}
