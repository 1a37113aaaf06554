//! Work that takes long, away from the loops.
//!
//! A loop serves many connections by one thread (`loops.rs`). Whatever may hold a thread for more
//! than about a millisecond goes through here: what waits for a disk, checks a password, unpacks,
//! or decodes a large request. While it is done the loop goes on by another thread of its pool.
//! There is no other way to block (`clippy.toml`). What nobody waits for in its place, such as
//! queries, which send their answers piece by piece, is spawned on a thread of the same pool.

use tokio::sync::Semaphore;

/// Threads of a loop's pool: those that do work which takes long, and one more that serves. What
/// can come in hundreds at once waits for its turn or for room before it takes a thread, so that
/// there is always one left to serve.
pub(crate) const THREADS_MAX: usize = 512;

/// Does `work` on this thread, for as long as that takes. The connection that wants it waits; the
/// others of its loop go on.
#[expect(clippy::disallowed_methods, reason = "this is the one place for it")]
pub(crate) fn aside<T>(work: impl FnOnce() -> T) -> T {
    tokio::task::block_in_place(work)
}

/// The same for whoever knows nothing of loops: work of the store that takes long for what was
/// asked.
pub fn aside_of_store(work: &mut dyn FnMut()) {
    aside(work);
}

/// Turns for work that keeps a processor busy: more of it at once than there are processors only
/// takes memory.
#[derive(Debug)]
pub(crate) struct Turns(Semaphore);

impl Turns {
    /// As many as there are processors, and as many more, which may wait for a lock.
    pub(crate) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self(Semaphore::new(2 * processors))
    }

    /// Does `work` aside once it is its turn.
    pub(crate) async fn take<T>(&self, work: impl FnOnce() -> T) -> T {
        // Nobody closes it.
        let _turn = self.0.acquire().await;
        aside(work)
    }
}
