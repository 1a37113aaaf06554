//! Renames, on one screen.
//!
//! Samples are filed under their series, and a series is its names, so that another name is another
//! series: what it holds is written again under the new name, and dropped under the old one.
//!
//! 1. *audit*: a line on the disk says who renames what.
//! 2. *copy*: the samples of some series are read and written like any others.
//! 3. *catch up*: what came to these series meanwhile is copied too, and what came while that was
//!    done, until it is little. Where it stays much, because others write all the time, fewer
//!    series go on to the next step at a time.
//! 4. *drop*: with every write held off for an instant, the little that came last is copied and the
//!    old series are dropped. Rows that come under the old name from then on make new series, which
//!    are not renamed.
//!
//! Then the next series have their turn. Rows and drop follow each other in the wal, so that after
//! a crash a sample has its old name or its new one, or both until the rename is asked for again,
//! which finds what is left. Between 2 and 4 readers see copied samples under both names.

use crate::audit::{Act, Caller};
use crate::config::Commit;
use crate::error::Error;
use crate::head::page::SeriesCopy;
use crate::limits::{
    CUT_LIVE_SERIES_MAX, RENAME_BYTES_MAX, RENAME_HELD_SAMPLES, RENAME_ROWS_MAX,
    RENAME_STEP_SAMPLES,
};
use crate::scan::Scan;
use crate::snapshot::Snapshot;
use crate::spelled::{SYNTAX, put_key};
use crate::store::{Engine, Store};
use crate::write::{FIELD_RETENTION, Origin};
use foliot_index::{Identity, SidSet};
use foliot_model::{Batch, BatchBuffers, Cell, Kind, Samples, Selector, Span, TimeRange, Value};
use std::time::Duration;

/// How long to wait for a flush when the head is full.
const OVERLOADED_PAUSE: Duration = Duration::from_millis(50);

/// So often a frame waits for a flush when the head is filling: a second.
const FILLING_PAUSES_MAX: usize = 20;

/// What series are called from now on.
pub struct Renaming<'a> {
    /// In words, for the audit log.
    pub to: &'a str,
    /// The new name of a series; its source means nothing.
    pub name: &'a dyn Fn(&Identity) -> Identity,
    /// Whether there is time left; asked between pieces of work.
    pub goes_on: &'a dyn Fn() -> bool,
}

/// What a rename did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Renamed {
    /// Series that have their new name.
    pub series: u64,
    /// Samples that were written under new names.
    pub samples: u64,
    /// Whether all are renamed; else time was up, and the next rename goes on.
    pub is_done: bool,
    /// What to wait for before it is said to be done.
    pub commit: Option<Commit>,
}

impl Engine {
    /// Gives the selected series other names, with all they hold. Where a series of the new name
    /// has a sample at the same instant, the renamed one takes its place.
    ///
    /// # Errors
    /// When the selector selects everything, a part cannot be read, the new name cannot be or would
    /// need more series than are admitted, or the wal refuses. What was renamed by then stays so.
    pub fn rename_series(
        &self,
        selector: &Selector,
        renaming: &Renaming<'_>,
        caller: &Caller,
    ) -> Result<Renamed, Error> {
        crate::delete::check(selector)?;
        let store = self.store();
        let snapshot = self.snapshot();
        let sids = snapshot.select(selector, TimeRange::ALL)?;
        let mut renamed = Renamed { is_done: true, ..Renamed::default() };
        if sids.is_empty() {
            return Ok(renamed);
        }
        store.audit(caller, selector.namespace, &Act::Rename(selector, renaming.to), None)?;
        let mut mover = Mover {
            store,
            selector,
            renaming,
            snapshot,
            buffers: BatchBuffers::default(),
            renamed: &mut renamed,
        };
        let mut rest = &sids[..];
        while !rest.is_empty() {
            if !(renaming.goes_on)() {
                mover.renamed.is_done = false;
                break;
            }
            let done = mover.step(rest)?;
            rest = rest.get(done..).unwrap_or_default();
        }
        Ok(renamed)
    }
}

struct Mover<'a> {
    store: &'a Store,
    selector: &'a Selector,
    renaming: &'a Renaming<'a>,
    /// Knows the older ids of the series.
    snapshot: Snapshot,
    buffers: BatchBuffers,
    renamed: &'a mut Renamed,
}

/// A series that was copied, and what memory held of it then.
struct Copied {
    sid: u32,
    copies: Vec<SeriesCopy>,
}

