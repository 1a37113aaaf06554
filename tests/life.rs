//! The life of a server: starting, being refused, stopping, starting again.

use crate::harness::{PATIENCE, Scratch, Server, foliot, read_response, request};
use rustix::process::Signal;
use std::fs;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixDatagram;
use std::process::Output;
use std::time::{Duration, Instant};

fn run(arguments: &[&str]) -> Output {
    foliot().args(arguments).output().unwrap()
}

/// Expects failure with one line on standard error that holds all of `words`.
fn refused(output: &Output, words: &[&str]) {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(!output.status.success(), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("foliot: "), "{text}");
    for word in words {
        assert!(text.contains(word), "{word} is missing in {text}");
    }
}

#[test]
fn memory_comes_in_small_pages() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.status("THP_enabled"), "0");
    server.stop();
}

/// systemd's side of sd_notify(3): a socket of datagrams.
#[test]
fn a_service_manager_hears_ready_alive_and_stopping() {
    let dir = Scratch::new();
    let path = dir.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let hear = || {
        let mut text = [0; 256];
        let length = manager.recv(&mut text).unwrap();
        String::from_utf8(text[..length].to_vec()).unwrap().trim().to_owned()
    };
    let mut command = Server::command(&dir.path().join("data"), &[]);
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "100000").env_remove("WATCHDOG_PID");
    let server = Server::ready(command).unwrap();
    assert_eq!(hear(), "READY=1");
    for _ in 0..3 {
        assert_eq!(hear(), "WATCHDOG=1");
    }
    server.stop();
    let last = std::iter::repeat_with(hear).find(|said| said != "WATCHDOG=1");
    assert_eq!(last.as_deref(), Some("STOPPING=1"));
}

