//! The store's state, and its life from open to close.

use crate::audit::{Audit, Caller, last_lines};
use crate::backup_notes::{BackupNote, backup_notes};
use crate::config::{Ack, Commit, Config, Progress};
use crate::error::Error;
use crate::files::Files;
use crate::ingest::Ingest;
use crate::opening::Opening;
use crate::recover::{ReadAgain, Recovered};
use crate::snapshot::Snapshot;
use crate::stats::Stats;
use crate::troubles::Trouble;
use crate::upkeep::Upkeep;
use foliot_disk::{DirLock, Disk, Thread};
use foliot_index::SymbolKind;
use foliot_lock::{Mutex, Rank};
use foliot_model::{KeySecret, NamespaceId, TimeRange};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// What the store is made of: who owns its files, what is not in files yet, and who moves it there.
pub(crate) struct Store {
    pub(crate) files: Arc<Files>,
    pub(crate) ingest: Arc<Ingest>,
    pub(crate) upkeep: Arc<Upkeep>,
    /// What took samples away.
    pub(crate) audit: Audit,
    /// Held while samples are taken away from series, so that two who do see what each other did.
    pub(crate) taking: Mutex<()>,
    /// Released last.
    pub(crate) _lock: Box<dyn DirLock>,
}

/// A time-series store in one directory. Share it in an `Arc`.
pub struct Engine {
    store: Arc<Store>,
    threads: Mutex<Vec<Box<dyn Thread>>>,
    /// What recovery had to say, for the log.
    damages: Vec<String>,
    notes: Vec<String>,
    read_again: ReadAgain,
}

impl Engine {
    /// Opens the store in `dir`, creating it if there is none, and recovers what an earlier process
    /// left in the wal.
    ///
    /// # Errors
    /// When the directory is in use, a file is damaged beyond use or too new, or the disk fails.
    pub fn open(disk: Arc<dyn Disk>, dir: &Path, config: Config) -> Result<Self, Error> {
        Self::open_telling(disk, dir, config, &Opening::default())
    }

    /// The same, telling `opening` how far it is.
    ///
    /// # Errors
    /// As [`Engine::open`].
    pub fn open_telling(
        disk: Arc<dyn Disk>,
        dir: &Path,
        config: Config,
        opening: &Opening,
    ) -> Result<Self, Error> {
        let has_threads = config.background;
        let Recovered { store, damages, notes, read_again } =
            crate::pieces::open(disk, dir, config, opening)?;
        let mut engine = Self {
            store: Arc::new(store),
            threads: Mutex::new(Rank::Threads, Vec::new()),
            damages,
            notes,
            read_again,
        };
        engine.forget_dropped_names()?;
        engine.store.upkeep.finish_drops()?;
        let changed = engine.begin_retention()?;
        engine.notes.extend(changed);
        engine.notes.extend(engine.tell_cap());
        engine.store.ingest.wal().keep_reserve();
        if has_threads {
            engine.spawn("flusher", Upkeep::run_flushes)?;
            engine.spawn("maintainer", Upkeep::run_jobs)?;
        }
        Ok(engine)
    }

