//! Upkeep: the work that nobody waits for.
//!
//! Two workers do it: one moves the head into parts when it is full, since that cannot wait behind
//! the merge of a gigabyte; the other does one [`Job`] after the other. Which job is due is looked
//! up when a worker is free, by their order in [`Upkeep::next_job`], and not remembered: so nothing
//! is done twice and nothing is forgotten.

mod activity;
mod archive;
mod expire;
mod flush;
mod look;
mod merge;
mod shed;

use crate::ballast;
use crate::config::Config;
use crate::error::Error;
use crate::filenames::Named;
use crate::files::Files;
use crate::ingest::Ingest;
use crate::limits::MERGE_DEBT_PARTS_MAX;
use crate::stats::Counters;
use crate::tombstones::Tombstones;
use crate::troubles::{Tell, Trouble, Troubles, Work};
use activity::Activity;
use flush::Checkpoint;
use foliot_disk::Disk;
use foliot_index::{Mark, SidSet};
use foliot_lock::{Condvar, Mutex, Rank};
use look::Looked;
use merge::{Merge, Unreadable};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How often the second worker looks for what became due with time.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// How long a worker that failed waits before it tries again.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
/// The same for a flush, which memory waits for.
const FLUSH_RETRY_PAUSE: Duration = Duration::from_secs(1);
/// It doubles up to this: a flush that fails has written most of what it would.
const FLUSH_RETRY_PAUSE_MAX: Duration = Duration::from_secs(30);
/// How often a flush that waits for merges looks again.
const DEBT_PAUSE: Duration = Duration::from_millis(50);

/// Whoever keeps the store in order.
pub(crate) struct Upkeep {
    files: Arc<Files>,
    ingest: Arc<Ingest>,
    config: Arc<Config>,
    counters: Arc<Counters>,
    queue: Queue,
    troubles: Troubles,
    /// Which files were looked at since the store was opened.
    looked: Looked,
    /// What files hold of memory; held by a flush as long as it takes.
    checkpoint: Mutex<Checkpoint>,
    /// Held by whoever does a job, for as long as it takes.
    unreadable: Mutex<Unreadable>,
}

/// A piece of work on files.
pub(crate) enum Job {
    /// Remove what is left of namespaces, by number, that were dropped.
    Drop(SidSet),
    /// Remove parts whose samples are all too old.
    Expire(expire::Expiry),
    /// Write the index of a closed epoch to disk.
    Archive(archive::Closing),
    /// Remove the indexes of epochs, by number, that no part is left of.
    Retire(Vec<u32>),
    /// Write parts as one.
    Merge(Merge),
    /// Look at what of a file nobody reads.
    Look(Named),
}

/// What the workers are told.
struct Queue {
    orders: Mutex<Orders>,
    wake: Condvar,
}

#[derive(Default)]
struct Orders {
    /// Look whether a flush is due.
    flush: bool,
    /// Look whether a job is.
    jobs: bool,
    is_closing: bool,
}

impl Upkeep {
    pub(crate) fn new(
        files: Arc<Files>,
        ingest: Arc<Ingest>,
        config: Arc<Config>,
        counters: Arc<Counters>,
        index_marks: BTreeMap<u32, Mark>,
        deletes: Arc<Tombstones>,
    ) -> Self {
        let base = ingest.epochs().current().origin().base;
        let now_ns = ingest.disk().monotonic_ns();
        let activity = Activity::new(base, config.index_active_window, now_ns);
        let checkpoint = Checkpoint::new(index_marks, activity, deletes);
        let orders = Mutex::new(Rank::Orders, Orders::default());
        let looked = Looked::new(&files);
        Self {
            files,
            ingest,
            config,
            counters,
            queue: Queue { orders, wake: Condvar::new() },
            troubles: Troubles::default(),
            looked,
            checkpoint: Mutex::new(Rank::Checkpoint, checkpoint),
            unreadable: Mutex::new(Rank::Maintenance, Unreadable::default()),
        }
    }

