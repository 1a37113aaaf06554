//! What operators do, in words.

use super::{Fold, Relation};
use crate::Told;
use crate::rows::Rows;

impl Relation {
    /// What the outermost operator does.
    pub fn told(&self) -> Told {
        match self {
            Self::Listed { rows, .. } => {
                Told::new("rows", format!("{} of the question", rows.len()))
            }
            Self::Stored(scan) => Rows::Scan(scan.clone()).told(),
            Self::Selected(of) => Told::new("fold", format!("{} columns", of.select.columns.len())),
            Self::Filtered { .. } => Told::new("keep", "rows that pass"),
            Self::Calculated { columns, .. } => {
                Told::new("calculate", format!("{} columns", columns.len()))
            }
            Self::Grouped(of) if of.folds.is_empty() => Told::new("distinct", ""),
            Self::Grouped(of) => {
                let folds: Vec<String> = of.folds.iter().map(|each| word(each.fold)).collect();
                Told::new("group", format!("by {} keys: {}", of.keys.len(), folds.join(", ")))
            }
            Self::Sorted { by, wanted, .. } => {
                let wanted = wanted.map_or(String::new(), |wanted| format!(", the first {wanted}"));
                Told::new("sort", format!("by {}{wanted}", by.len()))
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
        let (mut steps, mut next, mut depth) = (Vec::new(), Some(self), 0);
        while let Some(relation) = next {
            steps.push((depth, relation.told()));
            depth += 1;
            next = relation.input();
        }
        steps
    }

    /// What the outermost operator reads; nothing of leaves.
    fn input(&self) -> Option<&Self> {
        match self {
            Self::Listed { .. } | Self::Stored(_) | Self::Selected(_) => None,
            Self::Filtered { input, .. }
            | Self::Calculated { input, .. }
            | Self::Sorted { input, .. }
            | Self::Limited { input, .. } => Some(input),
            Self::Grouped(of) => Some(&of.input),
        }
    }
}

fn word(fold: Fold) -> String {
    match fold {
        Fold::Quantile(share) => format!("{share} quantile"),
        fold => format!("{fold:?}").to_lowercase(),
    }
}
