//! Tables of names, and the series that a test on sources wants.
//!
//! What a condition says of labels the index can answer; names are then listed from it, no more of
//! them than are shown. Only other conditions, and keys of series, look at series one by one.

mod measurements;

use super::calculate::holds;
use super::matchers;
use crate::limits::{Charge, Meter};
use crate::pieces::{OnTable, ROWS};
use crate::{Error, Query, Ran, source};
use foliot_engine::{Identity, Listed};
use foliot_model::{
    Column, Item, Labels, Matcher, Name, Selector, Table, TableHead, Test, TimeRange,
};
use foliot_plan::rows::{NameTable, Names, SourceName, SourceTest};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a name weighs in a set beside its text, by estimate.
const NAME_BYTES: usize = 64;

/// Series looked at before limits are looked at.
const SERIES_AT_ONCE: usize = 4 << 10;

/// Receives series by number and name.
type Wanted<'a> = &'a mut dyn FnMut(&[(u32, Identity)]) -> Result<(), Error>;

/// The name of a table, and the values of the labels that tables are told apart by.
type Title = (Arc<str>, Vec<Arc<str>>);

/// A row of names.
type NameRow = (Arc<str>, Option<Arc<str>>);

/// See [`crate::names`].
pub(crate) fn names(
    query: &Query<'_>,
    plan: &NameTable,
    on_table: OnTable<'_>,
) -> Result<Ran, Error> {
    let meter = query.meter.of_run();
    let mut charge = meter.open();
    let mut found = Found::new(plan);
    for test in &plan.of {
        if matches!(plan.what, Names::MeasurementsAsWhole) {
            let listing = Listing { query, test, matchers: Vec::new(), meter: &meter };
            let alone = |name: String| (name.into(), None);
            let rows = listing.measurements()?.into_iter().map(alone).collect();
            found.add_all(plan.title.clone().unwrap_or_default(), rows, &mut charge)?;
            continue;
        }
        let is_listed = !matches!(plan.what, Names::Series) && plan.group_by.is_empty();
        let matchers = matchers_of(test).filter(|_| is_listed);
        match matchers {
            Some(matchers) => {
                let mut listing = Listing { query, test, matchers, meter: &meter };
                listing.list(&mut found, &mut charge)?;
            }
            None => found.look(query, test, &meter, &mut charge)?,
        }
    }
    let mut ran = Ran::default();
    // A break says that nobody reads any more, which is where this ends anyway.
    let _ = found.answer(&mut ran, on_table);
    ran.memory_peak_bytes = meter.memory_peak_bytes();
    Ok(ran)
}

/// See [`crate::series`].
pub(crate) fn series(query: &Query<'_>, test: &SourceTest) -> Result<Vec<u32>, Error> {
    let meter = query.meter.of_run();
    let mut sids = Vec::new();
    each(query, test, &meter, &mut meter.open(), &mut |some| {
        sids.extend(some.iter().map(|(sid, _)| *sid));
        Ok(())
    })?;
    Ok(sids)
}

/// Calls `wanted` with the series that the test wants, some at a time.
fn each(
    query: &Query<'_>,
    test: &SourceTest,
    meter: &Meter,
    charge: &mut Charge<'_>,
    wanted: Wanted<'_>,
) -> Result<(), Error> {
    // Matchers that say only a part of the condition still spare looking at most series.
    let mut matchers = Vec::new();
    let condition = test.condition.as_ref();
    let is_whole = condition.is_none_or(|c| matchers::collect(c, &label_of(test), &mut matchers));
    let left = condition.filter(|_| !is_whole);
    let selector = selector(test, None, matchers);
    let sids = source::select(query.snapshot, &selector, TimeRange::ALL, meter)?;
    charge.add(sids.len() * size_of::<u32>())?;
    let mut found = Vec::new();
    for some in sids.chunks(SERIES_AT_ONCE) {
        meter.check(0)?;
        query.snapshot.identities(some, &mut |sid, identity| {
            let is_wanted = left.is_none_or(|condition| {
                let slots = test.slots.iter().map(|slot| match slot {
                    SourceName::Measurement => Item::String(identity.measurement.clone()),
                    SourceName::Label(name) => {
                        Item::String(identity.labels.get(name).cloned().unwrap_or_default())
                    }
                });
                holds(condition, 0, &slots.collect::<Vec<_>>())
            });
            if is_wanted {
                found.push((sid, identity));
            }
        })?;
        wanted(&found)?;
        found.clear();
    }
    Ok(())
}

