//! Who waits for the wal. Each is woken once, when the wal has come as far as it waits for: a write
//! that only the operating system has wakes nobody who waits for the disk, and a sync nobody whose
//! write came after it.

use foliot_engine::{Ack, Commit, Progress};
use foliot_lock::{Mutex, Rank};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Those who wait, by level.
#[derive(Debug)]
pub(crate) struct Waiting {
    written: Mutex<Queue>,
    durable: Mutex<Queue>,
}

/// By how far the wal must come, and a number that tells apart who waits for the same.
#[derive(Debug, Default)]
struct Queue {
    wakers: BTreeMap<Key, Waker>,
    next: u64,
}

type Key = (u64, u64);

impl Default for Waiting {
    fn default() -> Self {
        let queue = || Mutex::new(Rank::Table, Queue::default());
        Self { written: queue(), durable: queue() }
    }
}

impl Waiting {
    /// The wal has come so far: wakes whoever waited for that, or everybody when it has failed.
    pub(crate) fn tell(&self, now: Progress) {
        for (queue, lsn) in [(&self.written, now.written_lsn), (&self.durable, now.durable_lsn)] {
            let woken = {
                let mut queue = queue.lock();
                if queue.wakers.is_empty() {
                    continue;
                }
                let later = match now.poisoned {
                    true => BTreeMap::new(),
                    false => queue.wakers.split_off(&(lsn.saturating_add(1), 0)),
                };
                std::mem::replace(&mut queue.wakers, later)
            };
            // Without the lock: who is woken may come back at once.
            woken.into_values().for_each(Waker::wake);
        }
    }

    /// Waits until the wal has come to `commit`, or has failed. `look` says how far it is.
    pub(crate) fn until<L: Fn() -> Progress>(
        &self,
        commit: Commit,
        ack: Ack,
        look: L,
    ) -> Until<'_, L> {
        let queue = match ack {
            Ack::Memory | Ack::Os => &self.written,
            Ack::Durable => &self.durable,
        };
        Until { queue, lsn: commit.lsn, ack, key: None, look }
    }
}

/// A wait. See [`Waiting::until`].
#[derive(Debug)]
pub(crate) struct Until<'a, L> {
    queue: &'a Mutex<Queue>,
    lsn: u64,
    ack: Ack,
    /// Where it stands in the queue.
    key: Option<Key>,
    look: L,
}

impl<L: Fn() -> Progress> Until<'_, L> {
    fn is_over(&self) -> bool {
        let now = (self.look)();
        let reached = match self.ack {
            Ack::Memory | Ack::Os => now.written_lsn,
            Ack::Durable => now.durable_lsn,
        };
        reached >= self.lsn || now.poisoned
    }

    /// Stands in the queue from now on, once.
    fn stand(&mut self, waker: &Waker) {
        let mut queue = self.queue.lock();
        let key = *self.key.get_or_insert_with(|| {
            queue.next += 1;
            (self.lsn, queue.next)
        });
        queue.wakers.insert(key, waker.clone());
    }
}

impl<L: Fn() -> Progress + Unpin> Future for Until<'_, L> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            return Poll::Ready(());
        }
        self.stand(cx.waker());
        // What came between the look and the place in the queue wakes nobody.
        match self.is_over() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

impl<L> Drop for Until<'_, L> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.queue.lock().wakers.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicU64);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn at(written_lsn: u64, durable_lsn: u64, poisoned: bool) -> Progress {
        Progress { written_lsn, durable_lsn, poisoned }
    }

    #[test]
    fn each_is_woken_once_when_its_own_write_is_safe() {
        let waiting = Waiting::default();
        let nothing = || at(0, 0, false);
        let until = |lsn, ack| waiting.until(Commit::at(lsn), ack, nothing);
        let mut waits = [
            (until(10, Ack::Os), Arc::<Count>::default()),
            (until(10, Ack::Durable), Arc::default()),
            (until(20, Ack::Durable), Arc::default()),
            (until(20, Ack::Durable), Arc::default()),
        ];
        for (wait, count) in &mut waits {
            let waker = Waker::from(count.clone());
            assert!(Pin::new(wait).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let counts = |waits: &[(_, Arc<Count>)]| -> Vec<u64> {
            waits
                .iter()
                .map(|(_, count): &(_, Arc<Count>)| count.0.load(Ordering::SeqCst))
                .collect()
        };
        waiting.tell(at(9, 9, false));
        assert_eq!(counts(&waits), [0, 0, 0, 0]);
        waiting.tell(at(30, 9, false));
        assert_eq!(counts(&waits), [1, 0, 0, 0]);
        waiting.tell(at(30, 10, false));
        waiting.tell(at(30, 19, false));
        assert_eq!(counts(&waits), [1, 1, 0, 0]);
        waiting.tell(at(30, 19, true));
        assert_eq!(counts(&waits), [1, 1, 1, 1], "a failure is for all");
        waiting.tell(at(40, 40, true));
        assert_eq!(counts(&waits), [1, 1, 1, 1]);
    }

    #[test]
    fn what_is_safe_waits_for_nothing_and_whoever_leaves_is_forgotten() {
        let waiting = Waiting::default();
        let waker = Waker::noop();
        let mut cx = Context::from_waker(waker);
        let mut safe = waiting.until(Commit::at(5), Ack::Durable, || at(5, 5, false));
        assert!(Pin::new(&mut safe).poll(&mut cx).is_ready());
        let mut failed = waiting.until(Commit::at(6), Ack::Os, || at(5, 5, true));
        assert!(Pin::new(&mut failed).poll(&mut cx).is_ready());
        let mut leaves = waiting.until(Commit::at(6), Ack::Durable, || at(5, 5, false));
        assert!(Pin::new(&mut leaves).poll(&mut cx).is_pending());
        assert!(Pin::new(&mut leaves).poll(&mut cx).is_pending());
        assert_eq!(waiting.durable.lock().wakers.len(), 1, "it stands there once");
        drop(leaves);
        assert_eq!(waiting.durable.lock().wakers.len(), 0);
    }
}
