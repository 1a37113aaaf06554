//! What wrong requests are told over HTTP: the cause, and the next step.

use crate::harness::{Scratch, Server, foliot};

/// Method, address, body, status, and the answer as it stands.
type Wrong<'a> = (&'a str, &'a str, &'a str, u16, &'a str);

#[test]
fn requests_that_lack_something_are_told_what() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let keyword = "found DEFAULT (a keyword: a name that is one needs double quotes), expected \
                   identifier";
    for (path, body, status, expected) in [
        ("/api/v2/write", "m v=1", 400, "bucket is required: bucket=DATABASE"),
        ("/api/v2/write?bucket=d&precision=day", "m v=1", 400, "use ns, us, ms or s"),
        ("/write?db=d&precision=day", "m v=1", 400, "use n, ns, u, ms, s, m or h"),
        ("/query?q=DROP+DATABASE+default", "", 400, keyword),
    ] {
        let response = server.post(path, body);
        let said = response.text();
        assert!(response.status == status && said.contains(expected), "{path}: {said}");
    }
    let quoted = "/query?q=CREATE+RETENTION+POLICY+x+ON+%22default%22+DURATION+1h+REPLICATION+1";
    let made = server.post(quoted, "").text();
    assert!(!made.contains("error"), "{made}");
    let bucket =
        r#"{"name":"b","orgID":"1","retentionRules":[{"type":"expire","everySeconds":60}]}"#;
    let response = server.post("/api/v2/buckets", bucket);
    let said = response.text();
    assert!(response.status == 400 && said.contains("an hour (3600) at least"), "{said}");
    assert!(server.talk(b"help\n").contains(" auth"), "telnet's help names auth");
    server.stop();
}

#[test]
fn who_may_not_is_told_what_is_lacking() {
    let dir = Scratch::new();
    let token = |name: &str, role: &str| {
        let mut command = foliot();
        let command = command.args(["user", "token", name, "--role", role]);
        let made = command.arg("--data-dir").arg(dir.path()).output().unwrap();
        format!("Bearer {}", String::from_utf8(made.stdout).unwrap().trim())
    };
    token("root", "admin");
    let (reader, writer) = (token("grafana", "read"), token("telegraf", "write"));
    let server = Server::start(dir.path(), &["--access"]);
    for (who, method, path, expected) in [
        (&writer, "GET", "/api/query?start=0&m=sum:m", "\"telegraf\" lacks the right to read"),
        (
            &reader,
            "POST",
            "/api/put",
            "\"grafana\" lacks the right to write to database \"default\"",
        ),
        (&reader, "POST", "/api/put?db=d", "to database \"d\""),
        (&reader, "POST", "/api/annotation", "in all measurements"),
        (&reader, "GET", "/api/stats", "the role operator"),
        (&reader, "GET", "/api/config", "the role operator"),
    ] {
        let headers = [("Authorization", &**who)];
        let refused = server.request(method, path, &headers, b"");
        let json: serde_json::Value = serde_json::from_str(&refused.text()).unwrap();
        let said = json["error"]["message"].as_str().unwrap();
        assert_eq!(refused.status, 403, "{path}: {said}");
        assert!(said.contains(expected) && said.contains("administrator gives it"), "{said}");
    }
    server.stop();
}

#[test]
fn requests_that_find_nothing_are_shown_the_way() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (method, path, status, expected) in [
        ("GET", "/metric", 404, "nothing is at /metric; did you mean /metrics?"),
        ("POST", "/wirte?db=d", 404, "nothing is at /wirte; did you mean /write?"),
        ("GET", "/helth", 404, "nothing is at /helth; did you mean /health?"),
        ("GET", "/-/readi", 404, "nothing is at /-/readi; did you mean /-/ready?"),
        ("GET", "/sql", 404, "nothing is at /sql; did you mean /api/v3/query_sql?"),
        ("GET", "/api/sql", 404, "Did you mean /api/v3/query_sql?"),
        ("GET", "/api/v1/qurey", 404, "ask at /prometheus/api/v1/query,"),
        ("GET", "/api/query?start=2026-01-31&m=sum:m", 400, "2026/01/31-12:00:00"),
        ("POST", "/metrics/job/x", 404, "; push to /api/v1/import/prometheus/metrics/job/NAME"),
        ("GET", "/render?target=a", 404, "; Graphite's questions are not answered"),
        ("GET", "/wp-login.php", 404, "nothing is at /wp-login.php; see / for what is"),
        ("POST", "/api/v2/query", 501, "ask in InfluxQL, at /query?db=BUCKET, for example SELECT"),
        ("GET", "/api/v3/query", 501, "Did you mean /api/v3/query_influxql or /api/v3/query_sql"),
        ("GET", "/api/v2/query/suggestions", 501, "Did you mean /api/v2/query"),
        ("GET", "/api/v2/ping", 204, ""),
    ] {
        let answer = server.request(method, path, &[], b"");
        let said = answer.text();
        assert_eq!(answer.status, status, "{path}: {said}");
        assert!(said.contains(expected), "{path}: {said}");
    }
    server.stop();
}

