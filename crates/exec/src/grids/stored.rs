//! Series of the store.

use super::{GridRow, Gridded, Walk, seconds};
use crate::limits::{CHUNK_SAMPLES, Charge};
use crate::source::{Source, Spares};
use crate::{Error, Query};
use foliot_engine::Identity;
use foliot_model::{Label, Labels, Samples, TimeRange};
use foliot_plan::grid::{Instants, MEASUREMENT, Shift, Steps, Stored, name};
use std::sync::Arc;

/// Takes a series: its labels, and its numbers by time.
pub(super) type OnSeries<'a> = &'a mut dyn FnMut(Labels, &[(i64, f64)]) -> Result<(), Error>;

/// Where an instant looks.
pub(super) fn looked_at(shift: &Shift, at_ns: i64) -> i64 {
    shift.at_ns.unwrap_or(at_ns).saturating_sub(shift.offset_ns)
}

/// Calls `each` with the labels and the numbers of each series, in the order of their labels.
/// Samples are those of `before_ns` before the first instant, left out itself, to the last one.
pub(super) fn each_series(
    walk: &Walk<'_>,
    stored: &Stored,
    before_ns: i64,
    steps: &Steps,
    each: OnSeries<'_>,
) -> Result<(), Error> {
    let first = looked_at(&stored.shift, steps.start_ns);
    let last = looked_at(&stored.shift, steps.end_ns());
    let range = TimeRange::new(first.saturating_sub(before_ns).saturating_add(1), last);
    let source = Source::Snapshot(walk.snapshot);
    let mut charge = walk.meter.open();
    let mut series = named(walk, stored, range, &mut charge)?;
    walk.meter.admit(series.len())?;
    series.sort_unstable();
    let spares = Arc::new(Spares::default());
    let (mut chunk, mut numbers) = (Samples::default(), Vec::new());
    for (labels, sid) in series {
        numbers.clear();
        let mut held = walk.meter.open();
        let mut stream = source.open(sid, range, &spares, walk.meter)?;
        while stream.next(walk.meter, &mut chunk)? {
            held.add(chunk.len() * size_of::<(i64, f64)>())?;
            let there = chunk.iter().filter_map(|(at_ns, value)| Some((at_ns, value.as_f64()?)));
            numbers.extend(there);
        }
        if !numbers.is_empty() {
            each(labels, &numbers)?;
        }
    }
    Ok(())
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
    for sids in sids.chunks(CHUNK_SAMPLES) {
        let before = series.len();
        source.identities(sids, walk.meter, &mut |sid, identity| {
            let name = name(&identity.measurement, &identity.field);
            if stored.measurements.iter().all(|matcher| matcher.matches(Some(&name))) {
                series.push((labels_of(&identity, name), sid));
            }
        })?;
        let new = series.iter().skip(before);
        charge.add(new.map(|(labels, _)| super::labels_bytes(labels)).sum())?;
    }
    Ok(series)
}

/// See [`crate::labelled`].
pub(crate) fn labelled(
    query: &Query<'_>,
    stored: &[Stored],
    range: TimeRange,
    charge: &mut Charge<'_>,
) -> Result<Vec<Labels>, Error> {
    let (walk, mut all) = (Walk::new(query), Vec::new());
    for stored in stored {
        all.extend(named(&walk, stored, range, charge)?.into_iter().map(|(labels, _)| labels));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn labels_of(identity: &Identity, name: Arc<str>) -> Labels {
    let name = Label { name: MEASUREMENT.into(), value: name };
    Labels::new(identity.labels.iter().cloned().chain([name]).collect())
}

/// The last sample before each instant.
pub(super) fn instants<'q>(
    walk: &Walk<'q>,
    plan: &Instants,
    steps: &Steps,
) -> Result<Gridded<'q>, Error> {
    let mut made = Gridded::none(walk);
    each_series(walk, &plan.stored, plan.lookback_ns, steps, &mut |labels, numbers| {
        let mut next = 0;
        let value = |index: usize| {
            let at_ns = looked_at(&plan.stored.shift, steps.at(index));
            while numbers.get(next).is_some_and(|(time_ns, _)| *time_ns <= at_ns) {
                next += 1;
            }
            let (time_ns, value) = *numbers.get(next.checked_sub(1)?)?;
            let is_fresh = time_ns > at_ns.saturating_sub(plan.lookback_ns);
            let is_over = value.to_bits() == plan.stale_bits;
            let value = if plan.stamps { seconds(time_ns) } else { value };
            (is_fresh && !is_over).then_some(value)
        };
        let labels = if plan.stamps { super::unnamed(&labels) } else { labels };
        let values = (0..steps.count).map(value).collect();
        made.push(walk, GridRow { labels, values })
    })?;
    Ok(made)
}
