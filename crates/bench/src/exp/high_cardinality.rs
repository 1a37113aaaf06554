//! Insertion into many series (valyala, "High-cardinality TSDB benchmarks: VictoriaMetrics vs
//! TimescaleDB vs InfluxDB", 2018): TSBS cpu-only, ten fields a host, three days of data, the
//! number of hosts grows as the interval does. Registration of all series is timed apart from
//! the steady rest, which the original could not do.

use std::io;

use super::plots::resource_plots;
use super::tables::{cost_row, cost_table, thousands, write_cells, write_table};
use super::{Cell, Run, limits};
use crate::caps::Allowance;
use crate::profile::Profile;
use crate::report::{Plot, Table};
use crate::result::LoadResult;
use crate::site::Site;

/// (hosts, interval in ms, steps of three days)
const SIZES: [(u64, i64, u64); 3] =
    [(40_000, 60_000, 4320), (400_000, 600_000, 432), (4_000_000, 3_600_000, 72)];

/// Hosts and steps of the short form.
const SHORT_SIZES: [(u64, i64, u64); 3] =
    [(4_000, 60_000, 240), (40_000, 600_000, 12), (400_000, 3_600_000, 2)];

/// Of what the document gave each server (16 vCPU, 60 GB) only the slow disk matters here.
const SERVER: Allowance =
    Allowance { cores: None, memory_bytes: None, disk_bytes: Some(120_000_000) };

/// A size is left out for a server that would need longer than this to register its series at the
/// pace of the size before: short, long.
const REGISTRATION_S_MAX: (f64, f64) = (30.0, 7200.0);

const SHORTENED: &str = "The document wrote three days of data; where fewer steps (and in the \
    short form fewer hosts) stand here, the run was shortened. The reference rows are the document's.";

/// One number of series.
struct Size {
    /// Its place among the sizes.
    at: u64,
    hosts: u64,
    interval_ms: i64,
    steps: u64,
    connections: u64,
}

/// What one size found.
struct Found {
    table: Table,
    costs: Table,
    bars: Plot,
    /// Server and phase, and what came of it.
    results: Vec<(String, LoadResult)>,
    left_out: Vec<String>,
}

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = run.plan.sites.clone();
    // Values per second of the last registration; any pace will do for the first size.
    let mut paces = vec![f64::INFINITY; sites.len()];
    let (_caps, limits) = limits::apply(&sites, SERVER);
    for (at, (hosts, interval_ms, steps)) in run.pick(SHORT_SIZES, SIZES).into_iter().enumerate() {
        let steps = ((steps as f64 / run.plan.scale_down) as u64).max(2);
        let connections = run.pick(4, 16);
        let size = Size { at: at as u64, hosts, interval_ms, steps, connections };
        let name = format!("{} series", thousands((hosts * 10) as f64));
        let mut found = Found {
            table: write_table(&format!("Insertion, {name}"), &["server", "phase", "values"]),
            costs: cost_table(&format!("Costs, {name}")),
            bars: Plot::bars(&format!("{name}: values per second"), "values/s"),
            results: Vec::new(),
            left_out: Vec::new(),
        };
        for (site, pace) in sites.iter().zip(&mut paces) {
            *pace = insert(run, site, &size, *pace, &mut found)?;
        }
        references(hosts * 10, &mut found.table);
        let steady = found.results.iter().filter(|(name, _)| name.ends_with("steady"));
        let steady: Vec<(String, &_)> = steady.map(|(n, r)| (n.clone(), r)).collect();
        let plots = resource_plots(&name, &steady);
        let section = run.report.section(&name);
        section.say(format!(
            "{} hosts with ten fields, {steps} steps of {} s, {connections} connections, 1 000 \
             lines a request.",
            thousands(hosts as f64),
            interval_ms / 1000
        ));
        section.say(SHORTENED);
        found.left_out.into_iter().for_each(|why| section.say(why));
        found.results.iter().for_each(|(what, result)| Run::faults(section, what, result));
        section.tables.extend((at == 0).then(|| limits.clone()));
        section.tables.extend([found.table, found.costs]);
        section.plots.push(found.bars);
        section.plots.extend(plots);
    }
    Ok(())
}

/// Registers all series at a site, then writes the rest; returns the pace of the registration in
/// values per second. A site that was too slow in the size before is left out.
fn insert(
    run: &mut Run,
    site: &Site,
    size: &Size,
    pace_before: f64,
    found: &mut Found,
) -> io::Result<f64> {
    let estimate_s = (size.hosts * 10) as f64 / pace_before;
    if estimate_s > run.pick(REGISTRATION_S_MAX.0, REGISTRATION_S_MAX.1) {
        found.left_out.push(format!(
            "{}: left out, at the pace of the size before it would register these series in \
             {estimate_s:.0} s.",
            site.name
        ));
        return Ok(pace_before);
    }
    let mut fleet = run.fleet(Profile::TsbsCpu, size.hosts, 0);
    fleet.shape.interval_ms = size.interval_ms;
    // Other labels than in the sizes before: all series are new to the server.
    fleet.shape.seed += 1000 * (size.at + 1);
    let whole =
        Cell { connections: size.connections, batch: 1000, verify: None, ..Cell::default() };
    let registration = Cell { steps: 0..1, ..whole.clone() };
    let steady = Cell { steps: 1..size.steps, verify: Some(100), ..whole };
    let mut rates = Vec::new();
    for (phase, cell) in [("registration", registration), ("steady", steady)] {
        let Some(result) = run.load(site, &fleet, &cell)? else { continue };
        let values = thousands(result.write.points_acked as f64);
        let mut cells = vec![site.name.clone(), phase.to_owned(), values];
        cells.extend(write_cells(&result));
        found.table.row(cells);
        let what = format!("{}, {phase}", site.name);
        found.costs.rows.extend(cost_row(&what, &result));
        rates.push((phase.to_owned(), result.write.points_per_s));
        found.results.push((what, result));
    }
    let pace = rates.first().map_or(pace_before, |(_, rate)| *rate);
    found.bars.bar(&site.name, rates);
    Ok(pace)
}

/// The document's figures: 16 vCPU, 60 GB, server apart from the client.
fn references(series: u64, table: &mut Table) {
    let rows: &[[&str; 5]] = match series {
        400_000 | 40_000 => &[
            ["VictoriaMetrics", "2 600 000", "3 072", "0.56", "400 K series"],
            ["InfluxDB", "1 200 000", "8 704", "0.93", "400 K series"],
            ["TimescaleDB", "849 000", "2 560", "28.9", "400 K series"],
        ],
        4_000_000 => &[
            ["VictoriaMetrics", "2 200 000", "6 144", "1.74", "4 M series"],
            ["InfluxDB", "330 000", "20 992", "10.6", "4 M series"],
            ["TimescaleDB", "480 000", "2 560", "30.1", "4 M series"],
        ],
        _ => &[
            ["VictoriaMetrics", "1 700 000", "29 696", "5.9", "40 M series"],
            ["InfluxDB", "did not finish", "> 61 440", "-", "40 M series"],
            ["TimescaleDB", "330 000", "2 560", "29.2", "40 M series"],
        ],
    };
    for [server, rate, memory, disk, size] in rows {
        table.reference(
            &format!("seed 004, {size}, 16 vCPU"),
            &[server, "whole", "-", rate, "-", "-", "-", "-", memory, disk, "-", "-", "-"],
        );
    }
}
