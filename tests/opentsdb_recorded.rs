//! Answers of a real OpenTSDB 2.4.1 to the same requests: `testdata/opentsdb-2.4.1/recorded.json`.

use crate::opentsdb::{Tsd, same_value};
use serde_json::{Map, Value, json};

/// An answer in the form in which answers are kept: without what has no order or is told beside an
/// error's message.
fn settled(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(settled).collect(),
        Value::Object(members) => match value.get("error").filter(|error| error.is_object()) {
            Some(error) => {
                json!({"error": {"code": error["code"], "message": error["message"]}})
            }
            None => members.iter().filter_map(member).collect::<Map<_, _>>().into(),
        },
        value => value.clone(),
    }
}

fn member((name, value): (&String, &Value)) -> Option<(String, Value)> {
    let value = match (name.as_str(), value) {
        ("aggregateTags" | "aggregatedTags", Value::Array(names)) => {
            let mut names = names.clone();
            names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            Value::Array(names)
        }
        // Series of lookups come in no order.
        ("results", Value::Array(series)) => {
            let mut series = series.clone();
            series.sort_by(|a, b| a["tsuid"].as_str().cmp(&b["tsuid"].as_str()));
            Value::Array(series)
        }
        // How long a lookup took.
        ("time", Value::Number(_)) => return None,
        _ => settled(value),
    };
    Some((name.clone(), value))
}

/// Whether answers are equal: floats within a relative 1e-9, all else exactly.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let is_same = |(name, value): (&String, &Value)| {
                b.get(name).is_some_and(|other| same(value, other))
            };
            a.len() == b.len() && a.iter().all(is_same)
        }
        _ => same_value(a, b),
    }
}

#[test]
fn what_opentsdb_answered_is_answered() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/opentsdb-2.4.1/recorded.json");
    let recorded: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let tsd = Tsd::start();
    let ask = |case: &Value| {
        let text = match &case["body"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            body => body.to_string(),
        };
        let (method, path) = (case["method"].as_str().unwrap(), case["path"].as_str().unwrap());
        tsd.server.request(method, path, &[], text.as_bytes())
    };
    for request in recorded["filled by"].as_array().unwrap() {
        let response = ask(request);
        assert!(matches!(response.status, 200 | 204), "{request}: {}", response.text());
    }
    let cases = recorded["cases"].as_array().unwrap();
    let mut wrong = Vec::new();
    for case in cases {
        let response = ask(case);
        let answer = match response.body.is_empty() {
            true => Value::Null,
            false => settled(&serde_json::from_slice(&response.body).unwrap_or_default()),
        };
        if case["status"] != response.status || !same(&answer, &case["answer"]) {
            let question = format!("{} {} {}", case["method"], case["path"], case["body"]);
            let (status, text) = (&case["status"], &case["answer"]);
            wrong.push(format!(
                "{question}\n     opentsdb {status} {text}\n     foliot {} {answer}",
                response.status
            ));
        }
    }
    assert!(cases.len() > 250, "{} cases", cases.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
