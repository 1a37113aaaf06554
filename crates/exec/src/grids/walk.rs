//! A grid that is carried out, and what is noted on the way.

use crate::limits::Meter;
use crate::{Error, Query};
use foliot_engine::Snapshot;
use foliot_plan::grid::{Mended, Notes, Place};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a note weighs beside its text.
const NOTE_BYTES: usize = 64;

/// What all operators of a grid are given.
pub(super) struct Walk<'q> {
    pub(super) snapshot: &'q Snapshot,
    pub(super) meter: &'q Meter,
    notes: RefCell<Notes>,
}

impl<'q> Walk<'q> {
    pub(super) fn new(query: &'q Query<'_>) -> Self {
        Self { snapshot: query.snapshot, meter: &query.meter, notes: RefCell::default() }
    }

    pub(super) fn into_notes(self) -> Notes {
        self.notes.into_inner()
    }

    /// Notes a share of which no quantile can be given, if it is one.
    pub(super) fn share(&self, share: f64, place: Place) -> Result<(), Error> {
        match (0.0..=1.0).contains(&share) {
            true => Ok(()),
            // One note for all that is no number.
            false => {
                let share = if share.is_nan() { f64::NAN } else { share };
                self.keep(&mut self.notes.borrow_mut().shares, share.to_bits(), place, 0)
            }
        }
    }

    /// Notes what a bucket has for a bound.
    pub(super) fn bound(&self, text: &str, place: Place) -> Result<(), Error> {
        self.keep(&mut self.notes.borrow_mut().bounds, text.into(), place, text.len())
    }

    /// Notes a measurement that was taken for a counter.
    pub(super) fn counter(&self, name: &Arc<str>, place: Place) -> Result<(), Error> {
        self.keep(&mut self.notes.borrow_mut().counters, name.clone(), place, 0)
    }

    pub(super) fn mended(&self, mended: Mended) {
        let before = &mut self.notes.borrow_mut().mended;
        *before = Some(before.map_or(mended, |before| before.with(mended)));
    }

    pub(super) fn unsorted(&self, place: Place) {
        self.notes.borrow_mut().unsorted = Some(place);
    }

    /// Notes take from the memory of the request for as long as it lasts.
    fn keep<K: Ord>(
        &self,
        notes: &mut BTreeMap<K, Place>,
        key: K,
        place: Place,
        bytes: usize,
    ) -> Result<(), Error> {
        match notes.insert(key, place) {
            Some(_) => Ok(()),
            None => self.meter.keep(NOTE_BYTES.saturating_add(bytes)),
        }
    }
}
