//! `/api/uid/rename`: another name for what has an old one.
//!
//! The store files samples under their names, so that a rename writes them again; see the engine.
//! This door finds out what is to be renamed, and moves what people wrote about it:
//!
//! 1. *begin*: the fact `renaming` says what becomes of the name; metadata and annotations go to
//!    the new numbers.
//! 2. The store renames series. When it has not the time, or a crash ends it, asking again goes on.
//! 3. *end*: the fact goes; the fact `renamed` says that the old name is free, while nothing is
//!    stored under it.
//!
//! Both facts stand under `<namespace>/<kind>/<old name>`.

use super::uid_text;
use crate::annotation;
use crate::http::{HttpError, HttpRequest, Params, method, not_allowed};
use crate::json;
use crate::key::check_name;
use crate::lang::{RequiredName, Tsuid, UID_WORDS};
use crate::uid::{tsmeta, uidmeta};
use crate::view::{Answer, Change, UidKind, View, key_in};
use foliot_model::NamespaceId;
use serde_json::{Map, Value, json};

/// The kind of facts about renames that were begun: the new name.
const RENAMING: &str = "renaming";

/// The kind of facts about names that are free again.
const RENAMED: &str = "renamed";

/// What is to have another name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rename {
    /// What kind of name.
    pub kind: UidKind,
    /// The name so far.
    pub old: String,
    /// The name from now on.
    pub new: String,
}

/// Answers a request.
///
/// # Errors
/// 400 for what is missing, and what the store says.
pub(super) fn answer(request: &HttpRequest<'_>, view: &View<'_>) -> Result<Answer, HttpError> {
    let (word, old, new) = asked(request)?;
    match rename(&word, old, new, view)? {
        Ok(changes) => Ok(Answer::ok(&json!({"result": "true"})).changing(changes)),
        Err(error) => Ok(Answer::with_status(400, &json!({"result": "false", "error": error}))),
    }
}

/// The kind, the old name and the new one.
fn asked(request: &HttpRequest<'_>) -> Result<(String, String, String), HttpError> {
    let params = Params::parse(request.query);
    let mut given: Vec<(String, String)> = Vec::new();
    match method(request).as_str() {
        "POST" => {
            let body = json::parse_object(request.body)?;
            for name in body.as_object().into_iter().flat_map(Map::keys) {
                given.extend(json::text(&body, name)?.map(|text| (name.clone(), text)));
            }
        }
        "GET" => {
            for name in UID_WORDS {
                let text = params.get(name).filter(|text| !text.is_empty());
                given.extend(text.map(|text| (name.to_owned(), text.to_owned())));
            }
        }
        other => return Err(not_allowed(other)),
    }
    if given.iter().any(|(name, _)| name == "name") && given.len() > 2 {
        return Err(HttpError::bad_request(
            match given.iter().find(|(word, _)| !UID_WORDS.contains(&word.as_str())) {
                Some((word, _)) => format!("Nothing is changed: '{word}' is not known"),
                None => "One name can be renamed at a time".to_owned(),
            },
        ));
    }
    let new = given.iter().find(|(name, _)| name == "name").map(|(_, new)| new.clone());
    let old = given.into_iter().find(|(name, _)| name != "name");
    match (old, new) {
        (Some((word, old)), Some(new)) => Ok((word, old, new)),
        _ => Err(HttpError::bad_request("Missing necessary values to rename UID")),
    }
}

/// Renames, and returns what is to be stored in the end; or why not, in OpenTSDB's words.
fn rename(
    word: &str,
    old: String,
    new: String,
    view: &View<'_>,
) -> Result<Result<Vec<Change>, String>, HttpError> {
    for name in [&old, &new] {
        if let Err(error) = check_name("name", || word.to_owned(), name.as_bytes()) {
            return Ok(Err(error.reason));
        }
    }
    let Some(kind) = UidKind::named(word) else { return Ok(Err("Unknown type name".to_owned())) };
    let begun = (view.fact)(RENAMING, &key(view, kind, &old))?;
    match &begun {
        Some(to) if *to == new.as_bytes() => {}
        _ => {
            if let Err(reason) = check(kind, &old, &new, begun.is_some(), view)? {
                return Ok(Err(reason));
            }
        }
    }
    let to = Some(new.as_bytes().to_vec());
    (view.note)(&Change { kind: RENAMING, key: key(view, kind, &old), bytes: to })?;
    let Some(new_id) = (view.assign)(kind, &new)? else {
        return Ok(Err("The store takes no more or no such names".to_owned()));
    };
    moved_facts(kind, &old, new_id, view)?.iter().try_for_each(view.note)?;
    let rename = Rename { kind, old, new };
    (view.rename)(&rename)?;
    let Rename { old, new, .. } = rename;
    let gone = |name: &str, bytes| Change { kind: RENAMED, key: key(view, kind, name), bytes };
    let ended = Change { kind: RENAMING, key: key(view, kind, &old), bytes: None };
    Ok(Ok(vec![gone(&old, Some(Vec::new())), gone(&new, None), ended]))
}

/// The fact that a name was given up for another, by kind and key.
pub fn renamed_fact(namespace: NamespaceId, kind: UidKind, name: &str) -> (&'static str, String) {
    (RENAMED, key_in(namespace, &[kind.word(), "/", name]))
}

fn key(view: &View<'_>, kind: UidKind, name: &str) -> String {
    renamed_fact(view.namespace, kind, name).1
}

/// Whether something has a name.
fn is_known(kind: UidKind, name: &str, view: &View<'_>) -> Result<bool, HttpError> {
    let is_metric = kind == UidKind::Metric && (view.exists)(&RequiredName::Metric(name))?;
    Ok(is_metric || view.number(kind, name)?.is_some())
}

