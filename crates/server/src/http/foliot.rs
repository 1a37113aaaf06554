//! Foliot's own JSON API, `/api/foliot/v1/…`: what the page at `/` asks, and anyone may. It is
//! described in `docs/api.md` and, for machines, in `docs/openapi.json`.
//!
//! It has no evaluator of its own: a question is parsed and planned by the door whose language it
//! is in, carried out by `exec`, and written down here.

mod annotations;
mod cardinality;
mod catalogue;
mod delete;
mod encode;
mod history;
mod import;
mod metric;
mod monitor;
mod promql;
mod queries;
mod query;
mod retention;
mod saved;
mod senders;
mod series;
mod settings;
mod status;

use super::{
    Call, NOTHING_CHANGED, Reply, body, namespace, not_read, status_of_missing, store,
    unknown_param,
};
use crate::http::routes::Right;
use crate::query::Failure;
use crate::shared::Shared;
use crate::store::Store;
use foliot_model::NamespaceId;
use foliot_proto_opentsdb::{Params, parse_once};
use hyper::StatusCode;
use hyper::header;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What a path of this API is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Query,
    Catalogue,
    Cardinality,
    Series,
    Metric,
    Delete,
    Saved,
    Annotations,
    Import,
    Status,
    Senders,
    Targets,
    Rules,
    Alerts,
    History,
    Settings,
    Logs,
    Retention,
    RetentionTest,
    Queries,
    Costs,
    Cancel,
}

impl Endpoint {
    /// Whether a request by this method changes what is stored.
    pub(super) fn changes(self, method: &str) -> bool {
        match self {
            Self::Delete | Self::Import => true,
            Self::Saved | Self::Annotations => !matches!(method, "GET" | "HEAD"),
            _ => false,
        }
    }
}

pub(super) async fn answer(shared: &Arc<Shared>, endpoint: Endpoint, call: Call) -> Reply {
    let answered = match endpoint {
        Endpoint::Query => query::answer(shared, call).await,
        Endpoint::Catalogue => catalogue::answer(shared, call).await,
        Endpoint::Cardinality => cardinality::answer(shared, call).await,
        Endpoint::Series => series::answer(shared, call).await,
        Endpoint::Metric => metric::answer(shared, call).await,
        Endpoint::Saved => saved::answer(shared, call).await,
        Endpoint::Annotations => annotations::answer(shared, call).await,
        Endpoint::Import => import::answer(shared, call).await,
        Endpoint::History => Ok(history::answer(shared)),
        Endpoint::Settings => Ok(settings::list(shared)),
        Endpoint::Logs => settings::logs(&call),
        Endpoint::Retention => retention::list(shared),
        Endpoint::RetentionTest => retention::test(shared, call).await,
        Endpoint::Costs => Ok(queries::costs(shared, &call.who)),
        Endpoint::Delete => delete::answer(shared, call).await,
        Endpoint::Senders => senders::list(shared, &call),
        Endpoint::Targets => monitor::targets(shared, &call),
        Endpoint::Rules => monitor::rules(shared, &call),
        Endpoint::Alerts => monitor::alerts(shared, &call),
        Endpoint::Status => Ok(status::answer(shared)),
        Endpoint::Queries => Ok(queries::list(shared, &call.who)),
        Endpoint::Cancel => queries::cancel(shared, call).await,
    };
    answered.unwrap_or_else(|reply| reply).header(header::CACHE_CONTROL, "no-store")
}

/// An error in the shape of this API.
pub(super) fn refuse(status: StatusCode, message: &str) -> Reply {
    dress(status, json!({"message": message}))
}

/// An error at a place of a query's text; line and column are counted from 1.
fn refuse_at(message: &str, position: Option<(usize, usize)>) -> Reply {
    let position = position.map(|(line, column)| json!({"line": line, "column": column}));
    dress(StatusCode::BAD_REQUEST, json!({"message": message, "position": position}))
}

fn dress(status: StatusCode, error: Value) -> Reply {
    Reply::json(status, json!({"error": error}).to_string())
}

fn refuse_failure(failure: &Failure) -> Reply {
    refuse(failure.status, &failure.message)
}

fn bad(message: &str) -> Reply {
    refuse(StatusCode::BAD_REQUEST, message)
}

/// Longest body of a request that is an object of a few fields.
const BODY_BYTES_MAX: usize = 1 << 20;

/// The body of a request, an object with no members but the `known` ones: a misspelt wish must not
/// do more than was meant.
async fn body_of(shared: &Shared, call: Call, known: &[&str]) -> Result<Map<String, Value>, Reply> {
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if text.bytes.len() > BODY_BYTES_MAX {
        let message = format!("the request is longer than {BODY_BYTES_MAX} bytes");
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let body = parse_once(&text.bytes).map_err(|error| bad(&not_read(&error)))?;
    let Value::Object(body) = body else { return Err(bad("the body must be an object of JSON")) };
    match body.keys().find(|name| !known.contains(&name.as_str())) {
        Some(other) => Err(bad(&format!("{other}: is none of {}", known.join(", ")))),
        None => Ok(body),
    }
}

/// Refuses parameters of a change that are none of these, nor name a database.
fn check_params(params: &Params, known: &[&str]) -> Result<(), Reply> {
    let known = [known, &["db", "rp"]].concat();
    match unknown_param(params, &known) {
        None => Ok(()),
        Some(name) => Err(bad(&format!("{name}: {NOTHING_CHANGED}"))),
    }
}

/// The store and the namespace that a request names.
fn place<'s>(shared: &'s Shared, call: &Call) -> Result<(&'s Store, NamespaceId), Reply> {
    let store = store(shared)?;
    let found = namespace(shared, store, &call.query, &call.headers, Right::Read);
    let found = found.map_err(|error| refuse(status_of_missing(&error), &error.to_string()))?;
    Ok((store, found))
}

/// How many entries of a list a request wants.
fn limit(params: &Params, usual: usize, max: usize) -> Result<usize, Reply> {
    match params.get("limit").map(str::parse::<usize>) {
        None => Ok(usual),
        Some(Ok(limit)) if (1..=max).contains(&limit) => Ok(limit),
        Some(_) => Err(bad(&format!("limit: must be a number from 1 to {max}"))),
    }
}
