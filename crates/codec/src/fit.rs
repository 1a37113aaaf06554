//! Frame of reference with patches: integers as small distances from a base.
//!
//! 1. Find the range of the values and the power of two that divides their distances.
//! 2. Count bit lengths of the distances from a median of a few, and see whether a narrower frame with
//!    the stragglers patched is cheaper than one wide enough for all.
//! 3. Pack the low bits of every distance, and list the high bits of the patched ones.
//!
//! Patching is the idea of PFOR (M. Zukowski et al., "Super-Scalar RAM-CPU Cache Compression", ICDE
//! 2006). All arithmetic wraps, hence every 64-bit pattern is representable, signed or not.
//!
//! ```text
//! packed = width|0x80? u8, [shift u8, patches varint, patches * (gap varint, high zigzag)], bits
//! value  = base + (((high << width) | low) << shift)
//! ```

use crate::varint::{get_i64, get_u64, len_u64, put_i64, put_u64, zigzag};
use crate::{CodecError, bits};

/// Marks a width byte that shift and patches follow.
const EXTENDED: u8 = 0x80;

/// Fewer values than this are not worth the search for stragglers.
const PATCH_COUNT_MIN: usize = 6;

/// Values looked at to guess the middle of the frame.
const PROBES: usize = 15;

/// How to pack a run of integers, and what that costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fit {
    /// The value that is packed as zero.
    pub(crate) base: i64,
    /// Estimated size in bits, base included.
    pub(crate) cost_bits: usize,
    shift: u32,
    width: u32,
    patches: usize,
}

impl Fit {
    /// The cheapest frame found for `values`.
    pub(crate) fn of(values: &[i64]) -> Self {
        let whole = Self::whole(values);
        if whole.width == 0 || values.len() < PATCH_COUNT_MIN {
            return whole;
        }
        match Self::patched(values, whole.shift, whole.width) {
            Some(patched) if patched.cost_bits < whole.cost_bits => patched,
            _ => whole,
        }
    }

    fn whole(values: &[i64]) -> Self {
        let first = values.first().copied().unwrap_or_default();
        let (mut low, mut high, mut distances) = (first, first, 0);
        for &value in values {
            low = low.min(value);
            high = high.max(value);
            distances |= value.wrapping_sub(first);
        }
        let range = high.wrapping_sub(low) as u64;
        let mut shift = distances.trailing_zeros() & 63;
        if shift as usize * values.len() <= 16 {
            shift = 0;
        }
        let width = bit_length(range >> shift);
        let cost_bits = Self::cost(low, shift, 0) + width as usize * values.len();
        Self { base: low, cost_bits, shift, width, patches: 0 }
    }

    /// The best frame that leaves some values outside, if any is narrower than `width_max`.
    fn patched(values: &[i64], shift: u32, width_max: u32) -> Option<Self> {
        let middle = probe(values);
        let lengths = Lengths::of(values, middle, shift);
        let (width, patches, patch_bits) = lengths.cheapest(values.len(), width_max)?;
        let limit = 1u64.checked_shl(width).unwrap_or(u64::MAX);
        let (mut low, mut high) = (i64::MAX, i64::MIN);
        for &value in values {
            let distance = value.wrapping_sub(middle) >> shift;
            if zigzag(distance) < limit {
                low = low.min(distance);
                high = high.max(distance);
            }
        }
        let width = bit_length(high.wrapping_sub(low) as u64);
        let base = middle.wrapping_add(low << shift);
        let cost_bits =
            Self::cost(base, shift, patches) + width as usize * values.len() + patch_bits;
        Some(Self { base, cost_bits, shift, width, patches })
    }

    /// Bits taken by base and header.
    fn cost(base: i64, shift: u32, patches: usize) -> usize {
        let extended = if shift > 0 || patches > 0 { 2 } else { 0 };
        8 * (len_u64(zigzag(base)) + 1 + extended)
    }

    /// The frame for small values whose base is not stored because it is zero.
    pub(crate) fn from_zero(values: &[i64]) -> Self {
        let high = values.iter().copied().max().unwrap_or_default();
        Self { base: 0, cost_bits: 0, shift: 0, width: bit_length(high as u64), patches: 0 }
    }

    /// Appends `values`, which must be those that were fitted, some possibly replaced by the base.
    pub(crate) fn write(&self, values: &[i64], lows: &mut Vec<i64>, out: &mut Vec<u8>) {
        let Self { base, shift, width, .. } = *self;
        lows.clear();
        lows.extend(values.iter().map(|value| value.wrapping_sub(base) >> shift));
        let extended = shift > 0 || self.patches > 0;
        if extended {
            out.extend([width as u8 | EXTENDED, shift as u8]);
        } else {
            out.push(width as u8);
        }
        bits::pack(lows, width, out);
        if extended {
            self.write_patches(lows, out);
        }
    }

