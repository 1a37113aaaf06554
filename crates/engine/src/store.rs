//! The store's state, and its life from open to close.

use crate::activity::Activity;
use crate::admission::Admission;
use crate::audit::Audit;
use crate::cache::Cache;
use crate::catalog::Catalog;
use crate::config::{Ack, Commit, Config, Progress};
use crate::epochs::Epochs;
use crate::error::Error;
use crate::handles::Handles;
use crate::head::Head;
use crate::maintain::Maintenance;
use crate::manifest::Manifest;
use crate::retention::Retention;
use crate::snapshot::Snapshot;
use crate::stats::{Counters, Stats};
use crate::tombstones::Tombstones;
use crate::view::View;
use crate::wal::Wal;
use crate::wal::frame::FrameKind;
use foliot_disk::{DirLock, Disk};
use foliot_index::{Mark, SymbolKind};
use foliot_model::{DEFAULT_NAMESPACE, KeySecret, NamespaceId};
use parking_lot::{Condvar, Mutex, RwLock};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

const NAMESPACE_KIND: &str = "namespace";
/// The highest number of a dropped namespace, so that none is given out twice.
const NAMESPACE_DROPPED_KIND: &str = "namespace dropped";
/// Database and policy of the namespace that exists from the start.
const DEFAULT_NAMES: (&str, &str) = ("default", "autogen");

/// Everything the store is made of, shared by its handle, its snapshots and its flusher.
pub(crate) struct Store {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) config: Config,
    pub(crate) epochs: RwLock<Arc<Epochs>>,
    pub(crate) head: Arc<Head>,
    pub(crate) wal: Wal,
    pub(crate) catalog: Catalog,
    pub(crate) retention: RwLock<Arc<Retention>>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) handles: Arc<Handles>,
    pub(crate) view: RwLock<Arc<View>>,
    /// The manifest and what it is behind of; held for as long as a flush takes.
    pub(crate) files: Mutex<Files>,
    /// Held shared by a write from before its first frame until its rows are in the head; held
    /// alone for an instant by a flush, which thus knows an lsn before which everything is in the
    /// head.
    pub(crate) gate: RwLock<()>,
    pub(crate) creating_namespace: Mutex<()>,
    /// Held while samples are taken away from series, so that two who do see what each other did.
    pub(crate) taking: Mutex<()>,
    pub(crate) audit: Mutex<Audit>,
    pub(crate) admission: Admission,
    pub(crate) counters: Counters,
    /// The next file's number. Never given out twice by one process, so that a page of a file that
    /// a failed flush left is never taken for a page of its successor.
    pub(crate) next_file: AtomicU64,
    pub(crate) store_id: u64,
    pub(crate) key_secret: KeySecret,
    /// Told to the flusher: look at the head, or stop.
    pub(crate) flusher: Mutex<Order>,
    pub(crate) flusher_wake: Condvar,
    /// Told to the maintainer: look at the parts, or stop.
    pub(crate) maintainer: Mutex<Order>,
    pub(crate) maintainer_wake: Condvar,
    /// Held by whoever maintains, for as long as one piece of work takes.
    pub(crate) maintenance: Mutex<Maintenance>,
    /// Released last.
    pub(crate) _lock: Box<dyn DirLock>,
}

impl Store {
    /// All namespaces: id, database, policy.
    pub(crate) fn namespaces(&self) -> Vec<(NamespaceId, String, String)> {
        let (database, policy) = DEFAULT_NAMES;
        let mut all = vec![(DEFAULT_NAMESPACE, database.to_owned(), policy.to_owned())];
        for (key, bytes) in self.catalog.list(NAMESPACE_KIND) {
            if let (Some((database, policy)), Some(id)) =
                (key.split_once('\0'), bytes.first_chunk())
            {
                all.push((u32::from_le_bytes(*id), database.to_owned(), policy.to_owned()));
            }
        }
        all
    }

    /// A number for a new file.
    pub(crate) fn take_number(&self) -> u64 {
        self.next_file.fetch_add(1, Ordering::Relaxed)
    }

    /// Sets or removes a fact of the catalog.
    pub(crate) fn change_catalog(
        &self,
        kind: &str,
        key: &str,
        bytes: Option<&[u8]>,
    ) -> Result<Commit, Error> {
        let _gate = self.gate.read();
        let log = |change: &[u8]| self.wal.append(FrameKind::Catalog, change);
        let commit = self.catalog.change(kind, key, bytes, log)?;
        self.counters.catalog_changes.fetch_add(1, Ordering::Relaxed);
        Ok(commit)
    }
}

