//! The conformance list of OpenTSDB's behaviour, row by row, through the real binary.
//!
//! Numbers of rows are those of the list that this door was built from;
//! `docs/protocols/opentsdb.md` says which answers differ from OpenTSDB's on purpose.

use crate::opentsdb::{H, Tsd, message};
use serde_json::{Map, Value, json};

/// Points with their values as JSON.
macro_rules! points {
    ($($at:expr => $value:expr),* $(,)?) => { &[$(($at, json!($value))),*] };
}

#[test]
fn rows_01_to_10_telnet_writes() {
    let tsd = Tsd::start();
    // 1
    tsd.series("m", "h=a", &[(0, 42)]);
    tsd.expect("sum:m", 0, 1800, points! {0 => 42});
    let replies = |lines: &[&str]| tsd.telnet(lines);
    // 2
    let few = "put: illegal argument: not enough arguments (need least 4, got 3)\n";
    assert_eq!(replies(&["put m 1700002800 42"]), few);
    // 3
    let invalid = "put: invalid value: Invalid character 'x' in 17x\n";
    assert_eq!(replies(&["put m 17x 1 h=a"]), invalid);
    assert_eq!(replies(&["put m 0 1 h=a"]), "put: illegal argument: invalid timestamp: 0\n");
    // 4
    for value in ["NaN", "abc", "1a", "9223372036854775808"] {
        let reply = replies(&[&format!("put m {H} {value} h=a")]);
        assert!(reply.starts_with("put: invalid value: "), "{value}: {reply}");
    }
    tsd.series("big", "h=a", &[(0, "9223372036854775807")]);
    tsd.series("big", "h=a", &[(1, "-9223372036854775808"), (2, "+5")]);
    tsd.expect("sum:big", 0, 9, points! {0 => i64::MAX, 1 => i64::MIN, 2 => 5});
    // 5
    tsd.series("f", "h=a", &[(0, "4.2"), (1, "1e3")]);
    tsd.expect("sum:f", 0, 9, points! {0 => 4.2, 1 => 1000.0});
    let reply = replies(&[&format!("put f {H} 1e400 h=a")]);
    assert!(reply.starts_with("put: illegal argument: value is NaN or Infinite"), "{reply}");
    // 6
    assert_eq!(replies(&["put ms 1700002800.250 1 h=a", "put ms 1700002800.5 2 h=a"]), "");
    assert_eq!(tsd.server.samples("sum:ms")[1], (1_700_002_800_250, "1".to_owned()));
    assert_eq!(tsd.server.samples("sum:ms")[0], (17_000_028_005, "2".to_owned()));
    // 7
    for (tags, fault) in [
        ("h=a h=a", ""),
        ("h=a   g=b  ", ""),
        ("h=a h=b", "put: illegal argument: duplicate tag: h"),
        ("h=", "put: illegal argument: invalid tag: h="),
        ("=a", "put: illegal argument: invalid tag: =a"),
        ("h=a=b", "put: illegal argument: invalid tag: h=a=b"),
        ("h", "put: illegal argument: invalid tag: h"),
    ] {
        let reply = replies(&[&format!("put tags {H} 1 {tags}")]);
        assert_eq!(reply.trim_end(), fault, "{tags}");
    }
    // 8
    assert_eq!(replies(&["put edge 4294967295 1 h=a", "put edge 4294967296 2 h=a"]), "");
    let ends = [("start", "1"), ("end", "9999999999"), ("m", "sum:edge"), ("ms", "")];
    let edge = tsd.get("/api/query", &ends).text();
    assert!(edge.contains(r#"{"4294967296":2,"4294967295000":1}"#), "{edge}");
    // Times end in 2262 here, which OpenTSDB's largest timestamp is beyond.
    for time in ["9999999999999", "10000000000000"] {
        let reply = replies(&[&format!("put edge {time} 1 h=a")]);
        assert!(reply.starts_with(&format!("put: illegal argument: bad timestamp={time}")));
    }
    // 9, 10
    assert_eq!(replies(&[&format!("put métrique/ü.1-_ {H} 1 h=a")]), "");
    assert_eq!(replies(&["foo"]), "unknown command: foo.  Try `help'.\n");
    // Only a path makes a first word in capitals HTTP here; else it is no command either.
    let reply = tsd.telnet(&["PUT m"]);
    assert_eq!(reply, "unknown command: PUT.  Try `help'.\n");
}

#[test]
fn row_09_more_tags_than_allowed() {
    let tsd = Tsd::start_with(&["--limits-labels", "8"]);
    let nine: Vec<String> = (0..9).map(|n| format!("k{n}=v")).collect();
    let reply = tsd.telnet(&[&format!("put m {H} 1 {}", nine.join(" "))]);
    assert!(
        reply.starts_with("put: illegal argument: Too many tags: 9 maximum allowed: 8, "),
        "{reply}"
    );
    for metric in ["a b", "a:b"] {
        let body = json!({"metric": metric, "timestamp": H, "value": 1, "tags": {"h": "a"}});
        let (status, answer) = tsd.json("POST", "/api/put?details", &body);
        assert_eq!((status, &answer["failed"]), (400, &json!(1)));
        assert!(answer["errors"][0]["error"].as_str().unwrap().contains("illegal character"));
    }
}

#[test]
fn the_most_labels_are_the_same_at_every_door() {
    for most in [3, 100, 1024] {
        let tsd = Tsd::start_with(&["--limits-labels", &most.to_string()]);
        for (count, is_taken) in [(most, true), (most + 1, false)] {
            let names = || (0..count).map(|n| format!("k{n}"));
            let words =
                |between: &str| names().map(|k| format!("{k}=v")).collect::<Vec<_>>().join(between);
            let line = format!("line,{} v=1", words(","));
            let response = tsd.server.post("/write?db=default", &line);
            assert_eq!(response.status == 204, is_taken, "{count} of {most}: {}", response.text());
            let tags: Map<String, Value> = names().map(|k| (k, json!("v"))).collect();
            let point = json!({"metric": "json", "timestamp": H, "value": 1, "tags": tags});
            assert_eq!(
                tsd.json("POST", "/api/put", &point).0 == 204,
                is_taken,
                "{count} of {most}"
            );
            let reply = tsd.telnet(&[&format!("put telnet {H} 1 {}", words(" "))]);
            assert_eq!(reply.is_empty(), is_taken, "{count} of {most}: {reply}");
            let text = format!(
                "text{{{}}} 1\n",
                names().map(|k| format!("{k}=\"v\"")).collect::<Vec<_>>().join(",")
            );
            let response = tsd.server.post("/api/v1/import/prometheus", &text);
            assert_eq!(response.status == 204, is_taken, "{count} of {most}: {}", response.text());
        }
    }
}

#[test]
fn rows_11_and_12_put_over_http() {
    let tsd = Tsd::start();
    let good = json!({"metric": "m", "timestamp": H, "value": 1, "tags": {"h": "a"}});
    let bad = json!({"metric": "m", "timestamp": H, "value": "abc", "tags": {"h": "b"}});
    // 11
    assert_eq!(tsd.json("POST", "/api/put", &good), (204, Value::Null));
    let both = json!([good, bad]);
    let errors = json!([{"error": "Unable to parse value to a number", "datapoint": bad}]);
    let details = json!({"success": 1, "failed": 1, "errors": errors});
    assert_eq!(tsd.json("POST", "/api/put?details", &both), (400, details));
    let summary = json!({"success": 1, "failed": 1});
    assert_eq!(tsd.json("POST", "/api/put?summary", &both), (400, summary));
    let (status, answer) = tsd.json("POST", "/api/put", &both);
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(400)));
    assert_eq!(answer["error"]["message"], "One or more data points had errors");
    tsd.expect("sum:m", 0, 9, points! {0 => 1});
    // 12
    let refused = |body: &str| message(&tsd.server.post("/api/put", body));
    assert_eq!(refused("[]"), "No datapoints found in content");
    assert_eq!(refused(""), "Missing request content");
    assert_eq!(refused("7"), "The JSON must start as an object or an array");
    assert_eq!(refused("{"), "Unable to parse the given JSON");
    for (change, fault) in [
        (json!({"tags": {}}), "Missing tags"),
        (json!({"metric": null}), "Metric name was empty"),
        (json!({"timestamp": -1}), "Invalid timestamp"),
        (json!({"value": ""}), "Empty value"),
    ] {
        let mut point = good.clone();
        for (name, value) in change.as_object().unwrap() {
            point[name] = value.clone();
        }
        let (status, answer) = tsd.json("POST", "/api/put?details", &point);
        assert_eq!((status, &answer["errors"][0]["error"]), (400, &json!(fault)));
    }
    assert_eq!(tsd.server.get("/api/put").status, 405);
    let counts = json!({"success": 1, "failed": 0});
    assert_eq!(tsd.json("POST", "/api/put?sync&summary", &good), (200, counts));
    let counts = json!({"success": 1, "failed": 0, "timeouts": 0});
    let path = "/api/put?sync&summary&sync_timeout=1000";
    assert_eq!(tsd.json("POST", path, &good), (200, counts));
}

