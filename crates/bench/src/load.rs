//! The load: one thread per connection sends its feed through one door, on plan or back to back,
//! while the calling thread samples the server once a second. It judges nothing; see `verify`.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::cursor::Share;
use crate::disorder::Disorder;
use crate::encode::{Encoder, Precision};
use crate::feed::Feed;
use crate::fleet::Fleet;
use crate::latency::Latency;
use crate::mix::Reads;
use crate::oracle::Oracle;
use crate::pace::{Pace, Plan};
use crate::query::Asked;
use crate::sender::Sender;
use crate::server::Watched;
use crate::target::Target;
use crate::track::{Track, Tracker};

mod connection;

/// Stack of a connection's thread; a thousand of them must stay cheap.
pub(crate) const STACK_BYTES: usize = 256 << 10;

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
    /// Level for `X-Foliot-Ack`.
    pub(crate) ack: Option<String>,
    /// Whether bodies are packed with gzip.
    pub(crate) gzip: bool,
    /// What the connections ask between their writes.
    pub(crate) reads: Option<Reads>,
    /// Whether to draw progress on the terminal.
    pub(crate) progress: bool,
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

/// What threads share while they run.
struct Shared {
    /// When the load began: the gate that all connections wait at. Whoever waits goes on without
    /// taking turns, so that a thousand threads are not let through one by one.
    start: OnceLock<Instant>,
    /// Connections that do not wait at the gate yet.
    getting_ready: AtomicU64,
    /// Opens the gate.
    opener: thread::Thread,
    points: AtomicU64,
    errors: AtomicU64,
    running: AtomicU64,
}

impl Shared {
    /// Opens the gate once all connections wait at it.
    fn open(&self) -> Instant {
        while self.getting_ready.load(Ordering::Acquire) > 0 {
            thread::park();
        }
        *self.start.get_or_init(Instant::now)
    }

    /// Waits at the gate.
    fn wait_for_start(&self) -> Instant {
        if self.getting_ready.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.opener.unpark();
        }
        *self.start.wait()
    }
}

impl Load<'_> {
    /// The share of connection `at`.
    pub(crate) fn share(&self, at: u64) -> Share {
        Share::of(self.fleet, at, self.connections, self.steps.clone(), self.block)
    }

    /// The feed of connection `at` from its beginning.
    pub(crate) fn feed(&self, at: u64) -> Feed<'_> {
        let format = self.target.door().format;
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
        match self.target.door().format.is_by_row() {
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

    /// Sends everything and waits for the last reply.
    pub(crate) fn run(&self, watched: &Watched) -> io::Result<Outcome> {
        self.target.prepare(self.fleet, &self.address)?;
        let shared = Shared {
            start: OnceLock::new(),
            getting_ready: AtomicU64::new(self.connections),
            opener: thread::current(),
            points: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            running: AtomicU64::new(self.connections),
        };
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for at in 0..self.connections {
                let shared = &shared;
                let run = move || {
                    let sent = connection::run(self, at, shared);
                    shared.running.fetch_sub(1, Ordering::Relaxed);
                    sent
                };
                let builder = thread::Builder::new().stack_size(STACK_BYTES);
                threads.push(builder.spawn_scoped(scope, run)?);
            }
            let start = shared.open();
            let mut tracker = Tracker::new(watched, self.warm_up, self.progress);
            while shared.running.load(Ordering::Relaxed) > 0 {
                tracker.wait(start, || shared.running.load(Ordering::Relaxed) == 0);
                let points = shared.points.load(Ordering::Relaxed);
                tracker.mark(start, points, shared.errors.load(Ordering::Relaxed));
            }
            let wall = start.elapsed();
            let gone = |_| io::Error::other("BUG: a connection's thread panicked");
            let joined = threads.into_iter().map(|thread| thread.join().map_err(gone));
            let connections = joined.collect::<io::Result<Vec<Sent>>>()?;
            let (warm_up, limit) = (self.warm_up, self.limit);
            Ok(Outcome { connections, warm_up, limit, wall, tracks: tracker.finish() })
        })
    }

    /// When the requests of connection `at` are due.
    fn plan(&self, at: u64) -> Plan {
        let sources = self.share(at).sources;
        // Sources that share a request share its phase.
        let together = (self.batch / self.lines_of_a_source().max(1)).max(1);
        let units = (sources.end - sources.start).div_ceil(together);
        Plan::new(self.pace, self.fleet.shape.seed, at, self.connections, units)
    }
}

/// Renders the next request; 0 when there is none.
pub(crate) fn fill(feed: &mut Feed<'_>, encoder: &mut Encoder<'_>, body: &mut Vec<u8>) -> u64 {
    body.clear();
    encoder.open(body);
    let mut points = 0;
    feed.request(|row| points += encoder.row(row, body).1);
    encoder.close(body);
    points
}

impl Sent {
    fn new() -> Sent {
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

    /// Closes the connection; returns the complaints that came back on it.
    fn close(&mut self, sender: Sender) -> u64 {
        match sender.finish() {
            Ok(0) => 0,
            Ok(lines) => {
                *self.errors.entry("error lines on the stream".into()).or_default() += lines;
                lines
            }
            Err(error) => {
                self.fail(error.to_string());
                1
            }
        }
    }

    fn fail(&mut self, error: String) {
        self.failed.push(self.requests);
        *self.errors.entry(error).or_default() += 1;
    }
}
