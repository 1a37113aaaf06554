//! Flush: head -> parts.
//!
//! 1. *cut*: hold the gate for an instant; everything before the lsn read there is in the head.
//!    When most series have gone quiet, a new epoch begins here.
//! 2. *freeze*: page by page, take the samples out of the head into the view's frozen set, where
//!    readers still find them.
//! 3. *write*: series by series into one part for each (namespace, retention class, epoch,
//!    window).
//! 4. *checkpoint*: registrations since the last flush, the catalog and the deletes if they
//!    changed.
//! 5. *publish*: the manifest names the new files; the view swaps; the wal before the cut goes.
//!
//! If a step fails the samples stay in the frozen set and the wal; the next flush writes them.

use crate::activity::Activity;
use crate::block::{Block, Builder, Decoder};
use crate::columns::Columns;
use crate::epochs::Epochs;
use crate::error::Error;
use crate::filenames;
use crate::head::page::{PageData, SeriesCopy};
use crate::head::stream::Reader;
use crate::limits::{PAGE_SERIES, REPLAY_SAMPLES_PER_SECOND};
use crate::manifest::{Manifest, PartEntry};
use crate::part::format::Header;
use crate::part::{Part, PartWriter};
use crate::store::{Files, Store};
use crate::view::View;
use foliot_model::{Samples, TimeRange};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How long a flusher that failed waits before it tries again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// The flusher thread.
pub(crate) fn run(store: &Store) {
    loop {
        {
            let mut order = store.flusher.lock();
            while !order.is_asked && !order.is_closing {
                store.flusher_wake.wait(&mut order);
            }
            if order.is_closing {
                return;
            }
            order.is_asked = false;
        }
        store.wait_for_merges();
        if store.is_flush_due() && store.flush().is_err() {
            let mut order = store.flusher.lock();
            order.is_asked = true;
            if !order.is_closing {
                store.flusher_wake.wait_for(&mut order, RETRY_PAUSE);
            }
        }
    }
}

/// What makes a part: its namespace, retention class, epoch and window.
type PartKey = (u32, u32, u32, i64);

struct Parts<'s> {
    store: &'s Store,
    epochs: &'s Epochs,
    manifest: &'s mut Manifest,
    open: BTreeMap<PartKey, (u64, PartWriter)>,
}

impl Store {
    fn is_flush_due(&self) -> bool {
        let samples = self.counters.samples_since_flush.load(Ordering::Relaxed);
        let seconds = self.config.wal_replay_target.as_secs().max(1);
        self.head.bytes() > self.config.head_bytes_max
            || samples > seconds.saturating_mul(REPLAY_SAMPLES_PER_SECOND)
    }

    /// Wakes the flusher if the head is full or the wal long.
    pub(crate) fn ask_for_flush(&self) {
        if self.is_flush_due() {
            let mut order = self.flusher.lock();
            if !order.is_asked {
                order.is_asked = true;
                self.flusher_wake.notify_all();
            }
        }
    }

    /// Moves the head into parts now. See `Engine::flush`.
    pub(crate) fn flush(&self) -> Result<(), Error> {
        let mut files = self.files.lock();
        let switches = self.is_switch_due(&files);
        self.flush_counted(&mut files, switches)
    }

    /// Moves the head into parts and begins a new epoch, if the one before it has left memory.
    pub(crate) fn flush_and_switch(&self) -> Result<(), Error> {
        let mut files = self.files.lock();
        let switches = self.epochs().closing().is_none();
        self.flush_counted(&mut files, switches)
    }

