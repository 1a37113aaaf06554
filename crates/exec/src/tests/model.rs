//! Random plans against a model that says what operators mean in the most direct way, without
//! chunks, heaps, slots or accumulators.

use super::*;
use proptest::prelude::*;

type Points = Vec<(i64, V)>;

fn number(value: V) -> Option<f64> {
    match value {
        I(value) => Some(value as f64),
        F(value) => Some(value),
        V::Nan => Some(f64::NAN),
        V::Null | V::Other => None,
    }
}

fn fold_floats(fold: Fold, all: &[f64]) -> f64 {
    let kept: Vec<f64> = all.iter().copied().filter(|v| !v.is_nan()).collect();
    let n = kept.len() as f64;
    let mean = kept.iter().sum::<f64>() / n;
    match fold {
        Fold::Count => n,
        Fold::First => all[0],
        Fold::Last => all[all.len() - 1],
        _ if kept.is_empty() => f64::NAN,
        Fold::Sum => kept.iter().sum(),
        Fold::Mean => mean,
        Fold::Min => kept.iter().copied().reduce(f64::min).unwrap(),
        Fold::Max => kept.iter().copied().reduce(f64::max).unwrap(),
        Fold::SquareSum => kept.iter().map(|v| v * v).sum(),
        Fold::Deviation => (kept.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt(),
        Fold::UpperMedian => {
            let mut sorted = kept;
            sorted.sort_by(f64::total_cmp);
            sorted[sorted.len() / 2]
        }
        Fold::Difference => all[all.len() - 1] - kept[0],
        Fold::Product | Fold::Quantile { .. } => unreachable!("not among the folds drawn"),
    }
}

fn fold_integers(fold: Fold, all: &[i64]) -> i64 {
    let n = all.len() as i64;
    match fold {
        Fold::Count => n,
        Fold::First => all[0],
        Fold::Last => all[all.len() - 1],
        Fold::Sum => all.iter().sum(),
        Fold::Mean => all.iter().sum::<i64>() / n,
        Fold::Min => *all.iter().min().unwrap(),
        Fold::Max => *all.iter().max().unwrap(),
        Fold::SquareSum => all.iter().map(|v| v * v).sum(),
        Fold::Deviation => {
            fold_floats(fold, &all.iter().map(|&v| v as f64).collect::<Vec<_>>()) as i64
        }
        Fold::UpperMedian => {
            let mut sorted = all.to_vec();
            sorted.sort_unstable();
            sorted[sorted.len() / 2]
        }
        Fold::Difference => all[all.len() - 1] - all[0],
        Fold::Product | Fold::Quantile { .. } => unreachable!("not among the folds drawn"),
    }
}

/// What one series contributes at `t`: its value, or by the gap rule.
fn contribution(series: &Points, t: i64, gap: Gap, integer: bool) -> Option<V> {
    let (first, last) = (series.first()?.0, series.last()?.0);
    if t < first || t > last {
        return None;
    }
    if let Some(&(_, value)) = series.iter().find(|(at, _)| *at == t) {
        return Some(value);
    }
    let &(x0, y0) = series.iter().rfind(|(at, _)| *at < t)?;
    let &(x1, y1) = series.iter().find(|(at, _)| *at > t)?;
    Some(match (gap, integer) {
        (Gap::Absent, _) => return None,
        (Gap::Linear, true) => {
            let (I(y0), I(y1)) = (y0, y1) else { unreachable!("all are integers") };
            I(y0 + (t - x0) * (y1 - y0) / (x1 - x0))
        }
        (Gap::Linear, false) => {
            let (y0, y1) = (number(y0)?, number(y1)?);
            F(y0 + (t - x0) as f64 * (y1 - y0) / (x1 - x0) as f64)
        }
        (Gap::Zero, _) => I(0),
        (Gap::Previous, _) => y0,
        (Gap::Maximum, true) => I(i64::MAX),
        (Gap::Minimum, true) => I(i64::MIN),
        (Gap::Maximum, false) => F(f64::MAX),
        (Gap::Minimum, false) => F(f64::MIN),
    })
}

fn model_aggregate(series: &[Points], fold: Fold, gap: Gap) -> Points {
    let mut times: Vec<i64> = series.iter().flatten().map(|&(t, _)| t).collect();
    times.sort_unstable();
    times.dedup();
    let at = |t: i64| {
        let is_float = |value: &V| !matches!(value, I(_));
        let integer = !series.iter().any(|points| {
            let ended = points.last().is_none_or(|&(last, _)| last < t);
            let now = points.iter().rfind(|(at, _)| *at <= t).filter(|_| !ended);
            let next = points.iter().find(|(at, _)| *at > t);
            now.is_some_and(|(_, v)| is_float(v)) || next.is_some_and(|(_, v)| is_float(v))
        });
        let all = series.iter().filter_map(|points| contribution(points, t, gap, integer));
        let all: Vec<V> = all.collect();
        if integer {
            let all = all.iter().map(|v| if let I(v) = v { *v } else { unreachable!() });
            return I(fold_integers(fold, &all.collect::<Vec<_>>()));
        }
        F(fold_floats(fold, &all.iter().filter_map(|&v| number(v)).collect::<Vec<_>>()))
    };
    times.iter().map(|&t| (t, at(t))).collect()
}

fn model_window(points: &Points, width: i64, fold: Fold, fill: Fill, from: i64, to: i64) -> Points {
    if points.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    // Offsets count from H, which is a whole number of minutes; buckets count from 1970.
    let mut start = from - (from + H).rem_euclid(width);
    while start <= to {
        let inside = points.iter().filter(|(t, _)| start <= *t && *t < start + width);
        let values: Vec<f64> = inside.filter_map(|&(_, v)| number(v)).collect();
        if start >= from {
            match (values.is_empty(), fill) {
                (false, _) => out.push((start, F(fold_floats(fold, &values)))),
                (true, Fill::Nan) => out.push((start, V::Nan)),
                (true, Fill::Null) => out.push((start, V::Null)),
                (true, Fill::Value(value)) => out.push((start, F(value))),
                (true, _) => {}
            }
        }
        start += width;
    }
    out
}

fn model_rate(points: &Points) -> Points {
    let pair = |pair: &[(i64, V)]| {
        let [(t0, v0), (t1, v1)] = *pair else { unreachable!("windows of two") };
        let difference = match (v0, v1) {
            (I(v0), I(v1)) => (v1 - v0) as f64,
            _ => number(v1).unwrap() - number(v0).unwrap(),
        };
        (t1, F(difference / (t1 - t0) as f64))
    };
    points.windows(2).map(pair).collect()
}

fn same(actual: &Points, expected: &Points) -> bool {
    let value = |a: V, b: V| match (a, b) {
        (F(a), F(b)) => {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * (1.0 + a.abs())
        }
        (V::Nan, F(b)) | (F(b), V::Nan) => b.is_nan(),
        (a, b) => a == b,
    };
    let pair = |((t, a), (u, b)): (&(i64, V), &(i64, V))| t == u && value(*a, *b);
    actual.len() == expected.len() && actual.iter().zip(expected).all(pair)
}

fn value() -> impl Strategy<Value = V> {
    prop_oneof![
        6 => (-1000i64..1000).prop_map(I),
        3 => (-1000i32..1000).prop_map(|v| F(f64::from(v) / 8.0)),
    ]
}

/// Points at distinct offsets; mostly one kind per series, as stored series are.
fn points() -> impl Strategy<Value = Points> {
    let times = prop::collection::btree_set(0i64..400, 0..20);
    (times, prop::collection::vec(value(), 20), 0..3).prop_map(|(times, values, kind)| {
        let cast = |value| match (kind, value) {
            (0, F(value)) => I(value as i64),
            (1, I(value)) => F(value as f64),
            (_, value) => value,
        };
        times.into_iter().zip(values.into_iter().map(cast)).collect()
    })
}

fn fold() -> impl Strategy<Value = Fold> {
    prop::sample::select(vec![
        Fold::Sum,
        Fold::Min,
        Fold::Max,
        Fold::Mean,
        Fold::Count,
        Fold::First,
        Fold::Last,
        Fold::Deviation,
        Fold::UpperMedian,
        Fold::Difference,
        Fold::SquareSum,
    ])
}

fn gap() -> impl Strategy<Value = Gap> {
    prop::sample::select(vec![
        Gap::Absent,
        Gap::Linear,
        Gap::Zero,
        Gap::Previous,
        Gap::Maximum,
        Gap::Minimum,
    ])
}

/// An extreme that takes part in a sum or a square overflows, in the model and for no use.
fn makes_sense(fold: Fold, gap: Gap) -> bool {
    !matches!(gap, Gap::Maximum | Gap::Minimum)
        || matches!(fold, Fold::Min | Fold::Max | Fold::First | Fold::Last | Fold::Count)
}

fn stored(series: &[Points]) -> Vec<(Identity, Samples)> {
    lettered(series.iter().map(|points| samples(points)))
}

fn whole() -> TimeRange {
    range(0, 3599)
}

/// The only answer's samples, none if there is no answer.
fn points_of(series: &[Points], plan: &Series) -> Points {
    let mut answers = answer(&stored(series), plan);
    assert!(answers.len() <= 1);
    answers.pop().map(|(_, points)| points).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn aggregates_agree_with_the_model(
        series in prop::collection::vec(points(), 1..6), fold in fold(), gap in gap(),
    ) {
        prop_assume!(makes_sense(fold, gap));
        let plan = aggregate(fold, gap, Grouping::All, select(whole()));
        let (actual, expected) = (points_of(&series, &plan), model_aggregate(&series, fold, gap));
        prop_assert!(same(&actual, &expected), "{actual:?} is not {expected:?}");
        // With so little memory series are not merged, where there is another way.
        let limits = Limits { memory_bytes: 120 << 10, threads: 2, ..Limits::default() };
        if !matches!(fold, Fold::Difference | Fold::Deviation | Fold::UpperMedian) {
            let (mut answers, _) = answer_with(&stored(&series), &[plan], limits).unwrap();
            let actual = answers.pop().map(|(_, points)| points).unwrap_or_default();
            prop_assert!(same(&actual, &expected), "{actual:?} is not {expected:?}");
        }
    }

    #[test]
    fn windows_and_rates_agree_with_the_model(
        points in points(),
        fold in fold(),
        width in 1i64..90,
        fill in prop::sample::select(vec![Fill::None, Fill::Nan, Fill::Null, Fill::Value(2.5)]),
        edges in (0i64..200, 200i64..420),
    ) {
        let (from, to) = edges;
        let plan = window(seconds(width), fold, fill, range(from, to), select(whole()));
        let actual = points_of(std::slice::from_ref(&points), &plan);
        let expected = model_window(&points, width, fold, fill, from, to);
        prop_assert!(same(&actual, &expected), "{actual:?} is not {expected:?}");
        let actual = points_of(std::slice::from_ref(&points), &rate(Reset::Gauge, select(whole())));
        let expected = model_rate(&points);
        prop_assert!(same(&actual, &expected), "{actual:?} is not {expected:?}");
    }

    /// Windows that all series share go through slots instead of the heap.
    #[test]
    fn aggregates_of_windows_agree_with_the_model(
        series in prop::collection::vec(points(), 1..6),
        folds in (fold(), fold()),
        gap in gap(),
        width in 1i64..90,
        has_rate in any::<bool>(),
    ) {
        let (within, across) = folds;
        prop_assume!(makes_sense(across, gap));
        let windows = |points: &Points| {
            let windows = model_window(points, width, within, Fill::None, 0, 3599);
            if has_rate { model_rate(&windows) } else { windows }
        };
        let input = window(seconds(width), within, Fill::None, whole(), select(whole()));
        let input = if has_rate { rate(Reset::Gauge, input) } else { input };
        let plan = aggregate(across, gap, Grouping::All, input);
        let expected = series.iter().map(windows).collect::<Vec<_>>();
        let expected = model_aggregate(&expected, across, gap);
        let actual = points_of(&series, &plan);
        prop_assert!(same(&actual, &expected), "{actual:?} is not {expected:?}");
    }
}

/// A series of thousands of samples, at a period and phase of its own.
fn long(seed: i64) -> Points {
    let step = 1 + seed % 3;
    let value = |t: i64| (t * 7919 + seed * 104_729) % 1000;
    let kind = |t: i64| if seed % 2 == 0 { I(value(t)) } else { F(value(t) as f64 / 4.0) };
    (0..9000 / step).map(|k| (seed + k * step, kind(k))).collect()
}

#[test]
fn long_series_are_read_chunk_by_chunk() {
    let series: Vec<Points> = (0..5).map(long).collect();
    let read = range(0, 20_000);
    let sum = aggregate(Fold::Sum, Gap::Linear, Grouping::All, select(read));
    let expected = {
        // The quadratic model would take long here: check a stretch in the middle of many chunks.
        let cut = |points: &Points| -> Points {
            points.iter().copied().filter(|(t, _)| (4000..4300).contains(t)).collect()
        };
        model_aggregate(&series.iter().map(cut).collect::<Vec<_>>(), Fold::Sum, Gap::Linear)
    };
    let inner = |points: Points| -> Points {
        points.into_iter().filter(|(t, _)| (4010..4290).contains(t)).collect()
    };
    let actual = points_of(&series, &sum);
    assert!(actual.len() > 8000);
    assert!(same(&inner(actual), &inner(expected)));
    let minutes = window(seconds(60), Fold::Mean, Fill::None, read, select(read));
    for points in &series {
        let actual = points_of(std::slice::from_ref(points), &minutes);
        let expected = model_window(points, 60, Fold::Mean, Fill::None, 0, 20_000);
        assert!(same(&actual, &expected));
    }
}

/// Several hundred series are joined from runs; threads must not change a bit of the result.
#[test]
fn threads_do_not_change_results() {
    let point = |series: i64, t: i64| ((series * 7919 + t * 104_729) % 1009) as f64 / 10.0;
    let one = |series: i64| -> Points {
        let times = (0..900).filter(|t| (t / 60 + series) % 5 != 0);
        times.map(|t| (t, F(point(series, t)))).collect()
    };
    let all: Vec<Points> = (0..700).map(one).collect();
    let labels = |at: usize| {
        let rack = (at % 7).to_string();
        [("h".to_owned(), at.to_string()), ("rack".to_owned(), rack)]
    };
    let stored: Vec<_> = all
        .iter()
        .enumerate()
        .map(|(at, points)| {
            let labels = labels(at);
            let pairs: Vec<_> = labels.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            labelled(&pairs, samples(points))
        })
        .collect();
    let windows = || window(seconds(60), Fold::Sum, Fill::None, whole(), select(whole()));
    let by_rack = Grouping::By { names: vec!["rack".into()], drops_absent: true };
    let plans = [
        aggregate(Fold::Deviation, Gap::Linear, Grouping::All, windows()),
        aggregate(Fold::Sum, Gap::Linear, Grouping::All, windows()),
        aggregate(Fold::UpperMedian, Gap::Linear, by_rack, windows()),
        aggregate(Fold::First, Gap::Linear, Grouping::Each, windows()),
    ];
    let run = |threads| {
        let limits = Limits { threads, ..Limits::default() };
        answer_with(&stored, &plans, limits).unwrap()
    };
    let (one, ran) = run(1);
    assert_eq!((one.len(), ran.series), (1 + 1 + 7 + 700, 709));
    let (four, ran_of_four) = run(4);
    assert_eq!(one, four);
    assert_eq!(ran.samples_answered, ran_of_four.samples_answered);
    assert_eq!(one[1].0.question, 1);
    let model = |points: &Points| model_window(points, 60, Fold::Sum, Fill::None, 0, 3599);
    let model: Vec<Points> = all.iter().map(model).collect();
    assert!(same(&one[0].1, &model_aggregate(&model, Fold::Deviation, Gap::Linear)));
    assert!(same(&one[1].1, &model_aggregate(&model, Fold::Sum, Gap::Linear)));
    let rack_0: Vec<Points> = model.into_iter().step_by(7).collect();
    assert!(same(&one[2].1, &model_aggregate(&rack_0, Fold::UpperMedian, Gap::Linear)));
}

/// Series that mostly have samples at the same times, as strips need them: some begin late, end
/// early, miss one, or change kind.
fn scraped() -> impl Strategy<Value = Vec<Points>> {
    let one = (0i64..30, 170i64..210, 0i64..200, 0..4, prop::collection::vec(value(), 200));
    prop::collection::vec(one, 2..6).prop_map(|all| {
        let series = |(begin, end, hole, kind, values): (i64, i64, i64, i32, Vec<V>)| {
            let begin = if begin < 20 { 0 } else { begin };
            let cast = |t: i64, value| match (kind, value) {
                (0 | 1, F(value)) => I(value as i64),
                (2, I(value)) => F(value as f64),
                (3, I(value)) if t > 100 => F(value as f64 + 0.5),
                (3, F(value)) if t <= 100 => I(value as i64),
                _ => value,
            };
            let times = (begin..end.min(200)).filter(|&t| hole < 100 || t != hole);
            times.zip(values).map(|(t, value)| (2 * t, cast(t, value))).collect()
        };
        all.into_iter().map(series).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn aggregates_of_scraped_series_agree_with_the_model(
        series in scraped(), fold in fold(), gap in gap(),
    ) {
        prop_assume!(makes_sense(fold, gap));
        let plan = aggregate(fold, gap, Grouping::All, select(whole()));
        let (actual, expected) = (points_of(&series, &plan), model_aggregate(&series, fold, gap));
        prop_assert!(same(&actual, &expected), "{actual:?} is not {expected:?}");
    }
}

/// Any plan of two levels of operators above the series, with parameters from sane to absurd.
fn any_plan() -> impl Strategy<Value = Series> {
    let read = || {
        prop_oneof![
            Just(whole()),
            Just(TimeRange::ALL),
            Just(range(200, 100)),
            Just(range(50, 300))
        ]
    };
    let leaf = read().prop_map(select).boxed();
    leaf.prop_recursive(3, 8, 1, move |input| {
        let windows = prop_oneof![
            (1i64..90).prop_map(seconds),
            Just(Windows::Whole(whole())),
            Just(Windows::Buckets { width_ns: i64::MAX, origin_ns: i64::MIN }),
            (1u32..9).prop_map(|count| Windows::Calendar {
                count,
                unit: foliot_plan::Calendar::Minute,
                zone: "Europe/London".into(),
            }),
        ];
        let fill = prop::sample::select(vec![Fill::None, Fill::Nan, Fill::Null, Fill::Value(7.0)]);
        let grouping = prop::sample::select(vec![
            Grouping::All,
            Grouping::Each,
            Grouping::By { names: vec!["h".into()], drops_absent: false },
        ]);
        let reset = prop::sample::select(vec![
            Reset::Gauge,
            Reset::Drop,
            Reset::Wrap { max: i64::MAX, reset_above: 1.0 },
        ]);
        prop_oneof![
            // Fills stay inside a range that ends, or they are as good as endless.
            (input.clone(), windows, fold(), fill).prop_map(|(input, windows, fold, fill)| {
                window(windows, fold, fill, whole(), input)
            }),
            (input.clone(), reset).prop_map(|(input, reset)| rate(reset, input)),
            (input.clone(), read()).prop_map(|(input, range)| clip(range, input)),
            (input, fold(), gap(), grouping)
                .prop_map(|(input, fold, gap, grouping)| aggregate(fold, gap, grouping, input)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_panics_and_time_goes_forward(
        series in prop::collection::vec(points(), 0..5), plan in any_plan(),
    ) {
        let limits = Limits { threads: 2, samples: 10_000_000, ..Limits::default() };
        match answer_with(&stored(&series), std::slice::from_ref(&plan), limits) {
            Ok((answers, _)) => {
                for (_, points) in answers {
                    prop_assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0), "{points:?}");
                }
            }
            Err(error) => prop_assert!(matches!(error, Error::Plan(_)), "{error}"),
        }
    }
}
