//! `query`: a question in one of the languages, over a range and in steps, answered as series.
//!
//! Texts may say `$start`, `$end` and `$step`; the request's range and step are put there, so that
//! a text stays the same while somebody looks at other times.

use super::bounds;
use super::encode::{Encoder, Figures, Spelling, Times, Told, Unit};
use super::promql::{PromQl, Said};
use super::steps;
use super::tables::{Tables, Typed};
use super::{bad, place, refuse, refuse_at, refuse_failure, refuse_with};
use crate::http::influx::{Tables as _, changes, may_ask, may_read, plan_for, tell, whole};
use crate::http::opentsdb::Scope;
use crate::http::reply::Content;
use crate::http::sql::Sql;
use crate::http::{Asker, Call, Reply, accepts_gzip, body, named_database, reply};
use crate::metrics::now_ns;
use crate::query::{self, Failure, Job, Language, Reading, Stopped, Title, Work};
use crate::shared::Shared;
use foliot_access::{Need, Principal};
use foliot_engine::Reads;
use foliot_exec::Ran;
use foliot_lock::{Mutex, Rank};
use foliot_model::{NANOS_PER_MILLI, NamespaceId};
use foliot_proto_influx::influxql::{
    Parameter, Parameters, Select, Statement, check_select, parse,
};
use foliot_proto_opentsdb::{HttpRequest, Request, text_of};
use foliot_proto_prometheus::Expression;
use foliot_proto_sql as sql;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Longest body of a question.
const BODY_BYTES_MAX: usize = 1 << 20;

/// The range of a question that names none, and how many steps a range has unless it is said.
const RANGE_USUAL_MS: i64 = 3_600_000;
const STEPS_USUAL: i64 = 300;

/// Times that are used; beyond them nanoseconds do not fit.
const TIME_MS_MAX: i64 = i64::MAX / NANOS_PER_MILLI;

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    let gzip = accepts_gzip(&call.headers);
    let scope = Scope::of(shared, &call)?.for_people();
    let (who, database) = (call.who.clone(), call.database(shared));
    let asker = call.asker("foliot");
    let policy = named_database(&call.query, &call.headers).and_then(|named| named.policy);
    // An address of the page has a database, and no policy.
    let policy_is_usual = policy.is_none();
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if text.bytes.len() > BODY_BYTES_MAX {
        let message = format!("the question is longer than {BODY_BYTES_MAX} bytes");
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let arrived = Instant::now();
    let reading = Reading::of(shared, &who, &[&text.bytes]).await;
    let reading = reading.map_err(|failure| refuse_failure(&failure))?;
    let asked = reading.read(|| Asked::parse(&text.bytes))?;
    let question = reading.read(|| {
        Ok(match asked.language {
            Language::OpenTsdb => Question::OpenTsdb(asked.opentsdb()?, Box::new(scope)),
            Language::InfluxQl => {
                let statements = asked.influxql(&who, &database)?;
                let (who, database) = (who.clone(), database.clone());
                Question::InfluxQl(Box::new(InfluxQl { statements, database, policy, who, asker }))
            }
            Language::PromQl => Question::PromQl(Box::new(asked.promql(namespace)?)),
            Language::Sql => {
                may_read(&who, &database)
                    .map_err(|message| refuse(StatusCode::FORBIDDEN, &message))?;
                let (database, policy) = (database.clone(), policy.clone());
                Question::Sql(Box::new(asked.sql(database, policy)?))
            }
        })
    });
    if asked.checks {
        let formatted = reading.read(|| Ok::<_, Reply>(asked.formatted()))?;
        let question = match question {
            // What its names mean is a matter of what is stored.
            Ok(Question::Sql(sql)) => planned(shared, sql, who, database).await,
            other => other.map(drop),
        };
        return checked(question, formatted);
    }
    let question = question?;
    // Addresses are what operators see.
    let names_makers = asked.names_makers && who.may(Need::Operate);
    let form = Form { spelling: asked.spelling, explains: asked.explains, names_makers };
    let shared_by_job = shared.clone();
    // What was done of a question that has no answer; it may be begun again.
    let done = Arc::new(Mutex::new(Rank::Query, None));
    let done_by_job = done.clone();
    let again = asked.again().filter(|_| policy_is_usual);
    let title = Title::new(asked.listed(), database).asking(again);
    let title = Title { by_itself: asked.by_itself, ..title };
    let job = Job::new(who, Some(title), move |work| {
        let began = Began { at: Instant::now(), waited: arrived.elapsed() };
        run(&shared_by_job, &question, &form, (work, &began)).inspect_err(|failure| {
            let tell = || until_failure(&question, failure, (work, &began));
            *done_by_job.lock() = form.explains.then(tell);
        })
    });
    let job = reading.then(job.that_reads(true));
    let answered = query::answer(shared, reply::JSON, gzip, job).await;
    answered.map_err(|failure| match done.lock().take() {
        // What a place of the text is to blame for was not begun.
        Some(done) if failure.position.is_none() => refuse_with(&failure, done),
        _ => refuse_failure(&failure),
    })
}

