//! Histograms through OpenTSDB's door: points, percentiles and buckets.

use crate::opentsdb::{H, Tsd};
use serde_json::{Value, json};

#[test]
fn row_52_percentiles() {
    let tsd = Tsd::start();
    let line = format!("histogram m {H} 0,10=4:10,20=6 h=a");
    assert_eq!(tsd.telnet(&[&line]), "");
    for (percent, name, value) in [
        ("40", "m_pct_40.0", 5.0),
        ("50", "m_pct_50.0", 15.0),
        ("99.9", "m_pct_99.9", 15.0),
        ("0.5", "m_pct_0.5", -1.0),
    ] {
        let answer = tsd.ask(&format!("sum:percentiles[{percent}]:m"), 0, 9);
        assert_eq!(answer[0]["metric"], name);
        assert_eq!(answer[0]["dps"], json!({H.to_string(): value}), "{percent}");
        assert_eq!(answer[0]["tags"], json!({"h": "a"}));
    }
}

#[test]
fn histograms_add_up_over_series_and_time() {
    let tsd = Tsd::start();
    let point = |at: i64, host: &str, buckets: Value| {
        json!({"metric": "m", "timestamp": H + at, "tags": {"h": host, "dc": "x"},
            "buckets": buckets, "underflow": 1, "overflow": 2})
    };
    let body = json!([
        point(0, "a", json!({"0,10": 1, "10,20": 9})),
        point(0, "b", json!({"0,10": 9, "20,30": 1})),
        point(30, "a", json!({"0,10": 100})),
    ]);
    assert_eq!(tsd.json("POST", "/api/histogram", &body), (204, Value::Null));
    // The same in OpenTSDB's bytes: one bucket from 0 to 10 with 4, one above.
    let bytes = json!({"metric": "n", "timestamp": H, "tags": {"h": "a"}, "id": 0,
        "value": "AAEAAAAAQSAAAAQAAQ=="});
    assert_eq!(tsd.json("POST", "/api/histogram", &bytes).0, 204);
    let names = |answer: &Value| -> Vec<(String, Value)> {
        let list = answer.as_array().unwrap().iter();
        list.map(|one| (one["metric"].as_str().unwrap().to_owned(), one["dps"].clone())).collect()
    };
    let (t0, t30) = (H.to_string(), (H + 30).to_string());
    let all = tsd.ask("sum:percentiles[50,95]:m", 0, 60);
    let expected = [
        ("m_pct_50.0".to_owned(), json!({&t0: 5.0, &t30: 5.0})),
        ("m_pct_95.0".to_owned(), json!({&t0: 15.0, &t30: 5.0})),
    ];
    assert_eq!(names(&all), expected);
    assert_eq!((&all[0]["tags"], &all[0]["aggregateTags"]), (&json!({"dc": "x"}), &json!(["h"])));
    let minute = tsd.ask("sum:1m-sum:percentiles[95]:m", 0, 60);
    assert_eq!(names(&minute)[0].1, json!({&t0: 15.0}));
    let (start, end) = (H.to_string(), (H + 60).to_string());
    let lines = [("start", &*start), ("end", &*end), ("m", "sum:1m-sum:percentiles[95]:m")];
    let lines = tsd.get("/q", &[&lines[..], &[("ascii", "")]].concat());
    assert_eq!(lines.text(), format!("m_pct_95.0 {H} 15.0 dc=x\n"));
    let buckets = tsd.ask("sum:show-histogram-buckets:n", 0, 60);
    let expected = [
        ("n_UNDERFLOW".to_owned(), json!({&t0: 0})),
        ("n_0.0_10.0".to_owned(), json!({&t0: 4})),
        ("n_OVERFLOW".to_owned(), json!({&t0: 1})),
    ];
    assert_eq!(names(&buckets), expected);
    let groups = tsd.ask("sum:percentiles[50]:m{h=*}", 0, 20);
    assert_eq!(groups.as_array().unwrap().len(), 2);
    assert_eq!((&groups[0]["tags"]["h"], &groups[0]["dps"]), (&json!("a"), &json!({&t0: 15.0})));
    let body = json!({"start": H, "end": H + 60, "queries": [
        {"aggregator": "none", "metric": "m", "percentiles": [50.0]},
        {"aggregator": "sum", "metric": "n", "percentiles": [1.0]}]});
    let (status, answer) = tsd.json("POST", "/api/query", &body);
    assert_eq!(status, 200, "{answer}");
    let metrics: Vec<String> = names(&answer).into_iter().map(|(name, _)| name).collect();
    assert_eq!(metrics, ["m_pct_50.0", "m_pct_50.0", "n_pct_1.0"]);
    for m in ["avg:percentiles[50]:m", "sum:1m-avg:percentiles[50]:m", "sum:percentiles[x]:m"] {
        tsd.refusal("/api/query", &[("start", "1"), ("m", m)], 400);
    }
}

