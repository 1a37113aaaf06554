//! Settings: one definition per key.
//!
//! [`KEYS`] is the single list. From it come the flags of `foliot serve`, the `FOLIOT_*` variables,
//! the keys of the TOML file, `foliot config show` with origins, and the reference
//! `docs/config.md`. A setting that does nothing does not exist: a key is added together with what
//! obeys it.

mod check;
mod layers;
mod reference;
mod retention;
mod setting;

pub use layers::{Layers, Origin, Told, together};
pub use reference::{reference, sample};
pub use retention::{Cap, Keep, KeepRules};
pub use setting::{
    Addresses, ByteSize, HostPort, Listen, Listens, Memory, Plain, RollupTables, Secret, Setting,
    Templates, Words,
};

use crate::Ack;
use crate::logging::LogFormat;
use foliot_schema::DatabaseName;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// What the program takes before anything is shared out: some 18 MB of its own file, and the
/// stacks, tables and buffers of its threads.
const PROGRAM_BYTES: u64 = 24 << 20;

/// Least `limits.memory_bytes`: of what the program leaves, a share must hold a request, and
/// another one a query.
const MEMORY_BYTES_MIN: u64 = PROGRAM_BYTES + (16 << 20);

/// One setting, by name.
pub struct Key {
    /// Its dotted name, as in the TOML file.
    pub name: &'static str,
    /// Its flag without the dashes.
    pub flag: &'static str,
    /// What kind of text it takes.
    pub kind: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Sets it from text.
    pub set: fn(&mut Config, &str) -> Result<(), String>,
    /// Spells it so that `set` reads the same back.
    pub show: fn(&Config) -> String,
}

impl Key {
    /// The name of its environment variable.
    pub fn variable(&self) -> String {
        format!("FOLIOT_{}", self.name.to_ascii_uppercase().replace('.', "_"))
    }
}

macro_rules! settings {
    ($(
        $(#[doc = $help:literal])+
        $field:ident: $kind:ty = $default:expr, $name:literal, $flag:literal;
    )+) => {
        /// All settings.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Config {
            $($(#[doc = $help])+ pub $field: $kind,)+
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $($field: $default,)+ }
            }
        }

        /// All keys, in the order of the reference.
        pub static KEYS: &[Key] = &[$(Key {
            name: $name,
            flag: $flag,
            kind: <$kind as Setting>::KIND,
            help: concat!($($help),+),
            set: |config, text| {
                config.$field = <$kind as Setting>::read(text)?;
                Ok(())
            },
            show: |config| config.$field.show(),
        }),+];
    };
}

/// What OpenTSDB's `tsd.http.request.cors_headers` is by default.
const CORS_HEADERS: &str = "Authorization, Content-Type, Accept, Origin, User-Agent, DNT, \
    Cache-Control, X-Mx-ReqToken, Keep-Alive, X-Requested-With, If-Modified-Since";

