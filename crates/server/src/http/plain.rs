//! Routes of no database's dialect: the page, health, metrics.

use super::{Call, INFLUX_VERSION, Reply};
use crate::http::routes::Asset;
use crate::metrics::Exposition;
use crate::shared::Shared;
use foliot_engine::{Trouble, Work};
use hyper::StatusCode;
use hyper::header::{self, HeaderName};
use serde_json::{Value, json};
use std::sync::Arc;

const HTML: &str = include_str!("../web/index.html");
const STYLE: &str = include_str!("../web/page.css");
const SCRIPT: &str = include_str!("../web/page.js");

/// Nothing but the page's own files may run, and only this server may be asked.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

pub(super) fn page(asset: Asset) -> Reply {
    let (kind, text) = match asset {
        Asset::Html => ("text/html; charset=utf-8", HTML),
        Asset::Style => ("text/css; charset=utf-8", STYLE),
        Asset::Script => ("text/javascript; charset=utf-8", SCRIPT),
    };
    Reply::new(StatusCode::OK, kind, text)
        .header(header::CONTENT_SECURITY_POLICY, POLICY)
        .header(header::X_FRAME_OPTIONS, "DENY")
        .header(header::REFERRER_POLICY, "no-referrer")
        .header(header::CACHE_CONTROL, "no-cache")
}

/// InfluxDB's sign of life.
pub(super) fn ping(shared: &Shared, call: &Call) -> Reply {
    let verbose = call.query.split('&').any(|pair| matches!(pair, "verbose=true" | "verbose=1"));
    let reply = match verbose {
        true => Reply::json(StatusCode::OK, format!("{{\"version\":\"{INFLUX_VERSION}\"}}\n")),
        false => Reply::empty(StatusCode::NO_CONTENT),
    };
    reply
        .header(HeaderName::from_static("x-influxdb-version"), INFLUX_VERSION)
        .header(HeaderName::from_static("x-influxdb-build"), "OSS")
        .header(HeaderName::from_static("x-foliot-version"), &shared.build.version)
}

/// Whether anything is wrong, in the shape of InfluxDB's answer. Only a log that failed is for
/// whoever restarts servers; what else goes wrong is among the checks.
pub(super) fn health(shared: &Shared) -> Reply {
    let poisoned = shared.store().is_some_and(|store| store.engine().progress().poisoned);
    let (code, status, message) = match (poisoned, shared.store()) {
        (true, _) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "fail",
            "a write or sync of the log failed: check the disk and restart Foliot",
        ),
        (_, None) => (StatusCode::OK, "pass", "recovering; see /-/ready"),
        _ => (StatusCode::OK, "pass", "ready for queries and writes"),
    };
    let version = &shared.build.version;
    let troubles = shared.store().map(|store| store.engine().troubles()).unwrap_or_default();
    let checks = troubles.iter().map(|trouble| {
        json!({ "name": trouble.work.name(), "status": "fail", "message": trouble.to_string() })
    });
    let checks = Value::from_iter(checks);
    let body = format!(
        "{{\"name\":\"foliot\",\"message\":\"{message}\",\"status\":\"{status}\",\
         \"checks\":{checks},\"version\":\"{version}\"}}\n"
    );
    Reply::json(code, body)
}

/// Whether requests are served, and if not, for how long that has been so; and what goes wrong in
/// the background. While samples cannot be logged, or moved from memory to disk, writes end soon:
/// then this server is not ready.
pub(super) fn ready(shared: &Shared) -> Reply {
    if shared.is_stopping() {
        return Reply::text(StatusCode::SERVICE_UNAVAILABLE, "stopping");
    }
    match shared.store() {
        Some(store) => readiness(&store.engine().troubles()),
        None => {
            let seconds = shared.began.elapsed().as_secs();
            let text = format!("opening the store, for {seconds} s so far");
            Reply::text(StatusCode::SERVICE_UNAVAILABLE, text).retry_after(1)
        }
    }
}

fn readiness(troubles: &[Trouble]) -> Reply {
    let said: String = troubles.iter().map(|trouble| format!("\n{trouble}")).collect();
    let ends_writes = |trouble: &Trouble| matches!(trouble.work, Work::Wal | Work::Flush);
    match troubles.iter().any(ends_writes) {
        true => Reply::text(StatusCode::SERVICE_UNAVAILABLE, format!("not ready{said}")),
        false => Reply::text(StatusCode::OK, format!("ready{said}")),
    }
}

pub(super) fn metrics(shared: &Arc<Shared>) -> Reply {
    let mut exposition = Exposition::default();
    shared.visit_figures(&mut |figure| exposition.add(figure));
    Reply::new(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", exposition.into_text())
        .header(header::CACHE_CONTROL, "no-store")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::reply::Content;

    #[test]
    fn readiness_says_what_fails_and_ends_when_writes_are_about_to() {
        let said = |works: &[Work]| {
            let trouble =
                |work: &Work| Trouble { work: *work, failures: 3, reason: "why".to_owned() };
            let reply = readiness(&works.iter().map(trouble).collect::<Vec<_>>());
            let Content::Full(text) = reply.content else { panic!("a text") };
            (reply.status.as_u16(), String::from_utf8(text).unwrap())
        };
        assert_eq!(said(&[]), (200, "ready\n".to_owned()));
        let (status, text) = said(&[Work::Upkeep]);
        assert!(status == 200 && text.starts_with("ready\n") && text.contains("why"), "{text}");
        let (status, text) = said(&[Work::Flush, Work::Upkeep]);
        assert!(status == 503 && text.lines().count() == 3, "{text}");
        assert_eq!(said(&[Work::Wal]).0, 503);
    }

    #[test]
    fn the_page_makes_no_markup_from_names_and_asks_nobody_else() {
        let ways = ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("];
        for way in ways.iter().chain(&["new Function", "style=", "onclick=", "<script>", "<style"])
        {
            for text in [HTML, SCRIPT] {
                assert!(!text.contains(way), "{way}");
            }
        }
        for text in [HTML, STYLE, SCRIPT] {
            for (at, _) in text.match_indices("://") {
                let rest = &text[at..];
                assert!(rest.starts_with("://www.w3.org/"), "{:.40}", rest);
            }
        }
    }
}
