//! The clock: what the store takes for the time of day where samples expire by it.
//!
//! The clock of a machine may be wrong, by years, for a minute or for good: a board without a
//! battery, a typing error, a guest that was asleep. What expires by a wrong clock is gone, so the
//! store believes the clock only as far as it can tell that time has passed:
//!
//! - A time of day is *known* to have come when it was kept as a fact or stands in a part, or since
//!   then the monotonic clock has counted up to it. Files lose nothing that is not too old by that
//!   time and by the clock.
//! - A clock that is ahead of it, after the machine was off for example, becomes known when it has
//!   stayed there for [`SETTLE_NS`], unless most of a namespace would expire at once by it: see
//!   `upkeep/expire.rs`. How long it has been there is kept as a fact: some machines never run for
//!   an hour at a time. A clock that is behind what was kept begins anew.
//! - Readers are shown, and writers refused, by a clock that is up to [`BELIEVED_NS`] ahead: that
//!   takes nothing away. One that is further ahead hides and refuses nothing either.
//! - A clock that is behind shows what the files still have.

use foliot_disk::Disk;
use foliot_lock::{Mutex, Rank};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const SECOND_NS: i64 = 1_000_000_000;
/// Clocks drift apart, and are slewed, by less than this between two looks.
const DRIFT_NS: i64 = 60 * SECOND_NS;
/// How long a clock that jumped ahead must stay there: operators and time servers mend a wrong one
/// sooner.
const SETTLE_NS: i64 = 3600 * SECOND_NS;
/// How far ahead a clock is believed to hide what has expired: a machine that was off over night.
pub(crate) const BELIEVED_NS: i64 = 86_400 * SECOND_NS;

/// The clock of a store.
pub(crate) struct Clock {
    disk: Arc<dyn Disk>,
    /// The time of day that is known to have come, less the monotonic clock.
    known_ns: AtomicI64,
    ahead: Mutex<Option<Ahead>>,
}

/// A clock that jumped ahead.
#[derive(Clone, Copy)]
struct Ahead {
    /// The time of day, less the monotonic clock.
    offset_ns: i64,
    /// When that was seen first, by the monotonic clock.
    since_ns: i64,
}

/// A clock that was ahead, as it is kept over a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stayed {
    /// What it showed last.
    pub(crate) now_ns: i64,
    /// How long the store had seen it ahead by then.
    pub(crate) for_ns: i64,
}

/// What a look at the clock found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// It goes as it should, or is behind.
    Good,
    /// It is this far ahead of what is known.
    Ahead { by_ns: i64 },
    /// It has been ahead for long: it may be accepted.
    Settled { by_ns: i64 },
}

impl Clock {
    /// A clock of a store for which `evidence_ns`, if there is any, is known to have come, and
    /// which `stayed` ahead of that when it was looked at last.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        evidence_ns: Option<i64>,
        stayed: Option<Stayed>,
    ) -> Self {
        let (now_ns, monotonic_ns) = (disk.now_ns(), monotonic_ns(&*disk));
        let known_ns = evidence_ns.unwrap_or(now_ns);
        let ahead = stayed.filter(|stayed| stayed.now_ns <= now_ns).map(|stayed| Ahead {
            offset_ns: now_ns.saturating_sub(monotonic_ns),
            since_ns: monotonic_ns.saturating_sub(stayed.for_ns),
        });
        let known_ns = AtomicI64::new(known_ns.saturating_sub(monotonic_ns));
        Self { disk, known_ns, ahead: Mutex::new(Rank::Clock, ahead) }
    }

    /// How long it has been ahead, if it is.
    pub(crate) fn stayed(&self) -> Option<Stayed> {
        let (now_ns, monotonic_ns) = (self.disk.now_ns(), monotonic_ns(&*self.disk));
        let ahead = *self.ahead.lock();
        ahead.map(|ahead| Stayed { now_ns, for_ns: monotonic_ns.saturating_sub(ahead.since_ns) })
    }

    /// The time of day that is known to have come.
    pub(crate) fn known_ns(&self) -> i64 {
        monotonic_ns(&*self.disk).saturating_add(self.known_ns.load(Ordering::Relaxed))
    }

    /// By what files lose samples.
    pub(crate) fn gone_ns(&self) -> i64 {
        self.disk.now_ns().min(self.known_ns())
    }

    /// By what samples are shown and accepted.
    pub(crate) fn shown_ns(&self) -> i64 {
        let (now_ns, known_ns) = (self.disk.now_ns(), self.known_ns());
        match now_ns.saturating_sub(known_ns) <= BELIEVED_NS {
            true => now_ns,
            false => known_ns,
        }
    }

    /// Follows the clock as far as it can be believed.
    pub(crate) fn look(&self) -> Looked {
        let (now_ns, monotonic_ns) = (self.disk.now_ns(), monotonic_ns(&*self.disk));
        let offset_ns = now_ns.saturating_sub(monotonic_ns);
        let by_ns = offset_ns.saturating_sub(self.known_ns.load(Ordering::Relaxed));
        let mut ahead = self.ahead.lock();
        if by_ns <= DRIFT_NS {
            self.known_ns.fetch_max(offset_ns, Ordering::Relaxed);
            *ahead = None;
            return Looked::Good;
        }
        let seen = Ahead { offset_ns, since_ns: monotonic_ns };
        let stays = |before: &Ahead| before.offset_ns.abs_diff(offset_ns) <= DRIFT_NS as u64;
        let since_ns = ahead.filter(stays).unwrap_or(seen).since_ns;
        *ahead = Some(Ahead { offset_ns, since_ns });
        match monotonic_ns.saturating_sub(since_ns) >= SETTLE_NS {
            true => Looked::Settled { by_ns },
            false => Looked::Ahead { by_ns },
        }
    }

    /// Takes the clock for right.
    pub(crate) fn accept(&self) {
        let offset_ns = self.disk.now_ns().saturating_sub(monotonic_ns(&*self.disk));
        self.known_ns.fetch_max(offset_ns, Ordering::Relaxed);
        *self.ahead.lock() = None;
    }
}

