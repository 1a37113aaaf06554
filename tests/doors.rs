//! Crowds at the doors: clients that never read, floods of datagrams, strangers beside those who
//! may write, hundreds of databases at once, a broker that means harm. Each leaves the server
//! answering others rightly, soon and with little memory.

#![allow(clippy::big_endian_bytes, reason = "MQTT is big-endian")]

use crate::harness;
use crate::harness::broker::Broker;
use crate::harness::{Over, Scratch, Server};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What the process may grow by under any of these.
const MEMORY_BYTES: u64 = 96 << 20;
/// How long each goes on.
const ATTACK: Duration = Duration::from_secs(2);

/// Asks something small all the while that others attack. Each answer must be right.
fn canary(server: &Server, who: &str, attack: impl FnOnce(&AtomicBool)) {
    let before = server.resident_bytes();
    let ends = AtomicBool::new(false);
    let (asked, slowest) = std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let (mut asked, mut slowest) = (0, Duration::ZERO);
            while !ends.load(Ordering::Relaxed) {
                let began = Instant::now();
                let head: &[(&str, &str)] =
                    if who.is_empty() { &[] } else { &[("Authorization", who)] };
                let path = "/query?db=default&q=SELECT%20last(v)%20FROM%20canary";
                let answer = server.request("GET", path, head, b"");
                assert!(answer.text().contains(",7]"), "{} {}", answer.status, answer.text());
                slowest = slowest.max(began.elapsed());
                asked += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            (asked, slowest)
        });
        let over = Over(&ends);
        attack(&ends);
        drop(over);
        asking.join().unwrap()
    });
    let grown = server.peak_bytes().saturating_sub(before);
    println!("{asked} answers, {slowest:?} at most, {} MiB more", grown >> 20);
    assert!(grown < MEMORY_BYTES, "it took {} MiB", grown >> 20);
    // How long a quiet machine takes, `make attacks` tells.
    assert!(asked > 0 && slowest < Duration::from_secs(20), "{asked} answers, {slowest:?}");
}

fn write_canary(server: &Server, who: &str) {
    let head: &[(&str, &str)] = if who.is_empty() { &[] } else { &[("Authorization", who)] };
    let written = server.request("POST", "/write?db=default", head, b"canary v=7 1");
    assert_eq!(written.status, 204, "{}", written.text());
}

/// Sends the same again and again, and never reads; returns how much was taken.
fn pour(address: SocketAddr, piece: &[u8], ends: &AtomicBool) -> usize {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_write_timeout(Some(Duration::from_millis(200))).unwrap();
    let (many, mut sent) = (piece.repeat((64 << 10) / piece.len() + 1), 0);
    while !ends.load(Ordering::Relaxed) {
        match socket.write(&many[sent % piece.len()..]) {
            Ok(count) => sent += count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            // It was told to go.
            Err(_) => break,
        }
    }
    sent
}

#[test]
fn whoever_sends_and_never_reads_costs_little() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-ticktock", "127.0.0.1:0"]);
    write_canary(&server, "");
    let line = server.welcome.lines().find(|line| line.contains("TickTock")).unwrap();
    let ticktock: SocketAddr = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let pieces: [(&str, SocketAddr, Vec<u8>); 4] = [
        ("telnet's version", server.address, b"version\n".to_vec()),
        ("telnet's figures", server.address, b"stats\n".to_vec()),
        ("TickTock's figures", ticktock, b"stats\n".to_vec()),
        ("telnet's mistakes", server.address, b"put\n".to_vec()),
    ];
    for (what, address, piece) in &pieces {
        println!("{what}");
        canary(&server, "", |ends| {
            let all = AtomicU64::new(0);
            std::thread::scope(|scope| {
                for _ in 0..20 {
                    scope.spawn(|| {
                        all.fetch_add(pour(*address, piece, ends) as u64, Ordering::Relaxed);
                    });
                }
                std::thread::sleep(ATTACK);
                ends.store(true, Ordering::Relaxed);
            });
            println!("{} KiB were taken", all.into_inner() >> 10);
        });
    }
    server.stop();
}

