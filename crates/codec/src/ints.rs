//! Runs of 64-bit integers: what times, numbers, booleans and dictionary indexes all become.
//!
//! 1. Look for no information at all: one value, or one step.
//! 2. Fit a frame ([`crate::fit`]) to the values, their differences, the differences of those and,
//!    when the run climbs or falls, the distances from a straight line. The cheapest wins.
//! 3. Where values repeat, try runs; where they are few and far apart, try a dictionary.
//!
//! Arithmetic wraps throughout, so any 64-bit pattern comes back. The grammar of every layout
//! stands in `docs/format/block.md`.

use std::ops::Range;

use crate::CodecError;
use crate::fit::{self, Fit};
use crate::lane::{Lane, Narrow};
use crate::varint::{get_i64, get_u64, len_u64, put_i64, put_u64, zigzag};

/// How a run of integers is laid out; the numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Layout {
    /// One value, repeated.
    Constant = 0,
    /// First value and step.
    Linear = 1,
    /// Distances from a base.
    Frame = 2,
    /// First value, then differences as distances from a base.
    Delta = 3,
    /// First value and difference, then differences of differences as distances from a base.
    DeltaDelta = 4,
    /// Distances from a straight line.
    Trend = 5,
    /// Lengths of runs of equal values, then one value per run in a layout of its own.
    Runs = 6,
    /// Distinct values, then one index per value.
    Dictionary = 7,
}

impl Layout {
    /// The layout numbered `code`; only the lowest three bits count.
    pub(crate) const fn from_code(code: u8) -> Self {
        match code & 7 {
            0 => Self::Constant,
            1 => Self::Linear,
            2 => Self::Frame,
            3 => Self::Delta,
            4 => Self::DeltaDelta,
            5 => Self::Trend,
            6 => Self::Runs,
            _ => Self::Dictionary,
        }
    }
}

/// Distinct values that a dictionary may hold: its indexes then need at most four bits.
const DICTIONARY_MAX: usize = 16;

/// Binary digits of a slope after the point: enough that over a block's length the missing ones
/// make less than one.
const SLOPE_BITS: u32 = 10;

/// From this many values on, a part of them tells which layout is cheapest.
const SAMPLED_MIN: usize = 512;

/// Stretches looked at, and the values of each.
const STRETCHES: usize = 8;
const STRETCH_LEN: usize = 16;

/// Memory lent to an encoder.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntsScratch {
    narrow: Narrow,
    narrow_lane: LaneScratch<i32>,
    wide_lane: LaneScratch<i64>,
    run_lengths: Vec<i64>,
    run_values: Vec<i64>,
    run_narrow: Narrow,
    /// Whether an entropy coder follows.
    is_packed_later: bool,
}

impl IntsScratch {
    /// For bytes that an entropy coder takes.
    pub(crate) fn for_packing() -> Self {
        Self { is_packed_later: true, ..Self::default() }
    }
}

#[derive(Clone, Debug, Default)]
struct LaneScratch<T> {
    terms: Vec<T>,
    lows: Vec<T>,
    folded: Vec<i32>,
}

/// Appends `values` in the layout that is returned; the caller stores its number.
pub(crate) fn encode(values: &[i64], scratch: &mut IntsScratch, out: &mut Vec<u8>) -> Layout {
    let mut narrow = std::mem::take(&mut scratch.narrow);
    narrow.fill(values);
    let layout = encode_narrow(values, &narrow, scratch, out);
    scratch.narrow = narrow;
    layout
}

/// The same, where the narrow form of the values is at hand.
pub(crate) fn encode_narrow(
    values: &[i64],
    narrow: &Narrow,
    scratch: &mut IntsScratch,
    out: &mut Vec<u8>,
) -> Layout {
    let start = out.len();
    let (layout, plain_bits) = encode_plain(values, narrow, scratch, out);
    let plain_len = plain_bits / 8;
    // A run costs a length and a value: about two bytes at the very least.
    if plain_len < 8 {
        return layout;
    }
    let runs = match narrow.get() {
        Some((_, offsets)) => count_runs(offsets),
        None => count_runs(values),
    };
    if runs > values.len() / 3 || 2 * runs > plain_len {
        return layout;
    }
    let plain_end = out.len();
    encode_runs(values, scratch, out);
    if out.len() - plain_end < plain_len {
        out.drain(start..plain_end);
        return Layout::Runs;
    }
    out.truncate(plain_end);
    layout
}

