//! OpenTelemetry's metrics through the real binary.

use crate::harness::{Response, Scratch, Server};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;

const T: i64 = 1_700_000_000_000;

/// A field of bytes, as the encoding's guide says.
fn message(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = body.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend_from_slice(body);
    out
}

/// A field of eight bytes.
fn fixed(number: u8, bits: u64) -> Vec<u8> {
    [&[number << 3 | 1][..], &bits.to_le_bytes()].concat()
}

fn attribute(number: u8, key: &str, value: &str) -> Vec<u8> {
    let value = message(2, &message(1, value.as_bytes()));
    message(number, &[message(1, key.as_bytes()), value].concat())
}

fn number(value: f64, time_ms: i64) -> Vec<u8> {
    let point = [fixed(3, time_ms as u64 * 1_000_000), fixed(4, value.to_bits())];
    message(1, &[point.concat(), attribute(7, "http.route", "/a")].concat())
}

fn metric(name: &str, shape: u8, data: &[u8]) -> Vec<u8> {
    let unit = message(3, b"s");
    message(2, &[message(1, name.as_bytes()), unit, message(shape, data)].concat())
}

/// A request of a resource with two names.
fn request(metrics: &[Vec<u8>]) -> Vec<u8> {
    let resource = [attribute(1, "service.name", "shop"), attribute(1, "host.name", "h")].concat();
    message(1, &[message(1, &resource), message(2, &metrics.concat())].concat())
}

/// Cumulative, and only growing.
const GROWS: &[u8] = &[0x10, 2, 0x18, 1];

/// What has delta temporality.
const DELTA: &[u8] = &[0x10, 1];

fn post(server: &Server, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let kind = [("Content-Type", "application/x-protobuf")];
    server.request("POST", path, &[&kind, headers].concat(), body)
}

fn asked(server: &Server, query: &str) -> String {
    let path = "/prometheus/api/v1/query";
    server.post(path, &format!("time={}&query={query}", T / 1000)).text()
}

#[test]
fn metrics_are_seen_by_all_doors_and_outlive_the_process() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let gauge = metric("wait.time", 5, &number(1.5, T));
    let sum = metric("spent", 7, &[&number(4.0, T), GROWS].concat());
    let body = request(&[gauge, sum]);
    let answer = post(&server, "/v1/metrics", &[("X-Foliot-Ack", "durable")], &body);
    assert_eq!((answer.status, answer.body.len()), (200, 0), "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/x-protobuf");
    server.kill();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.samples("none:wait_time_seconds"), [(T, "1.5".to_owned())]);
    let text = asked(&server, "spent_seconds_total * on (job) group_left (host_name) target_info");
    let wanted =
        r#""metric":{"host_name":"h","http_route":"/a","job":"shop"},"value":[1700000000,"4"]"#;
    assert!(text.contains(wanted), "{text}");
    let packed = |body: &[u8]| {
        let mut out = GzEncoder::new(Vec::new(), Compression::fast());
        out.write_all(body).unwrap();
        out.finish().unwrap()
    };
    // All paths, and names as they are where VictoriaMetrics is expected.
    let own = ["/api/v1/otlp/v1/metrics", "/prometheus/api/v1/otlp/v1/metrics"];
    let plain = ["/opentelemetry/v1/metrics", "/opentelemetry/api/v1/push"];
    for (at, path) in own.iter().chain(&plain).enumerate() {
        let body = request(&[metric("wait.time", 5, &number(at as f64, T + 1000 + at as i64))]);
        let answer = post(&server, path, &[("Content-Encoding", "gzip")], &packed(&body));
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
    }
    assert_eq!(server.samples("none:wait_time_seconds").len(), 3);
    assert_eq!(server.samples("none:wait.time%7Bservice.name=shop,http.route=/a%7D").len(), 2);
    assert_eq!(server.metric("foliot_rows_total{protocol=\"otlp\"}"), 6.0);
}

