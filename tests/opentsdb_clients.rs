//! What OpenTSDB's clients send, as they send it: byte streams of TCollector, Telegraf and
//! collectd, and the requests of Grafana's data source for each version that it knows. The requests
//! follow the clients' sources: `tcollector.py`, Grafana's `opentsdb/datasource.ts` and
//! `pkg/tsdb/opentsdb`, Telegraf's `outputs/opentsdb`, collectd's `write_tsdb.c`.

use crate::harness::{Scratch, Server};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::{Read, Write};

const JSON: (&str, &str) = ("Content-Type", "application/json");

fn ask(server: &Server, path: &str, body: &Value) -> Value {
    let body = body.to_string();
    let response = server.request("POST", path, &[JSON], body.as_bytes());
    assert_eq!(response.status, 200, "{}", response.text());
    serde_json::from_str(&response.text()).unwrap()
}

fn get(server: &Server, path: &str) -> Value {
    let response = server.get(path);
    assert_eq!(response.status, 200, "{path}: {}", response.text());
    serde_json::from_str(&response.text()).unwrap()
}

/// TCollector keeps one socket, asks for the version now and then, and drains nothing else.
#[test]
fn tcollector_polls_the_version_and_never_reads_errors() {
    let scratch = Scratch::new();
    let server = Server::start(scratch.path(), &[]);
    let mut socket = server.connect();
    let mut polls = 0;
    for round in 0..20 {
        let mut lines = String::new();
        for index in 0..500 {
            let second = 1_700_002_800 + round * 500 + index;
            // Every tenth is one that a sloppy collector makes: the answer is never read.
            let value = if index % 10 == 9 { "NaN".to_owned() } else { index.to_string() };
            lines += &format!("put proc.loadavg.1min {second} {value} host=web01\n");
        }
        socket.write_all(lines.as_bytes()).unwrap();
        // verify_conn: sends the word, then reads up to 4096 bytes at a time, and goes on for as
        // long as it gets exactly that many.
        socket.write_all(b"version\n").unwrap();
        let mut buffer = [0; 4096];
        let mut all = Vec::new();
        loop {
            let read = socket.read(&mut buffer).unwrap();
            assert!(read > 0, "the connection is alive");
            all.extend_from_slice(&buffer[..read]);
            if read < 4096 {
                break;
            }
        }
        polls += usize::from(!all.is_empty());
    }
    assert_eq!(polls, 20, "every poll had an answer");
    socket.write_all(b"put proc.loadavg.1min 1700099999 7 host=web01\n").unwrap();
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 9001.0);
    assert_eq!(server.samples("none:proc.loadavg.1min").len(), 9001);
}

/// TCollector over HTTP: an array of points, every value a float.
#[test]
fn tcollector_over_http() {
    let scratch = Scratch::new();
    let server = Server::start(scratch.path(), &[]);
    let body = r#"[{"timestamp": 1700002800, "metric": "df.bytes.free", "value": 1.5E9, "tags": {"mount": "/", "host": "web01"}}, {"timestamp": 1700002815, "metric": "df.bytes.free", "value": 1.0, "tags": {"mount": "/", "host": "web01"}}]"#;
    let headers = [("Content-Type", "application/json"), ("Authorization", "Basic dTpw")];
    let response = server.request("POST", "/api/put?details", &headers, body.as_bytes());
    assert_eq!(response.text(), r#"{"success":2,"failed":0,"errors":[]}"#);
    assert_eq!(server.samples("none:df.bytes.free").len(), 2);
}

/// collectd's write_tsdb: CRLF, blanks doubled and at the end, nothing read.
#[test]
fn collectd_doubles_blanks_and_ends_lines_with_two_bytes() {
    let scratch = Scratch::new();
    let server = Server::start(scratch.path(), &[]);
    let mut socket = server.connect();
    let lines = "put load.load.shortterm 1700002800 0.170000 fqdn=stranger  site=test\r\n\
                 put memory.memory.used 1700002800 815783936.000000 fqdn=stranger  site=test \r\n\
                 put cpu.0.cpu.user 1700002800 42 fqdn=stranger  \r\n";
    socket.write_all(lines.as_bytes()).unwrap();
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 3.0);
    let used = server.samples("none:memory.memory.used%7Bsite=test%7D");
    assert_eq!(used, [(1_700_002_800_000, "815783936.0".to_owned())]);
    assert_eq!(server.samples("none:cpu.0.cpu.user%7Bfqdn=stranger%7D").len(), 1);
}

