//! Drives a load: one thread per connection sends its feed through one door, on plan or back to
//! back, while the calling thread samples the server once a second. It judges nothing; see
//! `verify`.

use std::io;
use std::sync::atomic::Ordering;
use std::thread;

use crate::load::{Load, Outcome, Sent};
use crate::pace::Pace;
use crate::sender::STACK_BYTES;
use crate::server::Watched;
use crate::track::Tracker;

mod connection;
mod shared;

use shared::Shared;

/// Sends everything and waits for the last reply.
pub(crate) fn run(load: &Load<'_>, watched: &Watched) -> io::Result<Outcome> {
    (load.target.adapter.prepare)(load.fleet, &load.address)?;
    let shared = Shared::new(load.connections);
    thread::scope(|scope| {
        let mut threads = Vec::new();
        for at in 0..load.connections {
            let shared = &shared;
            let run = move || {
                let sent = connection::run(load, at, shared);
                shared.running.fetch_sub(1, Ordering::Relaxed);
                sent
            };
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            threads.push(builder.spawn_scoped(scope, run)?);
        }
        let start = shared.open();
        let mut tracker = Tracker::new(watched, load.warm_up, load.progress);
        while shared.running.load(Ordering::Relaxed) > 0 {
            tracker.wait(start, || shared.running.load(Ordering::Relaxed) == 0);
            let points = shared.points.load(Ordering::Relaxed);
            tracker.mark(start, points, shared.errors.load(Ordering::Relaxed));
            // An open loop owes what is due until its end.
            let may_end = load.until_enough && matches!(load.pace, Pace::Closed { .. });
            shared.enough.fetch_or(may_end && tracker.is_enough(), Ordering::Relaxed);
        }
        let wall = start.elapsed();
        let gone = |_| io::Error::other("BUG: a connection's thread panicked");
        let joined = threads.into_iter().map(|thread| thread.join().map_err(gone));
        let connections = joined.collect::<io::Result<Vec<Sent>>>()?;
        let limit = load.limit.filter(|_| !shared.enough.load(Ordering::Relaxed));
        let warm_up = load.warm_up;
        Ok(Outcome { connections, warm_up, limit, wall, tracks: tracker.finish() })
    })
}
