//! `/query`: statements of InfluxQL, one after another, answered as they are carried out.

use super::{change, doomed, influx_headers, list, needs, select};
use crate::http::{
    Asker, Call, Reply, SAID_TWICE, accepts_gzip, body, check_database, is_preview, store,
};
use crate::metrics::now_ns;
use crate::query::{self, Failure, Job, Language, Question, Reading, Stopped, Title, Work};
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Principal;
use foliot_exec::{Error, Meter, Ran};
use foliot_model::Table;
use foliot_proto_influx::answer::error_answer;
use foliot_proto_influx::encode::{Encoder, Format, refusal};
use foliot_proto_influx::influxql::{Show, Statement, parse};
use foliot_proto_influx::{QueryRequest, WriteApi, form_of_parts};
use foliot_proto_opentsdb::{Params, parse_once};
use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use jiff::tz::TimeZone;
use std::sync::Arc;

/// Longest text of a query, and of its form.
pub(super) const QUERY_BYTES_MAX: usize = 4 << 20;

/// Statements that are answered without a thread of their own.
const STATEMENTS_BRIEF_MAX: usize = 4;

pub(super) async fn query(shared: &Arc<Shared>, call: Call) -> Reply {
    influx_headers(answer(shared, call).await.unwrap_or_else(|reply| reply))
}

pub(super) fn refuse(format: Format, status: StatusCode, message: &str) -> Reply {
    let answer = error_answer(WriteApi::V1, status.as_u16(), message);
    let kind = match format {
        Format::Rows(_) => Format::Json.content_type(),
        format => format.content_type(),
    };
    Reply::new(status, kind, refusal(format, message))
        .header(HeaderName::from_static("x-influxdb-error"), &answer.error_header)
}

async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    store(shared)?;
    let who = call.who.clone();
    let text_of = |name| call.headers.get(name).and_then(|value| value.to_str().ok());
    let accept = text_of(header::ACCEPT).unwrap_or_default().to_owned();
    let format = QueryRequest::format(&call.query, &accept);
    let refuse = |status, message: &str| refuse(format, status, message);
    let kind_of_body = text_of(header::CONTENT_TYPE).unwrap_or_default().to_owned();
    let gzip = accepts_gzip(&call.headers);
    let asker = call.asker("influxql");
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if text.bytes.len() > QUERY_BYTES_MAX {
        let message = format!("the query is longer than {QUERY_BYTES_MAX} bytes");
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let reading = Reading::of(shared, &who, &[call.query.as_bytes(), &text.bytes]).await;
    let reading = reading.map_err(|failure| refuse(failure.status, &failure.message))?;
    let form = match &*kind_of_body {
        kind if kind.starts_with("application/x-www-form-urlencoded") => {
            String::from_utf8_lossy(&text.bytes)
        }
        kind => form_of_parts(kind, &text.bytes).unwrap_or_default().into(),
    };
    let bad = |message: String| refuse(StatusCode::BAD_REQUEST, &message);
    let request =
        QueryRequest::parse(&call.query, &form, &accept).map_err(|error| bad(error.to_string()))?;
    let statements = read(shared, &reading, &request)?;
    if statements.iter().any(changes) {
        may_change(shared, &call.method, call.is_trusted, format)?;
        let words = format!("{form}&{}", call.query);
        check_database(&words, &call.headers).map_err(bad)?;
        let params = Params::parse(&words);
        check_once(&params).map_err(bad)?;
        if is_preview(&params, &[]).map_err(bad)? {
            let text =
                "there is no dry run of statements: EXPLAIN before one says what it would take";
            return Err(bad(text.to_owned()));
        }
    }
    let is_get = call.method == "GET";
    let asked = Asked { shared: shared.clone(), request, asker, who, is_get };
    carry_out(asked, statements, reading, gzip).await
}

