//! Histograms as the bytes of [`crate::Kind::Histogram`]. They begin with a byte that no histogram
//! of another door begins with; all that follows are varints, so that blocks can store many of them
//! field by field, and buckets by their keys.
//!
//! ```text
//! histogram = 0xb1, fields, hints, schema zigzag, zero threshold, zero count, count, sum, bound*,
//!             (gap, count)*
//! fields    = how many there are up to the bounds, these included
//! hints     = resets (bits 0..2), integer (bit 2)
//! count     = an integer, or a float
//! float     = the bits of the binary64
//! ```
//!
//! Behind the fields stand the buckets, in the order of their keys: index + 2^20 on the positive
//! side, 2^21 more on the negative one. A gap is the first key, or how many keys lie between.

use super::{Bucket, Histogram, Resets};
use std::ops::Range;

/// The first byte. It tells these bytes from others, and their version from later ones.
const FORM: u8 = 0xb1;

const RESETS: u64 = 3;
const INTEGER: u64 = 4;

/// Fields but for the bounds.
const FIELDS: usize = 6;

/// Integers beyond this are not exact as floats.
const WHOLE_MAX: f64 = (1u64 << 53) as f64;

/// The key of bucket 0, and what lies between the two sides.
const KEY_ZERO: i64 = 1 << 20;
const SIDE: i64 = 2 * KEY_ZERO;

impl Histogram {
    /// Indexes that buckets may have: beyond a quarter of them there are no numbers.
    pub const INDEXES: Range<i32> = -(KEY_ZERO as i32)..KEY_ZERO as i32;

    /// Appends the histogram's bytes.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.push(FORM);
        let count = |value: f64, out: &mut Vec<u8>| match self.is_integer {
            true => push(value as u64, out),
            false => push(value.to_bits(), out),
        };
        push((FIELDS + self.bounds.len()) as u64, out);
        push(self.resets as u64 | if self.is_integer { INTEGER } else { 0 }, out);
        push(zigzag(i64::from(self.schema)), out);
        push(self.zero_threshold.to_bits(), out);
        count(self.zero_count, out);
        count(self.count, out);
        push(self.sum.to_bits(), out);
        self.bounds.iter().for_each(|bound| push(bound.to_bits(), out));
        let mut next = 0;
        for (side, first) in [(&self.positive, KEY_ZERO), (&self.negative, KEY_ZERO + SIDE)] {
            for bucket in side {
                let key = first + i64::from(bucket.index);
                push(key.saturating_sub(next) as u64, out);
                count(bucket.count, out);
                next = key + 1;
            }
        }
    }

    /// Whether bytes are meant to be those of a native histogram.
    pub fn is_native(bytes: &[u8]) -> bool {
        bytes.first() == Some(&FORM)
    }

    /// What [`Histogram::write`] wrote; nothing if the bytes are anything else. Memory is bounded
    /// by the length of the bytes, whatever they say.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(&[FORM])?;
        let rest = &mut rest;
        let bounds = usize::try_from(pull(rest)?).ok()?.checked_sub(FIELDS)?;
        let hints = pull(rest)?;
        let is_integer = hints & INTEGER != 0;
        let resets = Resets::from_code(hints & RESETS).filter(|_| hints <= RESETS | INTEGER)?;
        let schema = i8::try_from(unzigzag(pull(rest)?)).ok()?;
        let is_custom = schema == Self::CUSTOM;
        let is_known = is_custom || (Self::SCHEMAS.contains(&schema) && bounds == 0);
        if !is_known || bounds > rest.len() {
            return None;
        }
        let zero_threshold = f64::from_bits(pull(rest)?);
        let number = |rest: &mut &[u8]| {
            let value = pull(rest)?;
            match is_integer {
                true => Some(value as f64).filter(|whole| *whole <= WHOLE_MAX),
                false => Some(f64::from_bits(value)),
            }
        };
        let (zero_count, count) = (number(rest)?, number(rest)?);
        let sum = f64::from_bits(pull(rest)?);
        let bounds: Option<Vec<f64>> =
            (0..bounds).map(|_| pull(rest).map(f64::from_bits)).collect();
        let [mut positive, mut negative] = [Vec::new(), Vec::new()];
        let mut next = 0i64;
        while !rest.is_empty() {
            let gap = i64::try_from(pull(rest)?).ok()?;
            let key = next.checked_add(gap).filter(|key| *key < 2 * SIDE)?;
            let (side, first) = match key < SIDE {
                true => (&mut positive, KEY_ZERO),
                false => (&mut negative, KEY_ZERO + SIDE),
            };
            side.push(Bucket { index: (key - first) as i32, count: number(rest)? });
            next = key + 1;
        }
        let read = Self {
            resets,
            is_integer,
            schema,
            zero_threshold,
            zero_count,
            count,
            sum,
            positive,
            negative,
            bounds: bounds?.into(),
        };
        read.has_order().then_some(read)
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
