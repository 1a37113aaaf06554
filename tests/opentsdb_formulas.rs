//! `/api/query/gexp` and `/api/query/exp` through the real binary. Expected numbers were worked out
//! by hand from OpenTSDB's rules.

use crate::opentsdb::{H, Tsd, offsets};
use serde_json::{Value, json};

fn store() -> Tsd {
    let tsd = Tsd::start();
    tsd.series("a", "h=x", &[(0, 10), (60, 20), (120, 30), (180, -40)]);
    tsd.series("a", "h=y", &[(0, 1), (60, 2), (120, 3), (180, 4)]);
    tsd.series("b", "h=x", &[(0, 2), (60, 4), (120, 0), (180, 5)]);
    tsd
}

/// Names and points of what an expression in functions yields.
fn functions(tsd: &Tsd, exp: &str) -> Vec<(String, Value)> {
    let (start, end) = (H.to_string(), (H + 180).to_string());
    let response = tsd.get("/api/query/gexp", &[("start", &start), ("end", &end), ("exp", exp)]);
    assert_eq!(response.status, 200, "{exp}: {}", response.text());
    let answer: Value = serde_json::from_slice(&response.body).unwrap();
    let list = answer.as_array().unwrap().iter();
    list.map(|series| {
        let name = series["metric"].as_str().unwrap().to_owned();
        (name, Value::Object(offsets(series)))
    })
    .collect()
}

#[test]
fn functions_of_one_operand() {
    let tsd = store();
    let one = |exp: &str| -> Value {
        let mut all = functions(&tsd, exp);
        assert_eq!(all.len(), 1, "{exp}: {all:?}");
        all.remove(0).1
    };
    let points = json!({"0": 20, "60": 40, "120": 60, "180": -80});
    assert_eq!(one("scale(sum:a{h=x},2)"), points);
    let points = json!({"0": 5.0, "60": 10.0, "120": 15.0, "180": -20.0});
    assert_eq!(one("scale( sum:a{h=x} , 0.5 )"), points);
    let points = json!({"0": 10, "60": 20, "120": 30, "180": 40});
    assert_eq!(one("absolute(sum:a{h=x})"), points);
    let points = json!({"0": 0.0, "60": 15.0, "120": 25.0, "180": -5.0});
    assert_eq!(one("movingAverage(sum:a{h=x},2)"), points);
    let points = json!({"0": 0.0, "60": 0.0, "120": 25.0, "180": -5.0});
    assert_eq!(one("movingAverage(sum:a{h=x},'2min')"), points);
    let points = json!({"0": 0.0, "60": 10.0, "120": 10.0, "180": -70.0});
    assert_eq!(one("firstDiff(sum:a{h=x})"), points);
    // What was a minute before.
    assert_eq!(one("shift(sum:a{h=x},'1min')"), json!({"60": 10, "120": 20, "180": 30}));
    let points = json!({"60": 20, "120": 40, "180": 60});
    assert_eq!(one("scale(timeShift(sum:a{h=x},'60sec'),2)"), points);
    let named = functions(&tsd, "alias(sum:a{h=*},@h,of a)");
    let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x,of a", "y,of a"]);
    let highest = |exp: &str| functions(&tsd, &format!("alias({exp},@h)"))[0].0.clone();
    assert_eq!(highest("highestMax(sum:a{h=*},1)"), "x");
    assert_eq!(highest("highestCurrent(sum:a{h=*},1)"), "y");
    assert_eq!(functions(&tsd, "highestMax(sum:a{h=*},5)").len(), 2);
}

