//! Damage to the wal: told from what a power cut leaves, reported, and no dearer than what it hit.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Caller, Config, Engine};
use foliot_model::TimeRange;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "store";
const FRAME_HEADER: usize = 40;
const SEGMENT_HEADER: usize = 40;

fn open(disk: &SimDisk) -> Engine {
    let config = Config { background: false, ..Config::default() };
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, Path::new(DIR), config).unwrap()
}

fn line(host: i64, step: i64) -> Line {
    Line {
        key: format!("m host=h{host}"),
        time_ns: step * 1_000_000_000,
        fields: vec![("a".to_owned(), Owned::Integer(host * 1000 + step))],
    }
}

/// Writes lines and waits until they are durable.
fn put(engine: &Engine, lines: &[Line]) {
    let (commit, rejects) = write(engine, 0, lines);
    assert!(rejects.is_empty());
    engine.wait(commit.unwrap(), Ack::Durable).unwrap();
}

/// How many samples each host has; every one must be the one that was written.
fn found(engine: &Engine) -> BTreeMap<i64, usize> {
    let snapshot = engine.snapshot();
    let mut found = BTreeMap::new();
    for sid in snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap() {
        let identity = snapshot.identity(sid).unwrap().unwrap();
        let host: i64 = identity.labels.get("host").unwrap()[1..].parse().unwrap();
        let samples = read(&snapshot, sid, TimeRange::ALL);
        for (time_ns, value) in &samples {
            assert_eq!(*value, Owned::Integer(host * 1000 + time_ns / 1_000_000_000));
        }
        *found.entry(host).or_default() += samples.len();
    }
    found
}

fn replace(disk: &SimDisk, path: &Path, bytes: &[u8]) {
    let mut file = disk.create(path).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
    disk.sync_dir(path.parent().unwrap()).unwrap();
}

fn segments(disk: &SimDisk) -> Vec<PathBuf> {
    let mut names = disk.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.starts_with("wal-"));
    names.sort();
    names.iter().map(|name| Path::new(DIR).join(name)).collect()
}