#[test]
fn histograms_are_added_up_within_the_memory_of_a_query() {
    let tsd = Tsd::start_with(&["--set", "limits.query_memory_bytes=1MiB"]);
    let buckets = |at: i64| -> serde_json::Map<String, Value> {
        let from = at * 1000;
        (from..from + 1000).map(|lower| (format!("{lower},{}", lower + 1), json!(1))).collect()
    };
    // Whole hours are read: ten points are in one, and fifty in the next.
    for at in (0..10).chain(3600..3650) {
        let point = json!({"metric": "m", "timestamp": H + at, "tags": {"h": "a"},
            "buckets": buckets(at)});
        assert_eq!(tsd.json("POST", "/api/histogram", &point), (204, Value::Null));
    }
    // The sum of ten has 10 000 buckets, that of fifty more than a megabyte holds.
    let ten = tsd.ask("sum:1h-sum:percentiles[50]:m", 0, 9);
    assert_eq!(ten[0]["dps"], json!({H.to_string(): 4999.5}));
    let (start, end) = (H.to_string(), (H + 3700).to_string());
    let all = [("start", &*start), ("end", &*end), ("m", "sum:1h-sum:percentiles[50]:m")];
    let message = tsd.refusal("/api/query", &all, 413);
    assert!(message.contains("limits.query_memory_bytes"), "{message}");
}

#[test]
fn bad_histograms_are_refused() {
    let tsd = Tsd::start();
    for (line, answer) in [
        ("histogram", "histogram: illegal argument: not enough arguments (need least 5, got 0)"),
        (
            "histogram m 1 0,1=1",
            "histogram: illegal argument: not enough arguments (need least 5, got 3)",
        ),
        ("histogram m x 0,1=1 h=a", "histogram: invalid value: Invalid character 'x' in x"),
        ("histogram m 0 0,1=1 h=a", "histogram: illegal argument: invalid timestamp: 0"),
        ("histogram m 1 foo h=a", "histogram: illegal argument: Improperly formatted bucket: foo"),
        ("histogram m 1 0=1 h=a", "histogram: illegal argument: Improperly formatted bounds: 0"),
        ("histogram m 1 0,1=1 h", "histogram: illegal argument: invalid tag: h"),
        ("histogram m 1 0 AA h=a", "histogram: illegal argument: The bytes are no histogram"),
    ] {
        assert_eq!(tsd.telnet(&[line]), format!("{answer}\n"), "{line}");
    }
    let fault = |body: Value| {
        let (status, answer) = tsd.json("POST", "/api/histogram?details", &body);
        assert_eq!((status, &answer["failed"]), (400, &json!(1)), "{answer}");
        answer["errors"][0]["error"].as_str().unwrap().to_owned()
    };
    let tags = json!({"h": "a"});
    assert_eq!(fault(json!({"timestamp": 1, "tags": tags})), "Metric name was empty");
    assert_eq!(fault(json!({"metric": "m", "tags": tags})), "Invalid timestamp");
    assert_eq!(fault(json!({"metric": "m", "timestamp": 1})), "Missing tags");
    let none = json!({"metric": "m", "timestamp": 1, "tags": tags});
    assert_eq!(fault(none), "Histogram buckets cannot be null or empty if 'value' is empty.");
    let bad = json!({"metric": "m", "timestamp": 1, "tags": tags, "buckets": {"0": 1}});
    assert_eq!(fault(bad), "Improperly formatted bounds: 0");
}
