//! The checker: which locks this thread holds, in debug builds.

use crate::Rank;

/// Where a lock stands. Takes no room in a release build.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    #[cfg(debug_assertions)]
    rank: Rank,
    /// Among locks of one rank, lower ones are taken first.
    #[cfg(debug_assertions)]
    number: u32,
}

/// A lock in this thread's list for as long as it is held. Empty in a release build.
#[derive(Debug)]
pub(crate) struct Held {
    #[cfg(debug_assertions)]
    place: Place,
}

#[cfg(debug_assertions)]
mod checked {
    use super::{Held, Place};
    use crate::Rank;
    use std::cell::RefCell;

    // Unchecked once it is gone: a thread that ends may still close what its other things held.
    thread_local! {
        static HELD: RefCell<Vec<(Rank, u32)>> = const { RefCell::new(Vec::new()) };
    }

    impl Place {
        pub(crate) const fn new(rank: Rank, number: u32) -> Self {
            Self { rank, number }
        }

        /// Notes that the lock is about to be waited for.
        #[track_caller]
        #[expect(
            clippy::panic,
            reason = "debug builds only: a disordered lock is a bug, found here"
        )]
        pub(crate) fn take(self) -> Held {
            let wanted = (self.rank, self.number);
            let highest = HELD.try_with(|held| held.borrow().iter().copied().max());
            if let Some(highest) = highest.ok().flatten().filter(|highest| *highest >= wanted) {
                panic!("lock {wanted:?} is taken under {highest:?}; see foliot_lock::Rank");
            }
            self.note()
        }

        /// Notes a lock that was got without waiting: that cannot hang.
        pub(crate) fn note(self) -> Held {
            let _ = HELD.try_with(|held| held.borrow_mut().push((self.rank, self.number)));
            Held { place: self }
        }
    }

    impl Drop for Held {
        fn drop(&mut self) {
            let place = (self.place.rank, self.place.number);
            let _ = HELD.try_with(|held| {
                let mut held = held.borrow_mut();
                let at = held.iter().rposition(|one| *one == place);
                at.map(|at| held.swap_remove(at))
            });
        }
    }
}

#[cfg(not(debug_assertions))]
impl Place {
    pub(crate) const fn new(_: Rank, _: u32) -> Self {
        Self {}
    }

    #[inline(always)]
    pub(crate) fn take(self) -> Held {
        Held {}
    }

    #[inline(always)]
    pub(crate) fn note(self) -> Held {
        Held {}
    }
}
