//! Replies on line streams: kept until the client reads them, within a bound.

use crate::metrics::Metrics;
use crate::wire::Wire;

/// Unread replies kept per connection. A client that reads at all never has so many; one that does
/// not read at all costs this much and no more.
const UNREAD_BYTES_MAX: usize = 64 << 10;

/// Replies that were not sent yet.
#[derive(Debug, Default)]
pub(crate) struct Replies {
    unsent: Vec<u8>,
}

impl Replies {
    /// Adds a reply, unless too many are unread already; then it is counted.
    pub(crate) fn push(&mut self, metrics: &Metrics, write: impl FnOnce(&mut Vec<u8>)) {
        if self.unsent.len() >= UNREAD_BYTES_MAX {
            metrics.replies_dropped.add(1);
            return;
        }
        write(&mut self.unsent);
    }

    /// Whether everything was sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.unsent.is_empty()
    }

    /// Sends what the client has room for, without waiting.
    pub(crate) fn flush(&mut self, socket: &mut Wire) {
        while !self.unsent.is_empty() {
            match socket.try_write(&self.unsent) {
                Ok(sent) => {
                    self.unsent.drain(..sent);
                }
                // A broken connection shows when it is read next; there is nothing to send to.
                Err(error) => {
                    if error.kind() != std::io::ErrorKind::WouldBlock {
                        self.unsent.clear();
                    }
                    break;
                }
            }
        }
        if self.unsent.is_empty() {
            self.unsent = Vec::new();
        }
    }
}
