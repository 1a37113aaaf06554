//! Slots: aggregation of series whose times fall on the same windows, and of very many series.
//!
//! 1. Every window of the range is a slot with a fold of its own; without windows every instant at
//!    which some series has a sample is, which takes reading all series once before.
//! 2. Series are read one after the other, each once; its value at a slot goes to the slot's fold,
//!    and between two of its values the slots get what the gap rule says.
//! 3. The result has a sample where at least one series had a value of its own.
//!
//! Memory is that of the slots, however many series there are. Big groups are cut into runs of
//! series that are folded by several threads and joined in order, so the result is the same for any
//! number of threads.

mod instants;
mod whole;

pub(crate) use instants::instants;

use crate::Error;
use crate::fold::{Acc, fold_of_floats};
use crate::gap::{Point, float_at, integer_at};
use crate::limits::{Charge, Meter};
use crate::number::Number;
use crate::stream::{Ready, Stream};
use crate::window::Grid;
use foliot_lock::{Mutex, Rank};
use foliot_model::{Samples, TimeRange, Value};
use foliot_plan::{Aggregate, Arithmetic, Fold, Gap};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use whole::Whole;

/// Most slots: two years of minutes, some 80 MB of folds.
const SLOTS_MAX: u64 = 1 << 20;

/// Slots that are worth setting up for any group: some hundred microseconds.
const SLOTS_ANY: usize = 1 << 13;

/// Series of a group that is worth any number of slots. Smaller groups of series that may be much
/// shorter than the range are merged, which takes some 50 KB per series.
const GROUP_ANY: usize = 32;

/// Series that are folded one after the other before their slots are joined with those before them.
/// Sums of groups up to this size are those of a plain loop in series order.
const RUN_SERIES: usize = 256;

/// The windows of `range`, if they are few enough to be slots.
pub(crate) fn stamps(grid: &Grid, range: &TimeRange) -> Option<Vec<i64>> {
    if grid.count_in(range) > SLOTS_MAX {
        return None;
    }
    let after =
        |window: &TimeRange| grid.after(window).filter(|window| range.contains(window.start_ns));
    let windows = std::iter::successors(grid.first_in(range), after);
    Some(windows.map(|window| window.start_ns).take(SLOTS_MAX as usize + 1).collect())
}

/// Whether slots are the better way to fold a group of so many series.
pub(crate) fn pays(stamps: usize, series: usize) -> bool {
    stamps <= SLOTS_ANY || series >= GROUP_ANY
}

/// What merging takes for each series, by estimate: a scan and a chunk.
const MERGED_BYTES: u64 = 32 << 10;

/// Whether a group of so many series, which share no windows, is better read twice than merged:
/// when that would take a good part of what the query may.
pub(crate) fn outgrows_merge(aggregate: &Aggregate, series: usize, meter: &Meter) -> bool {
    let folds = match aggregate.arithmetic {
        Arithmetic::Float => Acc::bytes_per_value(aggregate.fold) == 0,
        Arithmetic::IntegerIfAll => Whole::folds(aggregate.fold),
    };
    folds && series as u64 * MERGED_BYTES > meter.limits().memory_bytes / 4
}

/// Where a group is folded.
#[derive(Clone, Copy)]
pub(crate) enum Over<'a> {
    /// At windows, whose values are floats.
    Windows(&'a [i64]),
    /// At the instants of all series.
    Instants(&'a [i64]),
}

impl<'a> Over<'a> {
    fn stamps(self) -> &'a [i64] {
        let (Self::Windows(stamps) | Self::Instants(stamps)) = self;
        stamps
    }
}

