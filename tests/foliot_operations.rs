//! Foliot's API for whoever operates a server: what came, what was refused, what was asked.

use crate::harness;
use crate::harness::api::{ROOT, ask, get, post, write};
use crate::harness::{PATIENCE, Scratch, Server};
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, Instant};

#[test]
fn status_counts_what_came_by_each_protocol() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let status = get(&server, "status");
    assert_eq!((&status["ingest"], &status["rejects"]), (&json!({}), &json!([])));
    write(&server, "cpu a=1,b=2 600");
    server.talk(b"put sys.x 600 1 h=a\nput sys.x nonsense\nexit\n");
    let status = get(&server, "status");
    let ingest = &status["ingest"];
    assert_eq!(
        (&ingest["influx_http"]["samples"], &ingest["telnet"]["samples"]),
        (&json!(2), &json!(1))
    );
    let rejected = ingest["telnet"]["rejected"].as_object().unwrap();
    assert_eq!(rejected.values().filter_map(Value::as_u64).sum::<u64>(), 1, "{status}");
    let refused = &status["rejects"];
    assert_eq!(refused.as_array().unwrap().len(), 1, "{status}");
    assert_eq!((&refused[0]["protocol"], &refused[0]["line"]), (&json!("telnet"), &json!(2)));
    assert_eq!(refused[0]["text"], "put sys.x nonsense");
    assert_eq!(refused[0]["address"], "127.0.0.1");
    assert!(
        refused[0]["message"].as_str().unwrap().starts_with("not enough arguments"),
        "{status}"
    );
    assert_eq!((&status["store"]["series"], &status["store"]["samples"]), (&json!(3), &json!(3)));
    assert_eq!(status["is_ready"], true);
    // A time that is none is a bad time, whatever sends it; and a file that is imported comes by
    // no protocol of others.
    server.talk(b"put sys.x noon 1 h=a\nput sys.x 600 one h=a\nexit\n");
    let path = format!("{ROOT}/import?format=influx&precision=s");
    assert_eq!(server.post(&path, "cpu a=3 601\ncpu a=x 602\n").status, 200);
    let ingest = &get(&server, "status")["ingest"];
    let told = &ingest["telnet"]["rejected"];
    assert_eq!((&told["timestamp"], &told["value"]), (&json!(1), &json!(1)), "{told}");
    let (imported, written) = (&ingest["import"], &ingest["influx_http"]);
    assert_eq!((&imported["samples"], &imported["rejected"]["value"]), (&json!(1), &json!(1)));
    assert_eq!((&written["samples"], &written["rejected"]), (&json!(2), &Value::Null), "{written}");
    let parts = status["memory"]["parts"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["name"] == "names of series" && part["bytes"] != 0));
    assert!(status["store"]["wal_syncs"].as_u64() > Some(0), "{status}");
    assert!(status["memory"]["resident_bytes"].as_u64().unwrap() > 1 << 20, "{status}");
    server.stop();
}

