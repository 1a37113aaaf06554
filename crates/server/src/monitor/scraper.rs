//! Scrapes one target, again and again.

use super::client::{Answer, Caller, Failed, Room, TlsSetup, Wanted};
use super::{now_ms, sleep_until};
use crate::budget::Held;
use crate::ingest;
use crate::limits::Limit;
use crate::metrics::Way;
use crate::shared::Shared;
use foliot_lock::{Mutex, Rank};
use foliot_model::KeyHasher;
use foliot_monitor::{
    AHEAD_MS_MAX, Cache, Counts, Job, MEMORY_MAX, Metadata, Most, Protocol, Report, SAMPLES_MAX,
    Schedule, Target,
};
use foliot_proto_prometheus::{Format, KEY_SYNTAX, Samples};
use hyper::body::Bytes;
use hyper::header::{self, HeaderName};
use hyper::{Method, StatusCode};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;

const TIMEOUT: HeaderName = HeaderName::from_static("x-prometheus-scrape-timeout-seconds");

/// What a scraper is to do.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) job: Arc<Job>,
    pub(super) target: Arc<Target>,
    /// Why nothing is scraped although it should be.
    pub(super) forced_error: Option<Arc<str>>,
    /// The target is gone.
    pub(super) is_over: bool,
}

/// How a target is, for whoever asks.
#[derive(Debug)]
pub(crate) struct State {
    now: Mutex<Seen>,
}

/// What was seen of a target last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Nothing: it was not scraped yet.
    pub(crate) is_up: Option<bool>,
    pub(crate) error: String,
    pub(crate) at_ms: i64,
    pub(crate) seconds: f64,
    pub(crate) counts: Counts,
    pub(crate) metadata: Arc<BTreeMap<String, Metadata>>,
}

impl Default for State {
    fn default() -> Self {
        Self { now: Mutex::new(Rank::Table, Seen::default()) }
    }
}

impl State {
    pub(crate) fn seen(&self) -> Seen {
        self.now.lock().clone()
    }
}

/// Scrapes until the target is gone or the server stops.
pub(super) async fn serve(
    shared: Arc<Shared>,
    mut orders: watch::Receiver<Order>,
    state: Arc<State>,
    tls: Arc<TlsSetup>,
) {
    let order = orders.borrow_and_update().clone();
    let mut scraper = Scraper::new(shared.clone(), order, state, tls);
    let mut due_ms = scraper.schedule().after(now_ms());
    loop {
        tokio::select! {
            () = sleep_until(due_ms) => {
                let schedule = scraper.schedule();
                scraper.scrape(schedule.time(due_ms, now_ms())).await;
                (due_ms, _) = schedule.next(due_ms, now_ms());
            }
            changed = orders.changed() => {
                let order = orders.borrow_and_update().clone();
                if order.is_over || changed.is_err() {
                    return scraper.end().await;
                }
                let before = scraper.schedule();
                scraper.obey(order);
                if scraper.schedule() != before {
                    due_ms = scraper.schedule().after(now_ms());
                }
            }
            () = shared.stopping() => return,
        }
    }
}

struct Scraper {
    shared: Arc<Shared>,
    order: Order,
    state: Arc<State>,
    caller: Caller,
    cache: Cache,
    /// Its share of the memory.
    held: Held,
    report: Report,
    samples: Samples,
}

/// What came of asking a target.
struct Taken {
    counts: Counts,
    outcome: Result<(), String>,
}

impl Scraper {
    fn new(shared: Arc<Shared>, order: Order, state: Arc<State>, tls: Arc<TlsSetup>) -> Self {
        let caller = Caller::new(order.job.client.clone(), tls);
        let report = Report::new(&order.target);
        let (cache, samples) = (Cache::default(), Samples::default());
        Self { shared, order, state, caller, cache, held: None, report, samples }
    }

    fn schedule(&self) -> Schedule {
        self.order.target.schedule(self.shared.monitor.seed)
    }

    fn obey(&mut self, order: Order) {
        if order.job != self.order.job {
            self.cache.forget_lines();
            if order.job.client != self.order.job.client {
                self.caller = Caller::new(order.job.client.clone(), Arc::default());
            }
        }
        self.order = order;
    }

