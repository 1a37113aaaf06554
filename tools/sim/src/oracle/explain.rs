//! Explaining what a crash left: some prefix of the history, with all that was acknowledged.

use super::state::{Change, Fact, Key, State, agrees, differences};
use super::{Clock, Event, History, Loss};
use crate::workload::NAMESPACES;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Orders of events that are tried before the search is given up.
const ORDERS_MAX: usize = 20_000;

impl History {
    /// Takes what was found after `loss` as the truth, if it is a possible one. What was found is
    /// safe from now on: opening a store makes durable what it recovers.
    ///
    /// # Errors
    /// What contradicts the acknowledgements.
    pub(crate) fn survive(&mut self, loss: Loss, found: &State) -> Result<(), String> {
        let kept = self.explain(loss, found)?;
        let mut state = self.base.clone();
        kept.iter().for_each(|event| event.apply(&mut state));
        state.extend(self.unseen(loss, found, &state));
        let hidden = hidden(found);
        state.retain(|key, _| key.slot().is_none_or(|slot| !hidden.contains(&slot)));
        self.events.clear();
        self.under_way.clear();
        self.crowded.clear();
        self.watches.clear();
        (self.durable_lsn, self.written_lsn) = (0, 0);
        self.current.clone_from(&state);
        self.base = state;
        Ok(())
    }

    /// Samples that are too old to be seen, as `state` has it, and that events state or take away
    /// of which nobody can say whether they survived: what there may be of them. A clock that goes
    /// back, or a longer retention, shows them again.
    fn unseen(&self, loss: Loss, found: &State, state: &State) -> State {
        let least_lsn = self.least_lsn(loss);
        let is_safe = |event: &&Event| event.to_lsn <= least_lsn && !event.is_doubtful;
        let is_unseen = |key: &Key| match key {
            Key::Sample(series, time_ns) => {
                let is_aged = *time_ns < self.clock.floors(state, *series).1;
                (is_aged || self.clock.is_capped) && !found.contains_key(key)
            }
            _ => false,
        };
        let mut safe = self.base.clone();
        self.events.iter().filter(is_safe).for_each(|event| event.apply(&mut safe));
        let mut unseen = BTreeMap::<Key, Vec<Fact>>::new();
        let changes = self.events.iter().filter(|event| !is_safe(event));
        for change in changes.flat_map(|event| &event.changes) {
            if matches!(change, Change::Keep(..)) {
                continue;
            }
            for key in change.keys(&safe).into_iter().filter(|key| is_unseen(key)) {
                let known = unseen.entry(key.clone()).or_insert_with(|| match safe.get(&key) {
                    Some(Fact::Perhaps(facts)) => facts.clone(),
                    fact => fact.cloned().into_iter().collect(),
                });
                if let Change::Set(_, fact) = change {
                    known.push(fact.clone());
                }
            }
        }
        unseen.into_iter().map(|(key, facts)| (key, Fact::Perhaps(facts))).collect()
    }

    /// Up to where everything that was acknowledged survives a loss.
    fn least_lsn(&self, loss: Loss) -> u64 {
        match loss {
            Loss::None => u64::MAX,
            Loss::Process => self.written_lsn,
            Loss::Power => self.durable_lsn,
        }
    }

    /// The events after the safe ones that lead to what was found after `loss`.
    ///
    /// Samples and each fact of the catalog are explained apart: a flush may write a fact to a file
    /// that came after a sample or another fact which the power takes, as long as nobody was
    /// promised either. How long samples are kept is such a fact too.
    ///
    /// # Errors
    /// What contradicts the acknowledgements.
    pub(crate) fn explain(&self, loss: Loss, found: &State) -> Result<Vec<Event>, String> {
        let least_lsn = self.least_lsn(loss);
        let hidden = hidden(found);
        let is_shown = |slot: Option<usize>| slot.is_none_or(|slot| !hidden.contains(&slot));
        let of_catalog = |event: &&Event| event.is_of_catalog();
        let mut samples: Vec<Event> =
            self.events.iter().filter(|event| !of_catalog(event)).cloned().collect();
        for event in &mut samples {
            event.changes.retain(|change| is_shown(change.slot()));
            *event = event.as_early_as(least_lsn);
        }
        let facts = self.events.iter().filter(of_catalog).flat_map(|event| &event.changes);
        let mut places: Vec<Option<Key>> = facts.flat_map(Change::place).map(Some).collect();
        places.sort();
        places.dedup();
        // Those that nothing happened to.
        places.push(None);
        let known = places.clone();
        let mut base = lane(&self.base, &|key| !is_of_catalog(key));
        base.retain(|key, _| is_shown(key.slot()));
        let lane_of =
            |base, events, found| Lane { base, events, least_lsn, found, clock: self.clock };
        let found_samples = lane(found, &|key| !is_of_catalog(key));
        let mut kept = lane_of(base, samples.iter().collect(), found_samples).explain()?;
        for place in places {
            let is_own = |key: &Key| match &place {
                Some(own) => own == key,
                None => is_of_catalog(key) && !known.contains(&Some(key.clone())),
            };
            let events = self.events.iter().filter(of_catalog);
            let events = events.filter(|event| {
                event.changes.iter().filter_map(Change::place).any(|key| is_own(&key))
            });
            let lane = lane_of(lane(&self.base, &is_own), events.collect(), lane(found, &is_own));
            kept.extend(lane.explain()?);
        }
        kept.sort_by_key(|event| event.to_lsn);
        Ok(kept)
    }
}

