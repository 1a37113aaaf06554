//! Plans over a real store: what was written comes back, from the head, from parts and from both.

use crate::harness::{SECOND, START, open, write};
use foliot_engine::Engine;
use foliot_exec::{Cancel, Error, Limits, Meter, Query, Ran, listed, run};
use foliot_model::{Cell, Frame, Name, Samples, Selector, SeriesHead, Test, TimeRange, Value};
use foliot_plan::{
    Aggregate, Arithmetic, Fill, Fold, Gap, Grouping, Listing, Series, What, Window, Windows,
};
use std::ops::ControlFlow;

fn selector(measurement: &str) -> Selector {
    let names = vec![Name { measurement: Test::equal(measurement), field: Test::Any }];
    let (matchers, exact_labels, only) = (Vec::new(), None, None);
    Selector { namespace: 0, names, matchers, exact_labels, only }
}

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new((START + start) * SECOND, (START + end) * SECOND)
}

fn select(measurement: &str, range: TimeRange) -> Series {
    Series::Select { selector: selector(measurement), range }
}

fn buckets(seconds: i64, fold: Fold, range: TimeRange, input: Series) -> Series {
    let windows = Windows::Buckets { width_ns: seconds * SECOND, origin_ns: 0 };
    let fill = Fill::None;
    Series::Window(Box::new(Window { input, windows, fold, fill, range }))
}

