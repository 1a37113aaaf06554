//! Other labels, the same values.

use super::{GridRow, Gridded, Walk, evaluated, merged};
use crate::Error;
use foliot_model::{Label, Labels};
use foliot_plan::grid::{MEASUREMENT, NewValue, Relabel, Steps};

pub(super) fn relabel<'q>(
    walk: &Walk<'q>,
    plan: &Relabel,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, &plan.input, steps)?;
    let mut made = Gridded::none(walk);
    // A value may be many times as long as those that it is made of, and relabelling goes on with
    // it. Rows of all operators share it from then on.
    let mut making = walk.meter.open();
    for row in &input.rows {
        let labels = &row.labels;
        making.resize(bytes_max(&plan.value, labels))?;
        let mut is_nameless = row.is_nameless;
        let labels = match new_value(&plan.value, labels) {
            None => labels.clone(),
            Some(value) => {
                // A measurement that is given stays.
                is_nameless &= &*plan.target != MEASUREMENT;
                walk.meter.keep(value.len())?;
                let others = labels.iter().filter(|label| label.name != plan.target).cloned();
                let own = Label { name: plan.target.clone(), value: value.into() };
                let own = Some(own).filter(|own| !own.value.is_empty());
                others.chain(own).collect::<Vec<_>>().into()
            }
        };
        made.push(walk, GridRow { labels, is_nameless, ..row.clone() })?;
    }
    if walk.is_loose { Ok(made) } else { merged(made) }
}

/// How long a new value can become.
fn bytes_max(value: &NewValue, labels: &Labels) -> usize {
    let len = |name: &str| value_of(labels, name).len();
    match value {
        NewValue::Replaced { source, template, .. } => {
            let groups = template.matches('$').count();
            template.len().saturating_add(groups.saturating_mul(len(source)))
        }
        NewValue::Joined { sources, separator } => {
            let lens = sources.iter().map(|name| len(name).saturating_add(separator.len()));
            lens.fold(0, usize::saturating_add)
        }
    }
}

fn value_of<'l>(labels: &'l Labels, name: &str) -> &'l str {
    labels.get(name).map_or("", |value| &**value)
}

/// What the label becomes; none where it stays as it is.
fn new_value(value: &NewValue, labels: &Labels) -> Option<String> {
    let of = |name: &str| value_of(labels, name);
    match value {
        NewValue::Replaced { source, pattern, template } => pattern.replaced(of(source), template),
        NewValue::Joined { sources, separator } => {
            let values: Vec<&str> = sources.iter().map(|name| of(name)).collect();
            Some(values.join(separator))
        }
    }
}
