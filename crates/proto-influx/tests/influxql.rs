//! InfluxQL from text to tables, over a store with a few samples. Answers are written down by hand,
//! or were read off InfluxDB 1.6.7 over the same lines.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "helpers of tests are tests"
)]

use foliot_disk::SimDisk;
use foliot_engine::{Ack, Config, Engine};
use foliot_exec::{Cancel, Limits, Meter, Query, labels, names, select, series, shapes};
use foliot_model::{Batch, BatchBuffers, Item, NamespaceId, Table, TableHead, TableShape, Test};
use foliot_proto_influx::influxql::{
    Context, Measurement, Parameters, Shown, Statement, measurement_test, parse, plan_explain,
    plan_select, plan_show, series_condition,
};
use foliot_proto_influx::{Decoder, LINE_SYNTAX, Settings};
use foliot_schema::{Kinds, Manner};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

const LINES: &str = "\
cpu,host=a,region=eu load=1,jobs=10i,up=true,state=\"ok\" 0
cpu,host=a,region=eu load=2,jobs=20i 10000000000
cpu,host=a,region=eu load=4,jobs=30i,up=false 20000000000
cpu,host=a,region=eu load=8 40000000000
cpu,host=b,region=us load=3,jobs=5i,state=\"bad\" 0
cpu,host=b,region=us load=5,jobs=7i 20000000000
cpu,host=c jobs=100i 30000000000
disk,host=a free=50i 0
";

/// A store, and whether its samples lie in a part.
struct Store {
    engine: Engine,
    namespace: NamespaceId,
}

impl Store {
    fn new(lines: &str, is_flushed: bool) -> Self {
        let config = Config { background: false, ..Config::default() };
        let engine = Engine::open(Arc::new(SimDisk::new(1)), Path::new("data"), config).unwrap();
        let namespace = engine.create_namespace("db", "autogen").unwrap();
        let (secret, buffers) = (engine.key_secret(), BatchBuffers::default());
        let mut batch = Batch::new(lines.as_bytes(), namespace, &LINE_SYNTAX, secret, buffers);
        let mut rejects = Vec::new();
        Decoder::default().decode(&mut batch, Settings::default(), &mut rejects);
        assert!(rejects.is_empty(), "{rejects:?}");
        Kinds::default().check(&engine, &mut batch, Manner::Strict, &mut rejects).unwrap();
        let commit = engine.write(&batch, &mut rejects).unwrap();
        engine.wait(commit, Ack::Os).unwrap();
        if is_flushed {
            engine.flush().unwrap();
        }
        Self { engine, namespace }
    }

    /// The answer to one statement, a line per row and one before for each table.
    fn ask(&self, text: &str) -> String {
        self.answer(text).map_or_else(|error| format!("error: {error}\n"), |(answer, _)| answer)
    }

