//! `history`: the last day, a moment each minute.

use crate::history::Moment;
use crate::http::Reply;
use crate::shared::Shared;
use hyper::StatusCode;
use serde_json::{Value, json};

pub(super) fn answer(shared: &Shared) -> Reply {
    let row = |moment: Moment| {
        json!({
            "at_ms": moment.at_ms,
            "samples": moment.samples,
            "rejected": moment.rejected,
            "disk_bytes": moment.disk_bytes,
            "series": moment.series,
            "memory_bytes": moment.memory_bytes,
        })
    };
    let moments: Vec<Value> = shared.history.list().into_iter().map(row).collect();
    Reply::json(StatusCode::OK, json!({"moments": moments}).to_string())
}