#[test]
fn rows_13_to_15_times_and_questions() {
    let tsd = Tsd::start();
    tsd.series("x", "h=a", &[(0, 1), (60, 3)]);
    let times = |start: &str| {
        tsd.get("/api/query", &[("start", start), ("end", "1700003400"), ("m", "sum:x")])
    };
    // 13
    assert_eq!(times("1700002800").body, times("1700002800000").body);
    for start in ["17000028000", "1700002800.5"] {
        assert!(times(start).text().contains("\"1700002800\":1"), "{start}");
    }
    for start in ["1700002800.1234", "170000280.123", "1s", "2023/11/"] {
        assert_eq!(times(start).status, 400, "{start}");
    }
    // 14
    for start in ["2n-ago", "1y-ago", "1500ms-ago"] {
        let answer = tsd.get("/api/query", &[("start", start), ("m", "sum:x")]);
        assert_eq!(answer.status, 200, "{start}");
    }
    let body = json!({"start": "2023/11/14-23:00:00", "end": H + 10, "timezone": "UTC",
        "queries": [{"aggregator": "sum", "metric": "x"}]});
    let (_, answer) = tsd.json("POST", "/api/query", &body);
    assert_eq!(answer[0]["dps"], json!({"1700002800": 1}));
    // 15
    let first = tsd.ask("sum:rate:1m-avg:x", 0, 600);
    assert_eq!(first, tsd.ask("sum:1m-avg:rate:x", 0, 600));
    assert!(!first[0]["dps"].as_object().unwrap().is_empty());
    let fault = |m: &str| tsd.refusal("/api/query", &[("start", "1700002800"), ("m", m)], 400);
    assert!(fault("sum:1m-avg:rate:explicit_tags:pre-agg:x").contains("too many"));
    assert!(fault("x").contains("not enough"));
    assert_eq!(tsd.ask("sum:all-sum:x", 0, 600), tsd.ask("sum:x", 0, 600));
    let twice = tsd.get("/api/query", &[("start", "1700002800"), ("m", "sum:x"), ("m", "sum:x")]);
    let twice: Value = serde_json::from_slice(&twice.body).unwrap();
    assert_eq!(twice.as_array().unwrap().len(), 1);
}

