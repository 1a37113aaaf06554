//! Answers in MessagePack (msgpack.org, specification of 2013 and later). Times are extension 5:
//! seconds and nanoseconds, big-endian.
#![allow(clippy::big_endian_bytes, reason = "MessagePack is big-endian")]

use super::{CHUNK_ROWS, Style};
use foliot_model::{Item, Table, TableHead};
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Msgpack {
    style: Style,
    id: usize,
    results: usize,
    /// Statements that are complete.
    done: Vec<u8>,
    /// Tables of the statement that are complete.
    tables: Vec<u8>,
    tables_count: usize,
    /// The table that is open, its rows, and their number.
    open: Option<(Arc<TableHead>, usize)>,
    rows: Vec<u8>,
    is_complete: bool,
}

impl Msgpack {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            id: 0,
            results: 0,
            done: Vec::new(),
            tables: Vec::new(),
            tables_count: 0,
            open: None,
            rows: Vec::new(),
            is_complete: true,
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.done.len() + self.tables.len() + self.rows.len()
    }

    pub(super) fn begin(&mut self, id: usize) {
        self.id = id;
    }

    pub(super) fn table(&mut self, table: &Table) {
        let is_same = self.open.as_ref().is_some_and(|(head, _)| {
            !self.is_complete && (Arc::ptr_eq(head, &table.head) || *head == table.head)
        });
        if !is_same {
            self.close_table();
            self.open = Some((table.head.clone(), 0));
        }
        if let Some((_, rows)) = &mut self.open {
            *rows += table.row_count();
        }
        for row in 0..table.row_count() {
            push_array(table.columns.len(), &mut self.rows);
            for (index, column) in table.columns.iter().enumerate() {
                self.value(index, &column.get(row));
            }
        }
        self.is_complete = table.is_last;
    }

    pub(super) fn end(&mut self, warning: Option<&str>, out: &mut Vec<u8>) {
        self.close_table();
        let done = &mut self.done;
        push_map(2 + usize::from(warning.is_some()), done);
        push_text("statement_id", done);
        push_integer(self.id as i64, done);
        if let Some(text) = warning {
            push_text("messages", done);
            push_array(1, done);
            push_map(2, done);
            for text in ["level", "warning", "text", text] {
                push_text(text, done);
            }
        }
        push_text("series", done);
        push_array(self.tables_count, done);
        done.append(&mut self.tables);
        self.tables_count = 0;
        self.end_result(out);
    }

    pub(super) fn fail(&mut self, error: &str, out: &mut Vec<u8>) {
        self.close_table();
        self.tables.clear();
        self.tables_count = 0;
        push_map(1, &mut self.done);
        push_text("error", &mut self.done);
        push_text(error, &mut self.done);
        self.end_result(out);
    }

    fn end_result(&mut self, out: &mut Vec<u8>) {
        self.results += 1;
        if self.style.chunk_rows.is_some() {
            self.write(out);
        }
    }

    pub(super) fn finish(mut self, out: &mut Vec<u8>) {
        if self.style.chunk_rows.is_none() {
            self.write(out);
        }
    }

    fn write(&mut self, out: &mut Vec<u8>) {
        push_map(1, out);
        push_text("results", out);
        push_array(self.results, out);
        out.append(&mut self.done);
        self.results = 0;
    }

    fn close_table(&mut self) {
        let Some((head, rows)) = self.open.take() else { return };
        let tables = &mut self.tables;
        let is_partial = rows > CHUNK_ROWS;
        let (has_name, has_tags) = (!head.name.is_empty(), !head.labels.is_empty());
        let optional = [has_name, has_tags, is_partial];
        push_map(2 + optional.iter().filter(|has| **has).count(), tables);
        if has_name {
            push_text("name", tables);
            push_text(&head.name, tables);
        }
        if has_tags {
            push_text("tags", tables);
            push_map(head.labels.len(), tables);
            for (name, value) in &head.labels {
                push_text(name, tables);
                push_text(value, tables);
            }
        }
        push_text("columns", tables);
        push_array(head.columns.len(), tables);
        head.columns.iter().for_each(|column| push_text(column, tables));
        push_text("values", tables);
        push_array(rows, tables);
        tables.append(&mut self.rows);
        if is_partial {
            push_text("partial", tables);
            tables.push(0xc3);
        }
        self.tables_count += 1;
    }

    fn value(&mut self, index: usize, item: &Item) {
        let out = &mut self.rows;
        match item {
            Item::Null => out.push(0xc0),
            Item::Float(value) => push_bytes(0xcb, &value.to_bits().to_be_bytes(), out),
            Item::Integer(value) => push_integer(*value, out),
            Item::Unsigned(value) => push_unsigned(*value, out),
            Item::Boolean(value) => out.push(0xc2 + u8::from(*value)),
            Item::String(text) => push_text(text, out),
            Item::Time(time_ns) => match self.style.epoch.filter(|_| index == 0) {
                Some(unit) => push_integer(time_ns / unit.0, out),
                None => {
                    out.extend_from_slice(&[0xc7, 12, 5]);
                    let seconds = time_ns.div_euclid(1_000_000_000);
                    let nanos = time_ns.rem_euclid(1_000_000_000) as u32;
                    out.extend_from_slice(&seconds.to_be_bytes());
                    out.extend_from_slice(&nanos.to_be_bytes());
                }
            },
        }
    }
}

