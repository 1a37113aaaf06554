//! The simulated half: a machine in memory whose power can be cut at any operation.
//!
//! A file is its bytes plus the list of written extents that were not synced ([`content`]); names
//! are a durable map plus the log of changes that were not synced ([`names`]). [`SimDisk::crash`]
//! draws from the seed what of both survives. Equal seeds and equal calls give equal machines.

mod content;
mod fate;
mod faults;
mod names;

use crate::{AppendFile, DirLock, Disk, ReadFile};
use content::Content;
use fate::{Fate, Mood};
pub use faults::FaultKind;
use faults::{Faults, Operation, Verdict};
use foliot_lock::{Mutex, Rank};
use names::Names;
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the simulated file system, unless [`SimDisk::resize`] says otherwise.
const CAPACITY_BYTES: u64 = 1 << 40;
/// The wall clock of a new machine: 2023-11-14T22:13:20Z.
const BIRTH_NS: i64 = 1_700_000_000_000_000_000;

/// A simulated machine. Clones are handles to the same machine.
#[derive(Clone)]
pub struct SimDisk {
    machine: Arc<Mutex<Machine>>,
}

struct Machine {
    names: Names,
    capacity_bytes: u64,
    /// Files that the process has open, and how many it may.
    open_files: usize,
    open_files_max: usize,
    /// Whether it wanted more.
    wants_files: bool,
    dirs: BTreeSet<PathBuf>,
    locked: BTreeSet<PathBuf>,
    faults: Faults,
    /// Decides what faults and crashes do; apart from `entropy`, so that a store which draws one
    /// number more does not meet another fate.
    fate: Fate,
    entropy: Fate,
    now_ns: i64,
    monotonic_ns: u64,
}

impl SimDisk {
    /// An empty machine whose every fate follows from `seed`.
    pub fn new(seed: u64) -> Self {
        let mut fate = Fate::new(seed);
        let entropy = fate.fork();
        Self::boot(Machine {
            names: Names::default(),
            capacity_bytes: CAPACITY_BYTES,
            open_files: 0,
            open_files_max: usize::MAX,
            wants_files: false,
            dirs: BTreeSet::new(),
            locked: BTreeSet::new(),
            faults: Faults::default(),
            fate,
            entropy,
            now_ns: BIRTH_NS,
            monotonic_ns: 0,
        })
    }

    fn boot(machine: Machine) -> Self {
        Self { machine: Arc::new(Mutex::new(Rank::Machine, machine)) }
    }

    /// Cuts the power now and returns the machine as it comes up again: locks free, no faults
    /// planned, the operation counter and the monotonic clock at zero. Of what was not synced each
    /// append survives wholly, in part, as zeros or not at all, and each change of a name survives
    /// or not. Every later operation on the old machine fails.
    pub fn crash(&self) -> Self {
        let mut old = self.machine.lock();
        old.faults.cut_power();
        let mut fate = old.fate.fork();
        let mood = Mood::draw(&mut fate);
        Self::boot(Machine {
            names: old.names.crash(mood, &mut fate),
            capacity_bytes: old.capacity_bytes,
            open_files: 0,
            open_files_max: old.open_files_max,
            wants_files: false,
            dirs: old.dirs.clone(),
            locked: BTreeSet::new(),
            faults: Faults::default(),
            entropy: fate.fork(),
            fate,
            now_ns: old.now_ns,
            monotonic_ns: 0,
        })
    }

    /// Kills the process now and returns the machine as the next process finds it: locks free, no
    /// faults planned, the operation counter at zero, files and names as they were seen, durable or
    /// not. Every later operation of the old process fails.
    pub fn kill(&self) -> Self {
        let mut old = self.machine.lock();
        old.faults.cut_power();
        let mut fate = old.fate.fork();
        Self::boot(Machine {
            names: std::mem::take(&mut old.names),
            capacity_bytes: old.capacity_bytes,
            open_files: 0,
            open_files_max: old.open_files_max,
            wants_files: false,
            dirs: old.dirs.clone(),
            locked: BTreeSet::new(),
            faults: Faults::default(),
            entropy: fate.fork(),
            fate,
            now_ns: old.now_ns,
            monotonic_ns: old.monotonic_ns,
        })
    }

