//! What is answered from names and facts: lookups, latest samples, metadata, annotations, trees.

use super::ask::{Scope, check_size, failure, reading_of, refuse_failure, refused, text_asked};
use super::names::symbol_kind;
use super::{Call, refuse_with, rename};
use crate::http::{NO_ROOM_FOR_NAMES, Reply, accepts_gzip, ack, body, reply, status_of};
use crate::metrics::now_ns;
use crate::query::{self, Work};
use crate::shared::{Alone, Shared};
use crate::store::Store;
use foliot_engine::{Commit, Error, Snapshot};
use foliot_exec::{Charge, Meter, Ran};
use foliot_model::{NANOS_PER_MILLI, Selector, TimeRange};
use foliot_proto_opentsdb::{
    Answer, Change, Endpoint, HttpError, HttpRequest, Rename, RequiredName, Stored, Tsuid, UidKind,
    View, answer,
};
use hyper::StatusCode;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// What a fact takes beside its key and what it says.
const FACT_BYTES: usize = 64;

/// Answers a request, once what it changes is safe.
pub(super) async fn serve(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let scope = Scope::of(shared, &call)?;
    let level = ack(shared, &call.headers)
        .map_err(|message| refuse_with(StatusCode::BAD_REQUEST, message))?;
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    check_size(text.bytes.len())?;
    let reading = reading_of(&scope, &call.query, &text.bytes).await?;
    let gzip = accepts_gzip(&call.headers);
    let (method, path, query) = (call.method, call.path, call.query);
    let asked = format!("{path} {}", text_asked(&query, &text.bytes));
    let request = HttpRequest { method: &method, path: &path, query: &query, body: &text.bytes };
    let changes = endpoint.changes(&request);
    let mut alone = match changes {
        true => Some(alone(shared).await?),
        false => None,
    };
    let job = scope.job(&asked, move |scope, work| {
        let (method, path, query) = (&*method, &*path, &*query);
        let request = HttpRequest { method, path, query, body: &text.bytes };
        let (answer, commit) = {
            let _alone = alone.take();
            perform(scope, endpoint, &request, work).map_err(failure)?
        };
        if let Some(commit) = commit {
            work.confirm(commit, level)?;
        }
        work.set_status(StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK));
        work.write(answer.body.as_bytes())?;
        Ok(Ran::default())
    });
    // A list of the latest samples changes nothing, and is often short.
    let job = reading.then(job.that_selects(endpoint == Endpoint::Last).that_waits(changes));
    query::answer(shared, reply::JSON, gzip, job).await.map_err(refuse_failure)
}

/// Asks the door and makes the changes that it wants. What is read to be changed must not change
/// meanwhile: for a change [`Shared::alone`] is held.
pub(in crate::http) fn perform(
    scope: &Scope,
    endpoint: Endpoint,
    request: &HttpRequest<'_>,
    work: &Work<'_>,
) -> Result<(Answer, Option<Commit>), HttpError> {
    let Some(store) = scope.shared.store() else {
        return Err(HttpError::new(503, "the store is being opened"));
    };
    // One that waited sees what the others changed.
    let snapshot = store.snapshot(&scope.who);
    let (commit, meter) = (Cell::new(None), work.meter());
    let ask = |view: &View<'_>| answer(endpoint, request, view);
    let answer = with_view(store, &snapshot, scope, &commit, &meter, ask)?;
    for change in &answer.changes {
        commit.set(Some(make(store, change)?));
    }
    Ok((answer, commit.get()))
}

/// Waits for others who change facts, for as long as a request may go on.
async fn alone(shared: &Shared) -> Result<Alone, Reply> {
    let text = "Another request changes names or notes (limits.query_seconds); try again";
    let busy = || refuse_with(StatusCode::SERVICE_UNAVAILABLE, text);
    shared.alone(shared.query_limits.seconds).await.ok_or_else(busy)
}

/// Notes about everything that overlap a range of milliseconds: the `most` that begin last, and
/// whether there are no others.
pub(in crate::http) fn notes_over(
    scope: &Scope,
    range: (i64, i64),
    most: usize,
    work: &Work<'_>,
) -> Result<(Vec<Value>, bool), HttpError> {
    let Some(store) = scope.shared.store() else {
        return Err(HttpError::new(503, "the store is being opened"));
    };
    let snapshot = store.snapshot(&scope.who);
    let (commit, meter) = (Cell::new(None), work.meter());
    with_view(store, &snapshot, scope, &commit, &meter, |view| {
        foliot_proto_opentsdb::notes_over(view, range, most)
    })
}

fn make(store: &Store, change: &Change) -> Result<Commit, HttpError> {
    let engine = store.engine();
    if change.bytes.is_some() && !engine.has_room_for_names(1) {
        return Err(no_room());
    }
    let made = match &change.bytes {
        Some(bytes) => engine.catalog_put(change.kind, &change.key, bytes),
        None => engine.catalog_delete(change.kind, &change.key),
    };
    made.map_err(|error| failed(&error))
}

fn no_room() -> HttpError {
    HttpError::new(503, NO_ROOM_FOR_NAMES)
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
        fact: &|kind, key| {
            goes_on()?;
            Ok(engine.catalog_get(kind, key))
        },
        facts: &|kind, prefix| facts(store, (kind, prefix), meter, &mut charge.borrow_mut()),
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
            match id {
                None if !engine.has_room_for_names(1) => Err(no_room()),
                id => Ok(id),
            }
        },
        in_use: &|kind, name: &str| names.is_used(kind, name).map_err(refused),
        keep: &|bytes| charge.borrow_mut().add(bytes).map_err(refused),
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
        unknown_is_empty: scope.unknown_is_empty,
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

/// The facts of a kind whose keys begin so, as far as there is time and memory for them.
fn facts(
    store: &Store,
    (kind, prefix): (&str, &str),
    meter: &Meter,
    charge: &mut Charge<'_>,
) -> Result<Vec<(String, Vec<u8>)>, HttpError> {
    let mut facts = Vec::new();
    store
        .engine()
        .catalog_each(kind, prefix, |key, bytes| {
            // Once as it is and once as it is read.
            charge.add(2 * (FACT_BYTES + key.len() + bytes.len()))?;
            meter.check(0)?;
            facts.push((key.to_owned(), bytes.to_owned()));
            Ok::<_, foliot_exec::Error>(())
        })
        .map_err(refused)?;
    Ok(facts)
}

/// What a series weighs that an answer is to hold.
fn weight(stored: &Stored) -> usize {
    let Stored { metric, tags, .. } = stored;
    let of_tags: usize = tags.iter().map(|tag| tag.name.len() + tag.value.len()).sum();
    // Once as it is and once as it is written, with what surrounds its names.
    2 * (metric.len() + of_tags + tags.len() * 64 + 256)
}

pub(super) fn failed(error: &Error) -> HttpError {
    HttpError::new(status_of(error).as_u16(), error.to_string())
}
