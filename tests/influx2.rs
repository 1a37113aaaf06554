//! Moving in from InfluxDB 2, and from the files of either version, through the real binary.

use crate::harness::command::{lines, run, said};
use crate::harness::target::{Answer, Target};
use crate::harness::{Scratch, Server};
use std::path::{Path, PathBuf};

/// Files that InfluxDB 1.6.7 wrote, laid out as version 2 lays them, and what that InfluxDB
/// answered; `testdata/README.md` says more.
fn files() -> (PathBuf, Vec<String>) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/influxdb");
    let expected = std::fs::read_to_string(dir.join("expected.lp")).unwrap();
    let mut expected: Vec<String> = expected.lines().map(str::to_owned).collect();
    expected.sort_unstable();
    (dir, expected)
}

const BUCKET: &str = "12ab34cd56ef78ab";

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Blocks of every kind, values deleted of blocks, values written, deleted and written again in the
/// log, and keys of both versions.
#[test]
fn files_hold_what_influxdb_answered() {
    let scratch = Scratch::new();
    let (dir, expected) = files();
    let bucket = dir.join("engine/data").join(BUCKET);
    for (from, database) in [(&dir, BUCKET), (&dir.join("engine"), BUCKET), (&bucket, "garden")] {
        let store = scratch.path().join(format!("store-{}", from.as_os_str().len()));
        let words = ["import", "influx2", from.to_str().unwrap(), "--data-dir"];
        let named = if database == BUCKET { &[][..] } else { &["--db", database] };
        let imported = run(&[&words[..], &[store.to_str().unwrap()], named].concat());
        assert!(imported.status.success(), "{}", said(&imported));
        // Four values of the log replace some of the blocks.
        let count = format!("{} lines stored, 0 refused", expected.len() + 4);
        assert!(said(&imported).contains(&count), "{}", said(&imported));
        assert_eq!(lines(&store, database), expected);
    }
}

#[test]
fn files_of_version_1_keep_databases_and_policies() {
    let scratch = Scratch::new();
    let (dir, expected) = files();
    let root = scratch.path().join("influxdb");
    for kind in ["data", "wal"] {
        let from = dir.join("engine").join(kind).join(BUCKET).join("autogen/1");
        copy(&from, &root.join(kind).join("garden/weekly/7"));
    }
    let store = scratch.path().join("store");
    let words = ["import", "influx", root.to_str().unwrap(), "--data-dir"];
    let imported = run(&[&words[..], &[store.to_str().unwrap()]].concat());
    assert!(imported.status.success(), "{}", said(&imported));
    let words = ["export", "--format", "line", "--db", "garden", "--rp", "weekly", "--data-dir"];
    let exported = run(&[&words[..], &[store.to_str().unwrap()]].concat());
    let text = String::from_utf8(exported.stdout).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains('=')).count(), expected.len());
}

#[test]
fn what_is_damaged_is_named_and_the_rest_is_taken() {
    let scratch = Scratch::new();
    let (dir, _) = files();
    let tsm = "data/garden/autogen/1/000000001-000000001.tsm";
    let wal = "wal/garden/autogen/1/_00002.wal";
    for (name, at, reason, stored) in [
        // The first block, and the magic number.
        (tsm, 12, "the checksum of the block at byte 5 is wrong", true),
        (tsm, 0, "it does not begin as a file of blocks does", true),
        // The first entry's packed bytes.
        (wal, 9, "_00002.wal", true),
    ] {
        let root = scratch.path().join(format!("{}-{at}", name.len()));
        for kind in ["data", "wal"] {
            let from = dir.join("engine").join(kind).join(BUCKET).join("autogen/1");
            copy(&from, &root.join(kind).join("garden/autogen/1"));
        }
        let mut bytes = std::fs::read(root.join(name)).unwrap();
        bytes[at] ^= 0x40;
        std::fs::write(root.join(name), bytes).unwrap();
        let words = ["import", "influx", root.to_str().unwrap(), "--dry-run", "--data-dir"];
        let store = root.join("store");
        let imported = run(&[&words[..], &[store.to_str().unwrap()]].concat());
        let said = said(&imported);
        assert_eq!(imported.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(reason), "{name}: {said}");
        assert_eq!(!said.contains(" 0 lines found"), stored, "{name}: {said}");
    }
    let empty = run(&["import", "influx2", scratch.path().join("x").to_str().unwrap()]);
    assert!(said(&empty).contains("cannot open"), "{}", said(&empty));
    std::fs::create_dir(scratch.path().join("x")).unwrap();
    let empty = run(&["import", "influx2", scratch.path().join("x").to_str().unwrap()]);
    assert!(said(&empty).contains("has no shards of InfluxDB"), "{}", said(&empty));
}