    /// Plans a fault for the `n`-th operation, counted from now and from 1, of those that `kind`
    /// can hit, see [`FaultKind`]. Several faults may be planned at once.
    pub fn fail_after(&self, n: u64, kind: FaultKind) {
        self.machine.lock().faults.plan(n, kind);
    }

    /// Forgets planned faults and gives space back.
    pub fn heal(&self) {
        self.machine.lock().faults.heal();
    }

    /// Gives the file system so many bytes from now on. What does not fit any more is refused: a
    /// write leaves what fits of it, and on a disk without a free byte no name is made or changed.
    /// Removals give space back.
    pub fn resize(&self, bytes: u64) {
        self.machine.lock().capacity_bytes = bytes;
    }

    /// Lets a process have so many files open at once from now on. To list a directory takes one
    /// more for a moment.
    pub fn limit_open_files(&self, most: usize) {
        self.machine.lock().open_files_max = most;
    }

    /// Whether the process ever wanted more files open than it may have.
    pub fn wants_files(&self) -> bool {
        self.machine.lock().wants_files
    }

    /// Number of mutating operations since the machine came up.
    pub fn operations(&self) -> u64 {
        self.machine.lock().faults.operations()
    }

    /// Number of faults that struck since the machine came up; a full disk counts each refusal.
    pub fn strikes(&self) -> u64 {
        self.machine.lock().faults.strikes()
    }

    /// Whether nothing works any more: a planned [`FaultKind::Crash`] struck, or
    /// [`SimDisk::crash`] or [`SimDisk::kill`] was called.
    pub fn is_dead(&self) -> bool {
        self.machine.lock().faults.is_dead()
    }

    /// Moves both clocks forward.
    pub fn advance(&self, ns: u64) {
        let mut machine = self.machine.lock();
        machine.now_ns = machine.now_ns.saturating_add_unsigned(ns);
        machine.monotonic_ns = machine.monotonic_ns.saturating_add(ns);
    }

    /// Sets the wall clock forward or back; the other one goes on.
    pub fn jump(&self, ns: i64) {
        let mut machine = self.machine.lock();
        machine.now_ns = machine.now_ns.saturating_add(ns);
    }

    /// Lets the medium rot: flips the bits of `mask` in one stored byte.
    ///
    /// # Errors
    /// When there is no such file or it ends before `offset`.
    pub fn rot(&self, path: &Path, offset: u64, mask: u8) -> io::Result<()> {
        let machine = self.machine.lock();
        machine.names.get(path).ok_or_else(not_found)?.lock().rot(offset, mask)
    }

    /// Whether the other machine has the same files under the same names: power cuts of one
    /// machine may leave the same.
    pub fn is_like(&self, other: &Self) -> bool {
        self.files() == other.files()
    }

    /// All files, in the order of their names. What no machine changed since they were one is
    /// shared.
    fn files(&self) -> Vec<(PathBuf, Arc<Vec<u8>>)> {
        self.machine.lock().names.files()
    }

    /// Counts one more open file.
    fn opened(&self, machine: &mut Machine) -> Opened {
        machine.open_files += 1;
        Opened { disk: self.clone() }
    }

    /// Does one mutating operation on names. When the power fails during it, it may or may not have
    /// happened.
    fn change(
        &self,
        operation: Operation,
        apply: impl FnOnce(&mut Machine) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut machine = self.machine.lock();
        match machine.faults.meet(operation)? {
            Verdict::Done if operation.takes_space() && machine.is_full() => {
                Err(machine.refuse(FaultKind::NoSpace { operations: 1 }))
            }
            Verdict::Done => apply(&mut machine),
            Verdict::Fault(kind) => {
                if kind == FaultKind::Crash && machine.fate.percent(50) {
                    // The power is off: nobody is left to hear how it went.
                    let _ = apply(&mut machine);
                }
                Err(kind.error())
            }
        }
    }
}

impl Disk for SimDisk {
    fn create_dir_all(&self, dir: &Path) -> io::Result<()> {
        self.change(Operation::Name, |machine| {
            if dir.ancestors().any(|dir| machine.names.get(dir).is_some()) {
                return Err(ErrorKind::AlreadyExists.into());
            }
            let new = dir.ancestors().filter(|dir| !is_root(dir));
            machine.dirs.extend(new.map(Path::to_owned));
            Ok(())
        })
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let mut machine = self.machine.lock();
        machine.open(Operation::Open)?;
        machine.need_dir(dir)?;
        let inside = |path: &&PathBuf| path.parent() == Some(dir);
        let entries = machine.names.paths().chain(&machine.dirs).filter(inside);
        Ok(entries.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect())
    }

