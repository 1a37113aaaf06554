//! Series with labels of others that describe them, as Prometheus' `info()` has it
//! (`promql/info.go`).

use super::binary::put;
use super::gapped::Gapped;
use super::row::{GridRow, measurement};
use super::stored::instants;
use super::{Gridded, Walk, evaluated};
use crate::Error;
use foliot_model::{Label, Labels};
use foliot_plan::grid::{Described, Instants, MEASUREMENT, Steps};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The labels that say which series belong together.
const IDENTIFYING: [&str; 2] = ["instance", "job"];

/// The values of those; empty where there is none.
type Identity = [Arc<str>; 2];

/// Series that describe others, by whom they describe and by their names.
type Facts<'f> = HashMap<Identity, BTreeMap<Arc<str>, Vec<&'f GridRow>>>;

pub(super) fn described<'q>(
    walk: &Walk<'q>,
    plan: &Described,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let input = evaluated(walk, &plan.input, steps)?;
    let values = Instants { stamps: false, ..plan.facts.clone() };
    instants(walk, &values, steps, &mut |row| match row.histograms.is_empty() {
        true => Ok(()),
        false => Err(Error::Plan("info sample should be float".to_owned())),
    })?;
    let mut stamps = Gridded::none(walk);
    instants(walk, &plan.facts, steps, &mut |row| stamps.keep(row))?;
    let mut facts = Facts::default();
    for row in &stamps.rows {
        let by_name = facts.entry(identity(&row.labels)).or_default();
        by_name.entry(measurement(&row.labels)).or_default().push(row);
    }
    let mut answer = Answer { rows: Vec::new(), places: HashMap::new() };
    let mut held = walk.meter.open();
    for row in &input.rows {
        let name = measurement(&row.labels);
        let is_fact = plan.names.iter().all(|matcher| matcher.matches(Some(&name)));
        let identity = identity(&row.labels);
        let is_known = !is_fact && identity.iter().any(|value| !value.is_empty());
        let own = is_known.then(|| facts.get(&identity)).flatten();
        let mut made: HashMap<Vec<*const GridRow>, Option<usize>> = HashMap::new();
        for index in 0..steps.count {
            let Some(point) = row.point(index) else { continue };
            let newest = newest(own, index)?;
            let key: Vec<*const GridRow> = newest.iter().map(|fact| &raw const **fact).collect();
            let place = match made.get(&key) {
                Some(place) => *place,
                None => {
                    walk.meter.check(0)?;
                    let place = if is_fact || keeps(plan, &newest) {
                        held.add(Gapped::bytes(steps.count))?;
                        Some(answer.place(row, labels(plan, row, &newest)?))
                    } else {
                        None
                    };
                    made.insert(key, place);
                    place
                }
            };
            let Some(after) = place.and_then(|place| answer.rows.get_mut(place)) else { continue };
            if !put(after, index, point.into(), steps.count) {
                let text = "vector cannot contain metrics with the same labelset";
                return Err(Error::Plan(text.to_owned()));
            }
        }
    }
    drop(held);
    let mut made = Gridded::none(walk);
    answer.rows.into_iter().try_for_each(|row| made.push(walk, row))?;
    Ok(made)
}

fn identity(labels: &Labels) -> Identity {
    IDENTIFYING.map(|name| labels.get(name).cloned().unwrap_or_default())
}

/// Of the series of each name the one with the newest sample at an instant.
fn newest<'f>(
    facts: Option<&BTreeMap<Arc<str>, Vec<&'f GridRow>>>,
    index: usize,
) -> Result<Vec<&'f GridRow>, Error> {
    let mut found = Vec::new();
    for rows in facts.into_iter().flat_map(BTreeMap::values) {
        let mut best: Option<(&GridRow, f64)> = None;
        for row in rows {
            let Some(stamp) = row.values.get(index) else { continue };
            match best {
                Some((_, before)) if before > stamp => {}
                Some((_, before)) if before == stamp => {
                    let text = "found duplicate series for info metric";
                    return Err(Error::Plan(text.to_owned()));
                }
                _ => best = Some((row, stamp)),
            }
        }
        found.extend(best.map(|(row, _)| row));
    }
    Ok(found)
}

/// Whether a series stays: also without a description, where none is asked for.
fn keeps(plan: &Described, facts: &[&GridRow]) -> bool {
    !facts.is_empty() || plan.labels.iter().all(|matcher| matcher.matches(Some("")))
}

/// Labels of a series, and those of what describes it that it has not itself.
fn labels(plan: &Described, row: &GridRow, facts: &[&GridRow]) -> Result<Labels, Error> {
    let mut added: BTreeMap<&str, &Label> = BTreeMap::new();
    let is_wanted = |label: &Label| {
        let is_named = plan.labels.is_empty()
            || plan.labels.iter().any(|matcher| *matcher.name == *label.name);
        &*label.name != MEASUREMENT && is_named
    };
    for label in facts.iter().flat_map(|fact| fact.labels.iter()).filter(|one| is_wanted(one)) {
        if row.labels.get(&label.name).is_some() {
            continue;
        }
        let before = added.insert(&label.name, label);
        if before.is_some_and(|before| before.value != label.value) {
            return Err(Error::Plan(format!("conflicting label: {}", label.name)));
        }
    }
    let own = row.labels.iter().cloned();
    Ok(Labels::new(own.chain(added.into_values().cloned()).collect()))
}

/// The rows of the answer, and which of them have a label set.
struct Answer {
    rows: Vec<GridRow>,
    places: HashMap<Labels, usize>,
}

impl Answer {
    fn place(&mut self, of: &GridRow, labels: Labels) -> usize {
        let Self { rows, places } = self;
        *places.entry(labels.clone()).or_insert_with(|| {
            rows.push(GridRow { labels, ..of.emptied() });
            rows.len() - 1
        })
    }
}
