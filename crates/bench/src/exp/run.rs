//! What the experiments share: the servers they run on, the loads they let through, the runs of a
//! cell, and what a report tells of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;

use crate::adapter::Style;
use crate::catalogue::Kind;
use crate::dialect::Language;
use crate::disorder::Disorder;
use crate::fleet::{Fleet, Shape};
use crate::latency::Logged;
use crate::load::{Load, Reads};
use crate::measure::{flush_and_settle, measure};
use crate::pace::Pace;
use crate::profile::Profile;
use crate::random::permute;
use crate::report::{Report, Section, Table};
use crate::result::LoadResult;
use crate::runs::{Measured, Runs};
use crate::say;
use crate::sender::Wish;
use crate::site::{DISCLOSED, Site};
use crate::verify::{VISIBLE_WITHIN, is_whole, leftovers, refuse_leftovers, verify};

use super::numbers::{mib, thousands};

/// 1980-01-01: far enough in the past that no server takes the data for the future.
const EPOCH_MS: i64 = 315_532_800_000;

/// Each load of an experiment gets times of its own, so that it can be checked alone.
///
/// A client that writes ten thousand rows a second at steps of five seconds fills it in a minute.
const SPAN_MS: i64 = 200 * 86_400_000;

/// Keeps the short loads of different experiments apart on one server.
const OFFSET_MS: i64 = 30 * 86_400_000;

/// Seconds of a timed cell in full form, where the document does not say how long its runs took.
pub(crate) const UNSAID_S: f64 = 600.0;

/// Above this share of all cores' time servers and client may have waited for each other.
const MACHINE_BUSY_MAX: f64 = 0.9;

/// What a timed cell writes before it is measured: short, else.
const WARM_UP: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(5));

/// A published experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Name {
    /// How many series a server keeps up with, ten values of each device every ten seconds
    MaxCardinality,
    /// How throughput and latency follow the number of cores
    CpuScaling,
    /// One core and little memory, one to nine clients
    SmallBox,
    /// The five stages of a wind farm: load, append, query and both under stress; corrections
    WindFarm,
    /// Insertion into 400 thousand, 4 and 40 million series
    HighCardinality,
    /// Every door, disorder and kind of question against the oracle
    VerifyAll,
}

/// How long an experiment takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Minutes: cells too short for a verdict, to try out.
    Short,
    /// Hours: cells as long as a verdict wants.
    Usual,
    /// As long as the document's runs were, where it says.
    Full,
}

impl Form {
    /// The form that two flags ask for.
    pub(crate) fn of(short: bool, full: bool) -> Form {
        match (short, full) {
            (true, _) => Form::Short,
            (false, true) => Form::Full,
            (false, false) => Form::Usual,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Short => "short: cells of seconds, to try out",
            Form::Usual => "usual: cells as long as a verdict wants",
            Form::Full => "full: as long as the document's runs, where it says",
        }
    }
}

/// How an experiment is to be run.
pub(crate) struct Plan {
    pub(crate) name: Name,
    /// The server under test, then its peers.
    pub(crate) sites: Vec<Site>,
    pub(crate) form: Form,
    /// Divides the length of data sets.
    pub(crate) scale_down: f64,
    /// Seconds of each timed cell, instead of the form's.
    pub(crate) cell_seconds: Option<f64>,
    /// Whether a timed cell ends before its seconds are over once a verdict can be given.
    pub(crate) until_enough: bool,
    /// Leaves out numbers of series above this one, where an experiment has several.
    pub(crate) series_max: Option<u64>,
    /// Runs of each cell.
    pub(crate) runs: u64,
    pub(crate) seed: u64,
    /// What the user wants disclosed: name and value.
    pub(crate) notes: Vec<(String, String)>,
    pub(crate) out: PathBuf,
}

/// A running experiment.
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) report: Report,
    pub(super) latencies: Vec<Logged>,
    /// Servers that went away, by address, with what they were doing.
    gone: BTreeMap<String, String>,
    /// Loads of each server, by address.
    loads: BTreeMap<String, i64>,
    /// Values that each server acknowledged, by address.
    values: BTreeMap<String, u64>,
    begin: Instant,
}

