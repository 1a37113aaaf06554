//! What one request may take, and the meter that holds it to that.
//!
//! Memory is charged before it is allocated; work, deadline and cancellation are checked once
//! per block of at most [`CHUNK_SAMPLES`] samples, so that a query stops within microseconds of
//! being told to, whatever it is doing.

use crate::Error;
use crate::asked::{AskedName, NAMES_MAX};
use crate::steps::{StepTook, Steps};
use foliot_lock::{Mutex, Rank};
use foliot_model::Selector;
use foliot_plan::grid::Took;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Samples that operators hand each other at a time: what a block of a part holds, so that a
/// decoded block stays in the first-level cache (16 KiB of times and values) while it is folded.
pub(crate) const CHUNK_SAMPLES: usize = 1024;

/// What one chunk of numbers weighs.
pub(crate) const CHUNK_BYTES: usize = CHUNK_SAMPLES * 16;

/// Most samples of a frame: 64 KiB of numbers, about one socket buffer once encoded.
pub(crate) const FRAME_SAMPLES: usize = 4 * CHUNK_SAMPLES;

/// What the queries of one request may take together.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory for samples, windows and frames under way (`limits.query_memory_bytes`).
    /// Default 256 MiB: half of the smallest machine this runs on.
    pub memory_bytes: u64,
    /// Work, counted in samples (`limits.query_samples`): those read from the store, those made up
    /// for empty windows, and values that operators look at again. Default 1 000 000 000, some ten
    /// seconds of one core.
    pub samples: u64,
    /// Stored series selected at a time. Default: no bound.
    pub series: usize,
    /// Ids and names of the index that selections walk through in long walks. Default: no bound.
    pub ids: usize,
    /// How long it may take (`limits.query_seconds`). Default 60 s.
    pub seconds: Duration,
    /// Threads that work on it, the caller's included. Default: one per processor.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            samples: 1_000_000_000,
            series: usize::MAX,
            ids: usize::MAX,
            seconds: Duration::from_secs(60),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// Stops a query from outside: keep a clone, and call [`Cancel::cancel`] on it.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks the query to stop; it answers with [`Error::Cancelled`] after its current block.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the query was asked to stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The running account of one request: everything that is done for it, its queries and the work
/// beside them, takes from the same memory and the same time. Clones share the account.
#[derive(Clone, Debug)]
pub struct Meter {
    account: Arc<Account>,
    /// Tells the threads of one run to stop; another run goes on.
    stopped: Arc<AtomicBool>,
    /// Samples that the account had read when this run began.
    samples_before: u64,
}

#[derive(Debug)]
struct Account {
    limits: Limits,
    cancel: Cancel,
    /// When its time is over; nothing if that is too far away to be told.
    deadline: Option<Instant>,
    memory_bytes: AtomicU64,
    memory_peak_bytes: AtomicU64,
    /// What was done, in samples: also what was made up, or looked at again.
    work: AtomicU64,
    /// Samples read from the store.
    samples: AtomicU64,
    /// Stored series selected so far.
    selected: AtomicU64,
    /// Ids and names that long walks through the index passed, or were about to.
    walked: AtomicUsize,
    /// A bit for each of [`METERED`] that was met.
    met: AtomicU8,
    /// What operators take, where somebody wants to know.
    steps: OnceLock<Steps>,
    /// Which metrics it is about.
    asked: Mutex<Vec<AskedName>>,
}

/// The limit of time, by its setting.
pub const SECONDS_LIMIT: &str = "limits.query_seconds";

/// The limits that a meter holds, by their settings.
const METERED: [&str; 4] =
    ["limits.query_memory_bytes", "limits.query_samples", SECONDS_LIMIT, "series"];
const MEMORY: u8 = 1;
const SAMPLES: u8 = 2;
const SECONDS: u8 = 4;
const SERIES: u8 = 8;
/// Beside the limits: the work was ended from outside.
const CANCEL: u8 = 16;

