//! Rollups that a client brings: where they are kept, and which questions they answer, as OpenTSDB
//! 2.4 has it (`rollup/*`, `TsdbQuery.transformDownSamplerToRollupQuery`, `Downsampler`). Raw
//! points of the same metrics have other values, so that an answer tells where it came from.

use crate::harness::{Scratch, Server};
use crate::opentsdb::{H, Tsd, message};
use serde_json::{Value, json};

const CONFIG: &str = r#"{"aggregationIds": {"sum": 0, "count": 1, "min": 2, "max": 3},
    "intervals": [
        {"table": "tsdb", "preAggregationTable": "pre", "interval": "1m", "rowSpan": "1h",
         "defaultInterval": true},
        {"table": "hourly", "preAggregationTable": "pre-hourly", "interval": "1h", "rowSpan": "1d"},
        {"table": "daily", "preAggregationTable": "pre-daily", "interval": "1d", "rowSpan": "1n"}]}"#;

/// Raw points of 1 each minute for three hours from 22:00, and rollups of other values: sums 10, 20
/// and 40, counts 1, 3 and 4.
fn rolled_up() -> Tsd {
    let tsd = Tsd::start_with(&["--set", &format!("opentsdb.rollups={CONFIG}")]);
    let raw: Vec<(i64, i64)> = (0..180).map(|minute| (minute * 60 - 3600, 1)).collect();
    tsd.series("m", "h=a", &raw);
    tsd.series("bare", "h=a", &raw);
    let mut lines = Vec::new();
    for (hour, sum, count) in [(-1, 10, 1), (0, 20, 3), (1, 40, 4)] {
        let time = H + hour * 3600;
        lines.push(format!("rollup 1h-sum m {time} {sum} h=a"));
        lines.push(format!("rollup 1h-count m {time} {count} h=a"));
        lines.push(format!("rollup 1h-MAX m {time} {}.5 h=a", sum - 1));
    }
    assert_eq!(tsd.telnet(&lines.iter().map(String::as_str).collect::<Vec<_>>()), "");
    tsd
}

fn floats(points: &[(i64, f64)]) -> Vec<(i64, Value)> {
    points.iter().map(|&(at, value)| (at, json!(value))).collect()
}

#[test]
fn rollups_that_nobody_configured_are_refused() {
    let tsd = Tsd::start();
    tsd.series("m", "h=a", &[(0, 1), (60, 2)]);
    let text = "No rollup or aggregations were configured";
    let line = format!("rollup 1h-sum m {H} 42 h=a");
    assert_eq!(tsd.telnet(&[&line]), format!("rollup: illegal argument: {text}\n"));
    let point = json!({"metric": "m", "timestamp": H, "value": 42, "tags": {"h": "a"},
        "interval": "1h", "aggregator": "sum"});
    let (status, answer) = tsd.json("POST", "/api/rollup?details", &point);
    assert_eq!((status, &answer["errors"][0]["error"]), (400, &json!(text)));
    let (start, end) = (H.to_string(), (H + 60).to_string());
    let params = [("start", &*start), ("end", &*end), ("m", "sum:pre-agg:m")];
    assert_eq!(tsd.refusal("/api/query", &params, 400), text);
    // What a question says of rollups means nothing then.
    tsd.expect("sum:rollup_fallback:1h-sum:m", 0, 60, &[(0, json!(3.0))]);
}

