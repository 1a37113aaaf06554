//! InfluxDB 2's API beside writing: buckets (databases and policies) and deletes; and the way to
//! its account.

use super::account::{self, ORG_ID};
use super::change::{DURATION_NS_MIN, forget_database, policy_of};
use super::doomed::{Doomed, named_measurements};
use super::said::{Said, body_of, parse};
use super::{dress, influx_headers, needs};
use crate::aside::aside;
use crate::http::routes::{Route, Target};
use crate::http::{
    Call, NOTHING_CHANGED, Reply, is_preview, means_preview, not_read, preview_json, reply,
    status_of, status_of_missing, store, unknown_param,
};
use crate::query::{self, Failure, Job, Title, Work};
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::{Access, Principal};
use foliot_engine::{Caller, Error};
use foliot_exec::Ran;
use foliot_model::{NamespaceId, Selector, TimeRange};
use foliot_proto_influx::answer::error_answer;
use foliot_proto_influx::influxql::PolicyOptions;
use foliot_proto_influx::{WriteApi, parse_predicate};
use foliot_proto_opentsdb::{Params, parse_once};
use foliot_schema::{DEFAULT_POLICY, Database, DatabaseName, Policy, Wanted};
use hyper::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

/// Ids of buckets begin here: clients take an id of zeros for none.
const ID_FIRST: u64 = 1 << 32;

pub(super) async fn answer(shared: &Arc<Shared>, route: &Route, call: Call) -> Reply {
    influx_headers(respond(shared, route, call).await.unwrap_or_else(|reply| reply))
}

pub(super) fn refuse(status: StatusCode, message: &str) -> Reply {
    dress(error_answer(WriteApi::V2, status.as_u16(), message))
}

pub(super) fn found(value: &Value) -> Reply {
    Reply::json(StatusCode::OK, value.to_string())
}

fn not_found() -> Reply {
    refuse(StatusCode::NOT_FOUND, "bucket not found")
}

async fn respond(shared: &Arc<Shared>, route: &Route, call: Call) -> Result<Reply, Reply> {
    let store = store(shared)?;
    if route.target == Target::InfluxMe {
        return Ok(account::me(&call));
    }
    let who = call.who.clone();
    let is_bucket = matches!(route.target, Target::InfluxBuckets | Target::InfluxBucket);
    let changes = is_bucket && call.method != "GET";
    if changes && !who.is_administrator() {
        return Err(refuse(StatusCode::FORBIDDEN, "insufficient permissions"));
    }
    if call.method != "GET" && !call.is_trusted {
        let text = "scripts of other web pages may not change anything here";
        return Err(refuse(StatusCode::FORBIDDEN, text));
    }
    let caller = call.caller("influx v2");
    let (text, _weight) = body_of(shared, &call.headers, call.body).await?;
    let params = Params::parse(&call.query);
    let is_preview = aside(|| is_preview(&params, &text.bytes))
        .map_err(|reason| refuse(StatusCode::BAD_REQUEST, &reason))?;
    let id = call.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let order = Order { shared: shared.clone(), is_preview, caller: caller.clone() };
    let what = (route.target, call.method.as_str());
    match what {
        (Target::InfluxBucket, "DELETE") => {
            check_params(&params, &[])?;
            // What it says is nothing, or a wish for a preview, which must be one wish.
            if let Some(error) = parse_once(&text.bytes).err().filter(serde_json::Error::is_data) {
                return Err(refuse(StatusCode::BAD_REQUEST, &not_read(&error)));
            }
            let bucket = find(store, id).ok_or_else(not_found)?;
            let title = Title::new(format!("DELETE {}", call.path), bucket.database.clone());
            return order
                .carry_out(who, title, move |order, work| remove(order, &bucket, work))
                .await;
        }
        (Target::InfluxDelete, _) => {
            return delete_samples(order, (who, &call.path), &params, &text.bytes).await;
        }
        _ if changes => check_change(&params, is_preview)?,
        _ => {}
    }
    aside(|| match what {
        (Target::InfluxOrgs, _) => account::orgs(&params),
        (Target::InfluxOrg, _) => account::org(id),
        (Target::InfluxBuckets, "GET") => Ok(list(store, &who, &params)),
        (Target::InfluxBuckets, _) => create(shared, store, &text.bytes, &caller),
        (Target::InfluxBucket, "PATCH") => change(shared, store, id, &text.bytes, &caller),
        (Target::InfluxBucket, _) => {
            let bucket = find(store, id).filter(|bucket| who.may_see(&bucket.database));
            bucket.map(|bucket| found(&bucket.json())).ok_or_else(not_found)
        }
        _ => {
            let text = "Flux is not supported: ask in InfluxQL, at /query?db=BUCKET, for example \
                        SELECT mean(usage) FROM cpu WHERE time > now() - 1h GROUP BY time(5m), *";
            Err(refuse(StatusCode::NOT_IMPLEMENTED, text))
        }
    })
}

