//! Families of metrics as messages through the real binary: scraped and pushed.

use crate::harness::remote::{T, asked_at, escaped, message, varint};
use crate::harness::target::{Answer, Target};
use crate::harness::{PATIENCE, Scratch, Server};
use std::time::{Duration, Instant};

const KIND: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

fn double(number: u8, value: f64) -> Vec<u8> {
    [&[number << 3 | 1][..], &value.to_le_bytes()].concat()
}

/// A family behind its length: its name, its type and its metrics.
fn family(name: &str, kind: u8, metrics: &[Vec<u8>]) -> Vec<u8> {
    let metrics: Vec<u8> = metrics.iter().flat_map(|metric| message(4, metric)).collect();
    let body = [&message(1, name.as_bytes())[..], &[3 << 3, kind], &metrics].concat();
    let mut out = Vec::new();
    varint(body.len() as u64, &mut out);
    out.extend(body);
    out
}

fn gauge(value: f64) -> Vec<u8> {
    family("free", 1, &[message(2, &double(1, value))])
}

/// A histogram of 3 observations: 2 in bucket 1 of schema 0, one around zero, and two classic
/// buckets, of which one has an exemplar.
fn histogram() -> Vec<u8> {
    let label = |name: &str, value: &str| {
        message(1, &[message(1, name.as_bytes()), message(2, value.as_bytes())].concat())
    };
    let mut seconds = vec![1 << 3];
    varint(T as u64 / 1000, &mut seconds);
    let exemplar = [label("trace_id", "x"), double(2, 1.5), message(3, &seconds)].concat();
    let bucket = |bound: f64, count: u8, more: &[u8]| {
        message(3, &[&[1 << 3, count][..], &double(2, bound), more].concat())
    };
    let values = [
        vec![1 << 3, 3],
        double(2, 4.5),
        bucket(0.5, 1, b""),
        bucket(2.0, 3, &message(3, &exemplar)),
        double(6, 0.001),
        vec![7 << 3, 1],
        message(12, &[1 << 3, 2, 2 << 3, 1]),
        message(13, &[4]),
    ];
    let metric = [label("path", "/a"), message(7, &values.concat())].concat();
    family("wait", 4, &[metric])
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn query(server: &Server, text: &str) -> String {
    // Not by both methods: there would be two times of now.
    server.get(&format!("/prometheus/api/v1/query?query={}", escaped(text))).text()
}

fn values(server: &Server, text: &str) -> Vec<String> {
    let answer: serde_json::Value = serde_json::from_str(&query(server, text)).unwrap();
    let rows = answer["data"]["result"].as_array().unwrap_or_else(|| panic!("{answer}")).iter();
    rows.map(|row| row["value"][1].as_str().unwrap_or("histogram").to_owned()).collect()
}

fn start(dir: &Scratch, target: &Target, more: &str) -> Server {
    let file = dir.path().join("prometheus.yml");
    let config = format!(
        "scrape_configs:\n- job_name: j\n  scrape_interval: 100ms\n  static_configs: \
         [{{targets: ['{}']}}]\n{more}",
        target.address
    );
    std::fs::write(&file, config).unwrap();
    Server::start(&dir.path().join("data"), &["--prometheus-config", file.to_str().unwrap()])
}

#[test]
fn native_histograms_are_scraped_and_end_with_their_target() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set("/metrics", Answer::of(KIND, &[gauge(5.0), histogram()].concat()));
    let server = start(&dir, &target, "  scrape_native_histograms: true\n");
    until("it is scraped", || values(&server, "free") == ["5"]);
    let accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                  encoding=delimited;q=0.4,application/openmetrics-text;version=1.0.0;q=0.3,\
                  text/plain;version=0.0.4;q=0.2,*/*;q=0.1";
    assert_eq!(target.asked()[0].headers.get("accept").unwrap(), accept);
    assert_eq!(values(&server, "histogram_count(wait{path='/a'})"), ["3"]);
    assert_eq!(values(&server, "histogram_sum(wait)"), ["4.5"]);
    assert_eq!(values(&server, "wait_bucket"), [""; 0], "classic ones are not wanted");
    assert_eq!(values(&server, "scrape_samples_scraped"), ["2"]);
    let (_, text) = asked_at(&server, "query_exemplars", "query=wait");
    assert!(text.contains(r#""labels":{"trace_id":"x"},"value":"1.5","timestamp":17"#), "{text}");
    assert_eq!(text.matches("trace_id").count(), 1, "{text}");
    let about = server.get("/prometheus/api/v1/metadata?metric=wait").text();
    assert!(about.contains(r#""type":"histogram""#), "{about}");
    // It vanishes, it is back, and the target fails.
    target.set("/metrics", Answer::of(KIND, &gauge(6.0)));
    until("it is over", || values(&server, "wait") == [""; 0]);
    target.set("/metrics", Answer::of(KIND, &[gauge(7.0), histogram()].concat()));
    until("it is back", || values(&server, "wait") == ["histogram"]);
    let whole = histogram();
    target.set("/metrics", Answer::of(KIND, &whole[..whole.len() - 1]));
    until("the target is down", || values(&server, "up") == ["0"]);
    assert_eq!(values(&server, "wait"), [""; 0]);
    let targets = server.get("/prometheus/api/v1/targets").text();
    assert!(targets.contains("is cut"), "{targets}");
    server.stop();
}

#[test]
fn classic_histograms_are_scraped_where_they_are_wanted() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set("/metrics", Answer::of(KIND, &histogram()));
    let server = start(&dir, &target, "  scrape_protocols: [PrometheusProto]\n");
    until("it is scraped", || values(&server, "wait_bucket{le='2.0'}") == ["3"]);
    assert_eq!(values(&server, "wait_bucket{le='+Inf'}"), ["3"]);
    assert_eq!(values(&server, "wait"), [""; 0]);
    server.stop();
    let dir = Scratch::new();
    let more = "  scrape_native_histograms: true\n  always_scrape_classic_histograms: true\n";
    let server = start(&dir, &target, more);
    until("both are scraped", || values(&server, "wait") == ["histogram"]);
    assert_eq!(values(&server, "wait_count"), ["3"]);
    server.stop();
}

#[test]
fn families_are_pushed_where_text_is() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let path = "/api/v1/import/prometheus";
    let push = |body: &[u8]| {
        let answer = server.request("POST", path, &[("Content-Type", KIND)], body);
        (answer.status, answer.text())
    };
    assert_eq!(push(&[gauge(5.0), histogram()].concat()), (204, String::new()));
    assert_eq!(values(&server, "free"), ["5"]);
    assert_eq!(values(&server, "histogram_count(wait)"), ["3"]);
    let (_, text) = asked_at(&server, "query_exemplars", "query=wait");
    assert!(text.contains(r#""trace_id":"x""#), "{text}");
    let rows = "foliot_rows_total{protocol=\"exposition\"}";
    assert_eq!(server.metric(rows), 2.0);
    // Nothing is stored of what cannot be read; of what cannot be stored all else is.
    let whole = histogram();
    let (status, text) = push(&[&gauge(6.0), &whole[..whole.len() - 1]].concat());
    assert!(status == 400 && text.contains("no families of metrics"), "{text}");
    let far = [message(2, &double(1, 1.0)), [&[6 << 3][..], &[0xff; 8], &[0x7f]].concat()].concat();
    let (status, text) = push(&[family("far", 1, &[far]), gauge(6.0)].concat());
    assert!(status == 400 && text.contains("the first in metric 1: timestamp"), "{text}");
    assert_eq!(values(&server, "free"), ["6"]);
    // Another message is text that is none.
    let other = [("Content-Type", "application/vnd.google.protobuf;proto=x.Y")];
    assert_eq!(server.request("POST", path, &other, &gauge(1.0)).status, 400);
}
