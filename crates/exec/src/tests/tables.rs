//! Expected answers of OpenTSDB, by hand. Rows are those of the conformance list: offsets are
//! seconds from [`H`], and unless a row says otherwise the query runs from H to H + 1800 and reads
//! the hour.

use super::*;
use foliot_model::NULL_FLOAT_BITS;
use foliot_plan::{Calendar, Quantile};

fn hour() -> TimeRange {
    range(0, 3600)
}

fn half_hour() -> TimeRange {
    range(0, 1800)
}

/// A aggregator's fold and gap rule over the hour, all series in one group.
fn all(fold: Fold, gap: Gap) -> Series {
    clip(half_hour(), aggregate(fold, gap, Grouping::All, select(hour())))
}

fn a() -> Samples {
    integers(&[(10, 100), (20, 130), (40, 190)])
}

fn b() -> Samples {
    integers(&[(15, 7), (30, 10), (40, 12)])
}

#[track_caller]
fn check(actual: Vec<(i64, V)>, expected: &[(i64, V)]) {
    assert_eq!(actual, expected);
}

#[track_caller]
fn check_integers(fold: Fold, gap: Gap, expected: &[(i64, i64)]) {
    let expected: Vec<_> = expected.iter().map(|&(offset, value)| (offset, I(value))).collect();
    check(single(&lettered([a(), b()]), &all(fold, gap)), &expected);
}

#[test]
fn row_19_none_changes_nothing() {
    let plan = aggregate(Fold::First, Gap::Linear, Grouping::Each, select(hour()));
    let answers = answer(&lettered([a(), b()]), &clip(half_hour(), plan));
    let points: Vec<_> = answers.iter().map(|(_, points)| points.clone()).collect();
    let first = vec![(10, I(100)), (20, I(130)), (40, I(190))];
    assert_eq!(points, [first, vec![(15, I(7)), (30, I(10)), (40, I(12))]]);
    let h = |at: usize| answers[at].0.labels.get("h").unwrap().to_string();
    assert_eq!((h(0), h(1)), ("a".into(), "b".into()));
    assert_eq!(answers[1].0.members, [1]);
}

#[test]
fn series_of_none_come_by_measurement_and_then_by_labels() {
    let of = |measurement: &str, h: &str| {
        let (identity, samples) = labelled(&[("h", h)], a());
        (Identity { measurement: measurement.into(), ..identity }, samples)
    };
    let order = |series: &[(Identity, Samples)]| {
        let plan = aggregate(Fold::First, Gap::Linear, Grouping::Each, select(hour()));
        let answers = answer(series, &clip(half_hour(), plan));
        answers.iter().map(|(head, _)| head.members[0]).collect::<Vec<_>>()
    };
    // Numbers are given out at first sight.
    assert_eq!(order(&[of("y", "b"), of("x", "a"), of("z", "a")]), [0, 1, 2]);
    assert_eq!(order(&[of("y", "b"), of("x", "a"), of("y", "a")]), [0, 2, 1]);
}

#[test]
fn rows_20_to_26_integers() {
    use Gap::{Linear, Maximum, Minimum, Previous, Zero};
    check_integers(Fold::Sum, Linear, &[(10, 100), (15, 122), (20, 138), (30, 170), (40, 202)]);
    check_integers(Fold::Sum, Zero, &[(10, 100), (15, 7), (20, 130), (30, 10), (40, 202)]);
    check_integers(Fold::Sum, Previous, &[(10, 100), (15, 107), (20, 137), (30, 140), (40, 202)]);
    check_integers(Fold::Mean, Linear, &[(10, 100), (15, 61), (20, 69), (30, 85), (40, 101)]);
    check_integers(Fold::Min, Linear, &[(10, 100), (15, 7), (20, 8), (30, 10), (40, 12)]);
    check_integers(Fold::Min, Maximum, &[(10, 100), (15, 7), (20, 130), (30, 10), (40, 12)]);
    check_integers(Fold::Max, Minimum, &[(10, 100), (15, 7), (20, 130), (30, 10), (40, 190)]);
    check_integers(Fold::Count, Zero, &[(10, 1), (15, 2), (20, 2), (30, 2), (40, 2)]);
    check_integers(Fold::Deviation, Linear, &[(10, 0), (15, 54), (20, 61), (30, 75), (40, 89)]);
    let difference = [(10, 0), (15, -108), (20, -122), (30, -150), (40, -178)];
    check_integers(Fold::Difference, Linear, &difference);
    let median = [(10, 100), (15, 115), (20, 130), (30, 160), (40, 190)];
    check_integers(Fold::UpperMedian, Linear, &median);
}