/// Deletes the samples of a bucket that a body tells.
async fn delete_samples(
    order: Order,
    (who, path): (Arc<Principal>, &str),
    params: &Params,
    told: &[u8],
) -> Result<Reply, Reply> {
    let store = store(&order.shared)?;
    check_params(params, &["bucket", "bucketID"])?;
    let namespace = bucket_namespace(store, params)?;
    let bucket = buckets(store).into_iter().find(|of| of.policy.namespace == namespace);
    let database = bucket.map(|bucket| bucket.database).unwrap_or_default();
    let may = needs::may_write(&who, &database);
    may.map_err(|message| refuse(StatusCode::FORBIDDEN, &message))?;
    if !who.may_throughout(&database, Access::Write) {
        return Err(refuse(StatusCode::FORBIDDEN, "insufficient permissions"));
    }
    let (selector, range) = aside(|| doomed(namespace, told))?;
    let asked = format!("{path} {}", String::from_utf8_lossy(told));
    let title = Title::new(asked, database);
    let run =
        move |order: &Order, work: &mut Work<'_>| delete(order, (selector.clone(), range), work);
    order.carry_out(who, title, run).await
}

/// Refuses a change of buckets with parameters that mean nothing there.
fn check_change(params: &Params, is_preview: bool) -> Result<(), Reply> {
    check_params(params, &[])?;
    match is_preview {
        false => Ok(()),
        true => Err(refuse(
            StatusCode::BAD_REQUEST,
            "there is no dry run of this, and nothing is changed",
        )),
    }
}

/// Refuses parameters of a change that are none of these, nor such as every request may have.
pub(super) fn check_params(params: &Params, known: &[&str]) -> Result<(), Reply> {
    let known = [known, &["org", "orgID", "u", "p"]].concat();
    match unknown_param(params, &known) {
        None => Ok(()),
        Some(name) => Err(refuse(StatusCode::BAD_REQUEST, &format!("{name}: {NOTHING_CHANGED}"))),
    }
}

/// A database and one of its policies.
pub(super) struct Bucket {
    pub(super) database: String,
    policy: Policy,
    /// How long its samples are kept, the server's time included.
    keep_ns: i64,
    is_default: bool,
}

impl Bucket {
    fn new(store: &Store, database: String, policy: Policy, is_default: bool) -> Self {
        Self { database, keep_ns: store.keep_ns(&policy), policy, is_default }
    }

    pub(super) fn name(&self) -> String {
        match self.is_default {
            true => self.database.clone(),
            false => format!("{}/{}", self.database, self.policy.name),
        }
    }

    fn id(&self) -> String {
        format!("{:016x}", ID_FIRST + u64::from(self.policy.namespace))
    }

    fn json(&self) -> Value {
        let seconds = self.keep_ns / 1_000_000_000;
        let rule = json!({"type": "expire", "everySeconds": seconds,
            "shardGroupDurationSeconds": self.policy.shard_duration_ns / 1_000_000_000});
        let id = self.id();
        json!({
            "id": id, "orgID": ORG_ID, "type": "user", "name": self.name(),
            "rp": self.policy.name, "retentionRules": [rule], "labels": [],
            "links": {"self": format!("/api/v2/buckets/{id}"), "write":
                format!("/api/v2/write?org={ORG_ID}&bucket={id}")},
        })
    }
}

fn buckets(store: &Store) -> Vec<Bucket> {
    let of_database = |(name, database): (String, Database)| {
        let default = database.default_policy;
        database.policies.into_iter().map(move |policy| {
            let is_default = policy.name == default;
            Bucket::new(store, name.clone(), policy, is_default)
        })
    };
    store.databases().list().into_iter().flat_map(of_database).collect()
}

pub(super) fn find(store: &Store, id: &str) -> Option<Bucket> {
    buckets(store).into_iter().find(|bucket| bucket.id() == id)
}

