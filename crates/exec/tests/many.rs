//! Folds over very many series: exact, and in memory that does not grow with them.

use crate::harness::{SECOND, START, open, write};
use foliot_engine::Engine;
use foliot_exec::{Cancel, Error, Limits, Meter, Query, run, select};
use foliot_model::{Cell, Item, Kind, Name, Selector, Test, TimeRange, Value};
use foliot_plan::rows::{
    Absent, Buckets, Calculate, Carried, Column, Input, Layout, Operator, Reduce, Reducer, Rows,
    Scan, Select, Slot,
};
use foliot_plan::{Aggregate, Arithmetic, Fold, Gap, Grouping, Series};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// More than are known by name at once.
const HOSTS: i64 = 70_000;
const TEN_MEBIBYTES: u64 = 10 << 20;

fn rack(host: i64) -> i64 {
    host * 7 % 10
}

/// What a host writes at two instants, in two windows of a minute.
fn values(host: i64) -> [(i64, i64); 2] {
    [(host % 60, host), (60 + host % 60, host * 3 % 1000)]
}

fn filled() -> Engine {
    let engine = open();
    for host in 0..HOSTS {
        let key = format!("m,h={host},rack={}", rack(host));
        let rows = values(host).map(|(offset, value)| (offset, Cell::integer(value)));
        write(&engine, &key, "x", &rows);
    }
    engine
}

fn plan(function: Reducer, by: &[&str], condition: Option<Calculate>) -> Select {
    plan_over(120, 60, function, by, condition)
}

/// The same over so many seconds, in windows of so many.
fn plan_over(
    seconds: i64,
    width: i64,
    function: Reducer,
    by: &[&str],
    condition: Option<Calculate>,
) -> Select {
    let names: Arc<[Arc<str>]> = by.iter().map(|name| Arc::from(*name)).collect();
    let layout = Arc::new(Layout {
        range: TimeRange::new(START * SECOND, (START + seconds - 1) * SECOND),
        windows: Some(Buckets { width_ns: width * SECOND, offset_ns: 0, zone: None, whole: false }),
        order_by: names.clone(),
        group_by: names,
        descending: false,
        ordered: false,
    });
    let scan = Scan {
        namespace: 0,
        measurement: "m".into(),
        value: Some(("x".into(), Kind::Integer)),
        carried: Vec::new(),
        condition,
        condition_slots: vec![Carried::Label("rack".into()), Carried::Label("h".into())],
        layout: layout.clone(),
        heads_descending: false,
        rows_max: None,
        one_each: false,
        heads: (0, None),
        sources_max: None,
    };
    let input = Rows::Scan(Box::new(scan));
    let rows = Rows::Reduce(Box::new(Reduce { input, function, layout }));
    let value = Some(Slot { index: 0, kind: None });
    Select {
        inputs: vec![Input { rows, value, carried: Vec::new() }],
        slots: 1,
        columns: vec![Column { name: "x".into(), value: Calculate::Slot(0) }],
        absent: Absent::Value(Item::Null),
        descending: false,
    }
}

/// The values of each head.
fn answered(engine: &Engine, plan: &Select) -> (BTreeMap<String, Vec<Item>>, u64) {
    let snapshot = engine.snapshot();
    let limits = Limits { memory_bytes: TEN_MEBIBYTES, threads: 3, ..Limits::default() };
    let query = Query { snapshot: &snapshot, meter: Meter::new(limits, Cancel::default()) };
    let mut heads: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    let ran = select(&query, plan, &mut |table| {
        let label = table.head.labels.first().map_or("", |(_, value)| value);
        heads.entry(label.to_owned()).or_default().extend(table.rows().flatten());
        ControlFlow::Continue(())
    });
    (heads, ran.unwrap().series_selected)
}

fn expected(
    function: &Reducer,
    head: fn(i64) -> String,
    wants: fn(i64) -> bool,
) -> BTreeMap<String, Vec<Item>> {
    let mut windows: BTreeMap<(String, i64), Vec<(i64, i64)>> = BTreeMap::new();
    for host in (0..HOSTS).filter(|&host| wants(host)) {
        for (offset, value) in values(host) {
            windows.entry((head(host), offset / 60)).or_default().push((offset, value));
        }
    }
    let mut heads: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for ((head, _), rows) in windows {
        let all = || rows.iter().map(|(_, value)| *value);
        let sum: i64 = all().sum();
        let item = match function {
            Reducer::Count => Item::Integer(rows.len() as i64),
            Reducer::Sum => Item::Integer(sum),
            Reducer::Mean => Item::Float(sum as f64 / rows.len() as f64),
            Reducer::Min => Item::Integer(all().min().unwrap()),
            Reducer::Max => Item::Integer(all().max().unwrap()),
            // Of values at one time, the greatest.
            Reducer::First => {
                let first = rows.iter().map(|(offset, _)| *offset).min().unwrap();
                let there = rows.iter().filter(|(offset, _)| *offset == first);
                Item::Integer(there.map(|(_, value)| *value).max().unwrap())
            }
            _ => Item::Integer(rows.iter().max().unwrap().1),
        };
        heads.entry(head).or_default().push(item);
    }
    heads
}