fn aggregate(fold: Fold, gap: Gap, grouping: Grouping, input: Series) -> Series {
    let (arithmetic, wants_members) = (Arithmetic::IntegerIfAll, false);
    Series::Aggregate(Box::new(Aggregate { input, grouping, fold, gap, arithmetic, wants_members }))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum V {
    I(i64),
    F(f64),
}

type Answer = (SeriesHead, Vec<(i64, V)>);

fn answer(engine: &Engine, plan: &Series) -> (Vec<Answer>, Ran) {
    let snapshot = engine.snapshot();
    let limits = Limits { threads: 2, ..Limits::default() };
    let query = Query { snapshot: &snapshot, meter: Meter::new(limits, Cancel::default()) };
    let mut answers: Vec<Answer> = Vec::new();
    let mut is_open = false;
    let mut on_frame = |frame: Frame| {
        if !is_open {
            answers.push(((*frame.head).clone(), Vec::new()));
        }
        is_open = !frame.is_last;
        let points = &mut answers.last_mut().unwrap().1;
        for (time_ns, value) in frame.samples.iter() {
            let value = match value {
                Value::Integer(value) => V::I(value),
                Value::Float(value) => V::F(value),
                other => panic!("{other:?}"),
            };
            points.push((time_ns / SECOND - START, value));
        }
        ControlFlow::Continue(())
    };
    let ran = run(&query, std::slice::from_ref(plan), &mut on_frame).unwrap();
    (answers, ran)
}

fn points(engine: &Engine, plan: &Series) -> Vec<(i64, V)> {
    let mut answers = answer(engine, plan).0;
    assert_eq!(answers.len(), 1);
    answers.remove(0).1
}

fn integers(points: &[(i64, i64)]) -> Vec<(i64, Cell)> {
    points.iter().map(|&(offset, value)| (offset, Cell::integer(value))).collect()
}

#[test]
fn a_store_answers_like_series_in_memory() {
    let engine = open();
    write(&engine, "m,h=a", "value", &integers(&[(10, 100), (20, 999), (40, 190)]));
    write(&engine, "m,h=b", "value", &integers(&[(15, 7), (40, 12)]));
    engine.flush().unwrap();
    // A late sample, and one that replaces what a part holds.
    write(&engine, "m,h=b", "value", &integers(&[(30, 10)]));
    write(&engine, "m,h=a", "value", &integers(&[(20, 130)]));
    write(&engine, "m,h=c", "value", &integers(&[(4000, 1)]));
    write(&engine, "other,h=a", "value", &integers(&[(10, 5)]));
    let input = select("m", range(0, 3599));
    let plan = aggregate(Fold::Sum, Gap::Linear, Grouping::All, input);
    let expected = [(10, 100), (15, 122), (20, 138), (30, 170), (40, 202)];
    let expected = expected.map(|(offset, value)| (offset, V::I(value)));
    assert_eq!(points(&engine, &plan), expected);
    let (answers, ran) = answer(&engine, &plan);
    assert_eq!(answers[0].0.varying, ["h".into()]);
    assert_eq!(&*answers[0].0.measurement, "m");
    assert_eq!((ran.series, ran.series_selected, ran.samples_answered), (1, 3, 5));
    assert_eq!(ran.samples_scanned, 6);
}

/// Blocks of parts that lie in one window are folded by their summaries: the result must be what
/// their values come to, and must not change when data move from the head to parts.
#[test]
fn summaries_of_blocks_agree_with_their_values() {
    let engine = open();
    let value = |t: i64| (t * 7919) % 1000;
    let rows: Vec<_> = (0..20_000).map(|t| (t, Cell::decimal(value(t), 1).unwrap())).collect();
    write(&engine, "m,h=a", "value", &rows);
    let read = range(0, 20_000);
    let folds = [
        Fold::Sum,
        Fold::Mean,
        Fold::Min,
        Fold::Max,
        Fold::Count,
        Fold::First,
        Fold::Last,
        Fold::Difference,
        Fold::Deviation,
        Fold::UpperMedian,
    ];
    let naive = |fold: Fold, values: &[f64]| {
        let (n, sum) = (values.len() as f64, values.iter().sum::<f64>());
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        match fold {
            Fold::Sum => sum,
            Fold::Mean => sum / n,
            Fold::Min => sorted[0],
            Fold::Max => sorted[sorted.len() - 1],
            Fold::Count => n,
            Fold::First => values[0],
            Fold::Last => values[values.len() - 1],
            Fold::Difference => values[values.len() - 1] - values[0],
            Fold::UpperMedian => sorted[sorted.len() / 2],
            _ => (values.iter().map(|v| (v - sum / n).powi(2)).sum::<f64>() / n).sqrt(),
        }
    };
    let check = |when: &str| {
        for fold in folds {
            for width in [60, 3600, 7200, 100_000] {
                let plan = buckets(width, fold, range(-100_000, 20_000), select("m", read));
                let first = -(START % width);
                let mut expected: Vec<(i64, f64)> = Vec::new();
                for k in 0.. {
                    let (from, to) = (first + k * width, first + (k + 1) * width);
                    let inside = from.max(0)..to.min(20_000);
                    if from >= 20_000 {
                        break;
                    }
                    let values: Vec<f64> = inside.map(|t| value(t) as f64 / 10.0).collect();
                    if !values.is_empty() {
                        expected.push((from, naive(fold, &values)));
                    }
                }
                let actual = points(&engine, &plan);
                assert_eq!(actual.len(), expected.len(), "{fold:?} {width}");
                for (&(at, actual), (from, expected)) in actual.iter().zip(expected) {
                    let V::F(actual) = actual else { panic!("windows are floats") };
                    let error = (actual - expected).abs() / expected.abs().max(1.0);
                    assert_eq!(at, from);
                    assert!(error < 1e-9, "{when} {fold:?} {width}: {actual} is not {expected}");
                }
            }
        }
    };
    check("in the head");
    engine.flush().unwrap();
    check("in a part");
    let whole = buckets(100_000, Fold::Sum, range(-100_000, 20_000), select("m", read));
    let scanned = answer(&engine, &whole).1.samples_scanned;
    assert!(scanned < 2048, "most blocks are not read, {scanned} samples were");
}

#[test]
fn groups_come_in_order_of_first_sight() {
    let engine = open();
    for (key, value) in [("m,h=zz,k=1", 1), ("m,h=zz,k=2", 2), ("m,h=aa,k=2", 4), ("m,h=aa,k=1", 8)]
    {
        write(&engine, key, "value", &integers(&[(0, value)]));
    }
    let members = |grouping| {
        let plan = aggregate(Fold::Sum, Gap::Linear, grouping, select("m", range(0, 10)));
        answer(&engine, &plan).0
    };
    let by_h = members(Grouping::By { names: vec!["h".into()], drops_absent: true });
    let h = |head: &SeriesHead| head.labels.get("h").unwrap().to_string();
    let shown: Vec<_> = by_h.iter().map(|(head, points)| (h(head), points[0].1)).collect();
    assert_eq!(shown, [("zz".to_owned(), V::I(3)), ("aa".to_owned(), V::I(12))]);
    let each: Vec<_> = members(Grouping::Each).iter().map(|(_, points)| points[0].1).collect();
    assert_eq!(each, [V::I(1), V::I(2), V::I(8), V::I(4)]);
}

#[test]
fn last_values_keep_their_kind_and_bits() {
    let lasts = [
        Cell::integer((1 << 53) + 1),
        Cell::integer(i64::MIN),
        Cell::unsigned(u64::MAX),
        Cell::unsigned(7),
        Cell::boolean(true),
        Cell::boolean(false),
        Cell::float(-0.0),
        Cell::float(f64::INFINITY),
        Cell::float(f64::NAN),
        Cell::decimal(-1234, 3).unwrap(),
    ];
    let engine = open();
    for (index, &last) in lasts.iter().enumerate() {
        // One of the same kind before it, or of another.
        write(&engine, &format!("same,n={index}"), "value", &[(0, last), (9, last)]);
        write(&engine, &format!("mixed,n={index}"), "value", &[(0, Cell::integer(1)), (9, last)]);
    }
    // A single sample behind others that are read.
    write(&engine, "same,n=late", "value", &[(0, Cell::boolean(true)), (5, Cell::boolean(true))]);
    engine.flush().unwrap();
    write(&engine, "same,n=late", "value", &[(2, Cell::boolean(false))]);
    engine.flush().unwrap();
    write(&engine, "same,n=late", "value", &[(9, Cell::boolean(true))]);
    engine.flush().unwrap();
    let bits = |value: Value<'_>| match value {
        Value::Float(value) => format!("float {:x}", value.to_bits()),
        value => format!("{value:?}"),
    };
    let shown = |samples: &Samples| -> Vec<(i64, String)> {
        samples.iter().map(|(time, value)| (time, bits(value))).collect()
    };
    let answers = |plan: &Series| {
        let snapshot = engine.snapshot();
        let (limits, cancel) = (Limits::default(), Cancel::default());
        let query = Query { snapshot: &snapshot, meter: Meter::new(limits, cancel) };
        let mut out: Vec<Vec<(i64, String)>> = Vec::new();
        let mut on_frame = |frame: Frame| {
            out.push(shown(&frame.samples));
            ControlFlow::Continue(())
        };
        run(&query, std::slice::from_ref(plan), &mut on_frame).unwrap();
        out
    };
    for (measurement, count) in [("same", lasts.len() + 1), ("mixed", lasts.len())] {
        let all = answers(&select(measurement, TimeRange::ALL));
        let snapshot = engine.snapshot();
        let last = |sid| snapshot.last(sid).unwrap().unwrap();
        let selected = snapshot.select(&selector(measurement), TimeRange::ALL).unwrap();
        let picked = selected.into_iter().map(last).map(|last| shown(&last));
        let picked: Vec<_> = picked.collect();
        assert_eq!(all.len(), count);
        let lasts: Vec<_> = all.iter().map(|points| points[points.len() - 1..].to_vec()).collect();
        assert_eq!(picked, lasts);
    }
}

