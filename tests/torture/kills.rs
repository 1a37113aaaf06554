//! The server is killed: under load, in recovery, and at every call to the system.

use crate::doors::{Doors, Outcome, WRITERS};
use crate::faults::{Action, Machine, Rule};
use crate::harness::{Scratch, Server};
use crate::ledger::{Ledger, Load, Look, mix};
use crate::{RESTLESS, seed, times};
use rustix::process::Signal;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn flags<'a>(doors: &'a [String], more: &[&'a str]) -> Vec<&'a str> {
    doors.iter().map(String::as_str).chain(more.iter().copied()).collect()
}

#[test]
fn no_answered_write_is_lost_when_the_server_is_killed() {
    let (dir, doors) = (Scratch::new(), Doors::new());
    let ledger = Arc::new(Ledger::new(seed()));
    let door_flags = doors.flags();
    for round in 0..30 * times() {
        let dice = mix(seed(), round, 0);
        let flags = flags(&door_flags, if dice.is_multiple_of(4) { &[] } else { &RESTLESS });
        if round % 4 == 3 {
            // Recovery is itself killed, up to three times in a row.
            for again in 0..=dice % 3 {
                kill_recovery(dir.path(), mix(seed(), round, again + 1) % 60);
            }
        }
        let server = Server::start(dir.path(), &flags);
        ledger.check(&server, if round % 100 == 99 { Look::Whole } else { Look::Recent });
        let level = if round % 2 == 0 { "durable" } else { "os" };
        let load = Load::start(&server, &doors, &ledger, level);
        pass_time(&server, dice);
        load.expect_the_end();
        server.kill();
        load.stop();
    }
    let server = Server::start(dir.path(), &[]);
    ledger.check(&server, Look::Whole);
    server.stop();
    let server = Server::start(dir.path(), &[]);
    ledger.check(&server, Look::Whole);
    let answered = ledger.answered();
    assert!(answered > 500, "only {answered} batches were answered: the test proves little");
    println!("{answered} batches were answered and all are there");
}

fn kill_recovery(dir: &Path, after_ms: u64) {
    let mut child = Server::spawn(dir, &[]);
    std::thread::sleep(Duration::from_millis(after_ms));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// However often a start is killed, the next one finds no more on the disk than the first.
#[test]
fn starts_that_are_killed_leave_nothing_behind() {
    let (dir, doors) = (Scratch::new(), Doors::new());
    let ledger = Arc::new(Ledger::new(seed()));
    let server = Server::start(dir.path(), &[]);
    let load = Load::start_some(&server, &doors, &ledger, "os", [4, 6]);
    std::thread::sleep(Duration::from_secs(1));
    load.expect_the_end();
    server.kill();
    load.stop();
    let before = bytes_in(dir.path());
    let mut most = before;
    for round in 0..10 * times().min(10) {
        kill_recovery(dir.path(), mix(seed(), round, 7) % 60);
        most = most.max(bytes_in(dir.path()));
    }
    assert!(most <= before + before / 10, "{most} bytes after {before}");
    let server = Server::start(dir.path(), &[]);
    ledger.check(&server, Look::Whole);
    println!("{before} bytes, at most {most} after starts that were killed");
}

fn bytes_in(dir: &Path) -> u64 {
    let bytes = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        match entry.path().is_dir() {
            true => bytes_in(&entry.path()),
            false => entry.metadata().unwrap().len(),
        }
    };
    std::fs::read_dir(dir).unwrap().map(bytes).sum()
}

/// A moment of load; a flush may be under way at its end, or just over.
fn pass_time(server: &Server, dice: u64) {
    if dice & 16 == 0 {
        std::thread::sleep(Duration::from_millis(dice >> 8 & 127));
        server.signal(Signal::USR1);
        std::thread::sleep(Duration::from_millis(dice >> 16 & 63));
    } else {
        std::thread::sleep(Duration::from_millis(20 + (dice >> 8 & 255)));
    }
}

/// Plays the same changes again and again, and kills the server at the first call that changes the
/// disk, at the second, and so on until it lives to their end.
#[test]
fn a_kill_at_any_call_to_the_system_loses_nothing() {
    // In short every so many calls, beginning anywhere.
    let step = (50 / times()).max(1);
    let mut kills = 0;
    for point in (seed() % step..).step_by(step as usize) {
        let scratch = Scratch::new();
        let dir = scratch.path().join("data");
        let machine = Machine::new(&dir, scratch.path());
        machine.set(0, Rule::always("change", "/data/", Action::Kill).after(point));
        let ledger = Ledger::new(seed() ^ point);
        let lived = play(&machine, &dir, &ledger);
        let server = Server::start(&dir, &[]);
        ledger.check(&server, Look::Whole);
        server.stop();
        if lived {
            break;
        }
        kills += 1;
    }
    println!("killed at {kills} calls");
    assert!(kills >= 3, "the fault was met {kills} times");
}

/// Writes, flushes, merges and restarts, on two connections in turn; whether the server lived.
fn play(machine: &Machine, dir: &Path, ledger: &Ledger) -> bool {
    let doors = Doors::new();
    for _ in 0..2 {
        let command = machine.host(Server::command(dir, &RESTLESS));
        let Some(mut server) = Server::ready(command) else { return false };
        for _ in 0..5 {
            for writer in [4, 6] {
                let (way, _) = WRITERS[writer];
                let Some(mut door) = doors.open(&server, way) else { return false };
                for _ in 0..3 {
                    if ledger.send(&mut door, writer, "durable") == Outcome::Gone {
                        return false;
                    }
                }
            }
            let before = flushes(&server);
            server.signal(Signal::USR1);
            while before.is_some() && flushes(&server) == before {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        if server.has_ended() {
            return false;
        }
        server.signal(Signal::TERM);
        if !server.wait().success() {
            return false;
        }
    }
    true
}

/// How often the server has flushed; nothing when it is gone.
fn flushes(server: &Server) -> Option<String> {
    let text = server.try_get("/metrics")?.text();
    text.lines().find(|line| line.starts_with("foliot_flushes_total ")).map(str::to_owned)
}
