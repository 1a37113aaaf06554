//! Snapshots: what one reader sees. The read path, on one screen.
//!
//! A snapshot holds the files of one moment. The head is read live, series by series: first the
//! page, under its lock and only to copy, then the frozen sets that flushes since have filled, then
//! the parts. Whatever moves from the head to a part meanwhile is found in between, at worst twice,
//! and twice the same sample is one sample.

use crate::epochs::{Earlier, Epochs};
use crate::error::Error;
use crate::files::Files;
use crate::head::page::SeriesCopy;
use crate::head::{self, Arrived, Frozen, Head};
use crate::ingest::Ingest;
use crate::part::Part;
use crate::reads::{AllReads, Reads};
use crate::retention::Retention;
use crate::scan::Scan;
use crate::sight::{Narrowed, Sight};
use crate::tombstones::Mask;
use crate::view::View;
use foliot_index::{
    Census, GoesOn, Identity, Listed, MayGather, Numbers, Ranks, SymbolKind, Telling,
};
use foliot_model::{NamespaceId, Samples, Selector, TimeRange};
use std::ops::Range;
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
    /// What was read of it, its clones' reads included.
    reads: Arc<AllReads>,
    /// What may be seen; nothing means everything.
    sight: Option<Arc<Sight>>,
}

/// What is hidden in parts, by id.
type Masks = Vec<Vec<Mask>>;

impl Snapshot {
    pub(crate) fn new(files: &Files, ingest: &Ingest) -> Self {
        Self {
            // Epochs first: what a segment says is in parts is in every later view.
            epochs: ingest.epochs(),
            earlier: Arc::default(),
            head: ingest.head().clone(),
            view: files.view(),
            retention: ingest.retention(),
            now_ns: ingest.clock().shown_ns(),
            reads: Arc::default(),
            sight: None,
        }
    }

    /// What there is now, with what selections of this one found out.
    pub(crate) fn renewed(&self, files: &Files, ingest: &Ingest) -> Self {
        let (earlier, sight) = (self.earlier.clone(), self.sight.clone());
        let reads = self.reads.clone();
        Self { earlier, reads, sight, ..Self::new(files, ingest) }
    }

    /// The same, showing only what `sight` shows.
    pub fn seen_by(self, sight: Arc<Sight>) -> Self {
        Self { sight: Some(sight), ..self }
    }

    /// The same, showing also what is too old to be seen.
    pub(crate) fn of_all_ages(&self) -> Self {
        Self {
            epochs: self.epochs.clone(),
            earlier: self.earlier.clone(),
            head: self.head.clone(),
            view: self.view.clone(),
            retention: Arc::new(Retention::forever()),
            now_ns: self.now_ns,
            reads: Arc::default(),
            sight: self.sight.clone(),
        }
    }

    /// Whether something in `range` may be too old to be seen.
    pub(crate) fn may_hide(&self, namespace: NamespaceId, range: TimeRange) -> bool {
        !self.retention.is_forever()
            && self.retention.floors(self.now_ns, namespace).1 > range.start_ns
    }

    /// What of a selector may be seen.
    fn narrow(&self, selector: &Selector, may_gather: &MayGather<'_>) -> Result<Narrowed, Error> {
        let Some(sight) = &self.sight else { return Ok(Narrowed::Whole) };
        sight.narrow(selector, |all| {
            let everything = (0, usize::MAX);
            let what = &Listed::Measurements;
            self.epochs.list(what, all, "", everything, &self.view, may_gather)
        })
    }

