//! Histograms as the bytes of [`crate::Kind::Histogram`]. They begin with a byte that no histogram
//! of another door begins with; all that follows are varints, so that blocks can store many of them
//! column by column.
//!
//! ```text
//! histogram = 0xb1, hints, schema zigzag, spans of either side, [bounds], sum
//!             zero threshold, zero count, count, counts of either side
//! hints     = resets (bits 0..2), integer (bit 2)
//! spans     = count, count * (distance zigzag, length)      positive, then negative
//! bounds    = count, count * float                          with custom bounds only
//! counts    = integers, or floats
//! float     = the bits of the binary64
//! ```
//!
//! The distance of a span is its first index, or how many buckets lie between it and the one before.

use super::{Bucket, Histogram, Resets};

/// The first byte. It tells these bytes from others, and their version from later ones.
const FORM: u8 = 0xb1;

const RESETS: u64 = 3;
const INTEGER: u64 = 4;

/// Integers beyond this are not exact as floats.
const WHOLE_MAX: f64 = (1u64 << 53) as f64;

impl Histogram {
    /// Appends the histogram's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(FORM);
        let count = |value: f64, out: &mut Vec<u8>| match self.is_integer {
            true => push(value as u64, out),
            false => push(value.to_bits(), out),
        };
        push(self.resets as u64 | if self.is_integer { INTEGER } else { 0 }, out);
        push(zigzag(i64::from(self.schema)), out);
        for side in [&self.positive, &self.negative] {
            push(Self::spans(side).count() as u64, out);
            for (distance, length) in Self::spans(side) {
                push(zigzag(i64::from(distance)), out);
                push(u64::from(length), out);
            }
        }
        if self.is_custom() {
            push(self.bounds.len() as u64, out);
            self.bounds.iter().for_each(|bound| push(bound.to_bits(), out));
        }
        push(self.sum.to_bits(), out);
        push(self.zero_threshold.to_bits(), out);
        count(self.zero_count, out);
        count(self.count, out);
        for bucket in self.positive.iter().chain(&self.negative) {
            count(bucket.count, out);
        }
    }

    /// Whether bytes are meant to be those of a native histogram.
    pub fn is_native(bytes: &[u8]) -> bool {
        bytes.first() == Some(&FORM)
    }

    /// What [`Histogram::write`] wrote; nothing if the bytes are anything else. Memory is bounded by
    /// the length of the bytes, whatever they say.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(&[FORM])?;
        let rest = &mut rest;
        let hints = pull(rest)?;
        let is_integer = hints & INTEGER != 0;
        let resets = Resets::from_code(hints & RESETS).filter(|_| hints <= RESETS | INTEGER)?;
        let schema = i8::try_from(unzigzag(pull(rest)?)).ok()?;
        let is_custom = schema == Self::CUSTOM;
        if !is_custom && !Self::SCHEMAS.contains(&schema) {
            return None;
        }
        let positive = pull_spans(rest)?;
        let negative = pull_spans(rest)?;
        let bounds = if is_custom { pull_floats(rest)? } else { Vec::new() };
        let sum = f64::from_bits(pull(rest)?);
        let zero_threshold = f64::from_bits(pull(rest)?);
        let count = |rest: &mut &[u8]| {
            let value = pull(rest)?;
            match is_integer {
                true => Some(value as f64).filter(|whole| *whole <= WHOLE_MAX),
                false => Some(f64::from_bits(value)),
            }
        };
        let (zero_count, all) = (count(rest)?, count(rest)?);
        let mut counted = |spans: Vec<(i32, u32)>| {
            let length: usize = spans.iter().map(|(_, length)| *length as usize).sum();
            let mut buckets = Vec::with_capacity(length.min(rest.len()));
            for (first, length) in spans {
                for at in 0..length {
                    buckets.push(Bucket {
                        index: first.checked_add_unsigned(at)?,
                        count: count(rest)?,
                    });
                }
            }
            Some(buckets)
        };
        let (positive, negative) = (counted(positive)?, counted(negative)?);
        let read = Self {
            resets,
            is_integer,
            schema,
            zero_threshold,
            zero_count,
            count: all,
            sum,
            positive,
            negative,
            bounds: bounds.into(),
        };
        (rest.is_empty() && read.has_order()).then_some(read)
    }

    /// Whether bounds ascend and are enough, and there are not too many buckets.
    fn has_order(&self) -> bool {
        let ascend = self.bounds.iter().zip(self.bounds.iter().skip(1)).all(|(a, b)| a < b);
        let beyond =
            |bucket: &Bucket| bucket.index < 0 || bucket.index as usize > self.bounds.len();
        let is_reached = !self.is_custom() || !self.positive.iter().any(beyond);
        let buckets = self.positive.len() + self.negative.len();
        ascend && is_reached && buckets.max(self.bounds.len()) <= Self::BUCKETS_MAX
    }
}

/// Runs of buckets: the first index of each, and how many it has.
fn pull_spans(rest: &mut &[u8]) -> Option<Vec<(i32, u32)>> {
    let count = usize::try_from(pull(rest)?).ok().filter(|count| *count <= rest.len() / 2)?;
    let (mut spans, mut next, mut all) = (Vec::with_capacity(count), None::<i32>, 0usize);
    for _ in 0..count {
        let distance = i32::try_from(unzigzag(pull(rest)?)).ok()?;
        let length = u32::try_from(pull(rest)?).ok().filter(|length| *length > 0)?;
        let first = match next {
            None => distance,
            Some(next) => next.checked_add(distance).filter(|_| distance > 0)?,
        };
        all = all.checked_add(length as usize).filter(|all| *all <= Histogram::BUCKETS_MAX)?;
        next = Some(first.checked_add_unsigned(length)?);
        spans.push((first, length));
    }
    Some(spans)
}

fn pull_floats(rest: &mut &[u8]) -> Option<Vec<f64>> {
    let count = usize::try_from(pull(rest)?).ok().filter(|count| *count <= rest.len())?;
    (0..count).map(|_| pull(rest).map(f64::from_bits)).collect()
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// Appends a varint of LEB128.
fn push(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Takes a varint off the front.
fn pull(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *rest.split_off_first()?;
        let low = u64::from(byte & 0x7f);
        if shift == 63 && low > 1 {
            return None;
        }
        value |= low << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
