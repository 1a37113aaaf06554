//! The targets of one job: who is scraped, as what is found and the rules say.

use super::client::TlsSetup;
use super::discovery::Places;
use super::scraper::{self, Order, State};
use crate::limits::Limit;
use crate::shared::Shared;
use foliot_lock::{Mutex, Rank};
use foliot_monitor::{Job, LabelSet, Target, Targets};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinSet;

/// Dropped targets of a job that are remembered where the job does not say how many.
const DROPPED_MAX: usize = 10_000;

/// A job's targets, for whoever asks.
#[derive(Debug)]
pub(crate) struct Pool {
    now: Mutex<Shown>,
}

/// What a job has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown {
    pub(crate) active: Vec<(Arc<Target>, Arc<State>)>,
    pub(crate) dropped: Vec<Arc<LabelSet>>,
    pub(crate) dropped_count: usize,
}

impl Default for Pool {
    fn default() -> Self {
        Self { now: Mutex::new(Rank::Table, Shown::default()) }
    }
}

impl Pool {
    pub(crate) fn shown(&self) -> Shown {
        self.now.lock().clone()
    }
}

/// Has a job's targets scraped until it is taken away or the server stops.
pub(super) async fn serve(
    shared: Arc<Shared>,
    mut jobs: watch::Receiver<Option<Arc<Job>>>,
    pool: Arc<Pool>,
) {
    let Some(job) = jobs.borrow_and_update().clone() else { return };
    let mut places = Places::new(&shared, &job.discovery);
    let mut keeper = Keeper::new(shared.clone(), job, pool);
    loop {
        if let Some(groups) = places.groups() {
            keeper.obey(Targets::of_job(&keeper.job, &groups));
        }
        tokio::select! {
            () = places.changed() => {}
            _ = jobs.changed() => {
                let Some(job) = jobs.borrow_and_update().clone() else {
                    return keeper.end().await;
                };
                if job.discovery != keeper.job.discovery {
                    places = Places::new(&shared, &job.discovery);
                }
                keeper.change(job);
            }
            () = shared.stopping() => return,
        }
    }
}

/// A target that is scraped.
struct Kept {
    orders: watch::Sender<Order>,
    state: Arc<State>,
    _place: OwnedSemaphorePermit,
}

struct Keeper {
    shared: Arc<Shared>,
    job: Arc<Job>,
    pool: Arc<Pool>,
    tls: Arc<TlsSetup>,
    kept: BTreeMap<(LabelSet, String), Kept>,
    tasks: JoinSet<()>,
}

impl Keeper {
    fn new(shared: Arc<Shared>, job: Arc<Job>, pool: Arc<Pool>) -> Self {
        let (tls, kept, tasks) = (Arc::default(), BTreeMap::new(), JoinSet::new());
        Self { shared, job, pool, tls, kept, tasks }
    }

    fn change(&mut self, job: Arc<Job>) {
        if job.client != self.job.client {
            self.tls = Arc::default();
        }
        self.job = job;
    }

    /// Has these targets scraped, and no others.
    fn obey(&mut self, targets: Targets) {
        while self.tasks.try_join_next().is_some() {}
        for error in &targets.errors {
            log::warn!("job {}: {error}", self.job.name);
        }
        let found = targets.active.len() as u64;
        let limit = self.job.limits.targets.filter(|limit| found > *limit);
        let forced_error: Option<Arc<str>> = limit
            .map(|limit| format!("{found} targets are more than target_limit: {limit}").into());
        let mut before = std::mem::take(&mut self.kept);
        let mut shown = Shown { dropped_count: targets.dropped_count, ..Shown::default() };
        shown.dropped = targets.dropped;
        shown.dropped.truncate(DROPPED_MAX);
        for target in targets.active {
            let identity = target.identity();
            let (job, target) = (self.job.clone(), Arc::new(target));
            let forced_error = forced_error.clone();
            let order = Order { job, target: target.clone(), forced_error, is_over: false };
            let kept = match before.remove(&identity) {
                Some(kept) => {
                    // One whose scraper has ended is on its way out with the server.
                    let _ = kept.orders.send(order);
                    kept
                }
                None => match self.begin(order) {
                    Some(kept) => kept,
                    None => continue,
                },
            };
            shown.active.push((target, kept.state.clone()));
            self.kept.insert(identity, kept);
        }
        before.into_values().for_each(|kept| end(&kept));
        *self.pool.now.lock() = shown;
    }

    fn begin(&mut self, order: Order) -> Option<Kept> {
        let place = self.shared.monitor.places.clone().try_acquire_owned();
        let Ok(place) = place else {
            self.shared.metrics.limits.add(Limit::ScrapeTargets);
            let url = &order.target.url;
            log::error!("{url} is not scraped: there are too many targets (limits.scrape_targets)");
            return None;
        };
        let (orders, received) = watch::channel(order);
        let state = Arc::<State>::default();
        let (shared, tls) = (self.shared.clone(), self.tls.clone());
        self.tasks.spawn(scraper::serve(shared, received, state.clone(), tls));
        Some(Kept { orders, state, _place: place })
    }

    /// The job is gone.
    async fn end(mut self) {
        std::mem::take(&mut self.kept).values().for_each(end);
        *self.pool.now.lock() = Shown::default();
        while self.tasks.join_next().await.is_some() {}
    }
}

fn end(kept: &Kept) {
    kept.orders.send_modify(|order| order.is_over = true);
}
