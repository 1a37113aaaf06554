//! `delete`: samples of one metric, or only what would go.

use super::{bad, place, refuse, refuse_failure};
use crate::http::{Call, Reply, body, is_preview, not_read, preview_json, reply, status_of};
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_engine::{Caller, Deleted, Error};
use foliot_exec::Ran;
use foliot_model::{Matcher, NANOS_PER_MILLI, NamespaceId, Selector, Test, TimeRange};
use foliot_proto_opentsdb::{Params, Request, parse_once};
use hyper::StatusCode;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Longest body of a request.
const BODY_BYTES_MAX: usize = 1 << 16;

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    let (who, database) = (call.who.clone(), call.database(shared));
    let caller = call.caller("foliot");
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if text.bytes.len() > BODY_BYTES_MAX {
        let message = format!("the request is longer than {BODY_BYTES_MAX} bytes");
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let mut order = Order::parse(namespace, &text.bytes)?;
    let params = Params::parse(&call.query);
    order.is_preview |= is_preview(&params, &text.bytes).map_err(|reason| bad(&reason))?;
    let listed = format!("delete {}", String::from_utf8_lossy(&text.bytes));
    let (asked, is_change) = (shared.clone(), !order.is_preview);
    let job = Job::new(who, Some(Title::new(&listed, database)), move |work| {
        run(&asked, &order, &caller, work)?;
        Ok(Ran::default())
    });
    let answered = query::answer(shared, reply::JSON, false, job.that_changes(is_change)).await;
    answered.map_err(|failure| refuse_failure(&failure))
}

/// Tests for series that have all these labels.
pub(super) fn matchers(labels: &Map<String, Value>) -> Result<Vec<Matcher>, Reply> {
    let matcher = |(name, value): (&String, &Value)| {
        let value = value.as_str().ok_or_else(|| bad("labels: each must have a text"))?;
        let test = Test::equal(value);
        Ok(Matcher { name: name.clone(), test, negated: false, accepts_absent: false })
    };
    labels.iter().map(matcher).collect()
}

/// What is to go.
struct Order {
    selector: Selector,
    range: TimeRange,
    is_preview: bool,
}

impl Order {
    fn parse(namespace: NamespaceId, text: &[u8]) -> Result<Self, Reply> {
        let body = parse_once(text).map_err(|error| bad(&not_read(&error)))?;
        let fields = body.as_object().ok_or_else(|| bad("the body must be an object of JSON"))?;
        // A misspelt wish must not delete more than was meant.
        let known = ["metric", "labels", "start_ms", "end_ms", "is_preview"];
        if let Some(other) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(bad(&format!("{other}: is none of {}", known.join(", "))));
        }
        let metric = body.get("metric").and_then(Value::as_str).filter(|name| !name.is_empty());
        let metric = metric.ok_or_else(|| bad("metric: samples of which metric?"))?;
        let mut selector = Request::metric_selector(namespace, metric);
        // Nothing is no wish: a variable that was not set must not delete the whole.
        match body.get("labels") {
            None => {}
            Some(Value::Object(labels)) => selector.matchers.extend(matchers(labels)?),
            Some(_) => return Err(bad("labels: must be an object of names and values")),
        }
        let time = |name: &str, usual: i64| match body.get(name) {
            None => Ok(usual),
            Some(value) => value
                .as_i64()
                .and_then(|millis| millis.checked_mul(NANOS_PER_MILLI))
                .ok_or_else(|| bad(&format!("{name}: must be a whole number of milliseconds"))),
        };
        let start_ns = time("start_ms", TimeRange::ALL.start_ns)?;
        let end_ns = time("end_ms", TimeRange::ALL.end_ns)?;
        if start_ns > end_ns {
            return Err(bad("start_ms: must not be after end_ms"));
        }
        let is_preview = match body.get("is_preview") {
            None => false,
            Some(value) => {
                value.as_bool().ok_or_else(|| bad("is_preview: must be true or false"))?
            }
        };
        Ok(Self { selector, range: TimeRange::new(start_ns, end_ns), is_preview })
    }
}

fn run(
    shared: &Shared,
    order: &Order,
    caller: &Caller,
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    let failed = |error: Error| Failure::new(status_of(&error), error.to_string());
    let store = shared.store().ok_or_else(|| failed(Error::Closed))?;
    let (engine, meter) = (store.engine(), work.meter());
    let goes_on = || meter.check(0).is_ok();
    let counted: Result<Deleted, Error> = match order.is_preview {
        true => engine.preview_delete(&[(order.selector.clone(), order.range)], &goes_on),
        false => engine
            .delete_with_names_while(&order.selector, order.range, caller, &goes_on)
            .map(|(deleted, _)| deleted),
    };
    if matches!(counted, Err(Error::Stopped)) {
        // Why it was stopped the meter says in better words.
        meter.check(0)?;
    }
    work.write(preview_json(&counted.map_err(failed)?).as_bytes())?;
    match order.is_preview {
        true => Ok(()),
        false => work.confirm(engine.written(), shared.config.wal_ack),
    }
}
