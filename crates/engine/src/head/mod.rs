//! The head: recent samples, in memory.
//!
//! Series ids are dealt to pages of 1024 neighbours; finding a page takes no lock, using it takes
//! the page's own. A writer locks all pages that its rows are of, before it gives them their place
//! in the wal, and until they are in the head: so two who write one instant of a series do that in
//! the same order in both, and a restart finds the value that was there. A page whose series
//! have all gone quiet is given back: of a series that is not written any more nothing stays but a
//! sixty-fourth of a byte.

mod arrivals;
pub(crate) mod cut;
mod late;
pub(crate) mod page;
mod reorder;
pub(crate) mod slab;
pub(crate) mod stream;

pub use arrivals::Arrived;

use crate::block::Builder;
use crate::error::Error;
use crate::limits::PAGE_SERIES;
use cut::Cutter;
use foliot_index::SidSet;
use foliot_lock::{MappedMutexGuard, Mutex, MutexGuard, Rank, RwLock};
use page::{PageData, SeriesCopy};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use stream::Decoded;

use foliot_model::{Cell, TimeRange};

/// Pages per shelf: a shelf is allocated when its first page is.
const SHELF_PAGES: usize = 1024;
/// Shelves for all u32 ids, whose number a `usize` of 32 bits does not hold.
const SHELVES: usize = ((1_u64 << 32) / (PAGE_SERIES * SHELF_PAGES) as u64) as usize;

/// A place for a page, which is there while its series are written.
type Place = Mutex<Option<Box<PageData>>>;

/// Places for pages that follow each other.
struct Shelf {
    places: Box<[Place]>,
    /// How many of the pages are there.
    pages: AtomicUsize,
}

impl Shelf {
    /// Places from page `first` on.
    fn new(first: u32) -> Self {
        let place = |page| Mutex::numbered(Rank::Page, page, None);
        let places = (first..).take(SHELF_PAGES).map(place).collect();
        Self { places, pages: AtomicUsize::new(0) }
    }
}

/// Number of the page of a series.
pub(crate) const fn page_of(sid: u32) -> u32 {
    sid / PAGE_SERIES as u32
}

/// Place of a series in its page.
pub(crate) const fn local_of(sid: u32) -> usize {
    sid as usize % PAGE_SERIES
}

/// The head.
pub(crate) struct Head {
    shelves: Box<[OnceLock<Shelf>]>,
    bytes: AtomicU64,
    fixed_bytes: AtomicU64,
}

impl Head {
    pub(crate) fn new() -> Self {
        let shelves = (0..SHELVES).map(|_| OnceLock::new()).collect();
        Self { shelves, bytes: AtomicU64::new(0), fixed_bytes: AtomicU64::new(0) }
    }

