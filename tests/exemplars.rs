//! Exemplars through the real binary: however they come, `query_exemplars` tells them.

use crate::harness::remote::{T, V2, asked_at, escaped, message, push, sample, varint};
use crate::harness::target::{Answer, Target};
use crate::harness::{Scratch, Server, foliot};

/// A label under the number of its field.
fn label(name: &str, value: &str) -> Vec<u8> {
    message(1, &[message(1, name.as_bytes()), message(2, value.as_bytes())].concat())
}

/// `prometheus.Exemplar` and `io.prometheus.write.v2.Exemplar`, whose labels come first.
fn exemplar(labels: &[u8], value: f64, time_ms: i64) -> Vec<u8> {
    let mut body = [labels, &[2 << 3 | 1], &value.to_le_bytes(), &[3 << 3]].concat();
    varint(time_ms as u64, &mut body);
    body
}

/// A series of version 1.0 with a sample and exemplars.
fn first(name: &str, exemplars: &[Vec<u8>]) -> Vec<u8> {
    let head = [label("__name__", name), label("job", "a"), sample(1.0, T)].concat();
    let exemplars: Vec<u8> = exemplars.iter().flat_map(|body| message(3, body)).collect();
    message(1, &[head, exemplars].concat())
}

fn told(server: &Server, form: &str) -> String {
    let (status, text) = asked_at(server, "query_exemplars", form);
    assert_eq!(status, 200, "{text}");
    let head = r#"{"status":"success","data":["#;
    text.strip_prefix(head).unwrap().strip_suffix("]}").unwrap().to_owned()
}

