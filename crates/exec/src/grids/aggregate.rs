//! Several series into one per group, or some of each group.

use super::binary::some_of;
use super::fold::{average, deviation, sum};
use super::histograms::{self, Incompatible, compact, spelled};
use super::picked::picked;
use super::ranked::ranked;
use super::rollup::{distinct, mode};
use super::row::{GridRow, Growing, Made, Point};
use super::tally::{RANGE, Tally, range_of};
use super::{Gridded, Looked, Walk, evaluated, value, weight};
use crate::Error;
use crate::kernels::quantile::quantile;
use foliot_model::{Histogram, Labels};
use foliot_plan::grid::{GridAggregate, GroupFold, Note, Place, Steps, Union};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn aggregate<'q>(
    walk: &Walk<'q>,
    plan: &GridAggregate,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, &plan.input, steps)?;
    let parameter = match &plan.fold {
        GroupFold::Quantile(of)
        | GroupFold::Top(of)
        | GroupFold::Bottom(of)
        | GroupFold::Some(of)
        | GroupFold::Part(of)
        | GroupFold::Outliers(of)
        | GroupFold::Ranked { count: of, .. } => Some(evaluated(walk, of, steps)?),
        _ => None,
    };
    let parameters = parameter.as_ref().map_or(&[][..], Gridded::scalars);
    checked(walk, plan, parameters)?;
    match &plan.fold {
        GroupFold::CountValues(name) => {
            return counted(walk, plan, &input, (name, &text_of), steps);
        }
        GroupFold::Ranges => {
            let range = |of: Point<'_>| match of {
                Point::Number(number) => range_of(number),
                Point::Histogram(_) => None,
            };
            return counted(walk, plan, &input, (&RANGE.into(), &range), steps);
        }
        _ => {}
    }
    let (mut made, mut looked) = (Gridded::none(walk), Looked::new(walk));
    for (labels, rows) in groups(plan, &input) {
        match &plan.fold {
            GroupFold::Some(_) if walk.is_loose => {
                ranked(walk, &plan.fold, &rows, parameters, steps, &mut made)?;
            }
            GroupFold::Top(_) | GroupFold::Bottom(_) | GroupFold::Some(_) | GroupFold::Part(_) => {
                picked(walk, plan, &rows, parameters, steps, &mut made)?;
            }
            GroupFold::Ranked { .. } | GroupFold::Outliers(_) => {
                ranked(walk, &plan.fold, &rows, parameters, steps, &mut made)?;
            }
            GroupFold::Any => {
                let first = rows.iter().find(|row| !row.is_empty()).or(rows.first());
                if let Some(first) = first {
                    made.push(walk, GridRow::clone(first))?;
                }
            }
            _ => {
                let is_nameless = rows.iter().any(|row| row.is_nameless);
                let mut after = Growing::new(walk, (labels, is_nameless), steps);
                for index in 0..steps.count {
                    let histograms =
                        rows.iter().filter_map(|row| row.histograms.get(index)?.as_deref());
                    looked.at(rows.len() + histograms.map(weight).sum::<usize>())?;
                    let parameter = value(parameters, index).unwrap_or(f64::NAN);
                    after.push(folded(walk, plan, &rows, index, parameter)?)?;
                }
                after.finish(&mut made, walk)?;
            }
        }
    }
    Ok(made)
}

/// Refuses parameters that say nothing, and notes those that say too much.
fn checked(walk: &Walk<'_>, plan: &GridAggregate, parameters: &[Option<f64>]) -> Result<(), Error> {
    let is_nan = || parameters.iter().flatten().any(|parameter| parameter.is_nan());
    match &plan.fold {
        GroupFold::Top(_) | GroupFold::Bottom(_) | GroupFold::Some(_) if is_nan() => {
            Err(Error::Plan("Parameter value is NaN".to_owned()))
        }
        GroupFold::Part(_) if is_nan() => Err(Error::Plan("Ratio value is NaN".to_owned())),
        GroupFold::Part(_) => {
            let values = || parameters.iter().copied().flatten();
            for end in [values().fold(0.0, f64::max), values().fold(0.0, f64::min)] {
                if !(-1.0..=1.0).contains(&end) {
                    walk.note(Note::Ratio(end.to_bits()), plan.place)?;
                }
            }
            Ok(())
        }
        GroupFold::Quantile(_) => noted(walk, parameters, plan.place),
        _ => Ok(()),
    }
}

/// Notes which shares no quantile can be given of: the furthest of them.
fn noted(walk: &Walk<'_>, shares: &[Option<f64>], place: Place) -> Result<(), Error> {
    let shares = || shares.iter().copied().flatten();
    let (low, high) = shares()
        .fold((0.0, 1.0), |(low, high): (f64, f64), share| (low.min(share), high.max(share)));
    let none = shares().find(|share| share.is_nan());
    [low, high].into_iter().chain(none).try_for_each(|share| walk.share(share, place))
}

