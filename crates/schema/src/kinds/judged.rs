//! The kinds that fields would come to have in a store, for lines that are only looked at.

use super::{Manner, conflict_of, declared, fields_of, first_kind, plain, raw_measurement};
use foliot_engine::{Engine, Error};
use foliot_model::{Batch, Kind, Reject};
use std::collections::HashMap;
use std::convert::Infallible;

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
    /// before, and nothing else.
    pub fn check(&mut self, batch: &Batch<'_>, rejects: &mut Vec<Reject>) {
        let Ok(found) = self.find(batch, |_, _, kind| Ok::<_, Infallible>(kind));
        rejects.extend(found.into_iter().map(|(_, reject)| reject));
    }

    /// Takes rows out of a batch of lines that this store would refuse once it has read those
    /// before, and says so in `rejects`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn check_for(
        &mut self,
        engine: &Engine,
        batch: &mut Batch<'_>,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), Error> {
        let namespace = batch.namespace();
        let found = self.find(batch, |measurement, field, kind| {
            match declared(engine, namespace, measurement, field) {
                Some(known) => Ok(known),
                None => first_kind(engine, (namespace, measurement, field), kind, Manner::Strict),
            }
        })?;
        let rows: Vec<usize> = found.iter().map(|(row, _)| *row).collect();
        batch.retain_rows(|index| rows.binary_search(&index).is_err());
        rejects.extend(found.into_iter().map(|(_, reject)| reject));
        Ok(())
    }

    /// The rows that are in conflict, by index; `first` tells what kind a field has by its first value.
    fn find<E>(
        &mut self,
        batch: &Batch<'_>,
        first: impl Fn(&str, &str, Kind) -> Result<Kind, E>,
    ) -> Result<Vec<(usize, Reject)>, E> {
        let mut found = Vec::new();
        for (index, row) in batch.rows().iter().enumerate() {
            let measurement = raw_measurement(batch.slice(row.key_tail));
            let fields = fields_of(batch, row);
            let cells = batch.cells(row, fields.len() as u32);
            let mut kinds = Vec::with_capacity(cells.len());
            for (span, cell) in fields.iter().zip(cells) {
                let field = batch.slice(*span);
                let place = batch.hasher().key(measurement, field);
                if let Some(kind) = self.fields.get(&place) {
                    kinds.push(*kind);
                    continue;
                }
                let mut scratch = (Vec::new(), Vec::new());
                let measurement = plain(batch, measurement, &mut scratch.0);
                let kind = first(&measurement, &plain(batch, field, &mut scratch.1), cell.kind)?;
                if self.fields.len() < FIELDS_MAX {
                    self.fields.insert(place, kind);
                }
                kinds.push(kind);
            }
            let mut pairs = kinds.iter().zip(cells);
            if let Some(column) = pairs.position(|(kind, cell)| *kind != cell.kind) {
                found.push((index, conflict_of(batch, row, measurement, &kinds, column)));
            }
        }
        Ok(found)
    }
}