/// One load of an experiment.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) style: Style,
    pub(crate) connections: u64,
    /// Lines of a request.
    pub(crate) batch: u64,
    pub(crate) block: u64,
    pub(crate) steps: std::ops::Range<u64>,
    pub(crate) pace: Pace,
    pub(crate) disorder: Disorder,
    pub(crate) warm_up: Duration,
    pub(crate) limit: Option<Duration>,
    /// Whether the limit is the cell's length, which may be cut to what a verdict wants.
    pub(crate) timed: bool,
    /// Questions per write, of the device kinds.
    pub(crate) reads_per_write: f64,
    /// Whether only such kinds are asked as every server of the run can be asked, so that all do
    /// the same work.
    pub(crate) same_reads: bool,
    /// The first step that may be asked about, where steps before these are there.
    pub(crate) known_from: Option<u64>,
    /// Whether bodies are packed with gzip.
    pub(crate) gzip: bool,
    /// Sources to verify one by one; none = no verification.
    pub(crate) verify: Option<u64>,
    /// Whether loads that were cut short or refused in part are not asked back.
    pub(crate) only_whole: bool,
    /// Whether to wait until the server is quiet before its costs are read.
    pub(crate) settle: bool,
    /// Whether the server must hold nothing yet at the times that are written.
    pub(crate) fresh: bool,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell {
            style: Style::Rows,
            connections: 2,
            batch: 1000,
            block: 1,
            steps: 0..1,
            pace: Pace::Closed { think_ms: 0 },
            disorder: Disorder::default(),
            warm_up: Duration::ZERO,
            limit: None,
            timed: false,
            reads_per_write: 0.0,
            same_reads: false,
            known_from: None,
            gzip: false,
            verify: Some(50),
            only_whole: false,
            settle: true,
            fresh: true,
        }
    }
}

impl Run {
    /// An experiment that is about to begin.
    pub(super) fn new(plan: Plan, report: Report) -> Run {
        Run {
            plan,
            report,
            latencies: Vec::new(),
            gone: BTreeMap::new(),
            loads: BTreeMap::new(),
            values: BTreeMap::new(),
            begin: Instant::now(),
        }
    }

    /// A fleet whose times no other load of this experiment has at the server.
    pub(crate) fn fleet(
        &mut self,
        site: &Site,
        profile: Profile,
        sources: u64,
        fields: usize,
    ) -> Fleet {
        let loads = self.loads.entry(site.query_address.clone()).or_default();
        *loads += 1;
        Fleet::new(Shape {
            profile,
            seed: self.plan.seed,
            sources,
            fields,
            start_ms: EPOCH_MS + *loads * SPAN_MS + self.plan.name as i64 * OFFSET_MS,
            interval_ms: profile.interval_ms(),
        })
    }

    /// Seconds of a timed cell: what the user says, or what its form has.
    pub(crate) fn seconds(&self, short: f64, usual: f64, full: f64) -> Duration {
        let default = self.pick(short, usual, full);
        Duration::from_secs_f64(self.plan.cell_seconds.unwrap_or(default))
    }

    /// What a timed cell writes before it is measured.
    pub(crate) fn warm_up(&self) -> Duration {
        self.pick(WARM_UP.0, WARM_UP.1, WARM_UP.1)
    }

    /// Measures every job so often as cells are run, all in random order, so that a drift of the
    /// machine falls on all alike. A job that cannot be measured has no runs.
    pub(crate) fn repeated<J, R: Measured>(
        &mut self,
        jobs: &[J],
        mut measure: impl FnMut(&mut Run, &J) -> io::Result<Option<R>>,
    ) -> io::Result<Vec<Runs<R>>> {
        let mut found: Vec<Vec<R>> = jobs.iter().map(|_| Vec::new()).collect();
        let (begin, count) = (Instant::now(), jobs.len() as u64 * self.plan.runs);
        for at in 0..count {
            let job = (permute(at, count, self.plan.seed) % jobs.len() as u64) as usize;
            let (Some(job), Some(runs)) = (jobs.get(job), found.get_mut(job)) else { continue };
            runs.extend(measure(self, job)?);
            let left_s = begin.elapsed().as_secs_f64() / (at + 1) as f64 * (count - at - 1) as f64;
            self.progress(&format!("run {} of {count}, about {left_s:.0} s left", at + 1));
        }
        Ok(found.into_iter().map(Runs::new).collect())
    }

