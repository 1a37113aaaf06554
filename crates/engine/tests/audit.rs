//! The audit log: what is deleted has a line on the disk before it goes.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{AppendFile, Disk, FaultKind, Layer, SimDisk};
use foliot_engine::{Caller, Config, Engine};
use foliot_model::{Selector, Test, TimeRange};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const LOG: &str = "store/audit.log";
const LOG_BEFORE: &str = "store/audit.log.1";

fn open(disk: &SimDisk) -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(disk.clone()), Path::new("store"), config).unwrap()
}

/// Ten samples at seconds 0 to 9.
fn fill(engine: &Engine, measurement: &str) {
    let line = |second: i64| Line {
        key: format!("{measurement} host=a"),
        time_ns: second * 1_000_000_000,
        fields: vec![("v".to_owned(), Owned::Integer(second))],
    };
    write(engine, 0, &(0..10).map(line).collect::<Vec<_>>()).0.unwrap();
}

fn caller() -> Caller {
    let (from, by) = ("192.0.2.7:4242".to_owned(), "ann".to_owned());
    Caller { door: "telnet", from, by, asked: String::new() }
}

fn text(disk: &SimDisk, path: &str) -> String {
    let file = disk.open(Path::new(path)).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn samples(engine: &Engine, measurement: &str) -> usize {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, measurement), TimeRange::ALL).unwrap();
    sids.into_iter().map(|sid| read(&snapshot, sid, TimeRange::ALL).len()).sum()
}

/// The parts of a line that do not depend on the clock or on how samples are stored.
fn told(line: &str) -> (&str, &str) {
    let start = line.find(",\"door\"").unwrap();
    line[start..].split_once(",\"bytes\":").unwrap_or((&line[start..], ""))
}

#[test]
fn what_is_taken_away_is_told_even_if_the_power_fails_at_once() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    let id = engine.create_namespace("d", "p").unwrap();
    fill(&engine, "m");
    fill(&engine, "n");
    let range = TimeRange::new(0, 3_000_000_000);
    engine.delete(&selector(0, "m"), range, &caller()).unwrap();
    engine.drop_series(&selector(0, "n"), &caller()).unwrap();
    engine.set_retention(0, Some(Duration::from_secs(1 << 30)), &caller()).unwrap();
    engine.drop_namespace(id, &caller()).unwrap();
    // Nothing is there: nothing to tell.
    engine.delete(&selector(0, "m"), range, &caller()).unwrap();
    engine.drop_series(&selector(0, "n"), &caller()).unwrap();
    engine.set_retention(0, Some(Duration::from_secs(1 << 30)), &caller()).unwrap();
    let disk = disk.crash();
    let log = text(&disk, LOG);
    let lines: Vec<_> = log.lines().map(|line| told(line).0).collect();
    let who = ",\"door\":\"telnet\",\"from\":\"192.0.2.7:4242\",\"by\":\"ann\"";
    let of = |database: &str, rest: &str| format!("{who},\"database\":{database},\"act\":{rest}");
    assert_eq!(
        lines,
        [
            of(
                "\"default\",\"policy\":\"autogen\"",
                "\"delete\",\"selector\":\"\\\"m\\\".* {}\",\"first_ns\":0,\"last_ns\":3000000000,\
                 \"series\":1,\"samples\":4"
            ),
            of(
                "\"default\",\"policy\":\"autogen\"",
                "\"drop series\",\"selector\":\"\\\"n\\\".* {}\",\"series\":1,\"samples\":10"
            ),
            of(
                "\"default\",\"policy\":\"autogen\"",
                "\"keep\",\"kept_s\":null,\"keep_s\":1073741824}"
            ),
            of("\"d\",\"policy\":\"p\"", "\"drop namespace\",\"series\":0,\"samples\":0"),
        ]
    );
    assert!(log.lines().all(|line| line.starts_with("{\"time_ns\":1") && line.ends_with('}')));
}

#[test]
fn a_delete_that_cannot_be_told_is_not_done() {
    for (nth, fault) in [(2, FaultKind::SyncError), (1, FaultKind::NoSpace { operations: 1 })] {
        let disk = SimDisk::new(2);
        let engine = open(&disk);
        fill(&engine, "m");
        engine.wait(engine.written(), foliot_engine::Ack::Durable).unwrap();
        disk.fail_after(nth, fault);
        let failed = engine.delete(&selector(0, "m"), TimeRange::ALL, &caller());
        let error = failed.unwrap_err().to_string();
        assert!(error.contains("audit.log"), "{error}");
        assert_eq!(samples(&engine, "m"), 10, "{fault:?}");
        // After a failed sync there is no second try; space may come back.
        let again = engine.delete(&selector(0, "m"), TimeRange::ALL, &caller());
        assert_eq!(again.is_ok(), fault != FaultKind::SyncError, "{again:?}");
    }
}

#[test]
fn a_line_that_was_cut_off_does_not_spoil_the_next() {
    let disk = SimDisk::new(3);
    drop(open(&disk));
    let mut log = disk.create(Path::new(LOG)).unwrap();
    log.append(b"{\"time_ns\":1}\n{\"time").unwrap();
    drop(log);
    let engine = open(&disk);
    fill(&engine, "m");
    engine.delete(&selector(0, "m"), TimeRange::ALL, &caller()).unwrap();
    let log = text(&disk, LOG);
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!((lines.len(), lines[1]), (3, "{\"time"));
    assert!(lines[2].starts_with("{\"time_ns\":"), "{log}");
}

