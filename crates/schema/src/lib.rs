//! What is stored under which names: databases and their policies, rollup tables, kinds of fields,
//! continuous queries.
//!
//! All of it is facts of the engine's catalog, so that it is as durable as samples are. Names mean
//! the same at every door because every door asks here.
//!
//! What the room does not know: sockets, users, and the languages of the doors. A continuous query
//! is a text to it.

pub mod continuous;
mod databases;
mod kinds;
pub mod rollups;

pub use databases::{
    DEFAULT_POLICY, Database, DatabaseName, Databases, Missing, Most, NAME_BYTES_MAX, Policy,
    Wanted, check_name,
};
pub use kinds::{JudgedKinds, Kinds, Manner};
