//! Steps: what the operators of a question take, for whoever wants it explained.
//!
//! Where a meter was told to explain, each operator over stored series or rows begins a step as it
//! is laid over the store, the outer one before those in it. Streams of measured operators add to
//! their steps as they are pulled, whatever thread does so. Where nobody wants to know, nothing is
//! measured.

use crate::Error;
use crate::limits::Meter;
use foliot_lock::{Mutex, Rank};
use foliot_plan::Told;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What a step weighs beside its words.
const STEP_BYTES: usize = 160;

/// What a step took, with all that stands in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepTook {
    /// How many steps it stands in.
    pub depth: usize,
    /// What it does.
    pub told: Told,
    /// Time of all threads that worked on it.
    pub time: Duration,
    /// Series that it came to.
    pub series: u64,
    /// Samples that were read for it.
    pub samples: u64,
}

/// A step as it is carried out.
#[derive(Debug)]
pub(crate) struct Step {
    depth: usize,
    told: Told,
    nanos: AtomicU64,
    series: AtomicU64,
    /// Samples that it read by itself.
    samples: AtomicU64,
}

impl Step {
    /// Does `work`, whose time is the step's.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        self.nanos.fetch_add(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }

    pub(crate) fn add_series(&self, series: u64) {
        self.series.fetch_add(series, Ordering::Relaxed);
    }

    pub(crate) fn add_samples(&self, samples: u64) {
        self.samples.fetch_add(samples, Ordering::Relaxed);
    }
}

/// All steps, in the order in which they began.
#[derive(Debug)]
pub(crate) struct Steps(Mutex<Vec<Arc<Step>>>);

impl Default for Steps {
    fn default() -> Self {
        Self(Mutex::new(Rank::Query, Vec::new()))
    }
}

impl Steps {
    /// How many have begun.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// What they took so far, the outer ones before those in them.
    pub(crate) fn took(&self) -> Vec<StepTook> {
        let steps = self.0.lock();
        let of = |atomic: &AtomicU64| atomic.load(Ordering::Relaxed);
        let took = |(at, step): (usize, &Arc<Step>)| {
            let after = steps.get(at + 1..).unwrap_or_default();
            let within = after.iter().take_while(|other| other.depth > step.depth);
            StepTook {
                depth: step.depth,
                told: step.told.clone(),
                time: Duration::from_nanos(of(&step.nanos)),
                series: of(&step.series),
                samples: of(&step.samples) + within.map(|other| of(&other.samples)).sum::<u64>(),
            }
        };
        steps.iter().enumerate().map(took).collect()
    }
}

impl Meter {
    /// Begins a step that stands in `depth` others, where somebody wants to know what it takes.
    ///
    /// # Errors
    /// When there is no memory left to note it.
    pub(crate) fn begin(
        &self,
        depth: usize,
        told: impl FnOnce() -> Told,
    ) -> Result<Option<Arc<Step>>, Error> {
        let Some(steps) = self.steps() else { return Ok(None) };
        let told = told();
        self.keep(STEP_BYTES + told.what.len() + told.detail.len())?;
        let (nanos, series, samples) = Default::default();
        let step = Arc::new(Step { depth, told, nanos, series, samples });
        steps.0.lock().push(step.clone());
        Ok(Some(step))
    }
}
