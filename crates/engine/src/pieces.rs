//! A long wal is taken in by pieces: what fits into memory is flushed, and recovery begins again
//! with the rest, as after a kill behind that flush.
//!
//! Such a flush is one that could have happened when the last frame of the piece was written, with
//! two differences. What later frames delete is not in it: a delete masks files up to a number that
//! was given to it then, and the piece's files get higher ones now. And a change of classes divides
//! files by numbers as well, so no piece ends before the last one: memory takes in all before it.
//!
//! Where a piece cannot be flushed, because the disk is full, memory takes in all there is, and the
//! store starts.

use crate::catalog::Catalog;
use crate::config::Config;
use crate::error::Error;
use crate::head::Head;
use crate::opening::Opening;
use crate::recover::{self, ReadAgain, Recovered};
use crate::retention;
use crate::stats::Counters;
use crate::tombstones::Tombstone;
use crate::wal::frame::FrameKind;
use foliot_disk::Disk;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How much of the wal is taken in at once.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    /// Bytes of samples in memory after which a piece may end.
    head_bytes: u64,
    /// No piece ends before this lsn.
    from_lsn: u64,
}

impl Bound {
    const NONE: Self = Self { head_bytes: u64::MAX, from_lsn: 0 };
}

/// Opens the store in `dir`, telling how far it is.
pub(crate) fn open(
    disk: Arc<dyn Disk>,
    dir: &Path,
    config: Config,
    opening: &Opening,
) -> Result<Recovered, Error> {
    let mut told = Told::default();
    let mut bound = Bound { head_bytes: config.head_bytes_max, from_lsn: 0 };
    loop {
        match recover::open_within(disk.clone(), dir, (&config, bound), opening)? {
            (recovered, None) => return Ok(told.before(recovered)),
            (_, Some(End::Before(from_lsn))) => bound.from_lsn = from_lsn,
            (recovered, Some(End::At(cut_lsn))) => {
                told.add(&recovered);
                if let Err(error) = recovered.store.upkeep.flush_replayed(cut_lsn) {
                    told.notes.push(format!(
                        "the log holds more than memory is to take, and its first part could not \
                         be written out, so that memory takes all of it: {error}"
                    ));
                    bound = Bound::NONE;
                }
            }
        }
    }
}

/// Where the first piece of a wal ends.
#[derive(Clone, Copy)]
pub(crate) enum End {
    At(u64),
    /// It may not end before this lsn, and did.
    Before(u64),
}

/// The first piece of a wal, while it is read.
pub(crate) struct First {
    bound: Bound,
    cut_lsn: Option<u64>,
    /// The last change of classes behind that, which ends there or before.
    divided_lsn: Option<u64>,
}

impl First {
    pub(crate) fn new(bound: Bound) -> Self {
        Self { bound, cut_lsn: None, divided_lsn: None }
    }

    /// Whether a frame belongs to what follows the piece.
    pub(crate) fn is_over(&mut self, lsn: u64, kind: FrameKind, head_bytes: u64) -> bool {
        let Bound { head_bytes: most, from_lsn } = self.bound;
        // Only samples take much, and no copy of them stands elsewhere.
        if self.cut_lsn.is_none() && kind == FrameKind::Rows && head_bytes > most && lsn >= from_lsn
        {
            self.cut_lsn = Some(lsn);
        }
        self.cut_lsn.is_some()
    }

    /// Passes over a frame that follows the piece: takes from memory what it deletes.
    pub(crate) fn pass(
        &mut self,
        lsn: u64,
        kind: FrameKind,
        body: &[u8],
        head: &Head,
    ) -> Result<(), Error> {
        match kind {
            FrameKind::Delete => {
                if let Some(tombstone) = Tombstone::decode(&mut &*body) {
                    head.cut(&tombstone.sids, tombstone.range)?;
                }
            }
            FrameKind::Catalog => {
                let fact = Catalog::default();
                if fact.apply(&mut &*body).is_some() && !retention::reclassified(&fact).is_empty() {
                    self.divided_lsn = Some(lsn);
                }
            }
            FrameKind::Register | FrameKind::Rows => {}
        }
        Ok(())
    }

    /// Where the piece ends; nothing when it is all there is.
    pub(crate) fn end(&self) -> Option<End> {
        let cut = self.cut_lsn.map(End::At);
        self.divided_lsn.map(End::Before).or(cut)
    }
}

/// What pieces had to say, each beside what the one before had said already.
#[derive(Default)]
struct Told {
    damages: Vec<String>,
    notes: Vec<String>,
    read_again: ReadAgain,
    orphaned: u64,
    damaged_bytes: u64,
    torn_bytes: u64,
    missing: u64,
}

impl Told {
    fn add(&mut self, piece: &Recovered) {
        add_new(&mut self.damages, &piece.damages);
        add_new(&mut self.notes, &piece.notes);
        let count = |count: fn(&Counters) -> &AtomicU64| {
            count(piece.store.ingest.counters()).load(Ordering::Relaxed)
        };
        // Each reads the wal to its end, and takes in samples of its own.
        let ReadAgain { samples, bytes } = piece.read_again;
        self.read_again.samples += samples;
        self.read_again.bytes = self.read_again.bytes.max(bytes);
        self.orphaned += count(|counters| &counters.samples_orphaned);
        self.damaged_bytes = self.damaged_bytes.max(count(|counters| &counters.wal_damaged_bytes));
        self.torn_bytes = self.torn_bytes.max(count(|counters| &counters.wal_torn_bytes));
        self.missing = self.missing.max(count(|counters| &counters.wal_segments_missing));
    }

    /// The last piece, with what those before it had to say.
    fn before(mut self, mut last: Recovered) -> Recovered {
        self.add(&last);
        let counters = last.store.ingest.counters();
        counters.samples_orphaned.store(self.orphaned, Ordering::Relaxed);
        counters.wal_damaged_bytes.store(self.damaged_bytes, Ordering::Relaxed);
        counters.wal_torn_bytes.store(self.torn_bytes, Ordering::Relaxed);
        counters.wal_segments_missing.store(self.missing, Ordering::Relaxed);
        (last.damages, last.notes) = (self.damages, self.notes);
        last.read_again = self.read_again;
        last
    }
}

fn add_new(all: &mut Vec<String>, some: &[String]) {
    for each in some {
        if !all.contains(each) {
            all.push(each.clone());
        }
    }
}