#[test]
fn points_that_are_refused_are_told_with_their_texts() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let point = |metric: &str, value: &str, tags: &str| {
        format!(r#"{{"metric":"{metric}","timestamp":600,"value":{value},"tags":{{{tags}}}}}"#)
    };
    let bad = [
        point("j", "\"x\"", r#""h":"a""#),
        point("j m!", "1", r#""h":"a""#),
        point("j", "1", r#""h!":"a""#),
    ];
    let body = format!("[{}, {}]", point("j", "1", r#""h":"a""#), bad.join(", "));
    assert_eq!(server.post("/api/put?details", &body).status, 400);
    let status = get(&server, "status");
    let told: Vec<_> = status["rejects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["reason"].as_str().unwrap(),
                one["line"].as_u64().unwrap(),
                one["text"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(told.len(), 3, "each in its own words: {told:?}");
    let (value, name) =
        (&told.iter().find(|one| one.0 == "value"), &told.iter().find(|one| one.1 == 3));
    assert_eq!(value.map(|one| (one.1, one.2)), Some((2, &*bad[0])), "{told:?}");
    assert_eq!(name.map(|one| one.2), Some(&*bad[1]), "the first of its reason: {told:?}");
    server.stop();
}

#[test]
fn each_request_and_each_fault_of_one_is_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let lines: Vec<String> = (0..10).map(|n| format!("m v=bad{n} 600")).collect();
    assert_eq!(server.post("/write?db=default&precision=s", &lines.join("\n")).status, 400);
    for n in 0..12 {
        let line = format!("m v=\"x 60{n}");
        assert_eq!(server.post("/write?db=default&precision=s", &line).status, 400);
    }
    let status = get(&server, "status");
    let told: Vec<&str> = status["rejects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(told.len(), 20, "{told:#?}");
    assert_eq!(told.iter().filter(|text| text.contains("x 60")).count(), 12, "{told:#?}");
    let rejected = status["ingest"]["influx_http"]["rejected"].as_object().unwrap();
    assert_eq!(rejected.values().filter_map(Value::as_u64).sum::<u64>(), 22);
    server.stop();
}

#[test]
fn what_was_asked_can_be_asked_again() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "cpu,host=a v=1 600\ncpu,host=b v=2 600");
    let question = |text: &str| {
        let costs = get(&server, "queries/costs")["costs"].clone();
        let costs = costs.as_array().unwrap();
        let cost = costs.iter().find(|cost| cost["text"].as_str().unwrap().contains(text));
        let cost = cost.unwrap_or_else(|| panic!("no {text} in {costs:#?}"));
        assert_eq!((&cost["address"], &cost["owner"]), (&json!("127.0.0.1"), &json!("")));
        cost["question"].clone()
    };
    let asked = |language: &str, texts: Value, range: [Value; 3]| {
        let [start_ms, end_ms, step_ms] = range;
        json!({"language": language, "texts": texts, "start_ms": start_ms, "end_ms": end_ms, "step_ms": step_ms})
    };
    ask(
        &server,
        &json!({"language": "opentsdb", "text": "sum:$step-avg:cpu.v", "start_ms": 600_000,
            "end_ms": 700_000, "step_ms": 5_000}),
    );
    let range = [json!(600_000), json!(700_000), json!(5_000)];
    assert_eq!(question("$step"), asked("opentsdb", json!(["sum:$step-avg:cpu.v"]), range.clone()));
    let path = "/prometheus/api/v1/query_range?query=cpu_v&start=600&end=700&step=5";
    assert_eq!(server.get(path).status, 200);
    assert_eq!(question("query_range cpu_v"), asked("promql", json!(["cpu_v"]), range.clone()));
    // At one instant, and in the other dialect.
    assert_eq!(server.get("/prometheus/api/v1/query?query=sum(cpu_v)&time=600").status, 200);
    let at = [json!(600_000), json!(600_000), Value::Null];
    assert_eq!(question("query sum(cpu_v)"), asked("promql", json!(["sum(cpu_v)"]), at));
    let path = "/victoriametrics/api/v1/query_range?start=600&end=700&step=5&query";
    assert_eq!(server.get(&format!("{path}=max(cpu_v)")).status, 200);
    assert_eq!(question("max(cpu_v)"), asked("promql", json!(["max(cpu_v)"]), range));
    assert_eq!(server.get(&format!("{path}=median(cpu_v)")).status, 200);
    assert_eq!(question("median(cpu_v)"), Value::Null, "which PromQL has not");
    let none = || [Value::Null, Value::Null, Value::Null];
    assert_eq!(server.get("/query?db=default&q=SELECT+max(v)+FROM+cpu").status, 200);
    let wanted = asked("influxql", json!(["SELECT max(v) FROM cpu"]), none());
    assert_eq!(question("SELECT max"), wanted);
    assert_eq!(server.get("/query?db=default&rp=autogen&q=SELECT+min(v)+FROM+cpu").status, 200);
    assert_eq!(question("SELECT min"), Value::Null, "an address has no policy");
    let body = json!({"start": 600, "end": 700, "queries": [
        {"aggregator": "max", "metric": "cpu.v", "tags": {"host": "*"}},
        {"aggregator": "min", "metric": "cpu.v", "downsample": "1m-avg"}]});
    assert_eq!(server.post("/api/query", &body.to_string()).status, 200);
    let texts = json!(["max:cpu.v{host=*}", "min:1m-avg:cpu.v"]);
    let range = [json!(600_000), json!(700_000), Value::Null];
    assert_eq!(question("\"aggregator\""), asked("opentsdb", texts, range));
    // What is cut would ask something else.
    let long = format!("sum(cpu_v{{host!=\"{}\"}})", "x".repeat(2_000));
    ask(&server, &json!({"language": "promql", "text": long}));
    assert_eq!(question("sum(cpu_v{host")["texts"], json!([]));
    server.stop();
}

#[test]
fn a_query_that_runs_is_listed_and_ended() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-query-seconds", "600"]);
    let lines: Vec<String> = (0..400).map(|host| format!("m,h=h{host} v=1 3600")).collect();
    write(&server, &lines.join("\n"));
    // Much is made up of little; who asks for it does not read the answer, so that it goes on.
    let body = json!({"language": "opentsdb", "text": "sum:1s-avg-zero:m.v{h=*}",
        "start_ms": 0, "end_ms": 10_800_000})
    .to_string();
    let mut reader = server.connect();
    let path = format!("{ROOT}/query");
    reader.write_all(&harness::request("POST", &path, &[], body.as_bytes())).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let running = || get(&server, "queries")["queries"].clone();
    // A question is listed before its first bytes are charged.
    let mut listed = running()[0].clone();
    while listed["memory_bytes"].as_u64() <= Some(0) {
        assert!(Instant::now() < deadline, "the query is not listed with its memory: {listed}");
        std::thread::sleep(Duration::from_millis(10));
        listed = running()[0].clone();
    }
    assert_eq!(
        (&listed["text"], &listed["is_cancelled"]),
        (&json!("sum:1s-avg-zero:m.v{h=*}"), &json!(false))
    );
    assert_eq!((&listed["owner"], &listed["address"]), (&json!(""), &json!("127.0.0.1")));
    let question = &listed["question"];
    assert_eq!(question["texts"], json!(["sum:1s-avg-zero:m.v{h=*}"]));
    assert_eq!((&question["start_ms"], &question["end_ms"]), (&json!(0), &json!(10_800_000)));
    let cancelled = post(&server, "queries/cancel", &json!({"id": listed["id"]}), 200);
    assert_eq!(cancelled["cancelled"], listed["id"]);
    let is_told = |row: &Value| row["is_cancelled"] == true;
    assert!(running().as_array().unwrap().iter().all(is_told));
    drop(reader);
    while !running().as_array().unwrap().is_empty() {
        assert!(Instant::now() < deadline, "the query goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
    let costs = get(&server, "queries/costs")["costs"].clone();
    let cost = costs.as_array().unwrap().iter().find(|cost| cost["text"] == listed["text"]);
    let cost = cost.expect("what it cost is remembered");
    assert_eq!(cost["count"], 1);
    assert!(cost["memory_peak_bytes"].as_u64() >= listed["memory_bytes"].as_u64(), "{cost}");
    assert_eq!(cost["by_itself"], false);
    // What a page asks by itself is told apart, also where somebody asks the same.
    let question = json!({"language": "promql", "text": "vector(7)"});
    ask(&server, &question);
    ask(&server, &json!({"language": "promql", "text": "vector(7)", "by_itself": true}));
    get(&server, "cardinality");
    let costs = get(&server, "queries/costs")["costs"].clone();
    let of = |text: &str| -> Vec<(bool, u64)> {
        let costs = costs.as_array().unwrap().iter().filter(|cost| cost["text"] == text);
        let told = |cost: &Value| (cost["by_itself"] == true, cost["count"].as_u64().unwrap());
        let mut told: Vec<_> = costs.map(told).collect();
        told.sort_unstable();
        told
    };
    assert_eq!(of("vector(7)"), [(false, 1), (true, 1)], "{costs}");
    assert_eq!(of("cardinality"), [(true, 1)], "{costs}");
    post(&server, "queries/cancel", &json!({"id": listed["id"]}), 404);
    post(&server, "queries/cancel", &json!({}), 400);
    server.stop();
}
