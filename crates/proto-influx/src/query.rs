//! Query requests: what `/query` is asked, in its query string and in its form.

use crate::encode::{Epoch, Format, Shape, Style};
use crate::influxql::{Parameter, Parameters, parse_duration};
use crate::write::{Pair, decode_query};
use serde_json::Value;
use std::fmt;

/// Rows of a chunk when a request does not say how many.
const CHUNK_ROWS_DEFAULT: usize = 10_000;

/// What asks for JSON in lines.
const PRETTY: &str = "pretty=true";

/// What a query request asks for.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// The statements.
    pub text: String,
    /// The database that statements mean when they name none.
    pub database: Option<String>,
    /// The retention policy, likewise.
    pub policy: Option<String>,
    /// How the answer is written.
    pub style: Style,
    /// Values of the `$name`s in the statements.
    pub parameters: Parameters,
    /// Whether the client does not want the answer.
    pub is_async: bool,
}

impl QueryRequest {
    /// The format that is asked for by a query string and the header `Accept`, also where the rest
    /// of the request cannot be understood.
    pub fn format(query: &str, accept: &str) -> Format {
        // InfluxDB looks for this one in the query string alone.
        let is_wish = |pair: &str| {
            // Encoded it is longer, but at most three times as long: others need not be decoded.
            let is_encoded = pair.len() > PRETTY.len()
                && pair.len() <= 3 * PRETTY.len()
                && pair.bytes().any(|byte| byte == b'%');
            let pairs = if is_encoded { decode_query(pair) } else { Ok(Vec::new()) };
            pair == PRETTY
                || pairs.is_ok_and(|pairs| pairs.iter().any(|(k, v)| k == "pretty" && v == "true"))
        };
        Format::of_accept(accept, query.split('&').any(is_wish))
    }

    /// Reads the query string and the form (both still percent-encoded; the form is empty when the
    /// body is none). What stands in the form goes before. `accept` is the header of that name.
    ///
    /// # Errors
    /// When there are no statements, or a value cannot be understood; see [`QueryError`].
    pub fn parse(query: &str, form: &str, accept: &str) -> Result<Self, QueryError> {
        let mut pairs = decode_query(form).map_err(|_| QueryError::BadEncoding)?;
        let mut of_query = decode_query(query).map_err(|_| QueryError::BadEncoding)?;
        pairs.append(&mut of_query);
        let get = |name: &str| {
            let found = pairs.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
        };
        let text = get("q").map(str::trim).filter(|text| !text.is_empty());
        let chunk_rows = (get("chunked") == Some("true")).then(|| {
            let rows = get("chunk_size").and_then(|text| text.parse().ok());
            rows.filter(|rows| *rows > 0).unwrap_or(CHUNK_ROWS_DEFAULT)
        });
        let style = Style {
            format: Self::format(query, accept),
            epoch: Epoch::parse(get("epoch").unwrap_or_default()),
            chunk_rows,
        };
        Ok(Self {
            text: text.ok_or(QueryError::NoStatement)?.to_owned(),
            database: get("db").map(str::to_owned),
            policy: get("rp").map(str::to_owned),
            style,
            parameters: get("params").map(parameters).transpose()?.unwrap_or_default(),
            is_async: get("async") == Some("true"),
        })
    }
}

/// What a question of InfluxDB 3 may say.
const NAMES_OF_3: [&str; 4] = ["db", "q", "format", "params"];

impl QueryRequest {
    /// The shape of rows that InfluxDB 3's clients ask for by a query string and the header
    /// `Accept`, also where the rest of the request cannot be understood.
    pub fn shape(query: &str, accept: &str) -> Shape {
        let pairs = decode_query(query).unwrap_or_default();
        let wish = pairs.iter().find(|(name, _)| name == "format");
        let wish = wish.and_then(|(_, value)| Shape::parse(value));
        wish.unwrap_or_else(|| Shape::of_accept(accept))
    }

