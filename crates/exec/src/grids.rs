//! Grids: values of series at instants, operator by operator, each over all instants at once.
//!
//! ```text
//! stored    series of the store: their last sample before each instant, or a range's samples
//! over      samples of a range -> one value per instant            fold.rs: what they come to
//!           alike: of series with the same times it is looked up once where ranges lie,
//!           as stretches; times, numbers: samples column by column
//!           extrapolation: rates of a range
//! each      value -> value                                         binary  two grids -> one
//! aggregate series -> one per group; folding: of numbers as they come; sums: many at a time
//! relabel, described: labels
//! rollup    ranges by VictoriaMetrics' rules; places: where they lie
//!           along, labelled, loose: its other operators
//! buckets   histograms -> quantiles, fractions; counts: the same by VictoriaMetrics' rules
//! sorted    series in another order
//! tally     values -> how many of each there are, or in each range
//! ```
//!
//! A row is a series: row.rs; its numbers, of which some instants have none: gapped.rs.
//!
//! A value is a number or a native histogram. Numbers and histograms of a series lie apart, so that
//! whoever wants numbers only, which most do, reads these alone; histograms.rs: their arithmetic.
//!
//! Whatever an operator holds is charged before it is made, and every row of a grid asks whether
//! the query may go on.

mod aggregate;
mod alike;
mod along;
mod binary;
mod bounded;
mod buckets;
mod counts;
mod described;
mod each;
mod extrapolation;
mod fold;
mod folding;
mod gapped;
mod histograms;
mod labelled;
mod loose;
mod numbers;
mod operate;
mod over;
mod over_histograms;
mod picked;
mod places;
mod ranked;
mod relabel;
mod rollup;
mod row;
mod sorted;
mod stored;
mod stretches;
mod sums;
mod tally;
mod times;
mod walk;

pub use gapped::Gapped;
pub use row::GridRow;
pub(crate) use stored::{labelled, sids};

use crate::limits::{CHUNK_SAMPLES, Charge, Meter};
use crate::{Error, Query, Ran};
use foliot_model::{Histogram, Labels};
use foliot_plan::grid::{Grid, Notes, Steps};
use gapped::NOWHERE;
use std::collections::HashMap;
use walk::Walk;

/// An answer, and the memory that it holds.
#[derive(Debug)]
pub struct Gridded<'q> {
    /// Series that have a value at some instant.
    pub rows: Vec<GridRow>,
    /// What was met on the way.
    pub notes: Notes,
    charge: Charge<'q>,
    ran: Ran,
}

impl<'q> Gridded<'q> {
    fn none(walk: &Walk<'q>) -> Self {
        let charge = walk.meter.open();
        Self { rows: Vec::new(), notes: Notes::default(), charge, ran: Ran::default() }
    }

    /// One series without labels.
    fn scalar(walk: &Walk<'q>, steps: &Steps, value: impl Fn(i64) -> f64) -> Result<Self, Error> {
        let mut made = Self::none(walk);
        let mut values = Gapped::with_capacity(steps.count);
        values.extend((0..steps.count).map(|index| value(steps.at(index))));
        made.push(walk, GridRow::numbers(Labels::default(), values))?;
        Ok(made)
    }

    /// Adds a series, unless it has no values.
    fn push(&mut self, walk: &Walk<'_>, row: GridRow) -> Result<(), Error> {
        walk.pass(row, &mut |row| self.keep(row))
    }

    fn keep(&mut self, row: GridRow) -> Result<(), Error> {
        self.charge.add(row.bytes())?;
        self.rows.push(row);
        Ok(())
    }

    /// What the query did.
    pub fn ran(&self) -> Ran {
        let series = self.rows.len() as u64;
        let there = |row: &GridRow| row.count() as u64;
        let samples_answered = self.rows.iter().map(there).sum();
        Ran { series, samples_answered, ..self.ran }
    }

    /// The values of a scalar.
    fn scalars(&self) -> &Gapped {
        self.rows.first().map_or(&NOWHERE, |row| &row.values)
    }
}

/// The values of a grid.
///
/// # Errors
/// When a limit is met or the query is cancelled, when series cannot be told apart or matched, and
/// when the store cannot be read.
pub fn grid<'q>(query: &'q Query<'_>, plan: &Grid, steps: &Steps) -> Result<Gridded<'q>, Error> {
    let rules = (matches!(plan, Grid::NamedLate(_)), matches!(plan, Grid::Loose(_)));
    let walk = Walk::new(query, rules);
    let mut made = evaluated(&walk, plan, steps)?;
    if walk.names_late {
        for row in &mut made.rows {
            row.lose_name();
        }
        made = merged(made)?;
    }
    if walk.is_loose {
        made = loose::finished(made)?;
    }
    made.notes = walk.into_notes();
    made.ran.samples_scanned = query.meter.samples();
    made.ran.memory_peak_bytes = query.meter.memory_peak_bytes();
    Ok(made)
}

/// Takes the rows of a grid one after the other.
type OnRow<'a> = &'a mut dyn FnMut(GridRow) -> Result<(), Error>;

/// Calls `each` with the rows of a grid. Series of the store are passed on as they are read:
/// whoever makes one of many needs not hold them all.
fn each_row(walk: &Walk<'_>, plan: &Grid, steps: &Steps, each: OnRow<'_>) -> Result<(), Error> {
    match plan {
        Grid::NamedLate(input) | Grid::Loose(input) => each_row(walk, input, steps, each),
        Grid::Measured { step, input } => {
            walk.measured(*step, each, |each| each_row(walk, input, steps, each))
        }
        Grid::Nameless(input) => each_row(walk, input, steps, &mut |row| {
            each(GridRow { labels: row::unnamed(&row.labels), ..row })
        }),
        Grid::Instants(plan) => stored::instants(walk, plan, steps, each),
        Grid::Over(plan) => over::over(walk, plan, steps, each),
        _ => {
            let Gridded { rows, charge, .. } = evaluated(walk, plan, steps)?;
            rows.into_iter().try_for_each(each)?;
            drop(charge);
            Ok(())
        }
    }
}

