//! How the samples of a page's series came: how many, and how many of them late.
//!
//! A sample that comes in order is not counted: the open stream and the sealed blocks know how many
//! they hold. What leaves those is counted when it leaves, and a late sample when it comes, which
//! is off the fast path already.

use super::page::PageData;
use crate::limits::PAGE_SERIES;

/// How samples of a series came since the store was opened; those that the wal still had then came
/// once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// Samples that came.
    pub samples: u64,
    /// Those among them that were older than the newest of their series.
    pub late: u64,
}

impl std::ops::AddAssign for Arrived {
    fn add_assign(&mut self, other: Self) {
        self.samples += other.samples;
        self.late += other.late;
    }
}

/// A count for each series of a page. Nothing but a flag until there is something to count.
#[derive(Clone, Debug, Default)]
struct Counts(Option<Box<[u32; PAGE_SERIES]>>);

impl Counts {
    fn add(&mut self, local: usize, more: u32) {
        if more == 0 {
            return;
        }
        let counts = self.0.get_or_insert_with(|| Box::new([0; PAGE_SERIES]));
        if let Some(count) = counts.get_mut(local) {
            *count = count.saturating_add(more);
        }
    }

    fn get(&self, local: usize) -> u32 {
        self.0.as_ref().and_then(|counts| counts.get(local)).copied().unwrap_or(0)
    }
}

/// What of a page's series came and is neither in the open stream nor in sealed blocks, and what
/// came late.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    left: Counts,
    late: Counts,
}

impl Arrivals {
    /// Notes samples that came and are not in the open stream or in sealed blocks any more.
    pub(super) fn leave(&mut self, local: usize, samples: usize) {
        self.left.add(local, u32::try_from(samples).unwrap_or(u32::MAX));
    }

    /// Notes a sample that is older than the newest of its series.
    pub(super) fn come_late(&mut self, local: usize) {
        self.late.add(local, 1);
    }
}

impl PageData {
    /// How samples of a series came since the page was made.
    pub(crate) fn arrived(&self, local: usize) -> Arrived {
        let left = u64::from(self.arrivals.left.get(local));
        let late = u64::from(self.arrivals.late.get(local));
        Arrived { samples: left + self.held(local) as u64, late }
    }

    /// Takes over what was counted, as all that is held leaves.
    pub(super) fn left(&mut self) -> Arrivals {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        for local in 0..PAGE_SERIES {
            arrivals.leave(local, self.held(local));
        }
        arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::super::cut::Cutter;
    use super::super::stream::{Decoded, KindScale};
    use super::*;
    use crate::block::Builder;
    use foliot_model::{Kind, TimeRange};

    const SECOND_NS: i64 = 1_000_000_000;

    fn append(page: &mut PageData, local: usize, seconds: &[i64]) {
        let mut builder = Builder::default();
        for &second in seconds {
            let kind_scale = KindScale::new(Kind::Float, 0);
            let sample = Decoded { time_ns: second * SECOND_NS, kind_scale, bits: second as u64 };
            page.append(local, sample, b"", 7, &mut builder);
        }
    }

    fn arrived(page: &PageData, local: usize) -> (u64, u64) {
        let Arrived { samples, late } = page.arrived(local);
        (samples, late)
    }

    #[test]
    fn what_is_older_than_the_newest_is_late_wherever_it_goes() {
        let mut page = PageData::default();
        append(&mut page, 0, &[10, 20, 30, 30, 40]);
        assert_eq!(arrived(&page, 0), (5, 0), "one more for the newest is no late one");
        append(&mut page, 0, &[35, 36, 25, 41, 41, 40]);
        assert_eq!(arrived(&page, 0), (11, 4));
        append(&mut page, 1, &[50]);
        assert_eq!(arrived(&page, 1), (1, 0), "neighbours are counted by themselves");
        // Thousands of steps seal the stream, and what follows is late for what is sealed.
        append(&mut page, 0, &(100..5000).collect::<Vec<_>>());
        append(&mut page, 0, &[7, 8, 9]);
        assert_eq!(arrived(&page, 0), (4914, 7));
    }

    #[test]
    fn what_came_stays_counted_when_it_leaves() {
        let mut page = PageData::default();
        let all: Vec<i64> = (0..3000).chain([5, 6, 2998, 2990]).collect();
        append(&mut page, 3, &all);
        assert_eq!(arrived(&page, 3), (3004, 4));
        let range = TimeRange::new(0, 1500 * SECOND_NS);
        Cutter::default().cut(&mut page, 3, range).unwrap();
        assert_eq!(arrived(&page, 3), (3004, 4), "deleted");
        page.freeze();
        assert_eq!(arrived(&page, 3), (3004, 4), "flushed");
        append(&mut page, 3, &[3000, 2999]);
        assert_eq!(arrived(&page, 3), (3006, 5));
        // The same ones again and again, as of a sender that was never answered.
        (0..40).for_each(|_| append(&mut page, 3, &(2900..2999).collect::<Vec<_>>()));
        assert_eq!(arrived(&page, 3), (3006 + 40 * 99, 5 + 40 * 99));
    }
}
