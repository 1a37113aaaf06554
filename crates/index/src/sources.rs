//! Sources: a namespace and a set of pairs.
//!
//! A source that is the first to have its newest pair is found through that pair: every host is,
//! when one of its labels is its name. Only the others are in a table.

use crate::entries::Entries;
use crate::names::SHARDS_MANY;
use crate::postings::Postings;
use crate::slots::Slots;
use foliot_codec::varint::{get_u32, put_u32};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// All sources by number and by what they are made of, and the sources of each pair.
#[derive(Debug)]
pub(crate) struct Sources {
    entries: Entries,
    others: Slots,
    of_pair: Postings,
    seed: u64,
}

impl Sources {
    pub(crate) fn new(seed: u64) -> Self {
        let (entries, of_pair) = (Entries::default(), Postings::default());
        Self { entries, others: Slots::new(SHARDS_MANY), of_pair, seed }
    }

    pub(crate) fn entries(&self) -> &Entries {
        &self.entries
    }

    /// The sources of each pair.
    pub(crate) fn of_pair(&self) -> &Postings {
        &self.of_pair
    }

    /// Namespace of a source and its pairs, ascending.
    #[inline]
    pub(crate) fn get(&self, source: u32) -> Option<(u32, PairIds<'_>)> {
        let mut rest = self.entries.get(source)?;
        let namespace = get_u32(&mut rest).ok()?;
        Some((namespace, PairIds { rest, pair: 0 }))
    }

    /// The number of the source of `pairs`, whose key is `key`.
    pub(crate) fn find(&self, pairs: &[u32], key: &[u8]) -> Option<u32> {
        if let Some(&newest) = pairs.last() {
            let first = self.of_pair.first(newest)?;
            if self.entries.get(first) == Some(key) {
                return Some(first);
            }
        }
        let hash = xxh3_64_with_seed(key, self.seed);
        self.others.find(hash, |source| self.entries.get(source) == Some(key))
    }

    /// Opens the list of sources of the next pair.
    pub(crate) fn open_pair(&mut self) {
        self.of_pair.open();
    }

    /// Adds a source that is not there; nothing when there is no room.
    pub(crate) fn push(&mut self, pairs: &[u32], key: &[u8]) -> Option<u32> {
        let Self { entries, others, of_pair, seed } = self;
        let source = entries.push(key)?;
        if pairs.last().is_none_or(|&newest| of_pair.count(newest) > 0) {
            let hash_of = |id| xxh3_64_with_seed(entries.get(id).unwrap_or_default(), *seed);
            others.insert(xxh3_64_with_seed(key, *seed), source, hash_of);
        }
        for &pair in pairs {
            of_pair.add(pair, source);
        }
        Some(source)
    }

    /// Gives the next number out to a source that was lost; nothing when there is no room.
    pub(crate) fn push_lost(&mut self) -> Option<u32> {
        self.entries.push(b"")
    }

    /// Whether there is room for a chunk of registrations.
    pub(crate) fn has_room(&self) -> bool {
        self.entries.has_room() && self.of_pair.has_room()
    }

    /// Memory held in bytes: by the sources, and by the sources of pairs.
    pub(crate) fn memory_bytes(&self) -> (usize, usize) {
        let Self { entries, others, of_pair, .. } = self;
        (entries.memory_bytes() + others.memory_bytes(), of_pair.memory_bytes())
    }
}

/// Appends the key of a source: its namespace, then its ascending pairs, the first as it is and the
/// others as differences.
pub(crate) fn put_key(out: &mut Vec<u8>, namespace: u32, pairs: &[u32]) {
    put_u32(out, namespace);
    let mut previous = 0;
    for &pair in pairs {
        put_u32(out, pair - previous);
        previous = pair;
    }
}

/// The pairs of a source, ascending.
#[derive(Clone, Debug)]
pub(crate) struct PairIds<'a> {
    rest: &'a [u8],
    pair: u32,
}

impl Iterator for PairIds<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.rest.is_empty() {
            return None;
        }
        self.pair = self.pair.wrapping_add(get_u32(&mut self.rest).ok()?);
        Some(self.pair)
    }
}