#[test]
fn the_last_lines_are_read_from_both_files_the_newest_first() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    assert_eq!(engine.audited(9).unwrap(), (Vec::new(), true));
    let mut before = disk.create(Path::new(LOG_BEFORE)).unwrap();
    before.append(b"{\"time_ns\":1}\n{\"time_ns\":2}\n").unwrap();
    fill(&engine, "m");
    engine.delete(&selector(0, "m"), TimeRange::ALL, &caller()).unwrap();
    let (lines, is_whole) = engine.audited(9).unwrap();
    assert_eq!((lines.len(), &*lines[1], &*lines[2]), (3, "{\"time_ns\":2}", "{\"time_ns\":1}"));
    assert!(is_whole && lines[0].contains("\"act\":\"delete\""), "{lines:?}");
    let (lines, is_whole) = engine.audited(2).unwrap();
    assert_eq!((lines.len(), is_whole), (2, false));
    // What is longer than what is read begins with a whole line.
    let long = format!("{{\"time_ns\":3,\"x\":\"{}\"}}\n{{\"time_ns\":4}}\n", "x".repeat(1 << 20));
    before.append(long.as_bytes()).unwrap();
    let (lines, is_whole) = engine.audited(9).unwrap();
    assert_eq!((lines.len(), &*lines[1], is_whole), (2, "{\"time_ns\":4}", false));
}

#[test]
fn the_log_is_bounded() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    let names: Vec<String> = (0..16).map(|n| format!("{n}{}", "x".repeat(6000))).collect();
    let wordy = Selector {
        names: vec![foliot_model::Name { measurement: Test::AnyOf(names), field: Test::Any }],
        ..selector(0, "")
    };
    let wordy = Selector { names: [wordy.names, selector(0, "m").names].concat(), ..wordy };
    let line_bytes = {
        fill(&engine, "m");
        engine.delete(&wordy, TimeRange::ALL, &caller()).unwrap();
        text(&disk, LOG).len()
    };
    assert!((4096..5000).contains(&line_bytes), "{line_bytes}");
    for _ in 0..(16 << 20) / line_bytes + 10 {
        fill(&engine, "m");
        engine.delete(&wordy, TimeRange::ALL, &caller()).unwrap();
    }
    let (log, before) = (text(&disk, LOG), text(&disk, LOG_BEFORE));
    assert!(before.len() >= 8 << 20 && before.len() < (8 << 20) + 5000, "{}", before.len());
    assert!(log.len() <= (8 << 20) + 5000 && log.ends_with("}\n"), "{}", log.len());
}

/// A disk that takes a while for a sync of the audit log, or fails it.
struct Slow {
    disk: SimDisk,
    syncs: Arc<AtomicU64>,
    fails: Arc<AtomicBool>,
}

struct SlowFile {
    file: Box<dyn AppendFile>,
    syncs: Arc<AtomicU64>,
    fails: Arc<AtomicBool>,
}

impl AppendFile for SlowFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.append(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        std::thread::sleep(Duration::from_millis(30));
        self.syncs.fetch_add(1, Ordering::SeqCst);
        match self.fails.load(Ordering::SeqCst) {
            true => Err(io::Error::other("the medium is worn")),
            false => self.file.sync(),
        }
    }
    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl Layer for Slow {
    fn below(&self) -> &dyn Disk {
        &self.disk
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = self.disk.create(path)?;
        let (syncs, fails) = (self.syncs.clone(), self.fails.clone());
        match path == Path::new(LOG) {
            true => Ok(Box::new(SlowFile { file, syncs, fails })),
            false => Ok(file),
        }
    }
}

#[test]
fn lines_that_come_together_share_a_sync_and_its_failure() {
    const CALLERS: usize = 100;
    let (disk, syncs) = (SimDisk::new(6), Arc::<AtomicU64>::default());
    let fails = Arc::<AtomicBool>::default();
    let slow = Slow { disk: disk.clone(), syncs: syncs.clone(), fails: fails.clone() };
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(Arc::new(slow), Path::new("store"), config).unwrap();
    /// What all of them are told who ask at once.
    fn ask_all(engine: &Engine) -> Vec<Result<(), foliot_engine::Error>> {
        std::thread::scope(|scope| {
            let ask = |number| {
                scope.spawn(move || engine.audit_access("look", &format!("s{number}"), &caller()))
            };
            let asked: Vec<_> = (0..CALLERS).map(ask).collect();
            asked.into_iter().map(|asked| asked.join().unwrap()).collect()
        })
    }
    assert!(ask_all(&engine).iter().all(Result::is_ok));
    let shared = syncs.load(Ordering::SeqCst);
    assert!((1..=CALLERS as u64 / 4).contains(&shared), "{shared} syncs for {CALLERS} lines");
    // What was answered has its line, once, also when the power fails.
    let log = text(&disk.crash(), LOG);
    let mut found: Vec<&str> = log
        .lines()
        .map(|line| line.split_once("\"subject\":\"").unwrap().1.trim_end_matches("\"}"))
        .collect();
    found.sort_unstable();
    let mut expected: Vec<String> = (0..CALLERS).map(|number| format!("s{number}")).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);

    let (disk, syncs) = (SimDisk::new(6), Arc::<AtomicU64>::default());
    let slow = Slow { disk, syncs, fails: fails.clone() };
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(Arc::new(slow), Path::new("store"), config).unwrap();
    fails.store(true, Ordering::SeqCst);
    for told in ask_all(&engine) {
        let error = told.unwrap_err().to_string();
        assert!(error.contains("audit.log"), "{error}");
    }
    fails.store(false, Ordering::SeqCst);
    assert!(engine.audit_access("look", "later", &caller()).is_err(), "a sync is not tried again");
}