#[test]
fn row_27_one_float_series_makes_all_floats() {
    let a = floats(&[(10, 100.0), (20, 130.0), (40, 190.0)]);
    let expected = [100.0, 122.0, 138.0, 170.0, 202.0].map(F);
    let expected: Vec<_> = [10, 15, 20, 30, 40].into_iter().zip(expected).collect();
    check(single(&lettered([a, b()]), &all(Fold::Sum, Gap::Linear)), &expected);
}

/// [M] of section 2.5: an integer directly followed by a float is printed as a double.
#[test]
fn integers_followed_by_floats_are_floats() {
    let mixed = samples(&[(0, I(42)), (10, I(43)), (20, F(44.5)), (30, I(45)), (40, I(46))]);
    let expected = [(0, I(42)), (10, F(43.0)), (20, F(44.5)), (30, I(45)), (40, I(46))];
    let series = lettered([mixed.clone()]);
    let none = aggregate(Fold::First, Gap::Linear, Grouping::Each, select(hour()));
    check(single(&series, &none), &expected);
    // The general way agrees with the short one.
    let both = lettered([mixed, integers(&[(0, 0)])]);
    check(single(&both, &all(Fold::Sum, Gap::Linear)), &expected);
    // A series that has not begun counts with its first value, one that has ended does not.
    let later = lettered([integers(&[(0, 1), (10, 2), (20, 3)]), floats(&[(10, 0.5)])]);
    let expected = [(0, F(1.0)), (10, F(2.5)), (20, I(3))];
    check(single(&later, &all(Fold::Sum, Gap::Linear)), &expected);
}

#[test]
fn row_28_ended_series_contribute_nothing() {
    let series =
        lettered([integers(&[(10, 100), (20, 130)]), integers(&[(20, 1), (30, 2), (40, 5)])]);
    let expected = [(10, I(100)), (20, I(131)), (30, I(2)), (40, I(5))];
    check(single(&series, &all(Fold::Sum, Gap::Linear)), &expected);
}

#[test]
fn row_29_integer_lines_truncate() {
    let zero = integers(&[(10, 0), (20, 0), (30, 0)]);
    let rising = lettered([integers(&[(0, 10), (30, 11)]), zero.clone()]);
    let expected = [(0, I(10)), (10, I(10)), (20, I(10)), (30, I(11))];
    check(single(&rising, &all(Fold::Sum, Gap::Linear)), &expected);
    let falling = lettered([integers(&[(0, 11), (30, 9)]), zero]);
    let expected = [(0, I(11)), (10, I(11)), (20, I(10)), (30, I(9))];
    check(single(&falling, &all(Fold::Sum, Gap::Linear)), &expected);
}

#[test]
fn row_30_integer_means_truncate() {
    let case = |x: V, y: V| {
        let series = lettered([samples(&[(0, x)]), samples(&[(0, y)])]);
        single(&series, &all(Fold::Mean, Gap::Linear))[0].1
    };
    assert_eq!(case(I(1), I(2)), I(1));
    assert_eq!(case(I(-1), I(-2)), I(-1));
    assert_eq!(case(I(1), F(2.0)), F(1.5));
}

