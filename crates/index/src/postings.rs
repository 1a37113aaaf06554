//! Postings: for each of many owners an ascending list of ids that only grows at its end.
//!
//! A list of one id, which is what a host name has, lies in its owner's head. Longer lists are
//! chains of blocks in shared pages, each twice as long as the one before, which begin with the
//! position of the next one. Ids are differences in groups of three bits, low ones first, each in a
//! nibble whose top bit says whether more follow. A difference is never zero, so neither is a nibble:
//! a zero one ends a block. Most labels have few values, and half a byte per source is then enough.

use crate::pages::Pages;

const EMPTY: u32 = u32::MAX;
const IS_CHAIN: u32 = 1 << 31;
const PAGE_BITS: u32 = 16;
const PAGE_BYTES: usize = 1 << PAGE_BITS;
const BLOCK_BYTES_MIN: usize = 16;
const BLOCK_BYTES_MAX: usize = 1 << 10;
const NEXT_BYTES: usize = 4;
/// Nibbles that the position of the next block takes.
const NIBBLES_USED: u16 = 2 * NEXT_BYTES as u16;

#[derive(Clone, Copy, Debug)]
struct Chain {
    first: u32,
    block: u32,
    /// Nibbles used of the block, those before the first difference included.
    used: u16,
    block_bytes: u16,
    first_id: u32,
    last_id: u32,
    count: u32,
}

/// Lists of ids, numbered in the order in which they were opened.
#[derive(Debug, Default)]
pub(crate) struct Postings {
    heads: Pages<u32>,
    chains: Pages<Chain>,
    pages: Vec<Vec<u8>>,
}

impl Postings {
    /// Opens the next list.
    pub(crate) fn open(&mut self) {
        self.heads.push(EMPTY);
    }

    /// Appends `id`, which is larger than all before and below 2^31, to a list.
    pub(crate) fn add(&mut self, list: u32, id: u32) {
        debug_assert!(id < IS_CHAIN);
        let Some(head) = self.heads.get(list) else { return };
        if head == EMPTY {
            self.set_head(list, id);
        } else if head & IS_CHAIN == 0 {
            debug_assert!(id > head);
            let Some(first) = self.allocate(BLOCK_BYTES_MIN) else { return };
            self.set_head(list, IS_CHAIN | self.chains.len());
            let used = NIBBLES_USED;
            let block_bytes = BLOCK_BYTES_MIN as u16;
            let (block, first_id, last_id) = (first, head, id);
            let mut chain = Chain { first, block, used, block_bytes, first_id, last_id, count: 0 };
            self.append(&mut chain, head + 1);
            self.append(&mut chain, id - head);
            self.chains.push(chain);
        } else if let Some(mut chain) = self.chains.get(head ^ IS_CHAIN) {
            debug_assert!(id > chain.last_id);
            let difference = id.saturating_sub(chain.last_id);
            self.append(&mut chain, difference);
            chain.last_id = id;
            if let Some(slot) = self.chains.get_mut(head ^ IS_CHAIN) {
                *slot = chain;
            }
        }
    }

    fn set_head(&mut self, list: u32, value: u32) {
        if let Some(head) = self.heads.get_mut(list) {
            *head = value;
        }
    }

    /// Number of ids in a list.
    pub(crate) fn count(&self, list: u32) -> u32 {
        match self.heads.get(list) {
            None | Some(EMPTY) => 0,
            Some(head) if head & IS_CHAIN == 0 => 1,
            Some(head) => self.chains.get(head ^ IS_CHAIN).map_or(0, |chain| chain.count),
        }
    }

    /// The first id of a list.
    pub(crate) fn first(&self, list: u32) -> Option<u32> {
        match self.heads.get(list)? {
            EMPTY => None,
            head if head & IS_CHAIN == 0 => Some(head),
            head => self.chains.get(head ^ IS_CHAIN).map(|chain| chain.first_id),
        }
    }

