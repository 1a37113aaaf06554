//! CPU scaling (TickTockDB's report on one to four vCPU): 200 clients, each with one device of ten
//! sensors, twenty rows a request, nine writes to one read, back to back. Streams without replies
//! and acknowledged HTTP stand in tables of their own.

use std::collections::BTreeMap;
use std::io;

mod usl;

use super::numbers::thousands;
use super::plots::spectrum;
use super::run::{Cell, Run, UNSAID_S};
use super::tables::{LATENCY_COLUMNS, operations, write_cells, write_table};
use crate::adapter::Style;
use crate::profile::Profile;
use crate::report::{Plot, Section, Table};
use crate::result::LoadResult;
use crate::runs::{Runs, Sound};
use crate::site::Site;

/// Connections, one device each: the document's, and the most that any of the documents had.
const CLIENTS: u64 = 200;
const CLIENTS_MANY: u64 = 1000;

const CORES_MAX: usize = 4;

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

const WAYS: [Way; 4] = [
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
        heading: "Streams without replies, nine writes to one read",
        clients: CLIENTS,
        reads_per_write: 1.0 / 9.0,
        scales: true,
    },
    Way {
        style: Style::Stream,
        heading: "Streams without replies, writes only",
        clients: CLIENTS,
        reads_per_write: 0.0,
        scales: true,
    },
];

/// What the cells of one way of writing found.
struct Found {
    way: Way,
    cores: usize,
    /// Server, cores, and the runs.
    cells: Vec<(Site, usize, Runs<LoadResult>)>,
    /// Servers whose cores could not be limited, with the reason.
    unbound: BTreeMap<String, String>,
}

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(CORES_MAX);
    for way in WAYS {
        let found = Found::measure(run, way, cores)?;
        let section = found.section();
        run.report.sections.push(section);
    }
    Ok(())
}

impl Found {
    /// Measures every server on one core, then on two, as far as there are any.
    fn measure(run: &mut Run, way: Way, cores: usize) -> io::Result<Found> {
        let sites = run.plan.sites.clone();
        let first = if way.scales { 1 } else { cores };
        let mut unbound = BTreeMap::new();
        let mut jobs: Vec<(Site, usize)> = Vec::new();
        for site in sites.iter().filter(|site| site.target(way.style).is_some()) {
            match site.bind_to_cores(first) {
                Ok(()) => jobs.extend((first..=cores).map(|count| (site.clone(), count))),
                Err(why) => {
                    unbound.insert(site.name.clone(), why);
                    jobs.push((site.clone(), cores));
                }
            }
        }
        let runs = run.repeated(&jobs, |run, (site, count)| {
            // Where binding failed once it fails again, and that is said.
            let _ = site.bind_to_cores(*count);
            let result = load(run, site, way);
            let _ = site.bind_to_all_cores();
            result
        })?;
        let cells = jobs.into_iter().zip(runs).map(|((site, count), runs)| (site, count, runs));
        Ok(Found { way, cores, cells: cells.filter(|cell| !cell.2.is_empty()).collect(), unbound })
    }

    fn section(&self) -> Section {
        let heading = self.way.heading;
        let mut section = Section { heading: heading.to_owned(), ..Section::default() };
        section.say(format!(
            "{} connections, one device each, 200 values a request; medians of the runs. The \
             client shares the machine's cores with the server, so its share of the CPU bounds \
             what the last core can add. Fairness is Jain's index over the connections: 1 when \
             all got the same. The 99th percentile of write times is also given by connection: \
             the least, the median and the most.",
            self.way.clients
        ));
        for (name, why) in &self.unbound {
            section.say(format!("{name}: cores not limited: {why}"));
        }
        let mut latencies = Table::new(
            &format!("{heading}: latency in ms"),
            &["server, cores, operation"],
            &LATENCY_COLUMNS,
        );
        for (site, count, runs) in &self.cells {
            Run::faults(&mut section, &format!("{}, {count} cores", site.name), runs);
            operations(&format!("{}, {count}", site.name), runs, &mut latencies);
        }
        section.tables.extend([self.throughput(), latencies]);
        let own = self.cells.iter().filter(|(_, count, _)| *count == self.cores);
        let title = format!("{heading}: writes by percentile, {} cores", self.cores);
        let plot = spectrum(&title, own.map(|(site, _, runs)| (site.name.as_str(), runs)), |run| {
            Some(run.write.service_time)
        });
        section.plots.extend([self.bars(), plot].into_iter().filter(|plot| !plot.is_empty()));
        if self.way.scales {
            section
                .tables
                .extend([self.reads()].into_iter().filter(|table| !table.rows.is_empty()));
            self.scaling(&mut section);
        }
        section
    }

