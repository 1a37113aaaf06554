//! Samples of a range as VictoriaMetrics takes them (`app/vmselect/promql/rollup.go` of 1.79): a
//! range is as long as a step unless it is said, at least as long as samples lie apart where that
//! helps, and a fold also knows the sample before the range.

use super::alike::Alike;
use super::fold::{Window, deviation};
use super::gapped::Gapped;
use super::numbers::Numbers;
use super::over::{self, paired, scalar_of};
use super::places::{Places, span};
use super::row::GridRow;
use super::stored::{Points, Reading, looked_at};
use super::tally::{RANGE, Tally, range_of};
use super::{Looked, OnRow, Walk, evaluated, seconds};
use crate::Error;
use foliot_model::{Label, Labels};
use foliot_plan::grid::{
    Comparison, First, Loose, LooseFold, Over, RangeFold, SILENCE_NS, Samples, Shift, Steps,
    general,
};
use std::ops::Range;
use std::sync::Arc;

/// What a fold knows.
struct Known<'s> {
    window: Window<'s>,
    /// The sample before the range, unless it is too far away.
    before: Option<(i64, f64)>,
    /// The value before the range, however far away.
    ever: Option<f64>,
}

/// Calls `each_row` with what the ranges of each series come to.
pub(super) fn over(
    walk: &Walk<'_>,
    plan: &Over,
    loose: &Loose,
    steps: &Steps,
    each_row: OnRow<'_>,
) -> Result<(), Error> {
    let parameter = match &plan.fold {
        RangeFold::Quantile(of)
        | RangeFold::Loose(
            LooseFold::Predicted(of) | LooseFold::Counted(_, of) | LooseFold::Shared(_, of),
        ) => Some(evaluated(walk, of, steps)?),
        _ => None,
    };
    let parameters = scalar_of(&parameter);
    let mut places = Alike::new(walk);
    let mut each = |shift: &Shift, labels: Labels, points: &mut Points, stale: Option<u64>| {
        let mut held = walk.meter.open();
        held.add(points.numbers.len() * size_of::<(i64, f64)>())?;
        let numbers = &mut points.numbers;
        if let Some(fresh) = stale.and_then(|bits| numbers.without(bits)) {
            *numbers = fresh;
        }
        prepared(numbers, loose.first);
        let labels = labelled(labels, loose);
        let when = (shift, steps);
        let make = |times_ns: &[i64]| Places::of(loose, when, times_ns);
        let places = places.of(&numbers.times, Places::bytes(steps.count), make)?;
        if let Some(values) = by_ends(&plan.fold, numbers, places) {
            Looked::new(walk).at(places.samples)?;
            return walk.pass(GridRow::numbers(labels, values), each_row);
        }
        let numbers = paired(numbers, &mut held)?;
        let numbers = (&numbers[..], places);
        if let RangeFold::Loose(LooseFold::Ranges) = &plan.fold {
            let tally = Tally::new(walk, &RANGE.into(), steps);
            let tally = tallied(walk, (tally, &range_of), when, numbers)?;
            return tally.finish(&labels, walk, each_row);
        }
        if let RangeFold::Loose(LooseFold::Values(name)) = &plan.fold {
            let text = |value: f64| -> Option<Arc<str>> { Some(general(value, None).into()) };
            let tally = Tally::new(walk, name, steps);
            let tally = tallied(walk, (tally, &text), when, numbers)?;
            return tally.finish(&labels, walk, each_row);
        }
        let mut values = Gapped::with_capacity(steps.count);
        each_range(walk, when, numbers, |index, known| {
            let parameter = parameters.get(index).unwrap_or(f64::NAN);
            values.push(fold(&plan.fold, known, parameter)?);
            Ok(())
        })?;
        walk.pass(GridRow::numbers(labels, values), each_row)
    };
    match &plan.samples {
        Samples::Stored(stored, stale_bits) => {
            let stale = (!loose.keeps_marks).then_some(*stale_bits);
            let reading = Reading::new(walk, stored, loose.before_ns(), steps)?;
            reading.each(&mut |labels, points| each(&stored.shift, labels, points, stale))
        }
        Samples::Grid { input, step_ns, shift } => {
            let Some(inner) = inner_steps(shift, *step_ns, loose, steps) else { return Ok(()) };
            over::gridded(walk, input, &inner, &mut |labels, points| {
                each(shift, labels, points, None)
            })
        }
    }
}

