//! A disk that is read and never written to: what is written, renamed and removed is so in memory.

use crate::{AppendFile, DirLock, Disk, Layer, ReadFile, SimDisk};
use foliot_lock::{Rank, RwLock};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a changed file is copied by.
const COPY_BYTES: usize = 1 << 20;

/// A layer that leaves the disk below it as it is: who opens a store to read it may recover it as
/// any other, and changes nothing. Memory holds what is written, until it is dropped.
pub struct Untouched {
    below: Arc<dyn Disk>,
    /// What was written. Nothing cuts its power.
    above: SimDisk,
    /// Files below that were removed or renamed.
    gone: RwLock<BTreeSet<PathBuf>>,
}

impl Untouched {
    /// In front of a disk.
    pub fn new(below: Arc<dyn Disk>) -> Self {
        let gone = RwLock::new(Rank::Place, BTreeSet::new());
        Self { below, above: SimDisk::new(0), gone }
    }

    fn is_gone(&self, path: &Path) -> bool {
        self.gone.read().contains(path)
    }

    fn is_below(&self, path: &Path) -> bool {
        !self.is_gone(path) && self.below.exists(path)
    }

    /// Makes a directory above that is there below.
    fn above_in(&self, path: &Path) -> io::Result<&SimDisk> {
        self.above.create_dir_all(path.parent().unwrap_or(path))?;
        Ok(&self.above)
    }

    /// Copies a file that is about to change, unless it was.
    fn raised(&self, path: &Path) -> io::Result<&SimDisk> {
        if !self.above.exists(path) {
            let from = Layer::open(self, path)?;
            let mut to = self.above_in(path)?.create(path)?;
            let mut piece = vec![0; COPY_BYTES];
            while to.len() < from.len() {
                let rest = usize::try_from(from.len() - to.len()).unwrap_or(usize::MAX);
                piece.truncate(rest);
                from.read_at(&mut piece, to.len())?;
                to.append(&piece)?;
            }
        }
        Ok(&self.above)
    }

    fn hide(&self, path: &Path) {
        self.gone.write().insert(path.to_owned());
    }
}

impl Layer for Untouched {
    fn below(&self) -> &dyn Disk {
        &*self.below
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.above.create_dir_all(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names: BTreeSet<String> = match self.below.exists(dir) {
            true => self.below.list(dir)?.into_iter().collect(),
            false => BTreeSet::new(),
        };
        names.retain(|name| !self.is_gone(&dir.join(name)));
        if self.above.exists(dir) {
            names.extend(self.above.list(dir)?);
        }
        Ok(names.into_iter().collect())
    }

    fn exists(&self, path: &Path) -> bool {
        self.above.exists(path) || self.is_below(path)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        match self.above.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        match self.is_gone(path) {
            true => Err(ErrorKind::NotFound.into()),
            false => self.below.open(path),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.above_in(path)?.create(path)
    }

    fn extend(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.raised(path)?.extend(path)
    }

    fn overwrite(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.raised(path)?.overwrite(path)
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.raised(path)?.truncate(path, len)
    }

    /// Nothing is made durable.
    fn rewrite(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.raised(from)?;
        self.above_in(to)?.rename(from, to)?;
        self.hide(from);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.is_below(to) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        self.raised(from)?;
        self.above_in(to)?.link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let is_below = self.is_below(path);
        self.hide(path);
        match self.above.remove(path) {
            Err(error) if error.kind() == ErrorKind::NotFound && is_below => Ok(()),
            removed => removed,
        }
    }

    /// Nothing is made durable.
    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    /// Locks the directory if its lock is there, so that nobody changes it meanwhile. A directory
    /// that nobody ever locked, such as a backup, and one of a file system that nobody writes to
    /// are read without.
    fn lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        let unlocked = || Ok(Box::new(Unlocked(dir.to_owned())) as Box<dyn DirLock>);
        if !self.below.exists(&dir.join(crate::LOCK_FILE)) {
            return unlocked();
        }
        match self.below.lock(dir) {
            Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem => unlocked(),
            locked => locked,
        }
    }
}

/// A directory that nobody writes to.
struct Unlocked(PathBuf);

impl DirLock for Unlocked {
    fn dir(&self) -> &PathBuf {
        &self.0
    }
}
