//! `cardinality`: which names most series are due to.

use super::catalogue::labelled;
use super::weighed::weighed;
use super::{bad, limit, place, refuse_failure};
use crate::http::{Call, Reply, accepts_gzip, reply};
use crate::query::{self, Failure, Job, Title, Work};
use crate::ranks::{Narrow, ranks};
use crate::shared::Shared;
use foliot_engine::{Counted, Deleted, Ranks, Snapshot, Telling};
use foliot_exec::{Error, Meter, Query, Ran};
use foliot_model::{NANOS_PER_MILLI, Samples, Selector, TimeRange};
use foliot_proto_opentsdb::{Params, Request};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::sync::Arc;

/// Entries of each list.
const ENTRIES_MAX: usize = 1_000;
const ENTRIES_USUAL: usize = 20;

/// Metrics whose size is looked at: those of most series.
const WEIGHED_MAX: usize = 1_000;

/// Series whose last samples one request looks at.
const LOOKED_AT_MAX: usize = 100_000;

/// Metrics are told as OpenTSDB's are.
const TELLING: Telling = Telling { before_field: '.', weighs: false };

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    let params = Params::parse(&call.query);
    let limit = limit(&params, ENTRIES_USUAL, ENTRIES_MAX)?;
    let selector = labelled(&params, namespace)?;
    let range = range(&params)?;
    let is = |name: &str| match params.get(name) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(bad(&format!("{name}: must be true or false"))),
    };
    let (weighs, tells_last) = (is("weigh")?, is("last")?);
    let gzip = accepts_gzip(&call.headers);
    let title = Title::by_itself("cardinality", call.database(shared));
    let by_job = shared.clone();
    let job = Job::new(call.who.clone(), Some(title), move |work| {
        let mut answer = match weighs {
            false => show(&count(&selector, range, limit, work)?),
            true => {
                let mut ranks = count(&selector, range, WEIGHED_MAX, work)?;
                let sizes = weigh(&selector, &ranks, range, work)?;
                ranks.labels.truncate(limit);
                ranks.pairs.truncate(limit);
                let mut answer = show(&ranks);
                if let Some(metrics) = answer.get_mut("metrics") {
                    *metrics = sizes.into_iter().take(limit).map(|(_, metric)| metric).collect();
                }
                answer
            }
        };
        if tells_last && let Some(Value::Array(metrics)) = answer.get_mut("metrics") {
            tell_last(&selector, metrics, work)?;
        }
        let metrics = answer.get_mut("metrics").and_then(Value::as_array_mut);
        for metric in metrics.into_iter().flatten().filter_map(Value::as_object_mut) {
            let name = metric.get("name").and_then(Value::as_str).unwrap_or_default();
            let asked = by_job.queries.demands().told(namespace, name);
            metric.insert("asked".to_owned(), asked);
        }
        work.write(answer.to_string().as_bytes())?;
        Ok(Ran::default())
    });
    query::answer(shared, reply::JSON, gzip, job).await.map_err(|failure| refuse_failure(&failure))
}

/// Of which time series are counted: those that have samples then.
fn range(params: &Params) -> Result<TimeRange, Reply> {
    let at = |name: &str, usual: i64| match params.get(name) {
        None => Ok(usual),
        Some(text) => text
            .parse::<i64>()
            .ok()
            .and_then(|millis| millis.checked_mul(NANOS_PER_MILLI))
            .ok_or_else(|| bad(&format!("{name}: must be a whole number of milliseconds"))),
    };
    let start_ns = at("start_ms", TimeRange::ALL.start_ns)?;
    let end_ns = at("end_ms", TimeRange::ALL.end_ns)?;
    match start_ns > end_ns {
        true => Err(bad("start_ms: must not be after end_ms")),
        false => Ok(TimeRange::new(start_ns, end_ns)),
    }
}

