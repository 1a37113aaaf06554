//! OpenTelemetry's metrics over HTTP: protobuf or JSON, plain or compressed.

use super::{Taken, Unstored, check_beside, check_decoded, confirm, hold, store_all};
use crate::http::routes::Right;
use crate::http::{Call, Reply, ack, body, namespace, status_of_missing, store};
use crate::ingest;
use crate::metrics::{Way, now_ns};
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Measurements;
use foliot_model::NamespaceId;
use foliot_proto_prometheus::{
    Naming, OTLP_JSON_BYTES_MAX, OtlpRequest, otlp_answer, otlp_json_answer, otlp_of_json,
};
use hyper::{StatusCode, header};

const PROTOBUF: &str = "application/x-protobuf";

/// Fields by their names.
const JSON: &str = "application/json";

pub(super) async fn answer(shared: &Shared, naming: Naming, call: Call) -> Result<Reply, Reply> {
    let store = store(shared)?;
    check_beside(&call.query)?;
    let kind = call.headers.get(header::CONTENT_TYPE);
    let kind = kind.map_or(PROTOBUF, |kind| kind.to_str().unwrap_or("?"));
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let is_json = kind.eq_ignore_ascii_case(JSON);
    if !is_json && !kind.eq_ignore_ascii_case(PROTOBUF) {
        let text = format!("Content-Type {kind:?} is not taken here: use {PROTOBUF} or {JSON}");
        return Err(Reply::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, text).close());
    }
    let level = ack(shared, &call.headers)
        .map_err(|message| Reply::text(StatusCode::BAD_REQUEST, message))?;
    let namespace = namespace(shared, store, &call.query, &call.headers, Right::Write)
        .map_err(|missing| Reply::text(status_of_missing(&missing), missing.to_string()))?;
    let scope = call.write_scope(shared);
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    let work = || match is_json {
        true => take_json(shared, store, (namespace, &scope), naming, &text.bytes),
        false => take(shared, store, (namespace, &scope), naming, &text.bytes),
    };
    let taken = ingest::heavy(shared, text.bytes.len(), work).await?;
    shared.bytes.give(text.into_bytes());
    confirm(store, taken.commit, level).await?;
    let reason = taken.first.map_or(String::new(), |(number, reason)| {
        format!("the first in data point {number}: {reason}")
    });
    Ok(match is_json {
        true => Reply::json(StatusCode::OK, otlp_json_answer(taken.faulty, &reason)),
        false => Reply::new(StatusCode::OK, PROTOBUF, otlp_answer(taken.faulty, &reason)),
    })
}

/// Takes a request in JSON, once there is memory for the same in protobuf.
fn take_json(
    shared: &Shared,
    store: &Store,
    to: (NamespaceId, &Measurements),
    naming: Naming,
    json: &[u8],
) -> Result<Taken, Reply> {
    let _held = hold(shared, json.len(), OTLP_JSON_BYTES_MAX)?;
    let bytes = otlp_of_json(json).map_err(|error| refused(shared, &error))?;
    check_decoded(shared, bytes.len())?;
    take(shared, store, to, naming, &bytes)
}

fn refused(shared: &Shared, error: &dyn std::fmt::Display) -> Reply {
    shared.metrics.way(Way::Otlp).count_unworded(1);
    let text = format!("the request is none of OTLP's for metrics: {error}");
    Reply::text(StatusCode::BAD_REQUEST, text)
}

fn take(
    shared: &Shared,
    store: &Store,
    (namespace, scope): (NamespaceId, &Measurements),
    naming: Naming,
    bytes: &[u8],
) -> Result<Taken, Reply> {
    let now_ms = now_ns() / 1_000_000;
    let request = OtlpRequest::parse(naming, now_ms, bytes);
    let mut request = request.map_err(|error| refused(shared, &error))?;
    let count = request.exemplar_count();
    let to = (namespace, scope, Way::Otlp);
    let taken = store_all(shared, store, to, bytes, |batch, rejects, exemplars| {
        request.decode(batch, (rejects, exemplars))
    });
    let taken = taken.map_err(Unstored::refusal)?;
    taken.drop_exemplars(shared, count);
    request.describe(&mut |said| shared.monitor.described.hear((namespace, scope), said));
    Ok(taken)
}
