//! Writes an answer as a Parquet file: a row for each row of the answer, with the measurement or
//! metric before its labels and columns.
//!
//! A file says of each column what it holds before the first row. InfluxQL is therefore asked for
//! in a form that tells integers from floats, and the first rows are held until they are known.

use super::{Ask, NOTHING, OPENTSDB, PIECE_BYTES_MAX, TOO_LONG, answer, complain, refused};
use crate::output::Output;
use foliot_migrate::Error;
use foliot_migrate::influx::{Item, Series, each_row};
use foliot_migrate::parquet::{Column, Kind, Writer};
use foliot_model::Value;
use std::collections::BTreeSet;
use std::io::{self, BufWriter, IsTerminal, Read, Write};

/// Rows that are held until it is known what their columns hold.
const FIRST_ROWS: usize = 100_000;

/// The column of times, of an answer of either language.
const TIME: &str = "time";

/// Asks one question and writes its answer to standard output.
///
/// # Errors
/// What the server says, or why it cannot be asked or written.
pub(super) fn put(ask: &Ask, statement: &str) -> Result<(), String> {
    if io::stdout().is_terminal() {
        return Err(
            "a Parquet file is no text for a terminal: write it to a file with > FILE".to_owned()
        );
    }
    let out = BufWriter::new(Output::default());
    let rows = match statement.starts_with(OPENTSDB) {
        true => opentsdb(ask, statement, out),
        false => influx(ask, statement, out),
    }?;
    if rows == 0 {
        complain(NOTHING);
    }
    Ok(())
}

fn influx(ask: &Ask, statement: &str, out: impl Write + Send) -> Result<u64, String> {
    let mut table = Table { out: Some(out), heading: None, first: Vec::new(), file: None, rows: 0 };
    each_row(&ask.client, &ask.database, statement, &mut |series, row, _| table.row(series, row))
        .and_then(|()| table.finish())
        .map_err(|error| match error {
            Error::Answer { status, message } if status != 200 => {
                refused(status, message.as_bytes())
            }
            error => error.to_string(),
        })
}

/// An answer whose rows come one after the other.
struct Table<W: Write + Send> {
    /// Where the file goes, until it is begun.
    out: Option<W>,
    heading: Option<Heading>,
    /// The rows before the file is begun.
    first: Vec<Vec<Item>>,
    file: Option<(Writer<W>, Vec<Column>)>,
    rows: u64,
}

/// What the rows of a table have in common.
#[derive(PartialEq, Eq)]
struct Heading {
    labels: Vec<String>,
    columns: Vec<String>,
}

impl<W: Write + Send> Table<W> {
    fn row(&mut self, series: &Series, row: &[Item]) -> Result<(), Error> {
        if series.statement > 0 {
            return Err(wrong(
                "these are several statements, and a file has the rows of one: ask for them one \
                 after the other",
            ));
        }
        let heading = self.heading.get_or_insert_with(|| Heading {
            labels: series.tags.iter().map(|(name, _)| name.clone()).collect(),
            columns: series.columns.clone(),
        });
        let is_same = heading.columns == series.columns
            && heading.labels.iter().eq(series.tags.iter().map(|(name, _)| name));
        if !is_same {
            return Err(wrong(
                "the answer has tables of different columns, and a file has one: ask \
                              for them one after the other",
            ));
        }
        let text = |text: &String| Item::Text(text.clone());
        let tags = series.tags.iter().map(|(_, value)| text(value));
        let row: Vec<Item> =
            std::iter::once(text(&series.name)).chain(tags).chain(row.iter().cloned()).collect();
        self.rows += 1;
        match &mut self.file {
            Some((file, columns)) => write(file, columns, &row, self.rows),
            None => {
                self.first.push(row);
                if self.first.len() == FIRST_ROWS { self.begin() } else { Ok(()) }
            }
        }
    }

    /// Begins the file, now that there are rows to tell what the columns hold.
    fn begin(&mut self) -> Result<(), Error> {
        let Some(out) = self.out.take() else { return Ok(()) };
        let first = std::mem::take(&mut self.first);
        let heading = self.heading.take();
        let heading = heading.unwrap_or(Heading { labels: Vec::new(), columns: Vec::new() });
        let columns = heading.columns(&first)?;
        self.heading = Some(heading);
        let mut file = Writer::new(out, &columns)?;
        for (row, at) in first.iter().zip(1..) {
            write(&mut file, &columns, row, at)?;
        }
        self.file = Some((file, columns));
        Ok(())
    }

    fn finish(&mut self) -> Result<u64, Error> {
        self.begin()?;
        if let Some((file, _)) = self.file.take() {
            file.finish()?;
        }
        Ok(self.rows)
    }
}

impl Heading {
    fn columns(&self, rows: &[Vec<Item>]) -> Result<Vec<Column>, Error> {
        let column = |name: &str, kind, is_label| Column { name: name.to_owned(), kind, is_label };
        let mut columns = vec![column("measurement", Kind::Text, false)];
        columns.extend(self.labels.iter().map(|name| column(name, Kind::Text, true)));
        let before = columns.len();
        for (at, name) in self.columns.iter().enumerate() {
            if columns.iter().any(|column| !column.is_label && column.name == *name) {
                let why = format!("two columns are called {name:?}: name one of them with AS");
                return Err(Error::Format(why));
            }
            let cells = rows.iter().filter_map(|row| row.get(before + at));
            columns.push(column(name, kind(name, cells)?, false));
        }
        Ok(columns)
    }
}

