//! A log that holds more than memory may is taken in by pieces, as if it had been flushed.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Caller, Config, Engine, Opening, RetentionRule};
use foliot_model::TimeRange;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DIR: &str = "store";
const SECOND: i64 = 1_000_000_000;
const MEASUREMENTS: usize = 8;
/// What memory may hold when the store is opened again.
const SMALL: u64 = 8 << 10;

/// What is to be read: by measurement and time.
type Truth = BTreeMap<(usize, i64), Owned>;

fn config(head_bytes_max: u64) -> Config {
    Config { background: false, head_bytes_max, ..Config::default() }
}

fn open(disk: &SimDisk, config: Config) -> Engine {
    Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap()
}

fn name(number: usize) -> String {
    format!("m{number}")
}

/// Writes some samples of each measurement, which no code makes small.
fn put(engine: &Engine, truth: &mut Truth, from: i64, seed: u64) {
    let mut bits = seed;
    let mut lines = Vec::new();
    for number in 0..MEASUREMENTS {
        for step in 0..64 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let value = Owned::Float((bits >> 12) | 0x3ff0_0000_0000_0000);
            let time_ns = (from + step) * SECOND;
            truth.insert((number, time_ns), value.clone());
            let fields = vec![("value".to_owned(), value)];
            lines.push(Line { key: name(number), time_ns, fields });
        }
    }
    let (written, rejects) = write(engine, 0, &lines);
    written.unwrap();
    assert!(rejects.is_empty(), "{rejects:?}");
}

fn delete(engine: &Engine, truth: &mut Truth, number: usize, from: i64, to: i64) {
    let range = TimeRange::new(from * SECOND, to * SECOND);
    engine.delete(&selector(0, &name(number)), range, &Caller::default()).unwrap();
    truth.retain(|(own, time_ns), _| *own != number || !range.contains(*time_ns));
}

/// A life whose log has far more than memory is to hold later: with values written over, deletes
/// and a drop in between.
fn live(disk: &SimDisk, has_parts: bool) -> Truth {
    let engine = open(disk, config(1 << 30));
    let mut truth = Truth::new();
    for round in 0..12 {
        put(&engine, &mut truth, round * 32, 7 + round as u64);
        if has_parts && round == 0 {
            engine.flush().unwrap();
        }
        match round {
            3 => delete(&engine, &mut truth, 1, 0, 100),
            5 => {
                engine.drop_series(&selector(0, &name(2)), &Caller::default()).unwrap();
                truth.retain(|(number, _), _| *number != 2);
            }
            8 => delete(&engine, &mut truth, 1, 50, 200),
            9 => delete(&engine, &mut truth, 3, 0, 10_000),
            _ => {}
        }
    }
    engine.wait(engine.written(), Ack::Durable).unwrap();
    assert!(engine.stats().head_bytes > 4 * SMALL, "{}", engine.stats().head_bytes);
    truth
}

fn check(engine: &Engine, truth: &Truth) {
    let snapshot = engine.snapshot();
    for number in 0..MEASUREMENTS {
        let sids = snapshot.select(&selector(0, &name(number)), TimeRange::ALL).unwrap();
        let found = sids.into_iter().flat_map(|sid| read(&snapshot, sid, TimeRange::ALL));
        let found: BTreeMap<i64, Owned> = found.collect();
        let wanted = truth.iter().filter(|((own, _), _)| *own == number);
        let wanted: BTreeMap<i64, Owned> =
            wanted.map(|((_, time_ns), value)| (*time_ns, value.clone())).collect();
        assert_eq!(found, wanted, "measurement {number}");
    }
}