/// Reads the statements of a request. Selections whose text comes again are known by it, unless
/// values are put into it.
pub(super) fn read(
    shared: &Shared,
    reading: &Reading,
    request: &QueryRequest,
) -> Result<Arc<[Statement]>, Reply> {
    let parse = || parse(&request.text, &request.parameters).map(Arc::from);
    let are_selections = |statements: &[Statement]| statements.iter().all(is_select);
    let read = reading.read(|| match request.parameters.is_empty() {
        true => shared.statements.read(&request.text, are_selections, parse),
        false => parse(),
    });
    read.map_err(|error| {
        let message = format!("error parsing query: {error}");
        refuse(request.style.format, StatusCode::BAD_REQUEST, &message)
    })
}

/// Carries statements out, if whoever asks may.
pub(super) async fn carry_out(
    asked: Asked,
    statements: Arc<[Statement]>,
    reading: Reading,
    gzip: bool,
) -> Result<Reply, Reply> {
    let Asked { shared, request, who, .. } = &asked;
    let format = request.style.format;
    needs::may_ask(who, &statements, request.database.as_deref())
        .map_err(|message| refuse(format, StatusCode::FORBIDDEN, &message))?;
    let kind = format.content_type();
    let (shared, who, is_async) = (shared.clone(), who.clone(), request.is_async);
    let only_selects = statements.len() <= STATEMENTS_BRIEF_MAX && statements.iter().all(is_select);
    let only_oversees = statements.iter().all(oversees);
    let waits = statements.iter().any(waits);
    let question = asked.request.text.clone();
    let job = Job::new(who, None, move |work| asked.run(&statements, work)).that_asks(question);
    let job = job.that_selects(only_selects).that_waits(waits).that_oversees(only_oversees);
    let job = reading.then(job);
    if is_async {
        tokio::spawn(async move { query::answer(&shared, kind, false, job).await });
        return Ok(Reply::empty(StatusCode::NO_CONTENT));
    }
    query::answer(&shared, kind, gzip, job)
        .await
        .map_err(|failure| refuse(format, failure.status, &failure.message))
}

/// Refuses statements that change something to foreign pages, and to GET unless it is allowed to.
fn may_change(
    shared: &Shared,
    method: &str,
    is_trusted: bool,
    format: Format,
) -> Result<(), Reply> {
    if !is_trusted {
        let message = "scripts of other web pages may not change anything here";
        return Err(refuse(format, StatusCode::FORBIDDEN, message));
    }
    if method != "POST" && !shared.config.http_changes_by_get {
        let message = "GET changes nothing here (http.changes_by_get): use POST";
        let reply = refuse(format, StatusCode::METHOD_NOT_ALLOWED, message);
        return Err(reply.header(header::ALLOW, "POST"));
    }
    Ok(())
}

/// Refuses what changes something and says anything twice, in its path, its form or its `params`.
fn check_once(params: &Params) -> Result<(), String> {
    if let Some(name) = params.twice(&[]) {
        return Err(format!("{name}: {SAID_TWICE}"));
    }
    match params.get("params").map(|text| parse_once(text.as_bytes())) {
        Some(Err(error)) if error.is_data() => Err(format!("params: {error}: {SAID_TWICE}")),
        _ => Ok(()),
    }
}

/// Whether a statement selects, and writes nothing of it.
fn is_select(statement: &Statement) -> bool {
    matches!(statement, Statement::Select(_)) && !changes(statement)
}

/// Whether a statement looks at queries that run, or ends one.
fn oversees(statement: &Statement) -> bool {
    matches!(statement, Statement::Show(Show::Queries) | Statement::KillQuery { .. })
}

/// Whether a statement may wait for a disk, or for others who change something.
fn waits(statement: &Statement) -> bool {
    let is_quick = matches!(statement, Statement::Select(_) | Statement::KillQuery { .. });
    changes(statement) && !is_quick
}

/// Whether a statement changes anything.
pub(in crate::http) fn changes(statement: &Statement) -> bool {
    match statement {
        Statement::Show(_) | Statement::Explain { .. } | Statement::Preview(_) => false,
        Statement::Select(select) => select.target.is_some(),
        _ => true,
    }
}

/// Why a statement has no answer, or no whole one.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is told in the answer.
    Told(String),
    /// There is nobody to tell.
    Gone(Failure),
}