/// Groups in the order in which they are met.
fn groups<'g>(plan: &GridAggregate, input: &'g Gridded<'_>) -> Vec<(Labels, Vec<&'g GridRow>)> {
    let mut groups: Vec<(Labels, Vec<&GridRow>)> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    for row in &input.rows {
        let labels = some_of(&plan.by, &row.labels);
        let number = *numbers.entry(labels.clone()).or_insert_with(|| {
            groups.push((labels, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, rows)) = groups.get_mut(number) {
            rows.push(row);
        }
    }
    groups
}

fn folded(
    walk: &Walk<'_>,
    plan: &GridAggregate,
    rows: &[&GridRow],
    index: usize,
    parameter: f64,
) -> Result<Option<Made>, Error> {
    let numbers = || rows.iter().filter_map(|row| value(&row.values, index));
    let histograms = || rows.iter().filter_map(|row| row.histograms.get(index)?.as_deref());
    let count = || rows.iter().filter(|row| row.has(index)).count() as f64;
    let has_histograms = histograms().next().is_some();
    if numbers().next().is_none() && !has_histograms {
        return Ok(None);
    }
    match &plan.fold {
        GroupFold::Sum | GroupFold::Average if has_histograms => {
            if numbers().next().is_some() {
                walk.note(Note::MixedGroup, plan.histograms_place)?;
                return Ok(None);
            }
            let made = match plan.fold {
                GroupFold::Sum => histograms::sum(histograms()),
                _ => histograms::mean(histograms()),
            };
            return together(walk, plan, rows, index, made);
        }
        GroupFold::Count => return Ok(Some(Made::Number(count()))),
        GroupFold::Present => return Ok(Some(Made::Number(1.0))),
        _ => {}
    }
    // All else is of numbers only.
    if has_histograms && let Some(name) = ignoring(&plan.fold) {
        walk.note(Note::Ignored(name), plan.histograms_place)?;
    }
    if numbers().next().is_none() {
        return Ok(None);
    }
    Ok(Some(Made::Number(match &plan.fold {
        GroupFold::Sum => sum(numbers()),
        GroupFold::Average => average(numbers()),
        GroupFold::Min => numbers().fold(f64::NAN, f64::min),
        GroupFold::Max => numbers().fold(f64::NAN, f64::max),
        GroupFold::Deviation => deviation(numbers()).sqrt(),
        GroupFold::Variance => deviation(numbers()),
        GroupFold::Quantile(_) => quantile(parameter, numbers().collect()),
        GroupFold::Distinct => distinct(numbers().collect()),
        GroupFold::Mode => return Ok(mode(None, numbers().collect()).map(Made::Number)),
        GroupFold::Squares => numbers().map(|one| one * one).sum(),
        GroupFold::Geometric => numbers().product::<f64>().powf(1.0 / numbers().count() as f64),
        _ => return Ok(None),
    })))
}

/// What an aggregation that knows numbers only is called.
pub(super) fn ignoring(fold: &GroupFold) -> Option<&'static str> {
    Some(match fold {
        GroupFold::Min => "min",
        GroupFold::Max => "max",
        GroupFold::Deviation => "stddev",
        GroupFold::Variance => "stdvar",
        GroupFold::Quantile(_) => "quantile",
        GroupFold::Top(_) => "topk",
        GroupFold::Bottom(_) => "bottomk",
        _ => return None,
    })
}

/// A sum or a mean of histograms, and notes of what was met.
fn together(
    walk: &Walk<'_>,
    plan: &GridAggregate,
    rows: &[&GridRow],
    index: usize,
    made: Result<Option<(Histogram, histograms::Merged)>, Incompatible>,
) -> Result<Option<Made>, Error> {
    let place = plan.histograms_place;
    match made {
        Ok(None) => Ok(None),
        Ok(Some((histogram, merged))) => {
            if merged.is_torn {
                walk.note(Note::Torn(Union::Aggregation), place)?;
            }
            if merged.is_reconciled {
                walk.note(Note::Reconciled(Union::Aggregation), place)?;
            }
            Ok(Some(Made::histogram(compact(histogram))))
        }
        Err(Incompatible) => {
            // The first that does not go with those before.
            let histogram = |row: &&&GridRow| row.histograms.get(index).cloned().flatten();
            let there = || rows.iter().filter_map(|row| Some((row, histogram(&row)?)));
            let is_custom = there().next().is_some_and(|(_, of)| of.is_custom());
            let other = there().find(|(_, of)| of.is_custom() != is_custom);
            let name = other.map(|(row, _)| row.measurement()).unwrap_or_default();
            walk.note(Note::Schemas(name), place)?;
            Ok(None)
        }
    }
}

/// What a label tells of a value.
type Told<'t> = &'t dyn Fn(Point<'_>) -> Option<Arc<str>>;

/// How many series of each group have each value, as a label of some name tells it.
fn counted<'q>(
    walk: &Walk<'q>,
    plan: &GridAggregate,
    input: &Gridded<'_>,
    (name, told): (&Arc<str>, Told<'_>),
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let mut made = Gridded::none(walk);
    for (labels, rows) in groups(plan, input) {
        let mut tally = Tally::new(walk, name, steps);
        for row in rows {
            walk.meter.check(steps.count)?;
            for index in 0..steps.count {
                if let Some(value) = row.point(index).and_then(told) {
                    tally.add(value, index)?;
                }
            }
        }
        tally.finish(&labels, walk, &mut made)?;
    }
    Ok(made)
}

/// A value as that of a label.
fn text_of(of: Point<'_>) -> Option<Arc<str>> {
    Some(match of {
        Point::Number(number) => decimal(number).into(),
        Point::Histogram(histogram) => spelled(histogram).into(),
    })
}

/// A number as a label's value: the shortest one without an exponent.
fn decimal(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    }
}
