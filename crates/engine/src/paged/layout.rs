//! Where the pages of a paged file lie in it: its table, which is written twice.

use super::parity::{self, is_full};
use super::{CRC_LEN, page_checksum};
use crate::error::Error;
use crate::limits::{FILE_PAGE_BYTES, PARITY_WIDTH_MAX, SECTOR_BYTES};
use crate::part::format::take;
use crate::preamble;
use foliot_disk::ReadFile;
use std::path::Path;

const MAGIC: [u8; 4] = *b"Ftab";
/// Page count, width of the last parity, logical length, checksum, magic.
const TRAILER_LEN: usize = 4 + 4 + 8 + 4 + 4;
/// Stands for the number of a page in the checksum of the table.
const TABLE: u64 = u64::MAX;
/// Bits of a place that are its length: a whole page and its checksum fit.
const LEN_BITS: u32 = 16;
/// Bytes that are searched at a time for the first table.
const SEARCH_BYTES: u64 = 1 << 20;

/// Where the pages of a file lie. Memory: 8 bytes a page.
pub(super) struct Layout {
    /// Of each page its position and, in the lowest bits, its length, checksum included.
    places: Vec<u64>,
    /// Logical bytes.
    len: u64,
    /// Bytes of the file.
    stored_len: u64,
    /// Bytes of the last parity, its checksum excluded.
    width: u32,
    /// What is wrong with one of the two tables, if something is.
    pub(super) damage: Option<(u64, String)>,
}

/// Pages that share a parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    /// Number of the first page, and of the one behind the last.
    pub(super) first: u64,
    pub(super) end: u64,
    /// Where they lie.
    pub(super) at: u64,
    pub(super) len: u64,
    /// Zeros before the parity.
    pub(super) gap_at: u64,
    pub(super) parity_at: u64,
    /// Bytes of the parity, its checksum excluded.
    pub(super) width: usize,
}

/// The table of a file: lengths of its stored pages without their checksums, and the trailer.
pub(super) fn table(lens: &[u32], width: u32, len: u64, number: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(lens.len() * 4 + TRAILER_LEN);
    for page in lens {
        out.extend_from_slice(&page.to_le_bytes());
    }
    out.extend_from_slice(&(lens.len() as u32).to_le_bytes());
    out.extend_from_slice(&width.to_le_bytes());
    out.extend_from_slice(&len.to_le_bytes());
    let crc = page_checksum(number, TABLE, &out);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&MAGIC);
    out
}

impl Layout {
    /// Reads how the file numbered `number` is laid out: from the table at its end, or if that is
    /// damaged from the one before the last parity.
    ///
    /// # Errors
    /// When neither can be read, or the file is of another version.
    pub(super) fn read(file: &dyn ReadFile, path: &Path, number: u64) -> Result<Self, Error> {
        let end = file.len();
        // A sector that the disk does not give is as bad as a damaged one.
        let last = Self::at(file, end, path, number);
        if let Ok(Some(mut layout)) = last {
            let (first_at, len) = layout.first_table();
            let wanted = read(file, end - len as u64, len, path)?;
            let reason = match read(file, first_at, len, path) {
                Ok(found) if found == wanted => None,
                Ok(_) => Some("the first table of its pages is damaged".to_owned()),
                Err(error) => Some(format!("the first table of its pages: {error}")),
            };
            layout.damage = reason.map(|reason| (first_at, reason));
            return Ok(layout);
        }
        preamble::check_version(file, path)?;
        for end in search(file) {
            if let Ok(Some(mut layout)) = Self::at(file, end, path, number) {
                let reason = match last {
                    Err(error) => format!("the last table of its pages: {error}"),
                    Ok(_) => "the last table of its pages is damaged".to_owned(),
                };
                layout.damage = Some((end.min(file.len()), reason));
                return Ok(layout);
            }
        }
        last.and(Err(Error::corrupt(path, end, "has no table of its pages")))
    }

    /// The layout that the table ending at `end` tells, if there is one that fits the file.
    fn at(file: &dyn ReadFile, end: u64, path: &Path, number: u64) -> Result<Option<Self>, Error> {
        let Some(trailer_at) = end.checked_sub(TRAILER_LEN as u64) else { return Ok(None) };
        let trailer = read(file, trailer_at, TRAILER_LEN, path)?;
        let mut rest = &*trailer;
        let pages = take(&mut rest).map(u32::from_le_bytes).unwrap_or_default();
        let Some(at) = trailer_at.checked_sub(u64::from(pages) * 4) else { return Ok(None) };
        let bytes = read(file, at, pages as usize * 4 + TRAILER_LEN, path)?;
        let (lens, mut rest) = bytes.split_at(pages as usize * 4);
        let _pages: Option<[u8; 4]> = take(&mut rest);
        let width = take(&mut rest).map(u32::from_le_bytes).unwrap_or_default();
        let len = take(&mut rest).map(u64::from_le_bytes).unwrap_or_default();
        let lens: Vec<u32> = lens
            .chunks_exact(4)
            .filter_map(|mut len| take(&mut len).map(u32::from_le_bytes))
            .collect();
        if bytes != table(&lens, width, len, number) {
            return Ok(None);
        }
        let layout = Self::of(&lens, width, len, file.len());
        let is_sound = len > 0
            && u64::from(pages) == len.div_ceil(FILE_PAGE_BYTES as u64)
            && lens.iter().all(|len| *len as usize <= FILE_PAGE_BYTES)
            && layout.last_table_at() + bytes.len() as u64 == file.len();
        Ok(is_sound.then_some(layout))
    }

