//! Rows that pass a condition, and rows of calculated columns.

use super::batch::{Batch, Stream};
use super::formula::calculated;
use crate::Error;
use crate::limits::{Meter, Turns};
use foliot_model::{Column, Item};
use foliot_plan::relation::Formula;
use std::ops::Range;

/// Rows that pass.
pub(super) struct Filtered<'q> {
    pub(super) input: Box<dyn Stream + 'q>,
    pub(super) condition: &'q Formula,
    pub(super) turns: Turns,
    pub(super) meter: &'q Meter,
}

impl Stream for Filtered<'_> {
    fn next(&mut self) -> Result<Option<Batch>, Error> {
        while let Some(batch) = self.input.next()? {
            self.turns.turn(self.meter)?;
            let runs = passing(self.condition, &batch)?;
            match &*runs {
                [] => {}
                [all] if *all == (0..batch.rows) => return Ok(Some(batch)),
                runs => return Ok(Some(batch.cut(runs))),
            }
        }
        Ok(None)
    }
}

/// The rows of which a condition is true, in runs.
pub(super) fn passing(condition: &Formula, batch: &Batch) -> Result<Vec<Range<usize>>, Error> {
    let truths = calculated(condition, batch)?;
    if let Column::Same(truth, rows) = &truths {
        return Ok(match truth {
            Item::Boolean(true) => std::iter::once(0..*rows).collect(),
            _ => Vec::new(),
        });
    }
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, truth) in truths.iter().enumerate() {
        if *truth == Item::Boolean(true) {
            match runs.last_mut() {
                Some(run) if run.end == at => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
    }
    Ok(runs)
}

/// Rows of calculated columns.
pub(super) struct Calculated<'q> {
    pub(super) input: Box<dyn Stream + 'q>,
    pub(super) columns: &'q [Formula],
}

impl Stream for Calculated<'_> {
    fn next(&mut self) -> Result<Option<Batch>, Error> {
        let Some(batch) = self.input.next()? else { return Ok(None) };
        let columns: Result<Vec<Column>, Error> =
            self.columns.iter().map(|column| calculated(column, &batch)).collect();
        Ok(Some(Batch { columns: columns?, rows: batch.rows }))
    }
}
