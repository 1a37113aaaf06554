//! Counts of values that lie between bounds: what a histogram is where each point has its own
//! buckets.
//!
//! ```text
//! stored  := version 1 u8 | buckets u16 | bucket* | underflow varint | overflow varint
//! bucket  := lower f32 | upper f32 | count varint          ascending, little end first
//! varint  := seven bits a byte, least first, the top bit set on all but the last
//! ```

use std::collections::BTreeMap;

/// The version of the stored form.
const VERSION: u8 = 1;

/// What a bucket weighs, by estimate.
const BUCKET_BYTES: usize = 32;

/// Counts between bounds, below them and above them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Counts by bounds.
    buckets: BTreeMap<(Bound, Bound), u64>,
    underflow: u64,
    overflow: u64,
}

/// A number that is made of counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// The value below which this share of a hundred lies.
    Percentile(f32),
    /// The count of what lies below all buckets.
    Underflow,
    /// The count of what lies between a lower and an upper bound.
    Between(f32, f32),
    /// The count of what lies above all buckets.
    Overflow,
}

/// A bound, ordered as numbers are.
#[derive(Clone, Copy, Debug)]
struct Bound(f32);

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Bound {}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bound {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Counts {
    /// The most buckets that there may be.
    pub const BUCKETS_MAX: usize = u16::MAX as usize;

    /// Sets what lies between `lower` and `upper`. False if there are too many buckets then.
    pub fn set(&mut self, lower: f32, upper: f32, count: u64) -> bool {
        self.buckets.insert((Bound(lower), Bound(upper)), count);
        self.buckets.len() <= Self::BUCKETS_MAX
    }

    /// Sets what lies below and above all buckets.
    pub fn set_flows(&mut self, underflow: u64, overflow: u64) {
        (self.underflow, self.overflow) = (underflow, overflow);
    }

    /// Reads the stored form; nothing if these bytes are not.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&version, mut rest) = bytes.split_first()?;
        let counts = Self::read(&mut rest, u16::from_le_bytes, f32::from_le_bytes);
        counts.filter(|_| version == VERSION)
    }

    /// Reads the stored form without its version, whose numbers have the end first that their
    /// readers say, and leaves what follows.
    pub fn read(
        rest: &mut &[u8],
        count_of: fn([u8; 2]) -> u16,
        bound_of: fn([u8; 4]) -> f32,
    ) -> Option<Self> {
        let mut counts = Self::default();
        for _ in 0..count_of(take(rest)?) {
            let bounds = (Bound(bound_of(take(rest)?)), Bound(bound_of(take(rest)?)));
            counts.buckets.insert(bounds, take_varint(rest)?);
        }
        counts.underflow = take_varint(rest)?;
        counts.overflow = take_varint(rest)?;
        Some(counts)
    }

    /// Appends the stored form.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.extend_from_slice(&(self.buckets.len() as u16).to_le_bytes());
        for ((lower, upper), count) in &self.buckets {
            out.extend_from_slice(&lower.0.to_le_bytes());
            out.extend_from_slice(&upper.0.to_le_bytes());
            put_varint(*count, out);
        }
        put_varint(self.underflow, out);
        put_varint(self.overflow, out);
    }

    /// How many counts there are.
    pub fn counts(&self) -> usize {
        self.buckets.len() + 2
    }

    /// What the buckets weigh in memory, by estimate.
    pub fn bytes_len(&self) -> usize {
        self.buckets.len() * BUCKET_BYTES
    }

    /// Adds the counts of another one, bucket by bucket.
    pub fn add(&mut self, other: &Self) {
        for (bounds, count) in &other.buckets {
            let sum = self.buckets.entry(*bounds).or_default();
            *sum = sum.wrapping_add(*count);
        }
        self.underflow = self.underflow.wrapping_add(other.underflow);
        self.overflow = self.overflow.wrapping_add(other.overflow);
    }

    /// The middle of the first bucket that brings the share of counts to `percent`; -1 for shares
    /// below 1 or above 100. What lies outside of the buckets does not count. OpenTSDB 2.4,
    /// "Histograms".
    pub fn percentile(&self, percent: f64) -> f64 {
        if !(1.0..=100.0).contains(&percent) {
            return -1.0;
        }
        let all = self.buckets.values().fold(0u64, |all, count| all.saturating_add(*count));
        let mut so_far = 0u64;
        for ((lower, upper), count) in &self.buckets {
            so_far = so_far.saturating_add(*count);
            if so_far as f64 * 100.0 / all as f64 >= percent {
                return f64::from((lower.0 + upper.0) / 2.0);
            }
        }
        0.0
    }

    /// All counts, upwards.
    pub fn iter(&self) -> impl Iterator<Item = (Figure, u64)> + '_ {
        let between = |((lower, upper), count): (&(Bound, Bound), &u64)| {
            (Figure::Between(lower.0, upper.0), *count)
        };
        let underflow = std::iter::once((Figure::Underflow, self.underflow));
        let overflow = std::iter::once((Figure::Overflow, self.overflow));
        underflow.chain(self.buckets.iter().map(between)).chain(overflow)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, after) = rest.split_first_chunk()?;
    *rest = after;
    Some(*bytes)
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..63).step_by(7) {
        let [byte] = take(rest)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    // Counts are signed in OpenTSDB; nine bytes hold 63 bits.
    value &= u64::MAX >> 1;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(buckets: &[(f32, f32, u64)], underflow: u64, overflow: u64) -> Counts {
        let mut counts = Counts::default();
        for &(lower, upper, count) in buckets {
            assert!(counts.set(lower, upper, count));
        }
        counts.set_flows(underflow, overflow);
        counts
    }

    #[test]
    fn row_52_percentiles_are_middles_of_buckets() {
        let counts = counts(&[(0.0, 10.0, 4), (10.0, 20.0, 6)], 0, 0);
        assert_eq!(counts.percentile(40.0), 5.0);
        assert_eq!(counts.percentile(40.1), 15.0);
        assert_eq!(counts.percentile(50.0), 15.0);
        assert_eq!(counts.percentile(0.5), -1.0);
        assert_eq!(counts.percentile(100.5), -1.0);
        assert_eq!(Counts::default().percentile(50.0), 0.0);
    }

    #[test]
    fn what_is_written_is_read_and_adds_up() {
        let counts = counts(&[(-1.5, 10.0, 4), (10.0, 20.0, 70_000)], 300, 1);
        let mut bytes = Vec::new();
        counts.write(&mut bytes);
        assert_eq!(Counts::from_bytes(&bytes), Some(counts.clone()));
        for cut in 0..bytes.len() {
            assert_eq!(Counts::from_bytes(&bytes[..cut]), None);
        }
        let mut double = counts.clone();
        double.add(&counts);
        let expected = [
            (Figure::Underflow, 600),
            (Figure::Between(-1.5, 10.0), 8),
            (Figure::Between(10.0, 20.0), 140_000),
            (Figure::Overflow, 2),
        ];
        assert_eq!(double.iter().collect::<Vec<_>>(), expected);
    }
}