/// The manifest, and up to where its index files go.
pub(crate) struct Files {
    pub(crate) manifest: Manifest,
    /// By epoch, for registries in memory.
    pub(crate) index_marks: BTreeMap<u32, Mark>,
    pub(crate) activity: Activity,
    /// Flushes since the open epoch began, or since the store was opened.
    pub(crate) flushes_since_switch: u32,
    /// Changes of the catalog that its file holds, as counted.
    pub(crate) catalog_changes: u64,
    /// The deletes that their file holds.
    pub(crate) deletes: Arc<Tombstones>,
}

/// What a thread of the store is to do.
#[derive(Default)]
pub(crate) struct Order {
    pub(crate) is_asked: bool,
    pub(crate) is_closing: bool,
}

/// A time-series store in one directory. Share it in an `Arc`.
pub struct Engine {
    store: Arc<Store>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// What recovery had to say, for the log.
    damages: Vec<String>,
}

impl Engine {
    /// Opens the store in `dir`, creating it if there is none, and recovers what an earlier process
    /// left in the wal.
    ///
    /// # Errors
    /// When the directory is in use, a file is damaged beyond use or too new, or the disk fails.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, config: Config) -> Result<Self, Error> {
        let has_threads = config.background;
        let (store, damages) = crate::recover::open(disk, dir, config)?;
        let engine = Self { store: Arc::new(store), threads: Mutex::default(), damages };
        engine.begin_retention()?;
        if has_threads {
            engine.spawn("flusher", crate::flush::run)?;
            engine.spawn("maintainer", crate::maintain::run)?;
        }
        Ok(engine)
    }

    fn spawn(&self, name: &str, run: fn(&Store)) -> Result<(), Error> {
        let store = self.store.clone();
        let thread = std::thread::Builder::new().name(name.to_owned());
        let spawned = thread.spawn(move || run(&store));
        let thread = spawned.map_err(Error::io("start the threads of", &self.store.dir))?;
        self.threads.lock().push(thread);
        Ok(())
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// What was wrong with files when the store was opened, a sentence each; damaged files were set
    /// aside, not deleted.
    pub fn damages(&self) -> &[String] {
        &self.damages
    }

    /// The secret that keys the hashes of [`foliot_model::Batch`].
    pub fn key_secret(&self) -> KeySecret {
        self.store.key_secret
    }

    /// Writes a batch; see `write.rs`.
    ///
    /// Rows are visible to snapshots when this returns, and safe when the commit reaches the level
    /// asked of [`Engine::wait`]. Rows that cannot be stored are added to `rejects`, the others are
    /// kept. Never waits for the disk.
    ///
    /// # Errors
    /// When nothing of the batch was stored: the wal failed, the disk is full, the store is closed.
    pub fn write(
        &self,
        batch: &foliot_model::Batch<'_>,
        rejects: &mut Vec<foliot_model::Reject>,
    ) -> Result<Commit, Error> {
        self.store.write(batch, rejects)
    }

    /// Asks for `commit` to reach `ack`, and tells whether it already has. Does not wait; whoever
    /// gets false asks again when [`Engine::on_progress`] calls.
    ///
    /// # Errors
    /// When it never will: the wal failed.
    pub fn request(&self, commit: Commit, ack: Ack) -> Result<bool, Error> {
        self.store.wal.request(commit, ack)
    }

    /// Waits until `commit` has reached `ack`.
    ///
    /// # Errors
    /// When it never will: the wal failed.
    pub fn wait(&self, commit: Commit, ack: Ack) -> Result<(), Error> {
        self.store.wal.wait(commit, ack)
    }

    /// The commit of everything that was written so far.
    pub fn written(&self) -> Commit {
        Commit { lsn: self.store.wal.end_lsn() }
    }

    /// How far the wal has come.
    pub fn progress(&self) -> Progress {
        self.store.wal.progress()
    }

    /// Has `notify` called after each step of the wal, from the thread that made it: it must be
    /// quick.
    pub fn on_progress(&self, notify: Box<dyn Fn() + Send + Sync>) {
        self.store.wal.on_progress(notify);
    }

    /// What a reader sees from now on.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(&self.store)
    }

    /// Moves the head into parts now.
    ///
    /// # Errors
    /// When the disk fails; nothing is lost then, and the next flush tries again.
    pub fn flush(&self) -> Result<(), Error> {
        self.store.flush()
    }

    /// Does one piece of work on the parts, if one is due, and says so. The store's own thread does
    /// this by itself; see [`Config::background`].
    ///
    /// # Errors
    /// When the disk fails or a part is damaged; nothing is lost then.
    pub fn maintain(&self) -> Result<bool, Error> {
        self.store.maintain()
    }

    /// Merges as far as it goes, whether that is due or not: one part for each window.
    ///
    /// # Errors
    /// As [`Engine::maintain`].
    pub fn merge_all(&self) -> Result<(), Error> {
        self.store.merge_all()
    }

    /// Counts and sizes.
    pub fn stats(&self) -> Stats {
        Stats::of(&self.store)
    }

    /// The number of a name, which gets one if it has none, and the commit that says so. No number
    /// when the name is empty, too long, or there is no room.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn assign_symbol(
        &self,
        kind: SymbolKind,
        name: &str,
    ) -> Result<(Option<u32>, Option<Commit>), Error> {
        let _gate = self.store.gate.read();
        let mut commit = None;
        let id = self.store.registry().symbol_assign(kind, name, &mut |records| {
            commit = Some(self.store.wal.append(FrameKind::Register, records)?);
            Ok::<_, Error>(())
        })?;
        Ok((id, commit))
    }

    /// The id of a namespace.
    pub fn namespace(&self, database: &str, policy: &str) -> Option<NamespaceId> {
        if (database, policy) == DEFAULT_NAMES {
            return Some(DEFAULT_NAMESPACE);
        }
        let bytes = self.store.catalog.get(NAMESPACE_KIND, &namespace_key(database, policy))?;
        bytes.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
    }

    /// The id of a namespace, which is created if there is none.
    ///
    /// # Errors
    /// When the wal refuses, or a name has a NUL.
    pub fn create_namespace(&self, database: &str, policy: &str) -> Result<NamespaceId, Error> {
        if database.contains('\0') || policy.contains('\0') {
            return Err(Error::Invalid("a database name cannot hold a NUL".to_owned()));
        }
        let _one_at_a_time = self.store.creating_namespace.lock();
        if let Some(id) = self.namespace(database, policy) {
            return Ok(id);
        }
        let ids = self.namespaces().into_iter().map(|(id, ..)| id);
        let id = ids.chain([self.highest_dropped()]).max().unwrap_or_default() + 1;
        self.catalog_put(NAMESPACE_KIND, &namespace_key(database, policy), &id.to_le_bytes())?;
        Ok(id)
    }

    /// The highest number of a namespace that was dropped.
    fn highest_dropped(&self) -> NamespaceId {
        let bytes = self.store.catalog.get(NAMESPACE_DROPPED_KIND, "");
        bytes.and_then(|bytes| bytes.first_chunk().copied()).map_or(0, u32::from_le_bytes)
    }

    /// Takes a namespace off the catalog.
    pub(crate) fn forget_namespace(&self, id: NamespaceId) -> Result<Commit, Error> {
        let _one_at_a_time = self.store.creating_namespace.lock();
        let highest = self.highest_dropped().max(id);
        self.store.forget_retention(id)?;
        let mut commit = self.catalog_put(NAMESPACE_DROPPED_KIND, "", &highest.to_le_bytes())?;
        for (key, bytes) in self.store.catalog.list(NAMESPACE_KIND) {
            if bytes == id.to_le_bytes() {
                commit = self.catalog_delete(NAMESPACE_KIND, &key)?;
            }
        }
        Ok(commit)
    }

    /// All namespaces: id, database, policy.
    pub fn namespaces(&self) -> Vec<(NamespaceId, String, String)> {
        self.store.namespaces()
    }

    /// A fact of the catalog.
    pub fn catalog_get(&self, kind: &str, key: &str) -> Option<Vec<u8>> {
        self.store.catalog.get(kind, key)
    }

    /// All facts of a kind, by key.
    pub fn catalog_list(&self, kind: &str) -> Vec<(String, Vec<u8>)> {
        self.store.catalog.list(kind)
    }

    /// Sets a fact of the catalog.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn catalog_put(&self, kind: &str, key: &str, bytes: &[u8]) -> Result<Commit, Error> {
        self.store.change_catalog(kind, key, Some(bytes))
    }

    /// Removes a fact of the catalog.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn catalog_delete(&self, kind: &str, key: &str) -> Result<Commit, Error> {
        self.store.change_catalog(kind, key, None)
    }

    /// Stops: writes and syncs the wal, ends the threads. What the head holds is replayed from the
    /// wal when the store is opened again.
    ///
    /// # Errors
    /// When the last write or sync failed.
    pub fn close(&self) -> Result<(), Error> {
        self.store.flusher.lock().is_closing = true;
        self.store.flusher_wake.notify_all();
        self.store.maintainer.lock().is_closing = true;
        self.store.maintainer_wake.notify_all();
        for thread in self.threads.lock().drain(..) {
            // A thread that panicked has said so; the wal still has everything.
            let _ = thread.join();
        }
        self.store.wal.close()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Whoever wants to know how it ended calls close.
        let _ = self.close();
    }
}

fn namespace_key(database: &str, policy: &str) -> String {
    format!("{database}\0{policy}")
}
