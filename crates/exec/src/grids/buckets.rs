//! Quantiles of histograms that are series of counts up to a bound (`le`), as Prometheus 3
//! calculates them (`promql/quantile.go`).

use super::{GridRow, Gridded, Looked, Walk, evaluated, joined, unnamed, value};
use crate::Error;
use foliot_model::Labels;
use foliot_plan::grid::{Grid, Mended, Place, Steps};
use std::collections::HashMap;

/// The label that holds a bucket's upper bound.
const BOUND: &str = "le";

/// A count that is lower than the one before by no more than this share of it was rounded so.
const ROUNDED: f64 = 1e-12;

pub(super) fn buckets<'q>(
    walk: &Walk<'q>,
    share: &Grid,
    input: &Grid,
    (share_place, place): (Place, Place),
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let shares = evaluated(walk, share, steps)?;
    let input = evaluated(walk, input, steps)?;
    let mut groups: Vec<(Labels, Vec<(f64, &GridRow)>)> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    for row in &input.rows {
        let text = row.labels.get(BOUND).map_or("", |bound| &**bound);
        let Ok(bound) = text.parse::<f64>() else {
            walk.bound(text, place)?;
            continue;
        };
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
    for share in shares.scalars().iter().flatten() {
        walk.share(*share, share_place)?;
    }
    let (mut made, mut looked) = (Gridded::none(walk), Looked::new(walk));
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
            values.push((!counts.is_empty()).then(|| {
                let (quantile, fallen) = quantile(share, counts);
                if let Some(Fallen { bound_min, bound_max, fall_max }) = fallen {
                    let (at_ns, count) = (steps.at(index), 1);
                    let (first_ns, last_ns) = (at_ns, at_ns);
                    walk.mended(Mended {
                        place,
                        count,
                        first_ns,
                        last_ns,
                        bound_min,
                        bound_max,
                        fall_max,
                    });
                }
                quantile
            }));
        }
        made.push(walk, GridRow { labels: unnamed(&labels), values })?;
    }
    joined(made)
}

/// Counts that fell: between which bounds, and how far at most.
struct Fallen {
    bound_min: f64,
    bound_max: f64,
    fall_max: f64,
}

/// A quantile of counts up to bounds, which ascend.
fn quantile(share: f64, mut counts: Vec<(f64, f64)>) -> (f64, Option<Fallen>) {
    match share {
        _ if share.is_nan() => return (f64::NAN, None),
        _ if share < 0.0 => return (f64::NEG_INFINITY, None),
        _ if share > 1.0 => return (f64::INFINITY, None),
        _ if counts.last().is_none_or(|(bound, _)| *bound != f64::INFINITY) => {
            return (f64::NAN, None);
        }
        _ => {}
    }
    // Counts of the same bound are of one bucket.
    counts.dedup_by(|(bound, count), (before, sum)| {
        let is_same = bound == before;
        *sum += if is_same { *count } else { 0.0 };
        is_same
    });
    let fallen = leveled(&mut counts);
    (between(share, &counts), fallen)
}

/// Holds counts where they would fall: rates, and scrapes that tore a histogram apart, do that.
fn leveled(counts: &mut [(f64, f64)]) -> Option<Fallen> {
    let (mut highest, mut fallen) = (f64::NEG_INFINITY, None);
    for (bound, count) in counts {
        let is_rounded = (highest - *count).abs() <= ROUNDED * highest.abs().min(count.abs());
        if !is_rounded && *count < highest {
            let first = Fallen { bound_min: *bound, bound_max: *bound, fall_max: 0.0 };
            let fallen = fallen.get_or_insert(first);
            fallen.bound_max = *bound;
            fallen.fall_max = fallen.fall_max.max(highest - *count);
        }
        if is_rounded || *count < highest {
            *count = highest;
        }
        highest = highest.max(*count);
    }
    fallen
}

/// The bound below which a share of all counts lies, between neighbours in proportion.
fn between(share: f64, counts: &[(f64, f64)]) -> f64 {
    let [.., (before_last, _), (_, all)] = *counts else { return f64::NAN };
    if all == 0.0 || all.is_nan() {
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
