//! Where the pages of a paged file lie in it.

use super::{CRC_LEN, STORED_PAGE_BYTES, page_checksum};
use crate::error::Error;
use crate::limits::FILE_PAGE_BYTES;
use crate::part::format::take;
use crate::preamble::{PACKED, Preamble};
use foliot_disk::ReadFile;
use std::path::Path;

const MAGIC: u32 = u32::from_le_bytes(*b"Fpck");
/// Page count, zeros, logical length, checksum, magic.
pub(super) const TRAILER_LEN: usize = 4 + 4 + 8 + 4 + 4;
/// Stands for the number of a page in the checksum of the table.
const TABLE: u64 = u64::MAX;

/// Where the pages of a file lie.
pub(super) enum Layout {
    /// Pages of one length, but for the last. With the length of the file.
    Plain(u64),
    /// Packed pages.
    Packed {
        /// Where each page ends, its checksum included.
        ends: Vec<u64>,
        /// Logical bytes.
        len: u64,
        /// Bytes of the file.
        stored_len: u64,
    },
}

/// The table of a packed file: lengths of its pages, and its trailer.
pub(super) fn table(lens: &[u32], len: u64, number: u64) -> Vec<u8> {
    let mut out = Vec::with_capacity(lens.len() * 4 + TRAILER_LEN);
    for page in lens {
        out.extend_from_slice(&page.to_le_bytes());
    }
    out.extend_from_slice(&(lens.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&len.to_le_bytes());
    let crc = page_checksum(number, TABLE, &out);
    out.extend_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(&MAGIC.to_le_bytes());
    out
}

impl Layout {
    /// Finds out how the file numbered `number` is laid out.
    pub(super) fn read(file: &dyn ReadFile, path: &Path, number: u64) -> Result<Self, Error> {
        let mut preamble = [0; Preamble::LEN];
        if file.len() >= Preamble::LEN as u64 {
            file.read_at(&mut preamble, 0).map_err(Error::io("read", path))?;
        }
        let [.., low, high] = preamble;
        match u16::from_le_bytes([low, high]) & PACKED != 0 && Preamble::may_be_packed(&preamble) {
            true => Self::read_packed(file, path, number),
            false => Self::of_plain(file.len(), path),
        }
    }

    fn of_plain(stored_len: u64, path: &Path) -> Result<Self, Error> {
        let rest = stored_len % STORED_PAGE_BYTES;
        match rest > 0 && rest <= CRC_LEN as u64 {
            true => Err(Error::corrupt(path, stored_len, "ends within a checksum")),
            false => Ok(Self::Plain(stored_len)),
        }
    }

    fn read_packed(file: &dyn ReadFile, path: &Path, number: u64) -> Result<Self, Error> {
        let bad = || Error::corrupt(path, file.len(), "has no table of its packed pages");
        let mut trailer = [0; TRAILER_LEN];
        let trailer_at = file.len().checked_sub(TRAILER_LEN as u64).ok_or_else(bad)?;
        file.read_at(&mut trailer, trailer_at).map_err(Error::io("read", path))?;
        let pages = u32::from_le_bytes(take(&mut &trailer[..]).unwrap_or_default());
        let table_at = trailer_at.checked_sub(u64::from(pages) * 4).ok_or_else(bad)?;
        let mut bytes = vec![0; pages as usize * 4 + TRAILER_LEN];
        file.read_at(&mut bytes, table_at).map_err(Error::io("read", path))?;
        let (lens, mut rest) = bytes.split_at(pages as usize * 4);
        let _pages_and_zeros: Option<[u8; 8]> = take(&mut rest);
        let len = take(&mut rest).map(u64::from_le_bytes).unwrap_or_default();
        let (mut ends, mut end) = (Vec::with_capacity(pages as usize), 0);
        let lens: Vec<u32> = lens
            .chunks_exact(4)
            .filter_map(|mut len| take(&mut len).map(u32::from_le_bytes))
            .collect();
        for len in &lens {
            end += u64::from(*len) + CRC_LEN as u64;
            ends.push(end);
        }
        let is_sound = bytes == table(&lens, len, number)
            && end == table_at
            && u64::from(pages) == len.div_ceil(FILE_PAGE_BYTES as u64);
        match is_sound {
            true => Ok(Self::Packed { ends, len, stored_len: file.len() }),
            false => Err(bad()),
        }
    }

    pub(super) fn is_packed(&self) -> bool {
        matches!(self, Self::Packed { .. })
    }

    /// Logical bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Plain(stored) => stored.saturating_sub(self.pages() * CRC_LEN as u64),
            Self::Packed { len, .. } => *len,
        }
    }

    /// Bytes of the file.
    pub(super) fn stored_len(&self) -> u64 {
        match self {
            Self::Plain(stored_len) | Self::Packed { stored_len, .. } => *stored_len,
        }
    }

    /// How many pages there are.
    pub(super) fn pages(&self) -> u64 {
        match self {
            Self::Plain(stored_len) => stored_len.div_ceil(STORED_PAGE_BYTES),
            Self::Packed { ends, .. } => ends.len() as u64,
        }
    }

    /// Place and length of a stored page, its checksum included.
    pub(super) fn stored(&self, page: u64) -> (u64, usize) {
        match self {
            Self::Plain(stored_len) => {
                let offset = page * STORED_PAGE_BYTES;
                (offset, stored_len.saturating_sub(offset).min(STORED_PAGE_BYTES) as usize)
            }
            Self::Packed { ends, .. } => {
                let end_of = |page: u64| ends.get(page as usize).copied();
                let start = page.checked_sub(1).map_or(0, |before| end_of(before).unwrap_or(0));
                (start, end_of(page).unwrap_or(start).saturating_sub(start) as usize)
            }
        }
    }

    /// Place and length of what follows the pages.
    pub(super) fn table(&self) -> (u64, usize) {
        let end = match self {
            Self::Plain(stored_len) => *stored_len,
            Self::Packed { ends, .. } => ends.last().copied().unwrap_or(0),
        };
        (end, self.stored_len().saturating_sub(end) as usize)
    }
}