#[test]
fn row_31_quantiles() {
    use Quantile::{Legacy, R3, R7};
    let integers = lettered((1..=8).map(|v| integers(&[(0, 10 * v)])));
    let floats = lettered((1..=8).map(|v| floats(&[(0, 10.0 * v as f64)])));
    let table = [
        (Legacy, 0.50, 45, 45.0),
        (Legacy, 0.75, 67, 67.5),
        (Legacy, 0.90, 80, 80.0),
        (Legacy, 0.95, 80, 80.0),
        (R3, 0.50, 40, 45.0),
        (R3, 0.75, 60, 67.5),
        (R3, 0.90, 70, 80.0),
        (R7, 0.50, 45, 45.0),
        (R7, 0.75, 62, 67.5),
        (R7, 0.90, 73, 80.0),
        (R7, 0.95, 76, 80.0),
    ];
    for (method, q, integer, float) in table {
        let plan = all(Fold::Quantile { q, method }, Gap::Linear);
        check(single(&integers, &plan), &[(0, I(integer))]);
        check(single(&floats, &plan), &[(0, F(float))]);
    }
}

#[test]
fn row_32_groups_and_their_labels() {
    let one = || integers(&[(0, 1)]);
    let both =
        [labelled(&[("h", "a"), ("dc", "x")], one()), labelled(&[("h", "b"), ("dc", "x")], one())];
    let partly = [labelled(&[("h", "a"), ("dc", "x")], one()), labelled(&[("h", "b")], one())];
    for series in [&both, &partly] {
        let (head, points) = answer(series, &all(Fold::Sum, Gap::Linear)).remove(0);
        assert_eq!(head.labels, [("dc", "x")].into_iter().collect());
        assert_eq!((head.varying, head.members), (vec!["h".into()], vec![0, 1]));
        assert_eq!(points, [(0, I(2))]);
    }
    let by = |names: &[&str], drops_absent| {
        let names = names.iter().map(|&name| name.into()).collect();
        let grouping = Grouping::By { names, drops_absent };
        let plan = aggregate(Fold::Sum, Gap::Linear, grouping, select(hour()));
        answer(&partly, &plan).into_iter().map(|(head, _)| head.members).collect::<Vec<_>>()
    };
    assert_eq!(by(&["h"], true), [[0], [1]]);
    assert_eq!(by(&["dc"], true), [[0]]);
    assert_eq!(by(&["dc"], false), [[1], [0]]);
    assert_eq!(by(&["nosuch"], true), Vec::<Vec<u32>>::new());
    assert_eq!(by(&["nosuch"], false), [[0, 1]]);
}

/// Section 2.6: groups and series stand in the order in which names were first seen.
#[test]
fn order_is_that_of_first_sight() {
    let point = |value| integers(&[(0, value)]);
    // First sight: h, zz, k, 1, 2, aa. The third series comes before the second by its `k`.
    let series = [
        labelled(&[("h", "zz"), ("k", "1")], point(1)),
        labelled(&[("h", "zz"), ("k", "2")], point(2)),
        labelled(&[("h", "aa"), ("k", "2")], point(4)),
        labelled(&[("h", "aa"), ("k", "1")], point(8)),
    ];
    let members = |grouping: Grouping| {
        let plan = aggregate(Fold::Last, Gap::Linear, grouping, select(hour()));
        let answers = answer(&series, &plan).into_iter();
        answers.map(|(head, points)| (head.members, points[0].1)).collect::<Vec<_>>()
    };
    let by_h = members(Grouping::By { names: vec!["h".into()], drops_absent: true });
    assert_eq!(by_h, [(vec![0, 1], I(2)), (vec![2, 3], I(4))]);
    let each = members(Grouping::Each);
    assert_eq!(each, [(vec![0], I(1)), (vec![1], I(2)), (vec![3], I(8)), (vec![2], I(4))]);
    let by_both = members(Grouping::By { names: vec!["k".into(), "h".into()], drops_absent: true });
    assert_eq!(by_both.iter().map(|(m, _)| m[0]).collect::<Vec<_>>(), [0, 1, 3, 2]);
}

