//! Frames: what the wal is made of.
//!
//! ```text
//! +-----------+-----------+---------+-----------------+-----------------+---------+------+-------+
//! | magic u32 | crc32 u32 | lsn u64 | durable lsn u64 | incarnation u64 | len u32 | kind | 0 0 0 |
//! +-----------+-----------+---------+-----------------+-----------------+---------+------+-------+
//! | body, len bytes                                                                              |
//! +----------------------------------------------------------------------------------------------+
//! ```
//!
//! 40 bytes and the body, little-endian. The crc covers the store's id and everything after it. The
//! lsn is the position of the frame's first byte in the stream since the store was created, and the
//! incarnation is a number that each opening of the store draws: so bytes of another store, another
//! place or another time never pass, and nobody who only chooses what a body holds can forge a
//! frame. The durable lsn says how much of the stream was on stable storage when the frame was
//! appended: it vouches for all frames before.

use crate::limits::WAL_FRAME_BYTES_MAX;
use foliot_codec::{checksum, checksum_append};

pub(super) const MAGIC: u32 = u32::from_le_bytes(*b"Ffrm");

/// Bytes of a frame before its body.
pub(crate) const HEADER_LEN: usize = 40;

/// A change of the store that a frame's body holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    /// Samples, see `rows.rs`.
    Rows,
    /// Registrations, as the index writes them.
    Register,
    /// One change of the catalog.
    Catalog,
    /// One delete, see `tombstones.rs`.
    Delete,
}

/// What a frame is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Its body is a change.
    Change(FrameKind),
    /// It repeats an earlier frame, which it is read for only if that one is damaged, see
    /// [`Copied`].
    Copy,
    /// It says nothing, but vouches for what is before it. A body of zeros keeps apart what stands
    /// on its two sides.
    Mark,
}

impl Purpose {
    pub(super) const fn code(self) -> u8 {
        match self {
            Self::Change(FrameKind::Rows) => 1,
            Self::Change(FrameKind::Register) => 2,
            Self::Change(FrameKind::Catalog) => 3,
            Self::Change(FrameKind::Delete) => 4,
            Self::Copy => 5,
            Self::Mark => 6,
        }
    }

    pub(super) fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Change(FrameKind::Rows)),
            2 => Some(Self::Change(FrameKind::Register)),
            3 => Some(Self::Change(FrameKind::Catalog)),
            4 => Some(Self::Change(FrameKind::Delete)),
            5 => Some(Self::Copy),
            6 => Some(Self::Mark),
            _ => None,
        }
    }
}

/// The crc of a frame's body, to be taken outside the wal's lock.
pub(crate) fn body_checksum(body: &[u8]) -> u32 {
    checksum(body)
}

/// Writes the headers of frames of one store and one incarnation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Author {
    store_crc: u32,
    pub(crate) incarnation: u64,
}

impl Author {
    pub(crate) fn new(store_id: u64, incarnation: u64) -> Self {
        Self { store_crc: checksum(&store_id.to_le_bytes()), incarnation }
    }

    /// The header of a frame at `lsn` with a body of `len` bytes.
    ///
    /// The body's crc is computed first and stands in for the body in the header's crc, so that a
    /// request thread can hash its body before it knows its lsn.
    pub(crate) fn header(
        &self,
        purpose: Purpose,
        lsn: u64,
        durable_lsn: u64,
        len: u32,
        body_crc: u32,
    ) -> [u8; HEADER_LEN] {
        let mut header = [0; HEADER_LEN];
        let mut rest = &mut header[..];
        let mut put = |bytes: &[u8]| {
            let (room, after) = std::mem::take(&mut rest).split_at_mut(bytes.len());
            room.copy_from_slice(bytes);
            rest = after;
        };
        put(&MAGIC.to_le_bytes());
        put(&[0; 4]);
        put(&lsn.to_le_bytes());
        put(&durable_lsn.to_le_bytes());
        put(&self.incarnation.to_le_bytes());
        put(&len.to_le_bytes());
        put(&[purpose.code()]);
        let crc = frame_checksum(self.store_crc, &header, body_crc).to_le_bytes();
        let [_, _, _, _, a, b, c, d, ..] = &mut header;
        [*a, *b, *c, *d] = crc;
        header
    }
}

