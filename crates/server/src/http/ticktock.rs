//! TickTock's HTTP API: its paths, its shapes, its words.

use super::opentsdb::may_hold;
use super::{
    Call, Reply, ack, body, namespace, set_log_level, status_of, status_of_missing, status_of_wait,
    store,
};
use super::{PLAIN, reply, routes::Right};
use crate::aside::aside;
use crate::config::KEYS;
use crate::ingest;
use crate::metrics::{Way, now_ns};
use crate::query::{self, Failure, Job, Reading, Title, Work};
use crate::shared::Shared;
use crate::store::Store;
use crate::ticktock::{self, Taken, Text};
use foliot_access::{Measurements, Need, Principal};
use foliot_engine::{Ack, Caller, Identity};
use foliot_exec::{Query, Ran};
use foliot_model::{NANOS_PER_MILLI, Name, NamespaceId, Selector, Test, TimeRange};
use foliot_plan::{Listing, Series, What};
use foliot_proto_opentsdb::ticktock::{
    Assembly, FIELD_TAG, Inquiry, Lookup, Word, aggregators_json, field_tag_value, puts_of_json,
};
use foliot_proto_opentsdb::{Budget, HttpError, Params, filters_json, string_list_json};
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What a path of this API is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Admin,
    Aggregators,
    Config,
    Filters,
    Lookup,
    Put,
    Query,
    Stats,
    Suggest,
    Version,
    Write,
}

/// Names suggested unless the request says otherwise.
const SUGGESTIONS: usize = 1000;

/// Series spelled out before it is asked whether to go on.
const SERIES_AT_ONCE: usize = 4096;

/// Series listed unless the request says otherwise.
const LOOKUPS: usize = 25;

/// Longest text of a query.
const QUERY_BYTES_MAX: usize = 1 << 20;

/// The longest body that may be a word instead of lines.
const WORD_BYTES_MAX: usize = 10;

pub(super) async fn answer(shared: &Arc<Shared>, endpoint: Endpoint, call: Call) -> Reply {
    let json = |text: String| Ok(Reply::json(StatusCode::OK, text));
    let outcome = match endpoint {
        Endpoint::Admin => admin(shared, call).await,
        Endpoint::Aggregators => json(aggregators_json().to_owned()),
        Endpoint::Config => json(config_json(shared)),
        Endpoint::Filters => json(filters_json()),
        Endpoint::Lookup => lookup(shared, call).await,
        Endpoint::Put | Endpoint::Write => put(shared, endpoint, call).await,
        Endpoint::Query => ask(shared, call).await,
        Endpoint::Stats => {
            Ok(Reply::new(StatusCode::OK, PLAIN, ticktock::stats(shared).into_bytes()))
        }
        Endpoint::Suggest => suggest(shared, call).await,
        Endpoint::Version => json(ticktock::version_json(shared)),
    };
    outcome.unwrap_or_else(|reply| reply)
}

/// An error is one line of text, without an end.
fn refuse(status: StatusCode, text: impl Into<String>) -> Reply {
    Reply::new(status, PLAIN, text.into().into_bytes())
}

fn bad(text: impl Into<String>) -> Reply {
    refuse(StatusCode::BAD_REQUEST, text)
}

fn refuse_error(error: &HttpError) -> Reply {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    refuse(status, error.message.clone())
}

fn namespace_of(
    shared: &Shared,
    store: &Store,
    call: &Call,
    right: Right,
) -> Result<NamespaceId, Reply> {
    namespace(shared, store, &call.query, &call.headers, right)
        .map_err(|missing| refuse(status_of_missing(&missing), missing.to_string()))
}