fn evaluated<'q>(walk: &Walk<'q>, plan: &Grid, steps: &Steps) -> Result<Gridded<'q>, Error> {
    match plan {
        Grid::NamedLate(_)
        | Grid::Loose(_)
        | Grid::Measured { .. }
        | Grid::Nameless(_)
        | Grid::Instants(_)
        | Grid::Over(_) => {
            let mut made = Gridded::none(walk);
            each_row(walk, plan, steps, &mut |row| made.keep(row))?;
            Ok(made)
        }
        Grid::Union(inputs) => loose::union(walk, inputs, steps),
        Grid::Along(plan) => along::along(walk, plan, steps),
        Grid::Labelled(plan) => labelled::labelled(walk, plan, steps),
        Grid::Bounded { input, bounds_max } => bounded::bounded(walk, input, *bounds_max, steps),
        Grid::Number(number) => Gridded::scalar(walk, steps, |_| *number),
        Grid::Time => Gridded::scalar(walk, steps, seconds),
        Grid::Each(plan) => each::each(walk, plan, steps),
        Grid::Binary(plan) => binary::binary(walk, plan, steps),
        Grid::Aggregate(plan) => aggregate::aggregate(walk, plan, steps),
        Grid::Relabel(plan) => relabel::relabel(walk, plan, steps),
        Grid::Described(plan) => described::described(walk, plan, steps),
        Grid::Histograms(plan) if walk.is_loose => counts::counts(walk, plan, steps),
        Grid::Histograms(plan) => buckets::buckets(walk, plan, steps),
        Grid::Absent { input, labels } => {
            let input = evaluated(walk, input, steps)?;
            let is_there = |index: usize| input.rows.iter().any(|row| row.has(index));
            let values = (0..steps.count).map(|index| (!is_there(index)).then_some(1.0));
            let values: Gapped = values.collect();
            let mut made = Gridded::none(walk);
            made.push(walk, GridRow::numbers(labels.iter().cloned().collect(), values))?;
            Ok(made)
        }
        Grid::Scalar(input) => {
            let input = evaluated(walk, input, steps)?;
            let mut made = Gridded::none(walk);
            let only = |index: usize| {
                let mut there = input.rows.iter().filter_map(|row| row.values.get(index));
                there.next().filter(|_| there.next().is_none()).unwrap_or(f64::NAN)
            };
            let values: Gapped = (0..steps.count).map(|index| Some(only(index))).collect();
            made.push(walk, GridRow::numbers(Labels::default(), values))?;
            Ok(made)
        }
        Grid::Sorted { input, descending, place } => {
            sorted::by_value(walk, input, *descending, *place, steps)
        }
        Grid::SortedByLabels { input, descending, labels, place } => {
            sorted::by_labels(walk, input, *descending, (labels, *place), steps)
        }
    }
}

/// Values that were looked at and not told to the meter yet.
struct Looked<'q> {
    meter: &'q Meter,
    values: usize,
}

impl<'q> Looked<'q> {
    fn new(walk: &Walk<'q>) -> Self {
        Self { meter: walk.meter, values: 0 }
    }

    /// Counts `values` as work, and asks at times whether the query may go on.
    fn at(&mut self, values: usize) -> Result<(), Error> {
        self.values += values;
        if self.values >= CHUNK_SAMPLES {
            self.meter.check(std::mem::take(&mut self.values))?;
        }
        Ok(())
    }
}

/// As how many values a histogram counts: what folding it takes, its buckets by the eight.
fn weight(of: &Histogram) -> usize {
    1 + (of.positive.len() + of.negative.len()) / 8
}

/// An instant in seconds, to the millisecond.
fn seconds(at_ns: i64) -> f64 {
    at_ns.div_euclid(1_000_000) as f64 / 1000.0
}

/// Calls `each` with what `rows` passes on, after rows of the same labels are joined.
fn each_joined(
    walk: &Walk<'_>,
    rows: impl FnOnce(OnRow<'_>) -> Result<(), Error>,
    each: OnRow<'_>,
) -> Result<(), Error> {
    let mut made = Gridded::none(walk);
    rows(&mut |row| made.keep(row))?;
    let Gridded { rows, charge, .. } = joined(walk, made)?;
    rows.into_iter().try_for_each(each)?;
    drop(charge);
    Ok(())
}

/// Joins rows of the same labels: series that follow one another are one, as after a restart under
/// another name that is dropped. Where names are dropped at the very end, so is this done.
fn joined<'q>(walk: &Walk<'q>, made: Gridded<'q>) -> Result<Gridded<'q>, Error> {
    match walk.names_late || walk.is_loose {
        false => merged(made),
        true => Ok(made),
    }
}

/// Where two rows of the same labels have a value at one instant they cannot be told apart.
fn merged<'q>(mut made: Gridded<'q>) -> Result<Gridded<'q>, Error> {
    let mut places: HashMap<Labels, usize> = HashMap::with_capacity(made.rows.len());
    let mut rows: Vec<GridRow> = Vec::with_capacity(made.rows.len());
    for row in std::mem::take(&mut made.rows) {
        let place = *places.entry(row.labels.clone()).or_insert(rows.len());
        let Some(first) = rows.get_mut(place) else {
            rows.push(row);
            continue;
        };
        if !first.take_in(row) {
            let text = "vector cannot contain metrics with the same labelset";
            return Err(Error::Plan(text.to_owned()));
        }
    }
    made.rows = rows;
    Ok(made)
}
