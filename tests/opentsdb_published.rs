//! What OpenTSDB's own unit tests expect (its repository, `test/core`, revision 0f681b754), as
//! facts: inputs and results written anew, each under the name of the test that it was taken from.
//! Where those tests look at parts by themselves, the same is asked of the whole server here.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a failing test"
)]

mod harness;
mod opentsdb;

use opentsdb::{Tsd, same_value};
use serde_json::{Value, json};

/// 2013-01-01 00:00:00 UTC, from which most of the tests count.
const BASE: i64 = 1_356_998_400;
const BASE_MS: i64 = BASE * 1000;

/// Puts a series of points in milliseconds.
fn put<V: ToString>(tsd: &Tsd, metric: &str, host: &str, points: impl Iterator<Item = (i64, V)>) {
    let lines: String = points
        .map(|(time_ms, value)| {
            format!("put {metric} {time_ms} {} host={host}\n", value.to_string())
        })
        .collect();
    assert_eq!(tsd.server.talk(lines.as_bytes()), "");
}

/// The points that answer `m` between two times, in milliseconds; there must be one series.
fn ask(tsd: &Tsd, m: &str, more: &[(&str, &str)], from_ms: i64, to_ms: i64) -> Vec<(i64, Value)> {
    let (start, end) = (format!("{from_ms}ms"), format!("{to_ms}ms"));
    let mut params = vec![("start", &*start), ("end", &*end), ("m", m), ("ms", ""), ("arrays", "")];
    params.extend(more);
    let response = tsd.get("/api/query", &params);
    assert_eq!(response.status, 200, "{m}: {}", response.text());
    let answer: Value = serde_json::from_slice(&response.body).unwrap();
    let list = answer.as_array().unwrap();
    assert_eq!(list.len(), 1, "{m}: {answer}");
    let pair = |pair: &Value| (pair[0].as_i64().unwrap(), pair[1].clone());
    list[0]["dps"].as_array().unwrap().iter().map(pair).collect()
}

/// A number with a point, so that it is a float.
fn decimal(value: f64) -> String {
    format!("{value:.2}")
}

fn check(test: &str, got: &[(i64, Value)], wanted: &[(i64, Value)]) {
    let differs = |((at, value), (wanted_at, wanted)): (&(i64, Value), &(i64, Value))| {
        at != wanted_at || !same_value(value, wanted)
    };
    let first = got.iter().zip(wanted).find(|pair| differs(*pair));
    assert!(first.is_none(), "{test}: {first:?}");
    assert_eq!(got.len(), wanted.len(), "{test}");
}

/// Points by their numbers, from a time on, so far apart.
fn points<V: Into<Value>>(
    start_ms: i64,
    step_ms: i64,
    count: i64,
    value: impl Fn(i64) -> V,
) -> Vec<(i64, Value)> {
    (0..count).map(|at| (start_ms + at * step_ms, value(at).into())).collect()
}

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

/// One series' points in seconds from [`BASE`], a question, and what answers it.
type Case<'a> = (&'a str, &'a [(i64, &'a str)], &'a str, &'a [(i64, f64)]);

