//! OpenTSDB's numeric rules and its data model, paragraph by paragraph, through the real binary.
//!
//! Names of tests begin with the paragraph they are about: 2.1 names, 2.2 times and values, 2.3
//! duplicates, 2.4 aggregators, 2.5 merging, 2.6 groups and tags, 2.7 windows, 2.8 downsampling,
//! 2.9 rates. Expected numbers were worked out by hand.

use crate::opentsdb::{H, Tsd};
use serde_json::{Value, json};

/// Points with their values as JSON.
macro_rules! points {
    ($($at:expr => $value:expr),* $(,)?) => { &[$(($at, json!($value))),*] };
}

#[test]
fn p2_1_names_are_letters_digits_and_four_marks() {
    let tsd = Tsd::start();
    let put = |metric: &str, tag: &str| tsd.telnet(&[&format!("put {metric} {H} 1 {tag}")]);
    for metric in ["a.b-c_d/e", "0", "Straße", "温度", "é"] {
        assert_eq!(put(metric, "h=a"), "", "{metric}");
    }
    for metric in ["a:b", "a;b", "a(b)", "a\"b", "a#b", "a@b", "a+b", "a*b"] {
        assert!(put(metric, "h=a").contains("illegal character"), "{metric}");
        assert!(put("m", &format!("h={metric}")).contains("illegal character"), "{metric}");
        assert!(put("m", &format!("{metric}=a")).contains("illegal character"), "{metric}");
    }
    // Case matters.
    tsd.series("Case", "h=a", &[(0, 1)]);
    tsd.series("case", "h=a", &[(0, 2)]);
    tsd.expect("sum:Case", 0, 9, points! {0 => 1});
    // Eight tags are OpenTSDB's limit, not ours; a name may be long.
    let nine: Vec<String> = (0..9).map(|n| format!("k{n}=v")).collect();
    tsd.series("nine", &nine.join(" "), &[(0, 1)]);
    assert_eq!(tsd.ask("sum:nine", 0, 9)[0]["tags"].as_object().unwrap().len(), 9);
    let long = "x".repeat(1000);
    tsd.series(&long, "h=a", &[(0, 1)]);
    tsd.expect(&format!("sum:{long}"), 0, 9, points! {0 => 1});
}

#[test]
fn p2_2_times_are_seconds_or_milliseconds_and_values_keep_their_kind() {
    let tsd = Tsd::start();
    let put = |time: &str, value: &str| tsd.telnet(&[&format!("put t {time} {value} h=a")]);
    assert_eq!(put("1700002800123", "1"), "");
    assert_eq!(put("1700002801.5", "2"), "");
    assert_eq!(put("1700002802.125", "3"), "");
    let times: Vec<i64> = tsd.server.samples("sum:t").iter().map(|(ms, _)| *ms).collect();
    assert_eq!(times, [17_000_028_015, 1_700_002_800_123, 1_700_002_802_125]);
    let values = [
        ("7", json!(7)),
        ("+7", json!(7)),
        ("-0", json!(0)),
        ("7.0", json!(7.0)),
        ("7e0", json!(7.0)),
        ("-0.0", json!(-0.0)),
        ("0.1", json!(0.1)),
        ("1e7", json!(1e7)),
        ("123456789.125", json!(123_456_789.125)),
        ("1e-5", json!(1e-5)),
        ("9007199254740993", json!(9_007_199_254_740_993i64)),
    ];
    for (number, (text, _)) in values.iter().enumerate() {
        tsd.series(&format!("v{number}"), "h=a", &[(0, text)]);
    }
    for (number, (text, value)) in values.iter().enumerate() {
        let answer = tsd.ask(&format!("sum:v{number}"), 0, 9);
        assert_eq!(answer[0]["dps"][H.to_string()], *value, "{text}");
    }
    // Java's notation: clients compare texts.
    for (number, text) in [(7, "1.0E7"), (8, "1.23456789125E8"), (9, "1.0E-5"), (3, "7.0")] {
        let body = tsd.get("/api/query", &[("start", "1"), ("m", &format!("sum:v{number}"))]);
        assert!(body.text().contains(&format!("\"{H}\":{text}}}")), "{}", body.text());
    }
}

