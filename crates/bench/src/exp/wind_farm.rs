//! The wind farm (TS-Benchmark's talk, 2018): 100 turbines with 150 sensors every seven seconds.
//! Load, append, query, append while others query, query while others append; then what the talk
//! planned and did not show: correcting data, by inserting what is missing and overwriting what
//! is wrong, each checked.

use std::collections::BTreeMap;
use std::io;
use std::thread;
use std::time::Duration;

use super::numbers::thousands;
use super::plots::spectrum;
use super::run::{Cell, Run, UNSAID_S};
use super::tables::{add_costs, cost_table, write_cells, write_table};
use crate::adapter::{Can, Style};
use crate::catalogue::Kind;
use crate::dialect::Language;
use crate::disorder::Disorder;
use crate::fleet::{Fleet, Shape};
use crate::oracle::Oracle;
use crate::pace::Pace;
use crate::profile::Profile;
use crate::query::{KindResult, Stream};
use crate::report::{Plot, Section, Table};
use crate::result::LoadResult;
use crate::runs::{Measured, Runs, Sound};
use crate::site::Site;
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
    language: &'static Language,
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
    let days = run.pick(1.0 / 24.0, 7.0, 7.0) / run.plan.scale_down;
    let steps = ((days * 86_400_000.0 / INTERVAL_MS as f64) as u64).max(2 * WRONG_STEPS);
    let mut table = write_table("Stage 1: load", &["server"], &["values"]);
    let mut costs = cost_table("Stage 1: costs");
    let mut loaded = Vec::new();
    let mut faults = Vec::new();
    for site in run.plan.sites.clone() {
        let fleet = run.fleet(&site, Profile::Wind, DEVICES, SENSORS);
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
        // History is there once; whoever wants its speed repeats the experiment.
        let runs = Runs::new(vec![result]);
        cells.extend(write_cells(&runs));
        table.judged(cells, runs.void());
        add_costs(&mut costs, &site.name, &runs);
        faults.push((site.name.clone(), runs));
        let target = site.target(Style::Rows);
        // Every site can be asked; the sinks are no sites.
        let language = target.and_then(|target| target.door.language);
        loaded.extend(language.map(|language| Loaded { site, fleet, steps, language }));
    }
    reference::load(&mut table);
    let section = run.report.section("Stage 1: load");
    section.say(format!(
        "{DEVICES} turbines, {SENSORS} sensors, {steps} snapshots, ten connections; one row in a \
         hundred is left out for the correction to insert."
    ));
    faults.iter().for_each(|(what, runs)| Run::faults(section, what, runs));
    section.tables.extend([table, costs]);
    Ok(loaded)
}

/// Stages 2 and 4: clients with 50 turbines each, one snapshot per seven seconds.
fn append(run: &mut Run, sites: &[Loaded], stressed: bool) -> io::Result<()> {
    let all = vec![1, 3, 5, 10, 30, 50, 100, 300, 500];
    let clients = run.pick(vec![1, 50], all.clone(), all);
    // Whole rounds, so that every turbine sends as often as any other: as many as fill the cell.
    let time = run.seconds(7.0, 119.0, UNSAID_S);
    let rounds = (time.as_millis() as u64).div_ceil(INTERVAL_MS).max(1);
    let heading = match stressed {
        false => "Stage 2: append",
        true => "Stage 4: append while 50 clients ask twice a second",
    };
    let mut table = write_table(heading, &["clients", "server"], &["achieved %"]);
    let mut plot = Plot::lines(&format!("{heading}: latency"), "clients", "p99 ms");
    let mut section = Section { heading: heading.to_owned(), ..Section::default() };
    section.say(
        "Open loop: each turbine is due every seven seconds at its own phase; latency counts from \
         there.",
    );
    let jobs: Vec<(&Loaded, u64)> =
        sites.iter().flat_map(|loaded| clients.iter().map(move |c| (loaded, *c))).collect();
    let found = run.repeated(&jobs, |run, (loaded, clients)| {
        append_once(run, loaded, *clients, rounds, stressed)
    })?;
    let mut lines: BTreeMap<&str, Vec<(f64, Option<Sound>)>> = BTreeMap::new();
    let mut curves: BTreeMap<&str, Vec<OnCurve>> = BTreeMap::new();
    for ((loaded, clients), both) in jobs.iter().zip(&found).filter(|(_, runs)| !runs.is_empty()) {
        let name = loaded.site.name.as_str();
        let runs = Runs::new(both.iter().map(|both| both.0.clone()).collect());
        let achieved = |run: &LoadResult| Some(achieved(run, *clients, rounds) * 100.0);
        let mut cells = vec![clients.to_string(), name.to_owned()];
        cells.push(runs.cell(achieved, |share| format!("{share:.1}")));
        cells.extend(write_cells(&runs));
        table.judged(cells, both.void());
        let p99 = both.sound(|both| both.0.write.intended_latency.p99_ms);
        lines.entry(name).or_default().push((*clients as f64, p99));
        let rate = both.sound(|both| Some(both.0.write.points_per_s));
        curves.entry(name).or_default().push((rate, p99));
        Run::faults(&mut section, &format!("{name}, {clients} clients"), &runs);
        let asked = both.iter().filter_map(|both| both.1.as_ref());
        asked.for_each(|asked| question_faults(&mut section, name, asked));
    }
    lines.into_iter().for_each(|(name, line)| plot.line(name, line));
    let title = format!("{heading}: response time by throughput, up to saturation");
    let mut response = Plot::lines(&title, "values/s", "p99 ms");
    curves.into_iter().for_each(|(name, curve)| response.curve(name, curve));
    let most = clients.iter().copied().max().unwrap_or_default();
    let own = jobs.iter().zip(&found).filter(|((_, clients), _)| *clients == most);
    let percentiles = spectrum(
        &format!("{heading}: by percentile, {most} clients"),
        own.map(|((loaded, _), both)| (loaded.site.name.as_str(), both)),
        |both| Some(both.0.write.intended_latency),
    );
    section.tables.push(table);
    section.tables.extend(reference::append(stressed));
    let all = [plot, response, percentiles];
    section.plots.extend(all.into_iter().filter(|plot| !plot.is_empty()));
    run.report.sections.push(section);
    Ok(())
}

