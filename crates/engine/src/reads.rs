//! What was read for one reader, block by block, so that a question can tell what it cost.

use crate::cache;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What was read so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Blocks that were decoded.
    pub blocks_read: u64,
    /// Blocks whose summary was enough.
    pub blocks_summed: u64,
    /// Blocks of the same series that lie outside of what was asked for, in parts that overlap it.
    pub blocks_skipped: u64,
    /// Bytes of the blocks that were decoded, as they are stored.
    pub bytes_read: u64,
    /// Pages of files that the decoded blocks lie on and that were in the cache.
    pub pages_cached: u64,
    /// Those that were read from their files.
    pub pages_loaded: u64,
}

/// The sum over all scans of a snapshot and its clones.
#[derive(Debug, Default)]
pub(crate) struct AllReads([AtomicU64; 6]);

impl AllReads {
    pub(crate) fn get(&self) -> Reads {
        let [blocks_read, blocks_summed, blocks_skipped, bytes_read, pages_cached, pages_loaded] =
            self.0.each_ref().map(|count| count.load(Ordering::Relaxed));
        Reads { blocks_read, blocks_summed, blocks_skipped, bytes_read, pages_cached, pages_loaded }
    }

    fn add(&self, reads: Reads) {
        let Reads {
            blocks_read,
            blocks_summed,
            blocks_skipped,
            bytes_read,
            pages_cached,
            pages_loaded,
        } = reads;
        let counts =
            [blocks_read, blocks_summed, blocks_skipped, bytes_read, pages_cached, pages_loaded];
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

    /// Reads a piece, and notes the pages that this took.
    pub(crate) fn paged<T>(&mut self, read: impl FnOnce() -> T) -> T {
        let (cached, loaded) = cache::seen();
        let done = read();
        let (cached_now, loaded_now) = cache::seen();
        self.now.pages_cached += cached_now.wrapping_sub(cached);
        self.now.pages_loaded += loaded_now.wrapping_sub(loaded);
        done
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
        own.now.blocks_summed += 1;
        drop(own);
        let told = Reads { blocks_read: 2, blocks_summed: 1, bytes_read: 700, ..Reads::default() };
        assert_eq!(all.get(), told);
    }

    #[test]
    fn pages_are_those_of_the_own_thread_while_a_piece_is_read() {
        let (mut own, cache) = (OwnReads::default(), cache::Cache::new(1 << 20));
        assert!(cache.get(1, 0).is_none(), "what nobody notes is nobody's");
        let read = || {
            assert!(cache.get(1, 0).is_none());
            cache.put(1, 0, Arc::new(Box::from([7; 10])));
            std::thread::scope(|scope| drop(scope.spawn(|| cache.get(1, 0))));
            cache.get(1, 0).is_some() && cache.get(1, 0).is_some()
        };
        assert!(own.paged(read));
        assert_eq!((own.now.pages_cached, own.now.pages_loaded), (2, 1));
    }
}
