//! `cardinality`: which names most series are due to.

use super::catalogue::{metric, selector};
use super::{bad, limit, place, refuse_failure};
use crate::http::{Call, Reply, accepts_gzip, reply};
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_engine::Snapshot;
use foliot_exec::{Error, Meter, Query, Ran};
use foliot_model::{NANOS_PER_MILLI, Samples, Selector, TimeRange};
use foliot_proto_opentsdb::Params;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Entries of each list.
const ENTRIES_MAX: usize = 1_000;
const ENTRIES_USUAL: usize = 20;

/// Series whose names are read at once, between looks at the clock.
const SERIES_AT_ONCE: usize = 4_096;

/// What a name weighs that is counted, by estimate.
const NAME_BYTES: usize = 128;

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    let params = Params::parse(&call.query);
    let limit = limit(&params, ENTRIES_USUAL, ENTRIES_MAX)?;
    let selector = selector(&params, namespace);
    let range = range(&params)?;
    let gzip = accepts_gzip(&call.headers);
    let title = Title::new("cardinality", call.database(shared));
    let job = Job::new(call.who.clone(), Some(title), move |work| {
        let mut counts = Counts::default();
        count(&mut counts, &selector, range, work)?;
        work.write(counts.show(limit).to_string().as_bytes())?;
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
    counts: &mut Counts,
    selector: &Selector,
    range: TimeRange,
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    let (meter, snapshot) = (work.meter(), work.snapshot);
    let query = Query { snapshot, meter: meter.clone() };
    let (mut ids, mut names) = (meter.open(), meter.open());
    let sids = foliot_exec::selected(&query, selector, range, &mut ids)?;
    let mut scan = (range != TimeRange::ALL).then(|| Reporting::within(range));
    for chunk in sids.chunks(SERIES_AT_ONCE) {
        meter.check(0)?;
        let chunk = match &mut scan {
            // An index knows only which series may have samples.
            Some(reporting) => reporting.of(snapshot, chunk, &meter)?,
            None => chunk.to_vec(),
        };
        snapshot
            .identities(&chunk, &mut |_, identity| {
                counts.series += 1;
                let name = metric(&identity.measurement, &identity.field);
                *counts.metrics.entry(name).or_default() += 1;
                for label in &identity.labels {
                    let counted = counts.labels.entry(label.name.clone()).or_default();
                    counted.series += 1;
                    *counted.values.entry(label.value.clone()).or_default() += 1;
                }
            })
            .map_err(Error::from)?;
        names.resize(counts.names() * NAME_BYTES)?;
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

#[derive(Default)]
struct Counts {
    series: u64,
    metrics: HashMap<String, u64>,
    labels: HashMap<Arc<str>, Counted>,
}

/// What a label makes.
#[derive(Default)]
struct Counted {
    series: u64,
    /// Series by value.
    values: HashMap<Arc<str>, u64>,
}

impl Counts {
    /// Names that are held.
    fn names(&self) -> usize {
        let values: usize = self.labels.values().map(|counted| counted.values.len()).sum();
        self.metrics.len() + values
    }

    fn show(&self, limit: usize) -> Value {
        let mut metrics: Vec<_> = self.metrics.iter().collect();
        metrics.sort_unstable_by(|(a, x), (b, y)| y.cmp(x).then_with(|| a.cmp(b)));
        let mut labels: Vec<_> = self.labels.iter().collect();
        labels.sort_unstable_by(|(a, x), (b, y)| {
            y.values.len().cmp(&x.values.len()).then_with(|| a.cmp(b))
        });
        let mut pairs: Vec<(u64, &Arc<str>, &Arc<str>)> = self
            .labels
            .iter()
            .flat_map(|(name, counted)| {
                counted.values.iter().map(move |(value, series)| (*series, name, value))
            })
            .collect();
        pairs.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
        let pair = |(series, name, value): (u64, &Arc<str>, &Arc<str>)| json!({"name": &**name, "value": &**value, "series": series});
        let metric = |(name, series): (&String, &u64)| json!({"name": name, "series": series});
        let label = |(name, counted): (&Arc<str>, &Counted)| {
            json!({
                "name": &**name,
                "values": counted.values.len(),
                "series": counted.series,
            })
        };
        json!({
            "series": self.series,
            "metrics_total": self.metrics.len(),
            "labels_total": self.labels.len(),
            "metrics": metrics.into_iter().take(limit).map(metric).collect::<Vec<_>>(),
            "pairs": pairs.into_iter().take(limit).map(pair).collect::<Vec<_>>(),
            "labels": labels.into_iter().take(limit).map(label).collect::<Vec<_>>(),
        })
    }
}
