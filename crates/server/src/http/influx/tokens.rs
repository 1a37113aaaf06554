//! InfluxDB 2's authorizations: tokens of a running server, for administrators.

use super::account::ORG_ID;
use super::buckets::{check_params, find, refuse};
use super::said::{Said, body_of, parse};
use crate::aside::aside;
use crate::http::routes::Target;
use crate::http::{Call, Reply, store};
use crate::metrics::now_ns;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::{Access, Grant, Need, NewToken, Refused, Rights, Token};
use foliot_engine::Caller;
use foliot_proto_opentsdb::Params;
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
    if call.method != "GET" {
        check_params(&Params::parse(&call.query), &[])?;
    }
    let (text, _weight) = body_of(shared, &call.headers, call.body).await?;
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
    let asked = parse(body)?;
    let said = Said::of(&asked, "the body", &MEMBERS)?;
    said.check("status", "active")?;
    let name = said.text("description")?.unwrap_or_default().to_owned();
    let now_ns = now_ns();
    let lasts_ns = said.seconds_ns("expiresInSeconds")?;
    let expires_ns = lasts_ns.map(|lasts_ns| now_ns.saturating_add(lasts_ns));
    let rights = rights(store, &said)?;
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

/// What the body that makes a token may say, and the parts of it.
const MEMBERS: [&str; 6] =
    ["description", "expiresInSeconds", "permissions", "status", "orgID", "userID"];
const PERMISSION_MEMBERS: [&str; 2] = ["action", "resource"];
const RESOURCE_MEMBERS: [&str; 6] = ["type", "id", "name", "measurements", "org", "orgID"];

/// The rights that `permissions` list. A resource is a bucket, by id or by name, or all of them;
/// `measurements` narrows it. `operator` and `admin` are resources of their own.
fn rights(store: &Store, said: &Said<'_>) -> Result<Rights, Reply> {
    let bad = |text: &str| refuse(StatusCode::BAD_REQUEST, text);
    let none = || bad("permissions must list at least one action on a resource");
    let mut rights = Rights::default();
    for permission in said.list("permissions")? {
        let permission = Said::of(permission, "a permission", &PERMISSION_MEMBERS)?;
        let resource = permission.value("resource").ok_or_else(none)?;
        let resource = Said::of(resource, "a resource", &RESOURCE_MEMBERS)?;
        let access = match permission.text("action")? {
            Some("read") => Some(Access::Read),
            Some("write") => Some(Access::Write),
            Some(_) => return Err(bad("actions are read and write")),
            None => None,
        };
        let kind = resource.text("type")?;
        let narrows = ["id", "name", "measurements"].iter().any(|name| resource.is_given(name));
        if narrows && kind != Some("buckets") {
            return Err(bad("id, name and measurements are of buckets: other resources are whole"));
        }
        match kind {
            Some("buckets") => {}
            Some("operator") => {
                rights.is_operator = true;
                continue;
            }
            Some("admin") => {
                rights.is_admin = true;
                continue;
            }
            _ => return Err(bad("resources are buckets, operator and admin")),
        }
        let access = access.ok_or_else(|| bad("actions are read and write"))?;
        let database = match (resource.text("id")?, resource.text("name")?) {
            (Some(id), name) => {
                let bucket = find(store, id).ok_or_else(|| bad("bucket not found"))?;
                if name.is_some_and(|name| name != bucket.database && name != bucket.name()) {
                    let text = format!("id and name disagree: {id} is {:?}", bucket.name());
                    return Err(bad(&text));
                }
                bucket.database
            }
            (None, Some(name)) => name.to_owned(),
            (None, None) => "*".to_owned(),
        };
        let measurements = resource.text("measurements")?.unwrap_or("*").to_owned();
        rights.grants.push(Grant { database, measurements, access });
    }
    match rights == Rights::default() {
        true => Err(none()),
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