#[test]
fn listings() {
    let engine = open();
    write(&engine, "cpu,h=b", "idle", &integers(&[(0, 1)]));
    write(&engine, "cpu,h=a", "idle", &integers(&[(0, 1)]));
    write(&engine, "disk,h=a,path=x", "value", &integers(&[(0, 1)]));
    let snapshot = engine.snapshot();
    let query =
        Query { snapshot: &snapshot, meter: Meter::new(Limits::default(), Cancel::default()) };
    let everything = Selector { names: Vec::new(), ..selector("") };
    let listing = |what, prefix: &str, offset, limit| Listing {
        what,
        selector: everything.clone(),
        prefix: prefix.into(),
        offset,
        limit,
    };
    let names = |listing: &Listing| listed(&query, listing, &mut query.meter.open()).unwrap();
    assert_eq!(names(&listing(What::Metrics, "", 0, 9)), ["cpu.idle", "disk"]);
    assert_eq!(names(&listing(What::LabelNames, "", 0, 9)), ["h", "path"]);
    assert_eq!(names(&listing(What::LabelValues(Some("h".into())), "", 0, 9)), ["a", "b"]);
    assert_eq!(names(&listing(What::Measurements, "d", 0, 9)), ["disk"]);
    assert_eq!(names(&listing(What::Fields, "", 0, 9)), ["idle", "value"]);
    assert_eq!(names(&listing(What::LabelNames, "", 1, 1)), ["path"]);
    let tight = Limits { memory_bytes: 10, ..Limits::default() };
    let query = Query { meter: Meter::new(tight, Cancel::default()), ..query };
    let refused = listed(&query, &listing(What::Metrics, "", 0, 9), &mut query.meter.open());
    assert!(matches!(refused, Err(Error::Memory { .. })), "{refused:?}");
}

