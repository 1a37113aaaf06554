//! `annotations`: notes about everything, at an instant or over a range. They are OpenTSDB's own,
//! so that its clients and Grafana see the same.

use super::{alone, bad, body_of, limit, refuse_failure};
use crate::http::opentsdb::{Scope, notes_over, perform};
use crate::http::{Call, Reply, reply};
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_engine::Ack;
use foliot_exec::Ran;
use foliot_proto_opentsdb::{Endpoint, HttpError, HttpRequest, Params};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

/// Characters of a note's text, and of what is said besides.
const TEXT_CHARS_MAX: usize = 4_000;

/// The greatest time that OpenTSDB's notes have, in milliseconds.
const TIME_MS_MAX: i64 = 1 << 43;

/// Smaller times are seconds to OpenTSDB.
const SECONDS_BELOW: i64 = 1 << 32;

/// Notes that are listed where no number is asked for, and at most.
const LISTED: usize = 1_000;
const LISTED_MAX: usize = 10_000;

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    super::place(shared, &call)?;
    let scope = Scope::of(shared, &call)?;
    let title = Title::by_itself("annotations", call.database(shared));
    let who = call.who.clone();
    let job = match &*call.method {
        "GET" => {
            let wish = Wish::parse(&Params::parse(&call.query))?;
            let list = move |work: &mut Work<'_>| list(&scope, &wish, work);
            Job::new(who, Some(title), list).that_reads(true)
        }
        _ => {
            let level = shared.config.wal_ack;
            let (method, body) = change(shared, call).await?;
            let mut alone = Some(alone(shared).await?);
            let edit = move |work: &mut Work<'_>| {
                // For no longer than the change takes.
                let _alone = alone.take();
                edit(&scope, method, &body, level, work)
            };
            Job::new(who, Some(title), edit).that_waits(true)
        }
    };
    query::answer(shared, reply::JSON, false, job).await.map_err(|failure| refuse_failure(&failure))
}

/// Which notes are to be listed.
struct Wish {
    range_ms: (i64, i64),
    limit: usize,
}

impl Wish {
    fn parse(params: &Params) -> Result<Self, Reply> {
        let at = |name| params.get(name).map(|text| time(name, text.parse().ok())).transpose();
        let range_ms = (at("start_ms")?.unwrap_or(0), at("end_ms")?.unwrap_or(TIME_MS_MAX));
        if range_ms.0 > range_ms.1 {
            return Err(bad("start_ms: must not be after end_ms"));
        }
        Ok(Self { range_ms, limit: limit(params, LISTED, LISTED_MAX)? })
    }
}

fn list(scope: &Scope, wish: &Wish, work: &mut Work<'_>) -> Result<Ran, Failure> {
    let found = notes_over(scope, wish.range_ms, wish.limit, work);
    let (notes, is_whole) = found.map_err(|error| failure(&error))?;
    let notes: Vec<Value> = notes.iter().map(told).collect();
    work.write(json!({"annotations": notes, "is_whole": is_whole}).to_string().as_bytes())?;
    Ok(Ran::default())
}

/// The method and the body by which OpenTSDB's door makes the change that is asked for.
async fn change(shared: &Shared, call: Call) -> Result<(&'static str, String), Reply> {
    if call.method == "DELETE" {
        let start_ms = Params::parse(&call.query).get("start_ms").map(|text| text.parse().ok());
        let start_ms = start_ms.ok_or_else(|| bad("start_ms: which one is to go?"))?;
        let start = theirs(time("start_ms", start_ms)?);
        return Ok(("DELETE", json!({"startTime": start}).to_string()));
    }
    // There, a POST adds to what is stored, and a PUT takes its place.
    Ok(("PUT", note(shared, call).await?))
}

fn edit(
    scope: &Scope,
    method: &str,
    body: &str,
    level: Ack,
    work: &mut Work<'_>,
) -> Result<Ran, Failure> {
    let (path, query, body) = ("/api/annotation", "", body.as_bytes());
    let request = HttpRequest { method, path, query, body };
    let made = perform(scope, Endpoint::Annotation, &request, work);
    let (answer, commit) = made.map_err(|error| failure(&error))?;
    if let Some(commit) = commit {
        work.confirm(commit, level)?;
    }
    let found: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let shown = if found.is_object() { told(&found) } else { json!({}) };
    work.write(shown.to_string().as_bytes())?;
    Ok(Ran::default())
}

/// A note of the request, as OpenTSDB has it.
async fn note(shared: &Shared, call: Call) -> Result<String, Reply> {
    let body = body_of(shared, call, &["start_ms", "end_ms", "text", "details"]).await?;
    let text = |name: &str| match body.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) if text.chars().count() <= TEXT_CHARS_MAX => Ok(text.clone()),
        Some(_) => {
            Err(bad(&format!("{name}: must be text of {TEXT_CHARS_MAX} characters at most")))
        }
    };
    let at = |name: &str| match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => time(name, value.as_i64()).map(Some),
    };
    let start_ms = at("start_ms")?.ok_or_else(|| bad("start_ms: when was it?"))?;
    let end_ms = at("end_ms")?;
    let said = text("text")?;
    if said.trim().is_empty() {
        return Err(bad("text: what is to be said?"));
    }
    if end_ms.is_some_and(|end_ms| end_ms < start_ms) {
        return Err(bad("end_ms: must not be before start_ms"));
    }
    let details = text("details")?;
    let (start, end) = (theirs(start_ms), theirs(end_ms.unwrap_or(0)));
    Ok(json!({"startTime": start, "endTime": end, "description": said, "notes": details})
        .to_string())
}

/// A time as OpenTSDB takes it: what fits 32 bits is seconds there.
fn theirs(millis: i64) -> i64 {
    if millis < SECONDS_BELOW { millis / 1000 } else { millis }
}

fn time(name: &str, millis: Option<i64>) -> Result<i64, Reply> {
    let millis = millis.filter(|millis| (0..=TIME_MS_MAX).contains(millis));
    millis.ok_or_else(|| bad(&format!("{name}: must be milliseconds since 1970")))
}

/// A note of OpenTSDB's as it is told.
fn told(note: &Value) -> Value {
    let millis = |name: &str| match note.get(name).and_then(Value::as_i64) {
        Some(time) if time < SECONDS_BELOW => time * 1000,
        Some(time) => time,
        None => 0,
    };
    let text = |name: &str| note.get(name).and_then(Value::as_str).unwrap_or_default();
    let end_ms = Some(millis("endTime")).filter(|end| *end > 0);
    json!({
        "start_ms": millis("startTime"),
        "end_ms": end_ms,
        "text": text("description"),
        "details": text("notes"),
    })
}

fn failure(error: &HttpError) -> Failure {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    Failure::new(status, error.message.clone())
}