    /// What goes wrong with the work, and what is wrong with files.
    pub(crate) fn troubles(&self) -> Vec<Trouble> {
        self.judge_wal();
        self.judge_files();
        self.troubles.list()
    }

    /// Notes whether the wal accepts anything: nobody may be writing, and whoever does may not be
    /// the one who looks at the log.
    fn judge_wal(&self) {
        let _ = self.note(Work::Wal, self.ingest.wal().check());
    }

    /// See `Engine::on_trouble`.
    pub(crate) fn on_trouble(&self, tell: Tell) {
        self.troubles.on_trouble(tell);
    }

    fn note<T>(&self, work: Work, result: Result<T, Error>) -> Result<T, Error> {
        self.troubles.note(work, &result, self.files.disk().monotonic_ns());
        result
    }

    /// Wakes the worker that flushes, if the head is full or the wal long.
    pub(crate) fn ask_for_flush(&self) {
        if self.ingest.is_flush_due() {
            self.queue.ask(|orders| &mut orders.flush);
        }
    }

    /// The worker that flushes.
    pub(crate) fn run_flushes(&self) {
        let mut pause = FLUSH_RETRY_PAUSE;
        while self.queue.wait(self.files.disk(), |orders| &mut orders.flush, None) {
            self.wait_for_merges();
            if self.ingest.is_flush_due() && self.flush().is_err() {
                self.queue.ask(|orders| &mut orders.flush);
                self.queue.pause(self.files.disk(), pause);
                pause = (pause * 2).min(FLUSH_RETRY_PAUSE_MAX);
            } else {
                pause = FLUSH_RETRY_PAUSE;
            }
        }
    }

    /// The worker that does all other jobs.
    pub(crate) fn run_jobs(&self) {
        self.take_on_ballast();
        while self.queue.wait(self.files.disk(), |orders| &mut orders.jobs, Some(LOOK_INTERVAL)) {
            self.take_on_ballast();
            self.judge_wal();
            self.judge_files();
            loop {
                match self.maintain() {
                    Ok(true) if !self.queue.is_closing() => {}
                    Ok(_) => break,
                    Err(_) => {
                        self.queue.pause(self.files.disk(), RETRY_PAUSE);
                        break;
                    }
                }
            }
        }
    }

    fn take_on_ballast(&self) {
        let (reserve, kept) = (self.config.wal_reserve_bytes, self.ingest.reserve_bytes());
        ballast::take_on(self.files.disk(), self.files.dir(), reserve, kept);
    }

    /// Ends the workers as soon as they can.
    pub(crate) fn close(&self) {
        self.queue.orders.lock().is_closing = true;
        self.queue.wake.notify_all();
    }

    /// Refuses work that nobody begins any more: it is done when the store is opened again.
    fn check_open(&self) -> Result<(), Error> {
        match self.queue.is_closing() {
            true => Err(Error::Closed),
            false => Ok(()),
        }
    }

    /// Does one job, if one is due. See `Engine::maintain`.
    pub(crate) fn maintain(&self) -> Result<bool, Error> {
        let mut unreadable = self.unreadable.lock();
        let done = match self.next_job(&unreadable) {
            Ok(Some(job)) => self.do_job(&job, &mut unreadable).map(|()| true),
            Ok(None) => Ok(false),
            Err(error) => Err(error),
        };
        self.note(Work::Upkeep, done)
    }

    fn do_job(&self, job: &Job, unreadable: &mut Unreadable) -> Result<(), Error> {
        match job {
            Job::Drop(gone) => self.drop_parts_of(|namespace| gone.contains(namespace)),
            Job::Expire(expiry) => self.expire(expiry),
            Job::Archive(closing) => self.archive(closing),
            Job::Retire(epochs) => self.retire(epochs),
            Job::Merge(merge) => self.merge(merge, unreadable),
            Job::Look(named) => self.look(*named),
        }
    }

