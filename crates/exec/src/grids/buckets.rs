//! Quantiles of histograms that are series of counts up to a bound (`le`), as Prometheus 3
//! calculates them (`promql/quantile.go`).

use super::{GridRow, Gridded, Looked, grid, joined, unnamed, value};
use crate::{Error, Query};
use foliot_model::Labels;
use foliot_plan::grid::{Grid, Steps};
use std::collections::HashMap;

/// The label that holds a bucket's upper bound.
const BOUND: &str = "le";

/// A count that is lower than the one before by no more than this share of it was rounded so.
const ROUNDED: f64 = 1e-12;

pub(super) fn buckets<'q>(
    query: &'q Query<'_>,
    share: &Grid,
    input: &Grid,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let shares = grid(query, share, steps)?;
    let input = grid(query, input, steps)?;
    let mut groups: Vec<(Labels, Vec<(f64, &GridRow)>)> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    for row in &input.rows {
        let bound = row.labels.get(BOUND).and_then(|bound| bound.parse::<f64>().ok());
        let Some(bound) = bound else { continue };
        // Histograms of two names are two, also where nothing but the name tells them apart.
        let others = row.labels.iter().filter(|label| &*label.name != BOUND);
        let labels: Labels = others.cloned().collect::<Vec<_>>().into();
        let number = *numbers.entry(labels.clone()).or_insert_with(|| {
            groups.push((labels, Vec::new()));
            groups.len() - 1
        });
        if let Some((_, rows)) = groups.get_mut(number) {
            rows.push((bound, row));
        }
    }
    let (mut made, mut looked) = (Gridded::none(query), Looked::new(query));
    for (labels, mut rows) in groups {
        rows.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let mut values = Vec::with_capacity(steps.count);
        for index in 0..steps.count {
            looked.at(rows.len())?;
            let there = rows.iter();
            let counts =
                there.filter_map(|(bound, row)| Some((*bound, value(&row.values, index)?)));
            let counts: Vec<(f64, f64)> = counts.collect();
            let share = value(shares.scalars(), index).unwrap_or(f64::NAN);
            values.push((!counts.is_empty()).then(|| quantile(share, counts)));
        }
        made.push(query, GridRow { labels: unnamed(&labels), values })?;
    }
    joined(made)
}

/// A quantile of counts up to bounds, which ascend.
fn quantile(share: f64, mut counts: Vec<(f64, f64)>) -> f64 {
    match share {
        _ if share.is_nan() => return f64::NAN,
        _ if share < 0.0 => return f64::NEG_INFINITY,
        _ if share > 1.0 => return f64::INFINITY,
        _ => {}
    }
    // Counts of the same bound are of one bucket.
    counts.dedup_by(|(bound, count), (before, sum)| {
        let is_same = bound == before;
        *sum += if is_same { *count } else { 0.0 };
        is_same
    });
    // Rates, and scrapes that tore a histogram apart, can make counts fall.
    let mut highest = f64::NEG_INFINITY;
    for (_, count) in &mut counts {
        let is_rounded = (highest - *count).abs() <= ROUNDED * highest.abs().min(count.abs());
        if is_rounded || *count < highest {
            *count = highest;
        }
        highest = highest.max(*count);
    }
    let [.., (before_last, _), (last, all)] = counts[..] else { return f64::NAN };
    if last != f64::INFINITY || all == 0.0 || all.is_nan() {
        return f64::NAN;
    }
    let rank = share * all;
    let finite = counts.get(..counts.len() - 1).unwrap_or_default();
    let at = finite.partition_point(|(_, count)| *count < rank);
    let Some(&(bound, count)) = finite.get(at) else { return before_last };
    match at.checked_sub(1).and_then(|before| finite.get(before)) {
        None if bound <= 0.0 => bound,
        None => bound * (rank / count),
        Some((from, below)) => from + (bound - from) * ((rank - below) / (count - below)),
    }
}
