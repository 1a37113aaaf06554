//! Words of what deletes or changes something. OpenTSDB passes over what it does not know, so that
//! a misspelt condition is none and more changes than was meant: here such a request is refused.

use super::get::parts;
use crate::http::{Endpoint, HttpError, HttpRequest, Params};
use crate::json;
use serde_json::Value;

/// Parameters that every request may have.
const EVERYWHERE: [&str; 5] = ["db", "rp", "jsonp", "serializer", "method_override"];

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

/// Parameters that choose what is asked. A body says all of it and these are not looked at, so that
/// more would be deleted than whoever sends both means.
const CHOOSING: [&str; 8] =
    ["start", "end", "m", "tsuid", "tz", "timezone", "use_calendar", "delete"];

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

/// Parameters that ask for one thing each.
const LISTS: [&str; 2] = ["m", "tsuid"];

const FILTER_MEMBERS: [&str; 4] = ["type", "tagk", "filter", "groupBy"];

/// Beginnings of the parts between the aggregator and the metric of `m`; a number is a window.
const OPTIONS: [&str; 6] =
    ["rate", "explicit_tags", "percentiles", "pre-agg", "rollup_", "show-histogram-buckets"];

/// Refuses a question that deletes and has a word which means nothing, also not to whoever asks,
/// who knows of `others`; that says something twice; or whose end is empty, as a text is into which
/// nothing was filled, and would be now.
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
    refuse_twice(&params, &LISTS)?;
    if params.get("end") == Some("") {
        return Err(empty_end());
    }
    for text in params.all("m").chain(params.all("tsuid")) {
        let parts = parts(text);
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
    if let Some(name) = params.names().find(|name| CHOOSING.contains(name)) {
        let message = format!("Nothing is changed: '{name}' is no part of a body's question");
        let details = "What is deleted is said in the body, and nothing of it in the URL";
        return Err(HttpError::bad_request(message).with_details(details));
    }
    let body = json::parse_once(request.body)?;
    if body.get("end").is_some_and(|end| end == "") {
        return Err(empty_end());
    }
    refuse_unknown(members(&body), |name| MEMBERS.contains(&name) || others(name))?;
    for question in json::list(&body, "queries")? {
        refuse_unknown(members(question), |name| QUESTION_MEMBERS.contains(&name))?;
        for filter in json::list(question, "filters")? {
            refuse_unknown(members(filter), |name| FILTER_MEMBERS.contains(&name))?;
        }
    }
    Ok(())
}

/// What a request that changes facts may say: its parameters, and members of its body.
type Words = (&'static [&'static str], &'static [&'static str]);

/// What an order about UIDs may name.
pub(crate) const UID_WORDS: [&str; 4] = ["metric", "tagk", "tagv", "name"];
const UIDMETA: Words = (
    &["uid", "type", "display_name", "description", "notes"],
    &["uid", "type", "name", "displayName", "description", "notes", "created", "custom"],
);
const TSMETA: Words = (
    &[
        "tsuid",
        "m",
        "create",
        "display_name",
        "description",
        "notes",
        "units",
        "data_type",
        "retention",
        "max",
        "min",
    ],
    &[
        "tsuid",
        "metric",
        "tags",
        "displayName",
        "description",
        "notes",
        "created",
        "custom",
        "units",
        "dataType",
        "retention",
        "max",
        "min",
        "lastReceived",
        "totalDatapoints",
    ],
);
const NOTE: Words = (
    &["start_time", "end_time", "tsuid", "description", "notes"],
    &["startTime", "endTime", "tsuid", "description", "notes", "custom"],
);
const NOTES: Words = (
    &["start_time", "end_time", "tsuids", "global"],
    &["startTime", "endTime", "tsuids", "global"],
);
const TREE: Words = (
    &[
        "treeid",
        "name",
        "description",
        "notes",
        "strict_match",
        "enabled",
        "store_failures",
        "definition",
    ],
    &[
        "treeId",
        "name",
        "description",
        "notes",
        "strictMatch",
        "enabled",
        "storeFailures",
        "definition",
        "created",
        "rules",
    ],
);
const RULE: Words = (
    &[
        "treeid",
        "level",
        "order",
        "type",
        "field",
        "custom_field",
        "regex",
        "separator",
        "description",
        "notes",
        "regex_group_idx",
        "display_format",
    ],
    &[
        "treeId",
        "level",
        "order",
        "type",
        "field",
        "customField",
        "regex",
        "separator",
        "description",
        "notes",
        "regexGroupIdx",
        "displayFormat",
    ],
);
const ALL_RULES: Words = (&["treeid"], &["treeId"]);
const LEAVES: Words = (&["treeid", "branch", "tsuids"], &["treeId", "branch", "tsuids"]);

