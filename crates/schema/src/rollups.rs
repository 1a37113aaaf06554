//! Rollup tables: points that were aggregated elsewhere lie in retention policies of their own, one
//! for each table.

use crate::databases::{Databases, Missing, Policy};
use foliot_engine::{Caller, Engine};
use foliot_model::NamespaceId;

/// The namespace of a table, if anything was ever written to it.
pub fn find(databases: &Databases, database: &str, table: &str) -> Option<NamespaceId> {
    databases.find(database, Some(table)).ok()
}

/// The namespace of a table, which is made when there is none. That waits for the disk, once for
/// each table.
///
/// # Errors
/// When the table cannot be made.
pub fn find_or_create(
    databases: &Databases,
    engine: &Engine,
    database: &str,
    table: &str,
) -> Result<NamespaceId, Missing> {
    if let Some(namespace) = find(databases, database, table) {
        return Ok(namespace);
    }
    let policy = Policy::unbounded(table);
    let caller = Caller { door: "first rollup", ..Caller::default() };
    Ok(databases.set_policy(engine, database, policy, false, &caller)?)
}
