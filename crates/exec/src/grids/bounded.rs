//! Counts within ranges, as VictoriaMetrics' histograms have them, as counts up to bounds, as all
//! others do (`app/vmselect/promql/transform.go` there).

use super::row::GridRow;
use super::{Gridded, Looked, Walk, evaluated, value};
use crate::Error;
use foliot_model::{Label, Labels};
use foliot_plan::grid::{Grid, Steps};
use std::collections::HashMap;

/// The label of a range, `1.000e+00...1.136e+00`, and that of an upper bound.
const RANGE: &str = "vmrange";
const BOUND: &str = "le";

/// What counts as a bucket without an end has.
const ENDLESS: &str = "+Inf";

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
        !self.row.values.iter().flatten().any(|count| *count > 0.0)
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
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, input, steps)?;
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
                let mut there = bucket.rows.iter().filter_map(|row| value(&row.values, index));
                *below += there.next().filter(|count| *count > 0.0).unwrap_or(0.0);
            }
            let own = Label { name: BOUND.into(), value: bucket.bound.into() };
            let labels = Labels::new(labels.iter().cloned().chain([own]).collect());
            let values = below.iter().map(|count| Some(*count)).collect();
            made.push(walk, GridRow::numbers(labels, values))?;
        }
    }
    Ok(made)
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