/// The labels of a series, and the one that tells what the fold is.
fn labelled(labels: Labels, loose: &Loose) -> Labels {
    let Some((name, value)) = &loose.label else { return labels };
    let own = Label { name: name.clone(), value: value.clone() };
    let others = labels.iter().filter(|label| label.name != *name).cloned();
    Labels::new(others.chain([own]).collect())
}

/// The multiples of a step from before the ranges of some instants to behind the last of them.
fn inner_steps(shift: &Shift, step_ns: i64, loose: &Loose, steps: &Steps) -> Option<Steps> {
    let before_ns = loose.range_ns.unwrap_or_default().saturating_add(SILENCE_NS);
    let first = looked_at(shift, steps.start_ns).saturating_sub(before_ns.saturating_add(step_ns));
    let last = looked_at(shift, steps.end_ns()).saturating_add(step_ns);
    let start_ns = first.div_euclid(step_ns).saturating_mul(step_ns);
    Steps::within(start_ns, last.saturating_add(step_ns - 1), step_ns)
}

/// How many samples of each range a label tells to be alike.
fn tallied<'q>(
    walk: &Walk<'q>,
    (mut tally, told): (Tally<'q>, &dyn Fn(f64) -> Option<Arc<str>>),
    when: (&Shift, &Steps),
    numbers: (&[(i64, f64)], &Places),
) -> Result<Tally<'q>, Error> {
    each_range(walk, when, numbers, |index, known| {
        let mut values = known.window.samples.iter().filter_map(|(_, value)| told(*value));
        values.try_for_each(|value| tally.add(value, index))
    })?;
    Ok(tally)
}

/// The ranges of a series at all instants, by their numbers.
fn each_range(
    walk: &Walk<'_>,
    (shift, steps): (&Shift, &Steps),
    (numbers, places): (&[(i64, f64)], &Places),
    mut take: impl FnMut(usize, &Known<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut looked = Looked::new(walk);
    for (index, range) in places.ranges.iter().enumerate() {
        let (first, end) = (range.start as usize, range.end as usize);
        let end_ns = looked_at(shift, steps.at(index));
        let start_ns = end_ns.saturating_sub(places.range_ns);
        let samples = numbers.get(first..end).unwrap_or_default();
        looked.at(samples.len())?;
        let last = first.checked_sub(1).and_then(|at| numbers.get(at)).copied();
        let reach_ns = start_ns.saturating_sub(places.reach_ns);
        let known = Known {
            window: Window { samples, start_ns, end_ns },
            // VictoriaMetrics looks for it only where a sample stands behind it.
            before: last.filter(|(at_ns, _)| *at_ns > reach_ns && first < numbers.len()),
            ever: last.map(|(_, value)| value),
        };
        take(index, &known)?;
    }
    Ok(())
}

/// What is done to all samples before ranges are taken.
fn prepared(numbers: &mut Numbers, first: First) {
    let level = |numbers: &mut Numbers| match numbers.falls() {
        true => levelled(numbers.values.iter_mut()),
        // As if it were corrected by nothing: what is 0 is above it.
        false => numbers.values.iter_mut().for_each(|value| *value += 0.0),
    };
    match first {
        First::AsTheyAre => {}
        First::Levelled => level(numbers),
        First::Differences { is_counter } | First::Slopes { is_counter } => {
            if is_counter {
                level(numbers);
            }
            let is_slope = matches!(first, First::Slopes { .. });
            let (times_ns, values) = (numbers.times.to_vec(), &mut numbers.values);
            let mut last = 0.0;
            for at in 0..values.len() {
                let pair = |at: usize| Some((*times_ns.get(at)?, *values.get(at)?));
                if let (Some((a_ns, a)), Some((b_ns, b))) = (pair(at), pair(at + 1)) {
                    last = if is_slope { (b - a) / span(a_ns, b_ns) } else { b - a };
                }
                values.get_mut(at).into_iter().for_each(|value| *value = last);
            }
        }
        First::Intervals => {
            let mut before = None;
            for (at_ns, value) in numbers.times.to_vec().into_iter().zip(&mut numbers.values) {
                *value = before.map_or(f64::NAN, |before| span(before, at_ns));
                before = Some(at_ns);
            }
            if let [first, second, ..] = &mut numbers.values[..] {
                *first = *second;
            }
        }
    }
}

/// What ranges come to of which the values at their ends tell all; None where a fold looks at
/// others too.
fn by_ends(of: &RangeFold, numbers: &Numbers, places: &Places) -> Option<Gapped> {
    let values = &numbers.values[..];
    let mut made = match of {
        RangeFold::Loose(LooseFold::Rate) => places.grown(values, |grown, seconds| grown / seconds),
        RangeFold::Loose(LooseFold::Increase) => places.grown(values, |grown, _| grown),
        RangeFold::Last => return Some(places.lasts.lasts(values)),
        _ => return None,
    };
    // A sample that stands before an empty range does not grow.
    places.still.iter().for_each(|index| made.put(*index, Some(0.0)));
    if let RangeFold::Loose(LooseFold::Increase) = of {
        for (index, range) in &places.begun {
            made.put(*index, begun(values, range));
        }
    }
    Some(made)
}

/// What a counter grew by before whose range no sample is near. One that begins in the range began
/// at 0, unless it is far above what it grows by.
fn begun(values: &[f64], range: &Range<u32>) -> Option<f64> {
    let (at, end) = (range.start as usize, range.end as usize);
    let last = values.get(at..end)?.last()?;
    if let Some(ever) = at.checked_sub(1).and_then(|before| values.get(before)) {
        return Some(last - ever);
    }
    let [first, behind @ ..] = values else { return None };
    let grows = behind.first().map_or(0.0, |next| next - first);
    let is_new = first.abs() < 10.0 * (grows.abs() + 1.0);
    Some(if is_new { *last } else { last - first })
}

/// Lets a counter that fell go on from where it was. One that fell by less than an eighth was
/// corrected and did not begin anew.
pub(super) fn levelled<'v>(values: impl Iterator<Item = &'v mut f64>) {
    let (mut correction, mut before) = (0.0, None::<f64>);
    for value in values {
        if let Some(before) = before
            && *value < before
        {
            let fell = before - *value;
            correction += if fell * 8.0 < before { fell } else { before };
        }
        before = Some(*value);
        *value += correction;
    }
}

