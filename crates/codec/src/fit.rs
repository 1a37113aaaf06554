//! Frame of reference with patches: integers as small distances from a base.
//!
//! 1. Find the range of the values and the power of two that divides their distances.
//! 2. Count bit lengths of the distances from a median of a few, and see whether a narrower frame
//!    with the stragglers patched is cheaper than one wide enough for all.
//! 3. Pack the low bits of every distance, and list the high bits of the patched ones.
//!
//! Patching is the idea of PFOR (M. Zukowski et al., "Super-Scalar RAM-CPU Cache Compression", ICDE
//! 2006). All arithmetic wraps, hence every 64-bit pattern is representable, signed or not.
//!
//! ```text
//! packed = width|0x80? u8, [shift u8, patches varint, patches * (gap varint, high zigzag)], bits
//! value  = base + (((high << width) | low) << shift)
//! ```

use crate::lane::Lane;
use crate::varint::{get_i64, get_u64, len_u64, put_i64, put_u64, zigzag};
use crate::{BLOCK_SAMPLES_MAX, CodecError, bits};

/// Marks a width byte that shift and patches follow.
const EXTENDED: u8 = 0x80;

/// Fewer values than this are not worth the search for stragglers.
const PATCH_COUNT_MIN: usize = 6;

/// Values looked at at once in search of those to be patched.
const PATCH_SCAN: usize = 32;

/// Values looked at to guess the middle of the frame.
const PROBES: usize = 9;

/// What an entropy coder of bytes tells from another.
#[derive(Clone, Copy)]
struct Symbol {
    /// Bits of it.
    width: u32,
    /// Frames begin at multiples of this.
    multiple: i64,
}

/// Pairs of digits, and bytes.
const SYMBOLS: [Symbol; 2] = [Symbol { width: 4, multiple: 8 }, Symbol { width: 8, multiple: 64 }];

/// Bits of a patch's place.
const PLACE_BITS: usize = 8;

/// What the coder's table takes for each symbol that occurs, shared by the blocks of a page.
const TABLE_BITS: usize = 4;

/// How to pack a run of integers, and what that costs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fit<T> {
    /// The value that is packed as zero.
    pub(crate) base: T,
    /// Estimated size in bits, without the base.
    pub(crate) cost_bits: usize,
    /// Bits packed of each value.
    pub(crate) width: u32,
    shift: u32,
    patches: usize,
}

impl<T: Lane> Fit<T> {
    /// The cheapest frame found for `values`.
    pub(crate) fn of(values: &[T], folded: &mut Vec<i32>) -> Self {
        let whole = Self::whole(values);
        if whole.width == 0 || values.len() < PATCH_COUNT_MIN {
            return whole;
        }
        match Self::patched(values, &whole, folded) {
            Some(patched) if patched.cost_bits < whole.cost_bits => patched,
            _ => whole,
        }
    }

    /// The frame for small values whose base is not stored because it is zero.
    pub(crate) fn from_zero(values: &[T]) -> Self {
        let high = values.iter().copied().max().unwrap_or_default();
        Self { width: bit_length(high.unsigned()), ..Self::default() }
    }

    /// A frame of whole symbols, hexadecimal digits or bytes, if an entropy coder that takes bytes
    /// makes less of them than of this frame's bits. `origin` lies below each of the values.
    ///
    /// Frames of other blocks begin at the same multiples, so that equal values are equal symbols.
    pub(crate) fn in_symbols(self, values: &[T], origin: i64) -> Self {
        if self.width == 0 || values.len() < PATCH_COUNT_MIN {
            return self;
        }
        let symbols = SYMBOLS.into_iter().map(|symbol| Self::of_symbols(values, origin, symbol));
        let best = symbols.min_by_key(|fit| fit.cost_bits).unwrap_or(self);
        match best.cost_bits < self.cost_bits {
            true => best,
            false => self,
        }
    }

    fn of_symbols(values: &[T], origin: i64, symbol: Symbol) -> Self {
        let Symbol { width, multiple } = symbol;
        let range = 1 << width;
        let lowest = probe(values).into().wrapping_add(origin).wrapping_sub((range - multiple) / 2);
        let base = lowest.div_euclid(multiple).wrapping_mul(multiple).wrapping_sub(origin);
        let base = T::cut(base);
        let mut counts = [0u32; 256];
        let (mut patches, mut patch_bits) = (0, 0);
        for value in values {
            let distance = value.minus(base);
            let high = distance.shifted(width);
            if high != T::default() {
                patches += 1;
                patch_bits += PLACE_BITS + 8 * len_u64(zigzag(high.into()));
            }
            let symbol = distance.low() as usize & (range as usize - 1);
            counts.get_mut(symbol).into_iter().for_each(|count| *count += 1);
        }
        let cost_bits = Self::cost(0, patches) + entropy_bits(&counts, values.len()) + patch_bits;
        Self { base, cost_bits, shift: 0, width, patches }
    }

