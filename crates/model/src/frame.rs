//! Frames: bounded pieces of an answer.

use crate::{Figure, Labels, Samples};
use std::sync::Arc;

/// What a series of an answer is called.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeriesHead {
    /// Which of the request's questions this answers, counted from 0.
    pub question: usize,
    /// Measurement, or the name the language gives the result.
    pub measurement: Arc<str>,
    /// All measurements, in order, where series of several sets were calculated with one another.
    pub measurements: Vec<Arc<str>>,
    /// Field; empty when the answer is over several.
    pub field: Arc<str>,
    /// Which figure of histograms it is, if it is one.
    pub figure: Option<Figure>,
    /// Labels that the members agree on.
    pub labels: Labels,
    /// Names of labels on which the members differ, sorted.
    pub varying: Vec<Arc<str>>,
    /// Ids of the stored series behind this one, ascending; filled only when the plan asks for it.
    pub members: Vec<u32>,
}

impl SeriesHead {
    /// The measurements of what is behind it, in order.
    pub fn all_measurements(&self) -> Vec<Arc<str>> {
        match self.measurements.is_empty() {
            true => vec![Arc::clone(&self.measurement)],
            false => self.measurements.clone(),
        }
    }
}

/// A bounded piece of an answer: some samples of one series, in time order. A series longer than
/// one frame continues in the next one under the same head.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// Whose samples these are.
    pub head: Arc<SeriesHead>,
    /// The samples.
    pub samples: Samples,
    /// Whether this is the series' last frame.
    pub is_last: bool,
}
