//! The only room that touches files, fsync, the clock and randomness.
//!
//! Everything the store does to the outside world goes through [`Disk`]. There are two halves: the
//! real one ([`RealDisk`]) and a simulated one ([`SimDisk`]) that keeps what was written apart from
//! what was synced, so that a power cut can be played a hundred thousand times a minute. What the
//! room does not know: any file format.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The outside world as the store sees it. Paths are absolute or relative to the process.
///
/// Durability contract: bytes appended survive a power cut once [`AppendFile::sync`] returned; a
/// created, renamed or removed name survives once [`Disk::sync_dir`] of its directory returned.
pub trait Disk: Send + Sync + 'static {
    /// Creates a directory and its parents.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;
    /// Names of the entries of a directory, in no order.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Whether a file or directory of that name exists.
    fn exists(&self, path: &Path) -> bool;
    /// Opens a file for reading.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>>;
    /// Creates an empty file for appending, replacing one of the same name.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Cuts an existing file to `len` bytes, for a torn tail. Durable after `sync_dir`.
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()>;
    /// Renames a file, replacing the target.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes names created, renamed and removed in `dir` durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes the exclusive lock of a directory; it is released when the returned guard is dropped or
    /// the process ends in whatever way. `ErrorKind::WouldBlock` when someone else holds it.
    fn lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>>;
    /// Bytes free for use on the file system of `dir`.
    fn free_bytes(&self, dir: &Path) -> io::Result<u64>;
    /// Wall clock: nanoseconds since 1970.
    fn now_ns(&self) -> i64;
    /// A clock that never goes back, in nanoseconds from an arbitrary origin.
    fn monotonic_ns(&self) -> u64;
    /// Eight random bytes, unpredictable to clients on the real half.
    fn random(&self) -> u64;
}

/// A file open for reading at positions.
pub trait ReadFile: Send + Sync {
    /// Fills `buffer` from `offset`; `ErrorKind::UnexpectedEof` when the file ends before.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Length in bytes when it was opened.
    fn len(&self) -> u64;
    /// Whether it was empty when it was opened.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A file open for appending.
pub trait AppendFile: Send {
    /// Writes all of `bytes` at the end, to the operating system.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Waits until everything appended is on stable storage (fdatasync).
    fn sync(&mut self) -> io::Result<()>;
    /// Bytes in the file.
    fn len(&self) -> u64;
    /// Whether nothing was appended yet.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Holds a directory's lock while it lives.
pub trait DirLock: Send + Sync {
    /// The locked directory.
    fn dir(&self) -> &PathBuf;
}