    /// Reads a question of InfluxDB 3: its query string (still percent-encoded), and its body, a
    /// JSON object or nothing. What stands in the body goes before.
    ///
    /// # Errors
    /// When there is no statement, or a value cannot be understood; see [`QueryError`].
    pub fn parse_3(query: &str, body: &[u8], accept: &str) -> Result<Self, QueryError> {
        let mut pairs = match body.trim_ascii().is_empty() {
            true => Vec::new(),
            false => members(body)?,
        };
        let of_query = decode_query(query).map_err(|_| QueryError::BadEncoding)?;
        pairs.extend(of_query);
        let get = |name: &str| {
            let found = pairs.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
        };
        let shape = match get("format") {
            None => Shape::of_accept(accept),
            Some(text) => {
                Shape::parse(text).ok_or_else(|| QueryError::BadFormat(text.to_owned()))?
            }
        };
        let text = get("q").map(str::trim).filter(|text| !text.is_empty());
        Ok(Self {
            text: text.ok_or(QueryError::NoStatement)?.to_owned(),
            database: get("db").map(str::to_owned),
            policy: get("rp").map(str::to_owned),
            style: Style { format: Format::Rows(shape), ..Style::default() },
            parameters: get("params").map(parameters).transpose()?.unwrap_or_default(),
            is_async: false,
        })
    }
}

/// The members of a body, as a query string would have them.
fn members(body: &[u8]) -> Result<Vec<Pair<'static>>, QueryError> {
    let bad = |reason: String| QueryError::BadBody(reason);
    let body: serde_json::Map<String, Value> =
        serde_json::from_slice(body).map_err(|error| bad(error.to_string()))?;
    let mut pairs = Vec::new();
    for (name, value) in body {
        if !NAMES_OF_3.contains(&name.as_str()) {
            return Err(bad(format!("{name} is none of {}", NAMES_OF_3.join(", "))));
        }
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text,
            Value::Object(map) if name == "params" => Value::Object(map).to_string(),
            _ => return Err(bad(format!("{name} must be text"))),
        };
        pairs.push((name.into(), value.into()));
    }
    Ok(pairs)
}

/// Reads the values of `$name`s: a JSON object of numbers, strings and booleans, or of objects that
/// name a kind, such as `{"regex": "a.*"}`. Clients without any send `null`.
fn parameters(text: &str) -> Result<Parameters, QueryError> {
    let bad = |error: serde_json::Error| QueryError::BadParameters(error.to_string());
    let values: Option<serde_json::Map<String, Value>> = serde_json::from_str(text).map_err(bad)?;
    values
        .unwrap_or_default()
        .into_iter()
        .map(|(name, value)| Ok((name, parameter(&value)?)))
        .collect()
}

fn parameter(value: &Value) -> Result<Parameter, QueryError> {
    let unbound = |what: &str| {
        QueryError::BadParameters(format!("unable to bind parameter with type {what}"))
    };
    match value {
        Value::String(text) => Ok(Parameter::String(text.clone())),
        Value::Bool(value) => Ok(Parameter::Boolean(*value)),
        Value::Number(number) => Ok(match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Parameter::Integer(value),
            (None, Some(value)) => Parameter::Unsigned(value),
            (None, None) => Parameter::Number(number.as_f64().unwrap_or_default()),
        }),
        Value::Null => Err(unbound("null")),
        Value::Array(_) => Err(unbound("array")),
        Value::Object(map) => {
            let mut entries = map.iter();
            let (Some((kind, value)), None) = (entries.next(), entries.next()) else {
                return Err(unbound("object: it must have one entry, whose name is a kind"));
            };
            typed(kind, value).ok_or_else(|| unbound(&format!("object of kind {kind:?}")))
        }
    }
}

/// The value of a parameter whose kind is named.
fn typed(kind: &str, value: &Value) -> Option<Parameter> {
    let text = || value.as_str().map(str::to_owned);
    match kind {
        "regex" => text().map(Parameter::Regex),
        "identifier" => text().map(Parameter::Identifier),
        "string" => text().map(Parameter::String),
        "boolean" => value.as_bool().map(Parameter::Boolean),
        "integer" => value.as_i64().map(Parameter::Integer),
        "float" | "number" => value.as_f64().map(Parameter::Number),
        "duration" => match value {
            Value::String(text) => parse_duration(text).ok().map(Parameter::Duration),
            _ => value.as_i64().map(Parameter::Duration),
        },
        _ => None,
    }
}

/// Why a query request was not understood. All are the client's fault (status 400).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryError {
    /// There is no `q`.
    NoStatement,
    /// `params` is no JSON object of values.
    BadParameters(String),
    /// The query string or form is not percent-encoded UTF-8.
    BadEncoding,
    /// The body is no JSON object of what a question may say.
    BadBody(String),
    /// There is no such format of an answer.
    BadFormat(String),
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStatement => f.write_str("missing required parameter \"q\""),
            Self::BadParameters(reason) => write!(f, "error parsing query parameters: {reason}"),
            Self::BadEncoding => {
                f.write_str("the query string or form is not valid percent-encoded UTF-8")
            }
            Self::BadBody(reason) => write!(f, "the body is not understood: {reason}"),
            Self::BadFormat(text) if text == "parquet" => f.write_str(
                "format: Parquet is written by `foliot query --format parquet`; here there are \
                 json, jsonl, csv and pretty",
            ),
            Self::BadFormat(text) => {
                write!(f, "format: {text:?} is none of json, jsonl, csv, pretty")
            }
        }
    }
}

