//! The oracle: what a reader must find, kept in plain maps.
//!
//! A store's history is a list of events, each an atomic list of changes to facts. A reader sees
//! all of it. A power cut leaves some prefix that holds every acknowledged event; which one is
//! found by comparing with what is really there.

use foliot_model::Kind;
use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::fmt::Write;

/// A series: its namespace and its own number in the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Series {
    pub(crate) namespace: usize,
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
    /// A length of time.
    Nanoseconds(i64),
}

/// All that is so.
pub(crate) type State = BTreeMap<Key, Fact>;

/// The instant before which a namespace shows no samples, at `now_ns`.
pub(crate) fn floor(state: &State, namespace: usize, now_ns: i64) -> i64 {
    match state.get(&Key::Keep(namespace)) {
        Some(Fact::Nanoseconds(keep_ns)) => now_ns.saturating_sub(*keep_ns),
        _ => i64::MIN,
    }
}

/// What a reader is shown of a fact at `now_ns`: nothing of samples that are too old.
fn shown<'s>(state: &'s State, key: &Key, now_ns: i64) -> Option<&'s Fact> {
    match key {
        Key::Sample(series, time_ns) if *time_ns < floor(state, series.namespace, now_ns) => None,
        key => state.get(key),
    }
}

/// Changes that happen together or not at all; nothing in place of a fact takes it away.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) changes: Vec<(Key, Option<Fact>)>,
    /// The store's position after it, when it said so.
    pub(crate) lsn: Option<u64>,
}

impl Event {
    fn apply(&self, state: &mut State) {
        for (key, fact) in &self.changes {
            match fact {
                Some(fact) => state.insert(key.clone(), fact.clone()),
                None => state.remove(key),
            };
        }
    }
}

/// What happened to the machine since the store was last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loss {
    /// Nothing.
    None,
    /// The process died.
    Process,
    /// The power failed.
    Power,
}

/// The history of one store.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// With every event that must survive a power cut.
    durable: State,
    /// Events after those, oldest first.
    pending: VecDeque<Event>,
    /// How many of `pending` must survive the death of the process.
    written: usize,
    /// With all events.
    current: State,
    /// The wall clock.
    now_ns: i64,
    /// Number of events that `durable` holds.
    durable_events: u64,
}

impl History {
    /// All that was stated and not taken back.
    pub(crate) fn current(&self) -> &State {
        &self.current
    }

    /// What a reader must find now.
    pub(crate) fn shown(&self) -> State {
        let is_shown = |key: &Key| shown(&self.current, key, self.now_ns).is_some();
        let facts = self.current.iter().filter(|(key, _)| is_shown(key));
        facts.map(|(key, fact)| (key.clone(), fact.clone())).collect()
    }

    /// Sets the wall clock, which never goes back here.
    pub(crate) fn set_clock(&mut self, now_ns: i64) {
        self.now_ns = now_ns;
    }

    /// Adds an event and returns its number.
    pub(crate) fn push(&mut self, event: Event) -> u64 {
        event.apply(&mut self.current);
        self.pending.push_back(event);
        self.durable_events + self.pending.len() as u64
    }

    /// Everything up to the event numbered `number` was acknowledged as safe from power cuts.
    /// Returns how many events that is news for.
    pub(crate) fn acknowledge_durable(&mut self, number: u64) -> u64 {
        let before = self.durable_events;
        while self.durable_events < number
            && let Some(event) = self.pending.pop_front()
        {
            event.apply(&mut self.durable);
            self.durable_events += 1;
            self.written = self.written.saturating_sub(1);
        }
        self.durable_events - before
    }

    /// Everything up to the event numbered `number` was acknowledged as safe from the process's
    /// death.
    pub(crate) fn acknowledge_written(&mut self, number: u64) {
        self.written = self.written.max(number.saturating_sub(self.durable_events) as usize);
    }

    /// The number of the last event at or before the store's position `lsn`.
    pub(crate) fn number_at(&self, lsn: u64) -> u64 {
        let last = self.pending.iter().rposition(|event| event.lsn.is_some_and(|at| at <= lsn));
        self.durable_events + last.map_or(0, |index| index as u64 + 1)
    }

