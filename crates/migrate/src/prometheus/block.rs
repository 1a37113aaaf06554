//! Blocks: directories that hold the samples of a stretch of time.
//!
//! `index` names the series and says where their chunks lie in the files under `chunks`;
//! `tombstones` says which of their samples were deleted. The layouts are Prometheus'
//! (`tsdb/docs/format/index.md`, `chunks.md`, `tombstones.md`).

use super::chunk::{self, Point};
use crate::cursor::{Cursor, Wrong, be32, is_whole};
use crate::file::Reader;
use foliot_proto_prometheus::pack_labels;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const INDEX_MAGIC: u32 = 0xbaaa_d700;
const TOMBSTONES_MAGIC: u32 = 0x0130_ba30;

/// The version of the index since Prometheus 2.0: symbols are numbered.
const INDEX_VERSION: u8 = 2;

/// The table of contents at the index's end: six places of eight bytes, and a checksum.
const CONTENTS_BYTES: u64 = 52;

/// The names of a block, which are held in memory: as many as a hundred million series have.
const SYMBOLS_BYTES_MAX: usize = 2 << 30;

/// One series' entry in the index, or one chunk: far above what Prometheus writes, which cuts
/// chunks at about a kilobyte, and blocks at a month.
const ENTRY_BYTES_MAX: u64 = 64 << 20;

/// Times, in milliseconds, whose samples were deleted; both ends belong to it.
pub(super) type Gaps = HashMap<u64, Vec<(i64, i64)>>;

/// Whether a sample was deleted.
pub(super) fn is_deleted(gaps: Option<&Vec<(i64, i64)>>, time_ms: i64) -> bool {
    gaps.is_some_and(|gaps| gaps.iter().any(|(from, to)| (*from..=*to).contains(&time_ms)))
}

/// A block that is being read.
#[derive(Debug)]
pub(super) struct Block {
    dir: PathBuf,
    index: Reader,
    symbols: Symbols,
    /// Where the next series is, and where the last one ends.
    at: u64,
    end: u64,
    deleted: Gaps,
    pub(super) has_tombstones: bool,
    chunks: HashMap<u32, Reader>,
}

/// The texts of an index.
#[derive(Debug, Default)]
struct Symbols {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

/// A series of a block.
#[derive(Debug)]
pub(super) struct Series {
    number: u64,
    /// Its labels as remote write spells them.
    pub(super) key: Vec<u8>,
    /// Where its chunks are.
    pub(super) chunks: Vec<u64>,
}

impl Block {
    pub(super) fn open(dir: &Path) -> Result<Self, Wrong> {
        let mut index = Reader::open(&dir.join("index"))?;
        let mut head = Cursor(index.get(0, 5).map_err(|_| "the index is empty")?);
        match (head.be32()?, head.byte()?) {
            (INDEX_MAGIC, INDEX_VERSION) => {}
            (INDEX_MAGIC, version) => {
                return Err(format!("version {version} of the index is not known"));
            }
            _ => return Err("the index is none of Prometheus".to_owned()),
        }
        let mut end = index.len().checked_sub(CONTENTS_BYTES).ok_or("the index ends too early")?;
        let mut contents = Cursor(index.get_checked(end, CONTENTS_BYTES as usize - 4)?);
        let (symbols, series) = (contents.be64()?, contents.be64()?);
        while !contents.is_empty() {
            let place = contents.be64()?;
            if place > series {
                end = end.min(place);
            }
        }
        let symbols = Symbols::read(&mut index, symbols)?;
        let deleted = read_tombstones(&dir.join("tombstones"))?;
        let has_tombstones = deleted.is_some();
        let (dir, chunks) = (dir.to_owned(), HashMap::new());
        let deleted = deleted.unwrap_or_default();
        Ok(Self { dir, index, symbols, at: series, end, deleted, has_tombstones, chunks })
    }

    /// Bytes read from the disk since this was asked last.
    pub(super) fn take_read_bytes(&mut self) -> u64 {
        let readers = self.chunks.values_mut().chain([&mut self.index]);
        readers.map(|reader| std::mem::take(&mut reader.read_bytes)).sum()
    }

    /// The next series; nothing at the end.
    pub(super) fn next_series(&mut self) -> Result<Option<Series>, Wrong> {
        self.at = self.at.next_multiple_of(16);
        if self.at == 0 || self.at >= self.end {
            return Ok(None);
        }
        let at = self.at;
        let wrong = |reason: Wrong| format!("the index at byte {at}: {reason}");
        let (length, prefix) = read_length(&mut self.index, at).map_err(wrong)?;
        self.at = at + prefix + length + 4;
        let entry = self.index.get_checked(at + prefix, length as usize).map_err(wrong)?;
        read_series(&self.symbols, Cursor(entry), at / 16).map(Some).map_err(wrong)
    }