/// What a request says of its metrics is kept as what texts say is.
#[test]
fn kinds_descriptions_and_units_are_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let described = |name: &str, unit: &str, shape: u8, data: &[u8]| {
        let texts = [(1, name), (2, "How much."), (3, unit)];
        let texts = texts.map(|(number, text)| message(number, text.as_bytes()));
        message(2, &[texts.concat(), message(shape, data)].concat())
    };
    let falls: &[u8] = &[0x10, 2];
    let body = request(&[
        described("wait", "s", 5, &number(1.5, T)),
        described("sent", "By/s", 7, &[&number(4.0, T), GROWS].concat()),
        described("queue", "1", 7, &[&number(4.0, T), falls].concat()),
        described("lost", "s", 7, &[&number(4.0, T), DELTA].concat()),
    ]);
    let answer = post(&server, "/v1/metrics", &[], &body);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let told =
        |name: &str| server.get(&format!("/prometheus/api/v1/metadata?metric={name}")).text();
    for (name, kind, unit) in [
        ("wait_seconds", "gauge", "seconds"),
        ("sent_bytes_per_second_total", "counter", "bytes_per_second"),
        ("queue", "gauge", ""),
    ] {
        let about = format!(r#"{{"help":"How much.","type":"{kind}","unit":"{unit}"}}"#);
        let text = told(name);
        assert!(text.contains(&format!(r#""{name}":[{about}]"#)), "{text}");
    }
    // Nothing is stored of it.
    assert!(told("lost_seconds_total").contains("\"data\":{}"));
    // Units and names are as they are where VictoriaMetrics is expected.
    let body = request(&[described("wait.time", "s", 5, &number(1.5, T))]);
    assert_eq!(post(&server, "/opentelemetry/v1/metrics", &[], &body).status, 200);
    let text = told("wait.time");
    assert!(text.contains(r#""unit":"s""#) && text.contains("How much."), "{text}");
    let page =
        server.get("/api/foliot/v1/catalogue?of=metrics&help=true&search=wait_seconds").text();
    assert!(page.contains("How much."), "{page}");
}

/// A body of many points becomes several batches.
#[test]
fn bytes_are_counted_once_however_many_batches_a_body_becomes() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--wal-ack", "memory"]);
    let points: Vec<u8> = (0..70_000).flat_map(|at| number(1.0, T + at)).collect();
    let body = request(&[metric("m", 5, &points)]);
    assert_eq!(post(&server, "/v1/metrics", &[], &body).status, 200);
    assert_eq!(server.metric("foliot_batches_total{protocol=\"otlp\"}"), 2.0);
    let bytes =
        |way: &str| server.metric(&format!("foliot_bytes_received_total{{protocol=\"{way}\"}}"));
    assert_eq!(bytes("otlp"), body.len() as f64);
    let times: Vec<_> = (0..70_000).map(|at| (T + at).to_string()).collect();
    let values = vec!["1"; times.len()].join(",");
    let metric = r#"{"__name__":"n"}"#;
    let times = times.join(",");
    let line = format!(r#"{{"metric":{metric},"values":[{values}],"timestamps":[{times}]}}"#);
    assert_eq!(server.post("/api/v1/import", &line).status, 204);
    assert_eq!(bytes("json_lines"), line.len() as f64);
    // A command ends a batch, and what is half there comes again.
    let lines = "version\nput o 1 1 h=a\nversion\nput o 2 1 h=a\nversion\n";
    server.talk(lines.as_bytes());
    assert_eq!(bytes("telnet"), lines.len() as f64);
}

#[test]
fn a_partial_success_says_what_is_refused() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let two = [number(1.0, T), number(2.0, T + 1), DELTA.to_vec()].concat();
    let good = metric("good", 5, &number(1.0, T));
    let answer = post(&server, "/v1/metrics", &[], &request(&[metric("step", 7, &two), good]));
    assert_eq!(answer.status, 200);
    let reason = "the first in data point 1: metric \"step\" has delta temporality, and only \
                  cumulative is taken: set OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=\
                  cumulative for the SDK, or put the processor deltatocumulative into the \
                  collector's pipeline";
    let partial = [&[0x08, 2][..], &message(2, reason.as_bytes())].concat();
    assert_eq!(answer.body, message(1, &partial), "{}", answer.text());
    assert_eq!(server.samples("none:good_seconds").len(), 1);
    let refused = "foliot_rows_rejected_total{protocol=\"otlp\",reason=\"value\"}";
    assert_eq!(server.metric(refused), 2.0);
}

#[test]
fn json_becomes_the_same_as_protobuf() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-pending-body-bytes", "1MiB"]);
    let metric = |name: &str, data: &str| format!(r#"{{"name":"{name}","unit":"s",{data}}}"#);
    let of = |metrics: &[String]| {
        let attributes = r#"[{"key":"service.name","value":{"stringValue":"shop"}}]"#;
        format!(
            r#"{{"resourceMetrics":[{{"resource":{{"attributes":{attributes}}},"scopeMetrics":[{{"scope":{{"name":"x"}},"metrics":[{}]}}]}}]}}"#,
            metrics.join(",")
        )
    };
    let time = format!(r#""timeUnixNano":"{T}000000""#);
    let point = |value: &str| format!(r#"{{{time},{value}}}"#);
    let gauge = metric(
        "wait.time",
        &format!(r#""gauge":{{"dataPoints":[{}]}}"#, point(r#""asDouble":1.5"#)),
    );
    let sum = |temporality: u8| {
        let attributes = r#""attributes":[{"key":"n","value":{"intValue":"7"}}]"#;
        let point = point(&format!(r#""asInt":"4",{attributes}"#));
        format!(
            r#""sum":{{"dataPoints":[{point}],"aggregationTemporality":{temporality},"isMonotonic":true}}"#
        )
    };
    let exemplars = r#""exemplars":[{"asDouble":0.25,"timeUnixNano":"5000000","traceId":"0102"}]"#;
    let buckets = format!(
        r#""histogram":{{"aggregationTemporality":"AGGREGATION_TEMPORALITY_CUMULATIVE","dataPoints":[{}]}}"#,
        point(&format!(
            r#""count":"2","sum":3,"bucketCounts":["1",1],"explicitBounds":[0.5],{exemplars}"#
        ))
    );
    let json = [("Content-Type", "application/json; charset=utf-8")];
    let send = |path: &str, body: &str| {
        let answer = server.request("POST", path, &json, body.as_bytes());
        assert!(answer.header("content-type").starts_with("application/json"), "{}", answer.text());
        (answer.status, answer.text())
    };
    let body = of(&[gauge, metric("spent", &sum(2)), metric("size", &buckets)]);
    assert_eq!(send("/v1/metrics", &body), (200, "{}".to_owned()));
    assert_eq!(server.samples("none:wait_time_seconds"), [(T, "1.5".to_owned())]);
    assert_eq!(server.samples("none:spent_seconds_total%7Bjob=shop,n=7%7D").len(), 1);
    assert_eq!(server.samples("none:size_seconds_bucket%7Ble=0.5%7D"), [(T, "1.0".to_owned())]);
    let text = server.get("/prometheus/api/v1/query_exemplars?query=size_seconds_bucket").text();
    assert!(
        text.contains(r#""labels":{"trace_id":"0102"},"value":"0.25","timestamp":0.005"#),
        "{text}"
    );
    assert_eq!(send("/opentelemetry/v1/metrics", &body).0, 200);
    assert_eq!(server.samples("none:wait.time%7Bservice.name=shop%7D").len(), 1);
    let (status, text) = send("/v1/metrics", &of(&[metric("step", &sum(1))]));
    let partial = r#"{"partialSuccess":{"errorMessage":"the first in data point 1: metric \"step\" has delta"#;
    assert!(status == 200 && text.starts_with(partial), "{text}");
    assert!(text.ends_with(r#""rejectedDataPoints":"1"}}"#), "{text}");
    // What it comes to must find room too.
    let long = format!("{{{}\"x\":1}}", " ".repeat(200 << 10));
    let answer = server.request("POST", "/v1/metrics", &json, long.as_bytes());
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert!(answer.text().contains("limits.pending_body_bytes"), "{}", answer.text());
}

#[test]
fn requests_that_are_none_are_refused_whole() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let body = request(&[metric("m", 5, &number(1.0, T))]);
    let text = [("Content-Type", "text/plain")];
    let json = [("Content-Type", "application/json")];
    let cut = &body[..body.len() - 1];
    for (headers, body, status, word) in [
        (&text[..], &b"{}"[..], 415, "application/x-protobuf or application/json"),
        (&json, &b"{"[..], 400, "none of OTLP's for metrics: EOF"),
        (&json, &body, 400, "none of OTLP's for metrics: expected"),
        (&[], cut, 400, "none of OTLP's"),
        (&[("Content-Encoding", "br")], &body, 415, "br is not known"),
        (&[("X-Foliot-Ack", "perhaps")], &body, 400, "X-Foliot-Ack"),
    ] {
        let answer = server.request("POST", "/v1/metrics", headers, body);
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.text().contains(word), "{}", answer.text());
    }
    assert_eq!(server.request("GET", "/v1/metrics", &[], b"").status, 405);
    assert_eq!(post(&server, "/v1/metrics?db=none_such_that_is_made", &[], b"").status, 200);
    assert_eq!(server.metric("foliot_rows_total{protocol=\"otlp\"}"), 0.0);
}
