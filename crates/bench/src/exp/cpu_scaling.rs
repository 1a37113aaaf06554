//! CPU scaling (TickTockDB's report on one to four vCPU): 200 clients, each with one device of ten
//! sensors, twenty rows a request, nine writes to one read, back to back. Streams without replies
//! and acknowledged HTTP stand in tables of their own.

use std::io;

mod usl;

use super::{Cell, Run, small_box, thousands, write_cells, write_table};
use crate::profile::Profile;
use crate::query::KindResult;
use crate::report::{Plot, Table};
use crate::result::LoadResult;
use crate::site::{Site, Style};

const CLIENTS: u64 = 200;
const CORES_MAX: usize = 4;

const LATENCY_COLUMNS: [&str; 9] = [
    "server, cores, operation",
    "mean",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "checked / wrong",
];

/// What one way of writing found.
struct Found {
    table: Table,
    latencies: Table,
    plot: Plot,
    /// Words, or the result whose faults are to be described.
    notes: Vec<(String, Option<LoadResult>)>,
}

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = run.plan.sites.clone();
    for (style, heading, reads_per_write) in [
        (Style::Rows, "Acknowledged HTTP, nine writes to one read", 1.0 / 9.0),
        (Style::Stream, "Streams without replies, writes only", 0.0),
    ] {
        let columns = ["cores", "server", "ratio to one core", "slowest / fastest client"];
        let mut found = Found {
            table: write_table(heading, &columns),
            latencies: Table::new(&format!("{heading}: latency in ms"), &LATENCY_COLUMNS),
            plot: Plot::lines(&format!("{heading}: scaling"), "cores", "values/s"),
            notes: Vec::new(),
        };
        for site in &sites {
            run_site(run, site, style, reads_per_write, &mut found)?;
        }
        small_box::all_cores(&sites);
        if style == Style::Stream {
            references(&mut found.table);
        }
        let section = run.report.section(heading);
        section.say(format!(
            "{CLIENTS} connections, one device each, 200 values a request; the best of the \
             repetitions. The client shares the machine's cores with the server, so its share of \
             the CPU bounds what the last core can add."
        ));
        for (what, result) in &found.notes {
            match result {
                Some(result) => Run::faults(section, what, result),
                None => section.say(what.clone()),
            }
        }
        section.tables.extend([found.table, found.latencies]);
        section.plots.extend([found.plot].into_iter().filter(|plot| !plot.lines.is_empty()));
    }
    Ok(())
}

/// One server, bound to one core, then to two, as far as there are any.
fn run_site(
    run: &mut Run,
    site: &Site,
    style: Style,
    reads_per_write: f64,
    found: &mut Found,
) -> io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(CORES_MAX);
    let mut line = Vec::new();
    for count in 1..=cores {
        let bound = site.bind_to_cores(count);
        if bound.is_err() && count < cores {
            continue;
        }
        let Some(result) = best(run, site, style, reads_per_write)? else { return Ok(()) };
        let rate = result.write.points_per_s;
        let one = line.first().map_or(rate, |(_, rate)| *rate);
        line.push((count as f64, rate));
        let (slowest, fastest) = result.write.connection_points;
        let mut cells = vec![
            count.to_string(),
            site.name.clone(),
            format!("{:.2}", rate / one),
            format!("{:.2}", slowest as f64 / (fastest as f64).max(1.0)),
        ];
        cells.extend(write_cells(&result));
        found.table.row(cells);
        operations(&format!("{}, {count}", site.name), &result, &mut found.latencies);
        if let Err(why) = bound {
            found.notes.push((format!("{}: cores not limited: {why}", site.name), None));
        }
        found.notes.push((format!("{}, {count} cores", site.name), Some(result)));
    }
    if let Some((contention, coherency)) = usl::fit(&line) {
        let words = format!(
            "{}: universal scalability law: contention {contention:.3}, coherency {coherency:.4}.",
            site.name
        );
        found.notes.push((words, None));
    }
    if line.len() > 1 {
        found.plot.line(&site.name, line);
    }
    Ok(())
}

/// The fastest of the repetitions of one cell; none when the site has no such door.
fn best(
    run: &mut Run,
    site: &Site,
    style: Style,
    reads_per_write: f64,
) -> io::Result<Option<LoadResult>> {
    let mut best: Option<LoadResult> = None;
    for _ in 0..run.pick(1, 3) {
        let fleet = run.fleet(Profile::Iotdb, CLIENTS, 10);
        let cell = Cell {
            style,
            connections: CLIENTS,
            batch: 20,
            block: 20,
            steps: 0..u64::MAX,
            limit: Some(run.seconds(3.0, 30.0)),
            reads_per_write,
            ..Cell::default()
        };
        let Some(result) = run.load(site, &fleet, &cell)? else { return Ok(None) };
        let rate = result.write.points_per_s;
        if best.as_ref().is_none_or(|best| best.write.points_per_s < rate) {
            best = Some(result);
        }
    }
    Ok(best)
}

/// Rows of the latency table: the write and each kind of read.
fn operations(name: &str, result: &LoadResult, table: &mut Table) {
    let mut row = |operation: String, p: &crate::latency::Percentiles, checked: String| {
        let mut cells = vec![format!("{name}, {operation}")];
        let values = [p.mean_ms, p.p50_ms, p.p75_ms, p.p90_ms, p.p95_ms, p.p99_ms, p.p999_ms];
        cells.extend(values.iter().map(|ms| format!("{ms:.2}")));
        cells.push(checked);
        table.row(cells);
    };
    let verdict = result.verification.as_ref();
    let checked = verdict.map_or("-".into(), |v| format!("{} / {}", v.values, v.wrong));
    row("write".into(), &result.write.service_time, checked);
    let name_of = |read: &KindResult| {
        let name = serde_json::to_value(read.kind).unwrap_or_default();
        name.as_str().unwrap_or_default().to_owned()
    };
    for read in result.reads.iter().filter(|read| read.asked > 0) {
        row(name_of(read), &read.service_time, format!("{} / {}", read.judged, read.wrong));
    }
}

/// The document's throughput.
fn references(table: &mut Table) {
    let rows = [(1, 2_623_767.0), (2, 3_262_576.0), (3, 4_890_237.0), (4, 6_202_833.0)];
    for (cores, rate) in rows {
        let ratio = format!("{:.2}", rate / 2_623_767.0);
        let (cores, rate) = (cores.to_string(), thousands(rate));
        let mut cells = vec![cores.as_str(), "TickTockDB 0.4.0-beta", &ratio, "-", &rate];
        cells.extend(["-"; 8]);
        table.reference("seed 001, Ryzen 5600H", &cells);
    }
}