#[test]
fn the_longest_interval_that_fits_answers() {
    let tsd = rolled_up();
    let check = |m: &str, points: &[(i64, f64)]| tsd.expect(m, -3600, 7199, &floats(points));
    check("sum:1h-sum:m", &[(-3600, 10.0), (0, 20.0), (3600, 40.0)]);
    check("sum:1h-zimsum:m", &[(-3600, 10.0), (0, 20.0), (3600, 40.0)]);
    check("sum:1h-max:m", &[(-3600, 9.5), (0, 19.5), (3600, 39.5)]);
    check("sum:2h-max:m", &[(-3600, 19.5), (3600, 39.5)]);
    check("sum:2h-sum:m", &[(-3600, 30.0), (3600, 40.0)]);
    // Counts are added, and averages are sums over counts.
    check("sum:1h-count:m", &[(-3600, 1.0), (0, 3.0), (3600, 4.0)]);
    check("sum:2h-count:m", &[(-3600, 4.0), (3600, 4.0)]);
    check("sum:1h-avg:m", &[(-3600, 10.0), (0, 20.0 / 3.0), (3600, 10.0)]);
    check("sum:2h-avg:m", &[(-3600, 7.5), (3600, 10.0)]);
    check("sum:rate:1h-sum:m", &[(0, 10.0 / 3600.0), (3600, 20.0 / 3600.0)]);
    // Intervals that none but the default one divides are answered from the points.
    check("sum:rollup_raw:1h-sum:m", &[(-3600, 60.0), (0, 60.0), (3600, 60.0)]);
    let bare = tsd.dps("sum:90m-sum:m", -3600, 7199);
    assert!(!bare[0].is_empty() && bare[0].values().all(|value| value.as_f64() <= Some(90.0)));
    tsd.expect("sum:1m-sum:m", 0, 60, &floats(&[(0, 1.0), (60, 1.0)]));
    tsd.expect("sum:m", 0, 60, &[(0, json!(1)), (60, json!(1))]);
}

#[test]
fn fills_and_groups_are_as_for_points() {
    let tsd = rolled_up();
    let lines = [
        format!("rollup 1h-sum m {} 5 h=b", H + 3600),
        format!("rollup 1h-count m {} 2 h=b", H + 3600),
        format!("rollup 1h-sum m {} 7 h=b", H + 3 * 3600),
        format!("rollup 1h-count m {} 0 h=b", H + 3 * 3600),
        // No count: no average.
        format!("rollup 1h-sum m {} 9 h=c", H + 3600),
    ];
    assert_eq!(tsd.telnet(&lines.iter().map(String::as_str).collect::<Vec<_>>()), "");
    let hour = 3600;
    tsd.expect_all(
        "sum:1h-sum-nan:m{h=a|b}",
        0,
        3 * hour,
        &[
            &[
                (0, json!(20.0)),
                (hour, json!(40.0)),
                (2 * hour, json!("NaN")),
                (3 * hour, json!("NaN")),
            ],
            &[
                (0, json!("NaN")),
                (hour, json!(5.0)),
                (2 * hour, json!("NaN")),
                (3 * hour, json!(7.0)),
            ],
        ],
    );
    // A group's average of averages; the count 0 makes an average of 0.
    let averages = floats(&[(0, 20.0 / 3.0), (hour, 6.25), (3 * hour, 0.0)]);
    tsd.expect("avg:1h-avg:m{}{h=a|b}", 0, 3 * hour, &averages);
    tsd.expect(
        "zimsum:1h-avg-zero:m{h=b}",
        hour,
        3 * hour,
        &floats(&[(hour, 2.5), (2 * hour, 0.0), (3 * hour, 0.0)]),
    );
    let none = tsd.ask("none:1h-avg:m{h=c}", 0, hour);
    assert!(none.as_array().unwrap().iter().all(|series| series["dps"] == json!({})), "{none}");
}

#[test]
fn what_a_table_has_not_is_asked_for_elsewhere_where_the_question_says_so() {
    let tsd = rolled_up();
    let ask = |m: &str| tsd.dps(m, -3600, 7199);
    assert!(ask("sum:1h-sum:bare").is_empty());
    assert!(ask("sum:rollup_nofallback:1h-sum:bare").is_empty());
    assert!(ask("sum:rollup_what:1h-sum:bare").is_empty());
    let raw = floats(&[(-3600, 60.0), (0, 60.0), (3600, 60.0)]);
    tsd.expect("sum:rollup_fallback:1h-sum:bare", -3600, 7199, &raw);
    tsd.expect("sum:ROLLUP_FALLBACK_RAW:1h-sum:bare", -3600, 7199, &raw);
    // Nothing is kept by the day. 2023-11-14 began 82800 s before.
    assert!(tsd.dps("sum:1d-sum:m", -82_800, 7199).is_empty());
    let days = |m: &str, points: &[(i64, f64)]| tsd.expect(m, -82_800, 7199, &floats(points));
    days("sum:rollup_fallback:1d-sum:m", &[(-82_800, 30.0), (3600, 40.0)]);
    days("sum:rollup_fallback_raw:1d-sum:m", &[(-82_800, 120.0), (3600, 60.0)]);
    assert_eq!(tsd.telnet(&[&format!("rollup 1d-sum m {H} 7 h=a")]), "");
    days("sum:rollup_fallback:1d-sum:m", &[(-82_800, 7.0)]);
}

