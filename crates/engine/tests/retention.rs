//! Retention: old samples are gone for readers at once and from the disk soon, and nothing half
//! lost comes back.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Caller, Config, Deleted, Engine, FIELD_RETENTION, RetentionRule};
use foliot_model::{DEFAULT_NAMESPACE, Matcher, Selector, Test, TimeRange};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DAY: i64 = 86_400_000_000_000;
const HOST: &str = "m host=a";

fn days(count: u64) -> Option<Duration> {
    Some(Duration::from_secs(86_400 * count))
}

fn open(disk: &SimDisk, change: impl Fn(&mut Config)) -> Engine {
    // Without merges, to see what retention does by itself.
    let never = Duration::from_secs(1 << 30);
    let mut config = Config {
        background: false,
        merge_parts: usize::MAX,
        merge_quiet: never,
        ..Config::default()
    };
    change(&mut config);
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, Path::new("store"), config).unwrap()
}

fn line(key: &str, time_ns: i64, value: i64) -> Line {
    Line { key: key.to_owned(), time_ns, fields: vec![("value".to_owned(), Owned::Integer(value))] }
}

/// Writes one sample for each of the days before `now_ns`, and tells how many were refused.
fn write_days(engine: &Engine, key: &str, now_ns: i64, days: std::ops::Range<i64>) -> usize {
    let lines: Vec<Line> = days.map(|day| line(key, now_ns - day * DAY, day)).collect();
    let (_, rejects) = write(engine, DEFAULT_NAMESPACE, &lines);
    assert!(rejects.iter().all(|reject| reject.field == FIELD_RETENTION));
    rejects.len()
}

/// How many days ago the samples of all series of a measurement are.
fn found(engine: &Engine, measurement: &str, now_ns: i64) -> Vec<i64> {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, measurement), TimeRange::ALL).unwrap();
    let mut found = Vec::new();
    for sid in sids {
        let samples = read(&snapshot, sid, TimeRange::ALL);
        let last = snapshot.last(sid).unwrap();
        let last = last.and_then(|last| last.iter().last().map(|(time_ns, _)| time_ns));
        assert_eq!(last, samples.last().map(|(time_ns, _)| *time_ns));
        found.extend(samples.iter().map(|(time_ns, _)| (now_ns - time_ns) / DAY));
    }
    found.sort_unstable();
    found
}

#[test]
fn a_shorter_retention_hides_at_once_and_a_longer_one_brings_nothing_lost_back() {
    let disk = SimDisk::new(1);
    let now_ns = disk.now_ns();
    let engine = open(&disk, |_| {});
    for day in (0..60).rev() {
        // Day by day, each with a value of its own for the oldest day: parts with updates.
        write_days(&engine, HOST, now_ns, day..day + 1);
        write(&engine, 0, &[line(HOST, now_ns - 59 * DAY, 100 + day)]).0.unwrap();
        engine.flush().unwrap();
    }
    assert_eq!(found(&engine, "m", now_ns).len(), 60);
    engine.set_retention(DEFAULT_NAMESPACE, days(20), &Caller::default()).unwrap();
    assert_eq!(engine.retention(DEFAULT_NAMESPACE), days(20));
    assert_eq!(found(&engine, "m", now_ns), (0..=20).collect::<Vec<_>>(), "at once");
    assert_eq!(write_days(&engine, HOST, now_ns, 0..60), 39, "writes of days 21 to 59");
    assert_eq!(engine.stats().rows_expired, 39);
    let bytes = engine.stats().part_bytes;
    assert!(engine.maintain().unwrap());
    assert!(!engine.maintain().unwrap(), "once");
    assert!(engine.stats().part_bytes < bytes * 2 / 3, "{:?}", engine.stats());
    drop(engine);
    let engine = open(&disk, |_| {});
    assert_eq!(found(&engine, "m", now_ns), (0..=20).collect::<Vec<_>>(), "after a restart");
    // What was only hidden is not shown again: it may have lost updates that were removed.
    engine.set_retention(DEFAULT_NAMESPACE, None, &Caller::default()).unwrap();
    assert_eq!(found(&engine, "m", now_ns), (0..=20).collect::<Vec<_>>());
    assert_eq!(write_days(&engine, HOST, now_ns, 30..40), 0, "but it can be written again");
    let expected: Vec<i64> = (0..=20).chain(30..40).collect();
    assert_eq!(found(&engine, "m", now_ns), expected);
    engine.flush().unwrap();
    drop(engine);
    let engine = open(&disk, |_| {});
    assert_eq!(found(&engine, "m", now_ns), expected);
}

