//! Insertion into many series (valyala, "High-cardinality TSDB benchmarks: VictoriaMetrics vs
//! TimescaleDB vs InfluxDB", 2018): TSBS cpu-only, ten fields a host, three days of data, the
//! number of hosts grows as the interval does. Registration of all series is timed apart from
//! the steady rest, which the original could not do.

use std::io;

use super::{Cell, Run, mib, resource_plots, thousands, write_cells, write_table};
use crate::profile::Profile;
use crate::report::{Plot, Table, TableRow};
use crate::result::LoadResult;

/// (hosts, interval in ms, steps of three days)
const SIZES: [(u64, i64, u64); 3] =
    [(40_000, 60_000, 4320), (400_000, 600_000, 432), (4_000_000, 3_600_000, 72)];

/// Hosts and steps of the short form.
const SHORT_SIZES: [(u64, i64, u64); 2] = [(4_000, 60_000, 240), (40_000, 600_000, 12)];

const SHORTENED: &str = "Shortened: fewer steps (and in the short form fewer hosts) than the \
    document's three days; the reference rows are the document's.";

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sizes = run.pick(SHORT_SIZES.to_vec(), SIZES.to_vec());
    let connections = run.pick(4, 16);
    let sites = run.plan.sites.clone();
    for (at, (hosts, interval_ms, steps)) in sizes.into_iter().enumerate() {
        let steps = ((steps as f64 / run.plan.scale_down) as u64).max(2);
        let name = format!("{} series", thousands((hosts * 10) as f64));
        let mut table = write_table(&format!("Insertion, {name}"), &["server", "phase", "values"]);
        let mut io = Table::new(
            &format!("Disk, {name}"),
            &["server", "written MiB", "write calls", "read calls", "bytes written/value"],
        );
        let mut bars = Plot::bars(&format!("{name}: values per second"), "values/s");
        let mut results = Vec::new();
        let mut notes = Vec::new();
        for site in &sites {
            let mut fleet = run.fleet(Profile::TsbsCpu, hosts, 0);
            fleet.shape.interval_ms = interval_ms;
            // Other labels than in the sizes before: all series are new to the server.
            fleet.shape.seed += 1000 * (at as u64 + 1);
            let whole = Cell { connections, batch: 1000, verify: None, ..Cell::default() };
            let registration = Cell { steps: 0..1, ..whole.clone() };
            let steady = Cell { steps: 1..steps, verify: Some(100), ..whole };
            let mut rates = Vec::new();
            for (phase, cell) in [("registration", registration), ("steady", steady)] {
                let Some(result) = run.load(site, &fleet, &cell)? else { continue };
                let values = thousands(result.write.points_acked as f64);
                let mut cells = vec![site.name.clone(), phase.to_owned(), values];
                cells.extend(write_cells(&result));
                table.row(cells);
                rates.push((phase.to_owned(), result.write.points_per_s));
                io.rows.extend(disk_row(&format!("{}, {phase}", site.name), &result));
                notes.push((format!("{}, {phase}", site.name), result.clone()));
                results.push((format!("{} {phase}", site.name), result));
            }
            bars.bar(&site.name, rates);
        }
        references(hosts * 10, &mut table);
        let plots: Vec<(String, &_)> = results
            .iter()
            .filter(|(name, _)| name.ends_with("steady"))
            .map(|(n, r)| (n.clone(), r))
            .collect();
        let plots = resource_plots(&name, &plots);
        let section = run.report.section(&name);
        section.say(format!(
            "{} hosts with ten fields, {steps} steps of {} s, {connections} connections, 1 000 \
             lines a request.",
            thousands(hosts as f64),
            interval_ms / 1000
        ));
        if run.plan.short || run.plan.scale_down > 1.0 {
            section.say(SHORTENED);
        }
        for (what, result) in &notes {
            Run::faults(section, what, result);
        }
        section.tables.push(table);
        section.tables.push(io);
        section.plots.push(bars);
        section.plots.extend(plots);
    }
    Ok(())
}

/// What a load cost the disk.
fn disk_row(name: &str, result: &LoadResult) -> Option<TableRow> {
    let server = result.server.as_ref()?;
    let (after, before) = (&server.settled, &server.before);
    let cells = vec![
        name.to_owned(),
        format!("{:.1}", mib(after.written_bytes.saturating_sub(before.written_bytes))),
        thousands((after.write_calls.saturating_sub(before.write_calls)) as f64),
        thousands((after.read_calls.saturating_sub(before.read_calls)) as f64),
        format!("{:.2}", server.written_bytes_per_point),
    ];
    Some(TableRow { cells, source: None })
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
            &[server, "whole", "-", rate, "-", "-", "-", "-", memory, disk, "-", "-"],
        );
    }
}
