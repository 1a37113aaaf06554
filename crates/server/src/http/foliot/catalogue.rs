//! `catalogue`: what there is, by name. Names are found by any part of them, whatever their case.

use super::{bad, limit, place, refuse, refuse_failure};
use crate::http::{Call, Reply, store};
use crate::shared::Shared;
use foliot_access::Need;
use foliot_engine::{Error, Listed, Snapshot};
use foliot_exec::{Cancel, Meter, Query};
use foliot_model::{DEFAULT_FIELD, Kind, Name, NamespaceId, Selector, Test, TimeRange};
use foliot_proto_opentsdb::{Params, Request, any_series};
use foliot_schema::{Database, Kinds, Policy};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Names that one request may list.
const NAMES_MAX: usize = 10_000;

/// Names that one request lists unless it says how many.
const NAMES_USUAL: usize = 100;

/// Names that a search looks at: some tens of megabytes, and some hundredths of a second. Where
/// there are more, the answer says that it may not be whole.
const NAMES_SEARCHED_MAX: usize = 200_000;

/// Series that are looked at for the metrics that came last.
const SERIES_NEWEST_MAX: usize = 16_384;

/// Series of which the names are read at once.
const SERIES_AT_ONCE: usize = 256;

pub(super) fn answer(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    let of = params.get("of").unwrap_or_default();
    if of == "databases" {
        return databases(shared, call);
    }
    if !call.who.may(Need::Read(&call.database(shared))) {
        return Err(refuse(StatusCode::FORBIDDEN, "you have no right to read this database"));
    }
    let (store, namespace) = place(shared, call)?;
    let limit = limit(&params, NAMES_USUAL, NAMES_MAX)?;
    let snapshot = store.snapshot(&call.who);
    let selector = selector(&params, namespace);
    let listed = match of {
        "metrics" => Listed::Metrics,
        "measurements" => Listed::Measurements,
        "labels" => Listed::LabelNames,
        "values" => {
            let label = params.get("label").ok_or_else(|| bad("label: values of which label?"))?;
            Listed::LabelValues(Some(label.to_owned()))
        }
        "fields" => {
            let engine = store.engine();
            let kind = |name: &str, field: &str| Kinds::of(engine, namespace, name, field);
            let meter = Meter::new(shared.query_limits, Cancel::default());
            let query = Query { snapshot: &snapshot, meter };
            return fields(&query, namespace, &params, &kind);
        }
        "newest" => {
            let found = tokio::task::block_in_place(|| newest(&snapshot, &selector, limit));
            let names = found.map_err(|error| broken(&error))?;
            return Ok(names_reply(&names, true));
        }
        _ => {
            let known = "databases, metrics, measurements, fields, labels, values or newest";
            return Err(bad(&format!("of: must be {known}")));
        }
    };
    let search = params.get("search").unwrap_or_default();
    let found = tokio::task::block_in_place(|| list(&snapshot, &listed, &selector, search, limit));
    let (names, is_whole) = found.map_err(|error| broken(&error))?;
    Ok(names_reply(&names, is_whole))
}

fn broken(error: &Error) -> Reply {
    refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
}

fn names_reply(names: &[String], is_whole: bool) -> Reply {
    Reply::json(StatusCode::OK, json!({"names": names, "is_whole": is_whole}).to_string())
}

/// The series that are meant: all, or those of a metric or of a measurement.
pub(super) fn selector(params: &Params, namespace: NamespaceId) -> Selector {
    let given = |name| params.get(name).filter(|text| !text.is_empty());
    if let Some(metric) = given("metric") {
        return Request::metric_selector(namespace, metric);
    }
    let mut selector = any_series(namespace);
    let named =
        given("measurement").map(|name| Name { measurement: Test::equal(name), field: Test::Any });
    selector.names.extend(named);
    selector
}

