//! Loops: one thread for each processor, and every connection lives on one of them.
//!
//! A connection's bytes are read, stored and answered by the thread of its loop, so that nothing is
//! handed from thread to thread but what takes long (`aside.rs`) and what waits for a sync. A loop
//! is a runtime of its own: with one runtime for all, its threads wake each other for each request
//! (decision 0041). A connection that is accepted goes to the loop that has the fewest.

use crate::aside::THREADS_MAX;
use crate::relay::Relay;
use std::future::{self, Future};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Handle, Runtime};

/// How long a thread of a pool waits for more work before it ends. A thread that sleeps keeps the
/// memory that others free for it, megabytes each (decision 0074). To start one takes some 30 us,
/// which is little beside what is done aside.
const IDLE_MAX: Duration = Duration::from_millis(10);

/// The loops of a server.
#[derive(Debug)]
pub(crate) struct Loops {
    first: Runtime,
    others: Vec<Runtime>,
    places: Places,
}

impl Loops {
    /// Starts one for each processor.
    ///
    /// # Errors
    /// When the system gives no threads.
    pub(crate) fn start() -> io::Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let start = || {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1).max_blocking_threads(THREADS_MAX);
            builder.thread_keep_alive(IDLE_MAX);
            builder.enable_all().thread_name("foliot-io").build()
        };
        let first = start()?;
        let others = (1..processors).map(|_| start()).collect::<io::Result<Vec<Runtime>>>()?;
        let place = |runtime: &Runtime| Arc::new(Place::new(runtime.handle().clone()));
        let places = Places(std::iter::once(&first).chain(&others).map(place).collect());
        Ok(Self { first, others, places })
    }

    /// The loop of what is no connection. Connections live on it too.
    pub(crate) fn first(&self) -> &Runtime {
        &self.first
    }

    /// Where connections can be served.
    pub(crate) fn places(&self) -> &Places {
        &self.places
    }

    /// Ends all tasks; what is done aside has so long to end.
    pub(crate) fn end(self, within: Duration) {
        let deadline = Instant::now() + within;
        for runtime in std::iter::once(self.first).chain(self.others) {
            runtime.shutdown_timeout(deadline.saturating_duration_since(Instant::now()));
        }
    }
}

/// One loop, and how many connections it has.
#[derive(Debug)]
struct Place {
    handle: Handle,
    connections: AtomicUsize,
    relay: Relay,
}

impl Place {
    fn new(handle: Handle) -> Self {
        Self { handle, connections: AtomicUsize::new(0), relay: Relay::default() }
    }
}

/// Where connections can be served.
#[derive(Clone, Debug)]
pub(crate) struct Places(Vec<Arc<Place>>);

impl Places {
    /// Runs the task of a connection on the loop that has the fewest.
    pub(crate) fn serve(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(seat) = self.seat() {
            let (handle, relay) = (seat.0.handle.clone(), seat.0.relay.clone());
            handle.spawn(relay.scope(async move {
                task.await;
                drop(seat);
            }));
        }
    }

    fn seat(&self) -> Option<Seat> {
        let place = self.0.iter().min_by_key(|place| place.connections.load(Ordering::Relaxed))?;
        place.connections.fetch_add(1, Ordering::Relaxed);
        Some(Seat(place.clone()))
    }

    /// Returns once each loop has done something.
    pub(crate) async fn all_move(&self) {
        for place in &self.0 {
            // What fails has ended, and will not be asked again.
            let _ = place.handle.spawn(future::ready(())).await;
        }
    }
}

/// A connection's place on a loop; given back when dropped.
#[derive(Debug)]
struct Seat(Arc<Place>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_spread_and_seats_come_back() {
        let loops = Loops::start().unwrap();
        let places = loops.places();
        let counts = || -> Vec<usize> {
            places.0.iter().map(|place| place.connections.load(Ordering::Relaxed)).collect()
        };
        let mut seats: Vec<Seat> = (0..10 * places.0.len()).filter_map(|_| places.seat()).collect();
        assert!(counts().iter().all(|count| *count == 10), "{:?}", counts());
        // Those of one loop leave, and the next ones come to it.
        let first = places.0.first().unwrap().clone();
        seats.retain(|seat| !Arc::ptr_eq(&seat.0, &first));
        seats.extend((0..10).filter_map(|_| places.seat()));
        assert!(counts().iter().all(|count| *count == 10), "{:?}", counts());
        loops.first().block_on(places.all_move());
        drop(seats);
        assert_eq!(counts().iter().sum::<usize>(), 0);
        loops.end(Duration::from_secs(1));
    }
}
