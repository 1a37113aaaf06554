//! Busy line streams of a loop pass a baton from one to the next.
//!
//! A line stream is a connection that sends lines. It waits for no answer, so it may always have
//! more.
//! A loop serves who is ready in order, and looks at its sockets only now and then while somebody
//! is. A hundred busy streams would each store a piece before a request that came meanwhile is
//! seen. So only the stream that has the baton stores a piece, and the loop looks at its sockets
//! before the baton goes on: a request waits for one piece.

use std::future::Future;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A stream is busy whose last piece had so many bytes. Those of others are stored in less time
/// than it takes to pass the baton.
const BUSY_BYTES: usize = 4 << 10;

tokio::task_local! {
    /// The baton of the loop that the task lives on.
    static RELAY: Relay;
}

/// The one baton of a loop.
#[derive(Clone, Debug)]
pub(crate) struct Relay(Arc<Semaphore>);

impl Default for Relay {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(1)))
    }
}

impl Relay {
    /// Runs a task whose stream takes part.
    pub(crate) fn scope<F: Future>(&self, task: F) -> impl Future<Output = F::Output> + use<F> {
        RELAY.scope(self.clone(), task)
    }
}

/// What a busy stream holds while it stores a piece; others hold nothing.
#[derive(Debug, Default)]
pub(crate) struct Baton(Option<OwnedSemaphorePermit>);

impl Baton {
    /// Lets the next stream have it, before the piece is stored.
    pub(crate) fn give_up(&mut self) {
        self.0 = None;
    }
}

/// What a stream remembers from piece to piece.
#[derive(Debug, Default)]
pub(crate) struct Runner {
    is_busy: bool,
}

impl Runner {
    /// Waits until the next piece may be read and stored. Who has the baton must wait for nothing
    /// else.
    pub(crate) async fn baton(&self) -> Baton {
        let relay = match self.is_busy {
            true => RELAY.try_with(Relay::clone).ok(),
            false => None,
        };
        match relay {
            // It is never closed.
            Some(relay) => Baton(relay.0.acquire_owned().await.ok()),
            None => Baton::default(),
        }
    }

    /// Passes the baton on after a piece of so many bytes.
    pub(crate) async fn pass(&mut self, baton: Baton, bytes: usize) {
        self.is_busy = bytes >= BUSY_BYTES;
        if self.is_busy {
            // Goes on once the loop has looked at its sockets, and the next stream after it.
            tokio::task::yield_now().await;
        }
        drop(baton);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::Loops;
    use std::io::Write;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;
    use tokio::io::AsyncReadExt;

    /// A hundred streams that always have more, on one loop with a connection that asks: between
    /// its question and its answer one of them stores a piece, or two.
    #[test]
    fn a_request_waits_for_one_piece_of_busy_streams() {
        const STREAMS: u64 = 100;
        const QUESTIONS: u64 = 20;
        let loops = Loops::start().unwrap();
        let (relay, pieces) = (Relay::default(), Arc::new(AtomicU64::new(0)));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut asks = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        asks.set_nodelay(true).unwrap();
        let (hears, _) = listener.accept().unwrap();
        hears.set_nonblocking(true).unwrap();
        // The piece at which the question was sent that waits for its answer; none: 0.
        let (asked, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let answering = loops.first().spawn({
            let (pieces, asked, ends) = (pieces.clone(), asked.clone(), ends.clone());
            async move {
                let mut hears = tokio::net::TcpStream::from_std(hears).unwrap();
                let mut waited = Vec::new();
                for _ in 0..QUESTIONS {
                    hears.read_u8().await.unwrap();
                    let now = pieces.load(Ordering::Relaxed);
                    waited.push(now - asked.swap(0, Ordering::Relaxed));
                }
                ends.store(1, Ordering::Relaxed);
                waited
            }
        });
        for _ in 0..STREAMS {
            let (pieces, ends) = (pieces.clone(), ends.clone());
            loops.first().spawn(relay.scope(async move {
                let mut runner = Runner { is_busy: true };
                while ends.load(Ordering::Relaxed) == 0 {
                    let baton = runner.baton().await;
                    std::thread::sleep(Duration::from_micros(100));
                    pieces.fetch_add(1, Ordering::Relaxed);
                    runner.pass(baton, BUSY_BYTES).await;
                }
            }));
        }
        for _ in 0..QUESTIONS {
            while asked.load(Ordering::Relaxed) != 0 || pieces.load(Ordering::Relaxed) == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
            asked.store(pieces.load(Ordering::Relaxed), Ordering::Relaxed);
            asks.write_all(b"?").unwrap();
        }
        let mut waited = loops.first().block_on(answering).unwrap();
        waited.sort_unstable();
        // The thread that asks may be held up between the two lines above, so not the worst counts.
        let median = waited.get(waited.len() / 2).copied().unwrap();
        assert!(median <= 3, "{waited:?}");
        loops.end(Duration::from_secs(1));
    }
}
