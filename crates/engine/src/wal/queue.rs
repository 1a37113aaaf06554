//! What is taken and not yet written: frames in their order, and why no more are taken.

use super::copies::Single;
use super::frame::{self, Author, FrameKind, HEADER_LEN, Purpose};
use std::collections::VecDeque;

/// Why nothing is accepted.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// What is free is kept for the next flush.
    Short,
    /// The disk is full.
    NoSpace,
    /// A new segment cannot be made just now.
    Stalled(String),
    Poison(String),
    Closed,
}

impl Refusal {
    /// Whether it ends by itself.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Self::Short | Self::NoSpace | Self::Stalled(_))
    }

    /// Whether a frame is accepted all the same. Deletes and facts are small, and what makes room.
    pub(super) fn admits(&self, kind: FrameKind) -> bool {
        matches!(self, Self::Short) && matches!(kind, FrameKind::Catalog | FrameKind::Delete)
    }

    /// Whether even what was taken cannot be written.
    pub(super) fn is_stall(&self) -> bool {
        matches!(self, Self::NoSpace | Self::Stalled(_))
    }
}

pub(super) struct Queue {
    pub(super) bytes: Vec<u8>,
    pub(super) end_lsn: u64,
    /// Behind the last frame that is no mark.
    pub(super) changed_lsn: u64,
    /// Changes that are still to be repeated, see `copies.rs`.
    pub(super) singles: VecDeque<Single>,
    pub(super) refusal: Option<Refusal>,
    pub(super) is_closing: bool,
    /// The writer's thread sleeps until it is woken.
    pub(super) is_asleep: bool,
}

impl Queue {
    pub(super) fn new(end_lsn: u64) -> Self {
        Self {
            bytes: Vec::new(),
            end_lsn,
            changed_lsn: end_lsn,
            singles: VecDeque::new(),
            refusal: None,
            is_closing: false,
            is_asleep: false,
        }
    }

    /// Whether there is something to do; while a refusal passes there is: looking again.
    pub(super) fn has_work(&self) -> bool {
        !self.bytes.is_empty() || self.refusal.as_ref().is_some_and(Refusal::is_passing)
    }

    /// Forgets changes before `lsn`: files hold them.
    pub(super) fn forget(&mut self, lsn: u64) {
        self.singles.retain(|single| single.lsn >= lsn);
    }

    /// Repeats the first change that is still to be repeated.
    pub(super) fn repeat(&mut self, author: &Author, durable_lsn: u64) {
        let Some(single) = self.singles.pop_front() else { return };
        let (tail, crc) = single.copy_tail();
        let len = single.copy_len() as u32;
        self.push(author.header(Purpose::Copy, self.end_lsn, durable_lsn, len, crc), &single.body);
        self.bytes.extend_from_slice(&tail);
        self.end_lsn += tail.len() as u64;
        self.changed_lsn = self.end_lsn;
    }

    /// Repeats the changes that end a sector or more before here.
    pub(super) fn repeat_distant(&mut self, author: &Author, durable_lsn: u64) {
        while self.singles.front().is_some_and(|single| single.copy_from_lsn() <= self.end_lsn) {
            self.repeat(author, durable_lsn);
        }
    }

    /// Repeats all changes that are still to be repeated, a sector from the last of them.
    pub(super) fn repeat_all(&mut self, author: &Author, durable_lsn: u64) {
        let Some(last) = self.singles.back() else { return };
        let gap = last.copy_from_lsn().saturating_sub(self.end_lsn) as usize;
        if gap > 0 {
            let body = vec![0; gap.saturating_sub(HEADER_LEN)];
            let (len, crc) = (body.len() as u32, frame::body_checksum(&body));
            self.push(author.header(Purpose::Mark, self.end_lsn, durable_lsn, len, crc), &body);
        }
        self.repeat_distant(author, durable_lsn);
    }

    pub(super) fn push(&mut self, header: [u8; HEADER_LEN], body: &[u8]) {
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(body);
        self.end_lsn += (HEADER_LEN + body.len()) as u64;
    }
}
