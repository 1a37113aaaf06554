//! HTTP: connections, dispatch by the route table, and what holds for every request.

mod body;
mod cors;
mod fitting;
mod foliot;
mod guard;
mod influx;
mod opentsdb;
mod plain;
mod prometheus;
mod reply;
mod routes;
mod sql;
mod ticktock;

pub(crate) use influx::{may_ask, run_into};
use reply::Content;
pub(crate) use reply::{Message, PLAIN, Pieces, Reply, accepts_gzip};

use crate::aside::aside;
use crate::limits::Limit;
use crate::shared::Shared;
use crate::store::{NotSafe, Store};
use crate::stream::{Arriving, Phase, Stream};
use crate::wire::Wire;
use foliot_access::{Access, Measurements, Principal};
use foliot_engine::{Ack, Caller, Deleted, Error};
use foliot_model::NamespaceId;
use foliot_proto_opentsdb::{Endpoint, HttpRequest, Params};
use foliot_schema::{DatabaseName, Missing};
use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use log::LevelFilter;
use routes::{NoRoute, Right, Route, Target};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most bytes of a request's head, and most that one read of a body takes.
const READ_BYTES_MAX: usize = 256 << 10;

/// The version of InfluxDB whose API is spoken; its clients look at it.
const INFLUX_VERSION: &str = "1.8.10";

/// Why a fact that a stranger chooses is not kept.
const NO_ROOM_FOR_NAMES: &str = "there is no memory for more names and facts; delete some, or \
                                 raise limits.registry_bytes";

/// Whose paths and shapes a listener has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Those of all doors.
    Everyone,
    /// Those of all doors, where Prometheus' paths need no prefix and go before others.
    Prometheus,
    /// The same, and questions are asked in MetricsQL.
    VictoriaMetrics,
    /// TickTock's.
    TickTock,
}

