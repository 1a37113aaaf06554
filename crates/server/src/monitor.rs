//! Foliot as the Prometheus of a configuration file (`prometheus.config`): what it names is
//! scraped, and its rules are followed.
//!
//! ```text
//! manager -> pool, one for each job -> scraper, one for each target -> the store
//!              discovery: where targets are      client: HTTP
//!         -> rules, one for each group -> queries -> the store, notifier -> Alertmanagers
//! ```
//!
//! What is done with texts, labels and states is the room `monitor`; here are sockets, files and
//! clocks. SIGHUP reads the file again: what has not changed goes on as it was.

mod client;
mod described;
mod discovery;
mod notifier;
mod pool;
mod rules;
mod scraper;

pub(crate) use notifier::Managers;
pub(crate) use pool::{Pool, Shown};
pub(crate) use rules::{Seen as SeenGroup, SeenRule, State as Group};
pub(crate) use scraper::Seen;

use crate::config::Config as Settings;
use crate::metrics::{Counter, Kind, Visit, now_ns, one};
use crate::shared::Shared;
use described::Described;
use foliot_lock::{Mutex, Rank};
use foliot_model::NamespaceId;
use foliot_monitor::{
    Confidential, Config, Finding, Job, Metadata, RuleGroup, escaped, fnv, read_rules,
};
use notifier::{Notice, Told};
use rules::Order;
use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

/// Longest configuration and longest file of rules.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Longest password or token in a file of its own.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// Files that a pattern stands for at most.
const FILES_MAX: usize = 10_000;

/// What the configuration says, and how it goes.
#[derive(Debug)]
pub(crate) struct Monitor {
    /// What is obeyed; changes when the file was read again. Nothing: no file is named.
    loaded: watch::Sender<Option<Arc<Loaded>>>,
    pub(crate) pools: Mutex<BTreeMap<String, Arc<Pool>>>,
    /// Groups of rules, by file and name.
    pub(crate) groups: Mutex<BTreeMap<String, Arc<Group>>>,
    pub(crate) managers: Mutex<Vec<Arc<Managers>>>,
    /// When the file was read last, if it was bad then.
    failed_ms: watch::Sender<Option<i64>>,
    /// Places for targets: `limits.scrape_targets`.
    places: Arc<Semaphore>,
    /// What senders say of what they push.
    pub(crate) described: Described,
    /// Tells this server from others that scrape the same targets.
    seed: u64,
    pub(crate) figures: Figures,
}

/// A configuration that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) groups: Vec<Arc<RuleGroup>>,
    pub(crate) read_ns: i64,
}

/// What scraping and following rules come to.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) scrapes: Counter,
    pub(crate) scrapes_failed: Counter,
    pub(crate) scrape_nanos: Counter,
    pub(crate) samples_scraped: Counter,
    pub(crate) duplicates: Counter,
    pub(crate) samples_ahead: Counter,
    pub(crate) discovery_failures: Counter,
    pub(crate) reloads_failed: Counter,
    pub(crate) evaluations: Counter,
    pub(crate) evaluations_missed: Counter,
    pub(crate) rules: Counter,
    pub(crate) rules_failed: Counter,
    pub(crate) rule_nanos: Counter,
    pub(crate) notices: Counter,
    pub(crate) notices_failed: Counter,
    pub(crate) notices_dropped: Counter,
}

impl Monitor {
    /// Reads what the settings name.
    ///
    /// # Errors
    /// All that is wrong with it, a line for each.
    pub(crate) fn open(settings: &Settings, host: &str) -> Result<Self, String> {
        let loaded = match settings.prometheus_config.0.as_str() {
            "" => None,
            path => Some(Arc::new(load(path)?)),
        };
        let places = usize::try_from(settings.limits_scrape_targets).unwrap_or(usize::MAX);
        Ok(Self {
            loaded: watch::Sender::new(loaded),
            pools: Mutex::new(Rank::Table, BTreeMap::new()),
            groups: Mutex::new(Rank::Table, BTreeMap::new()),
            managers: Mutex::new(Rank::Table, Vec::new()),
            failed_ms: watch::Sender::new(None),
            places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
            described: Described::default(),
            seed: fnv([host].into_iter()),
            figures: Figures::default(),
        })
    }

