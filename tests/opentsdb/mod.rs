//! What the OpenTSDB tests have in common: a server, points put over telnet, questions in terms of
//! offsets from one full hour.

pub(crate) mod model;

use crate::harness::{Response, Scratch, Server};
use serde_json::{Map, Value, json};

/// The hour that times count from: 2023-11-14 23:00:00 UTC.
pub(crate) const H: i64 = 1_700_002_800;

/// A server of its own.
pub(crate) struct Tsd {
    pub(crate) server: Server,
    _dir: Scratch,
}

/// Writes `text` so that it can stand in a query string.
pub(crate) fn escape(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let each = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(each).collect()
}

impl Tsd {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(flags: &[&str]) -> Self {
        let dir = Scratch::new();
        // OpenTSDB's own cases change things by GET.
        let flags = [flags, &["--http-changes-by-get"]].concat();
        Self { server: Server::start(dir.path(), &flags), _dir: dir }
    }

    /// Sends lines over telnet and returns what is answered to them.
    pub(crate) fn telnet(&self, lines: &[&str]) -> String {
        self.server.talk(format!("{}\n", lines.join("\n")).as_bytes())
    }

    /// Puts points of one series: offsets from [`H`] in seconds, and values as they are written.
    pub(crate) fn series<V: ToString>(&self, metric: &str, tags: &str, points: &[(i64, V)]) {
        let line = |(at, value): &(i64, V)| {
            format!("put {metric} {} {} {tags}\n", H + at, value.to_string())
        };
        let lines: String = points.iter().map(line).collect();
        assert_eq!(self.server.talk(lines.as_bytes()), "");
    }

    /// A GET with parameters.
    pub(crate) fn get(&self, path: &str, params: &[(&str, &str)]) -> Response {
        let pairs: Vec<String> =
            params.iter().map(|(name, value)| format!("{name}={}", escape(value))).collect();
        self.server.get(&format!("{path}?{}", pairs.join("&")))
    }

    /// The JSON that a request is answered with, and the status.
    pub(crate) fn json(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let response = self.server.request(method, path, &[], text.as_bytes());
        let value = match response.body.is_empty() {
            true => Value::Null,
            false => serde_json::from_slice(&response.body)
                .unwrap_or_else(|_| panic!("{path}: no JSON in {}", response.text())),
        };
        (response.status, value)
    }

    /// The answer to `m` between two offsets.
    pub(crate) fn ask(&self, m: &str, from: i64, to: i64) -> Value {
        let (start, end) = ((H + from).to_string(), (H + to).to_string());
        let response = self.get("/api/query", &[("start", &start), ("end", &end), ("m", m)]);
        assert_eq!(response.status, 200, "{m}: {}", response.text());
        serde_json::from_slice(&response.body).unwrap()
    }

    /// The points of all series that answer `m`, by offset.
    pub(crate) fn dps(&self, m: &str, from: i64, to: i64) -> Vec<Map<String, Value>> {
        self.ask(m, from, to).as_array().unwrap().iter().map(offsets).collect()
    }

    /// Checks the points of the only series that answers `m`; floats may differ in the last digits.
    pub(crate) fn expect(&self, m: &str, from: i64, to: i64, points: &[(i64, Value)]) {
        self.expect_all(m, from, to, &[points]);
    }

    /// Checks the points of all series that answer `m`.
    pub(crate) fn expect_all(&self, m: &str, from: i64, to: i64, all: &[&[(i64, Value)]]) {
        let got = self.dps(m, from, to);
        let wanted: Vec<Map<String, Value>> = all
            .iter()
            .map(|points| points.iter().map(|(at, v)| (at.to_string(), v.clone())).collect())
            .collect();
        let same = |(got, wanted): (&Map<String, Value>, &Map<String, Value>)| {
            got.len() == wanted.len()
                && got.iter().all(|(at, v)| wanted.get(at).is_some_and(|w| same_value(v, w)))
        };
        let is_same = got.len() == wanted.len() && got.iter().zip(&wanted).all(same);
        assert!(is_same, "{m} [{from}, {to}]\n   got {}\nwanted {}", json!(got), json!(wanted));
    }

    /// The message of an answer that is an error of the given status.
    pub(crate) fn refusal(&self, path: &str, params: &[(&str, &str)], status: u16) -> String {
        let response = self.get(path, params);
        assert_eq!(response.status, status, "{path} {params:?}: {}", response.text());
        message(&response)
    }
}

/// The message of an error.
pub(crate) fn message(response: &Response) -> String {
    let value: Value = serde_json::from_slice(&response.body)
        .unwrap_or_else(|_| panic!("no JSON in {}", response.text()));
    assert_eq!(value["error"]["code"], response.status);
    value["error"]["message"].as_str().unwrap().to_owned()
}

/// A series' points by offset from [`H`].
pub(crate) fn offsets(series: &Value) -> Map<String, Value> {
    let dps = series["dps"].as_object().unwrap();
    dps.iter()
        .map(|(time, value)| ((time.parse::<i64>().unwrap() - H).to_string(), value.clone()))
        .collect()
}

/// Whether values are of one kind and equal; floats within a relative 1e-9.
pub(crate) fn same_value(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) if x.is_f64() && y.is_f64() => {
            let (x, y) = (x.as_f64().unwrap(), y.as_f64().unwrap());
            x == y || (x - y).abs() <= 1e-9 * x.abs().max(y.abs())
        }
        _ => a == b,
    }
}
