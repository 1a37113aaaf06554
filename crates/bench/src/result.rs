//! What a load found, as versioned JSON and as lines for people.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use crate::entropy::Entropy;
use crate::latency::{self, Latency, Percentiles, shown};
use crate::load::{Load, Outcome};
use crate::query::KindResult;
use crate::runs::{Measured, too_short};
use crate::server::{DiskUse, Reading};
use crate::spread::Spread;
use crate::track::Track;
use crate::verify::Verdict;

/// Version of the JSON; grows with any change that is not an addition.
pub(crate) const SCHEMA_VERSION: u32 = 3;

/// Above this 99th percentile of its own lateness the client is what was measured.
const LATENESS_P99_MS_MAX: f64 = 1.0;

/// Above this share of its time with work of its own a client thread is what was measured.
const CLIENT_BUSY_MAX: f64 = 0.8;

/// The result of one load.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LoadResult {
    pub(crate) schema_version: u32,
    pub(crate) tool_version: &'static str,
    pub(crate) workload: Workload,
    pub(crate) write: Write,
    pub(crate) client: ClientCost,
    pub(crate) server: Option<ServerCost>,
    /// What was asked between the writes.
    pub(crate) reads: Vec<KindResult>,
    /// What came back when everything was asked for again.
    pub(crate) verification: Option<Verdict>,
    pub(crate) tracks: Vec<Track>,
}

/// What was asked for.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Workload {
    pub(crate) target: crate::adapter::Target,
    pub(crate) address: String,
    pub(crate) profile: crate::profile::Profile,
    pub(crate) seed: u64,
    pub(crate) sources: u64,
    pub(crate) series: u64,
    pub(crate) first_step: u64,
    pub(crate) steps: u64,
    pub(crate) start_ms: i64,
    pub(crate) interval_ms: i64,
    pub(crate) rows_per_source: u64,
    pub(crate) connections: u64,
    pub(crate) lines_per_request: u64,
    pub(crate) pace: crate::pace::Pace,
    pub(crate) disorder: crate::disorder::Disorder,
    pub(crate) ack: Option<String>,
    /// What a value holds, to judge what it takes on disk.
    pub(crate) entropy: Entropy,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Write {
    pub(crate) requests: u64,
    pub(crate) points_sent: u64,
    pub(crate) points_acked: u64,
    pub(crate) bytes_sent: u64,
    /// Of the whole load.
    pub(crate) wall_s: f64,
    /// After the warm-up.
    pub(crate) measured_s: f64,
    /// Values acknowledged after the warm-up.
    pub(crate) points_measured: u64,
    pub(crate) points_per_s: f64,
    /// What was due after the warm-up, sent or not: equals what was sent in a closed loop.
    pub(crate) offered_per_s: f64,
    /// Requests that were due and never sent because the run ended first.
    pub(crate) unsent: u64,
    pub(crate) errors: BTreeMap<String, u64>,
    /// From the planned start, of requests that were accepted or never sent; equals service time in
    /// a closed loop.
    pub(crate) intended_latency: Percentiles,
    pub(crate) service_time: Percentiles,
    /// The histograms behind them.
    #[serde(skip)]
    pub(crate) intended: Latency,
    #[serde(skip)]
    pub(crate) service: Latency,
    /// How evenly the connections were served.
    pub(crate) spread: Spread,
}

/// What the client itself took.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ClientCost {
    pub(crate) cpu_s: f64,
    pub(crate) ns_per_point: f64,
    pub(crate) lateness: Percentiles,
    /// Share of the time of all cores in which they worked, for whomever.
    pub(crate) machine_busy: Option<f64>,
    /// Why the figures may be the client's rather than the server's.
    pub(crate) limited: Option<String>,
}

