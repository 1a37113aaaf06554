//! The audit log through the real binary: every door that takes samples away says so.

use crate::harness::api::get;
use crate::harness::{Scratch, Server};
use serde_json::{Value, json};

/// What the log says of the fields that tell who did what to how much.
fn told(dir: &Scratch) -> Vec<Value> {
    let log = std::fs::read_to_string(dir.path().join("audit.log")).unwrap_or_default();
    let of_line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["time_ns"].as_i64().unwrap() > 1_700_000_000_000_000_000, "{line}");
        assert!(line["from"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
        json!([line["door"], line["act"], line["database"], line["series"], line["samples"]])
    };
    log.lines().map(of_line).collect()
}

#[test]
fn every_door_that_deletes_says_so() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "opentsdb.allow_delete=true"]);
    let ask = |statement: &str| {
        let encoded = statement.replace(' ', "%20").replace('<', "%3C").replace('=', "%3D");
        let answer = server.post(&format!("/query?db=d&q={encoded}"), "");
        assert!(answer.status == 200 && !answer.text().contains("error"), "{}", answer.text());
    };
    ask("CREATE DATABASE d");
    let lines: String = (1..=9).map(|n| format!("m{} v={n} {n}\n", n % 3)).collect();
    assert_eq!(server.post("/write?db=d", &lines).status, 204);
    assert_eq!(server.post("/write?db=default", "o,h=a value=1 1000000000").status, 204);
    assert_eq!(server.post("/write?db=default", "p,h=a value=1 1000000000").status, 204);
    assert_eq!(told(&dir), [] as [Value; 0]);
    ask("DELETE FROM m0 WHERE time <= 3");
    ask("DELETE FROM m0 WHERE time <= 3");
    ask("DROP SERIES FROM m1");
    let body = r#"{"start":"1970-01-01T00:00:00Z","stop":"1980-01-01T00:00:00Z",
        "predicate":"_measurement=\"m2\""}"#;
    assert_eq!(server.post("/api/v2/delete?org=o&bucket=d", body).status, 204);
    let path = "/api/query?start=1&end=2&m=sum:o";
    assert_eq!(server.request("DELETE", path, &[], b"").status, 200);
    for preview in ["true", "false"] {
        let body = format!("{{\"metric\": \"p\", \"is_preview\": {preview}}}");
        assert_eq!(server.post("/api/foliot/v1/delete", &body).status, 200);
    }
    ask("ALTER RETENTION POLICY autogen ON d DURATION 30d");
    ask("DROP DATABASE d");
    assert_eq!(
        told(&dir),
        [
            json!(["influxql", "delete", "d", 1, 1]),
            json!(["influxql", "drop series", "d", 1, 3]),
            json!(["influx v2", "delete", "d", 1, 3]),
            json!(["opentsdb", "delete", "default", 1, 1]),
            json!(["foliot", "delete", "default", 1, 1]),
            json!(["influxql", "keep", "d", null, null]),
            json!(["influxql", "drop namespace", "d", 1, 0]),
        ]
    );
    // The API tells the same, newest first.
    let listed = get(&server, "audit?limit=3");
    let row = |act: &Value| json!([act["act"], act["database"], act["samples"], act["last_ms"]]);
    let rows: Vec<Value> = listed["acts"].as_array().unwrap().iter().map(row).collect();
    let expected = [
        json!(["drop namespace", "d", 0, null]),
        json!(["keep", "d", null, null]),
        json!(["delete", "default", 1, null]),
    ];
    assert_eq!((rows.as_slice(), &listed["is_whole"]), (expected.as_slice(), &json!(false)));
    let all = get(&server, "audit");
    assert_eq!(all["acts"].as_array().unwrap().len(), 7, "{all}");
    assert_eq!((&all["is_whole"], &all["acts"][6]["last_ms"]), (&json!(true), &json!(0)));
    server.stop();
}
