//! The limits that clients meet: what each is set by, what happens, and how often it was met.
//!
//! One table makes `foliot_limits_met_total` and docs/limits.md, which a test compares. What rooms
//! below the server refuse, they count, and it is added here. Limits of single rows are counted
//! with the rows, by protocol and reason: `foliot_rows_rejected_total`.

use crate::config::{Config, KEYS};
use crate::metrics::{Counter, Kind, Visit, one};
use foliot_exec::Error;
use std::fmt::Write as _;

/// A limit that ends, refuses or puts off what a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Connections,
    ConnectionsPerAddress,
    FirstBytes,
    ConnectionIdle,
    LineTime,
    BodyBytes,
    DecodedBodyBytes,
    PendingBodyBytes,
    PendingQueryBytes,
    BodyPace,
    Queries,
    QueriesWaiting,
    QueryWait,
    QueryMemoryBytes,
    QuerySamples,
    QuerySeconds,
    AnswerBytes,
    ScrapeBodyBytes,
    ScrapeSamples,
    ScrapeTargets,
    ScrapeBytes,
    NamesSearched,
    Databases,
    Policies,
    ContinuousQueries,
    Users,
    Tokens,
    InfluxSeries,
    InfluxBuckets,
    PatternWeight,
    PatternBytes,
}

/// What becomes of an answer that may have begun.
const BEGUN: &str = "413, of PromQL 422; where the answer has begun, InfluxQL's ends with an \
                     `error`, and others end with their connection";

/// What is known of each limit: its setting, or what it is and how much where none sets it, and
/// what happens.
const LIMITS: [(Limit, &str, Option<&str>, &str); 31] = [
    (Limit::Connections, "limits.connections", None, "the connection is closed"),
    (
        Limit::ConnectionsPerAddress,
        "limits.connections_per_address",
        None,
        "the connection is closed",
    ),
    (
        Limit::FirstBytes,
        "first_bytes",
        Some(
            "30 s, or 1 s while less than a quarter of `limits.connections` is free, and 10 s from the first byte on",
        ),
        "a connection that does not say what it speaks, or an HTTP head without an end, is closed",
    ),
    (Limit::ConnectionIdle, "limits.connection_idle", None, "the connection is closed"),
    (Limit::LineTime, "limits.line_time", None, "the connection is closed"),
    (Limit::BodyBytes, "limits.body_bytes", None, "413"),
    (Limit::DecodedBodyBytes, "limits.decoded_body_bytes", None, "413, before more is unpacked"),
    (
        Limit::PendingBodyBytes,
        "limits.pending_body_bytes",
        None,
        "503 with `Retry-After` after 2 s, at once for what may be a bomb; 413 for a body larger than all of it; a line connection is closed",
    ),
    (
        Limit::PendingQueryBytes,
        "limits.pending_query_bytes",
        None,
        "503 with `Retry-After` after 2 s; 413 for a text that wants more than all of it",
    ),
    (Limit::BodyPace, "body_pace", Some("1 KiB/s over any 10 s"), "408"),
    (Limit::Queries, "limits.queries", None, "the query waits for its turn"),
    (Limit::QueriesWaiting, "limits.queries_waiting", None, "429 with `Retry-After`"),
    (
        Limit::QueryWait,
        "limits.query_wait",
        None,
        "429 with `Retry-After`, at once where the wait would be longer",
    ),
    (Limit::QueryMemoryBytes, "limits.query_memory_bytes", None, BEGUN),
    (Limit::QuerySamples, "limits.query_samples", None, BEGUN),
    (Limit::QuerySeconds, "limits.query_seconds", None, BEGUN),
    (
        Limit::AnswerBytes,
        "limits.answer_bytes",
        None,
        "413, of PromQL 422; or the connection is closed",
    ),
    (Limit::ScrapeBodyBytes, "limits.scrape_body_bytes", None, "the scrape fails: `up` is 0"),
    (Limit::ScrapeSamples, "limits.scrape_samples", None, "the scrape fails: `up` is 0"),
    (Limit::ScrapeTargets, "limits.scrape_targets", None, "the target is not scraped"),
    (
        Limit::ScrapeBytes,
        "limits.scrape_bytes",
        None,
        "the scrape fails: `up` is 0; the list of targets that a server tells stays as it was",
    ),
    (
        Limit::NamesSearched,
        "limits.names_searched",
        None,
        "the catalogue's answer says that it may not be whole",
    ),
    (Limit::Databases, "limits.databases", None, "400; a statement of InfluxQL fails"),
    (Limit::Policies, "limits.policies", None, "400; a statement of InfluxQL fails"),
    (Limit::ContinuousQueries, "limits.continuous_queries", None, "the statement fails"),
    (Limit::Users, "limits.users", None, "the statement fails"),
    (Limit::Tokens, "limits.tokens", None, "422"),
    (Limit::InfluxSeries, "influx.series_max", None, "the statement fails"),
    (Limit::InfluxBuckets, "influx.buckets_max", None, "the statement fails"),
    (
        Limit::PatternWeight,
        "pattern_weight",
        Some(
            "262 144 for a regular expression, 1 048 576 for all of a request: its bytes, and more for repetitions, classes of Unicode, any case",
        ),
        "400; a statement of InfluxQL fails",
    ),
    (
        Limit::PatternBytes,
        "pattern_bytes",
        Some(
            "1 MiB for a regular expression as it is compiled, 64 MiB for all that are in use, with what matching takes",
        ),
        "400; a statement of InfluxQL fails",
    ),
];

