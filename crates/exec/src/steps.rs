//! Steps: what the operators of a question take, for whoever wants it explained.
//!
//! Where a meter was told to explain, each operator over stored series or rows begins a step as it
//! is laid over the store, the outer one before those in it. Streams of measured operators add to
//! their steps as they are pulled, whatever thread does so. Where nobody wants to know, nothing is
//! measured.
//!
//! Steps of a grid are known by where they stand in the text of their question
//! ([`foliot_plan::grid::Took`]), and are kept beside the others.

use crate::limits::Meter;
use crate::{Error, Ran};
use foliot_lock::{Mutex, Rank};
use foliot_plan::Told;
use foliot_plan::grid::Took;
use std::ops::Add;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
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
    /// The same, without the steps in it.
    pub own: Duration,
    /// Series that it came to.
    pub series: u64,
    /// Rows that the steps in it came to, as far as they were wanted; nothing where none of them
    /// has rows.
    pub rows_in: Option<u64>,
    /// Rows that it came to; nothing of a step that has none, but series.
    pub rows: Option<u64>,
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
    /// Nothing where it has no rows.
    rows: Option<AtomicU64>,
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

    pub(crate) fn add_rows(&self, rows: u64) {
        if let Some(all) = &self.rows {
            all.fetch_add(rows, Ordering::Relaxed);
        }
    }

    pub(crate) fn add_samples(&self, samples: u64) {
        self.samples.fetch_add(samples, Ordering::Relaxed);
    }
}

/// All steps of a request.
#[derive(Debug)]
pub(crate) struct Steps {
    /// Those of operators, in the order in which they began.
    operators: Mutex<Vec<Arc<Step>>>,
    /// Those of grids, in the order in which they ended.
    of_grids: Mutex<Vec<Took>>,
    /// In how many parts of the request what begins now stands.
    parts: AtomicUsize,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            operators: Mutex::new(Rank::Query, Vec::new()),
            of_grids: Mutex::new(Rank::Query, Vec::new()),
            parts: AtomicUsize::new(0),
        }
    }
}

impl Steps {
    /// How many operators have begun.
    pub(crate) fn len(&self) -> usize {
        self.operators.lock().len()
    }

    /// What operators took so far, the outer ones before those in them.
    pub(crate) fn took(&self) -> Vec<StepTook> {
        let steps = self.operators.lock();
        let of = |atomic: &AtomicU64| atomic.load(Ordering::Relaxed);
        let time = |step: &Step| Duration::from_nanos(of(&step.nanos));
        let took = |(at, step): (usize, &Arc<Step>)| {
            let after = steps.get(at + 1..).unwrap_or_default();
            let within = || after.iter().take_while(|other| other.depth > step.depth);
            let next = || within().filter(|other| other.depth == step.depth + 1);
            StepTook {
                depth: step.depth,
                told: step.told.clone(),
                time: time(step),
                own: time(step).saturating_sub(next().map(|other| time(other)).sum()),
                series: of(&step.series),
                rows_in: next().filter_map(|other| other.rows.as_ref()).map(of).reduce(u64::add),
                rows: step.rows.as_ref().map(of),
                samples: of(&step.samples) + within().map(|other| of(&other.samples)).sum::<u64>(),
            }
        };
        steps.iter().enumerate().map(took).collect()
    }

    /// What steps of grids took that have ended.
    pub(crate) fn took_by_grids(&self) -> Vec<Took> {
        self.of_grids.lock().clone()
    }

    /// Notes what a step of a grid took.
    pub(crate) fn note(&self, took: Took) {
        self.of_grids.lock().push(took);
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
        self.begin_with(None, depth, told)
    }

    /// The same, of a step that comes to rows.
    ///
    /// # Errors
    /// As [`Meter::begin`].
    pub(crate) fn begin_rows(
        &self,
        depth: usize,
        told: impl FnOnce() -> Told,
    ) -> Result<Option<Arc<Step>>, Error> {
        self.begin_with(Some(AtomicU64::new(0)), depth, told)
    }

    fn begin_with(
        &self,
        rows: Option<AtomicU64>,
        depth: usize,
        told: impl FnOnce() -> Told,
    ) -> Result<Option<Arc<Step>>, Error> {
        let Some(steps) = self.steps() else { return Ok(None) };
        let told = told();
        self.keep(STEP_BYTES + told.what.len() + told.detail.len())?;
        let depth = depth + steps.parts.load(Ordering::Relaxed);
        let (nanos, series, samples) = Default::default();
        let step = Arc::new(Step { depth, told, nanos, series, rows, samples });
        steps.operators.lock().push(step.clone());
        Ok(Some(step))
    }

    /// Does a part of the request, in whose step those of its operators stand, where somebody wants
    /// to know what they take. Parts are done one after the other.
    ///
    /// # Errors
    /// What stopped the part, and when there is no memory left to note it.
    pub fn part<E: From<Error>>(
        &self,
        told: impl FnOnce() -> Told,
        work: impl FnOnce() -> Result<Ran, E>,
    ) -> Result<Ran, E> {
        let (Some(step), Some(steps)) = (self.begin(0, told)?, self.steps()) else { return work() };
        steps.parts.fetch_add(1, Ordering::Relaxed);
        let ran = step.time(work);
        steps.parts.fetch_sub(1, Ordering::Relaxed);
        ran.iter().for_each(|ran| step.add_series(ran.series));
        ran
    }
}
