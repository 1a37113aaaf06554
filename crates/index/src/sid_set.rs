//! Sets of series ids, as runs of neighbours.
//!
//! Series that are deleted together were mostly created together, so their ids are few runs even
//! when they are millions.

use foliot_codec::varint::{get_u32, put_u32};

/// A run of neighbours: first and last id, both included.
type Run = (u32, u32);

/// A set of series ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SidSet {
    /// Ascending, with a gap of at least one id between neighbours.
    runs: Vec<Run>,
}

impl FromIterator<u32> for SidSet {
    /// The set of ids that ascend.
    fn from_iter<I: IntoIterator<Item = u32>>(sids: I) -> Self {
        let mut set = Self::default();
        for sid in sids {
            set.push((sid, sid));
        }
        set
    }
}

impl SidSet {
    /// Adds a run whose first id is not below that of the last one.
    fn push(&mut self, (first, last): Run) {
        match self.runs.last_mut() {
            Some(open) if first <= open.1.saturating_add(1) => open.1 = open.1.max(last),
            _ => self.runs.push((first, last)),
        }
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// The highest id.
    pub fn last(&self) -> Option<u32> {
        self.runs.last().map(|(_, last)| *last)
    }

    /// Number of ids.
    pub fn len(&self) -> u64 {
        self.runs.iter().map(|(first, last)| u64::from(last - first) + 1).sum()
    }

    /// Whether `sid` is in it.
    #[inline]
    pub fn contains(&self, sid: u32) -> bool {
        let after = self.runs.partition_point(|(first, _)| *first <= sid);
        let before = after.checked_sub(1).and_then(|index| self.runs.get(index));
        before.is_some_and(|(_, last)| sid <= *last)
    }

    /// Whether any of so many ids from `first` on is in it.
    pub fn meets(&self, first: u32, count: u32) -> bool {
        let last = first.saturating_add(count.saturating_sub(1));
        let from = self.runs.partition_point(|run| run.1 < first);
        count > 0 && self.runs.get(from).is_some_and(|run| run.0 <= last)
    }

    /// The ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.runs.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// How many of the ids are at least `base` and below `end`.
    pub fn count_within(&self, base: u32, end: u32) -> u64 {
        let inside = |(first, last): &Run| {
            let (first, end_of_run) = (u64::from(*first.max(&base)), u64::from(*last) + 1);
            end_of_run.min(end.into()).saturating_sub(first)
        };
        self.runs.iter().map(inside).sum()
    }

    /// The ids from `first` to `last`, ascending.
    pub fn within(&self, first: u32, last: u32) -> impl Iterator<Item = u32> {
        let from = self.runs.partition_point(|run| run.1 < first);
        let runs = self.runs.get(from..).unwrap_or_default().iter();
        runs.take_while(move |run| run.0 <= last)
            .flat_map(move |run| run.0.max(first)..=run.1.min(last))
    }

    /// Adds the ids of another set.
    pub fn add(&mut self, other: &Self) {
        let Some((first, _)) = other.runs.first() else { return };
        // What lies before stays where it is: ids most often come in order.
        let before = self.runs.partition_point(|run| run.0 <= *first);
        let behind = self.runs.split_off(before);
        let (mut a, mut b) = (behind.iter().peekable(), other.runs.iter().peekable());
        while let Some(run) = match (a.peek(), b.peek()) {
            (Some(left), Some(right)) if left.0 <= right.0 => a.next(),
            (Some(_), None) => a.next(),
            (_, _) => b.next(),
        } {
            self.push(*run);
        }
    }

    /// The ids below `end` that are not in another set.
    pub fn without(&self, other: &Self, end: u32) -> Self {
        let mut left = Self::default();
        let start = self.runs.first().map_or(0, |(first, _)| *first);
        let from = other.runs.partition_point(|run| run.1 < start);
        let mut gone = other.runs.get(from..).unwrap_or_default().iter().peekable();
        for &(first, last) in &self.runs {
            // Wider than ids are, for there is none behind the last one.
            let (mut at, stop) = (u64::from(first), (u64::from(last) + 1).min(end.into()));
            while at < stop {
                while gone.next_if(|run| u64::from(run.1) < at).is_some() {}
                let next = gone.peek().map_or(stop, |run| u64::from(run.0).clamp(at, stop));
                if at < next {
                    left.push((at as u32, (next - 1) as u32));
                }
                let run = gone.peek().filter(|_| next < stop);
                at = run.map_or(stop, |run| u64::from(run.1) + 1);
            }
        }
        left
    }

    /// Takes the ids of this set out of a list that ascends.
    pub fn take_from(&self, sids: &mut Vec<u32>) {
        let mut runs = self.runs.iter().peekable();
        sids.retain(|&sid| {
            while runs.next_if(|run| run.1 < sid).is_some() {}
            runs.peek().is_none_or(|run| sid < run.0)
        });
    }

    /// Appends the set: the number of runs, then for each the gap before it and its length, as
    /// varints.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_u32(out, self.runs.len() as u32);
        let mut end = 0;
        for (first, last) in &self.runs {
            put_u32(out, first - end);
            put_u32(out, last - first);
            end = *last;
        }
    }

    /// Takes a set off the front of `rest`; nothing if there is none.
    pub fn decode(rest: &mut &[u8]) -> Option<Self> {
        let mut set = Self::default();
        let mut end = 0u32;
        for _ in 0..get_u32(rest).ok()? {
            let first = end.checked_add(get_u32(rest).ok()?)?;
            let last = first.checked_add(get_u32(rest).ok()?)?;
            set.push((first, last));
            end = last;
        }
        Some(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_set_is_a_set(
            a in prop::collection::btree_set(0u32..60, 0..40),
            b in prop::collection::btree_set(prop_oneof![0u32..60, Just(u32::MAX)], 0..40),
            first in 0u32..60,
            last in 0u32..70,
        ) {
            let mut set: SidSet = a.iter().copied().collect();
            let other: SidSet = b.iter().copied().collect();
            set.add(&other);
            let union: BTreeSet<u32> = a.union(&b).copied().collect();
            prop_assert_eq!(set.len(), union.len() as u64);
            prop_assert!(set.iter().eq(union.iter().copied()));
            prop_assert_eq!(&set, &union.iter().copied().collect::<SidSet>());
            let within = union.iter().copied().filter(|sid| (first..=last).contains(sid));
            prop_assert!(set.within(first, last).eq(within));
            prop_assert!((0..70).all(|sid| set.contains(sid) == union.contains(&sid)));
            let count = last.saturating_sub(first);
            let is_met = union.range(first..first + count).next().is_some();
            prop_assert_eq!(set.meets(first, count), is_met);
            let small: SidSet = a.iter().copied().collect();
            let apart = a.difference(&b).filter(|sid| **sid < last).copied();
            prop_assert_eq!(small.without(&other, last), apart.collect::<SidSet>());
            let apart = b.difference(&a).filter(|sid| **sid < u32::MAX).copied();
            prop_assert_eq!(other.without(&small, u32::MAX), apart.collect::<SidSet>());
            let mut list: Vec<u32> = a.iter().copied().collect();
            other.take_from(&mut list);
            prop_assert!(list.iter().eq(a.difference(&b)));
            let mut bytes = Vec::new();
            set.encode(&mut bytes);
            let rest = &mut &*bytes;
            prop_assert_eq!(SidSet::decode(rest), Some(set));
            prop_assert!(rest.is_empty());
            prop_assert_eq!(SidSet::decode(&mut &bytes[..bytes.len() - 1]), None);
        }
    }
}