    fn spawn(&self, name: &str, run: fn(&Upkeep)) -> Result<(), Error> {
        let upkeep = self.store.upkeep.clone();
        let spawned = self.store.files.disk().spawn(name, Box::new(move || run(&upkeep)));
        let thread = spawned.map_err(Error::io("start the threads of", self.store.files.dir()))?;
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

    /// What else opening the store met that is worth a line in the log, a sentence each: what a
    /// power cut had torn.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// What opening the store read of the wal.
    pub fn read_again(&self) -> ReadAgain {
        self.read_again
    }

    /// The secret that keys the hashes of [`foliot_model::Batch`].
    pub fn key_secret(&self) -> KeySecret {
        self.store.ingest.key_secret()
    }

    /// Writes a batch; see `write.rs`.
    ///
    /// Rows are visible to snapshots when this returns, and safe when the commit reaches the level
    /// asked of [`Engine::wait`]. Rows that cannot be stored are added to `rejects`, the others are
    /// kept. Never waits for a sync: this thread gives the rows to the system, or the wal's does if
    /// it is at work.
    ///
    /// # Errors
    /// When nothing of the batch was stored: the wal failed, the disk is full, the store is closed.
    pub fn write(
        &self,
        batch: &foliot_model::Batch<'_>,
        rejects: &mut Vec<foliot_model::Reject>,
    ) -> Result<Commit, Error> {
        self.write_telling(batch, rejects, &mut Vec::new())
    }

    /// The same; the ids of series that the batch made are added to `new_sids`, in runs.
    ///
    /// # Errors
    /// As [`Engine::write`]. Series may have been made nevertheless.
    pub fn write_telling(
        &self,
        batch: &foliot_model::Batch<'_>,
        rejects: &mut Vec<foliot_model::Reject>,
        new_sids: &mut Vec<Range<u32>>,
    ) -> Result<Commit, Error> {
        let commit = self.store.ingest.write(batch, rejects, new_sids);
        // Also when it was refused: a flush makes room.
        self.store.upkeep.ask_for_flush();
        commit
    }

    /// Whether a row would be stored if it were written now, with so many series that are new. Who
    /// notes something for good of a row asks before: what is refused leaves nothing behind.
    ///
    /// # Errors
    /// When nothing would be stored at all.
    pub fn would_take(
        &self,
        batch: &foliot_model::Batch<'_>,
        row: &foliot_model::Row,
        new_series: usize,
    ) -> Result<bool, Error> {
        let ingest = &self.store.ingest;
        ingest.wal().check()?;
        match ingest.is_overloaded() {
            true => Err(Error::Overloaded),
            false => Ok(ingest.would_take(batch, row, new_series)),
        }
    }

    /// Asks for `commit` to reach `ack`, and tells whether it already has. Does not wait; whoever
    /// gets false asks again when [`Engine::on_progress`] calls.
    ///
    /// # Errors
    /// When it never will: the wal failed.
    pub fn request(&self, commit: Commit, ack: Ack) -> Result<bool, Error> {
        self.store.ingest.wal().request(commit, ack)
    }

    /// Why what was written cannot go to the disk at present, if it cannot: it is kept, and goes
    /// there once it can.
    pub fn stall(&self) -> Option<Error> {
        self.store.ingest.wal().stall()
    }

    /// Waits until `commit` has reached `ack`.
    ///
    /// # Errors
    /// When it never will: the wal failed.
    pub fn wait(&self, commit: Commit, ack: Ack) -> Result<(), Error> {
        self.store.ingest.wal().wait(commit, ack)
    }

    /// The commit of everything that was written so far.
    pub fn written(&self) -> Commit {
        self.store.ingest.wal().written()
    }

    /// Whether so much waits to be flushed that no more is taken: then writes fail as
    /// [`Error::Overloaded`].
    pub fn is_overloaded(&self) -> bool {
        self.store.ingest.is_overloaded()
    }

    /// How far the wal has come.
    pub fn progress(&self) -> Progress {
        self.store.ingest.wal().progress()
    }

    /// Has `notify` called after each step of the wal, from the thread that made it, with how far
    /// it had come: it must be quick. Calls from several threads may come in another order.
    pub fn on_progress(&self, notify: Arc<dyn Fn(Progress) + Send + Sync>) {
        self.store.ingest.wal().on_progress(notify);
    }

    /// Has `tell` called when work in the background fails, at most once a minute for each kind,
    /// and when it succeeds again after that ([`Trouble::is_over`]), from the thread whose work it
    /// was or which looked.
    pub fn on_trouble(&self, tell: Box<dyn Fn(&Trouble) + Send + Sync>) {
        self.store.upkeep.on_trouble(tell);
    }

    /// The work in the background that failed when it was tried last, and what is wrong with files.
    pub fn troubles(&self) -> Vec<Trouble> {
        self.store.upkeep.troubles()
    }

    /// The parts of a namespace that are missing or damaged and hold samples in `range`, a sentence
    /// each: what readers do not get.
    pub fn absent_parts(&self, namespace: NamespaceId, range: TimeRange) -> Vec<String> {
        self.store.upkeep.absent_parts(namespace, range)
    }

    /// What a reader sees from now on.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(&self.store.files, &self.store.ingest)
    }

    /// Moves the head into parts now.
    ///
    /// # Errors
    /// When the disk fails; nothing is lost then, and the next flush tries again. When the store is
    /// closing: the head is in the wal.
    pub fn flush(&self) -> Result<(), Error> {
        self.store.upkeep.flush()
    }

    /// Does one piece of work on the parts, if one is due, and says so. The store's own thread does
    /// this by itself; see [`Config::background`].
    ///
    /// # Errors
    /// When the disk fails or a part is damaged; nothing is lost then.
    pub fn maintain(&self) -> Result<bool, Error> {
        self.store.upkeep.maintain()
    }

    /// Merges as far as it goes, whether that is due or not: one part for each window.
    ///
    /// # Errors
    /// As [`Engine::maintain`], and when the store is closing.
    pub fn merge_all(&self) -> Result<(), Error> {
        self.store.upkeep.merge_all()
    }

    /// Bytes of parts that [`Engine::merge_all`] would merge.
    pub fn unmerged_bytes(&self) -> u64 {
        self.store.upkeep.unfinished_bytes()
    }

