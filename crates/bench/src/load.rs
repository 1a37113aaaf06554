//! A load: what is to be sent through which door, in which order and when, and what came of it.
//! `drive` sends it, `verify` judges it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::Serialize;

use crate::adapter::Target;
use crate::catalogue::Kind;
use crate::cursor::Share;
use crate::dialect::Language;
use crate::disorder::Disorder;
use crate::encode::Precision;
use crate::feed::Feed;
use crate::fleet::Fleet;
use crate::latency::Latency;
use crate::oracle::Oracle;
use crate::pace::{Pace, Plan};
use crate::query::Asked;
use crate::sender::Wish;
use crate::track::Track;

/// One load, ready to run.
pub(crate) struct Load<'a> {
    pub(crate) fleet: &'a Fleet,
    pub(crate) disorder: Disorder,
    pub(crate) target: Target,
    /// HOST:PORT of the door.
    pub(crate) address: String,
    pub(crate) precision: Precision,
    pub(crate) connections: u64,
    /// Lines of a request.
    pub(crate) batch: u64,
    pub(crate) steps: Range<u64>,
    /// Steps that one source sends in a row.
    pub(crate) block: u64,
    pub(crate) pace: Pace,
    /// What is due before this time has passed is sent and acknowledged, and not measured.
    pub(crate) warm_up: Duration,
    /// Stop when so much has passed after the warm-up, even when steps are left.
    pub(crate) limit: Option<Duration>,
    /// Stop a closed loop before the limit as soon as the server's costs are enough to judge by.
    pub(crate) until_enough: bool,
    pub(crate) wish: Wish,
    /// What the connections ask between their writes.
    pub(crate) reads: Option<Reads>,
    /// Whether to draw progress on the terminal.
    pub(crate) progress: bool,
}

/// What a writing connection asks.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Reads {
    pub(crate) language: &'static Language,
    pub(crate) address: String,
    /// Asked in turns.
    pub(crate) kinds: Vec<Kind>,
    /// Questions per write request.
    pub(crate) per_write: f64,
    /// The first step that may be asked about: that of the load, or earlier when all before it is
    /// known to be there.
    pub(crate) first_step: u64,
}

/// What one connection did.
pub(crate) struct Sent {
    pub(crate) requests: u64,
    /// Whether the feed was sent to its end.
    pub(crate) finished: bool,
    /// Values that were sent, whatever became of them.
    pub(crate) points: u64,
    /// Values in requests that the server accepted.
    pub(crate) points_acked: u64,
    /// Requests that were due after the warm-up, whether they were sent or not, and their values.
    pub(crate) offered: u64,
    pub(crate) points_offered: u64,
    /// Requests among these that were due and never sent, because the run ended first.
    pub(crate) unsent: u64,
    pub(crate) bytes: u64,
    /// Numbers of the requests that failed.
    pub(crate) failed: Vec<u64>,
    pub(crate) errors: BTreeMap<String, u64>,
    /// From the planned start to the reply that accepted; of what was never sent, to the end of the
    /// run, which is the least that it would have taken.
    pub(crate) intended: Latency,
    /// From the first byte sent to the reply that accepted.
    pub(crate) service: Latency,
    /// From the moment a request could go to the moment it went.
    pub(crate) lateness: Latency,
    pub(crate) cpu_ns: u64,
    /// Time in which the connection waited neither for the server nor for its plan.
    pub(crate) own: Duration,
    /// What was asked between the writes, per kind.
    pub(crate) reads: Vec<Asked>,
}

/// What all connections did.
pub(crate) struct Outcome {
    pub(crate) connections: Vec<Sent>,
    pub(crate) warm_up: Duration,
    pub(crate) limit: Option<Duration>,
    pub(crate) wall: Duration,
    pub(crate) tracks: Vec<Track>,
}

impl Outcome {
    /// The moment from which the load is measured; none where it is measured from its beginning.
    pub(crate) fn warm(&self) -> Option<&Track> {
        if self.warm_up.is_zero() {
            return None;
        }
        let over = |track: &&Track| track.at_s >= self.warm_up.as_secs_f64();
        // A load that ended before has nothing that was measured.
        self.tracks.iter().find(over).or(self.tracks.last())
    }
}

impl Load<'_> {
    /// The share of connection `at`.
    pub(crate) fn share(&self, at: u64) -> Share {
        Share::of(self.fleet, at, self.connections, self.steps.clone(), self.block)
    }

    /// The feed of connection `at` from its beginning.
    pub(crate) fn feed(&self, at: u64) -> Feed<'_> {
        let format = self.target.door.format;
        Feed::new(self.fleet, self.disorder, self.share(at), format, self.batch)
    }

    /// Requests of connection `at` from its first to its last; about, because rows that are left
    /// out or sent twice are counted by their share.
    pub(crate) fn requests_about(&self, at: u64) -> u64 {
        let sources = self.share(at).sources;
        let steps = self.steps.end - self.steps.start;
        let rows = (sources.end - sources.start).saturating_mul(steps) as f64;
        let rows = rows * (1.0 - self.disorder.gaps) * (1.0 + self.disorder.repeated);
        (rows * self.lines_of_a_source() as f64 / self.batch.max(1) as f64).ceil() as u64
    }

    /// Lines in which one source reports a step.
    pub(crate) fn lines_of_a_source(&self) -> u64 {
        match self.target.door.format.is_by_row() {
            true => self.fleet.tables.len() as u64,
            false => self.fleet.fields_per_source(),
        }
    }

    /// What the server knows once everything is sent.
    pub(crate) fn oracle(&self) -> Oracle<'_> {
        Oracle {
            fleet: self.fleet,
            disorder: self.disorder,
            first_source: 0,
            end_source: self.fleet.shape.sources,
            first_step: self.steps.start,
            end_step: self.steps.end,
        }
    }

    /// When the requests of connection `at` are due.
    pub(crate) fn plan(&self, at: u64) -> Plan {
        let sources = self.share(at).sources;
        // Sources that share a request share its phase.
        let together = (self.batch / self.lines_of_a_source().max(1)).max(1);
        let units = (sources.end - sources.start).div_ceil(together);
        Plan::new(self.pace, self.fleet.shape.seed, at, self.connections, units)
    }
}

impl Sent {
    pub(crate) fn new() -> Sent {
        Sent {
            requests: 0,
            finished: false,
            points: 0,
            points_acked: 0,
            offered: 0,
            points_offered: 0,
            unsent: 0,
            bytes: 0,
            failed: Vec::new(),
            errors: BTreeMap::new(),
            intended: Latency::new(),
            service: Latency::new(),
            lateness: Latency::new(),
            cpu_ns: 0,
            own: Duration::ZERO,
            reads: Vec::new(),
        }
    }

    /// Counts a request that failed.
    pub(crate) fn fail(&mut self, error: String) {
        self.failed.push(self.requests);
        *self.errors.entry(error).or_default() += 1;
    }
}
