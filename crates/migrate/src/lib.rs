//! Moving in and out: foreign dumps become samples, samples become foreign dumps.
//!
//! An import reads one foreign format and hands it, record by record, to [`Import`], which knows
//! four languages: Influx line protocol and exact lines, both with nanoseconds, put lines, and
//! series of remote write.
//! `Import` writes them into a store of this process or posts them to a running server; both ways
//! go through a door, as any client's lines do. An export walks the series of a snapshot
//! ([`export`]) and lets a format spell them.
//!
//! One module per format: [`opentsdb`], [`ticktock`], [`influx`], [`prometheus`], [`parquet`],
//! [`csv`].
//! [`settings`] reads what other servers were told. The room parses no command line, opens no
//! store and prints nothing.

mod bits;
pub mod client;
mod columns;
mod connection;
pub mod csv;
mod cursor;
mod directory;
mod error;
mod export;
mod file;
mod import;
pub mod influx;
mod line;
pub mod opentsdb;
pub mod parquet;
mod places;
mod post;
pub mod prometheus;
pub mod settings;
mod source;
pub mod ticktock;

pub use client::{Client, push_percent};
pub use columns::Told;
pub use error::Error;
pub use export::{Exported, Pace, Unspelled, Wanted, export};
pub use import::{Fault, Import, Place, Progress, Target};
pub use source::Source;
