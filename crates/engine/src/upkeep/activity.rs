//! Activity: how many series of the open epoch are being written, measured at flushes.

use crate::limits::PAGE_SERIES;
use std::time::Duration;

/// Which series were flushed lately, one bit each.
pub(crate) struct Activity {
    base: u32,
    window_ns: u64,
    since_ns: u64,
    now: Vec<u64>,
    /// The whole window before; nothing until there was one.
    before: Option<Vec<u64>>,
}

impl Activity {
    /// Begins to measure an epoch whose series begin at `base`.
    pub(crate) fn new(base: u32, window: Duration, now_ns: u64) -> Self {
        let window_ns = u64::try_from(window.as_nanos()).unwrap_or(u64::MAX);
        Self { base, window_ns, since_ns: now_ns, now: Vec::new(), before: None }
    }

    /// Notes that a series has samples in this flush.
    pub(crate) fn note(&mut self, sid: u32) {
        let Some(at) = sid.checked_sub(self.base) else { return };
        let word = (at / 64) as usize;
        if self.now.len() <= word {
            self.now.resize(word + 1, 0);
        }
        if let Some(word) = self.now.get_mut(word) {
            *word |= 1 << (at % 64);
        }
    }

    /// Ends a flush: begins a new window when this one is over.
    pub(crate) fn end_flush(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.since_ns) >= self.window_ns {
            self.before = Some(std::mem::take(&mut self.now));
            self.since_ns = now_ns;
        }
    }

    /// Series written in this window or the one before; nothing until there was a whole one.
    pub(crate) fn active(&self) -> Option<u64> {
        let before = self.before.as_ref()?;
        let len = before.len().max(self.now.len());
        let word = |words: &[u64], at: usize| words.get(at).copied().unwrap_or_default();
        let both = (0..len).map(|at| word(before, at) | word(&self.now, at));
        Some(both.map(|word| u64::from(word.count_ones())).sum())
    }

    /// Whether no series of a page of the head was written in this window or the whole one before.
    pub(crate) fn is_quiet(&self, page: u32) -> bool {
        let first = (page as usize * PAGE_SERIES).checked_sub(self.base as usize);
        let (Some(first), Some(before)) = (first, &self.before) else { return false };
        let words = |all: &[u64]| {
            let end = (first + PAGE_SERIES) / 64;
            let of_page = all.get(first / 64..end.min(all.len()));
            of_page.unwrap_or_default().iter().any(|&word| word != 0)
        };
        !words(before) && !words(&self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_pages_of_which_nothing_is_written() {
        let page = PAGE_SERIES as u32;
        let mut activity = Activity::new(page, Duration::from_nanos(10), 0);
        activity.note(page + 3);
        activity.note(3 * page - 1);
        assert!(!activity.is_quiet(5), "nothing is known yet");
        activity.end_flush(10);
        let quiet =
            |activity: &Activity| (0..6).filter(|&n| activity.is_quiet(n)).collect::<Vec<_>>();
        assert_eq!(quiet(&activity), [3, 4, 5]);
        activity.note(3 * page);
        activity.end_flush(20);
        assert_eq!(quiet(&activity), [1, 2, 4, 5]);
    }

    #[test]
    fn counts_series_of_the_last_whole_window_and_of_this_one() {
        let mut activity = Activity::new(1024, Duration::from_nanos(10), 100);
        for sid in [3, 1024, 1024, 1100] {
            activity.note(sid);
        }
        activity.end_flush(109);
        assert_eq!(activity.active(), None);
        activity.note(2000);
        activity.end_flush(111);
        assert_eq!(activity.active(), Some(3));
        activity.note(2000);
        activity.note(2001);
        assert_eq!(activity.active(), Some(4));
        activity.end_flush(121);
        assert_eq!(activity.active(), Some(2));
    }
}
