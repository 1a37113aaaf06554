//! Samples of a range before each instant, folded.

use super::alike::Alike;
use super::extrapolation::{Extrapolated, Extrapolation};
use super::fold::{Window, average, deviation, line, smoothed, spread, sum};
use super::gapped::Gapped;
use super::numbers::Numbers;
use super::over_histograms::{Ranged, fold_points};
use super::row::{GridRow, Made};
use super::stored::{OnSeries, Points, Reading, looked_at};
use super::{Gridded, Looked, OnRow, Walk, each_joined, evaluated, rollup, row, seconds, weight};
use crate::Error;
use crate::kernels::quantile::quantile;
use crate::limits::Charge;
use foliot_model::{Histogram, Labels, Resets};
use foliot_plan::grid::{Grid, Note, Over, RangeFold, Samples, Shift, Stamp, Steps};
use std::ops::Range;
use std::sync::Arc;

/// Values of the scalars that a fold has.
type Parameters<'p> = [&'p Gapped; 2];

/// Calls `each` with what the ranges of each series come to.
pub(super) fn over(
    walk: &Walk<'_>,
    plan: &Over,
    steps: &Steps,
    each: OnRow<'_>,
) -> Result<(), Error> {
    if let Some(loose) = &plan.loose {
        return rollup::over(walk, plan, loose, steps, each);
    }
    let (first, second) = match &plan.fold {
        RangeFold::Predicted(of) | RangeFold::Quantile(of) => {
            (Some(evaluated(walk, of, steps)?), None)
        }
        RangeFold::Smoothed(weight, trend) => {
            (Some(evaluated(walk, weight, steps)?), Some(evaluated(walk, trend, steps)?))
        }
        _ => (None, None),
    };
    let (first, second) = (scalar_of(&first), scalar_of(&second));
    let parameters = [&first, &second];
    let mut ranges = Alike::new(walk);
    let mut one = |each: OnRow<'_>, shift: &Shift, labels: Labels, points: &Points| {
        let series = (&labels, points, parameters);
        let folded = fold_series(walk, plan, (shift, steps), series, &mut ranges)?;
        if let RangeFold::Extrapolated { is_counter: true, .. } = plan.fold
            && folded.values.has_any()
        {
            let name = row::measurement(&labels);
            if !name.is_empty() {
                walk.note(Note::Counter(name), plan.place)?;
            }
        }
        // The newest value is one of the series; others are of something else.
        let (labels, is_nameless) = match plan.fold {
            RangeFold::Last | RangeFold::First => (labels, points.is_nameless),
            _ => walk.unnamed(&labels),
        };
        walk.pass(GridRow { labels, is_nameless, ..folded }, each)
    };
    match &plan.samples {
        Samples::Stored(stored, stale_bits) => {
            let reading = Reading::new(walk, stored, plan.range_ns, steps)?;
            let is_apart = reading.is_apart();
            let read = |each: OnRow<'_>| {
                reading.each_told(plan.read, &mut |labels, points| {
                    let fresh = points.without(*stale_bits);
                    one(each, &stored.shift, labels, fresh.as_ref().unwrap_or(points))
                })
            };
            if is_apart { read(each) } else { each_joined(walk, read, each) }
        }
        Samples::Grid { input, step_ns, shift } => {
            let Some(inner) = inner_steps(shift, *step_ns, plan.range_ns, steps) else {
                return Ok(());
            };
            let read = |each: OnRow<'_>| {
                gridded(walk, input, &inner, &mut |labels, points| one(each, shift, labels, points))
            };
            each_joined(walk, read, each)
        }
    }
}

/// The values of a scalar that may be there.
pub(super) fn scalar_of(of: &Option<Gridded<'_>>) -> Gapped {
    of.as_ref().map_or(Gapped::default(), |of| of.scalars().clone())
}

