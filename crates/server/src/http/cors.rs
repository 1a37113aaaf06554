//! Web pages of other origins (Cross-Origin Resource Sharing), as OpenTSDB lets them in.
//!
//! `http.cors_domains` names them. An origin that is named gets its answer with the headers that
//! let a browser hand it on; others are refused. OpenTSDB refuses with status 200, Foliot with 403.

use super::{Reply, is_same_origin};
use crate::config::Config;
use foliot_proto_opentsdb::HttpError;
use hyper::header::{self, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

/// The methods that such pages may use.
const METHODS: &str = "GET, POST, PUT, DELETE";

/// The origin that a request is admitted for, if it comes from another origin and such are known.
///
/// # Errors
/// The answer to requests that are not admitted, and to those that only ask whether they would be.
pub(super) fn admit(
    config: &Config,
    method: &Method,
    headers: &HeaderMap,
) -> Result<Option<HeaderValue>, Box<Reply>> {
    let domains = &config.http_cors_domains.0;
    let asks = method == Method::OPTIONS;
    if domains.is_empty() {
        return Ok(None);
    }
    let origin = headers.get(header::ORIGIN).filter(|origin| !origin.is_empty());
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
        return match asks {
            true => Err(Box::new(allow(Reply::empty(StatusCode::OK), config, origin.clone()))),
            false => Ok(Some(origin.clone())),
        };
    }
    if is_same_origin(headers) && !asks {
        return Ok(None);
    }
    let details = format!("The domain [{text}] is not permitted access");
    let error = HttpError::new(403, "CORS domain not allowed").with_details(details);
    Err(refusal(StatusCode::FORBIDDEN, &error))
}

/// The same answer with the headers that let a browser hand it to a page of `origin`.
pub(super) fn allow(mut reply: Reply, config: &Config, origin: HeaderValue) -> Reply {
    reply.headers.push((header::ACCESS_CONTROL_ALLOW_ORIGIN, origin));
    reply
        .header(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS)
        .header(header::ACCESS_CONTROL_ALLOW_HEADERS, &config.http_cors_headers.0)
        .header(header::VARY, "Origin")
}

fn refusal(status: StatusCode, error: &HttpError) -> Box<Reply> {
    Box::new(Reply::json(status, error.to_json()).close())
}
