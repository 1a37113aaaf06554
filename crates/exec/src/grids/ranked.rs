//! Series of a group that are kept for all instants, by what they come to over all of them.

use super::gapped::Gapped;
use super::row::GridRow;
use super::{Gridded, Walk};
use crate::Error;
use crate::kernels::quantile::quantile;
use crate::kernels::rank::rank_of;
use foliot_plan::grid::{GroupFold, Steps};

/// The rows of a group that rank best, as many as a scalar says at each instant.
pub(super) fn ranked(
    walk: &Walk<'_>,
    fold: &GroupFold,
    rows: &[&GridRow],
    parameters: &Gapped,
    steps: &Steps,
    made: &mut Gridded<'_>,
) -> Result<(), Error> {
    // One that is nowhere is not chosen.
    let rows: Vec<&GridRow> = rows.iter().copied().filter(|row| !row.is_empty()).collect();
    let (is_top, ranks) = match fold {
        GroupFold::Ranked { rank, is_top, .. } => {
            (*is_top, rows.iter().map(|row| rank_of(*rank, row.values.numbers())).collect())
        }
        GroupFold::Some(_) => (true, vec![0.0; rows.len()]),
        _ => (true, distances(walk, &rows, steps)?),
    };
    let mut order: Vec<(&&GridRow, f64)> = rows.iter().zip(ranks).collect();
    order.sort_by(|(_, a), (_, b)| match is_top {
        true => b.total_cmp(a),
        false => a.total_cmp(b),
    });
    for (place, (row, _)) in order.into_iter().enumerate() {
        walk.meter.check(steps.count)?;
        let is_kept = |index: usize| (place as f64) < parameters.get(index).unwrap_or(0.0).floor();
        let row = row.only(is_kept);
        if !row.is_empty() {
            made.push(walk, row)?;
        }
    }
    Ok(())
}

/// How far each row lies from the median of all at each instant: sums of squares.
fn distances(walk: &Walk<'_>, rows: &[&GridRow], steps: &Steps) -> Result<Vec<f64>, Error> {
    let mut sums = vec![0.0; rows.len()];
    for index in 0..steps.count {
        walk.meter.check(rows.len())?;
        let median = quantile(0.5, rows.iter().filter_map(|row| row.values.get(index)).collect());
        for (row, sum) in rows.iter().zip(&mut sums) {
            *sum += row.values.get(index).map_or(0.0, |value| (value - median).powi(2));
        }
    }
    Ok(sums)
}
