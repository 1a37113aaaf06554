//! Several series into one per group, or some of each group.

use super::binary::some_of;
use super::fold::{average, deviation, quantile, sum};
use super::{GridRow, Gridded, Looked, Walk, evaluated, value};
use crate::Error;
use foliot_model::{Label, Labels};
use foliot_plan::grid::{GridAggregate, GroupFold, Place, Steps};
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn aggregate<'q>(
    walk: &Walk<'q>,
    plan: &GridAggregate,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, &plan.input, steps)?;
    let parameter = match &plan.fold {
        GroupFold::Quantile(of) | GroupFold::Top(of) | GroupFold::Bottom(of) => {
            Some(evaluated(walk, of, steps)?)
        }
        _ => None,
    };
    let parameters = parameter.as_ref().map_or(&[][..], Gridded::scalars);
    let picks = matches!(plan.fold, GroupFold::Top(_) | GroupFold::Bottom(_));
    if picks && parameters.iter().flatten().any(|count| count.is_nan()) {
        return Err(Error::Plan("Parameter value is NaN".to_owned()));
    }
    if let GroupFold::Quantile(_) = plan.fold {
        noted(walk, parameters, plan.place)?;
    }
    if let GroupFold::CountValues(name) = &plan.fold {
        return counted(walk, plan, &input, name, steps);
    }
    let (mut made, mut looked) = (Gridded::none(walk), Looked::new(walk));
    for (labels, rows) in groups(plan, &input) {
        match &plan.fold {
            GroupFold::Top(_) => picked(walk, &rows, parameters, steps, true, &mut made)?,
            GroupFold::Bottom(_) => picked(walk, &rows, parameters, steps, false, &mut made)?,
            fold => {
                let mut values = Vec::with_capacity(steps.count);
                for index in 0..steps.count {
                    looked.at(rows.len())?;
                    let parameter = value(parameters, index).unwrap_or(f64::NAN);
                    values.push(folded(fold, &rows, index, parameter));
                }
                made.push(walk, GridRow { labels, values })?;
            }
        }
    }
    Ok(made)
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

fn folded(fold: &GroupFold, rows: &[&GridRow], index: usize, parameter: f64) -> Option<f64> {
    let values = || rows.iter().filter_map(|row| value(&row.values, index));
    values().next()?;
    Some(match fold {
        GroupFold::Sum => sum(values()),
        GroupFold::Average => average(values()),
        GroupFold::Min => values().fold(f64::NAN, f64::min),
        GroupFold::Max => values().fold(f64::NAN, f64::max),
        GroupFold::Count => values().count() as f64,
        GroupFold::Present => 1.0,
        GroupFold::Deviation => deviation(values()).sqrt(),
        GroupFold::Variance => deviation(values()),
        GroupFold::Quantile(_) => quantile(parameter, values().collect()),
        GroupFold::Top(_) | GroupFold::Bottom(_) | GroupFold::CountValues(_) => return None,
    })
}

/// The series of a group with the highest or lowest values, at each instant.
fn picked(
    walk: &Walk<'_>,
    rows: &[&GridRow],
    parameters: &[Option<f64>],
    steps: &Steps,
    is_top: bool,
    made: &mut Gridded<'_>,
) -> Result<(), Error> {
    let mut kept: Vec<Vec<Option<f64>>> = Vec::new();
    let mut held = walk.meter.open();
    held.add(rows.len().saturating_mul(steps.count * size_of::<Option<f64>>()))?;
    kept.resize(rows.len(), vec![None; steps.count]);
    let (mut order, mut looked) = (Vec::new(), Looked::new(walk));
    for index in 0..steps.count {
        looked.at(rows.len())?;
        let count = value(parameters, index).unwrap_or(0.0);
        if count < 1.0 {
            continue;
        }
        order.clear();
        let there = rows.iter().enumerate();
        order.extend(there.filter_map(|(at, row)| Some((at, value(&row.values, index)?))));
        // What is no number is chosen last.
        order.sort_by(|(_, a), (_, b)| match (a.is_nan(), b.is_nan()) {
            (false, false) if is_top => b.total_cmp(a),
            (false, false) => a.total_cmp(b),
            (a, b) => a.cmp(&b),
        });
        for (at, value) in order.iter().take(count as usize) {
            let place = kept.get_mut(*at).and_then(|values| values.get_mut(index));
            place.into_iter().for_each(|place| *place = Some(*value));
        }
    }
    // One instant is answered in the order of its values.
    let order =
        if steps.count == 1 { order.iter().map(|(at, _)| *at).collect() } else { Vec::new() };
    let order: Vec<usize> = if order.is_empty() { (0..rows.len()).collect() } else { order };
    for at in order {
        if let (Some(row), Some(values)) = (rows.get(at), kept.get_mut(at)) {
            let values = std::mem::take(values);
            made.push(walk, GridRow { labels: row.labels.clone(), values })?;
        }
    }
    Ok(())
}

/// How many series have each value, which is a label of their group.
fn counted<'q>(
    walk: &Walk<'q>,
    plan: &GridAggregate,
    input: &Gridded<'_>,
    name: &Arc<str>,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let mut rows: Vec<GridRow> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    let mut held = walk.meter.open();
    for row in &input.rows {
        walk.meter.check(steps.count)?;
        let group = some_of(&plan.by, &row.labels);
        for (index, one) in row.values.iter().enumerate() {
            let Some(one) = one else { continue };
            let own = Label { name: name.clone(), value: spelled(*one).into() };
            let labels = Labels::new(group.iter().cloned().chain([own]).collect());
            let number = match numbers.get(&labels) {
                Some(number) => *number,
                None => {
                    let made = GridRow { labels: labels.clone(), values: vec![None; steps.count] };
                    held.add(made.bytes())?;
                    rows.push(made);
                    numbers.insert(labels, rows.len() - 1);
                    rows.len() - 1
                }
            };
            let count = rows.get_mut(number).and_then(|row| row.values.get_mut(index));
            count.into_iter().for_each(|count| *count = Some(count.unwrap_or(0.0) + 1.0));
        }
    }
    drop(held);
    let mut made = Gridded::none(walk);
    rows.into_iter().try_for_each(|row| made.push(walk, row))?;
    Ok(made)
}

/// A number as a label's value: the shortest one without an exponent.
fn spelled(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    }
}