#[test]
fn p2_3_the_newest_write_of_an_instant_counts() {
    let tsd = Tsd::start();
    for (metric, first, second, seen) in
        [("d1", "1", "2", json!(2)), ("d2", "1", "2.5", json!(2.5)), ("d3", "2.5", "1", json!(1))]
    {
        tsd.series(metric, "h=a", &[(0, first)]);
        tsd.series(metric, "h=a", &[(0, second)]);
        tsd.expect(&format!("sum:{metric}"), 0, 9, &[(0, seen)]);
    }
    // Seconds and milliseconds of one instant are one time.
    tsd.series("d4", "h=a", &[(0, 1)]);
    assert_eq!(tsd.telnet(&[&format!("put d4 {H}000 2 h=a")]), "");
    tsd.expect("sum:d4", 0, 9, points! {0 => 2});
}

#[test]
fn p2_4_aggregators_over_integers_and_doubles() {
    let tsd = Tsd::start();
    for (number, value) in [3, 8, 1, 10, 4].iter().enumerate() {
        tsd.series("i", &format!("h={number}"), &[(0, value)]);
        tsd.series("f", &format!("h={number}"), &[(0, format!("{value}.5"))]);
    }
    for (name, integer, double) in [
        ("sum", json!(26), json!(28.5)),
        ("zimsum", json!(26), json!(28.5)),
        ("pfsum", json!(26), json!(28.5)),
        ("min", json!(1), json!(1.5)),
        ("mimmin", json!(1), json!(1.5)),
        ("max", json!(10), json!(10.5)),
        ("mimmax", json!(10), json!(10.5)),
        ("avg", json!(5), json!(5.7)),
        ("median", json!(4), json!(4.5)),
        ("mult", json!(960), json!(2108.53125)),
        ("dev", json!(3), json!(3.310_589_071_449_368)),
        ("diff", json!(1), json!(1.0)),
        ("count", json!(5), json!(5.0)),
        ("first", json!(3), json!(3.5)),
        ("last", json!(4), json!(4.5)),
        ("squareSum", json!(190), json!(217.25)),
        ("p50", json!(4), json!(4.5)),
        ("p75", json!(9), json!(9.5)),
        ("p90", json!(10), json!(10.5)),
        ("p95", json!(10), json!(10.5)),
        ("p99", json!(10), json!(10.5)),
        ("p999", json!(10), json!(10.5)),
        // Round half to even at n*p, and 1+(n-1)p, over integers; doubles know one rule only.
        ("ep50r3", json!(3), json!(4.5)),
        ("ep75r3", json!(8), json!(9.5)),
        ("ep90r3", json!(8), json!(10.5)),
        ("ep95r3", json!(10), json!(10.5)),
        ("ep99r3", json!(10), json!(10.5)),
        ("ep999r3", json!(10), json!(10.5)),
        ("ep50r7", json!(4), json!(4.5)),
        ("ep75r7", json!(8), json!(9.5)),
        ("ep90r7", json!(9), json!(10.5)),
        ("ep95r7", json!(9), json!(10.5)),
        ("ep99r7", json!(9), json!(10.5)),
        ("ep999r7", json!(9), json!(10.5)),
    ] {
        tsd.expect(&format!("{name}:i"), 0, 9, &[(0, integer)]);
        tsd.expect(&format!("{name}:f"), 0, 9, &[(0, double)]);
    }
    assert_eq!(tsd.dps("none:i", 0, 9).len(), 5);
    // Sums wrap around at 64 bits; averages cut toward zero.
    tsd.series("w", "h=a", &[(0, i64::MAX)]);
    tsd.series("w", "h=b", &[(0, 1)]);
    tsd.expect("sum:w", 0, 9, points! {0 => i64::MIN});
    tsd.series("n", "h=a", &[(0, -3)]);
    tsd.series("n", "h=b", &[(0, -4)]);
    tsd.expect("avg:n", 0, 9, points! {0 => -3});
    tsd.series("alone", "h=a", &[(0, 5)]);
    tsd.expect("dev:alone", 0, 9, points! {0 => 0});
    tsd.expect("diff:alone", 0, 9, points! {0 => 0});
}

