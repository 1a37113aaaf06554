//! `catalogue`: what there is, by name. Names are found by any part of them, whatever their case.

use super::letters::folded;
use super::{bad, limit, place, refuse, refuse_failure, store};
use crate::host;
use crate::http::{Call, Reply, accepts_gzip, reply};
use crate::limits::Limit;
use crate::query::{self, Job, Title};
use crate::shared::Shared;
use foliot_access::Need;
use foliot_exec::{Charge, Error, Query, Ran};
use foliot_model::{DEFAULT_FIELD, Kind, Matcher, Name, NamespaceId, Selector, Test, TimeRange};
use foliot_plan::{Listing, What};
use foliot_proto_opentsdb::{Params, Request, any_series, matchers};
use foliot_schema::{Database, Kinds, Policy};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Names that one request may list.
const NAMES_MAX: usize = 10_000;

/// Names that one request lists unless it says how many.
const NAMES_USUAL: usize = 100;

/// Series that are looked at for the metrics that came last.
const SERIES_NEWEST_MAX: usize = 16_384;

/// Series that are looked at together.
const SERIES_AT_ONCE: usize = 4_096;

/// Fewer letters stand in their order in names of all kinds.
const RESEMBLING_LETTERS: usize = 3;

/// What is wanted of the catalogue.
enum Wanted {
    Names(What),
    Fields(String),
    Newest,
}

/// Which names are wanted, and how many of them.
struct Search {
    /// What they hold, folded.
    part: String,
    /// How they do not begin.
    without: Vec<String>,
    limit: usize,
}

impl Search {
    /// What a request wants; so many names unless it says how many.
    fn read(params: &Params, usual: usize) -> Result<Self, Reply> {
        Ok(Self {
            part: folded(params.get("search").unwrap_or_default()).into_owned(),
            without: beginnings(params.get("without").unwrap_or_default()),
            limit: limit(params, usual, NAMES_MAX)?,
        })
    }

    fn is_for_all(&self) -> bool {
        self.part.is_empty() && self.without.is_empty()
    }

    fn wants(&self, name: &str) -> bool {
        self.may_be(name) && (self.part.is_empty() || folded(name).contains(&self.part))
    }

    fn may_be(&self, name: &str) -> bool {
        !self.without.iter().any(|begin| name.starts_with(begin))
    }

    /// Leaves those names that are wanted; where none is, those that resemble them.
    fn keep<T>(&self, named: &mut Vec<T>, name: impl Fn(&T) -> &str) {
        match named.iter().any(|of| self.wants(name(of))) {
            true => named.retain(|of| self.wants(name(of))),
            false => named.retain(|of| self.resembles(name(of))),
        }
    }