/// What a column holds, by its first cells.
fn kind<'a>(name: &str, cells: impl Iterator<Item = &'a Item>) -> Result<Kind, Error> {
    let mut kind = None;
    for cell in cells {
        let cell = match cell {
            Item::Nil => continue,
            Item::Boolean(_) => Kind::Boolean,
            Item::Text(_) => Kind::Text,
            Item::Float(_) => Kind::Float,
            Item::Integer(_) | Item::Unsigned(_) if name == TIME => Kind::Time,
            Item::Unsigned(number) if i64::try_from(*number).is_err() => Kind::Unsigned,
            Item::Integer(_) | Item::Unsigned(_) => Kind::Integer,
            Item::List(_) | Item::Map(_) => return Err(wrong("a cell of the answer is none")),
        };
        kind = Some(match (kind, cell) {
            (None, cell) => cell,
            (Some(kind), cell) if kind == cell => kind,
            (Some(Kind::Integer | Kind::Float), Kind::Integer | Kind::Float) => Kind::Float,
            (Some(Kind::Integer | Kind::Unsigned), Kind::Integer | Kind::Unsigned) => {
                Kind::Unsigned
            }
            (Some(kind), cell) => return Err(mixed(name, cell, kind)),
        });
    }
    // A column without a cell is one of numbers most likely.
    Ok(kind.unwrap_or(Kind::Float))
}

fn write<W: Write + Send>(
    file: &mut Writer<W>,
    columns: &[Column],
    row: &[Item],
    number: u64,
) -> Result<(), Error> {
    for (at, (cell, column)) in row.iter().zip(columns).enumerate() {
        if *cell == Item::Nil {
            continue;
        }
        if !fitted(cell, column.kind).is_some_and(|value| file.set(at, value)) {
            return Err(Error::Format(format!(
                "column {:?}: row {number} has {cell:?}, the rows before it {:?}",
                column.name, column.kind
            )));
        }
    }
    file.end_row()
}

/// A cell as a column of a kind takes it.
fn fitted(cell: &Item, kind: Kind) -> Option<Value<'_>> {
    match (cell, kind) {
        (Item::Integer(number), Kind::Float) => Some(Value::Float(*number as f64)),
        (Item::Unsigned(number), Kind::Float) => Some(Value::Float(*number as f64)),
        (Item::Integer(number), Kind::Unsigned) => u64::try_from(*number).ok().map(Value::Unsigned),
        (Item::Unsigned(number), Kind::Unsigned) => Some(Value::Unsigned(*number)),
        (Item::Integer(number), _) => Some(Value::Integer(*number)),
        (Item::Unsigned(number), _) => i64::try_from(*number).ok().map(Value::Integer),
        (Item::Float(number), _) => Some(Value::Float(*number)),
        (Item::Boolean(value), _) => Some(Value::Boolean(*value)),
        (Item::Text(text), _) => Some(Value::String(text)),
        (Item::Nil | Item::List(_) | Item::Map(_), _) => None,
    }
}

fn mixed(name: &str, one: Kind, other: Kind) -> Error {
    Error::Format(format!(
        "column {name:?} has {one:?} and {other:?}, and a column of a file has one of them"
    ))
}

fn wrong(reason: &str) -> Error {
    Error::Format(reason.to_owned())
}

/// An answer in OpenTSDB's words comes whole, and its values are floats.
fn opentsdb(ask: &Ask, statement: &str, out: impl Write + Send) -> Result<u64, String> {
    let mut answer = String::new();
    let mut asked = ask.asked(statement)?.take(PIECE_BYTES_MAX);
    let read = asked.read_to_string(&mut answer);
    let read = read.map_err(|error| format!("the answer was cut off: {error}"))?;
    if read as u64 == PIECE_BYTES_MAX {
        return Err(TOO_LONG.to_owned());
    }
    write_metrics(&answer::metrics(&answer)?, out).map_err(|error| error.to_string())
}

fn write_metrics(metrics: &[answer::Metric<'_>], out: impl Write + Send) -> Result<u64, Error> {
    let column = |name: &str, kind, is_label| Column { name: name.to_owned(), kind, is_label };
    let names: BTreeSet<&String> = metrics.iter().flat_map(|metric| metric.tags.keys()).collect();
    let mut columns = vec![column("metric", Kind::Text, false)];
    columns.extend(names.iter().map(|name| column(name, Kind::Text, true)));
    columns.extend([column(TIME, Kind::Time, false), column("value", Kind::Float, false)]);
    let (mut file, mut rows) = (Writer::new(out, &columns)?, 0);
    for metric in metrics {
        for (at_ms, value) in &metric.dps {
            file.set(0, Value::String(&metric.metric));
            for (at, name) in names.iter().enumerate() {
                if let Some(value) = metric.tags.get(*name) {
                    file.set(1 + at, Value::String(value));
                }
            }
            file.set(1 + names.len(), Value::Integer(at_ms.saturating_mul(1_000_000)));
            // What is no number of JSON, such as NaN, stands there as a text.
            if let Ok(value) = value.get().trim_matches('"').parse() {
                file.set(2 + names.len(), Value::Float(value));
            }
            file.end_row()?;
            rows += 1;
        }
    }
    file.finish()?;
    Ok(rows)
}
