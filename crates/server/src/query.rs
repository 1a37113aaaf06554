//! Queries: slots, a thread each while they run, and answers that stream out as they are made.
//!
//! All work that is asked for comes through here, whatever the door: what lists names, looks facts
//! up or deletes is a query too.
//!
//! 0. One whose text may take long to read takes memory for that and a slot first (`long`).
//! 1. A small one is answered where it is asked (`brief`).
//! 2. Any other takes a slot, or waits for one, in order and within bounds, or is refused
//!    (`lanes`). It runs on a thread of its own (`exec` adds helpers), is listed, and can be ended.
//! 3. Pieces of the answer go through a channel that holds few, so a slow reader stops the work;
//!    its time counts against the query's deadline (`out`).
//! 4. What a change wrote is waited for by the connection that asked, when the query is over and
//!    its place another's: a disk may take its time for a sync, and questions do not wait for that.
//! 5. When the client leaves, the receiver is dropped, and that cancels the query.

mod brief;
mod known;
mod lanes;
mod long;
mod out;
mod spent;
mod title;

pub(crate) use known::Known;
pub(crate) use lanes::Lanes;
use lanes::{Place, Turn};
pub(crate) use long::{Reading, Weight};
pub(crate) use spent::Spent;
pub(crate) use title::{Language, Question, Title, listed_text};

use crate::http::{Message, PLAIN, Pieces, Reply, status_of_wait};
use crate::limits::Limit;
use crate::metrics::Metrics;
use crate::queries::Entry;
use crate::senders;
use crate::shared::Shared;
use flate2::{Compression, write::GzEncoder};
use foliot_access::Principal;
use foliot_engine::{Ack, Commit, Snapshot};
use foliot_exec::{Cancel, Error, GridRow, Limits, Meter, Query, Ran, run};
use foliot_lock::{Mutex, Rank};
use foliot_model::{Frame, Labels, Pattern, Table, TimeRange};
use foliot_plan::Series;
use foliot_plan::grid::{Grid, Notes, Steps, Stored};
use foliot_plan::relation::Answer;
use foliot_plan::rows::Select;
use hyper::StatusCode;
use out::Out;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc;

/// Pieces that wait for a slow reader, beside the one being made.
const PIECES_AHEAD: usize = 3;

