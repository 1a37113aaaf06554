//! What is asked in PromQL.

use super::super::{Call, Reply, body, namespace, reply, status_of_missing, store};
use crate::http::routes::Right;
use crate::metrics::now_ns;
use crate::query::{self, Failure, Job, Title};
use crate::shared::Shared;
use foliot_model::NANOS_PER_MILLI;
use foliot_proto_opentsdb::Params;
use foliot_proto_prometheus::{InstantQuery, error_json, time_ms};
use hyper::StatusCode;
use std::sync::Arc;

/// Longest text of a question.
const QUERY_BYTES_MAX: usize = 1 << 20;

/// Parameters that would change the answer and are not known.
const UNKNOWN: [&str; 2] = ["lookback_delta", "limit"];

/// Parameters that name the database.
const DATABASE: [&str; 2] = ["db", "rp"];

/// `/prometheus/api/v1/query`.
pub(super) async fn query(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let namespace = namespace(shared, store(shared)?, &call.query, &call.headers, Right::Read)
        .map_err(|missing| {
            refuse(&Failure::new(status_of_missing(&missing), missing.to_string()))
        })?;
    let database = call.database(shared);
    let form = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if form.bytes.len() > QUERY_BYTES_MAX {
        let reason = "the question is too long";
        return Err(refuse(&Failure::new(StatusCode::PAYLOAD_TOO_LARGE, reason)));
    }
    let bad = |name: &str, reason: String| {
        let reason = format!("invalid parameter \"{name}\": {reason}");
        refuse(&Failure::new(StatusCode::BAD_REQUEST, reason))
    };
    let form = String::from_utf8_lossy(&form.bytes);
    // Rights were looked at for the database that the head of the request names.
    let in_form = Params::parse(&form);
    if let Some(name) = DATABASE.into_iter().find(|name| in_form.has(name)) {
        let reason = "the database is named in the path or by X-Foliot-Database, not in the form";
        return Err(bad(name, reason.to_owned()));
    }
    // What stands in the body goes before what stands in the path.
    let params = format!("{form}&{}", call.query);
    let params = Params::parse(&params);
    let at_ms = match params.get("time").filter(|text| !text.is_empty()) {
        None => now_ns() / NANOS_PER_MILLI,
        Some(text) => time_ms(text)
            .ok_or_else(|| bad("time", format!("cannot parse \"{text}\" to a valid timestamp")))?,
    };
    if let Some(name) = UNKNOWN.into_iter().find(|name| params.has(name)) {
        return Err(bad(name, "it is not known as yet".to_owned()));
    }
    let text = params.get("query").unwrap_or_default();
    let asked =
        InstantQuery::parse(text, at_ms).map_err(|error| bad("query", error.to_string()))?;
    let title = Some(Title::new(&format!("{} {text}", call.path), database));
    let plans = [asked.plan(namespace)];
    let job = Job::new(call.who.clone(), title, move |work| {
        let mut answer = asked.answer();
        let ran = work.run(&plans, &mut |frame, out| {
            answer.frame(frame, out);
            Ok(())
        })?;
        answer.finish(work.out());
        Ok(ran)
    });
    let answered = query::answer(shared, reply::JSON, false, job.that_reads(true)).await;
    answered.map_err(|failure| refuse(&failure))
}

/// A refusal in Prometheus' words, by which its clients tell what to do.
fn refuse(failure: &Failure) -> Reply {
    let (status, kind) = match failure.status {
        StatusCode::BAD_REQUEST => (StatusCode::BAD_REQUEST, "bad_data"),
        // Questions that want too much are such as cannot be carried out.
        StatusCode::PAYLOAD_TOO_LARGE => (StatusCode::UNPROCESSABLE_ENTITY, "execution"),
        StatusCode::NOT_FOUND => (StatusCode::NOT_FOUND, "not_found"),
        StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
            (failure.status, "unavailable")
        }
        status => (status, "internal"),
    };
    Reply::json(status, error_json(kind, &failure.message))
}
