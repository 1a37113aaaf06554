//! Verification of everything: each door that takes data, each disorder of delivery and each kind
//! of question, on data small enough to check every answer.

use std::io;
use std::time::Duration;

use clap::ValueEnum;

use super::run::{Cell, Run};
use crate::adapter::{Can, Style};
use crate::catalogue::Kind;
use crate::dialect::Language;
use crate::disorder::{Delay, Disorder, Shuffle};
use crate::fleet::Fleet;
use crate::oracle::Oracle;
use crate::pace::Pace;
use crate::profile::Profile;
use crate::query::Stream;
use crate::report::Table;
use crate::site::Site;

const SOURCES: u64 = 12;
const STEPS: u64 = 400;

/// Lines of a request.
const BATCH: u64 = 97;

/// Trucks are asked about whole days.
const TRUCKS_INTERVAL_MS: i64 = 240_000;

pub(super) fn run(run: &mut Run) -> io::Result<()> {
    let sites = run.plan.sites.clone();
    let columns = ["values sent", "values checked", "wrong", "errors"];
    let mut loads =
        Table::new("Everything asked back", &["server, door, data, disorder"], &columns);
    let columns = ["asked", "judged", "wrong", "errors"];
    let mut questions = Table::new("Kinds of questions", &["server, door, kind"], &columns);
    let mut faults = Vec::new();
    for site in &sites {
        for (style, door) in Style::ALL {
            let Some(target) = site.target(style) else { continue };
            for (packed, (profile, disorder, what)) in
                [false, true].into_iter().cycle().zip(cases())
            {
                // A host of TSBS devops reports a hundred values a step: a few hosts are enough.
                let sources = if profile == Profile::tsbs_devops() { SOURCES / 4 } else { SOURCES };
                let mut fleet = run.fleet(site, profile, sources, profile.fields().min(60));
                if profile == Profile::tsbs_iot() {
                    fleet.shape.interval_ms = TRUCKS_INTERVAL_MS;
                }
                if disorder.shuffle == Shuffle::Series && !fleet.separable() {
                    continue;
                }
                if !target.takes(&disorder) {
                    let mut cells =
                        vec![format!("{}, {door}, {}, {what}", site.name, profile.name())];
                    cells.extend(["n/a"; 4].map(str::to_owned));
                    loads.row(cells);
                    continue;
                }
                // Every second load is packed, where the door unpacks.
                let batch = target.door.batch_min.max(BATCH);
                let cell = Cell { batch, ..cell(style, target.can(Can::Gzip) && packed, disorder) };
                let Some(result) = run.load(site, &fleet, &cell)? else { continue };
                let verdict = result.verification.clone().unwrap_or_default();
                loads.row(vec![
                    format!("{}, {door}, {}, {what}", site.name, profile.name()),
                    result.write.points_sent.to_string(),
                    verdict.values.to_string(),
                    verdict.wrong.to_string(),
                    result.write.errors.values().sum::<u64>().to_string(),
                ]);
                let name = format!("{}, {door}, {}, {what}", site.name, profile.name());
                let asked = match profile {
                    profile if profile == Profile::tsbs_cpu() => disorder.shuffle == Shuffle::None,
                    profile => profile == Profile::tsbs_iot() && disorder.is_tidy(),
                };
                if let (true, Some(language)) = (asked, target.door.language) {
                    let kinds = kinds(profile);
                    let fleet = &fleet;
                    let asking = Asking { site, language, fleet, disorder, kinds, name: &name };
                    faults.extend(asking.run(run, &mut questions)?);
                }
                let wrong = verdict.described.iter().chain(result.write.errors.keys());
                faults.extend(wrong.map(|wrong| format!("{name}: {wrong}")));
            }
        }
    }
    let section = run.report.section("Verification");
    section.say(format!(
        "{SOURCES} sources, {STEPS} steps, three connections, {BATCH} lines a request (a task of \
         Druid's holds 5000). Counts and sums of every series and all samples of some are compared \
         with the generator; late, repeated and missing rows are known to it. A kind that a \
         language cannot ask shows n/a."
    ));
    faults.into_iter().take(30).for_each(|fault| section.say(fault));
    section.tables.push(loads);
    section.tables.push(questions);
    Ok(())
}

