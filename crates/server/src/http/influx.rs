//! Writes of line protocol, as InfluxDB 1, 2 and 3 and TickTock take them.

use super::routes::{Right, Route, Target};
use super::{Call, Reply, ack, body, status_of, status_of_missing, status_of_wait, store};
use crate::ingest;
use crate::metrics::{Way, now_ns};
use crate::shared::Shared;
use crate::store::Store;
use foliot_engine::{Ack, Commit, Error};
use foliot_model::{Batch, NamespaceId, Reject};
use foliot_proto_influx::answer::{Answer, Outcome, error_answer, write_answer};
use foliot_proto_influx::{Decoded, LINE_SYNTAX, Settings, WriteApi, WriteRequest};
use hyper::StatusCode;
use hyper::header::HeaderName;
use std::time::Duration;

/// Lines of a request that become one batch: large enough that batches cost nothing, small enough
/// that their memory does not show.
const SLICE_BYTES: usize = 4 << 20;

/// Most bytes of a request that is to be stored as a whole or not at all.
const ATOMIC_BYTES_MAX: usize = 16 << 20;

/// Refused lines that are worded; an answer that repeats more helps nobody.
const REJECTS_MAX: usize = 1000;

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
    let (database, policy) = (&request.database, request.policy.as_deref());
    let named = match api {
        WriteApi::TickTock => {
            super::namespace(shared, store, &call.query, &call.headers, Right::Write)
        }
        _ => store.databases().find_or_create(
            store.engine(),
            database,
            policy,
            shared.config.influx_auto_create_database,
        ),
    };
    let namespace =
        named.map_err(|missing| refuse(status_of_missing(&missing), &missing.to_string()))?;
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    if !request.accepts_partial && text.bytes.len() > ATOMIC_BYTES_MAX {
        let message = format!(
            "a request with accept_partial=false can have {ATOMIC_BYTES_MAX} bytes: send less at once"
        );
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
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

/// What became of lines before they are safe.
#[derive(Default)]
struct Stored {
    rows: usize,
    decoded: Decoded,
    refused: Vec<Reject>,
    dropped: Vec<Reject>,
    commit: Option<Commit>,
}

/// Decodes and stores the lines; the commit is to be waited for before the answer is given. Large
/// requests are stored in slices, because a batch takes several times the memory of its lines.
fn store_lines(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    request: &WriteRequest,
    api: WriteApi,
    lines: &[u8],
) -> Result<(Option<Answer>, Option<Commit>), Reply> {
    let now_ns = now_ns();
    let mut stored = Stored::default();
    let mut slice_bytes = SLICE_BYTES;
    while let Some(rest) = lines.get(stored.decoded.bytes..).filter(|rest| !rest.is_empty()) {
        // Whether all lines are good is known only when all were decoded.
        let is_whole = !request.accepts_partial || rest.len() <= slice_bytes;
        let slice = if is_whole { rest } else { rest.get(..slice_bytes).unwrap_or(rest) };
        let settings = Settings {
            precision: request.precision,
            now_ns,
            first_line: stored.decoded.next_line,
            is_partial: !is_whole,
        };
        let slice = Slice { lines: slice, settings, accepts_partial: request.accepts_partial };
        let step = store_slice(shared, store, namespace, &slice, &mut stored);
        let bytes = step.map_err(|error| {
            dress(error_answer(api, status_of(&error).as_u16(), &error.to_string()))
        })?;
        match (bytes, is_whole) {
            (_, true) => break,
            // One line fills the slice; it needs a larger one.
            (0, false) => slice_bytes = slice_bytes.saturating_mul(2),
            _ => slice_bytes = SLICE_BYTES,
        }
    }
    let Stored { rows, decoded, refused, dropped, commit } = &stored;
    let outcome = Outcome { lines, rows: *rows, decoded: *decoded, refused, dropped };
    Ok((write_answer(api, &outcome), *commit))
}

/// Some of a request's lines.
struct Slice<'a> {
    lines: &'a [u8],
    settings: Settings,
    accepts_partial: bool,
}

/// Stores a slice, adds what became of it to `stored`, and returns how many bytes were read.
fn store_slice(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    slice: &Slice<'_>,
    stored: &mut Stored,
) -> Result<usize, Error> {
    let ingest = shared.metrics.way(Way::InfluxHttp);
    let mut decoding = shared.batches.take();
    let secret = store.engine().key_secret();
    let mut batch = Batch::new(slice.lines, namespace, &LINE_SYNTAX, secret, decoding.buffers);
    let mut rejects: Vec<Reject> = Vec::new();
    let decoded = decoding.lines.decode(&mut batch, slice.settings, &mut rejects);
    let worded = rejects.len();
    let rows = batch.rows().len();
    ingest.count_unworded(decoded.refused.saturating_sub(worded) as u64);
    let appended = match rows > 0 && worded > 0 && !slice.accepts_partial {
        true => {
            ingest.count_rejects(&rejects);
            ingest.count_unworded(rows as u64);
            None
        }
        false => {
            let (way, patience) = (Way::InfluxHttp, Duration::ZERO);
            let commit = ingest::append(shared, store, way, &batch, &mut rejects, patience)?;
            stored.rows += rows.saturating_sub(rejects.len() - worded);
            commit
        }
    };
    decoding.buffers = batch.into_buffers();
    shared.batches.give(decoding, slice.lines.len());
    stored.commit = appended.or(stored.commit);
    stored.decoded.bytes += decoded.bytes;
    stored.decoded.next_line = decoded.next_line;
    stored.decoded.refused += decoded.refused;
    let dropped = rejects.split_off(worded.min(rejects.len()));
    let room = |list: &Vec<Reject>| REJECTS_MAX.saturating_sub(list.len());
    stored.refused.extend(rejects.into_iter().take(room(&stored.refused)));
    stored.dropped.extend(dropped.into_iter().take(room(&stored.dropped)));
    Ok(decoded.bytes)
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
