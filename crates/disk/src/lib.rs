//! The only room that touches files, fsync, the clock and randomness; it also starts the store's
//! threads.
//!
//! Everything the store does to the outside world goes through [`Disk`]. There are two halves: the
//! real one ([`RealDisk`]) and a simulated one ([`SimDisk`]) that keeps what was written apart from
//! what was synced, so that a power cut can be played a hundred thousand times a minute. What the
//! room does not know: any file format, and what a lost byte means to the store.
//!
//! ```
//! use foliot_disk::{Disk, SimDisk};
//! use std::path::Path;
//!
//! let disk = SimDisk::new(7);
//! disk.create_dir_all(Path::new("data"))?;
//! let mut file = disk.create(Path::new("data/wal"))?;
//! file.append(b"kept")?;
//! file.sync()?;
//! disk.sync_dir(Path::new("data"))?;
//! let rebooted = disk.crash();
//! let mut back = [0; 4];
//! rebooted.open(Path::new("data/wal"))?.read_at(&mut back, 0)?;
//! assert_eq!(&back, b"kept");
//! # Ok::<(), std::io::Error>(())
//! ```

mod layer;
mod real;
mod sim;
#[cfg(test)]
mod tests;
mod untouched;

pub use layer::Layer;
pub use real::RealDisk;
pub use sim::{FaultKind, SimDisk};
pub use untouched::Untouched;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Carries the lock of its directory. A file rather than the directory itself, because network file
/// systems lock only what is open for writing.
const LOCK_FILE: &str = "lock";

/// The outside world as the store sees it. Paths are absolute or relative to the process.
///
/// Durability contract: bytes appended survive a power cut once [`AppendFile::sync`] returned; a
/// created, renamed or removed name survives once [`Disk::sync_dir`] of its directory returned.
/// Until then each of them survives, or not, on its own: a name without its bytes, late bytes
/// without early ones (the hole reads as zeros), the second rename without the first.
pub trait Disk: Send + Sync + 'static {
    /// Creates a directory and its parents; they are durable when it returns.
    fn create_dir_all(&self, dir: &Path) -> io::Result<()>;
    /// Names of the entries of a directory, in no order. The room's own lock file and names that
    /// are not UTF-8 (the store never writes such) are left out.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;
    /// Whether a file or directory of that name exists.
    fn exists(&self, path: &Path) -> bool;
    /// Opens a file for reading. It stays readable when its name is removed.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>>;
    /// Creates an empty file for appending, replacing one of the same name. Until the directory is
    /// synced a power cut may leave the old file, the new one or neither.
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Opens an existing file, which nobody else appends to, for appending at its end.
    fn extend(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Opens an existing file, which nobody else writes to, for writing over what it holds from its
    /// beginning on: a length of 0, to begin with. What is not yet written over stays, behind what
    /// was written. Until a sync a power cut may leave old bytes in the place of new ones. What is
    /// no file, or has a second name (a copy by hard links, which is somebody's), is refused with
    /// `ErrorKind::InvalidInput` or the system's word.
    fn overwrite(&self, path: &Path) -> io::Result<Box<dyn AppendFile>>;
    /// Cuts an existing file, which nobody appends to, to `len` bytes, for a torn tail. A longer
    /// `len` than the file's is an `ErrorKind::InvalidInput`. Durable after `sync_dir`.
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()>;
    /// Writes the bytes of an existing file, which nobody appends to, once more in their place and
    /// makes them durable, whoever appended them. What a killed process did not sync can be read
    /// after a restart and is still lost with the power; after a failed sync the system takes such
    /// bytes for written, so that syncing them again would say nothing: only writing them helps.
    fn rewrite(&self, path: &Path) -> io::Result<()>;
    /// Renames a file, replacing the target: a power cut leaves the old names or the new one.
    /// Durable after `sync_dir` of the target's directory and, when it differs, of the source's.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Gives a file a second name, which must be free. The two share their bytes for good, so only
    /// files that nobody appends to any more are linked. `ErrorKind::CrossesDevices`,
    /// `Unsupported` or `PermissionDenied` where the file system cannot: then copy. Durable after
    /// `sync_dir` of the new name's directory.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes names created, renamed and removed in `dir` durable. After an error each of them may
    /// or may not be; unlike with bytes a later call that succeeds makes them so, because file
    /// systems journal names.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
    /// Takes the exclusive lock of a directory; it is released when the returned guard is dropped
    /// or the process ends in whatever way. `ErrorKind::WouldBlock` when someone else holds it.
    fn lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>>;
    /// Fails once a locked directory was moved, replaced or removed: its name leads elsewhere, and
    /// no name under it may be made, changed or taken away.
    fn stays(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }
    /// Bytes free for use on the file system of `dir`.
    fn free_bytes(&self, dir: &Path) -> io::Result<u64>;
    /// Wall clock: nanoseconds since 1970. It may jump, in both directions.
    fn now_ns(&self) -> i64;
    /// A clock that never goes back, in nanoseconds from an arbitrary origin. The origin changes
    /// with a restart: never write it to a file.
    fn monotonic_ns(&self) -> u64;
    /// Eight random bytes, unpredictable to clients on the real half.
    fn random(&self) -> u64;
    /// Runs `body` on a thread of its own. Both halves start a thread of the system; a simulation
    /// that wants to say who runs when puts its own in front of them.
    fn spawn(&self, name: &str, body: Body) -> io::Result<Box<dyn Thread>> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body)?;
        Ok(Box::new(thread))
    }
    /// Pauses the calling thread.
    fn sleep(&self, pause: Duration) {
        std::thread::sleep(pause);
    }
}

/// What a thread does.
pub type Body = Box<dyn FnOnce() + Send>;

/// A thread that [`Disk::spawn`] started.
pub trait Thread: Send {
    /// Waits until the thread has ended; false if it panicked.
    fn join(self: Box<Self>) -> bool;
}

impl Thread for JoinHandle<()> {
    fn join(self: Box<Self>) -> bool {
        JoinHandle::join(*self).is_ok()
    }
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

/// A file open for appending, or for writing over what it held before.
pub trait AppendFile: Send {
    /// Writes all of `bytes` behind what was written, to the operating system. On an error (a full
    /// disk) a prefix of them may stand in the file; [`AppendFile::len`] tells how much.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Waits until everything appended is on stable storage (fdatasync). After an error the bytes
    /// not yet synced may be lost although they can still be read and a later sync succeeds: that
    /// is how Linux behaves, and why a failed sync must not be retried.
    fn sync(&mut self) -> io::Result<()>;
    /// Bytes in the file, without those that are still to be written over.
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
