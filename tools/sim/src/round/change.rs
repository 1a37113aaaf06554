//! Changes: what a client does to the store, and what each of it states.

use super::client::Client;
use super::theme::Theme;
use crate::oracle::{Change, End, Fact, HALF_DAY_NS, Key};
use crate::workload::{CATALOG_KINDS, NAMESPACES, Target, Write};
use crate::world::lock;
use foliot_engine::{Caller, Commit, Deleted, Error, FIELD_RETENTION};
use foliot_model::{NamespaceId, Reject, TimeRange};
use std::time::Duration;

impl Client {
    /// One of the namespaces that there are, by its number in the workload.
    pub(super) fn pick_slot(&self) -> usize {
        let is_there = |(slot, (database, policy)): (usize, &(&str, &str))| {
            self.engine.namespace(database, policy).map(|_| slot)
        };
        let all: Vec<_> = NAMESPACES.iter().enumerate().filter_map(is_there).collect();
        self.round.draw(|random| *random.pick(&all))
    }

    /// Begins an operation on a namespace; the number of the operation, and that of the namespace
    /// in the store. Nothing when another client has it for itself, or has dropped it.
    pub(super) fn begin(&self, slot: usize, changes: &[Change]) -> Option<(u64, NamespaceId)> {
        if lock(&self.round.claimed).contains(&slot) {
            return None;
        }
        let number = lock(&self.round.history).begin(changes);
        let (database, policy) = NAMESPACES[slot];
        let id = self.engine.namespace(database, policy);
        if id.is_none() {
            lock(&self.round.history).end(number, Vec::new(), End::Nowhere);
        }
        id.map(|id| (number, id))
    }

    pub(super) fn is_alone(&self, number: u64) -> bool {
        lock(&self.round.history).is_alone(number)
    }

    /// Ends an operation that the store says happened up to this commit.
    pub(super) fn happened(&mut self, number: u64, changes: Vec<Change>, commit: Commit) {
        lock(&self.round.history).end(number, changes, End::At(commit.lsn));
        self.latest = Some(commit);
        self.round.tally(|tally| tally.events += 1);
        if self.round.percent(60) {
            self.wait();
        }
    }

    /// Ends an operation that failed. When the machine died meanwhile, nobody was told whether it
    /// happened after the position `from`.
    pub(super) fn failed(
        &self,
        what: &str,
        number: u64,
        changes: Vec<Change>,
        from: u64,
        error: &Error,
    ) {
        let end = if self.round.is_dead() { End::After(from) } else { End::Nowhere };
        lock(&self.round.history).end(number, changes, end);
        self.round.excuse(what, &error.to_string());
    }

    pub(super) fn write(&mut self) {
        let slot = self.pick_slot();
        let clock_ns = self.round.advance_clock();
        let (names, pool) = (&self.round.names, self.round.pool);
        let write = self.round.draw(|random| match self.round.theme {
            Theme::Wide if random.percent(20) => Write::draw_wide(random, names, slot, clock_ns),
            Theme::Years if random.percent(20) => Write::draw_years(random, names, slot, clock_ns),
            Theme::SmallDisk if random.percent(80) => {
                Write::draw_bulk(random, names, slot, clock_ns)
            }
            _ => Write::draw(random, names, pool, slot, clock_ns),
        });
        self.send(slot, &write);
    }

