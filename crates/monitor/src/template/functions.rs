//! The functions of templates: those of Go, and those of Prometheus.

use super::print::{general, printf};
use super::{Asks, Row, Value};
use crate::length::read_length;
use crate::target::escaped;
use foliot_model::{Pattern, expand};
use regex::Regex;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Memory that an expression of `match` or `reReplaceAll` may take.
const REGEX_BYTES_MAX: usize = 1 << 20;

const KNOWN: [&str; 46] = [
    "and",
    "args",
    "eq",
    "externalURL",
    "first",
    "ge",
    "graphLink",
    "gt",
    "html",
    "humanize",
    "humanize1024",
    "humanizeDuration",
    "humanizePercentage",
    "humanizeTimestamp",
    "index",
    "label",
    "le",
    "len",
    "lt",
    "match",
    "ne",
    "not",
    "now",
    "or",
    "parseDuration",
    "pathPrefix",
    "print",
    "printf",
    "println",
    "query",
    "reReplaceAll",
    "safeHtml",
    "slice",
    "sortByLabel",
    "stripDomain",
    "stripPort",
    "strvalue",
    "tableLink",
    "title",
    "toDuration",
    "toLower",
    "toTime",
    "toUpper",
    "urlquery",
    "urlQueryEscape",
    "value",
];

/// Whether there is such a function.
pub(super) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// Calls a function.
pub(super) fn call(
    name: &str,
    arguments: Vec<Value>,
    asks: &mut Asks<'_>,
) -> Result<Value, String> {
    let told = |reason: String| format!("{name}: {reason}");
    if let Some(value) = about_values(name, &arguments).map_err(told)? {
        return Ok(value);
    }
    if let Some(value) = about_texts(name, &arguments, asks).map_err(told)? {
        return Ok(value);
    }
    about_series(name, arguments, asks).map_err(told)
}

fn wrong(arguments: &[Value]) -> String {
    format!("{} arguments of these kinds are not taken", arguments.len())
}

/// Go's own, and what is made of numbers.
fn about_values(name: &str, arguments: &[Value]) -> Result<Option<Value>, String> {
    let truth = |truth: bool| Ok(Some(Value::Truth(truth)));
    let humanized = |humanize: &dyn Fn(f64) -> String| match arguments {
        [value] => Ok(Some(Value::Text(humanize(number(value)?)))),
        _ => Err(wrong(arguments)),
    };
    match (name, arguments) {
        ("not", [value]) => truth(!value.is_true()),
        ("eq", [first, rest @ ..]) if !rest.is_empty() => {
            truth(rest.iter().any(|value| compare(first, value) == Some(Ordering::Equal)))
        }
        ("ne", [a, b]) => truth(compare(a, b) != Some(Ordering::Equal)),
        ("lt" | "le" | "gt" | "ge", [a, b]) => {
            let is_number = |value: &Value| matches!(value, Value::Float(_) | Value::Whole(_));
            let is_text = |value: &Value| matches!(value, Value::Text(_));
            if !(is_number(a) && is_number(b) || is_text(a) && is_text(b)) {
                return Err(format!("{a} and {b} cannot be compared"));
            }
            let ordering = compare(a, b);
            truth(ordering.is_some_and(|ordering| match name {
                "lt" => ordering.is_lt(),
                "le" => ordering.is_le(),
                "gt" => ordering.is_gt(),
                _ => ordering.is_ge(),
            }))
        }
        ("len", [value]) => Ok(Some(Value::Whole(length(value)? as i64))),
        ("index", [value, keys @ ..]) => {
            let found = keys.iter().try_fold(value.clone(), |value, key| index(&value, key));
            found.map(Some)
        }
        ("slice", [Value::Text(text), from, rest @ ..]) => {
            let to = rest.first().map_or(Ok(text.len()), place)?;
            let part = text.get(place(from)?..to).ok_or("there is no such part")?;
            Ok(Some(Value::Text(part.to_owned())))
        }
        ("slice", [Value::List(list), from, rest @ ..]) => {
            let to = rest.first().map_or(Ok(list.len()), place)?;
            let part = list.get(place(from)?..to).ok_or("there is no such part")?;
            Ok(Some(Value::List(part.to_vec())))
        }
        ("humanize", _) => humanized(&humanize),
        ("humanize1024", _) => humanized(&humanize_1024),
        ("humanizeDuration", _) => humanized(&humanize_duration),
        ("humanizePercentage", _) => humanized(&|value| general(value * 100.0, 4) + "%"),
        ("humanizeTimestamp", _) => humanized(&humanize_timestamp),
        ("toTime", _) => humanized(&humanize_timestamp),
        ("toDuration", [value]) => {
            let seconds = number(value)?;
            Ok(Some(Value::Text(humanize_duration(seconds))))
        }
        ("parseDuration", [Value::Text(text)]) => {
            Ok(Some(Value::Float(read_length(text)? as f64 / 1000.0)))
        }
        _ => Ok(None),
    }
}