fn fold(of: &RangeFold, known: &Known<'_>, parameter: f64) -> Result<Option<f64>, Error> {
    let samples = known.window.samples;
    let at_ns = known.window.end_ns;
    match of {
        RangeFold::Loose(fold) => Ok(loosely(fold, known, parameter)),
        _ if samples.is_empty() => Ok(None),
        // One alone deviates by nothing.
        RangeFold::Deviation | RangeFold::Variance if samples.len() == 1 => Ok(Some(0.0)),
        of => over::fold(of, &known.window, (parameter, f64::NAN), at_ns),
    }
}

/// What also looks at the sample before a range.
fn loosely(of: &LooseFold, known: &Known<'_>, parameter: f64) -> Option<f64> {
    let Known { window, before, .. } = known;
    let samples = window.samples;
    let values = || samples.iter().map(|(_, value)| *value);
    let last = samples.last();
    // The sample before, and all that follow it in the range; without one before, from the first.
    let start = before.or_else(|| samples.first().copied());
    let rest = match before {
        Some(_) => samples,
        None => samples.get(1..).unwrap_or_default(),
    };
    Some(match of {
        LooseFold::Absent => return samples.is_empty().then_some(1.0),
        LooseFold::IncreasePure => match (known.ever, last) {
            (None, None) => return None,
            (ever, Some((_, last))) => last - ever.unwrap_or(0.0),
            (Some(_), None) => 0.0,
        },
        LooseFold::LastRate | LooseFold::LastDifference => return of_last_two(of, known),
        LooseFold::Changes
        | LooseFold::Falls
        | LooseFold::Rises
        | LooseFold::Ascent
        | LooseFold::Descent => stepwise(of, start?.1, rest, before.is_some()),
        LooseFold::Lag => span(last.or(before.as_ref())?.0, window.end_ns),
        LooseFold::Lifetime => span(start?.0, rest.last()?.0),
        LooseFold::Interval => span(start?.0, rest.last()?.0) / rest.len() as f64,
        LooseFold::Squares => match last {
            Some(_) => values().map(|value| value * value).sum(),
            None => before.map(|(_, value)| value * value)?,
        },
        LooseFold::SumRate => match start {
            Some(_) => values().sum::<f64>() / span(window.start_ns, window.end_ns),
            None => return None,
        },
        LooseFold::Geometric => match last {
            Some(_) => values().product::<f64>().powf(1.0 / samples.len() as f64),
            None => before.map(|(_, value)| value)?,
        },
        LooseFold::Mode => return mode(before.map(|(_, value)| value), values().collect()),
        LooseFold::Distinct => {
            start?;
            distinct(values().collect())
        }
        LooseFold::Integral => integral(known, start?, rest),
        LooseFold::Score => return score(known, start?, rest),
        LooseFold::LastChange => return last_change(known),
        LooseFold::Open | LooseFold::Close | LooseFold::High | LooseFold::Low => {
            return candle(of, known);
        }
        // They are told by the ends of a range, or are several values.
        LooseFold::Rate | LooseFold::Increase | LooseFold::Ranges | LooseFold::Values(_) => {
            return None;
        }
        LooseFold::Slope
        | LooseFold::Predicted(_)
        | LooseFold::Width
        | LooseFold::Counted(..)
        | LooseFold::Shared(..)
        | LooseFold::ChangesWithin
        | LooseFold::DifferenceRate
        | LooseFold::Difference => return within(of, window, parameter),
    })
}

