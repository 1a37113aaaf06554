//! The real half: the operating system's files, clock and randomness.

use crate::{AppendFile, DirLock, Disk, LOCK_FILE, ReadFile};
use foliot_lock::{Rank, RwLock};
use rustix::fs::OFlags;
use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Instant, SystemTime};

const REWRITE_CHUNK_BYTES: usize = 1 << 20;

/// Why nothing is done in a directory any more whose name leads elsewhere.
const MOVED: &str = "the data directory was moved, replaced or removed while it was open: stop \
                     this server, and start it on the directory that is meant";

/// The operating system's files, clock and randomness.
#[derive(Debug)]
pub struct RealDisk {
    started: Instant,
    held: Held,
}

/// The directories whose locks are held.
type Held = Arc<RwLock<Vec<Place>>>;

/// A directory, and the device and number of the file that carries its lock.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    dir: PathBuf,
    lock: (u64, u64),
}

impl Place {
    fn new(dir: &Path, lock: &Metadata) -> Self {
        Self { dir: dir.to_owned(), lock: (lock.dev(), lock.ino()) }
    }
}

impl RealDisk {
    /// The disk of this machine.
    pub fn new() -> Self {
        Self { started: Instant::now(), held: Arc::new(RwLock::new(Rank::Place, Vec::new())) }
    }

    /// Refuses a path under a directory that is not the one which was locked by that name: somebody
    /// else's files may be there by now.
    fn check(&self, path: &Path) -> io::Result<()> {
        for place in self.held.read().iter().filter(|place| path.starts_with(&place.dir)) {
            match fs::metadata(place.dir.join(LOCK_FILE)) {
                Ok(found) if Place::new(&place.dir, &found) == *place => {}
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => return Err(io::Error::other(MOVED)),
            }
        }
        Ok(())
    }
}

