//! Numbers of a block brought into one domain of integers.
//!
//! 1. Floats that came as decimals, and whole numbers among them, are brought to one scale. A scale
//!    that only few values need is not worth its digits: those few become exceptions.
//! 2. Floats that came as IEEE bits are tried as decimals: a few of them tell the scale, then each
//!    is divided back and compared bit by bit (the idea of ALP, A. Afroozeh, L. Kuffo, P. Boncz,
//!    "ALP: Adaptive Lossless floating-Point Compression", SIGMOD 2023).
//! 3. Where too many fail, the domain is that of their bits, folded so that the order of the
//!    integers is that of the numbers: neighbours in value are then neighbours in bits.
//!
//! A mantissa of at most 2^53 divided by an exact power of ten is the correctly rounded decimal, so
//! two spellings of one decimal at different scales are the same bits.

use crate::CodecError;
use crate::values::{BlockValues, Each, FLOAT_BITS, kind};

/// The largest power of ten that binary64 holds exactly.
pub(crate) const SCALE_MAX: u8 = 22;

const MANTISSA_MAX: i64 = 1 << 53;

/// Up to here the sum with [`ROUNDER`] rounds to an integer.
const ROUNDED_MAX: f64 = (1u64 << 51) as f64;

/// 1.5 * 2^52: floats of this size have no digits after the point.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Values looked at to guess the scale of IEEE floats.
const PROBES: usize = 24;

/// The scale of a float that is no decimal.
pub(crate) const NO_SCALE: u8 = 255;

const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A block's numbers in one domain, and the memory to get there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    /// What the values mean: a kind, or [`FLOAT_BITS`].
    pub(crate) domain: u8,
    /// Digits after the point, if the domain is that of decimal floats.
    pub(crate) scale: u8,
    /// One integer per value; an exception repeats its neighbour.
    pub(crate) values: Vec<i64>,
    /// One number per value, 1 for integers among decimal floats; empty if there are none.
    pub(crate) others: Vec<i64>,
    /// Places of the values that do not fit the domain, ascending.
    pub(crate) exceptions: Vec<u16>,
    scales: Vec<u8>,
}

impl Numbers {
    /// Brings numbers, most of them of kind `main`, into one domain.
    pub(crate) fn gather(&mut self, values: &BlockValues<'_>, main: u8) {
        self.values.clear();
        self.others.clear();
        self.exceptions.clear();
        self.domain = main;
        self.scale = 0;
        match (values.kinds, values.scales) {
            (Each::One(kind::FLOAT), Each::One(scale)) if self.gather_decimals(values, scale) => {}
            (Each::One(kind::FLOAT), Each::One(scale)) if scale > SCALE_MAX => {
                self.gather_floats(values);
            }
            (Each::One(kind::BOOLEAN), _) => {
                self.values.extend(values.bits.iter().map(|bits| i64::from(*bits != 0)));
            }
            (Each::One(kind::INTEGER | kind::UNSIGNED), _) => {
                self.values.extend(values.bits.iter().map(|bits| *bits as i64));
            }
            _ if matches!(main, kind::FLOAT | kind::INTEGER) => self.gather_mixed(values, main),
            _ => self.keep(values, |_, kind, _, bits| match kind {
                _ if kind != main => None,
                kind::BOOLEAN => Some(i64::from(bits != 0)),
                _ => Some(bits as i64),
            }),
        }
    }

    /// The common case: decimals that share a scale. Says whether it is the case.
    fn gather_decimals(&mut self, values: &BlockValues<'_>, scale: u8) -> bool {
        // A mantissa in range, moved up to be positive, has no bit above the limit's.
        let moved = |bits: &u64| bits.wrapping_add(MANTISSA_MAX as u64);
        let all = values.bits.iter().fold(0, |all, bits| all | moved(bits));
        if scale > SCALE_MAX || all >= 2 * MANTISSA_MAX as u64 {
            return false;
        }
        self.values.extend(values.bits.iter().map(|bits| *bits as i64));
        self.strip(scale);
        true
    }

    /// IEEE floats only.
    fn gather_floats(&mut self, values: &BlockValues<'_>) {
        let floats = || values.bits.iter().map(|bits| f64::from_bits(*bits));
        if let Some(scale) = probe_scale(floats(), values.bits.len()) {
            self.keep(values, |_, _, _, bits| to_decimal(f64::from_bits(bits), scale));
            if self.exceptions.len() * 8 <= values.bits.len() {
                return self.strip(scale);
            }
        }
        self.gather_bits(values);
    }