settings! {
    /// Directory that holds the store. It is created when it does not exist.
    data_dir: PathBuf = PathBuf::from("./foliot-data"), "data_dir", "data-dir";
    /// Address of the one port that speaks every protocol: HTTP, telnet `put` lines and Influx
    /// lines are told apart by their first bytes.
    listen_address: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 4242)),
        "listen.address", "listen";
    /// Whether `put` lines are also taken as UDP datagrams on the numbers of `listen.address` and
    /// `listen.ticktock`.
    listen_udp: bool = false, "listen.udp", "listen-udp";
    /// Address of a second HTTP listener on InfluxDB's port (8086), or `off`.
    listen_influx: Listen = Listen(None), "listen.influx", "listen-influx";
    /// Address of an HTTP listener on Prometheus' port (9090), or `off`.
    listen_prometheus: Listen = Listen(None), "listen.prometheus", "listen-prometheus";
    /// Address of an HTTP listener on VictoriaMetrics' port (8428), or `off`.
    listen_victoriametrics: Listen = Listen(None),
        "listen.victoriametrics", "listen-victoriametrics";
    /// Address of a listener for Graphite's plain text and pickle, and nothing else, on its port
    /// (2003), or `off`.
    listen_graphite: Listen = Listen(None), "listen.graphite", "listen-graphite";
    /// Address of a UDP socket for statsd's datagrams (8125), or `off`.
    listen_statsd: Listen = Listen(None), "listen.statsd", "listen-statsd";
    /// Database, or `database/policy`, of everything that names none: telnet, UDP, line connections
    /// and messages of a broker, and requests of OpenTSDB's, TickTock's and Prometheus' paths
    /// without `db` or the header `X-Foliot-Database`. InfluxDB's paths must name one.
    listen_database: DatabaseName =
        DatabaseName { database: "default".to_owned(), policy: None },
        "listen.database", "listen-database";
    /// Addresses of listeners that speak TickTock's dialect of HTTP, put lines and Influx lines,
    /// all of them on each, separated by commas (TickTock's own are 6180, 6181 and 6182), or `off`.
    listen_ticktock: Listens = Listens(Vec::new()), "listen.ticktock", "listen-ticktock";
    /// Allows listeners on addresses that other machines can reach although nobody is asked for a
    /// password (`access.enabled`): whoever reaches the port can read and write everything.
    listen_insecure: bool = false, "listen.insecure", "insecure";
    /// Whether requests and connections must show who they are, by user and password or by a token,
    /// and rights are enforced. As long as there is no administrator, a token that is printed at
    /// the start may do everything; `foliot user` makes users and tokens too.
    access_enabled: bool = false, "access.enabled", "access";
    /// Addresses that may write to `listen.database` without credentials when `access.enabled` is
    /// set, by any protocol: addresses or CIDR blocks, separated by commas. Datagrams and plain
    /// line connections, which cannot show credentials, are taken from nowhere else.
    access_write_from: Addresses = Addresses::default(), "access.write_from", "access-write-from";
    /// Characters that a new password must have at least. Those that are there stay good.
    access_password_length_min: u64 = 8, "access.password_length_min", "access-password-length-min";
    /// File of the server's certificate and those that signed it, as PEM; empty means that TLS
    /// is not spoken. Every TCP listener takes TLS beside plain connections. The file is read again
    /// when it changes, and on SIGHUP. `foliot cert` makes one to begin with.
    tls_certificate: Plain = Plain(String::new()), "tls.certificate", "tls-certificate";
    /// File of the certificate's key, as PEM.
    tls_key: Plain = Plain(String::new()), "tls.key", "tls-key";
    /// File of certificates, as PEM, one of which must have signed the certificate that a TLS
    /// client shows; empty means that clients show none.
    tls_client_ca: Plain = Plain(String::new()), "tls.client_ca", "tls-client-ca";
    /// Whether connections from other machines must use TLS.
    tls_only: bool = false, "tls.only", "tls-only";
    /// What an answered write has survived: `durable` (on stable storage), `os` (handed to the
    /// operating system, on stable storage within `wal.sync_interval`) or `memory`. A request
    /// chooses for itself with the header `X-Foliot-Ack`.
    wal_ack: Ack = Ack::Durable, "wal.ack", "wal-ack";
    /// Longest time that written data may wait for stable storage when nobody waits for it.
    wal_sync_interval: Duration = Duration::from_secs(1), "wal.sync_interval", "wal-sync-interval";
    /// How long a restart may take to read the log again; the log is kept short enough for that.
    wal_replay_target: Duration = Duration::from_secs(20), "wal.replay_target", "wal-replay-target";
    /// Room that is left free on the disk beside what writing memory out needs; with less writes
    /// are refused, so that memory can be written out and the log given back. A file `ballast`
    /// holds a sixteenth as much beside it, for deletes where others have filled the disk.
    wal_reserve: ByteSize = ByteSize(16 << 20), "wal.reserve", "wal-reserve";
    /// Room on the disk for segments of the log that are not needed any more, which are written
    /// over instead of new ones: the disk confirms that sooner. They go when the server
    /// stops, and when room is short; `0B` keeps none.
    wal_spare: ByteSize = ByteSize(256 << 20), "wal.spare", "wal-spare";
    /// How long samples are kept, where a database or policy says nothing else: an hour at least.
    /// Older samples are not shown and not accepted; files follow.
    retention_time: Keep = Keep(None), "retention.time", "retention";
    /// Room that the stored samples may take on the disk, the log not counted; beyond it the oldest
    /// go first, part by part. A start that finds more says how much goes.
    retention_size: Cap = Cap(None), "retention.size", "retention-size";
    /// Series that are kept for other times, by measurement and labels, where `*` stands for any
    /// text. The first rule that fits decides. Known series are filed anew when rules change.
    retention_rules: KeepRules = KeepRules(Vec::new()), "retention.rules", "retention-rules";
    /// Memory that the whole process should get by with, or `auto` for all that the machine or its
    /// container has. 24 MiB of it are for the program itself; the settings of head, cache, merges,
    /// queries and bodies are cut to shares of the rest.
    limits_memory_bytes: Memory = Memory(None), "limits.memory_bytes", "limits-memory-bytes";
    /// Memory that recent samples may take before they are written out as a part.
    head_bytes: ByteSize = ByteSize(256 << 20), "head.bytes", "head-bytes";
    /// Memory for pages of files that queries read again.
    cache_bytes: ByteSize = ByteSize(32 << 20), "cache.bytes", "cache-bytes";
    /// Parts of one database and week that are merged into one as soon as there are so many beside
    /// the newest.
    merge_parts: u64 = 8, "merge.parts", "merge-parts";
    /// Memory for a merge. Half of it is for the parts that are merged at once, two at least: a
    /// part takes 200 KiB, and one that was merged to the end 2 MiB more. Half is for what is
    /// written.
    merge_bytes: ByteSize = ByteSize(64 << 20), "merge.bytes", "merge-bytes";
    /// How long nothing must have been written to a week of a database before all its parts are
    /// merged.
    merge_quiet: Duration = Duration::from_secs(3600), "merge.quiet", "merge-quiet";
    /// Share of one core, in percent, that merging takes while samples arrive; at 100 it never
    /// pauses.
    merge_share: u64 = 50, "merge.share", "merge-share";
    /// A series that was written within this long counts as active.
    index_active_window: Duration = Duration::from_secs(3600),
        "index.active_window", "index-active-window";
    /// When more series than this, and more than half of all in memory, are not active any more,
    /// their names move to disk.
    index_quiet_series: u64 = 500_000, "index.quiet_series", "index-quiet-series";
    /// Series that may be in memory; beyond it new ones are refused while known ones go on.
    limits_series: u64 = 100_000_000, "limits.series", "limits-series";
    /// Memory that the names of series, where each stands in the head, kinds of fields, and facts
    /// such as annotations may take; beyond it new ones are refused while known ones go on. `auto`
    /// is three eighths of what the program itself leaves of `limits.memory_bytes`.
    limits_registry_bytes: Memory = Memory(None), "limits.registry_bytes", "limits-registry-bytes";
    /// New series per second, averaged over ten seconds; beyond it new ones are refused.
    limits_new_series_per_second: u64 = 1_000_000,
        "limits.new_series_per_second", "limits-new-series-per-second";
    /// Labels (tags) that a series may have.
    limits_labels: u64 = 64, "limits.labels", "limits-labels";
    /// Longest line of telnet and Influx line streams.
    limits_line_bytes: ByteSize = ByteSize(256 << 10), "limits.line_bytes", "limits-line-bytes";
    /// Largest body of a request as it arrives.
    limits_body_bytes: ByteSize = ByteSize(64 << 20), "limits.body_bytes", "limits-body-bytes";
    /// Largest body of a request after decompression.
    limits_decoded_body_bytes: ByteSize = ByteSize(256 << 20),
        "limits.decoded_body_bytes", "limits-decoded-body-bytes";
    /// Memory for all request bodies together; beyond it writes wait up to 2 s and are then
    /// refused.
    limits_pending_body_bytes: ByteSize = ByteSize(512 << 20),
        "limits.pending_body_bytes", "limits-pending-body-bytes";
    /// Memory for the texts of all questions that are read, wait or run together, and what is made
    /// of them when they are read; beyond it questions wait up to 2 s and are then refused. A text
    /// counts for 16 bytes a byte, and for more where it has commas and signs.
    limits_pending_query_bytes: ByteSize = ByteSize(512 << 20),
        "limits.pending_query_bytes", "limits-pending-query-bytes";
    /// Connections open at once; further ones are closed at once.
    limits_connections: u64 = 8192, "limits.connections", "limits-connections";
    /// Connections open at once from one address (of IPv6, from one /64); further ones are closed.
    limits_connections_per_address: u64 = 4096,
        "limits.connections_per_address", "limits-connections-per-address";
    /// How long a telnet or line connection may send nothing.
    limits_connection_idle: Duration = Duration::from_secs(600),
        "limits.connection_idle", "limits-connection-idle";
    /// How long a line of such a connection may take from its first byte to its end.
    limits_line_time: Duration = Duration::from_secs(60), "limits.line_time", "limits-line-time";
    /// Queries that run at once; others wait for their turn.
    limits_queries: u64 = 8, "limits.queries", "limits-queries";
    /// Queries that may wait for their turn; further ones are refused.
    limits_queries_waiting: u64 = 1000, "limits.queries_waiting", "limits-queries-waiting";
    /// How long a query waits for its turn before it is refused.
    limits_query_wait: Duration = Duration::from_secs(30), "limits.query_wait", "limits-query-wait";
    /// How long a question is tried where it is asked; one that takes longer begins again, on a
    /// thread of its own. Other connections of its loop wait so long at most.
    limits_query_brief: Duration = Duration::from_millis(4),
        "limits.query_brief", "limits-query-brief";
    /// Memory that one query may take.
    limits_query_memory_bytes: ByteSize = ByteSize(256 << 20),
        "limits.query_memory_bytes", "limits-query-memory-bytes";
    /// Bytes that one answer may have, before it is compressed.
    limits_answer_bytes: ByteSize = ByteSize(4 << 30), "limits.answer_bytes", "limits-answer-bytes";
    /// Time that one query may take, the client's reading included; of a request with several
    /// statements, all of them together.
    limits_query_seconds: Duration = Duration::from_secs(60),
        "limits.query_seconds", "limits-query-seconds";
    /// Work that one query may do, counted in samples: those that it reads, those that it looks at
    /// again, as PromQL's functions do at each instant; and a row that is made up for an empty
    /// window counts as ten. So it may be more than the samples read that an answer tells.
    limits_query_samples: u64 = 1_000_000_000, "limits.query_samples", "limits-query-samples";
    /// Largest answer of a target that is scraped, unpacked; a `body_size_limit` may say less.
    limits_scrape_body_bytes: ByteSize = ByteSize(64 << 20),
        "limits.scrape_body_bytes", "limits-scrape-body-bytes";
    /// Memory for what targets, lists of targets and Alertmanagers answer, and for what is
    /// remembered of targets, all together. Clients have theirs in `limits.pending_body_bytes`.
    limits_scrape_bytes: ByteSize = ByteSize(512 << 20),
        "limits.scrape_bytes", "limits-scrape-bytes";
    /// Samples that one scrape may have; a `sample_limit` may say less.
    limits_scrape_samples: u64 = 1_000_000, "limits.scrape_samples", "limits-scrape-samples";
    /// Memory for exemplars, of which the newest are kept; `0B` keeps none.
    limits_exemplar_bytes: ByteSize = ByteSize(32 << 20),
        "limits.exemplar_bytes", "limits-exemplar-bytes";
    /// Memory for what statsd's datagrams said since it was stored last; beyond it new series and
    /// values are refused.
    limits_statsd_bytes: ByteSize = ByteSize(32 << 20),
        "limits.statsd_bytes", "limits-statsd-bytes";
    /// Targets that are scraped, of all jobs together; further ones are not.
    limits_scrape_targets: u64 = 10_000, "limits.scrape_targets", "limits-scrape-targets";
    /// Names that a search of the page's catalogue looks at; where there are more, the answer says
    /// that it may not be whole.
    limits_names_searched: u64 = 200_000, "limits.names_searched", "limits-names-searched";
    /// Databases that there may be; a further one is not made.
    limits_databases: u64 = 10_000, "limits.databases", "limits-databases";
    /// Retention policies, of all databases together; a further one is not made.
    limits_policies: u64 = 20_000, "limits.policies", "limits-policies";
    /// Continuous queries, of all databases together; a further one is not made.
    limits_continuous_queries: u64 = 1_000,
        "limits.continuous_queries", "limits-continuous-queries";
    /// Users; a further one is not made.
    limits_users: u64 = 10_000, "limits.users", "limits-users";
    /// Tokens, ended ones that nobody has revoked among them; a further one is not made.
    limits_tokens: u64 = 10_000, "limits.tokens", "limits-tokens";
    /// Largest footer of a Parquet file that `foliot import` reads: one of a thousand columns and a
    /// thousand groups has about as many bytes.
    limits_parquet_footer_bytes: ByteSize = ByteSize(256 << 20),
        "limits.parquet_footer_bytes", "limits-parquet-footer-bytes";
    /// Memory for the pages of a Parquet file that `foliot import` reads side by side. Pages have a
    /// megabyte as a rule; some writers put a whole group into one.
    limits_parquet_pages_bytes: ByteSize = ByteSize(512 << 20),
        "limits.parquet_pages_bytes", "limits-parquet-pages-bytes";
    /// Names of labels that `foliot export` makes columns of, as Parquet and as CSV.
    limits_parquet_labels: u64 = 1_000, "limits.parquet_labels", "limits-parquet-labels";
    /// Longest row of a CSV file that `foliot import` reads, which is held in memory; a longer one
    /// is refused.
    limits_csv_row_bytes: ByteSize = ByteSize(16 << 20),
        "limits.csv_row_bytes", "limits-csv-row-bytes";
    /// Whether a write to an unknown InfluxDB database creates it.
    influx_auto_create_database: bool = true,
        "influx.auto_create_database", "influx-auto-create-database";
    /// Windows of `GROUP BY time` that one InfluxQL statement may ask for; 0 means any number.
    influx_buckets_max: u64 = 0, "influx.buckets_max", "influx-buckets-max";
    /// Series that one InfluxQL statement may read of a measurement; 0 means any number.
    influx_series_max: u64 = 0, "influx.series_max", "influx-series-max";
    /// Whether OpenTSDB queries may delete what they answer (`DELETE /api/query`, or `delete` in a
    /// query), and Prometheus' `delete_series` what it selects.
    opentsdb_allow_delete: bool = false, "opentsdb.allow_delete", "opentsdb-allow-delete";
    /// Whether a question of OpenTSDB's paths for a metric, tag or tag value that nothing stored
    /// has is answered with no series, as dashboards for several servers want it, and not with
    /// OpenTSDB's 400.
    opentsdb_unknown_is_empty: bool = false,
        "opentsdb.unknown_is_empty", "opentsdb-unknown-is-empty";
    /// Rollups that are kept, in the JSON of OpenTSDB's `tsd.rollups.config`: `intervals` and
    /// `aggregationIds`. Tables become retention policies of the database. Downsampled questions
    /// that an interval fits are then answered from its table. Empty means none.
    opentsdb_rollups: RollupTables = RollupTables::default(),
        "opentsdb.rollups", "opentsdb-rollups";
    /// Whether PromQL knows what Prometheus calls experimental: more functions and aggregations,
    /// lengths of time that are calculated, and series that keep their names until an expression is
    /// answered.
    promql_experimental: bool = false, "promql.experimental", "promql-experimental";
    /// Names of this server that requests may use in `Host`, beside addresses, `localhost` and the
    /// machine's own name, separated by commas; `*` means any. A web page whose name is turned to
    /// this server's address is kept out by this.
    http_hosts: Words = Words(Vec::new()), "http.hosts", "http-hosts";
    /// Whether GET may change something where the protocol allows it: InfluxQL statements,
    /// OpenTSDB's `method_override`, questions with `delete`, UIDs, the log's level.
    http_changes_by_get: bool = false, "http.changes_by_get", "http-changes-by-get";
    /// Origins whose web pages may use the HTTP APIs from a browser, such as
    /// `https://dashboards.example`, separated by commas; `*` means all. Other pages may not write,
    /// and none may read across origins when this is empty.
    http_cors_domains: Words = Words(Vec::new()), "http.cors_domains", "http-cors-domains";
    /// Request headers that such pages may send, separated by commas.
    http_cors_headers: Plain = Plain(CORS_HEADERS.to_owned()),
        "http.cors_headers", "http-cors-headers";
    /// File of Prometheus' configuration: its targets are scraped and its rules followed, and what
    /// comes of that goes to `listen.database`. Empty means none. SIGHUP reads it again.
    prometheus_config: Plain = Plain(String::new()), "prometheus.config", "prometheus-config";
    /// URL under which others reach this server, as alerts name it; empty means the machine's name
    /// and the port of `listen.address`.
    prometheus_external_url: Plain = Plain(String::new()),
        "prometheus.external_url", "prometheus-external-url";
    /// How old the state of an alert may be that is taken over after a restart (Prometheus'
    /// `rules.alert.for-outage-tolerance`).
    prometheus_for_outage_tolerance: Duration = Duration::from_secs(3600),
        "prometheus.for_outage_tolerance", "prometheus-for-outage-tolerance";
    /// How long a pending alert waits at least after a restart; those whose `for` is shorter begin
    /// anew (Prometheus' `rules.alert.for-grace-period`).
    prometheus_for_grace_period: Duration = Duration::from_secs(600),
        "prometheus.for_grace_period", "prometheus-for-grace-period";
    /// How long it is until an alert that fires is told to Alertmanagers again (Prometheus'
    /// `rules.alert.resend-delay`).
    prometheus_resend_delay: Duration = Duration::from_secs(60),
        "prometheus.resend_delay", "prometheus-resend-delay";
    /// How often what statsd's datagrams said is stored.
    statsd_interval: Duration = Duration::from_secs(10), "statsd.interval", "statsd-interval";
    /// MQTT broker to subscribe at, or `off`.
    mqtt_broker: HostPort = HostPort(None), "mqtt.broker", "mqtt-broker";
    /// Whether the broker is spoken to under TLS.
    mqtt_tls: bool = false, "mqtt.tls", "mqtt-tls";
    /// File of certificates, as PEM, one of which must have signed the broker's; empty means those
    /// that the system trusts.
    mqtt_ca: Plain = Plain(String::new()), "mqtt.ca", "mqtt-ca";
    /// Topics to subscribe to, separated by commas; their messages hold put lines, Influx lines or
    /// JSON points, what `mqtt.templates` says, or under `spBv1.0/` payloads of Sparkplug B.
    mqtt_topics: Words = Words(Vec::new()), "mqtt.topics", "mqtt-topics";
    /// What messages of devices mean that hold a bare number, `on` or `off`, or a JSON object of
    /// their own: `topic=measurement`, separated by commas, where a level in braces is a label. A
    /// level `{measurement}` names the measurement, `{field}` the field of a bare number. The first
    /// that fits a topic counts.
    mqtt_templates: Templates = Templates(Vec::new()), "mqtt.templates", "mqtt-templates";
    /// Whether an edge node of Sparkplug is asked for its births, by its `NCMD`, when a message of
    /// it needs one that was not heard: once a minute at most.
    mqtt_rebirth: bool = true, "mqtt.rebirth", "mqtt-rebirth";
    /// Name under which the broker knows this client and keeps what it has not yet had.
    mqtt_client_id: Plain = Plain("foliot".to_owned()), "mqtt.client_id", "mqtt-client-id";
    /// User at the broker; empty means none.
    mqtt_user: Plain = Plain(String::new()), "mqtt.user", "mqtt-user";
    /// Password of the user at the broker.
    mqtt_password: Secret = Secret(String::new()), "mqtt.password", "mqtt-password";
    /// Whether the machine that Foliot runs on is measured and stored too (`proc.*`, `df.*`,
    /// `iostat.*`, and Foliot's own figures as `foliot.*`).
    agent_host: bool = false, "agent.host", "agent-host";
    /// Time between two measurements of the host.
    agent_interval: Duration = Duration::from_secs(10), "agent.interval", "agent-interval";
    /// What is written to standard error: `error`, `warn`, `info`, `debug`, `trace` or `off`.
    log_level: log::LevelFilter = log::LevelFilter::Info, "log.level", "log-level";
    /// How a line of the log is written: `text`, or `json` for an object with `time`, `level`,
    /// `target`, `thread` and `message`.
    log_format: LogFormat = LogFormat::Text, "log.format", "log-format";
}

