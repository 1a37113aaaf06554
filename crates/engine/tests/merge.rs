//! What merges promise beside keeping every sample, which `model.rs` tries: few parts, little
//! written, nothing lost to damage, files gone when nobody reads them.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, FaultKind, SimDisk};
use foliot_engine::{Ack, Config, Engine, Error};
use foliot_model::{Samples, TimeRange};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DIR: &str = "store";
const SECOND: i64 = 1_000_000_000;
/// A Thursday, where windows begin.
const START: i64 = 2811 * 7 * 86_400 * SECOND;

fn open(disk: &SimDisk) -> Engine {
    let config = Config { merge_parts: 4, background: false, ..Config::default() };
    Engine::open(Arc::new(disk.clone()), Path::new(DIR), config).unwrap()
}

/// Writes samples `from..to` of three series, ten seconds apart, and flushes them.
fn flush(engine: &Engine, from: i64, to: i64) {
    let line = |(step, host): (i64, i64)| Line {
        key: format!("m host=h{host}"),
        time_ns: START + step * 10 * SECOND,
        fields: vec![("a".to_owned(), Owned::Integer(host * 1000 + step % 37))],
    };
    let lines = (from..to).flat_map(|step| (0..3).map(move |host| (step, host)));
    let (commit, rejects) = write(engine, 0, &lines.map(line).collect::<Vec<_>>());
    assert!(rejects.is_empty());
    engine.wait(commit.unwrap(), Ack::Os).unwrap();
    engine.flush().unwrap();
}

/// How many samples of each series are there, all of which must be what was written.
fn count(engine: &Engine) -> Vec<usize> {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
    let mut counts = Vec::new();
    for (host, sid) in sids.into_iter().enumerate() {
        let samples = read(&snapshot, sid, TimeRange::ALL);
        for (time_ns, value) in &samples {
            let step = (time_ns - START) / (10 * SECOND);
            assert_eq!(*value, Owned::Integer(host as i64 * 1000 + step % 37));
        }
        counts.push(samples.len());
    }
    counts
}

fn parts(disk: &SimDisk) -> Vec<PathBuf> {
    let mut names = disk.list(Path::new(DIR)).unwrap();
    names.retain(|name| name.starts_with("part-"));
    names.sort();
    names.iter().map(|name| Path::new(DIR).join(name)).collect()
}

#[test]
fn a_growing_store_has_few_parts_and_writes_little() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    let mut most = 0;
    for round in 0..100 {
        flush(&engine, round * 50, round * 50 + 50);
        while engine.maintain().unwrap() {}
        most = most.max(engine.stats().parts);
    }
    assert_eq!(count(&engine), [5000; 3]);
    let stats = engine.stats();
    // Three of each level below the final one, a final one for every sixteen flushes, and the
    // newest, which is left alone.
    assert!(most <= 3 + 3 + 100 / 16 + 1 + 1, "{most} parts");
    assert_eq!(stats.merges, 99 / 4 + 99 / 16);
    assert_eq!(stats.merge_debt_parts, 0);
    assert!(stats.bytes_merged <= 2 * stats.bytes_flushed, "{stats:?}");
    assert_eq!(parts(&disk).len() as u64, stats.parts, "nothing else lies around");
}

#[test]
fn a_merge_takes_as_many_parts_as_there_is_memory_for() {
    // Nine parts become one: at once, by threes, by twos.
    for (merge_bytes_max, merges) in [(64 << 20, 1), (1400 << 10, 4), (0, 8)] {
        let disk = SimDisk::new(7);
        let config =
            Config { merge_bytes_max, merge_parts: 100, background: false, ..Config::default() };
        let engine = Engine::open(Arc::new(disk), Path::new(DIR), config).unwrap();
        for round in 0..9 {
            flush(&engine, round * 50, round * 50 + 50);
        }
        engine.merge_all().unwrap();
        let stats = engine.stats();
        assert_eq!((stats.parts, stats.merges), (1, merges), "{merge_bytes_max} bytes");
        assert_eq!(count(&engine), [450; 3]);
    }
}

#[test]
fn a_quiet_window_ends_as_one_part() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    for round in 0..3 {
        flush(&engine, round * 100, round * 100 + 100);
    }
    assert!(!engine.maintain().unwrap(), "three wait for more");
    disk.advance(3601 * SECOND as u64);
    while engine.maintain().unwrap() {}
    assert_eq!(engine.stats().parts, 1);
    // Late samples make parts of their own until they are many.
    flush(&engine, 300, 310);
    disk.advance(3601 * SECOND as u64);
    while engine.maintain().unwrap() {}
    assert_eq!(engine.stats().parts, 2);
    engine.merge_all().unwrap();
    assert_eq!(engine.stats().parts, 1);
    assert_eq!(count(&engine), [310; 3]);
}

