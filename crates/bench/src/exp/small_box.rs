//! A small box (TickTockDB's report on a Raspberry Pi Zero W against InfluxDB): one core, 512 MB,
//! one to nine clients that each own a device with ten sensors, ten rows a request; first only
//! writing, then half reading; and with half of the rows late, which the original's configuration
//! claims but does not switch on.

use std::io;

use super::tables::{cost_row, cost_table, thousands, write_cells, write_table};
use super::{Cell, Run, limits};
use crate::caps::Allowance;
use crate::disorder::Disorder;
use crate::profile::Profile;
use crate::query::KindResult;
use crate::report::Plot;

const CLIENTS: [u64; 5] = [1, 3, 5, 7, 9];

/// What the board has; its card writes about 10 MB/s.
const BOARD: Allowance =
    Allowance { cores: Some(1), memory_bytes: Some(512 << 20), disk_bytes: Some(10_000_000) };

/// Variants: heading, reads per write, share of late rows.
const VARIANTS: [(&str, f64, f64); 3] = [
    ("Write only", 0.0, 0.0),
    ("Half writes, half reads", 1.0, 0.0),
    ("Write only, half of the rows late", 0.0, 0.5),
];

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = run.plan.sites.clone();
    let (_caps, limits) = limits::apply(&sites, BOARD);
    for (at, (heading, reads_per_write, late)) in VARIANTS.into_iter().enumerate() {
        let mut table = write_table(heading, &["clients", "server", "reads/s"]);
        let mut costs = cost_table(&format!("{heading}: costs"));
        let mut bars = Plot::bars(&format!("{heading}: values per second"), "values/s");
        let mut notes = Vec::new();
        for site in &sites {
            let mut rates = Vec::new();
            for clients in run.pick(vec![1, 5, 9], CLIENTS.to_vec()) {
                let fleet = run.fleet(Profile::Iotdb, clients, 10);
                let disorder = Disorder { late, late_steps_max: 1000, ..Disorder::default() };
                let cell = Cell {
                    connections: clients,
                    batch: 10,
                    block: 10,
                    steps: 0..u64::MAX,
                    disorder,
                    limit: Some(run.seconds(1.5, 60.0)),
                    reads_per_write,
                    same_reads: true,
                    verify: Some(9),
                    settle: false,
                    ..Cell::default()
                };
                let Some(result) = run.load(site, &fleet, &cell)? else { continue };
                let reads: f64 = result.reads.iter().map(|read| read.per_second).sum();
                let mut cells = vec![clients.to_string(), site.name.clone(), thousands(reads)];
                cells.extend(write_cells(&result));
                table.row(cells);
                rates.push((clients.to_string(), result.write.points_per_s));
                let what = format!("{}, {clients} clients", site.name);
                costs.rows.extend(cost_row(&what, &result));
                notes.push((what, result));
            }
            bars.bar(&site.name, rates);
        }
        let reference = |rate, mean| {
            ["5", "TickTockDB 0.3.8", "-", rate, "-", mean, "-", "-", "-", "-", "-", "-", "-"]
        };
        match at {
            0 => table.reference("seed 002, ARMv6 1 GHz", &reference("58 000", "< 1")),
            1 => table.reference("seed 002, ARMv6 1 GHz", &reference("22 000", "-")),
            _ => {}
        }
        let section = run.report.section(heading);
        if let Some((_, result)) = notes.first().filter(|_| reads_per_write > 0.0) {
            let asked: Vec<String> = result.reads.iter().map(KindResult::name).collect();
            section.say(format!(
                "Every server is asked the same kinds, in turns: those that all of them can be \
                 asked ({}).",
                asked.join(", ")
            ));
        }
        if at == 0 {
            section.say(
                "A core of this machine is not that hardware: compare servers with each other, \
                 not with the reference rows.",
            );
            section.tables.push(limits.clone());
        }
        for (what, result) in &notes {
            Run::faults(section, what, result);
        }
        section.tables.extend([table, costs]);
        section.plots.push(bars);
    }
    Ok(())
}
