//! A client: one of those who use an open store at once.

use super::{Round, fail};
use crate::look;
use crate::random::Random;
use crate::world::lock;
use foliot_engine::{Ack, Commit, Engine};
use foliot_model::BatchBuffers;
use std::sync::Arc;

/// What can be done with an open store.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Write,
    ChangeCatalog,
    CreateNamespace,
    Delete,
    DropSeries,
    DropNamespace,
    Rename,
    Retain,
    ChangeRules,
    Flush,
    Maintain,
    BeginEpoch,
    BackUp,
    Probe,
    Wait,
    BelieveProgress,
    Advance,
    Jump,
}

impl Action {
    pub(super) fn is_backup(self) -> bool {
        matches!(self, Self::BackUp)
    }
}

/// How often what is done in an average round.
const ACTIONS: [(Action, usize); 18] = [
    (Action::Write, 48),
    (Action::ChangeCatalog, 8),
    (Action::CreateNamespace, 4),
    (Action::Delete, 10),
    (Action::DropSeries, 3),
    (Action::DropNamespace, 1),
    (Action::Rename, 2),
    (Action::Retain, 2),
    (Action::ChangeRules, 2),
    (Action::Flush, 10),
    (Action::Maintain, 12),
    (Action::BeginEpoch, 3),
    (Action::BackUp, 1),
    (Action::Probe, 14),
    (Action::Wait, 6),
    (Action::BelieveProgress, 5),
    (Action::Advance, 5),
    (Action::Jump, 1),
];

/// Each round does some things far more often than others, or not at all: that reaches states which
/// the average never sees (A. Groce et al., "Swarm Testing", ISSTA 2012).
pub(super) fn draw_weights(random: &mut Random) -> Vec<(Action, usize)> {
    let mut weights = ACTIONS.to_vec();
    for (action, weight) in &mut weights {
        *weight *= match action {
            Action::Write => *random.pick(&[1, 2, 4]),
            _ => *random.pick(&[0, 1, 4, 16]),
        };
    }
    weights
}

/// How far a clock jumps: a little, some days, or from one end of time to the other.
fn draw_jump(random: &mut Random) -> i64 {
    const SECOND_NS: i64 = 1_000_000_000;
    let most_s = *random.pick(&[50, 7200, 80_000, 20 * 86_400, 4_000_000_000usize]);
    let ns = random.skewed(1, most_s) as i64 * SECOND_NS;
    if random.percent(50) { ns } else { -ns }
}

/// One client.
pub(super) struct Client {
    pub(super) round: Arc<Round>,
    pub(super) engine: Arc<Engine>,
    /// Its last commit.
    pub(super) latest: Option<Commit>,
    pub(super) buffers: BatchBuffers,
}

impl Client {
    pub(super) fn new(round: Arc<Round>, engine: Arc<Engine>) -> Self {
        Self { round, engine, latest: None, buffers: BatchBuffers::default() }
    }

    /// Does so many things, or fewer when the machine dies.
    pub(super) fn act(&mut self, actions: usize) {
        for _ in 0..actions {
            if self.round.is_dead() {
                break;
            }
            self.act_once();
        }
    }

