//! Keys of TickTock.

use super::Fate::{self, Becomes, Missing, Needless};
use super::{Given, Pairs, address};
use serde_json::Value;

const THREADS: &str = "threads are as many as there are processors";
const PAGES: &str = "files are laid out otherwise";
const MERGES: &str = "it happens by itself when it is due";

pub(super) const TABLE: &[(&str, Fate)] = &[
    (
        "ticktock.home",
        Becomes(|home, all| {
            let own = all.get("tsdb.data.dir").is_none();
            let dir = || ("data_dir", format!("{}/foliot", home.trim_end_matches('/')));
            Ok(own.then(dir).into_iter().collect())
        }),
    ),
    (
        "tsdb.data.dir",
        Becomes(|dir, _| Ok(vec![("data_dir", format!("{}/foliot", dir.trim_end_matches('/')))])),
    ),
    ("http.server.port", Becomes(listeners)),
    (
        "tcp.server.port",
        Becomes(|ports, all| match all.get("http.server.port") {
            // The ports of both kinds become one list.
            Some(_) => Ok(Vec::new()),
            None => listeners(ports, all),
        }),
    ),
    ("udp.server.enabled", Becomes(|flag, _| Ok(vec![("listen.udp", flag.to_owned())]))),
    ("udp.server.port", Needless("datagrams come on the numbers of listen.ticktock")),
    ("udp.", Needless(THREADS)),
    ("tcp.buffer.size", Becomes(|size, _| Ok(vec![("limits.body_bytes", bytes(size)?)]))),
    (
        "log.level",
        Becomes(|level, _| {
            let level = match level.to_ascii_uppercase().as_str() {
                "TRACE" => "trace",
                "DEBUG" | "TCP" | "HTTP" => "debug",
                "INFO" => "info",
                "WARN" => "warn",
                "ERROR" | "FATAL" => "error",
                _ => return Err(format!("'{level}' is no level")),
            };
            Ok(vec![("log.level", level.to_owned())])
        }),
    ),
    ("log.", Needless("the log goes to standard error")),
    ("mqtt.settings", Becomes(mqtt)),
    ("http.request.format", Needless("bodies are told apart by their first bytes")),
    ("http.", Needless(THREADS)),
    ("tcp.server.enabled", Missing(&["true"], "a listener takes every protocol")),
    ("tcp.connection.idle.timeout", Needless("dead connections are noticed, idle ones are kept")),
    ("tcp.", Needless(THREADS)),
    ("timer.", Needless(THREADS)),
    ("append.log.", Needless("every answered write is on stable storage")),
    ("config.reload.", Missing(&["false"], "settings are read at the start")),
    ("cluster.", Missing(&[""], "there are no partitions; TickTock ignores this, too")),
    ("stats.frequency", Needless("figures are at /metrics at any time")),
    ("ts.", Needless(PAGES)),
    ("tsdb.self_meter.enabled", Missing(&["false"], "see agent.host")),
    ("tsdb.self_meter.", Needless("see agent.host")),
    ("tsdb.retention.threshold", Becomes(keep)),
    ("tsdb.rollup.", Needless(MERGES)),
    ("tsdb.compact.", Needless(MERGES)),
    ("tsdb.flush.frequency", Needless(MERGES)),
    ("tsdb.gc.frequency", Needless(MERGES)),
    ("tsdb.timestamp.resolution", Needless("every timestamp keeps its own")),
    ("tsdb.timezone", Missing(&["UTC"], "times without a zone are in UTC")),
    ("tsdb.min.disk.space", Needless("a full disk refuses writes and stops nothing")),
    ("tsdb.max.dp.line", Needless("lines may have limits.line_bytes")),
    ("tsdb.", Needless(PAGES)),
];

/// How long samples are kept, in TickTock's units.
fn keep(text: &str, _: &Given<'_>) -> Result<Pairs, String> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let count = text.strip_suffix(unit).unwrap_or(text);
    let unit = match unit.trim() {
        _ if text.is_empty() => return Ok(Vec::new()),
        "s" | "sec" => "s",
        "min" => "m",
        "h" | "hour" => "h",
        "d" | "day" => "d",
        "w" | "week" => "w",
        _ => return Err(format!("'{text}' is no time such as 12h, 30d or 4w")),
    };
    Ok(vec![("retention.time", format!("{count}{unit}"))])
}

/// All ports of HTTP and TCP as one list.
fn listeners(_: &str, all: &Given<'_>) -> Result<Pairs, String> {
    let keys = ["http.server.port", "tcp.server.port"];
    let ports = keys.iter().filter_map(|key| all.get(key)).flat_map(|ports| ports.split(','));
    let ports = ports.filter(|port| !port.trim().is_empty());
    let list: Vec<String> = ports.map(|port| address(None, port)).collect::<Result<_, _>>()?;
    Ok(vec![("listen.ticktock", list.join(","))])
}

fn bytes(size: &str) -> Result<String, String> {
    let unit = size.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = size.strip_suffix(unit).unwrap_or(size);
    let unit = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => "",
        "kb" => "KiB",
        "mb" => "MiB",
        "gb" => "GiB",
        _ => return Err(format!("'{size}' is no size")),
    };
    Ok(format!("{digits}{unit}"))
}

/// One broker with its topics; formats are told apart by themselves.
fn mqtt(text: &str, _: &Given<'_>) -> Result<Pairs, String> {
    let brokers: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let broker = match brokers.as_array().map(Vec::as_slice) {
        Some([broker]) => broker,
        _ => return Err("there must be one broker".to_owned()),
    };
    let host = broker.get("broker").and_then(Value::as_str).ok_or("the broker has no name")?;
    let port = broker.get("port").and_then(Value::as_u64).unwrap_or(1883);
    let topics = broker.get("topics").and_then(Value::as_array).into_iter().flatten();
    let topics: Vec<&str> =
        topics.filter_map(|topic| topic.get("topic").and_then(Value::as_str)).collect();
    Ok(vec![("mqtt.broker", format!("{host}:{port}")), ("mqtt.topics", topics.join(","))])
}
