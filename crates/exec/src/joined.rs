//! Joins: series of several sets that are called the same, calculated with one another.

use crate::Error;
use crate::group::key_of;
use crate::kept::{Kept, One};
use crate::kernels::arithmetic::worked_out;
use crate::limits::{CHUNK_SAMPLES, Meter};
use crate::number::Number;
use crate::source::{Source, Symbols};
use foliot_model::{Samples, SeriesHead, Value};
use foliot_plan::{Input, Joined};
use std::collections::BTreeMap;
use std::sync::Arc;

/// By what series are found: numbers of labels with their values, and of labels that vary.
type Key = (Vec<u32>, Vec<u32>);

/// One series of each input, where there is one.
type Group<'k> = Vec<Option<&'k One>>;

impl<'q> Kept<'q> {
    /// What the series of inputs come to.
    pub(crate) fn joined(
        plan: &Joined,
        inputs: &[Arc<Self>],
        source: Source<'_>,
        meter: &'q Meter,
    ) -> Result<Arc<Self>, Error> {
        let mut symbols = Symbols::new(source);
        let groups = groups(plan, inputs, &mut symbols, meter)?;
        let mut held = meter.open();
        let all_ns = match plan.at_all_times {
            true => Some(times_of(groups.iter().flatten().flatten().copied(), meter)?),
            false => None,
        };
        held.add(all_ns.as_ref().map_or(0, |all_ns| size_of_val(all_ns.as_slice())))?;
        let mut made = Self::none(meter);
        for group in &groups {
            let own_ns = match all_ns {
                None => times_of(group.iter().flatten().copied(), meter)?,
                Some(_) => Vec::new(),
            };
            let times_ns = all_ns.as_ref().unwrap_or(&own_ns);
            held.add(times_ns.len() * size_of::<(i64, f64)>())?;
            let samples = calculated(plan, group, times_ns, meter)?;
            made.add((Arc::new(head_of(group, &mut symbols)), Arc::new(samples)))?;
            held.resize(all_ns.as_ref().map_or(0, |all_ns| size_of_val(all_ns.as_slice())))?;
        }
        symbols.end()?;
        Ok(Arc::new(made))
    }
}

/// The series that meet, in the order of what they are found by.
fn groups<'k>(
    plan: &Joined,
    inputs: &'k [Arc<Kept<'_>>],
    symbols: &mut Symbols<'_>,
    meter: &Meter,
) -> Result<Vec<Group<'k>>, Error> {
    let mut groups: BTreeMap<Key, Group<'k>> = BTreeMap::new();
    for (place, (kept, input)) in inputs.iter().zip(&plan.inputs).enumerate() {
        for one in &kept.series {
            meter.check(0)?;
            let key = key(plan, input, &one.0, symbols);
            let group = groups.entry(key).or_insert_with(|| vec![None; inputs.len()]);
            group.get_mut(place).into_iter().for_each(|slot| *slot = Some(one));
        }
    }
    let is_whole = |group: &Group<'_>| !plan.needs_all || group.iter().all(Option::is_some);
    Ok(groups.into_values().filter(is_whole).collect())
}

fn key(plan: &Joined, input: &Input, head: &SeriesHead, symbols: &mut Symbols<'_>) -> Key {
    if head.labels.is_empty() {
        return Key::default();
    }
    let is_part = |label: &Arc<str>| input.labels.as_ref().is_none_or(|some| some.contains(label));
    let labels = key_of(&head.labels, is_part, symbols);
    let varying = head.varying.iter().filter(|_| plan.by_varying);
    let mut varying: Vec<u32> = varying.map(|name| symbols.label_name(name)).collect();
    varying.sort_unstable();
    (labels, varying)
}

fn head_of(group: &Group<'_>, symbols: &mut Symbols<'_>) -> SeriesHead {
    let heads = || group.iter().flatten().map(|(head, _)| head);
    // A name that the store does not know comes before all.
    let number = |head: &&Arc<SeriesHead>| symbols.measurement(&head.measurement).wrapping_add(1);
    let measurement = heads().min_by_key(number).map(|head| Arc::clone(&head.measurement));
    let mut varying: Vec<_> = heads().flat_map(|head| &head.varying).cloned().collect();
    varying.sort_unstable();
    varying.dedup();
    let mut measurements: Vec<_> = heads().flat_map(|head| head.all_measurements()).collect();
    measurements.sort_unstable();
    measurements.dedup();
    let labels = heads().next().map(|head| head.labels.clone()).unwrap_or_default();
    let measurement = measurement.unwrap_or_default();
    SeriesHead { measurement, measurements, labels, varying, ..SeriesHead::default() }
}

/// The times of series, ascending.
fn times_of<'k>(series: impl Iterator<Item = &'k One>, meter: &Meter) -> Result<Vec<i64>, Error> {
    let (mut all, mut held) = (Vec::new(), meter.open());
    for (_, samples) in series {
        meter.check(0)?;
        if all != samples.times_ns {
            held.resize((all.len() + samples.len()) * size_of::<i64>())?;
            all.extend_from_slice(&samples.times_ns);
            // Two runs in order, which this sort merges.
            all.sort();
            all.dedup();
        }
    }
    Ok(all)
}

/// What the numbers of a group come to.
fn calculated(
    plan: &Joined,
    group: &Group<'_>,
    times_ns: &[i64],
    meter: &Meter,
) -> Result<Samples, Error> {
    let (mut numbers, mut stack) = (Vec::new(), Vec::new());
    // How many samples of each series are done with.
    let mut done = vec![0; group.len()];
    let mut made = Samples::default();
    for (index, &time_ns) in times_ns.iter().enumerate() {
        if index % CHUNK_SAMPLES == 0 {
            meter.check(0)?;
        }
        numbers.clear();
        for ((one, input), done) in group.iter().zip(&plan.inputs).zip(&mut done) {
            let Some((_, samples)) = one else {
                numbers.push(0.0);
                continue;
            };
            let mut here = None;
            while samples.times_ns.get(*done) == Some(&time_ns) {
                here = Number::at(&samples.values, *done).map(Number::to_f64);
                *done += 1;
            }
            numbers.push(here.filter(|number| !number.is_nan()).unwrap_or(input.fill));
        }
        made.push(time_ns, Value::Float(worked_out(&plan.term, &numbers, &mut stack)));
    }
    Ok(made)
}
