//! Series that are merged: `TestTsdbQueryAggregators`, `TestTsdbQueryQueries`,
//! `TestAggregationIterator`.

use super::*;

/// The data of `BaseTsdbTest`: a series that rises and one that falls, 300 points each, at the same
/// times or in between, of integers or of quarters; and one with points left out.
fn two_series() -> Tsd {
    let tsd = Tsd::start();
    let step = |at: i64| BASE_MS + at * 30_000;
    for (longs, quarters, shift_ms) in [("long", "quarter", 0), ("long.off", "quarter.off", 15_000)]
    {
        put(&tsd, longs, "web01", (1..=300).map(|at| (step(at), at)));
        put(&tsd, longs, "web02", (1..=300).map(|at| (step(at) + shift_ms, 301 - at)));
        put(
            &tsd,
            quarters,
            "web01",
            (1..=300).map(|at| (step(at), decimal(1.0 + at as f64 / 4.0))),
        );
        let fall = |at: i64| (step(at) + shift_ms, decimal(75.25 - at as f64 / 4.0));
        put(&tsd, quarters, "web02", (1..=300).map(fall));
    }
    let third = (0..300).filter(|at| at % 3 != 0).map(|at| (BASE_MS + at * 10_000, at + 1));
    put(&tsd, "gaps", "web01", third);
    let second = (0..300).filter(|at| at % 2 != 0).map(|at| (BASE_MS + at * 10_000, 300 - at));
    put(&tsd, "gaps", "web02", second);
    tsd
}

/// Down by `step` from the first point that both series have, and up again.
fn valley(at: i64, high: f64, low: f64, step: f64) -> f64 {
    let turn = ((high - low) / step) as i64;
    match at <= turn {
        true => high - at as f64 * step,
        false => low + (at - turn - 1) as f64 * step,
    }
}

/// `TestTsdbQueryAggregators`, and of `TestTsdbQueryQueries` what merges series.
#[test]
fn aggregators_over_two_series() {
    let tsd = two_series();
    let end_ms = BASE_MS + 43_200_000;
    let together = |test: &str, m: &str, value: &dyn Fn(i64) -> Value| {
        let wanted = points(BASE_MS + 30_000, 30_000, 300, value);
        check(test, &ask(&tsd, m, &[], BASE_MS, end_ms), &wanted);
    };
    let apart = |test: &str, m: &str, value: &dyn Fn(i64) -> Value| {
        let wanted = points(BASE_MS + 30_000, 15_000, 600, value);
        check(test, &ask(&tsd, m, &[], BASE_MS, end_ms), &wanted);
    };
    // The first point is the rising series' alone, the last one the falling one's.
    let edged = |at: i64, first: Value, last: Value, inner: Value| match at {
        0 => first,
        599 => last,
        _ => inner,
    };
    let odd = |at: i64| at % 2 != 0;

    together("runLongTwoAggSum", "sum:long", &|_| json!(301));
    together("runFloatTwoAggSum", "sum:quarter", &|_| json!(76.25));
    apart("runInterpolationSeconds", "sum:long.off", &|at| {
        edged(at, json!(1), json!(1), json!(if odd(at) { 301 } else { 302 }))
    });

    together("runZimSum", "zimsum:long", &|_| json!(301));
    together("runZimSumFloat", "zimsum:quarter", &|_| json!(76.25));
    let by_turns = |at: i64| json!(if odd(at) { 300 - at / 2 } else { 1 + at / 2 });
    let quarters_by_turns = |at: i64| {
        let half = (at / 2) as f64 / 4.0;
        json!(if odd(at) { 75.0 - half } else { 1.25 + half })
    };
    apart("runZimSumOffset", "zimsum:long.off", &by_turns);
    apart("runZimSumFloatOffset", "zimsum:quarter.off", &quarters_by_turns);
    let gaps: Vec<(i64, Value)> = (0..300)
        .filter_map(|at| {
            let value = match at % 6 {
                0 => return None,
                1 | 5 => 301,
                3 => 300 - at,
                _ => at + 1,
            };
            Some((BASE_MS + at * 10_000, json!(value)))
        })
        .collect();
    let got = ask(&tsd, "zimsum:gaps", &[], BASE_MS, end_ms);
    check("runZimSumWithMissingData", &got, &gaps);

    let lower = |at: i64| json!((at + 1).min(300 - at));
    let lower_quarter = |at: i64| json!((1.25 + at as f64 / 4.0).min(75.0 - at as f64 / 4.0));
    together("runMin", "min:long", &lower);
    together("runMinFloat", "min:quarter", &lower_quarter);
    apart("runMinOffset", "min:long.off", &|at| {
        json!(if at <= 300 { 1 + at / 2 } else { 150 - (at - 301) / 2 })
    });
    apart("runMinFloatOffset", "min:quarter.off", &|at| {
        json!(if at < 296 { 1.25 + at as f64 / 8.0 } else { 38.125 - (at - 296) as f64 / 8.0 })
    });
    together("runMimMin", "mimmin:long", &lower);
    together("runMimMinFloat", "mimmin:quarter", &lower_quarter);
    apart("runMimMinOffset", "mimmin:long.off", &by_turns);
    apart("runMimMinFloatOffset", "mimmin:quarter.off", &quarters_by_turns);

    let upper = |at: i64| json!((at + 1).max(300 - at));
    let upper_quarter = |at: i64| json!((1.25 + at as f64 / 4.0).max(75.0 - at as f64 / 4.0));
    together("runMax", "max:long", &upper);
    together("runMaxFloat", "max:quarter", &upper_quarter);
    apart("runMaxOffset", "max:long.off", &|at| {
        let inner = if at <= 301 { (300 - (at - 1) / 2).max(151) } else { 152 + (at - 302) / 2 };
        edged(at, json!(1), json!(1), json!(inner))
    });
    apart("runMaxFloatOffset", "max:quarter.off", &|at| {
        edged(at, json!(1.25), json!(0.25), json!(valley(at - 1, 75.0, 38.25, 0.125)))
    });
    together("runMimMax", "mimmax:long", &upper);
    together("runMimMaxFloat", "mimmax:quarter", &upper_quarter);
    apart("runMimMaxOffset", "mimmax:long.off", &by_turns);
    apart("runMimMaxFloatOffset", "mimmax:quarter.off", &quarters_by_turns);

    together("runAvg", "avg:long", &|_| json!(150));
    together("runAvgFloat", "avg:quarter", &|_| json!(38.125));
    apart("runAvgOffset", "avg:long.off", &|at| {
        edged(at, json!(1), json!(1), json!(if odd(at) { 150 } else { 151 }))
    });
    apart("runAvgFloatOffset", "avg:quarter.off", &|at| {
        edged(at, json!(1.25), json!(0.25), json!(38.1875))
    });

    together("runDev", "dev:long", &|at| json!(if at < 150 { 149 - at } else { at - 150 }));
    together("runDevFloat", "dev:quarter", &|at| json!(valley(at, 36.875, 0.125, 0.25)));
    apart("runDevOffset", "dev:long.off", &|at| {
        let inner = if at <= 301 { (149 - (at - 1) / 2).max(0) } else { 1 + (at - 302) / 2 };
        edged(at, json!(0), json!(0), json!(inner))
    });
    apart("runDevFloatOffset", "dev:quarter.off", &|at| {
        edged(at, json!(0.0), json!(0.0), json!(valley(at - 1, 36.8125, 0.0625, 0.125)))
    });

    together("runCount", "count:long", &|_| json!(2));
    together("runCountFloat", "count:quarter", &|_| json!(2.0));
    apart("runCountOffset", "count:long.off", &|at| edged(at, json!(1), json!(1), json!(2)));
    apart("runCountFloatOffset", "count:quarter.off", &|at| {
        edged(at, json!(1.0), json!(1.0), json!(2.0))
    });
}

