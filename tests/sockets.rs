//! The one port: which protocol a connection speaks, and how line streams behave.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod harness;

use harness::{Scratch, Server};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

#[test]
fn first_bytes_choose_the_protocol() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let version = "foliot 0.";
    let table: [(&str, &str); 11] = [
        (
            "GET /-/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 200 OK",
        ),
        ("OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", "HTTP/1.1 40"),
        ("version\n", version),
        ("version\r\n", version),
        ("version", "put: "),
        ("\nversion\n", "unknown command: .  Try `help'.\nfoliot 0."),
        ("foo\n", "unknown command: foo.  Try `help'.\n"),
        ("put m 1700002800 42\n", "put: illegal argument: not enough arguments"),
        ("put m 1700002800 1 h=a\n", ""),
        ("m,h=a v=1 1700002800\n", ""),
        ("m,h=a v=oops 1700002800\n", "line 1: invalid boolean"),
    ];
    for (bytes, expected) in table {
        // A client of HTTP that ends its sending side counts as gone.
        let answer = match bytes.contains("HTTP/1.1") {
            true => server.ask(bytes.as_bytes()),
            false => server.talk(bytes.as_bytes()),
        };
        let is_right = if expected.is_empty() { answer.is_empty() } else { true };
        assert!(is_right && answer.starts_with(expected), "{bytes:?}: {answer:?}");
    }
    assert_eq!(server.samples("sum:m{h=a}"), [(1_700_002_800_000, "1".to_owned())]);
    assert_eq!(server.samples("sum:m.v{h=a}"), [(1_700_002_800_000, "1.0".to_owned())]);
    server.stop();
}

#[test]
fn a_fleet_that_comes_at_once_is_let_in() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
    let bound = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
    let count = bound.trim().parse::<usize>().unwrap().min(2000);
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // Held, the server accepts nobody: whoever gets through waits in its queue. Whoever finds that
    // full is answered with silence, and tries again after a second.
    server.signal(Signal::STOP);
    let connect = || TcpStream::connect_timeout(&server.address, Duration::from_millis(900));
    let fleet: Vec<_> = (0..count).map(|_| connect()).collect();
    server.signal(Signal::CONT);
    let let_in = fleet.iter().filter(|socket| socket.is_ok()).count();
    assert_eq!(let_in, count);
    for socket in fleet.into_iter().rev().take(10) {
        let mut socket = socket.unwrap();
        socket.write_all(b"version\n").unwrap();
        let mut answer = String::new();
        BufReader::new(socket).read_line(&mut answer).unwrap();
        assert!(answer.starts_with("foliot 0."), "{answer}");
    }
    server.stop();
}

#[test]
fn tls_is_refused_with_an_alert_and_counted() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let mut socket = server.connect();
    socket.write_all(&[0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]).unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    assert!(answer.is_empty() || answer.first() == Some(&0x15), "{answer:?}");
    server.wait_for_metric("foliot_connections_tls_total", 1.0);
}

#[test]
fn telnet_errors_are_written_back_line_by_line() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let answer = server.talk(
        b"put m 1700002800 1 h=a\n\
          put m 17x 1 h=a\n\
          put m 0 1 h=a\n\
          put m 1700002800 abc h=a\r\n\
          put m 1700002801 2 h=a h=b\n\
          put m 1700002802   3   h=a  \n\
          bogus\n\
          put m 1700002803 4 h=a\n",
    );
    let lines: Vec<&str> = answer.lines().collect();
    assert_eq!(lines.len(), 6, "{answer}");
    assert!(lines[0].starts_with("put: invalid value: Invalid character 'x' in 17x"), "{answer}");
    assert!(lines[1].starts_with("put: illegal argument: invalid timestamp: 0"), "{answer}");
    assert!(lines[2].starts_with("put: invalid value: "), "{answer}");
    assert!(lines[3].contains("duplicate tag"), "{answer}");
    assert!(lines[4].contains("empty value"), "{answer}");
    assert_eq!(lines[5], "unknown command: bogus.  Try `help'.");
    let times: Vec<i64> = server.samples("sum:m{h=a}").iter().map(|sample| sample.0).collect();
    assert!(times.contains(&1_700_002_800_000) && times.contains(&1_700_002_803_000), "{times:?}");
    let rejected = |reason: &str| {
        let name = "foliot_rows_rejected_total";
        server.metric(&format!("{name}{{protocol=\"telnet\",reason=\"{reason}\"}}"))
    };
    assert_eq!(rejected("command"), 1.0);
    assert!(rejected("value") >= 2.0 && rejected("timestamp") >= 1.0);
}

