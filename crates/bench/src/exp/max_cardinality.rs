//! Maximum cardinality (TickTockDB's report against OpenTSDB on 2 vCPU and 4 GB): every device
//! sends ten values every ten seconds at a phase of its own, one read to nine writes. A number of
//! series is sustained when nothing is refused, nothing falls behind its plan by an interval, and
//! everything asked back is right. The number grows until it is not, then is halved in on.
//!
//! The document's every device sends a request of its own, so requests bound the number; a second
//! table lets a hundred devices share one, as behind a gateway, so memory and values bound it.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use super::limits;
use super::numbers::thousands;
use super::run::{Cell, Run};
use super::tables::{add_costs, cost_table, write_cells, write_table};
use crate::adapter::Style;
use crate::caps::Allowance;
use crate::fleet::Fleet;
use crate::pace::Pace;
use crate::profile::Profile;
use crate::report::{Plot, Section, Table};
use crate::result::LoadResult;
use crate::runs::{Measured, Runs};
use crate::site::Site;

/// What the document gave each server; its disk moved 89 MB/s.
const BOX: Allowance =
    Allowance { cores: Some(2), memory_bytes: Some(4 << 30), disk_bytes: Some(89_000_000) };

const INTERVAL_MS: u64 = 10_000;
const FIELDS: u64 = 10;
const CONNECTIONS: u64 = 1000;

/// Intervals of a screen: short, else.
const ROUNDS: (u64, u64) = (1, 30);

/// Intervals of a run at the edge in full form: the document's six hours.
const ROUNDS_FULL: u64 = 2160;

/// Longest time to make all series known before a screen: short, long.
const REGISTRATION: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(1800));

/// How often a number is offered whose screen the client decided.
const TRIES: u64 = 3;

/// One way of packing requests, with its search: devices of the first screen, by how much they
/// grow, screens at most, halvings.
#[derive(Clone, Copy)]
struct Variant {
    heading: &'static str,
    /// Devices that share a request.
    together: u64,
    connections: u64,
    first: u64,
    growth: u64,
    screens_max: u32,
    halvings: u32,
}

const SHORT: [Variant; 2] = [
    Variant {
        heading: "A request for each device",
        together: 1,
        connections: CONNECTIONS,
        first: 8_000,
        growth: 4,
        screens_max: 4,
        halvings: 1,
    },
    Variant {
        heading: "A hundred devices share a request",
        together: 100,
        connections: 100,
        first: 400_000,
        growth: 2,
        screens_max: 2,
        halvings: 0,
    },
];

const LONG: [Variant; 2] = [
    Variant { first: 1_000, growth: 2, screens_max: 20, halvings: 5, ..SHORT[0] },
    Variant { first: 100_000, growth: 2, screens_max: 10, halvings: 5, ..SHORT[1] },
];

/// Whether a server sustained a number of series.
#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    Sustained,
    TooMany(String),
    /// The client was the limit: nothing is known of the server.
    Undecided(String),
}

/// One number of series offered once.
#[derive(Clone)]
struct Screen {
    registered_s: f64,
    result: LoadResult,
    verdict: Verdict,
}

impl Measured for Screen {
    fn void(&self) -> Option<String> {
        match &self.verdict {
            Verdict::Sustained => None,
            Verdict::TooMany(why) => Some(format!("not sustained: {why}")),
            Verdict::Undecided(why) => Some(why.clone()),
        }
    }
}

/// What a search at one site found: its screens by number of devices and rounds.
struct Search<'a> {
    site: &'a Site,
    variant: Variant,
    screens: BTreeMap<(u64, u64), Vec<Screen>>,
    /// The greatest number of devices all of whose runs were sustained.
    sustained: Option<u64>,
    /// The least number that was too many.
    failed: Option<u64>,
    /// Runs at the edge that the client decided, and that were made again.
    undecided: usize,
}

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = run.plan.sites.clone();
    let (_caps, limits) = limits::apply(&sites, BOX);
    for (at, variant) in run.pick(SHORT, LONG, LONG).into_iter().enumerate() {
        let mut section = variant.section(screen_rounds(run), edge_rounds(run));
        section.tables.extend((at == 0).then(|| limits.clone()));
        let heading = variant.heading;
        let found = ["sustained", "registered in s"];
        let mut table = write_table(heading, &["server", "series", "rounds"], &found);
        let name = format!("{heading}: the search");
        let told = ["sustained", "registered in s", "values/s", "because"];
        let mut way = Table::new(&name, &["server", "series", "rounds"], &told);
        let mut costs = cost_table(&format!("{heading}: costs"));
        let mut bars = Plot::bars(&format!("{heading}: series sustained"), "series");
        for site in &sites {
            let mut search = Search::new(site, variant);
            search.run(run)?;
            search.tell(&mut section, &mut bars);
            search.rows((&mut table, &mut way, &mut costs), &mut section);
        }
        references(&mut table);
        section.tables.extend([table, costs, way]);
        section.plots.extend([bars].into_iter().filter(|plot| !plot.is_empty()));
        run.report.sections.push(section);
    }
    Ok(())
}