/// When a question was begun.
struct Began {
    at: Instant,
    /// From when it was asked until then: its text was read, and it waited for its turn.
    waited: Duration,
}

impl Began {
    /// Where its time went until now.
    fn times(&self, work: &Work<'_>) -> Times {
        Times { waited: self.waited, took: self.at.elapsed(), spent: work.spent() }
    }
}

/// What is known of a question that failed: the steps that were begun, and what it had taken until
/// then.
fn until_failure(
    question: &Question,
    failure: &Failure,
    (work, began): (&Work<'_>, &Began),
) -> Map<String, Value> {
    let meter = work.meter();
    let tree = match question {
        Question::PromQl(question) => question.tree(&meter),
        Question::InfluxQl(asked) if asked.statements.len() > 1 => {
            steps::tree(&meter.explained()).map(|tree| steps::failed(tree, &failure.message))
        }
        _ => steps::tree(&meter.explained()),
    };
    let figures = Figures {
        samples_read: meter.samples_of_all(),
        memory_peak_bytes: meter.memory_peak_bytes(),
        times: began.times(work),
        reads: work.snapshot.reads(),
        ..Figures::default()
    };
    let told = [("tree", tree), ("figures", Some(figures.told()))];
    told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// A question that was parsed.
enum Question {
    OpenTsdb(Request, Box<Scope>),
    InfluxQl(Box<InfluxQl>),
    PromQl(Box<PromQl>),
    Sql(Box<Sql>),
}

/// Plans a statement of SQL, and does no more.
async fn planned(
    shared: &Arc<Shared>,
    sql: Box<Sql>,
    who: Arc<Principal>,
    database: String,
) -> Result<(), Reply> {
    let shared_by_job = shared.clone();
    let job = Job::new(who, Some(Title::by_itself("check of SQL", database)), move |work| {
        sql.plan(&shared_by_job, work).map(|_| Ran::default())
    });
    let answered = query::answer(shared, reply::JSON, false, job.that_reads(true)).await;
    answered.map(drop).map_err(|failure| refuse_failure(&failure))
}

/// Statements that change nothing, and who asks them of what.
struct InfluxQl {
    statements: Vec<Statement>,
    database: String,
    policy: Option<String>,
    who: Arc<Principal>,
    asker: Asker,
}

impl InfluxQl {
    /// Carries the statements out: selections as series, others as tables.
    fn run(
        &self,
        shared: &Shared,
        encoder: &mut Encoder<'_>,
        (tables, spelling): (&mut Option<Tables>, Spelling),
        work: &mut Work<'_>,
    ) -> Result<Ran, Failure> {
        let place = (self.database.as_str(), self.policy.as_deref());
        let mut ran = Ran::default();
        let meter = work.meter();
        for (at, statement) in self.statements.iter().enumerate() {
            let mut run = || match statement {
                Statement::Select(select) => run_select(shared, select, place, encoder, work),
                other => {
                    let tables = tables.get_or_insert_with(|| Tables::new(spelling));
                    tell(shared, (&self.who, self.asker.clone()), place, other, tables, work)
                }
            };
            let more = match self.statements.len() {
                1 => run()?,
                _ => meter.part(|| steps::statement(at, &statement.to_string()), run)?,
            };
            ran.series_selected += more.series_selected;
            ran.samples_scanned += more.samples_scanned;
        }
        // What lists names holds memory, too, and has no plan that tells of it.
        ran.memory_peak_bytes = work.meter().memory_peak_bytes();
        Ok(ran)
    }
}

/// What an answer looks like.
struct Form {
    spelling: Spelling,
    explains: bool,
    names_makers: bool,
}

/// The answer about a question that was only read: nothing, and what is wrong with its text, or how
/// it is written in lines.
fn checked(question: Result<(), Reply>, formatted: Option<String>) -> Result<Reply, Reply> {
    let wrong: Value = match question {
        Ok(()) => Value::Null,
        Err(Reply { status: StatusCode::BAD_REQUEST, content: Content::Full(body), .. }) => {
            let body: Value = serde_json::from_slice(&body).unwrap_or_default();
            body.get("error").cloned().unwrap_or_default()
        }
        Err(other) => return Err(other),
    };
    let mut out = Vec::new();
    let (ran, reads) = (&Ran::default(), Reads::default());
    let told = Told { ran, reads, times: Times::default(), notes: &[], tables: None, tree: None };
    let spelling = Spelling { unit: Unit::Millis, is_exact: false };
    Encoder::new(spelling, None, u64::MAX).finish(&told, &mut out);
    let mut answer: Map<String, Value> = serde_json::from_slice(&out).unwrap_or_default();
    if !wrong.is_null() {
        answer.insert("wrong".to_owned(), wrong);
    }
    if let Some(formatted) = formatted {
        answer.insert("formatted".to_owned(), formatted.into());
    }
    Ok(Reply::json(StatusCode::OK, Value::Object(answer).to_string()))
}

fn run(
    shared: &Shared,
    question: &Question,
    form: &Form,
    (work, began): (&mut Work<'_>, &Began),
) -> Result<Ran, Failure> {
    if form.explains {
        work.meter().explain();
    }
    let makers = form.names_makers.then_some(&shared.makers);
    let mut encoder = Encoder::new(form.spelling, makers, work.meter().limits().memory_bytes);
    let mut said = Said::default();
    let mut tables = None;
    let ran = match question {
        Question::OpenTsdb(request, scope) => {
            // Names need not stay what they are: each run looks them up again.
            let mut planned = request.clone();
            scope.run(&mut planned, work, &mut |frame, out| {
                encoder.frame(frame, &request.name_of(&frame.head), out)
            })?
        }
        Question::InfluxQl(question) => {
            question.run(shared, &mut encoder, (&mut tables, form.spelling), work)?
        }
        Question::PromQl(question) => {
            let (ran, of_answer) = question.run(&mut encoder, work)?;
            said = of_answer;
            ran
        }
        Question::Sql(sql) => run_sql(shared, sql, (&mut tables, form.spelling), work)?,
    };
    let times = began.times(work);
    // An expression of PromQL says better than its operators what it asks for.
    said.tree = said.tree.or_else(|| steps::tree(&work.meter().explained()));
    let reads = work.snapshot.reads();
    let tables = tables.map(Tables::finish);
    let tables = tables.as_ref().map(|(tables, left_out)| (tables.as_slice(), *left_out));
    let Said { notes, tree } = &said;
    let told = Told { ran: &ran, reads, times, notes, tables, tree: tree.as_ref() };
    encoder.finish(&told, work.out());
    Ok(ran)
}

/// Answers a statement of SQL with one table.
fn run_sql(
    shared: &Shared,
    sql: &Sql,
    (tables, spelling): (&mut Option<Tables>, Spelling),
    work: &mut Work<'_>,
) -> Result<Ran, Failure> {
    let tables = tables.insert(Tables::new(spelling));
    let typed = std::cell::RefCell::new(Typed { kinds: Vec::new(), unit: spelling.unit });
    let mut on_types = |types: &[sql::Type]| {
        typed.borrow_mut().kinds = types.iter().map(|of| of.name()).collect();
    };
    let meter = work.meter();
    let mut held = meter.open();
    sql.run(shared, work, &mut on_types, &mut |table, _| {
        tables.typed(table, &typed.borrow());
        // All of it is held until the end, and then copied.
        Ok(held.resize(2 * tables.held_bytes())?)
    })
}

fn run_select(
    shared: &Shared,
    select: &Select,
    place: (&str, Option<&str>),
    encoder: &mut Encoder<'_>,
    work: &mut Work<'_>,
) -> Result<Ran, Failure> {
    let snapshot = work.snapshot;
    let planned = plan_for(shared, (snapshot, work.meter()), place, select, now_ns());
    let planned = planned.map_err(whole)?;
    let ran = work.select(snapshot, &planned.plan, &mut |table, out| encoder.table(table, out));
    ran.map_err(|stopped| match stopped {
        Stopped::Query(error) => error.into(),
        Stopped::Reader(failure) => failure,
    })
}

/// The body of a request.
struct Asked {
    language: Language,
    text: Option<String>,
    /// A question by its parts, as OpenTSDB's `queries` have it.
    parts: Option<Value>,
    start_ms: i64,
    end_ms: i64,
    step_ms: i64,
    spelling: Spelling,
    /// Whether the answer tells how the question was read.
    explains: bool,
    /// Whether the answer tells who made the series.
    names_makers: bool,
    /// Whether the question is only read, and not asked.
    checks: bool,
    /// Whether nobody asks it, but a page for a panel of its own.
    by_itself: bool,
}

/// What a question may say.
const MEMBERS: [&str; 12] = [
    "language",
    "text",
    "query",
    "start_ms",
    "end_ms",
    "step_ms",
    "unit",
    "exact",
    "explain",
    "makers",
    "check",
    "by_itself",
];

impl Asked {
    /// An expression of `PromQL` in lines. One with a step or a range of the page in it stays.
    fn formatted(&self) -> Option<String> {
        let text = self.text.as_deref().filter(|text| !text.contains('$'))?;
        let is_promql = matches!(self.language, Language::PromQl);
        is_promql.then(|| Expression::parse(text).ok()).flatten().map(|read| read.format())
    }

    fn parse(body: &[u8]) -> Result<Self, Reply> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| bad(&format!("the body is no JSON: {error}")))?;
        let names = body.as_object().into_iter().flat_map(|members| members.keys());
        if let Some(name) = names.into_iter().find(|name| !MEMBERS.contains(&name.as_str())) {
            return Err(bad(&format!(
                "{name}: there is no such member, but {}",
                MEMBERS.join(", ")
            )));
        }
        let text_of = |name: &str| match body.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(bad(&format!("{name}: must be text"))),
        };
        let number_of = |name: &str, usual: i64| match body.get(name) {
            None | Some(Value::Null) => Ok(usual),
            Some(value) => value
                .as_i64()
                .filter(|number| (-TIME_MS_MAX..=TIME_MS_MAX).contains(number))
                .ok_or_else(|| bad(&format!("{name}: must be a whole number of milliseconds"))),
        };
        let language = match text_of("language")?.as_deref() {
            Some("opentsdb") => Language::OpenTsdb,
            Some("influxql") => Language::InfluxQl,
            Some("promql") => Language::PromQl,
            Some("sql") => Language::Sql,
            _ => return Err(bad("language: must be opentsdb, influxql, promql or sql")),
        };
        let end_ms = number_of("end_ms", now_ns() / NANOS_PER_MILLI)?;
        let start_ms = number_of("start_ms", end_ms.saturating_sub(RANGE_USUAL_MS))?;
        if start_ms >= end_ms {
            return Err(bad("start_ms: must be before end_ms"));
        }
        let usual = end_ms.saturating_sub(start_ms) / STEPS_USUAL;
        let step_ms = number_of("step_ms", usual.max(1))?;
        if step_ms < 1 {
            return Err(bad("step_ms: must be at least 1"));
        }
        let unit = text_of("unit")?;
        let unit = Unit::parse(unit.as_deref().unwrap_or("ms"));
        let unit = unit.ok_or_else(|| bad("unit: must be s, ms or ns"))?;
        let wish = |name: &str| match body.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(wish)) => Ok(*wish),
            Some(_) => Err(bad(&format!("{name}: must be true or false"))),
        };
        let (explains, names_makers) = (wish("explain")?, wish("makers")?);
        let (checks, by_itself) = (wish("check")?, wish("by_itself")?);
        let spelling = Spelling { unit, is_exact: wish("exact")? };
        let text = text_of("text")?;
        let parts = body.get("query").filter(|parts| !parts.is_null()).cloned();
        if text.is_some() == parts.is_some() {
            return Err(bad("text: give the question as text, or by its parts in query"));
        }
        Ok(Self {
            language,
            text,
            parts,
            start_ms,
            end_ms,
            step_ms,
            spelling,
            explains,
            names_makers,
            checks,
            by_itself,
        })
    }

    /// What the question is listed as while it runs.
    fn listed(&self) -> String {
        let parts = || self.parts.as_ref().map(Value::to_string);
        self.text.clone().or_else(parts).unwrap_or_default()
    }

    /// What asks it again.
    fn again(&self) -> Option<query::Question> {
        let of_parts = || self.parts.as_ref().and_then(text_of);
        let text = self.text.clone().or_else(of_parts)?;
        let question = query::Question::new(self.language, vec![text]);
        Some(question.over(self.start_ms, self.end_ms).every(self.step_ms))
    }

    /// OpenTSDB's question, in the one of its forms that fits.
    fn opentsdb(&self) -> Result<Request, Reply> {
        let step = opentsdb_step(self.step_ms);
        // Numbers of up to ten digits are seconds there. Before 1970 it knows no time.
        let time = |millis: i64| format!("{:011}", millis.max(0));
        let (start, end) = (time(self.start_ms), time(self.end_ms));
        let put = |text: &str| bounds::in_opentsdb(text, &step);
        let (query, body) = match (&self.text, &self.parts) {
            (Some(text), _) => {
                let m = escape(&put(text));
                let tsuids = if self.names_makers { "&show_tsuids=true" } else { "" };
                (format!("start={start}&end={end}&ms=true{tsuids}&m={m}"), String::new())
            }
            (None, parts) => {
                let mut parts = parts.clone().unwrap_or_default();
                if let Some(Value::String(window)) = parts.get_mut("downsample")
                    && let Some(rest) = window.strip_prefix("$step-")
                {
                    *window = format!("{step}-{rest}");
                }
                let queries = json!([parts]);
                let body = json!({
                    "start": start,
                    "end": end,
                    "msResolution": true,
                    "showTSUIDs": self.names_makers,
                    "queries": queries,
                });
                (String::new(), body.to_string())
            }
        };
        let method = if body.is_empty() { "GET" } else { "POST" };
        let body = body.as_bytes();
        let request = HttpRequest { method, path: "/api/query", query: &query, body };
        Request::parse(&request, now_ns() / NANOS_PER_MILLI).map_err(|error| {
            let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
            let text = self.text.as_deref().filter(|_| status == StatusCode::BAD_REQUEST);
            match text.zip(error.from_fault) {
                Some((text, rest)) => {
                    let at = bounds::before_opentsdb(text, &put(text), rest);
                    refuse_at(&error.message, Some(place_of(text, at)))
                }
                None => refuse(status, &error.message),
            }
        })
    }

    /// PromQL's question.
    fn promql(&self, namespace: NamespaceId) -> Result<PromQl, Reply> {
        let text = self.text.as_deref();
        let text = text.ok_or_else(|| bad("query: PromQL is asked as text"))?;
        PromQl::read(text, namespace, (self.start_ms, self.end_ms), self.step_ms, self.explains)
    }

    /// SQL's statement.
    fn sql(&self, database: String, policy: Option<String>) -> Result<Sql, Reply> {
        let text = self.text.as_deref();
        let text = text.ok_or_else(|| bad("query: SQL is asked as text"))?;
        let nanos = |millis: i64| millis.saturating_mul(NANOS_PER_MILLI);
        let parameters = [
            ("start".to_owned(), sql::Parameter::Time(nanos(self.start_ms))),
            ("end".to_owned(), sql::Parameter::Time(nanos(self.end_ms))),
            ("step".to_owned(), sql::Parameter::Interval(nanos(self.step_ms))),
        ]
        .into();
        let statement = sql::Statement::parse(text)
            .map_err(|error| refuse_at(&error.to_string(), error.position()))?;
        Ok(Sql { statement, parameters, database, policy, now_ns: now_ns() })
    }

    /// InfluxQL's statements, which may change nothing.
    fn influxql(&self, who: &Principal, database: &str) -> Result<Vec<Statement>, Reply> {
        let text = self.text.as_deref();
        let text = text.ok_or_else(|| bad("query: InfluxQL is asked as text"))?;
        let nanos = |millis: i64| millis.saturating_mul(NANOS_PER_MILLI);
        let parameters: Parameters = [
            ("start".to_owned(), Parameter::Integer(nanos(self.start_ms))),
            ("end".to_owned(), Parameter::Integer(nanos(self.end_ms))),
            ("step".to_owned(), Parameter::Duration(nanos(self.step_ms))),
        ]
        .into();
        let statements = parse(text, &parameters)
            .map_err(|error| refuse_at(&error.to_string(), error.position()))?;
        may_ask(who, &statements, Some(database))
            .map_err(|message| refuse(StatusCode::FORBIDDEN, &message))?;
        if let Some(change) = statements.iter().find(|statement| changes(statement)) {
            return Err(bad(&format!(
                "only statements that change nothing are asked here, not {change}: send others \
                 to /query"
            )));
        }
        if self.checks {
            for statement in &statements {
                let Statement::Select(select) = statement else { continue };
                check_select(select, now_ns()).map_err(|error| {
                    let call = error.function().and_then(|name| call_in(text, name));
                    refuse_at(&error.to_string(), call.map(|at| place_of(text, at)))
                })?;
            }
        }
        match statements.is_empty() {
            true => Err(bad("text: there is no statement in it")),
            false => Ok(statements),
        }
    }
}

/// A step as OpenTSDB's texts say it, whose numbers have 32 bits: for milliseconds that is 49 days.
fn opentsdb_step(step_ms: i64) -> String {
    match u32::try_from(step_ms) {
        Ok(step_ms) => format!("{step_ms}ms"),
        Err(_) => format!("{}s", step_ms.saturating_add(999) / 1_000),
    }
}

/// Line and column of a place, both counted from 1.
fn place_of(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    (before.split('\n').count(), line.chars().count() + 1)
}

/// Where a text calls a function, whose name is in lower case; nothing where several places look
/// like that, of which some may be remarks or names in quotes.
fn call_in(text: &str, function: &str) -> Option<usize> {
    let low = text.to_ascii_lowercase();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut calls = low.match_indices(function).map(|(at, _)| at).filter(|at| {
        let (before, behind) = low.split_at(*at);
        let behind = behind.get(function.len()..).unwrap_or_default();
        !before.ends_with(is_part) && behind.starts_with('(')
    });
    let first = calls.next();
    first.filter(|_| calls.next().is_none())
}

/// Text as it stands in a query string.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}
