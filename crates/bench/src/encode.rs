//! Rows to wire text, in place and without allocation once the buffers have grown. It knows the
//! grammars of the write formats and nothing of sockets.

use clap::ValueEnum;
use serde::Serialize;

use crate::cursor::{Row, is_present};
use crate::fleet::{Fleet, Label, LabelValue, Table};
use crate::law::Kind;

/// A text format that servers take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Format {
    /// InfluxDB line protocol: one line a row
    Lines,
    /// OpenTSDB telnet `put`: one line a value
    Puts,
    /// The array that OpenTSDB's `/api/put` takes: one object a value
    Json,
    /// Prometheus exposition text with times: one line a value
    Prometheus,
}

/// Unit of the times on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
pub(crate) enum Precision {
    /// Seconds
    S,
    /// Milliseconds
    Ms,
    /// Microseconds
    Us,
    /// Nanoseconds
    Ns,
}

impl Precision {
    fn of_ms(self, time_ms: i64) -> i64 {
        match self {
            Precision::S => time_ms / 1000,
            Precision::Ms => time_ms,
            Precision::Us => time_ms * 1000,
            Precision::Ns => time_ms * 1_000_000,
        }
    }
}

/// Renders rows of one fleet in one format.
pub(crate) struct Encoder<'a> {
    fleet: &'a Fleet,
    format: Format,
    precision: Precision,
    /// What stands before the value of each field, by table.
    heads: Vec<Vec<Head>>,
    labels: Vec<Label>,
    label_text: Vec<u8>,
}

/// What stands before the value of a field.
struct Head {
    text: Vec<u8>,
    kind: Kind,
}

impl<'a> Encoder<'a> {
    pub(crate) fn new(fleet: &'a Fleet, format: Format, precision: Precision) -> Encoder<'a> {
        let head = |table: &Table, name: &str| match format {
            Format::Lines => format!(",{name}="),
            Format::Puts | Format::Json if table.groups > 0 => format!(".{name}"),
            Format::Puts => format!("put {}.{name} ", table.name),
            Format::Json => format!("{{\"metric\":\"{}.{name}", table.name),
            Format::Prometheus if table.groups > 0 => format!("_{name}{{"),
            Format::Prometheus => format!("{}_{name}{{", table.name),
        };
        let heads = fleet.tables.iter().map(|table| {
            let fields = table.fields.iter();
            let head = |name: &str| head(table, name).into_bytes();
            fields.map(|field| Head { text: head(&field.name), kind: field.kind }).collect()
        });
        let heads = heads.collect();
        Encoder { fleet, format, precision, heads, labels: Vec::new(), label_text: Vec::new() }
    }

    /// What a body must begin with.
    pub(crate) fn open(&self, out: &mut Vec<u8>) {
        if self.format == Format::Json {
            out.push(b'[');
        }
    }

    /// What a body must end with.
    pub(crate) fn close(&self, out: &mut Vec<u8>) {
        if self.format == Format::Json {
            if out.last() == Some(&b',') {
                out.pop();
            }
            out.push(b']');
        }
    }

    /// Appends a row; returns (lines, values) that were written.
    pub(crate) fn row(&mut self, row: &Row<'_>, out: &mut Vec<u8>) -> (u64, u64) {
        self.fleet.labels(row.source, row.step, row.table, &mut self.labels);
        let time = self.precision.of_ms(self.fleet.time_ms(row.step));
        match self.format {
            Format::Lines => self.line(row, time, out),
            Format::Puts => self.puts(row, time, out),
            Format::Json => self.objects(row, time, out),
            Format::Prometheus => self.samples(row, time, out),
        }
    }

    fn line(&self, row: &Row<'_>, time: i64, out: &mut Vec<u8>) -> (u64, u64) {
        self.measurement(row, out);
        for label in &self.labels {
            out.push(b',');
            out.extend_from_slice(label.key.as_bytes());
            out.push(b'=');
            push_label(label.value, out);
        }
        let fields_at = out.len();
        let mut values = 0;
        for (head, value) in self.cells(row) {
            out.extend_from_slice(&head.text);
            push_value(head.kind, value, out);
            if head.kind == Kind::Integer {
                out.push(b'i');
            }
            values += 1;
        }
        // The first field follows the labels after a blank instead of a comma.
        if let Some(comma) = out.get_mut(fields_at) {
            *comma = b' ';
        }
        out.push(b' ');
        push_integer(time, out);
        out.push(b'\n');
        (1, values)
    }

    fn puts(&mut self, row: &Row<'_>, time: i64, out: &mut Vec<u8>) -> (u64, u64) {
        let mut text = std::mem::take(&mut self.label_text);
        text.clear();
        for label in &self.labels {
            text.push(b' ');
            text.extend_from_slice(label.key.as_bytes());
            text.push(b'=');
            push_label(label.value, &mut text);
        }
        text.push(b'\n');
        let grouped = self.is_grouped(row);
        let mut values = 0;
        for (head, value) in self.cells(row) {
            if grouped {
                out.extend_from_slice(b"put ");
                self.measurement(row, out);
                out.extend_from_slice(&head.text);
                out.push(b' ');
            } else {
                out.extend_from_slice(&head.text);
            }
            push_integer(time, out);
            out.push(b' ');
            push_value(head.kind, value, out);
            out.extend_from_slice(&text);
            values += 1;
        }
        self.label_text = text;
        (values, values)
    }

    fn objects(&mut self, row: &Row<'_>, time: i64, out: &mut Vec<u8>) -> (u64, u64) {
        let mut text = std::mem::take(&mut self.label_text);
        text.clear();
        text.extend_from_slice(b",\"tags\":{");
        for label in &self.labels {
            text.push(b'"');
            text.extend_from_slice(label.key.as_bytes());
            text.extend_from_slice(b"\":\"");
            push_label(label.value, &mut text);
            text.extend_from_slice(b"\",");
        }
        text.pop();
        text.extend_from_slice(b"}},");
        let grouped = self.is_grouped(row);
        let mut values = 0;
        for (head, value) in self.cells(row) {
            if grouped {
                out.extend_from_slice(b"{\"metric\":\"");
                self.measurement(row, out);
            }
            out.extend_from_slice(&head.text);
            out.extend_from_slice(b"\",\"timestamp\":");
            push_integer(time, out);
            out.extend_from_slice(b",\"value\":");
            push_value(head.kind, value, out);
            out.extend_from_slice(&text);
            values += 1;
        }
        self.label_text = text;
        (values, values)
    }

    fn samples(&mut self, row: &Row<'_>, time: i64, out: &mut Vec<u8>) -> (u64, u64) {
        let mut text = std::mem::take(&mut self.label_text);
        text.clear();
        for label in &self.labels {
            text.extend_from_slice(label.key.as_bytes());
            text.extend_from_slice(b"=\"");
            push_label(label.value, &mut text);
            text.extend_from_slice(b"\",");
        }
        text.pop();
        text.extend_from_slice(b"} ");
        let grouped = self.is_grouped(row);
        let mut values = 0;
        for (head, value) in self.cells(row) {
            if grouped {
                self.measurement(row, out);
            }
            out.extend_from_slice(&head.text);
            out.extend_from_slice(&text);
            push_value(head.kind, value, out);
            out.push(b' ');
            push_integer(time, out);
            out.push(b'\n');
            values += 1;
        }
        self.label_text = text;
        (values, values)
    }

    /// The fields that the row carries.
    #[inline]
    fn cells<'s>(&'s self, row: &'s Row<'_>) -> impl Iterator<Item = (&'s Head, i64)> {
        let heads = self.heads.get(row.table).and_then(|heads| heads.get(row.first_field..));
        let heads = heads.unwrap_or_default().iter();
        heads.zip(row.values.iter().copied()).filter(|(_, value)| is_present(*value))
    }

