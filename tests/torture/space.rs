//! Disks without room, and calls that fail.

use crate::doors::{Door, Doors, Outcome, WRITERS};
use crate::faults::{Action, EIO, EMFILE, ENOSPC, EROFS, FOREVER, Machine, Rule};
use crate::harness::{PATIENCE, Scratch, Server};
use crate::ledger::{Ledger, Load, Look, mix};
use crate::{seed, times};
use rustix::process::Signal;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Writers of `/api/put` and of `/write`.
const PAIR: [usize; 2] = [4, 6];

/// A small file system in memory, where this process may mount one.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(path: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(path).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path);
        let mounted = mount.output().is_ok_and(|output| output.status.success());
        mounted.then(|| Self(path.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// Waits until nothing is answered any more: who writes is refused, or waits for room.
fn wait_until_full(ledger: &Ledger) {
    let began = Instant::now();
    let mut answered = usize::MAX;
    while ledger.answered() != answered {
        answered = ledger.answered();
        assert!(began.elapsed() < 4 * PATIENCE, "the disk is never full");
        std::thread::sleep(Duration::from_millis(1500));
    }
}

/// Waits until something is answered again.
fn wait_until_answered(ledger: &Ledger) {
    let (began, answered) = (Instant::now(), ledger.answered());
    while ledger.answered() == answered {
        assert!(began.elapsed() < PATIENCE, "writes are refused although there is room again");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Writes until it is answered again.
fn resume(doors: &mut [Door], ledger: &Ledger) {
    let began = Instant::now();
    while ledger.send(&mut doors[0], PAIR[0], "durable") != Outcome::Answered {
        assert!(began.elapsed() < PATIENCE, "writes are refused although there is room again");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Fills a disk, gives room, fills it again, and kills the server while it is full. `take` and
/// `free` take room away and give it back.
fn full_disk(dir: &Path, machine: Option<&Machine>, take: &dyn Fn(), free: &dyn Fn()) {
    let (doors, ledger) = (Doors::new(), Arc::new(Ledger::new(seed())));
    let start = || {
        let command = Server::command(dir, &["--head-bytes", "4MiB", "--wal-reserve", "1MiB"]);
        let command = match machine {
            Some(machine) => machine.host(command),
            None => command,
        };
        Server::ready(command).expect("the store starts")
    };
    let write = |server: &Server| {
        let load = Load::start_some(server, &doors, &ledger, "durable", PAIR);
        load.expect_the_end();
        load
    };
    let server = start();
    let load = write(&server);
    for round in 0..1 + times().min(20) {
        take();
        wait_until_full(&ledger);
        println!("round {round}: full after {} batches", ledger.answered());
        ledger.check(&server, Look::Live);
        server.signal(Signal::USR1);
        assert_eq!(server.get("/-/healthy").status, 200);
        free();
        wait_until_answered(&ledger);
        ledger.check(&server, Look::Live);
    }
    take();
    wait_until_full(&ledger);
    server.kill();
    load.stop();
    let server = start();
    ledger.check(&server, Look::Whole);
    free();
    let load = write(&server);
    wait_until_answered(&ledger);
    load.stop();
    server.stop();
    let server = start();
    ledger.check(&server, Look::Whole);
}

/// Waits until the store holds room by a file, as it does a moment after a start.
fn wait_for_ballast(dir: &Path) {
    let (began, path) = (Instant::now(), dir.join("ballast"));
    while std::fs::metadata(&path).map_or(0, |file| file.len()) != 1 << 20 {
        assert!(began.elapsed() < PATIENCE, "no room is held");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Where no file system may be mounted, every write is refused in its place.
#[test]
fn a_full_disk_refuses_writes_and_takes_them_again_when_there_is_room() {
    let scratch = Scratch::new();
    let mount = scratch.path().join("disk");
    let ballast = mount.join("ballast");
    if let Some(_disk) = SmallDisk::mount(&mount, "size=9m") {
        std::fs::write(&ballast, vec![1; 6 << 20]).unwrap();
        let free = || drop(std::fs::remove_file(&ballast));
        // What the store needs to tidy up it has had by then; the ballast takes what is left.
        let take = || {
            free();
            let _ = std::fs::write(&ballast, vec![1; 5 << 20]);
        };
        full_disk(&mount.join("data"), None, &take, &free);
    } else {
        println!("no file system may be mounted here: writes are refused instead");
    }
    let dir = scratch.path().join("data");
    let machine = Machine::new(&dir, scratch.path());
    let take = || machine.set(0, Rule::always("write", "/data/", Action::Fail(ENOSPC)).after(60));
    full_disk(&dir, Some(&machine), &take, &|| machine.clear(0));
}

/// Whoever fills a disk to its last byte keeps nobody from making room by a delete, and what takes
/// room is refused rather than kept waiting.
#[test]
fn a_disk_that_others_filled_takes_deletes_and_refuses_databases() {
    let scratch = Scratch::new();
    let mount = scratch.path().join("disk");
    let Some(_disk) = SmallDisk::mount(&mount, "size=48m") else {
        println!("no file system may be mounted here: nothing can be filled");
        return;
    };
    let dir = mount.join("data");
    let server = Server::start(&dir, &[]);
    let ask = |statement: &str| {
        let path = format!("/query?q={}", statement.replace(' ', "%20"));
        server.request("POST", &path, &[], b"").text()
    };
    for database in ["going", "staying"] {
        assert!(!ask(&format!("CREATE DATABASE {database}")).contains("error"));
        let line = |n: usize| format!("m,host=h{} v={} {n}\n", n % 100, n as f64 / 97.0);
        let body: String = (0..50_000).map(line).collect();
        assert_eq!(server.post(&format!("/write?db={database}&precision=s"), &body).status, 204);
    }
    server.signal(Signal::USR1);
    server.wait_for_metric("foliot_flushes_total", 1.0);
    wait_for_ballast(&dir);
    let filler = mount.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    drop(file);
    let refused = ask("CREATE DATABASE coming");
    assert!(refused.contains("are kept free") && refused.contains("wal.reserve"), "{refused}");
    let refused = server.post("/write?db=staying", "m,host=new v=1");
    assert_eq!(refused.status, 507, "{}", refused.text());
    let dropped = ask("DROP DATABASE going");
    assert!(!dropped.contains("error"), "{dropped}");
    let deleted = server.request("POST", "/query?db=staying&q=DELETE%20FROM%20m", &[], b"").text();
    assert!(!deleted.contains("error"), "{deleted}");
    let told = std::fs::read_to_string(dir.join("audit.log")).unwrap();
    assert!(told.contains("drop namespace") && told.contains("\"delete\""), "{told}");
    server.kill();
    let server = Server::start(&dir, &[]);
    let databases = server.get("/query?q=SHOW%20DATABASES").text();
    assert!(databases.contains("staying") && !databases.contains("going"), "{databases}");
    let count = server.get("/query?db=staying&q=SELECT%20count(v)%20FROM%20m").text();
    assert!(!count.contains("count"), "{count}");
    // With room again it is held again, and what takes room is taken.
    std::fs::remove_file(&filler).unwrap();
    let began = Instant::now();
    while server.post("/write?db=staying", "m,host=new v=1").status != 204 {
        assert!(began.elapsed() < PATIENCE, "writes are refused although there is room again");
        std::thread::sleep(Duration::from_millis(50));
    }
    server.stop();
    let server = Server::start(&dir, &[]);
    wait_for_ballast(&dir);
    server.stop();
}

/// A file system that has room for bytes and none for files: nothing can be flushed, and writes go
/// on in the log that there is.
#[test]
fn a_disk_without_room_for_another_file_flushes_when_there_is_some() {
    let scratch = Scratch::new();
    let mount = scratch.path().join("disk");
    let Some(_disk) = SmallDisk::mount(&mount, "size=64m,nr_inodes=60") else {
        println!("no file system may be mounted here: calls that fail are tried elsewhere");
        return;
    };
    let (doors, ledger) = (Doors::new(), Ledger::new(seed()));
    let server = Server::start(&mount.join("data"), &[]);
    let mut pair = PAIR.map(|writer| doors.open(&server, WRITERS[writer].0).unwrap());
    // The log has its file by then.
    resume(&mut pair, &ledger);
    let ballast = |number: u32| mount.join(format!("ballast-{number}"));
    let taken = (0..).take_while(|number| std::fs::write(ballast(*number), b"").is_ok()).count();
    for round in 0..40 {
        let outcome = ledger.send(&mut pair[round % 2], PAIR[round % 2], "durable");
        assert_eq!(outcome, Outcome::Answered);
        if round % 10 == 9 {
            server.signal(Signal::USR1);
        }
    }
    ledger.check(&server, Look::Whole);
    assert_eq!(server.metric("foliot_flushes_total"), 0.0, "there was room for {taken} files");
    (0..taken as u32).for_each(|number| std::fs::remove_file(ballast(number)).unwrap());
    let began = Instant::now();
    while server.metric("foliot_flushes_total") == 0.0 {
        assert!(began.elapsed() < PATIENCE, "nothing is flushed although there is room again");
        server.signal(Signal::USR1);
        std::thread::sleep(Duration::from_millis(50));
    }
    resume(&mut pair, &ledger);
    ledger.check(&server, Look::Whole);
    server.kill();
    ledger.check(&Server::start(&mount.join("data"), &[]), Look::Whole);
}

/// Each kind of call fails, with each error, once or until it is mended, wherever it is met.
#[test]
fn a_call_that_fails_costs_nothing_that_was_answered() {
    let calls = ["write", "create", "rename", "unlink", "open", "sync", "truncate", "overwrite"];
    let errors = [ENOSPC, EIO, EMFILE, EROFS];
    let mut struck = 0;
    for round in 0..12 * times() {
        let dice = mix(seed(), round, 11);
        let (call, error) = (calls[(round % 8) as usize], errors[(dice % 4) as usize]);
        let action = match call == "write" && dice.is_multiple_of(3) {
            true => Action::Short,
            false => Action::Fail(error),
        };
        let count = if dice & 64 == 0 { 1 } else { FOREVER };
        let rule = Rule::always(call, "/data/", action).after(dice >> 16 & 31).times(count);
        println!("{rule:?}");
        let scratch = Scratch::new();
        let dir = scratch.path().join("data");
        let machine = Machine::new(&dir, scratch.path());
        let ledger = Ledger::new(seed() ^ round);
        struck += u64::from(under_failing_calls(&machine, &dir, &ledger, rule));
    }
    assert!(struck > 0, "no fault was met");
}

/// Whether the fault was met.
fn under_failing_calls(machine: &Machine, dir: &Path, ledger: &Ledger, rule: Rule) -> bool {
    let doors = Doors::new();
    let flags = ["--head-bytes", "1MiB", "--merge-parts", "2"];
    let server = Server::ready(machine.host(Server::command(dir, &flags))).unwrap();
    machine.set(0, rule);
    for _ in 0..6 {
        for writer in PAIR {
            let mut door = doors.open(&server, WRITERS[writer].0).expect("the server lives");
            for _ in 0..4 {
                let outcome = ledger.send(&mut door, writer, "durable");
                assert_ne!(outcome, Outcome::Gone, "the server lives");
            }
        }
        server.signal(Signal::USR1);
        std::thread::sleep(Duration::from_millis(20));
    }
    ledger.check(&server, Look::Whole);
    let is_met = machine.seen(0) > rule.skip;
    machine.clear(0);
    // A log that failed stays failed until a restart; everything else goes on by itself.
    let is_poisoned = server.get("/health").status == 503;
    if !is_poisoned {
        resume(&mut PAIR.map(|writer| doors.open(&server, WRITERS[writer].0).unwrap()), ledger);
    }
    server.kill();
    let server = Server::start(dir, &[]);
    resume(&mut PAIR.map(|writer| doors.open(&server, WRITERS[writer].0).unwrap()), ledger);
    ledger.check(&server, Look::Whole);
    is_met
}
