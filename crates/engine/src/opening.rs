//! How far the opening of a store has come, for who waits meanwhile. What takes long is to read the
//! wal again.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// How far the opening of a store has come: share it, and hand it to
/// [`Engine::open_telling`](crate::Engine::open_telling).
#[derive(Debug, Default)]
pub struct Opening {
    start_lsn: AtomicU64,
    read_lsn: AtomicU64,
    /// Written last: 0 means that nothing is known yet.
    end_lsn: AtomicU64,
}

/// How much of the wal was read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    /// Bytes that were read.
    pub read_bytes: u64,
    /// Bytes that there are; 0 as long as nobody has looked. The newest segment may hold less than
    /// its length says.
    pub total_bytes: u64,
}

impl Opening {
    /// How much of the wal was read again so far.
    pub fn replay(&self) -> Replay {
        let end_lsn = self.end_lsn.load(Ordering::Acquire);
        let start_lsn = self.start_lsn.load(Ordering::Relaxed);
        let read_lsn = self.read_lsn.load(Ordering::Relaxed).min(end_lsn);
        Replay {
            read_bytes: read_lsn.saturating_sub(start_lsn),
            total_bytes: end_lsn.saturating_sub(start_lsn),
        }
    }

    /// The wal between two lsns is to be read. One that is taken in by pieces begins several times,
    /// and only the first time says how much it is.
    pub(crate) fn begin(&self, lsns: Range<u64>) {
        if self.end_lsn.load(Ordering::Relaxed) == 0 {
            self.start_lsn.store(lsns.start, Ordering::Relaxed);
            self.read_lsn.store(lsns.start, Ordering::Relaxed);
            self.end_lsn.store(lsns.end, Ordering::Release);
        }
    }

    /// It was taken in up to an lsn.
    pub(crate) fn reach(&self, lsn: u64) {
        self.read_lsn.fetch_max(lsn, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_piece_goes_on_where_the_first_one_ended() {
        let opening = Opening::default();
        assert_eq!(opening.replay(), Replay::default());
        let read = || {
            let Replay { read_bytes, total_bytes } = opening.replay();
            (read_bytes, total_bytes)
        };
        opening.begin(100..300);
        assert_eq!(read(), (0, 200));
        opening.reach(150);
        opening.begin(150..290);
        assert_eq!(read(), (50, 200));
        opening.reach(140);
        assert_eq!(read(), (50, 200), "it never goes back");
        opening.reach(u64::MAX);
        assert_eq!(read(), (200, 200));
    }
}
