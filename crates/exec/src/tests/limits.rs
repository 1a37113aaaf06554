//! Limits hold whatever the plan, and tell what to do.

use super::*;
use std::time::{Duration, Instant};

fn many(series: i64, points: i64) -> Vec<(Identity, Samples)> {
    let one = |series: i64| {
        let h = series.to_string();
        let points: Vec<_> = (0..points).map(|t| (t, F((t % 10) as f64))).collect();
        labelled(&[("h", &h)], samples(&points))
    };
    (0..series).map(one).collect()
}

fn plans() -> [Series; 4] {
    let read = range(0, 1 << 30);
    let windows = || window(seconds(60), Fold::UpperMedian, Fill::None, read, select(read));
    [
        select(read),
        aggregate(Fold::Sum, Gap::Linear, Grouping::All, select(read)),
        aggregate(Fold::Sum, Gap::Linear, Grouping::Each, windows()),
        aggregate(Fold::UpperMedian, Gap::Linear, Grouping::All, windows()),
    ]
}

fn refused(limits: Limits, plan: &Series) -> Error {
    let series = many(40, 20_000);
    let ran = answer_with(&series, std::slice::from_ref(plan), limits).map(|(_, ran)| ran);
    ran.expect_err("the limit is met")
}

#[test]
fn memory_is_bounded() {
    for plan in &plans() {
        for threads in [1, 3] {
            let limits = Limits { memory_bytes: 20 << 10, threads, ..Limits::default() };
            let error = refused(limits, plan);
            assert!(matches!(error, Error::Memory { limit_bytes: 20480, .. }), "{error}");
            assert!(error.to_string().contains("limits.query_memory_bytes"), "{error}");
        }
    }
}

#[test]
fn memory_follows_what_is_under_way_not_what_is_read() {
    let few = |series: i64, points: i64, plan: &Series| {
        let stored = many(series, points);
        let limits = Limits { threads: 1, ..Limits::default() };
        answer_with(&stored, std::slice::from_ref(plan), limits).unwrap().1
    };
    let [raw, merged, windows, _] = plans();
    for plan in [&raw, &windows] {
        let (small, large) = (few(2, 30_000, plan), few(20, 30_000, plan));
        assert_eq!(large.samples_answered, 10 * small.samples_answered);
        let (small, large) = (small.memory_peak_bytes, large.memory_peak_bytes);
        // Only ids and names are kept for every series.
        assert!(large < small + 18 * 600, "{small} grew to {large}");
    }
    let ran = few(20, 30_000, &merged);
    assert!(ran.memory_peak_bytes < 20 * (16 << 10) + (256 << 10), "{ran:?}");
}

#[test]
fn samples_are_bounded() {
    for plan in &plans() {
        let limits = Limits { samples: 100_000, ..Limits::default() };
        let error = refused(limits, plan);
        assert!(matches!(error, Error::Samples { limit: 100_000 }), "{error}");
    }
    // A fill makes up samples without reading any.
    let read = range(0, 1 << 30);
    let filled = window(seconds(1), Fold::Sum, Fill::Nan, read, select(read));
    let limits = Limits { samples: 50_000, ..Limits::default() };
    let one = many(1, 10);
    let error = answer_with(&one, std::slice::from_ref(&filled), limits).unwrap_err();
    assert!(error.to_string().contains("limits.query_samples"), "{error}");
}

#[test]
fn time_is_bounded() {
    for plan in &plans() {
        for threads in [1, 3] {
            let seconds = Duration::from_nanos(1);
            let error = refused(Limits { seconds, threads, ..Limits::default() }, plan);
            assert!(matches!(error, Error::Deadline { .. }), "{error}");
        }
    }
    // An endless fill ends with the deadline, soon after it.
    let read = range(0, 1 << 32);
    let windows = Windows::Buckets { width_ns: 1000, origin_ns: 0 };
    let endless = window(windows, Fold::Sum, Fill::Nan, read, select(read));
    let seconds = Duration::from_millis(50);
    let limits = Limits { seconds, samples: u64::MAX, ..Limits::default() };
    let began = Instant::now();
    let one = many(1, 10);
    let error = answer_with(&one, std::slice::from_ref(&endless), limits).unwrap_err();
    assert!(matches!(error, Error::Deadline { .. }));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_reader_can_stop_at_any_frame() {
    let series = many(300, 3000);
    let [raw, ..] = plans();
    for threads in [1, 4] {
        for wanted in [1, 2, 100, 250] {
            let (mut got, cancel) = (0, Cancel::default());
            let limits = Limits { threads, ..Limits::default() };
            let plans = [raw.clone(), raw.clone()];
            let mut on_frame = |frame: Frame| {
                assert_eq!(frame.head.question, 0);
                got += 1;
                if got == wanted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let meter = Meter::new(limits, cancel);
            run_over(Source::Given(&series), &plans, &meter, &mut on_frame).unwrap();
            assert_eq!(got, wanted);
        }
    }
}

#[test]
fn a_query_can_be_cancelled_from_outside() {
    let series = many(300, 3000);
    let [raw, ..] = plans();
    for threads in [1, 4] {
        let (mut got, cancel) = (0, Cancel::default());
        let limits = Limits { threads, ..Limits::default() };
        let mut on_frame = |_: Frame| {
            got += 1;
            if got == 10 {
                cancel.cancel();
            }
            ControlFlow::Continue(())
        };
        let plans = std::slice::from_ref(&raw);
        let meter = Meter::new(limits, cancel.clone());
        let result = run_over(Source::Given(&series), plans, &meter, &mut on_frame);
        assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
        assert!(got < 300);
    }
}

#[test]
fn names_are_read_no_further_than_a_query_goes_on() {
    let series = many(5_000, 1);
    let sids: Vec<u32> = (0..5_000).collect();
    let cancel = Cancel::default();
    let meter = Meter::new(Limits::default(), cancel.clone());
    let mut named = 0;
    let result = Source::Given(&series).identities(&sids, &meter, &mut |_, _| {
        named += 1;
        cancel.cancel();
    });
    assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    assert_eq!(named, 1024);
}

#[test]
fn bad_parameters_are_errors_not_panics() {
    let read = range(0, 3599);
    let bad = [
        window(seconds(0), Fold::Sum, Fill::None, read, select(read)),
        window(seconds(-5), Fold::Sum, Fill::None, read, select(read)),
        Series::Rate(Box::new(Rate { input: select(read), per_ns: 0, reset: Reset::Gauge })),
    ];
    for plan in bad {
        let all = aggregate(Fold::Sum, Gap::Linear, Grouping::All, plan);
        let series = many(3, 3);
        let error = answer_with(&series, &[all], Limits::default()).unwrap_err();
        assert!(matches!(error, Error::Plan(_)), "{error}");
    }
}
