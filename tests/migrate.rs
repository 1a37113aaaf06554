//! Moving in and out through the real binary: dumps come back as they went in.

use crate::harness::command::{self, said};
use crate::harness::{Scratch, Server, foliot};
use serde_json::Value as Json;
use std::path::Path;
use std::process::{Output, Stdio};

/// Runs `foliot` with the given words and a data directory, unless they name a server.
pub(crate) fn run(words: &[&str], store: &Path) -> Output {
    match words.contains(&"--url") {
        true => command::run(words),
        false => command::run(&[words, &["--data-dir", store.to_str().unwrap()]].concat()),
    }
}

/// Imports `dump` into a new store and returns what an export of it says.
fn round_trip(format: &str, dump: &str) -> String {
    let scratch = Scratch::new();
    let (file, store) = (scratch.path().join("dump"), scratch.path().join("store"));
    std::fs::write(&file, dump).unwrap();
    let imported = run(&["import", format, file.to_str().unwrap()], &store);
    assert!(imported.status.success(), "{}", said(&imported));
    let exported = run(&["export", "--format", format], &store);
    assert!(exported.status.success(), "{}", said(&exported));
    String::from_utf8(exported.stdout).unwrap()
}

/// The lines of a text, sorted: an export goes series by series.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

/// What `tsdb scan --import` prints: integers and floats as Java prints them, seconds and
/// milliseconds, row by row.
const OPENTSDB: &str = "\
sys.cpu.user 1700002800 42 host=web01 cpu=0
sys.cpu.user 1700002810 43.5 host=web01 cpu=0
sys.cpu.user 1700002820250 -9223372036854775808 host=web01 cpu=0
sys.cpu.user 1700002800 0.1 host=web02 cpu=0
sys.cpu.user 1700002810 1.0E10 host=web02 cpu=0
sys.cpu.user 1700002820 1.0E-5 host=web02 cpu=0
sys.cpu.user 1700002830 3.4028235E38 host=web02 cpu=0
sys.cpu.user 1700002840 -0.0 host=web02 cpu=0
mém/oire_-. 1 9223372036854775807 time=x
";

#[test]
fn an_opentsdb_dump_comes_back_as_it_was() {
    // Tags come back in the order of their names.
    let expected = OPENTSDB.replace("host=web01 cpu=0", "cpu=0 host=web01");
    let expected = expected.replace("host=web02 cpu=0", "cpu=0 host=web02");
    assert_eq!(sorted(&round_trip("opentsdb", OPENTSDB)), sorted(&expected));
}

#[test]
fn a_dump_goes_through_a_running_server_all_the_same() {
    let scratch = Scratch::new();
    let (file, store) = (scratch.path().join("dump"), scratch.path().join("store"));
    std::fs::write(&file, OPENTSDB).unwrap();
    let server = Server::start(&store, &[]);
    let url = format!("http://{}", server.address);
    let words = ["import", "opentsdb", file.to_str().unwrap(), "--url", &url];
    let imported = run(&words, &store);
    assert!(imported.status.success(), "{}", said(&imported));
    assert_eq!(server.samples("none:sys.cpu.user{cpu=0,host=web01}").len(), 3);
    let refused = run(&["import", "opentsdb", file.to_str().unwrap()], &store);
    assert!(!refused.status.success());
    assert!(said(&refused).contains("--url"), "{}", said(&refused));
    server.stop();
    let exported = run(&["export", "--format", "opentsdb"], &store);
    let text = String::from_utf8(exported.stdout).unwrap();
    assert_eq!(text.lines().count(), OPENTSDB.lines().count());
    assert!(text.contains("sys.cpu.user 1700002820250 -9223372036854775808 cpu=0 host=web01\n"));
}

