//! Backups: a copy taken at any moment is a store that holds what had been acknowledged.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, FaultKind, Layer, ReadFile, SimDisk};
use foliot_engine::{Ack, Config, Engine, backup, check, is_store};
use foliot_model::TimeRange;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const DIR: &str = "store";

fn open(disk: &SimDisk, dir: &str) -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(disk.clone()), Path::new(dir), config).unwrap()
}

fn put(engine: &Engine, from: i64, to: i64) {
    put_as(engine, from, to, Ack::Os);
}

fn put_as(engine: &Engine, from: i64, to: i64, ack: Ack) {
    let lines: Vec<_> = (from..to)
        .flat_map(|step| (0..3).map(move |host| (step, host)))
        .map(|(step, host)| Line {
            key: format!("m host=h{host}"),
            time_ns: step * 1_000_000_000,
            fields: vec![("a".to_owned(), Owned::Integer(step * 3 + host))],
        })
        .collect();
    let (commit, rejects) = write(engine, 0, &lines);
    assert!(rejects.is_empty());
    engine.wait(commit.unwrap(), ack).unwrap();
}

/// Steps that a store holds, after checking every value and that all series agree.
fn steps(disk: &SimDisk, dir: &str) -> usize {
    let engine = open(disk, dir);
    assert_eq!(engine.damages(), [""; 0]);
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
    let counts: Vec<_> = sids
        .iter()
        .map(|&sid| {
            let identity = snapshot.identity(sid).unwrap().unwrap();
            let host: i64 = identity.labels.get("host").unwrap()[1..].parse().unwrap();
            let samples = read(&snapshot, sid, TimeRange::ALL);
            for (step, (time_ns, value)) in samples.iter().enumerate() {
                assert_eq!(*time_ns, step as i64 * 1_000_000_000);
                assert_eq!(*value, Owned::Integer(step as i64 * 3 + host));
            }
            samples.len()
        })
        .collect();
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    counts[0]
}

#[test]
fn an_open_store_is_copied_as_it_was_acknowledged() {
    let disk = SimDisk::new(1);
    let engine = open(&disk, DIR);
    put(&engine, 0, 100);
    engine.flush().unwrap();
    put(&engine, 100, 150);
    let first = backup(&disk, Path::new(DIR), Path::new("b/1"), None).unwrap();
    assert!(first.files_copied >= 3 && first.files_shared == 0, "{first:?}");
    put(&engine, 150, 200);
    engine.flush().unwrap();
    put(&engine, 200, 210);
    let earlier = Some(Path::new("b/1"));
    let second = backup(&disk, Path::new(DIR), Path::new("b/2"), earlier).unwrap();
    assert!(second.files_shared >= 2, "the first part and index file are shared: {second:?}");
    // What happens to the store afterwards does not touch its copies.
    put(&engine, 210, 250);
    engine.flush().unwrap();
    engine.close().unwrap();
    drop(engine);
    assert_eq!(steps(&disk, "b/1"), 150);
    assert_eq!(steps(&disk, "b/2"), 210);
    // A restore is a copy in the other direction.
    backup(&disk, Path::new("b/1"), Path::new("restored"), None).unwrap();
    assert_eq!(steps(&disk, "restored"), 150);
    let engine = open(&disk, "restored");
    put(&engine, 150, 160);
    engine.flush().unwrap();
    drop(engine);
    assert_eq!(steps(&disk, "restored"), 160);
    assert_eq!(steps(&disk, DIR), 250);
}

#[test]
fn what_a_restored_store_wrote_under_known_names_is_not_mistaken() {
    let disk = SimDisk::new(2);
    let engine = open(&disk, DIR);
    put(&engine, 0, 10);
    engine.flush().unwrap();
    backup(&disk, Path::new(DIR), Path::new("b/1"), None).unwrap();
    backup(&disk, Path::new("b/1"), Path::new("fork"), None).unwrap();
    put(&engine, 10, 20);
    engine.flush().unwrap();
    drop(engine);
    backup(&disk, Path::new(DIR), Path::new("b/2"), Some(Path::new("b/1"))).unwrap();
    // The fork gives the same numbers to other parts.
    let fork = open(&disk, "fork");
    put(&fork, 10, 40);
    fork.flush().unwrap();
    drop(fork);
    backup(&disk, Path::new("fork"), Path::new("b/3"), Some(Path::new("b/2"))).unwrap();
    assert_eq!(steps(&disk, "b/3"), 40);
    assert_eq!(steps(&disk, "b/2"), 20);
}

