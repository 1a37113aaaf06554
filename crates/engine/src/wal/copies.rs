//! Copies: every change but samples stands in the wal twice, at least a sector apart.
//!
//! Samples that a lost sector takes are lost alone. A registration that it takes would take every
//! later sample of its series, a delete would bring samples back, a fact lose a database its name.
//! So frames of these kinds are repeated further on, as soon as the stream has gone on by a sector,
//! and at the latest with the next sync, behind a mark that fills the gap. What was not repeated
//! before a stop is repeated when the store is opened again.
//!
//! ```text
//! body of a copy   body of the other frame | its lsn u64 | its kind u8
//! ```

use super::frame::{FrameKind, HEADER_LEN, Purpose};
use crate::limits::SECTOR_BYTES;
use foliot_codec::checksum_append;

/// Bytes of a copy's body beyond those that it repeats.
const TAIL_LEN: usize = 9;

/// A change that stands in the wal once so far.
#[derive(Debug, Clone)]
pub(crate) struct Single {
    /// Where its frame begins.
    pub(crate) lsn: u64,
    pub(crate) kind: FrameKind,
    pub(crate) body: Vec<u8>,
    /// The checksum of the body.
    pub(crate) body_crc: u32,
}

impl Single {
    /// Whether frames of a kind are repeated.
    pub(crate) fn is_kind(kind: FrameKind) -> bool {
        kind != FrameKind::Rows
    }

    /// Where its frame ends.
    pub(crate) fn end_lsn(&self) -> u64 {
        self.lsn + (HEADER_LEN + self.body.len()) as u64
    }

    /// From where on its copy may stand.
    pub(super) fn copy_from_lsn(&self) -> u64 {
        self.end_lsn() + SECTOR_BYTES as u64
    }

    /// Bytes of its copy's body.
    pub(super) fn copy_len(&self) -> usize {
        self.body.len() + TAIL_LEN
    }

    /// What stands behind its body in the copy, and the checksum of both.
    pub(super) fn copy_tail(&self) -> ([u8; TAIL_LEN], u32) {
        let mut tail = [0; TAIL_LEN];
        let (place, kind) = tail.split_at_mut(TAIL_LEN - 1);
        place.copy_from_slice(&self.lsn.to_le_bytes());
        kind.fill(Purpose::Change(self.kind).code());
        (tail, checksum_append(self.body_crc, &tail))
    }
}

/// What a copy repeats, as its body says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Copied<'b> {
    pub(crate) lsn: u64,
    pub(crate) kind: FrameKind,
    pub(crate) body: &'b [u8],
}

impl<'b> Copied<'b> {
    /// Reads the body of a copy; nothing if it cannot be one.
    pub(crate) fn parse(body: &'b [u8]) -> Option<Self> {
        let (rest, kind) = body.split_last_chunk::<1>()?;
        let (body, lsn) = rest.split_last_chunk::<8>()?;
        match Purpose::from_code(u8::from_le_bytes(*kind))? {
            Purpose::Change(kind) => Some(Self { lsn: u64::from_le_bytes(*lsn), kind, body }),
            Purpose::Copy | Purpose::Mark => None,
        }
    }

    /// Bytes of the frame that it repeats.
    pub(crate) fn frame_len(&self) -> u64 {
        (HEADER_LEN + self.body.len()) as u64
    }
}
