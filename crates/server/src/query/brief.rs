//! Small queries: answered on the task of the connection that asks, or in a lane of their own.
//!
//! To hand a query to another thread and its answer back costs as much as answering about a few
//! series. So a query that only reads is tried where it is asked, with little time and without
//! reading files, because other connections wait meanwhile. If that does not suffice, what was made
//! is thrown away, the query begins again on a thread of its own, and questions of its shape are
//! not tried for a while. In a store of many series only questions about samples are tried: how far
//! their selections walk is known before they do, while listings look at most of what there is.
//!
//! When all places for queries are taken it is tried once more in the short lane, with more time
//! and with files, so that a cheap question does not wait behind dear ones. Which questions are
//! dear is remembered by their shapes: these are not tried.

use super::lanes::Place;
use super::{Job, Out, Spent, Title, Titled, Work};
use crate::costs::Asked;
use crate::metrics::Counter;
use crate::shared::Shared;
use foliot_access::Principal;
use foliot_engine::{Snapshot, without_files};
use foliot_exec::{AskedName, Cancel, Limits, Meter, SECONDS_LIMIT};
use foliot_model::Pattern;
use hyper::StatusCode;
use std::cell::LazyCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Ids through which a question walks in less than a millisecond or so: series of a store in which
/// any of them may be looked at, or what the selections of a question look at in a greater one.
const IDS_MAX: usize = 50_000;

/// The whole answer to a query.
type Whole = (StatusCode, Vec<u8>);

/// What a small query may take: some hundred microseconds on a server, a few milliseconds on a
/// board. One that turns out not to be small has cost that much more.
fn limits(shared: &Shared) -> Limits {
    let any_query = &shared.query_limits;
    Limits {
        memory_bytes: any_query.memory_bytes.min(4 << 20),
        samples: any_query.samples.min(20_000),
        series: any_query.series.min(100),
        ids: IDS_MAX,
        seconds: any_query.seconds.min(shared.config.limits_query_brief),
        threads: 1,
    }
}

/// What one in the short lane may take.
fn short_limits(any_query: &Limits) -> Limits {
    Limits {
        memory_bytes: any_query.memory_bytes.min(16 << 20),
        samples: any_query.samples.min(200_000),
        series: any_query.series.min(1_000),
        ids: any_query.ids,
        seconds: any_query.seconds.min(Duration::from_millis(100)),
        threads: 1,
    }
}

/// The whole answer to a small query; nothing if it is none.
pub(super) fn answer(shared: &Shared, job: &mut Job) -> Option<Whole> {
    let store = shared.store().filter(|_| job.only_reads)?;
    let snapshot = store.snapshot(&job.who);
    let is_bounded = job.only_selects || snapshot.series() <= IDS_MAX as u64;
    let lanes = &shared.lanes;
    let shape = LazyCell::new(|| job.shape());
    if !is_bounded || lanes.long.contains(|| *shape) || lanes.dear.contains(|| *shape) {
        return None;
    }
    match without_files(|| within(shared, job, &snapshot, limits(shared)))? {
        Ok(done) => Some(done.count(shared, job, &shared.metrics.queries_brief)),
        Err(reason) => {
            if reason == GivenUp::Dear {
                lanes.long.note(job.shape());
            }
            None
        }
    }
}

/// The whole answer to a short query; the job itself if it is none, or nothing if it was lost.
pub(super) async fn answer_short(
    shared: &Arc<Shared>,
    job: Job,
) -> Result<Whole, Option<Box<Job>>> {
    if !job.only_reads || shared.lanes.dear.contains(|| job.shape()) {
        return Err(Some(Box::new(job)));
    }
    let Some(place) = shared.lanes.short().await else { return Err(Some(Box::new(job))) };
    // While it waited another may have shown what such questions cost.
    if shared.lanes.dear.contains(|| job.shape()) {
        return Err(Some(Box::new(job)));
    }
    let shared = shared.clone();
    let running = tokio::task::spawn_blocking(move || run_short(&shared, job, place));
    running.await.unwrap_or(Err(None))
}

