//! Questions to OpenTSDB's HTTP API: `/api/query`, `/q`, `/api/suggest`.

use super::facts::with_view;
use super::names::Names;
use super::{Call, refuse, refuse_with, rollup, store};
use crate::http::guard::FOREIGN;
use crate::http::routes::Right;
use crate::http::{
    self, Asker, PLAIN, Reply, accepts_gzip, body, check_database, is_preview, means_preview,
    named_database, or_usual, preview_json, reply, status_of_missing,
};
use crate::metrics::now_ns;
use crate::queries::Ended;
use crate::query::{self, Encode, Failure, Job, Language, Question, Reading, Title, Work};
use crate::rollups;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::{Access, Principal};
use foliot_engine::{Ack, Caller, Commit, Snapshot};
use foliot_exec::{Meter, Query, Ran};
use foliot_model::{NANOS_PER_MILLI, NamespaceId};
use foliot_plan::{Series, What};
use foliot_proto_opentsdb::{
    Budget, Encoder, Endpoint, Form, Formula, Graph, HttpError, HttpRequest, LineEncoder, Params,
    Request, Rollups, Suggest, View, check_words, deletes_refused, texts,
};
use hyper::{StatusCode, header};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

const PNG: &str = "image/png";

/// Longest text of a query: enough for thousands of filter values, and soon parsed.
const QUERY_BYTES_MAX: usize = 1 << 20;

/// `/api/query`.
pub(super) async fn query(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let scope = Scope::of(shared, &call)?;
    let gzip = accepts_gzip(&call.headers);
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    check_size(text.bytes.len())?;
    let asked_for = HttpRequest {
        method: &call.method,
        path: &call.path,
        query: &call.query,
        body: &text.bytes,
    };
    let reading = reading_of(&scope, &call.query, &text.bytes).await?;
    let (params, parsed) = reading.read(|| {
        let params = Params::parse(&call.query);
        let parsed = Request::parse_with(&asked_for, &params, now_ns() / NANOS_PER_MILLI);
        (params, parsed)
    });
    let mut request = parsed.map_err(|error| refuse(&error))?;
    let may_delete = shared.config.opentsdb_allow_delete
        && call.is_trusted
        && call.who.may_throughout(&scope.database, Access::Write);
    let is_preview = request.deletes
        && is_preview(&params, &text.bytes)
            .map_err(|reason| refuse_with(StatusCode::BAD_REQUEST, reason))?;
    if is_preview && !call.who.may_throughout(&scope.database, Access::Write) {
        let text = "a preview of a delete needs the right to delete: write, in all measurements";
        return Err(refuse_with(StatusCode::FORBIDDEN, text));
    }
    if request.deletes && !is_preview && shared.config.opentsdb_allow_delete {
        check_manner(shared, call.is_trusted, &call.method)?;
        check_database(&call.query, &call.headers)
            .map_err(|reason| refuse_with(StatusCode::BAD_REQUEST, reason))?;
    }
    if request.deletes && !is_preview && !may_delete {
        return Err(refuse(&deletes_refused()));
    }
    if request.deletes {
        check_words(&asked_for, means_preview).map_err(|error| refuse(&error))?;
    }
    let asked = text_asked(&call.query, &text.bytes);
    let only_reads = !request.deletes;
    let question = again(&request, texts(&params, &text.bytes)).filter(|_| only_reads);
    let title = scope.title(&asked).asking(question);
    let job = scope.job_called(title, move |scope, work| {
        // Names need not stay what they are: each run looks them up again.
        scope.remembering(asked.clone(), work, |work| match is_preview {
            true => preview_delete(scope, &mut request, work),
            false => run_json(scope, &mut request, work),
        })
    });
    let job = job.that_changes(!only_reads && !is_preview).that_selects(only_reads);
    query::answer(shared, reply::JSON, gzip, reading.then(job)).await.map_err(refuse_failure)
}

