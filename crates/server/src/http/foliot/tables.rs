//! Answers that are tables, and not series: those of SQL, and those of InfluxQL's statements that
//! tell of names and settings.

use super::encode::{Spelling, Unit, value_of, write_value};
use crate::http::influx;
use foliot_model::{Item, Table, TableHead};
use serde_json::json;
use std::io::Write as _;
use std::sync::Arc;

/// Rows of an answer, of all its tables. A table of a browser holds no more; LIMIT and OFFSET give
/// others.
const ROWS_MAX: u64 = 10_000;

/// What the columns of a table hold.
pub(super) struct Typed {
    /// A word for each.
    pub(super) kinds: Vec<&'static str>,
    /// The unit of times.
    pub(super) unit: Unit,
}

/// Writes tables, which stand behind the series of the answer and are held until then.
pub(super) struct Tables {
    is_exact: bool,
    text: Vec<u8>,
    /// The table that is open.
    head: Option<Arc<TableHead>>,
    rows: u64,
    rows_left_out: u64,
}

impl Tables {
    /// No tables yet; their values are spelled as those of series.
    pub(super) fn new(Spelling { is_exact, .. }: Spelling) -> Self {
        Self { is_exact, text: Vec::new(), head: None, rows: 0, rows_left_out: 0 }
    }

    /// The tables as members of an array, and how many rows there was no room for.
    pub(super) fn finish(mut self) -> (Vec<u8>, u64) {
        self.close();
        (self.text, self.rows_left_out)
    }

    /// Appends a piece of a table whose columns have types.
    pub(super) fn typed(&mut self, table: &Table, typed: &Typed) {
        self.piece(table, Some(typed));
    }

    fn piece(&mut self, table: &Table, typed: Option<&Typed>) {
        if self.rows == ROWS_MAX {
            self.rows_left_out += table.row_count() as u64;
            return;
        }
        if !self.head.as_ref().is_some_and(|head| Arc::ptr_eq(head, &table.head)) {
            self.close();
            self.open(&table.head, typed);
        }
        for items in table.rows() {
            self.row(&items, typed.map(|typed| typed.unit));
        }
        if table.is_last {
            self.close();
        }
    }

    fn open(&mut self, head: &Arc<TableHead>, typed: Option<&Typed>) {
        let separator = if self.text.is_empty() { "" } else { "," };
        let pairs = head.labels.iter().map(|(name, value)| (name.to_string(), json!(&**value)));
        let labels: serde_json::Map<_, _> = pairs.collect();
        let columns: Vec<&str> = head.columns.iter().map(|name| &**name).collect();
        let (name, labels, columns) = (json!(&*head.name), json!(labels), json!(columns));
        // Writing to memory cannot fail.
        let _ = write!(
            self.text,
            "{separator}{{\"name\":{name},\"labels\":{labels},\"columns\":{columns},"
        );
        if let Some(typed) = typed {
            let _ = write!(self.text, "\"kinds\":{},", json!(typed.kinds));
        }
        self.text.extend_from_slice(b"\"rows\":[");
        self.head = Some(head.clone());
    }

    fn close(&mut self) {
        if self.head.take().is_some() {
            self.text.extend_from_slice(b"]}");
        }
    }

    fn row(&mut self, items: &[Item], unit: Option<Unit>) {
        if self.rows == ROWS_MAX {
            self.rows_left_out += 1;
            return;
        }
        self.rows += 1;
        self.text.extend_from_slice(if self.text.ends_with(b"[") { b"[" } else { b",[" });
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.text.push(b',');
            }
            match (item, unit, value_of(item)) {
                (Item::Time(time_ns), Some(unit), _) => unit.write(*time_ns, &mut self.text),
                (_, _, Some(value)) => write_value(value, self.is_exact, &mut self.text),
                (_, _, None) => self.text.extend_from_slice(b"null"),
            }
        }
        self.text.push(b']');
    }
}

impl influx::Tables for Tables {
    fn table(&mut self, table: &Table, _: &mut Vec<u8>) {
        self.piece(table, None);
    }

    fn held_bytes(&self) -> usize {
        self.text.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Spelling = Spelling { unit: Unit::Millis, is_exact: false };
    use influx::Tables as _;

    fn piece(head: &Arc<TableHead>, items: Vec<Item>, is_last: bool) -> Table {
        Table::of_rows(head.clone(), items, is_last)
    }

    #[test]
    fn tables_in_pieces_are_whole_and_too_many_rows_are_counted() {
        let columns: Arc<[Arc<str>]> = ["key".into(), "count".into()].into();
        let labels = vec![("host".into(), "a\"b".into())];
        let head = Arc::new(TableHead { name: "m".into(), labels, columns: columns.clone() });
        let other = Arc::new(TableHead { name: "n".into(), labels: Vec::new(), columns });
        let mut tables = Tables::new(PLAIN);
        let out = &mut Vec::new();
        tables.table(&piece(&head, vec![Item::String("x".into()), Item::Integer(-7)], false), out);
        tables.table(&piece(&head, vec![Item::Null, Item::Float(f64::NAN)], true), out);
        tables.table(&piece(&other, Vec::new(), true), out);
        let (text, left_out) = tables.finish();
        let told: serde_json::Value =
            serde_json::from_str(&format!("[{}]", String::from_utf8(text).unwrap())).unwrap();
        assert_eq!(
            told,
            json!([
                {"name": "m", "labels": {"host": "a\"b"}, "columns": ["key", "count"], "rows": [["x", -7], [null, "NaN"]]},
                {"name": "n", "labels": {}, "columns": ["key", "count"], "rows": []},
            ])
        );
        assert_eq!((left_out, out.len()), (0, 0));

        // Beyond the last row there is no other table, either.
        let mut tables = Tables::new(PLAIN);
        let rows = ROWS_MAX as usize + 3;
        tables.table(&piece(&head, vec![Item::Boolean(true); 2 * rows], true), out);
        tables.table(&piece(&other, vec![Item::Null; 4], true), out);
        let (text, left_out) = tables.finish();
        let told: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(told["rows"].as_array().unwrap().len() as u64, ROWS_MAX);
        assert_eq!(left_out, 5);
    }
}
