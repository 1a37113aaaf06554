//! `cardinality`: which names most series are due to.

use super::catalogue::{metric, selector};
use super::{limit, place, refuse_failure};
use crate::http::{Call, Reply, accepts_gzip, reply};
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_exec::{Error, Query, Ran};
use foliot_model::{Selector, TimeRange};
use foliot_proto_opentsdb::Params;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Entries of each list.
const ENTRIES_MAX: usize = 1_000;
const ENTRIES_USUAL: usize = 20;

/// Series whose names are read at once, between looks at the clock.
const SERIES_AT_ONCE: usize = 4_096;

/// What a name weighs that is counted, by estimate.
const NAME_BYTES: usize = 96;

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    let params = Params::parse(&call.query);
    let limit = limit(&params, ENTRIES_USUAL, ENTRIES_MAX)?;
    let selector = selector(&params, namespace);
    let gzip = accepts_gzip(&call.headers);
    let title = Title::new("cardinality", call.database(shared));
    let job = Job::new(call.who.clone(), Some(title), move |work| {
        let mut counts = Counts::default();
        count(&mut counts, &selector, work)?;
        work.write(counts.show(limit).to_string().as_bytes())?;
        Ok(Ran::default())
    });
    query::answer(shared, reply::JSON, gzip, job).await.map_err(|failure| refuse_failure(&failure))
}

fn count(counts: &mut Counts, selector: &Selector, work: &mut Work<'_>) -> Result<(), Failure> {
    let (meter, snapshot) = (work.meter(), work.snapshot);
    let query = Query { snapshot, meter: meter.clone() };
    let (mut ids, mut names) = (meter.open(), meter.open());
    let sids = foliot_exec::selected(&query, selector, TimeRange::ALL, &mut ids)?;
    for chunk in sids.chunks(SERIES_AT_ONCE) {
        meter.check(0)?;
        snapshot
            .identities(chunk, &mut |_, identity| {
                counts.series += 1;
                let name = metric(&identity.measurement, &identity.field);
                *counts.metrics.entry(name).or_default() += 1;
                for label in &identity.labels {
                    let counted = counts.labels.entry(label.name.clone()).or_default();
                    counted.series += 1;
                    counted.values.insert(label.value.clone());
                }
            })
            .map_err(Error::from)?;
        names.resize(counts.names() * NAME_BYTES)?;
    }
    Ok(())
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
    values: HashSet<Arc<str>>,
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
            "labels": labels.into_iter().take(limit).map(label).collect::<Vec<_>>(),
        })
    }
}
