//! Faults of the machine, injected between the real binary and the C library; see `faults.c`.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// How `errno` counts.
pub(crate) const EIO: i32 = 5;
pub(crate) const EMFILE: i32 = 24;
pub(crate) const ENOSPC: i32 = 28;
pub(crate) const EROFS: i32 = 30;

pub(crate) const FOREVER: u64 = u64::MAX;

const RULES: usize = 8;
const RULE_BYTES: usize = 16 + 48 + 4 + 4 + 8 + 8 + 8;
const CONTROL_BYTES: usize = 8 + RULES * RULE_BYTES;
const NOTE_BYTES: usize = 32;
const SECTOR_BYTES: u64 = 512;

/// What happens to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Fail(i32),
    /// The sync says that it succeeded and does nothing.
    Lie,
    /// Half of the bytes are written.
    Short,
    /// The process is killed before the call.
    Kill,
    DelayMs(i32),
}

/// Which calls are struck: `call` is one of the names in `faults.c`, `path` a part of the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) call: &'static str,
    pub(crate) path: &'static str,
    pub(crate) action: Action,
    /// So many matching calls pass first, then `count` of them are struck.
    pub(crate) skip: u64,
    pub(crate) count: u64,
}

impl Rule {
    pub(crate) fn always(call: &'static str, path: &'static str, action: Action) -> Self {
        Self { call, path, action, skip: 0, count: FOREVER }
    }

    pub(crate) fn after(self, skip: u64) -> Self {
        Self { skip, ..self }
    }

    pub(crate) fn times(self, count: u64) -> Self {
        Self { count, ..self }
    }
}

/// A machine whose faults can be told while a server runs on it.
pub(crate) struct Machine {
    dir: PathBuf,
    control: File,
    control_path: PathBuf,
    journal_path: PathBuf,
}

/// The compiled library, made once by each run of the tests.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let name = format!("faults-{}.so", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/torture/faults.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let made = Command::new(compiler)
            .args(["-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o"])
            .args([path.as_os_str(), source.as_ref(), "-ldl".as_ref()])
            .status();
        assert!(made.is_ok_and(|status| status.success()), "the C compiler makes {source}");
        path
    })
}

impl Machine {
    /// A sound machine for the store in `dir`; its own files lie in `beside`.
    pub(crate) fn new(dir: &Path, beside: &Path) -> Self {
        let [control_path, journal_path] = ["control", "journal"].map(|name| beside.join(name));
        let open = OpenOptions::new()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(&control_path);
        let control = open.unwrap();
        control.set_len(CONTROL_BYTES as u64).unwrap();
        Self { dir: dir.to_owned(), control, control_path, journal_path }
    }

    /// Has a command run on this machine.
    pub(crate) fn host(&self, mut command: Command) -> Command {
        command
            .env("LD_PRELOAD", library())
            .env("FAULTS_DIR", &self.dir)
            .env("FAULTS_CONTROL", &self.control_path)
            .env("FAULTS_JOURNAL", &self.journal_path);
        command
    }

    /// Sets rule `number` and counts its calls from 0.
    pub(crate) fn set(&self, number: usize, rule: Rule) {
        self.clear(number);
        let (action, value) = match rule.action {
            Action::Fail(errno) => (1_u32, errno),
            Action::Lie => (2, 0),
            Action::Short => (3, 0),
            Action::Kill => (4, 0),
            Action::DelayMs(ms) => (5, ms),
        };
        let mut bytes = [0; RULE_BYTES];
        bytes[..rule.call.len()].copy_from_slice(rule.call.as_bytes());
        bytes[16..16 + rule.path.len()].copy_from_slice(rule.path.as_bytes());
        bytes[68..72].copy_from_slice(&value.to_le_bytes());
        bytes[72..80].copy_from_slice(&rule.skip.to_le_bytes());
        bytes[80..88].copy_from_slice(&rule.count.to_le_bytes());
        self.control.write_all_at(&bytes, Self::at(number)).unwrap();
        // The action comes last: only then is the rule in force.
        self.control.write_all_at(&action.to_le_bytes(), Self::at(number) + 64).unwrap();
    }

    pub(crate) fn clear(&self, number: usize) {
        self.control.write_all_at(&[0; 4], Self::at(number) + 64).unwrap();
        self.control.write_all_at(&[0; RULE_BYTES], Self::at(number)).unwrap();
    }

    /// Calls that a rule matched so far.
    pub(crate) fn seen(&self, number: usize) -> u64 {
        let mut bytes = [0; 8];
        self.control.read_exact_at(&mut bytes, Self::at(number) + 88).unwrap();
        u64::from_le_bytes(bytes)
    }