/// What looks at the samples of a range only.
fn within(of: &LooseFold, window: &Window<'_>, parameter: f64) -> Option<f64> {
    let Window { samples, start_ns, end_ns } = window;
    let values = || samples.iter().map(|(_, value)| *value);
    let ((_, first), (_, last)) = (samples.first()?, samples.last()?);
    Some(match of {
        LooseFold::Slope => line(samples, *end_ns)?.1,
        LooseFold::Predicted(_) => {
            let (now, slope) = line(samples, *end_ns)?;
            now + slope * parameter
        }
        LooseFold::Width => values().fold(f64::NAN, f64::max) - values().fold(f64::NAN, f64::min),
        LooseFold::Counted(comparison, _) => counted(*comparison, values(), parameter),
        LooseFold::Shared(comparison, _) => {
            counted(*comparison, values(), parameter) / samples.len() as f64
        }
        LooseFold::ChangesWithin => {
            values().zip(values().skip(1)).filter(|(before, value)| value != before).count() as f64
        }
        LooseFold::Difference if samples.len() > 1 => last - first,
        LooseFold::DifferenceRate if samples.len() > 1 => (last - first) / span(*start_ns, *end_ns),
        _ => return None,
    })
}

fn of_last_two(of: &LooseFold, known: &Known<'_>) -> Option<f64> {
    let is_rate = matches!(of, LooseFold::LastRate);
    let ((from_ns, from), (to_ns, to)) = match (known.window.samples, known.before) {
        ([.., a, b], _) => (*a, *b),
        ([b], Some(a)) => (a, *b),
        ([(_, only)], None) if !is_rate => return Some(*only),
        ([], Some(_)) if !is_rate => return Some(0.0),
        _ => return None,
    };
    Some(if is_rate { (to - from) / span(from_ns, to_ns) } else { to - from })
}

/// What is said of each value and the one before it.
fn stepwise(of: &LooseFold, start: f64, rest: &[(i64, f64)], has_before: bool) -> f64 {
    // A value that nothing stands before is a change.
    let is_new = matches!(of, LooseFold::Changes) && !has_before;
    let (mut before, mut total) = (start, f64::from(u8::from(is_new)));
    for (_, value) in rest {
        total += match of {
            LooseFold::Changes => f64::from(u8::from(*value != before)),
            LooseFold::Falls => f64::from(u8::from(*value < before)),
            LooseFold::Rises => f64::from(u8::from(*value > before)),
            LooseFold::Descent => (before - value).max(0.0),
            _ => (value - before).max(0.0),
        };
        before = *value;
    }
    total
}

