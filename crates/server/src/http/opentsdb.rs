//! OpenTSDB's HTTP API: dispatch, and writes. Questions are in [`ask`].

mod ask;
mod facts;
mod names;
mod rename;
mod rollup;
mod slices;
mod stats;

pub(super) use ask::Scope;
pub(super) use facts::{notes_over, perform};

use super::routes::Right;
use super::{
    Call, Reply, ack, body, namespace, status_of, status_of_missing, status_of_wait, store,
};
use crate::config::KEYS;
use crate::ingest::{self, KindsOf, Terms};
use crate::metrics::Way;
use crate::shared::Shared;
use crate::store::Store;
use crate::telnet::{options, stats as stat_lines};
pub(super) use ask::may_hold;
use foliot_access::Measurements;
use foliot_engine::{Ack, Commit};
use foliot_model::{Batch, Kind, NamespaceId, Reject};
use foliot_proto_opentsdb::{
    Endpoint, HttpError, KEY_SYNTAX, Options, Params, PutAnswer, PutFlags, WORDED_MAX,
    aggregators_json, config_json, datapoint, decode_histograms, decode_json, dropcaches_json,
    filters_json, put_answer, put_timeout, serializers_json, status_json, string_list_json,
};
use hyper::StatusCode;
use slices::Slices;
use std::sync::Arc;
use std::time::Duration;

/// Most bad points of one request. Who sends more has not sent points at all.
const REJECTS_MAX: usize = 100_000;

pub(super) async fn answer(shared: &Arc<Shared>, endpoint: Endpoint, call: Call) -> Reply {
    // Most requests have neither of the parameters that are looked for here.
    let has_any = ["jsonp", "json"].iter().any(|name| Params::first(&call.query, name).is_some());
    let params = if has_any { Params::parse(&call.query) } else { Params::default() };
    let has = |name| params.has(name);
    let jsonp = match params.jsonp() {
        Ok(jsonp) => jsonp,
        Err(error) => return refuse(&error),
    };
    let json = |text: String| {
        let text = match &jsonp {
            Some(function) => format!("{function}({text})"),
            None => text,
        };
        Ok(Reply::json(StatusCode::OK, text))
    };
    let outcome = match endpoint {
        Endpoint::Put => put(shared, call, decode_json).await,
        Endpoint::Histogram => put(shared, call, decode_histograms).await,
        Endpoint::Rollup => rollup::put(shared, call).await,
        Endpoint::Query => ask::query(shared, call).await,
        Endpoint::Graph => ask::graph(shared, call).await,
        Endpoint::Expressions | Endpoint::Functions => ask::formula(shared, endpoint, call).await,
        Endpoint::Suggest => ask::suggest(shared, call).await,
        Endpoint::Aggregators => json(aggregators_json()),
        Endpoint::Filters => json(filters_json()),
        Endpoint::Serializers => json(serializers_json()),
        Endpoint::Status => json(status_json().to_owned()),
        Endpoint::DropCaches => json(dropcaches_json().to_owned()),
        Endpoint::Version => json(shared.build.to_json()),
        Endpoint::VersionText => {
            Ok(Reply::new(StatusCode::OK, super::PLAIN, shared.build.to_text()))
        }
        Endpoint::Config => json(settings(shared)),
        Endpoint::Stats => stats::figures(shared, &call).and_then(json),
        Endpoint::StatsText if has("json") => json(string_list_json(stat_lines(shared).lines())),
        Endpoint::StatsText => Ok(Reply::new(StatusCode::OK, super::PLAIN, stat_lines(shared))),
        Endpoint::Logs if has("json") => json(string_list_json(stats::log_lines().lines())),
        Endpoint::Logs => stats::log(shared, &call),
        Endpoint::Last
        | Endpoint::Search
        | Endpoint::Uid
        | Endpoint::Annotation
        | Endpoint::Tree => facts::serve(shared, endpoint, call).await,
    };
    outcome.unwrap_or_else(|reply| reply)
}

/// An error in OpenTSDB's shape.
fn refuse(error: &HttpError) -> Reply {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    Reply::json(status, error.to_json())
}

fn refuse_with(status: StatusCode, message: impl Into<String>) -> Reply {
    refuse(&HttpError::new(status.as_u16(), message))
}

/// The namespace that a request names, or the default one.
fn namespace_of(
    shared: &Shared,
    store: &Store,
    call: &Call,
    right: Right,
) -> Result<NamespaceId, Reply> {
    namespace(shared, store, &call.query, &call.headers, right)
        .map_err(|missing| refuse_with(status_of_missing(&missing), missing.to_string()))
}

/// The body of `/api/config`: every setting as text.
fn settings(shared: &Shared) -> String {
    config_json(KEYS.iter().map(|key| (key.name, (key.show)(&shared.config))))
}