/// Why a query has no answer: a status and words for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The line and the column of the query's text that are to blame, counted from 1.
    pub(crate) position: Option<(usize, usize)>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), position: None }
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
    shared: &'a Shared,
    who: Arc<Principal>,
    /// The address that asks.
    from: Option<IpAddr>,
    meter: Meter,
    out: Out,
    /// Its place in the list of queries that run.
    entry: Option<Entry>,
    /// What a brief one was, one after the other.
    titles: Vec<Titled>,
    status: StatusCode,
    spent: Spent,
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
        let carried = self.spent.begin();
        let (out, spent) = (&mut self.out, &mut self.spent);
        let mut failed = None;
        let ran = run(&query, plans, &mut |frame| {
            let step =
                spent.print(|| encode(&frame, &mut out.bytes).and_then(|()| out.send_if_large()));
            match step {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => {
                    failed = Some(failure);
                    ControlFlow::Break(())
                }
            }
        });
        spent.end(carried);
        match failed {
            Some(failure) => Err(failure),
            None => Ok(ran?),
        }
    }

    /// Values at instants; `encode` appends each series to the answer. Returns also what was noted.
    ///
    /// # Errors
    /// What stopped the query, or when nobody takes the answer.
    pub(crate) fn grid(
        &mut self,
        plan: &Grid,
        steps: &Steps,
        encode: &mut dyn FnMut(&GridRow, &mut Vec<u8>),
    ) -> Result<(Ran, Notes), Failure> {
        let query = Query { snapshot: self.snapshot, meter: self.meter.clone() };
        // Series that cannot be matched are known only now: the question is a good one.
        let carried = self.spent.begin();
        let gridded = foliot_exec::grid(&query, plan, steps);
        self.spent.end(carried);
        let gridded = gridded.map_err(|error| match error {
            Error::Plan(reason) => Failure::new(StatusCode::UNPROCESSABLE_ENTITY, reason),
            error => error.into(),
        })?;
        let out = &mut self.out;
        self.spent.print(|| {
            gridded.rows.iter().try_for_each(|row| {
                encode(row, &mut out.bytes);
                out.send_if_large()
            })
        })?;
        Ok((gridded.ran(), gridded.notes))
    }

    /// What `encode` makes of the labels of series.
    ///
    /// # Errors
    /// What stopped the query.
    pub(crate) fn labelled(
        &mut self,
        series: &[Stored],
        range: TimeRange,
        encode: &mut dyn FnMut(&[Labels]) -> Vec<u8>,
    ) -> Result<Vec<u8>, Failure> {
        let query = Query { snapshot: self.snapshot, meter: self.meter.clone() };
        let mut charge = query.meter.open();
        let labels = foliot_exec::labelled(&query, series, range, &mut charge)?;
        Ok(encode(&labels))
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
        self.tables(each, |on_table| foliot_exec::select(&query, plan, on_table))
    }

    /// Answers one table over what is stored, for which `each` is called piece by piece.
    ///
    /// # Errors
    /// What stopped the query, or what `each` refused.
    pub(crate) fn answer(&mut self, plan: &Answer, each: &mut Each<'_>) -> Result<Ran, Stopped> {
        let query = Query { snapshot: self.snapshot, meter: self.meter.clone() };
        self.tables(each, |on_table| foliot_exec::answer(&query, plan, on_table))
    }

    /// Calls `each` for the tables of a run, and sends what it made of them where that is much.
    fn tables(
        &mut self,
        each: &mut Each<'_>,
        run: impl FnOnce(&mut dyn FnMut(Table) -> ControlFlow<()>) -> Result<Ran, Error>,
    ) -> Result<Ran, Stopped> {
        let carried = self.spent.begin();
        let (out, spent) = (&mut self.out, &mut self.spent);
        let mut failed = None;
        let ran = run(&mut |table| {
            let step =
                spent.print(|| each(&table, &mut out.bytes).and_then(|()| out.send_if_large()));
            match step {
                Ok(()) => ControlFlow::Continue(()),
                Err(failure) => {
                    failed = Some(failure);
                    ControlFlow::Break(())
                }
            }
        });
        spent.end(carried);
        match failed {
            Some(failure) => Err(Stopped::Reader(failure)),
            None => ran
                .inspect_err(|error| self.shared.metrics.limits.add_sources(error))
                .map_err(Stopped::Query),
        }
    }

    /// Answers with a table that is there already.
    ///
    /// # Errors
    /// What `each` refused, and when nobody takes it.
    pub(crate) fn put(&mut self, table: &Table, each: &mut Each<'_>) -> Result<(), Failure> {
        each(table, &mut self.out.bytes)?;
        self.out.send_if_large()
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

    /// Refuses the request with `reason` if it met a limit and nothing of its answer was sent: a
    /// status tells more clients of it than words within an answer.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) fn refuse_at_limit(&self, reason: &str) -> Result<(), Failure> {
        match self.meter.met().next().is_some() && !self.out.has_sent {
            true => Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, reason)),
            false => Ok(()),
        }
    }

    /// Appends to the answer what was made at once, and sends it if it is much.
    ///
    /// # Errors
    /// As [`Work::send_if_large`], and when there is no memory left for so much.
    pub(crate) fn write(&mut self, text: &[u8]) -> Result<(), Failure> {
        self.meter.open().add(text.len())?;
        for piece in text.chunks(out::PIECE_BYTES) {
            self.out.bytes.extend_from_slice(piece);
            self.send_if_large()?;
        }
        Ok(())
    }

    /// Has the answer heard once what was changed is safe. Whoever asked waits for that without a
    /// place and a thread, which others need: a disk may take long. Only where some of the answer
    /// is out already this waits.
    ///
    /// # Errors
    /// When it may never be safe.
    pub(crate) fn confirm(&mut self, commit: Commit, level: Ack) -> Result<(), Failure> {
        match self.out.await_safe(commit, level) {
            true => Ok(()),
            false => Handle::current().block_on(safe(self.shared, commit, level)),
        }
    }

    /// The answer has this status, unless it is so long that it has begun to be sent.
    pub(crate) fn set_status(&mut self, status: StatusCode) {
        self.status = status;
    }

    /// From now on the query is listed as this, as another one. What is over before anybody could
    /// look at it is not listed, but what it cost is remembered.
    pub(crate) fn list_as(&mut self, title: impl FnOnce() -> Title) {
        let title = Title { from: self.from, ..title() };
        if self.is_brief() {
            self.titles.push(Titled { title, began: Instant::now(), error: None });
        } else {
            let (queries, meter) = (&self.shared.queries, self.meter.clone());
            self.entry = Some(queries.enter(self.who.clone(), title, meter));
        }
    }

    /// What is listed now has no answer, for this reason.
    pub(crate) fn note_failure(&mut self, reason: &str) {
        match (&mut self.entry, self.titles.last_mut()) {
            (Some(entry), _) => entry.fail(reason),
            (None, Some(titled)) => titled.error = Some(reason.to_owned()),
            (None, None) => {}
        }
    }

    /// The account of the request, for what is done beside plans: planning, listing, formulas.
    pub(crate) fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Whether the query is over before anybody could look at it.
    pub(crate) fn is_brief(&self) -> bool {
        self.out.sender.is_none()
    }

    /// What carrying plans out took so far.
    pub(crate) fn spent(&self) -> Spent {
        self.spent
    }

    /// The end of the answer goes here.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out.bytes
    }
}