/// A store with many series and threads: every bucket of every series is there, in order.
#[test]
fn many_series_on_several_threads() {
    let engine = open();
    for host in 0..300i64 {
        let rows: Vec<_> = (0..1200).map(|t| (t * 3, Cell::integer(host + t))).collect();
        write(&engine, &format!("m,h={host}"), "value", &rows);
        if host == 150 {
            engine.flush().unwrap();
        }
    }
    let read = range(0, 3599);
    let sums = || buckets(600, Fold::Sum, read, select("m", read));
    let by_host = Grouping::By { names: vec!["h".into()], drops_absent: true };
    let (answers, ran) = answer(&engine, &aggregate(Fold::Sum, Gap::Linear, by_host, sums()));
    assert_eq!((ran.series, ran.series_selected), (300, 300));
    // START is a whole number of ten minutes.
    let bucket = |host: i64, k: i64| (0..200).map(|t| host + k * 200 + t).sum::<i64>() as f64;
    for (host, (head, points)) in (0..).zip(&answers) {
        assert_eq!(&**head.labels.get("h").unwrap(), &host.to_string());
        let expected: Vec<_> = (0..6).map(|k| (k * 600, V::F(bucket(host, k)))).collect();
        assert_eq!(points, &expected);
    }
    let total = points(&engine, &aggregate(Fold::Sum, Gap::Linear, Grouping::All, sums()));
    let expected = (0..6).map(|k| (k * 600, V::F((0..300).map(|host| bucket(host, k)).sum())));
    assert_eq!(total, expected.collect::<Vec<_>>());
}

#[test]
fn blocks_that_overlap_are_merged_within_the_memory_of_the_query() {
    let engine = open();
    for part in 0..40 {
        let cells: Vec<(i64, i64)> = (0..200).map(|n| (n * 40 + part, n)).collect();
        write(&engine, "m,h=a", "value", &integers(&cells));
        engine.flush().unwrap();
    }
    let ask = |memory_bytes: u64| {
        let snapshot = engine.snapshot();
        let limits = Limits { threads: 1, memory_bytes, ..Limits::default() };
        let query = Query { snapshot: &snapshot, meter: Meter::new(limits, Cancel::default()) };
        let mut samples = 0;
        let mut on_frame = |frame: Frame| {
            samples += frame.samples.len();
            ControlFlow::Continue(())
        };
        let plan = select("m", range(0, 100_000));
        run(&query, std::slice::from_ref(&plan), &mut on_frame).map(|_| samples)
    };
    assert_eq!(ask(4 << 20).unwrap(), 8000);
    assert!(matches!(ask(200 << 10), Err(Error::Memory { .. })));
}
