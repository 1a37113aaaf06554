//! Chunks: the samples of a series in a row.
//!
//! Numbers are spelled as Gorilla does it (<https://www.vldb.org/pvldb/vol8/p1816-teller.pdf>);
//! histograms have one layout of buckets in a chunk, in which each count is a difference of
//! differences. The layouts are Prometheus' (`tsdb/docs/format/chunks.md`).
//!
//! Newer servers may say since when a counter counts; that is passed over.

use super::numbers;
use crate::bits::{Bits, Xor};
use crate::cursor::Wrong;
use foliot_model::{Histogram, Resets};
use foliot_proto_prometheus::STALE;

const NUMBERS: u8 = 1;
const HISTOGRAMS: u8 = 2;
const FLOAT_HISTOGRAMS: u8 = 3;
const NUMBERS_STARTED: u8 = 4;
const HISTOGRAMS_STARTED: u8 = 5;
const FLOAT_HISTOGRAMS_STARTED: u8 = 6;

/// The number of samples shares its two bytes with the hint where starts are told.
const SAMPLES_STARTED: u16 = 0x3fff;

/// A sample's value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Point {
    Number(f64),
    /// What is wrong with it, where it cannot be stored.
    Histogram(Result<Histogram, Wrong>),
}

/// Hands out the samples of a chunk with their times in milliseconds.
pub(super) fn read(
    encoding: u8,
    data: &[u8],
    each: &mut dyn FnMut(i64, Point) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let ([high, low], rest) = data.split_first_chunk().ok_or("the chunk is empty")?;
    let samples = u16::from(*high) << 8 | u16::from(*low);
    if encoding == NUMBERS {
        return numbers::read(Bits::new(rest), samples, each);
    }
    // Of numbers that may have starts, and of all histograms, a byte follows.
    let (flags, rest) = rest.split_first().ok_or("the chunk is empty")?;
    let (flags, bits) = (*flags, Bits::new(rest));
    match encoding {
        NUMBERS_STARTED => numbers::read_started(bits, samples, Starts::of(flags), each),
        HISTOGRAMS => Layout::read(bits, flags >> 6)?.integers(samples, Starts::default(), each),
        FLOAT_HISTOGRAMS => {
            Layout::read(bits, flags >> 6)?.floats(samples, Starts::default(), each)
        }
        HISTOGRAMS_STARTED => {
            let mut layout = Layout::read(bits, *high >> 6)?;
            layout.integers(samples & SAMPLES_STARTED, Starts::of(flags), each)
        }
        FLOAT_HISTOGRAMS_STARTED => {
            let mut layout = Layout::read(bits, *high >> 6)?;
            layout.floats(samples & SAMPLES_STARTED, Starts::of(flags), each)
        }
        other => Err(format!("the encoding {other} of a chunk is not known")),
    }
}

/// Where times stand since when counters count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Starts {
    /// Behind the first sample.
    has_first: bool,
    /// Behind the sample of this number and all that follow; of none when it is 0.
    others_from: u16,
}

impl Starts {
    fn of(flags: u8) -> Self {
        Self { has_first: flags & 0x80 != 0, others_from: u16::from(flags & 0x7f) }
    }

    /// Passes over the one behind a sample.
    pub(super) fn pass(self, index: u16, bits: &mut Bits<'_>) -> Result<(), Wrong> {
        match index {
            0 if self.has_first => bits.varint().map(drop),
            1.. if self.others_from > 0 && index >= self.others_from => bits.int().map(drop),
            _ => Ok(()),
        }
    }
}

/// What the histograms of a chunk have in common, and the samples behind that.
struct Layout<'a> {
    bits: Bits<'a>,
    /// What is known of the first one; the others follow it.
    first: Resets,
    zero_threshold: f64,
    schema: i32,
    positive: Vec<(i32, u32)>,
    negative: Vec<(i32, u32)>,
    bounds: Vec<f64>,
}

