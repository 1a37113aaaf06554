//! Requests of many lines are taken slice by slice: that takes little memory, and shows nowhere
//! else.

use crate::harness::api::{ROOT, described};
use crate::harness::{Response, Scratch, Server, request};
use serde_json::{Value, json};
use std::io::{Read, Write};

/// More than a slice has.
const LINES: usize = 700_000;

/// What those lines may take beside themselves. As one batch they took more than twenty times that.
const GROWTH_BYTES_MAX: u64 = 24 << 20;

fn import(server: &Server, params: &str, text: &str) -> Value {
    let path = format!("{ROOT}/import?{params}");
    described("POST", &path, &server.post(&path, text), 200)
}

/// A short line repeated, whose samples have one time.
fn many(line: &str) -> String {
    line.repeat(LINES)
}

#[test]
fn many_short_lines_take_memory_for_some_of_them_at_once() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.memory_bytes=256MiB"]);
    assert_eq!(server.post("/write?db=default", "m v=1 1").status, 204);
    let mut before = server.peak_bytes();
    for (format, line) in [
        ("prometheus", "m 1\n"),
        ("influx", "m v=1 1\n"),
        ("exact", "m v=1 1\n"),
        ("opentsdb", "m 1 1 h=a\n"),
    ] {
        for more in ["&dry_run=true", ""] {
            let found = import(&server, &format!("format={format}{more}"), &many(line));
            assert_eq!((&found["rows"], &found["refused"]), (&json!(LINES), &json!(0)), "{format}");
            assert_eq!(found["samples"], json!(LINES), "{format}");
        }
        // The body itself is as large.
        let grown = server.peak_bytes().saturating_sub(before);
        let least = (LINES * line.len()) as u64;
        assert!(grown < least + GROWTH_BYTES_MAX, "{format}: {} MiB", grown >> 20);
        before = server.peak_bytes();
    }
    let path = "/api/v3/write_lp?db=default&accept_partial=false";
    assert_eq!(server.post(path, &many("m v=1 1\n")).status, 204);
    let grown = server.peak_bytes().saturating_sub(before);
    assert!(grown < (64 << 20), "all or nothing: {} MiB", grown >> 20);
    server.stop();
}

/// What a server took at most that was to keep to 128 MiB, where so many clients sent `text` at
/// once, and how it answered another one.
fn peak_of(clients: usize, text: &str) -> (u64, Response) {
    const PATH: &str = "/write?db=default&precision=s";
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "limits.memory_bytes=128MiB"]);
    let whole = request("POST", PATH, &[("Connection", "close")], text.as_bytes());
    let strike = || {
        let mut socket = server.connect();
        // The server may refuse it and go before it has read all.
        let _ = socket.write_all(&whole);
        let _ = socket.read_to_end(&mut Vec::new());
    };
    std::thread::scope(|scope| (1..clients).for_each(|_| drop(scope.spawn(strike))));
    let answer = server.post(PATH, text);
    let peak_bytes = server.peak_bytes();
    server.stop();
    (peak_bytes, answer)
}

/// A tenth more than those 128 MiB.
const PEAK_BYTES_MAX: u64 = (128 << 20) / 10 * 11;

#[test]
fn a_line_of_a_million_fields_takes_no_memory_for_their_names() {
    let fields = |count: usize| (0..count).map(|at| format!("f{at}=1i")).collect::<Vec<_>>();
    let text = format!("good v=1 1\nwide {} 1\ngood v=2 2\n", fields(1_100_000).join(","));
    let (peak_bytes, answer) = peak_of(1, &text);
    assert!(peak_bytes < PEAK_BYTES_MAX, "{} MiB", peak_bytes >> 20);
    let said = answer.text();
    let expected = "more than 16384 fields in one row (line 2) dropped=0";
    assert!(answer.status == 400 && said.contains(expected), "{said}");
    // One name again and again is as many.
    let text = format!("wide {} 1\n", vec!["f=1"; 700_000].join(","));
    let (peak_bytes, answer) = peak_of(4, &text);
    assert!(peak_bytes < PEAK_BYTES_MAX, "again: {} MiB", peak_bytes >> 20);
    assert!(answer.text().contains("more than 16384 fields in one row"), "{}", answer.text());
}

#[test]
fn lines_of_a_field_each_take_memory_for_some_of_them_at_once() {
    let text: String = (0..700_000).map(|at| format!("m f{at}=1 1\n")).collect();
    let (peak_bytes, answer) = peak_of(1, &text);
    assert!(peak_bytes < PEAK_BYTES_MAX, "{} MiB", peak_bytes >> 20);
    assert!(answer.text().contains("limits.registry_bytes"), "{}", answer.text());
}

/// What requests took is not kept for later ones beyond a share.
#[test]
fn large_requests_leave_little_behind() {
    let (peak_bytes, answer) = peak_of(8, &"m v=1\n".repeat(600_000));
    assert!(peak_bytes < PEAK_BYTES_MAX, "{} MiB", peak_bytes >> 20);
    assert_eq!(answer.status, 204, "{}", answer.text());
}