    /// What is obeyed.
    pub(crate) fn loaded(&self) -> Option<Arc<Loaded>> {
        self.loaded.borrow().clone()
    }

    /// Whether the file was good when it was read last.
    pub(crate) fn is_good(&self) -> bool {
        self.failed_ms().is_none()
    }

    /// When the file was read last, if it was bad then.
    pub(crate) fn failed_ms(&self) -> Option<i64> {
        *self.failed_ms.borrow()
    }

    /// Reads the file again, if one is named. A bad one changes nothing.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub(crate) fn reload(&self, path: &str) -> Result<(), String> {
        if path.is_empty() {
            return Ok(());
        }
        let read = load(path).map_err(|reason| reason.replace('\n', "; "));
        self.failed_ms.send_replace(read.is_err().then(now_ms));
        let loaded = read.inspect_err(|reasons| {
            self.figures.reloads_failed.add(1);
            log::error!("{path} is not used, what was read before stays: {reasons}");
        })?;
        log::info!("{path} was read again");
        self.loaded.send_replace(Some(Arc::new(loaded)));
        Ok(())
    }

    /// Shows the figures.
    pub(crate) fn visit(&self, visit: &mut Visit<'_>) {
        use Kind::{Counter, Gauge};
        let figures = &self.figures;
        let counters = [
            ("scrapes_total", "Scrapes of targets", &figures.scrapes),
            ("scrapes_failed_total", "Scrapes that failed", &figures.scrapes_failed),
            ("scrape_samples_total", "Samples that targets exposed", &figures.samples_scraped),
            (
                "scrape_duplicates_total",
                "Samples of a scrape dropped beside another one of their series",
                &figures.duplicates,
            ),
            (
                "scrape_samples_ahead_total",
                "Samples of a scrape dropped because the target dates them too far ahead",
                &figures.samples_ahead,
            ),
            (
                "scrape_discovery_failures_total",
                "Places of targets that could not be looked at",
                &figures.discovery_failures,
            ),
            (
                "scrape_reloads_failed_total",
                "Times that a bad prometheus.config was not used",
                &figures.reloads_failed,
            ),
            ("rule_groups_total", "Evaluations of groups of rules", &figures.evaluations),
            (
                "rule_groups_missed_total",
                "Evaluations of groups left out because the one before took too long",
                &figures.evaluations_missed,
            ),
            ("rules_total", "Evaluations of rules", &figures.rules),
            ("rules_failed_total", "Evaluations of rules that failed", &figures.rules_failed),
            ("alerts_sent_total", "Alerts that Alertmanagers took", &figures.notices),
            (
                "alerts_failed_total",
                "Alerts that an Alertmanager did not take",
                &figures.notices_failed,
            ),
            (
                "alerts_dropped_total",
                "Alerts dropped because too many wait to be sent",
                &figures.notices_dropped,
            ),
        ];
        for (name, help, counter) in counters {
            one(visit, name, Counter, help, &[], counter.get() as f64);
        }
        let seconds = figures.scrape_nanos.get() as f64 / 1e9;
        one(visit, "scrape_seconds_total", Counter, "Time that scrapes took", &[], seconds);
        let seconds = figures.rule_nanos.get() as f64 / 1e9;
        one(visit, "rule_seconds_total", Counter, "Time that rules took", &[], seconds);
        let pools = self.pools.lock().clone();
        for (job, pool) in pools {
            let count = pool.shown().active.len() as f64;
            let labels = [("job", job.as_str())];
            one(visit, "scrape_targets", Gauge, "Targets that are scraped", &labels, count);
        }
    }
}

/// Targets that are looked at for what they say of a metric: those of one kind say the same.
const TARGETS_ASKED_MAX: usize = 1_000;

