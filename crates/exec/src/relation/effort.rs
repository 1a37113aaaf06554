//! What formulas take on their way through a strip, which may be much: a row may have texts of
//! megabytes, and a formula makes longer ones of them, or looks for many patterns in each.

use crate::Error;
use crate::limits::{Charge, Meter};
use foliot_model::Item;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// Rows, or as much work, until the meter is asked whether it may go on: a millisecond at most.
const EFFORT: usize = 1024;

/// Bytes of a text that take as long as a row without texts.
const BYTES_OF_A_ROW: usize = 64;

/// Of the formulas of one operator.
pub(super) struct Effort<'q> {
    meter: &'q Meter,
    /// Texts that were made of the rows of the last strip.
    texts: RefCell<Charge<'q>>,
    /// What was done since the meter was asked.
    done: Cell<usize>,
}

impl<'q> Effort<'q> {
    pub(super) fn new(meter: &'q Meter) -> Self {
        Self { meter, texts: RefCell::new(meter.open()), done: Cell::new(0) }
    }

    /// The next strip is looked at; what was made of the last one is used up.
    pub(super) fn next(&self) -> Result<(), Error> {
        self.texts.borrow_mut().resize(0)
    }

    /// Something was done that takes as long as so many rows.
    pub(super) fn take(&self, rows: usize) -> Result<(), Error> {
        let done = self.done.get().saturating_add(rows);
        self.done.set(done);
        if done < EFFORT {
            return Ok(());
        }
        self.done.set(0);
        self.meter.check(0)
    }

    /// A text is looked through.
    pub(super) fn read(&self, text: &str) -> Result<(), Error> {
        self.take(text.len() / BYTES_OF_A_ROW)
    }

    /// A row came to this. A text that nobody else holds was made of it.
    pub(super) fn keep(&self, item: &Item) -> Result<(), Error> {
        match item {
            Item::String(text) if Arc::strong_count(text) == 1 => {
                self.texts.borrow_mut().add(text.len())
            }
            _ => Ok(()),
        }
    }
}
