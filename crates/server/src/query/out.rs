//! The answer of a query as it grows: pieces that go out while it is made.

use super::Failure;
use crate::config::Config;
use crate::http::Message;
use flate2::write::GzEncoder;
use foliot_engine::{Ack, Commit};
use foliot_exec::{Cancel, Error};
use hyper::StatusCode;
use std::io::Write;
use std::time::{Duration, Instant};
use tokio::runtime::Handle;
use tokio::sync::mpsc::{self, error::TrySendError};

/// Bytes of an answer that are sent at once. An answer that fits is sent with its length.
pub(super) const PIECE_BYTES: usize = 64 << 10;

/// What an answer begins with room for: most are no longer, and grow no more.
const ROOM_BYTES: usize = 1 << 10;

/// How often a query whose client does not read looks whether it was ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The answer as it grows.
pub(super) struct Out {
    pub(super) bytes: Vec<u8>,
    /// Compresses what is sent in pieces; an answer in one piece is compressed, or not, by its
    /// size.
    packer: Option<GzEncoder<Vec<u8>>>,
    pub(super) has_sent: bool,
    /// Bytes sent so far, before they were compressed, and how many there may be.
    sent_bytes: u64,
    bytes_max: u64,
    /// What must be safe before anything is heard of the answer.
    awaited: Option<(Commit, Ack)>,
    /// Nothing where the answer must fit into one piece.
    pub(super) sender: Option<mpsc::Sender<Message>>,
    cancel: Cancel,
    deadline: Instant,
}

impl Out {
    pub(super) fn within(
        config: &Config,
        packer: Option<GzEncoder<Vec<u8>>>,
        sender: Option<mpsc::Sender<Message>>,
        cancel: Cancel,
        deadline: Instant,
    ) -> Self {
        let bytes_max = config.limits_answer_bytes.0;
        let (bytes, has_sent, sent_bytes) = (Vec::with_capacity(ROOM_BYTES), false, 0);
        let awaited = None;
        Self { bytes, packer, has_sent, sent_bytes, bytes_max, awaited, sender, cancel, deadline }
    }

    /// Has the answer heard once what was changed is safe; false when some of it is out. A request
    /// has one level.
    pub(super) fn await_safe(&mut self, commit: Commit, level: Ack) -> bool {
        if !self.has_sent {
            let before = self.awaited.map_or(commit, |(before, _)| before);
            self.awaited = Some((commit.max(before), level));
        }
        !self.has_sent
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.sent_bytes + self.bytes.len() as u64 > self.bytes_max
    }

    /// Refuses an answer that has become too long.
    pub(super) fn check_size(&self) -> Result<(), Failure> {
        match self.is_too_long() {
            true => Err(Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("the answer is longer than {} bytes (limits.answer_bytes)", self.bytes_max),
            )),
            false => Ok(()),
        }
    }

    pub(super) fn send_if_large(&mut self) -> Result<(), Failure> {
        match self.bytes.len() >= PIECE_BYTES {
            true => self.send_piece(),
            false => Ok(()),
        }
    }

    fn send_piece(&mut self) -> Result<(), Failure> {
        self.check_size()?;
        let bytes = std::mem::take(&mut self.bytes);
        self.sent_bytes += bytes.len() as u64;
        let piece = match &mut self.packer {
            None => bytes,
            Some(packer) => {
                // Packing into memory cannot fail.
                let _ = packer.write_all(&bytes);
                std::mem::take(packer.get_mut())
            }
        };
        self.has_sent = true;
        match piece.is_empty() {
            true => Ok(()),
            false => self.send(Message::Piece(piece)),
        }
    }

    fn send(&mut self, message: Message) -> Result<(), Failure> {
        if let Some((commit, level)) = self.awaited.take() {
            self.hand_on(Message::Once(commit, level))?;
        }
        self.hand_on(message)
    }

    /// Waits for the reader, but not beyond the query's deadline.
    fn hand_on(&self, message: Message) -> Result<(), Failure> {
        let failure = |text| Failure::new(StatusCode::SERVICE_UNAVAILABLE, text);
        let Some(sender) = &self.sender else { return Err(failure("the answer is long")) };
        // Most answers find room at once; setting up a wait costs as much as a small query.
        let message = match sender.try_send(message) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(failure("the client has left")),
            Err(TrySendError::Full(message)) => message,
        };
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now()).min(LOOK_INTERVAL);
            let room = async { tokio::time::timeout(left, sender.reserve()).await };
            match Handle::current().block_on(room) {
                Ok(Ok(place)) => {
                    place.send(message);
                    return Ok(());
                }
                Ok(Err(_)) => return Err(failure("the client has left")),
                Err(_) if self.cancel.is_cancelled() => {
                    return Err(Failure::from(Error::Cancelled));
                }
                Err(_) if left.is_zero() => {
                    let text = "the answer was not read in time (limits.query_seconds)";
                    return Err(failure(text));
                }
                Err(_) => {}
            }
        }
    }

    pub(super) fn finish(mut self, status: StatusCode) {
        let message = match (self.has_sent, self.packer.take()) {
            (false, _) | (true, None) => Message::Last(status, std::mem::take(&mut self.bytes)),
            (true, Some(mut packer)) => {
                let _ = packer.write_all(&self.bytes);
                Message::Last(status, packer.finish().unwrap_or_default())
            }
        };
        // Whoever does not take the end has left; there is nobody to tell.
        let _ = self.send(message);
    }

    pub(super) fn fail(self, failure: Failure) {
        // A reader that has left cannot be told; one that is slow finds its connection closed.
        let _ = self.sender.map(|sender| sender.try_send(Message::Failed(failure)));
    }
}
