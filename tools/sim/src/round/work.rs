//! Work: what the store does to its files, by itself or when told to.

use super::{DIR, Round};
use crate::look;
use crate::oracle::Loss;
use foliot_engine::{Engine, backup};
use std::path::Path;

impl Round<'_> {
    pub(super) fn flush(&mut self, engine: &Engine) -> Result<(), String> {
        let strikes = self.disk.strikes();
        let result = engine.flush();
        self.say(format!("flush: {result:?}"));
        match result {
            Ok(()) => self.tally.flushes += 1,
            Err(_) if self.disk.strikes() > strikes => {}
            Err(error) => self.excuse("a flush", &error.to_string())?,
        }
        Ok(())
    }

    /// A piece of work on the parts, or all of it.
    pub(super) fn maintain(&mut self, engine: &Engine) -> Result<(), String> {
        let strikes = self.disk.strikes();
        let before = engine.stats().merges;
        let result = match self.random.percent(20) {
            true => engine.merge_all(),
            false => engine.maintain().map(|_| ()),
        };
        self.say(format!("maintain: {result:?}"));
        self.tally.merges += engine.stats().merges - before;
        match result {
            Err(error) if self.disk.strikes() == strikes => {
                self.excuse("a merge", &error.to_string())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn begin_epoch(&mut self, engine: &Engine) -> Result<(), String> {
        let strikes = self.disk.strikes();
        let result = engine.begin_epoch();
        self.say(format!("begin an epoch: {result:?}"));
        match result {
            Ok(()) => self.tally.epochs += 1,
            Err(_) if self.disk.strikes() > strikes => {}
            Err(error) => self.excuse("an epoch", &error.to_string())?,
        }
        Ok(())
    }

    /// Copies the store while it is open, sometimes restores the copy, and opens what that made.
    pub(super) fn back_up(&mut self, engine: &Engine) -> Result<(), String> {
        self.believe_progress(engine);
        self.backups += 1;
        let copy = format!("backup-{}", self.backups);
        let restored = format!("restored-{}", self.backups);
        let mut places = vec![DIR, &copy];
        if self.random.percent(30) {
            places.push(&restored);
        }
        let strikes = self.disk.strikes();
        for pair in places.windows(2) {
            let (from, to) = (Path::new(pair[0]), Path::new(pair[1]));
            let result = backup(&*(self.mount)(&self.disk), from, to, None);
            self.say(format!("copy {from:?} to {to:?}: {result:?}"));
            match result {
                Ok(_) => {}
                Err(_) if self.disk.strikes() > strikes => return Ok(()),
                Err(error) => return self.excuse("a backup", &error.to_string()),
            }
        }
        let dir = places.last().copied().unwrap_or(DIR);
        let opened = Engine::open((self.mount)(&self.disk), Path::new(dir), self.config.clone());
        let found = match &opened {
            Ok(copy) if copy.damages().is_empty() => look::all(copy, &self.names),
            Ok(copy) => return Err(format!("damage in a backup: {:?}", copy.damages())),
            Err(_) if self.disk.strikes() > strikes => return Ok(()),
            Err(error) => return Err(format!("cannot open a backup: {error}")),
        };
        match found {
            Ok(found) => {
                self.tally.backups += 1;
                self.tally.facts += found.len() as u64;
                self.history.explain(Loss::Process, &found).map(|_| ())
            }
            Err(look::Failure::Contradiction(text)) => Err(text),
            Err(look::Failure::Disk(_)) if self.disk.strikes() > strikes => Ok(()),
            Err(look::Failure::Disk(error)) => Err(format!("cannot read a backup: {error}")),
        }
    }
}