/// A count as it changes: itself, and by how much it grew.
#[derive(Clone, Copy, Default)]
struct Count {
    value: i64,
    growth: i64,
}

impl Count {
    fn step(&mut self, bits: &mut Bits<'_>) -> Result<(), Wrong> {
        self.growth = self.growth.wrapping_add(bits.int()?);
        self.value = self.value.wrapping_add(self.growth);
        Ok(())
    }
}

impl<'a> Layout<'a> {
    fn read(mut bits: Bits<'a>, resets: u8) -> Result<Self, Wrong> {
        // Numbered otherwise than everywhere else.
        let first = match resets {
            0b10 => Resets::Reset,
            0b11 => Resets::Gauge,
            _ => Resets::Unknown,
        };
        let zero_threshold = match bits.bits(8)? as i32 {
            0 => 0.0,
            255 => bits.float()?,
            exponent => f64::exp2(f64::from(exponent - 244)),
        };
        let schema = bits.int()? as i32;
        let positive = spans(&mut bits)?;
        let negative = spans(&mut bits)?;
        let mut bounds = Vec::new();
        if schema == i32::from(Histogram::CUSTOM) {
            for _ in 0..limited(bits.uint()?)? {
                let bound = match bits.uint()? {
                    0 => bits.float()?,
                    thousandths => (thousandths - 1) as f64 / 1000.0,
                };
                bounds.push(bound);
            }
        }
        Ok(Self { bits, first, zero_threshold, schema, positive, negative, bounds })
    }

    fn integers(
        &mut self,
        samples: u16,
        starts: Starts,
        each: &mut dyn FnMut(i64, Point) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        let (mut time_ms, mut count, mut zero) =
            (Count::default(), Count::default(), Count::default());
        let mut sum = Xor::default();
        let mut buckets =
            [&self.positive, &self.negative].map(|spans| vec![Count::default(); wide(spans)]);
        for index in 0..samples {
            let bits = &mut self.bits;
            match index {
                0 => {
                    time_ms.value = bits.int()?;
                    count.value = bits.uint()? as i64;
                    zero.value = bits.uint()? as i64;
                    sum.value = bits.float()?;
                }
                _ => {
                    [&mut time_ms, &mut count, &mut zero]
                        .into_iter()
                        .try_for_each(|count| count.step(bits))?;
                    bits.xor(&mut sum)?;
                }
            }
            if index > 0 && is_stale(sum.value) {
                starts.pass(index, bits)?;
                each(time_ms.value, stale(sum.value))?;
                continue;
            }
            for bucket in buckets.iter_mut().flatten() {
                match index {
                    0 => bucket.value = bits.int()?,
                    _ => bucket.step(bits)?,
                }
            }
            starts.pass(index, bits)?;
            let [positive, negative] = buckets.each_ref().map(|side| {
                let counts = side.iter().scan(0i64, |all, count| {
                    *all = all.wrapping_add(count.value);
                    Some(*all as f64)
                });
                counts.collect::<Vec<f64>>()
            });
            let totals = [count.value as u64 as f64, zero.value as u64 as f64];
            let raw = self.raw(index, true, totals, sum.value, [positive, negative]);
            each(time_ms.value, raw.point())?;
        }
        Ok(())
    }

    fn floats(
        &mut self,
        samples: u16,
        starts: Starts,
        each: &mut dyn FnMut(i64, Point) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        let mut time_ms = Count::default();
        let mut totals = [Xor::default(); 3];
        let mut buckets =
            [&self.positive, &self.negative].map(|spans| vec![Xor::default(); wide(spans)]);
        for index in 0..samples {
            let bits = &mut self.bits;
            match index {
                0 => time_ms.value = bits.int()?,
                _ => time_ms.step(bits)?,
            }
            let mut next = |of: &mut Xor| match index {
                0 => bits.float().map(|value| of.value = value),
                _ => bits.xor(of),
            };
            totals.iter_mut().try_for_each(&mut next)?;
            let [count, zero, sum] = totals.map(|total| total.value);
            if index > 0 && is_stale(sum) {
                starts.pass(index, bits)?;
                each(time_ms.value, stale(sum))?;
                continue;
            }
            buckets.iter_mut().flatten().try_for_each(&mut next)?;
            starts.pass(index, bits)?;
            let sides = buckets
                .each_ref()
                .map(|side| side.iter().map(|count| count.value).collect::<Vec<f64>>());
            let raw = self.raw(index, false, [count, zero], sum, sides);
            each(time_ms.value, raw.point())?;
        }
        Ok(())
    }