impl Mover<'_> {
    fn now(&self) -> Snapshot {
        self.snapshot.renewed(&self.store.files, &self.store.ingest)
    }

    /// Renames the first of these series, at least one, and returns how many.
    fn step(&mut self, sids: &[u32]) -> Result<usize, Error> {
        let _alone = self.store.taking.lock();
        let mut out = Out::new(self.store, self.selector, std::mem::take(&mut self.buffers));
        let mut scan = Scan::over(TimeRange::ALL);
        let mut at = self.now();
        let mut copied: Vec<Copied> = Vec::new();
        for &sid in sids.iter().take(CUT_LIVE_SERIES_MAX as usize) {
            let is_enough = || out.samples >= RENAME_STEP_SAMPLES || !(self.renaming.goes_on)();
            // What was begun is ended, so that every rename comes further.
            if !copied.is_empty() && is_enough() {
                break;
            }
            let copies = at.in_memory(sid)?;
            at.scan_into(sid, &mut scan)?;
            out.copy(&at, sid, &mut scan, self.renaming)?;
            copied.push(Copied { sid, copies });
        }
        let mut done = 0;
        while let Some(rest) = copied.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let few = self.catch_up(rest, &mut at, &mut scan, &mut out)?;
            let first = rest.get_mut(..few).unwrap_or_default();
            let dropped = self.drop_copied(first, &at, &mut scan, &mut out)?;
            if dropped.is_some() {
                self.renamed.commit = dropped;
                done += few;
            }
        }
        self.renamed.series += copied.len() as u64;
        self.renamed.samples += out.samples;
        self.buffers = out.batch.into_buffers();
        Ok(copied.len())
    }

    /// Copies what came to series since `at`, until that is little or becomes no less. Returns to
    /// how many of the first of them, one at least, little came.
    fn catch_up(
        &self,
        series: &mut [Copied],
        at: &mut Snapshot,
        scan: &mut Scan,
        out: &mut Out<'_>,
    ) -> Result<usize, Error> {
        let mut last = u64::MAX;
        loop {
            let now = self.now();
            let (before, mut few) = (out.taken(), 0);
            for one in &mut *series {
                self.copy_new(one, &now, at, scan, out)?;
                few += usize::from(out.taken() - before <= RENAME_HELD_SAMPLES);
            }
            let came = out.taken() - before;
            out.write()?;
            *at = now;
            if few == series.len() || came > last / 2 {
                return Ok(few.max(1));
            }
            last = came;
        }
    }

    /// Copies what came to series since `at` and drops them, in one instant; nothing when there was
    /// a flush meanwhile.
    fn drop_copied(
        &self,
        series: &mut [Copied],
        at: &Snapshot,
        scan: &mut Scan,
        out: &mut Out<'_>,
    ) -> Result<Option<Commit>, Error> {
        let mut ids: Vec<u32> = series.iter().flat_map(|one| at.ids(one.sid)).collect();
        ids.sort_unstable();
        let ids: SidSet = ids.into_iter().collect();
        let mut first = || {
            let now = self.now();
            if !now.is_of_same_flush(at) {
                return Ok(false);
            }
            out.is_held = true;
            series.iter_mut().try_for_each(|one| self.copy_new(one, &now, at, scan, out))?;
            out.write()?;
            Ok(true)
        };
        let namespace = self.selector.namespace;
        let dropped = self.store.delete_after(namespace, ids, TimeRange::ALL, true, &mut first);
        out.is_held = false;
        dropped
    }

    /// Copies what came to a series since `at`.
    fn copy_new(
        &self,
        one: &mut Copied,
        now: &Snapshot,
        at: &Snapshot,
        scan: &mut Scan,
        out: &mut Out<'_>,
    ) -> Result<(), Error> {
        let copies = now.in_memory(one.sid)?;
        if now.is_of_same_flush(at) {
            let new = since(&copies, &one.copies);
            if !new.iter().all(SeriesCopy::is_empty) {
                let mut scan = now.scan_copies(one.sid, new)?;
                out.copy(now, one.sid, &mut scan, self.renaming)?;
            }
        } else {
            // A flush has moved things: what is new is in parts that were not there.
            now.scan_newer(one.sid, at, scan)?;
            out.copy(now, one.sid, scan, self.renaming)?;
        }
        one.copies = copies;
        Ok(())
    }
}

/// What memory holds of a series and did not `before`.
fn since(copies: &[SeriesCopy], before: &[SeriesCopy]) -> Vec<SeriesCopy> {
    let nothing = SeriesCopy::default();
    // A flush that failed has put what it was to write beside what is new.
    let before = before.iter().filter(|_| before.len() == copies.len());
    let before = before.chain(std::iter::repeat(&nothing));
    copies.iter().zip(before).map(|(copy, before)| copy.since(before)).collect()
}

/// Samples on their way to their new names.
struct Out<'a> {
    store: &'a Store,
    /// What no new name may be.
    selector: &'a Selector,
    batch: Batch<'static>,
    /// Bytes in the batch beside rows.
    bytes: usize,
    samples: u64,
    /// Whether all writes are held off, but for these.
    is_held: bool,
}

