//! `saved`: questions and dashboards that people keep, in the store, by database. What they show is
//! an address of the page; whoever opens it sees what they may see.

use super::{alone, bad, body_of, confirm, listed, place, refuse, store};
use crate::http::{Call, NO_ROOM_FOR_NAMES, Reply};
use crate::metrics::now_ns;
use crate::shared::Shared;
use crate::store::Store;
use foliot_model::NANOS_PER_MILLI;
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The kind of these facts of the catalog; by `<database>/<name>`: no database has a `/`.
const KIND: &str = "page";

/// Things that one database keeps, and bytes of all of them: who lists them gets all.
const SAVED_MAX: usize = 1_000;
const SAVED_BYTES_MAX: usize = 4 << 20;

/// Characters of a name, bytes of an address, panels of a dashboard.
const NAME_CHARS_MAX: usize = 100;
const ADDRESS_BYTES_MAX: usize = 16 << 10;
const PANELS_MAX: usize = 40;

/// What every address of Explore begins with.
const EXPLORE: &str = "#/explore?";

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (store, _) = place(shared, &call)?;
    match &*call.method {
        "POST" => put(shared, call).await,
        "DELETE" => take(shared, store, &call).await,
        _ => list(shared, &call).await,
    }
}

fn prefix(shared: &Shared, call: &Call) -> String {
    format!("{}/", call.database(shared))
}

fn facts(store: &Store, prefix: &str) -> Vec<(String, Vec<u8>)> {
    store.engine().catalog_list_from(KIND, prefix)
}

/// Lists all, thing by thing, as far as each is still there.
async fn list(shared: &Arc<Shared>, call: &Call) -> Result<Reply, Reply> {
    let prefix = prefix(shared, call);
    listed(shared, call, "what is saved", move |store, work| {
        let (meter, mut keys) = (work.meter(), Vec::new());
        let mut charge = meter.open();
        store.engine().catalog_each(KIND, &prefix, |key, _| {
            charge.add(size_of::<String>() + key.len())?;
            keys.push(key.to_owned());
            Ok::<_, foliot_exec::Error>(())
        })?;
        work.write(b"{\"saved\":[")?;
        let mut between = "";
        for key in &keys {
            meter.check(0)?;
            let bytes = store.engine().catalog_get(KIND, key).unwrap_or_default();
            if let Ok(saved) = serde_json::from_slice::<Value>(&bytes) {
                work.write(format!("{between}{saved}").as_bytes())?;
                between = ",";
            }
        }
        work.write(b"]}")
    })
    .await
}

async fn put(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (prefix, by) = (prefix(shared, &call), call.who.name().to_owned());
    let known = ["name", "address", "panels", "was_changed_ms"];
    let body = body_of(shared, call, &known).await?;
    let name = name(body.get("name").and_then(Value::as_str).unwrap_or_default())?;
    let mut saved = Map::new();
    match (body.get("address"), body.get("panels")) {
        (Some(one), None) => {
            saved.insert("kind".to_owned(), json!("query"));
            saved.insert("address".to_owned(), json!(address(one)?));
        }
        (None, Some(Value::Array(panels))) if (1..=PANELS_MAX).contains(&panels.len()) => {
            saved.insert("kind".to_owned(), json!("dashboard"));
            saved.insert("panels".to_owned(), panels.iter().map(panel).collect::<Result<_, _>>()?);
        }
        _ => {
            let one_of = format!("give an address, or from 1 to {PANELS_MAX} panels");
            return Err(bad(&format!("address: {one_of}")));
        }
    }
    let was_changed = body.get("was_changed_ms").filter(|at| !at.is_null());
    let was_changed = was_changed.map(|at| at.as_i64().ok_or_else(no_time)).transpose()?;
    saved.insert("name".to_owned(), json!(name));
    saved.insert("by".to_owned(), json!(by));
    saved.insert("changed_ms".to_owned(), json!(now_ns() / NANOS_PER_MILLI));
    let store = store(shared)?;
    let key = format!("{prefix}{name}");
    let written = {
        // What is counted must not become more meanwhile.
        let _alone = alone(shared).await?;
        unchanged(store, &key, name, was_changed)?;
        let bytes = Value::Object(saved.clone()).to_string();
        let mut others = facts(store, &prefix);
        others.retain(|(other, _)| *other != key);
        let held: usize = others.iter().map(|(_, bytes)| bytes.len()).sum();
        if others.len() >= SAVED_MAX || held + bytes.len() > SAVED_BYTES_MAX {
            let text = format!(
                "{} things with {held} bytes are saved already, and {SAVED_MAX} with \
                 {SAVED_BYTES_MAX} may be: delete some first",
                others.len()
            );
            return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &text));
        }
        if !store.engine().has_room_for_names(1) {
            return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, NO_ROOM_FOR_NAMES));
        }
        store.engine().catalog_put(KIND, &key, bytes.as_bytes())
    };
    confirm(shared, store, written).await?;
    Ok(Reply::json(StatusCode::OK, Value::Object(saved).to_string()))
}

