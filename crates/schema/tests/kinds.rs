//! Kinds of fields over a real store: what is declared, what is refused, and what it costs.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of tests are tests")]

use foliot_disk::{Disk, SimDisk};
use foliot_engine::{Config, Engine, RetentionRule};
use foliot_model::{Batch, BatchBuffers, Kind, Reject};
use foliot_proto_influx::{Decoder, LINE_SYNTAX, Precision, Settings};
use foliot_proto_opentsdb::{KEY_SYNTAX, Options, decode_histograms, decode_lines};
use foliot_schema::{JudgedKinds, Kinds, Manner};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn open() -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(SimDisk::new(1)), Path::new("data"), config).unwrap()
}

/// Checks lines; returns how many rows are left and why others are not.
fn check(kinds: &Kinds, engine: &Engine, lines: &str) -> (usize, Vec<Reject>) {
    batch_of_lines(engine, lines, |batch| {
        let mut rejects = Vec::new();
        kinds.check(engine, batch, Manner::Strict, &mut rejects).unwrap();
        (batch.rows().len(), rejects)
    })
}

fn batch_of_lines<T>(engine: &Engine, lines: &str, then: impl FnOnce(&mut Batch<'_>) -> T) -> T {
    let (bytes, secret) = (lines.as_bytes(), engine.key_secret());
    let mut batch = Batch::new(bytes, 0, &LINE_SYNTAX, secret, BatchBuffers::default());
    let settings = Settings { precision: Precision::Nanosecond, ..Settings::default() };
    let mut rejects = Vec::new();
    Decoder::default().decode(&mut batch, settings, &mut rejects);
    assert!(rejects.is_empty(), "{rejects:?}");
    then(&mut batch)
}

fn of(engine: &Engine, measurement: &str, field: &str) -> Kind {
    Kinds::of(engine, 0, measurement, field)
}

#[test]
fn a_field_keeps_the_kind_of_its_first_value() {
    let (engine, kinds) = (open(), Kinds::default());
    let (rows, rejects) = check(&kinds, &engine, "m,h=a v=1i,s=\"x\" 1\nm,h=b v=2.5,s=\"y\" 1");
    assert_eq!((rows, rejects.len()), (1, 1));
    assert_eq!(rejects[0].field, "v");
    assert!(rejects[0].reason.contains("\"v\" on measurement \"m\" is type float, already exists"));
    assert_eq!((of(&engine, "m", "v"), of(&engine, "m", "s")), (Kind::Integer, Kind::String));
    assert_eq!(check(&kinds, &engine, "m\\,x v=2.5 1").0, 1, "another measurement");
    assert_eq!(of(&engine, "m,x", "v"), Kind::Float);
}

#[test]
fn what_is_forgotten_is_decided_anew_and_its_neighbours_stay() {
    let (engine, kinds) = (open(), Kinds::default());
    for name in ["m", "mm", "m\0m"] {
        assert_eq!(check(&kinds, &engine, &format!("{name} v=1i 1")).0, 1);
    }
    kinds.forget(&engine, 0, "m").unwrap();
    assert_eq!(check(&kinds, &engine, "m v=true 1").0, 1);
    assert_eq!(of(&engine, "m", "v"), Kind::Boolean);
    for name in ["mm", "m\0m"] {
        assert_eq!(of(&engine, name, "v"), Kind::Integer, "{name:?}");
        assert_eq!(check(&kinds, &engine, &format!("{name} v=true 1")).0, 0);
    }
    kinds.forget_all(&engine, 0).unwrap();
    assert_eq!(check(&kinds, &engine, "mm v=true 1").0, 1);
}

#[test]
fn a_field_that_has_series_again_keeps_its_kind_when_its_measurement_is_forgotten() {
    let (engine, kinds) = (open(), Kinds::default());
    check(&kinds, &engine, "m v=1i,w=1i 1");
    // A line that came between the end of the old series and that of their kinds.
    batch_of_lines(&engine, "m v=1i 2", |batch| {
        engine.write(batch, &mut Vec::new()).unwrap();
    });
    kinds.forget(&engine, 0, "m").unwrap();
    assert_eq!(Kinds::declared(&engine, 0, "m", "v"), Some(Kind::Integer));
    assert_eq!(Kinds::declared(&engine, 0, "m", "w"), None);
    assert_eq!(check(&kinds, &engine, "m v=true 3").0, 0);
    assert_eq!(check(&kinds, &engine, "m w=true 3").0, 1);
}

#[test]
fn a_renamed_field_takes_its_kind_along() {
    let (engine, kinds) = (open(), Kinds::default());
    check(&kinds, &engine, "sys.cpu user=1i,idle=2i 1");
    kinds.rename(&engine, 0, ("sys.cpu", "user"), "cpu").unwrap();
    assert_eq!(of(&engine, "cpu", "value"), Kind::Integer);
    assert_eq!(check(&kinds, &engine, "sys.cpu user=1.5 1").0, 1);
    assert_eq!(check(&kinds, &engine, "sys.cpu idle=1.5 1").0, 0);
}

#[test]
fn numbers_of_put_lines_are_floats_for_lines_that_come_later() {
    let (engine, kinds) = (open(), Kinds::default());
    let text = b"put m 1000 7 h=a\n";
    let mut batch = Batch::new(text, 0, &KEY_SYNTAX, engine.key_secret(), BatchBuffers::default());
    let mut rejects = Vec::new();
    decode_lines(&mut batch, &Options::default(), &mut rejects);
    engine.write(&batch, &mut rejects).unwrap();
    assert_eq!((of(&engine, "m", "value"), rejects.len()), (Kind::Float, 0));
    assert_eq!(check(&kinds, &engine, "m value=1i 1").0, 0);
    assert_eq!(check(&kinds, &engine, "m value=1.5,other=1i 1").0, 1);
}

#[test]
fn lines_of_a_door_without_kinds_declare_floats_and_mix_numbers_only() {
    let (engine, kinds) = (open(), Kinds::default());
    let text = "m a=1i,s=\"x\" 1\nm a=2.5,s=\"x\" 2\nm a=true 3\nm s=4 4\nm a=\"x\" 5";
    batch_of_lines(&engine, text, |batch| {
        let mut rejects = Vec::new();
        kinds.check(&engine, batch, Manner::Loose, &mut rejects).unwrap();
        assert_eq!(batch.rows().len(), 2);
        let lines: Vec<u32> = rejects.iter().map(|reject| reject.line).collect();
        assert_eq!(lines, [3, 4, 5]);
        assert!(rejects[0].reason.contains("is type boolean, already exists as type float"));
    });
    assert_eq!((of(&engine, "m", "a"), of(&engine, "m", "s")), (Kind::Float, Kind::String));
}

#[test]
fn samples_that_come_back_keep_their_kinds_and_the_first_is_the_fields() {
    let (engine, kinds) = (open(), Kinds::default());
    let text = "m a=1i,s=\"x\" 1\nm a=2.5,s=\"x\" 2\nm a=7u 3\nm a=true 4\nm s=4 5";
    let left = |rejects: &[Reject]| rejects.iter().map(|reject| reject.line).collect::<Vec<_>>();
    batch_of_lines(&engine, text, |batch| {
        let mut rejects = Vec::new();
        let mut judged = JudgedKinds::default();
        judged.check_for(&engine, batch, Manner::Kept, &mut rejects).unwrap();
        assert_eq!((batch.rows().len(), left(&rejects)), (3, vec![4, 5]), "in a dry run");
    });
    batch_of_lines(&engine, text, |batch| {
        let mut rejects = Vec::new();
        kinds.check(&engine, batch, Manner::Kept, &mut rejects).unwrap();
        assert_eq!((batch.rows().len(), left(&rejects)), (3, vec![4, 5]));
    });
    assert_eq!((of(&engine, "m", "a"), of(&engine, "m", "s")), (Kind::Integer, Kind::String));
}

#[test]
fn a_row_that_is_refused_decides_no_kind() {
    let disk = SimDisk::new(3);
    let now_s = disk.now_ns() / 1_000_000_000;
    let keep = |days: u64| Some(Duration::from_secs(days * 86_400));
    let rule = RetentionRule { measurement: "short".into(), labels: vec![], keep: keep(1) };
    let config = Config {
        background: false,
        retention: keep(10),
        retention_rules: vec![rule],
        labels_max: 2,
        series_max: 4,
        ..Config::default()
    };
    let engine = Engine::open(Arc::new(disk), Path::new("data"), config).unwrap();
    let kinds = Kinds::default();
    // Returns how many rows are stored.
    let write = |lines: &str| {
        let lines: Vec<String> = lines.lines().map(|line| dated(line, now_s)).collect();
        batch_of_lines(&engine, &lines.join("\n"), |batch| {
            let (mut rejects, rows) = (Vec::new(), batch.rows().len());
            kinds.check(&engine, batch, Manner::Strict, &mut rejects).unwrap();
            engine.write(batch, &mut rejects).unwrap();
            rows - rejects.len()
        })
    };
    assert_eq!(write("m known=1i -1"), 1);
    for refused in [
        "m v=\"t\" -11",
        "short v=\"t\" -2",
        "m,=x v=\"t\" -1",
        "m,a=1,b=2,c=3 v=\"t\" -1",
        "m,a=1,a=2 v=\"t\" -1",
        "m v=\"t\",known=1.5 -1",
        "m v=\"t\",b=1,c=1,d=1 -1",
    ] {
        let before = (engine.stats().series, engine.catalog_list("field").len());
        assert_eq!(write(refused), 0, "{refused}");
        let after = (engine.stats().series, engine.catalog_list("field").len());
        assert_eq!(after, before, "{refused}");
    }
    // A refused line of a request says nothing to those behind it.
    assert_eq!(write("m v=\"t\" -11\nm v=1i -1\nm v=\"t\" -1\nm v=2i -1"), 2);
    assert_eq!(of(&engine, "m", "v"), Kind::Integer);
    assert_eq!(write("short v=true 0\nshort v=\"t\" -2"), 1);
    assert_eq!(of(&engine, "short", "v"), Kind::Boolean);
    // There is room for one series: the first new field takes it.
    assert_eq!(write("m e=1i -1\nm f=1i -1"), 1);
    assert_eq!(Kinds::declared(&engine, 0, "m", "f"), None);
}

/// A line with a time in days instead of a timestamp.
fn dated(line: &str, now_s: i64) -> String {
    let (line, days) = line.rsplit_once(' ').unwrap();
    let days: i64 = days.parse().unwrap();
    format!("{line} {}000000000", now_s + days * 86_400)
}

#[test]
fn histograms_are_declared() {
    let (engine, kinds) = (open(), Kinds::default());
    let text = br#"[{"metric":"h","timestamp":1000,"buckets":{"0,1":2},"tags":{"a":"b"}}]"#;
    let mut batch = Batch::new(text, 0, &KEY_SYNTAX, engine.key_secret(), BatchBuffers::default());
    let mut rejects = Vec::new();
    assert!(decode_histograms(&mut batch, &Options::default(), &mut rejects).is_ok());
    assert_eq!((batch.rows().len(), rejects.len()), (1, 0));
    kinds.note_histograms(&engine, &batch).unwrap();
    assert_eq!(of(&engine, "h", "value"), Kind::Histogram);
}

#[test]
fn all_new_fields_of_a_line_are_declared_and_survive_it() {
    let disk = SimDisk::new(2);
    let open = || {
        let config = Config { background: false, ..Config::default() };
        Engine::open(Arc::new(disk.clone()), Path::new("data"), config).unwrap()
    };
    let engine = open();
    let kinds = Kinds::default();
    check(&kinds, &engine, "m f0999=true 1");
    let fields: Vec<String> = (0..999).map(|n| format!("f{n:04}={}i", n)).collect();
    // One field has another kind, so that the line is refused, and decides nothing.
    assert_eq!(check(&kinds, &engine, &format!("m {},f0999=1i 1", fields.join(","))).0, 0);
    assert_eq!(engine.catalog_list("field").len(), 1);
    assert_eq!(check(&kinds, &engine, &format!("m {} 1", fields.join(","))).0, 1);
    engine.wait(engine.written(), foliot_engine::Ack::Durable).unwrap();
    drop(engine);
    let engine = open();
    let declared = (0..1_000).map(|n| of(&engine, "m", &format!("f{n:04}")));
    let expected = (0..1_000).map(|n| if n == 999 { Kind::Boolean } else { Kind::Integer });
    assert!(declared.eq(expected));
    engine.close().unwrap();
}

#[test]
fn a_new_field_costs_the_same_however_many_there_are() {
    let (engine, kinds) = (open(), Kinds::default());
    let written = || {
        engine.wait(engine.written(), foliot_engine::Ack::Os).unwrap();
        engine.stats().wal_bytes
    };
    let mut grown = Vec::new();
    for round in 0..4 {
        let before = written();
        for field in 0..500 {
            check(&kinds, &engine, &format!("m f{round}_{field:03}=1i 1"));
        }
        grown.push(written() - before);
    }
    assert!(grown[3] <= grown[0] + grown[0] / 10, "bytes of 500 fields each: {grown:?}");
}

thread_local! {
    static ASIDE: Cell<u32> = const { Cell::new(0) };
}

#[test]
fn many_new_fields_are_declared_and_registered_aside() {
    let config = Config {
        background: false,
        aside: |work| {
            ASIDE.set(ASIDE.get() + 1);
            work();
        },
        ..Config::default()
    };
    let engine = Engine::open(Arc::new(SimDisk::new(1)), Path::new("data"), config).unwrap();
    let kinds = Kinds::default();
    let write = |lines: &str| {
        batch_of_lines(&engine, lines, |batch| {
            let mut rejects = Vec::new();
            kinds.check(&engine, batch, Manner::Strict, &mut rejects).unwrap();
            let declared = ASIDE.replace(0);
            engine.write(batch, &mut rejects).unwrap();
            assert!(rejects.is_empty(), "{rejects:?}");
            (declared, ASIDE.replace(0))
        })
    };
    let names: Vec<String> = (0..100).map(|number| format!("f{number}=1i")).collect();
    let wide = format!("m {} 1", names.join(","));
    let hosts: Vec<String> = (0..100).map(|number| format!("n,h={number} v=1 1")).collect();
    assert_eq!(write("m v=1 1"), (0, 0), "one new field");
    assert_eq!(write(&wide), (1, 1), "a hundred new fields");
    assert_eq!(write(&wide), (0, 0), "they are known");
    assert_eq!(write(&hosts.join("\n")), (0, 1), "a hundred new series of one field");
    for number in [0, 99] {
        assert_eq!(of(&engine, "m", &format!("f{number}")), Kind::Integer);
    }
}
