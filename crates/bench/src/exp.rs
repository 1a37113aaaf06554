//! Experiments: one command per published document, each with its table, the document's figures
//! beside ours, and every answer checked. What they share is here; each file is one document.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use crate::disorder::Disorder;
use crate::fleet::{Fleet, Shape};
use crate::latency::{self, Logged};
use crate::load::Load;
use crate::mix::Reads;
use crate::pace::Pace;
use crate::profile::Profile;
use crate::report::{Plot, Report, Section, Table};
use crate::result::LoadResult;
use crate::run::{measure, precision};
use crate::say;
use crate::site::{Site, Style};
use crate::verify::{VISIBLE_WITHIN, is_whole, verify};

mod cpu_scaling;
mod high_cardinality;
mod max_cardinality;
mod small_box;
mod verify_all;
mod wind_farm;

/// 1980-01-01: far enough in the past that no server takes the data for the future.
const EPOCH_MS: i64 = 315_532_800_000;

/// Each load of an experiment gets times of its own, so that it can be checked alone.
///
/// A client that writes ten thousand rows a second at steps of five seconds fills it in a minute.
const SPAN_MS: i64 = 200 * 86_400_000;

/// Keeps the short loads of different experiments apart on one server.
const OFFSET_MS: i64 = 30 * 86_400_000;

/// A published experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// How many series a server keeps up with, ten values of each device every ten seconds
    MaxCardinality,
    /// How throughput and latency follow the number of cores
    CpuScaling,
    /// One core and little memory, one to nine clients
    SmallBox,
    /// The five stages of a wind farm: load, append, query and both under stress; corrections
    WindFarm,
    /// Insertion into 400 thousand, 4 and 40 million series
    HighCardinality,
    /// Every door, disorder and kind of question against the oracle
    VerifyAll,
}

/// How an experiment is to be run.
pub(crate) struct Plan {
    pub(crate) name: Name,
    /// The server under test, then its peers.
    pub(crate) sites: Vec<Site>,
    /// Minutes instead of hours.
    pub(crate) short: bool,
    /// Divides the length of data sets.
    pub(crate) scale_down: f64,
    /// Seconds for each timed cell, instead of the document's.
    pub(crate) cell_seconds: Option<f64>,
    pub(crate) seed: u64,
    pub(crate) out: PathBuf,
}

/// A running experiment.
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) report: Report,
    latencies: Vec<Logged>,
    /// Loads that could not even begin.
    gone: Vec<String>,
    loads: i64,
}

/// One load of an experiment.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) style: Style,
    pub(crate) connections: u64,
    /// Lines of a request.
    pub(crate) batch: u64,
    pub(crate) block: u64,
    pub(crate) steps: std::ops::Range<u64>,
    pub(crate) pace: Pace,
    pub(crate) disorder: Disorder,
    pub(crate) limit: Option<Duration>,
    /// Questions per write, of the device kinds.
    pub(crate) reads_per_write: f64,
    /// Whether bodies are packed with gzip.
    pub(crate) gzip: bool,
    /// Sources to verify one by one; none = no verification.
    pub(crate) verify: Option<u64>,
    /// Whether loads that were cut short or refused in part are not asked back.
    pub(crate) only_whole: bool,
    /// Whether to wait until the server is quiet before its costs are read.
    pub(crate) settle: bool,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell {
            style: Style::Rows,
            connections: 2,
            batch: 1000,
            block: 1,
            steps: 0..1,
            pace: Pace::Closed { think_ms: 0 },
            disorder: Disorder::default(),
            limit: None,
            reads_per_write: 0.0,
            gzip: false,
            verify: Some(50),
            only_whole: false,
            settle: true,
        }
    }
}

/// Runs an experiment and writes its report; false when something was refused or wrong.
pub(crate) fn run(plan: Plan) -> io::Result<bool> {
    let title = plan.name.to_possible_value().map_or(String::new(), |value| {
        let help = value.get_help().map(ToString::to_string).unwrap_or_default();
        format!("{}: {help}", value.get_name())
    });
    let name = plan.name;
    let mut run = Run {
        plan,
        report: Report::new(&title),
        latencies: Vec::new(),
        gone: Vec::new(),
        loads: 0,
    };
    match name {
        Name::MaxCardinality => max_cardinality::run(&mut run)?,
        Name::CpuScaling => cpu_scaling::run(&mut run)?,
        Name::SmallBox => small_box::run(&mut run)?,
        Name::WindFarm => wind_farm::run(&mut run)?,
        Name::HighCardinality => high_cardinality::run(&mut run)?,
        Name::VerifyAll => verify_all::run(&mut run)?,
    }
    run.gone_note();
    run.untested_note();
    run.report.write(&run.plan.out)?;
    fs::write(run.plan.out.join("latency.hlog"), latency::log(&run.latencies)?)?;
    say(&run.report.markdown());
    say(&format!("report: {}", run.plan.out.join("report.html").display()));
    Ok(run.report.right)
}

