//! What is deleted stays deleted, and no reader sees anything in its place meanwhile.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Caller, Config, Engine, Snapshot};
use foliot_model::{DEFAULT_NAMESPACE, TimeRange};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

fn open(disk: &SimDisk) -> Engine {
    let config = Config {
        background: false,
        merge_quiet: Duration::from_secs(1 << 30),
        delete_deadline: Duration::from_secs(60),
        ..Config::default()
    };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, Path::new("store"), config).unwrap()
}

fn put(engine: &Engine, key: &str, time_ns: i64, value: i64) {
    let fields = vec![("value".to_owned(), Owned::Integer(value))];
    write(engine, DEFAULT_NAMESPACE, &[Line { key: key.to_owned(), time_ns, fields }]).0.unwrap();
}

fn delete(engine: &Engine, measurement: &str, range: TimeRange) {
    let selector = selector(DEFAULT_NAMESPACE, measurement);
    engine.delete(&selector, range, &Caller::default()).unwrap();
}

/// The samples of all series of a measurement.
fn found(snapshot: &Snapshot, measurement: &str) -> Vec<(i64, Owned)> {
    let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, measurement), TimeRange::ALL).unwrap();
    sids.into_iter().flat_map(|sid| read(snapshot, sid, TimeRange::ALL)).collect()
}

#[test]
fn a_delete_whose_deadline_passed_takes_no_later_one_with_it() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    put(&engine, "kept", 1, 1);
    put(&engine, "gone", 1, 1);
    engine.flush().unwrap();
    put(&engine, "fleeting", 1, 1);
    delete(&engine, "fleeting", TimeRange::ALL);
    disk.advance(120_000_000_000);
    while engine.maintain().unwrap() {}
    delete(&engine, "gone", TimeRange::ALL);
    put(&engine, "other", 1, 1);
    engine.flush().unwrap();
    let check = |engine: &Engine| {
        assert_eq!(found(&engine.snapshot(), "gone"), []);
        assert_eq!(found(&engine.snapshot(), "kept"), [(1, Owned::Integer(1))]);
    };
    check(&engine);
    drop(engine);
    check(&open(&disk));
}

#[test]
fn a_snapshot_from_before_a_delete_shows_no_overwritten_value() {
    let disk = SimDisk::new(2);
    let engine = open(&disk);
    // Overwritten in a part, in what was flushed after the snapshot, and in the head.
    for (time_ns, flushes) in [(1, 2), (2, 1), (3, 0)] {
        put(&engine, "m", time_ns, 10);
        (0..flushes).for_each(|_| engine.flush().unwrap());
    }
    put(&engine, "m", 1, 20);
    put(&engine, "m", 2, 20);
    let in_head = engine.snapshot();
    let before_flush = engine.snapshot();
    engine.flush().unwrap();
    put(&engine, "m", 2, 30);
    put(&engine, "m", 3, 30);
    let after_flush = engine.snapshot();
    delete(&engine, "m", TimeRange::new(1, 3));
    put(&engine, "m", 3, 40);
    engine.flush().unwrap();
    engine.merge_all().unwrap();
    put(&engine, "m", 4, 50);
    let new = [(3, Owned::Integer(40)), (4, Owned::Integer(50))];
    for snapshot in [in_head, before_flush, after_flush, engine.snapshot()] {
        assert_eq!(found(&snapshot, "m"), new);
    }
}

