//! A Prometheus configuration file.
//!
//! Every key that Prometheus 3 has is known: it is obeyed, or it is told that it has no effect, or
//! it is refused because the rest would not mean what it says. Other keys are refused.

mod client;
mod discovery;
mod job;

pub use client::{Authorization, Basic, Client, Confidential, Tls};
pub use discovery::{Discovery, Dns, Files, Group, Http, read_groups};
pub use job::{Job, Limits, Protocol};

use crate::length::read_length;
use crate::reading::{Finding, Findings, Keys, Reader};
use crate::relabel::{self, LabelSet, Relabel};
use foliot_proto_prometheus::Histograms;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a configuration file says.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// What holds for all.
    pub global: Global,
    /// What is scraped.
    pub jobs: Vec<Arc<Job>>,
    /// Patterns of files of rules, as they stand.
    pub rule_files: Vec<String>,
    /// Patterns of files of jobs, as they stand.
    pub job_files: Vec<String>,
    /// Rules for labels of alerts before they are sent.
    pub alert_relabel: Vec<Relabel>,
    /// Whom alerts are sent to.
    pub alertmanagers: Vec<Arc<Alertmanagers>>,
    /// The file again, without comments and secrets.
    pub shown: String,
}

/// What holds for all.
#[derive(Clone, Debug, PartialEq)]
pub struct Global {
    /// Time between two scrapes of a target, in milliseconds.
    pub scrape_interval_ms: u64,
    /// How long a scrape may take, in milliseconds.
    pub scrape_timeout_ms: u64,
    /// Time between two evaluations of a group of rules, in milliseconds.
    pub evaluation_interval_ms: u64,
    /// How far in the past rules look, in milliseconds.
    pub rule_query_offset_ms: u64,
    /// Labels that alerts get when they are sent.
    pub external_labels: LabelSet,
    /// What targets are asked for, the best first, if that is said.
    pub protocols: Option<Vec<Protocol>>,
    /// What is taken of histograms.
    pub histograms: Histograms,
    /// Limits of jobs that do not say otherwise.
    pub limits: Limits,
}

impl Default for Global {
    fn default() -> Self {
        Self {
            scrape_interval_ms: 60_000,
            scrape_timeout_ms: 10_000,
            evaluation_interval_ms: 60_000,
            rule_query_offset_ms: 0,
            external_labels: LabelSet::new(),
            protocols: None,
            histograms: Histograms { native: false, classic: false },
            limits: Limits::default(),
        }
    }
}

/// Alertmanagers that are found and spoken to alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Alertmanagers {
    /// Where they are.
    pub discovery: Discovery,
    /// How they are spoken to.
    pub client: Client,
    /// `http` or `https`.
    pub scheme: String,
    /// What stands before `/api/v2/alerts`.
    pub path_prefix: String,
    /// How long a notification may take, in milliseconds.
    pub timeout_ms: u64,
    /// Rules for their labels; what is dropped is not told.
    pub relabel: Vec<Relabel>,
    /// Rules for labels of alerts that are sent to these.
    pub alert_relabel: Vec<Relabel>,
}

/// Why a storage elsewhere is of no concern.
const STORED_HERE: &str = "samples are stored here, and others may write and read by \
                           remote write and remote read";

impl Config {
    /// Reads a file. `variable` looks up variables of the environment, which external labels may
    /// name. Returns also what is to be said of it.
    ///
    /// # Errors
    /// All that is wrong.
    pub fn read(
        text: &str,
        file: &str,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let findings = Findings::new(file);
        let mut config = Self::default();
        if let Some(node) = findings.parse(text) {
            config.shown = node.show(&client::is_secret);
            let mut keys = Reader::new(&node, &findings).keys();
            config.read_keys(&mut keys, variable);
            keys.end();
        }
        findings.end().map(|notes| (config, notes))
    }

