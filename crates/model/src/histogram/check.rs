//! What a histogram must be before it is stored: the rules of Prometheus (`model/histogram`).

use super::{Bucket, Histogram};
use std::fmt;

/// Why something is no histogram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// The finest exponential schema that is known; those above [`Histogram::SCHEMAS`] are coarsened.
const SCHEMA_KNOWN_MAX: i32 = 52;

/// Integers above this are not exact as floats.
const WHOLE_MAX: f64 = (1u64 << 53) as f64;

fn fault<T>(text: impl Into<String>) -> Result<T, Fault> {
    Err(Fault(text.into()))
}

impl Histogram {
    /// Runs of buckets, as messages have them: of each the distance from the end of the one before
    /// (of the first its index) and the length, and the counts of all.
    ///
    /// # Errors
    /// When there are not as many counts as the runs say, they go backwards or are too far from
    /// zero ([`Histogram::INDEXES`]), or a count is negative.
    pub fn buckets_of(spans: &[(i32, u32)], counts: &[f64]) -> Result<Vec<Bucket>, Fault> {
        let wanted: u64 = spans.iter().map(|(_, length)| u64::from(*length)).sum();
        if wanted != counts.len() as u64 {
            return fault(format!(
                "the spans of the histogram need {wanted} buckets, it has {}",
                counts.len()
            ));
        }
        let (mut buckets, mut next, mut rest) = (Vec::with_capacity(counts.len()), 0i32, counts);
        for (at, (distance, length)) in spans.iter().enumerate() {
            if at > 0 && *distance < 0 {
                return fault(format!("span {} of the histogram has a negative offset", at + 1));
            }
            let (own, behind) = rest.split_at_checked(*length as usize).unwrap_or((rest, &[]));
            rest = behind;
            let first = next.checked_add(*distance);
            let end = first.and_then(|first| first.checked_add_unsigned(*length));
            let is_near =
                |end: &i32| *end > Histogram::INDEXES.start && *end <= Histogram::INDEXES.end;
            let ends = first.zip(end).filter(|(first, end)| {
                *length == 0 || (Histogram::INDEXES.contains(first) && is_near(end))
            });
            let Some((first, end)) = ends else {
                return fault("the buckets of the histogram are too far from zero");
            };
            next = end;
            if let Some(count) = own.iter().find(|count| **count < 0.0) {
                return fault(format!("a bucket of the histogram counts {count} observations"));
            }
            buckets.extend(
                (first..end).zip(own).map(|(index, count)| Bucket { index, count: *count }),
            );
        }
        Ok(buckets)
    }

    /// Checks what no part of a histogram says by itself, and brings it to a schema that is kept.
    /// `schema` is the one of its buckets.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn checked(mut self, schema: i32) -> Result<Self, Fault> {
        match i8::try_from(schema) {
            Ok(schema) if schema == Self::CUSTOM || Self::SCHEMAS.contains(&schema) => {
                self.schema = schema;
            }
            _ if (i32::from(*Self::SCHEMAS.end())..=SCHEMA_KNOWN_MAX).contains(&schema) => {
                self.coarsen(schema);
            }
            _ => {
                return fault(format!(
                    "schema {schema} of the histogram is not known: it must be from -4 to 8, or -53"
                ));
            }
        }
        let buckets = self.positive.len() + self.negative.len();
        if buckets.max(self.bounds.len()) > Self::BUCKETS_MAX {
            return fault(format!("the histogram has more than {} buckets", Self::BUCKETS_MAX));
        }
        match self.is_custom() {
            true => self.check_bounds()?,
            false if !self.bounds.is_empty() => {
                return fault("a histogram with an exponential schema must not have custom bounds");
            }
            false => {}
        }
        self.check_counts()?;
        Ok(self)
    }

    fn check_bounds(&self) -> Result<(), Fault> {
        let beyond =
            |bucket: &Bucket| bucket.index < 0 || bucket.index as usize > self.bounds.len();
        match () {
            () if self.bounds.iter().any(|bound| bound.is_nan() || *bound == f64::INFINITY) => {
                fault("custom bounds of a histogram must be numbers, and finite")
            }
            () if self.bounds.iter().zip(self.bounds.iter().skip(1)).any(|(a, b)| a >= b) => {
                fault("custom bounds of a histogram must ascend")
            }
            () if self.positive.iter().any(beyond) => {
                fault("the histogram has buckets beyond its custom bounds")
            }
            () if self.zero_count != 0.0 || self.zero_threshold != 0.0 => {
                fault("a histogram with custom bounds has no bucket around zero")
            }
            () if !self.negative.is_empty() => {
                fault("a histogram with custom bounds has no negative buckets")
            }
            () => Ok(()),
        }
    }

    fn check_counts(&self) -> Result<(), Fault> {
        if self.zero_count < 0.0 || self.count < 0.0 {
            return fault("the histogram has a negative count of observations");
        }
        if !self.is_integer {
            return Ok(());
        }
        let buckets = self.positive.iter().chain(&self.negative).map(|bucket| bucket.count);
        let found = buckets.sum::<f64>() + self.zero_count;
        let count = self.count;
        match () {
            () if count.max(found) > WHOLE_MAX => {
                fault("the histogram counts more than 2^53 observations")
            }
            // Observations that are no numbers are in no bucket.
            () if self.sum.is_nan() && found <= count => Ok(()),
            () if found == count => Ok(()),
            () => fault(format!(
                "{found} observations are in the buckets of the histogram, and its count is {count}"
            )),
        }
    }

    /// Merges buckets of a schema that is finer than any that is kept.
    fn coarsen(&mut self, schema: i32) {
        self.schema = *Self::SCHEMAS.end();
        let shift = (schema - i32::from(self.schema)).clamp(0, 31);
        for side in [&mut self.positive, &mut self.negative] {
            merge(side, shift);
        }
    }

    /// Brings the buckets to a coarser exponential schema.
    pub fn reduce(&mut self, schema: i8) {
        if schema >= self.schema || self.is_custom() {
            return;
        }
        let shift = i32::from(self.schema) - i32::from(schema);
        self.schema = schema;
        for side in [&mut self.positive, &mut self.negative] {
            merge(side, shift);
        }
    }
}

/// Merges 2^shift buckets into one each: bucket 1 is the first of its one.
fn merge(buckets: &mut Vec<Bucket>, shift: i32) {
    for bucket in &mut *buckets {
        bucket.index = (((i64::from(bucket.index) - 1) >> shift) + 1) as i32;
    }
    buckets.dedup_by(|next, before| {
        let is_same = next.index == before.index;
        before.count += if is_same { next.count } else { 0.0 };
        is_same
    });
}
