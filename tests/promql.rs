//! PromQL through the real binary: what is said beside answers.

use crate::harness::{Scratch, Server};
use serde_json::{Value as Json, json};

const T: i64 = 1_700_000_000_000;

/// Stores samples: what a line of a target's text says, from [`T`] on, one a minute.
fn store(server: &Server, series: &[(&str, &[f64])]) {
    let mut text = String::new();
    for (name, values) in series {
        for (minute, value) in values.iter().enumerate() {
            text += &format!("{name} {value} {}\n", T + minute as i64 * 60_000);
        }
    }
    let path = "/api/v1/import/prometheus";
    let answer = server.request("POST", path, &[], text.as_bytes());
    assert_eq!(answer.status, 204, "{}", answer.text());
}

fn asked(server: &Server, path: &str, span: &str, query: &str) -> Json {
    let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let path = format!("/prometheus/api/v1/{path}?{span}&query={query}");
    serde_json::from_slice(&server.get(&path).body).unwrap()
}

fn at_minute(minute: i64) -> String {
    format!("time={}", T / 1000 + minute * 60)
}

/// What is said of a question at the fifth minute.
fn said(server: &Server, query: &str) -> (Json, Json) {
    let answer = asked(server, "query", &at_minute(5), query);
    assert_eq!(answer["status"], "success", "{query}: {answer}");
    (answer["warnings"].clone(), answer["infos"].clone())
}

#[test]
fn what_may_be_meant_otherwise_is_said_beside_the_answer() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let rising: &[f64] = &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    store(
        &server,
        &[
            ("requests", rising),
            ("requests_total", rising),
            ("seconds_bucket{le=\"1\"}", &[5.0; 6]),
            ("seconds_bucket{le=\"2\"}", &[4.5; 6]),
            ("seconds_bucket{le=\"+Inf\"}", &[10.0; 6]),
            ("odd_bucket{le=\"Hello World\"}", &[1.0; 6]),
            ("odd_bucket", &[1.0; 6]),
        ],
    );
    let counter = |place: &str| {
        let what = "metric might not be a counter, name does not end in _total/_sum/_count/_bucket";
        json!([format!("PromQL info: {what}: \"requests\" ({place})")])
    };
    let share = |share: &str, place: &str| {
        json!([format!(
            "PromQL warning: quantile value should be between 0 and 1, got {share} ({place})"
        )])
    };
    let none = Json::Null;
    for (query, warnings, infos) in [
        // Counters are told by their names.
        ("rate(requests_total[5m])", none.clone(), none.clone()),
        ("rate(requests[5m])", none.clone(), counter("1:6")),
        ("sum(increase((requests[5m])))", none.clone(), counter("1:15")),
        ("# Why?\n  rate(requests[5m:1m])", none.clone(), counter("2:8")),
        ("delta(requests[5m]) + irate(requests[5m])", none.clone(), none.clone()),
        // What has lost its name, or no values, says nothing.
        ("rate(sum(requests)[5m:1m])", none.clone(), none.clone()),
        ("rate(requests[30s])", none.clone(), none.clone()),
        // What is said twice is said once, of the last place.
        ("rate(requests[5m]) + rate(requests[4m])", none.clone(), counter("1:27")),
        // Quantiles.
        ("quantile(1.1, requests)", share("1.1", "1:10"), none.clone()),
        ("quantile(0.5, requests) + quantile(1, requests)", none.clone(), none.clone()),
        ("quantile by (job) ((0 - 1e7), requests)", share("-1e+07", "1:21"), none.clone()),
        ("quantile(NaN, nothing)", share("NaN", "1:10"), none.clone()),
        ("scalar(quantile(Inf, requests))", share("+Inf", "1:17"), none.clone()),
        ("quantile_over_time(-0.5, requests[5m])", share("-0.5", "1:20"), none.clone()),
        ("quantile_over_time(2, nothing[5m])", none.clone(), none.clone()),
        ("histogram_quantile(2, nothing)", share("2", "1:20"), none.clone()),
        // Histograms that are none.
        (
            "histogram_quantile(0.5, odd_bucket)",
            json!([
                "PromQL warning: bucket label \"le\" is missing or has a malformed value of \"\" (1:25)",
                "PromQL warning: bucket label \"le\" is missing or has a malformed value of \"Hello World\" (1:25)",
            ]),
            none.clone(),
        ),
        (
            "histogram_quantile(0.5, seconds_bucket)",
            none.clone(),
            json!([
                "PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see \
                    https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile), \
                    from buckets 2 to 2, with a max diff of 0.5, over 1 samples from \
                    2023-11-14T22:18:20Z to 2023-11-14T22:18:20Z (1:25)"
            ]),
        ),
        ("sort(requests)", none.clone(), none.clone()),
    ] {
        assert_eq!(said(&server, query), (warnings, infos), "{query}");
    }
}