    /// Begins a new epoch now, as the store does by itself when most series have gone quiet.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn begin_epoch(&self) -> Result<(), Error> {
        self.store.upkeep.begin_epoch()
    }

    /// Counts and sizes.
    pub fn stats(&self) -> Stats {
        Stats::of(&self.store)
    }

    /// The number of a name, which gets one if it has none, and the commit that says so. No number
    /// when the name is empty, too long, or there is no room (see
    /// [`Engine::has_room_for_names`]).
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn assign_symbol(
        &self,
        kind: SymbolKind,
        name: &str,
    ) -> Result<(Option<u32>, Option<Commit>), Error> {
        self.store.ingest.assign_symbol(kind, name)
    }

    /// A fact of the catalog.
    pub fn catalog_get(&self, kind: &str, key: &str) -> Option<Vec<u8>> {
        self.store.ingest.catalog().get(kind, key)
    }

    /// All facts of a kind, by key.
    pub fn catalog_list(&self, kind: &str) -> Vec<(String, Vec<u8>)> {
        self.store.ingest.catalog().list(kind)
    }

    /// The facts of a kind whose keys begin with `prefix`, by key.
    pub fn catalog_list_from(&self, kind: &str, prefix: &str) -> Vec<(String, Vec<u8>)> {
        self.store.ingest.catalog().list_from(kind, prefix)
    }

    /// Calls `each` with the facts of a kind whose keys begin with `prefix`, by key, until it
    /// fails: for who must not copy more than there is memory for. Changes wait meanwhile.
    ///
    /// # Errors
    /// What `each` says.
    pub fn catalog_each<E>(
        &self,
        kind: &str,
        prefix: &str,
        each: impl FnMut(&str, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.store.ingest.catalog().each_from(kind, prefix, each)
    }

    /// Whether there is memory for so many more names and facts. Who adds what a stranger chooses
    /// asks first; what the store itself or its owner adds is never refused.
    pub fn has_room_for_names(&self, count: usize) -> bool {
        self.store.ingest.has_room_for_names(count)
    }

    /// The backups that were made of this store last, the newest last.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn backup_notes(&self) -> Result<Vec<BackupNote>, Error> {
        backup_notes(self.store.files.disk(), self.store.files.dir())
    }

    /// Writes a line to the audit log about who may do what: what is done, and to whom.
    ///
    /// # Errors
    /// When the disk fails; the act must not be done then.
    pub fn audit_access(&self, act: &str, subject: &str, caller: &Caller) -> Result<(), Error> {
        self.store.audit_access(act, subject, caller)
    }

    /// The last lines of the audit log, the newest first: `most`, as far as they lie in the last
    /// mebibyte of each of its files; and whether there are no others. A line that was cut off is
    /// among them.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn audited(&self, most: usize) -> Result<(Vec<String>, bool), Error> {
        last_lines(self.store.files.disk(), self.store.files.dir(), most)
    }

    /// Sets a fact of the catalog.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn catalog_put(&self, kind: &str, key: &str, bytes: &[u8]) -> Result<Commit, Error> {
        self.change_catalog(kind, key, Some(bytes))
    }

    /// Facts fill the log, too; the more where one is refused for it.
    fn change_catalog(&self, kind: &str, key: &str, bytes: Option<&[u8]>) -> Result<Commit, Error> {
        let changed = self.store.ingest.change_catalog(kind, key, bytes);
        self.store.upkeep.ask_for_flush();
        changed
    }

    /// Sets facts of one kind, by key: the same as one by one, at much less cost.
    ///
    /// # Errors
    /// When the wal refuses; the first of them may be set.
    pub fn catalog_put_all(&self, kind: &str, facts: &[(String, Vec<u8>)]) -> Result<(), Error> {
        let put = self.store.ingest.put_facts(kind, facts);
        self.store.upkeep.ask_for_flush();
        put
    }

    /// Runs work that takes long for what was asked, as the settings have it.
    pub fn aside(&self, work: &mut dyn FnMut()) {
        (self.store.ingest.config().aside)(work);
    }

    /// Removes a fact of the catalog.
    ///
    /// # Errors
    /// When the wal refuses.
    pub fn catalog_delete(&self, kind: &str, key: &str) -> Result<Commit, Error> {
        self.change_catalog(kind, key, None)
    }

    /// Stops: writes and syncs the wal, ends the threads. What the head holds is replayed from the
    /// wal when the store is opened again.
    ///
    /// # Errors
    /// When the last write or sync failed.
    pub fn close(&self) -> Result<(), Error> {
        self.store.upkeep.close();
        for thread in self.threads.lock().drain(..) {
            // A thread that panicked has said so; the wal still has everything.
            let _ = thread.join();
        }
        self.store.ingest.wal().close()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Whoever wants to know how it ended calls close.
        let _ = self.close();
    }
}