#[test]
fn every_series_of_a_large_part_is_found() {
    let disk = SimDisk::new(11);
    let engine = open(&disk);
    let line = |(host, step): (i64, i64)| Line {
        key: format!("m host=h{host:05}"),
        time_ns: START + step * SECOND,
        fields: vec![("a".to_owned(), Owned::Integer(host * 1_000_000 + step))],
    };
    // Every 3000th has so many samples that its blocks fill several pages of the index.
    let lengths = |host: i64| if host % 3000 == 1 { 140_000 } else { 1 };
    let lines = (0..9000).flat_map(|host| (0..lengths(host)).map(move |step| (host, step)));
    let lines: Vec<Line> = lines.map(line).collect();
    for lines in lines.chunks(50_000) {
        assert_eq!(write(&engine, 0, lines).1, []);
    }
    for _ in 0..2 {
        engine.flush().unwrap();
        let snapshot = engine.snapshot();
        let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
        assert_eq!((sids.len(), engine.stats().parts), (9000, 1));
        for (host, sid) in (0..).zip(sids) {
            let end = lengths(host) - 1;
            let last = TimeRange::new(START + end * SECOND, i64::MAX);
            let expected = (START + end * SECOND, Owned::Integer(host * 1_000_000 + end));
            assert_eq!(read(&snapshot, sid, last), [expected]);
            let before = TimeRange::new(i64::MIN, START + end * SECOND - 1);
            assert_eq!(read(&snapshot, sid, before).len() as i64, end);
        }
        engine.merge_all().unwrap();
    }
}

#[test]
fn readers_keep_the_files_they_read() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    flush(&engine, 0, 1500);
    flush(&engine, 1500, 3000);
    let snapshot = engine.snapshot();
    engine.merge_all().unwrap();
    assert_eq!(parts(&disk).len(), 3, "two that are read and the merged one");
    let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
    assert_eq!(read(&snapshot, sids[0], TimeRange::ALL).len(), 3000);
    drop(snapshot);
    assert_eq!(parts(&disk).len(), 1);
    assert_eq!(count(&engine), [3000; 3]);
    drop(engine);
    assert_eq!(count(&open(&disk)), [3000; 3]);
}

#[test]
fn a_damaged_part_stays_where_it_is() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    for round in 0..9 {
        flush(&engine, round * 100, round * 100 + 100);
    }
    let path = parts(&disk)[3].clone();
    // Behind the page that opening has put into the cache there is none.
    // And in the parity, so that it does not mend it.
    let len = disk.open(&path).unwrap().len();
    for at in [60, len - 100] {
        disk.rot(&path, at, 1).unwrap();
    }
    let error = engine.maintain().unwrap_err().to_string();
    assert!(error.contains("part-"), "{error}");
    while engine.maintain().unwrap() {}
    let stats = engine.stats();
    assert_eq!((stats.merges_failed, stats.merges), (1, 1), "{stats:?}");
    assert!(disk.exists(&path), "the damaged part is kept");
    // Those behind it but the newest are merged, those before it are too few.
    assert_eq!(stats.parts, 9 - 4 + 1);
}

#[test]
fn a_full_disk_stops_a_merge_and_nothing_else() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    for round in 0..5 {
        flush(&engine, round * 1000, round * 1000 + 1000);
    }
    disk.fail_after(1, FaultKind::NoSpace { operations: 1000 });
    assert!(engine.maintain().is_err());
    assert_eq!(count(&engine), [5000; 3]);
    assert_eq!(parts(&disk).len(), 5, "the unfinished part is removed");
    disk.heal();
    assert!(engine.maintain().unwrap());
    assert_eq!(count(&engine), [5000; 3]);
    assert_eq!(parts(&disk).len(), 2, "the newest part is left alone");
}

/// Writes `count` samples of a series, `step_ns` apart from the first whole hour on.
fn write_steps(engine: &Engine, key: &str, count: i64, step_ns: i64) {
    for first in (0..count).step_by(1000) {
        let line = |step: i64| Line {
            key: key.to_owned(),
            time_ns: START + 3600 * SECOND + step * step_ns,
            fields: vec![("a".to_owned(), Owned::Decimal(step % 91, 1))],
        };
        let lines: Vec<_> = (first..(first + 1000).min(count)).map(line).collect();
        write(engine, 0, &lines).0.unwrap();
    }
    engine.flush().unwrap();
}

#[test]
fn summaries_of_final_blocks_are_rollups() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    write_steps(&engine, "m every=10s", 1500, 10 * SECOND);
    write_steps(&engine, "m every=1s", 1500, SECOND);
    write_steps(&engine, "m every=60s", 1500, 60 * SECOND);
    engine.merge_all().unwrap();
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
    let expected: [&[u16]; 3] = [&[360, 360, 360, 360, 60], &[300; 5], &[1024, 476]];
    for ((sid, counts), step_s) in sids.into_iter().zip(expected).zip([10, 1, 60]) {
        let mut scan = snapshot.scan(sid, TimeRange::ALL).unwrap();
        let mut first = 0;
        for &count in counts {
            let block = scan.peek().unwrap();
            assert_eq!(block.count, count);
            let start_ns = START + (3600 + first * step_s) * SECOND;
            let length_ns = (i64::from(count) - 1) * step_s * SECOND;
            assert_eq!(block.range, TimeRange::new(start_ns, start_ns + length_ns));
            let values = (first..first + i64::from(count)).map(|step| step % 91);
            let tenths: i64 = values.clone().sum();
            let is_near = |a: f64, b: i64| (a - b as f64 / 10.0).abs() <= a.abs() * 1e-12;
            assert!(is_near(block.summary.sum(), tenths));
            assert!(is_near(block.summary.max(), values.clone().max().unwrap()));
            assert!(is_near(block.summary.first(), first % 91));
            first += i64::from(count);
            scan.skip();
        }
        assert!(scan.peek().is_none());
    }
}

