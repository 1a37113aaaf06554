//! What a route is, and how a request finds its own: method and path to what answers, and what that
//! needs. The table itself is in a file of its own.

mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::PUSH;

use super::foliot::Endpoint as Foliot;
use super::prometheus::Endpoint as Prometheus;
use super::ticktock::Endpoint as TickTock;
use foliot_access::Access;
use foliot_model::edits;
use foliot_proto_influx::WriteApi;
use foliot_proto_opentsdb::{Endpoint, HttpRequest, route};
use std::collections::HashMap;
use std::sync::LazyLock;
use table::{ALL, DOCUMENT, GROUP, ROUTES, TICKTOCK_ROUTES, VALUES};

/// What a request does, and so what whoever sends it must be allowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Right {
    /// Nothing stored is shown; answered before the store is there.
    Public,
    /// Shows samples of the named database.
    Read,
    /// Stores in the named database.
    Write,
    /// Shows names and facts of the named database, which belong to no measurement.
    Facts,
    /// Shows what is stored or changes it, as the door knows.
    Edit,
    /// The door looks at each statement.
    Door,
    /// Shows samples of the database that the request names, or takes some away; its form may name
    /// the database too, so that the door looks.
    Form(Access),
    /// Shows what an operator needs.
    Operate,
    /// Changes the server itself.
    Administer,
}

impl Right {
    /// Who may, for a person.
    #[cfg(test)]
    pub(crate) const fn needs(self) -> &'static str {
        match self {
            Self::Public => "nobody is asked",
            Self::Read => "read",
            Self::Write => "write",
            Self::Facts => "read, all measurements",
            Self::Edit => "read; changes: write, all measurements",
            Self::Door => "by statement",
            Self::Form(Access::Read) => "read",
            Self::Form(_) => "write, all measurements",
            Self::Operate => "operator",
            Self::Administer => "admin",
        }
    }
}

/// What answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Page(Asset),
    Documents,
    /// Foliot's own API.
    Foliot(Foliot),
    Ping,
    Health,
    Healthy,
    Ready,
    /// InfluxDB 2: whether requests are served, and since when.
    InfluxReady,
    Metrics,
    /// InfluxDB 1: `db` and `rp`.
    InfluxWrite,
    /// InfluxDB 2: `bucket` and `org`.
    InfluxWrite2,
    /// InfluxDB 3's write API.
    InfluxWrite3,
    /// InfluxDB 1: statements of InfluxQL, which may change something.
    InfluxQuery,
    /// InfluxDB 3: a statement of InfluxQL, which changes nothing.
    InfluxQuery3,
    /// InfluxDB 3: a statement of SQL.
    InfluxSql,
    /// InfluxDB 3: lists, makes and drops databases.
    InfluxDatabase,
    /// InfluxDB 2: databases and policies, as buckets.
    InfluxBuckets,
    /// InfluxDB 2: one of them.
    InfluxBucket,
    /// InfluxDB 2: tokens, as authorizations.
    InfluxTokens,
    /// InfluxDB 2: one of them.
    InfluxToken,
    /// InfluxDB 2: there is one organisation, whatever its name.
    InfluxOrgs,
    /// InfluxDB 2: that one.
    InfluxOrg,
    /// InfluxDB 2: who asks.
    InfluxMe,
    /// InfluxDB 2: deletes by predicate.
    InfluxDelete,
    /// InfluxDB 2: Flux, which is refused.
    InfluxFlux,
    OpenTsdb(Endpoint),
    Prometheus(Prometheus),
    /// On the listeners of `listen.ticktock` only.
    TickTock(TickTock),
}

/// A file of the web page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asset {
    Html,
    Style,
    Script,
    /// Fetched when a text is written.
    Editor,
    Files,
    Parquet,
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    /// Methods allowed; a `HEAD` has become a `GET` before it is looked for.
    pub(crate) methods: &'static [&'static str],
    pub(crate) path: &'static str,
    pub(crate) right: Right,
    pub(crate) target: Target,
}

impl Target {
    /// Whether InfluxDB's door answers.
    pub(crate) const fn is_influx(self) -> bool {
        matches!(
            self,
            Self::InfluxWrite
                | Self::InfluxWrite2
                | Self::InfluxWrite3
                | Self::InfluxQuery
                | Self::InfluxQuery3
                | Self::InfluxSql
                | Self::InfluxDatabase
                | Self::InfluxBuckets
                | Self::InfluxBucket
                | Self::InfluxTokens
                | Self::InfluxToken
                | Self::InfluxOrgs
                | Self::InfluxOrg
                | Self::InfluxMe
                | Self::InfluxDelete
                | Self::InfluxFlux
        )
    }
}

impl Route {
    /// Whether it stores samples and does nothing else.
    pub(crate) const fn stores(&self) -> bool {
        matches!(self.right, Right::Write)
            || matches!(
                self.target,
                Target::InfluxWrite | Target::InfluxWrite2 | Target::InfluxWrite3
            )
    }

