//! Spelled sources: the labels of those that were asked for of late, and the numbers of their
//! names.
//!
//! A dashboard asks for the same series every few seconds, and to spell ten labels takes as many
//! steps as a tenth of a small question. Labels of a source never change, so they stay right.

use foliot_lock::{Mutex, Rank};
use foliot_model::Labels;
use std::sync::Arc;

/// Sources that are remembered: those of the panels of a dashboard.
pub(crate) const SPELLED_MAX: usize = 256;

/// Longer labels are not remembered: all of them take a few hundred kilobytes at most.
const TEXT_BYTES_MAX: usize = 512;

/// What is remembered of a source. Clones share it.
pub(crate) trait Told: Clone {
    /// The bytes of its texts, or as many.
    fn text_bytes(&self) -> usize;

    /// What it weighs beside them, by estimate.
    fn bytes_beside(&self) -> usize;
}

impl Told for Labels {
    fn text_bytes(&self) -> usize {
        self.iter().map(|label| label.name.len() + label.value.len()).sum()
    }

    fn bytes_beside(&self) -> usize {
        const LABEL_BYTES: usize = 80;
        self.len() * LABEL_BYTES
    }
}

/// The numbers of names and values.
impl Told for Arc<[(u32, u32)]> {
    fn text_bytes(&self) -> usize {
        size_of_val(&**self)
    }

    fn bytes_beside(&self) -> usize {
        0
    }
}

/// What was told of sources by their numbers, each at the place that its number tells.
#[derive(Debug)]
pub(crate) struct Spelled<T>(Mutex<Vec<Option<(u32, T)>>>);

impl<T> Default for Spelled<T> {
    fn default() -> Self {
        Self(Mutex::new(Rank::Found, Vec::new()))
    }
}

impl<T: Told> Spelled<T> {
    /// What `tell` says of a source, which is not asked where that is known.
    pub(crate) fn of(&self, source: u32, tell: impl FnOnce() -> Option<T>) -> Option<T> {
        let place = source as usize % SPELLED_MAX;
        if let Some(Some((known, told))) = self.0.lock().get(place)
            && *known == source
        {
            return Some(told.clone());
        }
        let told = tell()?;
        if told.text_bytes() <= TEXT_BYTES_MAX {
            let mut spelled = self.0.lock();
            if spelled.is_empty() {
                spelled.resize(SPELLED_MAX, None);
            }
            if let Some(place) = spelled.get_mut(place) {
                *place = Some((source, told.clone()));
            }
        }
        Some(told)
    }

    /// Memory held, in bytes, by estimate.
    pub(crate) fn memory_bytes(&self) -> usize {
        let spelled = self.0.lock();
        let weight = |(_, told): &(u32, T)| told.text_bytes() + told.bytes_beside();
        let held: usize = spelled.iter().flatten().map(weight).sum();
        held + spelled.capacity() * size_of::<Option<(u32, T)>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(of: u32, length: usize) -> Labels {
        [("a", format!("{of:0>length$}"))].into_iter().collect()
    }

    #[test]
    fn sources_are_spelled_once_while_they_are_remembered() {
        let spelled = Spelled::default();
        let asks = |source: u32, length: usize| {
            let mut is_new = false;
            let found = spelled.of(source, || {
                is_new = true;
                Some(labels(source, length))
            });
            assert_eq!(found, Some(labels(source, length)));
            is_new
        };
        assert_eq!((asks(7, 1), asks(7, 1), asks(8, 1), asks(7, 1)), (true, false, true, false));
        let same_place = 7 + SPELLED_MAX as u32;
        assert_eq!((asks(same_place, 1), asks(7, 1)), (true, true), "one of them is remembered");
        assert_eq!((asks(9, 600), asks(9, 600)), (true, true), "long labels are not");
        assert_eq!(spelled.of(10, || None), None);
        assert!(asks(10, 1));
        assert!(spelled.memory_bytes() < 32 << 10);
    }
}
