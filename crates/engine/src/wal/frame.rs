//! Frames: what the wal is made of.
//!
//! ```text
//! +-----------+-----------+----------+---------+------+----------+
//! | magic u32 | crc32 u32 | lsn u64  | len u32 | kind | 0 0 0    |  24 bytes, little-endian
//! +-----------+-----------+----------+---------+------+----------+
//! | body, len bytes                                              |
//! +--------------------------------------------------------------+
//! ```
//!
//! The crc covers everything after it. The lsn is the position of the frame's first byte in the
//! stream since the store was created, so bytes of another place or another time never pass.

use crate::limits::WAL_FRAME_BYTES_MAX;
use foliot_codec::{checksum, checksum_append};

const MAGIC: u32 = u32::from_le_bytes(*b"Ffrm");

/// Bytes of a frame before its body.
pub(crate) const HEADER_LEN: usize = 24;

/// What a frame's body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// Samples, see `rows.rs`.
    Rows = 1,
    /// Registrations, as the index writes them.
    Register = 2,
    /// One change of the catalog.
    Catalog = 3,
    /// One delete, see `tombstones.rs`.
    Delete = 4,
}

impl FrameKind {
    fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Rows),
            2 => Some(Self::Register),
            3 => Some(Self::Catalog),
            4 => Some(Self::Delete),
            _ => None,
        }
    }
}

/// The crc of a frame's body, to be taken outside the wal's lock.
pub(crate) fn body_checksum(body: &[u8]) -> u32 {
    checksum(body)
}

/// The header of a frame.
///
/// The body's crc is computed first and stands in for the body in the header's crc, so that a
/// request thread can hash its body before it knows its lsn.
pub(crate) fn header(lsn: u64, kind: FrameKind, len: u32, body_crc: u32) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    let [magic, crc, lsn_at, len_at, kind_at] = [0..4, 4..8, 8..16, 16..20, 20..21];
    let mut put = |at: std::ops::Range<usize>, bytes: &[u8]| {
        if let Some(room) = header.get_mut(at) {
            room.copy_from_slice(bytes);
        }
    };
    put(magic, &MAGIC.to_le_bytes());
    put(lsn_at, &lsn.to_le_bytes());
    put(len_at, &len.to_le_bytes());
    put(kind_at, &[kind as u8]);
    let whole = frame_checksum(&header, body_crc);
    if let Some(room) = header.get_mut(crc) {
        room.copy_from_slice(&whole.to_le_bytes());
    }
    header
}

fn frame_checksum(header: &[u8; HEADER_LEN], body_crc: u32) -> u32 {
    let [_, _, _, _, _, _, _, _, rest @ ..] = header;
    checksum_append(checksum(rest), &body_crc.to_le_bytes())
}

/// A header read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: FrameKind,
    pub(crate) len: u32,
    bytes: [u8; HEADER_LEN],
}

impl Header {
    /// Reads a header that must stand at `lsn`. Nothing if these bytes cannot be one.
    pub(crate) fn parse(bytes: &[u8], lsn: u64) -> Option<Self> {
        let bytes = *bytes.first_chunk::<HEADER_LEN>()?;
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (_, rest) = rest.split_first_chunk::<4>()?;
        let (found_lsn, rest) = rest.split_first_chunk::<8>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let kind = FrameKind::from_code(*rest.first()?)?;
        let len = u32::from_le_bytes(*len);
        let is_one = u32::from_le_bytes(*magic) == MAGIC
            && u64::from_le_bytes(*found_lsn) == lsn
            && len <= WAL_FRAME_BYTES_MAX;
        is_one.then_some(Self { kind, len, bytes })
    }

    /// Whether `body` is the body that was written under this header.
    pub(crate) fn fits(&self, body: &[u8]) -> bool {
        let [_, _, _, _, a, b, c, d, ..] = self.bytes;
        frame_checksum(&self.bytes, checksum(body)) == u32::from_le_bytes([a, b, c, d])
    }

    /// Bytes of header and body.
    pub(crate) fn frame_len(&self) -> u64 {
        HEADER_LEN as u64 + u64::from(self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_is_found() {
        let body = b"some body";
        let mut bytes =
            header(77, FrameKind::Rows, body.len() as u32, body_checksum(body)).to_vec();
        bytes.extend_from_slice(body);
        let good = |bytes: &[u8], lsn| {
            Header::parse(bytes, lsn).is_some_and(|header| {
                let end = HEADER_LEN + header.len as usize;
                bytes.get(HEADER_LEN..end).is_some_and(|body| header.fits(body))
            })
        };
        assert!(good(&bytes, 77));
        assert!(!good(&bytes, 78));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!good(&bad, 77), "bit {bit}");
        }
    }
}
