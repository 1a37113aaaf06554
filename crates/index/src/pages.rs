//! Growing arrays without copies: items live in pages that never move.
//!
//! A plain vector of 40 million items stops the world to copy itself when it doubles, and then
//! wastes half of its memory. Here growth allocates one page, whatever the length.

const PAGE_BITS: u32 = 12;
const PAGE_ITEMS: usize = 1 << PAGE_BITS;

/// An append-only array of small items.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    pages: Vec<Vec<T>>,
    len: u32,
}

impl<T> Default for Pages<T> {
    fn default() -> Self {
        Self { pages: Vec::new(), len: 0 }
    }
}

impl<T: Copy> Pages<T> {
    pub(crate) fn len(&self) -> u32 {
        self.len
    }

    pub(crate) fn push(&mut self, item: T) {
        let index = self.len as usize / PAGE_ITEMS;
        if index == self.pages.len() {
            // The first page grows as it fills, so that a small registry stays small.
            self.pages.push(Vec::with_capacity(if index == 0 { 0 } else { PAGE_ITEMS }));
        }
        if let Some(page) = self.pages.get_mut(index) {
            page.push(item);
            self.len += 1;
        }
    }

    #[inline]
    pub(crate) fn get(&self, index: u32) -> Option<T> {
        let page = self.pages.get((index >> PAGE_BITS) as usize)?;
        page.get(index as usize % PAGE_ITEMS).copied()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        let page = self.pages.get_mut((index >> PAGE_BITS) as usize)?;
        page.get_mut(index as usize % PAGE_ITEMS)
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.pages.clear();
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let first = self.pages.first().map_or(0, Vec::capacity);
        (first + self.pages.len().saturating_sub(1) * PAGE_ITEMS) * size_of::<T>()
    }
}