/// Takes as many values as `out` has room for, laid out as `layout`, off the front of `bytes`.
pub(crate) fn decode(layout: Layout, bytes: &mut &[u8], out: &mut [i64]) -> Result<(), CodecError> {
    match layout {
        Layout::Runs => decode_runs(bytes, out),
        _ => decode_plain(layout, bytes, out),
    }
}

fn encode_plain(
    values: &[i64],
    narrow: &Narrow,
    scratch: &mut IntsScratch,
    out: &mut Vec<u8>,
) -> (Layout, usize) {
    let start = out.len();
    let &[first, ref rest @ ..] = values else {
        put_i64(out, 0);
        return (Layout::Constant, 8 * (out.len() - start));
    };
    let step = rest.first().map_or(0, |second| second.wrapping_sub(first));
    if values.iter().zip(rest).all(|(before, after)| after.wrapping_sub(*before) == step) {
        put_i64(out, first);
        let layout = match step {
            0 => Layout::Constant,
            _ => {
                put_i64(out, step);
                Layout::Linear
            }
        };
        return (layout, 8 * (out.len() - start));
    }
    let IntsScratch { narrow_lane, wide_lane, is_packed_later, .. } = scratch;
    let (layout, bits) = match narrow.get() {
        Some((first, offsets)) => encode_lane(offsets, first, narrow_lane, *is_packed_later, out),
        None => encode_lane(values, 0, wide_lane, *is_packed_later, out),
    };
    if bits > 5 * values.len() && write_dictionary(values, start, wide_lane, out) {
        return (Layout::Dictionary, 8 * (out.len() - start));
    }
    (layout, bits)
}

/// Appends values, each of which lies `offset` above what the lane says, in the cheapest of the
/// layouts that need a frame. Also tells the size in bits, behind an entropy coder if one follows.
fn encode_lane<T: Lane>(
    values: &[T],
    offset: i64,
    scratch: &mut LaneScratch<T>,
    is_packed_later: bool,
    out: &mut Vec<u8>,
) -> (Layout, usize) {
    let (layout, slope) = cheapest(values, offset, scratch);
    let LaneScratch { terms, lows, folded } = scratch;
    let start = out.len();
    terms.clear();
    append_terms(layout, values, 0..values.len(), slope, terms);
    let mut fit = Fit::of(terms, folded);
    if is_packed_later {
        // Frames begin at values themselves, the others at differences.
        let origin = if layout == Layout::Frame { offset } else { 0 };
        fit = fit.in_symbols(terms, origin);
    }
    let first = offset.wrapping_add(values.first().copied().unwrap_or_default().into());
    match layout {
        Layout::Frame => put_i64(out, offset.wrapping_add(fit.base.into())),
        Layout::Trend => {
            put_i64(out, offset.wrapping_add(fit.base.into()));
            put_i64(out, slope);
        }
        // Terms before the first difference are no information: what packs as zero stands for them.
        Layout::Delta => {
            put_i64(out, first);
            put_i64(out, fit.base.into());
            terms.iter_mut().take(1).for_each(|unused| *unused = fit.base);
        }
        _ => {
            put_i64(out, first);
            put_i64(out, step(values).into());
            put_i64(out, fit.base.into());
            terms.iter_mut().take(2).for_each(|unused| *unused = fit.base);
        }
    }
    let head_bits = 8 * (out.len() - start);
    fit.write(terms, lows, out);
    let bits = match is_packed_later {
        true => head_bits + fit.cost_bits,
        false => 8 * (out.len() - start),
    };
    (layout, bits)
}