impl<T: std::fmt::Display> From<T> for Trouble {
    fn from(reason: T) -> Self {
        Self::Told(reason.to_string())
    }
}

impl Trouble {
    /// What ended a selection: of a query that was killed InfluxDB says that it was interrupted.
    pub(super) fn of(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Query(Error::Cancelled) => Self::Told("query interrupted".to_owned()),
            Stopped::Query(error) => Self::Told(error.to_string()),
            Stopped::Reader(failure) => Self::Gone(failure),
        }
    }
}

/// What writes tables down in the form of a door.
pub(in crate::http) trait Tables {
    fn table(&mut self, table: &Table, out: &mut Vec<u8>);

    /// Bytes that cannot go out before the answer's end.
    fn held_bytes(&self) -> usize;

    /// The zone that a statement wants its times in, where the form has zones.
    fn set_zone(&mut self, _zone: TimeZone) {}
}

impl Tables for Encoder {
    fn table(&mut self, table: &Table, out: &mut Vec<u8>) {
        Encoder::table(self, table, out);
    }

    fn held_bytes(&self) -> usize {
        Encoder::held_bytes(self)
    }

    fn set_zone(&mut self, zone: TimeZone) {
        Encoder::set_zone(self, zone);
    }
}

/// Writes a table down. What cannot go out before the answer's end is held to the request's memory.
pub(super) fn encode(
    encoder: &mut dyn Tables,
    table: &Table,
    meter: &Meter,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    encoder.table(table, out);
    let memory_bytes = meter.limits().memory_bytes;
    match encoder.held_bytes() as u64 > memory_bytes {
        false => Ok(()),
        true => {
            let text = format!(
                "the answer takes more than {memory_bytes} bytes (limits.query_memory_bytes); ask \
                 for less, or for JSON, which is not held in memory"
            );
            Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, text))
        }
    }
}

/// A request that is being answered.
pub(super) struct Asked {
    pub(super) shared: Arc<Shared>,
    pub(super) request: QueryRequest,
    pub(in crate::http) asker: Asker,
    pub(super) who: Arc<Principal>,
    pub(super) is_get: bool,
}

/// What a statement needs to be carried out.
pub(super) struct Context<'a, 'w> {
    pub(super) shared: &'a Shared,
    pub(super) store: &'a Store,
    /// Whether no statement before it may have changed what is stored.
    pub(super) is_first: bool,
    /// The database that is meant when none is named.
    pub(super) database: Option<&'a str>,
    pub(super) policy: Option<&'a str>,
    pub(super) now_ns: i64,
    pub(super) asker: Asker,
    pub(super) who: &'a Principal,
    pub(super) work: &'a mut Work<'w>,
    pub(super) encoder: &'a mut (dyn Tables + 'w),
    pub(super) ran: Ran,
}

impl Context<'_, '_> {
    /// Answers with a table.
    pub(super) fn answer(&mut self, table: &Table) -> Result<(), Trouble> {
        encode(self.encoder, table, &self.work.meter(), self.work.out())
            .and_then(|()| self.work.send_if_large())
            .map_err(Trouble::Gone)
    }

    /// The database that a statement names, or the request's.
    pub(super) fn database(&self, named: Option<&str>) -> Result<String, Trouble> {
        let found = named.or(self.database).filter(|name| !name.is_empty());
        found.map(str::to_owned).ok_or_else(|| "database name required".into())
    }
}

