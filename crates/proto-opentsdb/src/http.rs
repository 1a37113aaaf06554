//! Requests and errors of the HTTP side: routes, query parameters, the error object.

use foliot_model::excerpt;
use memchr::{memchr, memchr2};
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// A request as the server hands it over, body decompressed.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// Method, upper case.
    pub method: &'a str,
    /// Path, still percent-encoded.
    pub path: &'a str,
    /// What follows the question mark, still percent-encoded; empty if there is none.
    pub query: &'a str,
    /// Body.
    pub body: &'a [u8],
}

/// What a path of this door is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `/api/put`
    Put,
    /// `/api/histogram`
    Histogram,
    /// `/api/rollup`
    Rollup,
    /// `/api/query`
    Query,
    /// `/api/suggest`, `/suggest`
    Suggest,
    /// `/api/aggregators`, `/aggregators`
    Aggregators,
    /// `/api/config/filters`
    Filters,
    /// `/api/version`, `/version?json`
    Version,
    /// `/version`: two lines of text.
    VersionText,
    /// `/api/status`
    Status,
    /// `/api/serializers`
    Serializers,
    /// `/api/dropcaches`
    DropCaches,
    /// `/q`: a query answered in lines, in figures or as a picture.
    Graph,
    /// `/api/query/last`
    Last,
    /// `/api/query/exp`
    Expressions,
    /// `/api/query/gexp`
    Functions,
    /// `/api/search/…`
    Search,
    /// `/api/uid/…`
    Uid,
    /// `/api/annotation`, `/api/annotations` and their `/bulk`
    Annotation,
    /// `/api/tree` and what is below it
    Tree,
    /// `/api/config`
    Config,
    /// `/api/stats` and what is below it
    Stats,
    /// `/stats`: lines of text, or of JSON.
    StatsText,
    /// `/logs`: what was logged last, and how much is logged.
    Logs,
}

impl Endpoint {
    /// Whether the request changes what is stored; some do with GET.
    pub fn changes(self, request: &HttpRequest<'_>) -> bool {
        let method = method(request);
        match self {
            Self::Put | Self::Histogram | Self::Rollup => true,
            Self::Uid => method != "GET" || matches!(&*tail(request), "assign" | "rename"),
            Self::Annotation | Self::Tree => method != "GET",
            Self::Query => method == "DELETE",
            _ => false,
        }
    }
}

/// An answer that tells a client what went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    /// HTTP status.
    pub status: u16,
    /// What is wrong.
    pub message: String,
    /// More about it; may be empty.
    pub details: String,
    /// How many bytes of a question's text stand from its fault on, where a place is to blame:
    /// whoever put something in before finds the place again.
    pub from_fault: Option<usize>,
}

impl HttpError {
    /// An error with a status and a message.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), details: String::new(), from_fault: None }
    }

    /// A request that cannot be served as it stands (400).
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    /// A name that nothing stored has, OpenTSDB's way: `kind` is `metrics`, `tagk` or `tagv`.
    pub fn no_such_name(kind: &str, name: &str) -> Self {
        Self::bad_request(format!("No such name for '{kind}': '{name}'"))
            .with_details(format!("/api/suggest?type={kind}&q=... lists those that begin so"))
    }

    /// The same error with details.
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// The same error, at the beginning of `rest`, which ends where the text does.
    pub(crate) fn at(self, rest: &str) -> Self {
        Self { from_fault: Some(rest.len()), ..self }
    }

    /// The body: `{"error":{"code":…,"message":…,"details":…}}`, without details when there
    /// are none.
    pub fn to_json(&self) -> String {
        let quote = |text: &str| serde_json::Value::from(excerpt(text)).to_string();
        let details = match self.details.as_str() {
            "" => String::new(),
            details => format!(",\"details\":{}", quote(details)),
        };
        let message = quote(&self.message);
        format!("{{\"error\":{{\"code\":{},\"message\":{message}{details}}}}}", self.status)
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.status)
    }
}

impl std::error::Error for HttpError {}

/// Finds out what a request is for, and whether its method is allowed there.
///
/// Paths are case-insensitive and `/api/v1/x` is `/api/x`. Nothing in the result depends on the
/// body.
///
/// # Errors
/// 404 for unknown paths, 405 for methods, 501 for versions of the API above 1.
pub fn route(request: &HttpRequest<'_>) -> Result<Endpoint, HttpError> {
    let path = percent_decode(request.path, false).to_lowercase();
    let path = path.strip_suffix('/').unwrap_or(&path);
    let path = api_path(path)?;
    check_serializer(request.query)?;
    let (endpoint, methods) = endpoint_at(&path, request.query)?;
    let method = method(request);
    match methods.contains(&method.as_str()) {
        true => Ok(endpoint),
        false => Err(not_allowed(&method)),
    }
}

