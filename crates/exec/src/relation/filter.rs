//! Rows that pass a condition, and rows of calculated columns.

use super::formula::calculated;
use super::strip::{Stream, Strip};
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
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        while let Some(strip) = self.input.next()? {
            self.turns.turn(self.meter)?;
            let runs = passing(self.condition, &strip)?;
            match &*runs {
                [] => {}
                [all] if *all == (0..strip.rows) => return Ok(Some(strip)),
                runs => return Ok(Some(strip.cut(runs))),
            }
        }
        Ok(None)
    }
}

/// The rows of which a condition is true, in runs.
pub(super) fn passing(condition: &Formula, strip: &Strip) -> Result<Vec<Range<usize>>, Error> {
    let truths = calculated(condition, strip)?;
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
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let Some(strip) = self.input.next()? else { return Ok(None) };
        let columns: Result<Vec<Column>, Error> =
            self.columns.iter().map(|column| calculated(column, &strip)).collect();
        Ok(Some(Strip { columns: columns?, rows: strip.rows }))
    }
}