#[test]
fn row_33_counters() {
    let series = lettered([integers(&[(0, 100), (10, 150), (20, 250), (30, 50), (40, 90)])]);
    let case = |reset| {
        let plan = aggregate(Fold::Sum, Gap::Previous, Grouping::All, rate(reset, select(hour())));
        single(&series, &clip(half_hour(), plan))
    };
    let expect = |at_30| vec![(10, F(5.0)), (20, F(10.0)), (30, F(at_30)), (40, F(4.0))];
    assert_eq!(case(Reset::Gauge), expect(-20.0));
    assert_eq!(case(Reset::Wrap { max: 300, reset_above: 0.0 }), expect(10.0));
    assert_eq!(case(Reset::Wrap { max: 300, reset_above: 5.0 }), expect(0.0));
    assert_eq!(case(Reset::Drop), [(10, F(5.0)), (20, F(10.0)), (40, F(4.0))]);
    let F(giant) = case(Reset::Wrap { max: i64::MAX, reset_above: 0.0 })[2].1 else { panic!() };
    assert_eq!(giant, (i64::MAX - 200) as f64 / 10.0);
    assert!((giant / 9.22e17 - 1.0).abs() < 0.001);
}

#[test]
fn row_34_the_first_rate_needs_a_point_of_the_same_scan() {
    let plan = |start: i64, read: TimeRange| {
        let sum =
            aggregate(Fold::Sum, Gap::Previous, Grouping::All, rate(Reset::Gauge, select(read)));
        clip(range(start, start + 1800), sum)
    };
    let same = lettered([integers(&[(100, 10), (160, 40)])]);
    check(single(&same, &plan(150, range(0, 3599))), &[(160, F(0.5))]);
    let other = lettered([integers(&[(3590, 10), (3610, 30), (3620, 50)])]);
    check(single(&other, &plan(3600, range(3600, 7199))), &[(3620, F(2.0))]);
}

/// Row 35, without the first rate against time zero: a series takes part from its second point on.
#[test]
fn row_35_rates_are_held_not_interpolated() {
    let series = lettered([
        integers(&[(0, 100), (10, 150), (20, 250)]),
        integers(&[(5, 1000), (15, 1020), (25, 1060)]),
    ]);
    let rates = || rate(Reset::Gauge, select(hour()));
    let sum = || clip(half_hour(), aggregate(Fold::Sum, Gap::Previous, Grouping::All, rates()));
    check(single(&series, &sum()), &[(10, F(5.0)), (15, F(7.0)), (20, F(12.0)), (25, F(4.0))]);
    let one_point = lettered([integers(&[(5, 1)])]);
    check(single(&one_point, &sum()), &[]);
    // Without the clip that keeps it, a series without samples is no answer.
    assert!(answer(&one_point, &rates()).is_empty());
}

fn p() -> Vec<(Identity, Samples)> {
    lettered([integers(&[(0, 1), (30, 2), (60, 3), (100, 4), (130, 5), (190, 6)])])
}

fn minutes(fold: Fold, fill: Fill, read: TimeRange) -> Series {
    window(seconds(60), fold, fill, read, select(read))
}

