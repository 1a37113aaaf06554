//! The lookup: from the hash of a row's raw key and shape to its series, without parsing either.
//!
//! It is a cache that is relearned by use, never stored: twelve bytes per spelling, 64 bits of one
//! half of the hash and a run code. The shard comes from the other half, so 76 bits must agree
//! before a row is taken for a known one; the hash is keyed, see [`foliot_model::KeyHasher`].

use crate::pages::Pages;
use crate::sid_set::SidSet;
use foliot_model::FIELDS_MAX;
use std::ops::Range;

const SHARD_BITS: u32 = 12;
/// How many shards there are.
pub(crate) const SHARDS: usize = 1 << SHARD_BITS;
const SLOTS_MIN: usize = 4;
const LIST_PAGE_IDS: usize = 1 << 16;
const IS_LIST: u32 = 1 << 31;
const EMPTY: u32 = u32::MAX;

/// Where the ids of a row's series are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Consecutive ids from this one on, in field order.
    Consecutive(u32),
    /// An explicit list; the number means something to [`crate::Resolver::sids`] only.
    List(u32),
}

/// The series ids of one row, in field order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sids<'a> {
    first: u32,
    count: u32,
    list: Option<&'a [u32]>,
}

impl<'a> Sids<'a> {
    pub(crate) fn consecutive(first: u32, count: u32) -> Self {
        Self { first, count, list: None }
    }

    /// The id of a row of one field.
    #[inline]
    pub fn one(sid: u32) -> Self {
        Self { first: sid, count: 1, list: None }
    }

    /// The ids in `list`, recognised when they are consecutive.
    pub fn of(list: &'a [u32]) -> Self {
        let first = list.first().copied().unwrap_or_default();
        let is_run = list.iter().zip(first..).all(|(&sid, expected)| sid == expected);
        Self { first, count: list.len() as u32, list: (!is_run).then_some(list) }
    }

    /// The first id.
    #[inline]
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Number of ids.
    #[inline]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The ids as a list, or nothing when they are consecutive from [`Sids::first`] on.
    #[inline]
    pub fn list(&self) -> Option<&'a [u32]> {
        self.list
    }

    /// The id of the field numbered `index`.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u32> {
        match self.list {
            Some(list) => list.get(index).copied(),
            None => (index < self.count as usize).then(|| self.first + index as u32),
        }
    }

    /// The ids in field order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + use<'a> {
        let Self { first, count, list } = *self;
        let at = move |index: u32| list.and_then(|list| list.get(index as usize).copied());
        (0..count).map(move |index| at(index).unwrap_or(first + index))
    }
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Two halves, so that a slot is twelve bytes.
    tag: [u32; 2],
    code: u32,
}

const FREE: Slot = Slot { tag: [0; 2], code: EMPTY };

#[derive(Debug, Default)]
struct Shard {
    slots: Box<[Slot]>,
    used: u32,
}

/// Known spellings.
#[derive(Debug)]
pub(crate) struct Lookup {
    shards: Vec<Shard>,
    lists: Vec<Vec<u32>>,
    /// Spellings remembered of each source, up to 255.
    spellings: Pages<u8>,
    entries: u64,
    /// Slots of all shards.
    slots: usize,
    /// Series that were forgotten, whose spellings may still be here: they are not found.
    gone: SidSet,
}

/// Spellings of forgotten series may be one in so many before they are looked for, and are looked
/// for if they are as many as this: all slots are looked at then.
const GONE_SHARE: u64 = 8;
const GONE_MIN: u64 = 4096;

/// The two halves: which shard, and the tag inside.
#[inline]
fn split(key_hash: u128, shape_hash: u128) -> (usize, u64) {
    let hash = key_hash ^ shape_hash;
    ((hash >> (128 - SHARD_BITS)) as usize, hash as u64)
}

