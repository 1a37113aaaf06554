//! Other labels, the same values.

use super::{GridRow, Gridded, grid, joined};
use crate::{Error, Query};
use foliot_model::{Label, Labels};
use foliot_plan::grid::{NewValue, Relabel, Steps};

pub(super) fn relabel<'q>(
    query: &'q Query<'_>,
    plan: &Relabel,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = grid(query, &plan.input, steps)?;
    let mut made = Gridded::none(query);
    for GridRow { labels, values } in &input.rows {
        let labels = match new_value(&plan.value, labels) {
            None => labels.clone(),
            Some(value) => {
                let others = labels.iter().filter(|label| label.name != plan.target).cloned();
                let own = Label { name: plan.target.clone(), value: value.into() };
                let own = Some(own).filter(|own| !own.value.is_empty());
                others.chain(own).collect::<Vec<_>>().into()
            }
        };
        made.push(query, GridRow { labels, values: values.clone() })?;
    }
    joined(made)
}

/// What the label becomes; nothing where it stays as it is.
fn new_value(value: &NewValue, labels: &Labels) -> Option<String> {
    let of = |name: &str| labels.get(name).map_or("", |value| &**value);
    match value {
        NewValue::Replaced { source, pattern, template } => {
            let groups = pattern.regex().captures(of(source))?;
            let mut out = String::new();
            groups.expand(template, &mut out);
            Some(out)
        }
        NewValue::Joined { sources, separator } => {
            let values: Vec<&str> = sources.iter().map(|name| of(name)).collect();
            Some(values.join(separator))
        }
    }
}
