//! What can go wrong in this room.

use std::fmt;

/// Why records or a checkpoint file could not be read or written.
#[derive(Debug)]
pub enum Error {
    /// A record contradicts its grammar or what is already registered.
    Record {
        /// Position of the record's first byte.
        offset: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// A file's bytes are not what its format says.
    Damaged {
        /// Name of the file.
        file: String,
        /// Position of the damage in the file.
        offset: u64,
        /// What is wrong there.
        reason: String,
    },
    /// The operating system refused.
    Io {
        /// Name of the file.
        file: String,
        /// What was tried.
        action: &'static str,
        /// What it answered.
        source: std::io::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record { offset, reason } => {
                write!(f, "registration record at byte {offset}: {reason}")
            }
            Self::Damaged { file, offset, reason } => write!(
                f,
                "{file} at byte {offset}: {reason}; restore the file from a backup or remove it to \
                 recover without it"
            ),
            Self::Io { file, action, source } => write!(f, "cannot {action} {file}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
