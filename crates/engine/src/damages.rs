//! What readers found damaged and mended.

use crate::limits::DAMAGES_KEPT_MAX;
use foliot_lock::{Mutex, Rank};
use std::collections::BTreeSet;

/// Sentences about damage, each once, as many as are kept.
#[derive(Debug)]
pub(crate) struct Damages(Mutex<BTreeSet<String>>);

impl Default for Damages {
    fn default() -> Self {
        Self(Mutex::new(Rank::Damages, BTreeSet::new()))
    }
}

impl Damages {
    /// Remembers what was found, in a sentence.
    pub(crate) fn note(&self, sentence: String) {
        let mut found = self.0.lock();
        if found.len() < DAMAGES_KEPT_MAX {
            found.insert(sentence);
        }
    }

    /// What was found so far.
    pub(crate) fn list(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }

    /// How many places were found damaged, as many as are kept.
    pub(crate) fn count(&self) -> u64 {
        self.0.lock().len() as u64
    }
}
