//! Looking: everything that the store says, as facts.

use crate::oracle::{Fact, Key, Series, State};
use crate::random::Random;
use crate::workload::{CATALOG_KINDS, NAMESPACES, Names, SeriesName, fact};
use foliot_engine::{Engine, Error, Snapshot};
use foliot_model::{Matcher, Name, Samples, Selector, Test, TimeRange};
use std::collections::BTreeSet;

/// Samples that one step of a scan may yield.
const STEP_SAMPLES_MAX: usize = 1024;

/// Why a look came to nothing.
pub(crate) enum Failure {
    /// The store reported an error.
    Disk(Error),
    /// The store said something that cannot be.
    Contradiction(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Disk(error)
    }
}

fn contradiction<T>(text: String) -> Result<T, Failure> {
    Err(Failure::Contradiction(text))
}

/// Reads the whole store.
pub(crate) fn all(engine: &Engine, names: &Names) -> Result<State, Failure> {
    let mut state = State::new();
    for (id, database, policy) in engine.namespaces() {
        let found = NAMESPACES.iter().position(|known| *known == (&*database, &*policy));
        let Some(slot) = found else {
            return contradiction(format!("namespace {database}.{policy} was never created"));
        };
        match (slot, id) {
            (0, 0) => {}
            (0, id) => return contradiction(format!("the default namespace has the id {id}")),
            (slot, id) => {
                state.insert(Key::Namespace(slot), Fact::Number(id));
            }
        }
        if let Some(keep) = engine.retention(id) {
            state.insert(Key::Keep(slot), Fact::Nanoseconds(keep.as_nanos() as i64));
        }
        let snapshot = engine.snapshot();
        let mut seen = BTreeSet::new();
        for sid in snapshot.select(&everything(id), TimeRange::ALL)? {
            let number = series_number(&snapshot, names, slot, sid)?;
            if !seen.insert(number) {
                return contradiction(format!("series {sid} has the name of another one"));
            }
            for (time_ns, fact) in scan(&snapshot, sid, TimeRange::ALL)? {
                state.insert(Key::Sample(number, time_ns), fact);
            }
        }
    }
    for kind in CATALOG_KINDS {
        for (key, bytes) in engine.catalog_list(kind) {
            if engine.catalog_get(kind, &key).as_ref() != Some(&bytes) {
                return contradiction(format!("catalog {kind}/{key}: list and get disagree"));
            }
            state.insert(Key::Catalog(kind.to_owned(), key), Fact::Bytes(bytes));
        }
    }
    Ok(state)
}

/// Reads one namespace by a matcher, ranges and last samples; the inner error is a contradiction
/// with what `expected` says.
pub(crate) fn some(
    engine: &Engine,
    names: &Names,
    expected: &State,
    random: &mut Random,
) -> Result<Result<(), String>, Failure> {
    let (id, database, policy) = random.pick(&engine.namespaces()).clone();
    let found = NAMESPACES.iter().position(|known| *known == (&*database, &*policy));
    let slot = found.unwrap_or_default();
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&everything(id), TimeRange::ALL)?;
    if let Err(text) = select_agrees(&snapshot, &sids, id, random)? {
        return Ok(Err(text));
    }
    for _ in 0..4.min(sids.len()) {
        let sid = *random.pick(&sids);
        let number = series_number(&snapshot, names, slot, sid)?;
        let samples: Vec<(i64, Fact)> = expected
            .range(Key::Sample(number, i64::MIN)..=Key::Sample(number, i64::MAX))
            .filter_map(|(key, fact)| match key {
                Key::Sample(_, time_ns) => Some((*time_ns, fact.clone())),
                _ => None,
            })
            .collect();
        let range = draw_range(&samples, random);
        let inside = |(time_ns, _): &&(i64, Fact)| range.contains(*time_ns);
        let wanted: Vec<_> = samples.iter().filter(inside).cloned().collect();
        let found = scan(&snapshot, sid, range)?;
        if found != wanted {
            let text = format!("series {sid} in {range:?}: expected {wanted:?}, found {found:?}");
            return Ok(Err(text));
        }
        let last = snapshot.last(sid)?;
        let last = last.as_ref().and_then(|last| last.iter().last());
        let last = last.map(|(time_ns, value)| (time_ns, fact(value)));
        if last.as_ref() != samples.last() {
            let text =
                format!("last of series {sid}: expected {:?}, found {last:?}", samples.last());
            return Ok(Err(text));
        }
    }
    Ok(Ok(()))
}

