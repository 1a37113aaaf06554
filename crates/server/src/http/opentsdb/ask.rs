//! Questions to OpenTSDB's HTTP API: `/api/query`, `/q`, `/api/suggest`.

use super::{Call, namespace_of, refuse, refuse_with, store};
use crate::http::routes::Right;
use crate::http::{PLAIN, Reply, accepts_gzip, body, reply};
use crate::metrics::now_ns;
use crate::query::{self, Failure, Job, Work};
use crate::shared::Shared;
use foliot_engine::{Error, Listed, Snapshot, SymbolKind};
use foliot_exec::Ran;
use foliot_model::{
    DEFAULT_FIELD, Matcher, NANOS_PER_MILLI, Name, NamespaceId, Selector, Test, TimeRange,
};
use foliot_plan::What;
use foliot_proto_opentsdb::{
    Encoder, Endpoint, HttpError, HttpRequest, LineEncoder, Request, RequiredName, Suggest, Tsuid,
};
use hyper::StatusCode;
use std::sync::Arc;
use std::time::Instant;

/// Longest text of a query: enough for thousands of filter values, and soon parsed.
const QUERY_BYTES_MAX: usize = 1 << 20;

/// `/api/query`, and `/q` in its form for scripts.
pub(super) async fn query(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let namespace = namespace_of(shared, store(shared)?, &call, Right::Read)?;
    let gzip = accepts_gzip(&call.headers);
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    check_size(text.bytes.len())?;
    let request = HttpRequest {
        method: &call.method,
        path: &call.path,
        query: &call.query,
        body: &text.bytes,
    };
    let now_ms = now_ns() / NANOS_PER_MILLI;
    let is_graph = endpoint == Endpoint::Graph;
    let parsed = match is_graph {
        true => Request::parse_graph(&request, now_ms),
        false => Request::parse(&request, now_ms),
    };
    let request = parsed.map_err(|error| refuse(&error))?;
    let kind = if is_graph { PLAIN } else { reply::JSON };
    let job: Job = Box::new(move |work| match is_graph {
        true => run_lines(&request, namespace, work),
        false => run_json(&request, namespace, work),
    });
    query::answer(shared, kind, gzip, job).await.map_err(refuse_failure)
}

fn refuse_failure(failure: Failure) -> Reply {
    refuse_with(failure.status, failure.message)
}

fn check_size(bytes: usize) -> Result<(), Reply> {
    match bytes > QUERY_BYTES_MAX {
        true => {
            let text = format!("The query is longer than {QUERY_BYTES_MAX} bytes");
            Err(refuse_with(StatusCode::PAYLOAD_TOO_LARGE, text))
        }
        false => Ok(()),
    }
}

fn run_json(
    request: &Request,
    namespace: NamespaceId,
    work: &mut Work<'_>,
) -> Result<Ran, Failure> {
    let began = Instant::now();
    let snapshot = work.snapshot;
    let plans = plans(request, namespace, snapshot)?;
    let mut encoder = Encoder::new(request, Box::new(|sid| tsuid_of(snapshot, sid).ok().flatten()));
    let ran = work.run(&plans, &mut |frame, out| encoder.frame(frame, out).map_err(failure))?;
    let summary = [
        ("processingPreWriteTime", began.elapsed().as_secs_f64() * 1000.0),
        ("emittedDPs", ran.samples_answered as f64),
        ("rawDatapoints", ran.samples_scanned as f64),
        ("timeSeries", ran.series_selected as f64),
    ];
    encoder.finish(&summary, work.out());
    Ok(ran)
}

fn run_lines(
    request: &Request,
    namespace: NamespaceId,
    work: &mut Work<'_>,
) -> Result<Ran, Failure> {
    let plans = plans(request, namespace, work.snapshot)?;
    let encoder = LineEncoder::new(request);
    work.run(&plans, &mut |frame, out| encoder.frame(frame, out).map_err(failure))
}

fn failure(error: HttpError) -> Failure {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::BAD_REQUEST);
    Failure::new(status, error.message)
}

/// The query's plans, once all names it needs were found.
fn plans(
    request: &Request,
    namespace: NamespaceId,
    snapshot: &Snapshot,
) -> Result<Vec<foliot_plan::Series>, Failure> {
    for name in request.required_names() {
        if !exists(snapshot, namespace, &name).map_err(foliot_exec::Error::from)? {
            return Err(failure(name.error()));
        }
    }
    let mut failed = Ok(());
    let plans = request.plans(namespace, &mut |tsuid| {
        let found = resolve(snapshot, namespace, tsuid);
        found.unwrap_or_else(|error| {
            failed = Err(foliot_exec::Error::from(error));
            Vec::new()
        })
    });
    failed?;
    Ok(plans)
}

