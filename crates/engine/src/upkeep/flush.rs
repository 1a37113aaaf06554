//! Flush: head -> parts.
//!
//! 1. *cut*: hold the gate for an instant; everything before the lsn read there is in the head.
//!    When most series have gone quiet, a new epoch begins here.
//! 2. *freeze*: page by page, take the samples out of the head into the view's frozen set, where
//!    readers still find them.
//! 3. *write*: series by series into one part for each (namespace, retention class, epoch,
//!    window); in rounds when there are very many.
//! 4. *checkpoint*: registrations since the last flush, the catalog and the deletes if they
//!    changed.
//! 5. *publish*: the manifest names the new files; the view swaps; the wal before the cut goes.
//!
//! If a step fails the samples stay in the frozen set and the wal; the next flush writes them.

use super::Upkeep;
use super::activity::Activity;
use crate::block::{Block, Builder, Decoder};
use crate::config::Commit;
use crate::epochs::Epochs;
use crate::error::Error;
use crate::filenames::Named;
use crate::files::Made;
use crate::head::page::{PageData, SeriesCopy};
use crate::limits::{FLUSH_WRITERS_MAX, PAGE_SERIES};
use crate::manifest::{Manifest, PartEntry};
use crate::part::format::Header;
use crate::part::{Part, PartWriter};
use crate::tombstones::Tombstones;
use crate::troubles::Work;
use crate::view::View;
use foliot_index::Mark;
use foliot_model::{Samples, TimeRange};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What files hold of what memory learns, from which the next flush goes on.
pub(super) struct Checkpoint {
    /// Up to where index files go, by epoch, for registries in memory.
    pub(super) index_marks: BTreeMap<u32, Mark>,
    pub(super) activity: Activity,
    /// Flushes since the open epoch began, or since the store was opened.
    pub(super) flushes_since_switch: u32,
    /// Changes of the catalog that its file holds, as counted.
    catalog_changes: u64,
    /// The deletes that their file holds.
    deletes: Arc<Tombstones>,
}

impl Checkpoint {
    /// What the files hold that a store is opened with.
    pub(super) fn new(
        index_marks: BTreeMap<u32, Mark>,
        activity: Activity,
        deletes: Arc<Tombstones>,
    ) -> Self {
        Self { index_marks, activity, flushes_since_switch: 0, catalog_changes: 0, deletes }
    }
}

/// What makes a part: its namespace, retention class, epoch and window.
type PartKey = (u32, u32, u32, i64);

struct Parts<'u, 'f> {
    upkeep: &'u Upkeep,
    epochs: &'u Epochs,
    made: &'u mut Made<'f>,
    /// At most [`FLUSH_WRITERS_MAX`].
    open: BTreeMap<PartKey, (u64, PartWriter)>,
    /// Parts that earlier rounds wrote.
    done: BTreeSet<PartKey>,
    /// Whether there are more parts than that; then there is another round.
    is_short: bool,
    written: Vec<Arc<Part>>,
}

