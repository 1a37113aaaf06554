//! Reading a part from front to back, past the cache: what queries keep there stays there.

use super::reader::{BlockPlace, Entries, Part};
use crate::error::Error;
use crate::limits::{BAY_BYTES_MAX, ENTRY_BLOCKS_MAX, FILE_PAGE_BYTES, LEVEL_FINAL};
use crate::paged::Pages;
use foliot_model::TimeRange;
use std::collections::VecDeque;
use std::sync::Arc;

/// Pages that hold the index page being read, which may lie on two.
const INDEX_PAGES: usize = 2;

/// Pages that hold what the index points to while it is read: it may point back.
const SECTION_PAGES: usize = 2;

/// The same in a final part, where it points to places all over a bay.
const BAY_PAGES: usize = BAY_BYTES_MAX / FILE_PAGE_BYTES + 4;

/// Blocks of a part in the order of its index. Memory: an index page, an entry, a few pages, and of
/// a final part a bay.
pub(crate) struct Cursor {
    part: Arc<Part>,
    /// The index page being read, and where in it.
    index: Vec<u8>,
    index_at: usize,
    /// Where the index page lies in the part.
    index_page_at: u64,
    pages_read: usize,
    sid_before: Option<u32>,
    /// Blocks of the entry being read.
    blocks: VecDeque<BlockPlace>,
    sid: Option<u32>,
    index_pages: Pages,
    section_pages: Pages,
}

impl Cursor {
    /// A cursor at the part's first block.
    pub(crate) fn new(part: Arc<Part>) -> Result<Self, Error> {
        let mut cursor = Self::before(part);
        cursor.next_entry()?;
        Ok(cursor)
    }

    /// A cursor before the part's first index page, to be moved by [`Cursor::skip_page`].
    pub(crate) fn before(part: Arc<Part>) -> Self {
        let section_pages = match part.entry.level >= LEVEL_FINAL {
            true => BAY_PAGES,
            false => SECTION_PAGES,
        };
        Self {
            part,
            index: Vec::new(),
            index_at: 0,
            index_page_at: 0,
            pages_read: 0,
            sid_before: None,
            blocks: VecDeque::with_capacity(ENTRY_BLOCKS_MAX as usize),
            sid: None,
            index_pages: Pages::keeping(INDEX_PAGES),
            section_pages: Pages::keeping(section_pages),
        }
    }

    /// Leaves the index page being read, for one that can perhaps be read better.
    pub(crate) fn skip_page(&mut self) -> Result<(), Error> {
        self.index.clear();
        self.blocks.clear();
        self.next_entry()
    }

    /// The number of the part's file.
    pub(crate) fn number(&self) -> u64 {
        self.part.entry.number
    }

    /// Whether the part is a final one.
    pub(crate) fn is_final(&self) -> bool {
        self.part.entry.level >= LEVEL_FINAL
    }

    /// The series of the next block; nothing at the end.
    pub(crate) fn sid(&self) -> Option<u32> {
        self.sid
    }

    /// Times of the next block.
    pub(crate) fn range(&self) -> Option<TimeRange> {
        self.blocks.front().map(|place| place.range)
    }

    /// The bytes of the next block, times and then values, put into `bytes`; moves on behind it.
    pub(crate) fn take(&mut self, bytes: &mut Vec<u8>) -> Result<Option<BlockPlace>, Error> {
        let Some(place) = self.blocks.pop_front() else { return Ok(None) };
        let read = self.part.read_sections(&place, &mut self.section_pages, bytes);
        // Also behind a block that cannot be read, for whoever saves the others.
        if self.blocks.is_empty() {
            self.next_entry()?;
        }
        read.map(|()| Some(place))
    }

    /// Moves on behind the next block without reading it.
    pub(crate) fn skip(&mut self) -> Result<(), Error> {
        self.blocks.pop_front();
        if self.blocks.is_empty() {
            self.next_entry()?;
        }
        Ok(())
    }

    /// An error about the block at `place`.
    pub(crate) fn corrupt(&self, place: &BlockPlace, reason: String) -> Error {
        self.part.corrupt(place, reason)
    }

    fn next_entry(&mut self) -> Result<(), Error> {
        self.sid = None;
        while self.index_at >= self.index.len() {
            let page = self.pages_read;
            self.pages_read += 1;
            self.index_at = size_of::<u64>();
            self.sid_before = None;
            let found = self.part.index_page(page, &mut self.index_pages, &mut self.index)?;
            let Some(at) = found else { return Ok(()) };
            self.index_page_at = at;
        }
        let unreadable = || self.part.bad_index_page(self.index_page_at);
        let mut entries =
            Entries::resume(&self.index, self.index_at, self.sid_before).ok_or_else(unreadable)?;
        let mut entry = entries.next().flatten().ok_or_else(unreadable)?;
        while let Some(place) = entry.next(TimeRange::ALL).ok_or_else(unreadable)? {
            self.blocks.push_back(place);
        }
        let sid = entry.sid;
        self.index_at = self.index.len() - entries.left();
        self.sid_before = Some(sid);
        if self.sid_before.is_some() && self.blocks.is_empty() {
            return Err(unreadable());
        }
        self.sid = Some(sid);
        Ok(())
    }
}