/// The multiples of a step that lie in the ranges of some instants.
fn inner_steps(shift: &Shift, step_ns: i64, range_ns: i64, steps: &Steps) -> Option<Steps> {
    let before_ns = looked_at(shift, steps.start_ns).saturating_sub(range_ns);
    let end_ns = looked_at(shift, steps.end_ns());
    let start_ns = before_ns.div_euclid(step_ns).saturating_add(1).saturating_mul(step_ns);
    Steps::within(start_ns, end_ns, step_ns)
}

/// Calls `each` with the values that a grid has.
pub(super) fn gridded(
    walk: &Walk<'_>,
    input: &Grid,
    steps: &Steps,
    each: OnSeries<'_>,
) -> Result<(), Error> {
    // Each of its instants is work, before there are any.
    walk.meter.check(steps.count)?;
    walk.meter.open().add(steps.count.saturating_mul(size_of::<(i64, f64)>()))?;
    let inner = evaluated(walk, input, steps)?;
    let mut points = Points::default();
    for row in &inner.rows {
        let there = row.values.iter().enumerate();
        let there = there.filter_map(|(index, one)| Some((steps.at(index), one?)));
        points.numbers = there.collect();
        points.histograms.clear();
        let there = row.histograms.iter().enumerate();
        let there = there.filter_map(|(index, one)| Some((steps.at(index), one.as_ref()?)));
        points.histograms.extend(there.map(|(at_ns, of)| (at_ns, unrelated(of))));
        points.is_nameless = row.is_nameless;
        each(row.labels.clone(), &mut points)?;
    }
    Ok(())
}

/// A histogram that says nothing of how it follows others: some lie between, or it comes twice.
fn unrelated(of: &Arc<Histogram>) -> Arc<Histogram> {
    match of.resets {
        Resets::Unknown | Resets::Gauge => Arc::clone(of),
        Resets::Reset | Resets::NotReset => {
            Arc::new(Histogram { resets: Resets::Unknown, ..Histogram::clone(of) })
        }
    }
}

