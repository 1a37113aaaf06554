//! Epochs through the store: what a new one must not change, and what it must.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Config, Engine, Listed, RetentionRule, SymbolKind};
use foliot_model::TimeRange;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const SECOND: i64 = 1_000_000_000;

fn open(disk: &SimDisk) -> Engine {
    let config = Config {
        background: false,
        index_active_window: Duration::ZERO,
        epoch_dead_min: 100,
        ..Config::default()
    };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, Path::new("store"), config).unwrap()
}

/// Hosts report once, at a second.
fn report(engine: &Engine, hosts: std::ops::Range<i64>, second: i64) {
    let line = |host: i64| Line {
        key: format!("m host=h{host:05}"),
        time_ns: second * SECOND,
        fields: vec![("v".to_owned(), Owned::Integer(host * 1000 + second))],
    };
    let lines: Vec<Line> = hosts.map(line).collect();
    let (commit, rejects) = write(engine, 0, &lines);
    assert_eq!(rejects, []);
    engine.wait(commit.unwrap(), Ack::Os).unwrap();
}

/// All samples by host.
fn all(engine: &Engine, range: TimeRange) -> Vec<(String, Vec<i64>)> {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, "m"), range).unwrap();
    let mut found: Vec<_> = sids
        .into_iter()
        .map(|sid| {
            let identity = snapshot.identity(sid).unwrap().unwrap();
            let seconds = read(&snapshot, sid, range).into_iter().map(|(t, _)| t / SECOND);
            (identity.labels.get("host").unwrap().to_string(), seconds.collect())
        })
        .collect();
    found.sort();
    found
}

fn hosts(engine: &Engine) -> Vec<String> {
    let what = Listed::LabelValues(Some("host".to_owned()));
    let everything = foliot_model::Selector { names: Vec::new(), ..selector(0, "m") };
    engine.snapshot().list(&what, &everything, "h", 0, 1 << 20).unwrap()
}

#[test]
fn quiet_series_leave_memory_and_are_found_on_disk() {
    let disk = SimDisk::new(3);
    let mut engine = open(&disk);
    let mut memory = 0;
    // Every second other hosts report, but for ten that always do.
    for second in 0..40 {
        report(&engine, 0..10, second);
        report(&engine, 10 + second * 50..60 + second * 50, second);
        engine.flush().unwrap();
        while engine.maintain().unwrap() {}
        memory = memory.max(engine.stats().series);
        if second % 7 == 6 {
            engine.close().unwrap();
            drop(engine);
            engine = open(&disk);
        }
    }
    let stats = engine.stats();
    assert!(stats.epochs > 3, "{stats:?}");
    assert!(memory < 600, "{memory} series in memory, of 2010");
    let found = all(&engine, TimeRange::ALL);
    assert_eq!(found.len(), 2010);
    for (host, seconds) in &found {
        let number: i64 = host[1..].parse().unwrap();
        match number {
            0..10 => assert!(seconds.iter().copied().eq(0..40), "{host}: {seconds:?}"),
            _ => assert_eq!(seconds, &[(number - 10) / 50], "{host}"),
        }
    }
    // A short range names no series that only old epochs have.
    let last = all(&engine, TimeRange::new(39 * SECOND, 39 * SECOND));
    assert!(last.len() < 600, "{} series for the last second", last.len());
    assert_eq!(last.iter().filter(|(_, seconds)| seconds == &[39]).count(), 60);
    assert_eq!(hosts(&engine).len(), 2010);
    assert_eq!(hosts(&engine)[1234], "h01234");
}

