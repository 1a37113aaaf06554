//! The page cache: checked pages of files, bounded in bytes.
//!
//! Our own rather than the kernel's through mmap, so that memory is bounded by a setting, a failing
//! disk is an error rather than a signal, and a page is checksummed once. Replacement is CLOCK
//! (F. J. Corbató, "A Paging Experiment with the Multics System", 1968): a hit sets a mark, a full
//! shard sweeps marks away until it finds an unmarked page.

use crate::damages::Damages;
use foliot_lock::{Mutex, Rank};
use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SHARDS: usize = 16;

type Key = (u64, u64);

/// The bytes of a page. In a box, whose size is a power of two as a whole page's is: with counts
/// of references in front the allocator would round it up by a quarter.
pub(crate) type PageBytes = Arc<Box<[u8]>>;

struct Entry {
    key: Key,
    bytes: PageBytes,
    is_marked: bool,
}

#[derive(Default)]
struct Shard {
    places: HashMap<Key, usize, Spread>,
    entries: Vec<Entry>,
    hand: usize,
    bytes: usize,
}

/// Hashes the store's own numbers, which nobody chooses from outside: by multiplications.
#[derive(Clone, Copy, Default)]
struct Spread(u64);

impl BuildHasher for Spread {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        Self(0)
    }
}

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(u64::from(byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Pages by file number and page number.
pub(crate) struct Cache {
    shards: [Mutex<Shard>; SHARDS],
    shard_bytes_max: usize,
    hits: AtomicU64,
    misses: AtomicU64,
    /// What was wrong with pages that were read.
    pub(crate) damages: Arc<Damages>,
}

thread_local! {
    /// Pages that this thread found in a cache, and those that it did not.
    static SEEN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Pages that this thread has asked for so far: those that were kept, and those that were not.
pub(crate) fn seen() -> (u64, u64) {
    SEEN.get()
}

impl Cache {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self::telling(bytes_max, Arc::default())
    }

    /// One that keeps no pages and tells of damage where this one does.
    pub(crate) fn keeping_nothing(&self) -> Arc<Self> {
        Arc::new(Self::telling(0, self.damages.clone()))
    }

    fn telling(bytes_max: u64, damages: Arc<Damages>) -> Self {
        Self {
            damages,
            shards: std::array::from_fn(|_| Mutex::new(Rank::Cache, Shard::default())),
            shard_bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX) / SHARDS,
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    fn shard(&self, (file, page): Key) -> Option<&Mutex<Shard>> {
        let mixed = (file.wrapping_mul(31) ^ page).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.shards.get((mixed >> 60) as usize)
    }

    pub(crate) fn get(&self, file: u64, page: u64) -> Option<PageBytes> {
        let found = self.shard((file, page)).and_then(|shard| {
            let mut shard = shard.lock();
            let place = *shard.places.get(&(file, page))?;
            let entry = shard.entries.get_mut(place)?;
            entry.is_marked = true;
            Some(entry.bytes.clone())
        });
        let (cached, loaded) = SEEN.get();
        let counter = match found.is_some() {
            true => {
                SEEN.set((cached.wrapping_add(1), loaded));
                &self.hits
            }
            false => {
                SEEN.set((cached, loaded.wrapping_add(1)));
                &self.misses
            }
        };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    pub(crate) fn put(&self, file: u64, page: u64, bytes: PageBytes) {
        let key = (file, page);
        let Some(shard) = self.shard(key) else { return };
        let mut shard = shard.lock();
        if bytes.len() > self.shard_bytes_max || shard.places.contains_key(&key) {
            return;
        }
        while shard.bytes + bytes.len() > self.shard_bytes_max {
            shard.evict();
        }
        shard.bytes += bytes.len();
        let place = shard.entries.len();
        shard.places.insert(key, place);
        shard.entries.push(Entry { key, bytes, is_marked: false });
    }

    /// Bytes of pages that are kept.
    pub(crate) fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.lock().bytes as u64).sum()
    }

    /// Hits and misses since the start.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.hits.load(Ordering::Relaxed), self.misses.load(Ordering::Relaxed))
    }
}

impl Shard {
    /// Drops one page. The shard is not empty: its bytes are above 0.
    fn evict(&mut self) {
        let len = self.entries.len().max(1);
        while let Some(entry) = self.entries.get_mut(self.hand % len) {
            if !std::mem::take(&mut entry.is_marked) {
                break;
            }
            self.hand = (self.hand + 1) % len;
        }
        let place = self.hand % len;
        if place >= self.entries.len() {
            self.bytes = 0;
            return;
        }
        let entry = self.entries.swap_remove(place);
        self.bytes -= entry.bytes.len();
        self.places.remove(&entry.key);
        if let Some(moved) = self.entries.get(place) {
            self.places.insert(moved.key, place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stays_within_its_bytes_and_keeps_what_is_used() {
        let cache = Cache::new(16 * 100);
        for page in 0..1000 {
            cache.put(1, page, Arc::new(vec![page as u8; 10].into()));
            cache.put(2, 0, Arc::new(vec![7; 10].into()));
            assert_eq!(cache.get(2, 0).unwrap()[..], [7; 10]);
        }
        let held: usize = cache.shards.iter().map(|shard| shard.lock().bytes).sum();
        assert!(held <= 16 * 100);
        for page in 0..1000 {
            if let Some(bytes) = cache.get(1, page) {
                assert_eq!(bytes[..], [page as u8; 10]);
            }
        }
        assert_eq!(cache.counts().0 + cache.counts().1, 2000);
    }
}
