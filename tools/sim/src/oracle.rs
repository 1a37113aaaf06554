//! The oracle: what a reader must find, kept in plain maps.
//!
//! A store's history is a list of events in the order of the wal, each an atomic list of changes to
//! facts. Several clients make it at once: while an operation is under way nobody can say where it
//! will stand. A reader sees all that ended before he began, and of what went on meanwhile each
//! fact or its predecessor. A crash leaves some prefix of the list that holds every acknowledged
//! event; which one is found by comparing with what is really there.

mod clock;
mod explain;
mod state;
#[cfg(test)]
mod tests;

pub(crate) use clock::{Clock, HALF_DAY_NS, Rule, Rules};
pub(crate) use state::{Change, Fact, Key, Series, State};

use foliot_model::TimeRange;
use state::{agrees, differences};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

/// Changes that happen together or not at all.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) changes: Vec<Change>,
    /// The store's positions between which it stands. Equal when the store said where.
    pub(crate) from_lsn: u64,
    pub(crate) to_lsn: u64,
    /// Whether it may never have happened: the machine died before it was answered.
    pub(crate) is_doubtful: bool,
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

/// How an operation ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    /// It happened at this position of the wal.
    At(u64),
    /// It happened somewhere between these two.
    Between(u64, u64),
    /// It did not happen.
    Nowhere,
    /// The machine died meanwhile, after this position.
    After(u64),
}

/// What a reader may find while others go on.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) state: State,
    pub(crate) clock: Clock,
    /// What was under way at some time since the reader began.
    pub(crate) others: Vec<Change>,
}

/// The history of one store.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// With every event that a crash cannot take any more.
    base: State,
    /// Events after those, in the order of the wal.
    events: Vec<Event>,
    /// Up to here nothing may be lost with the power, and nothing with the process.
    durable_lsn: u64,
    written_lsn: u64,
    /// With all events.
    current: State,
    clock: Clock,
    /// Operations under way, by number.
    under_way: BTreeMap<u64, Vec<Change>>,
    /// Those that met others.
    crowded: BTreeSet<u64>,
    begun: u64,
    /// All that was ever stated about a fact.
    stated: BTreeMap<Key, Vec<Fact>>,
    /// The most facts that one operation changed.
    largest: usize,
    /// What readers saw when the store was closed.
    closed_with: Option<State>,
    watches: BTreeMap<u64, Watch>,
    /// Of each delete under way: the facts that others state meanwhile. They may state again what
    /// was there before, and nobody can say whether the delete met that.
    met: BTreeMap<u64, BTreeSet<Key>>,
}

impl History {
    /// All that was stated and not taken back.
    pub(crate) fn current(&self) -> &State {
        &self.current
    }

    /// Sets the wall clock: it shows something between these two.
    pub(crate) fn set_clock(&mut self, clock: Clock) {
        self.clock = clock;
    }

    /// An operation begins that will make these changes; its number.
    pub(crate) fn begin(&mut self, changes: &[Change]) -> u64 {
        self.begun += 1;
        for met in self.met.values_mut() {
            met.extend(stated(changes));
        }
        if changes.iter().any(|change| matches!(change, Change::Cut(..))) {
            let met = self.under_way.values().flat_map(|changes| stated(changes));
            self.met.insert(self.begun, met.collect());
        }
        self.under_way.insert(self.begun, changes.to_vec());
        if self.under_way.len() > 1 {
            self.crowded.extend(self.under_way.keys());
        }
        if self.doubtful().next().is_some() {
            self.crowded.insert(self.begun);
        }
        for watch in self.watches.values_mut() {
            watch.others.extend_from_slice(changes);
        }
        self.begun
    }

    /// What an operation did that the machine's death ended: all of it, a part of it, or nothing.
    /// Who still uses what the process has in memory may see that.
    fn doubtful(&self) -> impl Iterator<Item = &Change> {
        self.events.iter().filter(|event| event.is_doubtful).flat_map(|event| &event.changes)
    }

    /// Whether the operation was alone all the time, as far as operations are concerned.
    pub(crate) fn is_alone(&self, number: u64) -> bool {
        !self.crowded.contains(&number)
    }

    /// The most facts that one operation changed.
    pub(crate) fn largest(&self) -> usize {
        self.largest
    }

    /// Whether no operation is under way that is about this namespace.
    pub(crate) fn is_quiet(&self, slot: usize) -> bool {
        let mut changes = self.under_way.values().flatten();
        !changes.any(|change| change.slot() == Some(slot))
    }

    /// Whether what is stated of a namespace is all that there is: nothing hides samples by their
    /// age, and of none it is unknown whether they are there.
    pub(crate) fn is_plain(&self, slot: usize) -> bool {
        let is_vague = |(key, fact): (&Key, &Fact)| {
            key.slot() == Some(slot)
                && matches!((key, fact), (Key::Keep(_) | Key::Doubt(_), _) | (_, Fact::Perhaps(_)))
        };
        !self.clock.is_capped
            && self.clock.rules.iter().all(Option::is_none)
            && self.clock.default_keep_ns.is_none()
            && !self.current.iter().any(is_vague)
    }

