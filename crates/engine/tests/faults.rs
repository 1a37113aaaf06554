//! Disks that fail under a running store, with its threads on.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test code says what must hold by unwrapping"
)]

mod support;

use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Config, Engine, Error};
use foliot_model::TimeRange;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use support::{Line, Owned, read, selector, write};

const DIR: &str = "store";

fn open(disk: &SimDisk, background: bool) -> Engine {
    let config = Config { background, ..Config::default() };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, Path::new(DIR), config).unwrap()
}

fn line(step: i64) -> Line {
    Line {
        key: "m host=a".to_owned(),
        time_ns: step * 1_000_000_000,
        fields: vec![("a".to_owned(), Owned::Integer(step))],
    }
}

/// Writes one sample and waits until it is durable.
fn put(engine: &Engine, step: i64) -> Result<(), Error> {
    let (commit, rejects) = write(engine, 0, &[line(step)]);
    assert!(rejects.is_empty());
    engine.wait(commit?, Ack::Durable)
}

fn times(engine: &Engine) -> Vec<i64> {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
    let seconds = |(time_ns, _)| time_ns / 1_000_000_000;
    sids.iter().flat_map(|&sid| read(&snapshot, sid, TimeRange::ALL)).map(seconds).collect()
}

#[test]
fn a_full_disk_refuses_and_resumes_by_itself() {
    for background in [true, false] {
        let disk = SimDisk::new(5);
        let engine = open(&disk, background);
        put(&engine, 1).unwrap();
        disk.fail_after(0, FaultKind::NoSpace { operations: 4 });
        let mut acknowledged = vec![1];
        let mut refused = 0;
        let end = Instant::now() + Duration::from_secs(20);
        let mut step = 2;
        while acknowledged.len() < 10 {
            assert!(Instant::now() < end, "writes did not resume");
            match put(&engine, step) {
                Ok(()) => acknowledged.push(step),
                Err(Error::NoSpace(_)) => refused += 1,
                Err(error) => panic!("{error}"),
            }
            step += 1;
        }
        assert!(refused > 0, "the disk was never full");
        engine.close().unwrap();
        drop(engine);
        let found = times(&open(&disk.crash(), false));
        let missing: Vec<_> = acknowledged.iter().filter(|step| !found.contains(step)).collect();
        assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
    }
}

#[test]
fn nothing_is_acknowledged_after_a_failed_sync() {
    for background in [true, false] {
        let disk = SimDisk::new(6);
        let engine = open(&disk, background);
        put(&engine, 1).unwrap();
        disk.fail_after(0, FaultKind::SyncError);
        let error = loop {
            match put(&engine, 2) {
                Ok(()) => {}
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::Poisoned(_)), "{error}");
        assert!(engine.progress().poisoned);
        for step in 3..6 {
            assert!(matches!(put(&engine, step), Err(Error::Poisoned(_))));
        }
        drop(engine);
        let engine = open(&disk.crash(), false);
        assert!(times(&engine).contains(&1));
        put(&engine, 7).unwrap();
    }
}

#[test]
fn a_directory_has_one_owner() {
    let disk = SimDisk::new(7);
    let engine = open(&disk, false);
    let config = Config { background: false, ..Config::default() };
    let second = Engine::open(Arc::new(disk.clone()), Path::new(DIR), config);
    assert!(matches!(second.map(|_| ()), Err(Error::Locked(_))));
    drop(engine);
    open(&disk, false);
}
