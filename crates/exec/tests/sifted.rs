//! Rows that meet a condition come out as they would if all rows were read and tested one by one,
//! whatever kinds of values there are, and where these lie.

use crate::harness::{SECOND, START, open, write};
use foliot_engine::Engine;
use foliot_exec::{Cancel, Limits, Meter, Query, select};
use foliot_model::{Cell, Item, Kind, TimeRange};
use foliot_plan::rows::{
    Absent, Calculate, Carried, Column, Input, Layout, Operator, Rows, Scan, Select, Slot,
};
use std::ops::ControlFlow;
use std::sync::Arc;

const HOSTS: i64 = 7;
const STEPS: i64 = 4_000;

/// What is stored of a field: `x` walks and changes its kind on one host, `y` has gaps, `z` is
/// seldom there.
fn sample(field: &str, host: i64, at: i64) -> Option<Cell> {
    let walk = (at / 40 * 17 + host * 31) % 90 + at % 7;
    match field {
        "x" if host == 2 && at % 3 == 0 => Some(Cell::float(walk as f64 + 0.5)),
        "x" if host == 3 => Some(Cell::decimal(walk * 10 + 5, 1).unwrap()),
        "x" => (host != 4 || at % 2 == 0).then(|| Cell::integer(walk)),
        "y" => (at % 5 != host % 5).then(|| Cell::integer(at + host)),
        _ => (host == 1 && at % 100 == 0).then(|| Cell::integer(at)),
    }
}

fn as_kind(cell: Cell, kind: Kind) -> Item {
    let value = match cell.kind {
        Kind::Integer => cell.bits as i64 as f64,
        _ => cell.to_f64(),
    };
    match kind {
        Kind::Float => Item::Float(value),
        _ => Item::Integer(value as i64),
    }
}

/// A store with samples in several parts and in memory, some of them late or written anew.
fn filled() -> Engine {
    let engine = open();
    for (number, some) in (0..STEPS).collect::<Vec<_>>().chunks(1_100).enumerate() {
        for host in 0..HOSTS {
            for field in ["x", "y", "z"] {
                let found = some.iter().filter_map(|&at| Some((at, sample(field, host, at)?)));
                let mut rows: Vec<_> = found.collect();
                if host == 5 {
                    rows.reverse();
                }
                if !rows.is_empty() {
                    write(&engine, &format!("m,h={host},r={}", host % 3), field, &rows);
                }
            }
        }
        if number < 3 {
            engine.flush().unwrap();
        }
        if number == 1 {
            // Of another value first, then of what it should be.
            let rows: Vec<_> = (200..260).map(|at| (at, sample("x", 0, at).unwrap())).collect();
            let other: Vec<_> = rows.iter().map(|(at, _)| (*at, Cell::integer(1_000))).collect();
            write(&engine, "m,h=0,r=0", "x", &other);
            write(&engine, "m,h=0,r=0", "x", &rows);
        }
    }
    engine
}

fn compared(operator: Operator, slot: usize, with: Item) -> Calculate {
    let (left, right) = (Calculate::Slot(slot).into(), Calculate::Constant(with).into());
    Calculate::Binary { operator, left, right }
}

fn both(operator: Operator, left: Calculate, right: Calculate) -> Calculate {
    Calculate::Binary { operator, left: left.into(), right: right.into() }
}

/// Time, hosts as text, and the values of `y` and `x`, of rows that meet a condition on `x`, `z`
/// and the host.
fn plan(condition: Calculate, kind: Kind, range: TimeRange, labels: bool) -> Select {
    let names: Arc<[Arc<str>]> = [].into();
    let layout = Arc::new(Layout {
        range,
        windows: None,
        order_by: names.clone(),
        group_by: names,
        descending: false,
        ordered: true,
    });
    let mut carried = vec![Carried::Field("y".into(), Kind::Integer)];
    carried.push(Carried::Field("x".into(), kind));
    if labels {
        carried.splice(0..0, [Carried::Label("r".into()), Carried::Label("h".into())]);
    }
    let scan = Scan {
        namespace: 0,
        measurement: "m".into(),
        value: None,
        condition: Some(condition),
        condition_slots: vec![
            Carried::Field("x".into(), kind),
            Carried::Field("z".into(), Kind::Integer),
            Carried::Label("h".into()),
        ],
        layout,
        carried,
        heads_descending: false,
        rows_max: None,
        one_each: false,
        heads: (0, None),
        sources_max: None,
    };
    let slots = scan.carried.len();
    let column = |at: usize| Column { name: format!("c{at}").into(), value: Calculate::Slot(at) };
    let time = Column { name: "time".into(), value: Calculate::Time };
    Select {
        inputs: vec![Input {
            value: None,
            carried: (0..slots).map(|index| Slot { index, kind: None }).collect(),
            rows: Rows::Scan(Box::new(scan)),
        }],
        slots,
        columns: [time].into_iter().chain((0..slots).map(column)).collect(),
        absent: Absent::Value(Item::Null),
        descending: false,
    }
}

fn answered(engine: &Engine, plan: &Select, memory_bytes: u64) -> Vec<Vec<Item>> {
    let snapshot = engine.snapshot();
    let limits = Limits { memory_bytes, threads: 1, ..Limits::default() };
    let query = Query { snapshot: &snapshot, meter: Meter::new(limits, Cancel::default()) };
    let mut rows = Vec::new();
    select(&query, plan, &mut |table| {
        rows.extend(table.rows());
        ControlFlow::Continue(())
    })
    .unwrap();
    rows
}

