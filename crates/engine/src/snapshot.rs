//! Snapshots: what one reader sees. The read path, on one screen.
//!
//! A snapshot holds the files of one moment. The head is read live, series by series: first the
//! page, under its lock and only to copy, then the frozen sets that flushes since have filled, then
//! the parts. Whatever moves from the head to a part meanwhile is found in between, at worst twice,
//! and twice the same sample is one sample.

use crate::epochs::{Earlier, Epochs};
use crate::error::Error;
use crate::head::page::SeriesCopy;
use crate::head::{self, Head};
use crate::part::Part;
use crate::retention::Retention;
use crate::scan::Scan;
use crate::store::Store;
use crate::tombstones::Mask;
use crate::view::View;
use foliot_index::{Identity, Listed, SymbolKind};
use foliot_model::{Samples, Selector, TimeRange};
use std::sync::Arc;

/// What one reader sees. Clones see the same.
#[derive(Clone)]
pub struct Snapshot {
    epochs: Arc<Epochs>,
    /// What selections found out, for scans.
    earlier: Arc<Earlier>,
    head: Arc<Head>,
    view: Arc<View>,
    retention: Arc<Retention>,
    now_ns: i64,
}

impl Snapshot {
    pub(crate) fn new(store: &Store) -> Self {
        Self {
            // Epochs first: what a segment says is in parts is in every later view.
            epochs: store.epochs(),
            earlier: Arc::default(),
            head: store.head.clone(),
            view: store.view.read().clone(),
            retention: store.retention.read().clone(),
            now_ns: store.disk.now_ns(),
        }
    }

    /// What there is now, with what selections of this one found out.
    pub(crate) fn renewed(&self, store: &Store) -> Self {
        Self { earlier: self.earlier.clone(), ..Self::new(store) }
    }

