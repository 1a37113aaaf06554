//! One round: a machine, a store, and several lives that each end in some way.
//!
//! 1. Plan what will go wrong in this life, and open the store; recovery may be interrupted too.
//! 2. Look: what is found must be what the acknowledgements allow.
//! 3. Write, delete, wait, flush, read, until the machine dies or the life is over.
//! 4. End it: close, kill the process or cut the power; begin again.
//!
//! The last life meets no faults, so that nothing stays unexamined.

mod change;
mod work;

use crate::look;
use crate::oracle::{History, Loss, State};
use crate::random::Random;
use crate::workload::Names;
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Commit, Config, Engine};
use foliot_model::BatchBuffers;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DIR: &str = "store";
/// A restart after a fault that passes may meet another one, but not for ever.
const OPEN_ATTEMPTS: usize = 50;
/// After the space is back, this many writes may still be refused.
const RESUME_ATTEMPTS: usize = 5;

/// What happened in rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    pub(crate) power_cuts: u64,
    pub(crate) kills: u64,
    pub(crate) closes: u64,
    pub(crate) faults: u64,
    pub(crate) events: u64,
    pub(crate) acknowledged: u64,
    pub(crate) flushes: u64,
    pub(crate) merges: u64,
    pub(crate) deletes: u64,
    pub(crate) epochs: u64,
    pub(crate) backups: u64,
    pub(crate) looks: u64,
    /// Facts compared with the oracle.
    pub(crate) facts: u64,
}

impl Tally {
    /// Adds what happened in another one.
    pub(crate) fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.power_cuts += other.power_cuts;
        self.kills += other.kills;
        self.closes += other.closes;
        self.faults += other.faults;
        self.events += other.events;
        self.acknowledged += other.acknowledged;
        self.flushes += other.flushes;
        self.merges += other.merges;
        self.deletes += other.deletes;
        self.epochs += other.epochs;
        self.backups += other.backups;
        self.looks += other.looks;
        self.facts += other.facts;
    }
}

/// What can be done with an open store.
#[derive(Clone, Copy, Debug)]
enum Action {
    Write,
    ChangeCatalog,
    CreateNamespace,
    Delete,
    DropSeries,
    Retain,
    Flush,
    Maintain,
    BeginEpoch,
    BackUp,
    Look,
    Probe,
    Wait,
    BelieveProgress,
    Advance,
}

/// How often what is done in an average round.
const ACTIONS: [(Action, usize); 15] = [
    (Action::Write, 48),
    (Action::ChangeCatalog, 8),
    (Action::CreateNamespace, 4),
    (Action::Delete, 10),
    (Action::DropSeries, 3),
    (Action::Retain, 2),
    (Action::Flush, 10),
    (Action::Maintain, 12),
    (Action::BeginEpoch, 3),
    (Action::BackUp, 1),
    (Action::Look, 4),
    (Action::Probe, 10),
    (Action::Wait, 6),
    (Action::BelieveProgress, 5),
    (Action::Advance, 5),
];

/// Each round does some things far more often than others, or not at all: that reaches states which
/// the average never sees (A. Groce et al., "Swarm Testing", ISSTA 2012).
fn draw_weights(random: &mut Random) -> Vec<(Action, usize)> {
    let mut weights = ACTIONS.to_vec();
    for (action, weight) in &mut weights {
        *weight *= match action {
            Action::Write => *random.pick(&[1, 2, 4]),
            _ => *random.pick(&[0, 1, 4, 16]),
        };
    }
    weights
}

/// How the store reaches the machine: as it is, or through something that misbehaves, to prove that
/// this is noticed.
pub(crate) type Mount = fn(&SimDisk) -> Arc<dyn Disk>;

/// The machine as it is.
pub(crate) fn honest(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Plays the round of `seed`, calling `trace` with each step.
///
/// # Errors
/// What the store broke, for a person.
pub(crate) fn play(
    seed: u64,
    mount: Mount,
    trace: &mut dyn FnMut(String),
) -> Result<Tally, String> {
    let mut random = Random::new(seed);
    let disk = SimDisk::new(random.next());
    let config = Config {
        background: false,
        cache_bytes_max: 1 << random.skewed(12, 24),
        head_bytes_max: 1 << random.skewed(14, 28),
        merge_parts: random.skewed(2, 8),
        delete_deadline: Duration::from_secs(random.skewed(1, 100) as u64),
        ..Config::default()
    };
    let mut round = Round {
        clock_ns: disk.now_ns(),
        weights: draw_weights(&mut random),
        random,
        disk,
        mount,
        config,
        names: Names::default(),
        history: History::default(),
        loss: Loss::None,
        planned: Vec::new(),
        backups: 0,
        latest: None,
        buffers: BatchBuffers::default(),
        tally: Tally { rounds: 1, ..Tally::default() },
        trace,
    };
    round.history.set_clock(round.clock_ns);
    for _ in 0..round.random.skewed(1, 10) {
        round.live(false)?;
    }
    round.live(true)?;
    Ok(round.tally)
}

struct Round<'t> {
    random: Random,
    weights: Vec<(Action, usize)>,
    disk: SimDisk,
    mount: Mount,
    config: Config,
    names: Names,
    history: History,
    /// The worst that happened since the store was last looked at.
    loss: Loss,
    /// What was planned to go wrong in this life.
    planned: Vec<FaultKind>,
    /// Backups begun, each in a directory of its own.
    backups: u64,
    /// The last commit and the number of its event.
    latest: Option<(Commit, u64)>,
    clock_ns: i64,
    buffers: BatchBuffers,
    tally: Tally,
    trace: &'t mut dyn FnMut(String),
}