#[test]
fn commands_are_answered_in_order_on_one_connection() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let answer = server.talk(b"help\nfoo\nstatus\ndropcaches\nexit\nversion\n");
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines[0].starts_with("available commands:"), "{answer}");
    assert!(lines[1].starts_with("unknown command: foo"), "{answer}");
    assert_eq!(lines[2..], ["ok", "Caches dropped."], "exit ends the connection");
    let stats = server.talk(b"stats\n");
    assert!(stats.lines().count() > 50 && stats.contains("foliot.connections"), "{stats}");
}

#[test]
fn lines_may_arrive_in_any_pieces() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let mut socket = server.connect();
    for piece in ["pu", "t pieces 17000028", "00 1 h=a\r", "\nput pieces 1700002801 2 h=a\nput pi"]
    {
        socket.write_all(piece.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(30));
    }
    socket.write_all(b"eces 1700002802 3 h=a\n").unwrap();
    drop(socket);
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 3.0);
    let samples = server.samples("sum:pieces");
    let expected = [(0, "1"), (1, "2"), (2, "3")];
    let expected = expected.map(|(s, value)| (1_700_002_800_000 + s * 1000, value.to_owned()));
    assert_eq!(samples, expected);
}

#[test]
fn a_client_that_never_reads_is_not_waited_for() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let mut socket = server.connect();
    let bad = b"put m 1700002800 notanumber h=a\n".repeat(10_000);
    let began = Instant::now();
    for _ in 0..30 {
        socket.write_all(&bad).unwrap();
    }
    socket.write_all(b"put good 1700002800 7 h=a\n").unwrap();
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 1.0);
    assert!(began.elapsed() < Duration::from_secs(20));
    assert_eq!(server.samples("sum:good"), [(1_700_002_800_000, "7".to_owned())]);
    assert!(server.metric("foliot_replies_dropped_total") > 0.0);
    let name = "foliot_rows_rejected_total{protocol=\"telnet\",reason=\"value\"}";
    assert_eq!(server.metric(name), 300_000.0);
}

#[test]
fn a_line_without_end_is_refused_once_and_the_stream_goes_on() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-line-bytes", "4KiB"]);
    let mut socket = server.connect();
    socket.write_all(b"put m 1700002800 1 h=").unwrap();
    socket.write_all(&b"x".repeat(1 << 20)).unwrap();
    socket.write_all(b"\nput m 1700002801 2 h=a\n").unwrap();
    let mut line = String::new();
    BufReader::new(socket.try_clone().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("longer than 4096 bytes"), "{line}");
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 1.0);
    let mut socket = server.connect();
    socket.write_all(&[&b"m,h=a v=1"[..], &b"x".repeat(1 << 20)].concat()).unwrap();
    let mut line = String::new();
    BufReader::new(socket.try_clone().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("longer than 4096 bytes"), "{line}");
    socket.write_all(b"xxx\nm,h=a v=2 1700002805\n").unwrap();
    server.wait_for_metric("foliot_rows_total{protocol=\"influx_lines\"}", 1.0);
    assert_eq!(server.samples("sum:m.v"), [(1_700_002_805_000, "2.0".to_owned())]);
}