#[test]
fn rows_16_to_18_names() {
    let tsd = Tsd::start();
    let fault = |m: &str| tsd.refusal("/api/query", &[("start", "1700002800"), ("m", m)], 400);
    for host in ["web01", "WEB01", "a", "b", "c"] {
        tsd.series("x", &format!("h={host}"), &[(0, 1)]);
    }
    // 16
    tsd.expect("mult:x", 0, 9, points! {0 => 1});
    for name in ["raw", "multiply", "SUM"] {
        assert_eq!(fault(&format!("{name}:x")), format!("No such aggregation function: {name}"));
    }
    for downsample in ["1m-none", "1m", "0m-sum", "1m-sum-foo"] {
        fault(&format!("sum:{downsample}:x"));
    }
    // 17
    let hosts = |filter: &str| {
        let answer = tsd.ask(&format!("none:x{{h={filter}}}"), 0, 9);
        let host = |series: &Value| series["tags"]["h"].as_str().unwrap().to_owned();
        let mut hosts: Vec<String> = answer.as_array().unwrap().iter().map(host).collect();
        hosts.sort();
        hosts.join(" ")
    };
    assert_eq!(hosts("web*"), "WEB01 web01");
    assert_eq!(hosts("wildcard(web*)"), "web01");
    assert_eq!(hosts("regexp(eb0)"), "web01");
    assert_eq!(hosts("literal_or(a|b)"), "a b");
    assert_eq!(hosts("a|b"), "a b");
    // 18
    assert_eq!(fault("sum:nosuch"), "No such name for 'metrics': 'nosuch'");
    assert_eq!(fault("sum:x{h=zz}"), "No such name for 'tagv': 'zz'");
    assert_eq!(fault("sum:x{zz=a}"), "No such name for 'tagk': 'zz'");
    assert_eq!(tsd.server.get("/api/v3/query?start=1").status, 501);
    let nothing = tsd.server.get("/api/nosuch");
    assert_eq!((nothing.status, message(&nothing).as_str()), (404, "Endpoint not found"));
    let delete = tsd.server.request("DELETE", "/api/query?start=1&m=sum:x", &[], b"");
    assert_eq!(delete.status, 400);
    assert_eq!(tsd.server.request("OPTIONS", "/api/query", &[], b"").status, 405);
}