impl std::error::Error for QueryError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_goes_before_the_query_string() {
        let query = "db=a&q=SHOW+DATABASES&epoch=ms&chunked=true";
        let request = QueryRequest::parse(query, "q=SELECT%201&rp=r", "application/csv").unwrap();
        assert_eq!(request.text, "SELECT 1");
        assert_eq!(
            (request.database.as_deref(), request.policy.as_deref()),
            (Some("a"), Some("r"))
        );
        assert_eq!(request.style.format, Format::Csv);
        assert_eq!(request.style.chunk_rows, Some(CHUNK_ROWS_DEFAULT));
        assert_eq!(request.style.epoch, Epoch::parse("ms"));
        assert!(!request.is_async);
    }

    #[test]
    fn parameters_have_kinds() {
        let text = r#"{"a":1,"b":1.5,"c":"x","d":true,"e":{"regex":"a.*"},"f":{"duration":"1m"},
            "g":{"identifier":"m"},"h":{"integer":7}}"#;
        let found = parameters(text).unwrap();
        let expected = [
            ("a", Parameter::Integer(1)),
            ("b", Parameter::Number(1.5)),
            ("c", Parameter::String("x".to_owned())),
            ("d", Parameter::Boolean(true)),
            ("e", Parameter::Regex("a.*".to_owned())),
            ("f", Parameter::Duration(60_000_000_000)),
            ("g", Parameter::Identifier("m".to_owned())),
            ("h", Parameter::Integer(7)),
        ];
        assert_eq!(found.len(), expected.len());
        for (name, value) in expected {
            assert_eq!(found.get(name), Some(&value), "{name}");
        }
    }

    #[test]
    fn no_parameters_may_be_null() {
        let request = QueryRequest::parse("q=x&params=null", "", "").unwrap();
        assert!(request.parameters.is_empty());
    }

    #[test]
    fn questions_of_version_3_stand_in_the_url_or_in_a_body() {
        let format = |request: &QueryRequest| request.style.format;
        let request = QueryRequest::parse_3("db=a&q=SELECT+1&format=jsonl", b"", "").unwrap();
        assert_eq!((&*request.text, request.database.as_deref()), ("SELECT 1", Some("a")));
        assert_eq!(format(&request), Format::Rows(Shape::JsonLines));
        let body = br#"{"db": "b", "q": "SELECT 2", "format": null, "params": {"x": 1}}"#;
        let request = QueryRequest::parse_3("db=a", body, "text/csv").unwrap();
        assert_eq!((&*request.text, request.database.as_deref()), ("SELECT 2", Some("b")));
        assert_eq!(format(&request), Format::Rows(Shape::Csv));
        assert_eq!(request.parameters.get("x"), Some(&Parameter::Integer(1)));
        for (query, body, expected) in [
            ("", "{}", "missing required parameter \"q\""),
            ("q=x&format=xml", "", "format: \"xml\" is none of json, jsonl, csv, pretty"),
            ("q=x&format=parquet", "", "format: Parquet is written by `foliot query"),
            ("", "[]", "the body is not understood: "),
            ("", r#"{"query": "x"}"#, "query is none of db, q, format, params"),
            ("", r#"{"q": 1}"#, "q must be text"),
        ] {
            let said = QueryRequest::parse_3(query, body.as_bytes(), "").unwrap_err().to_string();
            assert!(said.contains(expected), "{query} {body}: {said}");
        }
    }

    #[test]
    fn errors_say_what_is_missing() {
        let error = |query: &str| QueryRequest::parse(query, "", "").unwrap_err().to_string();
        assert_eq!(error("db=a"), "missing required parameter \"q\"");
        assert_eq!(error("q=+"), "missing required parameter \"q\"");
        assert!(error("q=x&params={").starts_with("error parsing query parameters: "));
        assert_eq!(
            error("q=x&params={%22a%22:[1]}"),
            "error parsing query parameters: unable to bind parameter with type array"
        );
        assert!(error("q=%ff").contains("percent-encoded"));
    }
}