/// Refuses a wish for another format than JSON, in OpenTSDB's words.
fn check_serializer(query: &str) -> Result<(), HttpError> {
    match Params::first(query, "serializer").filter(|name| name != "json") {
        None => Ok(()),
        Some(name) => {
            let details = format!("Could not find a serializer with the name: {name}");
            Err(HttpError::bad_request("Requested serializer was not found").with_details(details))
        }
    }
}

const GET: &[&str] = &["GET"];
const POST: &[&str] = &["POST"];
const ASK: &[&str] = &["GET", "POST"];
const ALL: &[&str] = &["GET", "POST", "PUT", "DELETE"];

/// What a path is for, and the methods that it takes.
fn endpoint_at(path: &str, query: &str) -> Result<(Endpoint, &'static [&'static str]), HttpError> {
    let has = |name| Params::first(query, name).is_some();
    Ok(match path {
        "/api/put" => (Endpoint::Put, POST),
        "/api/histogram" => (Endpoint::Histogram, POST),
        "/api/rollup" => (Endpoint::Rollup, POST),
        "/api/query/exp" => (Endpoint::Expressions, POST),
        "/api/query/gexp" => (Endpoint::Functions, GET),
        "/api/query/last" => (Endpoint::Last, ASK),
        "/api/suggest" => (Endpoint::Suggest, ASK),
        "/suggest" => (Endpoint::Suggest, GET),
        "/api/aggregators" | "/aggregators" => (Endpoint::Aggregators, GET),
        "/api/config" => (Endpoint::Config, ASK),
        "/api/config/filters" => (Endpoint::Filters, ASK),
        "/api/version" => (Endpoint::Version, ASK),
        "/version" if has("json") => (Endpoint::Version, GET),
        "/version" => (Endpoint::VersionText, GET),
        "/api/status" => (Endpoint::Status, GET),
        "/api/serializers" => (Endpoint::Serializers, ASK),
        "/api/dropcaches" | "/dropcaches" => (Endpoint::DropCaches, &["GET", "DELETE"]),
        "/stats" => (Endpoint::StatsText, ASK),
        "/logs" => (Endpoint::Logs, ASK),
        "/q" => (Endpoint::Graph, ASK),
        _ => match area(path) {
            "query" => (Endpoint::Query, &["GET", "POST", "DELETE"]),
            "search" => (Endpoint::Search, ASK),
            "uid" => (Endpoint::Uid, ALL),
            "annotation" | "annotations" => (Endpoint::Annotation, ALL),
            "tree" => (Endpoint::Tree, ALL),
            "stats" => (Endpoint::Stats, ASK),
            _ => return Err(HttpError::new(404, "Endpoint not found")),
        },
    })
}

/// The first part of a path below `/api`.
fn area(path: &str) -> &str {
    let rest = path.strip_prefix("/api/").unwrap_or_default();
    rest.split('/').next().unwrap_or_default()
}

/// The part of a request's path behind the first one below `/api`, in lower case:
/// `lookup` of `/api/v1/search/lookup`.
pub(crate) fn tail(request: &HttpRequest<'_>) -> String {
    let path = percent_decode(request.path, false).to_lowercase();
    let path = api_path(path.trim_end_matches('/')).unwrap_or_default();
    path.splitn(4, '/').nth(3).unwrap_or_default().to_owned()
}

/// The error of a method that is not allowed somewhere.
pub(crate) fn not_allowed(method: &str) -> HttpError {
    let details = format!("The HTTP method [{method}] is not permitted for this endpoint");
    HttpError::new(405, "Method not allowed").with_details(details)
}

/// The error of a parameter that is not there, in OpenTSDB's words, and with an example.
pub(crate) fn missing_parameter(name: &str) -> HttpError {
    let example = match name {
        "start" => "1h-ago",
        "type" => "metrics",
        "m" => "sum:METRIC",
        _ => "...",
    };
    // Clients of Prometheus ask at a path that is OpenTSDB's here.
    let elsewhere = match name {
        "start" => "; PromQL is asked at /prometheus/api/v1/query",
        _ => "",
    };
    HttpError::bad_request(format!("Missing parameter <code>{name}</code>")).with_details(format!(
        "Say it in the query string, for example {name}={example}{elsewhere}"
    ))
}

/// The error of a request that asks for nothing.
pub(crate) fn missing_questions() -> HttpError {
    let details = "Say what is asked, by m=sum:METRIC in the query string or by \"queries\" in a \
                   body of JSON";
    HttpError::bad_request("Missing sub queries").with_details(details)
}