    /// Whether nothing was flushed between this snapshot and another.
    pub(crate) fn is_of_same_flush(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.view.frozen, &other.view.frozen)
    }

    /// Series of all epochs, which is what a selection may have to look through.
    pub fn series(&self) -> u64 {
        self.epochs.series()
    }

    /// The series that `selector` wants and that may have samples in `range`, ascending.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn select(&self, selector: &Selector, range: TimeRange) -> Result<Vec<u32>, Error> {
        self.select_while(selector, range, &|| true)
    }

    /// The same, as long as `goes_on` says so: a test of the values of a huge label takes its time.
    ///
    /// # Errors
    /// [`Error::Stopped`] when it was not to go on, and when an index file cannot be read.
    pub fn select_while(
        &self,
        selector: &Selector,
        range: TimeRange,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Vec<u32>, Error> {
        self.epochs.select(&self.view, selector, range, &self.earlier, goes_on)
    }

    /// All ids of a series that was selected, oldest first: it has one in each epoch in which it
    /// was written, as far as selections looked.
    pub(crate) fn ids(&self, sid: u32) -> Vec<u32> {
        self.earlier.ids(sid)
    }

    /// What a series is called.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn identity(&self, sid: u32) -> Result<Option<Identity>, Error> {
        self.epochs.identity(sid)
    }

    /// What many series are called; strings that they have in common are shared.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn identities(
        &self,
        sids: &[u32],
        each: &mut dyn FnMut(u32, Identity),
    ) -> Result<(), Error> {
        self.epochs.identities(sids, each)
    }

    /// Names in use, distinct and in byte order: those that begin with `prefix`, without the
    /// first `offset`, at most `limit`.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn list(
        &self,
        what: &Listed,
        selector: &Selector,
        prefix: &str,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<String>, Error> {
        self.epochs.list(what, selector, prefix, (offset, limit), &self.view)
    }

    /// The number of a symbol.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn symbol_id(&self, kind: SymbolKind, name: &str) -> Result<Option<u32>, Error> {
        self.epochs.symbol_id(kind, name)
    }

    /// The name of a symbol.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn symbol_name(&self, kind: SymbolKind, id: u32) -> Result<Option<Arc<str>>, Error> {
        self.epochs.symbol_name(kind, id)
    }

    /// Reads the samples of a series in `range`.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn scan(&self, sid: u32, range: TimeRange) -> Result<Scan, Error> {
        let mut scan = Scan::new(range);
        self.scan_into(sid, &mut scan)?;
        Ok(scan)
    }

    /// Turns a scan to another series, over the same range, reusing its memory.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn scan_into(&self, sid: u32, scan: &mut Scan) -> Result<(), Error> {
        self.scan_but(sid, &[], scan)
    }

    /// Turns a scan to what of a series is in parts that another snapshot did not have, and in the
    /// head.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub(crate) fn scan_newer(&self, sid: u32, than: &Self, scan: &mut Scan) -> Result<(), Error> {
        self.scan_but(sid, &than.view.parts, scan)
    }

    fn scan_but(&self, sid: u32, known: &[Arc<Part>], scan: &mut Scan) -> Result<(), Error> {
        scan.clear(self.floor(sid)?);
        if scan.range().is_empty() {
            return Ok(());
        }
        let ids = self.ids(sid);
        let mut copies = Vec::new();
        for &sid in &ids {
            self.copies(sid, scan.range(), &mut copies);
        }
        let masks: Vec<Vec<Mask>> = ids
            .iter()
            .map(|&sid| {
                let mut masks = Vec::new();
                self.view.tombstones.masks(sid, scan.range(), &mut masks);
                masks
            })
            .collect();
        let epochs: Vec<_> = ids.iter().map(|&sid| self.epochs.epoch_of(sid)).collect();
        let is_new = |part: &&Arc<Part>| !known.iter().any(|other| Arc::ptr_eq(part, other));
        for part in self.view.parts.iter().filter(is_new) {
            for ((&sid, epoch), masks) in ids.iter().zip(&epochs).zip(&masks) {
                if *epoch == Some(part.entry.epoch) {
                    scan.add_part(sid, part, masks)?;
                }
            }
        }
        for copy in copies {
            scan.add_copy(copy);
        }
        scan.arrange();
        Ok(())
    }

    /// What the head holds of a series, by all its ids.
    pub(crate) fn in_memory(&self, sid: u32) -> Vec<SeriesCopy> {
        let mut copies = Vec::new();
        for sid in self.ids(sid) {
            self.copies(sid, TimeRange::ALL, &mut copies);
        }
        copies
    }

    /// Reads what copies of the head hold of a series.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub(crate) fn scan_copies(&self, sid: u32, copies: Vec<SeriesCopy>) -> Result<Scan, Error> {
        let mut scan = Scan::new(TimeRange::ALL);
        scan.clear(self.floor(sid)?);
        for copy in copies {
            scan.add_copy(copy);
        }
        scan.arrange();
        Ok(scan)
    }

    /// The instant before which samples of a series are too old to be seen.
    fn floor(&self, sid: u32) -> Result<i64, Error> {
        if self.retention.is_forever() {
            return Ok(i64::MIN);
        }
        let series = self.epochs.describe(sid)?;
        Ok(series.map_or(i64::MIN, |series| {
            self.retention.floor(self.now_ns, series.namespace, series.class)
        }))
    }

    /// What the head holds under an id in `range`, older samples first.
    fn copies(&self, sid: u32, range: TimeRange, copies: &mut Vec<SeriesCopy>) {
        let mut live = SeriesCopy::default();
        self.head.copy(sid, range, &mut live);
        let (page, local) = (head::page_of(sid), head::local_of(sid));
        let mut frozen = Some(&self.view.frozen);
        while let Some(set) = frozen {
            for data in set.page(page) {
                let mut copy = SeriesCopy::default();
                data.copy(local, range, &mut copy);
                copies.push(copy);
            }
            frozen = set.next();
        }
        copies.push(live);
    }

    /// The latest sample of a series, if it has any; of all that go by its id, as far as
    /// selections looked.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn last(&self, sid: u32) -> Result<Option<Samples>, Error> {
        let mut last = Samples::default();
        let mut range = TimeRange::ALL;
        let floor_ns = self.floor(sid)?;
        let is_one = self.ids(sid).len() == 1;
        let known = self.head.last_number(sid).filter(|_| is_one);
        if let Some(sample) = known.filter(|sample| sample.time_ns >= floor_ns) {
            last.push(sample.time_ns, crate::columns::value(sample, &[]));
            // Parts of an earlier process may know a later one.
            range.start_ns = sample.time_ns.saturating_add(1);
            if self.view.parts.iter().all(|part| part.footer.range.end_ns < range.start_ns) {
                return Ok(Some(last));
            }
        }
        let mut scan = self.scan(sid, range)?;
        if scan.is_masked() {
            self.last_of(sid, &mut scan, &mut last)?;
        } else if let Some(end_ns) = scan.end_ns() {
            last.clear();
            self.scan(sid, TimeRange::new(end_ns, end_ns))?.next(&mut last)?;
        }
        Ok((!last.is_empty()).then_some(last))
    }

    /// The last sample of a scan some of whose blocks have lost samples, so that only reading tells
    /// which one it is. Blocks that lost none are passed over.
    fn last_of(&self, sid: u32, scan: &mut Scan, last: &mut Samples) -> Result<(), Error> {
        let mut passed = None;
        let mut chunk = Samples::default();
        loop {
            while let Some(range) = scan.peek().map(|block| block.range) {
                passed = Some(range.end_ns);
                scan.skip();
            }
            chunk.clear();
            if !scan.next(&mut chunk)? {
                break;
            }
            passed = None;
            last.clear();
            last.append(&chunk, chunk.len().saturating_sub(1)..chunk.len());
        }
        if let Some(end_ns) = passed {
            last.clear();
            self.scan(sid, TimeRange::new(end_ns, end_ns))?.next(last)?;
        }
        Ok(())
    }
}