fn run_short(
    shared: &Shared,
    mut job: Job,
    place: (Place, Place),
) -> Result<Whole, Option<Box<Job>>> {
    let Some(store) = shared.store() else { return Err(Some(Box::new(job))) };
    let snapshot = store.snapshot(&job.who);
    let done = within(shared, &mut job, &snapshot, short_limits(&shared.query_limits));
    drop(place);
    match done {
        Ok(done) => Ok(done.count(shared, &mut job, &shared.metrics.queries_short)),
        Err(reason) => {
            if reason != GivenUp::Failed {
                shared.lanes.dear.note(job.shape());
            }
            Err(Some(Box::new(job)))
        }
    }
}

/// A query that was answered.
struct Done {
    whole: Whole,
    samples: u64,
    took: Duration,
    costs: Costs,
}

/// What the statements of a query were, and what they cost.
struct Costs {
    who: Arc<Principal>,
    titles: Vec<Titled>,
    ended: Instant,
    /// Samples that were read, and the most bytes that were held.
    held: (u64, u64),
    /// Which metrics it is about.
    names: Vec<AskedName>,
}

impl Costs {
    /// Remembers them. What several read and held is told of the last.
    fn remember(self, shared: &Shared) {
        let Self { who, titles, mut ended, mut held, names } = self;
        if let Some(last) = titles.last() {
            shared.queries.note_asked(&last.title, &names);
        }
        for Titled { title, began, error } in titles.into_iter().rev() {
            let took = ended.saturating_duration_since(began);
            let (samples, memory_peak_bytes) = std::mem::take(&mut held);
            let who = who.clone();
            let asked = Asked { who, title, took, samples, memory_peak_bytes, error };
            shared.queries.costs().count(asked);
            ended = began;
        }
    }
}

impl Done {
    /// Counts the query, as what it turned out to be too.
    fn count(mut self, shared: &Shared, job: &mut Job, as_what: &Counter) -> Whole {
        as_what.add(1);
        shared.metrics.queries.add(1);
        shared.metrics.query_samples.add(self.samples);
        shared.metrics.query_nanos.add(self.took.as_nanos() as u64);
        let began = self.costs.ended.checked_sub(self.took).unwrap_or(self.costs.ended);
        let of_job = |title: Box<Title>| Titled { title: *title, began, error: None };
        self.costs.titles.extend(job.title.take().map(of_job));
        self.costs.remember(shared);
        self.whole
    }
}

/// Why a query was given up, to begin again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivenUp {
    /// It takes more.
    Dear,
    /// Its time was over, which others may have had.
    Late,
    /// It fails, which its thread meets again, with time to spare.
    Failed,
}

/// The whole answer, if that takes no more than `limits`.
fn within(
    shared: &Shared,
    job: &mut Job,
    snapshot: &Snapshot,
    limits: Limits,
) -> Result<Done, GivenUp> {
    let began = Instant::now();
    let deadline = began + limits.seconds;
    let cancel = Cancel::default();
    let out = Out::within(&shared.config, None, None, cancel.clone(), deadline);
    let (who, from, status) = (job.who.clone(), job.from, StatusCode::OK);
    let (meter, entry, titles) = (Meter::new(limits, cancel), None, Vec::new());
    let spent = Spent::default();
    let mut work = Work { snapshot, shared, who, from, meter, out, entry, titles, status, spent };
    let ran = Pattern::weighed(|| (job.run)(&mut work));
    if work.out.has_sent || work.meter.met().next().is_some() {
        let is_late = !work.out.has_sent && work.meter.met().eq([SECONDS_LIMIT]);
        return Err(if is_late { GivenUp::Late } else { GivenUp::Dear });
    }
    let ran = ran.map_err(|_| GivenUp::Failed)?;
    work.out.check_size().map_err(|_| GivenUp::Failed)?;
    let took = began.elapsed();
    let held = (work.meter.samples_of_all(), work.meter.memory_peak_bytes());
    let names = work.meter.take_asked();
    let costs = Costs { who: work.who, titles: work.titles, ended: began + took, held, names };
    let whole = (work.status, work.out.bytes);
    Ok(Done { whole, samples: ran.samples_scanned, took, costs })
}