fn bytes(disk: &SimDisk, path: &Path) -> Vec<u8> {
    let file = disk.open(path).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

/// A copy of the machine's store, so that each damage has one of its own.
fn copy(disk: &SimDisk) -> SimDisk {
    let twin = SimDisk::new(1);
    twin.create_dir_all(Path::new(DIR)).unwrap();
    for name in disk.list(Path::new(DIR)).unwrap() {
        let path = Path::new(DIR).join(name);
        let mut file = twin.create(&path).unwrap();
        file.append(&bytes(disk, &path)).unwrap();
        file.sync().unwrap();
    }
    twin.sync_dir(Path::new(DIR)).unwrap();
    twin
}

/// Where frames of a kind begin in a segment, and how long their bodies are.
fn frames(segment: &[u8], kind: u8) -> Vec<(usize, usize)> {
    let (mut at, mut found) = (SEGMENT_HEADER, Vec::new());
    let base = u64::from_le_bytes(segment[16..24].try_into().unwrap());
    while at + FRAME_HEADER <= segment.len() {
        // What is left of an older segment says other places.
        let lsn = u64::from_le_bytes(segment[at + 8..at + 16].try_into().unwrap());
        if lsn != base + (at - SEGMENT_HEADER) as u64 {
            break;
        }
        let length = u32::from_le_bytes(segment[at + 32..at + 36].try_into().unwrap()) as usize;
        if segment[at + 36] == kind {
            found.push((at, length));
        }
        at += FRAME_HEADER + length;
    }
    found
}

const ROWS: u8 = 1;
const REGISTER: u8 = 2;
const COPY: u8 = 5;
const MARK: u8 = 6;
const SECTOR: usize = 4096;

#[test]
fn one_bit_in_the_newest_segment_costs_at_most_the_frame_that_it_hit() {
    let disk = SimDisk::new(3);
    let engine = open(&disk);
    for step in 0..100 {
        put(&engine, &[line(step % 3, step)]);
    }
    engine.close().unwrap();
    drop(engine);
    let path = segments(&disk).pop().unwrap();
    let length = bytes(&disk, &path).len();
    for at in 0..length as u64 {
        let twin = copy(&disk);
        twin.rot(&path, at, 1 << (at % 8)).unwrap();
        let engine = open(&twin);
        let samples: usize = found(&engine).values().sum();
        assert!(samples >= 99, "byte {at} of {length}: {samples} of 100 samples");
        let is_told = !engine.damages().is_empty() || engine.stats().wal_torn_bytes > 0;
        assert!(is_told, "byte {at} of {length}: nothing was said");
        assert!(samples == 100 || !engine.damages().is_empty(), "byte {at}: a loss is damage");
        // What is written next makes nothing of it final.
        put(&engine, &[line(0, 1000)]);
        drop(engine);
        let again: usize = found(&open(&twin)).values().sum();
        assert_eq!(again, samples + 1, "byte {at}");
    }
}

/// A store whose newest segment is written over an older one that was longer.
fn written_over() -> SimDisk {
    let disk = SimDisk::new(3);
    let engine = open(&disk);
    for steps in [0..60, 60..90, 90..100] {
        for step in steps {
            put(&engine, &[line(step % 3, step)]);
        }
        engine.flush().unwrap();
    }
    for step in 100..110 {
        put(&engine, &[line(step % 3, step)]);
    }
    // The process is killed: in order it would cut the segment where its frames end.
    let path = segments(&disk).pop().unwrap();
    let segment = bytes(&disk, &path);
    assert_eq!(segment[32], 1, "it says so");
    let end = frames(&segment, ROWS).last().map(|(at, len)| at + FRAME_HEADER + len).unwrap();
    assert!(segment.len() > end + 500, "{} bytes, frames up to {end}", segment.len());
    disk.kill()
}

#[test]
fn a_segment_that_is_written_over_an_older_one_ends_where_its_frames_do() {
    let disk = written_over();
    let path = segments(&disk).pop().unwrap();
    let before = bytes(&disk, &path).len();
    let engine = open(&disk);
    assert_eq!((engine.damages(), engine.notes()), (&[][..], &[][..]));
    assert_eq!((found(&engine).values().sum::<usize>(), engine.stats().wal_torn_bytes), (110, 0));
    assert!(bytes(&disk, &path).len() < before, "what is left of the older one is cut off");
    put(&engine, &[line(0, 1000)]);
    drop(engine);
    let disk = disk.crash();
    assert_eq!(found(&open(&disk)).values().sum::<usize>(), 111);
}

#[test]
fn one_bit_in_a_segment_that_is_written_over_an_older_one_costs_a_frame() {
    let disk = written_over();
    let path = segments(&disk).pop().unwrap();
    let segment = bytes(&disk, &path);
    let end = frames(&segment, MARK).last().map(|(at, len)| at + FRAME_HEADER + len).unwrap();
    for at in 0..end {
        let twin = copy(&disk);
        twin.rot(&path, at as u64, 1 << (at % 8)).unwrap();
        let engine = open(&twin);
        let samples: usize = found(&engine).values().sum();
        assert!(samples >= 109, "byte {at} of {end}: {samples} of 110 samples");
        assert!(samples == 110 || !engine.damages().is_empty(), "byte {at}: a loss is damage");
        put(&engine, &[line(0, 1000)]);
        drop(engine);
        let again: usize = found(&open(&twin)).values().sum();
        assert_eq!(again, samples + 1, "byte {at}");
    }
}

#[test]
fn a_damaged_last_frame_over_an_older_segment_is_told_as_torn() {
    let disk = written_over();
    let path = segments(&disk).pop().unwrap();
    let mut segment = bytes(&disk, &path);
    let rows = frames(&segment, ROWS);
    // Nothing behind the last rows vouches for them: the process died before it could.
    let (last, len) = *rows.last().unwrap();
    let end = last + FRAME_HEADER + len;
    for (at, byte) in segment.iter_mut().enumerate().skip(end) {
        *byte = at as u8;
    }
    let twin = copy(&disk);
    replace(&twin, &path, &segment);
    let engine = open(&twin);
    assert_eq!((found(&engine).values().sum::<usize>(), engine.stats().wal_torn_bytes), (110, 0));
    for (from, lost) in [(last, 1), (rows[rows.len() - 2].0, 2)] {
        for at in from..from + FRAME_HEADER + len {
            let twin = copy(&disk);
            replace(&twin, &path, &segment);
            twin.rot(&path, at as u64, 1 << (at % 8)).unwrap();
            let engine = open(&twin);
            let samples: usize = found(&engine).values().sum();
            let (torn, told) = (engine.stats().wal_torn_bytes, engine.damages().len());
            assert!(samples >= 110 - lost, "byte {at} of {from}: {samples}");
            assert!(torn > 0 || told > 0, "byte {at} of {from}: {samples} of 110 and no word");
        }
    }
}

#[test]
fn spares_are_bounded_and_go_with_the_store_and_when_room_is_short() {
    let spares = |disk: &SimDisk| {
        let names = disk.list(Path::new(DIR)).unwrap();
        names.into_iter().filter(|name| name.starts_with("spare-")).count()
    };
    let flushed = |spare_bytes: u64| {
        let disk = SimDisk::new(4);
        let config = Config {
            background: false,
            wal_segment_bytes: 1000,
            wal_spare_bytes: spare_bytes,
            ..Config::default()
        };
        let dynamic: Arc<dyn Disk> = Arc::new(disk.clone());
        let engine = Engine::open(dynamic, Path::new(DIR), config).unwrap();
        for step in 0..100 {
            put(&engine, &[line(step % 3, step)]);
        }
        engine.flush().unwrap();
        (disk, engine)
    };
    assert_eq!(spares(&flushed(0).0), 0);
    let (disk, _engine) = flushed(3000);
    assert!((1..=3).contains(&spares(&disk)));
    let (disk, engine) = flushed(1 << 20);
    assert!(spares(&disk) > 5);
    engine.close().unwrap();
    assert_eq!(spares(&disk), 0);
    let (disk, engine) = flushed(1 << 20);
    // As much as is there now, and the reserve not.
    disk.resize(1 << 20);
    disk.advance(10_000_000_000);
    let (commit, _) = write(&engine, 0, &[line(0, 1000)]);
    drop(commit.map(|commit| engine.wait(commit, Ack::Durable)));
    assert_eq!(spares(&disk), 0);
    let (disk, _engine) = flushed(1 << 20);
    assert!(spares(&disk) > 5);
    let disk = disk.kill();
    drop(open(&disk));
    assert_eq!(spares(&disk), 0, "those of a killed process are leftovers");
}

#[test]
fn damage_in_frames_long_flushed_costs_nothing() {
    let disk = SimDisk::new(4);
    let engine = open(&disk);
    for step in 0..100 {
        put(&engine, &[line(step % 3, step)]);
    }
    let path = segments(&disk).pop().unwrap();
    let flushed = bytes(&disk, &path);
    engine.flush().unwrap();
    for step in 100..110 {
        put(&engine, &[line(step % 3, step)]);
    }
    engine.close().unwrap();
    drop(engine);
    // As if these had come while the flush was writing: then they share a segment with those.
    let [after] = &segments(&disk)[..] else { panic!("a flush leaves one segment") };
    let both = [&flushed[..], &bytes(&disk, after)[SEGMENT_HEADER..]].concat();
    disk.remove(after).unwrap();
    let names = disk.list(Path::new(DIR)).unwrap();
    let note = names.iter().find(|name| name.starts_with("begun-")).unwrap();
    disk.remove(&Path::new(DIR).join(note)).unwrap();
    disk.create(&path).unwrap().append(&both).unwrap();
    for at in [0, SEGMENT_HEADER, flushed.len() / 2, flushed.len() - 1] {
        let twin = copy(&disk);
        twin.rot(&path, at as u64, 4).unwrap();
        let engine = open(&twin);
        assert_eq!(found(&engine).values().sum::<usize>(), 110);
        // Of the segment's own header it is said.
        assert_eq!(engine.damages().len(), usize::from(at == 0), "{:?}", engine.damages());
    }
}

#[test]
fn a_segment_of_another_store_is_told_wherever_damage_is() {
    let store = |seed| {
        let disk = SimDisk::new(seed);
        let engine = open(&disk);
        put(&engine, &(0..20).map(|host| line(host, 1)).collect::<Vec<_>>());
        drop(engine);
        disk
    };
    let (disk, other) = (store(1), store(2));
    let path = &segments(&disk)[0];
    disk.create(path).unwrap().append(&bytes(&other, &segments(&other)[0])).unwrap();
    let engine = open(&disk);
    assert!(engine.damages()[0].contains("is of another store or place"), "{:?}", engine.damages());
    assert!(engine.stats().wal_damaged_bytes > 0);
    // What readiness and health say comes from there.
    let troubles = engine.troubles();
    assert!(
        troubles.iter().any(|trouble| trouble.reason.contains("the log was damaged")),
        "{troubles:?}"
    );
}

#[test]
fn what_a_segment_of_another_store_took_is_counted_once() {
    let config = || Config { background: false, wal_segment_bytes: 1000, ..Config::default() };
    let store = |seed| {
        let disk = SimDisk::new(seed);
        let engine = Engine::open(Arc::new(disk.clone()), Path::new(DIR), config()).unwrap();
        (0..40).for_each(|step| put(&engine, &[line(step % 3, step)]));
        disk
    };
    let (disk, other) = (store(1), store(2));
    let paths = segments(&disk);
    assert!(paths.len() > 4, "{paths:?}");
    let base = |path: &PathBuf| u64::from_le_bytes(bytes(&disk, path)[16..24].try_into().unwrap());
    for at in 1..paths.len() - 1 {
        let twin = copy(&disk);
        replace(&twin, &paths[at], &bytes(&other, &segments(&other)[at]));
        let engine = open(&twin);
        assert_eq!(engine.stats().wal_damaged_bytes, base(&paths[at + 1]) - base(&paths[at]));
        let damages = engine.damages();
        let said = |what| damages.iter().filter(|said| said.contains(what)).count();
        assert_eq!(said("is of another store or place"), 1, "{damages:?}");
        assert_eq!(said("what lay between is lost"), 0, "{damages:?}");
    }
}

#[test]
fn a_power_cut_is_no_damage() {
    for seed in 0..200 {
        let disk = SimDisk::new(seed);
        let engine = open(&disk);
        for step in 0..20 {
            put(&engine, &[line(step % 3, step)]);
        }
        for step in 20..40 {
            let (commit, _) = write(&engine, 0, &[line(step % 3, step)]);
            engine.wait(commit.unwrap(), Ack::Os).unwrap();
        }
        let engine_after = open(&disk.crash());
        assert_eq!(engine_after.damages(), [""; 0], "seed {seed}");
        let samples: usize = found(&engine_after).values().sum();
        assert!(samples >= 20, "seed {seed}: {samples}");
    }
}

#[test]
fn a_damaged_registration_is_read_from_its_copy() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    for host in 0..20 {
        put(&engine, &[line(host, 1)]);
    }
    engine.close().unwrap();
    drop(engine);
    let path = segments(&disk).pop().unwrap();
    let segment = bytes(&disk, &path);
    let (registrations, copies) = (frames(&segment, REGISTER), frames(&segment, COPY));
    assert_eq!((registrations.len(), copies.len()), (20, 20));
    for (at, length) in registrations.into_iter().chain(copies) {
        let twin = copy(&disk);
        twin.rot(&path, (at + FRAME_HEADER + length / 2) as u64, 1).unwrap();
        let engine = open(&twin);
        assert_eq!(found(&engine).len(), 20);
        assert_eq!(engine.damages().len(), 1, "{:?}", engine.damages());
    }
}