/// A series may have as many windows as samples.
#[test]
fn windows_of_one_series_are_refused_before_they_are_all_there() {
    const SAMPLES: i64 = 300_000;
    let engine = open();
    let rows: Vec<_> = (0..SAMPLES).map(|second| (second, Cell::integer(second))).collect();
    rows.chunks(10_000).for_each(|rows| write(&engine, "m,h=1,rack=1", "x", rows));
    for function in [Reducer::Sum, Reducer::Max] {
        let plan = plan_over(SAMPLES, 1, function, &[], None);
        let snapshot = engine.snapshot();
        let limits = Limits { memory_bytes: 2 << 20, threads: 1, ..Limits::default() };
        let meter = Meter::new(limits, Cancel::default());
        let query = Query { snapshot: &snapshot, meter: meter.clone() };
        let refused = select(&query, &plan, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(refused, Err(Error::Memory { .. })), "{refused:?}");
        assert!(meter.samples_of_all() < SAMPLES as u64 / 2, "{}", meter.samples_of_all());
    }
}

#[test]
fn folds_of_many_series_need_no_memory_for_each() {
    let engine = filled();
    let rack_is = |operator, value: &str| {
        let (left, right) = (Calculate::Slot(0), Calculate::Constant(Item::String(value.into())));
        Calculate::Binary { operator, left: left.into(), right: right.into() }
    };
    let host = |expression: &str| {
        let text = Box::new(Calculate::Slot(1));
        Calculate::Passes { text, test: Test::regex(expression).unwrap(), negated: false }
    };
    // The index cannot answer this one: sources are tested one by one.
    let either = Calculate::Binary {
        operator: Operator::Or,
        left: rack_is(Operator::NotEqual, "3").into(),
        right: host("77$").into(),
    };
    type Case = (Option<Calculate>, fn(i64) -> bool);
    let cases: [Case; 3] = [
        (None, |_| true),
        (Some(host("[0-9]")), |_| true),
        (Some(either), |host| rack(host) != 3 || host % 100 == 77),
    ];
    for function in [
        Reducer::Count,
        Reducer::Sum,
        Reducer::Mean,
        Reducer::Min,
        Reducer::Max,
        Reducer::First,
        Reducer::Last,
    ] {
        // The ways to find series and to fold them are taken together only once.
        let count = if matches!(function, Reducer::Sum) { cases.len() } else { 1 };
        for (condition, wants) in cases.iter().take(count) {
            let plan = plan(function.clone(), &[], condition.clone());
            let (found, selected) = answered(&engine, &plan);
            assert_eq!(found, expected(&function, |_| String::new(), *wants), "{function:?}");
            assert_eq!(selected, HOSTS as u64);
        }
    }
    let (found, _) = answered(&engine, &plan(Reducer::Sum, &["rack"], None));
    assert_eq!(found, expected(&Reducer::Sum, |host| rack(host).to_string(), |_| true));
}

/// The sum of all series at an instant, by definition: integers on a line truncate.
fn sum_at(offset: i64, gap: Gap) -> i64 {
    let of_host = |host| {
        let [(first, low), (last, high)] = values(host);
        let on_line = low + (offset - first) * (high - low) / (last - first);
        match gap {
            _ if offset == first => Some(low),
            _ if offset == last => Some(high),
            Gap::Linear => (first..=last).contains(&offset).then_some(on_line),
            _ => None,
        }
    };
    (0..HOSTS).filter_map(of_host).sum()
}

#[test]
fn aggregates_of_many_series_without_windows_need_no_memory_for_each() {
    let engine = filled();
    let snapshot = engine.snapshot();
    let limits = Limits { memory_bytes: TEN_MEBIBYTES, threads: 3, ..Limits::default() };
    let query = Query { snapshot: &snapshot, meter: Meter::new(limits, Cancel::default()) };
    let names = vec![Name { measurement: Test::equal("m"), field: Test::Any }];
    let (matchers, exact_labels, only) = (Vec::new(), None, None);
    let selector = Selector { namespace: 0, names, matchers, exact_labels, only };
    for gap in [Gap::Linear, Gap::Absent] {
        let range = TimeRange::ALL;
        let input = Series::Select { selector: selector.clone(), range };
        let (grouping, fold, arithmetic) = (Grouping::All, Fold::Sum, Arithmetic::IntegerIfAll);
        let wants_members = false;
        let aggregate = Aggregate { input, grouping, fold, gap, arithmetic, wants_members };
        let mut found = Vec::new();
        let ran = run(&query, &[Series::Aggregate(Box::new(aggregate))], &mut |frame| {
            found.extend(frame.samples.iter().map(|(time_ns, value)| match value {
                Value::Integer(value) => (time_ns / SECOND - START, value),
                other => panic!("{other:?}"),
            }));
            ControlFlow::Continue(())
        });
        let expected: Vec<_> = (0..120).map(|offset| (offset, sum_at(offset, gap))).collect();
        assert_eq!(found, expected);
        assert_eq!(ran.unwrap().series_selected, HOSTS as u64);
    }
}
