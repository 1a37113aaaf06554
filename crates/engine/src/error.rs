//! What can go wrong in the store.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// An error of the store: what happened, where, and what to do.
#[derive(Debug)]
pub enum Error {
    /// The operating system refused something.
    Io {
        /// What was being done, as a verb phrase ("append to the wal").
        doing: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file does not hold what it should.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where in it, in bytes from its start.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// A file was written by a later version.
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its format version.
        version: u16,
        /// The version that this build reads.
        known: u16,
    },
    /// A file was written by a build before the first release.
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its format version.
        version: u16,
        /// The version that this build reads.
        known: u16,
    },
    /// A file uses features that this build does not know.
    UnknownFeatures {
        /// The file.
        path: PathBuf,
        /// Feature flags that are not known.
        unknown: u16,
    },
    /// Another process holds the data directory.
    Locked(PathBuf),
    /// A write or sync of the wal failed earlier: nothing more is acknowledged until a restart.
    Poisoned(String),
    /// The disk is full, or what is free is kept: nothing is accepted until space is free again.
    NoSpace {
        /// Bytes free on the disk when last looked, if that is known.
        free_bytes: Option<u64>,
        /// Bytes that are kept free for the next flush.
        kept_bytes: u64,
    },
    /// The wal cannot go on just now: nothing is accepted until it can.
    Stalled(String),
    /// Samples arrive faster than the disk takes parts.
    Overloaded,
    /// The store was closed.
    Closed,
    /// A batch whose keys nobody looked at has something else in the place of one. Nothing of it is
    /// stored; see [`foliot_model::Batch::check_unknown_keys_by`].
    NoKey,
    /// Whoever asked did not want to wait any longer.
    Stopped,
    /// A file would have to be read where none may be: see [`crate::without_files`].
    NotInMemory,
    /// An index segment does not hold what it should.
    Index(foliot_index::Error),
    /// A request asked for something that cannot be.
    Invalid(String),
}

impl Error {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source }
    }

    pub(crate) fn corrupt(path: &Path, offset: u64, reason: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), offset, reason: reason.into() }
    }

    /// Whether it says that a file is not what it should be, or not there. A disk that cannot be
    /// read just now says nothing about the file.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Corrupt { .. } => true,
            Self::Io { source, .. } => {
                matches!(source.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, path, source } => {
                write!(f, "cannot {doing} {}: {source}", path.display())
            }
            Self::Corrupt { path, offset, reason } => {
                write!(f, "damaged file {} at byte {offset}: {reason}", path.display())
            }
            Self::TooNew { path, version, known } => write!(
                f,
                "{} has format version {version}, this build reads {known}; \
                 start the version of Foliot that wrote it, or a later one",
                path.display()
            ),
            Self::TooOld { path, version, known } => write!(
                f,
                "{} has format version {version}, which was never released; \
                 this build reads version {known}",
                path.display()
            ),
            Self::UnknownFeatures { path, unknown } => write!(
                f,
                "{} uses features that this build does not know (flags {unknown:#06x}); \
                 start the version of Foliot that wrote it, or a later one",
                path.display()
            ),
            Self::Locked(path) => write!(
                f,
                "data directory {} is in use by another Foliot process; \
                 stop that one or choose another --data-dir",
                path.display()
            ),
            Self::Poisoned(reason) => write!(
                f,
                "writes are refused since the wal failed ({reason}); \
                 check the disk and restart Foliot"
            ),
            // Clients see this: where the store lies is none of their business.
            Self::NoSpace { free_bytes, kept_bytes } => {
                f.write_str("no space left on the disk")?;
                if let Some(free_bytes) = free_bytes {
                    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
                    let (free, kept) = (mib(*free_bytes), mib(*kept_bytes));
                    write!(
                        f,
                        ": {free:.1} MiB are free, and {kept:.1} MiB are kept free to write memory \
                         out (wal.reserve and the size of what waits)"
                    )?;
                }
                f.write_str("; writes resume by themselves when space is free")
            }
            Self::Stalled(reason) => {
                write!(f, "writes are refused: {reason}; they resume by themselves when it passes")
            }
            Self::Overloaded => f.write_str(
                "the head is full: samples arrive faster than the disk takes them; try again later",
            ),
            Self::NoKey => f.write_str("what stands in the place of a key is none"),
            Self::Stopped => f.write_str("what was asked was stopped"),
            Self::Closed => f.write_str("the store is closed"),
            Self::NotInMemory => f.write_str("a file would have to be read"),
            Self::Index(error) => error.fmt(f),
            Self::Invalid(reason) => f.write_str(reason),
        }
    }
}

impl From<foliot_index::Error> for Error {
    /// What a segment's reader met comes back as it was.
    fn from(error: foliot_index::Error) -> Self {
        match error {
            foliot_index::Error::Read(error) => match error.downcast::<Self>() {
                Ok(error) => *error,
                Err(error) => Self::Index(foliot_index::Error::Read(error)),
            },
            foliot_index::Error::Stopped => Self::Stopped,
            error => Self::Index(error),
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
