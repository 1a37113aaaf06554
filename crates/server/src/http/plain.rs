//! Routes of no database's dialect: the page, health, metrics.

use super::{Call, INFLUX_VERSION, Reply, accepts_gzip};
use crate::http::routes::Asset;
use crate::metrics::Exposition;
use crate::opening;
use crate::server::Documents;
use crate::shared::Shared;
use flate2::read::GzDecoder;
use foliot_engine::{Trouble, Work};
use hyper::StatusCode;
use hyper::header::{self, HeaderMap, HeaderName};
use serde_json::{Value, json};
use std::io::Read;
use std::sync::Arc;

/// The built page, compressed. Its sources are in `web/`; `make web` builds it.
const HTML: &[u8] = include_bytes!("../web/dist/index.html.gz");
const STYLE: &[u8] = include_bytes!("../web/dist/s/page.css.gz");
const SCRIPT: &[u8] = include_bytes!("../web/dist/s/page.js.gz");
const EDITOR: &[u8] = include_bytes!("../web/dist/s/editor.js.gz");
const FILES: &[u8] = include_bytes!("../web/dist/s/files.js.gz");
const PARQUET: &[u8] = include_bytes!("../web/dist/s/parquet.js.gz");

/// Nothing but the page's own files may run, and only this server may be asked.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// A document has its style in itself, and nothing else: no script, no picture, no form.
const DOCUMENT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                               form-action 'none'; frame-ancestors 'none'";

/// A file of the page, as it lies in memory; unpacked for the few clients that cannot do it. A
/// browser that has it already is told so.
pub(super) fn page(asset: Asset, request: &HeaderMap) -> Reply {
    let (kind, packed) = match asset {
        Asset::Html => ("text/html; charset=utf-8", HTML),
        Asset::Style => ("text/css; charset=utf-8", STYLE),
        Asset::Script => ("text/javascript; charset=utf-8", SCRIPT),
        Asset::Editor => ("text/javascript; charset=utf-8", EDITOR),
        Asset::Files => ("text/javascript; charset=utf-8", FILES),
        Asset::Parquet => ("text/javascript; charset=utf-8", PARQUET),
    };
    let tag = tag(packed);
    let known = request.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag));
    let reply = match (is_known, accepts_gzip(request)) {
        (true, _) => Reply::empty(StatusCode::NOT_MODIFIED),
        (false, true) => Reply::new(StatusCode::OK, kind, packed).gzipped(),
        (false, false) => Reply::new(StatusCode::OK, kind, unpacked(packed)),
    };
    reply
        .header(header::ETAG, &tag)
        .header(header::CONTENT_SECURITY_POLICY, POLICY)
        .header(header::X_FRAME_OPTIONS, "DENY")
        .header(header::REFERRER_POLICY, "no-referrer")
        .header(header::CACHE_CONTROL, "no-cache")
}

/// A document as a page, by its path below `/docs`.
pub(super) fn document(documents: Documents, call: &Call) -> Reply {
    let path = call.path.strip_prefix("/docs").unwrap_or_default().trim_matches('/');
    if path.is_empty() {
        // Links on a page are told from its own address.
        return Reply::empty(StatusCode::FOUND).header(header::LOCATION, "/docs/README.md");
    }
    let Some((_, packed)) = documents.iter().find(|(known, _)| *known == path) else {
        // Words of the page and of errors name documents without what their files end in.
        let file = format!("{path}.md");
        if documents.iter().any(|(known, _)| *known == file) {
            let there = format!("/docs/{file}");
            return Reply::empty(StatusCode::FOUND).header(header::LOCATION, &there);
        }
        let text = format!("there is no document {path}; /docs lists them");
        return Reply::text(StatusCode::NOT_FOUND, text);
    };
    let reply = match accepts_gzip(&call.headers) {
        true => Reply::new(StatusCode::OK, "text/html; charset=utf-8", *packed).gzipped(),
        false => Reply::new(StatusCode::OK, "text/html; charset=utf-8", unpacked(packed)),
    };
    reply
        .header(header::CONTENT_SECURITY_POLICY, DOCUMENT_POLICY)
        .header(header::X_FRAME_OPTIONS, "DENY")
        .header(header::REFERRER_POLICY, "no-referrer")
}

