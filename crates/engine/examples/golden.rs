//! Makes a golden data directory: `cargo run -p foliot-engine --example golden -- DIR`.
//!
//! Run once for each format version, when it is new; the result is committed to `testdata/` and
//! opened by every later build, see `tests/golden`. The store is made on the simulated disk, whose
//! clock and randomness are always the same.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a program for developers")]

#[path = "../tests/golden/formula.rs"]
mod formula;
#[path = "../tests/support/mod.rs"]
mod support;

use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Ack, Caller, Config, Engine, RetentionRule};
use foliot_model::{Matcher, Selector, Test, TimeRange};
use formula::{DEBUG_KEPT_NS, NAMESPACES, Row, Step, Value};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::{Line, Owned};

fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let disk = SimDisk::new(1);
    assert_eq!(disk.now_ns(), formula::NOW_NS);
    let config = Config {
        background: false,
        merge_parts: 2,
        delete_deadline: Duration::from_secs(1 << 30),
        retention_rules: vec![RetentionRule {
            measurement: "debug".to_owned(),
            labels: Vec::new(),
            keep: Some(Duration::from_nanos(DEBUG_KEPT_NS as u64)),
        }],
        ..Config::default()
    };
    let store = Path::new("store");
    let engine = Engine::open(Arc::new(disk.clone()), store, config).unwrap();
    let (database, policy) = NAMESPACES[1];
    assert_eq!(engine.create_namespace(database, policy).unwrap(), 1);
    formula::steps().iter().for_each(|step| act(&engine, step));
    engine.close().unwrap();
    drop(engine);
    std::fs::create_dir_all(&dir).unwrap();
    // The audit log is for people.
    let names = disk.list(store).unwrap().into_iter().filter(|name| name != "audit.log");
    for name in names {
        let file = disk.open(&store.join(&name)).unwrap();
        let mut bytes = vec![0; file.len() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        std::fs::write(Path::new(&dir).join(name), bytes).unwrap();
    }
}

fn selector(measurement: &str, host: &str) -> Selector {
    let mut selector = support::selector(0, measurement);
    selector.matchers.push(Matcher {
        name: "host".to_owned(),
        test: Test::equal(host),
        negated: false,
        accepts_absent: false,
    });
    selector
}

fn act(engine: &Engine, step: &Step) {
    let caller = Caller::default();
    match step {
        Step::Write(rows) => rows.chunks(1000).for_each(|rows| write(engine, rows)),
        Step::Fact(kind, key, Some(bytes)) => drop(engine.catalog_put(kind, key, bytes).unwrap()),
        Step::Fact(kind, key, None) => drop(engine.catalog_delete(kind, key).unwrap()),
        Step::Delete(measurement, host, from_ns, to_ns) => {
            let range = TimeRange::new(*from_ns, *to_ns);
            engine.delete(&selector(measurement, host), range, &caller).unwrap();
        }
        Step::Drop(measurement, host) => {
            engine.drop_series(&selector(measurement, host), &caller).unwrap();
        }
        Step::Flush => engine.flush().unwrap(),
        Step::Maintain => while engine.maintain().unwrap() {},
        Step::MergeAll => engine.merge_all().unwrap(),
        // Twice: the second time archives what the first one closed.
        Step::BeginEpoch => engine.begin_epoch().unwrap(),
        Step::Keep(ns) => {
            engine.set_retention(1, Some(Duration::from_nanos(*ns as u64)), &caller).unwrap();
        }
    }
}

fn write(engine: &Engine, rows: &[Row]) {
    for of_one in rows.chunk_by(|a, b| a.namespace == b.namespace) {
        let lines: Vec<Line> = of_one.iter().map(line).collect();
        let (commit, rejects) = support::write(engine, of_one[0].namespace as u32, &lines);
        assert_eq!(rejects, []);
        engine.wait(commit.unwrap(), Ack::Durable).unwrap();
    }
}

fn line(row: &Row) -> Line {
    let mut key = row.measurement.to_owned();
    for (name, value) in &row.labels {
        key.push_str(&format!(" {name}={value}"));
    }
    let field = |(name, value): &(&str, Value)| {
        let value = match value.clone() {
            Value::Float(v) => Owned::Float(v),
            Value::Decimal(mantissa, scale) => Owned::Decimal(mantissa, scale),
            Value::Integer(v) => Owned::Integer(v),
            Value::Unsigned(v) => Owned::Unsigned(v),
            Value::Boolean(v) => Owned::Boolean(v),
            Value::String(v) => Owned::String(v),
            Value::Histogram(v) => Owned::Histogram(v),
        };
        ((*name).to_owned(), value)
    };
    Line { key, time_ns: row.time_ns, fields: row.fields.iter().map(field).collect() }
}