/// `TestRateSpan`, and of `TestTsdbQueryQueries` what counts.
#[test]
fn rates() {
    let tsd = Tsd::start();
    let cases: &[Case<'_>] = &[
        (
            "testNext_iterateAll",
            &[
                (0, "40.0"),
                (2000, "50"),
                (3600, "40"),
                (3605, "50.0"),
                (7200, "40"),
                (9200, "50.0"),
            ],
            "sum:rate",
            &[
                (2000, 10.0 / 2000.0),
                (3600, -10.0 / 1600.0),
                (3605, 2.0),
                (7200, -10.0 / 3595.0),
                (9200, 10.0 / 2000.0),
            ],
        ),
        (
            "testNext_counter",
            &[
                (0, "40.0"),
                (2000, "50"),
                (3600, "40"),
                (3605, "50.0"),
                (7200, "40"),
                (9200, "50.0"),
            ],
            "sum:rate{counter,70}",
            &[
                (2000, 10.0 / 2000.0),
                (3600, 60.0 / 1600.0),
                (3605, 2.0),
                (7200, 60.0 / 3595.0),
                (9200, 10.0 / 2000.0),
            ],
        ),
        (
            "testCalculateDelta_bigLongValues",
            &[(0, "9223372036854775707"), (100, "9223372036854775787")],
            "sum:rate",
            &[(100, 0.8)],
        ),
        (
            "testNext_counterLongMax",
            &[(30, "9223372036854775752"), (60, "9223372036854775782"), (90, "5")],
            "sum:rate{counter,9223372036854775807,0}",
            &[(60, 1.0), (90, 1.0)],
        ),
        (
            "testNext_counterWithResetValue",
            &[(0, "40"), (1, "50"), (2, "40")],
            "sum:rate{counter,70,1}",
            &[(1, 10.0), (2, 0.0)],
        ),
        (
            "testNext_counterDroResets",
            &[(0, "40"), (1, "50"), (2, "40"), (3, "50")],
            "sum:rate{dropcounter,70,1}",
            &[(1, 10.0), (3, 10.0)],
        ),
        (
            "testNext_counterDroResetsNothingAfter",
            &[(0, "40"), (1, "50"), (2, "40")],
            "sum:rate{dropcounter,70,1}",
            &[(1, 10.0)],
        ),
        ("testNext_noMoreData", &[(0, "40")], "sum:rate", &[]),
        (
            "runRateCounterDefaultNoOp",
            &[(30, "30"), (60, "60"), (90, "90")],
            "sum:rate{counter}",
            &[(60, 1.0), (90, 1.0)],
        ),
        (
            "runRateCounterMaxSet",
            &[(30, "45"), (60, "75"), (90, "5")],
            "sum:rate{counter,100}",
            &[(60, 1.0), (90, 1.0)],
        ),
        (
            "runRateCounterAnomally",
            &[(30, "45"), (60, "75"), (90, "25")],
            "sum:rate{counter,10000,35}",
            &[(60, 1.0), (90, 0.0)],
        ),
        (
            "runRateCounterAnomallyDrop",
            &[(30, "45"), (60, "75"), (90, "25"), (120, "55")],
            "sum:rate{dropcounter,10000,35}",
            &[(60, 1.0), (120, 1.0)],
        ),
    ];
    run_cases(&tsd, cases, &[], 0);
}