    fn raw(
        &self,
        index: u16,
        is_integer: bool,
        [count, zero_count]: [f64; 2],
        sum: f64,
        [positive, negative]: [Vec<f64>; 2],
    ) -> Raw {
        let resets = match self.first {
            Resets::Gauge => Resets::Gauge,
            _ if index > 0 => Resets::NotReset,
            first => first,
        };
        Raw {
            resets,
            is_integer,
            schema: self.schema,
            zero_threshold: self.zero_threshold,
            zero_count,
            count,
            sum,
            positive: (self.positive.clone(), positive),
            negative: (self.negative.clone(), negative),
            bounds: self.bounds.clone(),
        }
    }
}

/// A histogram as it was read, and not looked at.
#[derive(Debug, Default)]
pub(super) struct Raw {
    pub(super) resets: Resets,
    pub(super) is_integer: bool,
    pub(super) schema: i32,
    pub(super) zero_threshold: f64,
    pub(super) zero_count: f64,
    pub(super) count: f64,
    pub(super) sum: f64,
    /// Runs of buckets, and the counts of all.
    pub(super) positive: (Vec<(i32, u32)>, Vec<f64>),
    pub(super) negative: (Vec<(i32, u32)>, Vec<f64>),
    pub(super) bounds: Vec<f64>,
}

impl Raw {
    /// The histogram, if it is one.
    pub(super) fn point(self) -> Point {
        if is_stale(self.sum) {
            return stale(self.sum);
        }
        let buckets = |(spans, counts): &(Vec<_>, Vec<_>)| Histogram::buckets_of(spans, counts);
        let histogram = || {
            let histogram = Histogram {
                resets: self.resets,
                is_integer: self.is_integer,
                schema: 0,
                zero_threshold: self.zero_threshold,
                zero_count: self.zero_count,
                count: self.count,
                sum: self.sum,
                positive: buckets(&self.positive)?,
                negative: buckets(&self.negative)?,
                bounds: self.bounds.clone().into(),
            };
            histogram.checked(self.schema)
        };
        Point::Histogram(histogram().map_err(|fault| fault.to_string()))
    }
}

fn is_stale(sum: f64) -> bool {
    sum.to_bits() == STALE.to_bits()
}

/// The histogram that marks a series as over.
fn stale(sum: f64) -> Point {
    Point::Histogram(Ok(Histogram { sum, is_integer: true, ..Histogram::default() }))
}

fn spans(bits: &mut Bits<'_>) -> Result<Vec<(i32, u32)>, Wrong> {
    let (mut spans, mut buckets) = (Vec::new(), 0);
    for _ in 0..limited(bits.uint()?)? {
        let length = limited(bits.uint()?)?;
        buckets += length;
        limited(buckets)?;
        spans.push((bits.int()? as i32, length as u32));
    }
    Ok(spans)
}

/// A number of buckets that a histogram may have.
fn limited(count: u64) -> Result<u64, Wrong> {
    let most = Histogram::BUCKETS_MAX;
    let fault = || format!("a histogram has {count} buckets, where {most} are the most");
    (count <= most as u64).then_some(count).ok_or_else(fault)
}

/// How many buckets the runs have.
fn wide(spans: &[(i32, u32)]) -> usize {
    spans.iter().map(|(_, length)| *length as usize).sum()
}

#[cfg(test)]
mod tests;
