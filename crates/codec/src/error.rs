//! What can be wrong with bytes that claim to be a block.

use std::fmt;

/// Why bytes could not be decoded. Every variant means damage: an encoder never writes such bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecError {
    /// The bytes end inside the named element.
    Truncated(&'static str),
    /// The named element holds a value that no encoder writes.
    Invalid(&'static str),
    /// More samples were asked of one block than a block may hold.
    TooLong {
        /// The number asked for.
        count: usize,
    },
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = "the bytes are damaged, restore the file they came from";
        match self {
            Self::Truncated(what) => write!(f, "block ends inside its {what}: {advice}"),
            Self::Invalid(what) => write!(f, "block has an impossible {what}: {advice}"),
            Self::TooLong { count } => {
                write!(f, "block claims {count} samples, more than a block may hold: {advice}")
            }
        }
    }
}

impl std::error::Error for CodecError {}
