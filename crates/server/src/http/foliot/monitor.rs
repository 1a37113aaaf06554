//! `targets`, `rules`, `alerts`: what `prometheus.config` has this server do, and how that goes.
//! All of it is about the database that things without a database go to, as at Prometheus' door.

use super::letters::folded;
use super::{bad, limit, refuse};
use crate::http::{Call, Reply};
use crate::monitor::{Seen, SeenGroup, SeenRule, Shown};
use crate::shared::Shared;
use foliot_access::Need;
use foliot_monitor::{Alert, Kind, LabelSet, Rule, RuleGroup, Stage, Target};
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Entries that one request lists, and how many unless it says.
const LISTED_MAX: usize = 10_000;
const LISTED_USUAL: usize = 1_000;

/// Refuses whoever may not read what is scraped and computed.
pub(super) fn check(shared: &Shared, call: &Call) -> Result<(), Reply> {
    let database = &shared.config.listen_database.database;
    match call.who.may(Need::Read(database)) {
        true => Ok(()),
        false => {
            let text = format!("you have no right to read database {database:?}");
            Err(refuse(StatusCode::FORBIDDEN, &text))
        }
    }
}

/// What is said of the configuration beside every list.
fn about(shared: &Shared) -> Map<String, Value> {
    let monitor = &shared.monitor;
    let read_ms = monitor.loaded().map(|loaded| loaded.read_ns / 1_000_000);
    let file = Some(&shared.config.prometheus_config.0).filter(|file| !file.is_empty());
    let about = json!({
        "file": file,
        "read_ms": read_ms,
        "is_good": monitor.is_good(),
    });
    Map::from_iter([("config".to_owned(), about)])
}

/// A time, if there was one.
fn millis(at_ms: i64) -> Option<i64> {
    Some(at_ms).filter(|at_ms| *at_ms != 0)
}

/// A number as JSON has it, and as text where JSON has none.
fn number(value: f64) -> Value {
    let text = match value {
        _ if value.is_finite() => return json!(value),
        _ if value.is_nan() => "NaN",
        _ if value > 0.0 => "Infinity",
        _ => "-Infinity",
    };
    json!(text)
}

/// Which targets are wanted.
struct Wanted {
    job: Option<String>,
    state: Option<String>,
    search: String,
    limit: usize,
}

impl Wanted {
    fn read(params: &Params) -> Result<Self, Reply> {
        let given = |name| params.get(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let state = given("state");
        if state.as_ref().is_some_and(|state| !STATES.contains(&state.as_str())) {
            return Err(bad("state: must be up, down, unknown or dropped"));
        }
        let search = folded(&given("search").unwrap_or_default()).into_owned();
        let limit = limit(params, LISTED_USUAL, LISTED_MAX)?;
        Ok(Self { job: given("job"), state, search, limit })
    }

    fn is(&self, state: &str) -> bool {
        self.state.as_ref().is_none_or(|wanted| wanted == state)
    }

    /// Whether a target has what is sought in its address, its labels or its error.
    fn has(&self, texts: &[&str], labels: [&LabelSet; 2]) -> bool {
        let has = |text: &str| folded(text).contains(&self.search);
        let in_labels = |labels: &LabelSet| {
            labels.iter().any(|(name, value)| has(&format!("{name}={value}")) || has(value))
        };
        self.search.is_empty()
            || texts.iter().any(|text| has(text))
            || labels.into_iter().any(in_labels)
    }
}

const STATES: [&str; 4] = ["up", "down", "unknown", "dropped"];

fn state(seen: &Seen) -> &'static str {
    match seen.is_up {
        None => "unknown",
        Some(true) => "up",
        Some(false) => "down",
    }
}

pub(super) fn targets(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    check(shared, call)?;
    let wanted = Wanted::read(&Params::parse(&call.query))?;
    let pools = shared.monitor.pools.lock().clone();
    let (mut jobs, mut found, mut is_whole) = (Vec::new(), Vec::new(), true);
    for (job, pool) in pools {
        let Shown { active, dropped, dropped_count } = pool.shown();
        let active: Vec<_> =
            active.into_iter().map(|(target, state)| (target, state.seen())).collect();
        let mut counts: BTreeMap<&str, usize> = STATES.into_iter().map(|name| (name, 0)).collect();
        active.iter().for_each(|(_, seen)| *counts.entry(state(seen)).or_default() += 1);
        counts.insert("dropped", dropped_count);
        jobs.push(json!({"name": job, "targets": counts}));
        if wanted.job.as_ref().is_some_and(|wanted| *wanted != job) {
            continue;
        }
        let mut push = |row: &dyn Fn() -> Value| match found.len() < wanted.limit {
            true => found.push(row()),
            false => is_whole = false,
        };
        for (target, seen) in &active {
            let labels = [&target.labels, &*target.discovered];
            if wanted.is(state(seen)) && wanted.has(&[&target.url, &seen.error], labels) {
                push(&|| scraped(&job, target, seen));
            }
        }
        for labels in dropped.iter().filter(|_| wanted.is("dropped")) {
            if wanted.has(&[], [labels, labels]) {
                push(&|| left_out(&job, labels));
            }
        }
    }
    let mut answer = about(shared);
    answer.extend([
        ("jobs".to_owned(), Value::from(jobs)),
        ("targets".to_owned(), Value::from(found)),
        ("is_whole".to_owned(), is_whole.into()),
    ]);
    Ok(Reply::json(StatusCode::OK, Value::from(answer).to_string()))
}

