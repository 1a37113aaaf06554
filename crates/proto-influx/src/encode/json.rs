//! Answers in JSON, plain, pretty, or in chunks.

use super::text::{Times, push_json, push_json_float};
use super::{CHUNK_ROWS, Format, Style};
use foliot_model::{Column, Item, Table, TableHead, push_integer, push_whole};
use jiff::tz::TimeZone;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Json {
    style: Style,
    zone: Option<TimeZone>,
    times: Times,
    id: usize,
    /// Lists and objects that are open, for the blanks of pretty answers.
    depth: usize,
    /// Whether something stands in the innermost open list or object.
    has_items: bool,
    /// Whether the statement's object is open.
    is_begun: bool,
    /// Whether anything of the answer was written.
    has_results: bool,
    /// The table that is open, the rows written of it, and whether it is known to be complete.
    open: Option<(Arc<TableHead>, usize)>,
    is_complete: bool,
}

impl Json {
    pub(super) fn new(style: Style) -> Self {
        Self {
            style,
            zone: None,
            times: Times::default(),
            id: 0,
            depth: 0,
            has_items: false,
            is_begun: false,
            has_results: false,
            open: None,
            is_complete: true,
        }
    }

    pub(super) fn begin(&mut self, id: usize) {
        self.id = id;
        self.zone = None;
    }

    pub(super) fn set_zone(&mut self, zone: TimeZone) {
        self.zone = Some(zone);
    }

    pub(super) fn table(&mut self, table: &Table, out: &mut Vec<u8>) {
        let is_same = self.open.as_ref().is_some_and(|(head, _)| {
            !self.is_complete && (Arc::ptr_eq(head, &table.head) || *head == table.head)
        });
        if !is_same {
            self.open_table(&table.head, out);
        }
        match self.style.format == Format::Json && self.style.chunk_rows.is_none() {
            true => self.compact_rows(table, out),
            false => {
                for row in 0..table.row_count() {
                    self.make_room(&table.head, out);
                    self.row(&table.columns, row, out);
                }
            }
        }
        self.is_complete = table.is_last;
    }

    pub(super) fn end(&mut self, warning: Option<&str>, error: Option<&str>, out: &mut Vec<u8>) {
        self.close_table(false, out);
        if !self.is_begun {
            self.open_statement(out);
        } else {
            self.close(b']', out);
        }
        if let Some(text) = warning {
            self.key("messages", out);
            self.open(b'[', out);
            self.item(out);
            self.open(b'{', out);
            self.text("level", "warning", out);
            self.text("text", text, out);
            self.close(b'}', out);
            self.close(b']', out);
        }
        if let Some(text) = error {
            self.text("error", text, out);
        }
        self.close_statement(out);
    }

    pub(super) fn finish(mut self, out: &mut Vec<u8>) {
        if self.style.chunk_rows.is_some() {
            return;
        }
        if !self.has_results {
            self.open(b'{', out);
            self.key("results", out);
            self.open(b'[', out);
        }
        self.close(b']', out);
        self.close(b'}', out);
        out.push(b'\n');
    }

    /// Ends the chunk when it is full.
    fn make_room(&mut self, head: &Arc<TableHead>, out: &mut Vec<u8>) {
        let Some(rows_max) = self.style.chunk_rows else { return };
        if self.open.as_ref().is_some_and(|(_, rows)| *rows >= rows_max) {
            self.close_table(true, out);
            self.close(b']', out);
            self.flag(out);
            self.close_statement(out);
            self.open_table(head, out);
        }
    }

    fn open_table(&mut self, head: &Arc<TableHead>, out: &mut Vec<u8>) {
        if self.open.is_some() {
            self.close_table(false, out);
            if self.style.chunk_rows.is_some() {
                self.close(b']', out);
                self.flag(out);
                self.close_statement(out);
            }
        }
        if !self.is_begun {
            self.open_statement(out);
            self.key("series", out);
            self.open(b'[', out);
            self.is_begun = true;
        }
        self.item(out);
        self.open(b'{', out);
        if !head.name.is_empty() {
            self.text("name", &head.name, out);
        }
        if !head.labels.is_empty() {
            self.key("tags", out);
            self.open(b'{', out);
            for (name, value) in &head.labels {
                self.text(name, value, out);
            }
            self.close(b'}', out);
        }
        if !head.columns.is_empty() {
            self.key("columns", out);
            self.open(b'[', out);
            for column in head.columns.iter() {
                self.item(out);
                push_json(column, out);
            }
            self.close(b']', out);
        }
        self.open = Some((head.clone(), 0));
    }

    /// Ends the open table; `goes_on` says that more of it follows in another chunk.
    fn close_table(&mut self, goes_on: bool, out: &mut Vec<u8>) {
        let Some((_, rows)) = self.open.take() else { return };
        if rows > 0 {
            self.close(b']', out);
        }
        // InfluxDB marks long tables even where the rest follows at once.
        if goes_on || (self.style.chunk_rows.is_none() && rows > CHUNK_ROWS) {
            self.flag(out);
        }
        self.close(b'}', out);
    }