#[test]
fn packages_get_completions_settings_and_manual_pages() {
    let completions = String::from_utf8(run(&["completions", "bash"]).stdout).unwrap();
    assert!(completions.contains("--data-dir") && completions.contains("restore"));
    refused(&run(&["completions", "cmd"]), &["cmd", "bash"]);
    let dir = Scratch::new();
    let file = dir.path().join("foliot.toml");
    let file = file.to_str().unwrap();
    assert!(run(&["config", "init", file]).status.success());
    assert!(run(&["config", "check", "--config", file]).status.success());
    refused(&run(&["config", "init", file]), &["foliot.toml", "is there already"]);
    let output = foliot().arg("manuals").arg(dir.path()).output().unwrap();
    assert!(output.status.success());
    for page in ["foliot.1", "foliot-serve.1", "foliot-import-influx.1"] {
        let text = std::fs::read_to_string(dir.path().join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
}

#[test]
fn mistakes_are_answered_with_one_sentence() {
    let dir = Scratch::new();
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    refused(&run(&[]), &["foliot serve"]);
    refused(&run(&["serv"]), &["unknown command serv", "did you mean serve?"]);
    refused(&run(&["serve", "--listn", "1"]), &["--listn", "did you mean --listen?"]);
    refused(&run(&["serve", "--set", "wal.akc=os"]), &["wal.akc", "did you mean wal.ack?"]);
    refused(&run(&["serve", "--wal-ack", "maybe"]), &["wal.ack", "durable, os and memory"]);
    refused(&run(&["serve", "--listen", "0.0.0.0:0"]), &["listen.address", "--insecure"]);
    refused(&run(&["serve", "--config", "/nonexistent.toml"]), &["/nonexistent.toml"]);
    let file = dir.path().join("foliot.toml");
    std::fs::write(&file, "[limits]\nseris = 1\n").unwrap();
    let file = file.to_str().unwrap();
    refused(&run(&["serve", "--config", file]), &["limits.seris", "did you mean limits.series?"]);
    let output = foliot().args(["config", "check"]).env("FOLIOT_WAL_AKC", "os").output().unwrap();
    refused(&output, &["FOLIOT_WAL_AKC", "FOLIOT_WAL_ACK"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(&["serve", "--listen", &address, "--data-dir", data]);
    refused(&output, &[&address, "in use by another process", "--listen"]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let twice = ["serve", "--listen", &free, "--listen-influx", &free, "--data-dir", data];
    refused(&run(&twice), &[&free, "listen.influx", "two listeners cannot share a port"]);
    let token = ["user", "token", "t", "--role", "write", "--data-dir", data, "--expires"];
    for lasts in ["365", "0d", "never"] {
        refused(&run(&[&token[..], &[lasts]].concat()), &[lasts, "365d"]);
    }
    let server = Server::start(&dir.path().join("data"), &[]);
    let output = run(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data]);
    refused(&output, &["in use by another Foliot process", "--data-dir"]);
    assert_eq!(server.get("/-/ready").status, 200, "the first one is not disturbed");
}

#[test]
fn settings_tell_their_origins() {
    let dir = Scratch::new();
    let file = dir.path().join("foliot.toml");
    std::fs::write(&file, "[wal]\nack = 'os'\nsync_interval = '2s'\n").unwrap();
    let file = file.to_str().unwrap();
    let output = foliot()
        .args(["config", "show", "--config", file, "--limits-series", "7"])
        .env("FOLIOT_WAL_ACK", "memory")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let origin = |key: &str| {
        let line = text.lines().find(|line| line.starts_with(&format!("{key} "))).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[2].to_owned(), words[4].to_owned())
    };
    assert_eq!(origin("wal.ack"), ("memory".into(), "FOLIOT_WAL_ACK".into()));
    assert_eq!(origin("wal.sync_interval"), ("2s".into(), file.into()));
    assert_eq!(origin("limits.series"), ("7".into(), "--limits-series".into()));
    assert_eq!(origin("listen.address"), ("127.0.0.1:4242".into(), "default".into()));
    let version = String::from_utf8(run(&["version"]).stdout).unwrap();
    assert!(version.starts_with("foliot 0."), "{version}");
    for part in ["commit ", "target ", "features "] {
        assert_eq!(version.matches(part).count(), 1, "{version}");
    }
    assert!(run(&["help"]).status.success() && run(&["serve", "--help"]).status.success());
}

#[test]
fn the_first_message_holds_a_write_and_a_query_that_work() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--agent-host", "--agent-interval", "1s"]);
    let quoted = |line: &str| {
        let line = server.welcome.lines().find(|text| text.starts_with(line)).unwrap();
        line.split('\'').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(server.welcome.contains(dir.path().to_str().unwrap()));
    assert!(server.welcome.contains(&format!("open       http://{}/", server.address)));
    let write = quoted("Write:");
    let path = write[1].split_once(&server.address.to_string()).unwrap().1;
    assert_eq!(server.post(path, &write[0]).status, 204);
    let query = quoted("Query:");
    let path = query[0].split_once(&server.address.to_string()).unwrap().1;
    let began = Instant::now();
    // The collector's first round may still be under way.
    while !server.get(path).text().contains("\"dps\":{\"") {
        assert!(began.elapsed() < PATIENCE, "{}", server.get(path).text());
        std::thread::sleep(Duration::from_millis(50));
    }
    server.wait_for_metric("foliot_rows_total{protocol=\"host\"}", 50.0);
    let names = server.get("/api/suggest?type=metrics&max=1000").text();
    for name in ["proc.stat.cpu", "proc.meminfo.memtotal", "foliot.series", "demo.temperature"] {
        assert!(names.contains(name), "{name} is not in {names}");
    }
    server.stop();
}

#[test]
fn a_second_listener_speaks_http_only() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-influx", "127.0.0.1:0"]);
    let lines: Vec<_> =
        server.welcome.lines().filter(|line| line.trim().starts_with("listening")).collect();
    let [_, second] = lines[..] else { panic!("{}", server.welcome) };
    let address = second.split_whitespace().nth(1).unwrap();
    let mut socket = BufReader::new(std::net::TcpStream::connect(address).unwrap());
    let body = b"second v=1i 1700000000";
    let whole = request("POST", "/write?db=default&precision=s", &[], body);
    socket.get_mut().write_all(&whole).unwrap();
    assert_eq!(read_response(&mut socket).unwrap().status, 204);
    assert_eq!(server.samples("sum:second.v"), [(1_700_000_000_000, "1".to_owned())]);
    let mut telnet = std::net::TcpStream::connect(address).unwrap();
    telnet.write_all(b"put m 1700000000 1 h=a\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = telnet.read_to_end(&mut answer);
    assert!(String::from_utf8_lossy(&answer).starts_with("HTTP/1.1 400"));
}

#[test]
fn a_stop_keeps_what_was_sent_and_ends_soon() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--wal-sync-interval", "1h"]);
    let mut telnet = server.connect();
    let mut idle = BufReader::new(server.connect());
    idle.get_mut().write_all(&request("GET", "/ping", &[], b"")).unwrap();
    assert_eq!(read_response(&mut idle).unwrap().status, 204);
    let lines: String =
        (0..5000).map(|n| format!("put stop.m {} {n} h=a\n", 1_700_000_000 + n)).collect();
    telnet.write_all(lines.as_bytes()).unwrap();
    let headers = [("X-Foliot-Ack", "memory")];
    let body = b"stop.line v=1i 1700000000000000000";
    assert_eq!(server.request("POST", "/write?db=default", &headers, body).status, 204);
    let began = Instant::now();
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let mut rest = Vec::new();
    let _ = telnet.read_to_end(&mut rest);
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.samples("sum:stop.m").len(), 5000);
    assert_eq!(server.samples("sum:stop.line.v"), [(1_700_000_000_000, "1".to_owned())]);
    server.stop();
}

#[test]
fn a_request_under_way_is_finished_before_the_end() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let mut slow = BufReader::new(server.connect());
    let body = b"{\"metric\":\"m\",\"timestamp\":1700000000,\"value\":1,\"tags\":{\"h\":\"a\"}}";
    let whole = request("POST", "/api/put", &[], body);
    let (head, tail) = whole.split_at(whole.len() - 20);
    slow.get_mut().write_all(head).unwrap();
    std::thread::sleep(Duration::from_millis(200));
    server.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(200));
    slow.get_mut().write_all(tail).unwrap();
    assert_eq!(read_response(&mut slow).unwrap().status, 204);
    let mut server = server;
    assert!(server.wait().success());
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.samples("sum:m").len(), 1);
}

