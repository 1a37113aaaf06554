//! What can go wrong while a plan is carried out.

use std::fmt;
use std::time::Duration;

/// Why a query did not finish. The message says which limit was met and what to do.
#[derive(Debug)]
pub enum Error {
    /// The query needs more memory than it may take.
    Memory {
        /// `limits.query_memory_bytes`.
        limit_bytes: u64,
        /// What the query would have held after the step that was refused.
        wanted_bytes: u64,
    },
    /// The query does more work, counted in samples, than it may.
    Samples {
        /// `limits.query_samples`.
        limit: u64,
    },
    /// The query reads more sources than it may.
    Sources {
        /// `influx.series_max`.
        limit: u64,
        /// How many it would read.
        wanted: u64,
    },
    /// The query selects more series than it may.
    Series {
        /// How many it may select.
        limit: usize,
    },
    /// The query took longer than it may.
    Deadline {
        /// `limits.query_seconds`.
        limit: Duration,
    },
    /// The client went away, or someone stopped the query.
    Cancelled,
    /// The plan cannot be carried out: a parameter is out of its range.
    Plan(String),
    /// The store could not be read.
    Engine(foliot_engine::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { limit_bytes, wanted_bytes } => write!(
                f,
                "the query needs {wanted_bytes} bytes of memory and may take {limit_bytes}: ask for \
                 fewer series or a shorter time, or raise limits.query_memory_bytes; where \
                 limits.memory_bytes cuts that, a lower limits.queries leaves more to each"
            ),
            Self::Samples { limit } => write!(
                f,
                "the query looks at more than {limit} samples, with ten for each row that it would \
                 make up for an empty window: ask for fewer series, longer windows or a shorter time, or \
                 raise limits.query_samples"
            ),
            Self::Sources { limit, wanted } => write!(
                f,
                "the query reads {wanted} sources and may read {limit}: ask for fewer, or raise \
                 influx.series_max"
            ),
            Self::Series { limit } => write!(f, "the query selects more than {limit} series"),
            Self::Deadline { limit } => write!(
                f,
                "the query took longer than {} s: ask for fewer series or a shorter time, or \
                 raise limits.query_seconds",
                limit.as_secs_f64()
            ),
            Self::Cancelled => f.write_str("the query was cancelled"),
            Self::Plan(what) => write!(f, "the query cannot be carried out: {what}"),
            Self::Engine(error) => write!(f, "the store could not be read: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            _ => None,
        }
    }
}

impl From<foliot_engine::Error> for Error {
    fn from(error: foliot_engine::Error) -> Self {
        Self::Engine(error)
    }
}