impl Variant {
    fn section(&self, rounds: u64, edge: u64) -> Section {
        let mut section = Section { heading: self.heading.to_owned(), ..Section::default() };
        section.say(format!(
            "Each device sends {FIELDS} values every {} s at its own phase{}, over {} connections; \
             latency counts from the planned instant. All series are made known first; then a \
             screen of {rounds} rounds is timed; the greatest number that held is run again for \
             {edge}. A number is called sustained when all its runs of that length were. The \
             document's runs took six hours, {ROUNDS_FULL} rounds.",
            INTERVAL_MS / 1000,
            if self.together > 1 { " (its request's)" } else { "" },
            self.connections
        ));
        section
    }

    /// The timed rounds of a screen.
    fn cell(&self, style: Style, fleet: &Fleet, rounds: u64) -> Cell {
        Cell {
            style,
            connections: self.connections,
            batch: self.together * lines_of_a_row(style, fleet),
            steps: 1..1 + rounds,
            pace: Pace::Phased { interval_ms: INTERVAL_MS },
            // Who has not ended a tenth later has fallen behind; no need to see the end of it.
            limit: Some(planned(rounds).mul_f64(1.1)),
            reads_per_write: 1.0 / 9.0,
            known_from: Some(0),
            verify: Some(20),
            // A screen that fell behind has failed, whatever it holds.
            only_whole: true,
            settle: false,
            ..Cell::default()
        }
    }
}

