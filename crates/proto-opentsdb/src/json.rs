//! Members of JSON objects as Jackson reads them: numbers may be texts and texts numbers, null is
//! as good as absent, unknown names mean nothing.

use crate::http::HttpError;
use serde_json::Value;

/// Reads a body that must be there.
pub(crate) fn parse(body: &[u8]) -> Result<Value, HttpError> {
    if is_blank(body) {
        return Err(HttpError::bad_request("Missing request content"));
    }
    serde_json::from_slice(body).map_err(not_read)
}

/// Reads the body of a request that changes something, which must not say anything twice.
pub(crate) fn parse_once(body: &[u8]) -> Result<Value, HttpError> {
    crate::once::parse_once(body).map_err(|error| match error.is_data() {
        true => HttpError::bad_request(format!("Nothing is changed: {error}")),
        false => not_read(error),
    })
}

fn not_read(error: serde_json::Error) -> HttpError {
    HttpError::bad_request("Unable to parse the given JSON").with_details(error.to_string())
}

/// Whether a request has no body to speak of.
pub(crate) fn is_blank(body: &[u8]) -> bool {
    body.iter().all(u8::is_ascii_whitespace)
}

/// Reads a body that must be an object.
pub(crate) fn parse_object(body: &[u8]) -> Result<Value, HttpError> {
    let value = parse(body)?;
    match value.is_object() {
        true => Ok(value),
        false => Err(HttpError::bad_request("Unable to parse the given JSON")
            .with_details("An object was expected")),
    }
}

/// What is wrong with a member.
pub(crate) fn wrong(name: &str, kind: &str) -> HttpError {
    HttpError::bad_request("Unable to parse the given JSON")
        .with_details(format!("'{name}' must be {kind}"))
}

/// A scalar as text.
pub(crate) fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// A member that is text or a number; nothing when it is absent, null or empty.
pub(crate) fn text(object: &Value, name: &str) -> Result<Option<String>, HttpError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match scalar_text(value) {
            Some(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            None => Err(wrong(name, "a text or a number")),
        },
    }
}

/// A member that is a whole number, or a text of one.
pub(crate) fn integer(object: &Value, name: &str) -> Result<Option<i64>, HttpError> {
    let number = match object.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => {
            // What is no whole number is not another one near it.
            let whole = number.as_f64().filter(|number| number.fract() == 0.0);
            let whole = whole.filter(|number| number.abs() < 2f64.powi(63));
            number.as_i64().or(whole.map(|number| number as i64))
        }
        Some(Value::String(text)) if text.is_empty() => return Ok(None),
        Some(Value::String(text)) => text.parse().ok(),
        Some(_) => None,
    };
    number.map(Some).ok_or_else(|| wrong(name, "a number"))
}

/// A member that is a number; texts may say what JSON's numbers cannot.
pub(crate) fn number(object: &Value, name: &str) -> Result<Option<f64>, HttpError> {
    let number = match object.get(name) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.parse().ok(),
        Some(_) => None,
    };
    number.map(Some).ok_or_else(|| wrong(name, "a number"))
}

/// A switch; off when absent.
pub(crate) fn flag(object: &Value, name: &str) -> Result<bool, HttpError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(Value::String(text)) if text == "true" || text == "false" => Ok(text == "true"),
        Some(_) => Err(wrong(name, "true or false")),
    }
}

/// A member that is a list; empty when absent.
pub(crate) fn list<'a>(object: &'a Value, name: &str) -> Result<&'a [Value], HttpError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(list)) => Ok(list),
        Some(_) => Err(wrong(name, "an array")),
    }
}

/// A member that is a list of texts.
pub(crate) fn texts(object: &Value, name: &str) -> Result<Vec<String>, HttpError> {
    let text = |value: &Value| scalar_text(value).ok_or_else(|| wrong(name, "a list of texts"));
    list(object, name)?.iter().map(text).collect()
}

/// A member that maps texts to texts; nothing when absent.
pub(crate) fn text_map(
    object: &Value,
    name: &str,
) -> Result<Option<Vec<(String, String)>>, HttpError> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(map)) => {
            let pair = |(key, value): (&String, &Value)| match scalar_text(value) {
                Some(value) => Ok((key.clone(), value)),
                None => Err(wrong(name, "an object of texts")),
            };
            map.iter().map(pair).collect::<Result<_, _>>().map(Some)
        }
        Some(_) => Err(wrong(name, "an object")),
    }
}
