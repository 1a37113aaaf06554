//! Renames: what series hold is found under their new names, all of it, whatever happens meanwhile.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Caller, Config, Engine, Error, Identity, Renamed, Renaming};
use foliot_model::{Label, Labels, Matcher, Selector, Test, TimeRange};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const SECOND: i64 = 1_000_000_000;

type Store = BTreeMap<String, Vec<(i64, Owned)>>;

fn open(disk: &SimDisk) -> Engine {
    let config = Config {
        background: false,
        index_active_window: Duration::ZERO,
        epoch_dead_min: 1,
        ..Config::default()
    };
    Engine::open(Arc::new(disk.clone()), Path::new("store"), config).unwrap()
}

fn line(host: i64, field: &str, second: i64, value: Owned) -> Line {
    let key = format!("old host=h{host:04}");
    Line { key, time_ns: second * SECOND, fields: vec![(field.to_owned(), value)] }
}

fn put(engine: &Engine, lines: &[Line]) {
    let (commit, rejects) = write(engine, 0, lines);
    assert_eq!(rejects, []);
    engine.wait(commit.unwrap(), Ack::Durable).unwrap();
}

/// One sample of each kind.
fn kinds(host: i64, second: i64) -> Vec<Line> {
    [
        ("float", Owned::Float(0x7ff8_dead_beef_0001 ^ host as u64)),
        ("decimal", Owned::Decimal(second * 10 + host, 2)),
        ("integer", Owned::Integer(i64::MIN + second)),
        ("unsigned", Owned::Unsigned(u64::MAX - host as u64)),
        ("boolean", Owned::Boolean(second % 2 == 0)),
        ("text", Owned::String(format!("é {host} {second}"))),
        ("histogram", Owned::Histogram(vec![host as u8, second as u8, 0, 255])),
    ]
    .into_iter()
    .map(|(field, value)| line(host, field, second, value))
    .collect()
}

/// Samples in a segment's epoch, in parts of two levels, and in the head, late and twice.
fn fill(engine: &Engine, hosts: i64) {
    let all = |second| (0..hosts).flat_map(|host| kinds(host, second)).collect::<Vec<_>>();
    put(engine, &all(100));
    engine.begin_epoch().unwrap();
    put(engine, &all(200));
    engine.flush().unwrap();
    engine.merge_all().unwrap();
    put(engine, &all(300));
    engine.flush().unwrap();
    while engine.maintain().unwrap() {}
    put(engine, &all(400));
    put(engine, &all(350));
    let again = |host| line(host, "integer", 400, Owned::Integer(host));
    put(engine, &(0..hosts).map(again).collect::<Vec<_>>());
}

/// All samples by names; `old` as if it were `new` when told to.
fn all(engine: &Engine, as_new: bool) -> Store {
    let snapshot = engine.snapshot();
    let mut found = Store::new();
    let everything = Selector { names: Vec::new(), ..selector(0, "") };
    for sid in snapshot.select(&everything, TimeRange::ALL).unwrap() {
        let Identity { measurement, field, labels, .. } = snapshot.identity(sid).unwrap().unwrap();
        let measurement = if as_new { "new" } else { &*measurement };
        let host = labels.get("host").unwrap();
        let samples = found.entry(format!("{measurement} {host} {field}")).or_default();
        samples.extend(read(&snapshot, sid, TimeRange::ALL));
        samples.sort_by_key(|(time_ns, _)| *time_ns);
        samples.dedup();
    }
    found.retain(|_, samples| !samples.is_empty());
    found
}

fn rename(engine: &Engine, goes_on: &dyn Fn() -> bool) -> Result<Renamed, Error> {
    let name = |identity: &Identity| Identity { measurement: "new".into(), ..identity.clone() };
    let renaming = Renaming { to: "new", name: &name, goes_on };
    let renamed = engine.rename_series(&selector(0, "old"), &renaming, &Caller::default())?;
    if let Some(commit) = renamed.commit {
        engine.wait(commit, Ack::Durable)?;
    }
    Ok(renamed)
}

#[test]
fn samples_of_all_kinds_and_places_get_the_new_name() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    // More series than are renamed at once.
    fill(&engine, 200);
    let expected = all(&engine, true);
    assert_eq!((expected.len(), expected["new h0007 text"].len()), (1400, 5));
    let renamed = rename(&engine, &|| true).unwrap();
    assert_eq!((renamed.series, renamed.samples, renamed.is_done), (1400, 7000, true));
    assert!(all(&engine, false) == expected);
    assert_eq!(rename(&engine, &|| true).unwrap(), Renamed { is_done: true, ..Renamed::default() });

    engine.flush().unwrap();
    engine.merge_all().unwrap();
    assert!(all(&engine, false) == expected, "merged");
    // The old name is free: it begins as something new.
    put(&engine, &kinds(3, 900));
    engine.close().unwrap();
    drop(engine);
    let engine = open(&disk);
    let mut found = all(&engine, false);
    let old: Vec<String> = found.keys().filter(|name| name.starts_with("old")).cloned().collect();
    assert_eq!(old.len(), 7);
    assert!(old.into_iter().all(|name| found.remove(&name).unwrap().len() == 1));
    assert!(found == expected, "opened again");
    let log = disk.open(Path::new("store/audit.log")).unwrap();
    let mut bytes = vec![0; log.len() as usize];
    log.read_at(&mut bytes, 0).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.contains(r#""act":"rename","selector":"\"old\".* {}","to":"new"}"#), "{text}");
}