    /// Picks by form.
    pub(crate) fn pick<T>(&self, short: T, usual: T, full: T) -> T {
        match self.plan.form {
            Form::Short => short,
            Form::Usual => usual,
            Form::Full => full,
        }
    }

    /// Runs one load at one site; none when the site has no such door, or is gone.
    pub(crate) fn load(
        &mut self,
        site: &Site,
        fleet: &Fleet,
        cell: &Cell,
    ) -> io::Result<Option<LoadResult>> {
        let Some(target) = site.target(cell.style) else { return Ok(None) };
        if self.gone.contains_key(&site.query_address) {
            return Ok(None);
        }
        let language = target.door.language;
        let reads = language.filter(|_| cell.reads_per_write > 0.0).map(|language| Reads {
            language,
            address: site.query_address.clone(),
            kinds: match cell.same_reads {
                true => self.common_kinds(fleet, cell.style),
                false => Kind::DEVICE.to_vec(),
            },
            per_write: cell.reads_per_write,
            first_step: cell.known_from.unwrap_or(cell.steps.start),
        });
        let load = Load {
            fleet,
            disorder: cell.disorder,
            target,
            address: site.address(cell.style),
            precision: target.precision(fleet),
            connections: cell.connections.clamp(1, fleet.shape.sources),
            batch: cell.batch,
            steps: cell.steps.clone(),
            block: cell.block,
            pace: cell.pace,
            warm_up: cell.warm_up,
            limit: cell.limit,
            until_enough: cell.timed && self.plan.until_enough,
            wish: Wish { ack: site.ack_asked.map(|ack| ack.name().to_owned()), gzip: cell.gzip },
            reads,
            progress: true,
        };
        let settle = match cell.settle {
            true => Duration::from_secs(self.pick(6, 300, 300)),
            false => Duration::ZERO,
        };
        if let (true, Some(_), Some(language)) = (cell.fresh, cell.verify, language) {
            match leftovers(&load, &site.query_address, language) {
                Ok(held) => refuse_leftovers(&site.query_address, held)?,
                Err(error) => return Ok(self.lose(site, &error)),
            }
        }
        let (mut result, outcome) = match measure(&load, &site.watched, settle) {
            Ok(measured) => measured,
            Err(error) => return Ok(self.lose(site, &error)),
        };
        let asked_back = cell.verify.filter(|_| !cell.only_whole || is_whole(&load, &outcome));
        if let (Some(samples), Some(language)) = (asked_back, language) {
            let address = &site.query_address;
            let verdict = verify(&load, &outcome, address, language, samples, VISIBLE_WITHIN);
            result.verification = Some(verdict);
        }
        self.keep(site, &load, &result);
        Ok(Some(result))
    }

    /// Goes on without a server: its end must not cost the others their rows.
    fn lose(&mut self, site: &Site, error: &io::Error) -> Option<LoadResult> {
        let lost = format!("{}: {error}", site.name);
        say(&lost);
        self.gone.insert(site.query_address.clone(), lost);
        self.report.judge(&site.name, false);
        None
    }

    /// Keeps the latencies of a load, says that it is done, and remembers whether it was right.
    fn keep(&mut self, site: &Site, load: &Load<'_>, result: &LoadResult) {
        let number = self.loads.get(&site.query_address).copied().unwrap_or_default();
        let name = format!("{number}-{}-{}", site.name, load.connections);
        *self.values.entry(site.query_address.clone()).or_default() += result.write.points_acked;
        self.progress(&format!(
            "{}, {:?}: {} values from {} connections",
            site.name,
            load.target,
            thousands(result.write.points_acked as f64),
            load.connections
        ));
        self.latencies.extend(result.latencies(&name));
        self.report.judge(&site.name, result.is_right());
        if !result.is_right() {
            say(&result.table());
        }
    }

    /// The device kinds that every server of this run can be asked.
    pub(crate) fn common_kinds(&self, fleet: &Fleet, style: Style) -> Vec<Kind> {
        let language = |site: &Site| site.target(style)?.door.language;
        let languages: Vec<&Language> = self.plan.sites.iter().filter_map(language).collect();
        let can = |kind: &Kind| languages.iter().all(|language| language.can_ask(fleet, *kind));
        Kind::DEVICE.into_iter().filter(can).collect()
    }