fn exists(
    snapshot: &Snapshot,
    namespace: NamespaceId,
    name: &RequiredName<'_>,
) -> Result<bool, Error> {
    Ok(match name {
        RequiredName::Metric(metric) => {
            let selector = Request::metric_selector(namespace, metric);
            !snapshot.list(&Listed::Measurements, &selector, "", 0, 1)?.is_empty()
        }
        RequiredName::TagKey(name) => snapshot.symbol_id(SymbolKind::LabelName, name)?.is_some(),
        RequiredName::TagValue(value) => {
            snapshot.symbol_id(SymbolKind::LabelValue, value)?.is_some()
        }
    })
}

/// The stored series of a TSUID.
fn resolve(snapshot: &Snapshot, namespace: NamespaceId, tsuid: &Tsuid) -> Result<Vec<u32>, Error> {
    match selector_of(snapshot, namespace, tsuid)? {
        Some(selector) => snapshot.select(&selector, TimeRange::ALL),
        None => Ok(Vec::new()),
    }
}

/// Nothing when a number in the TSUID was never given out.
fn selector_of(
    snapshot: &Snapshot,
    namespace: NamespaceId,
    tsuid: &Tsuid,
) -> Result<Option<Selector>, Error> {
    let name_of = |kind, id| snapshot.symbol_name(kind, id);
    let Some(measurement) = name_of(SymbolKind::Measurement, tsuid.measurement)? else {
        return Ok(None);
    };
    let field = match tsuid.field {
        None => Some(DEFAULT_FIELD.into()),
        Some(id) => name_of(SymbolKind::Field, id)?,
    };
    let Some(field) = field else { return Ok(None) };
    let mut matchers = Vec::new();
    let mut labels = Vec::new();
    for &(name, value) in &tsuid.tags {
        let name = name_of(SymbolKind::LabelName, name)?;
        let value = name_of(SymbolKind::LabelValue, value)?;
        let (Some(name), Some(value)) = (name, value) else { return Ok(None) };
        let name = name.to_string();
        labels.push(name.clone());
        let test = Test::equal(&*value);
        matchers.push(Matcher { name, test, negated: false, accepts_absent: false });
    }
    let name = Name { measurement: Test::equal(&*measurement), field: Test::equal(&*field) };
    Ok(Some(Selector {
        namespace,
        names: vec![name],
        matchers,
        exact_labels: Some(labels),
        only: None,
    }))
}

/// The TSUID of a stored series.
fn tsuid_of(snapshot: &Snapshot, sid: u32) -> Result<Option<Tsuid>, Error> {
    let Some(identity) = snapshot.identity(sid)? else { return Ok(None) };
    let measurement = snapshot.symbol_id(SymbolKind::Measurement, &identity.measurement)?;
    let field = match &*identity.field {
        DEFAULT_FIELD => None,
        name => snapshot.symbol_id(SymbolKind::Field, name)?,
    };
    let mut tags = Vec::with_capacity(identity.labels.len());
    for label in &identity.labels {
        let name = snapshot.symbol_id(SymbolKind::LabelName, &label.name)?;
        tags.extend(name.zip(snapshot.symbol_id(SymbolKind::LabelValue, &label.value)?));
    }
    Ok(measurement.map(|measurement| Tsuid { measurement, field, tags }))
}

/// `/api/suggest`.
pub(super) async fn suggest(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let store = store(shared)?;
    let namespace = namespace_of(shared, store, &call, Right::Read)?;
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    check_size(text.bytes.len())?;
    let request = HttpRequest {
        method: &call.method,
        path: &call.path,
        query: &call.query,
        body: &text.bytes,
    };
    let suggest = Suggest::parse(&request).map_err(|error| refuse(&error))?;
    let listing = suggest.listing(namespace);
    let what = match &listing.what {
        What::Metrics => Listed::Metrics,
        What::Measurements => Listed::Measurements,
        What::Fields => Listed::Fields,
        What::LabelNames => Listed::LabelNames,
        What::LabelValues(name) => Listed::LabelValues(name.clone()),
        What::Series => {
            return Err(refuse_with(StatusCode::BAD_REQUEST, "series cannot be suggested"));
        }
    };
    let names = tokio::task::block_in_place(|| {
        let (prefix, offset) = (listing.prefix.as_str(), listing.offset);
        store.snapshot().list(&what, &listing.selector, prefix, offset, listing.limit)
    });
    let names =
        names.map_err(|error| refuse_with(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))?;
    let names = names.iter().map(String::as_str);
    Ok(Reply::json(StatusCode::OK, suggest.answer(names)))
}