#[test]
fn a_crash_between_any_two_steps_loses_nothing_and_the_next_rename_ends_it() {
    for steps in 0..=21 {
        let disk = SimDisk::new(2);
        let engine = open(&disk);
        fill(&engine, 3);
        let expected = all(&engine, true);
        let (calls, crashed) = (Cell::new(0), RefCell::new(None));
        let goes_on = || {
            if crashed.borrow().is_some() {
                return false;
            }
            engine.wait(engine.written(), Ack::Durable).unwrap();
            if calls.replace(calls.get() + 1) == steps {
                *crashed.borrow_mut() = Some(disk.crash());
            }
            crashed.borrow().is_none()
        };
        let is_done = rename(&engine, &goes_on).is_ok_and(|renamed| renamed.is_done);
        assert_eq!(is_done, steps == 21, "one step for each series");
        let disk = crashed.into_inner().unwrap_or_else(|| disk.crash());
        let engine = open(&disk);
        assert!(all(&engine, true) == expected, "after {steps} steps");
        assert!(rename(&engine, &|| true).unwrap().is_done);
        assert!(all(&engine, false) == expected);
        assert!(all(&open(&disk.crash()), false) == expected);
    }
}

/// The power goes, or the process, at any operation of the disk around a rename: of a measurement,
/// and of a label's value, with flushes in the middle.
#[test]
fn a_stop_at_any_operation_of_the_disk_loses_nothing_and_the_next_rename_ends_it() {
    /// What all series are called, where `is_value` says that host 1 becomes `alpha`.
    fn renamed(engine: &Engine, is_value: bool, goes_on: &dyn Fn() -> bool) -> Result<bool, Error> {
        if !is_value {
            return rename(engine, goes_on).map(|renamed| renamed.is_done);
        }
        let name = |from: &Identity| {
            let label = |label: &Label| match &*label.value == "h0001" {
                true => Label { value: "alpha".into(), ..label.clone() },
                false => label.clone(),
            };
            Identity {
                labels: Labels::new(from.labels.iter().map(label).collect()),
                ..from.clone()
            }
        };
        let test = Test::equal("h0001");
        let host = "host".to_owned();
        let matcher = Matcher { name: host, test, negated: false, accepts_absent: false };
        let selector = Selector { names: Vec::new(), matchers: vec![matcher], ..selector(0, "") };
        let renaming = Renaming { to: "alpha", name: &name, goes_on };
        let renamed = engine.rename_series(&selector, &renaming, &Caller::default())?;
        if let Some(commit) = renamed.commit {
            engine.wait(commit, Ack::Durable)?;
        }
        Ok(renamed.is_done)
    }
    /// All samples by new names, whether they have them or not.
    fn both(engine: &Engine, is_value: bool) -> Store {
        let mut found = Store::new();
        for (name, samples) in all(engine, !is_value) {
            let name = if is_value { name.replace("h0001", "alpha") } else { name };
            let of_name = found.entry(name).or_default();
            of_name.extend(samples);
            of_name.sort_by_key(|(time_ns, _)| *time_ns);
            of_name.dedup();
        }
        found
    }
    for (is_value, stop) in [false, true]
        .into_iter()
        .flat_map(|way| [SimDisk::kill, SimDisk::crash].map(|stop| (way, stop)))
    {
        let mut cut_short = 0;
        for operation in 1.. {
            let disk = SimDisk::new(operation);
            let engine = open(&disk);
            fill(&engine, 3);
            let expected = both(&engine, is_value);
            let calls = Cell::new(0);
            let goes_on = || {
                calls.set(calls.get() + 1);
                // What was copied so far goes into parts, what is dropped is masked there.
                if calls.get() % 3 == 2 {
                    let _ = engine.flush();
                }
                true
            };
            disk.fail_after(operation, FaultKind::Crash);
            let is_done = renamed(&engine, is_value, &goes_on).is_ok_and(|is_done| is_done);
            let is_over = !disk.is_dead();
            assert!(is_done || !is_over, "{is_value} {operation}");
            drop(engine);
            let engine = open(&stop(&disk));
            let about = format!("label: {is_value}, operation {operation}, done: {is_done}");
            assert_eq!(engine.damages(), [""; 0], "{about}");
            assert!(both(&engine, is_value) == expected, "{about}");
            if !is_done {
                cut_short += 1;
                assert!(renamed(&engine, is_value, &|| true).unwrap(), "{about}");
            }
            assert!(all(&engine, false) == expected, "{about}");
            if is_over {
                break;
            }
        }
        assert!(cut_short > 20, "label: {is_value}: {cut_short} renames were cut short");
    }
}