/// Serves a connection whose first bytes were read while sniffing.
pub(crate) async fn serve(shared: Arc<Shared>, socket: Wire, first: Vec<u8>, dialect: Dialect) {
    let peer = socket.peer_addr().ok();
    let phase = Arc::new(Phase::default());
    let io = TokioIo::new(Stream::new(socket, first, phase.clone()));
    let service = service_fn(|request: Request<Incoming>| {
        let (shared, phase) = (shared.clone(), phase.clone());
        let request = request.map(|body| Arriving::new(body, phase.clone()));
        async move {
            Ok::<_, Infallible>(answer(&shared, request, dialect, peer).await.into_response(phase))
        }
    });
    let mut builder = http1::Builder::new();
    // The stream has its own deadlines, which also tell an idle connection from a stalled head.
    // `pipeline_flush` stays off: with it hyper buffers answers without bound for slow readers.
    builder.header_read_timeout(None).max_buf_size(READ_BYTES_MAX);
    let mut connection = std::pin::pin!(builder.serve_connection(io, service));
    let outcome = tokio::select! {
        outcome = connection.as_mut() => outcome,
        () = shared.stopping() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        if error.is_parse() {
            note_malformed(&shared, peer, &error);
        }
        let mut source: Option<&(dyn std::error::Error + 'static)> = Some(&error);
        while let Some(inner) = source {
            let io = inner.downcast_ref::<std::io::Error>();
            if io.is_some_and(|io| io.kind() == std::io::ErrorKind::TimedOut) {
                shared.metrics.connections_timed_out.add(1);
                shared.metrics.limits.add(Limit::FirstBytes);
            }
            source = inner.source();
        }
        log::debug!("HTTP connection ended: {error}");
    }
}

/// A request whose head could not be read was answered by hyper, with a status and no words.
fn note_malformed(shared: &Shared, peer: Option<SocketAddr>, error: &hyper::Error) {
    let status = if error.is_parse_too_large() { 431 } else { 400 };
    shared.metrics.count_answer("malformed", status, Duration::ZERO);
    if let Some(silent) = shared.failures_log.admit("http", "malformed head") {
        let from = peer.map_or_else(|| "somebody".to_owned(), |peer| peer.ip().to_string());
        // Only its text tells which part of the head is at fault.
        let hint = match error.to_string().contains("URI") {
            true => "; blanks and control characters of a URL must be percent-encoded",
            false => "",
        };
        log::warn!(
            "{from} sent a request whose head is no HTTP: {error}{hint} ({silent} more kept silent)"
        );
    }
}

/// The body of a request.
type Asked = Arriving<Incoming>;

/// A request's head and body, taken apart.
struct Call {
    method: String,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Asked,
    /// What the listener expects.
    dialect: Dialect,
    /// The client's address.
    peer: Option<SocketAddr>,
    /// Who sends it.
    who: Arc<Principal>,
    /// Whether it comes from no web page, from this server's own, or from one that was allowed to.
    is_trusted: bool,
}

impl Call {
    /// Whether the client is on this machine.
    fn is_local(&self) -> bool {
        self.peer.is_some_and(|peer| peer.ip().is_loopback())
    }

    /// The database that the request means: the one it names, or the default one.
    fn database(&self, shared: &Shared) -> String {
        database(shared, &self.query, &self.headers)
    }

    /// The measurements of that database that the sender may write.
    fn write_scope(&self, shared: &Shared) -> Measurements {
        self.who.measurements(&self.database(shared), Access::Write)
    }

    /// Who asks, by the door named.
    fn asker(&self, door: &'static str) -> Asker {
        Asker { door, peer: self.peer, who: self.who.clone() }
    }

    /// Who wants samples taken away, by the door named.
    fn caller(&self, door: &'static str) -> Caller {
        self.asker(door).caller()
    }
}

/// Who asks by a door, from an address. Most want nothing taken away, and their address need not be
/// spelled.
#[derive(Clone, Debug)]
struct Asker {
    door: &'static str,
    peer: Option<SocketAddr>,
    who: Arc<Principal>,
}

impl Asker {
    /// Who wants samples taken away.
    fn caller(&self) -> Caller {
        let from = self.peer.map(|peer| peer.to_string()).unwrap_or_default();
        let by = self.who.name().to_owned();
        Caller { door: self.door, from, by, asked: String::new() }
    }
}

async fn answer(
    shared: &Arc<Shared>,
    request: Request<Asked>,
    dialect: Dialect,
    peer: Option<SocketAddr>,
) -> Reply {
    let began = Instant::now();
    let (head, body) = request.into_parts();
    let is_prometheus = || {
        let is_expected = matches!(dialect, Dialect::Prometheus | Dialect::VictoriaMetrics);
        dialect != Dialect::TickTock && routes::is_api_of_prometheus(head.uri.path(), is_expected)
    };
    let asks = (&head.method, &head.headers);
    let admitted = match cors::admit(&shared.config, asks, is_prometheus) {
        Ok(admitted) => admitted,
        Err(reply) => {
            shared.metrics.count_answer("cors", reply.status.as_u16(), began.elapsed());
            return *reply;
        }
    };
    // Hyper leaves the body of a HEAD's answer away. Whoever answers must not know it from a GET,
    // or would take it for a method that changes something.
    let method = if head.method == Method::HEAD { Method::GET } else { head.method };
    let call = Call {
        method: method.as_str().to_owned(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        is_trusted: admitted.is_some() || is_same_origin(&head.headers),
        headers: head.headers,
        body,
        dialect,
        peer,
        who: shared.gate.anyone(),
    };
    let reply = answer_call(shared, call, began).await;
    let reply = reply.with_retry(|| shared.lanes.retry_after_s(shared));
    match admitted {
        Some(admitted) => admitted.allow(reply, &shared.config),
        None => reply,
    }
}

async fn answer_call(shared: &Arc<Shared>, call: Call, began: Instant) -> Reply {
    let found = match call.dialect {
        Dialect::Everyone if prometheus::is_asked_at_the_root(&call) => {
            Err(NoRoute::Prometheus(format!("{}{}", routes::PROMETHEUS, call.path)))
        }
        Dialect::Everyone => routes::find(&call.method, &call.path, &call.query),
        Dialect::Prometheus => routes::find_prometheus(&call.method, &call.path, &call.query),
        Dialect::VictoriaMetrics => {
            routes::find_victoriametrics(&call.method, &call.path, &call.query)
        }
        Dialect::TickTock => return answer_ticktock(shared, call, began).await,
    };
    let (label, reply) = match found {
        Ok(route) => (route.path, dispatch(shared, route, call).await),
        Err(none) => {
            let refusal = || unread(refuse(none, &call), &call);
            ("none", influx::options(&call).unwrap_or_else(refusal))
        }
    };
    shared.metrics.count_answer(label, reply.status.as_u16(), began.elapsed());
    reply
}

/// Answers as TickTock does: what is unknown is nothing, and a request's id comes back.
async fn answer_ticktock(shared: &Arc<Shared>, call: Call, began: Instant) -> Reply {
    const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
    let id = call.headers.get(&REQUEST_ID).cloned();
    let (label, mut reply) = match routes::find_ticktock(&call.method, &call.path) {
        Some(route) => (route.path, dispatch(shared, route, call).await),
        None => ("none", unread(Reply::new(StatusCode::NOT_FOUND, PLAIN, ""), &call)),
    };
    reply.headers.extend(id.map(|id| (REQUEST_ID, id)));
    shared.metrics.count_answer(label, reply.status.as_u16(), began.elapsed());
    reply
}

/// An answer without a look at the body: where there is one the connection ends, and that is said.
fn unread(reply: Reply, call: &Call) -> Reply {
    match call.body.is_end_stream() {
        true => reply,
        false => reply.close(),
    }
}

fn refuse(none: NoRoute, call: &Call) -> Reply {
    let path = &*call.path;
    match (none, call.dialect) {
        (NoRoute::Method(methods), _) => {
            let methods = methods.join(", ");
            let text = format!("allowed here: {methods}");
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let reply = match () {
                () if routes::influx_api(path).is_some() => influx::no_route(path, status, &text),
                () if foliot::is_path(path) => foliot::no_route(status, &text),
                () => Reply::text(status, text),
            };
            reply.header(header::ALLOW, &methods)
        }
        (NoRoute::Prometheus(there), Dialect::Everyone) => prometheus::elsewhere(path, &there),
        (NoRoute::OpenTsdb { status: 405, json, .. }, _) => {
            let methods = routes::methods_of_opentsdb(path, &call.query).join(", ");
            Reply::json(StatusCode::METHOD_NOT_ALLOWED, json).header(header::ALLOW, &methods)
        }
        (NoRoute::OpenTsdb { status, json, is_path: false }, _) => {
            Reply::json(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), json)
        }
        // As those say it whom clients expect there.
        (_, Dialect::Prometheus) => {
            Reply::new(StatusCode::NOT_FOUND, PLAIN, "404 page not found\n")
        }
        (_, Dialect::VictoriaMetrics) => {
            let instead = prometheus::lacking(path);
            let instead = instead.map_or(String::new(), |instead| format!(": {instead}"));
            let text = format!("unsupported path requested: {path:?}{instead}\n");
            Reply::new(StatusCode::BAD_REQUEST, PLAIN, text)
        }
        (NoRoute::OpenTsdb { status, json, .. }, _) => {
            Reply::json(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST), json)
        }
        (NoRoute::Influx, _) => {
            let text = match routes::nearest(path) {
                Some(near) => format!("path not found; did you mean {near}?"),
                None => "path not found: this part of InfluxDB does not exist here".to_owned(),
            };
            influx::no_route(path, StatusCode::NOT_FOUND, &text)
        }
        (NoRoute::Foliot, _) => {
            let text = format!("nothing is at {path}{}", or_near(path, ""));
            foliot::no_route(StatusCode::NOT_FOUND, &text)
        }
        (NoRoute::Unknown | NoRoute::Prometheus(_), _) => {
            let text = format!("nothing is at {path}{}", or_near(path, WHAT_IS_THERE));
            Reply::text(StatusCode::NOT_FOUND, text)
        }
    }
}