impl Monitor {
    /// What targets say of metrics, and what senders say of those of a database.
    pub(crate) fn metadata(
        &self,
        namespace: NamespaceId,
        names: &[String],
    ) -> BTreeMap<String, Metadata> {
        let pools = self.pools.lock().clone();
        let targets = pools.values().flat_map(|pool| pool.shown().active);
        let mut found = BTreeMap::new();
        for (_, state) in targets.take(TARGETS_ASKED_MAX) {
            if found.len() == names.len() {
                break;
            }
            let told = state.seen().metadata;
            for name in names.iter().filter(|name| !told.is_empty() && !name.is_empty()) {
                if !found.contains_key(name)
                    && let Some(about) = families(name).find_map(|family| told.get(family))
                {
                    found.insert(name.clone(), about.clone());
                }
            }
        }
        for name in names {
            if !found.contains_key(name)
                && let Some(about) = self.described.of(namespace, families(name))
            {
                found.insert(name.clone(), about);
            }
        }
        found
    }

    /// Where this server is reached, as alerts say.
    pub(crate) fn external_url(&self, shared: &Shared) -> String {
        match shared.config.prometheus_external_url.0.trim_end_matches('/') {
            "" => format!("http://{}:{}", shared.build.host, shared.config.listen_address.port()),
            url => url.to_owned(),
        }
    }

    /// Tells alerts to all Alertmanagers.
    fn notify(&self, notices: impl Iterator<Item = Notice>) {
        let managers = self.managers.lock().clone();
        for notice in notices {
            for managers in &managers {
                if !managers.tell(notice.clone()) {
                    self.figures.notices_dropped.add(1);
                }
            }
        }
    }
}

/// The names under which a metric may be described: its own, and that of the histogram or summary
/// that it is a part of.
fn families(name: &str) -> impl Iterator<Item = &str> {
    let parts = ["_bucket", "_sum", "_count", "_total"];
    let of_part = move |part: &&str| name.strip_suffix(*part);
    std::iter::once(name).chain(parts.into_iter().filter_map(move |part| of_part(&part)))
}

/// Where an expression's values are shown.
fn generator(external_url: &str, text: &str) -> String {
    format!("{external_url}/prometheus/graph?g0.expr={}&g0.tab=1", escaped(text))
}

/// Reads a configuration, and says what is to be said of it.
fn load(path: &str) -> Result<Loaded, String> {
    let (loaded, notes) = read(path).map_err(|findings| {
        let findings: Vec<String> = findings.iter().map(ToString::to_string).collect();
        findings.join("\n")
    })?;
    for note in notes.iter().chain(&absent(&loaded.config, path)) {
        log::warn!("{note}");
    }
    Ok(loaded)
}

/// Reads a configuration with the files that it names; returns also what is to be said of it.
///
/// # Errors
/// All that is wrong.
fn read(path: &str) -> Result<(Loaded, Vec<Finding>), Vec<Finding>> {
    let read_file = |path: &Path| {
        let file = path.display().to_string();
        let text = read_text(path, FILE_BYTES_MAX);
        let bad = |what| vec![Finding { file: file.clone(), line: 1, key: String::new(), what }];
        text.map(|text| (text, file.clone())).map_err(bad)
    };
    let (text, shown) = read_file(Path::new(path))?;
    let (mut config, mut notes) = Config::read(&text, &shown, &|name| std::env::var(name).ok())?;
    config.resolve(&|file| beside(Path::new(path), file));
    let (mut groups, mut errors) = (Vec::new(), Vec::new());
    let job_files = config.job_files.clone();
    for path in job_files.iter().flat_map(|pattern| paths(pattern)) {
        let added = read_file(&path)
            .and_then(|(text, file)| config.add_jobs(&text, &file, &|file| beside(&path, file)));
        match added {
            Ok(more) => notes.extend(more),
            Err(found) => errors.extend(found),
        }
    }
    for path in config.rule_files.iter().flat_map(|pattern| paths(pattern)) {
        match read_file(&path).and_then(|(text, file)| read_rules(&text, &file)) {
            Ok((found, more)) => {
                groups.extend(found.into_iter().map(Arc::new));
                notes.extend(more);
            }
            Err(found) => errors.extend(found),
        }
    }
    let loaded = Loaded { config, groups, read_ns: now_ns() };
    if errors.is_empty() { Ok((loaded, notes)) } else { Err(errors) }
}