/// An answer of `/api/v2/query` as the documents of InfluxDB 2 show it: annotations, a table for
/// each group of columns, empty lines between tables.
const ANSWER: &str = "\
#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,double,string,string,string\r
#group,false,false,true,true,false,false,true,true,true\r
#default,_result,,,,,,,,\r
,result,table,_start,_stop,_time,_value,_field,_measurement,host\r
,,0,1677-09-21T00:12:43.145224194Z,2262-04-11T23:47:16.854775807Z,2026-01-01T00:00:00Z,0.5,usage,cpu,a b\r
,,0,1677-09-21T00:12:43.145224194Z,2262-04-11T23:47:16.854775807Z,2026-01-01T00:00:00.000000001Z,1e+21,usage,cpu,a b\r
\r
#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,string,string,string\r
#group,false,false,true,true,false,false,true,true\r
#default,_result,,,,,,,\r
,result,table,_start,_stop,_time,_value,_field,_measurement\r
,,1,1677-09-21T00:12:43.145224194Z,2262-04-11T23:47:16.854775807Z,2026-01-01T00:00:00Z,\"two\nlines, \"\"quoted\"\"\",note,log\r
\r
#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339,unsignedLong,string,string\r
#group,false,false,true,true,false,false,true,true\r
#default,_result,,,,,,,\r
,result,table,_start,_stop,_time,_value,_field,_measurement\r
,,2,1677-09-21T00:12:43.145224194Z,2262-04-11T23:47:16.854775807Z,2026-01-01T00:00:00Z,18446744073709551615,n,log\r
\r
";

const EXPECTED: [&str; 5] = [
    "cpu,host=a\\ b usage=0.5 1767225600000000000",
    "cpu,host=a\\ b usage=1000000000000000000000 1767225600000000001",
    "lines, \\\"quoted\\\"\" 1767225600000000000",
    "log n=18446744073709551615u 1767225600000000000",
    "log note=\"two",
];

fn json(body: &str) -> Answer {
    Answer::of("application/json", body.as_bytes())
}