/// What is asked for most, for whoever asks for what is not there.
const WHAT_IS_THERE: &str = "; see / for what is, or ask at /write and /query (InfluxDB), \
                             /api/put and /api/query (OpenTSDB), /api/v1/write and \
                             /prometheus/api/v1/query (Prometheus), /v1/metrics (OpenTelemetry), \
                             /api/foliot/v1/query, /metrics or /health";

/// What others have at a path, with all below it, and what there is here.
const OF_OTHERS: [(&str, &str); 3] = [
    ("/metrics/job", "push to /api/v1/import/prometheus/metrics/job/NAME"),
    ("/metrics/find", "Graphite's questions are not answered: ask at /prometheus/api/v1/query"),
    ("/render", "Graphite's questions are not answered: ask at /prometheus/api/v1/query"),
];

/// The path that may have been meant by one where nothing is, or `otherwise`.
fn or_near(path: &str, otherwise: &str) -> String {
    let is_below = |top: &str| {
        path.strip_prefix(top).is_some_and(|below| below.is_empty() || below.starts_with('/'))
    };
    match OF_OTHERS.iter().find(|(top, _)| is_below(top)) {
        Some((_, there)) => format!("; {there}"),
        None => routes::nearest(path)
            .map_or_else(|| otherwise.to_owned(), |near| format!("; did you mean {near}?")),
    }
}

