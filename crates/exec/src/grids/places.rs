//! Where ranges of VictoriaMetrics' rules lie among samples, which their times tell.

use super::stored::looked_at;
use crate::kernels::quantile::quantile;
use foliot_plan::grid::{Loose, Shift, Steps};
use std::ops::Range;

/// Gaps between the first samples of a series that tell how far they lie apart.
const GAPS: usize = 20;

/// Where the ranges of all instants lie among the samples of a series.
pub(super) struct Places {
    /// Positions of the samples.
    pub(super) ranges: Vec<Range<u32>>,
    /// Between which of them a range grows.
    pub(super) ends: Vec<Ends>,
    pub(super) range_ns: i64,
    /// How far before a range the sample before it may be.
    pub(super) reach_ns: i64,
    /// How many samples all ranges have.
    pub(super) samples: usize,
}

/// The positions of two samples, and the time between them: from the one before a range that is
/// near enough, or from its first one, to its last one.
pub(super) struct Ends {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) seconds: f64,
}

impl Ends {
    /// What stands for a range of fewer samples.
    const NOWHERE: Self = Self { from: u32::MAX, to: u32::MAX, seconds: 0.0 };

    /// Whether they begin before their range.
    pub(super) fn are_before(&self, range: &Range<u32>) -> bool {
        self.from < range.start
    }

    /// By what the second value is more than the first.
    pub(super) fn grown(&self, values: &[f64]) -> Option<f64> {
        Some(*values.get(self.to as usize)? - *values.get(self.from as usize)?)
    }
}

impl Places {
    /// Bytes that [`Places::of`] takes for so many ranges.
    pub(super) fn bytes(ranges: usize) -> usize {
        ranges.saturating_mul(size_of::<Range<u32>>() + size_of::<Ends>())
    }

    pub(super) fn of(loose: &Loose, (shift, steps): (&Shift, &Steps), times_ns: &[i64]) -> Self {
        let reach_ns = reach(apart(times_ns, loose.step_ns));
        let mut range_ns = loose.range_ns.unwrap_or(loose.step_ns);
        if loose.widens {
            range_ns = range_ns.max(reach_ns);
        }
        let (mut ranges, mut ends) =
            (Vec::with_capacity(steps.count), Vec::with_capacity(steps.count));
        let (mut first, mut end, mut samples) = (0_u32, 0_u32, 0);
        let is_until = |at: u32, until_ns: i64| {
            times_ns.get(at as usize).is_some_and(|time_ns| *time_ns <= until_ns)
        };
        for index in 0..steps.count {
            let end_ns = looked_at(shift, steps.at(index));
            let start_ns = end_ns.saturating_sub(range_ns);
            while is_until(first, start_ns) {
                first += 1;
            }
            end = end.max(first);
            while is_until(end, end_ns) {
                end += 1;
            }
            samples += (end - first) as usize;
            ends.push(ends_of(times_ns, first..end, start_ns.saturating_sub(reach_ns)));
            ranges.push(first..end);
        }
        Self { ranges, ends, range_ns, reach_ns, samples }
    }
}

/// The ends of a range. The sample before it is looked at where it is later than `after_ns`.
fn ends_of(times_ns: &[i64], range: Range<u32>, after_ns: i64) -> Ends {
    let time_ns = |at: u32| times_ns.get(at as usize);
    // VictoriaMetrics looks for the sample before only where one stands behind it.
    let before = range.start.checked_sub(1).filter(|_| time_ns(range.start).is_some());
    let before = before.filter(|before| time_ns(*before).is_some_and(|ns| *ns > after_ns));
    let from = before.or((range.len() > 1).then_some(range.start));
    let to = if range.is_empty() { before } else { range.end.checked_sub(1) };
    let (Some(from), Some(to)) = (from, to) else { return Ends::NOWHERE };
    let (Some(from_ns), Some(to_ns)) = (time_ns(from), time_ns(to)) else { return Ends::NOWHERE };
    Ends { from, to, seconds: span(*from_ns, *to_ns) }
}

/// Seconds between two instants.
pub(super) fn span(from_ns: i64, to_ns: i64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e9
}

/// How far samples lie apart: of the first gaps, the one that six in ten are not longer than.
fn apart(times_ns: &[i64], otherwise_ns: i64) -> i64 {
    let gaps = times_ns.iter().zip(times_ns.iter().skip(1)).take(GAPS);
    let gaps: Vec<f64> = gaps.map(|(a, b)| ((b - a) / 1_000_000) as f64).collect();
    if gaps.is_empty() {
        return otherwise_ns;
    }
    match (quantile(0.6, gaps) as i64).saturating_mul(1_000_000) {
        ns if ns > 0 => ns,
        _ => otherwise_ns,
    }
}

/// How far away the sample before may be: further where samples lie close together.
fn reach(apart_ns: i64) -> i64 {
    const SECOND: i64 = 1_000_000_000;
    let more = match apart_ns {
        ns if ns <= 2 * SECOND => ns.saturating_mul(4),
        ns if ns <= 4 * SECOND => ns.saturating_mul(2),
        ns if ns <= 8 * SECOND => ns,
        ns if ns <= 16 * SECOND => ns / 2,
        ns if ns <= 32 * SECOND => ns / 4,
        ns => ns / 8,
    };
    apart_ns.saturating_add(more / 1_000_000 * 1_000_000)
}