    /// Whether InfluxDB's door answers.
    pub(crate) const fn is_influx(&self) -> bool {
        self.target.is_influx()
    }

    /// Whether DataDog's agents are answered.
    pub(crate) const fn is_datadog(&self) -> bool {
        use Prometheus::{Datadog1, Datadog2, DatadogValidate};
        matches!(self.target, Target::Prometheus(Datadog1 | Datadog2 | DatadogValidate))
    }
}

/// The routes by their paths, without those whose paths OpenTSDB's door reads by itself.
static BY_PATH: LazyLock<HashMap<&str, &Route>> = LazyLock::new(|| {
    let own = |route: &&Route| !matches!(route.target, Target::OpenTsdb(_));
    let own = ROUTES.iter().filter(own);
    // Of several with one path the first one answers.
    own.rev().map(|route| (route.path, route)).collect()
});

/// Those whose paths OpenTSDB's door reads by itself: what is asked for most is among the first.
static OF_OPENTSDB: LazyLock<Vec<&Route>> = LazyLock::new(|| {
    let theirs = |route: &&Route| matches!(route.target, Target::OpenTsdb(_));
    ROUTES.iter().filter(theirs).collect()
});

/// Finds what answers on TickTock's listeners, where paths stand as they are.
pub(crate) fn find_ticktock(method: &str, path: &str) -> Option<&'static Route> {
    TICKTOCK_ROUTES.iter().find(|route| route.path == path && route.methods.contains(&method))
}

/// Finds what answers where Prometheus or VictoriaMetrics is expected: what they have goes before
/// what others have under the same path.
pub(crate) fn find_prometheus(
    method: &str,
    path: &str,
    query: &str,
) -> Result<&'static Route, NoRoute> {
    // The page itself is at the root, to which its other addresses lead.
    let there = if path == "/" { path.to_owned() } else { format!("{PROMETHEUS}{path}") };
    match find(method, &there, query) {
        Err(NoRoute::Unknown) => find(method, path, query),
        found => found,
    }
}

/// Finds what answers where VictoriaMetrics is expected, which has the paths of its peers with and
/// without prefixes: what is asked at those of Prometheus is asked in MetricsQL.
pub(crate) fn find_victoriametrics(
    method: &str,
    path: &str,
    query: &str,
) -> Result<&'static Route, NoRoute> {
    let mut doors = ["/prometheus", "/influx", "/opentsdb"].into_iter();
    let bare = doors.find_map(|door| path.strip_prefix(door).filter(|rest| rest.starts_with('/')));
    let bare = bare.unwrap_or(path);
    match find(method, &format!("/victoriametrics{bare}"), query) {
        Err(NoRoute::Unknown) => find_prometheus(method, bare, query),
        found => found,
    }
}

/// Why no route was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// Nothing is there.
    Unknown,
    /// Something is there, but not for this method.
    Method(&'static [&'static str]),
    /// Nothing is there, and it is a path of InfluxDB 2 or 3.
    Influx,
    /// Nothing is there, and it is a path of Foliot's own API.
    Foliot,
    /// OpenTSDB's door says why, as the body of its answer: there is no such path, or it may not be
    /// asked so.
    OpenTsdb { status: u16, json: String, is_path: bool },
    /// The path is one of Prometheus without what stands before it here: where it is.
    Prometheus(String),
}

/// What stands before Prometheus' paths where other doors are too.
pub(crate) const PROMETHEUS: &str = "/prometheus";

/// Longest path for which one is looked for that may have been meant, and how many letters of it
/// may be wrong: of more than a slip of the fingers a guess would lead to another door, which takes
/// what is sent there for something else.
const GUESSED_BYTES_MAX: usize = 100;
const SLIPS_MAX: usize = 2;

/// Where SQL is asked, wherever others have it.
const SQL: &str = "/api/v3/query_sql";

/// The path that may have been meant by one where nothing is: what stands under Prometheus' own, or
/// one that differs in a letter or two of one part.
pub(crate) fn nearest(path: &str) -> Option<String> {
    if path.len() > GUESSED_BYTES_MAX {
        return None;
    }
    if path.ends_with("/sql") {
        return Some(SQL.to_owned());
    }
    let there = format!("{PROMETHEUS}{path}");
    if ROUTES.iter().any(|route| route.path == there) || is_values(&there) {
        return Some(there);
    }
    let near = |said: &str| {
        let slips = ROUTES.iter().filter_map(|route| Some((slips(said, route.path)?, route.path)));
        slips.min()
    };
    near(path).or_else(|| near(&there)).map(|(_, known)| known.to_owned())
}

