//! Native histograms through the real binary: remote write, remote read and PromQL.

use crate::harness::{Response, Scratch, Server};
use serde_json::{Value as Json, json};

const T: i64 = 1_700_000_000_000;
const V2: &str = "application/x-protobuf;proto=io.prometheus.write.v2.Request";

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field of bytes.
fn message(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    varint(body.len() as u64, &mut out);
    out.extend_from_slice(body);
    out
}

fn double(number: u8, value: f64) -> Vec<u8> {
    [&[number << 3 | 1][..], &value.to_le_bytes()].concat()
}

fn number(number: u8, value: u64) -> Vec<u8> {
    let mut out = vec![number << 3];
    varint(value, &mut out);
    out
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

/// The fields of a histogram of integers of schema 0, whose buckets begin at 1.
fn integers(time_ms: i64, sum: f64, counts: &[i64]) -> Vec<u8> {
    let count = counts.iter().sum::<i64>() as u64;
    let (mut deltas, mut before) = (Vec::new(), 0);
    for count in counts {
        varint(zigzag(count - before), &mut deltas);
        before = *count;
    }
    let span = [number(1, zigzag(1)), number(2, counts.len() as u64)].concat();
    [
        number(1, count),
        double(3, sum),
        number(4, 0),
        double(5, 0.0),
        number(6, 0),
        message(11, &span),
        message(12, &deltas),
        number(14, 0),
        number(15, time_ms as u64),
    ]
    .concat()
}

/// The fields of a histogram of floats with custom bounds, from the first bucket on.
fn custom(time_ms: i64, bounds: &[f64], counts: &[f64]) -> Vec<u8> {
    let floats = |of: &[f64]| of.iter().flat_map(|one| one.to_le_bytes()).collect::<Vec<_>>();
    let span = [number(1, 0), number(2, counts.len() as u64)].concat();
    let mut out = [
        double(2, counts.iter().sum()),
        double(3, 12.5),
        number(4, zigzag(-53)),
        double(5, 0.0),
        double(7, 0.0),
        message(11, &span),
        message(13, &floats(counts)),
        number(14, 3),
        number(15, time_ms as u64),
        vec![0x82, 1],
    ]
    .concat();
    varint(bounds.len() as u64 * 8, &mut out);
    out.extend(floats(bounds));
    out
}

fn label(name: &str, value: &str) -> Vec<u8> {
    message(1, &[message(1, name.as_bytes()), message(2, value.as_bytes())].concat())
}

/// A series of version 1.0.
fn series(name: &str, histograms: &[Vec<u8>]) -> Vec<u8> {
    let histograms = histograms.iter().flat_map(|one| message(4, one));
    message(1, &label("__name__", name).into_iter().chain(histograms).collect::<Vec<_>>())
}

fn push(server: &Server, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let own = [("Content-Encoding", "snappy")];
    let body = snap::raw::Encoder::new().compress_vec(body).unwrap();
    server.request("POST", path, &[&own, headers].concat(), &body)
}

fn write(server: &Server, body: &[u8]) {
    let answer = push(server, "/api/v1/write", &[], body);
    assert_eq!(answer.status, 204, "{}", answer.text());
}

fn asked(server: &Server, path: &str, span: &str, query: &str) -> Json {
    let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let path = format!("/prometheus/api/v1/{path}?{span}&query={query}");
    serde_json::from_slice(&server.get(&path).body).unwrap()
}

/// What a question comes to so many seconds after [`T`].
fn at(server: &Server, second: i64, query: &str) -> Json {
    let answer = asked(server, "query", &format!("time={}", T / 1000 + second), query);
    assert_eq!(answer["status"], "success", "{query}: {answer}");
    answer["data"]["result"].clone()
}

/// Buckets (1, 2], (2, 4] and (4, 8], which grow by 1, 2 and 3 a minute.
fn growing() -> Vec<Vec<u8>> {
    (0..6).map(|at| integers(T + at * 60_000, at as f64 * 20.0, &[at, at * 2, at * 3])).collect()
}

#[test]
fn histograms_are_written_asked_for_and_read_back() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let bounded = series("bounded", &[custom(T, &[0.5, 2.0], &[1.5, 0.0, 2.5])]);
    let body = [series("latency", &growing()), bounded].concat();
    write(&server, &body);
    server.kill();
    let server = Server::start(dir.path(), &[]);
    let wanted = json!([{
        "metric": {"__name__": "latency"},
        "histogram": [1_700_000_060, {
            "count": "6", "sum": "20",
            "buckets": [[0, "1", "2", "1"], [0, "2", "4", "2"], [0, "4", "8", "3"]],
        }],
    }]);
    assert_eq!(at(&server, 60, "latency"), wanted);
    // A bucket that counts nothing is not shown; the outer ones have no end.
    let wanted = json!([{
        "metric": {"__name__": "bounded"},
        "histogram": [1_700_000_000, {
            "count": "4", "sum": "12.5",
            "buckets": [[3, "-Inf", "0.5", "1.5"], [0, "2", "+Inf", "2.5"]],
        }],
    }]);
    assert_eq!(at(&server, 0, "bounded"), wanted);
    let value = |query: &str| at(&server, 300, query)[0]["value"][1].clone();
    // 20 more a minute, of 6 more observations; five steps of a minute in five minutes.
    assert_eq!(value("histogram_sum(increase(latency[5m]))"), "100");
    assert_eq!(value("histogram_count(rate(latency[5m]))"), "0.1");
    assert_eq!(value("histogram_avg(latency)"), "3.3333333333333335");
    // Of 30 observations 5 are up to 2, 10 more up to 4.
    assert_eq!(value("histogram_quantile(0.5, latency)"), "4");
    assert_eq!(value("histogram_fraction(0, 2, latency)"), "0.16666666666666666");
    // Two samples of a range, and a range of answers.
    let answer = at(&server, 60, "latency[2m]");
    assert_eq!(answer[0]["histograms"].as_array().unwrap().len(), 2);
    assert_eq!(answer[0].get("values"), None);
    let span = format!("start={}&end={}&step=60", T / 1000, T / 1000 + 300);
    let answer = asked(
        &server,
        "query_range",
        &span,
        "latency or label_replace(vector(1), 'a', 'b', '', '')",
    );
    let rows = answer["data"]["result"].as_array().unwrap();
    assert_eq!(rows[0]["histograms"].as_array().unwrap().len(), 6);
    assert_eq!(rows[1]["values"].as_array().unwrap().len(), 6);
    // Remote read has the messages that came.
    let matcher = [message(2, b"__name__"), message(3, b"latency")].concat();
    let query = [number(1, T as u64), number(2, T as u64 + 300_000), message(3, &matcher)].concat();
    let answer = push(&server, "/prometheus/api/v1/read", &[], &message(1, &query));
    let read = snap::raw::Decoder::new().decompress_vec(&answer.body).unwrap();
    assert_eq!(read, message(1, &series("latency", &growing())));
}