    /// Hands out the samples of a chunk that were not deleted, with times in milliseconds.
    pub(super) fn read_chunk(
        &mut self,
        series: &Series,
        chunk: u64,
        each: &mut dyn FnMut(i64, Point) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        let (file, at) = ((chunk >> 32) as u32, chunk & u64::from(u32::MAX));
        let name = format!("chunks/{:06}", u64::from(file) + 1);
        let reader = match self.chunks.entry(file) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(Reader::open(&self.dir.join(&name))?)
            }
        };
        let wrong = |reason: Wrong| format!("{name} at byte {at}: {reason}");
        let (length, prefix) = read_length(reader, at).map_err(wrong)?;
        let data = reader.get_checked(at + prefix, length as usize + 1).map_err(wrong)?;
        let (encoding, data) = data.split_first().ok_or("the chunk is empty")?;
        let gaps = self.deleted.get(&series.number);
        let read = chunk::read(*encoding, data, &mut |time_ms, point| {
            if is_deleted(gaps, time_ms) { Ok(()) } else { each(time_ms, point) }
        });
        read.map_err(wrong)
    }
}

/// A length as a varint, and how many bytes that takes.
fn read_length(reader: &mut Reader, at: u64) -> Result<(u64, u64), Wrong> {
    let bytes = reader.get_some(at, 10)?;
    let mut cursor = Cursor(bytes);
    let length = cursor.uvarint()?;
    let prefix = bytes.len() - cursor.0.len();
    let fits = length <= ENTRY_BYTES_MAX;
    fits.then_some((length, prefix as u64)).ok_or_else(|| format!("an entry has {length} bytes"))
}

fn read_series(symbols: &Symbols, mut entry: Cursor<'_>, number: u64) -> Result<Series, Wrong> {
    let mut labels = Vec::new();
    for _ in 0..entry.count()? {
        labels.push((symbols.get(entry.uvarint()?)?, symbols.get(entry.uvarint()?)?));
    }
    let mut chunks: Vec<u64> = Vec::new();
    for index in 0..entry.count()? {
        // The times of chunks only help to pass over some.
        match index {
            0 => entry.varint().map(drop)?,
            _ => entry.uvarint().map(drop)?,
        }
        entry.uvarint()?;
        let place = match chunks.last() {
            None => entry.uvarint()?,
            Some(before) => before.wrapping_add_signed(entry.varint()?),
        };
        chunks.push(place);
    }
    Ok(Series { number, key: pack_labels(labels.into_iter()), chunks })
}

impl Symbols {
    fn read(index: &mut Reader, at: u64) -> Result<Self, Wrong> {
        let length = Cursor(index.get(at, 4)?).be32()? as usize;
        if length > SYMBOLS_BYTES_MAX {
            return Err(format!(
                "its names take {length} bytes, where {SYMBOLS_BYTES_MAX} are read"
            ));
        }
        let section = index.get_checked(at + 4, length)?;
        let mut cursor = Cursor(section);
        let mut symbols = Self::default();
        for _ in 0..cursor.be32()? {
            symbols.bytes.extend_from_slice(cursor.text()?);
            symbols.ends.push(symbols.bytes.len() as u32);
        }
        Ok(symbols)
    }

    fn get(&self, number: u64) -> Result<&str, Wrong> {
        let none = || format!("name {number} is none of the {} of the index", self.ends.len());
        let number = usize::try_from(number).map_err(|_| none())?;
        let end = *self.ends.get(number).ok_or_else(none)? as usize;
        let start = number.checked_sub(1).and_then(|before| self.ends.get(before));
        let bytes = self.bytes.get(start.map_or(0, |start| *start as usize)..end);
        std::str::from_utf8(bytes.unwrap_or_default()).map_err(|_| "a name is no UTF-8".to_owned())
    }
}

/// Reads which samples were deleted; there need be no such file.
/// What was deleted of a block; none when the file that says so is missing.
fn read_tombstones(path: &Path) -> Result<Option<Gaps>, Wrong> {
    let mut deleted = Gaps::new();
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        // Prometheus writes one without entries where nothing was deleted.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("cannot read tombstones: {error}")),
    };
    let wrong = |reason: &str| format!("tombstones: {reason}");
    let (rest, sum) = bytes.split_last_chunk().ok_or_else(|| wrong("the file is empty"))?;
    let mut cursor = Cursor(rest);
    if cursor.be32() != Ok(TOMBSTONES_MAGIC) {
        return Err(wrong("this is no file of Prometheus"));
    }
    // Some versions have the byte of the version under the checksum, and some do not.
    let sum = be32(*sum);
    let is_whole_with = is_whole(cursor.0, sum);
    if cursor.byte() != Ok(1) {
        return Err(wrong("the version is not known"));
    }
    if !is_whole_with && !is_whole(cursor.0, sum) {
        return Err(wrong("the checksum is wrong"));
    }
    while !cursor.is_empty() {
        let (series, from, to) = (cursor.uvarint()?, cursor.varint()?, cursor.varint()?);
        deleted.entry(series).or_default().push((from, to));
    }
    Ok(Some(deleted))
}
