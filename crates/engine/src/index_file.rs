//! Index files: registrations since the flush before, as the registry's records. Pages are packed.
//! Those of a closed epoch are the second copy of what its segment holds.
//!
//! ```text
//! a paged file: preamble | store id u64 | epoch u32 | 0 u32
//!               | (length u32 | records)... | 0 u32
//! ```

use crate::cache::Cache;
use crate::error::Error;
use crate::paged::{PagedReader, PagedWriter};
use crate::part::format::take;
use crate::preamble::{Preamble, VERSION};
use foliot_disk::Disk;
use foliot_index::{Mark, Origin, Registry};
use std::path::Path;
use std::sync::Arc;

const PREAMBLE: Preamble = Preamble { magic: *b"Fidx", version: VERSION, what: "an index file" };
const HEADER_LEN: usize = 24;
/// What records say of their epoch takes no more.
const ORIGIN_BYTES_MAX: u64 = 64;
/// No slice of records is longer: a length above is damage.
const SLICE_BYTES_MAX: u32 = 1 << 28;

/// Writes everything registered after `from`, and returns how far that is.
pub(crate) fn write(
    disk: &dyn Disk,
    path: &Path,
    number: u64,
    store_id: u64,
    registry: &Registry,
    from: &Mark,
) -> Result<Mark, Error> {
    let mut paged = begin(disk, path, number, store_id, registry.epoch())?;
    let mark = registry.checkpoint_slices(from, &mut |records: &[u8]| {
        paged.write(&(records.len() as u32).to_le_bytes())?;
        paged.write(records)
    })?;
    paged.write(&[0; 4])?;
    paged.finish()?;
    Ok(mark)
}

/// Writes the classes of all series of a closed epoch, which count from now on.
pub(crate) fn write_classes(
    disk: &dyn Disk,
    path: &Path,
    number: u64,
    store_id: u64,
    (origin, runs): (Origin, &[[u32; 3]]),
) -> Result<(), Error> {
    let mut paged = begin(disk, path, number, store_id, origin.epoch)?;
    let records = foliot_index::class_records(&origin, runs);
    paged.write(&(records.len() as u32).to_le_bytes())?;
    paged.write(&records)?;
    paged.write(&[0; 4])?;
    paged.finish().map(|_| ())
}

fn begin(
    disk: &dyn Disk,
    path: &Path,
    number: u64,
    store_id: u64,
    epoch: u32,
) -> Result<PagedWriter, Error> {
    let mut paged = PagedWriter::create(disk, path, number)?.packed();
    paged.write(&PREAMBLE.bytes())?;
    paged.write(&store_id.to_le_bytes())?;
    paged.write(&epoch.to_le_bytes())?;
    paged.write(&[0; 4])?;
    Ok(paged)
}

/// The store that a file belongs to, and where its epoch begins.
pub(crate) fn owner(disk: &dyn Disk, path: &Path, number: u64) -> Result<(u64, Origin), Error> {
    let paged = PagedReader::open(disk, path, number, Arc::new(Cache::new(0)))?;
    let mut bytes = Vec::new();
    paged.read(0, HEADER_LEN, &mut bytes)?;
    let (store_id, epoch) = header_of(&paged, path, &bytes)?;
    bytes.clear();
    let records_at = HEADER_LEN as u64 + 4;
    let len = (paged.len() - records_at.min(paged.len())).min(ORIGIN_BYTES_MAX);
    paged.read(records_at, len as usize, &mut bytes)?;
    let origin = Origin::of_records(&bytes).filter(|origin| origin.epoch == epoch);
    let origin = origin.ok_or_else(|| paged.corrupt(records_at, "no epoch"))?;
    Ok((store_id, origin))
}

fn header_of(paged: &PagedReader, path: &Path, mut bytes: &[u8]) -> Result<(u64, u32), Error> {
    let rest = &mut bytes;
    PREAMBLE.take(rest, path)?;
    match (take(rest).map(u64::from_le_bytes), take(rest).map(u32::from_le_bytes)) {
        (Some(store_id), Some(epoch)) => Ok((store_id, epoch)),
        _ => Err(paged.corrupt(0, "no header")),
    }
}

/// Reads a file into the registry. What is damaged and mended is told where `cache` tells.
pub(crate) fn read(
    disk: &dyn Disk,
    path: &Path,
    number: u64,
    store_id: u64,
    registry: &Registry,
    cache: &Cache,
) -> Result<(), Error> {
    let paged = PagedReader::open(disk, path, number, cache.keeping_nothing())?;
    let mut bytes = Vec::new();
    let mut at = 0;
    let fetch = |at: u64, len: usize, bytes: &mut Vec<u8>| {
        bytes.clear();
        paged.read(at, len, bytes)
    };
    fetch(at, HEADER_LEN, &mut bytes)?;
    let (owner, _) = header_of(&paged, path, &bytes)?;
    if owner != store_id {
        return Err(paged.corrupt(8, "belongs to another store"));
    }
    at += HEADER_LEN as u64;
    loop {
        fetch(at, 4, &mut bytes)?;
        let len = take(&mut &*bytes).map_or(0, u32::from_le_bytes);
        at += 4;
        if len == 0 {
            return Ok(());
        }
        if len > SLICE_BYTES_MAX {
            return Err(paged.corrupt(at, "impossible length"));
        }
        fetch(at, len as usize, &mut bytes)?;
        registry.replay(&bytes).map_err(|error| paged.corrupt(at, error.to_string()))?;
        at += u64::from(len);
    }
}

/// Reads what can be read of a damaged file into the registry.
pub(crate) fn salvage(
    disk: &dyn Disk,
    path: &Path,
    number: u64,
    registry: &Registry,
) -> Result<(), Error> {
    let end = |error: Error| if error.is_damage() { Ok(()) } else { Err(error) };
    let paged = match PagedReader::open(disk, path, number, Arc::new(Cache::new(0))) {
        Ok(paged) => paged,
        Err(error) => return end(error),
    };
    let mut bytes = Vec::new();
    let mut at = HEADER_LEN as u64;
    loop {
        bytes.clear();
        if let Err(error) = paged.read(at, 4, &mut bytes) {
            return end(error);
        }
        let len = take(&mut &*bytes).map_or(0, u32::from_le_bytes);
        if len == 0 || len > SLICE_BYTES_MAX {
            return Ok(());
        }
        at += 4;
        bytes.clear();
        match paged.read(at, len as usize, &mut bytes) {
            // What needs records that are lost is lost with them, and nothing else.
            Ok(()) => drop(registry.replay(&bytes)),
            Err(error) => end(error)?,
        }
        at += u64::from(len);
    }
}
