//! Deletes of very many series: they are made whole or not at all, others write meanwhile, and a
//! restart finds what there was.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Caller, Commit, Config, Engine, Error};
use foliot_model::{DEFAULT_NAMESPACE, TimeRange};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

/// Ways to take something away, all of them of the measurement `m`.
#[derive(Clone, Copy, Debug)]
enum Way {
    Delete,
    DeleteWithNames,
    Drop,
}

const WAYS: [Way; 3] = [Way::Delete, Way::DeleteWithNames, Way::Drop];

impl Way {
    fn go(self, engine: &Engine) -> Result<Commit, Error> {
        let (selector, caller) = (selector(DEFAULT_NAMESPACE, "m"), Caller::default());
        let all = TimeRange::ALL;
        let done = match self {
            Self::Delete => engine.delete(&selector, all, &caller),
            Self::DeleteWithNames => {
                engine.delete_with_names_while(&selector, all, &caller, &|| true)
            }
            Self::Drop => engine.drop_series(&selector, &caller),
        };
        done.map(|(_, commit)| commit)
    }
}

fn open(disk: &SimDisk) -> Engine {
    let config = Config { background: false, ..Config::default() };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, Path::new("store"), config).unwrap()
}

fn line(measurement: &str, host: u32, time_ns: i64) -> Line {
    let fields = vec![("value".to_owned(), Owned::Integer(time_ns))];
    Line { key: format!("{measurement} host=h{host:07}"), time_ns, fields }
}

fn put(engine: &Engine, lines: &[Line]) -> Commit {
    let (commit, rejects) = write(engine, DEFAULT_NAMESPACE, lines);
    assert_eq!(rejects, []);
    commit.unwrap()
}

fn fill(engine: &Engine, measurement: &str, hosts: u32, time_ns: i64) {
    let lines: Vec<Line> = (0..hosts).map(|host| line(measurement, host, time_ns)).collect();
    for lines in lines.chunks(10_000) {
        let commit = put(engine, lines);
        engine.wait(commit, Ack::Durable).unwrap();
    }
}

/// The times of all samples of a measurement, by host.
fn found(engine: &Engine, measurement: &str) -> BTreeMap<String, Vec<i64>> {
    let snapshot = engine.snapshot();
    let mut found = BTreeMap::<String, Vec<i64>>::new();
    let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, measurement), TimeRange::ALL).unwrap();
    for sid in sids {
        let host = snapshot.identity(sid).unwrap().unwrap().labels.get("host").unwrap().to_string();
        for (time_ns, value) in read(&snapshot, sid, TimeRange::ALL) {
            assert_eq!(value, Owned::Integer(time_ns));
            found.entry(host.clone()).or_default().push(time_ns);
        }
    }
    found
}

#[test]
fn a_stop_anywhere_leaves_all_of_a_delete_of_many_series_or_nothing() {
    // More than are cut while writes wait, in several pages.
    const HOSTS: u32 = 1500;
    for (way, stop) in
        WAYS.into_iter().flat_map(|way| [SimDisk::kill, SimDisk::crash].map(|stop| (way, stop)))
    {
        let (mut whole, mut none) = (0, 0);
        for operation in 1.. {
            let disk = SimDisk::new(operation);
            let engine = open(&disk);
            for measurement in ["m", "other"] {
                fill(&engine, measurement, HOSTS, 1);
            }
            engine.flush().unwrap();
            for measurement in ["m", "other"] {
                fill(&engine, measurement, HOSTS, 2);
            }
            disk.fail_after(operation, FaultKind::Crash);
            let outcome = way.go(&engine).and_then(|commit| engine.wait(commit, Ack::Durable));
            let is_over = !disk.is_dead();
            drop(engine);
            let engine = open(&stop(&disk));
            let left = found(&engine, "m");
            match left.len() {
                0 => whole += 1,
                _ => {
                    assert!(outcome.is_err(), "{way:?} {operation}: it was answered");
                    assert_eq!(left.len(), HOSTS as usize, "{way:?} {operation}");
                    assert!(left.values().all(|times| *times == [1, 2]), "{way:?} {operation}");
                    none += 1;
                }
            }
            let other = found(&engine, "other");
            assert_eq!(other.len(), HOSTS as usize, "{way:?} {operation}");
            assert!(other.values().all(|times| *times == [1, 2]), "{way:?} {operation}");
            if is_over {
                outcome.unwrap();
                break;
            }
        }
        assert!(whole > 0 && none > 0, "{way:?}: {whole} and {none}");
    }
}