/// What makes texts, and of texts.
fn about_texts(name: &str, arguments: &[Value], asks: &Asks<'_>) -> Result<Option<Value>, String> {
    let text = |text: String| Ok(Some(Value::Text(text)));
    match (name, arguments) {
        ("print", values) => {
            // As in Go, numbers are told apart by spaces and texts are not.
            let (mut out, mut before_is_text) = (String::new(), true);
            for value in values {
                let is_text = matches!(value, Value::Text(_));
                if !out.is_empty() && !is_text && !before_is_text {
                    out.push(' ');
                }
                out.push_str(&value.to_string());
                before_is_text = is_text;
            }
            text(out)
        }
        ("println", values) => {
            let texts: Vec<String> = values.iter().map(Value::to_string).collect();
            text(texts.join(" ") + "\n")
        }
        ("printf", [Value::Text(format), values @ ..]) => text(printf(format, values)),
        ("toUpper", [value]) => text(value.to_string().to_uppercase()),
        ("toLower", [value]) => text(value.to_string().to_lowercase()),
        ("title", [value]) => text(title(&value.to_string())),
        ("safeHtml", [value]) => text(value.to_string()),
        ("html", values) => {
            let whole: String = values.iter().map(Value::to_string).collect();
            let pairs =
                [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\"", "&#34;"), ("'", "&#39;")];
            text(pairs.iter().fold(whole, |whole, (from, to)| whole.replace(from, to)))
        }
        ("urlquery" | "urlQueryEscape", [value]) => text(escaped(&value.to_string())),
        ("match", [Value::Text(pattern), Value::Text(whole)]) => {
            Ok(Some(Value::Truth(regex(pattern)?.is_match(whole))))
        }
        ("reReplaceAll", [Value::Text(pattern), Value::Text(to), Value::Text(whole)]) => {
            let said = |found: &regex::Captures<'_>| {
                let mut out = String::new();
                expand(found, to, &mut out);
                out
            };
            text(regex(pattern)?.replace_all(whole, said).into_owned())
        }
        ("stripPort", [value]) => text(split_port(&value.to_string()).0.to_owned()),
        ("stripDomain", [value]) => text(strip_domain(&value.to_string())),
        ("graphLink" | "tableLink", [value]) => {
            let tab = u8::from(name == "tableLink");
            text(format!("/graph?g0.expr={}&g0.tab={tab}", escaped(&value.to_string())))
        }
        ("externalURL", []) => text(asks.external_url.to_owned()),
        ("pathPrefix", []) => {
            let rest = asks.external_url.split_once("://").map_or("", |(_, rest)| rest);
            text(rest.find('/').and_then(|at| rest.get(at..)).unwrap_or_default().to_owned())
        }
        ("now", []) => Ok(Some(Value::Float(asks.now_ms as f64 / 1000.0))),
        _ => Ok(None),
    }
}

/// What asks for series, and looks at them.
fn about_series(name: &str, arguments: Vec<Value>, asks: &mut Asks<'_>) -> Result<Value, String> {
    match (name, arguments.as_slice()) {
        ("query", [Value::Text(text)]) => {
            Ok(Value::List(asks.query(text)?.into_iter().map(Value::Row).collect()))
        }
        ("first", [Value::List(list)]) => list
            .first()
            .cloned()
            .ok_or_else(|| "first() called on vector with no elements".to_owned()),
        ("label", [Value::Text(label), Value::Row(row)]) => {
            Ok(Value::Text(row.labels.get(label).cloned().unwrap_or_default()))
        }
        ("value", [Value::Row(row)]) => Ok(Value::Float(row.value)),
        ("strvalue", [Value::Row(row)]) => {
            Ok(Value::Text(row.labels.get("__value__").cloned().unwrap_or_default()))
        }
        ("sortByLabel", [Value::Text(label), Value::List(list)]) => {
            let mut list = list.clone();
            let key = |value: &Value| match value {
                Value::Row(row) => row.labels.get(label).cloned().unwrap_or_default(),
                _ => String::new(),
            };
            list.sort_by_key(key);
            Ok(Value::List(list))
        }
        ("args", values) => {
            let named = values.iter().enumerate();
            let named = named.map(|(index, value)| (format!("arg{index}"), value.clone()));
            Ok(Value::Map(named.collect::<BTreeMap<_, _>>()))
        }
        (_, arguments) => Err(wrong(arguments)),
    }
}

fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Whole(a), Value::Whole(b)) => Some(a.cmp(b)),
        (Value::Float(_) | Value::Whole(_), Value::Float(_) | Value::Whole(_)) => {
            number(a).ok()?.partial_cmp(&number(b).ok()?)
        }
        (Value::Text(a), Value::Text(b)) => Some(a.cmp(b)),
        (a, b) => (a == b).then_some(Ordering::Equal),
    }
}

/// A number; a text may be one, or a length of time, in seconds.
fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Float(number) => Ok(*number),
        Value::Whole(number) => Ok(*number as f64),
        Value::Text(text) => {
            let seconds = || read_length(text).map(|ms| ms as f64 / 1000.0);
            text.parse().or_else(|_| seconds().map_err(|_| format!("{text:?} is no number")))
        }
        other => Err(format!("{other} is no number")),
    }
}