fn count(
    selector: &Selector,
    range: TimeRange,
    limit: usize,
    work: &Work<'_>,
) -> Result<Ranks, Failure> {
    let (meter, snapshot) = (work.meter(), work.snapshot);
    let query = Query { snapshot, meter: meter.clone() };
    let mut ids = meter.open();
    let sids = foliot_exec::selected(&query, selector, range, &mut ids)?;
    // An index knows only which series may have samples.
    let mut scan = Reporting::within(range);
    let mut narrow = |sids: &[u32], meter: &Meter| scan.of(snapshot, sids, meter);
    let narrow = (range != TimeRange::ALL).then_some(&mut narrow as &mut Narrow<'_>);
    ranks(work, (selector.namespace, TELLING), &sids, narrow, limit)
}

/// What the samples of each of these metrics take, greatest first.
fn weigh(
    selector: &Selector,
    ranks: &Ranks,
    range: TimeRange,
    work: &Work<'_>,
) -> Result<Vec<(u64, Value)>, Failure> {
    let mut sizes = Vec::with_capacity(ranks.metrics.len());
    for (name, series) in &ranks.metrics {
        let mut of_metric = Request::metric_selector(selector.namespace, name);
        of_metric.matchers.extend(selector.matchers.iter().cloned());
        let Deleted { bytes, samples, .. } = weighed(work, &of_metric, range)?;
        let told = json!({"name": name, "series": series, "samples": samples, "bytes": bytes});
        sizes.push((bytes, told));
    }
    sizes.sort_by_key(|(bytes, _)| Reverse(*bytes));
    Ok(sizes)
}

/// Tells of metrics when each had its last sample; nothing of those that come when enough series
/// were looked at.
fn tell_last(selector: &Selector, metrics: &mut [Value], work: &Work<'_>) -> Result<(), Failure> {
    let (meter, snapshot) = (work.meter(), work.snapshot);
    let query = Query { snapshot, meter: meter.clone() };
    let mut left = LOOKED_AT_MAX;
    for metric in metrics.iter_mut().filter_map(Value::as_object_mut) {
        let name = metric.get("name").and_then(Value::as_str).unwrap_or_default();
        let mut of_metric = Request::metric_selector(selector.namespace, name);
        of_metric.matchers.extend(selector.matchers.iter().cloned());
        let mut ids = meter.open();
        let sids = foliot_exec::selected(&query, &of_metric, TimeRange::ALL, &mut ids)?;
        let mut last_ns = None;
        if let Some(rest) = left.checked_sub(sids.len()) {
            left = rest;
            for sid in sids.iter() {
                meter.check(0)?;
                let last = snapshot.last(*sid).map_err(Error::from)?;
                last_ns = last_ns.max(last.and_then(|last| last.times_ns.last().copied()));
            }
        }
        let last_ms = last_ns.map(|time_ns| time_ns.div_euclid(NANOS_PER_MILLI));
        metric.insert("last_ms".to_owned(), json!(last_ms));
    }
    Ok(())
}

/// Tells series that have samples in a range from those that only might.
struct Reporting {
    range: TimeRange,
    samples: Samples,
}

impl Reporting {
    fn within(range: TimeRange) -> Self {
        Self { range, samples: Samples::default() }
    }

    fn of(&mut self, snapshot: &Snapshot, sids: &[u32], meter: &Meter) -> Result<Vec<u32>, Error> {
        let mut found = Vec::with_capacity(sids.len());
        for sid in sids {
            meter.check(0)?;
            let mut scan = snapshot.scan(*sid, self.range)?;
            self.samples.clear();
            if scan.peek().is_some() || scan.next(&mut self.samples)? {
                found.push(*sid);
            }
        }
        Ok(found)
    }
}

fn show(ranks: &Ranks) -> Value {
    let metric = |(name, series): &(String, u64)| json!({"name": name, "series": series});
    let label = |(name, counted): &(String, Counted)| json!({"name": name, "values": counted.values, "series": counted.series});
    let pair = |([name, value], series): &([String; 2], u64)| json!({"name": name, "value": value, "series": series});
    json!({
        "series": ranks.series,
        "metrics_total": ranks.metrics_total,
        "labels_total": ranks.labels_total,
        "metrics": ranks.metrics.iter().map(metric).collect::<Vec<_>>(),
        "labels": ranks.labels.iter().map(label).collect::<Vec<_>>(),
        "pairs": ranks.pairs.iter().map(pair).collect::<Vec<_>>(),
    })
}