    fn send(&mut self, slot: usize, write: &Write) {
        let round = self.round.clone();
        let mark = round.machine.mark();
        let too_old = |clock| write.lines_too_old(clock, lock(&round.history).current());
        let must = too_old(round.machine.clock()).0;
        let Some((number, namespace)) = self.begin(slot, &write.changes(&[])) else { return };
        let buffers = std::mem::take(&mut self.buffers);
        let batch = write.batch(namespace, self.engine.key_secret(), buffers);
        let mut rejects = Vec::new();
        let result = self.engine.write(&batch, &mut rejects);
        self.buffers = batch.into_buffers();
        let mut refused: Vec<u32> = rejects.iter().map(|reject| reject.line).collect();
        refused.sort_unstable();
        refused.dedup();
        let changes = write.changes(&refused);
        round.say(format_args!("write {number}: {} samples to {slot}: {result:?}", changes.len()));
        let commit = match result {
            Ok(commit) => commit,
            Err(error) => {
                lock(&round.history).end(number, changes, End::Nowhere);
                match error {
                    // A flush makes room for the next one.
                    Error::Overloaded => self.flush(),
                    Error::NoSpace { .. } if round.theme == Theme::SmallDisk => self.make_room(),
                    error => round.excuse("a write", &error.to_string()),
                }
                return;
            }
        };
        let is_for_age = |reject: &Reject| reject.field == FIELD_RETENTION;
        if !rejects.iter().all(is_for_age) {
            self.fail(format!("rejected {rejects:?}"));
        }
        let (still, may) = too_old(round.machine.since(&mark));
        let must: Vec<u32> = must.into_iter().filter(|line| still.contains(line)).collect();
        let is_right = must.iter().all(|line| refused.contains(line))
            && refused.iter().all(|line| may.contains(line));
        if self.is_alone(number) && !is_right && !self.is_in_doubt(slot) {
            self.fail(format!("too old are lines {must:?}, refused were {refused:?}"));
        }
        if changes.is_empty() {
            // All of it was refused: that happened nowhere, and there is nothing to wait for.
            lock(&round.history).end(number, changes, End::Nowhere);
            self.latest = Some(commit);
            return;
        }
        self.happened(number, changes, commit);
    }

    /// Whether the namespace once kept less than it does: how much of that it still refuses is not
    /// for a client to say.
    fn is_in_doubt(&self, slot: usize) -> bool {
        lock(&self.round.history).current().contains_key(&Key::Doubt(slot))
    }

    pub(super) fn change_catalog(&mut self) {
        let round = self.round.clone();
        let kind = round.draw(|random| *random.pick(&CATALOG_KINDS));
        let key = format!("k{}", round.draw(|random| random.below(12)));
        let place = Key::Catalog(kind.to_owned(), key.clone());
        let bytes: Option<Vec<u8>> = round.draw(|random| {
            let length = random.skewed(0, 3000);
            let bytes = (0..length).map(|_| random.next() as u8).collect();
            (!random.percent(30)).then_some(bytes)
        });
        let change = match &bytes {
            Some(bytes) => Change::Set(place, Fact::Bytes(bytes.clone())),
            None => Change::Unset(place),
        };
        let from = self.engine.written().lsn;
        let number = lock(&round.history).begin(std::slice::from_ref(&change));
        let result = match &bytes {
            Some(bytes) => self.engine.catalog_put(kind, &key, bytes),
            None => self.engine.catalog_delete(kind, &key),
        };
        round.say(format_args!("catalog {kind}/{key} put {}: {result:?}", bytes.is_some()));
        match result {
            Ok(commit) => self.happened(number, vec![change], commit),
            Err(error) => self.failed("a catalog change", number, vec![change], from, &error),
        }
    }

    pub(super) fn create_namespace(&mut self) {
        let slot = self.round.draw(|random| random.below(NAMESPACES.len()));
        let (database, policy) = NAMESPACES[slot];
        if lock(&self.round.claimed).contains(&slot) {
            return;
        }
        let place = Change::Set(Key::Namespace(slot), Fact::Number(0));
        let number = lock(&self.round.history).begin(&[place]);
        let existing = self.engine.namespace(database, policy);
        let from = self.engine.written().lsn;
        let result = self.engine.create_namespace(database, policy);
        let to = self.engine.written().lsn;
        self.round.say(format_args!("create namespace {database}.{policy}: {result:?}"));
        if let (None, Ok(id)) = (existing, &result)
            && lock(&self.round.dropped).contains(id)
        {
            self.fail(format!("the number {id} of a dropped namespace was given out again"));
        }
        let is_known = |id: u32| {
            let place = Key::Namespace(slot);
            lock(&self.round.history).current().get(&place) == Some(&Fact::Number(id))
        };
        match (existing, result) {
            (Some(id), Ok(same)) if id == same => {
                lock(&self.round.history).end(number, Vec::new(), End::Nowhere);
            }
            (Some(id), other) => self.fail(format!("namespace {id} created again: {other:?}")),
            // Another client was quicker.
            (None, Ok(id)) if is_known(id) => {
                lock(&self.round.history).end(number, Vec::new(), End::Nowhere);
            }
            (None, Ok(id)) => {
                let change = Change::Set(Key::Namespace(slot), Fact::Number(id));
                lock(&self.round.history).end(number, vec![change], End::Between(from, to));
            }
            (None, Err(error)) => {
                self.failed("creating a namespace", number, Vec::new(), from, &error);
            }
        }
    }