#[test]
fn what_comes_meanwhile_is_renamed_too_and_what_comes_later_is_not() {
    for flushes in [false, true] {
        let engine = open(&SimDisk::new(3));
        fill(&engine, 3);
        let mut expected = all(&engine, true);
        let calls = Cell::new(0);
        let goes_on = || {
            calls.set(calls.get() + 1);
            // The first series were copied already, the last ones were not.
            if calls.get() == 10 {
                let late = |host| line(host, "integer", 50, Owned::Integer(-host));
                let new = |host| line(host, "integer", 500, Owned::Integer(host));
                put(&engine, &(0..3).flat_map(|host| [late(host), new(host)]).collect::<Vec<_>>());
                if flushes {
                    engine.flush().unwrap();
                }
            }
            true
        };
        assert!(rename(&engine, &goes_on).unwrap().is_done);
        assert_eq!(calls.get(), 21);
        put(&engine, &[line(1, "integer", 600, Owned::Integer(6))]);
        for host in 0..3 {
            let samples = expected.get_mut(&format!("new h000{host} integer")).unwrap();
            samples.insert(0, (50 * SECOND, Owned::Integer(-host)));
            samples.push((500 * SECOND, Owned::Integer(host)));
        }
        expected.insert("old h0001 integer".to_owned(), vec![(600 * SECOND, Owned::Integer(6))]);
        assert!(all(&engine, false) == expected, "flushes: {flushes}");
    }
}

#[test]
fn a_merge_meanwhile_brings_no_older_value_back() {
    let config = Config { background: false, merge_parts: 2, ..Config::default() };
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(6));
    let engine = Engine::open(disk, Path::new("store"), config).unwrap();
    let put = |host, value| {
        put(&engine, &[line(host, "integer", 100, Owned::Integer(value))]);
        engine.flush().unwrap();
    };
    // A part with the first value of host 0, one without the host, one with its second value.
    put(0, 1);
    put(1, 1);
    put(0, 2);
    let calls = Cell::new(0);
    let goes_on = || {
        calls.set(calls.get() + 1);
        // Host 0 was copied. The first two parts become one, and there is something to catch up.
        if calls.get() == 2 {
            // As upkeep does, beside the thread that renames.
            let merges = || std::thread::scope(|scope| scope.spawn(|| engine.maintain()).join());
            assert!(merges().unwrap().unwrap());
            put(1, 2);
        }
        true
    };
    assert!(rename(&engine, &goes_on).unwrap().is_done);
    let two =
        |host: i64| (format!("new h{host:04} integer"), vec![(100 * SECOND, Owned::Integer(2))]);
    assert_eq!(all(&engine, false), Store::from([two(0), two(1)]));
}

/// Others wait while series are dropped, so that nothing is copied then but what came last: what
/// memory has of a series may be much.
#[test]
fn what_comes_meanwhile_is_copied_and_nothing_twice() {
    const HOSTS: i64 = 50;
    const SECONDS: i64 = 300;
    let engine = open(&SimDisk::new(7));
    let put = |second, value: i64| {
        let line = |host| line(host, "v", second, Owned::Integer(value + host));
        put(&engine, &(0..HOSTS).map(line).collect::<Vec<_>>());
    };
    (0..SECONDS).for_each(|second| put(second, 0));
    let calls = Cell::new(0);
    let goes_on = || {
        calls.set(calls.get() + 1);
        // All but the last series were copied.
        if calls.get() == HOSTS {
            put(SECONDS, 0);
            put(SECONDS - 1, 1000);
        }
        true
    };
    let renamed = rename(&engine, &goes_on).unwrap();
    // The last series has no second value of one instant, which it holds twice.
    let came = 2 * (HOSTS - 1) + 1;
    assert_eq!((renamed.samples as i64, renamed.is_done), (HOSTS * SECONDS + came, true));
    let mut expected = Store::new();
    for host in 0..HOSTS {
        let value = |second| host + if second == SECONDS - 1 { 1000 } else { 0 };
        let sample = |second| (second * SECOND, Owned::Integer(value(second)));
        expected.insert(format!("new h{host:04} v"), (0..=SECONDS).map(sample).collect());
    }
    assert!(all(&engine, false) == expected);
}