/// Throughput and response time of a cell.
type OnCurve = (Option<Sound>, Option<Sound>);

/// A load, and what was asked meanwhile.
type Both = (LoadResult, Option<KindResult>);

impl Measured for Both {
    fn void(&self) -> Option<String> {
        let wrong = |asked: &KindResult| format!("questions meanwhile: {}", asked.fault()?).into();
        self.0.void().or_else(|| self.1.as_ref().and_then(wrong))
    }
}

/// One run of one cell of stages 2 and 4.
fn append_once(
    run: &mut Run,
    loaded: &Loaded,
    clients: u64,
    rounds: u64,
    stressed: bool,
) -> io::Result<Option<Both>> {
    let fleet = run.fleet(&loaded.site, Profile::Wind, clients * DEVICES_PER_CLIENT, SENSORS);
    let cell = Cell {
        connections: clients,
        batch: 1,
        steps: 0..rounds,
        pace: Pace::Phased { interval_ms: INTERVAL_MS },
        limit: Some(Duration::from_millis(3 * rounds * INTERVAL_MS)),
        verify: Some(5),
        settle: false,
        ..Cell::default()
    };
    let background = stressed.then(|| Stream {
        pace: Pace::Fixed { requests_per_second: 100.0 },
        judged: 20,
        ..questions(loaded, 50, Duration::from_millis(rounds * INTERVAL_MS))
    });
    let (result, asked) = together(run, loaded, &fleet, &cell, background.as_ref())?;
    let right = asked.as_ref().is_none_or(KindResult::is_right);
    run.report.judge(&loaded.site.name, right);
    Ok(result.map(|result| (result, asked)))
}

/// Share of the offered values that was written in the planned time.
fn achieved(run: &LoadResult, clients: u64, rounds: u64) -> f64 {
    let planned_s = (rounds * INTERVAL_MS) as f64 / 1000.0;
    let offered_per_s =
        (clients * DEVICES_PER_CLIENT) as f64 * SENSORS as f64 * 1000.0 / INTERVAL_MS as f64;
    // The last row is due one phase before the end of the last interval.
    run.write.points_acked as f64 / (offered_per_s * planned_s.max(run.write.wall_s))
}

/// Says what went wrong with questions.
fn question_faults(section: &mut Section, name: &str, asked: &KindResult) {
    let errors = asked.errors.iter().map(|(error, count)| format!("{count} x {error}"));
    for fault in asked.wrong_described.iter().cloned().chain(errors).take(5) {
        section.say(format!("{name}, questions: {fault}"));
    }
}

