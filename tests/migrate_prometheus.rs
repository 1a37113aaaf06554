//! Moving in from Prometheus' own files through the real binary: what it answered is answered here.

use crate::harness::command::said;
use crate::harness::{Scratch, Server};
use crate::migrate::run;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

/// A data directory that Prometheus 2.42 wrote, and what that answered; `testdata/README.md` says
/// more.
fn prometheus() -> (PathBuf, Vec<Json>) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/prometheus");
    let answers = std::fs::read(dir.join("answers.json")).unwrap();
    (dir.join("data"), serde_json::from_slice(&answers).unwrap())
}

/// The series of an answer, in an order of their own. Bounds of buckets are compared to twelve
/// digits: servers calculate them differently.
fn series(result: &Json) -> Vec<String> {
    let result = result.as_array().unwrap().iter();
    let mut series: Vec<String> = result
        .map(|series| match series.get("histograms") {
            Some(histograms) => format!("{} {}", series["metric"], rounded(histograms)),
            None => series.to_string(),
        })
        .collect();
    series.sort_unstable();
    series
}

fn rounded(of: &Json) -> Json {
    match of {
        Json::String(text) => text.parse().map_or(of.clone(), |n: f64| format!("{n:.12e}").into()),
        Json::Array(parts) => parts.iter().map(rounded).collect(),
        Json::Object(parts) => {
            parts.iter().map(|(name, part)| (name.clone(), rounded(part))).collect()
        }
        other => other.clone(),
    }
}

fn assert_answers_of_prometheus(server: &Server, answers: &[Json]) {
    for wanted in answers {
        let (query, time) = (wanted["query"].as_str().unwrap(), &wanted["time"]);
        let query: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/prometheus/api/v1/query?time={time}&query={query}");
        let answer: Json = serde_json::from_slice(&server.get(&path).body).unwrap();
        let found = &answer["data"]["result"];
        assert_eq!(series(found), series(&wanted["result"]), "{}", wanted["query"]);
    }
}

#[test]
fn prometheus_data_answer_as_in_prometheus() {
    let scratch = Scratch::new();
    let (dir, answers) = prometheus();
    let (dir, store) = (dir.to_str().unwrap(), scratch.path().join("store"));
    let dry = run(&["import", "prometheus", dir, "--dry-run"], &store);
    // Forty of each series and a mark of staleness; eleven and three are deleted.
    let told = "226 samples found, 0 refused, 10 exemplars left out";
    assert!(dry.status.success() && said(&dry).contains(told), "{}", said(&dry));
    assert!(!store.exists(), "nothing is written");
    for _ in 0..2 {
        let imported = run(&["import", "prometheus", dir], &store);
        assert!(imported.status.success(), "{}", said(&imported));
        assert!(said(&imported).contains("226 samples stored, 0 refused"), "{}", said(&imported));
        let server = Server::start(&store, &[]);
        assert_answers_of_prometheus(&server, &answers);
        server.stop();
    }
}

#[test]
fn prometheus_data_go_through_a_running_server_all_the_same() {
    let scratch = Scratch::new();
    let (dir, answers) = prometheus();
    let server = Server::start(scratch.path(), &[]);
    let url = format!("http://{}", server.address);
    let words = ["import", "prometheus", dir.to_str().unwrap(), "--url", &url];
    let imported = run(&words, scratch.path());
    assert!(imported.status.success(), "{}", said(&imported));
    assert_answers_of_prometheus(&server, &answers);
    server.stop();
}

#[test]
fn what_is_damaged_in_prometheus_data_is_named_and_the_rest_is_taken() {
    let scratch = Scratch::new();
    let (from, dir) = (prometheus().0, scratch.path().join("data"));
    let block = "01HF6Z8ZC0GARDEN0000000000";
    let copy = |name: &str, change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(from.join(name)).unwrap();
        change(&mut bytes);
        std::fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        std::fs::write(dir.join(name), bytes).unwrap();
    };
    let files = ["index", "tombstones", "chunks/000001"].map(|name| format!("{block}/{name}"));
    for (name, change, stored, reason) in [
        // The last byte of data of the last chunk: the counter's.
        (
            &*files[2],
            (&|bytes: &mut Vec<u8>| *bytes.iter_mut().rev().nth(4).unwrap() ^= 1)
                as &dyn Fn(&mut Vec<u8>),
            186,
            "checksum",
        ),
        (&files[0], &|bytes| bytes[100] ^= 1, 117, "checksum"),
        (&files[0], &|bytes| bytes.truncate(40), 117, "ends too early"),
        (&files[0], &|bytes| bytes[4] = 9, 117, "version 9 of the index"),
        (&files[1], &|bytes| bytes[8] ^= 1, 117, "tombstones: the checksum"),
        ("wal/00000001", &|bytes| bytes[3000] ^= 1, 0, "is left out: the checksum"),
        ("wal/00000001", &|bytes| bytes[0] = 0, 0, "is left out: what fills a page is not zeros"),
    ] {
        files.iter().for_each(|name| copy(name, &|_| {}));
        ["wal/00000000", "wal/00000001"].iter().for_each(|name| copy(name, &|_| {}));
        copy(name, change);
        let store = scratch.path().join(format!("store-{stored}-{}", reason.len()));
        let imported = run(&["import", "prometheus", dir.to_str().unwrap()], &store);
        let said = said(&imported);
        assert_eq!(imported.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(reason), "{name}: {said}");
        assert!(
            stored == 0 || said.contains(&format!("{stored} samples stored")),
            "{name}: {said}"
        );
    }
    files.iter().for_each(|name| copy(name, &|_| {}));
    std::fs::remove_file(dir.join(&files[0])).unwrap();
    let lacking = run(&["import", "prometheus", dir.to_str().unwrap()], &scratch.path().join("l"));
    assert_eq!(lacking.status.code(), Some(1), "{}", said(&lacking));
    assert!(said(&lacking).contains(block), "{}", said(&lacking));
    // What was deleted in a block that does not say so comes back, which is told.
    files.iter().for_each(|name| copy(name, &|_| {}));
    ["wal/00000000", "wal/00000001"].iter().for_each(|name| copy(name, &|_| {}));
    std::fs::remove_file(dir.join(&files[1])).unwrap();
    let lacking = run(&["import", "prometheus", dir.to_str().unwrap()], &scratch.path().join("t"));
    assert_eq!(lacking.status.code(), Some(1), "{}", said(&lacking));
    assert!(said(&lacking).contains("the file tombstones is missing"), "{}", said(&lacking));
    assert!(said(&lacking).contains("237 samples stored"), "{}", said(&lacking));
    // Half a record at the end of the log is what a server leaves that was killed.
    files.iter().for_each(|name| copy(name, &|_| {}));
    copy("wal/00000001", &|bytes| bytes.truncate(bytes.len() - 3));
    let cut = run(&["import", "prometheus", dir.to_str().unwrap(), "--dry-run"], scratch.path());
    assert!(cut.status.success(), "{}", said(&cut));
    let empty = run(&["import", "prometheus", scratch.path().to_str().unwrap()], scratch.path());
    assert!(said(&empty).contains("neither blocks nor a wal"), "{}", said(&empty));
}
