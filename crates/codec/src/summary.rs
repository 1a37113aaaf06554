//! What a block's values come to, so that a query may skip the block.

use crate::CodecError;
use crate::lane::{Lane, Narrow};
use crate::numbers::{self, Numbers, to_float};
use crate::values::{BlockValues, FLOAT_BITS, kind};
use crate::varint::{self, get_i64, put_i64};

/// Figures of a block's values, taken as 64-bit floats; booleans count as 0 and 1.
///
/// [`Summary::min`], [`Summary::max`], [`Summary::first`] and [`Summary::last`] are values of the
/// block, exact for floats, booleans and whole numbers up to 2^53, else rounded to the nearest
/// float. For decimals, whole numbers and booleans [`Summary::sum`] and [`Summary::increase`] are
/// summed without error and rounded once or twice at the end, at most 2^-52 relative; for other
/// floats, and blocks that mix the two, they carry a compensated sum's rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The kinds present: bit `k` for kind `k`.
    pub kinds: u8,
    /// Whether every value is a number, finite or NaN. If not, the figures mean nothing.
    pub numeric: bool,
    /// Whether a value is NaN. Such values count for `first` and `last` only.
    pub has_nan: bool,
    figures: Figures,
}

/// The figures as they were found.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figures {
    Exact(Exact),
    Floats(Floats),
}

/// What the values of a block come to as decimals of one scale, without error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecimalSum {
    /// The sum, in units of the last digit.
    pub sum: i64,
    /// Digits behind the point.
    pub scale: u8,
    /// The largest distance of a value from zero, in units of the last digit.
    pub most: u64,
}

/// The figures as decimals of one scale, which a float can have.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exact {
    scale: u8,
    min: i64,
    max: i64,
    sum: i64,
    first: i64,
    last: i64,
    increase: i64,
}

/// The figures as floats.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Floats {
    min: f64,
    max: f64,
    sum: f64,
    first: f64,
    last: f64,
    increase: f64,
}

/// Figures of a summary.
const FIGURES: usize = 6;

const NUMERIC: u8 = 1 << 6;
const NAN: u8 = 1 << 7;
/// The form byte of figures stored as floats; smaller ones are scales of decimal figures.
const FLOATS: u8 = 0xff;

impl Default for Summary {
    /// The summary of no values.
    fn default() -> Self {
        let none = f64::NAN;
        let figures =
            Floats { min: none, max: none, sum: 0.0, first: none, last: none, increase: 0.0 };
        let figures = Figures::Floats(figures);
        Self { kinds: 0, numeric: true, has_nan: false, figures }
    }
}