/// What the server took.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ServerCost {
    pub(crate) before: Reading,
    /// After the warm-up: processor time counts from here.
    pub(crate) warm: Reading,
    pub(crate) loaded: Reading,
    /// After the server became quiet.
    pub(crate) settled: Reading,
    pub(crate) settle_s: f64,
    pub(crate) cpu_load_s: f64,
    pub(crate) cpu_settled_s: f64,
    pub(crate) points_per_cpu_s: f64,
    pub(crate) disk_before: Option<DiskUse>,
    pub(crate) disk: Option<DiskUse>,
    /// Growth of the allocated blocks per acknowledged value.
    pub(crate) disk_bytes_per_point: Option<f64>,
    /// Bytes handed to the disk per acknowledged value.
    pub(crate) written_bytes_per_point: f64,
}

/// What is known of the server besides what the connections saw.
pub(crate) struct Observed {
    pub(crate) before: Option<Reading>,
    pub(crate) loaded: Option<Reading>,
    pub(crate) settled: Option<Reading>,
    pub(crate) settle_s: f64,
    pub(crate) disk_before: Option<DiskUse>,
    pub(crate) disk: Option<DiskUse>,
    pub(crate) machine_busy: Option<f64>,
}

impl LoadResult {
    pub(crate) fn new(load: &Load<'_>, outcome: &Outcome, observed: &Observed) -> LoadResult {
        let write = Write::new(outcome);
        LoadResult {
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION"),
            workload: Workload::new(load),
            client: ClientCost::new(outcome, write.points_sent, observed.machine_busy),
            server: ServerCost::new(observed, outcome.warm(), &write),
            write,
            reads: Vec::new(),
            verification: None,
            tracks: outcome.tracks.clone(),
        }
    }

    /// Whether everything was accepted and, where asked for, came back right.
    pub(crate) fn is_right(&self) -> bool {
        self.write.errors.is_empty()
            && self.reads.iter().all(KindResult::is_right)
            && self.verification.as_ref().is_none_or(Verdict::is_right)
    }

    /// The histograms under their names in a log, which begin with `name`.
    pub(crate) fn latencies(&self, name: &str) -> Vec<latency::Logged> {
        let logged = |what: &str, latency: &Latency| latency::Logged {
            name: format!("{name}-{what}"),
            latency: latency.clone(),
            wall_s: self.write.wall_s,
        };
        vec![
            logged("write-intended", &self.write.intended),
            logged("write-service", &self.write.service),
        ]
    }

    /// Lines for people.
    pub(crate) fn table(&self) -> String {
        let (write, work) = (&self.write, &self.workload);
        let mut rows: Vec<(&str, String)> = vec![
            (
                "workload",
                format!(
                    "{}, {} sources, {} series, {} steps, seed {}",
                    work.profile.name(),
                    work.sources,
                    work.series,
                    work.steps,
                    work.seed
                ),
            ),
            (
                "target",
                format!(
                    "{:?} at {}, {} connections, {} lines a request",
                    work.target, work.address, work.connections, work.lines_per_request
                ),
            ),
            ("values acknowledged", format!("{} of {}", write.points_acked, write.points_sent)),
            ("wall", format!("{:.2} s", write.wall_s)),
            ("values per second", format!("{:.0}", write.points_per_s)),
            (
                "offered",
                format!(
                    "{:.0} a second, {} requests never sent",
                    write.offered_per_s, write.unsent
                ),
            ),
            ("latency, intended start", percentiles(&write.intended_latency)),
            ("latency, service", percentiles(&write.service_time)),
            ("by connection", write.spread.line()),
            (
                "client CPU",
                format!("{:.2} s, {:.1} ns a value", self.client.cpu_s, self.client.ns_per_point),
            ),
        ];
        if let Some(server) = &self.server {
            server.rows(&mut rows);
        }
        let entropy = &work.entropy;
        rows.push((
            "the data themselves",
            format!(
                "{:.3} bytes a value by gzip -9, {:.3} by the entropy of their differences",
                entropy.gzip_bytes_per_value, entropy.difference_bytes_per_value
            ),
        ));
        rows.extend(
            write.errors.iter().map(|(what, count)| ("error", format!("{count} x {what}"))),
        );
        rows.extend(self.reads.iter().map(|read| ("read", read.line())));
        rows.extend(self.verification.as_ref().map(|verdict| ("verified", verdict.line())));
        if let Some(why) = self.void() {
            rows.push(("no verdict", why));
        }
        let mut out = String::new();
        for (name, value) in rows {
            let _ = writeln!(out, "{name:<28} {value}");
        }
        out
    }
}

