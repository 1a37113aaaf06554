//! Values on their way from block to block: decoded no further than to what goes in again.

use crate::CodecError;
use crate::numbers::{self, NO_SCALE};
use crate::values::{BlockValues, Decoded, Each, FLOAT_BITS, decode_body, kind};

/// Values as they go into a block, of any number of blocks.
///
/// Decimals keep their mantissas here, so that whoever rewrites blocks need not find them again.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// Kind of each value.
    pub kinds: Vec<u8>,
    /// Scale of each value, 255 for what is no decimal.
    pub scales: Vec<u8>,
    /// Bits of each value.
    pub bits: Vec<u64>,
    /// What spans point into.
    pub bytes: Vec<u8>,
    decoded: Decoded,
}

impl Cells {
    /// All values, to be encoded.
    pub fn values(&self) -> BlockValues<'_> {
        BlockValues {
            kinds: Each::Every(&self.kinds),
            scales: Each::Every(&self.scales),
            bits: &self.bits,
            bytes: &self.bytes,
        }
    }

    /// Empties the columns, keeping their memory.
    pub fn clear(&mut self) {
        self.kinds.clear();
        self.scales.clear();
        self.bits.clear();
        self.bytes.clear();
    }
}

/// Appends the values of a block of `count` samples to `out`.
///
/// # Errors
/// When the bytes are not what [`crate::encode_values`] wrote for so many values; `out` is then as
/// before.
pub fn decode_cells(bytes: &[u8], count: usize, out: &mut Cells) -> Result<(), CodecError> {
    let start = out.bits.len();
    let mut decoded = std::mem::take(&mut out.decoded);
    let result = append(bytes, count, &mut decoded, out);
    out.decoded = decoded;
    if result.is_err() {
        out.kinds.truncate(start);
        out.scales.truncate(start);
        out.bits.truncate(start);
    }
    result
}

fn append(
    bytes: &[u8],
    count: usize,
    decoded: &mut Decoded,
    out: &mut Cells,
) -> Result<(), CodecError> {
    let body = decode_body(bytes, count, decoded)?;
    let start = out.bits.len();
    // Spans are moved behind the bytes of earlier blocks.
    let moved = (out.bytes.len() as u64) << 32;
    out.kinds.resize(start + count, body.main);
    out.scales
        .resize(start + count, if body.domain == kind::FLOAT { body.scale } else { NO_SCALE });
    match body.domain {
        kind::STRING | kind::HISTOGRAM => {
            out.bits.extend(decoded.bits.iter().map(|span| span.wrapping_add(moved)));
        }
        FLOAT_BITS => {
            let float_bits = |int: &i64| numbers::from_ordered(*int).to_bits();
            out.bits.extend(decoded.ints.iter().map(float_bits));
        }
        _ => out.bits.extend(decoded.ints.iter().map(|int| *int as u64)),
    }
    let mut set = |place: usize, kind, scale, bits| {
        let slots = out.kinds.get_mut(start + place).zip(out.scales.get_mut(start + place));
        if let (Some((old_kind, old_scale)), Some(old_bits)) =
            (slots, out.bits.get_mut(start + place))
        {
            (*old_kind, *old_scale, *old_bits) = (kind, scale, bits);
        }
    };
    for (place, _) in decoded.others.iter().enumerate().filter(|(_, other)| **other != 0) {
        let decimal = decoded.ints.get(place).copied().unwrap_or_default();
        let whole = numbers::whole(decimal, body.scale)?;
        set(place, kind::INTEGER, NO_SCALE, whole as u64);
    }
    for exception in &decoded.exceptions {
        let bits = match exception.kind {
            kind::STRING | kind::HISTOGRAM => exception.bits.wrapping_add(moved),
            _ => exception.bits,
        };
        set(usize::from(exception.place), exception.kind, exception.scale, bits);
    }
    out.bytes.extend_from_slice(&decoded.bytes);
    Ok(())
}
