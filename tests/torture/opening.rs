//! While a store is being opened it says how far it is, to whoever asks and by whatever door.

use crate::faults::{Action, Machine, Rule};
use crate::harness::api::{ROOT, described};
use crate::harness::{PATIENCE, Response, Scratch, Server, foliot, read_response, request};
use serde_json::Value;
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// An address that nobody listens at.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Asks a server that may not listen yet.
fn ask(address: SocketAddr, path: &str) -> Response {
    let began = Instant::now();
    loop {
        if let Ok(mut socket) = TcpStream::connect(address) {
            socket.write_all(&request("GET", path, &[], b"")).unwrap();
            return read_response(&mut BufReader::new(socket)).expect("an answer");
        }
        assert!(began.elapsed() < PATIENCE, "the server does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_opening_store_tells_how_far_it_is() {
    let scratch = Scratch::new();
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let server = Server::start(&dir, &[]);
    let lines: Vec<String> = (0..20_000).map(|n| format!("far,n=n{} v={n} {n}", n % 50)).collect();
    assert_eq!(server.post("/write?db=default", &lines.join("\n")).status, 204);
    server.kill();
    // Whatever opens the log, or writes its end once more, waits for what the test sets.
    machine
        .set(0, Rule { skip: 2, ..Rule::always("open", "/wal-", Action::DelayMs(3_000)) }.times(1));
    machine.set(1, Rule::always("overwrite", "/wal-", Action::DelayMs(3_000)).times(1));
    let address = free_address();
    let mut command = foliot();
    let listen = address.to_string();
    command.args(["serve", "--log-level", "error", "--listen", &listen, "--data-dir"]).arg(&dir);
    command.stdout(Stdio::null());
    let mut child = machine.host(command).spawn().unwrap();
    let path = format!("{ROOT}/status");
    let opening = || {
        let status = described("GET", &path, &ask(address, &path), 200);
        assert_eq!(status["is_ready"].as_bool().unwrap(), status.get("opening").is_none());
        status.get("opening").cloned()
    };
    let wait_for = |what: &dyn Fn(&Option<Value>) -> bool| {
        let began = Instant::now();
        loop {
            let now = opening();
            if what(&now) {
                return now;
            }
            assert!(began.elapsed() < PATIENCE, "it stays at {now:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let count = |opening: &Value, name: &str| opening[name].as_u64().unwrap();
    let first = wait_for(&|now| now.as_ref().is_some_and(|now| count(now, "total_bytes") > 0));
    let first = first.unwrap();
    assert_eq!(count(&first, "read_bytes"), 0, "the log is not yet open: {first}");
    let is_read = |now: &Option<Value>| {
        now.as_ref().is_some_and(|now| {
            count(now, "read_bytes") == count(now, "total_bytes") && count(now, "read_bytes") > 0
        })
    };
    let last = wait_for(&is_read).unwrap();
    assert_eq!(count(&last, "total_bytes"), count(&first, "total_bytes"));
    assert!(count(&last, "total_bytes") > 20_000, "{last}");
    let refused = format!("{ROOT}/catalogue?of=databases");
    let answer = ask(address, &refused);
    let answer = described("GET", &refused, &answer, 503);
    assert!(answer["error"]["message"].as_str().unwrap().contains("100 % of"), "{answer}");
    assert_eq!(answer["opening"]["total_bytes"], last["total_bytes"]);
    let ready = ask(address, "/-/ready");
    assert!(
        ready.status == 503 && ready.text().contains("of the log were read"),
        "{}",
        ready.text()
    );
    assert_eq!(wait_for(&Option::is_none), None);
    assert_eq!(ask(address, "/-/ready").status, 200);
    child.kill().unwrap();
    child.wait().unwrap();
}