/// The cheapest of the layouts that need a frame, judged by some or all of the values, and the
/// slope of a trend.
fn cheapest<T: Lane>(values: &[T], offset: i64, scratch: &mut LaneScratch<T>) -> (Layout, i64) {
    let LaneScratch { terms, folded, .. } = scratch;
    let count = values.len();
    let mut fit = |layout, slope| {
        terms.clear();
        match count < SAMPLED_MIN {
            true => append_terms(layout, values, 0..count, slope, terms),
            // The first two terms of differences are special, hence the start at two.
            false => (0..STRETCHES).for_each(|stretch| {
                let start = 2 + stretch * (count - STRETCH_LEN - 2) / (STRETCHES - 1);
                append_terms(layout, values, start..start + STRETCH_LEN, slope, terms);
            }),
        }
        let fit = Fit::of(terms, folded);
        let cost = fit.cost_bits * count / terms.len().max(1);
        (fit, cost)
    };
    let len = |value: i64| 8 * len_u64(zigzag(value));
    let first = values.first().copied().unwrap_or_default();
    let last = values.last().copied().unwrap_or_default();
    let first_len = len(offset.wrapping_add(first.into()));
    let (frame, frame_cost) = fit(Layout::Frame, 0);
    let mut best = (frame_cost + first_len, (Layout::Frame, 0));
    let (delta, delta_cost) = fit(Layout::Delta, 0);
    let delta_cost = delta_cost + first_len + len(delta.base.into());
    best = best.min((delta_cost, (Layout::Delta, 0)));
    let (twice, twice_cost) = fit(Layout::DeltaDelta, 0);
    let step_len = len(step(values).into());
    let twice_cost = twice_cost + first_len + step_len + len(twice.base.into());
    best = best.min((twice_cost, (Layout::DeltaDelta, 0)));
    // A run that does not get anywhere near as far as it strays follows no line.
    if last.minus(first).into().unsigned_abs() >> frame.width.saturating_sub(1) > 0 {
        let slope = slope(values);
        let cost = fit(Layout::Trend, slope).1 + first_len + len(slope);
        best = best.min((cost, (Layout::Trend, slope)));
    }
    best.1
}

/// Appends what a layout packs for the values of a range, before any base is taken off.
fn append_terms<T: Lane>(
    layout: Layout,
    values: &[T],
    range: Range<usize>,
    slope: i64,
    out: &mut Vec<T>,
) {
    let Range { start, end } = range;
    let part = |from: usize, to: usize| values.get(from..to).unwrap_or_default();
    match layout {
        Layout::Delta => {
            if start == 0 {
                out.push(step(values));
            }
            let start = start.max(1);
            let pairs = part(start, end).iter().zip(part(start - 1, end));
            out.extend(pairs.map(|(value, before)| value.minus(*before)));
        }
        Layout::DeltaDelta => {
            out.extend((start..end.min(2)).map(|_| T::default()));
            let start = start.max(2);
            let pairs = part(start, end).iter().zip(part(start - 1, end)).zip(part(start - 2, end));
            out.extend(
                pairs.map(|((value, before), old)| value.minus(*before).minus(before.minus(*old))),
            );
        }
        Layout::Trend => {
            let along = part(start, end).iter().zip(start as i64..);
            out.extend(along.map(|(value, index)| value.minus(T::cut(climb(slope, index)))));
        }
        _ => out.extend_from_slice(part(start, end)),
    }
}

/// The difference of the first two values.
fn step<T: Lane>(values: &[T]) -> T {
    match values {
        [first, second, ..] => second.minus(*first),
        _ => T::default(),
    }
}

/// The climb per value, in fractions, from the mean of the first quarter to that of the last.
fn slope<T: Lane>(values: &[T]) -> i64 {
    let quarter = values.len().div_ceil(4);
    let apart = values.len() - quarter;
    let climbs = values.iter().zip(values.get(apart..).unwrap_or_default());
    let climb: i128 = climbs.map(|(a, b)| i128::from(b.minus(*a).into())).sum();
    let steps = (quarter * apart).max(1) as i128;
    ((climb << SLOPE_BITS) / steps) as i64
}

