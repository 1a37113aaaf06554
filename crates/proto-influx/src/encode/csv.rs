//! Answers as comma-separated values: a block of lines for each statement, a header before it, an
//! empty line between blocks.

use super::Style;
use foliot_model::{Item, Table};
use std::io::Write as _;

#[derive(Debug)]
pub(super) struct Csv {
    style: Style,
    id: usize,
    /// The statement whose block is open.
    block: Option<usize>,
}

impl Csv {
    pub(super) fn new(style: Style) -> Self {
        Self { style, id: 0, block: None }
    }

    pub(super) fn begin(&mut self, id: usize) {
        self.id = id;
    }

    pub(super) fn table(&mut self, table: &Table, out: &mut Vec<u8>) {
        if self.block != Some(self.id) {
            if self.block.is_some() {
                out.push(b'\n');
            }
            self.block = Some(self.id);
            out.extend_from_slice(b"name,tags");
            for column in table.head.columns.iter() {
                out.push(b',');
                push_field(column, out);
            }
            out.push(b'\n');
        }
        let mut start = Vec::new();
        push_field(&table.head.name, &mut start);
        start.push(b',');
        push_field(&tags(table), &mut start);
        for row in 0..table.row_count() {
            out.extend_from_slice(&start);
            for (index, column) in table.columns.iter().enumerate() {
                out.push(b',');
                self.value(index, &column.get(row), out);
            }
            out.push(b'\n');
        }
    }

    pub(super) fn fail(&mut self, error: &str, out: &mut Vec<u8>) {
        if self.block.is_none() && out.is_empty() {
            self.block = Some(self.id);
            out.extend_from_slice(b"error\n");
            push_field(error, out);
            out.push(b'\n');
        }
    }

    fn value(&self, index: usize, item: &Item, out: &mut Vec<u8>) {
        // Writing to memory cannot fail.
        match item {
            Item::Null => {}
            Item::Float(value) if value.is_nan() => {}
            Item::Float(f64::INFINITY) => out.extend_from_slice(b"+Inf"),
            Item::Float(f64::NEG_INFINITY) => out.extend_from_slice(b"-Inf"),
            Item::Float(value) => drop(write!(out, "{value}")),
            Item::Integer(value) => drop(write!(out, "{value}")),
            Item::Unsigned(value) => drop(write!(out, "{value}")),
            Item::Boolean(value) => drop(write!(out, "{value}")),
            Item::String(text) => push_field(text, out),
            Item::Time(time_ns) => {
                let unit = self.style.epoch.filter(|_| index == 0).map_or(1, |unit| unit.0);
                drop(write!(out, "{}", time_ns / unit));
            }
        }
    }
}

/// The labels of a table as they stand in a line of line protocol: those that are absent do not.
fn tags(table: &Table) -> String {
    let mut out = String::new();
    for (name, value) in table.head.labels.iter().filter(|(_, value)| !value.is_empty()) {
        if !out.is_empty() {
            out.push(',');
        }
        for (text, end) in [(name, "="), (value, "")] {
            for c in text.chars() {
                if matches!(c, ',' | '=' | ' ') {
                    out.push('\\');
                }
                out.push(c);
            }
            out.push_str(end);
        }
    }
    out
}

/// A request that failed as a whole.
pub(super) fn push_refusal(message: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"error\n");
    push_field(message, out);
    out.push(b'\n');
}

/// Appends a field, quoted where Go's library quotes it: with separators, quotes, line breaks, or a
/// blank at its beginning.
pub(super) fn push_field(text: &str, out: &mut Vec<u8>) {
    let needs_quotes = text == "\\."
        || text.contains([',', '"', '\r', '\n'])
        || text.starts_with(char::is_whitespace);
    if !needs_quotes {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}
