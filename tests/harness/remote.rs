//! What Prometheus' clients send, spelled by hand from the formats' own documents, and ask.

use super::{Response, Server};

/// When samples are, in milliseconds.
pub(crate) const T: i64 = 1_700_000_000_000;

/// The `Content-Type` of remote write 2.0.
pub(crate) const V2: &str = "application/x-protobuf;proto=io.prometheus.write.v2.Request";

/// References to symbols, and samples by time.
pub(crate) type Referring<'a> = (&'a [u8], &'a [(i64, f64)]);

/// A field of bytes, as the encoding's guide says.
pub(crate) fn message(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    varint(body.len() as u64, &mut out);
    out.extend_from_slice(body);
    out
}

pub(crate) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn sample(value: f64, time_ms: i64) -> Vec<u8> {
    let mut body = vec![0x09];
    body.extend_from_slice(&value.to_le_bytes());
    body.push(0x10);
    varint(time_ms as u64, &mut body);
    message(2, &body)
}

pub(crate) fn series(labels: &[(&str, &str)], samples: &[(i64, f64)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in labels {
        let label = [message(1, name.as_bytes()), message(2, value.as_bytes())].concat();
        body.extend(message(1, &label));
    }
    body.extend(samples.iter().flat_map(|(time_ms, value)| sample(*value, *time_ms)));
    message(1, &body)
}

/// A request of version 2.0: series as references to symbols.
pub(crate) fn second(symbols: &[&str], series: &[Referring<'_>]) -> Vec<u8> {
    let mut out: Vec<u8> = symbols.iter().flat_map(|text| message(4, text.as_bytes())).collect();
    for (references, samples) in series {
        let samples = samples.iter().flat_map(|(time_ms, value)| sample(*value, *time_ms));
        let body: Vec<u8> = message(1, references).into_iter().chain(samples).collect();
        out.extend(message(5, &body));
    }
    out
}

pub(crate) fn snappy(body: &[u8]) -> Vec<u8> {
    snap::raw::Encoder::new().compress_vec(body).unwrap()
}

pub(crate) fn push(server: &Server, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
    let own = [("Content-Encoding", "snappy")];
    server.request("POST", path, &[&own, headers].concat(), &snappy(body))
}

/// The mark that a series is over.
pub(crate) const STALE: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// What a question of one instant is answered with: its status and its text.
pub(crate) fn asked(server: &Server, form: &str) -> (u16, String) {
    asked_at(server, "query", form)
}

pub(crate) fn asked_at(server: &Server, path: &str, form: &str) -> (u16, String) {
    let kind = [("Content-Type", "application/x-www-form-urlencoded")];
    let path = format!("/prometheus/api/v1/{path}");
    let posted = server.request("POST", &path, &kind, form.as_bytes());
    let got = server.get(&format!("{path}?{form}"));
    assert_eq!((posted.status, posted.text()), (got.status, got.text()), "{form}");
    (got.status, got.text())
}

/// A text in a form, with what means something there escaped.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Counters of three instances, one of which restarts: a sample every 15 s for ten minutes.
pub(crate) fn counters(server: &Server) {
    let counter = |instance: &str, of: &dyn Fn(i64) -> f64| {
        let samples: Vec<_> = (0..=40).map(|n| (T + n * 15_000, of(n))).collect();
        series(&[("__name__", "requests_total"), ("instance", instance), ("job", "api")], &samples)
    };
    let body = [
        counter("a", &|n| n as f64 * 3.0),
        counter("b", &|n| n as f64 * 6.0),
        counter("c", &|n| (n % 20) as f64),
        series(
            &[("__name__", "weight"), ("instance", "b"), ("unit", "kg")],
            &[(T + 590_000, 10.0)],
        ),
    ];
    assert_eq!(push(server, "/api/v1/write", &[], &body.concat()).status, 204);
}
