//! Where stored series come from: a snapshot.

use crate::Error;
use crate::limits::{CHUNK_SAMPLES, Charge, Meter};
use crate::steps::Step;
use crate::stream::Stream;
use foliot_engine::{Identity, Listed, Peek, Run, Scan, Snapshot, SymbolKind, last_value};
use foliot_lock::{Mutex, Rank};
use foliot_model::{Samples, Selector, TimeRange};
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// What a scan holds beside the chunk it hands out, by estimate: the places of its blocks, a copy
/// of what the head has of the series, one encoded block.
const SCAN_BYTES: usize = 8 << 10;

/// Series opened and blocks passed over until the meter is asked again: some ten microseconds.
const CHECKED_PASSES: usize = 64;

/// A snapshot, or series in memory that stand for one in tests.
#[derive(Clone, Copy)]
pub(crate) enum Source<'q> {
    Snapshot(&'q Snapshot),
    #[cfg(test)]
    Given(&'q [(Identity, Samples)]),
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Source")
    }
}

impl<'q> Source<'q> {
    /// Ids of the series that a selector wants and that may have samples in `range`, ascending.
    pub(crate) fn select(
        self,
        selector: &Selector,
        range: TimeRange,
        meter: &Meter,
    ) -> Result<Vec<u32>, Error> {
        match self {
            Self::Snapshot(snapshot) => select(snapshot, selector, range, meter),
            #[cfg(test)]
            Self::Given(series) => {
                let all = (0..series.len() as u32).collect();
                Ok(selector.only.clone().unwrap_or(all))
            }
        }
    }

    /// The samples of one series in a range.
    pub(crate) fn open(
        self,
        sid: u32,
        range: TimeRange,
        spares: &Arc<Spares>,
        meter: &'q Meter,
    ) -> Result<Stream<'q>, Error> {
        match self {
            Self::Snapshot(snapshot) => {
                let mut charge = meter.open();
                charge.resize(SCAN_BYTES)?;
                let mut scan = spares.take().unwrap_or_else(|| Box::new(Scan::over(range)));
                snapshot.scan_into(sid, &mut scan)?;
                Ok(Stream::Stored(Box::new(Stored {
                    snapshot,
                    sid,
                    scan: Some(scan),
                    spares: Arc::clone(spares),
                    is_found: false,
                    is_ahead: false,
                    step: None,
                    charge,
                })))
            }
            #[cfg(test)]
            Self::Given(series) => {
                let all = &series[sid as usize].1;
                let start = all.times_ns.partition_point(|&t| t < range.start_ns);
                let end = all.times_ns.partition_point(|&t| t <= range.end_ns);
                let mut samples = Samples::default();
                samples.append(all, start..end);
                let members = if samples.is_empty() { Vec::new() } else { vec![sid] };
                meter.note_read(samples.len());
                let samples = Arc::new(samples);
                Ok(Stream::Ready(crate::stream::Ready { samples, members, ..Default::default() }))
            }
        }
    }

    /// Reads series of which each is turned to, over one range.
    pub(crate) fn runs(self, range: TimeRange, meter: &'q Meter) -> Result<Runs<'q>, Error> {
        match self {
            Self::Snapshot(snapshot) => {
                let mut charge = meter.open();
                charge.resize(SCAN_BYTES)?;
                Ok(Runs { snapshot, scan: Scan::over(range), due: 0, meter, charge })
            }
            #[cfg(test)]
            Self::Given(_) => unreachable!("what is given is read by streams"),
        }
    }

    /// The latest sample of a series, by itself; nothing if there is none.
    pub(crate) fn last(self, sid: u32) -> Result<Samples, Error> {
        match self {
            Self::Snapshot(snapshot) => Ok(snapshot.last(sid)?.unwrap_or_default()),
            #[cfg(test)]
            Self::Given(series) => {
                let all = &series[sid as usize].1;
                let mut last = Samples::default();
                last.append(all, all.len().saturating_sub(1)..all.len());
                Ok(last)
            }
        }
    }

    /// Whether the series of a source may have been registered more than once, so that it may have
    /// several numbers.
    pub(crate) fn has_epochs(self) -> bool {
        match self {
            Self::Snapshot(snapshot) => snapshot.has_epochs(),
            #[cfg(test)]
            Self::Given(_) => true,
        }
    }

    /// Reads the latest samples of series after series.
    pub(crate) fn lasts(self) -> Lasts<'q> {
        let (scan, samples) = (Scan::over(TimeRange::ALL), Samples::default());
        Lasts { source: self, scan, samples }
    }

    /// What series are called, in the order of `sids`, as long as the query may go on.
    pub(crate) fn identities(
        self,
        sids: &[u32],
        meter: &Meter,
        each: &mut dyn FnMut(u32, Identity),
    ) -> Result<(), Error> {
        self.named(sids, None, meter, each)
    }

    /// The same; of their labels, all but those called `labels` may be missing where that is given.
    pub(crate) fn named(
        self,
        sids: &[u32],
        labels: Option<&[Arc<str>]>,
        meter: &Meter,
        each: &mut dyn FnMut(u32, Identity),
    ) -> Result<(), Error> {
        for some in sids.chunks(CHUNK_SAMPLES) {
            meter.check(0)?;
            match (self, labels) {
                (Self::Snapshot(snapshot), None) => snapshot.identities(some, each)?,
                (Self::Snapshot(snapshot), Some(labels)) => {
                    snapshot.headings(some, labels, each)?
                }
                #[cfg(test)]
                (Self::Given(series), _) => {
                    some.iter().for_each(|&sid| each(sid, series[sid as usize].0.clone()));
                }
            }
        }
        Ok(())
    }

    fn symbol(self, kind: SymbolKind, name: &str) -> Result<Option<u32>, Error> {
        match self {
            Self::Snapshot(snapshot) => Ok(snapshot.symbol_id(kind, name)?),
            #[cfg(test)]
            Self::Given(series) => {
                let mut seen: Vec<&str> = Vec::new();
                for (identity, _) in series {
                    let labels = identity.labels.iter();
                    match kind {
                        SymbolKind::LabelName => seen.extend(labels.map(|l| &*l.name)),
                        SymbolKind::LabelValue => seen.extend(labels.map(|l| &*l.value)),
                        _ => seen.push(&identity.measurement),
                    }
                }
                Ok(seen.iter().position(|&other| other == name).map(|at| at as u32 + 1))
            }
        }
    }
}

