//! What becomes of closed epochs: a segment on disk, and in the end nothing.

use crate::epochs::{Closed, Epochs};
use crate::error::Error;
use crate::filenames;
use crate::limits::INDEX_SEGMENTS_MAX;
use crate::manifest::Manifest;
use crate::store::{Engine, Files, Store};
use crate::{index_file, segment_file};
use foliot_index::{Mark, Registry};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Flushes that a closed registry stays in memory for: until then the series that live on have
/// moved over, and their names have kept their numbers.
const FLUSHES_KEPT: u32 = 2;

impl Engine {
    /// Begins a new epoch now, as the store does by itself when most series have gone quiet.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn begin_epoch(&self) -> Result<(), Error> {
        let store = self.store();
        store.archive(0)?;
        store.flush_and_switch()
    }
}

impl Store {
    pub(crate) fn epochs(&self) -> Arc<Epochs> {
        self.epochs.read().clone()
    }

    /// The registry that rows are registered in. Who holds the gate sees no other.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        self.epochs.read().current().clone()
    }

    /// Whether enough series of the open epoch have gone quiet to begin another.
    pub(crate) fn is_switch_due(&self, files: &Files) -> bool {
        let epochs = self.epochs();
        let Some(active) = files.activity.active() else { return false };
        let dead = epochs.current().counts().series.saturating_sub(active);
        epochs.closing().is_none() && dead > active.max(self.config.epoch_dead_min)
    }

    /// Opens an empty registry. The gate is held alone.
    pub(crate) fn switch(&self) {
        let epochs = self.epochs();
        let next = epochs.switched(epochs.next_origin());
        *self.epochs.write() = Arc::new(next);
    }

    /// One step of what is due for closed epochs; false when nothing is.
    pub(crate) fn maintain_epochs(&self) -> Result<bool, Error> {
        Ok(self.archive(FLUSHES_KEPT)? || self.retire_segments()?)
    }

    /// Writes the closed registry to a segment, once it has been kept for so many flushes.
    fn archive(&self, flushes_kept: u32) -> Result<bool, Error> {
        let Some(registry) = self.epochs().closing().cloned() else { return Ok(false) };
        let origin = registry.origin();
        {
            let files = self.files.lock();
            // What it registered last, and its samples in the head, must have been flushed.
            let is_flushed = files.manifest.epochs.last().is_some_and(|e| e.origin != origin);
            if !is_flushed || files.flushes_since_switch < flushes_kept {
                return Ok(false);
            }
        }
        let number = self.take_number();
        let path = filenames::segment(&self.dir, number);
        let disk = &*self.disk;
        segment_file::write(disk, &path, number, self.store_id, &registry)?;
        disk.sync_dir(&self.dir).map_err(Error::io("sync", &self.dir))?;
        let cache = self.cache.clone();
        let segment = segment_file::open(disk, &path, number, self.store_id, cache)?;

        let mut files = self.files.lock();
        let mut manifest = files.manifest.clone();
        let mut gone = Vec::new();
        for entry in manifest.epochs.iter_mut().filter(|entry| entry.origin == origin) {
            gone.append(&mut entry.index_files);
            entry.segment = number;
        }
        manifest.next_file = self.next_file.load(Ordering::Relaxed);
        manifest.write(disk, &self.dir)?;
        files.manifest = manifest;
        files.index_marks.remove(&origin.epoch);
        let next = self.epochs().archived(segment);
        next.current().set_closing(None);
        *self.epochs.write() = Arc::new(next);
        for number in gone {
            let path = filenames::index(&self.dir, number);
            disk.remove(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(true)
    }

    /// Removes the segments of epochs that no part is left of.
    fn retire_segments(&self) -> Result<bool, Error> {
        let mut files = self.files.lock();
        let epochs = self.epochs();
        let is_gone = |closed: &&Closed| {
            let epoch = closed.origin().epoch;
            matches!(closed, Closed::Disk(_))
                && files.manifest.parts.iter().all(|part| part.epoch != epoch)
        };
        let gone: Vec<u32> =
            epochs.closed().iter().filter(is_gone).map(|closed| closed.origin().epoch).collect();
        if gone.is_empty() {
            return Ok(false);
        }
        let mut manifest = files.manifest.clone();
        let is_retired = |epoch: u32| gone.contains(&epoch);
        let retired = manifest.epochs.extract_if(.., |entry| is_retired(entry.origin.epoch));
        let segments: Vec<u64> = retired.map(|entry| entry.segment).collect();
        manifest.next_file = self.next_file.load(Ordering::Relaxed);
        manifest.write(&*self.disk, &self.dir)?;
        files.manifest = manifest;
        *self.epochs.write() = Arc::new(epochs.without(&gone));
        for number in segments {
            let path = filenames::segment(&self.dir, number);
            self.disk.remove(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(true)
    }

    /// Writes what registries in memory have learned since their last file, each to a new one, or
    /// all of it when there are many files. Returns up to where they are written.
    pub(crate) fn flush_indexes(
        &self,
        files: &Files,
        manifest: &mut Manifest,
    ) -> Result<BTreeMap<u32, Mark>, Error> {
        let mut marks = files.index_marks.clone();
        for registry in self.epochs().in_memory() {
            let origin = registry.origin();
            let entry = manifest.epoch_entry(origin);
            let mark = marks.get(&origin.epoch).copied();
            let mark = mark.unwrap_or_else(|| registry.first_mark());
            if registry.mark() == mark {
                continue;
            }
            let mut from = mark;
            if entry.index_files.len() >= INDEX_SEGMENTS_MAX {
                entry.index_files.clear();
                from = Mark::default();
            }
            let number = self.take_number();
            entry.index_files.push(number);
            let path = filenames::index(&self.dir, number);
            let disk = &*self.disk;
            let mark = index_file::write(disk, &path, number, self.store_id, registry, &from)?;
            marks.insert(origin.epoch, mark);
        }
        Ok(marks)
    }
}
