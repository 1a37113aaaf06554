//! `annotations`: notes about everything, at an instant or over a range. They are OpenTSDB's own,
//! so that its clients and Grafana see the same.

use super::{bad, body_of, refuse_failure};
use crate::http::opentsdb::{Scope, perform};
use crate::http::{Call, Reply, reply};
use crate::query::{self, Failure, Job, Title};
use crate::shared::Shared;
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

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    super::place(shared, &call)?;
    let scope = Scope::of(shared, &call)?;
    let (who, database) = (call.who.clone(), call.database(shared));
    let params = Params::parse(&call.query);
    let at = |name: &str| params.get(name).map(|text| time(name, text.parse().ok())).transpose();
    let (start_ms, end_ms) = (at("start_ms")?, at("end_ms")?);
    let asked = call.method.clone();
    // There, a POST adds to what is stored, and a PUT takes its place.
    let method = if asked == "POST" { "PUT".to_owned() } else { asked };
    let (path, query, body) = match &*method {
        "PUT" => ("/api/annotation", String::new(), note(shared, call).await?),
        "DELETE" => {
            let start_ms = start_ms.ok_or_else(|| bad("start_ms: which one is to go?"))?;
            ("/api/annotation", String::new(), json!({"startTime": theirs(start_ms)}).to_string())
        }
        _ => {
            // There, notes are listed by where they begin and end, and not by what they overlap.
            let query = format!("start_time=1&end_time={}", SECONDS_BELOW - 1);
            ("/api/annotations", query, String::new())
        }
    };
    let title = Title::new("annotations", database);
    let level = shared.config.wal_ack;
    let is_list = path.ends_with('s');
    let job = Job::new(who, Some(title), move |work| {
        let request = HttpRequest { method: &method, path, query: &query, body: body.as_bytes() };
        let (answer, commit) =
            perform(&scope, Endpoint::Annotation, &request, work).map_err(|e| failure(&e))?;
        if let Some(commit) = commit {
            work.confirm(commit, level)?;
        }
        let found: Value = serde_json::from_str(&answer.body).unwrap_or_default();
        let told = match (is_list, &found) {
            (true, Value::Array(notes)) => {
                let mut notes: Vec<Note> = notes.iter().map(told).collect();
                notes.retain(|note| note.overlaps(start_ms, end_ms));
                json!({"annotations": notes.iter().map(Note::shown).collect::<Vec<_>>()})
            }
            (_, Value::Object(_)) => told(&found).shown(),
            _ => json!({}),
        };
        work.write(told.to_string().as_bytes())?;
        Ok(Ran::default())
    });
    query::answer(shared, reply::JSON, false, job.that_reads(is_list))
        .await
        .map_err(|failure| refuse_failure(&failure))
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

/// A note as it is told.
struct Note {
    start_ms: i64,
    end_ms: Option<i64>,
    text: String,
    details: String,
}

impl Note {
    fn overlaps(&self, start_ms: Option<i64>, end_ms: Option<i64>) -> bool {
        let last_ms = self.end_ms.unwrap_or(self.start_ms);
        end_ms.is_none_or(|end_ms| self.start_ms <= end_ms)
            && start_ms.is_none_or(|start_ms| last_ms >= start_ms)
    }

    fn shown(&self) -> Value {
        let Self { start_ms, end_ms, text, details } = self;
        json!({"start_ms": start_ms, "end_ms": end_ms, "text": text, "details": details})
    }
}

fn told(note: &Value) -> Note {
    let millis = |name: &str| match note.get(name).and_then(Value::as_i64) {
        Some(time) if time < SECONDS_BELOW => time * 1000,
        Some(time) => time,
        None => 0,
    };
    let text = |name: &str| note.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    Note {
        start_ms: millis("startTime"),
        end_ms: Some(millis("endTime")).filter(|end| *end > 0),
        text: text("description"),
        details: text("notes"),
    }
}

fn failure(error: &HttpError) -> Failure {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    Failure::new(status, error.message.clone())
}