fn fold_series(
    walk: &Walk<'_>,
    plan: &Over,
    (shift, steps): (&Shift, &Steps),
    (labels, points, parameters): (&Labels, &Points, Parameters<'_>),
    ranges: &mut Alike<'_, Extrapolated>,
) -> Result<GridRow, Error> {
    let Points { numbers, histograms, .. } = points;
    let mut held = walk.meter.open();
    if histograms.is_empty() {
        let values = match plan.fold {
            RangeFold::Extrapolated { is_counter, per_second } => {
                let how = Extrapolation { is_counter, per_second };
                extrapolated(walk, plan, (shift, steps), (numbers, how), ranges)?
            }
            _ => {
                let numbers = paired(numbers, &mut held)?;
                fold_numbers(walk, plan, shift, steps, (&numbers, parameters))?
            }
        };
        return Ok(GridRow::numbers(Labels::default(), values));
    }
    let (mut of_numbers, mut of_histograms) = (Slide::default(), Slide::default());
    let (mut row, mut looked) = (GridRow::default(), Looked::new(walk));
    row.values = Gapped::with_capacity(steps.count);
    let numbers = paired(numbers, &mut held)?;
    for index in 0..steps.count {
        let end_ns = looked_at(shift, steps.at(index));
        let start_ns = end_ns.saturating_sub(plan.range_ns);
        let range = of_numbers.to(&numbers, |(at_ns, _)| *at_ns, (start_ns, end_ns));
        let samples = numbers.get(range).unwrap_or_default();
        let range = of_histograms.to(histograms, |(at_ns, _)| *at_ns, (start_ns, end_ns));
        let histograms = histograms.get(range).unwrap_or_default();
        // Wide ranges in small steps look at samples again and again.
        looked.at(samples.len() + histograms.iter().map(|(_, of)| weight(of)).sum::<usize>())?;
        let window = Window { samples, start_ns, end_ns };
        let parameters = at_index(walk, plan, parameters, index, samples)?;
        let folded = match (samples.is_empty(), histograms.is_empty()) {
            (true, true) => None,
            (false, true) => {
                fold(&plan.fold, &window, parameters, steps.at(index))?.map(Made::Number)
            }
            (_, false) => {
                let ranged = Ranged { walk, plan, labels, window, histograms };
                let made = fold_points(&ranged, parameters, steps.at(index))?;
                if let Some(Made::Histogram(histogram)) = &made {
                    held.add(histogram.memory_bytes())?;
                }
                made
            }
        };
        row.push(folded);
    }
    Ok(row)
}

/// What ranges of a series that has numbers only come to when they are extrapolated.
fn extrapolated(
    walk: &Walk<'_>,
    plan: &Over,
    (shift, steps): (&Shift, &Steps),
    (numbers, how): (&Numbers, Extrapolation),
    ranges: &mut Alike<'_, Extrapolated>,
) -> Result<Gapped, Error> {
    let ranges = ranges.of(&numbers.times, Extrapolation::bytes(steps.count), |times_ns| {
        let mut slide = Slide::default();
        let range_at = |index: usize| {
            let end_ns = looked_at(shift, steps.at(index));
            let start_ns = end_ns.saturating_sub(plan.range_ns);
            (slide.to(times_ns, |at_ns| *at_ns, (start_ns, end_ns)), start_ns, end_ns)
        };
        how.ranges(times_ns, (0..steps.count).map(range_at))
    })?;
    // Each range takes the same few steps, however many samples it has.
    Looked::new(walk).at(ranges.samples)?;
    Ok(how.values(numbers, ranges))
}

/// Samples as most folds read them.
pub(super) fn paired(numbers: &Numbers, held: &mut Charge<'_>) -> Result<Vec<(i64, f64)>, Error> {
    held.add(numbers.len().saturating_mul(size_of::<(i64, f64)>()))?;
    Ok(numbers.pairs().collect())
}

/// What ranges of a series that has numbers only come to.
fn fold_numbers(
    walk: &Walk<'_>,
    plan: &Over,
    shift: &Shift,
    steps: &Steps,
    (numbers, parameters): (&[(i64, f64)], Parameters<'_>),
) -> Result<Gapped, Error> {
    let (mut slide, mut looked) = (Slide::default(), Looked::new(walk));
    let mut range_at = |index: usize| {
        let end_ns = looked_at(shift, steps.at(index));
        let start_ns = end_ns.saturating_sub(plan.range_ns);
        (slide.to(numbers, |(at_ns, _)| *at_ns, (start_ns, end_ns)), start_ns, end_ns)
    };
    let mut values = Gapped::with_capacity(steps.count);
    for index in 0..steps.count {
        let (range, start_ns, end_ns) = range_at(index);
        looked.at(range.len())?;
        let samples = numbers.get(range).unwrap_or_default();
        let window = Window { samples, start_ns, end_ns };
        let parameters = at_index(walk, plan, parameters, index, samples)?;
        values.push(fold(&plan.fold, &window, parameters, steps.at(index))?);
    }
    Ok(values)
}

/// The parameters of a fold at an instant; such as cannot be are noted.
fn at_index(
    walk: &Walk<'_>,
    plan: &Over,
    parameters: Parameters<'_>,
    index: usize,
    samples: &[(i64, f64)],
) -> Result<(f64, f64), Error> {
    let [first, second] = parameters;
    let at = |values: &Gapped| values.get(index).unwrap_or(f64::NAN);
    let (first, second) = (at(first), at(second));
    if matches!(plan.fold, RangeFold::Quantile(_)) && !samples.is_empty() {
        walk.share(first, plan.place)?;
    }
    Ok((first, second))
}

/// Where a range begins and ends among samples by time, which it passes over.
#[derive(Default)]
struct Slide {
    first: usize,
    end: usize,
}

impl Slide {
    /// The positions of the samples of a range.
    fn to<T>(
        &mut self,
        of: &[T],
        time_ns: impl Fn(&T) -> i64,
        (start_ns, end_ns): (i64, i64),
    ) -> Range<usize> {
        while of.get(self.end).is_some_and(|one| time_ns(one) <= end_ns) {
            self.end += 1;
        }
        let (first, end) = (&mut self.first, self.end);
        while *first < end && of.get(*first).is_some_and(|one| time_ns(one) <= start_ns) {
            *first += 1;
        }
        *first..end
    }
}

/// What numbers come to.
pub(super) fn fold(
    fold: &RangeFold,
    window: &Window<'_>,
    (parameter, second): (f64, f64),
    at_ns: i64,
) -> Result<Option<f64>, Error> {
    let values = || window.samples.iter().map(|(_, value)| *value);
    let pairs = || values().zip(values().skip(1));
    let ([(first_ns, first), ..], Some((_, last))) = (window.samples, window.samples.last()) else {
        return Ok(None);
    };
    Ok(Some(match fold {
        RangeFold::Extrapolated { is_counter, per_second } => {
            let how = Extrapolation { is_counter: *is_counter, per_second: *per_second };
            return Ok(extrapolated_alone(how, window));
        }
        RangeFold::Last2 { is_rate } => {
            let [.., (before_ns, before), (at_ns, last)] = *window.samples else { return Ok(None) };
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
        RangeFold::Last => *last,
        RangeFold::First => *first,
        RangeFold::Present => 1.0,
        RangeFold::Deviation => deviation(values()).sqrt(),
        RangeFold::Variance => deviation(values()),
        RangeFold::Changes => {
            let differ = |(a, b): &(f64, f64)| a != b && !(a.is_nan() && b.is_nan());
            pairs().filter(differ).count() as f64
        }
        RangeFold::Resets => pairs().filter(|(before, after)| after < before).count() as f64,
        RangeFold::Slope => match line(window.samples, *first_ns) {
            Some((slope, _)) => slope,
            None => return Ok(None),
        },
        RangeFold::Predicted(_) => match line(window.samples, at_ns) {
            Some((slope, now)) => slope * parameter + now,
            None => return Ok(None),
        },
        RangeFold::Quantile(_) => quantile(parameter, values().collect()),
        RangeFold::Loose(_) => return Ok(None),
        RangeFold::Spread => spread(values().collect()),
        RangeFold::Stamp(stamp) => stamped(window.samples, *stamp),
        RangeFold::Smoothed(..) => {
            for (what, value) in [("smoothing", parameter), ("trend", second)] {
                if value <= 0.0 || value >= 1.0 {
                    let (of, short) = (what, if what == "trend" { "tf" } else { "sf" });
                    let text =
                        format!("invalid {of} factor. Expected: 0 < {short} < 1, got: {value:.6}");
                    return Err(Error::Plan(text));
                }
            }
            return Ok(smoothed(values(), parameter, second));
        }
    }))
}

/// What one range comes to when it is extrapolated.
fn extrapolated_alone(how: Extrapolation, window: &Window<'_>) -> Option<f64> {
    let Window { samples, start_ns, end_ns } = *window;
    let numbers: Numbers = samples.iter().copied().collect();
    let all = std::iter::once((0..samples.len(), start_ns, end_ns));
    let ranges = how.ranges(&numbers.times.to_vec(), all);
    how.values(&numbers, &ranges).get(0)
}

/// When one of the samples was.
fn stamped(samples: &[(i64, f64)], stamp: Stamp) -> f64 {
    let furthest = |is_further: fn(f64, f64) -> bool| {
        let mut samples = samples.iter();
        let first = samples.next();
        samples.fold(first, |best, one| match best {
            Some((_, value)) if is_further(one.1, *value) || value.is_nan() => Some(one),
            best => best,
        })
    };
    let found = match stamp {
        Stamp::First => samples.first(),
        Stamp::Last => samples.last(),
        Stamp::Min => furthest(|one, lowest| one <= lowest),
        Stamp::Max => furthest(|one, highest| one >= highest),
    };
    found.map_or(f64::NAN, |(time_ns, _)| seconds(*time_ns))
}
