//! Times of a block: counted in the coarsest unit that is exact, then laid out as integers.
//!
//! ```text
//! times   = head u8, [start zigzag, divisor varint], ints
//! head    = layout (bits 0..3), unit (bits 3..5: ns, us, ms, s), divided (bit 5)
//! time_ns = unit_ns * int                          not divided
//!         | unit_ns * (start + divisor * int)      divided
//! ```

use crate::ints::{self, IntsScratch, Layout};
use crate::varint::{get_i64, get_u64, put_i64, put_u64};
use crate::{BLOCK_SAMPLES_MAX, CodecError};

const DIVIDED: u8 = 1 << 5;
const UNIT_SHIFT: u8 = 3;

/// Nanoseconds of each unit, by its number in the head.
const UNITS_NS: [i64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];

/// Appends times in nanoseconds, ascending and each once, at most [`BLOCK_SAMPLES_MAX`] of them.
///
/// Times at equal distance take about ten bytes in all, however many they are.
pub fn encode_times(times_ns: &[i64], out: &mut Vec<u8>) {
    debug_assert!(times_ns.len() <= BLOCK_SAMPLES_MAX, "one block, not {}", times_ns.len());
    let Some(&first) = times_ns.first() else { return };
    let step = times_ns.get(1).map_or(0, |second| second.wrapping_sub(first));
    if steady(times_ns, step) {
        let (unit, unit_ns) = unit_of([first, step].iter());
        out.push(Layout::Linear as u8 | unit << UNIT_SHIFT);
        put_i64(out, first / unit_ns);
        return put_i64(out, step / unit_ns);
    }
    let (unit, unit_ns) = unit_of(times_ns.iter());
    let divisor = divisor(times_ns, unit_ns);
    let head = out.len();
    out.push(unit << UNIT_SHIFT);
    let counts: Vec<i64> = if divisor > 1 {
        put_i64(out, first / unit_ns);
        put_u64(out, divisor);
        let whole = unit_ns as u64 * divisor;
        times_ns.iter().map(|time| (time.wrapping_sub(first) as u64 / whole) as i64).collect()
    } else {
        times_ns.iter().map(|time| time / unit_ns).collect()
    };
    let layout = ints::encode(&counts, &mut IntsScratch::default(), out);
    if let Some(head) = out.get_mut(head) {
        *head |= layout as u8 | if divisor > 1 { DIVIDED } else { 0 };
    }
}

/// Appends the `count` times of a block to `out`.
///
/// # Errors
/// When the bytes are not what [`encode_times`] wrote for so many times; `out` is then as before.
pub fn decode_times(bytes: &[u8], count: usize, out: &mut Vec<i64>) -> Result<(), CodecError> {
    if count > BLOCK_SAMPLES_MAX {
        return Err(CodecError::TooLong { count });
    }
    if count == 0 {
        return Ok(());
    }
    let start = out.len();
    out.resize(start + count, 0);
    let result = decode_into(bytes, out.get_mut(start..).unwrap_or_default());
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn decode_into(mut bytes: &[u8], out: &mut [i64]) -> Result<(), CodecError> {
    let bytes = &mut bytes;
    let head = *bytes.split_off_first().ok_or(CodecError::Truncated("times"))?;
    if head >> (UNIT_SHIFT + 3) != 0 {
        return Err(CodecError::Invalid("head of the times"));
    }
    let unit = usize::from(head >> UNIT_SHIFT & 3);
    let unit_ns = UNITS_NS.get(unit).copied().unwrap_or(1);
    let (start, divisor) = match head & DIVIDED {
        0 => (0, 1),
        _ => (get_i64(bytes)?, get_u64(bytes)? as i64),
    };
    ints::decode(Layout::from_code(head), bytes, out)?;
    if !bytes.is_empty() {
        return Err(CodecError::Invalid("length of the times"));
    }
    let (start, factor) = (unit_ns.wrapping_mul(start), unit_ns.wrapping_mul(divisor));
    if (start, factor) != (0, 1) {
        out.iter_mut().for_each(|time| *time = time.wrapping_mul(factor).wrapping_add(start));
    }
    Ok(())
}

fn steady(times_ns: &[i64], step: i64) -> bool {
    let later = times_ns.get(1..).unwrap_or_default();
    times_ns.iter().zip(later).all(|(before, after)| after.wrapping_sub(*before) == step)
}

/// Number and length of the coarsest unit that divides every time.
fn unit_of<'a>(times_ns: impl Iterator<Item = &'a i64>) -> (u8, i64) {
    let [.., mut unit_ns] = UNITS_NS;
    let mut unit = UNITS_NS.len() as u8 - 1;
    for time in times_ns {
        // What a finer unit must still divide was divided by all coarser ones before.
        while time % unit_ns != 0 {
            unit_ns /= 1_000;
            unit -= 1;
        }
    }
    (unit, unit_ns)
}

/// The greatest common divisor of all distances, in units; 1 when dividing is of no use.
fn divisor(times_ns: &[i64], unit_ns: i64) -> u64 {
    let later = times_ns.get(1..).unwrap_or_default();
    let mut divisor = 0;
    for (before, after) in times_ns.iter().zip(later) {
        if after < before {
            return 1;
        }
        let distance = after.wrapping_sub(*before) as u64 / unit_ns as u64;
        if divisor == 0 || distance % divisor != 0 {
            divisor = greatest_common_divisor(distance, divisor);
        }
        if divisor == 1 {
            return 1;
        }
    }
    divisor
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
