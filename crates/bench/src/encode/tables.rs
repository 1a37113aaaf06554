//! Rows gathered per table before a body can be written, as text between delimiters: what SQL, COPY
//! and CSV share.

use super::number::{push_integer, push_value};
use crate::cursor::{Row, is_present};
use crate::fleet::Fleet;
use crate::profile::{Label, Table};

/// What stands around the cells of a row.
pub(crate) struct Cells {
    pub(crate) open: &'static str,
    pub(crate) between: u8,
    /// Around words.
    pub(crate) quote: &'static str,
    /// In place of a value that is not there.
    pub(crate) null: &'static str,
    pub(crate) close: &'static str,
}

/// The rows of a body, by table: time, labels, fields.
#[derive(Default)]
pub(crate) struct Tables {
    rows: Vec<Vec<u8>>,
    labels: Vec<Label>,
}

impl Tables {
    /// Adds a row; returns its values.
    pub(crate) fn row(&mut self, fleet: &Fleet, row: &Row<'_>, time: i64, cells: &Cells) -> u64 {
        let Some(table) = fleet.tables.get(row.table) else { return 0 };
        fleet.labels(row.source, row.step, row.table, &mut self.labels);
        if self.rows.len() <= row.table {
            self.rows.resize_with(row.table + 1, Vec::new);
        }
        let Some(out) = self.rows.get_mut(row.table) else { return 0 };
        let quote = cells.quote;
        out.extend_from_slice(cells.open.as_bytes());
        push_integer(time, out);
        for label in &self.labels {
            out.push(cells.between);
            out.extend_from_slice(format!("{quote}{}{quote}", label.value).as_bytes());
        }
        let mut values = 0;
        for (at, field) in table.fields.iter().enumerate() {
            out.push(cells.between);
            let value = at.checked_sub(row.first_field).and_then(|at| row.values.get(at));
            match value.filter(|value| is_present(**value)) {
                Some(value) => {
                    push_value(field.kind, *value, out);
                    values += 1;
                }
                None => out.extend_from_slice(cells.null.as_bytes()),
            }
        }
        out.extend_from_slice(cells.close.as_bytes());
        values
    }

    /// Shows each table that has rows, with the names of its labels, to `write`, which empties
    /// them.
    pub(crate) fn close(
        &mut self,
        fleet: &Fleet,
        mut write: impl FnMut(&Table, &[&str], &mut Vec<u8>),
    ) {
        for (at, rows) in self.rows.iter_mut().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            if let Some(table) = fleet.tables.get(at) {
                write(table, &fleet.label_names(at), rows);
            }
            rows.clear();
        }
    }
}