#[test]
fn functions_of_several_operands_join_by_tags() {
    let tsd = store();
    let all = functions(&tsd, "divideSeries(sum:a{h=x},sum:b{h=x})");
    // Dividing by zero gives zero.
    let points = json!({"0": 5.0, "60": 5.0, "120": 0.0, "180": -8.0});
    assert_eq!(all, [("a".to_owned(), points)]);
    let all = functions(&tsd, "sum(sum:a{h=*},sum:b{h=*})");
    let x = json!({"0": 12.0, "60": 24.0, "120": 30.0, "180": -35.0});
    // Only one operand has h=y; the other counts as zero.
    let y = json!({"0": 1.0, "60": 2.0, "120": 3.0, "180": 4.0});
    assert_eq!(all, [("a".to_owned(), x), ("a".to_owned(), y)]);
    let all = functions(&tsd, "diffSeries(scale(sum:a{h=x},1),multiply(sum:b{h=x},sum:b{h=x}))");
    let points = json!({"0": 6.0, "60": 4.0, "120": 30.0, "180": -65.0});
    assert_eq!(all[0].1, points);
    for (exp, fault) in [
        ("", "Failed to parse "),
        ("scale(sum:a", "Failed to parse scale(sum:a"),
        ("nosuch(sum:a)", "Function was not found: nosuch"),
        ("scale(sum:a)", "Missing scaling factor"),
        ("scale(sum:a,x)", "Unparseable scale factor value: x"),
        ("movingAverage(sum:a,0)", "Moving average window must be an integer greater than zero"),
        ("movingAverage(sum:a,'3foo')", "Unknown time unit=foo in window='3foo'"),
        ("highestMax(sum:a,0)", "Unparseable top n value: 0"),
        ("sumSeries(sum:a)", "Must have 2 to 26 series, got 1 instead"),
        ("scale(sum:nosuch,1)", "No such name for 'metrics': 'nosuch'"),
        ("scale(foo:a,1)", "No such aggregation function: foo"),
    ] {
        let start = H.to_string();
        let message = tsd.refusal("/api/query/gexp", &[("start", &start), ("exp", exp)], 400);
        assert_eq!(message, fault, "{exp}");
    }
    assert_eq!(tsd.server.get("/api/query/gexp?start=1").status, 400);
}

fn query(metrics: Value, expressions: Value) -> Value {
    json!({
        "time": {"start": H, "end": H + 180, "aggregator": "sum"},
        "filters": [{"id": "f1", "tags":
            [{"type": "wildcard", "tagk": "h", "filter": "*", "groupBy": true}]}],
        "metrics": metrics,
        "expressions": expressions,
    })
}

#[test]
fn expressions_join_by_tags() {
    let tsd = store();
    let ask = |body: &Value| tsd.json("POST", "/api/query/exp", body);
    let metrics = json!([
        {"id": "a", "metric": "a", "filter": "f1"},
        {"id": "b", "metric": "b", "filter": "f1"},
    ]);
    let expressions = json!([
        {"id": "e", "expr": "a + b"},
        {"id": "i", "expr": "a / b", "join": {"operator": "intersection"}},
        {"id": "n", "expr": "e * 2 > 10"},
    ]);
    let (status, answer) = ask(&query(metrics, expressions));
    assert_eq!(status, 200, "{answer}");
    let ms = |at: i64| (H + at) * 1000;
    let union = json!([
        [ms(0), 12.0, 1.0],
        [ms(60), 24.0, 2.0],
        [ms(120), 30.0, 3.0],
        [ms(180), -35.0, 4.0]
    ]);
    let outputs = answer["outputs"].as_array().unwrap();
    assert_eq!((&outputs[0]["id"], &outputs[0]["dps"]), (&json!("e"), &union));
    let meta = json!({"firstTimestamp": ms(0), "lastTimestamp": ms(180), "setCount": 4,
        "series": 2});
    assert_eq!(outputs[0]["dpsMeta"], meta);
    let meta = json!([
        {"index": 0, "metrics": ["timestamp"]},
        {"index": 1, "metrics": ["a", "b"], "commonTags": {"h": "x"}, "aggregatedTags": []},
        {"index": 2, "metrics": ["a", "b"], "commonTags": {"h": "y"}, "aggregatedTags": []},
    ]);
    assert_eq!(outputs[0]["meta"], meta);
    let common = json!([[ms(0), 5.0], [ms(60), 5.0], [ms(120), 0.0], [ms(180), -8.0]]);
    assert_eq!(outputs[1]["dps"], common);
    assert_eq!(outputs[2]["dps"][0], json!([ms(0), 1.0, 0.0]));
    assert_eq!(answer["query"]["time"]["aggregator"], "sum");
}