#[test]
fn row_36_folds_of_a_minute() {
    let table = [
        (Fold::Sum, [3.0, 7.0, 5.0, 6.0]),
        (Fold::Mean, [1.5, 3.5, 5.0, 6.0]),
        (Fold::Count, [2.0, 2.0, 1.0, 1.0]),
        (Fold::Deviation, [0.5, 0.5, 0.0, 0.0]),
        (Fold::Min, [1.0, 3.0, 5.0, 6.0]),
        (Fold::Max, [2.0, 4.0, 5.0, 6.0]),
        (Fold::First, [1.0, 3.0, 5.0, 6.0]),
        (Fold::Last, [2.0, 4.0, 5.0, 6.0]),
        (Fold::Difference, [1.0, 1.0, 0.0, 0.0]),
        (Fold::Product, [2.0, 12.0, 5.0, 6.0]),
        (Fold::UpperMedian, [2.0, 4.0, 5.0, 6.0]),
        (Fold::SquareSum, [5.0, 25.0, 25.0, 36.0]),
    ];
    for (fold, expected) in table {
        let plan = aggregate(
            Fold::Sum,
            Gap::Linear,
            Grouping::All,
            minutes(fold, Fill::None, range(0, 3599)),
        );
        let expected: Vec<_> = [0, 60, 120, 180].into_iter().zip(expected.map(F)).collect();
        check(single(&p(), &plan), &expected);
    }
}

#[test]
fn rows_37_and_38_the_first_bucket_is_dropped_and_the_last_is_whole() {
    let sums = || minutes(Fold::Sum, Fill::None, range(0, 3599));
    check(
        single(&p(), &clip(range(30, 1800), sums())),
        &[(60, F(7.0)), (120, F(5.0)), (180, F(6.0))],
    );
    check(single(&p(), &clip(range(0, 60), sums())), &[(0, F(3.0)), (60, F(7.0))]);
}

#[test]
fn row_39_fills() {
    let series = lettered([integers(&[(0, 1), (120, 3)]), Samples::default()]);
    let case = |fill| {
        let sums = minutes(Fold::Sum, fill, range(0, 3599));
        let plan = aggregate(Fold::Sum, Gap::Linear, Grouping::Each, sums);
        single(&series, &clip(range(0, 180), plan))
    };
    let expect = |hole| vec![(0, F(1.0)), (60, hole), (120, F(3.0)), (180, hole)];
    assert_eq!(case(Fill::Nan), expect(V::Nan));
    assert_eq!(case(Fill::Null), expect(V::Null));
    assert_eq!(case(Fill::Value(0.0)), expect(F(0.0)));
    assert_eq!(case(Fill::None), [(0, F(1.0)), (120, F(3.0))]);
    assert!(f64::from_bits(NULL_FLOAT_BITS).is_nan());
}

#[test]
fn row_40_one_window_for_all() {
    let whole = |start, end, fold| {
        // The end belongs not to the window: the door takes one nanosecond off.
        let scan = TimeRange { end_ns: (H + end) * SECOND - 1, ..range(start, end) };
        let windows = Windows::Whole(scan);
        clip(range(start, end), window(windows, fold, Fill::None, scan, select(range(0, 3599))))
    };
    check(single(&p(), &whole(30, 130, Fold::Sum)), &[(30, F(9.0))]);
    check(single(&p(), &whole(0, 1800, Fold::Count)), &[(0, F(6.0))]);
    let rates = rate(Reset::Gauge, whole(0, 1800, Fold::Sum));
    assert!(answer(&p(), &rates).is_empty());
}

#[test]
fn row_41_buckets_that_a_series_lacks() {
    let series = lettered([integers(&[(0, 10), (120, 30)]), integers(&[(60, 5)])]);
    let case = |gap, fill| {
        let plan =
            aggregate(Fold::Sum, gap, Grouping::All, minutes(Fold::Sum, fill, range(0, 3599)));
        single(&series, &clip(range(0, 240), plan))
    };
    let interpolated = [(0, F(10.0)), (60, F(25.0)), (120, F(30.0))];
    assert_eq!(case(Gap::Linear, Fill::None), interpolated);
    let zero = [(0, F(10.0)), (60, F(5.0)), (120, F(30.0)), (180, F(0.0)), (240, F(0.0))];
    assert_eq!(case(Gap::Linear, Fill::Value(0.0)), zero);
    assert_eq!(case(Gap::Zero, Fill::None), [(0, F(10.0)), (60, F(5.0)), (120, F(30.0))]);
}

