//! Finds targets: a task for each place where some may be.

use super::client::{Caller, Room, TlsSetup, Wanted};
use super::paths;
use crate::aside::aside;
use crate::shared::Shared;
use foliot_monitor::{Discovery, Dns, Files, Group, Http, read_groups};
use hyper::body::Bytes;
use hyper::{Method, StatusCode, header};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// How often it is looked whether files have changed.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// Longest list of targets that a file or a server may tell.
const LIST_BYTES_MAX: u64 = 8 << 20;

/// How long a server may take to tell.
const PATIENCE: Duration = Duration::from_secs(30);

/// Lists that wait to be looked at.
const LISTS_AHEAD: usize = 16;

/// Groups with the names of their sources.
pub(super) type Groups = Vec<(String, Group)>;

/// All places of a job, or of Alertmanagers. What looks there ends when this is dropped.
pub(super) struct Places {
    updates: mpsc::Receiver<(usize, Groups)>,
    found: Vec<Option<Groups>>,
    _tasks: JoinSet<()>,
}

impl Places {
    pub(super) fn new(shared: &Arc<Shared>, discovery: &Discovery) -> Self {
        let (sender, updates) = mpsc::channel(LISTS_AHEAD);
        let mut tasks = JoinSet::new();
        let fixed = discovery.groups.iter().enumerate();
        let fixed = fixed.map(|(index, group)| (index.to_string(), group.clone())).collect();
        let mut found = vec![Some(fixed)];
        let mut next = || {
            found.push(None);
            Teller { place: found.len() - 1, sender: sender.clone(), shared: shared.clone() }
        };
        for files in discovery.files.clone() {
            tasks.spawn(watch_files(next(), files));
        }
        for http in discovery.http.clone() {
            tasks.spawn(ask_server(next(), http));
        }
        for dns in discovery.dns.clone() {
            tasks.spawn(look_up(next(), dns));
        }
        Self { updates, found, _tasks: tasks }
    }

    /// Waits for something new; never returns where all is fixed.
    pub(super) async fn changed(&mut self) {
        let Some((place, groups)) = self.updates.recv().await else {
            return std::future::pending().await;
        };
        if let Some(found) = self.found.get_mut(place) {
            *found = Some(groups);
        }
    }

    /// All that is found; nothing as long as some place was not looked at.
    pub(super) fn groups(&self) -> Option<Groups> {
        let found: Option<Vec<&Groups>> = self.found.iter().map(Option::as_ref).collect();
        Some(found?.into_iter().flatten().cloned().collect())
    }
}

/// Tells what a place holds.
struct Teller {
    place: usize,
    sender: mpsc::Sender<(usize, Groups)>,
    shared: Arc<Shared>,
}

impl Teller {
    async fn tell(&self, groups: Groups) {
        // Whoever does not listen any more has dropped this task too.
        let _ = self.sender.send((self.place, groups)).await;
    }

    fn failed(&self, what: &str, reason: impl std::fmt::Display) {
        self.shared.monitor.figures.discovery_failures.add(1);
        log::warn!("{what}: {reason}; what was found before stays");
    }
}

/// When a file was written, and how long it is.
type Stamp = Option<(SystemTime, u64)>;

async fn watch_files(teller: Teller, files: Files) {
    let mut known: BTreeMap<PathBuf, (Stamp, Groups)> = BTreeMap::new();
    let (mut is_first, mut looked_ms) = (true, 0);
    loop {
        let mut has_changed = is_first;
        let found = || files.patterns.iter().flat_map(|pattern| paths(pattern)).collect();
        let paths: Vec<PathBuf> = aside(found);
        let before = known.len();
        known.retain(|path, _| paths.contains(path));
        has_changed |= known.len() != before;
        // A file that was written twice within the clock's grain is found by looking anyway.
        let is_due = looked_ms >= files.refresh_ms;
        looked_ms = if is_due { 0 } else { looked_ms };
        for path in paths {
            let stamp = stamp(&path);
            let before = known.get(&path);
            if before.is_some_and(|(known, _)| *known == stamp) && !is_due {
                continue;
            }
            match aside(|| read_file(&path)) {
                Ok(groups) => {
                    has_changed |= before.is_none_or(|(_, known)| *known != groups);
                    known.insert(path, (stamp, groups));
                }
                Err(reason) => {
                    teller.failed("file_sd_configs", reason);
                    known.entry(path).or_default().0 = stamp;
                }
            }
        }
        if has_changed {
            teller.tell(known.values().flat_map(|(_, groups)| groups.clone()).collect()).await;
        }
        is_first = false;
        tokio::time::sleep(LOOK_PERIOD).await;
        looked_ms += LOOK_PERIOD.as_millis() as u64;
    }
}

