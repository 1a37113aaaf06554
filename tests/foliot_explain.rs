//! What Foliot's own API tells of a question besides its answer: steps and times, also of one that
//! failed, and where its text is wrong. Every answer is held against `docs/openapi.json`.

use crate::harness::api::{ROOT, ask, get, post, write};
use crate::harness::{Scratch, Server};
use serde_json::{Value, json};

/// The steps of a tree, the outer ones first: what they do, and their series and samples.
fn steps(node: &Value) -> Vec<(String, u64, u64)> {
    let took = |name: &str| node["took"][name].as_u64().unwrap();
    assert!(node["took"]["ms"].as_f64().unwrap() >= 0.0 && node["type"] == "step", "{node}");
    let text = |name: &str| node[name].as_str().unwrap();
    let said = format!("{} {}", text("what"), text("detail"));
    let own = (said.trim().to_owned(), took("series"), took("samples"));
    let within = node["steps"].as_array().unwrap().iter().flat_map(steps);
    [own].into_iter().chain(within).collect()
}

#[test]
fn a_range_since_1970_has_steps_in_every_language() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "cpu,host=a usage=1 1700000000\ncpu,host=a usage=3 1700000060");
    let influxql =
        "SELECT mean(usage) FROM cpu WHERE time >= $start AND time < $end GROUP BY time($step)";
    for (language, text) in [("opentsdb", "sum:$step-avg:cpu.usage"), ("influxql", influxql)] {
        // Ninety days, what three hundred steps are, and a step of no whole seconds.
        for step_ms in [json!(7_776_000_000_i64), json!(null), json!(7_776_000_001_i64)] {
            let body = json!({"language": language, "text": text, "start_ms": 0,
                "end_ms": 1_800_000_000_000_i64, "step_ms": step_ms});
            let answer = ask(&server, &body);
            let values = answer["series"][0]["values"].as_array().unwrap();
            let values: Vec<_> = values.iter().filter(|value| !value.is_null()).collect();
            assert_eq!(values, [&json!(2.0)], "{body}: {answer}");
        }
    }
    server.stop();
}

#[test]
fn steps_of_a_question_are_told_in_every_language() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for host in ["a", "b", "c"] {
        let dc = if host == "c" { "y" } else { "x" };
        let key = format!("cpu,dc={dc},host={host}");
        write(&server, &format!("{key} usage=1,idle=9 600\n{key} usage=2 630\n{key} usage=5 660"));
    }
    let explained = |language: &str, text: &str| {
        let body = |explain: bool| {
            json!({"language": language, "text": text, "start_ms": 600_000, "end_ms": 720_000,
                "step_ms": 60_000, "explain": explain})
        };
        let (answer, plain) = (ask(&server, &body(true)), ask(&server, &body(false)));
        assert_eq!(answer["series"], plain["series"], "{text}");
        assert!(plain.get("tree").is_none());
        answer["tree"].clone()
    };
    let step = |said: &str, series: u64, samples: u64| (said.to_owned(), series, samples);
    let told = steps(&explained("opentsdb", "sum:1m-avg:rate:cpu.usage{dc=*}"));
    let told: Vec<_> = told.into_iter().filter(|(said, ..)| said != "cut to the range").collect();
    let expected = [
        step("sum by dc", 2, 9),
        step("rate each 1 s", 3, 9),
        step("mean of each 1 min", 3, 9),
        step("read cpu.usage{dc=*}", 3, 9),
    ];
    assert_eq!(told, expected);
    let text = "SELECT max(usage) - min(usage) AS spread FROM cpu WHERE time >= $start AND time < $end \
                GROUP BY time($step), dc";
    let told = steps(&explained("influxql", text));
    assert_eq!(told[0], step("columns spread", 2, 9));
    let folds: Vec<&str> = told[1..].iter().map(|(said, ..)| said.as_str()).collect();
    let fold = |name: &str| format!("{name} of cpu.usage each 1 min by dc");
    assert!(folds.contains(&&*fold("max")) && folds.contains(&&*fold("min")), "{folds:?}");
    let told = steps(&explained("influxql", "SELECT usage FROM cpu LIMIT 2"));
    assert!(told.iter().any(|(said, ..)| said == "limit 2 of each head"), "{told:?}");
    assert!(told.iter().any(|(said, ..)| said == "read cpu.usage"), "{told:?}");
    let told = explained("influxql", "SELECT usage FROM cpu; SELECT idle FROM cpu");
    assert_eq!(told["detail"], "2 statements");
    let second = &told["steps"][1];
    assert_eq!(
        (&second["what"], &second["detail"], &second["steps"][0]["what"]),
        (&json!("statement 2"), &json!("SELECT idle FROM cpu"), &json!("columns"))
    );
    assert_eq!((&second["took"]["series"], &second["took"]["samples"]), (&json!(1), &json!(3)));
    server.stop();
}