/// A and B of the list's part on aggregation.
fn two_series(tsd: &Tsd, metric: &str) {
    tsd.series(metric, "h=a", &[(10, 100), (20, 130), (40, 190)]);
    tsd.series(metric, "h=b", &[(15, 7), (30, 10), (40, 12)]);
}

#[test]
fn rows_19_to_27_aggregation() {
    let tsd = Tsd::start();
    two_series(&tsd, "x");
    let is = |m: &str, points: &[(i64, Value)]| tsd.expect(&format!("{m}:x"), 0, 1800, points);
    // 19
    let a: &[(i64, Value)] = points! {10 => 100, 20 => 130, 40 => 190};
    let b: &[(i64, Value)] = points! {15 => 7, 30 => 10, 40 => 12};
    tsd.expect_all("none:x", 0, 1800, &[a, b]);
    // 20 to 26
    is("sum", points! {10 => 100, 15 => 122, 20 => 138, 30 => 170, 40 => 202});
    is("zimsum", points! {10 => 100, 15 => 7, 20 => 130, 30 => 10, 40 => 202});
    is("pfsum", points! {10 => 100, 15 => 107, 20 => 137, 30 => 140, 40 => 202});
    is("avg", points! {10 => 100, 15 => 61, 20 => 69, 30 => 85, 40 => 101});
    is("min", points! {10 => 100, 15 => 7, 20 => 8, 30 => 10, 40 => 12});
    is("mimmin", points! {10 => 100, 15 => 7, 20 => 130, 30 => 10, 40 => 12});
    is("mimmax", points! {10 => 100, 15 => 7, 20 => 130, 30 => 10, 40 => 190});
    is("count", points! {10 => 1, 15 => 2, 20 => 2, 30 => 2, 40 => 2});
    is("dev", points! {10 => 0, 15 => 54, 20 => 61, 30 => 75, 40 => 89});
    is("diff", points! {10 => 0, 15 => -108, 20 => -122, 30 => -150, 40 => -178});
    is("median", points! {10 => 100, 15 => 115, 20 => 130, 30 => 160, 40 => 190});
    // 27
    tsd.series("f", "h=a", &[(10, "100.0"), (20, "130.0"), (40, "190.0")]);
    tsd.series("f", "h=b", &[(15, 7), (30, 10), (40, 12)]);
    let sums = points! {10 => 100.0, 15 => 122.0, 20 => 138.0, 30 => 170.0, 40 => 202.0};
    tsd.expect("sum:f", 0, 1800, sums);
}

