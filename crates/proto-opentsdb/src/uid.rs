//! `/api/uid`: numbers of names, and what people write about names and series.
//!
//! Metadata are facts of the catalog: kind `uidmeta` under `<kind>/<uid>`, kind `tsmeta` under
//! `<namespace>/<tsuid>`, each as the JSON of what was written.
//!
//! Differs from OpenTSDB on purpose: every stored series has metadata, whether or not somebody
//! wrote some; a new name has a new number.

mod rename;
mod tsmeta;
mod uidmeta;

pub use rename::{Rename, renamed_fact};
pub(crate) use tsmeta::{SeriesMeta, meta_of};

use crate::http::{HttpError, HttpRequest, Params, method, not_allowed};
use crate::json;
use crate::key::check_name;
use crate::lang::write_id;
use crate::view::{Answer, UidKind, View};
use serde_json::{Map, Value};

/// Answers a request.
///
/// # Errors
/// 400 for what does not parse, 404 for what is not there, 501 for other paths.
pub(crate) fn answer(
    request: &HttpRequest<'_>,
    tail: &str,
    view: &View<'_>,
) -> Result<Answer, HttpError> {
    match tail {
        "assign" => assign(request, view),
        "rename" => rename::answer(request, view),
        "uidmeta" => uidmeta::answer(request, view),
        "tsmeta" => tsmeta::answer(request, view),
        _ => Err(HttpError::new(501, "Other UID endpoints have not been implemented yet")),
    }
}

/// The text of a number.
pub(crate) fn uid_text(id: u32) -> String {
    let mut text = Vec::new();
    write_id(id, &mut text);
    String::from_utf8(text).unwrap_or_default()
}

/// Reads the text of a number.
pub(crate) fn parse_uid(text: &str) -> Option<u32> {
    let digits = match text.len() {
        10 => text.strip_prefix("FF").or_else(|| text.strip_prefix("ff"))?,
        6 => text,
        _ => return None,
    };
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// `/api/uid/assign`: gives names numbers before anything is stored under them.
fn assign(request: &HttpRequest<'_>, view: &View<'_>) -> Result<Answer, HttpError> {
    let params = Params::parse(request.query);
    let mut wanted: Vec<(String, Vec<String>)> = Vec::new();
    match method(request).as_str() {
        "POST" => {
            let body = json::parse_object(request.body)?;
            for kind in body.as_object().into_iter().flat_map(Map::keys) {
                wanted.push((kind.clone(), json::texts(&body, kind)?));
            }
        }
        "GET" => {
            for kind in ["metric", "tagk", "tagv"] {
                let list = params.get(kind).unwrap_or_default().split(',');
                let names: Vec<String> =
                    list.filter(|name| !name.is_empty()).map(str::to_owned).collect();
                if !names.is_empty() {
                    wanted.push((kind.to_owned(), names));
                }
            }
        }
        other => return Err(not_allowed(other)),
    }
    if wanted.is_empty() {
        return Err(HttpError::bad_request("Missing values to assign UIDs"));
    }
    let mut body = Map::new();
    let mut has_errors = false;
    let mut changes = Vec::new();
    for (word, names) in wanted {
        let (mut given, mut errors) = (Map::new(), Map::new());
        for name in names {
            match assign_one(&word, &name, view)? {
                Ok(id) => {
                    changes.extend(view.no_longer_free(&word, &name)?);
                    given.insert(name, uid_text(id).into())
                }
                Err(reason) => errors.insert(name, reason.into()),
            };
        }
        has_errors |= !errors.is_empty();
        if !errors.is_empty() {
            body.insert(format!("{word}_errors"), Value::Object(errors));
        }
        body.insert(word, Value::Object(given));
    }
    let status = if has_errors { 400 } else { 200 };
    Ok(Answer::with_status(status, &Value::Object(body)).changing(changes))
}

fn assign_one(word: &str, name: &str, view: &View<'_>) -> Result<Result<u32, String>, HttpError> {
    let Some(kind) = UidKind::named(word) else {
        return Ok(Err(format!("Unknown type name: {word}")));
    };
    let what = match kind {
        UidKind::Metric => "metric",
        UidKind::TagKey => "tagk",
        UidKind::TagValue => "tagv",
    };
    if let Err(error) = check_name("name", || what.to_owned(), name.as_bytes()) {
        return Ok(Err(error.reason));
    }
    if let Some(id) = view.number(kind, name)? {
        return Ok(Err(format!("Name already exists with UID: {}", uid_text(id))));
    }
    let assigned = (view.assign)(kind, name)?;
    Ok(assigned.ok_or_else(|| "The store takes no more or no such names".to_owned()))
}
