//! Statements over a catalogue of two tables: what they are planned as, and how deep they may be.

use crate::{Catalogue, Parameter, Parameters, Planned, SqlError, Statement, Type};
use foliot_model::{Kind, TableShape};
use foliot_plan::relation::Relation;
use std::sync::Arc;
use std::time::Instant;

fn shape(name: &str) -> Option<TableShape> {
    let field = |name: &str, kind| (Arc::from(name), kind);
    let fields = match name {
        "cpu" => vec![field("load", Kind::Integer), field("usage", Kind::Float)],
        "sys.load" => vec![field("value", Kind::Float)],
        _ => return None,
    };
    Some(TableShape { namespace: 0, measurement: name.into(), fields })
}

fn planned(text: &str) -> Result<Planned, SqlError> {
    let catalogue = Catalogue {
        now_ns: 1_767_225_600_000_000_000,
        database: "d",
        shape: &|name| Ok(shape(name)),
        labels: &|_| Ok(vec!["dc".into(), "host".into()]),
        tables: &|| Ok(vec!["cpu".into(), "sys.load".into()]),
        sources_max: None,
    };
    let parameters = Parameters::from([
        ("host".to_owned(), Parameter::Text("a".to_owned())),
        ("step".to_owned(), Parameter::Interval(60_000_000_000)),
    ]);
    Statement::parse(text)?.plan(&catalogue, &parameters)
}

/// The steps of a statement, the innermost last.
fn steps(text: &str) -> Vec<String> {
    let relation = planned(text).unwrap_or_else(|error| panic!("{text}: {error}")).answer.relation;
    relation.steps().into_iter().map(|(_, told)| told.what).collect()
}

#[test]
fn columns_have_names_and_types() {
    let planned = planned(
        "SELECT time, host, load, usage, load / 2, usage > 1 AS high, avg(load) AS \"Mean\", host \
         FROM cpu GROUP BY 1, 2, 3, 4",
    )
    .unwrap();
    let names: Vec<&str> = planned.answer.names.iter().map(|name| &**name).collect();
    let expected = ["time", "host", "load", "usage", "load / 2", "high", "Mean", "host_1"];
    assert_eq!(names, expected);
    use Type::{Boolean, Float, Integer, Text, Time};
    let expected = [Time, Text, Integer, Float, Integer, Boolean, Float, Text];
    assert_eq!(planned.types, expected);
}

#[test]
fn folds_of_stored_fields_stay_folds_of_blocks() {
    for (text, is_straight) in [
        ("SELECT host, avg(usage) FROM cpu GROUP BY host", true),
        (
            "SELECT date_bin($step, time), host, max(load), last(usage, time) FROM cpu \
          WHERE host = $host AND usage > 3 AND time > now() - INTERVAL '1 hour' GROUP BY 1, 2",
            true,
        ),
        ("SELECT count(*) FROM \"sys.load\"", true),
        ("SELECT sum(load) FROM cpu WHERE dc IS NULL OR dc LIKE 'e%'", true),
        // Rows are counted, and have several fields.
        ("SELECT count(*) FROM cpu", false),
        ("SELECT avg(usage + 1) FROM cpu", false),
        ("SELECT avg(usage) FROM cpu WHERE load IS NULL", false),
        ("SELECT avg(usage) FROM cpu GROUP BY upper(host)", false),
        ("SELECT date_trunc('month', time), avg(usage) FROM cpu GROUP BY 1", false),
        ("SELECT stddev(usage) FROM cpu", false),
    ] {
        let steps = steps(text);
        assert_eq!(steps.iter().any(|step| step == "fold"), is_straight, "{text}: {steps:?}");
    }
}

#[test]
fn rows_that_come_by_time_are_not_sorted() {
    let all = ["calculate", "read"];
    assert_eq!(steps("SELECT usage FROM cpu"), all);
    assert_eq!(steps("SELECT usage FROM cpu ORDER BY time DESC"), all);
    assert_eq!(
        steps("SELECT usage FROM cpu ORDER BY time LIMIT 3"),
        ["limit", "calculate", "read"]
    );
    assert_eq!(
        steps("SELECT time, usage FROM cpu ORDER BY time, host LIMIT 3"),
        ["limit", "calculate", "sort", "calculate", "read"]
    );
    let limited = planned("SELECT usage FROM cpu WHERE host = 'a' LIMIT 3 OFFSET 2").unwrap();
    let mut relation = &limited.answer.relation;
    while let Relation::Limited { input, .. } | Relation::Calculated { input, .. } = relation {
        relation = input;
    }
    let Relation::Stored(scan) = relation else { panic!("{relation:?}") };
    assert_eq!(scan.rows_max, Some(5));
}

