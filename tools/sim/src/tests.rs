//! A short run over many crashes, and proof that the simulator is a pure function of its seed and
//! notices what it is there to notice.

use super::*;
use foliot_disk::{AppendFile, Disk, Layer, SimDisk};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Enough for some thousand crashes.
const ROUNDS: u64 = 600;

/// So often are as many rounds played again while the power has not failed at one of `POINTS`:
/// which of the rarer ones a run meets changes with each change of the store.
const MORE: u64 = 7;

/// Where the power must have failed: who was at it, and which operation it was.
const POINTS: [&str; 44] = [
    "backup: append to part",
    "client: append to wal",
    "client: create wal",
    "epoch: append to MANIFEST.copy.new",
    "epoch: append to MANIFEST.new",
    "epoch: create MANIFEST.copy.new",
    "epoch: create part",
    "epoch: sync MANIFEST.copy.new",
    "epoch: sync MANIFEST.new",
    "epoch: sync directory store",
    "flush: append to MANIFEST.copy.new",
    "flush: append to MANIFEST.new",
    "flush: append to part",
    "flush: append to wal",
    "flush: create MANIFEST.new",
    "flush: create index",
    "flush: create part",
    "flush: create wal",
    "flush: remove wal",
    "flush: rename to MANIFEST",
    "flush: rename to MANIFEST.copy",
    "flush: sync MANIFEST.copy.new",
    "flush: sync MANIFEST.new",
    "flush: sync directory store",
    "flush: sync part",
    "flush: sync wal",
    "open: append to MANIFEST.copy.new",
    "open: append to MANIFEST.new",
    "open: create MANIFEST.copy.new",
    "open: create MANIFEST.new",
    "open: create store",
    "open: remove part",
    "open: rename to MANIFEST",
    "open: rename to MANIFEST.copy",
    "open: rewrite wal",
    "open: sync MANIFEST.copy.new",
    "open: sync MANIFEST.new",
    "open: sync directory store",
    "retain: append to audit.log",
    "retain: sync audit.log",
    "wal: append to wal",
    "wal: create wal",
    "wal: sync directory store",
    "wal: sync wal",
];

#[test]
fn nothing_acknowledged_is_lost() {
    let play = |seed| {
        let plan = Plan { seed, rounds: ROUNDS, threads: 2, failures: 3, trace: false };
        let (tally, failures) = plan.run();
        assert_eq!(failures, 0, "see the seeds above");
        tally
    };
    let tally = play(1);
    assert!(tally.power_cuts > 900 && tally.kills > 400 && tally.closes > 600, "{tally:?}");
    assert!(tally.faults > 1000 && tally.flushes > 1500 && tally.merges > 400, "{tally:?}");
    assert!(tally.deletes > 500 && tally.epochs > 500 && tally.backups > 200, "{tally:?}");
    assert!(tally.renames > 30 && tally.namespaces_dropped > 100 && tally.trials > 50, "{tally:?}");
    assert!(tally.acknowledged > tally.events / 10, "{tally:?}");

    let mut missed = POINTS.to_vec();
    missed.retain(|&point| !tally.points.contains_key(point));
    for more in 1..=MORE {
        if missed.is_empty() {
            return;
        }
        let tally = play(1 + more * ROUNDS);
        missed.retain(|&point| !tally.points.contains_key(point));
    }
    assert!(missed.is_empty(), "the power never failed at {missed:?}");
}

#[test]
fn a_round_follows_from_its_seed() {
    let steps = |seed| {
        let steps = Arc::new(Mutex::new(Vec::new()));
        let all = steps.clone();
        let trace = move |step| world::lock(&all).push(step);
        let result = round::play(seed, world::honest, Some(Box::new(trace)));
        (result, std::mem::take(&mut *world::lock(&steps)))
    };
    for seed in 0..10 {
        assert_eq!(steps(seed), steps(seed), "seed {seed}");
    }
}

#[test]
fn syncs_that_do_nothing_are_found_out() {
    assert!(finds_out(|disk| Arc::new(Liar { disk: disk.clone(), lie: Lie::Sync })));
}

#[test]
fn directory_syncs_that_do_nothing_are_found_out() {
    assert!(finds_out(|disk| Arc::new(Liar { disk: disk.clone(), lie: Lie::SyncDir })));
}

#[test]
fn appends_that_spoil_a_bit_are_found_out() {
    assert!(finds_out(|disk| Arc::new(Liar { disk: disk.clone(), lie: Lie::Append })));
}

/// Whether some round passes on the machine as it is and fails on one that lies.
fn finds_out(mount: world::Mount) -> bool {
    let passes = |seed, mount| round::play(seed, mount, None).is_ok();
    (0..50).any(|seed| passes(seed, world::honest) && !passes(seed, mount))
}

/// What a machine lies about.
#[derive(Clone, Copy, PartialEq)]
enum Lie {
    Sync,
    SyncDir,
    Append,
}

/// A machine that says it did what it did not.
struct Liar {
    disk: SimDisk,
    lie: Lie,
}

struct LiarFile {
    file: Box<dyn AppendFile>,
    lie: Lie,
    appends: u64,
}

impl Layer for Liar {
    fn below(&self) -> &dyn Disk {
        &self.disk
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = self.disk.create(path)?;
        Ok(Box::new(LiarFile { file, lie: self.lie, appends: 0 }))
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        if self.lie == Lie::SyncDir { Ok(()) } else { self.disk.sync_dir(dir) }
    }

    fn rewrite(&self, path: &Path) -> io::Result<()> {
        if self.lie == Lie::Sync { Ok(()) } else { self.disk.rewrite(path) }
    }

    fn overwrite(&self, path: &Path) -> io::Result<Box<dyn AppendFile>> {
        let file = self.disk.overwrite(path)?;
        Ok(Box::new(LiarFile { file, lie: self.lie, appends: 0 }))
    }
}

impl AppendFile for LiarFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.appends += 1;
        if self.lie == Lie::Append && self.appends == 4 && !bytes.is_empty() {
            let mut spoiled = bytes.to_vec();
            *spoiled.last_mut().unwrap() ^= 1;
            return self.file.append(&spoiled);
        }
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.lie == Lie::Sync { Ok(()) } else { self.file.sync() }
    }

    fn len(&self) -> u64 {
        self.file.len()
    }
}
