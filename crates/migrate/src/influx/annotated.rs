//! Annotated CSV, in which InfluxDB 2 answers: tables one after the other, each with lines that say
//! what its columns hold before the line of their names. A row is a value of one field.

use crate::error::Error;
use crate::import::Import;
use crate::line::fault_of;
use crate::source::Source;
use foliot_model::Value;
use foliot_proto_influx::LineWriter;
use jiff::Timestamp;

/// Columns that are no tags.
const OWN: [&str; 8] = ["", "result", "table", "_start", "_stop", "_time", "_value", "_field"];
const MEASUREMENT: &str = "_measurement";

/// What the lines before a table said.
#[derive(Debug, Default)]
struct Table {
    kinds: Vec<String>,
    defaults: Vec<String>,
    names: Vec<String>,
    columns: Columns,
}

/// Where the columns are that a row needs.
#[derive(Debug, Default)]
struct Columns {
    time: Option<usize>,
    value: Option<usize>,
    field: Option<usize>,
    measurement: Option<usize>,
    tags: Vec<usize>,
}

/// Imports all tables.
///
/// # Errors
/// When the text cannot be read, an answer ends in an error, or storing fails as a whole; a row
/// that cannot be a line is refused.
pub(super) fn import(source: &mut Source<'_>, import: &mut Import<'_>) -> Result<(), Error> {
    let (mut line, mut more) = (Vec::new(), Vec::new());
    let (mut table, mut is_headed) = (Table::default(), false);
    while let Some(number) = source.next_line(&mut line)? {
        import.read(source.bytes_read(), source.bytes_total());
        // A text may hold line breaks.
        while !is_whole(&line) && source.next_line(&mut more)?.is_some() {
            line.push(b'\n');
            line.append(&mut more);
        }
        if line.trim_ascii().is_empty() {
            (table, is_headed) = (Table::default(), false);
            continue;
        }
        let cells = cells(&line);
        match cells.first().map(String::as_str) {
            Some("#datatype") => {
                (table, is_headed) = (Table { kinds: cells, ..Table::default() }, false)
            }
            Some("#default") => table.defaults = cells,
            Some(first) if first.starts_with('#') => {}
            _ if !is_headed => {
                table.columns = Columns::of(&cells);
                if table.columns.measurement.is_none() && !cells.iter().any(|name| name == "error")
                {
                    let reason = format!(
                        "this heading of a table has no column {MEASUREMENT}; lines of InfluxDB are \
                         brought in by `foliot import influx`"
                    );
                    import.refuse(number, reason);
                }
                (table.names, is_headed) = (cells, true);
            }
            _ if table.names.iter().any(|name| name == "error") => {
                let at = table.names.iter().position(|name| name == "error").unwrap_or_default();
                let message = cells.get(at).cloned().unwrap_or_default();
                return Err(Error::Answer { status: 200, message });
            }
            _ => match table.line(&cells) {
                Ok(Some(text)) => import.line(number, |out| out.extend_from_slice(&text))?,
                Ok(None) => {}
                Err(reason) => import.refuse(number, reason),
            },
        }
    }
    Ok(())
}

impl Columns {
    fn of(names: &[String]) -> Self {
        let at = |wanted: &str| names.iter().position(|name| name == wanted);
        let is_tag = |name: &str| !OWN.contains(&name) && name != MEASUREMENT;
        let tags = names.iter().enumerate().filter(|(_, name)| is_tag(name));
        Self {
            time: at("_time"),
            value: at("_value"),
            field: at("_field"),
            measurement: at(MEASUREMENT),
            tags: tags.map(|(at, _)| at).collect(),
        }
    }
}

impl Table {
    /// A row as a line; none when it has no value.
    fn line(&self, cells: &[String]) -> Result<Option<Vec<u8>>, String> {
        let cell = |at: Option<usize>, what: &str| {
            let at = at.ok_or_else(|| format!("there is no column {what}"))?;
            Ok::<&str, String>(self.cell(cells, at))
        };
        let columns = &self.columns;
        let (measurement, field) =
            (cell(columns.measurement, MEASUREMENT)?, cell(columns.field, "_field")?);
        let (value, time) = (cell(columns.value, "_value")?, cell(columns.time, "_time")?);
        let kind = columns.value.and_then(|at| self.kinds.get(at)).map_or("", String::as_str);
        if value.is_empty() && kind != "string" {
            return Ok(None);
        }
        let mut tags = Vec::new();
        for at in &columns.tags {
            let (name, value) =
                (self.names.get(*at).map_or("", String::as_str), self.cell(cells, *at));
            if !value.is_empty() {
                tags.push((name, value));
            }
        }
        tags.sort_unstable();
        let texts = tags.iter().flat_map(|(name, value)| [*name, *value]);
        for text in texts.chain([measurement, field]) {
            if let Some(why) = fault_of(text.as_bytes()) {
                return Err(format!("{text:?}: {why}"));
            }
        }
        let time: Timestamp =
            time.parse().map_err(|_| format!("_time: {time:?} is no time of RFC 3339"))?;
        let time_ns = i64::try_from(time.as_nanosecond());
        let time_ns = time_ns.map_err(|_| "_time: is too far away for nanoseconds")?;
        let mut line = Vec::new();
        let mut writer = LineWriter::begin(measurement, tags.into_iter(), &mut line);
        if !writer.field(field, read(kind, value)?) {
            return Err(format!("_value: {value} cannot be stored by lines"));
        }
        writer.end(time_ns);
        // Its end is put by who takes it.
        line.pop();
        Ok(Some(line))
    }

