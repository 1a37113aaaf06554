//! `/api/uid/tsmeta`: what people write about a series.

use super::uidmeta::UidMeta;
use crate::http::{HttpError, HttpRequest, Params, method, missing_parameter};
use crate::json;
use crate::lang::Tsuid;
use crate::last::parse_series;
use crate::view::{Answer, Change, UidKind, View};
use serde_json::{Map, Value, json};

/// The kind of these facts.
pub(super) const KIND: &str = "tsmeta";

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Members that people write, and what they are unless somebody did.
const TEXTS: [&str; 5] = ["displayName", "description", "notes", "units", "dataType"];

/// A series with the metadata of its names.
#[derive(Clone, Debug)]
pub(crate) struct SeriesMeta {
    pub(crate) tsuid: String,
    metric: UidMeta,
    tags: Vec<(UidMeta, UidMeta)>,
    /// What was written, member by member.
    written: Map<String, Value>,
    last_s: i64,
}

/// Answers a request.
///
/// # Errors
/// 400 for what does not parse, 404 for series that are not there.
pub(super) fn answer(request: &HttpRequest<'_>, view: &View<'_>) -> Result<Answer, HttpError> {
    let params = Params::parse(request.query);
    let method = method(request);
    if method == "GET" {
        return get(&params, view);
    }
    let given = match json::is_blank(request.body) {
        false => json::parse_object(request.body)?,
        true => from_params(&params)?,
    };
    let named = json::text(&given, "tsuid")?;
    let (tsuid, creates) = match &named {
        Some(text) => (Tsuid::parse(text)?, false),
        None if method == "DELETE" => {
            let error = HttpError::bad_request("Unable to delete TSMeta information");
            return Err(error.with_details("Missing UID"));
        }
        None => {
            let text = params.get("m").ok_or_else(|| missing_parameter("m"))?;
            (tsuid_named(text, view)?, params.get("create") == Some("true"))
        }
    };
    let key = view.key(&tsuid.to_string());
    if method == "DELETE" {
        let change = Change { kind: KIND, key, bytes: None };
        return Ok(Answer::empty(204).changing(vec![change]));
    }
    let said = written_in(&given)?;
    if said.is_empty() && named.is_some() {
        return Ok(Answer::empty(304));
    }
    let is_known = !(view.resolve)(&tsuid)?.is_empty() || (view.fact)(KIND, &key)?.is_some();
    if !is_known && !creates {
        let message = match named {
            Some(_) => "Requested TSMeta did not exist",
            None => "Could not find TSMeta, specify \"create=true\" to create a new one.",
        };
        return Err(HttpError::bad_request(message));
    }
    let mut meta = meta_of(&tsuid, view)?;
    if said.is_empty() && is_known {
        return Ok(Answer::empty(304));
    }
    if method == "PUT" {
        meta.written.clear();
    }
    meta.written.extend(said);
    meta.load_last(&tsuid, view)?;
    let bytes = Value::Object(meta.written.clone()).to_string().into_bytes();
    let change = Change { kind: KIND, key, bytes: Some(bytes) };
    Ok(Answer::ok(&meta.to_json()).changing(vec![change]))
}

fn get(params: &Params, view: &View<'_>) -> Result<Answer, HttpError> {
    if let Some(text) = params.get("tsuid") {
        let tsuid = Tsuid::parse(text)?;
        let key = view.key(&tsuid.to_string());
        if (view.resolve)(&tsuid)?.is_empty() && (view.fact)(KIND, &key)?.is_none() {
            return Err(HttpError::new(404, "Could not find Timeseries meta data"));
        }
        return Ok(Answer::ok(&whole(&tsuid, view)?));
    }
    let text = params.get("m").ok_or_else(|| missing_parameter("m"))?;
    let (metric, tags) = parse_series(text)?;
    view.require(Some(&metric), &tags).map_err(unknown)?;
    let mut list = Vec::new();
    for sid in view.matching(Some(&metric), &tags)? {
        if let Some(stored) = (view.stored)(sid)? {
            list.push(whole(&stored.tsuid, view)?);
        }
    }
    Ok(Answer::ok(&Value::Array(list)))
}

/// All that is known about a series.
fn whole(tsuid: &Tsuid, view: &View<'_>) -> Result<Value, HttpError> {
    let mut meta = meta_of(tsuid, view)?;
    meta.load_last(tsuid, view)?;
    Ok(meta.to_json())
}

fn unknown(error: HttpError) -> HttpError {
    HttpError::new(404, "Unable to find one of the UIDs").with_details(error.message)
}

/// The TSUID that a series would have; its names must be known.
fn tsuid_named(text: &str, view: &View<'_>) -> Result<Tsuid, HttpError> {
    let (metric, tags) = parse_series(text)?;
    let id = |kind: UidKind, name: &str| {
        view.number(kind, name)?.ok_or_else(|| unknown(HttpError::no_such_name(kind.word(), name)))
    };
    let measurement = id(UidKind::Metric, &metric)?;
    let pair = |(key, value): &(String, String)| {
        Ok((id(UidKind::TagKey, key)?, id(UidKind::TagValue, value)?))
    };
    let mut tags = tags.iter().map(pair).collect::<Result<Vec<_>, HttpError>>()?;
    tags.sort_unstable();
    Ok(Tsuid { measurement, field: None, tags })
}

