//! What numbers come to, to the bit as Prometheus 3 calculates it (`promql/functions.go`,
//! `promql/quantile.go`): sums carry what rounding loses along (A. Neumaier, "Rundungsfehleranalyse
//! einiger Verfahren zur Summation endlicher Summen", 1974).

use crate::kernels::quantile::quantile;
use std::ops::Range;

/// Samples of a range, at least one.
pub(super) struct Window<'s> {
    pub(super) samples: &'s [(i64, f64)],
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
}

/// A sum, and what rounding lost of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carried {
    pub(super) sum: f64,
    pub(super) lost: f64,
}

impl Carried {
    pub(super) fn add(self, value: f64) -> Self {
        let sum = self.sum + value;
        let lost = match () {
            () if sum.is_infinite() => 0.0,
            () if self.sum.abs() >= value.abs() => self.lost + ((self.sum - sum) + value),
            () => self.lost + ((value - sum) + self.sum),
        };
        Self { sum, lost }
    }

    pub(super) fn total(self) -> f64 {
        if self.sum.is_infinite() { self.sum } else { self.sum + self.lost }
    }
}

pub(super) fn sum(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(Carried::default(), Carried::add).total()
}

pub(super) fn average(values: impl Iterator<Item = f64>) -> f64 {
    let mut count = 0.0;
    let mean = values.fold(Mean::default(), |mean, value| {
        count += 1.0;
        mean.add(value, count)
    });
    mean.total(count)
}

pub(super) fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let mut count = 0.0;
    let squares = values.fold(Squares::default(), |squares, value| {
        count += 1.0;
        squares.add(value, count)
    });
    squares.variance(count)
}

/// A mean so far. It is a sum until that is too large for a float, and then the mean itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    carried: Carried,
    is_mean: bool,
}

impl Mean {
    /// With one more, which is the `count`th.
    pub(super) fn add(mut self, value: f64, count: f64) -> Self {
        if !self.is_mean {
            let next = self.carried.add(value);
            if count == 1.0 || !next.sum.is_infinite() {
                return Self { carried: next, is_mean: false };
            }
            self.carried.sum /= count - 1.0;
            self.carried.lost /= count - 1.0;
        }
        let share = (count - 1.0) / count;
        let Carried { sum, lost } = self.carried;
        let carried = Carried { sum: share * sum, lost: share * lost }.add(value / count);
        Self { carried, is_mean: true }
    }

    pub(super) fn total(self, count: f64) -> f64 {
        let Carried { sum, lost } = self.carried;
        match self.is_mean {
            true => sum + lost,
            false => sum / count + lost / count,
        }
    }
}

/// How far values are from their mean, squared (B. P. Welford, "Note on a Method for Calculating
/// Corrected Sums of Squares and Products", 1962).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Squares {
    mean: Carried,
    squares: Carried,
}

impl Squares {
    /// With one more, which is the `count`th.
    pub(super) fn add(self, value: f64, count: f64) -> Self {
        let off = value - (self.mean.sum + self.mean.lost);
        let mean = self.mean.add(off / count);
        let squares = self.squares.add(off * (value - (mean.sum + mean.lost)));
        Self { mean, squares }
    }

    /// The variance of all values.
    pub(super) fn variance(self, count: f64) -> f64 {
        (self.squares.sum + self.squares.lost) / count
    }
}

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
    spans: Spans,
}

impl Lain {
    /// What stands for a range of fewer samples.
    const NOWHERE: Self = Self { first: u32::MAX, last: u32::MAX, factor: 0.0, spans: Spans::NONE };
}

impl Extrapolation {
    /// Bytes that [`Extrapolation::ranges`] takes for so many of them.
    pub(super) fn bytes(ranges: usize) -> usize {
        ranges.saturating_mul(size_of::<Lain>())
    }

    /// Looks up ranges, each with its first and its last instant, from the earliest to the latest.
    pub(super) fn ranges(
        self,
        samples: &[(i64, f64)],
        ranges: impl Iterator<Item = (Range<usize>, i64, i64)>,
    ) -> Extrapolated {
        let mut all = Extrapolated::default();
        all.ranges.reserve_exact(ranges.size_hint().0);
        // Most ranges lie as the one before.
        let mut before: Option<(Lie, Spans, f64)> = None;
        for (range, start_ns, end_ns) in ranges {
            all.samples += range.len();
            let (Ok(first), Some(Ok(last))) =
                (u32::try_from(range.start), range.end.checked_sub(1).map(u32::try_from))
            else {
                all.ranges.push(Lain::NOWHERE);
                continue;
            };
            let samples = samples.get(range).unwrap_or_default();
            let [(first_ns, _), .., (last_ns, _)] = *samples else {
                all.ranges.push(Lain::NOWHERE);
                continue;
            };
            let lie = Lie {
                before_ns: first_ns.saturating_sub(start_ns),
                between_ns: last_ns.saturating_sub(first_ns),
                behind_ns: end_ns.saturating_sub(last_ns),
                samples: samples.len(),
            };
            let (_, spans, factor) = match before {
                Some(before) if before.0 == lie => before,
                _ => {
                    let spans = lie.spans();
                    (lie, spans, spans.factor(None, self.per_second))
                }
            };
            before = Some((lie, spans, factor));
            all.ranges.push(Lain { first, last, factor, spans });
        }
        all
    }