#[test]
fn rows_28_to_32_edges_percentiles_and_tags() {
    let tsd = Tsd::start();
    // 28
    tsd.series("ended", "h=a", &[(10, 100), (20, 130)]);
    tsd.series("ended", "h=b", &[(20, 1), (30, 2), (40, 5)]);
    tsd.expect("sum:ended", 0, 1800, points! {10 => 100, 20 => 131, 30 => 2, 40 => 5});
    // 29
    for (metric, points, sums) in [
        ("up", [(0, 10), (30, 11)], points! {0 => 10, 10 => 10, 20 => 10, 30 => 11}),
        ("down", [(0, 11), (30, 9)], points! {0 => 11, 10 => 11, 20 => 10, 30 => 9}),
    ] as [(&str, [(i64, i64); 2], &[(i64, Value)]); 2]
    {
        tsd.series(metric, "h=a", &points);
        tsd.series(metric, "h=z", &[(10, 0), (20, 0), (30, 0)]);
        tsd.expect(&format!("sum:{metric}"), 0, 1800, sums);
    }
    // 30
    for (metric, values, mean) in [
        ("v1", ["1", "2"], json!(1)),
        ("v2", ["-1", "-2"], json!(-1)),
        ("v3", ["1", "2.0"], json!(1.5)),
    ] {
        tsd.series(metric, "h=a", &[(0, values[0])]);
        tsd.series(metric, "h=b", &[(0, values[1])]);
        tsd.expect(&format!("avg:{metric}"), 0, 9, &[(0, mean)]);
    }
    // 31
    for n in 1..=8 {
        tsd.series("eight", &format!("h={n}"), &[(0, n * 10)]);
        tsd.series("floats", &format!("h={n}"), &[(0, format!("{}.0", n * 10))]);
    }
    for (name, value) in [
        ("p50", 45),
        ("p75", 67),
        ("p90", 80),
        ("p95", 80),
        ("ep50r3", 40),
        ("ep75r3", 60),
        ("ep90r3", 70),
        ("ep50r7", 45),
        ("ep75r7", 62),
        ("ep90r7", 73),
        ("ep95r7", 76),
    ] {
        tsd.expect(&format!("{name}:eight"), 0, 9, &[(0, json!(value))]);
    }
    for name in ["p75", "ep75r3", "ep75r7"] {
        tsd.expect(&format!("{name}:floats"), 0, 9, points! {0 => 67.5});
    }
    // 32
    tsd.series("t1", "h=a dc=x", &[(0, 1)]);
    tsd.series("t1", "h=b dc=x", &[(0, 1)]);
    tsd.series("t2", "h=a dc=x", &[(0, 1)]);
    tsd.series("t2", "h=b", &[(0, 1)]);
    for metric in ["t1", "t2"] {
        let answer = tsd.ask(&format!("sum:{metric}"), 0, 9);
        assert_eq!(answer[0]["tags"], json!({"dc": "x"}));
        assert_eq!(answer[0]["aggregateTags"], json!(["h"]));
    }
    assert_eq!(tsd.dps("sum:t2{h=*}", 0, 9).len(), 2);
    let exact = tsd.ask("sum:explicit_tags:t2{h=*}", 0, 9);
    assert_eq!(exact.as_array().unwrap().len(), 1);
    assert_eq!(exact[0]["tags"], json!({"h": "b"}));
}