#[test]
fn a_bad_histogram_is_refused_by_its_reason_and_counted() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // One observation too many is counted.
    let good = integers(T, 1.0, &[1, 2]);
    let bad = [number(1, 9), good[2..].to_vec()].concat();
    let symbols: Vec<u8> =
        ["", "__name__", "m"].iter().flat_map(|text| message(4, text.as_bytes())).collect();
    let sample = message(2, &[double(1, 1.0), number(2, T as u64 + 2)].concat());
    let body = [message(1, &[1, 2]), message(3, &good), message(3, &bad), sample].concat();
    let answer = push(
        &server,
        "/api/v1/write",
        &[("Content-Type", V2)],
        &[symbols, message(5, &body)].concat(),
    );
    let text = answer.text();
    assert_eq!(answer.status, 400, "{text}");
    let reason = "2 samples were stored, 1 refused; the first in series 1: 3 observations are in \
                  the buckets of the histogram, and its count is 9";
    assert_eq!(text.trim(), reason);
    let header = |name: &str| answer.header(&format!("x-prometheus-remote-write-{name}-written"));
    assert_eq!(header("samples"), "1");
    assert_eq!(header("histograms"), "1");
    let metrics = server.get("/metrics").text();
    let refused = "foliot_rows_rejected_total{protocol=\"remote_write\",reason=\"value\"} 1";
    assert!(metrics.contains(refused), "{metrics}");
    // A message that is none: nothing of the request is stored.
    let broken = [series("other", &[good]), series("other", &[vec![1 << 3 | 2, 0]])].concat();
    let answer = push(&server, "/api/v1/write", &[], &broken);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert_eq!(at(&server, 0, "other"), json!([]));
}