    /// The same, and how many samples a selection read.
    fn answer(&self, text: &str) -> Result<(String, u64), String> {
        let snapshot = self.engine.snapshot();
        let query =
            Query { snapshot: &snapshot, meter: Meter::new(Limits::default(), Cancel::default()) };
        let shapes = |measurement: &Measurement,
                      fields: &Test|
         -> Result<Vec<TableShape>, String> {
            if measurement.database.as_deref().is_some_and(|name| name != "db") {
                return Err(format!(
                    "database not found: {}",
                    measurement.database.as_ref().unwrap()
                ));
            }
            let test = measurement_test(&measurement.name).map_err(|error| error.to_string())?;
            let kind = |measurement: &str, field: &str| {
                Kinds::of(&self.engine, self.namespace, measurement, field)
            };
            let mut charge = query.meter.open();
            let found = shapes(&query, self.namespace, (&test, fields), &kind, &mut charge);
            found.map_err(|e| e.to_string())
        };
        let labels = |shape: &TableShape| labels(&query, shape, &mut query.meter.open()).unwrap();
        let context = Context {
            now_ns: 60_000_000_000,
            shapes: &shapes,
            labels: &labels,
            selects: &|scan| foliot_exec::selects(&query, scan).map_err(|error| error.to_string()),
            buckets_max: 1000,
            sources_max: 0,
            admit: &|_| Ok(()),
        };
        let mut read = 0;
        let mut out = String::new();
        let mut last: Option<Arc<TableHead>> = None;
        let mut print = |table: Table| {
            if last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, &table.head)) {
                let head = &table.head;
                let tags: Vec<_> = head.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
                let columns: Vec<&str> = head.columns.iter().map(|name| &**name).collect();
                writeln!(out, "{}[{}] {}", head.name, tags.join(","), columns.join(" ")).unwrap();
                last = Some(table.head.clone());
            }
            for row in table.rows() {
                let row: Vec<String> = row.iter().map(show).collect();
                writeln!(out, "{}", row.join(" ")).unwrap();
            }
            ControlFlow::Continue(())
        };
        let statements = parse(text, &Parameters::new()).map_err(|error| error.to_string())?;
        match &statements[0] {
            Statement::Select(statement) => {
                let plan = plan_select(statement, &context).map_err(|error| error.to_string())?;
                let ran = select(&query, &plan.plan, &mut print);
                read = ran.map_err(|error| error.to_string())?.samples_scanned;
            }
            Statement::Explain { select, .. } => {
                let lines = plan_explain(select, &context).map_err(|error| error.to_string())?;
                return Ok((lines.join("\n") + "\n", 0));
            }
            Statement::Show(show) => {
                let plan = plan_show(show, &[self.namespace], &context);
                match plan.map_err(|error| error.to_string())?.unwrap() {
                    Shown::Tables(tables) => tables.into_iter().for_each(|table| {
                        let _ = print(table);
                    }),
                    Shown::Names(plan) => {
                        names(&query, &plan, &mut print).map_err(|error| error.to_string())?;
                    }
                }
            }
            Statement::Delete(deletion) => {
                let condition = deletion.condition.as_ref();
                let of = (&deletion.sources, self.namespace);
                let (test, range) = series_condition(of.0, condition, of.1, context.now_ns)
                    .map_err(|error| error.to_string())?;
                let count = series(&query, &test).map_err(|error| error.to_string())?.len();
                return Ok((format!("{count} series from {}\n", range.start_ns), 0));
            }
            other => panic!("{other}"),
        }
        Ok((out, read))
    }
}

fn show(item: &Item) -> String {
    match item {
        Item::Null => "-".to_owned(),
        Item::Float(value) => format!("{value}"),
        Item::Integer(value) => format!("{value}i"),
        Item::Unsigned(value) => format!("{value}u"),
        Item::Boolean(value) => value.to_string(),
        Item::String(text) => format!("'{text}'"),
        Item::Time(time_ns) => format!("{}", *time_ns as f64 / 1e9),
    }
}

/// Asks a store in memory and one in parts, which must agree.
fn check(cases: &[(&str, &str)]) {
    let stores = [Store::new(LINES, false), Store::new(LINES, true)];
    for (text, expected) in cases {
        for store in &stores {
            let expected: String =
                expected.lines().map(|line| format!("{}\n", line.trim())).collect();
            assert_eq!(store.ask(text), expected, "{text}");
        }
    }
}

#[test]
fn rows_are_selected() {
    check(&[
        ("SELECT load FROM cpu WHERE host = 'a'", "cpu[] time load\n0 1\n10 2\n20 4\n40 8"),
        (
            "SELECT load, host FROM cpu WHERE load > 2 AND region != 'us'",
            "cpu[] time load host\n20 4 'a'\n40 8 'a'",
        ),
        (
            "SELECT * FROM cpu WHERE time = 0",
            "cpu[] time host jobs load region state up\n\
             0 'a' 10i 1 'eu' 'ok' true\n\
             0 'b' 5i 3 'us' 'bad' -",
        ),
        (
            "SELECT jobs FROM cpu GROUP BY host LIMIT 1",
            "cpu[host=a] time jobs\n0 10i\ncpu[host=b] time jobs\n0 5i\ncpu[host=c] time jobs\n30 100i",
        ),
        (
            "SELECT load FROM cpu WHERE host = 'a' ORDER BY time DESC LIMIT 2 OFFSET 1",
            "cpu[] time load\n20 4\n10 2",
        ),
        (
            "SELECT jobs / 4, jobs % 4, load * 2 AS twice FROM cpu WHERE time <= 10s AND host = 'a'",
            "cpu[] time jobs jobs_1 twice\n0 2.5 2i 2\n10 5 0i 4",
        ),
        ("SELECT nosuch FROM cpu", ""),
        ("SELECT load FROM nosuch", ""),
        ("SELECT host FROM cpu", ""),
        ("SELECT load FROM cpu WHERE nosuch != 'x' AND load > 7", "cpu[] time load\n40 8"),
        ("SELECT load::integer FROM cpu WHERE time > 30s", "cpu[] time load\n40 8i"),
        ("SELECT state FROM cpu WHERE state =~ /^o/", "cpu[] time state\n0 'ok'"),
        ("SELECT jobs FROM cpu WHERE region = ''", "cpu[] time jobs\n30 100i"),
        (
            "SELECT free, load FROM cpu, disk WHERE host = 'a' LIMIT 1",
            "cpu[] time free load\n0 - 1\ndisk[] time free load\n0 50i -",
        ),
    ]);
}

