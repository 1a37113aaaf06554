//! `audit`: what took samples away at somebody's word, or changed who may do what, from the audit
//! log. The log stays on the disk; of each of its files the end is told.

use super::{limit, refuse, store};
use crate::aside::aside;
use crate::http::{Call, Reply, status_of};
use crate::shared::Shared;
use foliot_model::NANOS_PER_MILLI;
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use serde_json::{Map, Value, json};

/// Lines of an answer.
const LINES_MAX: usize = 1_000;
const LINES_USUAL: usize = 200;

/// Instants of a line, each with what it is called here: numbers in nanoseconds lose digits on
/// their way to many readers.
const TIMES: [(&str, &str); 5] = [
    ("time_ns", "at_ms"),
    ("first_ns", "first_ms"),
    ("last_ns", "last_ms"),
    ("known_ns", "known_ms"),
    ("clock_ns", "clock_ms"),
];

pub(super) fn list(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    let limit = limit(&Params::parse(&call.query), LINES_USUAL, LINES_MAX)?;
    let engine = store(shared)?.engine();
    let read = aside(|| engine.audited(limit));
    let (lines, is_whole) = read.map_err(|error| refuse(status_of(&error), &error.to_string()))?;
    let acts: Vec<Value> = lines.iter().filter_map(|line| row(line)).collect();
    Ok(Reply::json(StatusCode::OK, json!({"acts": acts, "is_whole": is_whole}).to_string()))
}

/// A line as it stands in the log, with times in milliseconds; one that was cut off tells nothing.
fn row(line: &str) -> Option<Value> {
    let told: Map<String, Value> = serde_json::from_str(line).ok()?;
    let member = |(name, value): (String, Value)| {
        let Some((_, called)) = TIMES.iter().find(|(of_log, _)| *of_log == name) else {
            return (name, value);
        };
        let time_ns = value.as_i64().filter(|time_ns| ![i64::MIN, i64::MAX].contains(time_ns));
        let time_ms = time_ns.map(|time_ns| time_ns.div_euclid(NANOS_PER_MILLI));
        ((*called).to_owned(), json!(time_ms))
    };
    Some(Value::Object(told.into_iter().map(member).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_as_they_stand_with_times_that_every_reader_can_read() {
        let line = r#"{"time_ns":1763784000123456789,"door":"foliot","from":"","act":"delete","first_ns":-9223372036854775808,"last_ns":-1,"samples":3}"#;
        let told = json!({
            "at_ms": 1_763_784_000_123_i64,
            "door": "foliot",
            "from": "",
            "act": "delete",
            "first_ms": null,
            "last_ms": -1,
            "samples": 3,
        });
        assert_eq!(row(line), Some(told));
        assert_eq!(row(r#"{"time_ns":17637840"#), None);
    }
}
