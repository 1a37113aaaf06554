//! What takes long for some connections holds no other: whatever they do, and however slow the disk
//! is, somebody who only asks whether the server is there has an answer at once.

use crate::faults::{Action, ENOSPC, Machine, Rule};
use crate::harness::{Over, PATIENCE, Scratch, Server, read_response, request};
use crate::times;
use flate2::Compression;
use flate2::write::GzEncoder;
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

/// Changes that wait for the disk leave places to questions, however few there are, and hold no
/// loop: more of them than there are places wait here, and none is answered before the question.
#[test]
fn changes_that_wait_for_a_slow_sync_hold_no_question() {
    const CHANGES: usize = 15;
    let scratch = Scratch::new();
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let command = machine.host(Server::command(&dir, &["--set", "limits.queries=2"]));
    let server = Server::ready(command).unwrap();
    assert_eq!(server.post("/write?db=default", "held v=1\ngone v=1").status, 204);
    let answered = AtomicU64::new(0);
    let change = |number: usize| match number % 5 {
        0 => server.post("/query?q=CREATE%20DATABASE%20made", ""),
        1 => server.post("/api/v3/configure/database", &format!(r#"{{"db":"made{number}"}}"#)),
        2 => {
            let limit = format!(r#"{{"metric":"held{number}","series_max":5}}"#);
            server.post("/api/foliot/v1/limits", &limit)
        }
        3 => server.post("/query?db=default&q=DELETE%20FROM%20gone", ""),
        _ => {
            let note = format!(r#"{{"start_ms":170000000{number:04},"text":"n"}}"#);
            server.post("/api/foliot/v1/annotations", &note)
        }
    };
    machine.set(0, Rule::always("sync", "/data", Action::DelayMs(4000)));
    let slowest = slowest_ping(&server, || {
        std::thread::scope(|scope| {
            for number in 0..CHANGES {
                let (change, answered) = (&change, &answered);
                scope.spawn(move || {
                    let answer = change(number);
                    // Changes of facts go one by one: who waits for two seconds comes again.
                    let is_put_off = matches!(number % 5, 2 | 4) && answer.status == 503;
                    let is_good = answer.status < 300 || is_put_off;
                    assert!(is_good, "{number}: {} {}", answer.status, answer.text());
                    answered.fetch_add(1, Ordering::Relaxed);
                });
            }
            let until = Instant::now() + PATIENCE;
            while machine.seen(0) == 0 {
                assert!(Instant::now() < until, "nothing is synced");
                std::thread::sleep(Duration::from_millis(1));
            }
            // All have come by now.
            std::thread::sleep(Duration::from_millis(500));
            let found = server.get("/query?db=default&q=SHOW%20MEASUREMENTS");
            assert!(found.text().contains("held"), "{}", found.text());
            assert_eq!(answered.load(Ordering::Relaxed), 0, "the question waited for changes");
            let notes = server.get("/api/foliot/v1/annotations");
            assert_eq!((notes.status, answered.load(Ordering::Relaxed)), (200, 0));
            machine.clear(0);
        });
    });
    assert!(slowest < LATE, "somebody waited {slowest:?} for changes of others");
    server.stop();
}

/// Where the system holds an append up it may do so again: whoever writes then holds nobody else.
#[test]
fn an_append_that_is_held_up_is_the_last_to_hold_others() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let command = machine.host(Server::command(&dir, &["--set", "wal.ack=os"]));
    let server = Server::ready(command).unwrap();
    let write_slowly = |value: usize| {
        // One at a time: where all are slow the log's own thread is at it anyway.
        machine.set(0, Rule::always("write", "/wal-", Action::DelayMs(2000)).times(1));
        let began = Instant::now();
        assert_eq!(server.post("/write?db=default", &format!("held v={value}")).status, 204);
        assert!(began.elapsed() > LATE, "the append was not slow");
        assert_eq!(server.post("/write?db=default", &format!("quick v={value}")).status, 204);
    };
    assert_eq!(server.post("/write?db=default", "quick v=0").status, 204, "the log has its file");
    write_slowly(0);
    let slowest = slowest_ping(&server, || (1..4).for_each(write_slowly));
    assert!(slowest < LATE, "somebody waited {slowest:?} for an append of others");
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

/// Stores 400 000 samples of 1 000 series.
fn fill(server: &Server) {
    for round in 0..20 {
        let line = |n: usize| format!("held,host=h{} v={n} {}\n", n % 1_000, 1_700_000_000 + n);
        let body: String = (round * 20_000..(round + 1) * 20_000).map(line).collect();
        assert_eq!(server.post("/write?db=default&precision=s", &body).status, 204);
    }
}

#[test]
fn streams_without_end_and_heavy_questions_hold_nobody_else() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch.path().join("data"), &["--set", "wal.ack=os"]);
    fill(&server);
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

/// More packed bodies than a loop's pool has threads wait for memory that another body holds.
#[test]
fn packed_bodies_that_wait_for_memory_hold_only_who_sends() {
    let scratch = Scratch::new();
    let flags = ["--set", "wal.ack=os", "--limits-pending-body-bytes", "1MiB"];
    let server = Server::start(&scratch.path().join("data"), &flags);
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&b"held v=1\n".repeat(1_000)).unwrap();
    let gzip = [("Content-Encoding", "gzip")];
    // So few bytes fit whatever is in them, and so wait.
    let packed = request("POST", "/write?db=default", &gzip, &packed.finish().unwrap());
    let mut held = request("POST", "/write?db=default", &[], &[b'#'; 1 << 20]);
    held.truncate(held.len() - 100);
    let slowest = slowest_ping(&server, || {
        let mut holder = server.connect();
        holder.write_all(&held).unwrap();
        let try_one = || {
            let mut socket = BufReader::new(server.connect());
            socket.get_mut().write_all(&packed).unwrap();
            read_response(&mut socket).expect("an answer").status
        };
        while try_one() != 503 {
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut senders: Vec<TcpStream> = (0..2_400).map(|_| hasty(&server)).collect();
        senders.iter_mut().for_each(|sender| drop(sender.write_all(&packed)));
        let refused = "foliot_limits_met_total{limit=\"limits.pending_body_bytes\"}";
        server.wait_for_metric(refused, 2_000.0);
    });
    assert!(slowest < LATE, "somebody waited {slowest:?} for memory of others");
    server.stop();
}

/// Clients that send many requests ahead and half of a body, read no answer and leave: what waits
/// for its turn is given up with them, whatever they sent ahead.
#[test]
fn clients_that_leave_leave_no_work_behind() {
    const CLIENTS: usize = 100;
    let scratch = Scratch::new();
    let flags = ["--set", "wal.ack=os", "--limits-queries", "1", "--limits-query-wait", "10m"];
    let server = Server::start(&scratch.path().join("data"), &flags);
    fill(&server);
    let export = request("GET", "/api/v1/export?match[]={__name__!=%22%22}", &[], b"").repeat(20);
    let mut half = request("POST", "/v1/metrics", &[], &vec![10; 8 << 20]);
    half.truncate(4 << 20);
    let slowest = slowest_ping(&server, || {
        let mut clients: Vec<TcpStream> = Vec::new();
        for _ in 0..CLIENTS {
            let mut client = server.connect();
            client.write_all(&export).unwrap();
            clients.push(client);
        }
        let mut bodies: Vec<TcpStream> = (0..CLIENTS / 4).map(|_| hasty(&server)).collect();
        bodies.iter_mut().for_each(|body| drop(body.write_all(&half)));
        let began = Instant::now();
        let waiting = "foliot_limits_met_total{limit=\"limits.queries\"}";
        while server.metric(waiting) < (CLIENTS - 1) as f64 {
            assert!(began.elapsed() < PATIENCE, "not all have come to wait");
            std::thread::sleep(Duration::from_millis(20));
        }
        let before = server.metric("foliot_queries_total");
        // Those that wait leave before the one that they wait for.
        while let Some(client) = clients.pop() {
            drop(client);
        }
        drop(bodies);
        while server.metric("foliot_queries_running") > 0.0
            || server.metric("foliot_connections") > (PINGERS + 1) as f64
        {
            assert!(began.elapsed() < 2 * PATIENCE, "work goes on without its clients");
            std::thread::sleep(Duration::from_millis(20));
        }
        let begun = server.metric("foliot_queries_total") - before;
        assert!(begun < CLIENTS as f64 / 4.0, "{begun} questions were begun for nobody");
    });
    assert!(slowest < LATE, "somebody waited {slowest:?} for those who had left");
    server.stop();
}