impl Summary {
    /// Appends the summary: about 10 to 14 bytes for decimals and whole numbers, else up to 50.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let numeric = if self.numeric { NUMERIC } else { 0 };
        out.push(self.kinds | numeric | if self.has_nan { NAN } else { 0 });
        if !self.numeric {
            return;
        }
        match &self.figures {
            Figures::Exact(exact) => exact.encode(out),
            Figures::Floats(floats) => floats.encode(out),
        }
    }

    /// Takes a summary off the front of `bytes`.
    ///
    /// # Errors
    /// When the bytes are not what [`Summary::encode`] wrote.
    pub fn decode(bytes: &mut &[u8]) -> Result<Self, CodecError> {
        const SHORT: CodecError = CodecError::Truncated("summary");
        let head = *bytes.split_off_first().ok_or(SHORT)?;
        let base = Self {
            kinds: head & 0x3f,
            numeric: head & NUMERIC != 0,
            has_nan: head & NAN != 0,
            ..Self::default()
        };
        if !base.numeric {
            return Ok(base);
        }
        let form = *bytes.split_off_first().ok_or(SHORT)?;
        let figures = match form {
            FLOATS => Figures::Floats(Floats::decode(bytes).ok_or(SHORT)?),
            scale => Figures::Exact(Exact::decode(scale, bytes)?),
        };
        Ok(Self { figures, ..base })
    }

    /// Passes over a summary at the front of `bytes`.
    ///
    /// # Errors
    /// As [`Summary::decode`], as far as that shows.
    pub fn skip(bytes: &mut &[u8]) -> Result<(), CodecError> {
        const SHORT: CodecError = CodecError::Truncated("summary");
        let head = *bytes.split_off_first().ok_or(SHORT)?;
        if head & NUMERIC == 0 {
            return Ok(());
        }
        let form = *bytes.split_off_first().ok_or(SHORT)?;
        let len = match form {
            FLOATS => FIGURES * 8,
            _ => varint::len_of(bytes, FIGURES).ok_or(SHORT)?,
        };
        bytes.split_off(..len).map(|_| ()).ok_or(SHORT)
    }

    /// The smallest value; NaN if there is none.
    #[inline]
    pub fn min(&self) -> f64 {
        self.figure(|exact| exact.min, |floats| floats.min)
    }

    /// The largest value; NaN if there is none.
    #[inline]
    pub fn max(&self) -> f64 {
        self.figure(|exact| exact.max, |floats| floats.max)
    }

    /// The sum of all values.
    #[inline]
    pub fn sum(&self) -> f64 {
        self.figure(|exact| exact.sum, |floats| floats.sum)
    }

    /// The value of the first sample.
    #[inline]
    pub fn first(&self) -> f64 {
        self.figure(|exact| exact.first, |floats| floats.first)
    }

    /// The value of the last sample.
    #[inline]
    pub fn last(&self) -> f64 {
        self.figure(|exact| exact.last, |floats| floats.last)
    }

    /// The sum of all steps, where a fall is a restart from zero and adds the new value.
    #[inline]
    pub fn increase(&self) -> f64 {
        self.figure(|exact| exact.increase, |floats| floats.increase)
    }

    #[inline]
    fn figure(&self, exact: impl Fn(&Exact) -> i64, floats: impl Fn(&Floats) -> f64) -> f64 {
        match &self.figures {
            Figures::Exact(all) => to_float(exact(all), all.scale).unwrap_or(f64::NAN),
            Figures::Floats(all) => floats(all),
        }
    }

    /// What the values come to without error, if all are decimals, whole numbers or booleans.
    pub fn decimal_sum(&self) -> Option<DecimalSum> {
        let Figures::Exact(Exact { scale, min, max, sum, .. }) = self.figures else { return None };
        let most = min.unsigned_abs().max(max.unsigned_abs());
        Some(DecimalSum { sum, scale, most })
    }

    /// The summary of values that were encoded as `numbers`, most of them of kind `main`.
    pub(crate) fn of(
        values: &BlockValues<'_>,
        main: u8,
        numbers: &Numbers,
        narrow: &Narrow,
        floats: &mut Vec<f64>,
    ) -> Self {
        let mut kinds = 1 << main;
        if let crate::Each::Every(each) = values.kinds {
            kinds = each.iter().fold(0, |kinds, kind| kinds | 1u8.wrapping_shl(u32::from(*kind)));
        }
        let base = Self { kinds, ..Self::default() };
        if kinds & (1 << kind::STRING | 1 << kind::HISTOGRAM) != 0 {
            return Self { numeric: false, ..base };
        }
        let decimal = numbers.domain != FLOAT_BITS && numbers.exceptions.is_empty();
        if decimal && let Some(exact) = Exact::of(numbers, narrow) {
            return Self { figures: Figures::Exact(exact), ..base };
        }
        floats.clear();
        floats.extend((0..values.bits.len()).filter_map(|place| float_at(values, place)));
        Self::of_floats(base, floats)
    }

    /// Takes NaN out of `floats`.
    fn of_floats(base: Self, floats: &mut Vec<f64>) -> Self {
        let (first, last) = (floats.first().copied(), floats.last().copied());
        let has_nan = floats.iter().fold(false, |any, value| any | value.is_nan());
        if has_nan {
            floats.retain(|value| !value.is_nan());
        }
        let numeric = floats.iter().fold(true, |all, value| all & value.is_finite());
        let (mut min, mut max) = (f64::INFINITY, f64::NEG_INFINITY);
        for &value in &*floats {
            min = if value < min { value } else { min };
            max = if value > max { value } else { max };
        }
        if floats.is_empty() {
            (min, max) = (f64::NAN, f64::NAN);
        }
        let (mut sum, mut increase) = (Compensated::default(), Compensated::default());
        floats.iter().for_each(|value| sum.add(*value));
        for (before, after) in floats.iter().zip(floats.get(1..).unwrap_or_default()) {
            increase.add(if after >= before { after - before } else { *after });
        }
        let figures = Floats {
            min,
            max,
            sum: sum.total(),
            first: first.unwrap_or(f64::NAN),
            last: last.unwrap_or(f64::NAN),
            increase: increase.total(),
        };
        Self { numeric, has_nan, figures: Figures::Floats(figures), ..base }
    }
}

impl Floats {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(FLOATS);
        for figure in [self.min, self.max, self.sum, self.first, self.last, self.increase] {
            out.extend_from_slice(&figure.to_bits().to_le_bytes());
        }
    }

    fn decode(bytes: &mut &[u8]) -> Option<Self> {
        let mut figure = || {
            let (bits, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(f64::from_le_bytes(*bits))
        };
        Some(Self {
            min: figure()?,
            max: figure()?,
            sum: figure()?,
            first: figure()?,
            last: figure()?,
            increase: figure()?,
        })
    }
}

