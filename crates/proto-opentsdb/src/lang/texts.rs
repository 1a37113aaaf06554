//! The texts behind `m=` by which the questions of a request are asked again.

use crate::http::Params;
use crate::json::{is_blank, scalar_text};
use serde_json::{Map, Value};

/// The texts of a request's questions; nothing where one of them says what no text can.
pub fn texts(params: &Params, body: &[u8]) -> Option<Vec<String>> {
    if is_blank(body) {
        let texts: Vec<String> = params.all("m").map(str::to_owned).collect();
        // Windows of a calendar, and of a zone, begin elsewhere.
        let other = ["tsuid", "use_calendar", "timezone", "tz"];
        let is_plain = !texts.is_empty() && !other.iter().any(|name| params.has(name));
        return is_plain.then_some(texts);
    }
    let body: Value = serde_json::from_slice(body).ok()?;
    let is_said = |name: &str| body.get(name).is_some_and(|value| !is_nothing(value));
    if is_said("useCalendar") || is_said("timezone") {
        return None;
    }
    body.get("queries")?.as_array()?.iter().map(text_of).collect()
}

/// The text of one question as the JSON form has it.
pub fn text_of(question: &Value) -> Option<String> {
    const SAID: [&str; 7] =
        ["metric", "aggregator", "downsample", "rate", "rateOptions", "tags", "filters"];
    // A number that clients give their questions.
    let is_beside = |name: &str| name == "index";
    let question = question.as_object()?;
    let is_known = |(name, value): (&String, &Value)| {
        SAID.contains(&name.as_str()) || is_beside(name) || is_nothing(value)
    };
    if !question.iter().all(is_known) {
        return None;
    }
    let said = |name: &str| question.get(name).and_then(Value::as_str).filter(|it| !it.is_empty());
    let mut parts = vec![said("aggregator")?.to_owned()];
    parts.extend(said("downsample").map(str::to_owned));
    if is_set(question, "rate") {
        parts.push(rate(question.get("rateOptions"))?);
    }
    // Such a name is another thing in a text.
    let metric = said("metric").filter(|name| !name.contains([':', '{', '}']))?;
    parts.push(format!("{metric}{}", braces(question)?));
    Some(parts.join(":"))
}

/// Whether a value asks for nothing: programs say what is not wanted, too.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn is_set(of: &Map<String, Value>, name: &str) -> bool {
    of.get(name).and_then(scalar_text).is_some_and(|text| text == "true")
}

fn rate(options: Option<&Value>) -> Option<String> {
    let none = Map::new();
    let options = match options {
        None | Some(Value::Null) => &none,
        Some(options) => options.as_object()?,
    };
    let number = |name: &str| options.get(name).filter(|it| !it.is_null()).and_then(scalar_text);
    if is_set(options, "dropResets") {
        return Some("rate{dropcounter}".to_owned());
    }
    if !is_set(options, "counter") {
        return Some("rate".to_owned());
    }
    Some(match (number("counterMax"), number("resetValue")) {
        (None, None) => "rate{counter}".to_owned(),
        (Some(max), None) => format!("rate{{counter,{max}}}"),
        (max, Some(reset)) => format!("rate{{counter,{},{reset}}}", max.unwrap_or_default()),
    })
}

/// What a question says of labels: those that tell lines apart, and then the others.
fn braces(question: &Map<String, Value>) -> Option<String> {
    let (mut split, mut other) = (Vec::new(), Vec::new());
    if let Some(tags) = question.get("tags").filter(|tags| !tags.is_null()) {
        for (name, value) in tags.as_object()? {
            split.push(format!("{name}={}", scalar_text(value)?));
        }
    }
    for filter in question.get("filters").and_then(Value::as_array).into_iter().flatten() {
        let said = |name: &str| filter.get(name).and_then(Value::as_str);
        let text = format!("{}={}({})", said("tagk")?, said("type")?, said("filter")?);
        match filter.get("groupBy").and_then(Value::as_bool) {
            Some(true) => split.push(text),
            _ => other.push(text),
        }
    }
    Some(match (split.is_empty(), other.is_empty()) {
        (true, true) => String::new(),
        (_, true) => format!("{{{}}}", split.join(",")),
        (_, false) => format!("{{{}}}{{{}}}", split.join(","), other.join(",")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_become_the_texts_that_ask_the_same() {
        let query = "start=1h-ago&m=sum:1m-avg:cpu%7Bhost=*%7D&m=avg:mem";
        assert_eq!(
            texts(&Params::parse(query), b"").unwrap(),
            ["sum:1m-avg:cpu{host=*}", "avg:mem"]
        );
        assert_eq!(texts(&Params::parse("start=1h-ago&tsuid=sum:01&m=sum:a"), b""), None);
        let body = br#"{"start": "1h-ago", "queries": [
            {"aggregator": "sum", "metric": "cpu", "downsample": "1m-avg", "rate": true,
             "rateOptions": {"counter": true, "counterMax": 255, "resetValue": 9},
             "tags": {"host": "a|b"}, "explicitTags": false, "percentiles": []},
            {"aggregator": "avg", "metric": "mem", "index": 1, "rate": true,
             "filters": [{"type": "wildcard", "tagk": "dc", "filter": "e*", "groupBy": false}]}]}"#;
        let wanted =
            ["sum:1m-avg:rate{counter,255,9}:cpu{host=a|b}", "avg:rate:mem{}{dc=wildcard(e*)}"];
        assert_eq!(texts(&Params::default(), body).unwrap(), wanted);
        let calendar =
            br#"{"useCalendar": true, "queries": [{"aggregator": "sum", "metric": "a"}]}"#;
        assert_eq!(texts(&Params::default(), calendar), None);
        let tsuids = br#"{"queries": [{"aggregator": "sum", "tsuids": ["0101"]}]}"#;
        assert_eq!(texts(&Params::default(), tsuids), None);
    }
}