fn label_of(test: &SourceTest) -> impl Fn(usize) -> Option<String> {
    |slot| match test.slots.get(slot) {
        Some(SourceName::Label(name)) => Some(name.to_string()),
        _ => None,
    }
}

/// The condition as one on labels alone, if it is no more.
fn matchers_of(test: &SourceTest) -> Option<Vec<Matcher>> {
    let mut found = Vec::new();
    let condition = test.condition.as_ref();
    let is_whole = condition.is_none_or(|c| matchers::collect(c, &label_of(test), &mut found));
    is_whole.then_some(found)
}

/// The series of one measurement, or of all that the test wants.
fn selector(test: &SourceTest, measurement: Option<&str>, matchers: Vec<Matcher>) -> Selector {
    let measurement = measurement.map_or_else(|| test.measurements.clone(), Test::equal);
    let names = match measurement {
        Test::Any => Vec::new(),
        measurement => vec![Name { measurement, field: Test::Any }],
    };
    Selector { namespace: test.namespace, names, matchers, exact_labels: None, only: None }
}

/// Names that the index lists.
#[derive(Clone)]
struct Listing<'a> {
    query: &'a Query<'a>,
    test: &'a SourceTest,
    matchers: Vec<Matcher>,
    meter: &'a Meter,
}

impl Listing<'_> {
    fn list(&mut self, found: &mut Found<'_>, charge: &mut Charge<'_>) -> Result<(), Error> {
        let titles = match &found.plan.title {
            Some(title) => vec![(title.clone(), None)],
            None => {
                let measurements = self.ask(&Listed::Measurements, None, usize::MAX)?;
                let title = |name: String| (Arc::from(&*name), Some(name));
                measurements.into_iter().map(title).collect()
            }
        };
        for (title, measurement) in titles {
            let rows = self.rows(found.plan, measurement.as_deref(), found.wanted)?;
            found.add_all(title, rows, charge)?;
        }
        Ok(())
    }

    fn ask(
        &self,
        what: &Listed,
        measurement: Option<&str>,
        limit: usize,
    ) -> Result<Vec<String>, Error> {
        let selector = selector(self.test, measurement, self.matchers.clone());
        let (snapshot, mut gathered) = (self.query.snapshot, self.meter.open());
        source::list(snapshot, what, (&selector, "", 0, limit), &mut gathered, self.meter)
    }

    /// The first rows of a table, in order.
    fn rows(
        &self,
        plan: &NameTable,
        measurement: Option<&str>,
        limit: usize,
    ) -> Result<Vec<NameRow>, Error> {
        let alone = |names: Vec<String>| names.into_iter().map(|name| (name.into(), None));
        match &plan.what {
            Names::Measurements => {
                Ok(alone(self.ask(&Listed::Measurements, measurement, limit)?).collect())
            }
            Names::LabelNames(test) => {
                let names = self.labels(test, measurement)?;
                Ok(alone(names).take(limit).collect())
            }
            Names::LabelValues(test) => {
                let mut rows: Vec<NameRow> = Vec::new();
                for label in self.labels(test, measurement)? {
                    let what = Listed::LabelValues(Some(label.clone()));
                    let label: Arc<str> = label.into();
                    let values = self.ask(&what, measurement, limit - rows.len())?;
                    let row = |value: String| (label.clone(), Some(value.into()));
                    rows.extend(values.into_iter().map(row));
                    if rows.len() >= limit {
                        break;
                    }
                }
                Ok(rows)
            }
            Names::Series | Names::MeasurementsAsWhole => Ok(Vec::new()),
        }
    }

    /// The names of labels that pass, in order.
    fn labels(&self, test: &Test, measurement: Option<&str>) -> Result<Vec<String>, Error> {
        let mut names = self.ask(&Listed::LabelNames, measurement, usize::MAX)?;
        names.retain(|name| test.passes(name));
        Ok(names)
    }
}

/// The rows of each table.
struct Found<'a> {
    plan: &'a NameTable,
    tables: BTreeMap<Title, BTreeSet<NameRow>>,
    /// How many rows of each table matter.
    wanted: usize,
    bytes: usize,
}

impl<'a> Found<'a> {
    fn new(plan: &'a NameTable) -> Self {
        let limit = plan.limit.filter(|_| !plan.is_count);
        let end = limit.map(|limit| plan.offset.saturating_add(limit));
        let wanted = end.and_then(|end| usize::try_from(end).ok()).unwrap_or(usize::MAX);
        Self { plan, tables: BTreeMap::new(), wanted, bytes: 0 }
    }

