//! What a telnet or line connection must do to stay: send something now and then, end its lines,
//! and hold no more unfinished ones than there is memory for.

use crate::budget::{Budget, Held};
use crate::limits::{Limit, Met};
use crate::shared::Shared;
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// The pace of one connection.
#[derive(Debug)]
pub(crate) struct Pace {
    idle_max: Duration,
    line_max: Duration,
    /// When a line was ended last.
    progressed: Instant,
    /// When the unfinished line began.
    line_began: Option<Instant>,
    held: Held,
    met: Arc<Met>,
}

impl Pace {
    pub(crate) fn new(shared: &Shared) -> Self {
        Self {
            idle_max: shared.config.limits_connection_idle,
            line_max: shared.config.limits_line_time,
            progressed: Instant::now(),
            line_began: None,
            held: None,
            met: shared.metrics.limits.clone(),
        }
    }

    /// Lines were ended.
    pub(crate) fn progress(&mut self) {
        self.progressed = Instant::now();
        self.line_began = None;
    }

    /// Waits for `ready`, for as long as a connection may take that has `unfinished_bytes` of a
    /// line.
    ///
    /// # Errors
    /// When that was too long.
    pub(crate) async fn within<T>(
        &mut self,
        unfinished_bytes: usize,
        ready: impl Future<Output = T>,
    ) -> io::Result<T> {
        let (deadline, limit) = match unfinished_bytes {
            0 => {
                self.line_began = None;
                (self.progressed + self.idle_max, Limit::ConnectionIdle)
            }
            _ => {
                let began = *self.line_began.get_or_insert_with(Instant::now);
                (began + self.line_max, Limit::LineTime)
            }
        };
        let late = |_| {
            self.met.add(limit);
            io::Error::new(io::ErrorKind::TimedOut, "silent, or a line without an end")
        };
        timeout_at(deadline, ready).await.map_err(late)
    }

    /// Charges what an unfinished line takes; small ones are for free.
    ///
    /// # Errors
    /// When there is no memory for it (`limits.pending_body_bytes`).
    pub(crate) fn hold(&mut self, budget: &Budget, bytes: usize) -> io::Result<()> {
        budget.hold(&mut self.held, bytes).ok_or_else(|| {
            self.met.add(Limit::PendingBodyBytes);
            let text = "no memory for unfinished lines (limits.pending_body_bytes)";
            io::Error::new(io::ErrorKind::OutOfMemory, text)
        })
    }
}
