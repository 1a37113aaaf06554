//! What a suite is to do: a TOML file of servers and experiments, refused as a whole when a word of
//! it is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::exp;
use crate::runs::RUNS_MIN;
use crate::site::Site;

/// A program and its arguments; `{dir}` stands for the server's own directory.
pub(super) type Words = Vec<String>;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Definition {
    /// Commands whose answers are disclosed, by name.
    #[serde(default)]
    pub(super) disclose: BTreeMap<String, Words>,
    #[serde(rename = "server")]
    pub(super) servers: Vec<Server>,
    #[serde(rename = "experiment")]
    pub(super) experiments: Vec<Experiment>,
}

/// A server, and the commands that the user names for it.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Server {
    pub(super) name: String,
    /// Its address as a target of an experiment; several where it has rows at several acks.
    pub(super) sites: Vec<String>,
    /// Files that configure it, by their names in its directory.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// Carried out before the start.
    #[serde(default)]
    pub(super) prepare: Vec<Words>,
    pub(super) start: Words,
    /// Succeeds when the server is ready; without it a connection is enough.
    pub(super) ready: Option<Words>,
    #[serde(default = "minutes")]
    pub(super) ready_s: u64,
    /// Prints the process id where it is not that of `start`, as with containers.
    pub(super) pid: Option<Words>,
    /// Cores, as `taskset` reads them.
    pub(super) cpus: Option<String>,
    /// Stops it; without it the signal TERM does.
    pub(super) stop: Option<Words>,
    #[serde(default = "minutes")]
    pub(super) stop_s: u64,
}

/// An experiment and the servers that it runs on.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Experiment {
    /// Names its directory.
    pub(super) name: String,
    pub(super) run: String,
    pub(super) servers: Vec<String>,
    #[serde(default)]
    short: bool,
    #[serde(default)]
    full: bool,
    #[serde(default = "whole")]
    pub(super) scale_down: f64,
    pub(super) cell_seconds: Option<f64>,
    #[serde(default)]
    pub(super) until_enough: bool,
    pub(super) series_max: Option<u64>,
    #[serde(default = "enough")]
    pub(super) runs: u64,
    #[serde(default = "seed")]
    pub(super) seed: u64,
}

fn minutes() -> u64 {
    180
}

fn whole() -> f64 {
    1.0
}

fn enough() -> u64 {
    RUNS_MIN as u64
}

fn seed() -> u64 {
    1
}

impl Definition {
    pub(super) fn read(path: &Path) -> io::Result<Definition> {
        let at = |error: String| io::Error::other(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
        Definition::parse(&text).map_err(at)
    }

    fn parse(text: &str) -> Result<Definition, String> {
        let all: Definition = toml::from_str(text).map_err(|error| error.to_string())?;
        distinct(all.servers.iter().map(|server| &server.name))?;
        distinct(all.experiments.iter().map(|experiment| &experiment.name))?;
        for server in &all.servers {
            let name = &server.name;
            server.sites.iter().try_for_each(|site| Site::parse(site).map(drop))?;
            if server.sites.is_empty() {
                return Err(format!("{name}: sites is empty"));
            }
            let commands = [Some(&server.start), server.ready.as_ref(), server.pid.as_ref()];
            let commands = commands.into_iter().chain([server.stop.as_ref()]).flatten();
            if commands.chain(&server.prepare).any(Vec::is_empty) {
                return Err(format!("{name}: a command is empty"));
            }
            server.files.keys().try_for_each(|file| simple(file))?;
        }
        all.experiments.iter().try_for_each(|experiment| all.check(experiment))?;
        Ok(all)
    }

    fn check(&self, experiment: &Experiment) -> Result<(), String> {
        let Experiment { name, servers, scale_down, cell_seconds, runs, .. } = experiment;
        experiment.what().map_err(|error| format!("{name}: {error}"))?;
        if servers.is_empty() {
            return Err(format!("{name}: servers is empty"));
        }
        if let Some(other) = servers.iter().find(|server| self.server(server).is_none()) {
            return Err(format!("{name}: no server is named {other}"));
        }
        let seconds_fit = cell_seconds.is_none_or(|seconds| (0.01..=86_400.0).contains(&seconds));
        if experiment.short && experiment.full {
            return Err(format!("{name}: short and full at once"));
        }
        if !(1..=100).contains(runs) || !(1.0..=1e9).contains(scale_down) || !seconds_fit {
            return Err(format!(
                "{name}: runs is 1 to 100, scale_down 1 or more, cell_seconds 0.01 to 86400"
            ));
        }
        Ok(())
    }

    fn server(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// The servers of an experiment, the one under test first.
    pub(super) fn servers_of(&self, experiment: &Experiment) -> Vec<&Server> {
        experiment.servers.iter().filter_map(|name| self.server(name)).collect()
    }

    /// All that an experiment's figures hang on in this file: where it changed, they are stale.
    pub(super) fn fingerprint(&self, experiment: &Experiment) -> io::Result<String> {
        Ok(serde_json::to_string(&(experiment, self.servers_of(experiment)))?)
    }
}

impl Experiment {
    pub(super) fn what(&self) -> Result<exp::Name, String> {
        exp::Name::from_str(&self.run, false)
    }

    pub(super) fn form(&self) -> exp::Form {
        exp::Form::of(self.short, self.full)
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for name in names {
        simple(name)?;
        if !seen.insert(name) {
            return Err(format!("{name} is there twice"));
        }
    }
    if seen.is_empty() {
        Err("a suite wants a server and an experiment".to_owned())
    } else {
        Ok(())
    }
}

/// Names become files and directories, which are removed again: none may lead elsewhere.
fn simple(name: &str) -> Result<(), String> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    match !name.is_empty() && !name.starts_with('.') && name.chars().all(fits) {
        true => Ok(()),
        false => Err(format!("{name:?}: a name is of letters, digits, '-', '_' and '.'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: &str = r#"
        [[server]]
        name = "a"
        sites = ["foliot://127.0.0.1:1"]
        start = ["true"]
        [[experiment]]
        name = "x"
        run = "small-box"
        servers = ["a"]
    "#;

    #[test]
    fn a_wrong_word_is_named_before_anything_starts() {
        let right = Definition::parse(RIGHT).unwrap();
        assert_eq!(right.experiments[0].runs, 5);
        for (from, to, said) in [
            ("name = \"a\"", "name = \"../a\"", "../a"),
            ("name = \"a\"", "name = \"a\"\ncolour = 1", "colour"),
            ("servers = [\"a\"]", "servers = [\"b\"]", "no server is named b"),
            ("servers = [\"a\"]", "servers = []", "servers is empty"),
            ("[\"true\"]", "[]", "a command is empty"),
            ("foliot://", "mysql://", "mysql"),
            ("\"small-box\"", "\"no-box\"", "x: "),
            ("run =", "runs = 0\nrun =", "runs is 1 to 100"),
            ("run =", "short = true\nfull = true\nrun =", "short and full at once"),
        ] {
            let wrong = RIGHT.replacen(from, to, 1);
            let error = Definition::parse(&wrong).unwrap_err();
            assert!(error.contains(said), "{to}: {error}");
        }
    }

    #[test]
    fn a_change_of_a_server_is_a_change_of_its_experiments() {
        let print = |text: &str| {
            let all = Definition::parse(text).unwrap();
            all.fingerprint(&all.experiments[0]).unwrap()
        };
        assert_eq!(print(RIGHT), print(RIGHT));
        assert_ne!(print(RIGHT), print(&RIGHT.replace("[\"true\"]", "[\"true\", \"-v\"]")));
    }
}
