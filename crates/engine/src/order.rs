//! The order of samples by time.
//!
//! Times that lie on a grid, as those of series with a fixed interval do, need no comparing: each
//! goes to its place on the grid, where a newer one of the same time takes the place of the older.
//! Others are sorted.

/// Grids of so many places a sample are worth walking.
const PLACES_PER_SAMPLE_MAX: usize = 4;
/// How often a grid that turns out too coarse is made finer.
const GRIDS_MAX: usize = 4;
/// How many samples are looked at for the first guess of a grid.
const GUESS_SAMPLES: usize = 32;

/// The numbers of the samples in the order of their times; of samples at one time the last.
pub(crate) fn by_time(times_ns: &[i64]) -> Vec<u32> {
    on_grid(times_ns).unwrap_or_else(|| sorted(times_ns))
}

fn sorted(times_ns: &[i64]) -> Vec<u32> {
    let mut keys: Vec<(i64, u32)> = times_ns.iter().copied().zip(0..).collect();
    keys.sort_unstable();
    keys.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            *earlier = *later;
        }
        is_same
    });
    keys.into_iter().map(|(_, index)| index).collect()
}

/// The order of times that are whole numbers of steps apart, if they are.
fn on_grid(times_ns: &[i64]) -> Option<Vec<u32>> {
    let first_ns = times_ns.iter().copied().min()?;
    let span_ns = u64::try_from(times_ns.iter().copied().max()?.checked_sub(first_ns)?).ok()?;
    let neighbours = times_ns.windows(2).take(GUESS_SAMPLES);
    let gaps = neighbours.filter_map(|pair| match pair {
        [a, b] => Some(a.abs_diff(*b)).filter(|gap| *gap > 0),
        _ => None,
    });
    let mut step_ns = gaps.min()?;
    let mut places = Vec::new();
    for _ in 0..GRIDS_MAX {
        let len = usize::try_from(span_ns / step_ns).ok()?.checked_add(1)?;
        if len > times_ns.len() * PLACES_PER_SAMPLE_MAX {
            return None;
        }
        // Counted from 1, so that 0 is an empty place.
        places.clear();
        places.resize(len, 0u32);
        match lay_out(times_ns, first_ns, step_ns, &mut places) {
            None => {
                let mut order = Vec::with_capacity(times_ns.len());
                let taken = places.iter().filter(|number| **number > 0);
                order.extend(taken.map(|number| number - 1));
                return Some(order);
            }
            Some(off_ns) => step_ns = greatest_common_divisor(step_ns, off_ns),
        }
    }
    None
}

/// Lays the numbers of the samples on the grid; ends at the first that is off it, and returns how
/// far that is from the beginning.
fn lay_out(times_ns: &[i64], first_ns: i64, step_ns: u64, places: &mut [u32]) -> Option<u64> {
    // A division, but for the last bits, which rounding does not show.
    let per_step = 1.0 / step_ns as f64;
    for (&time_ns, number) in times_ns.iter().zip(1..) {
        let from_first_ns = time_ns.abs_diff(first_ns);
        let place = (from_first_ns as f64 * per_step + 0.5) as u32;
        if u64::from(place).wrapping_mul(step_ns) != from_first_ns {
            return Some(from_first_ns);
        }
        if let Some(slot) = places.get_mut(place as usize) {
            *slot = number;
        }
    }
    None
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn check(times_ns: &[i64]) {
        let naive: BTreeMap<i64, u32> = times_ns.iter().copied().zip(0..).collect();
        assert_eq!(by_time(times_ns), naive.into_values().collect::<Vec<u32>>());
    }

    #[test]
    fn extremes_and_grids_are_ordered() {
        check(&[]);
        check(&[5]);
        check(&[i64::MAX, i64::MIN, 0]);
        check(&[30, 10, 20, 10, 40]);
        assert!(on_grid(&[30, 10, 20, 10, 40]).is_some());
        assert!(on_grid(&[300, 100, 200, 251, 150]).is_none());
        // The first guess, 20, is too coarse.
        assert!(on_grid(&[20, 0, 40, 60, 30, 50]).is_some());
    }

    proptest! {
        #[test]
        fn times_on_grids_and_off_are_ordered(
            start in any::<i64>(),
            step in prop_oneof![Just(1i64), Just(10_000_000_000), 1i64..1000],
            places in prop::collection::vec(-50i64..200, 0..300),
            off in prop_oneof![3 => Just(None), 1 => any::<i64>().prop_map(Some)],
        ) {
            let mut times: Vec<i64> =
                places.iter().map(|place| start.wrapping_add(place * step)).collect();
            times.extend(off);
            check(&times);
        }
    }
}
