//! What the store can be told, and the words of its promises.

use crate::limits::WAL_SEGMENT_BYTES;
use crate::retention::RetentionRule;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Settings of a store.
#[derive(Clone, Debug)]
pub struct Config {
    /// Written samples are synced at the latest after this long, whatever level was asked for.
    pub wal_sync_interval: Duration,
    /// The wal is kept short enough to be replayed in about this long.
    pub wal_replay_target: Duration,
    /// A segment of the wal that has this many bytes is followed by a new one.
    pub wal_segment_bytes: u64,
    /// Bytes that the wal leaves free on the disk beside what the next flush needs.
    pub wal_reserve_bytes: u64,
    /// Bytes of segments that nobody needs any more, at most, which are kept to be written over.
    pub wal_spare_bytes: u64,
    /// Samples in memory are flushed to a part when they take more than this many bytes.
    pub head_bytes_max: u64,
    /// Memory for pages of files.
    pub cache_bytes_max: u64,
    /// Series the store may hold; more are refused by name.
    pub series_max: u64,
    /// Labels that a new series may have; one with more is refused by name.
    pub labels_max: usize,
    /// Memory that the names of series may take; more series are refused by name.
    pub registry_bytes_max: u64,
    /// New series a second, averaged over ten seconds; more are refused by name.
    pub new_series_per_second: u64,
    /// Parts of one kind and window that are merged into one as soon as there are so many beside
    /// the newest.
    pub merge_parts: usize,
    /// Memory for a merge: half of it for the parts that it reads, of which it takes as many at
    /// once as there is room for, and two at least; half for what it writes.
    pub merge_bytes_max: u64,
    /// A window in which nothing was written for this long is merged into one part.
    pub merge_quiet: Duration,
    /// While samples arrive merging takes at most this share of one core, in percent.
    pub merge_share_percent: u32,
    /// How long samples are kept, in namespaces that were told nothing else; nothing is for ever.
    pub retention: Option<Duration>,
    /// Series that are kept for other times.
    pub retention_rules: Vec<RetentionRule>,
    /// Bytes that all parts together may take; the oldest samples make room.
    pub retention_bytes_max: u64,
    /// Whether these three are as the store was told last, whatever they say here: for who reads a
    /// store and is not its server.
    pub keeps_retention: bool,
    /// What is deleted leaves the disk within this long, if the store has time to merge.
    pub delete_deadline: Duration,
    /// A series is active when it was written within this long, or the same time before that.
    pub index_active_window: Duration,
    /// A new epoch begins when more series than this, and more than half of all, are not active.
    pub epoch_dead_min: u64,
    /// Whether the store starts threads. Without them waiting drives the wal, flushes and
    /// maintenance are explicit, which makes a run a pure function of its inputs, for simulation.
    pub background: bool,
    /// How work runs that takes long for what was asked, such as the registration of thousands of
    /// new series: whoever owns the threads lets others work meanwhile. It is done on return.
    pub aside: fn(&mut dyn FnMut()),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            wal_sync_interval: Duration::from_secs(1),
            wal_replay_target: Duration::from_secs(20),
            wal_segment_bytes: WAL_SEGMENT_BYTES,
            wal_reserve_bytes: 16 << 20,
            wal_spare_bytes: 256 << 20,
            head_bytes_max: 256 << 20,
            cache_bytes_max: 32 << 20,
            series_max: 100_000_000,
            labels_max: 64,
            registry_bytes_max: u64::MAX,
            new_series_per_second: u64::MAX,
            merge_parts: 8,
            merge_bytes_max: 64 << 20,
            merge_quiet: Duration::from_secs(3600),
            merge_share_percent: 50,
            retention: None,
            retention_rules: Vec::new(),
            retention_bytes_max: u64::MAX,
            keeps_retention: false,
            delete_deadline: Duration::from_secs(3600),
            index_active_window: Duration::from_secs(3600),
            epoch_dead_min: 500_000,
            background: true,
            aside: |work| work(),
        }
    }
}

/// What an acknowledged write is safe from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// Power loss: the wal was synced.
    Durable,
    /// The death of the process: the wal was given to the operating system, and is synced within
    /// `wal.sync_interval`.
    Os,
    /// Nothing.
    Memory,
}

impl fmt::Display for Ack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Durable => "durable",
            Self::Os => "os",
            Self::Memory => "memory",
        })
    }
}

impl FromStr for Ack {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "durable" => Ok(Self::Durable),
            "os" => Ok(Self::Os),
            "memory" => Ok(Self::Memory),
            _ => Err(format!("'{text}' is no ack level: use durable, os or memory")),
        }
    }
}

/// A place in the stream of changes: everything up to here must be safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Commit {
    /// Position in the wal's stream, in bytes.
    pub lsn: u64,
    /// Series that the write made.
    pub new_series: u64,
}

impl Commit {
    /// The place at `lsn`, of what made no series.
    pub const fn at(lsn: u64) -> Self {
        Self { lsn, new_series: 0 }
    }
}

/// How far the wal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Up to here the operating system has it.
    pub written_lsn: u64,
    /// Up to here it is on stable storage.
    pub durable_lsn: u64,
    /// Whether a sync failed, after which nothing is acknowledged.
    pub poisoned: bool,
}
