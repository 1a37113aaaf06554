//! Work: what the store does to its files when told to.

use super::DIR;
use super::client::Client;
use crate::look;
use crate::oracle::Loss;
use crate::world::lock;
use foliot_engine::{Engine, backup};
use std::path::Path;
use std::sync::atomic::Ordering;

impl Client {
    pub(super) fn flush(&mut self) {
        let round = self.round.clone();
        let strikes = round.strikes();
        let result = round.machine.about("flush", || self.engine.flush());
        round.say(format_args!("flush: {result:?}"));
        match result {
            Ok(()) => round.tally(|tally| tally.flushes += 1),
            Err(error) => self.need("a flush", strikes, &error.to_string()),
        }
    }

    /// Writes out what the log holds of a disk that has no room for more of it.
    pub(super) fn make_room(&mut self) {
        let round = self.round.clone();
        let result = round.machine.about("flush", || self.engine.flush());
        round.say(format_args!("flush for room: {result:?}"));
        match result {
            Ok(()) => round.tally(|tally| tally.flushes += 1),
            Err(_) if round.is_dead() || round.is_planned() => {
                round.has_no_room.store(true, Ordering::SeqCst);
            }
            Err(_) if round.has_no_room.load(Ordering::SeqCst) => {}
            Err(error) => self.fail(format!("a flush found no room on a full disk: {error}")),
        }
    }

    /// A piece of work on the parts, or all of it.
    pub(super) fn maintain(&mut self) {
        let round = self.round.clone();
        let strikes = round.strikes();
        let before = self.engine.stats().merges;
        let result = match round.percent(20) {
            true => self.engine.merge_all(),
            false => self.engine.maintain().map(|_| ()),
        };
        round.say(format_args!("maintain: {result:?}"));
        let merges = self.engine.stats().merges - before;
        round.tally(|tally| tally.merges += merges);
        if let Err(error) = result {
            self.need("a merge", strikes, &error.to_string());
        }
    }

    pub(super) fn begin_epoch(&mut self) {
        let strikes = self.round.strikes();
        let result = self.engine.begin_epoch();
        self.round.say(format_args!("begin an epoch: {result:?}"));
        match result {
            Ok(()) => self.round.tally(|tally| tally.epochs += 1),
            Err(error) => self.need("an epoch", strikes, &error.to_string()),
        }
    }

    /// Copies the store while it is open, sometimes restores the copy, and opens what that made.
    pub(super) fn back_up(&mut self) {
        self.believe_progress();
        let round = self.round.clone();
        let number = round.backups.fetch_add(1, Ordering::Relaxed);
        let copy = format!("backup-{number}");
        let restored = format!("restored-{number}");
        let mut places = vec![DIR, &copy];
        if round.percent(30) {
            places.push(&restored);
        }
        let strikes = round.strikes();
        let is_excused = || round.is_dead() || round.strikes() > strikes;
        let under_way = lock(&round.history).begin(&[]);
        for pair in places.windows(2) {
            let (from, to) = (Path::new(pair[0]), Path::new(pair[1]));
            let result = backup(&*round.machine.mounted(), from, to, None);
            round.say(format_args!("copy {from:?} to {to:?}: {result:?}"));
            if let Err(error) = result {
                lock(&round.history).end(under_way, Vec::new(), crate::oracle::End::Nowhere);
                return self.need("a backup", strikes, &error.to_string());
            }
        }
        let is_alone = lock(&round.history).is_alone(under_way);
        lock(&round.history).end(under_way, Vec::new(), crate::oracle::End::Nowhere);
        let mark = round.machine.mark();
        let dir = places.last().copied().unwrap_or(DIR);
        let strikes_of_open = round.strikes();
        let opened = Engine::open(round.machine.mounted(), Path::new(dir), round.config());
        let found = match &opened {
            Ok(copy) => match copy.damages() {
                [] => look::all(copy, &round.names),
                told if round.is_fault(told, strikes_of_open) => look::all(copy, &round.names),
                told => self.fail(format!("damage in a backup: {told:?}")),
            },
            Err(_) if is_excused() => return,
            Err(error) => self.fail(format!("cannot open a backup: {error}")),
        };
        match found {
            Ok(found) => {
                round.tally(|tally| {
                    tally.backups += 1;
                    tally.facts += found.len() as u64;
                });
                // What others did meanwhile stands in it or not: too much to ask. And a store
                // without parts believes a clock that its original does not.
                let is_ahead = round.machine.with_time(|time| time.is_ahead());
                if is_alone && round.clients == 1 && !is_ahead {
                    let mut history = lock(&round.history);
                    history.set_clock(round.machine.since(&mark));
                    if let Err(text) = history.explain(Loss::Process, &found) {
                        drop(history);
                        self.fail(format!("a backup: {text}"));
                    }
                }
            }
            Err(look::Failure::Contradiction(text)) => self.fail(text),
            Err(look::Failure::Disk(_)) if is_excused() => {}
            Err(look::Failure::Disk(error)) => self.fail(format!("cannot read a backup: {error}")),
        }
    }
}