/// The request's method, or what a GET says it wants to be with `method_override`.
pub fn method(request: &HttpRequest<'_>) -> String {
    let is_get = request.method == "GET";
    let wish = is_get.then(|| Params::first(request.query, "method_override")).flatten();
    match wish.map(|method| method.to_ascii_uppercase()) {
        Some(method) if ["GET", "POST", "PUT", "DELETE"].contains(&method.as_str()) => method,
        _ => request.method.to_owned(),
    }
}

/// The path without the version of the API.
fn api_path(path: &str) -> Result<String, HttpError> {
    let Some(versioned) = path.strip_prefix("/api/v") else { return Ok(path.to_owned()) };
    let (version, rest) = versioned.split_once('/').unwrap_or((versioned, ""));
    match version.parse::<u32>() {
        Ok(0 | 1) => Ok(format!("/api/{rest}")),
        Ok(version) => {
            let message = "Requested API version is greater than the max implemented";
            let details = format!("API version [{version}] is greater than the max [1]");
            Err(HttpError::new(501, message).with_details(details))
        }
        Err(_) => Ok(path.to_owned()),
    }
}

/// Query parameters in the order given, decoded.
#[derive(Clone, Debug, Default)]
pub struct Params(Vec<(String, String)>);

impl Params {
    /// Reads `a=1&b=2`. A name without an equals sign has the empty value.
    pub fn parse(query: &str) -> Self {
        let pairs = pairs(query).map(|(name, value)| {
            (percent_decode(name, true).into_owned(), percent_decode(value, true).into_owned())
        });
        Self(pairs.collect())
    }

    /// The first value of `name` in `a=1&b=2`, of which nothing else is decoded.
    pub fn first<'q>(query: &'q str, name: &str) -> Option<Cow<'q, str>> {
        // What is encoded is never shorter, and few names are.
        let is_coded = |key: &str| key.bytes().any(|byte| matches!(byte, b'%' | b'+'));
        let is_name = |key: &str| {
            key == name
                || key.len() >= name.len() && is_coded(key) && percent_decode(key, true) == name
        };
        let (_, value) = pairs(query).find(|(key, _)| is_name(key))?;
        Some(percent_decode(value, true))
    }

    /// The first value of `name`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of `name`.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether `name` is present. OpenTSDB's switches count as set whatever their value.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// All names, as they are written.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// A name that is given twice and is none of `lists`, which may be: readers of parameters
    /// disagree on which of two values counts.
    pub fn twice(&self, lists: &[&str]) -> Option<&str> {
        let mut seen = HashSet::new();
        self.names().find(|name| !seen.insert(*name) && !lists.contains(name))
    }

    /// The function that JSON is to be wrapped in.
    ///
    /// # Errors
    /// When it is not a plain, possibly dotted name: the answer would be a script of the caller's.
    pub fn jsonp(&self) -> Result<Option<String>, HttpError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.');
        match self.get("jsonp").filter(|name| !name.is_empty()) {
            Some(name) if !name.chars().all(plain) => {
                Err(HttpError::bad_request(format!("jsonp: '{name}' is not a function's name")))
            }
            name => Ok(name.map(str::to_owned)),
        }
    }
}

/// Names and values, still encoded.
fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = query;
    let pieces = std::iter::from_fn(move || {
        let piece;
        (piece, rest) = match rest.is_empty() {
            true => return None,
            false => cut(rest, memchr(b'&', rest.as_bytes())),
        };
        Some(piece)
    });
    let pieces = pieces.filter(|piece| !piece.is_empty());
    // Names are short, so that to look at each byte is the quickest way.
    pieces.map(|piece| cut(piece, piece.bytes().position(|byte| byte == b'=')))
}

/// What stands before and behind a letter of ASCII at a place, if there is one.
fn cut(text: &str, at: Option<usize>) -> (&str, &str) {
    let halves = at.and_then(|at| Some((text.get(..at)?, text.get(at + 1..)?)));
    halves.unwrap_or((text, ""))
}

