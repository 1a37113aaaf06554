//! Rows for relations, which know no heads: what stands in a head is in columns.

use super::Context;
use super::join::Joined;
use super::scan::Scanned;
use super::strip::{Stream, Strip};
use crate::Error;
use foliot_model::{Column, Item};
use foliot_plan::relation::{self, Selected};
use foliot_plan::rows::Scan;

/// Rows of a scan or of a selection.
pub(crate) struct Leaf<'q>(Of<'q>);

enum Of<'q> {
    /// The time, and what rows carry.
    Stored(Box<Scanned<'q>>),
    /// What is taken of the tables of a selection; whether there is a row still to come, where
    /// there is one in any case.
    Selected(Box<Joined<'q>>, &'q [relation::Column], bool),
}

impl<'q> Leaf<'q> {
    pub(crate) fn stored(scan: &'q Scan, context: Context<'q>) -> Self {
        Self(Of::Stored(Box::new(Scanned::new(scan, context))))
    }

    pub(crate) fn selected(of: &'q Selected, context: Context<'q>) -> Result<Self, Error> {
        let joined = Joined::new(&of.select, context)?;
        Ok(Self(Of::Selected(Box::new(joined), &of.columns, of.is_one)))
    }

    /// The next columns, and how many rows they have; nothing at the end.
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<Column>, usize)>, Error> {
        match &mut self.0 {
            Of::Stored(scanned) => {
                let Some(Strip { times_ns, carried, .. }) = scanned.next()? else {
                    return Ok(None);
                };
                let rows = times_ns.len();
                let columns = std::iter::once(Column::Times(times_ns)).chain(carried);
                Ok(Some((columns.collect(), rows)))
            }
            Of::Selected(joined, columns, is_due) => {
                let is_due = std::mem::take(is_due);
                let Some((piece, _)) = joined.next()? else {
                    let nulls = || columns.iter().map(|_| Column::Same(Item::Null, 1)).collect();
                    return Ok(is_due.then(|| (nulls(), 1)));
                };
                let of = |column: &relation::Column| match column {
                    relation::Column::Label(name) => match piece.head.label(name) {
                        "" => Column::Same(Item::Null, piece.rows),
                        value => Column::Same(Item::String(value.into()), piece.rows),
                    },
                    relation::Column::Place(place) => {
                        piece.columns.get(*place).cloned().unwrap_or_default()
                    }
                };
                Ok(Some((columns.iter().map(of).collect(), piece.rows)))
            }
        }
    }
}
