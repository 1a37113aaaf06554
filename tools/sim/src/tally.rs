//! What happened in rounds.

use crate::world::Points;

/// What happened in rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) rounds: u64,
    pub(crate) power_cuts: u64,
    pub(crate) kills: u64,
    /// What else power cuts could have left, opened as well.
    pub(crate) fates: u64,
    pub(crate) closes: u64,
    pub(crate) faults: u64,
    pub(crate) clients: u64,
    pub(crate) events: u64,
    pub(crate) acknowledged: u64,
    pub(crate) flushes: u64,
    pub(crate) merges: u64,
    pub(crate) deletes: u64,
    pub(crate) epochs: u64,
    pub(crate) renames: u64,
    pub(crate) namespaces_dropped: u64,
    /// Damages done to a copy of the store.
    pub(crate) trials: u64,
    pub(crate) backups: u64,
    pub(crate) looks: u64,
    /// Facts compared with the oracle.
    pub(crate) facts: u64,
    /// Where the power failed.
    pub(crate) points: Points,
}

impl Tally {
    /// Adds what happened in other rounds.
    pub(crate) fn add(&mut self, other: &Self) {
        self.rounds += other.rounds;
        self.power_cuts += other.power_cuts;
        self.kills += other.kills;
        self.fates += other.fates;
        self.closes += other.closes;
        self.faults += other.faults;
        self.clients += other.clients;
        self.events += other.events;
        self.acknowledged += other.acknowledged;
        self.flushes += other.flushes;
        self.merges += other.merges;
        self.deletes += other.deletes;
        self.epochs += other.epochs;
        self.renames += other.renames;
        self.namespaces_dropped += other.namespaces_dropped;
        self.trials += other.trials;
        self.backups += other.backups;
        self.looks += other.looks;
        self.facts += other.facts;
        for (point, times) in &other.points {
            *self.points.entry(point.clone()).or_default() += times;
        }
    }
}
