//! The open stream of a series: the byte code in which recent samples wait to become a block.
//!
//! Never on disk. One byte per sample when the series is regular and its value moves little:
//!
//! ```text
//! first sample    time i64 LE | kind-scale | value
//! 0vvvvvvv        time = last + step, kind and scale unchanged, zigzag delta v of the value
//! 1ttvvvvv        time class t, value class v, then the bytes of the time, then of the value
//!   t = 0  last + step            t = 2  step changes by i32 units
//!   t = 1  step changes by i16    t = 3  time i64 LE in nanoseconds, unit byte
//!   v = 0..8  zigzag delta of that many bytes, kind and scale unchanged
//!   v = 9     kind-scale, then the value as for a first sample
//! value           bits as LEB128 zigzag; raw floats 8 bytes LE; text and histograms: length as
//!                 LEB128, bytes
//! ```
//!
//! Times are counted in units (ns, us, ms or s): the coarsest one that all times so far allow.

use foliot_codec::varint::{get_i64, get_u64, put_i64, put_u64};
use foliot_model::{Kind, RAW_SCALE};

/// Kind and scale of a value in one byte: the kind in the upper three bits, the scale in the lower
/// five, where 31 stands for raw IEEE bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct KindScale(pub(crate) u8);

const SCALE_BITS: u8 = 31;

impl KindScale {
    pub(crate) const fn new(kind: Kind, scale: u8) -> Self {
        let scale = if scale == RAW_SCALE { SCALE_BITS } else { scale };
        Self(((kind as u8) << 5) | (scale & SCALE_BITS))
    }

    /// From the codec's codes of a kind and a scale.
    pub(crate) const fn from_codes(kind: u8, scale: u8) -> Self {
        let scale = if scale == RAW_SCALE { SCALE_BITS } else { scale };
        Self((kind << 5) | (scale & SCALE_BITS))
    }

    pub(crate) const fn kind_code(self) -> u8 {
        self.0 >> 5
    }

    pub(crate) fn kind(self) -> Kind {
        Kind::from_code(self.kind_code()).unwrap_or(Kind::Float)
    }

    pub(crate) const fn scale(self) -> u8 {
        match self.0 & SCALE_BITS {
            SCALE_BITS => RAW_SCALE,
            scale => scale,
        }
    }

    /// Whether values are text or histograms: the two highest kinds.
    pub(crate) const fn is_bytes(self) -> bool {
        self.0 >= (Kind::String as u8) << 5
    }

    const fn is_raw(self) -> bool {
        self.0 & SCALE_BITS == SCALE_BITS
    }
}

/// Nanoseconds per unit, finest first.
const UNITS_NS: [i64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];

/// Nanoseconds of the unit numbered `unit`.
fn unit_ns(unit: u8) -> i64 {
    match unit {
        0 => 1,
        1 => 1_000,
        2 => 1_000_000,
        _ => 1_000_000_000,
    }
}

/// The coarsest unit that `time_ns` is a whole number of.
fn unit_of(time_ns: i64) -> u8 {
    let fits = |unit: &i64| time_ns % unit == 0;
    UNITS_NS.iter().rposition(fits).unwrap_or(0) as u8
}

/// Where a stream stands: what the next sample is coded against.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tail {
    /// Time of the last sample.
    pub(crate) time_ns: i64,
    /// Bits of the last sample's value; 0 after text or a histogram.
    pub(crate) bits: u64,
    /// Distance of the last two samples in units; 0 when unknown.
    pub(crate) step: u32,
    /// Index of the time unit.
    pub(crate) unit: u8,
    /// Kind and scale of the last value.
    pub(crate) kind_scale: KindScale,
}

/// The bytes of one coded sample, short of the bytes of text and histograms.
pub(crate) struct Code {
    bytes: [u8; Code::LEN_MAX],
    len: u8,
}

impl Code {
    /// Control, time with unit, kind-scale, value.
    const LEN_MAX: usize = 1 + 9 + 1 + 10;

    fn new() -> Self {
        Self { bytes: [0; Self::LEN_MAX], len: 0 }
    }