/// What tells a file from its other builds: the checksum and the length at the end of its gzip
/// (RFC 1952, 2.3.1).
fn tag(packed: &[u8]) -> String {
    let end = packed.last_chunk::<8>().copied().unwrap_or_default();
    format!("\"{:016x}\"", u64::from_le_bytes(end))
}

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    // What was built in cannot be damaged; half a page would be seen.
    let _ = GzDecoder::new(packed).read_to_end(&mut text);
    text
}

/// InfluxDB's sign of life.
pub(super) fn ping(shared: &Shared, call: &Call) -> Reply {
    let verbose = call.query.split('&').any(|pair| matches!(pair, "verbose=true" | "verbose=1"));
    let reply = match verbose {
        true => Reply::json(StatusCode::OK, format!("{{\"version\":\"{INFLUX_VERSION}\"}}\n")),
        false => Reply::empty(StatusCode::NO_CONTENT),
    };
    reply
        .fixed(HeaderName::from_static("x-influxdb-version"), INFLUX_VERSION)
        .fixed(HeaderName::from_static("x-influxdb-build"), "OSS")
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
            let text = opening::said(shared);
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

/// Whether requests are served, and for how long, in the shape of InfluxDB 2's answer.
pub(super) fn influx_ready(shared: &Shared) -> Reply {
    let up = shared.began.elapsed();
    let started = std::time::SystemTime::now().checked_sub(up).and_then(|at| at.try_into().ok());
    let started: jiff::Timestamp = started.unwrap_or_default();
    let seconds = up.as_secs();
    let up = format!("{}h{}m{}s", seconds / 3600, seconds / 60 % 60, seconds % 60);
    let is_ready = ready(shared).status == StatusCode::OK;
    let (code, status) = match is_ready {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    let body = json!({"status": status, "started": started.to_string(), "up": up});
    Reply::json(code, body.to_string())
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
    use std::path::{Path, PathBuf};

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

    /// All files below a folder.
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
        entries.flat_map(below).collect()
    }

    #[test]
    fn the_pages_sources_make_no_markup_from_names_and_ask_nobody_else() {
        let sources = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src"));
        let sources = files(sources);
        assert!(sources.len() > 10, "{sources:?}");
        let ways = ["innerHTML", "InnerHTML", "outerHTML", "insertAdjacentHTML", "document.write"];
        for path in &sources {
            let text = std::fs::read_to_string(path).unwrap();
            for way in
                ways.iter().chain(&["eval(", "new Function", "style=", "http://", "https://"])
            {
                assert!(!text.contains(way), "{} has {way}", path.display());
            }
        }
    }

    #[test]
    fn the_built_page_is_whole_and_small_and_runs_under_its_policy() {
        let text = |packed: &[u8]| String::from_utf8(unpacked(packed)).unwrap();
        let dist = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/web/dist"));
        let built = [
            ("index.html", HTML),
            ("s/page.css", STYLE),
            ("s/page.js", SCRIPT),
            ("s/editor.js", EDITOR),
            ("s/files.js", FILES),
            ("s/parquet.js", PARQUET),
        ];
        for (name, packed) in built {
            let plain = std::fs::read_to_string(dist.join(name)).unwrap();
            assert!(plain == text(packed), "{name} and {name}.gz differ: run make web");
        }
        assert!(HTML.len() + STYLE.len() + SCRIPT.len() < 100 << 10, "the first paint");
        let html = text(HTML);
        for inline in ["<style", "style=", "<script>", "onclick=", "onload="] {
            assert!(!html.contains(inline), "{inline}");
        }
        for (at, _) in html.match_indices("://") {
            assert!(html[at..].starts_with("://www.w3.org/"), "{:.40}", &html[at..]);
        }
        assert!(!text(STYLE).contains("url("), "the style loads nothing");
        assert_ne!(tag(STYLE), tag(SCRIPT));
    }
}
