//! Downsampling: `TestDownsampler`, `TestFillingDownsampler`.

use super::*;

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
