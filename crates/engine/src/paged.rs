//! Paged files: every byte under a checksum.
//!
//! A file is a sequence of pages of [`FILE_PAGE_BYTES`] logical bytes, the last one shorter, each
//! followed by a CRC-32. The checksum also covers the file's number and the page's, so a page of
//! another file or another place never passes. What is written and read is the logical bytes, laid
//! end to end.
//!
//! ```text
//! +----------------+-----------+----------------+-----------+-- ... --+------------+-----------+
//! | 32768 bytes    | crc32 u32 | 32768 bytes    | crc32 u32 |         | 1..32768   | crc32 u32 |
//! +----------------+-----------+----------------+-----------+-- ... --+------------+-----------+
//! crc32 over: file number u64 LE | page number u64 LE | bytes of the page
//! ```

use crate::cache::Cache;
use crate::error::Error;
use crate::handles::Handles;
use crate::limits::FILE_PAGE_BYTES;
use foliot_codec::{checksum, checksum_append};
use foliot_disk::{AppendFile, Disk, ReadFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const CRC_LEN: usize = 4;
const STORED_PAGE_BYTES: u64 = (FILE_PAGE_BYTES + CRC_LEN) as u64;

/// Calls `each` with the stored bytes of every page of a file, checksum included, after checking
/// it.
///
/// # Errors
/// When a page cannot be read or does not fit its checksum, or `each` fails.
pub(crate) fn for_each_page(
    file: &dyn ReadFile,
    path: &Path,
    number: u64,
    each: &mut dyn FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut stored = Vec::new();
    for page in 0..file.len().div_ceil(STORED_PAGE_BYTES) {
        let offset = page * STORED_PAGE_BYTES;
        stored.resize((file.len() - offset).min(STORED_PAGE_BYTES) as usize, 0);
        file.read_at(&mut stored, offset).map_err(Error::io("read", path))?;
        if checked(&stored, number, page).is_none() {
            return Err(Error::corrupt(path, offset, misfit(page)));
        }
        each(&stored)?;
    }
    Ok(())
}

/// Whether two files have the same pages, judged by length and the checksum of every page.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn are_same_pages(one: &dyn ReadFile, other: &dyn ReadFile) -> std::io::Result<bool> {
    if one.len() != other.len() {
        return Ok(false);
    }
    for page in 0..one.len().div_ceil(STORED_PAGE_BYTES) {
        let end = ((page + 1) * STORED_PAGE_BYTES).min(one.len());
        let at = end.saturating_sub(CRC_LEN as u64);
        let (mut a, mut b) = ([0; CRC_LEN], [0; CRC_LEN]);
        one.read_at(&mut a, at)?;
        other.read_at(&mut b, at)?;
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

/// Writes a paged file from front to back.
pub(crate) struct PagedWriter {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    number: u64,
    page: u64,
    buffer: Vec<u8>,
    out: Vec<u8>,
}

impl PagedWriter {
    pub(crate) fn create(disk: &dyn Disk, path: &Path, number: u64) -> Result<Self, Error> {
        let file = disk.create(path).map_err(Error::io("create", path))?;
        let buffer = Vec::with_capacity(FILE_PAGE_BYTES);
        Ok(Self { file, path: path.to_owned(), number, page: 0, buffer, out: Vec::new() })
    }

    /// The logical position of the next byte.
    pub(crate) fn position(&self) -> u64 {
        self.page * FILE_PAGE_BYTES as u64 + self.buffer.len() as u64
    }

    /// Appends logical bytes.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let room = FILE_PAGE_BYTES - self.buffer.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == FILE_PAGE_BYTES {
                self.end_page()?;
            }
        }
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), Error> {
        let crc = page_checksum(self.number, self.page, &self.buffer);
        self.out.extend_from_slice(&self.buffer);
        self.out.extend_from_slice(&crc.to_le_bytes());
        self.buffer.clear();
        self.page += 1;
        // Few calls, and little memory: a flush may write hundreds of files at once.
        if self.out.len() >= 2 * FILE_PAGE_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.file.append(&self.out).map_err(Error::io("write", &self.path))?;
        self.out.clear();
        Ok(())
    }

    /// Ends the file and syncs it. Returns its length. Its name is durable after `sync_dir`.
    pub(crate) fn finish(mut self) -> Result<u64, Error> {
        if !self.buffer.is_empty() {
            self.end_page()?;
        }
        self.flush()?;
        self.file.sync().map_err(Error::io("sync", &self.path))?;
        Ok(self.file.len())
    }
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
    len: u64,
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
        let len = logical_len(file.len(), path)?;
        Ok(Self { file: File::Open(file), path: path.to_owned(), number, len, cache })
    }

    /// Opens a file that is closed and opened again as it is used.
    pub(crate) fn open_kept(
        handles: Arc<Handles>,
        path: &Path,
        number: u64,
        cache: Arc<Cache>,
    ) -> Result<Self, Error> {
        let file = handles.get(number, path).map_err(Error::io("open", path))?;
        let len = logical_len(file.len(), path)?;
        Ok(Self { file: File::Kept(handles), path: path.to_owned(), number, len, cache })
    }

    /// Removes the file, if it is one that nobody keeps open.
    pub(crate) fn remove(&self) {
        if let File::Kept(handles) = &self.file {
            handles.remove(self.number, &self.path);
        }
    }

    /// Number of logical bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// An error about the bytes at logical `position`.
    pub(crate) fn corrupt(&self, position: u64, reason: impl Into<String>) -> Error {
        let page = position / FILE_PAGE_BYTES as u64;
        Error::corrupt(&self.path, position + page * CRC_LEN as u64, reason)
    }

    /// Appends `len` logical bytes from `position` to `out`.
    pub(crate) fn read(&self, position: u64, len: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        self.read_by(position, len, |page| self.page(page), out)
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
        mut get: impl FnMut(u64) -> Result<Arc<[u8]>, Error>,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        if position.checked_add(len as u64).is_none_or(|end| end > self.len) {
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
    fn page(&self, page: u64) -> Result<Arc<[u8]>, Error> {
        if let Some(bytes) = self.cache.get(self.number, page) {
            return Ok(bytes);
        }
        let bytes = self.load(page)?;
        self.cache.put(self.number, page, bytes.clone());
        Ok(bytes)
    }

    /// The bytes of a page, past the cache.
    fn load(&self, page: u64) -> Result<Arc<[u8]>, Error> {
        let start = page * FILE_PAGE_BYTES as u64;
        let len = (self.len - start).min(FILE_PAGE_BYTES as u64) as usize;
        let mut stored = vec![0; len + CRC_LEN];
        let offset = page * STORED_PAGE_BYTES;
        match &self.file {
            File::Open(file) => file.read_at(&mut stored, offset),
            File::Kept(handles) => handles
                .get(self.number, &self.path)
                .and_then(|file| file.read_at(&mut stored, offset)),
        }
        .map_err(Error::io("read", &self.path))?;
        if checked(&stored, self.number, page).is_none() {
            return Err(Error::corrupt(&self.path, offset, misfit(page)));
        }
        stored.truncate(len);
        Ok(stored.into())
    }
}

/// The few pages that a reader from front to back needs at a time. Two, because what it reads may
/// point back.
#[derive(Default)]
pub(crate) struct Pages {
    newest: Option<(u64, Arc<[u8]>)>,
    before: Option<(u64, Arc<[u8]>)>,
}

impl Pages {
    fn get(
        &mut self,
        page: u64,
        load: impl FnOnce() -> Result<Arc<[u8]>, Error>,
    ) -> Result<Arc<[u8]>, Error> {
        let is_it = |held: &Option<(u64, Arc<[u8]>)>| held.as_ref().is_some_and(|h| h.0 == page);
        if !is_it(&self.newest) {
            std::mem::swap(&mut self.newest, &mut self.before);
            if !is_it(&self.newest) {
                self.newest = Some((page, load()?));
            }
        }
        Ok(self.newest.as_ref().map(|(_, bytes)| bytes.clone()).unwrap_or_default())
    }
}

/// Logical bytes of a file of `stored_len` bytes.
fn logical_len(stored_len: u64, path: &Path) -> Result<u64, Error> {
    let whole = stored_len / STORED_PAGE_BYTES;
    let rest = stored_len % STORED_PAGE_BYTES;
    if rest > 0 && rest <= CRC_LEN as u64 {
        return Err(Error::corrupt(path, stored_len, "ends within a checksum"));
    }
    Ok(whole * FILE_PAGE_BYTES as u64 + rest.saturating_sub(CRC_LEN as u64))
}
