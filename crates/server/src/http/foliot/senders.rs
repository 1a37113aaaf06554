//! `senders`: who sends what, by protocol and address.

use super::limit;
use crate::http::{Call, Reply};
use crate::senders::{From, SENDERS_MAX, Sent};
use crate::shared::Shared;
use foliot_model::NANOS_PER_MILLI;
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Senders that are listed unless a request says how many.
const SENDERS_USUAL: usize = 100;

/// Those that sent most samples, or by `by=series` those that made most series.
pub(super) fn list(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    let limit = limit(&params, SENDERS_USUAL, 2 * SENDERS_MAX)?;
    let rank: fn(&Sent) -> u64 = match params.get("by").unwrap_or("samples") {
        "samples" => |sent| sent.samples,
        "series" => |sent| sent.new_series,
        "refused" => |sent| sent.refused,
        _ => return Err(super::bad("by: must be samples, series or refused")),
    };
    let mut all = shared.senders.list();
    all.sort_by_key(|(way, _, sent)| (Reverse(rank(sent)), *way));
    let total = all.len();
    let row = |(protocol, from, sent): (&str, From, Sent)| {
        let (from, address) = from.told();
        json!({
            "protocol": protocol,
            "from": from,
            "address": address,
            "rows": sent.rows,
            "samples": sent.samples,
            "bytes": sent.bytes,
            "refused": sent.refused,
            "new_series": sent.new_series,
            "last_ms": sent.last_ns / NANOS_PER_MILLI,
        })
    };
    let senders: Vec<Value> = all.into_iter().take(limit).map(row).collect();
    let answer = json!({"is_whole": senders.len() == total, "senders": senders, "total": total});
    Ok(Reply::json(StatusCode::OK, answer.to_string()))
}
