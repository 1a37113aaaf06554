//! Hash tables of ids: five bytes per slot, keys live elsewhere.
//!
//! A slot is a mark (eight bits of the hash, 0 for empty) and an id; eight of them are a bucket
//! whose marks are compared at once, as one word. Who owns the table compares the key of an id
//! whose mark fits, and hashes it again when the table grows. The table is split into shards that
//! grow alone, so that no growth stops the world, and grows by a half rather than by two, so that
//! little memory lies idle. Open addressing with buckets (D. E. Knuth, The Art of Computer
//! Programming, volume 3, section 6.4); bytes are sought in words as in H. S. Warren, Hacker's
//! Delight, section 6-1.

/// A shard grows when more than this part of it is used: 7/8.
const LOAD_MAX: (usize, usize) = (7, 8);
const BUCKET_SLOTS: usize = 8;
const LOWS: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

#[derive(Debug, Default)]
struct Shard {
    marks: Vec<u64>,
    ids: Vec<[u32; BUCKET_SLOTS]>,
    used: usize,
}

/// A set of ids that are found by the hash of what they stand for.
#[derive(Debug)]
pub(crate) struct Slots {
    shards: Vec<Shard>,
    /// Buckets of all shards.
    buckets: usize,
}

fn mark_of(hash: u64) -> u64 {
    (hash & 0xff).max(1)
}

fn bucket_of(hash: u64, buckets: usize) -> usize {
    ((u64::from((hash >> 8) as u32) * buckets as u64) >> 32) as usize
}

/// The high bit of every byte of `word` that is zero; bits above the lowest may be wrong.
fn zeros(word: u64) -> u64 {
    word.wrapping_sub(LOWS) & !word & HIGHS
}

impl Slots {
    /// An empty table of `shards` shards, a power of two up to 256.
    pub(crate) fn new(shards: usize) -> Self {
        debug_assert!(shards.is_power_of_two() && shards <= 256);
        Self { shards: (0..shards).map(|_| Shard::default()).collect(), buckets: 0 }
    }

    fn shard_of(&self, hash: u64) -> usize {
        (hash >> 56) as usize & (self.shards.len() - 1)
    }

    /// The id with `hash` of which `is_it` says yes.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let shard = self.shards.get(self.shard_of(hash))?;
        let pattern = mark_of(hash) * LOWS;
        let mut at = bucket_of(hash, shard.marks.len());
        loop {
            let &word = shard.marks.get(at)?;
            let mut hits = zeros(word ^ pattern);
            while hits != 0 {
                let slot = hits.trailing_zeros() as usize / 8;
                let &id = shard.ids.get(at)?.get(slot)?;
                if is_it(id) {
                    return Some(id);
                }
                hits &= hits - 1;
            }
            if zeros(word) != 0 {
                return None;
            }
            at = if at + 1 == shard.marks.len() { 0 } else { at + 1 };
        }
    }

    /// Adds an id that is not in the table; `hash_of` hashes what a known id stands for.
    pub(crate) fn insert(&mut self, hash: u64, id: u32, hash_of: impl Fn(u32) -> u64) {
        let index = self.shard_of(hash);
        let Some(shard) = self.shards.get_mut(index) else { return };
        if (shard.used + 1) * LOAD_MAX.1 > shard.marks.len() * BUCKET_SLOTS * LOAD_MAX.0 {
            let before = shard.marks.len();
            shard.grow(hash_of);
            self.buckets += shard.marks.len() - before;
        }
        shard.put(hash, id);
    }

    pub(crate) fn clear(&mut self) {
        for shard in &mut self.shards {
            shard.marks.fill(0);
            shard.used = 0;
        }
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.buckets * BUCKET_SLOTS * 5 + self.shards.len() * size_of::<Shard>()
    }
}

impl Shard {
    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        let buckets = (self.marks.len() * 3).div_ceil(2).max(self.marks.len() + 1);
        let marks = std::mem::replace(&mut self.marks, vec![0; buckets]);
        let ids = std::mem::replace(&mut self.ids, vec![[0; BUCKET_SLOTS]; buckets]);
        self.used = 0;
        for (&word, ids) in marks.iter().zip(&ids) {
            for (&mark, &id) in word.to_le_bytes().iter().zip(ids) {
                if mark != 0 {
                    self.put(hash_of(id), id);
                }
            }
        }
    }

    fn put(&mut self, hash: u64, id: u32) {
        let mut at = bucket_of(hash, self.marks.len());
        while self.marks.get(at).is_some_and(|&word| zeros(word) == 0) {
            at = if at + 1 == self.marks.len() { 0 } else { at + 1 };
        }
        if let (Some(word), Some(ids)) = (self.marks.get_mut(at), self.ids.get_mut(at)) {
            let shift = zeros(*word).trailing_zeros() & !7;
            *word |= mark_of(hash) << shift;
            if let Some(slot) = ids.get_mut(shift as usize / 8) {
                *slot = id;
                self.used += 1;
            }
        }
    }
}
