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
//!
//! Files that are read seldom are *packed*: each page but the first is a Zstandard frame where that
//! is shorter, its checksum is over the bytes as they are stored, and a table says how long each
//! page is. The preamble, in the first page, has the flag.
//!
//! ```text
//! page | crc32 u32 | page | crc32 u32 | ...
//! | length of each page without its checksum u32... | pages u32 | 0 u32 | logical bytes u64
//! | crc32 u32 | magic u32 "Fpck"
//! crc32 over: file number u64 | 2^64 - 1 u64 | the table from the lengths to the logical bytes
//! ```

use crate::cache::{Cache, PageBytes};
use crate::error::Error;
use crate::handles::Handles;
use crate::limits::FILE_PAGE_BYTES;
use crate::waiting::refuses_files;
use foliot_codec::{checksum, checksum_append};
use foliot_disk::{AppendFile, Disk, ReadFile};
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod layout;

use layout::Layout;

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
    let layout = Layout::read(file, path, number)?;
    let mut stored = Vec::new();
    for page in 0..layout.pages() {
        let (offset, len) = layout.stored(page);
        stored.resize(len, 0);
        file.read_at(&mut stored, offset).map_err(Error::io("read", path))?;
        if checked(&stored, number, page).is_none() {
            return Err(Error::corrupt(path, offset, misfit(page)));
        }
        each(&stored)?;
    }
    let (offset, len) = layout.table();
    stored.resize(len, 0);
    file.read_at(&mut stored, offset).map_err(Error::io("read", path))?;
    each(&stored)
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
    let (table_at, table_len) = layout.table();
    let checksums = (0..layout.pages()).map(|page| {
        let (offset, len) = layout.stored(page);
        (offset + len.saturating_sub(CRC_LEN) as u64, len.min(CRC_LEN))
    });
    for (offset, len) in checksums.chain([(table_at, table_len)]) {
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

/// Writes a paged file from front to back.
pub(crate) struct PagedWriter {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    number: u64,
    page: u64,
    buffer: Vec<u8>,
    out: Vec<u8>,
    /// Lengths of the stored pages, if the file is packed.
    lens: Option<Vec<u32>>,
}

impl PagedWriter {
    pub(crate) fn create(disk: &dyn Disk, path: &Path, number: u64) -> Result<Self, Error> {
        let file = disk.create(path).map_err(Error::io("create", path))?;
        let buffer = Vec::with_capacity(FILE_PAGE_BYTES);
        let path = path.to_owned();
        Ok(Self { file, path, number, page: 0, buffer, out: Vec::new(), lens: None })
    }

    /// The same writer, packing pages. The first page must say so in its preamble.
    pub(crate) fn packed(self) -> Self {
        Self { lens: Some(Vec::new()), ..self }
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
        let at = self.out.len();
        let is_first = self.page == 0;
        let is_packed =
            self.lens.is_some() && !is_first && foliot_codec::pack(&self.buffer, &mut self.out);
        if !is_packed {
            self.out.extend_from_slice(&self.buffer);
        }
        let stored = self.out.get(at..).unwrap_or_default();
        let crc = page_checksum(self.number, self.page, stored);
        if let Some(lens) = &mut self.lens {
            lens.push(stored.len() as u32);
        }
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
        let len = self.position();
        if !self.buffer.is_empty() {
            self.end_page()?;
        }
        if let Some(lens) = &self.lens {
            self.out.extend_from_slice(&layout::table(lens, len, self.number));
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
        let layout = Layout::read(&*file, path, number)?;
        Ok(Self { file: File::Open(file), path: path.to_owned(), number, layout, cache })
    }

    /// Opens a file that is closed and opened again as it is used.
    pub(crate) fn open_kept(
        handles: Arc<Handles>,
        path: &Path,
        number: u64,
        cache: Arc<Cache>,
    ) -> Result<Self, Error> {
        let file = handles.get(number, path).map_err(Error::io("open", path))?;
        let layout = Layout::read(&*file, path, number)?;
        Ok(Self { file: File::Kept(handles), path: path.to_owned(), number, layout, cache })
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

    /// An error about the bytes at logical `position`.
    pub(crate) fn corrupt(&self, position: u64, reason: impl Into<String>) -> Error {
        let (offset, _) = self.layout.stored(position / FILE_PAGE_BYTES as u64);
        let within = match self.layout.is_packed() {
            true => 0,
            false => position % FILE_PAGE_BYTES as u64,
        };
        Error::corrupt(&self.path, offset + within, reason)
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
        let mut stored = vec![0; stored_len];
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
        stored.truncate(stored_len - CRC_LEN);
        let len = (self.len() - page * FILE_PAGE_BYTES as u64).min(FILE_PAGE_BYTES as u64) as usize;
        if stored.len() < len {
            stored = foliot_codec::unpack(&stored, len)
                .map_err(|error| Error::corrupt(&self.path, offset, error.to_string()))?;
        }
        // Copied: what was read is longer than a page by its checksum.
        Ok(Arc::new(Box::from(&*stored)))
    }
}

/// The few pages that a reader from front to back needs at a time. Two, because what it reads may
/// point back.
#[derive(Default)]
pub(crate) struct Pages {
    newest: Option<(u64, PageBytes)>,
    before: Option<(u64, PageBytes)>,
}

impl Pages {
    fn get(
        &mut self,
        page: u64,
        load: impl FnOnce() -> Result<PageBytes, Error>,
    ) -> Result<PageBytes, Error> {
        let is_it = |held: &Option<(u64, PageBytes)>| held.as_ref().is_some_and(|h| h.0 == page);
        if !is_it(&self.newest) {
            std::mem::swap(&mut self.newest, &mut self.before);
            if !is_it(&self.newest) {
                self.newest = Some((page, load()?));
            }
        }
        Ok(self.newest.as_ref().map(|(_, bytes)| bytes.clone()).unwrap_or_default())
    }
}
