//! Changes: what a client does to the store, and what each of it states.

use super::Round;
use crate::oracle::{Event, Fact, Key, floor};
use crate::workload::{CATALOG_KINDS, NAMESPACES, Target, Write};
use foliot_disk::{Disk, FaultKind};
use foliot_engine::{Caller, Commit, Deleted, Engine, Error, FIELD_RETENTION};
use foliot_model::{NamespaceId, Reject, TimeRange};
use std::time::Duration;

const DAY_NS: i64 = 86_400_000_000_000;

impl Round<'_> {
    /// One of the namespaces that there are: its number in the workload and in the store.
    fn pick_namespace(&mut self, engine: &Engine) -> (usize, NamespaceId) {
        let known = |(slot, (database, policy)): (usize, &(&str, &str))| {
            engine.namespace(database, policy).map(|id| (slot, id))
        };
        let all: Vec<_> = NAMESPACES.iter().enumerate().filter_map(known).collect();
        *self.random.pick(&all)
    }

    pub(super) fn write(&mut self, engine: &Engine) -> Result<(), String> {
        let (slot, namespace) = self.pick_namespace(engine);
        let (database, _) = NAMESPACES[slot];
        self.clock_ns += 1_000_000_000;
        let write = Write::draw(&mut self.random, &mut self.names, slot, self.clock_ns);
        let buffers = std::mem::take(&mut self.buffers);
        let batch = write.batch(namespace, engine.key_secret(), buffers);
        let mut rejects = Vec::new();
        let result = engine.write(&batch, &mut rejects);
        self.buffers = batch.into_buffers();
        if matches!(result, Err(Error::Overloaded)) {
            // Nothing of it was stored: a flush makes room for the next one.
            return self.flush(engine);
        }
        let floor_ns = floor(self.history.current(), slot, self.disk.now_ns());
        let changes = write.changes(floor_ns);
        self.say(format!("write {} samples to {database}: {result:?}", changes.len()));
        let too_old = write.lines_before(floor_ns);
        let is_for_age = |reject: &Reject| reject.field == FIELD_RETENTION;
        let mut lines: Vec<u32> = rejects.iter().map(|reject| reject.line).collect();
        lines.dedup();
        if result.is_ok() && !(rejects.iter().all(is_for_age) && lines == too_old) {
            return Err(format!("rejected {rejects:?}, too old are lines {too_old:?}"));
        }
        if changes.is_empty() {
            // All of it was refused: that happened nowhere, and there is nothing to wait for.
            return Ok(());
        }
        self.record("write", changes, result.map_err(|error| error.to_string()))?;
        if self.random.percent(60) { self.wait(engine) } else { Ok(()) }
    }

    /// Adds an event to the history, or finds out why there is none.
    pub(super) fn record(
        &mut self,
        what: &str,
        changes: Vec<(Key, Option<Fact>)>,
        result: Result<Commit, String>,
    ) -> Result<(), String> {
        match result {
            Ok(commit) => {
                let number = self.history.push(Event { changes, lsn: Some(commit.lsn) });
                self.latest = Some((commit, number));
                self.tally.events += 1;
            }
            // Whether it happened before the power went, nobody was told.
            Err(_) if self.disk.is_dead() => {
                self.history.push(Event { changes, lsn: None });
            }
            Err(error) => self.excuse(what, &error)?,
        }
        Ok(())
    }

    /// An error of a write or a wait needs a fault that explains it.
    pub(super) fn excuse(&self, what: &str, error: &str) -> Result<(), String> {
        let explains = |kind: &FaultKind| *kind != FaultKind::ReadError;
        if self.disk.strikes() > 0 && self.planned.iter().any(explains) {
            return Ok(());
        }
        Err(format!("{what} failed although nothing went wrong: {error}"))
    }

    pub(super) fn change_catalog(&mut self, engine: &Engine) -> Result<(), String> {
        let kind = *self.random.pick(&CATALOG_KINDS);
        let key = format!("k{}", self.random.below(12));
        let place = Key::Catalog(kind.to_owned(), key.clone());
        let (fact, result) = if self.random.percent(30) {
            (None, engine.catalog_delete(kind, &key))
        } else {
            let length = self.random.skewed(0, 3000);
            let bytes: Vec<u8> = (0..length).map(|_| self.random.next() as u8).collect();
            let result = engine.catalog_put(kind, &key, &bytes);
            (Some(Fact::Bytes(bytes)), result)
        };
        self.say(format!("catalog {kind}/{key} put {}: {result:?}", fact.is_some()));
        let result = result.map_err(|error| error.to_string());
        self.record("a catalog change", vec![(place, fact)], result)?;
        if self.random.percent(60) { self.wait(engine) } else { Ok(()) }
    }

    pub(super) fn create_namespace(&mut self, engine: &Engine) -> Result<(), String> {
        let slot = self.random.below(NAMESPACES.len());
        let (database, policy) = NAMESPACES[slot];
        let existing = engine.namespace(database, policy);
        let result = engine.create_namespace(database, policy);
        self.say(format!("create namespace {database}.{policy}: {result:?}"));
        match (existing, result) {
            (Some(id), Ok(same)) if id == same => {}
            (Some(id), other) => return Err(format!("namespace {id} created again: {other:?}")),
            (None, Ok(id)) => {
                let changes = vec![(Key::Namespace(slot), Some(Fact::Number(id)))];
                self.history.push(Event { changes, lsn: None });
            }
            (None, Err(error)) if !self.disk.is_dead() => {
                self.excuse("creating a namespace", &error.to_string())?;
            }
            (None, Err(_)) => {}
        }
        Ok(())
    }

    pub(super) fn delete(&mut self, engine: &Engine) -> Result<(), String> {
        let (slot, namespace) = self.pick_namespace(engine);
        let target = Target::draw(&mut self.random, slot, self.clock_ns);
        let strikes = self.disk.strikes();
        let result = engine.delete(&target.selector(namespace), target.range, &Caller::default());
        self.record_deleted(engine, &target, target.range, result, strikes)
    }

    pub(super) fn drop_series(&mut self, engine: &Engine) -> Result<(), String> {
        let (slot, namespace) = self.pick_namespace(engine);
        let target = Target::draw(&mut self.random, slot, self.clock_ns);
        let strikes = self.disk.strikes();
        let result = engine.drop_series(&target.selector(namespace), &Caller::default());
        self.record_deleted(engine, &target, TimeRange::ALL, result, strikes)
    }

    fn record_deleted(
        &mut self,
        engine: &Engine,
        target: &Target,
        range: TimeRange,
        result: Result<(Deleted, Commit), Error>,
        strikes: u64,
    ) -> Result<(), String> {
        self.say(format!("delete {target:?}, {range:?}: {result:?}"));
        let shown = self.history.shown();
        let mut changes = Vec::new();
        for series in target.series(&self.names) {
            let (first, last) =
                (Key::Sample(series, range.start_ns), Key::Sample(series, range.end_ns));
            changes.extend(shown.range(first..=last).map(|(key, _)| (key.clone(), None)));
        }
        match result {
            Ok((deleted, _)) if deleted.samples != changes.len() as u64 => Err(format!(
                "{deleted:?} although there are {} samples in {target:?}",
                changes.len()
            )),
            // Nothing was to be deleted, or only series without samples.
            Ok((_, commit)) if commit.lsn == 0 => Ok(()),
            Ok((_, commit)) => {
                self.tally.deletes += 1;
                self.record("a delete", changes, Ok(commit))?;
                if self.random.percent(60) { self.wait(engine) } else { Ok(()) }
            }
            // The selection or the count could not be read: nothing was deleted.
            Err(_) if !self.disk.is_dead() && self.disk.strikes() > strikes => Ok(()),
            Err(error) => self.record("a delete", changes, Err(error.to_string())),
        }
    }

    /// A namespace keeps its samples for less time from now on; for more time never, within a
    /// round: then what comes back depends on what was expired already.
    pub(super) fn retain(&mut self, engine: &Engine) -> Result<(), String> {
        let (slot, namespace) = self.pick_namespace(engine);
        let keep_ns = self.random.skewed(1, 40) as i64 * DAY_NS / 2;
        let place = Key::Keep(slot);
        let now = self.history.current().get(&place);
        if matches!(now, Some(Fact::Nanoseconds(before)) if *before <= keep_ns) {
            return Ok(());
        }
        let strikes = self.disk.strikes();
        let keep = Duration::from_nanos(keep_ns.unsigned_abs());
        let result = engine.set_retention(namespace, Some(keep), &Caller::default());
        self.say(format!("keep namespace {namespace} for {keep:?}: {result:?}"));
        let changes = vec![(place, Some(Fact::Nanoseconds(keep_ns)))];
        if result.is_err() && !self.disk.is_dead() && self.disk.strikes() > strikes {
            // It could not be told to the audit log: nothing was changed.
            return Ok(());
        }
        self.record("a change of retention", changes, result.map_err(|error| error.to_string()))
    }
}