impl Measured for LoadResult {
    fn void(&self) -> Option<String> {
        if let Some(why) = &self.client.limited {
            return Some(format!("client-limited: {why}"));
        }
        let refused: u64 = self.write.errors.values().sum();
        if refused > 0 {
            return Some(format!("{refused} requests were refused or failed"));
        }
        if !self.is_right() {
            return Some("answers were wrong".to_owned());
        }
        let cpu_ms = self.server.as_ref().map_or(0, |server| server.measured_cpu_ms());
        too_short(self.write.measured_s, cpu_ms)
    }
}

impl Workload {
    fn new(load: &Load<'_>) -> Workload {
        let shape = &load.fleet.shape;
        Workload {
            target: load.target,
            address: load.address.clone(),
            profile: shape.profile,
            seed: shape.seed,
            sources: shape.sources,
            series: load.fleet.series(),
            first_step: load.steps.start,
            steps: load.steps.end - load.steps.start,
            start_ms: shape.start_ms,
            interval_ms: shape.interval_ms,
            rows_per_source: load.block,
            connections: load.connections,
            lines_per_request: load.batch,
            pace: load.pace,
            disorder: load.disorder,
            ack: load.wish.ack.clone(),
            entropy: Entropy::of(load.fleet),
        }
    }
}

impl Write {
    fn new(outcome: &Outcome) -> Write {
        let all = &outcome.connections;
        let sum = |of: fn(&crate::load::Sent) -> u64| all.iter().map(of).sum::<u64>();
        let (mut intended, mut service) = (Latency::new(), Latency::new());
        let mut errors: BTreeMap<String, u64> = BTreeMap::new();
        for sent in all {
            intended.add(&sent.intended);
            service.add(&sent.service);
            for (what, count) in &sent.errors {
                *errors.entry(what.clone()).or_default() += count;
            }
        }
        let wall_s = outcome.wall.as_secs_f64();
        let points_acked = sum(|sent| sent.points_acked);
        let (warm_s, points_warm) =
            outcome.warm().map_or((0.0, 0), |warm| (warm.at_s, warm.points));
        let (measured_s, points_measured) =
            (wall_s - warm_s, points_acked.saturating_sub(points_warm));
        let offered_s = outcome.limit.map_or(measured_s, |limit| limit.as_secs_f64());
        Write {
            requests: sum(|sent| sent.requests),
            points_sent: sum(|sent| sent.points),
            points_acked,
            bytes_sent: sum(|sent| sent.bytes),
            wall_s,
            measured_s,
            points_measured,
            points_per_s: points_measured as f64 / measured_s.max(1e-9),
            offered_per_s: sum(|sent| sent.points_offered) as f64 / offered_s.max(1e-9),
            unsent: sum(|sent| sent.unsent),
            errors,
            intended_latency: intended.percentiles(),
            service_time: service.percentiles(),
            intended,
            service,
            spread: Spread::new(all),
        }
    }
}

