//! Graphite's plain text and pickle through the real binary.

#![allow(clippy::big_endian_bytes, reason = "the lengths of pickle's messages are")]

use crate::harness::{Scratch, Server, foliot};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::time::Duration;

const T: i64 = 1_700_000_000_000;

fn start(dir: &Scratch, flags: &[&str]) -> Server {
    let own = ["--listen-graphite", "127.0.0.1:0"];
    Server::start(dir.path(), &[&own, flags].concat())
}

fn connect(server: &Server) -> TcpStream {
    let line = server.welcome.lines().find(|line| line.contains("Graphite")).unwrap();
    let address = line.split_whitespace().nth(1).unwrap();
    let socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

const ROWS: &str = "foliot_rows_total{protocol=\"graphite\"}";

/// Sends pieces, ends, and waits until the server has ended too; nothing is answered.
fn send(server: &Server, pieces: &[&[u8]]) {
    let mut socket = connect(server);
    for piece in pieces {
        socket.write_all(piece).unwrap();
    }
    socket.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    assert_eq!(String::from_utf8_lossy(&answer), "");
}

#[test]
fn lines_are_seen_by_all_doors_and_half_lines_are_not_stored() {
    let dir = Scratch::new();
    let server = start(&dir, &[]);
    let pieces: [&[u8]; 4] = [
        b"servers.a.load 0.5 17000",
        b"00000\r\nservers.a.load;dc=eu;rack=1 2 1700000001\nGET / HTTP/1.1\nput m 1",
        b" 1 a=b\nnow.here 4\nservers.a.load 7 1700000009\nservers.a.load 1 170",
        b"0",
    ];
    send(&server, &pieces);
    server.wait_for_metric(ROWS, 4.0);
    let wanted = [(T, "0.5".to_owned()), (T + 9000, "7.0".to_owned())];
    assert_eq!(server.samples("none:servers.a.load%7Bdc=eu,rack=1%7D").len(), 1);
    let form = format!("query={{\"servers.a.load\",dc=\"\"}}[20s]&time={}", T / 1000 + 10);
    let text = server.post("/prometheus/api/v1/query", &form).text();
    let values =
        wanted.map(|(at, value)| format!("[{},\"{}\"]", at / 1000, value.replace(".0", "")));
    assert!(text.contains(&values.join(",")), "{text}");
    assert_eq!(server.samples("none:now.here").len(), 1);
    let refused = |reason: &str| {
        server.metric(&format!(
            "foliot_rows_rejected_total{{protocol=\"graphite\",reason=\"{reason}\"}}"
        ))
    };
    // A request of HTTP's, and a line without an end.
    assert_eq!((refused("value"), refused("line")), (2.0, 1.0));
    server.kill();
    let server = start(&dir, &[]);
    assert_eq!(server.samples("none:servers.a.load%7Bdc=eu%7D").len(), 1);
}

/// A web page can make a browser send a request to any port, and its body is what the page likes.
#[test]
fn requests_of_browsers_are_no_lines() {
    let dir = Scratch::new();
    let server = start(&dir, &[]);
    assert_eq!(server.post("/logs?level=warn", "").status, 200);
    let heads = ["POST / HTTP/1.1", "POST /a.b HTTP/1.1", "GET /m HTTP/1.1", "OPTIONS * HTTP/1.1"];
    for head in heads {
        let mut socket = connect(&server);
        let body = "m 1 1700000000\nm.n 2\n";
        let head = format!("{head}\r\nHost: localhost\r\nContent-Length: {}\r\n", body.len());
        socket.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = socket.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer:?}");
        assert!(answer.contains("Graphite's plain text only"), "{answer:?}");
    }
    send(&server, &[b"sent.last 1 1700000000\n"]);
    server.wait_for_metric(ROWS, 1.0);
    assert_eq!(server.get("/api/suggest?type=metrics").text(), "[\"sent.last\"]");
    let log = server.get("/logs").text();
    assert!(log.contains("127.0.0.1 sent HTTP to the port of Graphite's plain text"), "{log}");
}

fn message(pickled: &[u8]) -> Vec<u8> {
    [&(pickled.len() as u32).to_be_bytes()[..], pickled].concat()
}

fn refused(server: &Server, reason: &str) -> f64 {
    server
        .metric(&format!("foliot_rows_rejected_total{{protocol=\"graphite\",reason=\"{reason}\"}}"))
}

