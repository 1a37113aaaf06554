//! Functions of labels.

use super::{Lowering, texts, wrong};
use crate::metricsql::Expression;
use foliot_model::Pattern;
use foliot_plan::grid::{Grid, LabelChange, Labelled, MEASUREMENT, NewValue, Relabel};
use std::sync::Arc;

impl Lowering<'_> {
    /// A function of labels, if the name is that of one.
    pub(super) fn labels(
        &self,
        name: &str,
        arguments: &[&Expression],
    ) -> Result<Option<Grid>, String> {
        let is_one = name.starts_with("label_") || name == "alias";
        let ([input, rest @ ..], true) = (arguments, is_one) else { return Ok(None) };
        let given = texts(name, rest)?;
        if let Some((target, value)) = joined_or_replaced(name, &given)? {
            let input = self.grid(input)?;
            return Ok(Some(Grid::Relabel(Box::new(Relabel { input, target, value }))));
        }
        let change = change(name, &given)?;
        let input = self.grid(input)?;
        Ok(Some(Grid::Labelled(Box::new(Labelled { input, change }))))
    }
}

fn joined_or_replaced(
    name: &str,
    given: &[Arc<str>],
) -> Result<Option<(Arc<str>, NewValue)>, String> {
    Ok(match (name, given) {
        ("label_join", [target, separator, sources @ ..]) => {
            let (sources, separator) = (sources.to_vec(), separator.clone());
            Some((target.clone(), NewValue::Joined { sources, separator }))
        }
        ("label_replace", [target, template, source, pattern]) => {
            let (source, template) = (source.clone(), template.clone());
            let pattern = anchored(pattern)?;
            Some((target.clone(), NewValue::Replaced { source, pattern, template }))
        }
        _ => None,
    })
}

fn change(name: &str, given: &[Arc<str>]) -> Result<LabelChange, String> {
    Ok(match (name, given) {
        ("alias", [to]) => LabelChange::Set(vec![(MEASUREMENT.into(), to.clone())]),
        ("label_set", pairs) => LabelChange::Set(paired(name, pairs)?),
        ("label_del", names) => LabelChange::Deleted(names.to_vec()),
        ("label_keep", names) => LabelChange::Kept(names.to_vec()),
        ("label_copy" | "label_move", pairs) => {
            let moves = name == "label_move";
            LabelChange::Copied { pairs: paired(name, pairs)?, moves }
        }
        ("label_map", [label, pairs @ ..]) => {
            LabelChange::Mapped(label.clone(), paired(name, pairs)?)
        }
        ("label_transform", [label, pattern, template]) => {
            let (label, template) = (label.clone(), template.clone());
            LabelChange::Transformed { label, pattern: read(pattern)?, template }
        }
        ("label_match" | "label_mismatch", [label, pattern]) => {
            let (label, negated) = (label.clone(), name == "label_mismatch");
            LabelChange::Matching { label, pattern: anchored(pattern)?, negated }
        }
        ("label_uppercase" | "label_lowercase", labels) => {
            LabelChange::Cased { labels: labels.to_vec(), is_upper: name == "label_uppercase" }
        }
        ("label_value", [label]) => LabelChange::Value(label.clone()),
        _ => return Err(wrong(name)),
    })
}

/// A label and another, or a value and another.
type Pair = (Arc<str>, Arc<str>);

fn paired(name: &str, given: &[Arc<str>]) -> Result<Vec<Pair>, String> {
    let pairs = given.chunks(2).map(|pair| match pair {
        [first, second] => Ok((first.clone(), second.clone())),
        _ => Err(format!("{name} takes pairs of strings")),
    });
    pairs.collect()
}

/// A regular expression that all of a text must fit.
fn anchored(pattern: &str) -> Result<Pattern, String> {
    read(&format!("^(?s:{pattern})$"))
}

fn read(pattern: &str) -> Result<Pattern, String> {
    let pattern = Pattern::new(pattern).and_then(Pattern::for_groups);
    pattern.map_err(|error| format!("invalid regular expression: {error}"))
}