fn run_cases(tsd: &Tsd, cases: &[Case<'_>], more: &[(&str, &str)], from: i64) {
    for (test, series, question, wanted) in cases {
        let metric = test.replace(' ', "_");
        put(tsd, &metric, "web01", series.iter().map(|(at, value)| (BASE_MS + at * 1000, value)));
        let m = format!("{question}:{metric}");
        let last = series.last().map_or(0, |(at, _)| *at);
        let got = ask(tsd, &m, more, BASE_MS + from * 1000, BASE_MS + last * 1000);
        let wanted: Vec<(i64, Value)> =
            wanted.iter().map(|&(at, value)| (BASE_MS + at * 1000, json!(value))).collect();
        check(test, &got, &wanted);
    }
}

const POWERS: &[(i64, &str)] = &[
    (0, "1.0"),
    (5, "2.0"),
    (10, "4.0"),
    (15, "8.0"),
    (20, "16.0"),
    (25, "32.0"),
    (30, "64.0"),
    (35, "128.0"),
    (40, "256.0"),
    (45, "512.0"),
    (50, "1024.0"),
];

/// `TestDownsampler` with fixed intervals.
#[test]
fn buckets_of_fixed_length() {
    let tsd = Tsd::start();
    let six: &[(i64, &str)] = &[(5, "1"), (15, "2"), (25, "4"), (35, "8"), (45, "16"), (55, "32")];
    let mixed: &[(i64, &str)] =
        &[(0, "40"), (2000, "50"), (3600, "40"), (3605, "50"), (7200, "40"), (9200, "50")];
    let cases: &[Case<'_>] = &[
        // Buckets of 1000 s do not begin with the hour.
        (
            "testDownsampler",
            mixed,
            "sum:1000s-avg",
            &[(-400, 40.0), (1600, 50.0), (3600, 45.0), (6600, 40.0), (8600, 50.0)],
        ),
        (
            "testDownsampler_10seconds",
            POWERS,
            "sum:10s-sum",
            &[(0, 3.0), (10, 12.0), (20, 48.0), (30, 192.0), (40, 768.0), (50, 1024.0)],
        ),
        (
            "testDownsampler_15seconds",
            six,
            "sum:15s-sum",
            &[(0, 1.0), (15, 6.0), (30, 8.0), (45, 48.0)],
        ),
        (
            "testDownsampler_1day",
            &[(0, "1"), (43_200, "2"), (86_400, "4"), (129_600, "8")],
            "sum:1d-sum",
            &[(0, 3.0), (86_400, 12.0)],
        ),
    ];
    run_cases(&tsd, cases, &[], -1000);
    // One bucket for all of the question, whose end is not in it.
    put(&tsd, "all", "web01", six.iter().map(|(at, value)| (BASE_MS + at * 1000, value)));
    let all = |from: i64, to: i64| {
        ask(&tsd, "sum:0all-sum:all", &[], BASE_MS + from * 1000, BASE_MS + to * 1000)
    };
    check("testDownsampler_allFullRange", &all(0, 99), &[(BASE_MS, json!(63.0))]);
    let some = [(BASE_MS + 15_000, json!(14.0))];
    check("testDownsampler_allFilterOnQuery", &all(15, 45), &some);
    check("testDownsampler_allFilterOnQueryOutOfRangeEarly", &all(65, 75), &[]);
}

/// `TestDownsampler` with calendars: points and results in milliseconds.
#[test]
fn buckets_of_calendars() {
    let tsd = Tsd::start();
    let (day_ms, hour_ms) = (86_400_000, 3_600_000);
    let december = 1_450_137_600_000;
    let hours: &[i64] = &[0, 1_800_000, 3_599_000, 3_600_000, 5_400_000, 7_199_000];
    let days: &[i64] = &[0, 86_399_000, 126_001_000, 172_799_000, 172_800_000, 242_999_000];
    let months: &[i64] = &[
        1_448_928_000_000,
        1_451_559_600_000,
        1_451_606_400_000,
        1_454_284_800_000,
        1_456_704_000_000,
        1_456_772_400_000,
    ];
    let six = |metric: &str, origin: i64, times: &[i64]| {
        put(&tsd, metric, "web01", times.iter().zip(1..).map(|(at, value)| (origin + at, value)));
    };
    six("hours", BASE_MS, hours);
    six("days", december, days);
    six("months", 0, months);
    let (tv, kabul) = ("Pacific/Funafuti", "Asia/Kabul");
    type Calendar<'a> = (&'a str, &'a str, &'a str, Vec<(i64, f64)>);
    let cases: &[Calendar<'_>] = &[
        (
            "testDownsampler_calendarHour",
            "sum:1hc-sum:hours",
            tv,
            vec![(BASE_MS, 6.0), (BASE_MS + hour_ms, 15.0)],
        ),
        (
            "testDownsampler_calendarHour, half an hour off",
            "sum:1hc-sum:hours",
            kabul,
            vec![
                (1_356_996_600_000, 1.0),
                (1_356_996_600_000 + hour_ms, 9.0),
                (1_356_996_600_000 + 2 * hour_ms, 11.0),
            ],
        ),
        (
            "testDownsampler_calendarHour, four hours",
            "sum:4hc-sum:hours",
            kabul,
            vec![(1_356_996_600_000, 21.0)],
        ),
        (
            "testDownsampler_calendarDay",
            "sum:1dc-sum:days",
            "UTC",
            vec![(december, 3.0), (december + day_ms, 7.0), (december + 2 * day_ms, 11.0)],
        ),
        (
            "testDownsampler_calendarDay, twelve hours off",
            "sum:1dc-sum:days",
            tv,
            vec![
                (1_450_094_400_000, 1.0),
                (1_450_094_400_000 + day_ms, 5.0),
                (1_450_094_400_000 + 2 * day_ms, 9.0),
                (1_450_094_400_000 + 3 * day_ms, 6.0),
            ],
        ),
        (
            "testDownsampler_calendarMonth",
            "sum:1nc-sum:months",
            "UTC",
            vec![(1_448_928_000_000, 3.0), (1_451_606_400_000, 3.0), (1_454_284_800_000, 15.0)],
        ),
        (
            "testDownsampler_calendarMonth, twelve hours off",
            "sum:1nc-sum:months",
            tv,
            vec![
                (1_448_884_800_000, 3.0),
                (1_451_563_200_000, 3.0),
                (1_454_241_600_000, 9.0),
                (1_456_747_200_000, 6.0),
            ],
        ),
        (
            "testDownsampler_calendarMonth, half an hour off",
            "sum:1nc-sum:months",
            kabul,
            vec![(1_448_911_800_000, 3.0), (1_451_590_200_000, 3.0), (1_454_268_600_000, 15.0)],
        ),
        (
            "testDownsampler_calendarMonth, three months",
            "sum:3nc-sum:months",
            tv,
            vec![(1_443_614_400_000, 3.0), (1_451_563_200_000, 18.0)],
        ),
    ];
    for (test, m, zone, wanted) in cases {
        let (first, last) = (wanted[0].0, wanted[wanted.len() - 1].0);
        let got = ask(&tsd, m, &[("tz", zone)], first, last + 40 * day_ms);
        let wanted: Vec<(i64, Value)> =
            wanted.iter().map(|(at, value)| (*at, json!(value))).collect();
        check(test, &got, &wanted);
    }
    let times = [1_357_016_400_000, 1_357_059_600_000, 1_357_102_800_000, 1_357_146_000_000];
    put(&tsd, "est", "web01", times.into_iter().zip([1, 2, 4, 8]));
    let got = ask(&tsd, "sum:1dc-sum:est", &[("tz", "EST")], times[0], times[3]);
    let wanted = [(times[0], json!(3.0)), (times[0] + day_ms, json!(12.0))];
    check("testDownsampler_1day_timezone", &got, &wanted);
}