    /// What stands in a column, or is meant where nothing does.
    fn cell<'a>(&'a self, cells: &'a [String], at: usize) -> &'a str {
        let cell = cells.get(at).map_or("", String::as_str);
        match cell.is_empty() {
            true => self.defaults.get(at).map_or("", String::as_str),
            false => cell,
        }
    }
}

fn read<'a>(kind: &str, value: &'a str) -> Result<Value<'a>, String> {
    let read = match kind {
        "double" => value.parse().ok().map(Value::Float),
        "long" => value.parse().ok().map(Value::Integer),
        "unsignedLong" => value.parse().ok().map(Value::Unsigned),
        "boolean" => value.parse().ok().map(Value::Boolean),
        "string" => Some(Value::String(value)),
        "" => return Err("nothing says what kind of values these are: ask for annotations".into()),
        kind => return Err(format!("_value: {kind} is no kind of a field")),
    };
    read.ok_or_else(|| format!("_value: {value:?} is no {kind}"))
}

/// Whether no text in quotes goes on behind a line.
fn is_whole(line: &[u8]) -> bool {
    line.iter().filter(|byte| **byte == b'"').count() % 2 == 0
}

/// The cells of a line (RFC 4180).
fn cells(line: &[u8]) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), false);
    let mut bytes = line.iter().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_quoted && bytes.peek() == Some(&&b'"') => {
                bytes.next();
                cell.push(b'"');
            }
            b'"' => is_quoted = !is_quoted,
            b',' if !is_quoted => cells.push(text(std::mem::take(&mut cell))),
            byte => cell.push(*byte),
        }
    }
    cells.push(text(cell));
    cells
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let read = |line: &str| cells(line.as_bytes());
        assert_eq!(read(",,0,a"), ["", "", "0", "a"]);
        assert_eq!(read("\"a,\"\"b\"\"\nc\",d"), ["a,\"b\"\nc", "d"]);
        assert!(is_whole(b"a,\"b\"") && !is_whole(b"a,\"b"));
    }

    #[test]
    fn a_row_is_a_value_of_a_field() {
        let table = |kind: &str| {
            let names = ["", "result", "table", "_time", "_value", "_field", "_measurement", "h"];
            let names: Vec<String> = names.map(str::to_owned).to_vec();
            let mut kinds = vec![String::new(); names.len()];
            kind.clone_into(&mut kinds[4]);
            Table { columns: Columns::of(&names), names, kinds, defaults: Vec::new() }
        };
        let line = |kind: &str, row: &str| {
            let line = table(kind).line(&cells(row.as_bytes()));
            line.map(|line| line.map(|line| String::from_utf8(line).unwrap()))
        };
        let row = |value: &str| format!(",,0,2026-01-01T00:00:00.5Z,{value},wind speed,my m,a b");
        for (kind, value, expected) in [
            ("double", "0.5", "0.5"),
            ("double", "1e+21", "1000000000000000000000"),
            ("long", "-7", "-7i"),
            ("unsignedLong", "18446744073709551615", "18446744073709551615u"),
            ("boolean", "true", "true"),
            ("string", "\"say \"\"hi\"\"\"", "\"say \\\"hi\\\"\""),
            ("string", "", "\"\""),
        ] {
            let expected = format!("my\\ m,h=a\\ b wind\\ speed={expected} 1767225600500000000");
            assert_eq!(line(kind, &row(value)), Ok(Some(expected)), "{kind}");
        }
        assert_eq!(line("double", &row("")), Ok(None));
        for (kind, row, expected) in [
            ("double", row("x"), "_value: \"x\" is no double"),
            ("", row("1"), "ask for annotations"),
            ("duration", row("1h"), "_value: duration is no kind of a field"),
            ("double", row("NaN"), "_value: NaN cannot be stored"),
            ("double", row("1").replace("2026", "soon"), "is no time of RFC 3339"),
        ] {
            let said = line(kind, &row).unwrap_err();
            assert!(said.contains(expected), "{kind}: {said}");
        }
    }
}
