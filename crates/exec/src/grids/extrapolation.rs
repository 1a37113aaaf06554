//! What a counter or a level grows by within ranges, to the bit as Prometheus 3 calculates it
//! (`promql/functions.go`).
//!
//! 1. Where ranges lie among the samples of a series, and by what a difference grows there, follows
//!    from the times alone: it is looked up once for all series that have the same.
//! 2. A series that never falls takes a difference and a product for each range, which are made
//!    stretch by stretch.
//! 3. What a counter lost where it fell is added in the order of the samples.
//! 4. A counter that would have been below 0 when its range began is extrapolated to 0 only. That
//!    is seen without a division.

use super::gapped::Gapped;
use super::numbers::Numbers;
use super::stretches::{Spread, Stretch, Stretches};
use std::ops::Range;

/// Ranges that are looked at together for whether a counter is young: most often it is only at the
/// first instants.
const SOME: usize = 256;

/// The difference from first to last within ranges of a series: as if the series went on to the
/// ends of the range unless it seems to begin or end within it.
#[derive(Clone, Copy)]
pub(super) struct Extrapolation {
    pub(super) is_counter: bool,
    pub(super) per_second: bool,
}

/// Where ranges of at least two samples lie among those of a series, from the first to the last of
/// them, and by what their differences grow.
#[derive(Debug, Default)]
pub(super) struct Extrapolated {
    stretches: Stretches,
    /// One for each range, also for those that have fewer samples.
    factors: Vec<f64>,
    /// See [`Spans::young`]; no number for what is no counter.
    young: Vec<f64>,
    spans: Vec<Spans>,
    /// How many samples all ranges have.
    pub(super) samples: usize,
}

impl Extrapolation {
    /// Bytes that [`Extrapolation::ranges`] takes for so many of them.
    pub(super) fn bytes(ranges: usize) -> usize {
        let columns = size_of::<[f64; 2]>() + size_of::<Spans>();
        Stretches::bytes(ranges).saturating_add(ranges.saturating_mul(columns))
    }

    /// Looks up ranges, each with its first and its last instant, from the earliest to the latest.
    pub(super) fn ranges(
        self,
        times_ns: &[i64],
        ranges: impl Iterator<Item = (Range<usize>, i64, i64)>,
    ) -> Extrapolated {
        let mut all = Extrapolated::default();
        let count = ranges.size_hint().0;
        all.factors.reserve_exact(count);
        all.young.reserve_exact(count);
        all.spans.reserve_exact(count);
        // Most ranges lie as the one before.
        let mut before: Option<(Lie, Spans, f64)> = None;
        for (range, start_ns, end_ns) in ranges {
            all.samples += range.len();
            let (first, last) = (u32::try_from(range.start), u32::try_from(range.end));
            let times_ns = times_ns.get(range).unwrap_or_default();
            let ([first_ns, .., last_ns], Ok(first), Ok(end)) = (times_ns, first, last) else {
                all.push(None, (0.0, f64::NAN, Spans::NONE));
                continue;
            };
            let lie = Lie {
                before_ns: first_ns.saturating_sub(start_ns),
                between_ns: last_ns.saturating_sub(*first_ns),
                behind_ns: end_ns.saturating_sub(*last_ns),
                samples: times_ns.len(),
            };
            let (_, spans, factor) = match before {
                Some(before) if before.0 == lie => before,
                _ => {
                    let spans = lie.spans();
                    (lie, spans, spans.factor(None, self.per_second))
                }
            };
            before = Some((lie, spans, factor));
            let young = if self.is_counter { spans.young() } else { f64::NAN };
            all.push(Some((first, end.saturating_sub(1))), (factor, young, spans));
        }
        all
    }

    /// What the ranges come to in a series.
    pub(super) fn values(self, numbers: &Numbers, of: &Extrapolated) -> Gapped {
        let all = &numbers.values[..];
        let mut lost = (self.is_counter && numbers.falls()).then(|| Lost::of(all));
        let (mut made, mut spread) =
            (Gapped::with_capacity(of.stretches.instants()), Spread::default());
        for stretch in of.stretches.iter() {
            made.lengthen(stretch.at);
            let (firsts, lasts) = stretch.values(all, &mut spread);
            let grown = made.extend(firsts.iter().zip(lasts).map(|(first, last)| last - first));
            if let Some(lost) = &mut lost {
                for (grown, (first, last)) in grown.iter_mut().zip(stretch.places()) {
                    *grown = lost.within((first, last), *grown);
                }
            }
            self.extrapolate(grown, firsts, of, stretch);
        }
        made.lengthen(of.stretches.instants());
        made
    }

