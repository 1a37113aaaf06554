//! Time: signed nanoseconds since 1970-01-01T00:00:00Z, good for the years 1677 to 2262.

/// Nanoseconds in one millisecond.
pub const NANOS_PER_MILLI: i64 = 1_000_000;
/// Nanoseconds in one second.
pub const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// A span of time, both ends included, in nanoseconds.
///
/// Both ends are included so that the whole time line is expressible without overflow. Languages
/// with half-open windows subtract one nanosecond at their door.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimeRange {
    /// First instant inside.
    pub start_ns: i64,
    /// Last instant inside.
    pub end_ns: i64,
}

impl TimeRange {
    /// All of time.
    pub const ALL: Self = Self { start_ns: i64::MIN, end_ns: i64::MAX };

    /// The span from `start_ns` to `end_ns`, both included; empty when the end is before the start.
    pub const fn new(start_ns: i64, end_ns: i64) -> Self {
        Self { start_ns, end_ns }
    }

    /// Whether no instant lies inside.
    pub const fn is_empty(&self) -> bool {
        self.end_ns < self.start_ns
    }

    /// Whether `time_ns` lies inside.
    pub const fn contains(&self, time_ns: i64) -> bool {
        self.start_ns <= time_ns && time_ns <= self.end_ns
    }

    /// Whether every instant of `other` lies inside.
    pub const fn covers(&self, other: &Self) -> bool {
        self.start_ns <= other.start_ns && other.end_ns <= self.end_ns
    }

    /// Whether the two spans share an instant.
    pub const fn overlaps(&self, other: &Self) -> bool {
        self.start_ns <= other.end_ns && other.start_ns <= self.end_ns
    }

    /// The instants inside both spans.
    pub fn intersect(&self, other: &Self) -> Self {
        Self { start_ns: self.start_ns.max(other.start_ns), end_ns: self.end_ns.min(other.end_ns) }
    }
}