#[test]
fn post_questions_tell_which_table_answered() {
    let tsd = rolled_up();
    let table = |usage: &str, m: &str| {
        let question = json!({"metric": "m", "aggregator": "sum", "downsample": m,
            "rollupUsage": usage});
        let body = json!({"start": H, "end": H + 3600, "showQuery": true, "queries": [question]});
        let (status, answer) = tsd.json("POST", "/api/query", &body);
        assert_eq!(status, 200);
        let query = &answer[0]["query"];
        assert_eq!(query["rollupUsage"], usage);
        query["rollupTable"].as_str().unwrap().to_owned()
    };
    assert_eq!(table("ROLLUP_NOFALLBACK", "1h-sum"), "1h");
    assert_eq!(table("ROLLUP_RAW", "1h-sum"), "raw");
    assert_eq!(table("ROLLUP_FALLBACK", "1d-sum"), "1h", "there is none of a day");
    assert_eq!(table("ROLLUP_FALLBACK_RAW", "1d-sum"), "raw");
}

#[test]
fn values_that_are_not_kept_are_refused() {
    let tsd = rolled_up();
    let (start, end) = (H.to_string(), (H + 3600).to_string());
    for name in ["dev", "p99", "first", "median"] {
        let m = format!("sum:1h-{name}:m");
        let params = [("start", &*start), ("end", &*end), ("m", &*m)];
        let expected = format!("No ID found mapping to aggregator: {name}");
        assert_eq!(tsd.refusal("/api/query", &params, 400), expected);
    }
    let unknown = [("start", &*start), ("end", &*end), ("m", "sum:1h-sum:no")];
    assert_eq!(tsd.refusal("/api/query", &unknown, 400), "No such name for 'metrics': 'no'");
}

#[test]
fn histograms_are_asked_as_ever() {
    let tsd = rolled_up();
    assert_eq!(tsd.telnet(&[&format!("histogram h {H} u=0:o=0:0,10=4:10,20=6 h=a")]), "");
    tsd.expect("sum:1h-sum:percentiles[40]:h", 0, 3599, &floats(&[(0, 5.0)]));
}

#[test]
fn points_of_groups_are_kept_apart_under_a_tag() {
    let tsd = rolled_up();
    let lines = [
        format!("rollup 1h-sum:max m {} 100 dc=x", H + 100),
        format!("rollup 1h-sum:MIN m {H} 3 dc=x"),
        format!("rollup SUM m {} 8 dc=x", H + 61),
        format!("rollup 1m-sum:sum m {} 9 dc=x", H + 62),
        format!("rollup 1h-sum:sum m {H} 77 dc=x _aggregate=sum"),
    ];
    assert_eq!(tsd.telnet(&lines.iter().map(String::as_str).collect::<Vec<_>>()), "");
    tsd.expect("sum:pre-agg:1h-sum:m{_aggregate=MAX}", 0, 60, &floats(&[(0, 100.0)]));
    tsd.expect("sum:1h-sum:PRE-AGG:m{_aggregate=MIN}", 0, 60, &floats(&[(0, 3.0)]));
    tsd.expect("sum:1h-sum:pre-agg:m{_aggregate=SUM}", 0, 60, &floats(&[(0, 77.0)]));
    // Without an interval they are points as they were written.
    tsd.expect("sum:pre-agg:m{_aggregate=SUM}", 0, 99, &[(61, json!(8)), (62, json!(9))]);
    // The others know nothing of them.
    tsd.expect("sum:1h-sum:m", 0, 60, &floats(&[(0, 20.0)]));
    tsd.expect("sum:m{h=*}", 0, 60, &[(0, json!(1)), (60, json!(1))]);
}

