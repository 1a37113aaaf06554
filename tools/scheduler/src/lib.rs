//! Runs the threads of a simulation one at a time, in an order that follows from a seed.
//!
//! Threads are stacks that one thread of the system runs in turns. A thread can be put aside when
//! it takes or gives back a lock, waits, pauses, or calls [`pass`]; who goes on then is for the
//! [`World`] to say, and so is what time it is. When nobody can go on, time jumps to the first
//! deadline that somebody waits for; when there is none, the threads block each other for good, and
//! [`run`] says where. The locks have the names and manners of `foliot_lock`'s, so that sources
//! written for those build over these; ranks are for those to check. What it does NOT do: reorder
//! what threads do to atomics between two such places, as weak memory would.
//!
//! Outside of [`run`] the locks are `parking_lot`'s own, and nobody can wait for a condition.

mod condvar;
mod mutex;
mod rwlock;
mod stage;
#[cfg(test)]
mod tests;

pub use condvar::Condvar;
pub use foliot_lock::Rank;
pub use mutex::{MappedMutexGuard, Mutex, MutexGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use stage::{Body, Failure, Handle, World, current, pass, run, sleep, spawn};
