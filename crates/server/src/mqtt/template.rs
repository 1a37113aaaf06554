//! Templates: what a message means that holds a bare number or a device's own JSON, by its topic.
//!
//! A template is a topic whose levels in braces are labels, and a measurement:
//! `zigbee2mqtt/{device}=zigbee`. Of a JSON object every number, boolean and text is a field; those
//! of inner objects carry the outer names in front, with a dot. A bare number is the field `value`,
//! or the one that a level called `{field}` names.

use serde_json::Value;
use std::fmt::{self, Write};

/// The level that names the measurement, and the one that names the field of a bare number.
const MEASUREMENT: &str = "measurement";
const FIELD: &str = "field";

/// One template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    levels: Vec<Level>,
    /// Unless a level names it.
    measurement: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Level {
    Word(String),
    /// `+`: one level, whatever it is.
    Any,
    /// `#`: all levels that are left.
    Rest,
    /// `{name}`: a level that is a label, or says what is measured.
    Named(String),
}

impl Template {
    /// Reads `topic=measurement`.
    ///
    /// # Errors
    /// One sentence.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (topic, measurement) = match text.split_once('=') {
            Some((topic, measurement)) => (topic.trim(), Some(measurement.trim().to_owned())),
            None => (text.trim(), None),
        };
        let levels = topic.split('/').map(Level::parse).collect::<Result<Vec<_>, _>>()?;
        let is_last = |at: usize| at + 1 == levels.len();
        if levels.iter().enumerate().any(|(at, level)| *level == Level::Rest && !is_last(at)) {
            return Err(format!("'{text}': # stands for all levels that are left, so at the end"));
        }
        let mut names: Vec<&str> = levels.iter().filter_map(Level::name).collect();
        let names_measurement = names.contains(&MEASUREMENT);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        if names.len() < count {
            return Err(format!("'{text}': two levels have the same name"));
        }
        match (&measurement, names_measurement) {
            (Some(name), false) if !name.is_empty() => Ok(Self { levels, measurement }),
            (None, true) => Ok(Self { levels, measurement }),
            _ => Err(format!(
                "'{text}' must say one measurement: by =NAME behind the topic, or by a level \
                 {{measurement}}"
            )),
        }
    }

    /// The line that a message under `topic` means; nothing when the topic is not this template's.
    pub(crate) fn line(&self, topic: &str, payload: &[u8]) -> Option<Result<String, &'static str>> {
        let named = self.named(topic)?;
        let of = |wanted: &str| named.iter().find(|(name, _)| *name == wanted).map(|(_, at)| *at);
        let measurement = self.measurement.as_deref().or_else(|| of(MEASUREMENT));
        let labels = named.iter().filter(|(name, _)| ![MEASUREMENT, FIELD].contains(name));
        Some(line(measurement.unwrap_or_default(), labels, of(FIELD).unwrap_or("value"), payload))
    }

    /// The levels that have names, if the topic fits.
    fn named<'t>(&'t self, topic: &'t str) -> Option<Vec<(&'t str, &'t str)>> {
        let mut named = Vec::new();
        let mut words = topic.split('/');
        for level in &self.levels {
            if *level == Level::Rest {
                return Some(named);
            }
            let word = words.next()?;
            match level {
                Level::Word(wanted) if wanted != word => return None,
                Level::Named(name) => named.push((name.as_str(), word)),
                _ => {}
            }
        }
        words.next().is_none().then_some(named)
    }
}

impl Level {
    fn parse(text: &str) -> Result<Self, String> {
        let inner = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        match (text, inner) {
            ("+", _) => Ok(Self::Any),
            ("#", _) => Ok(Self::Rest),
            (_, Some(name)) if !name.is_empty() && !name.contains(['{', '}']) => {
                Ok(Self::Named(name.to_owned()))
            }
            (text, None) if !text.contains(['{', '}', '+', '#']) => Ok(Self::Word(text.to_owned())),
            _ => Err(format!(
                "'{text}' is no level of a topic: it is a word, +, # or a name in braces"
            )),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, level) in self.levels.iter().enumerate() {
            if at > 0 {
                f.write_char('/')?;
            }
            match level {
                Level::Word(word) => f.write_str(word)?,
                Level::Any => f.write_char('+')?,
                Level::Rest => f.write_char('#')?,
                Level::Named(name) => write!(f, "{{{name}}}")?,
            }
        }
        match &self.measurement {
            Some(name) => write!(f, "={name}"),
            None => Ok(()),
        }
    }
}

/// A line in Influx's protocol, without a time: it counts from when it came.
fn line<'t>(
    measurement: &str,
    labels: impl Iterator<Item = &'t (&'t str, &'t str)>,
    field: &str,
    payload: &[u8],
) -> Result<String, &'static str> {
    let mut text = String::new();
    push_name(measurement, &mut text)?;
    for (name, value) in labels.filter(|(_, value)| !value.is_empty()) {
        text.push(',');
        push_name(name, &mut text)?;
        text.push('=');
        push_name(value, &mut text)?;
    }
    let start = text.len();
    let payload = std::str::from_utf8(payload).map_err(|_| "it is no UTF-8")?.trim();
    match serde_json::from_str(payload) {
        Ok(Value::Object(members)) => {
            for (name, value) in &members {
                push_fields(name, value, &mut text)?;
            }
        }
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => push_fields(field, &value, &mut text)?,
        _ => {
            let value = bare(payload).ok_or("it is neither a number nor a JSON object")?;
            push_fields(field, &value, &mut text)?;
        }
    }
    // The first field follows a space, the others a comma.
    match text.get(start..start + 1) {
        Some(",") => {
            text.replace_range(start..start + 1, " ");
            Ok(text)
        }
        _ => Err("no number, boolean or text is in it"),
    }
}

