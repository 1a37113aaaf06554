//! Strips of rows, and the leaves that they come from.

use super::subset::{Subset, picked};
use crate::Error;
use crate::limits::{Meter, Turns};
use crate::pieces::rows_of;
use crate::rows::Leaf;
use foliot_model::{Column, Item};

/// Successive rows, column by column.
#[derive(Clone, Debug, Default)]
pub(super) struct Strip {
    /// All are equally long.
    pub(super) columns: Vec<Column>,
    pub(super) rows: usize,
}

impl Strip {
    /// No rows yet, of so many columns.
    pub(super) fn new(columns: usize) -> Self {
        Self { columns: vec![Column::default(); columns], rows: 0 }
    }

    /// Adds a row, which is as wide.
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = Item>) {
        self.columns.iter_mut().zip(row).for_each(|(column, item)| column.push(item));
        self.rows += 1;
    }

    /// What a row has.
    pub(super) fn row(&self, at: usize) -> Vec<Item> {
        self.columns.iter().map(|column| column.get(at).into_owned()).collect()
    }

    /// Some of the rows, which are there.
    pub(super) fn cut(&self, rows: &Subset) -> Self {
        let columns = self.columns.iter().map(|column| picked(column, rows).into_owned());
        Self { columns: columns.collect(), rows: rows.len() }
    }
}

/// Strips, one after the other.
pub(super) trait Stream {
    /// The next strip, which has rows; nothing at the end.
    fn next(&mut self) -> Result<Option<Strip>, Error>;
}

/// Rows that stand in the question.
pub(super) struct Listed<'q> {
    columns: usize,
    left: &'q [Vec<Item>],
}

impl<'q> Listed<'q> {
    pub(super) fn new(columns: usize, rows: &'q [Vec<Item>]) -> Self {
        Self { columns, left: rows }
    }
}

impl Stream for Listed<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let (rows, left) = self.left.split_at(self.left.len().min(rows_of(self.columns)));
        self.left = left;
        let mut strip = Strip::new(self.columns);
        rows.iter().for_each(|row| strip.push(row.iter().cloned()));
        Ok(Some(strip))
    }
}

/// Rows of the row algebra.
pub(super) struct OfLeaf<'q> {
    pub(super) leaf: Leaf<'q>,
    pub(super) turns: Turns,
    pub(super) meter: &'q Meter,
}

impl Stream for OfLeaf<'_> {
    fn next(&mut self) -> Result<Option<Strip>, Error> {
        self.turns.turn(self.meter)?;
        Ok(self.leaf.next()?.map(|(columns, rows)| Strip { columns, rows }))
    }
}
