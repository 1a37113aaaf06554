//! The wind farm (TS-Benchmark's talk, 2018): 100 turbines with 150 sensors every seven seconds.
//! Load, append, query, append while others query, query while others append; then what the talk
//! planned and did not show: correcting data, by inserting what is missing and overwriting what
//! is wrong, each checked.

use std::io;
use std::thread;
use std::time::Duration;

use super::tables::{cost_row, cost_table, thousands, write_cells, write_table};
use super::{Cell, Run};
use crate::catalogue::Kind;
use crate::dialect::Dialect;
use crate::disorder::Disorder;
use crate::fleet::{Fleet, Shape};
use crate::oracle::Oracle;
use crate::pace::Pace;
use crate::profile::Profile;
use crate::query::{KindResult, Stream};
use crate::report::{Plot, Table};
use crate::result::LoadResult;
use crate::site::{Site, Style};
use crate::verify::{VISIBLE_WITHIN, Verdict, verify_whole};

mod reference;

const DEVICES: u64 = 100;
const SENSORS: usize = 150;
const INTERVAL_MS: u64 = 7_000;
const DEVICES_PER_CLIENT: u64 = 50;

/// Share of rows that the load leaves out and the correction inserts.
const MISSING: f64 = 0.01;

/// Steps that the correction overwrites.
const WRONG_STEPS: u64 = 60;

/// A site with what stage 1 loaded there.
struct Loaded {
    site: Site,
    fleet: Fleet,
    steps: u64,
    dialect: Dialect,
}

impl Loaded {
    fn oracle(&self, disorder: Disorder, steps: std::ops::Range<u64>) -> Oracle<'_> {
        Oracle {
            fleet: &self.fleet,
            disorder,
            first_source: 0,
            end_source: DEVICES,
            first_step: steps.start,
            end_step: steps.end,
        }
    }
}

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = load(run)?;
    append(run, &sites, false)?;
    query(run, &sites, false)?;
    append(run, &sites, true)?;
    query(run, &sites, true)?;
    correct(run, &sites)
}

fn gaps() -> Disorder {
    Disorder { gaps: MISSING, ..Disorder::default() }
}

/// Stage 1: history from memory, as fast as it goes.
fn load(run: &mut Run) -> io::Result<Vec<Loaded>> {
    let days = run.pick(1.0 / 24.0, 7.0) / run.plan.scale_down;
    let steps = ((days * 86_400_000.0 / INTERVAL_MS as f64) as u64).max(2 * WRONG_STEPS);
    let mut table = write_table("Stage 1: load", &["server", "values"]);
    let mut costs = cost_table("Stage 1: costs");
    let mut loaded = Vec::new();
    let mut faults = Vec::new();
    for site in run.plan.sites.clone() {
        let fleet = run.fleet(Profile::Wind, DEVICES, SENSORS);
        let cell = Cell {
            connections: 10,
            batch: 100,
            steps: 0..steps,
            disorder: gaps(),
            verify: Some(10),
            ..Cell::default()
        };
        let Some(result) = run.load(&site, &fleet, &cell)? else { continue };
        let mut cells = vec![site.name.clone(), thousands(result.write.points_acked as f64)];
        cells.extend(write_cells(&result));
        table.row(cells);
        costs.rows.extend(cost_row(&site.name, &result));
        faults.push((site.name.clone(), result));
        let target = site.kind.target(Style::Rows);
        // Every site can be asked; the sinks are no sites.
        let dialect = target.and_then(|target| target.dialect_at(&site.query_address));
        loaded.extend(dialect.map(|dialect| Loaded { site, fleet, steps, dialect }));
    }
    reference::load(&mut table);
    let section = run.report.section("Stage 1: load");
    section.say(format!(
        "{DEVICES} turbines, {SENSORS} sensors, {steps} snapshots, ten connections; one row in a \
         hundred is left out for the correction to insert."
    ));
    faults.iter().for_each(|(what, result)| Run::faults(section, what, result));
    section.tables.extend([table, costs]);
    Ok(loaded)
}

