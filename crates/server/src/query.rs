//! Queries: slots, a thread each while they run, and answers that stream out as they are made.
//!
//! 1. A query takes a slot, or waits for one, in order and within bounds, or is refused.
//! 2. A small one is answered where it is asked (`brief`). Any other runs on a thread of its own
//!    (`exec` adds helpers), encoding frames as they come.
//! 3. Pieces of the answer go through a channel that holds few, so a slow reader stops the work;
//!    its time counts against the query's deadline.
//! 4. When the client leaves, the receiver is dropped, and that cancels the query.

mod brief;

use crate::config::Config;
use crate::http::{Message, Pieces, Reply};
use crate::limits::Limit;
use crate::metrics::Metrics;
use crate::shared::Shared;
use flate2::{Compression, write::GzEncoder};
use foliot_access::{Need, Principal};
use foliot_engine::Snapshot;
use foliot_exec::{Cancel, Error, Meter, Query, Ran, run};
use foliot_model::{Frame, Table};
use foliot_plan::Series;
use foliot_plan::rows::Select;
use hyper::StatusCode;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Bytes of an answer that are sent at once. An answer that fits is sent with its length.
const PIECE_BYTES: usize = 64 << 10;

/// Pieces that wait for a slow reader, beside the one being made.
const PIECES_AHEAD: usize = 3;

/// How often a query whose client does not read looks whether it was ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Why a query has no answer: a status and words for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Memory { .. }
            | Error::Samples { .. }
            | Error::Sources { .. }
            | Error::Series { .. }
            | Error::Deadline { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Error::Plan(_) => StatusCode::BAD_REQUEST,
            Error::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
            Error::Engine(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

/// Why a selection ended early.
#[derive(Debug)]
pub(crate) enum Stopped {
    /// It could not go on.
    Query(Error),
    /// Its answer was not wanted any more, or not in this form.
    Reader(Failure),
}

/// Appends a frame to an answer.
pub(crate) type Encode<'a> = dyn FnMut(&Frame, &mut Vec<u8>) -> Result<(), Failure> + 'a;

/// Appends a piece of a table to an answer.
pub(crate) type Each<'a> = dyn FnMut(&Table, &mut Vec<u8>) -> Result<(), Failure> + 'a;

/// Where a door's encoder meets the executor: runs plans and collects the answer's bytes.
pub(crate) struct Work<'a> {
    pub(crate) snapshot: &'a Snapshot,
    meter: Meter,
    out: Out,
}

impl Work<'_> {
    /// Runs `plans`; `encode` appends each frame to the answer.
    ///
    /// # Errors
    /// What stopped the query, or what `encode` refused.
    pub(crate) fn run(
        &mut self,
        plans: &[Series],
        encode: &mut Encode<'_>,
    ) -> Result<Ran, Failure> {
        let query = Query { snapshot: self.snapshot, meter: self.meter.clone() };
        let out = &mut self.out;
        let mut failed = None;
        let ran = run(&query, plans, &mut |frame| {
            let step = encode(&frame, &mut out.bytes).and_then(|()| out.send_if_large());
            match step {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => {
                    failed = Some(failure);
                    ControlFlow::Break(())
                }
            }
        });
        match failed {
            Some(failure) => Err(failure),
            None => Ok(ran?),
        }
    }

    /// Selects rows over what is stored now, for which `each` is called table by table.
    ///
    /// # Errors
    /// What stopped the query, or what `each` refused.
    pub(crate) fn select(
        &mut self,
        snapshot: &Snapshot,
        plan: &Select,
        each: &mut Each<'_>,
    ) -> Result<Ran, Stopped> {
        let query = Query { snapshot, meter: self.meter.clone() };
        let out = &mut self.out;
        let mut failed = None;
        let ran = foliot_exec::select(&query, plan, &mut |table| {
            let step = each(&table, &mut out.bytes).and_then(|()| out.send_if_large());
            match step {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => {
                    failed = Some(failure);
                    ControlFlow::Break(())
                }
            }
        });
        match failed {
            Some(failure) => Err(Stopped::Reader(failure)),
            None => ran.map_err(Stopped::Query),
        }
    }

    /// Sends what was made so far, if that is much.
    ///
    /// # Errors
    /// When nobody takes it, or it has become too much.
    pub(crate) fn send_if_large(&mut self) -> Result<(), Failure> {
        // An answer in one piece is refused as soon as it is none.
        self.out.check_size()?;
        self.out.send_if_large()
    }

    /// The account of the request, for what is done beside plans: planning, listing, formulas.
    pub(crate) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Whether the query is over before anybody could look at it.
    pub(crate) fn is_brief(&self) -> bool {
        self.out.sender.is_none()
    }

    /// The end of the answer goes here.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out.bytes
    }
}

