//! A small box (TickTockDB's report on a Raspberry Pi Zero W against InfluxDB): one core, 512 MB,
//! one to nine clients that each own a device with ten sensors, ten rows a request; first only
//! writing, then half reading; and with half of the rows late, which the original's configuration
//! claims but does not switch on.

use std::io;

use super::limits;
use super::numbers::thousands;
use super::plots::spectrum;
use super::run::{Cell, Form, Run};
use super::tables::{LATENCY_COLUMNS, add_costs, cost_table, operations, write_cells, write_table};
use crate::caps::Allowance;
use crate::disorder::Disorder;
use crate::profile::Profile;
use crate::query::KindResult;
use crate::report::{Plot, Section, Table};
use crate::result::LoadResult;
use crate::runs::Runs;
use crate::site::Site;

/// Rows of a request.
const ROWS: u64 = 10;

/// Requests of each client in the document, writes and reads together.
const REQUESTS: f64 = 1e6;

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
        let clients = run.pick(vec![1, 5, 9], CLIENTS.to_vec(), CLIENTS.to_vec());
        let jobs: Vec<(&Site, u64)> = sites
            .iter()
            .flat_map(|site| clients.iter().map(move |clients| (site, *clients)))
            .collect();
        let found = run.repeated(&jobs, |run, (site, clients)| {
            measure(run, site, *clients, reads_per_write, late)
        })?;
        let cells: Vec<_> = jobs.iter().zip(&found).collect();
        let section = section(heading, &sites, &clients, &cells, at);
        run.report.sections.push(section);
        if let (0, Some(section)) = (at, run.report.sections.last_mut()) {
            section.tables.insert(0, limits.clone());
        }
    }
    Ok(())
}

/// Writes of a client in full form.
fn writes(reads_per_write: f64) -> u64 {
    (REQUESTS / (1.0 + reads_per_write)) as u64
}

/// One run of one cell.
fn measure(
    run: &mut Run,
    site: &Site,
    clients: u64,
    reads_per_write: f64,
    late: f64,
) -> io::Result<Option<LoadResult>> {
    let mut fleet = run.fleet(site, Profile::iotdb(), clients, 10);
    let (mut steps, mut limit) = (0..u64::MAX, Some(run.seconds(1.5, 60.0, 60.0)));
    if run.plan.form == Form::Full && run.plan.cell_seconds.is_none() {
        // So many rows at the document's five seconds would reach into the times of the next cell.
        fleet.shape.interval_ms = 1000;
        (steps, limit) = (0..writes(reads_per_write) * ROWS, None);
    }
    let cell = Cell {
        connections: clients,
        batch: ROWS,
        block: ROWS,
        steps,
        disorder: Disorder { late, late_steps_max: 1000, ..Disorder::default() },
        warm_up: run.warm_up(),
        limit,
        timed: true,
        reads_per_write,
        same_reads: true,
        verify: Some(9),
        settle: false,
        ..Cell::default()
    };
    run.load(site, &fleet, &cell)
}

/// What one variant found, cell by cell.
fn section(
    heading: &str,
    sites: &[Site],
    clients: &[u64],
    cells: &[(&(&Site, u64), &Runs<LoadResult>)],
    at: usize,
) -> Section {
    let mut table = write_table(heading, &["clients", "server"], &["reads/s"]);
    let mut costs = cost_table(&format!("{heading}: costs"));
    let mut latencies = Table::new(
        &format!("{heading}: latency in ms"),
        &["server, clients, operation"],
        &LATENCY_COLUMNS,
    );
    let mut bars = Plot::bars(&format!("{heading}: values per second"), "values/s");
    let mut section = Section { heading: heading.to_owned(), ..Section::default() };
    if let Some(asked) = asked_kinds(cells) {
        section.say(format!(
            "Every server is asked the same kinds, in turns: those that all of them can be asked \
             ({asked})."
        ));
    }
    if at == 0 {
        section.say(
            "A core of this machine is not that hardware: compare servers with each other, not \
             with the reference rows.",
        );
    }
    for site in sites {
        let own =
            || cells.iter().filter(|((of, _), runs)| of.name == site.name && !runs.is_empty());
        for ((_, clients), runs) in own() {
            let mut row = vec![clients.to_string(), site.name.clone()];
            row.push(runs.cell(|run| Some(reads_per_s(run)), thousands));
            row.extend(write_cells(runs));
            table.judged(row, runs.void());
            let what = format!("{}, {clients} clients", site.name);
            add_costs(&mut costs, &what, runs);
            operations(&format!("{}, {clients}", site.name), runs, &mut latencies);
            Run::faults(&mut section, &what, runs);
        }
        let height = |clients: &u64| {
            let (_, runs) = own().find(|((_, of), _)| of == clients)?;
            runs.sound(|run| Some(run.write.points_per_s))
        };
        bars.bar(&site.name, clients.iter().map(|c| (c.to_string(), height(c))).collect());
    }
    reference(at, &mut table);
    section.tables.extend([table, latencies, costs]);
    let all = [bars, response(heading, sites, cells), percentiles(heading, clients, cells)];
    section.plots.extend(all.into_iter().filter(|plot| !plot.is_empty()));
    section
}

/// Response time against throughput, from the fewest clients to the most.
fn response(heading: &str, sites: &[Site], cells: &[(&(&Site, u64), &Runs<LoadResult>)]) -> Plot {
    let title = format!("{heading}: response time by throughput, client by client");
    let mut plot = Plot::lines(&title, "values/s", "mean ms");
    for site in sites {
        let own = cells.iter().filter(|((of, _), _)| of.name == site.name);
        let point = |(_, runs): &(&(&Site, u64), &Runs<LoadResult>)| {
            let rate = runs.sound(|run| Some(run.write.points_per_s));
            (rate, runs.sound(|run| run.write.intended_latency.mean_ms))
        };
        plot.curve(&site.name, own.map(point).collect());
    }
    plot
}

/// Writes by percentile with the most clients.
fn percentiles(
    heading: &str,
    clients: &[u64],
    cells: &[(&(&Site, u64), &Runs<LoadResult>)],
) -> Plot {
    let most = clients.iter().copied().max().unwrap_or_default();
    let own = cells.iter().filter(|((_, clients), _)| *clients == most);
    let own = own.map(|((site, _), runs)| (site.name.as_str(), *runs));
    let title = format!("{heading}: writes by percentile, {most} clients");
    spectrum(&title, own, |run| Some(run.write.intended_latency))
}

fn reads_per_s(run: &LoadResult) -> f64 {
    run.reads.iter().map(|read| read.per_second).sum()
}

/// The kinds that were asked between the writes, if any were.
fn asked_kinds(cells: &[(&(&Site, u64), &Runs<LoadResult>)]) -> Option<String> {
    let run = cells.iter().find_map(|(_, runs)| runs.iter().next())?;
    let names: Vec<String> = run.reads.iter().map(KindResult::name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The document's figures.
fn reference(at: usize, table: &mut Table) {
    let (rate, mean) = match at {
        0 => ("58 000", "< 1"),
        1 => ("22 000", "-"),
        _ => return,
    };
    let mut cells = vec!["5", "TickTockDB 0.3.8", "-", "-", rate, "-", mean];
    cells.extend(["-"; 7]);
    table.reference("seed 002, ARMv6 1 GHz", &cells);
}