fn scraped(job: &str, target: &Target, seen: &Seen) -> Value {
    json!({
        "job": job,
        "state": state(seen),
        "url": target.url,
        "labels": target.labels,
        "discovered": *target.discovered,
        "error": seen.error,
        "at_ms": millis(seen.at_ms),
        "took_ms": seen.seconds * 1000.0,
        "samples_scraped": seen.counts.scraped,
        "samples_kept": seen.counts.kept,
        "new_series": seen.counts.added,
        "interval_ms": target.interval_ms,
        "timeout_ms": target.timeout_ms,
    })
}

/// What was found and is not scraped, because rules say so.
fn left_out(job: &str, labels: &LabelSet) -> Value {
    json!({"job": job, "state": "dropped", "discovered": labels})
}

pub(super) fn rules(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    check(shared, call)?;
    let states = shared.monitor.groups.lock().clone();
    let group = |seen: SeenGroup| {
        let SeenGroup { group, interval_ms, at_ms, seconds, rules } = seen;
        let rules: Vec<Value> =
            group.rules.iter().zip(&rules).map(|(rule, seen)| followed(rule, seen)).collect();
        json!({
            "name": group.name,
            "file": group.file,
            "interval_ms": interval_ms,
            "at_ms": millis(at_ms),
            "took_ms": seconds * 1000.0,
            "rules": rules,
        })
    };
    let groups: Vec<Value> = states.into_values().map(|state| group(state.seen())).collect();
    let mut answer = about(shared);
    answer.insert("groups".to_owned(), groups.into());
    Ok(Reply::json(StatusCode::OK, Value::from(answer).to_string()))
}

/// Alerts of a rule that are pending or firing.
fn active(seen: &SeenRule) -> impl Iterator<Item = &Alert> {
    seen.alerts.iter().filter(|alert| alert.stage != Stage::Inactive)
}

fn followed(rule: &Rule, seen: &SeenRule) -> Value {
    let count = |stage: Stage| active(seen).filter(|alert| alert.stage == stage).count();
    let alerting = match &rule.kind {
        Kind::Recording => None,
        Kind::Alerting(alerting) => Some(json!({
            "for_ms": alerting.for_ms,
            "keep_firing_ms": alerting.keep_firing_ms,
            "annotations": alerting.annotation_texts,
            "pending": count(Stage::Pending),
            "firing": count(Stage::Firing),
        })),
    };
    json!({
        "name": rule.name,
        "text": rule.text,
        "labels": rule.labels,
        "health": match seen.is_good {
            None => "unknown",
            Some(true) => "good",
            Some(false) => "bad",
        },
        "error": seen.error,
        "at_ms": millis(seen.at_ms),
        "took_ms": seen.seconds * 1000.0,
        "alerting": alerting,
    })
}

pub(super) fn alerts(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    check(shared, call)?;
    let limit = limit(&Params::parse(&call.query), LISTED_USUAL, LISTED_MAX)?;
    let states = shared.monitor.groups.lock().clone();
    let (mut found, mut total) = (Vec::new(), 0);
    for SeenGroup { group, rules, .. } in states.into_values().map(|state| state.seen()) {
        for (rule, seen) in group.rules.iter().zip(&rules) {
            for alert in active(seen) {
                total += 1;
                if found.len() < limit {
                    found.push(told(&group, rule, alert));
                }
            }
        }
    }
    let managers = shared.monitor.managers.lock().clone();
    let failures: BTreeMap<String, String> =
        managers.iter().flat_map(|managers| managers.failures()).collect();
    let managers: Vec<String> = managers.iter().flat_map(|managers| managers.urls()).collect();
    let mut answer = about(shared);
    answer.extend([
        ("is_whole".to_owned(), (found.len() == total).into()),
        ("alerts".to_owned(), found.into()),
        ("alertmanagers".to_owned(), json!(managers)),
        ("alertmanagers_failed".to_owned(), json!(failures)),
    ]);
    Ok(Reply::json(StatusCode::OK, Value::from(answer).to_string()))
}

fn told(group: &RuleGroup, rule: &Rule, alert: &Alert) -> Value {
    json!({
        "rule": rule.name,
        "group": group.name,
        "file": group.file,
        "text": rule.text,
        "stage": alert.stage.name(),
        "since_ms": alert.active_ms,
        "fired_ms": alert.fired_ms,
        "labels": alert.labels,
        "annotations": alert.annotations,
        "value": number(alert.value),
    })
}
