//! The route table: method and path to what answers, and what that needs.

use super::foliot::Endpoint as Foliot;
use super::prometheus::Endpoint as Prometheus;
use super::ticktock::Endpoint as TickTock;
use foliot_access::Access;
use foliot_model::edits;
use foliot_proto_influx::WriteApi;
use foliot_proto_opentsdb::{Endpoint, HttpRequest, route};
use std::collections::HashMap;
use std::sync::LazyLock;

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

const fn row(
    methods: &'static [&'static str],
    path: &'static str,
    right: Right,
    target: Target,
) -> Route {
    Route { methods, path, right, target }
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

const GET: &[&str] = &["GET"];
const POST: &[&str] = &["POST"];
const CHANGE: &[&str] = &["POST", "PUT"];
const DELETE: &[&str] = &["DELETE"];
const FACT: &[&str] = &["GET", "POST", "DELETE"];
const ASK: &[&str] = &["GET", "POST"];
const BUCKET: &[&str] = &["GET", "PATCH", "DELETE"];
const ALL: &[&str] = &["GET", "POST", "PUT", "DELETE"];

/// All routes. OpenTSDB's paths are found by its door, which ignores case and the API's version;
/// the others are found here as they stand.
pub(crate) static ROUTES: &[Route] = &[
    row(GET, "/", Right::Public, Target::Page(Asset::Html)),
    row(GET, "/s/page.css", Right::Public, Target::Page(Asset::Style)),
    row(GET, "/s/page.js", Right::Public, Target::Page(Asset::Script)),
    row(GET, "/s/editor.js", Right::Public, Target::Page(Asset::Editor)),
    row(GET, "/s/files.js", Right::Public, Target::Page(Asset::Files)),
    row(GET, "/s/parquet.js", Right::Public, Target::Page(Asset::Parquet)),
    row(GET, "/docs", Right::Public, Target::Documents),
    row(GET, DOCUMENT, Right::Public, Target::Documents),
    row(POST, "/api/foliot/v1/query", Right::Read, Target::Foliot(Foliot::Query)),
    row(GET, "/api/foliot/v1/catalogue", Right::Door, Target::Foliot(Foliot::Catalogue)),
    row(GET, "/api/foliot/v1/cardinality", Right::Read, Target::Foliot(Foliot::Cardinality)),
    row(GET, "/api/foliot/v1/series", Right::Read, Target::Foliot(Foliot::Series)),
    row(GET, "/api/foliot/v1/metric", Right::Read, Target::Foliot(Foliot::Metric)),
    row(POST, "/api/foliot/v1/delete", Right::Edit, Target::Foliot(Foliot::Delete)),
    row(FACT, "/api/foliot/v1/saved", Right::Edit, Target::Foliot(Foliot::Saved)),
    row(FACT, "/api/foliot/v1/limits", Right::Operate, Target::Foliot(Foliot::Limits)),
    row(FACT, "/api/foliot/v1/annotations", Right::Edit, Target::Foliot(Foliot::Annotations)),
    row(POST, "/api/foliot/v1/import", Right::Write, Target::Foliot(Foliot::Import)),
    row(GET, "/api/foliot/v1/status", Right::Operate, Target::Foliot(Foliot::Status)),
    row(GET, "/api/foliot/v1/senders", Right::Operate, Target::Foliot(Foliot::Senders)),
    row(GET, "/api/foliot/v1/targets", Right::Read, Target::Foliot(Foliot::Targets)),
    row(GET, "/api/foliot/v1/rules", Right::Read, Target::Foliot(Foliot::Rules)),
    row(GET, "/api/foliot/v1/alerts", Right::Read, Target::Foliot(Foliot::Alerts)),
    row(POST, "/api/foliot/v1/relabel", Right::Read, Target::Foliot(Foliot::Relabel)),
    row(GET, "/api/foliot/v1/history", Right::Operate, Target::Foliot(Foliot::History)),
    row(GET, "/api/foliot/v1/settings", Right::Operate, Target::Foliot(Foliot::Settings)),
    row(GET, "/api/foliot/v1/logs", Right::Operate, Target::Foliot(Foliot::Logs)),
    row(GET, "/api/foliot/v1/retention", Right::Operate, Target::Foliot(Foliot::Retention)),
    row(
        POST,
        "/api/foliot/v1/retention/test",
        Right::Operate,
        Target::Foliot(Foliot::RetentionTest),
    ),
    row(GET, "/api/foliot/v1/queries", Right::Operate, Target::Foliot(Foliot::Queries)),
    row(GET, "/api/foliot/v1/queries/costs", Right::Operate, Target::Foliot(Foliot::Costs)),
    row(POST, "/api/foliot/v1/queries/cancel", Right::Operate, Target::Foliot(Foliot::Cancel)),
    row(GET, "/api/foliot/v1/jobs", Right::Operate, Target::Foliot(Foliot::Jobs)),
    row(POST, "/api/foliot/v1/jobs/cancel", Right::Operate, Target::Foliot(Foliot::CancelJob)),
    row(GET, "/api/foliot/v1/backups", Right::Operate, Target::Foliot(Foliot::Backups)),
    row(GET, "/api/foliot/v1/audit", Right::Operate, Target::Foliot(Foliot::Audit)),
    row(ASK, "/ping", Right::Public, Target::Ping),
    row(ASK, "/api/v2/ping", Right::Public, Target::Ping),
    row(GET, "/health", Right::Public, Target::Health),
    row(GET, "/-/healthy", Right::Public, Target::Healthy),
    row(GET, "/-/ready", Right::Public, Target::Ready),
    row(GET, "/ready", Right::Public, Target::InfluxReady),
    row(GET, "/metrics", Right::Operate, Target::Metrics),
    row(POST, "/write", Right::Door, Target::InfluxWrite),
    row(POST, "/api/write", Right::Write, Target::InfluxWrite),
    row(POST, "/api/v2/write", Right::Door, Target::InfluxWrite2),
    row(POST, "/api/v3/write_lp", Right::Door, Target::InfluxWrite3),
    row(ASK, "/api/v3/query_influxql", Right::Door, Target::InfluxQuery3),
    row(ASK, "/api/v3/query_sql", Right::Door, Target::InfluxSql),
    row(FACT, "/api/v3/configure/database", Right::Door, Target::InfluxDatabase),
    row(ASK, "/query", Right::Door, Target::InfluxQuery),
    row(POST, "/api/v2/delete", Right::Door, Target::InfluxDelete),
    row(ASK, "/api/v2/buckets", Right::Door, Target::InfluxBuckets),
    row(BUCKET, "/api/v2/buckets/{id}", Right::Door, Target::InfluxBucket),
    row(ASK, "/api/v2/authorizations", Right::Administer, Target::InfluxTokens),
    row(DELETE, "/api/v2/authorizations/{id}", Right::Administer, Target::InfluxToken),
    row(GET, "/api/v2/orgs", Right::Door, Target::InfluxOrgs),
    row(GET, "/api/v2/orgs/{id}", Right::Door, Target::InfluxOrg),
    row(GET, "/api/v2/me", Right::Door, Target::InfluxMe),
    row(POST, "/api/v2/query", Right::Door, Target::InfluxFlux),
    row(POST, "/api/v1/write", Right::Write, Target::Prometheus(Prometheus::Write)),
    row(POST, "/prometheus/api/v1/write", Right::Write, Target::Prometheus(Prometheus::Write)),
    row(POST, "/api/v1/import/prometheus", Right::Write, Target::Prometheus(Prometheus::Import)),
    row(CHANGE, GROUP, Right::Write, Target::Prometheus(Prometheus::Import)),
    row(POST, "/api/v1/import", Right::Write, Target::Prometheus(Prometheus::ImportLines)),
    row(POST, "/api/v1/import/csv", Right::Write, Target::Prometheus(Prometheus::ImportCsv)),
    row(POST, "/v1/metrics", Right::Write, Target::Prometheus(Prometheus::Otlp)),
    row(POST, "/api/v1/otlp/v1/metrics", Right::Write, Target::Prometheus(Prometheus::Otlp)),
    row(
        POST,
        "/prometheus/api/v1/otlp/v1/metrics",
        Right::Write,
        Target::Prometheus(Prometheus::Otlp),
    ),
    row(
        POST,
        "/opentelemetry/v1/metrics",
        Right::Write,
        Target::Prometheus(Prometheus::OtlpAsItIs),
    ),
    row(
        POST,
        "/opentelemetry/api/v1/push",
        Right::Write,
        Target::Prometheus(Prometheus::OtlpAsItIs),
    ),
    row(POST, "/datadog/api/v1/series", Right::Write, Target::Prometheus(Prometheus::Datadog1)),
    row(POST, "/datadog/api/v2/series", Right::Write, Target::Prometheus(Prometheus::Datadog2)),
    row(POST, "/api/v2/series", Right::Write, Target::Prometheus(Prometheus::Datadog2)),
    row(
        GET,
        "/datadog/api/v1/validate",
        Right::Door,
        Target::Prometheus(Prometheus::DatadogValidate),
    ),
    row(ASK, "/api/v1/export", Right::Form(Access::Read), Target::Prometheus(Prometheus::Export)),
    row(
        ASK,
        "/api/v1/export/csv",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::ExportCsv),
    ),
    row(POST, "/prometheus/api/v1/read", Right::Read, Target::Prometheus(Prometheus::Read)),
    row(
        ASK,
        "/prometheus/api/v1/query",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::Query),
    ),
    row(
        ASK,
        "/prometheus/api/v1/query_range",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::QueryRange),
    ),
    row(
        ASK,
        "/prometheus/api/v1/query_exemplars",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::Exemplars),
    ),
    row(
        ASK,
        "/prometheus/api/v1/series",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::Series),
    ),
    row(
        ASK,
        "/prometheus/api/v1/labels",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::Labels),
    ),
    row(GET, VALUES, Right::Form(Access::Read), Target::Prometheus(Prometheus::LabelValues)),
    row(
        ASK,
        "/prometheus/api/v1/format_query",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::Format),
    ),
    row(
        ASK,
        "/prometheus/api/v1/parse_query",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::Parse),
    ),
    row(
        GET,
        "/prometheus/federate",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::Federate),
    ),
    row(
        CHANGE,
        "/prometheus/api/v1/admin/tsdb/delete_series",
        Right::Form(Access::Write),
        Target::Prometheus(Prometheus::DeleteSeries),
    ),
    row(
        CHANGE,
        "/prometheus/api/v1/admin/tsdb/clean_tombstones",
        Right::Administer,
        Target::Prometheus(Prometheus::CleanTombstones),
    ),
    row(
        CHANGE,
        "/prometheus/api/v1/admin/tsdb/snapshot",
        Right::Administer,
        Target::Prometheus(Prometheus::Snapshot),
    ),
    row(GET, PROMETHEUS, Right::Public, Target::Prometheus(Prometheus::Graph)),
    row(GET, "/prometheus/graph", Right::Public, Target::Prometheus(Prometheus::Graph)),
    // Links that people keep have no prefix.
    row(GET, "/graph", Right::Public, Target::Prometheus(Prometheus::Graph)),
    row(GET, "/vmui", Right::Public, Target::Prometheus(Prometheus::Graph)),
    row(GET, "/vmui/", Right::Public, Target::Prometheus(Prometheus::Graph)),
    row(GET, "/prometheus/vmui", Right::Public, Target::Prometheus(Prometheus::Graph)),
    row(GET, "/prometheus/vmui/", Right::Public, Target::Prometheus(Prometheus::Graph)),
    row(GET, "/prometheus/-/healthy", Right::Public, Target::Healthy),
    row(GET, "/prometheus/-/ready", Right::Public, Target::Ready),
    row(CHANGE, "/prometheus/-/reload", Right::Administer, Target::Prometheus(Prometheus::Reload)),
    row(
        GET,
        "/prometheus/api/v1/status/flags",
        Right::Operate,
        Target::Prometheus(Prometheus::Flags),
    ),
    row(GET, "/prometheus/api/v1/metadata", Right::Read, Target::Prometheus(Prometheus::Metadata)),
    row(GET, "/prometheus/api/v1/targets", Right::Read, Target::Prometheus(Prometheus::Targets)),
    row(
        GET,
        "/prometheus/api/v1/targets/metadata",
        Right::Read,
        Target::Prometheus(Prometheus::TargetsMetadata),
    ),
    row(
        GET,
        "/prometheus/api/v1/scrape_pools",
        Right::Read,
        Target::Prometheus(Prometheus::ScrapePools),
    ),
    row(GET, "/prometheus/api/v1/rules", Right::Read, Target::Prometheus(Prometheus::Rules)),
    row(GET, "/prometheus/api/v1/alerts", Right::Read, Target::Prometheus(Prometheus::Alerts)),
    row(
        GET,
        "/prometheus/api/v1/alertmanagers",
        Right::Read,
        Target::Prometheus(Prometheus::Alertmanagers),
    ),
    row(
        GET,
        "/prometheus/api/v1/status/config",
        Right::Operate,
        Target::Prometheus(Prometheus::Config),
    ),
    row(
        GET,
        "/prometheus/api/v1/status/tsdb",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::Statistics),
    ),
    row(
        GET,
        "/prometheus/api/v1/status/runtimeinfo",
        Right::Operate,
        Target::Prometheus(Prometheus::RuntimeInfo),
    ),
    row(
        GET,
        "/prometheus/api/v1/status/buildinfo",
        Right::Public,
        Target::Prometheus(Prometheus::BuildInfo),
    ),
    row(
        ASK,
        "/victoriametrics/api/v1/query",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::MetricsQuery),
    ),
    row(
        ASK,
        "/victoriametrics/api/v1/query_range",
        Right::Form(Access::Read),
        Target::Prometheus(Prometheus::MetricsQueryRange),
    ),
    row(
        GET,
        "/victoriametrics/api/v1/status/active_queries",
        Right::Operate,
        Target::Prometheus(Prometheus::ActiveQueries),
    ),
    row(
        GET,
        "/victoriametrics/api/v1/status/top_queries",
        Right::Operate,
        Target::Prometheus(Prometheus::TopQueries),
    ),
    row(
        ASK,
        "/victoriametrics/internal/force_flush",
        Right::Operate,
        Target::Prometheus(Prometheus::ForceFlush),
    ),
    row(
        ASK,
        "/victoriametrics/internal/force_merge",
        Right::Operate,
        Target::Prometheus(Prometheus::ForceMerge),
    ),
    row(POST, "/api/put", Right::Write, Target::OpenTsdb(Endpoint::Put)),
    row(&["GET", "POST", "DELETE"], "/api/query", Right::Edit, Target::OpenTsdb(Endpoint::Query)),
    row(ASK, "/api/query/last", Right::Facts, Target::OpenTsdb(Endpoint::Last)),
    row(POST, "/api/histogram", Right::Write, Target::OpenTsdb(Endpoint::Histogram)),
    row(POST, "/api/rollup", Right::Write, Target::OpenTsdb(Endpoint::Rollup)),
    row(POST, "/api/query/exp", Right::Read, Target::OpenTsdb(Endpoint::Expressions)),
    row(GET, "/api/query/gexp", Right::Read, Target::OpenTsdb(Endpoint::Functions)),
    row(ASK, "/api/search/lookup", Right::Facts, Target::OpenTsdb(Endpoint::Search)),
    row(ALL, "/api/uid/assign", Right::Edit, Target::OpenTsdb(Endpoint::Uid)),
    row(ALL, "/api/uid/rename", Right::Edit, Target::OpenTsdb(Endpoint::Uid)),
    row(ALL, "/api/uid/uidmeta", Right::Edit, Target::OpenTsdb(Endpoint::Uid)),
    row(ALL, "/api/uid/tsmeta", Right::Edit, Target::OpenTsdb(Endpoint::Uid)),
    row(ALL, "/api/annotation", Right::Edit, Target::OpenTsdb(Endpoint::Annotation)),
    row(ALL, "/api/annotation/bulk", Right::Edit, Target::OpenTsdb(Endpoint::Annotation)),
    row(ALL, "/api/annotations", Right::Edit, Target::OpenTsdb(Endpoint::Annotation)),
    row(ALL, "/api/tree", Right::Edit, Target::OpenTsdb(Endpoint::Tree)),
    row(ALL, "/api/tree/branch", Right::Edit, Target::OpenTsdb(Endpoint::Tree)),
    row(ALL, "/api/tree/rule", Right::Edit, Target::OpenTsdb(Endpoint::Tree)),
    row(ALL, "/api/tree/rules", Right::Edit, Target::OpenTsdb(Endpoint::Tree)),
    row(ALL, "/api/tree/test", Right::Edit, Target::OpenTsdb(Endpoint::Tree)),
    row(ALL, "/api/tree/collisions", Right::Edit, Target::OpenTsdb(Endpoint::Tree)),
    row(ALL, "/api/tree/notmatched", Right::Edit, Target::OpenTsdb(Endpoint::Tree)),
    row(ASK, "/api/config", Right::Operate, Target::OpenTsdb(Endpoint::Config)),
    row(ASK, "/api/stats", Right::Operate, Target::OpenTsdb(Endpoint::Stats)),
    row(ASK, "/stats", Right::Operate, Target::OpenTsdb(Endpoint::StatsText)),
    row(ASK, "/logs", Right::Operate, Target::OpenTsdb(Endpoint::Logs)),
    row(ASK, "/q", Right::Read, Target::OpenTsdb(Endpoint::Graph)),
    row(ASK, "/api/suggest", Right::Read, Target::OpenTsdb(Endpoint::Suggest)),
    row(GET, "/api/aggregators", Right::Public, Target::OpenTsdb(Endpoint::Aggregators)),
    row(ASK, "/api/config/filters", Right::Public, Target::OpenTsdb(Endpoint::Filters)),
    row(ASK, "/api/version", Right::Public, Target::OpenTsdb(Endpoint::Version)),
    row(GET, "/version", Right::Public, Target::OpenTsdb(Endpoint::VersionText)),
    row(GET, "/api/status", Right::Public, Target::OpenTsdb(Endpoint::Status)),
    row(ASK, "/api/serializers", Right::Public, Target::OpenTsdb(Endpoint::Serializers)),
    row(
        &["GET", "DELETE"],
        "/api/dropcaches",
        Right::Operate,
        Target::OpenTsdb(Endpoint::DropCaches),
    ),
];