/// Reads a body's points into a batch.
type Decode = fn(&mut Batch<'_>, &Options, &mut Vec<Reject>) -> Result<u32, HttpError>;

/// `POST /api/put` and `/api/histogram`.
async fn put(shared: &Shared, call: Call, decode: Decode) -> Result<Reply, Reply> {
    let store = store(shared)?;
    let params = Params::parse(&call.query);
    let flags = PutFlags::parse(&params).map_err(|error| refuse(&error))?;
    let level = ack(shared, &call.headers)
        .map_err(|message| refuse_with(StatusCode::BAD_REQUEST, message))?;
    let namespace = namespace_of(shared, store, &call, Right::Write)?;
    let scope = call.write_scope(shared);
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    let target = (namespace, &scope);
    let work = || store_points(shared, store, target, decode, &flags, &text.bytes);
    let Put { answer, points, commit } = ingest::heavy(shared, text.bytes.len(), work).await?;
    shared.bytes.give(text.into_bytes());
    match commit {
        Some(commit) => confirm(store, commit, level, &flags, points, answer).await,
        None => Ok(reply_of(answer)),
    }
}

/// What became of a put before it is safe.
struct Put {
    answer: PutAnswer,
    points: u32,
    commit: Option<Commit>,
}

fn store_points(
    shared: &Shared,
    store: &Store,
    target: (NamespaceId, &Measurements),
    decode: Decode,
    flags: &PutFlags,
    text: &[u8],
) -> Result<Put, Reply> {
    let mut rejects: Vec<Reject> = Vec::new();
    let mut points = 0;
    let mut commit = None;
    for slice in Slices::new(text) {
        let mut refused = Vec::new();
        let (count, stored) = store_slice(shared, store, target, decode, &slice, &mut refused)?;
        // Points are counted over the whole body, and worded.
        let room = WORDED_MAX.saturating_sub(rejects.len());
        refused.iter_mut().for_each(|reject| reject.line += points);
        refused.iter_mut().skip(room).for_each(|reject| reject.reason = String::new());
        rejects.append(&mut refused);
        points += count;
        commit = stored.or(commit);
        if rejects.len() > REJECTS_MAX {
            let text = format!("More than {REJECTS_MAX} of the first {points} points had errors");
            return Err(refuse_with(StatusCode::BAD_REQUEST, text));
        }
    }
    Ok(Put { answer: put_answer(text, flags, points, &rejects), points, commit })
}

/// Stores one piece of a body; returns the number of its points.
fn store_slice(
    shared: &Shared,
    store: &Store,
    (namespace, scope): (NamespaceId, &Measurements),
    decode: Decode,
    slice: &[u8],
    rejects: &mut Vec<Reject>,
) -> Result<(u32, Option<Commit>), Reply> {
    let mut decoding = shared.batches.take();
    let secret = store.engine().key_secret();
    let mut batch = Batch::new(slice, namespace, &KEY_SYNTAX, secret, decoding.buffers);
    batch.find_points_by(datapoint);
    let outcome = decode(&mut batch, &options(shared), rejects);
    let stored = match &outcome {
        Ok(_) => {
            let terms = Terms { kinds: kinds_of(&batch), patience: Duration::ZERO };
            ingest::append(shared, store, Way::Put, &mut batch, scope, rejects, terms)
        }
        Err(error) => {
            let rows = batch.rows().len() as u64;
            ingest::refuse_whole(shared, Way::Put, rows, rejects, &error.message);
            Ok(None)
        }
    };
    decoding.buffers = batch.into_buffers();
    shared.batches.give(decoding);
    let points = outcome.map_err(|error| refuse(&error))?;
    let commit = stored.map_err(|error| refuse_with(status_of(&error), error.to_string()))?;
    Ok((points, commit))
}

/// A body has histograms in all of its points or in none.
fn kinds_of(batch: &Batch<'_>) -> KindsOf {
    let first = batch.rows().first();
    let cell = first.and_then(|row| batch.cells(row, 1).first());
    match cell.map(|cell| cell.kind) {
        Some(Kind::Histogram) => KindsOf::Histograms,
        _ => KindsOf::Samples,
    }
}

/// Waits until a put is safe, or for as long as its client wants to wait.
async fn confirm(
    store: &Store,
    commit: Commit,
    level: Ack,
    flags: &PutFlags,
    points: u32,
    answer: PutAnswer,
) -> Result<Reply, Reply> {
    let waiting = store.wait(commit, level);
    let outcome = match flags.sync_timeout_ms {
        0 => waiting.await,
        millis => match tokio::time::timeout(Duration::from_millis(millis), waiting).await {
            Ok(outcome) => outcome,
            Err(_) => return Ok(reply_of(put_timeout(flags, points))),
        },
    };
    match outcome {
        Ok(()) => Ok(reply_of(answer)),
        Err(error) => Err(refuse_with(status_of_wait(&error), error.to_string())),
    }
}

fn reply_of(answer: PutAnswer) -> Reply {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    match answer.body.is_empty() {
        true => Reply::empty(status),
        false => Reply::json(status, answer.body),
    }
}
