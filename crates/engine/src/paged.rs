//! Paged files: every byte under a checksum, and one damaged place in each stretch mended.
//!
//! A file is a sequence of pages of [`FILE_PAGE_BYTES`] logical bytes, the last one shorter, each
//! followed by a CRC-32. The checksum also covers the file's number and the page's, so a page of
//! another file or another place never passes. What is written and read is the logical bytes, laid
//! end to end. A page may be *packed*: stored as a Zstandard frame that is shorter than its bytes.
//! Pages of about 4 MiB, a *stretch*, are followed by their parity, see `paged/parity.rs`. A table
//! of the lengths of all pages stands before the last parity and once more at the end. A parity
//! begins in a sector of its own, behind a gap of zeros.
//!
//! ```text
//! file     stretch | gap | parity | ... stretch | gap | parity | stretch | table | gap | parity
//!          | table
//! stretch  page | crc32 u32 | page | crc32 u32 | ...
//! parity   bytes | crc32 u32
//! table    length of each stored page without its checksum u32... | pages u32
//!          | bytes of the last parity u32 | logical bytes u64 | crc32 u32 | magic u32 "Ftab"
//!
//! crc32 over: file number u64 LE | n u64 LE | the bytes before it; n is
//!             the number of the page | 2^63 + number of the stretch's first page | 2^64 - 1
//! ```

