//! What readers found damaged and mended, until somebody tells it.

use crate::limits::DAMAGES_KEPT_MAX;
use foliot_lock::{Mutex, Rank};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

/// Sentences about damage, each once; and how many there were.
#[derive(Debug)]
pub(crate) struct Damages {
    count: AtomicU64,
    untold: Mutex<BTreeSet<String>>,
}

impl Default for Damages {
    fn default() -> Self {
        Self { count: AtomicU64::new(0), untold: Mutex::new(Rank::Damages, BTreeSet::new()) }
    }
}

impl Damages {
    /// Remembers what was found, in a sentence. It may be found again before it is told.
    pub(crate) fn note(&self, sentence: String) {
        let mut untold = self.untold.lock();
        if untold.len() < DAMAGES_KEPT_MAX && untold.insert(sentence) {
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What nobody told so far.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.untold.lock()).into_iter().collect()
    }

    /// How often damage was noted.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}
