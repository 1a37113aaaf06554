//! InfluxDB 3's API: rows that stand for themselves, and databases.

use crate::harness;
use crate::harness::{Scratch, Server, foliot};
use serde_json::{Value as Json, json};

const LINES: &str = "cpu,host=a,region=us usage=0.5,cores=4i 1\n\
                     cpu,host=b,region=us usage=1,note=\"x, \\\"y\\\"\" 1500000\n\
                     cpu,host=a usage=0.25 2000000000\n";

fn ask(server: &Server, question: &str, format: &str) -> String {
    let question = question.replace(' ', "+").replace('<', "%3C");
    let path = format!("/api/v3/query_influxql?db=d&format={format}&q={question}");
    let answer = server.get(&path);
    assert_eq!(answer.status, 200, "{}", answer.text());
    answer.text()
}

fn post(server: &Server, path: &str, body: &Json) -> harness::Response {
    let headers = [("Content-Type", "application/json")];
    server.request("POST", path, &headers, body.to_string().as_bytes())
}

/// What InfluxDB 3's own tests show: `iox::measurement` first, times without a zone and with three,
/// six or nine digits of a second, floats with a point, and nothing where a row has nothing.
#[test]
fn rows_stand_for_themselves() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/api/v3/write_lp?db=d&precision=nanosecond", LINES).status, 204);
    let rows: Json = serde_json::from_str(&ask(&server, "SELECT * FROM cpu", "json")).unwrap();
    let expected = json!([
        {"iox::measurement": "cpu", "time": "1970-01-01T00:00:00.000000001", "cores": 4,
         "host": "a", "region": "us", "usage": 0.5},
        {"iox::measurement": "cpu", "time": "1970-01-01T00:00:00.001500", "host": "b",
         "note": "x, \"y\"", "region": "us", "usage": 1.0},
        {"iox::measurement": "cpu", "time": "1970-01-01T00:00:02", "host": "a", "usage": 0.25},
    ]);
    assert_eq!(rows, expected);
    let question = "SELECT usage FROM cpu WHERE time < 1s GROUP BY host";
    assert_eq!(
        ask(&server, question, "jsonl"),
        "{\"iox::measurement\":\"cpu\",\"time\":\"1970-01-01T00:00:00.000000001\",\"host\":\"a\",\
         \"usage\":0.5}\n\
         {\"iox::measurement\":\"cpu\",\"time\":\"1970-01-01T00:00:00.001500\",\"host\":\"b\",\
         \"usage\":1.0}\n"
    );
    assert_eq!(
        ask(&server, "SELECT host, note, usage FROM cpu", "csv"),
        "iox::measurement,time,host,note,usage\n\
         cpu,1970-01-01T00:00:00.000000001,a,,0.5\n\
         cpu,1970-01-01T00:00:00.001500,b,\"x, \"\"y\"\"\",1.0\n\
         cpu,1970-01-01T00:00:02,a,,0.25\n"
    );
    assert_eq!(
        ask(&server, "SELECT usage FROM cpu WHERE time < 1s", "pretty"),
        "+------------------+-------------------------------+-------+\n\
         | iox::measurement | time                          | usage |\n\
         +------------------+-------------------------------+-------+\n\
         | cpu              | 1970-01-01T00:00:00.000000001 | 0.5   |\n\
         | cpu              | 1970-01-01T00:00:00.001500    | 1.0   |\n\
         +------------------+-------------------------------+-------+"
    );
    assert_eq!(ask(&server, "SELECT usage FROM nowhere", "json"), "[]");
    assert_eq!(
        ask(&server, "SHOW MEASUREMENTS", "json"),
        r#"[{"iox::measurement":"measurements","name":"cpu"}]"#
    );
    server.stop();
}

#[test]
fn a_question_may_stand_in_a_body() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/api/v3/write_lp?db=d&precision=nanosecond", LINES).status, 204);
    let body = json!({"db": "d", "format": "csv", "params": {"h": "b"},
        "q": "SELECT usage FROM cpu WHERE host = $h"});
    let answer = post(&server, "/api/v3/query_influxql", &body);
    assert_eq!(
        (answer.status, answer.text()),
        (200, "iox::measurement,time,usage\ncpu,1970-01-01T00:00:00.001500,1.0\n".to_owned())
    );
    assert_eq!(answer.header("content-type"), "text/csv");
    let path = "/api/v3/query_influxql?db=d&q=SELECT+usage+FROM+cpu+LIMIT+1";
    let answer = server.request("GET", path, &[("Accept", "application/jsonl")], b"");
    assert_eq!(answer.text().lines().count(), 1);
    assert_eq!(answer.header("content-type"), "application/jsonl");
    server.stop();
}

