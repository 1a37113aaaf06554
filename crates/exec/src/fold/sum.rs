//! Summation: exact to the last bit with a plain loop where it is short, fast where it is long.

/// Values that are added one after the other, so that short sums (what a person checks by hand, and
/// what other implementations print) agree with a plain loop to the last bit.
pub(super) const SEQUENTIAL: u64 = 64;

/// Lanes of independent additions after that: enough to hide the latency of an addition (4 cycles)
/// at two vectors of four per cycle.
const LANES: usize = 8;

/// What the lanes of a long sum weigh.
pub(super) const LANES_BYTES: usize = LANES * size_of::<f64>();

/// A sum under way. Which lane a value falls into depends only on its position, so the result does
/// not depend on how the values were cut into runs (blocks before a flush, parts after it). The
/// error of lanes is no greater than that of a plain loop: N. J. Higham, "The Accuracy of Floating
/// Point Summation", 1993.
#[derive(Debug, Default)]
pub(super) struct Sum {
    seen: u64,
    sequential: f64,
    lanes: Option<Box<[f64; LANES]>>,
}

impl Sum {
    /// Adds `map` of each value of a run.
    #[inline]
    pub(super) fn push(&mut self, run: &[f64], map: impl Fn(f64) -> f64 + Copy) {
        let open = SEQUENTIAL.saturating_sub(self.seen).min(run.len() as u64) as usize;
        let (short, long) = run.split_at_checked(open).unwrap_or((run, &[]));
        self.sequential = short.iter().fold(self.sequential, |sum, &v| sum + map(v));
        self.seen += short.len() as u64;
        if !long.is_empty() {
            self.push_lanes(long, map);
        }
    }

    fn push_lanes(&mut self, run: &[f64], map: impl Fn(f64) -> f64 + Copy) {
        let lanes = self.lanes.get_or_insert_default();
        let lane = (self.seen % LANES as u64) as usize;
        self.seen += run.len() as u64;
        let (lead, run) = run.split_at_checked((LANES - lane) % LANES).unwrap_or((run, &[]));
        for (sum, &v) in lanes.iter_mut().skip(lane).zip(lead) {
            *sum += map(v);
        }
        let (whole, rest) = run.as_chunks::<LANES>();
        let mut sums = **lanes;
        for chunk in whole {
            for (sum, &v) in sums.iter_mut().zip(chunk) {
                *sum += map(v);
            }
        }
        for (sum, &v) in sums.iter_mut().zip(rest) {
            *sum += map(v);
        }
        **lanes = sums;
    }

    /// Adds another sum.
    pub(super) fn absorb(&mut self, later: &Self) {
        if later.seen > 0 {
            self.push(&[later.total()], |v| v);
        }
    }

    /// The sum so far; 0 of nothing.
    pub(super) fn total(&self) -> f64 {
        let Some(lanes) = &self.lanes else { return self.sequential };
        let [a, b, c, d, e, f, g, h] = **lanes;
        self.sequential + (((a + b) + (c + d)) + ((e + f) + (g + h)))
    }
}
