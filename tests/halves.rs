//! Halves: what a sender that breaks off leaves behind is no line, no point and no body, on any
//! protocol and however the connection ends. What was whole before it is stored.
//!
//! Frames of MQTT are in `mqtt.rs`, lines under TLS in `tls.rs`. A datagram, and a body of which
//! the length was told, are whole without a newline at their end.

use crate::harness::{PATIENCE, Scratch, Server};
use flate2::{Compression, write::GzEncoder};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// How a connection ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The sender says that it has sent all, and waits.
    Shut,
    /// The sender goes away.
    Close,
    /// The connection is reset.
    Reset,
}

/// What is sent: samples of measurement `m`, of which `whole` must be stored.
struct Case {
    name: &'static str,
    is_ticktock: bool,
    bytes: Vec<u8>,
    whole: usize,
}

fn case(name: &'static str, bytes: impl Into<Vec<u8>>, whole: usize) -> Case {
    Case { name, is_ticktock: false, bytes: bytes.into(), whole }
}

fn on_ticktock(name: &'static str, bytes: &str, whole: usize) -> Case {
    Case { is_ticktock: true, ..case(name, bytes, whole) }
}

fn post(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// The measurement is written as `M`, and each sent value would be 12.5 if its line were whole.
fn cases() -> Vec<Case> {
    let put = "put M 1700000000 1 h=a\n";
    let line = "M,h=a value=1 1700000000000000000\n";
    let json = r#"[{"metric":"M","timestamp":1700000001,"value":12.5,"tags":{"h":"a"}}]"#;
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all("M,h=a value=12.5 1700000001000000000\n".repeat(2_000).as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    let half = &gzip[..gzip.len() / 2];
    let chunk = "M,h=a value=12";
    let lines = "/write?db=default";
    vec![
        case("telnet, in the value", format!("{put}put M 1700000001 12"), 1),
        case("telnet, in the tags", format!("{put}put M 1700000001 12.5 h=a"), 1),
        case("telnet, before anything whole", "put M 1700000001 12", 0),
        case("lines, in the value", format!("{line}M,h=a value=12"), 1),
        case("lines, in the time", format!("{line}M,h=a value=12.5 17000000"), 1),
        case("lines, before anything whole", "M,h=a value=12", 0),
        on_ticktock("TickTock's put", "put M 1700000000 1 h=a\nput M 1700000001 12", 1),
        on_ticktock("TickTock's line", "M,h=a value=1 1700000000\nM,h=a value=12", 1),
        case("HTTP, fewer bytes than told", post(lines, "Content-Length: 500", line.as_bytes()), 0),
        case(
            "HTTP, in a chunk",
            post(lines, "Transfer-Encoding: chunked", format!("ff\r\n{chunk}").as_bytes()),
            0,
        ),
        case(
            "HTTP, without a last chunk",
            post(
                lines,
                "Transfer-Encoding: chunked",
                format!("{:x}\r\n{line}\r\n", line.len()).as_bytes(),
            ),
            0,
        ),
        case(
            "HTTP, half a packed body",
            post(lines, &format!("Content-Length: {}", gzip.len()), half),
            0,
        ),
        case(
            "HTTP, a packed body without its end",
            post(lines, &format!("Content-Encoding: gzip\r\nContent-Length: {}", half.len()), half),
            0,
        ),
        case(
            "OpenTSDB's JSON, cut",
            post("/api/put", &format!("Content-Length: {}", json.len()), &json.as_bytes()[..60]),
            0,
        ),
        case(
            "OpenTSDB's JSON, without its end",
            post("/api/put", "Content-Length: 60", &json.as_bytes()[..60]),
            0,
        ),
        case(
            "InfluxDB 3's lines",
            post("/api/v3/write_lp?db=default", "Content-Length: 400", line.as_bytes()),
            0,
        ),
    ]
}

fn send(address: SocketAddr, bytes: &[u8], end: End) {
    let mut socket = TcpStream::connect(address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.write_all(bytes).unwrap();
    match end {
        End::Shut => {
            socket.shutdown(Shutdown::Write).unwrap();
            let _ = socket.read_to_end(&mut Vec::new());
        }
        End::Close => drop(socket),
        End::Reset => {
            // A reset throws away what the other side has not read yet.
            std::thread::sleep(Duration::from_millis(50));
            rustix::net::sockopt::set_socket_linger(&socket, Some(Duration::ZERO)).unwrap();
            drop(socket);
        }
    }
}

/// The values that are stored of a measurement.
fn stored(server: &Server, measurement: &str) -> Vec<String> {
    let path = format!("/query?db=default&q=SELECT%20value%20FROM%20{measurement}");
    let json: serde_json::Value = serde_json::from_slice(&server.get(&path).body).unwrap();
    let rows = json["results"][0]["series"][0]["values"].as_array().cloned().unwrap_or_default();
    rows.iter().map(|row| row[1].to_string()).collect()
}

#[test]
fn no_protocol_stores_half_of_anything() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--listen-ticktock", "127.0.0.1:0"]);
    let line = server.welcome.lines().find(|line| line.contains("TickTock")).unwrap();
    let ticktock = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    let mut sent = Vec::new();
    for end in [End::Shut, End::Close, End::Reset] {
        for (number, case) in cases().into_iter().enumerate() {
            let measurement = format!("m{number}{end:?}");
            let bytes = replaced(&case.bytes, &measurement);
            let address = if case.is_ticktock { ticktock } else { server.address };
            send(address, &bytes, end);
            sent.push((measurement, case, end));
        }
    }
    // A server that stops has read to the end what it was sent.
    let open = || server.metric("foliot_connections") > 1.0;
    let began = std::time::Instant::now();
    while open() {
        assert!(began.elapsed() < PATIENCE, "connections stay open");
        std::thread::sleep(Duration::from_millis(5));
    }
    for (measurement, case, end) in &sent {
        let stored = stored(&server, measurement);
        // A reset may take what was whole and not read yet; it brings no half of anything.
        let expected = vec!["1"; case.whole];
        let is_right = stored == expected || matches!(end, End::Reset) && stored.is_empty();
        assert!(is_right, "{}, {end:?}: {stored:?}", case.name);
    }
    server.stop();
}

/// The bytes with `M` as the measurement's name.
fn replaced(bytes: &[u8], name: &str) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        // Lengths that were told stay too long, or cut the text as before.
        Ok(text) => text
            .replace("M,", &format!("{name},"))
            .replace("put M", &format!("put {name}"))
            .into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}
