//! `queries`: those that run, what they cost, and an end to one of them.

use super::{bad, body_of, refuse};
use crate::costs::{Cost, WITHIN_MS_MAX};
use crate::http::{Call, Reply};
use crate::metrics::now_ns;
use crate::query::Question;
use crate::shared::Shared;
use foliot_access::Principal;
use foliot_model::NANOS_PER_MILLI;
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use serde_json::{Value, json};

pub(super) fn list(shared: &Shared, who: &Principal) -> Reply {
    let row = |query: crate::queries::Listed| {
        json!({
            "id": query.id,
            "text": query.title.text,
            "database": query.title.database,
            "owner": query.owner,
            "address": query.title.from,
            "question": query.title.question.as_ref().map(told),
            "runs_for_ms": query.runs_for.as_millis() as u64,
            "memory_bytes": query.memory_bytes,
            "samples_read": query.samples,
            "is_cancelled": query.is_killed,
        })
    };
    let running: Vec<Value> = shared.queries.list(who).into_iter().map(row).collect();
    Reply::json(StatusCode::OK, json!({"queries": running}).to_string())
}

/// What asks a question again.
fn told(question: &Question) -> Value {
    json!({
        "language": question.language.name(),
        "texts": question.texts,
        "start_ms": question.range_ms.map(|(start_ms, _)| start_ms),
        "end_ms": question.range_ms.map(|(_, end_ms)| end_ms),
        "step_ms": question.step_ms,
    })
}

/// What questions cost since the start, or lately.
pub(super) fn costs(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    let within_ms = match Params::parse(&call.query).get("within_ms").map(str::parse::<i64>) {
        None => None,
        Some(Ok(within_ms)) if (1..=WITHIN_MS_MAX).contains(&within_ms) => Some(within_ms),
        Some(_) => return Err(bad(&format!("within_ms: must be from 1 to {WITHIN_MS_MAX}"))),
    };
    let row = |cost: Cost| {
        json!({
            "text": cost.title.text,
            "database": cost.title.database,
            "owner": cost.owner(),
            "address": cost.title.from,
            "question": cost.title.question.as_ref().map(told),
            "by_itself": cost.title.by_itself,
            "count": cost.tally.count,
            "failed": cost.tally.failed,
            "error": cost.error,
            "took_ms": cost.tally.took.as_secs_f64() * 1000.0,
            "took_max_ms": cost.tally.took_max.as_secs_f64() * 1000.0,
            "samples_read": cost.tally.samples,
            "memory_peak_bytes": cost.tally.memory_peak_bytes,
            "ended_ms": cost.ended_ms,
        })
    };
    let (costs, since_ms) = shared.queries.costs().list(&call.who, within_ms);
    let costs: Vec<Value> = costs.into_iter().map(row).collect();
    let began_ms = now_ns() / NANOS_PER_MILLI - shared.began.elapsed().as_millis() as i64;
    let since_ms = since_ms.map_or(began_ms, |since_ms| since_ms.max(began_ms));
    Ok(Reply::json(StatusCode::OK, json!({"costs": costs, "since_ms": since_ms}).to_string()))
}

pub(super) async fn cancel(shared: &Shared, call: Call) -> Result<Reply, Reply> {
    let who = call.who.clone();
    let body = body_of(shared, call, &["id"]).await?;
    let id = body.get("id").and_then(Value::as_u64);
    let id = id.ok_or_else(|| bad("id: must be the number of a query, as in {\"id\": 7}"))?;
    match shared.queries.kill(id, &who) {
        true => {
            log::info!("{} cancelled query {id}", who.name());
            Ok(Reply::json(StatusCode::OK, json!({"cancelled": id}).to_string()))
        }
        false => Err(refuse(StatusCode::NOT_FOUND, &format!("no query {id} runs; it may be over"))),
    }
}
