//! The benchmark tool before servers whose every reply is known: what it tells of their latency
//! stands beside what their own records and a closed formula say.
//!
//! `STALLS=10 cargo test -p foliot --test all bench_stalls:: -- --nocapture` takes runs of ten
//! seconds and prints the table of docs/benchmarks; without it they take three.

use crate::harness::{Scratch, foliot};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Connections of the load; they take turns on one plan.
const CONNECTIONS: usize = 2;

/// Share of a run that a stalled server is silent.
const STALLED: f64 = 0.7;

/// Share of the run's length by which the client's clock may differ from the server's: a busy
/// machine wakes threads late.
const CLOCKS: f64 = 0.05;

/// How a server behaves; times are shares of the run's length.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Behaviour {
    /// Is silent for seven tenths of the run, from this share of it on.
    Stalls(f64),
    /// Answers half as many requests as are due, on a clock.
    Slow,
    /// Refuses every so many of the requests.
    Refuses(usize),
}

/// One server with its words in the table and the rate at which it is asked, per second.
struct Case {
    name: &'static str,
    behaviour: Behaviour,
    rate: usize,
}

const CASES: [Case; 6] = [
    Case { name: "silent for the first 7 of 10 s", behaviour: Behaviour::Stalls(0.0), rate: 1000 },
    Case { name: "silent from 2 s to 9 s", behaviour: Behaviour::Stalls(0.2), rate: 1000 },
    Case { name: "silent for the last 7 of 10 s", behaviour: Behaviour::Stalls(0.3), rate: 1000 },
    Case { name: "half as fast as asked", behaviour: Behaviour::Slow, rate: 400 },
    Case { name: "refuses one in ten", behaviour: Behaviour::Refuses(10), rate: 400 },
    Case { name: "refuses everything", behaviour: Behaviour::Refuses(1), rate: 400 },
];

/// When each request of a connection was answered, in seconds of the server's clock, and whether
/// it was accepted.
type Replies = Vec<(f64, bool)>;

/// A server that keeps a record of its replies.
struct Recorder {
    behaviour: Behaviour,
    length_s: f64,
    rate: usize,
    /// When the first request came, which is when the load began.
    start: OnceLock<Instant>,
    replies: Mutex<Vec<Replies>>,
}

impl Recorder {
    fn start(case: &Case, length_s: f64) -> (Arc<Recorder>, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let recorder = Arc::new(Recorder {
            behaviour: case.behaviour,
            length_s,
            rate: case.rate,
            start: OnceLock::new(),
            replies: Mutex::default(),
        });
        let serving = Arc::clone(&recorder);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let recorder = Arc::clone(&serving);
                thread::spawn(move || recorder.serve(stream));
            }
        });
        (recorder, address)
    }

    /// Answers the requests of one connection; keeps the record of those that wrote.
    fn serve(&self, stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        let mut stream = BufReader::new(stream);
        let mut replies = Replies::new();
        while let Some(is_write) = read_request(&mut stream) {
            let accepted = match is_write {
                true => self.take(&mut replies),
                false => true,
            };
            let status = if accepted { "204 Yes" } else { "503 No" };
            let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            if stream.get_mut().write_all(reply.as_bytes()).is_err() {
                break;
            }
        }
        // What only looked whether somebody listens, or did not write, is no connection of a load.
        if !replies.is_empty() {
            self.replies.lock().unwrap().push(replies);
        }
    }

    /// Waits as the server behaves and notes the reply; false where the request is refused.
    fn take(&self, replies: &mut Replies) -> bool {
        let start = *self.start.get_or_init(Instant::now);
        let number = replies.len();
        let until = |share: f64| {
            let end = start + Duration::from_secs_f64(self.length_s * share);
            thread::sleep(end.saturating_duration_since(Instant::now()));
        };
        match self.behaviour {
            Behaviour::Stalls(from) => {
                if start.elapsed().as_secs_f64() >= self.length_s * from {
                    until(from + STALLED);
                }
            }
            Behaviour::Slow => {
                let each_s = 2.0 * CONNECTIONS as f64 / self.rate as f64;
                until((number + 1) as f64 * each_s / self.length_s);
            }
            Behaviour::Refuses(_) => {}
        }
        let accepted = match self.behaviour {
            Behaviour::Refuses(every) => !(number + 1).is_multiple_of(every),
            _ => true,
        };
        replies.push((start.elapsed().as_secs_f64(), accepted));
        accepted
    }

    /// The latency of every request that was due within the run, in seconds and sorted: to its
    /// reply, and to the end of the run where it was never sent. Refused ones have none.
    fn latencies_s(&self) -> Vec<f64> {
        let replies = self.replies.lock().unwrap();
        assert_eq!(replies.len(), CONNECTIONS);
        let mut all = Vec::new();
        for (connection, replies) in replies.iter().enumerate() {
            let due = |number: usize| (number * CONNECTIONS + connection) as f64 / self.rate as f64;
            for number in (0..).take_while(|number| due(*number) < self.length_s) {
                match replies.get(number) {
                    Some((_, false)) => {}
                    Some((at_s, true)) => all.push(at_s - due(number)),
                    None => all.push(self.length_s - due(number)),
                }
            }
        }
        all.sort_by(f64::total_cmp);
        all
    }

    fn refused(&self) -> usize {
        let replies = self.replies.lock().unwrap();
        replies.iter().flatten().filter(|(_, accepted)| !accepted).count()
    }
}

