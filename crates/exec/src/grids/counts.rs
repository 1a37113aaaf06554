//! What histograms come to that are series of counts up to a bound (`le`), as VictoriaMetrics 1.150
//! calculates it (`app/vmselect/promql/transform.go`): nothing is below zero.

use super::buckets::BOUND;
use super::gapped::Gapped;
use super::row::{GridRow, unnamed};
use super::{Gridded, Looked, Walk, evaluated};
use crate::Error;
use foliot_model::{Label, Labels};
use foliot_plan::grid::{Grid, HistogramFigure, Histograms, Moment, Steps};
use std::collections::HashMap;

/// What a figure is, and between which values it lies for sure.
type Figure = [f64; 3];

const NAN: Figure = [f64::NAN; 3];

/// The series of a histogram by their bounds, which ascend.
type Bounds<'g> = Vec<(f64, &'g GridRow)>;

pub(super) fn counts<'q>(
    walk: &Walk<'q>,
    plan: &Histograms,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let scalars = |of: &Grid| Ok::<_, Error>(evaluated(walk, of, steps)?.scalars().clone());
    let (first, second) = match &plan.figure {
        HistogramFigure::Quantile(of, _) | HistogramFigure::Share(of) => {
            (scalars(of)?, Gapped::default())
        }
        HistogramFigure::Fraction(lower, upper) => (scalars(lower)?, scalars(upper)?),
        HistogramFigure::Quantiles { .. } | HistogramFigure::Moment(_) => {
            (Gapped::default(), Gapped::default())
        }
    };
    let input = evaluated(walk, &plan.input, steps)?;
    let (mut made, mut looked) = (Gridded::none(walk), Looked::new(walk));
    for (labels, rows) in grouped(&input) {
        let mut all: [Gapped; 3] = Default::default();
        for index in 0..steps.count {
            looked.at(rows.len() + 1)?;
            let counts = rows.iter().map(|(bound, row)| (*bound, row.values.get(index)));
            let parameter = |of: &Gapped| of.get(index).unwrap_or(f64::NAN);
            let parameters = (parameter(&first), parameter(&second));
            let figure = figured(&plan.figure, parameters, counts.collect());
            all.iter_mut().zip(figure).for_each(|(values, one)| values.push(Some(one)));
        }
        let [values, lower, upper] = all;
        if let Some(name) = &plan.bounds {
            for (side, values) in [("lower", lower), ("upper", upper)] {
                let own = Label { name: name.clone(), value: side.into() };
                let others = labels.iter().filter(|label| label.name != *name).cloned();
                let labels = Labels::new(others.chain([own]).collect());
                made.push(walk, GridRow::numbers(labels, values))?;
            }
        }
        made.push(walk, GridRow::numbers(labels, values))?;
    }
    Ok(made)
}

