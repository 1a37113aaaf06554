//! `SELECT … INTO`: tables written back as lines, by the same way in as everything else.

use super::lines::{Order, store_lines};
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::{Access, Measurements, Principal};
use foliot_model::{Item, Table, Value};
use foliot_proto_influx::influxql::Target;
use foliot_proto_influx::{LineWriter, Precision};
use foliot_schema::Missing;

/// Lines that are gathered before they are stored.
const LINES_BYTES: usize = 1 << 20;

/// Rows on their way back into the store.
pub(super) struct Into<'a> {
    shared: &'a Shared,
    store: &'a Store,
    namespace: foliot_model::NamespaceId,
    /// The measurement to write to; none: that of each table.
    measurement: Option<String>,
    /// Columns that are tags.
    tags: &'a [String],
    /// The measurements that may be written.
    scope: Measurements,
    lines: Vec<u8>,
    written: u64,
}

impl<'a> Into<'a> {
    /// Writes to `target`, the columns named by `tags` as tags; what `target` leaves open is
    /// `database` and that one's default policy. `who` writes.
    pub(super) fn new(
        shared: &'a Shared,
        store: &'a Store,
        target: &Target,
        tags: &'a [String],
        database: &str,
        who: &Principal,
    ) -> Result<Self, Missing> {
        let database = target.database.as_deref().unwrap_or(database);
        let scope = who.measurements(database, Access::Write);
        let namespace = store.databases().find(database, target.policy.as_deref())?;
        let measurement = target.measurement.clone();
        Ok(Self {
            shared,
            store,
            namespace,
            measurement,
            tags,
            scope,
            lines: Vec::new(),
            written: 0,
        })
    }

    /// Writes the rows of a table: its labels become tags, its columns fields.
    pub(super) fn table(&mut self, table: &Table) -> Result<(), String> {
        let head = &table.head;
        let measurement = self.measurement.as_deref().unwrap_or(&head.name);
        for row in table.rows() {
            let is_tag = |column: &str| self.tags.iter().any(|tag| tag == column);
            let labels = head.labels.iter().map(|(name, value)| (&**name, &**value));
            let cells = head.columns.iter().zip(&row);
            let chosen = cells.filter_map(|(column, item)| match item {
                Item::String(text) if is_tag(column) => Some((&**column, &**text)),
                _ => None,
            });
            let mut line = LineWriter::begin(measurement, labels.chain(chosen), &mut self.lines);
            let mut time_ns = 0;
            let cells = head.columns.iter().zip(&row);
            for (column, item) in cells.filter(|(column, _)| !is_tag(column)) {
                match item {
                    Item::Time(instant) => time_ns = *instant,
                    Item::Float(value) => drop(line.field(column, Value::Float(*value))),
                    Item::Integer(value) => drop(line.field(column, Value::Integer(*value))),
                    Item::Unsigned(value) => drop(line.field(column, Value::Unsigned(*value))),
                    Item::Boolean(value) => drop(line.field(column, Value::Boolean(*value))),
                    Item::String(text) => drop(line.field(column, Value::String(text))),
                    Item::Null => {}
                }
            }
            self.written += u64::from(line.end(time_ns) > 0);
        }
        match self.lines.len() >= LINES_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Stores what was gathered; returns how many points were written in all.
    pub(super) fn finish(mut self) -> Result<u64, String> {
        self.flush()?;
        Ok(self.written)
    }

    fn flush(&mut self) -> Result<(), String> {
        let lines = std::mem::take(&mut self.lines);
        let scope = &self.scope;
        let order = Order { precision: Precision::Nanosecond, accepts_partial: true, scope };
        let stored = store_lines(self.shared, self.store, self.namespace, order, &lines);
        let stored = stored.map_err(|error| error.to_string())?;
        match stored.refused.first().or(stored.dropped.first()) {
            Some(reject) => {
                let dropped = stored.refused.len() + stored.dropped.len();
                Err(format!("partial write: {} dropped={dropped}", reject.reason))
            }
            None => Ok(()),
        }
    }
}