/// A rename writes as fast as it can, and fills no memory that others are refused for.
#[test]
fn a_rename_leaves_room_for_others() {
    let config = Config { head_bytes_max: 256 << 10, ..Config::default() };
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(9));
    let engine = Engine::open(disk, Path::new("store"), config).unwrap();
    let mut random = 88_172_645_463_325_252_u64;
    for second in 0..4_000 {
        let line = |host| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            line(host, "v", second, Owned::Float(random >> 2))
        };
        let lines: Vec<Line> = (0..50).map(line).collect();
        while write(&engine, 0, &lines).0.is_err() {
            engine.flush().unwrap();
        }
    }
    engine.flush().unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut refused = 0;
            while !is_over.load(Ordering::Relaxed) {
                refused += usize::from(write(&engine, 0, &kinds(1, 5)).0.is_err());
                std::thread::sleep(Duration::from_millis(1));
            }
            refused
        });
        let renamed = rename(&engine, &|| true).unwrap();
        is_over.store(true, Ordering::Relaxed);
        assert!(renamed.is_done && renamed.samples >= 200_000, "{renamed:?}");
        assert_eq!(writer.join().unwrap(), 0, "others were refused");
    });
}

/// One who writes late samples and new values of old ones, beside flushes and renames.
#[test]
fn a_writer_who_goes_back_loses_nothing() {
    const STEPS: i64 = 1500;
    const HOSTS: i64 = 7;
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(8));
    let engine = Engine::open(disk, Path::new("store"), Config::default()).unwrap();
    let value = |host, step| Owned::Integer(host * 1_000_000 + step);
    // Forth, and now and then back by up to some hundred seconds.
    let second = |step: i64| if step % 3 == 0 { step - step * 7 % 400 } else { step };
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for step in 0..STEPS {
                let line = |host| line(host, "v", second(step), value(host, step));
                assert_eq!(write(&engine, 0, &(0..HOSTS).map(line).collect::<Vec<_>>()).1, []);
            }
        });
        let mut renames = 0;
        while !writer.is_finished() {
            assert!(rename(&engine, &|| true).unwrap().is_done);
            renames += 1;
            if renames % 4 == 0 {
                engine.flush().unwrap();
            }
        }
    });
    rename(&engine, &|| true).unwrap();
    let mut expected = Store::new();
    for host in 0..HOSTS {
        let newest: BTreeMap<i64, i64> = (0..STEPS).map(|step| (second(step), step)).collect();
        let sample = |(second, step)| (second * SECOND, value(host, step));
        let samples = newest.into_iter().map(sample).collect();
        expected.insert(format!("new h{host:04} v"), samples);
    }
    assert!(all(&engine, false) == expected);
}

#[test]
fn a_writer_that_goes_on_loses_nothing() {
    const STEPS: i64 = 3000;
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(4));
    let engine = Engine::open(disk, Path::new("store"), Config::default()).unwrap();
    let mut renames = 0;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for second in 0..STEPS {
                let value = |host| Owned::Integer(host * 1_000_000 + second);
                let lines: Vec<Line> =
                    (0..50).map(|host| line(host, "v", second, value(host))).collect();
                assert_eq!(write(&engine, 0, &lines).1, []);
            }
        });
        while !writer.is_finished() {
            assert!(rename(&engine, &|| true).unwrap().is_done);
            renames += 1;
        }
    });
    assert!(renames > 1, "the writer was done before anything was renamed");
    rename(&engine, &|| true).unwrap();
    let found = all(&engine, false);
    assert_eq!(found.len(), 50);
    for (host, samples) in (0..).zip(found.values()) {
        let expected =
            (0..STEPS).map(|second| (second * SECOND, Owned::Integer(host * 1_000_000 + second)));
        assert!(samples.iter().cloned().eq(expected), "host {host}");
    }
}

#[test]
fn time_may_be_up_and_a_name_that_is_renamed_itself_is_refused() {
    let engine = open(&SimDisk::new(5));
    fill(&engine, 200);
    let expected = all(&engine, true);
    let calls = Cell::new(0);
    let goes_on = || calls.replace(calls.get() + 1) < 1200;
    let renamed = rename(&engine, &goes_on).unwrap();
    assert_eq!((renamed.series, renamed.is_done), (1200, false));
    assert!(all(&engine, true) == expected);
    assert_eq!(rename(&engine, &|| true).unwrap().series, 1400 - 1200);
    assert!(all(&engine, false) == expected);

    let caller = Caller::default();
    let same = Renaming { to: "", name: &Identity::clone, goes_on: &|| true };
    let refused = engine.rename_series(&selector(0, "new"), &same, &caller).unwrap_err();
    assert_eq!(refused.to_string(), "the new name of a series would be renamed too");
    let everything = Selector { names: Vec::new(), ..selector(0, "") };
    assert!(engine.rename_series(&everything, &same, &caller).is_err());
    assert!(all(&engine, false) == expected);
}
