//! Small queries: answered on the task of the connection that asks.
//!
//! To hand a query to another thread and its answer back costs as much as answering about a few
//! series. So a query that only reads is tried where it is asked, in a store of few series, with
//! little time and without reading files, because other connections wait meanwhile. If that does
//! not suffice, what was made is thrown away and the query begins again on a thread of its own.

use super::{Job, Out, Work};
use crate::shared::Shared;
use foliot_engine::without_files;
use foliot_exec::{Cancel, Limits, Meter};
use std::time::{Duration, Instant};

/// Series of a store in which finding any of them takes less than a millisecond or so.
const STORE_SERIES_MAX: u64 = 50_000;

/// What a small query may take: some hundred microseconds on a server, a few milliseconds on a
/// board. One that turns out not to be small has cost that much more.
fn limits(any_query: &Limits) -> Limits {
    Limits {
        memory_bytes: any_query.memory_bytes.min(4 << 20),
        samples: any_query.samples.min(20_000),
        series: any_query.series.min(100),
        seconds: any_query.seconds.min(Duration::from_millis(4)),
        threads: 1,
    }
}

/// The whole answer to a small query; nothing if it is none.
pub(super) fn answer(shared: &Shared, job: &mut Job) -> Option<Vec<u8>> {
    let store = shared.store().filter(|_| job.only_reads)?;
    let snapshot = store.snapshot(&job.who);
    if snapshot.series() > STORE_SERIES_MAX {
        return None;
    }
    let began = Instant::now();
    let limits = limits(&shared.query_limits);
    let deadline = began + limits.seconds;
    let cancel = Cancel::default();
    let out = Out::within(&shared.config, None, None, cancel.clone(), deadline);
    let mut work = Work { snapshot: &snapshot, meter: Meter::new(limits, cancel), out };
    // Errors are left to the thread, which meets them again with time to spare.
    let ran = without_files(|| (job.run)(&mut work))?.ok()?;
    // The thread that is asked next has more to spend.
    if work.meter.met().next().is_some() {
        return None;
    }
    shared.metrics.queries.add(1);
    shared.metrics.queries_brief.add(1);
    shared.metrics.query_samples.add(ran.samples_scanned);
    shared.metrics.query_nanos.add(began.elapsed().as_nanos() as u64);
    Some(work.out.bytes)
}
