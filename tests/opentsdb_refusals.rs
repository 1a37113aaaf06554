//! Bad input to OpenTSDB's door, each with the exact answer that it gets.

use crate::opentsdb::{H, Tsd, escape, message};
use serde_json::{Value, json};

#[test]
fn telnet_lines() {
    let tsd = Tsd::start();
    for (line, answer) in [
        ("put", "put: illegal argument: not enough arguments (need least 4, got 0)"),
        ("put m", "put: illegal argument: not enough arguments (need least 4, got 1)"),
        ("put m 1", "put: illegal argument: not enough arguments (need least 4, got 2)"),
        ("put m 1 2", "put: illegal argument: not enough arguments (need least 4, got 3)"),
        ("put  1 2 h=a", "put: illegal argument: empty metric name"),
        ("put m x 2 h=a", "put: invalid value: Invalid character 'x' in x"),
        ("put m 0 2 h=a", "put: illegal argument: invalid timestamp: 0"),
        ("put m -1 2 h=a", "put: illegal argument: invalid timestamp: -1"),
        (
            "put m 10000000000000 2 h=a",
            "put: illegal argument: bad timestamp=10000000000000: more than thirteen digits",
        ),
        ("put m 1 h=a h=a", "put: invalid value: Invalid character 'h' in h=a"),
        ("put m 1  h=a", "put: illegal argument: empty value"),
        ("put m 1 NaN h=a", "put: invalid value: Invalid character 'N' in NaN"),
        ("put m 1 0x1 h=a", "put: invalid value: Invalid character 'x' in 0x1"),
        ("put m 1 1.2.3 h=a", "put: invalid value: For input string: \"1.2.3\""),
        ("put m 1 9223372036854775808 h=a", "put: invalid value: Overflow in 9223372036854775808"),
        (
            "put m 1 -1e400 h=a",
            "put: illegal argument: value is NaN or Infinite: -Infinity for metric=m timestamp=1",
        ),
        ("put m 1 2 h", "put: illegal argument: invalid tag: h"),
        ("put m 1 2 h=", "put: illegal argument: invalid tag: h="),
        ("put m 1 2 =a", "put: illegal argument: invalid tag: =a"),
        ("put m 1 2 h=a=b", "put: illegal argument: invalid tag: h=a=b"),
        ("put m 1 2 h=a h=b", "put: illegal argument: duplicate tag: h"),
        (
            "put a:b 1 2 h=a",
            "put: illegal argument: Invalid metric name (\"a:b\"): illegal character: :",
        ),
        (
            "put m 1 2 h=a,b",
            "put: illegal argument: Invalid tag value with key [h] (\"a,b\"): illegal character: ,",
        ),
        ("nosuch", "unknown command: nosuch.  Try `help'."),
    ] {
        assert_eq!(tsd.telnet(&["version", line]).lines().nth(2), Some(answer), "{line}");
    }
    let suggest = tsd.server.get("/api/suggest?type=metrics").text();
    assert_eq!(suggest, "[]", "nothing of it was stored");
}

