//! The world of a round: the machine that runs now, and time and chance for its threads.
//!
//! Every operation on files is a place where another thread may go on, takes some time, and has a
//! name, so that a run can say at which of them the power failed.

use crate::oracle::Clock;
use crate::random::Random;
use crate::time::{Mark, Time};
use foliot_disk::{AppendFile, Body, DirLock, Disk, ReadFile, SimDisk, Thread};
use foliot_scheduler::World;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// How the store reaches the machine: as it is, or through something that misbehaves, to prove that
/// this is noticed.
pub(crate) type Mount = fn(&SimDisk) -> Arc<dyn Disk>;

/// The machine as it is.
pub(crate) fn honest(disk: &SimDisk) -> Arc<dyn Disk> {
    Arc::new(disk.clone())
}

/// Takes a lock that one thread of the system alone ever takes, for less than a step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    match mutex.try_lock() {
        Ok(guard) => guard,
        Err(_) => {
            let bug = "BUG: held while another thread went on".to_owned();
            std::panic::resume_unwind(Box::new(bug))
        }
    }
}

/// How often the power failed at each sort of operation.
pub(crate) type Points = BTreeMap<String, u64>;

/// The machine that runs now, for all threads of a round.
pub(crate) struct Machine {
    disk: Mutex<SimDisk>,
    mount: Mount,
    chance: Mutex<Random>,
    /// How often, in a hundred places, a thread is put aside.
    interrupts: usize,
    /// What the threads are about, by number; others are about what their names say.
    purposes: Mutex<BTreeMap<usize, &'static str>>,
    pub(crate) points: Mutex<Points>,
    time: Mutex<Time>,
    /// How long each segment of the wal was when it was synced.
    syncs: Mutex<BTreeMap<PathBuf, Vec<u64>>>,
    /// Whether a file could not be removed, or a directory not synced.
    may_leave: AtomicBool,
}

impl Machine {
    pub(crate) fn new(
        seed: u64,
        mount: Mount,
        default_keep_ns: Option<i64>,
        is_capped: bool,
    ) -> Arc<Self> {
        let mut chance = Random::new(seed);
        let disk = SimDisk::new(chance.next());
        let interrupts = *chance.pick(&[0, 1, 3, 10, 30, 70]);
        let time = Time::new(disk.now_ns(), default_keep_ns, is_capped);
        Arc::new(Self {
            time: Mutex::new(time),
            syncs: Mutex::default(),
            disk: Mutex::new(disk),
            mount,
            chance: Mutex::new(chance),
            interrupts,
            purposes: Mutex::default(),
            points: Mutex::default(),
            may_leave: AtomicBool::new(false),
        })
    }

    /// Whether files may be left that nobody needs: one could not be removed, or a manifest not be
    /// put or synced to both of its places, so that either it or the one before is the truth and
    /// the files of both stay until the next one is written.
    pub(crate) fn may_leave(&self) -> bool {
        self.may_leave.load(Ordering::Relaxed)
    }

    /// The machine that runs now.
    pub(crate) fn disk(&self) -> SimDisk {
        lock(&self.disk).clone()
    }

    /// Does something on other machines: time and chance go on after it as if it had not been.
    pub(crate) fn aside<T>(&self, act: impl FnOnce() -> T) -> T {
        let (disk, chance) = (self.disk(), lock(&self.chance).clone());
        let (time, syncs) = (lock(&self.time).clone(), lock(&self.syncs).clone());
        let done = act();
        (*lock(&self.disk), *lock(&self.chance)) = (disk, chance);
        (*lock(&self.time), *lock(&self.syncs)) = (time, syncs);
        done
    }

    /// Another machine runs from now on.
    pub(crate) fn replace(&self, disk: SimDisk) {
        *lock(&self.disk) = disk;
        self.may_leave.store(false, Ordering::Relaxed);
    }

