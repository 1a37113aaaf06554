//! Kills the server a hundred times under load and looks for every answered write.
//!
//! Five connections write through three protocols, each batch at an instant of its own. A ledger in
//! this process holds what was sent and what was answered. After each kill, sometimes a second one
//! in the middle of recovery, the server is asked for everything back: what was answered must be
//! there, nothing may be there that was not sent, every value must be the one that its series and
//! time give, and a request is there as a whole or not at all.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod harness;

use harness::{Scratch, Server, read_response, request};
use rustix::process::Signal;
use std::collections::HashMap;
use std::io::{BufReader, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

const ROUNDS: u64 = 100;
const START_S: i64 = 1_700_000_000;

/// Series of each writer that writes one field; two writers write two.
const SERIES: u64 = 2_000;

/// Rows of one batch.
const ROWS: u64 = 40;

/// How a writer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Telnet,
    Put,
    Lines,
}

const WRITERS: [(Way, &str); 5] = [
    (Way::Telnet, "kill.telnet"),
    (Way::Put, "kill.put0"),
    (Way::Put, "kill.put1"),
    (Way::Lines, "kill.lines0"),
    (Way::Lines, "kill.lines1"),
];

/// One batch: its place in the list is its time.
#[derive(Clone, Copy)]
struct Batch {
    first_series: u64,
    is_answered: bool,
}

/// What one writer sent.
type Ledger = Arc<Mutex<Vec<Batch>>>;

/// A number that looks random and is always the same (S. Vigna's splitmix64).
fn mix(a: u64, b: u64, c: u64) -> u64 {
    let mut x = a.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ b.rotate_left(24) ^ c.rotate_left(48);
    for factor in [0xbf58_476d_1ce4_e5b9_u64, 0x94d0_49bb_1331_11eb] {
        x = (x ^ (x >> 29)).wrapping_mul(factor);
    }
    x ^ (x >> 32)
}

/// The value of a series at a time; `field` tells the two fields of a line apart.
fn value(seed: u64, writer: usize, series: u64, time: u64, field: u64) -> i64 {
    (mix(seed ^ series, time, writer as u64 * 2 + field) % 1_000_000) as i64
}

#[test]
fn no_answered_write_is_lost_in_a_hundred_kills() {
    let seed = std::env::var("KILL_SEED").ok().and_then(|text| text.parse().ok());
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = seed.unwrap_or(now.as_nanos() as u64);
    println!("KILL_SEED={seed}");
    let dir = Scratch::new();
    let ledgers: Vec<Ledger> = WRITERS.iter().map(|_| Ledger::default()).collect();
    for round in 0..ROUNDS {
        let dice = mix(seed, round, 0);
        let flags: &[&str] = match dice % 4 {
            0 => &["--head-bytes", "1MiB"],
            _ => &[],
        };
        if round % 5 == 4 {
            // Recovery is itself killed, twice in a row now and then.
            for again in 0..=dice % 2 {
                kill_recovery(dir.path(), mix(seed, round, again + 1) % 40);
            }
        }
        let server = Server::start(dir.path(), flags);
        let all = round % 25 == 0;
        check(&server, seed, &ledgers, if all { 0 } else { 400 });
        let level = if round % 2 == 0 { "durable" } else { "os" };
        load_and_kill(server, seed, dice, level, &ledgers);
    }
    let server = Server::start(dir.path(), &[]);
    check(&server, seed, &ledgers, 0);
    server.stop();
    let server = Server::start(dir.path(), &[]);
    let answered = check(&server, seed, &ledgers, 0);
    assert!(answered > 1000, "only {answered} batches were answered: the test proves little");
    println!("{answered} batches were answered and all are there");
}

