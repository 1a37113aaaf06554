//! Kinds of fields: InfluxDB gives each field of a measurement one kind for ever, and so do the
//! doors that take its lines. Other doors keep a kind per sample and never ask here.
//!
//! ```text
//! fields   namespace u32 in decimal NUL measurement -> kind u8 | name length u32 | name, ...
//! ```
//!
//! The table is the catalog itself. A batch looks each of its measurements up once, and compares
//! kinds after that: a few nanoseconds a row.

use foliot_engine::{Engine, Error};
use foliot_model::{Batch, DEFAULT_FIELD, Kind, NamespaceId, Reject, Row};
use parking_lot::Mutex;
use std::collections::HashMap;

const KIND: &str = "fields";

/// Decides and remembers the kinds of fields.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    /// Held while the kind of a new field is decided.
    deciding: Mutex<()>,
}

/// The kinds that the fields of one shape have in one measurement, in the shape's order.
type Columns = Vec<Kind>;

impl Kinds {
    /// The fields of a measurement with their kinds, in the order in which they were first written.
    pub(crate) fn of(
        engine: &Engine,
        namespace: NamespaceId,
        measurement: &str,
    ) -> Vec<(String, Kind)> {
        engine
            .catalog_get(KIND, &key(namespace, measurement))
            .map_or_else(Vec::new, |fact| decode(&fact))
    }

    /// Forgets a measurement: its next line decides anew.
    pub(crate) fn forget(
        &self,
        engine: &Engine,
        namespace: NamespaceId,
        measurement: &str,
    ) -> Result<(), Error> {
        let _one_at_a_time = self.deciding.lock();
        if engine.catalog_get(KIND, &key(namespace, measurement)).is_some() {
            engine.catalog_delete(KIND, &key(namespace, measurement))?;
        }
        Ok(())
    }

    /// Has a field go on as the default field of a measurement.
    pub(crate) fn rename(
        &self,
        engine: &Engine,
        namespace: NamespaceId,
        (measurement, field): (&str, &str),
        to: &str,
    ) -> Result<(), Error> {
        let _one_at_a_time = self.deciding.lock();
        let mut old = Self::of(engine, namespace, measurement);
        let Some(at) = old.iter().position(|(name, _)| name == field) else { return Ok(()) };
        let (_, kind) = old.remove(at);
        let mut new = Self::of(engine, namespace, to);
        if new.iter().all(|(name, _)| name != DEFAULT_FIELD) {
            new.push((DEFAULT_FIELD.to_owned(), kind));
        }
        engine.catalog_put(KIND, &key(namespace, to), &encode(&new))?;
        match old.is_empty() {
            true => engine.catalog_delete(KIND, &key(namespace, measurement))?,
            false => engine.catalog_put(KIND, &key(namespace, measurement), &encode(&old))?,
        };
        Ok(())
    }

    /// Takes rows out of a batch of lines whose values are of another kind than their fields, and
    /// says so in `rejects`.
    pub(crate) fn check(
        &self,
        engine: &Engine,
        batch: &mut Batch<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), Error> {
        let found = self.find(engine, batch)?;
        if !found.is_empty() {
            let lines: Vec<usize> = found.iter().map(|(index, _)| *index).collect();
            batch.retain_rows(|index| lines.binary_search(&index).is_err());
            rejects.extend(found.into_iter().map(|(_, reject)| reject));
        }
        Ok(())
    }

    /// The rows that are in conflict, by index.
    fn find(&self, engine: &Engine, batch: &Batch<'_>) -> Result<Vec<(usize, Reject)>, Error> {
        let mut known: HashMap<(&[u8], u32), usize> = HashMap::new();
        let mut all: Vec<Columns> = Vec::new();
        let mut last: Option<(&[u8], u32, usize)> = None;
        let mut found = Vec::new();
        for (index, row) in batch.rows().iter().enumerate() {
            let line_key = batch.slice(row.key_tail);
            let same = last.filter(|(measurement, shape, _)| {
                *shape == row.shape && begins_with(line_key, measurement)
            });
            let (measurement, _, at) = match same {
                Some(same) => same,
                None => {
                    let measurement = raw_measurement(line_key);
                    let at = match known.get(&(measurement, row.shape)) {
                        Some(at) => *at,
                        None => {
                            all.push(self.columns(engine, batch, row, measurement)?);
                            known.insert((measurement, row.shape), all.len() - 1);
                            all.len() - 1
                        }
                    };
                    (measurement, row.shape, at)
                }
            };
            last = Some((measurement, row.shape, at));
            let columns = all.get(at).map_or(&[][..], Vec::as_slice);
            let cells = batch.cells(row, columns.len() as u32);
            let conflict = cells.iter().zip(columns).position(|(cell, kind)| cell.kind != *kind);
            if let Some(column) = conflict {
                found.push((index, conflict_of(batch, row, measurement, columns, column)));
            }
        }
        Ok(found)
    }

