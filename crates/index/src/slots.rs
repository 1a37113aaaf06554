//! Hash tables of ids: five bytes per slot, keys live elsewhere.
//!
//! A slot is a mark (eight bits of the hash, 0 for empty) and an id. Who owns the table compares the
//! key of an id whose mark fits, and hashes it again when the table grows. The table is split into
//! shards that grow alone, so that no growth stops the world, and grows by half rather than by two,
//! so that little memory lies idle. Open addressing with linear probing (D. E. Knuth, The Art of
//! Computer Programming, volume 3, section 6.4, algorithm L).

/// A shard grows when more than this part of it is used: 7/8.
const LOAD_MAX: (usize, usize) = (7, 8);
const SHARD_SLOTS_MIN: usize = 8;

#[derive(Debug, Default)]
struct Shard {
    marks: Vec<u8>,
    ids: Vec<u32>,
    used: usize,
}

/// A set of ids that are found by the hash of what they stand for.
#[derive(Debug)]
pub(crate) struct Slots {
    shards: Vec<Shard>,
}

fn mark_of(hash: u64) -> u8 {
    (hash as u8).max(1)
}

fn position_of(hash: u64, capacity: usize) -> usize {
    ((u64::from((hash >> 8) as u32) * capacity as u64) >> 32) as usize
}

impl Slots {
    /// An empty table of `shards` shards, a power of two up to 256.
    pub(crate) fn new(shards: usize) -> Self {
        debug_assert!(shards.is_power_of_two() && shards <= 256);
        Self { shards: (0..shards).map(|_| Shard::default()).collect() }
    }

    fn shard_of(&self, hash: u64) -> usize {
        (hash >> 56) as usize & (self.shards.len() - 1)
    }

    /// The id with `hash` of which `is_it` says yes.
    #[inline]
    pub(crate) fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let shard = self.shards.get(self.shard_of(hash))?;
        let mark = mark_of(hash);
        let mut at = position_of(hash, shard.marks.len());
        loop {
            let &found = shard.marks.get(at)?;
            if found == mark {
                let &id = shard.ids.get(at)?;
                if is_it(id) {
                    return Some(id);
                }
            } else if found == 0 {
                return None;
            }
            at = if at + 1 == shard.marks.len() { 0 } else { at + 1 };
        }
    }

    /// Adds an id that is not in the table; `hash_of` hashes what a known id stands for.
    pub(crate) fn insert(&mut self, hash: u64, id: u32, hash_of: impl Fn(u32) -> u64) {
        let index = self.shard_of(hash);
        let Some(shard) = self.shards.get_mut(index) else { return };
        if (shard.used + 1) * LOAD_MAX.1 > shard.marks.len() * LOAD_MAX.0 {
            shard.grow(hash_of);
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
        let slots: usize = self.shards.iter().map(|shard| shard.marks.len()).sum();
        slots * 5 + self.shards.len() * size_of::<Shard>()
    }
}

impl Shard {
    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        let capacity = (self.marks.len() * 3 / 2).max(SHARD_SLOTS_MIN);
        let marks = std::mem::replace(&mut self.marks, vec![0; capacity]);
        let ids = std::mem::replace(&mut self.ids, vec![0; capacity]);
        self.used = 0;
        for (&mark, &id) in marks.iter().zip(&ids) {
            if mark != 0 {
                self.put(hash_of(id), id);
            }
        }
    }

    fn put(&mut self, hash: u64, id: u32) {
        let mut at = position_of(hash, self.marks.len());
        while self.marks.get(at).is_some_and(|&mark| mark != 0) {
            at = if at + 1 == self.marks.len() { 0 } else { at + 1 };
        }
        if let (Some(mark), Some(slot)) = (self.marks.get_mut(at), self.ids.get_mut(at)) {
            *mark = mark_of(hash);
            *slot = id;
            self.used += 1;
        }
    }
}
