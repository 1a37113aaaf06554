//! The shared nouns of Foliot.
//!
//! Every room speaks these types and only these types to its neighbours. The room does no IO, knows
//! no protocol and no file format, and nothing in it can be serialised by itself: wire formats live
//! in the doors (`proto-*`), file formats in `engine` and `index`.
//!
//! The waist of the system is four types. Two live here ([`Batch`], what is written, and [`Frame`],
//! a bounded piece of an answer), one in `plan` (what is asked), one in `engine` (the snapshot that
//! one reader sees).

mod batch;
mod column;
mod counts;
mod digits;
mod edits;
mod excerpt;
mod frame;
mod histogram;
mod key;
mod labels;
mod matcher;
mod pattern;
mod reach;
mod samples;
mod selector;
mod table;
mod time;
mod value;

pub use batch::{Batch, BatchBuffers, FIELDS_MAX, KeyCheck, PointFinder, Reject, Row, Shape, Span};
pub use column::Column;
pub use counts::{Counts, Figure};
pub use digits::{push_begin, push_integer, push_whole};
pub use edits::edits;
pub use excerpt::excerpt;
pub use frame::{Frame, SeriesHead};
pub use histogram::{Bucket, Fault, Histogram, Interval, Resets};
pub use key::{KeyError, KeyHasher, KeyParts, KeySecret, KeySyntax, ParseField, ParseKey};
pub use labels::{Label, Labels};
pub use matcher::{Matcher, MatcherError, Test};
pub use pattern::{Pattern, expand};
pub use reach::Reach;
pub use samples::{Bytes, Samples, Values};
pub use selector::{Name, Selector};
pub use table::{Item, Table, TableHead, TableShape};
pub use time::{NANOS_PER_MILLI, NANOS_PER_SECOND, TimeRange};
pub use value::{Cell, Kind, NULL_FLOAT_BITS, RAW_SCALE, SCALE_MAX, Value, is_null_float};

/// A namespace (database + retention policy) as the engine numbers it. `0` is the default one.
pub type NamespaceId = u32;

/// The namespace that protocols without a notion of databases write to.
pub const DEFAULT_NAMESPACE: NamespaceId = 0;

/// The field name of a sample that came without one (OpenTSDB, Prometheus).
pub const DEFAULT_FIELD: &str = "value";
