//! Answers of Foliot's own API, held against `docs/openapi.json`.

use super::{Response, Server};
use serde_json::Value;
use std::path::Path;

pub(crate) const ROOT: &str = "/api/foliot/v1";

fn openapi() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Fails unless a value is as a schema says, as far as the schemas of this API go.
fn check(api: &Value, schema: &Value, value: &Value, place: &str) {
    if let Some(name) = schema["$ref"].as_str() {
        return check(api, api.pointer(&name[1..]).expect(name), value, place);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let keys: Vec<&String> = value.as_object().into_iter().flat_map(|map| map.keys()).collect();
        let fits = |choice: &&Value| {
            let choice = match choice["$ref"].as_str() {
                Some(name) => api.pointer(&name[1..]).expect(name),
                None => choice,
            };
            let required = choice["required"].as_array().into_iter().flatten();
            let mut required = required.filter_map(Value::as_str);
            let has_all = required.all(|name| keys.iter().any(|key| *key == name));
            match choice["properties"].as_object() {
                Some(properties) => has_all && keys.iter().any(|key| properties.contains_key(*key)),
                None => value.is_null(),
            }
        };
        let choice = choices.iter().find(fits).unwrap_or_else(|| panic!("{place}: {value}"));
        return check(api, choice, value, place);
    }
    let is = |kind: &str| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("{place}: the schema has the type {other}"),
    };
    let fits = match &schema["type"] {
        Value::String(kind) => is(kind),
        Value::Array(kinds) => kinds.iter().any(|kind| is(kind.as_str().unwrap())),
        _ => panic!("{place} has no type"),
    };
    assert!(fits, "{place} is {value}, not {}", schema["type"]);
    if let Some(known) = schema["enum"].as_array() {
        assert!(known.contains(value), "{place} is {value}");
    }
    for item in value.as_array().into_iter().flatten() {
        check(api, &schema["items"], item, &format!("{place}[]"));
    }
    // Somebody else's form, which is described elsewhere.
    if schema["additionalProperties"] == true {
        return;
    }
    let Some(map) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(map.contains_key(name.as_str().unwrap()), "{place} lacks {name}: {value}");
    }
    for (name, value) in map {
        let known = schema["properties"].get(name).unwrap_or(&schema["additionalProperties"]);
        assert!(known.is_object(), "{place}.{name} is not described");
        check(api, known, value, &format!("{place}.{name}"));
    }
}

/// An answer, once it was found to be as described.
pub(crate) fn described(method: &str, path: &str, response: &Response, status: u16) -> Value {
    assert_eq!(response.status, status, "{method} {path}: {}", response.text());
    let api = openapi();
    let plain = path.split('?').next().unwrap();
    let responses = &api["paths"][plain][method.to_ascii_lowercase()]["responses"];
    let found = responses.get("200").filter(|_| status == 200).unwrap_or(&responses["default"]);
    let schema = &found["content"]["application/json"]["schema"];
    let value: Value = serde_json::from_slice(&response.body).expect("no JSON");
    check(&api, schema, &value, plain);
    value
}

pub(crate) fn get(server: &Server, what: &str) -> Value {
    let path = format!("{ROOT}/{what}");
    described("GET", &path, &server.get(&path), 200)
}

pub(crate) fn post(server: &Server, what: &str, body: &Value, status: u16) -> Value {
    let path = format!("{ROOT}/{what}");
    described("POST", &path, &server.post(&path, &body.to_string()), status)
}

pub(crate) fn delete(server: &Server, what: &str, status: u16) -> Value {
    let path = format!("{ROOT}/{what}");
    described("DELETE", &path, &server.request("DELETE", &path, &[], b""), status)
}

/// The answer to a question.
pub(crate) fn ask(server: &Server, body: &Value) -> Value {
    post(server, "query", body, 200)
}

/// Stores lines of whole seconds in the default database.
pub(crate) fn write(server: &Server, lines: &str) {
    let response = server.post("/write?db=default&precision=s", lines);
    assert_eq!(response.status, 204, "{}", response.text());
}