/// `TestFillingDownsampler`.
#[test]
fn buckets_without_points() {
    let tsd = Tsd::start();
    let origin = BASE_MS + 500;
    let ones = [4, 5, 7, 12, 15, 24, 25, 26, 27].map(|at| (origin + at * 25, "1.0"));
    put(&tsd, "gaps", "web01", ones.into_iter());
    let run = |test: &str, fill: &str, empty: Value| {
        let m = format!("sum:100ms-sum-{fill}:gaps");
        let got = ask(&tsd, &m, &[], origin, origin + 800);
        let wanted = points(origin, 100, 9, |at| match at {
            1 => json!(3.0),
            3 => json!(2.0),
            6 => json!(4.0),
            _ => empty.clone(),
        });
        check(test, &got, &wanted);
    };
    run("testNaNMissingInterval", "nan", json!("NaN"));
    run("testZeroMissingInterval", "zero", json!(0.0));
    let falling = (0..12).map(|at| (BASE_MS + at * 25, decimal(12.0 - at as f64)));
    put(&tsd, "whole", "web01", falling);
    let got = ask(&tsd, "sum:100ms-sum-nan:whole", &[], BASE_MS, BASE_MS + 200);
    let wanted = [42.0, 26.0, 10.0];
    check("testWithoutMissingIntervals", &got, &points(BASE_MS, 100, 3, |at| wanted[at as usize]));
}

