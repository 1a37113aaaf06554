//! Insertion into many series (valyala, "High-cardinality TSDB benchmarks: VictoriaMetrics vs
//! TimescaleDB vs InfluxDB", 2018): TSBS cpu-only, ten fields a host, three days of data, the
//! number of hosts grows as the interval does. Registration of all series is timed apart from
//! the steady rest, which the original could not do.

use std::io;

use super::limits;
use super::numbers::thousands;
use super::plots::resource_plots;
use super::run::{Cell, Run};
use super::tables::{add_costs, cost_table, write_cells, write_table};
use crate::caps::Allowance;
use crate::profile::Profile;
use crate::report::{Plot, Section, Table};
use crate::result::LoadResult;
use crate::runs::{Measured, Runs};
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
/// pace of the size before: short, usual.
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

/// The two loads of a size: all series are registered, then the rest is written.
type Both = (LoadResult, LoadResult);

impl Measured for Both {
    fn void(&self) -> Option<String> {
        self.0.void().or_else(|| self.1.void())
    }
}

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = run.plan.sites.clone();
    // Values per second of the last registration; any pace will do for the first size.
    let mut paces = vec![f64::INFINITY; sites.len()];
    let (_caps, limits) = limits::apply(&sites, SERVER);
    for (at, (hosts, interval_ms, steps)) in
        run.pick(SHORT_SIZES, SIZES, SIZES).into_iter().enumerate()
    {
        let series = hosts * 10;
        if run.plan.series_max.is_some_and(|most| series > most) {
            continue;
        }
        let steps = ((steps as f64 / run.plan.scale_down) as u64).max(2);
        let connections = run.pick(4, 16, 16);
        let size = Size { at: at as u64, hosts, interval_ms, steps, connections };
        let mut section = size.section();
        let mut jobs = Vec::new();
        for (site, pace) in sites.iter().zip(&paces) {
            let estimate_s = (hosts * 10) as f64 / pace;
            match estimate_s > run.pick(REGISTRATION_S_MAX.0, REGISTRATION_S_MAX.1, f64::INFINITY) {
                true => section.say(format!(
                    "{}: left out, at the pace of the size before it would register these series \
                     in {estimate_s:.0} s.",
                    site.name
                )),
                false => jobs.push(site),
            }
        }
        let mut number = 0;
        let found = run.repeated(&jobs, |run, site| {
            number += 1;
            insert(run, site, &size, number)
        })?;
        let cells: Vec<(&Site, Runs<Both>)> = jobs.into_iter().zip(found).collect();
        for (site, pace) in sites.iter().zip(&mut paces) {
            let runs = cells.iter().find(|(of, _)| of.name == site.name).map(|(_, runs)| runs);
            let median = |runs: &Runs<Both>| runs.figure(|both| Some(both.0.write.points_per_s));
            *pace = runs.and_then(median).map_or(*pace, |figure| figure.median);
        }
        size.fill(&mut section, &cells);
        section.tables.splice(0..0, (at == 0).then(|| limits.clone()));
        run.report.sections.push(section);
    }
    Ok(())
}

impl Size {
    fn name(&self) -> String {
        format!("{} series", thousands((self.hosts * 10) as f64))
    }

    fn section(&self) -> Section {
        let mut section = Section { heading: self.name(), ..Section::default() };
        section.say(format!(
            "{} hosts with ten fields, {} steps of {} s, {} connections, 1 000 lines a request.",
            thousands(self.hosts as f64),
            self.steps,
            self.interval_ms / 1000,
            self.connections
        ));
        section.say(SHORTENED);
        section
    }

    fn fill(&self, section: &mut Section, cells: &[(&Site, Runs<Both>)]) {
        let name = self.name();
        let mut table =
            write_table(&format!("Insertion, {name}"), &["server", "phase"], &["values"]);
        let mut costs = cost_table(&format!("Costs, {name}"));
        let mut bars = Plot::bars(&format!("{name}: values per second"), "values/s");
        let mut steady = Vec::new();
        for (site, both) in cells.iter().filter(|(_, both)| !both.is_empty()) {
            let registration = Runs::new(both.iter().map(|both| both.0.clone()).collect());
            let rest = Runs::new(both.iter().map(|both| both.1.clone()).collect());
            let mut heights = Vec::new();
            for (phase, runs) in [("registration", &registration), ("steady", &rest)] {
                let values = runs.cell(|run| Some(run.write.points_acked as f64), thousands);
                let mut row = vec![site.name.clone(), phase.to_owned(), values];
                row.extend(write_cells(runs));
                table.judged(row, runs.void());
                let what = format!("{}, {phase}", site.name);
                add_costs(&mut costs, &what, runs);
                Run::faults(section, &what, runs);
                let rate = runs.sound(|run| Some(run.write.points_per_s));
                heights.push((phase.to_owned(), rate));
            }
            bars.bar(&site.name, heights);
            steady.extend(
                both.iter()
                    .find(|both| both.1.void().is_none())
                    .map(|both| (format!("{}, steady", site.name), &both.1)),
            );
        }
        references(self.hosts * 10, &mut table);
        section.tables.extend([table, costs]);
        section.plots.extend([bars].into_iter().filter(|plot| !plot.is_empty()));
        section.plots.extend(resource_plots(&name, &steady));
    }
}

/// Registers all series at a site, then writes the rest. `number` tells the runs of a size apart.
fn insert(run: &mut Run, site: &Site, size: &Size, number: u64) -> io::Result<Option<Both>> {
    let mut fleet = run.fleet(site, Profile::tsbs_cpu(), size.hosts, 0);
    fleet.shape.interval_ms = size.interval_ms;
    // Other labels than in the sizes and runs before: all series are new to the server.
    fleet.shape.seed += 1000 * (size.at + 1) + number;
    let whole =
        Cell { connections: size.connections, batch: 1000, verify: None, ..Cell::default() };
    let registration = Cell { steps: 0..1, ..whole.clone() };
    let steady = Cell { steps: 1..size.steps, verify: Some(100), ..whole };
    let Some(registered) = run.load(site, &fleet, &registration)? else { return Ok(None) };
    let Some(rest) = run.load(site, &fleet, &steady)? else { return Ok(None) };
    Ok(Some((registered, rest)))
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
            &[server, "whole", "-", "-", rate, "-", "-", "-", "-", memory, disk, "-", "-", "-"],
        );
    }
}