    fn whole(values: &[T]) -> Self {
        let first = values.first().copied().unwrap_or_default();
        let (mut low, mut high, mut distances) = (first, first, 0);
        for &value in values {
            low = low.min(value);
            high = high.max(value);
            distances |= value.minus(first).low();
        }
        let range = high.minus(low).unsigned();
        // Distances that 32 bits cannot tell from zero are not looked at any closer.
        let mut shift = if range == 0 { 0 } else { distances.trailing_zeros() };
        if shift as usize * values.len() <= 16 {
            shift = 0;
        }
        let width = bit_length(range >> shift);
        let cost_bits = Self::cost(shift, 0) + width as usize * values.len();
        Self { base: low, cost_bits, shift, width, patches: 0 }
    }

    /// The best frame that leaves some values outside, if any is narrower than `whole`.
    fn patched(values: &[T], whole: &Self, folded: &mut Vec<i32>) -> Option<Self> {
        let shift = whole.shift;
        let middle = probe(values);
        let distance = |value: &T| value.minus(middle).shifted(shift);
        // Only 31 bits of a folded distance are looked at: the lowest, where most distances fit
        // into those, else those below the width of the whole.
        let mut dropped = 0;
        folded.clear();
        folded.extend(values.iter().map(|value| distance(value).folded(0)));
        if whole.width > 30 && outside(folded, i32::MAX).0 > values.len() / 4 {
            dropped = (whole.width + 1).saturating_sub(31);
            folded.clear();
            folded.extend(values.iter().map(|value| distance(value).folded(dropped)));
        }
        let (width, patches, patch_bits) = cheapest(folded, dropped, whole.width)?;
        let limit = 1i32 << (width - dropped);
        let (low, high) = match dropped {
            0 => inside(folded.iter().map(|folded| unfolded(*folded)), folded, limit),
            _ => inside(values.iter().map(distance), folded, limit),
        };
        let width = bit_length(high.wrapping_sub(low) as u64);
        let base = T::cut(middle.into().wrapping_add(low << shift));
        let cost_bits = Self::cost(shift, patches) + width as usize * values.len() + patch_bits;
        Some(Self { base, cost_bits, shift, width, patches })
    }

    /// Bits taken by the header.
    fn cost(shift: u32, patches: usize) -> usize {
        if shift > 0 || patches > 0 { 24 } else { 8 }
    }

