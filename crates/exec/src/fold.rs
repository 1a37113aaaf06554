//! Folds: many values into one. [`Acc`] folds floats that arrive one by one or in runs, for a
//! window of one series as well as for one instant of many; [`fold_integers`] is the integer
//! arithmetic of OpenTSDB for one instant.

use crate::kernels::quantile::{by_method, upper_median};
use crate::kernels::sum::Sum;
use foliot_engine::Summary;
use foliot_plan::{Arithmetic, Fold, Quantile};

/// A fold under way over floats.
#[derive(Debug)]
pub(crate) struct Acc {
    /// How many values came that are not NaN.
    count: u64,
    /// The first NaN, which is the result where nothing else came: so "no value" stays one.
    nan: Option<f64>,
    state: State,
}

#[derive(Debug)]
enum State {
    Sum(Sum),
    Mean(Sum),
    SquareSum(Sum),
    Min(f64),
    Max(f64),
    Count,
    First(Option<f64>),
    Last(Option<f64>),
    Product(f64),
    Difference { first: f64, last: f64 },
    Deviation { mean: f64, squares: f64 },
    UpperMedian(Vec<f64>),
    Quantile { q: f64, method: Quantile, values: Vec<f64> },
}

impl Acc {
    pub(crate) fn new(fold: Fold) -> Self {
        let state = match fold {
            Fold::Sum => State::Sum(Sum::default()),
            Fold::Mean => State::Mean(Sum::default()),
            Fold::SquareSum => State::SquareSum(Sum::default()),
            Fold::Min => State::Min(f64::INFINITY),
            Fold::Max => State::Max(f64::NEG_INFINITY),
            Fold::Count => State::Count,
            Fold::First => State::First(None),
            Fold::Last => State::Last(None),
            Fold::Product => State::Product(1.0),
            Fold::Difference => State::Difference { first: f64::NAN, last: f64::NAN },
            Fold::Deviation => State::Deviation { mean: 0.0, squares: 0.0 },
            Fold::UpperMedian => State::UpperMedian(Vec::new()),
            Fold::Quantile { q, method } => State::Quantile { q, method, values: Vec::new() },
        };
        Self { count: 0, nan: None, state }
    }

    /// Adds a run of values.
    pub(crate) fn push(&mut self, run: &[f64]) {
        let nans = run.iter().filter(|v| v.is_nan()).count();
        if nans > 0 {
            self.nan = self.nan.or_else(|| run.iter().copied().find(|v| v.is_nan()));
        }
        let dense = nans == 0;
        match &mut self.state {
            State::Sum(sum) | State::Mean(sum) if dense => sum.push(run),
            State::Sum(sum) | State::Mean(sum) => {
                run.iter().filter(|v| !v.is_nan()).for_each(|&v| sum.add(v));
            }
            State::SquareSum(sum) => {
                run.iter().filter(|v| !v.is_nan()).for_each(|v| sum.add(v * v));
            }
            // f64::min and f64::max leave NaN out.
            State::Min(least) => *least = run.iter().fold(*least, |a, &v| a.min(v)),
            State::Max(most) => *most = run.iter().fold(*most, |a, &v| a.max(v)),
            State::Count => {}
            State::First(first) => *first = first.or_else(|| run.first().copied()),
            State::Last(last) => *last = run.last().copied().or(*last),
            State::Product(product) => *product = run.iter().fold(*product, |a, &v| a * v),
            State::Difference { first, last } => difference(first, last, run),
            State::Deviation { mean, squares } => deviation(self.count, mean, squares, run),
            State::UpperMedian(values) | State::Quantile { values, .. } if dense => {
                values.extend_from_slice(run);
            }
            State::UpperMedian(values) | State::Quantile { values, .. } => {
                values.extend(run.iter().filter(|v| !v.is_nan()));
            }
        }
        self.count += (run.len() - nans) as u64;
    }

