//! The benchmark tool against the real server: everything it can verify is verified through every
//! door, and a liar between the two is caught whatever it lies about.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod harness;

use harness::{Scratch, Server, foliot};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;

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
    let words = ["exp", "verify-all", "--short", "--target", &target, "--out"];
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
        let name = format!("foliot, rows, TsbsIot, tidy, {kind}");
        let row = rows(1).into_iter().find(|row| row[0] == name).expect(kind);
        assert!(row[2].parse::<u64>().unwrap() > 0 && row[3] == "0", "{row:?}");
    }
    stands_alone(&out.join("report.html"));
    server.stop();
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

/// What a liar does to the bytes between the tool and the server.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    /// Passes everything on.
    None,
    /// Drops one line of the middle of a body that is written.
    DropsOne,
    /// Asks for a window that ends a millisecond early.
    ShortWindow,
    /// Asks for buckets of another length.
    OtherBuckets,
    /// Turns the samples of an answer round.
    Reorders,
    /// Changes one value of an answer by one.
    OtherValue,
}

const LIES: [Lie; 5] =
    [Lie::DropsOne, Lie::ShortWindow, Lie::OtherBuckets, Lie::Reorders, Lie::OtherValue];

#[test]
fn every_lie_is_caught_and_the_honest_proxy_is_not() {
    for lie in [&[Lie::None][..], &LIES].concat() {
        let dir = Scratch::new();
        let server = Server::start(dir.path(), &[]);
        let liar = proxy(server.address, lie).to_string();
        let honest = proxy(server.address, Lie::None).to_string();
        let data = ["--hosts", "6", "--steps", "400", "--seed", "5"];
        let asked_at = ["--target", "foliot-json", "--url", &liar];
        // Lies about answers are told to the questions, a lie about a write to its verification.
        let written_at = if lie == Lie::DropsOne { &liar } else { &honest };
        let written_at = ["--target", "foliot-json", "--url", written_at];
        let load = ["load", "--quiet", "--verify", "6", "--visible-within", "100ms"];
        let loaded = bench(&[&load[..], &written_at, &data].concat()).status.code();
        let query = ["query", "--kinds", "range,downsample", "--count", "20", "--check", "20"];
        let asked = bench(&[&query[..], &asked_at, &data].concat());
        let codes = (loaded, asked.status.code());
        let said = String::from_utf8_lossy(&asked.stdout).into_owned();
        let right = match lie {
            Lie::None => codes == (Some(0), Some(0)),
            Lie::DropsOne => codes.0 == Some(1),
            _ => codes == (Some(0), Some(1)),
        };
        assert!(right, "{lie:?}: {codes:?}\n{said}");
    }
}

/// Starts a proxy for HTTP that tells one lie; it ends with the test's process.
fn proxy(server: SocketAddr, lie: Lie) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            std::thread::spawn(move || pass_on(client, server, lie));
        }
    });
    address
}

/// Passes requests and answers on until one side leaves.
fn pass_on(client: TcpStream, server: SocketAddr, lie: Lie) -> Option<()> {
    let server = TcpStream::connect(server).ok()?;
    server.set_nodelay(true).ok()?;
    client.set_nodelay(true).ok()?;
    let mut server = BufReader::new(server);
    let mut client = BufReader::new(client);
    let mut written = 0;
    loop {
        let (head, mut body) = message(&mut client)?;
        let is_write = head.starts_with("POST /api/put");
        if is_write {
            written += 1;
        }
        match lie {
            Lie::DropsOne if is_write && written == 2 => drop_one(&mut body),
            Lie::ShortWindow if !is_write => change(&mut body, "\"end\":", |end| end - 10_001),
            Lie::OtherBuckets => {
                let text = String::from_utf8_lossy(&body).replace("60000ms-", "70000ms-");
                body = text.into_bytes();
            }
            _ => {}
        }
        send(server.get_mut(), &head, &body)?;
        let (head, mut body) = message(&mut server)?;
        if !is_write && matches!(lie, Lie::Reorders | Lie::OtherValue) {
            body = distorted(&body, lie);
        }
        send(client.get_mut(), &head, &body)?;
    }
}

/// Head without its length, and body.
fn message(from: &mut impl BufRead) -> Option<(String, Vec<u8>)> {
    let (mut head, mut length, mut chunked) = (String::new(), 0, false);
    loop {
        let mut line = String::new();
        from.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        } else if lower.starts_with("transfer-encoding:") {
            chunked = true;
        } else if line == "\r\n" {
            break;
        } else {
            head.push_str(&line);
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).ok()?;
    while chunked {
        let mut size = String::new();
        from.read_line(&mut size).ok()?;
        let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).ok()? + 2];
        from.read_exact(&mut chunk).ok()?;
        chunked = chunk.len() > 2;
        body.extend_from_slice(&chunk[..chunk.len() - 2]);
    }
    Some((head, body))
}

fn send(to: &mut impl Write, head: &str, body: &[u8]) -> Option<()> {
    let mut message = format!("{head}Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    message.extend_from_slice(body);
    to.write_all(&message).ok()
}

/// Removes one object of an array.
fn drop_one(body: &mut Vec<u8>) {
    let Ok(Value::Array(mut points)) = serde_json::from_slice(body) else { return };
    points.remove(points.len() / 2);
    *body = serde_json::to_vec(&points).unwrap();
}

/// Replaces the number after `key`.
fn change(body: &mut Vec<u8>, key: &str, to: impl Fn(i64) -> i64) {
    let text = String::from_utf8_lossy(body).into_owned();
    let Some((before, after)) = text.split_once(key) else { return };
    let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
    let number: i64 = after[..end].parse().unwrap();
    *body = format!("{before}{key}{}{}", to(number), &after[end..]).into_bytes();
}

/// The answer with the samples of each series turned round, or one of them changed.
fn distorted(body: &[u8], lie: Lie) -> Vec<u8> {
    let Ok(Value::Array(mut series)) = serde_json::from_slice(body) else { return body.to_vec() };
    for series in &mut series {
        let Some(Value::Array(samples)) = series.get_mut("dps") else { continue };
        if lie == Lie::Reorders {
            samples.reverse();
        } else if let Some(sample) = samples.last_mut() {
            sample[1] = Value::from(sample[1].as_f64().unwrap() + 1.0);
        }
    }
    serde_json::to_vec(&series).unwrap()
}