impl Meter {
    /// An account that nothing was taken from. Its time begins now.
    pub fn new(limits: Limits, cancel: Cancel) -> Self {
        let account = Account {
            limits,
            cancel,
            // The deadline is a matter between this process and a person waiting, not of the store:
            // it never decides what is read, so it does not go through the disk's clock.
            deadline: Instant::now().checked_add(limits.seconds),
            memory_bytes: AtomicU64::new(0),
            memory_peak_bytes: AtomicU64::new(0),
            work: AtomicU64::new(0),
            samples: AtomicU64::new(0),
            selected: AtomicU64::new(0),
            walked: AtomicUsize::new(0),
            met: AtomicU8::new(0),
            steps: OnceLock::new(),
            asked: Mutex::new(Rank::Table, Vec::new()),
        };
        Self { account: Arc::new(account), stopped: Arc::default(), samples_before: 0 }
    }

    /// The same account for another run.
    pub(crate) fn of_run(&self) -> Self {
        let samples_before = self.account.samples.load(Ordering::Relaxed);
        Self { account: self.account.clone(), stopped: Arc::default(), samples_before }
    }

    /// Counts samples that were read from the store, which is work too, and checks that it may go
    /// on.
    ///
    /// # Errors
    /// As [`Meter::check`].
    pub fn read(&self, samples: usize) -> Result<(), Error> {
        self.note_read(samples);
        self.check(samples)
    }

    /// Counts samples that were read from the store, whose work is counted elsewhere.
    pub(crate) fn note_read(&self, samples: usize) {
        self.account.samples.fetch_add(samples as u64, Ordering::Relaxed);
    }

