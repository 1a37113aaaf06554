//! Counts within ranges, as VictoriaMetrics' histograms have them, as counts up to bounds, as all
//! others do (`app/vmselect/promql/transform.go` there).

use super::buckets::BOUND;
use super::gapped::Gapped;
use super::row::GridRow;
use super::tally::RANGE;
use super::{Gridded, Looked, Walk, evaluated};
use crate::Error;
use foliot_model::{Label, Labels};
use foliot_plan::grid::{Grid, Steps};
use std::collections::HashMap;

/// What counts as a bucket without an end has.
const ENDLESS: &str = "+Inf";

/// Bounds that are left to a histogram at least: the first and the last are never taken away.
const BOUNDS_MIN: usize = 3;

/// Counts below this are none: what subtraction leaves of equal ones.
const NOTHING: f64 = 1e-9;

/// A series of what lies within a range.
struct Ranged<'g> {
    row: &'g GridRow,
    /// Bounds as they are spelled, and as numbers.
    texts: (&'g str, &'g str),
    from: f64,
    to: f64,
}

impl<'g> Ranged<'g> {
    fn of(row: &'g GridRow) -> Option<Self> {
        let (from, to) = row.labels.get(RANGE)?.split_once("...")?;
        Some(Self { row, texts: (from, to), from: from.parse().ok()?, to: to.parse().ok()? })
    }

    fn counts_nothing(&self) -> bool {
        !self.row.values.numbers().any(|count| count > 0.0)
    }
}

/// A bucket up to a bound, and the series of which it is made.
struct Bucket<'g> {
    bound: &'g str,
    rows: Vec<&'g GridRow>,
}

pub(super) fn bounded<'q>(
    walk: &Walk<'q>,
    input: &Grid,
    bounds_max: Option<usize>,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, input, steps)?;
    let made = all_bounded(walk, &input, steps)?;
    match bounds_max {
        None => Ok(made),
        Some(bounds_max) => fewer(walk, made, bounds_max.max(BOUNDS_MIN)),
    }
}