impl Lookup {
    pub(crate) fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            lists: Vec::new(),
            spellings: Pages::default(),
            entries: 0,
            slots: 0,
            gone: SidSet::default(),
        }
    }

    /// Where the ids of a row of `count` fields are.
    #[inline]
    pub(crate) fn find(&self, key_hash: u128, shape_hash: u128, count: u32) -> Option<Run> {
        let (shard, tag) = split(key_hash, shape_hash);
        let run = run_of(self.shards.get(shard)?.find(tag)?);
        (!self.has_gone(run, count)).then_some(run)
    }

    /// Whether a series of a row was forgotten.
    #[inline]
    fn has_gone(&self, run: Run, count: u32) -> bool {
        !self.gone.is_empty() && self.meets_gone(run, count)
    }

    #[cold]
    fn meets_gone(&self, run: Run, count: u32) -> bool {
        let sids = self.sids(run, count);
        match sids.list() {
            None => self.gone.meets(sids.first(), count),
            Some(list) => list.iter().any(|sid| self.gone.contains(*sid)),
        }
    }

    /// Looks where a spelling would be. What is there means nothing by itself; but who looks at
    /// several places before the first is needed waits once for all of them.
    #[inline]
    pub(crate) fn peek(&self, key_hash: u128, shape_hash: u128) -> u32 {
        let (shard, tag) = split(key_hash, shape_hash);
        let slot = self.shards.get(shard).and_then(|shard| shard.slots.get(shard.home(tag)));
        slot.map_or(EMPTY, |slot| slot.code)
    }

    #[inline]
    pub(crate) fn sids(&self, run: Run, count: u32) -> Sids<'_> {
        match run {
            Run::Consecutive(first) => Sids::consecutive(first, count),
            Run::List(at) => {
                let start = at as usize % LIST_PAGE_IDS;
                let page = self.lists.get(at as usize / LIST_PAGE_IDS);
                let list = page.and_then(|page| page.get(start..start + count as usize));
                let list = list.unwrap_or_default();
                Sids { first: list.first().copied().unwrap_or(0), count, list: Some(list) }
            }
        }
    }

    /// Number of spellings known.
    pub(crate) fn entries(&self) -> u64 {
        self.entries
    }

    /// Remembers a spelling of a row of `source`, unless that has `allowed` already.
    pub(crate) fn learn(
        &mut self,
        hashes: (u128, u128),
        sids: Sids<'_>,
        source: u32,
        allowed: u32,
    ) {
        let (index, tag) = split(hashes.0, hashes.1);
        let Some(shard) = self.shards.get(index) else { return };
        if let Some(code) = shard.find(tag) {
            if self.has_gone(run_of(code), sids.len() as u32)
                && let Some(code) = keep(&mut self.lists, sids)
                && let Some(shard) = self.shards.get_mut(index)
            {
                shard.replace(tag, code);
            }
            return;
        }
        while self.spellings.len() <= source {
            self.spellings.push(0);
        }
        let Some(spellings) = self.spellings.get_mut(source) else { return };
        if u32::from(*spellings) >= allowed {
            return;
        }
        *spellings = spellings.saturating_add(1);
        let code = keep(&mut self.lists, sids);
        if let (Some(shard), Some(code)) = (self.shards.get_mut(index), code) {
            let before = shard.slots.len();
            shard.insert(tag, code);
            self.slots += shard.slots.len() - before;
            self.entries += 1;
        }
    }

    /// Finds no row of these series any more.
    pub(crate) fn forget(&mut self, sids: &SidSet) {
        if self.entries > 0 {
            self.gone.add(sids);
        }
    }

    /// The forgotten series, once they are so many that their spellings are to be taken out.
    pub(crate) fn gone_if_many(&self) -> Option<&SidSet> {
        let many = (self.entries / GONE_SHARE).max(GONE_MIN);
        Some(&self.gone).filter(|gone| gone.len() >= many)
    }

    /// All spellings of series that were `gone` are taken out. Those that were forgotten since are
    /// looked for with all others, the next time.
    pub(crate) fn note_swept(&mut self, gone: &SidSet) {
        if self.gone == *gone {
            self.gone = SidSet::default();
        }
    }

    /// Takes the spellings of rows out of some shards of whose first series `is_gone` tells the
    /// source.
    pub(crate) fn sweep(
        &mut self,
        which: Range<usize>,
        mut is_gone: impl FnMut(u32) -> Option<u32>,
    ) {
        let Self { shards, lists, spellings, entries, slots, .. } = self;
        let shards = shards.get_mut(which).unwrap_or_default();
        for shard in shards.iter_mut().filter(|shard| shard.used > 0) {
            let before = (shard.slots.len(), shard.used);
            let first_of = |code: u32| match code & IS_LIST {
                0 => Some(code),
                _ => {
                    let at = (code ^ IS_LIST) as usize;
                    lists.get(at / LIST_PAGE_IDS)?.get(at % LIST_PAGE_IDS).copied()
                }
            };
            shard.retain(|code| match first_of(code).and_then(&mut is_gone) {
                None => true,
                Some(source) => {
                    if let Some(count) = spellings.get_mut(source) {
                        *count = 0;
                    }
                    false
                }
            });
            *slots = *slots + shard.slots.len() - before.0;
            *entries -= u64::from(before.1 - shard.used);
        }
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let lists: usize = self.lists.iter().map(Vec::capacity).sum();
        self.slots * size_of::<Slot>()
            + self.shards.len() * size_of::<Shard>()
            + lists * 4
            + self.spellings.memory_bytes()
    }
}