fn list(store: &Store, who: &Principal, params: &Params) -> Reply {
    let number = |name, default| {
        params.get(name).and_then(|text| text.parse::<usize>().ok()).unwrap_or(default)
    };
    let wanted = |bucket: &Bucket| {
        who.may_see(&bucket.database)
            && params.get("name").is_none_or(|name| bucket.name() == name)
            && params.get("id").is_none_or(|id| bucket.id() == id)
    };
    // Whoever pages by the last one it saw wants what comes behind that.
    let after = params.get("after").unwrap_or_default();
    let page = buckets(store).into_iter().filter(wanted);
    let page = page.filter(|bucket| *bucket.id() > *after);
    let page = page.skip(number("offset", 0)).take(number("limit", 20).min(100));
    let page: Vec<Value> = page.map(|bucket| bucket.json()).collect();
    found(&json!({"links": {"self": "/api/v2/buckets"}, "buckets": page}))
}

/// What a body about a bucket may say. What only describes it, or says where it is shown, is not
/// kept.
const MEMBERS: [&str; 13] = [
    "name",
    "retentionRules",
    "rp",
    "schemaType",
    "description",
    "org",
    "orgID",
    "id",
    "type",
    "labels",
    "links",
    "createdAt",
    "updatedAt",
];
const RULE_MEMBERS: [&str; 3] = ["type", "everySeconds", "shardGroupDurationSeconds"];

/// What a bucket is to be; what is not said stays, or is as usual.
struct Bidding<'a> {
    id: Option<&'a str>,
    name: Option<&'a str>,
    rp: Option<&'a str>,
    duration_ns: Option<i64>,
    shard_duration_ns: Option<i64>,
}

impl<'a> Bidding<'a> {
    fn read(body: &'a Value) -> Result<Self, Reply> {
        let said = Said::of(body, "the body", &MEMBERS)?;
        said.check("schemaType", "implicit")?;
        let mut bidding = Self {
            id: said.text("id")?,
            name: said.text("name")?,
            // InfluxDB 2's clients say "0" where they mean none.
            rp: said.text("rp")?.filter(|rp| !matches!(*rp, "" | "0")),
            duration_ns: None,
            shard_duration_ns: None,
        };
        match said.list("retentionRules")? {
            [] => {}
            [rule] => {
                let rule = Said::of(rule, "a retention rule", &RULE_MEMBERS)?;
                rule.check("type", "expire")?;
                bidding.duration_ns = rule.seconds_ns("everySeconds")?;
                if bidding.duration_ns.is_some_and(|ns| (1..DURATION_NS_MIN).contains(&ns)) {
                    let text = "everySeconds: a bucket keeps samples for an hour (3600) at least, \
                                or for ever (0)";
                    return Err(refuse(StatusCode::BAD_REQUEST, text));
                }
                bidding.shard_duration_ns = rule.seconds_ns("shardGroupDurationSeconds")?;
            }
            _ => return Err(refuse(StatusCode::BAD_REQUEST, "a bucket has one retention rule")),
        }
        Ok(bidding)
    }

    fn options(&self, policy: &str) -> PolicyOptions {
        PolicyOptions {
            name: Some(policy.to_owned()),
            duration_ns: self.duration_ns,
            shard_duration_ns: self.shard_duration_ns,
            ..PolicyOptions::default()
        }
    }

    /// Refuses another name or id than the bucket has.
    fn check_names(&self, bucket: &Bucket) -> Result<(), Reply> {
        let (id, name, policy) = (bucket.id(), bucket.name(), &*bucket.policy.name);
        let names = [("id", self.id, &*id), ("name", self.name, &*name), ("rp", self.rp, policy)];
        for (member, said, is) in names {
            if said.is_some_and(|said| said != is) {
                let text = format!("{member}: a bucket keeps this, and it is {is:?}");
                return Err(refuse(StatusCode::BAD_REQUEST, &text));
            }
        }
        Ok(())
    }
}

fn create(shared: &Shared, store: &Store, text: &[u8], caller: &Caller) -> Result<Reply, Reply> {
    let body = parse(text)?;
    let bidding = Bidding::read(&body)?;
    let bad = |message: &str| refuse(StatusCode::BAD_REQUEST, message);
    let DatabaseName { database, policy } = bidding
        .name
        .and_then(DatabaseName::parse)
        .ok_or_else(|| bad("a bucket needs a name: database or database/policy"))?;
    let name = policy.as_deref().unwrap_or(DEFAULT_POLICY);
    if bidding.rp.is_some_and(|rp| rp != name) {
        return Err(bad("rp: the policy stands in the bucket's name: database/policy"));
    }
    let made = set(shared, store, &database, caller, |known| {
        let known = known.filter(|known| known.is_made);
        let is_there = known.is_some_and(|known| match &policy {
            Some(policy) => known.policy(Some(policy)).is_some(),
            None => true,
        });
        Ok((!is_there).then(|| (policy_of(&bidding.options(name)), known.is_none())))
    })?;
    match made {
        Some(bucket) => Ok(Reply::json(StatusCode::CREATED, bucket.json().to_string())),
        None => {
            let text = format!("bucket with name {database} already exists");
            Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, &text))
        }
    }
}