#[test]
fn a_log_that_is_more_than_memory_may_hold_is_taken_in_by_pieces() {
    for has_parts in [false, true] {
        let disk = SimDisk::new(1);
        let truth = live(&disk, has_parts);
        let disk = disk.kill();
        let (opening, dir) = (Opening::default(), Path::new(DIR));
        let disk_of = Arc::new(disk.clone());
        let engine = Engine::open_telling(disk_of, dir, config(SMALL), &opening).unwrap();
        assert!(engine.damages().is_empty(), "{:?}", engine.damages());
        let replay = opening.replay();
        assert_eq!(replay.read_bytes, replay.total_bytes, "the pieces are one to who waits");
        assert_eq!(replay.total_bytes, engine.read_again().bytes);
        // One frame more than it may hold.
        let stats = engine.stats();
        assert!(stats.head_bytes < 3 * SMALL && stats.parts > 2, "{stats:?}");
        check(&engine, &truth);
        drop(engine);
        // And again, from what that left.
        let disk = disk.crash();
        let engine = open(&disk, config(1 << 30));
        check(&engine, &truth);
        engine.flush().unwrap();
        engine.merge_all().unwrap();
        check(&engine, &truth);
    }
}

#[test]
fn the_power_may_fail_at_any_operation_of_that() {
    let mut crashes = 0;
    for operation in 1..400 {
        let disk = SimDisk::new(operation);
        let truth = live(&disk, operation % 2 == 0);
        let disk = disk.kill();
        disk.fail_after(operation, FaultKind::Crash);
        let opened = Engine::open(Arc::new(disk.clone()), Path::new(DIR), config(SMALL));
        if !disk.is_dead() {
            break;
        }
        assert!(opened.is_err());
        crashes += 1;
        let disk = disk.crash();
        let head_bytes_max = if operation % 3 == 0 { 1 << 30 } else { SMALL };
        let engine = open(&disk, config(head_bytes_max));
        check(&engine, &truth);
    }
    assert!(crashes > 30, "{crashes}");
}

#[test]
fn a_full_disk_takes_all_of_the_log_into_memory_and_starts() {
    let disk = SimDisk::new(3);
    let truth = live(&disk, false);
    let disk = disk.kill();
    let names = disk.list(Path::new(DIR)).unwrap();
    let open_file = |name: String| disk.open(&Path::new(DIR).join(name)).map(|file| file.len());
    let taken: u64 = names.into_iter().filter_map(|name| open_file(name).ok()).sum();
    disk.resize(taken + 1000);
    let engine = open(&disk, config(SMALL));
    let told = engine.notes().iter().filter(|note| note.contains("could not be written out"));
    assert_eq!(told.count(), 1, "{:?}", engine.notes());
    check(&engine, &truth);
    disk.resize(1 << 30);
    engine.flush().unwrap();
    check(&engine, &truth);
    assert!(engine.stats().head_bytes < SMALL);
}

#[test]
fn no_piece_ends_before_a_change_of_classes() {
    let disk = SimDisk::new(4);
    let engine = open(&disk, config(1 << 30));
    let mut truth = Truth::new();
    for round in 0..4 {
        put(&engine, &mut truth, round * 32, round as u64);
    }
    let keep = Some(Duration::from_secs(100 * 365 * 86_400));
    let rule = RetentionRule { measurement: "m1".to_owned(), labels: Vec::new(), keep };
    engine.set_retention_rules(vec![rule.clone()]).unwrap();
    for round in 0..8 {
        put(&engine, &mut truth, round * 32, 100 + round as u64);
    }
    engine.wait(engine.written(), Ack::Durable).unwrap();
    drop(engine);
    let config = Config { retention_rules: vec![rule], ..config(SMALL) };
    let engine = open(&disk.kill(), config);
    let stats = engine.stats();
    assert!(stats.head_bytes < 3 * SMALL && stats.parts > 1, "{stats:?}");
    check(&engine, &truth);
    engine.flush().unwrap();
    let unmerged = engine.unmerged_bytes();
    assert!(unmerged > 0 && unmerged <= engine.stats().part_bytes, "{unmerged}");
    engine.merge_all().unwrap();
    assert_eq!(engine.unmerged_bytes(), 0);
    check(&engine, &truth);
}
