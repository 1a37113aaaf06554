//! The newest rows of each source, wherever its samples lie.

use crate::harness::{SECOND, START, open, write};
use foliot_engine::Engine;
use foliot_exec::{Cancel, Limits, Meter, Query, Ran, select};
use foliot_model::{Cell, Item, Kind, TimeRange};
use foliot_plan::rows::{
    Absent, Calculate, Carried, Column, Input, Layout, Rows, Scan, Select, Slot,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

const FIELDS: [&str; 3] = ["x", "y", "z"];
const HOSTS: i64 = 4;
const TIMES: i64 = 3000;

/// Fields of a host end together, one after the other, or are not there at all; of host 3 the
/// newest sample of `y` cannot be read as a number.
fn sample(field: usize, host: i64, at: i64) -> Option<i64> {
    let end = match (host, field) {
        (1, 1) => TIMES - 7,
        (1, 2) => TIMES / 2,
        (2, 0) => return None,
        _ => TIMES,
    };
    let is_there = at < end && (field != 2 || at % 4 == 1);
    is_there.then_some(at * 10 + host + field as i64)
}

fn is_text(field: usize, host: i64, at: i64) -> bool {
    host == 3 && field == 1 && at == TIMES - 1
}

fn filled(flushes: usize) -> Engine {
    let engine = open();
    let times: Vec<i64> = (0..TIMES).collect();
    for (number, some) in times.chunks(1000).enumerate() {
        for host in 0..HOSTS {
            for (field, name) in FIELDS.iter().enumerate() {
                let cell = |at: &i64| {
                    let value = sample(field, host, *at)?;
                    let text = is_text(field, host, *at);
                    Some((*at, if text { Cell::boolean(true) } else { Cell::integer(value) }))
                };
                let rows: Vec<_> = some.iter().filter_map(cell).collect();
                if !rows.is_empty() {
                    write(&engine, &format!("m,h={host}"), name, &rows);
                }
            }
        }
        if number < flushes {
            engine.flush().unwrap();
        }
    }
    engine
}

fn plan(limit: u64, until: i64) -> Select {
    let names: Arc<[Arc<str>]> = [Arc::from("h")].into();
    let layout = Arc::new(Layout {
        range: TimeRange::new(START * SECOND, (START + until) * SECOND),
        windows: None,
        order_by: names.clone(),
        group_by: names,
        descending: true,
        ordered: true,
    });
    let scan = Scan {
        namespace: 0,
        measurement: "m".into(),
        value: None,
        carried: FIELDS.map(|name| Carried::Field(name.into(), Kind::Integer)).to_vec(),
        condition: None,
        condition_slots: Vec::new(),
        layout,
        heads_descending: true,
        rows_max: Some(limit),
        one_each: false,
        heads: (0, None),
        sources_max: None,
    };
    let input = Box::new(Rows::Scan(Box::new(scan)));
    let rows = Rows::Limit { input, offset: 0, limit: Some(limit) };
    let carried = (0..FIELDS.len()).map(|index| Slot { index, kind: None }).collect();
    let column = |index| Column { name: "".into(), value: Calculate::Slot(index) };
    let time = Column { name: "time".into(), value: Calculate::Time };
    Select {
        inputs: vec![Input { rows, value: None, carried }],
        slots: FIELDS.len(),
        columns: [time].into_iter().chain((0..FIELDS.len()).map(column)).collect(),
        absent: Absent::Value(Item::Null),
        descending: true,
    }
}

type Answer = BTreeMap<String, Vec<Vec<Item>>>;

fn answered(engine: &Engine, plan: &Select) -> (Answer, Ran) {
    let snapshot = engine.snapshot();
    let meter = Meter::new(Limits::default(), Cancel::default());
    let mut answer = Answer::new();
    let ran = select(&Query { snapshot: &snapshot, meter }, plan, &mut |table| {
        let rows = table.rows();
        answer.entry(table.head.labels[0].1.to_string()).or_default().extend(rows);
        ControlFlow::Continue(())
    });
    (answer, ran.unwrap())
}

fn expected(limit: u64, until: i64) -> Answer {
    let mut answer = Answer::new();
    for host in 0..HOSTS {
        let there = |at: &i64| (0..FIELDS.len()).any(|field| sample(field, host, *at).is_some());
        let item = |field, at| match sample(field, host, at) {
            Some(value) if !is_text(field, host, at) => Item::Integer(value),
            _ => Item::Null,
        };
        let row = |at: i64| {
            let time = Item::Time((START + at) * SECOND);
            [time].into_iter().chain((0..FIELDS.len()).map(|field| item(field, at))).collect()
        };
        let times = (0..=until.min(TIMES)).rev().filter(there).take(limit as usize);
        answer.insert(host.to_string(), times.map(row).collect());
    }
    answer
}

#[test]
fn they_are_found_from_the_end() {
    for flushes in 0..=3 {
        let engine = filled(flushes);
        for limit in [1, 2, 5] {
            for until in [TIMES + 10, TIMES - 1, TIMES - 2, TIMES - 8, 1003, 0] {
                let (found, _) = answered(&engine, &plan(limit, until));
                assert_eq!(found, expected(limit, until), "{flushes} {limit} {until}");
            }
        }
    }
}

#[test]
fn one_row_takes_one_sample_of_each_field() {
    for flushes in [0, 2] {
        let (_, ran) = answered(&filled(flushes), &plan(1, TIMES + 10));
        assert!(ran.samples_scanned <= (HOSTS * 3) as u64, "{flushes}: {ran:?}");
    }
}

#[test]
fn of_each_source_the_first_row_may_be_enough() {
    for flushes in [0, 2] {
        let mut plan = plan(2, TIMES + 10);
        let Rows::Limit { input: scan, .. } = &mut plan.inputs[0].rows else { panic!() };
        let Rows::Scan(scan) = &mut **scan else { panic!() };
        scan.one_each = true;
        let (found, ran) = answered(&filled(flushes), &plan);
        assert_eq!(found, expected(1, TIMES + 10), "{flushes}");
        assert!(ran.samples_scanned <= (HOSTS * 3) as u64, "{flushes}: {ran:?}");
    }
}

#[test]
fn nothing_is_read_behind_a_limit() {
    let engine = filled(2);
    let ran = |limit: Option<u64>| {
        let mut plan = plan(1, TIMES + 10);
        let layout = Arc::new(Layout {
            range: TimeRange::new(START * SECOND, (START + TIMES) * SECOND),
            windows: None,
            order_by: [].into(),
            group_by: [].into(),
            descending: true,
            ordered: true,
        });
        let input = &mut plan.inputs[0];
        let Rows::Limit { input: scan, .. } = &mut input.rows else { panic!() };
        let Rows::Scan(scan) = &mut **scan else { panic!() };
        (scan.layout, scan.rows_max) = (layout, None);
        input.rows = Rows::Limit { input: Box::new(Rows::Scan(scan.clone())), offset: 2, limit };
        let (snapshot, mut rows) = (engine.snapshot(), 0);
        let meter = Meter::new(Limits::default(), Cancel::default());
        let ran = select(&Query { snapshot: &snapshot, meter }, &plan, &mut |table| {
            rows += table.row_count();
            ControlFlow::Continue(())
        });
        (rows, ran.unwrap().samples_scanned)
    };
    let ((some, scanned), (all, whole)) = (ran(Some(3)), ran(None));
    assert_eq!(some, 3);
    assert!(all > 3 && scanned * 2 < whole, "{scanned} of {whole} samples, {all} rows");
}