fn change(
    shared: &Shared,
    store: &Store,
    id: &str,
    text: &[u8],
    caller: &Caller,
) -> Result<Reply, Reply> {
    let body = parse(text)?;
    let bidding = Bidding::read(&body)?;
    let bucket = find(store, id).ok_or_else(not_found)?;
    bidding.check_names(&bucket)?;
    let name = &bucket.policy.name;
    let changed = set(shared, store, &bucket.database, caller, |known| {
        let Some(policy) = known.and_then(|known| known.policy(Some(name))) else {
            return Ok(None);
        };
        let is_default = known.is_some_and(|known| known.default_policy == *name);
        let policy = match (bidding.duration_ns, bidding.shard_duration_ns) {
            (None, None) => policy.clone(),
            (duration_ns, _) => policy_of(&PolicyOptions {
                duration_ns: duration_ns.or(Some(policy.duration_ns)),
                ..bidding.options(name)
            }),
        };
        Ok(Some((policy, is_default)))
    })?;
    changed.map(|bucket| found(&bucket.json())).ok_or_else(not_found)
}

/// Makes of a database what `decide` says; nothing where it says nothing.
fn set(
    shared: &Shared,
    store: &Store,
    database: &str,
    caller: &Caller,
    decide: impl FnOnce(Option<&Database>) -> Result<Wanted, Error>,
) -> Result<Option<Bucket>, Reply> {
    let engine = store.engine();
    let changed = store.databases().change(engine, database, caller, decide);
    let safe = changed.and_then(|changed| {
        engine.wait(engine.written(), shared.config.wal_ack)?;
        Ok(changed)
    });
    let changed = safe.map_err(|error| refuse(status_of(&error), &error.to_string()))?;
    let database = database.to_owned();
    Ok(changed.map(|(policy, is_default)| Bucket::new(store, database, policy, is_default)))
}

/// A request that takes samples away, or only wants to know which.
struct Order {
    shared: Arc<Shared>,
    is_preview: bool,
    caller: Caller,
}