/// The audit log.
fn audited(disk: &SimDisk) -> String {
    let audit = disk.open(Path::new("store/audit.log")).unwrap();
    let mut text = vec![0; audit.len() as usize];
    audit.read_at(&mut text, 0).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_retention_that_became_shorter_is_told_and_audited() {
    let disk = SimDisk::new(9);
    let open = |keep| open(&disk, |config| config.retention = keep);
    let engine = open(None);
    write_days(&engine, HOST, disk.now_ns(), 20..30);
    engine.flush().unwrap();
    assert_eq!((engine.notes().len(), disk.exists(Path::new("store/audit.log"))), (0, false));
    drop(engine);
    let engine = open(days(10));
    assert!(engine.notes()[0].contains("10 and more"), "{:?}", engine.notes());
    let line = audited(&disk);
    assert!(line.contains("\"kept_s\":null,\"keep_s\":864000"), "{line}");
    drop(engine);
    assert_eq!(open(days(10)).notes().len(), 0, "once");
    assert_eq!(open(None).notes().len(), 0, "a longer one takes nothing");
}

#[test]
fn a_shorter_retention_is_previewed() {
    let disk = SimDisk::new(8);
    let engine = open(&disk, |_| {});
    write_days(&engine, HOST, disk.now_ns(), 0..30);
    engine.flush().unwrap();
    write_days(&engine, "m host=b", disk.now_ns(), 0..5);
    let preview = |count| {
        engine.preview_retention(DEFAULT_NAMESPACE, days(count).unwrap(), &|| true).unwrap()
    };
    let found = [50, 10, 2].map(|days| (preview(days).series, preview(days).samples));
    assert_eq!(found, [(0, 0), (1, 19), (2, 27 + 2)]);
    assert!(preview(2).bytes > 0);
    assert_eq!(
        engine.preview_retention(7, Duration::ZERO, &|| true).unwrap().series,
        0,
        "no such namespace"
    );
}

#[test]
fn retention_moves_with_the_clock() {
    let disk = SimDisk::new(2);
    let engine = open(&disk, |config| config.retention = days(10));
    assert_eq!(engine.retention(DEFAULT_NAMESPACE), days(10));
    let now_ns = disk.now_ns();
    assert_eq!(write_days(&engine, HOST, now_ns, 0..15), 4);
    engine.flush().unwrap();
    disk.advance(5 * DAY as u64);
    assert_eq!(found(&engine, "m", now_ns), (0..=5).collect::<Vec<_>>());
    disk.advance(5 * DAY as u64);
    assert_eq!(found(&engine, "m", now_ns), [0]);
    disk.advance(30 * DAY as u64);
    assert_eq!(found(&engine, "m", now_ns), []);
    assert!(engine.maintain().unwrap());
    assert_eq!((engine.stats().parts, engine.stats().samples_expired), (0, 11));
}

#[test]
fn retention_holds_on_a_machine_that_never_runs_for_an_hour() {
    const HOUR: i64 = DAY / 24;
    let disk = SimDisk::new(12);
    for session in 0..12 {
        let engine = open(&disk, |config| config.retention = Some(Duration::from_secs(12 * 3600)));
        let (commit, rejects) = write(&engine, 0, &[line(HOST, disk.now_ns(), session)]);
        assert_eq!((commit.is_ok(), rejects.len()), (true, 0));
        for _ in 0..6 {
            engine.maintain().unwrap();
            disk.advance(5 * 60 * 1_000_000_000);
        }
        engine.flush().unwrap();
        engine.maintain().unwrap();
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, "m"), TimeRange::ALL).unwrap();
        let oldest = sids.into_iter().flat_map(|sid| read(&snapshot, sid, TimeRange::ALL)).next();
        let age = disk.now_ns() - oldest.unwrap().0;
        assert!(age <= 12 * HOUR, "session {session}: a sample of {} hours", age / HOUR);
        drop((snapshot, engine));
        // It is off, and its clock goes on.
        disk.jump(11 * HOUR);
    }
    let engine = open(&disk, |config| config.retention = Some(Duration::from_secs(12 * 3600)));
    assert!(engine.stats().parts < 6, "{} of 12 parts are left", engine.stats().parts);
}

