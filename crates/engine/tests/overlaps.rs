//! Samples of one series in places that overlap each other, read block by block and as runs, beside
//! a map that every write and delete is put into in turn.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::SimDisk;
use foliot_engine::{Ack, Caller, Config, Engine, Run, RunValues, Scan, Snapshot};
use foliot_model::{Kind, TimeRange};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const SECOND: i64 = 1_000_000_000;
const START: i64 = 2811 * 7 * 86_400 * SECOND;

/// Numbers that look random; the same ones for the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: i64) -> i64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) as i64 % bound
    }
}

type Samples = BTreeMap<i64, i64>;

/// A store that was written to, deleted from, flushed and merged by chance, and what it must hold.
fn store(seed: u64) -> (Engine, Samples) {
    let mut dice = Dice(seed);
    let config = Config { background: false, merge_parts: 4, ..Config::default() };
    let engine = Engine::open(Arc::new(SimDisk::new(seed)), Path::new("store"), config).unwrap();
    let mut samples = Samples::new();
    let put = |samples: &mut Samples, times: Vec<i64>, value: i64| {
        let line = |(number, time_ns): (usize, &i64)| Line {
            key: "m".to_owned(),
            time_ns: *time_ns,
            fields: vec![("a".to_owned(), Owned::Integer(value + number as i64 % 7))],
        };
        let lines: Vec<_> = times.iter().enumerate().map(line).collect();
        let (commit, rejects) = write(&engine, 0, &lines);
        assert!(rejects.is_empty());
        engine.wait(commit.unwrap(), Ack::Os).unwrap();
        samples.extend((0..).zip(times).map(|(number, time)| (time, value + number % 7)));
    };
    for round in 0..4 + dice.below(12) {
        let first = dice.below(6_000);
        let (count, step) = (1 + dice.below(2_500), 1 + dice.below(3));
        let mut times: Vec<_> =
            (0..count).map(|number| START + (first + number * step) * SECOND).collect();
        if dice.below(4) == 0 {
            // Out of order, and not at equal distances.
            times.sort_by_key(|time| time ^ (0b1101 * SECOND));
            times.retain(|_| dice.below(3) > 0);
        }
        put(&mut samples, times, round * 1000);
        match dice.below(8) {
            0..4 => engine.flush().unwrap(),
            4 => while engine.maintain().unwrap() {},
            5 => {
                let start_ns = START + dice.below(8_000) * SECOND;
                let range = TimeRange::new(start_ns, start_ns + dice.below(2_000) * SECOND);
                engine.delete(&selector(0, "m"), range, &Caller::default()).unwrap();
                samples.retain(|time, _| !range.contains(*time));
            }
            _ => {}
        }
    }
    (engine, samples)
}

/// What runs hold, by their own positions and times.
fn runs(snapshot: &Snapshot, sid: u32, range: TimeRange) -> Vec<(i64, Owned)> {
    let mut scan = Scan::over(range);
    snapshot.scan_into(sid, &mut scan).unwrap();
    let (mut run, mut all) = (Run::default(), Vec::new());
    while scan.next_run(&mut run).unwrap() {
        assert!(!run.is_empty());
        for index in 0..run.len() {
            let time_ns = run.time_ns(index).unwrap();
            assert_eq!(run.position(0, time_ns), index);
            all.push((
                time_ns,
                match run.values() {
                    RunValues::Wholes { wholes, kind: Kind::Integer, .. } => {
                        Owned::Integer(*wholes.get(index).unwrap())
                    }
                    RunValues::Wholes { .. } => panic!("integers were written"),
                    RunValues::Samples(samples) => Owned::of(samples.values.get(index).unwrap()),
                },
            ));
        }
    }
    all
}

/// A long run, and many short ones over it that were flushed one by one; not merged.
fn shreds(seed: u64) -> (Engine, Samples) {
    let mut dice = Dice(seed);
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(Arc::new(SimDisk::new(seed)), Path::new("store"), config).unwrap();
    let mut samples = Samples::new();
    for round in 0..40 {
        let count = if round == 0 { 5_000 } else { 1 + dice.below(40) };
        let first = if round == 0 { 0 } else { dice.below(5_000) };
        let times = (first..first + count).map(|step| START + step * SECOND);
        let line = |time_ns: i64| Line {
            key: "m".to_owned(),
            time_ns,
            fields: vec![("a".to_owned(), Owned::Integer(round))],
        };
        let (commit, _) = write(&engine, 0, &times.clone().map(line).collect::<Vec<_>>());
        engine.wait(commit.unwrap(), Ack::Os).unwrap();
        engine.flush().unwrap();
        samples.extend(times.map(|time| (time, round)));
    }
    (engine, samples)
}

#[test]
fn what_overlaps_is_read_in_order_and_once() {
    for seed in 0..160 {
        let (engine, samples) = if seed < 150 { store(seed) } else { shreds(seed) };
        let snapshot = engine.snapshot();
        let sids: Vec<u32> =
            snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap().into_iter().collect();
        let Some(&sid) = sids.first() else {
            assert!(samples.is_empty(), "seed {seed}");
            continue;
        };
        let mut dice = Dice(seed + 1000);
        for asked in 0..6 {
            let start_ns = START + dice.below(9_000) * SECOND;
            let range = match asked {
                0 => TimeRange::ALL,
                _ => TimeRange::new(start_ns, start_ns + dice.below(4_000) * SECOND),
            };
            let wanted: Vec<_> = samples
                .iter()
                .filter(|(time, _)| range.contains(**time))
                .map(|(time, value)| (*time, Owned::Integer(*value)))
                .collect();
            assert_eq!(read(&snapshot, sid, range), wanted, "seed {seed}, question {asked}");
            assert_eq!(runs(&snapshot, sid, range), wanted, "runs of seed {seed}, {asked}");
        }
    }
}