async fn dispatch(shared: &Arc<Shared>, route: &Route, mut call: Call) -> Reply {
    if let Err(refusal) = guard::admit(shared, route, &mut call) {
        return unread(refusal, &call);
    }
    let takes_gzip = accepts_gzip(&call.headers);
    let reply = match route.target {
        Target::Page(asset) => plain::page(asset, &call.headers),
        Target::Documents => plain::document(shared.documents, &call),
        Target::Foliot(endpoint) => foliot::answer(shared, endpoint, call).await,
        Target::Ping => plain::ping(shared, &call),
        Target::Health => plain::health(shared),
        Target::Healthy => Reply::text(StatusCode::OK, "Foliot is healthy."),
        Target::Ready => plain::ready(shared),
        Target::InfluxReady => plain::influx_ready(shared),
        Target::Metrics => plain::metrics(shared),
        Target::OpenTsdb(endpoint) => opentsdb::answer(shared, endpoint, call).await,
        Target::Prometheus(endpoint) => prometheus::answer(shared, endpoint, call).await,
        Target::TickTock(endpoint) => ticktock::answer(shared, endpoint, call).await,
        Target::InfluxWrite
        | Target::InfluxWrite2
        | Target::InfluxWrite3
        | Target::InfluxQuery
        | Target::InfluxQuery3
        | Target::InfluxSql
        | Target::InfluxDatabase
        | Target::InfluxBuckets
        | Target::InfluxBucket
        | Target::InfluxTokens
        | Target::InfluxToken
        | Target::InfluxOrgs
        | Target::InfluxOrg
        | Target::InfluxMe
        | Target::InfluxDelete
        | Target::InfluxFlux => influx::answer(shared, route, call).await,
    };
    in_manner(route, reply).compress(takes_gzip)
}

/// A refusal in plain words, as one of a body that cannot be unpacked, becomes one in the manner of
/// the route's door, whose clients may read nothing else. TickTock's own words are plain.
fn in_manner(route: &Route, reply: Reply) -> Reply {
    if matches!(route.target, Target::TickTock(_)) {
        return reply;
    }
    let is_plain = |(name, value): &(HeaderName, HeaderValue)| {
        name == header::CONTENT_TYPE && value.as_bytes() == PLAIN.as_bytes()
    };
    let text = match &reply.content {
        Content::Full(body)
            if reply.status.as_u16() >= 400 && reply.headers.iter().any(is_plain) =>
        {
            String::from_utf8_lossy(body).trim_end().to_owned()
        }
        _ => return reply,
    };
    let mut dressed = guard::refuse(route, reply.status, &text);
    let others = reply.headers.into_iter().filter(|(name, _)| name != header::CONTENT_TYPE);
    dressed.headers.extend(others);
    dressed
}

