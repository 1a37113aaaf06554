//! The rows of several relations, one after the other.

use super::open;
use super::strip::{Stream, Strip};
use crate::Error;
use crate::limits::Turns;
use crate::rows::Context;
use foliot_plan::relation::Relation;

/// Rows of one relation after those of another. Each is opened when the one before it is at its
/// end, so that no two of them hold memory, and what nobody wants any more is not read.
pub(super) struct Appended<'q> {
    left: std::slice::Iter<'q, Relation>,
    open: Option<Box<dyn Stream + 'q>>,
    context: Context<'q>,
    turns: Turns,
}

impl<'q> Appended<'q> {
    pub(super) fn new(inputs: &'q [Relation], context: Context<'q>) -> Self {
        Self { left: inputs.iter(), open: None, context, turns: Turns::default() }
    }
}

impl Stream for Appended<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        loop {
            self.turns.turn(self.context.meter)?;
            if let Some(open) = &mut self.open {
                if let Some(strip) = open.next()? {
                    return Ok(Some(strip));
                }
                self.open = None;
            }
            match self.left.next() {
                Some(relation) => self.open = Some(open(relation, self.context)?),
                None => return Ok(None),
            }
        }
    }
}