#[test]
fn points_over_http() {
    let tsd = Tsd::start();
    let body = |text: &str| {
        let response = tsd.server.post("/api/put", text);
        assert_eq!(response.status, 400, "{text}: {}", response.text());
        message(&response)
    };
    assert_eq!(body(""), "Missing request content");
    assert_eq!(body("{"), "Unable to parse the given JSON");
    assert_eq!(body("[{}"), "Unable to parse the given JSON");
    assert_eq!(body("\"text\""), "The JSON must start as an object or an array");
    assert_eq!(body("[]"), "No datapoints found in content");
    assert_eq!(body("[7]"), "One or more data points had errors");
    assert_eq!(body("{}"), "One or more data points had errors");
    let point = |change: Value| {
        let mut point = json!({"metric": "m", "timestamp": H, "value": 1, "tags": {"h": "a"}});
        for (name, value) in change.as_object().unwrap() {
            point[name] = value.clone();
        }
        let (status, answer) = tsd.json("POST", "/api/put?details", &point);
        assert_eq!((status, &answer["success"], &answer["failed"]), (400, &json!(0), &json!(1)));
        answer["errors"][0]["error"].as_str().unwrap().to_owned()
    };
    assert_eq!(point(json!({"metric": null})), "Metric name was empty");
    assert_eq!(point(json!({"timestamp": 0})), "Invalid timestamp");
    assert_eq!(point(json!({"timestamp": "x"})), "Invalid timestamp");
    assert_eq!(point(json!({"value": null})), "Empty value");
    assert_eq!(point(json!({"tags": null})), "Missing tags");
    assert_eq!(point(json!({"tags": {"h": null}})), "Invalid tag value with key [h]: null");
    assert_eq!(point(json!({"value": "1x"})), "Unable to parse value to a number");
    assert_eq!(point(json!({"value": true})), "Unable to parse value to a number");
    let far = "bad timestamp=9999999999999: times end on 2262-04-11";
    assert_eq!(point(json!({"timestamp": 9_999_999_999_999i64})), far);
    let name = "Invalid metric name (\"a b\"): illegal character:  ";
    assert_eq!(point(json!({"metric": "a b"})), name);
    let tag = "Invalid tag name with value [a] (\"h h\"): illegal character:  ";
    assert_eq!(point(json!({"tags": {"h h": "a"}})), tag);
    let null = tsd.server.post("/api/put?details", "[null]").text();
    assert!(null.contains("Unexpected null datapoint encountered in set."), "{null}");
    assert_eq!(tsd.server.get("/api/put").status, 405);
    assert_eq!(tsd.server.post("/api/put?sync&sync_timeout=x", "[]").status, 400);
}