#[test]
fn put_lines_go_to_the_database_that_is_named() {
    let scratch = Scratch::new();
    let (file, store) = (scratch.path().join("dump"), scratch.path().join("store"));
    std::fs::write(&file, "m 1767225600 1 h=a\n").unwrap();
    let words = ["import", "opentsdb", file.to_str().unwrap(), "--db", "elsewhere", "--rp", "w"];
    let imported = run(&words, &store);
    assert!(imported.status.success(), "{}", said(&imported));
    let export = |words: &[&str], store: &Path| {
        run(&[&["export", "--format", "opentsdb"], words].concat(), store)
    };
    let line = "m 1767225600 1 h=a\n";
    let there = export(&["--db", "elsewhere", "--rp", "w"], &store);
    assert_eq!(String::from_utf8_lossy(&there.stdout), line, "{}", said(&there));
    // Who exports without a name is told of the other databases.
    let default = export(&[], &store);
    assert!(default.status.success() && default.stdout.is_empty(), "{}", said(&default));
    assert!(said(&default).contains("--db names another: elsewhere"), "{}", said(&default));
    let server = Server::start(&scratch.path().join("served"), &[]);
    let url = format!("http://{}", server.address);
    let imported = run(&[&words[..], &["--url", &url]].concat(), scratch.path());
    assert!(imported.status.success(), "{}", said(&imported));
    let asked = server.get("/query?db=elsewhere&rp=w&q=SELECT+value+FROM+m").text();
    assert!(asked.contains(r#""2026-01-01T00:00:00Z",1]"#), "{asked}");
    let measurements = server.get("/query?db=default&q=SHOW+MEASUREMENTS").text();
    assert!(!measurements.contains("\"m\""), "{measurements}");
    // A policy that nobody has is a typing error.
    let words = ["import", "influx", "--from", &url, "--db", "elsewhere", "--rp", "nope"];
    let refused = run(&words, &store);
    assert!(!refused.status.success(), "{}", said(&refused));
    assert!(said(&refused).contains("has a retention policy \"nope\""), "{}", said(&refused));
    server.stop();
}

#[test]
fn an_empty_file_is_called_empty() {
    let scratch = Scratch::new();
    let file = scratch.path().join("dump");
    std::fs::write(&file, "").unwrap();
    for (format, more) in [("influx", vec![]), ("influx", vec!["--dry-run"]), ("opentsdb", vec![])]
    {
        let words = [&["import", format, file.to_str().unwrap()], &more[..]].concat();
        let imported = run(&words, &scratch.path().join("store"));
        assert!(imported.status.success(), "{}", said(&imported));
        let told = said(&imported);
        assert!(told.contains("dump is empty: there are no lines in it"), "{told}");
        assert!(!told.contains("0 lines"), "{told}");
    }
}

#[test]
fn a_dry_run_of_puts_stores_nothing() {
    let scratch = Scratch::new();
    let (file, store) = (scratch.path().join("dump"), scratch.path().join("store"));
    for (format, put) in [("opentsdb", "m"), ("ticktock", "put m")] {
        std::fs::write(&file, format!("{put} 1767225600 1 h=a\n{put} 1767225601 x h=a\n")).unwrap();
        let dry = run(&["import", format, file.to_str().unwrap(), "--dry-run"], &store);
        assert_eq!(dry.status.code(), Some(1), "{}", said(&dry));
        assert!(said(&dry).contains("1 lines found, 1 refused"), "{}", said(&dry));
        assert!(!store.exists());
    }
}

#[test]
fn a_dump_of_which_nothing_is_understood_fails() {
    let scratch = Scratch::new();
    let file = scratch.path().join("dump");
    std::fs::write(&file, "m 1767225600 1 h=a\n\nm 1767225601 1 h=a\n").unwrap();
    let words = ["import", "ticktock", file.to_str().unwrap()];
    let imported = run(&words, &scratch.path().join("store"));
    assert_eq!(imported.status.code(), Some(1), "{}", said(&imported));
    let text = "0 lines stored, 0 refused, 2 passed over since they are no puts";
    assert!(said(&imported).contains(text), "{}", said(&imported));
}

/// What TickTock's `inspect -r` prints: a blank before the first tag, six significant digits,
/// fields as a tag, tags or none.
const TICKTOCK: &str = "\
put cpu 1700002800 42  host=a
put cpu 1700002810 42.25  host=a
put cpu 1700002800250 1e+06  _field=usage host=a
put lone 1700002800 -0.5
Total dps = 4
";

#[test]
fn a_ticktock_dump_comes_back_with_its_fields() {
    let expected = "\
put cpu 1700002800 42 host=a
put cpu 1700002810 42.25 host=a
put cpu 1700002800250 1000000 host=a _field=usage
put lone 1700002800 -0.5
";
    let once = round_trip("ticktock", TICKTOCK);
    assert_eq!(sorted(&once), sorted(expected));
    assert_eq!(round_trip("ticktock", &once), once);
}

#[test]
fn bad_lines_are_told_by_number_and_the_others_stay() {
    let scratch = Scratch::new();
    let (file, store) = (scratch.path().join("dump"), scratch.path().join("store"));
    for (format, dump, reasons) in [
        (
            "opentsdb",
            "m 1 1 h=a\nm x 1 h=a\n\nm 2 nan h=a\nm 3 1\nm 4 4 h=a\n",
            vec![":2: time: ", ":4: number: ", ":5: line: not enough arguments"],
        ),
        (
            "ticktock",
            "put t 1 1\nput t x 1\nput t 2 nan\nput t 3\nput t 4 4 h\nput t 5 5\n",
            vec![":2: 'x'", ":3: 'nan'", ":4: not enough words", ":5: invalid tag: h"],
        ),
    ] {
        std::fs::write(&file, dump).unwrap();
        let output = run(&["import", format, file.to_str().unwrap()], &store);
        assert!(!output.status.success(), "a refused line makes an import fail");
        let said = said(&output);
        for reason in &reasons {
            assert!(said.contains(reason), "{reason} is not in {said}");
        }
        let counts = format!("2 lines stored, {} refused", reasons.len());
        assert!(said.contains(&counts), "{said}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_counted() {
    let scratch = Scratch::new();
    let server = Server::start(scratch.path(), &[]);
    let lines = "m,h=a f=1i,text=\"x\",on=true 1700002800000000001\nm\\ n,h=a f=1 1700002800000000000\n\
                 lone value=2 1700002800000000000";
    assert_eq!(server.post("/write?db=default", lines).status, 204);
    server.stop();
    let output = run(&["export", "--format", "opentsdb"], scratch.path());
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(sorted(&text), ["m.f 1700002800000 1 h=a", "m.on 1700002800000 1 h=a"]);
    let told = said(&output);
    for part in [
        "2 samples of 3 series written",
        "2 series left out",
        "1 samples left out",
        "2 times cut to milliseconds",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    let output = run(&["export", "--format", "ticktock", "--end", "0"], scratch.path());
    assert!(output.stdout.is_empty(), "nothing was that early");
    for (start, expected) in [
        ("2023-11-14", 2),
        ("2023-11-14T23:00:00Z", 2),
        ("2023-11-14T23:00:01Z", 0),
        ("2023-11-14T23:00:00+01:00", 2),
        ("2023-11-15", 0),
    ] {
        let output = run(&["export", "--format", "opentsdb", "--start", start], scratch.path());
        assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), expected, "{start}");
    }
}

/// Runs `foliot config check --from` on a file with `text`.
fn check_from(text: &str, more: &[&str]) -> Output {
    let scratch = Scratch::new();
    let file = scratch.path().join("peer.conf");
    std::fs::write(&file, text).unwrap();
    foliot().args(["config", "check", "--from"]).arg(&file).args(more).output().unwrap()
}

#[test]
fn settings_of_other_servers_become_ours() {
    let opentsdb = "# comment\ntsd.network.port = 4242\ntsd.network.bind = 127.0.0.1\n\
                    tsd.query.timeout = 5000\ntsd.storage.hbase.zk_quorum = a\n\
                    tsd.http.request.cors_domains = *\ntsd.no.such = 1\n\
                    tsd.rtpublisher.enable = true\ntsd.rollups.enable = true\n";
    let scratch = Scratch::new();
    let rollups = scratch.path().join("rollups.json");
    let interval = r#"{"aggregationIds": {"sum": 0},
        "intervals": [{"table": "tsdb", "preAggregationTable": "pre", "interval": "1m",
            "rowSpan": "1h", "defaultInterval": true}]}"#;
    std::fs::write(&rollups, interval).unwrap();
    let opentsdb = format!("{opentsdb}tsd.rollups.config = {}\n", rollups.display());
    let output = check_from(&opentsdb, &[]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", said(&output));
    for part in [
        "listen.address = \"127.0.0.1:4242\" # tsd.network.port\n",
        "limits.query_seconds = \"5000ms\" # tsd.query.timeout\n",
        "http.cors_domains = \"*\" # tsd.http.request.cors_domains\n",
        "opentsdb.rollups = ",
        "#   tsd.rtpublisher.enable: nothing is published\n",
        "#   tsd.no.such\n",
        "#   tsd.storage.hbase.zk_quorum: there is no HBase\n",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    // What was printed is a file of settings.
    let scratch = Scratch::new();
    let file = scratch.path().join("foliot.toml");
    std::fs::write(&file, &text).unwrap();
    let shown = foliot().args(["config", "show", "--config"]).arg(&file).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let shows = |key: &str, part: &str| {
        shown.lines().any(|line| line.starts_with(key) && line.contains(part))
    };
    assert!(shows("limits.query_seconds", "5s") && shows("opentsdb.rollups", "defaultInterval"));
    // A listener that others reach is as unsafe as it was.
    let output = check_from("http.server.port = 6182\ntsdb.page.size = 256b\n", &[]);
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(text.contains("listen.ticktock = \"0.0.0.0:6182\" # http.server.port\n"), "{text}");
    assert!(!output.status.success() && said(&output).contains("--insecure"), "{}", said(&output));
    let output = check_from("http.server.port = 6182\n", &["--insecure"]);
    assert!(output.status.success(), "{}", said(&output));
}

/// Lines with every kind of value and awkward names.
const LINES: &str = r#"m\ x,k\=1=v\ 2,site=a\,b f=0.1,i=-3i,on=true,s="a \"b\" c\\d" 1
m\ x,k\=1=v\ 2,site=a\,b f=1e21,i=9223372036854775807i 2
m\ x i=7i 3
plain v=-0.25 1700000000000000000
"#;

#[test]
fn everything_comes_from_a_running_server() {
    let scratch = Scratch::new();
    let source = Server::start(&scratch.path().join("source"), &[]);
    for place in ["/write?db=one", "/write?db=two"] {
        assert_eq!(source.post(place, LINES).status, 204);
    }
    let make = "/query?q=CREATE+RETENTION+POLICY+%22a+b%22+ON+one+DURATION+INF+REPLICATION+1";
    let made = source.post(make, "");
    assert_eq!(made.status, 200);
    assert_eq!(source.post("/write?db=one&rp=a%20b", "other v=1 5").status, 204);
    let store = scratch.path().join("store");
    let url = format!("http://{}", source.address);
    // Twice is the same as once.
    for _ in 0..2 {
        let imported = run(&["import", "influx", "--from", &url], &store);
        assert!(imported.status.success(), "{}", said(&imported));
        assert!(said(&imported).contains("9 lines stored, 0 refused"), "{}", said(&imported));
    }
    source.stop();
    let exported = |words: &[&str]| {
        let words = [&["export", "--format", "line"], words].concat();
        let output = run(&words, &store);
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let key = r"m\ x,k\=1=v\ 2,site=a\,b";
    for database in ["one", "two"] {
        let text = exported(&["--db", database]);
        for line in [
            format!("{key} f=0.1 1"),
            format!("{key} f=1000000000000000000000 2"),
            format!("{key} i=-3i 1"),
            format!("{key} i=9223372036854775807i 2"),
            format!("{key} on=true 1"),
            format!(r#"{key} s="a \"b\" c\\d" 1"#),
            r"m\ x i=7i 3".to_owned(),
            "plain v=-0.25 1700000000000000000".to_owned(),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is missing in:\n{text}");
        }
        assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 8 + 1, "{text}");
    }
    assert!(exported(&["--db", "one", "--rp", "a b"]).contains("other v=1 5\n"));
    let missing = run(&["import", "influx", "--from", &url, "--db", "one"], &store);
    assert!(!missing.status.success(), "nobody listens there any more");
}

/// The retention policies of a database: name, duration, and whether it is the default one.
fn policies(server: &Server, database: &str) -> Vec<String> {
    let path = format!("/query?q=SHOW+RETENTION+POLICIES+ON+{database}");
    let answer: Json = serde_json::from_slice(&server.get(&path).body).unwrap();
    let rows = answer["results"][0]["series"][0]["values"].as_array().unwrap();
    let row = |row: &Json| format!("{} {} {}", row[0], row[1], row[4]);
    let mut rows: Vec<String> = rows.iter().map(row).collect();
    rows.sort();
    rows
}

fn order(server: &Server, statement: &str) {
    let statement: String = statement.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let answer = server.post(&format!("/query?q={statement}"), "").text();
    assert!(!answer.contains("error"), "{answer}");
}

#[test]
fn policies_come_with_what_is_in_them() {
    let scratch = Scratch::new();
    let source = Server::start(&scratch.path().join("source"), &[]);
    order(&source, "CREATE DATABASE one WITH DURATION 30d REPLICATION 1 NAME month");
    order(&source, "CREATE RETENTION POLICY \"a b\" ON one DURATION INF REPLICATION 1");
    order(&source, "CREATE RETENTION POLICY year ON one DURATION 52w REPLICATION 1");
    for path in ["/write?db=one", "/write?db=one&rp=a%20b", "/write?db=one&rp=year"] {
        assert_eq!(source.post(path, "m v=1").status, 204, "{path}");
    }
    let expected = policies(&source, "one");
    assert_eq!(expected.len(), 3, "{expected:?}");
    let from = format!("http://{}", source.address);
    let target = Server::start(&scratch.path().join("target"), &[]);
    let to = format!("http://{}", target.address);
    let store = scratch.path().join("store");
    // Twice is the same as once, and what somebody changed at the target stays.
    for round in 0..2 {
        for words in [&["--url", &*to][..], &[]] {
            let words = [&["import", "influx", "--from", &from], words].concat();
            let imported = run(&words, &store);
            assert!(imported.status.success(), "{}", said(&imported));
            assert!(said(&imported).contains("3 lines stored, 0 refused"), "{}", said(&imported));
        }
        let altered = expected.iter().map(|row| row.replace("8736h0m0s", "9000h0m0s"));
        let expected = if round == 0 { expected.clone() } else { altered.collect() };
        assert_eq!(policies(&target, "one"), expected);
        order(&target, "ALTER RETENTION POLICY year ON one DURATION 9000h");
    }
    let count = |server: &Server, policy: &str| {
        let path = format!("/query?db=one&rp={policy}&q=SELECT+count(v)+FROM+m");
        let answer: Json = serde_json::from_slice(&server.get(&path).body).unwrap();
        answer["results"][0]["series"][0]["values"][0][1].clone()
    };
    for policy in ["", "month", "a%20b", "year"] {
        assert_eq!(count(&target, policy), 1, "{policy}");
    }
    target.stop();
    source.stop();
    let kept = Server::start(&store, &[]);
    assert_eq!(policies(&kept, "one"), expected);
    kept.stop();
}

#[test]
fn a_dump_of_a_second_policy_goes_through_a_running_server() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.path().join("store"), &[]);
    assert_eq!(server.post("/write?db=d", "m v=1 5").status, 204);
    let dump = scratch.path().join("dump");
    let text = "# DML\n# CONTEXT-DATABASE:d\n# CONTEXT-RETENTION-POLICY:weekly\nm v=7 5\n";
    std::fs::write(&dump, text).unwrap();
    let url = format!("http://{}", server.address);
    let words = ["import", "influx", dump.to_str().unwrap(), "--url", &url];
    let imported = run(&words, scratch.path());
    assert!(imported.status.success(), "{}", said(&imported));
    let asked = server.get("/query?db=d&rp=weekly&q=SELECT+v+FROM+m").text();
    assert!(asked.contains(r#""1970-01-01T00:00:00.000000005Z",7]"#), "{asked}");
    assert_eq!(policies(&server, "d").len(), 2);
    server.stop();
}

#[test]
fn lines_that_a_server_refuses_are_told_by_number() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.path().join("store"), &[]);
    let url = format!("http://{}", server.address);
    let file = scratch.path().join("dump");
    for (format, dump, reasons) in [
        (
            "opentsdb",
            "m 1 1 h=a\nm x 1 h=a\n\nm 2 nan h=a\nm 3 1 h=\u{1b}[31m\nm 4 4 h=a\n",
            &[":2: ", ":4: ", ":5: "][..],
        ),
        ("influx", "m v=1 1\nm v=x 2\nm v=2 3\nm v=\"\u{1b}[31m\" 4\n", &[":2: ", ":4: "]),
    ] {
        std::fs::write(&file, dump).unwrap();
        let words = ["import", format, file.to_str().unwrap(), "--url", &url];
        let imported = run(&words, scratch.path());
        let said = said(&imported);
        assert_eq!(imported.status.code(), Some(1), "{said}");
        let name = file.display().to_string();
        let told: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix(&name)).collect();
        assert_eq!(told.len(), reasons.len(), "{said}");
        for (line, reason) in told.iter().zip(reasons) {
            assert!(line.starts_with(reason), "{reason} is not in {said}");
        }
        assert!(!said.contains('\u{1b}'), "{said:?}");
        let counts = format!("2 lines stored, {} refused", reasons.len());
        assert!(said.contains(&counts), "{said}");
    }
    server.stop();
}

/// A dry run says of each line what an import would, but for what the store alone knows.
#[test]
fn a_dry_run_judges_lines_as_the_store_does() {
    let scratch = Scratch::new();
    let (file, store) = (scratch.path().join("lines"), scratch.path().join("store"));
    let text = "m,h=a v=1 1\nm v=acid 2\n# m v=x\nm,h=b v=3 x\nm,h v=4 4\nm s=\"a\nb\" 5\n\
                ,h=a v=6 6\nm,h=c v=7i 7\nm,h=c w=8i,v=true 8\nm w=\"9\" 9\nn v=10i 10\n";
    std::fs::write(&file, text).unwrap();
    let name = file.to_str().unwrap();
    let faults = |output: &Output| {
        let said = said(output);
        let faults = said.lines().filter_map(|line| line.strip_prefix(name)).map(str::to_owned);
        faults.collect::<Vec<_>>()
    };
    let dry = run(&["import", "influx", name, "--dry-run"], &store);
    assert_eq!(dry.status.code(), Some(1), "{}", said(&dry));
    assert!(said(&dry).contains("4 lines found, 6 refused"), "{}", said(&dry));
    assert!(!store.exists());
    // Line 10 is refused, so that its w decides nothing for line 11.
    let expected = [
        ":2: v: invalid boolean",
        ":4: timestamp: bad timestamp",
        ":5: tag: missing tag value",
        ":8: measurement: missing measurement",
        ":9: v: field type conflict: input field \"v\" on measurement \"m\" is type integer, already exists as type float",
        ":10: v: field type conflict: input field \"v\" on measurement \"m\" is type boolean, already exists as type float",
    ];
    assert_eq!(faults(&dry), expected);
    let real = run(&["import", "influx", name], &store);
    assert!(said(&real).contains("4 lines stored, 6 refused"), "{}", said(&real));
    assert_eq!(faults(&real), expected);
}

/// Where the server wants to know who writes, the environment says it, as for `foliot query`.
#[test]
fn an_import_through_a_server_asks_with_the_token_of_the_environment() {
    let scratch = Scratch::new();
    let store = scratch.path().join("store");
    let made = run(&["user", "token", "bringer", "--role", "admin"], &store);
    assert!(made.status.success(), "{}", said(&made));
    let token = String::from_utf8(made.stdout).unwrap().trim().to_owned();
    let file = scratch.path().join("lines");
    std::fs::write(&file, "m,h=a v=1 1\n").unwrap();
    let server = Server::start(&store, &["--access"]);
    let url = format!("http://{}", server.address);
    let bring = |token: Option<&str>| {
        let mut command = foliot();
        command.args(["import", "influx", file.to_str().unwrap(), "--url", &url]);
        if let Some(token) = token {
            command.env("FOLIOT_TOKEN", token);
        }
        command.stdin(Stdio::null()).output().unwrap()
    };
    let without = bring(None);
    assert!(said(&without).contains("401"), "{}", said(&without));
    let with = bring(Some(&token));
    assert!(with.status.success(), "{}", said(&with));
    assert!(said(&with).contains("1 lines stored"), "{}", said(&with));
    server.stop();
}

#[test]
fn an_import_that_makes_a_store_says_so() {
    let scratch = Scratch::new();
    let (file, store) = (scratch.path().join("dump"), scratch.path().join("store"));
    std::fs::write(&file, OPENTSDB).unwrap();
    let words = ["import", "opentsdb", file.to_str().unwrap()];
    let note = format!("there was no store in {}: a new one was made", store.display());
    let first = said(&run(&words, &store));
    assert!(first.contains(&note) && first.contains("--url"), "{first}");
    let second = said(&run(&words, &store));
    assert!(!second.contains("a new one was made"), "{second}");
}

#[test]
fn an_export_without_a_part_that_should_be_there_says_so_and_fails() {
    let scratch = Scratch::new();
    let store = scratch.path();
    let server = Server::start(store, &[]);
    for round in 0..2 {
        server.talk(format!("put gone.m {} 7 h=a\n", 1_700_000_000 + round).as_bytes());
        server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", f64::from(round) + 1.0);
        server.signal(rustix::process::Signal::USR1);
        server.wait_for_metric("foliot_parts", f64::from(round) + 1.0);
    }
    assert_eq!(server.get("/-/ready").text().trim_end(), "ready");
    server.stop();
    let names = std::fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
    let mut parts: Vec<_> =
        names.filter(|path| path.extension().is_some_and(|e| e == "part")).collect();
    parts.sort();
    let aside = store.with_extension("aside");
    std::fs::rename(&parts[0], &aside).unwrap();
    let name = parts[0].file_name().unwrap().to_str().unwrap();
    // Whoever looks after the server is told as well; it serves the rest.
    let server = Server::start(store, &[]);
    let (ready, health) = (server.get("/-/ready"), server.get("/health"));
    assert_eq!((ready.status, health.status), (200, 200));
    for said in [ready.text(), health.text()] {
        assert!(said.contains(name) && said.contains("missing"), "{said}");
    }
    assert!((server.metric("foliot_failures_in_a_row{work=\"files\"}") - 1.0).abs() < 0.1);
    server.stop();
    let exported = run(&["export", "--format", "opentsdb"], store);
    assert!(!exported.status.success());
    assert!(said(&exported).contains(name), "{}", said(&exported));
    assert_eq!(String::from_utf8_lossy(&exported.stdout).lines().count(), 1, "the rest is written");
    std::fs::rename(&aside, &parts[0]).unwrap();
    let exported = run(&["export", "--format", "opentsdb"], store);
    assert!(exported.status.success(), "{}", said(&exported));
    assert_eq!(String::from_utf8_lossy(&exported.stdout).lines().count(), 2);
}

#[test]
fn an_import_makes_no_database_that_nobody_else_may_make() {
    let scratch = Scratch::new();
    let dump = scratch.path().join("dump");
    std::fs::write(&dump, "m v=1 1\n").unwrap();
    let dump = dump.to_str().unwrap();
    let store = scratch.path().join("store");
    for place in [["--db", ".."], ["--db", "a/b"], ["--rp", "a\\b"]] {
        let refused = run(&[&["import", "influx", dump][..], &place].concat(), &store);
        assert_eq!(refused.status.code(), Some(1), "{place:?}");
        assert!(said(&refused).contains("invalid name"), "{place:?}: {}", said(&refused));
    }
    let listed = foliot().args(["retention", "--data-dir"]).arg(&store).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.matches(" keeps ").count(), 1, "nothing was made: {listed}");
    assert!(listed.starts_with("default.autogen "), "{listed}");
}

/// What an export of a store leaves there: names, lengths and times of its files.
fn trace(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let mut found: Vec<String> = entries
        .map(|entry| {
            let meta = entry.metadata().unwrap();
            format!("{:?} {} {:?}", entry.file_name(), meta.len(), meta.modified().unwrap())
        })
        .collect();
    found.sort_unstable();
    found
}

#[test]
fn an_export_keeps_the_retention_of_the_store_and_leaves_it_as_it_is() {
    let scratch = Scratch::new();
    let (store, backups) = (scratch.path().join("store"), scratch.path().join("backups"));
    let server = Server::start(&store, &[]);
    for (metric, at) in [("old", 1_700_000_000), ("audit", 1_700_000_000), ("new", now_s())] {
        server.talk(format!("put {metric} {at} 1 h=a\n").as_bytes());
    }
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 3.0);
    server.stop();
    let kept = ["--retention", "1d", "--retention-rules", "audit=forever"];
    let server = Server::start(&store, &kept);
    let backed_up = run(&["backup", backups.to_str().unwrap()], &store);
    assert!(backed_up.status.success(), "{}", said(&backed_up));
    server.stop();
    let backup = std::fs::read_dir(&backups).unwrap().next().unwrap().unwrap().path();
    for dir in [&store, &backup] {
        let before = trace(dir);
        for variable in ["forever", "1h"] {
            let mut export = foliot();
            export.args(["export", "--format", "opentsdb", "--data-dir"]).arg(dir);
            let exported = export.env("FOLIOT_RETENTION_TIME", variable).output().unwrap();
            assert!(exported.status.success(), "{}", said(&exported));
            let text = String::from_utf8(exported.stdout).unwrap();
            let metrics: Vec<_> =
                text.lines().map(|line| line.split(' ').next().unwrap()).collect();
            assert_eq!(metrics, ["audit", "new"], "{text}");
        }
        assert_eq!(trace(dir), before);
    }
}