    /// Floats of several scales, or floats among whole numbers.
    fn gather_mixed(&mut self, values: &BlockValues<'_>, main: u8) {
        self.read_scales(values);
        let scale = cheapest_scale(&self.scales);
        let mut integers = 0;
        let scales = std::mem::take(&mut self.scales);
        self.keep(values, |place, kind, own, bits| {
            let decimal = match (kind, own) {
                (kind::FLOAT, 0..=SCALE_MAX) => rescale(bits as i64, own, scale, MANTISSA_MAX)?,
                (kind::FLOAT, _) if scales.get(place) == Some(&NO_SCALE) => return None,
                (kind::FLOAT, _) => to_decimal(f64::from_bits(bits), scale)?,
                (kind::INTEGER, _) => rescale(bits as i64, 0, scale, i64::MAX)?,
                _ => return None,
            };
            integers += usize::from(kind == kind::INTEGER);
            Some(decimal)
        });
        self.scales = scales;
        let kept = values.bits.len() - self.exceptions.len();
        if main == kind::FLOAT && kept * 8 < values.bits.len() * 7 {
            return self.gather_bits(values);
        }
        self.domain = if integers == kept { kind::INTEGER } else { kind::FLOAT };
        if integers < kept {
            self.strip(scale);
            self.mark_integers(values, integers);
        } else if scale > 0 {
            // Only whole numbers fitted after all, so no digits are needed.
            self.keep(values, |_, kind, _, bits| (kind == kind::INTEGER).then_some(bits as i64));
        }
    }

    /// The folded bits of all floats.
    fn gather_bits(&mut self, values: &BlockValues<'_>) {
        self.domain = FLOAT_BITS;
        self.scale = 0;
        self.keep(values, |_, kind, scale, bits| match kind {
            kind::FLOAT => Some(to_ordered(cell_float(bits, scale))),
            _ => None,
        });
    }

    /// Replaces the values by what `fit` makes of place, kind, scale and bits of each; what it
    /// refuses becomes an exception.
    fn keep(
        &mut self,
        values: &BlockValues<'_>,
        mut fit: impl FnMut(usize, u8, u8, u64) -> Option<i64>,
    ) {
        self.values.clear();
        self.exceptions.clear();
        let mut last = 0;
        for (place, &bits) in values.bits.iter().enumerate() {
            let kind = values.kinds.get(place).unwrap_or_default();
            let scale = values.scales.get(place).unwrap_or(NO_SCALE);
            match fit(place, kind, scale, bits) {
                Some(value) => last = value,
                None => self.exceptions.push(place as u16),
            }
            self.values.push(last);
        }
        // Exceptions before the first value repeat that one.
        let leading = self.exceptions.iter().zip(0u16..).take_while(|(a, b)| **a == *b).count();
        if let Some(&first) = self.values.get(leading) {
            self.values.iter_mut().take(leading).for_each(|value| *value = first);
        }
    }

    /// The smallest scale at which each value is a decimal, as far as it is known.
    fn read_scales(&mut self, values: &BlockValues<'_>) {
        let each = || {
            (0..values.bits.len())
                .map(|place| values.kinds.get(place).zip(values.scales.get(place)))
        };
        let raw = |cell: &Option<(u8, u8)>| {
            cell.is_some_and(|(kind, scale)| kind == kind::FLOAT && scale > SCALE_MAX)
        };
        let raws = each().filter(raw).count();
        let floats = values.bits.iter().zip(each()).filter(|(_, cell)| raw(cell));
        let raw_scale = probe_scale(floats.map(|(bits, _)| f64::from_bits(*bits)), raws);
        self.scales.clear();
        self.scales.extend(each().map(|cell| match cell {
            Some((kind::FLOAT, scale)) if scale <= SCALE_MAX => scale,
            Some((kind::FLOAT, _)) => raw_scale.unwrap_or(NO_SCALE),
            Some((kind::INTEGER, _)) => 0,
            _ => NO_SCALE,
        }));
    }

    fn mark_integers(&mut self, values: &BlockValues<'_>, integers: usize) {
        if integers == 0 {
            return;
        }
        // An exception carries its own kind, whatever stands here.
        let count = values.bits.len();
        let is_integer = |place| i64::from(values.kinds.get(place) == Some(kind::INTEGER));
        self.others.extend((0..count).map(is_integer));
    }

    /// Drops digits after the point that are zero in every value.
    fn strip(&mut self, mut scale: u8) {
        while scale > 0 && self.values.iter().all(|value| value % 10 == 0) {
            self.values.iter_mut().for_each(|value| *value /= 10);
            scale -= 1;
        }
        self.scale = scale;
    }
}

