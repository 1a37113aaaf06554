//! Grafana's files under `deploy/grafana`: every panel asks what has an answer on a machine that
//! measures itself. Questions are put as Grafana's plugins put them.

use crate::harness::{PATIENCE, Scratch, Server};
use crate::root;
use serde_json::{Value, json};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An hour.
const RANGE_MS: u128 = 3_600_000;

pub(crate) fn panels_have_answers() {
    let dir = root().join("deploy/grafana");
    let sources = dir.join("provisioning/datasources/foliot.yaml");
    let sources = std::fs::read_to_string(sources).unwrap();
    let store = Scratch::new();
    let server = Server::start(store.path(), &["--agent-host", "--agent-interval", "1s"]);
    let mut asked = 0;
    for entry in std::fs::read_dir(dir.join("dashboards")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let dashboard: Value = serde_json::from_str(&text).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let uid = target["datasource"]["uid"].as_str().unwrap();
                assert!(sources.contains(&format!("uid: {uid}\n")), "{uid} is not provisioned");
                let began = Instant::now();
                while !has_answer(&server, target) {
                    let name = path.display();
                    assert!(began.elapsed() < PATIENCE, "{name}: {target} has no answer");
                    std::thread::sleep(Duration::from_millis(100));
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 20, "{asked}");
    let unknown = json!({"datasource": {"type": "opentsdb"}, "metric": "no.such.metric",
        "aggregator": "sum", "downsampleAggregator": "avg", "filters": []});
    assert!(!has_answer(&server, &unknown));
    server.stop();
}

/// Whether a panel's question has samples in its answer.
fn has_answer(server: &Server, target: &Value) -> bool {
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let response = match target["datasource"]["type"].as_str().unwrap() {
        "opentsdb" => server.post("/api/query", &opentsdb(target, now_ms).to_string()),
        _ => server.get(&format!("/query?db=default&epoch=ms&q={}", influxql(target, now_ms))),
    };
    let answer: Value = serde_json::from_str(&response.text()).unwrap_or_default();
    let points = answer[0]["dps"].as_object().map(serde_json::Map::len);
    let rows = answer["results"][0]["series"][0]["values"].as_array().map(Vec::len);
    points.or(rows).unwrap_or(0) > 0
}

fn opentsdb(target: &Value, now_ms: u128) -> Value {
    let mut query = json!({
        "metric": target["metric"],
        "aggregator": target["aggregator"],
        "downsample": format!("1s-{}", target["downsampleAggregator"].as_str().unwrap()),
        "filters": target["filters"],
    });
    if target["shouldComputeRate"] == true {
        query["rate"] = json!(true);
        query["rateOptions"] = json!({"counter": target["isCounter"], "dropResets": true});
    }
    let (start, end) = ((now_ms - RANGE_MS) as u64, now_ms as u64);
    json!({"start": start, "end": end, "msResolution": true, "queries": [query]})
}

/// A statement as it stands in a query string.
fn influxql(target: &Value, now_ms: u128) -> String {
    let range = format!("time >= {}ms and time <= {now_ms}ms", now_ms - RANGE_MS);
    let text = target["query"].as_str().unwrap();
    let text = text.replace("$timeFilter", &range).replace("$__interval", "1s");
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