/// `POST /api/put` and `POST /api/write`.
async fn put(shared: &Shared, endpoint: Endpoint, call: Call) -> Result<Reply, Reply> {
    let store = store(shared)?;
    let level = ack(shared, &call.headers).map_err(bad)?;
    let namespace = namespace_of(shared, store, &call, Right::Write)?;
    let is_local = call.is_local() && call.who.may(Need::Administer);
    let scope = call.write_scope(shared);
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    let is_json = endpoint == Endpoint::Put
        && matches!(text.bytes.trim_ascii_start().first(), Some(b'[' | b'{'));
    let store_body = || match is_json {
        true => put_json(shared, store, (namespace, &scope), &text.bytes),
        false => Ok((take_all(shared, store, (namespace, &scope), &text.bytes), 0)),
    };
    let stored = ingest::heavy(shared, text.bytes.len(), store_body).await;
    let length = text.bytes.len();
    shared.bytes.give(text.into_bytes());
    let (taken, bad_points) = match stored {
        Ok(stored) => stored,
        // Whatever it was, it counts as one point that failed.
        Err(_) => return Ok(Reply::json(StatusCode::BAD_REQUEST, r#"{"success":0,"failed":1}"#)),
    };
    if let Some(error) = &taken.failure {
        return Err(refuse(status_of(error), error.to_string()));
    }
    if let Some(commit) = taken.commit {
        let waited = store.wait(commit, level).await;
        waited.map_err(|error| refuse(status_of_wait(&error), error.to_string()))?;
    }
    let failed = taken.refused + u64::from(bad_points);
    let status = if failed > 0 { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    if is_json {
        let success = taken.rows.saturating_sub(taken.refused);
        let text = format!("{{\"success\":{success},\"failed\":{failed}}}");
        return Ok(Reply::json(status, text));
    }
    match taken.word.filter(|_| length <= WORD_BYTES_MAX) {
        Some(Word::Version) => Ok(Reply::json(StatusCode::OK, ticktock::version_json(shared))),
        Some(word) => {
            let text = ticktock::answer(shared, word, is_local);
            Ok(Reply::new(StatusCode::OK, PLAIN, text.into_bytes()))
        }
        None => Ok(Reply::new(status, PLAIN, "")),
    }
}

fn text_of_request(scope: &Measurements) -> Text<'_> {
    let (way, patience) = (Way::TickTock, Duration::ZERO);
    Text { way, is_whole: true, is_bare: false, patience, scope }
}

/// Where lines go, and the measurements that may be written there.
type Target<'a> = (NamespaceId, &'a Measurements);

/// Stores all lines of a body; the last word among them is told.
fn take_all(shared: &Shared, store: &Store, target: Target<'_>, text: &[u8]) -> Taken {
    let (namespace, scope) = target;
    let mut all = Taken::default();
    while let Some(rest) = text.get(all.bytes..).filter(|rest| !rest.is_empty()) {
        let taken = ticktock::take(shared, store, namespace, rest, text_of_request(scope));
        all.bytes += taken.bytes;
        all.rows += taken.rows;
        all.refused += taken.refused;
        all.commit = taken.commit.or(all.commit);
        all.word = taken.word.or(all.word);
        all.failure = taken.failure;
        if all.failure.is_some() || taken.bytes == 0 {
            break;
        }
    }
    all
}

fn put_json(
    shared: &Shared,
    store: &Store,
    target: Target<'_>,
    body: &[u8],
) -> Result<(Taken, u32), HttpError> {
    let mut lines = shared.bytes.take();
    let outcome = puts_of_json(body, &mut lines);
    let taken = outcome.map(|bad| (take_all(shared, store, target, &lines), bad));
    shared.bytes.give(lines);
    taken
}

/// `/api/query`.
async fn ask(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let namespace = namespace_of(shared, store(shared)?, &call, Right::Read)?;
    let database = call.database(shared);
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if text.bytes.len() > QUERY_BYTES_MAX {
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, "the query is too long"));
    }
    let now_ms = now_ns() / NANOS_PER_MILLI;
    let reading = reading_of(shared, (&call.who, &call.query), &text.bytes).await?;
    let inquiry = reading.read(|| match call.method.as_str() {
        "POST" => Inquiry::parse_post(&text.bytes, now_ms),
        _ => Inquiry::parse_get(&call.query, now_ms),
    });
    let inquiry = inquiry.map_err(|error| refuse_error(&error))?;
    let asked = match text.bytes.is_empty() {
        true => call.query.as_str().into(),
        false => String::from_utf8_lossy(&text.bytes),
    };
    let title = Some(Title::new(format!("{} {asked}", call.path), database));
    let job = Job::new(call.who.clone(), title, move |work| run(&inquiry, namespace, work));
    answered(shared, reading, job).await
}