fn all_bounded<'q>(
    walk: &Walk<'q>,
    input: &Gridded<'_>,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let mut made = Gridded::none(walk);
    let mut groups: Vec<(Labels, Vec<Ranged<'_>>)> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    for row in &input.rows {
        let Some(ranged) = Ranged::of(row) else {
            if row.labels.get(RANGE).is_none() && row.labels.get(BOUND).is_some() {
                made.push(walk, row.clone())?;
            }
            continue;
        };
        let others = row.labels.iter().filter(|label| !matches!(&*label.name, RANGE | BOUND));
        let labels: Labels = others.cloned().collect::<Vec<_>>().into();
        let number = *numbers.entry(labels.clone()).or_insert_with(|| {
            groups.push((labels, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, ranges)) = groups.get_mut(number) {
            ranges.push(ranged);
        }
    }
    let mut looked = Looked::new(walk);
    for (labels, mut ranges) in groups {
        ranges.sort_by(|a, b| a.to.total_cmp(&b.to));
        let mut below = vec![0.0; steps.count];
        for bucket in buckets(&ranges) {
            for (index, below) in below.iter_mut().enumerate() {
                looked.at(bucket.rows.len() + 1)?;
                let mut there = bucket.rows.iter().filter_map(|row| row.values.get(index));
                *below += there.next().filter(|count| *count > 0.0).unwrap_or(0.0);
            }
            let own = Label { name: BOUND.into(), value: bucket.bound.into() };
            let labels = Labels::new(labels.iter().cloned().chain([own]).collect());
            let values: Gapped = below.iter().map(|count| Some(*count)).collect();
            made.push(walk, GridRow::numbers(labels, values))?;
        }
    }
    Ok(made)
}

/// What counts up to a bound, and how much of it lies behind the bound before, at all instants.
struct Weighed {
    row: GridRow,
    bound: f64,
    weight: f64,
}

/// Histograms with no more than so many bounds each. Empty buckets at the ends go first, and then
/// one after the other those that are the lightest together with the one behind them.
fn fewer<'q>(walk: &Walk<'q>, all: Gridded<'q>, bounds_max: usize) -> Result<Gridded<'q>, Error> {
    let mut made = Gridded::none(walk);
    let mut groups: Vec<Vec<Weighed>> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    for row in all.rows {
        let Some(bound) = row.labels.get(BOUND).and_then(|bound| bound.parse().ok()) else {
            continue;
        };
        let others = row.labels.iter().filter(|label| &*label.name != BOUND);
        let number =
            *numbers.entry(others.cloned().collect::<Vec<_>>().into()).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
        let weighed = Weighed { row, bound, weight: 0.0 };
        if let Some(group) = groups.get_mut(number) {
            group.push(weighed);
        }
    }
    for mut group in groups {
        if group.len() > bounds_max {
            walk.meter.check(group.iter().map(|one| one.row.values.len()).sum())?;
            weigh(&mut group);
            lighten(&mut group, bounds_max);
        }
        group.into_iter().try_for_each(|one| made.push(walk, one.row))?;
    }
    Ok(made)
}

/// Puts buckets in the order of their bounds, and weighs them.
fn weigh(group: &mut [Weighed]) {
    group.sort_by(|a, b| a.bound.total_cmp(&b.bound));
    let mut before: Option<Gapped> = None;
    for one in group {
        let count = |values: &Gapped, at| values.get(at).unwrap_or(f64::NAN);
        let own = |at| match &before {
            Some(before) => count(&one.row.values, at) - count(before, at),
            None => count(&one.row.values, at),
        };
        one.weight = (0..one.row.values.len()).map(own).sum();
        before = Some(one.row.values.clone());
    }
}

fn lighten(group: &mut Vec<Weighed>, bounds_max: usize) {
    let is_empty = |of: Option<&Weighed>| of.is_some_and(|one| one.weight.abs() < NOTHING);
    while group.len() > bounds_max && is_empty(group.last()) {
        group.pop();
    }
    let first = group.iter().take(group.len().saturating_sub(bounds_max));
    let first = first.take_while(|one| is_empty(Some(*one))).count();
    group.drain(..first);
    while group.len() > bounds_max {
        // The first and the last stay: they tell the least and the greatest value.
        let pairs = group.iter().zip(group.iter().skip(1)).zip(0..).skip(1);
        let pairs = pairs.take(group.len().saturating_sub(3));
        let together = pairs.map(|((one, next), at)| (one.weight + next.weight, at));
        let lightest = together.reduce(|best, next| if next.0 < best.0 { next } else { best });
        let Some((weight, at)) = lightest else { return };
        group.remove(at);
        group.get_mut(at).into_iter().for_each(|next| next.weight = weight);
    }
}

/// The buckets of ranges whose ends ascend: one for each range that counts something, one for each
/// gap before such a range, and the last one, which has no end.
fn buckets<'g>(ranges: &[Ranged<'g>]) -> Vec<Bucket<'g>> {
    let mut buckets: Vec<Bucket<'_>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut before = 0.0;
    for range in ranges.iter().filter(|range| !range.counts_nothing()) {
        let (from, to) = range.texts;
        let mut place = |bound: &'g str| {
            *places.entry(bound).or_insert_with(|| {
                buckets.push(Bucket { bound, rows: Vec::new() });
                buckets.len() - 1
            })
        };
        if range.from != before {
            place(from);
        }
        let place = place(to);
        buckets.get_mut(place).into_iter().for_each(|bucket| bucket.rows.push(range.row));
        before = range.to;
    }
    if before != 0.0 && before != f64::INFINITY {
        buckets.push(Bucket { bound: ENDLESS, rows: Vec::new() });
    }
    buckets
}
