//! Suites: experiments on servers that are started for them, one after the other, by the commands
//! of a TOML file. What is done stays done when a suite is interrupted and run again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::exp;
use crate::report::{Report, Table};
use crate::say;
use crate::site::{DISCLOSED, Site};

mod definition;
mod server;

use definition::{Definition, Experiment};
use server::Started;

/// What came of an experiment; beside its report, written last.
#[derive(Debug, Deserialize, Serialize)]
struct Done {
    fingerprint: String,
    began: String,
    seconds: f64,
    right: bool,
    /// Name, version, durability class, command line and adapter of each server.
    servers: Vec<Vec<String>>,
    /// Why there is no report; such an experiment is run again.
    failure: Option<String>,
}

/// Runs what of a suite is not done yet; false when something failed, was refused or was wrong.
pub(crate) fn run(file: &Path, out: &Path) -> io::Result<bool> {
    let all = Definition::read(file)?;
    // Servers may change their directory, and are told where theirs is.
    let out = std::path::absolute(out)?;
    fs::create_dir_all(out.join("servers"))?;
    let lock = File::create(out.join("lock"))?;
    let taken = |_| io::Error::other(format!("{}: another suite is at work here", out.display()));
    lock.try_lock().map_err(taken)?;
    let mut done: Vec<Option<Done>> = Vec::new();
    for experiment in &all.experiments {
        done.push(Done::read(&out.join(&experiment.name), &all.fingerprint(experiment)?));
    }
    let count = all.experiments.len();
    for at in 0..count {
        let Some(experiment) = all.experiments.get(at) else { continue };
        let place = format!("experiment {} of {count}, {}", at + 1, experiment.name);
        if done.get(at).is_some_and(Option::is_some) {
            say(&format!("{place}: done before"));
            continue;
        }
        say(&format!("{place}: {}", left(&done)));
        let found = carry_out(&all, experiment, &out)?;
        if let Some(failure) = &found.failure {
            say(&format!("{place}: {failure}"));
        }
        if let Some(slot) = done.get_mut(at) {
            *slot = Some(found);
        }
        disclose(&all, &done, &out)?;
    }
    disclose(&all, &done, &out)?;
    say(&format!("disclosure: {}", out.join("report.html").display()));
    Ok(done.iter().flatten().all(|done| done.right))
}

/// How long the rest takes, if it takes what the others took.
fn left(done: &[Option<Done>]) -> String {
    let seconds: Vec<f64> = done.iter().flatten().map(|done| done.seconds).collect();
    let rest = done.len() - seconds.len();
    match seconds.is_empty() {
        true => format!("{rest} to run, how long they take is not known yet"),
        false => {
            let left_s = seconds.iter().sum::<f64>() / seconds.len() as f64 * rest as f64;
            format!("{rest} to run, about {left_s:.0} s left")
        }
    }
}

/// Starts the servers of an experiment, runs it, and stops them.
fn carry_out(all: &Definition, experiment: &Experiment, out: &Path) -> io::Result<Done> {
    let dir = out.join(&experiment.name);
    fs::create_dir_all(&dir)?;
    let begin = Instant::now();
    let mut done = Done {
        fingerprint: all.fingerprint(experiment)?,
        began: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
        seconds: 0.0,
        right: false,
        servers: Vec::new(),
        failure: None,
    };
    match measure(all, experiment, out, &mut done.servers) {
        Ok(right) => done.right = right,
        Err(error) => done.failure = Some(error.to_string()),
    }
    done.seconds = begin.elapsed().as_secs_f64();
    if done.failure.is_none() {
        // Whole or not at all: a crash must not leave half of it.
        let (part, whole) = (dir.join("done.json.part"), Done::path(&dir));
        fs::write(&part, serde_json::to_vec_pretty(&done)?)?;
        fs::rename(part, whole)?;
    }
    Ok(done)
}

fn measure(
    all: &Definition,
    experiment: &Experiment,
    out: &Path,
    told: &mut Vec<Vec<String>>,
) -> io::Result<bool> {
    // Stopped when this function ends, however it does.
    let mut started = Vec::new();
    for server in all.servers_of(experiment) {
        started.push(Started::start(server, &out.join("servers"))?);
    }
    let sites: Vec<Site> = started.iter().flat_map(|server| server.sites.clone()).collect();
    for site in &sites {
        told.push([site.name.clone()].into_iter().chain(site.disclosure()).collect());
    }
    exp::run(exp::Plan {
        name: experiment.what().map_err(io::Error::other)?,
        sites,
        form: experiment.form(),
        scale_down: experiment.scale_down,
        cell_seconds: experiment.cell_seconds,
        until_enough: experiment.until_enough,
        series_max: experiment.series_max,
        runs: experiment.runs,
        seed: experiment.seed,
        notes: notes(all),
        out: out.join(&experiment.name),
    })
}

/// What the user's commands say of the servers' origin: the commit, above all.
fn notes(all: &Definition) -> Vec<(String, String)> {
    let here = Path::new(".");
    let said =
        |words| server::ask(words, here).unwrap_or_else(|error| format!("not told: {error}"));
    all.disclose.iter().map(|(name, words)| (name.clone(), said(words))).collect()
}

/// Writes the page of all that the suite's figures depend on.
fn disclose(all: &Definition, done: &[Option<Done>], out: &Path) -> io::Result<()> {
    let mut report = Report::new("Suite: what its figures depend on");
    report.machine.extend(notes(all));
    let columns = ["began", "seconds", "runs of a cell", "form", "outcome"];
    let mut experiments = Table::new("Experiments", &["experiment"], &columns);
    let mut servers = Table::new("Servers", &["experiment", "server"], &DISCLOSED);
    for (experiment, done) in all.experiments.iter().zip(done) {
        let form = experiment.form().name();
        let (began, seconds, outcome) = match done {
            None => ("-".to_owned(), "-".to_owned(), "not run yet".to_owned()),
            Some(done) => {
                let right = if done.right { "right" } else { "something was refused or wrong" };
                let failed = done.failure.as_ref().map(|failure| format!("failed: {failure}"));
                let seconds = format!("{:.0}", done.seconds);
                (done.began.clone(), seconds, failed.unwrap_or_else(|| right.to_owned()))
            }
        };
        let runs = experiment.runs.to_string();
        let name = experiment.name.clone();
        experiments.row(vec![name, began, seconds, runs, form.to_owned(), outcome]);
        for told in done.iter().flat_map(|done| &done.servers) {
            servers.row([experiment.name.clone()].into_iter().chain(told.clone()).collect());
        }
    }
    report.right = done.iter().flatten().all(|done| done.right);
    let section = report.section("Disclosure");
    section.say("Each experiment ran on servers of its own, started on empty directories.");
    section.tables.extend([experiments, servers]);
    report.write(out)
}

impl Done {
    fn path(dir: &Path) -> PathBuf {
        dir.join("done.json")
    }

    /// What came of an experiment that ran to its end as it is defined now.
    fn read(dir: &Path, fingerprint: &str) -> Option<Done> {
        let text = fs::read_to_string(Done::path(dir)).ok()?;
        let done: Done = serde_json::from_str(&text).ok()?;
        (done.fingerprint == fingerprint).then_some(done)
    }
}
