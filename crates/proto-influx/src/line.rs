//! Lines written: samples as line protocol.

use foliot_model::Value;
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
        escape(measurement, ", ", out);
        for (name, value) in tags.filter(|(_, value)| !value.is_empty()) {
            out.push(b',');
            escape(name, ",= ", out);
            out.push(b'=');
            escape(value, ",= ", out);
        }
        Self { out, start, fields: 0 }
    }

    /// Adds a field. Values that line protocol cannot express (NaN, infinity, histograms) are left
    /// out; the answer says whether it was added.
    pub fn field(&mut self, name: &str, value: Value<'_>) -> bool {
        let is_expressible = match value {
            Value::Float(value) => value.is_finite(),
            Value::Histogram(_) => false,
            _ => true,
        };
        if !is_expressible {
            return false;
        }
        self.out.push(if self.fields == 0 { b' ' } else { b',' });
        escape(name, ",= ", self.out);
        self.out.push(b'=');
        // Writing to memory cannot fail.
        match value {
            Value::Float(value) => drop(write!(self.out, "{value:?}")),
            Value::Integer(value) => drop(write!(self.out, "{value}i")),
            Value::Unsigned(value) => drop(write!(self.out, "{value}u")),
            Value::Boolean(value) => drop(write!(self.out, "{value}")),
            Value::String(text) => {
                self.out.push(b'"');
                for byte in text.bytes() {
                    if matches!(byte, b'"' | b'\\') {
                        self.out.push(b'\\');
                    }
                    self.out.push(byte);
                }
                self.out.push(b'"');
            }
            Value::Histogram(_) => {}
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

/// Appends a name with backslashes before its special characters. A backslash at the end, which
/// would swallow what follows, cannot be expressed and is left out.
fn escape(text: &str, special: &str, out: &mut Vec<u8>) {
    for c in text.trim_end_matches('\\').chars() {
        match c {
            // Line protocol has no way to write a line break in a name.
            '\n' => out.extend_from_slice(b"\\n"),
            c => {
                if special.contains(c) {
                    out.push(b'\\');
                }
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
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