    /// Moves the wall clock away from the right time.
    pub(crate) fn set_clock(&self, ahead_ns: i64) {
        self.control.write_all_at(&ahead_ns.to_le_bytes(), 0).unwrap();
    }

    const fn at(number: usize) -> u64 {
        assert!(number < RULES);
        (8 + number * RULE_BYTES) as u64
    }

    /// Cuts the power: what no honest sync made durable is gone, whole sectors of it, all of them
    /// or those that `coin` says. No server may run. Names survive: file systems journal them.
    /// Returns how many bytes were lost.
    pub(crate) fn cut_power(&self, mut coin: impl FnMut() -> bool) -> u64 {
        let bytes = std::fs::read(&self.journal_path).unwrap();
        let mut files: BTreeMap<u64, Dirt> = BTreeMap::new();
        for note in bytes.chunks_exact(NOTE_BYTES) {
            let word = |at: usize| u64::from_le_bytes(note[at..at + 8].try_into().unwrap());
            files.entry(word(8)).or_default().note(word(0) as u8, word(16), word(24));
        }
        let mut lost = 0;
        for path in all_files(&self.dir) {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            let metadata = file.metadata().unwrap();
            let Some(dirt) = files.get(&metadata.ino()) else { continue };
            lost += dirt.lose(&file, metadata.len(), &mut coin);
        }
        std::fs::remove_file(&self.journal_path).unwrap();
        lost
    }
}

fn all_files(dir: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(all_files(&path)),
            false => all.push(path),
        }
    }
    all
}

/// What of one file is not on stable storage.
#[derive(Default)]
struct Dirt {
    /// Written since the last sync began.
    fresh: Vec<(u64, u64)>,
    /// Written before a sync that has begun.
    syncing: Vec<(u64, u64)>,
    /// Given up by a failed sync: clean in memory, and not on the disk.
    lost: Vec<(u64, u64)>,
}

impl Dirt {
    fn note(&mut self, what: u8, offset: u64, length: u64) {
        match what {
            b'n' => *self = Self::default(),
            b'w' => {
                // Written once more, it is dirty again rather than lost.
                self.lost =
                    self.lost.iter().flat_map(|range| without(*range, (offset, length))).collect();
                self.fresh.push((offset, length));
            }
            // The same bytes once more: what was lost is dirty again, what was on the disk stays.
            b'o' => {
                let end = offset + length;
                let again = self.lost.iter().filter_map(|&(from, len)| {
                    let (start, end) = (from.max(offset), end.min(from + len));
                    (start < end).then(|| (start, end - start))
                });
                self.fresh.extend(again);
                self.lost =
                    self.lost.iter().flat_map(|range| without(*range, (offset, length))).collect();
            }
            b'b' => self.syncing.append(&mut self.fresh),
            b's' => self.syncing.clear(),
            b'f' => self.lost.append(&mut self.syncing),
            // A length belongs to the names, which survive; what is cut off is no longer dirty.
            b't' => {
                for ranges in [&mut self.fresh, &mut self.syncing, &mut self.lost] {
                    ranges.retain(|(offset, _)| *offset < length);
                }
            }
            what => panic!("a note of kind {what}"),
        }
    }

    fn lose(&self, file: &File, len: u64, coin: &mut impl FnMut() -> bool) -> u64 {
        let all = [&self.fresh, &self.syncing, &self.lost];
        let (mut gone, mut end) = (0, len);
        for (offset, length) in all.into_iter().flatten().copied() {
            let mut at = offset;
            while at < (offset + length).min(len) {
                let next = (at / SECTOR_BYTES + 1) * SECTOR_BYTES;
                let piece = next.min(offset + length).min(len) - at;
                if coin() {
                    file.write_all_at(&vec![0; piece as usize], at).unwrap();
                    gone += piece;
                    // A file whose tail was not synced may also be shorter.
                    if offset + length >= len {
                        end = end.min(at);
                    }
                }
                at += piece;
            }
        }
        if end < len && coin() {
            file.set_len(end).unwrap();
        }
        gone
    }
}

/// A range without another: what stands before, and behind.
fn without(range: (u64, u64), other: (u64, u64)) -> Vec<(u64, u64)> {
    let (start, end) = (range.0, range.0 + range.1);
    let (cut_start, cut_end) = (other.0.max(start), (other.0 + other.1).min(end));
    if cut_start >= cut_end {
        return vec![range];
    }
    let sides = [(start, cut_start - start), (cut_end, end - cut_end)];
    sides.into_iter().filter(|(_, length)| *length > 0).collect()
}
