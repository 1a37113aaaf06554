//! The open stream of a series: the byte code in which recent samples wait to become a block.
//!
//! Never on disk. One byte per sample when the series is regular and its value moves little:
//!
//! ```text
//! first sample    time i64 LE | kind-scale | value
//! 0vvvvvvv        time = last + step, kind and scale unchanged, zigzag delta v of the value
//! 10nnnnnn        n - 32 steps away from the last time, the rest unchanged; then a byte, the
//!                 zigzag delta of the value
//! 11ttavvv        time class t, value class v, then the bytes of the time, then of the value
//!   a = 0, time and step go on          a = 1, the step stays what it was
//!     t = 0  last + step                  t = 0  i8 steps away from the last
//!     t = 1  step changes by i16 units    t = 1  i16 units away
//!     t = 2  step changes by i32 units    t = 2  i32 units away
//!     t = 3  time i64 LE in nanoseconds, unit byte
//!   v = 0..6  zigzag delta of 0, 1, 2, 3, 4, 6 or 8 bytes, kind and scale unchanged
//!   v = 7     kind-scale, then the value as for a first sample
//! value           bits as LEB128 zigzag; raw floats 8 bytes LE; text and histograms: length as
//!                 LEB128, bytes
//! ```
//!
//! Times are counted in units (ns, us, ms or s): the coarsest one that all times so far allow. They
//! stand in the order of arrival; a sample that is late among its neighbours, or that follows a
//! gap, is some steps away from the one before it.

mod reader;
mod steady;
#[cfg(test)]
mod tests;

pub(crate) use reader::Reader;
pub(crate) use steady::Steady;

use foliot_codec::varint::{get_i64, get_u64, put_i64, put_u64, spread_u64, unzigzag, zigzag};
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

    pub(crate) const fn is_raw(self) -> bool {
        self.0 & SCALE_BITS == SCALE_BITS
    }
}

/// Nanoseconds per unit, finest first.
const UNITS_NS: [i64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];

/// Nanoseconds of the unit numbered `unit`.
#[inline(always)]
fn unit_ns(unit: u8) -> i64 {
    UNITS_NS.get((unit & 3) as usize).copied().unwrap_or(1)
}

