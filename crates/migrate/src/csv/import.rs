//! Reads a text row by row, and makes each row a line.

use super::Spelled;
use super::cell::{is_number, is_whole, shown, time_ns, truth};
use super::look::{Look, Reads, is_times_name};
use super::rows::{Row, Rows};
use super::saved::{unguarded, value_of};
use crate::columns::{Shape, Told, push_line};
use crate::error::Error;
use crate::import::Import;
use crate::source::Source;
use foliot_model::Value;
use std::collections::VecDeque;
use std::fmt;
use std::path::Path;

/// Rows by which it is decided what columns hold, and their bytes: as many as the page looks at.
const FIRST_ROWS: usize = 1_000;
const FIRST_BYTES: usize = 64 << 10;

/// A text of rows, and what its columns mean.
pub struct File {
    name: String,
    rows: Rows,
    /// The rows by which it was decided what columns hold.
    first: VecDeque<Row>,
    look: Look,
    /// None where there are no rows to tell.
    shape: Option<Shape>,
    /// The line in which another table begins.
    another: Option<u64>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("name", &self.name).finish_non_exhaustive()
    }
}

impl File {
    /// Opens a file, plain or gzipped, and understands its columns; `-` is standard input. A row
    /// has up to `row_bytes_max` bytes.
    ///
    /// # Errors
    /// When it cannot be read, or it is not clear what a column means.
    pub fn open(
        path: &Path,
        told: &Told,
        spelled: Spelled,
        row_bytes_max: u64,
    ) -> Result<Self, Error> {
        let source = Source::open(path)?;
        let name = source.name().to_owned();
        Self::of(source, told, spelled, row_bytes_max).map_err(|error| error.in_file(&name))
    }

    pub(super) fn of(
        source: Source<'static>,
        told: &Told,
        spelled: Spelled,
        row_bytes_max: u64,
    ) -> Result<Self, Error> {
        let name = source.name().to_owned();
        let mut rows = Rows::open(source, spelled.separator, row_bytes_max)?;
        let mut header = Row::default();
        if !rows.next(&mut header)? {
            return Err(Error::Format("it is empty: there is no header in it".to_owned()));
        }
        let (mut first, mut bytes, mut another) = (Vec::new(), 0, None);
        while first.len() < FIRST_ROWS && bytes < FIRST_BYTES {
            let mut row = Row::default();
            if !rows.next(&mut row)? {
                break;
            }
            if begins_another(&header, &row) {
                another = Some(row.line);
                break;
            }
            bytes += row.bytes();
            first.push(row);
        }
        let look = Look::at(&header, &first, told, spelled)?;
        let shape = if first.is_empty() { None } else { Some(look.shape(told)?) };
        Ok(Self { name, rows, first: first.into(), look, shape, another })
    }

    /// What it is called in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was taken for granted and may be meant otherwise, in a sentence.
    pub fn note(&self) -> Option<String> {
        let (shape, guessed) = (self.shape.as_ref()?, self.look.guessed?);
        Some(format!(
            "numbers in the column {} are taken for {} by their size; --precision says what they \
             count",
            shape.time_name,
            guessed.word()
        ))
    }

    /// The next row, until another table begins.
    fn next(&mut self, row: &mut Row) -> Result<bool, Error> {
        if let Some(first) = self.first.pop_front() {
            *row = first;
            return Ok(true);
        }
        if self.another.is_some() || !self.rows.next(row)? {
            return Ok(false);
        }
        let is_header = row.is_apart
            && row.cells().any(|cell| self.look.names.iter().any(|name| is_again(name, cell)));
        self.another = is_header.then_some(row.line);
        Ok(!is_header)
    }
}