/// Where a Pushgateway's clients push to, and what its paths begin with: labels stand behind it.
const GROUP: &str = "/api/v1/import/prometheus/metrics/{labels}";
pub(crate) const PUSH: &str = "/api/v1/import/prometheus/metrics/";

/// Where the values of a label of Prometheus are.
pub(crate) const VALUES: &str = "/prometheus/api/v1/label/{id}/values";

/// All routes of TickTock's listeners.
pub(crate) static TICKTOCK_ROUTES: &[Route] = &[
    row(POST, "/api/put", Right::Write, Target::TickTock(TickTock::Put)),
    row(POST, "/api/write", Right::Write, Target::TickTock(TickTock::Write)),
    row(ASK, "/api/query", Right::Read, Target::TickTock(TickTock::Query)),
    row(GET, "/api/suggest", Right::Read, Target::TickTock(TickTock::Suggest)),
    row(GET, "/api/search/lookup", Right::Facts, Target::TickTock(TickTock::Lookup)),
    row(GET, "/api/aggregators", Right::Public, Target::TickTock(TickTock::Aggregators)),
    row(GET, "/api/config", Right::Operate, Target::TickTock(TickTock::Config)),
    row(GET, "/api/config/filters", Right::Public, Target::TickTock(TickTock::Filters)),
    row(GET, "/api/stats", Right::Operate, Target::TickTock(TickTock::Stats)),
    row(GET, "/api/version", Right::Public, Target::TickTock(TickTock::Version)),
    row(POST, "/api/admin", Right::Administer, Target::TickTock(TickTock::Admin)),
];

