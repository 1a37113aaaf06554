//! Backups: a copy of a store that is a store.
//!
//! Everything a store is made of is either immutable once named (parts, index files, catalog) or
//! only ever appended to (the wal), and the manifest is replaced whole. So a copy needs no help
//! from a process that has the store open: it reads the manifest, opens everything it names and the
//! wal from where the manifest says it begins to matter, and copies what it opened. What was
//! acknowledged at `os` or `durable` before the copy began is in it. A file whose name goes away
//! meanwhile stays readable through the open handle; a name that went away before it could be
//! opened means that the manifest was replaced, and the copy begins again.
//!
//! A restore is the same copy in the other direction.

use crate::error::Error;
use crate::filenames::{self, Named};
use crate::limits::BACKUP_TRIES;
use crate::manifest::Manifest;
use crate::paged;
use crate::wal::segment;
use foliot_disk::{Disk, ReadFile};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const COPY_BYTES: usize = 1 << 20;

/// What a backup wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackedUp {
    /// Files copied, the manifest not counted.
    pub files_copied: u64,
    /// Bytes copied.
    pub bytes_copied: u64,
    /// Files that an earlier backup had already, shared with it.
    pub files_shared: u64,
    /// Bytes of those.
    pub bytes_shared: u64,
}

/// Whether there is a store in `dir`: a manifest.
pub fn is_store(disk: &dyn Disk, dir: &Path) -> bool {
    disk.exists(&dir.join(filenames::MANIFEST))
}

/// Copies the store in `from` to `to`, which must be missing or empty, whether or not a process has
/// it open. Every page is checked against its checksum on the way. Files that the store in
/// `earlier` has too are not copied again but given a second name, where the file system can. The
/// manifest comes last: a directory without one is a copy that did not end.
///
/// # Errors
/// When there is no store in `from`, a file of it is damaged, `to` is in use, or the disk fails.
pub fn backup(
    disk: &dyn Disk,
    from: &Path,
    to: &Path,
    earlier: Option<&Path>,
) -> Result<BackedUp, Error> {
    let pinned = pin(disk, from)?;
    disk.create_dir_all(to).map_err(Error::io("create", to))?;
    if let Some(name) = disk.list(to).map_err(Error::io("list", to))?.first() {
        let place = to.display();
        return Err(Error::Invalid(format!("{place} is not empty, it holds {name}; name another")));
    }
    let mut done = BackedUp::default();
    for source in &pinned.files {
        let target = filenames::path(to, source.named);
        let same = earlier.map(|dir| filenames::path(dir, source.named));
        match same.filter(|same| source.shares(disk, same, &target)) {
            Some(_) => {
                done.files_shared += 1;
                done.bytes_shared += source.file.len();
            }
            None => {
                done.files_copied += 1;
                done.bytes_copied += source.copy(disk, &target)?;
            }
        }
    }
    // The manifest must not outlive the names of what it names.
    disk.sync_dir(to).map_err(Error::io("sync", to))?;
    pinned.manifest.write(disk, to)?;
    Ok(done)
}

/// A store held still.
struct Pinned {
    manifest: Manifest,
    files: Vec<Source>,
}

/// An open file of a store.
struct Source {
    named: Named,
    path: PathBuf,
    file: Arc<dyn ReadFile>,
}

/// Opens everything that belongs to a store.
fn pin(disk: &dyn Disk, dir: &Path) -> Result<Pinned, Error> {
    for _ in 0..BACKUP_TRIES {
        let Some(manifest) = Manifest::read(disk, dir)? else {
            return Err(Error::Invalid(format!("there is no store in {}", dir.display())));
        };
        if let Some(files) = open_all(disk, dir, &manifest)? {
            return Ok(Pinned { manifest, files });
        }
    }
    let place = dir.display();
    Err(Error::Invalid(format!(
        "{place} names files that are not there; run `foliot check --data-dir {place}`"
    )))
}

/// Opens what the manifest names and the wal; nothing if something is no longer there.
fn open_all(
    disk: &dyn Disk,
    dir: &Path,
    manifest: &Manifest,
) -> Result<Option<Vec<Source>>, Error> {
    let mut wal = segment::list(disk, dir)?;
    let start = wal.partition_point(|&base| base <= manifest.wal_start_lsn).saturating_sub(1);
    wal.drain(..start);
    if wal.first().is_some_and(|&base| base > manifest.wal_start_lsn) {
        return Ok(None);
    }
    let mut files = Vec::new();
    for named in manifest.files().into_iter().chain(wal.into_iter().map(Named::Wal)) {
        let path = filenames::path(dir, named);
        match disk.open(&path) {
            Ok(file) => files.push(Source { named, path, file }),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("open", &path)(error)),
        }
    }
    Ok(Some(files))
}

impl Source {
    /// Gives the same file of an earlier backup a second name; false where there is none such, or
    /// the file system cannot.
    fn shares(&self, disk: &dyn Disk, same: &Path, target: &Path) -> bool {
        if self.named.number().is_none() {
            return false;
        }
        let Ok(earlier) = disk.open(same) else { return false };
        let is_same = paged::are_same_pages(&*self.file, &*earlier).unwrap_or(false);
        is_same && disk.link(same, target).is_ok()
    }

    /// Copies the file and syncs the copy; says how many bytes it has.
    fn copy(&self, disk: &dyn Disk, target: &Path) -> Result<u64, Error> {
        let mut out = disk.create(target).map_err(Error::io("create", target))?;
        let mut append = |bytes: &[u8]| out.append(bytes).map_err(Error::io("write", target));
        match self.named.number() {
            Some(number) => {
                paged::for_each_page(&*self.file, &self.path, number, &mut append)?;
            }
            // A stretch of the wal has its checksums frame by frame, and the newest may end within
            // one: whoever opens the copy reads up to there, as after a power cut.
            None => {
                let mut buffer = Vec::new();
                let mut at = 0;
                while at < self.file.len() {
                    buffer.resize((self.file.len() - at).min(COPY_BYTES as u64) as usize, 0);
                    self.file.read_at(&mut buffer, at).map_err(Error::io("read", &self.path))?;
                    append(&buffer)?;
                    at += buffer.len() as u64;
                }
            }
        }
        out.sync().map_err(Error::io("sync", target))?;
        Ok(out.len())
    }
}
