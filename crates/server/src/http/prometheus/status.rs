//! What Prometheus tells of itself, where that means something here.

use super::super::Reply;
use super::Endpoint;
use crate::shared::Shared;
use foliot_proto_prometheus::success;
use hyper::StatusCode;
use serde_json::{Value, json};
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
        Endpoint::BuildInfo => json!({
            "version": PROMETHEUS,
            "revision": shared.build.revision,
            "application": format!("Foliot {}", shared.build.version),
        }),
        _ => json!({}),
    };
    Reply::json(StatusCode::OK, success(&data))
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