    /// Counts work that takes as long as reading so many samples does, and checks that it may go
    /// on. What is made up or looked at again is work, and was not read.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check(&self, work: usize) -> Result<(), Error> {
        let Account { limits, cancel, deadline, .. } = &*self.account;
        let before = self.account.work.fetch_add(work as u64, Ordering::Relaxed);
        if before.saturating_add(work as u64) > limits.samples {
            self.account.meet(SAMPLES);
            return Err(Error::Samples { limit: limits.samples });
        }
        if cancel.is_cancelled() {
            self.account.meet(CANCEL);
            return Err(Error::Cancelled);
        }
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            self.account.meet(SECONDS);
            return Err(Error::Deadline { limit: limits.seconds });
        }
        Ok(())
    }

    /// Checks that so much more work may be done, which is still to come.
    ///
    /// # Errors
    /// When it may not.
    pub(crate) fn foresee(&self, more: u64) -> Result<(), Error> {
        let Account { limits, work, .. } = &*self.account;
        if work.load(Ordering::Relaxed).saturating_add(more) > limits.samples {
            self.account.meet(SAMPLES);
            return Err(Error::Samples { limit: limits.samples });
        }
        Ok(())
    }

    /// The limits that were met, by their settings.
    pub fn met(&self) -> impl Iterator<Item = &'static str> {
        let met = self.account.met.load(Ordering::Relaxed);
        METERED
            .into_iter()
            .enumerate()
            .filter(move |(bit, _)| met & 1 << bit != 0)
            .map(|(_, of)| of)
    }

    /// Whether the work was told that it is ended from outside. Work that was done before it asked
    /// was not.
    pub fn was_cancelled(&self) -> bool {
        self.account.met.load(Ordering::Relaxed) & CANCEL != 0
    }

    /// From now on tells what each operator of a plan takes.
    pub fn explain(&self) {
        let _ = self.account.steps.set(Steps::default());
    }

    /// What operators took so far, the outer ones before those that stand in them; nothing where
    /// nobody asked before they began.
    pub fn explained(&self) -> Vec<StepTook> {
        self.steps().map(Steps::took).unwrap_or_default()
    }

    /// What steps of grids took that have ended, also those that an error ended.
    pub fn explained_grids(&self) -> Vec<Took> {
        self.steps().map(Steps::took_by_grids).unwrap_or_default()
    }

    pub(crate) fn steps(&self) -> Option<&Steps> {
        self.account.steps.get()
    }

    /// Checks that the work may go on with a walk through so many ids of the index.
    pub(crate) fn walk(&self, ids: usize) -> Result<(), Error> {
        self.check(0)?;
        let before = self.account.walked.fetch_add(ids, Ordering::Relaxed);
        let limit = self.limits().ids;
        match before.saturating_add(ids) > limit {
            true => {
                self.account.meet(SERIES);
                Err(Error::Series { limit })
            }
            false => Ok(()),
        }
    }

    /// Notes which metrics a selector names.
    pub(crate) fn note_asked(&self, selector: &Selector) {
        let mut asked = self.account.asked.lock();
        for name in AskedName::of(selector) {
            if asked.len() < NAMES_MAX && !asked.contains(&name) {
                asked.push(name);
            }
        }
    }

    /// The metrics that were named since this was asked last.
    pub fn take_asked(&self) -> Vec<AskedName> {
        std::mem::take(&mut *self.account.asked.lock())
    }

    /// What stops the work from outside.
    pub fn cancel(&self) -> Cancel {
        self.account.cancel.clone()
    }

    /// Counts selected series, and checks that they may be so many.
    pub(crate) fn admit(&self, series: usize) -> Result<(), Error> {
        self.account.selected.fetch_add(series as u64, Ordering::Relaxed);
        match self.limits().series {
            limit if series > limit => {
                self.account.meet(SERIES);
                Err(Error::Series { limit })
            }
            _ => Ok(()),
        }
    }

    /// Tells the other threads of this run to stop, because one of them met an error or because
    /// nobody wants the rest of the answer.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// A charge of nothing yet.
    pub fn open(&self) -> Charge<'_> {
        Charge { account: &self.account, bytes: 0 }
    }

    /// Charges `bytes` for as long as the request lasts: for its plan, or what rows may share.
    ///
    /// # Errors
    /// When so much is not left.
    pub fn keep(&self, bytes: usize) -> Result<(), Error> {
        self.account.take(bytes as u64)
    }

    /// What may be taken.
    pub fn limits(&self) -> &Limits {
        &self.account.limits
    }

    /// Samples that the whole request read from the store so far.
    pub fn samples_of_all(&self) -> u64 {
        self.account.samples.load(Ordering::Relaxed)
    }

    /// What is taken at present, in bytes.
    pub fn memory_bytes(&self) -> u64 {
        self.account.memory_bytes.load(Ordering::Relaxed)
    }

    /// What was done for the whole request so far, in samples.
    pub(crate) fn work(&self) -> u64 {
        self.account.work.load(Ordering::Relaxed)
    }

    /// Samples that this run read from the store.
    pub(crate) fn samples(&self) -> u64 {
        self.account.samples.load(Ordering::Relaxed) - self.samples_before
    }

    /// Series that the whole request selected so far.
    pub(crate) fn selected(&self) -> u64 {
        self.account.selected.load(Ordering::Relaxed)
    }

    /// The most that was taken at once, in bytes.
    pub fn memory_peak_bytes(&self) -> u64 {
        self.account.memory_peak_bytes.load(Ordering::Relaxed)
    }
}

impl Account {
    fn meet(&self, limit: u8) {
        self.met.fetch_or(limit, Ordering::Relaxed);
    }

    fn take(&self, bytes: u64) -> Result<(), Error> {
        let wanted = self.memory_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if wanted > self.limits.memory_bytes {
            self.memory_bytes.fetch_sub(bytes, Ordering::Relaxed);
            let limit_bytes = self.limits.memory_bytes;
            self.meet(MEMORY);
            return Err(Error::Memory { limit_bytes, wanted_bytes: wanted });
        }
        self.memory_peak_bytes.fetch_max(wanted, Ordering::Relaxed);
        Ok(())
    }
}

/// Turns of a loop that may come round long without reading a sample, or without coming forward at
/// all: every so often the meter is asked whether it may go on.
#[derive(Debug, Default)]
pub(crate) struct Turns(u32);

/// Turns between two questions: some microseconds to a millisecond.
const TURNS: u32 = 256;

