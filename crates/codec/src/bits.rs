//! Bit packing: values of equal width, laid so that plain loops become vector code.
//!
//! Values of at most 32 bits are packed in groups of 256. A group is eight interleaved lanes of
//! 32-bit words: value `8 * row + lane` lies at bit `row * width` of its lane, and word `k` of lane
//! `l` is word `8 * k + l` of the group. Every lane shifts by the same amount at the same time, so
//! no shuffle is ever needed; the idea is that of FastLanes (A. Afroozeh, P. Boncz, "The FastLanes
//! Compression Layout", VLDB 2023) in a group small enough for short blocks. What does not fill a
//! group, and wider values, form one little-endian bit string, first value lowest.

use crate::CodecError;
use crate::lane::Lane;

/// Values of one interleaved group.
const GROUP: usize = LANES * 32;

const LANES: usize = 8;

/// Wider values are not worth interleaving: their lanes would have to be 64 bits wide.
const LANE_WIDTH_MAX: u32 = 32;

/// Number of bytes that `count` values of `width` bits take.
pub(crate) fn packed_len(count: usize, width: u32) -> usize {
    let width = width as usize;
    let grouped = match width > LANE_WIDTH_MAX as usize {
        true => 0,
        false => count / GROUP * GROUP,
    };
    grouped * width / 8 + ((count - grouped) * width).div_ceil(8)
}

/// Appends the lowest `width` bits (at most 64) of every value; higher bits are dropped.
pub(crate) fn pack<T: Lane>(mut values: &[T], width: u32, out: &mut Vec<u8>) {
    if width == 0 {
        return;
    }
    if width <= LANE_WIDTH_MAX {
        let (groups, tail) = values.as_chunks::<GROUP>();
        for group in groups {
            pack_group(group, width, out);
        }
        values = tail;
    }
    pack_string(values, width, out);
}

/// Takes as many values of `width` bits as `out` has room for off the front of `bytes`.
pub(crate) fn unpack(bytes: &mut &[u8], width: u32, out: &mut [i64]) -> Result<(), CodecError> {
    if width > 64 {
        return Err(CodecError::Invalid("bit width"));
    }
    let length = packed_len(out.len(), width);
    let packed = bytes.split_off(..length).ok_or(CodecError::Truncated("packed values"))?;
    if width == 0 {
        out.fill(0);
    } else if width <= LANE_WIDTH_MAX {
        let (groups, tail) = out.as_chunks_mut::<GROUP>();
        let (grouped, rest) =
            packed.split_at_checked(groups.len() * GROUP / 8 * width as usize).unwrap_or_default();
        for (group, packed) in
            groups.iter_mut().zip(grouped.chunks_exact(GROUP / 8 * width as usize))
        {
            unpack_group(packed, width, group);
        }
        unpack_string(rest, width, tail);
    } else {
        unpack_string(packed, width, out);
    }
    Ok(())
}

#[allow(clippy::indexing_slicing, reason = "row * width / 32 < width <= 32 rows of words")]
fn pack_group<T: Lane>(values: &[T; GROUP], width: u32, out: &mut Vec<u8>) {
    let mask = u32::MAX >> (32 - width);
    let mut words = [[0u32; LANES]; 32];
    let mut bit = 0;
    for row in values.as_chunks::<LANES>().0 {
        let (word, shift) = ((bit / 32) as usize, bit % 32);
        let mut lows = [0u32; LANES];
        for lane in 0..LANES {
            lows[lane] = row[lane].low() & mask;
        }
        for (word, value) in words[word].iter_mut().zip(lows) {
            *word |= value << shift;
        }
        if shift + width > 32 {
            for (word, value) in words[word + 1].iter_mut().zip(lows) {
                *word |= value >> (32 - shift);
            }
        }
        bit += width;
    }
    let start = out.len();
    out.resize(start + GROUP / 8 * width as usize, 0);
    let bytes = out[start..].as_chunks_mut::<4>().0;
    for (bytes, word) in bytes.iter_mut().zip(words.as_flattened()) {
        *bytes = word.to_le_bytes();
    }
}