    fn flush_counted(&self, files: &mut Files, switches: bool) -> Result<(), Error> {
        let result = self.flush_with(files, switches);
        let counter = match result {
            Ok(()) => &self.counters.flushes,
            Err(_) => &self.counters.flushes_failed,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        self.ask_for_maintenance();
        result
    }

    fn flush_with(&self, files: &mut Files, switches: bool) -> Result<(), Error> {
        let cut_lsn = {
            let _gate = self.gate.write();
            if switches {
                self.switch();
            }
            self.counters.samples_since_flush.store(0, Ordering::Relaxed);
            self.wal.end_lsn()
        };
        let view = self.view.read().clone();
        let tombstones = view.tombstones.still_masking(&view.parts);
        let epochs = self.epochs();
        let base = epochs.current().origin().base;
        for number in self.head.pages() {
            self.head.freeze(number, &view.frozen);
        }
        // A copy, so that a failure leaves the manifest as it is on disk.
        let mut manifest = files.manifest.clone();
        let now_ns = self.disk.monotonic_ns();
        if switches {
            files.activity = Activity::new(base, self.config.index_active_window, now_ns);
            files.flushes_since_switch = 0;
        }
        let written = self.flush_parts(&epochs, &view, &mut manifest, &mut files.activity)?;
        let index_marks = self.flush_indexes(files, &mut manifest)?;
        let changes = self.counters.catalog_changes.load(Ordering::Relaxed);
        if changes != files.catalog_changes {
            manifest.catalog_file = self.take_number();
            let path = filenames::catalog(&self.dir, manifest.catalog_file);
            self.catalog.write(&*self.disk, &path, manifest.catalog_file, self.store_id)?;
        }
        if !Arc::ptr_eq(&files.deletes, &tombstones) {
            manifest.deletes_file = self.take_number();
            let path = filenames::deletes(&self.dir, manifest.deletes_file);
            tombstones.write(&*self.disk, &path, manifest.deletes_file, self.store_id)?;
        }
        manifest.wal_start_lsn = cut_lsn;
        manifest.next_file = self.next_file.load(Ordering::Relaxed);
        self.disk.sync_dir(&self.dir).map_err(Error::io("sync", &self.dir))?;
        manifest.write(&*self.disk, &self.dir)?;

        let mut parts = view.parts.clone();
        parts.extend(written);
        let frozen = view.frozen.make_next();
        files.deletes = tombstones.clone();
        *self.view.write() = Arc::new(View { parts, tombstones, frozen });
        let old = std::mem::replace(&mut files.manifest, manifest);
        files.index_marks = index_marks;
        files.activity.end_flush(now_ns);
        files.flushes_since_switch = files.flushes_since_switch.saturating_add(1);
        let first_page = crate::head::page_of(base);
        self.head.give_back(|page| page < first_page || files.activity.is_quiet(page));
        files.catalog_changes = changes;
        self.counters.flushed_lsn.store(cut_lsn, Ordering::Relaxed);
        self.remove_unnamed(&old, &files.manifest)?;
        self.wal.forget(cut_lsn)
    }

    /// Opens a part for reading.
    pub(crate) fn open_part(&self, entry: PartEntry) -> Result<Part, Error> {
        Part::open(&self.handles, &self.dir, entry, self.store_id, &self.cache)
    }

    fn flush_parts(
        &self,
        epochs: &Epochs,
        view: &View,
        manifest: &mut Manifest,
        activity: &mut Activity,
    ) -> Result<Vec<Arc<Part>>, Error> {
        let mut parts = Parts { store: self, epochs, manifest, open: BTreeMap::new() };
        let mut gatherer = Gatherer::default();
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
        parts.finish()
    }

    /// Removes files that the old manifest named and the new one does not.
    fn remove_unnamed(&self, old: &Manifest, new: &Manifest) -> Result<(), Error> {
        let index_files = |manifest: &Manifest| -> BTreeSet<u64> {
            manifest.epochs.iter().flat_map(|entry| entry.index_files.clone()).collect()
        };
        let mut gone: Vec<_> = index_files(old)
            .difference(&index_files(new))
            .map(|&number| filenames::index(&self.dir, number))
            .collect();
        if old.catalog_file != new.catalog_file && old.catalog_file != 0 {
            gone.push(filenames::catalog(&self.dir, old.catalog_file));
        }
        if old.deletes_file != new.deletes_file && old.deletes_file != 0 {
            gone.push(filenames::deletes(&self.dir, old.deletes_file));
        }
        for path in gone {
            self.disk.remove(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(())
    }
}

impl Parts<'_> {
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
            let writer = self.writer(key)?;
            blocks.iter().try_for_each(|block| writer.push(sid, block.lend()))?;
        }
        Ok(())
    }

    fn writer(&mut self, key: PartKey) -> Result<&mut PartWriter, Error> {
        use std::collections::btree_map::Entry;
        match self.open.entry(key) {
            Entry::Occupied(entry) => Ok(&mut entry.into_mut().1),
            Entry::Vacant(entry) => {
                let number = self.store.take_number();
                let (namespace, class, epoch, _) = key;
                let store_id = self.store.store_id;
                let rank = number;
                let header = Header { store_id, number, rank, namespace, class, epoch, level: 0 };
                let path = filenames::part(&self.store.dir, number);
                let writer = PartWriter::create(&*self.store.disk, &path, &header)?;
                Ok(&mut entry.insert((number, writer)).1)
            }
        }
    }

    /// Ends all parts, names them in the manifest and opens them for reading.
    fn finish(self) -> Result<Vec<Arc<Part>>, Error> {
        let mut parts = Vec::new();
        let Self { store, manifest, open, .. } = self;
        for ((namespace, class, epoch, _), (number, writer)) in open {
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
                written_ns: store.disk.now_ns(),
            };
            store.counters.bytes_flushed.fetch_add(written.bytes, Ordering::Relaxed);
            manifest.parts.push(entry);
            parts.push(Arc::new(store.open_part(entry)?));
        }
        parts.sort_by_key(|part| part.entry.rank);
        Ok(parts)
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
                    self.gather(copy)?;
                }
                self.builder.columns.sort_newest_wins();
            }
        }
        self.blocks.extend(self.builder.blocks().into_iter().map(Arc::new));
        Ok(&self.blocks)
    }

    /// Adds all samples of a copy to the builder's columns, older ones first.
    fn gather(&mut self, copy: &SeriesCopy) -> Result<(), Error> {
        self.samples.clear();
        for block in &copy.sealed {
            let count = block.count as usize;
            self.decoder
                .decode(block.times(), block.values(), count, TimeRange::ALL, &mut self.samples)
                .map_err(|reason| Error::Invalid(format!("sealed block: {reason}")))?;
        }
        let columns = &mut self.builder.columns;
        columns.extend(&self.samples);
        push_stream(&copy.stream, columns);
        push_all(&copy.late, columns);
        Ok(())
    }
}

fn push_stream(stream: &[u8], columns: &mut Columns) {
    let mut reader = Reader::new(stream);
    while let Some(sample) = reader.next() {
        columns.push(sample, stream);
    }
}

fn push_all(from: &Columns, columns: &mut Columns) {
    for index in 0..from.len() {
        if let Some(sample) = from.get(index) {
            columns.push(sample, &from.bytes);
        }
    }
}