    /// Bytes of samples held.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes of states, which stay when samples are flushed.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        self.fixed_bytes.load(Ordering::Relaxed)
    }

    fn place(&self, number: u32) -> Option<&Place> {
        let shelf = self.shelves.get(number as usize / SHELF_PAGES)?.get()?;
        shelf.places.get(number as usize % SHELF_PAGES)
    }

    /// Locks a page, if it is there.
    fn page(&self, number: u32) -> Option<MappedMutexGuard<'_, PageData>> {
        let place = self.place(number)?.lock();
        MutexGuard::try_map(place, |page| page.as_deref_mut()).ok()
    }

    /// Locks a page, which is made if it is not there.
    fn page_or_new(&self, number: u32) -> Option<MappedMutexGuard<'_, PageData>> {
        let shelf = self.shelves.get(number as usize / SHELF_PAGES)?;
        let shelf = shelf.get_or_init(|| Shelf::new(number - number % SHELF_PAGES as u32));
        let place = shelf.places.get(number as usize % SHELF_PAGES)?.lock();
        let make = || {
            shelf.pages.fetch_add(1, Ordering::Relaxed);
            self.fixed_bytes.fetch_add(PageData::FIXED_BYTES as u64, Ordering::Relaxed);
            Box::default()
        };
        Some(MutexGuard::map(place, |page| &mut **page.get_or_insert_with(make)))
    }

    /// Numbers of the pages that are there, ascending.
    pub(crate) fn pages(&self) -> impl Iterator<Item = u32> {
        let shelves = self.shelves.iter().enumerate();
        let made = shelves.filter_map(|(at, shelf)| shelf.get().map(|shelf| (at, shelf)));
        let used = made.filter(|(_, shelf)| shelf.pages.load(Ordering::Relaxed) > 0);
        used.flat_map(|(at, shelf)| {
            let first = at * SHELF_PAGES;
            let places = shelf.places.iter().enumerate();
            places.filter(|(_, place)| place.lock().is_some()).map(move |(i, _)| (first + i) as u32)
        })
    }

    /// A writer into the head, which holds `pages`, numbers that ascend, from now on.
    pub(crate) fn appender<'h>(&'h self, pages: &[u32], builder: &'h mut Builder) -> Appender<'h> {
        let held = pages.iter().filter_map(|&number| self.open(number)).collect();
        Appender { head: self, builder, held, at: 0 }
    }

    fn open(&self, number: u32) -> Option<Open<'_>> {
        let page = self.page_or_new(number)?;
        Some(Open { number, bytes_before: page.bytes(), page })
    }

    /// Moves what a page holds into `frozen`; false if it held nothing.
    pub(crate) fn freeze(&self, number: u32, frozen: &Frozen) -> bool {
        let Some(mut page) = self.page(number) else { return false };
        // Whoever deletes moves pages that were moved a moment before: nothing is looked through.
        if page.bytes() == 0 {
            return false;
        }
        // Also of a page that deletes have emptied: it still has the memory they were in.
        let was_empty = page.is_empty();
        let data = page.freeze();
        self.bytes.fetch_sub(data.bytes() as u64, Ordering::Relaxed);
        if was_empty {
            return false;
        }
        // Still under the page's lock: a reader that finds the page empty must find it in `frozen`.
        frozen.pages.write().entry(number).or_default().push(Arc::new(data));
        true
    }

    /// Moves what pages hold that have any of these series into `frozen`.
    pub(crate) fn freeze_all(&self, sids: &SidSet, frozen: &Frozen) {
        pages_of(sids).for_each(|number| {
            self.freeze(number, frozen);
        });
    }

    /// Gives empty pages back of which `is_quiet` says that their series are not written any more.
    pub(crate) fn give_back(&self, is_quiet: impl Fn(u32) -> bool) {
        for number in self.pages().filter(|number| is_quiet(*number)) {
            let shelf = self.shelves.get(number as usize / SHELF_PAGES).and_then(OnceLock::get);
            let (Some(shelf), Some(place)) = (shelf, self.place(number)) else { continue };
            if let Some(page) = place.lock().take_if(|page| page.is_empty()) {
                self.bytes.fetch_sub(page.bytes() as u64, Ordering::Relaxed);
                shelf.pages.fetch_sub(1, Ordering::Relaxed);
                self.fixed_bytes.fetch_sub(PageData::FIXED_BYTES as u64, Ordering::Relaxed);
            }
        }
    }

    /// Takes away what series hold in `range`.
    pub(crate) fn cut(&self, sids: &SidSet, range: TimeRange) -> Result<(), Error> {
        let mut cutter = Cutter::default();
        for number in pages_of(sids) {
            let Some(mut page) = self.page(number) else { continue };
            let bytes_before = page.bytes() as u64;
            cut_page(&mut cutter, &mut page, number, sids, range)?;
            // Wrapping: what is left may be smaller or, newly sealed, larger.
            self.bytes
                .fetch_add((page.bytes() as u64).wrapping_sub(bytes_before), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Makes the newest samples of series, if they lie in `range`, unknown.
    pub(crate) fn doubt_last(&self, sids: &SidSet, range: TimeRange) {
        for number in pages_of(sids) {
            let Some(mut page) = self.page(number) else { continue };
            let first = number * PAGE_SERIES as u32;
            for sid in sids.within(first, first + (PAGE_SERIES as u32 - 1)) {
                page.doubt_last(local_of(sid), range);
            }
        }
    }

    /// Copies out what the series holds in `range`.
    pub(crate) fn copy(&self, sid: u32, range: TimeRange, out: &mut SeriesCopy) {
        if let Some(page) = self.page(page_of(sid)) {
            page.copy(local_of(sid), range, out);
        }
    }

    /// How samples of a series came, for as long as its page is there.
    pub(crate) fn arrived(&self, sid: u32) -> Arrived {
        let page = self.page(page_of(sid));
        page.map_or(Arrived::default(), |page| page.arrived(local_of(sid)))
    }

    /// The latest sample of a series since the store was opened, if it is a number.
    pub(crate) fn last_number(&self, sid: u32) -> Option<Decoded> {
        self.page(page_of(sid))?.last_number(local_of(sid))
    }
}

/// Numbers of the pages that a set has series in, ascending.
pub(crate) fn pages_of(sids: &SidSet) -> impl Iterator<Item = u32> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let first = sids.within(next?, u32::MAX).next()?;
        let number = page_of(first);
        next = (number + 1).checked_mul(PAGE_SERIES as u32);
        Some(number)
    })
}

fn cut_page(
    cutter: &mut Cutter,
    page: &mut PageData,
    number: u32,
    sids: &SidSet,
    range: TimeRange,
) -> Result<(), Error> {
    let first = number * PAGE_SERIES as u32;
    for sid in sids.within(first, first + (PAGE_SERIES as u32 - 1)) {
        cutter.cut(page, local_of(sid), range)?;
    }
    Ok(())
}

