//! Several series into one per group, or some of each group.

use super::binary::some_of;
use super::folding::Folding;
use super::gapped::{Gapped, NOWHERE};
use super::histograms::{self, Incompatible, compact, spelled};
use super::picked::picked;
use super::ranked::ranked;
use super::row::{GridRow, Made, Point};
use super::tally::{RANGE, Tally, range_of};
use super::{Gridded, Walk, each_row, evaluated};
use crate::Error;
use foliot_model::{Histogram, Labels};
use foliot_plan::grid::{Grid, GridAggregate, GroupFold, Labels as By, Note, Place, Steps, Union};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn aggregate<'q>(
    walk: &Walk<'q>,
    plan: &GridAggregate,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    match &plan.fold {
        GroupFold::CountValues(name) => {
            let input = evaluated(walk, &plan.input, steps)?;
            counted(walk, plan, &input, (name, &text_of), steps)
        }
        GroupFold::Ranges => {
            let range = |of: Point<'_>| match of {
                Point::Number(number) => range_of(number),
                Point::Histogram(_) => None,
            };
            let input = evaluated(walk, &plan.input, steps)?;
            counted(walk, plan, &input, (&RANGE.into(), &range), steps)
        }
        GroupFold::Top(of)
        | GroupFold::Bottom(of)
        | GroupFold::Some(of)
        | GroupFold::Part(of)
        | GroupFold::Outliers(of)
        | GroupFold::Ranked { count: of, .. } => chosen(walk, plan, of, steps),
        GroupFold::Any => {
            let mut made = Gridded::none(walk);
            for (_, rows) in groups(plan, &evaluated(walk, &plan.input, steps)?) {
                let first = rows.iter().find(|row| !row.is_empty()).or(rows.first());
                first.map_or(Ok(()), |first| made.push(walk, GridRow::clone(first)))?;
            }
            Ok(made)
        }
        _ => folded(walk, plan, steps),
    }
}

/// Some series of each group.
fn chosen<'q>(
    walk: &Walk<'q>,
    plan: &GridAggregate,
    parameter: &Grid,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, &plan.input, steps)?;
    let parameter = evaluated(walk, parameter, steps)?;
    let parameters = parameter.scalars();
    checked(walk, plan, parameters)?;
    let mut made = Gridded::none(walk);
    for (_, rows) in groups(plan, &input) {
        let is_ranked = match &plan.fold {
            GroupFold::Some(_) => walk.is_loose,
            fold => matches!(fold, GroupFold::Ranked { .. } | GroupFold::Outliers(_)),
        };
        match is_ranked {
            true => ranked(walk, &plan.fold, &rows, parameters, steps, &mut made)?,
            false => picked(walk, plan, &rows, parameters, steps, &mut made)?,
        }
    }
    Ok(made)
}

/// One series of each group.
fn folded<'q>(walk: &Walk<'q>, plan: &GridAggregate, steps: &Steps) -> Result<Gridded<'q>, Error> {
    let mut groups: Vec<Folding<'q>> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    each_row(walk, &plan.input, steps, &mut |row| {
        let labels = some_of(&plan.by, &row.labels);
        let number = match numbers.get(&labels) {
            Some(number) => *number,
            None => {
                numbers.insert(labels.clone(), groups.len());
                groups.push(Folding::new(walk, &plan.fold, labels, steps)?);
                groups.len() - 1
            }
        };
        groups.get_mut(number).map_or(Ok(()), |group| group.add(walk, &plan.fold, row))
    })?;
    let parameter = match &plan.fold {
        GroupFold::Quantile(of) => Some(evaluated(walk, of, steps)?),
        _ => None,
    };
    let parameters = parameter.as_ref().map_or(&NOWHERE, Gridded::scalars);
    checked(walk, plan, parameters)?;
    let mut made = Gridded::none(walk);
    for group in groups {
        group.finish(walk, plan, (parameters, steps), &mut made)?;
    }
    Ok(made)
}

/// Refuses parameters that say nothing, and notes those that say too much.
fn checked(walk: &Walk<'_>, plan: &GridAggregate, parameters: &Gapped) -> Result<(), Error> {
    let is_nan = || parameters.iter().flatten().any(|parameter| parameter.is_nan());
    match &plan.fold {
        GroupFold::Top(_) | GroupFold::Bottom(_) | GroupFold::Some(_) if is_nan() => {
            Err(Error::Plan("Parameter value is NaN".to_owned()))
        }
        GroupFold::Part(_) if is_nan() => Err(Error::Plan("Ratio value is NaN".to_owned())),
        GroupFold::Part(_) => {
            let values = || parameters.numbers();
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
fn noted(walk: &Walk<'_>, shares: &Gapped, place: Place) -> Result<(), Error> {
    let shares = || shares.numbers();
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
pub(super) fn together(
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

/// How many series of each group have each value, as a label of some name tells it. Where groups
/// have that label, it is written over: what is then the same group counts as one.
fn counted<'q>(
    walk: &Walk<'q>,
    plan: &GridAggregate,
    input: &Gridded<'_>,
    (name, told): (&Arc<str>, Told<'_>),
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    // Where that label goes away each series is counted in its group, whatever its value. Not so in
    // MetricsQL.
    let goes_away =
        !walk.is_loose && matches!(&plan.by, By::Without(names) if names.contains(name));
    let mut groups: Vec<(Labels, Tally<'_>)> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    for row in &input.rows {
        walk.meter.check(steps.count)?;
        let labels = some_of(&plan.by, &row.labels);
        let others = labels.iter().filter(|label| label.name != *name).cloned();
        let labels: Labels = others.collect::<Vec<_>>().into();
        let number = *numbers.entry(labels.clone()).or_insert_with(|| {
            groups.push((labels, Tally::new(walk, name, steps)));
            groups.len() - 1
        });
        let Some((_, tally)) = groups.get_mut(number) else { continue };
        for index in 0..steps.count {
            if let Some(value) = row.point(index).and_then(told) {
                tally.add(if goes_away { "".into() } else { value }, index)?;
            }
        }
    }
    let mut made = Gridded::none(walk);
    for (labels, tally) in groups {
        tally.finish(&labels, walk, &mut |row| made.keep(row))?;
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
