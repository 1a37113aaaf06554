//! TickTock's dialect of the door: its text on every port, its questions and its answers.
//!
//! TickTock speaks most of OpenTSDB's words with other meanings: series are combined only where
//! their times coincide, rates are taken of the combined series, every number is a double, tags are
//! optional and the tag `_field` names the field of a measurement. (TickTockDB 1.1.1, read and
//! run.)
//!
//! - writes: [`next_run`] cuts text into runs of one kind, [`decode_puts`] reads the put lines
//!   among them, [`puts_of_json`] turns JSON points into put lines
//! - reads: [`Inquiry`] is a parsed query, [`Assembly`] makes its answer
//!
//! It is not a copy of TickTock's flaws. A number that is none is refused, not read as 0; a rate
//! counts per second whatever the resolution; NaN takes no part in a fold, as in OpenTSDB; a
//! counter wraps at 2^63 - 1 unless told otherwise; filters of a POST are obeyed.

mod answer;
mod lines;
mod query;

pub use answer::{Assembly, Tags};
pub use lines::{
    Run, RunKind, TICKTOCK_SYNTAX, Word, decode_puts, next_run, puts_of_json, read_checkpoint,
};
pub use query::{Inquiry, Lookup, Question, aggregators_json};

/// The tag that names a field.
pub const FIELD_TAG: &str = "_field";

/// The value of [`FIELD_TAG`] that means no field.
pub const NO_FIELD: &str = "_";

/// A field as the tag shows it.
pub fn field_tag_value(field: &str) -> &str {
    if field == foliot_model::DEFAULT_FIELD { NO_FIELD } else { field }
}