#[test]
fn row_42_a_bucket_that_all_lack_is_nan() {
    let series = lettered([integers(&[(0, 1), (120, 2)]), integers(&[(0, 1), (60, 5)])]);
    let case = |fill| {
        let sums = minutes(Fold::Sum, fill, range(0, 3599));
        let plan = aggregate(Fold::Sum, Gap::Linear, Grouping::All, sums);
        single(&series, &clip(range(0, 180), plan))
    };
    let expect = |hole| vec![(0, F(2.0)), (60, F(5.0)), (120, F(2.0)), (180, hole)];
    assert_eq!(case(Fill::Nan), expect(V::Nan));
    assert_eq!(case(Fill::Null), expect(V::Null));
}

#[test]
fn rows_43_and_44_weeks_and_calendars() {
    let series = lettered([integers(&[(0, 7)])]);
    let wide = range(-40 * 86_400, 40 * 86_400);
    let case = |windows| {
        let points = single(&series, &window(windows, Fold::Sum, Fill::None, wide, select(wide)));
        assert_eq!(points.len(), 1);
        H + points[0].0
    };
    let calendar = |unit, zone: &str| Windows::Calendar { count: 1, unit, zone: zone.into() };
    assert_eq!(case(seconds(7 * 86_400)), 1_699_488_000);
    assert_eq!(case(calendar(Calendar::Day, "Asia/Kolkata")), 1_699_986_600);
    assert_eq!(case(calendar(Calendar::Month, "UTC")), 1_698_796_800);
    assert_eq!(case(calendar(Calendar::Day, "UTC")), 1_699_920_000);
    assert_eq!(case(seconds(86_400)), 1_699_920_000);
}

#[test]
fn row_45_what_lies_outside_the_query_but_inside_the_scan_counts() {
    let series = lettered([integers(&[(3540, 10), (3660, 20)]), integers(&[(3600, 1)])]);
    let case = |read, answered| {
        let sum = aggregate(Fold::Sum, Gap::Linear, Grouping::All, select(read));
        single(&series, &clip(answered, sum))
    };
    assert_eq!(case(range(0, 7199), range(3590, 3600)), [(3600, I(16))]);
    assert_eq!(case(range(3600, 7199), range(3600, 3600)), [(3600, I(1))]);
}

/// TickTock: values are combined only where times coincide, and rates come after the sum.
#[test]
fn without_gap_rule_only_coinciding_values_meet() {
    let series = lettered([a(), b()]);
    let expected = [(10, I(100)), (15, I(7)), (20, I(130)), (30, I(10)), (40, I(202))];
    check(single(&series, &all(Fold::Sum, Gap::Absent)), &expected);
    let rates = rate(Reset::Gauge, all(Fold::Sum, Gap::Absent));
    check(single(&series, &rates)[..1].to_vec(), &[(15, F((7.0 - 100.0) / 5.0))]);
}

/// Series whose selected range holds nothing are not there: they give no labels, fill nothing.
#[test]
fn series_without_samples_in_range_are_not_there() {
    let series = [
        labelled(&[("h", "a")], integers(&[(10, 1)])),
        labelled(&[("h", "b")], Samples::default()),
    ];
    let (head, _) = answer(&series, &all(Fold::Sum, Gap::Linear)).remove(0);
    assert_eq!(head.labels, [("h", "a")].into_iter().collect());
    assert!(head.varying.is_empty());
    let (head, _) = answer(
        &series,
        &aggregate(Fold::Sum, Gap::Linear, Grouping::All, minutes(Fold::Sum, Fill::Nan, hour())),
    )
    .remove(0);
    assert!(head.varying.is_empty());
    assert!(answer(&series[1..], &all(Fold::Sum, Gap::Linear)).is_empty());
}
