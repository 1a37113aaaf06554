//! `retention`: how long samples are kept, and by which rule; `retention/test`: what a series, or a
//! rule that nobody has set yet, comes to.

use super::delete::matchers;
use super::{bad, body_of, place, refuse, refuse_failure, store};
use crate::config::{Keep, KeepRules, Setting};
use crate::http::{Call, Reply, reply, status_of};
use crate::metrics::now_ns;
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use foliot_engine::{Error, RetentionRule};
use foliot_exec::Ran;
use foliot_model::{NANOS_PER_MILLI, Name, NamespaceId, Selector, Test, TimeRange};
use foliot_proto_opentsdb::any_series;
use foliot_schema::Policy;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::time::Duration;

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
    let failed = |error: Error| Failure::new(status_of(&error), error.to_string());
    let store = shared.store().ok_or_else(|| failed(Error::Closed))?;
    let label = |name: &str| asked.labels.get(name).and_then(Value::as_str);
    let found = asked.rules.iter().position(|rule| rule.fits(&asked.measurement, &label));
    let rule = found.and_then(|at| asked.rules.get(at));
    let keep = match rule {
        Some(rule) => rule.keep,
        None => store.engine().retention(asked.namespace),
    };
    let floor_ns = keep
        .map(|keep| now_ns().saturating_sub(i64::try_from(keep.as_nanos()).unwrap_or(i64::MAX)));
    let meter = work.meter();
    let goes_on = || meter.check(0).is_ok();
    let older = TimeRange::new(i64::MIN, floor_ns.map_or(i64::MIN, |floor| floor - 1));
    let tally = |range| work.snapshot.weigh(selector, range, &goes_on);
    let counted = tally(TimeRange::ALL).and_then(|all| {
        Ok((all, if floor_ns.is_some() { tally(older)? } else { Default::default() }))
    });
    if matches!(counted, Err(Error::Stopped)) {
        // Why it was stopped the meter says in better words.
        meter.check(0)?;
    }
    let (all, expired) = counted.map_err(failed)?;
    let answer = json!({
        "rule": rule.map(|rule| KeepRules(vec![rule.clone()]).show()),
        "number": found.map(|at| at + 1),
        "keeps": kept(keep),
        "expires_before_ms": floor_ns.map(|floor| floor.div_euclid(NANOS_PER_MILLI)),
        "series": all.series,
        "samples": all.samples,
        "bytes": all.bytes,
        "expired_samples": expired.samples,
        "expired_bytes": expired.bytes,
    });
    work.write(answer.to_string().as_bytes())
}