    fn push(&mut self, part: &[u8]) {
        let start = self.len as usize;
        if let Some(room) = self.bytes.get_mut(start..start + part.len()) {
            room.copy_from_slice(part);
            self.len += part.len() as u8;
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len as usize).unwrap_or_default()
    }
}

const fn zigzag(delta: i64) -> u64 {
    ((delta << 1) ^ (delta >> 63)) as u64
}

const fn unzigzag(code: u64) -> i64 {
    (code >> 1) as i64 ^ -((code & 1) as i64)
}

/// The one-byte code of a sample that continues the stream regularly, or nothing if it does not.
#[inline(always)]
pub(crate) fn encode_regular(
    tail: &mut Tail,
    time_ns: i64,
    kind_scale: KindScale,
    bits: u64,
) -> Option<u8> {
    let code = zigzag(bits.wrapping_sub(tail.bits) as i64);
    let next_ns = tail.time_ns.wrapping_add(i64::from(tail.step) * unit_ns(tail.unit));
    let is_like_before = tail.kind_scale == kind_scale && !kind_scale.is_bytes();
    if time_ns != next_ns || !is_like_before || code > 127 || tail.step == 0 {
        return None;
    }
    tail.time_ns = time_ns;
    tail.bits = bits;
    Some(code as u8)
}

/// The code of the first sample of a stream. For text and histograms `bits` is the length, and the
/// bytes follow the code.
pub(crate) fn encode_first(
    tail: &mut Tail,
    time_ns: i64,
    kind_scale: KindScale,
    bits: u64,
) -> Code {
    let mut code = Code::new();
    code.push(&time_ns.to_le_bytes());
    *tail = Tail { time_ns, bits: 0, step: 0, unit: unit_of(time_ns), kind_scale };
    encode_value(&mut code, tail, kind_scale, bits);
    code
}

/// The code of any later sample, `time_ns` above the tail's.
pub(crate) fn encode_next(tail: &mut Tail, time_ns: i64, kind_scale: KindScale, bits: u64) -> Code {
    let mut code = Code::new();
    code.push(&[0]);
    let time_class = encode_time(&mut code, tail, time_ns);
    let delta = zigzag(bits.wrapping_sub(tail.bits) as i64);
    let value_class = if kind_scale == tail.kind_scale && !kind_scale.is_bytes() {
        let len = (64 - delta.leading_zeros()).div_ceil(8) as u8;
        code.push(delta.to_le_bytes().get(..len as usize).unwrap_or_default());
        tail.bits = bits;
        len
    } else {
        encode_value(&mut code, tail, kind_scale, bits);
        9
    };
    if let Some(control) = code.bytes.first_mut() {
        *control = 0x80 | (time_class << 5) | value_class;
    }
    code
}

fn encode_time(code: &mut Code, tail: &mut Tail, time_ns: i64) -> u8 {
    let unit = unit_ns(tail.unit);
    let delta_ns = time_ns.wrapping_sub(tail.time_ns);
    tail.time_ns = time_ns;
    let step = delta_ns / unit;
    if delta_ns > 0 && delta_ns % unit == 0 && step <= i64::from(u32::MAX) {
        let change = step - i64::from(tail.step);
        tail.step = step as u32;
        if change == 0 {
            return 0;
        }
        if let Ok(change) = i16::try_from(change) {
            code.push(&change.to_le_bytes());
            return 1;
        }
        if let Ok(change) = i32::try_from(change) {
            code.push(&change.to_le_bytes());
            return 2;
        }
    }
    tail.unit = tail.unit.min(unit_of(time_ns));
    let step = delta_ns / unit_ns(tail.unit);
    tail.step = if delta_ns > 0 { u32::try_from(step).unwrap_or(0) } else { 0 };
    code.push(&time_ns.to_le_bytes());
    code.push(&[tail.unit]);
    3
}

fn encode_value(code: &mut Code, tail: &mut Tail, kind_scale: KindScale, bits: u64) {
    code.push(&[kind_scale.0]);
    tail.kind_scale = kind_scale;
    tail.bits = bits;
    if kind_scale.is_bytes() {
        tail.bits = 0;
        push_varint(code, bits);
    } else if kind_scale.is_raw() {
        code.push(&bits.to_le_bytes());
    } else {
        push_varint(code, zigzag(bits as i64));
    }
}

