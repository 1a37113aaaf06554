//! Blocks: compressed runs of one series, in memory as in a part.

use crate::columns::Columns;
use crate::head::stream::Reader;
use crate::limits::{BLOCK_SAMPLES_MAX, WINDOW_NS};
use crate::part::BlockRef;
use foliot_codec::{
    BlockValues, Decoded as DecodedValues, Each, Scratch, Summary, decode_times, decode_values,
    encode_times, encode_values,
};
use foliot_model::{Kind, Samples, TimeRange, Value, Values};
use std::ops::Range;

/// At most [`BLOCK_SAMPLES_MAX`] samples of one series, compressed. No block crosses a multiple of
/// [`WINDOW_NS`].
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// First and last time.
    pub(crate) range: TimeRange,
    pub(crate) count: u16,
    times_len: u32,
    bytes: Box<[u8]>,
    pub(crate) summary: Summary,
}

impl Block {
    pub(crate) fn times(&self) -> &[u8] {
        self.bytes.get(..self.times_len as usize).unwrap_or_default()
    }

    pub(crate) fn values(&self) -> &[u8] {
        self.bytes.get(self.times_len as usize..).unwrap_or_default()
    }

    pub(crate) fn lend(&self) -> BlockRef<'_> {
        let Self { range, count, summary, .. } = self;
        let (times, values) = (self.times(), self.values());
        BlockRef { range: *range, count: *count, times, values, summary }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.bytes.len()
    }
}

/// Which of the windows that blocks are kept apart by holds `time_ns`.
pub(crate) fn window(time_ns: i64) -> i64 {
    time_ns.div_euclid(WINDOW_NS)
}

/// Makes blocks. Its memory is reused from series to series.
#[derive(Default)]
pub(crate) struct Builder {
    /// Bytes of a stream, to be decoded.
    pub(crate) stream: Vec<u8>,
    /// Samples of one series, times ascending.
    pub(crate) columns: Columns,
    kinds: Vec<u8>,
    scales: Vec<u8>,
    encoded: Vec<u8>,
    scratch: Scratch,
}

impl Builder {
    /// One whose blocks go to pages that are packed.
    pub(crate) fn for_packing() -> Self {
        Self { scratch: Scratch::for_packing(), ..Self::default() }
    }

    pub(crate) fn clear(&mut self) {
        self.columns.clear();
    }

    /// Adds the samples of the stream to the columns.
    pub(crate) fn decode_stream(&mut self) {
        let mut reader = Reader::new(&self.stream);
        while let Some(sample) = reader.next() {
            self.columns.push(sample, &self.stream);
            reader.run(TimeRange::ALL, &mut self.columns);
        }
    }

    /// Encodes all columns, as few blocks as possible.
    pub(crate) fn blocks(&mut self) -> Vec<Block> {
        self.first_blocks(self.columns.len())
    }

    /// Encodes the first `count` samples, as few blocks as possible.
    pub(crate) fn first_blocks(&mut self, count: usize) -> Vec<Block> {
        let mut blocks = Vec::with_capacity(1);
        let mut start = 0;
        while start < count {
            let end = self.block_end(start).min(count);
            blocks.push(self.encode(start..end));
            start = end;
        }
        blocks
    }

    /// Where the block that begins with sample `start` ends.
    fn block_end(&self, start: usize) -> usize {
        let longest = (start + BLOCK_SAMPLES_MAX).min(self.columns.len());
        let times = self.columns.times_ns.get(start..longest).unwrap_or_default();
        match (times.first(), times.last()) {
            (Some(&first), Some(&last)) if window(first) != window(last) => {
                start + times.partition_point(|&time| window(time) == window(first))
            }
            _ => longest,
        }
    }

    /// Encodes the columns numbered `range`, which must fit one block.
    pub(crate) fn encode(&mut self, range: Range<usize>) -> Block {
        let times = self.columns.times_ns.get(range.clone()).unwrap_or_default();
        let kind_scales = self.columns.kind_scales.get(range.clone()).unwrap_or_default();
        let bits = self.columns.bits.get(range).unwrap_or_default();
        let first = kind_scales.first().copied().unwrap_or_default();
        let is_uniform = kind_scales.iter().all(|&kind_scale| kind_scale == first);
        let (kinds, scales) = if is_uniform {
            (Each::One(first.kind_code()), Each::One(first.scale()))
        } else {
            self.kinds.clear();
            self.kinds.extend(kind_scales.iter().map(|kind_scale| kind_scale.kind_code()));
            self.scales.clear();
            self.scales.extend(kind_scales.iter().map(|kind_scale| kind_scale.scale()));
            (Each::Every(&self.kinds[..]), Each::Every(&self.scales[..]))
        };
        let values = BlockValues { kinds, scales, bits, bytes: &self.columns.bytes };
        self.encoded.clear();
        encode_times(times, &mut self.encoded);
        let times_len = self.encoded.len() as u32;
        let summary = encode_values(&values, &mut self.scratch, &mut self.encoded);
        let end = |time: Option<&i64>| time.copied().unwrap_or_default();
        Block {
            range: TimeRange::new(end(times.first()), end(times.last())),
            count: times.len() as u16,
            times_len,
            bytes: self.encoded.as_slice().into(),
            summary,
        }
    }
}