fn monotonic_ns(disk: &dyn Disk) -> i64 {
    i64::try_from(disk.monotonic_ns()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_disk::SimDisk;

    const HOUR: i64 = 3600 * SECOND_NS;
    const YEAR: i64 = 365 * 24 * HOUR;

    fn clock(evidence_ns: Option<i64>) -> (SimDisk, Clock) {
        let disk = SimDisk::new(1);
        let clock = Clock::new(Arc::new(disk.clone()), evidence_ns, None);
        (disk, clock)
    }

    #[test]
    fn an_hour_may_come_in_pieces_if_the_clock_never_goes_back() {
        let disk = SimDisk::new(1);
        let known_ns = disk.now_ns();
        let open = |stayed| Clock::new(Arc::new(disk.clone()), Some(known_ns), stayed);
        let run = |clock: &Clock| {
            clock.look();
            disk.advance(25 * 60 * SECOND_NS as u64);
            clock.look()
        };
        disk.jump(11 * HOUR);
        let mut clock = open(None);
        for pieces in 1..=3 {
            let looked = run(&clock);
            assert_eq!(matches!(looked, Looked::Settled { .. }), pieces == 3, "{looked:?}");
            let stayed = clock.stayed();
            disk.jump(11 * HOUR);
            clock = open(stayed);
        }
        // Mended before it was believed: what it showed counts for nothing.
        let stayed = clock.stayed();
        disk.jump(-HOUR);
        assert!(matches!(run(&open(stayed)), Looked::Ahead { .. }));
    }

    #[test]
    fn follows_a_clock_that_goes() {
        let (disk, clock) = clock(None);
        for _ in 0..10 {
            disk.advance(1000 * HOUR as u64);
            disk.jump(30 * SECOND_NS);
            assert_eq!(clock.look(), Looked::Good);
            let now_ns = disk.now_ns();
            assert_eq!([clock.known_ns(), clock.gone_ns(), clock.shown_ns()], [now_ns; 3]);
        }
    }

    #[test]
    fn a_jump_ahead_counts_when_it_has_stayed() {
        let (disk, clock) = clock(None);
        let known_ns = disk.now_ns();
        disk.jump(10 * YEAR);
        assert_eq!((clock.gone_ns(), clock.shown_ns()), (known_ns, known_ns));
        for _ in 0..59 {
            assert_eq!(clock.look(), Looked::Ahead { by_ns: 10 * YEAR });
            disk.advance(60 * SECOND_NS as u64);
        }
        disk.jump(-10 * YEAR);
        assert_eq!(clock.look(), Looked::Good);
        disk.jump(10 * YEAR);
        assert_eq!(clock.look(), Looked::Ahead { by_ns: 10 * YEAR }, "from the beginning");
        disk.advance(HOUR as u64);
        assert_eq!(clock.look(), Looked::Settled { by_ns: 10 * YEAR });
        assert_eq!(clock.gone_ns(), disk.now_ns() - 10 * YEAR, "nobody accepted it");
        clock.accept();
        assert_eq!((clock.look(), clock.gone_ns()), (Looked::Good, disk.now_ns()));
    }

    #[test]
    fn a_clock_of_1970_takes_nothing_and_is_forgotten() {
        let (disk, clock) = clock(None);
        let known_ns = disk.now_ns();
        disk.jump(-known_ns);
        assert_eq!((clock.look(), clock.gone_ns(), clock.shown_ns()), (Looked::Good, 0, 0));
        disk.advance(HOUR as u64);
        disk.jump(known_ns);
        assert_eq!((clock.look(), clock.gone_ns()), (Looked::Good, disk.now_ns()));
    }

    #[test]
    fn after_a_day_off_what_expired_is_hidden_at_once_and_goes_later() {
        let evidence_ns = SimDisk::new(1).now_ns() - 20 * HOUR;
        let (disk, clock) = clock(Some(evidence_ns));
        assert_eq!((clock.gone_ns(), clock.shown_ns()), (evidence_ns, disk.now_ns()));
        clock.look();
        disk.advance(HOUR as u64);
        assert_eq!(clock.look(), Looked::Settled { by_ns: 20 * HOUR });
    }
}
