//! What Prometheus' API answers beside questions, held against Prometheus 3.8's own source.

use crate::harness::{PATIENCE, Response, Scratch, Server};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A server that obeys a configuration, beside which these files of rules lie.
fn start(dir: &Scratch, config: &str, rules: &[(&str, &str)], more: &[&str]) -> Server {
    let write = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    rules.iter().for_each(|(name, text)| drop(write(name, text)));
    let file = write("p.yml", config);
    let mut flags = vec!["--prometheus-config", &file];
    flags.extend(more);
    Server::start(&dir.path().join("data"), &flags)
}

fn put(server: &Server, text: &str) {
    assert_eq!(server.post("/api/v1/import/prometheus", text).status, 204);
}

fn json_of(answer: &Response) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("no JSON: {}", answer.text()))
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What is answered where it is good.
fn data(server: &Server, path: &str) -> Value {
    let answer = json_of(&server.get(&format!("/prometheus/api/v1/{path}")));
    assert_eq!(answer["status"], "success", "{path}: {answer}");
    answer["data"].clone()
}

/// Asks what is refused as bad, and compares why.
fn is_bad(server: &Server, method: &str, path: &str, error: &str) {
    let answer = server.request(method, &format!("/prometheus/api/v1/{path}"), &[], b"");
    let wanted = json!({"status": "error", "errorType": "bad_data", "error": error});
    assert_eq!((answer.status, json_of(&answer)), (400, wanted), "{path}");
}

#[test]
fn federated_series_get_external_labels_that_they_lack() {
    let dir = Scratch::new();
    let config = "global: {external_labels: {region: eu, az: '1'}}\n";
    let server = start(&dir, config, &[], &[]);
    put(&server, "m{region=\"us\",z=\"1\"} 1\nm{instance=\"i\"} 2\n");
    let text = server.get("/prometheus/federate?match[]=m").text();
    let lines: Vec<&str> = text.lines().map(|line| line.rsplit_once(' ').unwrap().0).collect();
    let wanted = [
        "# TYPE m",
        "m{instance=\"i\",az=\"1\",region=\"eu\"} 2",
        "m{region=\"us\",z=\"1\",az=\"1\",instance=\"\"} 1",
    ];
    assert_eq!(lines, wanted, "{text}");
    server.stop();
    // One of their own has the series' instance, too.
    let dir = Scratch::new();
    let server = start(&dir, "global: {external_labels: {instance: here}}\n", &[], &[]);
    put(&server, "m 1\n");
    let text = server.get("/prometheus/federate?match[]=m").text();
    assert!(text.contains("\nm{instance=\"here\"} 1 "), "{text}");
    server.stop();
}

#[test]
fn names_of_labels_may_be_escaped_and_must_be_names() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    put(&server, "m{\"http.status\"=\"200\",a_b=\"x\",U__c_zz_=\"y\",\"a+b\"=\"z\"} 1\n");
    for (name, value) in [
        ("U__http_2e_status", "200"),
        ("http.status", "200"),
        ("http%2Estatus", "200"),
        ("U__a__b", "x"),
        ("U__c_zz_", "y"),
        ("a+b", "z"),
    ] {
        assert_eq!(data(&server, &format!("label/{name}/values")), json!([value]), "{name}");
    }
    for (name, shown) in [("%ff", r"\xff"), ("a%22%c3", r#"a\"\xc3"#), ("", ""), ("U__", "")] {
        let error = format!("invalid label name: \"{shown}\"");
        is_bad(&server, "GET", &format!("label/{name}/values"), &error);
    }
    server.stop();
}

#[test]
fn a_selector_of_everything_is_refused() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "opentsdb.allow_delete=true"]);
    put(&server, "m{a=\"b\"} 1\n");
    let reason = "match[] must contain at least one non-empty matcher";
    let named = format!("invalid parameter \"match[]\": {reason}");
    for selector in ["%7B%7D", "%7Ba%3D%22%22%7D", "%7B__name__%3D~%22.*%22%7D"] {
        let after = format!("match[]=m&match[]={selector}");
        is_bad(&server, "GET", &format!("series?{after}"), &named);
        is_bad(&server, "POST", &format!("admin/tsdb/delete_series?{after}"), &named);
        for path in ["labels", "label/a/values", "rules"] {
            is_bad(&server, "GET", &format!("{path}?{after}"), reason);
        }
    }
    assert_eq!(data(&server, "label/a/values?match[]=m"), json!(["b"]));
    // What a target's metadata are wanted of may be everything.
    assert_eq!(data(&server, "targets/metadata?match_target=%7B%7D"), json!([]));
    server.stop();
}