#[test]
fn expressions_fill_and_choose_outputs() {
    let tsd = Tsd::start();
    tsd.series("a", "h=x", &[(0, 1), (60, 2)]);
    tsd.series("b", "h=x", &[(0, 10), (120, 30)]);
    let ms = |at: i64| (H + at) * 1000;
    let dps = |b: Value, outputs: Value| {
        let mut body =
            query(json!([{"id": "a", "metric": "a"}, b]), json!([{"id": "e", "expr": "a + b"}]));
        body["outputs"] = outputs;
        let (status, answer) = tsd.json("POST", "/api/query/exp", &body);
        assert_eq!(status, 200, "{answer}");
        answer["outputs"].clone()
    };
    let plain = dps(json!({"id": "b", "metric": "b"}), json!([]));
    let sums = json!([[ms(0), 11.0], [ms(60), 2.0], [ms(120), 30.0]]);
    assert_eq!(plain[0]["dps"], sums);
    let fill = json!({"policy": "scalar", "value": 5});
    let filled = dps(json!({"id": "b", "metric": "b", "fillPolicy": fill}), json!([]));
    assert_eq!(filled[0]["dps"][1], json!([ms(60), 7.0]));
    let nan = json!({"policy": "nan"});
    let filled = dps(json!({"id": "b", "metric": "b", "fillPolicy": nan}), json!([]));
    assert_eq!(filled[0]["dps"][1], json!([ms(60), "NaN"]));
    let wanted = json!([{"id": "b", "alias": "B"}, {"id": "e"}]);
    let chosen = dps(json!({"id": "b", "metric": "b"}), wanted);
    assert_eq!((&chosen[0]["id"], &chosen[0]["alias"]), (&json!("b"), &json!("B")));
    assert_eq!(chosen[0]["dps"], json!([[ms(0), 10.0], [ms(120), 30.0]]));
    assert_eq!(chosen[1]["id"], "e");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let tsd = store();
    let fault = |body: Value| {
        let (status, answer) = tsd.json("POST", "/api/query/exp", &body);
        assert_eq!(status, 400, "{answer}");
        answer["error"]["message"].as_str().unwrap().to_owned()
    };
    let a = || json!([{"id": "a", "metric": "a"}]);
    assert_eq!(fault(json!({"metrics": a()})), "missing time");
    assert_eq!(fault(query(json!([]), json!([]))), "missing or empty metrics");
    assert_eq!(fault(query(json!([{"id": "a"}]), json!([]))), "missing or empty metric");
    let twice = json!([{"id": "a", "metric": "a"}, {"id": "a", "metric": "b"}]);
    assert_eq!(fault(query(twice, json!([]))), "duplicated metric id: a");
    let digit = json!([{"id": "1", "metric": "a"}]);
    assert_eq!(fault(query(digit, json!([]))), "The ID cannot be an integer");
    let odd = json!([{"id": "a_b", "metric": "a"}]);
    assert_eq!(fault(query(odd, json!([]))), "Invalid id (\"a_b\"): illegal character: _");
    let expression = |expr: &str| query(a(), json!([{"id": "e", "expr": expr}]));
    assert_eq!(fault(expression("a + z")), "Expression [e] was missing input z");
    assert_eq!(fault(expression("1 + 1")), "The expression didn't appear to have any variables");
    assert_eq!(fault(expression("e + a")), "Self referencing expression found: e");
    assert!(fault(expression("a +")).contains("missing"));
    let circle = json!([{"id": "e", "expr": "f + a"}, {"id": "f", "expr": "e"}]);
    assert_eq!(fault(query(a(), circle)), "Circular reference found: e");
    let filter = json!([{"id": "a", "metric": "a", "filter": "zz"}]);
    assert_eq!(fault(query(filter, json!([]))), "unrecognized filter id zz in metric a");
    let unknown = json!([{"id": "a", "metric": "nosuch"}]);
    assert_eq!(fault(query(unknown, json!([]))), "No such name for 'metrics': 'nosuch'");
}

#[test]
fn what_would_take_too_much_is_refused_by_name_and_the_server_lives_on() {
    let tsd = store();
    let start = H.to_string();
    let ask = |expressions: Value| {
        let body = json!({
            "time": {"start": start, "aggregator": "sum"},
            "metrics": [{"id": "a", "metric": "a"}],
            "expressions": expressions,
        });
        let (status, answer) = tsd.json("POST", "/api/query/exp", &body);
        (status, answer.to_string())
    };
    let sum = format!("a{}", "+a".repeat(30_000));
    let long = ask(json!([{"id": "e", "expr": sum}]));
    assert_eq!((long.0, long.1.contains("1000 operators")), (400, true), "{}", long.1);
    let many: Vec<Value> = (0..101).map(|n| json!({"id": format!("e{n}"), "expr": "a"})).collect();
    let many = ask(many.into());
    assert_eq!((many.0, many.1.contains("up to 100")), (400, true), "{}", many.1);
    let shifted = format!("shift(shift(sum:a,'{0}s'),'{0}s')", i64::MAX / 1000);
    let parameters = [("start", start.as_str()), ("exp", shifted.as_str())];
    assert_eq!(tsd.get("/api/query/gexp", &parameters).status, 400);
    assert_eq!(ask(json!([{"id": "e", "expr": "a*2"}])).0, 200);
}
