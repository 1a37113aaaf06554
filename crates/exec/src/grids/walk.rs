//! A grid that is carried out, and what is noted on the way.

use super::OnRow;
use super::row::{GridRow, unnamed};
use crate::limits::Meter;
use crate::{Error, Query};
use foliot_engine::Snapshot;
use foliot_model::Labels;
use foliot_plan::grid::{Mended, Note, Notes, Place, Step, Took};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a note weighs beside its text.
const NOTE_BYTES: usize = 96;

/// What all operators of a grid are given.
pub(super) struct Walk<'q> {
    pub(super) snapshot: &'q Snapshot,
    pub(super) meter: &'q Meter,
    /// Whether series keep their measurements until the end.
    pub(super) names_late: bool,
    /// Whether rules are those of [`foliot_plan::grid::Loose`].
    pub(super) is_loose: bool,
    notes: RefCell<Notes>,
    /// What the steps took that stand in the one that is measured now.
    within: Cell<Duration>,
}

/// What a step takes that is being measured.
pub(super) struct Watch<'w, 'q> {
    walk: &'w Walk<'q>,
    step: Step,
    began: Instant,
    samples_before: u64,
    series: u64,
    /// Time that others take, who are given its series, and samples that they look at.
    elsewhere: (Duration, u64),
    /// What other steps took that stand in the one that this one stands in.
    beside: Duration,
}

impl Watch<'_, '_> {
    /// Counts a series, which `each` is given.
    pub(super) fn pass<T>(&mut self, each: impl FnOnce() -> T) -> T {
        let Walk { meter, within, .. } = self.walk;
        let (began, before) = (Instant::now(), meter.samples());
        self.series += 1;
        // Steps that are taken there stand in the outer one.
        let own = within.replace(self.beside);
        let passed = each();
        self.beside = within.replace(own);
        self.elsewhere.0 += began.elapsed();
        self.elsewhere.1 += meter.samples() - before;
        passed
    }

    /// Tells what the step took.
    pub(super) fn end(self) {
        let Self { walk, step, began, samples_before, series, elsewhere, beside } = self;
        let time = began.elapsed().saturating_sub(elsewhere.0);
        let own = time.saturating_sub(walk.within.replace(beside + time));
        let samples = walk.meter.samples() - samples_before - elsewhere.1;
        let steps = walk.meter.steps().into_iter();
        steps.for_each(|steps| steps.note(Took { step, time, own, series, samples }));
    }
}

impl<'q> Walk<'q> {
    pub(super) fn new(query: &'q Query<'_>, (names_late, is_loose): (bool, bool)) -> Self {
        let (snapshot, meter) = (query.snapshot, &query.meter);
        let (notes, within) = Default::default();
        Self { snapshot, meter, names_late, is_loose, notes, within }
    }

    /// What was noted.
    pub(super) fn into_notes(self) -> Notes {
        self.notes.into_inner()
    }

    /// Calls `each` with the rows that `work` passes on; what the work takes is told, without what
    /// is done with its rows, and also where an error ends it.
    pub(super) fn measured(
        &self,
        step: Step,
        each: OnRow<'_>,
        work: impl FnOnce(OnRow<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut watch = self.watch(step)?;
        let done = work(&mut |row| watch.pass(|| each(row)));
        watch.end();
        done
    }

    /// Begins to measure a step.
    pub(super) fn watch(&self, step: Step) -> Result<Watch<'_, 'q>, Error> {
        self.meter.keep(size_of::<Took>())?;
        Ok(Watch {
            walk: self,
            step,
            began: Instant::now(),
            samples_before: self.meter.samples(),
            series: 0,
            elsewhere: (Duration::ZERO, 0),
            beside: self.within.take(),
        })
    }

    /// Passes a row on, unless it has no values.
    pub(super) fn pass(&self, row: GridRow, each: OnRow<'_>) -> Result<(), Error> {
        self.meter.check(0)?;
        match self.is_loose {
            true => each(row.without_nan()),
            false if row.is_empty() => Ok(()),
            false => each(row),
        }
    }

    /// Labels of a series whose values are of something else now, and whether the measurement is
    /// still among them.
    pub(super) fn unnamed(&self, labels: &Labels) -> (Labels, bool) {
        match (self.names_late, self.is_loose) {
            (_, true) => (labels.clone(), false),
            (false, _) => (unnamed(labels), false),
            (true, _) => (labels.clone(), true),
        }
    }

    /// Notes a share of which no quantile can be given, if it is one.
    pub(super) fn share(&self, share: f64, place: Place) -> Result<(), Error> {
        match (0.0..=1.0).contains(&share) {
            true => Ok(()),
            // One note for all that is no number.
            false => {
                let share = if share.is_nan() { f64::NAN } else { share };
                self.note(Note::Share(share.to_bits()), place)
            }
        }
    }

    pub(super) fn mended(&self, measurement: &Arc<str>, mended: Mended) -> Result<(), Error> {
        if self.is_loose {
            return Ok(());
        }
        let all = &mut self.notes.borrow_mut().mended;
        match all.get_mut(measurement) {
            Some(before) => *before = before.with(mended),
            None => {
                self.meter.keep(NOTE_BYTES)?;
                all.insert(measurement.clone(), mended);
            }
        }
        Ok(())
    }

    /// Notes take from the memory of the request for as long as it lasts.
    pub(super) fn note(&self, note: Note, place: Place) -> Result<(), Error> {
        // VictoriaMetrics says nothing of the kind.
        if self.is_loose {
            return Ok(());
        }
        let bytes = match &note {
            Note::Bound { text, .. } => text.len(),
            _ => 0,
        };
        match self.notes.borrow_mut().met.insert(note, place) {
            Some(_) => Ok(()),
            None => self.meter.keep(NOTE_BYTES.saturating_add(bytes)),
        }
    }
}
