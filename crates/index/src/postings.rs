//! Postings: for each of many owners an ascending list of ids that only grows at its end.
//!
//! A list of one id, which is what a host name has, lies in its owner's head. Longer lists are
//! chains of blocks in shared pages, each twice as long as the one before, which begin with the
//! position of the next one. Ids are differences in groups of three bits, low ones first, each in a
//! nibble whose top bit says whether more follow. A difference is never zero, so neither is a
//! nibble: a zero one ends a block. Most labels have few values, and half a byte per source is then
//! enough.

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
    blocks: Blocks,
}

/// The blocks of all chains.
#[derive(Debug, Default)]
struct Blocks {
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
        let Some(head) = self.heads.get_mut(list) else { return };
        if *head == EMPTY {
            *head = id;
        } else if *head & IS_CHAIN == 0 {
            debug_assert!(id > *head);
            let Some(first) = self.blocks.allocate(BLOCK_BYTES_MIN) else { return };
            let mut chain = Chain {
                first,
                block: first,
                used: NIBBLES_USED,
                block_bytes: BLOCK_BYTES_MIN as u16,
                first_id: *head,
                last_id: id,
                count: 0,
            };
            // The first difference is one more than the id, so that it is not zero.
            self.blocks.append(&mut chain, *head + 1);
            self.blocks.append(&mut chain, id - *head);
            *head = IS_CHAIN | self.chains.len();
            self.chains.push(chain);
        } else if let Some(chain) = self.chains.get_mut(*head ^ IS_CHAIN) {
            debug_assert!(id > chain.last_id);
            self.blocks.append(chain, id.saturating_sub(chain.last_id));
            chain.last_id = id;
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
        let pages = self.blocks.pages.as_slice();
        let mut ids = Ids { pages, left: 0, id: 0, rest: &[], at: 0, next: 0, block_bytes: 0 };
        match self.heads.get(list) {
            None | Some(EMPTY) => {}
            Some(head) if head & IS_CHAIN == 0 => {
                ids.left = 1;
                ids.id = head;
            }
            Some(head) => {
                if let Some(chain) = self.chains.get(head ^ IS_CHAIN) {
                    ids.left = chain.count;
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
        let pages = &self.blocks.pages;
        let first = pages.first().map_or(0, Vec::capacity);
        first
            + pages.len().saturating_sub(1) * PAGE_BYTES
            + self.heads.memory_bytes()
            + self.chains.memory_bytes()
    }

    /// Whether there is room for a chunk of registrations.
    pub(crate) fn has_room(&self) -> bool {
        self.blocks.pages.len() < (1 << 16) - (1 << 12)
    }
}

impl Blocks {
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

    fn append(&mut self, chain: &mut Chain, difference: u32) {
        let (code, nibbles) = encode(difference);
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
        let (start, end) = (chain.used, chain.used + nibbles);
        let code = code << (start % 2 * 4);
        let Some(block) = self.block_mut(chain.block) else { return };
        let slot = block.get_mut(usize::from(start / 2)..).unwrap_or_default();
        if let Some(chunk) = slot.first_chunk_mut() {
            *chunk = (u64::from_le_bytes(*chunk) | code).to_le_bytes();
        } else {
            for (byte, code) in slot.iter_mut().zip(code.to_le_bytes()) {
                *byte |= code;
            }
        }
        chain.used = end;
        chain.count += 1;
    }
}

/// A difference as nibbles, the first one lowest, and their number.
fn encode(mut difference: u32) -> (u64, u16) {
    let mut code = 0;
    let mut nibbles = 0;
    loop {
        code |= u64::from(difference & 7) << (4 * nibbles);
        nibbles += 1;
        difference >>= 3;
        if difference == 0 {
            return (code, nibbles);
        }
        code |= 8 << (4 * (nibbles - 1));
    }
}

/// The ids of one list.
#[derive(Debug)]
pub(crate) struct Ids<'a> {
    pages: &'a [Vec<u8>],
    left: u32,
    id: u32,
    /// The block being read.
    rest: &'a [u8],
    /// The next nibble in it.
    at: usize,
    next: u32,
    block_bytes: usize,
}

impl Ids<'_> {
    fn open_block(&mut self) -> Option<()> {
        let page = self.pages.get((self.next >> PAGE_BITS) as usize)?;
        let start = self.next as usize % PAGE_BYTES;
        self.rest = page.get(start..start + self.block_bytes)?;
        self.next = u32::from_le_bytes(*self.rest.first_chunk()?);
        self.at = NIBBLES_USED.into();
        self.block_bytes = (self.block_bytes * 2).min(BLOCK_BYTES_MAX);
        Some(())
    }

    /// The next fifteen nibbles or more, zeros behind the block's end.
    #[inline]
    fn window(&self) -> u64 {
        let rest = self.rest.get(self.at / 2..).unwrap_or_default();
        let word = match rest.first_chunk() {
            Some(chunk) => u64::from_le_bytes(*chunk),
            None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        word >> (self.at % 2 * 4)
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
        let mut window = self.window();
        if window & 15 == 0 {
            self.open_block()?;
            window = self.window();
        }
        let mut difference = window as u32 & 7;
        let mut shift = 3;
        self.at += 1;
        while window & 8 != 0 {
            window >>= 4;
            difference |= (window as u32 & 7) << shift;
            shift += 3;
            self.at += 1;
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
