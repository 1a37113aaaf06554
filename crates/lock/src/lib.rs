//! Locks that know the order in which they may be taken.
//!
//! [`Rank`] is that order: a thread that holds a lock takes only locks that stand below it. In
//! debug builds, so in all tests, a lock that is taken out of order, or a second time by its
//! holder, panics with the names of both; a release build holds nothing but the lock itself.
//!
//! Two shared holds of one lock by one thread are out of order too: a writer that waits between
//! them stops the second one, and the first one stops the writer, for ever.
//!
//! What this room does not know: what the locks are for. The rooms above it own them.

mod condvar;
mod mutex;
mod order;
mod rank;
mod rwlock;

pub use condvar::Condvar;
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard};
pub use rank::Rank;
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
