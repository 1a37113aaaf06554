//! Files: what belongs to the store on disk, what readers are shown of it, and the one place where
//! either changes.
//!
//! The manifest is the truth; the view is what readers see of it, with what is on its way into
//! files. Both change together in [`Held::publish`]: new names are made durable, the manifest is
//! replaced, the view is swapped, and files that are named no longer go.
//!
//! Lock contract: [`Files::hold`] is for whoever begins or replaces files, and is held for as long
//! as a flush takes. Readers take a view, which is a moment's work.

use crate::cache::Cache;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::handles::Handles;
use crate::manifest::{Manifest, PartEntry};
use crate::part::Part;
use crate::tombstones::{Delete, Tombstone, Tombstones};
use crate::view::View;
use foliot_disk::Disk;
use foliot_lock::{Mutex, MutexGuard, Rank, RwLock};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The files of a store.
pub(crate) struct Files {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    store_id: u64,
    handles: Arc<Handles>,
    cache: Arc<Cache>,
    /// The next file's number. Never given out twice by one process, so that a page of a file that
    /// a failed flush left is never taken for a page of its successor.
    next_number: AtomicU64,
    truth: Mutex<Truth>,
    view: RwLock<Arc<View>>,
}

struct Truth {
    manifest: Manifest,
    /// Files of manifests that may have been put in place, though that failed.
    doubtful: Vec<Named>,
}

/// What recovery found, for [`Files::new`].
pub(crate) struct Found {
    pub(crate) handles: Arc<Handles>,
    pub(crate) cache: Arc<Cache>,
    pub(crate) manifest: Manifest,
    pub(crate) view: View,
    /// Lower numbers are not given out.
    pub(crate) next_number: u64,
}

impl Files {
    pub(crate) fn new(disk: Arc<dyn Disk>, dir: &Path, found: Found) -> Self {
        let Found { handles, cache, manifest, view, next_number } = found;
        Self {
            disk,
            dir: dir.to_owned(),
            store_id: manifest.store_id,
            handles,
            cache,
            next_number: AtomicU64::new(next_number.max(manifest.next_file)),
            truth: Mutex::new(Rank::Files, Truth { manifest, doubtful: Vec::new() }),
            view: RwLock::new(Rank::View, Arc::new(view)),
        }
    }

    pub(crate) fn disk(&self) -> &dyn Disk {
        &*self.disk
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn store_id(&self) -> u64 {
        self.store_id
    }

    pub(crate) fn cache(&self) -> &Arc<Cache> {
        &self.cache
    }

    /// What readers are shown from now on.
    pub(crate) fn view(&self) -> Arc<View> {
        self.view.read().clone()
    }

    /// A number for a new file.
    pub(crate) fn take_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Files that are begun from now on have no lower number.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number.load(Ordering::Relaxed)
    }

    /// Begins new files.
    pub(crate) fn begin(&self) -> Made<'_> {
        Made { files: self, names: Vec::new() }
    }

    /// Removes a file that no manifest names. If that fails it is a leftover, removed when the
    /// store is opened next.
    fn discard(&self, named: Named) {
        let path = filenames::path(&self.dir, named);
        match named {
            Named::Part(number) => self.handles.remove(number, &path),
            _ => drop(self.disk.remove(&path)),
        }
    }

    /// Opens a part for reading.
    pub(crate) fn open_part(&self, entry: PartEntry) -> Result<Part, Error> {
        Part::open(&self.handles, &self.dir, entry, self.store_id, &self.cache)
    }

    /// Keeps files from coming and going.
    pub(crate) fn hold(&self) -> Held<'_> {
        Held { files: self, truth: self.truth.lock() }
    }
}

/// New files, which belong to the store when a manifest names them: see [`Held::publish`]. Those of
/// work that fails before are removed when this is dropped.
pub(crate) struct Made<'f> {
    files: &'f Files,
    names: Vec<Named>,
}

impl Made<'_> {
    /// Has `write` make a file, and returns its number.
    pub(crate) fn make<T>(
        &mut self,
        named: fn(u64) -> Named,
        write: impl FnOnce(&Path, u64) -> Result<T, Error>,
    ) -> Result<(u64, T), Error> {
        let number = self.files.take_number();
        self.names.push(named(number));
        let written = write(&filenames::path(&self.files.dir, named(number)), number)?;
        Ok((number, written))
    }

    /// Removes one of them after all.
    pub(crate) fn discard(&mut self, gone: Named) {
        self.names.retain(|named| *named != gone);
        self.files.discard(gone);
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        self.names.drain(..).for_each(|named| self.files.discard(named));
    }
}

