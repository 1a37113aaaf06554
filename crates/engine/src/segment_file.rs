//! Segment files: the index of a closed epoch. What is in them is the index's affair.
//!
//! ```text
//! a paged file: preamble | store id u64 | what the index writes
//! ```

use crate::cache::Cache;
use crate::error::Error;
use crate::paged::{PagedReader, PagedWriter};
use crate::part::format::take;
use crate::preamble::{Preamble, VERSION};
use foliot_disk::Disk;
use foliot_index::{Registry, Segment};
use std::path::Path;
use std::sync::Arc;

const PREAMBLE: Preamble = Preamble { magic: *b"Fseg", version: VERSION, what: "an index segment" };
const HEADER_LEN: usize = Preamble::LEN + 8;

/// Writes what a closed registry knows, and syncs it.
pub(crate) fn write(
    disk: &dyn Disk,
    path: &Path,
    number: u64,
    store_id: u64,
    registry: &Registry,
) -> Result<(), Error> {
    let mut paged = PagedWriter::create(disk, path, number)?;
    paged.write(&PREAMBLE.bytes())?;
    paged.write(&store_id.to_le_bytes())?;
    foliot_index::write_segment(registry, store_id, &mut |piece| paged.write(piece))?;
    paged.finish().map(|_| ())
}

/// Writes a segment once more, with other retention classes, and syncs it.
pub(crate) fn rewrite(
    disk: &dyn Disk,
    path: &Path,
    number: u64,
    store_id: u64,
    segment: &Segment,
    classes: &[[u32; 3]],
) -> Result<(), Error> {
    let mut paged = PagedWriter::create(disk, path, number)?;
    paged.write(&PREAMBLE.bytes())?;
    paged.write(&store_id.to_le_bytes())?;
    foliot_index::rewrite_segment(segment, classes, &mut |piece| paged.write(piece))?;
    paged.finish().map(|_| ())
}

/// The store that a file belongs to.
pub(crate) fn owner(disk: &dyn Disk, path: &Path, number: u64) -> Result<u64, Error> {
    let paged = PagedReader::open(disk, path, number, Arc::new(Cache::new(0)))?;
    header(&paged, path)
}

fn header(paged: &PagedReader, path: &Path) -> Result<u64, Error> {
    let mut bytes = Vec::new();
    paged.read(0, HEADER_LEN, &mut bytes)?;
    let rest = &mut &*bytes;
    PREAMBLE.take(rest, path)?;
    take(rest).map(u64::from_le_bytes).ok_or_else(|| paged.corrupt(0, "no header"))
}

/// Opens a segment for reading in place.
pub(crate) fn open(
    disk: &dyn Disk,
    path: &Path,
    number: u64,
    store_id: u64,
    cache: Arc<Cache>,
) -> Result<Segment, Error> {
    let paged = PagedReader::open(disk, path, number, cache)?;
    if header(&paged, path)? != store_id {
        return Err(paged.corrupt(8, "belongs to another store"));
    }
    let len = paged.len() - HEADER_LEN as u64;
    let read = move |at: u64, len: usize, out: &mut Vec<u8>| {
        let at = at.saturating_add(HEADER_LEN as u64);
        paged.read(at, len, out).map_err(|error| foliot_index::Error::Read(Box::new(error)))
    };
    Segment::open(Box::new(read), len, store_id).map_err(|error| match Error::from(error) {
        Error::Index(error) => Error::corrupt(path, 0, error.to_string()),
        error => error,
    })
}
