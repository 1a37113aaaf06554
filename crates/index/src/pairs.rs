//! Pairs: a label name with a value, in a namespace.
//!
//! Most values are those of one label (a host name is no rack), so each value knows the first pair
//! that has it; only further pairs of a value are in a table. That is smaller than a table of all,
//! and one probe less for what matters most: a new host.

use crate::entries::Entries;
use crate::names::{Key, SHARDS_MANY, triple_of};
use crate::pages::Pages;
use crate::slots::Slots;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const NONE: u32 = u32::MAX;

/// All pairs by number, and by namespace, label name and label value.
#[derive(Debug)]
pub(crate) struct Pairs {
    entries: Entries,
    /// For each value its first pair.
    first_of_value: Pages<u32>,
    others: Slots,
    seed: u64,
}

impl Pairs {
    pub(crate) fn new(seed: u64) -> Self {
        let (entries, first_of_value) = (Entries::default(), Pages::default());
        Self { entries, first_of_value, others: Slots::new(SHARDS_MANY), seed }
    }

    pub(crate) fn entries(&self) -> &Entries {
        &self.entries
    }

    /// Namespace, label name and label value of a pair.
    #[inline]
    pub(crate) fn get(&self, pair: u32) -> Option<[u32; 3]> {
        triple_of(self.entries.get(pair)?)
    }

    /// The number of a pair.
    pub(crate) fn find(&self, triple: [u32; 3]) -> Option<u32> {
        let [.., value] = triple;
        let first = self.first_of_value.get(value).filter(|first| *first != NONE)?;
        let key = Key::of(&triple);
        if self.entries.get(first) == Some(&key) {
            return Some(first);
        }
        let hash = xxh3_64_with_seed(&key, self.seed);
        self.others.find(hash, |pair| self.entries.get(pair) == Some(&key))
    }

    /// Adds a pair that is not there; nothing when there is no room.
    pub(crate) fn push(&mut self, triple: [u32; 3]) -> Option<u32> {
        let Self { entries, first_of_value, others, seed } = self;
        let [.., value] = triple;
        let key = Key::of(&triple);
        let pair = entries.push(&key)?;
        while first_of_value.len() <= value {
            first_of_value.push(NONE);
        }
        match first_of_value.get_mut(value) {
            Some(first) if *first == NONE => *first = pair,
            _ => {
                let hash_of = |id| xxh3_64_with_seed(entries.get(id).unwrap_or_default(), *seed);
                others.insert(xxh3_64_with_seed(&key, *seed), pair, hash_of);
            }
        }
        Some(pair)
    }

    /// Gives the next number out to a pair that was lost; nothing when there is no room.
    pub(crate) fn push_lost(&mut self) -> Option<u32> {
        self.entries.push(b"")
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let Self { entries, first_of_value, others, .. } = self;
        entries.memory_bytes() + first_of_value.memory_bytes() + others.memory_bytes()
    }
}