#[test]
fn over_ranges_it_is_said_once() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    store(
        &server,
        &[
            ("a_bucket{le=\"1\"}", &[5.0, 5.0, 9.0]),
            ("a_bucket{le=\"+Inf\"}", &[4.0, 6.0, 5.0]),
            ("b", &[2.0; 3]),
            ("a", &[3.0; 3]),
        ],
    );
    let seconds = T / 1000;
    let span = format!("start={seconds}&end={}&step=60", seconds + 120);
    let answer = asked(&server, "query_range", &span, "histogram_quantile(0.5, a_bucket)");
    let infos = answer["infos"].as_array().unwrap();
    let wanted = "from buckets +Inf to +Inf, with a max diff of 4, over 2 samples from \
                  2023-11-14T22:13:20Z to 2023-11-14T22:15:20Z (1:25)";
    assert!(infos.len() == 1 && infos[0].as_str().unwrap().ends_with(wanted), "{answer}");
    // A share that changes is said by its ends.
    let query = format!("quantile((time() - {}) / 60, b)", seconds + 60);
    let answer = asked(&server, "query_range", &span, &query);
    let share = "PromQL warning: quantile value should be between 0 and 1, got -1 (1:10)";
    assert_eq!(answer["warnings"], json!([share]));
    // Series have the order of their labels, whatever is asked.
    let query = "sort({__name__=~'a|b'})";
    let answer = asked(&server, "query_range", &span, query);
    let sort = "PromQL warning: sort is ineffective for range queries since results are always \
                ordered by labels (1:1)";
    assert_eq!(answer["warnings"], json!([sort]));
    let names = answer["data"]["result"].as_array().unwrap().iter();
    assert_eq!(names.map(|of| &of["metric"]["__name__"]).collect::<Vec<_>>(), ["a", "b"]);
    // Beside what a limit keeps away.
    let answer = asked(&server, "query_range", &format!("{span}&limit=1"), query);
    assert_eq!(answer["warnings"], json!(["results truncated due to limit", sort]));
    assert_eq!(answer["infos"], Json::Null);
}

/// The values of an answer, series by series.
fn values(answer: &Json) -> Vec<Vec<(i64, String)>> {
    assert_eq!(answer["status"], "success", "{answer}");
    let rows = answer["data"]["result"].as_array().unwrap();
    let point = |point: &Json| {
        let minute = (point[0].as_i64().unwrap() - T / 1000) / 60;
        (minute, point[1].as_str().unwrap().to_owned())
    };
    rows.iter().map(|row| row["values"].as_array().unwrap().iter().map(point).collect()).collect()
}

#[test]
fn groups_are_of_series_that_can_be_told_apart() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let mut text = String::new();
    for (name, minutes) in [("early", 0..3), ("late", 6..9), ("beside", 0..9)] {
        for minute in minutes {
            let at_ms = T + minute * 60_000;
            text += &format!("{name}{{h=\"1\"}} {} {at_ms}\n", minute + 1);
            text += &format!("{name}{{h=\"2\"}} {} {at_ms}\n", 10 * (minute + 1));
        }
    }
    let answer = server.request("POST", "/api/v1/import/prometheus", &[], text.as_bytes());
    assert_eq!(answer.status, 204);
    let span = format!("start={}&end={}&step=60", T / 1000, T / 1000 + 480);
    let ask = |query: &str| asked(&server, "query_range", &span, query);
    let point = |minute: i64, value: &str| (minute, value.to_owned());
    // What follows another is the same series, once its name is gone.
    let sums = [(0, "11"), (1, "22"), (2, "33"), (6, "77"), (7, "88"), (8, "99")];
    let sums: Vec<_> = sums.map(|(minute, value)| point(minute, value)).into();
    let query = "sum(sum_over_time({__name__=~\"early|late\"}[1m]))";
    assert_eq!(values(&ask(query)), [sums]);
    let counts = values(&ask("count by (h) (max_over_time({__name__=~\"early|late\"}[1m]))"));
    assert_eq!(counts.len(), 2);
    assert!(counts.iter().all(|row| row.len() == 6 && row.iter().all(|(_, value)| value == "1")));
    // What lies beside it is not.
    for query in ["sum(rate({__name__=~\"early|beside\"}[5m]))", "rate({h=\"1\"}[5m])"] {
        let error = ask(query)["error"].to_string();
        assert!(error.contains("the same labelset"), "{query}: {error}");
    }
    // Of series with their names each is one.
    let newest = values(&ask("sum(last_over_time({__name__=~\"early|beside\"}[1m]))"));
    assert_eq!(newest[0][..4], [point(0, "22"), point(1, "44"), point(2, "66"), point(3, "44")]);
}

