//! `settings`: what is set, to what, and where that came from; `logs`: what the server said last.

use super::limit;
use crate::config::Told;
use crate::http::{Call, Reply};
use crate::logging::{self, Recent};
use crate::shared::Shared;
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use serde_json::{Value, json};

/// Lines that one request lists, and how many unless it says.
const LINES_MAX: usize = 1_024;
const LINES_USUAL: usize = 200;

pub(super) fn list(shared: &Shared) -> Reply {
    let row = |setting: &Told| {
        json!({
            "name": setting.name,
            "value": setting.value,
            "origin": setting.origin,
            "is_default": setting.origin == "default",
            "help": setting.help,
        })
    };
    let settings: Vec<Value> = shared.settings.iter().map(row).collect();
    Reply::json(StatusCode::OK, json!({"settings": settings}).to_string())
}

pub(super) fn logs(call: &Call) -> Result<Reply, Reply> {
    let limit = limit(&Params::parse(&call.query), LINES_USUAL, LINES_MAX)?;
    let row = |line: Recent| {
        json!({
            "at_ms": line.time_s.saturating_mul(1_000),
            "level": line.level.as_str().to_ascii_lowercase(),
            "target": line.target,
            "message": line.message,
        })
    };
    let lines: Vec<Value> = logging::recent().into_iter().take(limit).map(row).collect();
    Ok(Reply::json(StatusCode::OK, json!({"lines": lines}).to_string()))
}