impl<'a> Search<'a> {
    fn new(site: &'a Site, variant: Variant) -> Search<'a> {
        let screens = BTreeMap::new();
        Search { site, variant, screens, sustained: None, failed: None, undecided: 0 }
    }

    /// Grows the number of devices until it is not sustained, halves in on the edge, and repeats
    /// the screen there; where a repetition fails, the next lower number that held is repeated.
    fn run(&mut self, run: &mut Run) -> io::Result<()> {
        let mut held = Vec::new();
        let mut devices = self.variant.first;
        for _ in 0..self.variant.screens_max {
            match self.decided(run, devices)? {
                Some(Verdict::Sustained) => held.push(devices),
                Some(Verdict::TooMany(_)) => {
                    self.failed = Some(devices);
                    break;
                }
                Some(Verdict::Undecided(_)) | None => break,
            }
            devices *= self.variant.growth;
        }
        for _ in 0..self.variant.halvings {
            let Some(too_many) = self.failed else { break };
            let sustained = held.last().copied().unwrap_or(0);
            // Whole requests on every connection, or phases would drift.
            let grain = self.variant.together * self.variant.connections;
            let middle = u64::midpoint(sustained, too_many) / grain * grain;
            if middle <= sustained {
                break;
            }
            match self.decided(run, middle)? {
                Some(Verdict::Sustained) => held.push(middle),
                Some(Verdict::TooMany(_)) => self.failed = Some(middle),
                Some(Verdict::Undecided(_)) | None => break,
            }
        }
        while let Some(devices) = held.pop() {
            if self.repeat(run, devices)? {
                self.sustained = Some(devices);
                break;
            }
            self.failed = Some(devices);
        }
        Ok(())
    }

    /// Offers a number again as long as the client decides.
    fn decided(&mut self, run: &mut Run, devices: u64) -> io::Result<Option<Verdict>> {
        let mut verdict = None;
        for _ in 0..TRIES {
            verdict = self.screen(run, devices, screen_rounds(run))?;
            if !matches!(verdict, Some(Verdict::Undecided(_))) {
                break;
            }
        }
        Ok(verdict)
    }

    /// Offers a number as often as a cell is run; false once it is not sustained.
    fn repeat(&mut self, run: &mut Run, devices: u64) -> io::Result<bool> {
        let at = (devices, edge_rounds(run));
        for _ in 0..run.plan.runs + TRIES {
            // Screens that held were runs, where the others are no longer.
            let held = self.keep_held(at);
            if held >= run.plan.runs {
                break;
            }
            if let Some(Verdict::TooMany(_)) = self.screen(run, devices, at.1)? {
                return Ok(false);
            }
        }
        self.keep_held(at);
        Ok(true)
    }

    /// Leaves out, and counts, the screens of a number that the client decided; how many are left.
    fn keep_held(&mut self, at: (u64, u64)) -> u64 {
        let screens = self.screens.entry(at).or_default();
        let all = screens.len();
        screens.retain(|screen| screen.verdict == Verdict::Sustained);
        self.undecided += all - screens.len();
        screens.len() as u64
    }

    /// The runs at the edge.
    fn edge(&self) -> Option<(u64, u64, &Vec<Screen>)> {
        let devices = self.sustained?;
        // Of a number that was run for longer too, those runs are the ones that count.
        self.screens
            .range((devices, 0)..=(devices, u64::MAX))
            .next_back()
            .map(|((devices, rounds), screens)| (*devices, *rounds, screens))
    }

    /// Says in words and draws what was sustained, where the screens allow it.
    fn tell(&self, section: &mut Section, bars: &mut Plot) {
        let name = &self.site.name;
        let Some((devices, _, screens)) = self.edge() else {
            let mut all = self.screens.values().flatten();
            let why = all.find_map(Measured::void).unwrap_or_else(|| "nothing was offered".into());
            return section.say(format!("{name}: no verdict: {why}."));
        };
        let runs = Runs::new(screens.clone());
        let series = runs.sound(|_| Some((devices * FIELDS) as f64));
        bars.bar(name, vec![("series".into(), series)]);
        let edge = match self.failed {
            Some(failed) => format!("{} were too many", thousands((failed * FIELDS) as f64)),
            None => "where it ends was not found".to_owned(),
        };
        section.say(match (series, runs.void()) {
            (Some(series), _) => {
                format!("{name}: {} series sustained; {edge}.", thousands(series.value()))
            }
            (None, why) => format!("{name}: no verdict: {}.", why.unwrap_or_default()),
        });
        if self.undecided > 0 {
            section.say(format!(
                "{name}: {} further runs failed by the client, and were made again.",
                self.undecided
            ));
        }
    }

    /// The edge has a row in the tables of what was measured; screens on the way to it have rows
    /// that nothing is concluded from.
    fn rows(
        &self,
        (table, way, costs): (&mut Table, &mut Table, &mut Table),
        section: &mut Section,
    ) {
        let edge = self.edge().map(|(devices, rounds, _)| (devices, rounds));
        for ((devices, rounds), screens) in &self.screens {
            let runs = Runs::new(screens.clone());
            let results = Runs::new(screens.iter().map(|screen| screen.result.clone()).collect());
            let series = thousands((devices * FIELDS) as f64);
            let held = screens.iter().filter(|screen| screen.verdict == Verdict::Sustained);
            let mut cells = vec![self.site.name.clone(), series.clone(), rounds.to_string()];
            cells.push(format!("{} of {}", held.count(), screens.len()));
            cells.push(runs.cell(|screen| Some(screen.registered_s), |s| format!("{s:.1}")));
            let what = format!("{}, {series} series, {rounds} rounds", self.site.name);
            Run::faults(section, &what, &results);
            if edge == Some((*devices, *rounds)) {
                cells.extend(write_cells(&results));
                table.judged(cells, runs.void());
                add_costs(costs, &what, &results);
            } else {
                cells.push(results.cell(|run| Some(run.write.points_per_s), thousands));
                cells.push(screens.iter().find_map(Measured::void).unwrap_or_default());
                way.row(cells);
            }
        }
    }

    /// Offers one number of devices; none when the site has no door for it.
    fn screen(&mut self, run: &mut Run, devices: u64, rounds: u64) -> io::Result<Option<Verdict>> {
        let mut fleet = run.fleet(self.site, Profile::iotdb(), devices, FIELDS as usize);
        fleet.shape.interval_ms = INTERVAL_MS as i64;
        let style = [Style::Json, Style::Rows]
            .into_iter()
            .find(|style| self.site.target(*style).is_some())
            .unwrap_or(Style::Rows);
        let before = (run.report.right, run.report.at_fault.clone());
        let Some(known) = register(run, self.site, style, &fleet)? else { return Ok(None) };
        let registered_s = known.write.wall_s;
        let (result, verdict) = if known.write.points_acked < devices * FIELDS {
            let why = format!("not all series were registered in {registered_s:.0} s");
            let limited = known.client.limited.clone().map(Verdict::Undecided);
            (known, limited.unwrap_or(Verdict::TooMany(why)))
        } else {
            let cell = self.variant.cell(style, &fleet, rounds);
            let Some(result) = run.load(self.site, &fleet, &cell)? else { return Ok(None) };
            let verdict = judge(&result, devices, rounds);
            (result, verdict)
        };
        // Refusing beyond the maximum is what is looked for; only wrong answers are faults.
        let verified = result.verification.as_ref().is_none_or(|verdict| verdict.is_right());
        (run.report.right, run.report.at_fault) = before;
        run.report.judge(&self.site.name, verified);
        let screen = Screen { registered_s, result, verdict: verdict.clone() };
        self.screens.entry((devices, rounds)).or_default().push(screen);
        Ok(Some(verdict))
    }
}

/// Rounds of a screen while the edge is sought.
fn screen_rounds(run: &Run) -> u64 {
    run.pick(ROUNDS.0, ROUNDS.1, ROUNDS.1)
}

/// Rounds of the runs at the edge.
fn edge_rounds(run: &Run) -> u64 {
    run.pick(ROUNDS.0, ROUNDS.1, ROUNDS_FULL)
}

fn planned(rounds: u64) -> Duration {
    rounds as u32 * Duration::from_millis(INTERVAL_MS)
}

/// Whether everything was accepted in time and came back right. A client that was late, or busy,
/// proves nothing against a server; where all was in time nevertheless, the server kept up.
fn judge(result: &LoadResult, devices: u64, rounds: u64) -> Verdict {
    match (too_many(result, devices, rounds), &result.client.limited) {
        (None, _) => Verdict::Sustained,
        (Some(why), None) => Verdict::TooMany(why),
        (Some(why), Some(limit)) => Verdict::Undecided(format!("client-limited: {limit}; {why}")),
    }
}

/// Why the number was not sustained; none when it was.
fn too_many(result: &LoadResult, devices: u64, rounds: u64) -> Option<String> {
    let refused: u64 = result.write.errors.values().sum();
    let missing = (devices * FIELDS * rounds).saturating_sub(result.write.points_acked);
    let p999_ms = result.write.intended.quantile_ms(0.999);
    if refused > 0 {
        Some(format!("{refused} requests were refused"))
    } else if missing > 0 {
        Some(format!("{missing} values were not written in time"))
    } else if p999_ms >= INTERVAL_MS as f64 {
        Some(format!("requests fell behind by {p999_ms:.0} ms (p99.9)"))
    } else if result.write.wall_s >= planned(rounds).as_secs_f64() * 1.05 {
        Some(format!("{rounds} rounds took {:.1} s", result.write.wall_s))
    } else if result.verification.as_ref().is_some_and(|verdict| !verdict.is_right()) {
        Some("answers were wrong".to_owned())
    } else {
        None
    }
}

/// Writes one row of every device, as fast as it goes.
fn register(
    run: &mut Run,
    site: &Site,
    style: Style,
    fleet: &Fleet,
) -> io::Result<Option<LoadResult>> {
    let cell = Cell {
        style,
        connections: 4,
        batch: 1000,
        limit: Some(run.pick(REGISTRATION.0, REGISTRATION.1, REGISTRATION.1)),
        verify: None,
        settle: false,
        ..Cell::default()
    };
    run.load(site, fleet, &cell)
}

/// Lines of one device's row in the style.
fn lines_of_a_row(style: Style, fleet: &Fleet) -> u64 {
    if style == Style::Rows { 1 } else { fleet.fields_per_source() }
}

/// The document's figures.
fn references(table: &mut Table) {
    for (server, series, sustained, rate) in [
        ("OpenTSDB 2.4.0", "60 000", "yes", "6 000"),
        ("OpenTSDB 2.4.0", "70 000", "no", "7 000"),
        ("TickTockDB 0.11.7", "4 000 000", "yes", "400 000"),
        ("TickTockDB 0.11.7", "5 000 000", "no", "500 000"),
    ] {
        let mut cells = vec![server, series, "2 160", sustained, "-", rate];
        cells.extend(["-"; 10]);
        table.reference("seed 000, 2 vCPU, 4 GB, 6 h", &cells);
    }
}