#[test]
fn datagrams_are_taken_when_enabled() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-udp"]);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let lines = "put udp.m 1700002800 1 h=a\nudp.m 1700002801 2 h=a\nput udp.m x 3 h=a\n";
    socket.send_to(lines.as_bytes(), server.address).unwrap();
    server.wait_for_metric("foliot_rows_total{protocol=\"udp\"}", 2.0);
    assert_eq!(server.samples("sum:udp.m").len(), 2);
    assert_eq!(server.metric("foliot_udp_datagrams_total"), 1.0);
    let name = "foliot_rows_rejected_total{protocol=\"udp\",reason=\"value\"}";
    let other = "foliot_rows_rejected_total{protocol=\"udp\",reason=\"timestamp\"}";
    assert_eq!(server.metric(name) + server.metric(other), 1.0);
}

#[test]
fn idle_connections_cost_little_and_the_cap_holds() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-connections", "600"]);
    let mut sockets: Vec<_> = (0..50).map(|_| server.connect()).collect();
    let talk = |socket: &mut std::net::TcpStream, number: usize| {
        let line = format!("put idle.m {} 1 h=a\nversion\n", 1_700_002_800 + number);
        socket.write_all(line.as_bytes()).unwrap();
        let mut answer = [0; 16];
        socket.read_exact(&mut answer).unwrap();
    };
    sockets.iter_mut().enumerate().for_each(|(number, socket)| talk(socket, number));
    let before = server.resident_bytes();
    let mut more: Vec<_> = (0..500).map(|_| server.connect()).collect();
    more.iter_mut().enumerate().for_each(|(number, socket)| talk(socket, number));
    let each = server.resident_bytes().saturating_sub(before) / 500;
    assert!(each < 32 << 10, "an idle connection costs {each} bytes");
    // A hundred more than fit in what is left of the cap: as many must be closed at once.
    let mut last: Vec<_> = (0..150).map(|_| server.connect()).collect();
    let is_closed = |socket: &mut std::net::TcpStream| {
        let _ = socket.write_all(b"version\n");
        socket.read(&mut [0; 1]).map_or(true, |read| read == 0)
    };
    assert_eq!(last.iter_mut().filter_map(|socket| is_closed(socket).then_some(())).count(), 100);
    drop((sockets, last));
    // There is room once the loops have heard that these are gone.
    let began = Instant::now();
    while server.try_get("/-/ready").is_none() {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody makes room");
    }
    let met = "foliot_limits_met_total{limit=\"limits.connections\"}";
    assert!(server.metric(met) >= 100.0);
}

#[test]
fn connections_that_say_nothing_make_room_for_others() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--limits-connections", "40"]);
    let silent: Vec<_> = (0..80).map(|_| server.connect()).collect();
    let began = Instant::now();
    // Without a crowd they may stay for half a minute. One of them may take the room that another
    // made.
    let asked = |path: &str| loop {
        match server.try_get(path) {
            Some(answer) if answer.status == 200 => break answer.text(),
            _ => assert!(began.elapsed() < Duration::from_secs(20), "nobody makes room"),
        }
    };
    asked("/-/ready");
    let metrics = asked("/metrics");
    let ended = "foliot_limits_met_total{limit=\"first_bytes\"} ";
    let ended = metrics.lines().find_map(|line| line.strip_prefix(ended)).unwrap();
    assert_ne!(ended, "0");
    drop(silent);
    server.stop();
}

#[test]
fn half_a_line_is_never_stored() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // What was sent was 12.5 and 125: of the halves that came neither is a number to keep.
    for (half, measured) in
        [("put half 1700002800 12", "sum:half"), ("half,h=a v=1 1700002800\nhalf,h=a v=12", "")]
    {
        let answer = server.talk(half.as_bytes());
        assert!(answer.contains("not stored"), "{half}: {answer:?}");
        let mut reset = server.connect();
        reset.write_all(half.as_bytes()).unwrap();
        // Closed with an answer unread, or with this, a connection is reset.
        rustix::net::sockopt::set_socket_linger(&reset, Some(Duration::ZERO)).unwrap();
        drop(reset);
        if !measured.is_empty() {
            let answer = server.get(&format!("/api/query?start=1700002000&m={measured}"));
            assert_eq!(answer.status, 400, "no such metric: {}", answer.text());
        }
    }
    assert_eq!(server.samples("sum:half.v{h=a}"), [(1_700_002_800_000, "1.0".to_owned())]);
    server.stop();
}