#[test]
fn what_is_refused_says_why() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/api/v3/write_lp?db=d&precision=nanosecond", LINES).status, 204);
    let influxql = "/api/v3/query_influxql?db=d&q=";
    for (path, status, expected) in [
        (format!("{influxql}SELEC"), 400, "error parsing query"),
        (format!("{influxql}SHOW+DATABASES;SHOW+DATABASES"), 400, "one statement at a time"),
        (format!("{influxql}DROP+MEASUREMENT+cpu"), 400, "nothing is changed here"),
        (format!("{influxql}SELECT+usage+INTO+x+FROM+cpu"), 400, "nothing is changed here"),
        (format!("{influxql}SELECT+1&format=parquet"), 400, "foliot query --format parquet"),
        ("/api/v3/query_influxql?db=d".to_owned(), 400, "missing required parameter \"q\""),
        (
            "/api/v3/query_influxql?db=nope&q=SELECT+usage+FROM+cpu".to_owned(),
            404,
            "database not found: nope",
        ),
    ] {
        let answer = server.get(&path);
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        let said: Json = serde_json::from_str(&answer.text()).unwrap();
        assert!(said["error"].as_str().unwrap().contains(expected), "{path}: {said}");
    }
    assert!(ask(&server, "SELECT count(usage) FROM cpu", "csv").contains(",3"));
    server.stop();
}

/// Where nothing is, and where something else is asked for, the answer is of the form of this API.
#[test]
fn what_is_not_there_is_told_in_the_words_of_this_api() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (method, path, status, expected) in [
        ("GET", "/api/v3/nope", 404, "path not found: this part of InfluxDB does not exist here"),
        ("GET", "/api/v3", 404, "path not found"),
        ("POST", "/api/v3/write_pl", 404, "did you mean /api/v3/write_lp?"),
        ("POST", "/api/v3/configure/token", 404, "path not found"),
        ("GET", "/api/v3/write_lp?db=d", 405, "allowed here: POST"),
        ("DELETE", "/api/v3/query_influxql", 405, "allowed here: GET, POST"),
        ("PUT", "/api/v3/configure/database", 405, "allowed here: GET, POST, DELETE"),
    ] {
        let answer = server.request(method, path, &[], b"");
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "application/json", "{path}");
        let said: Json = serde_json::from_str(&answer.text()).unwrap();
        assert_eq!(said.as_object().unwrap().len(), 1, "{path}: {said}");
        assert!(said["error"].as_str().unwrap().contains(expected), "{path}: {said}");
    }
    server.stop();
}

#[test]
fn a_bad_line_is_told_with_its_number_and_its_field() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let answer = server.post("/api/v3/write_lp?db=d", "soil ph=6.5\nsoil wet=1,ph=acid\n");
    assert_eq!(answer.status, 400);
    let said: Json = serde_json::from_str(&answer.text()).unwrap();
    let bad = json!({"original_line": "soil wet=1,ph=acid", "line_number": 2,
        "error_message": "invalid boolean (line 2, field ph: a text needs double quotes)"});
    assert_eq!(said, json!({"error": "partial write of line protocol occurred", "data": [bad]}));
    let answer = server.post("/api/v3/write_lp?db=d", "soil ph=6i\nsoil ph=7\n");
    let said = answer.text();
    assert!(said.contains("\"line_number\":1") && said.contains("ph"), "{said}");
    server.stop();
}