    /// The store was closed in order when readers saw this, so all of it stays so: also what was
    /// perhaps so.
    pub(crate) fn close(&mut self, found: State) {
        let perhaps = self.current.iter().filter(|(_, fact)| matches!(fact, Fact::Perhaps(_)));
        let perhaps: Vec<Key> = perhaps.map(|(key, _)| key.clone()).collect();
        for key in perhaps {
            match found.get(&key) {
                Some(fact) => drop(self.current.insert(key, fact.clone())),
                // It may only be too old to be seen just now.
                None if self.is_aged(&key) => {}
                None => drop(self.current.remove(&key)),
            }
        }
        self.events.clear();
        self.base.clone_from(&self.current);
        self.closed_with = Some(found);
    }

    /// Whether a fact may be there and not be seen, for its age.
    fn is_aged(&self, key: &Key) -> bool {
        let Key::Sample(series, time_ns) = key else { return false };
        self.clock.is_capped || *time_ns < self.clock.floors(&self.current, *series).1
    }

    /// Compares what a reader finds first in a store that was closed with what the last one found
    /// before.
    ///
    /// # Errors
    /// The first fact that another start does not show, or shows otherwise.
    pub(crate) fn compare_with_closed(&mut self, found: &State) -> Result<(), String> {
        let Some(before) = self.closed_with.take() else { return Ok(()) };
        let keys = before.keys().chain(found.keys());
        let differs = |key: &&Key| match (before.get(*key), found.get(*key)) {
            (before, found) if before == found => false,
            (Some(_), Some(_)) => true,
            _ => !self.is_aged(key),
        };
        match keys.into_iter().find(differs) {
            None => Ok(()),
            Some(key) => Err(format!(
                "the same files, opened again, say otherwise of {key:?}: {:?} before, now {:?}",
                before.get(key),
                found.get(key)
            )),
        }
    }

    /// Compares what a reader found in damaged files with all that was ever stated: a fact may be
    /// missing or an older one, never another. Tells how many are not as they should be.
    ///
    /// # Errors
    /// The first fact that nobody ever stated.
    pub(crate) fn admit(&self, found: &State) -> Result<usize, String> {
        let is_right = |key: &Key, fact: &Fact| match key {
            Key::Sample(..) | Key::Catalog(..) => {
                self.stated.get(key).is_some_and(|stated| stated.contains(fact))
            }
            _ => true,
        };
        if let Some((key, fact)) = found.iter().find(|(key, fact)| !is_right(key, fact)) {
            return Err(format!("damage made a wrong value: {key:?} is {fact:?}"));
        }
        Ok(differences(&self.current, found, self.clock).count())
    }

    /// An operation has ended, with these changes.
    pub(crate) fn end(&mut self, number: u64, mut changes: Vec<Change>, end: End) {
        self.under_way.remove(&number);
        self.crowded.remove(&number);
        if let Some(met) = self.met.remove(&number).filter(|met| !met.is_empty()) {
            changes.iter_mut().for_each(|change| change.doubt(&met));
        }
        let (from_lsn, to_lsn, is_doubtful) = match end {
            End::At(lsn) => (lsn, lsn, false),
            End::Between(from, to) => (from, to, false),
            End::After(from) => (from, u64::MAX, true),
            End::Nowhere => return,
        };
        let touched = changes.iter().map(|change| match change {
            Change::Cut(_, _, known) => known.len(),
            _ => 1,
        });
        self.largest = self.largest.max(touched.sum());
        for change in &changes {
            if let Change::Set(key, fact) = change {
                let stated = self.stated.entry(key.clone()).or_default();
                if stated.last() != Some(fact) {
                    stated.push(fact.clone());
                }
            }
        }
        let event = Event { changes, from_lsn, to_lsn, is_doubtful };
        let at = self.events.partition_point(|other| other.to_lsn <= to_lsn);
        let is_last = at == self.events.len();
        self.events.insert(at, event);
        match is_last {
            true if is_doubtful => {}
            true => self.events.iter().skip(at).for_each(|event| event.apply(&mut self.current)),
            false => self.play_again(),
        }
    }

    fn play_again(&mut self) {
        self.current.clone_from(&self.base);
        for event in self.events.iter().filter(|event| !event.is_doubtful) {
            event.apply(&mut self.current);
        }
    }

    /// Everything up to the position was acknowledged as safe from power cuts. Returns how many
    /// events that is news for.
    pub(crate) fn acknowledge_durable(&mut self, lsn: u64) -> u64 {
        let is_news = |event: &&Event| event.to_lsn > self.durable_lsn && event.to_lsn <= lsn;
        let news = self.events.iter().filter(is_news).count() as u64;
        self.durable_lsn = self.durable_lsn.max(lsn);
        self.acknowledge_written(lsn);
        news
    }

    /// Everything up to the position was acknowledged as safe from the process's death.
    pub(crate) fn acknowledge_written(&mut self, lsn: u64) {
        self.written_lsn = self.written_lsn.max(lsn);
    }

