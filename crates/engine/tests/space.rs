//! Disk space returns after deletes and after retention, measured on real files.

use crate::support;
use crate::support::{Line, Owned, selector, write};
use foliot_disk::{Disk, RealDisk, SimDisk};
use foliot_engine::{Ack, Caller, Config, Engine, Error, RetentionRule};
use foliot_model::{DEFAULT_NAMESPACE, Matcher, Selector, Test, TimeRange};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const MINUTE: i64 = 60_000_000_000;
const DAY: i64 = 1440 * MINUTE;
const HOSTS: i64 = 20;
const DAYS: i64 = 28;

fn open(dir: &Path) -> Engine {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::new());
    let config = Config { background: false, delete_deadline: Duration::ZERO, ..Config::default() };
    Engine::open(disk, dir, config).unwrap()
}

fn directory(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

/// What a file takes beside its samples, about, so that it can be mended: a sector of parity, and
/// the gap before it.
const FILE_BYTES: u64 = 4096 + 2048;

/// Bytes that samples take in the files of a directory.
fn bytes(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).unwrap().map(|file| file.unwrap());
    let parts = files.filter(|file| file.file_name().to_str().unwrap().ends_with(".part"));
    parts.map(|part| part.metadata().unwrap().len().saturating_sub(FILE_BYTES)).sum()
}

/// Four weeks of a random walk, a sample every ten minutes, of twenty hosts.
fn fill(engine: &Engine) -> i64 {
    let now_ns = RealDisk::new().now_ns();
    let start_ns = now_ns - DAYS * DAY;
    let mut state = 1u64;
    for day in 0..DAYS {
        let mut lines = Vec::new();
        for host in 0..HOSTS {
            for step in 0..144 {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                let value = Owned::Integer((state >> 44) as i64);
                lines.push(Line {
                    key: format!("m host=h{host}"),
                    time_ns: start_ns + day * DAY + step * 10 * MINUTE,
                    fields: vec![("value".to_owned(), value)],
                });
            }
        }
        write(engine, DEFAULT_NAMESPACE, &lines).0.unwrap();
        if day % 2 == 1 {
            engine.flush().unwrap();
        }
    }
    now_ns
}

fn host(host: i64) -> Selector {
    let mut selector = selector(DEFAULT_NAMESPACE, "m");
    selector.matchers.push(Matcher {
        name: "host".to_owned(),
        test: Test::equal(format!("h{host}")),
        negated: false,
        accepts_absent: false,
    });
    selector
}

fn settle(engine: &Engine) {
    while engine.maintain().unwrap() {}
}

/// What is left of `before` bytes, in percent of it.
fn percent(dir: &Path, before: u64) -> f64 {
    bytes(dir) as f64 * 100.0 / before as f64
}

#[test]
fn space_returns_after_a_delete() {
    let dir = directory("space-delete");
    let engine = open(&dir);
    fill(&engine);
    settle(&engine);
    let before = bytes(&dir);
    for number in 0..HOSTS / 2 {
        let (_, commit) = engine.delete(&host(number), TimeRange::ALL, &Caller::default()).unwrap();
        engine.wait(commit, Ack::Memory).unwrap();
    }
    settle(&engine);
    let left = percent(&dir, before);
    // Half of it is deleted: at least 95 % of that half must be free.
    assert!((40.0..=52.5).contains(&left), "{left} % are left");
    assert_eq!(engine.stats().tombstones, 0);
    engine.drop_series(&selector(DEFAULT_NAMESPACE, "m"), &Caller::default()).unwrap();
    settle(&engine);
    assert_eq!((bytes(&dir), engine.stats().series), (0, 0));
    drop(engine);
    let engine = open(&dir);
    let all = selector(DEFAULT_NAMESPACE, "m");
    assert_eq!(engine.snapshot().select(&all, TimeRange::ALL).unwrap(), []);
}

/// Samples that a selector sees.
fn visible(engine: &Engine) -> u64 {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, "m"), TimeRange::ALL).unwrap();
    sids.iter().map(|&sid| support::read(&snapshot, sid, TimeRange::ALL).len() as u64).sum()
}

