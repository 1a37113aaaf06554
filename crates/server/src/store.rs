//! The store as tasks see it: writing never waits for the disk, and waiting holds no thread.

use crate::aside::aside;
use crate::config::Config;
use crate::limits::Limit;
use crate::metrics::{Figure, Kind, one};
use crate::senders;
use crate::waiting::Waiting;
use foliot_access::{Access, Measurements, Principal};
use foliot_engine::{Ack, Commit, Engine, Error, Listed, Sight, Snapshot, Stats, Work};
use foliot_model::{NamespaceId, Selector};
use foliot_schema::continuous::ContinuousQueries;
use foliot_schema::{Database, DatabaseName, Databases, Kinds, Missing, Most, Policy};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How long an answer waits for the disk. A client that hears nothing for longer gives up, and
/// then it is better to be told.
const ACK_SECONDS_MAX: Duration = Duration::from_secs(30);

/// The engine, the names of its namespaces, and who waits for its wal to come further.
pub(crate) struct Store {
    engine: Arc<Engine>,
    databases: Databases,
    continuous: ContinuousQueries,
    kinds: Kinds,
    default_database: DatabaseName,
    waiting: Arc<Waiting>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

/// Why a written row is not acknowledged.
#[derive(Debug)]
pub(crate) enum NotSafe {
    /// The wal failed.
    Failed(Error),
    /// The disk takes too long. The rows may become safe later.
    Slow,
}

impl fmt::Display for NotSafe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => error.fmt(f),
            Self::Slow => write!(
                f,
                "the disk did not confirm the write within {} s; it may still become durable",
                ACK_SECONDS_MAX.as_secs()
            ),
        }
    }
}