#[test]
fn ranges_of_time_are_taken_out_of_conditions() {
    let range = |condition: &str| {
        let text = format!("SELECT usage FROM cpu WHERE {condition}");
        let mut relation = planned(&text).unwrap().answer.relation;
        loop {
            relation = match relation {
                Relation::Calculated { input, .. } | Relation::Filtered { input, .. } => *input,
                Relation::Stored(scan) => {
                    let range = scan.layout.range;
                    break Some((range.start_ns, range.end_ns));
                }
                _ => break None,
            };
        }
    };
    assert_eq!(range("time >= 5 AND time < 9 AND usage > 1"), Some((5, 8)));
    assert_eq!(range("5 < time AND NOT (usage IS NULL)"), Some((6, i64::MAX)));
    assert_eq!(range("time BETWEEN 5 AND 9"), Some((5, 9)));
    assert_eq!(range("time = '1970-01-01T00:00:00.000000007Z'"), Some((7, 7)));
    assert_eq!(range("time > 9 AND time < 5"), None);
    assert_eq!(range("time >= 5 OR usage > 1"), Some((i64::MIN, i64::MAX)));
}

/// Queries of which each reads the one before it.
fn chained(times: usize) -> String {
    let next = |at: usize| format!(", q{} AS (SELECT load FROM q{at})", at + 1);
    let chain: String = (0..times).map(next).collect();
    format!("WITH q0 AS (SELECT load FROM cpu){chain} SELECT load FROM q{times}")
}

/// Nothing that is nested, chained or long ends the thread, or takes long to read.
#[test]
fn deep_and_long_statements_are_refused_or_planned_at_once() {
    let nested = |open: &str, inside: &str, close: &str, times: usize| {
        format!("{}{inside}{}", open.repeat(times), close.repeat(times))
    };
    let read = move || {
        for times in [10, 30, 90, 400, 2_000, 30_000] {
            for text in [
                format!("SELECT {} FROM cpu", nested("(", "usage", ")", times)),
                format!("SELECT * FROM {}", nested("(", "cpu", ")", times)),
                format!("SELECT * FROM {}", nested("(SELECT * FROM ", "cpu", ") AS x", times)),
                format!("SELECT * FROM {}", nested("(", "SELECT 1", ") AS x", times)),
                format!("SELECT {} FROM cpu", nested("abs(", "usage", ")", times)),
                format!("SELECT {}usage FROM cpu", "- ".repeat(times)),
                format!("SELECT usage{} FROM cpu", " + usage".repeat(times)),
                format!("SELECT usage{} FROM cpu", "::text::float".repeat(times)),
                format!("SELECT {}TRUE", "NOT ".repeat(times)),
                format!("SELECT usage{} FROM cpu", " IS NULL".repeat(times)),
                format!("SELECT usage{} FROM cpu", " NOTNULL".repeat(times)),
                format!(
                    "SELECT {} FROM cpu",
                    nested("(", "load", " IN (load, usage))::int", times)
                ),
                format!("SELECT {} FROM cpu", nested("nullif(", "load", ", usage)", times)),
                format!("SELECT usage IN (load{}) FROM cpu", ", load".repeat(times)),
                format!("SELECT *{} FROM cpu", ", *".repeat(times)),
                format!(
                    "SELECT * FROM cpu{}",
                    " MATCH_RECOGNIZE(PATTERN (A) DEFINE A AS b)".repeat(times)
                ),
                chained(times),
                format!("SELECT usage FROM cpu WHERE host = 'a'{}", " OR host = 'a'".repeat(times)),
                format!("SELECT usage FROM cpu WHERE host IN ('a'{})", ", 'b'".repeat(times)),
                format!("SELECT {}", nested("CASE WHEN TRUE THEN ", "1", " END", times)),
                format!("SELECT {}", nested("(1, ", "1", ")", times)),
                format!("SELECT 1 IN {}", nested("(", "1", ")", times)),
                format!("SELECT usage{}", "[1]".repeat(times)),
                format!("{}SELECT 1", "EXPLAIN ".repeat(times)),
                format!("SELECT 1{}", " UNION SELECT 1".repeat(times)),
                format!("SELECT usage{} FROM cpu", ", usage".repeat(times)),
                format!("SELECT sum(usage){} FROM cpu", ", sum(load)".repeat(times)),
                format!(
                    "WITH {} SELECT 1",
                    nested("x AS (WITH ", "y AS (SELECT 1)", " SELECT 1)", times)
                ),
                format!("SELECT * FROM cpu{}", " JOIN cpu AS b ON TRUE".repeat(times)),
                "(".repeat(times),
                "SELECT ".repeat(times),
                "'".repeat(times),
            ] {
                let began = Instant::now();
                let answered = planned(&text);
                let took = began.elapsed();
                let start: String = text.chars().take(60).collect();
                // What has no meaning is told by its words, and not by how deep it is.
                let is_deep = answered.is_err_and(|error| error.to_string().contains("deep"));
                assert!(times > 10 || !is_deep, "{start}");
                assert!(took.as_secs() < 3, "{times} times took {took:?}: {start}");
            }
        }
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(read).unwrap();
    thread.join().unwrap();
}