#[test]
fn while_a_sample_is_deleted_readers_see_it_or_nothing() {
    let disk = SimDisk::new(3);
    let engine = Arc::new(open(&disk));
    let end = Arc::new(AtomicBool::new(false));
    let reads = Arc::new(AtomicU64::new(0));
    put(&engine, "m", 1, -1);
    engine.flush().unwrap();
    let sid = engine.snapshot().select(&selector(0, "m"), TimeRange::ALL).unwrap()[0];
    let readers: Vec<_> = (0..2)
        .map(|_| {
            let (engine, end, reads) = (engine.clone(), end.clone(), reads.clone());
            std::thread::spawn(move || {
                let mut newest = -1;
                while !end.load(Ordering::Relaxed) {
                    let snapshot = engine.snapshot();
                    for (_, value) in read(&snapshot, sid, TimeRange::ALL) {
                        let Owned::Integer(value) = value else { panic!("{value:?}") };
                        assert!(value >= newest, "{value} after {newest}");
                        newest = value;
                    }
                    reads.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for round in 1..1000 {
        // The overwritten value waits in a part, the new one in the head.
        put(&engine, "m", 1, 2 * round);
        engine.flush().unwrap();
        if round % 10 == 0 {
            engine.merge_all().unwrap();
        }
        put(&engine, "m", 1, 2 * round + 1);
        delete(&engine, "m", TimeRange::ALL);
    }
    end.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.join().unwrap();
    }
    assert!(reads.load(Ordering::Relaxed) > 0);
}

#[test]
fn the_last_sample_goes_with_a_delete_of_many_series() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    let fields = vec![("value".to_owned(), Owned::Integer(1))];
    for time_ns in [1, 2] {
        let line =
            |n: i32| Line { key: format!("many host=h{n}"), time_ns, fields: fields.clone() };
        let lines: Vec<Line> = (0..3000).map(line).collect();
        write(&engine, DEFAULT_NAMESPACE, &lines).0.unwrap();
    }
    delete(&engine, "many", TimeRange::new(2, 2));
    let last = |expected: &[i64]| {
        let snapshot = engine.snapshot();
        for sid in snapshot.select(&selector(0, "many"), TimeRange::ALL).unwrap() {
            let last = snapshot.last(sid).unwrap().unwrap();
            assert_eq!(last.times_ns, expected);
        }
    };
    last(&[1]);
    engine.flush().unwrap();
    last(&[1]);
    put(&engine, "many host=h7", 5, 5);
    delete(&engine, "many", TimeRange::new(5, 9));
    last(&[1]);
}

#[test]
fn while_the_newest_sample_is_deleted_the_last_one_is_it_or_the_one_before() {
    let disk = SimDisk::new(4);
    let engine = Arc::new(open(&disk));
    let end = Arc::new(AtomicBool::new(false));
    put(&engine, "m", 1, 1);
    engine.flush().unwrap();
    let sid = engine.snapshot().select(&selector(0, "m"), TimeRange::ALL).unwrap()[0];
    let reader = {
        let (engine, end) = (engine.clone(), end.clone());
        std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let last = engine.snapshot().last(sid).unwrap();
                let time_ns = last.and_then(|last| last.times_ns.last().copied());
                assert!(matches!(time_ns, Some(1..=10)), "{time_ns:?}");
            }
        })
    };
    for _ in 0..4_000 {
        // Late ones too, so that the head does not know the last one by itself.
        (2..=10).rev().for_each(|time_ns| put(&engine, "m", time_ns, 2));
        delete(&engine, "m", TimeRange::new(2, 10));
        if reader.is_finished() {
            break;
        }
    }
    end.store(true, Ordering::Relaxed);
    reader.join().unwrap();
}

#[test]
fn a_preview_counts_what_would_go_once_and_stops_when_it_is_told() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    for host in 0..50 {
        for time_ns in 0..4 {
            put(&engine, &format!("m h={host}"), time_ns, 1);
        }
        if host == 24 {
            engine.flush().unwrap();
        }
    }
    put(&engine, "n", 1, 1);
    let of = |measurement, first, last| {
        (selector(DEFAULT_NAMESPACE, measurement), TimeRange::new(first, last))
    };
    let always = || true;
    let told = |doomed: &[_]| {
        let told = engine.preview_delete(doomed, &always).unwrap();
        (told.series, told.samples)
    };
    assert_eq!(told(&[of("m", 0, 1)]), (50, 100));
    assert_eq!(told(&[of("m", 0, 1), of("m", 1, 2)]), (50, 150), "an instant counts once");
    assert_eq!(told(&[of("m", 0, 0), of("m", 3, 3)]), (50, 100), "a series counts once");
    assert_eq!(told(&[of("m", 9, 9), of("n", 0, 9)]), (1, 1));
    assert_eq!(told(&[]), (0, 0));
    // Series without samples in range are dropped as well.
    delete(&engine, "n", TimeRange::ALL);
    let both = [selector(DEFAULT_NAMESPACE, "m"), selector(DEFAULT_NAMESPACE, "n")];
    let dropped = engine.preview_drop_series(&both, &always).unwrap();
    assert_eq!((dropped.series, dropped.samples), (51, 200));
    let all = engine.preview_drop_namespace(DEFAULT_NAMESPACE, &always).unwrap();
    assert_eq!((all.series, all.samples), (51, 200));
    // Told to stop, it looks at no further series.
    let asked = AtomicU64::new(0);
    let ten_times = || asked.fetch_add(1, Ordering::Relaxed) < 10;
    let stopped = engine.preview_delete(&[of("m", 0, 9)], &ten_times);
    assert!(matches!(stopped, Err(foliot_engine::Error::Stopped)), "{stopped:?}");
    assert_eq!(asked.load(Ordering::Relaxed), 11);
    assert_eq!(found(&engine.snapshot(), "m").len(), 200, "nothing has gone");
}

