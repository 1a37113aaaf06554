//! DataDog's series over HTTP.

use super::{Held, Taken, Unstored, check_beside, check_decoded, confirm, hold, store_piece};
use crate::http::routes::Right;
use crate::http::{Call, Reply, ack, body, namespace, status_of_missing, store};
use crate::ingest;
use crate::metrics::Way;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Measurements;
use foliot_model::NamespaceId;
use foliot_proto_prometheus::{DATADOG_BYTES_MAX, DatadogVersion, datadog_samples};
use hyper::StatusCode;
use serde_json::json;

pub(super) async fn answer(
    shared: &Shared,
    version: DatadogVersion,
    call: Call,
) -> Result<Reply, Reply> {
    let store = store(shared)?;
    check_beside(&call.query)?;
    let level = ack(shared, &call.headers).map_err(|message| refusal(&message))?;
    let namespace = namespace(shared, store, &call.query, &call.headers, Right::Write);
    let namespace = namespace
        .map_err(|missing| Reply::text(status_of_missing(&missing), missing.to_string()))?;
    let scope = call.write_scope(shared);
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    let held = hold(shared, text.bytes.len(), DATADOG_BYTES_MAX)?;
    let work = || take(shared, store, (namespace, &scope), version, &text.bytes, held);
    let taken = ingest::heavy(shared, text.bytes.len(), work).await?;
    shared.bytes.give(text.into_bytes());
    confirm(store, taken.commit, level).await?;
    if let Some(reason) = taken.told("sample") {
        return Err(refusal(&reason));
    }
    let answer = match version {
        DatadogVersion::V1 => json!({"status": "ok"}),
        DatadogVersion::V2 => json!({"errors": []}),
    };
    Ok(Reply::json(StatusCode::ACCEPTED, answer.to_string()))
}

/// What agents ask first: whether their key is good. A wrong one does not come here.
pub(super) fn validate(call: &Call) -> Reply {
    match call.who.is_nobody() {
        true => Reply::json(StatusCode::FORBIDDEN, json!({"errors": ["Forbidden"]}).to_string()),
        false => Reply::json(StatusCode::OK, json!({"valid": true}).to_string()),
    }
}

fn refusal(reason: &str) -> Reply {
    Reply::json(StatusCode::BAD_REQUEST, json!({"errors": [reason]}).to_string())
}

fn take(
    shared: &Shared,
    store: &Store,
    (namespace, scope): (NamespaceId, &Measurements),
    version: DatadogVersion,
    bytes: &[u8],
    _held: Held,
) -> Result<Taken, Reply> {
    let samples = datadog_samples(version, bytes).map_err(|error| {
        shared.metrics.way(Way::Datadog).count_unworded(1);
        refusal(&format!("the request holds no series of DataDog's: {error}"))
    })?;
    check_decoded(shared, samples.bytes().len())?;
    let (mut from, mut taken) = (0, Taken::of(bytes));
    let to = (namespace, scope, Way::Datadog);
    while from < samples.len() {
        let stored =
            store_piece(shared, store, to, samples.bytes(), &mut taken, |batch, rejects| {
                samples.decode(from, batch, rejects)
            });
        from = stored.map_err(Unstored::refusal)?;
    }
    Ok(taken)
}