impl Asked {
    fn run(&self, statements: &[Statement], work: &mut Work<'_>) -> Result<Ran, Failure> {
        let shared = &self.shared;
        let Some(store) = shared.store() else { return Ok(Ran::default()) };
        let mut encoder = Encoder::new(self.request.style);
        let mut ran = Ran::default();
        let mut has_failed = false;
        for (id, statement) in statements.iter().enumerate() {
            encoder.begin(id);
            if has_failed {
                encoder.fail("not executed", work.out());
                continue;
            }
            if let Err(error) = work.meter().check(0) {
                work.refuse_at_limit(&error.to_string())?;
                encoder.fail(&error.to_string(), work.out());
                has_failed = true;
                continue;
            }
            work.send_if_large()?;
            work.list_as(|| self.title(statement, statements.len() == 1));
            let mut context = Context {
                shared,
                store,
                is_first: id == 0,
                database: self.request.database.as_deref(),
                policy: self.request.policy.as_deref(),
                now_ns: now_ns(),
                asker: self.asker.clone(),
                who: &self.who,
                work,
                encoder: &mut encoder,
                ran: Ran::default(),
            };
            let outcome = perform(&mut context, statement);
            ran.samples_scanned += context.ran.samples_scanned;
            match outcome {
                Ok(()) => encoder.end(self.warning(statement).as_deref(), work.out()),
                Err(Trouble::Told(text)) => {
                    work.note_failure(&text);
                    work.refuse_at_limit(&text)?;
                    if let Format::Rows(_) = self.request.style.format {
                        return Err(whole(text));
                    }
                    encoder.fail(&text, work.out());
                    has_failed = true;
                }
                Err(Trouble::Gone(failure)) => return Err(failure),
            }
        }
        encoder.finish(work.out());
        Ok(ran)
    }

    /// What a statement is listed as: without its passwords. A selection that is all of a request
    /// is listed as it was asked, which takes no work.
    fn title(&self, statement: &Statement, is_all: bool) -> Title {
        let database = self.request.database.clone().unwrap_or_default();
        let (is_change, asked) = (changes(statement), self.request.text.trim());
        let text = match is_all && is_select(statement) {
            true => asked.to_owned(),
            false => statement.to_string(),
        };
        // What is said beside a text would be lacking where that is asked again.
        let is_whole = self.request.policy.is_none() && self.request.parameters.is_empty();
        let question = || Question::new(Language::InfluxQl, vec![text.clone()]);
        let question = (is_whole && !is_change).then(question);
        Title { is_change, ..Title::new(text, database).asking(question) }
    }

    fn warning(&self, statement: &Statement) -> Option<String> {
        let is_wrong = self.is_get && changes(statement);
        is_wrong.then(|| {
            format!(
                "deprecated use of '{statement}' in a read only context, please use a POST \
                 request instead"
            )
        })
    }
}

/// Where an answer has no place for what went wrong, it fails as a whole.
pub(in crate::http) fn whole(text: String) -> Failure {
    let is_missing =
        ["database not found", "retention policy not found"].iter().any(|&is| text.starts_with(is));
    let status = if is_missing { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
    Failure::new(status, text)
}

/// Carries out a statement that changes nothing, for another door.
pub(in crate::http) fn tell<'w>(
    shared: &Shared,
    (who, asker): (&Principal, Asker),
    (database, policy): (&str, Option<&str>),
    statement: &Statement,
    encoder: &mut (dyn Tables + 'w),
    work: &mut Work<'w>,
) -> Result<Ran, Failure> {
    let refuse = |text: String| Failure::new(StatusCode::BAD_REQUEST, text);
    let store = shared.store().ok_or_else(|| refuse("the store is being opened".to_owned()))?;
    if changes(statement) {
        return Err(refuse(format!("{statement} would change something")));
    }
    let mut context = Context {
        shared,
        store,
        is_first: false,
        database: Some(database),
        policy,
        now_ns: now_ns(),
        asker,
        who,
        work,
        encoder,
        ran: Ran::default(),
    };
    let told = perform(&mut context, statement);
    let ran = std::mem::take(&mut context.ran);
    match told {
        Ok(()) => Ok(ran),
        Err(Trouble::Told(text)) => {
            work.refuse_at_limit(&text)?;
            Err(whole(text))
        }
        Err(Trouble::Gone(failure)) => Err(failure),
    }
}

fn perform(context: &mut Context<'_, '_>, statement: &Statement) -> Result<(), Trouble> {
    match statement {
        Statement::Select(select) => select::select(context, select),
        Statement::Explain { analyze, select } => select::explain(context, select, *analyze),
        Statement::Preview(statement) => doomed::preview(context, statement),
        Statement::Show(show) => list::show(context, show),
        statement => change::change(context, statement),
    }
}