/// How far a straight line has climbed at `index`.
fn climb(slope: i64, index: i64) -> i64 {
    slope.wrapping_mul(index) >> SLOPE_BITS
}

/// Replaces what stands behind `start` by a dictionary, if there are few values and it is smaller.
fn write_dictionary(
    values: &[i64],
    start: usize,
    scratch: &mut LaneScratch<i64>,
    out: &mut Vec<u8>,
) -> bool {
    let mut distinct: Vec<i64> = Vec::with_capacity(DICTIONARY_MAX);
    for value in values {
        if distinct.last() != Some(value) && !distinct.contains(value) {
            if distinct.len() == DICTIONARY_MAX {
                return false;
            }
            distinct.push(*value);
        }
    }
    distinct.sort_unstable();
    let end = out.len();
    out.push(distinct.len() as u8);
    let mut before = 0;
    for &value in &distinct {
        put_i64(out, value.wrapping_sub(before));
        before = value;
    }
    let place = |value: &i64| distinct.iter().position(|other| other == value).unwrap_or_default();
    let LaneScratch { terms, lows, .. } = scratch;
    terms.clear();
    terms.extend(values.iter().map(|value| place(value) as i64));
    Fit::from_zero(terms).write(terms, lows, out);
    let smaller = out.len() - end < end - start;
    match smaller {
        true => drop(out.drain(start..end)),
        false => out.truncate(end),
    }
    smaller
}

fn count_runs<T: Lane>(values: &[T]) -> usize {
    let later = values.get(1..).unwrap_or_default();
    1 + values.iter().zip(later).map(|(a, b)| usize::from(a != b)).sum::<usize>()
}

fn encode_runs(values: &[i64], scratch: &mut IntsScratch, out: &mut Vec<u8>) {
    let mut lengths = std::mem::take(&mut scratch.run_lengths);
    let mut firsts = std::mem::take(&mut scratch.run_values);
    lengths.clear();
    firsts.clear();
    for run in values.chunk_by(|a, b| a == b) {
        lengths.push(run.len() as i64);
        firsts.extend(run.first());
    }
    put_u64(out, firsts.len() as u64);
    let LaneScratch { lows, folded, .. } = &mut scratch.wide_lane;
    let fit = Fit::of(&lengths, folded);
    put_i64(out, fit.base);
    fit.write(&lengths, lows, out);
    let at = out.len();
    out.push(0);
    let mut narrow = std::mem::take(&mut scratch.run_narrow);
    narrow.fill(&firsts);
    let (layout, _) = encode_plain(&firsts, &narrow, scratch, out);
    scratch.run_narrow = narrow;
    if let Some(code) = out.get_mut(at) {
        *code = layout as u8;
    }
    scratch.run_lengths = lengths;
    scratch.run_values = firsts;
}

fn decode_plain(layout: Layout, bytes: &mut &[u8], out: &mut [i64]) -> Result<(), CodecError> {
    let first = match layout {
        Layout::Dictionary => return decode_dictionary(bytes, out),
        Layout::Runs => return Err(CodecError::Invalid("layout within runs")),
        _ => get_i64(bytes)?,
    };
    match layout {
        Layout::Constant => out.fill(first),
        Layout::Linear => {
            out.fill(get_i64(bytes)?);
            out.first_mut().into_iter().for_each(|value| *value = first);
            sum(out, 0, 0);
        }
        Layout::Frame => {
            fit::read(bytes, out)?;
            out.iter_mut().for_each(|value| *value = value.wrapping_add(first));
        }
        Layout::Delta => {
            let base = get_i64(bytes)?;
            fit::read(bytes, out)?;
            sum(out, first.wrapping_sub(base), base);
        }
        Layout::DeltaDelta => {
            let step = get_i64(bytes)?;
            let base = get_i64(bytes)?;
            fit::read(bytes, out)?;
            let mut delta = step.wrapping_sub(base.wrapping_mul(2));
            let mut value = first.wrapping_sub(step).wrapping_add(base);
            for out in out {
                delta = delta.wrapping_add(base).wrapping_add(*out);
                value = value.wrapping_add(delta);
                *out = value;
            }
        }
        _ => {
            let slope = get_i64(bytes)?;
            fit::read(bytes, out)?;
            for (index, value) in (0..).zip(out) {
                *value = value.wrapping_add(first).wrapping_add(climb(slope, index));
            }
        }
    }
    Ok(())
}

