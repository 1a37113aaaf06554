//! Writes of line protocol, as InfluxDB 1, 2 and 3 and TickTock take them.

use super::routes::{Route, Target};
use super::{Call, Reply, ack, body, status_of, status_of_wait, store};
use crate::ingest;
use crate::metrics::{Way, now_ns};
use crate::shared::Shared;
use crate::store::Store;
use foliot_engine::{Ack, Commit};
use foliot_model::{Batch, NamespaceId, Reject};
use foliot_proto_influx::answer::{Answer, Outcome, error_answer, write_answer};
use foliot_proto_influx::{LINE_SYNTAX, Settings, WriteApi, WriteRequest};
use hyper::StatusCode;
use hyper::header::HeaderName;
use std::time::Duration;

/// The retention policy of a database when none is named.
const DEFAULT_POLICY: &str = "autogen";

pub(super) async fn write(shared: &Shared, route: &Route, call: Call) -> Reply {
    let api = match route.target {
        Target::InfluxWrite2 => WriteApi::V2,
        Target::InfluxWrite3 => WriteApi::V3,
        _ if route.path == "/api/write" => WriteApi::TickTock,
        _ => WriteApi::V1,
    };
    match write_lines(shared, api, call).await {
        Ok(None) => Reply::empty(StatusCode::NO_CONTENT),
        Ok(Some(answer)) => dress(answer),
        Err(reply) => reply,
    }
}

async fn write_lines(shared: &Shared, api: WriteApi, call: Call) -> Result<Option<Answer>, Reply> {
    let refuse = |status: StatusCode, message: &str| {
        dress(error_answer(api, status.as_u16(), message)).close()
    };
    let bad = |message: String| refuse(StatusCode::BAD_REQUEST, &message);
    let store = store(shared)?;
    let request = WriteRequest::parse(api, &call.query).map_err(|error| bad(error.to_string()))?;
    let mut level = ack(shared, &call.headers).map_err(bad)?;
    if request.no_sync && level == Ack::Durable {
        level = Ack::Os;
    }
    let namespace =
        namespace(shared, store, &request).map_err(|(status, message)| refuse(status, &message))?;
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    let decode = || store_lines(shared, store, namespace, &request, api, &text.bytes);
    let (answer, commit) = ingest::heavy(text.bytes.len(), decode)?;
    shared.bytes.give(text.into_bytes());
    if let Some(commit) = commit
        && let Err(error) = store.wait(commit, level).await
    {
        let status = status_of_wait(&error);
        return Err(dress(error_answer(api, status.as_u16(), &error.to_string())));
    }
    Ok(answer)
}

/// Decodes and stores the lines; the commit is to be waited for before the answer is given.
fn store_lines(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    request: &WriteRequest,
    api: WriteApi,
    lines: &[u8],
) -> Result<(Option<Answer>, Option<Commit>), Reply> {
    let mut decoding = shared.batches.take();
    let secret = store.engine().key_secret();
    let mut batch = Batch::new(lines, namespace, &LINE_SYNTAX, secret, decoding.buffers);
    let mut rejects: Vec<Reject> = Vec::new();
    let settings =
        Settings { precision: request.precision, now_ns: now_ns(), ..Settings::default() };
    let decoded = decoding.lines.decode(&mut batch, settings, &mut rejects);
    let worded = rejects.len();
    let ingest = shared.metrics.way(Way::InfluxHttp);
    ingest.count_unworded(decoded.refused.saturating_sub(worded) as u64);
    let mut rows = batch.rows().len();
    let appended = match rows > 0 && worded > 0 && !request.accepts_partial {
        true => {
            ingest.count_rejects(&rejects);
            ingest.count_unworded(rows as u64);
            rows = 0;
            Ok(None)
        }
        false => {
            ingest::append(shared, store, Way::InfluxHttp, &batch, &mut rejects, Duration::ZERO)
        }
    };
    decoding.buffers = batch.into_buffers();
    shared.batches.give(decoding, lines.len());
    let commit = appended.map_err(|error| {
        dress(error_answer(api, status_of(&error).as_u16(), &error.to_string()))
    })?;
    let (refused, dropped) = rejects.split_at(worded.min(rejects.len()));
    rows = rows.saturating_sub(dropped.len());
    let answer = write_answer(api, &Outcome { lines, rows, decoded, refused, dropped });
    Ok((answer, commit))
}

/// The namespace of a request's database and policy, created if that is allowed.
fn namespace(
    shared: &Shared,
    store: &Store,
    request: &WriteRequest,
) -> Result<NamespaceId, (StatusCode, String)> {
    let policy = request.policy.as_deref().unwrap_or(DEFAULT_POLICY);
    let engine = store.engine();
    if let Some(namespace) = engine.namespace(&request.database, policy) {
        return Ok(namespace);
    }
    // A policy is made on purpose; only a whole database comes into being by being written to.
    let has_database = engine.namespace(&request.database, DEFAULT_POLICY).is_some();
    if request.policy.is_some() && has_database && policy != DEFAULT_POLICY {
        let text = format!("retention policy not found: {policy:?}");
        return Err((StatusCode::NOT_FOUND, text));
    }
    if !shared.config.influx_auto_create_database {
        let text = format!("database not found: {:?}", request.database);
        return Err((StatusCode::NOT_FOUND, text));
    }
    tokio::task::block_in_place(|| engine.create_namespace(&request.database, policy))
        .map_err(|error| (status_of(&error), error.to_string()))
}

fn dress(answer: Answer) -> Reply {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_REQUEST);
    let reply = Reply::new(status, "application/json", answer.body)
        .header(HeaderName::from_static("x-influxdb-error"), &answer.error_header);
    match status {
        StatusCode::SERVICE_UNAVAILABLE => reply.retry_after(2),
        _ => reply,
    }
}