    /// Adds one value.
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        if value.is_nan() {
            return self.push(&[value]);
        }
        match &mut self.state {
            State::Sum(sum) | State::Mean(sum) => sum.add(value),
            State::Min(least) => *least = least.min(value),
            State::Max(most) => *most = most.max(value),
            State::Count => {}
            _ => return self.push(&[value]),
        }
        self.count += 1;
    }

    /// Whether the fold can take the summary of a block in place of its values, with the same
    /// result.
    pub(crate) fn takes(fold: Fold, summary: &Summary) -> bool {
        let is_known = match fold {
            Fold::Sum | Fold::Mean => summary.decimal_sum().is_some_and(|sum| Sum::takes(&sum)),
            Fold::Min | Fold::Max | Fold::Count | Fold::First | Fold::Last => true,
            Fold::Difference => true,
            Fold::Deviation | Fold::UpperMedian | Fold::Product => false,
            Fold::SquareSum | Fold::Quantile { .. } => false,
        };
        is_known && summary.numeric && !summary.has_nan
    }

    /// Adds the `count` values of a block that [`Acc::takes`].
    pub(crate) fn push_summary(&mut self, count: u64, summary: &Summary) {
        match &mut self.state {
            State::Sum(sum) | State::Mean(sum) => {
                summary.decimal_sum().iter().for_each(|decimals| sum.add_decimals(decimals));
            }
            State::Min(least) => *least = least.min(summary.min()),
            State::Max(most) => *most = most.max(summary.max()),
            State::First(first) => *first = first.or(Some(summary.first())),
            State::Last(last) => *last = Some(summary.last()),
            State::Difference { first, last } => {
                difference(first, last, &[summary.first(), summary.last()]);
            }
            _ => {}
        }
        self.count += count;
    }

    /// Adds what `later` folded, whose values come after those of this one.
    pub(crate) fn absorb(&mut self, later: Self) {
        let (count, later_count) = (self.count as f64, later.count as f64);
        match (&mut self.state, later.state) {
            (State::Sum(a), State::Sum(b))
            | (State::Mean(a), State::Mean(b))
            | (State::SquareSum(a), State::SquareSum(b)) => a.absorb(&b),
            (State::Min(a), State::Min(b)) => *a = a.min(b),
            (State::Max(a), State::Max(b)) => *a = a.max(b),
            (State::First(a), State::First(b)) => *a = a.or(b),
            (State::Last(a), State::Last(b)) => *a = b.or(*a),
            (State::Product(a), State::Product(b)) => *a *= b,
            (State::Difference { first, last }, State::Difference { first: f, last: l }) => {
                if first.is_nan() {
                    *first = f;
                }
                if later.count > 0 || later.nan.is_some() {
                    *last = l;
                }
            }
            // T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating Formulae and a Pairwise Algorithm
            // for Computing Sample Variances", 1979.
            (
                State::Deviation { mean, squares },
                State::Deviation { mean: later_mean, squares: later_squares },
            ) if later.count > 0 => {
                let apart = later_mean - *mean;
                let share = later_count / (count + later_count);
                *mean += apart * share;
                *squares += later_squares + apart * apart * count * share;
            }
            (State::UpperMedian(a), State::UpperMedian(b))
            | (State::Quantile { values: a, .. }, State::Quantile { values: b, .. }) => a.extend(b),
            _ => {}
        }
        self.count += later.count;
        self.nan = self.nan.or(later.nan);
    }

    /// Memory that sums of very unlike floats take outside the struct.
    #[inline]
    pub(crate) fn sum_bytes(&self) -> usize {
        match &self.state {
            State::Sum(sum) | State::Mean(sum) | State::SquareSum(sum) => sum.bytes_outside(),
            _ => 0,
        }
    }

    /// Memory of the values that are kept, if they are.
    pub(crate) fn kept_bytes(&self) -> usize {
        match &self.state {
            State::UpperMedian(values) | State::Quantile { values, .. } => 8 * values.capacity(),
            _ => 0,
        }
    }

    /// Memory outside the struct that every value adds.
    pub(crate) fn bytes_per_value(fold: Fold) -> usize {
        match fold {
            Fold::UpperMedian | Fold::Quantile { .. } => 8,
            _ => 0,
        }
    }

    /// The result; nothing if no value came at all.
    pub(crate) fn finish(&mut self) -> Option<f64> {
        if self.count == 0 && self.nan.is_none() {
            return None;
        }
        let nothing = self.nan.unwrap_or(f64::NAN);
        Some(match &mut self.state {
            State::Count => self.count as f64,
            State::First(value) | State::Last(value) => value.unwrap_or(nothing),
            _ if self.count == 0 => nothing,
            State::Sum(sum) | State::SquareSum(sum) => sum.total(),
            State::Mean(sum) => sum.total() / self.count as f64,
            State::Min(value) | State::Max(value) => *value,
            State::Product(product) => *product,
            State::Difference { first, last } => *last - *first,
            State::Deviation { squares, .. } => (*squares / self.count as f64).sqrt(),
            State::UpperMedian(values) => upper_median(values).unwrap_or(nothing),
            State::Quantile { q, method, values } => by_method(values, *q, *method),
        })
    }

    /// Forgets all values, keeping the memory.
    pub(crate) fn reset(&mut self, fold: Fold) {
        match &mut self.state {
            State::UpperMedian(values) | State::Quantile { values, .. } => values.clear(),
            _ => self.state = Self::new(fold).state,
        }
        self.count = 0;
        self.nan = None;
    }
}