    fn exists(&self, path: &Path) -> bool {
        let machine = self.machine.lock();
        !machine.faults.is_dead() && (machine.is_dir(path) || machine.names.get(path).is_some())
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadFile>> {
        let mut machine = self.machine.lock();
        machine.open(Operation::Open)?;
        let content = Arc::clone(machine.names.get(path).ok_or_else(not_found)?);
        let len = content.lock().len();
        let _opened = self.opened(&mut machine);
        Ok(Arc::new(SimReadFile { content, len, _opened, disk: self.clone() }))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let content = Arc::new(Mutex::new(Rank::Content, Content::default()));
        let mut opened = None;
        self.change(Operation::Create, |machine| {
            machine.need_parent(path)?;
            machine.need_descriptor()?;
            if machine.is_dir(path) {
                return Err(ErrorKind::IsADirectory.into());
            }
            machine.names.remove(path);
            machine.names.put(path, Arc::clone(&content));
            opened = Some(self.opened(machine));
            Ok(())
        })?;
        Ok(Box::new(SimAppendFile { content, len: 0, _opened: opened, disk: self.clone() }))
    }

    fn extend(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut machine = self.machine.lock();
        machine.open(Operation::Open)?;
        let content = Arc::clone(machine.names.get(path).ok_or_else(not_found)?);
        let len = content.lock().len();
        let _opened = Some(self.opened(&mut machine));
        Ok(Box::new(SimAppendFile { content, len, _opened, disk: self.clone() }))
    }

    fn overwrite(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let mut machine = self.machine.lock();
        machine.open(Operation::Open)?;
        let content = Arc::clone(machine.names.get(path).ok_or_else(not_found)?);
        let _opened = Some(self.opened(&mut machine));
        Ok(Box::new(SimAppendFile { content, len: 0, _opened, disk: self.clone() }))
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.change(Operation::Name, |machine| {
            let cut = machine.names.get(path).ok_or_else(not_found)?.lock().cut(len)?;
            // The same name for other bytes: so the cut becomes durable with the directory.
            machine.names.put(path, Arc::new(Mutex::new(Rank::Content, cut)));
            Ok(())
        })
    }

    fn rewrite(&self, path: &Path) -> io::Result<()> {
        let mut machine = self.machine.lock();
        let verdict = machine.faults.meet(Operation::Sync)?;
        let mut content = machine.names.get(path).ok_or_else(not_found)?.lock();
        content.rewrite(verdict)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(Operation::Rename, |machine| {
            machine.need_parent(to)?;
            if machine.names.rename(from, to) { Ok(()) } else { Err(not_found()) }
        })
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.change(Operation::Name, |machine| {
            machine.need_parent(to)?;
            if machine.is_dir(to) || machine.names.get(to).is_some() {
                return Err(ErrorKind::AlreadyExists.into());
            }
            let content = Arc::clone(machine.names.get(from).ok_or_else(not_found)?);
            machine.names.put(to, content);
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let missing = |machine: &mut Machine| match machine.names.remove(path) {
            true => Ok(()),
            false => Err(not_found()),
        };
        self.change(Operation::Remove, missing)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let mut machine = self.machine.lock();
        match machine.faults.meet(Operation::Sync)? {
            Verdict::Done => {
                machine.need_dir(dir)?;
                machine.names.sync(dir);
                Ok(())
            }
            Verdict::Fault(kind) => Err(kind.error()),
        }
    }

    fn lock(&self, dir: &Path) -> io::Result<Box<dyn DirLock>> {
        let mut machine = self.machine.lock();
        machine.faults.meet(Operation::Look)?;
        machine.need_dir(dir)?;
        if !machine.locked.insert(dir.to_owned()) {
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(Box::new(SimDirLock { disk: self.clone(), dir: dir.to_owned() }))
    }

    fn free_bytes(&self, dir: &Path) -> io::Result<u64> {
        let mut machine = self.machine.lock();
        machine.faults.meet(Operation::Look)?;
        machine.need_dir(dir)?;
        let free = machine.free_bytes();
        Ok(if machine.faults.is_full() { 0 } else { free })
    }

    fn now_ns(&self) -> i64 {
        self.machine.lock().now_ns
    }

    fn monotonic_ns(&self) -> u64 {
        self.machine.lock().monotonic_ns
    }

    fn random(&self) -> u64 {
        self.machine.lock().entropy.next()
    }
}

impl Machine {
    /// Meets an operation that takes a descriptor.
    fn open(&mut self, operation: Operation) -> io::Result<()> {
        self.faults.meet(operation)?;
        self.need_descriptor()
    }

    fn need_descriptor(&mut self) -> io::Result<()> {
        match self.open_files < self.open_files_max {
            true => Ok(()),
            false => {
                self.wants_files = true;
                Err(self.refuse(FaultKind::NoDescriptors { operations: 1 }))
            }
        }
    }

    /// What is missing counts as a fault that struck.
    fn refuse(&mut self, kind: FaultKind) -> io::Error {
        self.faults.strike();
        kind.error()
    }

    fn is_full(&self) -> bool {
        self.capacity_bytes < CAPACITY_BYTES && self.free_bytes() == 0
    }

    fn is_dir(&self, path: &Path) -> bool {
        is_root(path) || self.dirs.contains(path)
    }

    fn free_bytes(&self) -> u64 {
        self.capacity_bytes.saturating_sub(self.names.bytes())
    }

    fn need_dir(&self, dir: &Path) -> io::Result<()> {
        if self.is_dir(dir) { Ok(()) } else { Err(not_found()) }
    }

    fn need_parent(&self, path: &Path) -> io::Result<()> {
        self.need_dir(path.parent().ok_or(ErrorKind::InvalidInput)?)
    }
}

fn is_root(path: &Path) -> bool {
    path.parent().is_none() || path == Path::new(".")
}

fn not_found() -> io::Error {
    ErrorKind::NotFound.into()
}

/// A descriptor that is in use.
struct Opened {
    disk: SimDisk,
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.disk.machine.lock().open_files -= 1;
    }
}

struct SimReadFile {
    disk: SimDisk,
    content: Arc<Mutex<Content>>,
    len: u64,
    _opened: Opened,
}

impl ReadFile for SimReadFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut machine = self.disk.machine.lock();
        match machine.faults.meet(Operation::Read)? {
            Verdict::Done => self.content.lock().read_at(buffer, offset),
            Verdict::Fault(kind) => Err(kind.error()),
        }
    }

    fn len(&self) -> u64 {
        self.len
    }
}

struct SimAppendFile {
    disk: SimDisk,
    content: Arc<Mutex<Content>>,
    len: u64,
    _opened: Option<Opened>,
}

impl AppendFile for SimAppendFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut machine = self.disk.machine.lock();
        let (fitting, result) = match machine.faults.meet(Operation::Append)? {
            Verdict::Done => (bytes.len(), Ok(())),
            Verdict::Fault(kind) => (machine.fate.up_to(bytes.len()), Err(kind.error())),
        };
        let free = match machine.capacity_bytes {
            CAPACITY_BYTES => u64::MAX,
            _ => machine.free_bytes(),
        };
        let mut content = self.content.lock();
        // What is written over takes no more room.
        let room = free.saturating_add(content.len().saturating_sub(self.len));
        let (fitting, result) = match result {
            Ok(()) if room < bytes.len() as u64 => {
                (room as usize, Err(machine.refuse(FaultKind::NoSpace { operations: 1 })))
            }
            result => (fitting, result),
        };
        let written = bytes.get(..fitting).unwrap_or(bytes);
        content.write(self.len, written);
        self.len += written.len() as u64;
        result
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut machine = self.disk.machine.lock();
        let verdict = machine.faults.meet(Operation::Sync)?;
        self.content.lock().settle(verdict)
    }

    fn len(&self) -> u64 {
        self.len
    }
}

struct SimDirLock {
    disk: SimDisk,
    dir: PathBuf,
}

impl DirLock for SimDirLock {
    fn dir(&self) -> &PathBuf {
        &self.dir
    }
}

impl Drop for SimDirLock {
    fn drop(&mut self) {
        self.disk.machine.lock().locked.remove(&self.dir);
    }
}