impl Upkeep {
    /// Moves the head into parts now. See `Engine::flush`.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        let mut checkpoint = self.checkpoint.lock();
        let switches = self.is_switch_due(&checkpoint);
        self.flush_counted(&mut checkpoint, switches)
    }

    /// Moves the head into parts and begins a new epoch, if the one before it has left memory.
    pub(super) fn flush_and_switch(&self) -> Result<(), Error> {
        let mut checkpoint = self.checkpoint.lock();
        let switches = self.ingest.epochs().closing().is_none();
        self.flush_counted(&mut checkpoint, switches)
    }

    /// Moves what was replayed of the log, up to `cut_lsn`, into parts: see `pieces.rs`.
    pub(crate) fn flush_replayed(&self, cut_lsn: u64) -> Result<(), Error> {
        self.flush_with(&mut self.checkpoint.lock(), false, Some(cut_lsn))
    }

    fn flush_counted(&self, checkpoint: &mut Checkpoint, switches: bool) -> Result<(), Error> {
        // Who waited for the flush before may find the store closing.
        self.check_open()?;
        let result = self.flush_with(checkpoint, switches, None);
        match result {
            Ok(()) => self.counters.flushes.fetch_add(1, Ordering::Relaxed),
            Err(Error::Closed) => 0,
            Err(_) => self.counters.flushes_failed.fetch_add(1, Ordering::Relaxed),
        };
        self.queue.ask(|orders| &mut orders.jobs);
        self.note(Work::Flush, result)
    }

    /// Flushes what lies before `cut_lsn`, or all there is.
    fn flush_with(
        &self,
        checkpoint: &mut Checkpoint,
        switches: bool,
        cut_lsn: Option<u64>,
    ) -> Result<(), Error> {
        let Self { files, ingest, counters, .. } = self;
        let mut held = files.hold();
        let fact_bytes;
        let cut_lsn = {
            let _gate = ingest.hold();
            if switches {
                ingest.begin_epoch();
            }
            counters.samples_since_flush.store(0, Ordering::Relaxed);
            fact_bytes = counters.fact_bytes_since_flush.load(Ordering::Relaxed);
            cut_lsn.unwrap_or_else(|| ingest.wal().end_lsn())
        };
        let view = files.view();
        let tombstones = view.tombstones.still_masking(&view.parts, &view.absent);
        let epochs = ingest.epochs();
        let base = epochs.current().origin().base;
        let head = ingest.head();
        for number in head.pages() {
            head.freeze(number, &view.frozen);
        }
        counters.frozen_bytes.store(view.frozen.bytes(), Ordering::Relaxed);
        // A copy, so that a failure leaves the manifest as it is on disk.
        let mut manifest = held.manifest().clone();
        let now_ns = files.disk().monotonic_ns();
        if switches {
            checkpoint.activity = Activity::new(base, self.config.index_active_window, now_ns);
            checkpoint.flushes_since_switch = 0;
        }
        let mut made = files.begin();
        let written = self.flush_parts(&epochs, &view, &mut checkpoint.activity, &mut made)?;
        manifest.parts.extend(written.iter().map(|part| part.entry));
        let index_marks = self.flush_indexes(checkpoint, &mut manifest, &mut made)?;
        let changes = counters.catalog_changes.load(Ordering::Relaxed);
        self.flush_facts(checkpoint, changes, &tombstones, &mut manifest, &mut made)?;
        manifest.wal_start_lsn = cut_lsn;
        // The log holds all that the parts do, so that they may go where an older manifest is put
        // back. What it cannot take, of a full or a failing disk, is the safer for being flushed.
        let _ = ingest.wal().settle(Commit::at(cut_lsn));
        manifest.next_namespace = self.ingest.namespaces().highest().saturating_add(1);
        held.publish(manifest, made, |next| {
            next.parts.extend(written);
            next.frozen = view.frozen.make_next();
            next.tombstones = tombstones.clone();
        })?;
        counters.frozen_bytes.store(0, Ordering::Relaxed);
        checkpoint.deletes = tombstones;
        checkpoint.index_marks = index_marks;
        checkpoint.catalog_changes = changes;
        checkpoint.activity.end_flush(now_ns);
        checkpoint.flushes_since_switch = checkpoint.flushes_since_switch.saturating_add(1);
        let first_page = crate::head::page_of(base);
        head.give_back(|page| page < first_page || checkpoint.activity.is_quiet(page));
        counters.flushed_lsn.store(cut_lsn, Ordering::Relaxed);
        counters.fact_bytes_since_flush.fetch_sub(fact_bytes, Ordering::Relaxed);
        ingest.keep_reserve();
        ingest.wal().forget(cut_lsn)
    }

    /// Writes the catalog and the deletes if they are not what their files hold.
    fn flush_facts(
        &self,
        checkpoint: &Checkpoint,
        changes: u64,
        tombstones: &Arc<Tombstones>,
        manifest: &mut Manifest,
        made: &mut Made<'_>,
    ) -> Result<(), Error> {
        let files = &*self.files;
        let (disk, store_id) = (files.disk(), files.store_id());
        if changes != checkpoint.catalog_changes {
            let catalog = self.ingest.catalog();
            (manifest.catalog_file, ()) = made
                .make(Named::Catalog, |path, number| catalog.write(disk, path, number, store_id))?;
        }
        if !Arc::ptr_eq(&checkpoint.deletes, tombstones) {
            (manifest.deletes_file, ()) = made.make(Named::Deletes, |path, number| {
                tombstones.write(disk, path, number, store_id)
            })?;
        }
        Ok(())
    }

    fn flush_parts(
        &self,
        epochs: &Epochs,
        view: &View,
        activity: &mut Activity,
        made: &mut Made<'_>,
    ) -> Result<Vec<Arc<Part>>, Error> {
        let mut parts = Parts {
            upkeep: self,
            epochs,
            made,
            open: BTreeMap::new(),
            done: BTreeSet::new(),
            is_short: true,
            written: Vec::new(),
        };
        let mut gatherer = Gatherer::default();
        while std::mem::take(&mut parts.is_short) {
            for number in view.frozen.numbers() {
                let pages = view.frozen.page(number);
                for local in 0..PAGE_SERIES {
                    if pages.iter().any(|page| page.has(local)) {
                        let sid = number * PAGE_SERIES as u32 + local as u32;
                        activity.note(sid);
                        parts.push(sid, gatherer.blocks(&pages, local)?)?;
                    }
                }
            }
            parts.finish_round()?;
        }
        let mut written = parts.written;
        written.sort_by_key(|part| part.entry.rank);
        Ok(written)
    }
}