    /// Whether a name has what is sought letter by letter, in its order, with others between.
    fn resembles(&self, name: &str) -> bool {
        let name_folded = folded(name);
        let mut letters = name_folded.chars();
        self.part.chars().count() >= RESEMBLING_LETTERS
            && self.part.chars().all(|letter| letters.any(|other| other == letter))
            && self.may_be(name)
    }
}

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    let of = params.get("of").unwrap_or_default();
    if of == "databases" {
        return databases(shared, &call, &Search::read(&params, NAMES_MAX)?);
    }
    if !call.who.may(Need::Read(&call.database(shared))) {
        return Err(refuse(StatusCode::FORBIDDEN, "you have no right to read this database"));
    }
    let (_, namespace) = place(shared, &call)?;
    // A measurement has few fields, and who asks for them wants all.
    let usual = if of == "fields" { NAMES_MAX } else { NAMES_USUAL };
    let search = Search::read(&params, usual)?;
    let selector = filtered(&params, namespace)?;
    let given = |name, what| {
        let given = params.get(name).map(str::to_owned);
        given.ok_or_else(|| bad(&format!("{name}: {what}")))
    };
    let wanted = match of {
        "metrics" => Wanted::Names(What::Metrics),
        "measurements" => Wanted::Names(What::Measurements),
        "labels" => Wanted::Names(What::LabelNames),
        "values" => {
            let label = given("label", "values of which label?")?;
            Wanted::Names(What::LabelValues(Some(label)))
        }
        "fields" => Wanted::Fields(given("measurement", "fields of which measurement?")?),
        "newest" => Wanted::Newest,
        _ => {
            let known = "databases, metrics, measurements, fields, labels, values or newest";
            return Err(bad(&format!("of: must be {known}")));
        }
    };
    let is_described = match params.get("help") {
        None | Some("false") => false,
        Some("true") => matches!(wanted, Wanted::Names(What::Metrics) | Wanted::Newest),
        Some(_) => return Err(bad("help: must be true or false")),
    };
    let gzip = accepts_gzip(&call.headers);
    let title = Title::by_itself(&format!("catalogue {}", call.query), call.database(shared));
    let asked = shared.clone();
    let job = Job::new(call.who.clone(), Some(title), move |work| {
        let query = Query { snapshot: work.snapshot, meter: work.meter() };
        let listed = match &wanted {
            Wanted::Names(what) => list(&query, what, &selector, &search, &asked),
            Wanted::Fields(measurement) => {
                fields(&query, &asked, (namespace, measurement), &search)
            }
            Wanted::Newest => newest(&query, &selector, &search),
        };
        let mut listed = listed?;
        if is_described {
            describe(&asked, namespace, &mut listed);
        }
        work.write(listed.to_string().as_bytes())?;
        Ok(Ran::default())
    });
    let job = job.that_reads(true);
    query::answer(shared, reply::JSON, gzip, job).await.map_err(|failure| refuse_failure(&failure))
}

/// `foliot.,foliot_` as beginnings of names.
fn beginnings(text: &str) -> Vec<String> {
    text.split(',').filter(|begin| !begin.is_empty()).map(str::to_owned).collect()
}

fn broken(error: &foliot_engine::Error) -> Reply {
    refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string())
}

fn names_json(names: &[String], is_whole: bool) -> Value {
    json!({"names": names, "is_whole": is_whole})
}

/// Adds what is known of the metrics that are listed.
fn describe(shared: &Shared, namespace: NamespaceId, listed: &mut Value) {
    let names = listed.get("names").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<String> = names.filter_map(Value::as_str).map(str::to_owned).collect();
    if let Some(listed) = listed.as_object_mut() {
        listed.insert("help".to_owned(), json!(help(shared, namespace, &names)));
    }
}

/// What is known of metrics of a database: what their targets and senders say, and of this server's
/// own what it says itself.
pub(super) fn help(
    shared: &Shared,
    namespace: NamespaceId,
    names: &[String],
) -> BTreeMap<String, Value> {
    let described =
        |kind: &str, help: &str, unit: &str| json!({"kind": kind, "help": help, "unit": unit});
    let told = shared.monitor.metadata(namespace, names).into_iter();
    let mut found: BTreeMap<String, Value> =
        told.map(|(name, it)| (name, described(&it.kind, &it.help, &it.unit))).collect();
    if names.iter().any(|name| name.starts_with(OWN_METRICS)) {
        shared.visit_figures(&mut |figure| {
            let name = host::metric(figure.name);
            if names.contains(&name) {
                found.entry(name).or_insert_with(|| described(figure.kind.name(), figure.help, ""));
            }
        });
    }
    found
}

/// How metrics begin that this server writes about itself.
const OWN_METRICS: &str = "foliot.";

/// The series that are meant: all, or those of a metric or of a measurement.
pub(super) fn selector(params: &Params, namespace: NamespaceId) -> Selector {
    let given = |name| params.get(name).filter(|text| !text.is_empty());
    if let Some(metric) = given("metric") {
        return Request::metric_selector(namespace, metric);
    }
    let mut selector = any_series(namespace);
    let named =
        given("measurement").map(|name| Name { measurement: Test::equal(name), field: Test::Any });
    selector.names.extend(named);
    selector
}