/// A request that failed as a whole.
pub(super) fn push_refusal(message: &str, out: &mut Vec<u8>) {
    push_map(1, out);
    push_text("error", out);
    push_text(message, out);
}

fn push_bytes(code: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(code);
    out.extend_from_slice(bytes);
}

/// The head of something with `count` parts: a byte for few, codes with 16 or 32 bits for more.
fn push_head(count: usize, few: (u8, usize), wide: [u8; 2], out: &mut Vec<u8>) {
    let (code, below) = few;
    match count {
        count if count < below => out.push(code | count as u8),
        0..=0xffff => push_bytes(wide[0], &(count as u16).to_be_bytes(), out),
        _ => push_bytes(wide[1], &(count as u32).to_be_bytes(), out),
    }
}

fn push_array(count: usize, out: &mut Vec<u8>) {
    push_head(count, (0x90, 16), [0xdc, 0xdd], out);
}

fn push_map(count: usize, out: &mut Vec<u8>) {
    push_head(count, (0x80, 16), [0xde, 0xdf], out);
}

fn push_text(text: &str, out: &mut Vec<u8>) {
    match text.len() {
        32..=0xff => push_bytes(0xd9, &[text.len() as u8], out),
        length => push_head(length, (0xa0, 32), [0xda, 0xdb], out),
    }
    out.extend_from_slice(text.as_bytes());
}

fn push_unsigned(value: u64, out: &mut Vec<u8>) {
    match value {
        0..=0x7f => out.push(value as u8),
        0x80..=0xff => push_bytes(0xcc, &[value as u8], out),
        0x100..=0xffff => push_bytes(0xcd, &(value as u16).to_be_bytes(), out),
        0x1_0000..=0xffff_ffff => push_bytes(0xce, &(value as u32).to_be_bytes(), out),
        _ => push_bytes(0xcf, &value.to_be_bytes(), out),
    }
}

fn push_integer(value: i64, out: &mut Vec<u8>) {
    match value {
        0.. => push_unsigned(value as u64, out),
        -32..0 => out.push(value as u8),
        -128..-32 => push_bytes(0xd0, &[value as u8], out),
        -0x8000..-128 => push_bytes(0xd1, &(value as i16).to_be_bytes(), out),
        -0x8000_0000..-0x8000 => push_bytes(0xd2, &(value as i32).to_be_bytes(), out),
        _ => push_bytes(0xd3, &value.to_be_bytes(), out),
    }
}