const BEFORE: u8 = 0;
const MEANWHILE: u8 = 1;
const AFTER: u8 = 2;
const OVER: u8 = 3;

/// Somebody writes to all of the series in turn, before, while and after they are taken away.
#[test]
fn what_is_written_beside_a_delete_of_many_series_is_what_a_restart_finds() {
    const HOSTS: u32 = 3000;
    const ROUNDS: i64 = 4;
    for way in WAYS {
        let disk = SimDisk::new(7);
        let engine = open(&disk);
        fill(&engine, "m", HOSTS, 1);
        engine.flush().unwrap();
        let state = AtomicU8::new(BEFORE);
        // First host and time of each batch, and the state when it was begun and when it was done.
        let batches = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut batches = Vec::new();
                for time_ns in 2.. {
                    for first in (0..HOSTS).step_by(60) {
                        let begun = state.load(Ordering::SeqCst);
                        if begun == OVER {
                            return batches;
                        }
                        let lines: Vec<Line> =
                            (first..first + 60).map(|host| line("m", host, time_ns)).collect();
                        put(&engine, &lines);
                        batches.push((first, time_ns, begun, state.load(Ordering::SeqCst)));
                    }
                    if time_ns == ROUNDS {
                        state.store(MEANWHILE, Ordering::SeqCst);
                    }
                }
                batches
            });
            while state.load(Ordering::SeqCst) == BEFORE {
                std::thread::yield_now();
            }
            way.go(&engine).unwrap();
            state.store(AFTER, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(50));
            state.store(OVER, Ordering::SeqCst);
            writer.join().unwrap()
        });
        let live = found(&engine, "m");
        let has = |host: u32, time_ns: i64| {
            live.get(&format!("h{host:07}")).is_some_and(|times| times.contains(&time_ns))
        };
        let mut counts = [0; 3];
        for (first, time_ns, begun, done) in batches {
            for host in first..first + 60 {
                match (begun, done) {
                    (_, BEFORE) => {
                        assert!(!has(host, time_ns), "{way:?}: {host} {time_ns} came back")
                    }
                    (AFTER.., _) => {
                        assert!(has(host, time_ns), "{way:?}: {host} {time_ns} is lost")
                    }
                    _ => {}
                }
            }
            counts[usize::from(begun.min(AFTER))] += 1;
        }
        assert!((0..HOSTS).all(|host| !has(host, 1)), "{way:?}");
        assert!(counts.iter().all(|count| *count > 0), "{way:?}: {counts:?}");
        drop(engine);
        assert!(found(&open(&disk.kill()), "m") == live, "{way:?}: a restart finds something else");
    }
}

/// Dropping takes its time, for what is known of each series goes; writing does not wait for that.
#[test]
fn writes_go_on_while_many_series_are_taken_away() {
    const HOSTS: u32 = 200_000;
    for way in WAYS {
        let disk = SimDisk::new(3);
        let engine = open(&disk);
        fill(&engine, "m", HOSTS, 1);
        let state = AtomicU8::new(BEFORE);
        let written = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut written = 0;
                for time_ns in 1.. {
                    if state.load(Ordering::SeqCst) == OVER {
                        break;
                    }
                    put(&engine, &[line("other", 1, time_ns)]);
                    written += u32::from(state.load(Ordering::SeqCst) == MEANWHILE);
                    std::thread::sleep(Duration::from_micros(200));
                }
                written
            });
            state.store(MEANWHILE, Ordering::SeqCst);
            way.go(&engine).unwrap();
            state.store(OVER, Ordering::SeqCst);
            writer.join().unwrap()
        });
        assert_eq!(found(&engine, "m").len(), 0, "{way:?}");
        // Were writes held off for as long as it takes, two or three would get through.
        assert!(written > 20, "{way:?}: {written} writes went through meanwhile");
    }
}