/// Undoes percent-encoding; a percent sign without two hexadecimal digits stays as it is, and what
/// is no UTF-8 becomes marks of replacement.
pub fn percent_decode(text: &str, plus_is_blank: bool) -> Cow<'_, str> {
    let coded = match plus_is_blank {
        true => memchr2(b'%', b'+', text.as_bytes()),
        false => memchr(b'%', text.as_bytes()),
    };
    if coded.is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(match String::from_utf8(percent_bytes(text, plus_is_blank)) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

/// The bytes that a percent-encoded text stands for.
pub fn percent_bytes(text: &str, plus_is_blank: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digit = |at: usize| after.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        let (byte, length) = match first {
            b'+' if plus_is_blank => (b' ', 0),
            b'%' => match (digit(0), digit(1)) {
                (Some(high), Some(low)) => ((high * 16 + low) as u8, 2),
                _ => (b'%', 0),
            },
            byte => (*byte, 0),
        };
        out.push(byte);
        rest = after.get(length..).unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(method: &str, target: &str) -> Result<Endpoint, u16> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        route(&HttpRequest { method, path, query, body: b"" }).map_err(|error| error.status)
    }

    #[test]
    fn the_first_value_is_that_of_all_pairs() {
        let query = "a=1&%61=2&b+c=x%2By+z&&e&f=%zz%4&=g&%C3%A9=%ff";
        let all = Params::parse(query);
        let expected =
            [("a", "1"), ("b c", "x+y z"), ("e", ""), ("f", "%zz%4"), ("", "g"), ("é", "\u{FFFD}")];
        for (name, value) in expected {
            assert_eq!(Params::first(query, name).as_deref(), Some(value), "{name}");
            assert_eq!(all.get(name), Some(value), "{name}");
        }
        assert_eq!(Params::first(query, "d"), None);
        assert_eq!(percent_decode("/a+b%2Fc", false), "/a+b/c");
    }

    #[test]
    fn routes() {
        assert_eq!(to("POST", "/api/put"), Ok(Endpoint::Put));
        assert_eq!(to("POST", "/API/v1/Put/"), Ok(Endpoint::Put));
        assert_eq!(to("GET", "/api/put"), Err(405));
        assert_eq!(to("GET", "/api/version?serializer=json"), Ok(Endpoint::Version));
        assert_eq!(to("GET", "/api/version?serializer=xml"), Err(400));
        assert_eq!(to("GET", "/api/nosuch?serializer="), Err(400));
        assert_eq!(to("GET", "/api/put?method_override=post"), Ok(Endpoint::Put));
        assert_eq!(to("GET", "/api/query?start=1h-ago"), Ok(Endpoint::Query));
        assert_eq!(to("OPTIONS", "/api/query"), Err(405));
        assert_eq!(to("GET", "/api/v2/query"), Err(501));
        assert_eq!(to("GET", "/api/vx/query"), Err(404));
        assert_eq!(to("GET", "/api/nosuch"), Err(404));
        assert_eq!(to("POST", "/api/aggregators"), Err(405));
        assert_eq!(to("GET", "/api/query/LAST?timeseries=m"), Ok(Endpoint::Last));
        assert_eq!(to("GET", "/api/query/other?m=sum:x"), Ok(Endpoint::Query));
        assert_eq!(to("GET", "/api/v1/search/lookup?m=x"), Ok(Endpoint::Search));
        assert_eq!(to("PUT", "/api/annotations/bulk"), Ok(Endpoint::Annotation));
        assert_eq!(to("GET", "/api/queryx"), Err(404));
        assert_eq!(to("GET", "/version"), Ok(Endpoint::VersionText));
        assert_eq!(to("GET", "/version?json"), Ok(Endpoint::Version));
    }

    #[test]
    fn tails_of_paths() {
        let of = |path| tail(&HttpRequest { method: "GET", path, query: "", body: b"" });
        assert_eq!(of("/api/v1/Search/Lookup/"), "lookup");
        assert_eq!(of("/api/tree"), "");
        assert_eq!(of("/api/annotation/bulk"), "bulk");
        assert_eq!(of("/api/a/b/c"), "b/c");
    }

    #[test]
    fn errors_look_like_the_peers() {
        let error = HttpError::new(404, "Endpoint not found");
        assert_eq!(error.to_json(), r#"{"error":{"code":404,"message":"Endpoint not found"}}"#);
        let error = HttpError::no_such_name("metrics", "a\"b").with_details("more");
        let expected = concat!(
            r#"{"error":{"code":400,"message":"No such name for 'metrics': 'a\"b'","#,
            r#""details":"more"}}"#
        );
        assert_eq!(error.to_json(), expected);
    }

    #[test]
    fn parameters_are_decoded() {
        let params = Params::parse("m=sum%3Ax%7Bh%3D*%7D&m=b+c&ms&x=%zz%4&&=1");
        assert_eq!(params.all("m").collect::<Vec<_>>(), ["sum:x{h=*}", "b c"]);
        assert!(params.has("ms") && !params.has("arrays"));
        assert_eq!((params.twice(&[]), params.twice(&["m"])), (Some("m"), None));
        assert_eq!(Params::parse("a=1&b&%61=1").twice(&["b"]), Some("a"));
        assert_eq!(params.get("x"), Some("%zz%4"));
        assert_eq!(Params::parse("jsonp=a.b").jsonp(), Ok(Some("a.b".to_owned())));
        assert!(Params::parse("jsonp=alert(1)//").jsonp().is_err());
    }
}