/// Selects series as long as the query may go on.
pub(crate) fn select(
    snapshot: &Snapshot,
    selector: &Selector,
    range: TimeRange,
    meter: &Meter,
) -> Result<Vec<u32>, Error> {
    meter.note_asked(selector);
    let selected = snapshot.select_while(selector, range, &|ids| meter.walk(ids).is_ok());
    if matches!(selected, Err(foliot_engine::Error::Stopped)) {
        // Says why.
        meter.walk(0)?;
    }
    Ok(selected?)
}

/// Lists names, whose memory is added to `charge`, as long as the query may go on. What is wanted:
/// a selector, a prefix, how many to leave out, and how many at most.
pub(crate) fn list(
    snapshot: &Snapshot,
    what: &Listed,
    (selector, prefix, offset, limit): (&Selector, &str, usize, usize),
    charge: &mut Charge<'_>,
    meter: &Meter,
) -> Result<Vec<String>, Error> {
    let gathered = RefCell::new((meter.open(), Ok(())));
    let listed = snapshot.list_while(what, selector, prefix, (offset, limit), &|bytes| {
        let (charge, refused) = &mut *gathered.borrow_mut();
        // What was refused once stays so, however often it is asked.
        if refused.is_ok() {
            *refused = charge.resize(bytes).and_then(|()| meter.check(0));
        }
        refused.is_ok()
    });
    let (gathered, refused) = gathered.into_inner();
    if matches!(listed, Err(foliot_engine::Error::Stopped)) {
        refused?;
    }
    let bytes = gathered.bytes();
    drop(gathered);
    charge.add(bytes)?;
    Ok(listed?)
}

/// Reads series after series, run by run.
pub(crate) struct Runs<'q> {
    snapshot: &'q Snapshot,
    scan: Scan,
    /// What was done since the meter was asked.
    due: usize,
    meter: &'q Meter,
    charge: Charge<'q>,
}