struct Open<'h> {
    number: u32,
    page: MappedMutexGuard<'h, PageData>,
    bytes_before: usize,
}

/// Appends samples to the pages that it holds; any other page is held instead of all of them.
pub(crate) struct Appender<'h> {
    head: &'h Head,
    builder: &'h mut Builder,
    /// By number.
    held: Vec<Open<'h>>,
    /// Which of them the last sample went to.
    at: usize,
}

impl<'h> Appender<'h> {
    /// Adds one sample of series `sid` from the source whose first series is `first`.
    #[inline]
    pub(crate) fn append(&mut self, sid: u32, first: u32, sample: Decoded, bytes: &[u8]) {
        if let Some((page, builder)) = self.turn_to(page_of(sid)) {
            // Series of one source seal together, so that their blocks can share times.
            let phase = (first.wrapping_mul(0x9e37_79b1) >> 24) as u8;
            page.append(local_of(sid), sample, bytes, phase, builder);
        }
    }

    /// Adds one sample to each of the series from `sid` on, for as long as they are numbers that
    /// come one step after the ones before and moved little, in one page; how many those were.
    #[inline]
    pub(crate) fn append_regular(&mut self, sid: u32, time_ns: i64, cells: &[Cell]) -> usize {
        let page = self.turn_to(page_of(sid));
        page.map_or(0, |(page, _)| page.append_regular(local_of(sid), time_ns, cells))
    }

    /// The page numbered `number`, and what seals its streams.
    #[inline]
    fn turn_to(&mut self, number: u32) -> Option<(&mut PageData, &mut Builder)> {
        if self.held.get(self.at).is_none_or(|open| open.number != number) {
            self.leaf_to(number);
        }
        let open = self.held.get_mut(self.at)?;
        Some((&mut open.page, self.builder))
    }

    #[inline(never)]
    fn leaf_to(&mut self, number: u32) {
        self.at = match self.held.binary_search_by_key(&number, |open| open.number) {
            Ok(at) => at,
            Err(_) => {
                self.close();
                self.held.extend(self.head.open(number));
                0
            }
        };
    }

    fn close(&mut self) {
        let mut grown = 0u64;
        for open in &self.held {
            // Wrapping: sealing frees more than it takes.
            grown = grown.wrapping_add(open.page.bytes() as u64);
            grown = grown.wrapping_sub(open.bytes_before as u64);
        }
        // Before the pages are let go: who freezes one takes off what it holds.
        self.head.bytes.fetch_add(grown, Ordering::Relaxed);
        self.held.clear();
    }
}

impl Drop for Appender<'_> {
    fn drop(&mut self) {
        self.close();
    }
}

/// Pages on their way into parts. Immutable but for new pages; read without the head's locks.
///
/// Each flush fills the set that the views before it already point to, and ends by naming the next
/// one. So a reader that began before a flush, or before several, still finds everything: in the
/// head, else along this chain.
pub(crate) struct Frozen {
    /// By page number; several when an earlier flush failed, oldest first.
    pages: RwLock<HashMap<u32, Vec<Arc<PageData>>>>,
    next: OnceLock<Arc<Frozen>>,
}

impl Default for Frozen {
    fn default() -> Self {
        Self { pages: RwLock::new(Rank::Frozen, HashMap::new()), next: OnceLock::new() }
    }
}

impl Frozen {
    /// What a page left here, oldest first.
    pub(crate) fn page(&self, number: u32) -> Vec<Arc<PageData>> {
        self.pages.read().get(&number).cloned().unwrap_or_default()
    }

    /// Takes away what series hold in `range`. Readers that have a page keep it as it was.
    pub(crate) fn cut(&self, sids: &SidSet, range: TimeRange) -> Result<(), Error> {
        let mut cutter = Cutter::default();
        for number in pages_of(sids) {
            let mut pages = self.page(number);
            if pages.is_empty() {
                continue;
            }
            for page in &mut pages {
                cut_page(&mut cutter, Arc::make_mut(page), number, sids, range)?;
            }
            if let Some(held) = self.pages.write().get_mut(&number) {
                *held = pages;
            }
        }
        Ok(())
    }

    /// Numbers of all pages here, ascending.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.pages.read().keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// The set that the next flush fills.
    pub(crate) fn next(&self) -> Option<&Arc<Frozen>> {
        self.next.get()
    }

    /// Names the set that the next flush fills, and returns it.
    pub(crate) fn make_next(&self) -> Arc<Frozen> {
        self.next.get_or_init(Arc::default).clone()
    }

    /// Bytes of samples held.
    pub(crate) fn bytes(&self) -> u64 {
        self.pages.read().values().flatten().map(|page| page.bytes() as u64).sum()
    }
}
