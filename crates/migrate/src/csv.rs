//! CSV: rows of commas below a header, as spreadsheets and scripts read and write them.
//!
//! An export has a row for each sample, and these columns:
//!
//! - `time`: RFC 3339 with nanoseconds, in UTC.
//! - `measurement` and `field`.
//! - a column for each label name; empty where a series lacks the label.
//! - `kind`: `float`, `integer`, `unsigned`, `boolean` or `string`.
//! - `value`: as its kind says.
//!
//! An import takes such files, those that the page saves, and files of others, where a row has
//! several fields. [`Told`](crate::Told) says how their columns are understood, as it does for
//! Parquet; what they hold their first rows tell.

mod cell;
mod export;
mod import;
mod look;
mod rows;
mod saved;

pub use export::export_to;
pub use import::{File, import};
pub use rows::is_mark;

/// What an import was told about a text, beside what its columns mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spelled {
    /// What divides cells, if it is no comma and the text does not say so itself.
    pub separator: Option<u8>,
    /// What numbers in the column of times count, if their size does not tell.
    pub precision: Option<Precision>,
}

/// What a number counts that is a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Seconds, with decimals or without.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
}

impl Precision {
    /// The precision that is called so in flags and parameters.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "s" => Self::Seconds,
            "ms" => Self::Milliseconds,
            "us" => Self::Microseconds,
            "ns" => Self::Nanoseconds,
            _ => return None,
        })
    }

    /// That of a number by its size: none of them comes near another for a hundred years.
    fn of(number: f64) -> Self {
        match number.abs() {
            size if size < 1e11 => Self::Seconds,
            size if size < 1e14 => Self::Milliseconds,
            size if size < 1e17 => Self::Microseconds,
            _ => Self::Nanoseconds,
        }
    }

    /// How many digits of a number's decimals are whole nanoseconds.
    fn digits(self) -> usize {
        match self {
            Self::Seconds => 9,
            Self::Milliseconds => 6,
            Self::Microseconds => 3,
            Self::Nanoseconds => 0,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Seconds => "seconds",
            Self::Milliseconds => "milliseconds",
            Self::Microseconds => "microseconds",
            Self::Nanoseconds => "nanoseconds",
        }
    }
}

#[cfg(test)]
mod tests;
