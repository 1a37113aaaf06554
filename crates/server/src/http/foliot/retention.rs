//! `retention`: how long samples are kept, and by which rule; `retention/test`: what a series, or a
//! rule that nobody has set yet, comes to.

use super::delete::matchers;
use super::weighed::weighed;
use super::{bad, body_of, place, refuse, refuse_failure, store};
use crate::config::{Keep, KeepRules, Setting};
use crate::http::{Call, Reply, reply, status_of};
use crate::metrics::now_ns;
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_engine::{Deleted, Error, RetentionRule};
use foliot_exec::{Query, Ran};
use foliot_model::{NANOS_PER_MILLI, Name, NamespaceId, Selector, Test, TimeRange};
use foliot_proto_opentsdb::any_series;
use foliot_schema::Policy;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Series whose labels are looked at between two looks at the clock.
const SERIES_AT_ONCE: usize = 4_096;

pub(super) fn list(shared: &Shared) -> Result<Reply, Reply> {
    let store = store(shared)?;
    let listed = store.listed_databases();
    let listed = listed.map_err(|error| refuse(status_of(&error), &error.to_string()))?;
    let databases: Vec<Value> = listed
        .iter()
        .map(|(name, database)| {
            let policy = |policy: &Policy| {
                json!({
                    "name": policy.name,
                    "is_default": policy.name == database.default_policy,
                    "keeps": kept(store.engine().retention(policy.namespace)),
                })
            };
            let policies: Vec<Value> = database.policies.iter().map(policy).collect();
            json!({"name": name, "policies": policies})
        })
        .collect();
    let config = &shared.config;
    let answer = json!({
        "keeps": config.retention_time.show(),
        "size": config.retention_size.show(),
        "rules": spelled(&config.retention_rules.0),
        "databases": databases,
    });
    Ok(Reply::json(StatusCode::OK, answer.to_string()))
}

fn kept(keep: Option<Duration>) -> String {
    Keep(keep).show()
}

fn spelled(rules: &[RetentionRule]) -> Vec<String> {
    rules.iter().map(|rule| KeepRules(vec![rule.clone()]).show()).collect()
}

/// What is asked: whose samples, by which rules.
struct Asked {
    measurement: String,
    labels: Map<String, Value>,
    rules: Vec<RetentionRule>,
    namespace: NamespaceId,
}

pub(super) async fn test(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    let (who, database) = (call.who.clone(), call.database(shared));
    let body = body_of(shared, call, &["measurement", "labels", "rules"]).await?;
    let measurement = body.get("measurement").and_then(Value::as_str).unwrap_or_default();
    if measurement.is_empty() {
        return Err(bad("measurement: of which measurement is the series?"));
    }
    let labels = match body.get("labels") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(labels)) => labels.clone(),
        Some(_) => return Err(bad("labels: must be an object of names and values")),
    };
    let rules = match body.get("rules") {
        None | Some(Value::Null) => shared.config.retention_rules.0.clone(),
        Some(Value::String(text)) => KeepRules::read(text).map_err(|why| bad(&why))?.0,
        Some(_) => return Err(bad("rules: must be text, as retention.rules has it")),
    };
    let mut selector = any_series(namespace);
    selector.names = vec![Name { measurement: Test::equal(measurement), field: Test::Any }];
    selector.matchers = matchers(&labels)?;
    let asked = Asked { measurement: measurement.to_owned(), labels, rules, namespace };
    let title = Title::by_itself(&format!("retention of {measurement}"), database);
    let shared_by_job = shared.clone();
    let job = Job::new(who, Some(title), move |work| {
        run(&shared_by_job, &asked, &selector, work)?;
        Ok(Ran::default())
    });
    let answered = query::answer(shared, reply::JSON, false, job.that_reads(true)).await;
    answered.map_err(|failure| refuse_failure(&failure))
}

fn run(
    shared: &Shared,
    asked: &Asked,
    selector: &Selector,
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    let store = shared.store().ok_or_else(|| failed(Error::Closed))?;
    let label = |name: &str| asked.labels.get(name).and_then(Value::as_str);
    let found = asked.rules.iter().position(|rule| rule.fits(&asked.measurement, &label));
    let rule = found.and_then(|at| asked.rules.get(at));
    let usual = store.engine().retention(asked.namespace);
    let floor = |keep: Option<Duration>| {
        let nanos = |keep: Duration| i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX);
        keep.map(|keep| now_ns().saturating_sub(nanos(keep)))
    };
    let keep = rule.map_or(usual, |rule| rule.keep);
    let (mut all, mut expired) = (Deleted::default(), Deleted::default());
    let mut by_rule = Vec::new();
    for (at, sids) in by_rule_of(asked, selector, work)? {
        let rule = at.and_then(|at| asked.rules.get(at));
        let keep = rule.map_or(usual, |rule| rule.keep);
        let floor_ns = floor(keep);
        let some = Selector { only: Some(sids.into_iter().collect()), ..selector.clone() };
        let whole = weighed(work, &some, TimeRange::ALL)?;
        let older = match floor_ns {
            None => Deleted::default(),
            Some(floor_ns) => weighed(work, &some, TimeRange::new(i64::MIN, floor_ns - 1))?,
        };
        by_rule.push(json!({
            "rule": rule.map(|rule| KeepRules(vec![rule.clone()]).show()),
            "number": at.map(|at| at + 1),
            "keeps": kept(keep),
            "series": whole.series,
            "samples": whole.samples,
            "expired_samples": older.samples,
        }));
        all += whole;
        expired += older;
    }
    let answer = json!({
        "rule": rule.map(|rule| KeepRules(vec![rule.clone()]).show()),
        "number": found.map(|at| at + 1),
        "keeps": kept(keep),
        "expires_before_ms": floor(keep).map(|floor| floor.div_euclid(NANOS_PER_MILLI)),
        "series": all.series,
        "samples": all.samples,
        "bytes": all.bytes,
        "expired_samples": expired.samples,
        "expired_bytes": expired.bytes,
        "by_rule": by_rule,
    });
    work.write(answer.to_string().as_bytes())
}

/// Stored series by the rule that decides for each, by its place; those that only their policy
/// keeps come first.
fn by_rule_of(
    asked: &Asked,
    selector: &Selector,
    work: &Work<'_>,
) -> Result<BTreeMap<Option<usize>, Vec<u32>>, Failure> {
    let meter = work.meter();
    let query = Query { snapshot: work.snapshot, meter: meter.clone() };
    let mut charge = meter.open();
    let sids = foliot_exec::selected(&query, selector, TimeRange::ALL, &mut charge)?;
    charge.add(size_of_val(sids.as_slice()))?;
    let mut found: BTreeMap<_, Vec<u32>> = BTreeMap::new();
    for some in sids.chunks(SERIES_AT_ONCE) {
        meter.check(0)?;
        let looked = work.snapshot.identities(some, &mut |sid, identity| {
            let label = |name: &str| identity.labels.get(name).map(|value| &**value);
            let rule = asked.rules.iter().position(|rule| rule.fits(&identity.measurement, &label));
            found.entry(rule).or_default().push(sid);
        });
        looked.map_err(failed)?;
    }
    Ok(found)
}

fn failed(error: Error) -> Failure {
    Failure::new(status_of(&error), error.to_string())
}
