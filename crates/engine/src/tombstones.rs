//! Tombstones: what was deleted and may still lie in parts.
//!
//! The head forgets deleted samples at once; parts never change, so for them a tombstone says which
//! series lost which range of time. It masks the parts whose files were begun before the delete,
//! which their numbers tell; parts that are begun later, merged ones too, are written without the
//! deleted samples. So a sample that is written again after the delete is never masked, and a
//! tombstone goes when no part is left that it could mask. Each delete takes a number of its own:
//! two that shared one could not be let go of one by one.
//!
//! ```text
//! delete   namespace varint | before varint | first time zigzag | last time zigzag
//!          | 1 if the series were dropped, else 0 u8 | deleted at zigzag | series (below)
//! series   runs varint | (gap before the run varint | its length minus one varint)...
//! file     paged: preamble | store id u64 | deletes u32 | delete...
//!          | series ever dropped
//! ```

use crate::cache::Cache;
use crate::chain::Chain;
use crate::error::Error;
use crate::head::Frozen;
use crate::manifest::PartEntry;
use crate::paged::{PagedReader, PagedWriter};
use crate::part::Part;
use crate::part::format::take;
use crate::preamble::{Preamble, VERSION};
use foliot_codec::varint::{get_i64, get_u32, get_u64, put_i64, put_u32, put_u64};
use foliot_disk::Disk;
use foliot_index::SidSet;
use foliot_model::{NamespaceId, TimeRange};
use std::path::Path;
use std::sync::Arc;

const PREAMBLE: Preamble =
    Preamble { magic: *b"Ftmb", version: VERSION, what: "a file of deletes" };

/// One delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tombstone {
    pub(crate) namespace: NamespaceId,
    /// Parts with lower file numbers may hold what was deleted.
    pub(crate) before: u64,
    pub(crate) range: TimeRange,
    /// Whether the series were dropped for good.
    pub(crate) is_drop: bool,
    /// The wall clock when it was asked for.
    pub(crate) deleted_at_ns: i64,
    pub(crate) sids: SidSet,
}

impl Tombstone {
    /// The body of a delete frame.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_u32(out, self.namespace);
        put_u64(out, self.before);
        put_i64(out, self.range.start_ns);
        put_i64(out, self.range.end_ns);
        out.push(u8::from(self.is_drop));
        put_i64(out, self.deleted_at_ns);
        self.sids.encode(out);
    }

    /// Takes a delete off the front of `rest`.
    pub(crate) fn decode(rest: &mut &[u8]) -> Option<Self> {
        let namespace = get_u32(rest).ok()?;
        let before = get_u64(rest).ok()?;
        let range = TimeRange::new(get_i64(rest).ok()?, get_i64(rest).ok()?);
        let [is_drop] = take(rest)?;
        let deleted_at_ns = get_i64(rest).ok()?;
        let sids = SidSet::decode(rest)?;
        Some(Self { namespace, before, range, is_drop: is_drop != 0, deleted_at_ns, sids })
    }
}

/// What a tombstone hides of one series: the range, in parts with lower numbers.
pub(crate) type Mask = (u64, TimeRange);

/// All deletes that parts still have to be masked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tombstones {
    list: Vec<Arc<Tombstone>>,
    /// Series that were ever dropped.
    dropped: Arc<SidSet>,
    /// Where the wal ends after the last of them: what is made physical must be durable first.
    lsn: u64,
}

impl Tombstones {
    pub(crate) fn list(&self) -> &[Arc<Tombstone>] {
        &self.list
    }

    pub(crate) fn dropped(&self) -> &SidSet {
        &self.dropped
    }

    /// No delete masks files from this number on.
    pub(crate) fn before_max(&self) -> u64 {
        self.list.iter().map(|tombstone| tombstone.before).max().unwrap_or(0)
    }

    pub(crate) fn lsn(&self) -> u64 {
        self.lsn
    }

    /// These and one more, whose frame ends at `lsn`.
    pub(crate) fn with(&self, tombstone: Arc<Tombstone>, lsn: u64) -> Self {
        let mut dropped = self.dropped.clone();
        if tombstone.is_drop {
            Arc::make_mut(&mut dropped).add(&tombstone.sids);
        }
        let mut list = self.list.clone();
        list.push(tombstone);
        Self { list, dropped, lsn: self.lsn.max(lsn) }
    }

    /// These without those that none of `parts`, and none of those `absent`, can need.
    pub(crate) fn still_masking(
        self: &Arc<Self>,
        parts: &[Arc<Part>],
        absent: &[PartEntry],
    ) -> Arc<Self> {
        let is_needed = |tombstone: &&Arc<Tombstone>| {
            let of_absent = absent.iter().map(|entry| (entry.number, entry, entry.range));
            let of_parts =
                parts.iter().map(|part| (part.clear_of(), &part.entry, part.footer.range));
            of_parts.chain(of_absent).any(|(clear_of, entry, range)| {
                clear_of < tombstone.before
                    && entry.namespace == tombstone.namespace
                    && range.overlaps(&tombstone.range)
            })
        };
        let list: Vec<_> = self.list.iter().filter(is_needed).cloned().collect();
        match list.len() == self.list.len() {
            true => self.clone(),
            false => Arc::new(Self { list, dropped: self.dropped.clone(), lsn: self.lsn }),
        }
    }

    /// What is hidden of a series in `range`.
    pub(crate) fn masks(&self, sid: u32, range: TimeRange, out: &mut Vec<Mask>) {
        out.clear();
        let of_series = self
            .list
            .iter()
            .filter(|tombstone| tombstone.range.overlaps(&range) && tombstone.sids.contains(sid));
        out.extend(of_series.map(|tombstone| (tombstone.before, tombstone.range)));
    }

