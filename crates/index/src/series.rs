//! Series: for each id its source and column.
//!
//! Ids are given out source by source, and sources of one kind have the same columns, so a chunk of
//! 1 024 ids is mostly one run: sources that count up, each with the same list of columns. A full
//! chunk is kept as such runs when they are few, else as it is.

use std::collections::HashMap;
use xxhash_rust::xxh3::xxh3_64;

/// Source and column of a series whose registration was lost.
pub(crate) const LOST: (u32, u32) = (u32::MAX, u32::MAX);

const CHUNK_BITS: u32 = 10;
const CHUNK_ITEMS: usize = 1 << CHUNK_BITS;
/// More runs than this, and a chunk stays as it is: at 12 bytes each they are then no smaller than
/// a quarter of it, and slower to search.
const RUNS_MAX: usize = 170;

/// Source and column of each series.
#[derive(Debug, Default)]
pub(crate) struct Series {
    /// The first id.
    base: u32,
    sealed: Vec<Chunk>,
    open: Vec<[u32; 2]>,
    lists: Lists,
    /// Bytes of all sealed chunks.
    sealed_bytes: usize,
}

#[derive(Debug)]
enum Chunk {
    Plain(Box<[[u32; 2]]>),
    Runs(Box<[Run]>),
}

/// Consecutive sources with the same columns.
#[derive(Clone, Copy, Debug)]
struct Run {
    source: u32,
    list: u32,
    /// Position of the run's first series in the chunk.
    start: u16,
}

/// Lists of columns, each once.
#[derive(Debug, Default)]
struct Lists {
    lists: Vec<Box<[u32]>>,
    by_hash: HashMap<u64, u32>,
    items: usize,
}

impl Series {
    /// No series yet; the first one will be `base`.
    pub(crate) fn new(base: u32) -> Self {
        Self { base, ..Self::default() }
    }

    /// The id that the next series gets.
    pub(crate) fn end(&self) -> u32 {
        self.base + self.len()
    }

    /// Number of series.
    pub(crate) fn len(&self) -> u32 {
        ((self.sealed.len() << CHUNK_BITS) + self.open.len()) as u32
    }

    pub(crate) fn push(&mut self, source: u32, column: u32) {
        self.open.push([source, column]);
        if self.open.len() == CHUNK_ITEMS {
            let chunk = self.seal();
            self.sealed_bytes += match &chunk {
                Chunk::Plain(items) => size_of_val(&**items),
                Chunk::Runs(runs) => size_of_val(&**runs),
            };
            self.sealed.push(chunk);
            self.open.clear();
        }
    }

    /// Source and column of a series.
    #[inline]
    pub(crate) fn get(&self, sid: u32) -> Option<(u32, u32)> {
        // An id below the base wraps to one that is far too high.
        let sid = sid.wrapping_sub(self.base);
        let offset = sid as usize % CHUNK_ITEMS;
        match self.sealed.get((sid >> CHUNK_BITS) as usize) {
            Some(Chunk::Runs(runs)) => {
                let next = runs.partition_point(|run| usize::from(run.start) <= offset);
                let run = runs.get(next.checked_sub(1)?)?;
                let list = self.lists.lists.get(run.list as usize)?;
                let inside = offset - usize::from(run.start);
                let &column = list.get(inside % list.len().max(1))?;
                Some((run.source + (inside / list.len().max(1)) as u32, column))
            }
            Some(Chunk::Plain(items)) => items.get(offset).map(|[s, c]| (*s, *c)),
            None if (sid >> CHUNK_BITS) as usize == self.sealed.len() => {
                self.open.get(offset).map(|[s, c]| (*s, *c))
            }
            None => None,
        }
    }

    /// Source and column of the series from `sid` on.
    pub(crate) fn walk(&self, sid: u32) -> Walk<'_> {
        let sid = sid.wrapping_sub(self.base);
        Walk { series: self, sid, plain: &[], list: &[], inside: 0, source: 0, left: 0 }
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let lists = self.lists.items * 4 + self.lists.lists.capacity() * 16;
        self.sealed_bytes
            + self.sealed.capacity() * size_of::<Chunk>()
            + self.open.capacity() * size_of::<[u32; 2]>()
            + lists
            + self.lists.by_hash.capacity() * 16
    }

    /// The open chunk as runs, or as it is.
    fn seal(&mut self) -> Chunk {
        // Groups of one source; a run is groups whose sources count up over equal columns.
        let groups = || self.open.chunk_by(|[a, _], [b, _]| a == b);
        let continues = |a: &[[u32; 2]], b: &[[u32; 2]]| {
            let sources = a.first().zip(b.first());
            sources.is_some_and(|(a, b)| a[0].checked_add(1) == Some(b[0]))
                && a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| a[1] == b[1])
        };
        let breaks = groups().zip(groups().skip(1)).filter(|(a, b)| !continues(a, b)).count();
        if breaks >= RUNS_MAX {
            return Chunk::Plain(self.open.as_slice().into());
        }
        let mut runs: Vec<Run> = Vec::with_capacity(breaks + 1);
        let mut previous: &[[u32; 2]] = &[];
        let mut start = 0;
        for group in self.open.chunk_by(|[a, _], [b, _]| a == b) {
            if !continues(previous, group) {
                let source = group.first().map_or(0, |[source, _]| *source);
                let list = self.lists.intern(group.iter().map(|[_, column]| *column).collect());
                runs.push(Run { source, list, start });
            }
            previous = group;
            start += group.len() as u16;
        }
        Chunk::Runs(runs.into())
    }
}

