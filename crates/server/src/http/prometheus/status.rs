//! What Prometheus tells of itself, where that means something here.

use super::super::Reply;
use super::Endpoint;
use super::ask::LOOKBACK_MS;
use crate::config::KEYS;
use crate::shared::Shared;
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
        Endpoint::BuildInfo => json!({
            "version": PROMETHEUS,
            "revision": shared.build.revision,
            "application": format!("Foliot {}", shared.build.version),
        }),
        _ => json!({}),
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

fn flags(shared: &Shared) -> Value {
    let show = |name: &str| {
        let key = KEYS.iter().find(|key| key.name == name);
        key.map_or_else(String::new, |key| (key.show)(&shared.config))
    };
    let mut flags: Map<String, Value> =
        FLAGS.iter().map(|(flag, name)| ((*flag).to_owned(), show(name).into())).collect();
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
    })
}
