//! Writing a part: series ascending by id, blocks of a series ascending in time.

use super::bay::Bay;
use super::format::{FOOTER_LEN, Footer, HEADER_LEN, Header};
use super::labels::LabelPage;
use crate::error::Error;
use crate::limits::{ENTRY_BLOCKS_MAX, INDEX_PAGE_BYTES, TIMES_REMEMBERED_BYTES};
use crate::paged::PagedWriter;
use foliot_codec::Summary;
use foliot_codec::varint::{put_i64, put_u64};
use foliot_disk::Disk;
use foliot_index::Identity;
use foliot_model::TimeRange;
use std::collections::HashMap;
use std::path::Path;

/// Where a section lies.
#[derive(Clone, Copy, Default)]
struct Section {
    at: u64,
    len: u32,
}

/// A block as it goes into a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRef<'b> {
    pub(crate) range: TimeRange,
    pub(crate) count: u16,
    pub(crate) times: &'b [u8],
    pub(crate) values: &'b [u8],
    pub(crate) summary: &'b Summary,
}

/// A part under construction. Memory: one index page and one entry, 16 bytes for each page closed,
/// and the times remembered, or a bay of a final part.
pub(crate) struct PartWriter {
    paged: PagedWriter,
    /// The open index page, without its base.
    page: Vec<u8>,
    page_base: u64,
    page_first_sid: u32,
    directory: Vec<u8>,
    index_pages: u32,
    /// Blocks of the open entry.
    entry: Vec<u8>,
    entry_sid: u32,
    entry_blocks: u32,
    /// Last time of the block before in the entry, and where its values ended.
    entry_end_ns: i64,
    entry_at: u64,
    /// The id of the entry before in the page.
    sid_before: u32,
    times: Times,
    /// What is not written yet, in a final part.
    bay: Option<Bay>,
    /// What the series of the open page are called, in a final part.
    labels: Option<LabelPage>,
    series: u64,
    blocks: u64,
    samples: u64,
    range: TimeRange,
}

/// Times written before, to be pointed back to.
#[derive(Default)]
struct Times {
    last: Vec<u8>,
    last_section: Section,
    known: HashMap<Box<[u8]>, Section>,
    bytes: usize,
}

impl Times {
    fn find(&self, times: &[u8]) -> Option<Section> {
        match times == self.last {
            true => Some(self.last_section),
            false => self.known.get(times).copied(),
        }
    }

    fn remember(&mut self, times: &[u8], section: Section) {
        if self.bytes + times.len() > TIMES_REMEMBERED_BYTES {
            self.known.clear();
            self.bytes = 0;
        }
        self.bytes += times.len();
        self.known.insert(times.into(), section);
    }
}

/// A part that was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    pub(crate) samples: u64,
    pub(crate) range: TimeRange,
}

impl PartWriter {
    pub(crate) fn create(disk: &dyn Disk, path: &Path, header: &Header) -> Result<Self, Error> {
        let mut paged = PagedWriter::create(disk, path, header.number)?;
        if header.is_final() {
            paged = paged.packed();
        }
        paged.write(&header.encode())?;
        Ok(Self {
            paged,
            page: Vec::with_capacity(INDEX_PAGE_BYTES + 1024),
            page_base: HEADER_LEN as u64,
            page_first_sid: 0,
            directory: Vec::new(),
            index_pages: 0,
            entry: Vec::new(),
            entry_sid: 0,
            entry_blocks: 0,
            entry_end_ns: 0,
            entry_at: 0,
            sid_before: 0,
            times: Times::default(),
            bay: header.is_final().then(|| Bay::within(u64::MAX)),
            labels: header.is_final().then(LabelPage::default),
            series: 0,
            blocks: 0,
            samples: 0,
            range: TimeRange::new(i64::MAX, i64::MIN),
        })
    }

    /// Has it put less into order at once, where there is little memory.
    pub(crate) fn within(mut self, memory_bytes: u64) -> Self {
        self.bay = self.bay.map(|_| Bay::within(memory_bytes));
        self
    }

    /// Says which database and policy the part belongs to. The first thing in a final part.
    pub(crate) fn place(&mut self, database: &str, policy: &str) -> Result<(), Error> {
        let mut bytes = Vec::new();
        for text in [database, policy] {
            put_u64(&mut bytes, text.len() as u64);
            bytes.extend_from_slice(text.as_bytes());
        }
        self.paged.write(&bytes)?;
        self.page_base = self.paged.position();
        Ok(())
    }

    /// Says what the series of the blocks that follow is called. Final parts only.
    pub(crate) fn name(&mut self, identity: Option<Identity>) {
        if let Some(bay) = &mut self.bay {
            bay.name(identity);
        }
    }

    /// Adds a block of series `sid`. Ids ascend from call to call, and times while the id stays.
    pub(crate) fn push(&mut self, sid: u32, block: BlockRef<'_>) -> Result<(), Error> {
        if let Some(bay) = &mut self.bay {
            bay.push(sid, block);
            return match bay.is_full() {
                true => self.unload(),
                false => Ok(()),
            };
        }
        self.begin_entry(sid)?;
        let times = self.put_times(block.times)?;
        let values = self.put_section(block.values)?;
        self.enter(block.range, block.count, (times, values), block.summary);
        Ok(())
    }

