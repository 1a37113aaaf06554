//! Tables of names, and the series that a test on sources wants.

use super::calculate::holds;
use super::{OnTable, TABLE_ROWS};
use crate::limits::{Charge, Meter};
use crate::{Error, Query, Ran};
use foliot_engine::Identity;
use foliot_model::{Item, Labels, Name, Selector, Table, TableHead, Test, TimeRange};
use foliot_plan::rows::{NameTable, Names, SourceName, SourceTest};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a name weighs in a set, by estimate.
const NAME_BYTES: usize = 64;

/// A row of names.
type NameRow = (Arc<str>, Option<Arc<str>>);

/// See [`crate::names`].
pub(crate) fn names(
    query: &Query<'_>,
    plan: &NameTable,
    on_table: OnTable<'_>,
) -> Result<Ran, Error> {
    let meter = Meter::new(query.limits, query.cancel.clone());
    let mut charge = meter.open();
    let mut found = Found { plan, tables: BTreeMap::new(), count: 0 };
    let mut last: Option<(Arc<str>, Labels)> = None;
    for test in &plan.of {
        each(query, test, &meter, &mut charge, &mut |_, identity| {
            // Fields of one source come one after the other.
            let is_new = last.as_ref().is_none_or(|(measurement, labels)| {
                *measurement != identity.measurement || *labels != identity.labels
            });
            if is_new {
                found.add(&identity);
                last = Some((identity.measurement, identity.labels));
            }
        })?;
    }
    charge.add(found.count * NAME_BYTES)?;
    let mut ran = Ran::default();
    // A break says that nobody reads any more, which is where this ends anyway.
    let _ = found.answer(&mut ran, on_table);
    ran.memory_peak_bytes = meter.memory_peak_bytes();
    Ok(ran)
}

/// See [`crate::series`].
pub(crate) fn series(query: &Query<'_>, test: &SourceTest) -> Result<Vec<u32>, Error> {
    let meter = Meter::new(query.limits, query.cancel.clone());
    let mut charge = meter.open();
    let mut sids = Vec::new();
    each(query, test, &meter, &mut charge, &mut |sid, _| sids.push(sid))?;
    Ok(sids)
}

/// Calls `wanted` with every series that the test wants.
fn each(
    query: &Query<'_>,
    test: &SourceTest,
    meter: &Meter,
    charge: &mut Charge<'_>,
    wanted: &mut dyn FnMut(u32, Identity),
) -> Result<(), Error> {
    let name = Name { measurement: test.measurements.clone(), field: Test::Any };
    let selector = Selector {
        namespace: test.namespace,
        names: vec![name],
        matchers: Vec::new(),
        exact_labels: None,
        only: None,
    };
    let sids = query.snapshot.select(&selector, TimeRange::ALL)?;
    charge.resize(sids.len() * size_of::<u32>())?;
    for some in sids.chunks(64 << 10) {
        meter.check(0)?;
        query.snapshot.identities(some, &mut |sid, identity| {
            let is_wanted = test.condition.as_ref().is_none_or(|condition| {
                let slots = test.slots.iter().map(|slot| match slot {
                    SourceName::Measurement => Item::String(identity.measurement.clone()),
                    SourceName::Label(name) => {
                        Item::String(identity.labels.get(name).cloned().unwrap_or_default())
                    }
                });
                holds(condition, 0, &slots.collect::<Vec<_>>())
            });
            if is_wanted {
                wanted(sid, identity);
            }
        })?;
    }
    Ok(())
}

struct Found<'a> {
    plan: &'a NameTable,
    tables: BTreeMap<Arc<str>, BTreeSet<NameRow>>,
    count: usize,
}

impl Found<'_> {
    fn add(&mut self, identity: &Identity) {
        let title = self.plan.title.clone().unwrap_or_else(|| identity.measurement.clone());
        let table = self.tables.entry(title).or_default();
        let before = table.len();
        match &self.plan.what {
            Names::Measurements => {
                table.insert((identity.measurement.clone(), None));
            }
            Names::Series => {
                table.insert((key(identity).into(), None));
            }
            Names::LabelNames(test) => {
                let labels = identity.labels.iter().filter(|label| test.passes(&label.name));
                table.extend(labels.map(|label| (label.name.clone(), None)));
            }
            Names::LabelValues(test) => {
                let labels = identity.labels.iter().filter(|label| test.passes(&label.name));
                table.extend(labels.map(|label| (label.name.clone(), Some(label.value.clone()))));
            }
        }
        self.count += table.len() - before;
    }

    fn answer(self, ran: &mut Ran, on_table: OnTable<'_>) -> ControlFlow<()> {
        let plan = self.plan;
        for (title, names) in self.tables {
            let head = TableHead { name: title, labels: Vec::new(), columns: plan.columns.clone() };
            let head = Arc::new(head);
            if plan.is_count && names.is_empty() {
                continue;
            }
            if plan.is_count {
                let count = Item::Integer(i64::try_from(names.len()).unwrap_or(i64::MAX));
                ran.samples_answered += 1;
                on_table(Table { head, items: vec![count], is_last: true })?;
                continue;
            }
            let offset = usize::try_from(plan.offset).unwrap_or(usize::MAX);
            let limit = plan.limit.and_then(|limit| usize::try_from(limit).ok());
            let rows: Vec<NameRow> =
                names.into_iter().skip(offset).take(limit.unwrap_or(usize::MAX)).collect();
            ran.samples_answered += rows.len() as u64;
            let mut pieces = rows.chunks(TABLE_ROWS).peekable();
            while let Some(piece) = pieces.next() {
                let items = piece.iter().flat_map(|(name, value)| {
                    let value = value.clone().map(Item::String);
                    [Some(Item::String(name.clone())), value].into_iter().flatten()
                });
                let (head, items) = (head.clone(), items.collect());
                on_table(Table { head, items, is_last: pieces.peek().is_none() })?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// A source as line protocol spells it.
fn key(identity: &Identity) -> String {
    let mut key = String::new();
    let mut escape = |text: &str, special: &[char]| {
        for c in text.chars() {
            if special.contains(&c) {
                key.push('\\');
            }
            key.push(c);
        }
    };
    escape(&identity.measurement, &[',', ' ']);
    for label in &identity.labels {
        escape(",", &[]);
        escape(&label.name, &[',', ' ', '=']);
        escape("=", &[]);
        escape(&label.value, &[',', ' ', '=']);
    }
    key
}
