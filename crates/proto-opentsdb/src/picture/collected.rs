//! The answers to the questions of a picture, which is drawn over all of them.

use crate::budget::Budget;
use crate::encode::infinite;
use crate::http::HttpError;
use foliot_model::{Frame, NANOS_PER_MILLI, SeriesHead};
use std::sync::Arc;

/// An answered series in memory.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) metric: String,
    pub(super) head: Arc<SeriesHead>,
    /// By time in milliseconds.
    pub(super) points: Vec<(i64, f64)>,
}

/// What the names of a series weigh, in points, by estimate.
const SERIES_POINTS: usize = 16;

/// The answers, as frames bring them.
#[derive(Debug)]
pub struct Collected {
    /// Question by question.
    pub(super) answers: Vec<Vec<Answered>>,
    /// What a metric is called that a question names otherwise than the store.
    names: Vec<Option<String>>,
    is_open: bool,
}

impl Collected {
    /// Room for the answers to questions that call their metrics by `names`.
    pub(super) fn new(names: Vec<Option<String>>) -> Self {
        let answers = names.iter().map(|_| Vec::new()).collect();
        Self { answers, names, is_open: false }
    }

    /// Takes a frame, whose memory is taken from `budget`.
    ///
    /// # Errors
    /// What the budget refuses, 400 for infinite values.
    pub fn push(&mut self, frame: &Frame, budget: &Budget<'_>) -> Result<(), HttpError> {
        let Some(answers) = self.answers.get_mut(frame.head.question) else { return Ok(()) };
        budget.take_for::<(i64, f64)>(frame.samples.len() + SERIES_POINTS)?;
        if !self.is_open {
            let named = self.names.get(frame.head.question).cloned().flatten();
            let metric = named.unwrap_or_else(|| frame.head.measurement.to_string());
            answers.push(Answered { metric, head: Arc::clone(&frame.head), points: Vec::new() });
        }
        self.is_open = !frame.is_last;
        let Some(open) = answers.last_mut() else { return Ok(()) };
        for (time_ns, value) in frame.samples.iter() {
            match value.as_f64() {
                Some(value) if value.is_infinite() => return Err(infinite()),
                Some(value) => open.points.push((time_ns.div_euclid(NANOS_PER_MILLI), value)),
                None => {}
            }
        }
        Ok(())
    }
}