fn frame_checksum(store_crc: u32, header: &[u8; HEADER_LEN], body_crc: u32) -> u32 {
    let [_, _, _, _, _, _, _, _, rest @ ..] = header;
    checksum_append(checksum_append(store_crc, rest), &body_crc.to_le_bytes())
}

/// A header read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) purpose: Purpose,
    pub(crate) durable_lsn: u64,
    pub(crate) incarnation: u64,
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
        if u32::from_le_bytes(*magic) != MAGIC || u64::from_le_bytes(*found_lsn) != lsn {
            return None;
        }
        let (durable_lsn, rest) = rest.split_first_chunk::<8>()?;
        let (incarnation, rest) = rest.split_first_chunk::<8>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let purpose = Purpose::from_code(*rest.first()?)?;
        let len = u32::from_le_bytes(*len);
        let durable_lsn = u64::from_le_bytes(*durable_lsn);
        let incarnation = u64::from_le_bytes(*incarnation);
        (len <= WAL_FRAME_BYTES_MAX).then_some(Self {
            purpose,
            durable_lsn,
            incarnation,
            len,
            bytes,
        })
    }

    /// The length of a frame whose header was written at `lsn` and may be damaged; None where these
    /// bytes are none of the segment that begins at `base`. What is left of an older segment has
    /// another lsn and vouches for less than `base`, so a damaged lsn is told from it.
    pub(super) fn begun(bytes: &[u8], lsn: u64, base: u64, incarnation: u64) -> Option<u64> {
        let bytes = bytes.first_chunk::<HEADER_LEN>()?;
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (_, rest) = rest.split_first_chunk::<4>()?;
        let (found_lsn, rest) = rest.split_first_chunk::<8>()?;
        let (durable_lsn, rest) = rest.split_first_chunk::<8>()?;
        let (found_incarnation, rest) = rest.split_first_chunk::<8>()?;
        let len = u32::from_le_bytes(*rest.first_chunk::<4>()?);
        let is_here = u64::from_le_bytes(*found_lsn) == lsn;
        let is_own = u32::from_le_bytes(*magic) == MAGIC
            && u64::from_le_bytes(*found_incarnation) == incarnation
            && u64::from_le_bytes(*durable_lsn) >= base;
        (is_here || is_own).then_some(HEADER_LEN as u64 + u64::from(len))
    }

    /// Whether `body` is the body that was written under this header, for the store of `author`.
    pub(crate) fn fits(&self, author: &Author, body: &[u8]) -> bool {
        let [_, _, _, _, a, b, c, d, ..] = self.bytes;
        let crc = frame_checksum(author.store_crc, &self.bytes, checksum(body));
        crc == u32::from_le_bytes([a, b, c, d])
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
        let (body, author) = (b"some body", Author::new(3, 4));
        let rows = Purpose::Change(FrameKind::Rows);
        let crc = body_checksum(body);
        let mut bytes = author.header(rows, 77, 50, body.len() as u32, crc).to_vec();
        bytes.extend_from_slice(body);
        let good = |bytes: &[u8], lsn, author: &Author| {
            Header::parse(bytes, lsn).is_some_and(|header| {
                let end = HEADER_LEN + header.len as usize;
                bytes.get(HEADER_LEN..end).is_some_and(|body| header.fits(author, body))
            })
        };
        assert!(good(&bytes, 77, &author));
        assert!(!good(&bytes, 78, &author));
        assert!(!good(&bytes, 77, &Author::new(2, 4)), "another store's");
        let header = Header::parse(&bytes, 77).unwrap();
        assert_eq!((header.durable_lsn, header.incarnation, header.purpose), (50, 4, rows));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(!good(&bad, 77, &author), "bit {bit}");
        }
    }

    #[test]
    fn purposes_have_codes_of_their_own() {
        let known: Vec<_> = (0..=u8::MAX).filter_map(Purpose::from_code).collect();
        assert_eq!(
            known.iter().map(|purpose| purpose.code()).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6]
        );
    }
}