/// The nanoseconds of so many units.
#[inline(always)]
pub(super) fn step_ns(step: u32, unit: u8) -> i64 {
    i64::from(step) * unit_ns(unit)
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

/// What is known of an open stream before it is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outline {
    /// Number of its samples.
    pub(crate) count: u16,
    /// The time of the one that came last.
    pub(crate) last_ns: i64,
    /// Whether times ascend.
    pub(crate) ascends: bool,
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

/// The largest folded difference of values that a code of one byte holds.
pub(crate) const CODE_MAX: u64 = 127;

/// The one-byte code of a sample that continues the stream regularly, or nothing if it does not.
#[inline(always)]
pub(crate) fn encode_regular(
    tail: &mut Tail,
    time_ns: i64,
    kind_scale: KindScale,
    bits: u64,
) -> Option<u8> {
    let code = zigzag(bits.wrapping_sub(tail.bits) as i64);
    let next_ns = tail.time_ns.checked_add(step_ns(tail.step, tail.unit));
    let is_like_before = tail.kind_scale == kind_scale && !kind_scale.is_bytes();
    if next_ns != Some(time_ns) || !is_like_before || code > CODE_MAX || tail.step == 0 {
        return None;
    }
    tail.time_ns = time_ns;
    tail.bits = bits;
    Some(code as u8)
}

/// The two bytes of a sample that is a few steps away from the last one, either way, and whose
/// value moved little; nothing if it is not.
#[inline(always)]
pub(crate) fn encode_away(
    tail: &mut Tail,
    time_ns: i64,
    kind_scale: KindScale,
    bits: u64,
) -> Option<[u8; 2]> {
    let code = zigzag(bits.wrapping_sub(tail.bits) as i64);
    let step_ns = step_ns(tail.step, tail.unit);
    let is_like_before = tail.kind_scale == kind_scale && !kind_scale.is_bytes();
    if !is_like_before || code > 255 || step_ns == 0 {
        return None;
    }
    let delta_ns = time_ns.checked_sub(tail.time_ns)?;
    let steps = delta_ns / step_ns;
    if steps * step_ns != delta_ns || !(-NEAR_STEPS..NEAR_STEPS).contains(&steps) {
        return None;
    }
    tail.time_ns = time_ns;
    tail.bits = bits;
    Some([0x80 | (steps + NEAR_STEPS) as u8, code as u8])
}

/// The bytes of a number that comes one step after the last sample, and how many they are; nothing
/// if it is no such number. They are what [`encode_any`] makes of it, without a division or a copy.
#[inline(always)]
pub(crate) fn encode_step(
    tail: &mut Tail,
    time_ns: i64,
    kind_scale: KindScale,
    bits: u64,
) -> Option<([u8; 16], u8)> {
    let next_ns = tail.time_ns.checked_add(step_ns(tail.step, tail.unit));
    if next_ns != Some(time_ns) || tail.step == 0 || kind_scale.is_bytes() {
        return None;
    }
    let (code, len) = if kind_scale == tail.kind_scale {
        match zigzag(bits.wrapping_sub(tail.bits) as i64) {
            delta @ 0..=CODE_MAX => (u128::from(delta), 1),
            delta @ 128..=255 => (u128::from(ONE_STEP) | u128::from(delta) << 8, 2),
            delta => {
                let class = value_class(delta);
                let len = DELTA_LENS.get(class as usize).copied().unwrap_or(8);
                (u128::from(LONG | class) | u128::from(delta) << 8, 1 + len as u8)
            }
        }
    } else {
        let (value, len) = match kind_scale.is_raw() {
            true => (u128::from(bits), 8),
            false => spread_u64(zigzag(bits as i64)),
        };
        (u128::from(LONG | WHOLE) | u128::from(kind_scale.0) << 8 | value << 16, 2 + len)
    };
    *tail = Tail { time_ns, bits, kind_scale, ..*tail };
    Some((code.to_le_bytes(), len))
}

/// Samples that are so many steps away take two bytes.
const NEAR_STEPS: i64 = 32;
/// The control byte of one that is one step away.
const ONE_STEP: u8 = 0x80 | (1 + NEAR_STEPS as u8);
/// The bits of a control byte that say that neither time nor value is of the short kinds.
const LONG: u8 = 0b1100_0000;
/// The bit of a long control byte that says that the step stays.
const AWAY: u8 = 1 << 3;
/// Bytes of the value classes but the last.
const DELTA_LENS: [usize; 7] = [0, 1, 2, 3, 4, 6, 8];
/// The bits that so many bytes have.
const DELTA_MASKS: [u64; 7] = [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xffff_ffff_ffff, u64::MAX];
/// The value class of values that are written whole.
const WHOLE: u8 = 7;

/// The class of a zigzag delta: the shortest that holds it.
#[inline(always)]
const fn value_class(delta: u64) -> u8 {
    match (64 - delta.leading_zeros()).div_ceil(8) as u8 {
        len @ 0..=4 => len,
        5 | 6 => 5,
        _ => 6,
    }
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

/// The code of any sample but the first.
pub(crate) fn encode_any(tail: &mut Tail, time_ns: i64, kind_scale: KindScale, bits: u64) -> Code {
    let mut code = Code::new();
    if let Some(byte) = encode_regular(tail, time_ns, kind_scale, bits) {
        code.push(&[byte]);
    } else if let Some(bytes) = encode_away(tail, time_ns, kind_scale, bits) {
        code.push(&bytes);
    } else {
        return encode_next(tail, time_ns, kind_scale, bits);
    }
    code
}

/// The code of any other sample, late or not.
fn encode_next(tail: &mut Tail, time_ns: i64, kind_scale: KindScale, bits: u64) -> Code {
    let mut code = Code::new();
    code.push(&[0]);
    let time_class = encode_time(&mut code, tail, time_ns);
    let delta = zigzag(bits.wrapping_sub(tail.bits) as i64);
    let value_class = if kind_scale == tail.kind_scale && !kind_scale.is_bytes() {
        let class = value_class(delta);
        let len = DELTA_LENS.get(class as usize).copied().unwrap_or(8);
        code.push(delta.to_le_bytes().get(..len).unwrap_or_default());
        tail.bits = bits;
        class
    } else {
        encode_value(&mut code, tail, kind_scale, bits);
        WHOLE
    };
    if let Some(control) = code.bytes.first_mut() {
        *control = LONG | time_class | value_class;
    }
    code
}

/// Codes a time; its class and whether the step stays, as they stand in the control byte.
fn encode_time(code: &mut Code, tail: &mut Tail, time_ns: i64) -> u8 {
    let delta_ns = time_ns.checked_sub(tail.time_ns);
    tail.time_ns = time_ns;
    let unit = unit_ns(tail.unit);
    let units = delta_ns.filter(|delta_ns| delta_ns % unit == 0).map(|delta_ns| delta_ns / unit);
    if let Some(class) = units.and_then(|units| encode_units(code, tail, units)) {
        return class;
    }
    tail.unit = tail.unit.min(unit_of(time_ns));
    tail.step = step_from(delta_ns.unwrap_or(0), tail.unit);
    code.push(&time_ns.to_le_bytes());
    code.push(&[tail.unit]);
    3 << 4
}

fn encode_units(code: &mut Code, tail: &mut Tail, units: i64) -> Option<u8> {
    let step = i64::from(tail.step);
    if step != 0
        && units % step == 0
        && let Ok(steps) = i8::try_from(units / step)
    {
        if steps != 1 {
            code.push(&steps.to_le_bytes());
        }
        return Some(if steps == 1 { 0 } else { AWAY });
    }
    let (number, away) = match u32::try_from(units) {
        Ok(new) if new > 0 => {
            tail.step = new;
            (units - step, 0)
        }
        _ => (units, AWAY),
    };
    if let Ok(number) = i16::try_from(number) {
        code.push(&number.to_le_bytes());
        return Some((1 << 4) | away);
    }
    let number = i32::try_from(number).ok()?;
    code.push(&number.to_le_bytes());
    Some((2 << 4) | away)
}

/// The step after a time that was written whole: 0 when it is not known.
fn step_from(delta_ns: i64, unit: u8) -> u32 {
    match delta_ns > 0 {
        true => u32::try_from(delta_ns / unit_ns(unit)).unwrap_or(0),
        false => 0,
    }
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

fn push_varint(code: &mut Code, value: u64) {
    let (bytes, len) = spread_u64(value);
    code.push(bytes.to_le_bytes().get(..len as usize).unwrap_or_default());
}

/// One sample as it comes out of a stream or a wal frame. `bits` of text and histograms is a span:
/// offset into the stream's bytes in the upper half, length in the lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decoded {
    pub(crate) time_ns: i64,
    pub(crate) kind_scale: KindScale,
    pub(crate) bits: u64,
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