/// The steps that stand next in a node of a tree: operators, or expressions of PromQL.
fn within(node: &Value) -> Vec<&Value> {
    let members = ["steps", "expr", "lhs", "rhs", "args", "param"].map(|name| &node[name]);
    let nodes = members.into_iter().flat_map(|member| match member {
        Value::Array(nodes) => nodes.iter().collect(),
        node => vec![node],
    });
    nodes.filter(|node| node.is_object()).collect()
}

/// A node and all those in it; what each took by itself is what it took without those in it.
fn nodes(node: &Value) -> Vec<&Value> {
    let ms = |node: &Value, name: &str| node["took"][name].as_f64().unwrap();
    let next = within(node);
    if node["took"].is_object() {
        // What was not measured, as parentheses, took what stands in it.
        fn all(node: &Value) -> f64 {
            let known = node["took"]["ms"].as_f64();
            known.unwrap_or_else(|| within(node).into_iter().map(all).sum())
        }
        let below: f64 = next.iter().map(|node| all(node)).sum();
        let own = ms(node, "own_ms");
        assert!((own + below - ms(node, "ms")).abs() < 1e-3 && own >= 0.0, "{node}");
    }
    [node].into_iter().chain(next.into_iter().flat_map(nodes)).collect()
}

#[test]
fn times_of_steps_add_up_in_every_language() {
    let dir = Scratch::new();
    // So few samples are read by one thread, so that no step takes longer than the question.
    let server = Server::start(dir.path(), &[]);
    let line = |at: i64| format!("soil,bed=east ph={at} {at}\nsoil,bed=west ph={at} {at}");
    write(&server, &(0..6000).map(line).collect::<Vec<_>>().join("\n"));
    for (language, text) in [
        ("opentsdb", "sum:1m-avg:rate:soil.ph{bed=*}"),
        (
            "influxql",
            "SELECT max(a) FROM (SELECT mean(ph) AS a FROM soil WHERE time >= 0 AND time < 6000s GROUP BY time(1m), bed)",
        ),
        ("influxql", "SELECT ph FROM soil WHERE ph > 5; SELECT count(ph) FROM soil"),
        ("promql", "sum by (bed) (rate(soil_ph[5m])) / (count(soil_ph) + 1)"),
        ("promql", "max_over_time((sum(soil_ph))[10m:1m])"),
        ("promql", "soil_ph[5m]"),
        ("sql", "SELECT bed, max(ph + 1) AS m FROM soil GROUP BY bed ORDER BY m LIMIT 1"),
        ("sql", "SELECT bed, avg(ph) FROM soil GROUP BY bed"),
    ] {
        let answer = ask(
            &server,
            &json!({"language": language, "text": text, "start_ms": 0, "end_ms": 6_000_000,
                "step_ms": 60_000, "explain": true}),
        );
        let all = nodes(&answer["tree"]);
        assert!(all.iter().any(|node| node["took"]["samples"].as_u64() > Some(0)), "{answer}");
        let took = |name: &str| answer["figures"][name].as_f64().unwrap();
        let parts = took("planning_ms") + took("steps_ms") + took("printing_ms");
        assert!((parts - took("took_ms")).abs() < 1e-3, "{answer}");
        assert!(took("waited_ms") >= 0.0 && took("steps_ms") > 0.0, "{answer}");
        // The outermost steps are all that is carried out.
        let steps = all.iter().filter(|node| node["what"] != "answer" && node["took"].is_object());
        let own = steps
            .clone()
            .filter(|node| !node["what"].as_str().unwrap_or_default().starts_with("statement"));
        let own: f64 = own.map(|node| node["took"]["own_ms"].as_f64().unwrap()).sum();
        assert!(own <= took("steps_ms") + 1e-3, "{language} {text}: {own} of {answer}");
        assert!(own > 0.0, "{answer}");
    }
    server.stop();
}

