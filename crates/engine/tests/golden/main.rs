//! The format promise: every golden data directory under `testdata/` is opened and read whole, and
//! what a newer build might write is refused by name. The directories were made once, by
//! `examples/golden.rs`, when their format version was new.

#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "test code says what must hold by unwrapping"
)]

mod formula;
#[path = "../support/mod.rs"]
mod support;
mod sweep;

use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Config, Engine, RetentionRule};
use foliot_model::{Selector, TimeRange};
use formula::{DEBUG_KEPT_NS, Found, NAMESPACES, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use support::Owned;

const STORE: &str = "store";

/// A copy of a golden directory, on a machine whose clock says what it said then.
fn copy(version: u16) -> SimDisk {
    let disk = SimDisk::new(7);
    assert_eq!(disk.now_ns(), formula::NOW_NS);
    disk.create_dir_all(Path::new(STORE)).unwrap();
    let dir =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../testdata/store-v{version}"));
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        replace(&disk, entry.file_name().to_str().unwrap(), &std::fs::read(entry.path()).unwrap());
    }
    disk.sync_dir(Path::new(STORE)).unwrap();
    disk
}

fn path(name: &str) -> PathBuf {
    Path::new(STORE).join(name)
}

fn replace(disk: &SimDisk, name: &str, bytes: &[u8]) {
    let mut file = disk.create(&path(name)).unwrap();
    file.append(bytes).unwrap();
    file.sync().unwrap();
}

fn bytes(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = disk.open(&path(name)).unwrap();
    let mut bytes = vec![0; file.len() as usize];
    file.read_at(&mut bytes, 0).unwrap();
    bytes
}

fn files(disk: &SimDisk) -> BTreeMap<String, Vec<u8>> {
    let names = disk.list(Path::new(STORE)).unwrap();
    names.into_iter().map(|name| (name.clone(), bytes(disk, &name))).collect()
}

fn open(disk: &SimDisk) -> Result<Engine, foliot_engine::Error> {
    let config = Config {
        background: false,
        retention_rules: vec![RetentionRule {
            measurement: "debug".to_owned(),
            labels: Vec::new(),
            keep: Some(Duration::from_nanos(DEBUG_KEPT_NS as u64)),
        }],
        ..Config::default()
    };
    Engine::open(Arc::new(disk.clone()), Path::new(STORE), config)
}

fn all(engine: &Engine) -> Found {
    let snapshot = engine.snapshot();
    let mut found = Found::new();
    for (number, (database, policy)) in NAMESPACES.iter().enumerate() {
        let namespace = engine.namespace(database, policy).unwrap();
        let (names, matchers) = (Vec::new(), Vec::new());
        let everything = Selector { namespace, names, matchers, exact_labels: None, only: None };
        for sid in snapshot.select(&everything, TimeRange::ALL).unwrap() {
            let identity = snapshot.identity(sid).unwrap().unwrap();
            let label = |l: &foliot_model::Label| (l.name.to_string(), l.value.to_string());
            let labels = identity.labels.iter().map(label).collect();
            let (measurement, field) =
                (identity.measurement.to_string(), identity.field.to_string());
            let samples = support::read(&snapshot, sid, TimeRange::ALL).into_iter();
            let samples = samples.map(|(time_ns, value)| (time_ns, value_of(value))).collect();
            let before = found.insert((number, measurement, labels, field), samples);
            assert_eq!(before, None, "two series of one name");
        }
    }
    found
}

fn value_of(value: Owned) -> Value {
    match value {
        Owned::Float(v) => Value::Float(v),
        Owned::Decimal(mantissa, scale) => Value::Decimal(mantissa, scale),
        Owned::Integer(v) => Value::Integer(v),
        Owned::Unsigned(v) => Value::Unsigned(v),
        Owned::Boolean(v) => Value::Boolean(v),
        Owned::String(v) => Value::String(v),
        Owned::Histogram(v) => Value::Histogram(v),
    }
}

