//! What all connections share.

use crate::aside::Turns;
use crate::budget::Budget;
use crate::config::{Config, Told};
use crate::exemplars::Exemplars;
use crate::history::History;
use crate::ingest::PATIENT_MAX;
use crate::jobs::Jobs;
use crate::limits::Limit;
use crate::logging::Repeats;
use crate::makers::Makers;
use crate::metrics::{Figure, Kind, Metrics, one};
use crate::monitor::Monitor;
use crate::queries::Queries;
use crate::query::{Known, Lanes};
use crate::rejects::Rejects;
use crate::senders::Senders;
use crate::server::{Built, Documents};
use crate::store::Store;
use crate::tls::Tls;
use foliot_access::{Gate, Principal};
use foliot_engine::{Commit, Opening};
use foliot_exec::Limits;
use foliot_lock::{Mutex, Rank};
use foliot_model::{BatchBuffers, Pattern};
use foliot_proto_influx::Decoder;
use foliot_proto_influx::influxql::Statement;
use foliot_proto_opentsdb::BuildInfo;
use foliot_proto_prometheus::Expression;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{self, Semaphore, watch};

/// Reusable memory that lies around, of each kind: enough for dozens of usual requests, little
/// against what one giant request would leave.
const SPARE_BYTES_MAX: usize = 32 << 20;

/// And no more than one part in so many of `limits.pending_body_bytes`, which is not charged with
/// it: all three kinds are a twentieth of the memory that is shared out.
const SPARES_SHARE: u64 = 8;

/// While this is there nobody else reads facts to change them.
pub(crate) type Alone = sync::OwnedMutexGuard<()>;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) config: Config,
    /// The same with where they came from.
    pub(crate) settings: Vec<Told>,
    pub(crate) build: BuildInfo,
    /// The pages below `/docs`.
    pub(crate) documents: Documents,
    pub(crate) metrics: Metrics,
    /// How far the store is on its way.
    pub(crate) opening: Arc<Opening>,
    /// There once the store has recovered.
    store: OnceLock<Store>,
    /// Whether the store is there; changes once.
    is_ready: watch::Sender<bool>,
    /// Whether the server is stopping; changes once.
    is_stopping: watch::Sender<bool>,
    pub(crate) began: Instant,
    pub(crate) body_budget: Budget,
    /// Memory for the texts of questions, and what is made of them.
    pub(crate) query_budget: Budget,
    /// Memory for what targets answer, and what is remembered of it.
    pub(crate) scrape_budget: Budget,
    /// What one query may take. Made once: finding the number of processors costs system calls.
    pub(crate) query_limits: Limits,
    /// Which of them run, and which wait.
    pub(crate) lanes: Lanes,
    /// Selections of InfluxQL whose texts come again.
    pub(crate) statements: Known<[Statement]>,
    /// Expressions of PromQL whose texts come again.
    pub(crate) expressions: Known<Expression>,
    /// For requests that keep a processor busy.
    pub(crate) turns: Turns,
    /// For senders that wait on a thread for room in the store.
    pub(crate) patient: Semaphore,
    /// Connections by address.
    pub(crate) connected: Mutex<HashMap<IpAddr, u64>>,
    /// Queries that run.
    pub(crate) queries: Arc<Queries>,
    /// Other work that takes long.
    pub(crate) jobs: Jobs,
    /// Who may do what.
    pub(crate) gate: Gate,
    /// The server's certificate, if it has one.
    pub(crate) tls: Option<Tls>,
    /// Whoever may write without credentials, by address.
    pub(crate) open_writer: Arc<Principal>,
    /// When a failed login was last put into the audit log, in nanoseconds.
    pub(crate) failed_login_ns: Mutex<i64>,
    /// Buffers for bytes off the wire.
    pub(crate) bytes: Spares<Vec<u8>>,
    /// Buffers for what is unpacked, with what lies in them: zeros need not be written below what
    /// is written over anyway.
    pub(crate) unpacked: Spares<Vec<u8>>,
    /// Memory of batches, with the line decoder that fills them.
    pub(crate) batches: Spares<Decoding>,
    /// Held while facts of the catalog are read to be changed: for as long as a rename takes, so
    /// nobody waits for it on a loop, or with a place that questions need.
    facts: Arc<sync::Mutex<()>>,
    pub(crate) rejects: Rejects,
    /// Who sends what.
    pub(crate) senders: Senders,
    /// Who made series.
    pub(crate) makers: Makers,
    /// How the last day went.
    pub(crate) history: History,
    pub(crate) rejects_log: Repeats,
    pub(crate) failures_log: Repeats,
    /// Why nothing comes from the MQTT broker, a sentence, while that is so.
    pub(crate) broker_trouble: Mutex<Option<String>>,
    /// What is scraped, and which rules are followed.
    pub(crate) monitor: Monitor,
    pub(crate) exemplars: Exemplars,
    /// The newest checkpoint of a feeder: when it is durable, all before it are.
    pub(crate) last_checkpoint: Mutex<Option<Commit>>,
}

