//! Native histograms as the messages of both versions of remote write, and of remote read, have
//! them: `prometheus.Histogram` and `io.prometheus.write.v2.Histogram` have the same fields.
//! Those of families have others, and what they say becomes a [`Message`] too.

use crate::wire::{Field, Fields, Value, push_bytes, push_double, push_varint, unzigzag};
use crate::write::Malformed;
use foliot_model::{Bucket, Fault, Histogram, Resets};

const COUNT_INTEGER: u64 = 1;
const COUNT_FLOAT: u64 = 2;
const SUM: u64 = 3;
const SCHEMA: u64 = 4;
const ZERO_THRESHOLD: u64 = 5;
const ZERO_INTEGER: u64 = 6;
const ZERO_FLOAT: u64 = 7;
const NEGATIVE: Side = Side { spans: 8, deltas: 9, counts: 10 };
const POSITIVE: Side = Side { spans: 11, deltas: 12, counts: 13 };
const RESETS: u64 = 14;
const TIME: u64 = 15;
const BOUNDS: u64 = 16;

/// The fields of one side of zero.
pub(crate) struct Side {
    pub(crate) spans: u64,
    pub(crate) deltas: u64,
    pub(crate) counts: u64,
}

/// Buckets as they stand in a message.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    spans: Vec<(i32, u32)>,
    /// Differences from integer to integer.
    deltas: Vec<i64>,
    floats: Vec<f64>,
}

/// A message that was read, and not looked at.
#[derive(Debug, Default)]
pub(crate) struct Message {
    /// In milliseconds.
    pub(crate) time_ms: i64,
    /// Count, and count around zero: of integers, or of floats.
    pub(crate) integers: (u64, u64),
    pub(crate) floats: (f64, f64),
    pub(crate) is_float: bool,
    pub(crate) sum: f64,
    pub(crate) schema: i32,
    pub(crate) zero_threshold: f64,
    pub(crate) positive: Buckets,
    pub(crate) negative: Buckets,
    pub(crate) resets: u64,
    bounds: Vec<f64>,
}

impl Message {
    /// Reads the message that a field holds.
    pub(crate) fn read(bytes: &[u8], field: &Field) -> Result<Self, Malformed> {
        let (start, end) = field.range()?;
        let mut read = Self::default();
        let mut fields = Fields::new(bytes, start, end);
        while let Some(field) = fields.next()? {
            match (field.number, field.value) {
                (COUNT_INTEGER, Value::Varint(count)) => {
                    (read.integers.0, read.is_float) = (count, false);
                }
                (COUNT_FLOAT, Value::Fixed64(bits)) => {
                    (read.floats.0, read.is_float) = (f64::from_bits(bits), true);
                }
                (SUM, Value::Fixed64(bits)) => read.sum = f64::from_bits(bits),
                (SCHEMA, Value::Varint(value)) => read.schema = unzigzag(value) as i32,
                (ZERO_THRESHOLD, Value::Fixed64(bits)) => {
                    read.zero_threshold = f64::from_bits(bits);
                }
                (ZERO_INTEGER, Value::Varint(count)) => read.integers.1 = count,
                (ZERO_FLOAT, Value::Fixed64(bits)) => read.floats.1 = f64::from_bits(bits),
                (RESETS, Value::Varint(code)) => read.resets = code,
                (TIME, Value::Varint(ms)) => read.time_ms = ms as i64,
                (BOUNDS, _) => doubles(bytes, &field, &mut read.bounds)?,
                (COUNT_INTEGER..=ZERO_FLOAT | RESETS | TIME, _) => return Err(field.mistyped()),
                _ => {
                    read.negative.read(bytes, &field, &NEGATIVE)?;
                    read.positive.read(bytes, &field, &POSITIVE)?;
                }
            }
        }
        Ok(read)
    }

    /// The histogram, if it is one.
    pub(crate) fn histogram(self) -> Result<Histogram, Fault> {
        let whole = |of: u64| of as f64;
        let is_integer = !self.is_float;
        let (count, zero_count) = match is_integer {
            true => (whole(self.integers.0), whole(self.integers.1)),
            false => self.floats,
        };
        let histogram = Histogram {
            resets: Resets::from_code(self.resets).unwrap_or_default(),
            is_integer,
            schema: 0,
            zero_threshold: self.zero_threshold,
            zero_count,
            count,
            sum: self.sum,
            positive: self.positive.buckets(is_integer)?,
            negative: self.negative.buckets(is_integer)?,
            bounds: self.bounds.into(),
        };
        histogram.checked(self.schema)
    }
}