/// The same, of those with the labels that `filters` says, where names of labels are listed.
fn filtered(params: &Params, namespace: NamespaceId) -> Result<Selector, Reply> {
    let mut selector = selector(params, namespace);
    let Some(braces) = params.get("filters") else { return Ok(selector) };
    if !matches!(params.get("of"), Some("labels" | "values")) {
        return Err(bad("filters: only labels and values are listed by them"));
    }
    let matchers = matchers(braces).map_err(|error| bad(&format!("filters: {}", error.message)))?;
    selector.matchers.extend(matchers);
    Ok(selector)
}

/// The same, of those that have a `label`, with this `value` if one is said.
pub(super) fn labelled(params: &Params, namespace: NamespaceId) -> Result<Selector, Reply> {
    let mut selector = selector(params, namespace);
    let given = |name| params.get(name).filter(|text: &&str| !text.is_empty());
    let test = match (given("label"), given("value")) {
        (None, None) => return Ok(selector),
        (None, Some(_)) => return Err(bad("value: of which label?")),
        (Some(_), None) => Test::Any,
        (Some(_), Some(value)) => Test::equal(value),
    };
    let name = given("label").unwrap_or_default().to_owned();
    selector.matchers.push(Matcher { name, test, negated: false, accepts_absent: false });
    Ok(selector)
}

/// The names that are wanted, and whether these are all.
fn list(
    query: &Query<'_>,
    what: &What,
    selector: &Selector,
    search: &Search,
    shared: &Shared,
) -> Result<Value, Error> {
    let searched = usize::try_from(shared.config.limits_names_searched).unwrap_or(usize::MAX);
    let looks_at = if search.is_for_all() { search.limit } else { searched };
    let listing = Listing {
        what: what.clone(),
        selector: selector.clone(),
        prefix: String::new(),
        offset: 0,
        limit: looks_at.saturating_add(1),
    };
    let mut names = foliot_exec::listed(query, &listing, &mut query.meter.open())?;
    let mut is_whole = names.len() <= looks_at;
    names.truncate(looks_at);
    if !search.is_for_all() {
        if !is_whole {
            shared.metrics.limits.add(Limit::NamesSearched);
        }
        search.keep(&mut names, |name| name);
        is_whole &= names.len() <= search.limit;
        names.truncate(search.limit);
    }
    Ok(names_json(&names, is_whole))
}

/// The metrics whose series were registered last, newest first.
fn newest(query: &Query<'_>, selector: &Selector, search: &Search) -> Result<Value, Error> {
    let mut newest = Newest { search, seen: BTreeSet::new(), names: Vec::new(), looked_at: 0 };
    let mut charge = query.meter.open();
    for ids in query.snapshot.ids_known() {
        let starts = ids.clone().rev().step_by(SERIES_AT_ONCE);
        for last in starts {
            let first = ids.start.max(last.saturating_sub(SERIES_AT_ONCE as u32 - 1));
            if newest.is_done() {
                break;
            }
            // Most ids may be those of other databases.
            let only = Some((first..=last).collect());
            let some = Selector { only, ..selector.clone() };
            newest.look(query, &some, &mut charge)?;
        }
    }
    Ok(names_json(&newest.names, true))
}

/// Metrics in the order in which they are met, newest first.
struct Newest<'s> {
    search: &'s Search,
    seen: BTreeSet<String>,
    names: Vec<String>,
    /// Series whose names were looked at.
    looked_at: usize,
}

impl Newest<'_> {
    fn is_done(&self) -> bool {
        self.names.len() >= self.search.limit || self.looked_at >= SERIES_NEWEST_MAX
    }

    fn look(
        &mut self,
        query: &Query<'_>,
        some: &Selector,
        charge: &mut Charge<'_>,
    ) -> Result<(), Error> {
        query.meter.check(0)?;
        let sids = foliot_exec::selected(query, some, TimeRange::ALL, &mut query.meter.open())?;
        self.looked_at += sids.len();
        let mut found = Vec::with_capacity(sids.len());
        query.snapshot.identities(&sids, &mut |sid, identity| {
            found.push((sid, metric(&identity.measurement, &identity.field)));
        })?;
        found.sort_unstable_by_key(|(sid, _)| std::cmp::Reverse(*sid));
        for (_, name) in found {
            let has_room = self.names.len() < self.search.limit;
            if has_room && self.search.wants(&name) && self.seen.insert(name.clone()) {
                charge.add(2 * name.len())?;
                self.names.push(name);
            }
        }
        Ok(())
    }
}