fn kill_recovery(dir: &Path, after_ms: u64) {
    let mut child = Server::spawn(dir, &[]);
    std::thread::sleep(Duration::from_millis(after_ms));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Writes on all connections until the server is gone, which happens at a random moment.
fn load_and_kill(server: Server, seed: u64, dice: u64, level: &'static str, ledgers: &[Ledger]) {
    let is_dead = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = WRITERS
        .iter()
        .zip(ledgers)
        .enumerate()
        .map(|(number, (&(way, _), ledger))| {
            let socket = server.connect();
            let (ledger, is_dead) = (ledger.clone(), is_dead.clone());
            std::thread::spawn(move || {
                let mut socket = BufReader::new(socket);
                while write_batch(&mut socket, seed, number, way, level, &ledger) {
                    std::thread::sleep(Duration::from_millis(1));
                }
                assert!(is_dead.load(Ordering::SeqCst), "a writer was refused");
            })
        })
        .collect();
    if dice & 16 == 0 {
        // A flush may be under way when the end comes, or just over.
        std::thread::sleep(Duration::from_millis(dice >> 8 & 127));
        server.signal(Signal::USR1);
        std::thread::sleep(Duration::from_millis(dice >> 16 & 63));
    } else {
        std::thread::sleep(Duration::from_millis(20 + (dice >> 8 & 255)));
    }
    is_dead.store(true, Ordering::SeqCst);
    server.kill();
    for writer in writers {
        writer.join().unwrap();
    }
}

/// Sends one batch and waits for its answer if there is to be one; false when the server is gone.
fn write_batch(
    socket: &mut BufReader<std::net::TcpStream>,
    seed: u64,
    writer: usize,
    way: Way,
    level: &str,
    ledger: &Ledger,
) -> bool {
    let (time, first_series) = {
        let mut ledger = ledger.lock().unwrap();
        let time = ledger.len() as u64;
        let first_series = mix(seed, time, writer as u64) % (SERIES - ROWS);
        ledger.push(Batch { first_series, is_answered: false });
        (time, first_series)
    };
    let bytes = spell(seed, writer, way, level, time, first_series);
    if socket.get_mut().write_all(&bytes).is_err() {
        return false;
    }
    if way == Way::Telnet {
        return true;
    }
    let Some(answer) = read_response(socket) else { return false };
    match answer.status {
        204 => ledger.lock().unwrap()[time as usize].is_answered = true,
        // A head of 1 MiB may be full for a moment.
        503 => std::thread::sleep(Duration::from_millis(10)),
        status => panic!("{status}: {}", answer.text()),
    }
    true
}

fn spell(seed: u64, writer: usize, way: Way, level: &str, time: u64, first_series: u64) -> Vec<u8> {
    let name = WRITERS[writer].1;
    let at = START_S + time as i64;
    let rows = (first_series..first_series + ROWS).map(|series| {
        let [a, b] = [0, 1].map(|field| value(seed, writer, series, time, field));
        match way {
            Way::Telnet => format!("put {name} {at} {a} s={series}\n"),
            Way::Lines => format!("{name},s={series} a={a}i,b={}.{:02} {at}\n", b / 100, b % 100),
            Way::Put => format!(
                "{{\"metric\":\"{name}\",\"timestamp\":{at},\"value\":{a},\"tags\":{{\"s\":\"{series}\"}}}}"
            ),
        }
    });
    let rows: Vec<String> = rows.collect();
    let headers = [("X-Foliot-Ack", level)];
    match way {
        Way::Telnet => rows.concat().into_bytes(),
        Way::Put => {
            let body = format!("[{}]", rows.join(","));
            request("POST", "/api/put", &headers, body.as_bytes())
        }
        Way::Lines => {
            let path = "/write?db=default&precision=s";
            request("POST", path, &headers, rows.concat().as_bytes())
        }
    }
}

/// Looks for the last `recent` batches of each writer (0: for all); returns how many of these were
/// answered.
fn check(server: &Server, seed: u64, ledgers: &[Ledger], recent: usize) -> usize {
    let mut answered = 0;
    for (writer, (way, name)) in WRITERS.iter().enumerate() {
        let ledger = ledgers[writer].lock().unwrap().clone();
        let since = if recent == 0 { 0 } else { ledger.len().saturating_sub(recent) };
        let fields: &[(&str, u64)] = match way {
            Way::Lines => &[(".a", 0), (".b", 1)],
            _ => &[("", 0)],
        };
        for (suffix, field) in fields {
            let metric = format!("{name}{suffix}");
            let counts = check_values(server, seed, writer, &metric, *field, &ledger, since);
            for (time, batch) in ledger.iter().enumerate().skip(since) {
                let count = counts.get(&time).copied().unwrap_or(0);
                let is_whole = count == ROWS;
                assert!(
                    is_whole || !batch.is_answered,
                    "{metric}: {count} of {ROWS} rows of an answered batch at {time} are there"
                );
                assert!(
                    is_whole || count == 0 || *way == Way::Telnet,
                    "{metric}: {count} of {ROWS} rows of one request at {time} are there"
                );
            }
        }
        answered += ledger.iter().skip(since).filter(|batch| batch.is_answered).count();
    }
    answered
}

/// Checks all values since a time and returns how many series have one, by time.
fn check_values(
    server: &Server,
    seed: u64,
    writer: usize,
    metric: &str,
    field: u64,
    ledger: &[Batch],
    since: usize,
) -> HashMap<usize, u64> {
    let from = START_S + since as i64;
    let to = START_S + ledger.len() as i64 + 10;
    let path = format!("/api/query?start={from}&end={to}&arrays&m=none:{metric}");
    let answer = server.get(&path);
    let mut counts = HashMap::new();
    if answer.status == 400 && answer.text().contains("No such name") {
        return counts;
    }
    assert_eq!(answer.status, 200, "{}", answer.text());
    let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    for found in json.as_array().unwrap() {
        let series: u64 = found["tags"]["s"].as_str().unwrap().parse().unwrap();
        for pair in found["dps"].as_array().unwrap() {
            let time = (pair[0].as_i64().unwrap() - START_S) as usize;
            let batch = ledger.get(time).expect("a sample that was never sent");
            let is_sent = (batch.first_series..batch.first_series + ROWS).contains(&series);
            assert!(is_sent, "{metric}: series {series} was not sent at {time}");
            let sent = value(seed, writer, series, time as u64, field);
            let sent = if field == 0 { sent as f64 } else { sent as f64 / 100.0 };
            assert_eq!(pair[1].as_f64(), Some(sent), "{metric}: series {series} at {time}");
            *counts.entry(time).or_insert(0) += 1;
        }
    }
    counts
}