/// While this is there no file comes or goes but by it.
pub(crate) struct Held<'f> {
    files: &'f Files,
    truth: MutexGuard<'f, Truth>,
}

impl Held<'_> {
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.truth.manifest
    }

    /// A number that all files begun so far are below, and all later ones and deletes above.
    pub(crate) fn divide(&self) -> u64 {
        self.files.take_number() + 1
    }

    /// Makes `manifest`, which may name files `made` for it, the truth, durably, and shows readers
    /// what `change` makes of the view. Files that it names no longer are removed, parts when
    /// nobody reads them any more.
    ///
    /// # Errors
    /// When the disk fails; then the truth is the one before.
    pub(crate) fn publish(
        &mut self,
        mut manifest: Manifest,
        mut made: Made<'_>,
        change: impl FnOnce(&mut View),
    ) -> Result<(), Error> {
        let Files { disk, dir, next_number, .. } = self.files;
        manifest.next_file = next_number.load(Ordering::Relaxed);
        // The manifest must not outlive the names of what it names.
        disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
        if let Err(error) = manifest.write(&**disk, dir) {
            // A manifest that was put in place and not synced may be what the next start reads. It
            // is told by its generation: what is in memory may differ otherwise since the start.
            let there = Manifest::read(&**disk, dir).ok().flatten();
            let generation = there.map(|found| found.manifest.generation);
            if generation != Some(self.manifest().generation) {
                self.truth.doubtful.append(&mut made.names);
            }
            return Err(error);
        }
        made.names.clear();
        let before = std::mem::replace(&mut self.truth.manifest, manifest);
        let doubtful = std::mem::take(&mut self.truth.doubtful);
        self.show(change);
        let named: BTreeSet<Named> = self.manifest().files().into_iter().collect();
        let is_other = |file: &Named| !matches!(file, Named::Part(_));
        let gone = before.files().into_iter().filter(is_other).chain(doubtful);
        gone.filter(|file| !named.contains(file)).for_each(|file| self.files.discard(file));
        Ok(())
    }

    /// Shows readers what `change` makes of the view.
    fn show(&self, change: impl FnOnce(&mut View)) {
        let mut view = self.files.view.write();
        let mut next = View::clone(&view);
        change(&mut next);
        if !next.parts.iter().map(Arc::as_ptr).eq(view.parts.iter().map(Arc::as_ptr)) {
            next.arrange();
        }
        let kept: BTreeSet<u64> = next.parts.iter().map(|part| part.entry.number).collect();
        let gone = view.parts.iter().filter(|part| !kept.contains(&part.entry.number));
        gone.for_each(|part| part.doom());
        let before = std::mem::replace(&mut *view, Arc::new(next));
        drop(view);
        // With the last who holds it files go that nobody reads any more, which a disk may take its
        // time for: readers do not wait for that.
        drop(before);
    }

    /// Takes parts away, and removes their files. What they hold must be invisible already, and
    /// what made it so durable.
    pub(crate) fn drop_parts(&mut self, gone: &[u64]) -> Result<(), Error> {
        if gone.is_empty() {
            return Ok(());
        }
        let mut manifest = self.manifest().clone();
        manifest.parts.retain(|part| !gone.contains(&part.number));
        self.publish(manifest, self.files.begin(), |view| {
            view.parts.retain(|part| !gone.contains(&part.entry.number));
            view.absent.retain(|entry| !gone.contains(&entry.number));
            view.tombstones = view.tombstones.still_masking(&view.parts, &view.absent);
        })
    }

    /// Masks what was deleted by the frame that ends at `lsn`, for readers who have a view already
    /// and for those to come.
    pub(crate) fn mask(&mut self, tombstone: Arc<Tombstone>, lsn: u64) {
        self.show(|view| {
            let frozen = view.frozen.clone();
            view.later = view.later.add(Delete { tombstone: tombstone.clone(), frozen });
            view.tombstones = Arc::new(view.tombstones.with(tombstone, lsn));
        });
    }

    /// Lets go of the tombstones that no part needs any more. Their file follows with a flush.
    pub(crate) fn forget_tombstones(&mut self) {
        let view = self.files.view();
        let tombstones: Arc<Tombstones> = view.tombstones.still_masking(&view.parts, &view.absent);
        if !Arc::ptr_eq(&tombstones, &view.tombstones) {
            self.show(|view| view.tombstones = tombstones);
        }
    }
}
