//! Series of the store.

use super::alike::Alike;
use super::gapped::Gapped;
use super::histograms::follows;
use super::numbers::Numbers;
use super::row::{GridRow, Made};
use super::stretches::Stretches;
use super::{OnRow, Walk, seconds};
use crate::limits::{CHUNK_SAMPLES, Charge, Meter};
use crate::source::{Source, Spares};
use crate::stream::Stream;
use crate::{Error, Query};
use foliot_engine::{Run, RunValues};
use foliot_model::{Histogram, Label, Labels, Samples, TimeRange, Value};
use foliot_plan::grid::{Instants, MEASUREMENT, Shift, Step, Steps, Stored, name};
use std::sync::Arc;

/// Samples of a series, numbers and histograms apart, by time each.
#[derive(Clone, Debug, Default)]
pub(super) struct Points {
    pub(super) numbers: Numbers,
    pub(super) histograms: Vec<(i64, Arc<Histogram>)>,
    /// Whether the series is to lose its measurement yet.
    pub(super) is_nameless: bool,
}

impl Points {
    fn clear(&mut self) {
        self.numbers.clear();
        self.histograms.clear();
    }

    fn is_empty(&self) -> bool {
        self.numbers.is_empty() && self.histograms.is_empty()
    }

    /// The same without samples of these bits, which say that the series is over; None if there is
    /// no such sample.
    pub(super) fn without(&self, stale_bits: u64) -> Option<Self> {
        let is_stale = |of: &Histogram| of.sum.to_bits() == stale_bits;
        let numbers = self.numbers.without(stale_bits);
        if numbers.is_none() && !self.histograms.iter().any(|(_, of)| is_stale(of)) {
            return None;
        }
        let histograms = self.histograms.iter().filter(|(_, of)| !is_stale(of));
        Some(Self {
            numbers: numbers.unwrap_or_else(|| self.numbers.clone()),
            histograms: histograms.cloned().collect(),
            is_nameless: self.is_nameless,
        })
    }
}

/// Takes a series: its labels, and its samples, which it may change.
pub(super) type OnSeries<'a> = &'a mut dyn FnMut(Labels, &mut Points) -> Result<(), Error>;

/// Where an instant looks.
pub(super) fn looked_at(shift: &Shift, at_ns: i64) -> i64 {
    shift.at_ns.unwrap_or(at_ns).saturating_sub(shift.offset_ns)
}

/// Series of the store that are about to be read, in the order of their labels.
pub(super) struct Reading<'w, 'q> {
    walk: &'w Walk<'q>,
    stored: &'w Stored,
    series: Vec<(Labels, u32)>,
    range: TimeRange,
    earlier: TimeRange,
    charge: Charge<'q>,
}

impl<'w, 'q> Reading<'w, 'q> {
    /// Samples are those of `before_ns` before the first instant, left out itself, to the last one.
    pub(super) fn new(
        walk: &'w Walk<'q>,
        stored: &'w Stored,
        before_ns: i64,
        steps: &Steps,
    ) -> Result<Self, Error> {
        let first = looked_at(&stored.shift, steps.start_ns);
        let last = looked_at(&stored.shift, steps.end_ns());
        let range = TimeRange::new(first.saturating_sub(before_ns).saturating_add(1), last);
        let earlier_ns = first.saturating_sub(before_ns.saturating_mul(2));
        let earlier = TimeRange::new(earlier_ns, range.start_ns.saturating_sub(1));
        let mut charge = walk.meter.open();
        let mut series = named(walk, stored, range, &mut charge)?;
        walk.meter.admit(series.len())?;
        series.sort_unstable();
        Ok(Self { walk, stored, series, range, earlier, charge })
    }

    /// Whether no two have the same labels, also without their measurements.
    pub(super) fn is_apart(&self) -> bool {
        let name = |labels: &Labels| labels.get(MEASUREMENT).cloned();
        let mut pairs = self.series.iter().zip(self.series.iter().skip(1));
        pairs.all(|((before, _), (after, _))| before != after && name(before) == name(after))
    }

    /// Calls `each` with the labels and the samples of each series.
    pub(super) fn each(self, each: OnSeries<'_>) -> Result<(), Error> {
        let Self { walk, stored, series, range, earlier, charge } = self;
        let source = Source::Snapshot(walk.snapshot);
        let mut runs = source.runs(range, walk.meter)?;
        let earlier = Earlier { source, range: earlier, spares: Arc::new(Spares::default()) };
        let (mut run, mut points) = (Run::default(), Points::default());
        for (labels, sid) in series {
            points.clear();
            let mut held = walk.meter.open();
            runs.turn(sid)?;
            let mut reader = Reader { skips_buckets: stored.skips_buckets, before: None };
            let mut is_first = true;
            while runs.next(&mut run)? {
                held.add(run.len() * size_of::<(i64, f64)>())?;
                if points.numbers.take(&run) {
                    (reader.before, is_first) = (None, false);
                    continue;
                }
                let RunValues::Samples(samples) = run.values() else { continue };
                for (at_ns, value) in samples.iter() {
                    if let Value::Histogram(bytes) = value {
                        if std::mem::take(&mut is_first) && Histogram::is_native(bytes) {
                            reader.before = earlier.histogram(sid, walk.meter)?;
                        }
                        if let Some(histogram) = reader.histogram(bytes) {
                            held.add(histogram.memory_bytes())?;
                            points.histograms.push((at_ns, histogram));
                        }
                    } else if let Some(number) = value.as_f64() {
                        (reader.before, is_first) = (None, false);
                        points.numbers.push(at_ns, number);
                    }
                }
            }
            if !points.is_empty() {
                each(labels, &mut points)?;
            }
        }
        drop(charge);
        Ok(())
    }