    /// Takes what was found after `loss` as the truth, if it is a possible one.
    ///
    /// # Errors
    /// What contradicts the acknowledgements.
    pub(crate) fn survive(&mut self, loss: Loss, found: &State) -> Result<(), String> {
        let kept = self.explain(loss, found)?;
        self.pending.truncate(kept);
        self.written = kept;
        self.current.clone_from(&self.durable);
        for event in &self.pending {
            event.apply(&mut self.current);
        }
        if loss == Loss::Power {
            // What a power cut left is on the medium: it can not be lost any more.
            self.acknowledge_durable(u64::MAX);
        }
        Ok(())
    }

    /// How many pending events lead to what was found after `loss`.
    ///
    /// # Errors
    /// What contradicts the acknowledgements.
    pub(crate) fn explain(&self, loss: Loss, found: &State) -> Result<usize, String> {
        let least = match loss {
            Loss::None => self.pending.len(),
            Loss::Process => self.written,
            Loss::Power => 0,
        };
        self.longest_match(least, found).ok_or_else(|| self.contradiction(least, found))
    }

    /// The largest number of pending events, at least `least`, that leads to `found`.
    fn longest_match(&self, least: usize, found: &State) -> Option<usize> {
        let mut state = self.durable.clone();
        self.pending.iter().take(least).for_each(|event| event.apply(&mut state));
        let now_ns = self.now_ns;
        let mut differing = differences(&state, found, now_ns).count();
        let mut matched = (differing == 0).then_some(least);
        for (index, event) in self.pending.iter().enumerate().skip(least) {
            for (key, fact) in &event.changes {
                let expected = found.get(key);
                differing -= usize::from(shown(&state, key, now_ns) != expected);
                match fact {
                    Some(fact) => state.insert(key.clone(), fact.clone()),
                    None => state.remove(key),
                };
                differing += usize::from(shown(&state, key, now_ns) != expected);
                if matches!(key, Key::Keep(_)) {
                    differing = differences(&state, found, now_ns).count();
                }
            }
            if differing == 0 {
                matched = Some(index + 1);
            }
        }
        matched
    }

    /// Compares what a reader found with what he must find now.
    ///
    /// # Errors
    /// The first facts that differ.
    pub(crate) fn compare(&self, found: &State) -> Result<(), String> {
        let mut differing = differences(&self.current, found, self.now_ns).peekable();
        if differing.peek().is_none() {
            return Ok(());
        }
        let mut text = "a reader does not see what was written".to_owned();
        for key in differing.take(8) {
            let (expected, found) = (shown(&self.current, key, self.now_ns), found.get(key));
            let _ = write!(text, "\n  {key:?}: expected {expected:?}, found {found:?}");
        }
        Err(text)
    }

    fn contradiction(&self, least: usize, found: &State) -> String {
        let mut best: Option<(usize, usize, State)> = None;
        let mut state = self.durable.clone();
        for index in 0..=self.pending.len() {
            if index >= least {
                let count = differences(&state, found, self.now_ns).count();
                if best.as_ref().is_none_or(|(fewest, ..)| count < *fewest) {
                    best = Some((count, index, state.clone()));
                }
            }
            if let Some(event) = self.pending.get(index) {
                event.apply(&mut state);
            }
        }
        let Some((count, index, state)) = best else { return String::new() };
        let mut text = format!(
            "no prefix of at least {least} of {} unacknowledged events explains what was found; \
             with {index} of them {count} facts differ",
            self.pending.len()
        );
        for key in differences(&state, found, self.now_ns).take(8) {
            let (expected, found) = (shown(&state, key, self.now_ns), found.get(key));
            let _ = write!(text, "\n  {key:?}: expected {expected:?}, found {found:?}");
        }
        text
    }
}