/// What devices publish that JSON does not know: a number such as `+21.50`, and switches.
fn bare(payload: &str) -> Option<Value> {
    let is_one = |words: [&str; 2]| words.iter().any(|word| payload.eq_ignore_ascii_case(word));
    match (is_one(["on", "true"]), is_one(["off", "false"])) {
        (true, _) => Some(Value::Bool(true)),
        (_, true) => Some(Value::Bool(false)),
        _ => {
            let number: f64 = payload.parse().ok()?;
            serde_json::Number::from_f64(number).map(Value::Number)
        }
    }
}

/// Appends `,name=value` for each value below `value`. Numbers are floats: `21` and `21.5` come
/// from one sensor. Lists and nulls are left out, as no field can be one.
fn push_fields(name: &str, value: &Value, text: &mut String) -> Result<(), &'static str> {
    let start = text.len();
    text.push(',');
    match value {
        Value::Object(members) => {
            text.truncate(start);
            for (inner, value) in members {
                push_fields(&format!("{name}.{inner}"), value, text)?;
            }
            return Ok(());
        }
        Value::Null | Value::Array(_) => {
            text.truncate(start);
            return Ok(());
        }
        _ => push_name(name, text)?,
    }
    text.push('=');
    match value {
        Value::Number(number) => {
            let _ = write!(text, "{}", number.as_f64().ok_or("a number is too large")?);
        }
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::String(value) => {
            text.push('"');
            for char in value.chars() {
                if matches!(char, '"' | '\\') {
                    text.push('\\');
                }
                // A line ends at its first newline.
                text.push(if char == '\n' { ' ' } else { char });
            }
            text.push('"');
        }
        Value::Null | Value::Array(_) | Value::Object(_) => {}
    }
    Ok(())
}

/// Appends a name with what would end it escaped.
fn push_name(name: &str, text: &mut String) -> Result<(), &'static str> {
    if name.is_empty() || name.contains(|char: char| char.is_control() || char == '\\') {
        return Err("a name in it is empty, or has a backslash or a control character");
    }
    for char in name.chars() {
        if matches!(char, ',' | '=' | ' ') {
            text.push('\\');
        }
        text.push(char);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_of(template: &str, topic: &str, payload: &str) -> Option<Result<String, &'static str>> {
        Template::parse(template).unwrap().line(topic, payload.as_bytes())
    }

    #[test]
    fn messages_become_lines() {
        let case = |template, topic, payload, expected: &str| {
            assert_eq!(line_of(template, topic, payload), Some(Ok(expected.to_owned())), "{topic}");
        };
        case(
            "zigbee2mqtt/{device}=zigbee",
            "zigbee2mqtt/attic window",
            r#"{"contact":false,"battery":97,"temperature":21.5,"state":"ON","update":{"state":"idle"},"action":null}"#,
            r#"zigbee,device=attic\ window battery=97,contact=false,state="ON",temperature=21.5,update.state="idle""#,
        );
        case("s/{room}/{field}=climate", "s/attic/t", " 21.50\n", "climate,room=attic t=21.5");
        case("{measurement}/{room}", "climate/attic", "+7", "climate,room=attic value=7");
        case("shellies/{d}/relay/+=relay", "shellies/a/relay/0", "off", "relay,d=a value=false");
        case("tele/{d}/#=t", "tele/a/b/c", r#"{"A":{"B":1e300}}"#, &format!("t,d=a A.B={}", 1e300));
        case("a/{x}=m", "a/", r#"{"s":"say \"\\\nso"}"#, r#"m s="say \"\\ so""#);
    }

    #[test]
    fn other_topics_are_left_alone_and_other_messages_refused() {
        for topic in ["a", "a/b/c", "b/c", ""] {
            assert_eq!(line_of("a/{x}=m", topic, "1"), None, "{topic}");
        }
        for payload in ["", "abc", "[1]", "null", "\"text\"", "{}", r#"{"a":[1]}"#, "nan", "inf"] {
            let said = line_of("a/{x}=m", "a/b", payload);
            assert!(matches!(said, Some(Err(_))), "{payload}: {said:?}");
        }
        for topic in ["a/b\\", "a/b\nc"] {
            assert!(matches!(line_of("a/{x}=m", topic, "1"), Some(Err(_))), "{topic}");
        }
    }

    #[test]
    fn deep_messages_need_little_stack() {
        let run = || {
            let deep = |depth: usize| {
                let payload = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
                line_of("a/{x}=m", "a/b", &payload).unwrap()
            };
            assert_eq!(deep(100), Ok(format!("m,x=b {}=1", vec!["a"; 100].join("."))));
            assert!(deep(100_000).is_err(), "JSON has a depth");
        };
        let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run);
        thread.unwrap().join().unwrap();
    }

    #[test]
    fn templates_are_read_and_written_alike() {
        for text in ["a/{x}/+/#=m", "{measurement}/{field}", "a b/{room}=climate.inside"] {
            assert_eq!(Template::parse(text).unwrap().to_string(), text);
        }
        for wrong in
            ["a", "a=", "{measurement}=m", "a/#/b=m", "{a}/{a}=m", "a{b}=m", "{}=m", "a+=m"]
        {
            assert!(Template::parse(wrong).is_err(), "{wrong}");
        }
    }
}