#[test]
fn memory_of_what_was_deleted_is_given_back() {
    for begins_epoch in [false, true] {
        let disk = SimDisk::new(9);
        let engine = open(&disk);
        (0..300).for_each(|step| put(&engine, &format!("gone host={}", step % 100), step, step));
        delete(&engine, "gone", TimeRange::ALL);
        assert!(engine.stats().head_bytes > 0, "else there is nothing to be given back");
        match begins_epoch {
            true => engine.begin_epoch().unwrap(),
            false => engine.flush().unwrap(),
        }
        assert_eq!(engine.stats().head_bytes, 0);
        put(&engine, "kept", 1, 1);
        assert_eq!(found(&engine.snapshot(), "kept"), [(1, Owned::Integer(1))]);
    }
}

/// The measurements that are listed.
fn listed(engine: &Engine) -> Vec<String> {
    let all = foliot_model::Selector { names: Vec::new(), ..selector(DEFAULT_NAMESPACE, "m") };
    let listed = foliot_engine::Listed::Measurements;
    engine.snapshot().list(&listed, &all, "", 0, usize::MAX).unwrap()
}

#[test]
fn a_series_goes_with_its_last_sample_and_takes_none_with_it() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    let empty = |engine: &Engine, measurement: &str, range: TimeRange| {
        let (selector, caller) = (selector(DEFAULT_NAMESPACE, measurement), Caller::default());
        engine.delete_with_names_while(&selector, range, &caller, &|| true).unwrap();
    };
    // In parts and in the head; some of one are left.
    for flushes in [true, false] {
        for key in ["m host=a", "kept host=a"] {
            put(&engine, key, 1 + i64::from(flushes), 1);
        }
        put(&engine, "kept host=a", 9, 1);
        if flushes {
            engine.flush().unwrap();
        }
    }
    empty(&engine, "m", TimeRange::new(0, 5));
    empty(&engine, "kept", TimeRange::new(0, 5));
    let check = |engine: &Engine| {
        assert_eq!(listed(engine), ["kept"]);
        assert_eq!(found(&engine.snapshot(), "kept"), [(9, Owned::Integer(1))]);
    };
    check(&engine);
    drop(engine);
    let engine = open(&disk);
    check(&engine);
    // What a crash left without samples goes when all is deleted once more.
    put(&engine, "left host=a", 1, 1);
    engine
        .delete(&selector(DEFAULT_NAMESPACE, "left"), TimeRange::ALL, &Caller::default())
        .unwrap();
    assert_eq!(listed(&engine), ["kept", "left"]);
    empty(&engine, "left", TimeRange::ALL);
    check(&engine);
    // Who writes while it is emptied loses nothing of what is not deleted.
    let writes = 300;
    std::thread::scope(|scope| {
        let engine = &engine;
        let writer = scope.spawn(move || {
            for at in 0..writes {
                put(engine, "m host=a", 3, at);
                put(engine, "m host=a", 100 + at, at);
            }
        });
        while !writer.is_finished() {
            put(engine, "m host=b", 3, 0);
            empty(engine, "m", TimeRange::new(0, 5));
        }
    });
    empty(&engine, "m", TimeRange::new(0, 5));
    let all: Vec<_> = (0..writes).map(|at| (100 + at, Owned::Integer(at))).collect();
    assert_eq!(found(&engine.snapshot(), "m"), all);
    drop(engine);
    assert_eq!(found(&open(&disk).snapshot(), "m"), all);
}
