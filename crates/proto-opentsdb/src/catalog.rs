//! The small endpoints: names to choose from, and facts about the door itself.

use crate::http::{HttpError, HttpRequest, Params, missing_parameter};
use crate::lang::aggregator::AGGREGATORS;
use crate::lang::filter::FILTERS;
use foliot_model::{NamespaceId, Selector};
use foliot_plan::{Listing, What};
use serde_json::{Map, Value, json};

/// How many names are suggested unless the request says otherwise.
const SUGGESTIONS: usize = 25;

/// A request to `/api/suggest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggest {
    /// What kind of names.
    pub what: What,
    /// How they begin.
    pub prefix: String,
    /// At most so many.
    pub limit: usize,
    /// A function to wrap the answer in.
    pub jsonp: Option<String>,
}

impl Suggest {
    /// Reads a GET or POST request.
    ///
    /// # Errors
    /// 400 when the type is missing or unknown, or the maximum is no number.
    pub fn parse(request: &HttpRequest<'_>) -> Result<Self, HttpError> {
        let params = Params::parse(request.query);
        let body: Value = match request.method {
            "POST" => serde_json::from_slice(request.body).map_err(|error| {
                HttpError::bad_request("Unable to parse the given JSON")
                    .with_details(error.to_string())
            })?,
            _ => Value::Null,
        };
        let text = |name: &str| match body.get(name) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            _ => params.get(name).map(str::to_owned),
        };
        let missing = || match request.method {
            "POST" => HttpError::bad_request("Missing 'type' parameter"),
            _ => missing_parameter("type"),
        };
        let kind = text("type").filter(|kind| !kind.is_empty());
        let kind = kind.ok_or_else(missing)?;
        let what = match kind.as_str() {
            "metrics" => What::Metrics,
            "tagk" => What::LabelNames,
            "tagv" => What::LabelValues(None),
            _ => {
                let message = format!("Invalid 'type' parameter:{kind}");
                let details = "must be one of: metrics, tagk, tagv";
                return Err(HttpError::bad_request(message).with_details(details));
            }
        };
        let limit = match text("max").filter(|max| !max.is_empty()) {
            None => SUGGESTIONS,
            Some(max) => max
                .parse()
                .map_err(|_| HttpError::bad_request("Unable to parse 'max' as a number"))?,
        };
        let limit = if limit == 0 { SUGGESTIONS } else { limit };
        let jsonp = params.jsonp()?;
        Ok(Self { what, prefix: text("q").unwrap_or_default(), limit, jsonp })
    }

    /// The listing that answers the request.
    pub fn listing(&self, namespace: NamespaceId) -> Listing {
        let selector = Selector {
            namespace,
            names: Vec::new(),
            matchers: Vec::new(),
            exact_labels: None,
            only: None,
        };
        let (what, prefix) = (self.what.clone(), self.prefix.clone());
        Listing { what, selector, prefix, offset: 0, limit: self.limit }
    }

    /// The body of the answer.
    pub fn answer<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> String {
        let list = string_list_json(names);
        match &self.jsonp {
            Some(function) => format!("{function}({list})"),
            None => list,
        }
    }
}

/// An array of strings.
pub fn string_list_json<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    Value::Array(names.into_iter().map(Value::from).collect()).to_string()
}

/// The body of `/api/aggregators`.
pub fn aggregators_json() -> String {
    string_list_json(AGGREGATORS.iter().map(|aggregator| aggregator.name))
}

/// The body of `/api/config/filters`.
pub fn filters_json() -> String {
    let entry = |&(name, description, examples): &(&str, &str, &str)| {
        (name.to_owned(), json!({"description": description, "examples": examples}))
    };
    Value::Object(FILTERS.iter().map(entry).collect::<Map<_, _>>()).to_string()
}

/// The body of `/api/config`: names and texts. What a secret says of itself is no secret.
pub fn config_json<'k>(settings: impl IntoIterator<Item = (&'k str, String)>) -> String {
    let entry = |(name, text): (&str, String)| (name.to_owned(), Value::from(text));
    Value::Object(settings.into_iter().map(entry).collect()).to_string()
}

/// A figure of `/api/stats`.
pub fn stat_json(name: &str, time_s: i64, value: u64, tags: &[(&str, &str)], host: &str) -> String {
    let mut all: Map<String, Value> =
        tags.iter().map(|&(key, tag)| (key.to_owned(), tag.into())).collect();
    all.insert("host".to_owned(), host.into());
    json!({"metric": name, "timestamp": time_s, "value": value.to_string(), "tags": all})
        .to_string()
}

/// The body of `/api/status`.
pub fn status_json() -> &'static str {
    r#"{"status":"ok"}"#
}

/// The body of `/api/dropcaches`: clients ask for it in scripts; there is nothing to drop.
pub fn dropcaches_json() -> &'static str {
    r#"{"status":"200","message":"Caches dropped"}"#
}

/// The body of `/api/serializers`, which documents promise.
pub fn serializers_json() -> String {
    json!([{
        "serializer": "json",
        "class": "json",
        "request_content_type": "application/json",
        "response_content_type": "application/json; charset=UTF-8",
        "formatters": ["PutV1", "QueryV1", "SuggestV1", "AggregatorsV1", "VersionV1"],
    }])
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggest(method: &str, query: &str, body: &str) -> Result<Suggest, String> {
        let body = body.as_bytes();
        Suggest::parse(&HttpRequest { method, path: "/api/suggest", query, body })
            .map_err(|error| error.message)
    }

    #[test]
    fn suggestions_in_both_forms() {
        let get = suggest("GET", "type=metrics&q=sys&max=2", "").unwrap();
        let expected = Suggest { what: What::Metrics, prefix: "sys".into(), limit: 2, jsonp: None };
        assert_eq!(get, expected);
        let body = r#"{"type":"metrics","q":"sys","max":"2"}"#;
        assert_eq!(suggest("POST", "", body), Ok(expected));
        let plain = suggest("GET", "type=tagv&max=0", "").unwrap();
        assert_eq!((plain.what, plain.limit), (What::LabelValues(None), 25));
        for query in ["", "type=", "type=foo", "type=tagk&max=x", "type=tagk&max=-1"] {
            assert!(suggest("GET", query, "").is_err(), "{query}");
        }
        assert!(suggest("POST", "", "x").is_err());
    }

    #[test]
    fn answers_are_arrays_of_strings() {
        let plain = suggest("GET", "type=metrics", "").unwrap();
        assert_eq!(plain.answer(["a", "b\"c"]), r#"["a","b\"c"]"#);
        let wrapped = suggest("GET", "type=metrics&jsonp=cb", "").unwrap();
        assert_eq!(wrapped.answer([]), "cb([])");
    }

    #[test]
    fn the_door_tells_what_it_can_do() {
        let names: Vec<String> = serde_json::from_str(&aggregators_json()).unwrap();
        assert!(names.len() == 35 && names.iter().any(|name| name == "squareSum"));
        let filters: Value = serde_json::from_str(&filters_json()).unwrap();
        let filters = filters.as_object().unwrap();
        // Those of OpenTSDB, and `not_regexp`.
        assert_eq!(filters.len(), 8);
        assert!(
            filters.values().all(|f| f["description"].is_string() && f["examples"].is_string())
        );
        for text in [status_json(), dropcaches_json(), &serializers_json()] {
            assert!(serde_json::from_str::<Value>(text).is_ok());
        }
    }
}
