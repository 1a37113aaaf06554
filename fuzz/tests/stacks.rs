//! Deep, long and wide texts for languages and decoders, on a stack of 256 KiB: an eighth of what
//! the server's threads have. A walk without a bound would end the process here. InfluxQL is not
//! among them: its 2 000 operators in a row need more than half of a thread's stack.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "what fails here is a failing test")]

use foliot_fuzz::target;
use std::thread::Builder;

const STACK_BYTES: usize = 256 << 10;

/// Gives each text to a target, on a small stack.
fn survives(name: &'static str, texts: Vec<String>) {
    let target = target(name).expect("a target");
    let run = move || texts.iter().for_each(|text| (target.run)(text.as_bytes()));
    Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().expect("it comes back");
}

/// `open` and `close` around `inside`, so many times.
fn nested(open: &str, inside: &str, close: &str, times: usize) -> String {
    format!("{}{inside}{}", open.repeat(times), close.repeat(times))
}

/// Just within the bounds of all languages, at them, and far beyond.
const TIMES: [usize; 6] = [30, 60, 95, 990, 1_990, 50_000];

fn each(make: impl Fn(usize) -> Vec<String>) -> Vec<String> {
    TIMES.into_iter().flat_map(make).collect()
}

#[test]
fn statements() {
    let many = |piece: &str, times: usize| piece.repeat(times);
    survives(
        "influxql",
        each(|times| {
            vec![
                format!("SELECT usage FROM cpu WHERE host = 'a'{}", many(" AND host = 'a'", times)),
                format!("SELECT usage FROM cpu WHERE host = 'a'{}", many(" OR host != 'a'", times)),
                format!("SELECT usage{} FROM cpu", many(" + usage", times)),
                format!("SELECT usage{} FROM cpu", many(" * usage - usage", times / 2)),
                format!("SELECT {} FROM cpu", nested("(", "usage", ")", times)),
                format!("SELECT {} FROM cpu", nested("usage + (", "usage", ")", times)),
                format!("SELECT {} FROM cpu", nested("-(", "usage", ")", times)),
                format!("SELECT {} FROM cpu", nested("abs(", "usage", ")", times)),
                format!("SELECT {} FROM cpu", nested("pow(1, ", "usage", ")", times)),
                format!(
                    "SELECT usage FROM cpu WHERE {}",
                    nested("host = 'a' OR n > 1 AND up = (", "host = 'a'", ")", times)
                ),
                format!("SELECT usage FROM cpu WHERE {}", nested("(", "host = 'a'", ")", times)),
                format!("SELECT usage FROM {}", nested("(SELECT usage FROM ", "cpu", ")", times)),
                format!(
                    "SELECT mean(usage) FROM {} GROUP BY host",
                    nested(
                        "(SELECT max(usage) AS usage FROM ",
                        "cpu",
                        " GROUP BY time(1s))",
                        times
                    )
                ),
                format!("SELECT usage{} FROM cpu", many(", usage", times)),
                format!("SELECT usage FROM cpu{}", many(", cpu", times)),
                format!("SELECT usage FROM cpu GROUP BY host{}", many(", host", times)),
                format!("DELETE FROM cpu WHERE host = 'a'{}", many(" AND host = 'a'", times)),
                format!("DELETE FROM cpu WHERE {}", nested("(", "host = 'a'", ")", times)),
                format!("SHOW TAG VALUES WITH KEY IN (host{})", many(", host", times)),
                format!("SHOW SERIES WHERE host = 'a'{}", many(" OR host = 'a'", times)),
                many("EXPLAIN ", times) + "SELECT usage FROM cpu",
                many("SHOW DATABASES;", times),
            ]
        }),
    );
}

#[test]
fn predicates() {
    survives(
        "predicate",
        each(|times| {
            vec![
                nested("(", "host = \"a\"", ")", times),
                format!("host = \"a\"{}", " AND host = \"a\"".repeat(times)),
                format!("host = \"a\"{}", " OR host = \"a\"".repeat(times)),
            ]
        }),
    );
}