/// Answers a query; the bytes go to [`Work::out`].
type Run = dyn FnMut(&mut Work<'_>) -> Result<Ran, Failure> + Send;

/// What a query does.
pub(crate) struct Job {
    /// Who asks.
    who: Arc<Principal>,
    run: Box<Run>,
    /// Whether nothing comes of running it but the answer, so that it may be begun again.
    only_reads: bool,
    /// Whether it looks at queries that run, or ends them.
    is_of_queries: bool,
}

impl Job {
    /// A job that is run once, over what `who` may see.
    pub(crate) fn new(
        who: Arc<Principal>,
        run: impl FnMut(&mut Work<'_>) -> Result<Ran, Failure> + Send + 'static,
    ) -> Self {
        Self { who, run: Box::new(run), only_reads: false, is_of_queries: false }
    }

    /// The same job; if it only reads, it may be given up and begun again.
    pub(crate) fn that_reads(self, only_reads: bool) -> Self {
        Self { only_reads, ..self }
    }

    /// The same job; if it only looks at queries that run, or ends them, it waits for none of them.
    pub(crate) fn that_oversees(self, is_of_queries: bool) -> Self {
        Self { is_of_queries, ..self }
    }
}

/// Runs a job and answers with what it writes.
///
/// # Errors
/// Why there is no answer; once an answer has begun, errors end the connection instead.
pub(crate) async fn answer(
    shared: &Arc<Shared>,
    kind: &'static str,
    gzip: bool,
    mut job: Job,
) -> Result<Reply, Failure> {
    // Cheap questions do not wait behind dear ones: they need no slot.
    if let Some(bytes) = brief::answer(shared, &mut job) {
        return Ok(Reply::new(StatusCode::OK, kind, bytes));
    }
    let kept = if job.is_of_queries { reserved_slot(shared) } else { None };
    let slot = match kept {
        Some(slot) => slot,
        None => slot(shared, &job.who).await?,
    };
    let (sender, mut receiver) = mpsc::channel(PIECES_AHEAD);
    let cancel = Cancel::default();
    let leaver = Leaver { cancel: cancel.clone() };
    let task_shared = shared.clone();
    tokio::task::spawn_blocking(move || {
        perform(&task_shared, job, cancel, sender, gzip);
        drop(slot);
    });
    match receiver.recv().await {
        Some(Message::Last(bytes)) => Ok(Reply::new(StatusCode::OK, kind, bytes)),
        Some(Message::Failed(failure)) => Err(failure),
        Some(Message::Piece(bytes)) => {
            let pieces = Pieces::new(bytes, receiver, Box::new(leaver));
            let reply = Reply::streaming(kind, pieces);
            Ok(if gzip { reply.gzipped() } else { reply })
        }
        None => {
            let text = "the query ended without an answer; the log of the server says why";
            Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, text))
        }
    }
}

/// Cancels a query when nobody waits for its answer any more.
struct Leaver {
    cancel: Cancel,
}

