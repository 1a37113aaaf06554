//! The command line. Only words and numbers: what they mean is decided where they are used.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::adapter::{self, Target};
use crate::catalogue::Kind;
use crate::dialect::Language;
use crate::disorder::{Delay, Shuffle};
use crate::encode::Precision;
use crate::exp::Name;
use crate::profile::Profile;

/// Measures time-series servers: loads them, asks them, checks their answers
#[derive(Parser, Debug)]
#[command(name = "foliot bench", version, disable_help_subcommand = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Write generated data to a server and measure both sides
    Load(Box<LoadArgs>),
    /// Ask questions about data that a load with the same arguments wrote, and check the answers
    Query(Box<QueryArgs>),
    /// Write and ask at the same time: a load beside questions about the steps before it
    Mix(Box<MixArgs>),
    /// Find the highest rate of values that the server keeps up with
    Search(Box<SearchArgs>),
    /// Run a published experiment and write its report; wants a fresh server, because data that an
    /// earlier experiment left behind would be counted
    Exp(Box<ExpArgs>),
    /// Run the experiments of a TOML file, each on servers that are started for it and stopped
    /// again; what is done already is not run again
    Suite(SuiteArgs),
    /// Show a report.json, or compare several
    Report(ReportArgs),
    /// Put what published documents claim beside what reports found, losses first
    Roundup(RoundupArgs),
    /// Print the data that a load would send
    Generate(Box<GenerateArgs>),
    /// Measure what this client can do: rendering alone, then into a sink
    Calibrate(CalibrateArgs),
}

/// Which data.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct DataArgs {
    /// The world that the data come from: tsbs-cpu, tsbs-devops, tsbs-iot, iotdb, iotdb-repeating,
    /// wind, churn, sparse, scraped, or a TOML file that describes another
    #[arg(long, default_value = "tsbs-cpu", value_parser = Profile::parse)]
    pub(crate) profile: Profile,
    /// Number of sources (hosts, devices, turbines)
    #[arg(long, visible_aliases = ["hosts", "devices"], default_value = "4000",
          value_parser = number)]
    pub(crate) sources: u64,
    /// Fields of a source, where the profile leaves the choice
    #[arg(long)]
    pub(crate) fields: Option<usize>,
    /// Values to write, rounded up to whole steps of the whole fleet
    #[arg(long, default_value = "10M", value_parser = number)]
    pub(crate) points: u64,
    /// Steps to write, instead of --points
    #[arg(long, value_parser = number)]
    pub(crate) steps: Option<u64>,
    /// First step to write, to continue an earlier load
    #[arg(long, default_value = "0", value_parser = number)]
    pub(crate) first_step: u64,
    /// Time between two steps of a source [default: the profile's]
    #[arg(long, value_parser = duration)]
    pub(crate) interval: Option<Duration>,
    /// Time of the first step, milliseconds since 1970 (default 2026-01-01)
    #[arg(long, default_value_t = 1_767_225_600_000)]
    pub(crate) start: i64,
    /// Same seed, same bytes
    #[arg(long, default_value_t = 123)]
    pub(crate) seed: u64,
    /// Share of rows that arrive late and by how many steps at most, as 0.5:60
    #[arg(long, value_name = "SHARE:STEPS", value_parser = late)]
    pub(crate) late: Option<(f64, u64)>,
    /// How lateness is spread
    #[arg(long, value_enum, default_value = "uniform")]
    pub(crate) delay: Delay,
    /// Share of rows that are sent twice
    #[arg(long, default_value_t = 0.0)]
    pub(crate) repeat: f64,
    /// Share of rows that do not exist
    #[arg(long, default_value_t = 0.0)]
    pub(crate) gaps: f64,
    /// Share of fields missing from their row
    #[arg(long, default_value_t = 0.0)]
    pub(crate) missing_fields: f64,
    /// Order of sources within a step
    #[arg(long, value_enum, default_value = "none")]
    pub(crate) shuffle: Shuffle,
    /// Steps that one source sends in a row before the next source's turn
    #[arg(long, default_value = "1", value_parser = number)]
    pub(crate) rows_per_source: u64,
}