impl Round<'_> {
    fn say(&mut self, text: String) {
        (self.trace)(format!("[op {}] {text}", self.disk.operations()));
    }

    fn live(&mut self, is_last: bool) -> Result<(), String> {
        self.planned.clear();
        self.latest = None;
        if !is_last {
            self.plan_faults();
        }
        let Some(engine) = self.open()? else {
            self.end_dead();
            return Ok(());
        };
        let loss = std::mem::replace(&mut self.loss, Loss::None);
        self.look(&engine, loss)?;
        for _ in 0..self.random.skewed(1, 40) {
            if self.disk.is_dead() {
                break;
            }
            self.act(&engine)?;
        }
        self.end(engine)
    }

    fn plan_faults(&mut self) {
        for _ in 0..if self.random.percent(10) { 2 } else { 1 } {
            let kind = match self.random.below(100) {
                0..55 => FaultKind::Crash,
                55..65 => FaultKind::SyncError,
                65..75 => FaultKind::NoSpace { operations: self.random.skewed(1, 12) as u64 },
                75..83 => FaultKind::ReadError,
                _ => continue,
            };
            let n = match kind {
                FaultKind::Crash => self.random.skewed(1, 200),
                _ => self.random.skewed(1, 60),
            };
            self.say(format!("plan {kind:?} at its operation {n}"));
            self.disk.fail_after(n as u64, kind);
            self.planned.push(kind);
        }
    }

    /// Opens the store; nothing when this life cannot go on.
    fn open(&mut self) -> Result<Option<Engine>, String> {
        for _ in 0..OPEN_ATTEMPTS {
            let strikes = self.disk.strikes();
            match Engine::open((self.mount)(&self.disk), Path::new(DIR), self.config.clone()) {
                Ok(engine) => {
                    self.say("opened".to_owned());
                    return match engine.damages() {
                        [] => Ok(Some(engine)),
                        damages => Err(format!("damage where there is none: {damages:?}")),
                    };
                }
                Err(error) => {
                    self.say(format!("open failed: {error}"));
                    if self.disk.is_dead() {
                        return Ok(None);
                    }
                    if self.disk.strikes() == strikes {
                        return Err(format!("cannot open although nothing went wrong: {error}"));
                    }
                    if self.planned.contains(&FaultKind::SyncError) {
                        return Ok(None);
                    }
                }
            }
        }
        Err("cannot open although the faults have passed".to_owned())
    }

    fn act(&mut self, engine: &Engine) -> Result<(), String> {
        let mut draw = self.random.below(self.weights.iter().map(|(_, weight)| weight).sum());
        let drawn = self.weights.iter().find(|(_, weight)| {
            let is_here = draw < *weight;
            draw = draw.saturating_sub(*weight);
            is_here
        });
        match drawn.map_or(Action::Write, |(action, _)| *action) {
            Action::Write => self.write(engine),
            Action::ChangeCatalog => self.change_catalog(engine),
            Action::CreateNamespace => self.create_namespace(engine),
            Action::Delete => self.delete(engine),
            Action::DropSeries => self.drop_series(engine),
            Action::Retain => self.retain(engine),
            Action::Flush => self.flush(engine),
            Action::Maintain => self.maintain(engine),
            Action::BeginEpoch => self.begin_epoch(engine),
            Action::BackUp => self.back_up(engine),
            Action::Look => self.look(engine, Loss::None),
            Action::Probe => self.probe(engine),
            Action::Wait => self.wait(engine),
            Action::BelieveProgress => {
                self.believe_progress(engine);
                Ok(())
            }
            Action::Advance => {
                let ns = self.random.skewed(1, 40_000_000_000) as u64;
                self.disk.advance(ns);
                self.clock_ns = self.disk.now_ns();
                self.history.set_clock(self.clock_ns);
                Ok(())
            }
        }
    }

    fn wait(&mut self, engine: &Engine) -> Result<(), String> {
        let Some((commit, number)) = self.latest else { return Ok(()) };
        let ack = *self.random.pick(&[Ack::Durable, Ack::Durable, Ack::Os, Ack::Memory]);
        let result = engine.wait(commit, ack);
        self.say(format!("wait for {commit:?} {ack}: {result:?}"));
        match (result, ack) {
            (Ok(()), Ack::Durable) => self.acknowledge_durable(number),
            (Ok(()), Ack::Os) => self.history.acknowledge_written(number),
            (Ok(()), Ack::Memory) => {}
            (Err(_), _) if self.disk.is_dead() => {}
            (Err(error), _) => self.excuse("a wait", &error.to_string())?,
        }
        Ok(())
    }

    fn acknowledge_durable(&mut self, number: u64) {
        self.tally.acknowledged += self.history.acknowledge_durable(number);
    }

    /// The server acknowledges by the positions that the store tells: they are promises as well.
    fn believe_progress(&mut self, engine: &Engine) {
        let progress = engine.progress();
        self.history.acknowledge_written(self.history.number_at(progress.written_lsn));
        self.acknowledge_durable(self.history.number_at(progress.durable_lsn));
    }

    /// Reads everything and compares.
    fn look(&mut self, engine: &Engine, loss: Loss) -> Result<(), String> {
        let Some(found) = self.retry_reads(&mut |round| look::all(engine, &round.names))? else {
            return Ok(());
        };
        self.tally.looks += 1;
        self.tally.facts += found.len() as u64;
        self.say(format!("look: {} facts after loss {loss:?}", found.len()));
        match loss {
            Loss::None => self.history.compare(&found),
            loss => self.history.survive(loss, &found),
        }
    }

    /// Reads a little, by the other ways of reading.
    fn probe(&mut self, engine: &Engine) -> Result<(), String> {
        let seed = self.random.next();
        let shown: State = self.history.shown();
        let probed = self.retry_reads(&mut |round| {
            let mut random = Random::new(seed);
            look::some(engine, &round.names, &shown, &mut random)
        })?;
        match probed {
            Some(Err(contradiction)) => Err(contradiction),
            _ => Ok(()),
        }
    }

    /// Reads, once more when a fault explains the error; nothing when the machine is dead.
    fn retry_reads<T>(
        &mut self,
        read: &mut dyn FnMut(&Self) -> Result<T, look::Failure>,
    ) -> Result<Option<T>, String> {
        loop {
            let strikes = self.disk.strikes();
            match read(self) {
                Ok(found) => return Ok(Some(found)),
                Err(look::Failure::Contradiction(text)) => return Err(text),
                Err(look::Failure::Disk(_)) if self.disk.is_dead() => return Ok(None),
                Err(look::Failure::Disk(_)) if self.disk.strikes() > strikes => {}
                Err(look::Failure::Disk(error)) => {
                    return Err(format!("a read failed although nothing went wrong: {error}"));
                }
            }
        }
    }

    fn end(&mut self, engine: Engine) -> Result<(), String> {
        if self.disk.is_dead() {
            self.end_dead();
            drop(engine);
            return Ok(());
        }
        let is_full = |kind: &FaultKind| matches!(kind, FaultKind::NoSpace { .. });
        if self.planned.iter().all(is_full) && !self.planned.is_empty() {
            self.resume(&engine)?;
        }
        self.tally.faults += self.disk.strikes();
        if self.random.percent(40) {
            self.end_dead();
            drop(engine);
            return Ok(());
        }
        let result = engine.close();
        self.say(format!("close: {result:?}"));
        match result {
            Ok(()) => self.acknowledge_durable(u64::MAX),
            Err(_) if self.disk.is_dead() => {}
            Err(error) => {
                self.excuse("close", &error.to_string())?;
                self.loss = Loss::Process;
            }
        }
        self.tally.closes += 1;
        // Whatever ends the machine now, a closed store has nothing to lose.
        if self.disk.is_dead() || self.random.percent(60) {
            self.end_dead();
            drop(engine);
        } else {
            drop(engine);
            self.disk.heal();
        }
        Ok(())
    }

    /// Cuts the power or kills the process.
    fn end_dead(&mut self) {
        let (disk, loss) = if self.random.percent(70) {
            self.tally.power_cuts += 1;
            (self.disk.crash(), Loss::Power)
        } else {
            self.tally.kills += 1;
            (self.disk.kill(), Loss::Process)
        };
        self.tally.faults += self.disk.strikes();
        self.say(format!("the end: loss of {loss:?}"));
        self.disk = disk;
        self.loss = self.loss.max(loss);
    }

    /// With space again, writes must go on without a restart.
    fn resume(&mut self, engine: &Engine) -> Result<(), String> {
        self.disk.heal();
        let mut refused = String::new();
        for _ in 0..RESUME_ATTEMPTS {
            self.flush(engine)?;
            self.write(engine)?;
            let Some((commit, number)) = self.latest else { continue };
            match engine.wait(commit, Ack::Durable) {
                Ok(()) => {
                    self.acknowledge_durable(number);
                    return Ok(());
                }
                Err(error) => refused = error.to_string(),
            }
        }
        Err(format!("writes do not resume although space is back: {refused}"))
    }
}
