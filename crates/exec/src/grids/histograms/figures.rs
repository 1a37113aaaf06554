//! What a histogram comes to: quantiles, fractions and deviations (`promql/quantile.go`).

use super::super::fold::Carried;
use foliot_model::{Histogram, Interval};

/// A quantile, and what is to be said of observations that are no numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Quantile {
    /// Nothing.
    Plain(f64),
    /// They count as the highest, so that it is too high.
    Skewed(f64),
    /// It is one of them.
    Nan,
}

/// The value below which a share of the observations lies: between bounds in proportion, or where
/// bounds are exponential and not around zero, in proportion of their logarithms.
pub(crate) fn quantile(share: f64, of: &Histogram) -> Quantile {
    match share {
        _ if share < 0.0 => return Quantile::Plain(f64::NEG_INFINITY),
        _ if share > 1.0 => return Quantile::Plain(f64::INFINITY),
        _ if share.is_nan() || of.count == 0.0 => return Quantile::Plain(f64::NAN),
        _ => {}
    }
    // Observations that are no numbers are in no bucket, so that these are counted from below.
    let may_have_nan = of.sum.is_nan();
    let is_forward = may_have_nan || share < 0.5;
    let rank = if is_forward { share * of.count } else { (1.0 - share) * of.count };
    let (mut count, mut found, mut reached) = (0.0, None, false);
    let mut walk = |bucket: Interval| {
        if !reached {
            found = Some(bucket);
            if bucket.count != 0.0 {
                count += bucket.count;
                reached = count >= rank;
            }
        }
    };
    match is_forward {
        true => of.intervals().for_each(&mut walk),
        false => of.intervals().rev().for_each(&mut walk),
    }
    let none = Interval { lower: 0.0, upper: 0.0, has_lower: true, has_upper: true, count: 0.0 };
    let Some(bucket) = ended(of, found.unwrap_or(none)) else {
        // Beyond the outer bounds nothing is known: the nearer of them.
        let bucket = found.unwrap_or(none);
        let is_first = bucket.lower == f64::NEG_INFINITY;
        return Quantile::Plain(if is_first { bucket.upper } else { bucket.lower });
    };
    let count = count.min(of.count);
    if count < rank {
        return if may_have_nan { Quantile::Nan } else { Quantile::Plain(bucket.upper) };
    }
    let rank = if is_forward { rank - (count - bucket.count) } else { count - rank };
    let value = within(of, &bucket, rank / bucket.count);
    let all = || of.intervals().map(|bucket| bucket.count).sum::<f64>();
    match may_have_nan && all() < of.count {
        true => Quantile::Skewed(value),
        false => Quantile::Plain(value),
    }
}

/// A bucket with the ends that observations in it are taken to have; nothing where it has none.
fn ended(of: &Histogram, bucket: Interval) -> Option<Interval> {
    let Interval { lower, upper, .. } = bucket;
    if of.is_custom() {
        return match () {
            () if lower == f64::NEG_INFINITY && upper <= 0.0 => None,
            () if lower == f64::NEG_INFINITY => Some(Interval { lower: 0.0, ..bucket }),
            () if upper == f64::INFINITY => None,
            () => Some(bucket),
        };
    }
    Some(if lower < 0.0 && upper > 0.0 { one_sided(of, bucket) } else { bucket })
}

/// The bucket around zero: of a histogram without negative buckets its positive half, and so on.
fn one_sided(of: &Histogram, bucket: Interval) -> Interval {
    match (of.negative.is_empty(), of.positive.is_empty()) {
        (true, false) => Interval { lower: 0.0, ..bucket },
        (false, true) => Interval { upper: 0.0, ..bucket },
        _ => bucket,
    }
}

/// Where a share of a bucket ends.
fn within(of: &Histogram, bucket: &Interval, share: f64) -> f64 {
    let Interval { lower, upper, .. } = *bucket;
    if of.is_custom() || (lower <= 0.0 && upper >= 0.0) {
        return lower + (upper - lower) * share;
    }
    let (low, high) = (lower.abs().log2(), upper.abs().log2());
    match lower > 0.0 {
        true => (low + (high - low) * share).exp2(),
        false => -(high + (low - high) * (1.0 - share)).exp2(),
    }
}

/// Which share of a bucket lies below a value within it.
pub(super) fn share_below(bucket: &Interval, value: f64, is_linear: bool) -> f64 {
    let Interval { lower, upper, .. } = *bucket;
    if is_linear {
        return (value - lower) / (upper - lower);
    }
    let [low, high, at] = [lower, upper, value].map(|bound| bound.abs().log2());
    match value > 0.0 {
        true => (at - low) / (high - low),
        false => 1.0 - (at - high) / (low - high),
    }
}

/// Which share of the observations lies between two values, and whether some are no numbers.
pub(crate) fn fraction(lower: f64, upper: f64, of: &Histogram) -> (f64, bool) {
    match () {
        () if of.count == 0.0 || lower.is_nan() || upper.is_nan() => return (f64::NAN, false),
        () if lower >= upper => return (0.0, false),
        () => {}
    }
    let (mut rank, mut low, mut high) = (0.0, None, None);
    for bucket in of.intervals() {
        let is_around_zero = bucket.lower <= 0.0 && bucket.upper >= 0.0;
        let bucket = if is_around_zero { one_sided(of, bucket) } else { bucket };
        let is_linear = of.is_custom() || is_around_zero;
        let below = |value: f64| match bucket.lower == f64::NEG_INFINITY && is_linear {
            // Nothing is known of how it is spread.
            true => bucket.count,
            false => rank + bucket.count * share_below(&bucket, value, is_linear),
        };
        for (value, at) in [(lower, &mut low), (upper, &mut high)] {
            match at {
                None if bucket.lower >= value => *at = Some(rank),
                None if bucket.upper > value => *at = Some(below(value)),
                _ => {}
            }
        }
        if low.is_some() && high.is_some() {
            break;
        }
        rank += bucket.count;
    }
    let counted = || of.intervals().map(|bucket| bucket.count).sum::<f64>();
    let count = if of.sum.is_nan() { counted() } else { of.count };
    let [low, high] = [low, high].map(|at| at.filter(|at| *at <= count).unwrap_or(count));
    ((high - low) / of.count, of.sum.is_nan() && count < of.count)
}

/// The mean of the observations.
pub(crate) fn average(of: &Histogram) -> f64 {
    of.sum / of.count
}

/// The variance of the observations, as if those of a bucket were in its middle.
pub(crate) fn deviation(of: &Histogram) -> f64 {
    let mean = average(of);
    let square = |bucket: Interval| {
        let Interval { lower, upper, count, .. } = bucket;
        let middle = match () {
            () if of.is_custom() => (upper + lower) / 2.0,
            () if lower <= 0.0 && upper >= 0.0 => 0.0,
            () if upper < 0.0 => -(upper * lower).sqrt(),
            () => (upper * lower).sqrt(),
        };
        count * (middle - mean) * (middle - mean)
    };
    let there = of.intervals().filter(|bucket| bucket.count != 0.0).map(square);
    let squares = there.fold(Carried::default(), Carried::add);
    (squares.sum + squares.lost) / of.count
}