    /// Adds rows that are in order.
    fn add_all(
        &mut self,
        title: Arc<str>,
        rows: Vec<NameRow>,
        charge: &mut Charge<'_>,
    ) -> Result<(), Error> {
        charge.add(rows.iter().map(row_bytes).sum())?;
        let table = self.tables.entry((title, Vec::new())).or_default();
        match table.is_empty() {
            true => *table = rows.into_iter().collect(),
            false => table.extend(rows),
        }
        Ok(())
    }

    /// Looks at all series that a test wants.
    fn look(
        &mut self,
        query: &Query<'_>,
        test: &SourceTest,
        meter: &Meter,
        charge: &mut Charge<'_>,
    ) -> Result<(), Error> {
        let mut last: Option<(Arc<str>, Labels)> = None;
        let mut held = meter.open();
        each(query, test, meter, charge, &mut |series| {
            for (_, identity) in series {
                // Fields of one source come one after the other.
                let is_new = last.as_ref().is_none_or(|(measurement, labels)| {
                    *measurement != identity.measurement || *labels != identity.labels
                });
                if is_new {
                    self.add(identity);
                    last = Some((identity.measurement.clone(), identity.labels.clone()));
                }
            }
            held.resize(self.bytes)
        })?;
        drop(held);
        charge.add(self.bytes)?;
        self.bytes = 0;
        Ok(())
    }

    fn add(&mut self, identity: &Identity) {
        let title = self.plan.title.clone().unwrap_or_else(|| identity.measurement.clone());
        let value = |name: &Arc<str>| identity.labels.get(name).cloned().unwrap_or_default();
        let values = self.plan.group_by.iter().map(value).collect();
        let (wanted, bytes) = (self.wanted, &mut self.bytes);
        let table = self.tables.entry((title, values)).or_insert_with_key(|(title, values)| {
            *bytes += NAME_BYTES + title.len();
            *bytes += values.iter().map(|value| NAME_BYTES + value.len()).sum::<usize>();
            BTreeSet::new()
        });
        let mut insert = |row: NameRow| {
            if table.len() >= wanted && table.last().is_some_and(|last| *last <= row) {
                return;
            }
            let more = row_bytes(&row);
            if table.insert(row) {
                *bytes += more;
            }
            if table.len() > wanted {
                *bytes -= table.pop_last().as_ref().map_or(0, row_bytes);
            }
        };
        match &self.plan.what {
            Names::Measurements | Names::MeasurementsAsWhole => {
                insert((identity.measurement.clone(), None));
            }
            Names::Series => insert((key(identity).into(), None)),
            Names::LabelNames(test) => {
                let labels = identity.labels.iter().filter(|label| test.passes(&label.name));
                labels.for_each(|label| insert((label.name.clone(), None)));
            }
            Names::LabelValues(test) => {
                let labels = identity.labels.iter().filter(|label| test.passes(&label.name));
                labels.for_each(|label| insert((label.name.clone(), Some(label.value.clone()))));
            }
        }
    }

    fn answer(self, ran: &mut Ran, on_table: OnTable<'_>) -> ControlFlow<()> {
        let plan = self.plan;
        for ((name, values), names) in self.tables {
            let labels = plan.group_by.iter().cloned().zip(values).collect();
            let head = TableHead { name, labels, columns: plan.columns.clone() };
            let head = Arc::new(head);
            if plan.is_count && names.is_empty() {
                continue;
            }
            if plan.is_count {
                let count = Item::Integer(i64::try_from(names.len()).unwrap_or(i64::MAX));
                ran.samples_answered += 1;
                let columns = vec![Column::Same(count, 1)];
                on_table(Table { head, columns, is_last: true })?;
                continue;
            }
            let offset = usize::try_from(plan.offset).unwrap_or(usize::MAX);
            let limit = plan.limit.and_then(|limit| usize::try_from(limit).ok());
            let rows: Vec<NameRow> =
                names.into_iter().skip(offset).take(limit.unwrap_or(usize::MAX)).collect();
            ran.samples_answered += rows.len() as u64;
            let mut pieces = rows.chunks(ROWS).peekable();
            while let Some(piece) = pieces.next() {
                let names = piece.iter().map(|(name, _)| Item::String(name.clone())).collect();
                let values = piece.iter().filter_map(|(_, value)| value.clone().map(Item::String));
                let mut columns: Vec<Column> = vec![names, values.collect()];
                columns.retain(|column| !column.is_empty());
                let head = head.clone();
                on_table(Table { head, columns, is_last: pieces.peek().is_none() })?;
            }
        }
        ControlFlow::Continue(())
    }
}

fn row_bytes((name, value): &NameRow) -> usize {
    NAME_BYTES + value.as_ref().map_or(name.len(), |value| value.len())
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