/// Stages 2 and 4: clients with 50 turbines each, one snapshot per seven seconds.
fn append(run: &mut Run, sites: &[Loaded], stressed: bool) -> io::Result<()> {
    let clients = run.pick(vec![1, 50], vec![1, 3, 5, 10, 30, 50, 100, 300, 500]);
    let rounds = run.pick(1, 17);
    let heading = match stressed {
        false => "Stage 2: append",
        true => "Stage 4: append while 50 clients ask twice a second",
    };
    let first = ["clients", "server", "offered values/s", "achieved %"];
    let mut table = write_table(heading, &first);
    let mut plot = Plot::lines(&format!("{heading}: latency"), "clients", "p99 ms");
    let mut faults = Vec::new();
    for loaded in sites {
        let mut line = Vec::new();
        for clients in &clients {
            let fleet = run.fleet(Profile::Wind, clients * DEVICES_PER_CLIENT, SENSORS);
            let cell = Cell {
                connections: *clients,
                batch: 1,
                steps: 0..rounds,
                pace: Pace::Phased { interval_ms: INTERVAL_MS },
                limit: Some(Duration::from_millis(3 * rounds * INTERVAL_MS)),
                verify: Some(5),
                settle: false,
                ..Cell::default()
            };
            let seconds = (rounds * INTERVAL_MS) as f64 / 1000.0;
            let background =
                stressed.then(|| questions(loaded, 50, Duration::from_secs_f64(seconds)));
            let background = background.map(|stream| Stream {
                pace: Pace::Fixed { requests_per_second: 100.0 },
                ..stream
            });
            let (result, _) = together(run, loaded, &fleet, &cell, background.as_ref())?;
            let Some(result) = result else { continue };
            let offered = (clients * DEVICES_PER_CLIENT) as f64 * SENSORS as f64 * 1000.0
                / INTERVAL_MS as f64;
            // The last row is due one phase before the end of the last interval.
            let achieved =
                result.write.points_acked as f64 / (offered * seconds.max(result.write.wall_s));
            let mut cells = vec![
                clients.to_string(),
                loaded.site.name.clone(),
                thousands(offered),
                format!("{:.1}", achieved * 100.0),
            ];
            cells.extend(write_cells(&result));
            table.row(cells);
            line.push((*clients as f64, result.write.intended_latency.p99_ms));
            faults.push((format!("{}, {clients} clients", loaded.site.name), result));
        }
        plot.line(&loaded.site.name, line);
    }
    let section = run.report.section(heading);
    section.say(
        "Open loop: each turbine is due every seven seconds at its own phase; latency counts \
         from there.",
    );
    faults.iter().for_each(|(what, result)| Run::faults(section, what, result));
    section.tables.push(table);
    section.tables.extend(reference::append(stressed));
    section.plots.push(plot);
    Ok(())
}

/// Stages 3 and 5: clients that ask, think 50 ms, and ask again.
fn query(run: &mut Run, sites: &[Loaded], stressed: bool) -> io::Result<()> {
    let clients = run.pick(vec![1, 50], vec![1, 3, 5, 10, 30, 50, 100, 150]);
    let time = run.seconds(2.0, 120.0);
    let heading = match stressed {
        false => "Stage 3: query",
        true => "Stage 5: query while 100 turbines append",
    };
    let columns = [
        "clients",
        "server",
        "questions/s",
        "mean ms",
        "p99 ms",
        "server CPU ms",
        "checked / wrong",
    ];
    let mut table = Table::new(heading, &columns);
    let mut plot = Plot::lines(&format!("{heading}: questions per second"), "clients", "1/s");
    let mut faults = Vec::new();
    for loaded in sites {
        let mut line = Vec::new();
        for clients in &clients {
            let mut stream = questions(loaded, *clients, time);
            stream.pace = Pace::Closed { think_ms: 50 };
            stream.judged = 20;
            let asked = match stressed {
                false => Some(stream.run(&loaded.site.watched)?),
                true => {
                    let fleet = run.fleet(Profile::Wind, DEVICES, SENSORS);
                    let cell = Cell {
                        connections: 10,
                        batch: 1,
                        steps: 0..u64::MAX,
                        pace: Pace::Phased { interval_ms: INTERVAL_MS },
                        limit: Some(time),
                        verify: None,
                        settle: false,
                        ..Cell::default()
                    };
                    together(run, loaded, &fleet, &cell, Some(&stream))?.1
                }
            };
            let Some(asked) = asked else { continue };
            run.progress(&format!("{}: {} questions", loaded.site.name, asked.asked));
            run.report.right &= asked.is_right();
            table.row(query_row(*clients, &loaded.site.name, &asked));
            line.push((*clients as f64, asked.per_second));
            let wrong = asked.wrong_described.iter().chain(asked.errors.keys());
            faults.extend(wrong.map(|wrong| format!("{}: {wrong}", loaded.site.name)));
        }
        plot.line(&loaded.site.name, line);
    }
    let section = run.report.section(heading);
    section.say(
        "Nine questions in ten are one sensor of one turbine over an hour, the tenth the hourly \
         mean of one sensor for every turbine of a farm over a day.",
    );
    faults.into_iter().take(10).for_each(|fault| section.say(fault));
    section.tables.push(table);
    section.tables.extend(reference::query(stressed));
    section.plots.push(plot);
    Ok(())
}

