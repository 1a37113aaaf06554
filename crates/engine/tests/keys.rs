//! Batches whose keys nobody has looked at: those that the store does not know are looked at before
//! anything is stored.

use crate::support::{Owned, SYNTAX, read, selector};
use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Caller, Config, Engine, Error};
use foliot_model::{
    Batch, BatchBuffers, Cell, DEFAULT_NAMESPACE, KeyCheck, Reject, Span, TimeRange,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DAY: i64 = 86_400_000_000_000;

fn open(disk: &SimDisk) -> Engine {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let config = Config { background: false, ..Config::default() };
    Engine::open(disk, Path::new("store"), config).unwrap()
}

/// Writes a sample for each key.
fn write(
    engine: &Engine,
    check: KeyCheck,
    rows: &[(&str, i64)],
) -> (Result<(), Error>, Vec<Reject>) {
    let (buffers, mut rejects) = (BatchBuffers::default(), Vec::new());
    let mut batch = Batch::new(b"", DEFAULT_NAMESPACE, &SYNTAX, engine.key_secret(), buffers);
    batch.check_unknown_keys_by(check);
    let field = batch.push_scratch(|out| out.extend_from_slice(b"value"));
    let shape = batch.push_shape(&[field]);
    for ((key, time_ns), line) in rows.iter().zip(1..) {
        let key = batch.push_scratch(|out| out.extend_from_slice(key.as_bytes()));
        batch.push_cell(Cell::integer(i64::from(line)));
        assert!(batch.push_row([Span::default(), key], *time_ns, shape, line));
    }
    (engine.write(&batch, &mut rejects).map(drop), rejects)
}

fn is_key(head: &[u8], tail: &[u8]) -> bool {
    head.is_empty() && tail.starts_with(b"m ")
}

fn is_none(_: &[u8], _: &[u8]) -> bool {
    false
}

/// All samples of all series called `m`, or of what would be called so.
fn samples(engine: &Engine) -> Vec<(i64, Owned)> {
    let snapshot = engine.snapshot();
    let sids = snapshot.select(&selector(DEFAULT_NAMESPACE, "m"), TimeRange::ALL).unwrap();
    sids.into_iter().flat_map(|sid| read(&snapshot, sid, TimeRange::ALL)).collect()
}

#[test]
fn nothing_is_stored_of_a_batch_with_something_else_in_the_place_of_a_key() {
    let disk = SimDisk::new(1);
    let engine = open(&disk);
    for rows in [&[("m h=a", 1), ("n h=a", 1)][..], &[("n h=a", 1), ("m h=a", 1)]] {
        let (stored, rejects) = write(&engine, is_key, rows);
        assert!(matches!(stored, Err(Error::NoKey)) && rejects.is_empty(), "{stored:?}");
    }
    assert_eq!((samples(&engine).len(), engine.stats().series), (0, 0));
    write(&engine, is_key, &[("m h=a", 1)]).0.unwrap();
    // What is known was a key, and is not asked again.
    write(&engine, is_none, &[("m h=a", 2)]).0.unwrap();
    assert!(write(&engine, is_none, &[("m h=a", 3), ("m h=b", 3)]).0.is_err());
    let wanted = [(1, Owned::Integer(1)), (2, Owned::Integer(1))];
    assert_eq!(samples(&engine), wanted);
    drop(engine);
    assert_eq!(samples(&open(&disk)), wanted, "nor does the log have anything of it");
}

#[test]
fn what_is_too_old_is_looked_at_as_well() {
    let disk = SimDisk::new(1);
    let (engine, now_ns) = (open(&disk), disk.now_ns());
    let kept = Some(Duration::from_secs(86_400));
    engine.set_retention(DEFAULT_NAMESPACE, kept, &Caller::default()).unwrap();
    let old = [("m h=a", now_ns), ("n h=a", now_ns - 9 * DAY)];
    let (stored, rejects) = write(&engine, is_key, &old);
    assert!(matches!(stored, Err(Error::NoKey)) && rejects.is_empty(), "{stored:?}");
    assert_eq!((samples(&engine).len(), engine.stats().rows_expired), (0, 0));
    let old = [("m h=a", now_ns), ("m h=b", now_ns - 9 * DAY)];
    let (stored, rejects) = write(&engine, is_key, &old);
    assert!(stored.is_ok(), "{stored:?}");
    assert_eq!((rejects.len(), samples(&engine).len(), engine.stats().rows_expired), (1, 1, 1));
}