    /// The ids of a list, ascending.
    pub(crate) fn iter(&self, list: u32) -> Ids<'_> {
        let mut ids =
            Ids { postings: self, left: 0, id: 0, rest: &[], high: None, next: 0, block_bytes: 0 };
        match self.heads.get(list) {
            None | Some(EMPTY) => {}
            Some(head) if head & IS_CHAIN == 0 => {
                ids.left = 1;
                ids.id = head;
            }
            Some(head) => {
                if let Some(chain) = self.chains.get(head ^ IS_CHAIN) {
                    ids.left = chain.count;
                    // The first difference is one more than the id, so that it is not zero.
                    ids.id = u32::MAX;
                    ids.next = chain.first;
                    ids.block_bytes = BLOCK_BYTES_MIN;
                }
            }
        }
        ids
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let pages: usize = self.pages.iter().map(Vec::capacity).sum();
        pages + self.heads.memory_bytes() + self.chains.memory_bytes()
    }

    /// Whether there is room for a chunk of registrations.
    pub(crate) fn has_room(&self) -> bool {
        self.pages.len() < (1 << 16) - (1 << 12)
    }

    /// A zeroed block: its position.
    fn allocate(&mut self, bytes: usize) -> Option<u32> {
        if self.pages.last().is_none_or(|page| page.len() + bytes > PAGE_BYTES) {
            // The first page grows as it fills, so that a small registry stays small.
            let capacity = if self.pages.is_empty() { 0 } else { PAGE_BYTES };
            self.pages.push(Vec::with_capacity(capacity));
        }
        let index = u32::try_from(self.pages.len() - 1).ok().filter(|index| *index < 1 << 16)?;
        let page = self.pages.last_mut()?;
        let position = index << PAGE_BITS | page.len() as u32;
        page.resize(page.len() + bytes, 0);
        Some(position)
    }

    fn block_mut(&mut self, position: u32) -> Option<&mut [u8]> {
        let page = self.pages.get_mut((position >> PAGE_BITS) as usize)?;
        page.get_mut(position as usize % PAGE_BYTES..)
    }

    fn append(&mut self, chain: &mut Chain, mut difference: u32) {
        let nibbles = ((31 - (difference | 1).leading_zeros()) / 3 + 1) as u16;
        if chain.used + nibbles > chain.block_bytes * 2 {
            let bytes = (chain.block_bytes as usize * 2).min(BLOCK_BYTES_MAX);
            let Some(next) = self.allocate(bytes) else { return };
            let link = self.block_mut(chain.block).and_then(|block| block.first_chunk_mut());
            if let Some(link) = link {
                *link = next.to_le_bytes();
            }
            chain.block = next;
            chain.block_bytes = bytes as u16;
            chain.used = NIBBLES_USED;
        }
        let Some(block) = self.block_mut(chain.block) else { return };
        for at in chain.used..chain.used + nibbles {
            let low = difference as u8 & 7;
            difference >>= 3;
            let nibble = if difference == 0 { low } else { low | 8 };
            if let Some(byte) = block.get_mut(usize::from(at / 2)) {
                *byte |= nibble << (at % 2 * 4);
            }
        }
        chain.used += nibbles;
        chain.count += 1;
    }
}

/// The ids of one list.
#[derive(Debug)]
pub(crate) struct Ids<'a> {
    postings: &'a Postings,
    left: u32,
    id: u32,
    rest: &'a [u8],
    /// The second nibble of the byte that was begun.
    high: Option<u8>,
    next: u32,
    block_bytes: usize,
}

impl Ids<'_> {
    #[inline]
    fn nibble(&mut self) -> u8 {
        if let Some(high) = self.high.take() {
            return high;
        }
        let Some((&byte, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        self.high = Some(byte >> 4);
        byte & 15
    }

    fn open_block(&mut self) -> Option<()> {
        let page = self.postings.pages.get((self.next >> PAGE_BITS) as usize)?;
        let start = self.next as usize % PAGE_BYTES;
        let block = page.get(start..start + self.block_bytes)?;
        let (link, rest) = block.split_first_chunk::<NEXT_BYTES>()?;
        self.next = u32::from_le_bytes(*link);
        self.rest = rest;
        self.high = None;
        self.block_bytes = (self.block_bytes * 2).min(BLOCK_BYTES_MAX);
        Some(())
    }
}

impl Iterator for Ids<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.left = self.left.checked_sub(1)?;
        if self.block_bytes == 0 {
            return Some(self.id);
        }
        let mut nibble = self.nibble();
        if nibble == 0 {
            self.open_block()?;
            nibble = self.nibble();
        }
        let mut difference = u32::from(nibble & 7);
        let mut shift = 3;
        while nibble >= 8 {
            nibble = self.nibble();
            difference |= u32::from(nibble & 7) << shift;
            shift += 3;
        }
        self.id = self.id.wrapping_add(difference);
        Some(self.id)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left as usize, Some(self.left as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_whatever_their_length_and_gaps() {
        let mut postings = Postings::default();
        let mut expected: Vec<Vec<u32>> = vec![Vec::new(); 40];
        (0..40).for_each(|_| postings.open());
        let mut random = 1u64;
        for (list, expected) in expected.iter_mut().enumerate() {
            let mut id = 0u32;
            for step in 0..(list * list * 3) {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let gap = (random >> (33 + (list + step) % 25)) as u32 % (1 << 22);
                if step > 0 || list % 2 == 0 {
                    id += gap + 1;
                }
                if id >= IS_CHAIN {
                    break;
                }
                expected.push(id);
            }
        }
        // Interleaved, as registration does it.
        for step in 0..5_000 {
            for (list, ids) in expected.iter().enumerate() {
                if let Some(&id) = ids.get(step) {
                    postings.add(list as u32, id);
                }
            }
        }
        for (list, ids) in expected.iter().enumerate() {
            assert_eq!(postings.count(list as u32) as usize, ids.len());
            assert_eq!(&postings.iter(list as u32).collect::<Vec<_>>(), ids, "list {list}");
        }
        assert_eq!(postings.iter(99).next(), None);
    }
}
