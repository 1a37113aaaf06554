//! Reading a part: which blocks a series has, and their bytes.

use super::directory::{Directory, IndexPage};
use super::format::{FOOTER_LEN, Footer, HEADER_LEN, Header, PREAMBLE, take};
use super::labels::Names;
use crate::block::Decoder;
use crate::cache::Cache;
use crate::error::Error;
use crate::filenames;
use crate::handles::Handles;
use crate::limits::{BLOCK_SAMPLES_MAX, LEVEL_FINAL};
use crate::manifest::PartEntry;
use crate::paged::{PagedReader, Pages};
use crate::run::Run;
use foliot_codec::Summary;
use foliot_codec::varint::{get_i64, get_u64};
use foliot_disk::Disk;
use foliot_index::{Identity, SidSet};
use foliot_model::{Samples, TimeRange};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// Up to so many series are looked up one by one; for more the index is read through.
const LOOK_UP_SERIES_MAX: u64 = 1000;

/// What a final part says of its database takes no more.
const NAMES_BYTES_MAX: u64 = 16 << 10;

/// An open part.
pub(crate) struct Part {
    paged: PagedReader,
    /// What the manifest says of it.
    pub(crate) entry: PartEntry,
    pub(crate) footer: Footer,
    directory: Directory,
    is_doomed: AtomicBool,
    /// No delete that masks files below this number hides anything here: somebody has looked.
    clear_of: AtomicU64,
    /// Up to here what has expired was left out when it was written.
    shed_ns: AtomicI64,
}

/// Where a block lies, and what it holds.
#[derive(Clone, Debug)]
pub(crate) struct BlockPlace {
    pub(crate) range: TimeRange,
    pub(crate) count: u16,
    /// Position and length of its times, and of its values.
    pub(crate) times: (u64, u32),
    values: (u64, u32),
    /// What the block's values come to, for plans that need no more.
    pub(crate) summary: Summary,
}

impl BlockPlace {
    /// Encoded bytes of times and values. Blocks may share their times.
    pub(crate) fn bytes_len(&self) -> u64 {
        u64::from(self.times.1) + u64::from(self.values.1)
    }
}

/// What is looked for in the index of a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought {
    pub(crate) sid: u32,
    /// Blocks that overlap this.
    pub(crate) range: TimeRange,
    /// Whether the last of them is all that is wanted; others may be found.
    pub(crate) is_last: bool,
}

/// Where a reader stands in the index of a part. One that asks for series whose ids ascend goes on
/// from there, and need not look for each of them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seat {
    /// The number of the part's file.
    part: u64,
    /// Where the index page lies, and its length; of no length while there is none.
    at: u64,
    len: usize,
    /// Where the page's next entry begins, and the series before it.
    next: usize,
    sid: Option<u32>,
    /// The first series that other pages have, too.
    until: u32,
    /// Blocks of the series that was sought that are not among those found.
    passed: u64,
}

impl Seat {
    /// How many blocks were passed over since this was asked last.
    pub(crate) fn take_passed(&mut self) -> u64 {
        std::mem::take(&mut self.passed)
    }
}

impl Part {
    /// Opens a part and checks what it says of itself.
    pub(crate) fn open(
        handles: &Arc<Handles>,
        dir: &Path,
        entry: PartEntry,
        store_id: u64,
        cache: &Arc<Cache>,
    ) -> Result<Self, Error> {
        let number = entry.number;
        let path = &filenames::part(dir, number);
        let paged = PagedReader::open_kept(handles.clone(), path, number, cache.clone())?;
        let header = header_of(&paged, path)?;
        let is_of = |header: &Header| (header.number, header.store_id) == (number, store_id);
        let kind = |header: &Header| (header.namespace, header.class, header.epoch);
        if !is_of(&header) || kind(&header) != (entry.namespace, entry.class, entry.epoch) {
            return Err(paged.corrupt(0, "belongs to another store or another place"));
        }
        let footer_at = paged.len() - FOOTER_LEN as u64;
        let mut bytes = Vec::new();
        paged.read(footer_at, FOOTER_LEN, &mut bytes)?;
        let footer = Footer::decode(&bytes).ok_or_else(|| paged.corrupt(footer_at, "no footer"))?;
        let directory = Directory::open(&paged, &footer, footer_at)?;
        let is_doomed = AtomicBool::new(false);
        let clear_of = AtomicU64::new(number);
        let shed_ns = AtomicI64::new(i64::MIN);
        Ok(Self { paged, entry, footer, directory, is_doomed, clear_of, shed_ns })
    }