/// Which server, and how its costs are seen.
#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct ServerArgs {
    /// Server kind and door
    #[arg(long, value_parser = target())]
    pub(crate) target: Target,
    /// HOST:PORT of the door that is written to
    #[arg(long, default_value = "127.0.0.1:4242")]
    pub(crate) url: String,
    /// HOST:PORT of the door that is asked [default: the one that is written to]
    #[arg(long)]
    pub(crate) query_url: Option<String>,
    /// Language to ask in [default: the target's own]
    #[arg(long, value_parser = language())]
    pub(crate) ask: Option<&'static Language>,
    /// Process id of the server, to sample its costs
    #[arg(long)]
    pub(crate) pid: Option<u32>,
    /// Data directory of the server, to sample its disk use
    #[arg(long)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Longest wait for the server to become quiet after the load
    #[arg(long, default_value = "120s", value_parser = duration)]
    pub(crate) settle_max: Duration,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct LoadArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Connections; each sends its own part of the sources
    #[arg(long, default_value_t = 2)]
    pub(crate) connections: u64,
    /// Lines of a request
    #[arg(long, default_value = "1000", value_parser = number)]
    pub(crate) batch: u64,
    /// How requests follow each other
    #[arg(long, value_enum, default_value = "closed")]
    pub(crate) pace: PaceName,
    /// Values per second of all connections together, for fixed and poisson
    #[arg(long, default_value = "100k", value_parser = number)]
    pub(crate) rate: u64,
    /// Pause after each reply in a closed loop
    #[arg(long, default_value = "0ms", value_parser = duration)]
    pub(crate) think: Duration,
    /// Write for so long before anything is measured
    #[arg(long, default_value = "0s", value_parser = duration)]
    pub(crate) warm_up: Duration,
    /// Stop so long after the warm-up even when data are left
    #[arg(long)]
    pub(crate) seconds: Option<f64>,
    /// Acknowledgement level asked from Foliot: durable, os or memory
    #[arg(long)]
    pub(crate) ack: Option<String>,
    /// Pack the bodies with gzip, at doors over HTTP
    #[arg(long)]
    pub(crate) gzip: bool,
    /// Unit of the times on the wire [default: the door's]
    #[arg(long, value_enum)]
    pub(crate) precision: Option<Precision>,
    /// Questions that each connection asks per write request, about its own data
    #[arg(long, default_value_t = 0.0)]
    pub(crate) reads_per_write: f64,
    /// Kinds of these questions [default: point, range, aggregate, downsample, last]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) read_kinds: Vec<Kind>,
    /// Ask everything back afterwards: counts and sums over all series and of each (of more than
    /// 100 000 series, of so many sources), and the newest samples of some
    #[arg(long, value_name = "SOURCES", num_args = 0..=1, default_missing_value = "200",
          value_parser = number)]
    pub(crate) verify: Option<u64>,
    /// How long --verify waits for servers that show what they acknowledged a moment later
    #[arg(long, default_value = "10s", value_parser = duration)]
    pub(crate) visible_within: Duration,
    /// Write the whole result as JSON to this file, "-" for the standard output
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
    /// Write the latencies to this file, as an HDR histogram log
    #[arg(long)]
    pub(crate) hlog: Option<PathBuf>,
    /// No progress line
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct QueryArgs {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Kinds to ask, one after the other [default: all]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) kinds: Vec<Kind>,
    /// TOML file that describes kinds of its own; with --kinds these as well
    #[arg(long = "questions", value_name = "FILE")]
    pub(crate) written: Option<PathBuf>,
    /// Questions of each kind
    #[arg(long, default_value = "100", value_parser = number)]
    pub(crate) count: u64,
    /// Longest time for each kind
    #[arg(long, default_value_t = 10.0)]
    pub(crate) seconds: f64,
    /// Connections
    #[arg(long, default_value_t = 2)]
    pub(crate) connections: u64,
    /// Questions per second of all connections together, at a fixed rate [default: back to back]
    #[arg(long)]
    pub(crate) rate: Option<f64>,
    /// Pause after each reply
    #[arg(long, default_value = "0ms", value_parser = duration)]
    pub(crate) think: Duration,
    /// Answers of each kind to check against the generator
    #[arg(long, default_value = "20", value_parser = number)]
    pub(crate) check: u64,
    /// Write the whole result as JSON to this file, "-" for the standard output
    #[arg(long)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct MixArgs {
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// Questions per second of all kinds together, on plan whatever the server does
    #[arg(long, default_value_t = 20.0)]
    pub(crate) questions: f64,
    /// Kinds to ask, each on a connection of its own [default: those of a device]
    #[arg(long, value_enum, value_delimiter = ',')]
    pub(crate) kinds: Vec<Kind>,
    /// Answers of each kind to check against the generator
    #[arg(long, default_value = "20", value_parser = number)]
    pub(crate) check: u64,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct SearchArgs {
    /// --rate is where the search begins, --seconds the length of a screen (10)
    #[command(flatten)]
    pub(crate) load: LoadArgs,
    /// The server keeps up while 99.9 % of requests take less, counted from their planned start
    #[arg(long, default_value = "100ms", value_parser = duration)]
    pub(crate) bound: Duration,
    /// Times to halve in on the edge
    #[arg(long, default_value_t = 3)]
    pub(crate) halvings: u32,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct ExpArgs {
    /// Which experiment
    #[arg(value_enum)]
    pub(crate) name: Name,
    /// Server under test, as foliot://HOST:PORT
    #[arg(long, default_value = "foliot://127.0.0.1:4242")]
    pub(crate) target: String,
    /// Process id of the server under test
    #[arg(long)]
    pub(crate) pid: Option<u32>,
    /// Data directory of the server under test
    #[arg(long)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Peers that you started, as victoriametrics://HOST:PORT?pid=N&data=DIR, to run the same on
    #[arg(long, value_delimiter = ',')]
    pub(crate) peers: Vec<String>,
    /// Minutes: cells of seconds, each run once, which give no verdict [otherwise: hours, with
    /// cells as long as a verdict wants]
    #[arg(long, conflicts_with = "full")]
    pub(crate) short: bool,
    /// Days: as long as the document's runs, where it says: six hours at the greatest number of
    /// series, a million requests of each client, seven days of a wind farm, three of hosts; cells
    /// of ten minutes where it does not
    #[arg(long)]
    pub(crate) full: bool,
    /// Divides the length of the data sets
    #[arg(long, default_value_t = 1.0)]
    pub(crate) scale_down: f64,
    /// Seconds of each timed cell, instead of the form's
    #[arg(long)]
    pub(crate) cell_seconds: Option<f64>,
    /// Ends each timed cell of a closed loop early, once it has lasted three seconds and cost the
    /// server 220 ticks (2.2 s) of processor time, which is more than a verdict wants
    #[arg(long, conflicts_with = "full")]
    pub(crate) until_enough: bool,
    /// Leaves out numbers of series above this one (high-cardinality)
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) series_max: Option<u64>,
    /// Runs of each cell, all cells in random order; a verdict wants five [default: 5, short: 1]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(crate) runs: Option<u64>,
    /// Same seed, same bytes
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Something that the figures depend on, for the report: commit=1234abc
    #[arg(long, value_name = "NAME=VALUE", value_parser = note)]
    pub(crate) note: Vec<(String, String)>,
    /// Directory for report.html, report.json, report.md and the tables as CSV
    #[arg(long, default_value = "foliot-bench-report")]
    pub(crate) out: PathBuf,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct SuiteArgs {
    /// The TOML file of servers and experiments
    pub(crate) file: PathBuf,
    /// Directory for the reports, and for the servers' data while they run
    #[arg(long, default_value = "foliot-bench-suite")]
    pub(crate) out: PathBuf,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct ReportArgs {
    /// Files report.json, the first is what the others are compared with
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Directory for the comparison as HTML, JSON, Markdown and CSV
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct RoundupArgs {
    /// Files report.json of experiments, one of each
    pub(crate) files: Vec<PathBuf>,
    /// TOML file of documents, their claims and figures [default: the five that `exp` repeats]
    #[arg(long)]
    pub(crate) documents: Option<PathBuf>,
    /// Directory for the round-up as HTML, JSON, Markdown and CSV
    #[arg(long)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct GenerateArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    /// Whose wire format to print
    #[arg(long, value_parser = target(), default_value = "influx")]
    pub(crate) target: Target,
    /// Unit of the times [default: the door's]
    #[arg(long, value_enum)]
    pub(crate) precision: Option<Precision>,
    /// Lines to print at most
    #[arg(long, default_value = "10", value_parser = number)]
    pub(crate) lines: u64,
}

#[derive(ClapArgs, Debug, Clone)]
pub(crate) struct CalibrateArgs {
    /// The world that the data come from: tsbs-cpu, tsbs-devops, tsbs-iot, iotdb, iotdb-repeating,
    /// wind, churn, sparse, scraped, or a TOML file that describes another
    #[arg(long, default_value = "tsbs-cpu", value_parser = Profile::parse)]
    pub(crate) profile: Profile,
    /// Seconds for each measurement
    #[arg(long, default_value_t = 2.0)]
    pub(crate) seconds: f64,
}

/// How requests follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PaceName {
    /// The next request follows the last reply
    Closed,
    /// Planned at a fixed rate, whatever the server does
    Fixed,
    /// Planned as a Poisson process of the rate
    Poisson,
    /// Each source once per interval, in real time, at a phase of its own
    Phased,
}

/// Reads the name of a door of a server.
fn target() -> impl TypedValueParser<Value = Target> {
    let known = |name: String| adapter::target(&name).ok_or("no such target");
    PossibleValuesParser::new(adapter::target_names()).try_map(known)
}

/// Reads the name of a query language.
fn language() -> impl TypedValueParser<Value = &'static Language> {
    let known = |name: String| adapter::language(&name).ok_or("no such language");
    PossibleValuesParser::new(adapter::language_names()).try_map(known)
}

/// Reads 4000, 20M, 1.5k, 2G.
pub(crate) fn number(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (text.get(..at), 1e3),
        Some((at, 'M')) => (text.get(..at), 1e6),
        Some((at, 'G')) => (text.get(..at), 1e9),
        _ => (Some(text), 1.0),
    };
    let digits = digits.unwrap_or_default().replace('_', "");
    match digits.parse::<f64>() {
        Ok(value) if value >= 0.0 && value * unit < 9e15 => Ok((value * unit).round() as u64),
        _ => Err(format!("{text} is not a count; write 4000, 20M or 1.5k")),
    }
}