/// What is known about a series whose names are.
///
/// # Errors
/// 404 when one of them is not.
pub(crate) fn meta_of(tsuid: &Tsuid, view: &View<'_>) -> Result<SeriesMeta, HttpError> {
    let text = tsuid.to_string();
    let stored = (view.fact)(KIND, &view.key(&text))?;
    let written = stored.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let pair = |&(key, value): &(u32, u32)| {
        let key = UidMeta::load(UidKind::TagKey, key, view)?;
        Ok((key, UidMeta::load(UidKind::TagValue, value, view)?))
    };
    Ok(SeriesMeta {
        tsuid: text,
        metric: UidMeta::load(UidKind::Metric, tsuid.measurement, view)?,
        tags: tsuid.tags.iter().map(pair).collect::<Result<_, HttpError>>()?,
        written,
        last_s: 0,
    })
}

/// The members that say something.
fn written_in(given: &Value) -> Result<Map<String, Value>, HttpError> {
    let mut said = Map::new();
    for name in TEXTS {
        if let Some(text) = json::text(given, name)? {
            said.insert(name.to_owned(), text.into());
        }
    }
    for name in ["retention", "created"] {
        if let Some(number) = json::integer(given, name)?.filter(|&number| number != 0) {
            said.insert(name.to_owned(), number.into());
        }
    }
    for name in ["max", "min"] {
        if let Some(number) = json::number(given, name)?.filter(|number| number.is_finite()) {
            said.insert(name.to_owned(), number.into());
        }
    }
    if let Some(custom) = json::text_map(given, "custom")? {
        let pairs = custom.into_iter().map(|(key, value)| (key, value.into()));
        said.insert("custom".to_owned(), Value::Object(pairs.collect()));
    }
    Ok(said)
}

fn from_params(params: &Params) -> Result<Value, HttpError> {
    let text = |name: &str| params.get(name).map(str::to_owned);
    let number = |name: &str| match text(name).filter(|text| !text.is_empty()) {
        Some(text) if text.parse::<f64>().is_err() => {
            Err(HttpError::bad_request(format!("Unable to parse '{name}' value")))
        }
        text => Ok(text),
    };
    Ok(json!({
        "tsuid": text("tsuid"),
        "displayName": text("display_name"),
        "description": text("description"),
        "notes": text("notes"),
        "units": text("units"),
        "dataType": text("data_type"),
        "retention": number("retention")?,
        "max": number("max")?,
        "min": number("min")?,
    }))
}

impl SeriesMeta {
    /// As answers show it.
    pub(crate) fn to_json(&self) -> Value {
        let tags: Vec<Value> =
            self.tags.iter().flat_map(|(key, value)| [key.to_json(), value.to_json()]).collect();
        let said = |name: &str, default: Value| self.written.get(name).cloned().unwrap_or(default);
        let meta = json!({
            "tsuid": self.tsuid,
            "metric": self.metric.to_json(),
            "tags": tags,
            "created": said("created", 0.into()),
            "custom": said("custom", Value::Null),
            "retention": said("retention", 0.into()),
            "max": said("max", "NaN".into()),
            "min": said("min", "NaN".into()),
            "lastReceived": self.last_s,
            "totalDatapoints": 0,
        });
        let mut meta = match meta {
            Value::Object(meta) => meta,
            _ => Map::new(),
        };
        meta.extend(TEXTS.map(|name| (name.to_owned(), said(name, "".into()))));
        Value::Object(meta)
    }

    /// Looks up when the series was last written to.
    pub(crate) fn load_last(&mut self, tsuid: &Tsuid, view: &View<'_>) -> Result<(), HttpError> {
        for sid in (view.resolve)(tsuid)? {
            let last = (view.last)(sid)?;
            self.last_s = last.map_or(0, |last| last.time_ns / NANOS_PER_SECOND).max(self.last_s);
        }
        Ok(())
    }

    /// The metric's name.
    pub(crate) fn metric_name(&self) -> &str {
        self.metric.name()
    }

    /// The value of a tag.
    pub(crate) fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find(|(name, _)| name.name() == key).map(|(_, value)| value.name())
    }

    /// What somebody wrote about the metric under a name of their own.
    pub(crate) fn metric_custom(&self, name: &str) -> Option<&str> {
        self.metric.custom(name)
    }

    /// What somebody wrote about a tag's name under a name of their own.
    pub(crate) fn key_custom(&self, key: &str, name: &str) -> Option<&str> {
        self.tags.iter().find(|(meta, _)| meta.name() == key)?.0.custom(name)
    }

    /// What somebody wrote about a tag's value under a name of their own.
    pub(crate) fn value_custom(&self, value: &str, name: &str) -> Option<&str> {
        self.tags.iter().find(|(_, meta)| meta.name() == value)?.1.custom(name)
    }
}