/// How many letters of a path are wrong, if all of them are in one of its parts and few of that.
fn slips(said: &str, known: &str) -> Option<usize> {
    let mut parts = said.split('/').zip(known.split('/')).filter(|(said, is)| said != is);
    let (Some((part, is)), None) = (parts.next(), parts.next()) else { return None };
    let slips = edits(part, is);
    let is_near = said.split('/').count() == known.split('/').count()
        && slips <= SLIPS_MAX
        && slips * 2 <= is.len();
    is_near.then_some(slips)
}

/// Whether a path is that of the values of a label of Prometheus.
fn is_values(path: &str) -> bool {
    let rest = path.strip_prefix("/prometheus/api/v1/label/");
    rest.and_then(|rest| rest.strip_suffix("/values")).is_some_and(|name| !name.contains('/'))
}

/// Whether something of Prometheus' API is at a path, which needs no prefix where it is expected.
pub(crate) fn is_api_of_prometheus(path: &str, is_expected: bool) -> bool {
    let is_there = |path: &str| {
        path.starts_with("/prometheus/api/v1/") && (BY_PATH.contains_key(path) || is_values(path))
    };
    is_there(path) || is_expected && is_there(&format!("{PROMETHEUS}{path}"))
}

/// Which API of InfluxDB a path is of, if it is of version 2 or 3.
pub(crate) fn influx_api(path: &str) -> Option<WriteApi> {
    let (api, rest) = match path.get(..7) {
        Some("/api/v2") => (WriteApi::V2, path.get(7..)?),
        Some("/api/v3") => (WriteApi::V3, path.get(7..)?),
        _ => return None,
    };
    (rest.is_empty() || rest.starts_with('/')).then_some(api)
}

/// Finds what answers `method` at `path`.
pub(crate) fn find(method: &str, path: &str, query: &str) -> Result<&'static Route, NoRoute> {
    let trimmed = match path.strip_suffix('/') {
        Some("") | None => path,
        Some(trimmed) => trimmed,
    };
    let trimmed = match trimmed.rsplit_once('/') {
        Some(("/api/v2/buckets", _)) => "/api/v2/buckets/{id}",
        Some(("/api/v2/authorizations", _)) => "/api/v2/authorizations/{id}",
        Some(("/api/v2/orgs", _)) => "/api/v2/orgs/{id}",
        Some((_, "values")) if is_values(trimmed) => VALUES,
        _ if trimmed.starts_with(PUSH) => GROUP,
        Some(_) if trimmed.starts_with("/docs/") => DOCUMENT,
        _ => trimmed,
    };
    if let Some(found) = BY_PATH.get(trimmed) {
        return match found.methods.contains(&method) {
            true => Ok(found),
            false => Err(NoRoute::Method(found.methods)),
        };
    }
    match route(&HttpRequest { method, path, query, body: b"" }) {
        Ok(endpoint) => {
            let answers = |route: &&&Route| route.target == Target::OpenTsdb(endpoint);
            OF_OPENTSDB.iter().find(answers).copied().ok_or(NoRoute::Unknown)
        }
        Err(error) => {
            let is_api = path.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("/api"));
            if error.status == 404 && !is_api {
                return Err(NoRoute::Unknown);
            }
            if influx_api(trimmed).is_some() && !is_path_of_opentsdb(trimmed) {
                return Err(NoRoute::Influx);
            }
            if super::foliot::is_path(trimmed) {
                return Err(NoRoute::Foliot);
            }
            let is_path = matches!(error.status, 404 | 501);
            let near = nearest(trimmed).filter(|_| error.status == 404);
            if let Some(near) = near.as_ref().filter(|near| near.starts_with(PROMETHEUS)) {
                return Err(NoRoute::Prometheus(near.clone()));
            }
            // InfluxDB has such paths too.
            let near = near.or_else(|| match influx_api(trimmed)? {
                WriteApi::V3 => Some("/api/v3/query_influxql or /api/v3/query_sql".to_owned()),
                WriteApi::V2 => Some("/api/v2/query".to_owned()),
                WriteApi::V1 | WriteApi::TickTock => None,
            });
            let error = match near {
                Some(near) => error.with_details(format!("Did you mean {near}?")),
                None => error,
            };
            Err(NoRoute::OpenTsdb { status: error.status, json: error.to_json(), is_path })
        }
    }
}

/// The methods that OpenTSDB's door takes at a path.
pub(crate) fn methods_of_opentsdb(path: &str, query: &str) -> Vec<&'static str> {
    let takes = |method: &&str| route(&HttpRequest { method, path, query, body: b"" }).is_ok();
    ALL.iter().copied().filter(takes).collect()
}

/// Whether a path of a version of the API that OpenTSDB has not is one of those that it has.
fn is_path_of_opentsdb(path: &str) -> bool {
    let path = path.replacen("/v2", "", 1).replacen("/v3", "", 1);
    let asked = HttpRequest { method: "GET", path: &path, query: "", body: b"" };
    route(&asked).err().is_none_or(|error| error.status != 404)
}
