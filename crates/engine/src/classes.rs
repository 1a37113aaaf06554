//! Retention classes: which series the rules keep for another time than their namespace says.
//!
//! A series gets its class when it is registered, in the same frame of the wal. When the rules are
//! others than they were, series in memory are given their new classes in the wal as well; those of
//! closed epochs in a new segment, which takes the place of the old one. What classes come to is
//! the affair of `retention.rs`; parts follow when they are merged next.

use crate::config::Commit;
use crate::epochs::Closed;
use crate::error::Error;
use crate::filenames::Named;
use crate::files::Held;
use crate::ingest::Ingest;
use crate::retention::{all_of, reclassified};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::wal::frame::FrameKind;
use crate::{index_file, segment_file};
use foliot_index::{Registry, Segment, SidSet};
use foliot_model::{NamespaceId, TimeRange};
use std::collections::BTreeMap;

/// Facts: the checksum (u32) of the rules by which the series of a closed epoch have their classes;
/// by its number.
const CLASSIFIED_KIND: &str = "classified";
/// Series of a segment that are spelled out at a time.
const SERIES_AT_ONCE: usize = 1024;

/// A run of series of one class: the first, the one after the last, the class.
type ClassRun = [u32; 3];

impl Ingest {
    /// Assigns classes to series of a registry that ascend.
    pub(crate) fn assign(&self, registry: &Registry, classes: &[(u32, u32)]) -> Result<(), Error> {
        let mut publish =
            |records: &[u8]| self.wal().append(FrameKind::Register, records).map(|_| ());
        let is_run = |a: &(u32, u32), b: &(u32, u32)| a.0.checked_add(1) == Some(b.0) && a.1 == b.1;
        for run in classes.chunk_by(is_run) {
            if let Some(&(first, class)) = run.first() {
                registry.assign_class(first, run.len() as u32, class, &mut publish)?;
            }
        }
        Ok(())
    }
}

impl Store {
    /// Gives the series of a namespace that are in memory the classes that the rules say; tells how
    /// many changed.
    pub(crate) fn classify_all(&self, namespace: NamespaceId) -> Result<u64, Error> {
        let retention = self.ingest.retention();
        let mut changed = 0;
        for registry in self.ingest.epochs().in_memory() {
            if !retention.has_rules() && !registry.has_classes() {
                continue;
            }
            let sids = registry.select(&all_of(namespace));
            let mut classes = Vec::new();
            registry.identities(&sids, &mut |sid, identity| {
                classes.push((sid, retention.class(&identity)));
            });
            let old = |sid| registry.describe(sid).map(|series| series.class);
            classes.retain(|(sid, class)| old(*sid).is_some_and(|old| old != *class));
            let of_old = classes.iter().filter_map(|(sid, _)| Some((*sid, namespace, old(*sid)?)));
            self.delete_expired(of_old)?;
            if !classes.is_empty() {
                self.reclassify(registry, &classes)?;
            }
            changed += classes.len() as u64;
        }
        Ok(changed)
    }

    /// Of series that leave a class: where that lost files, deletes what is left below its floor,
    /// so that nothing half lost comes back.
    fn delete_expired(
        &self,
        leaving: impl Iterator<Item = (u32, NamespaceId, u32)>,
    ) -> Result<(), Error> {
        let retention = self.ingest.retention();
        let mut below = BTreeMap::<(NamespaceId, i64), Vec<u32>>::new();
        for (sid, namespace, class) in leaving {
            if let Some(floor_ns) = retention.expired(namespace, class) {
                below.entry((namespace, floor_ns)).or_default().push(sid);
            }
        }
        for ((namespace, floor_ns), sids) in below {
            let range = TimeRange::new(i64::MIN, floor_ns.saturating_sub(1));
            let sids = self.with_earlier(namespace, sids.into_iter().collect(), range)?;
            self.delete(namespace, sids, range, false)?;
        }
        Ok(())
    }

    /// These ids, and those that their series had before: what an older id has in `range` was
    /// overwritten by what a newer one has. An older one may be of another class, if the process
    /// died while it gave out classes.
    fn with_earlier(
        &self,
        namespace: NamespaceId,
        mut sids: SidSet,
        range: TimeRange,
    ) -> Result<SidSet, Error> {
        let snapshot = Snapshot::new(&self.files, &self.ingest);
        let mut earlier = Vec::new();
        for sid in snapshot.select(&all_of(namespace), range)? {
            let ids = snapshot.ids(sid);
            let newest = ids.iter().rposition(|id| sids.contains(*id)).unwrap_or(0);
            earlier.extend(ids.into_iter().take(newest));
        }
        earlier.sort_unstable();
        sids.add(&earlier.into_iter().collect());
        Ok(sids)
    }

    /// Gives series other classes than they had. No flush is under way meanwhile, so that every
    /// part was written wholly before or after.
    fn reclassify(&self, registry: &Registry, classes: &[(u32, u32)]) -> Result<(), Error> {
        let held = self.files.hold();
        self.divide_classes(&held)?;
        let _gate = self.ingest.join();
        self.ingest.assign(registry, classes)
    }