use crate::cache::{Cache, PageBytes};
use crate::error::Error;
use crate::handles::Handles;
use crate::limits::FILE_PAGE_BYTES;
use crate::waiting::refuses_files;
use foliot_codec::{checksum, checksum_append};
use foliot_disk::{Disk, ReadFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod layout;
mod parity;
#[cfg(test)]
mod tests;
mod writer;

use layout::Layout;
pub(crate) use writer::PagedWriter;

const CRC_LEN: usize = 4;

/// Calls `each` with the bytes of a file piece by piece, as they were when it was written, and
/// `tell` with a sentence for each damage that was mended for that.
///
/// # Errors
/// When a page cannot be mended, or `each` fails.
pub(crate) fn restore(
    file: &dyn ReadFile,
    path: &Path,
    number: u64,
    tell: &mut dyn FnMut(String),
    each: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let layout = Layout::read(file, path, number)?;
    let mut tell = |offset: u64, reason: &str| {
        tell(
            Error::corrupt(path, offset, format!("{reason}; the parity of the file mends it"))
                .to_string(),
        );
    };
    if let Some((offset, reason)) = &layout.damage {
        tell(*offset, reason);
    }
    let table = layout.table(number);
    let mut page = 0;
    while page < layout.pages() {
        let stretch = layout.stretch(page);
        let mut read = parity::Read::new(file, stretch);
        let bad = |page| Error::corrupt(path, layout.stored(page).0, misfit(page));
        let mended = read.mend(&layout, number).map_err(bad)?;
        for page in mended.pages {
            tell(layout.stored(page).0, &misfit(page));
        }
        if mended.is_parity {
            tell(stretch.parity_at, "a parity does not fit its pages");
        }
        each(&read.bytes)?;
        if stretch.end == layout.pages() {
            each(&table)?;
        }
        if read.has_marks_in_gap() {
            tell(stretch.gap_at, "bytes before a parity are not zero");
        }
        each(&vec![0; (stretch.parity_at - stretch.gap_at) as usize])?;
        each(&read.parity)?;
        page = stretch.end;
    }
    each(&table)
}

/// Looks at what nobody reads as long as nothing is damaged, both tables and all parities, and
/// calls `tell` with a sentence for each that is; until `goes_on` says no.
///
/// # Errors
/// When the file has no table that can be read.
pub(crate) fn look(
    file: &dyn ReadFile,
    path: &Path,
    number: u64,
    goes_on: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(String),
) -> Result<(), Error> {
    let layout = Layout::read(file, path, number)?;
    let mut tell = |offset, reason: &str| {
        tell(Error::corrupt(path, offset, reason).to_string());
    };
    if let Some((offset, reason)) = &layout.damage {
        tell(*offset, &format!("{reason}; there are two"));
    }
    let mut page = 0;
    while page < layout.pages() && goes_on() {
        let stretch = layout.stretch(page);
        if !parity::is_sound(file, stretch, number) {
            tell(stretch.parity_at, "a parity is damaged, while its pages are not");
        }
        page = stretch.end;
    }
    Ok(())
}

/// Whether two files numbered `number` have the same pages, judged by length and the checksum of
/// every page.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn are_same_pages(
    one: &dyn ReadFile,
    other: &dyn ReadFile,
    path: &Path,
    number: u64,
) -> Result<bool, Error> {
    if one.len() != other.len() {
        return Ok(false);
    }
    let layout = Layout::read(one, path, number)?;
    let table_at = layout.first_table();
    let checksums = (0..layout.pages()).map(|page| {
        let (offset, len) = layout.stored(page);
        (offset + len.saturating_sub(CRC_LEN) as u64, len.min(CRC_LEN))
    });
    for (offset, len) in checksums.chain([table_at]) {
        let (mut a, mut b) = (vec![0; len], vec![0; len]);
        one.read_at(&mut a, offset).map_err(Error::io("read", path))?;
        other.read_at(&mut b, offset).map_err(Error::io("read", path))?;
        if a != b {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The logical bytes of a stored page, if its checksum fits.
fn checked(stored: &[u8], file_number: u64, page: u64) -> Option<&[u8]> {
    let (bytes, crc) = stored.split_last_chunk::<CRC_LEN>()?;
    (page_checksum(file_number, page, bytes) == u32::from_le_bytes(*crc)).then_some(bytes)
}

fn misfit(page: u64) -> String {
    format!("checksum of page {page} does not fit its bytes")
}

fn page_checksum(file_number: u64, page: u64, bytes: &[u8]) -> u32 {
    let mut place = [0; 16];
    let (file_at, page_at) = place.split_at_mut(8);
    file_at.copy_from_slice(&file_number.to_le_bytes());
    page_at.copy_from_slice(&page.to_le_bytes());
    checksum_append(checksum(&place), bytes)
}

/// Where the stored bytes are read from.
enum File {
    /// A file that stays open.
    Open(Arc<dyn ReadFile>),
    /// One that is opened when it is needed.
    Kept(Arc<Handles>),
}

/// Reads logical bytes at positions, page by page through the cache.
pub(crate) struct PagedReader {
    file: File,
    path: PathBuf,
    number: u64,
    layout: Layout,
    cache: Arc<Cache>,
}

impl PagedReader {
    /// Opens a file that stays open as long as its reader.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        number: u64,
        cache: Arc<Cache>,
    ) -> Result<Self, Error> {
        let file = disk.open(path).map_err(Error::io("open", path))?;
        Self::of(File::Open(file.clone()), &*file, path, number, cache)
    }

    /// Opens a file that is closed and opened again as it is used.
    pub(crate) fn open_kept(
        handles: Arc<Handles>,
        path: &Path,
        number: u64,
        cache: Arc<Cache>,
    ) -> Result<Self, Error> {
        let file = handles.get(number, path).map_err(Error::io("open", path))?;
        Self::of(File::Kept(handles), &*file, path, number, cache)
    }

    fn of(
        file: File,
        opened: &dyn ReadFile,
        path: &Path,
        number: u64,
        cache: Arc<Cache>,
    ) -> Result<Self, Error> {
        let layout = Layout::read(opened, path, number)?;
        if let Some((offset, reason)) = &layout.damage {
            let reason = format!("{reason}; there are two");
            cache.damages.note(Error::corrupt(path, *offset, reason).to_string());
        }
        Ok(Self { file, path: path.to_owned(), number, layout, cache })
    }

    /// Removes the file, if it is one that nobody keeps open.
    pub(crate) fn remove(&self) {
        if let File::Kept(handles) = &self.file {
            handles.remove(self.number, &self.path);
        }
    }

    /// Number of logical bytes.
    pub(crate) fn len(&self) -> u64 {
        self.layout.len()
    }

    /// Bytes of the file.
    pub(crate) fn stored_len(&self) -> u64 {
        self.layout.stored_len()
    }

    /// An error about the bytes at logical `position`, which names the place of their page.
    pub(crate) fn corrupt(&self, position: u64, reason: impl Into<String>) -> Error {
        let (offset, _) = self.layout.stored(position / FILE_PAGE_BYTES as u64);
        Error::corrupt(&self.path, offset, reason)
    }

    /// Appends `len` logical bytes from `position` to `out`.
    pub(crate) fn read(&self, position: u64, len: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        self.read_by(position, len, |page| self.page(page), out)
    }

    /// Calls `decode` with `len` logical bytes from `position`: where they lie, if that is one
    /// page, else copied to `buffer`.
    pub(crate) fn read_in_place<T>(
        &self,
        position: u64,
        len: usize,
        buffer: &mut Vec<u8>,
        decode: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, Error> {
        let start = (position % FILE_PAGE_BYTES as u64) as usize;
        let is_inside = position.checked_add(len as u64).is_some_and(|end| end <= self.len());
        if is_inside && start + len <= FILE_PAGE_BYTES {
            let page = self.page(position / FILE_PAGE_BYTES as u64)?;
            if let Some(bytes) = page.get(start..start + len) {
                return Ok(decode(bytes));
            }
        }
        buffer.clear();
        self.read(position, len, buffer)?;
        Ok(decode(buffer))
    }

    /// Like [`PagedReader::read`], from `pages` and the file alone.
    pub(crate) fn read_past_cache(
        &self,
        position: u64,
        len: usize,
        pages: &mut Pages,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        self.read_by(position, len, |page| pages.get(page, || self.load(page)), out)
    }

    fn read_by(
        &self,
        position: u64,
        len: usize,
        mut get: impl FnMut(u64) -> Result<PageBytes, Error>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if position.checked_add(len as u64).is_none_or(|end| end > self.len()) {
            return Err(self.corrupt(position, format!("{len} bytes would reach past the end")));
        }
        let (mut position, mut len) = (position, len);
        while len > 0 {
            let page = position / FILE_PAGE_BYTES as u64;
            let bytes = get(page)?;
            let start = (position % FILE_PAGE_BYTES as u64) as usize;
            let end = (start + len).min(bytes.len());
            let Some(part) = bytes.get(start..end).filter(|part| !part.is_empty()) else {
                return Err(self.corrupt(position, "page is shorter than it should be"));
            };
            out.extend_from_slice(part);
            position += part.len() as u64;
            len -= part.len();
        }
        Ok(())
    }

    /// The bytes of a page, checked when they come from the file.
    fn page(&self, page: u64) -> Result<PageBytes, Error> {
        if let Some(bytes) = self.cache.get(self.number, page) {
            return Ok(bytes);
        }
        let bytes = self.load(page)?;
        self.cache.put(self.number, page, bytes.clone());
        Ok(bytes)
    }

    /// The bytes of a page, past the cache.
    fn load(&self, page: u64) -> Result<PageBytes, Error> {
        if refuses_files() {
            return Err(Error::NotInMemory);
        }
        let (offset, stored_len) = self.layout.stored(page);
        let file = match &self.file {
            File::Open(file) => file.clone(),
            File::Kept(handles) => {
                handles.get(self.number, &self.path).map_err(Error::io("open", &self.path))?
            }
        };
        let mut stored = vec![0; stored_len];
        let read = file.read_at(&mut stored, offset).map_err(Error::io("read", &self.path));
        if read.is_err() || checked(&stored, self.number, page).is_none() {
            stored = self.mend(&*file, page, read)?;
        }
        stored.truncate(stored_len - CRC_LEN);
        let len = self.layout.page_len(page);
        if stored.len() < len {
            stored = foliot_codec::unpack(&stored, len)
                .map_err(|error| Error::corrupt(&self.path, offset, error.to_string()))?;
        }
        // Copied: what was read is longer than a page by its checksum.
        Ok(Arc::new(Box::from(&*stored)))
    }
}

impl PagedReader {
    /// The stored bytes of a page that is damaged or could not be read, by the parity.
    fn mend(
        &self,
        file: &dyn ReadFile,
        page: u64,
        read: Result<(), Error>,
    ) -> Result<Vec<u8>, Error> {
        let (offset, _) = self.layout.stored(page);
        let mut stretch = parity::Read::new(file, self.layout.stretch(page));
        // A disk that cannot be read just now is not a damaged file.
        let error = || Error::corrupt(&self.path, offset, misfit(page));
        let error = read.err().unwrap_or_else(error);
        if stretch.mend(&self.layout, self.number).is_err() {
            return Err(error);
        }
        self.cache.damages.note(format!("{error}; its parity gives page {page} back"));
        let place = stretch.place(&self.layout, page);
        Ok(stretch.bytes.get(place).unwrap_or_default().to_vec())
    }
}

/// The few pages that a reader from front to back needs at a time, the newest first.
pub(crate) struct Pages {
    held: Vec<(u64, PageBytes)>,
    max: usize,
}

impl Pages {
    /// Keeps up to `max` pages.
    pub(crate) fn keeping(max: usize) -> Self {
        Self { held: Vec::new(), max: max.max(1) }
    }

    fn get(
        &mut self,
        page: u64,
        load: impl FnOnce() -> Result<PageBytes, Error>,
    ) -> Result<PageBytes, Error> {
        let place = match self.held.iter().position(|held| held.0 == page) {
            Some(place) => place,
            None => {
                let loaded = load()?;
                self.held.truncate(self.max - 1);
                self.held.push((page, loaded));
                self.held.len() - 1
            }
        };
        self.held.get_mut(..=place).into_iter().for_each(|held| held.rotate_right(1));
        Ok(self.held.first().map(|(_, bytes)| bytes.clone()).unwrap_or_default())
    }
}
