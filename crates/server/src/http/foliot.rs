//! Foliot's own JSON API, `/api/foliot/v1/…`: what the page at `/` asks, and anyone may. It is
//! described in `docs/api.md` and, for machines, in `docs/openapi.json`.
//!
//! It has no evaluator of its own: a question is parsed and planned by the door whose language it
//! is in, carried out by `exec`, and written down here.

mod annotations;
mod audit;
mod backups;
mod bounds;
mod cardinality;
mod catalogue;
mod delete;
mod encode;
mod history;
mod import;
mod jobs;
mod letters;
mod limits;
mod metric;
mod monitor;
mod promql;
mod queries;
mod query;
mod relabel;
mod retention;
mod saved;
mod senders;
mod series;
mod settings;
mod status;
mod steps;
mod tables;
mod weighed;

use super::{
    Call, Reply, accepts_gzip, body, means_preview, namespace, not_read, reply, status_of_missing,
};
use crate::http::routes::Right;
use crate::http::{status_of, status_of_wait};
use crate::opening;
use crate::query::{Failure, Job, Title, Weight, Work};
use crate::shared::{Alone, Shared};
use crate::store::Store;
use foliot_engine::{Commit, Error};
use foliot_exec::Ran;
use foliot_model::{NamespaceId, excerpt};
use foliot_proto_opentsdb::{Params, parse_once};
use hyper::StatusCode;
use hyper::header;
use serde_json::{Map, Value, json};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

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
    Limits,
    Annotations,
    Import,
    Status,
    Senders,
    Targets,
    Rules,
    Alerts,
    Relabel,
    History,
    Settings,
    Logs,
    Retention,
    RetentionTest,
    Queries,
    Costs,
    Cancel,
    Jobs,
    CancelJob,
    Backups,
    Audit,
}

impl Endpoint {
    /// Whether a request by this method changes what is stored.
    pub(super) fn changes(self, method: &str) -> bool {
        match self {
            Self::Delete | Self::Import => true,
            Self::Saved | Self::Limits | Self::Annotations => method != "GET",
            _ => false,
        }
    }

    /// The parameters that it has by this method, beside `db` and `rp`.
    pub(super) fn params(self, method: &str) -> &'static [&'static str] {
        match (self, method) {
            (Self::Catalogue, _) => {
                const NAMES: &[&str] = &[
                    "of",
                    "search",
                    "without",
                    "limit",
                    "metric",
                    "measurement",
                    "label",
                    "help",
                    "filters",
                ];
                NAMES
            }
            (Self::Cardinality, _) => &[
                "metric",
                "measurement",
                "label",
                "value",
                "limit",
                "start_ms",
                "end_ms",
                "weigh",
                "last",
            ],
            (Self::Series, _) => &["metric", "measurement", "label", "value", "limit"],
            (Self::Metric, _) => &["metric", "measurement"],
            (Self::Delete, _) => &["dry_run"],
            (Self::Limits, "DELETE") => &["metric"],
            (Self::Saved, "DELETE") => &["name", "was_changed_ms"],
            (Self::Annotations, "GET") => &["start_ms", "end_ms", "limit"],
            (Self::Annotations, "DELETE") => &["start_ms"],
            (Self::Import, _) => &[
                "format",
                "precision",
                "first_line",
                "dry_run",
                "file",
                "total_bytes",
                "done_bytes",
                "job",
            ],
            (Self::Logs | Self::Alerts | Self::Audit, _) => &["limit"],
            (Self::Costs, _) => &["within_ms"],
            (Self::Senders, _) => &["limit", "by"],
            (Self::Targets, _) => &["job", "state", "search", "limit"],
            _ => &[],
        }
    }

    /// Refuses a parameter that it does not have: a misspelt wish must not be answered as none, or
    /// change more than was meant.
    fn check_params(self, call: &Call) -> Result<(), Reply> {
        let known = [self.params(&call.method), &["db", "rp"]].concat();
        let has_preview = known.contains(&"dry_run");
        let params = Params::parse(&call.query);
        let nothing = if self.changes(&call.method) { ", and nothing is changed" } else { "" };
        if let Some(name) = params.twice(&[]) {
            let text = format!("{name}: this is given twice, and either may be meant{nothing}");
            return Err(bad(&text).close());
        }
        let is_known = |name: &&str| known.contains(name) || has_preview && means_preview(name);
        let Some(other) = params.names().find(|name| !is_known(name)) else { return Ok(()) };
        let text = format!("{other}: is none of {}{nothing}", known.join(", "));
        Err(bad(&text).close())
    }
}

