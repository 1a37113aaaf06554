//! Layers: where each value came from. Flags win over the environment, which wins over the file,
//! which wins over the defaults.

use super::{Config, KEYS, Key};
use foliot_model::edits;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Variables that begin as those of settings do: the file of settings, which server is asked, who
/// asks it, and who signed it.
const NO_KEYS: [&str; 4] = ["FOLIOT_CONFIG", "FOLIOT_URL", "FOLIOT_TOKEN", "FOLIOT_CA"];

/// Where a value came from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    #[default]
    Default,
    /// This file.
    File(PathBuf),
    /// This environment variable.
    Environment(String),
    /// This flag.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(name) => f.write_str(name),
        }
    }
}

/// A setting that is in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its dotted name.
    pub name: &'static str,
    /// As it stands; secrets are covered.
    pub value: String,
    /// Where it came from, for a person.
    pub origin: String,
    /// What it does.
    pub help: &'static str,
}

/// Settings with their origins. Layers are added from the weakest to the strongest.
#[derive(Clone, Debug, Default)]
pub struct Layers {
    config: Config,
    origins: BTreeMap<&'static str, Origin>,
}

impl Layers {
    /// The settings as they stand.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Every key with its value and where that came from. With a machine's memory the values are
    /// those that a server there would use, and the origin says which were cut.
    pub fn show(
        &self,
        memory_bytes: Option<u64>,
    ) -> impl Iterator<Item = (&'static str, String, String)> {
        let mut used = self.config.clone();
        if let Some(memory) = memory_bytes {
            used.limits_memory_bytes.0.get_or_insert(memory);
            used = used.fit(Some(memory));
        }
        KEYS.iter().map(move |key| {
            let origin = self.origins.get(key.name).cloned().unwrap_or_default();
            let (told, value) = ((key.show)(&self.config), (key.show)(&used));
            let note = if told == value { "" } else { ", fitted to the memory" };
            (key.name, value, format!("{origin}{note}"))
        })
    }

    /// The same as [`Layers::show`], as a server tells of its own settings.
    pub fn told(&self, memory_bytes: Option<u64>) -> Vec<Told> {
        let helps = KEYS.iter().map(|key| key.help.trim());
        let shown = self.show(memory_bytes).zip(helps);
        shown.map(|((name, value, origin), help)| Told { name, value, origin, help }).collect()
    }

    /// Adds the keys of a TOML text that was read from `path`.
    ///
    /// # Errors
    /// The file and what is wrong, a line for each key.
    pub fn add_file(&mut self, path: &Path, text: &str) -> Result<(), String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            format!("{}, line {line}: {}", path.display(), error.message().replace('\n', " "))
        })?;
        let mut pairs = Vec::new();
        flatten("", &table, &mut pairs);
        let mut faults = Vec::new();
        for (name, value) in pairs {
            let taken = find(&name).and_then(|key| {
                let value = value.map_err(|kind| format!("{name} cannot be {kind}"))?;
                self.set(key, &value, Origin::File(path.to_owned()))
            });
            faults.extend(taken.err().map(|fault| format!("{}: {fault}", path.display())));
        }
        together(faults)
    }

    /// Adds the variables that begin with `FOLIOT_`. Those that are no keys are left out, and so
    /// are those that Kubernetes sets for a service called `foliot`, or `foliot-` and more.
    ///
    /// # Errors
    /// The variables and what is wrong, a line for each of them.
    pub fn add_environment(
        &mut self,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<(), String> {
        let mut faults = Vec::new();
        for (variable, value) in variables {
            let is_key = variable.starts_with("FOLIOT_") && !NO_KEYS.contains(&&*variable);
            if !is_key || is_service_link(&variable, &value) {
                continue;
            }
            let key = KEYS.iter().find(|key| key.variable() == variable).ok_or_else(|| {
                let names: Vec<_> = KEYS.iter().map(Key::variable).collect();
                unknown("environment variable", &variable, names.iter().map(String::as_str))
            });
            let taken = key.and_then(|key| self.set(key, &value, Origin::Environment(variable)));
            faults.extend(taken.err());
        }
        together(faults)
    }

    /// Adds `key=value` as given with `--set`.
    ///
    /// # Errors
    /// One sentence that names the key.
    pub fn add_pair(&mut self, pair: &str) -> Result<(), String> {
        let named = pair.split_once('=').filter(|(name, _)| !name.trim().is_empty());
        let Some((name, value)) = named else {
            return Err(format!("--set {pair}: write it as --set key=value"));
        };
        let key = find(name.trim())?;
        self.set(key, value.trim(), Origin::Flag("--set".to_owned()))
    }

    /// Adds one flag.
    ///
    /// # Errors
    /// One sentence that names the key.
    pub fn add_flag(&mut self, key: &'static Key, value: &str) -> Result<(), String> {
        self.set(key, value, Origin::Flag(format!("--{}", key.flag)))
    }

    fn set(&mut self, key: &'static Key, value: &str, origin: Origin) -> Result<(), String> {
        if let (Origin::Flag(flag), Some(Origin::Flag(before))) =
            (&origin, self.origins.get(key.name))
        {
            let and = if flag == before { String::new() } else { format!(" and {flag}") };
            return Err(format!("{} is given twice, by {before}{and}: give it once", key.name));
        }
        (key.set)(&mut self.config, value)
            .map_err(|error| format!("{} (from {origin}): {error}", key.name))?;
        self.origins.insert(key.name, origin);
        Ok(())
    }
}

