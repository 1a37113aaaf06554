//! Formats that gather the rows of a body per table before it can be written: SQL and COPY for
//! PostgreSQL, IoTDB's columns, Druid's ingestion tasks.

use super::{Format, push_integer, push_value};
use crate::cursor::{Row, is_present};
use crate::fleet::{Fleet, Label, Table};
use crate::law::Kind;
use crate::postgres::{COPY_END, NULL};

/// Column that holds the time, milliseconds since 1970.
pub(crate) const TIME: &str = "time";

/// Path below which IoTDB keeps everything.
pub(crate) const IOTDB_ROOT: &str = "root.bench";

/// Path of a source in IoTDB, its name quoted because it may hold more than letters and digits.
pub(crate) fn iotdb_path(measurement: &str, source: &str) -> String {
    format!("{IOTDB_ROOT}.{measurement}.`{source}`")
}

/// What a body holds so far.
#[derive(Default)]
pub(super) struct Sections {
    /// One per table; for IoTDB the five columns of its request.
    parts: Vec<Vec<u8>>,
    /// Statements that are complete before the body is.
    complete: Vec<u8>,
    labels: Vec<Label>,
}

impl Sections {
    /// Adds a row; returns its values.
    pub(super) fn row(&mut self, fleet: &Fleet, format: Format, row: &Row<'_>, time: i64) -> u64 {
        let Some(table) = fleet.tables.get(row.table) else { return 0 };
        fleet.labels(row.source, row.step, row.table, &mut self.labels);
        if format == Format::IotdbRecords {
            return self.record(table, row, time);
        }
        if self.parts.len() <= row.table {
            self.parts.resize_with(row.table + 1, Vec::new);
        }
        if row.again && format == Format::Inserts {
            // No statement may overwrite what it has itself inserted.
            let mut complete = std::mem::take(&mut self.complete);
            self.close_tables(fleet, format, &mut complete);
            self.complete = complete;
        }
        let Some(out) = self.parts.get_mut(row.table) else { return 0 };
        let (open, between, null, close): (&str, u8, &str, &str) = match format {
            Format::Inserts => ("(", b',', "NULL", "),"),
            Format::Copy => ("", b'\t', NULL, "\n"),
            _ => ("", b',', "", "\\n"),
        };
        let quote = if format == Format::Inserts { "'" } else { "" };
        out.extend_from_slice(open.as_bytes());
        push_integer(time, out);
        for label in &self.labels {
            out.push(between);
            out.extend_from_slice(format!("{quote}{}{quote}", label.value).as_bytes());
        }
        let mut values = 0;
        for (at, field) in table.fields.iter().enumerate() {
            out.push(between);
            let value = at.checked_sub(row.first_field).and_then(|at| row.values.get(at));
            match value.filter(|value| is_present(**value)) {
                Some(value) => {
                    push_value(field.kind, *value, out);
                    values += 1;
                }
                None => out.extend_from_slice(null.as_bytes()),
            }
        }
        out.extend_from_slice(close.as_bytes());
        values
    }

    /// Writes the body and forgets the rows.
    pub(super) fn close(&mut self, fleet: &Fleet, format: Format, out: &mut Vec<u8>) {
        if format == Format::IotdbRecords {
            return self.close_records(out);
        }
        out.append(&mut self.complete);
        self.close_tables(fleet, format, out);
    }