    /// Writes them to a file and syncs it.
    pub(crate) fn write(
        &self,
        disk: &dyn Disk,
        path: &Path,
        number: u64,
        store_id: u64,
    ) -> Result<(), Error> {
        let mut paged = PagedWriter::create(disk, path, number)?;
        let mut bytes = Vec::new();
        bytes.extend_from_slice(&PREAMBLE.bytes());
        bytes.extend_from_slice(&store_id.to_le_bytes());
        bytes.extend_from_slice(&(self.list.len() as u32).to_le_bytes());
        for tombstone in &self.list {
            tombstone.encode(&mut bytes);
            paged.write(&bytes)?;
            bytes.clear();
        }
        self.dropped.encode(&mut bytes);
        paged.write(&bytes)?;
        paged.finish().map(|_| ())
    }

    /// Reads a file. What is damaged and mended is told where `cache` tells.
    pub(crate) fn read(
        disk: &dyn Disk,
        path: &Path,
        number: u64,
        store_id: u64,
        cache: &Cache,
    ) -> Result<Self, Error> {
        let paged = PagedReader::open(disk, path, number, cache.keeping_nothing())?;
        let mut bytes = Vec::new();
        paged.read(0, paged.len() as usize, &mut bytes)?;
        let rest = &mut &*bytes;
        PREAMBLE.take(rest, path)?;
        if take(rest).map(u64::from_le_bytes) != Some(store_id) {
            return Err(paged.corrupt(8, "belongs to another store"));
        }
        let cut = || paged.corrupt(16, "ends within a delete");
        let mut list = Vec::new();
        for _ in 0..take(rest).map_or(0, u32::from_le_bytes) {
            list.push(Arc::new(Tombstone::decode(rest).ok_or_else(cut)?));
        }
        let dropped = Arc::new(SidSet::decode(rest).ok_or_else(cut)?);
        Ok(Self { list, dropped, lsn: 0 })
    }
}

/// The chain of deletes: what was deleted since a view was made.
///
/// A reader copies what the head holds before it looks at parts. What was deleted in between is
/// missing from the one and in the other, where it may hide that it was overwritten: so after the
/// head a reader follows the chain from its view's place, and masks what it finds there too.
pub(crate) type Later = Chain<Delete>;

/// A delete that came after a view.
pub(crate) struct Delete {
    pub(crate) tombstone: Arc<Tombstone>,
    /// The set that it was cut out of; those before it in their chain still hold it.
    pub(crate) frozen: Arc<Frozen>,
}

impl Later {
    /// What was deleted of a series in `range` before `end`, each with the set that it was cut out
    /// of.
    pub(crate) fn masks(
        &self,
        sid: u32,
        range: TimeRange,
        end: &Self,
    ) -> Vec<(Mask, &Arc<Frozen>)> {
        let deletes = self.until(end).filter(|Delete { tombstone, .. }| {
            tombstone.range.overlaps(&range) && tombstone.sids.contains(sid)
        });
        deletes
            .map(|Delete { tombstone, frozen }| ((tombstone.before, tombstone.range), frozen))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_disk::SimDisk;

    fn tombstone(sids: &[u32], is_drop: bool) -> Arc<Tombstone> {
        Arc::new(Tombstone {
            namespace: 3,
            before: 17,
            range: TimeRange::new(i64::MIN, 9),
            is_drop,
            deleted_at_ns: -4,
            sids: sids.iter().copied().collect(),
        })
    }

    fn delete(sids: &[u32]) -> Delete {
        Delete { tombstone: tombstone(sids, false), frozen: Arc::default() }
    }

    #[test]
    fn what_is_deleted_behind_an_end_is_not_before_it() {
        let later = Later::default();
        let ranges = |end: &Later| later.masks(1, TimeRange::ALL, end).len();
        assert_eq!(ranges(later.end()), 0);
        let second = later.add(delete(&[1]));
        // Two ids of a series are looked up one after the other, with one end: a delete that comes
        // in between counts for both or for none.
        let end = later.end();
        second.add(delete(&[1, 2]));
        assert_eq!((ranges(end), later.masks(2, TimeRange::ALL, end).len()), (1, 0));
        let end = later.end();
        assert_eq!((ranges(end), later.masks(2, TimeRange::ALL, end).len()), (2, 1));
    }

    #[test]
    fn files_come_back() {
        let disk = SimDisk::new(1);
        let path = Path::new("deletes");
        let all = Tombstones::default()
            .with(tombstone(&[1, 2, 3, 900], false), 10)
            .with(tombstone(&[7, u32::MAX], true), 20);
        all.write(&disk, path, 5, 6).unwrap();
        let back = Tombstones::read(&disk, path, 5, 6, &Cache::new(0)).unwrap();
        assert_eq!((back.list(), back.dropped()), (all.list(), all.dropped()));
        assert!(all.dropped().iter().eq([7, u32::MAX]));
        assert!(Tombstones::read(&disk, path, 5, 7, &Cache::new(0)).is_err(), "another store's");
        assert!(Tombstones::read(&disk, path, 6, 6, &Cache::new(0)).is_err(), "another file's");
    }

    #[test]
    fn masks_are_those_of_the_series() {
        let all = Tombstones::default().with(tombstone(&[1, 2], false), 10);
        let mut masks = Vec::new();
        all.masks(2, TimeRange::new(5, 20), &mut masks);
        assert_eq!(masks, [(17, TimeRange::new(i64::MIN, 9))]);
        all.masks(2, TimeRange::new(10, 20), &mut masks);
        assert_eq!(masks, []);
        all.masks(3, TimeRange::ALL, &mut masks);
        assert_eq!(masks, []);
        assert!(Arc::new(all).still_masking(&[], &[]).list().is_empty());
    }
}
