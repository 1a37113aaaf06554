//! Quantiles of values that are all at hand.

use foliot_plan::Quantile;

/// The value below which a share of the values lies, between neighbours in proportion.
pub(crate) fn quantile(share: f64, mut values: Vec<f64>) -> f64 {
    match share {
        _ if values.is_empty() || share.is_nan() => return f64::NAN,
        _ if share < 0.0 => return f64::NEG_INFINITY,
        _ if share > 1.0 => return f64::INFINITY,
        _ => {}
    }
    // What is no number is lowest.
    values.sort_by(|a, b| b.is_nan().cmp(&a.is_nan()).then(a.total_cmp(b)));
    let last = values.len() - 1;
    let rank = share * last as f64;
    let lower = (rank.floor().max(0.0) as usize).min(last);
    let upper = (lower + 1).min(last);
    let weight = rank - rank.floor();
    let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
    at(lower) * (1.0 - weight) + at(upper) * weight
}

/// The value at position n/2 of the sorted ones, counted from 0.
pub(crate) fn upper_median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len() / 2;
    (middle < values.len()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// The quantile of values of which none is NaN. R. J. Hyndman and Y. Fan, "Sample Quantiles in
/// Statistical Packages", 1996: positions count from 1, are clamped to the ends, and between two
/// order statistics the result lies on the line.
pub(crate) fn by_method(values: &mut [f64], q: f64, method: Quantile) -> f64 {
    let n = values.len() as f64;
    let position = match method {
        Quantile::Legacy => q * (n + 1.0),
        Quantile::R3 => (n * q).round_ties_even(),
        Quantile::R7 => 1.0 + (n - 1.0) * q,
    };
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let lower = (position.floor().clamp(1.0, n) as usize - 1).min(last);
    let (_, &mut low, above) = values.select_nth_unstable_by(lower, f64::total_cmp);
    if position < 1.0 || position >= n {
        return low;
    }
    let high = above.iter().copied().fold(f64::INFINITY, f64::min);
    match position - position.floor() {
        0.0 => low,
        part => low + part * (high - low),
    }
}
