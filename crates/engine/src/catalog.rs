//! The catalog: small durable facts, a table from (kind, key) to bytes.
//!
//! Databases, metadata, users and rules live here; the doors own the meaning. Each change is a wal
//! frame; a flush writes the whole table to a file.
//!
//! ```text
//! change   1 put, 0 delete u8 | kind | key | bytes, each a length varint and so many bytes
//! file     paged: preamble | store id u64 | changes u64 | change...
//! ```

use crate::cache::Cache;
use crate::error::Error;
use crate::limits::FILE_PAGE_BYTES;
use crate::paged::{PagedReader, PagedWriter};
use crate::part::format::take;
use crate::preamble::{Preamble, VERSION};
use foliot_codec::varint::{get_u64, put_u64};
use foliot_disk::Disk;
use foliot_lock::{Rank, RwLock};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

const PREAMBLE: Preamble = Preamble { magic: *b"Fcat", version: VERSION, what: "a catalog file" };

/// Preamble, store id, number of changes.
const HEADER_LEN: usize = 24;

/// Takes a fact: kind, key, bytes.
pub(crate) type TakeFact<'t> = dyn FnMut(&str, &str, &[u8]) -> Result<(), Error> + 't;

/// Facts by kind, then by key: looking for one copies neither.
type Table = BTreeMap<String, BTreeMap<String, Vec<u8>>>;

/// The table in memory.
pub(crate) struct Catalog {
    table: RwLock<Table>,
}

/// The bytes of one change; without `bytes` the key is deleted.
pub(crate) fn encode_change(kind: &str, key: &str, bytes: Option<&[u8]>) -> Vec<u8> {
    let mut out = vec![u8::from(bytes.is_some())];
    for part in [kind.as_bytes(), key.as_bytes(), bytes.unwrap_or_default()] {
        put_u64(&mut out, part.len() as u64);
        out.extend_from_slice(part);
    }
    out
}

/// Kind, key and bytes of all facts, by kind, then by key.
fn facts(table: &Table) -> impl Iterator<Item = (&str, &str, &[u8])> {
    table.iter().flat_map(|(kind, of_kind)| {
        of_kind.iter().map(move |(key, bytes)| (kind.as_str(), key.as_str(), bytes.as_slice()))
    })
}

/// Sets a fact, or takes it away where there are no bytes.
fn set(table: &mut Table, kind: &str, key: &str, bytes: Option<&[u8]>) {
    match (table.get_mut(kind), bytes) {
        (Some(of_kind), Some(bytes)) => drop(of_kind.insert(key.to_owned(), bytes.to_vec())),
        (Some(of_kind), None) => drop(of_kind.remove(key)),
        (None, Some(bytes)) => {
            let first = BTreeMap::from([(key.to_owned(), bytes.to_vec())]);
            table.insert(kind.to_owned(), first);
        }
        (None, None) => {}
    }
}

impl Default for Catalog {
    fn default() -> Self {
        Self { table: RwLock::new(Rank::Catalog, Table::default()) }
    }
}

impl Catalog {
    pub(crate) fn get(&self, kind: &str, key: &str) -> Option<Vec<u8>> {
        self.table.read().get(kind)?.get(key).cloned()
    }

    /// All of a kind, by key.
    pub(crate) fn list(&self, kind: &str) -> Vec<(String, Vec<u8>)> {
        self.list_from(kind, "")
    }

    /// Those of a kind whose keys begin with `prefix`, by key.
    pub(crate) fn list_from(&self, kind: &str, prefix: &str) -> Vec<(String, Vec<u8>)> {
        let mut all = Vec::new();
        let _ = self.each_from(kind, prefix, |key, bytes| {
            all.push((key.to_owned(), bytes.to_owned()));
            Ok::<_, Infallible>(())
        });
        all
    }

