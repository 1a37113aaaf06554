//! Samples of a range before each instant, folded.

use super::fold::{Window, average, deviation, extrapolated, line, quantile, sum};
use super::stored::{OnSeries, each_series, looked_at};
use super::{GridRow, Gridded, Looked, Walk, evaluated, joined, unnamed, value};
use crate::Error;
use foliot_model::Labels;
use foliot_plan::grid::{Grid, MEASUREMENT, Over, RangeFold, Samples, Shift, Steps};

pub(super) fn over<'q>(walk: &Walk<'q>, plan: &Over, steps: &Steps) -> Result<Gridded<'q>, Error> {
    let parameter = match &plan.fold {
        RangeFold::Predicted(parameter) | RangeFold::Quantile(parameter) => {
            Some(evaluated(walk, parameter, steps)?)
        }
        _ => None,
    };
    let parameters = parameter.as_ref().map_or(&[][..], Gridded::scalars);
    let mut made = Gridded::none(walk);
    let mut each = |shift: &Shift, labels: Labels, numbers: &[(i64, f64)]| {
        let folded = fold_series(walk, plan, shift, steps, (numbers, parameters))?;
        if let RangeFold::Extrapolated { is_counter: true, .. } = plan.fold
            && let Some(name) = labels.get(MEASUREMENT)
            && folded.iter().any(Option::is_some)
        {
            walk.counter(name, plan.place)?;
        }
        // The newest value is one of the series; others are of something else.
        let labels = match plan.fold {
            RangeFold::Last => labels,
            _ => unnamed(&labels),
        };
        made.push(walk, GridRow { labels, values: folded })
    };
    match &plan.samples {
        Samples::Stored(stored, stale_bits) => {
            let mut fresh = Vec::new();
            each_series(walk, stored, plan.range_ns, steps, &mut |labels, numbers| {
                let is_stale = |value: f64| value.to_bits() == *stale_bits;
                if !numbers.iter().any(|(_, value)| is_stale(*value)) {
                    return each(&stored.shift, labels, numbers);
                }
                fresh.clear();
                fresh.extend(numbers.iter().filter(|(_, value)| !is_stale(*value)));
                each(&stored.shift, labels, &fresh)
            })?;
        }
        Samples::Grid { input, step_ns, shift } => {
            let inner = inner_steps(shift, *step_ns, plan.range_ns, steps);
            if let Some(inner) = inner {
                gridded(walk, input, &inner, &mut |labels, numbers| each(shift, labels, numbers))?;
            }
        }
    }
    joined(made)
}

/// The multiples of a step that lie in the ranges of some instants.
fn inner_steps(shift: &Shift, step_ns: i64, range_ns: i64, steps: &Steps) -> Option<Steps> {
    let before_ns = looked_at(shift, steps.start_ns).saturating_sub(range_ns);
    let end_ns = looked_at(shift, steps.end_ns());
    let start_ns = before_ns.div_euclid(step_ns).saturating_add(1).saturating_mul(step_ns);
    let count = end_ns.checked_sub(start_ns)?.checked_div(step_ns)?;
    let count = usize::try_from(count).ok()?.saturating_add(1);
    (end_ns >= start_ns).then_some(Steps { start_ns, step_ns, count })
}

/// Calls `each` with the values that a grid has.
fn gridded(walk: &Walk<'_>, input: &Grid, steps: &Steps, each: OnSeries<'_>) -> Result<(), Error> {
    // Each of its instants counts as a sample, before there are any.
    walk.meter.check(steps.count)?;
    walk.meter.open().add(steps.count.saturating_mul(size_of::<(i64, f64)>()))?;
    let inner = evaluated(walk, input, steps)?;
    let mut numbers = Vec::new();
    for row in &inner.rows {
        numbers.clear();
        let there = row.values.iter().enumerate();
        numbers.extend(there.filter_map(|(index, value)| Some((steps.at(index), (*value)?))));
        each(row.labels.clone(), &numbers)?;
    }
    Ok(())
}

fn fold_series(
    walk: &Walk<'_>,
    plan: &Over,
    shift: &Shift,
    steps: &Steps,
    (numbers, parameters): (&[(i64, f64)], &[Option<f64>]),
) -> Result<Vec<Option<f64>>, Error> {
    let (mut first, mut end, mut looked) = (0, 0, Looked::new(walk));
    let mut values = Vec::with_capacity(steps.count);
    for index in 0..steps.count {
        let end_ns = looked_at(shift, steps.at(index));
        let start_ns = end_ns.saturating_sub(plan.range_ns);
        while numbers.get(end).is_some_and(|(time_ns, _)| *time_ns <= end_ns) {
            end += 1;
        }
        while first < end && numbers.get(first).is_some_and(|(time_ns, _)| *time_ns <= start_ns) {
            first += 1;
        }
        let samples = numbers.get(first..end).unwrap_or_default();
        // Wide ranges in small steps look at samples again and again.
        looked.at(samples.len())?;
        let window = Window { samples, start_ns, end_ns };
        let parameter = value(parameters, index).unwrap_or(f64::NAN);
        if matches!(plan.fold, RangeFold::Quantile(_)) && !samples.is_empty() {
            walk.share(parameter, plan.place)?;
        }
        let at_ns = steps.at(index);
        values.push(if samples.is_empty() {
            None
        } else {
            fold(&plan.fold, &window, parameter, at_ns)
        });
    }
    Ok(values)
}

fn fold(fold: &RangeFold, window: &Window<'_>, parameter: f64, at_ns: i64) -> Option<f64> {
    let values = || window.samples.iter().map(|(_, value)| *value);
    let pairs = || values().zip(values().skip(1));
    let (_, last) = *window.samples.last()?;
    Some(match fold {
        RangeFold::Extrapolated { is_counter, per_second } => {
            return extrapolated(window, *is_counter, *per_second);
        }
        RangeFold::Last2 { is_rate } => {
            let [.., (before_ns, before), (at_ns, last)] = *window.samples else { return None };
            match is_rate {
                false => last - before,
                true => {
                    let seconds = (at_ns - before_ns) as f64 / 1e9;
                    (if last < before { last } else { last - before }) / seconds
                }
            }
        }
        RangeFold::Average => average(values()),
        RangeFold::Sum => sum(values()),
        // What is no number stays only where there is nothing else.
        RangeFold::Min => values().fold(f64::NAN, f64::min),
        RangeFold::Max => values().fold(f64::NAN, f64::max),
        RangeFold::Count => window.samples.len() as f64,
        RangeFold::Last => last,
        RangeFold::Present => 1.0,
        RangeFold::Deviation => deviation(values()).sqrt(),
        RangeFold::Variance => deviation(values()),
        RangeFold::Changes => {
            let differ = |(a, b): &(f64, f64)| a != b && !(a.is_nan() && b.is_nan());
            pairs().filter(differ).count() as f64
        }
        RangeFold::Resets => pairs().filter(|(before, after)| after < before).count() as f64,
        RangeFold::Slope => {
            let (first_ns, _) = *window.samples.first()?;
            line(window.samples, first_ns)?.0
        }
        RangeFold::Predicted(_) => {
            let (slope, now) = line(window.samples, at_ns)?;
            slope * parameter + now
        }
        RangeFold::Quantile(_) => quantile(parameter, values().collect()),
    })
}
