//! Rows that come a little late cost little: the same rows in order and late, side by side.

use crate::support::{Line, Owned, read, selector, write};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Config, Engine};
use foliot_model::{DEFAULT_NAMESPACE, TimeRange};
use std::path::Path;
use std::sync::Arc;

const STEP_NS: i64 = 10_000_000_000;
const START_NS: i64 = 1_700_000_000_000_000_000;
const STEPS: i64 = 5000;

/// A walk that moves by one.
fn value(step: i64) -> i64 {
    50 + (step % 40 - 20).abs()
}

/// Writes the steps in the order given; tells the bytes of samples in memory before the flush and
/// those of parts after it.
fn write_in(order: &[i64]) -> (Engine, u64, u64) {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(7));
    let config = Config { background: false, ..Config::default() };
    let engine = Engine::open(disk, Path::new("store"), config).unwrap();
    for host in 0..50 {
        let lines: Vec<_> = order
            .iter()
            .map(|&step| Line {
                key: format!("m host=h{host}"),
                time_ns: START_NS + step * STEP_NS,
                fields: vec![("value".to_owned(), Owned::Integer(value(step)))],
            })
            .collect();
        write(&engine, DEFAULT_NAMESPACE, &lines).0.unwrap();
    }
    let head_bytes = engine.stats().head_bytes;
    engine.flush().unwrap();
    let part_bytes = engine.stats().part_bytes;
    (engine, head_bytes, part_bytes)
}

#[test]
fn late_rows_take_little_more_memory_and_no_more_disk() {
    let in_order: Vec<i64> = (0..STEPS).collect();
    let mut late: Vec<i64> = (0..STEPS).collect();
    // Every other one is late by one to forty steps.
    late.sort_by_key(|step| step + if step % 2 == 0 { 1 + step / 2 % 40 } else { 0 });
    let (_, head_in_order, part_in_order) = write_in(&in_order);
    let (engine, head_late, part_late) = write_in(&late);
    assert!(head_late < 3 * head_in_order, "{head_late} bytes, {head_in_order} in order");
    assert!(part_late * 20 < part_in_order * 21, "{part_late} bytes, {part_in_order} in order");
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, "m"), TimeRange::ALL).unwrap();
    assert_eq!(sids.len(), 50);
    let expected: Vec<_> = in_order
        .iter()
        .map(|&step| (START_NS + step * STEP_NS, Owned::Integer(value(step))))
        .collect();
    for sid in sids {
        assert_eq!(read(&snapshot, sid, TimeRange::ALL), expected);
    }
}