impl Parts<'_, '_> {
    /// Adds a series, each block to the part of its window.
    fn push(&mut self, sid: u32, blocks: &[Arc<Block>]) -> Result<(), Error> {
        let epoch = self.epochs.epoch_of(sid);
        let (Some(epoch), Some(series)) = (epoch, self.epochs.describe(sid)?) else {
            return Err(Error::Invalid(format!("series {sid} has samples but no name")));
        };
        let window = |block: &Arc<Block>| crate::block::window(block.range.start_ns);
        for blocks in blocks.chunk_by(|a, b| window(a) == window(b)) {
            let Some(first) = blocks.first() else { continue };
            let key = (series.namespace, series.class, epoch, window(first));
            let Some(writer) = self.writer(key)? else { continue };
            blocks.iter().try_for_each(|block| writer.push(sid, block.lend()))?;
        }
        Ok(())
    }

    /// The writer of a part; nothing when it is not its round.
    fn writer(&mut self, key: PartKey) -> Result<Option<&mut PartWriter>, Error> {
        use std::collections::btree_map::Entry;
        if self.done.contains(&key) {
            return Ok(None);
        }
        let is_full = self.open.len() >= FLUSH_WRITERS_MAX;
        match self.open.entry(key) {
            Entry::Occupied(entry) => Ok(Some(&mut entry.into_mut().1)),
            Entry::Vacant(_) if is_full => {
                self.is_short = true;
                Ok(None)
            }
            Entry::Vacant(entry) => {
                let (namespace, class, epoch, _) = key;
                let files = &*self.upkeep.files;
                let store_id = files.store_id();
                let made = self.made.make(Named::Part, |path, number| {
                    let rank = number;
                    let header =
                        Header { store_id, number, rank, namespace, class, epoch, level: 0 };
                    PartWriter::create(files.disk(), path, &header)
                })?;
                Ok(Some(&mut entry.insert(made).1))
            }
        }
    }

    /// Ends the parts of a round and opens them for reading.
    fn finish_round(&mut self) -> Result<(), Error> {
        let upkeep = self.upkeep;
        for (key, (number, writer)) in std::mem::take(&mut self.open) {
            self.done.insert(key);
            let (namespace, class, epoch, _) = key;
            let written = writer.finish()?;
            let entry = PartEntry {
                number,
                rank: number,
                namespace,
                class,
                epoch,
                level: 0,
                range: written.range,
                samples: written.samples,
                bytes: written.bytes,
                written_ns: upkeep.ingest.clock().gone_ns(),
            };
            upkeep.counters.bytes_flushed.fetch_add(written.bytes, Ordering::Relaxed);
            self.written.push(Arc::new(upkeep.files.open_part(entry)?));
        }
        Ok(())
    }
}

/// Turns what pages hold of a series into blocks whose times ascend without overlap.
#[derive(Default)]
struct Gatherer {
    builder: Builder,
    decoder: Decoder,
    samples: Samples,
    blocks: Vec<Arc<Block>>,
}

impl Gatherer {
    fn blocks(&mut self, pages: &[Arc<PageData>], local: usize) -> Result<&[Arc<Block>], Error> {
        self.blocks.clear();
        let mut copies = Vec::with_capacity(pages.len());
        for page in pages {
            let mut copy = SeriesCopy::default();
            page.copy(local, TimeRange::ALL, &mut copy);
            if !copy.is_empty() {
                copies.push(copy);
            }
        }
        match &mut copies[..] {
            [only] if only.late.is_empty() => {
                self.blocks.append(&mut only.sealed);
                std::mem::swap(&mut self.builder.stream, &mut only.stream);
                self.builder.clear();
                self.builder.decode_stream();
                self.builder.columns.sort_newest_wins();
            }
            all => {
                self.builder.clear();
                for copy in all {
                    copy.lay_out(&mut self.decoder, &mut self.samples, &mut self.builder.columns)?;
                }
                self.builder.columns.sort_newest_wins();
            }
        }
        self.blocks.extend(self.builder.blocks().into_iter().map(Arc::new));
        Ok(&self.blocks)
    }
}
