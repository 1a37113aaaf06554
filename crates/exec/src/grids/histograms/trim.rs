//! Observations on one side of a value.

use super::compact;
use super::figures::share_below;
use foliot_model::{Histogram, Interval};

/// What a bucket keeps, and about where that lies.
#[derive(Clone, Copy)]
struct Kept {
    count: f64,
    middle: f64,
}

/// The observations below a value, or above it; as far as buckets are cut, by estimate.
pub(crate) fn trimmed(mut of: Histogram, value: f64, keeps_below: bool) -> Histogram {
    let is_custom = of.is_custom();
    let counts = |buckets: &[foliot_model::Bucket]| buckets.iter().any(|one| one.count != 0.0);
    let (has_positive, has_negative) = (counts(&of.positive), counts(&of.negative));
    let (mut count, mut sum, mut is_cut) = (0.0, 0.0, false);
    let mut keep = |before: &mut f64, kept: Kept| {
        is_cut |= *before != kept.count;
        *before = kept.count;
        count += kept.count;
        sum += kept.middle * kept.count;
    };
    let frame = Histogram { positive: Vec::new(), negative: Vec::new(), ..of.clone() };
    let trim = Trim { value, keeps_below, is_custom };
    for bucket in of.positive.iter_mut().filter(|bucket| bucket.count != 0.0) {
        let interval = frame.above(bucket);
        keep(&mut bucket.count, trim.bucket(&interval, true));
    }
    for bucket in of.negative.iter_mut().filter(|bucket| bucket.count != 0.0) {
        let interval = frame.below(bucket);
        keep(&mut bucket.count, trim.bucket(&interval, false));
    }
    if of.zero_count > 0.0 {
        let end = of.zero_threshold;
        let lower = if has_positive && !has_negative { 0.0 } else { -end };
        let upper = if has_negative && !has_positive { 0.0 } else { end };
        let kept = trim.zero(lower, upper, of.zero_count);
        keep(&mut of.zero_count, kept);
    }
    if !is_cut {
        return of;
    }
    of.is_integer = false;
    (of.count, of.sum) = (count, sum);
    compact(of)
}

struct Trim {
    value: f64,
    keeps_below: bool,
    is_custom: bool,
}

impl Trim {
    fn bucket(&self, of: &Interval, is_positive: bool) -> Kept {
        let Interval { lower, upper, count, .. } = *of;
        let middle = |lower, upper| middle(lower, upper, is_positive, self.is_custom);
        match self.keeps_below {
            true if upper <= self.value => Kept { count, middle: middle(lower, upper) },
            true if lower < self.value => self.cut(of, is_positive),
            false if lower >= self.value => Kept { count, middle: middle(lower, upper) },
            false if upper > self.value => self.cut(of, is_positive),
            _ => Kept { count: 0.0, middle: 0.0 },
        }
    }

    /// A bucket with the value in it.
    fn cut(&self, of: &Interval, is_positive: bool) -> Kept {
        let Interval { lower, upper, count, .. } = *of;
        if lower == f64::NEG_INFINITY || upper == f64::INFINITY {
            return self.endless(of);
        }
        let below = match self.value {
            value if value <= lower => 0.0,
            value if value >= upper => count,
            value => count * share_below(of, value, self.is_custom),
        };
        let middle = |lower, upper| middle(lower, upper, is_positive, self.is_custom);
        match self.keeps_below {
            true => Kept { count: below, middle: middle(lower, self.value) },
            false => Kept { count: count - below, middle: middle(self.value, upper) },
        }
    }

    /// A bucket without an end on one side: how it is spread is not known, but that the lowest one
    /// of positive values begins at zero.
    fn endless(&self, of: &Interval) -> Kept {
        let Interval { lower, upper, count, .. } = *of;
        let value = self.value;
        let finite = |bound: f64| if bound.is_infinite() { 0.0 } else { bound };
        let is_first = lower == f64::NEG_INFINITY;
        match (is_first, self.keeps_below) {
            (true, true) if value >= upper => Kept { count, middle: 0.0 },
            (true, true) if value > 0.0 && upper > 0.0 && upper.is_finite() => {
                Kept { count: count * value / upper, middle: value / 2.0 }
            }
            (true, true) if upper <= 0.0 => Kept { count, middle: value },
            (true, false) if value <= lower => Kept { count, middle: 0.0 },
            (true, false) if value >= 0.0 && upper > value && upper.is_finite() => {
                Kept { count: count * (1.0 - value / upper), middle: (value + upper) / 2.0 }
            }
            (true, _) => Kept { count: 0.0, middle: finite(upper) },
            (false, false) if value >= lower => Kept { count, middle: value },
            (false, _) => Kept { count: 0.0, middle: finite(lower) },
        }
    }

    /// The bucket around zero.
    fn zero(&self, lower: f64, upper: f64, count: f64) -> Kept {
        let value = self.value;
        let all = Kept { count, middle: (lower + upper) / 2.0 };
        let none = Kept { count: 0.0, middle: 0.0 };
        match self.keeps_below {
            true if value <= lower => none,
            true if value >= upper => all,
            false if value <= lower => all,
            false if value >= upper => none,
            true => Kept {
                count: count * ((value - lower) / (upper - lower)),
                middle: (lower + value) / 2.0,
            },
            false => Kept {
                count: count * ((upper - value) / (upper - lower)),
                middle: (value + upper) / 2.0,
            },
        }
    }
}

/// About where the observations of an interval lie.
fn middle(lower: f64, upper: f64, is_positive: bool, is_linear: bool) -> f64 {
    match (lower.is_infinite(), upper.is_infinite()) {
        (true, true) => 0.0,
        (true, false) if upper > 0.0 => upper / 2.0,
        (true, false) => upper,
        (false, true) => lower,
        (false, false) if is_linear => (lower + upper) / 2.0,
        (false, false) => {
            let middle = (lower * upper).abs().sqrt();
            if is_positive { middle } else { -middle }
        }
    }
}
