//! Check finds every damage; repair makes a store that starts, has what could be read, never a
//! wrong value, and keeps what it replaced.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "test code says what must hold by unwrapping"
)]

mod support;

use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Caller, Checked, Config, Engine, check, repair};
use foliot_model::TimeRange;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use support::{Line, Owned, read, selector, write};

const DIR: &str = "store";
const HOSTS: i64 = 300;
const STEPS: i64 = 120;
const ALL: u64 = (HOSTS * STEPS) as u64;

fn open(disk: &SimDisk) -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap()
}

/// Values that hardly compress, so that parts have several pages.
fn expected(host: i64, step: i64) -> Owned {
    let mixed = (host * STEPS + step).wrapping_mul(0x2545_f491_4f6c_dd1d);
    Owned::Integer(mixed ^ (mixed >> 29))
}

/// A store with two parts of several pages, an index file, a catalog and a wal.
fn store() -> SimDisk {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    for (from, to) in [(0, 50), (50, 110), (110, STEPS)] {
        let line = |(step, host): (i64, i64)| Line {
            key: format!("m host=h{host}"),
            time_ns: step * 10_000_000_000,
            fields: vec![("a".to_owned(), expected(host, step))],
        };
        let hosts = |step| (0..HOSTS).map(move |host| (step, host));
        let lines: Vec<_> = (from..to).flat_map(hosts).map(line).collect();
        let (commit, rejects) = write(&engine, 0, &lines);
        assert!(rejects.is_empty());
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
        let commit = engine.catalog_put("note", &format!("k{from}"), b"some fact").unwrap();
        engine.wait(commit, Ack::Durable).unwrap();
        if to < STEPS {
            engine.flush().unwrap();
        }
    }
    engine.close().unwrap();
    disk
}

fn checked(disk: &SimDisk) -> Checked {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    check(&disk, Path::new(DIR)).unwrap()
}

fn repaired(disk: &SimDisk) -> Result<Vec<String>, foliot_engine::Error> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    repair(&disk, Path::new(DIR))
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

fn names(disk: &SimDisk, prefix: &str) -> Vec<String> {
    let mut names = disk.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.starts_with(prefix));
    names.sort();
    names
}

/// Samples found; every value must be the one written.
fn found(disk: &SimDisk) -> u64 {
    let engine = open(disk);
    assert_eq!(engine.damages(), [""; 0]);
    let snapshot = engine.snapshot();
    let mut found = 0;
    for sid in snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap() {
        let identity = snapshot.identity(sid).unwrap().unwrap();
        let host: i64 = identity.labels.get("host").unwrap()[1..].parse().unwrap();
        for (time_ns, value) in read(&snapshot, sid, TimeRange::ALL) {
            assert_eq!(value, expected(host, time_ns / 10_000_000_000));
            found += 1;
        }
    }
    found
}

#[test]
fn a_sound_store_has_no_problems_and_nothing_to_mend() {
    let disk = store();
    let checked = checked(&disk);
    assert_eq!(checked.problems, [""; 0]);
    assert_eq!(checked.series, HOSTS as u64);
    assert_eq!(checked.samples, (HOSTS * 110) as u64, "what is in parts");
    assert!(checked.frames > 0 && checked.blocks >= 600 && checked.files >= 7, "{checked:?}");
    assert_eq!(repaired(&disk).unwrap(), [""; 0]);
    assert_eq!(found(&disk), ALL);
}

#[test]
fn a_flipped_bit_in_a_part_costs_little() {
    for part in 0..2 {
        let name = &names(&store(), "part-")[part];
        let path = PathBuf::from(DIR).join(name);
        let len = bytes(&store(), &path).len();
        let mut costs = Vec::new();
        for at in (0..len).step_by(len / 20) {
            let disk = store();
            let mut bad = bytes(&disk, &path);
            bad[at] ^= 1 << (at % 8);
            replace(&disk, &path, &bad);
            let problems = checked(&disk).problems;
            assert!(problems.iter().any(|problem| problem.contains(name)), "{at}: {problems:?}");
            let said = repaired(&disk).unwrap();
            assert!(said[0].contains(name) && said[0].contains(": saved "), "{said:?}");
            let aside = PathBuf::from(DIR).join("quarantine").join(name);
            assert_eq!(bytes(&disk, &aside), bad, "the damaged file is kept");
            assert_eq!(checked(&disk).problems, [""; 0]);
            costs.push(ALL - found(&disk));
        }
        // Header, footer and directory lie in the first and last page: without them nothing of the
        // part can be read. A page in between costs what lies in it and what it indexes.
        let whole = [50, 60][part] * HOSTS as u64;
        assert!(costs.iter().all(|cost| (1..=whole).contains(cost)), "{costs:?}");
        let partial = costs.iter().filter(|cost| **cost < whole).count();
        assert!(partial * 2 > costs.len(), "{costs:?}");
    }
}

