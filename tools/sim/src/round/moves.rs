//! Moves: what a client does with a namespace that it has for itself meanwhile, renames and drops.
//! Others go on in the other namespaces.

use super::client::Client;
use crate::look;
use crate::oracle::{Change, End, Fact, Key, Series, State};
use crate::workload::{MEASUREMENTS, NAMESPACES, Target};
use crate::world::lock;
use foliot_engine::{Caller, Identity, Renaming};
use foliot_model::TimeRange;
use std::sync::Arc;

/// Samples, and bytes of texts among them, that are renamed in one frame of the wal.
const RENAMED_MAX: usize = 8000;
const RENAMED_BYTES_MAX: usize = 256 << 10;

impl Client {
    /// Has a namespace for itself; false when others are at it.
    fn claim(&self, slot: usize) -> bool {
        let is_quiet = lock(&self.round.history).is_quiet(slot);
        is_quiet && lock(&self.round.claimed).insert(slot)
    }

    fn give_back(&self, slot: usize) {
        lock(&self.round.claimed).remove(&slot);
    }

    pub(super) fn rename(&mut self) {
        let slot = self.pick_slot();
        if self.claim(slot) {
            self.rename_alone(slot);
            self.give_back(slot);
        }
    }

    /// Gives the series of a measurement the name of another one.
    fn rename_alone(&mut self, slot: usize) {
        let round = self.round.clone();
        let (database, policy) = NAMESPACES[slot];
        let Some(namespace) = self.engine.namespace(database, policy) else { return };
        let target = round.draw(|random| Target::draw(random, round.pool, slot, 0));
        let to = round.draw(|random| *random.pick(&MEASUREMENTS));
        let clock = round.machine.clock();
        let Some((sets, cuts)) = ({
            let mut history = lock(&round.history);
            history.set_clock(clock);
            history.is_plain(slot).then(|| self.moved(history.current(), &target, to))
        }) else {
            return;
        };
        let bytes = |change: &Change| match change {
            Change::Set(_, Fact::Value(_, _, bytes)) => bytes.len(),
            _ => 0,
        };
        if to == target.measurement
            || sets.len() > RENAMED_MAX
            || sets.iter().map(bytes).sum::<usize>() > RENAMED_BYTES_MAX
        {
            return;
        }
        let (from, strikes) = (self.engine.written().lsn, round.strikes());
        let all: Vec<Change> = sets.iter().chain(&cuts).cloned().collect();
        let number = lock(&round.history).begin(&all);
        let name = |identity: &Identity| Identity { measurement: to.into(), ..identity.clone() };
        let renaming = Renaming { to, name: &name, goes_on: &|| true };
        let result =
            self.engine.rename_series(&target.selector(namespace), &renaming, &Caller::default());
        round.say(format_args!("rename {target:?} to {to}: {result:?}"));
        let mut history = lock(&round.history);
        history.end(number, Vec::new(), End::Nowhere);
        match result {
            Ok(renamed) => {
                // What a flush moved meanwhile is written twice.
                if renamed.samples < sets.len() as u64 || !renamed.is_done {
                    drop(history);
                    self.fail(format!("{renamed:?}, expected {} samples", sets.len()));
                }
                let Some(commit) = renamed.commit else { return };
                let both =
                    [(sets, End::Between(from, commit.lsn - 1)), (cuts, End::At(commit.lsn))];
                for (changes, end) in both {
                    let number = history.begin(&changes);
                    history.end(number, changes, end);
                }
                drop(history);
                round.tally(|tally| tally.renames += 1);
                self.latest = Some(commit);
            }
            Err(error) => {
                drop(history);
                self.half_done(slot, from, vec![sets, cuts]);
                self.need("a rename", strikes, &error.to_string());
            }
        }
    }

    /// What a rename of all that the target means sets under the new name, and what it takes away.
    fn moved(&self, state: &State, target: &Target, to: &str) -> (Vec<Change>, Vec<Change>) {
        let (mut sets, mut cuts) = (Vec::new(), Vec::new());
        for series in target.series(&self.round.names) {
            let Some(renamed) = self.round.names.renamed(series, to) else { continue };
            let held = held(state, series);
            let set = |(key, fact): (&Key, &Fact)| match key {
                Key::Sample(_, time_ns) => {
                    Some(Change::Set(Key::Sample(renamed, *time_ns), fact.clone()))
                }
                _ => None,
            };
            sets.extend(held.iter().filter_map(set));
            cuts.push(Change::Cut(series, TimeRange::ALL, Arc::new(held)));
        }
        (sets, cuts)
    }