    /// The same; what reading takes is told as that of a step, where there is one.
    pub(super) fn each_told(self, step: Option<Step>, each: OnSeries<'_>) -> Result<(), Error> {
        let (walk, Some(step)) = (self.walk, step) else { return self.each(each) };
        let mut watch = walk.watch(step)?;
        let done = self.each(&mut |labels, points| watch.pass(|| each(labels, points)));
        watch.end();
        done
    }
}

/// The time before that of a question, which is as long: the first histogram is told how it follows
/// the last one there.
struct Earlier<'q> {
    source: Source<'q>,
    range: TimeRange,
    spares: Arc<Spares>,
}

impl<'q> Earlier<'q> {
    /// The last sample of a series there, if it is a histogram.
    fn histogram(&self, sid: u32, meter: &'q Meter) -> Result<Option<Arc<Histogram>>, Error> {
        let mut last = Samples::default();
        let is_there = match self.source.open(sid, self.range, &self.spares, meter)? {
            Stream::Stored(mut stored) => stored.last(meter, &mut last)?,
            _ => false,
        };
        let value = last.iter().next().filter(|_| is_there);
        Ok(value.and_then(|(_, value)| match value {
            Value::Histogram(bytes) => remembered(&Arc::new(Histogram::read(bytes)?)),
            _ => None,
        }))
    }
}

/// Reads the histograms of a series one after the other.
struct Reader {
    skips_buckets: bool,
    /// The sample before, with all its buckets, if it is a histogram too.
    before: Option<Arc<Histogram>>,
}

impl Reader {
    /// A histogram that is told how it follows the one before. Bytes of another door are none.
    fn histogram(&mut self, bytes: &[u8]) -> Option<Arc<Histogram>> {
        let read = Histogram::read(bytes)?;
        let resets = follows(&read, self.before.as_deref(), self.skips_buckets);
        let whole = Arc::new(Histogram { resets, ..read });
        self.before = remembered(&whole);
        if !self.skips_buckets {
            return Some(whole);
        }
        let Histogram { schema, count, sum, .. } = *whole;
        Some(Arc::new(Histogram { resets, schema, count, sum, ..Histogram::default() }))
    }
}

/// What the next one follows: not what marks a series as over.
fn remembered(of: &Arc<Histogram>) -> Option<Arc<Histogram>> {
    let is_over = of.sum.is_nan() && of.count == 0.0;
    (!is_over).then(|| Arc::clone(of))
}

/// Series with their labels. What they weigh is added to `charge`.
fn named(
    walk: &Walk<'_>,
    stored: &Stored,
    range: TimeRange,
    charge: &mut Charge<'_>,
) -> Result<Vec<(Labels, u32)>, Error> {
    let source = Source::Snapshot(walk.snapshot);
    let sids = source.select(&stored.selector, range, walk.meter)?;
    charge.add(sids.len() * size_of::<u32>())?;
    let mut series = Vec::new();
    let mut last = Label { name: MEASUREMENT.into(), value: "".into() };
    for sids in sids.chunks(CHUNK_SAMPLES) {
        let before = series.len();
        source.identities(sids, walk.meter, &mut |sid, identity| {
            let name = name(&identity.measurement, &identity.field);
            if stored.measurements.iter().all(|matcher| matcher.matches(Some(&name))) {
                // Most have the name of the one before.
                if last.value != name {
                    last.value = name;
                }
                series.push((identity.labels.with(last.clone()), sid));
            }
        })?;
        let new = series.iter().skip(before);
        charge.add(new.map(|(labels, _)| super::row::labels_bytes(labels)).sum())?;
    }
    Ok(series)
}

