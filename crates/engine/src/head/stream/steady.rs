//! Steady streams: numbers of one kind at equal distances, as those of nearly all series are. Their
//! times are not laid out one by one, nor are numbers that move little from one to the next.
//! Decimals of several scales, of which some end with zeros that nobody wrote, are brought to one;
//! floats among them, which came as IEEE bits, to floats.

use super::{
    DELTA_LENS, DELTA_MASKS, Decoded, KindScale, LONG, ONE_STEP, Outline, Reader, Tail, WHOLE,
    decode_bits, unit_ns, unzigzag,
};
use crate::columns::Columns;
use crate::run::steady_range;
use foliot_model::{Cell, Kind, RAW_SCALE, TimeRange};
use std::ops::Range;

/// Decimals up to this size are the same floats at any scale.
const DECIMAL_MAX: i64 = 1 << 53;

/// A stream that is steady from its first sample to its last.
#[derive(Debug)]
pub(crate) struct Steady {
    first_ns: i64,
    step_ns: i64,
    kind_scale: KindScale,
    values: Values,
}

/// The values of a steady stream.
#[derive(Debug)]
enum Values {
    /// The bits of the first two samples, and where the codes of one byte begin, of which each of
    /// the others has one.
    Coded { bits: [u64; 2], bytes: Vec<u8>, codes_at: usize },
    /// As whole numbers, or the bits of floats.
    Wholes(Vec<i64>),
}

impl Steady {
    /// A stream that is steady and longer than a sample, or its bytes again.
    pub(crate) fn of(bytes: Vec<u8>, outline: Outline) -> Result<Self, Vec<u8>> {
        let mut reader = Reader::new(&bytes);
        let (Some(first), Some(second)) = (reader.next(), reader.next()) else { return Err(bytes) };
        let (rest, Tail { step, unit, .. }) = reader.stands();
        let step_ns = i64::from(step) * unit_ns(unit);
        let are_alike = is_number(first.kind_scale)
            && is_number(second.kind_scale)
            && first.kind_scale.kind() == second.kind_scale.kind()
            && step_ns > 0
            && first.time_ns.checked_add(step_ns) == Some(second.time_ns);
        // Most streams that are not steady are told by this, before they are read.
        let length_ns = step_ns.checked_mul(i64::from(outline.count) - 1);
        let ends = length_ns.and_then(|length_ns| first.time_ns.checked_add(length_ns));
        if !are_alike || ends != Some(outline.last_ns) {
            return Err(bytes);
        }
        let first_ns = first.time_ns;
        // What is no code of one byte begins with the highest bit.
        if first.kind_scale == second.kind_scale && rest.is_ascii() {
            let (bits, codes_at) = ([first.bits, second.bits], bytes.len() - rest.len());
            let values = Values::Coded { bits, bytes, codes_at };
            return Ok(Self { first_ns, step_ns, kind_scale: first.kind_scale, values });
        }
        let read = Numbers::read([first, second], rest);
        let Some((kind_scale, wholes)) = read.and_then(Numbers::at_one_scale) else {
            return Err(bytes);
        };
        Ok(Self { first_ns, step_ns, kind_scale, values: Values::Wholes(wholes) })
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> usize {
        match &self.values {
            Values::Coded { bits, bytes, codes_at } => bits.len() + bytes.len() - codes_at,
            Values::Wholes(wholes) => wholes.len(),
        }
    }

    /// The first and the last time.
    pub(crate) fn range(&self) -> TimeRange {
        let steps = self.len().saturating_sub(1) as i64;
        let end_ns = self.first_ns.wrapping_add(self.step_ns.wrapping_mul(steps));
        TimeRange::new(self.first_ns, end_ns)
    }

    /// The first time, and the distance from each to the next.
    pub(crate) fn times(&self) -> (i64, i64) {
        (self.first_ns, self.step_ns)
    }

    /// The kind and scale of all values.
    pub(crate) fn kind_scale(&self) -> KindScale {
        self.kind_scale
    }

    /// Appends the values as whole numbers, or as the bits of floats where the scale says so.
    pub(crate) fn wholes(&self, out: &mut Vec<i64>) {
        match &self.values {
            Values::Coded { bits, bytes, codes_at } => {
                out.reserve(self.len());
                let [first, second] = *bits;
                out.extend([first as i64, second as i64]);
                let mut whole = second as i64;
                let codes = bytes.get(*codes_at..).unwrap_or_default();
                out.extend(codes.iter().map(|code| {
                    whole = whole.wrapping_add(unzigzag(u64::from(*code)));
                    whole
                }));
            }
            Values::Wholes(wholes) => out.extend_from_slice(wholes),
        }
    }

    /// The samples in a range, one by one.
    pub(crate) fn columns(&self, range: TimeRange) -> Columns {
        let indices = steady_range(self.times(), self.len(), range);
        let time_ns = |at: usize| self.first_ns.wrapping_add(self.step_ns.wrapping_mul(at as i64));
        let kind_scales = vec![self.kind_scale; indices.len()];
        let bits = self.bits(indices.clone());
        let times_ns = indices.map(time_ns).collect();
        Columns { times_ns, kind_scales, bits, ..Columns::default() }
    }

    /// The bits of some values. Of those before them no more is done than it takes to come by.
    fn bits(&self, indices: Range<usize>) -> Vec<u64> {
        let (bits, bytes, codes_at) = match &self.values {
            Values::Coded { bits, bytes, codes_at } => (bits, bytes, *codes_at),
            Values::Wholes(wholes) => {
                let wanted = wholes.get(indices).unwrap_or_default();
                return wanted.iter().map(|whole| *whole as u64).collect();
            }
        };
        let codes = bytes.get(codes_at..).unwrap_or_default();
        // Where the values end that are no codes.
        let plain = bits.len();
        let (from, to) = (indices.start.max(plain) - plain, indices.end.max(plain) - plain);
        let by = |whole: u64, code: &u8| whole.wrapping_add(unzigzag(u64::from(*code)) as u64);
        let mut whole = bits.last().copied().unwrap_or_default();
        whole = codes.get(..from).unwrap_or_default().iter().fold(whole, by);
        let mut wanted = Vec::with_capacity(indices.len());
        let own = bits.get(indices.start.min(plain)..indices.end.min(plain));
        wanted.extend_from_slice(own.unwrap_or_default());
        wanted.extend(codes.get(from..to).unwrap_or_default().iter().map(|code| {
            whole = by(whole, code);
            whole
        }));
        wanted
    }
}

fn is_number(kind_scale: KindScale) -> bool {
    matches!(kind_scale.kind(), Kind::Integer | Kind::Float)
}

/// The values of a stream, at the scales that they have in it.
struct Numbers {
    wholes: Vec<i64>,
    /// From which value on they have which kind and scale.
    scales: Vec<(usize, KindScale)>,
}

impl Numbers {
    fn push(&mut self, whole: i64, kind_scale: KindScale) {
        if self.scales.last().is_none_or(|(_, last)| *last != kind_scale) {
            self.scales.push((self.wholes.len(), kind_scale));
        }
        self.wholes.push(whole);
    }