/// Reads blocks. Its memory is reused from block to block.
#[derive(Default)]
pub(crate) struct Decoder {
    times_ns: Vec<i64>,
    values: DecodedValues,
}

impl Decoder {
    /// Appends the block's samples in `range` to `out`.
    ///
    /// # Errors
    /// What is wrong with the bytes; where they came from the caller knows.
    pub(crate) fn decode(
        &mut self,
        times: &[u8],
        values: &[u8],
        count: usize,
        range: TimeRange,
        out: &mut Samples,
    ) -> Result<(), String> {
        self.times_ns.clear();
        decode_times(times, count, &mut self.times_ns).map_err(|error| error.to_string())?;
        decode_values(values, count, &mut self.values).map_err(|error| error.to_string())?;
        let start = self.times_ns.partition_point(|&time| time < range.start_ns);
        let end = self.times_ns.partition_point(|&time| time <= range.end_ns).max(start);
        let times = self.times_ns.get(start..end).unwrap_or_default();
        out.times_ns.extend_from_slice(times);
        append_values(&self.values, start..end, &mut out.values);
        Ok(())
    }
}

/// Appends the values numbered `range` to `out`.
pub(crate) fn append_values(values: &DecodedValues, range: Range<usize>, out: &mut Values) {
    fn copy<T: Copy>(from: &[T], range: Range<usize>, to: &mut Vec<T>) {
        to.extend_from_slice(from.get(range).unwrap_or_default());
    }
    let kind = values.kind.and_then(Kind::from_code);
    if let Some(kind) = kind
        && out.is_empty()
        && out.kind() != Some(kind)
    {
        *out = Values::of(kind);
    }
    match (kind, out) {
        (Some(Kind::Float), Values::Float(out)) => copy(&values.floats, range, out),
        (Some(Kind::Integer), Values::Integer(out)) => copy(&values.integers, range, out),
        (Some(Kind::Unsigned), Values::Unsigned(out)) => copy(&values.unsigned, range, out),
        (Some(Kind::Boolean), Values::Boolean(out)) => copy(&values.booleans, range, out),
        (_, out) => {
            for index in range {
                if let Some(value) = value(values, index) {
                    out.push(value);
                }
            }
        }
    }
}

fn value(values: &DecodedValues, index: usize) -> Option<Value<'_>> {
    let text = |span| std::str::from_utf8(values.slice(span)).unwrap_or_default();
    let bits = || values.bits.get(index).copied();
    match values.kind {
        Some(0) => values.floats.get(index).map(|&value| Value::Float(value)),
        Some(1) => values.integers.get(index).map(|&value| Value::Integer(value)),
        Some(2) => values.unsigned.get(index).map(|&value| Value::Unsigned(value)),
        Some(3) => values.booleans.get(index).map(|&value| Value::Boolean(value)),
        Some(4) => bits().map(|span| Value::String(text(span))),
        Some(_) => bits().map(|span| Value::Histogram(values.slice(span))),
        None => match (*values.kinds.get(index)?, bits()?) {
            (0, bits) => Some(Value::Float(f64::from_bits(bits))),
            (1, bits) => Some(Value::Integer(bits as i64)),
            (2, bits) => Some(Value::Unsigned(bits)),
            (3, bits) => Some(Value::Boolean(bits != 0)),
            (4, span) => Some(Value::String(text(span))),
            (_, span) => Some(Value::Histogram(values.slice(span))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::stream::{Decoded, KindScale};

    #[test]
    fn blocks_end_at_windows_and_come_back_whole() {
        let mut builder = Builder::default();
        let start = WINDOW_NS * 5 - 700 * 1_000_000_000;
        for i in 0..2500i64 {
            let kind_scale = KindScale::new(Kind::Float, 1);
            let time_ns = start + i * 1_000_000_000;
            builder.columns.push(Decoded { time_ns, kind_scale, bits: (i % 100) as u64 }, &[]);
        }
        let blocks = builder.blocks();
        let counts: Vec<_> = blocks.iter().map(|block| block.count).collect();
        assert_eq!(counts, [700, 1024, 776]);
        let mut out = Samples::default();
        let mut decoder = Decoder::default();
        for block in &blocks {
            let count = block.count as usize;
            decoder.decode(block.times(), block.values(), count, TimeRange::ALL, &mut out).unwrap();
        }
        assert_eq!(out.len(), 2500);
        for (i, (time_ns, value)) in out.iter().enumerate() {
            assert_eq!(time_ns, start + i as i64 * 1_000_000_000);
            assert_eq!(value, Value::Float((i % 100) as f64 / 10.0));
        }
    }
}