/// Compares a selection by a matcher with matching every series by hand.
fn select_agrees(
    snapshot: &Snapshot,
    sids: &[u32],
    namespace: u32,
    random: &mut Random,
) -> Result<Result<(), String>, Failure> {
    let host = format!("h{}", random.below(10));
    let test = match random.below(3) {
        0 => Test::equal(host),
        1 => match Test::regex(&format!("^{host}")) {
            Ok(test) => test,
            Err(error) => return Ok(Err(error.to_string())),
        },
        _ => match Test::wildcard("h*1", false) {
            Ok(test) => test,
            Err(error) => return Ok(Err(error.to_string())),
        },
    };
    let matcher = Matcher {
        name: "host".to_owned(),
        test,
        negated: random.percent(40),
        accepts_absent: random.percent(40),
    };
    let mut wanted = Vec::new();
    for &sid in sids {
        let identity = snapshot.identity(sid)?;
        let host = identity.as_ref().and_then(|i| i.labels.get("host"));
        if matcher.matches(host.map(|value| &**value)) {
            wanted.push(sid);
        }
    }
    let selector = Selector { matchers: vec![matcher.clone()], ..everything(namespace) };
    let found = snapshot.select(&selector, TimeRange::ALL)?;
    if found == wanted {
        return Ok(Ok(()));
    }
    Ok(Err(format!("{matcher:?} selects {found:?}, by hand {wanted:?}")))
}

fn everything(namespace: u32) -> Selector {
    Selector {
        namespace,
        names: vec![Name { measurement: Test::Any, field: Test::Any }],
        matchers: Vec::new(),
        exact_labels: None,
        only: None,
    }
}

fn series_number(
    snapshot: &Snapshot,
    names: &Names,
    slot: usize,
    sid: u32,
) -> Result<Series, Failure> {
    let Some(identity) = snapshot.identity(sid)? else {
        return contradiction(format!("series {sid} is selected and has no identity"));
    };
    let label = |label: &foliot_model::Label| (label.name.to_string(), label.value.to_string());
    let labels = identity.labels.iter().map(label).collect();
    let name: SeriesName =
        (slot, identity.measurement.to_string(), identity.field.to_string(), labels);
    match names.find(&name) {
        Some(number) => Ok(number),
        None => contradiction(format!("series {sid} was never sent: {name:?}")),
    }
}

/// The samples of a series, with the promises of a scan checked.
fn scan(snapshot: &Snapshot, sid: u32, range: TimeRange) -> Result<Vec<(i64, Fact)>, Failure> {
    let mut scan = snapshot.scan(sid, range)?;
    let mut found: Vec<(i64, Fact)> = Vec::new();
    let mut step = Samples::default();
    while scan.next(&mut step)? {
        if step.is_empty() || step.len() > STEP_SAMPLES_MAX {
            return contradiction(format!("series {sid}: a step of {} samples", step.len()));
        }
        for (time_ns, value) in step.iter() {
            if found.last().is_some_and(|(before, _)| *before >= time_ns) {
                return contradiction(format!("series {sid}: {time_ns} is not after the last"));
            }
            found.push((time_ns, fact(value)));
        }
        step.clear();
    }
    Ok(found)
}

/// A range that often begins or ends at a sample.
fn draw_range(samples: &[(i64, Fact)], random: &mut Random) -> TimeRange {
    let mut edge = || match samples {
        [] => random.next() as i64,
        samples => random.pick(samples).0.saturating_add(random.below(3) as i64 - 1),
    };
    let (a, b) = (edge(), edge());
    TimeRange::new(a.min(b), a.max(b))
}
