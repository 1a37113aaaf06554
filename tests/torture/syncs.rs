//! Syncs that fail, lie and take long, and the power that is cut behind them.

use crate::doors::Doors;
use crate::faults::{Action, EIO, Machine, Rule};
use crate::harness::{PATIENCE, Scratch, Server};
use crate::ledger::{Ledger, Load, Look, mix};
use crate::{seed, times};
use rustix::process::Signal;
use std::io::Read;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Connections that wait for the same sync.
const WAITERS: usize = 200;
/// Writers that have an answer for each request.
const ANSWERED: [usize; 8] = [4, 5, 6, 7, 4, 5, 6, 7];

/// Most coins of a power cut come up tails, in some rounds all.
fn coin(seed: u64) -> impl FnMut() -> bool {
    let mut tossed = 0;
    move || {
        tossed += 1;
        seed.is_multiple_of(3) || !mix(seed, tossed, 7).is_multiple_of(4)
    }
}

#[test]
fn a_power_cut_takes_nothing_that_was_answered_as_durable() {
    let mut lost = 0;
    for round in 0..5 * times() {
        let (scratch, doors) = (Scratch::new(), Doors::new());
        let dir = scratch.path().join("data");
        let machine = Machine::new(&dir, scratch.path());
        let ledger = Arc::new(Ledger::new(seed() ^ round));
        for again in 0..3 {
            let dice = mix(seed(), round, again);
            let head = ["--head-bytes", if dice.is_multiple_of(2) { "1MiB" } else { "64MiB" }];
            let command = machine.host(Server::command(&dir, &head));
            let server = Server::ready(command).expect("the store starts after a power cut");
            ledger.check(&server, Look::Whole);
            let load = Load::start_some(&server, &doors, &ledger, "durable", ANSWERED);
            std::thread::sleep(Duration::from_millis(50 + dice % 100));
            server.signal(Signal::USR1);
            std::thread::sleep(Duration::from_millis(dice >> 8 & 127));
            load.expect_the_end();
            server.kill();
            load.stop();
            if dice.is_multiple_of(4) {
                // Recovery is killed before the power goes.
                let mut child = machine.host(Server::command(&dir, &head)).spawn().unwrap();
                std::thread::sleep(Duration::from_millis(dice >> 16 & 31));
                child.kill().unwrap();
                child.wait().unwrap();
            }
            lost += machine.cut_power(coin(dice));
        }
        let server = Server::start(&dir, &[]);
        ledger.check(&server, Look::Whole);
        server.stop();
    }
    println!("power cuts took {lost} bytes that nobody was promised");
    assert!(lost > 0, "there was always everything on the disk: the test proves nothing");
}

/// Linux takes the pages of a failed sync for clean, and a second sync succeeds.
#[test]
fn a_failed_sync_is_never_followed_by_an_answer_that_a_power_cut_takes_back() {
    for round in 0..3 * times() {
        let (scratch, doors) = (Scratch::new(), Doors::new());
        let dir = scratch.path().join("data");
        let machine = Machine::new(&dir, scratch.path());
        let ledger = Arc::new(Ledger::new(seed() ^ round));
        let command = machine.host(Server::command(&dir, &[]));
        let server = Server::ready(command).unwrap();
        let writers = (0..WAITERS).map(|number| ANSWERED[number % ANSWERED.len()]);
        let load = Load::start_some(&server, &doors, &ledger, "durable", writers);
        std::thread::sleep(Duration::from_millis(200 + mix(seed(), round, 3) % 200));
        load.expect_the_end();
        machine.set(0, Rule::always("sync", "/wal-", Action::Fail(EIO)).times(1));
        while machine.seen(0) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(100));
        let syncs = machine.seen(0);
        assert_eq!(syncs, 1, "after a failed sync the log was synced {syncs} times in all");
        let health = server.get("/health");
        assert_eq!(health.status, 503, "{}", health.text());
        server.kill();
        load.stop();
        machine.cut_power(coin(mix(seed(), round, 4)));
        let server = Server::start(&dir, &[]);
        ledger.check(&server, Look::Whole);
        server.stop();
    }
}

