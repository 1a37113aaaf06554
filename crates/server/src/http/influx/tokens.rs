//! InfluxDB 2's authorizations: tokens of a running server, for administrators.

use super::account::ORG_ID;
use super::buckets::{find, refuse};
use crate::aside::aside;
use crate::http::routes::Target;
use crate::http::{Call, Reply, body, store};
use crate::metrics::now_ns;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::{Access, Grant, Need, NewToken, Refused, Rights, Token};
use foliot_engine::Caller;
use hyper::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

/// Lists tokens, makes one, or ends one.
///
/// # Errors
/// The refusal.
pub(super) async fn answer(
    shared: &Arc<Shared>,
    target: Target,
    call: Call,
) -> Result<Reply, Reply> {
    let store = store(shared)?;
    if !call.who.may(Need::Administer) {
        return Err(refuse(StatusCode::FORBIDDEN, "insufficient permissions"));
    }
    let caller = call.caller("influx v2");
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    let id = call.path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    aside(|| match (target, call.method.as_str()) {
        (Target::InfluxTokens, "POST") => create(shared, store, &text.bytes, &caller),
        (Target::InfluxTokens, _) => Ok(list(shared, store)),
        _ => revoke(shared, store, id, &caller),
    })
}

fn list(shared: &Shared, store: &Store) -> Reply {
    let all = shared.gate.tokens(store.engine());
    let all: Vec<Value> = all.iter().map(describe).collect();
    let links = json!({"self": "/api/v2/authorizations"});
    let found = json!({"links": links, "authorizations": all});
    Reply::json(StatusCode::OK, found.to_string())
}

fn create(shared: &Shared, store: &Store, body: &[u8], caller: &Caller) -> Result<Reply, Reply> {
    let bad = |text: &str| refuse(StatusCode::BAD_REQUEST, text);
    let asked: Value = serde_json::from_slice(body).map_err(|error| bad(&error.to_string()))?;
    let name = asked.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let lasts_s = asked.get("expiresInSeconds").and_then(Value::as_i64);
    let now_ns = now_ns();
    let expires_ns =
        lasts_s.map(|lasts_s| now_ns.saturating_add(lasts_s.saturating_mul(1_000_000_000)));
    let rights = rights(store, &asked).map_err(bad)?;
    let new = NewToken { name, expires_ns, rights };
    let engine = store.engine();
    let made = match shared.gate.create_token(engine, new, now_ns, caller) {
        Err(error @ Refused::Enough(..)) => {
            return Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()));
        }
        made => made,
    };
    let text = made
        .map_err(|error| error.to_string())
        .and_then(|text| match engine.wait(engine.written(), shared.config.wal_ack) {
            Ok(_) => Ok(text),
            Err(error) => Err(error.to_string()),
        })
        .map_err(|error| refuse(StatusCode::INTERNAL_SERVER_ERROR, &error))?;
    let found = shared.gate.token(engine, &text);
    let mut answer = found.as_ref().map_or(Value::Null, describe);
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("token".to_owned(), Value::from(text));
    }
    Ok(Reply::json(StatusCode::CREATED, answer.to_string()))
}

fn revoke(shared: &Shared, store: &Store, id: &str, caller: &Caller) -> Result<Reply, Reply> {
    let engine = store.engine();
    let failed = |error: String| refuse(StatusCode::INTERNAL_SERVER_ERROR, &error);
    let was = shared.gate.revoke_token(engine, id, caller);
    if !was.map_err(|error| failed(error.to_string()))? {
        return Err(refuse(StatusCode::NOT_FOUND, "authorization not found"));
    }
    let safe = engine.wait(engine.written(), shared.config.wal_ack);
    safe.map_err(|error| failed(error.to_string()))?;
    Ok(Reply::empty(StatusCode::NO_CONTENT))
}

/// The rights that `permissions` list. A resource is a bucket, by id or by name, or all of them;
/// `measurements` narrows it. `operator` and `admin` are resources of their own.
fn rights(store: &Store, asked: &Value) -> Result<Rights, &'static str> {
    const NONE: &str = "permissions must list at least one action on a resource";
    let mut rights = Rights::default();
    let permissions = asked.get("permissions").and_then(Value::as_array).ok_or(NONE)?;
    for permission in permissions {
        let text =
            |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let resource = permission.get("resource").ok_or(NONE)?;
        match text(resource, "type").as_deref() {
            Some("buckets") => {}
            Some("operator") => {
                rights.is_operator = true;
                continue;
            }
            Some("admin") => {
                rights.is_admin = true;
                continue;
            }
            _ => return Err("resources are buckets, operator and admin"),
        }
        let access = match text(permission, "action").as_deref() {
            Some("read") => Access::Read,
            Some("write") => Access::Write,
            _ => return Err("actions are read and write"),
        };
        let database = match (text(resource, "id"), text(resource, "name")) {
            (Some(id), _) => find(store, &id).ok_or("bucket not found")?.database,
            (None, Some(name)) => name,
            (None, None) => "*".to_owned(),
        };
        let measurements = text(resource, "measurements").unwrap_or_else(|| "*".to_owned());
        rights.grants.push(Grant { database, measurements, access });
    }
    match rights == Rights::default() {
        true => Err(NONE),
        false => Ok(rights),
    }
}

fn describe(token: &Token) -> Value {
    let mut permissions = Vec::new();
    for (is_held, kind) in
        [(token.rights.is_admin, "admin"), (token.rights.is_operator, "operator")]
    {
        if is_held {
            permissions.push(json!({"action": "write", "resource": {"type": kind}}));
        }
    }
    for grant in &token.rights.grants {
        for (access, action) in [(Access::Read, "read"), (Access::Write, "write")] {
            if grant.access.includes(access) {
                permissions.push(json!({"action": action, "resource": {"type": "buckets",
                    "name": grant.database, "measurements": grant.measurements}}));
            }
        }
    }
    let is_active = token.expires_ns > now_ns();
    json!({
        "id": token.id, "orgID": ORG_ID, "description": token.name, "permissions": permissions,
        "status": if is_active { "active" } else { "inactive" },
        "links": {"self": format!("/api/v2/authorizations/{}", token.id)},
    })
}
