//! `delete`: samples of a metric, or of all that have some labels, or only what would go.

use super::catalogue::metric;
use super::{bad, place, refuse, refuse_failure};
use crate::http::fitting::fitting;
use crate::http::{Call, Reply, body, is_preview, not_read, preview_json, reply, status_of};
use crate::query::{self, Failure, Job, Reading, Title, Work};
use crate::shared::Shared;
use foliot_engine::{Caller, Deleted, Error, Snapshot};
use foliot_exec::{Meter, Query, Ran};
use foliot_model::{Matcher, NANOS_PER_MILLI, NamespaceId, Selector, Test, TimeRange};
use foliot_proto_opentsdb::{Params, Request, any_series, conditions, parse_once};
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Longest body of a request.
const BODY_BYTES_MAX: usize = 1 << 16;

/// Metrics that a preview tells one by one: those that would lose most samples.
const METRICS_TOLD: usize = 20;

/// Series whose names are read at once, between looks at the clock.
const SERIES_AT_ONCE: usize = 1_024;

/// Texts of all kinds. A pattern that takes each of them is taken for one that takes all.
const TEXTS_OF_ALL_KINDS: [&str; 5] = ["", "a", "Z-1", "0", " \u{10ffff}."];

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    let (who, database) = (call.who.clone(), call.database(shared));
    let mut caller = call.caller("foliot");
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if text.bytes.len() > BODY_BYTES_MAX {
        let message = format!("the request is longer than {BODY_BYTES_MAX} bytes");
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let reading = Reading::of(shared, &who, &[&text.bytes]).await;
    let reading = reading.map_err(|failure| refuse_failure(&failure))?;
    let mut order = reading.read(|| Order::parse(namespace, &text.bytes))?;
    let params = Params::parse(&call.query);
    order.is_preview |= is_preview(&params, &text.bytes).map_err(|reason| bad(&reason))?;
    caller.asked.clone_from(&order.asked);
    let listed = format!("delete {}", String::from_utf8_lossy(&text.bytes));
    let (asked, is_change) = (shared.clone(), !order.is_preview);
    let job = Job::new(who, Some(Title::new(listed, database)), move |work| {
        run(&asked, &order, &caller, work)?;
        Ok(Ran::default())
    });
    let job = reading.then(job.that_changes(is_change));
    let answered = query::answer(shared, reply::JSON, false, job).await;
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
    /// Which metrics are meant, where they are named by a pattern.
    metrics: Option<Test>,
    range: TimeRange,
    is_preview: bool,
    /// What the request says by patterns, as it says it.
    asked: String,
    /// Whether all that is said is what must not be. A misspelt value would take everything then.
    only_leaves_out: bool,
}

