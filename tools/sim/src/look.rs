//! Looking: everything that the store says, as facts.

use crate::oracle::{Fact, Key, Series, State, Watch};
use crate::random::Random;
use crate::workload::{CATALOG_KINDS, NAMESPACES, Names, SeriesName, fact};
use foliot_engine::{Engine, Error, Identity, Scan, Snapshot};
use foliot_model::{Matcher, Name, Samples, Selector, Test, TimeRange};
use std::collections::{BTreeSet, HashMap};

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

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::Contradiction(text)
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
        if let Some(keep) = engine.retention(id).filter(|keep| names.default_keep != Some(*keep)) {
            state.insert(Key::Keep(slot), Fact::Nanoseconds(keep.as_nanos() as i64));
        }
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&everything(id), TimeRange::ALL)?;
        let mut called = HashMap::new();
        snapshot.identities(&sids, &mut |sid, identity| {
            called.insert(sid, identity);
        })?;
        let mut seen = BTreeSet::new();
        let mut scanned =
            snapshot.scan(sids.first().copied().unwrap_or_default(), TimeRange::ALL)?;
        for sid in sids {
            let Some(identity) = called.get(&sid) else {
                return contradiction(format!("series {sid} is selected and has no identity"));
            };
            let number = number_of(names, slot, sid, identity)?;
            if !seen.insert(number) {
                return contradiction(format!("series {sid} has the name of another one"));
            }
            snapshot.scan_into(sid, &mut scanned)?;
            each_of(&mut scanned, sid, &mut |time_ns, fact| {
                state.insert(Key::Sample(number, time_ns), fact);
            })?;
        }
    }
    for kind in CATALOG_KINDS {
        for (key, bytes) in engine.catalog_list(kind) {
            let found = engine.catalog_get(kind, &key);
            let again = || engine.catalog_list(kind).into_iter().find(|(own, _)| *own == key);
            // Another client may have changed it since it was listed.
            if found.as_ref() != Some(&bytes) && found != again().map(|(_, bytes)| bytes) {
                return contradiction(format!("catalog {kind}/{key}: list and get disagree"));
            }
            state.insert(Key::Catalog(kind.to_owned(), key), Fact::Bytes(bytes));
        }
    }
    Ok(state)
}

/// What a reader saw of a series.
pub(crate) enum Seen {
    Samples(Series, TimeRange, Vec<(i64, Fact)>),
    Last(Series, Option<(i64, Fact)>),
    /// A selection that is not what its matcher says.
    Selection(String),
}

impl Seen {
    /// Compares it with what the reader may have seen.
    ///
    /// # Errors
    /// The first thing that differs.
    pub(crate) fn agrees(&self, watch: &Watch) -> Result<(), String> {
        let admits = |series, time_ns, found: Option<&Fact>| {
            watch.admits(&Key::Sample(series, time_ns), found)
        };
        match self {
            Self::Samples(series, range, found) => {
                let find = |time_ns: i64| {
                    let at = found.binary_search_by_key(&time_ns, |(time_ns, _)| *time_ns).ok()?;
                    found.get(at).map(|(_, fact)| fact)
                };
                let mut times = watch.times(*series);
                times.retain(|time_ns| range.contains(*time_ns));
                times.extend(found.iter().map(|(time_ns, _)| *time_ns));
                match times.into_iter().find(|&time_ns| !admits(*series, time_ns, find(time_ns))) {
                    None => Ok(()),
                    Some(time_ns) => Err(format!(
                        "{series:?} in {range:?}: found {:?} at {time_ns}, expected {:?} or what \
                         went on; hidden before {:?}",
                        find(time_ns),
                        watch.state.get(&Key::Sample(*series, time_ns)),
                        watch.clock.floors(&watch.state, *series),
                    )),
                }
            }
            Self::Last(series, last) => {
                let after = last.as_ref().map(|(time_ns, _)| *time_ns);
                let is_right =
                    last.as_ref().is_none_or(|(at, fact)| admits(*series, *at, Some(fact)));
                let later = watch.times(*series).into_iter();
                let mut later = later.filter(|time_ns| after.is_none_or(|after| *time_ns > after));
                match later.find(|&time_ns| !admits(*series, time_ns, None)) {
                    None if is_right => Ok(()),
                    missed => {
                        let at = missed.or(after).unwrap_or_default();
                        Err(format!(
                            "{series:?}: last is {last:?}, missed {missed:?}; expected {:?} at {at} \
                             or what went on; hidden before {:?}",
                            watch.state.get(&Key::Sample(*series, at)),
                            watch.clock.floors(&watch.state, *series),
                        ))
                    }
                }
            }
            Self::Selection(text) if watch.others.is_empty() => Err(text.clone()),
            Self::Selection(_) => Ok(()),
        }
    }
}