/// The keys whose facts a reader should find, and did not or found otherwise; and those that he
/// should not find.
fn differences<'a>(
    expected: &'a State,
    found: &'a State,
    now_ns: i64,
) -> impl Iterator<Item = &'a Key> {
    let differs = move |key: &&Key| shown(expected, key, now_ns) != found.get(key);
    let unexpected = |key: &&Key| !expected.contains_key(key);
    expected.keys().filter(differs).chain(found.keys().filter(unexpected))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERIES: Series = Series { namespace: 0, number: 0 };

    fn put(key: i64, bits: u64) -> (Key, Option<Fact>) {
        (Key::Sample(SERIES, key), Some(Fact::Value(Kind::Integer, bits, vec![])))
    }

    fn event(lsn: u64, changes: &[(Key, Option<Fact>)]) -> Event {
        Event { changes: changes.to_vec(), lsn: Some(lsn) }
    }

    fn state(changes: &[(Key, Option<Fact>)]) -> State {
        let mut state = State::new();
        event(0, changes).apply(&mut state);
        state
    }

    fn history() -> History {
        let mut history = History::default();
        let first = history.push(event(10, &[put(1, 1)]));
        history.push(event(20, &[put(2, 2), put(3, 3)]));
        history.push(event(30, &[put(1, 9)]));
        history.acknowledge_durable(first);
        history
    }

    #[test]
    fn prefixes_with_all_acknowledged_events_survive() {
        let possible = [
            state(&[put(1, 1)]),
            state(&[put(1, 1), put(2, 2), put(3, 3)]),
            state(&[put(1, 9), put(2, 2), put(3, 3)]),
        ];
        for found in &possible {
            let mut history = history();
            history.survive(Loss::Power, found).unwrap();
            assert_eq!((history.current(), &history.durable), (found, found));
            let next = history.push(event(40, &[put(1, 5)]));
            assert_eq!(next, history.durable_events + 1);
        }
    }

    #[test]
    fn anything_else_is_a_contradiction() {
        let impossible = [
            state(&[]),
            state(&[put(2, 2), put(3, 3)]),
            state(&[put(1, 1), put(2, 2)]),
            state(&[put(1, 9)]),
            state(&[put(1, 1), put(7, 7)]),
            state(&[put(1, 2)]),
        ];
        for found in &impossible {
            assert!(history().survive(Loss::Power, found).is_err(), "{found:?}");
        }
    }

    #[test]
    fn a_dead_process_loses_only_what_was_not_written() {
        let mut killed = history();
        killed.acknowledge_written(killed.number_at(20));
        assert!(killed.survive(Loss::Process, &state(&[put(1, 1)])).is_err());
        let found = state(&[put(1, 1), put(2, 2), put(3, 3)]);
        killed.survive(Loss::Process, &found).unwrap();
        assert_eq!((killed.durable.len(), killed.pending.len()), (1, 1));
        killed.survive(Loss::Power, &state(&[put(1, 1)])).unwrap();
        assert!(history().survive(Loss::None, &found).is_err());
    }

    #[test]
    fn positions_count_up_to_the_last_event_before_them() {
        let history = history();
        assert_eq!([5, 20, 29, 30].map(|lsn| history.number_at(lsn)), [1, 2, 2, 3]);
    }

    #[test]
    fn what_was_taken_away_stays_away() {
        let mut history = history();
        history.push(event(40, &[(Key::Sample(SERIES, 1), None)]));
        let found = state(&[put(2, 2), put(3, 3)]);
        history.survive(Loss::Power, &found).unwrap();
        assert_eq!(history.current(), &found);
    }

    #[test]
    fn what_is_too_old_is_not_shown_and_not_forgotten() {
        let mut history = history();
        history.set_clock(10);
        history.push(event(40, &[(Key::Keep(0), Some(Fact::Nanoseconds(8)))]));
        let keep = (Key::Keep(0), Some(Fact::Nanoseconds(8)));
        let kept = state(&[put(2, 2), put(3, 3), keep.clone()]);
        assert_eq!(history.shown(), kept);
        history.compare(&kept).unwrap();
        assert!(history.compare(&state(&[put(1, 9), put(2, 2), put(3, 3), keep])).is_err());
        // A cut that took the event away leaves what it would have hidden.
        let before = state(&[put(1, 9), put(2, 2), put(3, 3)]);
        history.survive(Loss::Power, &before).unwrap();
        assert_eq!(history.shown(), before);
    }
}