#[test]
fn rules_keep_series_for_other_times() {
    let disk = SimDisk::new(3);
    let now_ns = disk.now_ns();
    let rule = |measurement: &str, env: &str, keep| RetentionRule {
        measurement: measurement.to_owned(),
        labels: vec![("env".to_owned(), env.to_owned())],
        keep,
    };
    let rules = vec![rule("*", "d*", days(3)), rule("gold", "prod", None)];
    let with_rules = |config: &mut Config| {
        config.retention = days(10);
        config.retention_rules = rules.clone();
    };
    let engine = open(&disk, with_rules);
    let keys = ["plain", "gold env=prod", "plain env=dev", "gold env=demo", "plain env=prod"];
    let refused = keys.map(|key| write_days(&engine, key, now_ns, 0..30));
    assert_eq!(refused, [19, 0, 26, 26, 19]);
    engine.flush().unwrap();
    assert_eq!(found(&engine, "plain", now_ns).len(), 11 + 4 + 11);
    assert_eq!(found(&engine, "gold", now_ns).len(), 30 + 4);
    disk.advance(40 * DAY as u64);
    assert!(engine.maintain().unwrap());
    assert_eq!(found(&engine, "plain", now_ns), []);
    assert_eq!(found(&engine, "gold", now_ns), (0..30).collect::<Vec<_>>());
    // Other rules: what was for ever is not any more, and parts of that class go all the same.
    assert_eq!(engine.set_retention_rules(vec![rule("gold", "prod", days(50))]).unwrap(), 3);
    assert_eq!(found(&engine, "gold", now_ns), (0..=10).collect::<Vec<_>>());
    assert!(engine.maintain().unwrap());
    drop(engine);
    let engine = open(&disk, with_rules);
    assert_eq!(found(&engine, "gold", now_ns), (0..=10).collect::<Vec<_>>(), "kept for ever");
    disk.advance(400 * DAY as u64);
    engine.maintain().unwrap();
    assert_eq!(found(&engine, "gold", now_ns), (0..=10).collect::<Vec<_>>());
}

#[test]
fn classes_that_change_before_an_epoch_leaves_memory_are_no_damage() {
    let disk = SimDisk::new(9);
    let now_ns = disk.now_ns();
    let rule = RetentionRule { measurement: "m".to_owned(), labels: Vec::new(), keep: days(50) };
    let engine = open(&disk, |_| {});
    assert_eq!(write_days(&engine, HOST, now_ns, 0..3), 0);
    engine.begin_epoch().unwrap();
    for day in 0..2 {
        assert_eq!(write_days(&engine, "m host=b", now_ns, day..day + 1), 0);
        engine.flush().unwrap();
    }
    // Told to the log, of an epoch that goes to a segment before the next flush.
    assert_eq!(engine.set_retention_rules(vec![rule.clone()]).unwrap(), 2);
    while engine.maintain().unwrap() {}
    engine.wait(engine.written(), Ack::Durable).unwrap();
    let disk = disk.kill();
    drop(engine);
    assert!(disk.list(Path::new("store")).unwrap().iter().any(|name| name.starts_with("segment")));
    let engine = open(&disk, |config| config.retention_rules = vec![rule.clone()]);
    assert!(engine.damages().is_empty(), "{:?}", engine.damages());
    assert_eq!(found(&engine, "m", now_ns).len(), 5);
    // And the classes are those that the log told.
    assert_eq!(engine.set_retention_rules(vec![rule]).unwrap(), 0);
}