    /// Calls `each` with those of a kind whose keys begin with `prefix`, by key, while no other
    /// changes, until it fails.
    pub(crate) fn each_from<E>(
        &self,
        kind: &str,
        prefix: &str,
        mut each: impl FnMut(&str, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let table = self.table.read();
        let Some(of_kind) = table.get(kind) else { return Ok(()) };
        let from = of_kind.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        let mut wanted = from.take_while(|(key, _)| key.starts_with(prefix));
        wanted.try_for_each(|(key, bytes)| each(key, bytes))
    }

    /// Calls `each` with every fact: kind, key, bytes; by kind, then by key.
    pub(crate) fn each(&self, each: &mut TakeFact<'_>) -> Result<(), Error> {
        let table = self.table.read().clone();
        facts(&table).try_for_each(|(kind, key, bytes)| each(kind, key, bytes))
    }

    /// Makes a change after `log` accepted its bytes; both under one lock, so that the table and
    /// the log see changes in one order.
    pub(crate) fn change<T>(
        &self,
        kind: &str,
        key: &str,
        bytes: Option<&[u8]>,
        log: impl FnOnce(&[u8]) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut table = self.table.write();
        let logged = log(&encode_change(kind, key, bytes))?;
        set(&mut table, kind, key, bytes);
        Ok(logged)
    }

    /// Sets facts of one kind, each after `log` accepted its bytes.
    pub(crate) fn put_all(
        &self,
        kind: &str,
        facts: &[(String, Vec<u8>)],
        log: impl Fn(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut table = self.table.write();
        for (key, bytes) in facts {
            log(&encode_change(kind, key, Some(bytes)))?;
            set(&mut table, kind, key, Some(bytes));
        }
        Ok(())
    }

    /// Applies one encoded change off the front of `rest`.
    pub(crate) fn apply(&self, rest: &mut &[u8]) -> Option<()> {
        let [is_put] = take(rest)?;
        let kind = take_text(rest)?;
        let key = take_text(rest)?;
        let bytes = take_bytes(rest)?;
        set(&mut self.table.write(), &kind, &key, (is_put != 0).then_some(bytes));
        Some(())
    }

    /// Writes the table to a file and syncs it.
    pub(crate) fn write(
        &self,
        disk: &dyn Disk,
        path: &Path,
        number: u64,
        store_id: u64,
    ) -> Result<(), Error> {
        let mut paged = PagedWriter::create(disk, path, number)?;
        let table = self.table.read().clone();
        paged.write(&PREAMBLE.bytes())?;
        paged.write(&store_id.to_le_bytes())?;
        paged.write(&(facts(&table).count() as u64).to_le_bytes())?;
        for (kind, key, bytes) in facts(&table) {
            paged.write(&encode_change(kind, key, Some(bytes)))?;
        }
        paged.finish().map(|_| ())
    }

    /// Reads what can be read of a damaged file into the table: whole changes up to the first
    /// damaged page. Returns how many.
    pub(crate) fn salvage(&self, disk: &dyn Disk, path: &Path, number: u64) -> u64 {
        let mut bytes = Vec::new();
        if let Ok(paged) = PagedReader::open(disk, path, number, Arc::new(Cache::new(0))) {
            let step = FILE_PAGE_BYTES as u64;
            for at in (0..paged.len()).step_by(FILE_PAGE_BYTES) {
                let len = (paged.len() - at).min(step) as usize;
                if paged.read(at, len, &mut bytes).is_err() {
                    break;
                }
            }
        }
        let rest = &mut bytes.get(HEADER_LEN..).unwrap_or_default();
        let mut facts = 0;
        while !rest.is_empty() && self.apply(rest).is_some() {
            facts += 1;
        }
        facts
    }

    /// Reads a file into the table. What is damaged and mended is told where `cache` tells.
    pub(crate) fn read(
        &self,
        disk: &dyn Disk,
        path: &Path,
        number: u64,
        store_id: u64,
        cache: &Cache,
    ) -> Result<(), Error> {
        let paged = PagedReader::open(disk, path, number, cache.keeping_nothing())?;
        let mut bytes = Vec::new();
        paged.read(0, paged.len() as usize, &mut bytes)?;
        let rest = &mut &*bytes;
        PREAMBLE.take(rest, path)?;
        if take(rest).map(u64::from_le_bytes) != Some(store_id) {
            return Err(paged.corrupt(8, "belongs to another store"));
        }
        let changes = take(rest).map_or(0, u64::from_le_bytes);
        for _ in 0..changes {
            self.apply(rest).ok_or_else(|| paged.corrupt(16, "ends within a change"))?;
        }
        Ok(())
    }
}

fn take_bytes<'r>(rest: &mut &'r [u8]) -> Option<&'r [u8]> {
    let len = usize::try_from(get_u64(rest).ok()?).ok()?;
    let (bytes, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(bytes)
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take_bytes(rest)?.to_vec()).ok()
}
