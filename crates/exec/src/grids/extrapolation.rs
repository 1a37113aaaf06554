//! What a counter or a level grows by within ranges, to the bit as Prometheus 3 calculates it
//! (`promql/functions.go`).
//!
//! 1. Where ranges lie among the samples of a series, and by what a difference grows there, follows
//!    from the times alone: it is looked up once for all series that have the same.
//! 2. A series that never falls takes a difference and a product for each range.
//! 3. What a counter lost where it fell is added in the order of the samples.
//! 4. A counter that would have been below 0 when its range began is extrapolated to 0 only. That
//!    is seen without a division.

use super::numbers::Numbers;
use std::ops::Range;

/// The difference from first to last within ranges of a series: as if the series went on to the
/// ends of the range unless it seems to begin or end within it.
#[derive(Clone, Copy)]
pub(super) struct Extrapolation {
    pub(super) is_counter: bool,
    pub(super) per_second: bool,
}

/// Where ranges lie among the samples of a series.
#[derive(Debug, Default)]
pub(super) struct Extrapolated {
    ranges: Vec<Lain>,
    spans: Vec<Spans>,
    /// How many samples all ranges have.
    pub(super) samples: usize,
}

/// Where a range of at least two samples lies, and by what their difference grows.
#[derive(Clone, Copy, Debug)]
struct Lain {
    /// The first and the last of them; none has the number of a range that has fewer.
    first: u32,
    last: u32,
    factor: f64,
    /// See [`Spans::young`]; no number for what is no counter.
    young: f64,
}

impl Lain {
    /// What stands for a range of fewer samples.
    const NOWHERE: Self = Self { first: u32::MAX, last: u32::MAX, factor: 0.0, young: f64::NAN };
}

impl Extrapolation {
    /// Bytes that [`Extrapolation::ranges`] takes for so many of them.
    pub(super) fn bytes(ranges: usize) -> usize {
        ranges.saturating_mul(size_of::<Lain>() + size_of::<Spans>())
    }

    /// Looks up ranges, each with its first and its last instant, from the earliest to the latest.
    pub(super) fn ranges(
        self,
        times_ns: &[i64],
        ranges: impl Iterator<Item = (Range<usize>, i64, i64)>,
    ) -> Extrapolated {
        let mut all = Extrapolated::default();
        all.ranges.reserve_exact(ranges.size_hint().0);
        all.spans.reserve_exact(ranges.size_hint().0);
        // Most ranges lie as the one before.
        let mut before: Option<(Lie, Spans, f64)> = None;
        for (range, start_ns, end_ns) in ranges {
            all.samples += range.len();
            let (first, last) = (u32::try_from(range.start), u32::try_from(range.end));
            let times_ns = times_ns.get(range).unwrap_or_default();
            let ([first_ns, .., last_ns], Ok(first), Ok(end)) = (times_ns, first, last) else {
                all.ranges.push(Lain::NOWHERE);
                all.spans.push(Spans::NONE);
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
            all.ranges.push(Lain { first, last: end.saturating_sub(1), factor, young });
            all.spans.push(spans);
        }
        all
    }

    /// What the ranges come to in a series.
    pub(super) fn values(self, numbers: &Numbers, of: &Extrapolated) -> Vec<Option<f64>> {
        match self.is_counter && numbers.falls() {
            false => self.extrapolated(numbers, of, |_, difference| difference),
            true => {
                let mut lost = Lost::of(&numbers.values);
                self.extrapolated(numbers, of, |lain, difference| lost.within(lain, difference))
            }
        }
    }

    /// The same; `all` makes what a series grew by of the difference of a range's last value and
    /// its first.
    fn extrapolated(
        self,
        numbers: &Numbers,
        of: &Extrapolated,
        mut all: impl FnMut(&Lain, f64) -> f64,
    ) -> Vec<Option<f64>> {
        let values = &numbers.values[..];
        let value = |(lain, spans): (&Lain, &Spans)| {
            let (last, first) =
                (*values.get(lain.last as usize)?, *values.get(lain.first as usize)?);
            let difference = all(lain, last - first);
            // Never where something is no number.
            let is_young = first <= difference * lain.young && difference > 0.0;
            if is_young && first >= 0.0 {
                let since_zero = spans.since_zero(first, difference);
                if since_zero < spans.before {
                    return Some(difference * spans.factor(Some(since_zero), self.per_second));
                }
            }
            Some(difference * lain.factor)
        };
        of.ranges.iter().zip(&of.spans).map(value).collect()
    }
}

/// What a counter lost where it began again at 0.
struct Lost {
    /// The samples before which it fell, by their numbers, and their values.
    falls: Vec<(u32, f64)>,
    /// How many of them lie before the range that was looked at last.
    passed: usize,
}

impl Lost {
    fn of(values: &[f64]) -> Self {
        let pairs = values.iter().zip(values.iter().skip(1)).zip(0_u32..);
        let falls = pairs.filter(|((before, after), _)| after < before);
        Self { falls: falls.map(|((before, _), at)| (at, *before)).collect(), passed: 0 }
    }

    /// A difference, and what was lost within its range, which is not before that of the last call.
    fn within(&mut self, lain: &Lain, difference: f64) -> f64 {
        let falls = self.falls.get(self.passed..).unwrap_or_default();
        let before = falls.iter().take_while(|(at, _)| *at < lain.first).count();
        self.passed += before;
        let within = falls.iter().skip(before).take_while(|(at, _)| *at < lain.last);
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