/// Where a file is that another one names.
fn beside(from: &Path, file: &str) -> String {
    from.parent().unwrap_or(Path::new("")).join(file).display().to_string()
}

/// Files of rules and of jobs that a configuration names one by one, and that are not there.
/// Prometheus runs without them, and its `promtool check` refuses them.
fn absent(config: &Config, path: &str) -> Vec<Finding> {
    let is_pattern = |name: &str| name.contains(['*', '?', '[']);
    let of = |names: &[String], key: &str, so: &str| {
        let named = names.iter().filter(|name| !is_pattern(name));
        let gone = named.filter(|name| !Path::new(name).is_file());
        let finding = |name: &String| Finding {
            file: path.to_owned(),
            line: 1,
            key: key.to_owned(),
            what: format!("there is no file {name}, so that {so}"),
        };
        gone.map(finding).collect::<Vec<_>>()
    };
    let rules = of(&config.rule_files, "rule_files", "its rules are not followed");
    let jobs = of(&config.job_files, "scrape_config_files", "its jobs are not scraped");
    [rules, jobs].concat()
}

/// Says that a configuration is good, and what else is to be said of it.
///
/// # Errors
/// All that is wrong, a line for each.
pub fn check(path: &Path) -> Result<String, String> {
    let lines = |findings: &[Finding]| {
        let lines = findings.iter().map(|finding| format!("{finding}\n"));
        lines.collect::<String>()
    };
    let path = path.display().to_string();
    let all = |errors: &[Finding]| lines(errors).trim_end().to_owned();
    let (loaded, notes) = read(&path).map_err(|errors| all(&errors))?;
    let absent = absent(&loaded.config, &path);
    if !absent.is_empty() {
        return Err(all(&absent));
    }
    let count = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let jobs = count(loaded.config.jobs.len(), "job");
    let groups = count(loaded.groups.len(), "group");
    Ok(format!("{}{path} is good: {jobs}, {groups} of rules\n", lines(&notes)))
}

/// Obeys the configuration until the server stops.
pub(crate) async fn serve(shared: Arc<Shared>) {
    let mut loaded = shared.monitor.loaded.subscribe();
    if loaded.borrow().is_none() || shared.wait_for_store().await.is_none() {
        return;
    }
    let mut manager = Manager::new(shared.clone());
    loop {
        if let Some(loaded) = loaded.borrow_and_update().clone() {
            manager.obey_jobs(&loaded);
            manager.obey_managers(&loaded);
            manager.obey_groups(&loaded);
        }
        tokio::select! {
            _ = loaded.changed() => {}
            () = shared.stopping() => break,
        }
    }
    // All end by themselves; nothing is marked as over when the server stops.
    while manager.tasks.join_next().await.is_some() {}
}

/// Has every job scraped and every group followed by a task of its own.
struct Manager {
    shared: Arc<Shared>,
    jobs: HashMap<String, watch::Sender<Option<Arc<Job>>>>,
    groups: HashMap<String, watch::Sender<Order>>,
    tasks: JoinSet<()>,
}

impl Manager {
    fn new(shared: Arc<Shared>) -> Self {
        Self { shared, jobs: HashMap::new(), groups: HashMap::new(), tasks: JoinSet::new() }
    }