impl Config {
    /// The same settings cut to fit `available_bytes` of memory, or what `limits.memory_bytes`
    /// says. All shares together are what the program itself leaves of it.
    pub fn fit(mut self, available_bytes: Option<u64>) -> Self {
        let Some(memory) = self.shared_bytes(available_bytes) else { return self };
        self.limits_registry_bytes.0.get_or_insert(memory / 8 * 3);
        for (_, value, share) in self.shares(memory) {
            value.0 = value.0.min(share);
        }
        self
    }

    /// Memory that is shared out.
    fn shared_bytes(&self, available_bytes: Option<u64>) -> Option<u64> {
        let memory = self.limits_memory_bytes.0.or(available_bytes)?;
        Some(memory.max(MEMORY_BYTES_MIN) - PROGRAM_BYTES)
    }

    /// What [`Config::fit`] cuts, a sentence for each setting.
    pub fn cuts(&self, available_bytes: Option<u64>) -> Vec<String> {
        let Some(memory) = self.shared_bytes(available_bytes) else { return Vec::new() };
        let mut asked = self.clone();
        let cut = asked.shares(memory).into_iter().filter(|(_, value, share)| value.0 > *share);
        let told = cut.map(|(key, _, share)| {
            let cut = ByteSize(share).rounded();
            format!("{key} is cut to {cut} to fit the memory (limits.memory_bytes)")
        });
        told.collect()
    }

    /// The settings that take shares of `memory` bytes, with the most that each may be.
    fn shares(&mut self, memory: u64) -> [(&'static str, &mut ByteSize, u64); 9] {
        // The head may grow to four times its setting while the disk cannot keep up.
        [
            ("head.bytes", &mut self.head_bytes, memory / 32),
            ("cache.bytes", &mut self.cache_bytes, memory / 16),
            ("merge.bytes", &mut self.merge_bytes, memory / 16),
            ("limits.pending_body_bytes", &mut self.limits_pending_body_bytes, memory / 8),
            ("limits.pending_query_bytes", &mut self.limits_pending_query_bytes, memory / 32),
            ("limits.scrape_bytes", &mut self.limits_scrape_bytes, memory / 16),
            ("limits.exemplar_bytes", &mut self.limits_exemplar_bytes, memory / 64),
            ("limits.statsd_bytes", &mut self.limits_statsd_bytes, memory / 64),
            (
                "limits.query_memory_bytes",
                &mut self.limits_query_memory_bytes,
                memory / 8 / self.limits_queries.max(1),
            ),
        ]
    }
}

#[cfg(test)]
mod tests;