/// Two beds, each with a sample a minute for an hour. OpenTSDB's questions read beyond their end,
/// so there is nothing.
#[test]
fn samples_read_are_those_of_the_store_in_every_language() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let line = |at: i64| {
        let rows = ["east", "west"].map(|bed| format!("soil,bed={bed} ph={at},wet=1 {}", at * 60));
        rows.join("\n")
    };
    write(&server, &(0..60).map(line).collect::<Vec<_>>().join("\n"));
    let explained = |language: &str, text: &str, step_ms: i64| {
        let body = json!({"language": language, "text": text, "start_ms": 0, "end_ms": 3_599_000,
            "step_ms": step_ms, "explain": true});
        ask(&server, &body)
    };
    let read = |answer: &Value| answer["figures"]["samples_read"].as_u64().unwrap();
    let influxql = "SELECT mean(ph) FROM soil WHERE time >= $start AND time <= $end \
                    GROUP BY time($step), bed";
    let sql = "SELECT date_bin($step, time) AS t, bed, avg(ph), avg(wet) FROM soil \
               WHERE time >= $start AND time <= $end GROUP BY t, bed";
    let sql_of_one = "SELECT avg(ph) FROM soil WHERE time >= $start AND time <= $end";
    // Two series of sixty samples; SQL's groups by time read a second field.
    for (language, text, expected) in [
        ("influxql", influxql, 120),
        ("opentsdb", "none:$step-avg-nan:soil.ph", 120),
        ("promql", "soil_ph", 120),
        ("promql", "avg_over_time(soil_ph[1m])", 120),
        ("sql", sql, 240),
        ("sql", sql_of_one, 120),
    ] {
        // Windows between samples are empty, and are not read, however many there are.
        for step_ms in [10_000, 60_000, 300_000] {
            let answer = explained(language, text, step_ms);
            // PromQL's last instant is at 55 minutes then.
            let is_short = language == "promql" && step_ms == 300_000;
            let expected = if is_short { 112 } else { expected };
            assert_eq!(read(&answer), expected, "{language} by {step_ms}: {answer}");
        }
    }
    // What rows are filled with was not read by the step, either.
    let told = steps(&explained("influxql", influxql, 10_000)["tree"]);
    assert!(told.iter().all(|(_, _, samples)| *samples == 120), "{told:?}");
    assert!(told.iter().any(|(said, ..)| said.starts_with("fill")), "{told:?}");
    // Nor are instants of a subquery.
    assert_eq!(read(&explained("promql", "sum(max_over_time(soil_ph[5m:10s]))", 60_000)), 120);
    let total = server.metric("foliot_query_samples_total");
    ask(
        &server,
        &json!({"language": "influxql", "text": influxql, "start_ms": 0,
        "end_ms": 3_599_000, "step_ms": 10_000}),
    );
    assert_eq!(server.metric("foliot_query_samples_total") - total, 120.0);
    server.stop();
}