/// See [`crate::stored`].
pub(crate) fn sids(
    query: &Query<'_>,
    stored: &[Stored],
    range: TimeRange,
    charge: &mut Charge<'_>,
) -> Result<Vec<u32>, Error> {
    let source = Source::Snapshot(query.snapshot);
    let mut all = Vec::new();
    for Stored { selector, measurements, .. } in stored {
        let mut sids = source.select(selector, range, &query.meter)?;
        charge.add(sids.len() * size_of::<u32>())?;
        if !measurements.is_empty() {
            let mut named = Vec::new();
            for sids in sids.chunks(CHUNK_SAMPLES) {
                source.identities(sids, &query.meter, &mut |sid, identity| {
                    let name = name(&identity.measurement, &identity.field);
                    if measurements.iter().all(|matcher| matcher.matches(Some(&name))) {
                        named.push(sid);
                    }
                })?;
            }
            sids = named;
        }
        all.append(&mut sids);
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// See [`crate::labelled`].
pub(crate) fn labelled(
    query: &Query<'_>,
    stored: &[Stored],
    range: TimeRange,
    charge: &mut Charge<'_>,
) -> Result<Vec<Labels>, Error> {
    let (walk, mut all) = (Walk::new(query, (false, false)), Vec::new());
    for stored in stored {
        all.extend(named(&walk, stored, range, charge)?.into_iter().map(|(labels, _)| labels));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Calls `each` with the last sample of each series before each instant.
pub(super) fn instants(
    walk: &Walk<'_>,
    plan: &Instants,
    steps: &Steps,
    each: OnRow<'_>,
) -> Result<(), Error> {
    let mut places = Alike::new(walk);
    Reading::new(walk, &plan.stored, plan.lookback_ns, steps)?.each(&mut |labels, points| {
        let (labels, is_nameless) =
            if plan.stamps { walk.unnamed(&labels) } else { (labels, false) };
        let row = match points.histograms.is_empty() {
            true => {
                let bytes = Stretches::bytes(steps.count);
                let make = |times_ns: &[i64]| last_places(plan, steps, times_ns);
                let places = places.of(&points.numbers.times, bytes, make)?;
                GridRow::numbers(labels, last_numbers(plan, places, &points.numbers))
            }
            false => GridRow::made(labels, last_points(plan, steps, points)),
        };
        walk.pass(GridRow { is_nameless, ..row }, each)
    })
}

/// Which sample is the last one before each instant, if one is near enough.
fn last_places(plan: &Instants, steps: &Steps, times_ns: &[i64]) -> Stretches {
    let mut next = 0;
    let mut place = |index: usize| {
        let at_ns = looked_at(&plan.stored.shift, steps.at(index));
        while times_ns.get(next).is_some_and(|time_ns| *time_ns <= at_ns) {
            next += 1;
        }
        let last = next.checked_sub(1)?;
        let is_fresh = *times_ns.get(last)? > at_ns.saturating_sub(plan.lookback_ns);
        let last = u32::try_from(last).ok().filter(|_| is_fresh)?;
        Some((last, last))
    };
    (0..steps.count).map(&mut place).collect()
}

/// Of a series that has numbers only, as most have.
fn last_numbers(plan: &Instants, places: &Stretches, numbers: &Numbers) -> Gapped {
    let mut lasts = places.lasts(&numbers.values);
    numbers.drop_marks(plan.stale_bits, &mut lasts);
    if plan.stamps {
        let times_ns = numbers.times.to_vec();
        let stamps: Vec<f64> = times_ns.into_iter().map(seconds).collect();
        return lasts.both(&places.lasts(&stamps), |_, stamp| stamp);
    }
    lasts
}

fn last_points(
    plan: &Instants,
    steps: &Steps,
    points: &Points,
) -> impl Iterator<Item = Option<Made>> {
    let Points { numbers, histograms, .. } = points;
    let times_ns = numbers.times.to_vec();
    let (mut next_number, mut next_histogram) = (0, 0);
    let value = move |index: usize| {
        let at_ns = looked_at(&plan.stored.shift, steps.at(index));
        while times_ns.get(next_number).is_some_and(|time_ns| *time_ns <= at_ns) {
            next_number += 1;
        }
        while histograms.get(next_histogram).is_some_and(|(time_ns, _)| *time_ns <= at_ns) {
            next_histogram += 1;
        }
        let number = next_number.checked_sub(1);
        let number = number.and_then(|at| Some((*times_ns.get(at)?, *numbers.values.get(at)?)));
        let histogram = next_histogram.checked_sub(1).and_then(|last| histograms.get(last));
        let histogram_ns = histogram.map(|(time_ns, _)| *time_ns);
        let number = number.filter(|(time_ns, _)| histogram_ns.is_none_or(|ns| ns < *time_ns));
        let (time_ns, bits, value) = match (number, histogram) {
            (Some((time_ns, number)), _) => (time_ns, number.to_bits(), Made::Number(number)),
            (None, Some((time_ns, histogram))) => {
                let value = Made::Histogram(Arc::clone(histogram));
                (*time_ns, histogram.sum.to_bits(), value)
            }
            (None, None) => return None,
        };
        let is_fresh = time_ns > at_ns.saturating_sub(plan.lookback_ns);
        let is_over = bits == plan.stale_bits;
        let value = if plan.stamps { Made::Number(seconds(time_ns)) } else { value };
        (is_fresh && !is_over).then_some(value)
    };
    (0..steps.count).map(value)
}
