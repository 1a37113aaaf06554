//! InfluxDB 2's account: who asks, and the one organisation there is.

use super::buckets::{found, refuse};
use crate::http::{Call, Reply};
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use serde_json::{Value, json};

pub(super) const ORG_ID: &str = "0000000100000000";
const ORG_NAME: &str = "foliot";

/// What is shown of those who are asked for no name.
const NOBODYS_NAME: &str = "foliot";

/// The organisation, which answers to every name but has one number.
///
/// # Errors
/// When another number is asked for.
pub(super) fn orgs(params: &Params) -> Result<Reply, Reply> {
    if params.get("orgID").is_some_and(|id| id != ORG_ID) {
        return Err(no_such_org());
    }
    let org = org_called(params.get("org").unwrap_or(ORG_NAME));
    Ok(found(&json!({"links": {"self": "/api/v2/orgs"}, "orgs": [org]})))
}

/// The organisation of this number.
///
/// # Errors
/// When it is another number than the one.
pub(super) fn org(id: &str) -> Result<Reply, Reply> {
    match id == ORG_ID {
        true => Ok(found(&org_called(ORG_NAME))),
        false => Err(no_such_org()),
    }
}

fn org_called(name: &str) -> Value {
    json!({"id": ORG_ID, "name": name, "description": "", "links": {
        "self": format!("/api/v2/orgs/{ORG_ID}"), "buckets": format!("/api/v2/buckets?org={name}")}})
}

fn no_such_org() -> Reply {
    let text = format!("organization not found; there is one, its number is {ORG_ID}");
    refuse(StatusCode::NOT_FOUND, &text)
}

/// Whoever asks.
pub(super) fn me(call: &Call) -> Reply {
    let name = Some(call.who.name()).filter(|name| !name.is_empty()).unwrap_or(NOBODYS_NAME);
    let id = number_of(name);
    found(&json!({"id": id, "name": name, "status": "active",
        "links": {"self": format!("/api/v2/users/{id}")}}))
}

/// The number that a user is known by: the same for a name every time, and not zero, which clients
/// take for none (FNV-1a, G. Fowler, L. C. Noll, K.-P. Vo).
fn number_of(name: &str) -> String {
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{:016x}", hash.max(1))
}