#[test]
fn a_client_that_hangs_cannot_hold_up_the_end() {
    let dir = Scratch::new();
    let mut server = Server::start(dir.path(), &[]);
    let mut hung = server.connect();
    hung.write_all(b"POST /api/put HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    let began = Instant::now();
    server.signal(Signal::TERM);
    assert!(server.wait().success());
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}

#[test]
fn a_second_signal_ends_at_once() {
    let dir = Scratch::new();
    let mut server = Server::start(dir.path(), &[]);
    let mut hung = server.connect();
    hung.write_all(b"POST /api/put HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        .unwrap();
    std::thread::sleep(Duration::from_millis(100));
    server.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    server.signal(Signal::INT);
    assert!(!server.wait().success());
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
}

#[test]
fn a_flush_on_request_keeps_answers() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for n in 0..100 {
        let line = format!("put flush.m {} {n} h=a\n", 1_700_000_000 + n);
        server.talk(line.as_bytes());
    }
    server.wait_for_metric("foliot_rows_total{protocol=\"telnet\"}", 100.0);
    let before = server.samples("sum:flush.m");
    assert_eq!(before.len(), 100);
    server.signal(Signal::USR1);
    server.wait_for_metric("foliot_parts", 1.0);
    assert_eq!(server.samples("sum:flush.m"), before);
    server.stop();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.samples("sum:flush.m"), before);
}

#[test]
fn a_stop_amid_much_work_on_request_is_no_error() {
    let dir = Scratch::new();
    let log = dir.path().with_extension("log");
    let mut command = Server::command(dir.path(), &[]);
    command.stderr(std::fs::File::create(&log).unwrap());
    let mut server = Server::ready(command).unwrap();
    for round in 0..40 {
        let line = |n| format!("put busy.m {} {n} h={n}\n", 1_700_000_000 + round);
        server.talk((0..200).map(line).collect::<String>().as_bytes());
        server.signal(Signal::USR1);
        server.signal(Signal::USR2);
    }
    server.signal(Signal::TERM);
    let status = server.wait();
    let said = std::fs::read_to_string(&log).unwrap();
    std::fs::remove_file(&log).unwrap();
    assert!(status.success() && said.is_empty(), "{status}: {said}");
}

