//! Values of one instant, and series that come and go.

use super::*;

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