impl Buckets {
    /// Takes a field if it is one of this side.
    pub(crate) fn read(
        &mut self,
        bytes: &[u8],
        field: &Field,
        side: &Side,
    ) -> Result<(), Malformed> {
        match field.number {
            number if number == side.spans => {
                let (start, end) = field.range()?;
                let (mut offset, mut length) = (0, 0);
                let mut fields = Fields::new(bytes, start, end);
                while let Some(field) = fields.next()? {
                    match (field.number, field.value) {
                        (1, Value::Varint(value)) => offset = unzigzag(value) as i32,
                        (2, Value::Varint(value)) => length = value as u32,
                        (1 | 2, _) => return Err(field.mistyped()),
                        _ => {}
                    }
                }
                self.spans.push((offset, length));
            }
            number if number == side.deltas => {
                if let Value::Varint(delta) = field.value {
                    self.deltas.push(unzigzag(delta));
                    return Ok(());
                }
                let (start, end) = field.range()?;
                let mut run = Fields::new(bytes, start, end);
                while run.at() < end {
                    self.deltas.push(unzigzag(run.varint()?));
                }
            }
            number if number == side.counts => doubles(bytes, field, &mut self.floats)?,
            _ => {}
        }
        Ok(())
    }

    fn buckets(self, is_integer: bool) -> Result<Vec<Bucket>, Fault> {
        if !is_integer {
            return Histogram::buckets_of(&self.spans, &self.floats);
        }
        let counts = self.deltas.iter().scan(0i64, |count, delta| {
            *count = count.wrapping_add(*delta);
            Some(*count as f64)
        });
        Histogram::buckets_of(&self.spans, &counts.collect::<Vec<_>>())
    }
}

/// Floats, one by one or packed.
fn doubles(bytes: &[u8], field: &Field, out: &mut Vec<f64>) -> Result<(), Malformed> {
    if let Value::Fixed64(bits) = field.value {
        out.push(f64::from_bits(bits));
        return Ok(());
    }
    let (start, end) = field.range()?;
    let (floats, rest) = bytes.get(start..end).unwrap_or_default().as_chunks::<8>();
    if !rest.is_empty() {
        return Err(field.mistyped());
    }
    out.extend(floats.iter().map(|bits| f64::from_le_bytes(*bits)));
    Ok(())
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// Appends a histogram as the fields of its message.
pub(crate) fn push_histogram(of: &Histogram, time_ms: i64, out: &mut Vec<u8>) {
    let number = |number: u64, value: u64, out: &mut Vec<u8>| {
        push_varint(number << 3, out);
        push_varint(value, out);
    };
    let count = |(integer, float): (u64, u64), value: f64, out: &mut Vec<u8>| match of.is_integer {
        true => number(integer, value as u64, out),
        false => push_double(float as u8, value, out),
    };
    count((COUNT_INTEGER, COUNT_FLOAT), of.count, out);
    push_double(SUM as u8, of.sum, out);
    number(SCHEMA, zigzag(i64::from(of.schema)), out);
    push_double(ZERO_THRESHOLD as u8, of.zero_threshold, out);
    count((ZERO_INTEGER, ZERO_FLOAT), of.zero_count, out);
    for (side, buckets) in [(&NEGATIVE, &of.negative), (&POSITIVE, &of.positive)] {
        push_side(side, buckets, of.is_integer, out);
    }
    number(RESETS, of.resets as u64, out);
    number(TIME, time_ms as u64, out);
    if !of.bounds.is_empty() {
        let bytes: Vec<u8> = of.bounds.iter().flat_map(|bound| bound.to_le_bytes()).collect();
        push_varint(BOUNDS << 3 | 2, out);
        push_varint(bytes.len() as u64, out);
        out.extend_from_slice(&bytes);
    }
}

fn push_side(side: &Side, buckets: &[Bucket], is_integer: bool, out: &mut Vec<u8>) {
    if buckets.is_empty() {
        return;
    }
    let mut one = Vec::new();
    for (offset, length) in Histogram::spans(buckets) {
        one.clear();
        one.push(1 << 3);
        push_varint(zigzag(i64::from(offset)), &mut one);
        one.push(2 << 3);
        push_varint(u64::from(length), &mut one);
        push_bytes(side.spans as u8, &one, out);
    }
    one.clear();
    let mut before = 0i64;
    for bucket in buckets {
        match is_integer {
            true => {
                push_varint(zigzag(bucket.count as i64 - before), &mut one);
                before = bucket.count as i64;
            }
            false => one.extend_from_slice(&bucket.count.to_le_bytes()),
        }
    }
    let field = if is_integer { side.deltas } else { side.counts };
    push_bytes(field as u8, &one, out);
}
