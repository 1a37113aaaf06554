//! What whoever runs a store does to it from outside: back it up, restore it.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod harness;

use harness::{Scratch, Server, foliot};
use std::path::{Path, PathBuf};

/// Runs a command that must succeed; what it printed.
fn run(command: &str, data_dir: &Path, path: &Path) -> String {
    let output = foliot().arg(command).arg("--data-dir").arg(data_dir).arg(path).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && error.is_empty(), "{error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that must fail; what it said.
fn refused(command: &str, data_dir: &Path, path: &Path) -> String {
    let output = foliot().arg(command).arg("--data-dir").arg(data_dir).arg(path).output().unwrap();
    assert!(!output.status.success());
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

/// Writes the points numbered `from..to`, each acknowledged.
fn write(server: &Server, from: usize, to: usize) {
    let lines: Vec<_> = (from..to)
        .map(|n| format!("op,host=h{} a={n}i {}", n % 10, (n as i64 + 1) * 1_000_000_000))
        .collect();
    assert_eq!(server.post("/write?db=default", &lines.join("\n")).status, 204);
}

/// How many of the points there are, after checking their values.
fn points(server: &Server) -> usize {
    let samples = server.samples("zimsum:op.a");
    for (ms, value) in &samples {
        assert_eq!((ms / 1000 - 1).to_string(), *value);
    }
    samples.len()
}

fn backups(dir: &Path) -> Vec<PathBuf> {
    let mut all: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    all
}

#[test]
fn a_running_store_is_backed_up_and_restored() {
    let dir = Scratch::new();
    let (data, into) = (dir.path().join("data"), dir.path().join("backups"));
    // A head so small that it is flushed while the test runs.
    let flags = ["--head-bytes", "20KiB", "--wal-ack", "os"];
    let server = Server::start(&data, &flags);
    for round in 0..20 {
        write(&server, round * 5000, (round + 1) * 5000);
    }
    server.wait_for_metric("foliot_flushes_total", 1.0);
    let said = run("backup", &data, &into);
    assert!(
        said.starts_with("backed up ") && said.contains(" 0 files with 0 bytes shared"),
        "{said}"
    );
    write(&server, 100_000, 100_100);
    // Names are of whole seconds.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let said = run("backup", &data, &into);
    assert!(!said.contains(" 0 files with 0 bytes shared"), "parts are shared: {said}");
    write(&server, 100_100, 100_200);
    server.kill();
    let all = backups(&into);
    assert_eq!(all.len(), 2);
    for (backup, expected) in all.iter().zip([100_000, 100_100]) {
        let restored = dir.path().join(format!("restored-{expected}"));
        assert!(run("restore", &restored, backup).starts_with("restored "));
        let server = Server::start(&restored, &flags);
        assert_eq!(points(&server), expected);
        server.stop();
    }
    let server = Server::start(&data, &flags);
    assert_eq!(points(&server), 100_200);
    server.stop();
    let error = refused("restore", &data, &all[0]);
    assert!(error.contains("is not empty"), "{error}");
    let error = refused("restore", &dir.path().join("new"), &into);
    assert!(error.contains(all[1].to_str().unwrap()), "the newest is named: {error}");
    let error = refused("backup", &dir.path().join("nothing"), &into);
    assert!(error.contains("there is no store in") && error.contains("--data-dir"), "{error}");
}