    /// Writes what is in the bay.
    fn unload(&mut self) -> Result<(), Error> {
        let Some(bay) = self.bay.take() else { return Ok(()) };
        let times = bay.times().map(|times| self.put_section(times));
        let times = times.collect::<Result<Vec<_>, _>>()?;
        let mut values = vec![Section::default(); bay.blocks.len()];
        for (number, bytes) in bay.values() {
            let section = self.put_section(bytes)?;
            values.get_mut(number).into_iter().for_each(|place| *place = section);
        }
        for (block, values) in bay.blocks.iter().zip(values) {
            let Some(series) = bay.series.get(block.series as usize) else { continue };
            let times = times.get(block.times as usize).copied().unwrap_or_default();
            if self.begin_entry(series.sid)?
                && let Some(labels) = &mut self.labels
            {
                labels.name(series.identity.as_ref());
            }
            self.enter(block.range, block.count, (times, values), &block.summary);
        }
        self.bay = Some(bay.emptied());
        Ok(())
    }

    /// Makes sure that the open entry is one of series `sid` with room for a block; whether it is
    /// the first of that series.
    fn begin_entry(&mut self, sid: u32) -> Result<bool, Error> {
        let is_same = self.entry_blocks > 0 && self.entry_sid == sid;
        if is_same && self.entry_blocks < ENTRY_BLOCKS_MAX {
            return Ok(false);
        }
        debug_assert!(self.entry_blocks == 0 || sid >= self.entry_sid, "ids ascend");
        self.end_entry()?;
        self.entry_sid = sid;
        self.entry_end_ns = 0;
        self.entry_at = self.page_base;
        self.series += u64::from(!is_same);
        Ok(!is_same)
    }

    /// Adds a block whose sections are written to the open entry.
    fn enter(
        &mut self,
        range: TimeRange,
        count: u16,
        (times, values): (Section, Section),
        summary: &Summary,
    ) {
        let TimeRange { start_ns, end_ns } = range;
        debug_assert!(self.entry_blocks == 0 || start_ns > self.entry_end_ns, "times ascend");
        put_u64(&mut self.entry, u64::from(count));
        put_i64(&mut self.entry, start_ns.wrapping_sub(self.entry_end_ns));
        put_u64(&mut self.entry, end_ns.wrapping_sub(start_ns) as u64);
        self.put_place(times);
        if times.at == self.entry_at {
            self.entry_at += u64::from(times.len);
        }
        self.put_place(values);
        self.entry_at = values.at + u64::from(values.len);
        summary.encode(&mut self.entry);
        self.entry_end_ns = end_ns;
        self.entry_blocks += 1;
        self.blocks += 1;
        self.samples += u64::from(count);
        self.range.start_ns = self.range.start_ns.min(start_ns);
        self.range.end_ns = self.range.end_ns.max(end_ns);
    }

    fn put_times(&mut self, times: &[u8]) -> Result<Section, Error> {
        let section = match self.times.find(times) {
            Some(section) => section,
            None => {
                let section = self.put_section(times)?;
                self.times.remember(times, section);
                section
            }
        };
        if times != self.times.last {
            self.times.last.clear();
            self.times.last.extend_from_slice(times);
            self.times.last_section = section;
        }
        Ok(section)
    }

    fn put_section(&mut self, bytes: &[u8]) -> Result<Section, Error> {
        let at = self.paged.position();
        self.paged.write(bytes)?;
        Ok(Section { at, len: bytes.len() as u32 })
    }

    fn put_place(&mut self, section: Section) {
        put_i64(&mut self.entry, section.at.wrapping_sub(self.entry_at) as i64);
        put_u64(&mut self.entry, u64::from(section.len));
    }

    fn end_entry(&mut self) -> Result<(), Error> {
        if self.entry_blocks == 0 {
            return Ok(());
        }
        match self.page.is_empty() {
            true => {
                self.page_first_sid = self.entry_sid;
                put_u64(&mut self.page, u64::from(self.entry_sid));
            }
            false => put_u64(&mut self.page, u64::from(self.entry_sid - self.sid_before)),
        }
        self.sid_before = self.entry_sid;
        if let Some(labels) = &mut self.labels {
            labels.add(self.entry_sid);
        }
        let mut blocks = Vec::with_capacity(4);
        put_u64(&mut blocks, u64::from(self.entry_blocks));
        put_u64(&mut self.page, (blocks.len() + self.entry.len()) as u64);
        self.page.extend_from_slice(&blocks);
        self.page.extend_from_slice(&self.entry);
        self.entry.clear();
        self.entry_blocks = 0;
        match self.page.len() >= INDEX_PAGE_BYTES {
            true => self.end_page(),
            false => Ok(()),
        }
    }

    fn end_page(&mut self) -> Result<(), Error> {
        if self.page.is_empty() {
            return Ok(());
        }
        let at = self.paged.position();
        let base = self.page_base.to_le_bytes();
        let len = (base.len() + self.page.len()) as u32;
        self.directory.extend_from_slice(&self.page_first_sid.to_le_bytes());
        self.directory.extend_from_slice(&len.to_le_bytes());
        self.directory.extend_from_slice(&at.to_le_bytes());
        self.index_pages += 1;
        self.paged.write(&base)?;
        self.paged.write(&self.page)?;
        self.page.clear();
        if let Some(labels) = &mut self.labels {
            self.paged.write(&labels.take())?;
        }
        self.page_base = self.paged.position();
        Ok(())
    }

    /// Ends the part and syncs it.
    pub(crate) fn finish(mut self) -> Result<Written, Error> {
        self.unload()?;
        self.end_entry()?;
        self.end_page()?;
        let directory_at = self.paged.position();
        self.paged.write(&self.directory)?;
        let footer = Footer {
            directory_at,
            index_pages: self.index_pages,
            series: self.series,
            blocks: self.blocks,
            samples: self.samples,
            range: self.range,
        };
        let footer = footer.encode();
        debug_assert_eq!(footer.len(), FOOTER_LEN);
        self.paged.write(&footer)?;
        let bytes = self.paged.finish()?;
        Ok(Written { bytes, samples: self.samples, range: self.range })
    }
}