    async fn scrape(&mut self, at_ms: i64) {
        let began = Instant::now();
        let answer = match &self.order.forced_error {
            Some(reason) => Err(reason.to_string()),
            None => self.fetch().await,
        };
        let body_bytes = answer.as_ref().map_or(0, |(answer, _)| answer.body.len());
        let shared = self.shared.clone();
        let taken = ingest::heavy(&shared, body_bytes, || self.take(answer, at_ms)).await;
        let seconds = began.elapsed().as_secs_f64();
        let is_up = taken.outcome.is_ok();
        self.report.push(is_up, seconds, &taken.counts, at_ms, &mut self.samples);
        // What the store refuses is counted and logged where that happens.
        let kept = self.store().await;
        // Of many targets few are scraped at a time: what the others keep room for is memory that
        // nobody uses.
        self.samples = Samples::default();
        let dropped = taken.counts.exemplars.saturating_sub(kept);
        self.shared.metrics.exemplars_dropped.add(dropped);
        self.tell(&taken, at_ms, seconds);
    }

    /// Asks the target, within its time.
    async fn fetch(&mut self) -> Result<(Answer, Format), String> {
        let (job, target) = (&self.order.job, &self.order.target);
        let seconds = target.timeout_ms as f64 / 1000.0;
        let mut headers =
            vec![(header::ACCEPT, accept(&job.protocols)), (TIMEOUT, seconds.to_string())];
        if job.compresses {
            headers.push((header::ACCEPT_ENCODING, "gzip".to_owned()));
        }
        let (method, url) = (Method::GET, target.url.clone());
        let wanted = Wanted { method, url, headers, body: Bytes::new() };
        let largest = self.shared.config.limits_scrape_body_bytes.0;
        let bytes_max = job.limits.body_bytes.map_or(largest, |bytes| bytes.min(largest));
        let room = Room { budget: &self.shared.scrape_budget, bytes_max };
        let asked = self.caller.ask(&wanted, room);
        let limits = &self.shared.metrics.limits;
        let answer =
            match tokio::time::timeout(Duration::from_millis(target.timeout_ms), asked).await {
                Err(_) => return Err(format!("no answer within {seconds} s (scrape_timeout)")),
                Ok(Ok(answer)) => answer,
                Ok(Err(failed)) => {
                    match failed {
                        Failed::TooLong(_) => limits.add(Limit::ScrapeBodyBytes),
                        Failed::NoMemory => limits.add(Limit::ScrapeBytes),
                        Failed::Other(_) => {}
                    }
                    return Err(failed.to_string());
                }
            };
        if answer.status != StatusCode::OK {
            return Err(format!("server returned HTTP status {}", answer.status));
        }
        let said = answer.content_type.as_deref().unwrap_or_default();
        let format = Format::of_content_type(said).or(job.fallback.map(format_of));
        match format {
            Some(format) => Ok((answer, format)),
            None => Err(format!(
                "Content-Type {said:?} is no format of metrics, and no fallback_scrape_protocol \
                 is set"
            )),
        }
    }

    /// Makes samples of an answer; of none, that all is over.
    fn take(&mut self, answer: Result<(Answer, Format), String>, at_ms: i64) -> Taken {
        self.samples = self.no_samples();
        let (job, target) = (&*self.order.job, &*self.order.target);
        let taken = match answer {
            Err(reason) => Err((Counts::default(), reason)),
            Ok((answer, format)) => {
                let text = (answer.body.as_slice(), format);
                let (budget, held) = (&self.shared.scrape_budget, &mut self.held);
                let most = Most {
                    samples: self.shared.config.limits_scrape_samples,
                    may_hold: &mut |bytes| budget.hold(held, bytes).is_some(),
                };
                self.cache.take((job, target), text, most, at_ms, &mut self.samples)
            }
        };
        let taken = match taken {
            Ok(counts) => Taken { counts, outcome: Ok(()) },
            Err((counts, reason)) => {
                if reason.contains(SAMPLES_MAX) {
                    self.shared.metrics.limits.add(Limit::ScrapeSamples);
                }
                if reason.contains(MEMORY_MAX) {
                    self.shared.metrics.limits.add(Limit::ScrapeBytes);
                    self.cache.forget_lines();
                }
                self.samples.clear();
                self.cache.end(at_ms, &mut self.samples);
                Taken { counts, outcome: Err(reason) }
            }
        };
        // Less than there was room for.
        let _ = self.shared.scrape_budget.hold(&mut self.held, self.cache.bytes());
        taken
    }

