//! Content: the bytes of one file, and what of them a power cut leaves.

use super::fate::{Fate, Mood};
use super::faults::{FaultKind, Verdict};
use std::cmp::Reverse;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;

/// What the kernel writes at once.
const PAGE_BYTES: usize = 4096;
/// What the device writes at once.
const SECTOR_BYTES: usize = 512;

/// The bytes of one file as the running machine sees them, and which are not surely on the medium.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    /// Shared with the machine after a power cut: most files of a store never change again.
    bytes: Arc<Vec<u8>>,
    /// Writes since the last sync, in their order. All bytes outside of them are durable.
    unsynced: Vec<Extent>,
}

/// One write that was not synced.
#[derive(Clone, Debug)]
struct Extent {
    range: Range<usize>,
    /// What stood there; shorter than the range where the file has grown.
    before: Vec<u8>,
    /// A sync failed: no later one makes it durable.
    lost: bool,
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(super) fn bytes(&self) -> Arc<Vec<u8>> {
        self.bytes.clone()
    }

    /// Writes `bytes` at `offset`, which is no further than the end, over what is there.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let content = Arc::make_mut(&mut self.bytes);
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
        let range = start..start + bytes.len();
        let kept = start..range.end.min(content.len());
        let before = content.get(kept.clone()).unwrap_or_default().to_vec();
        content.splice(kept, bytes.iter().copied());
        let mut written = Extent { range, before, lost: false };
        // What a power cut would leave of what stood there is decided by the newest write alone.
        let older = std::mem::take(&mut self.unsynced);
        self.unsynced = older.into_iter().flat_map(|older| older.give_way(&mut written)).collect();
        self.unsynced.push(written);
    }

    pub(super) fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let end = start.saturating_add(buffer.len());
        buffer.copy_from_slice(self.bytes.get(start..end).ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    /// Ends a sync: the unsynced bytes are durable now, or a fault makes the system give them up.
    pub(super) fn settle(&mut self, verdict: Verdict) -> io::Result<()> {
        match verdict {
            Verdict::Done => {
                self.unsynced.retain(|extent| extent.lost);
                Ok(())
            }
            Verdict::Fault(kind) => {
                // The system gives up bytes that the device refused, not those of a process that
                // died while it waited.
                let refused = kind == FaultKind::SyncError;
                self.unsynced.iter_mut().for_each(|extent| extent.lost |= refused);
                Err(kind.error())
            }
        }
    }

    /// Ends a sync before which all bytes were written once more: what an earlier sync lost is
    /// durable now as well.
    pub(super) fn rewrite(&mut self, verdict: Verdict) -> io::Result<()> {
        self.settle(verdict)?;
        self.unsynced.clear();
        Ok(())
    }

    /// The first `len` bytes as a file of their own.
    pub(super) fn cut(&self, len: u64) -> io::Result<Self> {
        let end = usize::try_from(len).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(..end).ok_or(ErrorKind::InvalidInput)?;
        let mut unsynced = self.unsynced.clone();
        unsynced.retain(|extent| extent.range.start < end);
        for extent in &mut unsynced {
            extent.range.end = extent.range.end.min(end);
            extent.before.truncate(extent.range.len());
        }
        Ok(Self { bytes: Arc::new(bytes.to_vec()), unsynced })
    }

    pub(super) fn rot(&mut self, offset: u64, mask: u8) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let byte = Arc::make_mut(&mut self.bytes).get_mut(offset);
        *byte.ok_or(ErrorKind::UnexpectedEof)? ^= mask;
        Ok(())
    }

    /// What of the file is found after a power cut.
    pub(super) fn crash(&self, mood: Mood, fate: &mut Fate) -> Self {
        if self.unsynced.is_empty() {
            return self.clone();
        }
        let mut bytes = self.bytes.to_vec();
        let mut end = self.durable_end();
        for extent in &self.unsynced {
            end = end.max(crash_extent(&mut bytes, extent, mood, fate));
        }
        if mood == Mood::Mixed && fate.percent(25) {
            // The length reached the medium, the bytes did not: the rest reads as zeros.
            end += fate.up_to(bytes.len() - end);
        }
        bytes.truncate(end);
        Self { bytes: Arc::new(bytes), unsynced: Vec::new() }
    }

    /// The end of the last byte that is surely on the medium.
    fn durable_end(&self) -> usize {
        let mut last_first: Vec<&Extent> = self.unsynced.iter().collect();
        last_first.sort_by_key(|extent| Reverse(extent.range.start));
        last_first.into_iter().fold(self.bytes.len(), |end, extent| match end {
            end if end == extent.range.end => extent.range.start + extent.before.len(),
            end => end,
        })
    }
}

impl Extent {
    /// What is left of it beside a newer one, which learns what stood there before both.
    fn give_way(self, newer: &mut Self) -> Vec<Self> {
        let from = self.range.start.max(newer.range.start);
        let to = self.range.end.min(newer.range.end);
        if from >= to {
            return vec![self];
        }
        let older = self.before.get(from - self.range.start..).unwrap_or_default();
        let older = older.get(..to - from).unwrap_or(older);
        let at = from - newer.range.start;
        let known = newer.before.get_mut(at..at + older.len());
        known.into_iter().for_each(|known| known.copy_from_slice(older));
        if older.len() < to - from {
            newer.before.truncate(at + older.len());
        }
        let part = |range: Range<usize>| {
            let before = self.before.get(range.start - self.range.start..).unwrap_or_default();
            let before = before.get(..range.len()).unwrap_or(before).to_vec();
            Self { range, before, lost: self.lost }
        };
        let parts = [self.range.start..from, to..self.range.end].into_iter();
        parts.filter(|range| !range.is_empty()).map(part).collect()
    }
}

/// Takes back what of an extent is lost, to what stood there or zeros, and returns the end of what
/// survives, 0 when nothing does.
fn crash_extent(bytes: &mut [u8], extent: &Extent, mood: Mood, fate: &mut Fate) -> usize {
    let Range { start, end } = extent.range;
    let mut lose = |from: usize, to: usize| {
        let before = extent.before.get(from - start..).unwrap_or_default();
        let old = before.iter().copied().chain(std::iter::repeat(0));
        let lost = bytes.get_mut(from..to).into_iter().flatten();
        lost.zip(old).for_each(|(byte, old)| *byte = old);
    };
    let draw = match mood {
        Mood::Harsh => 0,
        Mood::Kind if !extent.lost => 99,
        Mood::Kind | Mood::Mixed => fate.up_to(99),
    };
    match draw {
        0..30 => {
            lose(start, end);
            0
        }
        30..40 => {
            lose(start, end);
            end
        }
        40..55 => {
            let grain = [1, SECTOR_BYTES, PAGE_BYTES];
            let grain = grain.get(fate.up_to(2)).copied().unwrap_or(1);
            let cut = start + fate.up_to(end - start);
            let cut = (cut - cut % grain).max(start);
            lose(cut, end);
            if cut == start { 0 } else { cut }
        }
        55..65 => {
            let mut survivor = 0;
            let mut from = start;
            while from < end {
                let to = (from - from % PAGE_BYTES + PAGE_BYTES).min(end);
                if fate.percent(50) {
                    survivor = to;
                } else {
                    lose(from, to);
                }
                from = to;
            }
            survivor
        }
        _ => end,
    }
}
