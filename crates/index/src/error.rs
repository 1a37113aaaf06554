//! What can go wrong in this room.

use std::fmt;

/// Bytes that contradict their grammar, or that could not be read.
#[derive(Debug)]
pub enum Error {
    /// A record contradicts its grammar or what is already registered.
    Record {
        /// Position of the record's first byte.
        offset: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A segment is damaged.
    Segment {
        /// Where in it.
        at: u64,
        /// What is wrong there.
        reason: String,
    },
    /// Whoever asked did not want to wait any longer.
    Stopped,
    /// A segment could not be read: the error of whoever reads files.
    Read(Box<dyn std::error::Error + Send + Sync>),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record { offset, reason } => {
                write!(f, "registration record at byte {offset}: {reason}")
            }
            Self::Segment { at, reason } => write!(f, "index segment at byte {at}: {reason}"),
            Self::Stopped => f.write_str("the selection was stopped"),
            Self::Read(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read(error) => Some(&**error),
            _ => None,
        }
    }
}
