//! A series of a grid: its labels, and a value or none for each instant.

use super::gapped::Gapped;
use super::{Gridded, Walk};
use crate::Error;
use crate::limits::Charge;
use foliot_model::{Histogram, Label, Labels};
use foliot_plan::grid::{MEASUREMENT, Steps};
use std::sync::Arc;

/// A series of an answer. At no instant has it a number and a histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GridRow {
    /// Its labels, the measurement among them.
    pub labels: Labels,
    /// Numbers, one place for each instant.
    pub values: Gapped,
    /// Histograms, one place for each instant, or no place.
    pub histograms: Vec<Option<Arc<Histogram>>>,
    /// Whether the measurement goes before the answer is given.
    pub(super) is_nameless: bool,
}

/// A value at an instant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Point<'r> {
    Number(f64),
    Histogram(&'r Arc<Histogram>),
}

/// A value that was made.
#[derive(Clone, Debug)]
pub(super) enum Made {
    Number(f64),
    Histogram(Arc<Histogram>),
}

impl Made {
    pub(super) fn histogram(of: Histogram) -> Self {
        Self::Histogram(Arc::new(of))
    }
}

impl From<Point<'_>> for Made {
    fn from(point: Point<'_>) -> Self {
        match point {
            Point::Number(number) => Self::Number(number),
            Point::Histogram(histogram) => Self::Histogram(Arc::clone(histogram)),
        }
    }
}

/// A series whose values are being made. What histograms take is charged one by one.
#[derive(Debug)]
pub(super) struct Growing<'q> {
    row: GridRow,
    charge: Charge<'q>,
}

impl<'q> Growing<'q> {
    pub(super) fn new(
        walk: &Walk<'q>,
        (labels, is_nameless): (Labels, bool),
        steps: &Steps,
    ) -> Self {
        let values = Gapped::with_capacity(steps.count);
        let row = GridRow { labels, is_nameless, values, ..GridRow::default() };
        Self { row, charge: walk.meter.open() }
    }

    /// Adds the value of the next instant.
    pub(super) fn push(&mut self, value: Option<Made>) -> Result<(), Error> {
        if let Some(Made::Histogram(histogram)) = &value {
            self.charge.add(histogram.memory_bytes())?;
        }
        self.row.push(value);
        Ok(())
    }

    pub(super) fn finish(self, made: &mut Gridded<'_>, walk: &Walk<'_>) -> Result<(), Error> {
        made.push(walk, self.row)
    }
}

impl GridRow {
    /// A series of numbers.
    pub(super) fn numbers(labels: Labels, values: impl Into<Gapped>) -> Self {
        Self { labels, values: values.into(), histograms: Vec::new(), is_nameless: false }
    }

    /// A series of values, each made by itself.
    pub(super) fn made(labels: Labels, values: impl Iterator<Item = Option<Made>>) -> Self {
        let places = Gapped::with_capacity(values.size_hint().0);
        let mut row = Self { labels, values: places, ..Self::default() };
        values.for_each(|value| row.push(value));
        row
    }

    /// Adds the value of the next instant.
    pub(super) fn push(&mut self, value: Option<Made>) {
        let (number, histogram) = match value {
            None => (None, None),
            Some(Made::Number(number)) => (Some(number), None),
            Some(Made::Histogram(histogram)) => (None, Some(histogram)),
        };
        if histogram.is_some() && self.histograms.is_empty() {
            self.histograms.resize(self.values.len(), None);
        }
        self.values.push(number);
        if !self.histograms.is_empty() || histogram.is_some() {
            self.histograms.push(histogram);
        }
    }

    /// Whether there is a value at an instant.
    pub(super) fn has(&self, index: usize) -> bool {
        self.point(index).is_some()
    }

    /// The value at an instant.
    pub(super) fn point(&self, index: usize) -> Option<Point<'_>> {
        match self.values.get(index) {
            Some(number) => Some(Point::Number(number)),
            None => self.histograms.get(index)?.as_ref().map(Point::Histogram),
        }
    }

    /// Number of values.
    pub(super) fn count(&self) -> usize {
        self.values.count() + self.histograms.iter().flatten().count()
    }

    /// The values at instants that `wants` names.
    pub(super) fn only(&self, wants: impl Fn(usize) -> bool) -> Self {
        let values = self.values.only(&wants);
        let histograms = self.histograms.iter().enumerate();
        let histograms =
            histograms.map(|(index, one)| one.clone().filter(|_| wants(index))).collect();
        Self { values, histograms, ..self.emptied() }
    }

    /// The same series, of which what is no number is no value.
    pub(super) fn without_nan(mut self) -> Self {
        self.values.keep(|number| !number.is_nan());
        self
    }

    /// The same series without values.
    pub(super) fn emptied(&self) -> Self {
        let (labels, is_nameless) = (self.labels.clone(), self.is_nameless);
        Self { labels, is_nameless, ..Self::default() }
    }

    /// Adds the values of another; says no, and has some of them, when both have one at an instant.
    pub(super) fn take_in(&mut self, other: Self) -> bool {
        for (index, value) in other.values.iter().enumerate() {
            let histogram = other.histograms.get(index).cloned().flatten();
            if value.is_none() && histogram.is_none() {
                continue;
            }
            if self.has(index) {
                return false;
            }
            if histogram.is_some() && self.histograms.is_empty() {
                self.histograms.resize(self.values.len(), None);
            }
            self.values.put(index, value);
            if let Some(place) = self.histograms.get_mut(index) {
                *place = histogram;
            }
        }
        true
    }

    /// Takes the measurement away where that was put off.
    pub(super) fn lose_name(&mut self) {
        if std::mem::take(&mut self.is_nameless) {
            self.labels = unnamed(&self.labels);
        }
    }

    /// The measurement; empty where there is none.
    pub(super) fn measurement(&self) -> Arc<str> {
        measurement(&self.labels)
    }

    pub(super) fn bytes(&self) -> usize {
        let numbers = Gapped::bytes(self.values.len());
        let places = self.histograms.len() * size_of::<Option<Arc<Histogram>>>();
        // One that counts for several instants is there once.
        let mut before: Option<&Arc<Histogram>> = None;
        let mut histograms = 0;
        for one in self.histograms.iter().flatten() {
            if !before.replace(one).is_some_and(|before| Arc::ptr_eq(before, one)) {
                histograms += one.memory_bytes();
            }
        }
        numbers + places + histograms + labels_bytes(&self.labels)
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.values.has_any() && self.histograms.iter().all(Option::is_none)
    }
}

/// What labels weigh; their strings are shared.
pub(super) fn labels_bytes(labels: &Labels) -> usize {
    size_of::<GridRow>() + labels.len() * size_of::<Label>()
}

/// The measurement among labels; empty where there is none.
pub(super) fn measurement(labels: &Labels) -> Arc<str> {
    labels.get(MEASUREMENT).cloned().unwrap_or_default()
}

/// Labels without the measurement.
pub(super) fn unnamed(labels: &Labels) -> Labels {
    labels.iter().filter(|label| &*label.name != MEASUREMENT).cloned().collect::<Vec<_>>().into()
}
