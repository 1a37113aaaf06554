//! Grouping: which series come together, and in which order groups and series stand.
//!
//! Order is that of symbols, which the store numbers at first sight: groups by the values of their
//! labels, label names in the order of their own numbers; series by measurement and then label by
//! label. It is the order of OpenTSDB's UIDs.

use crate::Error;
use crate::limits::Meter;
use crate::set::Set;
use crate::source::Symbols;
use foliot_engine::Identity;
use foliot_model::Labels;
use foliot_plan::{Fold, Grouping};
use std::sync::Arc;

/// Series that may be asked twice what they are called.
const SERIES_FEW: usize = 16;

/// The groups of `input`: positions of their members, in order if they are to be ordered.
pub(crate) fn group(
    grouping: &Grouping,
    is_ordered: bool,
    input: &mut Set<'_>,
    mut symbols: Symbols<'_>,
    meter: &Meter,
) -> Result<Vec<Vec<u32>>, Error> {
    if is_one(grouping, is_ordered) {
        let all: Vec<u32> = (0..input.len() as u32).collect();
        return Ok(if all.is_empty() { Vec::new() } else { vec![all] });
    }
    let may_drop = matches!(grouping, Grouping::By { drops_absent: true, .. });
    if input.len() == 1 && !may_drop {
        // Alone, a series is a group, and comes first, whatever it is called.
        return Ok(vec![vec![0]]);
    }
    let is_each = *grouping == Grouping::Each;
    if is_each
        && input.len() <= SERIES_FEW
        && let Some(groups) = each_by_measurement(input, &mut symbols, meter)?
    {
        symbols.end()?;
        return Ok(groups);
    }
    let mut keyed: Vec<(Key, u32)> = Vec::with_capacity(input.len());
    let mut names = names(grouping);
    names.sort_by_cached_key(|name| symbols.label_name(name));
    let has_order = is_each || is_ordered;
    input.names(meter, &mut |index, name| {
        let of_group = group_key(grouping, &names, &name.labels, &mut symbols);
        let of_series = if has_order { series_key(name, &mut symbols) } else { Vec::new() };
        keyed.extend(of_group.map(|group| (Key { group, series: of_series }, index)));
    })?;
    symbols.end()?;
    meter.check(0)?;
    keyed.sort_unstable();
    if is_each {
        return Ok(keyed.into_iter().map(|(_, index)| vec![index]).collect());
    }
    let groups = keyed.chunk_by(|a, b| a.0.group == b.0.group);
    Ok(groups.map(|group| group.iter().map(|&(_, index)| index).collect()).collect())
}

/// A group of each series, where their measurements tell the order: a number for each of them takes
/// a fraction of those for ten labels and their values. Nothing where two have the same.
fn each_by_measurement(
    input: &mut Set<'_>,
    symbols: &mut Symbols<'_>,
    meter: &Meter,
) -> Result<Option<Vec<Vec<u32>>>, Error> {
    let mut numbered = Vec::with_capacity(input.len());
    input.names(meter, &mut |index, name| {
        numbered.push((symbols.measurement(&name.measurement), index));
    })?;
    numbered.sort_unstable();
    let are_apart = numbered.is_sorted_by(|a, b| a.0 < b.0);
    Ok(are_apart.then(|| numbered.into_iter().map(|(_, index)| vec![index]).collect()))
}

/// Whether all series make one group, in whatever order: then nothing has to be known of them.
pub(crate) fn is_one(grouping: &Grouping, is_ordered: bool) -> bool {
    *grouping == Grouping::All && !is_ordered
}

/// Whether a fold depends on the order of its series beyond rounding.
pub(crate) fn is_ordered(fold: Fold) -> bool {
    matches!(fold, Fold::First | Fold::Last | Fold::Difference)
}

/// What orders groups, and the series within them where that matters.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    group: Vec<u32>,
    series: Vec<u32>,
}

fn names(grouping: &Grouping) -> Vec<Arc<str>> {
    match grouping {
        Grouping::By { names, .. } => names.clone(),
        Grouping::All | Grouping::Each => Vec::new(),
    }
}

/// Which group a series belongs to; nothing if to none.
fn group_key(
    grouping: &Grouping,
    names: &[Arc<str>],
    labels: &Labels,
    symbols: &mut Symbols<'_>,
) -> Option<Vec<u32>> {
    match grouping {
        Grouping::All | Grouping::Each => Some(Vec::new()),
        Grouping::By { drops_absent, .. } => key_of_values(names, labels, *drops_absent, symbols),
    }
}

/// The values of the named labels, 0 for an absent one; nothing if absent ones drop the series.
fn key_of_values(
    names: &[Arc<str>],
    labels: &Labels,
    drops_absent: bool,
    symbols: &mut Symbols<'_>,
) -> Option<Vec<u32>> {
    let mut key = Vec::with_capacity(names.len());
    for name in names {
        match labels.get(name) {
            Some(value) => key.push(symbols.label_value(value)),
            None if drops_absent => return None,
            None => key.push(0),
        }
    }
    Some(key)
}

/// The numbers of some labels and their values.
pub(crate) fn key_of(
    labels: &Labels,
    is_part: impl Fn(&Arc<str>) -> bool,
    symbols: &mut Symbols<'_>,
) -> Vec<u32> {
    let mut pairs: Vec<[u32; 2]> = labels
        .iter()
        .filter(|label| is_part(&label.name))
        .map(|label| [symbols.label_name(&label.name), symbols.label_value(&label.value)])
        .collect();
    pairs.sort_unstable();
    pairs.into_flattened()
}

/// What orders series: measurement, then pairs of label name and value.
fn series_key(name: &Identity, symbols: &mut Symbols<'_>) -> Vec<u32> {
    let mut key = vec![symbols.measurement(&name.measurement)];
    key.extend(key_of(&name.labels, |_| true, symbols));
    key
}
