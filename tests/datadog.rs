//! DataDog's series through the real binary.

use crate::harness::{Response, Scratch, Server, foliot};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;

const T: i64 = 1_700_000_000;

fn second(metric: &str, values: &[f64]) -> String {
    let points = values
        .iter()
        .enumerate()
        .map(|(index, value)| format!(r#"{{"timestamp":{},"value":{value}}}"#, T + index as i64));
    let points = points.collect::<Vec<_>>().join(",");
    let resources = r#"[{"name":"web1","type":"host"}]"#;
    format!(
        r#"{{"series":[{{"metric":"{metric}","type":3,"points":[{points}],"resources":{resources},"tags":["env:test","solo"]}}]}}"#
    )
}

fn post(server: &Server, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let kind = [("Content-Type", "application/json")];
    server.request("POST", path, &[&kind, headers].concat(), body)
}

#[test]
fn both_versions_are_stored_plain_or_packed() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let body = second("system.load.1", &[0.5, 1.0]);
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
    zlib.write_all(body.as_bytes()).unwrap();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(second("other", &[2.0]).as_bytes()).unwrap();
    let answer = post(
        &server,
        "/datadog/api/v2/series",
        &[("Content-Encoding", "deflate")],
        &zlib.finish().unwrap(),
    );
    assert_eq!((answer.status, &*answer.text()), (202, r#"{"errors":[]}"#));
    let packed = gzip.finish().unwrap();
    let answer = post(&server, "/api/v2/series?db=other", &[("Content-Encoding", "gzip")], &packed);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let first = format!(
        r#"{{"series":[{{"metric":"system.load.1","host":"web1","points":[[{},2]],"tags":["env:test","solo"]}}]}}"#,
        T + 2
    );
    let answer = post(&server, "/datadog/api/v1/series", &[], first.as_bytes());
    assert_eq!((answer.status, &*answer.text()), (202, r#"{"status":"ok"}"#));
    let wanted = [(T * 1000, "0.5"), (T * 1000 + 1000, "1.0"), (T * 1000 + 2000, "2.0")];
    let series = "none:system.load.1%7Bhost=web1,env=test,solo=no_label_value%7D";
    assert_eq!(server.samples(series), wanted.map(|(time, text)| (time, text.to_owned())));
    let answer = server.get("/prometheus/api/v1/labels?db=other").text();
    assert!(answer.contains(r#"["__name__","env","host","solo"]"#), "{answer}");
    assert_eq!(server.metric("foliot_rows_total{protocol=\"datadog\"}"), 4.0);
    assert_eq!(server.get("/datadog/api/v1/validate").text(), r#"{"valid":true}"#);
}

#[test]
fn what_is_wrong_is_told_and_the_rest_is_stored() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-pending-body-bytes", "1MiB"]);
    for (body, status, word) in [
        ("{}", 202, "errors"),
        ("{", 400, "no series of DataDog's"),
        (r#"{"series":[{"points":[]}]}"#, 400, "missing field"),
        (
            r#"{"series":[{"metric":"m","points":[{"timestamp":1e300,"value":1},{"timestamp":1,"value":1}]}]}"#,
            400,
            "1 samples were stored, 1 refused; the first in sample 1: timestamp",
        ),
    ] {
        let answer = post(&server, "/datadog/api/v2/series", &[], body.as_bytes());
        let text = answer.text();
        assert!(answer.status == status && text.contains(word), "{body}: {text}");
        assert!(text.starts_with(r#"{"errors":["#), "{text}");
    }
    assert_eq!(server.samples("none:m"), [(1000, "1.0".to_owned())]);
    // What it comes to must find room too.
    let long = second("m", &vec![1.0; 10_000]);
    let answer = post(&server, "/datadog/api/v2/series", &[], long.as_bytes());
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(answer.text().contains("limits.pending_body_bytes"), "{}", answer.text());
    assert_eq!(server.get("/datadog/api/v2/series").status, 405);
}

#[test]
fn agents_show_their_key() {
    let dir = Scratch::new();
    let mut command = foliot();
    command.args(["user", "token", "t", "--role", "write", "--db", "default", "--data-dir"]);
    let token = String::from_utf8(command.arg(dir.path()).output().unwrap().stdout).unwrap();
    let server = Server::start(dir.path(), &["--access"]);
    let body = second("m", &[1.0]);
    let send = |key: &str| {
        let headers: &[(&str, &str)] = if key.is_empty() { &[] } else { &[("DD-API-KEY", key)] };
        let valid = server.request("GET", "/datadog/api/v1/validate", headers, b"").status;
        (post(&server, "/datadog/api/v2/series", headers, body.as_bytes()).status, valid)
    };
    assert_eq!(send(token.trim()), (202, 200));
    assert_eq!(send("foliot_wrong"), (401, 401));
    assert_eq!(send(""), (401, 403));
    // At other doors that header means nothing: they answer as they answer whoever shows none.
    for headers in [&[("DD-API-KEY", token.trim())][..], &[]] {
        assert_eq!(server.request("POST", "/write?db=default", headers, b"m v=1").status, 403);
    }
}