/// The names that hold `search`, and whether these are all.
fn list(
    snapshot: &Snapshot,
    listed: &Listed,
    selector: &Selector,
    search: &str,
    limit: usize,
) -> Result<(Vec<String>, bool), Error> {
    let looks_at = if search.is_empty() { limit } else { NAMES_SEARCHED_MAX };
    let mut names = snapshot.list(listed, selector, "", 0, looks_at + 1)?;
    let mut is_whole = names.len() <= looks_at;
    names.truncate(looks_at);
    if !search.is_empty() {
        let search = search.to_lowercase();
        names.retain(|name| name.to_lowercase().contains(&search));
        is_whole &= names.len() <= limit;
        names.truncate(limit);
    }
    Ok((names, is_whole))
}

/// The metrics whose series were registered last, newest first.
fn newest(snapshot: &Snapshot, selector: &Selector, limit: usize) -> Result<Vec<String>, Error> {
    let sids = snapshot.select(selector, TimeRange::ALL)?;
    let (mut seen, mut names) = (BTreeSet::new(), Vec::new());
    let last = sids.len().saturating_sub(SERIES_NEWEST_MAX);
    for chunk in sids.get(last..).unwrap_or_default().rchunks(SERIES_AT_ONCE) {
        let mut of_chunk = Vec::with_capacity(chunk.len());
        snapshot.identities(chunk, &mut |sid, identity| {
            of_chunk.push((sid, metric(&identity.measurement, &identity.field)));
        })?;
        of_chunk.sort_unstable_by_key(|(sid, _)| std::cmp::Reverse(*sid));
        for (_, name) in of_chunk {
            if names.len() < limit && seen.insert(name.clone()) {
                names.push(name);
            }
        }
        if names.len() >= limit {
            break;
        }
    }
    Ok(names)
}

/// A measurement with one of its fields, as a metric.
pub(super) fn metric(measurement: &str, field: &str) -> String {
    match field == DEFAULT_FIELD {
        true => measurement.to_owned(),
        false => format!("{measurement}.{field}"),
    }
}

fn fields(
    query: &Query<'_>,
    namespace: NamespaceId,
    params: &Params,
    kind: &dyn Fn(&str, &str) -> Kind,
) -> Result<Reply, Reply> {
    let name = params.get("measurement");
    let name = name.ok_or_else(|| bad("measurement: fields of which measurement?"))?;
    let found = tokio::task::block_in_place(|| {
        let mut charge = query.meter.open();
        foliot_exec::shapes(query, namespace, &Test::equal(name), kind, &mut charge)
    });
    let shapes = found.map_err(|error| refuse_failure(&error.into()))?;
    let of_shape = shapes.iter().flat_map(|shape| &shape.fields);
    let fields: Vec<Value> =
        of_shape.map(|(name, kind)| json!({"name": &**name, "kind": kind_name(*kind)})).collect();
    Ok(Reply::json(StatusCode::OK, json!({"fields": fields}).to_string()))
}

/// What a kind is called in this API.
pub(super) const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Float => "float",
        Kind::Integer => "integer",
        Kind::Unsigned => "unsigned",
        Kind::Boolean => "boolean",
        Kind::String => "string",
        Kind::Histogram => "histogram",
    }
}

fn databases(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    let listed = store(shared)?.listed_databases().map_err(|error| broken(&error))?;
    let describe = |(name, database): &(String, Database)| {
        let policy = |policy: &Policy| {
            json!({
                "name": policy.name,
                "is_default": policy.name == database.default_policy,
                "keeps_ns": policy.duration_ns,
            })
        };
        let policies: Vec<Value> = database.policies.iter().map(policy).collect();
        json!({"name": name, "policies": policies})
    };
    let seen = listed.iter().filter(|(name, _)| call.who.may_see(name));
    let databases: Vec<Value> = seen.map(describe).collect();
    Ok(Reply::json(StatusCode::OK, json!({"databases": databases}).to_string()))
}