impl Turns {
    /// Counts a turn.
    ///
    /// # Errors
    /// Why the work may not go on.
    pub(crate) fn turn(&mut self, meter: &Meter) -> Result<(), Error> {
        self.0 = self.0.wrapping_add(1);
        if self.0.is_multiple_of(TURNS) { meter.check(0) } else { Ok(()) }
    }
}

/// Memory charged to a request; given back when dropped.
#[derive(Debug)]
pub struct Charge<'q> {
    account: &'q Account,
    bytes: u64,
}

impl Charge<'_> {
    /// Charges, or gives back, so much that this charge is of `bytes`.
    ///
    /// # Errors
    /// When so much is not left. Nothing changes then.
    pub fn resize(&mut self, bytes: usize) -> Result<(), Error> {
        let bytes = bytes as u64;
        if bytes > self.bytes {
            self.account.take(bytes - self.bytes)?;
        } else {
            self.account.memory_bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// What is charged.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes as usize
    }

    /// Charges `bytes` more.
    ///
    /// # Errors
    /// As [`Charge::resize`].
    pub fn add(&mut self, bytes: usize) -> Result<(), Error> {
        self.account.take(bytes as u64)?;
        self.bytes += bytes as u64;
        Ok(())
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.account.memory_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(memory_bytes: u64, samples: u64, seconds: Duration) -> Meter {
        let limits = Limits { memory_bytes, samples, seconds, threads: 1, series: 7, ids: 9 };
        Meter::new(limits, Cancel::default())
    }

    #[test]
    fn memory_is_refused_before_it_is_taken_and_given_back() {
        let meter = meter(100, 10, Duration::from_secs(60));
        let mut one = meter.open();
        one.resize(60).unwrap();
        let mut two = meter.open();
        let error = two.add(50).unwrap_err();
        assert!(matches!(error, Error::Memory { limit_bytes: 100, wanted_bytes: 110 }));
        assert!(error.to_string().contains("limits.query_memory_bytes"));
        one.resize(40).unwrap();
        two.add(50).unwrap();
        drop(one);
        two.add(50).unwrap();
        assert_eq!(meter.memory_peak_bytes(), 100);
        assert!(meter.met().eq(["limits.query_memory_bytes"]));
    }

    #[test]
    fn runs_of_one_request_share_an_account() {
        let request = meter(100, 10, Duration::from_secs(60));
        let first = request.of_run();
        first.read(6).unwrap();
        let held = {
            let mut held = first.open();
            held.resize(80).unwrap();
            held
        };
        // Its threads are told to stop; the next run goes on, with what is left.
        first.stop();
        assert!(matches!(first.check(0), Err(Error::Cancelled)));
        let second = request.of_run();
        second.read(2).unwrap();
        // What is made up is work, and was not read.
        second.check(1).unwrap();
        assert_eq!((first.samples(), second.samples()), (8, 2));
        assert!(second.open().add(30).is_err());
        drop(held);
        second.open().add(30).unwrap();
        assert!(matches!(second.check(2), Err(Error::Samples { .. })));
    }

    #[test]
    fn every_limit_stops_the_query() {
        let count = meter(1, 10, Duration::from_secs(60));
        count.admit(7).unwrap();
        assert!(matches!(count.admit(8), Err(Error::Series { limit: 7 })));
        count.check(10).unwrap();
        assert!(matches!(count.check(1), Err(Error::Samples { limit: 10 })));
        let late = meter(1, 10, Duration::ZERO);
        std::thread::sleep(Duration::from_millis(1));
        assert!(matches!(late.check(1), Err(Error::Deadline { .. })));
        let cancel = Cancel::default();
        let stopped = Meter::new(Limits::default(), cancel.clone());
        stopped.check(1).unwrap();
        cancel.cancel();
        assert!(!stopped.was_cancelled(), "it was not asked since");
        assert!(matches!(stopped.check(1), Err(Error::Cancelled)));
        assert!(stopped.was_cancelled() && stopped.met().next().is_none());
    }
}