#[test]
fn the_oldest_samples_make_room() {
    let disk = SimDisk::new(4);
    let now_ns = disk.now_ns();
    let open = |cap| open(&disk, |config| config.retention_bytes_max = cap);
    let engine = open(u64::MAX);
    for day in (0..40).rev() {
        write_days(&engine, HOST, now_ns, day..day + 1);
        engine.flush().unwrap();
    }
    let bytes = engine.stats().part_bytes;
    let preview = engine.preview_cap(bytes / 2);
    assert_eq!(engine.preview_cap(bytes), Deleted::default());
    drop(engine);
    let engine = open(bytes / 2);
    assert_eq!(found(&engine, "m", now_ns).len(), 40);
    // Nobody asked what would go: it is said, and the audit log keeps it.
    let said = engine.notes().join("\n");
    assert!(said.contains("the oldest go now"), "{said}");
    assert!(audited(&disk).contains("\"act\":\"cap\""), "{}", audited(&disk));
    assert!(engine.maintain().unwrap());
    assert!(engine.stats().part_bytes <= bytes / 2);
    let left = found(&engine, "m", now_ns);
    assert!((17..=20).contains(&left.len()) && left.iter().copied().eq(0..left.len() as i64));
    let gone = (40 - left.len() as u64, bytes - engine.stats().part_bytes);
    assert_eq!((preview.samples, preview.bytes), gone, "as the preview said");
    assert_eq!(write_days(&engine, HOST, now_ns, 25..26), 1, "there is no room for it");
    drop(engine);
    let told = audited(&disk);
    let engine = open(bytes / 2);
    assert_eq!((engine.notes(), audited(&disk)), (&[] as &[String], told), "all fit by now");
    drop(engine);
    let engine = open(bytes);
    assert_eq!(found(&engine, "m", now_ns), left);
    assert_eq!(write_days(&engine, HOST, now_ns, 25..26), 0, "now there is");
}

#[test]
fn a_dropped_namespace_takes_what_was_said_of_it_with_it() {
    let disk = SimDisk::new(5);
    let engine = open(&disk, |_| {});
    let id = engine.create_namespace("db", "week").unwrap();
    engine.set_retention(id, days(7), &Caller::default()).unwrap();
    write(&engine, id, &[line(HOST, disk.now_ns(), 1)]).0.unwrap();
    engine.flush().unwrap();
    let deleted = engine.drop_namespace(id, &Caller::default()).unwrap();
    assert_eq!((deleted.series, deleted.samples), (1, 1));
    assert_eq!((engine.namespace("db", "week"), engine.stats().parts), (None, 0));
    assert_eq!(engine.retention(id), None);
    let again = engine.create_namespace("db", "week").unwrap();
    assert_ne!(again, id, "numbers are not given out twice");
    let sids = engine.snapshot().select(&selector(again, "m"), TimeRange::ALL).unwrap();
    assert_eq!(sids, []);
}

#[test]
fn nothing_expires_by_a_retention_that_may_be_lost() {
    let mut lost = 0;
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let now_ns = disk.now_ns();
        let engine = open(&disk, |_| {});
        write_days(&engine, HOST, now_ns, 40..50);
        engine.flush().unwrap();
        engine.wait(engine.written(), Ack::Durable).unwrap();
        engine.set_retention(DEFAULT_NAMESPACE, days(20), &Caller::default()).unwrap();
        disk.fail_after(1, FaultKind::SyncError);
        // The second try finds the floor in memory, and it is no more durable than before.
        assert!(engine.maintain().is_err());
        assert!(engine.maintain().is_err());
        let engine = open(&disk.crash(), |_| {});
        if engine.retention(DEFAULT_NAMESPACE).is_none() {
            lost += 1;
            assert_eq!(found(&engine, "m", now_ns), (40..50).collect::<Vec<_>>());
        }
    }
    assert!(lost > 0);
}