/// Whether the check of settings says of two listeners at one port what the system says; nothing
/// where the machine has not both addresses.
fn is_told_of(one: &str, other: &str) -> Option<bool> {
    let first = TcpListener::bind(format!("{one}:0")).ok()?;
    let port = first.local_addr().unwrap().port();
    let is_free = match TcpListener::bind(format!("{other}:{port}")) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::AddrInUse => false,
        Err(_) => return None,
    };
    let is_told = ["--listen-influx", "--listen-ticktock"].into_iter().all(|key| {
        let [one, other] = [one, other].map(|address| format!("{address}:{port}"));
        let mut check = foliot();
        check.args(["config", "check", "--insecure", "--listen", "127.0.0.1:0"]);
        let output = check.args([key, &one, "--listen-graphite", &other]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        output.status.success() == is_free
            && said.contains("two listeners cannot share a port") != is_free
    });
    Some(is_told)
}

/// What the system says of two listeners is what the check of settings says. Another program may
/// have the port at the other address: then a second one tells.
#[test]
fn listeners_that_cannot_stand_beside_one_another_are_told_without_a_start() {
    let all = ["127.0.0.1", "127.0.0.2", "0.0.0.0", "[::1]", "[::]", "[::ffff:127.0.0.1]"];
    let mut tried = 0;
    for (one, other) in all.iter().flat_map(|one| all.map(|other| (one, other))) {
        let Some(is_told) = is_told_of(one, other) else { continue };
        let is_told = is_told || (0..3).any(|_| is_told_of(one, other) == Some(true));
        assert!(is_told, "{one} and {other}");
        tried += 1;
    }
    assert!(tried >= 9, "{tried}");
    // Each of these gets a port of its own.
    let zero = "127.0.0.1:0";
    let output =
        foliot().args(["config", "check", "--listen", zero, "--listen-influx", zero]).output();
    assert!(output.unwrap().status.success());
}

/// A server whose directory was moved away, or replaced by another one, answers no write any more:
/// what it took would be lost, or would lie among another store's files.
#[test]
fn a_directory_that_was_moved_or_removed_takes_no_writes() {
    let place = Scratch::new();
    for is_removed in [false, true] {
        let dir = place.path().join(if is_removed { "removed" } else { "data" });
        let server = Server::start(&dir, &[]);
        let mut answered = 0;
        let mut write = |server: &Server| {
            let reply = server.post("/write?db=d", &format!("m v={answered} {}", answered + 1));
            answered += u64::from(reply.status == 204);
            reply
        };
        assert_eq!(write(&server).status, 204);
        let moved = place.path().join("moved");
        match is_removed {
            true => fs::remove_dir_all(&dir).unwrap(),
            false => fs::rename(&dir, &moved).unwrap(),
        }
        let mut refused = None;
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(100));
            refused = Some(write(&server)).filter(|reply| reply.status != 204);
            if refused.is_some() {
                break;
            }
        }
        let refused = refused.expect("writes are refused");
        assert!(refused.status >= 500 && refused.text().contains("was moved"), "{refused:?}");
        assert_eq!(server.get("/-/ready").status, 503);
        if !is_removed {
            let other = Server::start(&dir, &[]);
            assert_eq!(other.post("/write?db=d", "other v=1 1").status, 204);
            server.kill();
            let names = other.get("/query?db=d&q=SHOW%20MEASUREMENTS").text();
            assert!(names.contains("other") && !names.contains(r#""m""#), "{names}");
            other.stop();
            let again = Server::start(&moved, &[]);
            let found = again.get("/query?db=d&q=SELECT%20count(v)%20FROM%20m").text();
            // The last one was refused, and may be stored all the same: its answer came too late.
            let holds = |count: u64| found.contains(&format!(",{count}]"));
            assert!(holds(answered) || holds(answered + 1), "{answered}: {found}");
            again.stop();
        }
    }
}