#[test]
fn a_group_is_not_held_series_by_series() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.query_memory_bytes=1MiB"]);
    for from in (0..400).step_by(50) {
        let mut text = String::new();
        for series in from..from + 50 {
            for minute in 0..400i64 {
                let at_ms = T + minute * 60_000;
                text += &format!("many_total{{h=\"{series}\"}} {} {at_ms}\n", minute * series);
            }
        }
        let answer = server.request("POST", "/api/v1/import/prometheus", &[], text.as_bytes());
        assert_eq!(answer.status, 204);
    }
    let span = format!("start={}&end={}&step=60", T / 1000 + 60, T / 1000 + 399 * 60);
    // 400 series of 399 values are 1.3 MB, and their sum is 16 bytes an instant.
    let error = asked(&server, "query_range", &span, "rate(many_total[2m])")["error"].to_string();
    assert!(error.contains("limits.query_memory_bytes"), "{error}");
    let all = asked(&server, "query_range", &span, "sum(increase(many_total[3m])) / 3");
    let grown = (0..400).sum::<i64>().to_string();
    let [row] = &values(&all)[..] else { panic!("{all}") };
    assert_eq!(row[3..].iter().filter(|(_, value)| *value != grown).count(), 0, "{:?}", &row[..9]);
}

#[test]
fn values_are_counted_before_labels_go_away() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let series: [(&str, &[f64]); 3] = [
        ("c{i=\"1\",h=\"a\"}", &[7.0]),
        ("c{i=\"2\",h=\"a\"}", &[7.0]),
        ("c{i=\"3\",h=\"a\"}", &[9.0]),
    ];
    store(&server, &series);
    // As Prometheus has it: the label of values is set before `without` takes it away.
    for (query, wanted) in [
        ("count_values without (i) (\"i\", c)", json!([[{"h": "a"}, "3"]])),
        ("count_values without (h) (\"i\", c)", json!([[{"i": "7"}, "2"], [{"i": "9"}, "1"]])),
        ("count_values by (h) (\"h\", c)", json!([[{"h": "7"}, "2"], [{"h": "9"}, "1"]])),
        ("count_values(\"v\", c)", json!([[{"v": "7"}, "2"], [{"v": "9"}, "1"]])),
    ] {
        let answer = asked(&server, "query", &at_minute(0), query);
        let rows = answer["data"]["result"].as_array().unwrap().iter();
        let mut rows: Vec<Json> = rows.map(|row| json!([row["metric"], row["value"][1]])).collect();
        rows.sort_by_key(ToString::to_string);
        assert_eq!(Json::from(rows), wanted, "{query}");
    }
}

