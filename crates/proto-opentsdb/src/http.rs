//! Requests and errors of the HTTP side: routes, query parameters, the error object.

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
    /// `/q`: with `ascii` a query answered in lines.
    Graph,
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
}

impl HttpError {
    /// An error with a status and a message.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), details: String::new() }
    }

    /// A request that cannot be served as it stands (400).
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    /// A name that nothing stored has, OpenTSDB's way: `kind` is `metrics`, `tagk` or `tagv`.
    pub fn no_such_name(kind: &str, name: &str) -> Self {
        Self::bad_request(format!("No such name for '{kind}': '{name}'"))
    }

    /// The same error with details.
    pub fn with_details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// The body: `{"error":{"code":…,"message":…,"details":…}}`, without details when there
    /// are none.
    pub fn to_json(&self) -> String {
        let quote = |text: &str| serde_json::Value::from(text).to_string();
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
    let (endpoint, methods): (_, &[&str]) = match api_path(path)?.as_str() {
        "/api/put" => (Endpoint::Put, &["POST"]),
        "/api/query" => (Endpoint::Query, &["GET", "POST", "DELETE"]),
        "/api/suggest" => (Endpoint::Suggest, &["GET", "POST"]),
        "/suggest" => (Endpoint::Suggest, &["GET"]),
        "/api/aggregators" | "/aggregators" => (Endpoint::Aggregators, &["GET"]),
        "/api/config/filters" => (Endpoint::Filters, &["GET", "POST"]),
        "/api/version" => (Endpoint::Version, &["GET", "POST"]),
        "/version" if Params::parse(request.query).has("json") => (Endpoint::Version, &["GET"]),
        "/version" => (Endpoint::VersionText, &["GET"]),
        "/api/status" => (Endpoint::Status, &["GET"]),
        "/api/serializers" => (Endpoint::Serializers, &["GET", "POST"]),
        "/api/dropcaches" => (Endpoint::DropCaches, &["GET", "DELETE"]),
        "/q" => (Endpoint::Graph, &["GET", "POST"]),
        _ => return Err(HttpError::new(404, "Endpoint not found")),
    };
    let method = method(request);
    match methods.contains(&method.as_str()) {
        true => Ok(endpoint),
        false => {
            let details = format!("The HTTP method [{method}] is not permitted for this endpoint");
            Err(HttpError::new(405, "Method not allowed").with_details(details))
        }
    }
}

/// The request's method, or what a GET says it wants to be with `method_override`.
pub fn method(request: &HttpRequest<'_>) -> String {
    let params = Params::parse(request.query);
    match (request.method, params.get("method_override")) {
        ("GET", Some(method)) => match method.to_ascii_uppercase() {
            method if ["GET", "POST", "PUT", "DELETE"].contains(&method.as_str()) => method,
            _ => "GET".to_owned(),
        },
        (method, _) => method.to_owned(),
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
        let pair = |piece: &str| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            (percent_decode(name, true), percent_decode(value, true))
        };
        Self(query.split('&').filter(|piece| !piece.is_empty()).map(pair).collect())
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

/// Undoes percent-encoding; a percent sign without two hexadecimal digits stays as it is.
fn percent_decode(text: &str, plus_is_blank: bool) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        match byte {
            b'+' if plus_is_blank => out.push(b' '),
            b'%' => match (digit(ahead.next()), digit(ahead.next())) {
                (Some(high), Some(low)) => {
                    out.push((high * 16 + low) as u8);
                    bytes = ahead;
                }
                _ => out.push(byte),
            },
            byte => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(method: &str, target: &str) -> Result<Endpoint, u16> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        route(&HttpRequest { method, path, query, body: b"" }).map_err(|error| error.status)
    }

    #[test]
    fn routes() {
        assert_eq!(to("POST", "/api/put"), Ok(Endpoint::Put));
        assert_eq!(to("POST", "/API/v1/Put/"), Ok(Endpoint::Put));
        assert_eq!(to("GET", "/api/put"), Err(405));
        assert_eq!(to("GET", "/api/put?method_override=post"), Ok(Endpoint::Put));
        assert_eq!(to("GET", "/api/query?start=1h-ago"), Ok(Endpoint::Query));
        assert_eq!(to("OPTIONS", "/api/query"), Err(405));
        assert_eq!(to("GET", "/api/v2/query"), Err(501));
        assert_eq!(to("GET", "/api/vx/query"), Err(404));
        assert_eq!(to("GET", "/api/nosuch"), Err(404));
        assert_eq!(to("POST", "/api/aggregators"), Err(405));
        assert_eq!(to("GET", "/version"), Ok(Endpoint::VersionText));
        assert_eq!(to("GET", "/version?json"), Ok(Endpoint::Version));
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
        assert_eq!(params.get("x"), Some("%zz%4"));
        assert_eq!(Params::parse("jsonp=a.b").jsonp(), Ok(Some("a.b".to_owned())));
        assert!(Params::parse("jsonp=alert(1)//").jsonp().is_err());
    }
}
