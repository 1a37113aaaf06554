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

const MICROSECOND: i64 = 1_000;
const MILLISECOND: i64 = 1_000_000;
const SECOND: i64 = 1_000_000_000;

/// Nanoseconds of each unit, by its number in the head.
const UNITS_NS: [i64; 4] = [1, MICROSECOND, MILLISECOND, SECOND];

/// Appends times in nanoseconds, ascending and each once, at most [`BLOCK_SAMPLES_MAX`] of them.
///
/// Times at equal distance take about ten bytes in all, however many they are.
pub fn encode_times(times_ns: &[i64], out: &mut Vec<u8>) {
    debug_assert!(times_ns.len() <= BLOCK_SAMPLES_MAX, "one block, not {}", times_ns.len());
    let Some(&first) = times_ns.first() else { return };
    let step = times_ns.get(1).map_or(0, |second| second.wrapping_sub(first));
    if is_steady(times_ns, step) {
        let ends = [first, step];
        let unit = coarsest_unit(&ends);
        out.push(Layout::Linear as u8 | unit << UNIT_SHIFT);
        return count_units(&ends, unit).into_iter().for_each(|count| put_i64(out, count));
    }
    let unit = coarsest_unit(times_ns);
    let mut counts = count_units(times_ns, unit);
    let divisor = common_divisor(&counts);
    let mut head = unit << UNIT_SHIFT;
    let at = out.len();
    out.push(head);
    if divisor > 1 {
        head |= DIVIDED;
        let start = counts.first().copied().unwrap_or_default();
        put_i64(out, start);
        put_u64(out, divisor);
        let divide = |count: &mut i64| *count = (count.wrapping_sub(start) as u64 / divisor) as i64;
        counts.iter_mut().for_each(divide);
    }
    let layout = ints::encode(&counts, &mut IntsScratch::default(), out);
    out.get_mut(at).into_iter().for_each(|byte| *byte = head | layout as u8);
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

/// The first time of a block and the distance from each to the next, if they are stored as such:
/// then no other time need be made to find one.
pub fn steady_times(mut bytes: &[u8]) -> Option<(i64, i64)> {
    let bytes = &mut bytes;
    let head = *bytes.split_off_first()?;
    let unit_ns = UNITS_NS.get(usize::from(head >> UNIT_SHIFT))?;
    let first = get_i64(bytes).ok()?;
    let step = match Layout::from_code(head) {
        Layout::Linear => get_i64(bytes).ok()?,
        Layout::Constant => 0,
        _ => return None,
    };
    bytes.is_empty().then_some((first.wrapping_mul(*unit_ns), step.wrapping_mul(*unit_ns)))
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

fn is_steady(times_ns: &[i64], step: i64) -> bool {
    let later = times_ns.get(1..).unwrap_or_default();
    times_ns.iter().zip(later).all(|(before, after)| after.wrapping_sub(*before) == step)
}

/// The number of the coarsest unit that divides every time. The units are constants here and below
/// because the compiler then divides by multiplying.
fn coarsest_unit(times_ns: &[i64]) -> u8 {
    match times_ns {
        times if times.iter().all(|time| time % SECOND == 0) => 3,
        times if times.iter().all(|time| time % MILLISECOND == 0) => 2,
        times if times.iter().all(|time| time % MICROSECOND == 0) => 1,
        _ => 0,
    }
}

fn count_units(times_ns: &[i64], unit: u8) -> Vec<i64> {
    let times = times_ns.iter();
    match unit {
        3 => times.map(|time| time / SECOND).collect(),
        2 => times.map(|time| time / MILLISECOND).collect(),
        1 => times.map(|time| time / MICROSECOND).collect(),
        _ => times.copied().collect(),
    }
}

/// The greatest common divisor of all distances; 1 when dividing is of no use.
fn common_divisor(counts: &[i64]) -> u64 {
    let later = counts.get(1..).unwrap_or_default();
    let mut divisor = 0;
    for (before, after) in counts.iter().zip(later) {
        if after < before {
            return 1;
        }
        let distance = after.wrapping_sub(*before) as u64;
        if distance != divisor {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(times_ns: &[i64]) -> usize {
        let mut bytes = vec![];
        encode_times(times_ns, &mut bytes);
        if let Some((first, step)) = steady_times(&bytes) {
            let expected = (0..times_ns.len() as i64).map(|i| first.wrapping_add(i * step));
            assert!(expected.eq(times_ns.iter().copied()));
        }
        let mut out = vec![7];
        decode_times(&bytes, times_ns.len(), &mut out).unwrap();
        assert_eq!(out[0], 7);
        assert_eq!(out[1..], *times_ns);
        bytes.len()
    }

    const START: i64 = 1_700_000_000 * SECOND;

    #[test]
    fn steady_times_take_ten_bytes_at_most() {
        for step in [1, 999, MICROSECOND, MILLISECOND, SECOND, 10 * SECOND, 3_600 * SECOND] {
            let times: Vec<i64> = (0..1024).map(|i| START + i * step).collect();
            let limit = if step < MICROSECOND { 13 } else { 10 };
            assert!(check(&times) <= limit, "{step}: {}", check(&times));
        }
        assert_eq!(check(&[]), 0);
        assert_eq!(check(&[START]), 7);
    }

    #[test]
    fn a_hole_costs_a_few_bytes() {
        let regular = |i: i64| START + i * 10 * SECOND;
        let hole: Vec<i64> = (0..1024).map(|i| regular(if i < 500 { i } else { i + 20 })).collect();
        assert!(check(&hole) <= 22, "{}", check(&hole));
        // Holes everywhere: what is known of the step still pays, five bits are not needed.
        let holes: Vec<i64> = (0..1024).map(|i| regular(i * 2 + i * i % 3)).collect();
        assert!(check(&holes) <= 300, "{}", check(&holes));
    }

    #[test]
    fn jitter_costs_its_own_bits() {
        let jitter = |i: i64| (((i * 0x9E37_79B1) >> 16 & 0xffff) % 900) * MICROSECOND;
        let times: Vec<i64> = (0..1024).map(|i| START + i * 10 * SECOND + jitter(i)).collect();
        // Ten bits of jitter against the grid.
        assert!(check(&times) <= 1024 * 10 / 8 + 24, "{}", check(&times));
    }

    #[test]
    fn the_ends_of_time_come_back() {
        check(&[i64::MIN, i64::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[i64::MIN, i64::MIN + 2, i64::MAX - 1]);
        check(&[-3 * SECOND, -SECOND, 4 * SECOND, 5 * SECOND]);
        check(&[i64::MAX]);
    }

    #[test]
    fn golden_bytes() {
        let golden = |times: &[i64], expected: &[u8]| {
            let mut bytes = vec![];
            encode_times(times, &mut bytes);
            assert_eq!(bytes, expected, "{times:?}");
        };
        let seconds = |seconds: &[i64]| seconds.iter().map(|s| s * SECOND).collect::<Vec<_>>();
        golden(&seconds(&[100, 110, 120]), &[0x19, 0xc8, 1, 20]);
        golden(&seconds(&[100, 110, 120, 160, 170]), GOLDEN_DIVIDED);
        golden(&[1, 5, 6, 9], GOLDEN_NANOSECONDS);
    }

    const GOLDEN_DIVIDED: &[u8] = &[0x3a, 0xc8, 1, 10, 0, 3, 0x88, 0x7c];
    const GOLDEN_NANOSECONDS: &[u8] = &[0x02, 2, 4, 0x40, 0x85];

    #[test]
    fn too_many_are_refused() {
        let mut out = vec![];
        assert_eq!(
            decode_times(&[1, 0, 2], 1025, &mut out),
            Err(CodecError::TooLong { count: 1025 })
        );
        assert_eq!(decode_times(&[1, 0, 2, 0], 3, &mut out).is_err(), out.is_empty());
    }

    proptest! {
        #[test]
        fn any_ascending_times_come_back(
            mut times in prop::collection::vec(any::<i64>(), 0..200),
            unit in prop::sample::select(UNITS_NS.to_vec()),
            shrink in 0u32..60,
        ) {
            times.iter_mut().for_each(|time| *time = (*time >> shrink) / unit * unit);
            times.sort_unstable();
            times.dedup();
            check(&times);
        }

        #[test]
        fn near_regular_times_come_back(
            start in any::<i32>(),
            step in 1i64..100,
            jitters in prop::collection::vec(0i64..9, 1..1024),
            unit in prop::sample::select(UNITS_NS.to_vec()),
        ) {
            let mut time = i64::from(start);
            let next = |jitter: &i64| {
                time += step + jitter / 8 * 31;
                time * unit
            };
            let times: Vec<i64> = jitters.iter().map(next).collect();
            check(&times);
        }
    }
}
