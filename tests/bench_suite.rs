//! A suite of the benchmark tool, through the real binary: it starts, configures, watches and stops
//! the servers of a TOML file, survives its own end, and discloses what ran.

use crate::harness::{PATIENCE, Scratch, foliot};
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A port that was free a moment ago.
fn free() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A server of the suite: this Foliot, under its own name or as a peer that speaks InfluxDB's way.
fn server(name: &str, site: &str, address: SocketAddr) -> String {
    let binary = foliot().get_program().to_str().unwrap().to_owned();
    format!(
        r#"
        [[server]]
        name = "{name}"
        sites = ["{site}://{address}?name={name}"]
        files = {{ "foliot.toml" = "[log]\nlevel = \"error\"\n" }}
        prepare = [["test", "-f", "{{dir}}/foliot.toml"]]
        start = ["{binary}", "serve", "--config", "{{dir}}/foliot.toml", "--listen", "{address}",
                 "--data-dir", "{{dir}}/data"]
        cpus = "0"
        "#
    )
}

/// The same as a container engine would have it: what starts it ends, and other commands tell its
/// process id and stop it.
fn contained(name: &str, site: &str, address: SocketAddr) -> String {
    let binary = foliot().get_program().to_str().unwrap().to_owned();
    format!(
        r#"
        [[server]]
        name = "{name}"
        sites = ["{site}://{address}?name={name}"]
        start = ["sh", "-c", """setsid {binary} serve --log-level error --listen {address} \
            --data-dir {{dir}}/data >/dev/null 2>&1 & echo $! >{{dir}}/pid"""]
        pid = ["cat", "{{dir}}/pid"]
        stop = ["sh", "-c", """pid=$(cat {{dir}}/pid); kill $pid
            while readlink /proc/$pid/exe; do sleep 0.05; done"""]
        "#
    )
}

fn experiment(name: &str, servers: &str) -> String {
    format!(
        r#"
        [[experiment]]
        name = "{name}"
        run = "small-box"
        servers = [{servers}]
        short = true
        runs = 1
        cell_seconds = 0.05
        "#
    )
}

fn suite(file: &Path, out: &Path) -> Command {
    let mut command = foliot();
    command.args(["bench", "suite"]).args([file, Path::new("--out"), out]);
    command
}

/// Runs a suite to its end: its exit code and what it said.
fn run(file: &Path, out: &Path) -> (Option<i32>, String) {
    let ran = suite(file, out).output().unwrap();
    (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
}

#[test]
fn a_suite_starts_its_servers_goes_on_after_a_crash_and_discloses_what_ran() {
    let dir = Scratch::new();
    let (file, out) = (dir.path().join("suite.toml"), dir.path().join("out"));
    let (address, peer) = (free(), free());
    let servers = [
        "[disclose]\ncommit = [\"echo\", \"1234abc\"]\n".to_owned(),
        server("mine", "foliot", address),
        contained("peer", "influx", peer),
    ]
    .concat();
    let broken = "[[server]]\nname = \"broken\"\nsites = [\"influx://127.0.0.1:1\"]\n\
                  start = [\"sh\", \"-c\", \"echo no licence; exit 3\"]\n";
    let first = experiment("first", "\"mine\", \"peer\"");
    let second = experiment("second", "\"mine\", \"broken\"");
    fs::write(&file, [&servers, broken, &first, &second].map(String::from).concat()).unwrap();

    // A server that does not start costs its own experiment, not the others, and is named.
    let (code, said) = run(&file, &out);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("experiment 1 of 2, first"), "{said}");
    assert!(said.contains("experiment 2 of 2, second: 1 to run, about "), "{said}");
    let page = fs::read_to_string(out.join("report.md")).unwrap();
    for told in ["1234abc", "kernel", "mine (durable)", "peer (durable)", "/servers/peer/data"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(page.contains(env!("CARGO_PKG_VERSION")), "{page}");
    assert!(page.contains("failed: broken: ended (exit status: 3): no licence"), "{page}");
    let report = fs::read_to_string(out.join("first/report.md")).unwrap();
    assert!(report.contains("peer (durable)") && report.contains("mine (durable)"), "{report}");
    nothing_is_left(&out, &[address, peer]);

    // Killed in the middle, it leaves its server running; the next call stops it and goes on.
    let second = experiment("second", "\"mine\"");
    fs::write(&file, [&servers, &first, &second].map(String::from).concat()).unwrap();
    let mut killed = suite(&file, &out).stderr(Stdio::null()).spawn().unwrap();
    let end = Instant::now() + PATIENCE;
    while TcpStream::connect(address).is_err() {
        assert!(Instant::now() < end, "the server was not started");
        std::thread::sleep(Duration::from_millis(10));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(TcpStream::connect(address).is_ok(), "the server outlives the suite");
    let (code, said) = run(&file, &out);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("experiment 1 of 2, first: done before"), "{said}");
    assert!(said.contains("mine: stopping what was left running"), "{said}");
    assert!(out.join("second/report.html").exists());
    nothing_is_left(&out, &[address, peer]);

    // All is done: nothing is started any more.
    let (code, said) = run(&file, &out);
    assert_eq!((code, said.matches("done before").count()), (Some(0), 2), "{said}");
}

/// No server answers, and no data of one lie about.
fn nothing_is_left(out: &Path, addresses: &[SocketAddr]) {
    for address in addresses {
        assert!(TcpStream::connect(address).is_err(), "{address} still answers");
    }
    let left = fs::read_dir(out.join("servers")).unwrap().map(|entry| entry.unwrap().path());
    let left: Vec<_> =
        left.filter(|path| path.extension().is_none_or(|end| end != "log")).collect();
    assert!(left.is_empty(), "{left:?}");
}