#[test]
fn a_point_of_a_wrong_type_leaves_its_neighbours() {
    let tsd = Tsd::start();
    assert_eq!(tsd.server.get("/logs?level=info").status, 200);
    let rejected = |reason: &str| {
        let labels = format!("{{protocol=\"put\",reason=\"{reason}\"}}");
        tsd.server.metric(&format!("foliot_rows_rejected_total{labels}"))
    };
    let stored = || tsd.server.get("/api/suggest?type=tagv").text();
    let point =
        |host: &str| json!({"metric": "m", "timestamp": H, "value": 1, "tags": {"h": host}});
    // What follows a place that is no JSON cannot be read; what came before it is lost with it.
    let broken = format!("[{},{},{{\"metric\"]", point("c"), point("d"));
    let response = tsd.server.post("/api/put", &broken);
    let malformed = "Unable to parse the given JSON".to_owned();
    assert_eq!((response.status, message(&response)), (400, malformed));
    assert_eq!((rejected("other"), rejected("line"), stored()), (2.0, 1.0, "[]".to_owned()));
    // What is JSON of another type is the fault of its point alone.
    let mut listed = point("bad");
    listed["tags"] = json!(["h", "bad"]);
    let mut truth = point("bad");
    truth["value"] = json!(true);
    let body = json!([point("a"), listed, truth, 7, point("b")]);
    let (status, answer) = tsd.json("POST", "/api/put?details", &body);
    assert_eq!((status, &answer["success"], &answer["failed"]), (400, &json!(2), &json!(3)));
    let reason = |at: usize| answer["errors"][at]["error"].as_str().unwrap();
    let tags = "The tags must be an object of texts";
    let [value, object] = ["Unable to parse value to a number", "The datapoint is no object"];
    assert_eq!([reason(0), reason(1), reason(2)], [tags, value, object]);
    assert_eq!(stored(), r#"["a","b"]"#);
    assert_eq!((rejected("name"), rejected("value"), rejected("line")), (1.0, 1.0, 2.0));
    let log = tsd.server.get("/logs").text();
    assert!(log.contains(tags) && log.contains(value), "{log}");
    assert!(log.contains("The body was refused whole, with 2 good points before it"), "{log}");
}

#[test]
fn questions() {
    let tsd = Tsd::start();
    tsd.series("m", "h=a", &[(0, 1)]);
    let ask = |query: &str| {
        let response = tsd.server.get(&format!("/api/query?{query}"));
        assert_eq!(response.status, 400, "{query}: {}", response.text());
        message(&response)
    };
    assert_eq!(ask("m=sum:m"), "Missing parameter <code>start</code>");
    assert_eq!(ask("start=1h-ago"), "Missing sub queries");
    assert_eq!(ask("start=x&m=sum:m"), "Invalid time: x. Invalid character 'x' in x");
    assert_eq!(ask("start=1x-ago&m=sum:m"), "Invalid duration (suffix): 1x");
    assert_eq!(ask("start=0m-ago&m=sum:m"), "Zero or negative duration: 0m");
    assert_eq!(ask("start=2023/1/1&m=sum:m"), "Invalid absolute date: 2023/1/1");
    let order = "End time [1000] must be greater than or equal to the start time [9000]";
    assert_eq!(ask("start=9&end=1&m=sum:m"), order);
    let m = |m: &str| ask(&format!("start=1&m={}", escape(m)));
    assert_eq!(m("m"), "Invalid parameter m=m (not enough :-separated parts)");
    assert_eq!(m("a:b:c:d:e:f"), "Invalid parameter m=a:b:c:d:e:f (too many :-separated parts)");
    assert_eq!(m(":m"), "Missing the aggregation function");
    assert_eq!(m("foo:m"), "No such aggregation function: foo");
    assert_eq!(m("sum:"), "Missing the metric or tsuids, provide at least one");
    assert_eq!(m("sum:nosuch"), "No such name for 'metrics': 'nosuch'");
    assert_eq!(m("sum:m{k=a}"), "No such name for 'tagk': 'k'");
    assert_eq!(m("sum:m{h=b}"), "No such name for 'tagv': 'b'");
    assert_eq!(m("sum:m{h=a"), "Missing '}' at the end of: m{h=a");
    let fault = "When parsing tag 'h': invalid tag: h (write NAME=VALUE, or NAME=* for any)";
    assert_eq!(m("sum:m{h}"), fault);
    let kind = "Could not find a tag value filter of the type: foo";
    assert_eq!(m("sum:m{h=foo(a)}"), format!("When parsing tag 'h=foo(a)': {kind}"));
    let specifier = "Invalid downsampling specifier '1m':";
    assert_eq!(m("sum:1m:m"), format!("{specifier} must provide at least interval and function"));
    assert_eq!(m("sum:1m-foo:m"), "No such downsampling function: foo");
    assert_eq!(m("sum:1m-sum-foo:m"), "Unrecognized fill policy: foo");
    let none = "cannot use the NONE aggregator for downsampling";
    assert_eq!(m("sum:1m-none:m"), none);
    let rate = "Max value of counter was not a number, received 'x'";
    assert_eq!(m("sum:rate{counter,x}:m"), rate);
    assert_eq!(ask("start=1&tsuid=sum:00"), "Invalid TSUID: '00'");
    assert_eq!(ask("start=1&tz=Nowhere/X&m=sum:m"), "Invalid timezone name: 'Nowhere/X'");
    let post = |body: &str| {
        let response = tsd.server.post("/api/query", body);
        assert_eq!(response.status, 400, "{body}: {}", response.text());
        message(&response)
    };
    assert_eq!(post(""), "Missing message content");
    assert_eq!(post("[]"), "Unable to parse the given JSON");
    assert_eq!(post("{}"), "Missing start time");
    assert_eq!(post(r#"{"start":1}"#), "Missing queries");
    let one = |query: &str| post(&format!(r#"{{"start":1,"queries":[{query}]}}"#));
    assert_eq!(one("{}"), "Missing the aggregation function");
    let empty = "Missing the metric or tsuids, provide at least one";
    assert_eq!(one(r#"{"aggregator":"sum"}"#), empty);
    let filter = r#"{"aggregator":"sum","metric":"m","filters":[{"tagk":"h","filter":"a"}]}"#;
    assert_eq!(one(filter), "Unable to parse the given JSON");
    let rate = r#"{"aggregator":"sum","metric":"m","rate":true,"rateOptions":{"x":1}}"#;
    assert_eq!(one(rate), "Unable to parse the given JSON");
}

/// Dashboards over several servers ask for metrics that only some of them have.
#[test]
fn unknown_names_are_answered_with_nothing_where_that_is_set() {
    let tsd = Tsd::start_with(&[
        "--set",
        "opentsdb.unknown_is_empty=true",
        "--set",
        "opentsdb.allow_delete=true",
    ]);
    tsd.series("m", "h=a", &[(0, 1)]);
    let range = [("start", H.to_string()), ("end", (H + 60).to_string())];
    let range = range.each_ref().map(|(name, value)| (*name, &**value));
    for m in ["sum:nosuch", "sum:m{k=a}", "sum:m{h=b}", "none:m{h=literal_or(b)}"] {
        let answer = tsd.get("/api/query", &[range[0], range[1], ("m", m)]);
        assert_eq!((answer.status, &*answer.text()), (200, "[]"), "{m}");
    }
    let two = [range[0], range[1], ("m", "sum:nosuch"), ("m", "sum:m")];
    let both: Value = serde_json::from_str(&tsd.get("/api/query", &two).text()).unwrap();
    assert_eq!(both.as_array().map(Vec::len), Some(1), "{both}");
    let sum = [range[0], range[1], ("exp", "sum(sum:nosuch,sum:m)")];
    let sum = tsd.get("/api/query/gexp", &sum);
    assert_eq!(sum.status, 200, "{}", sum.text());
    let lines = tsd.get("/q", &[range[0], range[1], ("m", "sum:nosuch"), ("ascii", "")]);
    assert_eq!((lines.status, &*lines.text()), (200, ""));
    let last = tsd.get("/api/query/last", &[("timeseries", "nosuch")]);
    assert_eq!((last.status, &*last.text()), (200, "[]"));
    let found = tsd.get("/api/search/lookup", &[("m", "nosuch{h=*}")]);
    let found: Value = serde_json::from_str(&found.text()).unwrap();
    assert_eq!((&found["totalResults"], &found["results"]), (&json!(0), &json!([])));
    // Who deletes, and who looks at the page, is told.
    let body = json!({"start": H, "end": H + 60, "delete": true,
        "queries": [{"aggregator": "sum", "metric": "nosuch"}]});
    assert_eq!(tsd.json("POST", "/api/query", &body).0, 400);
    let asked = json!({"language": "opentsdb", "text": "sum:nosuch", "start_ms": H * 1000, "end_ms": (H + 60) * 1000});
    let (status, told) = tsd.json("POST", "/api/foliot/v1/query", &asked);
    assert_eq!(status, 400, "{told}");
}

#[test]
fn other_paths() {
    let tsd = Tsd::start();
    for (method, path, status, text) in [
        ("GET", "/api/nosuch", 404, "Endpoint not found"),
        ("GET", "/api/vx/query", 404, "Endpoint not found"),
        ("GET", "/api/v3/query", 501, "Requested API version is greater than the max implemented"),
        ("PUT", "/api/query", 405, "Method not allowed"),
        ("OPTIONS", "/api/query", 405, "Method not allowed"),
        ("POST", "/api/aggregators", 405, "Method not allowed"),
        ("GET", "/api/suggest", 400, "Missing parameter <code>type</code>"),
        ("GET", "/api/suggest?type=x", 400, "Invalid 'type' parameter:x"),
        ("GET", "/api/suggest?type=tagk&max=x", 400, "Unable to parse 'max' as a number"),
        ("POST", "/api/suggest", 400, "Unable to parse the given JSON"),
        ("GET", "/api/stats/nosuch", 404, "Endpoint not found"),
        ("GET", "/api/aggregators?jsonp=a(b)", 400, "jsonp: 'a(b)' is not a function's name"),
    ] {
        let response = tsd.server.request(method, path, &[], b"");
        assert_eq!(response.status, status, "{method} {path}");
        assert_eq!(message(&response), text, "{method} {path}");
    }
}