/// Where a request's question is read.
async fn reading_of(
    shared: &Arc<Shared>,
    (who, query): (&Principal, &str),
    body: &[u8],
) -> Result<Reading, Reply> {
    let reading = Reading::of(shared, who, &[query.as_bytes(), body]).await;
    reading.map_err(|failure| refuse(failure.status, failure.message))
}

/// What a question that only reads is answered, at the place where it was read.
async fn answered(shared: &Arc<Shared>, reading: Reading, job: Job) -> Result<Reply, Reply> {
    let job = reading.then(job.that_reads(true));
    let reply = query::answer(shared, reply::JSON, false, job).await;
    reply.map_err(|failure| refuse(failure.status, failure.message))
}

/// What a question is listed as.
fn title(shared: &Shared, call: &Call) -> Option<Title> {
    Some(Title::new(format!("{} {}", call.path, call.query), call.database(shared)))
}

fn run(inquiry: &Inquiry, namespace: NamespaceId, work: &mut Work<'_>) -> Result<Ran, Failure> {
    let (snapshot, meter) = (work.snapshot, work.meter());
    let query = Query { snapshot, meter: meter.clone() };
    let mut charge = meter.open();
    let mut plans: Vec<Series> = Vec::new();
    let mut questions = Vec::new();
    for (index, question) in inquiry.questions.iter().enumerate() {
        let listing = Listing {
            what: What::Fields,
            selector: selector(namespace, Some(&question.metric)),
            prefix: String::new(),
            offset: 0,
            limit: usize::MAX,
        };
        let fields = foliot_exec::listed(&query, &listing, &mut charge)?;
        for group in question.field_groups(&fields) {
            if !group.is_empty() {
                plans.push(question.plan(inquiry, namespace, &group));
                questions.push(index);
            }
        }
    }
    let tags_of = |sid: u32| snapshot.identity(sid).ok().flatten().map(tags).unwrap_or_default();
    let may_hold = may_hold(&meter);
    let budget = Budget::new(&may_hold);
    let mut assembly = Assembly::new(inquiry, &questions, Box::new(tags_of), &budget);
    let ran = work.run(&plans, &mut |frame, _| {
        assembly.frame(frame).map_err(|error| {
            let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
            Failure::new(status, error.message)
        })
    })?;
    assembly.finish(work.out());
    Ok(ran)
}

/// All series of a metric, or of all.
fn selector(namespace: NamespaceId, metric: Option<&str>) -> Selector {
    let measurement = metric.map_or(Test::Any, Test::equal);
    Selector {
        namespace,
        names: vec![Name { measurement, field: Test::Any }],
        matchers: Vec::new(),
        exact_labels: None,
        only: None,
    }
}

/// The tags of a series, its field among them.
fn tags(identity: Identity) -> BTreeMap<String, String> {
    let pair = |label: &foliot_model::Label| (label.name.to_string(), label.value.to_string());
    let mut tags: BTreeMap<String, String> = identity.labels.iter().map(pair).collect();
    tags.insert(FIELD_TAG.to_owned(), field_tag_value(&identity.field).to_owned());
    tags
}

/// `/api/suggest`.
async fn suggest(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let namespace = namespace_of(shared, store(shared)?, &call, Right::Read)?;
    let reading = reading_of(shared, (&call.who, &call.query), b"").await?;
    let params = reading.read(|| Params::parse(&call.query));
    let (Some(kind), Some(prefix)) = (params.get("type"), params.get("q")) else {
        return Err(bad(""));
    };
    let max = params.get("max").and_then(|max| max.parse().ok()).unwrap_or(SUGGESTIONS);
    let is_kind = ["metrics", "tagk", "tagv"].contains(&kind);
    if !is_kind {
        return Err(bad(""));
    }
    let (kind, prefix) = (kind.to_owned(), prefix.to_owned());
    let title = title(shared, &call);
    let job = Job::new(call.who.clone(), title, move |work| {
        let names = suggestions(work, namespace, (&kind, &prefix), max)?;
        let answer = string_list_json(names.iter().map(String::as_str));
        work.write(answer.as_bytes())?;
        Ok(Ran::default())
    });
    answered(shared, reading, job).await
}

