//! What becomes of closed epochs: a segment on disk, and in the end nothing.

use super::Upkeep;
use super::flush::Checkpoint;
use crate::epochs::Closed;
use crate::error::Error;
use crate::filenames::Named;
use crate::files::Made;
use crate::limits::INDEX_SEGMENTS_MAX;
use crate::manifest::{EpochEntry, Manifest};
use crate::{index_file, segment_file};
use foliot_index::{Mark, Registry};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Flushes that a closed registry stays in memory for: until then the series that live on have
/// moved over, and their names have kept their numbers.
pub(super) const FLUSHES_KEPT: u32 = 2;

/// A closed registry that is to leave memory.
pub(crate) struct Closing(Arc<Registry>);

impl Upkeep {
    /// Whether enough series of the open epoch have gone quiet to begin another.
    pub(super) fn is_switch_due(&self, checkpoint: &Checkpoint) -> bool {
        let epochs = self.ingest.epochs();
        let Some(active) = checkpoint.activity.active() else { return false };
        let dead = epochs.current().counts().series.saturating_sub(active);
        epochs.closing().is_none() && dead > active.max(self.config.epoch_dead_min)
    }

    /// The closed registry, once it has been kept for so many flushes.
    pub(super) fn closing(&self, flushes_kept: u32) -> Option<Closing> {
        let registry = self.ingest.epochs().closing().cloned()?;
        let checkpoint = self.checkpoint.lock();
        let files = self.files.hold();
        // What it registered last, and its samples in the head, must have been flushed.
        let is_flushed =
            files.manifest().epochs.last().is_some_and(|entry| entry.origin != registry.origin());
        (is_flushed && checkpoint.flushes_since_switch >= flushes_kept).then_some(Closing(registry))
    }

    /// Writes a closed registry to a segment, from which it is read from now on, and to an index
    /// file, from which the segment can be made again. Not if it changed meanwhile: then it is
    /// still due.
    pub(super) fn archive(&self, Closing(registry): &Closing) -> Result<(), Error> {
        let origin = registry.origin();
        let files = &*self.files;
        let (disk, store_id, cache) = (files.disk(), files.store_id(), files.cache());
        let mut made = files.begin();
        let mark = registry.mark();
        let (number, segment) = made.make(Named::Segment, |path, number| {
            segment_file::write(disk, path, number, store_id, registry)?;
            segment_file::open(disk, path, number, store_id, cache.clone())
        })?;
        let mut spare = Vec::new();
        // An epoch that knows nothing has nothing to be copied.
        if registry.mark() != Mark::default() {
            let (number, _) = made.make(Named::Index, |path, number| {
                index_file::write(disk, path, number, store_id, registry, &Mark::default())
            })?;
            spare.push(number);
        }
        let mut checkpoint = self.checkpoint.lock();
        let mut held = files.hold();
        if registry.mark() != mark {
            // Series got other classes meanwhile: the next try writes those.
            return Ok(());
        }
        let mut manifest = held.manifest().clone();
        let is_due = |entry: &&mut EpochEntry| entry.origin == origin && entry.segment == 0;
        let Some(entry) = manifest.epochs.iter_mut().find(is_due) else {
            // Somebody else wrote it meanwhile, and it may have been retired since.
            return Ok(());
        };
        entry.index_files = spare;
        entry.segment = number;
        held.publish(manifest, made, |_| {})?;
        checkpoint.index_marks.remove(&origin.epoch);
        self.ingest.close_epoch(segment);
        Ok(())
    }

    /// The closed epochs, by number, that no part is left of.
    pub(super) fn retired(&self) -> Option<Vec<u32>> {
        let files = self.files.hold();
        let is_gone = |closed: &&Closed| {
            let epoch = closed.origin().epoch;
            matches!(closed, Closed::Disk(_))
                && files.manifest().parts.iter().all(|part| part.epoch != epoch)
        };
        let epochs = self.ingest.epochs();
        let gone = epochs.closed().iter().filter(is_gone).map(|closed| closed.origin().epoch);
        Some(gone.collect::<Vec<u32>>()).filter(|gone| !gone.is_empty())
    }

    /// Removes the segments of closed epochs that no part is left of. No part of one comes back:
    /// what is flushed is of epochs in memory.
    pub(super) fn retire(&self, gone: &[u32]) -> Result<(), Error> {
        let mut held = self.files.hold();
        let mut manifest = held.manifest().clone();
        manifest.epochs.retain(|entry| !gone.contains(&entry.origin.epoch));
        held.publish(manifest, self.files.begin(), |_| {})?;
        self.ingest.forget_epochs(gone);
        Ok(())
    }

    /// Writes what registries in memory have learned since their last file, each to a new one, or
    /// all of it when there are many files. Returns up to where they are written.
    pub(super) fn flush_indexes(
        &self,
        checkpoint: &Checkpoint,
        manifest: &mut Manifest,
        made: &mut Made<'_>,
    ) -> Result<BTreeMap<u32, Mark>, Error> {
        let files = &*self.files;
        let mut marks = checkpoint.index_marks.clone();
        for registry in self.ingest.epochs().in_memory() {
            let origin = registry.origin();
            let entry = manifest.epoch_entry(origin);
            let mark = marks.get(&origin.epoch).copied().unwrap_or_default();
            if registry.mark() == mark {
                continue;
            }
            let mut from = mark;
            if entry.index_files.len() >= INDEX_SEGMENTS_MAX {
                entry.index_files.clear();
                from = Mark::default();
            }
            let (disk, store_id) = (files.disk(), files.store_id());
            let (number, mark) = made.make(Named::Index, |path, number| {
                index_file::write(disk, path, number, store_id, registry, &from)
            })?;
            entry.index_files.push(number);
            marks.insert(origin.epoch, mark);
        }
        Ok(marks)
    }
}