/// `TestAggregators`: values of one instant, one series each.
#[test]
fn values_of_one_instant() {
    let tsd = Tsd::start();
    let store = |metric: &str, values: &[String]| {
        let line =
            |(at, value): (usize, &String)| format!("put {metric} {BASE} {value} host=h{at}\n");
        let lines: String = values.iter().enumerate().map(line).collect();
        assert_eq!(tsd.server.talk(lines.as_bytes()), "");
    };
    let texts = |values: &[&str]| values.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    store("thousand", &(1..=1000).map(|value| value.to_string()).collect::<Vec<_>>());
    store("ten", &(0..10).map(|value| value.to_string()).collect::<Vec<_>>());
    store("halves", &(0..10).map(|value| format!("{value}.5")).collect::<Vec<_>>());
    store("five", &texts(&["5", "2", "-1", "400", "3"]));
    store("six", &texts(&["5", "2", "-1", "400", "3", "-42"]));
    store("one", &texts(&["42"]));
    store("five.5", &texts(&["5.1", "2.434", "-1.99", "400.69487", "3.15168"]));
    store("six.5", &texts(&["5.1", "2.434", "-1.99", "400.69487", "3.15168", "-42.0"]));
    store("one.5", &texts(&["42.5"]));
    store("same", &texts(&["3", "3", "3"]));
    store("two", &texts(&["1", "2"]));
    let check_one = |test: &str, m: &str, wanted: Value| {
        check(test, &ask(&tsd, m, &[], BASE_MS, BASE_MS + 1000), &[(BASE_MS, wanted)]);
    };
    for rule in ["p", "ep50r3", "ep50r7"] {
        for (digits, wanted) in
            [("50", 500), ("75", 750), ("90", 900), ("95", 950), ("99", 990), ("999", 999)]
        {
            let name = match rule {
                "p" => format!("p{digits}"),
                rule => rule.replace("50", digits),
            };
            check_one("testPercentiles", &format!("{name}:thousand"), json!(wanted));
        }
    }
    check_one("testFirst", "first:ten", json!(0));
    check_one("testFirst", "first:halves", json!(0.5));
    check_one("testLast", "last:ten", json!(9));
    check_one("testLast", "last:halves", json!(9.5));
    check_one("testMedian", "median:five", json!(3));
    check_one("testMedian", "median:six", json!(3));
    check_one("testMedian", "median:one", json!(42));
    check_one("testMedian", "median:five.5", json!(3.15168));
    check_one("testMedian", "median:six.5", json!(3.15168));
    check_one("testMedian", "median:one.5", json!(42.5));
    check_one("testStdDevNoDeviation", "dev:same", json!(0));
    // Half of a unit, of which integers keep nothing.
    check_one("testStdDevFewDataInputs", "dev:two", json!(0));
    check_one("testSquareSumFewDataInputs", "squareSum:two", json!(5));
}

/// `TestAggregationIterator`.
#[test]
fn series_that_come_and_go() {
    let tsd = Tsd::start();
    let at = |second: i64| BASE_MS + second * 1000;
    put(&tsd, "two", "web01", [(at(0), 40), (at(10), 50), (at(30), 70)].into_iter());
    put(&tsd, "two", "web02", [(at(10), 37), (at(20), 48)].into_iter());
    let got = ask(&tsd, "sum:two", &[], BASE_MS, at(60));
    let wanted = [(0, 40), (10, 50 + 37), (20, 60 + 48), (30, 70)];
    check("testAggregate_doubleSpans", &got, &wanted.map(|(s, value)| (at(s), json!(value))));
    put(&tsd, "previous", "web01", [(at(0), 40), (at(30), 70)].into_iter());
    put(&tsd, "previous", "web02", [(at(10), 37), (at(20), 48)].into_iter());
    let got = ask(&tsd, "pfsum:previous", &[], BASE_MS, at(60));
    let wanted = [(0, 40), (10, 37 + 40), (20, 48 + 40), (30, 70)];
    check("pfsum", &got, &wanted.map(|(s, value)| (at(s), json!(value))));
    for host in 0..7 {
        let seconds = [0, 7, 10, 15, 20, 25, 30, 35, 40, 45, 50];
        put(&tsd, "seven", &format!("web0{host}"), seconds.into_iter().map(|s| (at(s), "1.0")));
    }
    let got = ask(&tsd, "sum:10s-avg:seven", &[], BASE_MS, at(60));
    let wanted = points(BASE_MS, 10_000, 6, |_| 7.0);
    check("testAggregate_manySpansWithDownsampling", &got, &wanted);
}