/// Longest run that [`fold_short`] takes: longer ones are worth the state.
pub(crate) const SHORT_RUN: usize = 64;

/// What [`Acc`] makes of a short run that is all there is, without the state in between: windows of
/// a few samples are most of the work of most queries. Nothing where that takes more than one pass,
/// or where a value is NaN.
#[inline]
pub(crate) fn fold_short(fold: Fold, run: &[f64]) -> Option<f64> {
    if run.iter().any(|v| v.is_nan()) {
        return None;
    }
    let sum = || {
        let mut sum = Sum::default();
        sum.push(run);
        sum.total()
    };
    match fold {
        _ if run.is_empty() => None,
        Fold::Sum => Some(sum()),
        Fold::Mean => Some(sum() / run.len() as f64),
        Fold::Min => Some(run.iter().fold(f64::INFINITY, |a, &v| a.min(v))),
        Fold::Max => Some(run.iter().fold(f64::NEG_INFINITY, |a, &v| a.max(v))),
        Fold::Count => Some(run.len() as f64),
        Fold::First => run.first().copied(),
        Fold::Last => run.last().copied(),
        _ => None,
    }
}

/// The fold to use on floats under `arithmetic`, see [`Arithmetic::IntegerIfAll`].
pub(crate) fn fold_of_floats(fold: Fold, arithmetic: Arithmetic) -> Fold {
    match (fold, arithmetic) {
        (Fold::Quantile { q, .. }, Arithmetic::IntegerIfAll) => {
            Fold::Quantile { q, method: Quantile::Legacy }
        }
        _ => fold,
    }
}

/// Whether the fold of a single value is that value.
pub(crate) fn keeps_single(fold: Fold) -> bool {
    match fold {
        Fold::Sum | Fold::Min | Fold::Max | Fold::Mean | Fold::First | Fold::Last => true,
        Fold::UpperMedian | Fold::Product | Fold::Quantile { .. } => true,
        Fold::Count | Fold::Deviation | Fold::Difference | Fold::SquareSum => false,
    }
}

/// Folds integers in 64-bit arithmetic that wraps around and truncates toward zero; nothing of
/// none. The order of `values` may change.
pub(crate) fn fold_integers(fold: Fold, values: &mut [i64]) -> Option<i64> {
    let (&first, &last) = (values.first()?, values.last()?);
    let sum = |values: &[i64]| values.iter().fold(0i64, |a, &v| a.wrapping_add(v));
    Some(match fold {
        Fold::Sum => sum(values),
        Fold::Min => values.iter().copied().min()?,
        Fold::Max => values.iter().copied().max()?,
        Fold::Mean => sum(values) / values.len() as i64,
        Fold::Count => values.len() as i64,
        Fold::First => first,
        Fold::Last => last,
        Fold::Product => values.iter().fold(1i64, |a, &v| a.wrapping_mul(v)),
        Fold::Difference => last.wrapping_sub(first),
        Fold::SquareSum => values.iter().fold(0i64, |a, &v| a.wrapping_add(v.wrapping_mul(v))),
        Fold::UpperMedian => *values.select_nth_unstable(values.len() / 2).1,
        Fold::Deviation | Fold::Quantile { .. } => {
            let mut acc = Acc::new(fold);
            values.iter().for_each(|&v| acc.push(&[v as f64]));
            acc.finish()? as i64
        }
    })
}

fn difference(first: &mut f64, last: &mut f64, run: &[f64]) {
    if first.is_nan() {
        *first = run.iter().copied().find(|v| !v.is_nan()).unwrap_or(f64::NAN);
    }
    *last = run.last().copied().unwrap_or(*last);
}

/// B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products", 1962.
fn deviation(mut count: u64, mean: &mut f64, squares: &mut f64, run: &[f64]) {
    for &value in run.iter().filter(|v| !v.is_nan()) {
        count += 1;
        let before = value - *mean;
        *mean += before / count as f64;
        *squares += before * (value - *mean);
    }
}

#[cfg(test)]
mod tests;