#[test]
fn errors_name_what_is_wrong() {
    let disk = SimDisk::new(3);
    let message = |from: &str, to: &str| {
        backup(&disk, Path::new(from), Path::new(to), None).unwrap_err().to_string()
    };
    disk.create_dir_all(Path::new("empty")).unwrap();
    assert_eq!(message("empty", "b"), "there is no store in empty");
    let engine = open(&disk, DIR);
    put(&engine, 0, 10);
    engine.flush().unwrap();
    backup(&disk, Path::new(DIR), Path::new("b"), None).unwrap();
    assert!(message(DIR, "b").starts_with("b is not empty, it holds "));
    // A damaged part is not copied as if it were sound.
    let names = disk.list(Path::new(DIR)).unwrap();
    let part = names.iter().find(|name| name.starts_with("part-")).unwrap();
    let path = Path::new(DIR).join(part);
    let file = disk.open(&path).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    // One place is mended in the copy, and told.
    bytes[50] ^= 1;
    disk.create(&path).unwrap().append(&bytes).unwrap();
    let done = backup(&disk, Path::new(DIR), Path::new("mended"), None).unwrap();
    assert_eq!(done.damages_mended, 1);
    assert_eq!(steps(&disk, "mended"), 10);
    bytes[50] ^= 1;
    // In its only page, and in what could mend that.
    let parity = bytes.len() - 40;
    for at in [50, parity] {
        bytes[at] ^= 1;
    }
    disk.create(&path).unwrap().append(&bytes).unwrap();
    let message = message(DIR, "c");
    assert!(message.contains(part) && message.contains("checksum of page 0"), "{message}");
    assert!(!is_store(&disk, Path::new("c")), "a copy that failed is no store");
}

#[test]
fn an_interrupted_copy_is_no_store_or_a_whole_one() {
    let mut whole = 0;
    for after in 1..60 {
        let disk = SimDisk::new(after);
        let engine = open(&disk, DIR);
        put(&engine, 0, 30);
        engine.flush().unwrap();
        put(&engine, 30, 40);
        engine.close().unwrap();
        drop(engine);
        disk.fail_after(after, FaultKind::Crash);
        let _ = backup(&disk, Path::new(DIR), Path::new("b/1"), None);
        let disk = disk.crash();
        if is_store(&disk, Path::new("b/1")) {
            assert_eq!(steps(&disk, "b/1"), 40, "crash after {after}");
            whole += 1;
        }
        assert_eq!(steps(&disk, DIR), 40, "crash after {after}");
    }
    assert!(whole > 0 && whole < 59, "{whole} of 59 copies ended");
}

#[test]
fn a_copy_that_fails_takes_away_what_it_wrote() {
    let kinds =
        [FaultKind::NoSpace { operations: 1 }, FaultKind::SyncError, FaultKind::RenameError];
    for kind in kinds {
        let disk = SimDisk::new(5);
        let engine = open(&disk, DIR);
        put(&engine, 0, 30);
        engine.flush().unwrap();
        put(&engine, 30, 40);
        let mut failed = 0;
        loop {
            disk.fail_after(failed + 1, kind);
            match backup(&disk, Path::new(DIR), Path::new("b"), None) {
                Ok(_) => break,
                Err(error) => {
                    let left = disk.list(Path::new("b")).unwrap_or_default();
                    assert_eq!(left, [""; 0], "{kind:?} {failed}: {error}");
                    failed += 1;
                }
            }
        }
        assert!(failed > 1, "{kind:?} met {failed} operations");
        assert!(is_store(&disk, Path::new("b")));
    }
}

#[test]
fn a_copy_whose_wal_is_lost_says_so() {
    let disk = SimDisk::new(7);
    let engine = open(&disk, DIR);
    put(&engine, 0, 5);
    engine.flush().unwrap();
    put(&engine, 5, 9);
    drop(engine);
    backup(&disk, Path::new(DIR), Path::new("copy"), None).unwrap();
    assert_eq!(steps(&disk, "copy"), 9);
    let lose = |dir: &str| {
        let names = disk.list(Path::new(dir)).unwrap();
        let wal: Vec<_> = names.iter().filter(|name| name.starts_with("wal-")).collect();
        assert!(!wal.is_empty(), "{names:?}");
        wal.iter().for_each(|name| disk.remove(&Path::new(dir).join(name)).unwrap());
    };
    let is_told = |dir: &str| {
        let engine = open(&disk, dir);
        let is_it = |damage: &String| damage.contains("was begun and is missing");
        assert!(engine.damages().iter().any(is_it), "{dir}: {:?}", engine.damages());
    };
    backup(&disk, Path::new("copy"), Path::new("restored"), None).unwrap();
    lose("restored");
    is_told("restored");
    // What is copied of a store that has lost its own is no better.
    backup(&disk, Path::new(DIR), Path::new("second"), None).unwrap();
    lose("second");
    backup(&disk, Path::new("second"), Path::new("third"), None).unwrap();
    is_told("third");
}

