//! Rows that pass a condition, and rows of calculated columns.

use super::effort::Effort;
use super::formula::{calculated, truths};
use super::strip::{Stream, Strip};
use super::subset::Subset;
use crate::Error;
use crate::limits::{Meter, Turns};
use crate::pieces::rows_of;
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
    /// Rows that were read and are not calculated yet: those of a strip from here on.
    left: Option<(Strip, usize)>,
    columns: &'q [Formula],
    effort: Effort<'q>,
}

impl<'q> Calculated<'q> {
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        columns: &'q [Formula],
        meter: &'q Meter,
    ) -> Self {
        Self { input, left: None, columns, effort: Effort::new(meter) }
    }
}

impl Calculated<'_> {
    /// As many rows of the input as are calculated at a time: few where that makes many columns.
    fn next_rows(&mut self) -> Result<Option<Strip>, Error> {
        let rows_max = rows_of(self.columns.len());
        let (strip, at) = match self.left.take() {
            Some(left) => left,
            None => match self.input.next()? {
                Some(strip) if strip.rows > rows_max => (strip, 0),
                whole => return Ok(whole),
            },
        };
        let end = strip.rows.min(at + rows_max);
        let columns = strip.columns.iter().map(|column| column.cut(at..end)).collect();
        self.left = (end < strip.rows).then_some((strip, end));
        Ok(Some(Strip { columns, rows: end - at }))
    }
}

impl Stream for Calculated<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        let Some(strip) = self.next_rows()? else { return Ok(None) };
        self.effort.next()?;
        let calculated = |column| calculated(column, &strip, &self.effort);
        let columns: Result<Vec<Column>, Error> = self.columns.iter().map(calculated).collect();
        Ok(Some(Strip { columns: columns?, rows: strip.rows }))
    }
}
