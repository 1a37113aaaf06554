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
        // Chosen and not branched to, so that loops over many sums take several at a time.
        let is_larger = self.sum.abs() >= value.abs();
        let (large, small) = if is_larger { (self.sum, value) } else { (value, self.sum) };
        let lost = self.lost + ((large - sum) + small);
        Self { sum, lost: if sum.is_infinite() { 0.0 } else { lost } }
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
    pub(super) carried: Carried,
    pub(super) is_mean: bool,
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