    /// Tells the person at the terminal what is done, and how long the run has taken so far.
    pub(crate) fn progress(&self, done: &str) {
        say(&format!("{:6.1} s  {done}", self.begin.elapsed().as_secs_f64()));
    }

    /// Describes what went wrong in the runs of a cell, for the report.
    pub(crate) fn faults(section: &mut Section, what: &str, runs: &Runs<LoadResult>) {
        let mut said = BTreeSet::new();
        for result in runs.iter() {
            let errors = &result.write.errors;
            let errors = errors.iter().map(|(error, count)| format!("{count} x {error}"));
            let verdict = result.verification.iter().flat_map(|verdict| &verdict.described);
            let reads = result.reads.iter().flat_map(|read| &read.wrong_described);
            let refused = result.reads.iter().flat_map(|read| read.errors.keys());
            said.extend(errors.chain(verdict.chain(reads).chain(refused).cloned()));
        }
        said.into_iter().take(5).for_each(|fault| section.say(format!("{what}: {fault}")));
        let busy = runs.iter().filter_map(|run| run.client.machine_busy).fold(0.0, f64::max);
        if busy > MACHINE_BUSY_MAX {
            section.say(format!("{what}: the machine was {:.0} % busy.", busy * 100.0));
        }
        let reads = || runs.iter().flat_map(|run| &run.reads);
        let stale: u64 = reads().map(|read| read.stale).sum();
        if stale > 0 {
            let judged: u64 = reads().map(|read| read.judged).sum();
            section.say(format!(
                "{what}: {stale} of {judged} answers lacked values that had been acknowledged; \
                 this server shows them a moment later."
            ));
        }
    }

    /// Says which servers went away.
    pub(super) fn gone_note(&mut self) {
        if !self.gone.is_empty() {
            let section = self.report.section("Servers that went away");
            self.gone.values().for_each(|gone| section.say(gone.clone()));
        }
    }

    /// Says what all that an experiment wrote takes on each server's disk once the server is quiet.
    /// Its sites share it, and so do its cells: what one of them adds depends on what was merged
    /// meanwhile.
    pub(super) fn sizes_in_the_end(&mut self) {
        let columns = ["values written", "MiB", "bytes/value", "quiet after s"];
        let mut table = Table::new("Sizes in the end", &["server"], &columns);
        let mut told = BTreeSet::new();
        for site in &self.plan.sites {
            let address = &site.query_address;
            let Some(values) = self.values.get(address).filter(|values| **values > 0) else {
                continue;
            };
            if self.gone.contains_key(address) || !told.insert(address) {
                continue;
            }
            let begin = Instant::now();
            let most = Duration::from_secs(self.pick(30, 300, 300));
            let settled = flush_and_settle(site.adapter, address, &site.watched, most);
            let Some(((_, is_quiet), used)) = settled.zip(site.watched.disk_use()) else {
                continue;
            };
            table.row(vec![
                site.adapter.name.to_owned(),
                thousands(*values as f64),
                format!("{:.1}", mib(used.allocated_bytes)),
                format!("{:.2}", used.allocated_bytes as f64 / *values as f64),
                match is_quiet {
                    true => format!("{:.0}", begin.elapsed().as_secs_f64()),
                    false => "was not".to_owned(),
                },
            ]);
        }
        if table.rows.is_empty() {
            return;
        }
        let section = self.report.section("Sizes in the end");
        section.say(
            "All that a server keeps under its data directory, logs included, beside all values \
             that it acknowledged; values that replaced others count too.",
        );
        section.tables.push(table);
    }

    /// What the figures depend on besides the load: the servers as they tell it themselves.
    pub(super) fn disclose(&mut self) {
        let mut table = Table::new("Servers", &["server"], &DISCLOSED);
        for site in &self.plan.sites {
            table.row([site.name.clone()].into_iter().chain(site.disclosure()).collect());
        }
        let section = self.report.section("Disclosure");
        section.say(
            "Versions are those that the servers told when the run began, command lines those of \
             their processes. Servers that acknowledge different things do different work: their \
             rows bear it in their names, and are not to be divided by each other.",
        );
        section.tables.push(table);
    }
}