impl Exact {
    /// The figures of values without exceptions, if 64 bits hold them.
    fn of(numbers: &Numbers, narrow: &Narrow) -> Option<Self> {
        let values = numbers.values.as_slice();
        let (first, last) = (*values.first()?, *values.last()?);
        let Walk { min, max, sum, falls_from, .. } = match narrow.get() {
            Some((first, offsets)) => Walk::of(offsets).moved(first, values.len() as i64),
            None => Walk::of(values),
        };
        // What is above the signed range looks negative here.
        if numbers.domain == kind::UNSIGNED && min < 0 {
            return None;
        }
        // With this bound neither the sums of a block nor differences can have left 64 bits.
        if min.unsigned_abs().max(max.unsigned_abs()) > 1 << 52 {
            return None;
        }
        to_float(0, numbers.scale)?;
        // All steps together lead from first to last; each fall left its height out.
        let increase = last - first + falls_from;
        Some(Self { scale: numbers.scale, min, max, sum, first, last, increase })
    }

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.scale);
        let Self { min, max, sum, first, last, increase, .. } = *self;
        let tail = [max.wrapping_sub(min), first.wrapping_sub(min), last.wrapping_sub(min)];
        [min, sum, increase].into_iter().chain(tail).for_each(|figure| put_i64(out, figure));
    }

    fn decode(scale: u8, bytes: &mut &[u8]) -> Result<Self, CodecError> {
        to_float(0, scale).ok_or(CodecError::Invalid("scale"))?;
        let min = get_i64(bytes)?;
        let sum = get_i64(bytes)?;
        let increase = get_i64(bytes)?;
        let mut above = || Ok(min.wrapping_add(get_i64(bytes)?));
        Ok(Self { scale, min, sum, increase, max: above()?, first: above()?, last: above()? })
    }
}

/// Values summed in a lane before the lane could run over.
const PART: usize = 16;

/// What one walk over the values finds.
struct Walk {
    min: i64,
    max: i64,
    sum: i64,
    /// The sum of the values before each fall.
    falls_from: i64,
    falls: i64,
}

impl Walk {
    fn of<T: Lane>(values: &[T]) -> Self {
        let first = values.first().copied().unwrap_or_default().into();
        let mut walk = Self { min: first, max: first, sum: 0, falls_from: 0, falls: 0 };
        let (parts, rest) = values.as_chunks::<PART>();
        parts.iter().for_each(|part| walk.add(part));
        walk.add(rest);
        let (before, after) = (values, values.get(1..).unwrap_or_default());
        let (befores, rest) = before.as_chunks::<PART>();
        let (afters, after_rest) = after.as_chunks::<PART>();
        befores.iter().zip(afters).for_each(|(before, after)| walk.add_falls(before, after));
        // The last value has no successor, so there may be one more part of those before.
        let rest = before.get(afters.len() * PART..).unwrap_or(rest);
        walk.add_falls(rest, after_rest);
        walk
    }

    #[inline(always)]
    fn add<T: Lane>(&mut self, part: &[T]) {
        let Some(&first) = part.first() else { return };
        let (mut min, mut max, mut sum) = (first, first, T::default());
        for &value in part {
            min = min.min(value);
            max = max.max(value);
            sum = sum.plus(value);
        }
        self.min = self.min.min(min.into());
        self.max = self.max.max(max.into());
        self.sum = self.sum.wrapping_add(sum.into());
    }

    #[inline(always)]
    fn add_falls<T: Lane>(&mut self, before: &[T], after: &[T]) {
        let (mut from, mut falls) = (T::default(), 0);
        for (before, after) in before.iter().zip(after) {
            let fell = after < before;
            from = from.plus(if fell { *before } else { T::default() });
            falls += i32::from(fell);
        }
        self.falls_from = self.falls_from.wrapping_add(from.into());
        self.falls += i64::from(falls);
    }

    /// The figures of as many values that lie `offset` above these.
    fn moved(self, offset: i64, count: i64) -> Self {
        Self {
            min: self.min.wrapping_add(offset),
            max: self.max.wrapping_add(offset),
            sum: self.sum.wrapping_add(offset.wrapping_mul(count)),
            falls_from: self.falls_from.wrapping_add(offset.wrapping_mul(self.falls)),
            falls: self.falls,
        }
    }
}

/// A sum that carries its rounding error along (D. E. Knuth's TwoSum, which needs no comparison).
#[derive(Default)]
struct Compensated {
    sum: f64,
    error: f64,
}

impl Compensated {
    fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        let part = sum - self.sum;
        self.error += (self.sum - (sum - part)) + (value - part);
        self.sum = sum;
    }

    fn total(&self) -> f64 {
        // Beyond the range of floats the error is no number.
        if self.sum.is_finite() { self.sum + self.error } else { self.sum }
    }
}

/// The number at `place` as a float.
fn float_at(values: &BlockValues<'_>, place: usize) -> Option<f64> {
    let bits = *values.bits.get(place)?;
    Some(match values.kinds.get(place)? {
        kind::FLOAT => numbers::cell_float(bits, values.scales.get(place)?),
        kind::INTEGER => bits as i64 as f64,
        kind::UNSIGNED => bits as f64,
        _ => f64::from(u8::from(bits != 0)),
    })
}