#[inline]
fn run_of(code: u32) -> Run {
    if code & IS_LIST == 0 { Run::Consecutive(code) } else { Run::List(code ^ IS_LIST) }
}

/// What a slot holds of a row's ids, which are kept where they need a list.
fn keep(lists: &mut Vec<Vec<u32>>, sids: Sids<'_>) -> Option<u32> {
    match sids.list() {
        None => Some(sids.first()),
        Some(list) => keep_list(lists, list).map(|at| at | IS_LIST),
    }
}

fn keep_list(lists: &mut Vec<Vec<u32>>, list: &[u32]) -> Option<u32> {
    debug_assert!(list.len() <= FIELDS_MAX);
    if lists.last().is_none_or(|page| page.len() + list.len() > LIST_PAGE_IDS) {
        lists.push(Vec::new());
    }
    let index = u32::try_from(lists.len() - 1).ok().filter(|index| *index < 1 << 14)?;
    let page = lists.last_mut()?;
    let at = index * LIST_PAGE_IDS as u32 + page.len() as u32;
    page.extend_from_slice(list);
    Some(at)
}

impl Shard {
    #[inline]
    fn home(&self, tag: u64) -> usize {
        (((tag >> 32) * self.slots.len() as u64) >> 32) as usize
    }

    #[inline]
    fn find(&self, tag: u64) -> Option<u32> {
        self.slots.get(self.place(tag)?).map(|slot| slot.code)
    }

    /// Where an entry stands.
    #[inline]
    fn place(&self, tag: u64) -> Option<usize> {
        let halves = [tag as u32, (tag >> 32) as u32];
        let mut at = self.home(tag);
        loop {
            let slot = self.slots.get(at)?;
            if slot.code == EMPTY {
                return None;
            }
            if slot.tag == halves {
                return Some(at);
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
    }

    /// Gives an entry another code.
    fn replace(&mut self, tag: u64, code: u32) {
        let place = self.place(tag);
        if let Some(slot) = place.and_then(|place| self.slots.get_mut(place)) {
            slot.code = code;
        }
    }

    fn insert(&mut self, tag: u64, code: u32) {
        // At most 7/8 full, and growth by a quarter: the average slot count per entry is 1.3.
        if (self.used as usize + 1) * 8 > self.slots.len() * 7 {
            let capacity = (self.slots.len() * 5 / 4).max(self.slots.len() + SLOTS_MIN);
            let old = std::mem::replace(&mut self.slots, vec![FREE; capacity].into());
            self.used = 0;
            for slot in old.iter().filter(|slot| slot.code != EMPTY) {
                let [low, high] = slot.tag;
                self.put(u64::from(high) << 32 | u64::from(low), slot.code);
            }
        }
        self.put(tag, code);
    }

    /// Keeps the entries of which `keeps` says so.
    fn retain(&mut self, mut keeps: impl FnMut(u32) -> bool) {
        let kept: Vec<Slot> = {
            let used = self.slots.iter().filter(|slot| slot.code != EMPTY);
            used.filter(|slot| keeps(slot.code)).copied().collect()
        };
        if kept.len() == self.used as usize {
            return;
        }
        self.slots.fill(FREE);
        self.used = 0;
        for Slot { tag: [low, high], code } in kept {
            self.put(u64::from(high) << 32 | u64::from(low), code);
        }
    }

    fn put(&mut self, tag: u64, code: u32) {
        let mut at = self.home(tag);
        while self.slots.get(at).is_some_and(|slot| slot.code != EMPTY) {
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Slot { tag: [tag as u32, (tag >> 32) as u32], code };
            self.used += 1;
        }
    }
}