/// Telegraf: a connection per flush with telnet, gzipped arrays with a type misspelt over HTTP.
#[test]
fn telegraf_by_telnet_and_by_http() {
    let scratch = Scratch::new();
    let server = Server::start(scratch.path(), &[]);
    drop(server.connect());
    for flush in 0..3 {
        let second = 1_700_002_800 + flush;
        let lines = format!(
            "put tele_cpu_usage_idle {second} 99.123456 cpu=cpu0 host=web01 \n\
             put tele_net_bytes {second} 1234567890123 host=web01 \n"
        );
        let mut socket = server.connect();
        socket.write_all(lines.as_bytes()).unwrap();
    }
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 6.0);
    let bytes = server.samples("none:tele_net_bytes");
    assert_eq!(bytes[0], (1_700_002_800_000, "1234567890123".to_owned()));
    let point = |second: i64, value: Value| json!({"metric": "tele_mem", "timestamp": second, "value": value, "tags": {"host": "web01"}});
    let body = json!([point(1_700_002_800, json!(1.5)), point(1_700_002_801, json!("2.500000"))]);
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    zipped.write_all(body.to_string().as_bytes()).unwrap();
    let headers = [("Content-Type", "applicaton/json"), ("Content-Encoding", "gzip")];
    let zipped = zipped.finish().unwrap();
    let response = server.request("POST", "/api/put", &headers, &zipped);
    assert_eq!(response.status, 204);
    let response = server.request("POST", "/api/put?details", &headers, &zipped);
    assert_eq!(response.status, 200);
    assert_eq!(server.samples("none:tele_mem").len(), 2);
}

const START_MS: i64 = 1_700_002_800_000;

fn dashboard(scratch: &Scratch) -> Server {
    let server = Server::start(scratch.path(), &[]);
    let mut lines = String::new();
    for minute in 0..10 {
        for host in ["web01", "web02"] {
            let second = START_MS / 1000 + minute * 60;
            let value = minute * 10 + i64::from(host == "web02");
            lines += &format!("put sys.cpu {second} {value} host={host} dc=lga\n");
        }
    }
    server.talk(lines.as_bytes());
    server
}

/// Save & test, the editor's lists, and template variables.
#[test]
fn grafana_asks_for_names() {
    let scratch = Scratch::new();
    let server = dashboard(&scratch);
    let suggested = get(&server, "/api/suggest?type=metrics&q=cpu&max=1000");
    assert_eq!(suggested, json!([]), "any 200 is a success");
    assert_eq!(get(&server, "/api/suggest?type=metrics&q=&max=1000"), json!(["sys.cpu"]));
    assert_eq!(get(&server, "/api/suggest?type=tagk&q=h&max=1000"), json!(["host"]));
    assert_eq!(get(&server, "/api/suggest?type=tagv&q=web&max=1000"), json!(["web01", "web02"]));
    let aggregators = get(&server, "/api/aggregators");
    for name in ["sum", "avg", "zimsum", "p99", "none"] {
        assert!(aggregators.as_array().unwrap().contains(&json!(name)), "{name}");
    }
    let filters = get(&server, "/api/config/filters");
    for name in ["literal_or", "wildcard", "regexp", "not_literal_or"] {
        assert!(filters[name]["description"].is_string(), "{name}");
    }
}

