//! The values of each series, one with another.

use super::gapped::{Gapped, NOWHERE};
use super::rollup::levelled;
use super::row::GridRow;
use super::{Gridded, Walk, evaluated};
use crate::Error;
use crate::kernels::quantile::quantile;
use foliot_plan::grid::{Along, Path, Steps, Total};

pub(super) fn along<'q>(
    walk: &Walk<'q>,
    plan: &Along,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, &plan.input, steps)?;
    let parameter = match &plan.path {
        Path::Quantile(of) | Path::Smoothed(of) => Some(evaluated(walk, of, steps)?),
        _ => None,
    };
    let parameters = parameter.as_ref().map_or(&NOWHERE, Gridded::scalars);
    let mut made = Gridded::none(walk);
    for row in &input.rows {
        walk.meter.check(steps.count)?;
        let mut values: Vec<_> = row.values.iter().collect();
        walked(&plan.path, &mut values, parameters);
        made.push(walk, GridRow { values: values.into(), ..row.emptied() })?;
    }
    Ok(made)
}

fn walked(path: &Path, values: &mut [Option<f64>], parameters: &Gapped) {
    match path {
        Path::Running { total, at_once } => {
            running(*total, values);
            if *at_once {
                // What is no number any more, such as infinity less infinity, is none.
                values.iter_mut().for_each(|one| *one = one.filter(|number| !number.is_nan()));
                level(values, values.iter().flatten().last().copied());
            }
        }
        Path::First => level(values, values.iter().flatten().next().copied()),
        Path::Last => level(values, values.iter().flatten().last().copied()),
        Path::Quantile(_) => {
            let share = parameters.get(0).unwrap_or(f64::NAN);
            let all = values.iter().flatten().copied().collect();
            level(values, Some(quantile(share, all)));
        }
        Path::KeptLast => kept(values.iter_mut()),
        Path::KeptNext => kept(values.iter_mut().rev()),
        Path::Interpolated => interpolated(values),
        Path::Levelled => levelled(values.iter_mut().flatten()),
        Path::Smoothed(_) => smoothed(values, parameters),
    }
}

/// Puts one value where there are any.
fn level(values: &mut [Option<f64>], to: Option<f64>) {
    values.iter_mut().filter(|one| one.is_some()).for_each(|one| *one = to);
}

/// What values came to so far; gaps go on with it.
fn running(total: Total, values: &mut [Option<f64>]) {
    let (mut so_far, mut count) = (None::<f64>, 0.0);
    for place in values {
        count += f64::from(u8::from(so_far.is_some()));
        so_far = match (so_far, *place) {
            (None, one) => one,
            (before, None) => before,
            (Some(before), Some(one)) => Some(match total {
                Total::Sum => before + one,
                Total::Average => before + (one - before) / (count + 1.0),
                Total::Min => before.min(one),
                Total::Max => before.max(one),
            }),
        };
        *place = so_far;
    }
}

/// Gaps have the value that was met before them.
fn kept<'v>(values: impl Iterator<Item = &'v mut Option<f64>>) {
    let mut last = None;
    for place in values {
        last = place.or(last);
        *place = last;
    }
}

/// Gaps have values on the line between their neighbours, or that of the only one.
fn interpolated(values: &mut [Option<f64>]) {
    let mut at = 0;
    while at < values.len() {
        if values.get(at).is_some_and(Option::is_some) {
            at += 1;
            continue;
        }
        let gap = values.iter().skip(at).take_while(|one| one.is_none()).count();
        let before = at.checked_sub(1).and_then(|before| *values.get(before)?);
        let behind = values.get(at + gap).copied().flatten();
        if let Some(from) = before.or(behind) {
            let step = (behind.unwrap_or(from) - from) / (gap as f64 + 1.0);
            for (index, place) in values.iter_mut().skip(at).take(gap).enumerate() {
                *place = Some(from + step * (index as f64 + 1.0));
            }
        }
        at += gap;
    }
}

/// The mean so far, of which the newest counts as much as a scalar says.
fn smoothed(values: &mut [Option<f64>], weights: &Gapped) {
    let mut mean = None::<f64>;
    for (index, place) in values.iter_mut().enumerate() {
        let Some(one) = *place else { continue };
        let weight = weights.get(index).unwrap_or(1.0).clamp(0.0, 1.0);
        mean = match mean {
            None if one.is_infinite() => None,
            None => Some(one),
            Some(mean) if one.is_infinite() => Some(mean),
            Some(mean) => Some(mean * (1.0 - weight) + one * weight),
        };
        *place = mean.or(*place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Option<f64> = None;

    fn check(path: &Path, values: &[Option<f64>], wanted: &[Option<f64>]) {
        let mut values = values.to_vec();
        walked(path, &mut values, &vec![Some(0.5); 8].into());
        assert_eq!(values, wanted, "{path:?}");
    }

    #[test]
    fn values_of_a_series_meet() {
        let of = |total, at_once| Path::Running { total, at_once };
        let values = [GAP, Some(4.0), GAP, Some(1.0), Some(10.0), GAP];
        let kept = [Some(4.0), Some(4.0), Some(4.0), Some(1.0), Some(10.0), Some(10.0)];
        check(&Path::KeptLast, &values, &[&[GAP][..], &kept[1..]].concat());
        let next = [Some(4.0), Some(4.0), Some(1.0), Some(1.0), Some(10.0), GAP];
        check(&Path::KeptNext, &values, &next);
        let between = [Some(4.0), Some(4.0), Some(2.5), Some(1.0), Some(10.0), Some(10.0)];
        check(&Path::Interpolated, &values, &between);
        let sums = [GAP, Some(4.0), Some(4.0), Some(5.0), Some(15.0), Some(15.0)];
        check(&of(Total::Sum, false), &values, &sums);
        let lowest = [GAP, Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0)];
        check(&of(Total::Min, true), &values, &lowest);
        check(&Path::First, &values, &[GAP, Some(4.0), GAP, Some(4.0), Some(4.0), GAP]);
        check(
            &Path::Smoothed(foliot_plan::grid::Grid::Time),
            &values,
            &[GAP, Some(4.0), GAP, Some(2.5), Some(6.25), GAP],
        );
    }

    #[test]
    fn a_counter_that_fell_goes_on() {
        let values = [Some(10.0), Some(9.5), GAP, Some(3.0), Some(4.0)];
        check(&Path::Levelled, &values, &[Some(10.0), Some(10.0), GAP, Some(13.0), Some(14.0)]);
    }
}
