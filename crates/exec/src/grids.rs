//! Grids: values of series at instants, operator by operator, each over all instants at once.
//!
//! ```text
//! stored    series of the store: their last sample before each instant, or a range's samples
//! over      samples of a range -> one value per instant            fold.rs: what they come to
//! each      value -> value                                         binary  two grids -> one
//! aggregate series -> one per group                                relabel, buckets
//! ```
//!
//! Whatever an operator holds is charged before it is made, and every row of a grid asks whether
//! the query may go on.

mod aggregate;
mod binary;
mod buckets;
mod each;
mod fold;
mod over;
mod relabel;
mod stored;
mod walk;

pub(crate) use stored::labelled;

use crate::limits::{CHUNK_SAMPLES, Charge, Meter};
use crate::{Error, Query, Ran};
use foliot_model::{Label, Labels};
use foliot_plan::grid::{Grid, MEASUREMENT, Notes, Steps};
use std::collections::HashMap;
use walk::Walk;

/// A series of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRow {
    /// Its labels, the measurement among them.
    pub labels: Labels,
    /// One for each instant.
    pub values: Vec<Option<f64>>,
}

impl GridRow {
    fn bytes(&self) -> usize {
        self.values.len() * size_of::<Option<f64>>() + labels_bytes(&self.labels)
    }

    fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }
}

/// What labels weigh; their strings are shared.
fn labels_bytes(labels: &Labels) -> usize {
    size_of::<GridRow>() + labels.len() * size_of::<Label>()
}

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
        let values = (0..steps.count).map(|index| Some(value(steps.at(index)))).collect();
        made.push(walk, GridRow { labels: Labels::default(), values })?;
        Ok(made)
    }

    /// Adds a series, unless it has no values.
    fn push(&mut self, walk: &Walk<'_>, row: GridRow) -> Result<(), Error> {
        walk.meter.check(0)?;
        if !row.is_empty() {
            self.charge.add(row.bytes())?;
            self.rows.push(row);
        }
        Ok(())
    }

    /// What the query did.
    pub fn ran(&self) -> Ran {
        let series = self.rows.len() as u64;
        let there = |row: &GridRow| row.values.iter().flatten().count() as u64;
        let samples_answered = self.rows.iter().map(there).sum();
        Ran { series, samples_answered, ..self.ran }
    }

    /// The values of a scalar.
    fn scalars(&self) -> &[Option<f64>] {
        self.rows.first().map_or(&[], |row| &row.values)
    }
}

/// The values of a grid.
///
/// # Errors
/// When a limit is met or the query is cancelled, when series cannot be told apart or matched, and
/// when the store cannot be read.
pub fn grid<'q>(query: &'q Query<'_>, plan: &Grid, steps: &Steps) -> Result<Gridded<'q>, Error> {
    let walk = Walk::new(query);
    let mut made = evaluated(&walk, plan, steps)?;
    made.notes = walk.into_notes();
    made.ran.samples_scanned = query.meter.samples();
    made.ran.memory_peak_bytes = query.meter.memory_peak_bytes();
    Ok(made)
}

fn evaluated<'q>(walk: &Walk<'q>, plan: &Grid, steps: &Steps) -> Result<Gridded<'q>, Error> {
    match plan {
        Grid::Number(number) => Gridded::scalar(walk, steps, |_| *number),
        Grid::Time => Gridded::scalar(walk, steps, seconds),
        Grid::Instants(plan) => stored::instants(walk, plan, steps),
        Grid::Over(plan) => over::over(walk, plan, steps),
        Grid::Each(plan) => each::each(walk, plan, steps),
        Grid::Binary(plan) => binary::binary(walk, plan, steps),
        Grid::Aggregate(plan) => aggregate::aggregate(walk, plan, steps),
        Grid::Relabel(plan) => relabel::relabel(walk, plan, steps),
        Grid::Buckets { quantile, input, places } => {
            buckets::buckets(walk, quantile, input, *places, steps)
        }
        Grid::Absent { input, labels } => {
            let input = evaluated(walk, input, steps)?;
            let is_there =
                |index: usize| input.rows.iter().any(|row| value(&row.values, index).is_some());
            let values = (0..steps.count).map(|index| (!is_there(index)).then_some(1.0)).collect();
            let mut made = Gridded::none(walk);
            made.push(walk, GridRow { labels: labels.iter().cloned().collect(), values })?;
            Ok(made)
        }
        Grid::Scalar(input) => {
            let input = evaluated(walk, input, steps)?;
            let mut made = Gridded::none(walk);
            let only = |index: usize| {
                let mut there = input.rows.iter().filter_map(|row| value(&row.values, index));
                there.next().filter(|_| there.next().is_none()).unwrap_or(f64::NAN)
            };
            let values = (0..steps.count).map(|index| Some(only(index))).collect();
            made.push(walk, GridRow { labels: Labels::default(), values })?;
            Ok(made)
        }
        Grid::Sorted { input, descending, place } => {
            let mut made = evaluated(walk, input, steps)?;
            if steps.count > 1 {
                walk.unsorted(*place);
                made.rows.sort_by(|a, b| a.labels.cmp(&b.labels));
                return Ok(made);
            }
            let of = |row: &GridRow| value(&row.values, 0).unwrap_or(f64::NAN);
            // What is no number comes last either way.
            made.rows.sort_by(|a, b| match (of(a), of(b)) {
                (a, b) if a.is_nan() || b.is_nan() => a.is_nan().cmp(&b.is_nan()),
                (a, b) if *descending => b.total_cmp(&a),
                (a, b) => a.total_cmp(&b),
            });
            Ok(made)
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

    /// Counts `values` as samples, and asks at times whether the query may go on.
    fn at(&mut self, values: usize) -> Result<(), Error> {
        self.values += values;
        if self.values >= CHUNK_SAMPLES {
            self.meter.check(std::mem::take(&mut self.values))?;
        }
        Ok(())
    }
}

/// An instant in seconds, to the millisecond.
fn seconds(at_ns: i64) -> f64 {
    at_ns.div_euclid(1_000_000) as f64 / 1000.0
}

fn value(values: &[Option<f64>], index: usize) -> Option<f64> {
    values.get(index).copied().flatten()
}

/// Labels without the measurement.
fn unnamed(labels: &Labels) -> Labels {
    labels.iter().filter(|label| &*label.name != MEASUREMENT).cloned().collect::<Vec<_>>().into()
}

/// Joins rows of the same labels: series that follow one another are one, as after a restart under
/// another name that is dropped. Where two have a value at one instant they cannot be told apart.
fn joined<'q>(mut made: Gridded<'q>) -> Result<Gridded<'q>, Error> {
    let mut places: HashMap<Labels, usize> = HashMap::with_capacity(made.rows.len());
    let mut rows: Vec<GridRow> = Vec::with_capacity(made.rows.len());
    for row in std::mem::take(&mut made.rows) {
        let place = *places.entry(row.labels.clone()).or_insert(rows.len());
        let Some(first) = rows.get_mut(place) else {
            rows.push(row);
            continue;
        };
        for (value, other) in first.values.iter_mut().zip(row.values) {
            if value.is_some() && other.is_some() {
                let text = "vector cannot contain metrics with the same labelset";
                return Err(Error::Plan(text.to_owned()));
            }
            *value = value.or(other);
        }
    }
    made.rows = rows;
    Ok(made)
}