impl Runs<'_> {
    /// Turns to a series.
    pub(crate) fn turn(&mut self, sid: u32) -> Result<(), Error> {
        self.tick()?;
        Ok(self.snapshot.scan_into(sid, &mut self.scan)?)
    }

    /// Turns to a series, over another range.
    pub(crate) fn turn_in(&mut self, sid: u32, range: TimeRange) -> Result<(), Error> {
        self.scan.ask_for(range);
        self.turn(sid)
    }

    /// Asks the meter now and then: to look at a clock takes longer than to pass a block.
    fn tick(&mut self) -> Result<(), Error> {
        self.due += 1;
        match self.due {
            CHECKED_PASSES.. => {
                self.due = 0;
                self.meter.check(0)
            }
            _ => Ok(()),
        }
    }

    /// What the next block comes to, if that is known without reading it.
    pub(crate) fn peek(&self) -> Option<Peek<'_>> {
        self.scan.peek()
    }

    /// Passes over the block that was peeked at.
    pub(crate) fn skip(&mut self) -> Result<(), Error> {
        self.scan.skip();
        self.tick()
    }

    /// Puts the next samples in place of what `run` holds; false at the end.
    pub(crate) fn next(&mut self, run: &mut Run) -> Result<bool, Error> {
        self.charge.resize(SCAN_BYTES + self.scan.merge_bytes())?;
        let goes_on = self.scan.next_run(run)?;
        self.meter.read(run.len())?;
        Ok(goes_on)
    }

    /// The same, to see where samples lie which will be read again: then they count.
    pub(crate) fn next_ahead(&mut self, run: &mut Run) -> Result<bool, Error> {
        self.charge.resize(SCAN_BYTES + self.scan.merge_bytes())?;
        let goes_on = self.scan.next_run(run)?;
        self.meter.check(run.len())?;
        Ok(goes_on)
    }
}

/// Reads the latest samples of series.
pub(crate) struct Lasts<'q> {
    source: Source<'q>,
    scan: Scan,
    samples: Samples,
}

impl Lasts<'_> {
    /// The latest sample of a series, by itself; nothing if there is none.
    pub(crate) fn of(&mut self, sid: u32) -> Result<&Samples, Error> {
        match self.source {
            Source::Snapshot(snapshot) => {
                snapshot.last_into(sid, &mut self.scan, &mut self.samples)?;
            }
            #[cfg(test)]
            given @ Source::Given(_) => self.samples = given.last(sid)?,
        }
        Ok(&self.samples)
    }
}

/// Scans that have ended, all over one range: the next series uses their memory. Scans are as large
/// as a few hundred bytes and change hands often, so that they stay where they are.
#[allow(clippy::vec_box, reason = "to move a scan takes longer than to find it")]
pub(crate) struct Spares(Mutex<Vec<Box<Scan>>>);

impl fmt::Debug for Spares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spares")
    }
}

impl Default for Spares {
    fn default() -> Self {
        Self(Mutex::new(Rank::Spares, Vec::new()))
    }
}

impl Spares {
    /// Enough for the threads of a query; a merge that ends gives back thousands.
    const MAX: usize = 64;

    fn take(&self) -> Option<Box<Scan>> {
        self.0.lock().pop()
    }

    fn give(&self, scan: Box<Scan>) {
        let mut spares = self.0.lock();
        if spares.len() < Self::MAX {
            spares.push(scan);
        }
    }
}

/// A stored series being read.
pub(crate) struct Stored<'q> {
    snapshot: &'q Snapshot,
    sid: u32,
    /// Nothing once it has ended.
    scan: Option<Box<Scan>>,
    spares: Arc<Spares>,
    is_found: bool,
    /// Whether it is read to see where its blocks lie, and will be read again.
    pub(crate) is_ahead: bool,
    /// What it takes is this step's.
    pub(crate) step: Option<Arc<Step>>,
    charge: Charge<'q>,
}

impl fmt::Debug for Stored<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stored").field("sid", &self.sid).finish_non_exhaustive()
    }
}

