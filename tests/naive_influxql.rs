//! InfluxQL over awkward points: at uneven times, with gaps, fields that some points lack, floats
//! beside integers, and values that are equal. What is expected is reckoned from the definitions in
//! InfluxDB's documentation, point by point, by nothing that the server has.

use crate::harness::{Scratch, Server, influx};
use serde_json::Value as Json;

const SECOND: i64 = 1_000_000_000;
/// 2023-11-14T22:13:00Z, where a minute begins.
const T: i64 = 1_699_999_980 * SECOND;

/// A time and a value.
type Point = (i64, f64);

/// A row of an answer: its time, and its value if it has one.
type Row = (i64, Option<f64>);

/// Seconds behind [`T`], the float and the integer of each point.
fn points() -> Vec<(i64, Option<f64>, Option<i64>)> {
    let there = (0..90).filter(|at| !(20..45).contains(at) && at % 11 != 5);
    let point = |at: i64| {
        let float = ((at * 29) % 17 - 6) as f64 / 4.0;
        let integer = (at * 31) % 13 - 5;
        (at * 7 + at % 3, (at % 5 != 2).then_some(float), (at % 4 != 1).then_some(integer))
    };
    there.map(point).collect()
}

fn floats() -> Vec<Point> {
    points().iter().filter_map(|(at, float, _)| Some((T + at * SECOND, (*float)?))).collect()
}

fn integers() -> Vec<Point> {
    let points = points();
    points.iter().filter_map(|(at, _, whole)| Some((T + at * SECOND, (*whole)? as f64))).collect()
}

/// One row of all points, which has no time of its own.
fn one(value: f64) -> Vec<Row> {
    vec![(0, Some(value))]
}

fn chosen(point: Option<&Point>) -> Vec<Row> {
    point.iter().map(|(time, value)| (*time, Some(*value))).collect()
}

fn values(points: &[Point]) -> Vec<f64> {
    points.iter().map(|(_, value)| *value).collect()
}