    /// What a part says of itself at its front.
    pub(crate) fn read_header(disk: &dyn Disk, path: &Path, number: u64) -> Result<Header, Error> {
        let paged = PagedReader::open(disk, path, number, Arc::new(Cache::new(0)))?;
        let header = header_of(&paged, path)?;
        match header.number == number {
            true => Ok(header),
            false => Err(paged.corrupt(0, "belongs to another place")),
        }
    }

    /// Database and policy that a final part names behind its header; nothing of other parts.
    pub(crate) fn database(&self) -> Result<Option<(String, String)>, Error> {
        if self.entry.level < LEVEL_FINAL {
            return Ok(None);
        }
        let after_header = self.paged.len() - HEADER_LEN as u64;
        let mut bytes = Vec::new();
        self.paged.read(
            HEADER_LEN as u64,
            after_header.min(NAMES_BYTES_MAX) as usize,
            &mut bytes,
        )?;
        let rest = &mut &*bytes;
        let mut text = || {
            let len = usize::try_from(get_u64(rest).ok()?).ok()?;
            String::from_utf8(rest.split_off(..len)?.to_vec()).ok()
        };
        let names = text().zip(text()).filter(|(database, _)| !database.is_empty());
        Ok(names)
    }

    /// Has the file removed once nobody reads it any more; the manifest names it no longer.
    pub(crate) fn doom(&self) {
        self.is_doomed.store(true, Ordering::Relaxed);
    }

    /// Deletes that mask files below this number hide nothing here.
    pub(crate) fn clear_of(&self) -> u64 {
        self.clear_of.load(Ordering::Relaxed)
    }

    /// Remembers that deletes that mask files below `before` hide nothing here.
    pub(crate) fn note_clear_of(&self, before: u64) {
        self.clear_of.fetch_max(before, Ordering::Relaxed);
    }

    /// Up to where what has expired is known to have been left out.
    pub(crate) fn shed_ns(&self) -> i64 {
        self.shed_ns.load(Ordering::Relaxed)
    }

    /// Remembers that what had expired up to here was left out.
    pub(crate) fn note_shed(&self, floor_ns: i64) {
        self.shed_ns.fetch_max(floor_ns, Ordering::Relaxed);
    }