fn suggestions(
    work: &Work<'_>,
    namespace: NamespaceId,
    (kind, prefix): (&str, &str),
    max: usize,
) -> Result<Vec<String>, Failure> {
    let everything = Selector { names: Vec::new(), ..selector(namespace, None) };
    let meter = work.meter();
    let query = Query { snapshot: work.snapshot, meter: meter.clone() };
    let mut charge = meter.open();
    let mut list = |what: What, prefix: &str| {
        let (selector, prefix) = (everything.clone(), prefix.to_owned());
        let listing = Listing { what, selector, prefix, offset: 0, limit: max };
        foliot_exec::listed(&query, &listing, &mut charge)
    };
    let mut names = match kind {
        "metrics" if prefix == "*" => list(What::Measurements, "")?,
        "metrics" => list(What::Measurements, prefix)?,
        "tagk" => {
            let mut names = list(What::LabelNames, prefix)?;
            let fields = list(What::Fields, "")?;
            if FIELD_TAG.starts_with(prefix) && fields.iter().any(|f| field_tag_value(f) == f) {
                names.push(FIELD_TAG.to_owned());
            }
            names
        }
        _ => {
            let mut names = list(What::LabelValues(None), prefix)?;
            let fields = list(What::Fields, prefix)?;
            names.extend(fields.into_iter().filter(|field| field_tag_value(field) == field));
            names
        }
    };
    names.sort_unstable();
    names.dedup();
    names.truncate(max);
    Ok(names)
}

/// `/api/search/lookup`.
async fn lookup(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let namespace = namespace_of(shared, store(shared)?, &call, Right::Read)?;
    let reading = reading_of(shared, (&call.who, &call.query), b"").await?;
    let params = reading.read(|| Params::parse(&call.query));
    let number = |name: &str, default| {
        params.get(name).and_then(|text| text.parse::<usize>().ok()).unwrap_or(default)
    };
    let (limit, start) = (number("limit", LOOKUPS), number("startIndex", 0));
    let m = params
        .get("m")
        .ok_or_else(|| bad("Must specify m parameter when performing search/lookup."))?;
    let asked = reading.read(|| Lookup::parse(m)).map_err(|error| refuse_error(&error))?;
    let title = title(shared, &call);
    let job = Job::new(call.who.clone(), title, move |work| {
        let found = find(work, &asked, namespace, (start, limit))?;
        work.write(found.as_bytes())?;
        Ok(Ran::default())
    });
    answered(shared, reading, job).await
}

/// How many series there are, and some of them, as JSON.
fn find(
    work: &Work<'_>,
    asked: &Lookup,
    namespace: NamespaceId,
    (start, limit): (usize, usize),
) -> Result<String, Failure> {
    let (of_field, matchers): (Vec<_>, Vec<_>) =
        asked.matchers.iter().cloned().partition(|matcher| matcher.name == FIELD_TAG);
    let selector = Selector { matchers, ..selector(namespace, asked.metric.as_deref()) };
    let meter = work.meter();
    let query = Query { snapshot: work.snapshot, meter: meter.clone() };
    let mut charge = meter.open();
    let sids = foliot_exec::selected(&query, &selector, TimeRange::ALL, &mut charge)?;
    let (mut total, mut results): (usize, Vec<String>) = (0, Vec::new());
    let mut take = |sid: u32, identity: Identity| -> Result<(), foliot_exec::Error> {
        let field = Some(field_tag_value(&identity.field));
        if !of_field.iter().all(|matcher| matcher.matches(field)) {
            return Ok(());
        }
        if total >= start && results.len() < limit {
            let metric = json!(&*identity.measurement);
            let mut tags = tags(identity);
            tags.retain(|name, value| name != FIELD_TAG || value != "_");
            let tags = json!(tags);
            let text = format!("{{\"tsuid\":\"{sid:09X}\",\"metric\":{metric},\"tags\":{tags}}}");
            // Once here, and once more in the answer.
            charge.add(2 * text.len() + size_of::<String>())?;
            results.push(text);
        }
        total += 1;
        Ok(())
    };
    for sids in sids.chunks(SERIES_AT_ONCE) {
        meter.check(0)?;
        let mut taken = Ok(());
        let identities = work.snapshot.identities(sids, &mut |sid, identity| {
            if taken.is_ok() {
                taken = take(sid, identity);
            }
        });
        identities.map_err(foliot_exec::Error::from)?;
        taken?;
    }
    let metric = asked.metric.as_deref().unwrap_or("*");
    if total == 0 {
        let text = format!("ERROR: metric name \"{metric}\" not found.");
        return Err(Failure::new(StatusCode::BAD_REQUEST, text));
    }
    let tags: Vec<Value> =
        asked.tags.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
    Ok(format!(
        "{{\"type\":\"LOOKUP\",\"limit\":{limit},\"startIndex\":{start},\"totalResults\":{total},\
         \"metric\":{},\"tags\":{},\"results\":[{}]}}",
        json!(metric),
        Value::Array(tags),
        results.join(",")
    ))
}

