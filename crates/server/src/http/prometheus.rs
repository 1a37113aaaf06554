//! The Prometheus door over HTTP: remote write.

use super::routes::Right;
use super::{
    Call, Reply, ack, body, namespace, status_of, status_of_missing, status_of_wait, store,
};
use crate::ingest;
use crate::metrics::Way;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Measurements;
use foliot_engine::Commit;
use foliot_model::{Batch, NamespaceId};
use foliot_proto_prometheus::{KEY_SYNTAX, Version, WriteRequest};
use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use std::time::Duration;

/// What is asked of this door.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Remote write.
    Write,
}

/// What version 2.0 wants to know of a request.
const SAMPLES_WRITTEN: HeaderName =
    HeaderName::from_static("x-prometheus-remote-write-samples-written");
const HISTOGRAMS_WRITTEN: HeaderName =
    HeaderName::from_static("x-prometheus-remote-write-histograms-written");
const EXEMPLARS_WRITTEN: HeaderName =
    HeaderName::from_static("x-prometheus-remote-write-exemplars-written");

pub(super) async fn answer(shared: &Shared, endpoint: Endpoint, call: Call) -> Reply {
    match endpoint {
        Endpoint::Write => write(shared, call).await.unwrap_or_else(|reply| reply),
    }
}

async fn write(shared: &Shared, call: Call) -> Result<Reply, Reply> {
    let store = store(shared)?;
    let content_type = call.headers.get(header::CONTENT_TYPE);
    let content_type = content_type.map(|value| value.to_str().unwrap_or("?"));
    let version = Version::of_content_type(content_type).ok_or_else(|| {
        let text = "this Content-Type is not known: use application/x-protobuf with \
                    proto=prometheus.WriteRequest or proto=io.prometheus.write.v2.Request";
        Reply::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, text).close()
    })?;
    let level = ack(shared, &call.headers)
        .map_err(|message| Reply::text(StatusCode::BAD_REQUEST, message))?;
    let namespace = namespace(shared, store, &call.query, &call.headers, Right::Write)
        .map_err(|missing| Reply::text(status_of_missing(&missing), missing.to_string()))?;
    let scope = call.write_scope(shared);
    let bytes = shared.bytes.take();
    let text = body::read_snappy(shared, &call.headers, call.body, bytes).await?;
    let work = || take(shared, store, namespace, &scope, version, &text.bytes);
    let taken = ingest::heavy(text.bytes.len(), work)?;
    shared.bytes.give(text.into_bytes());
    let (reply, commit) = taken.reply(version);
    if let Some(commit) = commit
        && let Err(error) = store.wait(commit, level).await
    {
        return Err(Reply::text(status_of_wait(&error), error.to_string()));
    }
    Ok(reply)
}

/// What became of a request before it is safe.
#[derive(Default)]
struct Taken {
    written: u64,
    refused: u64,
    /// Number of the first series of which something was refused, and why.
    first: Option<(u32, String)>,
    commit: Option<Commit>,
}

/// Stores a request piece by piece. Nothing of one that cannot be read is stored.
fn take(
    shared: &Shared,
    store: &Store,
    namespace: NamespaceId,
    scope: &Measurements,
    version: Version,
    bytes: &[u8],
) -> Result<Taken, Reply> {
    let mut request = WriteRequest::parse(version, bytes).map_err(|error| {
        shared.metrics.way(Way::RemoteWrite).count_unworded(1);
        Reply::text(StatusCode::BAD_REQUEST, error.to_string())
    })?;
    shared.metrics.exemplars_dropped.add(request.counts().exemplars);
    let mut taken = Taken::default();
    loop {
        let mut decoding = shared.batches.take();
        let mut rejects = Vec::new();
        let secret = store.engine().key_secret();
        let mut batch = Batch::new(bytes, namespace, &KEY_SYNTAX, secret, decoding.buffers);
        let has_more = request.decode(&mut batch, &mut rejects);
        let (rows, refused) = (batch.rows().len() as u64, rejects.len() as u64);
        let way = Way::RemoteWrite;
        let patience = Duration::ZERO;
        let outcome = ingest::append(shared, store, way, &mut batch, scope, &mut rejects, patience);
        decoding.buffers = batch.into_buffers();
        shared.batches.give(decoding, bytes.len());
        let commit = outcome.map_err(|error| Reply::text(status_of(&error), error.to_string()))?;
        taken.commit = commit.or(taken.commit);
        taken.refused += rejects.len() as u64;
        taken.written += rows.saturating_sub(rejects.len() as u64 - refused);
        if taken.first.is_none() {
            let first = rejects.into_iter().min_by_key(|reject| reject.line);
            taken.first = first.map(|reject| (reject.line, reject.reason));
        }
        if !has_more {
            return Ok(taken);
        }
    }
}

impl Taken {
    /// The answer, and what must be safe before it is given: what was good is stored although
    /// something else is refused.
    fn reply(self, version: Version) -> (Reply, Option<Commit>) {
        let reply = match self.first {
            None => Reply::empty(StatusCode::NO_CONTENT),
            Some((series, reason)) => {
                let text = format!(
                    "{} samples were stored, {} refused; the first in series {series}: {reason}",
                    self.written, self.refused
                );
                Reply::text(StatusCode::BAD_REQUEST, text)
            }
        };
        let reply = match version {
            Version::V1 => reply,
            Version::V2 => reply
                .header(SAMPLES_WRITTEN, &self.written.to_string())
                .header(HISTOGRAMS_WRITTEN, "0")
                .header(EXEMPLARS_WRITTEN, "0"),
        };
        (reply, self.commit)
    }
}