#[test]
fn quiet_series_give_their_memory_back_within_an_epoch() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    let fixed = |engine: &Engine| engine.stats().head_fixed_bytes;
    // Three pages of the head; the first one goes quiet.
    report(&engine, 0..3000, 1);
    engine.flush().unwrap();
    let page = fixed(&engine) / 3;
    for second in 2..5 {
        report(&engine, 1100..3000, second);
        engine.flush().unwrap();
    }
    assert_eq!((fixed(&engine), engine.stats().epochs), (2 * page, 1));
    let last = |host: i64| {
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
        let sample = snapshot.last(sids[host as usize]).unwrap().unwrap();
        (sample.times_ns[0] / SECOND, sample.values.get(0).map(Owned::of))
    };
    assert_eq!(last(7), (1, Some(Owned::Integer(7001))));
    // Some come back late, and then in order.
    report(&engine, 0..10, 0);
    assert_eq!(fixed(&engine), 3 * page);
    assert_eq!(last(7), (1, Some(Owned::Integer(7001))));
    report(&engine, 0..10, 6);
    assert_eq!(last(7), (6, Some(Owned::Integer(7006))));
    assert_eq!(last(50), (1, Some(Owned::Integer(50_001))));
    let found = all(&engine, TimeRange::ALL);
    assert_eq!(found[7], ("h00007".to_owned(), vec![0, 1, 6]));
    assert_eq!(found[1100], ("h01100".to_owned(), vec![1, 2, 3, 4]));
}

#[test]
fn samples_of_all_epochs_are_one_series_and_the_newest_wins() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    let write_value = |second: i64, value: i64| {
        let fields = vec![("v".to_owned(), Owned::Integer(value))];
        let line = Line { key: "m host=a".to_owned(), time_ns: second * SECOND, fields };
        assert_eq!(write(&engine, 0, &[line]).1, []);
    };
    let values = || {
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
        assert_eq!(sids.len(), 1);
        let last = snapshot.last(sids[0]).unwrap().unwrap();
        (read(&snapshot, sids[0], TimeRange::ALL), last.times_ns[0] / SECOND)
    };
    write_value(10, 1);
    write_value(20, 1);
    let uid = |engine: &Engine| {
        engine.snapshot().symbol_id(SymbolKind::LabelValue, "a").unwrap().unwrap()
    };
    let number = uid(&engine);
    engine.begin_epoch().unwrap();
    // In the new epoch: an update, a late sample, and nothing newer.
    write_value(10, 2);
    write_value(5, 2);
    for _ in 0..3 {
        let expected: Vec<_> =
            [(5, 2), (10, 2), (20, 1)].map(|(t, v)| (t * SECOND, Owned::Integer(v))).to_vec();
        assert_eq!(values(), (expected, 20));
        assert_eq!(uid(&engine), number);
        let snapshot = engine.snapshot();
        let sid = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap()[0];
        let labels = snapshot.numbers(sid).unwrap().unwrap().labels;
        assert_eq!(labels.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [number]);
        let name = engine.snapshot().symbol_name(SymbolKind::LabelValue, number).unwrap();
        assert_eq!(name.as_deref(), Some("a"));
        engine.begin_epoch().unwrap();
    }
    assert_eq!(engine.stats().epochs, 5);
    // A name that was gone for longer than an epoch may get another number; the old one still
    // leads to it.
    write_value(30, 3);
    assert_eq!(values().1, 30);
    let name = engine.snapshot().symbol_name(SymbolKind::LabelValue, number).unwrap();
    assert_eq!(name.as_deref(), Some("a"));
}

#[test]
fn classes_given_just_before_an_epoch_leaves_memory_are_no_damage() {
    let disk = SimDisk::new(6);
    let engine = open(&disk);
    report(&engine, 0..10, 1);
    engine.begin_epoch().unwrap();
    report(&engine, 0..10, 2);
    engine.flush().unwrap();
    engine.flush().unwrap();
    let keep = Some(Duration::from_secs(1 << 31));
    let rule = RetentionRule { measurement: "m".to_owned(), labels: Vec::new(), keep };
    assert_eq!(engine.set_retention_rules(vec![rule]).unwrap(), 20);
    while engine.maintain().unwrap() {}
    let names = disk.list(Path::new("store")).unwrap();
    assert!(names.iter().any(|name| name.starts_with("segment-")), "{names:?}");
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk);
    assert_eq!(engine.damages(), [""; 0]);
    assert_eq!(all(&engine, TimeRange::ALL).len(), 10);
}

#[test]
fn an_epoch_without_series_is_no_damage() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    for _ in 0..3 {
        engine.begin_epoch().unwrap();
    }
    engine.close().unwrap();
    drop(engine);
    assert_eq!(open(&disk).damages(), [""; 0]);
}