/// Folds a group of series over stamps. `open` opens the members; up to `threads` work on them.
pub(crate) fn fold<'q>(
    aggregate: &Aggregate,
    over: Over<'_>,
    members: &[u32],
    open: &(dyn Fn(u32) -> Result<Stream<'q>, Error> + Sync),
    meter: &'q Meter,
    threads: usize,
) -> Result<Stream<'q>, Error> {
    // What grows with the number of series: ids, and the values of folds that need all of them.
    let fold = fold_of_floats(aggregate.fold, aggregate.arithmetic);
    let mut charge = meter.open();
    let kept_bytes = over.stamps().len() * Acc::bytes_per_value(fold);
    let series_bytes = size_of::<u32>() + kept_bytes;
    charge.resize(members.len().saturating_mul(series_bytes))?;
    let runs: Vec<&[u32]> = members.chunks(RUN_SERIES).collect();
    let joined = Joined { done: BTreeMap::new(), total: None, next: 0, error: None };
    let joined = Mutex::new(Rank::Query, joined);
    let taken = AtomicUsize::new(0);
    let work = || {
        loop {
            let position = taken.fetch_add(1, Ordering::Relaxed);
            let Some(run) = runs.get(position) else { return };
            let slots = Slots::over(aggregate, over, run, open, meter);
            let mut joined = joined.lock();
            if !joined.add(position, slots) {
                meter.stop();
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(runs.len()) {
            scope.spawn(work);
        }
        work();
    });
    let joined = joined.into_inner();
    match joined.error {
        Some(error) => Err(error),
        None => {
            let ready = joined.total.map(Slots::finish).unwrap_or_default();
            charge.add(ready.samples.bytes_len())?;
            Ok(Stream::Ready(Ready { _charge: Some(charge), ..ready }))
        }
    }
}

/// The slots of the runs so far, joined as far as no run is missing.
struct Joined<'q> {
    done: BTreeMap<usize, Slots<'q>>,
    total: Option<Slots<'q>>,
    next: usize,
    error: Option<Error>,
}

impl<'q> Joined<'q> {
    fn add(&mut self, position: usize, slots: Result<Slots<'q>, Error>) -> bool {
        match slots {
            Ok(slots) => self.done.insert(position, slots),
            Err(error) => {
                self.error.get_or_insert(error);
                return false;
            }
        };
        while let Some(slots) = self.done.remove(&self.next) {
            self.next += 1;
            match &mut self.total {
                Some(total) => total.absorb(slots),
                None => self.total = Some(slots),
            }
        }
        true
    }
}

/// One fold per window.
struct Slots<'q> {
    stamps: Vec<i64>,
    accs: Vec<Acc>,
    /// Whether a series had a value of its own there.
    touched: Vec<bool>,
    /// The same folds over integers, if arithmetic may be on them.
    wholes: Vec<Whole>,
    fold: Fold,
    gap: Gap,
    /// Ids of the stored series that were found.
    members: Vec<u32>,
    /// What folds have come to take outside the slots since it was charged.
    outside_bytes: usize,
    charge: Charge<'q>,
}

