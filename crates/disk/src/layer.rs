//! A disk in front of another one.

use crate::{AppendFile, Body, DirLock, Disk, ReadFile, Thread};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A disk in front of another one, which does most things as that one does: a layer has the methods
/// in which it differs alone, and is a [`Disk`].
///
/// ```
/// use foliot_disk::{Disk, Layer, SimDisk};
///
/// /// A disk on which time stands still.
/// struct Still(SimDisk);
///
/// impl Layer for Still {
///     fn below(&self) -> &dyn Disk {
///         &self.0
///     }
///     fn now_ns(&self) -> i64 {
///         0
///     }
/// }
///
/// let disk: &dyn Disk = &Still(SimDisk::new(7));
/// assert_eq!(disk.now_ns(), 0);
/// assert!(!disk.exists("data".as_ref()));
/// ```
#[allow(missing_docs, reason = "each method is that of `Disk`, which says what it does")]
pub trait Layer: Send + Sync + 'static {
    /// The disk that this one is in front of.
    fn below(&self) -> &dyn Disk;
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.below().create_dir_all(dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.below().list(dir)
    }
    fn exists(&self, path: &Path) -> bool {
        self.below().exists(path)
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        self.below().open(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.below().create(path)
    }
    fn extend(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.below().extend(path)
    }
    fn overwrite(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        self.below().overwrite(path)
    }
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.below().truncate(path, len)
    }
    fn rewrite(&self, path: &Path) -> io::Result<()> {
        self.below().rewrite(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.below().rename(from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.below().link(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.below().remove(path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        self.below().sync_dir(dir)
    }
    fn lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        self.below().lock(dir)
    }
    fn stays(&self, dir: &Path) -> io::Result<()> {
        self.below().stays(dir)
    }
    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.below().free_bytes(dir)
    }
    fn now_ns(&self) -> i64 {
        self.below().now_ns()
    }
    fn monotonic_ns(&self) -> u64 {
        self.below().monotonic_ns()
    }
    fn random(&self) -> u64 {
        self.below().random()
    }
    fn spawn(&self, name: &str, body: Body) -> io::Result<Box<dyn Thread>> {
        self.below().spawn(name, body)
    }
    fn sleep(&self, pause: Duration) {
        self.below().sleep(pause)
    }
}

impl<L: Layer> Disk for L {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        Layer::create_dir_all(self, dir)
    }
    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        Layer::list(self, dir)
    }
    fn exists(&self, path: &Path) -> bool {
        Layer::exists(self, path)
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        Layer::open(self, path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Layer::create(self, path)
    }
    fn extend(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Layer::extend(self, path)
    }
    fn overwrite(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        Layer::overwrite(self, path)
    }
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        Layer::truncate(self, path, len)
    }
    fn rewrite(&self, path: &Path) -> io::Result<()> {
        Layer::rewrite(self, path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        Layer::rename(self, from, to)
    }
    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        Layer::link(self, from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        Layer::remove(self, path)
    }
    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        Layer::sync_dir(self, dir)
    }
    fn lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        Layer::lock(self, dir)
    }
    fn stays(&self, dir: &Path) -> io::Result<()> {
        Layer::stays(self, dir)
    }
    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        Layer::free_bytes(self, dir)
    }
    fn now_ns(&self) -> i64 {
        Layer::now_ns(self)
    }
    fn monotonic_ns(&self) -> u64 {
        Layer::monotonic_ns(self)
    }
    fn random(&self) -> u64 {
        Layer::random(self)
    }
    fn spawn(&self, name: &str, body: Body) -> io::Result<Box<dyn Thread>> {
        Layer::spawn(self, name, body)
    }
    fn sleep(&self, pause: Duration) {
        Layer::sleep(self, pause)
    }
}