type Holds = fn(x: Option<f64>, z: Option<i64>, host: i64) -> bool;

/// By time, then rack and host, as far as these are told.
fn expected(holds: Holds, kind: Kind, range: TimeRange, labels: bool) -> Vec<Vec<Item>> {
    let mut rows = Vec::new();
    for at in 0..STEPS {
        let time_ns = (START + at) * SECOND;
        let mut hosts: Vec<i64> = (0..HOSTS).collect();
        hosts.sort_by_key(|host| (host % 3, *host));
        for host in hosts.into_iter().filter(|_| range.contains(time_ns)) {
            let x = sample("x", host, at).map(|cell| as_kind(cell, kind));
            let number = x.as_ref().map(|x| match x {
                Item::Float(x) => *x,
                Item::Integer(x) => *x as f64,
                _ => panic!("{x:?}"),
            });
            let y = sample("y", host, at).map(|cell| as_kind(cell, Kind::Integer));
            let z = sample("z", host, at).map(|cell| cell.bits as i64);
            if !holds(number, z, host) || (x.is_none() && y.is_none()) {
                continue;
            }
            let text = |number: i64| Item::String(number.to_string().into());
            let mut row = vec![Item::Time(time_ns)];
            if labels {
                row.extend([text(host % 3), text(host)]);
            }
            row.extend([y.unwrap_or_default(), x.unwrap_or_default()]);
            rows.push(row);
        }
    }
    rows
}

#[test]
fn a_sieve_lets_through_what_meets_the_condition() {
    let engine = filled();
    let all = TimeRange::new(START * SECOND, (START + STEPS) * SECOND);
    let some = TimeRange::new((START + 137) * SECOND + 1, (START + 2_950) * SECOND);
    let is_5 = both(Operator::Equal, Calculate::Slot(2), text("5"));
    let cases: Vec<(Calculate, Holds)> = vec![
        (compared(Operator::Greater, 0, Item::Float(90.0)), |x, _, _| x.is_some_and(|x| x > 90.0)),
        (compared(Operator::GreaterOrEqual, 0, Item::Integer(93)), |x, _, _| {
            x.is_some_and(|x| x >= 93.0)
        }),
        (compared(Operator::Less, 0, Item::Float(2.5)), |x, _, _| x.is_some_and(|x| x < 2.5)),
        (compared(Operator::Equal, 0, Item::Float(44.5)), |x, _, _| x == Some(44.5)),
        (compared(Operator::LessOrEqual, 0, Item::Integer(-1)), |_, _, _| false),
        (
            both(
                Operator::And,
                compared(Operator::Greater, 0, Item::Integer(60)),
                both(Operator::Or, compared(Operator::GreaterOrEqual, 1, Item::Integer(0)), is_5),
            ),
            |x, z, host| x.is_some_and(|x| x > 60.0) && (z.is_some() || host == 5),
        ),
        // Field `z` is none that decides which rows there are.
        (compared(Operator::Greater, 1, Item::Integer(1_500)), |_, z, _| {
            z.is_some_and(|z| z > 1_500)
        }),
        (
            both(
                Operator::Or,
                compared(Operator::Greater, 0, Item::Integer(94)),
                compared(Operator::Less, 1, Item::Integer(300)),
            ),
            |x, z, _| x.is_some_and(|x| x > 94.0) || z.is_some_and(|z| z < 300),
        ),
    ];
    for (condition, holds) in &cases {
        for kind in [Kind::Float, Kind::Integer] {
            for range in [all, some] {
                let expected = expected(*holds, kind, range, true);
                // With little memory sources are read in smaller pieces.
                for memory_bytes in [256 << 20, 6 << 20] {
                    let plan = plan(condition.clone(), kind, range, true);
                    let found = answered(&engine, &plan, memory_bytes);
                    assert_eq!(found.len(), expected.len(), "{condition:?} {kind:?} {range:?}");
                    assert_eq!(found, expected, "{condition:?} {kind:?} {range:?}");
                }
            }
        }
    }
}

fn text(text: &str) -> Calculate {
    Calculate::Constant(Item::String(text.into()))
}

/// Without labels the order of one time is open; the rows are not.
#[test]
fn a_sieve_needs_no_labels() {
    let engine = filled();
    let all = TimeRange::new(START * SECOND, (START + STEPS) * SECOND);
    let condition = compared(Operator::Greater, 0, Item::Float(80.0));
    let holds: Holds = |x, _, _| x.is_some_and(|x| x > 80.0);
    let in_order = |mut rows: Vec<Vec<Item>>| {
        rows.sort_by_key(|row| format!("{row:?}"));
        rows
    };
    let plan = plan(condition, Kind::Integer, all, false);
    let found = answered(&engine, &plan, 256 << 20);
    let times: Vec<i64> = found
        .iter()
        .map(|row| match row[0] {
            Item::Time(time_ns) => time_ns,
            ref other => panic!("{other:?}"),
        })
        .collect();
    assert!(times.is_sorted());
    assert_eq!(in_order(found), in_order(expected(holds, Kind::Integer, all, false)));
}