    fn act_once(&mut self) {
        let round = self.round.clone();
        let weights = &round.weights;
        let mut draw = round.draw(|random| random.below(weights.iter().map(|(_, w)| w).sum()));
        let drawn = weights.iter().find(|(_, weight)| {
            let is_here = draw < *weight;
            draw = draw.saturating_sub(*weight);
            is_here
        });
        match drawn.map_or(Action::Write, |(action, _)| *action) {
            Action::Write => self.write(),
            Action::ChangeCatalog => self.change_catalog(),
            Action::CreateNamespace => self.create_namespace(),
            Action::Delete => round.machine.about("delete", || self.delete()),
            Action::DropSeries => round.machine.about("drop", || self.drop_series()),
            Action::DropNamespace => round.machine.about("drop", || self.drop_namespace()),
            Action::Rename => round.machine.about("rename", || self.rename()),
            Action::Retain => round.machine.about("retain", || self.retain()),
            Action::ChangeRules => round.machine.about("rules", || self.change_rules()),
            Action::Flush => self.flush(),
            Action::Maintain => round.machine.about("merge", || self.maintain()),
            Action::BeginEpoch => round.machine.about("epoch", || self.begin_epoch()),
            Action::BackUp => round.machine.about("backup", || self.back_up()),
            Action::Probe => self.probe(),
            Action::Wait => self.wait(),
            Action::BelieveProgress => self.believe_progress(),
            Action::Advance => {
                let hours_ns = 2 * 3600 * 1_000_000_000;
                let most_ns = if round.percent(10) { hours_ns } else { 40_000_000_000 };
                let ns = round.draw(|random| random.skewed(1, most_ns));
                round.machine.disk().advance(ns as u64);
            }
            Action::Jump => {
                let ns = round.draw(draw_jump);
                round.say(format_args!("the clock jumps by {} s", ns / 1_000_000_000));
                round.machine.jump(ns);
            }
        }
    }

    /// Other rules of retention, while others go on.
    fn change_rules(&self) {
        let round = &self.round;
        if round.has_rules && !round.change_rules(&self.engine) && !round.is_dead() {
            // Some series have new classes and others do not: only a start ends that.
            drop(round.machine.disk().crash());
        }
    }

    pub(super) fn wait(&mut self) {
        let Some(commit) = self.latest else { return };
        let levels = [Ack::Durable, Ack::Durable, Ack::Os, Ack::Memory];
        let ack = self.round.draw(|random| *random.pick(&levels));
        let result = self.engine.wait(commit, ack);
        self.round.say(format_args!("wait for {commit:?} {ack}: {result:?}"));
        match (result, ack) {
            (Ok(()), Ack::Durable) => self.acknowledge_durable(commit.lsn),
            (Ok(()), Ack::Os) => lock(&self.round.history).acknowledge_written(commit.lsn),
            (Ok(()), Ack::Memory) => {}
            (Err(error), _) => self.round.excuse("a wait", &error.to_string()),
        }
    }

    fn acknowledge_durable(&self, lsn: u64) {
        let news = lock(&self.round.history).acknowledge_durable(lsn);
        self.round.tally(|tally| tally.acknowledged += news);
    }

    /// Whether its last write can be made durable.
    pub(super) fn is_durable(&mut self) -> bool {
        let Some(commit) = self.latest else { return false };
        let result = self.engine.wait(commit, Ack::Durable);
        self.round.say(format_args!("wait for {commit:?}: {result:?}"));
        if result.is_ok() {
            self.acknowledge_durable(commit.lsn);
        }
        result.is_ok()
    }

    /// The server acknowledges by the positions that the store tells: they are promises as well.
    pub(super) fn believe_progress(&self) {
        let progress = self.engine.progress();
        lock(&self.round.history).acknowledge_written(progress.written_lsn);
        self.acknowledge_durable(progress.durable_lsn);
    }

    /// Reads a little while others go on.
    fn probe(&self) {
        let round = &self.round;
        let seed = round.draw(Random::next);
        round.retry_reads(&|| {
            let mut random = Random::new(seed);
            let mark = round.machine.mark();
            let watch = lock(&round.history).watch();
            let found = look::some(&self.engine, &round.names, &mut random);
            let Some(mut watch) = lock(&round.history).watched(watch) else { return Ok(()) };
            watch.clock = round.machine.since(&mark);
            found?.iter().try_for_each(|seen| seen.agrees(&watch)).map_err(look::Failure::from)
        });
    }

    /// Fails the round unless a fault since `strikes` explains the error of a piece of work.
    pub(super) fn need(&self, what: &str, strikes: u64, error: &str) {
        if self.round.strikes() == strikes {
            self.round.excuse(what, error);
        }
    }

    pub(super) fn fail(&self, text: String) -> ! {
        fail(text)
    }
}