fn push_varint(code: &mut Code, mut value: u64) {
    while value > 127 {
        code.push(&[value as u8 | 0x80]);
        value >>= 7;
    }
    code.push(&[value as u8]);
}

/// One sample as it comes out of a stream or a wal frame. `bits` of text and histograms is a span:
/// offset into the stream's bytes in the upper half, length in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) time_ns: i64,
    pub(crate) kind_scale: KindScale,
    pub(crate) bits: u64,
}

/// Reads a stream from its first byte.
pub(crate) struct Reader<'a> {
    all: &'a [u8],
    rest: &'a [u8],
    tail: Tail,
    is_first: bool,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { all: bytes, rest: bytes, tail: Tail::default(), is_first: true }
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*taken)
    }

    /// The next sample; nothing at the end (or if the bytes are not a stream, which only a bug
    /// makes).
    #[inline]
    pub(crate) fn next(&mut self) -> Option<Decoded> {
        if self.is_first {
            self.is_first = false;
            let time_ns = i64::from_le_bytes(self.take()?);
            self.tail = Tail { time_ns, unit: unit_of(time_ns), ..Tail::default() };
            return self.value();
        }
        let [control] = self.take()?;
        let tail = &mut self.tail;
        if control & 0x80 == 0 {
            tail.time_ns += i64::from(tail.step) * unit_ns(tail.unit);
            tail.bits = tail.bits.wrapping_add(unzigzag(u64::from(control)) as u64);
            let Tail { time_ns, kind_scale, bits, .. } = *tail;
            return Some(Decoded { time_ns, kind_scale, bits });
        }
        self.time((control >> 5) & 3)?;
        match control & 31 {
            len @ 0..=8 => {
                let mut delta = [0; 8];
                let (taken, rest) = self.rest.split_at_checked(len as usize)?;
                delta.get_mut(..len as usize)?.copy_from_slice(taken);
                self.rest = rest;
                let delta = unzigzag(u64::from_le_bytes(delta));
                self.tail.bits = self.tail.bits.wrapping_add(delta as u64);
                let Tail { time_ns, kind_scale, bits, .. } = self.tail;
                Some(Decoded { time_ns, kind_scale, bits })
            }
            _ => self.value(),
        }
    }

    fn time(&mut self, class: u8) -> Option<()> {
        let change = match class {
            0 => 0,
            1 => i64::from(i16::from_le_bytes(self.take()?)),
            2 => i64::from(i32::from_le_bytes(self.take()?)),
            _ => {
                let time_ns = i64::from_le_bytes(self.take()?);
                let [unit] = self.take()?;
                let delta_ns = time_ns.wrapping_sub(self.tail.time_ns);
                let step = delta_ns / unit_ns(unit);
                self.tail.step = if delta_ns > 0 { u32::try_from(step).unwrap_or(0) } else { 0 };
                self.tail.unit = unit;
                self.tail.time_ns = time_ns;
                return Some(());
            }
        };
        self.tail.step = (i64::from(self.tail.step) + change) as u32;
        self.tail.time_ns += i64::from(self.tail.step) * unit_ns(self.tail.unit);
        Some(())
    }

    fn value(&mut self) -> Option<Decoded> {
        let [kind_scale] = self.take()?;
        let kind_scale = KindScale(kind_scale);
        self.tail.kind_scale = kind_scale;
        let bits = decode_bits(&mut self.rest, kind_scale, self.all.len())?;
        self.tail.bits = if kind_scale.is_bytes() { 0 } else { bits };
        Some(Decoded { time_ns: self.tail.time_ns, kind_scale, bits })
    }
}

/// Appends a value in the form that first samples and wal rows share; `bytes` for text and
/// histograms.
pub(crate) fn put_value(out: &mut Vec<u8>, kind_scale: KindScale, bits: u64, bytes: &[u8]) {
    if kind_scale.is_bytes() {
        put_u64(out, bytes.len() as u64);
        out.extend_from_slice(bytes);
    } else if kind_scale.is_raw() {
        out.extend_from_slice(&bits.to_le_bytes());
    } else {
        put_i64(out, bits as i64);
    }
}

