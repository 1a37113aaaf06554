//! Answers as InfluxDB 3 gives them: rows that stand for themselves, each with its measurement, its
//! time, the labels of its group and its columns.

use super::csv::push_field;
use super::text::{Times, push_json};
use foliot_model::{Item, Table, TableHead, push_integer, push_whole};
use std::io::Write as _;
use std::sync::Arc;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A list of objects.
    Json,
    /// An object a line.
    JsonLines,
    /// Comma-separated values under a line of names.
    Csv,
    /// A table drawn with lines, for people.
    Pretty,
}

impl Shape {
    /// Reads the parameter `format`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "json" => Self::Json,
            "jsonl" | "json_lines" => Self::JsonLines,
            "csv" => Self::Csv,
            "pretty" => Self::Pretty,
            _ => return None,
        })
    }

    /// The shape that the header `Accept` asks for; unknown ones mean JSON.
    pub fn of_accept(accept: &str) -> Self {
        match accept.split([',', ';']).next().unwrap_or_default().trim() {
            "application/jsonl" => Self::JsonLines,
            "text/csv" | "application/csv" => Self::Csv,
            "text/plain" => Self::Pretty,
            _ => Self::Json,
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::JsonLines => "application/jsonl",
            Self::Csv => "text/csv",
            Self::Pretty => "text/plain; charset=utf-8",
        }
    }
}

#[derive(Debug)]
pub(super) struct Rows {
    shape: Shape,
    /// Names of the columns under which the rows before stand.
    names: Vec<Arc<str>>,
    has_rows: bool,
    /// Rows of a table that is drawn, which needs the widths of all.
    drawn: Vec<Vec<String>>,
    drawn_bytes: usize,
}

impl Rows {
    pub(super) fn new(shape: Shape) -> Self {
        let (names, drawn) = (Vec::new(), Vec::new());
        Self { shape, names, has_rows: false, drawn, drawn_bytes: 0 }
    }

    pub(super) fn table(&mut self, table: &Table, out: &mut Vec<u8>) {
        let names = names(&table.head);
        if self.names != names {
            self.begin(names, out);
        }
        for row in 0..table.row_count() {
            let cells = cells(table, row);
            match self.shape {
                Shape::Json | Shape::JsonLines => self.object(&cells, out),
                Shape::Csv => self.line(&cells, out),
                Shape::Pretty => self.draw(&cells),
            }
            self.has_rows = true;
        }
    }

    pub(super) fn finish(mut self, out: &mut Vec<u8>) {
        match self.shape {
            Shape::Json if !self.has_rows => out.extend_from_slice(b"[]"),
            Shape::Json => out.push(b']'),
            Shape::Pretty => self.end_drawing(out),
            Shape::JsonLines | Shape::Csv => {}
        }
    }

    /// Bytes that are held until a table ends.
    pub(super) fn held_bytes(&self) -> usize {
        self.drawn_bytes
    }

    /// Rows under other names follow.
    fn begin(&mut self, names: Vec<Arc<str>>, out: &mut Vec<u8>) {
        if self.shape == Shape::Pretty {
            self.end_drawing(out);
        }
        self.names = names;
        if self.shape == Shape::Csv {
            if self.has_rows {
                out.push(b'\n');
            }
            for (index, name) in self.names.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                push_field(name, out);
            }
            out.push(b'\n');
        }
    }

    /// A row as an object. What it lacks is not in it.
    fn object(&self, cells: &[Item], out: &mut Vec<u8>) {
        match (self.shape, self.has_rows) {
            (Shape::Json, false) => out.push(b'['),
            (Shape::Json, true) => out.push(b','),
            _ => {}
        }
        out.push(b'{');
        let mut is_first = true;
        for (name, cell) in self.names.iter().zip(cells).filter(|(_, cell)| is_something(cell)) {
            if !is_first {
                out.push(b',');
            }
            is_first = false;
            push_json(name, out);
            out.push(b':');
            match cell {
                Item::String(text) => push_json(text, out),
                Item::Time(time_ns) => {
                    out.push(b'"');
                    push_instant(*time_ns, out);
                    out.push(b'"');
                }
                cell => push_plain(cell, out),
            }
        }
        out.push(b'}');
        if self.shape == Shape::JsonLines {
            out.push(b'\n');
        }
    }

    fn line(&self, cells: &[Item], out: &mut Vec<u8>) {
        for (index, cell) in cells.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            match cell {
                Item::String(text) => push_field(text, out),
                cell => push_plain(cell, out),
            }
        }
        out.push(b'\n');
    }

    fn draw(&mut self, cells: &[Item]) {
        let text = |cell: &Item| {
            if let Item::String(said) = cell {
                return on_one_line(said);
            }
            let mut text = Vec::new();
            push_plain(cell, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        };
        let cells: Vec<String> = cells.iter().map(text).collect();
        self.drawn_bytes +=
            cells.iter().map(|cell| cell.len() + size_of::<String>()).sum::<usize>();
        self.drawn.push(cells);
    }

    fn end_drawing(&mut self, out: &mut Vec<u8>) {
        if self.names.is_empty() {
            return;
        }
        if !out.is_empty() {
            out.extend_from_slice(b"\n\n");
        }
        let rows = std::mem::take(&mut self.drawn);
        self.drawn_bytes = 0;
        let length = |text: &str| text.chars().count();
        let width = |(index, name): (usize, &Arc<str>)| {
            let cells = rows.iter().filter_map(|row| row.get(index));
            cells.map(|cell| length(cell)).chain([length(name)]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = self.names.iter().enumerate().map(width).collect();
        let rule: String =
            widths.iter().map(|width| format!("+{}", "-".repeat(width + 2))).collect();
        let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
            let cells = cells.zip(&widths).map(|(cell, width)| format!("| {cell:width$} "));
            cells.collect()
        };
        let heading = line(&mut self.names.iter().map(|name| &**name));
        // Writing to memory cannot fail.
        let _ = write!(out, "{rule}+\n{heading}|\n{rule}+\n");
        for row in &rows {
            let _ = writeln!(out, "{}|", line(&mut row.iter().map(String::as_str)));
        }
        let _ = write!(out, "{rule}+");
    }
}

/// A text for a cell that is drawn: ends of lines and their like would break its frame.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() {
            true => line.extend(c.escape_default()),
            false => line.push(c),
        }
    }
    line
}

