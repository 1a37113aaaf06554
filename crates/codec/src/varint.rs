//! Integers of variable length: LEB128, seven bits per byte, least significant first; signed
//! numbers are folded to unsigned ones first (zigzag), so that small magnitudes stay short.

use crate::CodecError;

/// The longest encoding of a 64-bit integer, in bytes.
pub const VARINT_BYTES_MAX: usize = 10;

/// Appends `value`.
#[inline]
pub fn put_u64(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The first number that takes more than two bytes.
pub const SHORT_END: u64 = 1 << 14;

/// The one or two bytes that [`put_u64`] appends for a number below [`SHORT_END`], the first one
/// lowest, and how many they are. Of others they mean nothing.
#[inline(always)]
pub const fn spread_short(value: u64) -> (u16, usize) {
    // What goes into the second byte moves up by one.
    let second = value & 0x3f80;
    let more = (second != 0) as u64;
    ((value.wrapping_add(second) | more << 7) as u16, 1 + more as usize)
}

/// The bytes that [`put_u64`] appends, the first one lowest, and how many they are. Of more than
/// two bytes seven bits go to each by halves: numbers of any length take the same few steps.
#[inline(always)]
pub const fn spread_u64(value: u64) -> (u128, u8) {
    const MORE: u128 = 0x80_8080_8080_8080_8080;
    // Most steps from id to id, and many values, take no more.
    if value < SHORT_END {
        let (bytes, len) = spread_short(value);
        return (bytes as u128, len as u8);
    }
    let len = (70 - (value | 1).leading_zeros()) / 7;
    let low = (value & 0x0fff_ffff) | ((value & 0x00ff_ffff_f000_0000) << 4);
    let low = (low & 0x0000_3fff_0000_3fff) | ((low & 0x0fff_c000_0fff_c000) << 2);
    let low = (low & 0x007f_007f_007f_007f) | ((low & 0x3f80_3f80_3f80_3f80) << 1);
    let high = ((value >> 56) & 0x7f) | ((value >> 63) << 8);
    let more = MORE & ((1 << (8 * (len - 1))) - 1);
    (low as u128 | ((high as u128) << 64) | more, len as u8)
}

/// Appends `value`.
#[inline]
pub fn put_u32(out: &mut Vec<u8>, value: u32) {
    put_u64(out, u64::from(value));
}

/// Appends `value`, folded.
#[inline]
pub fn put_i64(out: &mut Vec<u8>, value: i64) {
    put_u64(out, zigzag(value));
}

/// Takes an integer off the front of `bytes`.
///
/// # Errors
/// When the bytes end early or spell a number of more than 64 bits.
#[inline]
pub fn get_u64(bytes: &mut &[u8]) -> Result<u64, CodecError> {
    match bytes.split_first() {
        Some((&byte, rest)) if byte < 0x80 => {
            *bytes = rest;
            Ok(u64::from(byte))
        }
        _ => get_long(bytes),
    }
}

/// Takes an integer off the front of `bytes`.
///
/// # Errors
/// When the bytes end early or spell a number of more than 32 bits.
#[inline]
pub fn get_u32(bytes: &mut &[u8]) -> Result<u32, CodecError> {
    u32::try_from(get_u64(bytes)?).map_err(|_| CodecError::Invalid("integer of 32 bits"))
}

/// Takes a folded integer off the front of `bytes`.
///
/// # Errors
/// When the bytes end early or spell a number of more than 64 bits.
#[inline]
pub fn get_i64(bytes: &mut &[u8]) -> Result<i64, CodecError> {
    Ok(unzigzag(get_u64(bytes)?))
}

/// Folds the sign into the lowest bit: 0, -1, 1, -2 become 0, 1, 2, 3.
#[inline]
pub const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The inverse of [`zigzag`].
#[inline]
pub const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Bytes that [`put_u64`] needs for `value`.
#[inline]
pub const fn len_u64(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

/// Bytes of the first `count` integers, at least one; nothing if they end early.
pub(crate) fn len_of(bytes: &[u8], count: usize) -> Option<usize> {
    let mut left = count;
    let last = bytes.iter().position(|&byte| {
        left -= usize::from(byte < 0x80);
        left == 0
    });
    last.map(|last| last + 1)
}

/// The same where the first byte is not all there is.
fn get_long(bytes: &mut &[u8]) -> Result<u64, CodecError> {
    const MARKS: u64 = 0x8080_8080_8080_8080;
    // Up to eight bytes are read at once: the first one without a mark ends the number.
    if let Some(word) = bytes.first_chunk::<8>().map(|word| u64::from_le_bytes(*word))
        && let end = !word & MARKS
        && end != 0
    {
        let own = word & (end ^ (end - 1)) & !MARKS;
        let pairs = own & 0x007f_007f_007f_007f | (own & 0x7f00_7f00_7f00_7f00) >> 1;
        let fours = pairs & 0x0000_3fff_0000_3fff | (pairs & 0x3fff_0000_3fff_0000) >> 2;
        let value = fours & 0x0fff_ffff | (fours & 0x0fff_ffff_0000_0000) >> 4;
        *bytes = bytes.get(end.trailing_zeros() as usize / 8 + 1..).unwrap_or_default();
        return Ok(value);
    }
    let mut value = 0;
    for (index, &byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
        // The tenth byte has room for one bit only.
        if index + 1 == VARINT_BYTES_MAX && byte > 1 {
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            *bytes = bytes.get(index + 1..).unwrap_or_default();
            return Ok(value);
        }
    }
    match bytes.len() < VARINT_BYTES_MAX {
        true => Err(CodecError::Truncated("integer of variable length")),
        false => Err(CodecError::Invalid("integer of variable length")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spells_the_bytes_of_the_standard() {
        let mut out = Vec::new();
        put_u64(&mut out, 624_485);
        assert_eq!(out, [0xE5, 0x8E, 0x26]);
        out.clear();
        put_i64(&mut out, -2);
        assert_eq!(out, [3]);
        out.clear();
        put_i64(&mut out, i64::MIN);
        assert_eq!(out, [255, 255, 255, 255, 255, 255, 255, 255, 255, 1]);
    }

    #[test]
    fn refuses_more_than_64_bits_and_early_ends() {
        let mut long: &[u8] = &[255, 255, 255, 255, 255, 255, 255, 255, 255, 2];
        assert!(matches!(get_u64(&mut long), Err(CodecError::Invalid(_))));
        let mut short: &[u8] = &[0x80, 0x80];
        assert!(matches!(get_u64(&mut short), Err(CodecError::Truncated(_))));
        let mut wide: &[u8] = &[0x80, 0x80, 0x80, 0x80, 0x10];
        assert!(matches!(get_u32(&mut wide), Err(CodecError::Invalid(_))));
    }

    proptest! {
        #[test]
        fn comes_back(value: u64, bits in 0u32..64) {
            let value = value >> bits;
            let mut out = Vec::new();
            put_u64(&mut out, value);
            prop_assert_eq!(out.len(), len_u64(value));
            let (spread, len) = spread_u64(value);
            prop_assert_eq!(&spread.to_le_bytes()[..usize::from(len)], &out[..]);
            let short = value % SHORT_END;
            let mut short_out = Vec::new();
            put_u64(&mut short_out, short);
            let (pair, len) = spread_short(short);
            prop_assert_eq!(&pair.to_le_bytes()[..len], &short_out[..]);
            put_i64(&mut out, value as i64);
            let mut rest: &[u8] = &out;
            prop_assert_eq!(get_u64(&mut rest), Ok(value));
            prop_assert_eq!(get_i64(&mut rest), Ok(value as i64));
            prop_assert!(rest.is_empty());
        }

        /// What stands behind a number says nothing of it.
        #[test]
        fn is_read_alike_wherever_the_bytes_end(
            value: u64,
            bits in 0u32..64,
            behind in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let value = value >> bits;
            let mut bytes = Vec::new();
            put_u64(&mut bytes, value);
            bytes.extend_from_slice(&behind);
            let mut rest: &[u8] = &bytes;
            prop_assert_eq!(get_u64(&mut rest), Ok(value));
            prop_assert_eq!(rest, &behind[..]);
        }
    }
}
