//! The same question over the same samples has the same answer, to the last bit, wherever the
//! samples lie: in memory, in young parts, in merged ones, and however flushes cut them.

use crate::harness::{SECOND, START, open, write};
use foliot_engine::Engine;
use foliot_exec::{Cancel, Limits, Meter, Query, run, select};
use foliot_model::{Cell, Item, Kind, Name, Samples, Selector, Test, TimeRange, Value};
use foliot_plan::rows::{
    Absent, Buckets, Calculate, Column, Input, Layout, Reduce, Reducer, Rows, Scan, Select, Slot,
};
use foliot_plan::{Aggregate, Arithmetic, Fill, Fold, Gap, Grouping, Series, Window, Windows};
use std::ops::ControlFlow;
use std::sync::Arc;

const SAMPLES: i64 = 9_000;

/// Decimals of several lengths, some of which are not the float that a plain loop would take them
/// for, and in the second half of `mixed` floats that are no decimals.
fn value(field: &str, t: i64) -> Cell {
    let digits = (t * 7_919_317 + 13) % 10_000_019;
    match (field, t % 7) {
        ("mixed", _) if t > SAMPLES / 2 => Cell::float(digits as f64 / 7.0 * 1e3),
        (_, 0) => Cell::decimal(digits, 1).unwrap(),
        (_, 1..4) => Cell::decimal(-digits, 6).unwrap(),
        _ => Cell::decimal(digits, 3).unwrap(),
    }
}

const FIELDS: [&str; 2] = ["decimals", "mixed"];

/// A store that was flushed after each `cut` samples, and merged at the end if asked for.
fn store(cut: Option<i64>, merges: bool) -> Engine {
    let engine = open();
    let mut from = 0;
    while from < SAMPLES {
        let to = cut.map_or(SAMPLES, |cut| SAMPLES.min(from + cut));
        for field in FIELDS {
            for host in ["a", "b", "c"] {
                let shift = host.bytes().map(i64::from).sum::<i64>();
                let rows: Vec<_> = (from..to).map(|t| (t, value(field, t + shift))).collect();
                write(&engine, &format!("m,h={host}"), field, &rows);
            }
        }
        if cut.is_some() {
            engine.flush().unwrap();
        }
        from = to;
    }
    if merges {
        engine.merge_all().unwrap();
    }
    engine
}

/// The bits of all values that series are answered with.
fn of_series(engine: &Engine, field: &str, fold: Fold, width: i64) -> Vec<u64> {
    let names = vec![Name { measurement: Test::equal("m"), field: Test::equal(field) }];
    let (matchers, exact_labels, only) = (Vec::new(), None, None);
    let selector = Selector { namespace: 0, names, matchers, exact_labels, only };
    let range = TimeRange::new(START * SECOND, (START + SAMPLES) * SECOND);
    let input = Series::Select { selector, range };
    let windows = Windows::Buckets { width_ns: width * SECOND, origin_ns: START * SECOND };
    let fill = Fill::None;
    let input = Series::Window(Box::new(Window { input, windows, fold, fill, range }));
    let plan = Series::Aggregate(Box::new(Aggregate {
        input,
        grouping: Grouping::All,
        fold,
        gap: Gap::Absent,
        arithmetic: Arithmetic::Float,
        wants_members: false,
    }));
    let snapshot = engine.snapshot();
    let query =
        Query { snapshot: &snapshot, meter: Meter::new(Limits::default(), Cancel::default()) };
    let mut all = Samples::default();
    run(&query, &[plan], &mut |frame| {
        all.append(&frame.samples, 0..frame.samples.len());
        ControlFlow::Continue(())
    })
    .unwrap();
    let bits = |(_, value): (i64, Value<'_>)| match value {
        Value::Float(value) => Some(value.to_bits()),
        _ => None,
    };
    all.iter().filter_map(bits).collect()
}

/// The bits of all values that rows are answered with.
fn of_rows(engine: &Engine, field: &str, function: Reducer, width: i64) -> Vec<u64> {
    let layout = Arc::new(Layout {
        range: TimeRange::new(START * SECOND, (START + SAMPLES) * SECOND),
        windows: Some(Buckets { width_ns: width * SECOND, offset_ns: 0, zone: None, whole: false }),
        order_by: Arc::default(),
        group_by: Arc::default(),
        descending: false,
        ordered: false,
    });
    let scan = Scan {
        namespace: 0,
        measurement: "m".into(),
        value: Some((field.into(), Kind::Float)),
        carried: Vec::new(),
        condition: None,
        condition_slots: Vec::new(),
        layout: layout.clone(),
        heads_descending: false,
        rows_max: None,
        one_each: false,
        heads: (0, None),
        sources_max: None,
    };
    let input = Rows::Scan(Box::new(scan));
    let rows = Rows::Reduce(Box::new(Reduce { input, function, layout }));
    let plan = Select {
        inputs: vec![Input {
            rows,
            value: Some(Slot { index: 0, kind: None }),
            carried: Vec::new(),
        }],
        slots: 1,
        columns: vec![Column { name: "x".into(), value: Calculate::Slot(0) }],
        absent: Absent::Value(Item::Null),
        descending: false,
    };
    let snapshot = engine.snapshot();
    let query =
        Query { snapshot: &snapshot, meter: Meter::new(Limits::default(), Cancel::default()) };
    let mut all = Vec::new();
    select(&query, &plan, &mut |table| {
        all.extend(table.rows().flatten().filter_map(|item| match item {
            Item::Float(value) => Some(value.to_bits()),
            _ => None,
        }));
        ControlFlow::Continue(())
    })
    .unwrap();
    all
}

#[test]
fn sums_do_not_depend_on_where_samples_lie() {
    let in_memory = store(None, false);
    let others = [
        ("flushed once", store(Some(SAMPLES), false)),
        ("flushed often", store(Some(1_301), false)),
        ("merged", store(Some(777), true)),
    ];
    for field in FIELDS {
        for width in [60, 300, 3_600, 1_000_000] {
            for (fold, function) in [(Fold::Sum, Reducer::Sum), (Fold::Mean, Reducer::Mean)] {
                let series = of_series(&in_memory, field, fold, width);
                let rows = of_rows(&in_memory, field, function.clone(), width);
                assert!(!series.is_empty() && !rows.is_empty());
                for (name, other) in &others {
                    let case = format!("{name}, {fold:?} of {field} over {width} s");
                    assert_eq!(of_series(other, field, fold, width), series, "series {case}");
                    assert_eq!(of_rows(other, field, function.clone(), width), rows, "rows {case}");
                }
            }
        }
    }
}

/// Held against whole numbers: the sum is that of the decimals as they were written, rounded once.
#[test]
fn sums_are_those_of_what_was_written() {
    let billionths = |t: i64| {
        let digits = i128::from((t * 7_919_317 + 13) % 10_000_019);
        match t % 7 {
            0 => digits * 100_000_000,
            1..4 => -digits * 1_000,
            _ => digits * 1_000_000,
        }
    };
    let hosts = [i64::from(b'a'), i64::from(b'b'), i64::from(b'c')];
    let all = hosts.iter().flat_map(|shift| (0..SAMPLES).map(move |t| billionths(t + shift)));
    let sum: i128 = all.sum();
    let text = format!("{}.{:09}", sum / 1_000_000_000, sum % 1_000_000_000);
    let expected = text.parse::<f64>().unwrap().to_bits();
    let engine = store(Some(1_301), true);
    assert_eq!(of_series(&engine, "decimals", Fold::Sum, 1_000_000), [expected]);
}