/// Lets a store of three hosts live for a month of days, and tells its write amplification.
fn live(keep: Option<Duration>) -> f64 {
    let disk = SimDisk::new(7);
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(Arc::new(disk.clone()), Path::new("store"), config).unwrap();
    engine.set_retention(DEFAULT_NAMESPACE, keep, &Caller::default()).unwrap();
    for day in 0..31 {
        let start_ns = disk.now_ns() - DAY;
        for host in 0..3 {
            let line = |minute: i64| Line {
                key: format!("m host=h{host}"),
                time_ns: start_ns + minute * MINUTE,
                fields: vec![("value".to_owned(), Owned::Integer(minute * minute % 97))],
            };
            let lines: Vec<_> = (0..1440).map(line).collect();
            write(&engine, DEFAULT_NAMESPACE, &lines).0.unwrap();
        }
        engine.flush().unwrap();
        for _ in 0..4 {
            disk.advance(6 * 60 * MINUTE as u64);
            settle(&engine);
            let (kept, held) = (visible(&engine), engine.stats().part_samples);
            assert!(held * 20 <= kept * 21, "day {day}: {held} samples are held, {kept} kept");
        }
    }
    engine.stats().write_amplification()
}

#[test]
fn what_expires_day_by_day_is_soon_gone_and_not_written_again_and_again() {
    let (without, with) = (live(None), live(Some(Duration::from_secs(86_400 * 10))));
    // Once more, and small files have their price.
    assert!(with < without + 1.25, "{with}, {without} when all is kept");
}

#[test]
fn space_returns_after_retention() {
    let dir = directory("space-retention");
    let engine = open(&dir);
    let now_ns = fill(&engine);
    settle(&engine);
    let before = bytes(&dir);
    let keep = Duration::from_secs(86_400 * 7);
    engine.set_retention(DEFAULT_NAMESPACE, Some(keep), &Caller::default()).unwrap();
    settle(&engine);
    let left = percent(&dir, before);
    // A quarter is kept: at least 95 % of the rest must be free.
    assert!((20.0..=25.0 + 75.0 * 0.05).contains(&left), "{left} % are left");
    engine
        .set_retention(DEFAULT_NAMESPACE, Some(Duration::from_secs(60)), &Caller::default())
        .unwrap();
    settle(&engine);
    let newest = TimeRange::new(now_ns - DAY, i64::MAX);
    let sids = engine.snapshot().select(&selector(DEFAULT_NAMESPACE, "m"), newest).unwrap();
    assert!(sids.iter().all(|&sid| support::read(&engine.snapshot(), sid, newest).is_empty()));
    assert_eq!(bytes(&dir), 0);
}

/// What the log leaves free is as much as a flush needs, also where each request brings much and
/// little is kept beside: what is written between two looks at the disk counts.
#[test]
fn a_disk_that_is_filled_by_large_requests_has_room_for_a_flush() {
    // Also where nobody waits until what was taken is written, and it waits in memory.
    for (samples, waits) in [(5_i64, true), (40, true), (5, false), (40, false)] {
        let disk = SimDisk::new(11);
        disk.resize(9 << 20);
        let config = Config {
            background: false,
            head_bytes_max: 1 << 28,
            wal_reserve_bytes: 1 << 18,
            ..Config::default()
        };
        let engine = Engine::open(Arc::new(disk.clone()), Path::new("store"), config).unwrap();
        let mut state = 7u64;
        // Nothing that could be packed.
        let mut text = || {
            let letters = (0..8 << 10).map(|_| {
                state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                b'a' + (state >> 59) as u8 % 26
            });
            Owned::String(String::from_utf8(letters.collect()).unwrap())
        };
        let refused = (0..1000).find_map(|request| {
            let line = |at| Line {
                key: "m host=a".to_owned(),
                time_ns: request * samples + at,
                fields: vec![("text".to_owned(), text())],
            };
            let (written, rejects) =
                write(&engine, DEFAULT_NAMESPACE, &(0..samples).map(line).collect::<Vec<_>>());
            assert!(rejects.is_empty());
            written
                .and_then(|commit| engine.wait(commit, if waits { Ack::Os } else { Ack::Memory }))
                .err()
        });
        let Some(Error::NoSpace { free_bytes: Some(free), kept_bytes }) = refused else {
            panic!("{refused:?}")
        };
        // What comes to memory is asked for twice, and the log has it once more.
        let request_bytes = samples as u64 * (8 << 10);
        assert!(free + 6 * request_bytes > kept_bytes, "{free} of {kept_bytes} are free");
        engine.flush().unwrap();
        assert_eq!(engine.stats().parts, 1);
    }
}