    fn is_grouped(&self, row: &Row<'_>) -> bool {
        self.fleet.tables.get(row.table).is_some_and(|table| table.groups > 0)
    }

    fn measurement(&self, row: &Row<'_>, out: &mut Vec<u8>) {
        let Some(table) = self.fleet.tables.get(row.table) else { return };
        out.extend_from_slice(table.name.as_bytes());
        if table.groups > 0 {
            push_integer((row.source % table.groups) as i64, out);
        }
    }
}

#[inline]
fn push_label(value: LabelValue, out: &mut Vec<u8>) {
    match value {
        LabelValue::Word(word) => out.extend_from_slice(word.as_bytes()),
        LabelValue::Numbered(word, number) => {
            out.extend_from_slice(word.as_bytes());
            push_integer(number as i64, out);
        }
    }
}

/// Appends a value held in units of its kind.
#[inline]
pub(crate) fn push_value(kind: Kind, value: i64, out: &mut Vec<u8>) {
    match kind {
        Kind::Integer | Kind::Decimal(0) => push_integer(value, out),
        Kind::Decimal(scale) => {
            let unit = kind.unit();
            if value < 0 {
                out.push(b'-');
            }
            push_integer((value / unit).abs(), out);
            out.push(b'.');
            let fraction = (value % unit).unsigned_abs();
            push_digits(fraction, usize::from(scale), out);
        }
    }
}

/// Appends a whole number.
#[inline]
pub(crate) fn push_integer(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    push_digits(value.unsigned_abs(), 1, out);
}

/// Two digits for each number below one hundred.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut at = 0;
    #[allow(clippy::indexing_slicing, reason = "evaluated at compile time")]
    while at < 100 {
        pairs[at] = [b'0' + (at / 10) as u8, b'0' + (at % 10) as u8];
        at += 1;
    }
    pairs
};

/// Appends a number with at least `least` digits; at most 20.
#[inline]
#[allow(clippy::indexing_slicing, reason = "remainders of 100 and a cursor that starts at 20")]
fn push_digits(mut value: u64, least: usize, out: &mut Vec<u8>) {
    if value < 10 && least == 1 {
        return out.push(b'0' + value as u8);
    }
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while value >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        value /= 100;
    }
    if value > 0 {
        at -= 1;
        digits[at] = b'0' + value as u8;
    }
    out.extend_from_slice(&digits[at.min(20 - least.min(20))..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(kind: Kind, value: i64) -> String {
        let mut out = Vec::new();
        push_value(kind, value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_written_as_the_standard_library_writes_them() {
        for value in [0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 65_535, i64::MAX, i64::MIN + 1] {
            assert_eq!(text(Kind::Integer, value), value.to_string());
            assert_eq!(text(Kind::Integer, -value), (-value).to_string());
        }
    }

    #[test]
    fn decimals_keep_their_digits() {
        assert_eq!(text(Kind::Decimal(2), 5), "0.05");
        assert_eq!(text(Kind::Decimal(2), -5), "-0.05");
        assert_eq!(text(Kind::Decimal(2), -12345), "-123.45");
        assert_eq!(text(Kind::Decimal(5), 100_000), "1.00000");
        assert_eq!(text(Kind::Decimal(1), 0), "0.0");
        assert_eq!(text(Kind::Decimal(0), 7), "7");
    }
}