/// Whether a rename may begin. `is_begun`: another one of the old name did.
fn check(
    kind: UidKind,
    old: &str,
    new: &str,
    is_begun: bool,
    view: &View<'_>,
) -> Result<Result<(), String>, HttpError> {
    if !is_known(kind, old, view)? {
        return Ok(Err(format!("Name(\"{old}\") does not exist")));
    }
    let prefix = key(view, kind, "");
    let is_to_new = |(_, to): &(String, Vec<u8>)| to == new.as_bytes();
    if is_begun || (view.facts)(RENAMING, &prefix)?.iter().any(is_to_new) {
        let id = bytes_text((view.uid)(kind, old)?);
        return Ok(Err(format!(
            "Ongoing rename on the same ID(\"{id}\") or an identical new name(\"{new}\")"
        )));
    }
    if is_known(kind, new, view)? {
        let id = bytes_text((view.uid)(kind, new)?);
        let plural = if kind == UidKind::Metric { "metrics" } else { kind.word() };
        return Ok(Err(format!(
            "When trying rename(\"{old}\", \"{new}\") on UniqueId(tsdb-uid, {plural}, 3): new \
             name already assigned ID={id}"
        )));
    }
    Ok(Ok(()))
}

/// A number as OpenTSDB's messages print it: as a list of signed bytes.
fn bytes_text(id: Option<u32>) -> String {
    let text = id.map(uid_text).unwrap_or_default();
    let byte = |at: usize| text.get(at..at + 2).and_then(|hex| u8::from_str_radix(hex, 16).ok());
    let bytes = (0..text.len()).step_by(2).filter_map(byte);
    let bytes: Vec<String> = bytes.map(|byte| byte.cast_signed().to_string()).collect();
    format!("[{}]", bytes.join(", "))
}

/// What people wrote about the old name and its series goes to the new one.
fn moved_facts(
    kind: UidKind,
    old: &str,
    new_id: u32,
    view: &View<'_>,
) -> Result<Vec<Change>, HttpError> {
    let mut changes = Vec::new();
    let old_id = (view.uid)(kind, old)?;
    if let Some(old_id) = old_id {
        let (from, to) = (uidmeta::key(kind, old_id), uidmeta::key(kind, new_id));
        if let Some(bytes) = (view.fact)(uidmeta::KIND, &from)? {
            changes.extend(move_fact(uidmeta::KIND, from, to, bytes));
        }
    }
    let prefix = view.key("");
    for fact in [tsmeta::KIND, annotation::KIND] {
        for (key, bytes) in (view.facts)(fact, &prefix)? {
            let Some(rest) = key.strip_prefix(&prefix) else { continue };
            let (text, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let Ok(tsuid) = Tsuid::parse(text) else { continue };
            let Some(tsuid) = renumbered(&tsuid, kind, (old, old_id), new_id, view)? else {
                continue;
            };
            let tsuid = tsuid.to_string();
            let bytes = with_tsuid(&bytes, &tsuid);
            let to = view.key(&format!("{tsuid}{rest}"));
            changes.extend(move_fact(fact, key, to, bytes));
        }
    }
    Ok(changes)
}

fn move_fact(kind: &'static str, from: String, to: String, bytes: Vec<u8>) -> [Change; 2] {
    [Change { kind, key: to, bytes: Some(bytes) }, Change { kind, key: from, bytes: None }]
}

/// The TSUID with the number of the new name, if it has that of the old one.
fn renumbered(
    tsuid: &Tsuid,
    kind: UidKind,
    (old, old_id): (&str, Option<u32>),
    new_id: u32,
    view: &View<'_>,
) -> Result<Option<Tsuid>, HttpError> {
    let mut next = tsuid.clone();
    let renumber = |id: &mut u32| {
        if Some(*id) == old_id {
            *id = new_id;
        }
    };
    match (kind, tsuid.field) {
        (UidKind::Metric, None) => renumber(&mut next.measurement),
        (UidKind::Metric, Some(_)) => {
            for sid in (view.resolve)(tsuid)? {
                if (view.stored)(sid)?.is_some_and(|stored| stored.metric == old) {
                    next.measurement = new_id;
                    next.field = None;
                }
            }
        }
        (UidKind::TagKey, _) => next.tags.iter_mut().for_each(|(key, _)| renumber(key)),
        (UidKind::TagValue, _) => next.tags.iter_mut().for_each(|(_, value)| renumber(value)),
    }
    Ok((next != *tsuid).then_some(next))
}

/// A fact that says which series it is about, about another.
fn with_tsuid(bytes: &[u8], tsuid: &str) -> Vec<u8> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(mut fact)) if fact.contains_key("tsuid") => {
            fact.insert("tsuid".to_owned(), tsuid.into());
            Value::Object(fact).to_string().into_bytes()
        }
        _ => bytes.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_messages_are_lists_of_signed_bytes() {
        assert_eq!(bytes_text(Some(1)), "[0, 0, 1]");
        assert_eq!(bytes_text(Some(0xFD80FF)), "[-3, -128, -1]");
        assert_eq!(bytes_text(None), "[]");
    }

    #[test]
    fn facts_say_the_new_series() {
        assert_eq!(with_tsuid(br#"{"a":1,"tsuid":"01"}"#, "02"), br#"{"a":1,"tsuid":"02"}"#);
        assert_eq!(with_tsuid(br#"{"a":1}"#, "02"), br#"{"a":1}"#);
    }
}