/// Running sums of the values, each with `base` added, that start after `value`.
///
/// Eight at a time: each sum waits for the one before it only once in eight.
fn sum(out: &mut [i64], mut value: i64, base: i64) {
    let (eights, rest) = out.as_chunks_mut::<8>();
    for eight in eights {
        // A map over the array stays a call, which costs more than all else here.
        for term in eight.iter_mut() {
            *term = term.wrapping_add(base);
        }
        let [a, b, c, d, e, f, g, h] = *eight;
        let (ab, cd, ef, gh) =
            (a.wrapping_add(b), c.wrapping_add(d), e.wrapping_add(f), g.wrapping_add(h));
        let (abcd, efgh) = (ab.wrapping_add(cd), ef.wrapping_add(gh));
        let half = value.wrapping_add(abcd);
        *eight = [
            value.wrapping_add(a),
            value.wrapping_add(ab),
            value.wrapping_add(ab.wrapping_add(c)),
            half,
            half.wrapping_add(e),
            half.wrapping_add(ef),
            half.wrapping_add(ef.wrapping_add(g)),
            half.wrapping_add(efgh),
        ];
        value = value.wrapping_add(abcd.wrapping_add(efgh));
    }
    for out in rest {
        value = value.wrapping_add(out.wrapping_add(base));
        *out = value;
    }
}

fn decode_dictionary(bytes: &mut &[u8], out: &mut [i64]) -> Result<(), CodecError> {
    let count = *bytes.split_off_first().ok_or(CodecError::Truncated("dictionary"))?;
    let mut dictionary = [0; DICTIONARY_MAX];
    let entries = dictionary
        .get_mut(..usize::from(count))
        .ok_or(CodecError::Invalid("number of dictionary entries"))?;
    let mut value = 0i64;
    for entry in entries.iter_mut() {
        value = value.wrapping_add(get_i64(bytes)?);
        *entry = value;
    }
    fit::read(bytes, out)?;
    for value in out {
        let index = usize::try_from(*value).unwrap_or(usize::MAX);
        *value = *entries.get(index).ok_or(CodecError::Invalid("dictionary index"))?;
    }
    Ok(())
}

fn decode_runs(bytes: &mut &[u8], out: &mut [i64]) -> Result<(), CodecError> {
    const BAD_LENGTH: CodecError = CodecError::Invalid("length of a run");
    let runs = usize::try_from(get_u64(bytes)?).unwrap_or(usize::MAX);
    if runs > out.len() || (runs == 0) != out.is_empty() {
        return Err(CodecError::Invalid("number of runs"));
    }
    let mut lengths = vec![0; runs];
    let base = get_i64(bytes)?;
    fit::read(bytes, &mut lengths)?;
    let code = *bytes.split_off_first().ok_or(CodecError::Truncated("layout of runs"))?;
    // The values wait at the end of `out`. As no run is empty, writing from the front never passes
    // a value that is still to be read.
    let ahead = out.len() - runs;
    decode_plain(Layout::from_code(code), bytes, out.get_mut(ahead..).unwrap_or_default())?;
    let mut start = 0usize;
    for (index, length) in lengths.into_iter().enumerate() {
        let length = usize::try_from(length.wrapping_add(base)).map_err(|_| BAD_LENGTH)?;
        let end = start.checked_add(length).ok_or(BAD_LENGTH)?;
        if length == 0 || end > ahead + index + 1 {
            return Err(BAD_LENGTH);
        }
        let value = out.get(ahead + index).copied().unwrap_or_default();
        out.get_mut(start..end).ok_or(BAD_LENGTH)?.fill(value);
        start = end;
    }
    match start == out.len() {
        true => Ok(()),
        false => Err(BAD_LENGTH),
    }
}