#[test]
fn a_merge_brings_no_value_back_that_was_overwritten_in_another_class() {
    let disk = SimDisk::new(7);
    let engine = open(&disk, |_| {});
    let now_ns = disk.now_ns();
    let keep = |count| {
        let rule =
            RetentionRule { measurement: "m".to_owned(), labels: Vec::new(), keep: days(count) };
        engine.set_retention_rules(vec![rule]).unwrap()
    };
    let put = |key: &str, value| {
        write(&engine, DEFAULT_NAMESPACE, &[line(key, now_ns, value)]).0.unwrap();
        engine.flush().unwrap();
    };
    keep(100);
    put(HOST, 1);
    put("m host=b", 1);
    assert_eq!(keep(200), 2);
    put(HOST, 2);
    assert_eq!(keep(100), 2);
    put("m host=b", 3);
    put("m host=b", 4);
    let values = |engine: &Engine| {
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, "m"), TimeRange::ALL).unwrap();
        let values = sids.into_iter().flat_map(|sid| read(&snapshot, sid, TimeRange::ALL));
        values.map(|(_, value)| value).collect::<Vec<_>>()
    };
    let expected = [Owned::Integer(2), Owned::Integer(4)];
    assert_eq!((values(&engine), engine.stats().parts), (expected.to_vec(), 5));
    engine.merge_all().unwrap();
    assert_eq!((values(&engine), engine.stats().parts), (expected.to_vec(), 3));
    drop(engine);
    let engine = open(&disk, |config| config.retention_rules = Vec::new());
    engine.merge_all().unwrap();
    assert_eq!(values(&engine), expected);
}

#[test]
fn a_merge_brings_no_value_back_of_a_series_that_left_its_class() {
    let disk = SimDisk::new(8);
    let engine = open(&disk, |_| {});
    let now_ns = disk.now_ns();
    let put = |key: &str, value| {
        write(&engine, DEFAULT_NAMESPACE, &[line(key, now_ns, value)]).0.unwrap();
        engine.flush().unwrap();
    };
    let newest = || {
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, "m"), TimeRange::ALL).unwrap();
        read(&snapshot, sids[0], TimeRange::ALL)[0].1.clone()
    };
    put(HOST, 1);
    let rule = RetentionRule { measurement: "m".to_owned(), labels: Vec::new(), keep: days(100) };
    assert_eq!(engine.set_retention_rules(vec![rule]).unwrap(), 1);
    // Parts of the class that it left, before and after the one with its new value.
    put("n", 1);
    put(HOST, 2);
    put("n", 2);
    engine.merge_all().unwrap();
    assert_eq!(newest(), Owned::Integer(2));
    put("n", 3);
    engine.merge_all().unwrap();
    assert_eq!(newest(), Owned::Integer(2));
}

/// A store opened with rules of which one keeps series called `m` for so many days.
fn open_with_rule(disk: &SimDisk, kept: Option<u64>) -> Engine {
    open(disk, |config| {
        config.retention_rules = Vec::from_iter(kept.map(|kept| RetentionRule {
            measurement: "m".to_owned(),
            labels: Vec::new(),
            keep: days(kept),
        }));
    })
}

#[test]
fn rules_that_come_back_after_a_crash_reach_closed_epochs() {
    let disk = SimDisk::new(9);
    let now_ns = disk.now_ns();
    let engine = open_with_rule(&disk, None);
    write_days(&engine, HOST, now_ns, 0..30);
    for _ in 0..2 {
        engine.begin_epoch().unwrap();
    }
    engine.flush().unwrap();
    drop(engine);
    let engine = open_with_rule(&disk, Some(10));
    assert_eq!(found(&engine, "m", now_ns), (0..=10).collect::<Vec<_>>());
    engine.set_retention_rules(Vec::new()).unwrap();
    // What was not synced is gone, such as what the classes of the epoch go by now.
    let disk = disk.crash();
    drop(open_with_rule(&disk, None));
    let engine = open_with_rule(&disk, Some(10));
    assert_eq!(found(&engine, "m", now_ns), (0..=10).collect::<Vec<_>>());
}