#[test]
fn a_lost_registration_costs_only_the_series_that_it_registered() {
    let disk = SimDisk::new(6);
    let engine = open(&disk);
    for step in 0..3 {
        for host in 0..20 {
            put(&engine, &[line(host, step)]);
        }
    }
    engine.close().unwrap();
    drop(engine);
    let path = segments(&disk).pop().unwrap();
    let segment = bytes(&disk, &path);
    let (frames, copies) = (frames(&segment, REGISTER), frames(&segment, COPY));
    for (lost, places) in frames.into_iter().zip(copies).enumerate().skip(1) {
        let twin = copy(&disk);
        for (at, length) in [places.0, places.1] {
            twin.rot(&path, (at + FRAME_HEADER + length / 2) as u64, 1).unwrap();
        }
        let mut expected: BTreeMap<_, _> = (0..20).map(|host| (host, 3)).collect();
        expected.remove(&(lost as i64));
        let engine = open(&twin);
        assert_eq!(found(&engine), expected, "the registration of host {lost}");
        assert_eq!(engine.stats().samples_orphaned, 3);
        assert!(engine.damages().iter().any(|said| said.contains("3 samples without a series")));
        // It can be registered again, also across flush and restart, and is nobody else.
        put(&engine, &[line(lost as i64, 7), line(100, 7)]);
        expected.extend([(lost as i64, 1), (100, 1)]);
        assert_eq!(found(&engine), expected);
        drop(engine);
        let engine = open(&twin);
        assert_eq!(found(&engine), expected, "after a restart");
        engine.flush().unwrap();
        drop(engine);
        let engine = open(&twin);
        assert_eq!(found(&engine), expected, "after a flush");
        assert_eq!(engine.damages(), [""; 0]);
    }
}

