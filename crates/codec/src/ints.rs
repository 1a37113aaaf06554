//! Runs of 64-bit integers: what times, numbers, booleans and dictionary indexes all become.
//!
//! 1. Look for no information at all: one value, or one step.
//! 2. Fit a frame ([`crate::fit`]) to the values, their differences, the differences of those and, when
//!    the run climbs or falls, the distances from a straight line. The cheapest wins.
//! 3. Where values repeat, try runs; where they are few and far apart, try a dictionary.
//!
//! Arithmetic wraps throughout, so any 64-bit pattern comes back. The grammar of every layout stands in
//! `docs/format/block.md`.

use crate::CodecError;
use crate::fit::{self, Fit};
use crate::varint::{get_i64, get_u64, len_u64, put_i64, put_u64, zigzag};

/// How a run of integers is laid out; the numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// Memory lent to an encoder.
#[derive(Clone, Debug, Default)]
pub(crate) struct IntsScratch {
    deltas: Vec<i64>,
    delta_deltas: Vec<i64>,
    trend: Vec<i64>,
    lows: Vec<i64>,
    run_lengths: Vec<i64>,
    run_values: Vec<i64>,
}

/// Appends `values` in the layout that is returned; the caller stores its number.
pub(crate) fn encode(values: &[i64], scratch: &mut IntsScratch, out: &mut Vec<u8>) -> Layout {
    let start = out.len();
    let layout = encode_plain(values, scratch, out);
    let plain_len = out.len() - start;
    // A run costs a length and a value: about two bytes at the very least.
    if plain_len < 8 {
        return layout;
    }
    let runs = 1 + values.windows(2).filter(|pair| pair.first() != pair.last()).count();
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

fn encode_plain(values: &[i64], scratch: &mut IntsScratch, out: &mut Vec<u8>) -> Layout {
    let &[first, ref rest @ ..] = values else {
        put_i64(out, 0);
        return Layout::Constant;
    };
    let step = rest.first().map_or(0, |second| second.wrapping_sub(first));
    let IntsScratch { deltas, delta_deltas, trend, lows, .. } = scratch;
    difference(values, step, deltas);
    if deltas.iter().all(|&delta| delta == step) {
        put_i64(out, first);
        if step == 0 {
            return Layout::Constant;
        }
        put_i64(out, step);
        return Layout::Linear;
    }
    let frame = Fit::of(values);
    let delta = Fit::of(deltas);
    difference(deltas, 0, delta_deltas);
    let delta_delta = Fit::of(delta_deltas);
    let first_bits = 8 * len_u64(zigzag(first));
    let step_bits = 8 * len_u64(zigzag(step));
    let delta_bits = delta.cost_bits + first_bits;
    let delta_delta_bits = delta_delta.cost_bits + first_bits + step_bits;
    let mut best = (Layout::Frame, frame.cost_bits);
    for other in [(Layout::Delta, delta_bits), (Layout::DeltaDelta, delta_delta_bits)] {
        if other.1 < best.1 {
            best = other;
        }
    }
    if best.0 != Layout::Frame && values.len() > 4 {
        let slope = slope(values);
        flatten(values, slope, trend);
        let fit = Fit::of(trend);
        if fit.cost_bits + 8 * len_u64(zigzag(slope)) < best.1 {
            put_i64(out, fit.base);
            put_i64(out, slope);
            fit.write(trend, lows, out);
            return Layout::Trend;
        }
    }
    if best.1 > 5 * values.len() && write_dictionary(values, best.1, lows, out) {
        return Layout::Dictionary;
    }
    match best.0 {
        Layout::Delta => {
            put_i64(out, first);
            put_i64(out, delta.base);
            // The first difference is no information: whatever packs as zero stands for it.
            deltas.first_mut().into_iter().for_each(|unused| *unused = delta.base);
            delta.write(deltas, lows, out);
        }
        Layout::DeltaDelta => {
            put_i64(out, first);
            put_i64(out, step);
            put_i64(out, delta_delta.base);
            delta_deltas.iter_mut().take(2).for_each(|unused| *unused = delta_delta.base);
            delta_delta.write(delta_deltas, lows, out);
        }
        _ => {
            put_i64(out, frame.base);
            frame.write(values, lows, out);
        }
    }
    best.0
}

/// Differences of neighbours, `first` in place of the one before the first.
fn difference(values: &[i64], first: i64, out: &mut Vec<i64>) {
    out.clear();
    out.push(first);
    let later = values.get(1..).unwrap_or_default();
    out.extend(values.iter().zip(later).map(|(before, after)| after.wrapping_sub(*before)));
}

/// The step of the straight line from the first to the last value.
fn slope(values: &[i64]) -> i64 {
    match values {
        [first, .., last] => last.wrapping_sub(*first) / (values.len() as i64 - 1),
        _ => 0,
    }
}

/// Distances from the straight line through zero.
fn flatten(values: &[i64], slope: i64, out: &mut Vec<i64>) {
    out.clear();
    let along =
        |(index, value): (usize, &i64)| value.wrapping_sub(slope.wrapping_mul(index as i64));
    out.extend(values.iter().enumerate().map(along));
}

fn write_dictionary(
    values: &[i64],
    limit_bits: usize,
    lows: &mut Vec<i64>,
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
    let start = out.len();
    out.push(distinct.len() as u8);
    let mut before = 0;
    for &value in &distinct {
        put_i64(out, value.wrapping_sub(before));
        before = value;
    }
    let place = |value: &i64| distinct.iter().position(|other| other == value).unwrap_or_default();
    let indexes: Vec<i64> = values.iter().map(|value| place(value) as i64).collect();
    Fit::from_zero(&indexes).write(&indexes, lows, out);
    let smaller = (out.len() - start) * 8 < limit_bits;
    if !smaller {
        out.truncate(start);
    }
    smaller
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
    let fit = Fit::of(&lengths);
    put_i64(out, fit.base);
    fit.write(&lengths, &mut scratch.lows, out);
    let at = out.len();
    out.push(0);
    let layout = encode_plain(&firsts, scratch, out);
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
            out.fill(0);
            add_trend(out, first, get_i64(bytes)?);
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
            add_trend(out, first, slope);
        }
    }
    Ok(())
}

/// Adds the straight line that starts at `first` and climbs by `slope`.
fn add_trend(out: &mut [i64], first: i64, slope: i64) {
    for (index, value) in out.iter_mut().enumerate() {
        *value = value.wrapping_add(first).wrapping_add(slope.wrapping_mul(index as i64));
    }
}

/// Running sums of the values, each with `base` added, that start after `value`.
fn sum(out: &mut [i64], mut value: i64, base: i64) {
    for out in out {
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
