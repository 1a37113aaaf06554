//! `metric`: what is stored of one metric, in figures.

use super::catalogue::{help, kind_name, selector};
use super::weighed::weighed;
use super::{bad, place, refuse_failure};
use crate::config::{Keep, KeepRules, Setting};
use crate::http::{Call, Reply, reply, status_of};
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_engine::{Arrived, Error, RetentionRule};
use foliot_exec::{Query, Ran};
use foliot_model::{Kind, NANOS_PER_MILLI, NamespaceId, Samples, Selector, TimeRange};
use foliot_proto_opentsdb::Params;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Series whose first and last samples are looked at; of others only their number and size is told.
const SERIES_LOOKED_AT_MAX: usize = 10_000;

/// What a sample takes that is not compressed: a time and a value of 64 bits.
const PLAIN_SAMPLE_BYTES: u64 = 16;

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    let params = Params::parse(&call.query);
    let given = |name| params.get(name).is_some_and(|text| !text.is_empty());
    if !given("metric") && !given("measurement") {
        return Err(bad("metric: what is stored of which metric or measurement?"));
    }
    let selector = selector(&params, namespace);
    let name = params.get("metric").unwrap_or_default().to_owned();
    let title = Title::by_itself(&format!("metric {}", call.query), call.database(shared));
    let shared_by_job = shared.clone();
    let job = Job::new(call.who.clone(), Some(title), move |work| {
        run(&shared_by_job, (namespace, &name), &selector, work)?;
        Ok(Ran::default())
    });
    let answered = query::answer(shared, reply::JSON, false, job.that_reads(true)).await;
    answered.map_err(|failure| refuse_failure(&failure))
}

/// What its samples say that were looked at.
#[derive(Default)]
struct Seen {
    first_ns: Option<i64>,
    last_ns: Option<i64>,
    kinds: BTreeSet<&'static str>,
    /// How long its series are kept: the rule, and the time.
    kept: BTreeSet<(Option<String>, String)>,
    /// How they came since the start.
    arrived: Arrived,
}

fn run(
    shared: &Shared,
    (namespace, name): (NamespaceId, &str),
    selector: &Selector,
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    let failed = |error: Error| Failure::new(status_of(&error), error.to_string());
    let meter = work.meter();
    let weighed = weighed(work, selector, TimeRange::ALL)?;
    let query = Query { snapshot: work.snapshot, meter: meter.clone() };
    let mut ids = meter.open();
    let sids = foliot_exec::selected(&query, selector, TimeRange::ALL, &mut ids)?;
    let looked_at = sids.get(..sids.len().min(SERIES_LOOKED_AT_MAX)).unwrap_or_default();
    let mut seen = Seen::default();
    for sid in looked_at {
        meter.check(0)?;
        look(&query, *sid, &mut seen).map_err(failed)?;
    }
    let store = shared.store().ok_or_else(|| failed(Error::Closed))?;
    let usual = store.engine().retention(namespace);
    let rules = &shared.config.retention_rules.0;
    let identities = query.snapshot.identities(looked_at, &mut |_, identity| {
        let label = |name: &str| {
            identity.labels.iter().find(|label| &*label.name == name).map(|label| &*label.value)
        };
        let rule: Option<&RetentionRule> =
            rules.iter().find(|rule| rule.fits(&identity.measurement, &label));
        let keep = rule.map_or(usual, |rule| rule.keep);
        let spelled = rule.map(|rule| KeepRules(vec![rule.clone()]).show());
        seen.kept.insert((spelled, Keep(keep).show()));
    });
    identities.map_err(failed)?;
    let millis = |ns: Option<i64>| ns.map(|ns| ns.div_euclid(NANOS_PER_MILLI));
    let kept: Vec<_> =
        seen.kept.iter().map(|(rule, keeps)| json!({"rule": rule, "keeps": keeps})).collect();
    let plain = weighed.samples.saturating_mul(PLAIN_SAMPLE_BYTES);
    let answer = json!({
        "series": weighed.series,
        "samples": weighed.samples,
        "bytes": weighed.bytes,
        "plain_bytes": plain,
        "first_ms": millis(seen.first_ns),
        "last_ms": millis(seen.last_ns),
        "kinds": seen.kinds,
        "kept": kept,
        "arrived": {"samples": seen.arrived.samples, "late": seen.arrived.late},
        "asked": shared.queries.demands().told(namespace, name),
        "help": help(shared, namespace, &[name.to_owned()]).into_values().next(),
        "is_whole": looked_at.len() == sids.len(),
    });
    work.write(answer.to_string().as_bytes())
}

/// Looks at the first and the last sample of a series.
fn look(query: &Query<'_>, sid: u32, seen: &mut Seen) -> Result<(), Error> {
    seen.arrived += query.snapshot.arrived(sid);
    let mut scan = query.snapshot.scan(sid, TimeRange::ALL)?;
    let first_ns = match scan.peek() {
        Some(block) => Some(block.range.start_ns),
        None => {
            let mut samples = Samples::default();
            scan.next(&mut samples)?;
            samples.times_ns.first().copied()
        }
    };
    let Some(last) = query.snapshot.last(sid)? else { return Ok(()) };
    let last_ns = last.times_ns.last().copied();
    seen.first_ns = seen.first_ns.into_iter().chain(first_ns).min();
    seen.last_ns = seen.last_ns.into_iter().chain(last_ns).max();
    let kind: Option<Kind> = last.iter().last().map(|(_, value)| value.kind());
    seen.kinds.extend(kind.map(kind_name));
    Ok(())
}
