//! Damage to every kind of file: the store starts, never panics and never answers with a wrong
//! value. A flipped bit costs nothing; of larger damage it says what it costs.

use crate::support::{Line, Owned, selector, write};
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Checked, Config, Engine, check};
use foliot_model::{Samples, TimeRange};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "store";

fn open(disk: &SimDisk) -> Result<Engine, foliot_engine::Error> {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(disk.clone()), Path::new(DIR), config)
}

fn expected(host: i64, step: i64) -> Owned {
    Owned::Integer(host * 1000 + step % 37)
}

fn lines(from: i64, to: i64) -> Vec<Line> {
    let line = |(step, host): (i64, i64)| Line {
        key: format!("m host=h{host}"),
        time_ns: step * 10_000_000_000,
        fields: vec![("a".to_owned(), expected(host, step))],
    };
    (from..to).flat_map(|step| (0..5).map(move |host| (step, host))).map(line).collect()
}

/// A store with two parts, two index files, a catalog and a wal.
fn store() -> SimDisk {
    let disk = SimDisk::new(3);
    let engine = open(&disk).unwrap();
    for (from, to) in [(0, 200), (200, 400), (400, 450)] {
        let (commit, rejects) = write(&engine, 0, &lines(from, to));
        assert!(rejects.is_empty());
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
        let commit = engine.catalog_put("note", &format!("k{from}"), b"some fact").unwrap();
        engine.wait(commit, Ack::Durable).unwrap();
        if to < 450 {
            engine.flush().unwrap();
        }
    }
    engine.close().unwrap();
    disk
}

fn bytes(disk: &SimDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn replace(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    disk.create(path).unwrap().append(bytes).unwrap();
}

/// Opens and reads everything; every value found must be the one written. Returns how many were
/// found and whether anything was reported.
fn examine(disk: &SimDisk) -> (usize, bool) {
    let engine = match open(disk) {
        Ok(engine) => engine,
        Err(error) => {
            assert!(error.to_string().contains(DIR), "{error} names a file");
            return (0, true);
        }
    };
    let mut reported = !engine.damages().is_empty();
    let snapshot = engine.snapshot();
    let mut found = 0;
    for sid in snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap() {
        let identity = snapshot.identity(sid).unwrap().unwrap();
        let host: i64 = identity.labels.get("host").unwrap()[1..].parse().unwrap();
        let Ok(mut scan) = snapshot.scan(sid, TimeRange::ALL) else {
            reported = true;
            continue;
        };
        let mut samples = Samples::default();
        loop {
            samples.clear();
            match scan.next(&mut samples) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    assert!(error.to_string().contains("part-"), "{error} names the part");
                    reported = true;
                    break;
                }
            }
            for (time_ns, value) in samples.iter() {
                let step = time_ns / 10_000_000_000;
                assert_eq!(Owned::of(value), expected(host, step), "host {host} step {step}");
                found += 1;
            }
        }
    }
    (found, reported)
}

const ALL: usize = 450 * 5;

fn checked(disk: &SimDisk) -> Checked {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    check(&disk, Path::new(DIR)).unwrap()
}

fn names(disk: &SimDisk) -> Vec<String> {
    let mut names = disk.list(Path::new(DIR)).unwrap();
    names.sort();
    names
}

#[test]
fn a_sound_store_has_everything() {
    let disk = store();
    assert_eq!(examine(&disk), (ALL, false));
    let kinds = ["MANIFEST", "part-", "index-", "catalog-", "wal-"];
    for kind in kinds {
        assert!(names(&disk).iter().any(|name| name.starts_with(kind)), "{kind}");
    }
}

#[test]
fn a_flipped_bit_anywhere_is_found() {
    let disk = store();
    for name in names(&disk) {
        let path = PathBuf::from(DIR).join(&name);
        let good = bytes(&disk, &path);
        let is_wal = name.starts_with("wal-");
        let step = (good.len() / 150).max(1);
        for at in (0..good.len()).step_by(step) {
            let mut bad = good.clone();
            bad[at] ^= 1 << (at % 8);
            replace(&disk, &path, &bad);
            // Before a start mends it.
            let is_told = !checked(&disk).problems.is_empty();
            let (found, reported) = examine(&disk);
            // In the newest wal segment a bad frame is what a power cut leaves, and no news.
            assert!(found == ALL || is_wal, "{name} byte {at}: {found} of {ALL}");
            // What a start does not need is told by a check.
            assert!(is_told || is_wal, "{name} byte {at}: unseen by a check");
            assert!(reported || is_told || is_wal, "{name} byte {at}: unseen");
            restore(&disk);
            replace(&disk, &path, &good);
        }
    }
}

/// Takes back what opening a damaged store did: a part set aside, a manifest without it.
fn restore(disk: &SimDisk) {
    let fresh = store();
    for name in names(disk) {
        let path = PathBuf::from(DIR).join(&name);
        let _ = disk.remove(&path);
    }
    for name in names(&fresh) {
        let path = PathBuf::from(DIR).join(&name);
        replace(disk, &path, &bytes(&fresh, &path));
    }
}