#[test]
fn numbers_and_histograms_do_not_mix_unsaid() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, &series("m", &growing()));
    let path = "/api/v1/import/prometheus";
    let text = format!("n{{}} 7 {}\nm{{}} 7 {}\n", T + 300_000, T + 290_000);
    assert_eq!(server.request("POST", path, &[], text.as_bytes()).status, 204);
    let said = |query: &str| {
        let answer = asked(&server, "query", &format!("time={}", T / 1000 + 300), query);
        assert_eq!(answer["data"]["result"], json!([]), "{query}: {answer}");
        (answer["warnings"][0].clone(), answer["infos"][0].clone())
    };
    let warning = |text: &str| (json!(format!("PromQL warning: {text}")), Json::Null);
    let info = |text: &str| (Json::Null, json!(format!("PromQL info: {text}")));
    for (query, wanted) in [
        (
            "sum({__name__=~'m|n'})",
            warning("encountered a mix of histograms and floats for aggregation (1:5)"),
        ),
        (
            "rate(m[5m])",
            warning("encountered a mix of histograms and floats for metric name \"m\" (1:6)"),
        ),
        ("max(m)", info("ignored histogram in max aggregation (1:5)")),
        ("topk(1, m)", info("ignored histogram in topk aggregation (1:1)")),
        (
            "m + 1",
            info(
                "incompatible sample types encountered for binary operator \"+\": histogram + float (1:1)",
            ),
        ),
        ("sort(m)", (Json::Null, Json::Null)),
        ("abs(m)", (Json::Null, Json::Null)),
    ] {
        assert_eq!(said(query), wanted, "{query}");
    }
    // What other doors have no word for they leave out.
    let answer = server.get("/api/v1/export?match[]=m");
    assert!(answer.text().contains("\"values\":[7]"), "{}", answer.text());
}

#[test]
fn what_is_experimental_must_be_asked_for() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (query, word) in [
        ("sort_by_label(up, 'a')", "function \"sort_by_label\" is not enabled"),
        ("limitk(1, up)", "limitk() is experimental"),
    ] {
        let answer = asked(&server, "query", "", query);
        assert!(answer["error"].as_str().unwrap().contains(word), "{answer}");
    }
    server.kill();
    let server = Server::start(dir.path(), &["--set", "promql.experimental=true"]);
    write(&server, &series("m", &growing()));
    let value = |query: &str| at(&server, 300, query)[0].clone();
    assert_eq!(value("limitk(1, histogram_count(m))")["value"][1], "30");
    // Names are there until the end.
    let query = "label_replace(histogram_count(m), '__name__', '${1}_count', '__name__', '(.*)')";
    assert_eq!(value(query)["metric"], json!({"__name__": "m_count"}));
    assert_eq!(value("histogram_count(m)")["metric"], json!({}));
    assert_eq!(value("sum by (__name__) (histogram_count(m))")["metric"], json!({}));
    assert_eq!(value("vector(start())")["value"][1], "1700000300");
}

#[test]
fn histograms_take_from_the_memory_of_the_question() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.query_memory_bytes=2MiB"]);
    // A hundred of some 32 KB each.
    let bounds: Vec<f64> = (0..2000).map(f64::from).collect();
    let counts = vec![1.0; 2001];
    let histograms: Vec<_> = (0..100).map(|at| custom(T + at * 1000, &bounds, &counts)).collect();
    write(&server, &series("wide", &histograms));
    let count = "histogram_count(wide)";
    let span = format!("start={}&end={}&step=1", T / 1000, T / 1000 + 99);
    for query in ["wide", "-wide", "wide[200s]", "sum_over_time(wide[200s])", "wide + wide"] {
        let path = if query.ends_with(']') { "query" } else { "query_range" };
        let span = match path {
            "query" => format!("time={}", T / 1000 + 99),
            _ => span.clone(),
        };
        let answer = asked(&server, path, &span, query);
        let error = answer["error"].as_str().unwrap_or_default();
        assert!(error.contains("limits.query_memory_bytes"), "{query}: {error}");
    }
    // Their counts alone take less.
    let answer = asked(&server, "query", &format!("time={}", T / 1000 + 99), count);
    assert_eq!(answer["data"]["result"][0]["value"][1], "2001", "{answer}");
}