/// `/q`.
pub(super) async fn graph(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let scope = Scope::of(shared, &call)?;
    let gzip = accepts_gzip(&call.headers);
    let Call { method, path, query, .. } = &call;
    let request = HttpRequest { method, path, query, body: b"" };
    let reading = reading_of(&scope, &call.query, b"").await?;
    let parsed = reading.read(|| Graph::parse(&request, now_ns() / NANOS_PER_MILLI));
    let Some(mut graph) = parsed.map_err(|error| refuse(&error))? else {
        // A fragment of its own, even an empty one, would take the place of the browser's.
        let page = if query.is_empty() { "/".to_owned() } else { format!("/#{query}") };
        return Ok(Reply::empty(StatusCode::FOUND).header(header::LOCATION, &page));
    };
    let (kind, gzip) = match graph.form {
        Form::Lines => (PLAIN, gzip),
        Form::Figures => (reply::JSON, gzip),
        // A picture is packed already.
        Form::Picture => (PNG, false),
    };
    let asked = text_asked(query, b"");
    let title =
        scope.title(&asked).asking(again(&graph.request, texts(&Params::parse(query), b"")));
    let job = scope.job_called(title, move |scope, work| {
        scope.remembering(asked.clone(), work, |work| match graph.form {
            Form::Lines => run_lines(scope, &mut graph.request, work),
            _ => run_graph(scope, &mut graph, work),
        })
    });
    query::answer(shared, kind, gzip, reading.then(job)).await.map_err(refuse_failure)
}

fn run_graph(scope: &Scope, graph: &mut Graph, work: &mut Work<'_>) -> Result<Ran, Failure> {
    let began = Instant::now();
    let meter = work.meter();
    let plans = scope.plans(&mut graph.request, &scope.names(work.snapshot, &meter))?;
    let may_hold = may_hold(&meter);
    let budget = Budget::new(&may_hold);
    let mut collected = graph.collect();
    let ran = work.run(&plans, &mut |frame, _| collected.push(frame, &budget).map_err(failure))?;
    match graph.form {
        Form::Picture => graph.draw(&collected, work.out()).map_err(failure)?,
        _ => {
            let millis = began.elapsed().as_millis() as u64;
            let figures = graph.figures(&collected, ran.samples_scanned, millis);
            work.write(figures.as_bytes())?;
        }
    }
    Ok(ran)
}

/// `/api/query/exp` and `/api/query/gexp`.
pub(super) async fn formula(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let scope = Scope::of(shared, &call)?;
    let gzip = accepts_gzip(&call.headers);
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    check_size(text.bytes.len())?;
    let request = HttpRequest {
        method: &call.method,
        path: &call.path,
        query: &call.query,
        body: &text.bytes,
    };
    let reading = reading_of(&scope, &call.query, &text.bytes).await?;
    let formula = reading.read(|| Formula::parse(endpoint, &request, now_ns() / NANOS_PER_MILLI));
    let formula = formula.map_err(|error| refuse(&error))?;
    let asked = text_asked(&call.query, &text.bytes);
    let job = scope.job(&asked.clone(), move |scope, work| {
        scope.remembering(asked.clone(), work, |work| run_formula(scope, &formula, work))
    });
    query::answer(shared, reply::JSON, gzip, reading.then(job)).await.map_err(refuse_failure)
}

/// What asks a request again, if its questions can be said as texts.
fn again(request: &Request, texts: Option<Vec<String>>) -> Option<Question> {
    let question = |texts| Question::new(Language::OpenTsdb, texts);
    texts.map(|texts| question(texts).over(request.start_ms, request.end_ms))
}

/// Where a request's question is read.
pub(super) async fn reading_of(scope: &Scope, query: &str, body: &[u8]) -> Result<Reading, Reply> {
    let texts = [query.as_bytes(), body];
    Reading::of(&scope.shared, &scope.who, &texts).await.map_err(refuse_failure)
}

/// Where questions are answered from.
pub(in crate::http) struct Scope {
    pub(super) shared: Arc<Shared>,
    pub(super) namespace: NamespaceId,
    /// The database whose tables hold rollups, and those that there are.
    database: String,
    pub(super) tables: Vec<NamespaceId>,
    /// Who asks.
    pub(super) who: Arc<Principal>,
    /// The address from which is asked.
    peer: Option<SocketAddr>,
    /// Whether names that nothing stored has are answered with no series.
    pub(super) unknown_is_empty: bool,
}

impl Scope {
    pub(in crate::http) fn of(shared: &Arc<Shared>, call: &Call) -> Result<Self, Reply> {
        let store = store(shared)?;
        let named = named_database(&call.query, &call.headers);
        let namespace = http::namespace_of(shared, store, named.as_ref(), Right::Read)
            .map_err(|missing| refuse_with(status_of_missing(&missing), missing.to_string()))?;
        let database = or_usual(shared, named);
        let rollups = shared.config.opentsdb_rollups.rollups.as_deref();
        let tables = rollups.into_iter().flat_map(Rollups::tables);
        let tables = tables.filter_map(|table| rollups::find(store, &database, table)).collect();
        let unknown_is_empty = shared.config.opentsdb_unknown_is_empty;
        let (shared, who, peer) = (shared.clone(), call.who.clone(), call.peer);
        Ok(Self { shared, namespace, database, tables, who, peer, unknown_is_empty })
    }

