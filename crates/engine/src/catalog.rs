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

/// What a fact takes beside its key and its bytes: two boxes, and its share of a node of the tree.
const FACT_BYTES: usize = 64;

/// The facts of one kind, by key.
type Facts = BTreeMap<Box<str>, Box<[u8]>>;

/// Facts by kind, then by key: looking for one copies neither.
#[derive(Clone, Default)]
struct Table {
    kinds: BTreeMap<String, Facts>,
    /// Memory that they take, estimated.
    memory_bytes: u64,
}

/// The table in memory.
pub(crate) struct Catalog {
    table: RwLock<Table>,
}

/// Adds the bytes of one change to `out`; without `bytes` the key is deleted.
fn encode_change(out: &mut Vec<u8>, kind: &str, key: &str, bytes: Option<&[u8]>) {
    out.push(u8::from(bytes.is_some()));
    for part in [kind.as_bytes(), key.as_bytes(), bytes.unwrap_or_default()] {
        put_bytes(part, out);
    }
}

/// Writes bytes behind their length.
pub(crate) fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    put_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

impl Table {
    /// Sets a fact, or takes it away where there are no bytes.
    fn set(&mut self, kind: &str, key: &str, bytes: Option<&[u8]>) {
        let weight = |bytes: &[u8]| (key.len() + bytes.len() + FACT_BYTES) as u64;
        let before = match (self.kinds.get_mut(kind), bytes) {
            (Some(facts), Some(bytes)) => facts.insert(key.into(), bytes.into()),
            (Some(facts), None) => facts.remove(key),
            (None, Some(bytes)) => {
                let first = BTreeMap::from([(key.into(), bytes.into())]);
                self.kinds.insert(kind.to_owned(), first);
                None
            }
            (None, None) => None,
        };
        self.memory_bytes += bytes.map_or(0, weight);
        self.memory_bytes -= before.as_deref().map_or(0, weight);
    }

    /// All facts as changes, by kind, then by key, and how many there are.
    fn encode(&self) -> (u64, Vec<u8>) {
        let (mut count, mut out) = (0, Vec::new());
        for (kind, facts) in &self.kinds {
            for (key, bytes) in facts {
                encode_change(&mut out, kind, key, Some(bytes));
            }
            count += facts.len() as u64;
        }
        (count, out)
    }
}

impl Default for Catalog {
    fn default() -> Self {
        Self { table: RwLock::new(Rank::Catalog, Table::default()) }
    }
}

impl Catalog {
    pub(crate) fn get(&self, kind: &str, key: &str) -> Option<Vec<u8>> {
        self.table.read().kinds.get(kind)?.get(key).map(|bytes| bytes.to_vec())
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
        let Some(of_kind) = table.kinds.get(kind) else { return Ok(()) };
        let from = of_kind.range::<str, _>((Bound::Included(prefix), Bound::Unbounded));
        let mut wanted = from.take_while(|(key, _)| key.starts_with(prefix));
        wanted.try_for_each(|(key, bytes)| each(key, bytes))
    }

    /// Memory that all facts take, estimated.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.table.read().memory_bytes
    }

    /// Calls `each` with every fact of a copy: kind, key, bytes; by kind, then by key.
    pub(crate) fn each(&self, each: &mut TakeFact<'_>) -> Result<(), Error> {
        let table = self.table.read().clone();
        for (kind, facts) in &table.kinds {
            facts.iter().try_for_each(|(key, bytes)| each(kind, key, bytes))?;
        }
        Ok(())
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
        let mut change = Vec::new();
        encode_change(&mut change, kind, key, bytes);
        let logged = log(&change)?;
        table.set(kind, key, bytes);
        Ok(logged)
    }

    /// Sets facts of one kind, each after `log` accepted its bytes.
    pub(crate) fn put_all(
        &self,
        kind: &str,
        facts: &[(String, Vec<u8>)],
        log: impl Fn(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (mut table, mut change) = (self.table.write(), Vec::new());
        for (key, bytes) in facts {
            change.clear();
            encode_change(&mut change, kind, key, Some(bytes));
            log(&change)?;
            table.set(kind, key, Some(bytes));
        }
        Ok(())
    }

    /// Applies one encoded change off the front of `rest`.
    pub(crate) fn apply(&self, rest: &mut &[u8]) -> Option<()> {
        let [is_put] = take(rest)?;
        let kind = take_text(rest)?;
        let key = take_text(rest)?;
        let bytes = take_bytes(rest)?;
        self.table.write().set(&kind, &key, (is_put != 0).then_some(bytes));
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
        // A fact takes a third of its memory here, and others change the table meanwhile.
        let (count, facts) = self.table.read().encode();
        paged.write(&PREAMBLE.bytes())?;
        paged.write(&store_id.to_le_bytes())?;
        paged.write(&count.to_le_bytes())?;
        paged.write(&facts)?;
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

/// Reads a text behind its length.
pub(crate) fn take_text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(take_bytes(rest)?.to_vec()).ok()
}
