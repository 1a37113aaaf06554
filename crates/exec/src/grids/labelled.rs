//! Labels of all series by VictoriaMetrics' functions.

use super::row::{GridRow, unnamed};
use super::{Gridded, Walk, evaluated};
use crate::Error;
use foliot_model::{Label, Labels, Pattern};
use foliot_plan::grid::{LabelChange, Labelled, Steps};
use std::sync::Arc;

pub(super) fn labelled<'q>(
    walk: &Walk<'q>,
    plan: &Labelled,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, &plan.input, steps)?;
    let mut made = Gridded::none(walk);
    let mut making = walk.meter.open();
    for row in &input.rows {
        if let LabelChange::Transformed { label, template, .. } = &plan.change {
            // What it becomes may be many times as long as it was, and stays with the answer.
            let bytes = value_of(&row.labels, label).len().saturating_mul(template.len() + 2);
            making.resize(bytes)?;
        }
        let mut row = row.clone();
        match &plan.change {
            LabelChange::Matching { label, pattern, negated } => {
                if pattern.is_match(value_of(&row.labels, label)) == *negated {
                    continue;
                }
            }
            LabelChange::Value(label) => {
                let number = value_of(&row.labels, label).parse::<f64>().ok();
                row.values = row.values.map(|_| number.unwrap_or(f64::NAN));
                row.labels = unnamed(&row.labels);
            }
            change => {
                let labels = changed(change, &row.labels);
                let is_new = |label: &&Label| row.labels.get(&label.name) != Some(&label.value);
                let new = labels.iter().filter(is_new).map(|label| label.value.len());
                walk.meter.keep(new.sum())?;
                row = GridRow { labels, ..row };
            }
        }
        made.push(walk, row)?;
    }
    Ok(made)
}

fn value_of<'l>(labels: &'l Labels, name: &str) -> &'l str {
    labels.get(name).map_or("", |value| &**value)
}

fn changed(change: &LabelChange, labels: &Labels) -> Labels {
    let mut all: Vec<Label> = labels.iter().cloned().collect();
    let mut set = |name: &Arc<str>, value: Arc<str>| {
        all.retain(|label| label.name != *name);
        if !value.is_empty() {
            all.push(Label { name: name.clone(), value });
        }
    };
    match change {
        LabelChange::Set(pairs) => pairs.iter().for_each(|(name, to)| set(name, to.clone())),
        LabelChange::Deleted(names) => names.iter().for_each(|name| set(name, "".into())),
        LabelChange::Kept(names) => all.retain(|label| names.contains(&label.name)),
        LabelChange::Copied { pairs, moves } => {
            for (from, to) in pairs {
                let value: Arc<str> = value_of(labels, from).into();
                if value.is_empty() {
                    continue;
                }
                set(to, value);
                if *moves && from != to {
                    set(from, "".into());
                }
            }
        }
        LabelChange::Mapped(name, pairs) => {
            let value = value_of(labels, name);
            if let Some((_, to)) = pairs.iter().find(|(from, _)| **from == *value) {
                set(name, to.clone());
            }
        }
        LabelChange::Transformed { label, pattern, template } => {
            set(label, replaced(pattern, value_of(labels, label), template));
        }
        LabelChange::Cased { labels: names, is_upper } => {
            for name in names {
                let value = value_of(labels, name);
                let cased = if *is_upper { value.to_uppercase() } else { value.to_lowercase() };
                set(name, cased.into());
            }
        }
        LabelChange::Matching { .. } | LabelChange::Value(_) => {}
    }
    Labels::new(all)
}

fn replaced(pattern: &Pattern, value: &str, template: &str) -> Arc<str> {
    pattern.replaced_all(value, template).into()
}
