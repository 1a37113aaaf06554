//! Arithmetic of native histograms, as Prometheus 3 does it (`model/histogram/float_histogram.go`):
//! what two histograms of different buckets come to, and when counting began anew between them.
//!
//! ```text
//! total   sums, with what rounding lost        resets  whether counting began anew
//! figures quantiles, fractions, deviations     trim    what lies on one side of a value
//! rates   differences over a range
//! ```

mod figures;
mod rates;
mod resets;
mod total;
mod trim;

pub(super) use figures::{Quantile, average, deviation, fraction, quantile};
pub(super) use rates::{Differs, last_two, rate};
pub(super) use resets::{began_anew, follows};
pub(super) use total::{Incompatible, Merged, Total, mean, sum, two};
pub(super) use trim::trimmed;

use foliot_model::{Bucket, Histogram, Resets};

/// Takes out buckets that count nothing.
pub(super) fn compact(mut of: Histogram) -> Histogram {
    let counts = |bucket: &Bucket| bucket.count != 0.0;
    of.positive.retain(counts);
    of.negative.retain(counts);
    of
}

/// Each count and the sum, changed by `change`.
fn each_count(mut of: Histogram, change: impl Fn(f64) -> f64) -> Histogram {
    of.is_integer = false;
    for count in [&mut of.zero_count, &mut of.count, &mut of.sum] {
        *count = change(*count);
    }
    for bucket in of.positive.iter_mut().chain(&mut of.negative) {
        bucket.count = change(bucket.count);
    }
    of
}

/// A histogram so many times. One that is turned around is a gauge.
pub(super) fn times(of: Histogram, factor: f64) -> Histogram {
    let resets = if factor < 0.0 { Resets::Gauge } else { of.resets };
    Histogram { resets, ..each_count(of, |count| count * factor) }
}

/// A part of a histogram. Divided by nothing it has no buckets.
pub(super) fn divided(of: Histogram, by: f64) -> Histogram {
    let resets = if by < 0.0 { Resets::Gauge } else { of.resets };
    let mut of = Histogram { resets, ..each_count(of, |count| count / by) };
    if by == 0.0 {
        of.positive.clear();
        of.negative.clear();
    }
    of
}

/// Whether two are the same, bit for bit, whatever they say of how they follow others.
pub(super) fn is_same(a: &Histogram, b: &Histogram) -> bool {
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
    let are_same = |a: &[Bucket], b: &[Bucket]| {
        let is_same = |(a, b): (&Bucket, &Bucket)| a.index == b.index && same(a.count, b.count);
        a.len() == b.len() && a.iter().zip(b).all(is_same)
    };
    a.schema == b.schema
        && same(a.count, b.count)
        && same(a.sum, b.sum)
        && a.bounds == b.bounds
        && a.zero_threshold == b.zero_threshold
        && same(a.zero_count, b.zero_count)
        && are_same(&a.positive, &b.positive)
        && are_same(&a.negative, &b.negative)
}

/// How Prometheus spells a histogram: its counts, and its buckets that are not empty.
pub(super) fn spelled(of: &Histogram) -> String {
    let number = foliot_plan::grid::general;
    let mut text = format!("{{count:{}, sum:{}", number(of.count, None), number(of.sum, None));
    for bucket in of.intervals().filter(|bucket| bucket.count != 0.0) {
        let opens = if bucket.has_lower { '[' } else { '(' };
        let closes = if bucket.has_upper { ']' } else { ')' };
        let [lower, upper, count] =
            [bucket.lower, bucket.upper, bucket.count].map(|value| number(value, None));
        text += &format!(", {opens}{lower},{upper}{closes}:{count}");
    }
    text + "}"
}

/// What two say together of how they follow others, and whether they contradict each other.
fn together(a: Resets, b: Resets) -> (Resets, bool) {
    match (a, b) {
        (a, b) if a == b => (a, false),
        (Resets::Gauge, _) | (_, Resets::Gauge) => (Resets::Gauge, false),
        (Resets::Unknown, _) | (_, Resets::Unknown) => (Resets::Unknown, false),
        _ => (Resets::Unknown, true),
    }
}

#[cfg(test)]
mod tests;