    /// Samples for the store as it is now, which finds what it knows by its hash.
    fn no_samples(&self) -> Samples {
        let hasher = self.shared.store().and_then(|store| {
            let namespace = store.default_namespace().ok()?;
            Some(KeyHasher::new(store.engine().key_secret(), namespace, &KEY_SYNTAX))
        });
        hasher.map_or_else(Samples::default, Samples::hashed_by)
    }

    /// Counts a scrape and shows it to whoever asks.
    fn tell(&self, taken: &Taken, at_ms: i64, seconds: f64) {
        let figures = &self.shared.monitor.figures;
        figures.scrapes.add(1);
        figures.scrape_nanos.add((seconds * 1e9) as u64);
        figures.samples_scraped.add(taken.counts.scraped);
        figures.duplicates.add(taken.counts.duplicates);
        figures.samples_ahead.add(taken.counts.ahead);
        if taken.counts.ahead > 0 {
            let (count, url) = (taken.counts.ahead, &self.order.target.url);
            let minutes = AHEAD_MS_MAX / 60_000;
            log::warn!("{count} samples of {url} are dropped: dated over {minutes} minutes ahead");
        }
        let error = taken.outcome.as_ref().err().cloned().unwrap_or_default();
        if !error.is_empty() {
            figures.scrapes_failed.add(1);
            log::debug!("scrape of {} failed: {error}", self.order.target.url);
        }
        let mut now = self.state.now.lock();
        let known = now.metadata.iter().map(|(name, about)| (name.as_str(), about));
        let metadata = match known.eq(self.cache.metadata()) {
            true => now.metadata.clone(),
            false => {
                let metadata = self.cache.metadata();
                Arc::new(metadata.map(|(name, about)| (name.to_owned(), about.clone())).collect())
            }
        };
        let is_up = Some(error.is_empty());
        *now = Seen { is_up, error, at_ms, seconds, counts: taken.counts, metadata };
    }

    /// The target is gone: its series are over.
    async fn end(&mut self) {
        let at_ms = now_ms();
        self.samples.clear();
        self.cache.end(at_ms, &mut self.samples);
        if self.state.seen().is_up.is_some() {
            self.report.end(at_ms, &mut self.samples);
        }
        self.store().await;
    }

    /// Stores what was scraped; returns how many exemplars of it are kept.
    async fn store(&self) -> u64 {
        let (shared, samples) = (&self.shared, &self.samples);
        let work = || ingest::samples(shared, Way::Scrape, samples).unwrap_or_default();
        ingest::heavy(shared, samples.bytes().len(), work).await
    }
}

fn format_of(protocol: Protocol) -> Format {
    match protocol {
        Protocol::Text => Format::Text,
        Protocol::OpenMetrics => Format::OpenMetrics,
        Protocol::Protobuf => Format::Protobuf,
    }
}

/// What is asked for, the first with most weight, as Prometheus spells it.
fn accept(protocols: &[Protocol]) -> String {
    let name = |protocol: &Protocol| match protocol {
        Protocol::OpenMetrics => "application/openmetrics-text;version=1.0.0",
        Protocol::Text => "text/plain;version=0.0.4",
        Protocol::Protobuf => {
            "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
             encoding=delimited"
        }
    };
    let weights = (1..=protocols.len() + 1).rev();
    let weighed = protocols.iter().zip(weights.clone());
    let mut parts: Vec<String> =
        weighed.map(|(protocol, weight)| format!("{};q=0.{weight}", name(protocol))).collect();
    parts.push("*/*;q=0.1".to_owned());
    parts.join(",")
}