#[test]
fn a_running_influxdb_2_is_asked_bucket_by_bucket() {
    let scratch = Scratch::new();
    let influx = Target::start();
    influx.set(
        "/api/v2/buckets?limit=100&org=plant",
        json(
            r#"{"buckets": [
            {"id": "01", "orgID": "0f", "type": "user", "name": "garden", "retentionRules":
             [{"type": "expire", "everySeconds": 315360000, "shardGroupDurationSeconds": 86400}]},
            {"id": "02", "orgID": "0f", "type": "system", "name": "_monitoring"},
            {"id": "03", "orgID": "0f", "type": "user", "name": "garden/week", "retentionRules": []}
            ]}"#,
        ),
    );
    influx.set("/api/v2/query?orgID=0f", Answer::of("text/csv", ANSWER.as_bytes()));
    let server = Server::start(&scratch.path().join("served"), &[]);
    let (from, url) = (format!("http://{}", influx.address), format!("http://{}", server.address));
    let words = ["import", "influx2", "--from", &from, "--token", "secret==", "--org", "plant"];
    let imported = run(&[&words[..], &["--url", &url]].concat());
    assert!(imported.status.success(), "{}", said(&imported));
    assert!(said(&imported).contains("8 lines stored, 0 refused"), "{}", said(&imported));
    let asked = influx.asked();
    assert!(asked.iter().all(|asked| asked.headers["authorization"] == "Token secret=="));
    let questions: Vec<&str> = asked
        .iter()
        .filter(|asked| asked.path.contains("query") && !asked.body.contains("-1s"))
        .map(|asked| &*asked.body)
        .collect();
    assert_eq!(questions.len(), 2, "the bucket of the server itself is left out: {questions:?}");
    assert!(questions[0].contains(r#"from(bucket: \"garden\") |> range(start: "#), "{questions:?}");
    let policies = server.get("/query?db=garden&q=SHOW+RETENTION+POLICIES").text();
    assert!(policies.contains("87600h0m0s") && policies.contains("\"week\""), "{policies}");
    server.stop();
    for policy in ["autogen", "week"] {
        let dir = scratch.path().join("served");
        let words = ["export", "--format", "line", "--db", "garden", "--rp", policy, "--data-dir"];
        let exported = run(&[&words[..], &[dir.to_str().unwrap()]].concat());
        let text = String::from_utf8(exported.stdout).unwrap();
        for line in EXPECTED {
            assert!(text.contains(line), "{policy}: {line} is missing in {text}");
        }
    }
}

#[test]
fn a_file_of_annotated_csv_is_read_and_what_is_wrong_is_named() {
    let scratch = Scratch::new();
    let file = scratch.path().join("answer.csv");
    let store = scratch.path().join("store");
    std::fs::write(&file, ANSWER).unwrap();
    let words = ["import", "influx2", file.to_str().unwrap(), "--db", "x", "--data-dir"];
    let imported = run(&[&words[..], &[store.to_str().unwrap()]].concat());
    assert!(imported.status.success(), "{}", said(&imported));
    assert_eq!(lines(&store, "x"), EXPECTED);
    std::fs::write(&file, ANSWER.replace(",0.5,", ",warm,")).unwrap();
    let imported = run(&[&words[..], &[store.to_str().unwrap()]].concat());
    assert_eq!(imported.status.code(), Some(1));
    assert!(
        said(&imported).contains("answer.csv:5: _value: \"warm\" is no double"),
        "{}",
        said(&imported)
    );
    std::fs::write(&file, "cpu,host=a v=1 1\n").unwrap();
    let imported = run(&[&words[..], &[store.to_str().unwrap()]].concat());
    assert_eq!(imported.status.code(), Some(1));
    assert!(said(&imported).contains("`foliot import influx`"), "{}", said(&imported));
    let error = "#datatype,string,string\r\n,error,reference\r\n,\"quota exceeded\",897\r\n";
    std::fs::write(&file, format!("{ANSWER}{error}")).unwrap();
    let imported = run(&[&words[..], &[store.to_str().unwrap()]].concat());
    assert_eq!(imported.status.code(), Some(1));
    assert!(said(&imported).contains("quota exceeded"), "{}", said(&imported));
}

#[test]
fn what_an_influxdb_2_refuses_is_told() {
    let influx = Target::start();
    let from = format!("http://{}", influx.address);
    let refusal = Answer {
        status: 401,
        ..json(r#"{"code":"unauthorized","message":"unauthorized access"}"#)
    };
    influx.set("/api/v2/buckets?limit=100", refusal);
    let refused = run(&["import", "influx2", "--from", &from, "--dry-run"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("401") && said(&refused).contains("unauthorized access"));
    influx.set("/api/v2/buckets?limit=100", json(r#"{"buckets": []}"#));
    let refused = run(&["import", "influx2", "--from", &from, "--db", "nope", "--dry-run"]);
    assert!(said(&refused).contains("there is no bucket \"nope\""), "{}", said(&refused));
    // One that lists its buckets and does not answer Flux leaves no store behind.
    let bucket = r#"{"buckets": [{"id": "01", "orgID": "0f", "name": "garden"}]}"#;
    influx.set("/api/v2/buckets?limit=100", json(bucket));
    influx
        .set("/api/v2/query?orgID=0f", Answer { status: 501, ..json(r#"{"message":"no Flux"}"#) });
    let scratch = Scratch::new();
    let store = scratch.path().join("store");
    let words = ["import", "influx2", "--from", &from, "--data-dir", store.to_str().unwrap()];
    let refused = run(&words);
    assert!(said(&refused).contains("no Flux"), "{}", said(&refused));
    assert!(!store.exists(), "{}", said(&refused));
}

#[test]
fn what_names_the_wrong_thing_is_told_the_right_one() {
    let (dir, _) = files();
    let shard = dir.join("engine/data").join(BUCKET).join("autogen/1");
    let names = std::fs::read_dir(shard).unwrap().map(|file| file.unwrap().path());
    let blocks = names.into_iter().find(|path| path.extension().unwrap() == "tsm").unwrap();
    let scratch = Scratch::new();
    let store = scratch.path().join("store");
    let store = store.to_str().unwrap();
    for (words, code, expected) in [
        (
            &["import", "influx", blocks.to_str().unwrap()][..],
            1,
            "is one of the files of InfluxDB's engine, which say only together what is stored",
        ),
        (
            &["import", "influx2", "answer.csv", "--token", "x"],
            2,
            "--token says who asks a running server: name that with --from http://HOST:PORT",
        ),
        (&["import", "influx2", "--org", "plant"], 2, "--org says who asks a running server"),
        (
            &["import", "influx2", "--from", "http://127.0.0.1:1"],
            1,
            "is the server running? --from names another",
        ),
        (
            &["import", "influx", "--from", "http://127.0.0.1:1"],
            1,
            "is the server running? --from names another",
        ),
    ] {
        let refused = run(&[words, &["--data-dir", store]].concat());
        assert_eq!(refused.status.code(), Some(code), "{words:?}: {}", said(&refused));
        assert!(said(&refused).contains(expected), "{words:?}: {}", said(&refused));
        assert!(!said(&refused).contains(char::REPLACEMENT_CHARACTER), "{}", said(&refused));
        assert!(!Path::new(store).exists(), "{words:?}: a store was made for nothing");
    }
}
