//! `/api/stats` and what is below it, and `/logs`: what the server knows of itself, in the shapes
//! that OpenTSDB's clients expect.

use super::{Call, Reply, refuse_with};
use crate::http::set_log_level;
use crate::logging;
use crate::metrics::now_s;
use crate::shared::Shared;
use foliot_access::Principal;
use foliot_proto_opentsdb::{Params, stat_json};
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

/// The body of `/api/stats` and of what is below it.
pub(super) fn figures(shared: &Shared, call: &Call) -> Result<String, Reply> {
    let path = call.path.to_ascii_lowercase();
    match path.trim_end_matches('/').rsplit('/').next() {
        Some("stats") => Ok(all(shared)),
        Some("query") => Ok(queries(shared, &call.who).to_string()),
        Some("jvm") => Ok(process(shared).to_string()),
        Some("threads") => Ok(threads().to_string()),
        // There is no HBase, so there are no clients of its regions.
        Some("region_clients") => Ok("[]".to_owned()),
        _ => Err(refuse_with(StatusCode::NOT_FOUND, "Endpoint not found")),
    }
}

fn all(shared: &Shared) -> String {
    let now_s = now_s();
    let mut figures = Vec::new();
    shared.visit_figures(&mut |figure| {
        let name = figure.name.replace('_', ".");
        let (value, host) = (figure.value as u64, &shared.build.host);
        figures.push(stat_json(&name, now_s, value, figure.labels, host));
    });
    format!("[{}]", figures.join(","))
}

/// The queries that run, and the last ones that did, newest last.
fn queries(shared: &Shared, who: &Principal) -> Value {
    let now_ms = now_s() * 1000;
    let running = shared.queries.list(who).into_iter().map(|query| {
        let millis = query.runs_for.as_millis() as i64;
        json!({
            "query": query.title.text,
            "database": query.title.database,
            "queryStart": now_ms - millis,
            "elapsed": millis,
        })
    });
    let ended = shared.queries.ended().into_iter().map(|query| {
        let status = StatusCode::from_u16(query.status).ok();
        let figures = query.figures.iter().map(|(name, value)| ((*name).to_owned(), json!(value)));
        json!({
            "query": query.text,
            "remote": query.from.map(|from| from.to_string()).unwrap_or_default(),
            "executed": query.count,
            "exception": query.error,
            "httpResponse": {
                "code": query.status,
                "reasonPhrase": status.and_then(|status| status.canonical_reason()),
            },
            "queryStartTimestamp": query.began_ms,
            "queryCompletedTimestamp": query.ended_ms,
            "sentToClient": query.error.is_none(),
            "stats": figures.collect::<Map<_, _>>(),
        })
    });
    json!({"running": running.collect::<Vec<_>>(), "completed": ended.collect::<Vec<_>>()})
}

/// What OpenTSDB says of its Java machine, said of this process.
fn process(shared: &Shared) -> Value {
    let mut found = Map::new();
    shared.visit_figures(&mut |figure| {
        if figure.name.starts_with("process_") {
            found.insert(figure.name.to_owned(), json!(figure.value));
        }
    });
    let number = |name: &str| found.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let memory =
        |bytes: f64| json!({"init": 0, "used": bytes as u64, "committed": bytes as u64, "max": -1});
    let resident = number("process_resident_memory_bytes");
    let uptime_ms = shared.began.elapsed().as_millis() as u64;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().and_then(|text| text.parse::<f64>().ok());
    json!({
        "runtime": {
            "startTime": (number("process_start_time_seconds") * 1000.0) as u64,
            "uptime": uptime_ms,
            "vmName": "Foliot",
            "vmVendor": "Foliot",
            "vmVersion": shared.build.version,
        },
        "memory": {
            "heapMemoryUsage": memory(resident),
            "nonHeapMemoryUsage": memory(0.0),
            "objectsPendingFinalization": 0,
        },
        "gc": {},
        "pools": {},
        "os": {"systemLoadAverage": load.unwrap_or(-1.0)},
    })
}

/// The process's threads, with Java's names of their states.
fn threads() -> Value {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let threads = tasks.filter_map(|task| {
        let stat = std::fs::read_to_string(task.path().join("stat")).ok()?;
        // The name stands in parentheses and may hold any byte.
        let (head, rest) = stat.rsplit_once(')')?;
        let (id, name) = head.split_once(" (")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        let state = match fields.first().copied()? {
            "R" => "RUNNABLE",
            "D" => "BLOCKED",
            "Z" | "X" => "TERMINATED",
            _ => "WAITING",
        };
        let priority = fields.get(15).and_then(|text| text.parse::<i64>().ok());
        Some(json!({
            "threadID": id.parse::<u64>().ok()?,
            "name": name,
            "state": state,
            "interrupted": false,
            "priority": priority,
            "stack": [],
        }))
    });
    Value::Array(threads.collect())
}

/// The newest lines of the log, newest first.
pub(super) fn log_lines() -> String {
    let mut out = String::new();
    for line in logging::recent() {
        let logging::Recent { time_s, level, thread, target, message } = line;
        // Writing to memory cannot fail.
        let _ = writeln!(out, "{time_s}\t{level}\t{thread}\t{target}\t{message}");
    }
    out
}

/// `/logs`: the log, or another level of it.
pub(super) fn log(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    let plain = |text: String| Ok(Reply::new(StatusCode::OK, crate::http::PLAIN, text));
    let Some(level) = params.get("level") else { return plain(log_lines()) };
    if !call.is_trusted {
        let text = "scripts of other web pages may not change the log";
        return Err(refuse_with(StatusCode::FORBIDDEN, text));
    }
    let bad = |what: &str, name: &str| {
        Err(refuse_with(StatusCode::BAD_REQUEST, format!("Invalid {what}: {name}")))
    };
    let filter = match level.to_ascii_uppercase().as_str() {
        "ALL" => log::LevelFilter::Trace,
        text => match text.parse() {
            Ok(filter) => filter,
            Err(_) => return bad("level", level),
        },
    };
    // There is one logger.
    if let Some(logger) = params.get("logger").filter(|name| !matches!(*name, "ROOT" | "foliot")) {
        return bad("logger", logger);
    }
    set_log_level(shared, filter, &call.caller("opentsdb"))?;
    plain(format!("Set the log level to {filter} on 1 logger.\n"))
}