#[test]
fn an_unknown_state_of_targets_is_that_of_none() {
    let dir = Scratch::new();
    let config = "scrape_configs:\n- job_name: j\n  static_configs: [{targets: ['127.0.0.1:1', \
                  'left:9']}]\n  relabel_configs: [{source_labels: [__address__], regex: \
                  'left.*', action: drop}]\n";
    let server = start(&dir, config, &[], &[]);
    let told = |state: &str| data(&server, &format!("targets?state={state}"));
    until("one is dropped", || told("any")["droppedTargetCounts"]["j"] == 1);
    for (state, active, dropped) in
        [("ANY", 1, 1), ("active", 1, 0), ("Dropped", 0, 1), ("bogus", 0, 0)]
    {
        let told = told(state);
        let count = |list: &str| told[list].as_array().unwrap().len();
        let counts = if dropped == 1 { json!({"j": 1}) } else { Value::Null };
        assert_eq!((count("activeTargets"), count("droppedTargets")), (active, dropped), "{told}");
        assert_eq!(told["droppedTargetCounts"], counts, "{state}");
    }
    // How many are dropped is told of all jobs.
    assert_eq!(data(&server, "targets?scrapePool=k")["droppedTargetCounts"], json!({"j": 1}));
    server.stop();
}

#[test]
fn groups_of_rules_are_told_page_by_page() {
    let dir = Scratch::new();
    let group = |name: &str, kind: &str| {
        format!("- {{name: {name}, interval: 1h, rules: [{{{kind}: x, expr: m}}]}}\n")
    };
    let (record, alert) = ("record", "alert");
    let one = format!("groups:\n{}{}", group("a", record), group("b", alert));
    let two = format!("groups:\n{}- {{name: d, rules: []}}\n", group("c", record));
    let rules = [("r1.yml", one.as_str()), ("r2.yml", two.as_str())];
    let server = start(&dir, "rule_files: ['r*.yml']\n", &rules, &[]);
    let page = |query: &str| {
        let told = data(&server, &format!("rules?{query}"));
        let groups = told["groups"].as_array().unwrap().iter();
        let names: Vec<String> =
            groups.map(|group| group["name"].as_str().unwrap().to_owned()).collect();
        (names.concat(), told.get("groupNextToken").map(|it| it.as_str().unwrap().to_owned()))
    };
    until("those with rules are followed", || page("").0 == "abc");
    let (names, next) = page("group_limit=2");
    assert_eq!(names, "ab");
    let next = next.unwrap();
    assert_eq!(page(&format!("group_limit=2&group_next_token={next}")), ("c".to_owned(), None));
    assert_eq!(page("group_limit=3"), ("abc".to_owned(), None));
    let (names, next) = page("group_limit=1&type=RECORD");
    assert_eq!((names.as_str(), next.is_some()), ("a", true));
    let number = "group_limit needs to be a valid number: strconv.ParseInt: parsing";
    let all = "group_limit needs to be present in order to paginate over the groups";
    for (query, name, reason) in [
        ("group_limit=0", "group_limit", "group_limit needs to be greater than 0"),
        ("group_limit=-1", "group_limit", "group_limit needs to be greater than 0"),
        ("group_limit=x", "group_limit", &format!("{number} \"x\": invalid syntax")),
        (
            "group_limit=2147483648",
            "group_limit",
            &format!("{number} \"2147483648\": value out of range"),
        ),
        ("group_next_token=x", "group_next_token", all),
        (
            "group_limit=1&group_next_token=x",
            "group_next_token",
            "invalid group_next_token 'x'. were rule groups changed?",
        ),
        (
            "exclude_alerts=yes",
            "exclude_alerts",
            "error converting exclude_alerts: strconv.ParseBool: parsing \"yes\": invalid syntax",
        ),
        ("type=both", "type", "not supported value \"both\""),
    ] {
        let error = format!("invalid parameter \"{name}\": {reason}");
        is_bad(&server, "GET", &format!("rules?{query}"), &error);
    }
    server.stop();
}