impl Run {
    /// A fleet whose times no other load of this experiment has.
    pub(crate) fn fleet(&mut self, profile: Profile, sources: u64, fields: usize) -> Fleet {
        self.loads += 1;
        Fleet::new(Shape {
            profile,
            seed: self.plan.seed,
            sources,
            fields,
            start_ms: EPOCH_MS + self.loads * SPAN_MS + self.plan.name as i64 * OFFSET_MS,
            interval_ms: profile.interval_ms(),
        })
    }

    /// Seconds of a timed cell: what the user says, or the short or the long default.
    pub(crate) fn seconds(&self, short: f64, long: f64) -> Duration {
        let default = if self.plan.short { short } else { long };
        Duration::from_secs_f64(self.plan.cell_seconds.unwrap_or(default))
    }

    /// Picks by length of the run.
    pub(crate) fn pick<T>(&self, short: T, long: T) -> T {
        if self.plan.short { short } else { long }
    }

    /// Runs one load at one site; none when the site has no such door, or is gone.
    pub(crate) fn load(
        &mut self,
        site: &Site,
        fleet: &Fleet,
        cell: &Cell,
    ) -> io::Result<Option<LoadResult>> {
        let Some(target) = site.kind.target(cell.style) else { return Ok(None) };
        let dialect = target.dialect_at(&site.query_address);
        let reads = dialect.filter(|_| cell.reads_per_write > 0.0).map(|dialect| Reads {
            dialect,
            address: site.query_address.clone(),
            kinds: crate::catalogue::Kind::DEVICE.to_vec(),
            per_write: cell.reads_per_write,
        });
        let load = Load {
            fleet,
            disorder: cell.disorder,
            target,
            address: site.address(cell.style),
            precision: precision(target, fleet),
            connections: cell.connections.clamp(1, fleet.shape.sources),
            batch: cell.batch,
            steps: cell.steps.clone(),
            block: cell.block,
            pace: cell.pace,
            limit: cell.limit,
            ack: None,
            gzip: cell.gzip,
            reads,
            progress: true,
        };
        let settle = match cell.settle {
            true => Duration::from_secs(if self.plan.short { 6 } else { 300 }),
            false => Duration::ZERO,
        };
        let (mut result, outcome) = match measure(&load, &site.watched, settle) {
            Ok(measured) => measured,
            Err(error) => {
                // One server's end must not cost the others their rows.
                self.gone.push(format!("{}, {:?}: {error}", site.name, load.target));
                self.report.right = false;
                return Ok(None);
            }
        };
        let asked_back = cell.verify.filter(|_| !cell.only_whole || is_whole(&load, &outcome));
        if let (Some(samples), Some(dialect)) = (asked_back, dialect) {
            let address = &site.query_address;
            let verdict = verify(&load, &outcome, address, dialect, samples, VISIBLE_WITHIN);
            result.verification = Some(verdict);
        }
        let name = format!("{}-{}-{}", self.loads, site.name, load.connections);
        self.latencies.extend(result.latencies(&name));
        self.report.right &= result.is_right();
        if !result.is_right() {
            say(&result.table());
        }
        Ok(Some(result))
    }

    /// Describes what went wrong in a load, for the report.
    pub(crate) fn faults(section: &mut Section, what: &str, result: &LoadResult) {
        let errors = result.write.errors.iter().map(|(error, count)| format!("{count} x {error}"));
        let verdict = result.verification.iter().flat_map(|verdict| &verdict.described);
        let reads = result.reads.iter().flat_map(|read| &read.wrong_described);
        let refused = result.reads.iter().flat_map(|read| read.errors.keys());
        let wrong = verdict.chain(reads).chain(refused).cloned();
        for fault in errors.chain(wrong).take(5) {
            section.say(format!("{what}: {fault}"));
        }
        let (stale, judged) =
            result.reads.iter().fold((0, 0), |sum, r| (sum.0 + r.stale, sum.1 + r.judged));
        if stale > 0 {
            section.say(format!(
                "{what}: {stale} of {judged} answers lacked values that had been acknowledged; \
                 this server shows them a moment later."
            ));
        }
        if let Some(why) = &result.client.limited {
            section.say(format!("{what}: client-limited, no verdict on the server: {why}"));
        }
    }

