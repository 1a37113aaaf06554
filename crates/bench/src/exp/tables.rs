//! What the tables of several experiments share: the columns of a load, of its costs, of the disk.

use super::numbers::{mib, slopes, thousands};
use crate::disk::DiskReading;
use crate::latency::Percentiles;
use crate::report::Table;
use crate::result::LoadResult;
use crate::runs::Runs;
use crate::server::Reading;
use crate::track::Track;

/// Columns that every table of writes ends with.
pub(crate) const WRITE_COLUMNS: [&str; 11] = [
    "offered values/s",
    "values/s",
    "values per server CPU s",
    "mean ms",
    "p99 ms",
    "p99.9 ms",
    "peak RSS MiB",
    "disk bytes/value",
    "entropy bytes/value",
    "client CPU %",
    "checked / wrong",
];

/// Their cells.
pub(crate) fn write_cells(runs: &Runs<LoadResult>) -> Vec<String> {
    type Of = fn(&LoadResult) -> Option<f64>;
    let whole = |of: Of| runs.cell(of, thousands);
    let fine = |of: Of| runs.cell(of, |value| format!("{value:.2}"));
    let verified = || runs.iter().filter_map(|run| run.verification.as_ref());
    let checked: u64 = verified().map(|verdict| verdict.values).sum();
    let wrong: u64 = verified().map(|verdict| verdict.wrong).sum();
    vec![
        whole(|run| Some(run.write.offered_per_s)),
        whole(|run| Some(run.write.points_per_s)),
        whole(|run| Some(run.server.as_ref()?.points_per_cpu_s)),
        fine(|run| run.write.intended_latency.mean_ms),
        fine(|run| run.write.intended_latency.p99_ms),
        fine(|run| run.write.intended_latency.p999_ms),
        whole(|run| Some(mib(run.server.as_ref()?.settled.rss_peak_bytes))),
        fine(|run| run.server.as_ref()?.disk_bytes_per_point),
        fine(|run| Some(run.workload.entropy.bytes_per_value())),
        whole(|run| Some(run.client.cpu_s / run.write.wall_s.max(1e-9) * 100.0)),
        match checked + wrong {
            0 => "-".to_owned(),
            _ => format!("{checked} / {wrong}"),
        },
    ]
}

/// A table of writes: what stands before the common columns is the experiment's.
pub(crate) fn write_table(name: &str, keys: &[&str], found: &[&str]) -> Table {
    Table::new(name, keys, &[found, &WRITE_COLUMNS].concat())
}

/// What a table of latencies tells of each operation.
pub(crate) const LATENCY_COLUMNS: [&str; 8] =
    ["mean", "p50", "p75", "p90", "p95", "p99", "p99.9", "checked / wrong"];

/// Rows of the latency table: the write and each kind of read.
pub(crate) fn operations(name: &str, runs: &Runs<LoadResult>, table: &mut Table) {
    type Of<'a> = &'a dyn Fn(&LoadResult) -> Option<Percentiles>;
    let mut row = |operation: &str, of: Of<'_>, checked: String| {
        let told: [fn(&Percentiles) -> Option<f64>; 7] = [
            |p| p.mean_ms,
            |p| p.p50_ms,
            |p| p.p75_ms,
            |p| p.p90_ms,
            |p| p.p95_ms,
            |p| p.p99_ms,
            |p| p.p999_ms,
        ];
        let mut cells = vec![format!("{name}, {operation}")];
        let shown = |ms: f64| format!("{ms:.2}");
        cells.extend(told.iter().map(|told| runs.cell(|run| told(&of(run)?), shown)));
        cells.push(checked);
        table.judged(cells, runs.void());
    };
    let counts = |of: &dyn Fn(&LoadResult) -> (u64, u64)| {
        let sum = runs.iter().map(of).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        format!("{} / {}", sum.0, sum.1)
    };
    let verified =
        |run: &LoadResult| run.verification.as_ref().map_or((0, 0), |v| (v.values, v.wrong));
    row("write", &|run| Some(run.write.service_time), counts(&verified));
    let Some(first) = runs.iter().next() else { return };
    for (at, read) in first.reads.iter().enumerate().filter(|(_, read)| read.asked > 0) {
        let judged = |run: &LoadResult| run.reads.get(at).map_or((0, 0), |r| (r.judged, r.wrong));
        let time = |run: &LoadResult| Some(run.reads.get(at)?.service_time);
        row(&read.name(), &time, counts(&judged));
    }
}

/// What a table of costs tells of each load.
const COST_COLUMNS: [&str; 9] = [
    "CPU %",
    "CPU %, peak",
    "peak RSS MiB",
    "written MiB/s",
    "bytes written/value",
    "disk writes/s",
    "disk syncs/s",
    "disk reads/s",
    "disk busy %, peak",
];

/// A table of what loads cost their servers. A disk's operations and busy time are those of all
/// its users.
pub(crate) fn cost_table(name: &str) -> Table {
    Table::new(name, &["server, load"], &COST_COLUMNS)
}

/// Adds the row of a cell; none where the server's process is not known.
pub(crate) fn add_costs(table: &mut Table, name: &str, runs: &Runs<LoadResult>) {
    if runs.iter().any(|run| run.server.is_none()) {
        return;
    }
    type Of = fn(&LoadResult) -> Option<f64>;
    let whole = |of: Of| runs.cell(of, |value| format!("{value:.0}"));
    let fine = |of: Of| runs.cell(of, |value| format!("{value:.2}"));
    let cells = vec![
        name.to_owned(),
        whole(|run| {
            let seconds = run.write.measured_s.max(1e-9);
            Some(run.server.as_ref()?.cpu_load_s / seconds * 100.0)
        }),
        // A millisecond of a second is a tenth of a percent.
        whole(|run| peak(run, |reading| Some(reading.cpu_ms())).map(|ms| ms / 10.0)),
        whole(|run| Some(mib(run.server.as_ref()?.settled.rss_peak_bytes))),
        fine(|run| {
            let server = run.server.as_ref()?;
            let written = server.settled.written_bytes.saturating_sub(server.before.written_bytes);
            Some(mib(written) / whole_s(run)?)
        }),
        fine(|run| Some(run.server.as_ref()?.written_bytes_per_point)),
        whole(|run| disk_rate(run, |disk| disk.writes)),
        whole(|run| disk_rate(run, |disk| disk.syncs)),
        whole(|run| disk_rate(run, |disk| disk.reads)),
        whole(|run| peak(run, |reading| Some(reading.disk?.busy_ms)).map(|ms| ms / 10.0)),
    ];
    table.judged(cells, runs.void());
}

/// From the beginning of a load until the server was quiet.
fn whole_s(run: &LoadResult) -> Option<f64> {
    Some((run.write.wall_s + run.server.as_ref()?.settle_s).max(1e-9))
}

/// Operations of the disk per second.
fn disk_rate(run: &LoadResult, of: impl Fn(&DiskReading) -> u64) -> Option<f64> {
    let server = run.server.as_ref()?;
    let (before, after) = (of(&server.before.disk?), of(&server.settled.disk?));
    Some(after.saturating_sub(before) as f64 / whole_s(run)?)
}

/// The steepest second of a counter.
fn peak(run: &LoadResult, of: impl Fn(&Reading) -> Option<u64>) -> Option<f64> {
    let seen = |track: &Track| Some((track.at_s, of(&track.server?)? as f64));
    let slopes = slopes(run.tracks.iter().filter_map(seen));
    slopes.iter().map(|(_, slope)| *slope).reduce(f64::max)
}
