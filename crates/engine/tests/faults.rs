//! Disks that fail under a running store, with its threads on.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Caller, Commit, Config, Engine, Error, Work};
use foliot_model::TimeRange;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
fn a_wal_that_failed_is_a_trouble_as_soon_as_a_writer_was_told() {
    let disk = SimDisk::new(5);
    let engine = open(&disk, true);
    put(&engine, 1).unwrap();
    assert_eq!(engine.troubles(), []);
    disk.fail_after(1, FaultKind::SyncError);
    assert!(matches!(put(&engine, 2), Err(Error::Poisoned(_))));
    let troubles: Vec<Work> = engine.troubles().into_iter().map(|trouble| trouble.work).collect();
    assert_eq!(troubles, [Work::Wal]);
}

#[test]
fn a_full_disk_refuses_and_resumes_by_itself() {
    let disk = SimDisk::new(5);
    let engine = open(&disk, false);
    put(&engine, 1).unwrap();
    disk.fail_after(0, FaultKind::NoSpace { operations: 4 });
    let mut acknowledged = vec![1];
    let mut refused = 0;
    for step in 2.. {
        match put(&engine, step) {
            Ok(()) => acknowledged.push(step),
            Err(Error::NoSpace { .. }) => refused += 1,
            Err(error) => panic!("{error}"),
        }
        assert!(step < 100, "writes did not resume");
        if acknowledged.len() == 10 {
            break;
        }
    }
    assert!(refused > 0, "the disk was never full");
    engine.close().unwrap();
    drop(engine);
    let found = times(&open(&disk.crash(), false));
    let missing: Vec<_> = acknowledged.iter().filter(|step| !found.contains(step)).collect();
    assert!(missing.is_empty(), "acknowledged and lost: {missing:?}");
}

