//! Admission: how many new series may be created. Known series are never refused.

use crate::config::Config;
use crate::limits::NEW_SERIES_BYTES;
use foliot_disk::Disk;
use foliot_lock::{Mutex, Rank};

/// The rate is averaged over so many seconds, so that a restart of many clients is not refused.
const BURST_SECONDS: u64 = 10;

/// A token bucket beside a ceiling.
pub(crate) struct Admission {
    series_max: u64,
    bytes_max: u64,
    per_second: u64,
    bucket: Mutex<Bucket>,
}

struct Bucket {
    tokens: u64,
    filled_ns: u64,
}

impl Admission {
    pub(crate) fn new(config: &Config, disk: &dyn Disk) -> Self {
        let tokens = config.new_series_per_second.saturating_mul(BURST_SECONDS);
        Self {
            series_max: config.series_max,
            bytes_max: config.registry_bytes_max,
            per_second: config.new_series_per_second,
            bucket: Mutex::new(Rank::Admission, Bucket { tokens, filled_ns: disk.monotonic_ns() }),
        }
    }

    /// Whether so many names and facts may be added where what lasts takes `bytes`.
    pub(crate) fn has_room(&self, bytes: u64, count: u64) -> bool {
        count <= self.bytes_max.saturating_sub(bytes) / NEW_SERIES_BYTES
    }

    /// How many series may be created now that there are `series`, and what lasts takes `bytes`;
    /// and which setting it is that admits no more.
    pub(crate) fn room(&self, disk: &dyn Disk, series: u64, bytes: u64) -> (u64, &'static str) {
        let free_bytes = self.bytes_max.saturating_sub(bytes);
        let below_bytes = (free_bytes / NEW_SERIES_BYTES, "limits.registry_bytes");
        let below_max = (self.series_max.saturating_sub(series), "limits.series").min(below_bytes);
        if self.per_second == u64::MAX {
            return below_max;
        }
        let mut bucket = self.bucket.lock();
        let now_ns = disk.monotonic_ns();
        let passed_ns = u128::from(now_ns.saturating_sub(bucket.filled_ns));
        let earned = (passed_ns * u128::from(self.per_second) / 1_000_000_000) as u64;
        if earned > 0 {
            bucket.filled_ns = now_ns;
            let full = self.per_second.saturating_mul(BURST_SECONDS);
            bucket.tokens = bucket.tokens.saturating_add(earned).min(full);
        }
        below_max.min((bucket.tokens, "limits.new_series_per_second"))
    }

    /// Records that `created` series were.
    pub(crate) fn take(&self, created: u64) {
        let mut bucket = self.bucket.lock();
        bucket.tokens = bucket.tokens.saturating_sub(created);
    }
}
