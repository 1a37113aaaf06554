//! Clocks that are wrong destroy nothing and refuse nothing for good.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Caller, Config, Engine, Work};
use foliot_model::{DEFAULT_NAMESPACE, TimeRange};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const HOUR: i64 = 3600 * 1_000_000_000;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

fn open(disk: &SimDisk) -> Engine {
    let config = Config {
        background: false,
        retention: Some(Duration::from_secs(10 * 86_400)),
        ..Config::default()
    };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, Path::new("store"), config).unwrap()
}

/// Writes a sample for each of the last days by a right clock; tells how many were refused.
fn fill(engine: &Engine, now_ns: i64, days: i64) -> usize {
    let line = |day| Line {
        key: "m host=a".to_owned(),
        time_ns: now_ns - day * DAY,
        fields: vec![("value".to_owned(), Owned::Integer(day))],
    };
    let (commit, rejects) =
        write(engine, DEFAULT_NAMESPACE, &(0..days).map(line).collect::<Vec<_>>());
    commit.unwrap();
    rejects.len()
}

fn count(engine: &Engine) -> usize {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
    sids.into_iter().map(|sid| read(&snapshot, sid, TimeRange::ALL).len()).sum()
}

fn settle(engine: &Engine) {
    while engine.maintain().unwrap() {}
}

#[test]
fn a_clock_that_jumps_ahead_for_a_while_destroys_nothing() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let now_ns = disk.now_ns();
    assert_eq!(fill(&engine, now_ns, 10), 0);
    engine.flush().unwrap();
    settle(&engine);
    disk.jump(10 * YEAR);
    settle(&engine);
    engine.merge_all().unwrap();
    assert_eq!((count(&engine), fill(&engine, now_ns, 10)), (10, 0), "while it is wrong");
    assert!(engine.troubles().iter().any(|trouble| trouble.work == Work::Clock));
    engine.flush().unwrap();
    drop(engine);
    let engine = open(&disk);
    settle(&engine);
    assert_eq!((count(&engine), fill(&engine, now_ns, 10)), (10, 0), "started while it is wrong");
    disk.advance(30 * 60 * 1_000_000_000);
    settle(&engine);
    disk.jump(-10 * YEAR);
    settle(&engine);
    assert_eq!((count(&engine), fill(&engine, now_ns, 10)), (10, 0), "when it is right again");
    assert_eq!(engine.troubles(), []);
    disk.advance(5 * DAY as u64);
    assert_eq!(count(&engine), 5, "and time goes on");
}

#[test]
fn a_board_that_starts_in_1970_keeps_everything() {
    let disk = SimDisk::new(2);
    let engine = open(&disk);
    let now_ns = disk.now_ns();
    fill(&engine, now_ns, 10);
    engine.flush().unwrap();
    drop(engine);
    disk.jump(-now_ns);
    let engine = open(&disk);
    settle(&engine);
    assert_eq!((count(&engine), fill(&engine, now_ns, 10)), (10, 0));
    engine.flush().unwrap();
    disk.advance(HOUR as u64);
    disk.jump(now_ns);
    settle(&engine);
    assert_eq!((count(&engine), fill(&engine, now_ns, 10)), (10, 0));
}

#[test]
fn most_of_a_store_expires_by_order_only() {
    let disk = SimDisk::new(3);
    let engine = open(&disk);
    fill(&engine, disk.now_ns(), 10);
    engine.flush().unwrap();
    drop(engine);
    // A month switched off, or a wrong clock: nobody but a person can tell.
    disk.jump(30 * DAY);
    let engine = open(&disk);
    settle(&engine);
    disk.advance(3 * HOUR as u64);
    settle(&engine);
    assert_eq!((count(&engine), engine.stats().part_samples), (10, 10));
    let trouble = engine.troubles().into_iter().find(|trouble| trouble.work == Work::Clock);
    assert!(trouble.unwrap().reason.contains("foliot retention --accept-clock"));
    engine.accept_clock(&Caller::default()).unwrap();
    assert_eq!(count(&engine), 0);
    settle(&engine);
    assert_eq!((engine.stats().part_samples, engine.troubles()), (0, vec![]));
    drop(engine);
    assert_eq!(count(&open(&disk)), 0);
}

#[test]
fn a_machine_that_was_off_for_some_days_goes_on_by_itself() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    for day in 0..10 {
        fill(&engine, disk.now_ns(), 1);
        if day % 2 == 1 {
            engine.flush().unwrap();
        }
        disk.advance(DAY as u64);
    }
    drop(engine);
    disk.jump(3 * DAY);
    let engine = open(&disk);
    settle(&engine);
    let before = engine.stats().part_samples;
    disk.advance(2 * HOUR as u64);
    settle(&engine);
    disk.advance(HOUR as u64);
    settle(&engine);
    assert_eq!(engine.troubles(), []);
    assert!(engine.stats().part_samples < before);
}

#[test]
fn a_manifest_made_anew_by_a_wrong_clock_expires_nothing() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    assert_eq!(fill(&engine, disk.now_ns(), 9), 0);
    engine.flush().unwrap();
    engine.close().unwrap();
    drop(engine);
    for name in ["MANIFEST", "MANIFEST.copy"] {
        disk.remove(&Path::new("store").join(name)).unwrap();
    }
    disk.jump(10 * YEAR);
    let machine: Arc<dyn Disk> = Arc::new(disk.clone());
    assert!(
        !foliot_engine::repair(&machine, Path::new("store"), foliot_engine::MayLose::default())
            .unwrap()
            .is_empty()
    );
    let engine = open(&disk);
    assert_eq!(count(&engine), 9);
    settle(&engine);
    assert_eq!(count(&engine), 9);
}