impl Drop for Leaver {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// A place among the queries that run at once. When others hold all of them, an operator, where
/// people are asked who they are, finds one that is kept.
pub(crate) async fn slot(
    shared: &Arc<Shared>,
    who: &Principal,
) -> Result<OwnedSemaphorePermit, Failure> {
    if let Ok(slot) = shared.query_slots.clone().try_acquire_owned() {
        return Ok(slot);
    }
    shared.metrics.limits.add(Limit::Queries);
    if shared.gate.is_on()
        && who.may(Need::Operate)
        && let Some(slot) = reserved_slot(shared)
    {
        return Ok(slot);
    }
    let refuse = |limit| {
        shared.metrics.limits.add(limit);
        refuse(shared)
    };
    let _place = shared.query_queue.try_acquire().map_err(|_| refuse(Limit::QueriesWaiting))?;
    let waiting = shared.config.limits_queries_waiting.saturating_sub(free_places(shared));
    if shared.query_pace.wait(waiting, shared.config.limits_queries)
        > shared.config.limits_query_wait
    {
        // To wait in vain helps nobody.
        return Err(refuse(Limit::QueryWait));
    }
    let waiting = shared.query_slots.clone().acquire_owned();
    match tokio::time::timeout(shared.config.limits_query_wait, waiting).await {
        Ok(Ok(slot)) => Ok(slot),
        _ => Err(refuse(Limit::QueryWait)),
    }
}

/// One of the places that are kept for operators.
fn reserved_slot(shared: &Shared) -> Option<OwnedSemaphorePermit> {
    shared.query_slots_reserved.clone().try_acquire_owned().ok()
}

fn refuse(shared: &Shared) -> Failure {
    shared.metrics.queries_refused.add(1);
    let text = format!(
        "{} queries are running (limits.queries) and others wait already \
         (limits.queries_waiting, limits.query_wait); try again later",
        shared.config.limits_queries
    );
    Failure::new(StatusCode::TOO_MANY_REQUESTS, text)
}

fn free_places(shared: &Shared) -> u64 {
    shared.query_queue.available_permits() as u64
}

/// How long queries that held a slot took of late, each counting an eighth of what is left.
#[derive(Debug, Default)]
pub(crate) struct QueryPace(AtomicU64);

impl QueryPace {
    /// A query took so long.
    fn note(&self, took: Duration) {
        let took = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        let mean = self.0.load(Ordering::Relaxed);
        // Two that end at once may overwrite each other, which costs nothing.
        self.0.store(mean - mean / 8 + took / 8, Ordering::Relaxed);
    }

    /// How long the last of so many waits where so many run at a time.
    fn wait(&self, waiting: u64, slots: u64) -> Duration {
        let rounds = waiting.div_ceil(slots.max(1));
        Duration::from_nanos(self.0.load(Ordering::Relaxed).saturating_mul(rounds))
    }
}

/// Runs a job on the thread of the caller and sends its answer.
fn perform(
    shared: &Shared,
    mut job: Job,
    cancel: Cancel,
    sender: mpsc::Sender<Message>,
    gzip: bool,
) {
    let Some(store) = shared.store() else { return };
    let began = Instant::now();
    let _running = Running::new(shared, began);
    let limits = shared.query_limits;
    let packer = gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
    let cancelled = cancel.clone();
    let deadline = began + limits.seconds;
    let out = Out::within(&shared.config, packer, Some(sender), cancel.clone(), deadline);
    let snapshot = store.snapshot(&job.who);
    let meter = Meter::new(limits, cancel);
    let mut work = Work { snapshot: &snapshot, meter, out };
    let outcome = (job.run)(&mut work);
    work.meter.met().for_each(|setting| shared.metrics.limits.add_named(setting));
    if work.out.is_too_long() {
        shared.metrics.limits.add(Limit::AnswerBytes);
    }
    match outcome {
        Ok(ran) => {
            shared.metrics.query_samples.add(ran.samples_scanned);
            match work.out.check_size() {
                Ok(()) => work.out.finish(),
                Err(failure) => work.out.fail(failure),
            }
        }
        Err(failure) => {
            match cancelled.is_cancelled() {
                true => shared.metrics.queries_cancelled.add(1),
                false => shared.metrics.queries_failed.add(1),
            }
            log::debug!("query failed: {}", failure.message);
            work.out.fail(failure);
        }
    }
}

/// Counts a query as running while it lives, however it ends.
struct Running<'a> {
    metrics: &'a Metrics,
    pace: &'a QueryPace,
    began: Instant,
}

impl<'a> Running<'a> {
    fn new(shared: &'a Shared, began: Instant) -> Self {
        let (metrics, pace) = (&shared.metrics, &shared.query_pace);
        metrics.queries.add(1);
        metrics.queries_running.add(1);
        Self { metrics, pace, began }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.metrics.queries_running.subtract(1);
        let took = self.began.elapsed();
        self.pace.note(took);
        self.metrics.query_nanos.add(took.as_nanos() as u64);
    }
}

