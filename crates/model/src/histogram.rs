//! Native histograms: how many observations lie between which bounds, as one value.
//!
//! Buckets follow a scheme. Exponential ones grow by 2^(2^-schema) from bound to bound, on both
//! sides of a bucket around zero; custom ones have the bounds that they are given. This is the
//! model of Prometheus' native histograms (<https://prometheus.io/docs/specs/native_histograms/>).

mod bytes;
mod check;

pub use check::Fault;

use std::sync::Arc;

/// What is known of how a histogram follows the one before it in its series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resets {
    /// Nothing: whoever asks compares the two.
    #[default]
    Unknown,
    /// Counting began anew in between.
    Reset,
    /// Counting went on.
    NotReset,
    /// It does not follow: counts of a gauge go up and down.
    Gauge,
}

impl Resets {
    /// The one numbered `code` in Foliot's bytes and in Prometheus' messages.
    pub const fn from_code(code: u64) -> Option<Self> {
        match code {
            0 => Some(Self::Unknown),
            1 => Some(Self::Reset),
            2 => Some(Self::NotReset),
            3 => Some(Self::Gauge),
            _ => None,
        }
    }
}

/// How many observations a bucket counts. Its number says between which bounds, see
/// [`Histogram::upper`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    /// Its number in the scheme.
    pub index: i32,
    /// How many observations; whole ones in a histogram of integers.
    pub count: f64,
}

/// A bucket as it lies on the axis of observations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// From where on.
    pub lower: f64,
    /// Up to where.
    pub upper: f64,
    /// Whether an observation that is `lower` belongs to it.
    pub has_lower: bool,
    /// Whether one that is `upper` does.
    pub has_upper: bool,
    /// How many observations.
    pub count: f64,
}

/// A native histogram. Buckets ascend by their index; one that is not there counts nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// How it follows the one before it.
    pub resets: Resets,
    /// Whether its counts are integers, and not results of arithmetic.
    pub is_integer: bool,
    /// From -4 to 8, or [`Histogram::CUSTOM`].
    pub schema: i8,
    /// How far the bucket around zero reaches to either side; 0 with custom bounds.
    pub zero_threshold: f64,
    /// Observations in that bucket.
    pub zero_count: f64,
    /// All observations, those that are no numbers too.
    pub count: f64,
    /// What observations come to together. A mark of staleness stands here too.
    pub sum: f64,
    /// Buckets of positive observations; all of them with custom bounds.
    pub positive: Vec<Bucket>,
    /// Buckets of negative observations, by their distance from zero.
    pub negative: Vec<Bucket>,
    /// The custom bounds, ascending; none in another scheme.
    pub bounds: Arc<[f64]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            resets: Resets::Unknown,
            is_integer: false,
            schema: 0,
            zero_threshold: 0.0,
            zero_count: 0.0,
            count: 0.0,
            sum: 0.0,
            positive: Vec::new(),
            negative: Vec::new(),
            bounds: Arc::default(),
        }
    }
}

impl Histogram {
    /// The schema that says that bounds are custom.
    pub const CUSTOM: i8 = -53;

    /// The coarsest exponential schema, and the finest.
    pub const SCHEMAS: std::ops::RangeInclusive<i8> = -4..=8;

    /// Buckets, and as many custom bounds, that one may have: a hundred times what clients keep by
    /// default, and the bytes of one then stay below two megabytes.
    pub const BUCKETS_MAX: usize = 1 << 14;

    /// Whether bounds are custom.
    pub fn is_custom(&self) -> bool {
        self.schema == Self::CUSTOM
    }

    /// The upper bound of the positive bucket numbered `index`, which is the lower one of the next.
    pub fn upper(&self, index: i32) -> f64 {
        match self.is_custom() {
            true if index < 0 => f64::NEG_INFINITY,
            true => self.bounds.get(index as usize).copied().unwrap_or(f64::INFINITY),
            false => exponential(self.schema, index),
        }
    }

    /// All buckets from left to right. Those that reach into the bucket around zero end at it.
    pub fn intervals(&self) -> impl DoubleEndedIterator<Item = Interval> {
        let zero = (self.zero_count > 0.0).then_some(Interval {
            lower: -self.zero_threshold,
            upper: self.zero_threshold,
            has_lower: true,
            has_upper: true,
            count: self.zero_count,
        });
        let end = self.zero_threshold;
        let negative = self.negative.iter().rev().map(move |bucket| {
            let of = self.below(bucket);
            let is_cut = of.upper < 0.0 && of.upper > -end;
            Interval { upper: if is_cut { -end } else { of.upper }, ..of }
        });
        let positive = self.positive.iter().map(move |bucket| {
            let of = self.above(bucket);
            let is_cut = of.lower > 0.0 && of.lower < end;
            Interval { lower: if is_cut { end } else { of.lower }, ..of }
        });
        negative.chain(zero).chain(positive)
    }

    /// Where a positive bucket lies.
    pub fn above(&self, bucket: &Bucket) -> Interval {
        let (lower, upper) = (self.upper(bucket.index.saturating_sub(1)), self.upper(bucket.index));
        let (has_lower, has_upper) = match self.is_custom() {
            true => (bucket.index == 0, true),
            false => (lower < 0.0, upper > 0.0),
        };
        Interval { lower, upper, has_lower, has_upper, count: bucket.count }
    }

    /// Where a negative bucket lies.
    pub fn below(&self, bucket: &Bucket) -> Interval {
        let (lower, upper) =
            (-self.upper(bucket.index), -self.upper(bucket.index.saturating_sub(1)));
        Interval { lower, upper, has_lower: lower < 0.0, has_upper: false, count: bucket.count }
    }

    /// Runs of buckets: how many are left out before each, or of the first its index, and how many
    /// it has.
    pub fn spans(buckets: &[Bucket]) -> impl Iterator<Item = (i32, u32)> {
        let runs = buckets.chunk_by(|a, b| a.index.checked_add(1) == Some(b.index));
        let mut next = 0i32;
        runs.filter_map(move |run| {
            let (first, last) = (run.first()?.index, run.last()?.index);
            let distance = first.wrapping_sub(next);
            next = last.wrapping_add(1);
            Some((distance, run.len() as u32))
        })
    }

    /// Memory held, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let buckets = self.positive.capacity() + self.negative.capacity();
        size_of::<Self>() + buckets * size_of::<Bucket>() + self.bounds.len() * size_of::<f64>()
    }
}

/// 2^(index * 2^-schema). What would be the first bound beyond all numbers is the highest number,
/// so that the bucket above it holds infinities only.
fn exponential(schema: i8, index: i32) -> f64 {
    let index = i64::from(index);
    let (whole, part) = match u32::try_from(schema) {
        Ok(schema) => {
            let mask = (1i64 << schema.min(32)) - 1;
            (index >> schema.min(32), (index & mask) as f64 / (mask + 1) as f64)
        }
        Err(_) => (index << i64::from(-schema).min(16), 0.0),
    };
    match (whole, part) {
        (1024, 0.0) => f64::MAX,
        (whole, 0.0) => power_of_two(whole),
        (whole, part) => part.exp2() * power_of_two(whole),
    }
}

fn power_of_two(exponent: i64) -> f64 {
    match exponent {
        1024.. => f64::INFINITY,
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        -1074..=-1023 => f64::from_bits(1 << (exponent + 1074)),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests;