    /// Appends `values`, which must be those that were fitted, some possibly replaced by the base.
    pub(crate) fn write(&self, values: &[T], lows: &mut Vec<T>, out: &mut Vec<u8>) {
        let Self { base, shift, width, .. } = *self;
        lows.clear();
        lows.extend(values.iter().map(|value| value.minus(base).shifted(shift)));
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

    fn write_patches(&self, lows: &[T], out: &mut Vec<u8>) {
        if self.patches == 0 {
            return out.push(0);
        }
        let high = |low: &T| low.shifted(self.width);
        let is_patched = |low: &T| high(low) != T::default();
        put_u64(out, lows.iter().map(|low| usize::from(is_patched(low))).sum::<usize>() as u64);
        let mut next = 0;
        for (part, lows) in lows.chunks(PATCH_SCAN).enumerate() {
            // Most stretches have no patch, and finding that out is a few vector operations.
            if let Ok(lows) = <&[T; PATCH_SCAN]>::try_from(lows)
                && !lows.iter().fold(false, |any, low| any | is_patched(low))
            {
                continue;
            }
            for (index, low) in (part * PATCH_SCAN..).zip(lows).filter(|(_, low)| is_patched(low)) {
                put_u64(out, (index - next) as u64);
                put_i64(out, high(low).into());
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

/// Bits of `len` symbols that occur so many times each, by their entropy (C. E. Shannon, 1948).
fn entropy_bits(counts: &[u32; 256], len: usize) -> usize {
    let weight = |count: usize| WEIGHTS.get(count).copied().unwrap_or_default();
    let (mut sum, mut distinct) = (0, 0);
    for &count in counts.iter().filter(|&&count| count > 0) {
        sum += weight(count as usize);
        distinct += 1;
    }
    (weight(len).saturating_sub(sum) >> WEIGHT_BITS) as usize + TABLE_BITS * distinct
}

/// Bits behind the point of [`WEIGHTS`].
const WEIGHT_BITS: u32 = 16;

/// `count * log2(count)` for each count of a block, in whole numbers: the last bits of the
/// logarithm differ between C libraries and processors, and all machines must choose the same
/// frame.
const WEIGHTS: [u32; BLOCK_SAMPLES_MAX + 1] = {
    let mut weights = [0; BLOCK_SAMPLES_MAX + 1];
    let mut count = 1;
    while count <= BLOCK_SAMPLES_MAX as u32 {
        let mut log = count.ilog2();
        // From 1 up to 2, with 32 bits behind the point. Squared, it says the next bit of its
        // logarithm.
        let (mut rest, mut bit) = ((count as u64) << (32 - log), 0);
        while bit < WEIGHT_BITS {
            let square = (rest as u128 * rest as u128) >> 32;
            log = log << 1 | (square >> 33) as u32;
            rest = (square >> (square >> 33)) as u64;
            bit += 1;
        }
        #[expect(clippy::indexing_slicing, reason = "it has a place for each count")]
        {
            weights[count as usize] = count * log;
        }
        count += 1;
    }
    weights
};

/// Number of bits that `value` needs; none for zero.
fn bit_length(value: u64) -> u32 {
    64 - value.leading_zeros()
}

/// The median of a few values spread over the run.
fn probe<T: Lane>(values: &[T]) -> T {
    let mut probes = [T::default(); PROBES];
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

/// How many folded distances are not below `limit`, and a number as long as the greatest that is.
fn outside(folded: &[i32], limit: i32) -> (usize, i32) {
    let (mut count, mut greatest) = (0i32, 0);
    for &folded in folded {
        let inside = folded < limit;
        count += i32::from(!inside);
        greatest |= if inside { folded } else { 0 };
    }
    (count as usize, greatest)
}

/// The least and the greatest of those distances whose folded ones are below `limit`. The median is
/// among them, so zero stands for the others.
fn inside<T: Lane>(distances: impl Iterator<Item = T>, folded: &[i32], limit: i32) -> (i64, i64) {
    let (mut low, mut high) = (T::default(), T::default());
    for (distance, folded) in distances.zip(folded) {
        let inside = if *folded < limit { distance } else { T::default() };
        low = low.min(inside);
        high = high.max(inside);
    }
    (low.into(), high.into())
}

/// The inverse of folding.
fn unfolded(folded: i32) -> i32 {
    ((folded as u32 >> 1) as i32) ^ -(folded & 1)
}

/// Width, number of patches and bits of patches of the cheapest frame below `width_max`, from
/// folded distances that lack their lowest `dropped` bits.
fn cheapest(folded: &[i32], dropped: u32, width_max: u32) -> Option<(u32, usize, usize)> {
    let mut best = None;
    let mut best_cost = usize::MAX;
    let mut limit = (width_max - 1).min(30 + dropped);
    let (mut above, mut above_width, mut highs) = (0, width_max, 0);
    loop {
        let (patches, greatest) = outside(folded, 1 << (limit - dropped));
        // A frame shrinks to what is inside. What was outside before sticks out by the bits
        // between, newcomers by about one.
        let width = bit_length(greatest as u64) + dropped;
        highs += above * (above_width - width) as usize + (patches - above);
        (above, above_width) = (patches, width);
        if patches > folded.len() / 4 {
            break;
        }
        // A place takes mostly one byte, a high part one byte per seven bits.
        let patch_bits = patches * 8 + (highs + 6 * patches) * 8 / 7;
        let cost = width as usize * folded.len() + patch_bits;
        if patches > 0 && cost < best_cost {
            best_cost = cost;
            best = Some((width, patches, patch_bits));
        }
        if width == dropped {
            break;
        }
        limit = width - 1;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_logarithm() {
        for (count, &weight) in WEIGHTS.iter().enumerate().skip(1) {
            let exact = count as f64 * (count as f64).log2();
            let short = exact - f64::from(weight) / f64::from(1 << WEIGHT_BITS);
            assert!((-1e-9..0.02).contains(&short), "{count}: {short}");
        }
        let mut counts = [0; 256];
        assert_eq!(entropy_bits(&counts, 0), 0);
        counts[..4].fill(256);
        assert_eq!(entropy_bits(&counts, 1024), 2048 + 4 * TABLE_BITS);
        counts[..3].copy_from_slice(&[512, 256, 256]);
        counts[3] = 0;
        assert_eq!(entropy_bits(&counts, 1024), 1536 + 3 * TABLE_BITS);
    }
}