/// A measurement with one of its fields, as a metric.
pub(super) fn metric(measurement: &str, field: &str) -> String {
    match field == DEFAULT_FIELD {
        true => measurement.to_owned(),
        false => format!("{measurement}.{field}"),
    }
}

fn fields(
    query: &Query<'_>,
    shared: &Shared,
    (namespace, measurement): (NamespaceId, &str),
    search: &Search,
) -> Result<Value, Error> {
    let Some(store) = shared.store() else {
        return Ok(json!({"fields": [], "is_whole": true}));
    };
    let kind = |name: &str, field: &str| Kinds::of(store.engine(), namespace, name, field);
    let mut charge = query.meter.open();
    let wanted = (&Test::equal(measurement), &Test::Any);
    let shapes = foliot_exec::shapes(query, namespace, wanted, &kind, &mut charge)?;
    let of_shape = shapes.iter().flat_map(|shape| &shape.fields);
    let mut wanted = of_shape.filter(|(name, _)| search.wants(name));
    let told = wanted.by_ref().take(search.limit);
    let fields: Vec<Value> =
        told.map(|(name, kind)| json!({"name": &**name, "kind": kind_name(*kind)})).collect();
    Ok(json!({"fields": fields, "is_whole": wanted.next().is_none()}))
}

/// What a kind is called in this API.
pub(super) const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Float => "float",
        Kind::Integer => "integer",
        Kind::Unsigned => "unsigned",
        Kind::Boolean => "boolean",
        Kind::String => "string",
        Kind::Histogram => "histogram",
    }
}

fn databases(shared: &Shared, call: &Call, search: &Search) -> Result<Reply, Reply> {
    let mut listed = store(shared)?.listed_databases().map_err(|error| broken(&error))?;
    let describe = |(name, database): &(String, Database)| {
        let policy = |policy: &Policy| {
            json!({
                "name": policy.name,
                "is_default": policy.name == database.default_policy,
                "keeps_ns": policy.duration_ns,
            })
        };
        let policies: Vec<Value> = database.policies.iter().map(policy).collect();
        json!({"name": name, "policies": policies})
    };
    listed.retain(|(name, _)| call.who.may_see(name));
    if !search.is_for_all() {
        search.keep(&mut listed, |(name, _)| name);
    }
    let databases: Vec<Value> = listed.iter().take(search.limit).map(describe).collect();
    let own = &shared.config.listen_database.database;
    Ok(Reply::json(StatusCode::OK, json!({"databases": databases, "own": own}).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_differ_in_case_only_are_found() {
        let search =
            |part: &str| Search { part: folded(part).into_owned(), without: vec![], limit: 9 };
        for (part, name) in [
            ("Σ", "λόγος"),
            ("σ", "ΛΟΓΟΣ"),
            ("ς", "ΛΟΓΟΣ"),
            ("ΛΌΓΟΣ", "λόγος"),
            ("ß", "STRASSE"),
            ("strasse", "Straße"),
            ("STRAẞE", "straße"),
            ("İ", "İstanbul"),
            ("i", "İstanbul"),
            ("istanbul", "İstanbul"),
            ("İSTANBUL", "istanbul"),
            ("istanbul", "I\u{307}stanbul"),
            ("isparta", "Isparta"),
            ("ışık", "IŞIK"),
            ("ÄPFEL", "äpfel"),
            ("k", "\u{212a}elvin"),
            ("CPU", "cpu.Usage"),
        ] {
            assert!(search(part).wants(name), "{part} in {name}");
        }
        assert!(!search("σσ").wants("λόγος"));
        assert!(search("λγς").resembles("λόγος"));
        assert!(!search("\u{307}").wants("istanbul"));
    }
}
