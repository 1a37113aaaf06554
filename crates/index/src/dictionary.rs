//! Dictionaries: byte strings numbered in the order in which they were added, and found by hash.

use crate::entries::Entries;
use crate::slots::Slots;
use xxhash_rust::xxh3::xxh3_64_with_seed;

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

    /// The entries by number.
    pub(crate) fn entries(&self) -> &Entries {
        &self.entries
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> u32 {
        self.entries.len()
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

    /// Gives the next number out to a key that was lost and is never found. Nothing when there is
    /// no room.
    pub(crate) fn push_lost(&mut self) -> Option<u32> {
        self.entries.push(b"")
    }

    /// The entry numbered `id`.
    #[inline]
    pub(crate) fn get(&self, id: u32) -> Option<&[u8]> {
        self.entries.get(id)
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.slots.clear();
    }

    /// Whether there is room for a chunk of registrations.
    pub(crate) fn has_room(&self) -> bool {
        self.entries.has_room()
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.entries.memory_bytes() + self.slots.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::ENTRY_BYTES_MAX;

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
