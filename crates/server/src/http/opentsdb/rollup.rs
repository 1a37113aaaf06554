//! `POST /api/rollup`, and what questions must know of the tables of rollups.

use super::ask::refused;
use super::names::Names;
use super::{Call, confirm, namespace_of, refuse, refuse_with, reply_of, store};
use crate::aside::aside;
use crate::http::routes::Right;
use crate::http::{Reply, ack, body, status_of_missing};
use crate::ingest;
use crate::metrics::Way;
use crate::rollups;
use crate::shared::Shared;
use crate::store::Store;
use crate::telnet::options;
use foliot_model::{Reject, Selector};
use foliot_proto_opentsdb::{
    HttpError, Params, PutFlags, Request, Tables, decode_rollups, put_answer,
};
use hyper::StatusCode;

pub(super) async fn put(shared: &Shared, call: Call) -> Result<Reply, Reply> {
    let store = store(shared)?;
    let params = Params::parse(&call.query);
    let flags = PutFlags::parse(&params).map_err(|error| refuse(&error))?;
    let level = ack(shared, &call.headers)
        .map_err(|message| refuse_with(StatusCode::BAD_REQUEST, message))?;
    // The database must be there, or may be created, as for other points.
    namespace_of(shared, store, &call, Right::Write)?;
    let (database, scope) = (call.database(shared), call.write_scope(shared));
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    let work = || -> Result<_, Reply> {
        let mut rejects: Vec<Reject> = Vec::new();
        let decoded = decode_rollups(&text.bytes, &options(shared), &mut rejects);
        let (count, points) = decoded.map_err(|error| {
            ingest::refuse_whole(shared, Way::Rollup, 0, &mut rejects, &error.message);
            refuse(&error)
        })?;
        shared.metrics.way(Way::Rollup).count_rejects(&rejects);
        let commit = rollups::store(shared, store, (&database, &scope), &points, &mut rejects)
            .map_err(|error| refuse_with(status_of_missing(&error), error.to_string()))?;
        Ok((put_answer(&text.bytes, &flags, count, &rejects), count, commit))
    };
    let (answer, count, commit) = aside(work)?;
    shared.bytes.give(text.into_bytes());
    match commit {
        Some(commit) => confirm(store, commit, level, &flags, count, answer).await,
        None => Ok(reply_of(answer)),
    }
}

/// Chooses the table that answers each of a request's questions.
pub(super) fn choose_tables(
    shared: &Shared,
    store: &Store,
    database: &str,
    names: &Names<'_>,
    request: &mut Request,
) -> Result<(), HttpError> {
    let mut failed = Ok(());
    let chosen = request.choose_tables(&mut Tables {
        rollups: shared.config.opentsdb_rollups.rollups.as_deref(),
        find: &|table| rollups::find(store, database, table),
        has_samples: &|selector: &Selector, range| {
            names.has_samples(selector, range).map_err(refused)
        },
        resolve: &mut |tsuid, place| {
            names.resolve_in(tsuid, place).unwrap_or_else(|error| {
                failed = Err(refused(error));
                Vec::new()
            })
        },
    });
    chosen.and(failed)
}
