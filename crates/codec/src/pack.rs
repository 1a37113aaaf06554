//! Packing bytes that are read seldom: Zstandard frames (RFC 8878), one for each run of bytes.
//!
//! What is packed are pages of encoded blocks, whose bits are fewer than the values' entropy asks
//! for by a fifth and more, and of index entries, which resemble each other.

use crate::CodecError;
use std::cell::RefCell;
use std::fmt;
use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::CParameter;

/// How hard packing tries: higher levels gain less than a hundredth on blocks.
const LEVEL: i32 = 1;

/// Bytes that must repeat to be pointed back to. A pointer takes more than four digits' symbols.
const REPEATED_MIN: u32 = 6;

thread_local! {
    /// What unpacking needs, 160 kB, kept by each thread that ever unpacked: to make it takes a
    /// fifth as long as a page. None before the first page.
    static UNPACKER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Packs pages. Its memory, some hundred kilobytes, is kept from page to page; where there was none
/// for it, pages stay as they are.
pub struct Packer(Option<Compressor<'static>>);

impl fmt::Debug for Packer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Packer")
    }
}

impl Default for Packer {
    fn default() -> Self {
        let made = Compressor::new(LEVEL).and_then(|mut compressor| {
            compressor.set_parameter(CParameter::MinMatch(REPEATED_MIN))?;
            Ok(compressor)
        });
        Self(made.ok())
    }
}

impl Packer {
    /// Appends `bytes` packed to `out`; false, and nothing appended, when that would not be
    /// shorter.
    pub fn pack(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> bool {
        let packed = self.0.as_mut().and_then(|compressor| compressor.compress(bytes).ok());
        match packed {
            Some(packed) if packed.len() < bytes.len() => {
                out.extend_from_slice(&packed);
                true
            }
            _ => false,
        }
    }
}

/// What a [`Packer`] made `packed` of, which was `len` bytes long.
///
/// # Errors
/// When the bytes are not what a [`Packer`] wrote for so many bytes.
pub fn unpack(packed: &[u8], len: usize) -> Result<Vec<u8>, CodecError> {
    let bytes = UNPACKER.with_borrow_mut(|kept| {
        let unpacker = match kept {
            Some(unpacker) => unpacker,
            None => kept.insert(Decompressor::new()?),
        };
        unpacker.decompress(packed, len)
    });
    let bytes = bytes.map_err(|_| CodecError::Invalid("packed page"))?;
    match bytes.len() == len {
        true => Ok(bytes),
        false => Err(CodecError::Truncated("packed page")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out() {
        let bytes: Vec<u8> = (0..30_000u32).map(|i| (i * i % 23) as u8).collect();
        let mut packed = vec![7];
        assert!(Packer::default().pack(&bytes, &mut packed));
        assert!(packed.len() < bytes.len() / 2);
        assert_eq!(unpack(&packed[1..], bytes.len()).unwrap(), bytes);
        assert!(unpack(&packed[1..], bytes.len() - 1).is_err());
        assert!(unpack(&packed[1..], bytes.len() + 1).is_err());
        assert!(unpack(&packed[1..20], bytes.len()).is_err());
        assert!(unpack(&[], 5).is_err());
    }

    #[test]
    fn what_would_not_shrink_is_left() {
        let mut random = 1u64;
        let mut next = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 56) as u8
        };
        let bytes: Vec<u8> = (0..10_000).map(|_| next()).collect();
        let mut packed = Vec::new();
        assert!(!Packer::default().pack(&bytes, &mut packed) && packed.is_empty());
    }
}