    fn row(&mut self, columns: &[Column], row: usize, out: &mut Vec<u8>) {
        let Some((_, rows)) = &mut self.open else { return };
        *rows += 1;
        if *rows == 1 {
            self.key("values", out);
            self.open(b'[', out);
        }
        self.item(out);
        if self.style.format == Format::Json {
            return self.compact_row(columns, row, out);
        }
        self.open(b'[', out);
        for (index, column) in columns.iter().enumerate() {
            self.item(out);
            self.value(index, &column.get(row), out);
        }
        self.close(b']', out);
    }

    /// Rows without blanks and chunks, of which answers mostly consist.
    fn compact_rows(&mut self, table: &Table, out: &mut Vec<u8>) {
        let (count, mut is_first) = (table.row_count(), false);
        if let Some((_, rows)) = self.open.as_mut().filter(|_| count > 0) {
            is_first = *rows == 0;
            *rows += count;
        }
        if is_first {
            self.key("values", out);
            self.open(b'[', out);
        }
        for row in 0..count {
            if self.has_items {
                out.push(b',');
            }
            self.has_items = true;
            self.compact_row(&table.columns, row, out);
        }
    }

    /// A row without blanks, of which answers mostly consist.
    fn compact_row(&mut self, columns: &[Column], row: usize, out: &mut Vec<u8>) {
        let mut before = b'[';
        for (index, column) in columns.iter().enumerate() {
            out.push(before);
            before = b',';
            match column {
                // Most are such, and need not become items first.
                Column::Times(times_ns) => self.time(index, times_ns.get(row).copied(), out),
                Column::Integers(values) => match values.get(row) {
                    Some(value) => push_integer(*value, out),
                    None => out.extend_from_slice(b"null"),
                },
                Column::Floats(values) => match values.get(row) {
                    Some(value) => push_json_float(*value, out),
                    None => out.extend_from_slice(b"null"),
                },
                column => self.value(index, &column.get(row), out),
            }
        }
        if columns.is_empty() {
            out.push(before);
        }
        out.push(b']');
    }

    fn value(&mut self, index: usize, item: &Item, out: &mut Vec<u8>) {
        match item {
            Item::Null => out.extend_from_slice(b"null"),
            Item::Float(value) => push_json_float(*value, out),
            Item::Integer(value) => push_integer(*value, out),
            Item::Unsigned(value) => push_whole(*value, out),
            Item::Boolean(true) => out.extend_from_slice(b"true"),
            Item::Boolean(false) => out.extend_from_slice(b"false"),
            Item::String(text) => push_json(text, out),
            Item::Time(time_ns) => self.time(index, Some(*time_ns), out),
        }
    }

    fn time(&mut self, index: usize, time_ns: Option<i64>, out: &mut Vec<u8>) {
        match (time_ns, self.style.epoch.filter(|_| index == 0)) {
            (None, _) => out.extend_from_slice(b"null"),
            (Some(time_ns), Some(unit)) => push_integer(time_ns / unit.0, out),
            (Some(time_ns), None) => {
                out.push(b'"');
                self.times.push(time_ns, self.zone.as_ref(), out);
                out.push(b'"');
            }
        }
    }

    fn open_statement(&mut self, out: &mut Vec<u8>) {
        if !self.has_results || self.style.chunk_rows.is_some() {
            self.depth = 0;
            self.open(b'{', out);
            self.key("results", out);
            self.open(b'[', out);
            self.has_results = true;
        }
        self.item(out);
        self.open(b'{', out);
        self.key("statement_id", out);
        push_whole(self.id as u64, out);
    }

    fn close_statement(&mut self, out: &mut Vec<u8>) {
        self.close(b'}', out);
        self.is_begun = false;
        self.is_complete = true;
        if self.style.chunk_rows.is_some() {
            self.close(b']', out);
            self.close(b'}', out);
            out.push(b'\n');
        }
    }

    fn flag(&mut self, out: &mut Vec<u8>) {
        self.key("partial", out);
        out.extend_from_slice(b"true");
    }

    fn text(&mut self, key: &str, value: &str, out: &mut Vec<u8>) {
        self.key(key, out);
        push_json(value, out);
    }

    fn key(&mut self, key: &str, out: &mut Vec<u8>) {
        self.item(out);
        push_json(key, out);
        out.push(b':');
        if self.style.format == Format::PrettyJson {
            out.push(b' ');
        }
    }

    /// What stands before an item of a list or object.
    fn item(&mut self, out: &mut Vec<u8>) {
        if self.has_items {
            out.push(b',');
        }
        self.has_items = true;
        self.break_line(out);
    }

    fn open(&mut self, mark: u8, out: &mut Vec<u8>) {
        out.push(mark);
        self.depth += 1;
        self.has_items = false;
    }

    fn close(&mut self, mark: u8, out: &mut Vec<u8>) {
        self.depth = self.depth.saturating_sub(1);
        if self.has_items {
            self.break_line(out);
        }
        out.push(mark);
        self.has_items = true;
    }

    fn break_line(&self, out: &mut Vec<u8>) {
        if self.style.format == Format::PrettyJson {
            out.push(b'\n');
            out.resize(out.len() + 4 * self.depth, b' ');
        }
    }
}
