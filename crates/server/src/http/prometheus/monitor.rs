//! What is scraped and which rules are followed, as Prometheus tells it.

use super::super::routes::Right;
use super::super::{Call, Reply, namespace, store};
use super::Endpoint;
use super::question::{bad, bad_data, no_number, refuse, selectors};
use crate::monitor::{Pool, Seen, SeenGroup, SeenRule};
use crate::query::Failure;
use crate::shared::Shared;
use foliot_access::{Access, Need};
use foliot_model::Matcher;
use foliot_monitor::{
    Alert, Kind, LabelSet, Metadata, Rule, RuleGroup, Stage, Target, exponential, fnv, show_length,
};
use foliot_proto_opentsdb::Params;
use foliot_proto_prometheus::{VectorSelector, success};
use hyper::{StatusCode, Uri};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Metrics that are listed where nobody says how many.
const METADATA_MAX: usize = 100_000;

pub(super) fn answer(shared: &Shared, endpoint: Endpoint, call: &Call) -> Result<Reply, Reply> {
    // What is scraped and what rules say is about this database, whatever one a request names.
    let database = &shared.config.listen_database.database;
    if !call.who.may(Need::Read(database)) {
        let text = format!("no right to read database {database:?}");
        return Err(refuse(&Failure::new(StatusCode::FORBIDDEN, text)));
    }
    let params = Params::parse(&call.query);
    let data = match endpoint {
        Endpoint::Metadata => metadata(shared, call, &params)?,
        Endpoint::TargetsMetadata => targets_metadata(shared, &params)?,
        Endpoint::ScrapePools => {
            let names: Vec<String> = shared.monitor.pools.lock().keys().cloned().collect();
            json!({"scrapePools": names})
        }
        Endpoint::Targets => targets(shared, &params),
        Endpoint::Rules => rules(shared, &params)?,
        Endpoint::Alerts => alerts(shared),
        _ => alertmanagers(shared),
    };
    Ok(Reply::json(StatusCode::OK, success(&data)))
}

fn pools(shared: &Shared) -> BTreeMap<String, Arc<Pool>> {
    shared.monitor.pools.lock().clone()
}

/// A parameter that is a number; 0 and what is missing mean all.
fn limit(params: &Params, name: &str) -> Result<usize, Reply> {
    match params.get(name).filter(|text| !text.is_empty()).map(str::parse::<i64>) {
        None => Ok(usize::MAX),
        Some(Ok(count)) if count <= 0 => Ok(usize::MAX),
        Some(Ok(count)) => Ok(usize::try_from(count).unwrap_or(usize::MAX)),
        Some(Err(_)) => Err(bad_data(&format!("{name} must be a number"))),
    }
}

fn targets(shared: &Shared, params: &Params) -> Value {
    let state = params.get("state").unwrap_or_default().to_ascii_lowercase();
    let shows = |one: &str| matches!(state.as_str(), "" | "any") || state == one;
    let (shows_active, shows_dropped) = (shows("active"), shows("dropped"));
    let wanted = params.get("scrapePool").filter(|name| !name.is_empty());
    let (mut active, mut dropped, mut counts) = (Vec::new(), Vec::new(), Map::new());
    for (job, pool) in pools(shared) {
        let shown = pool.shown();
        counts.insert(job.clone(), shown.dropped_count.into());
        if wanted.is_some_and(|wanted| wanted != job) {
            continue;
        }
        if shows_active {
            for (it, state) in &shown.active {
                active.push(target(shared, &job, it, &state.seen()));
            }
        }
        if shows_dropped {
            dropped.extend(
                shown
                    .dropped
                    .iter()
                    .map(|labels| json!({"discoveredLabels": **labels, "scrapePool": job})),
            );
        }
    }
    // Nothing, where what is dropped is not wanted.
    let counts = shows_dropped.then_some(counts);
    let (active, dropped): (Value, Value) = (active.into(), dropped.into());
    json!({"activeTargets": active, "droppedTargets": dropped, "droppedTargetCounts": counts})
}