/// A panel's query as each version of OpenTSDB is asked, by the browser and by the backend.
#[test]
fn grafana_draws_panels_for_every_version() {
    let scratch = Scratch::new();
    let server = dashboard(&scratch);
    let end_ms = START_MS + 600_000;
    let request = |version: u32, resolution: u32, query: Value| {
        let mut body = json!({
            "start": START_MS, "end": end_ms, "queries": [query],
            "msResolution": resolution == 2, "globalAnnotations": true,
        });
        if version >= 3 {
            body["showQuery"] = json!(true);
        }
        body
    };
    // Version 1 (<= 2.1) knows tags only.
    let tags = json!({"metric": "sys.cpu", "aggregator": "sum", "downsample": "1m-avg",
                      "tags": {"host": "web01|web02"}});
    let answer = ask(&server, "/api/query", &request(1, 1, tags));
    assert_eq!(answer.as_array().unwrap().len(), 2, "the tag groups: {answer}");
    assert_eq!(answer[0]["dps"]["1700002860"], json!(10.0));
    // Version 2 (2.2): filters, some of which do not group.
    let filter = |kind: &str, filter: &str, groups: bool| json!({"type": kind, "tagk": "host", "filter": filter, "groupBy": groups});
    let filtered = json!({"metric": "sys.cpu", "aggregator": "avg", "downsample": "5m-max-nan",
        "rate": true, "rateOptions": {"counter": true, "dropResets": true},
        "filters": [filter("wildcard", "web*", false), filter("literal_or", "web01|web02", true)],
        "explicitTags": false});
    let answer = ask(&server, "/api/query", &request(2, 2, filtered));
    assert_eq!(answer.as_array().unwrap().len(), 2, "{answer}");
    let times: Vec<&String> = answer[0]["dps"].as_object().unwrap().keys().collect();
    assert!(times.iter().all(|time| time.len() == 13), "milliseconds: {times:?}");
    // Version 3 (2.3) finds its panels by the index of the query.
    let two = json!({"start": "1h-ago", "queries": [
        {"metric": "sys.cpu", "aggregator": "none", "downsample": "500ms-avg"},
        {"metric": "sys.cpu", "aggregator": "max"}],
        "msResolution": false, "globalAnnotations": true, "showQuery": true});
    let mut body = two;
    (body["start"], body["end"]) = (json!(START_MS), json!(end_ms));
    let answer = ask(&server, "/api/query", &body);
    let indexes: Vec<&Value> =
        answer.as_array().unwrap().iter().map(|result| &result["query"]["index"]).collect();
    assert_eq!(indexes, [&json!(0), &json!(0), &json!(1)]);
    // Version 4 (2.4): the backend wants arrays of numbers, and knows gzip.
    let plain = json!({"metric": "sys.cpu", "aggregator": "sum",
        "filters": [filter("literal_or", "web01", false)]});
    let body = request(4, 2, plain).to_string();
    let headers = [JSON, ("Accept-Encoding", "gzip"), ("User-Agent", "Grafana/11.0")];
    let response = server.request("POST", "/api/query?arrays=true", &headers, body.as_bytes());
    assert_eq!(response.status, 200);
    let mut text = String::new();
    match response.header("content-encoding") {
        "gzip" => {
            flate2::read::GzDecoder::new(&response.body[..]).read_to_string(&mut text).unwrap();
        }
        _ => text = response.text(),
    }
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer[0]["dps"][1], json!([START_MS + 60_000, 10]));
    assert_eq!(answer[0]["tags"], json!({"host": "web01", "dc": "lga"}));
    // The browser shows what went wrong.
    let unknown =
        json!({"start": START_MS, "queries": [{"metric": "nosuch", "aggregator": "sum"}]});
    let response = server.request("POST", "/api/query", &[JSON], unknown.to_string().as_bytes());
    let error: Value = serde_json::from_str(&response.text()).unwrap();
    assert_eq!(response.status, 400);
    assert!(error["error"]["message"].as_str().unwrap().contains("nosuch"));
}

/// Annotations are asked for with a question of their own, and read from its first answer.
#[test]
fn grafana_reads_annotations() {
    let scratch = Scratch::new();
    let server = dashboard(&scratch);
    let second = START_MS / 1000;
    let everywhere = json!({"startTime": second + 60, "endTime": second + 90,
        "description": "deploy", "notes": "v2", "custom": {"by": "ci"}});
    // The series of web01, whose names were the first to come.
    let here = json!({"tsuid": "000001000001000001000002000002", "startTime": second + 120,
        "description": "reboot"});
    let stored = |note: &Value| ask(&server, "/api/annotation", note);
    let (everywhere, here) = (stored(&everywhere), stored(&here));
    let mut asked = json!({"start": START_MS, "end": START_MS + 600_000,
        "queries": [{"aggregator": "sum", "metric": "sys.cpu"}],
        "msResolution": false, "globalAnnotations": true});
    let answer = ask(&server, "/api/query", &asked);
    assert_eq!(answer[0]["globalAnnotations"], json!([everywhere]));
    assert_eq!(answer[0]["annotations"], json!([here]), "{answer}");
    let read = |note: &Value| (note["description"].clone(), note["startTime"].clone());
    let expected = (json!("deploy"), json!(second + 60));
    assert_eq!(read(&answer[0]["globalAnnotations"][0]), expected);
    assert_eq!(read(&answer[0]["annotations"][0]), (json!("reboot"), json!(second + 120)));
    // Other times have others.
    asked["start"] = json!(START_MS + 300_000);
    let later = ask(&server, "/api/query", &asked);
    assert_eq!(later[0].get("globalAnnotations"), None);
}