#[test]
fn bodies_are_answered_as_those_of_put() {
    let tsd = rolled_up();
    let point = |time: i64, interval: &str, aggregator: &str| {
        json!({"metric": "web", "timestamp": time, "value": 4.5, "tags": {"h": "a"},
            "interval": interval, "aggregator": aggregator, "groupByAggregator": null})
    };
    let post = |path: &str, body: &Value| tsd.json("POST", path, body);
    // Rounded down to the hour; the newest wins.
    let good = json!([point(H + 10, "1h", "SUM"), point(H + 3599, "1h", "sum")]);
    assert_eq!(post("/api/rollup", &good), (204, Value::Null));
    tsd.expect("sum:1h-sum:web", 0, 3599, &floats(&[(0, 4.5)]));
    let mixed = json!([point(H, "1h", "sum"), point(H, "5m", "sum")]);
    assert_eq!(post("/api/rollup?summary", &mixed), (400, json!({"success": 1, "failed": 1})));
    let refusal = post("/api/rollup", &mixed).1;
    assert_eq!(refusal["error"]["message"], "One or more data points had errors");
    let synced = post("/api/v1/rollup?sync&summary", &good);
    assert_eq!(synced, (200, json!({"success": 2, "failed": 0})));
    assert_eq!(message(&tsd.server.get("/api/rollup")), "Method not allowed");
    assert_eq!(message(&tsd.server.post("/api/rollup", "[]")), "No datapoints found in content");
    assert_eq!(message(&tsd.server.post("/api/rollup", "")), "Missing request content");
    let reason = |change: &dyn Fn(&mut Value)| {
        let mut bad = point(H, "1h", "sum");
        change(&mut bad);
        let (status, answer) = post("/api/rollup?details", &bad);
        assert_eq!((status, &answer["failed"]), (400, &json!(1)), "{answer}");
        answer["errors"][0]["error"].as_str().unwrap().to_owned()
    };
    // The point is told with all its parts, as OpenTSDB 2.4.1 tells it.
    let (_, answer) = post("/api/rollup?details", &point(H, "5m", "sum"));
    let told = &answer["errors"][0]["datapoint"];
    assert_eq!((&told["interval"], &told["aggregator"]), (&json!("5m"), &json!("sum")), "{told}");
    assert!(told.get("groupByAggregator").is_none(), "{told}");
    let expect = |change: &dyn Fn(&mut Value), text: &str| assert_eq!(reason(change), text);
    expect(&|point| point["metric"] = json!(""), "Metric name was empty");
    expect(&|point| point["timestamp"] = json!(-1), "Invalid timestamp");
    expect(&|point| point["value"] = json!(""), "Empty value");
    expect(&|point| point["value"] = json!("x"), "Unable to parse value to a number");
    expect(&|point| point["tags"] = json!({}), "Missing tags");
    expect(&|point| point["interval"] = Value::Null, "Missing interval");
    expect(&|point| point["aggregator"] = json!(""), "Missing aggregator");
    expect(&|point| point["interval"] = json!("5m"), "No rollups configured for the interval: 5m");
    expect(&|point| point["aggregator"] = json!("p99"), "No ID found mapping to aggregator: p99");
    expect(
        &|point| point["groupByAggregator"] = json!("nosuch"),
        "Invalid group by aggregator nosuch with metric web {_aggregate=NOSUCH, h=a}",
    );
    expect(
        &|point| point["groupByAggregator"] = json!("avg"),
        "Derived group by aggregations are not allowed AVG with metric web",
    );
    expect(
        &|point| point["interval"] = json!("1m"),
        "The interval 1m is that of raw points: put them",
    );
    assert!(reason(&|point| point["timestamp"] = json!(H * 1000)).starts_with("bad timestamp="));
    expect(
        &|point| point["metric"] = json!("a b"),
        "Invalid metric name (\"a b\"): illegal character:  ",
    );
}