    /// Has every file that is named found by `resolve`: names are relative to the configuration.
    pub fn resolve(&mut self, resolve: &dyn Fn(&str) -> String) {
        let resolved = |files: &mut String| *files = resolve(files);
        self.rule_files.iter_mut().chain(&mut self.job_files).for_each(resolved);
        self.jobs.iter_mut().for_each(|job| resolve_job(job, resolve));
        for managers in &mut self.alertmanagers {
            let managers = Arc::make_mut(managers);
            managers.client.resolve(resolve);
            managers.discovery.resolve(resolve);
        }
    }

    /// Adds the jobs of a file that `job_files` names. Files that they name are found by `resolve`:
    /// they are relative to the one that is read. Returns also what is to be said of it.
    ///
    /// # Errors
    /// All that is wrong.
    pub fn add_jobs(
        &mut self,
        text: &str,
        file: &str,
        resolve: &dyn Fn(&str) -> String,
    ) -> Result<Vec<Finding>, Vec<Finding>> {
        let (findings, before) = (Findings::new(file), self.jobs.len());
        if let Some(node) = findings.parse(text) {
            let mut keys = Reader::new(&node, &findings).keys();
            self.read_jobs(&mut keys);
            keys.end();
        }
        self.jobs.iter_mut().skip(before).for_each(|job| resolve_job(job, resolve));
        findings.end()
    }

    fn read_jobs(&mut self, keys: &mut Keys<'_>) {
        let mut names: BTreeSet<String> = self.jobs.iter().map(|job| job.name.clone()).collect();
        for reader in keys.take("scrape_configs").iter().flat_map(Reader::list) {
            let Some(job) = Job::read(&reader, &self.global) else { continue };
            if !names.insert(job.name.clone()) {
                reader.error(format!("job_name {:?} is given twice", job.name));
            }
            self.jobs.push(Arc::new(job));
        }
    }

    fn read_keys(&mut self, keys: &mut Keys<'_>, variable: &dyn Fn(&str) -> Option<String>) {
        if let Some(reader) = keys.take("global") {
            self.global = read_global(&reader, variable);
        }
        if let Some(reader) = keys.take("runtime") {
            reader.note("has no effect here: there is no garbage collector");
        }
        self.read_jobs(keys);
        if let Some(reader) = keys.take("rule_files") {
            self.rule_files = read_patterns(&reader);
        }
        if let Some(reader) = keys.take("scrape_config_files") {
            self.job_files = read_patterns(&reader);
        }
        if let Some(reader) = keys.take("alerting") {
            let mut keys = reader.keys();
            self.alert_relabel = relabel::read(keys.take("alert_relabel_configs"));
            let managers = keys.take("alertmanagers");
            let managers = managers.iter().flat_map(Reader::list);
            self.alertmanagers = managers.map(|reader| Arc::new(read_managers(&reader))).collect();
            keys.end();
        }
        keys.ignore(&["remote_write", "remote_read", "storage"], STORED_HERE);
        keys.ignore(&["tracing"], "requests are not traced");
        keys.ignore(&["otlp"], "OTLP is not spoken");
    }
}

fn resolve_job(job: &mut Arc<Job>, resolve: &dyn Fn(&str) -> String) {
    let job = Arc::make_mut(job);
    job.client.resolve(resolve);
    job.discovery.resolve(resolve);
}

fn read_global(reader: &Reader<'_>, variable: &dyn Fn(&str) -> Option<String>) -> Global {
    let (mut keys, mut global) = (reader.keys(), Global::default());
    let mut given_timeout = None;
    let lengths = [
        ("scrape_interval", &mut global.scrape_interval_ms),
        ("evaluation_interval", &mut global.evaluation_interval_ms),
    ];
    for (name, value) in lengths {
        let Some(reader) = keys.take(name) else { continue };
        // 0 is as if it were not there, as in Prometheus.
        if let Some(ms) = reader.read(read_length).filter(|ms| *ms > 0) {
            *value = ms;
        }
    }
    if let Some(reader) = keys.take("scrape_timeout") {
        given_timeout = reader.read(read_length).filter(|ms| *ms > 0);
        if given_timeout.is_some_and(|ms| ms > global.scrape_interval_ms) {
            reader.error("must not be more than the scrape_interval");
        }
    }
    let otherwise = global.scrape_timeout_ms.min(global.scrape_interval_ms);
    global.scrape_timeout_ms = given_timeout.unwrap_or(otherwise);
    if let Some(ms) = keys.take("rule_query_offset").and_then(|reader| reader.read(read_length)) {
        global.rule_query_offset_ms = ms;
    }
    if let Some(reader) = keys.take("external_labels") {
        global.external_labels = reader.labels();
        for value in global.external_labels.values_mut() {
            *value = with_variables(value, variable);
        }
    }
    global.limits = Limits::read(&mut keys, &Limits::default());
    global.protocols = job::read_protocols(&mut keys);
    global.histograms = job::read_histograms(&mut keys, global.histograms);
    job::ignore_settled(&mut keys);
    keys.ignore(&["query_log_file"], "queries that run are shown by the server");
    keys.ignore(&["scrape_failure_log_file"], "failures are in the log");
    keys.end();
    global
}