/// The line of least squares: its value at an instant, and its slope per second.
fn line(samples: &[(i64, f64)], at_ns: i64) -> Option<(f64, f64)> {
    let (_, first) = samples.first()?;
    if samples.iter().all(|(_, value)| value == first) {
        return Some((*first, 0.0));
    }
    let total = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        samples.iter().map(|(time_ns, value)| of(span(at_ns, *time_ns), *value)).sum()
    };
    let count = samples.len() as f64;
    let (x, y) = (total(&|x, _| x), total(&|_, y| y));
    let apart = total(&|x, _| x * x) - x * x / count;
    let slope = match apart.abs() >= 1e-6 {
        true => (total(&|x, y| x * y) - x * y / count) / apart,
        false => 0.0,
    };
    Some((y / count - slope * x / count, slope))
}

/// The most frequent value: of several the one before the range, which counts once, or the lowest.
/// It adds to a value of the range only where that is the lowest.
pub(super) fn mode(before: Option<f64>, mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let lowest = values.first().copied();
    let mut best = before.map(|before| (before, 1));
    for run in values.chunk_by(|a, b| a == b) {
        let Some(value) = run.first().copied() else { continue };
        let is_before = before == lowest && before == Some(value);
        let count = run.len() + usize::from(is_before);
        if best.is_none_or(|(_, most)| count > most) {
            best = Some((value, count));
        }
    }
    best.map(|(value, _)| value)
}

pub(super) fn distinct(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.chunk_by(|a, b| a == b).count() as f64
}

/// Each value times how long it stood; the one before stood since the range began.
fn integral(known: &Known<'_>, start: (i64, f64), rest: &[(i64, f64)]) -> f64 {
    let Window { start_ns, end_ns, .. } = known.window;
    let from_ns = if known.before.is_some() { start_ns } else { start.0 };
    let (mut at_ns, mut value, mut total) = (from_ns, start.1, 0.0);
    for (time_ns, next) in rest {
        total += value * span(at_ns, *time_ns);
        (at_ns, value) = (*time_ns, *next);
    }
    total + value * span(at_ns, end_ns)
}

fn score(known: &Known<'_>, start: (i64, f64), rest: &[(i64, f64)]) -> Option<f64> {
    let samples = known.window.samples;
    let (last_ns, last) = samples.last()?;
    let interval = span(start.0, rest.last()?.0) / rest.len() as f64;
    if span(*last_ns, known.window.end_ns) > interval {
        return None;
    }
    let values = || samples.iter().map(|(_, value)| *value);
    let off = last - values().sum::<f64>() / samples.len() as f64;
    Some(if off == 0.0 { 0.0 } else { off / deviation(values()).sqrt() })
}

fn counted(comparison: Comparison, values: impl Iterator<Item = f64>, limit: f64) -> f64 {
    let holds = |value: &f64| match comparison {
        Comparison::Equal => *value == limit,
        Comparison::NotEqual => *value != limit,
        Comparison::Greater => *value > limit,
        Comparison::GreaterOrEqual => *value >= limit,
        Comparison::Less => *value < limit,
        Comparison::LessOrEqual => *value <= limit,
    };
    values.filter(holds).count() as f64
}

fn last_change(known: &Known<'_>) -> Option<f64> {
    let samples = known.window.samples;
    let (_, last) = samples.last()?;
    let same = samples.iter().rev().take_while(|(_, value)| value == last).count();
    let first_ns = samples.get(samples.len() - same)?.0;
    let goes_on = same == samples.len() && known.before.is_some_and(|(_, value)| value == *last);
    (!goes_on).then(|| seconds(first_ns))
}

/// Of the samples before the range's end, and of the one before the range.
fn candle(of: &LooseFold, known: &Known<'_>) -> Option<f64> {
    let Window { samples, start_ns, end_ns } = known.window;
    let there = samples.iter().filter(|(time_ns, _)| *time_ns < end_ns).map(|(_, value)| *value);
    let before = known.before.filter(|(time_ns, _)| *time_ns >= start_ns).map(|(_, value)| value);
    let mut all = before.into_iter().chain(there);
    match of {
        LooseFold::Open => all.next(),
        LooseFold::Close => all.last(),
        LooseFold::High => all.reduce(f64::max),
        _ => all.reduce(f64::min),
    }
}

#[cfg(test)]
mod tests;
