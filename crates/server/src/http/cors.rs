//! Web pages of other origins (Cross-Origin Resource Sharing), as OpenTSDB and Prometheus let them
//! in.
//!
//! `http.cors_domains` names them. An origin that is named gets its answer with the headers that
//! let a browser hand it on; others are refused. OpenTSDB refuses with status 200, Foliot with 403.
//! While nobody is named, nothing is said of origins: then browsers hand nothing on.

use super::{Reply, is_same_origin};
use crate::config::Config;
use foliot_proto_opentsdb::HttpError;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

/// The methods that such pages may use.
const METHODS: &str = "GET, POST, PUT, DELETE";

/// The same at the paths of Prometheus' API, and what a page may see of the head of an answer.
const METHODS_OF_PROMETHEUS: &str = "GET, POST, OPTIONS";
const EXPOSED_BY_PROMETHEUS: &str = "Date";

/// Another origin that is known.
pub(super) struct Admitted {
    origin: HeaderValue,
    /// Whether it asks at a path of Prometheus' API.
    is_prometheus: bool,
}

/// The origin that a request is admitted for, if it comes from another origin and such are known.
/// `is_prometheus` says whether its path is one of Prometheus' API.
///
/// # Errors
/// The answer to requests that are not admitted, and to those that only ask whether they would be.
pub(super) fn admit(
    config: &Config,
    (method, headers): (&Method, &HeaderMap),
    is_prometheus: impl FnOnce() -> bool,
) -> Result<Option<Admitted>, Box<Reply>> {
    let domains = &config.http_cors_domains.0;
    let asks = method == Method::OPTIONS;
    if domains.is_empty() && !asks {
        return Ok(None);
    }
    let is_prometheus = is_prometheus();
    let origin = headers.get(header::ORIGIN).filter(|origin| !origin.is_empty());
    if asks && is_prometheus && (domains.is_empty() || origin.is_none()) {
        return Err(Box::new(Reply::empty(StatusCode::NO_CONTENT).header(header::VARY, "Origin")));
    }
    if domains.is_empty() {
        return Ok(None);
    }
    let Some(origin) = origin else {
        if !asks {
            return Ok(None);
        }
        let details = "The HTTP method [OPTIONS] is not permitted";
        let error = HttpError::new(405, "Method not allowed").with_details(details);
        return Err(refusal(StatusCode::METHOD_NOT_ALLOWED, &error));
    };
    let text = String::from_utf8_lossy(origin.as_bytes());
    let fits = |domain: &String| domain == "*" || domain.eq_ignore_ascii_case(&text);
    if domains.iter().any(fits) {
        let admitted = Admitted { origin: origin.clone(), is_prometheus };
        return match asks {
            true => {
                let status = if is_prometheus { StatusCode::NO_CONTENT } else { StatusCode::OK };
                Err(Box::new(admitted.allow(Reply::empty(status), config)))
            }
            false => Ok(Some(admitted)),
        };
    }
    if is_same_origin(headers) && !asks {
        return Ok(None);
    }
    let details = format!("The domain [{text}] is not permitted access");
    let error = HttpError::new(403, "CORS domain not allowed").with_details(details);
    Err(refusal(StatusCode::FORBIDDEN, &error))
}

impl Admitted {
    /// The same answer with the headers that let a browser hand it to a page of the origin.
    pub(super) fn allow(self, mut reply: Reply, config: &Config) -> Reply {
        reply.headers.push((header::ACCESS_CONTROL_ALLOW_ORIGIN, self.origin));
        let methods = if self.is_prometheus { METHODS_OF_PROMETHEUS } else { METHODS };
        let reply = reply
            .header(header::ACCESS_CONTROL_ALLOW_METHODS, methods)
            .header(header::ACCESS_CONTROL_ALLOW_HEADERS, &config.http_cors_headers.0)
            .header(header::VARY, "Origin");
        match self.is_prometheus {
            true => reply.header(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_BY_PROMETHEUS),
            false => reply,
        }
    }
}

fn refusal(status: StatusCode, error: &HttpError) -> Box<Reply> {
    Box::new(Reply::json(status, error.to_json()).close())
}