fn expressions(formula: &str) -> String {
    format!(
        r#"{{"time":{{"start":1699996400000,"end":1700000000000,"aggregator":"sum"}},
        "metrics":[{{"id":"a","metric":"sys.cpu.idle"}}],
        "expressions":[{{"id":"e","expr":"{formula}"}}],"outputs":[{{"id":"e"}}]}}"#
    )
}

#[test]
fn formulas() {
    survives(
        "opentsdb-exp",
        each(|times| {
            vec![
                expressions(&format!("a{}", " + a".repeat(times))),
                expressions(&format!("a{}", " > 1 && a".repeat(times))),
                expressions(&nested("(", "a", ")", times)),
                expressions(&nested("-", "a", "", times)),
                expressions(&nested("!", "a", "", times)),
                nested(r#"{"a":"#, "1", "}", times),
            ]
        }),
    );
    survives(
        "opentsdb-gexp",
        each(|times| {
            let m = "sum:sys.cpu.idle";
            vec![
                format!("start=1h-ago&exp={}", nested("scale(", m, ",2)", times)),
                format!("start=1h-ago&exp=sumSeries({m}{})", format!(",{m}").repeat(times)),
                "exp=scale(sum:m,2)&".repeat(times),
            ]
        }),
    );
}

#[test]
fn questions() {
    survives(
        "opentsdb-get",
        each(|times| {
            vec![
                format!("start=1h-ago{}", "&m=sum:sys.cpu.idle".repeat(times)),
                format!(
                    "start=1h-ago&m=sum:sys.cpu.idle{{host=regexp({})}}",
                    nested("(", "a", ")", times)
                ),
                format!("start=1h-ago&m=sum:sys.cpu.idle{{host={}}}", "a|".repeat(times)),
                format!("start=1h-ago&m=sum:sys.cpu.idle{}", nested("{", "host=*", "}", times)),
                format!("start=1h-ago&m=sum:percentiles[{}50]:m", "50,".repeat(times)),
                format!("start=1h-ago&m={}m", "sum:".repeat(times)),
            ]
        }),
    );
    survives(
        "opentsdb-post",
        each(|times| {
            vec![
                nested("[", "1", "]", times),
                nested(r#"{"queries":"#, "[]", "}", times),
                format!(
                    r#"{{"start":"1h-ago","queries":[{{"metric":"m","aggregator":"sum","filters":[{}{{}}]}}]}}"#,
                    r#"{"type":"wildcard","tagk":"host","filter":"a*"},"#.repeat(times)
                ),
            ]
        }),
    );
    survives(
        "ticktock-query",
        each(|times| {
            vec![
                nested("[", "1", "]", times),
                format!("start=1700000000{}", "&m=sum:cpu".repeat(times)),
                format!("start=1700000000&m=sum:cpu{{host={}}}", "a|".repeat(times)),
            ]
        }),
    );
    survives("opentsdb-facts", each(|times| vec![nested(r#"{"a":"#, "1", "}", times)]));
}

#[test]
fn points() {
    survives(
        "put-json",
        each(|times| {
            vec![
                nested("[", "1", "]", times),
                nested(r#"{"metric":"#, "1", "}", times),
                format!(
                    r#"{{"metric":"m","timestamp":1,"value":1,"tags":{{{}"z":"z"}}}}"#,
                    r#""a":"b","#.repeat(times)
                ),
            ]
        }),
    );
    survives(
        "lines",
        each(|times| {
            let fields: String = (0..times).map(|n| format!("f{n}=1,")).collect();
            let tags: String = (0..times).map(|n| format!(",t{n}=1")).collect();
            vec![
                format!("m {fields}z=1 1"),
                format!("m{tags} v=1 1"),
                format!("m{} v=1 1", "\\".repeat(times)),
                format!("m v=\"{} 1", "\\\"".repeat(times)),
            ]
        }),
    );
    for door in ["telnet", "datagram", "ticktock-lines"] {
        survives(
            door,
            each(|times| {
                let tags: String = (0..times).map(|n| format!(" t{n}=1")).collect();
                vec![
                    format!("put m 1 1{tags}\n"),
                    format!("put {}", " ".repeat(times)),
                    "(".repeat(times),
                ]
            }),
        );
    }
}