fn stamp(path: &Path) -> Stamp {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len()))
}

fn read_file(path: &Path) -> Result<Groups, String> {
    let shown = path.display().to_string();
    let text = super::read_text(path, LIST_BYTES_MAX)?;
    let is_json = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let groups = read_groups(&text, &shown, is_json)?.into_iter().enumerate();
    Ok(groups.map(|(index, group)| marked(group, &shown, index, "__meta_filepath")).collect())
}

/// A group with the label that says where it was found.
fn marked(mut group: Group, source: &str, index: usize, label: &str) -> (String, Group) {
    group.labels.insert(label.to_owned(), source.to_owned());
    (format!("{source}:{index}"), group)
}

async fn ask_server(teller: Teller, http: Http) {
    let mut caller = Caller::new(http.client.clone(), Arc::<TlsSetup>::default());
    let interval = format!("{}", http.refresh_ms as f64 / 1000.0);
    let refresh = hyper::header::HeaderName::from_static("x-prometheus-refresh-interval-seconds");
    let headers = vec![(header::ACCEPT, "application/json".to_owned()), (refresh, interval)];
    let url = http.url.clone();
    let wanted = Wanted { method: Method::GET, url, headers, body: Bytes::new() };
    let mut before: Option<Groups> = None;
    loop {
        let shared = teller.shared.clone();
        let room = Room { budget: &shared.scrape_budget, bytes_max: LIST_BYTES_MAX };
        let asked = tokio::time::timeout(PATIENCE, caller.ask(&wanted, room)).await;
        let found = match asked {
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
            Ok(Err(failed)) => Err(failed.to_string()),
            Ok(Ok(answer)) if answer.status != StatusCode::OK => Err(answer.status.to_string()),
            Ok(Ok(answer)) => read_groups(&String::from_utf8_lossy(&answer.body), &http.url, true),
        };
        match found {
            Ok(groups) => {
                let groups = groups.into_iter().enumerate();
                let groups: Groups = groups
                    .map(|(index, group)| marked(group, &http.url, index, "__meta_url"))
                    .collect();
                if before.as_ref() != Some(&groups) {
                    before = Some(groups.clone());
                    teller.tell(groups).await;
                }
            }
            Err(reason) => {
                teller.failed(&format!("http_sd_configs, {}", http.url), reason);
                if before.is_none() {
                    before = Some(Vec::new());
                    teller.tell(Vec::new()).await;
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(http.refresh_ms)).await;
    }
}

async fn look_up(teller: Teller, dns: Dns) {
    let mut known: BTreeMap<String, Group> = BTreeMap::new();
    let mut is_first = true;
    loop {
        let mut has_changed = is_first;
        for name in &dns.names {
            match tokio::net::lookup_host((name.as_str(), dns.port)).await {
                Ok(found) => {
                    let wanted = found.filter(|address| address.is_ipv6() == dns.is_v6);
                    let mut targets: Vec<String> =
                        wanted.map(|address| address.to_string()).collect();
                    targets.sort();
                    targets.dedup();
                    let mut group = Group { targets, ..Group::default() };
                    group.labels.insert("__meta_dns_name".to_owned(), name.clone());
                    has_changed |= known.insert(name.clone(), group.clone()) != Some(group);
                }
                Err(error) => teller.failed(&format!("dns_sd_configs, {name}"), error),
            }
        }
        if has_changed {
            teller.tell(known.clone().into_iter().collect()).await;
        }
        is_first = false;
        tokio::time::sleep(Duration::from_millis(dns.refresh_ms)).await;
    }
}