#[test]
fn a_change_of_rules_reaches_closed_epochs() {
    let disk = SimDisk::new(9);
    let now_ns = disk.now_ns();
    let engine = open_with_rule(&disk, None);
    write_days(&engine, HOST, now_ns, 0..30);
    // It does not go on in another epoch.
    write_days(&engine, "m host=quiet", now_ns, 0..30);
    write_days(&engine, "other host=a", now_ns, 0..30);
    // Three epochs: one on disk, one closed in memory, one open, in which the series go on.
    for _ in 0..2 {
        engine.begin_epoch().unwrap();
        write_days(&engine, HOST, now_ns, 0..1);
    }
    engine.flush().unwrap();
    drop(engine);
    let twice = |last: i64| (0..=last).flat_map(|day| [day, day]).collect::<Vec<_>>();
    let other = (0..30).collect::<Vec<_>>();
    let engine = open_with_rule(&disk, Some(10));
    assert_eq!(found(&engine, "m", now_ns), twice(10), "at once");
    assert_eq!(found(&engine, "other", now_ns), other);
    drop(engine);
    // A longer time brings back what no file lost yet; also after the epochs left memory.
    let engine = open_with_rule(&disk, Some(20));
    assert_eq!(found(&engine, "m", now_ns), twice(20));
    let before = engine.stats().part_samples;
    engine.merge_all().unwrap();
    assert!(engine.stats().part_samples < before, "merges take what expired");
    engine.begin_epoch().unwrap();
    engine.begin_epoch().unwrap();
    drop(engine);
    // What files have lost does not come back half.
    let engine = open_with_rule(&disk, None);
    assert_eq!(found(&engine, "m", now_ns), twice(20));
    assert_eq!(found(&engine, "other", now_ns), other);
    drop(engine);
    let dynamic: Arc<dyn Disk> = Arc::new(disk.clone());
    let checked = foliot_engine::check(&dynamic, Path::new("store")).unwrap();
    assert_eq!(checked.problems, [""; 0]);
}

/// A store whose rules keep `m` for 30 days and `short` for 5; what is older of `short` is gone
/// from the disk. One value of `m` was overwritten in a later epoch.
fn overwritten_in_a_later_epoch() -> (SimDisk, i64) {
    let disk = SimDisk::new(10);
    let engine = open_with_rules(&disk, 30);
    let then_ns = disk.now_ns();
    let put = |value| {
        write(&engine, DEFAULT_NAMESPACE, &[line(HOST, then_ns, value)]).0.unwrap();
        engine.flush().unwrap();
    };
    write(&engine, DEFAULT_NAMESPACE, &[line("short", then_ns, 0)]).0.unwrap();
    put(1);
    (0..3).for_each(|_| engine.begin_epoch().unwrap());
    put(2);
    for _ in 0..10 {
        disk.advance(DAY as u64);
        while engine.maintain().unwrap() {}
    }
    engine.close().unwrap();
    (disk, then_ns)
}

fn open_with_rules(disk: &SimDisk, kept: u64) -> Engine {
    open(disk, |config| config.retention_rules = rules(kept))
}

fn rules(kept: u64) -> Vec<RetentionRule> {
    let rule = |measurement: &str, kept| RetentionRule {
        measurement: measurement.to_owned(),
        labels: Vec::new(),
        keep: days(kept),
    };
    vec![rule("m", kept), rule("short", 5)]
}

#[test]
fn a_change_of_rules_that_is_cut_short_shows_no_overwritten_value() {
    let values = |engine: &Engine| {
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, "m"), TimeRange::ALL).unwrap();
        let values = sids.into_iter().flat_map(|sid| read(&snapshot, sid, TimeRange::ALL));
        values.map(|(_, value)| value).collect::<Vec<_>>()
    };
    let (disk, _) = overwritten_in_a_later_epoch();
    assert_eq!(values(&open_with_rules(&disk, 30)), [Owned::Integer(2)]);
    let mut lost = 0;
    for operation in 1.. {
        let (disk, _) = overwritten_in_a_later_epoch();
        disk.fail_after(operation, FaultKind::Crash);
        let config = Config { background: false, retention_rules: rules(5), ..Config::default() };
        let dynamic: Arc<dyn Disk> = Arc::new(disk.clone());
        let is_done = Engine::open(dynamic, Path::new("store"), config).is_ok() && !disk.is_dead();
        let disk = disk.kill();
        let found = values(&open_with_rules(&disk, 30));
        assert!(found == [Owned::Integer(2)] || found.is_empty(), "{operation}: {found:?}");
        lost += usize::from(found.is_empty());
        if is_done {
            break;
        }
    }
    assert!(lost > 0, "the shorter time took something for good");
}