    /// The machine as the store reaches it.
    pub(crate) fn mounted(self: &Arc<Self>) -> Arc<dyn Disk> {
        let bare = self.disk();
        Arc::new(Mounted { disk: (self.mount)(&bare), bare, machine: self.clone() })
    }

    /// What the clock and the rules of retention may be taken for now.
    pub(crate) fn clock(&self) -> Clock {
        lock(&self.time).look(self.disk().now_ns())
    }

    /// Something begins that takes time.
    pub(crate) fn mark(&self) -> Mark {
        lock(&self.time).mark(self.disk().now_ns())
    }

    /// What the clock and the rules may have been taken for since then.
    pub(crate) fn since(&self, mark: &Mark) -> Clock {
        lock(&self.time).since(mark, self.disk().now_ns())
    }

    /// Sets the wall clock forward or back.
    pub(crate) fn jump(&self, ns: i64) {
        let disk = self.disk();
        let ns = lock(&self.time).jump(disk.now_ns(), ns);
        disk.jump(ns);
    }

    /// Whether a byte of a segment of the wal was synced at least twice before its last sync.
    pub(crate) fn is_old_in_wal(&self, path: &Path, offset: u64) -> bool {
        let syncs = lock(&self.syncs);
        let later = syncs.get(path).into_iter().flatten().filter(|len| **len > offset);
        later.count() > 2
    }

    /// Does something with what is known of time.
    pub(crate) fn with_time<T>(&self, act: impl FnOnce(&mut Time) -> T) -> T {
        act(&mut lock(&self.time))
    }

    /// Does something that has a name of its own among the operations.
    pub(crate) fn about<T>(&self, purpose: &'static str, act: impl FnOnce() -> T) -> T {
        let number = foliot_scheduler::current().map_or(0, |(_, number)| number);
        let before = lock(&self.purposes).insert(number, purpose);
        let done = act();
        match before {
            Some(before) => lock(&self.purposes).insert(number, before),
            None => lock(&self.purposes).remove(&number),
        };
        done
    }

    fn purpose(&self) -> String {
        let (name, number) = foliot_scheduler::current().unwrap_or_default();
        lock(&self.purposes).get(&number).map_or(name, |purpose| (*purpose).to_owned())
    }
}

/// Time and chance for the scheduler.
pub(crate) struct Threads(pub(crate) Arc<Machine>);

impl World for Threads {
    fn now_ns(&self) -> u64 {
        self.0.disk().monotonic_ns()
    }

    fn advance(&mut self, ns: u64) {
        self.0.disk().advance(ns);
    }

    fn interrupts(&mut self) -> bool {
        lock(&self.0.chance).percent(self.0.interrupts)
    }

    fn pick(&mut self, choices: usize) -> usize {
        // A turn takes time, so that threads which spin do not stop the clock.
        self.0.disk().advance(1_000);
        lock(&self.0.chance).below(choices)
    }
}

/// The machine's disk, with other threads between its operations.
#[derive(Clone)]
struct Mounted {
    disk: Arc<dyn Disk>,
    bare: SimDisk,
    machine: Arc<Machine>,
}

impl Mounted {
    /// Does one operation that changes something.
    fn change<T>(
        &self,
        what: &str,
        path: &Path,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        self.pause(2_000_000);
        let was_dead = self.bare.is_dead();
        let result = act();
        if self.bare.is_dead() && !was_dead {
            let point = format!("{}: {what} {}", self.machine.purpose(), kind(path));
            *lock(&self.machine.points).entry(point).or_default() += 1;
        }
        foliot_scheduler::pass();
        result
    }

    /// Does one operation that only looks.
    fn look<T>(&self, act: impl FnOnce() -> T) -> T {
        self.pause(50_000);
        act()
    }

    /// Lets others go on, and some time pass.
    fn pause(&self, most_ns: usize) {
        foliot_scheduler::pass();
        let ns = lock(&self.machine.chance).skewed(0, most_ns);
        if !self.bare.is_dead() {
            self.bare.advance(ns as u64);
        }
    }
}