/// What a brief query was listed as, since when, and why it has no answer.
struct Titled {
    title: Title,
    began: Instant,
    error: Option<String>,
}

/// Answers a query; the bytes go to [`Work::out`].
type Run = dyn FnMut(&mut Work<'_>) -> Result<Ran, Failure> + Send;

/// What a query does.
pub(crate) struct Job {
    /// Who asks, and from which address.
    who: Arc<Principal>,
    from: Option<IpAddr>,
    /// Nothing when what it runs says so itself, piece by piece.
    title: Option<Box<Title>>,
    /// The question, where it is listed as something else.
    asks: Option<String>,
    run: Box<Run>,
    /// Whether nothing comes of running it but the answer, so that it may be begun again.
    only_reads: bool,
    /// Whether all that it looks at are series that it selects, and their samples.
    only_selects: bool,
    /// Whether it may wait for a disk, or for others who change something.
    waits: bool,
    /// Whether it looks at queries that run, or ends them.
    is_of_queries: bool,
    /// Where its question was read, if that was long.
    place: Option<Place>,
    /// What its question weighs, for which it has memory if that was long or has waited.
    weight: Weight,
    /// When whoever asks gives up, if that is said.
    until: Option<Instant>,
}

impl Job {
    /// A job that is run once, over what `who` may see.
    pub(crate) fn new(
        who: Arc<Principal>,
        title: Option<Title>,
        run: impl FnMut(&mut Work<'_>) -> Result<Ran, Failure> + Send + 'static,
    ) -> Self {
        let (asks, run) = (None, Box::new(run));
        let (only_reads, only_selects, waits, is_of_queries) = (false, false, false, false);
        // Who works on it later knows no peer.
        let from = senders::peer();
        let title = title.map(|title| Box::new(Title { from, ..title }));
        let (place, weight, until) = (None, Weight::default(), None);
        Self {
            who,
            from,
            title,
            asks,
            run,
            only_reads,
            only_selects,
            waits,
            is_of_queries,
            place,
            weight,
            until,
        }
    }

    /// The same job, which is listed as something else than its question.
    pub(crate) fn that_asks(self, question: String) -> Self {
        Self { asks: Some(question), ..self }
    }

    /// What its question has in common with others, to tell what they cost.
    fn shape(&self) -> u64 {
        let listed = self.title.as_ref().map(|title| &*title.text);
        self.asks.as_deref().or(listed).map_or(0, lanes::shape_of)
    }

    /// The same job; if it changes what is stored, it is no question.
    pub(crate) fn that_changes(mut self, is_change: bool) -> Self {
        if let Some(title) = &mut self.title {
            title.is_change = is_change;
        }
        self.that_waits(is_change)
    }

    /// The same job; if it may wait for a disk, others are left places meanwhile.
    pub(crate) fn that_waits(self, waits: bool) -> Self {
        Self { waits, ..self }
    }

    /// The same job; if it only reads, it may be given up and begun again.
    pub(crate) fn that_reads(self, only_reads: bool) -> Self {
        Self { only_reads, ..self }
    }

    /// The same job; if it only reads samples of series that it selects, it may be given up and
    /// begun again, and takes no longer for what else is stored.
    pub(crate) fn that_selects(self, only_selects: bool) -> Self {
        Self { only_reads: only_selects, only_selects, ..self }
    }

    /// The same job, which is given up at this instant, if there is one.
    pub(crate) fn that_ends(self, until: Option<Instant>) -> Self {
        Self { until, ..self }
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
    let mut place = job.place.take();
    // Cheap questions do not wait behind dear ones.
    if place.is_none()
        && let Some((status, bytes)) = brief::answer(shared, &mut job)
    {
        return Ok(whole(status, kind, bytes));
    }
    if place.is_none() && job.is_of_queries {
        place = shared.lanes.reserved();
    }
    let turn = match job.waits && place.is_none() {
        true => Some(lanes::turn(shared).await?),
        false => None,
    };
    let place = match place.or_else(|| shared.lanes.free()) {
        Some(place) => place,
        None => {
            job.weight.hold(shared).await?;
            job = match brief::answer_short(shared, job).await {
                Ok((status, bytes)) => return Ok(whole(status, kind, bytes)),
                Err(job) => *job.ok_or_else(lost)?,
            };
            lanes::wait(shared, &job.who).await?
        }
    };
    let (sender, mut receiver) = mpsc::channel(PIECES_AHEAD);
    let cancel = Cancel::default();
    let leaver = Leaver { cancel: cancel.clone() };
    let task_shared = shared.clone();
    tokio::task::spawn_blocking(move || {
        perform(&task_shared, job, (place, turn), cancel, sender, gzip);
    });
    let mut first = receiver.recv().await;
    if let Some(Message::Once(commit, level)) = first {
        safe(shared, commit, level).await?;
        first = receiver.recv().await;
    }
    match first {
        Some(Message::Last(status, bytes)) => Ok(whole(status, kind, bytes)),
        Some(Message::Failed(failure)) => Err(failure),
        Some(Message::Piece(bytes)) => {
            let pieces = Pieces::new(bytes, receiver, Box::new(leaver));
            let reply = Reply::streaming(kind, pieces);
            Ok(if gzip { reply.gzipped() } else { reply })
        }
        Some(Message::Once(..)) | None => Err(lost()),
    }
}

/// Waits until what was changed is safe.
async fn safe(shared: &Shared, commit: Commit, level: Ack) -> Result<(), Failure> {
    let Some(store) = shared.store() else { return Ok(()) };
    let safe = store.wait(commit, level).await;
    safe.map_err(|error| Failure::new(status_of_wait(&error), error.to_string()))
}

/// Values at one instant, for the server's own use: with the place and the limits of a query.
///
/// # Errors
/// Why there is no answer.
pub(crate) async fn collect(
    shared: &Arc<Shared>,
    who: Arc<Principal>,
    title: Title,
    grid: Grid,
    steps: Steps,
) -> Result<Vec<(Labels, f64)>, Failure> {
    let rows = Arc::new(Mutex::new(Rank::Table, Vec::new()));
    let into = rows.clone();
    let job = Job::new(who, Some(title), move |work| {
        // It may be begun again.
        let mut found = Vec::new();
        let (ran, ..) = work.grid(&grid, &steps, &mut |row, _| {
            let value = row.values.get(0);
            found.extend(value.map(|value| (row.labels.clone(), value)));
        })?;
        *into.lock() = found;
        Ok(ran)
    });
    answer(shared, PLAIN, false, job.that_reads(true)).await?;
    Ok(std::mem::take(&mut *rows.lock()))
}

fn lost() -> Failure {
    let text = "the query ended without an answer; the log of the server says why";
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, text)
}

/// An answer in one piece.
fn whole(status: StatusCode, kind: &'static str, bytes: Vec<u8>) -> Reply {
    match bytes.is_empty() && status != StatusCode::OK {
        true => Reply::empty(status),
        false => Reply::new(status, kind, bytes),
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

/// Runs a job on the thread of the caller and sends its answer.
fn perform(
    shared: &Shared,
    mut job: Job,
    place: (Place, Option<Turn>),
    cancel: Cancel,
    sender: mpsc::Sender<Message>,
    gzip: bool,
) {
    let Some(store) = shared.store() else { return };
    let began = Instant::now();
    let mut running = Some(Running::new(shared, began, place));
    let left = job.until.map_or(Duration::MAX, |until| until.saturating_duration_since(began));
    let any_query = shared.query_limits;
    let limits = Limits { seconds: any_query.seconds.min(left), ..any_query };
    let packer = gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
    let cancelled = cancel.clone();
    let deadline = began + limits.seconds;
    let out = Out::within(&shared.config, packer, Some(sender), cancel.clone(), deadline);
    let snapshot = store.snapshot(&job.who);
    let meter = Meter::new(limits, cancel);
    let (who, from, status) = (job.who.clone(), job.from, StatusCode::OK);
    let (entry, titles, spent) = (None, Vec::new(), Spent::default());
    let mut work =
        Work { snapshot: &snapshot, shared, who, from, meter, out, entry, titles, status, spent };
    if let Some(title) = job.title.take() {
        work.list_as(|| *title);
    }
    let outcome = Pattern::weighed(|| (job.run)(&mut work));
    let too_long = || work.out.check_size().err();
    if let Some(failure) = outcome.as_ref().err().cloned().or_else(too_long) {
        work.note_failure(&failure.message);
    }
    // Whoever has the answer finds the query gone and its place free. Of a longer answer pieces may
    // still wait to be read.
    work.entry = None;
    if !work.out.has_sent {
        running = None;
    }
    work.meter.met().for_each(|setting| shared.metrics.limits.add_named(setting));
    if work.out.is_too_long() {
        shared.metrics.limits.add(Limit::AnswerBytes);
    }
    // InfluxQL tells of it within an answer that is whole.
    let was_ended = work.meter.was_cancelled() || outcome.is_err() && cancelled.is_cancelled();
    if was_ended {
        shared.metrics.queries_cancelled.add(1);
    }
    match outcome {
        Ok(ran) => {
            shared.metrics.query_samples.add(ran.samples_scanned);
            match work.out.check_size() {
                Ok(()) => work.out.finish(work.status),
                Err(failure) => work.out.fail(failure),
            }
        }
        Err(failure) => {
            shared.metrics.queries_failed.add(u64::from(!was_ended));
            log::debug!("query failed: {}", failure.message);
            work.out.fail(failure);
        }
    }
    drop(running);
}

/// Counts a query as running while it lives, however it ends, and has its place.
struct Running<'a> {
    metrics: &'a Metrics,
    lanes: &'a Lanes,
    began: Instant,
    place: Option<(Place, Option<Turn>)>,
}

impl<'a> Running<'a> {
    fn new(shared: &'a Shared, began: Instant, place: (Place, Option<Turn>)) -> Self {
        let (metrics, lanes) = (&shared.metrics, &shared.lanes);
        metrics.queries.add(1);
        metrics.queries_running.add(1);
        Self { metrics, lanes, began, place: Some(place) }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // What is not running has no place any more.
        self.place = None;
        self.metrics.queries_running.subtract(1);
        let took = self.began.elapsed();
        self.lanes.note(took);
        self.metrics.query_nanos.add(took.as_nanos() as u64);
    }
}