/// `pickle.dumps([("a.b;dc=eu", (1700000000, 0.5)), ("m", (1700000001.5, 2))], protocol=2)`.
const PICKLED: &[u8] = b"\x80\x02]q\x00(X\t\x00\x00\x00a.b;dc=euq\x01J\x00\xf1SeG?\xe0\x00\x00\x00\
    \x00\x00\x00\x86q\x02\x86q\x03X\x01\x00\x00\x00mq\x04GA\xd9T\xfc@`\x00\x00K\x02\x86q\x05\x86q\x06e.";

#[test]
fn messages_of_pickle_are_taken_at_the_same_port() {
    let dir = Scratch::new();
    let server = start(&dir, &[]);
    let whole = message(PICKLED);
    // Whole messages in pieces of any size, and half of one at the end.
    send(&server, &[&whole[..3], &whole[3..20], &whole[20..], &message(b"]."), &whole[..60]]);
    server.wait_for_metric(ROWS, 2.0);
    assert_eq!(server.samples("none:a.b%7Bdc=eu%7D"), [(T, "0.5".to_owned())]);
    assert_eq!(server.samples("none:m"), [(T + 1500, "2.0".to_owned())]);
    assert_eq!(refused(&server, "line"), 1.0);
}

#[test]
fn pickle_is_no_language_here() {
    let dir = Scratch::new();
    let server = start(&dir, &[]);
    // `os.system("touch pickled")`, and a sample in a message of its own behind it.
    let hostile = message(b"cos\nsystem\n(S'touch pickled'\ntR.");
    send(&server, &[&hostile, &message(PICKLED)]);
    server.wait_for_metric(ROWS, 2.0);
    assert_eq!(refused(&server, "line"), 1.0);
    assert!(!dir.path().join("pickled").exists() && !Path::new("pickled").exists());
    // Behind a length that is none nothing is read, and the connection ends.
    let mut socket = connect(&server);
    socket.write_all(&[&[0, 0x10, 0, 1][..], &message(PICKLED)].concat()).unwrap();
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer);
    assert_eq!(answer, b"");
    server
        .wait_for_metric("foliot_rows_rejected_total{protocol=\"graphite\",reason=\"limit\"}", 1.0);
    // One that lies about a text's length, and one of a million words.
    let many = [&b"]"[..], &b"Na".repeat(400_000), b"."].concat();
    send(&server, &[&message(b"]X\xff\xff\xff\xffa."), &message(&many), &message(PICKLED)]);
    server.wait_for_metric(ROWS, 4.0);
    assert_eq!(refused(&server, "line"), 3.0);
}

#[test]
fn endless_lines_cost_no_others() {
    let dir = Scratch::new();
    let server = start(&dir, &["--limits-line-bytes", "4096"]);
    let long = [b"m;a=".as_slice(), &b"x".repeat(1 << 20), b" 1 1\nm 2 1700000000\n"].concat();
    send(&server, &[&long]);
    server.wait_for_metric(ROWS, 1.0);
    assert_eq!(server.samples("none:m"), [(T, "2.0".to_owned())]);
}

#[test]
fn who_has_no_password_writes_from_named_addresses_only() {
    let dir = Scratch::new();
    let mut command = foliot();
    command.args(["user", "token", "t", "--role", "admin", "--data-dir"]).arg(dir.path());
    let token = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let token = format!("Bearer {}", token.trim());
    let server = start(&dir, &["--access"]);
    let with = |method: &str, path: &str| {
        server.request(method, path, &[("Authorization", &*token)], b"").text()
    };
    with("POST", "/logs?level=WARN");
    let mut socket = connect(&server);
    socket.write_all(b"m 1 1700000000\nm 2 1700000001\n").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("not taken from this address"), "{answer}");
    let log = with("GET", "/logs");
    assert!(log.contains("graphite from 127.0.0.1 are not taken: access.write_from"), "{log}");
    let refused = "foliot_rows_rejected_total{protocol=\"graphite\",reason=\"other\"} 2\n";
    let figures = with("GET", "/metrics");
    assert!(figures.contains(refused), "{figures}");
}

#[test]
fn lines_at_another_door_are_told_of_their_port() {
    let dir = Scratch::new();
    let server = start(&dir, &[]);
    for line in [&b"servers.a.load 0.5 1700000000\n"[..], b"load;dc=eu 0.5 1700000000\n"] {
        let answer = server.talk(line);
        assert!(answer.contains("port of its own: listen.graphite"), "{answer}");
    }
    assert!(!server.talk(b"foo 1\n").contains("graphite"));
}