/// `TestTsdbQueryQueries` and `TestTsdbQueryDownsample` over one series.
#[test]
fn one_series_plain_downsampled_and_as_rates() {
    let tsd = two_series();
    // Two points a second, as `storeLongTimeSeriesMs` and `storeFloatTimeSeriesMs` have them.
    put(&tsd, "ms", "web01", (1..=300).map(|at| (BASE_MS + at * 500, at)));
    let quarters = (1..=300).map(|at| (BASE_MS + at * 500, decimal(1.0 + at as f64 / 4.0)));
    put(&tsd, "ms.quarter", "web01", quarters);
    let end_ms = BASE_MS + 43_200_000;
    let run = |test: &str, m: &str, wanted: &[(i64, Value)]| {
        check(test, &ask(&tsd, m, &[], BASE_MS, end_ms), wanted);
    };
    let half = BASE_MS + 30_000;
    run("runLongSingleTS", "sum:long{host=web01}", &points(half, 30_000, 300, |at| at + 1));
    run("runLongSingleTSMs", "sum:ms{host=web01}", &points(BASE_MS + 500, 500, 300, |at| at + 1));
    let quarter = |at: i64| 1.25 + at as f64 / 4.0;
    run("runFloatSingleTS", "sum:quarter{host=web01}", &points(half, 30_000, 300, quarter));
    let m = "sum:ms.quarter{host=web01}";
    run("runFloatSingleTSMs", m, &points(BASE_MS + 500, 500, 300, quarter));
    let rates = |value: f64, start, step| points(start, step, 299, |_| value);
    let m = "sum:rate:long{host=web01}";
    run("runLongSingleTSRate", m, &rates(1.0 / 30.0, BASE_MS + 60_000, 30_000));
    run("runLongSingleTSRateMs", "sum:rate:ms", &rates(2.0, BASE_MS + 1000, 500));
    let m = "sum:rate:quarter{host=web01}";
    run("runFloatSingleTSRate", m, &rates(0.25 / 30.0, BASE_MS + 60_000, 30_000));
    run("runFloatSingleTSRateMs", "sum:rate:ms.quarter", &rates(0.5, BASE_MS + 1000, 500));
    // The two series by themselves.
    for (host, first, step) in [("web01", 1, 1), ("web02", 300, -1)] {
        let m = format!("sum:long{{host={host}}}");
        run("runLongTwoGroup", &m, &points(half, 30_000, 300, |at| first + at * step));
        let m = format!("sum:quarter{{host={host}}}");
        let (first, step) = if step > 0 { (1.25, 0.25) } else { (75.0, -0.25) };
        run("runFloatTwoGroup", &m, &points(half, 30_000, 300, |at| first + at as f64 * step));
    }

    // One point is in the first bucket and one in the last, two in each between.
    let middle = |at: i64, first: f64, last: f64, inner: f64| match at {
        0 => first,
        150 => last,
        _ => inner,
    };
    let average = |at: i64| middle(at, 1.0, 300.0, at as f64 * 2.0 + 0.5);
    let m = "sum:1m-avg:long{host=web01}";
    run("runLongSingleTSDownsample", m, &points(BASE_MS, 60_000, 151, average));
    run("runLongSingleTSDownsampleMs", "sum:1s-avg:ms", &points(BASE_MS, 1000, 151, average));
    let average = |at: i64| middle(at, 1.25, 76.0, (at as f64 + 2.25) / 2.0);
    let m = "sum:1m-avg:quarter{host=web01}";
    run("runFloatSingleTSDownsample", m, &points(BASE_MS, 60_000, 151, average));
    let m = "sum:1s-avg:ms.quarter";
    run("runFloatSingleTSDownsampleMs", m, &points(BASE_MS, 1000, 151, average));
    let count = |at| middle(at, 1.0, 1.0, 2.0);
    let m = "sum:1m-count:long{host=web01}";
    run("runLongSingleTSDownsampleCount", m, &points(BASE_MS, 60_000, 151, count));

    let ends = |at: i64, end: f64, inner: f64| if at == 0 || at == 149 { end } else { inner };
    let slow = |end: f64, inner: f64| {
        points(BASE_MS + 60_000, 60_000, 150, |at| ends(at, end / 60.0, inner / 60.0))
    };
    let fast = |end: f64, inner: f64| points(BASE_MS + 1000, 1000, 150, |at| ends(at, end, inner));
    let m = "sum:rate:1m-avg:long{host=web01}";
    run("runLongSingleTSDownsampleAndRate", m, &slow(1.5, 2.0));
    run("runLongSingleTSDownsampleAndRateMs", "sum:rate:1s-avg:ms", &fast(1.5, 2.0));
    let m = "sum:rate:1m-avg:quarter{host=web01}";
    run("runFloatSingleTSDownsampleAndRate", m, &slow(0.375, 0.5));
    let m = "sum:rate:1s-avg:ms.quarter";
    run("runFloatSingleTSDownsampleAndRateMs", m, &fast(0.375, 0.5));
    let steps = points(BASE_MS + 60_000, 60_000, 150, |at| match at {
        0 => 1.0 / 60.0,
        149 => -1.0 / 60.0,
        _ => 0.0,
    });
    let m = "sum:rate:1m-count:quarter{host=web01}";
    run("runFloatSingleTSDownsampleAndRateAndCount", m, &steps);

    let m = "sum:0all-sum:long{host=web01}";
    run("runLongSingleTSDownsampleAll", m, &[(BASE_MS, json!(45_150.0))]);
    let (from, to) = (BASE_MS + 100_000, BASE_MS + 200_000);
    let got = ask(&tsd, m, &[], from, to);
    check("runLongSingleTSDownsampleAllSubSet", &got, &[(from, json!(15.0))]);
}

