//! Targets: what becomes of an address and its labels before it is scraped.

use crate::config::{Alertmanagers, Group, Job};
use crate::length::{read_length, show_length};
use crate::relabel::{LabelSet, Relabel, relabel};
use crate::schedule::Schedule;
use std::sync::Arc;

/// What begins the names of labels that are for rules only.
const META: &str = "__meta_";

/// What begins the names of labels that no series has.
pub(crate) const HIDDEN: &str = "__";

/// What begins the names of labels that are parameters of the request.
const PARAM: &str = "__param_";

const ADDRESS: &str = "__address__";
const INTERVAL: &str = "__scrape_interval__";
const PATH: &str = "__metrics_path__";
const SCHEME: &str = "__scheme__";
const TIMEOUT: &str = "__scrape_timeout__";

/// Something that exposes metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// What its series have.
    pub labels: LabelSet,
    /// What it was found with.
    pub discovered: Arc<LabelSet>,
    /// Where its metrics are.
    pub url: String,
    /// Time between two scrapes, in milliseconds.
    pub interval_ms: u64,
    /// How long a scrape may take, in milliseconds.
    pub timeout_ms: u64,
}

/// What became of what was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Targets {
    /// What is to be scraped.
    pub active: Vec<Target>,
    /// With which labels something was found that rules dropped.
    pub dropped: Vec<Arc<LabelSet>>,
    /// How many were dropped.
    pub dropped_count: usize,
    /// Why something that was found cannot be scraped.
    pub errors: Vec<String>,
}

impl Targets {
    /// Applies a job's rules to groups, each with the name of its source.
    pub fn of_job(job: &Job, groups: &[(String, Group)]) -> Self {
        let mut targets = Self::default();
        for (source, group) in groups {
            for address in &group.targets {
                let mut labels = group.labels.clone();
                labels.insert(ADDRESS.to_owned(), address.clone());
                targets.add(job, source, labels);
            }
        }
        // One that is found twice is scraped once.
        targets.active.sort_by(|a, b| (&a.labels, &a.url).cmp(&(&b.labels, &b.url)));
        targets.active.dedup_by(|b, a| a.labels == b.labels && a.url == b.url);
        targets
    }

    fn add(&mut self, job: &Job, source: &str, mut labels: LabelSet) {
        let mut default = |name: &str, value: &str| {
            labels.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        };
        default("job", &job.name);
        default(INTERVAL, &show_length(job.interval_ms));
        default(TIMEOUT, &show_length(job.timeout_ms));
        default(PATH, &job.metrics_path);
        default(SCHEME, &job.scheme);
        for (name, values) in &job.params {
            let first = values.first().map_or("", String::as_str);
            default(&format!("{PARAM}{name}"), first);
        }
        labels.retain(|_, value| !value.is_empty());
        let discovered = Arc::new(labels.clone());
        if !relabel(&job.relabel, &mut labels) {
            self.dropped_count += 1;
            let max = job.limits.dropped_targets.and_then(|max| usize::try_from(max).ok());
            if max.is_none_or(|max| self.dropped.len() < max) {
                self.dropped.push(discovered);
            }
            return;
        }
        match make(job, labels, discovered) {
            Ok(target) => self.active.push(target),
            Err(reason) => self.errors.push(format!("a target of {source}: {reason}")),
        }
    }
}

fn make(job: &Job, mut labels: LabelSet, discovered: Arc<LabelSet>) -> Result<Target, String> {
    let address = labels.get(ADDRESS).cloned().ok_or("it has no address")?;
    if address.is_empty() || address.contains(['/', '?', '#', '@']) || address.contains(' ') {
        return Err(format!("{address:?} is no host and port"));
    }
    let length = |name: &str| match labels.get(name) {
        None => Err(format!("it has no {name}")),
        Some(text) => read_length(text).map_err(|reason| format!("{name}: {reason}")),
    };
    let (interval_ms, timeout_ms) = (length(INTERVAL)?, length(TIMEOUT)?);
    if interval_ms == 0 || timeout_ms == 0 || timeout_ms > interval_ms {
        let reason = "interval and timeout must be more than 0, and the timeout not more than the \
                      interval";
        return Err(reason.to_owned());
    }
    labels.retain(|name, _| !name.starts_with(META));
    let url = url(job, &labels, &address);
    Ok(Target { labels: series_labels(labels), discovered, url, interval_ms, timeout_ms })
}

/// What the series of a target have of the labels that rules left it.
pub fn series_labels(mut labels: LabelSet) -> LabelSet {
    if let Some(address) = labels.get(ADDRESS).cloned() {
        labels.entry("instance".to_owned()).or_insert(address);
    }
    labels.retain(|name, _| !name.starts_with(HIDDEN));
    labels
}

