//! Where targets are found.

use super::client::Client;
use super::one_star;
use crate::length::read_length;
use crate::reading::{Findings, Keys, Reader};
use crate::relabel::LabelSet;

/// Targets of one source: a discovery by files, say, has as many as its files have groups.
const TARGETS_MAX: usize = 100_000;

/// Targets that have labels in common.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Their addresses.
    pub targets: Vec<String>,
    /// What they have in common.
    pub labels: LabelSet,
}

/// Groups in files, which are read again when they change.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    /// Paths, whose last part may have a `*`.
    pub patterns: Vec<String>,
    /// How often files are looked for, in milliseconds.
    pub refresh_ms: u64,
}

/// Groups that a server tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Http {
    /// Where.
    pub url: String,
    /// How often it is asked, in milliseconds.
    pub refresh_ms: u64,
    /// How it is spoken to.
    pub client: Client,
}

/// Addresses that names stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Dns {
    /// The names.
    pub names: Vec<String>,
    /// Whether addresses of version 6 are wanted, and not those of version 4.
    pub is_v6: bool,
    /// The port of each target.
    pub port: u16,
    /// How often they are asked for, in milliseconds.
    pub refresh_ms: u64,
}

/// Where targets are found: in all of these places.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Discovery {
    /// In the configuration.
    pub groups: Vec<Group>,
    /// In files.
    pub files: Vec<Files>,
    /// At servers.
    pub http: Vec<Http>,
    /// By name.
    pub dns: Vec<Dns>,
}

/// Ways to find targets that Prometheus has and this does not.
const OTHERS: [&str; 25] = [
    "aws_sd_configs",
    "azure_sd_configs",
    "consul_sd_configs",
    "digitalocean_sd_configs",
    "docker_sd_configs",
    "dockerswarm_sd_configs",
    "ec2_sd_configs",
    "eureka_sd_configs",
    "gce_sd_configs",
    "hetzner_sd_configs",
    "ionos_sd_configs",
    "kubernetes_sd_configs",
    "kuma_sd_configs",
    "lightsail_sd_configs",
    "linode_sd_configs",
    "marathon_sd_configs",
    "nerve_sd_configs",
    "nomad_sd_configs",
    "openstack_sd_configs",
    "ovhcloud_sd_configs",
    "puppetdb_sd_configs",
    "scaleway_sd_configs",
    "serverset_sd_configs",
    "triton_sd_configs",
    "uyuni_sd_configs",
];

impl Discovery {
    pub(crate) fn resolve(&mut self, resolve: &dyn Fn(&str) -> String) {
        let patterns = self.files.iter_mut().flat_map(|files| &mut files.patterns);
        patterns.for_each(|pattern| *pattern = resolve(pattern));
        self.http.iter_mut().for_each(|http| http.client.resolve(resolve));
    }

    /// Reads the places; `what` they are of, for a person.
    pub(crate) fn read(keys: &mut Keys<'_>, what: &str) -> Self {
        let list = |reader: Option<Reader<'_>>, read: &mut dyn FnMut(&Reader<'_>)| {
            reader.iter().flat_map(Reader::list).for_each(|reader| read(&reader));
        };
        let mut found = Self::default();
        list(keys.take("static_configs"), &mut |reader| {
            found.groups.push(read_group(reader, false))
        });
        list(keys.take("file_sd_configs"), &mut |reader| {
            let mut keys = reader.keys();
            let patterns = keys.need("files").map(|it| read_files(&it)).unwrap_or_default();
            found.files.push(Files { patterns, refresh_ms: read_refresh(&mut keys, 300_000) });
            keys.end();
        });
        list(keys.take("http_sd_configs"), &mut |reader| {
            let mut keys = reader.keys();
            let url = keys.need("url").map(|it| it.text()).unwrap_or_default();
            if !url.starts_with("http://") && !url.starts_with("https://") {
                reader.error(format!("{url:?} is no URL of http or https"));
            }
            let refresh_ms = read_refresh(&mut keys, 60_000);
            found.http.push(Http { url, refresh_ms, client: Client::read(&mut keys) });
            keys.end();
        });
        list(keys.take("dns_sd_configs"), &mut |reader| found.dns.extend(read_dns(reader)));
        let ways = "static_configs, file_sd_configs, http_sd_configs and dns_sd_configs";
        keys.refuse(&OTHERS, &format!("{what} are found by {ways}"));
        found
    }
}

