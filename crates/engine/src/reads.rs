//! What was read for one reader, block by block, so that a question can tell what it cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Blocks that were decoded.
    pub blocks_read: u64,
    /// Blocks whose summary was enough.
    pub blocks_skipped: u64,
    /// Bytes of the blocks that were decoded, as they are stored.
    pub bytes_read: u64,
}

/// The sum over all scans of a snapshot and its clones.
#[derive(Debug, Default)]
pub(crate) struct AllReads([AtomicU64; 3]);

impl AllReads {
    pub(crate) fn get(&self) -> Reads {
        let [blocks_read, blocks_skipped, bytes_read] =
            self.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        Reads { blocks_read, blocks_skipped, bytes_read }
    }

    fn add(&self, reads: Reads) {
        let counts = [reads.blocks_read, reads.blocks_skipped, reads.bytes_read];
        for (sum, count) in self.0.iter().zip(counts) {
            sum.fetch_add(count, Ordering::Relaxed);
        }
    }
}

/// What one scan read, which is added to the sum when it turns to another series, or ends: threads
/// that read at once do not write to the same place for every block.
#[derive(Debug, Default)]
pub(crate) struct OwnReads {
    pub(crate) now: Reads,
    all: Option<Arc<AllReads>>,
}

impl OwnReads {
    /// Tells these from now on.
    pub(crate) fn tell(&mut self, all: &Arc<AllReads>) {
        self.flush();
        if !self.all.as_ref().is_some_and(|told| Arc::ptr_eq(told, all)) {
            self.all = Some(all.clone());
        }
    }

    fn flush(&mut self) {
        let now = std::mem::take(&mut self.now);
        if let Some(all) = self.all.as_ref().filter(|_| now != Reads::default()) {
            all.add(now);
        }
    }
}

impl Drop for OwnReads {
    fn drop(&mut self) {
        self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_add_up_and_nothing_is_told_twice() {
        let all = Arc::new(AllReads::default());
        let mut own = OwnReads::default();
        own.now.blocks_read = 9;
        own.tell(&all);
        assert_eq!(all.get(), Reads::default(), "what was read before nobody is told");
        own.now.blocks_read += 2;
        own.now.bytes_read += 700;
        own.tell(&all);
        own.now.blocks_skipped += 1;
        drop(own);
        assert_eq!(all.get(), Reads { blocks_read: 2, blocks_skipped: 1, bytes_read: 700 });
    }
}
