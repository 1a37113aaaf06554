//! Datagrams of statsd through the real binary.

use crate::harness;
use crate::harness::{Scratch, Server, foliot};
use std::net::{SocketAddr, UdpSocket};

fn start(dir: &Scratch, flags: &[&str]) -> (Server, SocketAddr) {
    let own = ["--listen-statsd", "127.0.0.1:0"];
    let server = Server::start(dir.path(), &[&own, flags].concat());
    let line = server.welcome.lines().find(|line| line.contains("statsd")).unwrap();
    let address = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    (server, address)
}

fn send(to: SocketAddr, text: &str) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(text.as_bytes(), to).unwrap();
}

const ROWS: &str = "foliot_rows_total{protocol=\"statsd\"}";

fn values(server: &Server, question: &str) -> Vec<String> {
    server.samples(question).into_iter().map(|(_, value)| value).collect()
}

#[test]
fn what_comes_between_two_flushes_is_stored() {
    let dir = Scratch::new();
    let flags = ["--statsd-interval", "1s"];
    let (server, address) = start(&dir, &flags);
    send(
        address,
        "hits:1|c|#env:a\nhits:2|c|@0.5|#env:a\nfree:10|g\nfree:-4|g\nu:a|s\nu:b|s\nu:a|s",
    );
    server.wait_for_metric(ROWS, 3.0);
    assert_eq!(
        values(&server, "none:hits%7Benv=a%7D")
            .iter()
            .map(|text| text.parse::<f64>().unwrap())
            .sum::<f64>(),
        5.0
    );
    assert_eq!(values(&server, "none:free").last().unwrap(), "6.0");
    send(address, "free:+1|g\nwait:1:2:3:4|ms\nbad\n_sc|x|0\nbad:x|c");
    server.wait_for_metric(ROWS, 11.0);
    assert_eq!(values(&server, "none:free").last().unwrap(), "7.0");
    assert_eq!(values(&server, "none:wait.avg"), ["2.5"]);
    assert_eq!(values(&server, "none:wait.95percentile"), ["4.0"]);
    let refused = |reason: &str| {
        server.metric(&format!(
            "foliot_rows_rejected_total{{protocol=\"statsd\",reason=\"{reason}\"}}"
        ))
    };
    assert_eq!((refused("line"), refused("value")), (2.0, 1.0));
    // What came last is stored when the server stops.
    let before = server.metric("foliot_udp_datagrams_total");
    send(address, "last:1|c");
    server.wait_for_metric("foliot_udp_datagrams_total", before + 1.0);
    server.stop();
    let (server, _) = start(&dir, &[]);
    assert_eq!(values(&server, "none:last"), ["1.0"]);
}

#[test]
fn memory_is_bounded_and_known_series_go_on() {
    let dir = Scratch::new();
    let flags = ["--limits-statsd-bytes", "10KB", "--statsd-interval", "1h"];
    let (server, address) = start(&dir, &flags);
    send(address, "first:1|c");
    for piece in 0..10 {
        let lines: Vec<_> =
            (0..50).map(|at| format!("m{}:1|c\nfirst:1|c", piece * 50 + at)).collect();
        send(address, &lines.join("\n"));
    }
    let refused = "foliot_rows_rejected_total{protocol=\"statsd\",reason=\"limit\"}";
    server.wait_for_metric("foliot_udp_datagrams_total", 11.0);
    let count = server.metric(refused);
    assert!((400.0..500.0).contains(&count), "{count}");
    server.stop();
    let (server, _) = start(&dir, &[]);
    assert_eq!(values(&server, "none:first"), ["501.0"]);
}

#[test]
fn who_has_no_password_sends_from_named_addresses_only() {
    let dir = Scratch::new();
    let mut command = foliot();
    command.args(["user", "token", "t", "--role", "admin", "--data-dir"]).arg(dir.path());
    let token = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let token = format!("Bearer {}", token.trim());
    let (server, address) = start(&dir, &["--access"]);
    send(address, "m:1|c");
    let figures = || {
        let headers = [("Authorization", &*token)];
        server.request("GET", "/metrics", &headers, b"").text()
    };
    let began = std::time::Instant::now();
    while !figures().contains("foliot_udp_refused_total 1\n") {
        assert!(began.elapsed() < harness::PATIENCE, "{}", figures());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(figures().contains("foliot_udp_datagrams_total 0\n"));
}
