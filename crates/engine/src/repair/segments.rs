//! Repair of the indexes of closed epochs: a segment is made again from the epoch's index files,
//! which are there for that.

use super::Repairer;
use crate::cache::Cache;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::manifest::{EpochEntry, Manifest};
use crate::{paged, recover, segment_file};
use foliot_index::Registry;
use std::path::Path;

impl Repairer<'_> {
    /// Writes segments anew that are missing, or damaged beyond what their parities mend. An index
    /// file that is so is taken off the manifest where there is a segment: the epoch's index is
    /// there once then.
    pub(super) fn segments(&mut self, manifest: &mut Manifest) -> Result<(), Error> {
        let closed = manifest.epochs.iter().filter(|entry| entry.segment != 0);
        for entry in Vec::from_iter(closed.cloned()) {
            let segment = filenames::segment(self.dir, entry.segment);
            match self.damage(&segment, Named::Segment(entry.segment))? {
                Some(damage) => self.segment(&entry, manifest, &segment, &damage)?,
                None => self.spares(&entry, manifest)?,
            }
        }
        Ok(())
    }

    /// What is wrong with a paged file, beyond what its parities mend.
    pub(super) fn damage(&self, path: &Path, named: Named) -> Result<Option<Error>, Error> {
        let number = named.number().unwrap_or_default();
        let file = self.disk.open(path).map_err(Error::io("open", path));
        let read = file
            .and_then(|file| paged::restore(&*file, path, number, &mut |_| {}, &mut |_| Ok(())));
        match read {
            Ok(()) => Ok(None),
            Err(error) if error.is_damage() => Ok(Some(error)),
            Err(error) => Err(error),
        }
    }

    /// Writes a segment anew; it stays as it is if its index files cannot be read either.
    fn segment(
        &mut self,
        entry: &EpochEntry,
        manifest: &Manifest,
        path: &Path,
        damage: &Error,
    ) -> Result<(), Error> {
        let (disk, store_id, files) = (&**self.disk, manifest.store_id, &entry.index_files);
        let cache = Cache::new(0);
        let registry = Registry::begin(entry.origin);
        let read = match recover::read_deletes(disk, self.dir, manifest, &cache) {
            _ if files.is_empty() => return Ok(()),
            Ok(deletes) => {
                recover::read_registry(disk, self.dir, store_id, files, &deletes, &registry, &cache)
            }
            Err(error) => Err(error),
        };
        match read {
            Ok(()) => {}
            Err(error) if error.is_damage() => return Ok(()),
            Err(error) => return Err(error),
        }
        let new = self.new_aside()?;
        segment_file::write(disk, &new, entry.segment, store_id, &registry)?;
        // A stop in between leaves the damaged file in the quarantine, to be brought back.
        self.set_aside(path)?;
        self.put_in_place(&new, path)?;
        self.done.mended.push(format!("{damage}: made again from the index files of its epoch"));
        Ok(())
    }

    /// Takes index files off the manifest that cannot be read and that a segment does without.
    fn spares(&mut self, entry: &EpochEntry, manifest: &mut Manifest) -> Result<(), Error> {
        let mut damaged = false;
        for &number in &entry.index_files {
            let path = filenames::index(self.dir, number);
            if let Some(damage) = self.damage(&path, Named::Index(number))? {
                let said = "set aside, the index of its epoch is there once from now on";
                self.done.mended.push(format!("{damage}: {said}"));
                damaged = true;
            }
        }
        if damaged {
            // One without the others makes no segment.
            let own = manifest.epochs.iter_mut().filter(|other| other.origin == entry.origin);
            own.for_each(|entry| entry.index_files.clear());
            self.publish(manifest)?;
            for number in &entry.index_files {
                self.set_aside(&filenames::index(self.dir, *number))?;
            }
        }
        Ok(())
    }
}
