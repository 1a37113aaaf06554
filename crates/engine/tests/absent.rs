//! Files that are not there, or not readable, at one start: nothing is deleted for that, and what
//! they hold is there again with them.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Caller, Commit, Config, Engine, Work};
use foliot_model::TimeRange;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const DIR: &str = "store";
const STEP_NS: i64 = 10_000_000_000;

fn open(disk: &SimDisk) -> Engine {
    let config = Config {
        background: false,
        merge_parts: 2,
        delete_deadline: Duration::ZERO,
        ..Config::default()
    };
    Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap()
}

/// One sample for each of these steps: the round it was written in.
fn put(engine: &Engine, round: i64, steps: std::ops::Range<i64>) {
    engine.wait(hand(engine, round, steps), Ack::Durable).unwrap();
    engine.flush().unwrap();
}

/// Gives samples to the store, which nothing waits for.
fn hand(engine: &Engine, round: i64, steps: std::ops::Range<i64>) -> Commit {
    let line = |step: i64| Line {
        key: "m host=a".to_owned(),
        time_ns: step * STEP_NS,
        fields: vec![("a".to_owned(), Owned::Integer(round))],
    };
    let (commit, rejects) = write(engine, 0, &steps.map(line).collect::<Vec<_>>());
    assert!(rejects.is_empty());
    commit.unwrap()
}

/// Steps and the rounds that their samples are of.
fn samples(engine: &Engine) -> Vec<(i64, i64)> {
    let snapshot = engine.snapshot();
    let mut all = Vec::new();
    for sid in snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap() {
        for (time_ns, value) in read(&snapshot, sid, TimeRange::ALL) {
            let Owned::Integer(round) = value else { panic!("{value:?}") };
            all.push((time_ns / STEP_NS, round));
        }
    }
    all
}

fn rounds(engine: &Engine) -> Vec<i64> {
    let mut rounds: Vec<i64> = samples(engine).into_iter().map(|(_, round)| round).collect();
    rounds.dedup();
    rounds
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(DIR).join(name)
}

fn parts(disk: &SimDisk) -> Vec<String> {
    let mut names = disk.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.starts_with("part-"));
    names.sort();
    names
}

fn bytes(disk: &SimDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn replace(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    let mut file = disk.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

#[test]
fn a_part_that_was_missing_at_starts_is_there_again() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    for round in 0..3 {
        put(&engine, round, round * 10..round * 10 + 10);
    }
    drop(engine);
    let name = parts(&disk)[1].clone();
    let away = PathBuf::from(&name);
    disk.rename(&path(&name), &away).unwrap();
    for _ in 0..2 {
        let engine = open(&disk);
        assert!(engine.damages()[0].contains(&name), "{:?}", engine.damages());
        assert_eq!(engine.stats().parts_absent, 1);
        assert_eq!(rounds(&engine), [0, 2]);
    }
    disk.rename(&away, &path(&name)).unwrap();
    let engine = open(&disk);
    assert_eq!((engine.damages(), engine.stats().parts_absent), (&[][..], 0));
    assert_eq!(rounds(&engine), [0, 1, 2]);
}

#[test]
fn what_was_deleted_while_a_part_was_missing_stays_deleted() {
    let disk = SimDisk::new(2);
    let engine = open(&disk);
    put(&engine, 0, 0..30);
    drop(engine);
    let name = parts(&disk)[0].clone();
    let away = PathBuf::from(&name);
    disk.rename(&path(&name), &away).unwrap();
    let engine = open(&disk);
    put(&engine, 1, 30..40);
    let range = TimeRange::new(5 * STEP_NS, 34 * STEP_NS);
    let (deleted, commit) = engine.delete(&selector(0, "m"), range, &Caller::default()).unwrap();
    assert_eq!(deleted.samples, 5);
    engine.wait(commit, Ack::Durable).unwrap();
    while engine.maintain().unwrap() {}
    put(&engine, 2, 40..50);
    engine.merge_all().unwrap();
    put(&engine, 3, 50..60);
    drop(engine);
    disk.rename(&away, &path(&name)).unwrap();
    for _ in 0..2 {
        let engine = open(&disk);
        let steps: Vec<i64> = samples(&engine).into_iter().map(|(step, _)| step).collect();
        assert_eq!(steps, (0..5).chain(35..60).collect::<Vec<_>>());
        while engine.maintain().unwrap() {}
        engine.merge_all().unwrap();
    }
}

#[test]
fn newer_values_stay_newer_than_those_of_a_part_that_comes_back() {
    let disk = SimDisk::new(3);
    let engine = open(&disk);
    // The same instants three times; the middle part is away while its neighbours are merged.
    for round in 0..3 {
        put(&engine, round, 0..round * 10 + 10);
    }
    drop(engine);
    let name = parts(&disk)[1].clone();
    let away = PathBuf::from(&name);
    disk.rename(&path(&name), &away).unwrap();
    let engine = open(&disk);
    assert_eq!(rounds(&engine), [2]);
    let range = TimeRange::new(0, 29 * STEP_NS);
    // What the newest round said is taken away again, in the file too.
    put(&engine, 3, 0..1);
    engine.merge_all().unwrap();
    assert_eq!(read(&engine.snapshot(), 0, range).len(), 30);
    drop(engine);
    disk.rename(&away, &path(&name)).unwrap();
    let engine = open(&disk);
    let expected: Vec<(i64, i64)> =
        (0..30).map(|step| (step, if step == 0 { 3 } else { 2 })).collect();
    assert_eq!(samples(&engine), expected);
    engine.merge_all().unwrap();
    assert_eq!(samples(&engine), expected);
}

#[test]
fn older_neighbours_are_not_merged_over_a_missing_part() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    put(&engine, 0, 0..30);
    put(&engine, 1, 0..30);
    put(&engine, 2, 20..40);
    drop(engine);
    let name = parts(&disk)[1].clone();
    let away = PathBuf::from(&name);
    disk.rename(&path(&name), &away).unwrap();
    let engine = open(&disk);
    engine.merge_all().unwrap();
    drop(engine);
    disk.rename(&away, &path(&name)).unwrap();
    let engine = open(&disk);
    let expected: Vec<(i64, i64)> =
        (0..40).map(|step| (step, if step < 20 { 1 } else { 2 })).collect();
    assert_eq!(samples(&engine), expected);
}