/// Whether a request changes what is stored.
fn changes(route: &Route, call: &Call) -> bool {
    match (route.right, route.target) {
        (Right::Administer, _) => call.method != "GET",
        (Right::Write | Right::Form(Access::Write), _)
        | (_, Target::InfluxWrite | Target::InfluxWrite2 | Target::InfluxWrite3)
        | (_, Target::InfluxDelete) => true,
        (_, Target::InfluxBuckets | Target::InfluxBucket | Target::InfluxDatabase) => {
            call.method != "GET"
        }
        (_, Target::Foliot(endpoint)) => endpoint.changes(&call.method),
        (_, Target::OpenTsdb(Endpoint::Logs)) => Params::parse(&call.query).has("level"),
        (_, Target::OpenTsdb(endpoint)) => {
            let (path, query) = (call.path.as_str(), call.query.as_str());
            let request = HttpRequest { method: &call.method, path, query, body: b"" };
            endpoint.changes(&request)
        }
        _ => false,
    }
}

/// Whether a request comes from this server's own page, or from no web page at all. A foreign page
/// may lack no password, because there is none or the browser knows it, so that its requests must
/// be told by their origin.
fn is_same_origin(headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    // Browsers say so themselves, also where they send no origin (pictures, forms of links).
    if matches!(text(&FETCH_SITE), Some("cross-site" | "same-site")) {
        return false;
    }
    match text(&header::ORIGIN) {
        None => !headers.contains_key(header::ORIGIN),
        Some(origin) => {
            let origin = origin.split_once("://").map_or(origin, |(_, host)| host);
            text(&header::HOST).is_some_and(|host| host.eq_ignore_ascii_case(origin))
        }
    }
}

/// Sets how much is logged. That is in the audit log first: where less is said, others hide.
fn set_log_level(shared: &Shared, level: LevelFilter, caller: &Caller) -> Result<(), Reply> {
    let engine = store(shared)?.engine();
    let told = aside(|| engine.audit_access("set log level", level.as_str(), caller));
    told.map_err(|error| Reply::text(status_of(&error), error.to_string()))?;
    log::set_max_level(level);
    Ok(())
}

/// The store, or the answer while it is not there.
fn store(shared: &Shared) -> Result<&Store, Reply> {
    shared.store().ok_or_else(|| {
        let text = "the store is being opened; see /-/ready";
        Reply::text(StatusCode::SERVICE_UNAVAILABLE, text).retry_after(1)
    })
}

/// The namespace that a request names with `db` and `rp`, or with a header, or the default one. One
/// that is to be written to is created if that is allowed.
fn namespace(
    shared: &Shared,
    store: &Store,
    query: &str,
    headers: &HeaderMap,
    right: Right,
) -> Result<NamespaceId, Missing> {
    let named = named_database(query, headers);
    namespace_of(shared, store, named.as_ref(), right)
}

/// The namespace of a name, or the default one where there is none.
fn namespace_of(
    shared: &Shared,
    store: &Store,
    named: Option<&DatabaseName>,
    right: Right,
) -> Result<NamespaceId, Missing> {
    let Some(DatabaseName { database, policy }) = named else {
        return store.default_namespace();
    };
    let policy = policy.as_deref();
    match right {
        Right::Write => {
            let creates = shared.config.influx_auto_create_database;
            store.find_or_create(database, policy, creates)
        }
        _ => store.databases().find(database, policy),
    }
}

/// The database that a request means: the one it names, or the default one.
fn database(shared: &Shared, query: &str, headers: &HeaderMap) -> String {
    or_usual(shared, named_database(query, headers))
}