/// What many writers are told while the disk is full must be what becomes of their samples: those
/// that were taken wait, those that are refused are never stored.
#[test]
fn no_sample_is_refused_for_want_of_space_and_stored() {
    let (mut refusals, mut waits) = (0, 0);
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let engine = open(&disk, true);
        put(&engine, 0).unwrap();
        disk.fail_after(seed % 5 + 1, FaultKind::NoSpace { operations: 2 });
        let (acknowledged, refused) = (Mutex::new(vec![0]), Mutex::new(Vec::new()));
        std::thread::scope(|scope| {
            for writer in 0..8 {
                let (engine, acknowledged, refused) = (&engine, &acknowledged, &refused);
                scope.spawn(move || {
                    for step in 1..=30 {
                        let step = step * 8 + writer;
                        match put(engine, step) {
                            Ok(()) => acknowledged.lock().unwrap().push(step),
                            Err(Error::NoSpace { .. }) => {
                                refused.lock().unwrap().push(step);
                                std::thread::sleep(Duration::from_millis(20));
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        let (acknowledged, refused) =
            (acknowledged.into_inner().unwrap(), refused.into_inner().unwrap());
        put(&engine, 9999).unwrap();
        let live = times(&engine);
        engine.close().unwrap();
        drop(engine);
        for found in [live, times(&open(&disk.crash(), false))] {
            let stored: Vec<_> = refused.iter().filter(|step| found.contains(step)).collect();
            assert!(stored.is_empty(), "seed {seed}: refused and stored: {stored:?}");
            let lost: Vec<_> = acknowledged.iter().filter(|step| !found.contains(step)).collect();
            assert!(lost.is_empty(), "seed {seed}: acknowledged and lost: {lost:?}");
        }
        refusals += refused.len();
        waits += disk.strikes();
    }
    assert!(refusals > 0 && waits > 0, "the disk was never full");
}

/// Rows of many series, so that they take room.
fn lines(step: i64) -> Vec<Line> {
    let line = |host| Line {
        key: format!("m host=h{host}"),
        time_ns: step * 1_000_000_000,
        fields: vec![("a".to_owned(), Owned::Integer((step * 7919 + host) * 104_729))],
    };
    (0..1000).map(line).collect()
}

#[test]
fn a_disk_filled_by_the_wal_recovers_by_a_flush() {
    for background in [true, false] {
        let disk = SimDisk::new(9);
        disk.resize(8 << 20);
        let config = Config { background, wal_reserve_bytes: 1 << 20, ..Config::default() };
        let engine = Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap();
        let mut acknowledged = 0;
        // Four times what the disk holds of wal.
        for step in 0..4000 {
            let mut tries = 0;
            let commit = loop {
                match write(&engine, 0, &lines(step)).0 {
                    Ok(commit) => break commit,
                    Err(Error::NoSpace { .. }) if background => {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    // Without threads nobody else does it.
                    Err(Error::NoSpace { .. }) => engine.flush().unwrap(),
                    Err(error) => panic!("{error}"),
                }
                tries += 1;
                assert!(tries < 1500, "step {step}: writes did not resume");
            };
            engine.wait(commit, Ack::Os).unwrap();
            disk.advance(1_000_000);
            acknowledged += 1000;
            if !background && engine.stats().wal_bytes > 2 << 20 && step % 64 == 63 {
                engine.merge_all().unwrap();
            }
        }
        assert!(engine.stats().flushes > 0);
        engine.close().unwrap();
        drop(engine);
        let engine = open(&disk.crash(), false);
        assert_eq!(times(&engine).len(), acknowledged);
    }
}

#[test]
fn deletes_are_accepted_from_the_reserve() {
    let disk = SimDisk::new(10);
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap();
    put(&engine, 1).unwrap();
    disk.resize(8 << 20);
    disk.advance(2_000_000_000);
    while put(&engine, 2).is_ok() {}
    assert!(engine.stats().lacks_space);
    assert!(matches!(put(&engine, 3), Err(Error::NoSpace { .. })));
    let (deleted, commit) =
        engine.delete(&selector(0, "m"), TimeRange::ALL, &Caller::default()).unwrap();
    assert!(deleted.samples > 0);
    engine.wait(commit, Ack::Durable).unwrap();
    engine.catalog_put("note", "key", b"fact").unwrap();
    // Space comes back.
    disk.resize(1 << 30);
    put(&engine, 4).unwrap();
    assert_eq!(times(&engine), [4]);
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

/// Many requests wait for one sync, which fails; the next one would succeed, as on Linux, where the
/// kernel has given the bytes up by then.
#[test]
fn a_failed_sync_acknowledges_none_of_many_waiters() {
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let engine = open(&disk, true);
        put(&engine, 0).unwrap();
        disk.fail_after(3, FaultKind::SyncError);
        let acknowledged = Mutex::new(vec![0]);
        std::thread::scope(|scope| {
            for writer in 0..16 {
                let (engine, acknowledged) = (&engine, &acknowledged);
                scope.spawn(move || {
                    for step in 1.. {
                        let step = step * 16 + writer;
                        let (commit, _) = write(engine, 0, &[line(step)]);
                        match commit.and_then(|commit| engine.wait(commit, Ack::Durable)) {
                            Ok(()) => acknowledged.lock().unwrap().push(step),
                            Err(Error::Poisoned(_)) => break,
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
        });
        assert!(engine.progress().poisoned);
        let safe = engine.progress().durable_lsn;
        assert!(engine.wait(Commit::at(0), Ack::Memory).is_err(), "nothing is acknowledged");
        let _ = engine.close();
        assert_eq!(engine.progress().durable_lsn, safe, "a failed sync was tried again");
        drop(engine);
        let found = times(&open(&disk.crash(), false));
        let acknowledged = acknowledged.into_inner().unwrap();
        let missing: Vec<_> = acknowledged.iter().filter(|step| !found.contains(step)).collect();
        assert!(missing.is_empty(), "seed {seed}: acknowledged and lost: {missing:?}");
    }
}

#[test]
fn a_writer_whose_sync_failed_leaves_the_disk_alone() {
    for background in [true, false] {
        let disk = SimDisk::new(8);
        let engine = open(&disk, background);
        put(&engine, 1).unwrap();
        for sync in 1..10_000 {
            disk.fail_after(sync, FaultKind::SyncError);
        }
        assert!(matches!(put(&engine, 2), Err(Error::Poisoned(_))));
        for step in 3..100 {
            assert!(matches!(put(&engine, step), Err(Error::Poisoned(_))));
        }
        assert!(engine.close().is_err());
        assert_eq!(disk.strikes(), 1, "the sync that failed is the last one");
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
