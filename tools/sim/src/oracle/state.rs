//! Facts, changes to them, and when a reader's facts agree with them.

use super::clock::Clock;
use foliot_model::{Kind, TimeRange};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A series: its namespace and its own number in the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub(crate) namespace: usize,
    /// Which rules of retention fit it, a bit for each of the workload's.
    pub(crate) fits: u8,
    pub(crate) number: u32,
}

/// What a fact is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// The sample of a series at a time.
    Sample(Series, i64),
    /// A row of the catalog: kind and key.
    Catalog(String, String),
    /// A namespace, by its number in the workload.
    Namespace(usize),
    /// How long a namespace keeps its samples.
    Keep(usize),
    /// Before when a namespace may have lost samples, because it once kept less.
    Doubt(usize),
}

impl Key {
    /// The namespace that it is about, by its number in the workload.
    pub(crate) fn slot(&self) -> Option<usize> {
        match self {
            Self::Sample(series, _) => Some(series.namespace),
            Self::Namespace(slot) | Self::Keep(slot) | Self::Doubt(slot) => Some(*slot),
            Self::Catalog(..) => None,
        }
    }
}

/// What is so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// A value: kind, and bits or bytes.
    Value(Kind, u64, Vec<u8>),
    /// The bytes of a catalog row.
    Bytes(Vec<u8>),
    /// The engine's number of a namespace.
    Number(u32),
    /// A length of time, or an instant.
    Nanoseconds(i64),
    /// One of these or nothing: a delete came at the same time, or a crash took it and nobody sees
    /// what is so old.
    Perhaps(Vec<Fact>),
}

/// All that is so.
pub(crate) type State = BTreeMap<Key, Fact>;

/// A change of facts.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Set(Key, Fact),
    Unset(Key),
    /// Takes the samples of a series away, those that were there when the delete began. Whether it
    /// met others, who came at the same time, nobody can say.
    Cut(Series, TimeRange, Arc<BTreeMap<Key, Fact>>),
    /// A namespace keeps its samples for so long from now on.
    Keep(usize, i64, Clock),
}

impl Change {
    /// Whether it may change that fact.
    pub(crate) fn touches(&self, key: &Key) -> bool {
        match (self, key) {
            (Self::Set(own, _) | Self::Unset(own), key) => own == key,
            (Self::Cut(own, range, _), Key::Sample(series, time_ns)) => {
                own == series && range.contains(*time_ns)
            }
            (Self::Keep(own, ..), Key::Sample(series, _)) => *own == series.namespace,
            (Self::Keep(own, ..), Key::Keep(slot)) => own == slot,
            _ => false,
        }
    }

    /// Of a delete: others stated these facts meanwhile, so what it took of them is not known.
    pub(crate) fn doubt(&mut self, met: &BTreeSet<Key>) {
        if let Self::Cut(_, _, known) = self {
            Arc::make_mut(known).retain(|key, _| !met.contains(key));
        }
    }

    /// The namespace that it is about, by its number in the workload.
    pub(crate) fn slot(&self) -> Option<usize> {
        match self {
            Self::Set(key, _) | Self::Unset(key) => key.slot(),
            Self::Cut(series, ..) => Some(series.namespace),
            Self::Keep(slot, ..) => Some(*slot),
        }
    }

    /// The one fact that it sets or takes away.
    pub(crate) fn place(&self) -> Option<Key> {
        match self {
            Self::Set(key, _) | Self::Unset(key) => Some(key.clone()),
            Self::Cut(..) | Self::Keep(..) => None,
        }
    }

    /// The keys of `state` that it may change, and its own.
    pub(crate) fn keys(&self, state: &State) -> Vec<Key> {
        match self {
            Self::Set(key, _) | Self::Unset(key) => vec![key.clone()],
            Self::Cut(series, range, _) => {
                state.range(keys(*series, *range)).map(|(key, _)| key.clone()).collect()
            }
            Self::Keep(slot, ..) => {
                let touched = state.keys().filter(|key| self.touches(key));
                let others = touched.filter(|key| !matches!(key, Key::Keep(_)));
                others.cloned().chain([Key::Keep(*slot)]).collect()
            }
        }
    }

    pub(crate) fn apply(&self, state: &mut State) {
        match self {
            Self::Set(key, fact) => {
                state.insert(key.clone(), fact.clone());
            }
            Self::Unset(key) => {
                state.remove(key);
            }
            Self::Cut(series, range, known) => {
                let cut = state.range(keys(*series, *range));
                let cut: Vec<Key> = cut.map(|(key, _)| key.clone()).collect();
                for key in cut {
                    match state.remove(&key) {
                        fact if fact.as_ref() == known.get(&key) => {}
                        Some(fact @ Fact::Perhaps(_)) => drop(state.insert(key, fact)),
                        Some(fact) => drop(state.insert(key, Fact::Perhaps(vec![fact]))),
                        None => {}
                    }
                }
            }
            Self::Keep(slot, keep_ns, clock) => {
                let before = match state.get(&Key::Keep(*slot)) {
                    Some(Fact::Nanoseconds(before)) => Some(*before),
                    _ => clock.default_keep_ns,
                };
                if let Some(before) = before.filter(|before| before < keep_ns) {
                    // What was hidden may be gone, or show again.
                    let latest_ns = clock.latest_ns.max(clock.gone_ns);
                    let doubt_ns = latest_ns.saturating_sub(before).max(doubt(state, *slot));
                    state.insert(Key::Doubt(*slot), Fact::Nanoseconds(doubt_ns));
                }
                state.insert(Key::Keep(*slot), Fact::Nanoseconds(*keep_ns));
            }
        }
    }
}

/// The samples of a series in a range.
pub(crate) fn keys(series: Series, range: TimeRange) -> RangeInclusive<Key> {
    Key::Sample(series, range.start_ns)..=Key::Sample(series, range.end_ns)
}

/// The instant before which a namespace may have lost samples.
pub(crate) fn doubt(state: &State, slot: usize) -> i64 {
    match state.get(&Key::Doubt(slot)) {
        Some(Fact::Nanoseconds(doubt_ns)) => *doubt_ns,
        _ => i64::MIN,
    }
}

/// Whether a reader may find `found` where `state` is so.
pub(crate) fn agrees(state: &State, key: &Key, found: Option<&Fact>, clock: Clock) -> bool {
    match key {
        Key::Doubt(_) => true,
        Key::Sample(series, time_ns) => {
            let (surely_ns, possibly_ns) = clock.floors(state, *series);
            if *time_ns < surely_ns {
                return found.is_none();
            }
            let doubt_ns = doubt(state, series.namespace).max(possibly_ns);
            let may_be_gone = *time_ns < doubt_ns || clock.is_capped;
            match (state.get(key), found) {
                (Some(Fact::Perhaps(_)), None) => true,
                (Some(Fact::Perhaps(facts)), Some(found)) => facts.contains(found),
                (fact, found) => found == fact || (may_be_gone && found.is_none()),
            }
        }
        key => found == state.get(key),
    }
}

/// The keys whose facts a reader should find, and did not or found otherwise; and those that he
/// should not find.
pub(crate) fn differences<'a>(
    expected: &'a State,
    found: &'a State,
    clock: Clock,
) -> impl Iterator<Item = &'a Key> {
    let differs = move |key: &&Key| !agrees(expected, key, found.get(*key), clock);
    let unexpected = |key: &&Key| !expected.contains_key(key);
    expected.keys().filter(differs).chain(found.keys().filter(unexpected))
}
