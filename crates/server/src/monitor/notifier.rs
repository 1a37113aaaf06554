//! Tells alerts to Alertmanagers, by version 2 of their API.

use super::client::{Caller, Room, TlsSetup, Wanted};
use super::discovery::Places;
use crate::shared::Shared;
use foliot_lock::{Mutex, Rank};
use foliot_monitor::{Alert, Alertmanagers, Config, LabelSet, Relabel, alertmanager_urls, relabel};
use hyper::body::Bytes;
use hyper::{Method, header};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

/// Alerts that wait to be told, and those that are told at once: as in Prometheus.
const WAITING_MAX: usize = 10_000;
const TOLD_AT_ONCE: usize = 64;

/// Longest answer that is read.
const ANSWER_BYTES_MAX: u64 = 64 << 10;

/// An alert on its way.
#[derive(Clone, Debug)]
pub(super) struct Notice {
    alert: Arc<Alert>,
    generator: Arc<str>,
}

impl Notice {
    pub(super) fn new(alert: Alert, generator: &str) -> Self {
        Self { alert: Arc::new(alert), generator: generator.into() }
    }
}

/// How some Alertmanagers are told.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    managers: Arc<Alertmanagers>,
    external_labels: LabelSet,
    relabel: Vec<Relabel>,
}

impl Told {
    pub(super) fn new(managers: &Arc<Alertmanagers>, config: &Config) -> Self {
        let external_labels = config.global.external_labels.clone();
        let mut relabel = config.alert_relabel.clone();
        relabel.extend(managers.alert_relabel.clone());
        Self { managers: managers.clone(), external_labels, relabel }
    }

    /// What is told of an alert; nothing when a rule drops it.
    fn body(&self, notice: &Notice) -> Option<Value> {
        let mut labels = notice.alert.labels.clone();
        for (name, value) in &self.external_labels {
            labels.entry(name.clone()).or_insert_with(|| value.clone());
        }
        let is_kept = relabel(&self.relabel, &mut labels);
        is_kept.then(|| notice.alert.notification(&labels, &notice.generator))
    }
}

/// Some Alertmanagers, for whoever tells them something or asks for them.
#[derive(Debug)]
pub(crate) struct Managers {
    pub(super) told: Arc<Told>,
    notices: mpsc::Sender<Notice>,
    closed: Notify,
    urls: Mutex<Vec<String>>,
    /// Why those were not told that could not be told last.
    failures: Mutex<BTreeMap<String, String>>,
}

impl Managers {
    pub(super) fn new(told: Told) -> (Self, mpsc::Receiver<Notice>) {
        let (notices, received) = mpsc::channel(WAITING_MAX);
        let (told, closed) = (Arc::new(told), Notify::new());
        let urls = Mutex::new(Rank::Table, Vec::new());
        let failures = Mutex::new(Rank::Table, BTreeMap::new());
        (Self { told, notices, closed, urls, failures }, received)
    }

    /// Whether there is room for it.
    pub(super) fn tell(&self, notice: Notice) -> bool {
        self.notices.try_send(notice).is_ok()
    }

    /// They are told nothing any more.
    pub(super) fn close(&self) {
        self.closed.notify_one();
    }

    /// Where they are.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.urls.lock().clone()
    }

    /// Where those are that could not be told last, and why.
    pub(crate) fn failures(&self) -> BTreeMap<String, String> {
        self.failures.lock().clone()
    }

    /// Others may be told from now on.
    fn find(&self, urls: Vec<String>) {
        self.failures.lock().retain(|url, _| urls.contains(url));
        *self.urls.lock() = urls;
    }

    fn note(&self, url: &str, sent: Result<(), String>) {
        let mut failures = self.failures.lock();
        match sent {
            Ok(()) => drop(failures.remove(url)),
            Err(reason) => drop(failures.insert(url.to_owned(), reason)),
        }
    }
}

/// Tells what it is told until the server stops.
pub(super) async fn serve(
    shared: Arc<Shared>,
    managers: Arc<Managers>,
    mut notices: mpsc::Receiver<Notice>,
) {
    let told = managers.told.clone();
    let tls = Arc::<TlsSetup>::default();
    let mut places = Places::new(&shared, &told.managers.discovery);
    let mut batch = Vec::new();
    loop {
        if let Some(groups) = places.groups() {
            managers.find(alertmanager_urls(&told.managers, &groups));
        }
        tokio::select! {
            () = places.changed() => {}
            _ = notices.recv_many(&mut batch, TOLD_AT_ONCE) => {
                tell(&shared, &managers, &tls, &batch).await;
                batch.clear();
            }
            () = managers.closed.notified() => return,
            () = shared.stopping() => return,
        }
    }
}

/// Tells all of them at once.
async fn tell(
    shared: &Arc<Shared>,
    managers: &Arc<Managers>,
    tls: &Arc<TlsSetup>,
    batch: &[Notice],
) {
    let told = &managers.told;
    let bodies: Vec<Value> = batch.iter().filter_map(|notice| told.body(notice)).collect();
    if bodies.is_empty() {
        return;
    }
    let (count, body) = (bodies.len() as u64, Bytes::from(Value::from(bodies).to_string()));
    let (urls, mut sending) = (managers.urls(), JoinSet::new());
    if urls.is_empty() {
        shared.monitor.figures.notices_dropped.add(count);
    }
    for url in urls {
        let (shared, tls, body) = (shared.clone(), tls.clone(), body.clone());
        let (managers, manager) = (managers.clone(), told.managers.clone());
        sending.spawn(async move {
            let headers = vec![(header::CONTENT_TYPE, "application/json".to_owned())];
            let wanted = Wanted { method: Method::POST, url: url.clone(), headers, body };
            let room = Room { budget: &shared.scrape_budget, bytes_max: ANSWER_BYTES_MAX };
            let mut caller = Caller::new(manager.client.clone(), tls);
            let patience = Duration::from_millis(manager.timeout_ms);
            let sent = match tokio::time::timeout(patience, caller.ask(&wanted, room)).await {
                Err(_) => Err(format!("no answer within {} ms", manager.timeout_ms)),
                Ok(Err(failed)) => Err(failed.to_string()),
                Ok(Ok(answer)) if answer.status.is_success() => Ok(()),
                Ok(Ok(answer)) => Err(answer.status.to_string()),
            };
            let figures = &shared.monitor.figures;
            match &sent {
                Ok(()) => figures.notices.add(count),
                Err(reason) => {
                    figures.notices_failed.add(count);
                    log::warn!("{count} alerts were not told to {url}: {reason}");
                }
            }
            managers.note(&url, sent);
        });
    }
    while sending.join_next().await.is_some() {}
}