    /// Nothing is under way: what is durable need not be kept as events any more.
    pub(crate) fn settle(&mut self) {
        if self.under_way.is_empty() && !self.events.iter().any(|event| event.is_doubtful) {
            let done = self.events.partition_point(|event| event.to_lsn <= self.durable_lsn);
            for event in self.events.drain(..done) {
                event.apply(&mut self.base);
            }
        }
    }

    /// A reader begins; his number.
    pub(crate) fn watch(&mut self) -> u64 {
        self.begun += 1;
        let others = self.under_way.values().flatten().chain(self.doubtful()).cloned().collect();
        let watch = Watch { state: self.current.clone(), clock: self.clock, others };
        self.watches.insert(self.begun, watch);
        self.begun
    }

    /// A reader has ended: what he may have found.
    pub(crate) fn watched(&mut self, number: u64) -> Option<Watch> {
        self.watches.remove(&number)
    }

    /// What a delete takes away that begins now.
    pub(crate) fn cuts(&self, series: &[Series], range: TimeRange, clock: Clock) -> Vec<Change> {
        let cut = |&own: &Series| {
            let held = self.current.range(state::keys(own, range));
            let held: State = held.map(|(key, fact)| (key.clone(), fact.clone())).collect();
            let is_shown = |key: &Key| !agrees(&self.current, key, None, clock);
            // A series that shows nothing is not looked at.
            let known = if held.keys().any(is_shown) { held } else { State::new() };
            Change::Cut(own, range, Arc::new(known))
        };
        series.iter().map(cut).collect()
    }

    /// How many samples the changes would take away that readers see: at least, and at most.
    pub(crate) fn shown(&self, changes: &[Change], clock: Clock) -> (u64, u64) {
        let keys = changes.iter().flat_map(|change| change.keys(&self.current));
        let (mut least, mut most) = (0, 0);
        for key in keys {
            let found = match self.current.get(&key) {
                Some(Fact::Perhaps(facts)) => facts.first(),
                fact => fact,
            };
            let may_be_there = agrees(&self.current, &key, found, clock);
            let may_be_gone = agrees(&self.current, &key, None, clock);
            most += u64::from(may_be_there);
            least += u64::from(may_be_there && !may_be_gone);
        }
        (least, most)
    }

    /// Whether a reader may find that where `expected` is so.
    pub(crate) fn agrees(&self, expected: &State, found: &State) -> bool {
        differences(expected, found, self.clock).next().is_none()
    }

    /// Compares what a reader found with what he must find now.
    ///
    /// # Errors
    /// The first facts that differ.
    pub(crate) fn compare(&self, found: &State) -> Result<(), String> {
        let mut differing = differences(&self.current, found, self.clock).peekable();
        if differing.peek().is_none() {
            return Ok(());
        }
        let mut text = "a reader does not see what was written".to_owned();
        for key in differing.take(8) {
            let (expected, found) = (self.current.get(key), found.get(key));
            let _ = write!(text, "\n  {key:?}: expected {expected:?}, found {found:?}");
        }
        Err(text)
    }
}

impl Watch {
    /// Whether a reader may have found that of a fact.
    pub(crate) fn admits(&self, key: &Key, found: Option<&Fact>) -> bool {
        let is_known = found.is_none() || self.state.contains_key(key);
        let comes_of = |change: &Change| match (change, found) {
            (Change::Set(_, fact), Some(found)) => fact == found,
            (Change::Set(..), None) => false,
            (_, found) => found.is_none(),
        };
        (is_known && agrees(&self.state, key, found, self.clock))
            || self.others.iter().any(|change| change.touches(key) && comes_of(change))
            || (is_known && self.others.iter().any(|change| self.shows_again(change, key, found)))
    }

    /// Whether a longer retention shows what was hidden for its age.
    fn shows_again(&self, change: &Change, key: &Key, found: Option<&Fact>) -> bool {
        if !matches!(change, Change::Keep(..)) || !change.touches(key) {
            return false;
        }
        let slot = key.slot();
        let own = self.state.iter().filter(|(other, _)| match other {
            Key::Keep(_) | Key::Doubt(_) => other.slot() == slot,
            other => *other == key,
        });
        let mut state: State = own.map(|(key, fact)| (key.clone(), fact.clone())).collect();
        change.apply(&mut state);
        agrees(&state, key, found, self.clock)
    }

    /// The instants of a series about which something is known.
    pub(crate) fn times(&self, series: Series) -> BTreeSet<i64> {
        let known = self.state.range(state::keys(series, TimeRange::ALL)).map(|(key, _)| key);
        let set = self.others.iter().filter_map(|change| match change {
            Change::Set(key @ Key::Sample(of, _), _) if *of == series => Some(key),
            _ => None,
        });
        let time =
            |key: &Key| if let Key::Sample(_, time_ns) = key { Some(*time_ns) } else { None };
        known.chain(set).filter_map(time).collect()
    }
}

/// The facts that changes state.
fn stated(changes: &[Change]) -> impl Iterator<Item = Key> {
    changes.iter().filter_map(|change| match change {
        Change::Set(key, _) => Some(key.clone()),
        _ => None,
    })
}

impl Event {
    fn apply(&self, state: &mut State) {
        self.changes.iter().for_each(|change| change.apply(state));
    }
}