impl ClientCost {
    fn new(outcome: &Outcome, points: u64, machine_busy: Option<f64>) -> ClientCost {
        let mut lateness = Latency::new();
        outcome.connections.iter().for_each(|sent| lateness.add(&sent.lateness));
        let lateness_p99_ms = lateness.quantile_ms(0.99);
        let lateness = lateness.percentiles();
        let cpu_ns: u64 = outcome.connections.iter().map(|sent| sent.cpu_ns).sum();
        // Not by CPU time: a client that waits for a core is as much the limit.
        let busiest = outcome.connections.iter().map(|sent| sent.own).max().unwrap_or_default();
        let busy = busiest.as_secs_f64() / outcome.wall.as_secs_f64().max(1e-9);
        let limited = if busy > CLIENT_BUSY_MAX {
            Some(format!("a client thread was busy {:.0} % of the time", busy * 100.0))
        } else if lateness_p99_ms > LATENESS_P99_MS_MAX {
            Some(format!("requests left {lateness_p99_ms:.2} ms late (p99)"))
        } else {
            None
        };
        let ns_per_point = cpu_ns as f64 / (points as f64).max(1.0);
        ClientCost { cpu_s: cpu_ns as f64 / 1e9, ns_per_point, lateness, machine_busy, limited }
    }
}

impl ServerCost {
    fn new(observed: &Observed, warm: Option<&Track>, write: &Write) -> Option<ServerCost> {
        let (before, loaded) = (observed.before?, observed.loaded?);
        let settled = observed.settled.unwrap_or(loaded);
        let warm = warm.and_then(|warm| warm.server).unwrap_or(before);
        let since =
            |reading: &Reading| reading.cpu_ms().saturating_sub(warm.cpu_ms()) as f64 / 1000.0;
        let points = write.points_acked as f64;
        let written = settled.written_bytes.saturating_sub(before.written_bytes);
        let grown = observed
            .disk
            .zip(observed.disk_before)
            .map(|(after, before)| after.allocated_bytes as f64 - before.allocated_bytes as f64);
        Some(ServerCost {
            before,
            warm,
            loaded,
            settled,
            settle_s: observed.settle_s,
            cpu_load_s: since(&loaded),
            cpu_settled_s: since(&settled),
            points_per_cpu_s: write.points_measured as f64 / since(&settled).max(0.01),
            disk_before: observed.disk_before,
            disk: observed.disk,
            disk_bytes_per_point: grown.map(|grown| grown / points.max(1.0)),
            written_bytes_per_point: written as f64 / points.max(1.0),
        })
    }

    /// Processor time of the measured part of the load.
    pub(crate) fn measured_cpu_ms(&self) -> u64 {
        self.loaded.cpu_ms().saturating_sub(self.warm.cpu_ms())
    }

    fn rows(&self, rows: &mut Vec<(&str, String)>) {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let rss = &self.settled;
        rows.push((
            "server CPU",
            format!(
                "{:.2} s under load, {:.2} s settled ({:.1} s later)",
                self.cpu_load_s, self.cpu_settled_s, self.settle_s
            ),
        ));
        rows.push(("values per server CPU second", format!("{:.0}", self.points_per_cpu_s)));
        rows.push((
            "server memory",
            format!(
                "{:.1} MiB anonymous, {:.1} MiB of files, {:.1} MiB at the peak",
                mib(rss.rss_anon_bytes),
                mib(rss.rss_file_bytes),
                mib(rss.rss_peak_bytes)
            ),
        ));
        rows.push((
            "written to disk",
            format!(
                "{:.1} MiB, {:.2} bytes a value",
                mib(self.settled.written_bytes.saturating_sub(self.before.written_bytes)),
                self.written_bytes_per_point
            ),
        ));
        if let (Some(disk), Some(each)) = (&self.disk, self.disk_bytes_per_point) {
            rows.push((
                "disk use",
                format!("{:.1} MiB, {each:.3} bytes a value", mib(disk.allocated_bytes)),
            ));
        }
    }
}

fn percentiles(of: &Percentiles) -> String {
    let [mean, p50, p95, p99, p999, max] =
        [of.mean_ms, of.p50_ms, of.p95_ms, of.p99_ms, of.p999_ms, of.max_ms].map(shown);
    format!("mean {mean}, p50 {p50}, p95 {p95}, p99 {p99}, p99.9 {p999}, max {max} ms")
}