/// The database of a name, or the default one where there is none.
fn or_usual(shared: &Shared, named: Option<DatabaseName>) -> String {
    named.map_or_else(|| shared.config.listen_database.database.clone(), |name| name.database)
}

/// Headers by which a request names its database and the level of its acknowledgement.
static DATABASE: HeaderName = HeaderName::from_static("x-foliot-database");
static ACK: HeaderName = HeaderName::from_static("x-foliot-ack");

/// Headers by which browsers say whence they ask, and for what.
static FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
static FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// The database that a request names.
fn named_database(query: &str, headers: &HeaderMap) -> Option<DatabaseName> {
    let given = |name| Params::first(query, name).filter(|value| !value.is_empty());
    let header = headers.get(&DATABASE).and_then(|value| value.to_str().ok());
    match given("db") {
        Some(database) => {
            let policy = given("rp").map(Cow::into_owned);
            Some(DatabaseName { database: database.into_owned(), policy })
        }
        None => header.and_then(|text| DatabaseName::parse(text.trim())),
    }
}

/// Refuses a change whose database is one by `db` and `rp` and another one by a header: whoever set
/// the header, in a proxy perhaps, and whoever wrote the parameter meant different things.
fn check_database(query: &str, headers: &HeaderMap) -> Result<(), String> {
    let Some(by_header) = named_database("", headers) else { return Ok(()) };
    let Some(by_param) = named_database(query, &HeaderMap::new()) else { return Ok(()) };
    let has_both = by_param.policy.is_some() && by_header.policy.is_some();
    let agrees = by_param.database == by_header.database
        && !(has_both && by_param.policy != by_header.policy);
    let text = |DatabaseName { database, policy }: DatabaseName| match policy {
        None => format!("{database:?}"),
        Some(policy) => format!("{:?}", format!("{database}/{policy}")),
    };
    match agrees {
        true => Ok(()),
        false => Err(format!(
            "db says {} and X-Foliot-Database says {}, and nothing is changed: either may be meant",
            text(by_param),
            text(by_header)
        )),
    }
}

/// Whether a request that would take samples away only wants to know what would go. It may say so
/// by a parameter or by a member of its body, as `dry_run` or as `is_preview`, with any dashes and
/// letters: a misplaced wish must not delete.
///
/// # Errors
/// When it says both, or neither yes nor no: either may be meant.
fn is_preview(params: &Params, body: &[u8]) -> Result<bool, String> {
    let members: Map<String, Value> = serde_json::from_slice(body).unwrap_or_default();
    let by_params = params.names().filter(|name| means_preview(name)).map(|name| {
        let value = params.get(name).unwrap_or_default();
        (format!("{name} in the URL"), yes_or_no(value))
    });
    let by_members = members.iter().filter(|(name, _)| means_preview(name));
    let by_members = by_members.map(|(name, value)| {
        let said = value.as_bool().or_else(|| value.as_str().and_then(yes_or_no));
        (format!("{name} in the body"), said)
    });
    let wishes: Vec<_> = by_params.chain(by_members).collect();
    let said = |wish| wishes.iter().find(|(_, said)| *said == wish).map(|(name, _)| name);
    match (said(None), said(Some(true)), said(Some(false))) {
        (Some(name), _, _) => Err(format!("{name}: must be true or false, and nothing is changed")),
        (_, Some(yes), Some(no)) => Err(format!(
            "{yes} asks for a preview and {no} for none, and nothing is changed: either may be meant"
        )),
        (_, yes, _) => Ok(yes.is_some()),
    }
}

/// What a text says to a question of yes or no, if it says either. A name alone says yes.
fn yes_or_no(text: &str) -> Option<bool> {
    match &*text.to_ascii_lowercase() {
        "" | "true" | "1" | "yes" => Some(true),
        "false" => Some(false),
        // Also a 0, which was a wish for a preview once: who meant no says `false`.
        _ => None,
    }
}

/// Why the body of a request that changes something could not be read.
fn not_read(error: &serde_json::Error) -> String {
    match error.is_data() {
        true => format!("the body says something twice, and nothing is changed: {error}"),
        false => format!("the body is no JSON: {error}"),
    }
}