/// Says that nothing is at a path of this API, or nothing that goes by that method.
pub(super) fn no_route(status: StatusCode, text: &str) -> Reply {
    refuse(status, &format!("{text}; see docs/api.md"))
}

/// Whether a path is of this API, whatever is there.
pub(super) fn is_path(path: &str) -> bool {
    path.strip_prefix("/api/foliot").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(super) async fn answer(shared: &Arc<Shared>, endpoint: Endpoint, call: Call) -> Reply {
    if let Err(reply) = endpoint.check_params(&call) {
        return reply;
    }
    let answered = match endpoint {
        Endpoint::Query => query::answer(shared, call).await,
        Endpoint::Catalogue => catalogue::answer(shared, call).await,
        Endpoint::Cardinality => cardinality::answer(shared, call).await,
        Endpoint::Series => series::answer(shared, call).await,
        Endpoint::Metric => metric::answer(shared, call).await,
        Endpoint::Saved => saved::answer(shared, call).await,
        Endpoint::Limits => limits::answer(shared, call).await,
        Endpoint::Annotations => annotations::answer(shared, call).await,
        Endpoint::Import => import::answer(shared, call).await,
        Endpoint::History => Ok(history::answer(shared)),
        Endpoint::Settings => Ok(settings::list(shared)),
        Endpoint::Logs => settings::logs(&call),
        Endpoint::Retention => retention::list(shared),
        Endpoint::RetentionTest => retention::test(shared, call).await,
        Endpoint::Costs => queries::costs(shared, &call),
        Endpoint::Delete => delete::answer(shared, call).await,
        Endpoint::Senders => senders::list(shared, &call),
        Endpoint::Targets => monitor::targets(shared, &call),
        Endpoint::Rules => monitor::rules(shared, &call),
        Endpoint::Alerts => monitor::alerts(shared, &call),
        Endpoint::Relabel => relabel::answer(shared, call).await,
        Endpoint::Status => Ok(status::answer(shared)),
        Endpoint::Queries => Ok(queries::list(shared, &call.who)),
        Endpoint::Cancel => queries::cancel(shared, call).await,
        Endpoint::Jobs => Ok(jobs::list(shared, &call.who)),
        Endpoint::CancelJob => jobs::cancel(shared, call).await,
        Endpoint::Backups => backups::list(shared),
        Endpoint::Audit => audit::list(shared, &call),
    };
    answered.unwrap_or_else(|reply| reply).header(header::CACHE_CONTROL, "no-store")
}

/// An error in the shape of this API.
pub(super) fn refuse(status: StatusCode, message: &str) -> Reply {
    dress(status, json!({"message": excerpt(message)}))
}

/// An error at a place of a query's text; line and column are counted from 1.
fn refuse_at(message: &str, position: Option<(usize, usize)>) -> Reply {
    let position = position.map(|(line, column)| json!({"line": line, "column": column}));
    dress(StatusCode::BAD_REQUEST, json!({"message": excerpt(message), "position": position}))
}

fn dress(status: StatusCode, error: Value) -> Reply {
    Reply::json(status, json!({"error": error}).to_string())
}

fn refuse_failure(failure: &Failure) -> Reply {
    match failure.position {
        Some(_) => refuse_at(&failure.message, failure.position),
        None => refuse(failure.status, &failure.message),
    }
}

/// A failure, and what else is known of the question.
fn refuse_with(failure: &Failure, mut known: Map<String, Value>) -> Reply {
    known.insert("error".to_owned(), json!({"message": excerpt(&failure.message)}));
    Reply::json(failure.status, Value::Object(known).to_string())
}

fn bad(message: &str) -> Reply {
    refuse(StatusCode::BAD_REQUEST, message)
}

/// Longest body of a request that is an object of a few fields.
const BODY_BYTES_MAX: usize = 1 << 20;

/// The members of a body, and memory for them.
struct Members {
    said: Map<String, Value>,
    _weight: Weight,
}

impl Deref for Members {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Map<String, Value> {
        &self.said
    }
}

/// The body of a request, an object with no members but the `known` ones: a misspelt wish must not
/// do more than was meant.
async fn body_of(shared: &Shared, call: Call, known: &[&str]) -> Result<Members, Reply> {
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if text.bytes.len() > BODY_BYTES_MAX {
        let message = format!("the request is longer than {BODY_BYTES_MAX} bytes");
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let weight = Weight::of_json(shared, &text.bytes).await;
    let weight = weight.map_err(|failure| refuse_failure(&failure))?;
    let body = parse_once(&text.bytes).map_err(|error| bad(&not_read(&error)))?;
    let Value::Object(said) = body else { return Err(bad("the body must be an object of JSON")) };
    match said.keys().find(|name| !known.contains(&name.as_str())) {
        Some(other) => Err(bad(&format!("{other}: is none of {}", known.join(", ")))),
        None => Ok(Members { said, _weight: weight }),
    }
}

/// The store, or the answer while it is not there.
fn store(shared: &Shared) -> Result<&Store, Reply> {
    shared.store().ok_or_else(|| unopened(shared))
}

/// The answer while the store is not there: how far it is on its way.
pub(super) fn unopened(shared: &Shared) -> Reply {
    let error = json!({"message": opening::said(shared)});
    let body = json!({"error": error, "opening": opening::told(shared)});
    Reply::json(StatusCode::SERVICE_UNAVAILABLE, body.to_string()).retry_after(1)
}

/// How long a request waits for others who change facts, as long as for memory.
const ALONE_WAIT_MAX: Duration = Duration::from_secs(2);

/// Waits a while for others who change facts: a rename of many series takes as long as a question.
async fn alone(shared: &Shared) -> Result<Alone, Reply> {
    let text = "another request changes names, notes or limits; try again";
    let busy = || refuse(StatusCode::SERVICE_UNAVAILABLE, text).retry_after(2);
    shared.alone(ALONE_WAIT_MAX).await.ok_or_else(busy)
}

/// The store and the namespace that a request names.
fn place<'s>(shared: &'s Shared, call: &Call) -> Result<(&'s Store, NamespaceId), Reply> {
    let store = store(shared)?;
    let found = namespace(shared, store, &call.query, &call.headers, Right::Read);
    let found = found.map_err(|error| refuse(status_of_missing(&error), &error.to_string()))?;
    Ok((store, found))
}

/// Answers with a list of `what` that may be long, and that many clients may ask for and not read:
/// so it is a question, of which some are answered at a time, and goes out piece by piece.
async fn listed(
    shared: &Arc<Shared>,
    call: &Call,
    what: &str,
    mut tell: impl FnMut(&Store, &mut Work<'_>) -> Result<(), Failure> + Send + 'static,
) -> Result<Reply, Reply> {
    let (of, title) = (shared.clone(), Title::by_itself(what, call.database(shared)));
    let job = Job::new(call.who.clone(), Some(title), move |work| {
        let told = of.store().map(|store| tell(store, work)).transpose();
        told.map(|_| Ran::default())
    });
    let gzip = accepts_gzip(&call.headers);
    let job = job.that_reads(true);
    let answered = crate::query::answer(shared, reply::JSON, gzip, job).await;
    answered.map_err(|failure| refuse_failure(&failure))
}

/// Waits until what was changed is as durable as samples are.
async fn confirm(
    shared: &Shared,
    store: &Store,
    written: Result<Commit, Error>,
) -> Result<(), Reply> {
    let commit = written.map_err(|error| refuse(status_of(&error), &error.to_string()))?;
    let waited = store.wait(commit, shared.config.wal_ack).await;
    waited.map_err(|error| refuse(status_of_wait(&error), &error.to_string()))
}

/// How many entries of a list a request wants.
fn limit(params: &Params, usual: usize, max: usize) -> Result<usize, Reply> {
    match params.get("limit").map(str::parse::<usize>) {
        None => Ok(usual),
        Some(Ok(limit)) if (1..=max).contains(&limit) => Ok(limit),
        Some(_) => Err(bad(&format!("limit: must be a number from 1 to {max}"))),
    }
}
