//! What numbers come to, to the bit as Prometheus 3 calculates it (`promql/functions.go`,
//! `promql/quantile.go`): sums carry what rounding loses along (A. Neumaier, "Rundungsfehleranalyse
//! einiger Verfahren zur Summation endlicher Summen", 1974).

use crate::kernels::quantile::quantile;

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

/// The mean. Where the sum is too large for a float, the mean so far is carried instead.
pub(super) fn average(values: impl Iterator<Item = f64>) -> f64 {
    let (mut carried, mut count, mut is_mean) = (Carried::default(), 0.0, false);
    for value in values {
        count += 1.0;
        if !is_mean {
            let next = carried.add(value);
            if count == 1.0 || !next.sum.is_infinite() {
                carried = next;
                continue;
            }
            is_mean = true;
            carried.sum /= count - 1.0;
            carried.lost /= count - 1.0;
        }
        let share = (count - 1.0) / count;
        carried =
            Carried { sum: share * carried.sum, lost: share * carried.lost }.add(value / count);
    }
    match is_mean {
        true => carried.sum + carried.lost,
        false => carried.sum / count + carried.lost / count,
    }
}

/// The variance of all values (B. P. Welford, "Note on a Method for Calculating Corrected Sums of
/// Squares and Products", 1962).
pub(super) fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let (mut count, mut mean, mut squares) = (0.0, Carried::default(), Carried::default());
    for value in values {
        count += 1.0;
        let off = value - (mean.sum + mean.lost);
        mean = mean.add(off / count);
        squares = squares.add(off * (value - (mean.sum + mean.lost)));
    }
    (squares.sum + squares.lost) / count
}

/// The difference from first to last, as if the series went on to the ends of the range unless it
/// seems to begin or end within it.
pub(super) fn extrapolated(window: &Window<'_>, is_counter: bool, per_second: bool) -> Option<f64> {
    let [(first_ns, first), .., (last_ns, last)] = *window.samples else { return None };
    let mut difference = last - first;
    if is_counter {
        let pairs = window.samples.iter().zip(window.samples.iter().skip(1));
        // A counter that fell began again at 0.
        let falls = pairs.filter(|((_, before), (_, after))| after < before);
        difference = falls.fold(difference, |sum, ((_, before), _)| sum + before);
    }
    let reach = Reach {
        start_ns: window.start_ns,
        end_ns: window.end_ns,
        first_ns,
        last_ns,
        samples: window.samples.len(),
        // It was not below 0.
        share_from_zero: (is_counter && difference > 0.0 && first >= 0.0)
            .then_some(first / difference),
    };
    Some(difference * reach.factor(per_second))
}

/// How samples lie in a range.
pub(super) struct Reach {
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) first_ns: i64,
    pub(super) last_ns: i64,
    pub(super) samples: usize,
    /// The first value of a counter as a part of what it grew by: so much earlier it was 0.
    pub(super) share_from_zero: Option<f64>,
}

impl Reach {
    /// By what a difference grows when it is extrapolated to the ends of the range.
    pub(super) fn factor(&self, per_second: bool) -> f64 {
        let seconds = |ns: i64| ns as f64 / 1e9;
        let mut to_start = seconds(self.first_ns - self.start_ns);
        let mut to_end = seconds(self.end_ns - self.last_ns);
        let sampled = seconds(self.last_ns - self.first_ns);
        let between = sampled / self.samples.saturating_sub(1) as f64;
        let far = between * 1.1;
        if to_start >= far {
            to_start = between / 2.0;
        }
        if let Some(share) = self.share_from_zero {
            to_start = to_start.min(sampled * share);
        }
        if to_end >= far {
            to_end = between / 2.0;
        }
        let mut factor = (sampled + to_start + to_end) / sampled;
        if per_second {
            factor /= seconds(self.end_ns - self.start_ns);
        }
        factor
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