    /// For people, who are told of names that nothing stored has, whatever clients are answered.
    pub(in crate::http) fn for_people(self) -> Self {
        Self { unknown_is_empty: false, ..self }
    }

    /// Who wants samples taken away.
    pub(super) fn caller(&self) -> Caller {
        Asker { door: "opentsdb", peer: self.peer, who: self.who.clone() }.caller()
    }

    /// What is done for a request, listed as `asked`.
    pub(super) fn job(
        self,
        asked: &str,
        run: impl FnMut(&Self, &mut Work<'_>) -> Result<Ran, Failure> + Send + 'static,
    ) -> Job {
        let title = self.title(asked);
        self.job_called(title, run)
    }

    fn title(&self, asked: &str) -> Title {
        Title::new(asked, self.database.clone())
    }

    /// The same with a title of its own.
    fn job_called(
        self,
        title: Title,
        mut run: impl FnMut(&Self, &mut Work<'_>) -> Result<Ran, Failure> + Send + 'static,
    ) -> Job {
        Job::new(self.who.clone(), Some(title), move |work| run(&self, work))
    }

    /// Runs a query that is remembered afterwards.
    fn remembering(
        &self,
        asked: String,
        work: &mut Work<'_>,
        run: impl FnOnce(&mut Work<'_>) -> Result<Ran, Failure>,
    ) -> Result<Ran, Failure> {
        let (began, began_ns) = (Instant::now(), now_ns());
        let outcome = run(work);
        if outcome.is_err() && work.is_brief() {
            // It begins again on a thread of its own.
            return outcome;
        }
        let took = began.elapsed();
        let mut figures = vec![("totalTime", took.as_secs_f64() * 1000.0)];
        if let Ok(ran) = &outcome {
            figures.push(("emittedDPs", ran.samples_answered as f64));
            figures.push(("dpsPostFilter", ran.samples_scanned as f64));
            figures.push(("rowsPostFilter", ran.series_selected as f64));
        }
        let failure = outcome.as_ref().err();
        let began_ms = began_ns / NANOS_PER_MILLI;
        self.shared.queries.remember(Ended {
            text: asked,
            // The port is another one for each connection.
            from: self.peer.map(|peer| peer.ip()),
            status: failure.map_or(200, |failure| failure.status.as_u16()),
            error: failure.map(|failure| failure.message.clone()),
            count: 1,
            began_ms,
            ended_ms: began_ms + took.as_millis() as i64,
            figures,
        });
        outcome
    }

    /// Carries a question out whose answer another API writes down.
    pub(in crate::http) fn run(
        &self,
        request: &mut Request,
        work: &mut Work<'_>,
        encode: &mut Encode<'_>,
    ) -> Result<Ran, Failure> {
        let meter = work.meter();
        let plans = self.plans(request, &self.names(work.snapshot, &meter))?;
        work.run(&plans, encode)
    }

    pub(super) fn names<'a>(&'a self, snapshot: &'a Snapshot, meter: &'a Meter) -> Names<'a> {
        let store = self.shared.store();
        let query = Query { snapshot, meter: meter.clone() };
        let charge = RefCell::new(meter.open());
        Names { query, charge, namespace: self.namespace, tables: &self.tables, store }
    }

    /// The request's plans, once all names it needs were found and its tables were chosen.
    fn plans(&self, request: &mut Request, names: &Names<'_>) -> Result<Vec<Series>, Failure> {
        self.find_names(request, names)?;
        self.plans_of_known(request, names)
    }

    /// Refuses a request that needs a name which nothing stored has.
    fn find_names(&self, request: &Request, names: &Names<'_>) -> Result<(), Failure> {
        // What is deleted should be there.
        let may_be_unknown = self.unknown_is_empty && !request.deletes;
        for name in request.required_names() {
            if !may_be_unknown && !names.exists(&name)? {
                return Err(failure(name.error()));
            }
        }
        Ok(())
    }

    fn plans_of_known(
        &self,
        request: &mut Request,
        names: &Names<'_>,
    ) -> Result<Vec<Series>, Failure> {
        if let Some(store) = self.shared.store() {
            rollup::choose_tables(&self.shared, store, &self.database, names, request)
                .map_err(failure)?;
        }
        let mut failed = Ok(());
        let plans = request.plans(names.namespace, &mut |tsuid, place| {
            names.resolve_in(tsuid, place).unwrap_or_else(|error| {
                failed = Err(error);
                Vec::new()
            })
        });
        failed?;
        Ok(plans)
    }
}

/// What a query is listed as while it runs: its body, or else its parameters.
pub(super) fn text_asked(query: &str, body: &[u8]) -> String {
    let text = if body.is_empty() { query.into() } else { String::from_utf8_lossy(body) };
    query::listed_text(&text).to_owned()
}

fn run_formula(scope: &Scope, formula: &Formula, work: &mut Work<'_>) -> Result<Ran, Failure> {
    let meter = work.meter();
    let names = scope.names(work.snapshot, &meter);
    let mut all = Vec::new();
    for question in formula.questions() {
        meter.check(0)?;
        all.extend(scope.plans(&mut question.clone(), &names)?);
    }
    let plans = formula.plans(all);
    let may_hold = may_hold(&meter);
    let budget = Budget::new(&may_hold);
    let mut answer = formula.answer(&budget);
    let ran = work.run(&plans, &mut |frame, _| answer.frame(frame).map_err(failure))?;
    answer.finish(work.out()).map_err(failure)?;
    Ok(ran)
}

pub(super) fn refuse_failure(failure: Failure) -> Reply {
    refuse_with(failure.status, failure.message)
}

pub(super) fn check_size(bytes: usize) -> Result<(), Reply> {
    match bytes > QUERY_BYTES_MAX {
        true => {
            let text = format!("The query is longer than {QUERY_BYTES_MAX} bytes");
            Err(refuse_with(StatusCode::PAYLOAD_TOO_LARGE, text))
        }
        false => Ok(()),
    }
}

fn run_json(scope: &Scope, request: &mut Request, work: &mut Work<'_>) -> Result<Ran, Failure> {
    let began = Instant::now();
    let meter = work.meter();
    let names = scope.names(work.snapshot, &meter);
    let store = scope.shared.store();
    if let Some(store) = store {
        let load = |view: &View<'_>| request.load_facts(view);
        with_view(store, work.snapshot, scope, &Cell::new(None), &meter, load).map_err(failure)?;
    }
    // To find a series and to find its names take as long as each other. Where tables are chosen,
    // they are chosen by what is there.
    let has_tables = scope.shared.config.opentsdb_rollups.rollups.is_some();
    let is_told = request.is_told_by_series() && !request.deletes && !has_tables;
    let plans = match is_told {
        true => scope.plans_of_known(request, &names)?,
        false => scope.plans(request, &names)?,
    };
    let request = &*request;
    let may_hold = may_hold(&meter);
    let budget = Budget::new(&may_hold);
    let tsuid_of = Box::new(|sid| names.tsuid_of(sid).ok().flatten());
    let mut encoder = Encoder::new(request, tsuid_of, &budget);
    let ran = work.run(&plans, &mut |frame, out| encoder.frame(frame, out).map_err(failure))?;
    if is_told && ran.series_selected == 0 {
        scope.find_names(request, &names)?;
    }
    if let (true, Some(store)) = (request.deletes, store)
        && let Some(commit) = delete(request, &names, store, &scope.caller())?
    {
        work.confirm(commit, Ack::Durable)?;
    }
    let summary = [
        ("processingPreWriteTime", began.elapsed().as_secs_f64() * 1000.0),
        ("emittedDPs", ran.samples_answered as f64),
        ("rawDatapoints", ran.samples_scanned as f64),
        ("timeSeries", ran.series_selected as f64),
    ];
    encoder.finish(&summary, work.out()).map_err(failure)?;
    Ok(ran)
}

/// Deletes what was answered, as far as it lies in the query's own times. Tells what to wait for.
fn delete(
    request: &Request,
    names: &Names<'_>,
    store: &Store,
    caller: &Caller,
) -> Result<Option<Commit>, Failure> {
    let (selectors, range) = request.doomed(names.namespace, &mut |tsuid, place| {
        names.resolve_in(tsuid, place).unwrap_or_default()
    });
    let (meter, mut last) = (&names.query.meter, None);
    for selector in &selectors {
        let goes_on = || meter.check(0).is_ok();
        let deleted = store.engine().delete_while(selector, range, caller, &goes_on);
        if matches!(deleted, Err(foliot_engine::Error::Stopped)) {
            // Why, the meter says in better words.
            meter.check(0)?;
        }
        let (count, commit) = deleted.map_err(foliot_exec::Error::from)?;
        last = last.max(Some(commit));
        log::info!("a query deleted {} samples of {} series", count.samples, count.series);
    }
    Ok(last)
}

/// Refuses a question that deletes where no other change would be taken: from pages of other sites,
/// and by GET, by which any page, link or crawler asks.
fn check_manner(shared: &Shared, is_trusted: bool, method: &str) -> Result<(), Reply> {
    if !is_trusted {
        return Err(refuse_with(StatusCode::FORBIDDEN, FOREIGN).close());
    }
    if method == "GET" && !shared.config.http_changes_by_get {
        let text = "GET changes nothing here (http.changes_by_get): use POST or DELETE";
        let refusal = refuse_with(StatusCode::METHOD_NOT_ALLOWED, text);
        return Err(refusal.header(header::ALLOW, "POST, DELETE"));
    }
    Ok(())
}

/// Tells what a query would delete.
fn preview_delete(
    scope: &Scope,
    request: &mut Request,
    work: &mut Work<'_>,
) -> Result<Ran, Failure> {
    let meter = work.meter();
    let names = scope.names(work.snapshot, &meter);
    scope.plans(request, &names)?;
    let (selectors, range) = request.doomed(names.namespace, &mut |tsuid, place| {
        names.resolve_in(tsuid, place).unwrap_or_default()
    });
    let doomed: Vec<_> = selectors.into_iter().map(|selector| (selector, range)).collect();
    let Some(store) = scope.shared.store() else { return Ok(Ran::default()) };
    let counted = store.engine().preview_delete(&doomed, &|| meter.check(0).is_ok());
    // Why it was stopped the meter says in better words.
    meter.check(0)?;
    let counted = counted.map_err(foliot_exec::Error::from)?;
    work.out().extend_from_slice(preview_json(&counted).as_bytes());
    Ok(Ran::default())
}

fn run_lines(scope: &Scope, request: &mut Request, work: &mut Work<'_>) -> Result<Ran, Failure> {
    let meter = work.meter();
    let plans = scope.plans(request, &scope.names(work.snapshot, &meter))?;
    let encoder = LineEncoder::new(request);
    work.run(&plans, &mut |frame, out| encoder.frame(frame, out).map_err(failure))
}

/// Holds work beside plans to what the request may take.
pub(crate) fn may_hold(meter: &Meter) -> impl Fn(u64) -> Result<(), HttpError> {
    let charge = RefCell::new(meter.open());
    move |bytes| {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        charge.borrow_mut().resize(bytes).and_then(|()| meter.check(0)).map_err(refused)
    }
}

/// What stopped work beside plans, as a door says it.
pub(super) fn refused(error: foliot_exec::Error) -> HttpError {
    let failure = Failure::from(error);
    HttpError::new(failure.status.as_u16(), failure.message)
}

pub(super) fn failure(error: HttpError) -> Failure {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    Failure::new(status, error.message)
}

/// `/api/suggest`.
pub(super) async fn suggest(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let scope = Scope::of(shared, &call)?;
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    check_size(text.bytes.len())?;
    let request = HttpRequest {
        method: &call.method,
        path: &call.path,
        query: &call.query,
        body: &text.bytes,
    };
    let reading = reading_of(&scope, &call.query, &text.bytes).await?;
    let suggest = reading.read(|| Suggest::parse(&request)).map_err(|error| refuse(&error))?;
    let asked = text_asked(&call.query, &text.bytes);
    let job = scope.job(&asked, move |scope, work| {
        let meter = work.meter();
        let query = Query { snapshot: work.snapshot, meter: meter.clone() };
        let mut charge = meter.open();
        let mut names = Vec::new();
        for &namespace in std::iter::once(&scope.namespace).chain(&scope.tables) {
            let mut listing = suggest.listing(namespace);
            // Of rollups the field is the aggregator.
            if namespace != scope.namespace && listing.what == What::Metrics {
                listing.what = What::Measurements;
            }
            names.extend(foliot_exec::listed(&query, &listing, &mut charge)?);
        }
        names.sort_unstable();
        names.dedup();
        names.truncate(suggest.limit);
        let answer = suggest.answer(names.iter().map(String::as_str));
        work.write(answer.as_bytes())?;
        Ok(Ran::default())
    });
    let job = reading.then(job.that_reads(true));
    query::answer(shared, reply::JSON, false, job).await.map_err(refuse_failure)
}
