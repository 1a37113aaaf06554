//! The InfluxDB door over HTTP: writes of line protocol here, and what is asked beside it.

mod account;
mod ask;
mod buckets;
mod change;
mod doomed;
mod into;
mod lines;
mod list;
mod needs;
mod rows;
mod said;
mod select;
mod sql;
mod tokens;
mod version3;

pub(in crate::http) use ask::{Tables, changes, tell, whole};
pub(in crate::http) use list::missing;
pub(crate) use needs::may_ask;
pub(in crate::http) use needs::may_read;
pub(in crate::http) use select::plan_for;
pub(crate) use select::run_into;

use super::prometheus::page;
use super::routes::{self, Right, Route, Target};
use super::{
    Call, Dialect, INFLUX_VERSION, Reply, ack, body, status_of, status_of_missing, status_of_wait,
    store,
};
use crate::ingest;
use crate::shared::Shared;
use foliot_access::Access;
use foliot_engine::{Ack, Commit};
use foliot_model::NamespaceId;
use foliot_proto_influx::answer::{Answer, Outcome, error_answer, write_answer};
use foliot_proto_influx::{WriteApi, WriteRequest};
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use lines::Order;
use std::sync::Arc;

/// Most bytes of a request that is to be stored as a whole or not at all.
const ATOMIC_BYTES_MAX: usize = 16 << 20;

pub(super) async fn answer(shared: &Arc<Shared>, route: &Route, call: Call) -> Reply {
    match route.target {
        // A link to the page of Prometheus 3, which is there.
        Target::InfluxQuery if is_link(&call) => {
            let address = page("/query", &call.query);
            Reply::empty(StatusCode::FOUND).header(header::LOCATION, &address)
        }
        Target::InfluxQuery => ask::query(shared, call).await,
        Target::InfluxWrite2 => write(shared, WriteApi::V2, call).await,
        Target::InfluxWrite3 => write(shared, WriteApi::V3, call).await,
        Target::InfluxWrite if route.path == "/api/write" => {
            write(shared, WriteApi::TickTock, call).await
        }
        Target::InfluxWrite => write(shared, WriteApi::V1, call).await,
        Target::InfluxQuery3 | Target::InfluxSql | Target::InfluxDatabase => {
            version3::answer(shared, route.target, call).await
        }
        Target::InfluxTokens | Target::InfluxToken => {
            let answered = tokens::answer(shared, route.target, call).await;
            influx_headers(answered.unwrap_or_else(|reply| reply))
        }
        _ => buckets::answer(shared, route, call).await,
    }
}

/// Whether somebody wants to look at an expression, and no statement is asked.
fn is_link(call: &Call) -> bool {
    let has = |name| Params::first(&call.query, name).is_some();
    call.method == "GET" && has("g0.expr") && !has("q")
}

/// What `OPTIONS` is answered where InfluxDB takes it: nothing, and to everyone.
pub(super) fn options(call: &Call) -> Option<Reply> {
    let is_taken = call.method == "OPTIONS" && matches!(&*call.path, "/query" | "/write");
    is_taken.then(|| influx_headers(Reply::empty(StatusCode::OK)))
}

const VERSION: HeaderName = HeaderName::from_static("x-influxdb-version");
const BUILD: HeaderName = HeaderName::from_static("x-influxdb-build");

/// The headers by which clients know an InfluxDB and its version.
fn influx_headers(reply: Reply) -> Reply {
    reply.fixed(VERSION, INFLUX_VERSION).fixed(BUILD, "OSS")
}

async fn write(shared: &Shared, api: WriteApi, call: Call) -> Reply {
    influx_headers(match write_lines(shared, api, call).await {
        Ok(None) => Reply::empty(StatusCode::NO_CONTENT),
        Ok(Some(answer)) => dress(answer),
        Err(reply) => reply,
    })
}

async fn write_lines(shared: &Shared, api: WriteApi, call: Call) -> Result<Option<Answer>, Reply> {
    let refuse = |status: StatusCode, message: &str| {
        dress(error_answer(api, status.as_u16(), message)).close()
    };
    let bad = |message: String| refuse(StatusCode::BAD_REQUEST, &message);
    let store = store(shared)?;
    let usual = &shared.config.listen_database;
    // Where VictoriaMetrics is expected, nobody names a database.
    let usual = (call.dialect == Dialect::VictoriaMetrics)
        .then_some((&*usual.database, usual.policy.as_deref()));
    let request = WriteRequest::parse(api, &call.query, usual);
    let request = request.map_err(|error| bad(error.to_string()))?;
    let mut level = ack(shared, &call.headers).map_err(bad)?;
    if request.no_sync && level == Ack::Durable {
        level = Ack::Os;
    }
    let (database, policy) = (&request.database, request.policy.as_deref());
    if api != WriteApi::TickTock {
        let may = needs::may_write(&call.who, database);
        may.map_err(|message| refuse(StatusCode::FORBIDDEN, &message))?;
    }
    let named = match api {
        WriteApi::TickTock => {
            super::namespace(shared, store, &call.query, &call.headers, Right::Write)
        }
        _ => store.find_or_create(database, policy, shared.config.influx_auto_create_database),
    };
    let namespace =
        named.map_err(|missing| refuse(status_of_missing(&missing), &missing.to_string()))?;
    let scope = match api {
        WriteApi::TickTock => call.write_scope(shared),
        _ => call.who.measurements(database, Access::Write),
    };
    let text = body::read(shared, &call.headers, call.body, shared.bytes.take()).await?;
    if !request.accepts_partial && text.bytes.len() > ATOMIC_BYTES_MAX {
        let message = format!(
            "a request with accept_partial=false can have {ATOMIC_BYTES_MAX} bytes: send less at once"
        );
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let order = Order {
        precision: request.precision,
        accepts_partial: request.accepts_partial,
        scope: &scope,
    };
    let decode = || take(shared, store, namespace, order, api, &text.bytes);
    let (answer, commit) = ingest::heavy(shared, text.bytes.len(), decode).await?;
    shared.bytes.give(text.into_bytes());
    if let Some(commit) = commit
        && let Err(error) = store.wait(commit, level).await
    {
        let status = status_of_wait(&error);
        return Err(dress(error_answer(api, status.as_u16(), &error.to_string())));
    }
    Ok(answer)
}

/// Stores the lines; the commit is to be waited for before the answer is given.
fn take(
    shared: &Shared,
    store: &crate::store::Store,
    namespace: NamespaceId,
    order: Order<'_>,
    api: WriteApi,
    text: &[u8],
) -> Result<(Option<Answer>, Option<Commit>), Reply> {
    let stored = lines::store_lines(shared, store, namespace, order, text).map_err(|error| {
        dress(error_answer(api, status_of(&error).as_u16(), &error.to_string()))
    })?;
    let outcome = Outcome {
        lines: text,
        rows: stored.rows,
        decoded: stored.decoded,
        refused: &stored.refused,
        dropped: &stored.dropped,
        rows_dropped: stored.rows_dropped,
    };
    Ok((write_answer(api, &outcome), stored.commit))
}

/// What is said where nothing is, or nothing for this method, in the form of the path's version.
pub(in crate::http) fn no_route(path: &str, status: StatusCode, text: &str) -> Reply {
    let api = routes::influx_api(path).unwrap_or(WriteApi::V2);
    dress(error_answer(api, status.as_u16(), text))
}

pub(super) fn dress(answer: Answer) -> Reply {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::BAD_REQUEST);
    Reply::new(status, "application/json", answer.body)
        .header(HeaderName::from_static("x-influxdb-error"), &answer.error_header)
}