#[test]
fn rows_33_to_35_rates() {
    let tsd = Tsd::start();
    // 33
    tsd.series("r", "h=a", &[(0, 100), (10, 150), (20, 250), (30, 50), (40, 90)]);
    let is = |m: &str, points: &[(i64, Value)]| tsd.expect(&format!("{m}:r"), 0, 1800, points);
    is("sum:rate", points! {10 => 5.0, 20 => 10.0, 30 => -20.0, 40 => 4.0});
    is("sum:rate{counter,300}", points! {10 => 5.0, 20 => 10.0, 30 => 10.0, 40 => 4.0});
    is("sum:rate{counter,300,5}", points! {10 => 5.0, 20 => 10.0, 30 => 0.0, 40 => 4.0});
    is("sum:rate{dropcounter}", points! {10 => 5.0, 20 => 10.0, 40 => 4.0});
    let spike = 9.223_372_036_854_775e17;
    is("sum:rate{counter}", points! {10 => 5.0, 20 => 10.0, 30 => spike, 40 => 4.0});
    // 34
    tsd.series("same_hour", "h=a", &[(100, 10), (160, 40)]);
    tsd.expect("sum:rate:same_hour", 150, 1800, points! {160 => 0.5});
    tsd.series("next_hour", "h=a", &[(3590, 10), (3610, 30), (3620, 50)]);
    tsd.expect("sum:rate:next_hour", 3600, 5400, points! {3620 => 2.0});
    // 35: without the first rate that OpenTSDB counts from 1970.
    tsd.series("two", "h=a", &[(0, 100), (10, 150), (20, 250)]);
    tsd.series("two", "h=b", &[(5, 1000), (15, 1020), (25, 1060)]);
    tsd.expect("sum:rate:two", 0, 1800, points! {10 => 5.0, 15 => 7.0, 20 => 12.0, 25 => 4.0});
    tsd.series("one", "h=a", &[(0, 1)]);
    tsd.expect("sum:rate:one", 0, 1800, &[]);
}

#[test]
fn rows_36_to_42_downsampling() {
    let tsd = Tsd::start();
    tsd.series("p", "h=a", &[(0, 1), (30, 2), (60, 3), (100, 4), (130, 5), (190, 6)]);
    let is = |m: &str, from, to, points: &[(i64, Value)]| tsd.expect(m, from, to, points);
    // 36
    is("sum:1m-sum:p", 0, 1800, points! {0 => 3.0, 60 => 7.0, 120 => 5.0, 180 => 6.0});
    is("sum:1m-avg:p", 0, 1800, points! {0 => 1.5, 60 => 3.5, 120 => 5.0, 180 => 6.0});
    is("sum:1m-count:p", 0, 1800, points! {0 => 2.0, 60 => 2.0, 120 => 1.0, 180 => 1.0});
    is("sum:1m-dev:p", 0, 1800, points! {0 => 0.5, 60 => 0.5, 120 => 0.0, 180 => 0.0});
    // 37, 38
    is("sum:1m-sum:p", 30, 1800, points! {60 => 7.0, 120 => 5.0, 180 => 6.0});
    is("sum:1m-sum:p", 0, 60, points! {0 => 3.0, 60 => 7.0});
    // 39
    tsd.series("g", "h=a", &[(0, 1), (120, 3)]);
    is("sum:1m-sum-nan:g", 0, 180, points! {0 => 1.0, 60 => "NaN", 120 => 3.0, 180 => "NaN"});
    is(
        "sum:1m-sum-null:g",
        0,
        180,
        points! {0 => 1.0, 60 => Value::Null, 120 => 3.0, 180 => Value::Null},
    );
    is("sum:1m-sum-zero:g", 0, 180, points! {0 => 1.0, 60 => 0.0, 120 => 3.0, 180 => 0.0});
    is("sum:1m-sum:g", 0, 180, points! {0 => 1.0, 120 => 3.0});
    // 40
    is("sum:0all-sum:p", 30, 130, points! {30 => 9.0});
    is("sum:0all-count:p", 0, 1800, points! {0 => 6.0});
    // 41
    tsd.series("d", "h=a", &[(0, 10), (120, 30)]);
    tsd.series("d", "h=b", &[(60, 5)]);
    is("sum:1m-sum:d", 0, 1800, points! {0 => 10.0, 60 => 25.0, 120 => 30.0});
    is("sum:1m-sum-zero:d", 0, 180, points! {0 => 10.0, 60 => 5.0, 120 => 30.0, 180 => 0.0});
    is("zimsum:1m-sum:d", 0, 1800, points! {0 => 10.0, 60 => 5.0, 120 => 30.0});
    // 42
    is("sum:1m-sum-nan:d", 0, 180, points! {0 => 10.0, 60 => 5.0, 120 => 30.0, 180 => "NaN"});
}