#[test]
fn a_question_tells_the_blocks_that_it_did_not_need() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    // Four blocks of an hour, and one of ten minutes.
    write_steps(&engine, "m every=10s", 1500, 10 * SECOND);
    write_steps(&engine, "m every=1s", 1500, SECOND);
    engine.merge_all().unwrap();
    let snapshot = engine.snapshot();
    let sid = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap()[0];
    // All of the second hour, and half of the third.
    let range = TimeRange::new(START + 2 * 3600 * SECOND, START + 12_600 * SECOND - 1);
    let mut scan = snapshot.scan(sid, range).unwrap();
    scan.skip();
    let mut samples = Samples::default();
    assert!(scan.next(&mut samples).unwrap() && samples.len() == 180);
    assert!(!scan.next(&mut samples).unwrap());
    drop(scan);
    let reads = snapshot.reads();
    assert_eq!((reads.blocks_read, reads.blocks_summed, reads.blocks_skipped), (1, 1, 3));
}

#[test]
fn a_flipped_bit_in_a_final_part_is_found() {
    let disk = SimDisk::new(5);
    let engine = open(&disk);
    for round in 0..4 {
        flush(&engine, round * 2000, round * 2000 + 2000);
    }
    engine.flush().unwrap();
    engine.merge_all().unwrap();
    drop(engine);
    let path = parts(&disk)[0].clone();
    let len = disk.open(&path).unwrap().len();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    for at in (0..len).step_by((len / 400).max(1) as usize) {
        disk.rot(&path, at, 4).unwrap();
        let checked = foliot_engine::check(&shared, Path::new(DIR));
        assert!(checked.is_err() || !checked.unwrap().problems.is_empty(), "byte {at}");
        disk.rot(&path, at, 4).unwrap();
    }
    assert_eq!(count(&open(&disk)), [8000; 3]);
}

#[test]
fn a_store_that_closes_begins_no_work_and_calls_that_no_failure() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    (0..3).for_each(|round| flush(&engine, round * 10, round * 10 + 10));
    engine.close().unwrap();
    let files = disk.list(Path::new(DIR)).unwrap();
    assert!(matches!(engine.flush(), Err(Error::Closed)));
    assert!(matches!(engine.merge_all(), Err(Error::Closed)));
    assert!(matches!(engine.begin_epoch(), Err(Error::Closed)));
    let stats = engine.stats();
    assert_eq!((stats.flushes_failed, stats.merges_failed, engine.troubles()), (0, 0, Vec::new()));
    assert_eq!(disk.list(Path::new(DIR)).unwrap(), files);
    drop(engine);
    assert_eq!(count(&open(&disk)), [30; 3]);
}

#[test]
fn one_field_of_many_sources_is_read_from_pages_of_its_own() {
    const HOSTS: i64 = 300;
    const STEPS: i64 = 100;
    let disk = SimDisk::new(3);
    let engine = open(&disk);
    // Sixteen bits that nothing makes fewer.
    let value = |host: i64, step: i64, field: i64| {
        let mixed =
            ((host * STEPS + step) * 10 + field + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64);
        (mixed as u64 >> 48) as i64
    };
    let line = |(host, step): (i64, i64)| Line {
        key: format!("m host=h{host:03}"),
        time_ns: START + step * SECOND,
        fields: (0..10).map(|f| (format!("f{f}"), Owned::Integer(value(host, step, f)))).collect(),
    };
    let lines = (0..HOSTS).flat_map(|host| (0..STEPS).map(move |step| (host, step)));
    let (commit, _) = write(&engine, 0, &lines.map(line).collect::<Vec<_>>());
    engine.wait(commit.unwrap(), Ack::Os).unwrap();
    engine.flush().unwrap();
    engine.merge_all().unwrap();
    drop(engine);

    // Pages that are read for the first `fields` fields, and whether all was there.
    let pages = |fields: i64| {
        let engine = open(&disk);
        let snapshot = engine.snapshot();
        let before = engine.stats().cache_misses;
        let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
        assert_eq!(sids.len() as i64, HOSTS * 10);
        for (number, sid) in (0..).zip(sids) {
            let (host, field) = (number / 10, number % 10);
            if field < fields {
                let samples = read(&snapshot, sid, TimeRange::ALL);
                let wanted = (0..STEPS)
                    .map(|step| (START + step * SECOND, Owned::Integer(value(host, step, field))));
                assert_eq!(samples, wanted.collect::<Vec<_>>());
            }
        }
        engine.stats().cache_misses - before
    };
    let (one, all) = (pages(1), pages(10));
    assert!(2 * one < all, "{one} pages of one field, {all} of all");
}