impl Limit {
    /// Its setting, or what it is where none sets it.
    pub(crate) fn name(self) -> &'static str {
        LIMITS.iter().find(|(limit, ..)| *limit == self).map_or("", |(_, name, ..)| name)
    }
}

/// Limits that are constants of a parser, or that rows meet: what they are called, how much, what
/// happens.
const OTHERS: [(&str, &str, &str); 73] = [
    ("`limits.series`", "", "the row is refused, reason `limit`"),
    (
        "`limits.registry_bytes`",
        "",
        "the row is refused, reason `limit`; annotations and the like 503",
    ),
    ("`limits.new_series_per_second`", "", "the row is refused, reason `limit`"),
    ("`limits.labels`", "", "the row is refused, reason `name`"),
    ("`limits.line_bytes`", "", "the line is refused, reason `line`"),
    ("names of measurements, fields and tags", "1 KiB", "the row is refused"),
    ("values of tags", "4 KiB", "the row is refused"),
    ("fields of a row, as they stand there", "16 384", "the row is refused"),
    ("statements of an InfluxQL request", "10 000", "400"),
    ("depth and height of an InfluxQL expression", "100, 200 operators", "400"),
    (
        "`limits.query_brief`",
        "",
        "the question begins again, at a place among the queries and on a thread of its own",
    ),
    ("subqueries in one another", "20", "400"),
    ("operators of an InfluxQL request", "2 000", "400"),
    (
        "operators of a statement of SQL, height of an expression, queries in one another, also by \
         the names of `WITH`",
        "500, 200 (parentheses and functions about 20), 16",
        "400",
    ),
    (
        "words, values and signs of a statement of SQL; columns of `SELECT`, of `GROUP BY` and of \
         `ORDER BY`; queries that `WITH` names",
        "50 000; 1 664 each; 100",
        "400",
    ),
    ("values of `IN (…)` in SQL, bytes of a text that its functions make", "10 000, 1 MiB", "400"),
    ("steps and depth of an `exp` formula, formulas of a request", "1 000, 64, 100", "400"),
    ("depth of JSON", "128", "400"),
    ("body of a change by Foliot's or InfluxDB 2's API", "1 MiB", "413"),
    ("questions of a `/api/query`, patterns of a question", "1 000, 32", "400"),
    ("height of a PromQL expression, steps of a question", "100, 11 000", "400"),
    ("conditions of a PromQL selector, labels of a list, arguments of a call", "1024", "400"),
    ("parts that a MetricsQL expression comes to by its templates", "10 000", "400"),
    ("labels in the path of what is pushed as to a Pushgateway", "4 KiB", "400"),
    (
        "a message of Graphite's pickle",
        "1 MiB",
        "refused, reason `limit`, and the connection is closed: nobody knows where the next begins",
    ),
    (
        "samples of a message of Graphite's pickle",
        "10 000",
        "the message is refused, reason `line`",
    ),
    ("words of a message of Graphite's pickle", "524 288", "the message is refused, reason `line`"),
    ("a line of VictoriaMetrics' JSON", "10 MiB", "the line is refused, reason `limit`"),
    ("columns of VictoriaMetrics' CSV", "1 024", "400"),
    (
        "lists and maps in one another, in an attribute of OTLP",
        "16",
        "the data point is refused, reason `name`, and named",
    ),
    (
        "data points of a request of OTLP",
        "1 048 576",
        "400: a few bytes that are packed can be millions of points",
    ),
    (
        "buckets, and custom bounds, of a native histogram",
        "16 384",
        "the histogram is refused, reason `value`",
    ),
    (
        "a file of Prometheus' configuration or rules, its values, their depth",
        "16 MiB, 1 048 576, 64",
        "the file is not used",
    ),
    (
        "rules that `relabel` tries, their bytes, values with those that aliases stand for",
        "100, 16 KiB, 10 000",
        "400",
    ),
    (
        "a list of targets that a file or a server tells",
        "8 MiB, 100 000 targets",
        "the list before stays",
    ),
    (
        "senders that are told apart, by protocol and address",
        "1 024",
        "the quarter silent longest is counted with the others of its protocol",
    ),
    (
        "topic, and name of a metric, of Sparkplug",
        "512 bytes",
        "the message, the metric is refused; reason `value`, `name`",
    ),
    (
        "what births of Sparkplug said",
        "a sixteenth of `limits.pending_body_bytes`",
        "the node not heard of for longest is forgotten",
    ),
    (
        "steps, expressions and bytes of an alert's template",
        "100 000, 100, 256 KiB",
        "the text says so",
    ),
    (
        "questions of a remote read, names in each list of `status/tsdb`",
        "100, 10 000",
        "400; no more are listed",
    ),
    (
        "`limits.memory_bytes`",
        "",
        "the memory of head, cache, merges, queries, their texts and bodies is cut to shares of it",
    ),
    ("key of an Influx line, text as a value", "65 535, 65 536 bytes", "the row is refused"),
    ("name of a database or policy", "255 bytes", "400"),
    ("bad points of an `/api/put`", "100 000", "400; points after them are not looked at"),
    ("bad points of an `/api/put` that are worded", "1 000", "the others are counted"),
    ("bad lines of a request that are worded", "100", "the others are counted, reason `other`"),
    ("a write with `accept_partial=false`", "16 MiB", "413"),
    (
        "fields whose kind a dry run of an import remembers, of a database and policy, or of one piece",
        "1 048 576",
        "it does not say of later ones that their kind changes",
    ),
    ("`limits.parquet_footer_bytes`", "", "`foliot import` reads nothing of the file"),
    ("`limits.parquet_pages_bytes`", "", "`foliot import` ends there"),
    ("`limits.parquet_labels`", "", "`foliot export` writes nothing"),
    ("`limits.csv_row_bytes`", "", "`foliot import csv` refuses the row"),
    ("columns of a CSV file, cells of a row", "16 384", "`foliot import csv` refuses the row"),
    ("`limits.exemplar_bytes`", "", "the exemplar that came first goes"),
    ("`limits.statsd_bytes`", "", "the value is refused, reason `limit`"),
    (
        "values of a timer of statsd's that median and percentile are of",
        "10 000",
        "the last ones count",
    ),
    ("labels of an exemplar", "128 characters", "it is dropped and counted"),
    ("symbols of a remote write 2.0", "1 048 576", "400"),
    ("text of a question: OpenTSDB, TickTock, Prometheus, Foliot; InfluxQL", "1 MiB; 4 MiB", "413"),
    ("functions in one another at `/api/query/gexp`", "32", "400"),
    ("alternatives of an InfluxQL delete", "100", "400"),
    ("series that a tree arranges", "1 000 000", "413"),
    (
        "saved questions and dashboards, their bytes together, panels of one",
        "1 000, 4 MiB, 40",
        "413, 413, 400",
    ),
    (
        "limits of series by metric, in one database and policy; bytes of a name",
        "1 000, 1 KiB",
        "413, 400",
    ),
    (
        "jobs that are listed, silence between pieces of one",
        "64, 60 s",
        "the oldest that ended goes; the job is given up, until its next piece",
    ),
    ("backups that a store remembers", "64", "the oldest is forgotten"),
    (
        "silence of a connection between two requests, of a client that is answered",
        "120 s, 30 s",
        "the connection is closed",
    ),
    ("wait for the disk to confirm a write", "30 s", "503"),
    ("failed logins of an address", "10 at once, then one in 6 s", "429 with `Retry-After`"),
    ("passwords that are looked at, that wait for it", "2, 16", "503 with `Retry-After`"),
    ("redirects of a scrape", "10", "the scrape fails: `up` is 0"),
    ("alerts that wait for an Alertmanager", "10 000", "more are dropped and counted"),
    (
        "memory for kinds, helps and units of pushed metrics, bytes of a help",
        "2 MiB, 4096",
        "what was said longest ago is forgotten; a help is cut",
    ),
];

