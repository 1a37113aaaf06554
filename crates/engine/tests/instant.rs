//! Several writers to one instant: whose value stays is decided once, and is the same for whoever
//! reads it live, after a restart and after a flush.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Config, Engine};
use foliot_model::TimeRange;
use std::path::Path;
use std::sync::Arc;

const SERIES: i64 = 20_000;
const WRITERS: i64 = 4;
const ROUNDS: i64 = 8;

fn open(disk: &SimDisk) -> Engine {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let config = Config { background: false, ..Config::default() };
    Engine::open(disk, Path::new("store"), config).unwrap()
}

/// The rows of one writer in one round, some of them: all writers write the same instants.
fn lines(writer: i64, round: i64) -> Vec<Line> {
    let line = |series: i64| Line {
        key: format!("m host=h{series}"),
        time_ns: round * 1_000_000_000,
        fields: vec![("a".to_owned(), Owned::Integer(writer))],
    };
    // From another place each, so that no two writers walk the pages together.
    let first = writer * SERIES / WRITERS;
    (0..SERIES).map(|at| line((first + at) % SERIES)).collect()
}

/// What everything holds, by series.
fn all(engine: &Engine) -> Vec<(u32, Vec<(i64, Owned)>)> {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap();
    sids.iter().map(|&sid| (sid, read(&snapshot, sid, TimeRange::ALL))).collect()
}

fn differing(a: &[(u32, Vec<(i64, Owned)>)], b: &[(u32, Vec<(i64, Owned)>)]) -> usize {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).filter(|(a, b)| a != b).count()
}

#[test]
fn one_of_several_values_of_an_instant_stays_for_good() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    write(&engine, 0, &lines(0, -1)).0.unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let engine = &engine;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    // Two frames each, of pages of which another writer's frame has the later half.
                    for slice in lines(writer, round).chunks(SERIES as usize / 2) {
                        write(engine, 0, slice).0.unwrap();
                    }
                }
            });
        }
    });
    let live = all(&engine);
    assert_eq!(live.len(), SERIES as usize);
    let samples = ROUNDS as usize + 1;
    assert!(live.iter().all(|(_, all)| all.len() == samples), "every instant is there once");
    engine.wait(engine.written(), Ack::Durable).unwrap();
    let killed = disk.kill();
    drop(engine);
    let engine = open(&killed);
    assert_eq!(differing(&live, &all(&engine)), 0, "series changed by a restart");
    engine.flush().unwrap();
    assert_eq!(differing(&live, &all(&engine)), 0, "series changed by a flush");
}

/// No instant is behind the last one of all, where an older value could be taken for a later one.
#[test]
fn the_last_instant_of_all_has_its_newest_value() {
    let disk = SimDisk::new(2);
    let engine = open(&disk);
    let put = |value| {
        let fields = vec![("a".to_owned(), Owned::Integer(value))];
        write(&engine, 0, &[Line { key: "m".to_owned(), time_ns: i64::MAX, fields }]).0.unwrap();
    };
    let last = || {
        let snapshot = engine.snapshot();
        let sid = snapshot.select(&selector(0, "m"), TimeRange::ALL).unwrap()[0];
        let last = snapshot.last(sid).unwrap().unwrap();
        let (time_ns, value) = last.iter().last().unwrap();
        assert_eq!(time_ns, i64::MAX);
        Owned::of(value)
    };
    put(1);
    engine.flush().unwrap();
    put(2);
    assert_eq!(last(), Owned::Integer(2), "of memory and a part");
    engine.flush().unwrap();
    assert_eq!(last(), Owned::Integer(2), "of two parts");
}