#[test]
fn what_was_deleted_stays_deleted() {
    let disk = store();
    let engine = open(&disk);
    let range = TimeRange::new(20 * 10_000_000_000, 39 * 10_000_000_000);
    let (deleted, commit) = engine.delete(&selector(0, "m"), range, &Caller::default()).unwrap();
    assert_eq!(deleted.samples, (HOSTS * 20) as u64);
    engine.wait(commit, Ack::Durable).unwrap();
    drop(engine);
    let name = &names(&disk, "part-")[0];
    let path = PathBuf::from(DIR).join(name);
    let mut bad = bytes(&disk, &path);
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    replace(&disk, &path, &bad);
    disk.remove(&PathBuf::from(DIR).join("MANIFEST")).unwrap();
    let said = repaired(&disk).unwrap();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(checked(&disk).problems, [""; 0]);
    let left = found(&disk);
    assert!(left < ALL - deleted.samples && left > ALL - (HOSTS * 50) as u64, "{left}");
    let snapshot = open(&disk).snapshot();
    for sid in snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap() {
        assert_eq!(read(&snapshot, sid, range), [], "series {sid}");
    }
}

#[test]
fn a_lost_or_damaged_manifest_is_made_anew() {
    let manifest = PathBuf::from(DIR).join("MANIFEST");
    for at in [None, Some(0), Some(9), Some(30)] {
        let disk = store();
        let mut bad = bytes(&disk, &manifest);
        disk.remove(&manifest).unwrap();
        if let Some(at) = at {
            bad[at] ^= 4;
            replace(&disk, &manifest, &bad);
            assert!(checked(&disk).problems[0].contains("MANIFEST"));
        }
        let said = repaired(&disk).unwrap();
        assert!(said.last().unwrap().contains("anew from 2 parts, 1 index files"), "{said:?}");
        assert_eq!(checked(&disk).problems, [""; 0]);
        assert_eq!(found(&disk), ALL);
        let engine = open(&disk);
        assert_eq!(engine.catalog_list("note").len(), 3);
        // New files do not take the numbers of old ones.
        engine.flush().unwrap();
        drop(engine);
        assert_eq!(found(&disk), ALL);
    }
}

#[test]
fn a_damaged_catalog_keeps_its_whole_facts() {
    let disk = store();
    let name = &names(&disk, "catalog-")[0];
    let path = PathBuf::from(DIR).join(name);
    let good = bytes(&disk, &path);
    replace(&disk, &path, &good[..good.len() - 3]);
    assert!(checked(&disk).problems[0].contains(name));
    let said = repaired(&disk).unwrap();
    assert!(said[1].starts_with("saved 0 facts of it to "), "its only page is damaged: {said:?}");
    assert_eq!(checked(&disk).problems, [""; 0]);
    assert_eq!(found(&disk), ALL);
    assert_eq!(open(&disk).catalog_list("note").len(), 1, "what the wal still holds");
}

#[test]
fn a_damaged_index_file_is_left_for_a_backup() {
    let disk = store();
    let name = &names(&disk, "index-")[0];
    let path = PathBuf::from(DIR).join(name);
    let good = bytes(&disk, &path);
    let mut bad = good.clone();
    bad[40] ^= 1;
    replace(&disk, &path, &bad);
    assert!(checked(&disk).problems[0].contains(name));
    let error = repaired(&disk).unwrap_err().to_string();
    assert!(error.contains(name) && error.contains("copy it from a backup"), "{error}");
    replace(&disk, &path, &good);
    assert_eq!(found(&disk), ALL);
}

#[test]
fn what_is_no_store_is_not_made_one() {
    let disk = SimDisk::new(1);
    disk.create_dir_all(Path::new(DIR)).unwrap();
    let error = repaired(&disk).unwrap_err().to_string();
    assert_eq!(error, "there is no store in store");
    let engine = open(&disk);
    let error = repaired(&disk).unwrap_err().to_string();
    assert!(error.contains("in use by another Foliot process"), "{error}");
    drop(engine);
}
