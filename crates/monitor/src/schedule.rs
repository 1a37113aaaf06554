//! When something is due that is done again and again.

/// How far from when it was due something may be done and still count as of then, in milliseconds:
/// samples then lie at even distances, which take fewer bytes. As Prometheus has it, it is never
/// more than a hundredth of the interval.
const TOLERANCE_MS: i64 = 2;

/// Even distances in time, at a place of its own within the interval, so that not all is done at
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    interval_ms: i64,
    offset_ms: i64,
}

impl Schedule {
    /// Every so many milliseconds, at a place that `seed` says.
    pub fn new(interval_ms: u64, seed: u64) -> Self {
        let interval_ms = i64::try_from(interval_ms).unwrap_or(i64::MAX).max(1);
        Self { interval_ms, offset_ms: (seed % interval_ms.unsigned_abs()) as i64 }
    }

    /// The first time after `at_ms` at which it is due.
    pub fn after(&self, at_ms: i64) -> i64 {
        let passed = at_ms.saturating_sub(self.offset_ms).rem_euclid(self.interval_ms);
        at_ms.saturating_add(self.interval_ms - passed)
    }

    /// When it is due next, after what was due at `due_ms` was done by `now_ms`; and how many times
    /// were missed meanwhile. A clock that was put back begins anew.
    pub fn next(&self, due_ms: i64, now_ms: i64) -> (i64, u64) {
        if due_ms - now_ms > self.interval_ms {
            return (self.after(now_ms), 0);
        }
        let next_ms = self.after(due_ms.max(now_ms));
        let missed = (next_ms - due_ms) / self.interval_ms - 1;
        (next_ms, missed.max(0).unsigned_abs())
    }

    /// The time for which something counts that was due at `due_ms` and is done at `now_ms`.
    pub fn time(&self, due_ms: i64, now_ms: i64) -> i64 {
        let tolerance = TOLERANCE_MS.min(self.interval_ms / 100);
        if (now_ms - due_ms).abs() <= tolerance { due_ms } else { now_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_due_at_even_distances() {
        let schedule = Schedule::new(1000, 3_250);
        assert_eq!(schedule.after(0), 250);
        assert_eq!(schedule.after(249), 250);
        assert_eq!(schedule.after(250), 1250);
        assert_eq!(schedule.after(-800), -750);
        assert_eq!(Schedule::new(0, 9).after(5), 6);
    }

    #[test]
    fn what_is_late_misses_and_what_is_early_waits() {
        let schedule = Schedule::new(1000, 0);
        assert_eq!(schedule.next(1000, 1300), (2000, 0));
        assert_eq!(schedule.next(1000, 999), (2000, 0), "it woke a moment too early");
        assert_eq!(schedule.next(1000, 2000), (3000, 1), "it took the whole interval");
        assert_eq!(schedule.next(1000, 4500), (5000, 3));
        assert_eq!(schedule.next(1_000_000, 1300), (2000, 0), "the clock was put back");
    }

    #[test]
    fn a_little_late_counts_as_in_time() {
        let schedule = Schedule::new(1000, 0);
        let times = [998, 1000, 1002, 1003].map(|now_ms| schedule.time(1000, now_ms));
        assert_eq!(times, [1000, 1000, 1000, 1003]);
        assert_eq!(Schedule::new(100, 0).time(100, 102), 102, "a hundredth of the interval");
    }
}