/// Appends the floats that decimals of a scale stand for; nothing for a scale that none has.
pub fn to_floats(decimals: &[i64], scale: u8, out: &mut Vec<f64>) {
    let Some(power) = POWERS.get(usize::from(scale)) else { return };
    // Small ones become floats in the places of digits, several at a time.
    const SMALL: i64 = ROUNDED_MAX as i64;
    let moved = |decimal: &i64| decimal.wrapping_add(SMALL) as u64;
    let are_small = decimals.iter().fold(0, |all, one| all | moved(one)) < 2 * SMALL as u64;
    let small =
        |decimal: &i64| f64::from_bits(ROUNDER.to_bits().wrapping_add(*decimal as u64)) - ROUNDER;
    let decimals = decimals.iter();
    match (are_small, scale) {
        (true, 0) => out.extend(decimals.map(small)),
        (true, _) => out.extend(decimals.map(|decimal| small(decimal) / power)),
        (false, _) => out.extend(decimals.map(|decimal| *decimal as f64 / power)),
    }
}

/// The float that a decimal stands for; nothing for a scale that none has.
pub(crate) fn to_float(decimal: i64, scale: u8) -> Option<f64> {
    POWERS.get(usize::from(scale)).map(|power| decimal as f64 / power)
}

/// The float of bits and scale as they go in.
pub(crate) fn cell_float(bits: u64, scale: u8) -> f64 {
    to_float(bits as i64, scale).unwrap_or(f64::from_bits(bits))
}

/// Ten to the power of `scale`, if 64 bits hold it.
fn power_of_ten(scale: u8) -> Option<i64> {
    10i64.checked_pow(u32::from(scale))
}

/// The whole number that was brought to `scale`: it divides without rest.
///
/// # Errors
/// When no whole number can have that scale.
pub(crate) fn whole(decimal: i64, scale: u8) -> Result<i64, CodecError> {
    let power = power_of_ten(scale).ok_or(CodecError::Invalid("scale"))?;
    Ok(decimal.wrapping_div(power))
}

/// Folds IEEE bits so that integers are ordered as the numbers are.
pub(crate) fn to_ordered(value: f64) -> i64 {
    let bits = value.to_bits() as i64;
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// The inverse of [`to_ordered`].
pub(crate) fn from_ordered(ordered: i64) -> f64 {
    f64::from_bits((ordered ^ ((ordered >> 63) as u64 >> 1) as i64) as u64)
}

/// The decimal of this scale that is `value` to the bit.
fn to_decimal(value: f64, scale: u8) -> Option<i64> {
    let power = POWERS.get(usize::from(scale))?;
    let scaled = value * power;
    let rounded = scaled + ROUNDER - ROUNDER;
    let same = (rounded / power).to_bits() == value.to_bits();
    // NaN fails the comparison of magnitudes.
    (same && rounded.abs() <= ROUNDED_MAX).then_some(rounded as i64)
}

/// The decimal brought from one scale to a larger one, if it stays within `limit`.
fn rescale(decimal: i64, from: u8, to: u8, limit: i64) -> Option<i64> {
    let factor = power_of_ten(to.checked_sub(from)?)?;
    let scaled = decimal.checked_mul(factor)?;
    (scaled.unsigned_abs() <= limit.unsigned_abs()).then_some(scaled)
}

/// The scale at which most floats are decimals, from a few of them; nothing if most are none.
fn probe_scale(floats: impl Iterator<Item = f64>, count: usize) -> Option<u8> {
    let mut found = [0usize; SCALE_MAX as usize + 1];
    let (mut seen, mut failed) = (0, 0);
    for value in floats.step_by((count / PROBES).max(1)).take(PROBES) {
        seen += 1;
        match (0..=SCALE_MAX).find(|scale| to_decimal(value, *scale).is_some()) {
            Some(scale) => found.get_mut(usize::from(scale)).into_iter().for_each(|n| *n += 1),
            // Staleness markers and infinities say nothing about the others.
            None => failed += usize::from(value.is_finite()),
        }
        if failed >= 6 && failed * 2 > seen {
            return None;
        }
    }
    if failed * 2 > seen {
        return None;
    }
    // The largest scale that more than a straggler needs.
    let needed = (seen - failed) / 12;
    let mut above = 0;
    (0..=SCALE_MAX).rev().find(|scale| {
        above += found.get(usize::from(*scale)).copied().unwrap_or_default();
        above > needed
    })
}

/// The scale that balances digits paid by all values against exceptions paid by few.
fn cheapest_scale(scales: &[u8]) -> u8 {
    /// A digit takes 3.3 bits, but half of them vanish in runs, steps and patches.
    const DIGIT_BITS: usize = 2;
    const EXCEPTION_BITS: usize = 48;
    let mut counts = [0usize; SCALE_MAX as usize + 1];
    for &scale in scales {
        counts.get_mut(usize::from(scale)).into_iter().for_each(|count| *count += 1);
    }
    let mut above = 0;
    let mut best = (usize::MAX, 0);
    for (&count, scale) in counts.iter().zip(0..=SCALE_MAX).rev() {
        let cost = usize::from(scale) * DIGIT_BITS * scales.len() + above * EXCEPTION_BITS;
        if count > 0 && cost < best.0 {
            best = (cost, scale);
        }
        above += count;
    }
    best.1
}
