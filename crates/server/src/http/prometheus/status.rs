//! What Prometheus tells of itself, where that means something here.

use super::super::Reply;
use super::Endpoint;
use super::ask::LOOKBACK_MS;
use super::monitor::date;
use crate::config::KEYS;
use crate::machine::memory_bytes;
use crate::metrics::threads;
use crate::shared::Shared;
use foliot_engine::Replay;
use foliot_monitor::show_length;
use foliot_proto_prometheus::success;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::time::SystemTime;

/// The version of Prometheus whose language and paths these are. Clients take from it what they may
/// ask.
const PROMETHEUS: &str = "3.0.0";

pub(super) fn answer(shared: &Shared, endpoint: Endpoint) -> Reply {
    let data = match endpoint {
        Endpoint::Config => {
            let loaded = shared.monitor.loaded();
            json!({"yaml": loaded.map_or_else(String::new, |loaded| loaded.config.shown.clone())})
        }
        Endpoint::RuntimeInfo => runtime(shared),
        Endpoint::Flags => flags(shared),
        Endpoint::LogReplay => replay(shared),
        Endpoint::Notices => notices(shared),
        _ => build(shared),
    };
    Reply::json(StatusCode::OK, success(&data))
}

/// Flags of Prometheus and the settings that say the same.
const FLAGS: [(&str, &str); 14] = [
    ("config.file", "prometheus.config"),
    ("log.format", "log.format"),
    ("log.level", "log.level"),
    ("query.max-concurrency", "limits.queries"),
    ("query.max-samples", "limits.query_samples"),
    ("query.timeout", "limits.query_seconds"),
    ("rules.alert.for-grace-period", "prometheus.for_grace_period"),
    ("rules.alert.for-outage-tolerance", "prometheus.for_outage_tolerance"),
    ("rules.alert.resend-delay", "prometheus.resend_delay"),
    ("storage.tsdb.path", "data_dir"),
    ("storage.tsdb.retention.size", "retention.size"),
    ("storage.tsdb.retention.time", "retention.time"),
    ("web.enable-admin-api", "opentsdb.allow_delete"),
    ("web.listen-address", "listen.prometheus"),
];

/// A setting as it is written.
fn setting(shared: &Shared, name: &str) -> String {
    let key = KEYS.iter().find(|key| key.name == name);
    key.map_or_else(String::new, |key| (key.show)(&shared.config))
}

fn flags(shared: &Shared) -> Value {
    let flag = |(flag, name): &(&str, &str)| ((*flag).to_owned(), setting(shared, name).into());
    let mut flags: Map<String, Value> = FLAGS.iter().map(flag).collect();
    // Clients read them as a length and a size. As in Prometheus, 0 is no bound.
    let unbounded = [
        ("storage.tsdb.retention.time", "0s", shared.config.retention_time.0.is_none()),
        ("storage.tsdb.retention.size", "0B", shared.config.retention_size.0.is_none()),
    ];
    for (flag, none, is_unbounded) in unbounded {
        if is_unbounded {
            flags.insert(flag.to_owned(), none.into());
        }
    }
    let experimental =
        if shared.config.promql_experimental { "promql-experimental-functions" } else { "" };
    let others = [
        ("enable-feature", experimental.to_owned()),
        ("query.lookback-delta", show_length(LOOKBACK_MS.unsigned_abs())),
        ("web.enable-lifecycle", "true".to_owned()),
        ("web.enable-otlp-receiver", "true".to_owned()),
        ("web.enable-remote-write-receiver", "true".to_owned()),
        ("web.external-url", shared.monitor.external_url(shared)),
    ];
    flags.extend(others.map(|(flag, value)| (flag.to_owned(), value.into())));
    flags.into()
}

fn runtime(shared: &Shared) -> Value {
    let time = |time: Option<SystemTime>| {
        let time: Option<jiff::Timestamp> = time.and_then(|time| time.try_into().ok());
        time.unwrap_or_default().to_string()
    };
    let now = SystemTime::now();
    let began = time(now.checked_sub(shared.began.elapsed()));
    let read_ns = shared.monitor.loaded().map(|loaded| loaded.read_ns);
    let read_ns = read_ns.and_then(|ns| jiff::Timestamp::from_nanosecond(ns.into()).ok());
    let read = read_ns.map_or_else(|| began.clone(), |time| time.to_string());
    json!({
        "startTime": began,
        "serverTime": time(Some(now)),
        "lastConfigTime": read,
        "reloadConfigSuccess": shared.monitor.is_good(),
        "hostname": shared.build.host,
        "corruptionCount": 0,
        "CWD": std::env::current_dir().map_or_else(|_| String::new(), |it| it.display().to_string()),
        "goroutineCount": threads().unwrap_or_default(),
        "GOMAXPROCS": std::thread::available_parallelism().map_or(1, usize::from),
        "GOMEMLIMIT": shared.config.limits_memory_bytes.0.or_else(memory_bytes).unwrap_or_default(),
        // What says how a Go program collects its garbage says nothing here.
        "GOGC": "",
        "GODEBUG": "",
        "storageRetention": retention(shared),
    })
}

/// How long and how much is kept, where that is bounded.
fn retention(shared: &Shared) -> String {
    let config = &shared.config;
    let time = config.retention_time.0.map(|_| setting(shared, "retention.time"));
    let size = config.retention_size.0.map(|_| setting(shared, "retention.size"));
    time.into_iter().chain(size).collect::<Vec<_>>().join(" or ")
}

/// What an operator is told until it is mended.
fn notices(shared: &Shared) -> Value {
    let failed = shared.monitor.failed_ms().map(
        |ms| json!({"text": "Configuration reload has failed.", "date": date(ms), "active": true}),
    );
    failed.into_iter().collect()
}

/// How far the log was read, in bytes. Prometheus counts segments.
fn replay(shared: &Shared) -> Value {
    let Replay { read_bytes, total_bytes } = shared.opening.replay();
    let state = match (shared.store(), total_bytes) {
        (Some(_), _) => "done",
        (None, 0) => "waiting",
        (None, _) => "in progress",
    };
    json!({"min": 0, "max": total_bytes, "current": read_bytes, "state": state})
}

fn build(shared: &Shared) -> Value {
    let build = &shared.build;
    let built = jiff::Timestamp::from_second(build.built_s).unwrap_or_default();
    json!({
        "version": PROMETHEUS,
        "revision": build.revision,
        // Who built it and from which branch is not kept, and no Go was needed.
        "branch": "",
        "buildUser": "",
        "goVersion": "",
        "buildDate": built.strftime("%Y%m%d-%H:%M:%S").to_string(),
        "application": format!("Foliot {}", build.version),
    })
}