impl Order {
    /// Does it as a query: it waits for its turn, is listed, and can be ended.
    async fn carry_out(
        self,
        who: Arc<Principal>,
        title: Title,
        mut run: impl FnMut(&Self, &mut Work<'_>) -> Result<(), Failure> + Send + 'static,
    ) -> Result<Reply, Reply> {
        let (shared, is_change) = (self.shared.clone(), !self.is_preview);
        let job = Job::new(who, Some(title), move |work| {
            run(&self, work)?;
            Ok(Ran::default())
        });
        let job = job.that_changes(is_change);
        let answered = query::answer(&shared, reply::JSON, false, job).await;
        answered.map_err(|failure| refuse(failure.status, &failure.message))
    }

    /// Answers with what would be taken away.
    fn preview(&self, store: &Store, doomed: &Doomed, work: &mut Work<'_>) -> Result<(), Failure> {
        let meter = work.meter();
        let counted = doomed.preview(store.engine(), &|| meter.check(0).is_ok());
        // Why it was stopped the meter says in better words.
        meter.check(0)?;
        work.write(preview_json(&counted.map_err(failed)?).as_bytes())
    }

    /// Answers that it is done, once that is safe.
    fn confirm(&self, store: &Store, work: &mut Work<'_>) -> Result<(), Failure> {
        work.set_status(StatusCode::NO_CONTENT);
        work.confirm(store.engine().written(), self.shared.config.wal_ack)
    }

    fn store(&self) -> Result<&Store, Failure> {
        let opened = self.shared.store();
        opened.ok_or_else(|| failed(Error::Closed))
    }
}

fn failed(error: Error) -> Failure {
    Failure::new(status_of(&error), error.to_string())
}

fn remove(order: &Order, bucket: &Bucket, work: &mut Work<'_>) -> Result<(), Failure> {
    let store = order.store()?;
    if order.is_preview {
        return order.preview(store, &Doomed::All(bucket.policy.namespace), work);
    }
    let (engine, databases, kinds) = (store.engine(), store.databases(), store.kinds());
    let Bucket { database, policy, .. } = bucket;
    // With its last policy the database goes.
    let meter = work.meter();
    let goes_on = || meter.check(0).is_ok();
    let caller = &order.caller;
    let dropped = databases.drop_bucket(engine, database, &policy.name, kinds, caller, &goes_on);
    if matches!(dropped, Err(Error::Stopped)) {
        meter.check(0)?;
    }
    if dropped.map_err(failed)? {
        let forgotten = forget_database(store, &order.shared.gate, database, caller);
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        forgotten.map_err(|error| Failure::new(status, error.to_string()))?;
    }
    order.confirm(store, work)
}

/// What the body of `POST /api/v2/delete` may say.
const DELETE_MEMBERS: [&str; 3] = ["start", "stop", "predicate"];

/// What `POST /api/v2/delete` means: from `start` to `stop`, what the predicate selects.
fn doomed(namespace: NamespaceId, text: &[u8]) -> Result<(Selector, TimeRange), Reply> {
    let bad = |message: &str| refuse(StatusCode::BAD_REQUEST, message);
    let body = parse(text)?;
    // A misspelt condition must not delete more than was meant.
    let is_known = |name: &str| DELETE_MEMBERS.contains(&name) || means_preview(name);
    let mut names = body.as_object().into_iter().flat_map(|members| members.keys());
    if let Some(name) = names.find(|name| !is_known(name)) {
        return Err(bad(&format!("{name} is none of {}", DELETE_MEMBERS.join(", "))));
    }
    let time = |name: &str| {
        let text = body.get(name).and_then(Value::as_str);
        let instant = text.and_then(|text| text.parse::<jiff::Timestamp>().ok());
        let time_ns = instant.and_then(|instant| i64::try_from(instant.as_nanosecond()).ok());
        time_ns.ok_or_else(|| bad(&format!("{name} must be a time such as 2006-01-02T15:04:05Z")))
    };
    let range = TimeRange::new(time("start")?, time("stop")?);
    // Nothing is no wish: a variable that was not set must not delete the whole.
    let predicate = match body.get("predicate") {
        None => "",
        Some(predicate) => predicate.as_str().ok_or_else(|| bad("predicate must be text"))?,
    };
    let selector = parse_predicate(predicate, namespace).map_err(|error| bad(&error))?;
    Ok((selector, range))
}

fn delete(
    order: &Order,
    (mut selector, range): (Selector, TimeRange),
    work: &mut Work<'_>,
) -> Result<(), Failure> {
    let store = order.store()?;
    let (engine, meter) = (store.engine(), work.meter());
    let is_something = named_measurements(engine, &mut selector).map_err(failed)?;
    let doomed: Vec<_> = is_something.then_some((selector, range)).into_iter().collect();
    if order.is_preview {
        return order.preview(store, &Doomed::Samples(doomed), work);
    }
    for (selector, range) in &doomed {
        let goes_on = || meter.check(0).is_ok();
        let deleted = engine.delete_with_names_while(selector, *range, &order.caller, &goes_on);
        if matches!(deleted, Err(Error::Stopped)) {
            meter.check(0)?;
        }
        deleted.map_err(failed)?;
    }
    order.confirm(store, work)
}

/// The namespace of the bucket that a request names, or whose id it gives.
fn bucket_namespace(store: &Store, params: &Params) -> Result<NamespaceId, Reply> {
    if let Some(id) = params.get("bucketID").filter(|id| !id.is_empty()) {
        let bucket = find(store, id).ok_or_else(not_found)?;
        if params.get("bucket").is_some_and(|name| !name.is_empty() && name != bucket.name()) {
            let text = format!("bucket and bucketID disagree: that is {:?}", bucket.name());
            return Err(refuse(StatusCode::BAD_REQUEST, &text));
        }
        return Ok(bucket.policy.namespace);
    }
    let Some(name) = params.get("bucket").filter(|name| !name.is_empty()) else {
        let text = "Please provide either bucketID or bucket";
        return Err(refuse(StatusCode::BAD_REQUEST, text));
    };
    let name = DatabaseName::parse(name).ok_or_else(not_found)?;
    store
        .databases()
        .find(&name.database, name.policy.as_deref())
        .map_err(|missing| refuse(status_of_missing(&missing), &missing.to_string()))
}