/// Imports a file: each row becomes a line of its measurement, with its labels and fields.
///
/// # Errors
/// When the text cannot be read or storing fails as a whole; a row that cannot be a line is
/// refused.
pub fn import(file: &mut File, import: &mut Import<'_>) -> Result<(), Error> {
    let Some(shape) = file.shape.take() else {
        let (read, total) = file.rows.progress();
        import.read(read, total);
        return Ok(());
    };
    let (mut row, mut line) = (Row::default(), Vec::new());
    while file.next(&mut row)? {
        let (read, total) = file.rows.progress();
        import.read(read, total);
        line.clear();
        let made = file
            .look
            .check(&row)
            .and_then(|()| push_line(&shape, |at| file.look.value(&row, at), &mut line));
        match made {
            Ok(()) => import.line_of(&shape, row.line, &line)?,
            Err(reason) => import.refuse(row.line, reason),
        }
    }
    if let Some(line) = file.another {
        let reason = "another table begins here, behind an empty line: put it into a file of its \
                      own; nothing from here on was read";
        import.refuse(line, reason);
    }
    Ok(())
}

/// Whether a row is the header of another table, as `foliot query` prints where series have other
/// labels: behind an empty line, and with the name of a column of times that the first has, too.
fn begins_another(header: &Row, row: &Row) -> bool {
    row.is_apart
        && row.cells().any(|cell| {
            header
                .cells()
                .any(|name| std::str::from_utf8(name).is_ok_and(|name| is_again(name, cell)))
        })
}

/// Whether a cell is a name of times that the header has.
fn is_again(name: &str, cell: &[u8]) -> bool {
    name.as_bytes() == cell && is_times_name(name)
}

impl Look {
    /// Says why a row cannot be understood.
    fn check(&self, row: &Row) -> Result<(), String> {
        if let Some(fault) = &row.fault {
            return Err(fault.clone());
        }
        let (cells, columns) = (row.len(), self.names.len());
        match cells == columns {
            true => Ok(()),
            false => Err(format!(
                "has {cells} cells, and the header {columns}; a cell that holds what divides cells \
                 is written in quotes"
            )),
        }
    }

    /// What a row has in a column.
    fn value<'r>(&self, row: &'r Row, at: usize) -> Result<Option<Value<'r>>, String> {
        let Some(reads) = self.reads.get(at) else { return Ok(None) };
        let text = self.text(row, at)?;
        if let Reads::Kept(kind) = reads {
            return value_of(self.text(row, *kind)?, text);
        }
        if text.is_empty() {
            return Ok(None);
        }
        let value = match reads {
            Reads::Time(precision) => Some(Value::Integer(time_ns(text, *precision)?)),
            Reads::Text | Reads::Kept(_) => Some(Value::String(text)),
            Reads::Float => float(text).map(Value::Float),
            Reads::Integer => text.parse().ok().filter(|_| is_whole(text)).map(Value::Integer),
            Reads::Unsigned => text.parse().ok().filter(|_| is_whole(text)).map(Value::Unsigned),
            Reads::Boolean => truth(text).map(Value::Boolean),
        };
        value.map(Some).ok_or_else(|| self.unread(at, text, *reads))
    }

    /// The text of a cell.
    fn text<'r>(&self, row: &'r Row, at: usize) -> Result<&'r str, String> {
        let cell = row.cell(at).unwrap_or_default();
        let text = std::str::from_utf8(cell).map_err(|_| {
            "is no UTF-8: convert the file, as by `iconv -f ISO-8859-1 -t UTF-8 FILE`".to_owned()
        })?;
        // Texts that were stored keep the blanks at their ends.
        Ok(if self.said.is_some() { unguarded(text) } else { text.trim() })
    }

    /// Why a cell is not what its column holds.
    fn unread(&self, at: usize, text: &str, reads: Reads) -> String {
        let name = self.names.get(at).map_or("", String::as_str);
        let what = match reads {
            Reads::Integer => "no whole number",
            Reads::Unsigned => "no whole number from 0 on",
            Reads::Boolean => "neither true nor false",
            _ => "no number",
        };
        format!(
            "{:?} is {what}, as the first rows have them; --label {name} or --text {name} takes \
             the column as texts",
            shown(text)
        )
    }
}

/// A number. What tools write for none is NaN.
fn float(text: &str) -> Option<f64> {
    let is_none = text.eq_ignore_ascii_case("nan");
    (is_none || is_number(text)).then(|| text.parse().ok()).flatten()
}
