//! Rows that pass a condition, and rows of calculated columns.

use super::effort::Effort;
use super::formula::{calculated, truths};
use super::strip::{Stream, Strip};
use super::subset::Subset;
use crate::Error;
use crate::limits::{Meter, Turns};
use foliot_model::Column;
use foliot_plan::relation::Formula;

/// Rows that pass.
pub(super) struct Filtered<'q> {
    input: Box<dyn Stream + 'q>,
    condition: &'q Formula,
    turns: Turns,
    effort: Effort<'q>,
    meter: &'q Meter,
}

impl<'q> Filtered<'q> {
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        condition: &'q Formula,
        meter: &'q Meter,
    ) -> Self {
        Self { input, condition, turns: Turns::default(), effort: Effort::new(meter), meter }
    }
}

impl Stream for Filtered<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        while let Some(strip) = self.input.next()? {
            self.turns.turn(self.meter)?;
            self.effort.next()?;
            let rows = passing(self.condition, &strip, &self.effort)?;
            match rows.len() {
                0 => {}
                all if all == strip.rows => return Ok(Some(strip)),
                _ => return Ok(Some(strip.cut(&rows))),
            }
        }
        Ok(None)
    }
}

/// The rows of which a condition is true.
pub(super) fn passing(
    condition: &Formula,
    strip: &Strip,
    effort: &Effort<'_>,
) -> Result<Subset, Error> {
    let truths = truths(condition, strip, effort)?.into_iter().enumerate();
    Ok(Subset::of(truths.filter(|(_, truth)| *truth == Some(true)).map(|(at, _)| at)))
}

/// Rows of calculated columns.
pub(super) struct Calculated<'q> {
    input: Box<dyn Stream + 'q>,
    columns: &'q [Formula],
    effort: Effort<'q>,
}

impl<'q> Calculated<'q> {
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        columns: &'q [Formula],
        meter: &'q Meter,
    ) -> Self {
        Self { input, columns, effort: Effort::new(meter) }
    }
}

impl Stream for Calculated<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let Some(strip) = self.input.next()? else { return Ok(None) };
        self.effort.next()?;
        let calculated = |column| calculated(column, &strip, &self.effort);
        let columns: Result<Vec<Column>, Error> = self.columns.iter().map(calculated).collect();
        Ok(Some(Strip { columns: columns?, rows: strip.rows }))
    }
}
