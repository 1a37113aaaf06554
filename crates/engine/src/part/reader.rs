//! Reading a part: which blocks a series has, and their bytes.

use super::format::{DIRECTORY_ENTRY_LEN, FOOTER_LEN, Footer, HEADER_LEN, Header, VERSION, take};
use crate::block::Decoder;
use crate::cache::Cache;
use crate::error::Error;
use crate::limits::BLOCK_SAMPLES_MAX;
use crate::paged::PagedReader;
use foliot_codec::Summary;
use foliot_codec::varint::{get_i64, get_u64};
use foliot_disk::Disk;
use foliot_model::{Samples, TimeRange};
use std::path::Path;
use std::sync::Arc;

struct IndexPage {
    first_sid: u32,
    len: u32,
    at: u64,
}

/// An open part. In memory: 16 bytes per hundred blocks.
pub(crate) struct Part {
    paged: PagedReader,
    pub(crate) header: Header,
    pub(crate) footer: Footer,
    directory: Vec<IndexPage>,
}

/// Where a block lies, and what it holds.
#[derive(Clone, Debug)]
pub(crate) struct BlockPlace {
    pub(crate) range: TimeRange,
    pub(crate) count: u16,
    times: (u64, u32),
    values: (u64, u32),
    /// What the block's values come to, for plans that need no more.
    pub(crate) summary: Summary,
}

impl Part {
    /// Opens a part and checks what it says of itself.
    pub(crate) fn open(
        disk: &dyn Disk,
        path: &Path,
        number: u64,
        store_id: u64,
        cache: Arc<Cache>,
    ) -> Result<Self, Error> {
        let paged = PagedReader::open(disk, path, number, cache)?;
        if paged.len() < (HEADER_LEN + FOOTER_LEN) as u64 {
            return Err(paged.corrupt(0, "too short for a part"));
        }
        let mut bytes = Vec::new();
        paged.read(0, HEADER_LEN, &mut bytes)?;
        let (version, header) =
            Header::decode(&bytes).ok_or_else(|| paged.corrupt(0, "not a part file"))?;
        if version > VERSION {
            return Err(Error::TooNew { path: path.to_owned(), version, known: VERSION });
        }
        if header.number != number || header.store_id != store_id {
            return Err(paged.corrupt(0, "belongs to another store or another place"));
        }
        let footer_at = paged.len() - FOOTER_LEN as u64;
        bytes.clear();
        paged.read(footer_at, FOOTER_LEN, &mut bytes)?;
        let footer = Footer::decode(&bytes).ok_or_else(|| paged.corrupt(footer_at, "no footer"))?;
        let directory = Self::read_directory(&paged, &footer, footer_at)?;
        Ok(Self { paged, header, footer, directory })
    }

    fn read_directory(
        paged: &PagedReader,
        footer: &Footer,
        footer_at: u64,
    ) -> Result<Vec<IndexPage>, Error> {
        let len = footer.index_pages as usize * DIRECTORY_ENTRY_LEN;
        if footer.directory_at.checked_add(len as u64) != Some(footer_at) {
            return Err(paged.corrupt(footer_at, "directory does not end at the footer"));
        }
        let mut bytes = Vec::with_capacity(len);
        paged.read(footer.directory_at, len, &mut bytes)?;
        let entry = |bytes: &[u8]| {
            let rest = &mut &*bytes;
            Some(IndexPage {
                first_sid: u32::from_le_bytes(take(rest)?),
                len: u32::from_le_bytes(take(rest)?),
                at: u64::from_le_bytes(take(rest)?),
            })
        };
        Ok(bytes.chunks_exact(DIRECTORY_ENTRY_LEN).filter_map(entry).collect())
    }

    /// The series' blocks that overlap `range`, ascending in time.
    pub(crate) fn find(
        &self,
        sid: u32,
        range: TimeRange,
        buffer: &mut Vec<u8>,
        out: &mut Vec<BlockPlace>,
    ) -> Result<(), Error> {
        if !self.footer.range.overlaps(&range) {
            return Ok(());
        }
        let after = self.directory.partition_point(|page| page.first_sid <= sid);
        let Some(page) = after.checked_sub(1).and_then(|index| self.directory.get(index)) else {
            return Ok(());
        };
        buffer.clear();
        self.paged.read(page.at, page.len as usize, buffer)?;
        let mut entries = Entries { rest: buffer, sid: None, section_end: HEADER_LEN as u64 };
        while let Some(found) = entries
            .next(sid, range, out)
            .ok_or_else(|| self.paged.corrupt(page.at, "index page cannot be read"))?
        {
            if found >= sid {
                break;
            }
        }
        Ok(())
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

    /// Logical bytes of the file.
    pub(crate) fn len(&self) -> u64 {
        self.paged.len()
    }
}

/// Walks the entries of an index page.
struct Entries<'p> {
    rest: &'p [u8],
    sid: Option<u32>,
    section_end: u64,
}

impl Entries<'_> {
    /// Reads one entry; its blocks in `range` are kept in `out` if it is that of `wanted`. The
    /// outer nothing means bytes that cannot be read, the inner one the page's end.
    fn next(
        &mut self,
        wanted: u32,
        range: TimeRange,
        out: &mut Vec<BlockPlace>,
    ) -> Option<Option<u32>> {
        if self.rest.is_empty() {
            return Some(None);
        }
        let delta = u32::try_from(get_u64(&mut self.rest).ok()?).ok()?;
        let sid = match self.sid {
            None => delta,
            Some(before) => before.checked_add(delta)?,
        };
        self.sid = Some(sid);
        let blocks = get_u64(&mut self.rest).ok()?;
        let mut end_ns = 0;
        for _ in 0..blocks {
            let place = self.block(end_ns)?;
            end_ns = place.range.end_ns;
            if sid == wanted && place.range.overlaps(&range) {
                out.push(place);
            }
        }
        Some(Some(sid))
    }

    fn block(&mut self, end_ns_before: i64) -> Option<BlockPlace> {
        let count = u16::try_from(get_u64(&mut self.rest).ok()?).ok()?;
        if count == 0 || count as usize > BLOCK_SAMPLES_MAX {
            return None;
        }
        let start_ns = end_ns_before.wrapping_add(get_i64(&mut self.rest).ok()?);
        let end_ns = start_ns.wrapping_add(get_u64(&mut self.rest).ok()? as i64);
        let times = self.place()?;
        let values = self.place()?;
        let summary = Summary::decode(&mut self.rest).ok()?;
        Some(BlockPlace { range: TimeRange::new(start_ns, end_ns), count, times, values, summary })
    }

    fn place(&mut self) -> Option<(u64, u32)> {
        let at = self.section_end.wrapping_add(get_i64(&mut self.rest).ok()? as u64);
        let len = u32::try_from(get_u64(&mut self.rest).ok()?).ok()?;
        self.section_end = at.wrapping_add(u64::from(len));
        Some((at, len))
    }
}
