//! What operators do, in words.

use super::shown::{field_of, listed};
use super::{Grouped, Relation, Selected, Windowed};
use crate::Told;
use crate::rows::Rows;
use crate::told::laid_out;

impl Relation {
    /// What the outermost operator does.
    pub fn told(&self) -> Told {
        match self {
            Self::Listed { rows, .. } => {
                Told::new("rows", format!("{} of the question", rows.len()))
            }
            Self::Stored(scan) => Rows::Scan(scan.clone()).told(),
            Self::Selected(of) => Told::new("fold", selected(of)),
            Self::Filtered { input, condition } => {
                Told::new("keep", format!("rows where {}", condition.shown(input)))
            }
            Self::Calculated { input, columns } => {
                Told::new("calculate", listed(columns.iter().map(|column| column.shown(input))))
            }
            Self::Grouped(of) => {
                let Grouped { input, keys, folds } = &**of;
                let keys = listed(keys.iter().map(|key| key.shown(input)));
                let folded = listed(folds.iter().map(|fold| fold.shown(input)));
                match (folds.is_empty(), keys.is_empty()) {
                    (true, _) => Told::new("distinct", keys),
                    (false, true) => Told::new("group", format!("all rows: {folded}")),
                    (false, false) => Told::new("group", format!("by {keys}: {folded}")),
                }
            }
            Self::Appended(inputs) => Told::new("append", format!("{} parts", inputs.len())),
            Self::Windowed(of) => Told::new("window", windowed(of)),
            Self::Sorted { input, by, wanted } => {
                let wanted = wanted.map_or(String::new(), |wanted| format!(", the first {wanted}"));
                let by = listed(by.iter().map(|order| order.shown(input)));
                Told::new("sort", format!("by {by}{wanted}"))
            }
            Self::Limited { offset, limit, .. } => {
                let limit = limit.map_or("all".to_owned(), |limit| limit.to_string());
                let offset = if *offset > 0 { format!(" after {offset}") } else { String::new() };
                Told::new("limit", format!("{limit}{offset}"))
            }
        }
    }
}

impl Relation {
    /// What all operators do, the outer ones before those in them, each with how many it stands in.
    pub fn steps(&self) -> Vec<(usize, Told)> {
        let (mut steps, mut left) = (Vec::new(), vec![(0, self)]);
        while let Some((depth, relation)) = left.pop() {
            steps.push((depth, relation.told()));
            left.extend(relation.inputs().iter().rev().map(|input| (depth + 1, input)));
        }
        steps
    }

    /// What the outermost operator reads; nothing of leaves.
    fn inputs(&self) -> &[Self] {
        match self {
            Self::Listed { .. } | Self::Stored(_) | Self::Selected(_) => &[],
            Self::Filtered { input, .. }
            | Self::Calculated { input, .. }
            | Self::Sorted { input, .. }
            | Self::Limited { input, .. } => std::slice::from_ref(&**input),
            Self::Grouped(of) => std::slice::from_ref(&of.input),
            Self::Windowed(of) => std::slice::from_ref(&of.input),
            Self::Appended(inputs) => inputs,
        }
    }
}

/// What is told of each row, in which partitions and order.
fn windowed(of: &Windowed) -> String {
    let Windowed { input, partition, order, told } = of;
    let mut text = listed(told.iter().map(|beside| beside.shown(input)));
    if !partition.is_empty() {
        let keys = listed(partition.iter().map(|key| key.shown(input)));
        text.push_str(&format!(" within {keys}"));
    }
    if !order.is_empty() {
        let order = listed(order.iter().map(|order| order.shown(input)));
        text.push_str(&format!(" by {order}"));
    }
    text
}

/// Which folds of which fields, in which groups, and what else says which groups there are.
fn selected(of: &Selected) -> String {
    let folds: Vec<_> = of.columns.iter().filter(|column| of.fold(column).is_some()).collect();
    let what = listed(folds.iter().map(|column| of.shown(column)));
    let reduce = folds.first().and_then(|column| of.fold(column));
    let (measurement, groups) = match reduce {
        Some(reduce) => {
            let measurement = match &reduce.input {
                Rows::Scan(scan) => &*scan.measurement,
                _ => "",
            };
            (measurement, laid_out(&reduce.layout))
        }
        None => ("", String::new()),
    };
    let others: Vec<String> = of.unseen().map(|reduce| field_of(reduce).to_owned()).collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(", groups without values by {}", listed(others.into_iter())),
    };
    format!("{what} of {measurement}{groups}{others}")
}