/// What sort of file a path names.
fn kind(path: &Path) -> &str {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.split('-').next().unwrap_or_default()
}

struct Started(foliot_scheduler::Handle);

impl Thread for Started {
    fn join(self: Box<Self>) -> bool {
        self.0.join();
        true
    }
}

impl Disk for Mounted {
    fn spawn(&self, name: &str, body: Body) -> io::Result<Box<dyn Thread>> {
        Ok(Box::new(Started(foliot_scheduler::spawn(name, body))))
    }

    fn sleep(&self, pause: Duration) {
        foliot_scheduler::sleep(pause);
    }

    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.change("create", dir, || self.disk.create_dir_all(dir))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.look(|| self.disk.list(dir))
    }

    fn exists(&self, path: &Path) -> bool {
        self.look(|| self.disk.exists(path))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        let file = self.look(|| self.disk.open(path))?;
        Ok(Arc::new(MountedReadFile { file, disk: self.clone() }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = self.change("create", path, || self.disk.create(path))?;
        lock(&self.machine.syncs).remove(path);
        Ok(Box::new(MountedAppendFile { file, path: path.to_owned(), disk: self.clone() }))
    }

    fn extend(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = self.look(|| self.disk.extend(path))?;
        Ok(Box::new(MountedAppendFile { file, path: path.to_owned(), disk: self.clone() }))
    }

    fn overwrite(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = self.look(|| self.disk.overwrite(path))?;
        Ok(Box::new(MountedAppendFile { file, path: path.to_owned(), disk: self.clone() }))
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.change("truncate", path, || self.disk.truncate(path, len))
    }

    fn rewrite(&self, path: &Path) -> io::Result<()> {
        self.change("rewrite", path, || self.disk.rewrite(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let renamed = self.change("rename to", to, || self.disk.rename(from, to));
        // The first of both manifests is in place by then.
        let is_second = to.file_name().is_some_and(|name| name == "MANIFEST.copy");
        self.machine.may_leave.fetch_or(renamed.is_err() && is_second, Ordering::Relaxed);
        renamed
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change("link", to, || self.disk.link(from, to))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = self.change("remove", path, || self.disk.remove(path));
        self.machine.may_leave.fetch_or(removed.is_err(), Ordering::Relaxed);
        removed
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let synced = self.change("sync directory", dir, || self.disk.sync_dir(dir));
        self.machine.may_leave.fetch_or(synced.is_err(), Ordering::Relaxed);
        synced
    }

    fn lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        self.look(|| self.disk.lock(dir))
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        self.disk.free_bytes(dir)
    }

    fn now_ns(&self) -> i64 {
        self.disk.now_ns()
    }

    fn monotonic_ns(&self) -> u64 {
        self.disk.monotonic_ns()
    }

    fn random(&self) -> u64 {
        self.disk.random()
    }
}

struct MountedReadFile {
    file: Arc<dyn ReadFile>,
    disk: Mounted,
}

impl ReadFile for MountedReadFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.disk.look(|| self.file.read_at(buffer, offset))
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}

struct MountedAppendFile {
    file: Box<dyn AppendFile>,
    path: PathBuf,
    disk: Mounted,
}

impl AppendFile for MountedAppendFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (file, disk) = (&mut self.file, &self.disk);
        disk.change("append to", &self.path, || file.append(bytes))
    }

    fn sync(&mut self) -> io::Result<()> {
        let (file, disk) = (&mut self.file, &self.disk);
        disk.change("sync", &self.path, || file.sync())?;
        if kind(&self.path) == "wal" {
            let mut syncs = lock(&disk.machine.syncs);
            let syncs = syncs.entry(self.path.clone()).or_default();
            let len = self.file.len();
            if syncs.last() != Some(&len) {
                syncs.push(len);
            }
        }
        Ok(())
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}
