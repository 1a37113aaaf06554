//! Differences of histograms over a range.

use super::total::two;
use super::{Incompatible, Merged, Total, began_anew, compact};
use foliot_model::{Histogram, Resets};
use std::sync::Arc;

/// A difference, and what was met on the way.
#[derive(Debug)]
pub(crate) struct Differs {
    pub(crate) histogram: Histogram,
    /// Whether custom bounds had to be reconciled: when one was taken away, and when one was added.
    pub(crate) is_reconciled: (bool, bool),
    /// Whether histograms of a counter are gauges, or the other way around.
    pub(crate) is_misused: bool,
}

/// What a histogram of a range is.
type Sample = (i64, Arc<Histogram>);

/// The difference from the first to the last of at least two; of a counter with what was counted
/// before it began anew.
pub(crate) fn rate(samples: &[Sample], is_counter: bool) -> Result<Differs, Incompatible> {
    let [(_, first), (_, second), ..] = samples else { return Err(Incompatible) };
    let (_, last) = samples.last().ok_or(Incompatible)?;
    let is_gauge = |of: &Histogram| of.resets == Resets::Gauge;
    let is_misused = match is_counter {
        true => samples.iter().any(|(_, of)| is_gauge(of)),
        false => !is_gauge(first) || !is_gauge(last),
    };
    // Where counting began anew right after the first, its buckets do not matter.
    let empty =
        Histogram { schema: second.schema, bounds: second.bounds.clone(), ..Histogram::default() };
    let skips_first = is_counter && began_anew(second, first);
    let first = if skips_first { &empty } else { &**first };
    let is_custom = first.is_custom();
    let between = samples.get(1..samples.len() - 1).unwrap_or_default();
    if last.is_custom() != is_custom
        || (is_counter && between.iter().any(|(_, of)| of.is_custom() != is_custom))
    {
        return Err(Incompatible);
    }
    let all = between.iter().map(|(_, of)| of.schema).filter(|_| is_counter);
    let schema = all.chain([first.schema, last.schema]).min().unwrap_or(last.schema);
    let mut last = Histogram::clone(last);
    last.reduce(schema);
    let mut total = Total::of(&last);
    let Merged { is_reconciled: took, .. } = total.add(first, -1.0)?;
    let mut added = false;
    if is_counter {
        let mut before = first;
        for (_, of) in samples.iter().skip(1) {
            if began_anew(of, before) {
                added |= total.add(before, 1.0)?.is_reconciled;
            }
            before = of;
        }
    }
    let histogram = compact(Histogram { resets: Resets::Gauge, ..total.total() });
    Ok(Differs { histogram, is_reconciled: (took, added), is_misused })
}

/// The difference of the last two, or the last itself where counting began anew.
pub(crate) fn last_two(
    before: &Histogram,
    last: &Histogram,
    is_counter: bool,
) -> Result<Differs, Incompatible> {
    let is_gauge = |of: &Histogram| of.resets == Resets::Gauge;
    let is_misused = match is_counter {
        true => is_gauge(before) || is_gauge(last),
        false => !is_gauge(before) || !is_gauge(last),
    };
    let (histogram, is_reconciled) = match is_counter && began_anew(last, before) {
        true => (compact(last.clone()), false),
        false => {
            let (histogram, merged) = two(last, before, -1.0)?;
            (histogram, merged.is_reconciled)
        }
    };
    let histogram = Histogram { resets: Resets::Gauge, ..histogram };
    Ok(Differs { histogram, is_reconciled: (is_reconciled, false), is_misused })
}