/// Refuses a request that changes facts and has a word which means nothing there, or says something
/// twice: also once in the URL and once in the body, of which one would be passed over.
///
/// # Errors
/// 400 with that word.
pub(crate) fn check_change(
    endpoint: Endpoint,
    tail: &str,
    request: &HttpRequest<'_>,
) -> Result<(), HttpError> {
    let params = Params::parse(request.query);
    refuse_twice(&params, &[])?;
    let body = match json::is_blank(request.body) {
        true => None,
        false => Some(json::parse_once(request.body)?),
    };
    let deletes = crate::http::method(request) == "DELETE";
    let (known_params, known_members): Words = match (endpoint, tail) {
        // Names of kinds that are none are told in the answer.
        (Endpoint::Uid, "assign") => (&UID_WORDS, &[]),
        // As OpenTSDB it passes over other parameters, and refuses members itself.
        (Endpoint::Uid, "rename") => {
            return refuse_both(&params, body.as_ref(), &UID_WORDS);
        }
        (Endpoint::Uid, "uidmeta") => UIDMETA,
        (Endpoint::Uid, "tsmeta") => TSMETA,
        (Endpoint::Annotation, _) if tail.ends_with("bulk") && deletes => NOTES,
        (Endpoint::Annotation, _) => NOTE,
        (Endpoint::Tree, "") => TREE,
        // All rules of the tree go: whoever names one of them means `rule`.
        (Endpoint::Tree, "rules") if deletes => ALL_RULES,
        (Endpoint::Tree, "rule" | "rules") => RULE,
        (Endpoint::Tree, _) => LEAVES,
        _ => return Ok(()),
    };
    let is_param = |name: &str| known_params.contains(&name) || EVERYWHERE.contains(&name);
    refuse_unknown(params.names(), is_param)?;
    refuse_both(&params, body.as_ref(), known_params)?;
    let each = match &body {
        _ if known_members.is_empty() => &[],
        None => &[],
        Some(Value::Array(list)) => list.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    let mut named = each.iter().flat_map(members);
    refuse_unknown(&mut named, |name| known_members.contains(&name))
}

/// The names of an object's members.
fn members(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flat_map(|members| members.keys()).map(String::as_str)
}

/// Refuses a parameter that is given twice and is none of `lists`.
fn refuse_twice(params: &Params, lists: &[&str]) -> Result<(), HttpError> {
    match params.twice(lists) {
        None => Ok(()),
        Some(name) => {
            Err(HttpError::bad_request(format!("Nothing is changed: '{name}' is given twice")))
        }
    }
}

/// Parameters that say how a body is taken, and nothing that a body could say too.
const BESIDE_BODIES: [&str; 2] = ["m", "create"];

/// Refuses a parameter that says what is to change beside a body, which says it too.
fn refuse_both(params: &Params, body: Option<&Value>, words: &[&str]) -> Result<(), HttpError> {
    let is_said = |name: &&str| words.contains(name) && !BESIDE_BODIES.contains(name);
    match params.names().find(is_said).filter(|_| body.is_some()) {
        None => Ok(()),
        Some(name) => {
            let message = format!("Nothing is changed: '{name}' is in the URL, beside a body");
            let details = "Say what is to change in the URL or in the body: either may be meant";
            Err(HttpError::bad_request(message).with_details(details))
        }
    }
}

fn empty_end() -> HttpError {
    let details = "Leave it out to delete until now";
    HttpError::bad_request("Nothing is changed: 'end' is empty").with_details(details)
}

/// Refuses a name that is not known.
///
/// # Errors
/// 400 with the first such name.
fn refuse_unknown<'a>(
    mut names: impl Iterator<Item = &'a str>,
    is_known: impl Fn(&str) -> bool,
) -> Result<(), HttpError> {
    match names.find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("Nothing is changed: '{name}' is not known");
            let details = "A misspelt condition would change more than was meant";
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
        check("ms&db=d&dry_run", good).unwrap();
        for query in ["start=5", "end=6", "m=sum:x{h=a}", "delete=false", "tsuid=sum:0001"] {
            let error = check(query, good).unwrap_err();
            assert!(error.contains("no part of a body's question"), "{query}: {error}");
        }
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

    #[test]
    fn a_misspelt_word_of_a_change_is_told() {
        let check = |endpoint, path: &str, query: &str, body: &str| {
            let body = body.as_bytes();
            let request = HttpRequest { method: "POST", path, query, body };
            let tail = crate::http::tail(&request);
            check_change(endpoint, &tail, &request).map_err(|error| error.message)
        };
        use Endpoint::{Annotation, Tree, Uid};
        for (endpoint, path, query, body, wrong) in [
            (Uid, "/api/uid/rename", "db=d", r#"{"metric":"a","name":"b"}"#, ""),
            (Uid, "/api/uid/assign", "", r#"{"metrik":["a"]}"#, ""),
            (Uid, "/api/uid/uidmeta", "", r#"{"uid":"000001","type":"metric","note":""}"#, "note"),
            (Uid, "/api/uid/tsmeta", "create=true&m=a&tsuids=1", "", "tsuids"),
            (Annotation, "/api/annotation", "", r#"{"startTime":1,"tsuids":"01"}"#, "tsuids"),
            (Annotation, "/api/annotation/bulk", "", r#"[{"startTime":1},{"end":2}]"#, "end"),
            (Tree, "/api/tree", "method_override=delete", r#"{"treeid":1}"#, "treeid"),
            (Tree, "/api/tree/rules", "", r#"[{"treeId":1,"levle":2}]"#, "levle"),
            (Tree, "/api/tree/rule", "treeid=1&levels=0", "", "levels"),
            (Uid, "/api/uid/rename", "tagk=a", r#"{"metric":"a","name":"b"}"#, "tagk"),
            (Uid, "/api/uid/rename", "name=a", r#"{"metric":"a","name":"b"}"#, "name"),
            (Uid, "/api/uid/rename", "metric=a&name=b", "", ""),
            (Uid, "/api/uid/assign", "metric=a", r#"{"metric":["b"]}"#, "metric"),
            (Uid, "/api/uid/tsmeta", "m=sum:a&create=true", r#"{"notes":"a"}"#, ""),
            (Annotation, "/api/annotation", "start_time=2", r#"{"startTime":1}"#, "start_time"),
            (Tree, "/api/tree/test", "", r#"{"treeId":1,"tsuids":[]}"#, ""),
        ] {
            match (wrong, check(endpoint, path, query, body)) {
                ("", told) => assert_eq!(told, Ok(()), "{path} {query} {body}"),
                (_, told) => assert!(told.unwrap_err().contains(&format!("'{wrong}'")), "{path}"),
            }
        }
        let request =
            |query| HttpRequest { method: "DELETE", path: "/api/tree/rules", query, body: b"" };
        assert_eq!(check_change(Tree, "rules", &request("treeid=1")), Ok(()));
        assert!(check_change(Tree, "rules", &request("treeid=1&level=0")).is_err());
    }
}