const HEAD: &str = "\
# Limits

Generated by `foliot config limits` from `crates/server/src/limits.rs`. Each time one of the first table
is met, `foliot_limits_met_total` with its name as `limit` counts it. What a request of one query takes, its
planning, listing, folding and sorting included, comes from one account of memory and time.

| limit | default | what happens |
|---|---|---|
";

const BETWEEN: &str = "
Limits of single rows are counted by protocol and reason in `foliot_rows_rejected_total`, as `limit`; other
reasons are `name`, `timestamp`, `field` (there is none, or it has no name), `value`, `line`, `command`,
`retention` and `store`. Limits of a
language's text are refused with its other mistakes, before anything is done. Bounds that no client
meets are not listed: those of caches, of pieces of work, and of what is told or remembered.

| limit | default | what happens |
|---|---|---|
";

/// How often each limit was met.
#[derive(Debug, Default)]
pub(crate) struct Met([Counter; LIMITS.len()]);

impl Met {
    /// A limit was met.
    pub(crate) fn add(&self, limit: Limit) {
        self.add_where(|(of, ..)| *of == limit);
    }

    /// The limit of a setting was met; others are not counted.
    pub(crate) fn add_named(&self, setting: &str) {
        self.add_where(|(_, name, ..)| *name == setting);
    }

