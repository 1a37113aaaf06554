//! The kinds that fields would come to have in a store, for lines that are only looked at.

use super::{Manner, conflict_of, declared, fields_of, first_kind, plain, raw_measurement};
use foliot_engine::{Engine, Error};
use foliot_model::{Batch, KeyParts, Kind, Reject, Row};
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
    /// Takes rows out of a batch of lines that any store would refuse that has read those before,
    /// and says so in `rejects`.
    pub fn check(&mut self, batch: &mut Batch<'_>, rejects: &mut Vec<Reject>) {
        let is_taken = |batch: &Batch<'_>, row: &Row, _| {
            let (head, tail) = (batch.slice(row.key_head), batch.slice(row.key_tail));
            let mut parts = KeyParts::default();
            let read = (batch.syntax().parse)(head, tail, &mut parts);
            Ok(read.and_then(|()| parts.canonicalize()).is_ok())
        };
        let first = |_: &str, _: &str, kind| Ok::<_, Infallible>(kind);
        let Ok(()) = self.judge(batch, Manner::Strict, first, is_taken, rejects);
    }

    /// Takes rows out of a batch of lines that this store would refuse once it has read those
    /// before, and says so in `rejects`.
    ///
    /// # Errors
    /// When the store cannot be read, or takes nothing.
    pub fn check_for(
        &mut self,
        engine: &Engine,
        batch: &mut Batch<'_>,
        manner: Manner,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), Error> {
        let namespace = batch.namespace();
        let first = |measurement: &str, field: &str, kind| match declared(
            engine,
            namespace,
            measurement,
            field,
        ) {
            Some(known) => Ok(known),
            None => first_kind(engine, (namespace, measurement, field), kind, manner),
        };
        let is_taken = |batch: &Batch<'_>, row: &Row, new| engine.would_take(batch, row, new);
        self.judge(batch, manner, first, is_taken, rejects)
    }

    /// Takes rows out that are in conflict. `first` tells what kind a field has by its first value,
    /// and `is_taken` whether a store takes a row with so many new fields: one that is refused
    /// decides nothing.
    fn judge<E>(
        &mut self,
        batch: &mut Batch<'_>,
        manner: Manner,
        first: impl Fn(&str, &str, Kind) -> Result<Kind, E>,
        is_taken: impl Fn(&Batch<'_>, &Row, usize) -> Result<bool, E>,
        rejects: &mut Vec<Reject>,
    ) -> Result<(), E> {
        let (mut found, mut new) = (Vec::new(), Vec::new());
        for (index, row) in batch.rows().iter().enumerate() {
            let measurement = raw_measurement(batch.slice(row.key_tail));
            let fields = fields_of(batch, row);
            let cells = batch.cells(row, fields.len() as u32);
            let mut kinds = Vec::with_capacity(cells.len());
            new.clear();
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
                new.push((place, kind));
                kinds.push(kind);
            }
            let mut pairs = kinds.iter().zip(cells);
            if let Some(column) = pairs.position(|(kind, cell)| !manner.takes(*kind, cell.kind)) {
                rejects.push(conflict_of(batch, row, measurement, &kinds, column));
                found.push(index);
            } else if !new.is_empty()
                && self.fields.len() + new.len() <= FIELDS_MAX
                && is_taken(batch, row, new.len())?
            {
                self.fields.extend(new.drain(..));
            }
        }
        batch.retain_rows(|index| found.binary_search(&index).is_err());
        Ok(())
    }
}
