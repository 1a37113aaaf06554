//! Strips of rows, and the leaves that they come from.

use super::STRIP_ROWS;
use super::subset::{Subset, picked};
use crate::Error;
use crate::limits::{Meter, Turns};
use crate::rows::Leaf;
use foliot_model::{Column, Item};
use std::ops::Range;

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

    /// The rows in runs whose texts have so many bytes at most, unless one row alone has more; and
    /// how many each run has.
    pub(super) fn pieces(&self, text_bytes_max: usize) -> Vec<(Range<usize>, usize)> {
        let may_have_texts = |column: &&Column| {
            matches!(
                column,
                Column::Same(Item::String(_), _) | Column::Coded(..) | Column::Items(_)
            )
        };
        let texts: Vec<&Column> = self.columns.iter().filter(may_have_texts).collect();
        if texts.is_empty() {
            return std::iter::once((0..self.rows, 0)).collect();
        }
        let mut pieces: Vec<(Range<usize>, usize)> = Vec::new();
        for at in 0..self.rows {
            let bytes = texts.iter().map(|column| text_bytes(column, at)).sum::<usize>();
            match pieces.last_mut() {
                Some((run, all)) if all.saturating_add(bytes) <= text_bytes_max => {
                    run.end += 1;
                    *all += bytes;
                }
                _ => pieces.push((at..at + 1, bytes)),
            }
        }
        pieces
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

/// Bytes of the text that a column has in a row.
fn text_bytes(column: &Column, at: usize) -> usize {
    let item = match column {
        Column::Same(item, _) => Some(item),
        Column::Coded(items, codes) => codes.get(at).and_then(|code| items.get(*code as usize)),
        Column::Items(items) => items.get(at),
        Column::Floats(_) | Column::Integers(_) | Column::Times(_) => None,
    };
    match item {
        Some(Item::String(text)) => text.len(),
        _ => 0,
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
        let (rows, left) = self.left.split_at(self.left.len().min(STRIP_ROWS));
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
