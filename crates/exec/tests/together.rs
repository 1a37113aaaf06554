//! Folds of one selection are read together: each comes to what it would by itself, and nothing is
//! read twice.

use crate::harness::{SECOND, START, open, write};
use foliot_engine::Engine;
use foliot_exec::{Cancel, Limits, Meter, Query, Ran, select};
use foliot_model::{Cell, Item, Kind, TimeRange};
use foliot_plan::rows::{
    Absent, Buckets, Calculate, Carried, Column, Input, Layout, Operator, Reduce, Reducer, Rows,
    Scan, Select, Slot,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

const WIDTH: i64 = 60;
const MINUTES: i64 = 40;

/// More sources than are known by name at once.
const MANY: i64 = 66_000;

/// Sample of a field of a host: every field has times and hosts that it lacks.
fn sample(field: &str, host: i64, at: i64) -> Option<i64> {
    match field {
        "x" => (at % 5 != 0).then_some((at * 37 + host * 11) % 101 - 50),
        "y" => (host != 1 && at % 3 == 0).then_some((at * 17 + host) % 89),
        _ => (host != 2).then_some(at % 10),
    }
}

fn filled(hosts: i64, times: &[i64], fields: &[&str], flushes: bool) -> Engine {
    let engine = open();
    for half in times.chunks(times.len().div_ceil(2)) {
        for host in 0..hosts {
            for field in fields {
                let found = half.iter().filter_map(|&at| Some((at, sample(field, host, at)?)));
                let rows: Vec<_> = found.map(|(at, value)| (at, Cell::integer(value))).collect();
                if !rows.is_empty() {
                    write(&engine, &format!("m,h={host}"), field, &rows);
                }
            }
        }
        if flushes {
            engine.flush().unwrap();
        }
    }
    engine
}

/// A table with a column for each fold; with `above`, of rows whose `z` is greater.
fn plan(folds: &[(&str, Reducer)], by_host: bool, above: Option<i64>, descending: bool) -> Select {
    let names: Arc<[Arc<str>]> = if by_host { [Arc::from("h")].into() } else { [].into() };
    let input = |(index, (field, function)): (usize, &(&str, Reducer))| {
        let layout = Arc::new(Layout {
            range: TimeRange::new(START * SECOND, (START + MINUTES * WIDTH - 1) * SECOND),
            windows: Some(Buckets {
                width_ns: WIDTH * SECOND,
                offset_ns: 0,
                zone: None,
                whole: false,
            }),
            order_by: names.clone(),
            group_by: names.clone(),
            descending,
            ordered: false,
        });
        let greater = |above| Calculate::Binary {
            operator: Operator::Greater,
            left: Calculate::Slot(0).into(),
            right: Calculate::Constant(Item::Integer(above)).into(),
        };
        let scan = Scan {
            namespace: 0,
            measurement: "m".into(),
            value: Some(((*field).into(), Kind::Integer)),
            carried: Vec::new(),
            condition: above.map(greater),
            condition_slots: above
                .map(|_| Carried::Field("z".into(), Kind::Integer))
                .into_iter()
                .collect(),
            layout: layout.clone(),
            heads_descending: descending,
            rows_max: None,
            one_each: false,
            heads: (0, None),
            sources_max: None,
        };
        let input = Rows::Scan(Box::new(scan));
        let reduce = Reduce { input, function: function.clone(), layout: layout.clone() };
        let rows = Rows::Stamp { input: Box::new(Rows::Reduce(Box::new(reduce))), layout };
        Input { rows, value: Some(Slot { index, kind: None }), carried: Vec::new() }
    };
    let column = |(index, _)| Column { name: "".into(), value: Calculate::Slot(index) };
    let time = Column { name: "time".into(), value: Calculate::Time };
    Select {
        inputs: folds.iter().enumerate().map(input).collect(),
        slots: folds.len(),
        columns: [time].into_iter().chain(folds.iter().enumerate().map(column)).collect(),
        absent: Absent::Value(Item::Null),
        descending,
    }
}

/// What a fold comes to, by its definition.
fn plain(function: &Reducer, mut rows: Vec<(i64, i64)>) -> Item {
    rows.sort_unstable();
    let values = || rows.iter().map(|(_, value)| *value);
    let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else {
        return Item::Null;
    };
    let most_at = |time: i64| rows.iter().filter(|(at, _)| *at == time).map(|(_, v)| *v).max();
    match function {
        Reducer::Count => Item::Integer(rows.len() as i64),
        Reducer::Sum => Item::Integer(values().sum()),
        Reducer::Mean => Item::Float(values().sum::<i64>() as f64 / rows.len() as f64),
        Reducer::Min => values().min().map_or(Item::Null, Item::Integer),
        Reducer::Max => values().max().map_or(Item::Null, Item::Integer),
        Reducer::First => most_at(*first).map_or(Item::Null, Item::Integer),
        _ => most_at(*last).map_or(Item::Null, Item::Integer),
    }
}

type Answer = BTreeMap<(String, i64), Vec<Item>>;

fn expected(
    folds: &[(&str, Reducer)],
    (hosts, times): (i64, &[i64]),
    by_host: bool,
    above: Option<i64>,
) -> Answer {
    // Times and values of each field, by row.
    type Fields<'a> = BTreeMap<&'a str, Vec<(i64, i64)>>;
    let mut rows = BTreeMap::<(String, i64), Fields<'_>>::new();
    let fields: BTreeSet<&str> = folds.iter().map(|(field, _)| *field).collect();
    for host in 0..hosts {
        for &at in times {
            let passes = above.is_none_or(|above| sample("z", host, at).is_some_and(|z| z > above));
            for field in fields.iter().filter(|_| passes) {
                if let Some(value) = sample(field, host, at) {
                    let head = if by_host { host.to_string() } else { String::new() };
                    let window = rows.entry((head, at / WIDTH)).or_default();
                    window.entry(field).or_default().push((at, value));
                }
            }
        }
    }
    let items = |found: &BTreeMap<&str, Vec<(i64, i64)>>| {
        let of = |(field, function): &(&str, Reducer)| {
            plain(function, found.get(field).cloned().unwrap_or_default())
        };
        folds.iter().map(of).collect()
    };
    rows.iter().map(|(key, found)| (key.clone(), items(found))).collect()
}

fn answered(engine: &Engine, plan: &Select, limits: Limits) -> (Answer, Ran) {
    let snapshot = engine.snapshot();
    let query = Query { snapshot: &snapshot, meter: Meter::new(limits, Cancel::default()) };
    let (mut answer, mut order) = (Answer::new(), Vec::new());
    let ran = select(&query, plan, &mut |table| {
        let label = table.head.labels.first().map_or("", |(_, value)| value);
        for row in table.rows() {
            let Item::Time(time_ns) = row[0] else { panic!("{:?}", row[0]) };
            let key = (label.to_owned(), (time_ns / SECOND - START) / WIDTH);
            order.push(key.clone());
            answer.insert(key, row[1..].to_vec());
        }
        ControlFlow::Continue(())
    });
    let mut sorted = order.clone();
    sorted.sort();
    if plan.descending {
        sorted.reverse();
    }
    assert_eq!(order, sorted);
    (answer, ran.unwrap())
}

fn folds() -> Vec<(&'static str, Reducer)> {
    vec![
        ("x", Reducer::Min),
        ("y", Reducer::Mean),
        ("x", Reducer::Mean),
        ("y", Reducer::Last),
        ("x", Reducer::Max),
        ("x", Reducer::First),
        ("y", Reducer::Count),
        ("x", Reducer::Sum),
    ]
}

#[test]
fn each_fold_is_what_it_would_be_alone() {
    let times: Vec<i64> = (0..MINUTES * WIDTH).collect();
    for flushes in [false, true] {
        let engine = filled(4, &times, &["x", "y", "z"], flushes);
        for (by_host, above, descending) in [
            (true, None, false),
            (false, None, false),
            (true, Some(6), false),
            (false, Some(8), true),
            (true, None, true),
        ] {
            let plan = plan(&folds(), by_host, above, descending);
            let (found, _) = answered(&engine, &plan, Limits::default());
            let expected = expected(&folds(), (4, &times), by_host, above);
            assert_eq!(found, expected, "{by_host} {above:?} {descending} {flushes}");
        }
    }
}

/// The same plan for some rows of each head.
fn limited(mut plan: Select, offset: u64, limit: u64) -> Select {
    for input in &mut plan.inputs {
        let rows = input.rows.clone();
        input.rows = Rows::Limit { input: Box::new(rows), offset, limit: Some(limit) };
    }
    plan
}

#[test]
fn the_first_windows_of_each_head_are_what_they_are_among_all() {
    // Some windows are empty, one after the other and many in a row.
    let is_empty = |minute: i64| minute % 7 == 2 || (9..27).contains(&minute);
    let times: Vec<i64> = (0..MINUTES * WIDTH).filter(|at| !is_empty(at / WIDTH)).collect();
    for flushes in [false, true] {
        let engine = filled(4, &times, &["x", "y", "z"], flushes);
        // A host that begins late and ends early: no other tells where its windows are.
        let few: Vec<_> = (31 * WIDTH..33 * WIDTH).map(|at| (at, Cell::integer(7))).collect();
        write(&engine, "m,h=-1", "x", &few);
        for (by_host, above, descending) in [
            (true, None, false),
            (true, None, true),
            (false, None, false),
            (false, None, true),
            (true, Some(6), true),
        ] {
            for fold in folds() {
                for (offset, limit) in [(0, 1), (2, 3), (6, 5), (0, 500)] {
                    let whole = plan(std::slice::from_ref(&fold), by_host, above, descending);
                    let (all, _) = answered(&engine, &whole, Limits::default());
                    let mut expected = Answer::new();
                    let heads: BTreeSet<&String> = all.keys().map(|(head, _)| head).collect();
                    for head in heads {
                        let mut of_head: Vec<_> =
                            all.iter().filter(|((of, _), _)| of == head).collect();
                        if descending {
                            of_head.reverse();
                        }
                        let wanted = of_head.into_iter().skip(offset).take(limit);
                        expected.extend(wanted.map(|(key, items)| (key.clone(), items.clone())));
                    }
                    let plan = limited(whole, offset as u64, limit as u64);
                    let (found, _) = answered(&engine, &plan, Limits::default());
                    let case = (&fold, by_host, above, descending, offset, limit, flushes);
                    assert_eq!(found, expected, "{case:?}");
                }
            }
        }
    }
}

#[test]
fn heads_beyond_those_that_are_folded_together_are_read_whole_again() {
    let engine = open();
    let times: Vec<i64> = (0..MINUTES * WIDTH).step_by(10).collect();
    // One of them has samples around the range, but none in it.
    let outside = 164;
    for host in 100..170 {
        let at = if host == outside { &[-100, MINUTES * WIDTH + 100][..] } else { &times[..] };
        let rows: Vec<_> = at.iter().map(|&at| (at, Cell::integer(host + at))).collect();
        write(&engine, &format!("m,h={host}"), "x", &rows);
    }
    engine.flush().unwrap();
    for descending in [false, true] {
        let plan = limited(plan(&[("x", Reducer::Max)], true, None, descending), 0, 2);
        let (found, _) = answered(&engine, &plan, Limits::default());
        let minutes = if descending { [MINUTES - 2, MINUTES - 1] } else { [0, 1] };
        let of_host = |host: i64| {
            let row = move |minute| Item::Integer(host + minute * WIDTH + 50);
            minutes.map(move |minute| ((host.to_string(), minute), vec![row(minute)]))
        };
        let hosts = (100..170).filter(|host| *host != outside);
        assert_eq!(found, hosts.flat_map(of_host).collect::<Answer>(), "{descending}");
    }
}

#[test]
fn windows_that_nobody_wants_are_not_read() {
    let times: Vec<i64> = (0..MINUTES * WIDTH).collect();
    let engine = filled(4, &times, &["x"], true);
    for descending in [false, true] {
        let whole = plan(&[("x", Reducer::Max)], false, None, descending);
        let (_, all) = answered(&engine, &whole, Limits::default());
        let (_, some) = answered(&engine, &limited(whole, 0, 3), Limits::default());
        assert!(some.samples_scanned * 4 < all.samples_scanned, "{some:?} {all:?}");
    }
}

#[test]
fn a_field_is_read_once_whatever_is_asked_of_it() {
    let times: Vec<i64> = (0..MINUTES * WIDTH).collect();
    let engine = filled(4, &times, &["x", "y"], true);
    let count = |field| {
        let of_host = |host| times.iter().filter_map(move |&at| sample(field, host, at));
        (0..4).flat_map(of_host).count() as u64
    };
    let (_, ran) = answered(&engine, &plan(&folds(), true, None, false), Limits::default());
    // Blocks that lie in one window are not read at all.
    assert!(ran.samples_scanned <= count("x") + count("y"), "{ran:?}");
}

#[test]
fn folds_of_very_many_sources_are_right_too() {
    let times = [3, 61, 66];
    let engine = filled(MANY, &times, &["x", "y"], false);
    let limits = Limits { memory_bytes: 12 << 20, threads: 3, ..Limits::default() };
    let (found, _) = answered(&engine, &plan(&folds(), false, None, false), limits);
    assert_eq!(found, expected(&folds(), (MANY, &times), false, None));
}