#[test]
fn connections_that_bring_nothing_are_ended() {
    let dir = Scratch::new();
    let flags = ["--set", "limits.connection_idle=1s", "--set", "limits.line_time=1s"];
    let server = Server::start(dir.path(), &flags);
    for bytes in ["version\n", "put half 17", "m v=1 1\n", "m v=1 1\nm v="] {
        let mut socket = server.connect();
        socket.write_all(bytes.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // Ends, or waits for longer than a test may take.
        socket.read_to_end(&mut answer).unwrap();
    }
    server.stop();
}

#[test]
fn one_address_has_a_share_of_the_connections() {
    let dir = Scratch::new();
    let flags = ["--http-changes-by-get", "--set", "limits.connections_per_address=5"];
    let server = Server::start(dir.path(), &flags);
    assert_eq!(server.get("/logs?level=warn&logger=ROOT").status, 200);
    let asks = |mut socket: TcpStream| {
        let _ = socket.write_all(b"version\n");
        let mut byte = [0];
        let has_answer = socket.read(&mut byte).is_ok_and(|read| read == 1);
        (socket, has_answer)
    };
    let five = || (0..5).map(|_| asks(server.connect())).collect::<Vec<_>>();
    let (began, mut held) = (Instant::now(), five());
    // The server may not have noticed yet that those before have gone.
    while !held.iter().all(|(_, has_answer)| *has_answer) {
        assert!(began.elapsed() < harness::PATIENCE, "no place is given back");
        held.clear();
        held = five();
    }
    assert!(!asks(server.connect()).1, "the sixth");
    drop(held);
    // Its places are given back, as soon as the server has noticed.
    let began = Instant::now();
    while !asks(server.connect()).1 {
        assert!(began.elapsed() < harness::PATIENCE, "no place is given back");
        std::thread::sleep(Duration::from_millis(10));
    }
    let log = server.get("/logs").text();
    let said = "a connection from 127.0.0.1 was closed at once: limits.connections_per_address";
    assert!(log.contains(said), "{log}");
    let met = "foliot_limits_met_total{limit=\"limits.connections_per_address\"}";
    assert!(server.metric(met) >= 1.0);
    server.stop();
}

#[test]
fn a_head_that_is_no_http_is_counted_and_said() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--http-changes-by-get"]);
    assert_eq!(server.get("/logs?level=warn&logger=ROOT").status, 200);
    for head in ["GET /health HTTP/1.1\r\nno colon\r\n\r\n", "GET / HTTP/9.9\r\n\r\n"] {
        let mut socket = server.connect();
        socket.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    }
    // It is counted once it was answered.
    server.wait_for_metric("foliot_http_requests_total{route=\"malformed\",status=\"400\"}", 2.0);
    let log = server.get("/logs").text();
    assert!(log.contains("127.0.0.1 sent a request whose head is no HTTP"), "{log}");
    server.stop();
}

#[test]
fn files_are_the_owners_and_a_hangup_ends_nothing() {
    use std::os::unix::fs::PermissionsExt;
    let dir = Scratch::new();
    let store = dir.path().join("store");
    let server = Server::start(&store, &[]);
    server.talk(b"put m 1700002800 1 h=a\n");
    server.signal(Signal::HUP);
    assert_eq!(server.samples("sum:m{h=a}").len(), 1);
    let mut dirs = vec![store];
    while let Some(dir) = dirs.pop() {
        assert_eq!(dir.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{dir:?}");
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false => {
                    let mode = path.metadata().unwrap().permissions().mode();
                    assert_eq!(mode & 0o777, 0o600, "{path:?}");
                }
            }
        }
    }
    server.stop();
}