#[test]
fn lengths_of_time_are_as_long_as_go_counts_nanoseconds() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    store(&server, &[("m", &[1.0, 2.0, 3.0])]);
    for (query, wanted) in [
        ("sum_over_time(m[292y])", Some("6")),
        ("sum_over_time(m[292y] offset -292y)", Some("6")),
        ("sum_over_time(m[292y] @ 9e9)", Some("6")),
        ("sum_over_time(m[292y] @ 9223372036 offset -292y)", Some("6")),
        ("sum_over_time(m[292y] offset 292y)", None),
        ("sum_over_time(m[292y] @ -9e9 offset 292y)", None),
        ("m offset 292y", None),
        ("m offset -292y", None),
        ("m @ -9223372036 offset 292y", None),
        ("m offset 9223372036", None),
        ("count_over_time(vector(1)[292y:1y])", Some("292")),
        ("count_over_time(vector(1)[292y:292y] offset 292y)", Some("1")),
        // Further back than times go.
        ("max_over_time(count_over_time(vector(1)[200y:1y])[200y:1y])", Some("200")),
        ("max_over_time(max_over_time(m[292y:292y] offset 292y)[292y:292y] offset 292y)", None),
        ("max_over_time(max_over_time(m[292y:292y] offset -292y)[292y:292y] offset -292y)", None),
    ] {
        let answer = asked(&server, "query", &at_minute(2), query);
        let value = answer["data"]["result"][0]["value"][1].as_str();
        assert_eq!((&answer["status"], value), (&json!("success"), wanted), "{query}: {answer}");
    }
    let all = "start=-9223372036&end=9223372036&step=1y";
    let answer = asked(&server, "query_range", all, "time()");
    let values = answer["data"]["result"][0]["values"].as_array().unwrap();
    assert_eq!(values.len(), 585, "{answer}");
    assert_eq!(values[584], json!([9_193_651_964_i64, "9193651964"]));
    assert_eq!(values[0], json!([-9_223_372_036_i64, "-9223372036"]));
    for query in ["m[293y]", "m offset 293y", "m offset -9223372037", "m[1y:293y]"] {
        let answer = asked(&server, "query", &at_minute(2), query);
        let error = answer["error"].as_str().unwrap();
        assert!(error.ends_with("duration out of range"), "{query}: {answer}");
    }
    server.stop();
}

/// One expression, which means one thing to Go and another to Java.
#[test]
fn expressions_mean_what_they_mean_in_the_language_of_their_door() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let lines = "m,h=a& v=1 1700000000\nm,h=b] v=2 1700000000\nm,h=b v=3 1700000000\n";
    let answer = server.request("POST", "/write?db=default&precision=s", &[], lines.as_bytes());
    assert_eq!(answer.status, 204, "{}", answer.text());
    let expression = "[a-c&&[^a]]";
    let of_go = asked(&server, "query", &at_minute(1), &format!("m_v{{h=~\"{expression}\"}}"));
    let found = of_go["data"]["result"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{of_go}");
    assert_eq!(found[0]["metric"]["h"], "b]");
    let body = json!({"start": 1_699_999_000, "queries": [{"aggregator": "none", "metric": "m.v",
        "filters": [{"type": "regexp", "tagk": "h", "filter": format!("^{expression}$")}]}]});
    let of_java = server.request("POST", "/api/query", &[], body.to_string().as_bytes());
    let of_java: Json = serde_json::from_slice(&of_java.body).unwrap();
    assert_eq!(of_java[0]["tags"]["h"], "b", "{of_java}");
    assert_eq!(of_java.as_array().unwrap().len(), 1);
    server.stop();
}

/// Each state of an expression has a place of each group while it is matched: thousands of groups
/// once took gigabytes.
#[test]
fn an_expression_with_too_many_groups_for_its_size_is_refused() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let long = "a".repeat(3_000);
    store(&server, &[(&format!("m{{l=\"{long}\"}}"), &[1.0])]);
    let ask = |groups: &str| {
        let query = format!("label_replace(m, \"d\", \"$1\", \"l\", \"{groups}.*\")");
        let body = format!("query={query}&{}", at_minute(0)).replace('+', "%2B");
        let answer = server.request("POST", "/prometheus/api/v1/query", FORM, body.as_bytes());
        (answer.status, answer.text())
    };
    let before = server.resident_bytes();
    for many in ["()".repeat(2_000), "(a?)".repeat(2_500), "(.*)".repeat(1_000)] {
        let (status, text) = ask(&many);
        assert!(status == 422 && text.contains("too many for its size"), "{status} {text:.300}");
    }
    assert_eq!(ask(&"(a?)".repeat(50)).0, 200);
    let grown = server.resident_bytes().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown}");
    server.stop();
}

const FORM: &[(&str, &str)] = &[("Content-Type", "application/x-www-form-urlencoded")];
