//! `series`: those of a metric with their last samples, which have been quiet longest first.

use super::catalogue::labelled;
use super::{bad, limit, place, refuse_failure};
use crate::http::{Call, Reply, accepts_gzip, reply};
use crate::makers::{Maker, Makers};
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_access::Need;
use foliot_exec::{Error, Query, Ran};
use foliot_model::{NANOS_PER_MILLI, Selector, TimeRange};
use foliot_proto_opentsdb::Params;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Series that one request lists, and how many unless it says.
const SERIES_MAX: usize = 10_000;
const SERIES_USUAL: usize = 100;

/// Series whose last samples one request looks at.
const SERIES_LOOKED_AT_MAX: usize = 100_000;

/// Series whose names are read at once, between looks at the clock.
const SERIES_AT_ONCE: usize = 1_024;

/// What a series weighs in the list, by estimate.
const SERIES_BYTES: usize = 64;

/// What a row of the answer weighs beside its texts.
const ROW_BYTES: usize = 64;

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    let params = Params::parse(&call.query);
    let limit = limit(&params, SERIES_USUAL, SERIES_MAX)?;
    let given = |name| params.get(name).is_some_and(|text| !text.is_empty());
    if !["metric", "measurement", "label"].into_iter().any(given) {
        return Err(bad("metric: series of which metric, measurement or label?"));
    }
    let selector = labelled(&params, namespace)?;
    let gzip = accepts_gzip(&call.headers);
    let title = Title::by_itself(&format!("series {}", call.query), call.database(shared));
    // Addresses are what operators see.
    let makers = call.who.may(Need::Operate).then(|| shared.clone());
    let job = Job::new(call.who.clone(), Some(title), move |work| {
        list(makers.as_ref().map(|shared| &shared.makers), &selector, limit, work)?;
        Ok(Ran::default())
    });
    query::answer(shared, reply::JSON, gzip, job).await.map_err(|failure| refuse_failure(&failure))
}

fn list(
    makers: Option<&Makers>,
    selector: &Selector,
    limit: usize,
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    let (meter, snapshot) = (work.meter(), work.snapshot);
    let query = Query { snapshot, meter: meter.clone() };
    let (mut ids, mut held) = (meter.open(), meter.open());
    let sids = foliot_exec::selected(&query, selector, TimeRange::ALL, &mut ids)?;
    let total = sids.len();
    let looked_at = sids.get(..total.min(SERIES_LOOKED_AT_MAX)).unwrap_or_default();
    held.add(looked_at.len() * SERIES_BYTES)?;
    let mut found = Vec::with_capacity(looked_at.len());
    for chunk in looked_at.chunks(SERIES_AT_ONCE) {
        meter.check(0)?;
        for sid in chunk {
            let last = snapshot.last(*sid).map_err(Error::from)?;
            // What expired or was deleted leaves names behind, which are no series to anyone.
            found
                .extend(last.and_then(|last| last.times_ns.last().map(|time_ns| (*time_ns, *sid))));
        }
    }
    let with_samples = found.len();
    found.sort_unstable();
    found.truncate(limit);
    let wanted: BTreeMap<u32, i64> = found.iter().map(|(time_ns, sid)| (*sid, *time_ns)).collect();
    // As texts: an object with its members takes several times as much.
    let mut rows: Vec<(i64, String, String)> = Vec::with_capacity(found.len());
    let mut charged = Ok(());
    let sids: Vec<u32> = wanted.keys().copied().collect();
    for chunk in sids.chunks(SERIES_AT_ONCE) {
        meter.check(0)?;
        snapshot
            .identities(chunk, &mut |sid, identity| {
                let labels: Map<String, Value> = identity
                    .labels
                    .iter()
                    .map(|label| (label.name.to_string(), json!(&*label.value)))
                    .collect();
                let metric = super::catalogue::metric(&identity.measurement, &identity.field);
                let last_ns = wanted.get(&sid).copied().unwrap_or_default();
                let last_ms = last_ns.div_euclid(NANOS_PER_MILLI);
                let made_by = makers.and_then(|makers| makers.of(sid)).map(made_by);
                let row = json!({"metric": &metric, "labels": labels, "last_ms": last_ms, "made_by": made_by});
                let row = row.to_string();
                if charged.is_ok() {
                    charged = held.add(row.len() + metric.len() + ROW_BYTES);
                }
                if charged.is_ok() {
                    rows.push((last_ns, metric, row));
                }
            })
            .map_err(Error::from)?;
        std::mem::replace(&mut charged, Ok(()))?;
    }
    rows.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    let is_whole = total == looked_at.len() && with_samples <= limit;
    work.write(format!("{{\"is_whole\":{is_whole},\"series\":[").as_bytes())?;
    for (at, (_, _, row)) in rows.into_iter().enumerate() {
        if at > 0 {
            work.write(b",")?;
        }
        work.write(row.as_bytes())?;
    }
    work.write(format!("],\"total\":{with_samples}}}").as_bytes())
}

/// Who made a series, in the words of this API.
pub(super) fn made_by(maker: Maker) -> Value {
    let (from, address) = maker.from.told();
    let at_ms = maker.at_ns.div_euclid(NANOS_PER_MILLI);
    json!({"protocol": maker.way, "from": from, "address": address, "at_ms": at_ms})
}