    fn write_patches(&self, lows: &[i64], out: &mut Vec<u8>) {
        if self.patches == 0 {
            return out.push(0);
        }
        let patched = lows.iter().filter(|low| **low >> self.width != 0).count();
        put_u64(out, patched as u64);
        let mut next = 0;
        for (index, &low) in lows.iter().enumerate() {
            let high = low >> self.width;
            if high != 0 {
                put_u64(out, (index - next) as u64);
                put_i64(out, high);
                next = index + 1;
            }
        }
    }
}

/// Takes as many values as `out` has room for off the front of `bytes`, as distances from the base.
pub(crate) fn read(bytes: &mut &[u8], out: &mut [i64]) -> Result<(), CodecError> {
    let head = *bytes.split_off_first().ok_or(CodecError::Truncated("bit width"))?;
    let width = u32::from(head & !EXTENDED);
    if head & EXTENDED == 0 {
        return bits::unpack(bytes, width, out);
    }
    let shift = *bytes.split_off_first().ok_or(CodecError::Truncated("shift"))?;
    if shift > 63 {
        return Err(CodecError::Invalid("shift"));
    }
    bits::unpack(bytes, width, out)?;
    read_patches(bytes, width, out)?;
    if shift > 0 {
        out.iter_mut().for_each(|value| *value <<= shift);
    }
    Ok(())
}

fn read_patches(bytes: &mut &[u8], width: u32, out: &mut [i64]) -> Result<(), CodecError> {
    let patches = get_u64(bytes)?;
    if patches > out.len() as u64 || (patches > 0 && width > 63) {
        return Err(CodecError::Invalid("number of patches"));
    }
    let mut rest = out;
    for _ in 0..patches {
        let gap = usize::try_from(get_u64(bytes)?).unwrap_or(usize::MAX);
        let high = get_i64(bytes)?;
        let (patched, after) = rest
            .split_at_mut_checked(gap)
            .and_then(|(_, rest)| rest.split_first_mut())
            .ok_or(CodecError::Invalid("place of a patch"))?;
        *patched |= high << width;
        rest = after;
    }
    Ok(())
}

/// Number of bits that `value` needs; none for zero.
fn bit_length(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// The median of a few values spread over the run.
fn probe(values: &[i64]) -> i64 {
    let mut probes = [0; PROBES];
    let count = values.len().min(PROBES);
    let mut picked = 0;
    for (index, probe) in probes.iter_mut().take(count).enumerate() {
        if let Some(&value) = values.get((index * values.len() + values.len() / 2) / count) {
            *probe = value;
            picked += 1;
        }
    }
    let picked = probes.get_mut(..picked).unwrap_or_default();
    picked.sort_unstable();
    picked.get(picked.len() / 2).copied().unwrap_or_default()
}

/// How many folded distances have each bit length.
struct Lengths([u16; 65]);

impl Lengths {
    #[allow(clippy::indexing_slicing, reason = "a bit length is at most 64, a remainder below 4")]
    fn of(values: &[i64], middle: i64, shift: u32) -> Self {
        // Equal lengths follow each other; four tables keep the additions independent.
        let mut tables = [[0u16; 65]; 4];
        let (fours, rest) = values.as_chunks::<4>();
        let length = |value: i64| bit_length(zigzag(value.wrapping_sub(middle) >> shift)) as usize;
        for four in fours {
            for (table, &value) in tables.iter_mut().zip(four) {
                table[length(value)] += 1;
            }
        }
        for &value in rest {
            tables[0][length(value)] += 1;
        }
        let [mut sum, b, c, d] = tables;
        for (index, sum) in sum.iter_mut().enumerate() {
            *sum += b[index] + c[index] + d[index];
        }
        Self(sum)
    }

    /// Width, number of patches and bits of patches of the cheapest frame below `width_max`.
    fn cheapest(&self, count: usize, width_max: u32) -> Option<(u32, usize, usize)> {
        let (mut outside, mut highs) = (0, 0);
        let mut best: Option<(u32, usize, usize)> = None;
        let mut best_cost = usize::MAX;
        // Walking down: what is outside a frame stays outside of every narrower one, and the part of
        // a patch above the frame grows by a bit per step.
        for (width, &at) in self.0.iter().enumerate().rev() {
            if outside > 0 && width < width_max as usize {
                // A place takes mostly one byte, a high part one byte per seven bits.
                let patch_bits = outside * 8 + (highs + 6 * outside) * 8 / 7;
                let cost = width * count + patch_bits;
                if cost < best_cost {
                    best_cost = cost;
                    best = Some((width as u32, outside, patch_bits));
                }
            }
            outside += usize::from(at);
            highs += outside;
            if outside > count / 4 {
                break;
            }
        }
        best
    }
}