#[test]
fn a_delete_takes_also_what_is_too_old_to_be_seen() {
    let disk = SimDisk::new(11);
    let now_ns = disk.now_ns();
    let engine = open(&disk, |config| config.retention = days(30));
    write_days(&engine, HOST, now_ns, 0..20);
    write_days(&engine, "m host=old", now_ns, 15..20);
    write_days(&engine, "m host=kept", now_ns, 15..20);
    engine.set_retention(DEFAULT_NAMESPACE, days(10), &Caller::default()).unwrap();
    assert_eq!(found(&engine, "m", now_ns), (0..=10).collect::<Vec<_>>());
    for host in ["a", "old"] {
        let test = Test::equal(host);
        let name = "host".to_owned();
        let matcher = Matcher { name, test, negated: false, accepts_absent: false };
        let only = Selector { matchers: vec![matcher], ..selector(DEFAULT_NAMESPACE, "m") };
        let (deleted, commit) = engine.delete(&only, TimeRange::ALL, &Caller::default()).unwrap();
        assert_eq!(deleted.samples, if host == "a" { 11 } else { 0 }, "what was to be seen");
        engine.wait(commit, Ack::Durable).unwrap();
    }
    engine.set_retention(DEFAULT_NAMESPACE, days(30), &Caller::default()).unwrap();
    let kept = (15..20).collect::<Vec<_>>();
    assert_eq!(found(&engine, "m", now_ns), kept);
    engine.flush().unwrap();
    drop(engine);
    let engine = open(&disk, |config| config.retention = days(30));
    assert_eq!(found(&engine, "m", now_ns), kept);
}

/// A reader that began before a retention became shorter sees the state of some moment since, also
/// when files have expired by it and memory was cut when it became longer again: never what had
/// been overwritten long before.
#[test]
fn a_reader_of_before_a_floor_sank_sees_nothing_that_was_overwritten() {
    for is_flushed in [false, true] {
        let disk = SimDisk::new(10);
        let old_ns = disk.now_ns() - 40 * DAY;
        let engine = open(&disk, |_| {});
        let put =
            |value| write(&engine, DEFAULT_NAMESPACE, &[line(HOST, old_ns, value)]).0.unwrap();
        put(1);
        engine.flush().unwrap();
        engine.begin_epoch().unwrap();
        // The closed one leaves memory.
        (0..2).for_each(|_| engine.flush().unwrap());
        while engine.maintain().unwrap() {}
        put(2);
        let reader = engine.snapshot();
        let sids = reader.select(&selector(DEFAULT_NAMESPACE, "m"), TimeRange::ALL).unwrap();
        assert_eq!(read(&reader, sids[0], TimeRange::ALL), [(old_ns, Owned::Integer(2))]);
        engine.set_retention(DEFAULT_NAMESPACE, days(20), &Caller::default()).unwrap();
        let most = engine.stats().epochs;
        while engine.maintain().unwrap() {}
        assert!(engine.stats().epochs < most, "what is too old expires, and who had only that");
        if is_flushed {
            engine.flush().unwrap();
        }
        engine.set_retention(DEFAULT_NAMESPACE, None, &Caller::default()).unwrap();
        let allowed = |found: &[(i64, Owned)]| found.iter().all(|(_, v)| *v == Owned::Integer(2));
        let seen = read(&reader, sids[0], TimeRange::ALL);
        assert!(allowed(&seen), "{seen:?}");
        let last = reader.last(sids[0]).unwrap();
        assert_eq!(last.is_some(), !seen.is_empty());
        put(3);
        assert_eq!(found(&engine, "m", old_ns), [0], "who begins now sees what is written now");
    }
}