/// Stages 3 and 5: clients that ask, think 50 ms, and ask again.
fn query(run: &mut Run, sites: &[Loaded], stressed: bool) -> io::Result<()> {
    let all = vec![1, 3, 5, 10, 30, 50, 100, 150];
    let clients = run.pick(vec![1, 50], all.clone(), all);
    let heading = match stressed {
        false => "Stage 3: query",
        true => "Stage 5: query while 100 turbines append",
    };
    let columns = ["questions/s", "mean ms", "p99 ms", "server CPU ms", "checked / wrong"];
    let mut table = Table::new(heading, &["clients", "server"], &columns);
    let mut bars = Plot::bars(&format!("{heading}: questions per second"), "1/s");
    let mut section = Section { heading: heading.to_owned(), ..Section::default() };
    section.say(
        "Nine questions in ten are one sensor of one turbine over an hour, the tenth the hourly \
         mean of one sensor for every turbine of a farm over a day.",
    );
    let jobs: Vec<(&Loaded, u64)> =
        sites.iter().flat_map(|loaded| clients.iter().map(move |c| (loaded, *c))).collect();
    let found =
        run.repeated(&jobs, |run, (loaded, clients)| query_once(run, loaded, *clients, stressed))?;
    let mut heights: BTreeMap<&str, Vec<(String, Option<Sound>)>> = BTreeMap::new();
    let mut curves: BTreeMap<&str, Vec<OnCurve>> = BTreeMap::new();
    for ((loaded, clients), runs) in jobs.iter().zip(&found).filter(|(_, runs)| !runs.is_empty()) {
        let name = loaded.site.name.as_str();
        table.judged(query_row(*clients, name, runs), runs.void());
        let rate = runs.sound(|asked| Some(asked.per_second));
        heights.entry(name).or_default().push((clients.to_string(), rate));
        let mean = runs.sound(|asked| asked.service_time.mean_ms);
        curves.entry(name).or_default().push((rate, mean));
        runs.iter().for_each(|asked| question_faults(&mut section, name, asked));
    }
    heights.into_iter().for_each(|(name, heights)| bars.bar(name, heights));
    let title = format!("{heading}: response time by throughput, up to saturation");
    let mut response = Plot::lines(&title, "questions/s", "mean ms");
    curves.into_iter().for_each(|(name, curve)| response.curve(name, curve));
    section.tables.push(table);
    section.tables.extend(reference::query(stressed));
    section.plots.extend([bars, response].into_iter().filter(|plot| !plot.is_empty()));
    run.report.sections.push(section);
    Ok(())
}

/// One run of one cell of stages 3 and 5.
fn query_once(
    run: &mut Run,
    loaded: &Loaded,
    clients: u64,
    stressed: bool,
) -> io::Result<Option<KindResult>> {
    let time = run.seconds(2.0, 120.0, UNSAID_S);
    let mut stream = questions(loaded, clients, time);
    stream.pace = Pace::Closed { think_ms: 50 };
    stream.judged = 20;
    let asked = match stressed {
        false => Some(stream.run(&loaded.site.watched)?),
        true => {
            let fleet = run.fleet(&loaded.site, Profile::Wind, DEVICES, SENSORS);
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
    let right = asked.as_ref().is_none_or(KindResult::is_right);
    run.report.judge(&loaded.site.name, right);
    Ok(asked)
}

fn query_row(clients: u64, name: &str, runs: &Runs<KindResult>) -> Vec<String> {
    let fine = |ms: f64| format!("{ms:.2}");
    let (judged, wrong) =
        runs.iter().fold((0, 0), |sum, asked| (sum.0 + asked.judged, sum.1 + asked.wrong));
    vec![
        clients.to_string(),
        name.to_owned(),
        runs.cell(|asked| Some(asked.per_second), |rate| format!("{rate:.1}")),
        runs.cell(|asked| asked.service_time.mean_ms, fine),
        runs.cell(|asked| asked.service_time.p99_ms, fine),
        runs.cell(|asked| asked.server_cpu_ms_per_question, fine),
        format!("{judged} / {wrong}"),
    ]
}

/// The talk's questions about what stage 1 loaded.
fn questions<'a>(loaded: &'a Loaded, clients: u64, time: Duration) -> Stream<'a> {
    Stream {
        oracle: loaded.oracle(gaps(), 0..loaded.steps),
        language: loaded.language,
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
    let columns = ["values written", "values checked", "wrong"];
    let mut table = Table::new("Correction", &["server, correction"], &columns);
    let mut faults = Vec::new();
    let mut not_replaced = Vec::new();
    for loaded in sites {
        let steps = loaded.steps;
        let overwriting = loaded.site.adapter.overwriting_style();
        let insert = Cell {
            style: overwriting.unwrap_or(Style::Rows),
            connections: 4,
            batch: 100,
            steps: 0..steps,
            disorder: Disorder { only_gaps: true, ..gaps() },
            verify: None,
            fresh: false,
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
        let target = loaded.site.target(insert.style);
        let at_once = target.is_some_and(|target| target.can(Can::ShowAtOnce));
        let patience = if at_once { Duration::ZERO } else { VISIBLE_WITHIN };
        let tidy = Disorder::default();
        if let Some(result) = run.load(&loaded.site, &loaded.fleet, &insert)? {
            let oracle = loaded.oracle(tidy, 0..steps);
            let verdict = verify_whole(&oracle, address, loaded.language, 10, patience);
            run.report.judge(&loaded.site.name, verdict.is_right());
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
            let verdict = verify_whole(&outside, address, loaded.language, 10, patience);
            run.report.judge(&loaded.site.name, verdict.is_right());
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