/// Reads 50ms, 10s, 2m, 1h.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let at = text.find(|digit: char| digit.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(at);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("{text}: unknown unit {unit}; write 50ms, 10s, 2m or 1h")),
    };
    match digits.parse::<f64>() {
        Ok(value) if (0.0..1e9).contains(&value) => Ok(Duration::from_secs_f64(value * seconds)),
        _ => Err(format!("{text} is not a time; write 50ms, 10s, 2m or 1h")),
    }
}

fn note(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text} is not NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

fn late(text: &str) -> Result<(f64, u64), String> {
    let wrong = || format!("{text} is not SHARE:STEPS, such as 0.5:60");
    let (share, steps) = text.split_once(':').ok_or_else(wrong)?;
    let share: f64 = share.parse().map_err(|_| wrong())?;
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("{share} is not a share between 0 and 1"));
    }
    Ok((share, number(steps)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_times_are_read_with_their_units() {
        assert_eq!(number("20M"), Ok(20_000_000));
        assert_eq!(number("1.5k"), Ok(1500));
        assert_eq!(number("4_000"), Ok(4000));
        assert!(number("-1").is_err() && number("x").is_err() && number("").is_err());
        assert_eq!(duration("50ms"), Ok(Duration::from_millis(50)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert!(duration("2y").is_err() && duration("").is_err());
        assert_eq!(late("0.5:60"), Ok((0.5, 60)));
        assert!(late("2:1").is_err());
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Args::command().debug_assert();
    }
}