/// Reads one namespace by a matcher, ranges and last samples.
pub(crate) fn some(
    engine: &Engine,
    names: &Names,
    random: &mut Random,
) -> Result<Vec<Seen>, Failure> {
    let (id, database, policy) = random.pick(&engine.namespaces()).clone();
    let found = NAMESPACES.iter().position(|known| *known == (&*database, &*policy));
    let slot = found.unwrap_or_default();
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&everything(id), TimeRange::ALL)?;
    let mut seen = Vec::new();
    if let Err(text) = select_agrees(&snapshot, &sids, id, random)? {
        seen.push(Seen::Selection(text));
    }
    for _ in 0..4.min(sids.len()) {
        let sid = *random.pick(&sids);
        let Some(number) = series_number(&snapshot, names, slot, sid)? else {
            seen.push(Seen::Selection(format!("series {sid} is selected and has no identity")));
            continue;
        };
        let range = match random.percent(30) {
            true => TimeRange::ALL,
            false => draw_range(&scan(&snapshot, sid, TimeRange::ALL)?, random),
        };
        seen.push(Seen::Samples(number, range, scan(&snapshot, sid, range)?));
        let last = snapshot.last(sid)?;
        let last = last.as_ref().and_then(|last| last.iter().last());
        seen.push(Seen::Last(number, last.map(|(time_ns, value)| (time_ns, fact(value)))));
    }
    Ok(seen)
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
) -> Result<Option<Series>, Failure> {
    let identity = snapshot.identity(sid)?;
    identity.map(|identity| number_of(names, slot, sid, &identity)).transpose()
}

fn number_of(names: &Names, slot: usize, sid: u32, identity: &Identity) -> Result<Series, Failure> {
    let label = |label: &foliot_model::Label| (label.name.to_string(), label.value.to_string());
    let labels = identity.labels.iter().map(label).collect();
    let name: SeriesName =
        (slot, identity.measurement.to_string(), identity.field.to_string(), labels);
    match names.find(&name) {
        Some(number) => Ok(number),
        None => contradiction(format!("series {sid} was never sent: {name:?}")),
    }
}

/// The samples of a series.
fn scan(snapshot: &Snapshot, sid: u32, range: TimeRange) -> Result<Vec<(i64, Fact)>, Failure> {
    let mut found = Vec::new();
    each_of(&mut snapshot.scan(sid, range)?, sid, &mut |time_ns, fact| {
        found.push((time_ns, fact));
    })?;
    Ok(found)
}

/// Calls `each` with the samples of a scan, whose promises are checked.
fn each_of(scan: &mut Scan, sid: u32, each: &mut dyn FnMut(i64, Fact)) -> Result<(), Failure> {
    let mut last_ns = None;
    let mut step = Samples::default();
    while scan.next(&mut step)? {
        if step.is_empty() || step.len() > STEP_SAMPLES_MAX {
            return contradiction(format!("series {sid}: a step of {} samples", step.len()));
        }
        for (time_ns, value) in step.iter() {
            if last_ns.is_some_and(|before| before >= time_ns) {
                return contradiction(format!("series {sid}: {time_ns} is not after the last"));
            }
            last_ns = Some(time_ns);
            each(time_ns, fact(value));
        }
        step.clear();
    }
    Ok(())
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
