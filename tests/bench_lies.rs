//! The benchmark tool behind a liar: a proxy between it and the real server that falsifies requests
//! or answers, all of them or every n-th, in each language that the proxy can read.

use crate::harness::{Scratch, Server, foliot};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `foliot bench` to its end.
fn bench(words: &[&str]) -> Output {
    foliot().arg("bench").args(words).output().unwrap()
}

/// How rows of an answer are falsified.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Twist {
    /// One row is left out.
    Drop,
    /// One row is moved by a second.
    Shift,
    /// The values of two neighbouring rows are exchanged.
    Swap,
    /// One value is seven times itself and one.
    Inflate,
    /// The first row is left out.
    First,
    /// The last row is left out.
    Last,
    /// All rows of a series are left out.
    Empty,
    /// One row comes twice.
    Repeat,
    /// A row that was never written follows the last.
    Invent,
    /// The rows come in the other order.
    Reverse,
    /// One value is greater by one.
    AddOne,
    /// One value has the other sign.
    Negate,
}

const TWISTS: [Twist; 12] = [
    Twist::Drop,
    Twist::Shift,
    Twist::Swap,
    Twist::Inflate,
    Twist::First,
    Twist::Last,
    Twist::Empty,
    Twist::Repeat,
    Twist::Invent,
    Twist::Reverse,
    Twist::AddOne,
    Twist::Negate,
];

/// Falsifies every so many of the answers that can be falsified in its way.
#[derive(Clone)]
struct Liar {
    twist: Twist,
    every: usize,
    /// Answers that could be falsified so far.
    seen: Arc<AtomicUsize>,
}

#[test]
fn an_intermittent_liar_is_caught_in_every_language() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-prometheus", "127.0.0.1:0"]);
    let line = server.welcome.lines().find(|line| line.contains("HTTP for Prometheus")).unwrap();
    let prometheus = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let doors = [
        ("foliot-influx", server.address),
        ("foliot-json", server.address),
        ("prometheus", prometheus),
    ];
    let mut start = 1_500_000_000_000_u64;
    for (target, door) in doors {
        let honest = door.to_string();
        for twist in TWISTS {
            for every in [1, 2, 3, 7] {
                let liar = Liar { twist, every, seen: Arc::default() };
                let asked_at = falsifying_proxy(door, liar.clone()).to_string();
                start += 1_000_000_000;
                let start = start.to_string();
                let data = ["--hosts", "20", "--steps", "60", "--seed", "5", "--start", &start];
                let at = ["--target", target, "--url", &honest, "--query-url", &asked_at];
                let load = ["load", "--quiet", "--verify", "20"];
                let ran = bench(&[&load[..], &at, &data].concat());
                let said = String::from_utf8_lossy(&ran.stdout).into_owned();
                let seen = liar.seen.load(Ordering::Relaxed);
                assert!(seen >= every, "{target}, {twist:?}: only {seen} answers to falsify");
                let case = format!("{target}, {twist:?}, one in {every} of {seen}");
                assert_eq!(ran.status.code(), Some(1), "{case}: {said}");
                let told = seen / every;
                let counted = said.split(" checked exactly, ").nth(1).unwrap();
                let wrong: usize = counted.split(' ').next().unwrap().parse().unwrap();
                assert!(wrong > 0 && wrong <= told, "{case}: {told} lies, {wrong} caught");
            }
        }
    }
    server.stop();
}