#[test]
fn what_the_server_is_is_told_in_prometheus_fields() {
    let dir = Scratch::new();
    let bounds = ["--retention", "30d", "--retention-size", "2GB", "--limits-memory-bytes", "1GiB"];
    let server = Server::start(dir.path(), &bounds);
    let built = data(&server, "status/buildinfo");
    for name in ["version", "revision", "branch", "buildUser", "buildDate", "goVersion"] {
        assert!(built[name].is_string(), "{name}: {built}");
    }
    let date = built["buildDate"].as_str().unwrap();
    assert!(date.len() == 17 && date.starts_with("20") && date.as_bytes()[8] == b'-', "{built}");
    assert_eq!((&built["goVersion"], &built["buildUser"]), (&json!(""), &json!("")));
    let runs = data(&server, "status/runtimeinfo");
    for name in ["startTime", "serverTime", "lastConfigTime", "hostname", "CWD"] {
        assert!(runs[name].as_str().is_some_and(|text| !text.is_empty()), "{name}: {runs}");
    }
    assert_eq!(runs["CWD"], json!(std::env::current_dir().unwrap()));
    assert!(runs["goroutineCount"].as_u64() > Some(1), "{runs}");
    assert_eq!(runs["GOMAXPROCS"], std::thread::available_parallelism().unwrap().get());
    assert_eq!(runs["GOMEMLIMIT"], 1u64 << 30);
    assert_eq!((&runs["GOGC"], &runs["GODEBUG"]), (&json!(""), &json!("")));
    assert_eq!(runs["storageRetention"], "30d or 2GB");
    let ends = "start=-292273086-05-16T16:47:06Z&end=292277025-08-18T07:12:54.999999999Z";
    assert_eq!(data(&server, &format!("query_exemplars?query=up&{ends}")), json!([]));
    is_bad(&server, "GET", "status/tsdb?limit=0", "limit must be a positive number");
    is_bad(&server, "GET", "metadata?limit=x", "limit must be a number");
    let replay = data(&server, "status/walreplay");
    assert_eq!((&replay["min"], &replay["state"]), (&json!(0), &json!("done")));
    assert!(replay["max"].is_u64() && replay["current"] == replay["max"], "{replay}");
    assert_eq!(data(&server, "notifications"), json!([]));
    let live = server.get("/prometheus/api/v1/notifications/live");
    assert_eq!((live.status, live.header("content-type")), (204, "text/event-stream"));
    server.stop();
}

#[test]
fn pages_of_other_origins_are_let_in_as_prometheus_does_where_they_are_named() {
    let dir = Scratch::new();
    let query = "/prometheus/api/v1/query?query=1";
    let from = |server: &Server, method: &str, path: &str, origin: &str| {
        server.request(method, path, &[("Origin", origin)], b"")
    };
    let allows = |answer: &Response| {
        ["origin", "methods", "headers"]
            .map(|of| answer.header(&format!("access-control-allow-{of}")).to_owned())
    };
    let origin = "https://dash.example";
    let server = Server::start(&dir.path().join("a"), &[]);
    let asked = from(&server, "OPTIONS", query, origin);
    assert_eq!((asked.status, asked.header("vary")), (204, "Origin"));
    assert_eq!(allows(&asked), ["", "", ""]);
    assert_eq!(server.request("OPTIONS", query, &[], b"").status, 204);
    assert_eq!(allows(&from(&server, "GET", query, origin)), ["", "", ""]);
    assert_eq!(from(&server, "POST", query, origin).status, 403);
    assert_eq!(from(&server, "OPTIONS", "/prometheus/api/v1/label/a/values", origin).status, 204);
    // Others keep their rules, and what is nowhere stays so.
    assert_eq!(from(&server, "OPTIONS", "/api/query", origin).status, 405);
    assert_ne!(from(&server, "OPTIONS", "/prometheus/api/v1/nothing", origin).status, 204);
    server.stop();
    let set = ["--set", "http.cors_domains=https://dash.example"];
    let server = Server::start(&dir.path().join("b"), &set);
    for (method, status) in [("OPTIONS", 204), ("GET", 200), ("POST", 200)] {
        let answer = from(&server, method, query, origin);
        let [allowed, methods, headers] = allows(&answer);
        assert_eq!((answer.status, allowed.as_str()), (status, origin), "{method}");
        assert_eq!(methods, "GET, POST, OPTIONS");
        for name in ["Accept", "Authorization", "Content-Type", "Origin"] {
            assert!(headers.split(", ").any(|header| header == name), "{headers}");
        }
        assert_eq!(answer.header("access-control-expose-headers"), "Date");
        assert!(answer.header("vary").contains("Origin"), "{}", answer.header("vary"));
    }
    assert_eq!(server.request("OPTIONS", query, &[], b"").status, 204);
    assert_eq!(from(&server, "OPTIONS", query, "https://evil.example").status, 403);
    let other = from(&server, "OPTIONS", "/api/query", origin);
    assert_eq!((other.status, other.header("access-control-expose-headers")), (200, ""));
    assert_eq!(allows(&other)[1], "GET, POST, PUT, DELETE");
    server.stop();
}
