//! Repair of whole files: by their parities, and from the quarantine.

use super::Repairer;
use crate::error::Error;
use crate::filenames::{self, Named};
use crate::manifest::Manifest;
use crate::{paged, recover};
use std::path::{Path, PathBuf};

/// What a file that is being mended is called in the quarantine.
const MENDED: &str = "mended.new";

impl Repairer<'_> {
    /// Brings back files that the manifest names and that lie in the quarantine, then makes every
    /// paged file what it was when it was written, as far as its parities tell. Files that are
    /// damaged beyond that stay as they are.
    pub(super) fn mend(&mut self) -> Result<(), Error> {
        // Without a manifest nobody knows what should be there.
        if let Ok(Some(found)) = Manifest::read(&**self.disk, self.dir) {
            for named in found.manifest.files() {
                self.bring_back(named)?;
            }
        }
        let names = self.disk.list(self.dir).map_err(Error::io("list", self.dir))?;
        let mut files: Vec<Named> =
            names.iter().filter_map(|name| filenames::parse(name)).collect();
        files.sort_unstable();
        for named in files {
            if let Some(number) = named.number() {
                self.mend_file(&filenames::path(self.dir, named), number)?;
            }
        }
        Ok(())
    }

    /// Moves a file that is missing back from the quarantine, if it is there.
    fn bring_back(&mut self, named: Named) -> Result<(), Error> {
        let path = filenames::path(self.dir, named);
        let Some(name) = path.file_name().filter(|_| !self.disk.exists(&path)) else {
            return Ok(());
        };
        let place = self.dir.join(filenames::QUARANTINE).join(name);
        if self.disk.exists(&place) {
            self.put_in_place(&place, &path)?;
            self.done
                .mended
                .push(format!("{} was missing: brought back from the quarantine", path.display()));
        }
        Ok(())
    }

    fn mend_file(&mut self, path: &Path, number: u64) -> Result<(), Error> {
        let file = self.disk.open(path).map_err(Error::io("open", path))?;
        let mut damages = Vec::new();
        let tell = &mut |damage| damages.push(damage);
        match paged::restore(&*file, path, number, tell, &mut |_| Ok(())) {
            Ok(()) if damages.is_empty() => return Ok(()),
            Ok(()) => {}
            Err(error) if error.is_damage() => return Ok(()),
            Err(error) => return Err(error),
        }
        let new = self.new_aside()?;
        self.write_aside(&new, |write| paged::restore(&*file, path, number, &mut |_| {}, write))?;
        // A stop in between leaves the damaged file in the quarantine, to be brought back.
        self.set_aside(path)?;
        self.put_in_place(&new, path)?;
        self.done.mended.extend(damages);
        Ok(())
    }

    /// Puts `mended` in the place of a file that held `damaged`, which is kept. The file is there
    /// at any instant: nobody would bring it back.
    pub(super) fn exchange(&self, path: &Path, damaged: &[u8], mended: &[u8]) -> Result<(), Error> {
        let quarantine = self.quarantine()?;
        let name = path.file_name().unwrap_or_default();
        let kept = recover::free_place(&**self.disk, &quarantine, name);
        self.write_aside(&kept, |write| write(damaged))?;
        let new = self.new_aside()?;
        self.write_aside(&new, |write| write(mended))?;
        self.put_in_place(&new, path)
    }

    /// Where a file that is being mended is written.
    pub(super) fn new_aside(&self) -> Result<PathBuf, Error> {
        Ok(self.quarantine()?.join(MENDED))
    }

    fn quarantine(&self) -> Result<PathBuf, Error> {
        let quarantine = self.dir.join(filenames::QUARANTINE);
        self.disk.create_dir_all(&quarantine).map_err(Error::io("create", &quarantine))?;
        Ok(quarantine)
    }

    /// Writes a file in the quarantine, and syncs it.
    fn write_aside(
        &self,
        path: &Path,
        fill: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut file = self.disk.create(path).map_err(Error::io("create", path))?;
        fill(&mut |bytes| file.append(bytes).map_err(Error::io("write", path)))?;
        file.sync().map_err(Error::io("sync", path))
    }

    /// Moves a file between the quarantine and the store, durably.
    pub(super) fn put_in_place(&self, from: &Path, to: &Path) -> Result<(), Error> {
        self.disk.rename(from, to).map_err(Error::io("put in place", to))?;
        for dir in [from.parent(), to.parent()].into_iter().flatten() {
            self.disk.sync_dir(dir).map_err(Error::io("sync", dir))?;
        }
        Ok(())
    }
}
