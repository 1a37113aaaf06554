//! Writing a part: series ascending by id, blocks of a series ascending in time.

use super::format::{FOOTER_LEN, Footer, HEADER_LEN, Header};
use crate::block::Block;
use crate::error::Error;
use crate::limits::INDEX_PAGE_BYTES;
use crate::paged::PagedWriter;
use foliot_codec::varint::{put_i64, put_u64};
use foliot_disk::Disk;
use foliot_model::TimeRange;
use std::path::Path;

/// Where a section lies.
#[derive(Clone, Copy, Default)]
struct Section {
    at: u64,
    len: u32,
}

/// A part under construction. Memory: one index page, and 16 bytes for each one closed.
pub(crate) struct PartWriter {
    paged: PagedWriter,
    /// Entries of the open index page.
    page: Vec<u8>,
    page_first_sid: u32,
    directory: Vec<u8>,
    index_pages: u32,
    sid_before: u32,
    section_end: u64,
    times_before: Vec<u8>,
    times_section: Section,
    series: u64,
    blocks: u64,
    samples: u64,
    range: TimeRange,
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
        paged.write(&header.encode())?;
        Ok(Self {
            paged,
            page: Vec::with_capacity(INDEX_PAGE_BYTES + 1024),
            page_first_sid: 0,
            directory: Vec::new(),
            index_pages: 0,
            sid_before: 0,
            section_end: HEADER_LEN as u64,
            times_before: Vec::new(),
            times_section: Section::default(),
            series: 0,
            blocks: 0,
            samples: 0,
            range: TimeRange::new(i64::MAX, i64::MIN),
        })
    }

    /// Adds a series. Ids ascend from call to call, times from block to block.
    pub(crate) fn push<'b>(
        &mut self,
        sid: u32,
        blocks: impl ExactSizeIterator<Item = &'b Block>,
    ) -> Result<(), Error> {
        if blocks.len() == 0 {
            return Ok(());
        }
        debug_assert!(self.series == 0 || sid > self.sid_before, "ids ascend");
        match self.page.is_empty() {
            true => {
                self.page_first_sid = sid;
                put_u64(&mut self.page, u64::from(sid));
            }
            false => put_u64(&mut self.page, u64::from(sid - self.sid_before)),
        }
        self.sid_before = sid;
        put_u64(&mut self.page, blocks.len() as u64);
        let mut end_ns = 0;
        for block in blocks {
            self.push_block(block, end_ns)?;
            end_ns = block.range.end_ns;
        }
        self.series += 1;
        if self.page.len() >= INDEX_PAGE_BYTES {
            self.end_page()?;
        }
        Ok(())
    }

    fn push_block(&mut self, block: &Block, end_ns_before: i64) -> Result<(), Error> {
        let TimeRange { start_ns, end_ns } = block.range;
        put_u64(&mut self.page, u64::from(block.count));
        put_i64(&mut self.page, start_ns.wrapping_sub(end_ns_before));
        put_u64(&mut self.page, end_ns.wrapping_sub(start_ns) as u64);
        if block.times() != self.times_before || self.times_before.is_empty() {
            self.times_section = self.put_section(block.times())?;
            self.times_before.clear();
            self.times_before.extend_from_slice(block.times());
        }
        let times = self.times_section;
        self.put_place(times);
        let values = self.put_section(block.values())?;
        self.put_place(values);
        block.summary.encode(&mut self.page);
        self.blocks += 1;
        self.samples += u64::from(block.count);
        self.range.start_ns = self.range.start_ns.min(start_ns);
        self.range.end_ns = self.range.end_ns.max(end_ns);
        Ok(())
    }

    fn put_section(&mut self, bytes: &[u8]) -> Result<Section, Error> {
        let at = self.paged.position();
        self.paged.write(bytes)?;
        Ok(Section { at, len: bytes.len() as u32 })
    }

    fn put_place(&mut self, section: Section) {
        put_i64(&mut self.page, section.at.wrapping_sub(self.section_end) as i64);
        put_u64(&mut self.page, u64::from(section.len));
        self.section_end = section.at + u64::from(section.len);
    }

    fn end_page(&mut self) -> Result<(), Error> {
        if self.page.is_empty() {
            return Ok(());
        }
        let at = self.paged.position();
        self.directory.extend_from_slice(&self.page_first_sid.to_le_bytes());
        self.directory.extend_from_slice(&(self.page.len() as u32).to_le_bytes());
        self.directory.extend_from_slice(&at.to_le_bytes());
        self.index_pages += 1;
        self.paged.write(&self.page)?;
        self.page.clear();
        // A page is read by itself: its offsets count from the first section again.
        self.section_end = HEADER_LEN as u64;
        Ok(())
    }

    /// Ends the part and syncs it.
    pub(crate) fn finish(mut self) -> Result<Written, Error> {
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
