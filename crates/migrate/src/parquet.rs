//! Parquet: files of columns, as tools for analysis read and write them.
//!
//! An export has a row for each sample, and these columns:
//!
//! - `time`: a timestamp with nanoseconds, in UTC.
//! - `measurement` and `field`: texts.
//! - `labels`: a group with a column for each label name; null where a series lacks the label.
//! - `value_float`, `value_integer`, `value_unsigned`, `value_boolean`, `value_text`: one of them
//!   has the value, the others are null.
//!
//! An import takes such files, and files of others, where a row has several fields:
//! [`Told`](crate::Told) says how their columns are understood. Nothing here knows Arrow: the
//! columns are read and written as the format has them, which takes a small part of the code.

mod export;
mod footer;
mod import;
mod leaf;
mod pages;
mod schema;
mod thrift;
mod writer;

pub use export::export_to;
pub use import::{File, import};
pub use writer::{Column, Kind, Writer};

use crate::columns::{FIELD, MEASUREMENT, TIME};
use crate::error::Error;
use ::parquet::errors::ParquetError;

/// What is taken at most of a file that somebody else wrote.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of its footer (`limits.parquet_footer_bytes`).
    pub footer_bytes: u64,
    /// Bytes of the pages of all columns that are read side by side
    /// (`limits.parquet_pages_bytes`).
    pub pages_bytes: u64,
}

/// The group whose columns are labels.
const LABELS: &str = "labels";
/// The columns of values, by kind.
const VALUES: [(&str, Kind); 5] = [
    ("value_float", Kind::Float),
    ("value_integer", Kind::Integer),
    ("value_unsigned", Kind::Unsigned),
    ("value_boolean", Kind::Boolean),
    ("value_text", Kind::Text),
];

/// What the format's library says, without its own name for the kind of error.
fn said(error: &ParquetError) -> String {
    match error {
        ParquetError::General(text) | ParquetError::NYI(text) | ParquetError::EOF(text) => {
            text.clone()
        }
        other => other.to_string(),
    }
}

/// An error of writing.
fn unwritten(error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => {
            let source = match source.downcast::<std::io::Error>() {
                Ok(source) => *source,
                Err(source) => std::io::Error::other(source),
            };
            Error::io("write the dump")(source)
        }
        error => Error::Format(format!("cannot write Parquet: {}", said(&error))),
    }
}