#[test]
fn floods_of_datagrams_leave_others_alone() {
    for (flags, is_stored) in [
        (&["--listen-udp"][..], true),
        (&["--listen-udp", "--access", "--set=access.write_from=127.0.0.1/32"], true),
        (&["--listen-udp", "--access"], false),
    ] {
        let dir = Scratch::new();
        let who =
            if flags.len() > 1 { token(dir.path(), &["--role", "admin"]) } else { String::new() };
        let server = Server::start(dir.path(), flags);
        write_canary(&server, &who);
        canary(&server, &who, |_| {
            std::thread::scope(|scope| {
                for thread in 0..2 {
                    let address = server.address;
                    scope.spawn(move || flood(address, thread));
                }
            });
        });
        let head = [("Authorization", &*who)];
        let head: &[(&str, &str)] = if who.is_empty() { &[] } else { &head };
        let figures = server.request("GET", "/metrics", head, b"").text();
        let figure = |name: &str| -> f64 {
            let line = figures.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().trim().parse().unwrap()
        };
        let (taken, refused) =
            (figure("foliot_udp_datagrams_total "), figure("foliot_udp_refused_total "));
        let rows = figure("foliot_rows_total{protocol=\"udp\"} ");
        println!("{flags:?}: {taken} datagrams, {refused} refused, {rows} rows");
        assert!(taken + refused > 100.0);
        assert_eq!((rows > 0.0, refused == 0.0), (is_stored, is_stored), "{flags:?}");
        server.stop();
    }
}

/// Lines, halves of them, and bytes that are none.
fn flood(address: SocketAddr, seed: usize) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let until = Instant::now() + ATTACK;
    let mut at = seed;
    while Instant::now() < until {
        let line = format!("put flood {} 1 h={}\n", 1_700_000_000 + at, at % 50);
        let text = match at % 4 {
            0 => line.repeat(20).into_bytes(),
            1 => line.as_bytes()[..line.len() / 2].to_vec(),
            2 => vec![(at * 7) as u8; 1400],
            _ => line.into_bytes(),
        };
        let _ = socket.send_to(&text, address);
        at += 1;
    }
}

fn token(dir: &Path, rights: &[&str]) -> String {
    let mut command = harness::foliot();
    command.args(["user", "token", "t", "--data-dir"]).arg(dir).args(rights);
    let made = command.output().unwrap();
    format!("Bearer {}", String::from_utf8(made.stdout).unwrap().trim())
}

#[test]
fn strangers_at_every_door_keep_nobody_from_writing() {
    let dir = Scratch::new();
    let admin = token(dir.path(), &["--role", "admin"]);
    let writer = token(dir.path(), &["--role", "write", "--db", "default"]);
    let ended = token(dir.path(), &["--role", "admin", "--expires", "1s"]);
    let flags = ["--access", "--listen-ticktock", "127.0.0.1:0", "--listen-udp"];
    let server = Server::start(dir.path(), &flags);
    let ticktock = server.welcome.lines().find(|line| line.contains("TickTock")).unwrap();
    let ticktock: SocketAddr =
        ticktock.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    write_canary(&server, &admin);
    std::thread::sleep(Duration::from_millis(1_500));
    let stored = AtomicU64::new(0);
    let wrong = "Bearer foliot_0000000000000000000000000000000000000000000000000000000000000000";
    let guess = "Basic cm9vdDpndWVzcw==";
    canary(&server, &admin, |ends| {
        std::thread::scope(|scope| {
            for who in ["", wrong, guess, &ended] {
                let server = &server;
                scope.spawn(move || {
                    let paths = [
                        ("POST", "/write?db=default", "evil v=1 1"),
                        (
                            "POST",
                            "/api/put",
                            r#"{"metric":"evil","timestamp":1,"value":1,"tags":{}}"#,
                        ),
                        ("POST", "/api/v2/write?bucket=default", "evil v=1 1"),
                        ("GET", "/query?db=default&q=SHOW%20MEASUREMENTS", ""),
                        ("POST", "/query?q=DROP%20DATABASE%20default", ""),
                        ("GET", "/prometheus/api/v1/query?query=canary_v", ""),
                        ("GET", "/metrics", ""),
                    ];
                    let heads = [("Authorization", who)];
                    let head: &[(&str, &str)] = if who.is_empty() { &[] } else { &heads };
                    while !ends.load(Ordering::Relaxed) {
                        for (method, path, body) in paths {
                            let answer = server.request(method, path, head, body.as_bytes());
                            // A guesser waits; nobody else is told more than that.
                            let is_refused = matches!(answer.status, 401 | 429 | 503);
                            assert!(is_refused, "{path} by {who}: {}", answer.status);
                        }
                    }
                });
            }
            for address in [server.address, ticktock] {
                scope.spawn(move || {
                    while !ends.load(Ordering::Relaxed) {
                        let mut socket = TcpStream::connect(address).unwrap();
                        let lines = "put evil 1700000000 1 h=a\n".repeat(5)
                            + "auth foliot_00 \nauth root guess\nput evil 1700000000 1 h=a\n";
                        let _ = socket.write_all(lines.as_bytes());
                        let _ = socket.shutdown(std::net::Shutdown::Write);
                        let _ = socket.read_to_end(&mut Vec::new());
                    }
                });
            }
            scope.spawn(|| flood(server.address, 0));
            scope.spawn(|| {
                for at in 0.. {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    let head = [("Authorization", &*writer)];
                    let line = format!("good v={at} {}", at + 1);
                    let answer =
                        server.request("POST", "/write?db=default", &head, line.as_bytes());
                    assert_eq!(answer.status, 204, "{}", answer.text());
                    stored.fetch_add(1, Ordering::Relaxed);
                }
            });
            std::thread::sleep(ATTACK);
            ends.store(true, Ordering::Relaxed);
        });
    });
    let head = [("Authorization", &*admin)];
    let names = server.request("GET", "/query?db=default&q=SHOW%20MEASUREMENTS", &head, b"").text();
    assert!(!names.contains("evil") && names.contains("good"), "{names}");
    let count = "/query?db=default&q=SELECT%20count(v)%20FROM%20good";
    let count = server.request("GET", count, &head, b"").text();
    let stored = stored.into_inner();
    println!("{stored} written");
    assert!(stored > 50 && count.contains(&format!(",{stored}]")), "{stored}: {count}");
    server.stop();
}