fn target(shared: &Shared, job: &str, target: &Target, seen: &Seen) -> Value {
    json!({
        "discoveredLabels": *target.discovered,
        "labels": target.labels,
        "scrapePool": job,
        "scrapeUrl": target.url,
        "globalUrl": global_url(shared, &target.url),
        "lastError": seen.error,
        "lastScrape": date(seen.at_ms),
        "lastScrapeDuration": seen.seconds,
        "health": match seen.is_up {
            None => "unknown",
            Some(true) => "up",
            Some(false) => "down",
        },
        "scrapeInterval": show_length(target.interval_ms),
        "scrapeTimeout": show_length(target.timeout_ms),
    })
}

/// Where others reach a target: what is on this machine has the name by which the server is known.
fn global_url(shared: &Shared, url: &str) -> String {
    const HERE: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
    let external = shared.monitor.external_url(shared);
    let (Ok(own), Ok(external)) = (url.parse::<Uri>(), external.parse::<Uri>()) else {
        return url.to_owned();
    };
    let host = own.host().unwrap_or_default();
    let (Some(name), true) = (external.host(), HERE.contains(&host)) else {
        return url.to_owned();
    };
    let config = &shared.config;
    let prometheus = config.listen_prometheus.0.map(|address| address.port());
    let ports = [Some(config.listen_address.port()), prometheus];
    let port = own.port_u16();
    let (scheme, place) = match port {
        // This server itself.
        Some(_) if ports.contains(&port) => {
            (external.scheme_str(), external.authority().map(ToString::to_string))
        }
        Some(port) => (own.scheme_str(), Some(format!("{name}:{port}"))),
        None => (own.scheme_str(), Some(name.to_owned())),
    };
    let path = own.path_and_query().map_or("", |path| path.as_str());
    format!("{}://{}{path}", scheme.unwrap_or("http"), place.unwrap_or_default())
}

/// A time as Go writes it; its first one for none.
pub(super) fn date(at_ms: i64) -> String {
    match at_ms {
        0 => "0001-01-01T00:00:00Z".to_owned(),
        ms => jiff::Timestamp::from_millisecond(ms).unwrap_or_default().to_string(),
    }
}

fn described(about: &Metadata) -> Value {
    let kind = if about.kind.is_empty() { "unknown" } else { &about.kind };
    json!({"type": kind, "help": about.help, "unit": about.unit})
}

fn metadata(shared: &Shared, call: &Call, params: &Params) -> Result<Value, Reply> {
    let (names_max, each_max) = (limit(params, "limit")?, limit(params, "limit_per_metric")?);
    let wanted = params.get("metric").filter(|name| !name.is_empty());
    let mut found: BTreeMap<String, BTreeSet<Metadata>> = BTreeMap::new();
    let mut find = |name: &str, about: &Metadata| {
        let is_known = found.contains_key(name);
        let has_room = found.len() < names_max.min(METADATA_MAX);
        if wanted.is_some_and(|wanted| wanted != name) || !is_known && !has_room {
            return;
        }
        let all = found.entry(name.to_owned()).or_default();
        if all.len() < each_max {
            all.insert(about.clone());
        }
    };
    for (_, state) in pools(shared).values().flat_map(|pool| pool.shown().active) {
        state.seen().metadata.iter().for_each(|(name, about)| find(name, about));
    }
    // What was pushed is of the database that a request names.
    let database = call.database(shared);
    let place = namespace(shared, store(shared)?, &call.query, &call.headers, Right::Read);
    if let Ok(namespace) = place
        && call.who.may(Need::Read(&database))
    {
        let scope = call.who.measurements(&database, Access::Read);
        shared.monitor.described.each((namespace, &scope), &mut find);
    }
    let entry = |(name, all): (String, BTreeSet<Metadata>)| {
        (name, Value::from(all.iter().map(described).collect::<Vec<_>>()))
    };
    Ok(Value::Object(found.into_iter().map(entry).collect()))
}

