//! Some series of each group, with their own labels.

use super::aggregate::ignoring;
use super::gapped::Gapped;
use super::row::GridRow;
use super::{Gridded, Looked, Walk};
use crate::Error;
use foliot_model::Labels;
use foliot_plan::grid::{GridAggregate, GroupFold, Note, Steps};
use xxhash_rust::xxh3::Xxh3;

/// The series of a group that are picked, at each instant.
pub(super) fn picked(
    walk: &Walk<'_>,
    plan: &GridAggregate,
    rows: &[&GridRow],
    parameters: &Gapped,
    steps: &Steps,
    made: &mut Gridded<'_>,
) -> Result<(), Error> {
    let mut kept: Vec<Vec<bool>> = Vec::new();
    let mut held = walk.meter.open();
    held.add(rows.len().saturating_mul(steps.count))?;
    kept.resize(rows.len(), vec![false; steps.count]);
    let (mut order, mut looked) = (Vec::new(), Looked::new(walk));
    for index in 0..steps.count {
        looked.at(rows.len())?;
        let parameter = parameters.get(index).unwrap_or(0.0);
        pick(walk, plan, rows, (index, parameter), &mut order)?;
        for at in &order {
            let place = kept.get_mut(*at).and_then(|values| values.get_mut(index));
            place.into_iter().for_each(|place| *place = true);
        }
    }
    // One instant is answered in the order of its values.
    let order = if steps.count == 1 { order } else { (0..rows.len()).collect() };
    for at in order {
        if let (Some(row), Some(kept)) = (rows.get(at), kept.get(at)) {
            let is_kept = |index: usize| kept.get(index).copied().unwrap_or_default();
            made.push(walk, row.only(is_kept))?;
        }
    }
    Ok(())
}

/// The numbers of the rows that are picked at an instant, in their order.
fn pick(
    walk: &Walk<'_>,
    plan: &GridAggregate,
    rows: &[&GridRow],
    (index, parameter): (usize, f64),
    order: &mut Vec<usize>,
) -> Result<(), Error> {
    order.clear();
    let there = rows.iter().enumerate().filter(|(_, row)| row.has(index));
    let is_top = match &plan.fold {
        GroupFold::Top(_) => true,
        GroupFold::Bottom(_) => false,
        GroupFold::Some(_) => {
            let count = if parameter < 1.0 { 0 } else { parameter as usize };
            order.extend(there.map(|(at, _)| at).take(count));
            return Ok(());
        }
        _ => {
            let is_in = |row: &GridRow| is_in_part(offset(&row.labels), parameter);
            order.extend(there.filter(|(_, row)| is_in(row)).map(|(at, _)| at));
            return Ok(());
        }
    };
    if parameter < 1.0 {
        return Ok(());
    }
    let mut numbers = Vec::with_capacity(rows.len());
    for (at, row) in there {
        match row.values.get(index) {
            Some(number) => numbers.push((at, number)),
            None => {
                let name = ignoring(&plan.fold).unwrap_or_default();
                walk.note(Note::Ignored(name), plan.histograms_place)?;
            }
        }
    }
    // What is no number is chosen last, and of equal ones the first.
    let in_order = |(a_at, a): &(usize, f64), (b_at, b): &(usize, f64)| {
        let by_value = match (a.is_nan(), b.is_nan()) {
            (false, false) if is_top => b.total_cmp(a),
            (false, false) => a.total_cmp(b),
            (a, b) => a.cmp(&b),
        };
        by_value.then(a_at.cmp(b_at))
    };
    let count = parameter as usize;
    if count < numbers.len() {
        numbers.select_nth_unstable_by(count, in_order);
        numbers.truncate(count);
    }
    numbers.sort_unstable_by(in_order);
    order.extend(numbers.into_iter().map(|(at, _)| at));
    Ok(())
}

/// Where a series lies between 0 and 1: always at the same place.
fn offset(labels: &Labels) -> f64 {
    let mut hash = Xxh3::new();
    for label in labels.iter() {
        hash.update(label.name.as_bytes());
        hash.update(&[0xff]);
        hash.update(label.value.as_bytes());
        hash.update(&[0xff]);
    }
    hash.digest() as f64 / u64::MAX as f64
}

/// Whether an offset lies in the first part of all, or for a negative ratio in the rest behind it.
fn is_in_part(offset: f64, ratio: f64) -> bool {
    (ratio >= 0.0 && offset < ratio) || (ratio < 0.0 && offset >= 1.0 + ratio)
}