    fn of(lens: &[u32], width: u32, len: u64, stored_len: u64) -> Self {
        let mut places = Vec::with_capacity(lens.len());
        let (mut at, mut stretch_at) = (0, 0);
        for len in lens {
            let len = u64::from(*len) + CRC_LEN as u64;
            if is_full(at - stretch_at) {
                at += gap(at) as u64 + (PARITY_WIDTH_MAX + CRC_LEN) as u64;
                stretch_at = at;
            }
            places.push(at << LEN_BITS | len);
            at += len;
        }
        Self { places, len, stored_len, width, damage: None }
    }

    /// Logical bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of the file.
    pub(super) fn stored_len(&self) -> u64 {
        self.stored_len
    }

    /// How many pages there are.
    pub(super) fn pages(&self) -> u64 {
        self.places.len() as u64
    }

    /// The table that tells this.
    pub(super) fn table(&self, number: u64) -> Vec<u8> {
        let lens = (0..self.pages()).map(|page| (self.stored(page).1 - CRC_LEN) as u32);
        table(&lens.collect::<Vec<_>>(), self.width, self.len, number)
    }

    /// Logical bytes of a page.
    pub(super) fn page_len(&self, page: u64) -> usize {
        let before = page * FILE_PAGE_BYTES as u64;
        self.len.saturating_sub(before).min(FILE_PAGE_BYTES as u64) as usize
    }

    /// Place and length of a stored page, its checksum included.
    pub(super) fn stored(&self, page: u64) -> (u64, usize) {
        let place = self.places.get(page as usize).copied().unwrap_or(self.end() << LEN_BITS);
        (place >> LEN_BITS, (place & ((1 << LEN_BITS) - 1)) as usize)
    }

    /// Where the last page ends.
    fn end(&self) -> u64 {
        let last = self.places.last().copied().unwrap_or_default();
        (last >> LEN_BITS) + (last & ((1 << LEN_BITS) - 1))
    }

    /// Place and length of the first of the two tables.
    pub(super) fn first_table(&self) -> (u64, usize) {
        (self.end(), self.places.len() * 4 + TRAILER_LEN)
    }

    /// Where the last table begins: behind the last parity.
    fn last_table_at(&self) -> u64 {
        let (at, len) = self.first_table();
        let end = at + len as u64;
        end + gap(end) as u64 + u64::from(self.width) + CRC_LEN as u64
    }

    /// The stretch that a page belongs to.
    pub(super) fn stretch(&self, page: u64) -> Stretch {
        let follows = |page: u64| {
            let (at, len) = self.stored(page);
            page + 1 < self.pages() && self.stored(page + 1).0 == at + len as u64
        };
        let (mut first, mut end) = (page, page + 1);
        while first > 0 && follows(first - 1) {
            first -= 1;
        }
        while follows(end - 1) {
            end += 1;
        }
        let (at, _) = self.stored(first);
        let (last_at, last_len) = self.stored(end - 1);
        let len = last_at + last_len as u64 - at;
        let (table_len, width) = match end == self.pages() {
            true => (self.first_table().1 as u64, self.width as usize),
            false => (0, PARITY_WIDTH_MAX),
        };
        let gap_at = at + len + table_len;
        let parity_at = gap_at + gap(gap_at) as u64;
        Stretch { first, end, at, len, gap_at, parity_at, width }
    }
}

/// Bytes from `at` to where a sector begins.
pub(super) fn gap(at: u64) -> usize {
    (at.next_multiple_of(SECTOR_BYTES as u64) - at) as usize
}

fn read(file: &dyn ReadFile, at: u64, len: usize, path: &Path) -> Result<Vec<u8>, Error> {
    let is_inside = at.checked_add(len as u64).is_some_and(|end| end <= file.len());
    let mut bytes = vec![0; if is_inside { len } else { 0 }];
    file.read_at(&mut bytes, at.min(file.len())).map_err(Error::io("read", path))?;
    Ok(bytes)
}

/// Positions behind what looks like the end of a table, the last one first.
fn search(file: &dyn ReadFile) -> Vec<u64> {
    let mut found = Vec::new();
    let mut end = file.len();
    while end > 0 {
        let start = end.saturating_sub(SEARCH_BYTES);
        // A magic number may lie across the seam.
        let len = (end + MAGIC.len() as u64 - 1).min(file.len()) - start;
        let bytes = parity::read(file, start, len as usize);
        let starts = bytes.windows(MAGIC.len()).enumerate().rev();
        let magics = starts.filter(|(_, bytes)| **bytes == MAGIC);
        found.extend(magics.map(|(at, _)| start + (at + MAGIC.len()) as u64));
        end = start;
    }
    found
}