fn query_row(clients: u64, name: &str, asked: &KindResult) -> Vec<String> {
    let cpu = asked.server_cpu_ms_per_question;
    vec![
        clients.to_string(),
        name.to_owned(),
        format!("{:.1}", asked.per_second),
        format!("{:.2}", asked.service_time.mean_ms),
        format!("{:.2}", asked.service_time.p99_ms),
        cpu.map_or("-".into(), |cpu| format!("{cpu:.2}")),
        format!("{} / {}", asked.judged, asked.wrong),
    ]
}

/// The talk's questions about what stage 1 loaded.
fn questions<'a>(loaded: &'a Loaded, clients: u64, time: Duration) -> Stream<'a> {
    Stream {
        oracle: loaded.oracle(gaps(), 0..loaded.steps),
        dialect: loaded.dialect,
        address: loaded.site.query_address.clone(),
        kind: Kind::FarmWindow,
        other: Some((Kind::FarmAggregate, 10)),
        connections: clients,
        count: u64::MAX,
        limit: time,
        pace: Pace::Closed { think_ms: 0 },
        judged: 0,
        moving: 0,
    }
}

/// Runs a load and, at the same time, a stream of questions.
fn together(
    run: &mut Run,
    loaded: &Loaded,
    fleet: &Fleet,
    cell: &Cell,
    stream: Option<&Stream<'_>>,
) -> io::Result<(Option<LoadResult>, Option<KindResult>)> {
    thread::scope(|scope| {
        let asking = stream.map(|stream| scope.spawn(|| stream.run(&loaded.site.watched)));
        let result = run.load(&loaded.site, fleet, cell)?;
        let asked = match asking.map(thread::ScopedJoinHandle::join) {
            None => None,
            Some(Ok(asked)) => Some(asked?),
            Some(Err(_)) => return Err(io::Error::other("BUG: the asking thread panicked")),
        };
        Ok((result, asked))
    })
}

/// Inserts what stage 1 left out and overwrites an hour's worth of values.
fn correct(run: &mut Run, sites: &[Loaded]) -> io::Result<()> {
    let columns = ["server, correction", "values written", "values checked", "wrong"];
    let mut table = Table::new("Correction", &columns);
    let mut faults = Vec::new();
    let mut not_replaced = Vec::new();
    for loaded in sites {
        let steps = loaded.steps;
        let overwriting = loaded.site.kind.overwriting_style();
        let insert = Cell {
            style: overwriting.unwrap_or(Style::Rows),
            connections: 4,
            batch: 100,
            steps: 0..steps,
            disorder: Disorder { only_gaps: true, ..gaps() },
            verify: None,
            ..Cell::default()
        };
        let mut record = |what: &str, result: &LoadResult, verdict: &Verdict| {
            table.row(vec![
                format!("{}, {what}", loaded.site.name),
                thousands(result.write.points_acked as f64),
                verdict.values.to_string(),
                verdict.wrong.to_string(),
            ]);
            let wrong = verdict.described.iter().map(|d| format!("{what}: {d}"));
            faults.extend(wrong);
        };
        let address = &loaded.site.query_address;
        let tidy = Disorder::default();
        if let Some(result) = run.load(&loaded.site, &loaded.fleet, &insert)? {
            let oracle = loaded.oracle(tidy, 0..steps);
            let verdict = verify_whole(&oracle, address, loaded.dialect, 10, VISIBLE_WITHIN);
            run.report.right &= verdict.is_right();
            record("missing rows inserted", &result, &verdict);
        }
        if overwriting.is_none() {
            let why = "a second write replaces nothing there";
            not_replaced.push(format!("{}, wrong values overwritten: {why}", loaded.site.name));
            continue;
        }
        // Another seed: the same turbines and sensors, other values.
        let shape = Shape { seed: loaded.fleet.shape.seed + 1, ..loaded.fleet.shape.clone() };
        let other = Fleet::new(shape);
        let overwrite =
            Cell { steps: steps - WRONG_STEPS..steps, disorder: tidy, verify: Some(10), ..insert };
        if let Some(result) = run.load(&loaded.site, &other, &overwrite)? {
            let inside = result.verification.clone().unwrap_or_default();
            record("wrong values overwritten", &result, &inside);
            let outside = loaded.oracle(tidy, 0..steps - WRONG_STEPS);
            let verdict = verify_whole(&outside, address, loaded.dialect, 10, VISIBLE_WITHIN);
            run.report.right &= verdict.is_right();
            record("values before them untouched", &result, &verdict);
        }
    }
    for name in not_replaced {
        table.row([name].into_iter().chain(["n/a"; 3].map(str::to_owned)).collect());
    }
    let section = run.report.section("Correction");
    section.say(format!(
        "Rows that the load left out are inserted; the last {WRONG_STEPS} snapshots are written \
         again with other values at the same times. Afterwards everything is asked back."
    ));
    faults.into_iter().take(10).for_each(|fault| section.say(fault));
    section.tables.push(table);
    Ok(())
}