/// Whether a cell is in an object: numbers that JSON cannot write are not.
fn is_something(cell: &Item) -> bool {
    match cell {
        Item::Null => false,
        Item::Float(value) => value.is_finite(),
        _ => true,
    }
}

/// The list of databases has names of its own.
fn is_databases(head: &TableHead) -> bool {
    &*head.name == "databases" && matches!(&*head.columns, [name] if &**name == "name")
}

/// The names of a table's columns, in the order of [`cells`].
fn names(head: &TableHead) -> Vec<Arc<str>> {
    if is_databases(head) {
        return vec![Arc::from("iox::database"), Arc::from("deleted")];
    }
    let mut names = Vec::new();
    // A table without a name is one of columns only.
    names.extend((!head.name.is_empty()).then(|| Arc::from("iox::measurement")));
    let (time, others) = head.columns.split_at(usize::from(has_time(head)));
    names.extend(time.iter().cloned());
    names.extend(head.labels.iter().map(|(name, _)| name.clone()));
    names.extend(others.iter().cloned());
    names
}

fn has_time(head: &TableHead) -> bool {
    head.columns.first().is_some_and(|name| &**name == "time")
}

fn cells(table: &Table, row: usize) -> Vec<Item> {
    let mut columns = table.columns.iter().map(|column| column.get(row).into_owned());
    if is_databases(&table.head) {
        return columns.chain([Item::Boolean(false)]).collect();
    }
    let mut cells = Vec::new();
    let name = &table.head.name;
    cells.extend((!name.is_empty()).then(|| Item::String(name.clone())));
    if has_time(&table.head) {
        cells.extend(columns.next());
    }
    let label = |value: &Arc<str>| match value.is_empty() {
        true => Item::Null,
        false => Item::String(value.clone()),
    };
    cells.extend(table.head.labels.iter().map(|(_, value)| label(value)));
    cells.extend(columns);
    cells
}

/// What is no text. Floats keep their point, by which readers know them.
fn push_plain(cell: &Item, out: &mut Vec<u8>) {
    // Writing to memory cannot fail.
    match cell {
        Item::Null | Item::String(_) => {}
        Item::Float(value) => drop(write!(out, "{value:?}")),
        Item::Integer(value) => push_integer(*value, out),
        Item::Unsigned(value) => push_whole(*value, out),
        Item::Boolean(value) => drop(write!(out, "{value}")),
        Item::Time(time_ns) => push_instant(*time_ns, out),
    }
}

/// A time in UTC without saying so, with milli-, micro- or nanoseconds if it has such.
fn push_instant(time_ns: i64, out: &mut Vec<u8>) {
    let before = out.len();
    Times::default().push(time_ns, None, out);
    // The Z.
    out.pop();
    let written = out.get(before..).unwrap_or_default();
    if let Some(point) = written.iter().position(|byte| *byte == b'.') {
        let digits = written.len() - point - 1;
        out.resize(out.len() + digits.next_multiple_of(3) - digits, b'0');
    }
}
