//! What histograms come to, native ones and those that are series of counts up to a bound (`le`),
//! as Prometheus 3 calculates it (`promql/quantile.go`).

use super::gapped::Gapped;
use super::histograms::{self, Quantile};
use super::row::{GridRow, measurement};
use super::{Gridded, Looked, Walk, evaluated, joined};
use crate::Error;
use foliot_model::{Histogram, Label, Labels};
use foliot_plan::grid::{Grid, HistogramFigure, Histograms, Mended, Note, Place, Steps, general};
use std::collections::HashMap;
use std::sync::Arc;

/// The label that holds a bucket's upper bound.
pub(super) const BOUND: &str = "le";

/// A count that is lower than the one before by no more than this share of it was rounded so.
const ROUNDED: f64 = 1e-12;

/// A histogram: the series of its buckets by their bounds, and the native ones of the same labels.
#[derive(Default)]
struct Group<'g> {
    rows: Vec<(f64, &'g GridRow)>,
    native: Option<&'g GridRow>,
}

/// One thing that is asked of each histogram.
struct Asked {
    /// A label that says what.
    label: Option<Arc<str>>,
    /// Scalars: a share, or two values.
    first: Gapped,
    second: Option<Gapped>,
}

pub(super) fn buckets<'q>(
    walk: &Walk<'q>,
    plan: &Histograms,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let all = asked(walk, &plan.figure, steps)?;
    let input = evaluated(walk, &plan.input, steps)?;
    let groups = grouped(walk, &input, plan.place)?;
    let (mut made, mut looked) = (Gridded::none(walk), Looked::new(walk));
    for one in &all {
        for (labels, group) in &groups {
            let (mut labels, mut is_nameless) = {
                let put_off = group.native.or(group.rows.first().map(|(_, row)| *row));
                let (labels, is_late) = walk.unnamed(labels);
                (labels, is_late || put_off.is_some_and(|row| row.is_nameless))
            };
            if let (Some(label), Some(share)) = (&one.label, one.first.numbers().next()) {
                labels = with_share(&labels, label, share);
                is_nameless &= &**label != foliot_plan::grid::MEASUREMENT;
            }
            let mut values = Vec::with_capacity(steps.count);
            for index in 0..steps.count {
                looked.at(group.rows.len() + 1)?;
                values.push(figured(walk, plan, one, group, (index, steps.at(index)))?);
            }
            made.push(walk, GridRow { is_nameless, ..GridRow::numbers(labels, values) })?;
        }
    }
    joined(walk, made)
}

/// What is asked, with the values of the scalars that say it.
fn asked(walk: &Walk<'_>, figure: &HistogramFigure, steps: &Steps) -> Result<Vec<Asked>, Error> {
    let scalars = |of: &Grid| Ok::<_, Error>(evaluated(walk, of, steps)?.scalars().clone());
    let share = |of: &Grid, place: Place, label: Option<&Arc<str>>| {
        let first = scalars(of)?;
        for share in first.numbers() {
            walk.share(share, place)?;
        }
        Ok(Asked { label: label.cloned(), first, second: None })
    };
    match figure {
        HistogramFigure::Quantile(of, place) => Ok(vec![share(of, *place, None)?]),
        HistogramFigure::Quantiles { label, shares } => {
            shares.iter().map(|(of, place)| share(of, *place, Some(label))).collect()
        }
        // Nobody asks for them here: counts.rs.
        HistogramFigure::Share(_) | HistogramFigure::Moment(_) => Ok(Vec::new()),
        HistogramFigure::Fraction(lower, upper) => {
            let (first, second) = (scalars(lower)?, Some(scalars(upper)?));
            Ok(vec![Asked { label: None, first, second }])
        }
    }
}

/// Labels with one that says which share.
fn with_share(labels: &Labels, name: &Arc<str>, share: f64) -> Labels {
    let text = general(share, None);
    let is_plain = text.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'N' | b'I'));
    let value = if is_plain { text } else { format!("{text}.0") };
    let own = Label { name: name.clone(), value: value.into() };
    let others = labels.iter().filter(|label| label.name != *name).cloned();
    Labels::new(others.chain([own]).collect())
}

/// Histograms by their labels, in the order in which they are met.
fn grouped<'g>(
    walk: &Walk<'_>,
    input: &'g Gridded<'_>,
    place: Place,
) -> Result<Vec<(Labels, Group<'g>)>, Error> {
    let mut groups: Vec<(Labels, Group<'_>)> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    let mut find = |labels: Labels, groups: &mut Vec<(Labels, Group<'g>)>| {
        *numbers.entry(labels.clone()).or_insert_with(|| {
            groups.push((labels, Group::default()));
            groups.len() - 1
        })
    };
    for row in &input.rows {
        if !row.histograms.is_empty() {
            let number = find(row.labels.clone(), &mut groups);
            groups.get_mut(number).into_iter().for_each(|(_, group)| group.native = Some(row));
        }
        if !row.values.has_any() {
            continue;
        }
        let text = row.labels.get(BOUND).cloned().unwrap_or_default();
        let Ok(bound) = text.parse::<f64>() else {
            let measurement = named(walk, &row.labels);
            walk.note(Note::Bound { text, measurement }, place)?;
            continue;
        };
        // Histograms of two names are two, also where nothing but the name tells them apart.
        let others = row.labels.iter().filter(|label| &*label.name != BOUND);
        let number = find(others.cloned().collect::<Vec<_>>().into(), &mut groups);
        groups.get_mut(number).into_iter().for_each(|(_, group)| group.rows.push((bound, row)));
    }
    for (_, group) in &mut groups {
        group.rows.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    }
    Ok(groups)
}