/// Reads what [`put_value`] wrote, where `rest` is the unread end of `all_len` bytes.
#[inline]
pub(crate) fn decode_bits(rest: &mut &[u8], kind_scale: KindScale, all_len: usize) -> Option<u64> {
    if kind_scale.is_bytes() {
        let len = get_u64(rest).ok()?;
        let offset = all_len - rest.len();
        *rest = rest.get(usize::try_from(len).ok()?..)?;
        Some(((offset as u64) << 32) | len)
    } else if kind_scale.is_raw() {
        let (taken, after) = rest.split_first_chunk::<8>()?;
        *rest = after;
        Some(u64::from_le_bytes(*taken))
    } else {
        get_i64(rest).ok().map(|value| value as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn write(samples: &[Decoded], text: &[u8]) -> Vec<u8> {
        let mut tail = Tail::default();
        let mut out = Vec::new();
        for (index, sample) in samples.iter().enumerate() {
            let Decoded { time_ns, kind_scale, bits } = *sample;
            if index == 0 {
                out.extend_from_slice(
                    encode_first(&mut tail, time_ns, kind_scale, bits).as_slice(),
                );
            } else if let Some(byte) = encode_regular(&mut tail, time_ns, kind_scale, bits) {
                out.push(byte);
            } else {
                out.extend_from_slice(encode_next(&mut tail, time_ns, kind_scale, bits).as_slice());
            }
            if kind_scale.is_bytes() {
                out.extend_from_slice(&text[..bits as usize]);
            }
        }
        out
    }

    fn check(samples: &[Decoded], text: &[u8]) -> usize {
        let bytes = write(samples, text);
        let mut reader = Reader::new(&bytes);
        for sample in samples {
            let mut found = reader.next().expect("a sample");
            if found.kind_scale.is_bytes() {
                let (offset, len) = ((found.bits >> 32) as usize, found.bits & 0xffff_ffff);
                assert_eq!(bytes[offset..offset + len as usize], text[..len as usize]);
                found.bits = len;
            }
            assert_eq!(found, *sample);
        }
        assert_eq!(reader.next(), None);
        bytes.len()
    }

    #[test]
    fn a_regular_gauge_takes_one_byte_a_sample() {
        let integer = KindScale::new(Kind::Integer, 0);
        let sample = |i: i64| Decoded {
            time_ns: 1_700_000_000_000_000_000 + i * 10_000_000_000,
            kind_scale: integer,
            bits: (50 + i % 7) as u64,
        };
        let samples: Vec<_> = (0..100).map(sample).collect();
        assert!(check(&samples, b"") <= 100 + 14);
    }

    fn sample() -> impl Strategy<Value = (i64, u8, u8, u64)> {
        let step = prop_oneof![
            Just(10_000_000_000i64),
            Just(1_000_000),
            1..5_000_000_000i64,
            Just(i64::MAX / 300)
        ];
        let bits = prop_oneof![0..200u64, any::<u64>(), Just(u64::MAX)];
        (step, 0..6u8, prop_oneof![0..23u8, Just(RAW_SCALE)], bits)
    }

    proptest! {
        #[test]
        fn what_goes_in_comes_out(
            start in prop_oneof![any::<i64>().prop_map(|t| t / 4), Just(-1), Just(0)],
            steps in prop::collection::vec(sample(), 1..60),
        ) {
            let text = b"some text of thirty-two letters.";
            let mut time_ns = start;
            let samples: Vec<_> = steps
                .into_iter()
                .map(|(step, kind, scale, bits)| {
                    time_ns += step;
                    let kind = Kind::from_code(kind).unwrap();
                    let scale = if kind == Kind::Float { scale } else { 0 };
                    let bits = match kind {
                        Kind::Boolean => bits & 1,
                        kind if kind.is_bytes() => bits % text.len() as u64,
                        _ => bits,
                    };
                    Decoded { time_ns, kind_scale: KindScale::new(kind, scale), bits }
                })
                .collect();
            check(&samples, text);
        }
    }
}