    /// Whether a block of one of the series may hold samples in `range`.
    pub(crate) fn holds(&self, sids: &SidSet, range: TimeRange) -> Result<bool, Error> {
        let (mut buffer, mut places) = (Vec::new(), Vec::new());
        let mut seat = Seat::default();
        let sought = |sid| Sought { sid, range, is_last: false };
        if sids.len() <= LOOK_UP_SERIES_MAX {
            for sid in sids.iter() {
                self.find(sought(sid), &mut seat, &mut buffer, &mut places)?;
                if !places.is_empty() {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let mut failed = None;
        self.for_each_series(&mut |sid| {
            if sids.contains(sid) {
                failed = self.find(sought(sid), &mut seat, &mut buffer, &mut places).err();
            }
            failed.is_none() && places.is_empty()
        })?;
        failed.map_or(Ok(!places.is_empty()), Err)
    }

    /// The series' blocks that overlap the range, ascending in time.
    pub(crate) fn find(
        &self,
        sought: Sought,
        seat: &mut Seat,
        buffer: &mut Vec<u8>,
        out: &mut Vec<BlockPlace>,
    ) -> Result<(), Error> {
        let Sought { sid, range, .. } = sought;
        if !self.footer.range.overlaps(&range) {
            return Ok(());
        }
        let is_here = seat.part == self.entry.number && seat.len > 0;
        if is_here && seat.sid.is_some_and(|before| before < sid) && sid < seat.until {
            return self.find_on(seat, sought, buffer, out).map(|_| ());
        }
        let mut group = self.directory.group_of(sid);
        loop {
            let pages = self.directory.group(&self.paged, group, buffer)?;
            let pages = pages.as_slice();
            let first = pages.partition_point(|page| page.first_sid < sid).saturating_sub(1);
            let pages = pages.get(first..).unwrap_or_default();
            for (number, page) in pages.iter().enumerate() {
                if page.first_sid > sid {
                    break;
                }
                let next = pages.get(number + 1).map(|next| next.first_sid);
                let until = next.or_else(|| self.directory.fence(group + 1)).unwrap_or(u32::MAX);
                let (part, at, len) = (self.entry.number, page.at, page.len as usize);
                let (next, passed) = (size_of::<u64>(), seat.passed);
                *seat = Seat { part, at, len, next, sid: None, until, passed };
                if self.find_on(seat, sought, buffer, out)? {
                    return Ok(());
                }
            }
            group += 1;
            if !self.directory.goes_on(group, sid) {
                return Ok(());
            }
        }
    }

    /// Adds the series' blocks on the page of a seat; whether no later page has more.
    fn find_on(
        &self,
        seat: &mut Seat,
        sought: Sought,
        buffer: &mut Vec<u8>,
        out: &mut Vec<BlockPlace>,
    ) -> Result<bool, Error> {
        let (at, len) = (seat.at, seat.len);
        let found =
            self.paged.read_in_place(at, len, buffer, |bytes| find_in(bytes, seat, sought, out))?;
        found.ok_or_else(|| {
            *seat = Seat::default();
            self.bad_index_page(at)
        })
    }

    /// Calls `each` with the id of every series until it says that this is enough.
    pub(crate) fn for_each_series(&self, each: &mut dyn FnMut(u32) -> bool) -> Result<(), Error> {
        let (mut buffer, mut entry) = (Vec::new(), Vec::new());
        for number in 0.. {
            let page = self.directory.page(&self.paged, number, &mut entry)?;
            let Some(page) = page else { break };
            self.read_page(&page, &mut buffer)?;
            let bad = || self.bad_index_page(page.at);
            let mut entries = Entries::new(&buffer).ok_or_else(bad)?;
            while let Some(entry) = entries.next().ok_or_else(bad)? {
                if !each(entry.sid) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Calls `each` with every series of the index page numbered `number` and, in a final part,
    /// what it is called, if that was known. Whether there is such a page.
    pub(crate) fn names(
        &self,
        number: usize,
        each: &mut dyn FnMut(u32, Option<Identity>),
    ) -> Result<bool, Error> {
        let mut buffer = Vec::new();
        let Some(page) = self.directory.page(&self.paged, number, &mut buffer)? else {
            return Ok(false);
        };
        self.read_page(&page, &mut buffer)?;
        let labels = match self.entry.level < LEVEL_FINAL {
            true => Vec::new(),
            false => self.label_page(page.at + u64::from(page.len))?,
        };
        let mut names = Names::new(&labels);
        let bad = || self.bad_index_page(page.at);
        let mut entries = Entries::new(&buffer).ok_or_else(bad)?;
        let mut before = None;
        while let Some(entry) = entries.next().ok_or_else(bad)? {
            // A series of many blocks has several entries.
            if before.replace(entry.sid) == Some(entry.sid) {
                continue;
            }
            let name = match labels.is_empty() {
                true => None,
                false => names.next().ok_or_else(bad)?,
            };
            each(entry.sid, name);
        }
        Ok(true)
    }

    fn label_page(&self, at: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.paged.read(at, 4, &mut bytes)?;
        let len = take(&mut &*bytes).map_or(0, u32::from_le_bytes);
        if u64::from(len) > self.paged.len().saturating_sub(at) {
            return Err(self.paged.corrupt(at, "impossible length"));
        }
        bytes.clear();
        self.paged.read(at + 4, len as usize, &mut bytes)?;
        Ok(bytes)
    }

    fn read_page(&self, page: &IndexPage, buffer: &mut Vec<u8>) -> Result<(), Error> {
        buffer.clear();
        self.paged.read(page.at, page.len as usize, buffer)
    }

    /// Appends the block's samples in `range` to `out`.
    pub(crate) fn read(
        &self,
        place: &BlockPlace,
        range: TimeRange,
        decoder: &mut Decoder,
        buffer: &mut Vec<u8>,
        out: &mut Samples,
    ) -> Result<(), Error> {
        buffer.clear();
        let (times_at, times_len) = place.times;
        let (values_at, values_len) = place.values;
        self.paged.read(times_at, times_len as usize, buffer)?;
        self.paged.read(values_at, values_len as usize, buffer)?;
        let (times, values) = buffer.split_at(times_len as usize);
        decoder
            .decode(times, values, place.count as usize, range, out)
            .map_err(|reason| self.paged.corrupt(values_at, reason))
    }

    /// Puts the block's samples in `range` in place of what `run` holds.
    pub(crate) fn read_run(
        &self,
        place: &BlockPlace,
        range: TimeRange,
        buffer: &mut Vec<u8>,
        run: &mut Run,
    ) -> Result<(), Error> {
        let count = place.count as usize;
        let ((times_at, times_len), (values_at, values_len)) = (place.times, place.values);
        let (times_len, values_len) = (times_len as usize, values_len as usize);
        let decoded = if times_at + times_len as u64 == values_at {
            self.paged.read_in_place(times_at, times_len + values_len, buffer, |bytes| {
                let (times, values) = bytes.split_at_checked(times_len).unwrap_or_default();
                run.decode(times, values, count, range)
            })?
        } else {
            buffer.clear();
            self.paged.read(times_at, times_len, buffer)?;
            self.paged.read(values_at, values_len, buffer)?;
            let (times, values) = buffer.split_at_checked(times_len).unwrap_or_default();
            run.decode(times, values, count, range)
        };
        decoded.map_err(|reason| self.paged.corrupt(values_at, reason))
    }

    /// Puts times and values of a block into `bytes`, past the cache.
    pub(crate) fn read_sections(
        &self,
        place: &BlockPlace,
        pages: &mut Pages,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Error> {
        bytes.clear();
        for (at, len) in [place.times, place.values] {
            self.paged.read_past_cache(at, len as usize, pages, bytes)?;
        }
        Ok(())
    }

    /// Puts the index page numbered `number` into `bytes`, past the cache, and returns where it
    /// lies; nothing behind the last one.
    pub(crate) fn index_page(
        &self,
        number: usize,
        pages: &mut Pages,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<u64>, Error> {
        let page = self.directory.page(&self.paged, number, bytes)?;
        bytes.clear();
        let Some(page) = page else { return Ok(None) };
        self.paged.read_past_cache(page.at, page.len as usize, pages, bytes)?;
        Ok(Some(page.at))
    }

    /// An error about the index page at `at`.
    pub(crate) fn bad_index_page(&self, at: u64) -> Error {
        self.paged.corrupt(at, "index page cannot be read")
    }

    /// An error about the block at `place`.
    pub(crate) fn corrupt(&self, place: &BlockPlace, reason: String) -> Error {
        self.paged.corrupt(place.values.0, reason)
    }

    /// Bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.paged.stored_len()
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.is_doomed.load(Ordering::Relaxed) {
            self.paged.remove();
        }
    }
}

fn header_of(paged: &PagedReader, path: &Path) -> Result<Header, Error> {
    if paged.len() < (HEADER_LEN + FOOTER_LEN) as u64 {
        return Err(paged.corrupt(0, "too short for a part"));
    }
    let mut bytes = Vec::new();
    paged.read(0, HEADER_LEN, &mut bytes)?;
    let rest = &mut &*bytes;
    PREAMBLE.take(rest, path)?;
    Header::decode(rest).ok_or_else(|| paged.corrupt(0, "no header"))
}

/// Adds the blocks that are sought from an index page; whether the page ends what there is of the
/// series. Nothing for bytes that cannot be read.
fn find_in(
    page: &[u8],
    seat: &mut Seat,
    sought: Sought,
    out: &mut Vec<BlockPlace>,
) -> Option<bool> {
    let Sought { sid: wanted, range, is_last } = sought;
    let mut entries = Entries::resume(page, seat.next, seat.sid)?;
    entries.pass(wanted)?;
    loop {
        (seat.next, seat.sid) = (page.len() - entries.left(), entries.sid);
        let Some(mut entry) = entries.next()? else { return Some(false) };
        if entry.sid > wanted {
            return Some(true);
        }
        let (blocks, before) = (entry.left, out.len());
        match is_last {
            true => out.extend(entry.last(range)?),
            false => {
                while let Some(place) = entry.next(range)? {
                    out.push(place);
                }
            }
        }
        seat.passed += blocks.saturating_sub((out.len() - before) as u64);
    }
}

/// Walks the entries of an index page. Here and below the outer nothing means bytes that cannot be
/// read, the inner one the end.
pub(super) struct Entries<'p> {
    rest: &'p [u8],
    base: u64,
    sid: Option<u32>,
}

impl<'p> Entries<'p> {
    fn new(mut page: &'p [u8]) -> Option<Self> {
        let base = u64::from_le_bytes(take(&mut page)?);
        Some(Self { rest: page, base, sid: None })
    }

    /// Goes on at byte `at` of the page, behind the entry of `sid`.
    pub(super) fn resume(page: &'p [u8], at: usize, sid: Option<u32>) -> Option<Self> {
        let entries = Self::new(page)?;
        Some(Self { rest: page.get(at..)?, sid, ..entries })
    }

    /// Bytes not yet read.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Passes over the entries of series before `wanted`, most of which are two bytes and a leap.
    fn pass(&mut self, wanted: u32) -> Option<()> {
        while !self.rest.is_empty() {
            let mut rest = self.rest;
            let sid = self.take_sid(&mut rest)?;
            if sid >= wanted {
                break;
            }
            let len = usize::try_from(get_u64(&mut rest).ok()?).ok()?;
            (self.rest, self.sid) = (rest.get(len..)?, Some(sid));
        }
        Some(())
    }

    #[inline]
    fn take_sid(&self, rest: &mut &[u8]) -> Option<u32> {
        let delta = u32::try_from(get_u64(rest).ok()?).ok()?;
        match self.sid {
            None => Some(delta),
            Some(before) => before.checked_add(delta),
        }
    }

    pub(super) fn next(&mut self) -> Option<Option<Entry<'p>>> {
        if self.rest.is_empty() {
            return Some(None);
        }
        let mut rest = self.rest;
        let sid = self.take_sid(&mut rest)?;
        (self.rest, self.sid) = (rest, Some(sid));
        let len = usize::try_from(get_u64(&mut self.rest).ok()?).ok()?;
        let (mut rest, after) = self.rest.split_at_checked(len)?;
        self.rest = after;
        let left = get_u64(&mut rest).ok()?;
        Some(Some(Entry { sid, rest, left, end_ns: 0, at: self.base }))
    }
}

/// Walks the blocks of an entry.
pub(super) struct Entry<'p> {
    pub(super) sid: u32,
    rest: &'p [u8],
    left: u64,
    end_ns: i64,
    at: u64,
}

impl Entry<'_> {
    /// The next block that overlaps `range`.
    pub(super) fn next(&mut self, range: TimeRange) -> Option<Option<BlockPlace>> {
        while self.left > 0 {
            let place = self.next_place()?;
            if place.range.overlaps(&range) {
                let summary = Summary::decode(&mut self.rest).ok()?;
                return Some(Some(BlockPlace { summary, ..place }));
            }
            Summary::skip(&mut self.rest).ok()?;
        }
        self.rest.is_empty().then_some(None)
    }

    /// The last block that overlaps `range`.
    fn last(&mut self, range: TimeRange) -> Option<Option<BlockPlace>> {
        let mut last = None;
        while self.left > 0 {
            let place = self.next_place()?;
            if place.range.overlaps(&range) {
                last = Some((place, self.rest));
            }
            Summary::skip(&mut self.rest).ok()?;
        }
        let Some((place, mut summary)) = last else { return Some(None) };
        let summary = Summary::decode(&mut summary).ok()?;
        Some(Some(BlockPlace { summary, ..place }))
    }

    /// The next block, but for its summary, which comes next.
    fn next_place(&mut self) -> Option<BlockPlace> {
        self.left = self.left.checked_sub(1)?;
        let count = u16::try_from(get_u64(&mut self.rest).ok()?).ok()?;
        if count == 0 || count as usize > BLOCK_SAMPLES_MAX {
            return None;
        }
        let start_ns = self.end_ns.wrapping_add(get_i64(&mut self.rest).ok()?);
        self.end_ns = start_ns.wrapping_add(get_u64(&mut self.rest).ok()? as i64);
        let times = self.place()?;
        if times.0 == self.at {
            self.at = self.at.wrapping_add(u64::from(times.1));
        }
        let values = self.place()?;
        self.at = values.0.wrapping_add(u64::from(values.1));
        let (range, summary) = (TimeRange::new(start_ns, self.end_ns), Summary::default());
        Some(BlockPlace { range, count, times, values, summary })
    }

    fn place(&mut self) -> Option<(u64, u32)> {
        let at = self.at.wrapping_add(get_i64(&mut self.rest).ok()? as u64);
        Some((at, u32::try_from(get_u64(&mut self.rest).ok()?).ok()?))
    }
}