#[test]
fn the_names_of_an_epoch_stay_while_its_only_part_is_damaged() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    put(&engine, 0, 0..10);
    engine.begin_epoch().unwrap();
    engine.begin_epoch().unwrap();
    drop(engine);
    let name = parts(&disk)[0].clone();
    let good = bytes(&disk, &path(&name));
    replace(&disk, &path(&name), &vec![0xa5; good.len()]);
    let engine = open(&disk);
    assert!(engine.damages()[0].contains(&name), "{:?}", engine.damages());
    while engine.maintain().unwrap() {}
    drop(engine);
    assert!(disk.exists(&path(&name)), "it stays where it is");
    replace(&disk, &path(&name), &good);
    let engine = open(&disk);
    assert_eq!(rounds(&engine), [0]);
}

#[test]
fn an_old_manifest_deletes_nothing_that_is_newer() {
    let manifests = ["MANIFEST", "MANIFEST.copy"];
    let disk = SimDisk::new(6);
    let engine = open(&disk);
    put(&engine, 0, 0..10);
    let old = bytes(&disk, &path("MANIFEST"));
    put(&engine, 1, 10..20);
    engine.merge_all().unwrap();
    put(&engine, 2, 20..30);
    drop(engine);
    let newer: Vec<(String, Vec<u8>)> =
        parts(&disk).into_iter().map(|name| (name.clone(), bytes(&disk, &path(&name)))).collect();
    for name in manifests {
        replace(&disk, &path(name), &old);
    }
    let engine = open(&disk);
    for (name, held) in &newer {
        let told = engine.damages().iter().any(|damage| damage.contains(name));
        assert!(told, "{name}: {:?}", engine.damages());
        assert_eq!(&bytes(&disk, &path("quarantine").join(name)), held);
    }
    // What is written from now on takes no number of theirs.
    put(&engine, 3, 30..40);
    drop(engine);
    let taken = parts(&disk);
    assert!(newer.iter().all(|(name, _)| !taken.contains(name)), "{taken:?}");
}

#[test]
fn a_wal_segment_that_came_back_does_not_make_an_old_manifest_the_newest() {
    let disk = SimDisk::new(9);
    let engine = open(&disk);
    put(&engine, 0, 0..10);
    let old = bytes(&disk, &path("MANIFEST"));
    let wal = |disk: &SimDisk| {
        let names = disk.list(Path::new("store")).unwrap();
        names.into_iter().find(|name| name.starts_with("wal-")).unwrap()
    };
    let first = wal(&disk);
    let held = bytes(&disk, &path(&first));
    for host in 1..4 {
        put(&engine, host, 10..20);
    }
    drop(engine);
    assert_ne!(wal(&disk), first, "it went when what it held was flushed");
    let newer = parts(&disk);
    replace(&disk, &path(&first), &held);
    for name in ["MANIFEST", "MANIFEST.copy"] {
        replace(&disk, &path(name), &old);
    }
    drop(open(&disk));
    let kept = disk.list(&path("quarantine")).unwrap();
    let is_there = |name: &&String| kept.contains(name) || parts(&disk).contains(name);
    assert!(newer.iter().all(|name| is_there(&name)), "{newer:?}, kept {kept:?}");
}