#[test]
fn a_load_that_its_clock_stops_is_checked_series_by_series() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let honest = server.address.to_string();
    let mut start = 500_000_000_000_u64;
    let mut run = |asked_at: &str, disorder: &[&str]| {
        start += 200_000_000_000;
        let start = start.to_string();
        let load = ["load", "--quiet", "--target", "foliot-influx", "--url", &honest];
        let data = ["--hosts", "20", "--points", "1G", "--seconds", "0.5", "--verify", "20"];
        let at = ["--query-url", asked_at, "--start", &start];
        let ran = bench(&[&load[..], &data, &at, disorder].concat());
        (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    for disorder in [&[][..], &["--late", "0.5:60", "--repeat", "0.1", "--gaps", "0.1"]] {
        let (code, said) = run(&honest, disorder);
        assert_eq!(code, Some(0), "{disorder:?}: {said}");
        let (checked, _) = said.split_once(" values in ").unwrap();
        let checked: u64 = checked.rsplit(' ').next().unwrap().parse().unwrap();
        // Counts and sums of 200 series, and of all together, and samples besides.
        assert!(checked > 420 && said.contains("checked exactly, 0 wrong"), "{said}");
    }
    let liar = Liar { twist: Twist::Inflate, every: 5, seen: Arc::default() };
    let (code, said) = run(&falsifying_proxy(server.address, liar).to_string(), &[]);
    assert_eq!(code, Some(1), "{said}");
    server.stop();
}

/// VictoriaMetrics finds samples by their days a moment later than it counts them.
#[test]
fn samples_that_are_found_later_than_counted_are_waited_for() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-prometheus", "127.0.0.1:0"]);
    let line = server.welcome.lines().find(|line| line.contains("HTTP for Prometheus")).unwrap();
    let prometheus: SocketAddr = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let run = |hidden: usize, start: &str| {
        let late = late_proxy(prometheus, hidden).to_string();
        let data = ["--hosts", "5", "--steps", "60", "--start", start, "--verify", "5"];
        let url = prometheus.to_string();
        let at = ["--target", "victoriametrics-remote", "--url", &url, "--query-url", &late];
        let rest = ["--visible-within", "3s"];
        let ran = bench(&[&["load", "--quiet"], &data[..], &at, &rest].concat());
        (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    let (code, said) = run(12, "1500000000000");
    assert!(code == Some(0) && said.contains("checked exactly, 0 wrong"), "{said}");
    // What never comes is wrong all the same.
    let (code, said) = run(usize::MAX, "1600000000000");
    assert!(code == Some(1) && said.contains("expected, 0 came"), "{said}");
    server.stop();
}

/// Starts a proxy that answers the first questions for samples as if there were none.
fn late_proxy(server: SocketAddr, hidden: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let seen: Arc<AtomicUsize> = Arc::default();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || show_late(client, server, hidden, &seen));
        }
    });
    address
}

fn show_late(
    client: TcpStream,
    server: SocketAddr,
    hidden: usize,
    seen: &AtomicUsize,
) -> Option<()> {
    let mut server = BufReader::new(TcpStream::connect(server).ok()?);
    let mut client = BufReader::new(client);
    loop {
        let (asked, body) = message(&mut client)?;
        send(server.get_mut(), &asked, &body)?;
        let (head, mut body) = message(&mut server)?;
        // A selector by itself, in no function, is a question for samples.
        let for_samples = asked.contains("query?query=%7B");
        if for_samples && seen.fetch_add(1, Ordering::Relaxed) < hidden {
            let nothing = r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#;
            body = nothing.as_bytes().to_vec();
        }
        send(client.get_mut(), &head, &body)?;
    }
}

/// Starts a proxy for HTTP that falsifies answers; it ends with the test's process.
fn falsifying_proxy(server: SocketAddr, liar: Liar) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let liar = liar.clone();
            std::thread::spawn(move || falsify(client, server, &liar));
        }
    });
    address
}

/// Passes requests on as they are, and answers as the liar likes them.
fn falsify(client: TcpStream, server: SocketAddr, liar: &Liar) -> Option<()> {
    let mut server = BufReader::new(TcpStream::connect(server).ok()?);
    let mut client = BufReader::new(client);
    loop {
        let (head, body) = message(&mut client)?;
        send(server.get_mut(), &head, &body)?;
        let (head, mut body) = message(&mut server)?;
        if let Some(twisted) = twisted(&body, liar.twist) {
            let number = liar.seen.fetch_add(1, Ordering::Relaxed) + 1;
            if number.is_multiple_of(liar.every) {
                body = twisted;
            }
        }
        send(client.get_mut(), &head, &body)?;
    }
}