impl Lists {
    fn intern(&mut self, list: Box<[u32]>) -> u32 {
        let bytes: Vec<u8> = list.iter().flat_map(|column| column.to_le_bytes()).collect();
        let hash = xxh3_64(&bytes);
        let known = self.by_hash.get(&hash).copied();
        match known.filter(|&at| self.lists.get(at as usize) == Some(&list)) {
            Some(at) => at,
            None => {
                let at = self.lists.len() as u32;
                self.by_hash.insert(hash, at);
                self.items += list.len();
                self.lists.push(list);
                at
            }
        }
    }
}

/// Series one after the other, without searching for each.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'a> {
    series: &'a Series,
    /// Counted from the base.
    sid: u32,
    plain: &'a [[u32; 2]],
    list: &'a [u32],
    inside: usize,
    source: u32,
    /// Series left in the run.
    left: usize,
}

impl Walk<'_> {
    /// Finds the chunk and run of the next series.
    fn open(&mut self) -> Option<()> {
        let offset = self.sid as usize % CHUNK_ITEMS;
        let index = (self.sid >> CHUNK_BITS) as usize;
        match self.series.sealed.get(index) {
            Some(Chunk::Runs(runs)) => {
                let next = runs.partition_point(|run| usize::from(run.start) <= offset);
                let run = runs.get(next.checked_sub(1)?)?;
                self.list = self.series.lists.lists.get(run.list as usize)?;
                let end = runs.get(next).map_or(CHUNK_ITEMS, |run| run.start.into());
                let inside = offset - usize::from(run.start);
                self.inside = inside % self.list.len().max(1);
                self.source = run.source + (inside / self.list.len().max(1)) as u32;
                self.left = end - offset;
            }
            Some(Chunk::Plain(items)) => self.plain = items.get(offset..)?,
            None if index == self.series.sealed.len() => {
                self.plain = self.series.open.get(offset..).filter(|rest| !rest.is_empty())?;
            }
            None => return None,
        }
        Some(())
    }
}

impl Iterator for Walk<'_> {
    type Item = (u32, u32);

    #[inline]
    fn next(&mut self) -> Option<(u32, u32)> {
        if self.left == 0 && self.plain.is_empty() {
            self.open()?;
        }
        self.sid += 1;
        if let Some(([source, column], rest)) = self.plain.split_first() {
            self.plain = rest;
            return Some((*source, *column));
        }
        let item = (self.source, *self.list.get(self.inside)?);
        self.left -= 1;
        self.inside += 1;
        if self.inside == self.list.len() {
            self.inside = 0;
            // Behind a lost series there is no next source.
            self.source = self.source.wrapping_add(1);
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_orders_come_back() {
        let mut random = 1u64;
        let mut next = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % n
        };
        let mut expected = Vec::new();
        // Steady shapes, changing shapes, many columns of one source, and no order at all.
        (0..3_000).for_each(|source| (0..10).for_each(|column| expected.push((source, column))));
        for source in 0..3_000 {
            let from = next(5) as u32;
            (from..from + 1 + next(4) as u32).for_each(|column| expected.push((source, column)));
        }
        (0..5_000).for_each(|column| expected.push((7, column)));
        (0..5_000).for_each(|_| expected.push((next(1 << 31) as u32, next(1 << 20) as u32)));
        (0..5_001).for_each(|source| expected.push((source, 3)));
        for base in [0, 5_000] {
            let mut series = Series::new(base);
            for (at, &(source, column)) in expected.iter().enumerate() {
                assert_eq!((series.len() as usize, series.end()), (at, base + at as u32));
                series.push(source, column);
            }
            for (sid, &item) in (base..).zip(&expected) {
                assert_eq!(series.get(sid), Some(item), "{sid}");
            }
            assert_eq!((series.get(series.end()), series.get(base.wrapping_sub(1))), (None, None));
            for from in [0, 1, 1_023, 1_024, 30_005, 40_000, series.len()] {
                let rest = expected[from as usize..].iter().copied();
                assert!(series.walk(base + from).eq(rest), "{from}");
            }
            assert!(series.memory_bytes() < expected.len() * 5);
        }
    }
}