#[test]
fn windows_are_folded_and_filled() {
    let from_to = "WHERE host = 'a' AND time >= 0 AND time < 50s GROUP BY time(10s)";
    let cases = [
        (format!("SELECT mean(load) FROM cpu {from_to}"), "0 1\n10 2\n20 4\n30 -\n40 8"),
        (format!("SELECT count(load) FROM cpu {from_to}"), "0 1i\n10 1i\n20 1i\n30 0i\n40 1i"),
        (format!("SELECT sum(load) FROM cpu {from_to} fill(none)"), "0 1\n10 2\n20 4\n40 8"),
        (
            format!("SELECT sum(load) FROM cpu {from_to} fill(previous)"),
            "0 1\n10 2\n20 4\n30 4\n40 8",
        ),
        (
            format!("SELECT sum(load) FROM cpu {from_to} fill(linear)"),
            "0 1\n10 2\n20 4\n30 6\n40 8",
        ),
        (format!("SELECT sum(load) FROM cpu {from_to} fill(9)"), "0 1\n10 2\n20 4\n30 9\n40 8"),
        (format!("SELECT max(jobs) FROM cpu {from_to} LIMIT 2 OFFSET 1"), "10 20i\n20 30i"),
        (
            format!("SELECT derivative(mean(load), 10s) FROM cpu {from_to} fill(none)"),
            "10 1\n20 2\n40 2",
        ),
        (format!("SELECT cumulative_sum(sum(load)) FROM cpu {from_to}"), "0 1\n10 3\n20 7\n40 15"),
        (format!("SELECT moving_average(sum(load), 2) FROM cpu {from_to}"), "10 1.5\n20 3\n40 6"),
        (format!("SELECT difference(max(load)) FROM cpu {from_to}"), "10 1\n20 2\n40 4"),
    ];
    let stores = [Store::new(LINES, false), Store::new(LINES, true)];
    for (text, expected) in cases {
        for store in &stores {
            let answer = store.ask(&text);
            let (_, rows) = answer.split_once('\n').unwrap_or_default();
            assert_eq!(rows.trim_end(), expected, "{text}\n{answer}");
        }
    }
    check(&[(
        "SELECT mean(load) FROM cpu WHERE time >= 0 AND time < 30s GROUP BY time(20s), host",
        "cpu[host=a] time mean\n0 1.5\n20 4\ncpu[host=b] time mean\n0 3\n20 5",
    )]);
}

