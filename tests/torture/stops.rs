//! The server is asked to stop under load, and finds an older store.

use crate::doors::Doors;
use crate::faults::{Action, Machine, Rule};
use crate::harness::{Scratch, Server};
use crate::ledger::{Ledger, Load, Look, mix};
use crate::{seed, times};
use rustix::process::Signal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A server that is asked to stop keeps what it answered, at every level.
#[test]
fn a_server_that_is_asked_to_stop_keeps_even_what_is_only_in_memory() {
    let (dir, doors) = (Scratch::new(), Doors::new());
    let ledger = Arc::new(Ledger::new(seed()));
    let flags = doors.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    for round in 0..4 * times() {
        let mut server = Server::start(dir.path(), &flags);
        ledger.check(&server, Look::Recent);
        let level = ["memory", "os", "durable"][(round % 3) as usize];
        let load = Load::start(&server, &doors, &ledger, level);
        std::thread::sleep(Duration::from_millis(50 + mix(seed(), round, 21) % 200));
        load.expect_the_end();
        server.signal(Signal::TERM);
        let status = server.wait();
        assert!(status.success(), "{status}");
        load.stop();
    }
    let server = Server::start(dir.path(), &[]);
    ledger.check(&server, Look::Whole);
}

/// What a store says of itself: every series with its samples.
fn said(server: &Server) -> Vec<String> {
    let names = server.get("/api/suggest?type=metrics&max=1000");
    let names: Vec<String> = serde_json::from_slice(&names.body).unwrap();
    let mut all = Vec::new();
    for name in names {
        let answer =
            server.get(&format!("/api/query?start=1&end=2000000000&ms&arrays&m=none:{name}"));
        let mut found: Vec<String> = match serde_json::from_slice(&answer.body).unwrap() {
            serde_json::Value::Array(found) => found.iter().map(ToString::to_string).collect(),
            refusal => vec![refusal.to_string()],
        };
        found.sort();
        all.push(format!("{name} {found:?}"));
    }
    all
}

fn copy_golden(into: &Path) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut versions: Vec<_> =
        std::fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path()).collect();
    versions.retain(|path| path.join("MANIFEST").exists());
    versions.sort();
    std::fs::create_dir_all(into).unwrap();
    for entry in std::fs::read_dir(versions.first().unwrap()).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), into.join(entry.file_name())).unwrap();
    }
}

/// The store of the oldest format is opened by a server that is killed at each of its calls that
/// change the disk, and then left alone.
#[test]
fn taking_over_an_older_store_may_be_killed_at_any_call() {
    // Its rule about times would expire samples of 2023; it is not in force here.
    let flags = ["--merge-parts", "2", "--merge-quiet", "1s"];
    let scratch = Scratch::new();
    let dir = scratch.path().join("golden");
    copy_golden(&dir);
    let server = Server::start(&dir, &[]);
    let sound = said(&server);
    assert!(sound.len() >= 3, "{sound:?}");
    server.stop();
    let step = (6 / times()).max(1);
    let mut kills = 0;
    for point in (seed() % step..).step_by(step as usize) {
        let dir = scratch.path().join(format!("at-{point}"));
        copy_golden(&dir);
        let machine = Machine::new(&dir, scratch.path());
        machine.set(0, Rule::always("change", "/at-", Action::Kill).after(point));
        let lived = match Server::ready(machine.host(Server::command(&dir, &flags))) {
            None => false,
            Some(mut server) => {
                server.signal(Signal::USR1);
                std::thread::sleep(Duration::from_millis(30));
                server.signal(Signal::TERM);
                server.wait().success()
            }
        };
        let server = Server::start(&dir, &flags);
        assert_eq!(said(&server), sound, "killed at change {point}");
        server.stop();
        std::fs::remove_dir_all(&dir).unwrap();
        if lived {
            break;
        }
        kills += 1;
    }
    println!("killed at {kills} calls");
    assert!(kills > 0, "the fault was never met");
}