/// Patterns of files with groups.
fn read_files(reader: &Reader<'_>) -> Vec<String> {
    const ENDS: [&str; 6] = [".json", ".yml", ".yaml", ".JSON", ".YML", ".YAML"];
    let list = reader.list();
    if list.is_empty() {
        reader.error("must name a file");
    }
    let read = |reader: &Reader<'_>| {
        reader.read(|text| match ENDS.iter().any(|end| text.ends_with(end)) {
            true => one_star(text),
            false => Err(format!("{text:?} must end in .json, .yml or .yaml")),
        })
    };
    list.iter().filter_map(read).collect()
}

fn read_refresh(keys: &mut Keys<'_>, otherwise_ms: u64) -> u64 {
    let given = keys.take("refresh_interval").and_then(|reader| reader.read(read_length));
    given.unwrap_or(otherwise_ms).max(100)
}

fn read_dns(reader: &Reader<'_>) -> Option<Dns> {
    let mut keys = reader.keys();
    let names = keys.need("names").map(|it| it.texts()).unwrap_or_default();
    let kind = keys.take("type").map_or_else(|| "SRV".to_owned(), |it| it.text());
    let port = keys.take("port");
    let port = port.and_then(|it| {
        let port = it.number()?.try_into();
        port.map_err(|_| it.error("this is no port")).ok()
    });
    let refresh_ms = read_refresh(&mut keys, 30_000);
    keys.end();
    match (kind.to_ascii_uppercase().as_str(), port) {
        ("A", Some(port)) => Some(Dns { names, is_v6: false, port, refresh_ms }),
        ("AAAA", Some(port)) => Some(Dns { names, is_v6: true, port, refresh_ms }),
        ("A" | "AAAA", None) => {
            reader.error("a port is needed for addresses");
            None
        }
        (kind, _) => {
            reader.error(format!("type {kind} is not asked for: only A and AAAA are"));
            None
        }
    }
}

/// In JSON a number is no text; in YAML it is one where a text is wanted.
fn read_group(reader: &Reader<'_>, is_json: bool) -> Group {
    if reader.is_null() {
        reader.error("a group is missing here");
    }
    let mut keys = reader.keys();
    let (targets, labels) = (keys.take("targets"), keys.take("labels"));
    if is_json {
        let values = labels.iter().flat_map(Reader::entries).map(|(_, value)| value);
        let bad = targets.iter().flat_map(Reader::list).chain(values).filter(|it| !it.is_text());
        bad.for_each(|reader| reader.error("a text in quotes is needed here"));
    }
    let targets = targets.map(|it| it.texts()).unwrap_or_default();
    let labels = labels.map(|it| it.labels()).unwrap_or_default();
    if let Some(bad) = targets.iter().find(|target| target.contains('/')) {
        reader
            .error(format!("{bad:?} is no host and port: scheme and path have keys of their own"));
    }
    keys.end();
    Group { targets, labels }
}

/// Reads groups as files and servers tell them: a list, in JSON or else in YAML.
///
/// # Errors
/// What is wrong, in a sentence.
pub fn read_groups(text: &str, source: &str, is_json: bool) -> Result<Vec<Group>, String> {
    if is_json {
        // All of JSON is YAML, but not the other way round.
        let read: Result<serde_json::Value, _> = serde_json::from_str(text);
        read.map_err(|error| format!("{source}:{}: this is no JSON: {error}", error.line()))?;
    }
    let findings = Findings::new(source);
    let mut groups = Vec::new();
    if let Some(node) = findings.parse(text) {
        let readers = Reader::new(&node, &findings).list();
        groups.extend(readers.iter().map(|reader| read_group(reader, is_json)));
    }
    match findings.end() {
        Err(errors) => Err(errors.first().map(ToString::to_string).unwrap_or_default()),
        Ok(_) if groups.iter().map(|group| group.targets.len()).sum::<usize>() > TARGETS_MAX => {
            Err(format!("{source} has more than {TARGETS_MAX} targets"))
        }
        Ok(_) => Ok(groups),
    }
}
