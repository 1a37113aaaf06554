//! `/api/search`: which series there are, by metric and tags.
//!
//! `lookup` answers from the index: distinct series, each once. The other kinds of search need a
//! search engine beside OpenTSDB; their questions about names are answered by `/api/suggest`.

use crate::http::{HttpError, HttpRequest, Params, method, missing_parameter};
use crate::json;
use crate::key::text_of;
use crate::lang::{Request, RequiredName};
use crate::view::{Answer, Stored, View, any_series, matcher};
use foliot_model::{Selector, Test};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

/// How many series are shown unless the request says otherwise.
const SERIES: i64 = 25;

/// A lookup as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Lookup {
    /// The metric as it was asked for, perhaps `*`; nothing when none was named.
    metric: Option<String>,
    /// Names and values of tags; nothing for any.
    tags: Vec<(Option<String>, Option<String>)>,
    limit: i64,
    start: i64,
}

/// Answers a search.
///
/// # Errors
/// 400 for what does not parse and for kinds that are not answered, 404 for names that nothing has.
pub(crate) fn answer(
    request: &HttpRequest<'_>,
    tail: &str,
    view: &View<'_>,
) -> Result<Answer, HttpError> {
    match tail {
        "lookup" => lookup(request, view),
        "tsmeta" | "tsmeta_summary" | "tsuids" | "uidmeta" | "annotation" => {
            Err(HttpError::bad_request("Searching is not enabled"))
        }
        _ => Err(HttpError::bad_request("Invalid search query type supplied")),
    }
}

fn lookup(request: &HttpRequest<'_>, view: &View<'_>) -> Result<Answer, HttpError> {
    let began = Instant::now();
    let params = Params::parse(request.query);
    let lookup = match method(request).as_str() {
        _ if !json::is_blank(request.body) => Lookup::from_json(&json::parse_object(request.body)?),
        _ => Lookup::from_params(&params),
    }?;
    lookup.check_names(view)?;
    let (total, found) = lookup.find(view)?;
    let tag = |(key, value): &(Option<String>, Option<String>)| {
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "*".to_owned());
        json!({"key": shown(key), "value": shown(value)})
    };
    let mut body = json!({
        "type": "LOOKUP",
        "tags": lookup.tags.iter().map(tag).collect::<Vec<_>>(),
        "limit": lookup.limit,
        "startIndex": lookup.start,
        "totalResults": total,
        "time": began.elapsed().as_millis() as f64,
        "results": found.iter().map(result).collect::<Vec<_>>(),
    });
    if let (Some(metric), Some(members)) = (&lookup.metric, body.as_object_mut()) {
        members.insert("metric".to_owned(), json!(metric));
    }
    Ok(Answer::ok(&body))
}

fn result(stored: &Stored) -> Value {
    let tags: BTreeMap<&str, &str> =
        stored.tags.iter().map(|tag| (&*tag.name, &*tag.value)).collect();
    json!({"tsuid": stored.tsuid.to_string(), "metric": stored.metric, "tags": tags})
}

/// A name, unless it says that any will do.
fn named(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty() && text != "*")
}

impl Lookup {
    fn from_params(params: &Params) -> Result<Self, HttpError> {
        let text = params.get("m").ok_or_else(|| missing_parameter("m"))?;
        let (metric, tags) = parse_pattern(text)
            .map_err(|error| HttpError::bad_request("Unable to parse query").with_details(error))?;
        let number = |name: &str, default| match params.get(name) {
            None => Ok(default),
            Some(text) => text.parse::<i64>().map_err(|_| {
                HttpError::bad_request(format!("Unable to convert '{name}' to a valid number"))
            }),
        };
        let (limit, start) = (number("limit", SERIES)?, number("start_index", 0)?);
        Ok(Self { metric, tags, limit, start })
    }

    fn from_json(body: &Value) -> Result<Self, HttpError> {
        let metric = json::text(body, "metric")?;
        let mut tags = Vec::new();
        for tag in json::list(body, "tags")? {
            let part = |name| Ok::<_, HttpError>(json::text(tag, name)?.as_deref().and_then(named));
            tags.push((part("key")?, part("value")?));
        }
        Ok(Self {
            metric: Some(metric.unwrap_or_else(|| "*".to_owned())),
            tags,
            limit: json::integer(body, "limit")?.unwrap_or(SERIES),
            start: json::integer(body, "startIndex")?.unwrap_or(0),
        })
    }

    /// The metric; nothing for any.
    fn one_metric(&self) -> Option<&str> {
        self.metric.as_deref().filter(|metric| *metric != "*")
    }