fn read_managers(reader: &Reader<'_>) -> Alertmanagers {
    let mut keys = reader.keys();
    let scheme = read_scheme(&mut keys);
    let path_prefix = keys.take("path_prefix").map_or_else(|| "/".to_owned(), |it| it.text());
    let timeout = keys.take("timeout").and_then(|reader| reader.read(read_length));
    if let Some(reader) = keys.take("api_version")
        && reader.text() != "v2"
    {
        reader.error("only v2 is spoken");
    }
    let managers = Alertmanagers {
        scheme,
        path_prefix,
        timeout_ms: timeout.filter(|ms| *ms > 0).unwrap_or(10_000),
        relabel: relabel::read(keys.take("relabel_configs")),
        alert_relabel: relabel::read(keys.take("alert_relabel_configs")),
        discovery: Discovery::read(&mut keys, "alertmanagers"),
        client: Client::read(&mut keys),
    };
    keys.end();
    managers
}

/// Patterns of files.
fn read_patterns(reader: &Reader<'_>) -> Vec<String> {
    reader.list().iter().filter_map(|reader| reader.read(read_pattern)).collect()
}

/// A pattern of files.
fn read_pattern(text: &str) -> Result<String, String> {
    let pattern = one_star(text)?;
    let mut rest = text;
    while let Some((_, class)) = rest.split_once('[') {
        match class.split_once(']') {
            Some((letters, behind)) if !letters.is_empty() => rest = behind,
            _ => return Err(format!("{text:?} has a [ without letters and a ] behind it")),
        }
    }
    Ok(pattern)
}

/// A pattern whose stars stand in its last part. Several in a row are one, as no star stands for
/// several folders.
fn one_star(text: &str) -> Result<String, String> {
    if text.split_once('*').is_some_and(|(_, behind)| behind.contains('/')) {
        return Err(format!(
            "{text:?} has a * before its last /: only the file's name may have one"
        ));
    }
    let mut pattern = text.to_owned();
    while pattern.contains("**") {
        pattern = pattern.replace("**", "*");
    }
    Ok(pattern)
}

/// `http` or `https`.
fn read_scheme(keys: &mut Keys<'_>) -> String {
    let reader = keys.take("scheme");
    let scheme = reader.and_then(|reader| {
        reader.read(|text| match text {
            "http" | "https" => Ok(text.to_owned()),
            _ => Err(format!("{text:?} is neither http nor https")),
        })
    });
    scheme.unwrap_or_else(|| "http".to_owned())
}

/// A text in which `$NAME` and `${NAME}` stand for variables; `$$` is a dollar sign.
fn with_variables(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('$') {
        out.push_str(before);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let braced = behind.strip_prefix('{').and_then(|behind| behind.split_once('}'));
        let (name, after) = match (behind.strip_prefix('$'), braced) {
            (Some(after), _) => {
                out.push('$');
                rest = after;
                continue;
            }
            (None, Some(found)) => found,
            (None, None) => {
                let end = behind.find(|c| !is_name(c)).unwrap_or(behind.len());
                behind.split_at_checked(end).unwrap_or((behind, ""))
            }
        };
        out.push_str(&variable(name).unwrap_or_default());
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