/// Parameters that ask this route for one thing each.
fn lists(route: &Route) -> &'static [&'static str] {
    match route.target {
        Target::OpenTsdb(Endpoint::Query) => &["m", "tsuid"],
        Target::Prometheus(_) => &["match[]", "extra_label"],
        _ => &[],
    }
}

/// Why a request that says something twice is refused.
const SAID_TWICE: &str = "this is given twice, and nothing is changed: either may be meant";

/// A parameter of a request that takes samples away which is none of `known` and asks for no
/// preview: if it is misspelt, more would go than was meant.
fn unknown_param<'p>(params: &'p Params, known: &[&str]) -> Option<&'p str> {
    params.names().find(|name| !known.contains(name) && !means_preview(name))
}

/// Why such a request is refused.
const NOTHING_CHANGED: &str = "this is not known, and nothing is changed: misspelt, it could \
                               change more than was meant";

/// Whether a name asks for a preview.
fn means_preview(name: &str) -> bool {
    let name = name.replace(['_', '-'], "").to_ascii_lowercase();
    matches!(&*name, "dryrun" | "ispreview" | "preview")
}

/// The answer to such a request.
fn preview_json(Deleted { series, samples, bytes }: &Deleted) -> String {
    format!("{{\"series\":{series},\"samples\":{samples},\"bytes\":{bytes}}}")
}

fn status_of_missing(missing: &Missing) -> StatusCode {
    match missing {
        Missing::Database(_) | Missing::Policy(_) => StatusCode::NOT_FOUND,
        Missing::Store(error) => status_of(error),
    }
}

/// The level of acknowledgement that a request asks for.
fn ack(shared: &Shared, headers: &HeaderMap) -> Result<Ack, String> {
    match headers.get(&ACK) {
        None => Ok(shared.config.wal_ack),
        Some(value) => value
            .to_str()
            .ok()
            .and_then(|text| text.trim().to_ascii_lowercase().parse().ok())
            .ok_or_else(|| "X-Foliot-Ack must be durable, os or memory".to_owned()),
    }
}

/// The status that says what an error of the store means for the client.
fn status_of(error: &Error) -> StatusCode {
    match error {
        Error::NoSpace { .. } => StatusCode::INSUFFICIENT_STORAGE,
        Error::Overloaded | Error::Stalled(_) | Error::Closed => StatusCode::SERVICE_UNAVAILABLE,
        Error::Invalid(_) => StatusCode::BAD_REQUEST,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

pub(crate) fn status_of_wait(error: &NotSafe) -> StatusCode {
    match error {
        NotSafe::Failed(error) => status_of(error),
        NotSafe::Slow => StatusCode::SERVICE_UNAVAILABLE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    #[test]
    fn a_full_disk_is_told_with_what_is_free_and_what_is_kept() {
        let error = Error::NoSpace { free_bytes: Some(8 << 20), kept_bytes: 33 << 19 };
        assert_eq!(status_of(&error), StatusCode::INSUFFICIENT_STORAGE);
        let said = error.to_string();
        assert!(said.contains("8.0 MiB are free, and 16.5 MiB are kept free"), "{said}");
        assert!(said.contains("wal.reserve") && said.contains("resume by themselves"), "{said}");
    }

    #[test]
    fn foreign_web_pages_are_told_by_their_origin() {
        let case = |origin: Option<&str>, host: &str| {
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert(header::ORIGIN, HeaderValue::from_str(origin).unwrap());
            }
            headers.insert(header::HOST, HeaderValue::from_str(host).unwrap());
            is_same_origin(&headers)
        };
        assert!(case(None, "localhost:4242"));
        assert!(case(Some("http://localhost:4242"), "localhost:4242"));
        assert!(!case(Some("http://evil.example"), "localhost:4242"));
        assert!(!case(Some("null"), "localhost:4242"));
        assert!(!case(Some("http://localhost:4243"), "localhost:4242"));
    }
}