    /// The kinds of a shape's fields in a measurement; fields without one get that of this row.
    #[cold]
    fn columns(
        &self,
        engine: &Engine,
        batch: &Batch<'_>,
        row: &Row,
        measurement: &[u8],
    ) -> Result<Columns, Error> {
        let names = field_names(batch, row);
        let cells = batch.cells(row, names.len() as u32);
        let measurement = plain(batch, measurement);
        let fields = Self::of(engine, batch.namespace(), &measurement);
        let look = |fields: &[(String, Kind)], name: &str| {
            fields.iter().find(|(found, _)| found == name).map(|(_, kind)| *kind)
        };
        let columns: Option<Columns> = names.iter().map(|name| look(&fields, name)).collect();
        if let Some(columns) = columns {
            return Ok(columns);
        }
        let _one_at_a_time = self.deciding.lock();
        let mut fields = Self::of(engine, batch.namespace(), &measurement);
        for (name, cell) in names.iter().zip(cells) {
            if look(&fields, name).is_none() {
                fields.push((name.clone(), cell.kind));
            }
        }
        engine.catalog_put(KIND, &key(batch.namespace(), &measurement), &encode(&fields))?;
        let kind = |name: &String| look(&fields, name).unwrap_or(Kind::Float);
        Ok(names.iter().map(kind).collect())
    }
}

/// Forgets all measurements of a namespace that was dropped: nobody writes to it any more.
pub(crate) fn forget_all(engine: &Engine, namespace: NamespaceId) -> Result<(), Error> {
    let prefix = key(namespace, "");
    for (key, _) in engine.catalog_list(KIND) {
        if key.starts_with(&prefix) {
            engine.catalog_delete(KIND, &key)?;
        }
    }
    Ok(())
}

fn key(namespace: NamespaceId, measurement: &str) -> String {
    format!("{namespace}\0{measurement}")
}

/// Whether a line's key belongs to this measurement, as it is written.
fn begins_with(line_key: &[u8], measurement: &[u8]) -> bool {
    line_key.starts_with(measurement)
        && matches!(line_key.get(measurement.len()), None | Some(b','))
}

/// A key's measurement as it is written: up to the first comma without a backslash.
fn raw_measurement(line_key: &[u8]) -> &[u8] {
    let mut start = 0;
    while let Some(at) = line_key.get(start..).and_then(|rest| memchr::memchr(b',', rest)) {
        let comma = start + at;
        if comma == 0 || line_key.get(comma - 1) != Some(&b'\\') {
            return line_key.get(..comma).unwrap_or_default();
        }
        start = comma + 1;
    }
    line_key
}

fn plain(batch: &Batch<'_>, raw: &[u8]) -> String {
    let mut out = Vec::new();
    // Fields and measurements escape the same characters.
    match (batch.syntax().parse_field)(raw, &mut out) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => String::from_utf8_lossy(raw).into_owned(),
    }
}

fn field_names(batch: &Batch<'_>, row: &Row) -> Vec<String> {
    let shape = batch.shape(row.shape);
    let spans = shape.map_or(&[][..], |shape| batch.fields(shape));
    spans.iter().map(|span| plain(batch, batch.slice(*span))).collect()
}

const fn name_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Float => "float",
        Kind::Integer => "integer",
        Kind::Unsigned => "unsigned",
        Kind::Boolean => "boolean",
        Kind::String => "string",
        Kind::Histogram => "histogram",
    }
}

/// The conflict in InfluxDB's words.
#[cold]
fn conflict_of(
    batch: &Batch<'_>,
    row: &Row,
    measurement: &[u8],
    columns: &[Kind],
    column: usize,
) -> Reject {
    let names = field_names(batch, row);
    let name = names.get(column).map_or("", String::as_str);
    let cells = batch.cells(row, columns.len() as u32);
    let given = cells.get(column).map_or("", |cell| name_of(cell.kind));
    let known = columns.get(column).map_or("", |kind| name_of(*kind));
    let measurement = plain(batch, measurement);
    let reason = format!(
        "field type conflict: input field {name:?} on measurement {measurement:?} is type \
         {given}, already exists as type {known}"
    );
    Reject { line: row.line, field: "field".into(), reason }
}

fn encode(fields: &[(String, Kind)]) -> Vec<u8> {
    let mut fact = Vec::new();
    for (name, kind) in fields {
        fact.push(*kind as u8);
        fact.extend_from_slice(&(name.len() as u32).to_le_bytes());
        fact.extend_from_slice(name.as_bytes());
    }
    fact
}

fn decode(mut fact: &[u8]) -> Vec<(String, Kind)> {
    let mut fields = Vec::new();
    while let Some((code, rest)) = fact.split_first() {
        let Some((length, rest)) = rest.split_first_chunk() else { break };
        let Some((name, rest)) = rest.split_at_checked(u32::from_le_bytes(*length) as usize) else {
            break;
        };
        let name = String::from_utf8_lossy(name).into_owned();
        fields.extend(Kind::from_code(*code).map(|kind| (name, kind)));
        fact = rest;
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measurements_are_found_in_keys() {
        assert_eq!(raw_measurement(b"m,a=b,c=d"), b"m");
        assert_eq!(raw_measurement(b"m\\,x,a=b"), b"m\\,x");
        assert_eq!(raw_measurement(b"m"), b"m");
        assert!(begins_with(b"m,a=b", b"m") && begins_with(b"m", b"m"));
        assert!(!begins_with(b"mm,a=b", b"m") && !begins_with(b"m\\,x,a=b", b"m"));
    }

    #[test]
    fn facts_survive_their_encoding() {
        let fields = vec![("a".to_owned(), Kind::Integer), ("b c".to_owned(), Kind::String)];
        assert_eq!(decode(&encode(&fields)), fields);
        assert_eq!(decode(&[]), []);
    }
}