async fn take(shared: &Shared, store: &Store, call: &Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    let name = name(params.get("name").unwrap_or_default())?;
    let was_changed = params.get("was_changed_ms").map(|at| at.parse().map_err(|_| no_time()));
    let was_changed = was_changed.transpose()?;
    let key = format!("{}{name}", prefix(shared, call));
    let written = {
        let _alone = alone(shared).await?;
        if store.engine().catalog_get(KIND, &key).is_none() {
            let text = format!("nothing is saved as “{name}”; it may be deleted already");
            return Err(refuse(StatusCode::NOT_FOUND, &text));
        }
        unchanged(store, &key, name, was_changed)?;
        store.engine().catalog_delete(KIND, &key)
    };
    confirm(shared, store, written).await?;
    Ok(Reply::json(StatusCode::OK, json!({"deleted": name}).to_string()))
}

fn no_time() -> Reply {
    bad("was_changed_ms: must be milliseconds since 1970, or 0 for what is to be new")
}

/// Refuses where another thing is saved than that which somebody has looked at; 0 says that there
/// was none.
fn unchanged(store: &Store, key: &str, name: &str, was_changed: Option<i64>) -> Result<(), Reply> {
    let Some(was_changed) = was_changed else { return Ok(()) };
    let stored = store.engine().catalog_get(KIND, key);
    let stored = stored.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
    let changed = stored.as_ref().and_then(|stored| stored.get("changed_ms")?.as_i64());
    match (was_changed, changed) {
        (0, None) => Ok(()),
        (0, Some(_)) => {
            let text = format!("“{name}” is there already; nothing is saved. Choose another name");
            Err(refuse(StatusCode::CONFLICT, &text))
        }
        (was, now) if now == Some(was) => Ok(()),
        _ => {
            let text = format!(
                "“{name}” was changed or deleted by somebody else since it was looked at; nothing \
                 is changed. Open it again, and make the change there"
            );
            Err(refuse(StatusCode::CONFLICT, &text))
        }
    }
}

fn name(name: &str) -> Result<&str, Reply> {
    called("name", name)
}

/// What a person calls something, which stands in `member`.
fn called<'a>(member: &str, name: &'a str) -> Result<&'a str, Reply> {
    let name = name.trim();
    match (1..=NAME_CHARS_MAX).contains(&name.chars().count()) && !name.contains(char::is_control) {
        true => Ok(name),
        false => Err(bad(&format!(
            "{member}: must have from 1 to {NAME_CHARS_MAX} characters, none of them for control"
        ))),
    }
}

fn address(value: &Value) -> Result<&str, Reply> {
    let text = value.as_str().filter(|text| text.len() <= ADDRESS_BYTES_MAX);
    text.filter(|text| text.starts_with(EXPLORE)).ok_or_else(|| {
        bad(&format!(
            "address: must begin with {EXPLORE} and have {ADDRESS_BYTES_MAX} bytes at most"
        ))
    })
}

fn panel(panel: &Value) -> Result<Value, Reply> {
    let title = panel.get("title").and_then(Value::as_str).unwrap_or_default();
    let address = address(panel.get("address").unwrap_or(&Value::Null))?;
    Ok(json!({"title": called("title of a panel", title)?, "address": address}))
}