/// Histograms by their labels without names, in the order in which they are met.
fn grouped<'g>(input: &'g Gridded<'_>) -> Vec<(Labels, Bounds<'g>)> {
    let mut groups: Vec<(Labels, Bounds<'_>)> = Vec::new();
    let mut numbers: HashMap<Labels, usize> = HashMap::new();
    for row in &input.rows {
        let Some(bound) = row.labels.get(BOUND).and_then(|text| text.parse().ok()) else {
            continue;
        };
        let labels = unnamed(&row.labels);
        let others = labels.iter().filter(|label| &*label.name != BOUND);
        let labels: Labels = others.cloned().collect::<Vec<_>>().into();
        let number = *numbers.entry(labels.clone()).or_insert_with(|| {
            groups.push((labels, Vec::new()));
            groups.len() - 1
        });
        groups.get_mut(number).into_iter().for_each(|(_, rows)| rows.push((bound, row)));
    }
    for (_, rows) in &mut groups {
        rows.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    }
    groups
}

fn figured(
    figure: &HistogramFigure,
    (first, second): (f64, f64),
    counts: Vec<(f64, Option<f64>)>,
) -> Figure {
    match figure {
        HistogramFigure::Quantile(..) => quantile(first, &leveled(counts)),
        HistogramFigure::Share(_) => share(first, &leveled(counts)),
        HistogramFigure::Fraction(..) => {
            let counts = leveled(counts);
            let [[lower, ..], [upper, ..]] = [first, second].map(|of| share(of, &counts));
            [upper - lower, f64::NAN, f64::NAN]
        }
        HistogramFigure::Moment(which) => [moment(*which, &counts), f64::NAN, f64::NAN],
        HistogramFigure::Quantiles { .. } => NAN,
    }
}

/// Counts of which those of one bound are one, and none is lower than the one before or missing.
fn leveled(mut counts: Vec<(f64, Option<f64>)>) -> Vec<(f64, f64)> {
    counts.dedup_by(|(bound, count), (before, sum)| {
        let is_same = bound == before;
        if is_same {
            *sum = sum.zip(*count).map(|(a, b)| a + b);
        }
        is_same
    });
    // One alone stays what it is.
    let mut highest = if counts.len() > 1 { 0.0 } else { f64::NAN };
    let mut is_first = true;
    let level = |(bound, count): (f64, Option<f64>)| {
        let is_kept = count.is_some_and(|count| std::mem::take(&mut is_first) || count >= highest);
        is_first = false;
        highest = if is_kept { count.unwrap_or(highest) } else { highest };
        (bound, highest)
    };
    counts.into_iter().map(level).collect()
}

/// The bound below which a share of all counts lies, between neighbours in proportion.
fn quantile(share: f64, counts: &[(f64, f64)]) -> Figure {
    let (Some((_, lowest)), Some((_, all))) = (counts.first(), counts.last()) else { return NAN };
    match share {
        _ if share.is_nan() || *all == 0.0 => return NAN,
        _ if share < 0.0 => return [f64::NEG_INFINITY, f64::NEG_INFINITY, *lowest],
        _ if share > 1.0 => return [f64::INFINITY, *all, f64::INFINITY],
        _ => {}
    }
    let rank = all * share;
    let (mut from, mut below) = (0.0, 0.0);
    for (bound, count) in counts {
        if *count <= 0.0 {
            from = *bound;
        } else if *count < rank {
            (from, below) = (*bound, *count);
        } else if bound.is_infinite() {
            break;
        } else if *count == below {
            return [from, from, *count];
        } else {
            let at = from + (bound - from) * (rank - below) / (count - below);
            return [at, from, *bound];
        }
    }
    let finite = counts.iter().rev().find(|(bound, _)| !bound.is_infinite());
    let last = finite.map_or(f64::NAN, |(bound, _)| *bound);
    [last, last, f64::INFINITY]
}

/// Which share of all counts lies up to a value, in proportion within a bucket.
fn share(upper: f64, counts: &[(f64, f64)]) -> Figure {
    let Some((_, all)) = counts.last() else { return NAN };
    match upper {
        _ if upper.is_nan() => return NAN,
        _ if upper < 0.0 => return [0.0; 3],
        _ if upper == f64::INFINITY => return [1.0; 3],
        _ => {}
    }
    let at = counts.partition_point(|(bound, _)| *bound <= upper);
    let before = at.checked_sub(1).and_then(|at| counts.get(at));
    let (from, below) = before.copied().unwrap_or_default();
    let least = below / all;
    match counts.get(at) {
        None => [1.0; 3],
        Some((bound, _)) if *bound == f64::INFINITY => [least, least, 1.0],
        Some(_) if from == upper => [least; 3],
        Some((bound, count)) => {
            let share = least + (count - below) / all * (upper - from) / (bound - from);
            [share, least, count / all]
        }
    }
}

/// What observations come to that lie amid their buckets.
fn moment(which: Moment, counts: &[(f64, Option<f64>)]) -> f64 {
    let (mut from, mut below) = (0.0, 0.0);
    let [mut sum, mut squares, mut all] = [0.0; 3];
    for (bound, count) in counts.iter().filter(|(bound, _)| bound.is_finite()) {
        let count = count.unwrap_or(f64::NAN);
        let (middle, weight) = ((bound + from) / 2.0, count - below);
        sum += middle * weight;
        squares += middle * middle * weight;
        all += weight;
        (from, below) = (*bound, count);
    }
    let mean = sum / all;
    let variance = squares / all - mean * mean;
    // Below zero is what calculation makes of nothing.
    let variance = if variance < 0.0 { 0.0 } else { variance };
    match which {
        _ if all == 0.0 => f64::NAN,
        Moment::Average => mean,
        Moment::Variance => variance,
        Moment::Deviation => variance.sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_fall_or_are_missing_stay_level() {
        let of = |counts: &[(f64, Option<f64>)]| leveled(counts.to_vec());
        let found = of(&[(1.0, None), (2.0, Some(3.0)), (3.0, Some(2.0)), (4.0, None)]);
        assert_eq!(found, [(1.0, 0.0), (2.0, 3.0), (3.0, 3.0), (4.0, 3.0)]);
        assert_eq!(of(&[(1.0, Some(-1.0)), (2.0, Some(-2.0))]), [(1.0, -1.0), (2.0, -1.0)]);
        assert_eq!(of(&[(1.0, Some(2.0)), (1.0, Some(3.0))]), [(1.0, 5.0)]);
        assert!(of(&[(1.0, None)])[0].1.is_nan());
    }

    /// By hand: 10 up to 1, 30 up to 2, 40 in all.
    #[test]
    fn figures_lie_between_their_bounds() {
        let counts = [(1.0, 10.0), (2.0, 30.0), (f64::INFINITY, 40.0)];
        for (of, wanted) in [
            (0.5, [1.5, 1.0, 2.0]),
            (0.125, [0.5, 0.0, 1.0]),
            (0.25, [1.0, 0.0, 1.0]),
            (0.9, [2.0, 2.0, f64::INFINITY]),
            (-1.0, [f64::NEG_INFINITY, f64::NEG_INFINITY, 10.0]),
            (2.0, [f64::INFINITY, 40.0, f64::INFINITY]),
        ] {
            assert_eq!(quantile(of, &counts), wanted, "{of}");
        }
        for (of, wanted) in [
            (1.5, [0.5, 0.25, 0.75]),
            (1.0, [0.25; 3]),
            (3.0, [0.75, 0.75, 1.0]),
            (-1.0, [0.0; 3]),
            (f64::INFINITY, [1.0; 3]),
        ] {
            assert_eq!(share(of, &counts), wanted, "{of}");
        }
        assert!(quantile(0.5, &[(1.0, 0.0)]).iter().all(|one| one.is_nan()));
    }
}