    /// What the ranges come to in a series.
    pub(super) fn values(
        self,
        samples: &[(i64, f64)],
        of: &Extrapolated,
    ) -> impl Iterator<Item = Option<f64>> {
        let pairs = samples.iter().zip(samples.iter().skip(1)).zip(0_u32..);
        let falls = pairs.filter(move |(((_, a), (_, b)), _)| self.is_counter && b < a);
        // A counter that fell began again at 0. Falls are told by the samples before them.
        let falls: Vec<(u32, f64)> = falls.map(|(((_, before), _), at)| (at, *before)).collect();
        let mut passed = 0;
        of.ranges.iter().map(move |lain| {
            let (_, first) = *samples.get(lain.first as usize)?;
            let (_, last) = *samples.get(lain.last as usize)?;
            let mut difference = last - first;
            while falls.get(passed).is_some_and(|(at, _)| *at < lain.first) {
                passed += 1;
            }
            let fallen = falls.get(passed..).unwrap_or_default();
            for (_, before) in fallen.iter().take_while(|(at, _)| *at < lain.last) {
                difference += before;
            }
            let spans = &lain.spans;
            // Most counters were 0 long before; that is seen without a division.
            let may_be_new = spans.between * first <= spans.before * difference * 1.000_001;
            if may_be_new && self.is_counter && difference > 0.0 && first >= 0.0 {
                let since_zero = spans.between * (first / difference);
                if since_zero < spans.before {
                    return Some(difference * spans.factor(Some(since_zero), self.per_second));
                }
            }
            Some(difference * lain.factor)
        })
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

    /// By what a difference grows when it is extrapolated. A counter was 0 so many seconds before
    /// the first sample, and not below it before.
    pub(super) fn factor(&self, since_zero: Option<f64>, per_second: bool) -> f64 {
        let before = since_zero.map_or(self.before, |since| self.before.min(since));
        let factor = (self.between + before + self.behind) / self.between;
        if per_second { factor / self.range } else { factor }
    }
}

/// The newest of at least two numbers, smoothed twice (C. C. Holt, "Forecasting Seasonals and
/// Trends by Exponentially Weighted Moving Averages", 1957).
pub(super) fn smoothed(
    mut values: impl Iterator<Item = f64>,
    weight: f64,
    trend: f64,
) -> Option<f64> {
    let (first, second) = (values.next()?, values.next()?);
    let (mut level, mut slope, mut before) = (first, second - first, 0.0);
    for (at, value) in std::iter::once(second).chain(values).enumerate() {
        if at > 0 {
            slope = trend * (level - before) + (1.0 - trend) * slope;
        }
        (before, level) = (level, weight * value + (1.0 - weight) * (level + slope));
    }
    Some(level)
}

/// The median of how far values are from their median.
pub(super) fn spread(values: Vec<f64>) -> f64 {
    if values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    let median = quantile(0.5, values.clone());
    quantile(0.5, values.into_iter().map(|value| (value - median).abs()).collect())
}

/// Slope per second of the line of least squares, and its value at an instant.
pub(super) fn line(samples: &[(i64, f64)], at_ns: i64) -> Option<(f64, f64)> {
    let [(_, first), _, ..] = *samples else { return None };
    if samples.iter().all(|(_, value)| *value == first) {
        return Some(if first.is_infinite() { (f64::NAN, f64::NAN) } else { (0.0, first) });
    }
    let points = || samples.iter().map(|(time_ns, y)| ((time_ns - at_ns) as f64 / 1e9, *y));
    let total = |of: &dyn Fn(f64, f64) -> f64| {
        let carried = points().fold(Carried::default(), |sum, (x, y)| sum.add(of(x, y)));
        carried.sum + carried.lost
    };
    let count = samples.len() as f64;
    let (x, y) = (total(&|x, _| x), total(&|_, y| y));
    let together = total(&|x, y| x * y) - x * y / count;
    let apart = total(&|x, _| x * x) - x * x / count;
    let slope = together / apart;
    Some((slope, y / count - slope * x / count))
}
