//! A file of blocks: header, blocks, an index of them by key, and where that begins.

use super::block;
use super::key::Key;
use super::tombstones::Tombstones;
use crate::cursor::{Cursor, Wrong};
use crate::file::Reader;
use foliot_model::Samples;
use std::path::Path;

const MAGIC: u32 = 0x16d1_16d1;

/// The same, as it stands in a file.
pub(super) const FIRST_BYTES: [u8; 4] = [0x16, 0xd1, 0x16, 0xd1];
const VERSION: u8 = 1;
const HEADER_BYTES: u64 = 5;
const FOOTER_BYTES: u64 = 8;

/// A file that is being read, key by key.
pub(super) struct Tsm {
    reader: Reader,
    index: Vec<u8>,
    /// How much of the index was read.
    at: usize,
    tombstones: Tombstones,
}

/// A key and where its blocks are.
pub(super) struct Series {
    pub(super) key: Key,
    pub(super) blocks: Vec<Place>,
}

/// Where a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    at: u64,
    bytes: usize,
}

impl Tsm {
    pub(super) fn open(path: &Path) -> Result<Self, Wrong> {
        let mut reader = Reader::open(path)?;
        let mut head = Cursor(reader.get(0, HEADER_BYTES as usize)?);
        if head.be32()? != MAGIC {
            return Err("it does not begin as a file of blocks does".to_owned());
        }
        let version = head.byte()?;
        if version != VERSION {
            return Err(format!("version {version} of the format is not known"));
        }
        let end = reader.len() - FOOTER_BYTES.min(reader.len());
        let begin = Cursor(reader.get(end, FOOTER_BYTES as usize)?).be64()?;
        let bytes = end.checked_sub(begin).ok_or("its index begins behind its end")?;
        let bytes = usize::try_from(bytes).map_err(|_| "its index is too long")?;
        let index = reader.get(begin, bytes)?.to_vec();
        let tombstones = Tombstones::read(&path.with_extension("tombstone"))?;
        Ok(Self { reader, index, at: 0, tombstones })
    }

    /// The next key; none behind the last one.
    pub(super) fn next_series(&mut self) -> Result<Option<Series>, Wrong> {
        let rest = self.index.get(self.at..).unwrap_or_default();
        if rest.is_empty() {
            return Ok(None);
        }
        let mut cursor = Cursor(rest);
        let read = read_entry(&mut cursor).map_err(|why| format!("its index: {why}"));
        self.at = self.index.len() - cursor.0.len();
        let (key, blocks) = read?;
        Ok(Some(Series { key: Key::of(key)?, blocks }))
    }

    /// Reads the values of a block.
    pub(super) fn read(&mut self, place: Place, samples: &mut Samples) -> Result<(), Wrong> {
        let mut cursor = Cursor(self.reader.get(place.at, place.bytes)?);
        let sum = cursor.be32()?;
        let at = place.at;
        if !cfg!(fuzzing) && crc32fast::hash(cursor.0) != sum {
            return Err(format!("the checksum of the block at byte {at} is wrong"));
        }
        block::read(cursor.0, samples).map_err(|why| format!("the block at byte {at}: {why}"))
    }

    /// Whether a value of a key was not deleted.
    pub(super) fn has(&self, key: &Key, time_ns: i64) -> bool {
        !self.tombstones.has(&key.stored, time_ns)
    }

    pub(super) fn take_read_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.reader.read_bytes)
    }
}

fn read_entry<'a>(cursor: &mut Cursor<'a>) -> Result<(&'a [u8], Vec<Place>), Wrong> {
    let length = cursor.be16()?;
    let key = cursor.bytes(usize::from(length))?;
    // The kind of the values, which each block says too.
    cursor.byte()?;
    let count = cursor.be16()?;
    let mut blocks = Vec::new();
    for _ in 0..count {
        // The times of its first and last value.
        cursor.be64()?;
        cursor.be64()?;
        let (at, bytes) = (cursor.be64()?, cursor.be32()?);
        blocks.push(Place { at, bytes: bytes as usize });
    }
    Ok((key, blocks))
}