    /// Reads them, as long as each sample comes a step after the one before and is a number of the
    /// same kind; None if one is not. Two samples are read already.
    fn read(two: [Decoded; 2], codes: &[u8]) -> Option<Self> {
        let wholes = Vec::with_capacity(codes.len() + two.len());
        let mut made = Self { wholes, scales: Vec::new() };
        two.iter().for_each(|sample| made.push(sample.bits as i64, sample.kind_scale));
        let [_, Decoded { bits, kind_scale, .. }] = two;
        let (mut whole, mut left) = (bits as i64, codes);
        while let [control, behind @ ..] = left {
            let (delta, len) = match *control {
                delta @ ..0x80 => (u64::from(delta), 0),
                ONE_STEP => (u64::from(*behind.first()?), 1),
                long if long == LONG | WHOLE => {
                    let (own, mut rest) = behind.split_first()?;
                    let own = KindScale(*own);
                    if !is_number(own) || own.kind() != kind_scale.kind() {
                        return None;
                    }
                    whole = decode_bits(&mut rest, own, codes.len())? as i64;
                    made.push(whole, own);
                    left = rest;
                    continue;
                }
                long => {
                    let class = usize::from(long ^ LONG);
                    let (Some(len), Some(mask)) = (DELTA_LENS.get(class), DELTA_MASKS.get(class))
                    else {
                        return None;
                    };
                    let eight = behind.first_chunk::<8>().copied().unwrap_or_else(|| {
                        let mut eight = [0; 8];
                        eight.iter_mut().zip(behind).for_each(|(place, byte)| *place = *byte);
                        eight
                    });
                    (u64::from_le_bytes(eight) & mask, *len)
                }
            };
            left = behind.get(len..)?;
            whole = whole.wrapping_add(unzigzag(delta));
            made.wholes.push(whole);
        }
        Some(made)
    }

    /// The values at one scale: the largest of theirs, or as IEEE bits where that is too large.
    fn at_one_scale(mut self) -> Option<(KindScale, Vec<i64>)> {
        let largest = self.scales.iter().map(|(_, one)| *one).max_by_key(|one| one.scale())?;
        if self.scales.len() == 1 {
            return Some((largest, self.wholes));
        }
        let ends = self.scales.iter().skip(1).map(|(at, _)| *at).chain([self.wholes.len()]);
        let mut stretches = Vec::with_capacity(self.scales.len());
        for ((at, own), end) in self.scales.iter().zip(ends) {
            let digits = u32::from(largest.scale() - own.scale());
            stretches.push((*at..end, *own, 10_i64.checked_pow(digits).unwrap_or(i64::MAX)));
        }
        let fits = |(range, _, power): &(Range<usize>, KindScale, i64)| {
            let most = DECIMAL_MAX.unsigned_abs() / power.unsigned_abs();
            let mut wholes = self.wholes.get(range.clone()).unwrap_or_default().iter();
            *power == 1 || wholes.all(|whole| whole.unsigned_abs() <= most)
        };
        let are_decimals = !largest.is_raw() && stretches.iter().all(fits);
        for (range, own, power) in stretches {
            let wholes = self.wholes.get_mut(range).unwrap_or_default().iter_mut();
            let scale = own.scale();
            let float = |whole: i64| Cell { bits: whole as u64, kind: Kind::Float, scale }.to_f64();
            match are_decimals {
                true => wholes.for_each(|whole| *whole = whole.wrapping_mul(power)),
                false if own.is_raw() => {}
                false => wholes.for_each(|whole| *whole = float(*whole).to_bits() as i64),
            }
        }
        let raw = KindScale::new(Kind::Float, RAW_SCALE);
        Some((if are_decimals { largest } else { raw }, self.wholes))
    }
}