/// A store that opens where less than the reserve is free takes no sample before somebody made
/// room; a delete it takes.
#[test]
fn a_disk_that_is_below_the_reserve_at_the_start_takes_no_sample() {
    const RESERVE_BYTES: u64 = 1 << 18;
    const ROOM_BYTES: u64 = 1 << 30;
    let disk = SimDisk::new(12);
    disk.resize(ROOM_BYTES);
    let line = |time_ns| Line {
        key: "m host=a".to_owned(),
        time_ns,
        fields: vec![("value".to_owned(), Owned::Integer(time_ns))],
    };
    let open = |retention_rules| {
        let config = Config {
            retention_rules,
            background: false,
            wal_reserve_bytes: RESERVE_BYTES,
            wal_spare_bytes: 0,
            ..Config::default()
        };
        Engine::open(Arc::new(disk.clone()), Path::new("store"), config).unwrap()
    };
    let engine = open(Vec::new());
    write(&engine, DEFAULT_NAMESPACE, &[line(1)]).0.unwrap();
    engine.close().unwrap();
    drop(engine);
    let taken = ROOM_BYTES - disk.free_bytes(Path::new("store")).unwrap();
    disk.resize(taken + RESERVE_BYTES / 2);

    // What opening it needs, such as other classes, may be taken from the reserve.
    let rule = RetentionRule { measurement: "m".to_owned(), labels: Vec::new(), keep: None };
    let engine = open(vec![rule.clone()]);
    let refused = write(&engine, DEFAULT_NAMESPACE, &[line(2)]).0.err();
    assert!(matches!(refused, Some(Error::NoSpace { .. })), "{refused:?}");
    let all = selector(DEFAULT_NAMESPACE, "m");
    let (_, commit) = engine.delete(&all, TimeRange::new(5, 6), &Caller::default()).unwrap();
    engine.wait(commit, Ack::Durable).unwrap();
    engine.close().unwrap();
    drop(engine);

    disk.resize(taken + RESERVE_BYTES * 2);
    let engine = open(vec![rule]);
    let (written, _) = write(&engine, DEFAULT_NAMESPACE, &[line(2)]);
    engine.wait(written.unwrap(), Ack::Durable).unwrap();
    assert_eq!(visible(&engine), 2);
}

/// Whoever looks at the disk first, the log's own thread looks again until there is room: also when
/// it slept, because all was written and synced.
#[test]
fn writes_resume_whoever_saw_that_the_disk_was_full() {
    const ROOM_BYTES: u64 = 1 << 30;
    let disk = SimDisk::new(12);
    disk.resize(ROOM_BYTES);
    let config = Config {
        wal_sync_interval: Duration::from_millis(1),
        wal_reserve_bytes: 1 << 18,
        ..Config::default()
    };
    let engine = Engine::open(Arc::new(disk.clone()), Path::new("store"), config).unwrap();
    let line = |time_ns| Line {
        key: "m host=a".to_owned(),
        time_ns,
        fields: vec![("value".to_owned(), Owned::Integer(time_ns))],
    };
    let (written, _) = write(&engine, DEFAULT_NAMESPACE, &[line(1)]);
    engine.wait(written.unwrap(), Ack::Durable).unwrap();
    // A flush would look as well, and there is nothing to flush.
    engine.flush().unwrap();
    // Until the log's thread has nothing to do.
    std::thread::sleep(Duration::from_millis(300));
    disk.resize(ROOM_BYTES - disk.free_bytes(Path::new("store")).unwrap());
    assert!(matches!(engine.check_space(), Err(Error::NoSpace { .. })));
    disk.resize(ROOM_BYTES);
    let is_taken = |_| {
        std::thread::sleep(Duration::from_millis(100));
        write(&engine, DEFAULT_NAMESPACE, &[line(2)]).0.is_ok()
    };
    assert!((0..200).any(is_taken), "{:?}", engine.check_space());
}