/// On a disk that lies about syncs a power cut may cost anything but the truth: the store says that
/// it cannot start, or shows right values only.
#[test]
fn a_disk_that_lies_about_syncs_never_makes_values_wrong() {
    for round in 0..4 * times() {
        let (scratch, doors) = (Scratch::new(), Doors::new());
        let dir = scratch.path().join("data");
        let machine = Machine::new(&dir, scratch.path());
        let ledger = Arc::new(Ledger::new(seed() ^ round));
        let dice = mix(seed(), round, 5);
        let liar = Rule::always("sync", "/data", Action::Lie);
        machine.set(0, liar.after(dice % 20));
        let server =
            Server::ready(machine.host(Server::command(&dir, &["--head-bytes", "1MiB"]))).unwrap();
        let load = Load::start_some(&server, &doors, &ledger, "durable", ANSWERED);
        std::thread::sleep(Duration::from_millis(100 + dice % 100));
        server.signal(Signal::USR1);
        std::thread::sleep(Duration::from_millis(100));
        load.expect_the_end();
        server.kill();
        load.stop();
        machine.clear(0);
        machine.cut_power(coin(dice));
        let mut command = Server::command(&dir, &[]);
        command.stderr(Stdio::piped());
        match Server::try_ready(command) {
            Ok(server) => ledger.check_pieces(&server),
            Err(mut child) => {
                let mut said = String::new();
                child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
                assert!(said.contains(dir.to_str().unwrap()), "no file is named: {said}");
                assert!(!said.contains("panicked"), "{said}");
            }
        }
    }
}

#[test]
fn a_slow_disk_delays_answers_and_nothing_else() {
    let (scratch, doors) = (Scratch::new(), Doors::new());
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let ledger = Arc::new(Ledger::new(seed()));
    let server = Server::ready(machine.host(Server::command(&dir, &[]))).unwrap();
    machine.set(0, Rule::always("sync", "/data", Action::DelayMs(300)));
    let load = Load::start_some(&server, &doors, &ledger, "durable", ANSWERED);
    for _ in 0..20 {
        assert_eq!(server.get("/health").status, 200);
        ledger.check(&server, Look::Live);
        std::thread::sleep(Duration::from_millis(50));
    }
    server.signal(Signal::USR1);
    load.stop();
    machine.clear(0);
    server.stop();
    let server = Server::start(&dir, &[]);
    ledger.check(&server, Look::Whole);
    assert!(ledger.answered() > ANSWERED.len(), "answers came");
}

/// A sync that does not come back for a while holds who waits for it: all others are answered,
/// memory stays bounded, and nothing is lost. It stands for 30 s at length, and for one in short.
#[test]
fn a_disk_that_stands_still_holds_nobody_but_writers() {
    const MEMORY_BYTES: u64 = 200 << 20;
    let stall = Duration::from_secs(if times() > 1 { 30 } else { 1 });
    let (scratch, doors) = (Scratch::new(), Doors::new());
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let ledger = Arc::new(Ledger::new(seed()));
    let server = Server::ready(machine.host(Server::command(&dir, &[]))).unwrap();
    let load = Load::start_some(&server, &doors, &ledger, "durable", ANSWERED);
    std::thread::sleep(Duration::from_millis(100));
    let stands = Rule::always("sync", "/data", Action::DelayMs(stall.as_millis() as i32));
    machine.set(0, stands.times(1));
    while machine.seen(0) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (began, answered) = (Instant::now(), ledger.answered());
    let mut looks = 0;
    while began.elapsed() < stall - Duration::from_millis(500) {
        assert_eq!(server.get("/health").status, 200);
        ledger.check(&server, Look::Live);
        assert!(server.resident_bytes() < MEMORY_BYTES, "{} bytes", server.resident_bytes());
        looks += 1;
    }
    // Each writer may have had one answer under way.
    assert!(ledger.answered() <= answered + ANSWERED.len(), "answered while nothing was synced");
    let before = ledger.answered();
    let until = Instant::now() + PATIENCE;
    while ledger.answered() < before + 2 * ANSWERED.len() {
        assert!(Instant::now() < until, "nothing is answered after the stall");
        std::thread::sleep(Duration::from_millis(1));
    }
    load.stop();
    server.kill();
    let server = Server::start(&dir, &[]);
    ledger.check(&server, Look::Whole);
    println!("{looks} looks while a sync took {stall:?}");
}
