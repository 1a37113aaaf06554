//! Where ranges of VictoriaMetrics' rules lie among samples, which their times tell.

use super::gapped::Gapped;
use super::stored::looked_at;
use super::stretches::{Spread, Stretches};
use crate::kernels::quantile::quantile;
use foliot_plan::grid::{Loose, Shift, Steps};
use std::ops::Range;

/// Gaps between the first samples of a series that tell how far they lie apart.
const GAPS: usize = 20;

/// Where the ranges of all instants lie among the samples of a series.
#[derive(Default)]
pub(super) struct Places {
    /// Positions of the samples.
    pub(super) ranges: Vec<Range<u32>>,
    /// Between which of them a range grows: from the one before it that is near enough, or from its
    /// first one, to its last one.
    ends: Stretches,
    /// The time between these, for all instants.
    seconds: Vec<f64>,
    /// Instants of which both are the same.
    pub(super) still: Vec<usize>,
    /// Ranges that have samples, and none near before them, by their instants.
    pub(super) begun: Vec<(usize, Range<u32>)>,
    /// The last sample of each range.
    pub(super) lasts: Stretches,
    pub(super) range_ns: i64,
    /// How far before a range the sample before it may be.
    pub(super) reach_ns: i64,
    /// How many samples all ranges have.
    pub(super) samples: usize,
}

impl Places {
    /// Bytes that [`Places::of`] takes for so many ranges.
    pub(super) fn bytes(ranges: usize) -> usize {
        // An instant's number takes no more than its seconds.
        let one = 2 * size_of::<Range<u32>>() + 3 * size_of::<f64>();
        Stretches::bytes(ranges).saturating_mul(2).saturating_add(ranges.saturating_mul(one))
    }

    /// What `of` makes of what values grow by between the ends of each range, and of the time that
    /// takes.
    pub(super) fn grown(&self, values: &[f64], of: impl Fn(f64, f64) -> f64) -> Gapped {
        let instants = self.ends.instants();
        let (mut made, mut spread) = (Gapped::with_capacity(instants), Spread::default());
        for stretch in self.ends.iter() {
            made.lengthen(stretch.at);
            let (froms, tos) = stretch.values(values, &mut spread);
            let seconds = self.seconds.get(stretch.at..).unwrap_or_default();
            let ends = froms.iter().zip(tos).zip(seconds);
            made.extend(ends.map(|((from, to), seconds)| of(to - from, *seconds)));
        }
        made.lengthen(instants);
        made
    }

    pub(super) fn of(loose: &Loose, (shift, steps): (&Shift, &Steps), times_ns: &[i64]) -> Self {
        let reach_ns = reach(apart(times_ns, loose.step_ns));
        let mut range_ns = loose.range_ns.unwrap_or(loose.step_ns);
        if loose.widens {
            range_ns = range_ns.max(reach_ns);
        }
        let mut made = Self { range_ns, reach_ns, ..Self::default() };
        let (mut first, mut end) = (0_u32, 0_u32);
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
            made.push(index, times_ns, (first..end, start_ns.saturating_sub(reach_ns)));
        }
        made
    }

    /// Adds the range of an instant. The sample before it is looked at where it is later than
    /// `after_ns`.
    fn push(&mut self, index: usize, times_ns: &[i64], (range, after_ns): (Range<u32>, i64)) {
        let ends = ends_of(times_ns, range.clone(), after_ns);
        let time_ns = |at: u32| times_ns.get(at as usize).copied().unwrap_or_default();
        self.ends.push(ends);
        self.seconds.push(ends.map_or(0.0, |(from, to)| span(time_ns(from), time_ns(to))));
        if ends.is_some_and(|(from, to)| from == to) {
            self.still.push(index);
        }
        let last = range.end.checked_sub(1).filter(|_| !range.is_empty());
        self.lasts.push(last.map(|last| (last, last)));
        if last.is_some() && ends.is_none_or(|(from, _)| from >= range.start) {
            self.begun.push((index, range.clone()));
        }
        self.samples += range.len();
        self.ranges.push(range);
    }
}

/// The ends between which a range grows.
fn ends_of(times_ns: &[i64], range: Range<u32>, after_ns: i64) -> Option<(u32, u32)> {
    let time_ns = |at: u32| times_ns.get(at as usize);
    // VictoriaMetrics looks for the sample before only where one stands behind it.
    let before = range.start.checked_sub(1).filter(|_| time_ns(range.start).is_some());
    let before = before.filter(|before| time_ns(*before).is_some_and(|ns| *ns > after_ns));
    let from = before.or((range.len() > 1).then_some(range.start))?;
    let to = if range.is_empty() { before } else { range.end.checked_sub(1) };
    Some((from, to?))
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