impl Order {
    fn parse(namespace: NamespaceId, text: &[u8]) -> Result<Self, Reply> {
        let body = parse_once(text).map_err(|error| bad(&not_read(&error)))?;
        let fields = body.as_object().ok_or_else(|| bad("the body must be an object of JSON"))?;
        // A misspelt wish must not delete more than was meant.
        let known = [
            "metric",
            "metrics",
            "labels",
            "filters",
            "start_ms",
            "end_ms",
            "is_preview",
            "dry_run",
        ];
        if let Some(other) = fields.keys().find(|name| !known.contains(&name.as_str())) {
            return Err(bad(&format!("{other}: is none of {}", known.join(", "))));
        }
        // Nothing is no wish: a variable that was not set must not delete the whole.
        let said = |name: &str| match body.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text.as_str())),
            Some(_) => Err(bad(&format!("{name}: samples of which metric?"))),
        };
        let (metric, metrics) = (said("metric")?, said("metrics")?);
        let mut selector = match metric {
            Some(metric) => Request::metric_selector(namespace, metric),
            None => any_series(namespace),
        };
        match body.get("labels") {
            None => {}
            Some(Value::Object(labels)) => selector.matchers.extend(matchers(labels)?),
            Some(_) => return Err(bad("labels: must be an object of names and values")),
        }
        match body.get("filters") {
            None => {}
            Some(Value::Object(filters)) => selector.matchers.extend(compared(filters)?),
            Some(_) => return Err(bad("filters: must be an object of names and patterns")),
        }
        if metric.is_some() && metrics.is_some() {
            return Err(bad("metrics: samples of this pattern, or of the metric?"));
        }
        if metric.is_none() && !selector.matchers.iter().any(narrows) {
            let message = "metric: samples of which metric? Without one, labels or filters must \
                           say which series are meant, and not all of them";
            return Err(bad(message));
        }
        let takes_some = |matcher: &Matcher| narrows(matcher) && !matcher.negated;
        let only_leaves_out = metric.is_none() && !selector.matchers.iter().any(takes_some);
        let metrics = metrics.map(|pattern| test_of("metrics", pattern)).transpose()?;
        let is_preview = match body.get("is_preview") {
            None => false,
            Some(value) => {
                value.as_bool().ok_or_else(|| bad("is_preview: must be true or false"))?
            }
        };
        let (range, asked) = (range(fields)?, asked(fields));
        Ok(Self { selector, metrics, range, is_preview, asked, only_leaves_out })
    }

    /// Whether a condition that leaves something out does so, where nothing else is said.
    fn leaves_some(&self, snapshot: &Snapshot, goes_on: &dyn Fn() -> bool) -> Result<bool, Error> {
        if !self.only_leaves_out {
            return Ok(true);
        }
        for matcher in self.selector.matchers.iter().filter(|matcher| matcher.negated) {
            let left_out = Matcher { negated: false, ..matcher.clone() };
            let selector = Selector { matchers: vec![left_out], ..self.selector.clone() };
            if !snapshot.select_while(&selector, TimeRange::ALL, &|_| goes_on())?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The series that are meant, or nothing where no metric is called so.
    fn selected(
        &self,
        snapshot: &Snapshot,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Option<Selector>, Error> {
        let Some(test) = &self.metrics else { return Ok(Some(self.selector.clone())) };
        let wants = |measurement: &str, field: &str| test.passes(&metric(measurement, field));
        let names = fitting(snapshot, &self.selector, &wants, goes_on)?;
        Ok((!names.is_empty()).then(|| Selector { names, ..self.selector.clone() }))
    }
}

fn range(fields: &Map<String, Value>) -> Result<TimeRange, Reply> {
    let time = |name: &str, usual: i64| match fields.get(name) {
        None => Ok(usual),
        Some(value) => value
            .as_i64()
            .and_then(|millis| millis.checked_mul(NANOS_PER_MILLI))
            .ok_or_else(|| bad(&format!("{name}: must be a whole number of milliseconds"))),
    };
    let start_ns = time("start_ms", TimeRange::ALL.start_ns)?;
    let end_ns = time("end_ms", TimeRange::ALL.end_ns)?;
    match start_ns > end_ns {
        true => Err(bad("start_ms: must not be after end_ms")),
        false => Ok(TimeRange::new(start_ns, end_ns)),
    }
}

/// Conditions that compare labels as they do behind a metric in OpenTSDB's language.
fn compared(filters: &Map<String, Value>) -> Result<Vec<Matcher>, Reply> {
    let mut patterns = Vec::with_capacity(filters.len());
    for (name, pattern) in filters {
        let pattern = pattern.as_str().ok_or_else(|| bad("filters: each must have a text"))?;
        patterns.push((name.as_str(), pattern));
    }
    conditions(patterns.into_iter()).map_err(|error| bad(&format!("filters: {}", error.message)))
}

/// What a pattern takes that is written like those of labels.
fn test_of(name: &str, pattern: &str) -> Result<Test, Reply> {
    let found = conditions(std::iter::once((name, pattern)));
    let found = found.map_err(|error| bad(&format!("{name}: {}", error.message)))?;
    let mut tests = found.into_iter().map(|Matcher { test, negated, .. }| match negated {
        true => Test::Not(Box::new(test)),
        false => test,
    });
    tests.next().ok_or_else(|| bad(&format!("{name}: must be a pattern")))
}

/// Whether a condition leaves out anything that has the label.
fn narrows(matcher: &Matcher) -> bool {
    match (&matcher.test, matcher.negated) {
        (Test::AnyOf(values) | Test::AnyOfLower(values), negated) => !negated || !values.is_empty(),
        (_, true) => true,
        (test, false) => !TEXTS_OF_ALL_KINDS.iter().all(|text| test.passes(text)),
    }
}

/// The members that say which series are meant, where patterns are among them: what is found by
/// them does not tell how it was asked for.
fn asked(fields: &Map<String, Value>) -> String {
    let has = |name: &&str| fields.contains_key(*name);
    if !["metrics", "filters"].iter().any(has) {
        return String::new();
    }
    let said = ["metric", "metrics", "labels", "filters"].into_iter().filter(has);
    let said = said.filter_map(|name| Some((name.to_owned(), fields.get(name)?.clone())));
    Value::Object(said.collect()).to_string()
}

fn run(
    shared: &Shared,
    order: &Order,
    caller: &Caller,
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    let closed = || Failure::new(status_of(&Error::Closed), Error::Closed.to_string());
    let store = shared.store().ok_or_else(closed)?;
    let (engine, meter) = (store.engine(), work.meter());
    let goes_on = || meter.check(0).is_ok();
    if !order.leaves_some(work.snapshot, &goes_on).map_err(|error| failed(error, &meter))? {
        let message = "filters: no series has what they leave out, so that none would stay";
        return Err(Failure::new(StatusCode::BAD_REQUEST, message));
    }
    let selected = order.selected(work.snapshot, &goes_on);
    let selected = selected.map_err(|error| failed(error, &meter))?;
    let answer = match (&selected, order.is_preview) {
        (None, true) => preview(&Deleted::default(), BTreeMap::new()),
        (Some(selector), true) => count(selector, order.range, work)?,
        (None, false) => preview_json(&Deleted::default()),
        (Some(selector), false) => {
            let gone = engine.delete_with_names_while(selector, order.range, caller, &goes_on);
            preview_json(&gone.map_err(|error| failed(error, &meter))?.0)
        }
    };
    work.write(answer.as_bytes())?;
    match order.is_preview {
        true => Ok(()),
        false => work.confirm(engine.written(), shared.config.wal_ack),
    }
}

/// Why the store could not do it. Why it was stopped the meter says in better words.
fn failed(error: Error, meter: &Meter) -> Failure {
    let is_over = matches!(error, Error::Stopped).then(|| meter.check(0).err()).flatten();
    match is_over {
        Some(over) => over.into(),
        None => Failure::new(status_of(&error), error.to_string()),
    }
}

/// What would go, and of which metrics.
fn count(selector: &Selector, range: TimeRange, work: &Work<'_>) -> Result<String, Failure> {
    let (meter, snapshot) = (work.meter(), work.snapshot);
    let goes_on = || meter.check(0).is_ok();
    let query = Query { snapshot, meter: meter.clone() };
    let (mut ids, mut held) = (meter.open(), meter.open());
    let sids = foliot_exec::selected(&query, selector, range, &mut ids)?;
    held.add(sids.len() * size_of::<(u32, Deleted)>())?;
    let mut found = Vec::new();
    let mut each = |sid, deleted| found.push((sid, deleted));
    let counted = snapshot.weigh_each(&sids, range, &goes_on, &mut each);
    let counted = counted.map_err(|error| failed(error, &meter))?;
    let mut metrics: BTreeMap<String, Deleted> = BTreeMap::new();
    for some in found.chunks(SERIES_AT_ONCE) {
        meter.check(0)?;
        let of: BTreeMap<u32, Deleted> = some.iter().copied().collect();
        let sids: Vec<u32> = of.keys().copied().collect();
        let mut new_bytes = 0;
        let named = snapshot.identities(&sids, &mut |sid, identity| {
            let name = metric(&identity.measurement, &identity.field);
            let so_far = metrics.entry(name).or_insert_with_key(|name| {
                new_bytes += name.len() + size_of::<(String, Deleted)>();
                Deleted::default()
            });
            *so_far += of.get(&sid).copied().unwrap_or_default();
        });
        named.map_err(|error| failed(error, &meter))?;
        held.add(new_bytes)?;
    }
    Ok(preview(&counted, metrics))
}

/// The answer of a preview: how much would go, and the metrics that would lose most samples.
fn preview(counted: &Deleted, metrics: BTreeMap<String, Deleted>) -> String {
    let total = metrics.len();
    let mut metrics: Vec<(String, Deleted)> = metrics.into_iter().collect();
    metrics.sort_by_key(|(_, deleted)| Reverse(deleted.samples));
    let told = metrics.iter().take(METRICS_TOLD).map(|(name, Deleted { series, samples, bytes })| {
        json!({"name": name, "series": series, "samples": samples, "bytes": bytes})
    });
    let Deleted { series, samples, bytes } = counted;
    json!({
        "series": series,
        "samples": samples,
        "bytes": bytes,
        "metrics_total": total,
        "metrics": told.collect::<Vec<_>>(),
    })
    .to_string()
}
