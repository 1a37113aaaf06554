//! Entries: byte strings numbered in the order in which they were added.
//!
//! They lie end to end in pages of bytes, each after its length; the position of every eighth is
//! kept (a group), the others are found by walking. That costs one and a half bytes per entry
//! beside the entry's own. Who wants to find an entry by its bytes brings a table.

use crate::limits::{ENTRY_BYTES_MAX, IDS_MAX};
use crate::pages::Pages;

const PAGE_BITS: u32 = 16;
const PAGE_BYTES: usize = 1 << PAGE_BITS;
const GROUP_ENTRIES: u32 = 8;

/// Byte strings by number.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pages: Vec<Vec<u8>>,
    groups: Pages<u32>,
    len: u32,
}

impl Entries {
    /// Number of entries.
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    /// The entry numbered `id`.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&[u8]> {
        if id >= self.len {
            return None;
        }
        let position = self.groups.get(id / GROUP_ENTRIES)?;
        let page = self.pages.get((position >> PAGE_BITS) as usize)?;
        let mut rest = page.get(position as usize % PAGE_BYTES..)?;
        for _ in 0..id % GROUP_ENTRIES {
            let length = take_length(&mut rest)?;
            rest = rest.get(length..)?;
        }
        let length = take_length(&mut rest)?;
        rest.get(..length)
    }

    /// Reads entries, cheaply those that follow one another.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { entries: self, next: 0, rest: &[] }
    }

    /// Adds an entry and returns its number; nothing when it is too long or there is no room.
    pub(crate) fn push(&mut self, key: &[u8]) -> Option<u32> {
        if key.len() > ENTRY_BYTES_MAX || self.len >= IDS_MAX {
            return None;
        }
        let needed = key.len() + 2;
        let starts_group = self.len.is_multiple_of(GROUP_ENTRIES);
        if self.pages.last().is_none_or(|page| page.len() + needed > PAGE_BYTES) {
            self.open_page(starts_group)?;
        }
        let index = self.pages.len().checked_sub(1)? as u32;
        let page = self.pages.last_mut()?;
        if starts_group {
            self.groups.push(index << PAGE_BITS | page.len() as u32);
        }
        put_length(page, key.len());
        page.extend_from_slice(key);
        self.len += 1;
        Some(self.len - 1)
    }

    /// Forgets all entries, keeping some memory.
    pub(crate) fn clear(&mut self) {
        self.pages.truncate(1);
        self.pages.iter_mut().for_each(Vec::clear);
        self.groups.clear();
        self.len = 0;
    }

    /// Whether there is room for a chunk of registrations.
    pub(crate) fn has_room(&self) -> bool {
        self.len < IDS_MAX - (1 << 24) && self.pages.len() < (1 << 16) - (1 << 12)
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let first = self.pages.first().map_or(0, Vec::capacity);
        first + self.pages.len().saturating_sub(1) * PAGE_BYTES + self.groups.memory_bytes()
    }

    /// A group lies in one page: what stands of the open one moves along to the new page.
    fn open_page(&mut self, starts_group: bool) -> Option<()> {
        let index = u32::try_from(self.pages.len()).ok().filter(|index| *index < 1 << 16)?;
        // The first page grows as it fills, so that a small registry stays small.
        let mut page = Vec::with_capacity(if index == 0 { 0 } else { PAGE_BYTES });
        if !starts_group {
            let group = self.groups.get_mut(self.len / GROUP_ENTRIES)?;
            let start = *group as usize % PAGE_BYTES;
            page.extend(self.pages.last_mut()?.drain(start..));
            *group = index << PAGE_BITS;
        }
        self.pages.push(page);
        Some(())
    }
}

/// Reads entries by number without looking for each where many follow one another.
pub(crate) struct Reader<'a> {
    entries: &'a Entries,
    /// What `rest` begins with, if that is in the middle of a group.
    next: u32,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// The entry numbered `id`.
    #[inline]
    pub(crate) fn get(&mut self, id: u32) -> Option<&'a [u8]> {
        if id >= self.entries.len {
            return None;
        }
        let group = id / GROUP_ENTRIES;
        let is_near = id >= self.next && !self.next.is_multiple_of(GROUP_ENTRIES);
        if !is_near || group != self.next / GROUP_ENTRIES {
            let position = self.entries.groups.get(group)?;
            let page = self.entries.pages.get((position >> PAGE_BITS) as usize)?;
            self.rest = page.get(position as usize % PAGE_BYTES..)?;
            self.next = group * GROUP_ENTRIES;
        }
        loop {
            let length = take_length(&mut self.rest)?;
            let (entry, rest) = self.rest.split_at_checked(length)?;
            self.rest = rest;
            self.next += 1;
            if self.next > id {
                return Some(entry);
            }
        }
    }
}

/// Lengths take one byte up to 127, else two.
fn put_length(out: &mut Vec<u8>, length: usize) {
    if length >= 0x80 {
        out.push(length as u8 | 0x80);
        out.push((length >> 7) as u8);
    } else {
        out.push(length as u8);
    }
}

#[inline]
fn take_length(bytes: &mut &[u8]) -> Option<usize> {
    let (&low, rest) = bytes.split_first()?;
    if low < 0x80 {
        *bytes = rest;
        return Some(low as usize);
    }
    let (&high, rest) = rest.split_first()?;
    *bytes = rest;
    Some((low & 0x7f) as usize | (high as usize) << 7)
}