    /// Makes what counters or levels grew by within a stretch of ranges, which had these values
    /// first, what that comes to.
    fn extrapolate(self, grown: &mut [f64], firsts: &[f64], of: &Extrapolated, stretch: &Stretch) {
        let instants = stretch.at..stretch.at + stretch.count;
        let factors = of.factors.get(instants.clone()).unwrap_or_default().chunks(SOME);
        let young = of.young.get(instants.clone()).unwrap_or_default().chunks(SOME);
        let spans = of.spans.get(instants).unwrap_or_default().chunks(SOME);
        let all =
            grown.chunks_mut(SOME).zip(firsts.chunks(SOME)).zip(factors.zip(young).zip(spans));
        for ((grown, firsts), ((factors, young), spans)) in all {
            let may_be_young = firsts.iter().zip(&*grown).zip(young);
            let may_be_young = may_be_young
                .fold(false, |met, ((first, grown), young)| met | is_young(*first, *grown, *young));
            if !may_be_young {
                grown.iter_mut().zip(factors).for_each(|(grown, factor)| *grown *= factor);
                continue;
            }
            let all = grown.iter_mut().zip(firsts).zip(factors.iter().zip(young).zip(spans));
            for ((grown, first), ((factor, young), spans)) in all {
                *grown *= match is_young(*first, *grown, *young) && *first >= 0.0 {
                    true => spans.factor_of((*first, *grown), self.per_second),
                    false => *factor,
                };
            }
        }
    }
}

/// Whether a counter may be extrapolated to 0 only, if it was not below that: see [`Spans::young`].
/// Never where something is no number.
fn is_young(first: f64, grown: f64, young: f64) -> bool {
    (first <= grown * young) & (grown > 0.0)
}

impl Extrapolated {
    /// Adds a range: the positions of its first and its last sample, if it has two, and by what its
    /// difference grows.
    fn push(&mut self, places: Option<(u32, u32)>, (factor, young, spans): (f64, f64, Spans)) {
        self.stretches.push(places);
        self.factors.push(factor);
        self.young.push(young);
        self.spans.push(spans);
    }
}

/// What a counter lost where it began again at 0.
struct Lost {
    /// The samples before which it fell, by their numbers, and their values.
    falls: Vec<(usize, f64)>,
    /// How many of them lie before the range that was looked at last.
    passed: usize,
}

impl Lost {
    fn of(values: &[f64]) -> Self {
        let pairs = values.iter().zip(values.iter().skip(1)).zip(0..);
        let falls = pairs.filter(|((before, after), _)| after < before);
        Self { falls: falls.map(|((before, _), at)| (at, *before)).collect(), passed: 0 }
    }

    /// A difference, and what was lost within its range, which is not before that of the last call.
    fn within(&mut self, (first, last): (usize, usize), difference: f64) -> f64 {
        let falls = self.falls.get(self.passed..).unwrap_or_default();
        let before = falls.iter().take_while(|(at, _)| *at < first).count();
        self.passed += before;
        let within = falls.iter().skip(before).take_while(|(at, _)| *at < last);
        within.fold(difference, |difference, (_, lost)| difference + lost)
    }
}

/// How samples lie in a range: the time before the first of them, between them, and behind the
/// last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lie {
    pub(super) before_ns: i64,
    pub(super) between_ns: i64,
    pub(super) behind_ns: i64,
    pub(super) samples: usize,
}

/// Seconds that samples speak for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spans {
    before: f64,
    pub(super) between: f64,
    behind: f64,
    range: f64,
}

impl Lie {
    /// Far from its ends a range is spoken for by half the time between two samples.
    pub(super) fn spans(&self) -> Spans {
        let seconds = |ns: i64| ns as f64 / 1e9;
        let between = seconds(self.between_ns);
        let apart = between / self.samples.saturating_sub(1) as f64;
        let near = |span: f64| if span >= apart * 1.1 { apart / 2.0 } else { span };
        let Self { before_ns, between_ns, behind_ns, .. } = *self;
        Spans {
            before: near(seconds(before_ns)),
            between,
            behind: near(seconds(behind_ns)),
            range: seconds(before_ns.saturating_add(between_ns).saturating_add(behind_ns)),
        }
    }
}

impl Spans {
    const NONE: Self = Self { before: 0.0, between: 0.0, behind: 0.0, range: 0.0 };

    /// The part of what a counter grew by that it stands at, at most, if it may have been 0 since
    /// the range began; a little more, as this is rounded otherwise than [`Spans::since_zero`].
    fn young(&self) -> f64 {
        self.before / self.between * 1.000_001
    }

    /// How many seconds before the first sample a counter was 0, if it grew as it does between
    /// samples.
    fn since_zero(&self, first: f64, difference: f64) -> f64 {
        self.between * (first / difference)
    }

    /// By what a counter that may be young grows, which stood at the first value and grew by the
    /// second.
    fn factor_of(&self, (first, grown): (f64, f64), per_second: bool) -> f64 {
        let since_zero = self.since_zero(first, grown);
        self.factor(Some(since_zero).filter(|since| *since < self.before), per_second)
    }

    /// By what a difference grows when it is extrapolated. A counter was 0 so many seconds before
    /// the first sample, and not below it before.
    pub(super) fn factor(&self, since_zero: Option<f64>, per_second: bool) -> f64 {
        let before = since_zero.map_or(self.before, |since| self.before.min(since));
        let factor = (self.between + before + self.behind) / self.between;
        if per_second { factor / self.range } else { factor }
    }
}

#[cfg(test)]
mod tests;
