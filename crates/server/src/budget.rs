//! Budgets: memory that many share, handed out in pages. What needs memory takes it before it has
//! it, and gives it back by dropping it. Who finds too little may wait a while for others to give
//! some back.

use foliot_lock::{Mutex, Rank};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Unit in which memory is handed out, in bytes: a page.
pub(crate) const PERMIT_BYTES: usize = 4 << 10;

/// How long a request may wait for others to give memory back.
const WAIT_MAX: Duration = Duration::from_secs(2);

/// Packed bodies that may wait so on a thread of their own: what one piece makes is known only
/// while it is unpacked. Others wait as tasks.
const PATIENT_MAX: usize = 64;

/// A share of a budget.
pub(crate) type Held = Option<OwnedSemaphorePermit>;

/// Why there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short {
    /// It is more than there ever is.
    Always,
    /// Others have it.
    Now,
}

/// Memory that is shared by all of a kind.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) free: Arc<Semaphore>,
    /// For those that wait on a thread.
    pub(crate) patient: Arc<Semaphore>,
    /// Held by who gives back what it has for want of more.
    pub(crate) giving_back: Arc<Mutex<()>>,
    bytes: u64,
}

impl Budget {
    /// A budget of so many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        let permits = (bytes / PERMIT_BYTES as u64).clamp(1, Semaphore::MAX_PERMITS as u64 / 2);
        let free = Arc::new(Semaphore::new(permits as usize));
        let patient = Arc::new(Semaphore::new(PATIENT_MAX));
        let giving_back = Arc::new(Mutex::new(Rank::Table, ()));
        Self { free, patient, giving_back, bytes: permits * PERMIT_BYTES as u64 }
    }

    /// All of it, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is held of it at present, and how much it is, in bytes.
    pub(crate) fn used(&self) -> (u64, u64) {
        let free = self.free.available_permits() as u64 * PERMIT_BYTES as u64;
        (self.bytes.saturating_sub(free), self.bytes)
    }

    /// Makes `held` as much as `bytes` need, but for less than a page, without waiting; nothing
    /// when there is not so much.
    pub(crate) fn hold(&self, held: &mut Held, bytes: usize) -> Option<()> {
        let (wanted, has) = (bytes / PERMIT_BYTES, pages(held));
        if wanted > has {
            let more = u32::try_from(wanted - has).ok()?;
            merge(held, self.free.clone().try_acquire_many_owned(more).ok()?);
        } else if let Some(permits) = held {
            drop(permits.split(has - wanted));
        }
        Some(())
    }

    /// Makes `held` as much as `bytes` need at least, for which it may wait.
    ///
    /// # Errors
    /// When there is too little, and was for as long as it waited.
    pub(crate) async fn wait(&self, held: &mut Held, bytes: usize) -> Result<(), Short> {
        if bytes as u64 > self.bytes {
            return Err(Short::Always);
        }
        let missing = bytes.div_ceil(PERMIT_BYTES).saturating_sub(pages(held));
        let missing = u32::try_from(missing).map_err(|_| Short::Always)?;
        if missing > 0 {
            merge(held, acquire(&self.free, missing).await.ok_or(Short::Now)?);
        }
        Ok(())
    }
}

/// Takes so many permits, for which it waits a while.
pub(crate) async fn acquire(free: &Arc<Semaphore>, permits: u32) -> Held {
    if let Ok(taken) = free.clone().try_acquire_many_owned(permits) {
        return Some(taken);
    }
    let waiting = free.clone().acquire_many_owned(permits);
    tokio::time::timeout(WAIT_MAX, waiting).await.ok()?.ok()
}

pub(crate) fn merge(held: &mut Held, more: OwnedSemaphorePermit) {
    match held {
        Some(permits) => permits.merge(more),
        None => *held = Some(more),
    }
}

fn pages(held: &Held) -> usize {
    held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn who_finds_too_little_waits_for_others() {
        let budget = Budget::new(8 * PERMIT_BYTES as u64);
        let (mut first, mut second) = (None, None);
        assert_eq!(budget.wait(&mut first, 9 * PERMIT_BYTES).await, Err(Short::Always));
        assert_eq!(budget.wait(&mut first, 5 * PERMIT_BYTES + 1).await, Ok(()));
        assert_eq!(budget.used().0, 6 * PERMIT_BYTES as u64);
        assert_eq!(budget.wait(&mut second, 3 * PERMIT_BYTES).await, Err(Short::Now));
        let gives_back = async {
            tokio::time::sleep(WAIT_MAX / 2).await;
            first = None;
        };
        let (got, ()) = tokio::join!(budget.wait(&mut second, 3 * PERMIT_BYTES), gives_back);
        assert_eq!((got, budget.used().0), (Ok(()), 3 * PERMIT_BYTES as u64));
        assert_eq!(budget.wait(&mut second, PERMIT_BYTES).await, Ok(()), "it has as much");
        assert_eq!(budget.used().0, 3 * PERMIT_BYTES as u64);
    }
}