#[test]
fn functions_of_all_rows() {
    check(&[
        ("SELECT count(load), sum(jobs) FROM cpu", "cpu[] time count sum\n0 6i 172i"),
        ("SELECT mean(load) FROM cpu WHERE time > 5s", "cpu[] time mean\n5.000000001 4.75"),
        ("SELECT max(load) FROM cpu", "cpu[] time max\n40 8"),
        ("SELECT max(load), host FROM cpu", "cpu[] time max host\n40 8 'a'"),
        ("SELECT max(load), min(load) FROM cpu", "cpu[] time max min\n0 8 1"),
        (
            "SELECT first(load) FROM cpu GROUP BY region",
            "cpu[region=eu] time first\n0 1\ncpu[region=us] time first\n0 3",
        ),
        (
            "SELECT last(*) FROM cpu WHERE host = 'b'",
            "cpu[] time last_jobs last_load last_state last_up\n0 7i 5 'bad' -",
        ),
        ("SELECT median(load) FROM cpu", "cpu[] time median\n0 3.5"),
        ("SELECT mode(jobs) FROM cpu", "cpu[] time mode\n0 5i"),
        ("SELECT spread(jobs) FROM cpu", "cpu[] time spread\n0 95i"),
        (
            "SELECT stddev(load) FROM cpu WHERE host = 'b'",
            "cpu[] time stddev\n0 1.4142135623730951",
        ),
        ("SELECT percentile(jobs, 50) FROM cpu", "cpu[] time percentile\n0 10i"),
        ("SELECT distinct(state) FROM cpu", "cpu[] time distinct\n0 'bad'\n0 'ok'"),
        ("SELECT count(distinct(jobs)) FROM cpu", "cpu[] time count\n0 6i"),
        ("SELECT top(load, 2) FROM cpu", "cpu[] time top\n20 5\n40 8"),
        ("SELECT top(load, host, 2) FROM cpu", "cpu[] time top host\n20 5 'b'\n40 8 'a'"),
        ("SELECT bottom(jobs, 1) FROM cpu", "cpu[] time bottom\n0 5i"),
        ("SELECT integral(load) FROM cpu WHERE host = 'a'", "cpu[] time integral\n0 165"),
        (
            "SELECT elapsed(load, 1s) FROM cpu WHERE host = 'a'",
            "cpu[] time elapsed\n10 10i\n20 10i\n40 20i",
        ),
        ("SELECT max(load) - min(load) FROM cpu", "cpu[] time max_min\n0 7"),
        ("SELECT count(sample) FROM (SELECT sample(load, 3) FROM cpu)", "cpu[] time count\n0 3i"),
        (
            "SELECT abs(load - 5), round(load / 3) FROM cpu WHERE host = 'b'",
            "cpu[] time abs round\n0 2 1\n20 0 2",
        ),
    ]);
}

#[test]
fn selections_stand_in_selections() {
    check(&[
        (
            "SELECT sum(m) FROM (SELECT mean(load) AS m FROM cpu GROUP BY host)",
            "cpu[] time sum\n0 7.75",
        ),
        ("SELECT max(load) FROM (SELECT load FROM cpu WHERE host = 'b')", "cpu[] time max\n20 5"),
        (
            "SELECT m FROM (SELECT mean(load) AS m FROM cpu GROUP BY host) WHERE m > 3.8 GROUP BY host",
            "cpu[host=b] time m\n0 4",
        ),
        (
            "SELECT mean(s) FROM (SELECT sum(jobs) AS s FROM cpu GROUP BY time(20s), host) \
             WHERE time >= 0 AND time < 40s GROUP BY time(20s)",
            "cpu[] time mean\n0 17.5\n20 45.666666666666664",
        ),
    ]);
}

/// As InfluxDB 1.6.7 chooses them.
#[test]
fn which_of_equal_rows_are_the_top_ones() {
    let lines = "m,h=a v=3 0\nm,h=b v=2 0\nm,h=c v=1 0\nm,h=d v=3 0\nm,h=e v=3 0\n";
    let store = Store::new(lines, false);
    for (text, hosts) in [
        ("SELECT top(v, h, 2) FROM m", "da"),
        ("SELECT top(v, h, 3) FROM m", "ead"),
        ("SELECT top(v, h, 4) FROM m", "aedb"),
        ("SELECT top(v, 2), h FROM m", "da"),
        ("SELECT top(v, 4), h FROM m", "aedb"),
        ("SELECT bottom(v, h, 2) FROM m", "cb"),
    ] {
        let answer = store.ask(text);
        let found: String =
            answer.lines().skip(1).filter_map(|row| row.split('\'').nth(1)).collect();
        assert_eq!(found, hosts, "{text}: {answer}");
    }
}

/// As InfluxDB 1.6.7 casts them on x86-64.
#[test]
fn casts_beyond_integers() {
    let lines = "m v=2.5 0\nm v=-2.5 1000000000\nm v=9.3e18 2000000000\nm v=-1e300 3000000000\n\
                 m v=1e300 4000000000\n";
    let least = i64::MIN;
    let rows = |column: &str, values: [&str; 5]| {
        let rows = values.iter().enumerate().map(|(at, value)| format!("\n{at} {value}"));
        format!("m[] time {column}{}", rows.collect::<String>())
    };
    let (cut, whole) = (format!("{least}i"), "9300000000000000000u");
    let beyond = "9223372036854775808u";
    let cases = [
        ("SELECT v::integer FROM m", rows("v", ["2i", "-2i", &cut, &cut, &cut])),
        (
            "SELECT v::unsigned FROM m",
            rows("v", ["2u", "18446744073709551614u", whole, beyond, beyond]),
        ),
        (
            "SELECT x::integer FROM (SELECT sqrt(v) AS x FROM m)",
            rows("x", ["1i", "-", "3049590136i", "-", &cut]),
        ),
        // What is calculated counts with what is no number.
        (
            "SELECT min(x::integer) FROM (SELECT ln(v) AS x FROM m)",
            format!("m[] time min\n1 {least}i"),
        ),
    ];
    for is_flushed in [false, true] {
        let store = Store::new(lines, is_flushed);
        for (text, answer) in &cases {
            assert_eq!(store.ask(text), format!("{answer}\n"), "{text}");
        }
    }
}