/// `TestTsdbQueryQueries`: series that meet at different times, by milliseconds.
#[test]
fn interpolation_by_milliseconds() {
    let tsd = Tsd::start();
    put(&tsd, "ms", "web01", (1..=300).map(|at| (BASE_MS + at * 500, at)));
    put(&tsd, "ms", "web02", (1..=300).map(|at| (BASE_MS + 250 + at * 500, 301 - at)));
    let got = ask(&tsd, "sum:ms", &[], BASE_MS, BASE_MS + 3_600_000);
    let wanted = points(BASE_MS + 500, 250, 600, |at| match at {
        0 | 599 => 1,
        at if at % 2 != 0 => 301,
        _ => 302,
    });
    check("runInterpolationMs", &got, &wanted);

    let time_ms = |at: i64| BASE_MS + at.min(100) * 500 + (at - 100).max(0) * 5000;
    put(&tsd, "sparse", "web01", (1..=120).map(|at| (time_ms(at), at)));
    put(&tsd, "sparse", "web02", (1..=300).map(|at| (BASE_MS + 250 + at * 500, 301 - at)));
    let got = ask(&tsd, "sum:1s-sum:sparse", &[], BASE_MS, BASE_MS + 3_600_000);
    let wanted = points(BASE_MS, 1000, 151, |at| match at {
        0 => 301.0,
        1..50 => 602.0,
        _ => 701.0 + (at - 50) as f64 * 0.2 - at as f64 * 4.0,
    });
    check("runInterpolationMsDownsampled", &got, &wanted);
}
