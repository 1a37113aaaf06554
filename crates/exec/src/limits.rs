//! What one query may take, and the meter that holds it to that.
//!
//! Memory is charged before it is allocated; samples, deadline and cancellation are checked once
//! per block of at most [`CHUNK_SAMPLES`] samples, so that a query stops within microseconds of
//! being told to, whatever it is doing.

use crate::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Samples that operators hand each other at a time: what a block of a part holds, so that a
/// decoded block stays in the first-level cache (16 KiB of times and values) while it is folded.
pub(crate) const CHUNK_SAMPLES: usize = 1024;

/// What one chunk of numbers weighs.
pub(crate) const CHUNK_BYTES: usize = CHUNK_SAMPLES * 16;

/// Most samples of a frame: 64 KiB of numbers, about one socket buffer once encoded.
pub(crate) const FRAME_SAMPLES: usize = 4 * CHUNK_SAMPLES;

/// What one query may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory for samples, windows and frames under way (`limits.query_memory_bytes`).
    /// Default 256 MiB: half of the smallest machine this runs on.
    pub memory_bytes: u64,
    /// Samples read from the store, or made up for empty windows (`limits.query_samples`).
    /// Default 1 000 000 000, some ten seconds of one core.
    pub samples: u64,
    /// Stored series selected at a time. Default: no bound.
    pub series: usize,
    /// How long the query may take (`limits.query_seconds`). Default 60 s.
    pub seconds: Duration,
    /// When that time began: of several queries for one request, with the request. Default: when
    /// the query itself begins.
    pub began: Option<Instant>,
    /// Threads that work on it, the caller's included. Default: one per processor.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            samples: 1_000_000_000,
            series: usize::MAX,
            seconds: Duration::from_secs(60),
            began: None,
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

/// The running account of one query.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Limits,
    cancel: Cancel,
    began: Instant,
    stopped: AtomicBool,
    memory_bytes: AtomicU64,
    memory_peak_bytes: AtomicU64,
    samples: AtomicU64,
}

impl Meter {
    pub(crate) fn new(limits: Limits, cancel: Cancel) -> Self {
        Self {
            limits,
            cancel,
            // The deadline is a matter between this process and a person waiting, not of the store:
            // it never decides what is read, so it does not go through the disk's clock.
            began: limits.began.unwrap_or_else(Instant::now),
            stopped: AtomicBool::new(false),
            memory_bytes: AtomicU64::new(0),
            memory_peak_bytes: AtomicU64::new(0),
            samples: AtomicU64::new(0),
        }
    }

    /// Counts `samples` and checks that the query may go on.
    pub(crate) fn check(&self, samples: usize) -> Result<(), Error> {
        let before = self.samples.fetch_add(samples as u64, Ordering::Relaxed);
        if before.saturating_add(samples as u64) > self.limits.samples {
            return Err(Error::Samples { limit: self.limits.samples });
        }
        if self.cancel.is_cancelled() || self.stopped.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        if self.began.elapsed() > self.limits.seconds {
            return Err(Error::Deadline { limit: self.limits.seconds });
        }
        Ok(())
    }

    /// Checks that so many series may be selected.
    pub(crate) fn admit(&self, series: usize) -> Result<(), Error> {
        match self.limits.series {
            limit if series > limit => Err(Error::Series { limit }),
            _ => Ok(()),
        }
    }

    /// Tells the other threads of this query to stop, because one of them met an error or because
    /// nobody wants the rest of the answer.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// An account that holds nothing yet.
    pub(crate) fn open(&self) -> Charge<'_> {
        Charge { meter: self, bytes: 0 }
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(crate) fn samples(&self) -> u64 {
        self.samples.load(Ordering::Relaxed)
    }

    pub(crate) fn memory_peak_bytes(&self) -> u64 {
        self.memory_peak_bytes.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) -> Result<(), Error> {
        let wanted = self.memory_bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if wanted > self.limits.memory_bytes {
            self.memory_bytes.fetch_sub(bytes, Ordering::Relaxed);
            let limit_bytes = self.limits.memory_bytes;
            return Err(Error::Memory { limit_bytes, wanted_bytes: wanted });
        }
        self.memory_peak_bytes.fetch_max(wanted, Ordering::Relaxed);
        Ok(())
    }
}

/// Memory charged to a query; given back when dropped.
#[derive(Debug)]
pub(crate) struct Charge<'q> {
    meter: &'q Meter,
    bytes: u64,
}

impl Charge<'_> {
    /// Charges, or gives back, so much that the account holds `bytes`.
    pub(crate) fn resize(&mut self, bytes: usize) -> Result<(), Error> {
        let bytes = bytes as u64;
        if bytes > self.bytes {
            self.meter.take(bytes - self.bytes)?;
        } else {
            self.meter.memory_bytes.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        }
        self.bytes = bytes;
        Ok(())
    }

    /// Charges `bytes` more.
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), Error> {
        self.meter.take(bytes as u64)?;
        self.bytes += bytes as u64;
        Ok(())
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.meter.memory_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(memory_bytes: u64, samples: u64, seconds: Duration) -> Meter {
        let limits = Limits { memory_bytes, samples, seconds, began: None, threads: 1, series: 7 };
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
        assert!(matches!(stopped.check(1), Err(Error::Cancelled)));
    }
}