impl Event {
    /// The same, but a fact that may have gone to a file with what was there before it may stand
    /// right after what is safe.
    fn as_early_as(&self, lsn: u64) -> Self {
        let is_fact = self.changes.iter().all(|change| matches!(change, Change::Keep(..)));
        let from_lsn = if is_fact { self.from_lsn.min(lsn) } else { self.from_lsn };
        Self { from_lsn, ..self.clone() }
    }

    fn is_of_catalog(&self) -> bool {
        self.changes.iter().all(|change| match change {
            Change::Set(key, _) | Change::Unset(key) => is_of_catalog(key),
            Change::Cut(..) | Change::Keep(..) => false,
        })
    }
}

/// Namespaces that are not there: nobody sees what is in them, and a drop that the power took half
/// is as good as one that it left.
fn hidden(found: &State) -> Vec<usize> {
    (1..NAMESPACES.len()).filter(|slot| !found.contains_key(&Key::Namespace(*slot))).collect()
}

fn is_of_catalog(key: &Key) -> bool {
    matches!(key, Key::Catalog(..) | Key::Namespace(_))
}

fn lane(state: &State, is_own: &dyn Fn(&Key) -> bool) -> State {
    let own = state.iter().filter(|(key, _)| is_own(key));
    own.map(|(key, fact)| (key.clone(), fact.clone())).collect()
}

/// Facts that are explained by a prefix of events of their own.
struct Lane<'e> {
    base: State,
    events: Vec<&'e Event>,
    least_lsn: u64,
    found: State,
    clock: Clock,
}

impl Lane<'_> {
    fn explain(&self) -> Result<Vec<Event>, String> {
        let (exact, vague): (Vec<&Event>, Vec<&Event>) =
            self.events.iter().partition(|event| event.from_lsn == event.to_lsn);
        let mut left = ORDERS_MAX;
        self.place(exact, &vague, &mut left).ok_or_else(|| self.contradiction())
    }

    /// Puts the first of the vague events to each place where it may stand, and goes on with the
    /// others.
    fn place(&self, order: Vec<&Event>, vague: &[&Event], left: &mut usize) -> Option<Vec<Event>> {
        let Some((first, others)) = vague.split_first() else {
            *left = left.checked_sub(1)?;
            let kept = self.longest_match(&order)?;
            return Some(order.into_iter().take(kept).cloned().collect());
        };
        let low = order.partition_point(|event| event.to_lsn <= first.from_lsn);
        let high = order.partition_point(|event| event.from_lsn <= first.to_lsn).max(low);
        for at in (low..=high).rev() {
            let mut order = order.clone();
            order.insert(at, first);
            if let Some(kept) = self.place(order, others, left) {
                return Some(kept);
            }
        }
        if first.is_doubtful { self.place(order, others, left) } else { None }
    }

    /// The largest number of events that leads to what was found, with all that must be there.
    fn longest_match(&self, order: &[&Event]) -> Option<usize> {
        let Self { found, clock, .. } = self;
        let is_safe = |event: &&Event| event.to_lsn <= self.least_lsn && !event.is_doubtful;
        let least = order.iter().rposition(is_safe).map_or(0, |last| last + 1);
        let mut state = self.base.clone();
        order.iter().take(least).for_each(|event| event.apply(&mut state));
        let mut differing = differences(&state, found, *clock).count();
        let mut matched = (differing == 0).then_some(least);
        for (index, event) in order.iter().enumerate().skip(least) {
            for change in &event.changes {
                let keys = change.keys(&state);
                let wrong = |state: &State| {
                    let is_wrong = |key: &&_| match state.contains_key(key) {
                        true => !agrees(state, key, found.get(*key), *clock),
                        false => found.contains_key(key),
                    };
                    keys.iter().filter(is_wrong).count()
                };
                let before = wrong(&state);
                change.apply(&mut state);
                differing = differing + wrong(&state) - before;
            }
            if differing == 0 {
                matched = Some(index + 1);
            }
        }
        matched
    }

    fn contradiction(&self) -> String {
        let Self { least_lsn, found, clock, .. } = self;
        let mut state = self.base.clone();
        let mut best: Option<(usize, usize, State)> = None;
        for index in 0..=self.events.len() {
            if self.events.get(index).is_none_or(|next| next.to_lsn > *least_lsn) {
                let count = differences(&state, found, *clock).count();
                if best.as_ref().is_none_or(|(fewest, ..)| count < *fewest) {
                    best = Some((count, index, state.clone()));
                }
            }
            if let Some(event) = self.events.get(index) {
                event.apply(&mut state);
            }
        }
        let Some((count, index, state)) = best else { return String::new() };
        let mut text = format!(
            "no prefix of the {} events with all up to position {least_lsn} explains what was \
             found; with {index} of them {count} facts differ",
            self.events.len()
        );
        for key in differences(&state, found, *clock).take(8) {
            let (expected, found) = (state.get(key), found.get(key));
            let _ = write!(text, "\n  {key:?}: expected {expected:?}, found {found:?}");
            if let Key::Sample(series, _) = key {
                let _ = write!(text, ", hidden before {:?}", clock.floors(&state, *series));
            }
        }
        text
    }
}