impl<'q> Slots<'q> {
    /// The slots of one run of series.
    fn over(
        aggregate: &Aggregate,
        over: Over<'_>,
        run: &[u32],
        open: &(dyn Fn(u32) -> Result<Stream<'q>, Error> + Sync),
        meter: &'q Meter,
    ) -> Result<Self, Error> {
        let mut slots = Self::new(aggregate, over, meter)?;
        let mut chunk = Samples::default();
        for &member in run {
            let mut stream = open(member)?;
            slots.add(&mut stream, meter, &mut chunk)?;
            stream.members(&mut slots.members);
        }
        Ok(slots)
    }

    fn new(aggregate: &Aggregate, over: Over<'_>, meter: &'q Meter) -> Result<Self, Error> {
        let stamps = over.stamps();
        let fold = fold_of_floats(aggregate.fold, aggregate.arithmetic);
        let mut charge = meter.open();
        let (wholes, whole_bytes) = match (over, aggregate.arithmetic) {
            (Over::Instants(_), Arithmetic::IntegerIfAll) => {
                (vec![Whole::new(aggregate.fold); stamps.len()], size_of::<Whole>())
            }
            _ => (Vec::new(), 0),
        };
        let bytes = size_of::<i64>() + size_of::<bool>() + size_of::<Acc>() + whole_bytes;
        charge.resize(stamps.len() * bytes)?;
        Ok(Self {
            stamps: stamps.to_vec(),
            accs: stamps.iter().map(|_| Acc::new(fold)).collect(),
            touched: vec![false; stamps.len()],
            wholes,
            fold: aggregate.fold,
            gap: aggregate.gap,
            members: Vec::new(),
            outside_bytes: 0,
            charge,
        })
    }

    /// Adds one series.
    fn add(
        &mut self,
        stream: &mut Stream<'_>,
        meter: &Meter,
        chunk: &mut Samples,
    ) -> Result<(), Error> {
        let (mut next, mut previous) = (0, None);
        while stream.next(meter, chunk)? {
            for (index, &time_ns) in chunk.times_ns.iter().enumerate() {
                let Some(number) = Number::at(&chunk.values, index) else { continue };
                let point = (time_ns, number);
                let first = next;
                next = self.add_point(previous, point, first);
                if !self.wholes.is_empty() {
                    self.add_whole(previous, point, first, next);
                }
                previous = Some(point);
            }
            self.charge.add(std::mem::take(&mut self.outside_bytes))?;
        }
        Ok(())
    }

    /// Adds a sample, and what lies between it and the one before it. Returns the slot after it.
    fn add_point(&mut self, previous: Option<Point>, point: Point, first: usize) -> usize {
        let stamps = self.stamps.get(first..).unwrap_or_default().iter();
        let accs = self.accs.get_mut(first..).unwrap_or_default().iter_mut();
        let touched = self.touched.get_mut(first..).unwrap_or_default().iter_mut();
        // Slots before the series' first value get nothing of it.
        for (at, ((&stamp_ns, acc), touched)) in (first..).zip(stamps.zip(accs).zip(touched)) {
            if stamp_ns < point.0 {
                let filled = previous
                    .and_then(|previous| float_at(previous, Some(point), stamp_ns, self.gap));
                if let Some(value) = filled {
                    self.outside_bytes += add(acc, value);
                }
                continue;
            }
            debug_assert_eq!(stamp_ns, point.0, "every sample lies on the grid");
            self.outside_bytes += add(acc, point.1.to_f64());
            *touched = true;
            return at + 1;
        }
        self.stamps.len()
    }

    /// The same for integers. A float spoils them where it is a series' value, and from the value
    /// before it on.
    fn add_whole(&mut self, previous: Option<Point>, point: Point, first: usize, end: usize) {
        let (fold, gap) = (self.fold, self.gap);
        let from = if point.1.is_float() { first.saturating_sub(1) } else { first };
        let stamps = self.stamps.get(from..end).unwrap_or_default();
        let wholes = self.wholes.get_mut(from..end).unwrap_or_default();
        let is_float = |point: Option<Point>| point.is_some_and(|(_, number)| number.is_float());
        for (&stamp_ns, whole) in stamps.iter().zip(wholes) {
            let value = match point {
                (_, Number::Integer(value)) if stamp_ns == point.0 => Some(value),
                _ if is_float(Some(point)) || is_float(previous) => {
                    whole.meet_float();
                    None
                }
                _ => previous.and_then(|now| integer_at(now, Some(point), stamp_ns, gap)),
            };
            value.into_iter().for_each(|value| whole.add(fold, value));
        }
    }

    /// Adds the slots of later series.
    fn absorb(&mut self, later: Self) {
        for (acc, later) in self.accs.iter_mut().zip(later.accs) {
            acc.absorb(later);
        }
        for (touched, later) in self.touched.iter_mut().zip(later.touched) {
            *touched |= later;
        }
        for (whole, later) in self.wholes.iter_mut().zip(later.wholes) {
            whole.absorb(self.fold, later);
        }
        self.members.extend(later.members);
    }

    fn finish(mut self) -> Ready<'q> {
        let mut samples = Samples::default();
        for (at, (&stamp_ns, acc)) in self.stamps.iter().zip(&mut self.accs).enumerate() {
            let whole = self.wholes.get(at).and_then(|whole| whole.finish(self.fold));
            let value = whole.map(Value::Integer).or_else(|| acc.finish().map(Value::Float));
            let is_touched = self.touched.get(at).is_some_and(|touched| *touched);
            if let Some(value) = value.filter(|_| is_touched) {
                samples.push(stamp_ns, value);
            }
        }
        Ready { samples: Arc::new(samples), members: self.members, ..Ready::default() }
    }
}

/// Adds a value; returns how much more memory the fold takes outside its slot. Values that are kept
/// are charged for beforehand.
fn add(acc: &mut Acc, value: f64) -> usize {
    let before = acc.sum_bytes();
    acc.add(value);
    acc.sum_bytes() - before
}