/// All that is wrong, a line each; a person wants to hear of it at once.
///
/// # Errors
/// Where there is any.
pub fn together(faults: Vec<String>) -> Result<(), String> {
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults.join("\n")),
    }
}

/// Turns nested tables into dotted names. A value that no key can have is given as its kind's name.
fn flatten(
    prefix: &str,
    table: &toml::Table,
    out: &mut Vec<(String, Result<String, &'static str>)>,
) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        let value = match value {
            toml::Value::Table(table) => {
                flatten(&name, table, out);
                continue;
            }
            toml::Value::String(text) => Ok(text.clone()),
            toml::Value::Integer(number) => Ok(number.to_string()),
            toml::Value::Float(number) => Ok(number.to_string()),
            toml::Value::Boolean(flag) => Ok(flag.to_string()),
            toml::Value::Array(_) => Err("a list"),
            toml::Value::Datetime(_) => Err("a date"),
        };
        out.push((name, value));
    }
}

fn find(name: &str) -> Result<&'static Key, String> {
    let key = KEYS.iter().find(|key| key.name == name);
    key.ok_or_else(|| unknown("key", name, KEYS.iter().map(|key| key.name)))
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(best) => format!("unknown {what} {name}; did you mean {best}?"),
        None => format!("unknown {what} {name}; `foliot config show` lists all keys"),
    }
}

/// What may have been meant by a name that does not exist.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // A name without its group is looked for among the names without theirs.
    let short = |known: &'a str| match name.contains('.') {
        true => known,
        false => known.rsplit('.').next().unwrap_or(known),
    };
    // A third of the letters may be wrong; beyond that a guess would mislead.
    let near = |known| {
        let spellings = [known, short(known)].into_iter();
        let good = spellings.map(|of| (edits(name, of), of.len()));
        good.filter(|(edits, letters)| edits * 3 <= *letters).map(|(edits, _)| edits).min()
    };
    known.filter_map(|known| Some((near(known)?, known))).min().map(|(_, best)| best)
}

/// Whether Kubernetes has set a variable, in every container beside a service
/// (<https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables>):
/// `NAME_SERVICE_HOST`, `NAME_SERVICE_PORT…`, `NAME_PORT` and `NAME_PORT_4242_TCP…`.
fn is_service_link(variable: &str, value: &str) -> bool {
    let is_url = ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme));
    let of_port = variable.rsplit_once("_PORT_").is_some_and(|(_, behind)| {
        let protocol = behind.trim_start_matches(|c: char| c.is_ascii_digit());
        protocol.len() < behind.len()
            && ["_TCP", "_UDP", "_SCTP"].iter().any(|known| protocol.starts_with(known))
    });
    variable.ends_with("_SERVICE_HOST")
        || variable.contains("_SERVICE_PORT")
        || (variable.ends_with("_PORT") && is_url)
        || of_port
}