#[test]
fn bad_lines_are_answered_in_the_peers_words() {
    let tsd = rolled_up();
    for (line, answer) in [
        (
            "rollup 1h-sum m 1700002800 42",
            "illegal argument: not enough arguments (need least 7, got 4)",
        ),
        ("rollup", "illegal argument: not enough arguments (need least 7, got 0)"),
        ("rollup  m 1700002800 42 h=a", "illegal argument: Missing interval or aggregator"),
        ("rollup 1h-sum  1700002800 42 h=a", "illegal argument: empty metric name"),
        ("rollup 1h-sum m 17x 42 h=a", "invalid value: Invalid character 'x' in 17x"),
        ("rollup 1h-sum m 0 42 h=a", "illegal argument: invalid timestamp: 0"),
        ("rollup 1h-sum m 1700002800  h=a", "illegal argument: empty value"),
        ("rollup 1h-sum m 1700002800 4x h=a", "invalid value: Invalid character 'x' in 4x"),
        ("rollup 1h-sum m 1700002800 42 h", "illegal argument: invalid tag: h"),
        (
            "rollup 5m-sum m 1700002800 42 h=a",
            "No such rollup: No rollups configured for the interval: 5m",
        ),
        (
            "rollup 1h-p50 m 1700002800 42 h=a",
            "illegal argument: No ID found mapping to aggregator: p50",
        ),
        (
            "rollup 1h-sum:max m 1700002800 42 h=a _aggregate=MIN",
            "illegal argument: Given tag value for _aggregate of MIN did not match the group by \
             aggregator of max for m",
        ),
    ] {
        assert_eq!(tsd.telnet(&[line]), format!("rollup: {answer}\n"), "{line}");
    }
}

#[test]
fn rollups_survive_a_restart_and_are_found_by_tsuid_and_as_a_policy() {
    let dir = Scratch::new();
    let set = format!("opentsdb.rollups={CONFIG}");
    let server = Server::start(dir.path(), &["--set", &set, "--http-changes-by-get"]);
    let point = json!({"metric": "m", "timestamp": H, "value": 42, "tags": {"h": "a"},
        "interval": "1h", "aggregator": "sum"});
    assert_eq!(server.post("/api/rollup", &point.to_string()).status, 204);
    server.kill();
    let server = Server::start(dir.path(), &["--set", &set, "--http-changes-by-get"]);
    let (from, to) = (H, H + 60);
    for question in ["m=sum:1h-sum:m", "tsuid=sum:1h-sum:000001000001000001"] {
        let answer = server.get(&format!("/api/query?start={from}&end={to}&{question}"));
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer[0]["dps"], json!({from.to_string(): 42.0}), "{question}: {answer}");
    }
    let select = "SELECT%20sum%20FROM%20%22default%22.hourly.m";
    let answer = server.get(&format!("/query?q={select}&epoch=s"));
    assert!(answer.text().contains(&format!("[{H},42]")), "{}", answer.text());
}

#[test]
fn metrics_of_which_there_are_only_rollups_are_suggested_and_renamed() {
    let tsd = rolled_up();
    assert_eq!(tsd.telnet(&[&format!("rollup 1h-sum only {H} 9 h=z")]), "");
    let suggest = |params: &str| tsd.server.get(&format!("/api/suggest?{params}")).text();
    assert_eq!(suggest("type=metrics"), r#"["bare","m","only"]"#);
    assert_eq!(suggest("type=metrics&q=o&max=1"), r#"["only"]"#);
    assert_eq!(suggest("type=tagv"), r#"["a","z"]"#);
    let rename = |what: &str| tsd.server.get(&format!("/api/uid/rename?{what}")).text();
    let done = r#"{"result":"true"}"#;
    assert_eq!(rename("metric=only&name=other"), done);
    tsd.expect("sum:1h-sum:other", 0, 3599, &floats(&[(0, 9.0)]));
    assert_eq!(rename("metric=m&name=n"), done);
    tsd.expect("sum:2h-avg:n", -3600, 7199, &floats(&[(-3600, 7.5), (3600, 10.0)]));
    tsd.expect("sum:1m-sum:n", 0, 60, &floats(&[(0, 1.0), (60, 1.0)]));
    assert_eq!(rename("tagv=z&name=y"), done);
    tsd.expect("sum:1h-sum:other{h=y}", 0, 3599, &floats(&[(0, 9.0)]));
    assert_eq!(suggest("type=metrics"), r#"["bare","n","other"]"#);
}