    pub(super) fn drop_namespace(&mut self) {
        let slot = self.pick_slot();
        if self.claim(slot) {
            self.drop_namespace_alone(slot);
            self.give_back(slot);
        }
    }

    fn drop_namespace_alone(&mut self, slot: usize) {
        let round = self.round.clone();
        let (database, policy) = NAMESPACES[slot];
        let Some(namespace) = self.engine.namespace(database, policy) else { return };
        let cut = |series: Series, state: &State| {
            Change::Cut(series, TimeRange::ALL, Arc::new(held(state, series)))
        };
        let all = round.names.of(slot);
        let cuts: Vec<Change> = {
            let history = lock(&round.history);
            all.into_iter().map(|series| cut(series, history.current())).collect()
        };
        let forgets = vec![Change::Unset(Key::Keep(slot)), Change::Unset(Key::Doubt(slot))];
        let mut steps = vec![cuts, forgets];
        if slot != 0 {
            steps.push(vec![Change::Unset(Key::Namespace(slot))]);
        }
        let (from, strikes) = (self.engine.written().lsn, round.strikes());
        let under_way: Vec<Change> = steps.iter().flatten().cloned().collect();
        let number = lock(&round.history).begin(&under_way);
        let result = self.engine.drop_namespace(namespace, &Caller::default());
        round.say(format_args!("drop namespace {namespace}: {result:?}"));
        let is_alone = self.is_alone(number);
        lock(&round.history).end(number, Vec::new(), End::Nowhere);
        match result {
            Ok(_) => {
                let to = self.engine.written().lsn;
                for changes in steps {
                    let mut history = lock(&round.history);
                    let number = history.begin(&changes);
                    history.end(number, changes, End::Between(from, to));
                    if is_alone {
                        // It waits until it is durable.
                        history.acknowledge_durable(to);
                    }
                }
                if slot != 0 {
                    lock(&round.dropped).insert(namespace);
                }
                round.tally(|tally| tally.namespaces_dropped += 1);
            }
            Err(error) => {
                self.half_done(slot, from, steps);
                self.need("a drop", strikes, &error.to_string());
            }
        }
    }

    /// Ends an operation of several steps that failed: as many of them happened as can be seen.
    fn half_done(&self, slot: usize, from: u64, steps: Vec<Vec<Change>>) {
        let round = &self.round;
        let seen = match round.is_dead() {
            true => None,
            false => round.retry_reads(&|| look::all(&self.engine, &round.names)),
        };
        let to = self.engine.written().lsn;
        let own = |state: &State| -> State {
            let own = state.iter().filter(|(key, _)| key.slot() == Some(slot));
            own.map(|(key, fact)| (key.clone(), fact.clone())).collect()
        };
        let mut history = lock(&round.history);
        let Some(seen) = seen.as_ref().map(own) else {
            // Nobody was told how far it came.
            for changes in steps {
                let number = history.begin(&changes);
                history.end(number, changes, End::After(from));
            }
            return;
        };
        history.set_clock(round.machine.clock());
        let mut expected = own(history.current());
        let mut happened = history.agrees(&expected, &seen).then_some(0);
        for (index, changes) in steps.iter().enumerate() {
            changes.iter().for_each(|change| change.apply(&mut expected));
            if happened.is_none() && history.agrees(&expected, &seen) {
                happened = Some(index + 1);
            }
        }
        for changes in steps.into_iter().take(happened.unwrap_or(0)) {
            let number = history.begin(&changes);
            history.end(number, changes, End::Between(from, to));
        }
    }
}

fn held(state: &State, series: Series) -> State {
    let range = Key::Sample(series, i64::MIN)..=Key::Sample(series, i64::MAX);
    state.range(range).map(|(key, fact)| (key.clone(), fact.clone())).collect()
}