#[test]
fn rows_of_one_frame_are_lost_with_it_and_no_others() {
    let disk = SimDisk::new(7);
    let engine = open(&disk);
    for step in 0..5 {
        put(&engine, &[line(0, step), line(1, step)]);
    }
    engine.close().unwrap();
    drop(engine);
    let path = segments(&disk).pop().unwrap();
    for (at, _) in frames(&bytes(&disk, &path), ROWS) {
        let twin = copy(&disk);
        twin.rot(&path, at as u64, 0x80).unwrap();
        assert_eq!(found(&open(&twin)), BTreeMap::from([(0, 4), (1, 4)]));
    }
}

/// Loses a sector of a file: its bytes are zeros.
fn lose(disk: &SimDisk, path: &Path, sector: usize) {
    let all = bytes(disk, path);
    let from = sector * SECTOR;
    for (at, byte) in all.iter().enumerate().skip(from).take(SECTOR).filter(|(_, byte)| **byte > 0)
    {
        disk.rot(path, at as u64, *byte).unwrap();
    }
}

/// What clients do in the tests of lost sectors: new series, alone and many at once, samples of old
/// ones, deletes and facts.
fn live(engine: &Engine, ack: Ack) {
    let wait = |commit| engine.wait(commit, ack).unwrap();
    for step in 0..30 {
        let new = [0, 1, 120][step as usize % 3];
        let hosts = (0..10).chain(1000 * step..1000 * step + new);
        let lines: Vec<Line> = hosts.map(|host| line(host, step)).collect();
        wait(write(engine, 0, &lines).0.unwrap());
        if step % 5 == 4 {
            wait(engine.catalog_put("kind", &format!("key{step}"), b"fact").unwrap());
            let all = selector(0, "n");
            wait(write(engine, 0, &[Line { key: "n".to_owned(), ..line(1, step) }]).0.unwrap());
            wait(engine.delete(&all, TimeRange::ALL, &Caller::default()).unwrap().1);
        }
    }
}