/// Every setting as text. A secret shows itself as stars.
fn config_json(shared: &Shared) -> String {
    let value = |key: &crate::config::Key| Value::from((key.show)(&shared.config));
    let pairs = KEYS.iter().map(|key| (key.name.to_owned(), value(key)));
    Value::Object(pairs.collect::<Map<_, _>>()).to_string()
}

/// `POST /api/admin?cmd=…`: for this machine only.
async fn admin(shared: &Shared, call: Call) -> Result<Reply, Reply> {
    if !call.is_local() {
        let text = "administration is for clients on the same machine";
        return Err(refuse(StatusCode::FORBIDDEN, text));
    }
    if call.query.is_empty() {
        return Err(bad("params empty"));
    }
    let params = Params::parse(&call.query);
    let command = params.get("cmd").ok_or_else(|| bad("cmd missing"))?;
    let plain = |text: &str| Ok(Reply::new(StatusCode::OK, PLAIN, text));
    match command {
        "ping" => plain("pong"),
        "stat" => Ok(Reply::json(StatusCode::OK, "{}")),
        "cp" => checkpoints(shared, params.get("leader")).await,
        "append" => flush(shared).and_then(|()| plain("append log generated")),
        "compact" => flush(shared).and_then(|()| plain("0 tsdbs compacted")),
        "rollup" => plain("no tsdb was rolled-up"),
        "gc" => plain(""),
        "log" => log(shared, &params, &call.caller("ticktock")).and_then(|()| plain("")),
        "cfg" => Err(bad("settings are read when Foliot starts; change them there")),
        "stop" => {
            ticktock::stop();
            plain("Foliot exiting now.")
        }
        other => Err(bad(format!("unrecognized cmd: {other}"))),
    }
}

fn flush(shared: &Shared) -> Result<(), Reply> {
    let store = store(shared)?;
    let flushed = aside(|| store.engine().flush());
    flushed.map_err(|error| refuse(status_of(&error), error.to_string()))
}

fn log(shared: &Shared, params: &Params, caller: &Caller) -> Result<(), Reply> {
    if let Some(action) = params.get("action").filter(|action| *action != "reopen") {
        return Err(bad(format!("unknown action {action}")));
    }
    let Some(level) = params.get("level") else { return Ok(()) };
    let level = match level {
        "TRACE" => log::LevelFilter::Trace,
        "DEBUG" | "TCP" | "HTTP" => log::LevelFilter::Debug,
        "INFO" => log::LevelFilter::Info,
        "WARN" => log::LevelFilter::Warn,
        "ERROR" | "FATAL" => log::LevelFilter::Error,
        _ => return Err(bad(format!("unknown level {level}"))),
    };
    set_log_level(shared, level, caller)
}

/// What feeders may rely on: everything they sent before is on stable storage when this answers.
async fn checkpoints(shared: &Shared, leader: Option<&str>) -> Result<Reply, Reply> {
    let store = store(shared)?;
    let all = ticktock::checkpoints(store, leader);
    let last = *shared.last_checkpoint.lock();
    if let Some(commit) = last {
        let waited = store.wait(commit, Ack::Durable).await;
        waited.map_err(|error| refuse(status_of_wait(&error), error.to_string()))?;
    }
    let mut leaders: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (leader, channel, value) in &all {
        let text = format!("{{\"channel\":{},\"checkpoint\":{}}}", json!(channel), json!(value));
        leaders.entry(leader).or_default().push(text);
    }
    let of_leader = |(leader, channels): (&&str, &Vec<String>)| {
        format!("{{\"leader\":{},\"channels\":[{}]}}", json!(leader), channels.join(","))
    };
    let list: Vec<String> = leaders.iter().map(of_leader).collect();
    Ok(Reply::json(StatusCode::OK, format!("[{}]", list.join(","))))
}
