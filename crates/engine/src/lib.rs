//! The store: recent samples in memory, older ones in parts, a wal for what is in between.
//!
//! ```text
//! write    batch -> resolve (index) -> append (wal) -> apply (head) -> commit      write.rs
//! later    head -> freeze -> part -> manifest -> the wal is forgotten       upkeep/flush.rs
//!          parts -> merge -> fewer parts                            upkeep/merge.rs, merge.rs
//! read     snapshot: parts + frozen + head -> scan, one series at a time  snapshot.rs, scan.rs
//! rename   selector -> audit log -> rows under the new name, then delete             rename.rs
//! delete   selector -> audit log -> delete frame (wal) -> head cut, tombstone           delete.rs
//! start    manifest -> index files, catalog, parts -> replay of the wal            recover.rs
//! ```
//!
//! What this room does not know: any protocol, any query language, time zones, the wall clock (a
//! batch comes with its times). It is synchronous; a write never waits for the disk, whoever wants
//! an acknowledgement waits for the [`Commit`].

mod admission;
mod audit;
mod backup;
mod backup_notes;
mod ballast;
mod block;
mod cache;
mod catalog;
mod chain;
mod check;
mod classes;
mod clock;
mod columns;
mod config;
mod damages;
mod delete;
mod epochs;
mod error;
mod filenames;
mod files;
mod floors;
mod handles;
mod head;
mod index_file;
mod ingest;
mod inspect;
mod leftovers;
mod limits;
mod manifest;
mod merge;
mod namespaces;
mod opening;
mod order;
mod paged;
mod part;
mod pieces;
mod preamble;
mod reads;
mod recover;
mod rename;
mod repair;
mod retention;
mod run;
mod scan;
mod segment_file;
mod series_limits;
mod sight;
mod snapshot;
mod spelled;
mod stats;
mod store;
mod tombstones;
mod troubles;
mod upkeep;
mod view;
mod waiting;
mod wal;
mod write;

// The writer and reader of the tests beside this crate, for those within it.
#[cfg(test)]
extern crate self as foliot_engine;
#[cfg(test)]
#[path = "../tests/support/mod.rs"]
mod support;

pub use audit::Caller;
pub use backup::{BackedUp, backup, has_files, is_store};
pub use backup_notes::{BackupFate, BackupNote, backup_notes, note_backup};
pub use check::{Checked, check};
pub use config::{Ack, Commit, Config, Progress};
pub use delete::Deleted;
pub use error::Error;
pub use foliot_codec::{DecimalSum, Summary};
pub use foliot_index::{
    Census, Counted, Description, FIELDS_MAX, Identity, LABELS_MAX, Listed, MayGather, Numbers,
    Ranks, SymbolKind, Telling,
};
pub use head::Arrived;
pub use inspect::{Show, Shown, inspect};
pub use limits::FEW_SERIES_MAX;
pub use opening::{Opening, Replay};
pub use reads::Reads;
pub use recover::ReadAgain;
pub use rename::{Renamed, Renaming};
pub use repair::{MayLose, Repaired, repair};
pub use retention::RetentionRule;
pub use run::{Run, RunTimes, RunValues};
pub use scan::{Peek, Scan, last_value};
pub use series_limits::SeriesLimit;
pub use sight::Sight;
pub use snapshot::Snapshot;
pub use stats::Stats;
pub use store::Engine;
pub use troubles::{Trouble, Work};
pub use waiting::without_files;
pub use write::FIELD_RETENTION;
