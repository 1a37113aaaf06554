//! The directory of a part: where its index pages are.
//!
//! It is read in place, through the cache: with old data the directories of all parts grow to
//! many megabytes, of which queries of recent times need next to nothing. Memory holds a *fence*
//! for each group of entries, the first id of the group.

use super::format::{DIRECTORY_ENTRY_LEN, Footer, take};
use crate::error::Error;
use crate::limits::DIRECTORY_GROUP_PAGES;
use crate::paged::PagedReader;

/// What the directory says of an index page.
#[derive(Clone, Copy, Default)]
pub(super) struct IndexPage {
    pub(super) first_sid: u32,
    pub(super) len: u32,
    pub(super) at: u64,
}

/// Entries that are read together.
#[derive(Default)]
pub(super) struct Group {
    pages: [IndexPage; DIRECTORY_GROUP_PAGES],
    len: usize,
}

impl Group {
    pub(super) fn as_slice(&self) -> &[IndexPage] {
        self.pages.get(..self.len).unwrap_or_default()
    }
}

/// Memory: 4 bytes for each group of index pages.
pub(super) struct Directory {
    at: u64,
    pages: usize,
    fences: Vec<u32>,
}

impl Directory {
    /// Reads what is kept in memory, and checks that the directory ends at the footer.
    pub(super) fn open(
        paged: &PagedReader,
        footer: &Footer,
        footer_at: u64,
    ) -> Result<Self, Error> {
        let (at, pages) = (footer.directory_at, footer.index_pages as usize);
        if at.checked_add((pages * DIRECTORY_ENTRY_LEN) as u64) != Some(footer_at) {
            return Err(paged.corrupt(footer_at, "directory does not end at the footer"));
        }
        let mut directory = Self { at, pages, fences: Vec::new() };
        let groups = pages.div_ceil(DIRECTORY_GROUP_PAGES);
        let mut fences = Vec::with_capacity(groups);
        let mut buffer = Vec::new();
        for group in 0..groups {
            let group = directory.group(paged, group, &mut buffer)?;
            fences.extend(group.as_slice().first().map(|page| page.first_sid));
        }
        directory.fences = fences;
        Ok(directory)
    }

    /// The first group that may have pages of a series: its entries may begin in the page before
    /// the first one that begins with it.
    pub(super) fn group_of(&self, sid: u32) -> usize {
        self.fences.partition_point(|first| *first < sid).saturating_sub(1)
    }

    /// Whether a group may have pages of a series of which the group before has some.
    pub(super) fn goes_on(&self, group: usize, sid: u32) -> bool {
        self.fences.get(group).is_some_and(|first| *first <= sid)
    }

    /// The first series of a group, if there is such a group.
    pub(super) fn fence(&self, group: usize) -> Option<u32> {
        self.fences.get(group).copied()
    }

    /// The pages of a group; none behind the last one.
    pub(super) fn group(
        &self,
        paged: &PagedReader,
        group: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Group, Error> {
        let first = group * DIRECTORY_GROUP_PAGES;
        let count = self.pages.saturating_sub(first).min(DIRECTORY_GROUP_PAGES);
        if count == 0 {
            return Ok(Group::default());
        }
        let at = self.at + (first * DIRECTORY_ENTRY_LEN) as u64;
        paged.read_in_place(at, count * DIRECTORY_ENTRY_LEN, buffer, |bytes| {
            let mut group = Group::default();
            let entries = bytes.chunks_exact(DIRECTORY_ENTRY_LEN).filter_map(decode);
            for (page, entry) in group.pages.iter_mut().zip(entries) {
                *page = entry;
                group.len += 1;
            }
            group
        })
    }

    /// The page numbered `number`; nothing behind the last one.
    pub(super) fn page(
        &self,
        paged: &PagedReader,
        number: usize,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<IndexPage>, Error> {
        if number >= self.pages {
            return Ok(None);
        }
        let at = self.at + (number * DIRECTORY_ENTRY_LEN) as u64;
        paged.read_in_place(at, DIRECTORY_ENTRY_LEN, buffer, decode)
    }
}

fn decode(mut entry: &[u8]) -> Option<IndexPage> {
    Some(IndexPage {
        first_sid: u32::from_le_bytes(take(&mut entry)?),
        len: u32::from_le_bytes(take(&mut entry)?),
        at: u64::from_le_bytes(take(&mut entry)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_is_sought_in_all_groups_that_may_have_it() {
        let groups = |fences: &[u32], sid: u32| {
            let directory = Directory { at: 0, pages: 0, fences: fences.to_vec() };
            let first = directory.group_of(sid);
            let more = (first + 1..).take_while(|group| directory.goes_on(*group, sid));
            [first].into_iter().chain(more).collect::<Vec<_>>()
        };
        // Series 9 may begin at the end of the first group, fills the second, and ends in the
        // third.
        let fences = [5, 9, 9, 20];
        assert_eq!(groups(&fences, 9), [0, 1, 2]);
        assert_eq!(groups(&fences, 5), [0]);
        assert_eq!(groups(&fences, 8), [0]);
        assert_eq!(groups(&fences, 10), [2]);
        assert_eq!(groups(&fences, 20), [2, 3]);
        assert_eq!(groups(&fences, 21), [3]);
        assert_eq!(groups(&fences, 1), [0]);
        assert_eq!(groups(&[], 1), [0]);
    }
}
