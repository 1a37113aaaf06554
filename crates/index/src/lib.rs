//! Labels to series ids: the registry, and its bytes for wal and checkpoint files.
//!
//! A series is (namespace, measurement, field, labels). The registry gives each a dense id (sid) at
//! first sight, finds it again from the hash of a row's raw bytes, selects series by their names
//! and labels, and spells ids out. Ids belong to an epoch and are never reused in it.
//!
//! What this room is not: it holds no samples, knows no protocol, and opens no file by itself; the
//! engine puts its records into the wal and its checkpoints into paged files.

mod answers;
mod bitmap;
mod census;
mod dictionary;
mod entries;
mod epoch;
mod error;
mod forgotten;
mod groups;
mod identity;
mod key;
mod limits;
mod list;
mod lookup;
mod names;
mod orders;
mod pages;
mod pair_set;
mod pairs;
mod postings;
mod recent;
mod record;
mod register;
mod registry;
mod segment;
mod select;
mod series;
mod sid_set;
mod slots;
mod sources;
mod spelled;
mod stage;
mod tally;
mod values;
mod wanted;

pub use census::{Census, Counted, Ranks, Telling};
pub use epoch::Origin;
pub use error::Error;
pub use foliot_model::FIELDS_MAX;
pub use forgotten::Hidden;
pub use identity::{Description, Identity, Numbers};
pub use limits::{LABELS_MAX, NAME_BYTES_MAX, VALUE_BYTES_MAX};
pub use list::{Listed, MayGather};
pub use lookup::{Run, Sids};
pub use names::SymbolKind;
pub use record::class_records;
pub use register::read_row;
pub use registry::{Counts, Limited, Mark, Registered, Registry, Resolver, Terms};
pub use segment::{ReadAt, Segment, rewrite as rewrite_segment, write as write_segment};
pub use select::GoesOn;
pub use sid_set::SidSet;
