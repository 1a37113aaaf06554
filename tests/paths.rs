//! Paths that lead nowhere, and what is asked at the wrong door: each answers as its door's peer
//! does, and shows the way where there is one.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod harness;

use harness::{Response, Scratch, Server, read_response, request};
use serde_json::Value;
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream};

/// Where a listener of another dialect is, by what the server said at its start.
fn listener(server: &Server, name: &str) -> SocketAddr {
    let line = server.welcome.lines().find(|line| line.contains(name));
    let line = line.unwrap_or_else(|| panic!("{name} is not in\n{}", server.welcome));
    line.split_whitespace().find_map(|word| word.parse().ok()).unwrap()
}

fn to(address: SocketAddr, method: &str, path: &str) -> Response {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(harness::PATIENCE)).unwrap();
    socket.write_all(&request(method, path, &[], b"")).unwrap();
    read_response(&mut BufReader::new(socket)).unwrap()
}

#[test]
fn paths_of_influxdb_2_that_do_not_exist_answer_in_its_shape() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for path in ["/api/v2/setup", "/api/v2/tasks", "/api/v2/signin", "/api/v2", "/api/v2/a/b/c"] {
        for method in ["GET", "POST"] {
            let answer = server.request(method, path, &[], b"");
            assert_eq!(answer.status, 404, "{method} {path}: {}", answer.text());
            let said: Value = serde_json::from_str(&answer.text()).unwrap();
            assert_eq!(said["code"], "not found", "{said}");
            assert!(said["message"].as_str().unwrap().contains("path not found"), "{said}");
        }
    }
    let answer = server.request("DELETE", "/api/v2/buckets", &[], b"");
    assert_eq!((answer.status, answer.header("allow")), (405, "GET, POST"));
    let said: Value = serde_json::from_str(&answer.text()).unwrap();
    assert_eq!(said["code"], "method not allowed", "{said}");
    // A path of OpenTSDB's in a version that it has not.
    let answer = server.post("/api/v2/put", "{}");
    assert!(answer.status == 501 && answer.text().contains("\"error\""), "{}", answer.text());
    server.stop();
}

#[test]
fn paths_of_prometheus_are_shown_where_they_are() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for path in [
        "/api/v1/query",
        "/api/v1/query_range",
        "/api/v1/series",
        "/api/v1/labels",
        "/api/v1/label/job/values",
        "/api/v1/read",
        "/api/v1/admin/tsdb/delete_series",
        "/federate",
    ] {
        for (method, body) in [("GET", ""), ("POST", "query=up&time=1&match[]=up")] {
            let form = ("Content-Type", "application/x-www-form-urlencoded");
            let answer = server.request(method, path, &[form], body.as_bytes());
            let said = answer.text();
            assert!(matches!(answer.status, 400 | 404), "{method} {path}: {said}");
            let there = format!("/prometheus{path}");
            assert!(said.contains(&there), "{method} {path}: {said}");
        }
    }
    server.stop();
}

/// A guess is shown for a slip of the fingers only: another door would take what is sent there for
/// something else.
#[test]
fn no_path_leads_to_another_door() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for path in [
        "/api/v1/import/native",
        "/otlp/v1/metrics",
        "/api/v3/query_sql",
        "/api/v3/query_influxql",
        "/api/v1/push",
        "/insert/0/influx/write",
        "/api/v1/alerts2/x",
    ] {
        for method in ["GET", "POST"] {
            let answer = server.request(method, path, &[], b"");
            let said = answer.text();
            assert!(matches!(answer.status, 404 | 501), "{method} {path}: {said}");
            assert!(!said.to_lowercase().contains("did you mean"), "{method} {path}: {said}");
        }
    }
    for (path, meant) in [
        ("/api/qurey", "/api/query"),
        ("/wirte", "/write"),
        ("/api/v1/imports", "/api/v1/import"),
        ("/metric", "/metrics"),
    ] {
        let said = server.get(path).text();
        assert!(said.to_lowercase().contains(&format!("did you mean {meant}")), "{path}: {said}");
    }
    server.stop();
}

#[test]
fn listeners_of_prometheus_and_victoriametrics_answer_in_their_words() {
    let dir = Scratch::new();
    let flags = ["--listen-prometheus", "127.0.0.1:0", "--listen-victoriametrics", "127.0.0.1:0"];
    let server = Server::start(dir.path(), &flags);
    let prometheus = listener(&server, "Prometheus");
    let victoria = listener(&server, "VictoriaMetrics");
    for path in ["/api/v1/nothing", "/nothing", "/api/nothing", "/api/v7/x"] {
        for method in ["GET", "POST"] {
            let answer = to(prometheus, method, path);
            let said = (answer.status, answer.text());
            assert_eq!(said, (404, "404 page not found\n".to_owned()), "{method} {path}");
            let answer = to(victoria, method, path);
            let said = (answer.status, answer.text());
            let expected = format!("unsupported path requested: {path:?}\n");
            assert_eq!(said, (400, expected), "{method} {path}");
        }
    }
    assert_eq!(to(prometheus, "GET", "/api/v1/labels").status, 200);
    assert_eq!(to(victoria, "GET", "/prometheus/api/v1/labels").status, 200);
    server.stop();
}
