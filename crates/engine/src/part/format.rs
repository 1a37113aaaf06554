//! The bytes of a part. `docs/format/part.md` draws them; both change in one commit.
//!
//! A part is a paged file (`paged.rs`); what follows are its logical bytes.
//!
//! ```text
//! header      preamble (preamble.rs) | store id u64 | file number u64
//!             | rank u64 | namespace u32 | retention class u32 | epoch u32 | level u8 | 0 0 0
//! sections    encoded times and values of blocks; index pages stand among them
//! index page  base u64 | entries of series, ascending by id within and across pages
//!   entry     sid: varint, plain for the first entry of a page, else minus the one before
//!             | length of what follows varint | blocks varint | block...
//!   block     count varint | first time zigzag, minus the last time of the entry's block before
//!             | last - first time varint
//!             | times: offset zigzag; length varint | values: likewise | summary (block.md)
//! label page  behind each index page of a final part, see labels.rs
//! directory   one entry per index page: first sid u32 | bytes of the page u32 | position u64
//! footer      directory position u64 | index pages u32 | 0 u32 | series u64 | blocks u64
//!             | samples u64 | first time i64 | last time i64 | magic u32 | 0 u32
//! ```
//!
//! Each entry's offsets begin at the page's base, so that a reader passes over entries unread.
//! Series of one source usually share their times: a section that was written already is not
//! written again, the offset points back. A series with many blocks has several entries.

/// First bytes of the header; the magic is repeated in the footer.
pub(crate) const PREAMBLE: Preamble =
    Preamble { magic: *b"Fprt", version: VERSION, what: "a part" };
pub(crate) const HEADER_LEN: usize = 48;
pub(crate) const FOOTER_LEN: usize = 64;
pub(crate) const DIRECTORY_ENTRY_LEN: usize = 16;

use crate::limits::LEVEL_FINAL;
use crate::preamble::{Preamble, VERSION};
use foliot_model::TimeRange;

/// What a part says of itself at its front.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) store_id: u64,
    pub(crate) number: u64,
    /// Rank and level are the manifest's, see `PartEntry`; here they serve to make a lost manifest
    /// anew.
    pub(crate) rank: u64,
    pub(crate) namespace: u32,
    pub(crate) class: u32,
    pub(crate) epoch: u32,
    pub(crate) level: u8,
}

impl Header {
    /// Whether the part's pages are packed, and label pages say what its series are called.
    pub(crate) fn is_final(&self) -> bool {
        self.level >= LEVEL_FINAL
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_LEN);
        out.extend_from_slice(&PREAMBLE.bytes());
        out.extend_from_slice(&self.store_id.to_le_bytes());
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&self.rank.to_le_bytes());
        out.extend_from_slice(&self.namespace.to_le_bytes());
        out.extend_from_slice(&self.class.to_le_bytes());
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.extend_from_slice(&[self.level, 0, 0, 0]);
        out
    }

    /// Reads what follows the preamble.
    pub(crate) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let rest = &mut bytes;
        Some(Self {
            store_id: u64::from_le_bytes(take(rest)?),
            number: u64::from_le_bytes(take(rest)?),
            rank: u64::from_le_bytes(take(rest)?),
            namespace: u32::from_le_bytes(take(rest)?),
            class: u32::from_le_bytes(take(rest)?),
            epoch: u32::from_le_bytes(take(rest)?),
            level: u8::from_le_bytes(take(rest)?),
        })
    }
}

/// What a part says of itself at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Footer {
    pub(crate) directory_at: u64,
    pub(crate) index_pages: u32,
    pub(crate) series: u64,
    pub(crate) blocks: u64,
    pub(crate) samples: u64,
    pub(crate) range: TimeRange,
}

impl Footer {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(FOOTER_LEN);
        out.extend_from_slice(&self.directory_at.to_le_bytes());
        out.extend_from_slice(&self.index_pages.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.series.to_le_bytes());
        out.extend_from_slice(&self.blocks.to_le_bytes());
        out.extend_from_slice(&self.samples.to_le_bytes());
        out.extend_from_slice(&self.range.start_ns.to_le_bytes());
        out.extend_from_slice(&self.range.end_ns.to_le_bytes());
        out.extend_from_slice(&PREAMBLE.magic);
        out.extend_from_slice(&[0; 4]);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = &mut &*bytes;
        let directory_at = u64::from_le_bytes(take(rest)?);
        let index_pages = u32::from_le_bytes(take(rest)?);
        let _reserved: [u8; 4] = take(rest)?;
        let [series, blocks, samples] = [take(rest)?, take(rest)?, take(rest)?];
        let start_ns = i64::from_le_bytes(take(rest)?);
        let end_ns = i64::from_le_bytes(take(rest)?);
        let magic: [u8; 4] = take(rest)?;
        (magic == PREAMBLE.magic).then_some(Self {
            directory_at,
            index_pages,
            series: u64::from_le_bytes(series),
            blocks: u64::from_le_bytes(blocks),
            samples: u64::from_le_bytes(samples),
            range: TimeRange::new(start_ns, end_ns),
        })
    }
}

/// Takes `N` bytes off the front.
pub(crate) fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*taken)
}