impl Default for RealDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl Disk for RealDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        if here(dir).is_file() {
            let reason = "a file is there; name a directory, or one that can be made";
            return Err(io::Error::new(io::ErrorKind::NotADirectory, reason));
        }
        let missing: Vec<&Path> = dir.ancestors().take_while(|dir| !here(dir).is_dir()).collect();
        // For the owner alone: the store keeps secrets, and what is measured is nobody else's.
        DirBuilder::new().recursive(true).mode(0o700).create(here(dir))?;
        for dir in missing.iter().rev() {
            let flags = (OFlags::DIRECTORY | OFlags::NOFOLLOW).bits().cast_signed();
            belong(&OpenOptions::new().read(true).custom_flags(flags).open(dir)?, dir)?;
        }
        missing.iter().rev().filter_map(|dir| dir.parent()).try_for_each(sync_dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(here(dir))? {
            match entry?.file_name().into_string() {
                Ok(name) if name != LOCK_FILE => names.push(name),
                _ => {}
            }
        }
        Ok(names)
    }

    fn exists(&self, path: &Path) -> bool {
        here(path).exists()
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(Arc::new(RealReadFile { file, len }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.check(path)?;
        // Removed rather than emptied: readers of the old file keep what they opened.
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        belong(&file, path)?;
        Ok(Box::new(RealAppendFile { file, len: 0 }))
    }

    fn extend(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.check(path)?;
        let file = OpenOptions::new().append(true).open(path)?;
        let len = file.metadata()?.len();
        Ok(Box::new(RealAppendFile { file, len }))
    }

    fn overwrite(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.check(path)?;
        // Neither through a link, nor for a reader of a pipe that never comes.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let file = OpenOptions::new().write(true).custom_flags(flags).open(path)?;
        let found = file.metadata()?;
        if !found.is_file() || found.nlink() != 1 {
            let reason = "it is no file, or a file that has another name beside this one";
            return Err(io::Error::new(ErrorKind::InvalidInput, reason));
        }
        Ok(Box::new(RealAppendFile { file, len: 0 }))
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.check(path)?;
        let file = OpenOptions::new().write(true).open(path)?;
        if file.metadata()?.len() < len {
            return Err(io::Error::new(ErrorKind::InvalidInput, "truncate beyond the file's end"));
        }
        file.set_len(len)?;
        // The length belongs to the file: no sync of the directory would make it durable.
        file.sync_all()
    }

    fn rewrite(&self, path: &Path) -> io::Result<()> {
        self.check(path)?;
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let len = file.metadata()?.len();
        let mut chunk = vec![0; REWRITE_CHUNK_BYTES];
        let mut offset = 0;
        while offset < len {
            chunk.truncate(usize::try_from(len - offset).unwrap_or(usize::MAX));
            file.read_exact_at(&mut chunk, offset)?;
            file.write_all_at(&chunk, offset)?;
            offset += chunk.len() as u64;
        }
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(from)?;
        self.check(to)?;
        fs::rename(from, to)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.check(from)?;
        self.check(to)?;
        fs::hard_link(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check(path)?;
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        sync_dir(dir)
    }

    fn lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        let path = dir.join(LOCK_FILE);
        let mut options = OpenOptions::new();
        let file = match options.write(true).create_new(true).mode(0o600).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                OpenOptions::new().write(true).open(&path)?
            }
            made => made.and_then(|file| belong(&file, &path).map(|()| file))?,
        };
        match file.try_lock() {
            Ok(()) => {
                let place = Place::new(dir, &file.metadata()?);
                self.held.write().push(place.clone());
                Ok(Box::new(RealDirLock { place, held: self.held.clone(), _file: file }))
            }
            Err(TryLockError::WouldBlock) => Err(ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn stays(&self, dir: &Path) -> io::Result<()> {
        self.check(dir)
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let stat = rustix::fs::statvfs(here(dir))?;
        Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn now_ns(&self) -> i64 {
        let clamp = |nanos: u128| i64::try_from(nanos).unwrap_or(i64::MAX);
        match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => clamp(since.as_nanos()),
            Err(before) => -clamp(before.duration().as_nanos()),
        }
    }

    fn monotonic_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn random(&self) -> u64 {
        // The standard library seeds its hash maps from the same source, as best it can, where the
        // system call is refused (old sandboxes).
        getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(()))
    }
}

/// The empty path is the parent of a plain relative name; system calls want a dot there.
fn here(path: &Path) -> &Path {
    if path.as_os_str().is_empty() { Path::new(".") } else { path }
}

/// Gives what root has just made to whoever owns the directory that it is in: a command that root
/// runs on a store leaves nothing behind that the store's own user cannot open. Never what was
/// there before: a link could lead to a file of the system's.
fn belong(file: &File, path: &Path) -> io::Result<()> {
    let of_file = file.metadata()?;
    let dir = path.parent().unwrap_or(path);
    let of_dir = fs::metadata(here(dir))?;
    if of_file.uid() == 0 && of_dir.uid() != 0 {
        // Root without that right, in a container, leaves it as it is.
        let _ = fchown(file, Some(of_dir.uid()), Some(of_dir.gid()));
    }
    Ok(())
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(here(dir))?.sync_all()
}

struct RealReadFile {
    file: File,
    len: u64,
}

impl ReadFile for RealReadFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    fn len(&self) -> u64 {
        self.len
    }
}

struct RealAppendFile {
    file: File,
    len: u64,
}

impl AppendFile for RealAppendFile {
    fn append(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        // Not `write_all`: after an error the length must still be the file's.
        while !bytes.is_empty() {
            match self.file.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.len += written as u64;
                    bytes = bytes.get(written..).unwrap_or_default();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn len(&self) -> u64 {
        self.len
    }
}

/// The operating system drops the lock with the file, however the process ends.
struct RealDirLock {
    place: Place,
    held: Held,
    _file: File,
}

impl Drop for RealDirLock {
    fn drop(&mut self) {
        self.held.write().retain(|place| *place != self.place);
    }
}

impl DirLock for RealDirLock {
    fn dir(&self) -> &PathBuf {
        &self.place.dir
    }
}

#[cfg(test)]
mod tests;