#[test]
fn listings() {
    check(&[
        ("SHOW MEASUREMENTS", "measurements[] name\n'cpu'\n'disk'"),
        ("SHOW MEASUREMENTS WITH MEASUREMENT =~ /^c/", "measurements[] name\n'cpu'"),
        ("SHOW MEASUREMENTS WHERE host = 'c'", "measurements[] name\n'cpu'"),
        ("SHOW SERIES FROM cpu WHERE region = ''", "[] key\n'cpu,host=c'"),
        ("SHOW SERIES LIMIT 1 OFFSET 3", "[] key\n'disk,host=a'"),
        ("SHOW TAG KEYS", "cpu[] tagKey\n'host'\n'region'\ndisk[] tagKey\n'host'"),
        (
            "SHOW TAG VALUES FROM cpu WITH KEY = region",
            "cpu[] key value\n'region' 'eu'\n'region' 'us'",
        ),
        ("SHOW TAG VALUES FROM disk WITH KEY != region", "disk[] key value\n'host' 'a'"),
        ("SHOW FIELD KEYS FROM disk", "disk[] fieldKey fieldType\n'free' 'integer'"),
        ("SHOW SERIES CARDINALITY", "[] cardinality estimation\n4i"),
        ("SHOW SERIES EXACT CARDINALITY", "cpu[] count\n3i\ndisk[] count\n1i"),
        ("SHOW FIELD KEY CARDINALITY", "cpu[] count\n4i\ndisk[] count\n1i"),
        ("SHOW TAG VALUES CARDINALITY WITH KEY = host", "cpu[] count\n3i\ndisk[] count\n1i"),
        ("EXPLAIN SELECT mean(load) FROM cpu", "EXPRESSION: mean(load::float)"),
        ("DELETE FROM cpu WHERE host = 'a' AND time >= 10s", "4 series from 10000000000"),
    ]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (text, error) in [
        (
            "SELECT load, mean(load) FROM cpu",
            "mixing aggregate and non-aggregate queries is not supported",
        ),
        (
            "SELECT load FROM cpu GROUP BY time(1m)",
            "GROUP BY requires at least one aggregate function",
        ),
        ("SELECT nosuch(load) FROM cpu", "undefined function nosuch()"),
        (
            "SELECT mean(load, 2) FROM cpu",
            "invalid number of arguments for mean, expected 1, got 2",
        ),
        (
            "SELECT percentile(load) FROM cpu",
            "invalid number of arguments for percentile, expected 2, got 1",
        ),
        ("SELECT top(load, 0) FROM cpu", "limit (0) in top function must be at least 1"),
        ("SELECT load FROM cpu fill(none)", "fill(none) must be used with a function"),
        (
            "SELECT derivative(mean(load)) FROM cpu",
            "derivative aggregate requires a GROUP BY interval",
        ),
        ("SELECT 1 FROM cpu", "field must contain at least one variable"),
        ("SELECT time FROM cpu", "at least 1 non-time field must be queried"),
        (
            "SELECT load FROM cpu WHERE time > 'x'",
            "invalid operation: time and *influxql.StringLiteral are not compatible",
        ),
        ("SELECT load FROM cpu WHERE time != 0", "invalid time comparison operator: !="),
        ("SELECT load FROM other..cpu", "database not found: other"),
        (
            "SELECT state + load FROM cpu",
            "type error: state::string + load::float: incompatible types: string and float",
        ),
        (
            "SELECT mean(state) FROM cpu",
            "unsupported mean iterator type: *query.stringInterruptIterator",
        ),
        (
            "SELECT mean(load) FROM cpu WHERE time >= 0 AND time < 20m GROUP BY time(1s)",
            "max-select-buckets limit exceeded: (1200/1000)",
        ),
        (
            "SELECT load FROM cpu WHERE mean(load) > 1",
            "invalid function call in condition: mean(load)",
        ),
        ("SELECT load FROM cpu WHERE time < '2000-01-01T23:59:60Z'", "invalid timestamp string"),
        (
            "SELECT load FROM cpu WHERE time < '9999-12-31'",
            "time 9999-12-31T00:00:00Z overflows time literal",
        ),
        ("SELECT load FROM cpu TZ('Mars/Olympus')", "unable to find time zone Mars/Olympus"),
        (
            "SELECT load FROM cpu WHERE host =~ /(/",
            "error parsing regexp: missing closing ): `(` at line 1, char 35",
        ),
    ] {
        let store = Store::new(LINES, false);
        assert_eq!(store.ask(text), format!("error: {error}\n"), "{text}");
    }
}

#[test]
fn measurements_are_folded_each_by_itself() {
    const LINES: &str = "a,h=x v=1 0\na,h=x v=2 10000000000\na,h=y v=4 70000000000\n\
                         b,h=x v=8 5000000000\nb,h=z v=16 65000000000\n";
    let cases = [
        (
            "SELECT count(v), sum(v), mean(v) FROM b, a",
            "a[] time count sum mean\n0 3i 7 2.3333333333333335\n\
             b[] time count sum mean\n0 2i 24 12\n",
        ),
        (
            "SELECT max(v) FROM a, b WHERE time < 60s GROUP BY time(30s), h fill(none)",
            "a[h=x] time max\n0 2\nb[h=x] time max\n0 8\n",
        ),
        (
            "SELECT count(v) FROM a, b WHERE time >= 0s AND time < 90s GROUP BY time(30s) ORDER BY time DESC",
            "b[] time count\n60 1i\n30 0i\n0 1i\na[] time count\n60 1i\n30 0i\n0 2i\n",
        ),
        ("SELECT last(v) FROM a, b", "a[] time last\n70 4\nb[] time last\n65 16\n"),
        ("SELECT top(v, 1), h FROM b, a", "a[] time top h\n70 4 'y'\nb[] time top h\n65 16 'z'\n"),
        ("SELECT median(v) FROM a, b", "a[] time median\n0 2\nb[] time median\n0 12\n"),
        (
            "SELECT difference(v) FROM b, a",
            "a[] time difference\n10 1\n70 2\nb[] time difference\n65 8\n",
        ),
        ("SELECT v FROM b, a LIMIT 1", "a[] time v\n0 1\nb[] time v\n5 8\n"),
        (
            "SELECT sum(v) FROM a, b WHERE h = 'x' OR h = 'y' GROUP BY h",
            "a[h=x] time sum\n0 3\na[h=y] time sum\n0 4\nb[h=x] time sum\n0 8\n",
        ),
        (
            "SELECT sum(s) FROM (SELECT sum(v) AS s FROM a, b)",
            "a[] time sum\n0 7\nb[] time sum\n0 24\n",
        ),
    ];
    for is_flushed in [false, true] {
        let store = Store::new(LINES, is_flushed);
        for (text, expected) in cases {
            assert_eq!(store.ask(text), expected, "{text}");
        }
    }
}

/// What summaries of blocks tell is not read sample by sample, of however many measurements.
#[test]
fn a_fold_of_several_measurements_reads_no_more_than_folds_of_each() {
    let line = |name, at: i64| format!("{name},h=x v={at} {}\n", at * 1_000_000_000);
    let lines: String = (0..4000).flat_map(|at| [line("a", at), line("b", at)]).collect();
    let store = Store::new(&lines, true);
    let by_hand = "time count sum\n0 4000i 7998000\n";
    let (answer, read) = store.answer("SELECT count(v), sum(v) FROM a, b").unwrap();
    assert_eq!(answer, format!("a[] {by_hand}b[] {by_hand}"));
    assert!(read < 400, "{read}");
    // Where windows hide when a value was the largest, that is told by summaries, too.
    let each = |name: &str| store.answer(&format!("SELECT max(v) FROM {name} GROUP BY time(1h)"));
    assert_eq!(each("a, b").unwrap().1, each("a").unwrap().1 * 2);
    assert!(each("a").unwrap().1 < 2000);
}