/// The routes by their paths, without those whose paths OpenTSDB's door reads by itself.
static BY_PATH: LazyLock<HashMap<&str, &Route>> = LazyLock::new(|| {
    let own = |route: &&Route| !matches!(route.target, Target::OpenTsdb(_));
    let own = ROUTES.iter().filter(own);
    // Of several with one path the first one answers.
    own.rev().map(|route| (route.path, route)).collect()
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

/// A document.
const DOCUMENT: &str = "/docs/{path}";

/// What stands before Prometheus' paths where other doors are too.
pub(crate) const PROMETHEUS: &str = "/prometheus";

/// Longest path for which one is looked for that may have been meant, and how many letters of it
/// may be wrong: of more than a slip of the fingers a guess would lead to another door, which takes
/// what is sent there for something else.
const GUESSED_BYTES_MAX: usize = 100;
const SLIPS_MAX: usize = 2;

/// The path that may have been meant by one where nothing is: what stands under Prometheus' own, or
/// one that differs in a letter or two of one part.
pub(crate) fn nearest(path: &str) -> Option<String> {
    if path.len() > GUESSED_BYTES_MAX {
        return None;
    }
    let there = format!("{PROMETHEUS}{path}");
    if ROUTES.iter().any(|route| route.path == there) || is_values(&there) {
        return Some(there);
    }
    let slips = |known: &'static str| {
        let parts = || path.split('/').zip(known.split('/')).filter(|(said, is)| said != is);
        let is_near = path.split('/').count() == known.split('/').count() && parts().count() == 1;
        let slips = is_near.then(|| parts().map(|(said, is)| edits(said, is)).sum());
        slips.filter(|slips| *slips <= SLIPS_MAX).map(|slips: usize| (slips, known))
    };
    let best = ROUTES.iter().filter_map(|route| slips(route.path)).min();
    best.map(|(_, known)| known.to_owned())
}

/// Whether a path is that of the values of a label of Prometheus.
fn is_values(path: &str) -> bool {
    let rest = path.strip_prefix("/prometheus/api/v1/label/");
    rest.and_then(|rest| rest.strip_suffix("/values")).is_some_and(|name| !name.contains('/'))
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
        Ok(endpoint) => ROUTES
            .iter()
            .find(|route| route.target == Target::OpenTsdb(endpoint))
            .ok_or(NoRoute::Unknown),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_found_by_its_path_and_refuses_other_methods() {
        for route in ROUTES {
            for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW"] {
                let found = find(method, route.path, "");
                let allowed = route.methods.contains(&method);
                match found {
                    Ok(found) if allowed => assert_eq!(found.target, route.target),
                    Ok(found) => panic!("{method} {} finds {found:?}", route.path),
                    Err(NoRoute::Unknown) => panic!("{method} {} is not found", route.path),
                    Err(_) => assert!(!allowed, "{method} {}", route.path),
                }
            }
        }
    }

    /// The table of rights in docs/security.md.
    fn rights_table() -> String {
        let mut table = "| path | methods | needs |\n|---|---|---|\n".to_owned();
        let mut list = |routes: &[Route], mark: &str| {
            for route in routes {
                let Route { methods, path, right, .. } = route;
                let (methods, needs) = (methods.join(", "), right.needs());
                table.push_str(&format!("| `{path}`{mark} | {methods} | {needs} |\n"));
            }
        };
        list(ROUTES, "");
        list(TICKTOCK_ROUTES, " (TickTock's ports)");
        table
    }

    #[test]
    fn the_rights_of_every_route_are_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/security.md");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let table = rights_table();
        assert!(text.contains(&table), "docs/security.md must hold this table:\n{table}");
    }

    #[test]
    fn every_route_is_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/server.md");
        let text = std::fs::read_to_string(path).unwrap();
        for route in ROUTES {
            let is_named = text.contains(&format!("`{}`", route.path));
            assert!(is_named, "{} is missing in docs/server.md", route.path);
        }
    }

    #[test]
    fn foliots_own_paths_are_those_of_the_openapi_file() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let api = std::fs::read_to_string(path).unwrap();
        let api: serde_json::Value = serde_json::from_str(&api).unwrap();
        let mut described = Vec::new();
        for (path, methods) in api["paths"].as_object().unwrap() {
            let of_path = |method: &String| format!("{} {path}", method.to_uppercase());
            described.extend(methods.as_object().unwrap().keys().map(of_path));
        }
        let own = ROUTES.iter().filter(|route| matches!(route.target, Target::Foliot(_)));
        let of_route = |route: &'static Route| {
            route.methods.iter().map(|method| format!("{method} {}", route.path))
        };
        let mut routes: Vec<String> = own.flat_map(of_route).collect();
        described.sort();
        routes.sort();
        assert_eq!(described, routes);
    }

    #[test]
    fn foliots_own_parameters_are_those_of_the_openapi_file() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
        let api = std::fs::read_to_string(path).unwrap();
        let api: serde_json::Value = serde_json::from_str(&api).unwrap();
        for route in ROUTES {
            let Target::Foliot(endpoint) = route.target else { continue };
            for method in route.methods {
                let described = &api["paths"][route.path][method.to_lowercase()]["parameters"];
                let described = described.as_array().into_iter().flatten();
                let named = described.map(|one| one["name"].as_str().unwrap());
                let mut described: Vec<_> =
                    named.filter(|name| !matches!(*name, "db" | "rp")).collect();
                let mut known = endpoint.params(method).to_vec();
                described.sort_unstable();
                known.sort_unstable();
                assert_eq!(described, known, "{method} {}", route.path);
            }
        }
    }

    #[test]
    fn ticktocks_paths_are_documented_and_take_their_methods_only() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols/ticktock.md");
        let text = std::fs::read_to_string(path).unwrap();
        for route in TICKTOCK_ROUTES {
            assert!(text.contains(&format!("`{}`", route.path)), "{}", route.path);
            for method in ["GET", "POST", "PUT", "DELETE"] {
                let is_found = find_ticktock(method, route.path).is_some();
                assert_eq!(is_found, route.methods.contains(&method), "{method} {}", route.path);
            }
        }
        assert!(find_ticktock("GET", "/api/Query").is_none());
    }

    #[test]
    fn whatever_changes_the_store_is_not_reached_by_get() {
        for route in ROUTES.iter().filter(|route| route.stores()) {
            let is_of_reading = |method: &&str| !matches!(*method, "POST" | "PUT");
            assert!(!route.methods.iter().any(is_of_reading), "{}", route.path);
        }
    }

    #[test]
    fn api_paths_ignore_case_and_version() {
        let to = |path| find("POST", path, "").map(|route| route.target);
        assert_eq!(to("/API/v1/PUT/"), Ok(Target::OpenTsdb(Endpoint::Put)));
        assert_eq!(to("/api/v2/write"), Ok(Target::InfluxWrite2));
        assert_eq!(to("/write/"), Ok(Target::InfluxWrite));
        assert_eq!(to("/nowhere"), Err(NoRoute::Unknown));
        let status = |path| match to(path) {
            Err(NoRoute::OpenTsdb { status, .. }) => status,
            other => panic!("{path}: {other:?}"),
        };
        assert_eq!(status("/api/nosuch"), 404);
        assert_eq!(status("/api/v2/put"), 501);
        assert_eq!(status("/api/status"), 405);
    }
}