    fn draw_target(&self, slot: usize) -> Target {
        let clock_ns = self.round.clock_ns.load(std::sync::atomic::Ordering::Relaxed);
        let is_wide = self.round.theme == Theme::Wide && self.round.percent(50);
        let target =
            self.round.draw(|random| Target::draw(random, self.round.pool, slot, clock_ns));
        if is_wide { target.wide() } else { target }
    }

    pub(super) fn delete(&mut self) {
        let slot = self.pick_slot();
        let target = self.draw_target(slot);
        let engine = self.engine.clone();
        self.take_away(slot, &target, target.range, &|namespace| {
            engine.delete(&target.selector(namespace), target.range, &Caller::default())
        });
    }

    pub(super) fn drop_series(&mut self) {
        let slot = self.pick_slot();
        let target = self.draw_target(slot);
        let engine = self.engine.clone();
        self.take_away(slot, &target, TimeRange::ALL, &|namespace| {
            engine.drop_series(&target.selector(namespace), &Caller::default())
        });
    }

    fn take_away(
        &mut self,
        slot: usize,
        target: &Target,
        range: TimeRange,
        act: &dyn Fn(NamespaceId) -> Result<(Deleted, Commit), Error>,
    ) {
        let round = self.round.clone();
        let series = target.series(&round.names);
        let (from, strikes) = (self.engine.written().lsn, round.strikes());
        let mark = round.machine.mark();
        let changes = lock(&round.history).cuts(&series, range, round.machine.clock());
        let Some((number, namespace)) = self.begin(slot, &changes) else { return };
        round.say(format_args!("begin {number}: take away {target:?}"));
        let result = act(namespace);
        round.say(format_args!("take away {target:?}, {range:?}: {result:?}"));
        let is_alone = self.is_alone(number);
        match result {
            Ok((deleted, commit)) => {
                let clock = round.machine.since(&mark);
                let (least, most) = lock(&round.history).shown(&changes, clock);
                if is_alone && !(least..=most).contains(&deleted.samples) {
                    self.fail(format!("{deleted:?}, expected {least} to {most} of {target:?}"));
                }
                round.tally(|tally| tally.deletes += u64::from(commit.lsn > 0));
                if commit.lsn == 0 {
                    // Nothing was to be deleted, or only series without samples.
                    lock(&round.history).end(number, Vec::new(), End::Nowhere);
                } else {
                    self.happened(number, changes, commit);
                }
            }
            // The selection or the count could not be read: nothing was deleted.
            Err(_) if !round.is_dead() && round.strikes() > strikes => {
                lock(&round.history).end(number, Vec::new(), End::Nowhere);
            }
            Err(error) => self.failed("a delete", number, changes, from, &error),
        }
    }

    /// A namespace keeps its samples for another time from now on.
    pub(super) fn retain(&mut self) {
        let round = self.round.clone();
        let slot = self.pick_slot();
        let keep_ns = round.draw(|random| random.skewed(1, 40)) as i64 * HALF_DAY_NS;
        let mark = round.machine.mark();
        let (from, strikes) = (self.engine.written().lsn, round.strikes());
        let change = Change::Keep(slot, keep_ns, round.machine.clock());
        let Some((number, namespace)) = self.begin(slot, &[change]) else { return };
        let keep = Duration::from_nanos(keep_ns.unsigned_abs());
        let result = self.engine.set_retention(namespace, Some(keep), &Caller::default());
        round.say(format_args!("keep namespace {namespace} for {keep:?}: {result:?}"));
        let change = Change::Keep(slot, keep_ns, round.machine.since(&mark));
        match result {
            Ok(commit) => self.happened(number, vec![change], commit),
            // It could not be told to the audit log, and nothing was changed; or it was changed,
            // and what should follow failed.
            Err(_) if !round.is_dead() && round.strikes() > strikes => {
                let is_so = self.engine.retention(namespace) == Some(keep);
                let to = self.engine.written().lsn;
                let end = if is_so { End::Between(from, to) } else { End::Nowhere };
                lock(&round.history).end(number, vec![change], end);
            }
            Err(error) => {
                self.failed("a change of retention", number, vec![change], from, &error);
            }
        }
    }
}
