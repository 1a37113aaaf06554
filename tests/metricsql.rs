//! MetricsQL through the real binary: expected values are calculated by hand from
//! VictoriaMetrics' rules.

use crate::harness;
use crate::harness::{Scratch, Server, read_response, request};
use serde_json::Value as Json;
use std::io::{BufReader, Write};

const T: i64 = 1_700_000_000;

/// A counter of each kind every ten seconds: `a` grows by ten, `b` by five and begins anew after a
/// minute.
fn server(dir: &Scratch) -> Server {
    let server = Server::start(dir.path(), &[]);
    let mut text = String::new();
    for step in 0..12 {
        let at_ms = (T + step * 10) * 1000;
        text += &format!("c{{job=\"a\"}} {} {at_ms}\n", step * 10);
        text += &format!("c{{job=\"b\"}} {} {at_ms}\n", step % 6 * 5);
    }
    let answer = server.request("POST", "/api/v1/import/prometheus", &[], text.as_bytes());
    assert_eq!(answer.status, 204, "{}", answer.text());
    server
}

fn asked(server: &Server, path: &str, span: &str, query: &str) -> Json {
    let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let path = format!("{path}?{span}&query={query}");
    serde_json::from_slice(&server.get(&path).body).unwrap()
}

/// What an answer at the time of the last sample has, each series as its labels and its value.
fn at_end(server: &Server, query: &str) -> Vec<String> {
    let span = format!("time={}&step=30", T + 110);
    let answer = asked(server, "/victoriametrics/api/v1/query", &span, query);
    let rows = answer["data"]["result"].as_array();
    let rows = rows.unwrap_or_else(|| panic!("{query}: {answer}"));
    let row = |row: &Json| format!("{} {}", row["metric"], row["value"][1].as_str().unwrap());
    let mut rows: Vec<String> = rows.iter().map(row).collect();
    rows.sort();
    rows
}

