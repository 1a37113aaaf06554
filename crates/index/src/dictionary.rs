//! Dictionaries: byte strings numbered in the order in which they were added.
//!
//! Entries lie end to end in pages of bytes, each after its length; the position of every eighth is
//! kept (a group), the others are found by walking. That and a [`Slots`] table cost about eight
//! bytes per entry beside the entry's own.

use crate::limits::{ENTRY_BYTES_MAX, IDS_MAX};
use crate::pages::Pages;
use crate::slots::Slots;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const PAGE_BITS: u32 = 16;
const PAGE_BYTES: usize = 1 << PAGE_BITS;
const GROUP_ENTRIES: u32 = 8;

#[derive(Debug, Default)]
struct Entries {
    pages: Vec<Vec<u8>>,
    groups: Pages<u32>,
    len: u32,
}

/// Byte strings and their numbers.
#[derive(Debug)]
pub(crate) struct Dictionary {
    entries: Entries,
    slots: Slots,
    seed: u64,
}

impl Dictionary {
    /// An empty dictionary that hashes with `seed` into a table of `shards`.
    pub(crate) fn new(seed: u64, shards: usize) -> Self {
        Self { entries: Entries::default(), slots: Slots::new(shards), seed }
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> u32 {
        self.entries.len
    }

    /// The hash of `key` in this and every dictionary of the same seed.
    #[inline]
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        xxh3_64_with_seed(key, self.seed)
    }

    /// The number of `key`.
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        self.find_hashed(self.hash(key), key)
    }

    /// The number of `key`, whose hash is known.
    #[inline]
    pub(crate) fn find_hashed(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.slots.find(hash, |id| self.entries.get(id) == Some(key))
    }

    /// Adds a `key` that is not there and returns its number; nothing when the dictionary is full.
    pub(crate) fn push(&mut self, key: &[u8]) -> Option<u32> {
        self.push_hashed(self.hash(key), key)
    }

    /// Like [`Dictionary::push`] with a known hash.
    pub(crate) fn push_hashed(&mut self, hash: u64, key: &[u8]) -> Option<u32> {
        let Self { entries, slots, seed } = self;
        let id = entries.push(key)?;
        let hash_of = |id| xxh3_64_with_seed(entries.get(id).unwrap_or_default(), *seed);
        slots.insert(hash, id, hash_of);
        Some(id)
    }

    /// The entry numbered `id`.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&[u8]> {
        self.entries.get(id)
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) {
        self.entries.pages.clear();
        self.entries.groups.clear();
        self.entries.len = 0;
        self.slots.clear();
    }

    /// Whether there is room for a chunk of registrations.
    pub(crate) fn has_room(&self) -> bool {
        self.entries.len < IDS_MAX - (1 << 24) && self.entries.pages.len() < (1 << 16) - (1 << 12)
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let pages: usize = self.entries.pages.iter().map(Vec::capacity).sum();
        pages + self.entries.groups.memory_bytes() + self.slots.memory_bytes()
    }
}

impl Entries {
    #[inline]
    fn get(&self, id: u32) -> Option<&[u8]> {
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

    fn push(&mut self, key: &[u8]) -> Option<u32> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_numbers_across_groups_pages_and_growth() {
        let mut dictionary = Dictionary::new(7, 4);
        let key = |i: usize| {
            let mut key = format!("{i}:").into_bytes();
            key.resize(key.len() + (i * 37) % 700, b'x');
            if i.is_multiple_of(5_000) {
                key.resize(ENTRY_BYTES_MAX, b'y');
            }
            key
        };
        for i in 0..20_000 {
            assert_eq!(dictionary.find(&key(i)), None);
            assert_eq!(dictionary.push(&key(i)), Some(i as u32));
        }
        for i in 0..20_000 {
            assert_eq!(dictionary.get(i as u32), Some(&key(i)[..]));
            assert_eq!(dictionary.find(&key(i)), Some(i as u32));
        }
        assert_eq!(dictionary.get(20_000), None);
        assert_eq!(dictionary.push(&[0; ENTRY_BYTES_MAX + 1]), None);
        dictionary.clear();
        assert_eq!((dictionary.len(), dictionary.find(&key(1))), (0, None));
        assert_eq!(dictionary.push(b""), Some(0));
        assert_eq!(dictionary.find(b""), Some(0));
    }
}
