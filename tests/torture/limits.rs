//! Few descriptors and little memory.

use crate::doors::Doors;
use crate::harness::{Scratch, Server, foliot};
use crate::ledger::{Ledger, Load, Look, START_S, mix};
use crate::{seed, times};
use rustix::process::Signal;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const WEEK_S: i64 = 7 * 86_400;
const WEEKS: i64 = 600;

/// The command of a server under a limit of the shell.
fn limited(limit: &str, dir: &Path, flags: &[&str]) -> Command {
    let mut command = Command::new("sh");
    let script = format!("{limit}; exec \"$0\" \"$@\"");
    command
        .args(["-c", &script])
        .arg(foliot().get_program())
        .args(["serve", "--listen", "127.0.0.1:0", "--log-level", "error", "--data-dir"])
        .arg(dir)
        .args(flags)
        .stdout(Stdio::piped());
    command
}

/// A sample in each of six hundred weeks is flushed with 512 descriptors.
#[test]
fn six_hundred_weeks_are_flushed_with_few_descriptors() {
    let scratch = Scratch::new();
    let start = || Server::ready(limited("ulimit -n 512", scratch.path(), &[])).unwrap();
    let server = start();
    for round in 0..2 {
        let lines: Vec<String> = (0..WEEKS)
            .map(|week| format!("weeks,h=a v={week}i {}", START_S - week * WEEK_S + round))
            .collect();
        let answer = server.post("/write?db=default&precision=s", &lines.join("\n"));
        assert_eq!(answer.status, 204, "{}", answer.text());
        server.signal(Signal::USR1);
        server.wait_for_metric("foliot_flushes_total", round as f64 + 1.0);
        assert_eq!(server.samples("none:weeks.v").len() as i64, WEEKS * (round + 1));
    }
    server.kill();
    let server = start();
    let samples = server.samples("none:weeks.v");
    assert_eq!(samples.len() as i64, WEEKS * 2);
    server.stop();
}

/// A process that may have no more memory refuses or dies; what it had answered is there.
#[test]
fn a_server_without_memory_loses_nothing_that_was_answered() {
    let (scratch, doors) = (Scratch::new(), Doors::new());
    let ledger = Arc::new(Ledger::new(seed()));
    for cap_kib in [400_000, 200_000] {
        let limit = format!("ulimit -v {cap_kib}");
        let command = limited(&limit, scratch.path(), &["--head-bytes", "64MiB"]);
        let Some(mut server) = Server::ready(command) else {
            println!("{cap_kib} KiB are too little to start");
            continue;
        };
        let load = Load::start_some(&server, &doors, &ledger, "durable", [4, 5, 6, 7]);
        load.expect_the_end();
        let began = Instant::now();
        let mut series = 0;
        // New series take memory fast.
        while !server.has_ended() && began.elapsed() < Duration::from_secs(3 * times().min(10)) {
            let lines: Vec<String> = (series..series + 5000)
                .map(|number| format!("many,a=series-{number},b=of-many v={number} {START_S}"))
                .collect();
            series += 5000;
            let _ = server.try_post("/write?db=default&precision=s", &lines.join("\n"));
        }
        println!("{cap_kib} KiB: {series} series, died: {}", server.has_ended());
        server.kill();
        load.stop();
        let server = Server::start(scratch.path(), &[]);
        ledger.check(&server, Look::Whole);
        server.stop();
    }
}

/// Texts that no code makes much smaller.
fn text(seed: u64, length: usize) -> String {
    let letter = |at: usize| {
        let drawn = mix(seed, at as u64, 77) % 62;
        char::from(
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[drawn as usize],
        )
    };
    (0..length).map(letter).collect()
}

/// A log that was written with much memory is read with little: by pieces, each of which is flushed
/// before the next is taken in.
#[test]
fn a_log_of_more_than_memory_is_taken_in_with_little() {
    const ROWS: usize = 1000;
    const LITTLE_MIB: u64 = 64;
    let scratch = Scratch::new();
    let much = ["--head-bytes", "1GiB", "--limits-memory-bytes", "16GiB"];
    let server = Server::start(scratch.path(), &much);
    let bodies = 128 * times().min(4);
    for body in 0..bodies {
        let row = |row: usize| {
            let time_s = START_S + (body as usize * ROWS + row) as i64;
            format!("texts,h=a v=\"{}\" {time_s}", text(mix(seed(), body, row as u64), 1000))
        };
        let rows: Vec<String> = (0..ROWS).map(row).collect();
        let answer = server.post("/write?db=default&precision=s", &rows.join("\n"));
        assert_eq!(answer.status, 204, "{}", answer.text());
    }
    let held = server.metric("foliot_head_bytes");
    assert!(held > 1.4 * (LITTLE_MIB << 20) as f64, "{held} bytes in memory");
    server.kill();

    let cap = format!("{LITTLE_MIB}MiB");
    let began = Instant::now();
    let server = Server::start(scratch.path(), &["--limits-memory-bytes", &cap]);
    let most = server.peak_bytes() >> 10;
    println!("{held} bytes of samples, taken in within {:?}, {most} KiB at most", began.elapsed());
    assert!(most < LITTLE_MIB * 1024 * 11 / 10, "{most} KiB with a limit of {cap}");
    let counted = server.get("/query?db=default&q=select+count(v)+from+texts").text();
    assert!(counted.contains(&format!(",{}]", bodies as usize * ROWS)), "{counted}");
    server.stop();
}
