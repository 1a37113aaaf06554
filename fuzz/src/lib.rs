//! Random bytes for every decoder, language and reader of files.
//!
//! A target takes any bytes and must come back: no panic, no hang, no memory without bound, and
//! what it says of its own (`doors.rs`, `codec.rs`) must hold. The same targets are driven in two
//! ways: by libFuzzer, which looks for new paths (`main.rs`, `make fuzz`), and by `tests/short.rs`,
//! which plays a fixed number of seeded changes of the seeds under any compiler.
//!
//! Readers of files are to be tried behind their checksums, which random bytes never pass. Under
//! `cfg(fuzzing)`, which only libFuzzer's build sets, all checksums are equal, so that any change
//! of a file reaches its reader. Without it the same targets try damage that checksums find.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a panic is what is looked for"
)]

mod codec;
mod doors;
mod files;
mod foreign;
mod languages;
mod monitor;
mod mutate;
mod store;

pub use mutate::mutate;

/// Something that takes any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// What it is called.
    pub name: &'static str,
    /// Takes bytes and must come back.
    pub run: fn(&[u8]),
    seeds: Seeds,
}

/// Where a target's first inputs come from.
#[derive(Clone, Copy, Debug)]
enum Seeds {
    /// A text: each seed ends with a line `---`.
    Text(&'static str),
    /// Made by the code itself.
    Made(fn() -> Vec<Vec<u8>>),
}

impl Target {
    /// The first inputs.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        match self.seeds {
            Seeds::Text(text) => {
                text.split("---\n").map(|seed| seed.trim_end_matches('\n').into()).collect()
            }
            Seeds::Made(make) => make(),
        }
    }
}

macro_rules! text {
    ($name:literal, $run:path) => {
        Target {
            name: $name,
            run: $run,
            seeds: Seeds::Text(include_str!(concat!("../seeds/", $name, ".txt"))),
        }
    };
}

macro_rules! made {
    ($name:literal, $run:path, $seeds:path) => {
        Target { name: $name, run: $run, seeds: Seeds::Made($seeds) }
    };
}

/// All targets.
pub const TARGETS: [Target; 44] = [
    text!("telnet", doors::telnet),
    text!("datagram", doors::datagram),
    text!("put-json", doors::put_json),
    made!("remote-write", doors::remote_write, doors::remote_write_seeds),
    made!("otlp", doors::otlp, doors::otlp_seeds),
    text!("otlp-json", doors::otlp_json),
    text!("datadog", doors::datadog),
    made!("sparkplug", doors::sparkplug, doors::sparkplug_seeds),
    text!("statsd", doors::statsd),
    text!("csv", doors::csv),
    text!("graphite", doors::graphite),
    made!("pickle", doors::pickle, doors::pickle_seeds),
    text!("exposition", doors::exposition),
    text!("json-lines", doors::json_lines),
    text!("scraped", monitor::scraped),
    made!("families", monitor::families, monitor::families_seeds),
    text!("prometheus-config", monitor::config),
    text!("rules", monitor::rules),
    text!("template", monitor::template),
    made!("prometheus-data", foreign::prometheus, foreign::prometheus_seeds),
    made!("remote-read", doors::remote_read, doors::remote_read_seeds),
    text!("lines", doors::lines),
    text!("ticktock-lines", doors::ticktock_lines),
    text!("influxql", languages::influxql),
    text!("sql", languages::sql),
    text!("predicate", languages::predicate),
    text!("promql", languages::promql),
    text!("opentsdb-get", languages::opentsdb_get),
    text!("opentsdb-post", languages::opentsdb_post),
    text!("opentsdb-exp", languages::opentsdb_exp),
    text!("opentsdb-gexp", languages::opentsdb_gexp),
    text!("opentsdb-facts", languages::opentsdb_facts),
    text!("opentsdb-graph", languages::opentsdb_graph),
    text!("ticktock-query", languages::ticktock_query),
    made!("codec-decode", codec::decode, codec::seeds),
    made!("codec-round", codec::round, codec::seeds),
    made!("histogram", codec::histogram, codec::histogram_seeds),
    made!("file-wal", files::wal, files::wal_seeds),
    made!("file-manifest", files::manifest, files::manifest_seeds),
    made!("file-part", files::part, files::part_seeds),
    made!("file-index", files::index, files::index_seeds),
    made!("file-catalog", files::catalog, files::catalog_seeds),
    made!("file-deletes", files::deletes, files::deletes_seeds),
    made!("file-segment", files::segment, files::segment_seeds),
];

/// The target of a name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
