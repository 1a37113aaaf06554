//! Prints how fast this door decodes and encodes on one core:
//! `cargo run --release -p foliot-proto-opentsdb --example put_bench`.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for a person to read")]

use foliot_model::{Batch, BatchBuffers, Frame, KeySecret, Samples, SeriesHead, Value};
use foliot_proto_opentsdb::{
    Budget, Encoder, HttpRequest, KEY_SYNTAX, Options, Request, Session, decode_json,
};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const POINTS: usize = 100_000;
const ROUNDS: usize = 20;

fn main() {
    let (lines, floats, json) = inputs();
    telnet("put lines, integers", &lines);
    telnet("put lines, decimals", &floats);
    bodies(&json);
    answers();
}

fn inputs() -> (String, String, String) {
    let (mut lines, mut floats, mut json) = (String::new(), String::new(), "[".to_owned());
    for point in 0..POINTS {
        let (host, time, value) = (point % 4000, 1_700_002_800 + point / 4000 * 10, point % 100);
        let tags = format!("host=host_{host} region=eu-west-1 rack={}", host % 97);
        writeln!(lines, "put cpu.usage_user {time} {value} {tags}").unwrap();
        writeln!(floats, "put cpu.usage_user {time} {value}.{:04} {tags}", point % 9973).unwrap();
        let comma = if point > 0 { "," } else { "" };
        write!(
            json,
            "{comma}{{\"metric\":\"cpu.usage_user\",\"timestamp\":{time},\"value\":{value}.25,\
             \"tags\":{{\"host\":\"host_{host}\",\"region\":\"eu-west-1\"}}}}"
        )
        .unwrap();
    }
    (lines, floats, json + "]")
}

fn telnet(what: &str, text: &str) {
    let mut buffers = BatchBuffers::default();
    let started = clock();
    for _ in 0..ROUNDS {
        let mut session = Session::new(Options::default());
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            // As a server does: one batch for each read.
            let (read, _) = rest.split_at(rest.len().min(256 << 10));
            let mut batch = Batch::new(read, 0, &KEY_SYNTAX, KeySecret(7), buffers);
            let mut rejects = Vec::new();
            let step = session.decode(&mut batch, &mut rejects);
            assert!(rejects.is_empty() && step.consumed > 0);
            buffers = batch.into_buffers();
            (_, rest) = rest.split_at(step.consumed);
        }
    }
    report(what, text.len(), POINTS, started);
}

fn bodies(json: &str) {
    // Bodies of a size that clients send: a few thousand points.
    let points = json.trim_matches(['[', ']']).split_inclusive("}},").collect::<Vec<_>>();
    let body = |points: &[&str]| format!("[{}]", points.concat().trim_end_matches(','));
    let bodies: Vec<String> = points.chunks(2_000).map(body).collect();
    let mut buffers = BatchBuffers::default();
    let started = clock();
    for body in std::iter::repeat_n(&bodies, ROUNDS).flatten() {
        let mut batch = Batch::new(body.as_bytes(), 0, &KEY_SYNTAX, KeySecret(7), buffers);
        let mut rejects = Vec::new();
        let points = decode_json(&mut batch, &Options::default(), &mut rejects).unwrap();
        assert_eq!((points, rejects.len()), (2_000, 0));
        buffers = batch.into_buffers();
    }
    report("JSON points", json.len(), POINTS, started);
}

fn answers() {
    let query = HttpRequest { method: "GET", path: "", query: "start=1&m=sum:x", body: b"" };
    let request = Request::parse(&query, 1_700_002_800_000).unwrap();
    let head = Arc::new(SeriesHead { measurement: "x".into(), ..SeriesHead::default() });
    for (what, is_float) in [("answers, integers", false), ("answers, doubles", true)] {
        let mut samples = Samples::default();
        for point in 0..POINTS as i64 {
            let value =
                if is_float { Value::Float(point as f64 / 7.0) } else { Value::Integer(point) };
            samples.push(point * 1_000_000_000, value);
        }
        let frame = Frame { head: Arc::clone(&head), samples, is_last: true };
        let mut bytes = 0;
        let mut out = Vec::new();
        let started = clock();
        for _ in 0..ROUNDS {
            out.clear();
            let budget = Budget::new(&|_| Ok(()));
            let mut encoder = Encoder::new(&request, Box::new(|_| None), &budget);
            encoder.frame(&frame, &mut out).unwrap();
            encoder.finish(&[], &mut out).unwrap_or_default();
            bytes = out.len();
        }
        report(what, bytes, POINTS, started);
    }
}

/// Time this thread has had a core, where the system tells: other work on the machine does not
/// count.
fn clock() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = scheduled.and_then(|text| text.split(' ').next()?.parse().ok());
    nanos.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

fn report(what: &str, bytes: usize, points: usize, started: Duration) {
    let seconds = (clock() - started).as_secs_f64() / ROUNDS as f64;
    let (points_m, megabytes) = (points as f64 / 1e6, bytes as f64 / 1e6);
    println!(
        "{what:20} {:6.2} M points/s  {:6.0} MB/s  {:3.0} bytes/point",
        points_m / seconds,
        megabytes / seconds,
        bytes as f64 / points as f64
    );
}
