//! What the tables of several experiments share: the columns of a load, of its costs, of the disk.

use crate::report::{Table, TableRow};
use crate::result::LoadResult;

/// Columns that every table of writes ends with.
pub(crate) const WRITE_COLUMNS: [&str; 10] = [
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
        format!("{:.2}", result.workload.entropy.bytes_per_value()),
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

/// Columns of a table of costs.
const COST_COLUMNS: [&str; 9] = [
    "server, load",
    "CPU %",
    "CPU %, peak",
    "peak RSS MiB",
    "written MiB/s",
    "bytes written/value",
    "disk writes/s",
    "disk reads/s",
    "disk busy %, peak",
];

/// A table of what loads cost their servers. A disk's operations and busy time are those of all
/// its users.
pub(crate) fn cost_table(name: &str) -> Table {
    Table::new(name, &COST_COLUMNS)
}

/// One load's row; none where the server's process is not known.
pub(crate) fn cost_row(name: &str, result: &LoadResult) -> Option<TableRow> {
    let server = result.server.as_ref()?;
    let (before, after) = (&server.before, &server.settled);
    let wall_s = (result.write.wall_s + server.settle_s).max(1e-9);
    let cpu = server.cpu_load_s / result.write.wall_s.max(1e-9) * 100.0;
    let written = after.written_bytes.saturating_sub(before.written_bytes);
    let disk = before.disk.zip(after.disk);
    let per_s = |of: fn(&crate::disk::DiskReading) -> u64| {
        let rate = |(before, after)| (of(&after) - of(&before)) as f64 / wall_s;
        disk.map(rate).map_or("-".to_owned(), |rate| format!("{rate:.0}"))
    };
    let peak = |of: fn(&crate::server::Reading) -> Option<u64>| {
        let seen = |track: &crate::track::Track| Some((track.at_s, of(&track.server?)? as f64));
        let slopes = super::plots::slopes(result.tracks.iter().filter_map(seen));
        // A millisecond of a second is a tenth of a percent.
        let most = slopes.iter().map(|(_, ms)| ms / 10.0).reduce(f64::max);
        most.map_or("-".to_owned(), |most| format!("{most:.0}"))
    };
    let cells = vec![
        name.to_owned(),
        format!("{cpu:.0}"),
        peak(|reading| Some(reading.cpu_ms())),
        format!("{:.0}", mib(after.rss_peak_bytes)),
        format!("{:.2}", mib(written) / wall_s),
        format!("{:.2}", server.written_bytes_per_point),
        per_s(|disk| disk.writes),
        per_s(|disk| disk.reads),
        peak(|reading| reading.disk.map(|disk| disk.busy_ms)),
    ];
    Some(TableRow { cells, source: None })
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
