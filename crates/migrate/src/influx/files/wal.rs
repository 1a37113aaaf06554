//! The log of a shard: what was written and deleted since its last file of blocks.

use super::block::unsnapped;
use crate::cursor::{Cursor, Wrong};
use foliot_model::{Samples, Value};
use std::collections::HashMap;
use std::path::Path;

/// A file of the log, which is held in memory: InfluxDB begins a new one after ten megabytes.
pub(super) struct Log(Vec<u8>);

/// What one write or delete left in the log.
pub(super) enum Entry {
    Written(Vec<u8>),
    /// Keys whose values are all deleted, one a line.
    DeletedAll(Vec<u8>),
    /// A stretch of time, and the keys of which it is deleted.
    Deleted(Vec<u8>),
}

impl Log {
    pub(super) fn open(path: &Path) -> Result<Self, Wrong> {
        std::fs::read(path).map(Self).map_err(|error| format!("cannot be read: {error}"))
    }

    pub(super) fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    /// Shows what is in the file. Half an entry at its end is what a killed server leaves.
    pub(super) fn each(
        &self,
        on_entry: &mut dyn FnMut(Entry) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        let mut cursor = Cursor(&self.0);
        while !cursor.is_empty() {
            let Some((kind, packed)) = next(&mut cursor) else { return Ok(()) };
            let plain = unsnapped(packed).map_err(|why| format!("an entry: {why}"))?;
            on_entry(match kind {
                1 => Entry::Written(plain),
                2 => Entry::DeletedAll(plain),
                3 => Entry::Deleted(plain),
                kind => return Err(format!("{kind} is no kind of an entry")),
            })?;
        }
        Ok(())
    }
}

/// The kind and the bytes of the next entry; none when there is half of it.
fn next<'a>(cursor: &mut Cursor<'a>) -> Option<(u8, &'a [u8])> {
    let kind = cursor.byte().ok()?;
    let length = cursor.be32().ok()?;
    Some((kind, cursor.bytes(length as usize).ok()?))
}

/// Takes the values of a key.
type OnKey<'k> = dyn FnMut(&[u8], &Samples) -> Result<(), Wrong> + 'k;

/// Shows the values of an entry, key by key.
pub(super) fn values(entry: &Entry, on_key: &mut OnKey<'_>) -> Result<(), Wrong> {
    let Entry::Written(bytes) = entry else { return Ok(()) };
    let mut cursor = Cursor(bytes);
    let mut samples = Samples::default();
    while !cursor.is_empty() {
        let kind = cursor.byte()?;
        let length = cursor.be16()?;
        let key = cursor.bytes(usize::from(length))?;
        samples.clear();
        for _ in 0..cursor.be32()? {
            let time_ns = cursor.be64()?.cast_signed();
            match kind {
                1 => samples.push(time_ns, Value::Float(cursor.float()?)),
                2 => samples.push(time_ns, Value::Integer(cursor.be64()?.cast_signed())),
                3 => samples.push(time_ns, Value::Boolean(cursor.byte()? != 0)),
                4 => {
                    let length = cursor.be32()?;
                    let text = String::from_utf8_lossy(cursor.bytes(length as usize)?);
                    samples.push(time_ns, Value::String(&text));
                }
                5 => samples.push(time_ns, Value::Unsigned(cursor.be64()?)),
                kind => return Err(format!("{kind} is no kind of values")),
            }
        }
        on_key(key, &samples)?;
    }
    Ok(())
}

/// What was deleted in a log, and by which of its entries.
#[derive(Debug, Default)]
pub(super) struct Deleted(HashMap<Vec<u8>, Vec<(u64, i64, i64)>>);

impl Deleted {
    /// Takes an entry, whose number is given.
    pub(super) fn note(&mut self, entry: &Entry, number: u64) -> Result<(), Wrong> {
        let mut note = |key: &[u8], from, to| {
            self.0.entry(key.to_vec()).or_default().push((number, from, to));
        };
        match entry {
            Entry::Written(_) => {}
            Entry::DeletedAll(keys) => {
                let keys = keys.split(|byte| *byte == b'\n');
                keys.for_each(|key| note(key, i64::MIN, i64::MAX));
            }
            Entry::Deleted(bytes) => {
                let mut cursor = Cursor(bytes);
                let (from, to) = (cursor.be64()?.cast_signed(), cursor.be64()?.cast_signed());
                while !cursor.is_empty() {
                    let length = cursor.be32()?;
                    note(cursor.bytes(length as usize)?, from, to);
                }
            }
        }
        Ok(())
    }

    /// Whether a value that an entry wrote was deleted behind it.
    pub(super) fn has(&self, key: &[u8], time_ns: i64, written: u64) -> bool {
        let mut deletes = self.0.get(key).into_iter().flatten();
        deletes.any(|(number, from, to)| *number > written && (*from..=*to).contains(&time_ns))
    }
}