impl<'a> Out<'a> {
    fn new(store: &'a Store, selector: &'a Selector, buffers: BatchBuffers) -> Self {
        let batch =
            Batch::new(&[], selector.namespace, &SYNTAX, store.ingest.key_secret(), buffers);
        Self { store, selector, batch, bytes: 0, samples: 0, is_held: false }
    }

    /// How many samples were taken, those that are not written yet included.
    fn taken(&self) -> u64 {
        self.samples + self.batch.rows().len() as u64
    }

    /// Writes all samples of a scan under the new name of their series.
    fn copy(
        &mut self,
        snapshot: &Snapshot,
        sid: u32,
        scan: &mut Scan,
        renaming: &Renaming<'_>,
    ) -> Result<(), Error> {
        let mut samples = Samples::default();
        if !scan.next(&mut samples)? {
            return Ok(());
        }
        let Some(identity) = snapshot.identity(sid)? else {
            return Err(Error::Invalid(format!("BUG: series {sid} has samples and no name")));
        };
        let identity = (renaming.name)(&identity);
        let Identity { measurement, field, labels, .. } = &identity;
        if self.selector.fits(measurement, field, labels) {
            let text = "the new name of a series would be renamed too".to_owned();
            return Err(Error::Invalid(text));
        }
        loop {
            self.push(&identity, &samples);
            if self.batch.rows().len() >= RENAME_ROWS_MAX || self.bytes >= RENAME_BYTES_MAX {
                self.write()?;
            }
            samples.clear();
            if !scan.next(&mut samples)? {
                return Ok(());
            }
        }
    }

    /// Adds up to a block of samples to the batch.
    fn push(&mut self, identity: &Identity, samples: &Samples) {
        let batch = &mut self.batch;
        let key = batch.push_scratch(|out| put_key(identity, out));
        let field = batch.push_scratch(|out| out.extend_from_slice(identity.field.as_bytes()));
        self.bytes += (key.length + field.length) as usize;
        let shape = batch.push_shape(&[field]);
        for (time_ns, value) in samples.iter() {
            let mut bytes = |kind, bytes: &[u8]| {
                self.bytes += bytes.len();
                Cell::bytes(kind, batch.push_scratch(|out| out.extend_from_slice(bytes)))
            };
            let cell = match value {
                Value::Float(value) => Cell::float(value),
                Value::Integer(value) => Cell::integer(value),
                Value::Unsigned(value) => Cell::unsigned(value),
                Value::Boolean(value) => Cell::boolean(value),
                Value::String(text) => bytes(Kind::String, text.as_bytes()),
                Value::Histogram(histogram) => bytes(Kind::Histogram, histogram),
            };
            batch.push_cell(cell);
            batch.push_row([Span::default(), key], time_ns, shape, 1);
        }
    }

    /// Waits a while for a flush, if there is more in memory than half of what others are refused
    /// at: samples are copied faster than anybody sends any.
    fn leave_room(&self) {
        let ingest = &self.store.ingest;
        let waits = || ingest.config().background && !self.is_held && ingest.is_filling();
        for _ in 0..FILLING_PAUSES_MAX {
            if !waits() {
                return;
            }
            self.store.upkeep.ask_for_flush();
            self.store.files.disk().sleep(OVERLOADED_PAUSE);
        }
    }

    /// Writes the batch and begins another.
    fn write(&mut self) -> Result<(), Error> {
        self.leave_room();
        let mut rejects = Vec::new();
        loop {
            let (ingest, origin, new) = (&self.store.ingest, Origin::Renamed, &mut Vec::new());
            let written = match self.is_held {
                true => ingest.write_held(origin, &self.batch, &mut rejects, new),
                false => ingest.write_as(origin, &self.batch, &mut rejects, new),
            };
            match written {
                // Ends when the flush that is due has made room, or has failed for good.
                Err(Error::Overloaded) => {
                    self.store.upkeep.ask_for_flush();
                    self.store.files.disk().sleep(OVERLOADED_PAUSE);
                }
                written => break written.map(drop)?,
            };
        }
        if !self.is_held {
            // Else the drop that follows sees to it: a disk takes its time.
            self.store.ingest.wal().push();
            self.store.upkeep.ask_for_flush();
        }
        self.samples += self.batch.rows().len() as u64;
        // What has expired since it was read is gone either way.
        if let Some(reject) = rejects.iter().find(|reject| reject.field != FIELD_RETENTION) {
            return Err(Error::Invalid(format!("{}: {}", reject.field, reject.reason)));
        }
        let (namespace, secret) = (self.selector.namespace, self.store.ingest.key_secret());
        let begin = |buffers| Batch::new(&[], namespace, &SYNTAX, secret, buffers);
        let done = std::mem::replace(&mut self.batch, begin(BatchBuffers::default()));
        self.batch = begin(done.into_buffers());
        self.bytes = 0;
        Ok(())
    }
}
