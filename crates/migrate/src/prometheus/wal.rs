//! The write-ahead log: segments of pages, in which the pieces of records lie.
//!
//! The layout is Prometheus' (`tsdb/docs/format/wal.md`).

use crate::cursor::{Cursor, Wrong, is_whole};
use crate::file::Reader;
use std::path::Path;

const PAGE_BYTES: u64 = 32 << 10;

/// Kind, length and checksum of a piece.
const HEADER_BYTES: u64 = 7;

/// The longest record, packed or not: as long as a whole segment.
const RECORD_BYTES_MAX: usize = 128 << 20;

const KIND: u8 = 0b0111;
const IS_SNAPPY: u8 = 0b0000_1000;
const IS_ZSTD: u8 = 0b0001_0000;

/// A segment that is being read.
#[derive(Debug)]
pub(super) struct Segment {
    reader: Reader,
    at: u64,
    packed: Vec<u8>,
    record: Vec<u8>,
}

/// Why the rest of a segment cannot be read.
#[derive(Debug)]
pub(super) struct Broken {
    /// Where.
    pub(super) at: u64,
    /// Whether the file only ends too early, as the last one of a killed server does.
    pub(super) is_end: bool,
    pub(super) reason: Wrong,
}

impl Segment {
    pub(super) fn open(path: &Path) -> Result<Self, Wrong> {
        let reader = Reader::open(path)?;
        Ok(Self { reader, at: 0, packed: Vec::new(), record: Vec::new() })
    }

    pub(super) fn take_read_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.reader.read_bytes)
    }

    /// The next record; nothing at the end.
    pub(super) fn next_record(&mut self) -> Result<Option<&[u8]>, Broken> {
        self.packed.clear();
        let (start, mut is_open) = (self.at, false);
        loop {
            let Some((flags, is_last)) = self.next_piece(is_open)? else {
                return match is_open {
                    false => Ok(None),
                    true => Err(self.broken(start, true, "the last record has no end")),
                };
            };
            is_open = true;
            if is_last {
                let unpacked = self.unpack(flags);
                let is_fine =
                    unpacked.map_err(|reason| Broken { at: start, is_end: false, reason });
                return is_fine.map(|()| Some(&*self.record));
            }
        }
    }

    fn broken(&self, at: u64, is_end: bool, reason: &str) -> Broken {
        Broken { at, is_end, reason: reason.to_owned() }
    }

    /// Appends the next piece; returns its flags, and whether it is the last one of its record.
    fn next_piece(&mut self, is_open: bool) -> Result<Option<(u8, bool)>, Broken> {
        loop {
            let (at, len) = (self.at, self.reader.len());
            let left = PAGE_BYTES - at % PAGE_BYTES;
            if at >= len {
                return Ok(None);
            }
            let wrong = |reason: Wrong| Broken { at, is_end: false, reason };
            let head = self.reader.get_some(at, 1).map_err(wrong)?;
            let flags = head.first().copied().unwrap_or_default();
            // Nothing more is in this page: zeros stand where no record does.
            if flags & KIND == 0 {
                let rest = self.reader.get(at, left.min(len - at) as usize).map_err(wrong)?;
                if rest.iter().any(|byte| *byte != 0) {
                    return Err(self.broken(at, false, "what fills a page is not zeros"));
                }
                self.at = at + left;
                continue;
            }
            if left < HEADER_BYTES || len - at < HEADER_BYTES {
                return Err(self.broken(at, len - at < left, "a record is cut off"));
            }
            let mut head = Cursor(self.reader.get(at + 1, 6).map_err(wrong)?);
            let bytes = head.bytes(2).map_err(wrong)?;
            let length = bytes.iter().fold(0u64, |all, byte| all << 8 | u64::from(*byte));
            let sum = head.be32().map_err(wrong)?;
            if HEADER_BYTES + length > left {
                return Err(self.broken(at, false, "a record reaches beyond its page"));
            }
            if HEADER_BYTES + length > len - at {
                return Err(self.broken(at, true, "a record is cut off"));
            }
            let piece = self.reader.get(at + HEADER_BYTES, length as usize).map_err(wrong)?;
            if !is_whole(piece, sum) {
                return Err(self.broken(at, false, "the checksum of a record is wrong"));
            }
            self.packed.extend_from_slice(piece);
            let is_last = match (flags & KIND, is_open) {
                (1, false) | (4, true) => true,
                (2, false) | (3, true) => false,
                _ => {
                    return Err(self.broken(
                        at,
                        false,
                        "a piece of a record is not where it must be",
                    ));
                }
            };
            if self.packed.len() > RECORD_BYTES_MAX {
                return Err(self.broken(at, false, "a record is longer than 128 MiB"));
            }
            self.at = at + HEADER_BYTES + length;
            return Ok(Some((flags, is_last)));
        }
    }

    fn unpack(&mut self, flags: u8) -> Result<(), Wrong> {
        let fits = |length: usize| match length <= RECORD_BYTES_MAX {
            true => Ok(length),
            false => Err(format!("a record has {length} bytes, where {RECORD_BYTES_MAX} are read")),
        };
        self.record.clear();
        if flags & IS_SNAPPY != 0 {
            let bad = |error: snap::Error| format!("a record is no snappy: {error}");
            let length = fits(snap::raw::decompress_len(&self.packed).map_err(bad)?)?;
            self.record.resize(length, 0);
            let unpacked = snap::raw::Decoder::new().decompress(&self.packed, &mut self.record);
            self.record.truncate(unpacked.map_err(bad)?);
        } else if flags & IS_ZSTD != 0 {
            let bad = |error| format!("a record is no zstd: {error}");
            let unpacked = zstd::bulk::decompress(&self.packed, RECORD_BYTES_MAX);
            self.record = unpacked.map_err(bad)?;
        } else {
            std::mem::swap(&mut self.record, &mut self.packed);
        }
        Ok(())
    }
}