fn url(job: &Job, labels: &LabelSet, address: &str) -> String {
    let text = |name: &str| labels.get(name).map_or("", String::as_str);
    let mut pairs: Vec<(&str, &str)> = Vec::new();
    for (name, values) in &job.params {
        // The label that stands for the first value may have been changed, or taken away.
        let first = labels.get(&format!("{PARAM}{name}")).map(String::as_str);
        let others = values.iter().skip(1).map(String::as_str);
        pairs.extend(first.into_iter().chain(others).map(|value| (name.as_str(), value)));
    }
    for (name, value) in labels {
        let Some(name) = name.strip_prefix(PARAM) else { continue };
        if !job.params.iter().any(|(known, _)| known == name) {
            pairs.push((name, value));
        }
    }
    pairs.sort();
    let mut url = base(text(SCHEME), address, text(PATH));
    for (index, (name, value)) in pairs.into_iter().enumerate() {
        url.push(if index > 0 { '&' } else { '?' });
        url.push_str(&format!("{}={}", escaped(name), escaped(value)));
    }
    url
}

/// A URL up to its path, in which a question mark is a letter like others.
fn base(scheme: &str, address: &str, path: &str) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut url = format!("{scheme}://{address}{slash}");
    for byte in path.bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@".contains(&byte) => {
                url.push(char::from(byte));
            }
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

/// A text as a part of a URL's query.
pub fn escaped(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            b' ' => out.push('+'),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Where Alertmanagers take alerts.
pub fn alertmanager_urls(managers: &Alertmanagers, groups: &[(String, Group)]) -> Vec<String> {
    const ALERTS_PATH: &str = "__alerts_path__";
    let prefix = managers.path_prefix.trim_matches('/');
    let slash = if prefix.is_empty() { "" } else { "/" };
    let path = format!("{slash}{prefix}/api/v2/alerts");
    let mut urls = Vec::new();
    for (_, group) in groups {
        for address in &group.targets {
            let mut labels = group.labels.clone();
            labels.insert(ADDRESS.to_owned(), address.clone());
            let mut default = |name: &str, value: &str| {
                labels.entry(name.to_owned()).or_insert_with(|| value.to_owned());
            };
            default(SCHEME, &managers.scheme);
            default(ALERTS_PATH, &path);
            if !relabel(&managers.relabel, &mut labels) {
                continue;
            }
            let text = |name: &str| labels.get(name).map_or("", String::as_str);
            urls.push(base(text(SCHEME), text(ADDRESS), text(ALERTS_PATH)));
        }
    }
    urls.sort();
    urls.dedup();
    urls
}

impl Target {
    /// What tells it from others: labels and URL.
    pub fn identity(&self) -> (LabelSet, String) {
        (self.labels.clone(), self.url.clone())
    }

    /// When it is scraped. Servers with other seeds scrape it at other times.
    pub fn schedule(&self, seed: u64) -> Schedule {
        let texts = self.labels.iter().flat_map(|(name, value)| [name, value]);
        let hash = fnv(texts.chain([&self.url]).map(String::as_str));
        Schedule::new(self.interval_ms, hash ^ seed)
    }
}

/// FNV-1a over texts, mixed once more, because few bits differ between neighbours.
pub fn fnv<'a>(texts: impl Iterator<Item = &'a str>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in texts.flat_map(|text| text.bytes().chain([0xff])) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ hash >> 33
}

/// The labels of a series that a target exposes, with those of the target.
pub(crate) fn with_target(labels: &mut LabelSet, target: &LabelSet, honors: bool) {
    if honors {
        for (name, value) in target {
            labels.entry(name.clone()).or_insert_with(|| value.clone());
        }
        return;
    }
    let mut moved = Vec::new();
    for (name, value) in target {
        let before = labels.insert(name.clone(), value.clone());
        moved.extend(before.filter(|before| !before.is_empty()).map(|before| (name, before)));
    }
    for (name, value) in moved {
        let mut new = format!("exported_{name}");
        while labels.contains_key(&new) {
            new.insert_str(0, "exported_");
        }
        labels.insert(new, value);
    }
}

/// Rules for labels of series: nothing when the series is dropped.
pub(crate) fn of_series(rules: &[Relabel], labels: &mut LabelSet) -> bool {
    labels.retain(|_, value| !value.is_empty());
    relabel(rules, labels) && !labels.is_empty()
}

#[cfg(test)]
mod tests;
