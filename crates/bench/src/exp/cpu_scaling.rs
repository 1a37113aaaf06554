//! CPU scaling (TickTockDB's report on one to four vCPU): 200 clients, each with one device of ten
//! sensors, twenty rows a request, nine writes to one read, back to back. Streams without replies
//! and acknowledged HTTP stand in tables of their own.

use std::collections::BTreeMap;
use std::io;

mod usl;

use super::tables::{thousands, write_cells, write_table};
use super::{Cell, Run};
use crate::profile::Profile;
use crate::report::{Plot, Table};
use crate::result::LoadResult;
use crate::site::{Site, Style};

/// Connections, one device each: the document's, and the most that any of the documents had.
const CLIENTS: u64 = 200;
const CLIENTS_MANY: u64 = 1000;

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

/// One way of writing.
#[derive(Clone, Copy)]
struct Way {
    style: Style,
    heading: &'static str,
    clients: u64,
    reads_per_write: f64,
    /// Whether to begin with one core, or to take all at once.
    scales: bool,
}

const WAYS: [Way; 3] = [
    Way {
        style: Style::Rows,
        heading: "Acknowledged HTTP, nine writes to one read",
        clients: CLIENTS,
        reads_per_write: 1.0 / 9.0,
        scales: true,
    },
    Way {
        style: Style::Rows,
        heading: "The same over a thousand connections",
        clients: CLIENTS_MANY,
        reads_per_write: 1.0 / 9.0,
        scales: false,
    },
    Way {
        style: Style::Stream,
        heading: "Streams without replies, writes only",
        clients: CLIENTS,
        reads_per_write: 0.0,
        scales: true,
    },
];

/// What one way of writing found.
struct Found {
    table: Table,
    latencies: Table,
    /// Mean times of reads by cores.
    reads: Table,
    plot: Plot,
    /// Words, or the result whose faults are to be described.
    notes: Vec<(String, Option<LoadResult>)>,
}

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = run.plan.sites.clone();
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(CORES_MAX);
    for way in WAYS {
        let heading = way.heading;
        let columns = [
            "cores",
            "server",
            "ratio to one core",
            "slowest / fastest",
            "fairness",
            "p99 by connection, ms",
        ];
        let counts: Vec<String> = (1..=cores).map(|count| format!("{count}, mean ms")).collect();
        let counts = counts.iter().map(String::as_str);
        let read_columns: Vec<&str> = ["server, read"].into_iter().chain(counts).collect();
        let mut found = Found {
            table: write_table(heading, &columns),
            latencies: Table::new(&format!("{heading}: latency in ms"), &LATENCY_COLUMNS),
            reads: Table::new(&format!("{heading}: reads by cores"), &read_columns),
            plot: Plot::lines(&format!("{heading}: scaling"), "cores", "values/s"),
            notes: Vec::new(),
        };
        for site in &sites {
            run_site(run, site, way, cores, &mut found)?;
            // Where binding failed before it fails again, and the report already says so.
            let _ = site.bind_to_all_cores();
        }
        if way.style == Style::Stream {
            references(&mut found.table);
        }
        let section = run.report.section(heading);
        section.say(format!(
            "{} connections, one device each, 200 values a request; the best of the \
             repetitions. The client shares the machine's cores with the server, so its share of \
             the CPU bounds what the last core can add. Fairness is Jain's index over the \
             connections: 1 when all got the same. The 99th percentile of write times is also \
             given by connection: the least, the median and the most.",
            way.clients
        ));
        for (what, result) in &found.notes {
            match result {
                Some(result) => Run::faults(section, what, result),
                None => section.say(what.clone()),
            }
        }
        section.tables.extend([found.table, found.latencies]);
        section.tables.extend([found.reads].into_iter().filter(|table| !table.rows.is_empty()));
        section.plots.extend([found.plot].into_iter().filter(|plot| !plot.lines.is_empty()));
    }
    Ok(())
}

/// One server, bound to one core, then to two, as far as there are any.
fn run_site(
    run: &mut Run,
    site: &Site,
    way: Way,
    cores: usize,
    found: &mut Found,
) -> io::Result<()> {
    let mut line = Vec::new();
    let mut means: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let first = if way.scales { 1 } else { cores };
    for count in first..=cores {
        let bound = site.bind_to_cores(count);
        if bound.is_err() && count < cores {
            continue;
        }
        let Some(result) = best(run, site, way)? else { return Ok(()) };
        let rate = result.write.points_per_s;
        let one = line.first().map_or(rate, |(_, rate)| *rate);
        line.push((count as f64, rate));
        let spread = &result.write.spread;
        let mut cells = vec![
            count.to_string(),
            site.name.clone(),
            if way.scales { format!("{:.2}", rate / one) } else { "-".to_owned() },
            format!("{:.2}", spread.slowest_to_fastest()),
            format!("{:.3}", spread.fairness),
            spread.p99_ms.cell(),
        ];
        cells.extend(write_cells(&result));
        found.table.row(cells);
        operations(&format!("{}, {count}", site.name), &result, &mut found.latencies);
        for read in result.reads.iter().filter(|read| read.asked > 0) {
            means.entry(read.name()).or_default().push(read.service_time.mean_ms);
        }
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
        found.notes.extend(reads_by_cores(&site.name, &means, &mut found.reads));
    }
    Ok(())
}

/// Rows of reads by cores; in words, by how much the last core changed them.
fn reads_by_cores(
    name: &str,
    means: &BTreeMap<String, Vec<f64>>,
    table: &mut Table,
) -> Option<(String, Option<LoadResult>)> {
    let mut ratios = Vec::new();
    for (read, means) in means {
        let shown = means.iter().map(|mean| format!("{mean:.2}"));
        table.row([format!("{name}, {read}")].into_iter().chain(shown).collect());
        let (Some(one), Some(all)) = (means.first(), means.last()) else { continue };
        ratios.push(format!("{read} {:.2}", all / one.max(1e-9)));
    }
    let words = format!(
        "{name}: mean time of reads on all cores as a share of that on one: {}.",
        ratios.join(", ")
    );
    (!ratios.is_empty()).then_some((words, None))
}

/// The fastest of the repetitions of one cell; none when the site has no such door.
fn best(run: &mut Run, site: &Site, way: Way) -> io::Result<Option<LoadResult>> {
    let mut best: Option<LoadResult> = None;
    for _ in 0..run.pick(1, 3) {
        let fleet = run.fleet(Profile::Iotdb, way.clients, 10);
        let cell = Cell {
            style: way.style,
            connections: way.clients,
            batch: 20,
            block: 20,
            steps: 0..u64::MAX,
            limit: Some(run.seconds(3.0, 30.0)),
            reads_per_write: way.reads_per_write,
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
    for read in result.reads.iter().filter(|read| read.asked > 0) {
        row(read.name(), &read.service_time, format!("{} / {}", read.judged, read.wrong));
    }
}

/// The document's throughput.
fn references(table: &mut Table) {
    let rows = [(1, 2_623_767.0), (2, 3_262_576.0), (3, 4_890_237.0), (4, 6_202_833.0)];
    for (cores, rate) in rows {
        let ratio = format!("{:.2}", rate / 2_623_767.0);
        let (cores, rate) = (cores.to_string(), thousands(rate));
        let mut cells = vec![cores.as_str(), "TickTockDB 0.4.0-beta", &ratio, "-", "-", "-", &rate];
        cells.extend(["-"; 9]);
        table.reference("seed 001, Ryzen 5600H", &cells);
    }
}
