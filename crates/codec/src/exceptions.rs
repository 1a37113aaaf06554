//! Values that do not fit the domain of their block, each stored by itself.
//!
//! ```text
//! exceptions = count varint, count * (gap varint, tag u8, value)
//! value      = f64 bits u64 (tag 0) | zigzag (1) | varint (2) | u8 (3)
//!            | length varint, bytes (4, 5) | scale u8, mantissa zigzag (6)
//! ```

use crate::CodecError;
use crate::numbers::{self, NO_SCALE, SCALE_MAX};
use crate::values::{BlockValues, kind};
use crate::varint::{get_i64, get_u64, put_i64, put_u64};

/// The tag of a float stored as a decimal; other tags are kinds.
const DECIMAL: u8 = 6;

/// One value by itself, as it comes out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exception {
    pub(crate) place: u16,
    pub(crate) kind: u8,
    /// Digits after the point of a decimal, else [`NO_SCALE`].
    pub(crate) scale: u8,
    /// A mantissa, IEEE bits, an integer, 0 or 1, or a span of the block's bytes.
    pub(crate) bits: u64,
}

impl Exception {
    /// The bits without a scale: IEEE bits in place of a mantissa.
    pub(crate) fn plain_bits(&self) -> u64 {
        match self.kind {
            kind::FLOAT => numbers::cell_float(self.bits, self.scale).to_bits(),
            _ => self.bits,
        }
    }
}

/// Appends the values at `places`, which ascend.
pub(crate) fn encode(values: &BlockValues<'_>, places: &[u16], out: &mut Vec<u8>) {
    put_u64(out, places.len() as u64);
    let mut next = 0;
    for &place in places {
        put_u64(out, u64::from(place - next));
        next = place + 1;
        let index = usize::from(place);
        let bits = values.bits.get(index).copied().unwrap_or_default();
        let kind = values.kinds.get(index).unwrap_or_default();
        let scale = values.scales.get(index).unwrap_or_default();
        match kind {
            kind::FLOAT if scale <= SCALE_MAX => {
                out.extend([DECIMAL, scale]);
                put_i64(out, bits as i64);
                continue;
            }
            _ => out.push(kind),
        }
        match kind {
            kind::FLOAT => out.extend_from_slice(&bits.to_le_bytes()),
            kind::INTEGER => put_i64(out, bits as i64),
            kind::UNSIGNED => put_u64(out, bits),
            kind::BOOLEAN => out.push(u8::from(bits != 0)),
            _ => {
                let text = values.slice(bits);
                put_u64(out, text.len() as u64);
                out.extend_from_slice(text);
            }
        }
    }
}

/// Takes exceptions of a block of `count` samples off the front of `bytes`; text goes to `text`.
pub(crate) fn decode(
    bytes: &mut &[u8],
    count: usize,
    out: &mut Vec<Exception>,
    text: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let exceptions = get_u64(bytes)?;
    if exceptions > count as u64 {
        return Err(CodecError::Invalid("number of exceptions"));
    }
    let mut next = 0u64;
    for _ in 0..exceptions {
        let place = get_u64(bytes)?.saturating_add(next);
        if place >= count as u64 {
            return Err(CodecError::Invalid("place of an exception"));
        }
        next = place + 1;
        let mut tag = *bytes.split_off_first().ok_or(CodecError::Truncated("exception"))?;
        let mut scale = NO_SCALE;
        if tag == DECIMAL {
            tag = kind::FLOAT;
            scale = *bytes.split_off_first().ok_or(CodecError::Truncated("exception"))?;
            if scale > SCALE_MAX {
                return Err(CodecError::Invalid("scale"));
            }
        }
        let bits = match scale {
            NO_SCALE => decode_value(tag, bytes, text)?,
            _ => get_i64(bytes)? as u64,
        };
        out.push(Exception { place: place as u16, kind: tag, scale, bits });
    }
    Ok(())
}

fn decode_value(tag: u8, bytes: &mut &[u8], text: &mut Vec<u8>) -> Result<u64, CodecError> {
    const SHORT: CodecError = CodecError::Truncated("exception");
    match tag {
        kind::FLOAT => {
            let bits = bytes.split_off(..8).ok_or(SHORT)?;
            Ok(u64::from_le_bytes(bits.try_into().map_err(|_| SHORT)?))
        }
        kind::INTEGER => Ok(get_i64(bytes)? as u64),
        kind::UNSIGNED => get_u64(bytes),
        kind::BOOLEAN => Ok(u64::from(*bytes.split_off_first().ok_or(SHORT)? != 0)),
        kind::STRING | kind::HISTOGRAM => {
            let length = usize::try_from(get_u64(bytes)?).map_err(|_| SHORT)?;
            let item = bytes.split_off(..length).ok_or(SHORT)?;
            let span = (text.len() as u64) << 32 | item.len() as u64;
            text.extend_from_slice(item);
            Ok(span)
        }
        _ => Err(CodecError::Invalid("kind of an exception")),
    }
}
