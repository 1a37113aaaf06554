//! Series of limited fields: how many there are while a chunk of rows is staged.

use crate::registry::Limited;
use crate::stage::{Fields, Memo, Prepared, Stage};
use std::collections::HashMap;

/// How many series were staged, by column.
#[derive(Debug, Default)]
pub(crate) struct Tally(HashMap<u32, u64>);

impl Tally {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Why a row is refused that needs a new series of a field that has as many as it may have.
    pub(crate) fn refuses(
        &self,
        stage: &mut Stage<'_>,
        (namespace, row, fields): (u32, &Prepared, &Fields),
        memo: &mut Memo,
        limited: &Limited<'_>,
    ) -> Option<String> {
        let measurement = row.parts.measurement();
        let mut reason = None;
        let names = stage.names();
        stage.each_missing(namespace, row, fields, memo, &mut |field, column| {
            let Some(series_max) = limited(measurement, field) else { return };
            let staged = |column| self.0.get(&column).copied().unwrap_or(0);
            let count =
                column.map_or(0, |column| u64::from(names.series_in(column)) + staged(column));
            if count >= series_max && reason.is_none() {
                let text = String::from_utf8_lossy;
                reason = Some(format!(
                    "measurement '{}', field '{}': {count} series are there and no more than \
                     {series_max} may be, by a limit that was set for it",
                    text(measurement),
                    text(field)
                ));
            }
        });
        reason
    }

    /// Counts the series of a row, whose columns are in the memo, from the number `known` on.
    pub(crate) fn note(&mut self, sids: Option<&[u32]>, known: u32, memo: &Memo) {
        for (sid, column) in sids.unwrap_or_default().iter().zip(&memo.columns) {
            if *sid >= known {
                *self.0.entry(*column).or_default() += 1;
            }
        }
    }
}