#[test]
fn p2_5_series_meet_at_the_union_of_their_times() {
    let tsd = Tsd::start();
    tsd.series("x", "h=a", &[(0, 0), (30, 30)]);
    tsd.series("x", "h=b", &[(10, 100), (20, 100)]);
    // A series takes part from its first to its last point, nowhere else.
    tsd.expect("sum:x", 0, 60, points! {0 => 0, 10 => 110, 20 => 120, 30 => 30});
    tsd.expect("count:x", 0, 60, points! {0 => 1, 10 => 2, 20 => 2, 30 => 1});
    tsd.expect("zimsum:x", 0, 60, points! {0 => 0, 10 => 100, 20 => 100, 30 => 30});
    tsd.expect("pfsum:x", 0, 60, points! {0 => 0, 10 => 100, 20 => 100, 30 => 30});
    tsd.expect("mimmin:x", 0, 60, points! {0 => 0, 10 => 100, 20 => 100, 30 => 30});
    // One float among current and next values makes the point a double.
    tsd.series("y", "h=a", &[(0, "1"), (10, "2"), (20, "3.5"), (30, "4")]);
    tsd.expect("none:y", 0, 60, points! {0 => 1, 10 => 2.0, 20 => 3.5, 30 => 4});
    tsd.series("z", "h=a", &[(0, "1"), (20, "2")]);
    tsd.series("z", "h=b", &[(10, "1.5")]);
    tsd.expect("sum:z", 0, 60, points! {0 => 1.0, 10 => 3.0, 20 => 2});
    // Integers on a line are cut toward zero.
    tsd.series("c", "h=a", &[(0, 0), (30, -10)]);
    tsd.series("c", "h=b", &[(10, 0), (20, 0), (30, 0)]);
    tsd.expect("sum:c", 0, 60, points! {0 => 0, 10 => -3, 20 => -6, 30 => -10});
}

#[test]
fn p2_6_groups_and_their_tags() {
    let tsd = Tsd::start();
    tsd.series("g", "dc=z host=b", &[(0, 1)]);
    tsd.series("g", "dc=a host=a", &[(0, 2)]);
    tsd.series("g", "dc=z host=c rack=1", &[(0, 4)]);
    tsd.series("g", "host=d", &[(0, 8)]);
    let groups = |m: &str| -> Vec<(Value, Value, Value)> {
        let answer = tsd.ask(m, 0, 9);
        let list = answer.as_array().unwrap().iter();
        list.map(|series| {
            let value = series["dps"][H.to_string()].clone();
            (series["tags"].clone(), series["aggregateTags"].clone(), value)
        })
        .collect()
    };
    // In the order in which values were first written; who lacks the key is dropped.
    let expected = [
        (json!({"dc": "z", "rack": "1"}), json!(["host"]), json!(5)),
        (json!({"dc": "a", "host": "a"}), json!([]), json!(2)),
    ];
    assert_eq!(groups("sum:g{dc=*}"), expected);
    // A key that only some have, with one value, still counts as common.
    assert_eq!(groups("sum:g"), [(json!({"rack": "1"}), json!(["dc", "host"]), json!(15))]);
    assert_eq!(groups("sum:g{}{dc=*}")[0].2, json!(7));
    assert_eq!(groups("none:g").len(), 4);
}

#[test]
fn p2_7_whole_hours_are_looked_at_and_cut_at_the_end() {
    let tsd = Tsd::start();
    tsd.series("e", "h=a", &[(-60, 0), (600, 660), (3660, 0)]);
    tsd.series("e", "h=b", &[(0, 1), (300, 1), (900, 1), (3500, 1)]);
    // Both edges are on lines to points outside of the query, as far as its hours go.
    tsd.expect("sum:e", 300, 900, points! {300 => 1, 600 => 661, 900 => 1});
    // Times in milliseconds; both ends belong to the query.
    let body = json!({"start": (H + 300) * 1000, "end": (H + 900) * 1000, "queries":
        [{"aggregator": "count", "metric": "e", "filters":
            [{"type": "literal_or", "tagk": "h", "filter": "b", "groupBy": false}]}]});
    let (_, answer) = tsd.json("POST", "/api/query", &body);
    assert_eq!(answer[0]["dps"].as_object().unwrap().len(), 2);
    // The first rate is there when its hour has an earlier point.
    tsd.expect("sum:rate:e{h=b}", 300, 600, points! {300 => 0.0});
    tsd.expect("sum:rate:e{h=a}", 600, 600, &[]);
    // A series with points in the hours but none in the query is an empty answer.
    assert_eq!(tsd.dps("none:e{h=b}", 1000, 1100), [serde_json::Map::new()]);
    assert_eq!(tsd.ask("none:e{h=b}", 7200, 7300), json!([]));
}

