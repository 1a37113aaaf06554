//! Databases that were dropped: whatever stops a drop in the middle, it is made whole by the next
//! start or was not made, and nothing of another database goes with it.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Caller, Checked, Config, Engine, check};
use foliot_model::TimeRange;
use std::path::Path;
use std::sync::Arc;

const DIR: &str = "store";

fn open(disk: &SimDisk) -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap()
}

fn fill(engine: &Engine, namespace: u32) {
    let line = |at: i64| Line {
        key: "m host=a".to_owned(),
        time_ns: at,
        fields: vec![("a".to_owned(), Owned::Integer(at))],
    };
    let (commit, _) = write(engine, namespace, &(0..50).map(line).collect::<Vec<_>>());
    engine.wait(commit.unwrap(), Ack::Durable).unwrap();
}

fn samples(engine: &Engine, namespace: u32) -> usize {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(namespace, "m"), TimeRange::ALL).unwrap();
    sids.iter().map(|sid| read(&snapshot, *sid, TimeRange::ALL).len()).sum()
}

fn checked(disk: &SimDisk) -> Checked {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    check(&disk, Path::new(DIR)).unwrap()
}

/// Two databases, each with two parts and samples in memory.
fn two(disk: &SimDisk) -> (Engine, [u32; 2]) {
    let engine = open(disk);
    let ids = ["kept", "gone"].map(|name| engine.create_namespace(name, "raw").unwrap());
    for _ in 0..2 {
        ids.iter().for_each(|id| fill(&engine, *id));
        engine.flush().unwrap();
    }
    ids.iter().for_each(|id| fill(&engine, *id));
    (engine, ids)
}

#[test]
fn a_drop_that_is_stopped_anywhere_is_made_whole_or_was_not_made() {
    let mut left_behind = 0;
    for stop in [SimDisk::kill, SimDisk::crash] {
        for operation in 1.. {
            let disk = SimDisk::new(operation);
            let (engine, [kept, gone]) = two(&disk);
            disk.fail_after(operation, FaultKind::Crash);
            let outcome = engine.drop_namespace(gone, &Caller::default());
            if !disk.is_dead() {
                outcome.unwrap();
                break;
            }
            drop(engine);
            let disk = stop(&disk);
            left_behind += usize::from(!checked(&disk).notes.is_empty());
            let engine = open(&disk);
            let is_gone = engine.namespace("gone", "raw").is_none();
            assert!(is_gone || outcome.is_err(), "{operation}");
            let parts = if is_gone { 2 } else { 4 };
            assert_eq!(engine.stats().parts, parts, "{operation}: nothing of it is left");
            assert_eq!(samples(&engine, kept), 50, "{operation}");
            assert_eq!(engine.create_namespace("new", "raw").unwrap(), 3);
            engine.close().unwrap();
            drop(engine);
            assert_eq!(checked(&disk).problems, [""; 0], "{operation}");
        }
    }
    assert!(left_behind > 0, "no stop left parts behind");
}

#[test]
fn rows_that_were_on_their_way_to_a_dropped_database_are_removed() {
    let disk = SimDisk::new(1);
    let (engine, [kept, gone]) = two(&disk);
    engine.drop_namespace(gone, &Caller::default()).unwrap();
    fill(&engine, gone);
    engine.flush().unwrap();
    assert_eq!(engine.stats().parts, 4);
    while engine.maintain().unwrap() {}
    assert_eq!(engine.stats().parts, 3);
    // Also those that only the wal had.
    fill(&engine, gone);
    drop(engine);
    let engine = open(&disk);
    engine.flush().unwrap();
    while engine.maintain().unwrap() {}
    assert_eq!((engine.stats().parts, samples(&engine, kept)), (3, 50));
    drop(engine);
    assert_eq!(checked(&disk).problems, [""; 0]);
}

#[test]
fn parts_of_a_database_whose_name_was_lost_stay() {
    let disk = SimDisk::new(1);
    let (engine, [_, lost]) = two(&disk);
    // As damage would: the name is gone, and nothing says that it was dropped.
    let commit = engine.catalog_delete("namespace", "gone\0raw").unwrap();
    engine.wait(commit, Ack::Durable).unwrap();
    drop(engine);
    let engine = open(&disk);
    while engine.maintain().unwrap() {}
    assert_eq!((engine.namespace("gone", "raw"), samples(&engine, lost)), (None, 50));
    drop(engine);
    assert!(checked(&disk).problems[0].contains("which has no name"));
}