#[test]
fn wrong_requests_have_exact_answers_that_show_the_next_step() {
    const OPENTSDB: &[Wrong<'_>] = &[
        (
            "GET",
            "/api/query",
            "",
            400,
            r#"{"error":{"code":400,"message":"Missing parameter <code>start</code>","details":"Say it in the query string, for example start=1h-ago; PromQL is asked at /prometheus/api/v1/query"}}"#,
        ),
        (
            "GET",
            "/api/query?start=1h-ago",
            "",
            400,
            r#"{"error":{"code":400,"message":"Missing sub queries","details":"Say what is asked, by m=sum:METRIC in the query string or by \"queries\" in a body of JSON"}}"#,
        ),
        (
            "GET",
            "/api/query?start=1h-ago&m=cpu",
            "",
            400,
            r#"{"error":{"code":400,"message":"Invalid parameter m=cpu (not enough :-separated parts)","details":"Write it as AGGREGATOR:METRIC, for example sum:cpu.usage"}}"#,
        ),
        (
            "GET",
            "/api/query?start=1h-ago&m=average:cpu",
            "",
            400,
            r#"{"error":{"code":400,"message":"No such aggregation function: average","details":"/api/aggregators lists all of them"}}"#,
        ),
        (
            "GET",
            "/api/query?start=1h-ago&m=sum:cpu",
            "",
            400,
            r#"{"error":{"code":400,"message":"No such name for 'metrics': 'cpu'"}}"#,
        ),
        (
            "GET",
            "/api/query?start=1h-ago&m=sum:5x-avg:cpu",
            "",
            400,
            r#"{"error":{"code":400,"message":"Invalid duration (suffix): 5x","details":"Units are ms, s, m, h, d, w, n (months) and y"}}"#,
        ),
        (
            "DELETE",
            "/api/query?start=1&m=sum:m",
            "",
            400,
            r#"{"error":{"code":400,"message":"Deleting data is not enabled","details":"Ask again without \"delete\" to read the data, or set opentsdb.allow_delete"}}"#,
        ),
        (
            "GET",
            "/api/suggest",
            "",
            400,
            r#"{"error":{"code":400,"message":"Missing parameter <code>type</code>","details":"Say it in the query string, for example type=metrics"}}"#,
        ),
        (
            "GET",
            "/api/suggest?type=tag",
            "",
            400,
            r#"{"error":{"code":400,"message":"Invalid 'type' parameter:tag","details":"must be one of: metrics, tagk, tagv"}}"#,
        ),
        (
            "GET",
            "/api/sugest?type=tagk",
            "",
            404,
            r#"{"error":{"code":404,"message":"Endpoint not found","details":"Did you mean /api/suggest?"}}"#,
        ),
    ];
    const INFLUX: &[Wrong<'_>] = &[
        ("POST", "/write", "m v=1", 400, r#"{"error":"database is required: db=DATABASE"}"#),
        (
            "POST",
            "/write?db=d&precision=day",
            "m v=1",
            400,
            r#"{"error":"invalid precision \"day\" (use n, ns, u, ms, s, m or h)"}"#,
        ),
        (
            "POST",
            "/write?db=a%2Fb",
            "m v=1",
            400,
            r#"{"error":"invalid name \"a/b\" of a database or policy: it must have 1 to 255 bytes, no / or \\, no control characters, and be neither . nor .."}"#,
        ),
        (
            "POST",
            "/api/v2/write",
            "m v=1",
            400,
            r#"{"code":"invalid","message":"bucket is required: bucket=DATABASE or bucket=DATABASE/RETENTION-POLICY"}"#,
        ),
        (
            "POST",
            "/api/v2/buckets",
            "{}",
            400,
            r#"{"code":"invalid","message":"a bucket needs a name: database or database/policy"}"#,
        ),
        (
            "POST",
            "/api/v2/delete?bucket=default",
            "{}",
            400,
            r#"{"code":"invalid","message":"start must be a time such as 2006-01-02T15:04:05Z"}"#,
        ),
        (
            "GET",
            "/query?q=SELEC+v+FROM+m&db=d",
            "",
            400,
            r#"{"error":"error parsing query: found SELEC, expected SELECT, DELETE, SHOW, CREATE, DROP, EXPLAIN, GRANT, REVOKE, ALTER, SET, KILL at line 1, char 1"}"#,
        ),
        (
            "GET",
            "/query?q=DROP+DATABASE+d",
            "",
            405,
            r#"{"error":"GET changes nothing here (http.changes_by_get): use POST"}"#,
        ),
        (
            "GET",
            "/api/v2/orgs/1",
            "",
            404,
            r#"{"code":"not found","message":"organization not found; there is one, its number is 0000000100000000"}"#,
        ),
    ];
    const OTHERS: &[Wrong<'_>] = &[
        (
            "GET",
            "/api/v2/write",
            "",
            405,
            r#"{"code":"method not allowed","message":"allowed here: POST"}"#,
        ),
        ("GET", "/write", "", 405, "allowed here: POST"),
        ("GET", "/metric", "", 404, "nothing is at /metric; did you mean /metrics?"),
        (
            "GET",
            "/wp-login.php",
            "",
            404,
            "nothing is at /wp-login.php; see / for what is, or ask at /write and /query \
             (InfluxDB), /api/put and /api/query (OpenTSDB), /api/v1/write and \
             /prometheus/api/v1/query (Prometheus), /v1/metrics (OpenTelemetry), \
             /api/foliot/v1/query, /metrics or /health",
        ),
        (
            "POST",
            "/api/foliot/v1/queries/cancel",
            "{}",
            400,
            r#"{"error":{"message":"id: must be the number of a query, as in {\"id\": 7}"}}"#,
        ),
    ];
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (method, path, body, status, expected) in [OPENTSDB, INFLUX, OTHERS].concat() {
        let answer = server.request(method, path, &[], body.as_bytes());
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        assert_eq!(answer.text().trim_end(), expected, "{method} {path}");
    }
    server.stop();
}