    /// The job that is due, the most urgent first: what makes room, what gives memory back, and
    /// what makes reading cheaper.
    fn next_job(&self, unreadable: &Unreadable) -> Result<Option<Job>, Error> {
        if let Some(gone) = self.dropped() {
            return Ok(Some(Job::Drop(gone)));
        }
        if let Some(expiry) = self.expiry()? {
            return Ok(Some(Job::Expire(expiry)));
        }
        if let Some(closing) = self.closing(archive::FLUSHES_KEPT) {
            return Ok(Some(Job::Archive(closing)));
        }
        if let Some(epochs) = self.retired() {
            return Ok(Some(Job::Retire(epochs)));
        }
        let view = self.files.view();
        let merge = match self.due_to_shed(&view, unreadable)? {
            Some(merge) => Some(merge),
            None => self.due(&view, unreadable),
        };
        Ok(merge.map(Job::Merge).or_else(|| self.unseen().map(Job::Look)))
    }

    /// Finishes the drops of namespaces that a stop came in between of.
    pub(crate) fn finish_drops(&self) -> Result<(), Error> {
        match self.dropped() {
            Some(gone) => self.do_job(&Job::Drop(gone), &mut self.unreadable.lock()),
            None => Ok(()),
        }
    }

    /// See `Engine::merge_all`.
    pub(crate) fn merge_all(&self) -> Result<(), Error> {
        let mut unreadable = self.unreadable.lock();
        loop {
            self.check_open()?;
            match self.unfinished(&unreadable) {
                Some(merge) => self.merge(&merge, &mut unreadable)?,
                None => return Ok(()),
            }
        }
    }

    /// See `Engine::begin_epoch`.
    pub(crate) fn begin_epoch(&self) -> Result<(), Error> {
        while let Some(closing) = self.closing(0) {
            self.archive(&closing)?;
        }
        self.flush_and_switch()
    }

    /// Holds a flush back while far too many parts wait to be merged.
    fn wait_for_merges(&self) {
        let is_too_much = || {
            let view = self.files.view();
            view.parts.len() as u64 > MERGE_DEBT_PARTS_MAX
                && self.merge_debt(&view).parts > MERGE_DEBT_PARTS_MAX
        };
        while !self.queue.is_closing() && is_too_much() {
            self.queue.ask(|orders| &mut orders.jobs);
            self.files.disk().sleep(DEBT_PAUSE);
        }
    }
}

/// What is left of a pause.
fn left(disk: &dyn Disk, began_ns: u64, pause: Duration) -> Duration {
    let gone_ns = disk.monotonic_ns().saturating_sub(began_ns);
    pause.saturating_sub(Duration::from_nanos(gone_ns))
}

impl Queue {
    /// Waits for an order; false when there is to be no more work.
    /// The clock is the disk's: a simulation has its own.
    fn wait(
        &self,
        disk: &dyn Disk,
        order: fn(&mut Orders) -> &mut bool,
        at_most: Option<Duration>,
    ) -> bool {
        let began_ns = disk.monotonic_ns();
        let mut orders = self.orders.lock();
        while !*order(&mut orders) && !orders.is_closing {
            match at_most.map(|at_most| left(disk, began_ns, at_most)) {
                None => self.wake.wait(&mut orders),
                Some(Duration::ZERO) => break,
                Some(left) => self.wake.wait_for(&mut orders, left),
            }
        }
        *order(&mut orders) = false;
        !orders.is_closing
    }

    fn ask(&self, order: fn(&mut Orders) -> &mut bool) {
        let mut orders = self.orders.lock();
        if !std::mem::replace(order(&mut orders), true) {
            self.wake.notify_all();
        }
    }

    /// Waits, but for the end of all work; false when that has come.
    fn pause(&self, disk: &dyn Disk, pause: Duration) -> bool {
        let began_ns = disk.monotonic_ns();
        let mut orders = self.orders.lock();
        while !orders.is_closing && !left(disk, began_ns, pause).is_zero() {
            self.wake.wait_for(&mut orders, left(disk, began_ns, pause));
        }
        !orders.is_closing
    }

    fn is_closing(&self) -> bool {
        self.orders.lock().is_closing
    }
}