/// Loses every sector of the wal in turn: that costs the samples in it, and no series, no fact and
/// no delete.
fn lose_each_sector(disk: &SimDisk) {
    let expected = found(&open(&copy(disk)));
    let mut tried = 0;
    for path in segments(disk) {
        let segment = bytes(disk, &path);
        for sector in 0..segment.len().div_ceil(SECTOR) {
            let twin = copy(disk);
            lose(&twin, &path, sector);
            let engine = open(&twin);
            let lost = sector * SECTOR..(sector + 1) * SECTOR;
            let is_hit = |&&(at, length): &&(usize, usize)| {
                at < lost.end && lost.start < at + FRAME_HEADER + length
            };
            let hit = frames(&segment, ROWS).iter().filter(is_hit).count();
            let left = found(&engine);
            assert!(left.keys().eq(expected.keys()), "sector {sector} of {}", path.display());
            // A frame has at most one sample of a series.
            for (host, samples) in &left {
                assert!(samples + hit >= expected[host], "host {host}, sector {sector}");
            }
            assert_eq!(engine.catalog_list("kind").len(), 6, "sector {sector}");
            let snapshot = engine.snapshot();
            for sid in snapshot.select(&selector(0, "n"), TimeRange::ALL).unwrap() {
                assert_eq!(read(&snapshot, sid, TimeRange::ALL), [], "sector {sector}");
            }
            tried += 1;
        }
    }
    assert!(tried > 8, "{tried} sectors");
}

#[test]
fn a_lost_sector_of_the_wal_costs_the_samples_in_it_and_no_series() {
    for ack in [Ack::Durable, Ack::Os] {
        let disk = SimDisk::new(8);
        let engine = open(&disk);
        live(&engine, ack);
        engine.close().unwrap();
        drop(engine);
        lose_each_sector(&disk);
    }
}

#[test]
fn what_a_killed_process_had_not_repeated_is_repeated_by_the_next() {
    let disk = SimDisk::new(9);
    let engine = open(&disk);
    live(&engine, Ack::Os);
    // As a kill leaves them: written, not synced, and not all of it there twice.
    let killed = copy(&disk);
    drop(engine);
    let engine = open(&killed);
    put(&engine, &[line(0, 40)]);
    engine.close().unwrap();
    drop(engine);
    lose_each_sector(&killed);
}