    fn check_names(&self, view: &View<'_>) -> Result<(), HttpError> {
        let mut names: Vec<RequiredName<'_>> = Vec::new();
        names.extend(self.one_metric().map(RequiredName::Metric));
        for (key, value) in &self.tags {
            names.extend(key.as_deref().map(RequiredName::TagKey));
            names.extend(value.as_deref().map(RequiredName::TagValue));
        }
        for name in names {
            if !view.unknown_is_empty && !(view.exists)(&name)? {
                let reason = name.error().message;
                let error = HttpError::new(404, "Unable to resolve one or more UIDs");
                return Err(error.with_details(reason));
            }
        }
        Ok(())
    }

    /// How many series there are, and those that are to be shown.
    fn find(&self, view: &View<'_>) -> Result<(usize, Vec<Stored>), HttpError> {
        let mut selector = match self.one_metric() {
            Some(metric) => Request::metric_selector(view.namespace, metric),
            None => any_series(view.namespace),
        };
        // Values of one key are alternatives; a key with any value outweighs them.
        let mut keys: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut anywhere: Vec<String> = Vec::new();
        for (key, value) in &self.tags {
            match (key, value) {
                (Some(key), Some(value)) => {
                    keys.entry(key).or_default().push(value.clone());
                }
                (Some(key), None) => {
                    keys.entry(key).or_default().insert(0, "*".to_owned());
                }
                (None, Some(value)) => anywhere.push(value.clone()),
                (None, None) => {}
            }
        }
        for (key, values) in keys {
            let is_any = values.first().is_some_and(|value| value == "*");
            let test = if is_any { Test::Any } else { Test::AnyOf(values) };
            selector.matchers.push(matcher(key, test));
        }
        let sids = match anywhere.is_empty() {
            true => (view.select)(&selector)?,
            false => select_anywhere(&selector, anywhere, view)?,
        };
        let start = usize::try_from(self.start).unwrap_or(0);
        let limit = usize::try_from(self.limit).ok().filter(|&limit| limit > 0);
        let limit = limit.unwrap_or(usize::MAX);
        let mut found = Vec::new();
        for &sid in sids.iter().skip(start).take(limit) {
            found.extend((view.stored)(sid)?);
        }
        Ok((sids.len(), found))
    }
}

/// The series that have one of some values under whatever key.
fn select_anywhere(
    selector: &Selector,
    values: Vec<String>,
    view: &View<'_>,
) -> Result<Vec<u32>, HttpError> {
    let mut sids = Vec::new();
    for key in (view.tag_names)(selector)? {
        let mut of_key = selector.clone();
        of_key.matchers.push(matcher(&key, Test::AnyOf(values.clone())));
        sids.extend((view.select)(&of_key)?);
    }
    sids.sort_unstable();
    sids.dedup();
    Ok(sids)
}

/// A metric and pairs of tags, either of which may be left open.
type Pattern = (Option<String>, Vec<(Option<String>, Option<String>)>);

/// Reads `metric{k=v,…}`, where any of the three may be missing or an asterisk.
fn parse_pattern(text: &str) -> Result<Pattern, String> {
    if text.is_empty() {
        return Err("Metric string was empty".to_owned());
    }
    let Some((metric, braces)) = text.split_once('{') else {
        return Ok((Some(text.to_owned()), Vec::new()));
    };
    let Some(inner) = braces.strip_suffix('}') else {
        return Err(format!("Missing '}}' at the end of: {text}"));
    };
    if metric.is_empty() && inner.is_empty() {
        return Err(format!("Missing metric and tags: {text}"));
    }
    let mut tags = Vec::new();
    for tag in inner.split(',').filter(|_| !inner.is_empty()) {
        let bad = || format!("When parsing tag '{tag}': invalid tag: {}", text_of(tag.as_bytes()));
        let (key, value) = tag.split_once('=').ok_or_else(bad)?;
        if value.contains('=') || key.is_empty() && value.is_empty() {
            return Err(bad());
        }
        tags.push((named(key), named(value)));
    }
    Ok((Some(metric.to_owned()).filter(|metric| !metric.is_empty()), tags))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let some = |text: &str| Some(text.to_owned());
        let parse = |text| parse_pattern(text).unwrap();
        assert_eq!(parse("m"), (some("m"), vec![]));
        assert_eq!(
            parse("*{h=a,dc=*}"),
            (some("*"), vec![(some("h"), some("a")), (some("dc"), None)])
        );
        assert_eq!(parse("{h=}"), (None, vec![(some("h"), None)]));
        assert_eq!(parse("m{*=v,=w}"), (some("m"), vec![(None, some("v")), (None, some("w"))]));
        assert_eq!(parse("m{}"), (some("m"), vec![]));
        for text in ["", "{}", "m{h", "m{h}", "m{=}", "m{a=b=c}"] {
            assert!(parse_pattern(text).is_err(), "{text}");
        }
    }
}
