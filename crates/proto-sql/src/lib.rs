//! The SQL door.
//!
//! It reads statements of SQL as PostgreSQL writes them ([`Statement`]), looks the names in them up
//! in a [`Catalogue`], and lowers them to the algebra of relations ([`Planned`]). Text goes in,
//! plans come out: the room knows no socket and no store, and executes nothing. The grammar is
//! that of the `sqlparser` crate, whose types stay in here.
//!
//! A measurement is a table. Its columns are `time`, its labels as text, and its fields.

mod aggregate;
mod calls;
mod catalogue;
mod constant;
mod error;
mod expression;
mod fold;
mod listing;
mod lowering;
mod over;
mod query;
mod refused;
mod scope;
mod select;
mod sift;
mod span;
mod statement;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod typed;
mod union;

pub use catalogue::Catalogue;
pub use error::SqlError;
pub use statement::{Parameter, Parameters, Planned, Statement};
pub use typed::Type;
