//! Some rows of many.

use super::strip::{Stream, Strip};
use super::subset::Subset;
use crate::Error;
use crate::limits::{Meter, Turns};

/// The rows after `offset`, at most `limit`. Behind the last one nothing is read.
pub(super) struct Limited<'q> {
    input: Box<dyn Stream + 'q>,
    offset: u64,
    left: Option<u64>,
    meter: &'q Meter,
    turns: Turns,
}

impl<'q> Limited<'q> {
    pub(super) fn new(
        input: Box<dyn Stream + 'q>,
        offset: u64,
        limit: Option<u64>,
        meter: &'q Meter,
    ) -> Self {
        Self { input, offset, left: limit, meter, turns: Turns::default() }
    }
}

impl Stream for Limited<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        while self.left != Some(0) {
            self.turns.turn(self.meter)?;
            let Some(strip) = self.input.next()? else { return Ok(None) };
            let rows = strip.rows as u64;
            let from = self.offset.min(rows);
            self.offset -= from;
            let wanted = self.left.map_or(rows - from, |left| left.min(rows - from));
            self.left = self.left.map(|left| left - wanted);
            if wanted == rows {
                return Ok(Some(strip));
            }
            if wanted > 0 {
                let run = from as usize..(from + wanted) as usize;
                return Ok(Some(strip.cut(&Subset::of(run))));
            }
        }
        Ok(None)
    }
}