/// Reads a request; whether it is one that writes. None at the end of the connection.
fn read_request(stream: &mut BufReader<TcpStream>) -> Option<bool> {
    let (mut is_write, mut length) = (false, 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok().filter(|got| *got > 0)?;
        is_write |= line.starts_with("POST ");
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    stream.read_exact(&mut vec![0; length]).ok()?;
    Some(is_write)
}

/// The latency that the share `quantile` of all requests keeps, by formula, in seconds. A server
/// that is silent for `STALLED` of the run makes a request wait for anything up to that, with the
/// same chance. One that is half as fast falls behind by a second every second; half of the
/// requests are never sent, and have waited the less at the end the later they were due: so all
/// waits between nothing and half of the run have the same chance.
fn formula_s(behaviour: Behaviour, quantile: f64, length_s: f64) -> Option<f64> {
    match behaviour {
        Behaviour::Stalls(_) => Some((STALLED - (1.0 - quantile)).max(0.0) * length_s),
        Behaviour::Slow => Some(quantile * length_s / 2.0),
        // Accepted at once, but for the client's pauses after a refusal.
        Behaviour::Refuses(1) => None,
        Behaviour::Refuses(_) => Some(0.0),
    }
}

/// Runs the tool against the server of a case; its exit code and its result.
fn told(case: &Case, length_s: f64, address: SocketAddr, dir: &Scratch) -> (Option<i32>, Value) {
    let file = dir.path().join(format!("{}.json", case.name));
    // A line holds ten values.
    let (rate, length) = ((case.rate * 10).to_string(), length_s.to_string());
    let ran = foliot()
        .args(["bench", "load", "--quiet", "--target", "victoriametrics", "--hosts", "10"])
        .args(["--batch", "1", "--pace", "fixed", "--rate", &rate, "--seconds", &length])
        .args(["--settle-max", "0s", "--url", &address.to_string(), "--json"])
        .arg(&file)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    (ran.status.code(), serde_json::from_str(&text).unwrap())
}

#[test]
fn latency_is_told_as_the_servers_own_records_have_it() {
    let length_s: f64 = std::env::var("STALLS").map_or(3.0, |text| text.parse().unwrap());
    let dir = Scratch::new();
    let rows: Vec<String> = thread::scope(|scope| {
        let dir = &dir;
        let run = |case: &'static Case| scope.spawn(move || row(case, length_s, dir));
        let running: Vec<_> = CASES.iter().map(run).collect();
        running.into_iter().map(|case| case.join().unwrap()).collect()
    });
    println!(
        "| server | due | never sent | refused | p50 true / told | p90 | p95 | p99 | p99.9 | p99 \
         from sending |\n|---|---|---|---|---|---|---|---|---|---|\n{}",
        rows.join("\n")
    );
}

/// Checks one case; returns its row of the table.
fn row(case: &Case, length_s: f64, dir: &Scratch) -> String {
    let (recorder, address) = Recorder::start(case, length_s);
    let (code, result) = told(case, length_s, address, dir);
    let name = case.name;
    // Connections close before the tool ends, but their threads here may still be at it.
    while recorder.replies.lock().unwrap().len() < CONNECTIONS {
        thread::yield_now();
    }
    let (write, known) = (&result["write"], recorder.latencies_s());
    let refused = recorder.refused();
    let errors = write["errors"].as_object().unwrap().values();
    assert_eq!(errors.map(|count| count.as_u64().unwrap()).sum::<u64>(), refused as u64, "{name}");
    assert_eq!(code, Some(i32::from(refused > 0)), "{name}");
    let due = (case.rate as f64 * length_s) as usize;
    // The client's run may end a request earlier or later than the server's record.
    let count = write["intended_latency"]["count"].as_u64().unwrap() as usize;
    assert!(count.abs_diff(due - refused) <= CONNECTIONS, "{name}: {count} of {due}");
    let figures = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)];
    let cells = figures.map(|(figure, quantile)| {
        let told = &write["intended_latency"][format!("{figure}_ms")];
        let Some(told_ms) = told.as_f64() else { return "-".to_owned() };
        let at = ((known.len() as f64 * quantile).ceil() as usize).clamp(1, known.len());
        let true_ms = known[at - 1] * 1000.0;
        let off = (told_ms - true_ms).abs();
        assert!(off <= CLOCKS * length_s * 1000.0, "{name}, {figure}: {told_ms} for {true_ms}");
        let formula_ms = formula_s(case.behaviour, quantile, length_s).map(|s| s * 1000.0);
        // A busy machine can only add to what the formula says, up to where the run ends.
        let least = formula_ms.unwrap_or_default() - CLOCKS * length_s * 1000.0;
        assert!(told_ms >= least, "{name}, {figure}: {told_ms} for {formula_ms:?} by formula");
        format!("{:.0} / {told_ms:.0}", formula_ms.unwrap_or(true_ms))
    });
    let service = write["service_time"]["p99_ms"].as_f64();
    if matches!(case.behaviour, Behaviour::Stalls(_)) {
        // What a tool tells that counts from sending: the stall hit two requests.
        let p99 = write["intended_latency"]["p99_ms"].as_f64().unwrap();
        assert!(service.unwrap_or_default() < p99 / 2.0, "{name}: {service:?}");
    }
    assert!(case.behaviour != Behaviour::Refuses(1) || write["points_acked"] == 0, "{name}");
    let service = service.map_or("-".to_owned(), |ms| format!("{ms:.1}"));
    let unsent = &write["unsent"];
    format!("| {name} | {due} | {unsent} | {refused} | {} | {service} |", cells.join(" | "))
}
