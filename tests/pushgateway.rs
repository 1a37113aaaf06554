//! What a Pushgateway's clients push, through the real binary.

use crate::harness::remote::{asked_at, escaped, message, varint};
use crate::harness::{Scratch, Server};

const PUSH: &str = "/api/v1/import/prometheus/metrics";

/// The labels of all series that an expression selects.
fn labels(server: &Server, expression: &str) -> Vec<String> {
    let (status, text) = asked_at(server, "series", &format!("match[]={}", escaped(expression)));
    assert_eq!(status, 200, "{text}");
    let found = text.split('{').skip(2).map(|series| series.split('}').next().unwrap().to_owned());
    found.collect()
}

#[test]
fn labels_of_the_path_go_before_those_of_the_text() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let text = "# TYPE done gauge\ndone{instance=\"other\",disk=\"a\"} 1\ndone 2\n";
    for (method, path) in [
        ("PUT", "job/backup/instance/web%201"),
        ("POST", "job@base64/YmFja3Vw/path@base64/L3Zhci90bXA/"),
    ] {
        let answer = server.request(method, &format!("{PUSH}/{path}"), &[], text.as_bytes());
        assert_eq!(answer.status, 204, "{}", answer.text());
    }
    let wanted = [
        r#""__name__":"done","disk":"a","instance":"other","job":"backup","path":"/var/tmp""#,
        r#""__name__":"done","disk":"a","instance":"web 1","job":"backup""#,
        r#""__name__":"done","instance":"web 1","job":"backup""#,
        r#""__name__":"done","job":"backup","path":"/var/tmp""#,
    ];
    let mut found = labels(&server, "done");
    found.sort();
    assert_eq!(found, wanted);
}

#[test]
fn messages_have_them_too() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // Gauge d with job="x" in the message.
    let label = message(1, &[message(1, b"job"), message(2, b"x")].concat());
    let value = message(2, &[&[1 << 3 | 1][..], &1.5f64.to_le_bytes()].concat());
    let body = [message(1, b"d"), vec![3 << 3, 1], message(4, &[label, value].concat())].concat();
    let mut family = Vec::new();
    varint(body.len() as u64, &mut family);
    family.extend(body);
    let kind = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; \
                encoding=delimited";
    let kind = [("Content-Type", kind)];
    let answer = server.request("PUT", &format!("{PUSH}/job/j"), &kind, &family);
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert_eq!(labels(&server, "d"), [r#""__name__":"d","job":"j""#]);
}

#[test]
fn what_is_no_group_is_refused() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (method, path, status, word) in [
        ("PUT", "instance/a", 400, "begins with /job/"),
        ("PUT", "job/a/b", 400, "label \"b\" of the path has no value"),
        ("POST", "job/a/job/b", 400, "label \"job\" stands twice in the path"),
        ("POST", "job/a/__name__/b", 400, "\"__name__\" is no label of a group"),
        ("POST", "job/a/b@base64/%21", 400, "\"!\" is no text in base64"),
        ("DELETE", "job/a", 405, ""),
        ("GET", "job/a", 405, ""),
    ] {
        let answer = server.request(method, &format!("{PUSH}/{path}"), &[], b"m 1\n");
        assert_eq!(answer.status, status, "{method} {path}: {}", answer.text());
        assert!(answer.text().contains(word), "{path}: {}", answer.text());
    }
    assert_eq!(server.get("/api/suggest?type=metrics").text(), "[]");
}

#[test]
fn a_path_that_is_no_utf8_is_refused() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let answer = server.request("POST", &format!("{PUSH}/job/a%ff"), &[], b"done 1\n");
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("UTF-8"), "{}", answer.text());
    assert_eq!(labels(&server, "done"), [""; 0]);
}