#[test]
fn three_hundred_databases_are_written_and_asked_at_once() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write_canary(&server, "");
    canary(&server, "", |_| {
        std::thread::scope(|scope| {
            for thread in 0..6 {
                let server = &server;
                scope.spawn(move || {
                    for at in (thread..300).step_by(6) {
                        let lines: String =
                            (0..20).map(|row| format!("m,h=a v={} {}\n", at, row + 1)).collect();
                        let path = format!("/write?db=many{at}");
                        assert_eq!(server.post(&path, &lines).status, 204);
                        let question =
                            format!("/query?db=many{at}&q=SELECT%20sum(v),count(v)%20FROM%20m");
                        let said = server.get(&question).text();
                        assert!(said.contains(&format!(",{},20]", at * 20)), "{said}");
                    }
                });
            }
        });
    });
    let said = server.get("/query?q=SHOW%20DATABASES").text();
    assert_eq!(said.matches("[\"many").count(), 300);
    server.stop();
}

/// A broker may send what it wants: as much at once as it can, identifiers that are never released,
/// messages that nobody asked for.
#[test]
fn a_broker_that_means_harm_takes_little() {
    let broker = Broker::new();
    let dir = Scratch::new();
    let address = broker.flag();
    let flags =
        ["--mqtt-broker", &address, "--mqtt-topics", "t", "--set=limits.memory_bytes=256MiB"];
    let server = Server::start(dir.path(), &flags);
    write_canary(&server, "");
    let packet = |kind: u8, body: &[u8]| {
        let (mut packet, mut length) = (vec![kind], body.len());
        loop {
            let more = u8::from(length > 127) << 7;
            packet.push((length & 127) as u8 | more);
            length >>= 7;
            if length == 0 {
                break;
            }
        }
        [packet, body.to_vec()].concat()
    };
    let publish = |quality: u8, id: u16, payload: &[u8]| {
        let head = if quality == 0 {
            vec![0, 1, b't']
        } else {
            [&[0, 1, b't'][..], &id.to_be_bytes()].concat()
        };
        packet(0x30 | quality << 1, &[&head, payload].concat())
    };
    canary(&server, "", |_| {
        // The length of the largest packet there is, and then its bytes one by one.
        let mut session = broker.accept(1).unwrap();
        session.send_raw(&[0x30, 0xff, 0xff, 0xff, 0x7f]);
        assert!(session.is_ended(), "256 MiB are more than a message may have");
        // Messages of 1 MiB, as many as go in that time, none of which says anything.
        let mut session = broker.accept(1).unwrap();
        let large = publish(0, 0, &vec![b'x'; 1 << 20]);
        let until = Instant::now() + ATTACK;
        while Instant::now() < until {
            session.send_raw(&large);
        }
        drop(session);
        // Quality 2, every identifier, none of them released.
        let mut session = broker.accept(1).unwrap();
        for id in 1..=u16::MAX {
            session.send_raw(&publish(2, id, b"put two 1700000000 1 h=a"));
        }
        drop(session);
        // Acknowledgements and releases that nobody waits for.
        for kind in [0x40, 0x50, 0x62, 0x70, 0x90, 0xb0] {
            let mut session = broker.accept(1).unwrap();
            for id in 0..200_u16 {
                session.send_raw(&packet(kind, &(id * 300).to_be_bytes()));
            }
        }
    });
    let mut session = broker.accept(1).unwrap();
    let id = session.publish("t", "put good 1700002800 1 h=a");
    loop {
        match session.acknowledged() {
            Some(found) if found == id => break,
            Some(_) => {}
            None => panic!("a broker that means well is not heard"),
        }
    }
    assert_eq!(server.samples("sum:good").len(), 1);
    server.stop();
}
