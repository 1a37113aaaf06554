//! Words of a question that deletes. OpenTSDB passes over what it does not know, so that a misspelt
//! condition is none and more goes than was meant: here such a question is refused.

use crate::http::{HttpError, HttpRequest, Params};
use crate::json;
use serde_json::Value;

/// Parameters that every request may have.
pub(crate) const EVERYWHERE: [&str; 5] = ["db", "rp", "jsonp", "serializer", "method_override"];

const PARAMS: [&str; 17] = [
    "start",
    "end",
    "m",
    "tsuid",
    "tz",
    "timezone",
    "use_calendar",
    "delete",
    "ms",
    "arrays",
    "show_query",
    "show_tsuids",
    "show_stats",
    "show_summary",
    "no_annotations",
    "global_annotations",
    "padding",
];

const MEMBERS: [&str; 15] = [
    "start",
    "end",
    "timezone",
    "queries",
    "delete",
    "useCalendar",
    "msResolution",
    "showQuery",
    "showTSUIDs",
    "showStats",
    "showSummary",
    "noAnnotations",
    "globalAnnotations",
    "padding",
    "options",
];

const QUESTION_MEMBERS: [&str; 14] = [
    "aggregator",
    "metric",
    "tsuids",
    "tags",
    "filters",
    "explicitTags",
    "downsample",
    "rate",
    "rateOptions",
    "percentiles",
    "showHistogramBuckets",
    "rollupUsage",
    "preAggregate",
    "index",
];

const FILTER_MEMBERS: [&str; 4] = ["type", "tagk", "filter", "groupBy"];

/// Beginnings of the parts between the aggregator and the metric of `m`; a number is a window.
const OPTIONS: [&str; 6] =
    ["rate", "explicit_tags", "percentiles", "pre-agg", "rollup_", "show-histogram-buckets"];

/// Refuses a question that deletes and has a word which means nothing, also not to whoever asks,
/// who knows of `others`.
///
/// # Errors
/// 400 with that word.
pub fn check_words(
    request: &HttpRequest<'_>,
    others: impl Fn(&str) -> bool,
) -> Result<(), HttpError> {
    let params = Params::parse(request.query);
    let is_param =
        |name: &str| PARAMS.contains(&name) || EVERYWHERE.contains(&name) || others(name);
    refuse_unknown(params.names(), is_param)?;
    for text in params.all("m").chain(params.all("tsuid")) {
        let parts: Vec<&str> = text.split(':').collect();
        let options = match &parts[..] {
            [_, options @ .., _] => options,
            _ => &[],
        };
        refuse_unknown(options.iter().copied(), |option| {
            let option = option.to_ascii_lowercase();
            let is_window = option.starts_with(|first: char| first.is_ascii_digit());
            is_window || OPTIONS.iter().any(|known| option.starts_with(known))
        })?;
    }
    if json::is_blank(request.body) {
        return Ok(());
    }
    let body = json::parse_object(request.body)?;
    refuse_unknown(members(&body), |name| MEMBERS.contains(&name) || others(name))?;
    for question in json::list(&body, "queries")? {
        refuse_unknown(members(question), |name| QUESTION_MEMBERS.contains(&name))?;
        for filter in json::list(question, "filters")? {
            refuse_unknown(members(filter), |name| FILTER_MEMBERS.contains(&name))?;
        }
    }
    Ok(())
}

/// The names of an object's members.
pub(crate) fn members(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flat_map(|members| members.keys()).map(String::as_str)
}

/// Refuses a name that is not known.
///
/// # Errors
/// 400 with the first such name.
pub(crate) fn refuse_unknown<'a>(
    mut names: impl Iterator<Item = &'a str>,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), HttpError> {
    match names.find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("Nothing is deleted: '{name}' is not known");
            let details = "A misspelt condition would delete more than was meant";
            Err(HttpError::bad_request(message).with_details(details))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_of_a_delete_is_told() {
        let check = |query: &str, body: &str| {
            let body = body.as_bytes();
            let request = HttpRequest { method: "DELETE", path: "/api/query", query, body };
            check_words(&request, |name| name == "dry_run").map_err(|error| error.message)
        };
        for query in [
            "start=1&end=2&m=sum:1m-avg:explicit_tags:rate{counter}:x{host=a}&ms&db=d",
            "start=1&tsuid=sum:0001&dry_run",
        ] {
            check(query, "").unwrap();
        }
        let good = r#"{"start":1,"queries":[{"aggregator":"sum","metric":"x","index":0,
            "filters":[{"type":"literal_or","tagk":"h","filter":"a","groupBy":true}]}]}"#;
        check("", good).unwrap();
        for (query, body, word) in [
            ("start=1&ende=2&m=sum:x", String::new(), "ende"),
            ("start=1&m=sum:explicit_tag:x", String::new(), "explicit_tag"),
            ("", good.replace("\"start\"", "\"end_\":2,\"start\""), "end_"),
            ("", good.replace("\"filters\"", "\"filter\""), "filter"),
            ("", good.replace("groupBy", "groupby"), "groupby"),
        ] {
            let error = check(query, &body).unwrap_err();
            assert!(error.contains(&format!("'{word}'")), "{error}");
        }
    }
}