    fn gone_note(&mut self) {
        if !self.gone.is_empty() {
            let section = self.report.section("Loads that could not begin");
            self.gone.iter().for_each(|gone| section.say(gone.clone()));
        }
    }

    fn untested_note(&mut self) {
        let untested: Vec<&str> = self
            .plan
            .sites
            .iter()
            .filter(|site| site.kind.is_untested())
            .map(|site| site.name.as_str())
            .collect();
        if !untested.is_empty() {
            let names = untested.join(", ");
            let section = self.report.section("Untested adapters");
            section.say(format!("{names}: this adapter has never met its real server."));
        }
    }
}

/// Columns that every table of writes ends with.
pub(crate) const WRITE_COLUMNS: [&str; 9] = [
    "values/s",
    "values per server CPU s",
    "mean ms",
    "p99 ms",
    "p99.9 ms",
    "peak RSS MiB",
    "disk bytes/value",
    "client CPU %",
    "checked / wrong",
];

/// Their cells.
pub(crate) fn write_cells(result: &LoadResult) -> Vec<String> {
    let server = result.server.as_ref();
    let latency = &result.write.intended_latency;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    let client = result.client.cpu_s / result.write.wall_s.max(1e-9) * 100.0;
    vec![
        thousands(result.write.points_per_s),
        or_dash(server.map(|server| thousands(server.points_per_cpu_s))),
        format!("{:.2}", latency.mean_ms),
        format!("{:.2}", latency.p99_ms),
        format!("{:.2}", latency.p999_ms),
        or_dash(server.map(|server| format!("{:.0}", mib(server.settled.rss_peak_bytes)))),
        or_dash(server.and_then(|s| s.disk_bytes_per_point).map(|each| format!("{each:.2}"))),
        format!("{client:.0}"),
        or_dash(result.verification.as_ref().map(|v| format!("{} / {}", v.values, v.wrong))),
    ]
}

/// A table of writes: what stands before the common columns is the experiment's.
pub(crate) fn write_table(name: &str, first: &[&str]) -> Table {
    Table::new(name, &[first, &WRITE_COLUMNS].concat())
}

pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// A number with spaces between thousands.
pub(crate) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    if value < 0.0 { format!("-{out}") } else { out }
}

/// Throughput second by second.
pub(crate) fn rate_line(result: &LoadResult) -> Vec<(f64, f64)> {
    let pairs = result.tracks.windows(2);
    pairs
        .filter_map(|pair| match pair {
            [a, b] if b.at_s - a.at_s > 0.2 => {
                Some((b.at_s, (b.points - a.points) as f64 / (b.at_s - a.at_s)))
            }
            _ => None,
        })
        .collect()
}

/// Plots of throughput, server CPU, memory and disk traffic of several loads.
pub(crate) fn resource_plots(name: &str, results: &[(String, &LoadResult)]) -> Vec<Plot> {
    type Of = fn(&crate::server::Reading) -> f64;
    let gauge = |title: &str, unit: &str, of: Of| {
        let mut plot = Plot::lines(&format!("{name}: {title}"), "seconds", unit);
        for (site, result) in results {
            let readings = result.tracks.iter().filter_map(|t| Some((t.at_s, of(&t.server?))));
            plot.line(site, readings.collect());
        }
        plot
    };
    let rate = |title: &str, unit: &str, of: Of| {
        let mut plot = gauge(title, unit, of);
        for line in &mut plot.lines {
            let slope = |pair: &[(f64, f64)]| match pair {
                [a, b] if b.0 - a.0 > 0.2 => Some((b.0, (b.1 - a.1) / (b.0 - a.0))),
                _ => None,
            };
            line.points = line.points.windows(2).filter_map(slope).collect();
        }
        plot
    };
    let mut throughput = Plot::lines(&format!("{name}: throughput"), "seconds", "values/s");
    results.iter().for_each(|(site, result)| throughput.line(site, rate_line(result)));
    let mut plots = vec![
        throughput,
        rate("server CPU", "% of a core", |reading| reading.cpu_ms() as f64 / 10.0),
        gauge("server memory, anonymous", "MiB", |reading| mib(reading.rss_anon_bytes)),
        rate("written to disk", "MiB/s", |reading| mib(reading.written_bytes)),
    ];
    plots.retain(|plot| plot.lines.iter().any(|line| line.points.len() > 1));
    plots
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_spaced() {
        let texts = [0.0, 999.0, 1000.0, 1_234_567.4, -12_345.0].map(thousands);
        assert_eq!(texts, ["0", "999", "1 000", "1 234 567", "-12 345"]);
    }
}
