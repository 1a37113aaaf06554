//! Columns: samples of one series on their way between stream, block and answer.

use crate::head::stream::{Decoded, KindScale};
use crate::order;
use foliot_codec::Cells;
use foliot_model::{Cell, Kind, Samples, Value, Values};
use std::ops::Range;

/// Samples of one series, column by column, with the kind kept per sample.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    pub(crate) times_ns: Vec<i64>,
    pub(crate) kind_scales: Vec<KindScale>,
    /// Mantissas, integers or IEEE bits; for text and histograms spans of `bytes`: offset in the
    /// upper half, length in the lower.
    pub(crate) bits: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
}

/// The bytes that a span refers to.
pub(crate) fn slice(bytes: &[u8], span: u64) -> &[u8] {
    let (offset, len) = ((span >> 32) as usize, span as u32 as usize);
    bytes.get(offset..offset + len).unwrap_or_default()
}

/// A sample's value; text and histograms lie in `bytes`.
pub(crate) fn value(sample: Decoded, bytes: &[u8]) -> Value<'_> {
    let Decoded { kind_scale, bits, .. } = sample;
    match kind_scale.kind() {
        Kind::Float => {
            Value::Float(Cell { bits, kind: Kind::Float, scale: kind_scale.scale() }.to_f64())
        }
        Kind::Integer => Value::Integer(bits as i64),
        Kind::Unsigned => Value::Unsigned(bits),
        Kind::Boolean => Value::Boolean(bits != 0),
        Kind::String => Value::String(std::str::from_utf8(slice(bytes, bits)).unwrap_or_default()),
        Kind::Histogram => Value::Histogram(slice(bytes, bits)),
    }
}

impl Columns {
    pub(crate) fn clear(&mut self) {
        self.times_ns.clear();
        self.kind_scales.clear();
        self.bits.clear();
        self.bytes.clear();
    }

    /// Makes room for so many samples more.
    pub(crate) fn reserve(&mut self, samples: usize) {
        self.times_ns.reserve(samples);
        self.kind_scales.reserve(samples);
        self.bits.reserve(samples);
    }

    pub(crate) fn len(&self) -> usize {
        self.times_ns.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// Adds a sample whose span, if it has one, refers to `bytes`.
    #[inline]
    pub(crate) fn push(&mut self, sample: Decoded, bytes: &[u8]) {
        let bits = match sample.kind_scale.is_bytes() {
            false => sample.bits,
            true => self.keep(slice(bytes, sample.bits)),
        };
        self.times_ns.push(sample.time_ns);
        self.kind_scales.push(sample.kind_scale);
        self.bits.push(bits);
    }

    fn keep(&mut self, text: &[u8]) -> u64 {
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(text);
        (offset << 32) | text.len() as u64
    }

    /// The bytes of a sample's text or histogram; none of others.
    pub(crate) fn text(&self, sample: Decoded) -> &[u8] {
        match sample.kind_scale.is_bytes() {
            true => slice(&self.bytes, sample.bits),
            false => &[],
        }
    }

    /// The sample numbered `index`.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<Decoded> {
        Some(Decoded {
            time_ns: *self.times_ns.get(index)?,
            kind_scale: *self.kind_scales.get(index)?,
            bits: *self.bits.get(index)?,
        })
    }

    /// Whether the first samples are those of another.
    pub(crate) fn begins_with(&self, other: &Self) -> bool {
        self.times_ns.starts_with(&other.times_ns)
            && self.kind_scales.starts_with(&other.kind_scales)
            && self.bits.starts_with(&other.bits)
            && self.bytes.starts_with(&other.bytes)
    }

    /// Adds all of `samples`.
    pub(crate) fn extend(&mut self, samples: &Samples) {
        for (time_ns, value) in samples.iter() {
            let mut push = |kind_scale, bits| self.push(Decoded { time_ns, kind_scale, bits }, &[]);
            let plain = |kind| KindScale::new(kind, 0);
            match value {
                Value::Float(v) => {
                    push(KindScale::new(Kind::Float, foliot_model::RAW_SCALE), v.to_bits());
                }
                Value::Integer(v) => push(plain(Kind::Integer), v as u64),
                Value::Unsigned(v) => push(plain(Kind::Unsigned), v),
                Value::Boolean(v) => push(plain(Kind::Boolean), u64::from(v)),
                Value::String(text) => self.push_bytes(time_ns, Kind::String, text.as_bytes()),
                Value::Histogram(bytes) => self.push_bytes(time_ns, Kind::Histogram, bytes),
            }
        }
    }

    fn push_bytes(&mut self, time_ns: i64, kind: Kind, bytes: &[u8]) {
        let sample =
            Decoded { time_ns, kind_scale: KindScale::new(kind, 0), bits: bytes.len() as u64 };
        self.push(sample, bytes);
    }