#[test]
fn databases_are_made_listed_and_dropped() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let path = "/api/v3/configure/database";
    let made = post(&server, path, &json!({"db": "plant", "retention_period": "30d"}));
    assert_eq!((made.status, made.text()), (200, String::new()));
    assert_eq!(post(&server, path, &json!({"db": "plant"})).status, 409);
    let policies = server.get("/query?db=plant&q=SHOW+RETENTION+POLICIES").text();
    assert!(policies.contains("720h0m0s"), "{policies}");
    let list = server.get(&format!("{path}?format=json")).text();
    let list: Json = serde_json::from_str(&list).unwrap();
    let plant = json!({"iox::database": "plant", "deleted": false});
    assert!(list.as_array().unwrap().contains(&plant), "{list}");
    for (body, expected) in [
        (json!({}), "db: the name of the database is missing"),
        (json!({"db": 1}), "db must be text"),
        (json!({"db": "x", "retention": "1d"}), "retention is none of db, retention_period"),
        (json!({"db": "x", "retention_period": "soon"}), "\\\"soon\\\" is no time such as 30d"),
        (json!({"db": "x", "retention_period": "1s"}), "must be at least 1h0m0s"),
    ] {
        let answer = post(&server, path, &body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(answer.text().contains(expected), "{body}: {}", answer.text());
    }
    let delete = |query: &str| server.request("DELETE", &format!("{path}{query}"), &[], b"");
    for (query, status) in [
        ("", 400),
        ("?db=plant&hard_delete_at=never", 400),
        ("?db=plant&data_only=true", 400),
        ("?db=plant&db=d", 400),
        ("?db=plant&dry_run=true", 400),
        ("?db=nope", 404),
        ("?db=plant&hard_delete_at=now", 200),
        ("?db=plant", 404),
    ] {
        let answer = delete(query);
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
    }
    server.stop();
}

/// What names no database is written to `default`, which comes back with the next such write.
#[test]
fn the_default_database_comes_back_and_that_is_said() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/api/v3/write_lp?db=default", "soil wet=1 1").status, 204);
    let path = "/api/v3/configure/database?db=default";
    for _ in 0..2 {
        let answer = server.request("DELETE", path, &[], b"");
        assert_eq!(answer.status, 200, "{}", answer.text());
        let said: Json = serde_json::from_str(&answer.text()).unwrap();
        let said = said["message"].as_str().unwrap();
        assert!(said.starts_with("what was in default is gone; the next write"), "{said}");
    }
    let list = server.get("/api/v3/configure/database?format=csv").text();
    assert!(!list.contains("default"), "{list}");
    let path = "/api/v3/query_influxql?db=default&format=json&q=SELECT+wet+FROM+soil";
    assert_eq!(server.get(path).text(), "[]");
    assert_eq!(server.post("/write?db=default", "soil wet=2 2").status, 204);
    let list = server.get("/api/v3/configure/database?format=csv").text();
    assert!(list.contains("default,false"), "{list}");
    server.stop();
}

#[test]
fn a_policy_is_obeyed_and_one_that_is_missing_is_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for statement in [
        "CREATE DATABASE garden",
        "CREATE RETENTION POLICY week ON garden DURATION 7d REPLICATION 1",
    ] {
        let path = format!("/query?q={}", statement.replace(' ', "+"));
        assert_eq!(server.post(&path, "").status, 200, "{statement}");
    }
    assert_eq!(server.post("/write?db=garden&rp=week", "soil wet=1").status, 204);
    let ask = |policy: &str| {
        let path =
            format!("/api/v3/query_influxql?db=garden&format=csv&q=SELECT+wet+FROM+soil{policy}");
        let answer = server.get(&path);
        (answer.status, answer.text())
    };
    let (status, text) = ask("&rp=week");
    assert_eq!((status, text.lines().count()), (200, 2), "{text}");
    assert_eq!(ask("").1.lines().count(), 0);
    let (status, text) = ask("&rp=nope");
    assert!(status == 404 && text.contains("nope"), "{status} {text}");
}

#[test]
fn only_administrators_make_and_drop_databases() {
    let dir = Scratch::new();
    let token = |role: &str| {
        let mut command = foliot();
        command.args(["user", "token", role, "--role", role, "--data-dir"]).arg(dir.path());
        let made = command.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let (reader, admin) = (token("read"), token("admin"));
    let server = Server::start(dir.path(), &["--access"]);
    let path = "/api/v3/configure/database";
    let send = |token: &str, method: &str, path: &str, body: &str| {
        let bearer = format!("Bearer {token}");
        server.request(method, path, &[("Authorization", &bearer)], body.as_bytes()).status
    };
    let body = r#"{"db": "d"}"#;
    assert_eq!(send(&reader, "POST", path, body), 403);
    assert_eq!(send(&admin, "POST", path, body), 200);
    assert_eq!(send(&reader, "GET", &format!("{path}?format=csv"), ""), 200);
    assert_eq!(send(&reader, "DELETE", &format!("{path}?db=d"), ""), 403);
    assert_eq!(send(&admin, "DELETE", &format!("{path}?db=d"), ""), 200);
    server.stop();
}