    /// Tells files that are there from those to come, whose series may be of other classes.
    fn divide_classes(&self, held: &Held<'_>) -> Result<Commit, Error> {
        let number = held.divide();
        let has_older = |divide: &u64| held.manifest().parts.iter().any(|p| p.rank < *divide);
        let known = reclassified(self.ingest.catalog());
        self.ingest.keep_reclassified(known.into_iter().filter(has_older).chain([number]))
    }

    /// Gives the series of closed epochs the classes that the rules say, unless they have them by
    /// the same rules already; tells how many changed.
    pub(crate) fn classify_closed(&self) -> Result<u64, Error> {
        let mut changed = 0;
        let epochs = self.ingest.epochs();
        let rules = self.ingest.retention().rules_checksum().to_le_bytes();
        let numbers = epochs.closed().iter().map(|closed| closed.origin().epoch.to_string());
        let numbers = Vec::from_iter(numbers);
        for (key, _) in self.ingest.catalog().list(CLASSIFIED_KIND) {
            if !numbers.contains(&key) {
                self.ingest.change_catalog(CLASSIFIED_KIND, &key, None)?;
            }
        }
        for (key, closed) in numbers.iter().zip(epochs.closed()) {
            let Closed::Disk(segment) = closed else { continue };
            let by = self.ingest.catalog().get(CLASSIFIED_KIND, key);
            let is_classed = self.ingest.retention().has_rules() || segment.has_classes();
            if is_classed && by.as_deref() != Some(&rules[..]) {
                // Durable with the segment that takes the place of this one: a process that dies
                // then has not said yet what that one's classes go by.
                self.ingest.change_catalog(CLASSIFIED_KIND, key, None)?;
                changed += self.classify_segment(segment)?;
                self.ingest.change_catalog(CLASSIFIED_KIND, key, Some(&rules))?;
            }
        }
        Ok(changed)
    }

    /// Writes the segment of a closed epoch once more if its series get other classes.
    fn classify_segment(&self, segment: &Segment) -> Result<u64, Error> {
        let (old, new) = (segment.class_runs()?, self.class_runs(segment)?);
        let origin = segment.origin();
        let changed = (origin.base..segment.series_end()).filter_map(|sid| {
            Some((sid, class_of(&old, sid))).filter(|(_, old)| *old != class_of(&new, sid))
        });
        let changed = Vec::from_iter(changed);
        if changed.is_empty() {
            return Ok(0);
        }
        let mut leaving = Vec::new();
        for &(sid, class) in &changed {
            leaving.extend(segment.describe(sid)?.map(|series| (sid, series.namespace, class)));
        }
        self.delete_expired(leaving.into_iter())?;
        let files = &*self.files;
        let (disk, store_id, cache) = (files.disk(), files.store_id(), files.cache());
        let mut made = files.begin();
        let (number, segment) = made.make(Named::Segment, |path, number| {
            segment_file::rewrite(disk, path, number, store_id, segment, &new)?;
            segment_file::open(disk, path, number, store_id, cache.clone())
        })?;
        let (spare, ()) = made.make(Named::Index, |path, number| {
            // All of one class, then those of others.
            let all = [origin.base, segment.series_end(), 0];
            let runs = Vec::from_iter(std::iter::once(all).chain(new.iter().copied()));
            index_file::write_classes(disk, path, number, store_id, (origin, &runs))
        })?;
        let mut held = files.hold();
        // Before the manifest that makes it matter.
        let divided = self.divide_classes(&held)?;
        self.ingest.wal().settle(divided)?;
        let mut manifest = held.manifest().clone();
        let mut entries = manifest.epochs.iter_mut();
        let Some(entry) = entries.find(|entry| entry.origin == origin) else {
            // No part is left of it: it was retired meanwhile.
            return Ok(0);
        };
        entry.segment = number;
        // Registrations, and the classes that count; without the former there is no copy.
        match entry.index_files.is_empty() {
            true => made.discard(Named::Index(spare)),
            false => {
                entry.index_files.truncate(1);
                entry.index_files.push(spare);
            }
        }
        held.publish(manifest, made, |_| {})?;
        self.ingest.replace_segment(segment);
        Ok(changed.len() as u64)
    }

    /// The classes that the rules give the series of a segment.
    fn class_runs(&self, segment: &Segment) -> Result<Vec<ClassRun>, Error> {
        let retention = self.ingest.retention();
        let mut runs: Vec<ClassRun> = Vec::new();
        let sids: Vec<u32> = (segment.origin().base..segment.series_end()).collect();
        for sids in sids.chunks(SERIES_AT_ONCE) {
            segment.identities(sids, &mut |sid, identity| {
                let class = retention.class(&identity);
                match runs.last_mut() {
                    Some([_, end, before]) if *end == sid && *before == class => *end = sid + 1,
                    _ => runs.push([sid, sid + 1, class]),
                }
            })?;
        }
        runs.retain(|[.., class]| *class != 0);
        Ok(runs)
    }
}

fn class_of(runs: &[ClassRun], sid: u32) -> u32 {
    let after = runs.partition_point(|[first, ..]| *first <= sid);
    let run = after.checked_sub(1).and_then(|at| runs.get(at));
    run.filter(|[_, end, _]| sid < *end).map_or(0, |[.., class]| *class)
}
