//! Who says something twice may have meant either: what changes or deletes anything refuses that,
//! at every door, and names what was given twice.

use crate::harness::{Scratch, Server};
use serde_json::Value;

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// All that the requests below could change.
fn everything(dir: &Scratch, server: &Server) -> String {
    let mut all = String::new();
    for path in [
        "/query?db=d&q=SHOW+DATABASES;SHOW+RETENTION+POLICIES+ON+d;SELECT+*+FROM+m",
        "/query?db=default&q=SHOW+SERIES;SELECT+*+FROM+/.*/",
        "/api/v2/buckets",
        "/api/v2/authorizations",
        "/api/foliot/v1/saved",
        "/api/annotations?start_time=1&end_time=9",
        "/api/tree",
        "/api/uid/uidmeta?uid=000001&type=metric",
        "/api/search/lookup?m=o",
    ] {
        all.push_str(&format!("{path}: {}\n", server.get(path).text()));
    }
    all + &std::fs::read_to_string(dir.path().join("audit.log")).unwrap_or_default()
}

#[test]
fn what_changes_something_refuses_what_is_said_twice() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "opentsdb.allow_delete=true"]);
    let made = server.post("/query?q=CREATE+DATABASE+d", "");
    assert_eq!(made.status, 200, "{}", made.text());
    assert_eq!(server.post("/write?db=d", "m,h=a v=1 1\nm,h=b v=2 2").status, 204);
    assert_eq!(server.post("/write?db=default", "o,h=a value=1 1000000000").status, 204);
    let tree = server.post("/api/tree", r#"{"name":"t"}"#);
    assert_eq!(tree.status, 200, "{}", tree.text());
    let buckets: Value =
        serde_json::from_str(&server.get("/api/v2/buckets?name=d").text()).unwrap();
    let id = buckets["buckets"][0]["id"].as_str().unwrap();
    let bucket = format!("/api/v2/buckets/{id}");
    let before = everything(&dir, &server);
    let v2 = r#""start":"1970-01-01T00:00:00Z","stop":"2030-01-01T00:00:00Z""#;
    let org = r#""orgID":"0000000100000000""#;
    let series = "/prometheus/api/v1/admin/tsdb/delete_series";
    let buckets_members = r#"{"type":"buckets","name":"d","name":"default"}"#;
    let cases: &[(&str, &str, &str, &str)] = &[
        // InfluxDB 2.
        (
            "POST",
            "/api/v2/delete?bucket=d",
            &format!(r#"{{{v2},"predicate":"h=\"a\"","predicate":""}}"#),
            "predicate",
        ),
        ("POST", "/api/v2/delete?bucket=d", &format!(r#"{{{v2},{v2}}}"#), "start"),
        ("POST", "/api/v2/delete?bucket=d&bucket=default", &format!("{{{v2}}}"), "bucket"),
        (
            "POST",
            &format!("/api/v2/delete?bucketID={id}&bucket=default"),
            &format!("{{{v2}}}"),
            "bucketID",
        ),
        ("POST", "/api/v2/write?bucket=d&bucket=e", "m v=1", "bucket"),
        ("POST", "/api/v2/write?bucket=d&precision=s&precision=ns", "m v=1", "precision"),
        ("POST", "/api/v2/buckets", r#"{"name":"x","name":"y"}"#, "name"),
        (
            "POST",
            "/api/v2/buckets",
            r#"{"name":"x","retentionRules":[{"everySeconds":0,"everySeconds":3600}]}"#,
            "everySeconds",
        ),
        (
            "PATCH",
            &bucket,
            r#"{"retentionRules":[{"everySeconds":0,"everySeconds":3600}]}"#,
            "everySeconds",
        ),
        ("PATCH", &bucket, r#"{"id":"0000000000000001"}"#, "id"),
        ("DELETE", &bucket, r#"{"dry_run":true,"dry_run":false}"#, "dry_run"),
        ("DELETE", &format!("{bucket}?org=a&org=b"), "", "org"),
        (
            "POST",
            "/api/v2/authorizations",
            &format!(
                r#"{{{org},"permissions":[{{"action":"read","resource":{buckets_members}}}]}}"#
            ),
            "name",
        ),
        (
            "POST",
            "/api/v2/authorizations",
            &format!(
                r#"{{{org},"permissions":[{{"action":"read","resource":{{"type":"buckets","id":"{id}","name":"default"}}}}]}}"#
            ),
            "id and name disagree",
        ),
        // InfluxDB 1 and 3.
        ("POST", "/write?db=d&db=e", "m v=1", "db"),
        ("POST", "/write?db=d&rp=autogen&rp=x", "m v=1", "rp"),
        ("POST", "/api/v3/write_lp?db=d&db=e", "m v=1", "db"),
        ("POST", "/api/v3/configure/database", r#"{"db":"x","db":"y"}"#, "db"),
        ("DELETE", "/api/v3/configure/database?db=d&db=e", "", "db"),
        ("POST", "/query?db=d&db=e&q=DROP+MEASUREMENT+m", "", "db"),
        ("POST", "/query?db=d&q=DELETE+FROM+m&q=SHOW+DATABASES", "", "q"),
        ("POST", "/query?db=d", "q=DROP+SERIES+FROM+m&db=default", "db"),
        ("POST", "/query?db=d", r#"q=DELETE+FROM+m+WHERE+time+<+$t&params={"t":1,"t":9}"#, "t"),
        ("POST", "/query?q=CREATE+DATABASE+x&q=CREATE+DATABASE+y", "", "q"),
        // Prometheus.
        ("POST", &format!("{series}?match[]=o&start=1&start=2"), "", "start"),
        ("POST", &format!("{series}?match[]=o&end=1"), "end=2", "end"),
        ("POST", &format!("{series}?match[]=m_v&db=d"), "db=default", "db"),
        ("POST", "/api/v1/import/prometheus?db=d&db=e", "m 1", "db"),
        // OpenTSDB.
        ("DELETE", "/api/query?start=1&start=2&m=sum:o", "", "start"),
        (
            "POST",
            "/api/query",
            r#"{"start":1,"end":2,"end":9,"delete":true,"queries":[{"aggregator":"sum","metric":"o"}]}"#,
            "end",
        ),
        (
            "POST",
            "/api/query",
            r#"{"start":1,"delete":false,"delete":true,"queries":[{"aggregator":"sum","metric":"o"}]}"#,
            "delete",
        ),
        (
            "POST",
            "/api/query",
            r#"{"start":1,"end":"","delete":true,"queries":[{"aggregator":"sum","metric":"o"}]}"#,
            "end",
        ),
        ("DELETE", "/api/query?start=1&end=&m=sum:o", "", "end"),
        ("POST", "/api/uid/assign", r#"{"metric":["x"],"metric":["y"]}"#, "metric"),
        ("POST", "/api/uid/rename", r#"{"metric":"o","name":"p","name":"q"}"#, "name"),
        ("POST", "/api/uid/rename?metric=o&name=q", r#"{"metric":"o","name":"p"}"#, "metric"),
        ("POST", "/api/uid/rename?name=q", r#"{"metric":"o","name":"p"}"#, "name"),
        (
            "POST",
            "/api/uid/uidmeta",
            r#"{"uid":"000001","type":"metric","notes":"a","notes":"b"}"#,
            "notes",
        ),
        ("POST", "/api/annotation", r#"{"startTime":1,"startTime":2}"#, "startTime"),
        (
            "POST",
            "/api/annotation/bulk",
            r#"[{"startTime":1},{"startTime":2,"notes":"","notes":"n"}]"#,
            "notes",
        ),
        ("DELETE", "/api/annotation?start_time=1&start_time=2", "", "start_time"),
        ("POST", "/api/tree", r#"{"name":"x","name":"y"}"#, "name"),
        ("POST", "/api/tree", r#"{"treeId":1,"strictMatch":"true "}"#, ""),
        ("DELETE", "/api/tree?treeid=1&treeid=2&definition=true", "", "treeid"),
        (
            "POST",
            "/api/put?db=d&db=e",
            r#"{"metric":"o","timestamp":1,"value":1,"tags":{"h":"a"}}"#,
            "db",
        ),
        // Foliot's own.
        ("POST", "/api/foliot/v1/delete", r#"{"metric":"o","end_ms":1,"end_ms":9999}"#, "end_ms"),
        (
            "POST",
            "/api/foliot/v1/delete",
            r#"{"metric":"o","is_preview":true,"is_preview":false}"#,
            "is_preview",
        ),
        ("POST", "/api/foliot/v1/delete", r#"{"metric":"o","labels":{"h":"a","h":"b"}}"#, "h"),
        ("POST", "/api/foliot/v1/delete?db=d&db=default", r#"{"metric":"o"}"#, "db"),
        (
            "POST",
            "/api/foliot/v1/saved",
            r##"{"name":"a","name":"b","address":"#/explore?x"}"##,
            "name",
        ),
        ("DELETE", "/api/foliot/v1/saved?name=a&name=b", "", "name"),
        ("POST", "/api/foliot/v1/annotations", r#"{"start_ms":1,"text":"a","text":"b"}"#, "text"),
        ("POST", "/api/foliot/v1/import?format=influx&format=opentsdb", "m v=1", "format"),
        ("POST", "/api/foliot/v1/queries/cancel", r#"{"id":1,"id":2}"#, "id"),
    ];
    for (method, path, body, name) in cases {
        let is_form = body.contains('=') && !body.starts_with(['{', '[', 'm']);
        let headers = [FORM];
        let headers = if is_form { &headers[..] } else { &[] };
        let answer = server.request(method, path, headers, body.as_bytes());
        let said = answer.text();
        assert_eq!(answer.status, 400, "{method} {path} {body}: {said}");
        assert!(said.contains(name), "{method} {path} {body}: {said}");
    }
    assert_eq!(everything(&dir, &server), before);
    server.stop();
}

/// What asks for several things by one name, and what changes nothing, is answered as ever.
#[test]
fn lists_and_questions_may_say_things_twice() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "opentsdb.allow_delete=true"]);
    assert_eq!(server.post("/write?db=default", "o,h=a value=1 1\np,h=a value=2 1").status, 204);
    for (method, path, body) in [
        ("GET", "/query?db=default&db=other&q=SELECT+*+FROM+o&q=SHOW+DATABASES", ""),
        ("GET", "/api/query?start=1&start=2&end=9&m=sum:o&m=sum:p", ""),
        (
            "POST",
            "/api/query",
            r#"{"start":1,"start":2,"queries":[{"aggregator":"sum","metric":"o"}]}"#,
        ),
        ("GET", "/prometheus/api/v1/query?query=o&query=p", ""),
        ("GET", "/prometheus/api/v1/series?match[]=o&match[]=p", ""),
        ("GET", "/api/v2/buckets?limit=1&limit=2", ""),
        ("DELETE", "/api/query?start=1&end=9&m=sum:o&m=sum:p", ""),
        ("POST", "/prometheus/api/v1/admin/tsdb/delete_series?match[]=o&match[]=p", ""),
    ] {
        let answer = server.request(method, path, &[], body.as_bytes());
        assert!(matches!(answer.status, 200 | 204), "{method} {path}: {}", answer.text());
    }
    server.stop();
}

/// A change is small: what is longer is refused before anything reads it.
#[test]
fn a_change_that_is_too_long_is_refused() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(1 << 20));
    for path in ["/api/v2/delete?bucket=default", "/api/v2/buckets", "/api/v2/authorizations"] {
        let answer = server.post(path, &long);
        assert_eq!(answer.status, 413, "{path}: {}", answer.text());
        let said: Value = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(said["code"], "request too large", "{path}: {said}");
    }
    server.stop();
}
