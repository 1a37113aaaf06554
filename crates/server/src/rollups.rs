//! Rollup points on their way into the tables that they belong to.

use crate::aside::aside;
use crate::ingest::{self, PATIENCE, Terms};
use crate::metrics::Way;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Measurements;
use foliot_engine::Commit;
use foliot_model::{Batch, NamespaceId, Reject};
use foliot_proto_opentsdb::{KEY_SYNTAX, RollupPoint};
use foliot_schema::{Missing, rollups};
use std::collections::BTreeMap;

/// Stores points, table by table; returns the last thing written. `rejects` gets what the store
/// refuses.
pub(crate) fn store(
    shared: &Shared,
    store: &Store,
    (database, scope): (&str, &Measurements),
    points: &[RollupPoint],
    rejects: &mut Vec<Reject>,
) -> Result<Option<Commit>, Missing> {
    let mut tables: BTreeMap<&str, BTreeMap<&str, Vec<&RollupPoint>>> = BTreeMap::new();
    for point in points {
        tables.entry(&point.table).or_default().entry(&point.field).or_default().push(point);
    }
    let mut last = None;
    for (table, fields) in tables {
        let namespace = find_or_create(store, database, table)?;
        let mut decoding = shared.batches.take();
        let secret = store.engine().key_secret();
        let mut batch = Batch::new(b"", namespace, &KEY_SYNTAX, secret, decoding.buffers);
        for (field, points) in fields {
            let name = batch.push_scratch(|out| out.extend_from_slice(field.as_bytes()));
            let shape = batch.push_shape(&[name]);
            points.iter().for_each(|point| point.push(&mut batch, shape));
        }
        let mut refused = Vec::new();
        let (way, terms) = (Way::Rollup, Terms::of_samples(PATIENCE));
        let outcome = ingest::append(shared, store, way, &mut batch, scope, &mut refused, terms);
        rejects.append(&mut refused);
        decoding.buffers = batch.into_buffers();
        shared.batches.give(decoding);
        last = outcome?.or(last);
    }
    Ok(last)
}

/// The namespace of a table, if anything was ever written to it.
pub(crate) fn find(store: &Store, database: &str, table: &str) -> Option<NamespaceId> {
    rollups::find(store.databases(), database, table)
}

fn find_or_create(store: &Store, database: &str, table: &str) -> Result<NamespaceId, Missing> {
    if let Some(namespace) = find(store, database, table) {
        return Ok(namespace);
    }
    let make = || rollups::find_or_create(store.databases(), store.engine(), database, table);
    aside(make)
}