fn targets_metadata(shared: &Shared, params: &Params) -> Result<Value, Reply> {
    let most = limit(params, "limit")?.min(METADATA_MAX);
    let wanted = params.get("metric").filter(|name| !name.is_empty());
    let matchers = match params.get("match_target").filter(|text| !text.is_empty()) {
        None => Vec::new(),
        Some(text) => {
            let selector = VectorSelector::parse(text);
            matchers(&selector.map_err(|error| bad("match_target", error))?)
        }
    };
    let mut found = Vec::new();
    for (target, state) in pools(shared).values().flat_map(|pool| pool.shown().active) {
        // As in Prometheus, a target that is listed is listed whole.
        if found.len() >= most || !matches(&matchers, &target.labels) {
            continue;
        }
        for (name, about) in &*state.seen().metadata {
            if wanted.is_some_and(|wanted| wanted != name) {
                continue;
            }
            let mut entry = described(about);
            if let Value::Object(entry) = &mut entry {
                entry.insert("target".to_owned(), json!(target.labels));
                let said = wanted.is_none().then(|| ("metric".to_owned(), json!(name)));
                entry.extend(said);
            }
            found.push(entry);
        }
    }
    Ok(found.into())
}

/// What a selector wants of labels.
fn matchers(selector: &VectorSelector) -> Vec<Matcher> {
    selector.stored(0).selector.matchers
}

/// Whether labels are those that are wanted.
fn matches(matchers: &[Matcher], labels: &LabelSet) -> bool {
    matchers.iter().all(|matcher| matcher.matches(labels.get(&matcher.name).map(String::as_str)))
}

/// Which rules are wanted.
struct Wanted<'a> {
    params: &'a Params,
    kind: String,
    matchers: Vec<Vec<Matcher>>,
    has_alerts: bool,
    /// How many groups an answer has at most.
    groups_max: usize,
    /// The token of the first of them.
    first: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    fn read(params: &'a Params) -> Result<Self, Reply> {
        let given = |name| params.get(name).filter(|text| !text.is_empty());
        let selectors = selectors(params).map_err(|reason| bad_data(&reason))?;
        let matchers = selectors.iter().map(matchers).collect();
        let kind = params.get("type").unwrap_or_default().to_lowercase();
        if !matches!(kind.as_str(), "" | "alert" | "record") {
            return Err(bad("type", format!("not supported value {kind:?}")));
        }
        let has_alerts = match given("exclude_alerts").map(str::to_lowercase).as_deref() {
            None | Some("0" | "f" | "false") => true,
            Some("1" | "t" | "true") => false,
            Some(text) => {
                let reason = format!("strconv.ParseBool: parsing {text:?}: invalid syntax");
                let reason = format!("error converting exclude_alerts: {reason}");
                return Err(bad("exclude_alerts", reason));
            }
        };
        let (limit, first) = (given("group_limit"), given("group_next_token"));
        if first.is_some() && limit.is_none() {
            let reason = "group_limit needs to be present in order to paginate over the groups";
            return Err(bad("group_next_token", reason));
        }
        let groups_max = limit.map_or(Ok(usize::MAX), page)?;
        Ok(Self { params, kind, matchers, has_alerts, groups_max, first })
    }

    /// Whether a name is among those of a parameter, if there are any.
    fn names(&self, parameter: &str, name: &str) -> bool {
        let mut names = self.params.all(parameter).peekable();
        names.peek().is_none() || names.any(|wanted| wanted == name)
    }

    fn rule(&self, rule: &Rule) -> bool {
        let kind = if matches!(rule.kind, Kind::Recording) { "record" } else { "alert" };
        let is_kind = self.kind.is_empty() || self.kind == kind;
        let is_matched = self.matchers.is_empty()
            || self.matchers.iter().any(|matchers| matches(matchers, &rule.labels));
        is_kind && is_matched && self.names("rule_name[]", &rule.name)
    }
}

/// How many groups of rules an answer has at most, as `group_limit` says.
fn page(text: &str) -> Result<usize, Reply> {
    let reason = match text.parse::<i32>() {
        Ok(count) if count > 0 => return Ok(usize::try_from(count).unwrap_or(usize::MAX)),
        Ok(_) => "group_limit needs to be greater than 0".to_owned(),
        Err(error) => {
            let reason = no_number("ParseInt", text, &error);
            format!("group_limit needs to be a valid number: {reason}")
        }
    };
    Err(bad("group_limit", reason))
}

/// What tells a client where to go on; it only hands it back.
fn token(group: &RuleGroup) -> String {
    format!("{:016x}", fnv([group.key().as_str()].into_iter()))
}