    fn obey_jobs(&mut self, loaded: &Loaded) {
        while self.tasks.try_join_next().is_some() {}
        let (shared, wanted) = (&self.shared, &loaded.config.jobs);
        self.jobs.retain(|name, orders| {
            let is_wanted = wanted.iter().any(|job| job.name == *name);
            if !is_wanted {
                orders.send_replace(None);
                shared.monitor.pools.lock().remove(name);
            }
            is_wanted
        });
        for job in wanted {
            let order = Some(job.clone());
            match self.jobs.get(&job.name) {
                Some(orders) => drop(orders.send_if_modified(|now| {
                    let is_new = *now != order;
                    now.clone_from(&order);
                    is_new
                })),
                None => {
                    let (orders, received) = watch::channel(order);
                    let pool = Arc::<Pool>::default();
                    shared.monitor.pools.lock().insert(job.name.clone(), pool.clone());
                    self.tasks.spawn(pool::serve(shared.clone(), received, pool));
                    self.jobs.insert(job.name.clone(), orders);
                }
            }
        }
    }

    fn obey_groups(&mut self, loaded: &Arc<Loaded>) {
        let shared = &self.shared;
        self.groups.retain(|key, orders| {
            let is_wanted = loaded.groups.iter().any(|group| group.key() == *key);
            if !is_wanted {
                orders.send_modify(|order| order.is_over = true);
                shared.monitor.groups.lock().remove(key);
            }
            is_wanted
        });
        for group in &loaded.groups {
            let (loaded, group, key) = (loaded.clone(), group.clone(), group.key());
            let order = Order { loaded, group, is_over: false };
            match self.groups.get(&key) {
                Some(orders) => drop(orders.send_replace(order)),
                None => {
                    let state = Arc::new(Group::new(&order));
                    let (orders, received) = watch::channel(order);
                    shared.monitor.groups.lock().insert(key.clone(), state.clone());
                    self.tasks.spawn(rules::serve(shared.clone(), received, state));
                    self.groups.insert(key, orders);
                }
            }
        }
    }

    fn obey_managers(&mut self, loaded: &Loaded) {
        let config = &loaded.config;
        let mut now = self.shared.monitor.managers.lock();
        let before = std::mem::take(&mut *now);
        for managers in &config.alertmanagers {
            let told = Told::new(managers, config);
            let known = before.iter().find(|managers| *managers.told == told);
            now.push(match known {
                Some(managers) => managers.clone(),
                None => {
                    let (managers, received) = Managers::new(told);
                    let managers = Arc::new(managers);
                    let serving = notifier::serve(self.shared.clone(), managers.clone(), received);
                    self.tasks.spawn(serving);
                    managers
                }
            });
        }
        // Those that are gone end when they hear that nobody tells them anything any more.
        before.iter().filter(|one| !now.iter().any(|it| Arc::ptr_eq(it, one))).for_each(|gone| {
            gone.close();
        });
    }
}

/// What is not shown, from where it is.
fn secret(of: &Confidential) -> Result<String, String> {
    match of {
        Confidential::Text(text) => Ok(text.clone()),
        Confidential::File(path) => {
            read_text(Path::new(path), SECRET_BYTES_MAX).map(|text| text.trim().to_owned())
        }
    }
}

/// A file's text, if it is not too long.
fn read_text(path: &Path, bytes_max: u64) -> Result<String, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", path.display());
    let file = std::fs::File::open(path).map_err(|error| cannot(&error))?;
    let mut text = String::new();
    file.take(bytes_max + 1).read_to_string(&mut text).map_err(|error| cannot(&error))?;
    match text.len() as u64 > bytes_max {
        true => Err(cannot(&format!("it is longer than {bytes_max} bytes"))),
        false => Ok(text),
    }
}

/// The files that a pattern stands for, in order.
fn paths(pattern: &str) -> Vec<PathBuf> {
    let found = glob::glob(pattern).into_iter().flatten();
    found.flatten().filter(|path| path.is_file()).take(FILES_MAX).collect()
}

fn now_ms() -> i64 {
    now_ns() / 1_000_000
}

/// Waits until a time has come.
async fn sleep_until(at_ms: i64) {
    let wait_ms = at_ms.saturating_sub(now_ms()).max(0).unsigned_abs();
    tokio::time::sleep(Duration::from_millis(wait_ms)).await;
}
