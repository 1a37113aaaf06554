//! Histograms: counts of values that lie between bounds.
//!
//! ```text
//! stored  := version 1 u8 | buckets u16 | bucket* | underflow varint | overflow varint
//! bucket  := lower f32 | upper f32 | count varint          ascending, little end first
//! varint  := seven bits a byte, least first, the top bit set on all but the last
//! ```
//! Points that carry an id are OpenTSDB's own form, in Base64 (RFC 4648): bucket count `u16`, then
//! per bucket two `f32` and a varint, then underflow and overflow as varints; big end first (the
//! form of Kryo, which OpenTSDB writes with).

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, PAD};
use std::collections::BTreeMap;

/// The version of the stored form.
const VERSION: u8 = 1;

/// Base64 as senders write it, with padding or without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    PAD.with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// What a bucket weighs, by estimate.
const BUCKET_BYTES: usize = 32;

/// A histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Histogram {
    /// Counts by bounds.
    buckets: BTreeMap<(Bound, Bound), u64>,
    underflow: u64,
    overflow: u64,
}

/// A bound, ordered as numbers are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound(pub(crate) f32);

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

impl Histogram {
    /// Reads `u=0:o=1:0,10=4:10,20=6`, the form of telnet lines.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut histogram = Self::default();
        for bucket in text.split(':') {
            let improper = || format!("Improperly formatted bucket: {bucket}");
            let (bounds, count) = bucket.split_once('=').ok_or_else(improper)?;
            let count = count.parse().map_err(|_| format!("For input string: \"{count}\""))?;
            match bounds.to_ascii_lowercase().as_str() {
                "u" => histogram.underflow = count,
                "o" => histogram.overflow = count,
                bounds => histogram.add_named(bounds, count)?,
            }
        }
        Ok(histogram)
    }

    /// Adds a bucket by the text of its bounds, `0,10`.
    pub(crate) fn add_named(&mut self, bounds: &str, count: u64) -> Result<(), String> {
        let improper = || format!("Improperly formatted bounds: {bounds}");
        let (lower, upper) = bounds.split_once(',').ok_or_else(improper)?;
        let bound = |text: &str| text.trim().parse::<f32>().ok().filter(|bound| bound.is_finite());
        let (lower, upper) = bound(lower).zip(bound(upper)).ok_or_else(improper)?;
        self.buckets.insert((Bound(lower), Bound(upper)), count);
        match self.buckets.len() > usize::from(u16::MAX) {
            true => Err("A histogram may have 65535 buckets".to_owned()),
            false => Ok(()),
        }
    }

    /// Sets what lies below and above all buckets.
    pub(crate) fn set_flows(&mut self, underflow: u64, overflow: u64) {
        (self.underflow, self.overflow) = (underflow, overflow);
    }

    /// Reads OpenTSDB's own bytes in Base64.
    pub(crate) fn from_base64(text: &str) -> Result<Self, String> {
        let bytes = BASE64.decode(text).map_err(|_| format!("Not Base64: \"{text}\""))?;
        let mut rest = bytes.as_slice();
        Self::read(&mut rest, u16::from_be_bytes, f32::from_be_bytes)
            .filter(|_| rest.is_empty())
            .ok_or_else(|| "The bytes are no histogram".to_owned())
    }

    /// Reads the stored form.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&version, mut rest) = bytes.split_first()?;
        let histogram = Self::read(&mut rest, u16::from_le_bytes, f32::from_le_bytes);
        histogram.filter(|_| version == VERSION)
    }

    fn read(
        rest: &mut &[u8],
        count_of: fn([u8; 2]) -> u16,
        bound_of: fn([u8; 4]) -> f32,
    ) -> Option<Self> {
        let mut histogram = Self::default();
        for _ in 0..count_of(take(rest)?) {
            let bounds = (Bound(bound_of(take(rest)?)), Bound(bound_of(take(rest)?)));
            histogram.buckets.insert(bounds, take_varint(rest)?);
        }
        histogram.underflow = take_varint(rest)?;
        histogram.overflow = take_varint(rest)?;
        Some(histogram)
    }

    /// Appends the stored form.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
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

    /// How many counts it has.
    pub(crate) fn len(&self) -> usize {
        self.buckets.len() + 2
    }

    /// Adds the counts of another one, bucket by bucket. Returns by how many bytes this one grew.
    pub(crate) fn add(&mut self, other: &Self) -> usize {
        let before = self.buckets.len();
        for (bounds, count) in &other.buckets {
            let sum = self.buckets.entry(*bounds).or_default();
            *sum = sum.wrapping_add(*count);
        }
        self.underflow = self.underflow.wrapping_add(other.underflow);
        self.overflow = self.overflow.wrapping_add(other.overflow);
        (self.buckets.len() - before) * BUCKET_BYTES
    }

    /// The middle of the first bucket that brings the share of counts to `percent`; -1 for shares
    /// below 1 or above 100. What lies outside of the buckets does not count.
    pub(crate) fn percentile(&self, percent: f64) -> f64 {
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

    /// Names and counts of the buckets, upwards: what lies below them, bounds with an underscore
    /// between them, what lies above.
    pub(crate) fn counts(&self) -> Vec<(String, u64)> {
        let name = |(lower, upper): &(Bound, Bound)| format!("{:?}_{:?}", lower.0, upper.0);
        let buckets = self.buckets.iter().map(|(bounds, count)| (name(bounds), *count));
        let underflow = std::iter::once(("UNDERFLOW".to_owned(), self.underflow));
        let overflow = std::iter::once(("OVERFLOW".to_owned(), self.overflow));
        underflow.chain(buckets).chain(overflow).collect()
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

    #[test]
    fn row_52_percentiles_are_middles_of_buckets() {
        let histogram = Histogram::parse("0,10=4:10,20=6").unwrap();
        assert_eq!(histogram.percentile(40.0), 5.0);
        assert_eq!(histogram.percentile(40.1), 15.0);
        assert_eq!(histogram.percentile(50.0), 15.0);
        assert_eq!(histogram.percentile(0.5), -1.0);
        assert_eq!(histogram.percentile(100.5), -1.0);
        assert_eq!(Histogram::default().percentile(50.0), 0.0);
    }

    #[test]
    fn what_is_written_is_read() {
        let histogram = Histogram::parse("U=300:o=1:-1.5,10=4:10,20=70000").unwrap();
        let mut bytes = Vec::new();
        histogram.write(&mut bytes);
        assert_eq!(Histogram::from_bytes(&bytes), Some(histogram.clone()));
        for cut in 0..bytes.len() {
            assert_eq!(Histogram::from_bytes(&bytes[..cut]), None);
        }
        let mut double = histogram.clone();
        double.add(&histogram);
        let expected =
            [("UNDERFLOW", 600), ("-1.5_10.0", 8), ("10.0_20.0", 140_000), ("OVERFLOW", 2)];
        let counts = double.counts();
        let counts: Vec<_> = counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(counts, expected);
    }

    #[test]
    fn opentsdbs_bytes() {
        // One bucket from 0 to 10 with 4, nothing below, 1 above.
        let bytes = [0, 1, 0, 0, 0, 0, 0x41, 0x20, 0, 0, 4, 0, 1];
        assert_eq!(BASE64.decode("AAEAAAAAQSAAAAQAAQ==").unwrap(), bytes);
        let histogram = Histogram::from_base64("AAEAAAAAQSAAAAQAAQ==").unwrap();
        assert_eq!(histogram, Histogram::parse("0,10=4:o=1").unwrap());
        for text in ["", "AAE", "!!", "AAEAAAAAQSAAAAQAAQAA"] {
            assert!(Histogram::from_base64(text).is_err(), "{text}");
        }
    }

    #[test]
    fn refusals() {
        for (text, fault) in [
            ("", "Improperly formatted bucket: "),
            ("0,10", "Improperly formatted bucket: 0,10"),
            ("x=4", "Improperly formatted bounds: x"),
            ("0,x=4", "Improperly formatted bounds: 0,x"),
            ("0,10=x", "For input string: \"x\""),
        ] {
            assert_eq!(Histogram::parse(text).unwrap_err(), fault);
        }
    }
}
