//! Spares: segments whose content files hold by now, kept to be written over.
//!
//! To make durable what was appended to a file, a file system also writes down how long the file
//! has become and where the new bytes lie. For bytes that are written over others it need not: a
//! sync then takes the kernel half the work. So a segment that nobody needs any more becomes one to
//! come.
//!
//! Frames that are left of its former life fit nowhere in its new one: each says the lsn at which
//! it stands, and no incarnation uses an lsn twice.

use crate::error::Error;
use crate::filenames;
use foliot_disk::{AppendFile, Disk};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) struct Spares {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    bytes_max: u64,
    all: Vec<Spare>,
}

struct Spare {
    path: PathBuf,
    len: u64,
}

impl Spares {
    pub(super) fn new(disk: Arc<dyn Disk>, dir: PathBuf, bytes_max: u64) -> Self {
        Self { disk, dir, bytes_max, all: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Keeps the segment at `base`, which is not needed any more, or removes it if there are
    /// enough.
    pub(super) fn keep(&mut self, base: u64) -> Result<(), Error> {
        let path = filenames::wal(&self.dir, base);
        let len = self.disk.open(&path).map_err(Error::io("open", &path))?.len();
        let held: u64 = self.all.iter().map(|spare| spare.len).sum();
        if held.saturating_add(len) > self.bytes_max {
            return self.disk.remove(&path).map_err(Error::io("remove", &path));
        }
        let spare = filenames::wal_spare(&self.dir, base);
        self.disk.rename(&path, &spare).map_err(Error::io("rename", &path))?;
        self.all.push(Spare { path: spare, len });
        Ok(())
    }

    /// Gives a spare the name `path`, and its file for writing over it, with the length that it
    /// has; None if there is no spare. One that cannot be written over, because somebody has put
    /// something else in its place or keeps a copy by hard links, loses its name here.
    pub(super) fn take(&mut self, path: &Path) -> io::Result<Option<(Box<dyn AppendFile>, u64)>> {
        while let Some(spare) = self.all.pop() {
            let Ok(file) = self.disk.overwrite(&spare.path) else {
                let _ = self.disk.remove(&spare.path);
                continue;
            };
            self.disk.rename(&spare.path, path)?;
            return Ok(Some((file, spare.len)));
        }
        Ok(None)
    }

    /// Removes all: their room is wanted, or the store ends.
    pub(super) fn clear(&mut self) {
        for spare in self.all.drain(..) {
            // One that cannot be removed is a leftover for the next start.
            let _ = self.disk.remove(&spare.path);
        }
    }
}