    /// Keeps the samples whose time `keeps` wants.
    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(i64) -> bool) {
        let kept: Vec<bool> = self.times_ns.iter().map(|&time_ns| keeps(time_ns)).collect();
        fn filter<T>(items: &mut Vec<T>, kept: &[bool]) {
            let mut kept = kept.iter().copied();
            items.retain(|_| kept.next().unwrap_or(false));
        }
        filter(&mut self.times_ns, &kept);
        filter(&mut self.kind_scales, &kept);
        filter(&mut self.bits, &kept);
    }

    /// Adds values as the codec hands them on, and their times.
    pub(crate) fn append_cells(&mut self, times_ns: &[i64], cells: &Cells) {
        let moved = (self.bytes.len() as u64) << 32;
        self.times_ns.extend_from_slice(times_ns);
        let codes = cells.kinds.iter().zip(&cells.scales);
        let kind_scale = |(&kind, &scale): (&u8, &u8)| KindScale::from_codes(kind, scale);
        self.kind_scales.extend(codes.map(kind_scale));
        if cells.bytes.is_empty() {
            return self.bits.extend_from_slice(&cells.bits);
        }
        let first = self.bits.len();
        self.bits.extend_from_slice(&cells.bits);
        self.bytes.extend_from_slice(&cells.bytes);
        let added = self.bits.get_mut(first..).unwrap_or_default();
        let kinds = self.kind_scales.get(first..).unwrap_or_default();
        for (bits, kind_scale) in added.iter_mut().zip(kinds) {
            *bits = bits.wrapping_add(if kind_scale.is_bytes() { moved } else { 0 });
        }
    }

    /// Adds the samples of `from` numbered `range`.
    pub(crate) fn append(&mut self, from: &Self, range: Range<usize>) {
        if from.bytes.is_empty() {
            let Self { times_ns, kind_scales, bits, .. } = self;
            times_ns.extend_from_slice(from.times_ns.get(range.clone()).unwrap_or_default());
            kind_scales.extend_from_slice(from.kind_scales.get(range.clone()).unwrap_or_default());
            return bits.extend_from_slice(from.bits.get(range).unwrap_or_default());
        }
        for sample in range.filter_map(|index| from.get(index)) {
            self.push(sample, &from.bytes);
        }
    }

    /// Takes the first `count` samples away.
    pub(crate) fn cut_front(&mut self, count: usize) {
        let count = count.min(self.len());
        self.times_ns.drain(..count);
        self.kind_scales.drain(..count);
        self.bits.drain(..count);
        if self.is_empty() {
            self.bytes.clear();
        } else if !self.bytes.is_empty() {
            let rest = std::mem::take(self);
            self.append(&rest, 0..rest.len());
        }
    }

    /// Sorts by time; of samples at one time the last one pushed stays.
    pub(crate) fn sort_newest_wins(&mut self) {
        if self.times_ns.is_sorted_by(|a, b| a < b) {
            return;
        }
        let order = order::by_time(&self.times_ns);
        // Spans keep what they refer to; updated text stays behind until the columns are cleared.
        pick(&mut self.times_ns, &order);
        pick(&mut self.bits, &order);
        match self.kind_scales.iter().all(|kind_scale| Some(kind_scale) == self.kind_scales.first())
        {
            true => self.kind_scales.truncate(order.len()),
            false => pick(&mut self.kind_scales, &order),
        }
    }

    /// Appends the samples numbered `range` to `out`.
    pub(crate) fn copy_to(&self, range: Range<usize>, out: &mut Samples) {
        let kind_scales = self.kind_scales.get(range.clone()).unwrap_or_default();
        let Some((&first, others)) = kind_scales.split_first() else { return };
        // Looked at to the last one, which takes fewer steps than to stop at one that differs.
        let differs = |one: &KindScale| one.kind_code() ^ first.kind_code();
        let are_alike = others.iter().fold(0, |all, one| all | differs(one)) == 0;
        let bits = self.bits.get(range.clone()).unwrap_or_default();
        if out.is_empty() && are_alike && out.values.kind() != Some(first.kind()) {
            out.values = Values::of(first.kind());
        }
        match (&mut out.values, first.kind()) {
            (Values::Float(values), Kind::Float) if are_alike => {
                let float = |(&bits, kind_scale): (&u64, &KindScale)| {
                    Cell { bits, kind: Kind::Float, scale: kind_scale.scale() }.to_f64()
                };
                values.extend(bits.iter().zip(kind_scales).map(float));
            }
            (Values::Integer(values), Kind::Integer) if are_alike => {
                values.extend(bits.iter().map(|&bits| bits as i64));
            }
            _ => {
                for index in range.clone() {
                    if let Some(sample) = self.get(index) {
                        out.values.push(value(sample, &self.bytes));
                    }
                }
            }
        }
        out.times_ns.extend_from_slice(self.times_ns.get(range).unwrap_or_default());
    }

    /// The numbers of the samples whose time lies in `range`; times must ascend.
    pub(crate) fn indices(&self, range: foliot_model::TimeRange) -> Range<usize> {
        let start = self.times_ns.partition_point(|&time| time < range.start_ns);
        let end = self.times_ns.partition_point(|&time| time <= range.end_ns);
        start..end.max(start)
    }
}

/// Puts the items numbered `order` in the place of all.
fn pick<T: Copy>(items: &mut Vec<T>, order: &[u32]) {
    let mut picked = Vec::with_capacity(order.len());
    picked.extend(order.iter().filter_map(|&index| items.get(index as usize).copied()));
    items.clear();
    items.extend_from_slice(&picked);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_equal_times_stays() {
        let mut columns = Columns::default();
        let integer = KindScale::new(Kind::Integer, 0);
        for (time_ns, bits) in [(5, 1), (3, 2), (5, 3), (4, 4), (3, 5)] {
            columns.push(Decoded { time_ns, kind_scale: integer, bits }, &[]);
        }
        columns.push_bytes(4, Kind::String, b"new");
        columns.sort_newest_wins();
        let mut samples = Samples::default();
        columns.copy_to(0..columns.len(), &mut samples);
        let found: Vec<_> = samples.iter().collect();
        let expected = [(3, Value::Integer(5)), (4, Value::String("new")), (5, Value::Integer(3))];
        assert_eq!(found, expected);
    }
}