#[test]
fn files_cut_short_never_mislead() {
    let disk = store();
    for name in names(&disk) {
        let path = PathBuf::from(DIR).join(&name);
        let good = bytes(&disk, &path);
        for at in (0..good.len()).step_by((good.len() / 60).max(1)) {
            replace(&disk, &path, &good[..at]);
            let (found, reported) = examine(&disk);
            assert!(reported || name.starts_with("wal-"), "{name} cut at {at}: {found} of {ALL}");
            restore(&disk);
        }
    }
}

#[test]
fn files_swapped_or_missing_are_found() {
    let disk = store();
    let parts: Vec<_> = names(&disk).into_iter().filter(|name| name.starts_with("part-")).collect();
    let path = |at: usize| PathBuf::from(DIR).join(&parts[at]);
    let (one, two) = (bytes(&disk, &path(0)), bytes(&disk, &path(1)));
    replace(&disk, &path(0), &two);
    replace(&disk, &path(1), &one);
    assert!(examine(&disk).1, "parts swapped");
    for kind in ["part-", "index-", "catalog-", "MANIFEST"] {
        let disk = store();
        let name = names(&disk).into_iter().find(|name| name.starts_with(kind)).unwrap();
        disk.remove(&PathBuf::from(DIR).join(name)).unwrap();
        assert!(examine(&disk).1, "{kind} missing");
    }
}

fn remove_newest_wal(disk: &SimDisk) -> (String, Vec<u8>) {
    let mut names = names(disk);
    names.retain(|name| name.ends_with(".log"));
    let newest = names.pop().unwrap();
    let path = PathBuf::from(DIR).join(&newest);
    let held = bytes(disk, &path);
    disk.remove(&path).unwrap();
    (newest, held)
}

/// Opens the store as a server does, and writes one more sample of the first host durably.
fn work(disk: &SimDisk, step: i64) {
    let engine = open(disk).unwrap();
    let (commit, rejects) = write(&engine, 0, &lines(step, step + 1));
    assert!(rejects.is_empty());
    engine.wait(commit.unwrap(), Ack::Durable).unwrap();
}

#[test]
fn the_newest_segment_of_the_log_is_missed() {
    // The only one of a store that never wrote a part; one behind another, of the next process;
    // one that was begun by a flush; and the same after the power failed.
    let after = |processes: i64| {
        let disk = SimDisk::new(5);
        (0..processes).for_each(|step| work(&disk, step));
        disk
    };
    let all: [&dyn Fn() -> SimDisk; 3] = [&|| after(1), &|| after(2), &store];
    for make in all {
        for disk in [make(), make().crash()] {
            assert_eq!(checked(&disk).problems, Vec::<String>::new());
            assert_eq!(open(&disk).unwrap().damages(), Vec::<String>::new());
            let (name, held) = remove_newest_wal(&disk);
            assert!(checked(&disk).problems.iter().any(|problem| problem.contains(&name)));
            // It is told by each start, until something is written in its place.
            for _ in 0..2 {
                let engine = open(&disk).unwrap();
                assert!(engine.damages().iter().any(|damage| damage.contains(&name)), "{name}");
                let troubles: Vec<_> = engine.troubles().iter().map(|t| t.to_string()).collect();
                assert!(troubles.iter().any(|trouble| trouble.contains("newest segment")));
            }
            let path = PathBuf::from(DIR).join(&name);
            replace(&disk, &path, &held);
            assert_eq!(open(&disk).unwrap().damages(), Vec::<String>::new());
            remove_newest_wal(&disk);
            work(&disk, 500);
            assert_eq!(open(&disk).unwrap().damages(), Vec::<String>::new());
        }
    }
}

/// What a full disk kept out of the log goes there later, also when a flush has written it to parts
/// meanwhile: then a segment begins before what parts hold, and has newer samples too.
#[test]
fn the_newest_segment_is_missed_that_a_flush_overtook() {
    let mut overtaken = 0;
    for operations in 1..12 {
        for is_cut in [false, true] {
            let disk = SimDisk::new(6);
            work(&disk, 1);
            let engine = open(&disk).unwrap();
            disk.fail_after(0, FaultKind::NoSpace { operations });
            let commit = write(&engine, 0, &lines(2, 3)).0.unwrap();
            let _ = engine.wait(commit, Ack::Os);
            let _ = engine.flush();
            disk.heal();
            engine.flush().unwrap();
            engine.wait(write(&engine, 0, &lines(3, 4)).0.unwrap(), Ack::Durable).unwrap();
            drop(engine);
            let disk = if is_cut { disk.crash() } else { disk.kill() };
            assert_eq!(open(&disk).unwrap().damages(), Vec::<String>::new());
            let (name, _) = remove_newest_wal(&disk);
            let base = name.trim_start_matches("wal-").trim_end_matches(".log");
            overtaken += u64::from(u64::from_str_radix(base, 16).unwrap() < commit.lsn);
            let damages = open(&disk).unwrap().damages().to_vec();
            assert!(damages.iter().any(|damage| damage.contains(&name)), "{damages:?}");
        }
    }
    assert!(overtaken > 0, "no segment begins before what was flushed");
}
