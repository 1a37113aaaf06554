//! Sets of series by VictoriaMetrics' rules: series without values are there, and one without
//! labels stands for any.

use super::binary::{by_signature, signatures};
use super::row::{GridRow, Point};
use super::{Gridded, Walk, evaluated};
use crate::Error;
use foliot_model::Labels;
use foliot_plan::grid::{Grid, Matching, Operator, Steps};
use std::collections::HashSet;

/// Whether a vector is one series without labels.
pub(super) fn is_scalar(of: &Gridded<'_>) -> bool {
    matches!(&of.rows[..], [only] if only.labels.is_empty())
}

/// The series of all, of the same labels only the first.
pub(super) fn union<'q>(
    walk: &Walk<'q>,
    inputs: &[Grid],
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let (mut made, mut seen) = (Gridded::none(walk), HashSet::<Labels>::new());
    for input in inputs {
        for row in evaluated(walk, input, steps)?.rows {
            if seen.insert(row.labels.clone()) {
                made.push(walk, row)?;
            }
        }
    }
    Ok(made)
}

/// Series of one side that the other has, has not, or fills.
pub(super) fn kept<'q>(
    walk: &Walk<'q>,
    operator: Operator,
    matching: &Matching,
    left: &Gridded<'_>,
    right: &Gridded<'_>,
) -> Result<Gridded<'q>, Error> {
    let mut made = Gridded::none(walk);
    let [of_left, of_right] = signatures(matching, &left.rows, &right.rows);
    let by_signature = by_signature(&right.rows, &of_right);
    let fits_all = matches!(operator, Operator::If | Operator::IfNot | Operator::Default);
    let for_all = match (&right.rows[..], fits_all && is_scalar(right)) {
        ([only], true) => vec![only],
        _ => Vec::new(),
    };
    for (row, signature) in left.rows.iter().zip(&of_left) {
        let others = by_signature.get(signature).unwrap_or(&for_all);
        let is_there = |index: usize| others.iter().any(|row| row.has(index));
        let row = match operator {
            Operator::And | Operator::If if others.is_empty() => continue,
            Operator::And | Operator::If => row.only(is_there),
            Operator::Unless | Operator::IfNot => row.only(|index| !is_there(index)),
            _ => filled(row, others),
        };
        let may_be_empty = matches!(operator, Operator::Or | Operator::Default);
        if may_be_empty || !row.is_empty() {
            made.push(walk, row)?;
        }
    }
    let adds_right = match operator {
        Operator::Or => true,
        Operator::Default => left.rows.is_empty(),
        _ => false,
    };
    if adds_right {
        let there: HashSet<&usize> = of_left.iter().collect();
        let new = right.rows.iter().zip(&of_right).filter(|(_, of)| !there.contains(of));
        for (row, _) in new {
            made.push(walk, row.clone())?;
        }
    }
    Ok(made)
}

/// A series with values of others where it has none.
fn filled(row: &GridRow, others: &[&GridRow]) -> GridRow {
    let mut row = row.clone();
    for index in 0..row.values.len() {
        if row.has(index) {
            continue;
        }
        let found = others.iter().find_map(|other| match other.point(index)? {
            Point::Number(number) => Some(number),
            Point::Histogram(_) => None,
        });
        row.values.put(index, found);
    }
    row
}

/// Refuses answers of which two series cannot be told apart, and leaves out what has no values.
pub(super) fn finished<'q>(mut made: Gridded<'q>) -> Result<Gridded<'q>, Error> {
    made.rows.retain(|row| !row.is_empty());
    let mut seen = HashSet::new();
    for row in &made.rows {
        if !seen.insert(&row.labels) {
            let labels = super::binary::spelled(&row.labels);
            return Err(Error::Plan(format!("duplicate output timeseries: {labels}")));
        }
    }
    Ok(made)
}