#[test]
fn rows_43_to_45_calendars_and_the_scan_s_edge() {
    let tsd = Tsd::start();
    tsd.series("p", "h=a", &[(0, 1), (30, 2), (60, 3)]);
    // 43
    let week = 1_699_488_000 - H;
    tsd.expect("sum:1w-sum:p", week, 1800, points! {week => 6.0});
    // 44
    for (downsample, zone, bucket) in [
        ("1dc-sum", "Asia/Kolkata", "1699986600"),
        ("1nc-sum", "UTC", "1698796800"),
        ("1d-sum", "UTC", "1699920000"),
    ] {
        let body = json!({"start": 1_698_796_800, "end": H + 1800, "timezone": zone, "queries":
            [{"aggregator": "sum", "metric": "p", "downsample": downsample}]});
        let (_, answer) = tsd.json("POST", "/api/query", &body);
        assert_eq!(answer[0]["dps"], json!({bucket: 6.0}), "{downsample}");
    }
    // 45
    tsd.series("edge", "h=a", &[(3540, 10), (3660, 20)]);
    tsd.series("edge", "h=b", &[(3600, 1)]);
    tsd.expect("sum:edge", 3590, 3600, points! {3600 => 16});
    tsd.expect("sum:edge", 3600, 3600, points! {3600 => 1});
}

#[test]
fn rows_46_to_48_output() {
    let tsd = Tsd::start();
    let lines = [&format!("put ms {H}.100 1 h=a")[..], &format!("put ms {H}.900 2 h=a")];
    assert_eq!(tsd.telnet(&lines), "");
    let ask = |more: &[(&str, &str)]| {
        let all = [&[("start", "1700002800"), ("end", "1700004600"), ("m", "sum:ms")], more];
        tsd.get("/api/query", &all.concat()).text()
    };
    // 46
    assert!(ask(&[]).contains(r#""dps":{"1700002800":1,"1700002800":2}"#));
    assert!(ask(&[("ms", "")]).contains(r#"{"1700002800100":1,"1700002800900":2}"#));
    assert!(ask(&[("arrays", "")]).contains(r#""dps":[[1700002800,1],[1700002800,2]]"#));
    let wrapped = ask(&[("jsonp", "cb")]);
    assert!(wrapped.starts_with("cb([") && wrapped.ends_with("])"), "{wrapped}");
    // 47
    let text = ask(&[("show_tsuids", ""), ("show_query", ""), ("show_summary", "")]);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer[0]["tsuids"], json!(["000001000001000001"]));
    assert_eq!(answer[0]["query"]["index"], 0);
    assert!(answer[1]["statsSummary"].is_object());
    // 48
    tsd.series("sys.b", "h=a", &[(0, 1)]);
    tsd.series("sys.a", "h=a", &[(0, 1)]);
    tsd.series("sys.c", "h=a", &[(0, 1)]);
    let names = tsd.server.get("/api/suggest?type=metrics&q=sys&max=2").text();
    assert_eq!(names, r#"["sys.a","sys.b"]"#);
    assert_eq!(tsd.server.get("/api/suggest?q=sys").status, 400);
    assert_eq!(tsd.server.get("/api/suggest?type=metrics&max=x").status, 400);
}

#[test]
fn row_51_a_second_value_at_one_time() {
    let tsd = Tsd::start();
    tsd.series("same", "h=a", &[(0, 1)]);
    tsd.series("same", "h=a", &[(0, 2)]);
    tsd.expect("sum:same", 0, 9, points! {0 => 2});
    // OpenTSDB fails the query here; the last write counts.
    tsd.series("mixed", "h=a", &[(0, "1")]);
    tsd.series("mixed", "h=a", &[(0, "2.5")]);
    tsd.expect("sum:mixed", 0, 9, points! {0 => 2.5});
}
