//! Clocks that jump, and boards without one.

use crate::doors::{Doors, Outcome, WRITERS};
use crate::faults::Machine;
use crate::harness::{Scratch, Server};
use crate::ledger::{Ledger, Look};
use crate::seed;
use rustix::process::Signal;
use std::path::Path;
use std::time::{Duration, SystemTime};

const SECOND_NS: i64 = 1_000_000_000;
const HOUR_NS: i64 = 3600 * SECOND_NS;
const YEAR_NS: i64 = 365 * 24 * HOUR_NS;

fn write(server: &Server, doors: &Doors, ledger: &Ledger, batches: usize) {
    for writer in [4, 6] {
        let mut door = doors.open(server, WRITERS[writer].0).unwrap();
        for _ in 0..batches {
            assert_eq!(ledger.send(&mut door, writer, "durable"), Outcome::Answered);
        }
    }
}

fn now_ns() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_nanos() as i64
}

fn start(machine: &Machine, dir: &Path, flags: &[&str]) -> Server {
    Server::ready(machine.host(Server::command(dir, flags))).expect("the store starts")
}

/// Times that are written do not depend on the clock of the machine: a clock that goes back an
/// hour, on ten years, and to 1970 costs no write and no sample, with restarts in between.
#[test]
fn a_clock_that_jumps_costs_nothing() {
    let (scratch, doors) = (Scratch::new(), Doors::new());
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let ledger = Ledger::new(seed());
    let jumps = [0, -HOUR_NS, 10 * YEAR_NS, 0, -now_ns() + HOUR_NS, 0, 290 * YEAR_NS - now_ns(), 0];
    for (number, ahead_ns) in jumps.into_iter().enumerate() {
        let server = start(&machine, &dir, &["--merge-parts", "2"]);
        write(&server, &doors, &ledger, 5);
        machine.set_clock(ahead_ns);
        write(&server, &doors, &ledger, 5);
        let before = server.metric("foliot_flushes_total");
        server.signal(Signal::USR1);
        server.wait_for_metric("foliot_flushes_total", before + 1.0);
        std::thread::sleep(Duration::from_millis(20));
        write(&server, &doors, &ledger, 2);
        ledger.check(&server, Look::Whole);
        match number % 2 {
            0 => server.stop(),
            _ => server.kill(),
        }
    }
    let server = Server::start(&dir, &[]);
    ledger.check(&server, Look::Whole);
}

/// A clock that is ahead for a while, before a start or while the server runs, expires nothing,
/// although by that clock everything is too old. Nor is anything refused.
#[test]
fn a_clock_that_is_ahead_for_a_while_expires_nothing() {
    let (scratch, doors) = (Scratch::new(), Doors::new());
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let ledger = Ledger::new(seed());
    for is_ahead_at_start in [false, true] {
        machine.set_clock(if is_ahead_at_start { 20 * YEAR_NS } else { 0 });
        let server = start(&machine, &dir, &["--merge-parts", "2", "--retention", "10y"]);
        write(&server, &doors, &ledger, 5);
        machine.set_clock(20 * YEAR_NS);
        write(&server, &doors, &ledger, 5);
        let before = server.metric("foliot_flushes_total");
        server.signal(Signal::USR1);
        server.wait_for_metric("foliot_flushes_total", before + 1.0);
        server.wait_for_metric("foliot_failures_in_a_row{work=\"clock\"}", 1.0);
        ledger.check(&server, Look::Whole);
        machine.set_clock(0);
        write(&server, &doors, &ledger, 5);
        ledger.check(&server, Look::Whole);
        server.kill();
    }
    let server = start(&machine, &dir, &["--retention", "10y"]);
    ledger.check(&server, Look::Whole);
    assert_eq!(server.metric("foliot_samples_expired_total"), 0.0);
}

/// A board without a clock starts in 1970 and is told the time later. What it was sent with times
/// is kept; what came without is of the clock that there was.
#[test]
fn a_board_that_starts_in_1970_is_told_the_time() {
    let (scratch, doors) = (Scratch::new(), Doors::new());
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    machine.set_clock(30 * SECOND_NS - now_ns());
    let ledger = Ledger::new(seed());
    let server = start(&machine, &dir, &[]);
    write(&server, &doors, &ledger, 10);
    assert_eq!(server.post("/write?db=default", "untimed v=1").status, 204);
    ledger.check(&server, Look::Whole);
    server.signal(Signal::USR1);
    server.wait_for_metric("foliot_flushes_total", 1.0);
    machine.set_clock(0);
    write(&server, &doors, &ledger, 10);
    assert_eq!(server.post("/write?db=default", "untimed v=2").status, 204);
    ledger.check(&server, Look::Whole);
    assert_eq!(server.samples("none:untimed.v").len(), 2);
    server.kill();
    let server = start(&machine, &dir, &[]);
    ledger.check(&server, Look::Whole);
    assert_eq!(server.samples("none:untimed.v").len(), 2);
}