/// The answer as it grows.
struct Out {
    bytes: Vec<u8>,
    /// Compresses what is sent in pieces; an answer in one piece is compressed, or not, by its
    /// size.
    packer: Option<GzEncoder<Vec<u8>>>,
    has_sent: bool,
    /// Bytes sent so far, before they were compressed, and how many there may be.
    sent_bytes: u64,
    bytes_max: u64,
    /// Nothing where the answer must fit into one piece.
    sender: Option<mpsc::Sender<Message>>,
    cancel: Cancel,
    deadline: Instant,
}

impl Out {
    fn within(
        config: &Config,
        packer: Option<GzEncoder<Vec<u8>>>,
        sender: Option<mpsc::Sender<Message>>,
        cancel: Cancel,
        deadline: Instant,
    ) -> Self {
        let bytes_max = config.limits_answer_bytes.0;
        let (bytes, has_sent, sent_bytes) = (Vec::new(), false, 0);
        Self { bytes, packer, has_sent, sent_bytes, bytes_max, sender, cancel, deadline }
    }

    fn is_too_long(&self) -> bool {
        self.sent_bytes + self.bytes.len() as u64 > self.bytes_max
    }

    /// Refuses an answer that has become too long.
    fn check_size(&self) -> Result<(), Failure> {
        match self.is_too_long() {
            true => Err(Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("the answer is longer than {} bytes (limits.answer_bytes)", self.bytes_max),
            )),
            false => Ok(()),
        }
    }

    fn send_if_large(&mut self) -> Result<(), Failure> {
        match self.bytes.len() >= PIECE_BYTES {
            true => self.send_piece(),
            false => Ok(()),
        }
    }

    fn send_piece(&mut self) -> Result<(), Failure> {
        self.check_size()?;
        let bytes = std::mem::take(&mut self.bytes);
        self.sent_bytes += bytes.len() as u64;
        let piece = match &mut self.packer {
            None => bytes,
            Some(packer) => {
                // Packing into memory cannot fail.
                let _ = packer.write_all(&bytes);
                std::mem::take(packer.get_mut())
            }
        };
        self.has_sent = true;
        match piece.is_empty() {
            true => Ok(()),
            false => self.send(Message::Piece(piece)),
        }
    }

    /// Waits for the reader, but not beyond the query's deadline.
    fn send(&self, message: Message) -> Result<(), Failure> {
        let failure = |text| Failure::new(StatusCode::SERVICE_UNAVAILABLE, text);
        let Some(sender) = &self.sender else { return Err(failure("the answer is long")) };
        // Most answers find room at once; setting up a wait costs as much as a small query.
        let message = match sender.try_send(message) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(failure("the client has left")),
            Err(TrySendError::Full(message)) => message,
        };
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now()).min(LOOK_INTERVAL);
            let room = async { tokio::time::timeout(left, sender.reserve()).await };
            match Handle::current().block_on(room) {
                Ok(Ok(place)) => {
                    place.send(message);
                    return Ok(());
                }
                Ok(Err(_)) => return Err(failure("the client has left")),
                Err(_) if self.cancel.is_cancelled() => {
                    return Err(Failure::from(Error::Cancelled));
                }
                Err(_) if left.is_zero() => {
                    let text = "the answer was not read in time (limits.query_seconds)";
                    return Err(failure(text));
                }
                Err(_) => {}
            }
        }
    }

    fn finish(mut self) {
        let message = match (self.has_sent, self.packer.take()) {
            (false, _) | (true, None) => Message::Last(std::mem::take(&mut self.bytes)),
            (true, Some(mut packer)) => {
                let _ = packer.write_all(&self.bytes);
                Message::Last(packer.finish().unwrap_or_default())
            }
        };
        // Whoever does not take the end has left; there is nobody to tell.
        let _ = self.send(message);
    }

    fn fail(self, failure: Failure) {
        // A reader that has left cannot be told; one that is slow finds its connection closed.
        let _ = self.sender.map(|sender| sender.try_send(Message::Failed(failure)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_known_from_what_queries_took_of_late() {
        let pace = QueryPace::default();
        assert_eq!(pace.wait(1000, 8), Duration::ZERO, "nothing is known yet");
        (0..100).for_each(|_| pace.note(Duration::from_secs(2)));
        let wait = pace.wait(24, 8).as_secs_f64();
        assert!((5.9..6.1).contains(&wait), "three rounds: {wait}");
        assert_eq!(pace.wait(0, 8), Duration::ZERO);
    }
}