    fn close_tables(&mut self, fleet: &Fleet, format: Format, out: &mut Vec<u8>) {
        for (at, rows) in self.parts.iter_mut().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let Some(table) = fleet.tables.get(at) else { continue };
            let labels: Vec<&str> = label_names(fleet, at);
            match format {
                Format::Inserts => {
                    rows.pop();
                    let head = format!("INSERT INTO {} VALUES ", head(table, &labels));
                    out.extend_from_slice(head.as_bytes());
                    out.append(rows);
                    out.extend_from_slice(overwriting(table).as_bytes());
                }
                Format::Copy => {
                    let head = format!("COPY {} FROM STDIN;\n", head(table, &labels));
                    out.extend_from_slice(head.as_bytes());
                    out.append(rows);
                    out.extend_from_slice(COPY_END);
                }
                _ => push_task(table, &labels, rows, out),
            }
            rows.clear();
        }
    }

    fn record(&mut self, table: &Table, row: &Row<'_>, time: i64) -> u64 {
        self.parts.resize_with(5, Vec::new);
        let [times, names, kinds, cells, devices] = self.parts.as_mut_slice() else { return 0 };
        push_integer(time, times);
        times.push(b',');
        let source = crate::oracle::source_name(&self.labels, table.source_label);
        let group =
            if table.groups > 0 { (row.source % table.groups).to_string() } else { "".into() };
        let device = format!("\"{}\",", iotdb_path(&format!("{}{group}", table.name), &source));
        devices.extend_from_slice(device.as_bytes());
        for list in [&mut *names, &mut *kinds, &mut *cells] {
            list.push(b'[');
        }
        let mut values = 0;
        let fields = table.fields.iter().skip(row.first_field).zip(row.values);
        for (field, value) in fields.filter(|(_, value)| is_present(**value)) {
            names.extend_from_slice(format!("\"{}\",", field.name).as_bytes());
            let kind = if field.kind == Kind::Integer { "\"INT64\"," } else { "\"DOUBLE\"," };
            kinds.extend_from_slice(kind.as_bytes());
            push_value(field.kind, *value, cells);
            cells.push(b',');
            values += 1;
        }
        for list in [names, kinds, cells] {
            list.pop();
            list.extend_from_slice(b"],");
        }
        values
    }

    fn close_records(&mut self, out: &mut Vec<u8>) {
        let names =
            ["timestamps", "measurements_list", "data_types_list", "values_list", "devices"];
        out.extend_from_slice(b"{\"is_aligned\":false");
        for (name, part) in names.iter().zip(&mut self.parts) {
            part.pop();
            out.extend_from_slice(format!(",\"{name}\":[").as_bytes());
            out.append(part);
            out.push(b']');
        }
        out.push(b'}');
    }
}

/// Names of a table's labels; every source has the same.
pub(crate) fn label_names(fleet: &Fleet, table: usize) -> Vec<&'static str> {
    let mut labels = Vec::new();
    fleet.labels(0, 0, table, &mut labels);
    labels.iter().map(|label| label.key).collect()
}

/// Table and columns of a row.
fn head(table: &Table, labels: &[&str]) -> String {
    let fields = table.fields.iter().map(|field| field.name.as_str());
    let columns = [TIME].into_iter().chain(labels.iter().copied()).chain(fields);
    let columns: Vec<String> = columns.map(|column| format!("\"{column}\"")).collect();
    format!("\"{}\" ({})", table.name, columns.join(","))
}

/// The last write of a source and time wins; a field that it lacks stays.
fn overwriting(table: &Table) -> String {
    let name = table.name;
    let set = table.fields.iter().map(|field| {
        let field = &field.name;
        format!("\"{field}\"=coalesce(excluded.\"{field}\",\"{name}\".\"{field}\")")
    });
    let set: Vec<String> = set.collect();
    let source = table.source_label;
    format!(" ON CONFLICT (\"{source}\",\"{TIME}\") DO UPDATE SET {};\n", set.join(","))
}

/// One `index_parallel` task with its rows inline, on a line of its own (druid.apache.org, "Native
/// batch ingestion").
fn push_task(table: &Table, labels: &[&str], rows: &mut Vec<u8>, out: &mut Vec<u8>) {
    let kind = |kind: Kind| if kind == Kind::Integer { "long" } else { "double" };
    let fields = table.fields.iter();
    let fields = fields.map(|field| {
        let kind = kind(field.kind);
        serde_json::json!({ "type": kind, "name": field.name })
    });
    let dimensions = labels.iter().map(|label| serde_json::json!(label)).chain(fields);
    let dimensions: Vec<serde_json::Value> = dimensions.collect();
    let columns = [TIME].into_iter().chain(labels.iter().copied());
    let columns = columns.chain(table.fields.iter().map(|field| field.name.as_str()));
    let columns: Vec<&str> = columns.collect();
    // The rows hold nothing that JSON would escape but their ends, and these are written escaped.
    let task = serde_json::json!({
        "type": "index_parallel",
        // Else a task fails while another one adds to the same month.
        "context": { "useConcurrentLocks": true },
        "spec": {
            "dataSchema": {
                "dataSource": table.name,
                "timestampSpec": { "column": TIME, "format": "millis" },
                "dimensionsSpec": { "dimensions": dimensions },
                "granularitySpec": { "segmentGranularity": "month", "rollup": false },
            },
            "ioConfig": {
                "type": "index_parallel",
                "appendToExisting": true,
                "inputFormat": { "type": "csv", "columns": columns },
                "inputSource": { "type": "inline", "data": "ROWS" },
            },
        },
    });
    let task = task.to_string();
    let (before, after) = task.split_once("ROWS").unwrap_or((&task, ""));
    out.extend_from_slice(before.as_bytes());
    out.append(rows);
    out.extend_from_slice(after.as_bytes());
    out.push(b'\n');
}