/// What the store refuses is repeated as seldom as what cannot be read.
#[test]
fn points_that_are_refused_by_thousands_are_counted_and_some_are_told() {
    const POINTS: usize = 90_000;
    let dir = Scratch::new();
    let limits = ["--set", "limits.memory_bytes=128MiB", "--set", "limits.series=1"];
    let server = Server::start(dir.path(), &limits);
    let point = |at: usize| {
        format!("{{\"metric\":\"m{at}\",\"timestamp\":1,\"value\":1,\"tags\":{{\"a\":\"{at}\"}}}}")
    };
    let body = format!("[{}]", (0..POINTS).map(point).collect::<Vec<_>>().join(","));
    let before = server.peak_bytes();
    let answer = server.post("/api/put?details", &body);
    let grown = server.peak_bytes() - before;
    assert_eq!(answer.status, 400);
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((&said["success"], &said["failed"]), (&json!(1), &json!(POINTS - 1)));
    let errors = said["errors"].as_array().unwrap();
    assert_eq!(errors.len(), 1000);
    assert_eq!(errors[0]["datapoint"]["metric"], "m1");
    assert!(errors[999]["error"].as_str().unwrap().contains("limits.series"), "{}", errors[999]);
    // The body itself, and as much again while it grew.
    let least = 2 * body.len() as u64;
    assert!(grown < least + (24 << 20), "{} MiB", grown >> 20);
    server.stop();
}

#[test]
fn faults_have_the_numbers_of_their_lines_in_whatever_slice_they_are() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let filler = |line: &str, count: usize| line.repeat(count);
    for (format, good, bad) in [
        ("prometheus", "p{a=\"b\"} 1\n", "p{a=\"b\"} x\n"),
        ("influx", "i,a=b v=1 1\n", "i,a=b v=x 1\n"),
        ("exact", "e,a=b v=1 1\n", "e,a=b v=x 1\n"),
        ("opentsdb", "put o 1 1 a=b\n", "put o 1 x a=b\n"),
    ] {
        // More than one slice has.
        let (one, other) = ((1 << 20) / good.len() + 7, 70_000);
        let text = format!("{bad}{}{bad}{}{bad}", filler(good, one), filler(good, other));
        for more in ["&dry_run=true", ""] {
            let found = import(&server, &format!("format={format}&first_line=11{more}"), &text);
            let lines: Vec<_> =
                found["faults"].as_array().unwrap().iter().map(|fault| &fault["line"]).collect();
            let wanted = [11, 12 + one, 13 + one + other];
            assert_eq!(json!(lines), json!(wanted), "{format}{more}");
            assert_eq!(found["faults"][2]["text"], bad.trim_end(), "{format}{more}");
            assert_eq!(
                (&found["rows"], &found["refused"]),
                (&json!(one + other), &json!(3)),
                "{format}{more}"
            );
        }
    }
    server.stop();
}

/// A text may hold ends of lines, also where a slice ends.
#[test]
fn a_line_that_is_longer_than_a_slice_stays_one() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let text = "a\nb".repeat(20_000);
    let lines = format!("t note=\"{text}\" 1\n").repeat(40);
    let found = import(&server, "format=influx", &lines);
    assert_eq!((&found["rows"], &found["refused"]), (&json!(40), &json!(0)));
    // None of the ends of put lines is in the first slices.
    let long = format!("put o 1 1 a={}\nput o 1 1 a=b\n", "x".repeat(3 << 20));
    let found = import(&server, "format=opentsdb", &long);
    assert_eq!((&found["rows"], &found["refused"]), (&json!(1), &json!(1)));
    assert_eq!(found["faults"][0]["line"], 1);
    server.stop();
}

#[test]
fn kinds_are_those_of_the_lines_before_in_whatever_slice_they_are() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let text = format!("k v=1i 1\n{}k v=1.5 2\n", "other w=1 1\n".repeat(400_000));
    let found = import(&server, "format=influx&dry_run=true", &text);
    assert_eq!((&found["rows"], &found["refused"]), (&json!(400_001), &json!(1)));
    assert_eq!(found["faults"][0]["line"], 400_002);
    // All or nothing, over several slices.
    let path = "/api/v3/write_lp?db=default&accept_partial=false&precision=nanosecond";
    let answer = server.post(path, &text);
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("400002"), "{}", answer.text());
    assert_eq!(server.metric("foliot_series"), 0.0, "nothing of it is stored");
    let broken = format!("{}k v=\n", "other w=1 1\n".repeat(400_000));
    assert_eq!(server.post(path, &broken).status, 400);
    assert_eq!(server.metric("foliot_series"), 0.0);
    let good = text.replace("1.5", "2i");
    let answer = server.post(path, &good);
    assert_eq!(answer.status, 204, "{}", answer.text());
    assert_eq!(server.metric("foliot_series"), 2.0);
    server.stop();
}