    /// Whether nothing was flushed between this snapshot and another.
    pub(crate) fn is_of_same_flush(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.view.frozen, &other.view.frozen)
    }

    /// What was read of it so far, but for scans that are at work.
    pub fn reads(&self) -> Reads {
        self.reads.get()
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
        self.select_while(selector, range, &|_| true)
    }

    /// The same, as long as `goes_on` says so, which is told of long walks through ids and names
    /// before they begin: a test of the values of a huge label takes its time.
    ///
    /// # Errors
    /// [`Error::Stopped`] when it was not to go on, and when an index file cannot be read.
    pub fn select_while(
        &self,
        selector: &Selector,
        range: TimeRange,
        goes_on: &GoesOn<'_>,
    ) -> Result<Vec<u32>, Error> {
        let select = |selector: &Selector| {
            self.epochs.select(&self.view, selector, range, &self.earlier, goes_on)
        };
        match self.narrow(selector, &|_| goes_on(0))? {
            Narrowed::Whole => select(selector),
            Narrowed::Part(part) => select(&part),
            Narrowed::Nothing => Ok(Vec::new()),
        }
    }

    /// All ids of a series that was selected, oldest first: it has one in each epoch in which it
    /// was written, as far as selections looked.
    pub(crate) fn ids(&self, sid: u32) -> Vec<u32> {
        self.earlier.ids(sid)
    }

    /// Whether there are registrations of earlier epochs, so that one source may have several
    /// numbers.
    pub fn has_epochs(&self) -> bool {
        !self.epochs.closed().is_empty()
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
        self.epochs.identities(sids, None, each)
    }

    /// The same of series that are put under heads: of their labels, all but those called `labels`
    /// may be missing.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn headings(
        &self,
        sids: &[u32],
        labels: &[Arc<str>],
        each: &mut dyn FnMut(u32, Identity),
    ) -> Result<(), Error> {
        self.epochs.identities(sids, Some(labels), each)
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
        self.list_while(what, selector, prefix, (offset, limit), &|_| true)
    }

    /// The same, as long as `may_gather` says so: names of a huge store take time and memory.
    ///
    /// # Errors
    /// [`Error::Stopped`] when it was not to go on, and when an index file cannot be read.
    pub fn list_while(
        &self,
        what: &Listed,
        selector: &Selector,
        prefix: &str,
        window: (usize, usize),
        may_gather: &MayGather<'_>,
    ) -> Result<Vec<String>, Error> {
        let list = |selector: &Selector| {
            self.epochs.list(what, selector, prefix, window, &self.view, may_gather)
        };
        match self.narrow(selector, may_gather)? {
            Narrowed::Whole => list(selector),
            Narrowed::Part(part) => list(&part),
            Narrowed::Nothing => Ok(Vec::new()),
        }
    }

    /// The ids that series may have, the newest first: within each range they ascend as series
    /// were registered.
    pub fn ids_known(&self) -> Vec<Range<u32>> {
        self.epochs.known()
    }

    /// What [`Snapshot::census`] takes, in bytes.
    pub fn census_bytes(&self) -> usize {
        self.epochs.current().census_bytes()
    }

    /// A census of series of a namespace that were selected before. It has counted none yet.
    pub fn census(&self, namespace: NamespaceId, telling: Telling) -> Census {
        self.epochs.current().census(namespace, telling)
    }

    /// Counts selected series, which ascend.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn count(&self, sids: &[u32], census: &mut Census) -> Result<(), Error> {
        self.epochs.count(sids, census)
    }

    /// The names that most of the counted series are due to, at most `limit` of each sort.
    pub fn ranks(&self, census: Census, limit: usize) -> Ranks {
        self.epochs.current().ranks(census, limit)
    }

    /// The number of a symbol.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn symbol_id(&self, kind: SymbolKind, name: &str) -> Result<Option<u32>, Error> {
        self.epochs.symbol_id(kind, name)
    }

    /// The numbers of the names of a series.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub fn numbers(&self, sid: u32) -> Result<Option<Numbers>, Error> {
        self.epochs.numbers(sid)
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
        let mut scan = Scan::over(range);
        self.scan_into(sid, &mut scan)?;
        Ok(scan)
    }

    /// Turns a scan to another series, over the same range, reusing its memory.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn scan_into(&self, sid: u32, scan: &mut Scan) -> Result<(), Error> {
        self.scan_above(sid, None, scan)
    }

    /// Turns a scan to what of a series is in parts that came after another snapshot, and in the
    /// head. Parts that were merged since have the rank of their newest: one that holds nothing but
    /// what the other snapshot had stays out, or its old values would stand above newer ones.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub(crate) fn scan_newer(&self, sid: u32, than: &Self, scan: &mut Scan) -> Result<(), Error> {
        let parts = than.view.parts.iter().map(|part| part.entry.rank);
        let absent = than.view.absent.iter().map(|entry| entry.rank);
        self.scan_above(sid, parts.chain(absent).max(), scan)
    }

    fn scan_above(&self, sid: u32, rank: Option<u64>, scan: &mut Scan) -> Result<(), Error> {
        scan.tell(&self.reads);
        scan.clear(self.floor(sid)?);
        if scan.range().is_empty() {
            return Ok(());
        }
        let ids = self.ids(sid);
        let (copies, masks) = self.copies(&ids, scan.range())?;
        scan.narrow(self.sunk(sid)?);
        if scan.range().is_empty() {
            return Ok(());
        }
        // Oldest epoch first, as parts are by their ranks.
        let is_new = |part: &&Arc<Part>| rank.is_none_or(|rank| part.entry.rank > rank);
        for (&sid, masks) in ids.iter().zip(&masks) {
            for part in self.parts_of(sid)?.iter().filter(is_new) {
                scan.add_part(sid, part, masks)?;
            }
        }
        for copy in copies {
            scan.add_copy(copy);
        }
        scan.arrange();
        Ok(())
    }

    /// The parts that may hold samples under an id.
    pub(crate) fn parts_of(&self, sid: u32) -> Result<&[Arc<Part>], Error> {
        let Some(epoch) = self.epochs.epoch_of(sid) else { return Ok(&[]) };
        let series = match self.view.parts.len() {
            0 => None,
            _ => self.epochs.describe(sid)?,
        };
        Ok(series.map_or(&[], |series| self.view.parts_of(series.namespace, epoch)))
    }

    /// What the head holds of a series, by all its ids.
    ///
    /// # Errors
    /// When what was deleted cannot be taken out of it.
    pub(crate) fn in_memory(&self, sid: u32) -> Result<Vec<SeriesCopy>, Error> {
        self.memory(&self.ids(sid), TimeRange::ALL).map(|(copies, _)| copies)
    }

    /// Reads what copies of the head hold of a series.
    ///
    /// # Errors
    /// When an index file cannot be read.
    pub(crate) fn scan_copies(&self, sid: u32, copies: Vec<SeriesCopy>) -> Result<Scan, Error> {
        let mut scan = Scan::over(TimeRange::ALL);
        scan.clear(self.floor(sid)?.max(self.sunk(sid)?));
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

    /// The instant before which memory has lost samples of a series that old parts still have: to
    /// be asked for when memory was read.
    fn sunk(&self, sid: u32) -> Result<i64, Error> {
        if !self.retention.has_sunk() {
            return Ok(i64::MIN);
        }
        let series = self.epochs.describe(sid)?;
        Ok(series.map_or(i64::MIN, |series| self.retention.sunk(series.namespace, series.class)))
    }

    /// What memory holds of a series by its ids in `range`, older samples first, and what of each
    /// id is hidden in parts.
    fn copies(&self, ids: &[u32], range: TimeRange) -> Result<(Vec<SeriesCopy>, Masks), Error> {
        let (copies, mut masks) = self.memory(ids, range)?;
        for (&sid, masks) in ids.iter().zip(&mut masks) {
            let mut own = Vec::new();
            self.view.tombstones.masks(sid, range, &mut own);
            own.append(masks);
            *masks = own;
        }
        Ok((copies, masks))
    }

    /// The same, but only what was hidden since this view was made.
    fn memory(&self, ids: &[u32], range: TimeRange) -> Result<(Vec<SeriesCopy>, Masks), Error> {
        // Most often nothing but the head holds any.
        let mut copies = Vec::with_capacity(ids.len());
        // The set that a copy is of; nothing for the head.
        let mut sets = Vec::with_capacity(ids.len());
        let mut firsts = Vec::with_capacity(ids.len());
        for &sid in ids {
            firsts.push(copies.len());
            let mut live = SeriesCopy::default();
            self.head.copy(sid, range, &mut live);
            let (page, local) = (head::page_of(sid), head::local_of(sid));
            let mut frozen = Some(&self.view.frozen);
            while let Some(set) = frozen {
                for data in set.page(page) {
                    let mut copy = SeriesCopy::default();
                    data.copy(local, range, &mut copy);
                    copies.push(copy);
                    sets.push(Some(set));
                }
                frozen = set.next();
            }
            copies.push(live);
            sets.push(None);
        }
        // After the head: what it lost meanwhile is in the chain. One end for all ids, or a delete
        // that comes in between would hide the newer one alone.
        let end = self.view.later.end();
        let mut masks = Masks::with_capacity(ids.len());
        for (&sid, &first) in ids.iter().zip(&firsts) {
            let later = self.view.later.masks(sid, range, end);
            if !later.is_empty() {
                // Up to the head's copy, which is the last one of the id.
                let own_sets = copies.iter_mut().zip(&sets).skip(first);
                for (copy, set) in own_sets.map_while(|(copy, set)| Some((copy, (*set)?))) {
                    self.hide(&later, set, copy)?;
                }
            }
            masks.push(later.iter().map(|(mask, _)| *mask).collect());
        }
        Ok((copies, masks))
    }

    /// Takes out of a copy of a set what was deleted when that set had been flushed.
    fn hide(
        &self,
        later: &[(Mask, &Arc<Frozen>)],
        set: &Arc<Frozen>,
        copy: &mut SeriesCopy,
    ) -> Result<(), Error> {
        let is_before = |cut: &Arc<Frozen>| {
            let mut at = set.next();
            while let Some(next) = at.filter(|next| !Arc::ptr_eq(next, cut)) {
                at = next.next();
            }
            at.is_some()
        };
        let hidden = later.iter().filter(|(_, cut)| is_before(cut)).map(|((_, range), _)| *range);
        let hidden: Vec<TimeRange> = hidden.collect();
        match hidden.is_empty() || copy.is_empty() {
            true => Ok(()),
            false => copy.cut(&hidden),
        }
    }

    /// How samples of a series came since the store was opened. It is forgotten of series that have
    /// gone quiet with their neighbours.
    pub fn arrived(&self, sid: u32) -> Arrived {
        let mut arrived = Arrived::default();
        for id in self.ids(sid) {
            arrived += self.head.arrived(id);
        }
        arrived
    }

    /// The latest sample of a series, if it has any; of all that go by its id, as far as
    /// selections looked.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn last(&self, sid: u32) -> Result<Option<Samples>, Error> {
        let mut last = Samples::default();
        let found = self.last_into(sid, &mut Scan::over(TimeRange::ALL), &mut last)?;
        Ok(found.then_some(last))
    }

    /// Puts the latest sample of a series in place of what `last` holds; whether it has any. `scan`
    /// is one over all times, and remembers from series to series where they lie.
    ///
    /// # Errors
    /// When a part cannot be read.
    pub fn last_into(&self, sid: u32, scan: &mut Scan, last: &mut Samples) -> Result<bool, Error> {
        last.clear();
        let ids = self.ids(sid);
        let mut range = TimeRange::new(self.floor(sid)?, i64::MAX);
        if ids.len() > 1 {
            return self.last_scanned(sid, range, last);
        }
        let known = self.head.last_number(sid);
        if let Some(sample) = known.filter(|sample| range.contains(sample.time_ns)) {
            last.push(sample.time_ns, crate::columns::value(sample, &[]));
            // Parts of an earlier process may know a later one.
            let Some(after_ns) = sample.time_ns.checked_add(1) else { return Ok(true) };
            range.start_ns = after_ns;
        }
        let parts = self.parts_of(sid)?;
        if !last.is_empty() && parts.iter().all(|part| part.footer.range.end_ns < range.start_ns) {
            return Ok(true);
        }
        let (copies, masks) = self.copies(&ids, range)?;
        let is_whole = masks.iter().all(Vec::is_empty) && !self.retention.has_sunk();
        if !copies.iter().all(SeriesCopy::is_empty) || !is_whole {
            return self.last_scanned(sid, range, last);
        }
        scan.last_in_parts(sid, parts, range, last)?;
        Ok(!last.is_empty())
    }

    /// The same by all samples in `range`, if there are any; else what is known stays.
    fn last_scanned(&self, sid: u32, range: TimeRange, last: &mut Samples) -> Result<bool, Error> {
        let mut scan = self.scan(sid, range)?;
        if scan.is_masked() {
            last_of(&mut scan, last)?;
        } else if let Some(end_ns) = scan.end_ns() {
            last.clear();
            scan.narrow(end_ns);
            scan.next(last)?;
        }
        Ok(!last.is_empty())
    }
}

/// The last sample of a scan some of whose blocks have lost samples, so that only reading tells
/// which one it is. Blocks that lost none are passed over.
fn last_of(scan: &mut Scan, last: &mut Samples) -> Result<(), Error> {
    let mut passed = None;
    let mut chunk = Samples::default();
    loop {
        while scan.peek().is_some() {
            passed = scan.pass();
        }
        chunk.clear();
        if !scan.next(&mut chunk)? {
            break;
        }
        passed = None;
        last.clear();
        last.append(&chunk, chunk.len().saturating_sub(1)..chunk.len());
    }
    if let Some(passed) = passed {
        last.clear();
        scan.go_back(passed, last)?;
    }
    Ok(())
}