#[allow(clippy::indexing_slicing, reason = "row * width / 32 < width <= 32 rows of words")]
fn unpack_group(packed: &[u8], width: u32, out: &mut [i64; GROUP]) {
    let mut words = [[0u32; LANES]; 32];
    for (word, bytes) in words.as_flattened_mut().iter_mut().zip(packed.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let mask = u32::MAX >> (32 - width);
    let mut bit = 0;
    // Loops over numbers of lanes: those over zipped rows stay calls, which cost more than all else
    // here.
    for row in out.as_chunks_mut::<LANES>().0 {
        let (word, shift) = ((bit / 32) as usize, bit % 32);
        let low = words[word];
        let mut values = [0u32; LANES];
        for lane in 0..LANES {
            values[lane] = low[lane] >> shift;
        }
        if shift + width > 32 {
            let high = words[word + 1];
            for lane in 0..LANES {
                values[lane] |= high[lane] << (32 - shift);
            }
        }
        for lane in 0..LANES {
            row[lane] = i64::from(values[lane] & mask);
        }
        bit += width;
    }
}

fn pack_string<T: Lane>(values: &[T], width: u32, out: &mut Vec<u8>) {
    let mask = u64::MAX >> (64 - width);
    let (mut word, mut used) = (0u64, 0);
    for &value in values {
        let value = value.unsigned() & mask;
        word |= value << used;
        used += width;
        if used >= 64 {
            out.extend_from_slice(&word.to_le_bytes());
            used -= 64;
            word = match used {
                0 => 0,
                _ => value >> (width - used),
            };
        }
    }
    out.extend(word.to_le_bytes().into_iter().take(used.div_ceil(8) as usize));
}

/// Values of at most eight bits each, of which eight begin with a byte; see [`unpack_string`].
fn unpack_eights(packed: &[u8], width: u32, out: &mut [i64]) {
    let mask = u64::MAX >> (64 - width);
    let mut rest = packed;
    for eight in out.chunks_mut(8) {
        let mut word = match rest.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        rest = rest.get(width as usize..).unwrap_or_default();
        for value in eight {
            *value = (word & mask) as i64;
            word >>= width;
        }
    }
}

/// Bytes past the end of `packed` count as zero.
fn unpack_string(packed: &[u8], width: u32, out: &mut [i64]) {
    if width <= 8 {
        return unpack_eights(packed, width, out);
    }
    let mask = u64::MAX >> (64 - width);
    let (words, rest) = packed.as_chunks::<8>();
    let mut last = [0; 8];
    for (target, &byte) in last.iter_mut().zip(rest) {
        *target = byte;
    }
    let mut words =
        words.iter().chain(std::iter::once(&last)).map(|word| u64::from_le_bytes(*word));
    let mut word = words.next().unwrap_or_default();
    let mut used = 0;
    for out in out {
        let mut value = word >> used;
        used += width;
        if used >= 64 {
            used -= 64;
            word = words.next().unwrap_or_default();
            if used > 0 {
                value |= word << (width - used);
            }
        }
        *out = (value & mask) as i64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value whose bits depend on its place, so that a value in the wrong place is noticed.
    fn pattern(index: usize, width: u32) -> i64 {
        let mixed = (index as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if width == 0 { 0 } else { (mixed >> (64 - width)) as i64 }
    }

    #[test]
    fn every_width_and_odd_length_comes_back() {
        for width in 0..=64 {
            for count in [0, 1, 2, 7, 8, 31, 63, 64, 255, 256, 257, 511, 1000, 1023, 1024] {
                let values: Vec<i64> = (0..count).map(|i| pattern(i, width)).collect();
                let mut packed = vec![0xAA];
                pack(&values, width, &mut packed);
                assert_eq!(packed.len(), 1 + packed_len(count, width), "{width} {count}");
                packed.push(0x55);
                let mut rest = &packed[1..];
                let mut back = vec![-1; count];
                unpack(&mut rest, width, &mut back).unwrap();
                assert_eq!(back, values, "{width} {count}");
                assert_eq!(rest, [0x55]);
                if packed.len() > 2 {
                    let mut short = &packed[1..packed.len() - 2];
                    assert!(unpack(&mut short, width, &mut back).is_err());
                }
            }
        }
    }

    #[test]
    fn layout_is_the_documented_one() {
        let mut out = Vec::new();
        pack(&[1i64, 2, 3, 4, 5], 3, &mut out);
        // 5 | 4 << .. written first value lowest: 0b101_100_011_010_001.
        assert_eq!(out, [0b1101_0001, 0b0101_1000]);
        // With width 16, word k of a lane holds its rows 2k and 2k + 1.
        let values: Vec<i64> = (0..256).collect();
        out.clear();
        pack(&values, 16, &mut out);
        assert_eq!(out[..8], [0, 0, 8, 0, 1, 0, 9, 0]);
        assert_eq!(out[32..36], [16, 0, 24, 0]);
    }
}