/// What is asked of a histogram at an instant.
fn figured(
    walk: &Walk<'_>,
    plan: &Histograms,
    one: &Asked,
    group: &Group<'_>,
    (index, at_ns): (usize, i64),
) -> Result<Option<f64>, Error> {
    let there = group.rows.iter();
    let counts = there.filter_map(|(bound, row)| Some((*bound, row.values.get(index)?)));
    let counts: Vec<(f64, f64)> = counts.collect();
    let native = group.native.and_then(|row| Some((row, row.histograms.get(index)?.as_deref()?)));
    let parameter = |of: &Gapped| of.get(index).unwrap_or(f64::NAN);
    let first = parameter(&one.first);
    let second = one.second.as_ref().map(parameter);
    match native {
        Some((row, _)) if !counts.is_empty() => {
            walk.note(Note::Twofold(named(walk, &row.labels)), plan.place)?;
            Ok(None)
        }
        Some((row, of)) => {
            let name = named(walk, &row.labels);
            native_figure(walk, (first, second), of, (name, plan.place)).map(Some)
        }
        None if counts.is_empty() => Ok(None),
        None => match second {
            Some(upper) => Ok(Some(fraction(first, upper, counts))),
            None => {
                let (quantile, fallen) = quantile(first, counts);
                if let Some(Fallen { bound_min, bound_max, fall_max }) = fallen {
                    let row = group.rows.first();
                    let name = row.map(|(_, row)| named(walk, &row.labels)).unwrap_or_default();
                    let (place, count, first_ns, last_ns) = (plan.place, 1, at_ns, at_ns);
                    let mended =
                        Mended { place, count, first_ns, last_ns, bound_min, bound_max, fall_max };
                    walk.mended(&name, mended)?;
                }
                Ok(Some(quantile))
            }
        },
    }
}

/// The measurement that notes show: none where it is dropped at once, as Prometheus has it.
fn named(walk: &Walk<'_>, labels: &Labels) -> Arc<str> {
    if walk.names_late { measurement(labels) } else { Arc::default() }
}

/// What is asked of a native histogram, with notes of observations that are no numbers.
fn native_figure(
    walk: &Walk<'_>,
    (first, second): (f64, Option<f64>),
    of: &Histogram,
    (name, place): (Arc<str>, Place),
) -> Result<f64, Error> {
    if let Some(upper) = second {
        let (fraction, leaves_out) = histograms::fraction(first, upper, of);
        if leaves_out {
            walk.note(Note::FractionLeavesOut(name), place)?;
        }
        return Ok(fraction);
    }
    Ok(match histograms::quantile(first, of) {
        Quantile::Plain(quantile) => quantile,
        Quantile::Skewed(quantile) => {
            walk.note(Note::QuantileIsSkewed(name), place)?;
            quantile
        }
        Quantile::Nan => {
            walk.note(Note::QuantileIsNan(name), place)?;
            f64::NAN
        }
    })
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
    coalesce(&mut counts);
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

/// Counts of the same bound are of one bucket.
fn coalesce(counts: &mut Vec<(f64, f64)>) {
    counts.dedup_by(|(bound, count), (before, sum)| {
        let is_same = bound == before;
        *sum += if is_same { *count } else { 0.0 };
        is_same
    });
}

/// Which share of all counts lies between two values, in proportion within a bucket.
fn fraction(lower: f64, upper: f64, mut counts: Vec<(f64, f64)>) -> f64 {
    coalesce(&mut counts);
    let (Some(&(lowest, _)), Some(&(highest, all))) = (counts.first(), counts.last()) else {
        return f64::NAN;
    };
    match () {
        () if highest != f64::INFINITY => return f64::NAN,
        () if all == 0.0 || lower.is_nan() || upper.is_nan() => return f64::NAN,
        () if lower >= upper => return 0.0,
        () => {}
    }
    // Where all bounds are above zero, so is what is counted.
    let mut from = if lowest <= 0.0 { f64::NEG_INFINITY } else { 0.0 };
    let (mut rank, mut low, mut high) = (0.0, None, None);
    for (bound, count) in counts {
        let below = |value: f64| match from == f64::NEG_INFINITY {
            true => count,
            false => rank + (count - rank) * (value - from) / (bound - from),
        };
        for (value, at) in [(lower, &mut low), (upper, &mut high)] {
            match at {
                None if from >= value => *at = Some(rank),
                None if bound > value => *at = Some(below(value)),
                _ => {}
            }
        }
        (rank, from) = (count, bound);
    }
    let [low, high] = [low, high].map(|at: Option<f64>| at.filter(|at| *at <= all).unwrap_or(all));
    (high - low) / all
}