#[test]
fn what_was_flushed_before_the_log_had_it_outlives_an_old_manifest() {
    let mut came_back = 0;
    for seed in 0..20 {
        let disk = SimDisk::new(seed);
        let engine = open(&disk);
        engine.wait(hand(&engine, 0, 0..10), Ack::Durable).unwrap();
        let old = bytes(&disk, &path("MANIFEST"));
        hand(&engine, 1, 10..20);
        engine.flush().unwrap();
        let disk = disk.crash();
        assert_eq!(samples(&open(&disk)).len(), 20, "seed {seed}: the part has them");
        // The power can bring the segment back that the flush removed.
        if !disk.exists(&path("wal-0000000000000000.log")) {
            continue;
        }
        came_back += 1;
        for name in ["MANIFEST", "MANIFEST.copy"] {
            replace(&disk, &path(name), &old);
        }
        assert_eq!(samples(&open(&disk)).len(), 20, "seed {seed}");
    }
    assert!(came_back > 0);
}

/// What is said of files, if anything.
fn said(engine: &Engine) -> Option<String> {
    let troubles = engine.troubles();
    let of_files = troubles.into_iter().find(|trouble| trouble.work == Work::Files);
    of_files.map(|trouble| trouble.to_string())
}

#[test]
fn absent_parts_are_named_as_long_as_they_are_absent() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    put(&engine, 0, 0..10);
    put(&engine, 1, 10..30);
    assert_eq!((said(&engine), engine.absent_parts(0, TimeRange::ALL)), (None, Vec::new()));
    drop(engine);
    let name = parts(&disk)[1].clone();
    let away = PathBuf::from(&name);
    disk.rename(&path(&name), &away).unwrap();
    let engine = open(&disk);
    let told = said(&engine).unwrap();
    assert!(told.contains(&name) && told.contains("20 samples"), "{told}");
    let absent = engine.absent_parts(0, TimeRange::ALL);
    assert!(matches!(&absent[..], [one] if one.contains(&name)), "{absent:?}");
    // Nobody misses it who asks for other times, or another database.
    assert_eq!(engine.absent_parts(0, TimeRange::new(0, STEP_NS)), [""; 0]);
    assert_eq!(engine.absent_parts(1, TimeRange::ALL), [""; 0]);
    drop(engine);
    disk.rename(&away, &path(&name)).unwrap();
    assert_eq!(said(&open(&disk)), None);
}

#[test]
fn damage_that_nobody_reads_is_told_in_the_background() {
    let disk = SimDisk::new(8);
    let engine = open(&disk);
    put(&engine, 0, 0..3000);
    let commit = engine.catalog_put("note", "a", b"some fact").unwrap();
    engine.wait(commit, Ack::Durable).unwrap();
    engine.flush().unwrap();
    drop(engine);
    let names = disk.list(Path::new(DIR)).unwrap();
    let is_paged =
        |name: &&String| ["part-", "index-", "catalog-"].iter().any(|k| name.starts_with(k));
    for name in names.iter().filter(is_paged) {
        let path = path(name);
        let good = bytes(&disk, &path);
        // The parity lies before the last table, which has 24 bytes and 4 for each page.
        let pages = u32::from_le_bytes(good[good.len() - 24..][..4].try_into().unwrap()) as usize;
        for at in [good.len() - 24 - 4 * pages - 7, good.len() - 9] {
            let mut bad = good.clone();
            bad[at] ^= 16;
            replace(&disk, &path, &bad);
            let engine = open(&disk);
            let heard = Arc::new(Mutex::new(Vec::new()));
            let told = heard.clone();
            engine.on_trouble(Box::new(move |trouble| {
                told.lock().unwrap().push(trouble.to_string())
            }));
            while engine.maintain().unwrap() {}
            let told = said(&engine).unwrap_or_else(|| panic!("{name}, byte {at}: unseen"));
            assert!(told.contains(name), "{told}");
            assert_eq!(*heard.lock().unwrap(), [told], "once");
            assert!(engine.stats().damages_mended > 0);
        }
        replace(&disk, &path, &good);
        let engine = open(&disk);
        while engine.maintain().unwrap() {}
        assert_eq!(said(&engine), None);
    }
}
