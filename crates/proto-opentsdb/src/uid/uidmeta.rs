//! `/api/uid/uidmeta`: what people write about a name.

use super::{parse_uid, uid_text};
use crate::http::{HttpError, HttpRequest, Params, method, missing_parameter};
use crate::json;
use crate::view::{Answer, Change, UidKind, View};
use serde_json::{Value, json};

/// The kind of these facts.
pub(super) const KIND: &str = "uidmeta";

/// What is known about a name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UidMeta {
    kind: UidKind,
    id: u32,
    name: String,
    display_name: String,
    description: String,
    notes: String,
    created: i64,
    custom: Option<Vec<(String, String)>>,
}

/// Answers a request.
///
/// # Errors
/// 400 for what does not parse, 404 when nothing has the number.
pub(super) fn answer(request: &HttpRequest<'_>, view: &View<'_>) -> Result<Answer, HttpError> {
    let params = Params::parse(request.query);
    let method = method(request);
    if method == "GET" {
        let uid = params.get("uid").ok_or_else(|| missing_parameter("uid"))?;
        let kind = params.get("type").ok_or_else(|| missing_parameter("type"))?;
        let (kind, id) = (kind_named(kind)?, id_of(uid)?);
        return Ok(Answer::ok(&UidMeta::load(kind, id, view)?.to_json()));
    }
    let given = match json::is_blank(request.body) {
        false => json::parse_object(request.body)?,
        true => from_params(&params)?,
    };
    let uid = json::text(&given, "uid")?;
    let missing = |what: &str| match method == "DELETE" {
        true => HttpError::bad_request("Unable to delete UIDMeta information").with_details(what),
        false => HttpError::bad_request(what),
    };
    let uid = uid.ok_or_else(|| missing("Missing UID"))?;
    let kind = json::text(&given, "type")?;
    let kind = kind_named(&kind.ok_or_else(|| missing("Missing type"))?)?;
    let id = id_of(&uid)?;
    let key = key(kind, id);
    if method == "DELETE" {
        let change = Change { kind: KIND, key, bytes: None };
        return Ok(Answer::empty(204).changing(vec![change]));
    }
    if !UidMeta::is_told(&given)? {
        return Ok(Answer::empty(304));
    }
    let stored = UidMeta::load(kind, id, view)?;
    match stored.merged(&given, method == "PUT")? {
        None => Ok(Answer::empty(304)),
        Some(meta) => {
            let body = meta.to_json();
            let change = Change { kind: KIND, key, bytes: Some(body.to_string().into_bytes()) };
            Ok(Answer::ok(&body).changing(vec![change]))
        }
    }
}

fn from_params(params: &Params) -> Result<Value, HttpError> {
    let text = |name: &str| params.get(name).map(str::to_owned);
    let required = |name: &str| text(name).ok_or_else(|| missing_parameter(name));
    Ok(json!({
        "uid": required("uid")?,
        "type": required("type")?,
        "displayName": text("display_name"),
        "description": text("description"),
        "notes": text("notes"),
    }))
}

fn kind_named(name: &str) -> Result<UidKind, HttpError> {
    UidKind::named(name)
        .ok_or_else(|| HttpError::bad_request(format!("Invalid type requested: {name}")))
}

fn id_of(uid: &str) -> Result<u32, HttpError> {
    parse_uid(uid).ok_or_else(|| HttpError::bad_request(format!("Invalid UID: '{uid}'")))
}

pub(super) fn key(kind: UidKind, id: u32) -> String {
    format!("{}/{}", kind.word(), uid_text(id))
}

impl UidMeta {
    /// What is known about a name that something has.
    pub(super) fn load(kind: UidKind, id: u32, view: &View<'_>) -> Result<Self, HttpError> {
        let name = (view.name)((kind, id))?
            .ok_or_else(|| HttpError::new(404, "Could not find the requested UID"))?;
        if view.is_free(kind, &name)? {
            return Err(HttpError::new(404, "Could not find the requested UID"));
        }
        let empty = Self {
            kind,
            id,
            name,
            display_name: String::new(),
            description: String::new(),
            notes: String::new(),
            created: 0,
            custom: None,
        };
        let stored = (view.fact)(KIND, &key(kind, id))?;
        match stored.and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok()) {
            None => Ok(empty),
            Some(stored) => Ok(empty.clone().merged(&stored, true)?.unwrap_or(empty)),
        }
    }

    /// Whether anything is said.
    fn is_told(given: &Value) -> Result<bool, HttpError> {
        for name in ["displayName", "description", "notes"] {
            if json::text(given, name)?.is_some() {
                return Ok(true);
            }
        }
        let created = json::integer(given, "created")?;
        Ok(created.is_some_and(|created| created != 0)
            || json::text_map(given, "custom")?.is_some())
    }

    /// This, with what `given` says; with nothing but that when it `replaces`. Nothing when it
    /// says nothing.
    fn merged(mut self, given: &Value, replaces: bool) -> Result<Option<Self>, HttpError> {
        let display_name = json::text(given, "displayName")?;
        let description = json::text(given, "description")?;
        let notes = json::text(given, "notes")?;
        let created = json::integer(given, "created")?.filter(|&created| created != 0);
        let custom = json::text_map(given, "custom")?;
        let says_nothing = display_name.is_none()
            && description.is_none()
            && notes.is_none()
            && created.is_none()
            && custom.is_none();
        if says_nothing {
            return Ok(None);
        }
        let kept = |old: String| if replaces { String::new() } else { old };
        self.display_name = display_name.unwrap_or_else(|| kept(self.display_name));
        self.description = description.unwrap_or_else(|| kept(self.description));
        self.notes = notes.unwrap_or_else(|| kept(self.notes));
        self.created = created.unwrap_or(if replaces { 0 } else { self.created });
        self.custom = custom.or(if replaces { None } else { self.custom });
        Ok(Some(self))
    }

    /// As answers show it.
    pub(super) fn to_json(&self) -> Value {
        let custom = self.custom.as_ref().map(|pairs| {
            pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect()
        });
        json!({
            "uid": uid_text(self.id),
            "type": self.kind.capitals(),
            "name": self.name,
            "description": self.description,
            "notes": self.notes,
            "created": self.created,
            "custom": custom.map_or(Value::Null, Value::Object),
            "displayName": self.display_name,
        })
    }

    /// The name itself.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A value that somebody wrote under a name of their own.
    pub(super) fn custom(&self, name: &str) -> Option<&str> {
        let pairs = self.custom.as_ref()?;
        pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
