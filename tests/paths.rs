//! Paths that lead nowhere, and what is asked at the wrong door: each answers as its door's peer
//! does, and shows the way where there is one.

use crate::harness;
use crate::harness::{Response, Scratch, Server, read_response, request};
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
fn paths_of_foliots_own_api_answer_in_its_shape() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (method, path, status, words) in [
        ("GET", "/api/foliot/v1/nosuch", 404, "nothing is at /api/foliot/v1/nosuch; see docs"),
        ("GET", "/api/foliot/v1/statsu", 404, "did you mean /api/foliot/v1/status?"),
        ("GET", "/api/foliot", 404, "docs/api.md"),
        ("PUT", "/api/foliot/v1/query", 405, "allowed here: POST"),
        ("GET", "/api/foliot/v1/catalogue?q=x", 400, "q: is none of of, search, without, limit"),
        ("GET", "/api/foliot/v1/settings?limit=3", 400, "limit: is none of db, rp"),
        ("DELETE", "/api/foliot/v1/saved?name=x&dry_run=true", 400, "nothing is changed"),
    ] {
        let answer = server.request(method, path, &[], b"");
        let said: Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(answer.status, status, "{method} {path}: {said}");
        let message = said["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{method} {path}: {said}");
    }
    let answer = server.get("/foo");
    assert!(answer.status == 404 && answer.text().contains("/api/v1/write"), "{}", answer.text());
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
    for (path, words) in [
        ("/api/v1/import/native", ": its native format is not read; /api/v1/import takes"),
        ("/prometheus/api/v1/export/native", "/api/v1/export writes lines of JSON"),
        ("/insert/0/prometheus/api/v1/write", "this is one server: leave out /insert/0"),
        ("/render?target=a", "ask in MetricsQL"),
    ] {
        let answer = to(victoria, "GET", path);
        let said = answer.text();
        assert!(answer.status == 400 && said.contains(words), "{path}: {said}");
        assert!(said.starts_with("unsupported path requested: "), "{said}");
    }
    let write = |path: &str| {
        let mut socket = TcpStream::connect(victoria).unwrap();
        socket.set_read_timeout(Some(harness::PATIENCE)).unwrap();
        socket.write_all(&request("POST", path, &[], b"m,h=a value=1 1000000000")).unwrap();
        read_response(&mut BufReader::new(socket)).unwrap().status
    };
    // Its clients name no database, and put the door before the path.
    for path in ["/write", "/api/v2/write", "/influx/write", "/influx/api/v2/write"] {
        assert_eq!(write(path), 204, "{path}");
    }
    assert_eq!(server.samples("none:m").len(), 1);
    assert_eq!(server.post("/write", "m value=1").status, 400);
    assert_eq!(to(prometheus, "GET", "/api/v1/labels").status, 200);
    assert_eq!(to(victoria, "GET", "/prometheus/api/v1/labels").status, 200);
    server.stop();
}