impl Stored<'_> {
    pub(crate) fn next(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        let Some(scan) = &mut self.scan else { return Ok(false) };
        self.charge.resize(SCAN_BYTES + scan.merge_bytes())?;
        let goes_on = match &self.step {
            Some(step) => step.time(|| scan.next(out))?,
            None => scan.next(out)?,
        };
        if goes_on {
            self.find(out.len());
        }
        match self.is_ahead {
            true => meter.check(out.len())?,
            false => meter.read(out.len())?,
        }
        if !goes_on {
            self.scan.take().into_iter().for_each(|scan| self.spares.give(scan));
        }
        Ok(goes_on)
    }

    /// What the next block comes to, if that is known without reading it.
    pub(crate) fn peek(&self) -> Option<Peek<'_>> {
        self.scan.as_ref()?.peek()
    }

    /// Passes over the block that was peeked at.
    pub(crate) fn skip(&mut self, meter: &Meter) -> Result<(), Error> {
        if let Some(scan) = &mut self.scan {
            scan.skip();
            self.find(0);
        }
        meter.check(0)
    }

    /// Notes that it has samples, of which so many were read.
    fn find(&mut self, samples: usize) {
        let is_first = !std::mem::replace(&mut self.is_found, true);
        if let Some(step) = &self.step {
            step.add_samples(samples as u64);
            if is_first {
                step.add_series(1);
            }
        }
    }

    /// Puts the last sample into `out`; false if there is none. Blocks before the last one are
    /// passed over as far as nothing overlaps them.
    pub(crate) fn last(&mut self, meter: &Meter, out: &mut Samples) -> Result<bool, Error> {
        let Some(mut scan) = self.scan.take() else { return Ok(false) };
        let mut passed = None;
        let mut chunk = Samples::default();
        loop {
            while let Some(block) = scan.peek() {
                passed = Some((block.range, last_value(block.summary)));
                scan.skip();
            }
            chunk.clear();
            self.charge.resize(SCAN_BYTES + scan.merge_bytes())?;
            if scan.next(&mut chunk)? {
                meter.read(chunk.len())?;
                passed = None;
                out.clear();
                out.append(&chunk, chunk.len().saturating_sub(1)..chunk.len());
            } else if let Some((block, value)) = passed.take() {
                // Nothing came after the block that was passed over last.
                out.clear();
                if let Some(value) = value {
                    out.push(block.end_ns, value);
                    break;
                }
                // It is read after all. Its last sample is enough, and makes it a block that no
                // peek can pass over.
                let last = TimeRange::new(block.end_ns, block.end_ns);
                *scan = self.snapshot.scan(self.sid, last)?;
                if block.start_ns == block.end_ns {
                    scan.next(out)?;
                    meter.read(out.len())?;
                    break;
                }
            } else {
                break;
            }
        }
        self.is_found |= !out.is_empty();
        Ok(!out.is_empty())
    }

    /// The series, if it has a sample in the range.
    pub(crate) fn member(&self) -> Option<u32> {
        self.is_found.then_some(self.sid)
    }
}

/// Numbers of names, remembered for the length of a query: grouping asks for the same few again and
/// again. A name that the store does not know comes last.
#[derive(Debug)]
pub(crate) struct Symbols<'q> {
    source: Source<'q>,
    measurements: HashMap<Arc<str>, u32>,
    label_names: HashMap<Arc<str>, u32>,
    label_values: HashMap<Arc<str>, u32>,
    failed: Result<(), Error>,
}

impl<'q> Symbols<'q> {
    pub(crate) fn new(source: Source<'q>) -> Self {
        let empty = HashMap::new;
        let (measurements, label_names, label_values) = (empty(), empty(), empty());
        Self { source, measurements, label_names, label_values, failed: Ok(()) }
    }

    /// The error that a number was asked for in vain with, if there was one.
    pub(crate) fn end(self) -> Result<(), Error> {
        self.failed
    }

    pub(crate) fn measurement(&mut self, name: &Arc<str>) -> u32 {
        self.number(SymbolKind::Measurement, name)
    }

    pub(crate) fn label_name(&mut self, name: &Arc<str>) -> u32 {
        self.number(SymbolKind::LabelName, name)
    }

    pub(crate) fn label_value(&mut self, value: &Arc<str>) -> u32 {
        self.number(SymbolKind::LabelValue, value)
    }

    fn number(&mut self, kind: SymbolKind, name: &Arc<str>) -> u32 {
        let known = match kind {
            SymbolKind::LabelName => &mut self.label_names,
            SymbolKind::LabelValue => &mut self.label_values,
            _ => &mut self.measurements,
        };
        if let Some(&number) = known.get(name) {
            return number;
        }
        match self.source.symbol(kind, name) {
            Ok(number) => {
                let number = number.unwrap_or(u32::MAX);
                known.insert(Arc::clone(name), number);
                number
            }
            Err(error) => {
                self.failed = Err(error);
                u32::MAX
            }
        }
    }
}