/// As a full disk or a copy that was cut short leaves it: nothing, or no more than a header.
#[test]
fn a_log_whose_newest_file_is_empty_says_so_in_the_store_its_check_and_its_copies() {
    for len in [0, 40] {
        let disk = SimDisk::new(9);
        let engine = open(&disk, DIR);
        put(&engine, 0, 5);
        engine.flush().unwrap();
        put_as(&engine, 5, 9, Ack::Durable);
        drop(engine);
        let names = disk.list(Path::new(DIR)).unwrap();
        let wal: Vec<_> = names.iter().filter(|name| name.starts_with("wal-")).collect();
        let newest = Path::new(DIR).join(wal.iter().max().unwrap());
        disk.truncate(&newest, len).unwrap();
        let is_it = |damage: &String| damage.contains("was begun and is empty");
        let done = backup(&disk, Path::new(DIR), Path::new("copy"), None).unwrap();
        assert!(done.is_wal_end_missing, "{len}: {done:?}");
        // Also a copy of the copy.
        let again = backup(&disk, Path::new("copy"), Path::new("second"), None).unwrap();
        assert!(again.is_wal_end_missing, "{len}: {again:?}");
        for dir in [DIR, "copy", "second"] {
            let shared: Arc<dyn Disk> = Arc::new(disk.clone());
            let checked = check(&shared, Path::new(dir)).unwrap();
            assert!(checked.problems.iter().any(is_it), "{len} {dir}: {checked:?}");
            let engine = open(&disk, dir);
            assert!(engine.damages().iter().any(is_it), "{len} {dir}: {:?}", engine.damages());
            // What is written from now on is there, and nothing is missed any more.
            put(&engine, 5, 7);
            drop(engine);
            assert_eq!(steps(&disk, dir), 7, "{len} {dir}");
        }
    }
}

/// One in between tells by itself how much is gone.
#[test]
fn a_log_with_an_empty_file_in_between_says_so() {
    let disk = SimDisk::new(10);
    for step in 0..3 {
        let engine = open(&disk, DIR);
        put(&engine, step, step + 1);
        drop(engine);
    }
    let mut wal = disk.list(Path::new(DIR)).unwrap();
    wal.retain(|name| name.starts_with("wal-"));
    wal.sort();
    assert!(wal.len() >= 3, "{wal:?}");
    disk.truncate(&Path::new(DIR).join(&wal[1]), 0).unwrap();
    let done = backup(&disk, Path::new(DIR), Path::new("copy"), None).unwrap();
    assert!(done.wal_damaged_bytes > 0, "{done:?}");
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    for dir in [DIR, "copy"] {
        let checked = check(&shared, Path::new(dir)).unwrap();
        let is_it = |problem: &String| problem.contains(&wal[1]) && problem.contains("is empty");
        assert!(checked.problems.iter().any(is_it), "{dir}: {checked:?}");
    }
}

/// A disk whose store gives its log back while the first stretch of it is read for a copy.
struct Busy {
    disk: SimDisk,
    engine: Arc<Engine>,
    is_done: AtomicBool,
}

/// A stretch of the log that was cut before it was read.
struct Cut {
    len: u64,
    engine: Arc<Engine>,
}

impl ReadFile for Cut {
    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<()> {
        self.engine.flush().unwrap();
        Err(io::ErrorKind::UnexpectedEof.into())
    }
    fn len(&self) -> u64 {
        self.len
    }
}

impl Layer for Busy {
    fn below(&self) -> &dyn Disk {
        &self.disk
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        let file = self.disk.open(path)?;
        let is_wal = path.to_string_lossy().contains("store/wal-");
        match is_wal && !self.is_done.swap(true, Ordering::Relaxed) {
            true => Ok(Arc::new(Cut { len: file.len(), engine: self.engine.clone() })),
            false => Ok(file),
        }
    }
}

/// It is no damage: what was in it lies in a part by then.
#[test]
fn a_stretch_of_the_log_that_is_given_back_while_it_is_copied_fails_no_backup() {
    let disk = SimDisk::new(8);
    let engine = Arc::new(open(&disk, DIR));
    put(&engine, 0, 5);
    let busy = Busy { disk: disk.clone(), engine: engine.clone(), is_done: AtomicBool::new(false) };
    backup(&busy, Path::new(DIR), Path::new("copy"), None).unwrap();
    assert!(busy.is_done.load(Ordering::Relaxed), "the log was read");
    assert_eq!(steps(&disk, "copy"), 5);
}