fn check(engine: &Engine) {
    assert_eq!(engine.damages(), &[] as &[String]);
    let (expected, facts) = formula::expected(&formula::steps());
    let found = all(engine);
    assert!(found.keys().eq(expected.keys()), "{:?}", found.keys());
    for (series, samples) in &expected {
        assert_eq!(samples, &found[series], "{series:?}");
    }
    let listed: BTreeMap<_, _> = engine
        .catalog_list("note")
        .into_iter()
        .map(|(key, bytes)| (("note".to_owned(), key), bytes))
        .collect();
    assert_eq!(listed, facts);
    assert_eq!(engine.retention(1), Some(Duration::from_nanos(formula::MONTH_KEPT_NS as u64)));
}

#[test]
fn the_directory_of_version_2_is_read_and_carried_on() {
    let disk = copy(2);
    let before = files(&disk);
    for kind in ["MANIFEST", "wal-", "part-", "index-", "segment-", "catalog-", "deletes-"] {
        assert!(before.keys().any(|name| name.starts_with(kind)), "{kind}");
    }
    let engine = open(&disk).unwrap();
    check(&engine);
    engine.close().unwrap();
    drop(engine);
    // Opening and reading it changes nothing of what is written once; the wal goes on.
    let after = files(&disk);
    for (name, bytes) in before.iter().filter(|(name, _)| !name.starts_with("wal-")) {
        assert_eq!(Some(bytes), after.get(name), "{name}");
    }
    let engine = open(&disk).unwrap();
    check(&engine);
    engine.flush().unwrap();
    check(&engine);
    engine.merge_all().unwrap();
    check(&engine);
    engine.begin_epoch().unwrap();
    drop(engine);
    check(&open(&disk.crash()).unwrap());
}

/// Writes a file's checksum anew, which covers its version.
fn seal(name: &str, file: &mut [u8]) {
    let mut crc = crc32fast::Hasher::new();
    let number = name.split(['-', '.']).nth(1).and_then(|number| number.parse::<u64>().ok());
    let (body, place) = match (name.split(['-', '.']).next().unwrap(), number) {
        ("MANIFEST", _) => {
            crc.update(&file[..8]);
            (12..file.len(), 8)
        }
        ("wal", _) => (0..36, 36),
        (_, Some(number)) => {
            crc.update(&number.to_le_bytes());
            crc.update(&0u64.to_le_bytes());
            let end = first_page_bytes(file);
            (0..end, end)
        }
        _ => unreachable!("BUG: {name}"),
    };
    crc.update(&file[body]);
    file[place..place + 4].copy_from_slice(&crc.finalize().to_le_bytes());
}

/// How long the first page of a paged file is, as the table at its end says.
fn first_page_bytes(file: &[u8]) -> usize {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let table_end = file.len() - 24;
    number(table_end - 4 * number(table_end))
}

#[test]
fn files_of_newer_builds_are_refused_by_name_and_left_alone() {
    let golden = copy(2);
    let all = files(&golden);
    let newest = all.keys().rfind(|name| name.starts_with("wal-")).unwrap();
    for (name, good) in &all {
        if name.starts_with("wal-") && name != newest {
            // Parts hold what is in it: it is read by nobody.
            continue;
        }
        for (at, words) in [
            (4, "has format version 66, this build reads 2;"),
            (6, "uses features that this build does not know (flags 0x0040);"),
        ] {
            let mut newer = good.clone();
            newer[at] |= 0x40;
            seal(name, &mut newer);
            let disk = copy(2);
            replace(&disk, name, &newer);
            let before = files(&disk);
            let opened = open(&disk).map(|engine| engine.damages().to_vec());
            let error = opened.expect_err(name).to_string();
            assert!(error.contains(words) && error.contains(name), "{name}: {error}");
            assert!(error.ends_with("start the version of Foliot that wrote it, or a later one"));
            assert_eq!(files(&disk), before, "{name} was touched");
        }
    }
}