fn length(value: &Value) -> Result<usize, String> {
    match value {
        Value::Text(text) => Ok(text.len()),
        Value::List(list) => Ok(list.len()),
        Value::Map(map) => Ok(map.len()),
        other => Err(format!("{other} has no length")),
    }
}

fn place(value: &Value) -> Result<usize, String> {
    match value {
        Value::Whole(number) => {
            usize::try_from(*number).map_err(|_| "it is less than 0".to_owned())
        }
        other => Err(format!("{other} is no whole number")),
    }
}

fn index(value: &Value, key: &Value) -> Result<Value, String> {
    match (value, key) {
        (Value::List(list), key) => {
            let found = list.get(place(key)?);
            found.cloned().ok_or_else(|| format!("there is no item {key}"))
        }
        (Value::Map(_), Value::Text(name)) => value.field(name),
        (value, key) => Err(format!("{value} has no {key}")),
    }
}

fn regex(pattern: &str) -> Result<Regex, String> {
    let regex = Pattern::in_syntax_of_library(pattern).and_then(|pattern| {
        let mut builder = regex::RegexBuilder::new(&pattern);
        builder.size_limit(REGEX_BYTES_MAX).build().map_err(|error| error.to_string())
    });
    regex.map_err(|error| format!("{pattern:?} is no regular expression: {error}"))
}

/// Each word with its first letter large, as Go's `strings.Title`.
fn title(text: &str) -> String {
    let mut is_start = true;
    let letter = |c: char| {
        let first = is_start;
        is_start = !c.is_alphanumeric() && c != '_' && c != '\'';
        if first { c.to_uppercase().collect::<String>() } else { c.to_string() }
    };
    text.chars().map(letter).collect()
}

/// Host and the port with its colon, of which there may be none.
fn split_port(text: &str) -> (&str, &str) {
    if let Some((host, port)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return (host, port);
    }
    match text.rfind(':') {
        // A bare address of version 6 has no port.
        Some(at) if text.matches(':').count() == 1 => {
            text.split_at_checked(at).unwrap_or((text, ""))
        }
        _ => (text, ""),
    }
}

fn strip_domain(text: &str) -> String {
    let (host, port) = split_port(text);
    if host.parse::<std::net::IpAddr>().is_ok() {
        return text.to_owned();
    }
    let first = host.split('.').next().unwrap_or_default();
    format!("{first}{port}")
}

/// Units of a thousandth and less, and of a thousand and more.
const SMALL: [&str; 8] = ["m", "u", "n", "p", "f", "a", "z", "y"];
const LARGE: [&str; 8] = ["k", "M", "G", "T", "P", "E", "Z", "Y"];

fn humanize(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return general(value, 4);
    }
    match value.abs() >= 1.0 {
        true => enlarged(value, 1000.0, &LARGE),
        false => diminished(value),
    }
}

fn humanize_1024(value: f64) -> String {
    if value.abs() <= 1.0 || !value.is_finite() {
        return general(value, 4);
    }
    enlarged(value, 1024.0, &["ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi"])
}

fn enlarged(mut value: f64, by: f64, units: &[&str]) -> String {
    let mut unit = "";
    for next in units {
        if value.abs() < by {
            break;
        }
        value /= by;
        unit = next;
    }
    general(value, 4) + unit
}

fn diminished(mut value: f64) -> String {
    let mut unit = "";
    for next in SMALL {
        if value.abs() >= 1.0 {
            break;
        }
        value *= 1000.0;
        unit = next;
    }
    general(value, 4) + unit
}

fn humanize_duration(value: f64) -> String {
    if !value.is_finite() {
        return general(value, 4);
    }
    if value == 0.0 {
        return "0s".to_owned();
    }
    if value.abs() < 1.0 {
        return diminished(value) + "s";
    }
    let (sign, whole) = (if value < 0.0 { "-" } else { "" }, value.abs() as u64);
    let (seconds, minutes) = (whole % 60, whole / 60 % 60);
    let (hours, days) = (whole / 3600 % 24, whole / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) => general(value, 4) + "s",
        (0, 0, _) => format!("{sign}{minutes}m {seconds}s"),
        (0, _, _) => format!("{sign}{hours}h {minutes}m {seconds}s"),
        _ => format!("{sign}{days}d {hours}h {minutes}m {seconds}s"),
    }
}

/// A time as Go prints it.
fn humanize_timestamp(value: f64) -> String {
    let ms = (value * 1000.0).round();
    if !ms.is_finite() || ms.abs() > i64::MAX as f64 / 2.0 {
        return general(value, 4);
    }
    match jiff::Timestamp::from_millisecond(ms as i64) {
        Ok(time) => {
            let text = time.to_string();
            format!("{} +0000 UTC", text.replace('T', " ").trim_end_matches('Z'))
        }
        Err(_) => general(value, 4),
    }
}

/// Makes a row's labels and value what functions take.
impl From<Row> for Value {
    fn from(row: Row) -> Self {
        Self::Row(row)
    }
}
