//! What takes long for some connections holds no other: whatever they do, and however slow the disk
//! is, somebody who only asks whether the server is there has an answer at once.

use crate::faults::{Action, ENOSPC, Machine, Rule};
use crate::harness::{Over, PATIENCE, Scratch, Server, read_response, request};
use crate::times;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Connections that ask, so many that there are some on each loop.
const PINGERS: usize = 16;
/// What the others wait for takes longer than this, and a machine under load less.
const LATE: Duration = Duration::from_millis(1500);

/// Asks over and over while `work` is done, and says how long the slowest answer took.
fn slowest_ping(server: &Server, work: impl FnOnce()) -> Duration {
    let (is_over, slowest_us) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let over = Over(&is_over);
        for _ in 0..PINGERS {
            let mut socket = BufReader::new(server.connect());
            scope.spawn({
                let (is_over, slowest_us) = (&is_over, &slowest_us);
                move || {
                    while !is_over.load(Ordering::Relaxed) {
                        let began = Instant::now();
                        socket.get_mut().write_all(&request("GET", "/ping", &[], b"")).unwrap();
                        let answer = read_response(&mut socket).expect("an answer");
                        assert_eq!(answer.status, 204);
                        let took_us = began.elapsed().as_micros() as u64;
                        slowest_us.fetch_max(took_us, Ordering::Relaxed);
                        std::thread::sleep(Duration::from_millis(10));
                    }
                }
            });
        }
        work();
        drop(over);
    });
    Duration::from_micros(slowest_us.into_inner())
}

/// Lines of `put` of many series.
fn puts(from: usize, count: usize) -> Vec<u8> {
    let line = |n: usize| format!("put held.m {} {n} host=h{}\n", 1_700_000_000 + n, n % 50);
    (from..from + count).map(line).collect::<String>().into_bytes()
}

/// A connection over which nobody waits for ever.
fn hasty(server: &Server) -> TcpStream {
    let socket = server.connect();
    socket.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    socket
}

#[test]
fn a_slow_sync_holds_only_who_waits_for_it() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let server = Server::ready(machine.host(Server::command(&dir, &[]))).unwrap();
    assert_eq!(server.post("/write?db=default", "held v=1").status, 204);
    machine.set(0, Rule::always("sync", "/wal-", Action::DelayMs(2000)));
    let slowest = slowest_ping(&server, || {
        std::thread::scope(|scope| {
            for number in 0..20 {
                let (server, began) = (&server, Instant::now());
                scope.spawn(move || {
                    for round in 0..2 {
                        let line = format!("held,host=h{number} v={round}");
                        assert_eq!(server.post("/write?db=default", &line).status, 204);
                    }
                    assert!(began.elapsed() > LATE, "the sync was not slow");
                });
            }
            // Put lines wait for no sync; a stream of them comes meanwhile.
            let mut stream = hasty(&server);
            for round in 0..20 * times() as usize {
                let _ = stream.write_all(&puts(round * 100, 100));
                std::thread::sleep(Duration::from_millis(20));
            }
        });
    });
    assert!(slowest < LATE, "somebody waited {slowest:?} for a sync of others");
    machine.clear(0);
    server.stop();
}

/// More senders than a loop's pool has threads wait for room in memory.
#[test]
fn a_full_head_holds_only_who_writes() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let command = machine.host(Server::command(&dir, &["--head-bytes", "1MiB"]));
    let server = Server::ready(command).unwrap();
    machine.set(0, Rule::always("create", "/part-", Action::Fail(ENOSPC)));
    // The decimals are such as pack badly.
    let line = |n: usize| format!("held,host=h{n} v={}\n", (n * 7919 % 10_007) as f64 / 97.0);
    let mut refused = 0;
    for round in 0..2_000 {
        let body: String = (round * 2_000..(round + 1) * 2_000).map(line).collect();
        let answer = server.post("/write?db=default", &body);
        if answer.status == 503 {
            refused += 1;
            break;
        }
        assert_eq!(answer.status, 204, "{}", answer.text());
    }
    assert!(refused > 0, "the head is never full");
    let slowest = slowest_ping(&server, || {
        let mut senders: Vec<TcpStream> = (0..1_200).map(|_| hasty(&server)).collect();
        let text = puts(0, 20);
        for _ in 0..3 {
            for sender in &mut senders {
                let _ = sender.write_all(&text);
            }
            std::thread::sleep(Duration::from_millis(700));
        }
    });
    assert!(slowest < LATE, "somebody waited {slowest:?} for room in memory of others");
    // With room again what waited is stored.
    machine.clear(0);
    let began = Instant::now();
    while server.post("/write?db=default", "held v=2").status != 204 {
        assert!(began.elapsed() < PATIENCE, "the head stays full");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();
}

#[test]
fn streams_without_end_and_heavy_questions_hold_nobody_else() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.path().join("data"), &["--set", "wal.ack=os"]);
    for round in 0..20 {
        let line = |n: usize| format!("held,host=h{} v={n} {}\n", n % 1_000, 1_700_000_000 + n);
        let body: String = (round * 20_000..(round + 1) * 20_000).map(line).collect();
        assert_eq!(server.post("/write?db=default&precision=s", &body).status, 204);
    }
    let answered = AtomicU64::new(0);
    let slowest = slowest_ping(&server, || {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let over = Over(&is_over);
            for number in 0..4 {
                let (server, is_over) = (&server, &is_over);
                scope.spawn(move || {
                    let (mut socket, text) = (server.connect(), puts(number, 20_000));
                    while !is_over.load(Ordering::Relaxed) {
                        socket.write_all(&text).unwrap();
                    }
                });
            }
            for _ in 0..60 {
                let (server, answered) = (&server, &answered);
                scope.spawn(move || {
                    let question = "/query?db=default&q=SELECT%20mean(v),stddev(v)%20FROM%20held%20\
                                    WHERE%20time%20%3E%3D%201700000000s%20\
                                    AND%20time%20%3C%201700500000s%20GROUP%20BY%20time(1h),host";
                    // The last of them may wait longer than a client does, on a machine under load.
                    let Some(answer) = server.try_get(question) else { return };
                    assert!([200, 413, 429].contains(&answer.status), "{}", answer.status);
                    answered.fetch_add(1, Ordering::Relaxed);
                });
            }
            std::thread::sleep(Duration::from_secs(2 * times()));
            drop(over);
        });
    });
    assert!(slowest < LATE, "somebody waited {slowest:?} for work of others");
    assert!(answered.into_inner() > 0, "no question was answered");
    server.stop();
}