    /// What ended a selection was met, if it is the limit of what one may select.
    pub(crate) fn add_sources(&self, error: &Error) {
        if matches!(error, Error::Sources { .. }) {
            self.add(Limit::InfluxSeries);
        }
    }

    fn add_where(&self, is_it: impl Fn(&(Limit, &str, Option<&str>, &str)) -> bool) {
        let found = LIMITS.iter().zip(&self.0).find(|(limit, _)| is_it(limit));
        found.into_iter().for_each(|(_, counter)| counter.add(1));
    }

    /// Shows the counters, with what other rooms have counted.
    pub(crate) fn visit(&self, elsewhere: &[(Limit, u64)], visit: &mut Visit<'_>) {
        for ((limit, name, ..), counter) in LIMITS.iter().zip(&self.0) {
            let help = "How often a limit was met, by its setting";
            let of_it = elsewhere.iter().filter(|(of, _)| of == limit);
            let count = counter.get() + of_it.map(|(_, count)| count).sum::<u64>();
            let count = count as f64;
            one(visit, "limits_met_total", Kind::Counter, help, &[("limit", name)], count);
        }
    }
}

/// The text of `docs/limits.md`.
pub fn reference() -> String {
    let defaults = Config::default();
    let setting = |name: &str| {
        let key = KEYS.iter().find(|key| key.name == name);
        key.map_or(String::new(), |key| (key.show)(&defaults))
    };
    let mut out = HEAD.to_owned();
    // Writing to memory cannot fail.
    for (_, name, fixed, happens) in LIMITS {
        let default = fixed.map_or_else(|| setting(name), |fixed| format!("{fixed}, always"));
        let _ = writeln!(out, "| `{name}` | {default} | {happens} |");
    }
    out.push_str(BETWEEN);
    for (name, fixed, happens) in OTHERS {
        let default = match fixed {
            "" => setting(name.trim_matches('`')),
            fixed => format!("{fixed}, always"),
        };
        let _ = writeln!(out, "| {name} | {default} | {happens} |");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_committed_table_is_current() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/limits.md");
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == reference(),
            "docs/limits.md is old: run `cargo run -p foliot -- config limits > docs/limits.md`"
        );
    }

    #[test]
    fn every_setting_of_a_limit_is_in_the_table() {
        let table = reference();
        for key in KEYS.iter().filter(|key| key.name.starts_with("limits.")) {
            // Shares of it are the others' defaults.
            let is_whole = key.name == "limits.memory_bytes";
            assert!(is_whole || table.contains(&format!("| `{}` |", key.name)), "{}", key.name);
        }
        let named = LIMITS.iter().filter(|(_, _, fixed, _)| fixed.is_none());
        for name in named.map(|(_, name, ..)| *name) {
            assert!(KEYS.iter().any(|key| key.name == name), "{name} is no setting");
        }
        for (name, fixed, _) in OTHERS.iter().filter(|(_, fixed, _)| fixed.is_empty()) {
            let name = name.trim_matches('`');
            assert!(KEYS.iter().any(|key| key.name == name), "{name} is no setting{fixed}");
        }
    }

    #[test]
    fn a_limit_that_is_met_is_counted_by_its_name() {
        let met = Met::default();
        met.add(Limit::QuerySeconds);
        met.add_named("limits.query_seconds");
        met.add_named("series");
        let mut seen = Vec::new();
        met.visit(&[(Limit::Users, 3)], &mut |figure| {
            if figure.value > 0.0 {
                seen.push(format!("{:?} {}", figure.labels, figure.value));
            }
        });
        let counted = [("limits.query_seconds", 2), ("limits.users", 3)];
        assert_eq!(seen, counted.map(|(name, count)| format!("[(\"limit\", {name:?})] {count}")));
    }
}