#[test]
fn p2_8_downsampling() {
    let tsd = Tsd::start();
    tsd.series("p", "h=a", &[(-5, 100), (0, 1), (59, 2), (60, 3), (185, 4)]);
    tsd.expect("sum:1m-sum:p", 0, 300, points! {0 => 3.0, 60 => 3.0, 180 => 4.0});
    tsd.expect("sum:1m-first:p", 0, 300, points! {0 => 1.0, 60 => 3.0, 180 => 4.0});
    tsd.expect("sum:1m-last:p", 0, 300, points! {0 => 2.0, 60 => 3.0, 180 => 4.0});
    tsd.expect("sum:1m-diff:p", 0, 300, points! {0 => 1.0, 60 => 0.0, 180 => 0.0});
    tsd.expect("sum:90s-count:p", 0, 300, points! {0 => 3.0, 180 => 1.0});
    tsd.expect("sum:1000ms-max:p", 0, 100, points! {0 => 1.0, 59 => 2.0, 60 => 3.0});
    tsd.expect("sum:1m-sum-zero:p", 60, 200, points! {60 => 3.0, 120 => 0.0, 180 => 4.0});
    let nan = points! {60 => 3.0, 120 => "NaN", 180 => 4.0};
    tsd.expect("sum:1m-sum-nan:p", 60, 200, nan);
    let null = points! {60 => 3.0, 120 => Value::Null, 180 => 4.0};
    tsd.expect("sum:1m-sum-null:p", 60, 200, null);
    // Months of thirty days and years of 365, counted from 1970.
    let (month, year) = (1_697_760_000 - H, 1_671_408_000 - H);
    tsd.expect("sum:1n-sum:p", month, 300, &[(month, json!(110.0))]);
    tsd.expect("sum:1y-sum:p", year, 300, &[(year, json!(110.0))]);
    // One bucket, stamped at the start, its end left out.
    tsd.expect("sum:0all-sum:p", 0, 60, points! {0 => 3.0});
    tsd.expect("sum:0all-sum:p", 1, 186, points! {1 => 9.0});
    tsd.expect("sum:rate:0all-sum:p", 0, 300, &[]);
    // Buckets of a calendar in a zone with daylight saving: 5 November 2023 had 25 hours.
    let at = |time: &str, value: i64| format!("put dst {time} {value} h=a");
    let lines = [at("1699156800", 1), at("1699243200", 2), at("1699246800", 4)];
    assert_eq!(tsd.telnet(&lines.each_ref().map(String::as_str)), "");
    let body = json!({"start": 1_699_000_000, "end": 1_699_300_000,
        "timezone": "America/New_York", "useCalendar": true, "queries":
        [{"aggregator": "sum", "metric": "dst", "downsample": "1d-sum"}]});
    let (_, answer) = tsd.json("POST", "/api/query", &body);
    assert_eq!(answer[0]["dps"], json!({"1699156800": 3.0, "1699246800": 4.0}));
}

#[test]
fn p2_9_rates() {
    let tsd = Tsd::start();
    tsd.series("r", "h=a", &[(0, 10), (10, 30), (15, 5), (20, 25)]);
    let is = |rate: &str, points: &[(i64, Value)]| {
        tsd.expect(&format!("sum:{rate}:r"), 0, 60, points);
    };
    is("rate", points! {10 => 2.0, 15 => -5.0, 20 => 4.0});
    is("rate{counter,100}", points! {10 => 2.0, 15 => 15.0, 20 => 4.0});
    is("rate{counter,100,10}", points! {10 => 2.0, 15 => 0.0, 20 => 4.0});
    is("rate{counter,100,20}", points! {10 => 2.0, 15 => 15.0, 20 => 4.0});
    is("rate{dropcounter}", points! {10 => 2.0, 20 => 4.0});
    // Milliseconds count, and the result is always a double.
    assert_eq!(
        tsd.telnet(&[&format!("put ms {H}.000 1 h=a")[..], &format!("put ms {H}.500 2 h=a"),]),
        ""
    );
    tsd.expect("sum:rate:ms", 0, 60, points! {0 => 2.0});
    // Several series: the last rate holds, and none before the second point.
    tsd.series("s", "h=a", &[(0, 0), (10, 10), (30, 50)]);
    tsd.series("s", "h=b", &[(5, 0), (20, 30), (40, 70)]);
    let sums = points! {10 => 1.0, 20 => 3.0, 30 => 4.0, 40 => 2.0};
    tsd.expect("sum:rate:s", 0, 60, sums);
    tsd.expect("count:rate:s", 0, 60, points! {10 => 1.0, 20 => 2.0, 30 => 2.0, 40 => 1.0});
}
