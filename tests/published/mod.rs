//! What OpenTSDB's own unit tests expect (its repository, `test`, revision 0f681b754), as facts, by
//! what they are about: inputs and results written anew, each under the name of the test that it
//! was taken from. Where those tests look at parts by themselves, the same is asked of the whole
//! server here.

mod aggregators;
mod buckets;
mod rates;
mod trees;
mod uids;
mod values;

use crate::opentsdb::{Tsd, same_value};
use serde_json::{Value, json};

/// 2013-01-01 00:00:00 UTC, from which most of the tests count.
pub(crate) const BASE: i64 = 1_356_998_400;
pub(crate) const BASE_MS: i64 = BASE * 1000;

/// Puts a series of points in milliseconds.
pub(crate) fn put<V: ToString>(
    tsd: &Tsd,
    metric: &str,
    host: &str,
    points: impl Iterator<Item = (i64, V)>,
) {
    let lines: String = points
        .map(|(time_ms, value)| {
            format!("put {metric} {time_ms} {} host={host}\n", value.to_string())
        })
        .collect();
    assert_eq!(tsd.server.talk(lines.as_bytes()), "");
}

/// The points that answer `m` between two times, in milliseconds; there must be one series.
pub(crate) fn ask(
    tsd: &Tsd,
    m: &str,
    more: &[(&str, &str)],
    from_ms: i64,
    to_ms: i64,
) -> Vec<(i64, Value)> {
    let (start, end) = (format!("{from_ms}ms"), format!("{to_ms}ms"));
    let mut params = vec![("start", &*start), ("end", &*end), ("m", m), ("ms", ""), ("arrays", "")];
    params.extend(more);
    let response = tsd.get("/api/query", &params);
    assert_eq!(response.status, 200, "{m}: {}", response.text());
    let answer: Value = serde_json::from_slice(&response.body).unwrap();
    let list = answer.as_array().unwrap();
    assert_eq!(list.len(), 1, "{m}: {answer}");
    let pair = |pair: &Value| (pair[0].as_i64().unwrap(), pair[1].clone());
    list[0]["dps"].as_array().unwrap().iter().map(pair).collect()
}

/// A number with a point, so that it is a float.
pub(crate) fn decimal(value: f64) -> String {
    format!("{value:.2}")
}

pub(crate) fn check(test: &str, got: &[(i64, Value)], wanted: &[(i64, Value)]) {
    let differs = |((at, value), (wanted_at, wanted)): (&(i64, Value), &(i64, Value))| {
        at != wanted_at || !same_value(value, wanted)
    };
    let first = got.iter().zip(wanted).find(|pair| differs(*pair));
    assert!(first.is_none(), "{test}: {first:?}");
    assert_eq!(got.len(), wanted.len(), "{test}");
}

/// Points by their numbers, from a time on, so far apart.
pub(crate) fn points<V: Into<Value>>(
    start_ms: i64,
    step_ms: i64,
    count: i64,
    value: impl Fn(i64) -> V,
) -> Vec<(i64, Value)> {
    (0..count).map(|at| (start_ms + at * step_ms, value(at).into())).collect()
}

/// One series' points in seconds from [`BASE`], a question, and what answers it.
pub(crate) type Case<'a> = (&'a str, &'a [(i64, &'a str)], &'a str, &'a [(i64, f64)]);

pub(crate) fn run_cases(tsd: &Tsd, cases: &[Case<'_>], more: &[(&str, &str)], from: i64) {
    for (test, series, question, wanted) in cases {
        let metric = test.replace(' ', "_");
        put(tsd, &metric, "web01", series.iter().map(|(at, value)| (BASE_MS + at * 1000, value)));
        let m = format!("{question}:{metric}");
        let last = series.last().map_or(0, |(at, _)| *at);
        let got = ask(tsd, &m, more, BASE_MS + from * 1000, BASE_MS + last * 1000);
        let wanted: Vec<(i64, Value)> =
            wanted.iter().map(|&(at, value)| (BASE_MS + at * 1000, json!(value))).collect();
        check(test, &got, &wanted);
    }
}

/// The name of a test; method, path and parameters; body; and of the answer the status and what is
/// in it.
pub(crate) type Exchange<'a> = (&'a str, &'a str, &'a str, u16, &'a [&'a str]);

/// Asks row after row below a path.
pub(crate) fn exchange(tsd: &Tsd, below: &str, rows: &[Exchange<'_>]) {
    for (test, ask, body, status, parts) in rows {
        let (method, path) = ask.split_once(' ').unwrap();
        let path = format!("{below}{path}");
        let answer = tsd.server.request(method, &path, &[], body.as_bytes());
        let text = answer.text();
        assert_eq!(answer.status, *status, "{test}: {text}");
        for part in *parts {
            assert!(text.contains(part), "{test}: no {part} in {text}");
        }
        assert!(![204, 304].contains(status) || text.is_empty(), "{test}: {text}");
    }
}