#[test]
fn answers_are_those_of_victoriametrics() {
    let dir = Scratch::new();
    let server = server(&dir);
    for (query, wanted) in [
        // As long as a step, from the sample before it on.
        (r#"rate(c{job="a"})"#, &[r#"{"job":"a"} 1"#][..]),
        (r#"rate(c{job="a"}) keep_metric_names"#, &[r#"{"__name__":"c","job":"a"} 1"#]),
        // From 25 before to 25 again, with a fall of 25 between; nothing is extrapolated.
        (r#"increase(c{job="b"}[1m])"#, &[r#"{"job":"b"} 25"#]),
        (r#"increase_pure(c{job="b"}[1m])"#, &[r#"{"job":"b"} 25"#]),
        (r#"delta(c{job="a"}[1i])"#, &[r#"{"job":"a"} 30"#]),
        (r#"count_gt_over_time(c{job="a"}[30s], 95)"#, &[r#"{"job":"a"} 2"#]),
        (r#"share_le_over_time(c{job="a"}[0.5m], 90)"#, &[r#"{"job":"a"} 0.3333333333333333"#]),
        (r#"lag(c{job="a"} offset -5s)"#, &[r#"{"job":"a"} 5"#]),
        (r#"scrape_interval(c{job="b",})"#, &[r#"{"job":"b"} 10"#]),
        (
            r#"rollup(c{job="a"}[30s])"#,
            &[
                r#"{"__name__":"c","job":"a","rollup":"avg"} 100"#,
                r#"{"__name__":"c","job":"a","rollup":"max"} 110"#,
                r#"{"__name__":"c","job":"a","rollup":"min"} 90"#,
            ],
        ),
        // What is one series without labels stands for any.
        (r#"c{job="x"} default 7"#, &["{} 7"]),
        (r#"c / sum(c) if (c > 100)"#, &[r#"{"job":"a"} 0.8148148148148148"#]),
        (r#"c ifnot (c > 100)"#, &[r#"{"__name__":"c","job":"b"} 25"#]),
        (r#"label_set(sum(c), "x", "y" + "z")"#, &[r#"{"x":"yz"} 135"#]),
        (r#"label_del(alias(c{job="a"}, "d"), "job")"#, &[r#"{"__name__":"d"} 110"#]),
        (r#"count(c{job="a" or job="b"})"#, &["{} 2"]),
        (r#"count(({job="a"}, {job="a"}, c))"#, &["{} 2"]),
        (r#"topk_max(1, c)"#, &[r#"{"__name__":"c","job":"a"} 110"#]),
        (r#"median(c)"#, &["{} 67.5"]),
        (r#"WITH (f(x) = x * 2Ki, y = {job="a"}) f(1) + count(c{y})"#, &["{} 2049"]),
        (r#"step() + 1.5m"#, &["{} 120"]),
    ] {
        assert_eq!(at_end(&server, query), wanted, "{query}");
    }
    let span = format!("start={}&end={}&step=10", T, T + 20);
    let path = "/victoriametrics/api/v1/query_range";
    let answer = asked(&server, path, &span, r#"running_sum(c{job="a"})"#);
    let values = answer["data"]["result"][0]["values"].as_array().unwrap();
    let values: Vec<&str> = values.iter().map(|pair| pair[1].as_str().unwrap()).collect();
    assert_eq!(values, ["0", "10", "30"]);
}

/// Samples of the range only; what counters lost is added on, and seconds are those of the range.
#[test]
fn functions_that_are_prometheus_do_not_look_before_their_range() {
    let dir = Scratch::new();
    let server = server(&dir);
    for (query, wanted) in [
        // 20, then 25, 0, 5, 10, 15, 20, 25.
        (r#"delta_prometheus(c{job="b"}[80s])"#, &[r#"{"job":"b"} 5"#][..]),
        (r#"increase_prometheus(c{job="b"}[80s])"#, &[r#"{"job":"b"} 30"#]),
        (r#"rate_prometheus(c{job="b"}[80s])"#, &[r#"{"job":"b"} 0.375"#]),
        (r#"rate_prometheus(c{job="a"}[40s])"#, &[r#"{"job":"a"} 0.75"#]),
        (
            r#"rate_prometheus(c{job="a"}[40s]) keep_metric_names"#,
            &[r#"{"__name__":"c","job":"a"} 0.75"#],
        ),
        (r#"changes_prometheus(c{job="b"}[50s])"#, &[r#"{"job":"b"} 4"#]),
        (r#"changes(c{job="b"}[50s])"#, &[r#"{"job":"b"} 5"#]),
        // One sample changes nothing, and has no rate.
        (r#"changes_prometheus(c{job="a"}[10s])"#, &[r#"{"job":"a"} 0"#]),
        (r#"rate_prometheus(c{job="a"}[10s])"#, &[]),
    ] {
        assert_eq!(at_end(&server, query), wanted, "{query}");
    }
    server.stop();
}

#[test]
fn promql_stays_what_it_is_and_what_is_too_much_is_refused() {
    let dir = Scratch::new();
    let server = server(&dir);
    let span = format!("time={}", T + 110);
    let refused = |path: &str, query: &str| {
        let answer = asked(&server, path, &span, query);
        assert_eq!(answer["status"], "error", "{query}: {answer}");
        answer["error"].as_str().unwrap().to_owned()
    };
    for query in ["c default 1", "rate(c)", "label_set(c, \"a\", \"b\")", "1Ki"] {
        refused("/prometheus/api/v1/query", query);
    }
    let path = "/victoriametrics/api/v1/query";
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(refused(path, &deep).contains("nested more than 100 deep"));
    // Each template stands for twice as much as the one before.
    let doubled: Vec<String> = (1..40).map(|at| format!("a{at} = (a{0}, a{0})", at - 1)).collect();
    let wide = format!("WITH (a0 = 1, {}) a39", doubled.join(", "));
    assert!(refused(path, &wide).contains("more than 10000 parts"));
    assert!(refused(path, "label_set(c, 1)").contains("takes strings"));
    assert!(refused(path, r#"label_del(c, "job")"#).contains("duplicate output timeseries"));
    assert!(refused(path, "nosuch(c)").contains("unknown function"));
}

/// A sample of now is found by times that are told by how long ago they were, as VictoriaMetrics
/// takes them; Prometheus does not.
#[test]
fn times_are_told_by_how_long_ago_they_were() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-victoriametrics", "127.0.0.1:0"]);
    assert_eq!(server.post("/api/v1/import/prometheus", "m 7\n").status, 204);
    let welcome = server.welcome.clone();
    let line = welcome.lines().find(|line| line.contains("VictoriaMetrics")).unwrap();
    let address = line.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    let there = |path: &str| {
        let mut socket = std::net::TcpStream::connect::<std::net::SocketAddr>(address).unwrap();
        socket.set_read_timeout(Some(harness::PATIENCE)).unwrap();
        socket.write_all(&request("GET", path, &[], b"")).unwrap();
        read_response(&mut BufReader::new(socket)).unwrap()
    };
    for (span, is_found) in [
        ("start=-1h", true),
        ("start=now-1h&end=now", true),
        ("start=1h&end=-0s", true),
        ("start=-2h&end=-1h", false),
    ] {
        let export = format!("/api/v1/export?match[]=m&{span}");
        assert_eq!(server.get(&export).text().contains("[7]"), is_found, "{span}");
        assert_eq!(there(&export).text().contains("[7]"), is_found, "{span}");
        let range = format!("/api/v1/query_range?query=m&step=60&{span}");
        let here = server.get(&format!("/victoriametrics{range}")).text();
        assert_eq!(here.contains("\"7\""), is_found, "{span}: {here}");
        assert_eq!(there(&range).text().contains("\"7\""), is_found, "{span}");
        let series = format!("/api/v1/series?match[]=m&{span}");
        assert_eq!(there(&series).status, 200, "{span}");
        let refused = server.get(&format!("/prometheus{series}"));
        assert_eq!(refused.status, 400, "{span}: {}", refused.text());
    }
    assert!(there("/api/v1/query?query=m&time=-1s").text().contains("success"));
    assert_eq!(there("/api/v1/query?query=m&time=-1x").status, 400);
    server.stop();
}

#[test]
fn queries_tell_of_themselves() {
    let dir = Scratch::new();
    let server = server(&dir);
    let read = |path: &str| -> Json { serde_json::from_slice(&server.get(path).body).unwrap() };
    let active = read("/victoriametrics/api/v1/status/active_queries");
    assert_eq!((&active["status"], active["data"].is_array()), (&"ok".into(), true));
    let top = read("/victoriametrics/api/v1/status/top_queries?topN=1");
    // Questions that are over before they could be listed are not counted.
    for list in ["topByCount", "topByAvgDuration", "topBySumDuration"] {
        assert!(top[list].as_array().is_some_and(|list| list.len() <= 1), "{top}");
    }
    assert_eq!(top["topN"], "1");
    assert_eq!(server.get("/victoriametrics/api/v1/status/top_queries?topN=x").status, 400);
    // A delete is listed and can be ended as questions are, and is none.
    let doomed = r#"{"metric":"gone"}"#;
    assert_eq!(server.post("/api/foliot/v1/delete", doomed).status, 200);
    assert!(read("/api/foliot/v1/queries/costs").to_string().contains("gone"));
    let top = read("/victoriametrics/api/v1/status/top_queries");
    assert!(!top.to_string().contains("gone"), "{top}");
    assert_eq!(server.get("/victoriametrics/internal/force_flush").status, 200);
}

/// The values at the end are 110 and 25. Ranges end at powers of the 18th root of ten.
#[test]
fn values_are_counted_by_ranges_and_by_themselves() {
    let dir = Scratch::new();
    let server = server(&dir);
    let pair = |text: &str, count: u64| format!("{{{text}}} {count}");
    let le = |bound: &str, count| pair(&format!("\"le\":\"{bound}\""), count);
    let of_both = [
        le("+Inf", 2),
        le("1.000e+02", 1),
        le("1.136e+02", 2),
        le("2.448e+01", 0),
        le("2.783e+01", 1),
    ];
    assert_eq!(at_end(&server, "histogram(c)"), of_both);
    let of_b = |bound: &str, count| pair(&format!("\"job\":\"b\",\"le\":\"{bound}\""), count);
    assert_eq!(
        at_end(&server, r#"histogram(c{job="b"}) by (job)"#),
        [of_b("+Inf", 1), of_b("2.448e+01", 0), of_b("2.783e+01", 1)]
    );
    // Half of two lie up to the end of the lower range.
    let found = at_end(&server, "histogram_quantile(0.5, histogram(c))");
    assert_eq!(found, ["{} 27.83"]);
    let range = |range: &str, count| pair(&format!("\"job\":\"a\",\"vmrange\":\"{range}\""), count);
    // 90, 100 and 110.
    assert_eq!(
        at_end(&server, r#"histogram_over_time(c{job="a"}[30s])"#),
        [range("1.000e+02...1.136e+02", 1), range("8.799e+01...1.000e+02", 2)]
    );
    assert_eq!(at_end(&server, r#"histogram_over_time((c - 200)[30s:10s])"#), [""; 0]);
    let value = |value: u64| pair(&format!("\"job\":\"b\",\"v\":\"{value}\""), 2);
    assert_eq!(
        at_end(&server, r#"count_values_over_time("v", c{job="b"}[2m])"#),
        [value(0), value(10), value(15), value(20), value(25), value(5)]
    );
    let answer = |query: &str| {
        let span = format!("time={}", T + 110);
        asked(&server, "/victoriametrics/api/v1/query", &span, query)
    };
    for (query, word) in [
        ("histogram(c) limit 1", "takes no limit"),
        ("histogram_fraction(4, 2, c)", "a value and a larger one"),
        ("buckets_limit(0, c)", "takes a number above 0"),
        ("histogram_quantile(0.5, c, 'a', 'b')", "wrong arguments"),
        ("count_values_over_time('', c)", "wrong arguments"),
        ("aggr_over_time('histogram_over_time', c)", "unknown function"),
    ] {
        let answer = answer(query);
        assert!(answer["error"].as_str().is_some_and(|told| told.contains(word)), "{answer}");
    }
    let refused =
        asked(&server, "/prometheus/api/v1/query", &format!("time={}", T + 110), "histogram(c)");
    assert_eq!(refused["status"], "error");
}

/// Observations within ranges, as VictoriaMetrics' libraries count them: 10 from 1 to 2, 30 from 2
/// to 4, and 10 from 8 to 16.
#[test]
fn ranges_of_victoriametrics_become_bounds() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let at_ms = (T + 110) * 1000;
    let buckets = [("1.000e+00...2.000e+00", 10), ("2.000e+00...4.000e+00", 30)];
    let others = [("4.000e+00...8.000e+00", 0), ("8.000e+00...1.600e+01", 10)];
    let mut text = String::new();
    for (range, count) in buckets.into_iter().chain(others) {
        text += &format!("w_bucket{{job=\"a\",vmrange=\"{range}\"}} {count} {at_ms}\n");
    }
    text += &format!("w_bucket{{job=\"b\",le=\"4\"}} 3 {at_ms}\n");
    text += &format!("w_bucket{{job=\"b\",le=\"+Inf\"}} 4 {at_ms}\nnone{{vmrange=\"x\"}} 1\n");
    let answer = server.request("POST", "/api/v1/import/prometheus", &[], text.as_bytes());
    assert_eq!(answer.status, 204, "{}", answer.text());
    let bucket = |le: &str, count: u64| {
        format!(r#"{{"__name__":"w_bucket","job":"a","le":"{le}"}} {count}"#)
    };
    let of_a = [
        bucket("+Inf", 50),
        bucket("1.000e+00", 0),
        bucket("1.600e+01", 50),
        bucket("2.000e+00", 10),
        bucket("4.000e+00", 40),
        bucket("8.000e+00", 40),
    ];
    assert_eq!(at_end(&server, r#"prometheus_buckets(w_bucket{job="a"})"#), of_a);
    assert_eq!(at_end(&server, "prometheus_buckets(none)"), [""; 0]);
    // Empty buckets at the ends go first, and then the one that is lightest with the next.
    let three = [bucket("1.600e+01", 50), bucket("2.000e+00", 10), bucket("8.000e+00", 40)];
    assert_eq!(at_end(&server, r#"buckets_limit(1, w_bucket{job="a"})"#), three);
    assert_eq!(at_end(&server, r#"buckets_limit(6, w_bucket{job="a"})"#), of_a);
    for (query, wanted) in [
        // The 25th of 50 is 15 of 30 behind 2.
        (
            "histogram_quantile(0.5, w_bucket)",
            &[r#"{"job":"a"} 3"#, r#"{"job":"b"} 2.6666666666666665"#][..],
        ),
        ("histogram_quantile(1, w_bucket{job='a'})", &[r#"{"job":"a"} 16"#]),
        (
            "histogram_quantiles('phi', 0.2, 0.9, w_bucket{job='a'})",
            &[r#"{"job":"a","phi":"0.2"} 2"#, r#"{"job":"a","phi":"0.9"} 12"#],
        ),
        ("histogram_share(3, w_bucket)", &[r#"{"job":"a"} 0.5"#, r#"{"job":"b"} 0.5625"#]),
        ("histogram_share(20, w_bucket{job='a'})", &[r#"{"job":"a"} 1"#]),
        // 10 at 1.5, 30 at 3, 10 at 12.
        ("histogram_avg(w_bucket{job='a'})", &[r#"{"job":"a"} 4.5"#]),
        ("histogram_stdvar(w_bucket{job='a'})", &[r#"{"job":"a"} 14.4"#]),
        ("histogram_stddev(w_bucket{job='b'})", &[r#"{"job":"b"} 0"#]),
        // Between the bounds of the bucket, and its share of all counts.
        (
            "histogram_quantile(0.5, w_bucket{job='a'}, 'b')",
            &[r#"{"b":"lower","job":"a"} 2"#, r#"{"b":"upper","job":"a"} 4"#, r#"{"job":"a"} 3"#],
        ),
        (
            "histogram_share(3, w_bucket{job='a'}, 'b')",
            &[
                r#"{"b":"lower","job":"a"} 0.2"#,
                r#"{"b":"upper","job":"a"} 0.8"#,
                r#"{"job":"a"} 0.5"#,
            ],
        ),
        ("histogram_fraction(2, 4, w_bucket{job='a'})", &[r#"{"job":"a"} 0.6"#]),
    ] {
        let found = at_end(&server, query);
        let is_near = |(found, wanted): (&String, &&str)| {
            let split = |text: &str| {
                let (labels, value) = text.rsplit_once(' ').unwrap();
                (labels.to_owned(), value.parse::<f64>().unwrap())
            };
            let ((a, x), (b, y)) = (split(found), split(wanted));
            a == b && (x - y).abs() < 1e-9
        };
        let is_same = found.len() == wanted.len() && found.iter().zip(wanted).all(is_near);
        assert!(is_same, "{query}: {found:?}");
    }
}