/// Memory that decoding a request needs.
#[derive(Debug, Default)]
pub(crate) struct Decoding {
    pub(crate) buffers: BatchBuffers,
    pub(crate) lines: Decoder,
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        settings: Vec<Told>,
        built: Built,
        (tls, monitor): (Option<Tls>, Monitor),
    ) -> Self {
        Self {
            settings,
            build: built.info,
            documents: built.documents,
            metrics: Metrics::default(),
            opening: Arc::default(),
            store: OnceLock::new(),
            is_ready: watch::Sender::new(false),
            is_stopping: watch::Sender::new(false),
            began: Instant::now(),
            body_budget: Budget::new(config.limits_pending_body_bytes.0),
            query_budget: Budget::new(config.limits_pending_query_bytes.0),
            scrape_budget: Budget::new(config.limits_scrape_bytes.0),
            query_limits: Limits {
                memory_bytes: config.limits_query_memory_bytes.0,
                samples: config.limits_query_samples,
                seconds: config.limits_query_seconds,
                ..Limits::default()
            },
            lanes: Lanes::new(&config),
            statements: Known::default(),
            expressions: Known::default(),
            turns: Turns::new(),
            patient: Semaphore::new(PATIENT_MAX),
            connected: Mutex::new(Rank::Table, HashMap::new()),
            queries: Arc::default(),
            jobs: Jobs::default(),
            gate: Gate::new(config.access_enabled)
                .with_passwords_from(config.access_password_length_min as usize)
                .with_most(config.limits_users, config.limits_tokens),
            tls,
            open_writer: Arc::new(Principal::writer_to(&config.listen_database.database)),
            failed_login_ns: Mutex::new(Rank::Table, i64::MIN),
            bytes: Spares::new(config.limits_pending_body_bytes.0),
            unpacked: Spares::new(config.limits_pending_body_bytes.0),
            batches: Spares::new(config.limits_pending_body_bytes.0),
            facts: Arc::default(),
            rejects: Rejects::default(),
            senders: Senders::default(),
            makers: Makers::default(),
            history: History::default(),
            rejects_log: Repeats::default(),
            failures_log: Repeats::default(),
            broker_trouble: Mutex::new(Rank::Table, None),
            monitor,
            exemplars: Exemplars::new(config.limits_exemplar_bytes.0),
            last_checkpoint: Mutex::new(Rank::Table, None),
            config,
        }
    }

    /// The store, once it has recovered.
    pub(crate) fn store(&self) -> Option<&Store> {
        self.store.get()
    }

    /// Waits for the store; nothing when the server stops before.
    pub(crate) async fn wait_for_store(&self) -> Option<&Store> {
        let mut ready = self.is_ready.subscribe();
        tokio::select! {
            _ = ready.wait_for(|ready| *ready) => self.store.get(),
            () = self.stopping() => None,
        }
    }

    /// The store has recovered.
    pub(crate) fn open(&self, store: Store) {
        if self.store.set(store).is_ok() {
            self.is_ready.send_replace(true);
        }
    }

    /// Waits so long for others who change facts; nothing where they take longer.
    pub(crate) async fn alone(&self, longest: Duration) -> Option<Alone> {
        tokio::time::timeout(longest, self.facts.clone().lock_owned()).await.ok()
    }

    /// Shows every figure: the server's, the process's and, once it is there, the store's.
    pub(crate) fn visit_figures(&self, visit: &mut dyn FnMut(&Figure<'_>)) {
        let logins = self.gate.figures();
        let [weight, bytes] = Pattern::refused();
        let mut met = vec![
            (Limit::Users, logins.users_refused),
            (Limit::Tokens, logins.tokens_refused),
            (Limit::PatternWeight, weight),
            (Limit::PatternBytes, bytes),
        ];
        met.extend(self.store().into_iter().flat_map(Store::limits_met));
        self.metrics.visit(&self.build.version, &met, visit);
        self.monitor.visit(visit);
        self.exemplars.visit(visit);
        let (kind, failed) = (Kind::Counter, "Logins that failed");
        one(visit, "logins_failed_total", kind, failed, &[], logins.failed as f64);
        let put_off = "Logins put off, by address or because there were too many at once";
        one(visit, "logins_put_off_total", kind, put_off, &[], logins.put_off as f64);
        if let Some(store) = self.store() {
            store.visit_figures(visit);
        }
    }

    /// Tells every task that the server stops.
    pub(crate) fn stop(&self) {
        self.is_stopping.send_replace(true);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.is_stopping.borrow()
    }

    /// Waits until the server stops.
    pub(crate) async fn stopping(&self) {
        // The sender lives as long as `self`, so this cannot fail.
        let _ = self.is_stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}

/// Memory that was used and can be used again, within a bound: requests that come at once need many
/// pieces, and what they leave should not be held for ever.
#[derive(Debug)]
pub(crate) struct Spares<T> {
    pile: Mutex<Pile<T>>,
    bytes_max: usize,
}

/// Pieces with what each weighs, and what they weigh together.
#[derive(Debug, Default)]
struct Pile<T> {
    pieces: Vec<(T, usize)>,
    bytes: usize,
}

impl<T: Default> Spares<T> {
    /// For the pieces that bodies need, which have so many bytes together.
    pub(crate) fn new(body_bytes: u64) -> Self {
        let share = usize::try_from(body_bytes / SPARES_SHARE).unwrap_or(usize::MAX);
        let pile = Mutex::new(Rank::Table, Pile::default());
        Self { pile, bytes_max: SPARE_BYTES_MAX.min(share) }
    }

    /// A piece of memory, used or new.
    pub(crate) fn take(&self) -> T {
        let mut pile = self.pile.lock();
        let Some((piece, bytes)) = pile.pieces.pop() else { return T::default() };
        pile.bytes -= bytes;
        piece
    }

    fn keep(&self, piece: T, bytes: usize) {
        let mut pile = self.pile.lock();
        if pile.bytes + bytes <= self.bytes_max {
            pile.bytes += bytes;
            pile.pieces.push((piece, bytes));
        }
    }
}

impl Spares<Vec<u8>> {
    /// Gives a buffer back.
    pub(crate) fn give(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.give_filled(buffer);
    }

    /// Gives a buffer back with what lies in it.
    pub(crate) fn give_filled(&self, buffer: Vec<u8>) {
        let bytes = buffer.capacity();
        if bytes > 0 {
            self.keep(buffer, bytes);
        }
    }
}

impl Spares<Decoding> {
    /// Gives a batch's memory back.
    pub(crate) fn give(&self, decoding: Decoding) {
        let bytes = decoding.buffers.memory_bytes() + decoding.lines.memory_bytes();
        self.keep(decoding, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spares_are_reused_within_a_bound() {
        let spares: Spares<Vec<u8>> = Spares::new(u64::MAX);
        assert_eq!(spares.take().capacity(), 0);
        spares.give(Vec::with_capacity(1000));
        assert!(spares.take().capacity() >= 1000);
        assert_eq!(spares.take().capacity(), 0, "it was taken");
        for _ in 0..10 {
            spares.give(Vec::with_capacity(SPARE_BYTES_MAX / 4));
        }
        assert_eq!(spares.pile.lock().pieces.len(), 4);
        assert!(spares.pile.lock().bytes <= SPARE_BYTES_MAX);
        spares.take();
        assert_eq!(spares.pile.lock().pieces.len(), 3);
        let few: Spares<Vec<u8>> = Spares::new(8 << 10);
        for bytes in [2000, 900, 100, 30] {
            few.give(Vec::with_capacity(bytes));
        }
        assert_eq!(few.pile.lock().pieces.len(), 2, "a share of what bodies have");
    }
}