impl Store {
    pub(crate) fn new(engine: Arc<Engine>, config: &Config) -> Self {
        let waiting = Arc::<Waiting>::default();
        let told = waiting.clone();
        engine.on_progress(Arc::new(move |now| told.tell(now)));
        let most = Most { databases: config.limits_databases, policies: config.limits_policies };
        let databases = Databases::new(&engine).with_most(most);
        let default_database = config.listen_database.clone();
        let continuous = ContinuousQueries::new(config.limits_continuous_queries);
        Self { engine, databases, continuous, kinds: Kinds::default(), default_database, waiting }
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Databases and retention policies by name.
    pub(crate) fn databases(&self) -> &Databases {
        &self.databases
    }

    /// Changes of continuous queries.
    pub(crate) fn continuous(&self) -> &ContinuousQueries {
        &self.continuous
    }

    /// Kinds of fields that came as lines.
    pub(crate) fn kinds(&self) -> &Kinds {
        &self.kinds
    }

    /// The databases that are shown, in the order in which they were made: those that somebody
    /// made, and the default one once something is in it.
    pub(crate) fn listed_databases(&self) -> Result<Vec<(String, Database)>, Error> {
        let snapshot = self.engine.snapshot();
        let mut listed = Vec::new();
        for (name, database) in self.databases.list() {
            let mut is_listed = database.is_made;
            for policy in &database.policies {
                is_listed = is_listed || self.holds_anything(&snapshot, policy.namespace)?;
            }
            if is_listed {
                listed.push((name, database));
            }
        }
        let first = |database: &Database| {
            database.policies.first().map_or(NamespaceId::MAX, |policy| policy.namespace)
        };
        listed.sort_by_key(|(_, database)| first(database));
        Ok(listed)
    }

    /// How long a policy's samples are kept, in nanoseconds; 0 is for ever. A policy without a time
    /// of its own has the server's.
    pub(crate) fn keep_ns(&self, policy: &Policy) -> i64 {
        let kept = self.engine.retention(policy.namespace);
        kept.map_or(policy.duration_ns, |kept| i64::try_from(kept.as_nanos()).unwrap_or(i64::MAX))
    }

    /// Whether there is any series in a namespace.
    pub(crate) fn holds_anything(
        &self,
        snapshot: &Snapshot,
        namespace: NamespaceId,
    ) -> Result<bool, Error> {
        let all = Selector {
            namespace,
            names: Vec::new(),
            matchers: Vec::new(),
            exact_labels: None,
            only: None,
        };
        Ok(!snapshot.list(&Listed::Measurements, &all, "", 0, 1)?.is_empty())
    }

    /// The namespace of whatever names no database: `listen.database`, which comes into being by
    /// being written to.
    pub(crate) fn default_namespace(&self) -> Result<NamespaceId, Missing> {
        let DatabaseName { database, policy } = &self.default_database;
        match self.databases.find(database, policy.as_deref()) {
            // Making one waits for the disk.
            Err(Missing::Database(_) | Missing::Policy(_)) => {
                aside(|| self.databases.always(&self.engine, database, policy.as_deref()))
            }
            found => found,
        }
    }

    /// The namespace to write to; a database that is missing is made if `creates` says so.
    pub(crate) fn find_or_create(
        &self,
        database: &str,
        policy: Option<&str>,
        creates: bool,
    ) -> Result<NamespaceId, Missing> {
        match self.databases.find(database, policy) {
            // Making one waits for the disk.
            Err(Missing::Database(_)) if creates => {
                let made = aside(|| {
                    self.databases.find_or_create(&self.engine, database, policy, creates)
                })?;
                // Its name may have been misspelt.
                let from = senders::peer().map_or_else(String::new, |peer| format!(" from {peer}"));
                log::info!(
                    "database {database:?} was made, since a write{from} named it \
                     (influx.auto_create_database)"
                );
                Ok(made)
            }
            found => found,
        }
    }

    /// How often there were enough of something.
    pub(crate) fn limits_met(&self) -> [(Limit, u64); 3] {
        let [databases, policies] = self.databases.refused();
        [
            (Limit::Databases, databases),
            (Limit::Policies, policies),
            (Limit::ContinuousQueries, self.continuous.refused()),
        ]
    }

    /// Shows the store's figures.
    pub(crate) fn visit_figures(&self, visit: &mut dyn FnMut(&Figure<'_>)) {
        use Kind::{Counter, Gauge};
        let stats = self.engine.stats();
        let figures = [
            ("series", Gauge, "Series registered", stats.series),
            ("sources", Gauge, "Sources registered", stats.sources),
            ("series_created_total", Counter, "Series created", stats.series_created),
            ("registry_bytes", Gauge, "Memory of the registry, estimated", stats.registry_bytes),
            ("catalog_bytes", Gauge, "Memory of facts, estimated", stats.catalog_bytes),
            ("head_bytes", Gauge, "Memory of samples not yet in parts", stats.head_bytes),
            ("head_fixed_bytes", Gauge, "Memory of the head that stays", stats.head_fixed_bytes),
            ("parts", Gauge, "Parts", stats.parts),
            ("parts_absent", Gauge, "Parts missing or damaged", stats.parts_absent),
            ("part_bytes", Gauge, "Bytes of all parts", stats.part_bytes),
            ("part_samples", Gauge, "Samples in all parts", stats.part_samples),
            ("store_samples_total", Counter, "Samples accepted", stats.samples_written),
            ("store_rows_rejected_total", Counter, "Rows refused", stats.rows_rejected),
            (
                "damages_mended_total",
                Counter,
                "Damaged places of files found and mended",
                stats.damages_mended,
            ),
            (
                "samples_orphaned_total",
                Counter,
                "Samples that recovery found without a series",
                stats.samples_orphaned,
            ),
            ("deletes_total", Counter, "Deletes", stats.deletes),
            ("samples_deleted_total", Counter, "Samples deleted", stats.samples_deleted),
            ("tombstones", Gauge, "Deletes that parts still hold the samples of", stats.tombstones),
            (
                "samples_expired_total",
                Counter,
                "Samples removed with parts that were too old",
                stats.samples_expired,
            ),
            (
                "rows_expired_total",
                Counter,
                "Rows refused for being too old to be kept",
                stats.rows_expired,
            ),
            ("flushes_total", Counter, "Flushes from memory to parts", stats.flushes),
            ("flushes_failed_total", Counter, "Flushes that failed", stats.flushes_failed),
            ("flushed_bytes_total", Counter, "Bytes written by flushes", stats.bytes_flushed),
            ("merges_total", Counter, "Merges of parts", stats.merges),
            ("merges_failed_total", Counter, "Merges that failed", stats.merges_failed),
            ("merged_bytes_total", Counter, "Bytes written by merges", stats.bytes_merged),
            ("merge_debt_parts", Gauge, "Parts due to be merged", stats.merge_debt_parts),
            ("merge_debt_bytes", Gauge, "Bytes due to be merged", stats.merge_debt_bytes),
            ("cache_hits_total", Counter, "Pages found in the cache", stats.cache_hits),
            ("cache_misses_total", Counter, "Pages read from files", stats.cache_misses),
            ("cache_bytes", Gauge, "Memory of pages of files", stats.cache_bytes),
            ("wal_syncs_total", Counter, "Syncs of the log", stats.wal_syncs),
        ];
        for (name, kind, help, value) in figures.into_iter().chain(log_figures(&stats)) {
            one(visit, name, kind, help, &[], value as f64);
        }
        let help = "Time that syncs of the log took";
        let seconds = stats.wal_sync_ns as f64 / 1e9;
        one(visit, "wal_sync_seconds_total", Counter, help, &[], seconds);
        self.visit_troubles(visit);
        let amplification = stats.write_amplification();
        let help = "Bytes written to parts for each byte flushed, since the start";
        one(visit, "write_amplification", Gauge, help, &[], amplification);
    }

    /// Shows what fails in the background.
    fn visit_troubles(&self, visit: &mut dyn FnMut(&Figure<'_>)) {
        let troubles = self.engine.troubles();
        for work in Work::ALL {
            let trouble = troubles.iter().find(|trouble| trouble.work == work);
            let failures = trouble.map_or(0, |trouble| trouble.failures);
            let help = "Failures in a row of work in the background; 0 when it last succeeded";
            let labels = [("work", work.name())];
            one(visit, "failures_in_a_row", Kind::Gauge, help, &labels, failures as f64);
        }
    }

    /// What there is now, as far as somebody may see it.
    pub(crate) fn snapshot(&self, who: &Principal) -> Snapshot {
        let snapshot = self.engine.snapshot();
        match who.is_administrator() {
            true => snapshot,
            false => snapshot.seen_by(Arc::new(self.sight(who))),
        }
    }

    fn sight(&self, who: &Principal) -> Sight {
        let mut sight = Sight::default();
        for (name, database) in self.databases.list() {
            let tests = match who.measurements(&name, Access::Read) {
                Measurements::All => None,
                Measurements::Passing(tests) => Some(tests),
            };
            for policy in &database.policies {
                sight.0.insert(policy.namespace, tests.clone());
            }
        }
        sight
    }

    /// Waits until `commit` is safe at the level `ack`.
    pub(crate) async fn wait(&self, commit: Commit, ack: Ack) -> Result<(), NotSafe> {
        if let Some(outcome) = self.safe(commit, ack) {
            return outcome;
        }
        let waiting = async {
            loop {
                // Whoever is woken for an earlier failure of the wal asks again.
                self.waiting.until(commit, ack, || self.engine.progress()).await;
                if let Some(outcome) = self.safe(commit, ack) {
                    return outcome;
                }
            }
        };
        tokio::time::timeout(ACK_SECONDS_MAX, waiting).await.unwrap_or(Err(NotSafe::Slow))
    }

    /// Asks for `commit` to become safe, and tells whether it is; nothing means not yet.
    fn safe(&self, commit: Commit, ack: Ack) -> Option<Result<(), NotSafe>> {
        match self.engine.request(commit, ack) {
            Ok(true) => Some(Ok(())),
            Ok(false) => None,
            Err(error) => Some(Err(NotSafe::Failed(error))),
        }
    }
}

/// Figures of the log.
fn log_figures(stats: &Stats) -> [(&'static str, Kind, &'static str, u64); 7] {
    use Kind::Gauge;
    [
        ("wal_bytes", Gauge, "Log that a restart would replay", stats.wal_bytes),
        ("wal_unsynced_bytes", Gauge, "Log not yet safe", stats.wal_unsynced_bytes),
        (
            "wal_damaged_bytes",
            Gauge,
            "Bytes of the log that the last start skipped as damaged",
            stats.wal_damaged_bytes,
        ),
        (
            "wal_torn_bytes",
            Gauge,
            "Bytes behind a torn end of the log that the last start did not read",
            stats.wal_torn_bytes,
        ),
        (
            "wal_reserve_bytes",
            Gauge,
            "Bytes that must stay free on the disk for the next flush",
            stats.wal_reserve_bytes,
        ),
        (
            "lacks_space",
            Gauge,
            "1 while writes are refused because the disk is all but full",
            u64::from(stats.lacks_space),
        ),
        (
            "poisoned",
            Gauge,
            "1 when the log has failed and nothing is acknowledged",
            u64::from(stats.is_poisoned),
        ),
    ]
}
