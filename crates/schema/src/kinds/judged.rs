//! The kinds that fields would come to have in a store, for lines that are only looked at.

use super::{conflict_of, fields_of, raw_measurement};
use foliot_model::{Batch, Kind, Reject};
use std::collections::HashMap;

/// Fields that are remembered, some fifty megabytes of them. Of later ones nothing is said
/// (docs/limits.md).
const FIELDS_MAX: usize = 1 << 20;

/// The kinds of the first values that the fields of lines had, all of one database and policy.
#[derive(Debug, Default)]
pub struct JudgedKinds {
    /// By the hashes of measurement and field, as they are written.
    fields: HashMap<u128, Kind>,
}

impl JudgedKinds {
    /// Says in `rejects` which rows of a batch of lines a store would refuse that has read those
    /// before.
    pub fn check(&mut self, batch: &Batch<'_>, rejects: &mut Vec<Reject>) {
        for row in batch.rows() {
            let measurement = raw_measurement(batch.slice(row.key_tail));
            let fields = fields_of(batch, row);
            let cells = batch.cells(row, fields.len() as u32);
            let mut kinds = Vec::with_capacity(cells.len());
            for (span, cell) in fields.iter().zip(cells) {
                let place = batch.hasher().key(measurement, batch.slice(*span));
                let is_full = self.fields.len() >= FIELDS_MAX;
                kinds.push(match self.fields.get(&place) {
                    Some(kind) => *kind,
                    None if is_full => cell.kind,
                    None => *self.fields.entry(place).or_insert(cell.kind),
                });
            }
            let mut pairs = kinds.iter().zip(cells);
            if let Some(column) = pairs.position(|(kind, cell)| *kind != cell.kind) {
                rejects.push(conflict_of(batch, row, measurement, &kinds, column));
            }
        }
    }
}