fn row(series: &str, exemplars: &[&str]) -> String {
    format!(r#"{{"seriesLabels":{{{series}}},"exemplars":[{}]}}"#, exemplars.join(","))
}

fn shown(labels: &str, value: &str, time: &str) -> String {
    format!(r#"{{"labels":{{{labels}}},"value":"{value}","timestamp":{time}}}"#)
}

#[test]
fn both_versions_of_remote_write_have_them() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let id = |id: &str| label("trace_id", id);
    let body = [
        first("m", &[exemplar(&id("x"), 0.5, T + 1000), exemplar(&id("w"), 1.5, T + 500)]),
        first("n", &[exemplar(&[], -1.0, T)]),
    ];
    for _ in 0..2 {
        // What was written stays written once.
        assert_eq!(push(&server, "/api/v1/write", &[], &body.concat()).status, 204);
    }
    let x = shown(r#""trace_id":"x""#, "0.5", "1700000001");
    let w = shown(r#""trace_id":"w""#, "1.5", "1700000000.500");
    let m = row(r#""__name__":"m","job":"a""#, &[&w, &x]);
    let n = row(r#""__name__":"n","job":"a""#, &[&shown("", "-1", "1700000000")]);
    assert_eq!(told(&server, "query=m"), m);
    // Every selector of an expression counts, with what shifts it left aside.
    let all = escaped("sum(rate(m[5m] offset 1h)) / on(job) n{job=~'a|b'} > 2");
    assert_eq!(told(&server, &format!("query={all}")), format!("{m},{n}"));
    assert_eq!(told(&server, &format!("query={}", escaped("{job='a',__name__!='n'}"))), m);
    for (form, wanted) in [
        ("query=m&start=1700000000.501", row(r#""__name__":"m","job":"a""#, &[&x])),
        ("query=m&end=1700000000.5", row(r#""__name__":"m","job":"a""#, &[&w])),
        ("query=m&start=1700000001.001", String::new()),
        ("query=m%7Bjob=%22b%22%7D", String::new()),
        ("query=m&db=other", String::new()),
        ("query=1", String::new()),
    ] {
        if form.contains("other") {
            assert_eq!(server.post("/write?db=other", "m value=1").status, 204);
        }
        assert_eq!(told(&server, form), wanted, "{form}");
    }
    // Version 2.0 refers to symbols, and hears what was written.
    let symbols = ["", "__name__", "o", "trace_id", "y", &"z".repeat(121)];
    let mut body: Vec<u8> = symbols.iter().flat_map(|text| message(4, text.as_bytes())).collect();
    let refers = |references: &[u8], value: f64| {
        message(4, &exemplar(&message(1, references), value, T + 2000))
    };
    let series = [
        message(1, &[1, 2]),
        sample(1.0, T),
        refers(&[3, 4], 7.0),
        // Labels of 129 characters are too many, and a symbol that is not there is none.
        refers(&[3, 5], 8.0),
        refers(&[3, 9], 9.0),
    ];
    body.extend(message(5, &series.concat()));
    let answer = push(&server, "/api/v1/write", &[("Content-Type", V2)], &body);
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert_eq!(answer.header("x-prometheus-remote-write-exemplars-written"), "1");
    let y = shown(r#""trace_id":"y""#, "7", "1700000002");
    assert_eq!(told(&server, "query=o"), row(r#""__name__":"o""#, &[&y]));
    assert_eq!(server.metric("foliot_exemplars"), 4.0);
    assert_eq!(server.metric("foliot_exemplars_dropped_total"), 2.0);
    for (form, word) in [
        ("query=m(", "parse error"),
        ("query=m&start=2&end=1", "end timestamp must not be before start timestamp"),
        ("query=m&start=soon", r#"invalid parameter \"start\""#),
    ] {
        let (status, text) = asked_at(&server, "query_exemplars", form);
        assert!(status == 400 && text.contains(word) && text.contains("bad_data"), "{text}");
    }
    // One that cannot be read makes the request none.
    let bad = first("m", &[vec![2 << 3, 1]]);
    assert_eq!(push(&server, "/api/v1/write", &[], &bad).status, 400);
}

#[test]
fn a_target_shows_them_again_and_again_and_they_are_kept_once() {
    let (dir, target) = (Scratch::new(), Target::start());
    let kind = "application/openmetrics-text; version=1.0.0";
    let text = "# TYPE wait histogram\nwait_bucket{le=\"1.0\"} 3 # {trace_id=\"x\"} 0.5\n\
        wait_bucket{le=\"+Inf\"} 4 # {trace_id=\"y\"} 7 1700000000.25\n\
        # TYPE free gauge\nfree 1 # {trace_id=\"g\"} 0.5 1700000001\n# EOF\n";
    target.set("/metrics", Answer::of(kind, text.as_bytes()));
    let file = dir.path().join("prometheus.yml");
    let config = format!(
        "scrape_configs:\n- job_name: j\n  scrape_interval: 100ms\n  static_configs: \
         [{{targets: ['{}']}}]\n",
        target.address
    );
    std::fs::write(&file, config).unwrap();
    let flags = ["--prometheus-config", file.to_str().unwrap()];
    let server = Server::start(&dir.path().join("data"), &flags);
    server.wait_for_metric("foliot_scrapes_total", 4.0);
    let instance = format!(r#""instance":"{}","job":"j","#, target.address);
    let y = row(
        &format!(r#""__name__":"wait_bucket",{instance}"le":"+Inf""#),
        &[&shown(r#""trace_id":"y""#, "7", "1700000000.250")],
    );
    let text = told(&server, "query=wait_bucket");
    assert!(text.starts_with(&y), "{text}");
    assert_eq!(text.matches("trace_id").count(), 2, "{text}");
    // As in Prometheus 3: a gauge may have one.
    let g = shown(r#""trace_id":"g""#, "0.5", "1700000001");
    let instance = instance.trim_end_matches(',');
    assert_eq!(
        told(&server, "query=free"),
        row(&format!(r#""__name__":"free",{instance}"#), &[&g])
    );
    assert_eq!(server.metric("foliot_exemplars_dropped_total"), 0.0);
    server.stop();
}

#[test]
fn texts_that_are_pushed_have_them() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let path = "/api/v1/import/prometheus";
    let text = "wait_bucket{le=\"1\"} 3 1700000000000 # {trace_id=\"x\"} 0.5 1700000000.25\n\
        n 1 # {trace_id=\"no end\" 1\n";
    // The bad one costs its line nothing.
    assert_eq!(server.post(path, text).status, 204);
    let x = shown(r#""trace_id":"x""#, "0.5", "1700000000.250");
    assert_eq!(told(&server, "query=n"), "");
    let wanted = row(r#""__name__":"wait_bucket","le":"1""#, &[&x]);
    assert_eq!(told(&server, "query=wait_bucket"), wanted);
    assert_eq!(server.metric("foliot_exemplars_dropped_total"), 1.0);
    // OpenMetrics has all times in seconds.
    let kind = [("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")];
    let text = "m_total 2 1700000000.5 # {trace_id=\"y\"} 1\n# EOF\n";
    assert_eq!(server.request("POST", path, &kind, text.as_bytes()).status, 204);
    assert_eq!(server.samples("none:m_total"), [(T + 500, "2.0".to_owned())]);
    assert!(told(&server, "query=m_total").contains("\"y\""));
}

/// A field of eight bytes.
fn fixed(number: u8, bits: u64) -> Vec<u8> {
    [&[number << 3 | 1][..], &bits.to_le_bytes()].concat()
}

#[test]
fn opentelemetry_leads_to_traces() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let attribute = |number: u8, key: &str, value: &str| {
        let value = message(2, &message(1, value.as_bytes()));
        message(number, &[message(1, key.as_bytes()), value].concat())
    };
    let exemplar = |value: f64, attributes: &[Vec<u8>]| {
        let ids = [message(4, &[0xab; 8]), message(5, &[0x01; 16])].concat();
        let time = fixed(2, (T as u64 + 5) * 1_000_000);
        [attributes.concat(), time, fixed(3, value.to_bits()), ids].concat()
    };
    let counts: Vec<u8> = [1u64, 1].iter().flat_map(|count| count.to_le_bytes()).collect();
    let point = [
        fixed(3, T as u64 * 1_000_000),
        fixed(4, 2),
        message(6, &counts),
        message(7, &0.5f64.to_le_bytes()),
        message(8, &exemplar(0.25, &[attribute(7, "user.id", "u")])),
        // What is too long beside trace and span is left out.
        message(8, &exemplar(0.75, &[attribute(7, "user.id", &"u".repeat(100))])),
    ];
    let data = [message(1, &point.concat()), vec![0x10, 2]].concat();
    let metric = message(2, &[message(1, b"wait"), message(9, &data)].concat());
    let body = message(1, &message(2, &metric));
    let kind = [("Content-Type", "application/x-protobuf")];
    let answer = server.request("POST", "/v1/metrics", &kind, &body);
    assert_eq!((answer.status, answer.body.len()), (200, 0), "{}", answer.text());
    let ids = r#""span_id":"abababababababab","trace_id":"01010101010101010101010101010101""#;
    let with = |le: &str, more: &str, value: &str| {
        let labels = format!("{ids}{more}");
        let series = format!(r#""__name__":"wait_bucket","le":"{le}""#);
        row(&series, &[&shown(&labels, value, "1700000000.005")])
    };
    let wanted = [with("+Inf", "", "0.75"), with("0.5", r#","user_id":"u""#, "0.25")];
    assert_eq!(told(&server, "query=wait_bucket"), wanted.join(","));
}

#[test]
fn there_is_room_for_so_many_and_none_where_none_is_given() {
    let body = |count: i64| {
        let list: Vec<_> = (0..count).map(|at| exemplar(&[], at as f64, T + at)).collect();
        first("m", &list)
    };
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-exemplar-bytes", "0B"]);
    assert_eq!(push(&server, "/api/v1/write", &[], &body(5)).status, 204);
    assert_eq!(told(&server, "query=m"), "");
    assert_eq!(server.metric("foliot_exemplars_dropped_total"), 5.0);
    server.kill();
    let server = Server::start(dir.path(), &["--limits-exemplar-bytes", "64KiB"]);
    assert_eq!(push(&server, "/api/v1/write", &[], &body(5000)).status, 204);
    let kept = server.metric("foliot_exemplars");
    assert!((100.0..1000.0).contains(&kept), "{kept}");
    assert!(server.metric("foliot_exemplars_bytes") <= 65536.0);
    assert_eq!(server.metric("foliot_exemplars_displaced_total"), 5000.0 - kept);
    let text = told(&server, "query=m");
    assert!(text.ends_with(r#"{"labels":{},"value":"4999","timestamp":1700000004.999}]}"#));
    assert_eq!(text.matches("timestamp").count(), kept as usize);
}

#[test]
fn they_are_shown_to_whom_their_series_are() {
    let dir = Scratch::new();
    let token = |rights: &[&str]| {
        let mut command = foliot();
        command.args(["user", "token", "t"]).args(rights).arg("--data-dir").arg(dir.path());
        let made = String::from_utf8(command.output().unwrap().stdout).unwrap();
        format!("Bearer {}", made.trim())
    };
    let admin = token(&["--role", "admin"]);
    let scope = ["--role", "read", "--role", "write", "--db", "default", "--measurements", "m*"];
    let edge = token(&scope);
    let server = Server::start(dir.path(), &["--access"]);
    let body = |value: f64| {
        let one = || vec![exemplar(&[], value, T)];
        [first("m", &one()), first("secret", &one())].concat()
    };
    let write = |who: &str, value: f64| {
        push(&server, "/api/v1/write", &[("Authorization", who)], &body(value)).status
    };
    assert_eq!((write(&admin, 1.0), write(&edge, 2.0)), (204, 400));
    let ask = |who: &str| {
        let path = "/prometheus/api/v1/query_exemplars?query=%7Bjob=%22a%22%7D";
        server.request("GET", path, &[("Authorization", who)], b"").text()
    };
    let text = ask(&admin);
    assert!(text.contains("secret") && text.matches("timestamp").count() == 3, "{text}");
    let text = ask(&edge);
    assert!(!text.contains("secret") && text.matches("timestamp").count() == 2, "{text}");
    assert!(ask("").contains("no credentials"));
}