/// The answer with one of its rows falsified; none where it has no such row.
fn twisted(body: &[u8], twist: Twist) -> Option<Vec<u8>> {
    let mut answer: Value = serde_json::from_slice(body).ok()?;
    let rows = rows_of(&mut answer).into_iter().find(|rows| can_twist(rows, twist))?;
    let middle = rows.len() / 2;
    match twist {
        Twist::Drop => drop(rows.remove(middle)),
        Twist::Shift => move_on(&mut rows[middle])?,
        Twist::Swap => {
            let at = neighbours(rows)?;
            let (one, other) = (rows[at][1].clone(), rows[at + 1][1].clone());
            (rows[at][1], rows[at + 1][1]) = (other, one);
        }
        Twist::Inflate => change_value(&mut rows[middle], |value| value * 7.0 + 1.0)?,
        Twist::First => drop(rows.remove(0)),
        Twist::Last => drop(rows.pop()),
        Twist::Empty => rows.clear(),
        Twist::Repeat => rows.insert(middle, rows[middle].clone()),
        Twist::Invent => {
            let mut row = rows.last()?.clone();
            move_on(&mut row)?;
            rows.push(row);
        }
        Twist::Reverse => rows.reverse(),
        Twist::AddOne => change_value(&mut rows[middle], |value| value + 1.0)?,
        Twist::Negate => change_value(&mut rows[middle], |value| -value)?,
    }
    Some(serde_json::to_vec(&answer).unwrap())
}

/// Moves a row to a second later. PromQL tells times in seconds, and values as text.
fn move_on(row: &mut Value) -> Option<()> {
    row[0] = match row[1].is_string() {
        true => Value::from(row[0].as_f64()? + 1.0),
        false => Value::from(row[0].as_i64()? + 1000),
    };
    Some(())
}

fn change_value(row: &mut Value, to: impl Fn(f64) -> f64) -> Option<()> {
    let changed = to(value_of(row)?);
    row[1] = match row[1].is_string() {
        true => Value::from(changed.to_string()),
        false => Value::from(changed),
    };
    Some(())
}

fn value_of(row: &Value) -> Option<f64> {
    match &row[1] {
        Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    }
}

/// Whether rows can be falsified so that it shows: the time of a single row means nothing.
fn can_twist(rows: &[Value], twist: Twist) -> bool {
    match twist {
        Twist::Drop | Twist::Inflate | Twist::First | Twist::Last | Twist::Empty => {
            !rows.is_empty()
        }
        Twist::Repeat | Twist::Invent | Twist::AddOne => !rows.is_empty(),
        Twist::Negate => rows.get(rows.len() / 2).is_some_and(|row| value_of(row) != Some(0.0)),
        Twist::Shift | Twist::Reverse => rows.len() > 1,
        Twist::Swap => neighbours(rows).is_some(),
    }
}

/// The first row whose value differs from that of the next.
fn neighbours(rows: &[Value]) -> Option<usize> {
    rows.windows(2).position(|pair| pair[0][1] != pair[1][1])
}

/// The rows of every series, each beginning with time and value: OpenTSDB's `dps`, the `values` of
/// InfluxQL and PromQL. PromQL's `value`, a single row, becomes `values`, which reads the same.
fn rows_of(answer: &mut Value) -> Vec<&mut Vec<Value>> {
    if let Value::Array(series) = answer {
        let rows = series.iter_mut().filter_map(|series| series.get_mut("dps")?.as_array_mut());
        return rows.collect();
    }
    if answer.get("data").is_some() {
        let series = answer.pointer_mut("/data/result").and_then(Value::as_array_mut);
        let rows = series.into_iter().flatten().filter_map(|series| {
            let series = series.as_object_mut()?;
            if let Some(row) = series.remove("value") {
                series.insert("values".into(), Value::from(vec![row]));
            }
            series.get_mut("values")?.as_array_mut()
        });
        return rows.collect();
    }
    let results = answer.get_mut("results").and_then(Value::as_array_mut);
    let series = results.into_iter().flatten().filter_map(|r| r.get_mut("series")?.as_array_mut());
    series.flatten().filter_map(|series| series.get_mut("values")?.as_array_mut()).collect()
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