/// The load of a case.
fn cell(style: Style, gzip: bool, disorder: Disorder) -> Cell {
    Cell {
        style,
        gzip,
        connections: 3,
        steps: 0..STEPS,
        disorder,
        verify: Some(SOURCES),
        settle: false,
        ..Cell::default()
    }
}

/// Data at a site, ready to be asked about.
struct Asking<'a> {
    site: &'a Site,
    language: &'static Language,
    fleet: &'a Fleet,
    disorder: Disorder,
    kinds: Vec<Kind>,
    name: &'a str,
}

impl Asking<'_> {
    /// Asks every kind; returns what went wrong.
    fn run(&self, run: &mut Run, table: &mut Table) -> io::Result<Vec<String>> {
        let oracle = Oracle {
            fleet: self.fleet,
            disorder: self.disorder,
            first_source: 0,
            end_source: SOURCES,
            first_step: 0,
            end_step: STEPS,
        };
        let mut faults = Vec::new();
        for kind in &self.kinds {
            let stream = Stream {
                oracle,
                language: self.language,
                address: self.site.query_address.clone(),
                kind: *kind,
                other: None,
                connections: 2,
                count: run.pick(4, 100, 100),
                limit: Duration::from_secs(10),
                pace: Pace::Closed { think_ms: 0 },
                judged: run.pick(4, 100, 100),
                moving: 0,
            };
            let asked = stream.run(&self.site.watched)?;
            run.report.judge(&self.site.name, asked.is_right());
            table.row(row(self.name, *kind, &asked));
            let wrong = asked.wrong_described.iter().chain(asked.errors.keys());
            faults.extend(wrong.map(|wrong| format!("{}, {kind:?}: {wrong}", self.name)));
        }
        Ok(faults)
    }
}

/// The kinds to ask: of trucks only what others cannot be asked.
fn kinds(profile: Profile) -> Vec<Kind> {
    let anyones = Kind::about(Profile::tsbs_cpu());
    let kinds = Kind::about(profile);
    match profile == Profile::tsbs_iot() {
        true => kinds.into_iter().filter(|kind| !anyones.contains(kind)).collect(),
        false => kinds,
    }
}

/// (data, disorder, its name)
fn cases() -> Vec<(Profile, Disorder, &'static str)> {
    let tidy = Disorder::default();
    let late = Disorder { late: 0.5, late_steps_max: 60, ..tidy };
    let poisson = Disorder { delay: Delay::Poisson, late_steps_max: 300, ..late };
    let torn = Disorder { repeated: 0.1, gaps: 0.1, missing_fields: 0.2, ..tidy };
    let all = Disorder { shuffle: Shuffle::Sources, repeated: 0.1, gaps: 0.1, ..late };
    vec![
        (Profile::tsbs_cpu(), tidy, "tidy"),
        (Profile::tsbs_cpu(), late, "half late"),
        (Profile::tsbs_cpu(), all, "late, repeated, gaps, shuffled"),
        (Profile::tsbs_cpu(), Disorder { shuffle: Shuffle::Series, ..tidy }, "series shuffled"),
        (Profile::tsbs_devops(), tidy, "tidy"),
        (Profile::tsbs_iot(), tidy, "tidy"),
        (Profile::tsbs_iot(), torn, "repeated, gaps, missing fields"),
        (Profile::iotdb(), poisson, "half late, Poisson"),
        (Profile::Wind, tidy, "tidy"),
        (Profile::churn(), torn, "repeated, gaps, missing fields"),
        (Profile::sparse(), late, "half late"),
    ]
}

fn row(name: &str, kind: Kind, asked: &crate::query::KindResult) -> Vec<String> {
    let kind = kind.to_possible_value().map_or(String::new(), |kind| kind.get_name().to_owned());
    let mut cells = vec![format!("{name}, {kind}")];
    if !asked.supported {
        cells.extend(["n/a"; 4].map(str::to_owned));
        return cells;
    }
    let errors: u64 = asked.errors.values().sum();
    cells.extend([asked.asked, asked.judged, asked.wrong, errors].map(|count| count.to_string()));
    cells
}
