//! Fates: what else a power cut could have left. The round goes on with one of them; the others are
//! opened and compared as well, and then forgotten.

use super::{DIR, MachineEnd, Round, fail};
use crate::look;
use crate::oracle::Loss;
use crate::world::lock;
use foliot_disk::SimDisk;
use foliot_engine::{Config, Engine};
use std::path::Path;

/// How often one power cut is drawn again; most draws of a machine with little to lose are alike.
const DRAWS: usize = 40;
/// Facts that are compared for the others of one power cut, about: small stores are tried more
/// often than large ones, which cost as much as many of them.
const FACTS_MAX: usize = 4000;
/// What opening a store costs, in facts.
const FACTS_OF_OPENING: usize = 150;

/// Draws the same power cut again.
pub(super) fn others(old: &SimDisk) -> Vec<SimDisk> {
    (0..DRAWS).map(|_| old.crash()).collect()
}

impl Round {
    /// Opens what else the power cut could have left, as far as it differs.
    pub(super) fn try_fates(&self, end: &MachineEnd) {
        let facts = lock(&self.history).current().len() + FACTS_OF_OPENING;
        let most = FACTS_MAX / facts;
        let mut tried = vec![&end.next];
        for other in &end.others {
            if tried.len() > most {
                break;
            }
            if !tried.iter().any(|known| known.is_like(other)) {
                tried.push(other);
            }
        }
        for other in tried.into_iter().skip(1) {
            self.machine.aside(|| self.try_fate(other));
        }
    }

    fn try_fate(&self, disk: &SimDisk) {
        self.say(format_args!("another fate"));
        self.machine.replace(disk.clone());
        let config = Config { background: false, ..self.config() };
        let parts = self.part_files(Path::new(DIR));
        let opened = Engine::open(self.machine.mounted(), Path::new(DIR), config);
        let engine = match opened {
            Ok(engine) => engine,
            Err(error) => fail(format!("cannot open although nothing went wrong: {error}")),
        };
        self.believe_without(&parts, Path::new(DIR));
        self.check_told(&engine, Loss::Power, 0);
        let mark = self.machine.mark();
        let found = self.retry_reads(&|| look::all(&engine, &self.names));
        let found = found.unwrap_or_else(|| fail("the machine died".to_owned()));
        self.tally(|tally| {
            tally.fates += 1;
            tally.facts += found.len() as u64;
        });
        let mut history = lock(&self.history);
        history.set_clock(self.machine.since(&mark));
        let explained = history.explain(Loss::Power, &found);
        drop(history);
        if let Err(text) = explained {
            fail(format!("{text}{}", self.names.explain(&text)));
        }
        // What the store still does comes too late.
        disk.kill();
    }
}
