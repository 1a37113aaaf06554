//! What is answered from names and facts: lookups, latest samples, metadata, annotations, trees.

use super::ask::{Scope, check_size, refuse_failure, refused, text_asked};
use super::names::symbol_kind;
use super::{Call, refuse, refuse_with, rename, store};
use crate::http::{Reply, ack, body, reply, status_of, status_of_wait};
use crate::metrics::now_ns;
use crate::query;
use crate::shared::Shared;
use crate::store::Store;
use foliot_engine::{Commit, Error, Snapshot};
use foliot_exec::{Cancel, Meter};
use foliot_model::{NANOS_PER_MILLI, Selector, TimeRange};
use foliot_proto_opentsdb::{
    Answer, Change, Endpoint, HttpError, HttpRequest, Rename, RequiredName, Stored, Tsuid, UidKind,
    View, answer,
};
use hyper::StatusCode;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Answers a request, once what it changes is safe.
pub(super) async fn serve(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let store = store(shared)?;
    let scope = Scope::of(shared, &call)?;
    let level = ack(shared, &call.headers)
        .map_err(|message| refuse_with(StatusCode::BAD_REQUEST, message))?;
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    check_size(text.bytes.len())?;
    let request = HttpRequest {
        method: &call.method,
        path: &call.path,
        query: &call.query,
        body: &text.bytes,
    };
    let _slot = match endpoint.changes(&request) {
        true => None,
        false => Some(query::slot(shared, &scope.who).await.map_err(refuse_failure)?),
    };
    let cancel = Cancel::default();
    let meter = Meter::new(shared.query_limits, cancel.clone());
    let _entry = shared.queries.enter(
        scope.who.clone(),
        text_asked(&call.query, &text.bytes),
        scope.database().to_owned(),
        cancel,
    );
    let done =
        tokio::task::block_in_place(|| perform(shared, store, &scope, endpoint, &request, &meter));
    meter.met().for_each(|setting| shared.metrics.limits.add_named(setting));
    let (answer, commit) = done.map_err(|error| refuse(&error))?;
    if let Some(commit) = commit {
        let safe = store.wait(commit, level).await;
        safe.map_err(|error| refuse_with(status_of_wait(&error), error.to_string()))?;
    }
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    Ok(match answer.body.is_empty() {
        true => Reply::empty(status),
        false => Reply::new(status, reply::JSON, answer.body),
    })
}

/// Asks the door and makes the changes that it wants.
fn perform(
    shared: &Shared,
    store: &Store,
    scope: &Scope,
    endpoint: Endpoint,
    request: &HttpRequest<'_>,
    meter: &Meter,
) -> Result<(Answer, Option<Commit>), HttpError> {
    // What is read to be changed must not change meanwhile.
    let _alone = endpoint.changes(request).then(|| shared.facts.lock());
    let snapshot = store.snapshot(&scope.who);
    let commit = Cell::new(None);
    let answer =
        with_view(store, &snapshot, scope, &commit, meter, |view| answer(endpoint, request, view))?;
    for change in &answer.changes {
        commit.set(Some(make(store, change)?));
    }
    Ok((answer, commit.get()))
}

fn make(store: &Store, change: &Change) -> Result<Commit, HttpError> {
    let engine = store.engine();
    let made = match &change.bytes {
        Some(bytes) => engine.catalog_put(change.kind, &change.key, bytes),
        None => engine.catalog_delete(change.kind, &change.key),
    };
    made.map_err(|error| failed(&error))
}

/// Lends the store to the door, for as long as its request may go on and with the memory that it
/// may take. `commit` gets the last thing that was written meanwhile.
pub(super) fn with_view<T>(
    store: &Store,
    snapshot: &Snapshot,
    scope: &Scope,
    commit: &Cell<Option<Commit>>,
    meter: &Meter,
    ask: impl FnOnce(&View<'_>) -> Result<T, HttpError>,
) -> Result<T, HttpError> {
    let names = scope.names(snapshot, meter);
    let engine = store.engine();
    let goes_on = || meter.check(0).map_err(refused);
    let charge = RefCell::new(meter.open());
    ask(&View {
        now_ms: now_ns() / NANOS_PER_MILLI,
        namespace: scope.namespace,
        fact: &|kind, key| engine.catalog_get(kind, key),
        facts: &|kind| engine.catalog_list(kind),
        uid: &|kind: UidKind, name: &str| {
            snapshot.symbol_id(symbol_kind(kind), name).map_err(|error| failed(&error))
        },
        name: &|(kind, id)| {
            let name = snapshot.symbol_name(symbol_kind(kind), id).map_err(|e| failed(&e))?;
            Ok(name.map(|name| name.to_string()))
        },
        assign: &|kind: UidKind, name: &str| {
            let assigned = engine.assign_symbol(symbol_kind(kind), name);
            let (id, written) = assigned.map_err(|error| failed(&error))?;
            commit.set(written.or(commit.get()));
            Ok(id)
        },
        in_use: &|kind, name: &str| names.is_used(kind, name).map_err(refused),
        note: &|change: &Change| {
            commit.set(Some(make(store, change)?));
            Ok(())
        },
        rename: &|rename: &Rename| {
            let written = rename::rename(store, &names, scope, rename)?;
            commit.set(written.or(commit.get()));
            Ok(())
        },
        exists: &|name: &RequiredName<'_>| {
            goes_on()?;
            names.exists(name).map_err(refused)
        },
        select: &|selector: &Selector| names.select(selector, TimeRange::ALL).map_err(refused),
        tag_names: &|selector: &Selector| names.label_names(selector).map_err(refused),
        stored: &|sid| {
            goes_on()?;
            let stored = names.stored(sid).map_err(refused)?;
            let bytes = stored.as_ref().map_or(0, weight);
            charge.borrow_mut().add(bytes).map_err(refused)?;
            Ok(stored)
        },
        resolve: &|tsuid: &Tsuid| names.resolve(tsuid).map_err(refused),
        last: &|sid| {
            goes_on()?;
            names.last(sid).map_err(refused)
        },
    })
}

/// What a series weighs that an answer is to hold.
fn weight(stored: &Stored) -> usize {
    let Stored { metric, tags, .. } = stored;
    let of_tags: usize = tags.iter().map(|(name, value)| name.len() + value.len()).sum();
    // Once as it is and once as it is written, with what surrounds its names.
    2 * (metric.len() + of_tags + tags.len() * 64 + 256)
}

pub(super) fn failed(error: &Error) -> HttpError {
    HttpError::new(status_of(error).as_u16(), error.to_string())
}
