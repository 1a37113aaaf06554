//! Plots that several experiments share: courses over time, and latency by percentile.

use super::numbers::{mib, slopes};
use crate::latency::Percentiles;
use crate::report::Plot;
use crate::result::LoadResult;
use crate::runs::{Measured, Runs};
use crate::server::Reading;

/// Latency by percentile of the cells of several servers.
pub(crate) fn spectrum<'a, R: Measured + 'a>(
    title: &str,
    cells: impl Iterator<Item = (&'a str, &'a Runs<R>)>,
    of: impl Fn(&R) -> Option<Percentiles>,
) -> Plot {
    type Told = fn(&Percentiles) -> Option<f64>;
    let told: [(f64, Told); 6] = [
        (0.5, |p| p.p50_ms),
        (0.9, |p| p.p90_ms),
        (0.95, |p| p.p95_ms),
        (0.99, |p| p.p99_ms),
        (0.999, |p| p.p999_ms),
        (0.9999, |p| p.p9999_ms),
    ];
    let mut plot = Plot::spectrum(title);
    for (name, runs) in cells {
        let point =
            |(share, ms): &(f64, Told)| (Plot::nines(*share), runs.sound(|run| ms(&of(run)?)));
        plot.line(name, told.iter().map(point).collect());
    }
    plot
}

/// Throughput second by second.
fn rate_line(result: &LoadResult) -> Vec<(f64, f64)> {
    slopes(result.tracks.iter().map(|track| (track.at_s, track.points as f64)))
}

/// Plots of throughput, server CPU, memory and disk traffic of several loads.
pub(crate) fn resource_plots(name: &str, results: &[(String, &LoadResult)]) -> Vec<Plot> {
    type Of = fn(&Reading) -> Option<f64>;
    let gauge = |title: &str, unit: &str, of: Of| {
        let mut plot = Plot::lines(&format!("{name}: {title}"), "seconds", unit);
        for (site, result) in results {
            let readings = result.tracks.iter().filter_map(|t| Some((t.at_s, of(&t.server?)?)));
            plot.track(site, readings.collect());
        }
        plot
    };
    let rate = |title: &str, unit: &str, of: Of| {
        let mut plot = gauge(title, unit, of);
        for line in &mut plot.lines {
            line.points = slopes(std::mem::take(&mut line.points).into_iter());
        }
        plot
    };
    let mut throughput = Plot::lines(&format!("{name}: throughput"), "seconds", "values/s");
    results.iter().for_each(|(site, result)| throughput.track(site, rate_line(result)));
    let mut plots = vec![
        throughput,
        rate("server CPU", "% of a core", |reading| Some(reading.cpu_ms() as f64 / 10.0)),
        gauge("server memory, anonymous", "MiB", |reading| Some(mib(reading.rss_anon_bytes))),
        rate("written to disk", "MiB/s", |reading| Some(mib(reading.written_bytes))),
        rate("operations of the disk", "1/s", |reading| {
            reading.disk.map(|disk| (disk.reads + disk.writes) as f64)
        }),
        rate("the disk was busy", "% of the time", |reading| {
            reading.disk.map(|disk| disk.busy_ms as f64 / 10.0)
        }),
    ];
    plots.retain(|plot| plot.lines.iter().any(|line| line.points.len() > 1));
    plots
}