/// What was free a while ago says nothing of a disk that others fill, too: a write that is taken
/// there waits for room.
#[test]
fn the_first_write_on_a_disk_that_others_have_filled_is_refused() {
    let disk = SimDisk::new(13);
    disk.resize(1 << 30);
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(Arc::new(disk.clone()), Path::new("store"), config).unwrap();
    let put = |time_ns: i64| {
        let fields = vec![("value".to_owned(), Owned::Integer(time_ns))];
        let line = Line { key: "m".to_owned(), time_ns, fields };
        write(&engine, DEFAULT_NAMESPACE, &[line]).0
    };
    engine.wait(put(1).unwrap(), Ack::Durable).unwrap();
    disk.advance(2_000_000_000);
    disk.resize(1 << 20);
    let refused = put(2).unwrap_err();
    assert!(matches!(refused, Error::NoSpace { .. }), "{refused}");
    disk.advance(2_000_000_000);
    disk.resize(1 << 30);
    engine.wait(put(3).unwrap(), Ack::Durable).unwrap();
    let sids = engine.snapshot().select(&selector(DEFAULT_NAMESPACE, "m"), TimeRange::ALL).unwrap();
    let times = support::read(&engine.snapshot(), sids[0], TimeRange::ALL);
    assert!(times.iter().map(|(time_ns, _)| *time_ns).eq([1, 3]), "{times:?}");
}

/// Facts that are changed again and again fill the log, and nothing in memory. The log is given
/// back by flushes, for which room is kept.
#[test]
fn facts_leave_room_for_the_flush_that_gives_their_log_back() {
    const ROOM_BYTES: u64 = 8 << 20;
    let disk = SimDisk::new(12);
    disk.resize(ROOM_BYTES);
    let open = || {
        let config = Config {
            background: false,
            wal_reserve_bytes: 1 << 18,
            wal_spare_bytes: 0,
            ..Config::default()
        };
        Engine::open(Arc::new(disk.clone()), Path::new("store"), config).unwrap()
    };
    let engine = open();
    let fact = |number: u8| vec![number; 300 << 10];
    let (mut refused, mut last) = (0, 0);
    for number in 0..200 {
        match engine.catalog_put("saved", "board", &fact(number)) {
            Ok(commit) => {
                engine.wait(commit, Ack::Durable).unwrap();
                last = number;
            }
            Err(Error::NoSpace { .. }) => {
                refused += 1;
                // What makes room is small.
                let commit = engine.catalog_put("retention", "r", b"1d").unwrap();
                engine.wait(commit, Ack::Durable).unwrap();
                let commit = engine.catalog_delete("retention", "r").unwrap();
                engine.wait(commit, Ack::Durable).unwrap();
                engine.flush().unwrap();
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!((3..50).contains(&refused), "{refused}");
    engine.close().unwrap();
    drop(engine);
    let engine = open();
    assert_eq!(engine.catalog_get("saved", "board").unwrap()[..], fact(last)[..]);
}

/// Nobody else asks for the flush that gives the log back.
#[test]
fn facts_are_taken_again_once_their_log_is_given_back() {
    const ROOM_BYTES: u64 = 8 << 20;
    let disk = SimDisk::new(12);
    disk.resize(ROOM_BYTES);
    let config = Config { wal_reserve_bytes: 1 << 18, wal_spare_bytes: 0, ..Config::default() };
    let engine = Engine::open(Arc::new(disk.clone()), Path::new("store"), config).unwrap();
    for number in 0..200_u8 {
        let put = |_| {
            let put = engine.catalog_put("saved", "board", &vec![number; 300 << 10]);
            let is_put = put.and_then(|commit| engine.wait(commit, Ack::Os)).is_ok();
            if !is_put {
                std::thread::sleep(Duration::from_millis(50));
            }
            is_put
        };
        assert!((0..400).any(put), "{number}: {:?}", engine.check_space());
    }
    assert!(engine.stats().flushes > 0);
}

/// Where there is room, the log of facts has an end all the same.
#[test]
fn many_changes_of_a_fact_are_flushed() {
    let engine = Engine::open(Arc::new(SimDisk::new(12)), Path::new("store"), Config::default());
    let engine = engine.unwrap();
    for number in 0..100_u8 {
        let commit = engine.catalog_put("saved", "board", &vec![number; 640 << 10]).unwrap();
        engine.wait(commit, Ack::Os).unwrap();
    }
    let is_flushed = |_| {
        std::thread::sleep(Duration::from_millis(100));
        engine.stats().flushes > 0
    };
    assert!((0..200).any(is_flushed));
}
