//! Counter-based randomness: every draw is a function of where it is used, never of what was drawn
//! before, so any thread can generate any part of the data and the oracle can generate it again.
//! It is not a cryptographic generator, and it keeps no state that outlives a row.

use std::sync::LazyLock;

/// Weyl increment of SplitMix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a stream of draws is for; two purposes never share a draw.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    /// Label values of a source.
    Labels = 1,
    /// The state in which a walk begins.
    Start = 2,
    /// The values of one row.
    Values = 3,
    /// The order in which sources report within one step.
    Order = 4,
    /// Lateness, repetition, gaps and missing fields of a row.
    Disorder = 5,
    /// Instants of an open-loop schedule.
    Schedule = 6,
    /// Which laws the sensors of a profile follow.
    Laws = 7,
    /// Weather of a wind farm.
    Weather = 8,
    /// Which questions a query stream asks.
    Questions = 9,
}

/// Mixes 64 bits so that each output bit depends on each input bit.
///
/// The finaliser of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
#[inline]
pub(crate) fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A stream of draws that belongs to one (seed, purpose, source, step).
#[derive(Clone)]
pub(crate) struct Draws {
    key: u64,
}

impl Draws {
    /// The stream of one place in the data.
    #[inline]
    pub(crate) fn at(seed: u64, purpose: Purpose, source: u64, step: u64) -> Draws {
        let world = mix(seed.wrapping_add(GOLDEN.wrapping_mul(purpose as u64)));
        let row = mix(world ^ source.wrapping_mul(0xd6e8_feb8_6659_fd93));
        Draws { key: mix(row ^ step.wrapping_mul(0xa076_1d64_78bd_642f)) }
    }

    /// Draw number `lane` of this stream, in any order.
    #[inline]
    pub(crate) fn lane(&self, lane: u64) -> u64 {
        mix(self.key.wrapping_add(GOLDEN.wrapping_mul(lane + 1)))
    }

    /// The next draw: 64 uniform bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.key = self.key.wrapping_add(GOLDEN);
        mix(self.key)
    }

    /// The next draw in [0, 1).
    #[inline]
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.bits())
    }

    /// The next draw in 0..`count`; `count` must not be 0. The bias is below `count` / 2^64.
    #[inline]
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(count)) >> 64) as u64
    }

    /// The next draw of the exponential distribution with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// Maps 64 uniform bits to [0, 1).
#[inline]
pub(crate) fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// Knots of the tabulated normal quantile; the outermost ones are evaluated exactly instead.
/// 8 KiB of table stay in the first-level cache beside the rows.
const KNOTS: usize = 2048;
const TAIL: usize = 32;

/// The standard normal distribution by its inverse: a table with linear interpolation in the body
/// (error below 1e-4), exact in the tails.
pub(crate) struct Normal([f32; KNOTS + 1]);

static NORMAL: LazyLock<Normal> = LazyLock::new(|| {
    Normal(std::array::from_fn(|knot| normal_quantile(knot as f64 / KNOTS as f64) as f32))
});

impl Normal {
    /// The table; look it up once per row.
    #[inline]
    pub(crate) fn table() -> &'static Normal {
        &NORMAL
    }

    /// Maps 64 uniform bits to the standard normal distribution.
    #[inline]
    pub(crate) fn draw(&self, bits: u64) -> f64 {
        let knot = (bits >> (64 - KNOTS.ilog2())) as usize;
        if !(TAIL..KNOTS - TAIL).contains(&knot) {
            let half = 1.0 / (1u64 << 54) as f64;
            return normal_quantile(unit(bits) + half);
        }
        let within = unit(bits << KNOTS.ilog2());
        match self.0.get(knot..knot + 2) {
            Some(&[low, high]) => f64::from(low) + f64::from(high - low) * within,
            _ => 0.0,
        }
    }
}

/// Inverse of the standard normal distribution function, relative error below 1.2e-9, rounded to
/// 2^-24 so that every platform draws the same value.
///
/// Rational approximation by P. J. Acklam, "An algorithm for computing the inverse normal
/// cumulative distribution function" (2003).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] =
        [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    const EDGE: f64 = 0.02425;
    let horner = |terms: &[f64], x: f64| terms.iter().fold(0.0, |sum, term| sum * x + term);
    let p = p.clamp(1e-16, 1.0 - 1e-16);
    let exact = if p < EDGE {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / horner(&D, q)
    } else if p > 1.0 - EDGE {
        let q = (-2.0 * (1.0 - p).ln()).sqrt();
        -horner(&C, q) / horner(&D, q)
    } else {
        let q = p - 0.5;
        let r = q * q;
        horner(&A, r) * q / horner(&B, r)
    };
    let grain = (1u64 << 24) as f64;
    (exact * grain).round() / grain
}

/// A permutation of 0..`count` chosen by `key`: four Feistel rounds on the enclosing power of four,
/// walked until the image falls inside (Black and Rogaway, "Ciphers with arbitrary finite
/// domains", 2002). Needs no memory.
pub(crate) fn permute(index: u64, count: u64, key: u64) -> u64 {
    let half = (64 - count.saturating_sub(1).leading_zeros()).div_ceil(2).max(1);
    let mask = (1u64 << half) - 1;
    let mut at = index;
    loop {
        let (mut left, mut right) = (at >> half, at & mask);
        for round in 0..4u64 {
            let image = mix(right ^ key.wrapping_add(GOLDEN.wrapping_mul(round))) & mask;
            (left, right) = (right, left ^ image);
        }
        at = (left << half) | right;
        if at < count {
            return at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_printed_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959964), (0.001, -3.090232), (0.9999, 3.719016)] {
            assert!((normal_quantile(p) - z).abs() < 1e-6, "p = {p}");
        }
    }

    #[test]
    fn normal_draws_have_the_moments_of_the_normal_distribution() {
        let draws = Draws::at(1, Purpose::Values, 7, 3);
        let (mut sum, mut squares, mut beyond) = (0.0, 0.0, 0);
        let count = 400_000;
        for lane in 0..count {
            let z = Normal::table().draw(draws.lane(lane));
            sum += z;
            squares += z * z;
            beyond += u64::from(z.abs() > 2.575829);
        }
        assert!((sum / count as f64).abs() < 0.01);
        assert!((squares / count as f64 - 1.0).abs() < 0.01);
        assert!((beyond as f64 / count as f64 - 0.01).abs() < 0.001);
    }

    #[test]
    fn permutations_visit_every_place_once() {
        for count in [1u64, 2, 3, 10, 100, 4096, 5000] {
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let at = permute(index, count, 99) as usize;
                assert!(!std::mem::replace(&mut seen[at], true));
            }
        }
    }

    #[test]
    fn purposes_and_places_do_not_share_draws() {
        let mut seen = std::collections::HashSet::new();
        for source in 0..50 {
            for step in 0..50 {
                for purpose in [Purpose::Labels, Purpose::Start, Purpose::Values] {
                    for lane in 0..4 {
                        assert!(seen.insert(Draws::at(5, purpose, source, step).lane(lane)));
                    }
                }
            }
        }
    }
}