fn sorted(points: &[Point]) -> Vec<f64> {
    let mut values = values(points);
    values.sort_by(f64::total_cmp);
    values
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn median(points: &[Point]) -> f64 {
    let sorted = sorted(points);
    match sorted.len() % 2 {
        0 => mean(&sorted[sorted.len() / 2 - 1..=sorted.len() / 2]),
        _ => sorted[sorted.len() / 2],
    }
}

fn deviation(points: &[Point]) -> f64 {
    let values = values(points);
    let middle = mean(&values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

fn percentile(points: &[Point], percent: f64) -> f64 {
    let sorted = sorted(points);
    sorted[(sorted.len() as f64 * percent / 100.0 + 0.5).floor() as usize - 1]
}

/// How often the points have a value.
fn times_of(points: &[Point], of: f64) -> usize {
    points.iter().filter(|(_, value)| *value == of).count()
}

fn integral(points: &[Point], unit: i64) -> f64 {
    let area = |pair: &[Point]| {
        (pair[0].1 + pair[1].1) / 2.0 * (pair[1].0 - pair[0].0) as f64 / unit as f64
    };
    points.windows(2).map(area).sum()
}

/// A row for each two successive points, at the second one.
fn pairs(points: &[Point], of: impl Fn(Point, Point) -> f64) -> Vec<Row> {
    points.windows(2).map(|pair| (pair[1].0, Some(of(pair[0], pair[1])))).collect()
}

fn not_negative(rows: Vec<Row>) -> Vec<Row> {
    rows.into_iter().filter(|(_, value)| value.is_some_and(|value| value >= 0.0)).collect()
}

fn rises(points: &[Point], unit: i64) -> Vec<Row> {
    pairs(points, |a, b| (b.1 - a.1) / ((b.0 - a.0) as f64 / unit as f64))
}

fn each(points: &[Point], of: impl Fn(f64) -> f64) -> Vec<Row> {
    points.iter().map(|(time, value)| (*time, Some(of(*value)))).collect()
}

/// The largest few by `sign` times the value, the earlier of two that are equal, in order of time.
fn best(points: &[Point], count: usize, sign: f64) -> Vec<Row> {
    let mut points = points.to_vec();
    points.sort_by(|a, b| (sign * b.1).total_cmp(&(sign * a.1)).then(a.0.cmp(&b.0)));
    points.truncate(count);
    points.sort_by_key(|(time, _)| *time);
    each(&points, |value| value)
}

/// Those windows of a minute in ten that have points, and the others.
fn minutes(points: &[Point], of: impl Fn(&[f64]) -> f64) -> Vec<Row> {
    let window = |minute: i64| {
        let start = T + minute * 60 * SECOND;
        let is_in = |(time, _): &&Point| *time >= start && *time < start + 60 * SECOND;
        let inside: Vec<Point> = points.iter().filter(is_in).copied().collect();
        (start, (!inside.is_empty()).then(|| of(&values(&inside))))
    };
    (0..12).map(window).collect()
}

/// Windows without a value have the one before.
fn previous(rows: Vec<Row>) -> Vec<Row> {
    let mut last = None;
    let fill = |(time, value): Row| {
        last = value.or(last);
        (time, last)
    };
    rows.into_iter().map(fill).collect()
}

/// Windows without a value have the one on the line between those around them.
fn linear(rows: Vec<Row>) -> Vec<Row> {
    let fill = |(at, (time, value)): (usize, &Row)| {
        let known = |row: &&Row| row.1.is_some();
        let (before, behind) = (rows[..at].iter().rfind(known), rows[at..].iter().find(known));
        let between = before.zip(behind).map(|(a, b)| {
            let (from, to) = (a.1.unwrap(), b.1.unwrap());
            from + (to - from) * (time - a.0) as f64 / (b.0 - a.0) as f64
        });
        (*time, value.or(between))
    };
    rows.iter().enumerate().map(fill).collect()
}

/// The rows that a statement is answered with.
fn told(server: &Server, statement: &str) -> Vec<Row> {
    let answer = influx::ask(server, statement, "&epoch=ns");
    let answer: Json = serde_json::from_slice(&answer.body).unwrap();
    assert!(answer["results"][0]["error"].is_null(), "{statement}: {answer}");
    let rows = answer["results"][0]["series"][0]["values"].as_array().cloned().unwrap_or_default();
    rows.iter().map(|row| (row[0].as_i64().unwrap(), row[1].as_f64())).collect()
}

fn are_alike(found: &[Row], expected: &[Row]) -> bool {
    let value = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-11 * a.abs().max(b.abs()).max(1.0),
        (a, b) => a == b,
    };
    found.len() == expected.len()
        && found.iter().zip(expected).all(|(a, b)| a.0 == b.0 && value(a.1, b.1))
}

/// What a statement about one field comes to, of the points of that field.
type Case = (&'static str, fn(&[Point]) -> Vec<Row>);

/// `x` stands for the field.
const OF_A_FIELD: &[Case] = &[
    ("count(x)", |it| one(it.len() as f64)),
    ("sum(x)", |it| one(values(it).iter().sum())),
    ("mean(x)", |it| one(mean(&values(it)))),
    ("median(x)", |it| one(median(it))),
    ("stddev(x)", |it| one(deviation(it))),
    ("spread(x)", |it| one(sorted(it)[it.len() - 1] - sorted(it)[0])),
    ("integral(x)", |it| one(integral(it, SECOND))),
    ("integral(x, 1m)", |it| one(integral(it, 60 * SECOND))),
    ("first(x)", |it| chosen(it.first())),
    ("last(x)", |it| chosen(it.last())),
    ("max(x)", |it| best(it, 1, 1.0)),
    ("min(x)", |it| best(it, 1, -1.0)),
    ("top(x, 20)", |it| best(it, 20, 1.0)),
    ("bottom(x, 20)", |it| best(it, 20, -1.0)),
    ("derivative(x)", |it| rises(it, SECOND)),
    ("derivative(x, 1m)", |it| rises(it, 60 * SECOND)),
    ("non_negative_derivative(x)", |it| not_negative(rises(it, SECOND))),
    ("difference(x)", |it| pairs(it, |a, b| b.1 - a.1)),
    ("non_negative_difference(x)", |it| not_negative(pairs(it, |a, b| b.1 - a.1))),
    ("elapsed(x, 2s)", |it| pairs(it, |a, b| ((b.0 - a.0) / (2 * SECOND)) as f64)),
    ("cumulative_sum(x)", |it| {
        let mut sum = 0.0;
        it.iter()
            .map(|(time, value)| {
                sum += value;
                (*time, Some(sum))
            })
            .collect()
    }),
    ("moving_average(x, 3)", |it| {
        it.windows(3).map(|of| (of[2].0, Some(mean(&values(of))))).collect()
    }),
    ("abs(x)", |it| each(it, f64::abs)),
    ("pow(x, 2)", |it| each(it, |value| value * value)),
    ("x * 3 - 1", |it| each(it, |value| value * 3.0 - 1.0)),
    ("x / 2", |it| each(it, |value| value / 2.0)),
    ("-x", |it| each(it, |value| -value)),
    ("sin(x)", |it| each(it, f64::sin)),
    ("exp(x)", |it| each(it, f64::exp)),
];

#[test]
fn awkward_points_come_to_what_the_definitions_say() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let line = |(at, float, whole): (i64, Option<f64>, Option<i64>)| {
        let fields: Vec<String> = float
            .map(|float| format!("f={float}"))
            .into_iter()
            .chain(whole.map(|whole| format!("n={whole}i")))
            .collect();
        match fields.is_empty() {
            true => String::new(),
            false => format!("m,host=a {} {}\n", fields.join(","), T + at * SECOND),
        }
    };
    influx::write(&server, &points().into_iter().map(line).collect::<String>());
    let mut wrong: Vec<String> = Vec::new();
    let mut check = |statement: &str, expected: Vec<Row>| {
        let found = told(&server, statement);
        if !are_alike(&found, &expected) {
            wrong.push(format!("{statement} is {found:?}, not {expected:?}"));
        }
    };
    for (field, points) in [("f", floats()), ("n", integers())] {
        for (what, means) in OF_A_FIELD {
            let what = what.replace("(x", &format!("({field}"));
            let what = if what.contains('(') { what } else { what.replace('x', field) };
            check(&format!("SELECT {what} FROM m"), means(&points));
            // A condition on times, and one on the values.
            let (from, to) = (T + 100 * SECOND, T + 500 * SECOND);
            let some: Vec<Point> =
                points.iter().filter(|point| point.0 >= from && point.0 < to).copied().collect();
            let mut expected = means(&some);
            // What has no time of its own has that where the range begins.
            expected.iter_mut().filter(|row| row.0 == 0).for_each(|row| row.0 = from);
            let times = format!("time >= {from} AND time < {to}");
            // Areas have the time 0 nevertheless.
            if !what.starts_with("integral") {
                check(&format!("SELECT {what} FROM m WHERE {times}"), expected);
            }
            let some: Vec<Point> = points.iter().filter(|point| point.1 > -0.5).copied().collect();
            check(&format!("SELECT {what} FROM m WHERE {field} > -0.5"), means(&some));
        }
        for percent in [5.0, 37.0, 50.0, 99.0, 100.0] {
            // Which of several points with the value is told is not said.
            let statement = format!("SELECT percentile({field}, {percent}) FROM m");
            let found = told(&server, &statement);
            let expected = percentile(&points, percent);
            assert_eq!(found.iter().map(|row| row.1).collect::<Vec<_>>(), [Some(expected)]);
        }
        // Which of several values that are as frequent is told is not said either.
        let found = told(&server, &format!("SELECT mode({field}) FROM m"));
        let most = points.iter().map(|(_, value)| times_of(&points, *value)).max();
        assert_eq!(Some(times_of(&points, found[0].1.unwrap())), most, "mode({field})");
        let windows = format!("time >= {T} AND time < {} GROUP BY time(1m)", T + 720 * SECOND);
        let mean = |fill: &str| format!("SELECT mean({field}) FROM m WHERE {windows} fill({fill})");
        let all = minutes(&points, mean_of);
        assert!(all.iter().any(|row| row.1.is_none()) && all.iter().any(|row| row.1.is_some()));
        check(&mean("null"), all.clone());
        check(&mean("none"), all.iter().filter(|row| row.1.is_some()).copied().collect());
        check(&mean("previous"), previous(all.clone()));
        check(&mean("linear"), linear(all.clone()));
        let seven = all.iter().map(|(time, value)| (*time, Some(value.unwrap_or(7.0))));
        check(&mean("7"), seven.collect());
        let counted = minutes(&points, |values| values.len() as f64);
        let counted = counted.iter().map(|(time, value)| (*time, Some(value.unwrap_or(0.0))));
        check(&format!("SELECT count({field}) FROM m WHERE {windows}"), counted.collect());
        let most = minutes(&points, |values| values.iter().copied().fold(f64::MIN, f64::max));
        let most: Vec<Point> =
            most.iter().filter_map(|(time, value)| Some((*time, (*value)?))).collect();
        let statement =
            format!("SELECT difference(max({field})) FROM m WHERE {windows} fill(none)");
        check(&statement, pairs(&most, |a, b| b.1 - a.1));
        let statement =
            format!("SELECT cumulative_sum(sum({field})) FROM m WHERE {windows} fill(none)");
        let sums = minutes(&points, |values| values.iter().sum());
        let mut so_far = 0.0;
        let sums = sums.iter().filter_map(|(time, value)| {
            so_far += (*value)?;
            Some((*time, Some(so_far)))
        });
        check(&statement, sums.collect());
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    server.stop();
}

fn mean_of(values: &[f64]) -> f64 {
    mean(values)
}