#[test]
fn a_question_that_fails_tells_how_far_it_came_and_is_counted_as_failed() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-query-samples", "10"]);
    let lines: String = (0..30).map(|n| format!("cpu,host=a v={n} {}\n", 600 + n)).collect();
    write(&server, &lines);
    let asked = |language: &str, text: &str, explain: bool| {
        json!({"language": language, "text": text, "start_ms": 600_000, "end_ms": 700_000,
            "step_ms": 10_000, "explain": explain})
    };
    let texts = [
        ("opentsdb", "sum:$step-avg:cpu.v"),
        ("influxql", "SELECT v FROM cpu WHERE time >= $start"),
        ("promql", "sum(rate(cpu_v[1m]))"),
    ];
    for (language, text) in texts {
        let refused = post(&server, "query", &asked(language, text, true), 413);
        assert!(refused["error"]["message"].as_str().unwrap().contains("limits.query_samples"));
        assert!(refused["tree"]["type"].is_string(), "{language}: {refused}");
        assert!(refused["figures"]["took_ms"].as_f64().unwrap() > 0.0, "{language}: {refused}");
        // Each step tells what it took until then.
        let all = nodes(&refused["tree"]);
        assert!(all.len() > 1, "{language}: {refused}");
        for node in all {
            assert!(node["took"]["ms"].as_f64().unwrap() > 0.0, "{language}: {node}");
            assert_eq!(node["took"]["samples"], refused["figures"]["samples_read"], "{refused}");
        }
        let plain = post(&server, "query", &asked(language, text, false), 413);
        assert!(plain.get("tree").is_none() && plain.get("figures").is_none(), "{plain}");
    }
    // Of several statements the last one that was begun failed, and says why.
    let text =
        "SELECT v FROM cpu WHERE time < 600s; SELECT v FROM cpu WHERE time > 0; SHOW DATABASES";
    let refused = post(&server, "query", &asked("influxql", text, true), 413);
    let statements = refused["tree"]["steps"].as_array().unwrap();
    let names: Vec<_> = statements.iter().map(|step| step["what"].as_str().unwrap()).collect();
    assert_eq!(names, ["statement 1", "statement 2"]);
    assert_eq!(statements[1]["detail"], "SELECT v FROM cpu WHERE time > 0");
    assert_eq!(statements[1]["error"], refused["error"]["message"]);
    assert_eq!(statements[0].get("error"), None);
    assert!(statements[1]["took"]["ms"].as_f64().unwrap() > 0.0, "{refused}");
    assert_eq!(statements[1]["steps"][0]["what"], "columns");
    // What cannot be read was not begun.
    let unread = post(&server, "query", &asked("influxql", "SELECT FORM", true), 400);
    assert!(unread.get("figures").is_none(), "{unread}");
    // InfluxDB's door tells of a failure within an answer.
    let answer = server.get("/query?db=default&q=SELECT%20v%20FROM%20cpu");
    assert!(answer.text().contains("limits.query_samples"), "{}", answer.text());
    ask(&server, &asked("opentsdb", "sum:$step-count:cpu.v{host=none*}", false));
    for path in ["queries/costs", "queries/costs?within_ms=3600000"] {
        let told = get(&server, path);
        assert!(told["since_ms"].as_i64().unwrap() > 1_700_000_000_000, "{told}");
        let costs = told["costs"].as_array().unwrap();
        let cost = |text: &str| costs.iter().find(|cost| cost["text"] == text).unwrap();
        for (_, text) in texts {
            let cost = cost(text);
            assert_eq!((&cost["count"], &cost["failed"]), (&json!(2), &json!(2)), "{cost}");
            assert!(cost["error"].as_str().unwrap().contains("limits.query_samples"), "{cost}");
        }
        let of_influx = cost("SELECT v FROM cpu");
        assert_eq!((&of_influx["count"], &of_influx["failed"]), (&json!(1), &json!(1)));
        let good = cost("sum:$step-count:cpu.v{host=none*}");
        assert_eq!((&good["failed"], &good["error"]), (&json!(0), &Value::Null));
    }
    assert_eq!(server.get(&format!("{ROOT}/queries/costs?within_ms=0")).status, 400);
    assert_eq!(server.get(&format!("{ROOT}/queries/costs?within_ms=86400001")).status, 400);
    server.stop();
}

#[test]
fn what_is_wrong_in_a_text_has_a_place_and_is_one_sentence() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (language, text, place, said) in [
        ("opentsdb", "sum:$step-avg:cpu.v{host=}", Some((1, 21)), "a value is missing behind '='"),
        ("opentsdb", "sum:cpu{host=ä}x", Some((1, 16)), "Missing '}' at the end"),
        ("opentsdb", "sum:$step-aug:cpu.v", Some((1, 5)), "aug"),
        ("opentsdb", "sum:cpu{host=regexp([)}", Some((1, 9)), "missing closing ]: `[`"),
        ("influxql", "SELECT mean(v) FROM m GROUP BY time(7q)", Some((1, 37)), "invalid duration"),
        (
            "influxql",
            "SELECT v FROM m\nWHERE a =~ /x{3,2}/",
            // InfluxDB tells of the place before a regular expression.
            Some((2, 11)),
            "invalid repeat count: `{3,2}`",
        ),
        ("promql", "up{a=~'('}", Some((1, 4)), "missing closing ): `(`"),
        ("sql", "SELECT 'a' ~ '('", Some((1, 8)), "missing closing ): `(`"),
    ] {
        let asked = json!({"language": language, "text": text, "check": true, "start_ms": 0,
            "end_ms": 60_000, "step_ms": 1000});
        let wrong = ask(&server, &asked)["wrong"].clone();
        let place =
            place.map_or(Value::Null, |(line, column)| json!({"line": line, "column": column}));
        assert_eq!(wrong["position"], place, "{text}: {wrong}");
        let message = wrong["message"].as_str().unwrap();
        assert!(message.contains(said) && !message.contains(['\n', '\r']), "{text}: {wrong}");
    }
    // A line that has no fields at all has no bad value.
    assert_eq!(server.post("/write?db=default&precision=s", "cpu,host=a 600").status, 400);
    let rejected = |reason: &str| {
        server.metric(&format!(
            "foliot_rows_rejected_total{{protocol=\"influx_http\",reason=\"{reason}\"}}"
        ))
    };
    assert_eq!((rejected("field"), rejected("value")), (1.0, 0.0));
    server.stop();
}