#[test]
fn what_is_said_of_pushed_metrics_is_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let text = "# HELP done_total Jobs that\\nended\n# TYPE done_total counter\n# TYPE odd banana\n# a \
                comment\n# TYPE\ndone_total 1\n#TYPE wait histogram\r\n# HELP wait How long\r\nwait_bucket\
                {le=\"1\"} 1\r\nwait_sum 1\nbad line here\n";
    let text = [text.as_bytes(), b"# HELP gone \xff\n"].concat();
    let pushed = server.request("PUT", &format!("{PUSH}/job/j"), &[], &text);
    assert_eq!(pushed.status, 400, "one line is bad: {}", pushed.text());
    let open =
        "# TYPE heat gauge\n# UNIT heat celsius\n# HELP heat Warmth\nheat 20 1700000000\n# EOF\n";
    let kind = [("Content-Type", "application/openmetrics-text; version=1.0.0")];
    let answer = server.request("POST", "/api/v1/import/prometheus", &kind, open.as_bytes());
    assert_eq!(answer.status, 204, "{}", answer.text());
    let body = [message(1, b"d"), message(2, b"Depth"), vec![3 << 3, 1], message(5, b"m")].concat();
    let mut family = Vec::new();
    varint(body.len() as u64, &mut family);
    family.extend(body);
    let kind = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; \
                encoding=delimited";
    let answer =
        server.request("PUT", &format!("{PUSH}/job/j"), &[("Content-Type", kind)], &family);
    assert_eq!(answer.status, 204, "{}", answer.text());
    let imported = server.post(
        "/api/foliot/v1/import?format=prometheus",
        "# TYPE up gauge\n# HELP up Whether it is\nup 1\n",
    );
    assert_eq!(imported.status, 200, "{}", imported.text());
    let looked_at = "/api/foliot/v1/import?format=prometheus&dry_run=true";
    assert_eq!(server.post(looked_at, "# TYPE never gauge\nnever 1\n").status, 200);
    let told = server.get("/prometheus/api/v1/metadata").text();
    for (name, kind, help, unit) in [
        ("done_total", "counter", "Jobs that\\nended", ""),
        ("wait", "histogram", "How long", ""),
        ("heat", "gauge", "Warmth", "celsius"),
        ("d", "gauge", "Depth", "m"),
        ("up", "gauge", "Whether it is", ""),
    ] {
        let of =
            format!("\"{name}\":[{{\"help\":\"{help}\",\"type\":\"{kind}\",\"unit\":\"{unit}\"}}]");
        assert!(told.contains(&of), "{of} in {told}");
    }
    assert!(!told.contains("odd") && !told.contains("never") && !told.contains("gone"), "{told}");
    let one = server.get("/prometheus/api/v1/metadata?metric=heat").text();
    assert!(one.contains("celsius") && !one.contains("counter"), "{one}");
    let listed = server.get("/api/foliot/v1/catalogue?of=metrics&help=true").text();
    assert!(
        listed.contains("\"wait_bucket\":{\"help\":\"How long\",\"kind\":\"histogram\""),
        "{listed}"
    );
    assert!(listed.contains("Whether it is"), "{listed}");
    let figures = server.get("/api/foliot/v1/metric?metric=done_total").text();
    assert!(figures.contains("Jobs that"), "{figures}");
    // What is said is of the database that was written.
    assert_eq!(server.post("/query?q=CREATE+DATABASE+other", "").status, 200);
    let text = "# TYPE up counter\n# HELP up Another\nup 1\n";
    let answer = server.request("POST", "/api/v1/import/prometheus?db=other", &[], text.as_bytes());
    assert_eq!(answer.status, 204, "{}", answer.text());
    let here = server.get("/prometheus/api/v1/metadata?metric=up").text();
    let there = server.get("/prometheus/api/v1/metadata?metric=up&db=other").text();
    assert!(here.contains("Whether it is") && !here.contains("Another"), "{here}");
    assert!(there.contains("Another") && !there.contains("Whether it is"), "{there}");
    server.stop();
}
