//! Flushes on machines that give little: few descriptors, no space.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{AppendFile, Disk, FaultKind, Layer, SimDisk};
use foliot_engine::{Config, Engine, Error, Work};
use foliot_model::TimeRange;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const WEEK: i64 = 7 * 86_400 * 1_000_000_000;

/// A disk that opens only so many files for writing at once.
struct Narrow {
    disk: SimDisk,
    open: Arc<AtomicUsize>,
    open_max: usize,
}

/// A file that counts.
struct Counted(Box<dyn AppendFile>, Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AppendFile for Counted {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.append(bytes)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl Layer for Narrow {
    fn below(&self) -> &dyn Disk {
        &self.disk
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        if self.open.fetch_add(1, Ordering::Relaxed) >= self.open_max {
            self.open.fetch_sub(1, Ordering::Relaxed);
            return Err(io::Error::other("too many open files"));
        }
        let counted = |file| Box::new(Counted(file, self.open.clone())) as Box<dyn AppendFile>;
        self.disk.create(path).map(counted)
    }
}

fn config() -> Config {
    Config { background: false, ..Config::default() }
}

/// A sample in each of so many weeks, of two series.
fn lines(weeks: i64) -> Vec<Line> {
    let line = |week: i64, host: i64| Line {
        key: format!("m host=h{host}"),
        time_ns: week * WEEK + host,
        fields: vec![("value".to_owned(), Owned::Integer(week))],
    };
    (0..weeks).flat_map(|week| [line(week, 1), line(week, 2)]).collect()
}

fn count(engine: &Engine) -> usize {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
    sids.into_iter().map(|sid| read(&snapshot, sid, TimeRange::ALL).len()).sum()
}

#[test]
fn years_of_weeks_are_flushed_with_few_files_open() {
    let disk = SimDisk::new(1);
    let narrow = || Arc::new(Narrow { disk: disk.clone(), open: Arc::default(), open_max: 100 });
    let engine = Engine::open(narrow(), Path::new("store"), config()).unwrap();
    write(&engine, 0, &lines(600)).0.unwrap();
    engine.flush().unwrap();
    assert_eq!((engine.stats().parts, count(&engine)), (600, 1200));
    drop(engine);
    let engine = Engine::open(narrow(), Path::new("store"), config()).unwrap();
    assert_eq!(count(&engine), 1200);
}

/// Whether a flush failed only when its manifest was in place: the copy of that was not made, or
/// the log's segments could not go.
fn is_published(flushed: &Result<(), Error>) -> bool {
    let of_later = |error: &Error| {
        let text = error.to_string();
        text.contains("MANIFEST.copy") || text.contains("rename store/wal-")
    };
    flushed.as_ref().is_err_and(of_later)
}

#[test]
fn a_manifest_that_was_not_put_in_place_leaves_no_file_in_doubt() {
    let store = Path::new("store");
    let mut failures = 0;
    for operation in 0..60 {
        let disk = SimDisk::new(2);
        drop(Engine::open(Arc::new(disk.clone()), store, config()).unwrap());
        // Behind a leftover numbers of files go on from its own, which no manifest says yet.
        drop(disk.create(&store.join("part-0000000007.part")).unwrap());
        let engine = Engine::open(Arc::new(disk.clone()), store, config()).unwrap();
        write(&engine, 0, &lines(5)).0.unwrap();
        engine.wait(engine.written(), foliot_engine::Ack::Durable).unwrap();
        disk.fail_after(operation, FaultKind::NoSpace { operations: 1 });
        let failed = engine.flush();
        disk.heal();
        if failed.is_err() && !is_published(&failed) {
            failures += 1;
            let parts: Vec<String> = disk.list(store).unwrap();
            let parts: Vec<_> = parts.iter().filter(|name| name.ends_with(".part")).collect();
            assert!(parts.is_empty(), "operation {operation}: {parts:?} {failed:?}");
        }
    }
    assert!(failures > 10, "{failures}");
}

#[test]
fn a_flush_that_fails_is_told_leaves_nothing_behind_and_keeps_memory_counted() {
    let parts = |disk: &SimDisk| -> BTreeSet<String> {
        let names = disk.list(Path::new("store")).unwrap();
        // A manifest being written is replaced by the next one.
        let is_file = |name: &String| !name.starts_with("wal-") && !name.ends_with(".new");
        names.into_iter().filter(is_file).collect()
    };
    let mut failures = 0;
    for operation in 0..60 {
        let disk = SimDisk::new(2);
        let engine = Engine::open(Arc::new(disk.clone()), Path::new("store"), config()).unwrap();
        write(&engine, 0, &lines(5)).0.unwrap();
        engine.wait(engine.written(), foliot_engine::Ack::Durable).unwrap();
        let before = parts(&disk);
        let held = engine.stats().head_bytes;
        disk.fail_after(operation, FaultKind::NoSpace { operations: 1 });
        let failed = engine.flush();
        disk.heal();
        if failed.is_ok() {
            assert_eq!(engine.troubles(), []);
            continue;
        }
        if is_published(&failed) {
            continue;
        }
        failures += 1;
        assert!(matches!(failed, Err(Error::Io { .. })));
        let troubles = engine.troubles();
        assert_eq!((troubles[0].work, troubles[0].failures), (Work::Flush, 1));
        assert_eq!(parts(&disk), before, "operation {operation}");
        assert!(engine.stats().head_bytes >= held);
        assert_eq!(count(&engine), 10);
        engine.flush().unwrap();
        assert_eq!((engine.troubles(), count(&engine)), (vec![], 10));
        assert_eq!(engine.stats().head_bytes, 0);
        drop(engine);
        let engine = Engine::open(Arc::new(disk.crash()), Path::new("store"), config()).unwrap();
        assert_eq!(count(&engine), 10);
    }
    assert!(failures > 10, "{failures}");
}
