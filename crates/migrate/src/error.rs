//! What can end an import or an export before its time.

use std::fmt;
use std::io;

/// An error of a move: what happened, where, and what to do.
#[derive(Debug)]
pub enum Error {
    /// Reading the source or writing the dump failed.
    Io {
        /// What was being done, as a verb phrase with its object ("read dump.txt").
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody answers where the server should be.
    Unreachable {
        /// Its host and port.
        host: String,
        /// The flag that names it.
        flag: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The store of this process refused.
    Store(foliot_engine::Error),
    /// The server's address cannot be understood.
    BadUrl {
        /// What was given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The server answered something that ends the move.
    Answer {
        /// HTTP status.
        status: u16,
        /// What the server said.
        message: String,
    },
    /// The source is not what the format says.
    Format(String),
    /// What was told of the source does not fit it, or is not enough.
    Told(String),
}

impl Error {
    pub(crate) fn io(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Io { doing, source }
    }

    /// The same, of what was found in a file.
    pub(crate) fn in_file(self, name: &str) -> Self {
        match self {
            Self::Told(reason) => Self::Told(format!("{name}: {reason}")),
            Self::Format(reason) => Self::Format(format!("{name}: {reason}")),
            error => error,
        }
    }
}

impl From<foliot_engine::Error> for Error {
    fn from(error: foliot_engine::Error) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { doing, source } => write!(f, "cannot {doing}: {source}"),
            Self::Unreachable { host, flag, source } => write!(
                f,
                "cannot connect to {host}: {source}; is the server running? {flag} names another"
            ),
            Self::Store(error) => error.fmt(f),
            Self::BadUrl { url, reason } => {
                write!(f, "'{url}' is no address of a server: {reason}; use http://HOST:PORT")
            }
            Self::Answer { status: 200, message } => write!(f, "the server answered: {message}"),
            Self::Answer { status, message } => {
                write!(f, "the server answered {status}: {message}")
            }
            Self::Format(reason) | Self::Told(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } | Self::Unreachable { source, .. } => Some(source),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}
