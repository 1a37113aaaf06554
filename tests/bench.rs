//! The benchmark tool against the real server: everything it can verify is verified through every
//! door, what it reports is consistent, and servers that it cannot judge are refused.

use crate::harness::{Scratch, Server, foliot};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Output, Stdio};

/// Runs `foliot bench` to its end.
fn bench(words: &[&str]) -> Output {
    foliot().arg("bench").args(words).output().unwrap()
}

#[test]
fn verify_all_finds_nothing_wrong_behind_any_door() {
    let dir = Scratch::new();
    let server = Server::start(&dir.path().join("data"), &[]);
    let out = dir.path().join("report");
    let target = format!("foliot://{}", server.address);
    let words =
        ["exp", "verify-all", "--short", "--note", "commit=1", "--target", &target, "--out"];
    let ran = bench(&[&words[..], &[out.to_str().unwrap()]].concat());
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{said}");

    let text = std::fs::read_to_string(out.join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["right"], true);
    let tables = report["sections"][0]["tables"].as_array().unwrap();
    let rows = |table: usize| {
        let rows = tables[table]["rows"].as_array().unwrap().iter();
        rows.map(|row| row["cells"].as_array().unwrap().iter().map(text_of).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    for door in ["rows", "lines at /api/v2/write", "lines over TCP", "telnet put", "OpenTSDB JSON"]
    {
        let of_door: Vec<_> =
            rows(0).into_iter().filter(|row| row[0].split(", ").nth(1) == Some(door)).collect();
        assert!(of_door.len() >= 8, "{door}: {of_door:?}");
        for row in of_door {
            let number = |at: usize| row[at].parse::<u64>().unwrap();
            assert!(number(1) > 1000 && number(2) > 500, "{row:?}");
            assert_eq!((number(3), number(4)), (0, 0), "{row:?}");
        }
        let judged: u64 = rows(1)
            .iter()
            .filter(|row| row[0].split(", ").nth(1) == Some(door) && row[2] != "n/a")
            .map(|row| row[2].parse::<u64>().unwrap())
            .sum();
        assert!(judged >= 50, "{door}: only {judged} questions were judged");
    }
    // What only trucks are asked must have been asked in InfluxQL, and have found something.
    for kind in ["long-driving-sessions", "avg-load", "daily-activity", "breakdown-frequency"] {
        let name = format!("foliot (durable), rows, tsbs-iot, tidy, {kind}");
        let row = rows(1).into_iter().find(|row| row[0] == name).expect(kind);
        assert!(row[2].parse::<u64>().unwrap() > 0 && row[3] == "0", "{row:?}");
    }
    let servers = &report["sections"][1]["tables"][0]["rows"][0]["cells"];
    assert_eq!(servers[0], "foliot (durable)");
    assert_eq!(servers[1], env!("CARGO_PKG_VERSION"), "the version is the server's own word");
    assert!(report["machine"].to_string().contains("commit"), "{}", report["machine"]);
    stands_alone(&out.join("report.html"));
    beside_itself(&out.join("report.json"));

    // What this run left there must not be taken for answers of the next.
    let again = bench(&[&words[..], &[out.to_str().unwrap()]].concat());
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(again.status.code(), Some(2), "{said}");
    let refused = format!("{} already holds ", server.address);
    assert!(said.contains(&refused) && said.contains("empty store"), "{said}");
    server.stop();
}

/// A report compared with itself: every figure has a ratio, and every ratio is one.
fn beside_itself(report: &Path) {
    let report = report.to_str().unwrap();
    let ran = bench(&["report", report, report]);
    assert_eq!(ran.status.code(), Some(0));
    let text = String::from_utf8(ran.stdout).unwrap();
    let is_number = |cell: &str| cell.replace(' ', "").parse::<f64>().is_ok();
    let mut compared = 0;
    for line in text.lines().filter(|line| line.starts_with("| foliot")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, first, second, ratio] = cells[..] else { panic!("{line}") };
        assert_eq!(first, second, "{line}");
        assert_eq!(ratio, if is_number(first) { "1.00" } else { "-" }, "{line}");
        compared += usize::from(is_number(first));
    }
    assert!(compared > 500, "only {compared} figures were compared");
}

#[test]
fn a_dead_server_is_named_once_with_its_address() {
    // Ports that were free a moment ago.
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let dir = Scratch::new();
    let server = Server::start(&dir.path().join("data"), &[]);
    let dead = free();
    let out = dir.path().join("report");
    let (target, peers) = (format!("foliot://{}", server.address), format!("influx://{dead}"));
    let words = ["exp", "small-box", "--short", "--target", &target, "--peers", &peers, "--out"];
    let ran = bench(&[&words[..], &[out.to_str().unwrap()]].concat());
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert_eq!(said.matches(&dead.to_string()).count(), 1, "{said}");
    assert!(said.contains("influx (durable): no server at"), "{said}");

    let dead = dead.to_string();
    let ran = bench(&["load", "--quiet", "--target", "influx", "--url", &dead, "--verify"]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!((ran.status.code(), said.matches(&dead).count()), (Some(2), 1), "{said}");
    server.stop();
}

#[test]
fn a_server_that_ends_on_the_way_costs_its_own_rows_only() {
    let dir = Scratch::new();
    let server = Server::start(&dir.path().join("data"), &[]);
    let mut mortal = Some(Server::start(&dir.path().join("mortal"), &[]));
    let out = dir.path().join("report");
    let peer = mortal.as_ref().map(|mortal| mortal.address.to_string()).unwrap();
    let (target, peers) = (format!("foliot://{}", server.address), format!("influx://{peer}"));
    let words = ["exp", "small-box", "--short", "--runs", "1", "--cell-seconds", "0.2"];
    let mut ran = foliot()
        .arg("bench")
        .args(words)
        .args(["--target", &target, "--peers", &peers, "--out"])
        .arg(&out)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = String::new();
    for line in BufReader::new(ran.stderr.take().unwrap()).lines() {
        let line = line.unwrap();
        // Between two of its cells.
        if line.contains("influx") && line.contains("values from") {
            mortal.take().into_iter().for_each(Server::kill);
        }
        said += &format!("{line}\n");
    }
    assert_eq!(ran.wait().unwrap().code(), Some(1), "{said}");
    assert!(mortal.is_none(), "no cell of it ended: {said}");
    let text = std::fs::read_to_string(out.join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let sections = report["sections"].as_array().unwrap();
    for variant in &sections[..3] {
        let mut tables = variant["tables"].as_array().unwrap().iter();
        let table = tables.find(|table| table["name"] == variant["heading"]).unwrap();
        let rows = table["rows"].as_array().unwrap().iter();
        let of_it = |row: &&Value| text_of(&row["cells"][1]).starts_with("foliot");
        assert_eq!(rows.filter(of_it).count(), 3, "{variant}");
    }
    let gone = sections.iter().find(|section| section["heading"] == "Servers that went away");
    assert!(gone.unwrap()["words"][0].as_str().unwrap().contains("influx"), "{gone:?}");
    server.stop();
}

#[test]
fn a_dirty_server_is_refused_and_told_from_an_honest_one() {
    let dir = Scratch::new();
    let server = Server::start(&dir.path().join("data"), &[]);
    let address = server.address.to_string();
    let words = ["load", "--quiet", "--hosts", "5", "--steps", "20", "--target"];
    for (target, first_step) in [("foliot-influx", "0"), ("foliot-json", "20")] {
        let rest = ["--url", &address, "--first-step", first_step, "--verify", "5"];
        let words = [&words[..], &[target], &rest].concat();
        assert_eq!(bench(&words).status.code(), Some(0), "{target}");
        let again = bench(&words);
        let said = String::from_utf8_lossy(&again.stderr).into_owned();
        assert_eq!(again.status.code(), Some(2), "{target}: {said}");
        assert!(said.contains("already holds 1000 values"), "{target}: {said}");
    }
    server.stop();
}

#[test]
fn sources_that_had_more_names_than_a_request_line_holds_are_asked_for_in_pieces() {
    let dir = Scratch::new();
    let server = Server::start(&dir.path().join("data"), &[]);
    let address = server.address.to_string();
    // A container lives for 240 steps, so each of the 50 slots sees 37 or 38 names; some 40 bytes
    // each in InfluxQL make more than the 64 KiB that a request line may take.
    let data = ["--profile", "churn", "--sources", "50", "--fields", "1", "--steps", "9000"];
    let rest = ["--gaps", "0.97", "--target", "foliot-influx", "--url", &address, "--verify", "5"];
    let ran = bench(&[&["load", "--quiet"], &data[..], &rest].concat());
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{said}");
    let (checked, _) = said.split_once(" values in ").unwrap();
    let checked: u64 = checked.rsplit(' ').next().unwrap().parse().unwrap();
    // Counts and sums of nearly all of the 1 900 names; a few may never have reported.
    assert!(checked > 2 * 1700 && said.contains("checked exactly, 0 wrong"), "{said}");
    server.stop();
}

/// A world that no binary knows: one value that counts the seconds of a minute, one that is drawn.
const ROOMS: &str = r#"
name = "rooms"
interval_s = 1

[[table]]
name = "climate"
field = [
    { name = "second", law = { line = { min = 0, max = 60, cycle_s = 60 } } },
    { name = "warmth", digits = 2, law = { random = { min = -10, max = 30 } } },
]

[[label]]
key = "sensor"
value = { numbered = { word = "s" } }

[[label]]
key = "room"
value = { numbered = { word = "r", every = 2 } }
"#;

const ROOM_QUESTIONS: &str = r#"
[[question]]
name = "warmth-by-minute"
table = "climate"
fields = ["warmth"]
sources = 3
window_s = 120
ask = { aggregate = { function = "mean", bucket_s = 60 } }

[[question]]
name = "warm-moments"
table = "climate"
fields = ["warmth"]
sources = 1
window_s = 60
ask = { samples = { above = 20 } }

[[question]]
name = "newest-of-all"
table = "climate"
fields = ["second", "warmth"]
ask = "last"
"#;

#[test]
fn a_world_and_its_questions_may_be_files() {
    let dir = Scratch::new();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (rooms, questions) = (file("rooms.toml", ROOMS), file("questions.toml", ROOM_QUESTIONS));
    // 2026-01-01 is a whole minute: step 61 is its second 1.
    let shown = bench(&["generate", "--profile", &rooms, "--sources", "4", "--first-step", "61"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    let first = shown.lines().next().unwrap();
    assert!(first.starts_with("climate,sensor=s0,room=r0 second=1i,warmth="), "{first}");
    assert!(shown.lines().nth(3).unwrap().starts_with("climate,sensor=s3,room=r1 "), "{shown}");

    let server = Server::start(&dir.path().join("data"), &[]);
    let address = server.address.to_string();
    let data = ["--profile", &rooms, "--sources", "4", "--target", "foliot-influx"];
    let rest = ["--url", &address, "--steps", "600"];
    let load = [&["load", "--quiet", "--verify", "4"], &data[..], &rest].concat();
    let ran = bench(&load);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stdout));
    let query = [&["query", "--count", "20", "--json", "-"], &data[..], &rest].concat();
    let ask = |more: &[&str]| {
        let ran = bench(&[&query[..], &["--questions"], more].concat());
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        (ran.status.code(), serde_json::from_slice::<Value>(&ran.stdout).unwrap_or_default(), said)
    };
    let (code, found, said) = ask(&[&questions]);
    assert_eq!(code, Some(0), "{said}");
    let found = found.as_array().unwrap();
    let names: Vec<&str> = found.iter().map(|kind| kind["kind"].as_str().unwrap()).collect();
    assert_eq!(names, ["warmth-by-minute", "warm-moments", "newest-of-all"]);
    for kind in found {
        assert_eq!((&kind["judged"], &kind["wrong"]), (&20.into(), &0.into()), "{kind}");
    }
    // Another seed is another world, so the same answers are wrong.
    assert_eq!(ask(&[&questions, "--seed", "7"]).0, Some(1));

    // What cannot be asked or written is refused with its place, before anything is sent.
    let no_field = file("no-field.toml", &ROOM_QUESTIONS.replace("\"second\", ", "\"third\", "));
    let (code, _, said) = ask(&[&no_field]);
    assert!(code == Some(2) && said.contains("question newest-of-all"), "{said}");
    let bad = file("bad.toml", &ROOMS.replace("max = 60", "max = -1"));
    let ran = bench(&["load", "--target", "null", "--profile", &bad]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.code() == Some(2) && said.contains("0 lies above -1"), "{said}");
    server.stop();
}

/// A table: its name, how many columns name a row, the columns, and rows. A row is its cells and
/// why it has no verdict.
type Table<'a> = (&'a str, usize, &'a str, &'a [(&'a str, Option<&'a str>)]);

/// A report as the tool writes it, with one section of tables.
fn report_of(title: &str, tables: &[Table<'_>]) -> Value {
    let cells = |text: &str| text.split('|').map(str::trim).map(Value::from).collect::<Value>();
    let tables = tables.iter().map(|(name, keys, columns, rows)| {
        let row = |(text, void): &(&str, Option<&str>)| {
            json!({ "cells": cells(text), "source": null, "void": void })
        };
        let rows: Value = rows.iter().map(row).collect();
        json!({ "name": name, "keys": keys, "columns": cells(columns), "rows": rows })
    });
    let tables: Value = tables.collect();
    json!({
        "schema_version": 2, "tool_version": "0", "title": title, "command": "typed by hand",
        "machine": [["date", "2026-01-01"]], "right": true,
        "sections": [{ "heading": "Cells", "words": [], "plots": [], "tables": tables }],
    })
}

/// What small-box might find: figures that can be divided in the head.
fn small_box() -> Value {
    let short = Some("2 of 5 runs: too short");
    report_of(
        "small-box: typed by hand",
        &[
            (
                "Write only",
                2,
                "clients | server | values/s | mean ms",
                &[
                    ("5|foliot (os)|40 000 (39 000 to 41 000)|1.00 (0.90 to 1.10)", None),
                    ("5|foliot (durable)|10 000 (9 000 to 11 000)|4.00 (3.90 to 4.10)", None),
                    ("5|influx (durable)|20 000 (19 000 to 21 000)|2.00 (1.90 to 2.10)", None),
                    ("5|ticktock (os)|20 000 (18 000 to 22 000)|2.00 (1.90 to 2.10)", None),
                    // Answers from memory, so it stands beside nobody.
                    ("5|ticktock (memory)|900 000 (890 000 to 910 000)|0.01 (0.01 to 0.01)", None),
                    ("9|influx (durable)|70 000 (69 000 to 71 000)|0.50 (0.40 to 0.60)", None),
                ],
            ),
            (
                "Half writes, half reads",
                2,
                "clients | server | values/s | mean ms | peak RSS MiB",
                &[
                    ("5|foliot (os)|30 000 (29 000 to 31 000)|1.00 (0.90 to 1.10)|100", None),
                    ("5|influx (os)|10 000 (9 000 to 11 000)|1.05 (0.95 to 1.15)|400", None),
                    ("5|ticktock (os)|99 000 (98 000 to 99 900)|0.10 (0.09 to 0.11)|10", short),
                ],
            ),
            (
                "Half writes, half reads: latency in ms",
                1,
                "server, clients, operation | mean",
                &[
                    ("foliot (os), 5, point|-", None),
                    ("influx (os), 5, point|2.00 (1.90 to 2.10)", None),
                    ("foliot (os), 5, range|1.00 (0.90 to 1.10)", short),
                    ("influx (os), 5, range|2.00 (1.90 to 2.10)", None),
                    ("influx (os), 5, aggregate|2.00 (1.90 to 2.10)", None),
                    ("foliot (os), 5, downsample|2.00 (1.90 to 2.10)", None),
                    ("foliot (os), 5, last|3.00 (2.90 to 3.10)", None),
                    ("influx (os), 5, last|1.00 (0.90 to 1.10)", None),
                ],
            ),
        ],
    )
}

/// Claims of the round-up by document: theirs, Foliot's, and the answer.
fn round_up(out: &Path) -> Vec<(String, Vec<[String; 4]>)> {
    let text = std::fs::read_to_string(out.join("report.json")).unwrap();
    let report: Value = serde_json::from_str(&text).unwrap();
    let documents = report["sections"].as_array().unwrap().iter().map(|section| {
        let tables = section["tables"].as_array().unwrap();
        assert_eq!(tables.len(), 1, "a document has one table");
        let rows = tables[0]["rows"].as_array().unwrap().iter();
        let cells = |row: &Value| [1, 3, 4, 5].map(|at| text_of(&row["cells"][at]));
        (text_of(&section["words"][0]), rows.map(cells).collect())
    });
    documents.collect()
}

#[test]
fn numbers_of_series_above_the_greatest_that_is_wanted_are_left_out() {
    let dir = Scratch::new();
    let server = Server::start(&dir.path().join("data"), &[]);
    let (target, out) = (format!("foliot://{}", server.address), dir.path().join("out"));
    let words = ["exp", "high-cardinality", "--short", "--scale-down", "1000", "--until-enough"];
    let rest = ["--series-max", "40000", "--target", &target, "--out", out.to_str().unwrap()];
    let ran = bench(&[&words[..], &rest[..]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    server.stop();
    let report = std::fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains("\n## 40 000 series"), "{report}");
    assert!(!report.contains("\n## 400 000 series"), "{report}");
    assert!(report.contains("series at most"), "what was left out is disclosed: {report}");
}

#[test]
fn the_round_up_tells_each_claim_beside_what_was_measured_losses_first() {
    let dir = Scratch::new();
    let (file, out) = (dir.path().join("small-box.json"), dir.path().join("out"));
    std::fs::write(&file, small_box().to_string()).unwrap();
    let (file, out_word) = (file.to_str().unwrap(), out.to_str().unwrap());
    let ran = bench(&["roundup", file, "--out", out_word]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let found = round_up(&out);
    assert_eq!(found.len(), 5, "one table a document");
    let (summary, claims) = &found[2];
    assert_eq!(
        summary,
        "Of 10 figures Foliot is behind in 3, ahead in 2, even in 1; 4 were not measured."
    );
    let answers: Vec<&str> = claims.iter().map(|claim| claim[3].as_str()).collect();
    assert_eq!(
        answers,
        [
            "Foliot is behind influx (os) by 3.00 times.",
            "Foliot is behind influx (durable) by 2.00 times.",
            "Foliot is behind influx (durable) by 2.00 times.",
            "Beside influx (os) no difference that the runs show.",
            "Foliot is ahead of every other, least of influx (os): 3.00 times.",
            "Foliot is ahead of every other, least of influx (os): 4.00 times.",
            "not measured: withheld",
            "not measured: no verdict: 2 of 5 runs: too short",
            "not measured: no row of foliot",
            "not measured: no other server of the same durability",
        ]
    );
    // The document's figure, its servers' here, Foliot's here.
    let rate = &claims[1];
    assert_eq!(rate[0], "> 58 000");
    assert_eq!(
        rate[1],
        "ticktock: 900 000 (890 000 to 910 000) (memory), 20 000 (18 000 to 22 000) (os); \
         influx: 20 000 (19 000 to 21 000) (durable)"
    );
    assert_eq!(rate[2], "10 000 (9 000 to 11 000) (durable), 40 000 (39 000 to 41 000) (os)");
    assert_eq!(claims[3][1], "ticktock: not measured; influx: 1.05 (0.95 to 1.15) (os)");
    for (at, (summary, claims)) in found.iter().enumerate().filter(|(at, _)| *at != 2) {
        assert!(summary.starts_with("Nothing of this document was measured validly"), "{at}");
        for claim in claims {
            assert_eq!(claim[2], "not measured");
            assert!(claim[3].starts_with("not measured: no report of "), "{claim:?}");
        }
    }
    let page = String::from_utf8(ran.stdout).unwrap();
    assert!(page.contains("Foliot is behind influx (os) by 3.00 times."), "{page}");
    stands_alone(&out.join("report.html"));

    // Two reports of one experiment are no choice that the tool makes, and a wrong answer in a
    // report is one of the round-up.
    let again = bench(&["roundup", file, file]);
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.code() == Some(2) && said.contains("are both small-box"), "{said}");
    let mut wrong = small_box();
    wrong["right"] = false.into();
    let path = dir.path().join("wrong.json");
    std::fs::write(&path, wrong.to_string()).unwrap();
    assert_eq!(bench(&["roundup", path.to_str().unwrap()]).status.code(), Some(1));
}

#[test]
fn the_round_up_finds_every_figure_in_the_reports_that_experiments_write() {
    let dir = Scratch::new();
    let mut files = Vec::new();
    for name in ["small-box", "cpu-scaling"] {
        let server = Server::start(&dir.path().join(format!("{name}-data")), &[]);
        let target = format!("foliot://{}", server.address);
        let out = dir.path().join(name);
        let words = ["exp", name, "--short", "--cell-seconds", "0.05", "--target", &target];
        let ran = bench(&[&words[..], &["--out", out.to_str().unwrap()]].concat());
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(ran.status.code(), Some(0), "{said}");
        server.stop();
        files.push(out.join("report.json").to_str().unwrap().to_owned());
    }
    let out = dir.path().join("out");
    let words: Vec<&str> = files.iter().map(String::as_str).collect();
    let ran = bench(&[&["roundup", "--out", out.to_str().unwrap()], &words[..]].concat());
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let found = round_up(&out);
    let mut voided = 0;
    for claim in found[1..3].iter().flat_map(|(_, claims)| claims) {
        // A claim whose table or column no report has is a claim that nothing can ever answer.
        // Cells so short have no verdict; machines with few cores have no row for many.
        let answer = claim[3].strip_prefix("not measured: ").unwrap();
        assert!(answer.starts_with("no verdict: ") || answer == "no row of foliot", "{claim:?}");
        voided += usize::from(answer.starts_with("no verdict: "));
    }
    assert!(voided >= 12, "{voided}: {found:?}");
}

fn text_of(cell: &Value) -> String {
    cell.as_str().unwrap().to_owned()
}

/// Nothing in the page may be fetched from elsewhere.
fn stands_alone(page: &Path) {
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("<table"));
    let page = page.replace("http://www.w3.org/2000/svg", "");
    for outside in [" src=", "<link", "<script", "@import", "url(", "srcset", "<iframe"] {
        assert!(!page.contains(outside), "{outside}");
    }
}