fn now_s() -> u64 {
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    since.as_secs()
}

#[test]
fn a_dump_goes_to_the_database_that_is_said_if_it_names_one() {
    let one = "# DDL\nCREATE DATABASE \"garden\" WITH NAME \"weekly\"\n# DML\n\
               # CONTEXT-DATABASE:garden\n# CONTEXT-RETENTION-POLICY:weekly\nm v=1 1\n";
    let two = "# CONTEXT-DATABASE:house\n# CONTEXT-RETENTION-POLICY:autogen\nm v=2 2\n";
    let ddl = "# DDL\nCREATE DATABASE garden WITH NAME weekly\n\
               CREATE DATABASE house WITH NAME autogen\n# DML\n# CONTEXT-DATABASE:garden\nm v=1 1\n";
    let scratch = Scratch::new();
    let (dump, store) = (scratch.path().join("dump"), scratch.path().join("store"));
    let import = |text: &str, flags: &[&str]| {
        std::fs::write(&dump, text).unwrap();
        run(&[&["import", "influx", dump.to_str().unwrap()][..], flags].concat(), &store)
    };
    let listed = || {
        let listed = foliot().args(["retention", "--data-dir"]).arg(&store).output().unwrap();
        let text = String::from_utf8(listed.stdout).unwrap();
        let name = |line: &str| line.split(' ').next().unwrap().to_owned();
        text.lines().map(name).collect::<Vec<_>>()
    };
    for (text, flags, flag) in [
        (ddl, ["--db", "scratch"], "databases garden and house, which --db scratch"),
        (&format!("{one}{two}"), ["--rp", "x"], "policies weekly and autogen, which --rp x"),
    ] {
        let refused = import(text, &flags);
        assert_eq!(refused.status.code(), Some(2), "{}", said(&refused));
        assert!(said(&refused).contains(flag), "{}", said(&refused));
    }
    assert!(import(one, &["--db", "scratch"]).status.success());
    assert!(listed().contains(&"scratch.weekly".to_owned()), "{:?}", listed());
    assert!(!listed().contains(&"garden.weekly".to_owned()), "{:?}", listed());
    assert!(import(&format!("{one}{two}"), &[]).status.success());
    for place in ["garden.weekly", "house.autogen"] {
        assert!(listed().contains(&place.to_owned()), "{place}: {:?}", listed());
    }
}