fn rules(shared: &Shared, params: &Params) -> Result<Value, Reply> {
    let wanted = Wanted::read(params)?;
    let states = shared.monitor.groups.lock().clone();
    let (mut groups, mut next, mut first) = (Vec::new(), None, wanted.first);
    for seen in states.into_values().map(|state| state.seen()) {
        let SeenGroup { group, interval_ms, at_ms, seconds, rules } = seen;
        if first.is_some_and(|first| first != token(&group)) {
            continue;
        }
        first = None;
        if !wanted.names("rule_group[]", &group.name) || !wanted.names("file[]", &group.file) {
            continue;
        }
        let chosen = group.rules.iter().zip(&rules).filter(|(it, _)| wanted.rule(it));
        let shown = chosen.map(|(it, seen)| rule(it, seen, wanted.has_alerts));
        let rules: Vec<Value> = shown.collect();
        if rules.is_empty() {
            continue;
        }
        if groups.len() == wanted.groups_max {
            next = Some(token(&group));
            break;
        }
        groups.push(json!({
            "name": group.name,
            "file": group.file,
            "rules": rules,
            "interval": interval_ms as f64 / 1000.0,
            "limit": group.limit.unwrap_or(0),
            "evaluationTime": seconds,
            "lastEvaluation": date(at_ms),
        }));
    }
    if let Some(first) = first {
        let reason = format!("invalid group_next_token '{first}'. were rule groups changed?");
        return Err(bad("group_next_token", reason));
    }
    let mut answer = Map::from_iter([("groups".to_owned(), groups.into())]);
    answer.extend(next.map(|token| ("groupNextToken".to_owned(), token.into())));
    Ok(answer.into())
}

fn rule(rule: &Rule, seen: &SeenRule, has_alerts: bool) -> Value {
    let mut value = json!({
        "name": rule.name,
        "query": rule.text,
        "labels": rule.labels,
        "health": match seen.is_good {
            None => "unknown",
            Some(true) => "ok",
            Some(false) => "err",
        },
        "evaluationTime": seen.seconds,
        "lastEvaluation": date(seen.at_ms),
        "type": "recording",
    });
    let Value::Object(fields) = &mut value else { return value };
    if !seen.error.is_empty() {
        fields.insert("lastError".to_owned(), json!(seen.error));
    }
    if let Kind::Alerting(alerting) = &rule.kind {
        let active = || seen.alerts.iter().filter(|alert| alert.stage != Stage::Inactive);
        let stage = active().map(|alert| alert.stage).max().unwrap_or(Stage::Inactive);
        let alerts = active().filter(|_| has_alerts).map(alert).collect::<Vec<_>>();
        let more = json!({
            "type": "alerting",
            "state": stage.name(),
            "duration": alerting.for_ms as f64 / 1000.0,
            "keepFiringFor": alerting.keep_firing_ms as f64 / 1000.0,
            "annotations": alerting.annotation_texts,
            "alerts": alerts,
        });
        fields.extend(more.as_object().cloned().unwrap_or_default());
    }
    value
}

fn alert(alert: &Alert) -> Value {
    let mut value = json!({
        "labels": alert.labels,
        "annotations": alert.annotations,
        "state": alert.stage.name(),
        "activeAt": date(alert.active_ms),
        "value": exponential(alert.value),
    });
    if let (Value::Object(fields), Some(since_ms)) = (&mut value, alert.keep_since_ms) {
        fields.insert("keepFiringSince".to_owned(), json!(date(since_ms)));
    }
    value
}

fn alerts(shared: &Shared) -> Value {
    let states = shared.monitor.groups.lock().clone();
    let mut alerts = Vec::new();
    for rule in states.into_values().flat_map(|state| state.seen().rules) {
        let active = rule.alerts.iter().filter(|alert| alert.stage != Stage::Inactive);
        alerts.extend(active.map(alert));
    }
    json!({"alerts": alerts})
}

fn alertmanagers(shared: &Shared) -> Value {
    let managers = shared.monitor.managers.lock().clone();
    let urls = managers.iter().flat_map(|managers| managers.urls());
    let active: Vec<Value> = urls.map(|url| json!({"url": url})).collect();
    json!({"activeAlertmanagers": active, "droppedAlertmanagers": []})
}
