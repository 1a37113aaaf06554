//! Streams: the samples of one series, chunk by chunk, through a chain of operators.

use crate::Error;
use crate::clip::Clip;
use crate::each::Mapped;
use crate::limits::{CHUNK_SAMPLES, Charge, Meter};
use crate::merge::{Merge, Single};
use crate::quotient::Quotients;
use crate::rate::Rates;
use crate::source::Stored;
use crate::steps::Step;
use crate::window::FixedWindows;
use foliot_model::Samples;
use std::sync::Arc;

/// One series on its way through the operators.
#[derive(Debug)]
pub(crate) enum Stream<'q> {
    /// A stored series.
    Stored(Box<Stored<'q>>),
    /// Samples that are in memory already.
    Ready(Ready<'q>),
    Window(Box<FixedWindows<'q>>),
    Rate(Box<Rates<'q>>),
    Each(Box<Mapped<'q>>),
    Quotient(Box<Quotients<'q>>),
    Clip(Box<Clip<'q>>),
    Single(Box<Single<'q>>),
    Merge(Box<Merge<'q>>),
    Measured(Box<Measured<'q>>),
}

impl<'q> Stream<'q> {
    /// The same; what it takes is a step's. Stored series measure themselves, so that operators
    /// which pass over their blocks still see them.
    pub(crate) fn measured(self, step: &Arc<Step>) -> Self {
        match self {
            Self::Stored(mut stored) => {
                stored.step = Some(Arc::clone(step));
                Self::Stored(stored)
            }
            input => {
                let (step, is_found) = (Arc::clone(step), false);
                Self::Measured(Box::new(Measured { input, step, is_found }))
            }
        }
    }

    /// Puts the next samples, at least one and at most about [`CHUNK_SAMPLES`], in place of what
    /// `out` holds. False at the end.
    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        out.clear();
        match self {
            Self::Stored(stored) => stored.next(meter, out),
            Self::Ready(ready) => ready.next(meter, out),
            Self::Window(stream) => stream.next(meter, out),
            Self::Rate(stream) => stream.next(meter, out),
            Self::Each(stream) => stream.next(meter, out),
            Self::Quotient(stream) => stream.next(meter, out),
            Self::Clip(stream) => stream.next(meter, out),
            Self::Single(stream) => stream.next(meter, out),
            Self::Merge(stream) => stream.next(meter, out),
            Self::Measured(stream) => stream.next(meter, out),
        }
    }

    /// Adds the ids of the stored series behind this one that have a sample in the range asked for;
    /// if there are none, there is no such series. Of series that are in memory, their
    /// positions stand in place of ids. Settled once the stream has yielded something or has ended.
    pub(crate) fn members(&self, out: &mut Vec<u32>) {
        match self {
            Self::Stored(stored) => out.extend(stored.member()),
            Self::Ready(ready) => out.extend_from_slice(&ready.members),
            Self::Window(stream) => stream.input().members(out),
            Self::Rate(stream) => stream.input().members(out),
            Self::Each(stream) => stream.input().members(out),
            Self::Quotient(stream) => stream.dividend().members(out),
            Self::Clip(stream) => stream.members(out),
            Self::Single(stream) => stream.input().members(out),
            Self::Merge(stream) => stream.members(out),
            Self::Measured(stream) => stream.input.members(out),
        }
    }
}

/// A stream of which somebody wants to know what it takes.
#[derive(Debug)]
pub(crate) struct Measured<'q> {
    input: Stream<'q>,
    step: Arc<Step>,
    /// Whether it had a sample.
    is_found: bool,
}

impl Measured<'_> {
    fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        let goes_on = self.step.time(|| self.input.next(meter, out))?;
        if goes_on && !self.is_found {
            self.is_found = true;
            self.step.add_series(1);
        }
        Ok(goes_on)
    }
}

/// Samples in memory.
#[derive(Debug, Default)]
pub(crate) struct Ready<'q> {
    pub(crate) samples: Arc<Samples>,
    pub(crate) members: Vec<u32>,
    pub(crate) at: usize,
    /// Whether they were counted when they were read.
    pub(crate) is_again: bool,
    pub(crate) _charge: Option<Charge<'q>>,
}

impl Ready<'_> {
    fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        let end = (self.at + CHUNK_SAMPLES).min(self.samples.len());
        meter.check(if self.is_again { 0 } else { end - self.at })?;
        out.append(&self.samples, self.at..end);
        self.at = end;
        Ok(!out.is_empty())
    }
}