    fn throughput(&self) -> Table {
        let own = ["ratio to one core", "slowest / fastest", "fairness", "p99 by connection, ms"];
        let mut table = write_table(self.way.heading, &["cores", "server"], &own);
        for (site, count, runs) in &self.cells {
            let fine =
                |of: fn(&LoadResult) -> f64| runs.cell(|run| Some(of(run)), |v| format!("{v:.3}"));
            let ratio = self.rate(&site.name, 1).zip(self.rate(&site.name, *count));
            let ratio = ratio.filter(|_| self.way.scales);
            let by_connection = runs.iter().next().map(|run| run.write.spread.p99_cell());
            let mut cells = vec![
                count.to_string(),
                site.name.clone(),
                ratio.map_or("-".into(), |(one, rate)| format!("{:.2}", rate / one)),
                fine(|run| run.write.spread.slowest_to_fastest()),
                fine(|run| run.write.spread.fairness),
                by_connection.unwrap_or_default(),
            ];
            cells.extend(write_cells(runs));
            table.judged(cells, runs.void());
        }
        if self.way.style == Style::Stream {
            references(&mut table);
        }
        table
    }

    /// Values per second of a valid cell.
    fn rate(&self, name: &str, cores: usize) -> Option<f64> {
        let (_, _, runs) = self.cells.iter().find(|cell| cell.0.name == name && cell.1 == cores)?;
        runs.sound(|run| Some(run.write.points_per_s)).map(Sound::value)
    }

    /// Mean times of reads by cores.
    fn reads(&self) -> Table {
        let counts: Vec<String> =
            (1..=self.cores).map(|count| format!("{count}, mean ms")).collect();
        let counts: Vec<&str> = counts.iter().map(String::as_str).collect();
        let name = format!("{}: reads by cores", self.way.heading);
        let mut table = Table::new(&name, &["server, read"], &counts);
        let mut rows: BTreeMap<String, (Vec<String>, Option<String>)> = BTreeMap::new();
        for (site, count, runs) in &self.cells {
            let Some(first) = runs.iter().next() else { continue };
            for (at, read) in first.reads.iter().enumerate().filter(|(_, read)| read.asked > 0) {
                let empty = || (vec!["-".to_owned(); self.cores], None);
                let row =
                    rows.entry(format!("{}, {}", site.name, read.name())).or_insert_with(empty);
                let mean = |run: &LoadResult| run.reads.get(at)?.service_time.mean_ms;
                if let Some(place) = row.0.get_mut(count - 1) {
                    *place = runs.cell(mean, |ms| format!("{ms:.2}"));
                }
                row.1 = row.1.take().or_else(|| runs.void());
            }
        }
        for (name, (means, void)) in rows {
            table.judged([name].into_iter().chain(means).collect(), void);
        }
        table
    }

    /// Draws throughput by cores.
    fn bars(&self) -> Plot {
        let mut bars = Plot::bars(&format!("{}: values per second", self.way.heading), "values/s");
        for (name, rates) in self.rates() {
            let height = |(count, rate)| (format!("{count} cores"), rate);
            bars.bar(name, rates.into_iter().map(height).collect());
        }
        bars
    }

    /// Fits the law to throughput by cores, where all cells are valid.
    fn scaling(&self, section: &mut Section) {
        for (name, rates) in self.rates() {
            let valid: Vec<(f64, f64)> = rates
                .iter()
                .filter_map(|(cores, rate)| Some((*cores as f64, (*rate)?.value())))
                .collect();
            if let Some((contention, coherency)) = usl::fit(&valid) {
                section.say(format!(
                    "{name}: universal scalability law: contention {contention:.3}, coherency \
                     {coherency:.4}."
                ));
            }
        }
    }

    /// Values per second by cores of each server; none where a cell is not valid.
    fn rates(&self) -> BTreeMap<&str, Vec<(usize, Option<Sound>)>> {
        let mut rates: BTreeMap<&str, Vec<(usize, Option<Sound>)>> = BTreeMap::new();
        for (site, count, runs) in &self.cells {
            let rate = runs.sound(|run| Some(run.write.points_per_s));
            rates.entry(&site.name).or_default().push((*count, rate));
        }
        rates
    }
}

/// One run of one cell; none when the site has no such door.
fn load(run: &mut Run, site: &Site, way: Way) -> io::Result<Option<LoadResult>> {
    let fleet = run.fleet(site, Profile::iotdb(), way.clients, 10);
    let cell = Cell {
        style: way.style,
        connections: way.clients,
        batch: 20,
        block: 20,
        steps: 0..u64::MAX,
        warm_up: run.warm_up(),
        limit: Some(run.seconds(3.0, 30.0, UNSAID_S)),
        timed: true,
        reads_per_write: way.reads_per_write,
        ..Cell::default()
    };
    run.load(site, &fleet, &cell)
}

/// The document's throughput.
fn references(table: &mut Table) {
    let rows = [(1, 2_623_767.0), (2, 3_262_576.0), (3, 4_890_237.0), (4, 6_202_833.0)];
    for (cores, rate) in rows {
        let ratio = format!("{:.2}", rate / 2_623_767.0);
        let (cores, rate) = (cores.to_string(), thousands(rate));
        let mut cells = vec![cores.as_str(), "TickTockDB 0.4.0-beta", &ratio, "-", "-", "-", "-"];
        cells.push(&rate);
        cells.extend(["-"; 9]);
        table.reference("seed 001, Ryzen 5600H", &cells);
    }
}
